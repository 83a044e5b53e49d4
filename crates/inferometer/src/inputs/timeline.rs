//! Stored runs in chronological order, by tag or name: the input of a history.
//!
//! Each run is read, reduced to its columns and dropped before the next one is read. Not here: what
//! is found in them.

use crate::exit::Failure;
use crate::inputs::{self, Subject};
use crate::terminal;
use ifm_compare::comparison::{Member, Settings, Side};
use ifm_compare::history::{Dated, comparable};
use ifm_core::order::Order as _;
use ifm_core::{Manifest, RunData, RunState, Sheet, parse_tag};
use ifm_store::{RunEntry, Store};
use std::collections::BTreeSet;
use std::path::Path;

/// Maximum number of runs to read for a baseline of comparable ones.
const READ_MAX: usize = 400;

/// Something with a place in a history.
enum Found {
    Run(Box<RunEntry>),
    File(Box<RunData>),
    Document(Box<Sheet>),
}

impl Found {
    fn id(&self) -> &str {
        match self {
            Found::Run(entry) => &entry.id,
            Found::File(run) => &run.manifest.run_id,
            Found::Document(sheet) => &sheet.source.name,
        }
    }

    /// Identity of its content.
    fn content(&self) -> String {
        match self {
            Found::Run(entry) => match &entry.manifest {
                Ok(manifest) => manifest.run_id.clone(),
                Err(_) => entry.id.clone(),
            },
            Found::File(run) => run.manifest.run_id.clone(),
            Found::Document(sheet) => sheet.content_id(),
        }
    }

    /// Start time, as text that sorts; absent for documents.
    fn began(&self) -> Option<&str> {
        match self {
            Found::Run(entry) => Some(&entry.manifest.as_ref().ok()?.created_utc),
            Found::File(run) => Some(&run.manifest.created_utc),
            Found::Document(_) => None,
        }
    }

    /// Its place in time; runs of the same second are ordered by ID.
    fn place(&self) -> (Option<&str>, &str) {
        (self.began(), self.id())
    }

    fn read(&self, store: &Store, settings: &Settings) -> Result<Dated, Failure> {
        let Settings { measures, slo, .. } = settings;
        let at_utc = self.began().map(str::to_owned);
        let (member, tags) = match self {
            Found::Document(sheet) => (Member::of_sheet(sheet, measures, slo), Vec::new()),
            Found::File(run) => (Member::of(run, measures, slo), tags_of(&run.manifest)),
            Found::Run(entry) => {
                let loaded =
                    store.open(entry).map_err(|error| Failure::files(error.to_string()))?;
                (Member::of(&loaded.data, measures, slo), tags(entry))
            }
        };
        Ok(Dated { member, at_utc, tags })
    }
}

/// The tags of a stored run: `name=value`, set at measurement or later, and tags without a value.
fn tags(entry: &RunEntry) -> Vec<String> {
    let values = entry.manifest.iter().flat_map(tags_of);
    let later = entry.tags().unwrap_or_default().into_iter();
    values.chain(later.filter(|tag| parse_tag(tag).is_err())).collect()
}

fn tags_of(manifest: &Manifest) -> Vec<String> {
    manifest.tags.iter().map(|(name, value)| format!("{name}={value}")).collect()
}

/// Stored runs that ended, oldest first: those with a tag or a name, or all.
fn stored(store: &Store, tag: Option<&str>) -> Result<Vec<Found>, Failure> {
    let mut runs = store.list().map_err(|error| Failure::files(error.to_string()))?;
    let has_ended = |entry: &RunEntry| {
        entry
            .manifest
            .as_ref()
            .is_ok_and(|manifest| manifest.state != RunState::Open && manifest.predicted.is_none())
    };
    let is_called = |entry: &RunEntry, word: &str| {
        let name = entry.manifest.as_ref().ok().and_then(|manifest| manifest.name.as_deref());
        name == Some(word) || tags(entry).iter().any(|known| known == word)
    };
    let is_meant = |entry: &RunEntry| tag.is_none_or(|word| is_called(entry, word));
    runs.retain(|entry| has_ended(entry) && is_meant(entry));
    let mut found: Vec<Found> = runs.into_iter().map(|run| Found::Run(Box::new(run))).collect();
    found.order_by(|a, b| a.place().cmp(&b.place()));
    Ok(found)
}

