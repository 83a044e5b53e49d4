//! Grammars of the forms that a run requests from a simulated server.
//!
//! Not here: when one is ready (`ifm_sim::Grammars`), and how long that takes, which is a constant of the
//! deployment.

use ifm_core::{FormKind, FormSpec};

/// The grammars of a run's forms.
#[derive(Debug)]
pub struct Grammars {
    all: ifm_sim::Grammars<u16>,
    /// For each form, whether every request has a different grammar.
    is_unique: Vec<bool>,
}

impl Grammars {
    /// No grammar is ready at first. `takes_s` is the compile time, seconds; absent if unknown.
    pub fn new(takes_s: Option<f64>, forms: &[FormSpec]) -> Grammars {
        Grammars {
            all: ifm_sim::Grammars::new((takes_s.unwrap_or(0.0) * 1e9) as u64),
            is_unique: forms.iter().map(|form| form.kind == FormKind::JsonUnique).collect(),
        }
    }

    /// How long a request that arrives now waits for the grammar of its form, nanoseconds.
    pub fn wait_ns(&mut self, form: Option<u16>, now_ns: u64) -> u64 {
        let Some(form) = form else { return 0 };
        let is_unique = self.is_unique.get(usize::from(form)).copied().unwrap_or(false);
        self.all.wait_ns((!is_unique).then_some(form), now_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form(kind: FormKind) -> FormSpec {
        FormSpec {
            word: kind.word().to_owned(),
            kind,
            share: 0.5,
            text: None,
            bytes: 0,
            sha256: String::new(),
            ignore_eos: false,
        }
    }

    #[test]
    fn requests_of_a_form_wait_once_and_unique_ones_each() {
        let forms = [form(FormKind::Json), form(FormKind::JsonUnique)];
        let mut grammars = Grammars::new(Some(0.5), &forms);
        let ms = 1_000_000;
        assert_eq!(grammars.wait_ns(None, 0), 0);
        assert_eq!(grammars.wait_ns(Some(0), 100 * ms), 500 * ms);
        assert_eq!(grammars.wait_ns(Some(0), 900 * ms), 0);
        assert_eq!(grammars.wait_ns(Some(1), 900 * ms), 500 * ms);
        assert_eq!(grammars.wait_ns(Some(1), 2000 * ms), 500 * ms, "each has its own");
        assert_eq!(Grammars::new(None, &forms).wait_ns(Some(0), 0), 0, "the time is unknown");
    }
}
