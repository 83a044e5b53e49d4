//! The answers of a run for its row in the list: read once, kept in memory until the run changes.
//!
//! Not here: the words of the answers, which are those of the reports.

use crate::failure::Failure;
use ifm_metrics::answer::UsersState;
use ifm_report::{AnswerTopic, answers, plain};
use ifm_store::{MANIFEST_FILE, RunEntry, Store};
use std::collections::HashMap;
use std::time::SystemTime;

/// Answers that are kept at most; then all are forgotten.
const KEPT_MAX: usize = 5_000;

/// How good an answer is, for its sign.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tone {
    Good,
    Caution,
    Bad,
    Plain,
}

impl Tone {
    /// The class of its colour.
    pub(crate) fn class(self) -> &'static str {
        match self {
            Tone::Good => "good",
            Tone::Caution => "warn",
            Tone::Bad => "bad",
            Tone::Plain => "plain",
        }
    }

    /// The sign beside the words.
    pub(crate) fn sign(self) -> &'static str {
        match self {
            Tone::Good => "✓",
            Tone::Caution => "⚠",
            Tone::Bad => "✗",
            Tone::Plain => "",
        }
    }
}

/// What the list says of a run.
#[derive(Debug, Clone)]
pub(crate) struct Digest {
    /// How many users fit, in words.
    pub(crate) fits: String,
    /// What that rests on.
    pub(crate) fits_detail: String,
    pub(crate) fits_tone: Tone,
    /// Speed of one user there.
    pub(crate) speed: String,
    /// The checks.
    pub(crate) checks: String,
    pub(crate) checks_detail: String,
    pub(crate) checks_tone: Tone,
}

/// The digests that were made, by id, with the time of the manifest that they were made from.
#[derive(Debug, Default)]
pub(crate) struct Digests {
    known: HashMap<String, (SystemTime, Digest)>,
}

impl Digests {
    /// The digest of a run, if it was made and the run has not changed since.
    pub(crate) fn get(&self, root: &std::path::Path, id: &str) -> Option<Digest> {
        let (at, digest) = self.known.get(id)?;
        (changed_at(&root.join(id))? == *at).then(|| digest.clone())
    }

    /// Keeps a digest.
    pub(crate) fn keep(&mut self, entry: &RunEntry, digest: &Digest) {
        if self.known.len() >= KEPT_MAX {
            self.known.clear();
        }
        if let Some(at) = changed_at(&entry.path).filter(|_| entry.sealed) {
            self.known.insert(entry.id.clone(), (at, digest.clone()));
        }
    }
}

fn changed_at(folder: &std::path::Path) -> Option<SystemTime> {
    std::fs::metadata(folder.join(MANIFEST_FILE)).ok()?.modified().ok()
}

/// Reads a run and takes its answers.
///
/// # Errors
/// The run cannot be read.
pub(crate) fn digest(store: &Store, entry: &RunEntry) -> Result<Digest, Failure> {
    let loaded = store.open(entry)?;
    let summary = ifm_metrics::summarize(&loaded.data);
    let Some(found) = &summary.answers else {
        return Ok(Digest {
            fits: "nothing measured".to_owned(),
            fits_detail: "no request of a level has ended".to_owned(),
            fits_tone: Tone::Bad,
            speed: String::new(),
            checks: String::new(),
            checks_detail: String::new(),
            checks_tone: Tone::Plain,
        });
    };
    let all = answers(found, &summary.checks);
    let of = |topic: AnswerTopic| all.iter().find(|answer| answer.topic == topic);
    // Without a target that the user named nothing is said of what fits.
    let fits =
        of(AnswerTopic::Capacity).map_or(("no target", ""), |fits| (&fits.value, &fits.detail));
    let speed = of(AnswerTopic::Speed).map(|one| format!("{} {}", one.value, one.unit));
    let trust = of(AnswerTopic::Trust).map(|trust| (trust.value.clone(), plain(&trust.detail)));
    let trust = trust.unwrap_or_default();
    Ok(Digest {
        fits: fits.0.to_owned(),
        fits_detail: plain(fits.1),
        fits_tone: match found.users.state {
            UsersState::Found | UsersState::AtLeast if found.users.is_sure => Tone::Good,
            UsersState::Found | UsersState::AtLeast => Tone::Caution,
            UsersState::None => Tone::Bad,
            UsersState::Unknown => Tone::Plain,
        },
        speed: speed.unwrap_or_default().trim().to_owned(),
        checks: match (found.trust.invalid, found.trust.cautions) {
            (0, 0) => format!("{} passed", found.trust.passed),
            (0, cautions) => format!("{cautions} of {}", found.trust.checks),
            (invalid, cautions) => format!("{} of {}", invalid + cautions, found.trust.checks),
        },
        checks_detail: match trust.1.is_empty() {
            true => trust.0,
            false => format!("{}: {}", trust.0, trust.1),
        },
        checks_tone: match (found.trust.invalid, found.trust.cautions) {
            (0, 0) => Tone::Good,
            (0, _) => Tone::Caution,
            _ => Tone::Bad,
        },
    })
}
