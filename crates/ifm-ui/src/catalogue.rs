//! What stands in the store, as far as heads and names tell: the rows of the list, found, filtered
//! and put in order.
//!
//! Heads are read once and kept until their files change. Not here: the answers of a run, for
//! which its requests have to be read (`digest`).

use crate::failure::Failure;
use crate::form::Fields;
use crate::time;
use ifm_core::order::Order as _;
use ifm_core::spec::LoadSpec;
use ifm_core::{Manifest, RunState};
use ifm_report::{number, plain};
use ifm_store::{IMPORT_FILE, Import, JOURNAL_FILE, MANIFEST_FILE, RunEntry, Store, TAGS_FILE};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::SystemTime;

/// Loads that are spelled out.
const LOADS_SHOWN: usize = 5;

ifm_core::vocabulary! {
    /// Where a run stands, or that it is an import.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub(crate) enum State {
        Running = "running",
        Unsealed = "cut off",
        Complete = "complete",
        Partial = "partial",
        Imported = "imported",
        Broken = "broken",
    }
}

impl State {
    /// Its sign, beside the word.
    pub(crate) fn sign(self) -> &'static str {
        match self {
            State::Running => "●",
            State::Unsealed | State::Partial => "⚠",
            State::Complete => "✓",
            State::Imported => "↓",
            State::Broken => "✗",
        }
    }
}

/// A row of the list.
#[derive(Debug, Clone)]
pub(crate) struct Item {
    pub(crate) id: String,
    pub(crate) name: Option<String>,
    pub(crate) state: State,
    pub(crate) model: String,
    pub(crate) server: String,
    pub(crate) when: String,
    pub(crate) loads: String,
    /// What its workload has beside text: media, structured answers, the probe.
    pub(crate) beside_text: Vec<String>,
    pub(crate) tags: Vec<String>,
    /// What the user said was set when it was measured: `gpu=L40S`.
    pub(crate) factors: Vec<String>,
    pub(crate) bytes: Option<u64>,
}

impl Item {
    /// Its page.
    pub(crate) fn path(&self) -> String {
        let kind = if self.is_import() { "imports" } else { "runs" };
        format!("/{kind}/{}", encoded(&self.id))
    }

    pub(crate) fn is_import(&self) -> bool {
        self.state == State::Imported
    }

    /// What people call it.
    pub(crate) fn title(&self) -> &str {
        self.name.as_deref().unwrap_or(&self.id)
    }

    fn holds(&self, words: &[String]) -> bool {
        let name = self.name.as_deref().unwrap_or_default();
        let tags =
            [&self.tags, &self.factors, &self.beside_text].map(|all| all.join(" ")).join(" ");
        let text = [name, &self.id, &self.model, &self.server, &tags, self.state.word()].join("\n");
        let text = text.to_lowercase();
        words.iter().all(|word| text.contains(word))
    }
}

/// An id as a part of an address.
pub(crate) fn encoded(id: &str) -> String {
    // A form's encoding but for the blank, which is a plus in a form.
    form_urlencoded::byte_serialize(id.as_bytes()).collect::<String>().replace('+', "%20")
}

/// What is looked for, and in which order it is shown.
#[derive(Debug, Default)]
pub(crate) struct Filter {
    pub(crate) text: String,
    pub(crate) kind: String,
    pub(crate) model: String,
    pub(crate) tag: String,
    pub(crate) sort: String,
}

/// Orders of the list: the word in the address, and for people.
pub(crate) const ORDERS: [(&str, &str); 6] = [
    ("", "newest first"),
    ("oldest", "oldest first"),
    ("name", "by name"),
    ("model", "by model"),
    ("server", "by server"),
    ("size", "largest first"),
];

/// Kinds that can be looked for: the word in the address, and for people.
pub(crate) const KINDS: [(&str, &str); 4] =
    [("", "everything"), ("run", "runs"), ("running", "running now"), ("import", "imports")];

impl Filter {
    pub(crate) fn of(fields: &Fields) -> Filter {
        let get = |name| fields.get(name).unwrap_or_default().to_owned();
        Filter {
            text: get("q"),
            kind: get("kind"),
            model: get("model"),
            tag: get("tag"),
            sort: get("sort"),
        }
    }

