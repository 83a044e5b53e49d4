//! What became of each cell: the lines of a plan's journal, folded.
//!
//! A line is written before and after each cell. What the last lines of a killed process do not
//! know is asked of the store: a run that carries the cell's key is its result.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// A cell is about to be measured.
    Begun {
        /// Its key.
        cell: String,
        /// Which try, from 1.
        attempt: u32,
    },
    /// It is measured.
    Done {
        /// Its key.
        cell: String,
        /// Id of the run or import in the store.
        run: String,
        /// Seconds that it took, servers' starts apart.
        seconds: f64,
    },
    /// It could not be measured.
    Failed {
        /// Its key.
        cell: String,
        /// Which try, from 1.
        attempt: u32,
        /// Why, in one sentence.
        reason: String,
        /// Whether another try would end the same way.
        #[serde(default)]
        is_final: bool,
    },
    /// A server was started for the cells that follow.
    Started {
        /// What it is, in words.
        server: String,
        /// Seconds until it was ready and warm.
        seconds: f64,
        /// Its log, below the plan's folder.
        log: String,
    },
}

/// A line of the journal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Line {
    /// UTC, RFC 3339.
    pub at_utc: String,
    /// What happened.
    #[serde(flatten)]
    pub event: Event,
}

/// What became of a cell.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum Fate {
    /// Nothing yet.
    #[default]
    Open,
    /// It was begun and not ended: the process that measured it died, or still runs.
    Begun {
        /// Which try.
        attempt: u32,
    },
    /// Measured.
    Done {
        /// Id of the run or import.
        run: String,
        /// Seconds that it took.
        seconds: f64,
    },
    /// Not measured.
    Failed {
        /// Tries so far.
        attempts: u32,
        /// Why the last one failed.
        reason: String,
        /// Whether another try would end the same way.
        is_final: bool,
    },
}

/// The journal of a plan, folded.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Journal {
    fates: BTreeMap<String, Fate>,
    /// Tries of failed cells that no longer count, because the user asked for another round.
    forgiven: BTreeMap<String, u32>,
    /// Seconds that each start of a server took.
    pub starts_s: Vec<f64>,
    /// Lines that hold nothing whole: the last one of a killed process.
    pub lost_lines: usize,
}

impl Journal {
    /// Reads the lines of one journal, or of several one after the other.
    pub fn read(text: &str) -> Journal {
        let mut journal = Journal::default();
        for line in text.lines().filter(|line| !line.trim().is_empty()) {
            match serde_json::from_str::<Line>(line) {
                Ok(line) => journal.add(line.event),
                Err(_) => journal.lost_lines += 1,
            }
        }
        journal
    }

    /// Takes one more event. What is done stays done, whatever another process says later.
    pub fn add(&mut self, event: Event) {
        let (cell, fate) = match event {
            Event::Started { seconds, .. } => return self.starts_s.push(seconds),
            Event::Begun { cell, attempt } => (cell, Fate::Begun { attempt }),
            Event::Done { cell, run, seconds } => (cell, Fate::Done { run, seconds }),
            Event::Failed { cell, attempt, reason, is_final } => {
                (cell, Fate::Failed { attempts: attempt, reason, is_final })
            }
        };
        let entry = self.fates.entry(cell).or_default();
        if !matches!(entry, Fate::Done { .. }) {
            *entry = fate;
        }
    }

    /// What became of a cell.
    pub fn fate(&self, cell: &str) -> &Fate {
        self.fates.get(cell).unwrap_or(&Fate::Open)
    }

    /// Runs and imports of all cells that are done, by the cell's key.
    pub fn runs(&self) -> impl Iterator<Item = (&str, &str)> {
        self.fates.iter().filter_map(|(cell, fate)| match fate {
            Fate::Done { run, .. } => Some((cell.as_str(), run.as_str())),
            _ => None,
        })
    }

