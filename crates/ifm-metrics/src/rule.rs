//! One form for every rule: the checks of a run, the rules of the audit and the findings of reports.
//!
//! What a rule is given, and what it finds, is its own: a run with its records, documents, results.
//! That it has an id and a statement, and that it may lack the data that it needs, is the same for
//! all. Not here: the rules. A registry is a list of them: `CHECKS` in [`warning`](crate::warning),
//! and those of `ifm-rules`.

/// A rule.
pub struct Rule<Look> {
    /// Id, stable over versions.
    pub id: &'static str,
    /// What it checks, as a short statement that holds where it finds nothing; of a finding of a
    /// report, what it says.
    pub title: &'static str,
    /// How it looks.
    pub look: Look,
}

/// What a rule found.
#[derive(Debug, Clone, PartialEq)]
pub enum Looked<Found> {
    /// It was applied; an empty list means that it found nothing.
    Found(Vec<Found>),
    /// The data that it needs are missing, named here.
    Needs(&'static str),
}

/// A rule and what it found.
#[derive(Debug, Clone, PartialEq)]
pub struct RuleResult<Found> {
    /// Id of the rule.
    pub id: &'static str,
    /// What holds if the rule finds nothing.
    pub title: &'static str,
    /// What it found.
    pub looked: Looked<Found>,
}

impl<Found> Looked<Found> {
    /// The same with everything that was found said in another way.
    pub fn map<Said>(&self, say: impl FnMut(&Found) -> Said) -> Looked<Said> {
        match self {
            Looked::Found(found) => Looked::Found(found.iter().map(say).collect()),
            Looked::Needs(needed) => Looked::Needs(needed),
        }
    }
}

impl<Look> Rule<Look> {
    /// The rule with what it found.
    pub fn result<Found>(&self, looked: Looked<Found>) -> RuleResult<Found> {
        RuleResult { id: self.id, title: self.title, looked }
    }
}

impl<Found> RuleResult<Found> {
    /// Whether the data that the rule needs were there.
    pub fn is_applicable(&self) -> bool {
        matches!(self.looked, Looked::Found(_))
    }

    /// What it found; nothing where it could not be applied.
    pub fn found(&self) -> &[Found] {
        match &self.looked {
            Looked::Found(found) => found,
            Looked::Needs(_) => &[],
        }
    }
}

/// The one way in which tests try a rule.
#[cfg(any(test, feature = "testing"))]
pub mod testing {
    use super::RuleResult;
    use std::fmt::Debug;

    /// The result of one rule of several.
    ///
    /// # Panics
    /// No rule has the id.
    pub fn of<'r, Found>(id: &str, results: &'r [RuleResult<Found>]) -> &'r RuleResult<Found> {
        results.iter().find(|result| result.id == id).unwrap_or_else(|| panic!("no rule {id}"))
    }

    /// Checks that a rule finds nothing that counts in sound data, and that it finds what is expected
    /// in corrupted data.
    ///
    /// # Panics
    /// It is not so.
    pub fn fires<Found: Debug>(
        [sound, corrupted]: [&RuleResult<Found>; 2],
        counts: impl Fn(&Found) -> bool,
        is_expected: impl Fn(&Found) -> bool,
    ) {
        let id = sound.id;
        assert!(!sound.found().iter().any(counts), "{id} on sound data: {:?}", sound.found());
        let found = corrupted.found();
        assert!(found.iter().any(is_expected), "{id} on corrupted data: {found:?}");
    }
}