    /// The items that are looked for, in order.
    pub(crate) fn apply(&self, items: &[Item]) -> Vec<Item> {
        let words: Vec<String> =
            self.text.to_lowercase().split_whitespace().map(str::to_owned).collect();
        let is_kind = |item: &Item| match self.kind.as_str() {
            "run" => !item.is_import(),
            "running" => item.state == State::Running,
            "import" => item.is_import(),
            _ => true,
        };
        let mut found: Vec<Item> = items
            .iter()
            .filter(|item| is_kind(item) && item.holds(&words))
            .filter(|item| self.model.is_empty() || item.model == self.model)
            .filter(|item| self.tag.is_empty() || item.tags.contains(&self.tag))
            .cloned()
            .collect();
        match self.sort.as_str() {
            "oldest" => found.reverse(),
            "name" => found.order_by_key(|item| item.title().to_lowercase()),
            "model" => found.order_by_key(|item| item.model.to_lowercase()),
            "server" => found.order_by_key(|item| item.server.to_lowercase()),
            "size" => found.order_by_key(|item| std::cmp::Reverse(item.bytes)),
            _ => {}
        }
        found
    }
}

/// Size and time of change of the files that a row is made from.
type Stamp = [Option<(u64, SystemTime)>; 2];

/// The rows that were made, by id.
#[derive(Debug, Default)]
pub(crate) struct Catalogue {
    known: BTreeMap<String, (Stamp, Item)>,
}

impl Catalogue {
    /// All runs and imports, newest first.
    ///
    /// # Errors
    /// Where the store's own folder cannot be read.
    pub(crate) fn items(&mut self, store: &Store) -> Result<Vec<Item>, Failure> {
        let mut items = Vec::new();
        for folder in store.run_folders()? {
            let id = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let stamp = [stamp(&folder, MANIFEST_FILE), stamp(&folder, TAGS_FILE)];
            let item = self.row(&id, stamp, || run_item(RunEntry::at(folder.clone())));
            items.push(item);
        }
        for id in store.import_ids()? {
            let folder = store.root().join(&id);
            let stamp = [stamp(&folder, IMPORT_FILE), stamp(&folder, TAGS_FILE)];
            let item = self.row(&id, stamp, || import_item(store, &id));
            items.push(item);
        }
        let there: BTreeSet<&str> = items.iter().map(|item| item.id.as_str()).collect();
        self.known.retain(|id, _| there.contains(id.as_str()));
        items.order_by(|a, b| b.id.cmp(&a.id));
        Ok(items)
    }

    /// The row of an id, made anew where its files have changed. An open run is always made anew:
    /// whether somebody writes it stands in no file.
    fn row(&mut self, id: &str, stamp: Stamp, make: impl FnOnce() -> Item) -> Item {
        let is_open = |item: &Item| matches!(item.state, State::Running | State::Unsealed);
        match self.known.get(id) {
            Some((known, item)) if *known == stamp && !is_open(item) => item.clone(),
            _ => {
                let item = make();
                self.known.insert(id.to_owned(), (stamp, item.clone()));
                item
            }
        }
    }
}

/// Size and time of change of a file; absent where it is not there.
fn stamp(folder: &Path, name: &str) -> Option<(u64, SystemTime)> {
    let facts = std::fs::metadata(folder.join(name)).ok()?;
    Some((facts.len(), facts.modified().ok()?))
}

/// Where a run stands.
pub(crate) fn state(entry: &RunEntry) -> State {
    match &entry.manifest {
        Err(_) => State::Broken,
        Ok(manifest) => match manifest.state {
            RunState::Complete => State::Complete,
            RunState::Partial => State::Partial,
            RunState::Open if entry.is_live().unwrap_or(false) => State::Running,
            RunState::Open if entry.path.join(JOURNAL_FILE).is_file() => State::Unsealed,
            RunState::Open => State::Broken,
        },
    }
}

