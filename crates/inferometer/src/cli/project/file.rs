//! The file itself: where it is found, and its entries with their lines.
//!
//! Not here: what an entry means (`keys`).

use crate::exit::Failure;
use crate::terminal;
use clap::{Arg, ValueHint};
use ifm_core::order::Order as _;
use ifm_core::regular::read_regular_text;
use ifm_launch::own_program::PROJECT_VARIABLE;
use ifm_sys::process::user_id;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use toml::de::{DeTable, DeValue};

/// The file's name.
const NAME: &str = "inferometer.toml";
/// Maximum size of the file, bytes.
const BYTES_MAX: u64 = 1 << 20;
/// Number of folders above the current one to search.
const FOLDERS_MAX: usize = 64;

/// A project file.
pub struct ProjectFile {
    /// Its name as it is shown: relative to the current folder.
    name: String,
    /// The base folder of its paths; empty for the current one.
    folder: PathBuf,
    /// Its entries, in order.
    pub entries: Vec<Entry>,
}

/// A key with its value.
pub struct Entry {
    /// The words of the command whose table contains it; empty for the head of the file.
    pub table: Vec<String>,
    /// The key.
    pub key: String,
    /// The value.
    pub value: Value,
    /// Its line, from 1.
    pub line: usize,
}

impl Entry {
    /// The key with its table: `run.concurrency`.
    pub fn path(&self) -> String {
        self.table.iter().chain([&self.key]).map(String::as_str).collect::<Vec<_>>().join(".")
    }
}

/// A value as it would be typed.
pub enum Value {
    /// A text or a number.
    Text(String),
    /// A switch, on or off.
    Switch(bool),
    /// Several.
    List(Vec<String>),
    /// A value that no flag could have, with the name of its TOML type.
    Other(&'static str),
}

impl Value {
    fn of(value: &DeValue<'_>) -> Value {
        let plain = |value: &DeValue<'_>| match value {
            DeValue::String(text) => Some(text.to_string()),
            DeValue::Integer(number) => Some(number.to_string()),
            DeValue::Float(number) => Some(number.as_str().to_owned()),
            _ => None,
        };
        match value {
            DeValue::Boolean(is_set) => Value::Switch(*is_set),
            DeValue::Array(values) => {
                let all: Option<Vec<String>> =
                    values.iter().map(|value| plain(value.get_ref())).collect();
                all.map_or(Value::Other("array of other values"), Value::List)
            }
            other => plain(other).map_or(Value::Other(other.type_str()), Value::Text),
        }
    }

    /// The value for people.
    pub fn shown(&self) -> String {
        match self {
            Value::Text(text) => text.clone(),
            Value::Switch(is_set) => is_set.to_string(),
            Value::List(all) => all.join(","),
            Value::Other(kind) => (*kind).to_owned(),
        }
    }
}

impl ProjectFile {
    /// The file of the current folder, or of the nearest folder above it up to the root of its repository.
    ///
    /// # Errors
    /// It cannot be read, or is not TOML.
    pub fn find() -> Result<Option<ProjectFile>, Failure> {
        if let Some(named) = std::env::var_os(PROJECT_VARIABLE) {
            return match named.is_empty() {
                true => Ok(None),
                false => read(PathBuf::from(named)).map(Some),
            };
        }
        let Ok(here) = std::env::current_dir() else { return Ok(None) };
        let mut up = PathBuf::new();
        for folder in here.ancestors().take(FOLDERS_MAX) {
            let path = up.join(NAME);
            if path.is_file() {
                if !is_ours(&path) {
                    terminal::warn(&format!(
                        "{} belongs to another user and is not read; {PROJECT_VARIABLE}={} reads it",
                        path.display(),
                        path.display()
                    ));
                    return Ok(None);
                }
                return read(path).map(Some);
            }
            if folder.join(".git").exists() {
                break;
            }
            up.push("..");
        }
        Ok(None)
    }

    /// Removes all entries except those with these keys in the head; with no keys, all stay.
    pub fn keep_only(&mut self, only: &[&str]) {
        if !only.is_empty() {
            self.entries.retain(|entry| entry.table.is_empty() && only.contains(&&*entry.key));
        }
    }

    /// The location of an entry: `inferometer.toml:3`.
    pub fn place(&self, entry: &Entry) -> String {
        format!("{}:{}", self.name, entry.line)
    }

