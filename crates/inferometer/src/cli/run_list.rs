//! The list of the store: one row per run and import, as text and as JSON.

use crate::exit::Failure;
use ifm_core::order::Order as _;
use ifm_core::spec::LoadSpec;
use ifm_core::{Prediction, RunState};
use ifm_report::{TerminalStyle, plain};
use ifm_store::{RunEntry, Store};
use serde::Serialize;

/// Runs whose main result is shown, newest first: each has to be read for it.
const RESULTS_MAX: usize = 30;
/// Indent of the lines below the first of a run: the width of its time.
const INDENT: &str = "                  ";

/// What `runs list --json` writes.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RunList {
    /// What the document is.
    #[cfg_attr(test, schemars(extend("const" = "inferometer_runs")))]
    kind: &'static str,
    /// Runs and imports, newest first.
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
    /// Server and its address, or what the run was predicted from.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    server: Vec<String>,
    /// API, kind of workload, lengths, and options that differ from plain text.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    workload: Vec<String>,
    /// Parts of its workload in addition to text: media, structured answers, the probe.
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
        // An id begins with the time in UTC.
        runs.order_by_key(|row| std::cmp::Reverse(row.id.clone()));
        Ok(RunList { kind: "inferometer_runs", runs })
    }

    /// Whether the store is empty.
    pub fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// The list for people: of each run when, name and main result, then what was measured.
    pub fn text(&self, store: &Store, style: &TerminalStyle) -> String {
        let mut text = String::new();
        for (at, row) in self.runs.iter().enumerate() {
            let result = (at < RESULTS_MAX).then(|| row.result(store)).flatten();
            text += &row.lines(result.as_deref(), style);
        }
        text
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
            server: ifm_report::server_words(manifest),
            workload: ifm_report::request_words(manifest),
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

    /// Start in UTC, to the minute, from the id.
    fn when(&self) -> String {
        let id = self.id.as_str();
        let part = |from: usize, to: usize| id.get(from..to).unwrap_or_default();
        let is_digit = |place: usize| id.as_bytes().get(place).is_some_and(u8::is_ascii_digit);
        if !(0..8).chain(9..13).all(is_digit) {
            return String::new();
        }
        let date = [part(0, 4), part(4, 6), part(6, 8)].join("-");
        format!("{date} {}:{}", part(9, 11), part(11, 13))
    }

    /// Speed per user and output of a sealed run; absent where nothing was measured.
    fn result(&self, store: &Store) -> Option<String> {
        if !matches!(self.state, State::Complete | State::Partial) {
            return None;
        }
        let entry = store.find(&self.id).ok()?;
        let run = store.open(&entry).ok()?.data;
        let summary = ifm_metrics::summarize(&run);
        ifm_report::headline(&summary)
    }

    /// The lines for people. Names come from users and servers: nothing that could steer a terminal gets through.
    fn lines(&self, result: Option<&str>, style: &TerminalStyle) -> String {
        let mut parts = Vec::new();
        let title = self.name.as_deref().map(plain);
        if title.is_some() {
            parts.push(self.id.clone());
        }
        if self.state != State::Complete {
            parts.push(self.state.word().to_owned());
        }
        parts.extend(self.error.as_deref().map(plain));
        parts.extend(self.model.as_deref().map(plain));
        parts.extend(self.server.iter().cloned());
        parts.extend(self.workload.iter().cloned());
        if !self.loads.is_empty() {
            parts.push(self.load_words());
        }
        parts.extend(self.files.iter().map(|file| plain(file)));
        parts.extend(self.predicted.iter().map(|_| "predicted".to_owned()));
        parts.extend(self.tags.iter().map(|tag| format!("#{}", plain(tag))));
        let head = [Some(title.unwrap_or_else(|| self.id.clone())), result.map(str::to_owned)];
        let head = head.into_iter().flatten().collect::<Vec<_>>().join("  ");
        let when = format!("{:<16}  ", self.when());
        let mut lines = style.paragraph(&format!("{when}{head}"), INDENT);
        lines.extend(style.paragraph(&format!("{INDENT}{}", parts.join(" · ")), INDENT));
        lines.into_iter().map(|line| format!("{line}\n")).collect()
    }

    /// Loads of a closed loop are users.
    fn load_words(&self) -> String {
        let loads = self.loads.join(", ");
        let is_users = |load: &String| load.bytes().all(|byte| byte.is_ascii_digit());
        match self.loads.iter().all(is_users) {
            true if self.loads == ["1"] => "1 user".to_owned(),
            true => format!("{loads} users"),
            false => loads,
        }
    }
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
    fn rows_hold_names_in_full_at_every_width() {
        let name = "quantization: int8 weights and activations, repeat 3";
        let row = Row {
            id: "20261127-132550-aac3".to_owned(),
            name: Some(name.to_owned()),
            state: State::Complete,
            model: Some("llama-3.1-8b".to_owned()),
            server: vec!["http://127.0.0.1:8000/v1".to_owned()],
            loads: vec!["1".to_owned(), "2".to_owned()],
            predicted: Some("from H100".to_owned()),
            beside_text: vec!["image 720p".to_owned()],
            tags: vec!["base".to_owned()],
            ..Row::default()
        };
        for width in [80, 100, 160] {
            let style = TerminalStyle { width, color: false, ascii: false, verbose: false };
            let text = row.lines(Some("353 tok/s with 1 user"), &style);
            assert!(text.lines().all(|line| line.chars().count() <= width), "{text}");
            let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(flat.starts_with(&format!("2026-11-27 13:25 {name} 353 tok/s")), "{text}");
            assert!(flat.ends_with("1, 2 users · predicted · #base"), "{text}");
        }
    }

    #[test]
    fn an_open_loop_is_listed_by_its_rate_and_not_by_its_bound() {
        let closed = ifm_metrics::testing::run(&[8], Vec::new()).manifest.spec.levels.remove(0);
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
