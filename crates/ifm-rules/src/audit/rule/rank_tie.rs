//! A place in a ranking is one's own only where a difference is shown.

use super::super::subject::repeats_of;
use super::super::{Cell, Finding, Level, Looked, Rule, Subject};
use ifm_compare::comparison::advantage::of_repeats;
use ifm_compare::comparison::{Doubt, Measure, Verdict};
use ifm_core::Metric;
use ifm_core::order::Order as _;
use ifm_core::sheet::{RowRole, Statistic};

pub(super) const RULE: Rule =
    Rule { id: "rank_tie", title: "ranks differ where the runs show a difference", look };

/// Neighbors in a ranking, with the repeats of both.
struct Pair<'c> {
    above: &'c Cell<'c>,
    below: &'c Cell<'c>,
    quantity: Metric,
    values: (Vec<f64>, Vec<f64>),
}

fn look(subject: &Subject) -> Looked {
    let repeats = subject.repeats();
    let mut pairs = Vec::new();
    for ranking in rankings(subject) {
        for neighbors in ranking.windows(2) {
            let [above, below] = neighbors else { continue };
            pairs.extend(pair(&repeats, above, below));
        }
    }
    if pairs.is_empty() {
        return Looked::Needs("a ranking with repeats of what it ranks");
    }
    let values: Vec<_> = pairs.iter().map(|pair| pair.values.clone()).collect();
    // Which direction is better does not matter for whether they differ.
    let verdicts = of_repeats(&values, Measure::value_of(Metric::OutputRate));
    let differ = |(verdict, doubt): &(Verdict, Option<Doubt>)| {
        let is_open = *verdict == Verdict::Inconclusive && *doubt != Some(Doubt::Size);
        !is_open && *verdict != Verdict::NoDifferenceShown
    };
    let shown = verdicts.iter().filter(|verdict| differ(verdict)).count();
    let equal = verdicts.iter().filter(|(of, _)| *of == Verdict::NoDifferenceShown).count();
    if shown == pairs.len() {
        return Looked::Found(Vec::new());
    }
    let open = pairs.len() - shown - equal;
    let text = format!(
        "of {} pairs of neighbors in rankings by {} only {shown} are shown to differ: {equal} are \
         shown to differ by less than 3 %, and the runs cannot tell {open} apart",
        pairs.len(),
        pairs.first().map(|pair| pair.quantity.to_string()).unwrap_or_default(),
    );
    let tied = pairs.iter().zip(&verdicts).filter(|(_, verdict)| !differ(verdict));
    let finding = Finding::new(RULE.id, Level::Strong, text)
        .with("pairs", pairs.len() as f64, "")
        .with("differ after Holm's correction", shown as f64, "")
        .with("cannot be distinguished", open as f64, "")
        .at_all(tied.flat_map(|(pair, _)| [pair.above.spot(), pair.below.spot()]))
        .remedy("share ranks where no difference is shown, or measure more often");
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
    cell.row.value(Metric::Rank, Statistic::Value)
}

fn pair<'c>(repeats: &[Vec<&Cell>], above: &'c Cell<'c>, below: &'c Cell<'c>) -> Option<Pair<'c>> {
    let quantity = above.ranked_by()?;
    let values = |cell: &Cell| -> Option<Vec<f64>> {
        let rows = repeats_of(repeats, cell)?;
        Some(rows.iter().filter_map(|row| row.central(quantity)?.canonical()).collect())
    };
    let values = (values(above)?, values(below)?);
    let is_repeated = values.0.len() > 1 && values.1.len() > 1;
    is_repeated.then_some(Pair { above, below, quantity, values })
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
                let figures = [(Metric::OutputRate, Statistic::Value, speed, Unit::PerS)];
                let mut run = row(repeat, &figures);
                run.factors = Factors::default().with(key::MODEL, model).with(key::REPEAT, repeat);
                rows.push(run);
            }
        }
        for (model, place, mean) in [("a", "1", "100.0"), ("b", "2", "90.0")] {
            let figures = [
                (Metric::Rank, Statistic::Value, place, Unit::Count),
                (Metric::OutputRate, Statistic::Mean, mean, Unit::PerS),
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
        check("rank_tie", &sound, corrupt, Level::Strong, "only 0 are shown to differ");
    }
}
