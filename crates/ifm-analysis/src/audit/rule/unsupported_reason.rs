//! A reason that nothing in the document measures is a hypothesis.

use super::super::{Cell, Finding, Level, Looked, Rule, Subject};
use ifm_core::sheet::{Quantity, RowRole};

pub(super) const RULE: Rule =
    Rule { id: "unsupported_reason", title: "reasons rest on something measured", look };

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
const MECHANISMS: [Quantity; 7] = [
    Quantity::KernelTime,
    Quantity::Bandwidth,
    Quantity::FlopRate,
    Quantity::CachedTokens,
    Quantity::AcceptLength,
    Quantity::Power,
    Quantity::Memory,
];
/// Characters of a sentence that are shown.
const SHOWN: usize = 120;

fn look(subject: &Subject) -> Looked {
    let mut seen = 0;
    let mut told: Vec<(&str, &Cell)> = Vec::new();
    for cell in subject.cells(RowRole::Stated) {
        let Some(text) = cell.row.text.as_deref() else { continue };
        seen += 1;
        let lower = text.to_lowercase();
        let gives_reason = REASONS.iter().any(|reason| lower.contains(reason));
        // One sentence may stand behind several figures.
        let is_new = told.iter().all(|(known, _)| *known != text);
        if gives_reason && is_new && !measures_mechanism(subject, cell) {
            told.push((text, cell));
        }
    }
    if seen == 0 {
        return Looked::Needs("sentences");
    }
    let Some((text, _)) = told.first() else { return Looked::Found(Vec::new()) };
    let mut shown: String = text.chars().take(SHOWN).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    let text = format!(
        "{} of {seen} stated figures come with a reason that nothing in the document measures: a \
         hypothesis, such as \"{}\"",
        told.len(),
        shown.replace('\n', " ")
    );
    let finding = Finding::new(RULE.id, Level::Hint, text)
        .at_all(told.iter().map(|(_, cell)| cell.spot()))
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
        let mut row = row(4, &[(Quantity::Itl, Statistic::Value, "31", Unit::Ms)]);
        row.role = RowRole::Stated;
        row.text = Some(text.to_owned());
        sheet(PartKind::Conclusion, vec![row])
    }

    #[test]
    fn a_reason_without_a_measurement_is_a_hypothesis() {
        let spoil =
            |sheet: &mut Sheet| *sheet = document("The ITL is 31 ms because copies are slow.");
        check(
            "unsupported_reason",
            &document("The ITL is 31 ms."),
            spoil,
            Level::Hint,
            "hypothesis",
        );
    }

    #[test]
    fn a_measured_mechanism_silences_it() {
        let mut sheet = document("The ITL is 31 ms because copies are slow.");
        let kernel = row(9, &[(Quantity::KernelTime, Statistic::Value, "25", Unit::Ms)]);
        sheet.parts[0].rows.push(kernel);
        assert_eq!(super::super::super::testing::found("unsupported_reason", &[sheet]), []);
    }
}
