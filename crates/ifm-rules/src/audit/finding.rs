//! A finding of a rule: a sentence, how sure it is, where, and the numbers it rests on.

use ifm_core::sheet::Place;

ifm_core::vocabulary! {
    /// How sure a finding is.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
    pub enum Level {
        /// Worth a look; an innocent reason is likely.
        Hint = "hint",
        /// An innocent reason is hard to think of.
        Strong = "strong",
        /// It cannot be right: arithmetic or physics forbid it.
        Proof = "proof",
    }
}

/// A place in a document.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Spot {
    /// Name of the document.
    pub document: String,
    /// Where in it.
    pub place: Place,
}

/// A number that a finding rests on.
#[derive(Debug, Clone, PartialEq)]
pub struct Evidence {
    /// What it is.
    pub name: String,
    /// The number.
    pub value: f64,
    /// Its unit; empty for a ratio or a count.
    pub unit: String,
}

/// One thing that a rule found.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// Id of the rule.
    pub rule: &'static str,
    /// How sure it is.
    pub level: Level,
    /// Where, the most telling place first. At most some; `spots_more` says how many others. What
    /// is for people shows fewer.
    pub spots: Vec<Spot>,
    /// Places beyond `spots`.
    pub spots_more: usize,
    /// What was found, one sentence with its numbers.
    pub text: String,
    /// The numbers.
    pub evidence: Vec<Evidence>,
    /// What would settle or fix it.
    pub remedy: Option<String>,
}

/// Places that one finding keeps at most.
const SPOTS_MAX: usize = 1000;

impl Finding {
    /// A finding of a rule.
    pub(crate) fn new(rule: &'static str, level: Level, text: impl Into<String>) -> Finding {
        Finding {
            rule,
            level,
            spots: Vec::new(),
            spots_more: 0,
            text: text.into(),
            evidence: Vec::new(),
            remedy: None,
        }
    }

    /// At this place too.
    pub(crate) fn at(mut self, spot: Spot) -> Finding {
        if self.spots.contains(&spot) {
            return self;
        }
        match self.spots.len() < SPOTS_MAX {
            true => self.spots.push(spot),
            false => self.spots_more += 1,
        }
        self
    }

    /// At these places too.
    pub(crate) fn at_all(self, spots: impl IntoIterator<Item = Spot>) -> Finding {
        spots.into_iter().fold(self, Finding::at)
    }

    /// Resting on this number.
    pub(crate) fn with(mut self, name: &str, value: f64, unit: &str) -> Finding {
        self.evidence.push(Evidence { name: name.to_owned(), value, unit: unit.to_owned() });
        self
    }

    /// With what to do about it.
    pub(crate) fn remedy(mut self, remedy: impl Into<String>) -> Finding {
        self.remedy = Some(remedy.into());
        self
    }
}
