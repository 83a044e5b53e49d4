//! The output of `--list…` flags: one ID and title per line, or the same as one JSON document.
//!
//! Not here: lists with other columns (`runs`, `limit --list`, `workload list`).

use crate::terminal;
use serde::Serialize;

/// What `audit --list-rules`, `import --list-formats`, `conform --list`, `engine --list` and `schema`
/// write with `--json`.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct List {
    /// What the document is.
    #[cfg_attr(test, schemars(extend("const" = "inferometer_list")))]
    kind: &'static str,
    /// What is listed: `rules`, `formats`, `cases`, `engines`, `schemas`.
    of: &'static str,
    /// The entries.
    entries: Vec<Entry>,
}

/// One entry of a list.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Entry {
    /// Its group, such as the class of a case.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<&'static str>,
    /// Its name on the command line.
    pub id: &'static str,
    /// Its title.
    pub title: String,
}

impl List {
    /// A list of such entries.
    pub fn new(of: &'static str, entries: impl Iterator<Item = Entry>) -> List {
        List { kind: "inferometer_list", of, entries: entries.collect() }
    }

    /// Prints it.
    pub fn tell(&self, is_json: bool) {
        if is_json {
            return terminal::print_document(self);
        }
        let width = self.entries.iter().map(|entry| entry.id.len()).max().unwrap_or(0);
        // A script reads one entry per line.
        let lines = |lead: &str, title: &str| match terminal::is_read_by_people() {
            true => terminal::wrapped(lead, title),
            false => format!("{lead}{title}\n"),
        };
        let line = |Entry { group, id, title }: &Entry| match group {
            Some(group) => lines(&format!("{group:<9} {id:<width$} "), title),
            None => lines(&format!("{id:<width$} "), title),
        };
        terminal::print(&self.entries.iter().map(line).collect::<String>());
    }
}

impl Entry {
    /// An entry without a group.
    pub fn new(id: &'static str, title: impl Into<String>) -> Entry {
        Entry { group: None, id, title: title.into() }
    }
}