/// The row of a run.
pub(crate) fn run_item(entry: RunEntry) -> Item {
    let head = entry.manifest.as_ref().ok();
    let server = |manifest: &Manifest| {
        if let Some(prediction) = &manifest.predicted {
            return plain(&format!("predicted · {}", prediction.machine));
        }
        let kind = manifest.server.kind.as_deref().map(|kind| {
            format!("{kind} {}", manifest.server.version.as_deref().unwrap_or_default())
        });
        let url = &manifest.spec.target.base_url;
        let host = url.split_once("://").map_or(url.as_str(), |(_, rest)| rest);
        let host = host.trim_end_matches('/').trim_end_matches("/v1");
        plain(kind.map(|kind| format!("{} · {host}", kind.trim())).as_deref().unwrap_or(host))
    };
    // Tags that cannot be read are reported on the run's own page.
    let tags = entry.tags().unwrap_or_default();
    Item {
        name: head.and_then(|head| head.name.as_deref()).map(plain),
        state: state(&entry),
        model: head.map(|head| plain(&head.spec.target.model)).unwrap_or_default(),
        server: head.map(server).unwrap_or_default(),
        when: head.map_or_else(|| time::minute(&entry.id), |head| time::minute(&head.created_utc)),
        loads: head.map(|head| loads(&head.spec.levels)).unwrap_or_default(),
        beside_text: head.map(ifm_report::workload_words).unwrap_or_default(),
        factors: head.map(|head| factors(head, &tags)).unwrap_or_default(),
        tags,
        bytes: entry.bytes(),
        id: entry.id,
    }
}

/// What the user said was set when the run was measured, as it was typed. What was added later is
/// among `tags`.
fn factors(head: &Manifest, tags: &[String]) -> Vec<String> {
    let typed = head.tags.iter().map(|(name, value)| format!("{name}={value}"));
    typed.filter(|tag| !tags.contains(tag)).map(|tag| plain(&tag)).collect()
}

/// The row of an import.
pub(crate) fn import_item(store: &Store, id: &str) -> Item {
    let import = store.import(id);
    let found = import.as_ref().ok();
    let tools = |import: &Import| {
        let of = |sheet: &ifm_core::Sheet| {
            plain(sheet.source.tool.as_deref().unwrap_or(&sheet.source.format))
        };
        joined(import.sheets.iter().map(of))
    };
    let models = |import: &Import| {
        let parts = import.sheets.iter().flat_map(|sheet| &sheet.parts);
        let models = parts.flat_map(|part| {
            let own = part.rows.iter().map(|row| row.factors.get(ifm_core::sheet::key::MODEL));
            std::iter::once(part.factors.get(ifm_core::sheet::key::MODEL)).chain(own)
        });
        joined(models.flatten().map(plain))
    };
    let rows = |import: &Import| {
        let parts = import.sheets.iter().flat_map(|sheet| &sheet.parts);
        let rows: usize = parts.map(|part| part.rows.len()).sum();
        let files = import.sheets.len();
        let s = |n: usize| if n == 1 { "" } else { "s" };
        format!("{files} file{}, {rows} row{}", s(files), s(rows))
    };
    let files =
        |import: &Import| joined(import.sheets.iter().map(|sheet| base_name(&sheet.source.name)));
    Item {
        id: id.to_owned(),
        name: found
            .and_then(|found| found.name.as_deref().map(plain).or_else(|| Some(files(found)))),
        state: State::Imported,
        model: found.map(models).unwrap_or_default(),
        server: found.map(tools).unwrap_or_default(),
        when: time::minute(id),
        loads: found.map_or_else(|| "cannot be read".to_owned(), rows),
        beside_text: Vec::new(),
        tags: store.import_tags(id).unwrap_or_default(),
        factors: Vec::new(),
        bytes: store.import_bytes(id),
    }
}

/// The last part of a path.
fn base_name(path: &str) -> String {
    let parts = path.rsplit(['/', '\\']);
    plain(parts.into_iter().find(|part| !part.is_empty()).unwrap_or(path))
}

