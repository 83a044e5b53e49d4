//! Little's law: the mean number in flight is the rate times the mean time in the system.

use super::super::{Cell, Finding, Level, Looked, Rule, Subject};
use ifm_core::sheet::{Figure, Quantity, RowRole, Statistic, key};

pub(super) const RULE: Rule =
    Rule { id: "littles_law", title: "requests in flight are rate times latency", look };

/// Share by which the smaller may be below the larger: ramp and drain, and medians that stand for
/// means.
const TOLERANCE: f64 = 0.15;
/// How many times one may be the other before no innocent reason is left.
const STRONG: f64 = 1.5;
/// Requests for each user below which ramp and drain are most of a run.
const REQUESTS_PER_USER: f64 = 5.0;

fn look(subject: &Subject) -> Looked {
    let mut seen = 0;
    let mut findings = Vec::new();
    for cell in subject.cells(RowRole::Measured) {
        let Some((in_flight, product, is_measured)) = both(cell) else { continue };
        seen += 1;
        let off = (product / in_flight).max(in_flight / product);
        if off <= 1.0 / (1.0 - TOLERANCE) {
            continue;
        }
        let level = if off > STRONG + 1e-9 { Level::Strong } else { Level::Hint };
        let what = match (is_measured, product > in_flight) {
            (true, _) => "rate and latency are of different requests",
            (false, false) => "the level was never reached, or failed requests are left out",
            (false, true) => "more requests were in flight than the limit allows",
        };
        let text = format!(
            "{}: rate times latency gives {product:.1} in flight, {} {in_flight:.1}: {what}",
            cell.name(),
            if is_measured { "the row says" } else { "the limit was" },
        );
        findings.push(
            Finding::new(RULE.id, level, text)
                .at(cell.spot())
                .with("rate times latency", product, "requests")
                .with("in flight", in_flight, "requests"),
        );
    }
    match seen {
        0 => Looked::Needs("rows with rate, end-to-end latency and requests in flight"),
        _ => Looked::Found(findings),
    }
}

/// What the row says is in flight, what follows from rate and latency, and whether the former was
/// measured rather than set.
fn both(cell: &Cell) -> Option<(f64, f64, bool)> {
    let rate = cell.central(&Quantity::RequestRate)?.canonical()?;
    let e2e_ms = cell.row.value(&Quantity::E2e, Statistic::Mean)?;
    let measured = cell.central(&Quantity::InFlight).and_then(|figure| figure.canonical());
    let in_flight = match measured {
        Some(in_flight) => in_flight,
        None => set(cell)?,
    };
    // One digit of a small number says too little.
    let is_sharp = is_sharp(cell.central(&Quantity::RequestRate))
        && is_sharp(cell.row.figure(&Quantity::E2e, Statistic::Mean))
        && is_sharp(cell.central(&Quantity::InFlight));
    (in_flight > 0.0 && rate > 0.0 && e2e_ms > 0.0 && is_sharp).then_some((
        in_flight,
        rate * e2e_ms / 1e3,
        measured.is_some(),
    ))
}

/// Whether the printed digits of a figure say enough; so does one that is not there.
fn is_sharp(figure: Option<&Figure>) -> bool {
    figure.is_none_or(|figure| {
        let value = figure.value.unwrap_or(0.0);
        figure.rounding().is_none_or(|rounding| rounding < value * TOLERANCE / 3.0)
    })
}

/// The limit on requests in flight, where a closed loop held it long enough.
fn set(cell: &Cell) -> Option<f64> {
    let limit = cell.factors.number(key::CONCURRENCY)?;
    let requests = cell
        .row
        .value(&Quantity::RequestsOk, Statistic::Value)
        .or_else(|| cell.factors.number(key::REQUESTS))?;
    let is_closed = cell.factors.get(key::RATE).is_none_or(|rate| rate == "inf");
    (is_closed && requests >= REQUESTS_PER_USER * limit).then_some(limit)
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::{check, row, sheet};
    use super::*;
    use ifm_core::sheet::{PartKind, Unit};

    fn sound() -> ifm_core::Sheet {
        let mut row = row(
            7,
            &[
                (Quantity::RequestRate, Statistic::Value, "4.00", Unit::PerS),
                (Quantity::E2e, Statistic::Mean, "2000", Unit::Ms),
                (Quantity::RequestsOk, Statistic::Value, "80", Unit::Count),
            ],
        );
        row.factors.set(key::CONCURRENCY, 8);
        sheet(PartKind::Serving, vec![row])
    }

    #[test]
    fn a_level_that_was_never_reached_is_told() {
        let spoil =
            |sheet: &mut ifm_core::Sheet| sheet.parts[0].rows[0].factors.set(key::CONCURRENCY, 12);
        check("littles_law", &sound(), spoil, Level::Hint, "never reached");
    }

    #[test]
    fn measured_numbers_of_different_requests_are_told() {
        let spoil = |sheet: &mut ifm_core::Sheet| {
            let figure = Figure::new(Quantity::InFlight, Statistic::Mean, 3.0, Unit::Count);
            sheet.parts[0].rows[0].figures.push(figure);
        };
        check("littles_law", &sound(), spoil, Level::Strong, "different requests");
    }

    #[test]
    fn half_is_as_far_off_as_twice() {
        for (in_flight, level) in
            [(16.2, Level::Strong), (3.9, Level::Strong), (10.5, Level::Hint), (6.1, Level::Hint)]
        {
            let spoil = |sheet: &mut ifm_core::Sheet| {
                let figure =
                    Figure::new(Quantity::InFlight, Statistic::Mean, in_flight, Unit::Count);
                sheet.parts[0].rows[0].figures.push(figure);
            };
            check("littles_law", &sound(), spoil, level, "different requests");
        }
    }

    #[test]
    fn one_digit_of_a_latency_says_too_little() {
        let mut of = sound();
        let row = &mut of.parts[0].rows[0];
        row.factors.set(key::CONCURRENCY, 12);
        (row.figures[1].value, row.figures[1].printed) = (Some(2.0), Some("2".to_owned()));
        row.figures[1].unit = Unit::S;
        assert_eq!(super::super::super::testing::found("littles_law", &[of]), []);
    }

    #[test]
    fn short_runs_and_open_loops_are_left_alone() {
        let mut short = sound();
        short.parts[0].rows[0].factors.set(key::CONCURRENCY, 40);
        assert_eq!(super::super::super::testing::found("littles_law", &[short]), []);
        let mut open = sound();
        open.parts[0].rows[0].factors.set(key::CONCURRENCY, 12);
        open.parts[0].rows[0].factors.set(key::RATE, 4);
        assert_eq!(super::super::super::testing::found("littles_law", &[open]), []);
    }
}
