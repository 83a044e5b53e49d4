//! A place in a ranking is one's own only where a difference is shown.

use super::super::subject::repeats_of;
use super::super::{Cell, Finding, Level, Looked, Rule, Subject};
use crate::stat::multiple::holm;
use crate::stat::welch::welch;
use ifm_core::order::Order as _;
use ifm_core::sheet::{Quantity, RowRole, Statistic};

pub(super) const RULE: Rule =
    Rule { id: "rank_tie", title: "ranks differ where the runs show a difference", look };

/// Chance of a false alarm that counts as shown.
const ALPHA: f64 = 0.05;

/// Neighbours in a ranking, and the chance of such a difference if there were none.
struct Pair<'c> {
    above: &'c Cell<'c>,
    below: &'c Cell<'c>,
    quantity: &'c Quantity,
    p: f64,
}

fn look(subject: &Subject) -> Looked {
    let repeats = subject.repeats();
    let mut pairs = Vec::new();
    for ranking in rankings(subject) {
        for neighbours in ranking.windows(2) {
            let [above, below] = neighbours else { continue };
            pairs.extend(pair(&repeats, above, below));
        }
    }
    let Some(corrected) = holm(&pairs.iter().map(|pair| pair.p).collect::<Vec<_>>()) else {
        return Looked::Found(Vec::new());
    };
    if pairs.is_empty() {
        return Looked::Needs("a ranking with repeats of what it ranks");
    }
    let shown = pairs.iter().filter(|pair| pair.p < ALPHA).count();
    let shown_corrected = corrected.iter().filter(|p| **p < ALPHA).count();
    if shown_corrected == pairs.len() {
        return Looked::Found(Vec::new());
    }
    let text = format!(
        "of {} pairs of neighbors in rankings by {} only {shown} differ by Welch's test at 5 %, \
         and {shown_corrected} when it is corrected for their number: the other places are shared",
        pairs.len(),
        pairs.first().map(|pair| pair.quantity.to_string()).unwrap_or_default(),
    );
    let tied = pairs.iter().filter(|pair| pair.p >= ALPHA);
    let finding = Finding::new(RULE.id, Level::Strong, text)
        .with("pairs", pairs.len() as f64, "")
        .with("differ at 5 %", shown as f64, "")
        .with("differ after Holm's correction", shown_corrected as f64, "")
        .at_all(tied.flat_map(|pair| [pair.above.spot(), pair.below.spot()]))
        .remedy("share ranks, or measure more often");
    Looked::Found(vec![finding])
}

/// Rows with ranks, by table, best first.
pub(super) fn rankings<'s>(subject: &'s Subject<'s>) -> Vec<Vec<&'s Cell<'s>>> {
    let mut tables = subject.tables(RowRole::Summary);
    for table in &mut tables {
        table.retain(|cell| rank(cell).is_some());
        table.order_by(|a, b| rank(a).unwrap_or(0.0).total_cmp(&rank(b).unwrap_or(0.0)));
    }
    tables
}

/// The place that a row states.
pub(super) fn rank(cell: &Cell) -> Option<f64> {
    cell.row.value(&Quantity::Rank, Statistic::Value)
}

fn pair<'c>(repeats: &[Vec<&Cell>], above: &'c Cell<'c>, below: &'c Cell<'c>) -> Option<Pair<'c>> {
    let quantity = above.ranked_by()?;
    let values = |cell: &Cell| -> Option<Vec<f64>> {
        let rows = repeats_of(repeats, cell)?;
        Some(rows.iter().filter_map(|row| row.central(quantity)?.canonical()).collect())
    };
    let difference = welch(&values(above)?, &values(below)?, 1.0 - ALPHA)?;
    Some(Pair { above, below, quantity, p: difference.p })
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::{check, row, sheet};
    use super::*;
    use ifm_core::Sheet;
    use ifm_core::sheet::{Factors, PartKind, Unit, key};

    /// Two models with three runs each, and a ranking.
    fn document(second: [&str; 3]) -> Sheet {
        let mut rows = Vec::new();
        for (model, speeds) in [("a", ["100.0", "101.0", "99.0"]), ("b", second)] {
            for (repeat, speed) in (1..).zip(speeds) {
                let figures = [(Quantity::OutputRate, Statistic::Value, speed, Unit::PerS)];
                let mut run = row(repeat, &figures);
                run.factors = Factors::default().with(key::MODEL, model).with(key::REPEAT, repeat);
                rows.push(run);
            }
        }
        for (model, place, mean) in [("a", "1", "100.0"), ("b", "2", "90.0")] {
            let figures = [
                (Quantity::Rank, Statistic::Value, place, Unit::Count),
                (Quantity::OutputRate, Statistic::Mean, mean, Unit::PerS),
            ];
            let mut summary = row(20, &figures);
            summary.role = RowRole::Summary;
            summary.factors = Factors::default().with(key::MODEL, model);
            rows.push(summary);
        }
        sheet(PartKind::StaticBatch, rows)
    }

    #[test]
    fn places_without_a_shown_difference_are_shared() {
        let corrupt = |sheet: &mut Sheet| *sheet = document(["99.5", "101.5", "98.0"]);
        let sound = document(["90.0", "91.0", "89.0"]);
        check("rank_tie", &sound, corrupt, Level::Strong, "only 0 differ");
    }
}
