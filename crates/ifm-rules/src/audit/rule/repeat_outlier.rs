//! A repeat that is not like the others is a fault of the measurement, not a slow run.

use super::super::{Cell, Finding, Level, Looked, Rule, Subject};
use ifm_core::Metric;

pub(super) const RULE: Rule =
    Rule { id: "repeat_outlier", title: "repeats agree with each other", look };

/// Repeats of one group that a median needs.
const REPEATS_MIN: usize = 3;
/// Share of the median by which a repeat must be off to be reported.
const OFF_MIN: f64 = 0.2;
/// How many times as far from the median as the usual spread of all groups.
const SPREADS: f64 = 8.0;
/// Share of the median within which another quantity counts as unchanged.
const UNCHANGED: f64 = 0.1;
/// Quantities that repeats are compared by.
const LOOKED_AT: [Metric; 7] = [
    Metric::OutputRate,
    Metric::TotalRate,
    Metric::PrefillRate,
    Metric::DecodeRate,
    Metric::E2e,
    Metric::Ttft,
    Metric::Itl,
];

fn look(subject: &Subject) -> Looked {
    let groups: Vec<_> =
        subject.repeats().into_iter().filter(|cells| cells.len() >= REPEATS_MIN).collect();
    if groups.is_empty() {
        return Looked::Needs("three or more repeats of something");
    }
    let mut findings: Vec<(String, Finding)> = Vec::new();
    for quantity in &LOOKED_AT {
        let usual = usual_spread(&groups, *quantity);
        for cells in &groups {
            for (cell, value, middle) in outliers(cells, *quantity, usual) {
                let key = format!("{:?}", cell.spot());
                // A run that is an outlier in several quantities is one finding.
                if !findings.iter().any(|(known, _)| *known == key) {
                    findings.push((key, tell(cells, cell, *quantity, value, middle)));
                }
            }
        }
    }
    Looked::Found(findings.into_iter().map(|(_, finding)| finding).collect())
}

/// Every row that is an outlier among its repeats in any quantity.
pub(super) fn outlying_rows<'c>(repeats: &[Vec<&'c Cell<'c>>]) -> Vec<&'c Cell<'c>> {
    let groups: Vec<_> =
        repeats.iter().filter(|cells| cells.len() >= REPEATS_MIN).cloned().collect();
    let mut rows = Vec::new();
    for quantity in &LOOKED_AT {
        let usual = usual_spread(&groups, *quantity);
        for cells in &groups {
            rows.extend(outliers(cells, *quantity, usual).into_iter().map(|(cell, ..)| cell));
        }
    }
    rows
}

fn value(cell: &Cell, quantity: Metric) -> Option<f64> {
    cell.central(quantity)?.canonical().filter(|value| *value > 0.0)
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_unstable_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => None,
        n if n % 2 == 1 => values.get(middle).copied(),
        _ => Some((values.get(middle - 1)? + values.get(middle)?) / 2.0),
    }
}

/// Median over all repeats of all groups of how far each is from the median of its group, as a
/// share.
fn usual_spread(groups: &[Vec<&Cell>], quantity: Metric) -> f64 {
    let mut shares = Vec::new();
    for cells in groups {
        let values: Vec<f64> = cells.iter().filter_map(|cell| value(cell, quantity)).collect();
        let Some(middle) = median(values.clone()) else { continue };
        shares.extend(values.iter().map(|value| (value / middle - 1.0).abs()));
    }
    median(shares).unwrap_or(0.0)
}

/// Repeats that are far from the median of their group: the cell, its value, the median.
fn outliers<'c>(
    cells: &[&'c Cell<'c>],
    quantity: Metric,
    usual: f64,
) -> Vec<(&'c Cell<'c>, f64, f64)> {
    let values: Vec<(&Cell, f64)> =
        cells.iter().filter_map(|cell| Some((*cell, value(cell, quantity)?))).collect();
    let Some(middle) = median(values.iter().map(|(_, value)| *value).collect()) else {
        return Vec::new();
    };
    if values.len() < REPEATS_MIN {
        return Vec::new();
    }
    let limit = OFF_MIN.max(SPREADS * usual);
    let others_agree = |odd: f64| {
        let mut rest: Vec<f64> =
            values.iter().map(|(_, value)| *value).filter(|value| *value != odd).collect();
        rest.sort_unstable_by(f64::total_cmp);
        match (rest.first(), rest.last()) {
            (Some(low), Some(high)) => high / low - 1.0 < (odd / middle - 1.0).abs() / 2.0,
            _ => false,
        }
    };
    values
        .iter()
        .copied()
        .filter(|(_, value)| (value / middle - 1.0).abs() > limit && others_agree(*value))
        .map(|(cell, value)| (cell, value, middle))
        .collect()
}

fn tell(cells: &[&Cell], cell: &Cell, quantity: Metric, found: f64, middle: f64) -> Finding {
    let share = found / middle;
    let mut text = format!(
        "{}: {quantity} is {:.0} % of the median of its {} repeats",
        cell.name(),
        share * 100.0,
        cells.len()
    );
    // The whole did not take longer: the part that the rate was computed from was timed wrongly.
    let unchanged = [Metric::E2e, Metric::Duration].iter().find(|other| {
        let values = cells.iter().filter_map(|cell| value(cell, **other)).collect();
        **other != quantity
            && value(cell, **other)
                .zip(median(values))
                .is_some_and(|(value, middle)| (value / middle - 1.0).abs() < UNCHANGED)
    });
    if let Some(unchanged) = unchanged {
        text.push_str(&format!(
            ", while its {unchanged} is like theirs: not a slow run, but a wrong time to first \
             token that the rate was computed with"
        ));
    }
    Finding::new(RULE.id, Level::Strong, text)
        .at(cell.spot())
        .with("value", found, "")
        .with("median of the repeats", middle, "")
        .remedy("leave the run out and say so, or measure it again")
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::{check, row, sheet};
    use super::*;
    use ifm_core::Sheet;
    use ifm_core::sheet::{PartKind, Statistic, Unit};

    fn document() -> Sheet {
        let run = |line: u32, rate: &str, latency: &str| {
            row(
                line,
                &[
                    (Metric::OutputRate, Statistic::Value, rate, Unit::PerS),
                    (Metric::E2e, Statistic::Value, latency, Unit::S),
                ],
            )
        };
        let rows = vec![run(1, "500.1", "2.00"), run(2, "505.0", "1.99"), run(3, "498.0", "2.01")];
        sheet(PartKind::StaticBatch, rows)
    }

    #[test]
    fn distinguishes_a_broken_capture_from_a_slow_run() {
        let broken = |sheet: &mut Sheet| sheet.parts[0].rows[1].figures[0].value = Some(200.0);
        check("repeat_outlier", &document(), broken, Level::Strong, "not a slow run");
        let slow = |sheet: &mut Sheet| {
            sheet.parts[0].rows[1].figures[0].value = Some(200.0);
            sheet.parts[0].rows[1].figures[1].value = Some(5.0);
        };
        check("repeat_outlier", &document(), slow, Level::Strong, "40 % of the median");
    }
}
