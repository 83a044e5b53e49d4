//! What a run says of itself, by which its repeats are recognized.

use crate::fact::{NamedFact, setup_of};
use ifm_core::Manifest;
use std::collections::BTreeMap;

/// What a run says of itself, by which its repeats are recognized.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RunIdentity {
    /// Name that the user gave.
    name: Option<String>,
    /// The server and what was asked of it.
    pub(crate) setup: Vec<NamedFact>,
    /// The plan that it is a part of, with what the cell is without the number of its repeat.
    pub(crate) plan: Option<PlanPlace>,
    /// Tags of the user, by name.
    pub(crate) tags: BTreeMap<String, String>,
}

/// The place of a run in a plan.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PlanPlace {
    plan: String,
    label: String,
    cell: String,
    repeat: u32,
}

impl RunIdentity {
    pub fn of(manifest: &Manifest) -> RunIdentity {
        let plan = manifest.plan.as_ref().map(|cell| {
            let label = manifest.name.as_deref().unwrap_or_default();
            let ending = format!("repeat {}", cell.repeat);
            let label = label.strip_suffix(&ending).unwrap_or(label).to_owned();
            PlanPlace {
                plan: cell.plan.clone(),
                label,
                cell: cell.cell.clone(),
                repeat: cell.repeat,
            }
        });
        let tags =
            manifest.tags.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
        RunIdentity { name: manifest.name.clone(), setup: setup_of(manifest), plan, tags }
    }

    /// Whether two runs belong together: cells of one plan, whose tags tell servers and conditions
    /// apart, or runs of one name and one setup. A repeat that was measured again after its plan was
    /// changed does not belong to the others.
    pub(crate) fn is_repeat(&self, other: &RunIdentity) -> bool {
        let is_planned = self.plan.as_ref().zip(other.plan.as_ref()).is_some_and(|(a, b)| {
            let is_changed = (&a.label, a.repeat) == (&b.label, b.repeat) && a.cell != b.cell;
            a.plan == b.plan && !is_changed
        });
        is_planned || self.name == other.name && self.setup == other.setup
    }

    /// The name of its side: that of the plan, or of the run.
    pub(crate) fn side_name(&self) -> Option<String> {
        self.plan.as_ref().map(|place| place.plan.clone()).or_else(|| self.name.clone())
    }
}

/// Whether two runs are repeats of one measurement: cells of one plan, or runs of one name, one server
/// by its own account, and one setup.
pub fn are_repeats(one: &Manifest, other: &Manifest) -> bool {
    RunIdentity::of(one).is_repeat(&RunIdentity::of(other))
}

/// What keeps a run that is about to begin from being a repeat of a stored one: names of facts. What is
/// known only after its load does not count.
pub fn setup_differences(new: &Manifest, stored: &Manifest) -> Vec<&'static str> {
    let facts = setup_of(new).into_iter().zip(setup_of(stored));
    let differing = facts.filter(|((_, new), (_, stored))| new.is_some() && new != stored);
    differing.map(|((what, _), _)| what).collect()
}