    /// Allows another round of tries for the failed cells among some: the first try and the
    /// retries after it. Returns why each of them failed.
    ///
    /// The journal on disk does not change: a round ends with the process that asked for it.
    pub fn forgive<'a>(&mut self, cells: impl Iterator<Item = &'a str>) -> Vec<String> {
        let mut reasons = Vec::new();
        for cell in cells {
            if let Some(Fate::Failed { attempts, reason, .. }) = self.fates.get(cell) {
                self.forgiven.insert(cell.to_owned(), *attempts);
                reasons.push(reason.clone());
            }
        }
        reasons
    }

    /// The next attempt for a cell, if one more is allowed: the first, one that replaces an
    /// interrupted attempt, or one of up to `retries` after failures.
    pub fn next_attempt(&self, cell: &str, retries: u32) -> Option<u32> {
        match self.fate(cell) {
            Fate::Open => Some(1),
            Fate::Begun { attempt } => Some(*attempt),
            Fate::Failed { attempts, is_final, .. } => {
                let forgiven = self.forgiven.get(cell).copied().unwrap_or(0);
                let tries = attempts.saturating_sub(forgiven);
                let is_allowed = tries == 0 || (!is_final && tries <= retries);
                is_allowed.then_some(attempts + 1)
            }
            Fate::Done { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_folded_and_a_torn_one_is_counted() {
        let lines = [
            Event::Begun { cell: "a".into(), attempt: 1 },
            Event::Failed { cell: "a".into(), attempt: 1, reason: "no".into(), is_final: false },
            Event::Failed { cell: "e".into(), attempt: 1, reason: "never".into(), is_final: true },
            Event::Begun { cell: "b".into(), attempt: 1 },
            Event::Done { cell: "b".into(), run: "r".into(), seconds: 2.0 },
            Event::Begun { cell: "b".into(), attempt: 2 },
            Event::Begun { cell: "c".into(), attempt: 1 },
            Event::Started { server: "s".into(), seconds: 3.0, log: "l".into() },
        ];
        let line = |event| {
            serde_json::to_string(&Line { at_utc: "2026-01-01T00:00:00Z".into(), event }).unwrap()
        };
        let mut text = lines.map(line).join("\n");
        text.push_str("\n{\"at_utc\": \"2026");
        let journal = Journal::read(&text);
        assert_eq!(journal.next_attempt("a", 1), Some(2));
        assert_eq!(journal.next_attempt("a", 0), None);
        assert_eq!(journal.next_attempt("b", 9), None, "done stays done");
        assert_eq!(journal.next_attempt("c", 0), Some(1), "what was cut off is no failure");
        assert_eq!(journal.next_attempt("d", 0), Some(1));
        assert_eq!(journal.next_attempt("e", 9), None, "what can only fail again is left");
        assert_eq!((journal.lost_lines, journal.starts_s.as_slice()), (1, &[3.0][..]));
        assert_eq!(journal.runs().collect::<Vec<_>>(), [("b", "r")]);
    }

    #[test]
    fn forgiven_cells_have_one_more_round_of_tries() {
        let failed = |cell: &str, attempt, is_final| Event::Failed {
            cell: cell.into(),
            attempt,
            reason: format!("{cell}{attempt}"),
            is_final,
        };
        let mut journal = Journal::default();
        for event in [failed("a", 1, false), failed("a", 2, false), failed("e", 1, true)] {
            journal.add(event);
        }
        assert_eq!((journal.next_attempt("a", 1), journal.next_attempt("e", 1)), (None, None));
        assert_eq!(journal.forgive(["a", "b", "e"].into_iter()), ["a2", "e1"]);
        assert_eq!(
            (journal.next_attempt("a", 1), journal.next_attempt("e", 1)),
            (Some(3), Some(2))
        );
        journal.add(failed("a", 3, false));
        journal.add(failed("e", 2, true));
        assert_eq!((journal.next_attempt("a", 1), journal.next_attempt("e", 1)), (Some(4), None));
        journal.add(failed("a", 4, false));
        assert_eq!(journal.next_attempt("a", 1), None, "a round has an end");
    }
}
