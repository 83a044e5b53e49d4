//! The tables of a comparison of variants: at equal load, at equal latency, growth, in flight.

use crate::format::{meant, number, plain};
use crate::page::{Cell, Column, Columns, Head, Table};
use ifm_analysis::insight::{
    CENTER, Delta, Growth, LoadAxis, Meant, Party, Question, Shown, Versus, growth, is_burst,
    itl_limits,
};
use ifm_analysis::survey::{Curve, Pooled};
use ifm_core::sheet::{Quantity, Statistic};

/// Rows of a table at most: there may be as many loads as a document has lines.
const ROWS_MAX: usize = 200;

/// Latencies of both at every load that one was measured at, and what may be said.
pub(super) fn equal_load(versus: &Versus) -> Table {
    let mut rows: Vec<(Quantity, f64)> = Vec::new();
    let quantities = [Quantity::Itl, Quantity::Ttft];
    // The curves of all parties, the baseline first.
    let curves = quantities.map(|quantity| {
        let of: Vec<Curve> =
            versus.parties().map(|party| versus.curve(party, &quantity, CENTER)).collect();
        let others = of.iter().skip(1);
        let mut places: Vec<f64> = others.flat_map(|other| Versus::common(&of[0], other)).collect();
        places.sort_unstable_by(f64::total_cmp);
        places.dedup();
        rows.extend(places.into_iter().map(|at| (quantity.clone(), at)));
        of
    });
    rows.truncate(ROWS_MAX);
    let of = |quantity: &Quantity, party: usize| {
        &curves[usize::from(*quantity == Quantity::Ttft)][party]
    };
    let mut columns = Columns::<(Quantity, f64)>::default()
        .cell(Head::number(versus.axis.words()), |(_, at)| Cell {
            value: Some(*at),
            ..Cell::head(meant(*at, Meant::Load))
        })
        .text("metric", |(quantity, _)| quantity.to_string());
    for (index, party) in versus.parties().enumerate() {
        let head = Head::number(plain(&party.name));
        columns = columns.cell(head, move |(quantity, at)| value(of(quantity, index), *at));
        if index == 0 {
            continue;
        }
        let pair = move |quantity: &Quantity| (of(quantity, 0), of(quantity, index));
        columns = columns.cell(Head::number("× shorter"), move |(quantity, at)| {
            let (base, other) = pair(quantity);
            let ratio = base.between(*at).zip(other.between(*at));
            let mark = mark(base.at(*at).is_some() && other.at(*at).is_some());
            times(ratio.map(|(before, after)| before / after), mark)
        });
        columns = columns.text("difference", move |(quantity, at)| {
            let (base, other) = pair(quantity);
            verdict(base, other, *at, quantity)
        });
    }
    let caption = "At the same load. ~ was read on the straight line between two measured loads.";
    columns.table(caption, rows)
}

/// A ratio with its mark.
fn times(ratio: Option<f64>, mark: &str) -> Cell {
    Cell::number(ratio, |ratio| format!("{mark}{}", meant(ratio, Meant::Times)))
}

/// The sign of what was read between two measured points.
pub(super) fn mark(is_measured: bool) -> &'static str {
    if is_measured { "" } else { "~" }
}

/// Where a curve reaches a limit.
fn reached(curve: &Curve, limit: f64) -> Cell {
    let mark = mark(curve.has_value(limit));
    Cell::number(curve.reaches(limit), |at| format!("{mark}{}", number(at)))
}

/// The value at a place: measured, or between two measured ones.
fn value(curve: &Curve, at: f64) -> Cell {
    let mark = mark(curve.at(at).is_some());
    Cell::number(curve.between(at), |ms| format!("{mark}{}", meant(ms, Meant::Ms)))
}

/// The change with its interval and whether it is shown, where both were measured there.
fn verdict(base: &Curve, other: &Curve, at: f64, quantity: &Quantity) -> String {
    let delta = base.at(at).zip(other.at(at)).and_then(|(before, after)| {
        Delta::of(&before.cell, &after.cell, quantity, before.reading.statistic)
    });
    let Some(delta) = delta else { return "–".to_owned() };
    let change = meant(delta.change, Meant::Change);
    let interval = delta.low.zip(delta.high).map(|(low, high)| {
        format!(" ({} … {})", meant(low, Meant::Change), meant(high, Meant::Change))
    });
    let word = match delta.shown {
        Shown::Yes => "shown",
        Shown::No => "no difference shown",
        Shown::Unknown => "no interval",
    };
    format!("{change}{}, {word}", interval.unwrap_or_default())
}

/// What both carry at equal ITL.
pub(super) fn equal_latency(question: &Question, versus: &Versus) -> Table {
    let curves: Vec<Curve> =
        versus.parties().map(|party| versus.curve(party, &Quantity::Itl, CENTER)).collect();
    let mut columns = Columns::<f64>::default().cell(Head::number("median ITL"), |limit| Cell {
        value: Some(*limit),
        ..Cell::head(format!("≤ {}", meant(*limit, Meant::LimitMs)))
    });
    let base = curves.first();
    for (index, (party, curve)) in versus.parties().zip(&curves).enumerate() {
        let head = Head::number(plain(&party.name));
        columns = columns.cell(head, |limit| reached(curve, *limit));
        let Some(base) = base.filter(|_| index > 0) else { continue };
        columns = columns.cell(Head::number("× as many"), |limit| {
            let ratio = base.reaches(*limit).zip(curve.reaches(*limit));
            let mark = mark(base.has_value(*limit) && curve.has_value(*limit));
            times(ratio.map(|(before, after)| after / before), mark)
        });
    }
    let what = match versus.axis {
        LoadAxis::Users => "Users",
        LoadAxis::InFlight(Statistic::Mean) => "Requests in flight on average",
        LoadAxis::InFlight(_) => "Requests in flight",
        LoadAxis::Rate => "Requests per second",
    };
    let caption = format!(
        "{what} at which the median ITL reaches the limit, on the straight line between the two \
         measured loads around it."
    );
    columns.table(caption, itl_limits(question, &curves.iter().collect::<Vec<_>>()))
}

/// The growth of every ITL, with both loads.
pub(super) fn growths(versus: &Versus) -> Table {
    let grown = |party| Some((party, growth(&versus.curve(party, &Quantity::Itl, CENTER), None)?));
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
        let value = |cell: &Pooled| Some(cell.reading(&Quantity::InFlight, statistic)?.value);
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
