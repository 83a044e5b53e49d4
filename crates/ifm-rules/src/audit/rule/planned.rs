//! What a document announces is in it.

use super::super::{Cell, Finding, Level, Looked, Rule, Subject};
use ifm_core::sheet::{RowRole, WHY};
use ifm_core::words::counted;

pub(super) const RULE: Rule =
    Rule { id: "planned_cells", title: "every announced cell has a figure, or says why not", look };

fn look(subject: &Subject) -> Looked {
    // A cell that says why it is empty hides nothing.
    let is_silent = |cell: &&Cell| !cell.row.unknown.contains_key(WHY);
    let planned: Vec<_> = subject.cells(RowRole::Planned).filter(is_silent).collect();
    let filled = subject
        .cells(RowRole::Measured)
        .filter(|cell| cell.row.figures.iter().any(|figure| figure.value.is_some()))
        .count();
    if planned.is_empty() {
        return match filled {
            0 => Looked::Needs("announced cells or measured rows"),
            _ => Looked::Found(Vec::new()),
        };
    }
    let text = match filled {
        0 => format!(
            "{} figures are announced and not one is given: nothing can be concluded",
            planned.len()
        ),
        _ => format!(
            "{} {} no figure, {} {}",
            counted(planned.len() as u64, "announced cell"),
            if planned.len() == 1 { "holds" } else { "hold" },
            counted(filled as u64, "row"),
            if filled == 1 { "does" } else { "do" }
        ),
    };
    let finding = Finding::new(RULE.id, Level::Proof, text)
        .at_all(planned.iter().map(|cell| cell.spot()))
        .with("announced and empty", planned.len() as f64, "cells")
        .with("rows with figures", filled as f64, "rows")
        .remedy("give the numbers behind the charts, as a table or a file");
    Looked::Found(vec![finding])
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::{check, row, sheet};
    use super::*;
    use ifm_core::Metric;
    use ifm_core::sheet::{PartKind, Row, Statistic, Unit};

    #[test]
    fn reports_an_empty_cell() {
        let sound =
            sheet(PartKind::Serving, vec![row(1, &[(Metric::E2e, Statistic::Mean, "2", Unit::S)])]);
        let corrupt = |sheet: &mut ifm_core::Sheet| {
            let place = ifm_core::sheet::Place::line(9);
            sheet.parts[0].rows.push(Row::new(RowRole::Planned, place));
        };
        // One with its reason is sound.
        let mut sound = sound;
        let mut told = Row::new(RowRole::Planned, ifm_core::sheet::Place::line(8));
        told.unknown.insert(WHY.to_owned(), "out of memory".into());
        sound.parts[0].rows.push(told);
        check(
            "planned_cells",
            &sound,
            corrupt,
            Level::Proof,
            "1 announced cell holds no figure, 1 row does",
        );
    }
}
