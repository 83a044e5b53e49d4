//! The tables of a comparison of variants: at equal load, at equal latency, growth, in flight.

use crate::comparison::words::verdict as verdict_words;
use crate::format::{meant, plain, sentence};
use crate::page::{Cell, Column, Columns, Head, Table};
use ifm_compare::comparison::Verdict;
use ifm_core::Metric;
use ifm_core::sheet::Statistic;
use ifm_results::{Curve, Pooled};
use ifm_rules::insight::{
    CENTER, Delta, Growth, LoadAxis, Meant, Party, Question, Versus, growth, is_burst, itl_limits,
};

/// Rows of a table at most: there may be as many loads as a document has lines.
const ROWS_MAX: usize = 200;

/// Latencies of both at every load that was requested of both, and what may be said.
pub(super) fn equal_load(versus: &Versus) -> Table {
    let mut loads: Vec<f64> = versus.matched.iter().flatten().map(|matched| matched.at).collect();
    loads.sort_unstable_by(f64::total_cmp);
    loads.dedup();
    let rows = [Metric::Itl, Metric::Ttft]
        .into_iter()
        .flat_map(|quantity| loads.iter().map(move |at| (quantity, *at)));
    let delta = |index: usize, quantity: Metric, at: f64| {
        let of_party = versus.matched.get(index)?;
        of_party.iter().find(|matched| matched.at == at)?.delta(quantity, CENTER)
    };
    let is_known = |(quantity, at): &(Metric, f64)| {
        (0..versus.others.len()).any(|index| delta(index, *quantity, *at).is_some())
    };
    let mut rows: Vec<(Metric, f64)> = rows.filter(is_known).collect();
    rows.truncate(ROWS_MAX);
    let mut columns = Columns::<(Metric, f64)>::default()
        .cell(Head::number(versus.axis.words()), |(_, at)| Cell {
            value: Some(*at),
            ..Cell::head(meant(*at, Meant::Load))
        })
        .text("metric", |(quantity, at)| {
            let mut all = (0..versus.others.len()).filter_map(|of| delta(of, *quantity, *at));
            all.next().map_or_else(|| quantity.to_string(), |delta| delta.name())
        });
    let ms = |ms: f64| meant(ms, Meant::Ms);
    let base = Head::number(plain(&versus.base.name));
    columns = columns.cell(base, |(quantity, at)| {
        let mut all = (0..versus.others.len()).filter_map(|of| delta(of, *quantity, *at));
        Cell::number(all.next().map(|delta| delta.base), ms)
    });
    for (index, party) in versus.others.iter().enumerate() {
        let head = Head::number(plain(&party.name));
        columns = columns
            .cell(head, move |(quantity, at)| {
                Cell::number(delta(index, *quantity, *at).map(|delta| delta.other), ms)
            })
            .text("difference", move |(quantity, at)| {
                delta(index, *quantity, *at).map_or_else(|| "–".to_owned(), |delta| verdict(&delta))
            });
    }
    columns.table("At the load that was requested for both.", rows)
}

/// The change with its interval, and the conclusion.
fn verdict(delta: &Delta) -> String {
    match delta.verdict {
        Verdict::Inconclusive => format!("inconclusive: {}", sentence(&delta.undecided())),
        known => {
            let word = verdict_words(known);
            format!("{}, {word}", sentence(&delta.with_interval()))
        }
    }
}

/// What both carry at equal ITL.
pub(super) fn equal_latency(question: &Question, versus: &Versus) -> Table {
    let curves: Vec<Curve> =
        versus.parties().map(|party| versus.curve(party, Metric::Itl, CENTER)).collect();
    let mut columns = Columns::<f64>::default().cell(Head::number("median ITL"), |limit| Cell {
        value: Some(*limit),
        ..Cell::head(format!("≤ {}", meant(*limit, Meant::LimitMs)))
    });
    let load = |at: f64| meant(at, Meant::Load);
    for (party, curve) in versus.parties().zip(&curves) {
        columns = columns
            .cell(Head::number(plain(&party.name)), move |limit| {
                Cell::number(curve.crossing(*limit).map(|[inside, _]| inside.at), load)
            })
            .cell(Head::number("above it from"), move |limit| {
                Cell::number(curve.crossing(*limit).map(|[_, above]| above.at), load)
            });
    }
    let what = match versus.axis {
        LoadAxis::Users => "Users",
        LoadAxis::InFlight(Statistic::Mean) => "Requests in flight on average",
        LoadAxis::InFlight(_) => "Requests in flight",
        LoadAxis::Rate => "Requests per second",
    };
    let caption = format!(
        "{what}: the largest measured load up to which no median ITL is above the limit, and the next \
         one."
    );
    columns.table(caption, itl_limits(question, &curves.iter().collect::<Vec<_>>()))
}

/// The growth of every ITL, with both loads.
pub(super) fn growths(versus: &Versus) -> Table {
    let grown = |party| Some((party, growth(&versus.curve(party, Metric::Itl, CENTER), None)?));
    let load = |at: f64| meant(at, Meant::Load);
    let ms = |ms: f64| meant(ms, Meant::Ms);
    let columns = Columns::<(&Party, Growth)>::default()
        .name("model", |(party, _)| plain(&party.name))
        .number("lowest load", |(_, growth)| Some(growth.from.0), load)
        .number("ITL there", |(_, growth)| Some(growth.from.1), ms)
        .number("highest load", |(_, growth)| Some(growth.to.0), load)
        .number("ITL there", |(_, growth)| Some(growth.to.1), ms)
        .number("ratio", |(_, growth)| Some(growth.ratio()), |of| meant(of, Meant::Times));
    let caption = format!(
        "ITL at the highest over ITL at the lowest load of each; loads in {}.",
        versus.axis.words()
    );
    columns.table(caption, versus.parties().filter_map(grown))
}

/// The most in flight: held by a load, and all requests at once.
pub(super) fn in_flight(versus: &Versus) -> Table {
    let most = |party: &Party, of_bursts: bool, statistic: Statistic| {
        let rows = party.cells.iter().filter(|cell| is_burst(cell) == of_bursts);
        let value = |cell: &Pooled| Some(cell.stat(Metric::InFlight, statistic)?.value);
        rows.filter_map(value).max_by(f64::total_cmp)
    };
    let (median, mean) = (Statistic::Median, Statistic::Mean);
    let all = [
        ("highest load held, median", false, median),
        ("mean", false, mean),
        ("all at once, median", true, median),
        ("mean", true, mean),
    ];
    let column = |(head, of_bursts, statistic): (&str, bool, Statistic)| {
        Column::new(Head::number(head), move |party: &Party| {
            Cell::number(most(party, of_bursts, statistic), |at| meant(at, Meant::Load))
        })
    };
    let is_known = |party: &&Party| {
        all.iter().any(|(_, of_bursts, statistic)| most(party, *of_bursts, *statistic).is_some())
    };
    let caption = "The most requests in flight. A row with all requests at once says how many were \
                   in flight without a limit, not how many can be served in time.";
    let columns = Columns::<Party>::default();
    let columns = columns.name("model", |party| plain(&party.name)).all(all.map(column));
    columns.table(caption, versus.parties().filter(is_known))
}
