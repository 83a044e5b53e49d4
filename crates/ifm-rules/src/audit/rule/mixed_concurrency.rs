//! A number of requests in flight is that which its name says: a mean, a median, a peak.

use super::super::{Cell, Finding, Level, Looked, Rule, Spot, Subject};
use ifm_core::Metric;
use ifm_core::sheet::{RowRole, Statistic, key};

pub(super) const RULE: Rule = Rule {
    id: "mixed_concurrency",
    title: "requested, mean and peak concurrency are not mixed up",
    look,
};

/// Share by which a peak must be passed before it counts as passed.
const PASSED: f64 = 0.1;

fn look(subject: &Subject) -> Looked {
    let mut seen = 0;
    let mut mixed: Vec<(f64, f64, Option<f64>, Vec<Spot>)> = Vec::new();
    for stated in subject.cells(RowRole::Stated) {
        let Some(peak) = stated.row.value(Metric::PeakInFlight, Statistic::Value) else {
            continue;
        };
        let rows: Vec<&Cell> =
            subject.cells(RowRole::Measured).filter(|cell| is_of(cell, stated)).collect();
        let Some((highest, of_highest)) = highest(&rows) else { continue };
        seen += 1;
        let is_peak = rows.iter().any(|cell| {
            cell.central(Metric::PeakInFlight).and_then(|f| f.canonical()) == Some(peak)
        });
        let source = rows
            .iter()
            .find(|cell| cell.row.value(Metric::InFlight, Statistic::Median) == Some(peak));
        let Some(source) = source.filter(|_| !is_peak) else { continue };
        if highest > peak * (1.0 + PASSED) {
            let mean = source.row.value(Metric::InFlight, Statistic::Mean);
            mixed.push((
                peak,
                highest,
                mean,
                vec![stated.spot(), source.spot(), of_highest.spot()],
            ));
        }
    }
    if seen == 0 {
        return Looked::Needs("stated and measured peaks of requests in flight");
    }
    let n = mixed.len();
    let Some((peak, highest, mean, _)) = mixed.first().cloned() else {
        return Looked::Found(Vec::new());
    };
    let mean_words = mean.map(|mean| format!(", whose mean is {mean}")).unwrap_or_default();
    let text = format!(
        "{n} of {seen} stated peaks of requests in flight are not peaks: {peak} is the median of one \
         row{mean_words}, and another row of the same has {highest} in flight"
    );
    let finding = Finding::new(RULE.id, Level::Strong, text)
        .at_all(mixed.into_iter().flat_map(|(_, _, _, spots)| spots))
        .with("stated peak", peak, "requests")
        .with("highest measured", highest, "requests")
        .remedy("state which one it is: requested, mean, median or peak");
    Looked::Found(vec![finding])
}

/// Whether a measured row is of what a stated one speaks of.
fn is_of(measured: &Cell, stated: &Cell) -> bool {
    std::ptr::eq(measured.sheet, stated.sheet)
        && measured.factors.get(key::MODEL) == stated.factors.get(key::MODEL)
}

/// The highest number in flight of rows, and its row.
fn highest<'c>(rows: &[&'c Cell<'c>]) -> Option<(f64, &'c Cell<'c>)> {
    let of = |cell: &&'c Cell<'c>| {
        let figure = [Statistic::Value, Statistic::Mean, Statistic::Median, Statistic::Max]
            .iter()
            .filter_map(|statistic| cell.row.value(Metric::InFlight, *statistic))
            .fold(f64::NAN, f64::max);
        figure.is_finite().then_some((figure, *cell))
    };
    rows.iter().filter_map(of).max_by(|a, b| a.0.total_cmp(&b.0))
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::{check, row, sheet};
    use super::*;
    use ifm_core::Sheet;
    use ifm_core::sheet::{Figure, PartKind, Unit};

    fn document(peak: f64) -> Sheet {
        let level = |line, median: &str, mean: &str| {
            row(
                line,
                &[
                    (Metric::InFlight, Statistic::Median, median, Unit::Count),
                    (Metric::InFlight, Statistic::Mean, mean, Unit::Count),
                ],
            )
        };
        let mut stated = row(9, &[]);
        stated.role = RowRole::Stated;
        stated.figures =
            vec![Figure::new(Metric::PeakInFlight, Statistic::Value, peak, Unit::Count)];
        let rows = vec![level(3, "60", "51.5"), level(4, "12", "9.5"), stated];
        sheet(PartKind::Serving, rows)
    }

    #[test]
    fn reports_a_median_labeled_as_peak() {
        let corrupt = |sheet: &mut Sheet| *sheet = document(12.0);
        check(
            "mixed_concurrency",
            &document(64.0),
            corrupt,
            Level::Strong,
            "the median of one row",
        );
    }
}
