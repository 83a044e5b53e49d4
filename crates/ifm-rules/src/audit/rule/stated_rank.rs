//! Places in a ranking follow the figure next to them.
//!
//! Only if the places have exactly one time or rate next to them: with several figures, or with
//! columns that were not understood, the ranking may be by any of them. Shared places are in any
//! order. Not here: whether a place is distinguishable from the next (`rank_tie`), or rests on a
//! broken run (`rank_outlier`).

use super::super::subject::slack;
use super::super::{Cell, Finding, Level, Looked, Rule, Subject};
use super::rank_tie::{rank, rankings};
use super::stated_change::{is_time, measured};
use ifm_core::Metric;
use ifm_core::sheet::Figure;

pub(super) const RULE: Rule =
    Rule { id: "stated_rank", title: "places in a ranking follow its figures", look };

/// Two rows where the worse is ranked above the better.
struct Turned<'c> {
    above: (&'c Cell<'c>, &'c Figure),
    below: (&'c Cell<'c>, &'c Figure),
}

fn look(subject: &Subject) -> Looked {
    let rankings = rankings(subject);
    let mut seen = 0;
    let mut wrong = Vec::new();
    for ranking in rankings.iter().filter(|ranking| ranking.len() > 1) {
        let Some(quantity) = ranked_by(ranking) else { continue };
        seen += 1;
        wrong.extend(ranking.windows(2).find_map(|neighbours| turned(neighbours, quantity)));
    }
    if seen == 0 {
        return Looked::Needs("a ranking with one time or rate next to its places");
    }
    let Some(Turned { above, below }) = wrong.first() else { return Looked::Found(Vec::new()) };
    let text = format!(
        "{} of {seen} rankings do not follow their figures: {} is above {}, with {} {} against {}",
        wrong.len(),
        above.0.name(),
        below.0.name(),
        above.1.quantity,
        printed(above.1),
        printed(below.1)
    );
    let spots = wrong.iter().flat_map(|turned| [turned.above.0.spot(), turned.below.0.spot()]);
    let finding = Finding::new(RULE.id, Level::Proof, text)
        .at_all(spots)
        .with("rankings", seen as f64, "")
        .with("out of order", wrong.len() as f64, "")
        .remedy("sort them again, or state what the ranking is by");
    Looked::Found(vec![finding])
}

/// The time or rate of all rows of a ranking, if it is the only figure next to their places.
fn ranked_by<'c>(ranking: &[&'c Cell<'c>]) -> Option<Metric> {
    let quantity = ranking.first()?.ranked_by()?;
    let is_all = |cell: &&Cell| {
        let mut others = cell.row.figures.iter().filter(|figure| figure.quantity != Metric::Rank);
        others.all(|figure| figure.quantity == quantity)
            && cell.row.unknown.is_empty()
            && measured(cell).contains(&quantity)
    };
    ranking.iter().all(is_all).then_some(quantity)
}

/// Neighbours of different places in the wrong order, beyond what rounding explains.
fn turned<'c>(neighbours: &[&'c Cell<'c>], quantity: Metric) -> Option<Turned<'c>> {
    let [above, below] = neighbours else { return None };
    if rank(above) == rank(below) {
        return None;
    }
    let (first, second) = (above.central(quantity)?, below.central(quantity)?);
    let lead = match is_time(quantity) {
        true => second.canonical()? - first.canonical()?,
        false => first.canonical()? - second.canonical()?,
    };
    let is_turned = lead < -(slack(first) + slack(second));
    is_turned.then_some(Turned { above: (above, first), below: (below, second) })
}

/// A figure as it was printed.
pub(super) fn printed(figure: &Figure) -> String {
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
                (Metric::Rank, Statistic::Value, *place, Unit::Count),
                (Metric::OutputRate, Statistic::Mean, *rate, Unit::PerS),
            ];
            if !time.is_empty() {
                figures.push((Metric::E2e, Statistic::Mean, *time, Unit::Ms));
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
        let corrupt = |sheet: &mut Sheet| {
            *sheet = document(&[("a", "1", "100.0", ""), ("b", "2", "120.0", "")]);
        };
        let word = "model a is above model b, with output throughput 100.0 against 120.0";
        check("stated_rank", &sound, corrupt, Level::Proof, word);
    }

    #[test]
    fn several_figures_do_not_say_which_one_is_ranked_by() {
        let rows = [("a", "1", "100.0", "9.0"), ("b", "2", "120.0", "8.0")];
        assert_eq!(found("stated_rank", &[document(&rows)]), []);
    }

    #[test]
    fn accepts_shared_places_and_rounding() {
        for rows in [
            [("a", "1", "100.0", ""), ("b", "1", "120.0", "")],
            [("a", "1", "100.0", ""), ("b", "2", "100.1", "")],
        ] {
            assert_eq!(found("stated_rank", &[document(&rows)]), []);
        }
    }
}
