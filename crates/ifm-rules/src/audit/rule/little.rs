//! Little's law: the mean number in flight is the rate times the mean time in the system.
//!
//! If a row has no end-to-end time, it follows from the time to first token, the gaps and the
//! length of the answers: by ITL and by TPOT; the one with the smaller deviation counts.

use super::super::{Cell, Finding, Level, Looked, Rule, Subject};
use ifm_core::Metric;
use ifm_core::order::Order as _;
use ifm_core::sheet::{Figure, RowRole, Statistic};
use ifm_core::words::counted;

pub(super) const RULE: Rule =
    Rule { id: "littles_law", title: "requests in flight equal rate times latency", look };

/// Share by which the smaller may be below the larger: allows for ramp and drain, and for medians
/// used instead of means.
const TOLERANCE: f64 = 0.15;
/// How many times one may be the other before no innocent reason is left.
const STRONG: f64 = 1.5;
/// Requests for each user below which ramp and drain are most of a run.
const REQUESTS_PER_USER: f64 = 5.0;

/// A row compared with the law.
struct Held<'c> {
    cell: &'c Cell<'c>,
    /// Rate times latency.
    product: f64,
    /// What the row says about requests in flight, or the requested number.
    in_flight: f64,
    is_measured: bool,
    /// Requests for each user, if the figure is the requested concurrency.
    per_user: f64,
}

impl Held<'_> {
    fn off(&self) -> f64 {
        (self.product / self.in_flight).max(self.in_flight / self.product)
    }

    /// How sure it is that they contradict each other; none where they do not.
    fn level(&self) -> Option<Level> {
        let is_short = !self.is_measured && self.per_user < REQUESTS_PER_USER;
        let is_below = self.product < self.in_flight;
        let allowed = if is_short { STRONG } else { 1.0 / (1.0 - TOLERANCE) };
        // With few requests per user, only a concurrency that was not reached is reported, and not
        // if some requests failed: they were in flight as well, and the rate leaves them out.
        let failed = self.cell.row.value(Metric::RequestsFailed, Statistic::Value);
        let is_open = is_short && (!is_below || failed.is_some_and(|failed| failed > 0.0));
        if self.off() <= allowed + 1e-9 || is_open {
            return None;
        }
        // With fewer requests than users, the stated concurrency may mean "no limit".
        let is_far = self.off() > STRONG + 1e-9 && self.per_user > 1.0;
        Some(if is_far { Level::Strong } else { Level::Hint })
    }
}

fn look(subject: &Subject) -> Looked {
    let held: Vec<Held> = subject.cells(RowRole::Measured).flat_map(held).collect();
    if held.is_empty() {
        return Looked::Needs(
            "rows with rate, end-to-end latency (or TTFT, ITL and answer lengths) and requests in \
             flight",
        );
    }
    let (short, others): (Vec<&Held>, Vec<&Held>) = held
        .iter()
        .filter(|held| held.level().is_some())
        .partition(|held| !held.is_measured && held.product < held.in_flight);
    let mut findings: Vec<Finding> = others.into_iter().filter_map(contradiction).collect();
    findings.extend(not_held(short));
    Looked::Found(findings)
}

fn contradiction(held: &Held) -> Option<Finding> {
    let (product, in_flight) = (held.product, held.in_flight);
    let what = match held.is_measured {
        true => "rate and latency cover different requests",
        false => "more requests were in flight than the limit allows",
    };
    let text = format!(
        "{}: rate times latency gives {product:.1} in flight, {} {in_flight:.1}: {what}",
        held.cell.name(),
        if held.is_measured { "the row says" } else { "the limit was" },
    );
    let finding = Finding::new(RULE.id, held.level()?, text)
        .at(held.cell.spot())
        .with("rate times latency", product, "requests")
        .with("in flight", in_flight, "requests");
    Some(finding)
}

