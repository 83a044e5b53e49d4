//! From the bytes of a file to a sheet.
//!
//! To add a tool that writes fields (JSON, CSV, SQL): a file in `format`, a line in
//! `format::FORMATS`. To add one that prints text: a file in `block`, a line in `block::BLOCKS`;
//! any text may then hold such blocks, among headings and prose.

mod block;
mod bounds;
mod cell_grid;
mod collect;
mod decoding;
mod document;
mod encoding;
mod error;
mod field;
mod form;
mod format;
mod generic;
mod grid;
mod head;
mod heading;
mod html;
mod input;
mod json;
mod known;
mod labels;
mod lines;
mod llama;
mod mapped;
mod measure;
mod nature;
mod notes;
mod outline;
mod records;
mod separated;
mod serving;
mod static_batch;
mod statistic;
mod terminal;
mod text;
mod together;
mod uncounted;
mod words;
mod yaml;

pub use error::{Guess, ImportError};
pub(crate) use format::guidellm::words::{CARRIED as GUIDELLM_CARRIED, Carried};
pub(crate) use format::inference_x::FIELDS as INFERENCE_X_FIELDS;
pub use head::Head;
pub use input::Input;
pub(crate) use labels::PREFIX;
pub(crate) use llama::bench::column_of_factor;
pub use mapped::{ColumnMap, MapError, Target, names, read_mapped};
pub use nature::Nature;
pub use together::settle_together;
pub(crate) use words::{
    AIPERF_PER_TOKEN, GENAI_BENCH_PER_TOKEN, GUIDELLM_PER_TOKEN, SGLANG_PER_TOKEN, VLLM_PER_TOKEN,
};

use ifm_core::Sheet;
use ifm_core::contained::contained;
use ifm_core::sheet::{Place, Row};
use serde_json::{Map, Value};

/// A YAML document as JSON, for whoever reads a file of settings.
///
/// # Errors
/// Where it is broken, in words.
pub fn yaml_value(text: &str) -> Result<Value, String> {
    let (json, damage) = yaml::to_json(text);
    match damage {
        Some((line, reason)) => Err(format!("line {line}: {reason}")),
        None => json::lenient(json.as_bytes()).map_err(|error| error.to_string()),
    }
}

/// How sure a reader is that a file is its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Likeness {
    /// It is not.
    No,
    /// Some of what it looks for is there.
    Some,
    /// It is: nothing else writes this.
    Sure,
}

/// A format that a file was recognised as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Recognised {
    /// Id of the format.
    pub id: &'static str,
    /// Its name for people.
    pub title: &'static str,
}

/// ID of the format of text that holds blocks of other formats.
pub const TEXT: &str = notes::ABOUT.id;

/// Every format, for lists and errors.
pub fn formats() -> impl Iterator<Item = Recognised> {
    let files =
        format::FORMATS.iter().map(|format| format.about()).chain([generic::records::ABOUT]);
    let blocks = block::BLOCKS.iter().map(|block| block.about());
    files.chain(blocks)
}

/// What a file is, by its content.
pub fn recognise(head: &Head) -> Option<Recognised> {
    match format::of(head) {
        Some(format) => Some(format.about()),
        None if Nature::about_results(head).is_some() => None,
        None => notes::is_text(head).then_some(notes::ABOUT),
    }
}

/// Reads a whole file.
///
/// # Errors
/// [`ImportError`] when nothing in it is known, with what came closest; or when it cannot be read.
/// A file of which a part is damaged is not an error: the rest is read, and remarks tell the lines.
pub fn read(input: Input<'_>) -> Result<Sheet, ImportError> {
    let name = input.name().to_owned();
    contained(|| read_format(input))
        .unwrap_or_else(|error| Err(ImportError::Panicked { name, error }))
}

fn read_format(input: Input<'_>) -> Result<Sheet, ImportError> {
    let (head, input) = input.with_head()?;
    let seen = input.seen();
    let mut sheet = match (format::of(&head), Nature::about_results(&head)) {
        (Some(format), _) => (format.read)(format, input),
        (None, Some(Nature::Page)) => {
            let (name, bytes) = (input.name().to_owned(), input.all()?);
            match document::page(&name, &bytes) {
                document::Outcome::Sheet(sheet) => Ok(sheet),
                _ => Err(unread(&head, &bytes, |_| Nature::Page)),
            }
        }
        (None, Some(nature)) => Err(not_known(&head, nature)),
        (None, None) if notes::is_text(&head) => {
            let (name, bytes) = (input.name().to_owned(), input.all()?);
            match document::read(&name, &bytes) {
                document::Outcome::Sheet(sheet) => Ok(sheet),
                document::Outcome::Refused => Err(not_known(&head, Nature::of(&bytes))),
                document::Outcome::Exceeds(limit) => Err(ImportError::Exceeds { name, limit }),
                document::Outcome::Text => {
                    notes::read(name, &bytes).ok_or_else(|| unread(&head, &bytes, Nature::of))
                }
            }
        }
        (None, None) => Err(not_known(&head, Nature::of(head.bytes()))),
    }?;
    uncounted::without_zeros(&mut sheet);
    seen.get().tell(&mut sheet);
    Ok(sheet)
}

/// The rows of an object with llama-bench's fields: the values for all repeats, then each repeat.
/// Empty if the fields do not describe a test.
pub fn llama_bench_rows(fields: Map<String, Value>, place: &Place) -> Vec<Row> {
    llama::bench::rows(fields, place)
}

/// Nothing of the file was read: it exceeds a limit, or nothing in it is known.
fn unread(head: &Head, bytes: &[u8], nature: impl FnOnce(&[u8]) -> Nature) -> ImportError {
    match text::exceeded(bytes) {
        Some(limit) => ImportError::Exceeds { name: head.name().to_owned(), limit },
        None => not_known(head, nature(bytes)),
    }
}

/// Nothing in the file is known.
fn not_known(head: &Head, nature: Nature) -> ImportError {
    // Of what is not text or no JSON, columns would be chance.
    let columns = match nature {
        Nature::Other => mapped::columns(head),
        _ => Vec::new(),
    };
    let name = head.name().to_owned();
    let guesses = match nature {
        Nature::Ours | Nature::Page => Vec::new(),
        _ => format::guesses(head),
    };
    let (example, guesses) = (mapped::example(&columns).into(), guesses.into());
    ImportError::NotKnown { name, nature, guesses, columns, example }
}
