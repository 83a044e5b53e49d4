//! Places in a ranking follow the figures that stand beside them.
//!
//! Which column a ranking is by is not said: it is sound if the places follow any of its times or
//! rates. Shared places are in any order. Not here: whether a place is one's own (`rank_tie`), or
//! rests on a broken run (`rank_outlier`).

use super::super::subject::slack;
use super::super::{Cell, Finding, Level, Looked, Rule, Subject};
use super::rank_tie::{rank, rankings};
use super::stated_change::{is_time, measured};
use ifm_core::sheet::{Figure, Quantity};

pub(super) const RULE: Rule =
    Rule { id: "stated_rank", title: "places in a ranking follow its figures", look };

/// Two rows of which the lower stands above the better.
struct Turned<'c> {
    above: (&'c Cell<'c>, &'c Figure),
    below: (&'c Cell<'c>, &'c Figure),
    quantity: Quantity,
    /// Times and rates that all rows of the ranking have.
    columns: usize,
}

fn look(subject: &Subject) -> Looked {
    let rankings = rankings(subject);
    let mut seen = 0;
    let mut wrong = Vec::new();
    for ranking in &rankings {
        let columns = columns(ranking);
        if ranking.len() < 2 || columns.is_empty() {
            continue;
        }
        seen += 1;
        let turned: Vec<_> =
            columns.iter().map(|quantity| turned(ranking, quantity, columns.len())).collect();
        if turned.iter().all(Option::is_some) {
            wrong.extend(turned.into_iter().flatten().next());
        }
    }
    if seen == 0 {
        return Looked::Needs("a ranking with times or rates beside its places");
    }
    let n = wrong.len();
    let Some(first) = wrong.first() else { return Looked::Found(Vec::new()) };
    let (above, below) = (&first.above, &first.below);
    let text = format!(
        "{n} of {seen} rankings do not follow their figures: {} stands above {}, with {} {} against {}",
        above.0.name(),
        below.0.name(),
        first.quantity,
        printed(above.1),
        printed(below.1)
    );
    // Beside one column nothing else can have been meant.
    let level = if first.columns == 1 { Level::Proof } else { Level::Strong };
    let spots = wrong.iter().flat_map(|turned| [turned.above.0.spot(), turned.below.0.spot()]);
    let finding = Finding::new(RULE.id, level, text)
        .at_all(spots)
        .with("rankings", seen as f64, "")
        .with("out of order", n as f64, "")
        .remedy("sort them again, and say which column the places are by");
    Looked::Found(vec![finding])
}

/// Times and rates that every row of a ranking has.
fn columns(ranking: &[&Cell]) -> Vec<Quantity> {
    let Some(first) = ranking.first() else { return Vec::new() };
    let has = |cell: &&Cell, quantity: &Quantity| {
        cell.central(quantity).and_then(Figure::canonical).is_some()
    };
    measured(first)
        .into_iter()
        .filter(|quantity| ranking.iter().all(|cell| has(cell, quantity)))
        .collect()
}

/// The first neighbours of different places that are in the wrong order by a column, beyond what
/// rounding explains.
fn turned<'c>(ranking: &[&'c Cell<'c>], quantity: &Quantity, columns: usize) -> Option<Turned<'c>> {
    ranking.windows(2).find_map(|neighbours| {
        let [above, below] = neighbours else { return None };
        if rank(above) == rank(below) {
            return None;
        }
        let (better, worse) = (above.central(quantity)?, below.central(quantity)?);
        let lead = match is_time(quantity) {
            true => worse.canonical()? - better.canonical()?,
            false => better.canonical()? - worse.canonical()?,
        };
        (lead < -(slack(better) + slack(worse))).then(|| Turned {
            above: (above, better),
            below: (below, worse),
            quantity: quantity.clone(),
            columns,
        })
    })
}

fn printed(figure: &Figure) -> String {
    let value = || figure.value.map(|value| value.to_string()).unwrap_or_default();
    figure.printed.clone().unwrap_or_else(value)
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::{check, found, row, sheet};
    use super::*;
    use ifm_core::Sheet;
    use ifm_core::sheet::{Factors, PartKind, RowRole, Statistic, Unit, key};

    /// A ranking of model, place, tokens per second and milliseconds.
    fn document(rows: &[(&str, &str, &str, &str)]) -> Sheet {
        let summary = |(model, place, rate, time): &(&str, &str, &str, &str)| {
            let mut figures = vec![
                (Quantity::Rank, Statistic::Value, *place, Unit::Count),
                (Quantity::OutputRate, Statistic::Mean, *rate, Unit::PerS),
            ];
            if !time.is_empty() {
                figures.push((Quantity::E2e, Statistic::Mean, *time, Unit::Ms));
            }
            let mut row = row(20, &figures);
            row.role = RowRole::Summary;
            row.factors = Factors::default().with(key::MODEL, *model);
            row
        };
        sheet(PartKind::StaticBatch, rows.iter().map(summary).collect())
    }

    #[test]
    fn places_follow_the_figures() {
        let sound = document(&[("a", "1", "120.0", ""), ("b", "2", "100.0", "")]);
        let spoil = |sheet: &mut Sheet| {
            *sheet = document(&[("a", "1", "100.0", ""), ("b", "2", "120.0", "")]);
        };
        let word = "model a stands above model b, with output throughput 100.0 against 120.0";
        check("stated_rank", &sound, spoil, Level::Proof, word);
    }

    #[test]
    fn any_column_may_be_the_one_that_is_ranked_by() {
        let by_time = document(&[("a", "1", "100.0", "8.0"), ("b", "2", "120.0", "9.0")]);
        let by_none = document(&[("a", "1", "100.0", "9.0"), ("b", "2", "120.0", "8.0")]);
        let spoil = |sheet: &mut Sheet| *sheet = by_none;
        check("stated_rank", &by_time, spoil, Level::Strong, "1 of 1 rankings");
    }

    #[test]
    fn shared_places_and_rounding_are_no_order() {
        for rows in [
            [("a", "1", "100.0", ""), ("b", "1", "120.0", "")],
            [("a", "1", "100.0", ""), ("b", "2", "100.1", "")],
        ] {
            assert_eq!(found("stated_rank", &[document(&rows)]), []);
        }
    }
}
