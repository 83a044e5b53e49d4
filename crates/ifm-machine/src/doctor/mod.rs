//! Settings and conditions of this machine that distort measurements, with fixes.
//!
//! A check reads facts that were collected before, so that tests can show any of them a synthetic machine.
//! What is not reported is unknown, and nothing is concluded from it. Not here: reading the machine
//! (`machine`), and what a run found out about its own client (`ifm-metrics`).

mod check;
mod document;
mod gpu;
mod machine;

pub use document::{DoctorDocument, text};
pub use machine::Machine;

use check::CHECKS;
use serde::Serialize;

/// What a check came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Nothing that distorts a measurement.
    Good,
    /// It makes numbers vary, or may.
    Caution,
    /// Numbers will be wrong or vary much.
    Bad,
    /// Not reported on this machine.
    Unknown,
}

/// What a check saw.
#[derive(Debug, Clone, PartialEq)]
pub struct Seen {
    /// What it came to.
    state: State,
    /// What is the case.
    found: String,
    /// How to fix it, in one line.
    effect: Option<&'static str>,
    /// How to fix it, in one line.
    fix: Option<String>,
}

impl Seen {
    fn good(found: impl Into<String>) -> Seen {
        Seen { state: State::Good, found: found.into(), effect: None, fix: None }
    }

    fn unknown(found: impl Into<String>) -> Seen {
        Seen { state: State::Unknown, ..Seen::good(found) }
    }

    fn caution(found: impl Into<String>, effect: &'static str, fix: impl Into<String>) -> Seen {
        let found = found.into();
        Seen { state: State::Caution, found, effect: Some(effect), fix: Some(fix.into()) }
    }

    /// Graver than a caution where `is_bad`.
    fn worse(self, is_bad: bool) -> Seen {
        if is_bad { Seen { state: State::Bad, ..self } } else { self }
    }
}

/// A check with what it saw.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Finding {
    /// Its id.
    id: &'static str,
    /// What was looked at; of several GPUs which one.
    what: String,
    /// What it came to.
    state: State,
    /// What is the case.
    found: String,
    /// What that does to measurements; absent where it does nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    effect: Option<&'static str>,
    /// How to fix it; absent where there is nothing to fix.
    #[serde(rename = "mend", skip_serializing_if = "Option::is_none")]
    fix: Option<String>,
}

/// Looks at a machine: every check, in the order of the list, then every GPU.
pub fn look(machine: &Machine) -> Vec<Finding> {
    let of_host =
        CHECKS.iter().map(|check| (check.id, check.what.to_owned(), (check.look)(machine)));
    let all = of_host.chain(gpu::look(machine));
    all.map(|(id, what, seen)| {
        let Seen { state, found, effect, fix } = seen;
        Finding { id, what, state, found, effect, fix }
    })
    .collect()
}

/// Findings in a state.
pub fn count(findings: &[Finding], state: State) -> usize {
    findings.iter().filter(|finding| finding.state == state).count()
}