/// Each text once, the first few of them.
fn joined(texts: impl Iterator<Item = String>) -> String {
    const SHOWN: usize = 3;
    let mut seen: Vec<String> = Vec::new();
    for text in texts {
        if !seen.contains(&text) {
            seen.push(text);
        }
    }
    let more = seen.len().saturating_sub(SHOWN);
    seen.truncate(SHOWN);
    let shown = seen.join(", ");
    if more > 0 { format!("{shown} and {more} more") } else { shown }
}

/// The loads in few words: `1, 2, 4 users`, `1 – 64 users, 7 levels`.
fn loads(levels: &[LoadSpec]) -> String {
    let is_open = levels.iter().any(|level| level.arrivals.is_some());
    let value = |level: &LoadSpec| match &level.arrivals {
        Some(arrivals) => arrivals.mean_req_per_s().map_or_else(|| "?".to_owned(), number),
        None => level.concurrency.to_string(),
    };
    let mut values: Vec<String> = levels.iter().map(value).collect();
    values.dedup();
    let unit = match (is_open, values.as_slice()) {
        (true, _) => "req/s",
        (false, [one]) if one == "1" => "user",
        _ => "users",
    };
    match values.as_slice() {
        [] => String::new(),
        [first, .., last] if values.len() > LOADS_SHOWN => {
            format!("{first} – {last} {unit}, {} levels", values.len())
        }
        few => format!("{} {unit}", few.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ifm_metrics::testing::run;
    use std::path::PathBuf;

    fn item(id: &str, name: Option<&str>, model: &str, tags: &[&str]) -> Item {
        Item {
            id: id.to_owned(),
            name: name.map(str::to_owned),
            state: State::Complete,
            model: model.to_owned(),
            server: "vllm".to_owned(),
            when: String::new(),
            loads: String::new(),
            beside_text: Vec::new(),
            tags: tags.iter().map(|tag| (*tag).to_owned()).collect(),
            factors: Vec::new(),
            bytes: Some(id.len() as u64),
        }
    }

    #[test]
    fn a_prediction_is_listed_as_one() {
        let of = |run: ifm_core::RunData| {
            let (id, path) = ("x".to_owned(), PathBuf::from("nowhere"));
            run_item(RunEntry { id, path, manifest: Ok(run.manifest), sealed: true }).server
        };
        let measured = run(&[1], Vec::new());
        assert!(of(measured.clone()).contains("127.0.0.1"));
        assert_eq!(of(ifm_metrics::testing::predicted(measured)), "predicted · H100 SXM");
    }

    #[test]
    fn a_filter_finds_all_words_and_puts_in_order() {
        let items = [
            item("c", Some("Base"), "llama", &["fp8", "night"]),
            item("bb", None, "qwen", &["night"]),
            item("a", Some("fast"), "llama", &[]),
        ];
        let found = |query: &str| -> Vec<String> {
            let filter = Filter::of(&Fields::of_query(Some(query)));
            filter.apply(&items).into_iter().map(|item| item.id).collect()
        };
        assert_eq!(found(""), ["c", "bb", "a"]);
        assert_eq!(found("q=NIGHT"), ["c", "bb"]);
        assert_eq!(found("q=night+llama"), ["c"]);
        assert_eq!(found("model=llama&sort=oldest"), ["a", "c"]);
        assert_eq!(found("tag=fp8"), ["c"]);
        assert_eq!(found("sort=name"), ["c", "bb", "a"]);
        assert_eq!(found("sort=size"), ["bb", "c", "a"]);
        assert_eq!(found("kind=import"), Vec::<String>::new());
    }

    #[test]
    fn loads_in_few_words() {
        let of = |users: &[u32]| loads(&run(users, Vec::new()).manifest.spec.levels);
        assert_eq!(of(&[1]), "1 user");
        assert_eq!(of(&[1, 2, 4]), "1, 2, 4 users");
        assert_eq!(of(&[1, 2, 4, 8, 16, 32, 64]), "1 – 64 users, 7 levels");
        assert_eq!(of(&[]), "");
    }

    #[test]
    fn an_id_cannot_leave_its_place_in_an_address() {
        assert_eq!(encoded("a/../b c?d#e+"), "a%2F..%2Fb%20c%3Fd%23e%2B");
    }
}
