//! Small documents for the tests of rules.

use super::{Audit, Finding, Level, Looked, Subject, audit};
use ifm_core::Metric;
use ifm_core::Sheet;
use ifm_core::sheet::{Figure, Part, PartKind, Place, Row, RowRole, Source, Statistic, Unit};

/// A row with figures as printed: quantity, statistic, digits, unit.
pub fn row(line: u32, figures: &[(Metric, Statistic, &str, Unit)]) -> Row {
    let mut row = Row::new(RowRole::Measured, Place::line(line));
    row.figures = figures
        .iter()
        .map(|(quantity, statistic, printed, unit)| {
            let value = printed.parse().expect("a number");
            Figure::new(*quantity, *statistic, value, unit.clone()).as_printed(*printed)
        })
        .collect();
    row
}

/// A document of one table.
pub fn sheet(kind: PartKind, rows: Vec<Row>) -> Sheet {
    let part = Part { rows, ..Part::new(kind, Place::line(1)) };
    Sheet {
        source: Source { name: "doc.md".to_owned(), ..Source::default() },
        parts: vec![part],
        remarks: Vec::new(),
    }
}

/// What all rules say of documents.
pub fn audited(sheets: &[Sheet]) -> Audit {
    audit(&Subject::new(sheets))
}

/// What a rule finds in documents; none if it could not look.
pub fn found(rule: &str, sheets: &[Sheet]) -> Vec<Finding> {
    let audit = audited(sheets);
    let result = audit.rules.iter().find(|result| result.id == rule).expect("a known rule");
    match &result.looked {
        Looked::Found(findings) => findings.clone(),
        Looked::Needs(_) => Vec::new(),
    }
}

/// Checks that a rule is silent on a sound document and says `word` at `level` on a corrupted one.
pub fn check(
    rule: &str,
    sound: &Sheet,
    corrupt: impl FnOnce(&mut Sheet),
    level: Level,
    word: &str,
) {
    assert_eq!(found(rule, std::slice::from_ref(sound)), [], "{rule} on a sound document");
    let mut corrupted = sound.clone();
    corrupt(&mut corrupted);
    let findings = found(rule, &[corrupted]);
    assert!(
        findings.iter().any(|finding| finding.level == level && finding.text.contains(word)),
        "{rule} should say {word}: {findings:?}"
    );
}