/// One finding for all levels that did not reach the requested concurrency.
fn not_held(mut levels: Vec<&Held>) -> Option<Finding> {
    levels.order_by(|a, b| b.off().total_cmp(&a.off()));
    let worst = levels.first()?;
    let level = levels.iter().filter_map(|held| held.level()).max()?;
    let said = |held: &&Held| format!("{:.0} of {:.0}", held.product, held.in_flight);
    let all: Vec<String> = levels.iter().take(SHOWN).map(said).collect();
    let why = match worst.per_user < REQUESTS_PER_USER {
        true => format!(
            "with {:.1} requests for each user, ramp and drain are most of the run",
            worst.per_user
        ),
        false => "the level was never reached, or not to the end, or failed requests are left out"
            .to_owned(),
    };
    let text = format!(
        "{} did not reach the requested concurrency: rate times latency gives {} in flight{}: \
         {why}",
        counted(levels.len() as u64, "level"),
        all.join(", "),
        if levels.len() > SHOWN { " and so on" } else { "" }
    );
    let finding = Finding::new(RULE.id, level, text)
        .at_all(levels.iter().map(|held| held.cell.spot()))
        .with("rate times latency", worst.product, "requests")
        .with("asked for", worst.in_flight, "requests")
        .remedy(
            "name the level by the actual requests in flight, or send many more requests \
                 than users",
        );
    Some(finding)
}

/// Levels that a sentence shows.
const SHOWN: usize = 6;

/// Rate times latency against the requests in flight that the row states, and against the
/// concurrency that was requested.
fn held<'c>(cell: &'c Cell<'c>) -> Vec<Held<'c>> {
    let measured = cell.central(Metric::InFlight).and_then(Figure::canonical);
    let rate = cell.central(Metric::RequestRate).and_then(Figure::canonical);
    // One digit of a small number says too little.
    let is_sharp = is_sharp(cell.central(Metric::RequestRate))
        && is_sharp(cell.row.figure(Metric::E2e, Statistic::Mean))
        && is_sharp(cell.central(Metric::InFlight));
    let asked = cell.users().zip(cell.requests());
    let comparisons = [
        measured.map(|in_flight| (in_flight, true, f64::INFINITY)),
        asked.map(|(users, requests)| (users, false, requests / users)),
    ];
    let held = |(in_flight, is_measured, per_user): (f64, bool, f64)| {
        let products = e2e_ms(cell).into_iter().map(|ms| rate.unwrap_or(0.0) * ms / 1e3);
        // Of several the one that is nearest.
        let apart = |product: &f64| (product / in_flight).ln().abs();
        let product = products.min_by(|a, b| apart(a).total_cmp(&apart(b)))?;
        let is_there = in_flight > 0.0 && product > 0.0 && is_sharp;
        is_there.then_some(Held { cell, product, in_flight, is_measured, per_user })
    };
    comparisons.into_iter().flatten().filter_map(held).collect()
}

/// The mean time of a request: as the row says, else what its parts add up to.
fn e2e_ms(cell: &Cell) -> Vec<f64> {
    let mean = |quantity| cell.row.value(quantity, Statistic::Mean);
    if let Some(e2e) = mean(Metric::E2e) {
        return vec![e2e];
    }
    // Steps of speculative decoding give several tokens; a gap is not one token then.
    let is_speculative = cell.row.figures.iter().any(|f| f.quantity == Metric::AcceptanceLength);
    let answers = cell.mean_tokens(Metric::OutputTokens).filter(|tokens| *tokens >= 1.0);
    let (Some(ttft), Some(tokens), false) = (mean(Metric::Ttft), answers, is_speculative) else {
        return Vec::new();
    };
    let gaps = [mean(Metric::Itl), mean(Metric::Tpot)];
    gaps.into_iter().flatten().map(|gap| ttft + gap * (tokens - 1.0)).collect()
}

