//! A reason that nothing in the document measures is a hypothesis.

use super::super::sentence::{Sentence, sentences};
use super::super::{Cell, Finding, Level, Looked, Rule, Subject};
use ifm_core::Metric;
use ifm_core::sheet::RowRole;

pub(super) const RULE: Rule =
    Rule { id: "unsupported_reason", title: "stated reasons rest on measurements", look };

/// Words that a reason begins with.
const REASONS: [&str; 9] = [
    "because ",
    "due to ",
    "the reason ",
    "caused by ",
    "is the likely ",
    "is likely the ",
    "is the bottleneck",
    "is explained by ",
    "thanks to ",
];
/// What would show a mechanism: where time, bytes and operations go.
const MECHANISMS: [Metric; 7] = [
    Metric::Kernel,
    Metric::Bandwidth,
    Metric::FlopRate,
    Metric::CachedTokens,
    Metric::AcceptanceLength,
    Metric::Power,
    Metric::Memory,
];

fn look(subject: &Subject) -> Looked {
    let sentences = sentences(subject);
    if sentences.is_empty() {
        return Looked::Needs("sentences");
    }
    let reasons = sentences.iter().filter(|sentence| sentence.says(&REASONS));
    let told: Vec<&Sentence> =
        reasons.filter(|sentence| !measures_mechanism(subject, sentence.cell)).collect();
    let Some(first) = told.first() else { return Looked::Found(Vec::new()) };
    let text = format!(
        "{} of {} statements give a reason that nothing in the document measures: a hypothesis, such \
         as \"{}\"",
        told.len(),
        sentences.len(),
        first.shown()
    );
    let finding = Finding::new(RULE.id, Level::Hint, text)
        .at_all(told.iter().map(|sentence| sentence.cell.spot()))
        .remedy("call it a guess, or show a measurement that differs only in this");
    Looked::Found(vec![finding])
}

fn measures_mechanism(subject: &Subject, stated: &Cell) -> bool {
    subject.cells(RowRole::Measured).any(|cell| {
        std::ptr::eq(cell.sheet, stated.sheet)
            && cell.row.figures.iter().any(|figure| MECHANISMS.contains(&figure.quantity))
    })
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::{check, row, sheet};
    use super::*;
    use ifm_core::Sheet;
    use ifm_core::sheet::{PartKind, Statistic, Unit};

    fn document(text: &str) -> Sheet {
        let mut row = row(4, &[(Metric::Itl, Statistic::Value, "31", Unit::Ms)]);
        row.role = RowRole::Stated;
        row.text = Some(text.to_owned());
        sheet(PartKind::Conclusion, vec![row])
    }

    #[test]
    fn a_reason_without_a_measurement_is_a_hypothesis() {
        let corrupt =
            |sheet: &mut Sheet| *sheet = document("The ITL is 31 ms because copies are slow.");
        check(
            "unsupported_reason",
            &document("The ITL is 31 ms."),
            corrupt,
            Level::Hint,
            "hypothesis",
        );
    }

    #[test]
    fn a_measured_mechanism_silences_it() {
        let mut sheet = document("The ITL is 31 ms because copies are slow.");
        let kernel = row(9, &[(Metric::Kernel, Statistic::Value, "25", Unit::Ms)]);
        sheet.parts[0].rows.push(kernel);
        assert_eq!(super::super::super::testing::found("unsupported_reason", &[sheet]), []);
    }
}
