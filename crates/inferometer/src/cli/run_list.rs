//! The list of the store: one row per run and import, as text and as JSON.

use crate::exit::Failure;
use ifm_core::spec::LoadSpec;
use ifm_core::{Prediction, RunState};
use ifm_store::{RunEntry, Store};
use serde::Serialize;

/// What `runs list --json` writes.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RunList {
    /// What the document is.
    #[cfg_attr(test, schemars(extend("const" = "inferometer_runs")))]
    kind: &'static str,
    /// Runs, newest first, then imports.
    runs: Vec<Row>,
}

/// A run or an import.
#[derive(Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Row {
    /// Identity.
    id: String,
    /// What it is, or its state.
    state: State,
    /// Its folder.
    path: String,
    /// Name that the user gave.
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    /// Start, UTC, RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    created_utc: Option<String>,
    /// Requested model.
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<String>,
    /// Parts of its workload in addition to text, in few words: media, structured answers, the
    /// probe.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    beside_text: Vec<String>,
    /// Requested loads: `8` users, `2.5/s` of an open loop, `trace`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    loads: Vec<String>,
    /// Names of the files of an import.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    files: Vec<String>,
    /// What it was computed from, if it was predicted and not measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    predicted: Option<String>,
    /// Tags.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tags: Vec<String>,
    /// Why it cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

ifm_core::vocabulary! {
    /// The kind or state of a run.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
    #[cfg_attr(test, derive(schemars::JsonSchema))]
    #[serde(rename_all = "snake_case")]
    enum State {
        /// A run that was sealed after all of its levels.
        Complete = "complete",
        /// A run that was sealed after it was cut short.
        Partial = "partial",
        /// A run in progress.
        Running = "running",
        /// An interrupted run that is not sealed.
        Unsealed = "unsealed",
        /// Documents of other tools.
        Imported = "imported",
        /// It cannot be read.
        #[default]
        Broken = "broken",
    }
}

impl RunList {
    /// Everything in a store.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn of(store: &Store) -> Result<RunList, Failure> {
        let unreadable = |error: ifm_store::StoreError| Failure::files(error.to_string());
        let mut runs: Vec<Row> =
            store.list().map_err(unreadable)?.iter().map(Row::of_run).collect();
        let imports = store.import_ids().map_err(unreadable)?;
        runs.extend(imports.iter().map(|id| Row::of_import(store, id)));
        Ok(RunList { kind: "inferometer_runs", runs })
    }

    /// Whether the store is empty.
    pub fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// The list for people.
    pub fn text(&self) -> String {
        let head = format!("{:<22} {:<9} {:<16} {:<28} load\n", "run", "state", "name", "model");
        head + &self.runs.iter().map(Row::line).collect::<String>()
    }
}

impl Row {
    fn of_run(entry: &RunEntry) -> Row {
        let (id, path) = (entry.id.clone(), entry.path.display().to_string());
        let manifest = match &entry.manifest {
            Ok(manifest) => manifest,
            Err(error) => {
                return Row { id, path, error: Some(error.to_string()), ..Row::default() };
            }
        };
        let state = match (manifest.state, entry.is_live()) {
            (RunState::Open, Ok(true)) => State::Running,
            (RunState::Open, _) => State::Unsealed,
            (RunState::Complete, _) => State::Complete,
            (RunState::Partial, _) => State::Partial,
        };
        Row {
            id,
            state,
            path,
            name: manifest.name.clone(),
            created_utc: Some(manifest.created_utc.clone()),
            model: Some(manifest.spec.target.model.clone()),
            beside_text: ifm_report::workload_words(manifest),
            loads: manifest.spec.levels.iter().map(load_asked).collect(),
            predicted: manifest.predicted.as_ref().map(Prediction::words),
            tags: entry.tags().unwrap_or_default(),
            ..Row::default()
        }
    }

    fn of_import(store: &Store, id: &str) -> Row {
        let path = store.root().join(id).display().to_string();
        let row = Row { id: id.to_owned(), path, ..Row::default() };
        match store.import(id) {
            Ok(import) => Row {
                state: State::Imported,
                name: import.name,
                tags: store.import_tags(id).unwrap_or_default(),
                files: import.sheets.into_iter().map(|sheet| sheet.source.name).collect(),
                ..row
            },
            Err(error) => Row { error: Some(error.to_string()), ..row },
        }
    }

    /// The row as text.
    fn line(&self) -> String {
        let head = format!("{:<22} {:<9}", self.id, self.state.word());
        if let Some(error) = &self.error {
            return format!("{head} {error}\n");
        }
        let head = format!("{head} {:<16}", cut(self.name.as_deref().unwrap_or("-"), 16));
        let tags: String = self.tags.iter().map(|tag| format!("  #{}", cut(tag, 40))).collect();
        if self.state == State::Imported {
            return format!("{head} {}{tags}\n", cut(&self.files.join(", "), 60));
        }
        let model = cut(self.model.as_deref().unwrap_or("-"), 28);
        let mark = if self.predicted.is_some() { "  (predicted)" } else { "" };
        let extras: String = match self.beside_text.as_slice() {
            [] => String::new(),
            some => format!("  {}", some.join(", ")),
        };
        format!("{head} {model:<28} {}{mark}{extras}{tags}\n", self.loads.join(","))
    }
}

/// Names come from users and servers: control characters are removed.
fn cut(text: &str, width: usize) -> String {
    text.chars().filter(|c| !c.is_control()).take(width).collect()
}

/// The load of a level in few letters: `8` users, or `2.5/s` of an open loop, whose number in
/// flight is only a bound.
fn load_asked(level: &LoadSpec) -> String {
    let Some(arrivals) = &level.arrivals else { return level.concurrency.to_string() };
    match arrivals.mean_req_per_s() {
        Some(rate) => format!("{}/s", (rate * 100.0).round() / 100.0),
        None => "trace".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ifm_core::spec::{ArrivalLaw, ArrivalSpec, RateCurve, RateStretch};

    #[test]
    fn a_prediction_has_a_mark() {
        let row = |predicted: Option<&str>| Row {
            state: State::Complete,
            loads: vec!["1".to_owned(), "2".to_owned()],
            predicted: predicted.map(str::to_owned),
            ..Row::default()
        };
        assert!(row(Some("from H100")).line().ends_with(" 1,2  (predicted)\n"));
        assert!(row(None).line().ends_with(" 1,2\n"));
        let beside_text = vec!["image 720p".to_owned(), "30% json".to_owned()];
        let tags = vec!["base".to_owned()];
        let told = Row { beside_text, tags, ..row(None) }.line();
        assert!(told.ends_with(" 1,2  image 720p, 30% json  #base\n"), "{told}");
    }

    #[test]
    fn an_open_loop_is_listed_by_its_rate_and_not_by_its_bound() {
        let closed = ifm_analysis::testing::run(&[8], Vec::new()).manifest.spec.levels.remove(0);
        assert_eq!(load_asked(&closed), "8");
        let (rate, curve) = (2.5, RateCurve::Linear);
        let stretch =
            RateStretch { from_req_per_s: rate, to_req_per_s: rate, curve, seconds: None };
        let due = |law, stretches| LoadSpec {
            concurrency: 4096,
            arrivals: Some(ArrivalSpec { law, stretches, seed: 0 }),
            ..closed.clone()
        };
        assert_eq!(load_asked(&due(ArrivalLaw::Poisson, vec![stretch])), "2.5/s");
        assert_eq!(load_asked(&due(ArrivalLaw::Replay(1.0), Vec::new())), "trace");
    }
}