/// Whether the printed digits of a figure say enough; so does one that is not there.
fn is_sharp(figure: Option<&Figure>) -> bool {
    figure.is_none_or(|figure| {
        let value = figure.value.unwrap_or(0.0);
        figure.rounding().is_none_or(|rounding| rounding < value * TOLERANCE / 3.0)
    })
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::found;
    use super::super::super::testing::{check, row, sheet};
    use super::*;
    use ifm_core::sheet::{PartKind, Unit, key};

    fn sound() -> ifm_core::Sheet {
        let mut row = row(
            7,
            &[
                (Metric::RequestRate, Statistic::Value, "4.00", Unit::PerS),
                (Metric::E2e, Statistic::Mean, "2000", Unit::Ms),
                (Metric::RequestsOk, Statistic::Value, "80", Unit::Count),
            ],
        );
        row.factors.set(key::CONCURRENCY, 8);
        sheet(PartKind::Serving, vec![row])
    }

    #[test]
    fn reports_a_level_that_was_never_reached() {
        let corrupt =
            |sheet: &mut ifm_core::Sheet| sheet.parts[0].rows[0].factors.set(key::CONCURRENCY, 12);
        check("littles_law", &sound(), corrupt, Level::Hint, "never reached");
    }

    /// 1000 requests of 92 tokens at 32.9 per second: by ITL 4.3 s and 141 in flight, by TPOT 166.
    #[test]
    fn levels_without_a_latency_are_added_up_from_its_parts() {
        let document = |users: u32, tpot: &str| {
            let (count, value, mean) = (Unit::Count, Statistic::Value, Statistic::Mean);
            let mut row = row(
                7,
                &[
                    (Metric::RequestRate, value, "32.89", Unit::PerS),
                    (Metric::RequestsOk, value, "1000", count.clone()),
                    (Metric::OutputTokens, value, "91334", count),
                    (Metric::Ttft, mean, "174.58", Unit::Ms),
                    (Metric::Itl, mean, "45.53", Unit::Ms),
                    (Metric::Tpot, mean, tpot, Unit::Ms),
                ],
            );
            row.factors.set(key::CONCURRENCY, users);
            sheet(PartKind::Serving, vec![row])
        };
        let far = |sheet: &mut ifm_core::Sheet| *sheet = document(256, "53.93");
        let sound = document(180, "53.93");
        check("littles_law", &sound, far, Level::Strong, "166 of 256");
        let ramp = |sheet: &mut ifm_core::Sheet| *sheet = document(512, "53.93");
        check("littles_law", &sound, ramp, Level::Strong, "2.0 requests for each user");
        // Those that failed were in flight as well.
        let mut failed = document(512, "53.93");
        let figure = (Metric::RequestsFailed, Statistic::Value, "200", Unit::Count);
        failed.parts[0].rows[0].figures.extend(row(7, &[figure]).figures);
        assert_eq!(found("littles_law", &[failed]), []);
        // Nothing is reported if one of the two agrees.
        assert_eq!(found("littles_law", &[document(256, "75.00")]), []);
        // A limit that no run could reach is not a limit.
        let none = found("littles_law", &[document(4096, "53.93")]);
        assert_eq!(none.iter().map(|finding| finding.level).collect::<Vec<_>>(), [Level::Hint]);
    }

    #[test]
    fn reports_numbers_of_different_requests() {
        let corrupt = |sheet: &mut ifm_core::Sheet| {
            let figure = Figure::new(Metric::InFlight, Statistic::Mean, 3.0, Unit::Count);
            sheet.parts[0].rows[0].figures.push(figure);
        };
        check("littles_law", &sound(), corrupt, Level::Strong, "different requests");
    }

    #[test]
    fn half_is_as_far_off_as_twice() {
        for (in_flight, level) in
            [(16.2, Level::Strong), (3.9, Level::Strong), (10.5, Level::Hint), (6.1, Level::Hint)]
        {
            let corrupt = |sheet: &mut ifm_core::Sheet| {
                let figure = Figure::new(Metric::InFlight, Statistic::Mean, in_flight, Unit::Count);
                sheet.parts[0].rows[0].figures.push(figure);
            };
            check("littles_law", &sound(), corrupt, level, "different requests");
        }
    }

    #[test]
    fn one_digit_of_a_latency_says_too_little() {
        let mut of = sound();
        let row = &mut of.parts[0].rows[0];
        row.factors.set(key::CONCURRENCY, 12);
        (row.figures[1].value, row.figures[1].printed) = (Some(2.0), Some("2".to_owned()));
        row.figures[1].unit = Unit::S;
        assert_eq!(found("littles_law", &[of]), []);
    }

    #[test]
    fn short_runs_and_open_loops_are_left_alone() {
        let mut short = sound();
        short.parts[0].rows[0].factors.set(key::CONCURRENCY, 11);
        short.parts[0].rows[0].factors.set(key::REQUESTS, 40);
        short.parts[0].rows[0].figures.pop();
        assert_eq!(found("littles_law", &[short]), []);
        let mut open = sound();
        open.parts[0].rows[0].factors.set(key::CONCURRENCY, 12);
        open.parts[0].rows[0].factors.set(key::RATE, 4);
        assert_eq!(found("littles_law", &[open]), []);
    }
}
