//! The tables of a comparison of variants: at equal load, at equal latency, growth, in flight.

use crate::format::{meant, number, plain};
use crate::page::{Cell, Head, Table};
use ifm_analysis::insight::{
    CENTER, Delta, LoadAxis, Meant, Question, Shown, Versus, growth, is_burst, itl_limits,
};
use ifm_analysis::survey::Curve;
use ifm_core::sheet::{Quantity, Statistic};

/// Rows of a table at most: there may be as many loads as a document has lines.
const ROWS_MAX: usize = 200;

fn heads(versus: &Versus, first: &str, ratio: &str) -> Vec<Head> {
    let mut heads = vec![Head::number(first), Head::number(plain(&versus.base.name))];
    for party in &versus.others {
        heads.push(Head::number(plain(&party.name)));
        heads.push(Head::number(ratio));
    }
    heads
}

/// Latencies of both at every load that one was measured at, and what may be said.
pub(super) fn equal_load(versus: &Versus) -> Table {
    let quantities = [Quantity::Itl, Quantity::Ttft];
    let mut heads = vec![Head::number(versus.axis.words()), Head::text("metric")];
    heads.push(Head::number(plain(&versus.base.name)));
    for party in &versus.others {
        heads.push(Head::number(plain(&party.name)));
        heads.push(Head::number("× shorter"));
        heads.push(Head::text("difference"));
    }
    let mut rows = Vec::new();
    for quantity in &quantities {
        let base = versus.curve(&versus.base, quantity, CENTER);
        let others: Vec<Curve> =
            versus.others.iter().map(|party| versus.curve(party, quantity, CENTER)).collect();
        let mut places: Vec<f64> =
            others.iter().flat_map(|other| Versus::common(&base, other)).collect();
        places.sort_by(f64::total_cmp);
        places.dedup();
        for at in places {
            let mut row = vec![
                Cell { value: Some(at), ..Cell::head(meant(at, Meant::Load)) },
                Cell::text(quantity.to_string()),
                value(&base, at),
            ];
            for other in &others {
                row.push(value(other, at));
                let pair = base.between(at).zip(other.between(at));
                let ratio = pair.map(|(before, after)| before / after);
                let mark = mark(base.at(at).is_some() && other.at(at).is_some());
                row.push(Cell::number(ratio, |ratio| {
                    format!("{mark}{}", meant(ratio, Meant::Times))
                }));
                row.push(Cell::text(verdict(&base, other, at, quantity)));
            }
            rows.push(row);
        }
    }
    rows.truncate(ROWS_MAX);
    Table {
        caption: "At the same load. ~ was read on the straight line between two measured loads."
            .to_owned(),
        heads,
        rows,
    }
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
    let base = versus.curve(&versus.base, &Quantity::Itl, CENTER);
    let others: Vec<Curve> =
        versus.others.iter().map(|party| versus.curve(party, &Quantity::Itl, CENTER)).collect();
    let curves: Vec<&Curve> = std::iter::once(&base).chain(&others).collect();
    let row = |limit: &f64| {
        let before = base.reaches(*limit);
        let mut row = vec![
            Cell {
                value: Some(*limit),
                ..Cell::head(format!("≤ {}", meant(*limit, Meant::LimitMs)))
            },
            reached(&base, *limit),
        ];
        for other in &others {
            let after = other.reaches(*limit);
            row.push(reached(other, *limit));
            let ratio = before.zip(after).map(|(before, after)| after / before);
            let mark = mark(base.has_value(*limit) && other.has_value(*limit));
            row.push(Cell::number(ratio, |ratio| format!("{mark}{}", meant(ratio, Meant::Times))));
        }
        row
    };
    Table {
        caption: format!(
            "{} at which the median ITL reaches the limit, on the straight line between the two \
             measured loads around it.",
            match versus.axis {
                LoadAxis::Users => "Users",
                LoadAxis::InFlight(Statistic::Mean) => "Requests in flight on average",
                LoadAxis::InFlight(_) => "Requests in flight",
                LoadAxis::Rate => "Requests per second",
            }
        ),
        heads: heads(versus, "median ITL", "× as many"),
        rows: itl_limits(question, &curves).iter().map(row).collect(),
    }
}

/// The growth of every ITL, with both loads.
pub(super) fn growths(versus: &Versus) -> Table {
    let row = |party: &ifm_analysis::insight::Party| {
        let curve = versus.curve(party, &Quantity::Itl, CENTER);
        let growth = growth(&curve, None)?;
        let load = |at: f64| Cell::number(Some(at), |at| meant(at, Meant::Load));
        let ms = |ms: f64| Cell::number(Some(ms), |ms| meant(ms, Meant::Ms));
        let ratio = Cell::number(Some(growth.ratio()), |ratio| meant(ratio, Meant::Times));
        Some(vec![
            Cell::head(plain(&party.name)),
            load(growth.from.0),
            ms(growth.from.1),
            load(growth.to.0),
            ms(growth.to.1),
            ratio,
        ])
    };
    Table {
        caption: format!(
            "ITL at the highest over ITL at the lowest load of each; loads in {}.",
            versus.axis.words()
        ),
        heads: vec![
            Head::text("model"),
            Head::number("lowest load"),
            Head::number("ITL there"),
            Head::number("highest load"),
            Head::number("ITL there"),
            Head::number("ratio"),
        ],
        rows: versus.parties().filter_map(row).collect(),
    }
}

/// The most in flight: held by a load, and all requests at once.
pub(super) fn in_flight(versus: &Versus) -> Table {
    let most = |party: &ifm_analysis::insight::Party, of_bursts: bool, statistic: Statistic| {
        let rows = party.cells.iter().filter(|cell| is_burst(cell) == of_bursts);
        let value = |cell: &ifm_analysis::survey::Pooled| {
            Some(cell.reading(&Quantity::InFlight, statistic)?.value)
        };
        Cell::number(rows.filter_map(value).max_by(f64::total_cmp), |at| meant(at, Meant::Load))
    };
    let columns = [
        (false, Statistic::Median),
        (false, Statistic::Mean),
        (true, Statistic::Median),
        (true, Statistic::Mean),
    ];
    let row = |party: &ifm_analysis::insight::Party| {
        let cells = columns.map(|(of_bursts, statistic)| most(party, of_bursts, statistic));
        let is_known = cells.iter().any(|cell| cell.value.is_some());
        let row = std::iter::once(Cell::head(plain(&party.name))).chain(cells).collect();
        is_known.then_some(row)
    };
    Table {
        caption: "The most requests in flight. A row with all requests at once says how many were \
                  in flight without a limit, not how many can be served in time."
            .to_owned(),
        heads: vec![
            Head::text("model"),
            Head::number("highest load held, median"),
            Head::number("mean"),
            Head::number("all at once, median"),
            Head::number("mean"),
        ],
        rows: versus.parties().filter_map(row).collect(),
    }
}
