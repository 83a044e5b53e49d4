//! What was read from a document of another tool, in words.
//!
//! What is not here: layout, and why a document could not be read.

use crate::format::harmless;
use ifm_core::Sheet;
use ifm_core::sheet::{Part, PartKind, Place, Remark, RemarkKind, RowRole, key};
use ifm_core::words::counted;
use std::collections::BTreeMap;

/// What was read from one document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportedText {
    /// Name of the document.
    pub name: String,
    /// Id of its format.
    pub format: String,
    /// The tool that wrote it, with its version; absent where the document does not say.
    pub tool: Option<String>,
    /// What kinds of measurement it holds, and how many: `serving`, `2 tables: 8 measured`.
    pub kinds: Vec<(&'static str, String)>,
    /// What was repaired, kept as missing, skipped or lost.
    pub remarks: Vec<RemarkText>,
}

/// One remark.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemarkText {
    /// What was done.
    pub word: &'static str,
    /// Where: `line 412`, or `the file`.
    pub place: String,
    /// The remark.
    pub text: String,
}

/// What a sheet holds, in words. Nothing in it can steer a terminal.
pub fn imported(sheet: &Sheet) -> ImportedText {
    let source = &sheet.source;
    let version = source.tool_version.as_ref().map(|v| format!(" {v}")).unwrap_or_default();
    let mut kinds: BTreeMap<&str, Vec<&Part>> = BTreeMap::new();
    for part in &sheet.parts {
        kinds.entry(kind_word(part)).or_default().push(part);
    }
    ImportedText {
        name: clean(&source.name),
        format: clean(&source.format),
        tool: source.tool.as_deref().map(|tool| clean(&format!("{tool}{version}"))),
        kinds: kinds.into_iter().map(|(word, parts)| (word, counts(&parts))).collect(),
        remarks: sheet.remarks.iter().map(remark).collect(),
    }
}

/// `2 tables: 8 measured, 3 summaries, 120 requests`.
fn counts(parts: &[&Part]) -> String {
    let rows = || parts.iter().flat_map(|part| &part.rows);
    let of = |role: RowRole| rows().filter(|row| row.role == role).count();
    let requests: usize = rows().map(|row| row.requests.len()).sum();
    let mut counts = vec![format!("{} measured", of(RowRole::Measured))];
    for (role, name) in [
        (RowRole::Summary, "summaries"),
        (RowRole::Stated, "stated"),
        (RowRole::Planned, "planned and empty"),
    ] {
        counts.extend((of(role) > 0).then(|| format!("{} {name}", of(role))));
    }
    counts.extend((requests > 0).then(|| counted(requests as u64, "request")));
    let blocks = parts.len();
    format!("{}: {}", counted(blocks as u64, "table"), counts.join(", "))
}

fn remark(remark: &Remark) -> RemarkText {
    let word = match remark.kind {
        RemarkKind::Repaired => "repaired",
        RemarkKind::Missing => "missing",
        RemarkKind::Skipped => "skipped",
        RemarkKind::Lost => "not kept",
        RemarkKind::Assumed => "assumed",
        RemarkKind::Measured => "remarked",
    };
    RemarkText { word, place: place(&remark.place), text: clean(&remark.text) }
}

/// `line 412`, with the field or column if known; `the file` without a place.
fn place(place: &Place) -> String {
    let line = place.line.map(|line| format!("line {line}"));
    let pointer = place.pointer.as_deref().map(clean).filter(|pointer| !pointer.is_empty());
    let words: Vec<String> = line.into_iter().chain(pointer).collect();
    if words.is_empty() { "the file".to_owned() } else { words.join(" ") }
}

fn kind_word(part: &Part) -> &'static str {
    match part.kind {
        PartKind::Serving => "serving",
        PartKind::StaticBatch => "static batches",
        PartKind::Engine => "engine",
        PartKind::Kernel => "kernels",
        PartKind::Training if part.factors.get(key::COMMAND).is_some() => "commands",
        PartKind::Training => "training",
        PartKind::Conclusion => "conclusions",
        PartKind::Other => "other",
    }
}

/// What the content of foreign files may put on a terminal or a page: nothing that steers.
fn clean(text: &str) -> String {
    text.chars().filter(|c| *c == harmless(*c)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ifm_core::sheet::Row;

    #[test]
    fn a_document_in_words() {
        let mut part = Part::new(PartKind::Serving, Place::line(3));
        part.rows = vec![
            Row::new(RowRole::Measured, Place::line(4)),
            Row::new(RowRole::Planned, Place::line(5)),
        ];
        let mut sheet = Sheet { parts: vec![part], ..Sheet::default() };
        sheet.source.name = "a\u{1b}[2J.md".to_owned();
        sheet.source.tool = Some("vllm".to_owned());
        sheet.source.tool_version = Some("0.9".to_owned());
        sheet.remarks.push(Remark {
            kind: RemarkKind::Skipped,
            place: Place { line: Some(7), pointer: Some("/x".to_owned()) },
            text: "no number".to_owned(),
        });
        let found = imported(&sheet);
        assert_eq!((found.name.as_str(), found.tool.as_deref()), ("a[2J.md", Some("vllm 0.9")));
        let expect = ("serving", "1 table: 1 measured, 1 planned and empty".to_owned());
        assert_eq!(found.kinds, [expect]);
        assert_eq!(
            (found.remarks[0].word, found.remarks[0].place.as_str()),
            ("skipped", "line 7 /x")
        );
    }
}
