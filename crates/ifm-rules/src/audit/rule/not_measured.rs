//! Unmeasured values are not zero.

use super::super::{Finding, Level, Looked, Rule, Subject};
use ifm_core::sheet::{Figure, RowRole};

pub(super) const RULE: Rule =
    Rule { id: "not_measured", title: "unmeasured values are not printed as zero", look };

fn look(subject: &Subject) -> Looked {
    let mut seen = false;
    let mut zeros = Vec::new();
    for cell in subject.cells(RowRole::Measured).chain(subject.cells(RowRole::Summary)) {
        for figure in &cell.row.figures {
            seen = true;
            // The reader kept it as missing: something else in the document says so.
            if figure.value.is_none() && is_printed_zero(figure) {
                zeros.push(cell.spot_of_figure(figure));
            }
        }
    }
    if !seen {
        return Looked::Needs("rows with figures");
    }
    if zeros.is_empty() {
        return Looked::Found(Vec::new());
    }
    let text = format!("{} cells print zero for something that was not measured", zeros.len());
    let finding = Finding::new(RULE.id, Level::Proof, text)
        .with("cells", zeros.len() as f64, "")
        .at_all(zeros)
        .remedy("leave the cell empty, or leave the column out");
    Looked::Found(vec![finding])
}

fn is_printed_zero(figure: &Figure) -> bool {
    let number = figure.printed.as_deref().and_then(|printed| printed.trim().parse::<f64>().ok());
    number == Some(0.0)
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::{check, row, sheet};
    use super::*;
    use ifm_core::Metric;
    use ifm_core::sheet::{PartKind, Statistic, Unit};

    #[test]
    fn reports_a_zero_that_means_missing() {
        let figures = [
            (Metric::InputRate, Statistic::Value, "0.00", Unit::PerS),
            (Metric::E2e, Statistic::Value, "0.38", Unit::S),
        ];
        // A zero that nothing contradicts may be one.
        let sound = sheet(PartKind::StaticBatch, vec![row(4, &figures)]);
        let corrupt = |sheet: &mut ifm_core::Sheet| sheet.parts[0].rows[0].figures[0].value = None;
        check("not_measured", &sound, corrupt, Level::Proof, "1 cells print zero");
    }
}