/// Reads the named results, oldest first. A tag or a name means all runs that have it. Without a word, all
/// stored runs are read; with more than `last`, the latest. Documents have no time and stay in the order in
/// which they are named.
///
/// # Errors
/// A name of nothing, or a run that cannot be read.
pub fn read(
    store: &Store,
    words: &[String],
    last: usize,
    settings: &Settings,
) -> Result<Vec<Dated>, Failure> {
    let mut found = Vec::new();
    if words.is_empty() {
        found = stored(store, None)?;
    }
    for word in words {
        let tagged = stored(store, Some(word))?;
        if !tagged.is_empty() {
            found.extend(tagged);
            continue;
        }
        match inputs::find(store, Path::new(word)) {
            Ok(Subject::Run(entry)) => found.push(Found::Run(entry)),
            Ok(Subject::RunFile(run)) => found.push(Found::File(run)),
            Ok(Subject::Documents(_, sheets)) => {
                found.extend(sheets.into_iter().map(|sheet| Found::Document(Box::new(sheet))));
            }
            Err(failure) => {
                return Err(
                    failure.hint("a tag, or runs by id or name; inferometer runs list shows both")
                );
            }
        }
    }
    // A measurement is one value of its series, however often it is named.
    let mut seen = BTreeSet::new();
    found.retain(|one| seen.insert(one.content()));
    if found.iter().all(|one| one.began().is_some()) {
        found.order_by(|a, b| a.place().cmp(&b.place()));
    }
    let first = found.len().saturating_sub(last);
    found.drain(..first);
    found.iter().map(|one| one.read(store, settings)).collect()
}

/// The parsed form of a baseline `history:20:nightly`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Baseline {
    /// Maximum number of runs.
    pub last: usize,
    /// Their tag or name.
    pub tag: Option<String>,
}

/// The word at the start of a baseline of many runs.
const HISTORY: &str = "history";
/// Default number of runs of a baseline.
const LAST: usize = 20;

impl Baseline {
    /// Reads `history`, `history:20` or `history:20:TAG`; absent for any other word.
    ///
    /// # Errors
    /// An invalid number.
    pub fn parse(word: &str) -> Result<Option<Baseline>, Failure> {
        let mut parts = word.splitn(3, ':');
        if parts.next() != Some(HISTORY) {
            return Ok(None);
        }
        let wrong = || {
            Failure::usage(format!("\"{word}\" is no history of runs")).hint(
                "history:20 is the last 20 runs of the same, history:20:nightly those with a tag or a name",
            )
        };
        let last = match parts.next() {
            None => LAST,
            Some(number) => number.parse().ok().filter(|last| *last > 0).ok_or_else(wrong)?,
        };
        let tag = parts.next().map(str::to_owned);
        if tag.as_ref().is_some_and(String::is_empty) {
            return Err(wrong());
        }
        Ok(Some(Baseline { last, tag }))
    }

    /// The runs before `run` that answer the same question, oldest first.
    ///
    /// # Errors
    /// No such run exists, or one cannot be read.
    pub fn before(&self, store: &Store, run: &Side, settings: &Settings) -> Result<Side, Failure> {
        let ids: BTreeSet<&str> = run.members.iter().map(|member| member.id.as_str()).collect();
        let all = stored(store, self.tag.as_deref())?;
        let own = stored(store, None)?;
        let first = own.iter().filter(|one| ids.contains(one.id())).map(Found::place).min();
        let is_before =
            |one: &&Found| !ids.contains(one.id()) && first.is_none_or(|first| one.place() < first);
        let of = run.members.first().map(|member| Dated {
            member: member.clone(),
            at_utc: None,
            tags: Vec::new(),
        });
        let mut members = Vec::new();
        for one in all.iter().filter(is_before).rev().take(READ_MAX) {
            if members.len() >= self.last {
                break;
            }
            let dated = match one.read(store, settings) {
                Ok(dated) => dated,
                Err(failure) => {
                    terminal::warn(&failure.to_string());
                    continue;
                }
            };
            let dated = [dated];
            if of.as_ref().is_some_and(|of| !comparable(of, &dated, &[]).is_empty()) {
                let [dated] = dated;
                members.push(dated.member);
            }
        }
        members.reverse();
        if members.is_empty() {
            let with = self.tag.as_ref().map(|tag| format!(" with the tag {tag}"));
            let with = with.unwrap_or_default();
            return Err(Failure::usage(format!(
                "no run{with} before this one answers the same question"
            ))
            .hint("the same model, workload, load and kind of server; inferometer runs list"));
        }
        let label = match members.len() {
            1 => "the run before".to_owned(),
            n => format!("the {n} runs before"),
        };
        Ok(Side { label, members })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_baseline_of_many_runs_is_read() {
        let read = |word: &str| Baseline::parse(word).map_err(|failure| failure.to_string());
        let of = |last, tag: Option<&str>| Ok(Some(Baseline { last, tag: tag.map(str::to_owned) }));
        assert_eq!(read("history"), of(20, None));
        assert_eq!(read("history:7"), of(7, None));
        assert_eq!(read("history:30:branch=main"), of(30, Some("branch=main")));
        assert_eq!(read("main"), Ok(None));
        for word in ["history:", "history:0", "history:x", "history:5:"] {
            assert!(read(word).is_err(), "{word}");
        }
    }
}
