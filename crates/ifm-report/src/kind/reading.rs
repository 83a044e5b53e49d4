//! What happened to documents on their way in: what was taken to be so, put right, or left out.
//!
//! Every kind ends with it: a number based on something that a document does not say must not look
//! like one that it does say. What inferometer itself noted while it measured is here too, under a
//! heading of its own.

use super::Subject;
use crate::format::plain;
use crate::page::{Block, Section};
use ifm_core::sheet::{Remark, RemarkKind};

/// The chapter; absent where every document was read without changes.
pub(super) fn section(subject: &Subject) -> Option<Section> {
    let several = subject.sheets.len() > 1;
    let (mut measured, mut assumed, mut others) = (Vec::new(), Vec::new(), Vec::new());
    for sheet in subject.sheets {
        let of = if several { format!("{}, ", sheet.source.name) } else { String::new() };
        measured.extend(sheet.remarked().map(|remark| plain(&format!("{of}{}", remark.text))));
        let is_told = |remark: &Remark| sheet.remarked().any(|told| std::ptr::eq(told, remark));
        for remark in sheet.remarks.iter().filter(|remark| !is_told(remark)) {
            let line = plain(&format!("{of}{}", words(remark)));
            match remark.kind {
                RemarkKind::Assumed => assumed.push(line),
                _ => others.push(line),
            }
        }
    }
    let is_read = !(assumed.is_empty() && others.is_empty());
    let mut blocks = Vec::new();
    if !measured.is_empty() {
        if is_read {
            blocks.push(Block::Prose("Noted during the measurement:".to_owned()));
        }
        blocks.push(Block::List(measured));
    }
    if !assumed.is_empty() {
        blocks.push(Block::Prose("Assumed, although the document does not say so:".to_owned()));
        blocks.push(Block::List(assumed));
    }
    if !others.is_empty() {
        let title = match others.len() {
            1 => "1 remark of the import".to_owned(),
            many => format!("{many} remarks of the import"),
        };
        blocks.push(Block::Details(title, vec![Block::List(others)]));
    }
    let heading = if is_read { "How the document was read" } else { "Remarks on the measurement" };
    (!blocks.is_empty()).then(|| Section::new(heading, blocks))
}

/// `line 30: put right: …`
fn words(remark: &Remark) -> String {
    let sign = match remark.kind {
        RemarkKind::Repaired => "put right: ",
        RemarkKind::Missing => "kept as missing: ",
        RemarkKind::Skipped => "not read: ",
        RemarkKind::Lost => "left out: ",
        _ => "",
    };
    match remark.place.line {
        Some(line) => format!("line {line}: {sign}{}", remark.text),
        None => format!("{sign}{}", remark.text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ifm_core::Sheet;
    use ifm_core::sheet::{Place, Source};
    use ifm_results::Results;
    use ifm_rules::insight::Question;

    fn section_of(remarks: &[(RemarkKind, &str)]) -> Option<Section> {
        section_of_format("text", remarks)
    }

    fn section_of_format(format: &str, remarks: &[(RemarkKind, &str)]) -> Option<Section> {
        let remark = |(kind, text): &(RemarkKind, &str)| Remark {
            kind: *kind,
            place: Place::line(7),
            text: (*text).to_owned(),
        };
        let source =
            Source { name: "a.txt".to_owned(), format: format.to_owned(), ..Source::default() };
        let remarks = remarks.iter().map(remark).collect();
        let sheets = [Sheet { source, parts: Vec::new(), remarks }];
        let results = Results::default();
        let question = Question::new(&results);
        let (runs, insights) = (&[], &[]);
        section(&Subject { runs, sheets: &sheets, question, insights, audit: None, title: None })
    }

    #[test]
    fn what_was_assumed_is_open_and_the_rest_is_folded() {
        let all = [(RemarkKind::Assumed, "of one run"), (RemarkKind::Lost, "lines 1, 2")];
        let section = section_of(&all).expect("remarks");
        let [Block::Prose(_), Block::List(open), Block::Details(title, _)] =
            section.blocks.as_slice()
        else {
            panic!("{section:?}")
        };
        assert_eq!(open, &["line 7: of one run"]);
        assert_eq!(title, "1 remark of the import");
    }

    #[test]
    fn what_was_remarked_while_measuring_is_no_reading() {
        let remarks = [(RemarkKind::Measured, "CPU contention")];
        let section = section_of_format("inferometer-kernel", &remarks).expect("a remark");
        assert_eq!(section.heading, "Remarks on the measurement");
        let [Block::List(lines)] = section.blocks.as_slice() else { panic!("{section:?}") };
        assert_eq!(lines, &["CPU contention"]);
    }

    #[test]
    fn a_document_that_was_read_as_it_stands_has_none() {
        assert!(section_of(&[]).is_none());
    }
}
