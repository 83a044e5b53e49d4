//! Which request is to have an answer of which form.
//!
//! Drawn from the seed, each request by itself and by nothing but its place in the workload, so that
//! it is the same whatever the server does.
//!
//! Not here: what a form is (`ifm_core::form`), how an API receives it (`ifm-wire`).

use ifm_core::Form;
use ifm_made::{Rng, Stream};

/// The forms of a workload, with their shares.
#[derive(Debug, Clone)]
pub struct Forms {
    forms: Vec<(Form, f64)>,
    seed: u64,
    stream: Stream,
}

impl Forms {
    /// Forms with their shares of the requests, which add up to at most 1: the rest is free.
    pub fn new(forms: Vec<(Form, f64)>, seed: u64) -> Forms {
        Forms { forms, seed, stream: Rng::new(seed).stream("forms") }
    }

    /// Whether all answers are free.
    pub fn is_empty(&self) -> bool {
        self.forms.is_empty()
    }

    /// The forms, in their order.
    pub fn iter(&self) -> impl Iterator<Item = &Form> {
        self.forms.iter().map(|(form, _)| form)
    }

    /// The form of this index.
    pub fn get(&self, index: u16) -> Option<&Form> {
        self.forms.get(usize::from(index)).map(|(form, _)| form)
    }

    /// The seed that schemas which differ from request to request are made of.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// The form of a request, an index; absent where its answer is free. `key` tells it from all
    /// others, see [`ifm_core::form_key`].
    pub fn draw(&self, key: u64) -> Option<u16> {
        let drawn = if self.is_empty() { return None } else { self.stream.item(key).unit() };
        let mut below = 0.0;
        let is_it = |(_, share): &(Form, f64)| {
            below += share;
            // Shares of a whole may add up to a hair less.
            drawn < below || below > 1.0 - 1e-9
        };
        let place = self.forms.iter().position(is_it)?;
        u16::try_from(place).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ifm_core::FormKind;

    fn forms(shares: &[f64], seed: u64) -> Forms {
        let form = |share: &f64| {
            let kind = FormKind::JsonObject;
            (Form { kind, name: "f".to_owned(), text: String::new() }, *share)
        };
        Forms::new(shares.iter().map(form).collect(), seed)
    }

    #[test]
    fn shares_are_kept_and_follow_from_the_seed() {
        let draws = |forms: &Forms| (0..4000).map(|key| forms.draw(key)).collect::<Vec<_>>();
        let drawn = draws(&forms(&[0.5, 0.2], 1));
        assert_eq!(drawn, draws(&forms(&[0.5, 0.2], 1)));
        assert_ne!(drawn, draws(&forms(&[0.5, 0.2], 2)));
        // Five standard deviations are 0.04.
        for (form, share) in [(Some(0), 0.5), (Some(1), 0.2), (None, 0.3)] {
            let count = drawn.iter().filter(|it| **it == form).count() as f64;
            assert!((count / 4000.0 - share).abs() < 0.04, "{form:?} {count}");
        }
        assert!(draws(&forms(&[0.1; 10], 3)).iter().all(Option::is_some), "a whole has no rest");
        assert_eq!(forms(&[], 1).draw(0), None);
    }
}
