//! Rows that were computed and not measured.

use super::super::{Finding, Level, Looked, Rule, Subject};
use ifm_core::sheet::{RowRole, key};

pub(super) const RULE: Rule =
    Rule { id: "predicted_rows", title: "predictions are not presented as measurements", look };

fn look(subject: &Subject) -> Looked {
    let cells: Vec<_> = subject.cells(RowRole::Measured).collect();
    let of = |cell: &&&super::super::subject::Cell| {
        cell.factors.get(key::NUMBERS) == Some(key::PREDICTED)
    };
    let predicted: Vec<_> = cells.iter().filter(of).map(|cell| cell.spot()).collect();
    if predicted.is_empty() {
        return Looked::Needs("rows that say that they were predicted");
    }
    let text = format!(
        "{} of {} rows say that they were predicted: they are not measurements",
        predicted.len(),
        cells.len()
    );
    let finding = Finding::new(RULE.id, Level::Strong, text)
        .with("rows", predicted.len() as f64, "")
        .at_all(predicted)
        .remedy("state next to them the machine and the constants that they were computed from");
    Looked::Found(vec![finding])
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::{check, row, sheet};
    use super::*;
    use ifm_core::Metric;
    use ifm_core::sheet::{PartKind, Statistic, Unit};

    #[test]
    fn reports_predicted_rows() {
        let figures = [(Metric::OutputRate, Statistic::Value, "44.8", Unit::PerS)];
        let sound = sheet(PartKind::Serving, vec![row(3, &figures), row(4, &figures)]);
        let corrupt = |sheet: &mut ifm_core::Sheet| {
            sheet.parts[0].rows[1].factors.set(key::NUMBERS, key::PREDICTED);
        };
        check("predicted_rows", &sound, corrupt, Level::Strong, "1 of 2 rows");
    }
}
