//! Grammars of structured answers that a simulated server compiles, each before its first request.
//!
//! Not here: how long that takes, which is a constant of the deployment (`ifm-sim`).

use ifm_core::{FormKind, FormSpec};
use std::collections::HashMap;

/// The grammars of a server, as far as they cost time.
#[derive(Debug)]
pub struct Grammars {
    /// Time for each, nanoseconds; absent where nobody knows it.
    takes_ns: Option<u64>,
    /// Of each form, whether every request has another grammar.
    is_unique: Vec<bool>,
    /// When the grammar of a form is there.
    ready_ns: HashMap<u16, u64>,
}

impl Grammars {
    /// None is there yet.
    pub fn new(takes_s: Option<f64>, forms: &[FormSpec]) -> Grammars {
        Grammars {
            takes_ns: takes_s.map(|seconds| (seconds * 1e9) as u64),
            is_unique: forms.iter().map(|form| form.kind == FormKind::JsonUnique).collect(),
            ready_ns: HashMap::new(),
        }
    }

    /// How long a request that comes now waits for the grammar of its form, nanoseconds.
    pub fn wait_ns(&mut self, form: Option<u16>, now_ns: u64) -> u64 {
        let (Some(takes_ns), Some(form)) = (self.takes_ns, form) else { return 0 };
        let is_unique = self.is_unique.get(usize::from(form)).copied().unwrap_or(false);
        let at_ns = now_ns.saturating_add(takes_ns);
        let ready_ns = if is_unique { at_ns } else { *self.ready_ns.entry(form).or_insert(at_ns) };
        ready_ns.saturating_sub(now_ns)
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
    fn the_first_request_of_a_form_waits_and_those_that_come_meanwhile() {
        let forms = [form(FormKind::Json), form(FormKind::JsonUnique)];
        let mut grammars = Grammars::new(Some(0.5), &forms);
        let ms = 1_000_000;
        assert_eq!(grammars.wait_ns(None, 0), 0);
        assert_eq!(grammars.wait_ns(Some(0), 100 * ms), 500 * ms);
        assert_eq!(grammars.wait_ns(Some(0), 300 * ms), 300 * ms);
        assert_eq!(grammars.wait_ns(Some(0), 900 * ms), 0);
        assert_eq!(grammars.wait_ns(Some(1), 900 * ms), 500 * ms);
        assert_eq!(grammars.wait_ns(Some(1), 2000 * ms), 500 * ms, "each has its own");
        assert_eq!(Grammars::new(None, &forms).wait_ns(Some(0), 0), 0, "nobody knows it");
    }
}