    /// An error with its file and line.
    pub fn wrong(&self, entry: &Entry, what: &str) -> Failure {
        Failure::usage(format!("{}, line {}: {what}", self.name, entry.line))
    }

    /// A path in the file, relative to the current folder.
    pub fn path_of(&self, text: &str) -> String {
        match text == "-" || self.folder.as_os_str().is_empty() {
            true => text.to_owned(),
            false => self.folder.join(text).to_string_lossy().into_owned(),
        }
    }

    /// An entry as it would be typed for an argument.
    pub fn words(&self, entry: &Entry, arg: &Arg) -> Vec<String> {
        let is_path = arg.get_value_hint() != ValueHint::Unknown;
        let value = |text: &String| if is_path { self.path_of(text) } else { text.clone() };
        let Some(long) = arg.get_long() else {
            return vec![value(&entry.value.shown())];
        };
        // A flag with an optional value is set like a flag with a required one.
        let is_bare = !arg.get_action().takes_values()
            || arg.get_num_args().is_some_and(|count| count.min_values() == 0);
        match &entry.value {
            Value::Switch(true) if is_bare => vec![format!("--{long}")],
            Value::Switch(false) if is_bare => Vec::new(),
            Value::List(all) => match arg.get_value_delimiter() {
                Some(between) => {
                    let all: Vec<String> = all.iter().map(value).collect();
                    vec![format!("--{long}={}", all.join(&between.to_string()))]
                }
                None => all.iter().map(|one| format!("--{long}={}", value(one))).collect(),
            },
            other => vec![format!("--{long}={}", value(&other.shown()))],
        }
    }
}

/// Whether a file belongs to the user, or to root: another user's file could send the user's key
/// anywhere.
fn is_ours(path: &Path) -> bool {
    path.metadata().is_ok_and(|facts| [user_id(), 0].contains(&facts.uid()))
}

fn read(path: PathBuf) -> Result<ProjectFile, Failure> {
    let name = path.display().to_string();
    let failed = |why: String| Failure::usage(format!("{name} cannot be read: {why}"));
    let text = read_regular_text(&path, BYTES_MAX).map_err(|error| failed(error.to_string()))?;
    let folder = path.parent().map(Path::to_owned).unwrap_or_default();
    let entries = entries(&text)
        .map_err(|(line, why)| Failure::usage(format!("{name}, line {line}: {why}")))?;
    Ok(ProjectFile { name, folder, entries })
}

/// The entries of a text, in order; or the line of an error, and the error.
fn entries(text: &str) -> Result<Vec<Entry>, (usize, String)> {
    let line_of = |at: usize| text.get(..at).unwrap_or_default().matches('\n').count() + 1;
    let table = DeTable::parse(text).map_err(|error| {
        let line = error.span().map_or(1, |span| line_of(span.start));
        (line, error.message().trim_end().to_owned())
    })?;
    let mut entries = Vec::new();
    gather(table.get_ref(), &[], &line_of, &mut entries);
    entries.order_by_key(|entry| entry.line);
    Ok(entries)
}

fn gather(
    table: &DeTable<'_>,
    path: &[String],
    line_of: &impl Fn(usize) -> usize,
    entries: &mut Vec<Entry>,
) {
    for (key, value) in table {
        let name = key.get_ref().to_string();
        match value.get_ref() {
            DeValue::Table(below) if !below.is_empty() => {
                gather(below, &[path, &[name]].concat(), line_of, entries);
            }
            value => entries.push(Entry {
                table: path.to_vec(),
                key: name,
                value: Value::of(value),
                line: line_of(key.span().start),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_have_their_tables_and_lines() {
        let text = "server = \"http://h:8000\"\n\n[run]\nconcurrency = 8\nquiet = true\n\
                    tag = [\"gpu=L40S\", \"cc=on\"]\n[plan.run]\nbudget = \"2h\"\n";
        let all = entries(text).expect("entries");
        let told: Vec<String> = all
            .iter()
            .map(|entry| format!("{}:{}={}", entry.line, entry.path(), entry.value.shown()))
            .collect();
        assert_eq!(
            told,
            [
                "1:server=http://h:8000",
                "4:run.concurrency=8",
                "5:run.quiet=true",
                "6:run.tag=gpu=L40S,cc=on",
                "8:plan.run.budget=2h"
            ]
        );
        assert_eq!(entries("a = 1\nb = \n").map(|_| ()).unwrap_err().0, 2);
    }
}
