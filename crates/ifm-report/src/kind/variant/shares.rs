//! How the latencies of both are distributed, at the load nearest to the target.

use super::super::Subject;
use super::super::cumulative::{Of, figures};
use crate::format::{meant, plain};
use crate::page::{Block, Section};
use ifm_core::Metric;
use ifm_results::Pooled;
use ifm_rules::insight::{CENTER, Meant, Party, Question, Versus, is_burst, itl_limits};

/// The chapter; it says why where there is nothing to draw.
pub(super) fn section(
    subject: &Subject,
    question: &Question,
    versus: &Versus,
    scene: &str,
) -> Section {
    let heading = format!("Latency of the requests{scene}");
    let missing = |why: &str| Section::new(heading.clone(), vec![Block::Prose(why.to_owned())]);
    let Some((at, why)) = place(question, versus) else {
        return missing("Not drawn: no load was requested for both.");
    };
    let of = |(index, party): (usize, _)| {
        let (cell, load) = nearest(versus, party, at)?;
        let name = if index == 0 { versus.base.short_as_base() } else { party.short.as_str() };
        let name = format!("{} at {}", plain(name), meant(load, Meant::Load));
        Some(Of { name, thing: index, cell })
    };
    let all: Vec<Of> = versus.parties().enumerate().filter_map(of).collect();
    let figures = figures((subject.runs, &question.slo), &all);
    if figures.is_empty() {
        return missing("Not drawn: neither the requests nor two percentiles of them are known.");
    }
    let intro = format!(
        "{why}: of each the measured load that is nearest to {}{}.",
        meant(at, Meant::Load),
        versus.counted(at)
    );
    Section::new(heading.clone(), vec![Block::Prose(intro), Block::Figures(figures)])
}

/// The load at which the distributions are looked at, and why this one: the last one of the baseline
/// below the limit of ITL, else the highest one that was requested of both.
fn place(question: &Question, versus: &Versus) -> Option<(f64, String)> {
    let base = versus.curve(&versus.base, Metric::Itl, CENTER);
    let other = versus.curve(versus.others.first()?, Metric::Itl, CENTER);
    let limit = itl_limits(question, &[&base, &other]).last().copied();
    match limit.and_then(|limit| Some((limit, base.crossing(limit)?))) {
        Some((limit, [inside, _])) => {
            let limit = meant(limit, Meant::LimitMs);
            Some((inside.at, format!("Where the baseline is last below a median ITL of {limit}")))
        }
        None => {
            let at = versus.matched.first()?.last()?.at;
            Some((at, "At the highest load that was requested for both".to_owned()))
        }
    }
}

/// The measurement of a party whose load is nearest, by ratio, and its load.
fn nearest<'p, 'a>(
    versus: &Versus,
    party: &'p Party<'a>,
    at: f64,
) -> Option<(&'p Pooled<'a>, f64)> {
    let held = party.cells.iter().filter(|cell| !is_burst(cell));
    let placed = held.filter_map(|cell| Some((cell, versus.axis.place(cell)?)));
    let distance = |load: f64| (load.max(f64::MIN_POSITIVE) / at).ln().abs();
    placed.min_by(|a, b| distance(a.1).total_cmp(&distance(b.1)))
}
