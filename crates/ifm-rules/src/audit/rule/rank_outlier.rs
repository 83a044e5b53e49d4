//! A rank does not rest on a broken run.

use super::super::subject::repeats_of;
use super::super::{Cell, Finding, Level, Looked, Rule, Subject};
use super::repeat_outlier;
use ifm_core::Metric;
use ifm_core::order::Order as _;
use ifm_core::sheet::{RowRole, Statistic};

pub(super) const RULE: Rule =
    Rule { id: "rank_outlier", title: "ranks do not rest on broken runs", look };

fn look(subject: &Subject) -> Looked {
    let repeats = subject.repeats();
    let broken = repeat_outlier::outlying_rows(&repeats);
    let mut findings = Vec::new();
    let mut seen = false;
    for table in subject.tables(RowRole::Summary) {
        let ranked: Vec<(&Cell, f64, f64)> = table
            .iter()
            .filter_map(|cell| {
                let place = cell.row.value(Metric::Rank, Statistic::Value)?;
                Some((*cell, place, mean_without(&repeats, &broken, cell)?))
            })
            .collect();
        if ranked.len() < 2 {
            continue;
        }
        seen = true;
        let mut sound = ranked.clone();
        // The same direction as the document ranks by.
        let falls = is_falling(&table);
        sound.order_by(|a, b| if falls { b.2.total_cmp(&a.2) } else { a.2.total_cmp(&b.2) });
        let touched = ranked.iter().filter(|(cell, ..)| has_broken(&repeats, &broken, cell));
        for (cell, place, _) in touched {
            let new = sound.iter().position(|(other, ..)| std::ptr::eq(*other, *cell));
            let Some(new) = new.map(|new| new as f64 + 1.0).filter(|new| new != place) else {
                continue;
            };
            let text = format!(
                "{}: has place {place} in the document's ranking, and place {new} without the run that was probably measured wrongly",
                cell.name()
            );
            findings.push(
                Finding::new(RULE.id, Level::Strong, text)
                    .at(cell.spot())
                    .with("stated place", *place, "")
                    .with("place without the broken run", new, "")
                    .remedy("rank again without it"),
            );
        }
    }
    if seen { Looked::Found(findings) } else { Looked::Needs("a ranking with repeats") }
}

fn has_broken(repeats: &[Vec<&Cell>], broken: &[&Cell], cell: &Cell) -> bool {
    repeats_of(repeats, cell).is_some_and(|rows| {
        rows.iter().any(|row| broken.iter().any(|odd| std::ptr::eq(odd.row, row.row)))
    })
}

/// Mean of the repeats that are not broken, by the quantity that is ranked by.
fn mean_without(repeats: &[Vec<&Cell>], broken: &[&Cell], cell: &Cell) -> Option<f64> {
    let quantity = cell.ranked_by()?;
    let sound: Vec<f64> = repeats_of(repeats, cell)?
        .iter()
        .filter(|row| !broken.iter().any(|odd| std::ptr::eq(odd.row, row.row)))
        .filter_map(|row| row.central(quantity)?.canonical())
        .collect();
    (!sound.is_empty()).then(|| sound.iter().sum::<f64>() / sound.len() as f64)
}

/// Whether larger is better in a ranking, as its own order says.
fn is_falling(table: &[&Cell]) -> bool {
    let mut placed: Vec<(f64, f64)> = table
        .iter()
        .filter_map(|cell| {
            let place = cell.row.value(Metric::Rank, Statistic::Value)?;
            Some((place, cell.central(cell.ranked_by()?)?.canonical()?))
        })
        .collect();
    placed.order_by(|a, b| a.0.total_cmp(&b.0));
    match (placed.first(), placed.last()) {
        (Some(first), Some(last)) => first.1 >= last.1,
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::{check, row, sheet};
    use super::*;
    use ifm_core::Sheet;
    use ifm_core::sheet::{Factors, PartKind, Unit, key};

    /// Two models with three runs each; the ranking is by the stated means.
    fn document(broken: &str, places: [(&'static str, &str, &str); 2]) -> Sheet {
        let mut rows = Vec::new();
        for (model, speeds) in
            [("a", ["500.0", "505.0", broken]), ("b", ["450.0", "452.0", "451.0"])]
        {
            for (repeat, speed) in (1..).zip(speeds) {
                let figures = [(Metric::OutputRate, Statistic::Value, speed, Unit::PerS)];
                let mut run = row(repeat, &figures);
                run.factors = Factors::default().with(key::MODEL, model).with(key::REPEAT, repeat);
                rows.push(run);
            }
        }
        for (model, place, mean) in places {
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
    fn reports_a_rank_that_rests_on_a_broken_run() {
        let sound = document("498.0", [("a", "1", "501.0"), ("b", "2", "451.0")]);
        let corrupt = |sheet: &mut Sheet| {
            *sheet = document("200.0", [("b", "1", "451.0"), ("a", "2", "401.7")]);
        };
        check(
            "rank_outlier",
            &sound,
            corrupt,
            Level::Strong,
            "has place 2 in the document's ranking, and place 1 without",
        );
    }
}
