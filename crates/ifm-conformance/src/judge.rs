//! Compares what a client reports for a case with the truth.

use ifm_core::Metric;
use ifm_core::sheet::{Definition, Figure, Row, Statistic};
use ifm_truth::Case;
use ifm_truth::case::Action;
use std::ops::RangeInclusive;

/// The verdict on a client in a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Everything that it reports is right.
    Right,
    /// Something is wrong.
    Wrong,
    /// It reported nothing readable.
    Silent,
    /// It did not end in time and was stopped.
    Unended,
    /// The command has no way to request it, for this reason; nothing was run.
    NotApplicable(&'static str),
}

impl Verdict {
    /// Its value in the JSON document.
    pub fn word(self) -> &'static str {
        match self {
            Verdict::Right => "right",
            Verdict::Wrong => "wrong",
            Verdict::Silent => "silent",
            Verdict::Unended => "unended",
            Verdict::NotApplicable(_) => "not_applicable",
        }
    }
}

ifm_core::vocabulary! {
    /// What a number describes.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Matter {
        /// Whether the answer is complete.
        Outcome = "outcome",
        /// Number of tokens.
        Count = "count",
        /// Times of tokens.
        Time = "time",
    }
}

/// A number that a client reports or omits, compared with the truth.
#[derive(Debug, Clone, PartialEq)]
pub struct Check {
    /// What it describes.
    pub matter: Matter,
    /// The quantity, with its unit.
    pub what: &'static str,
    /// What the client reports; absent if nothing.
    pub said: Option<f64>,
    /// The truth, by inferometer's definition first.
    pub accepted: Vec<RangeInclusive<f64>>,
    /// Whether the reported number is right, or missing for a reason.
    pub is_right: bool,
}

impl Check {
    fn exact(matter: Matter, what: &'static str, said: Option<f64>, truth: f64) -> Check {
        Check { matter, what, said, accepted: vec![truth..=truth], is_right: said == Some(truth) }
    }

    /// The truth by inferometer's definition.
    pub fn truth(&self) -> Option<f64> {
        self.accepted.first().map(|range| *range.start())
    }
}

/// How many complete answers a client may report for a case that succeeds, given the number of
/// requests that the server saw. Some clients send requests before they measure, and some cannot
/// send as few as requested. The truth holds for each request, so any number from the requested one
/// up is right.
fn complete(case: &Case, seen: usize) -> RangeInclusive<f64> {
    let asked = f64::from(case.requests);
    asked..=asked.max(seen as f64)
}

/// Compares a row with the truth, number by number. Counts are exact; times have a tolerance in
/// milliseconds. If the client never reports a quantity, that is wrong only where it is needed to
/// determine the outcome.
pub(super) fn judge(case: &Case, row: &Row, seen: usize, tolerance_ms: f64) -> Vec<Check> {
    let truth = &case.truth;
    let accepted = if truth.outcome.is_ok() { complete(case, seen) } else { 0.0..=0.0 };
    let said = completed(row);
    let outcome = Check {
        matter: Matter::Outcome,
        what: "complete answers",
        said,
        is_right: said.is_some_and(|said| accepted.contains(&said)),
        accepted: vec![accepted],
    };
    let complete = said.filter(|_| truth.outcome.is_ok() && outcome.is_right);
    let mut checks = vec![outcome];
    let Some(complete) = complete else { return checks };
    if let Some(tokens) = truth.output_tokens {
        let expected = f64::from(tokens) * complete;
        let mut check = Check::exact(Matter::Count, "output tokens", output_tokens(row), expected);
        check.is_right |= check.said.is_none();
        checks.push(check);
    }
    let times = [Metric::Ttft, Metric::Tpot, Metric::E2e];
    checks.extend(times.iter().filter_map(|quantity| time(case, row, *quantity, tolerance_ms)));
    checks
}

/// A mean time. If the truth has no number (an answer in one piece, or a count that no source
/// reported), nothing is checked: a client may have its own reasons for one.
fn time(case: &Case, row: &Row, quantity: Metric, tolerance_ms: f64) -> Option<Check> {
    let means =
        |figure: &&Figure| figure.quantity == quantity && figure.statistic == Statistic::Mean;
    let is_ours = !row
        .figures
        .iter()
        .find(means)
        .is_some_and(|figure| matches!(figure.definition, Definition::Different(_)));
    let accepted = accepted_ms(case, quantity, is_ours);
    if accepted.is_empty() {
        return None;
    }
    let said = row.value(quantity, Statistic::Mean);
    let is_near = |said: f64| {
        let off = |range: &RangeInclusive<f64>| (range.start() - said).max(said - range.end());
        accepted.iter().any(|range| off(range) <= tolerance_ms)
    };
    let is_right = match said {
        Some(said) => is_near(said),
        // A client without such a figure is not wrong about it.
        None => !row.figures.iter().any(|figure| figure.quantity == quantity),
    };
    let what = match quantity {
        Metric::Ttft => "TTFT, ms",
        Metric::Tpot => "TPOT, ms",
        _ => "E2E, ms",
    };
    Some(Check { matter: Matter::Time, what, said, accepted, is_right })
}

/// Accepted values of a time, milliseconds: inferometer's first, then by other definitions in
/// use.
///
/// The end of an answer is its last token, or any moment from there to the end of the stream. If a
/// tool defines its time per token differently, that time may also extend to that end, and include
/// the wait for the first token.
fn accepted_ms(case: &Case, quantity: Metric, is_ours: bool) -> Vec<RangeInclusive<f64>> {
    let truth = &case.truth;
    let last = truth.last_token_ms.filter(|_| truth.streamed);
    let end = end_ms(case);
    let ends = last.map(|last| last..=end.max(last));
    match quantity {
        Metric::Ttft => truth.ttft_ms.map(|ttft| ttft..=ttft).into_iter().collect(),
        Metric::E2e => ends.into_iter().collect(),
        _ => {
            let Some(tpot) = truth.tpot_ms else { return Vec::new() };
            let mut accepted = vec![tpot..=tpot];
            if let (false, Some(ends), Some(ttft)) = (is_ours, ends, truth.ttft_ms) {
                let (last, end) = ends.into_inner();
                if last > ttft {
                    accepted.push(tpot..=tpot * (end - ttft) / (last - ttft));
                }
                if let Some(tokens) = truth.output_tokens.filter(|tokens| *tokens > 0) {
                    accepted.push(last / f64::from(tokens)..=end / f64::from(tokens));
                }
            }
            accepted
        }
    }
}

/// End of the stream, milliseconds: its end mark, else the last action of the server.
fn end_ms(case: &Case) -> f64 {
    let mark = b"data: [DONE]";
    let has_mark = |action: &Action| match action {
        Action::Send(bytes) => bytes.windows(mark.len()).any(|window| window == mark),
        Action::Close | Action::Reset => false,
    };
    let marked = case.steps.iter().rev().find(|step| has_mark(&step.action));
    marked.map_or(case.last_step_ms(), |step| step.at_ms) as f64
}

/// Complete answers: as counted, else the number of requests that did not fail.
fn completed(row: &Row) -> Option<f64> {
    row.value(Metric::RequestsOk, Statistic::Value).or_else(|| {
        let ok = row.requests.iter().filter(|request| request.error.is_none()).count();
        (!row.requests.is_empty()).then_some(ok as f64)
    })
}

/// Output tokens of all complete answers: as counted, else from the single requests, else from the
/// mean number per answer.
fn output_tokens(row: &Row) -> Option<f64> {
    let of_requests = || {
        let tokens: Option<Vec<u64>> =
            row.requests.iter().map(|request| request.output_tokens).collect();
        tokens.filter(|tokens| !tokens.is_empty()).map(|tokens| tokens.iter().sum::<u64>() as f64)
    };
    let by_mean = || {
        let mean = row.value(Metric::OutputTokens, Statistic::Mean)?;
        // Only a whole number of tokens can be right; the difference is rounding.
        let tokens = mean * completed(row)?;
        Some(if (tokens - tokens.round()).abs() < 1e-6 { tokens.round() } else { tokens })
    };
    row.value(Metric::OutputTokens, Statistic::Value).or_else(of_requests).or_else(by_mean)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ifm_core::sheet::{Place, RowRole, Unit};

    fn row(figures: &[(Metric, Statistic, f64)]) -> Row {
        let mut row = Row::new(RowRole::Measured, Place::default());
        row.figures = figures
            .iter()
            .map(|(quantity, statistic, value)| {
                let unit = if *statistic == Statistic::Mean { Unit::Ms } else { Unit::Count };
                Figure::new(*quantity, *statistic, *value, unit)
            })
            .collect();
        row
    }

    /// The parts of a row that are wrong with a tolerance of two milliseconds.
    fn wrong(case: &Case, row: &Row) -> Vec<&'static str> {
        let checks = judge(case, row, 1, 2.0).into_iter();
        checks.filter(|check| !check.is_right).map(|check| check.what).collect()
    }

    /// The first case of the suite that is complete and counted.
    fn plain() -> Case {
        let suite = ifm_truth::cases::suite();
        suite
            .into_iter()
            .find(|case| case.truth.tpot_ms.is_some() && case.requests == 1)
            .expect("a case")
    }

    #[test]
    fn what_is_right_is_right_and_what_is_off_is_told() {
        let case = plain();
        let truth = &case.truth;
        let figures = |ttft_off: f64, tokens_off: f64| {
            vec![
                (Metric::RequestsOk, Statistic::Value, 1.0),
                (
                    Metric::OutputTokens,
                    Statistic::Value,
                    f64::from(truth.output_tokens.expect("a count")) + tokens_off,
                ),
                (Metric::Ttft, Statistic::Mean, truth.ttft_ms.expect("a time") + ttft_off),
            ]
        };
        assert_eq!(wrong(&case, &row(&figures(1.0, 0.0))), [""; 0]);
        assert_eq!(wrong(&case, &row(&figures(30.0, 0.0))), ["TTFT, ms"]);
        assert_eq!(wrong(&case, &row(&figures(0.0, 1.0))), ["output tokens"]);
    }

    #[test]
    fn a_mean_of_tokens_is_held_against_the_count_of_all() {
        let mut case = plain();
        case.requests = 3;
        let tokens = f64::from(case.truth.output_tokens.expect("a count"));
        let wrong = |mean: f64| {
            let said = [
                (Metric::RequestsOk, Statistic::Value, 3.0),
                (Metric::OutputTokens, Statistic::Mean, mean),
            ];
            let checks = judge(&case, &row(&said), 3, 2.0).into_iter();
            checks.filter(|check| !check.is_right).map(|check| check.what).collect::<Vec<_>>()
        };
        assert_eq!(wrong(tokens), [""; 0]);
        assert_eq!(wrong(tokens + 0.2), ["output tokens"]);
    }

    #[test]
    fn a_failure_that_is_called_a_success_is_wrong() {
        let suite = ifm_truth::cases::suite();
        let case = suite.into_iter().find(|case| !case.truth.outcome.is_ok()).expect("a case");
        let said = row(&[(Metric::RequestsOk, Statistic::Value, f64::from(case.requests))]);
        assert_eq!(wrong(&case, &said), ["complete answers"], "{}", case.name);
        let honest = row(&[(Metric::RequestsOk, Statistic::Value, 0.0)]);
        assert_eq!(wrong(&case, &honest), [""; 0]);
    }

    #[test]
    fn a_client_that_sends_more_than_it_is_asked_for_is_held_against_what_it_sent() {
        let case = plain();
        let tokens = f64::from(case.truth.output_tokens.expect("a count"));
        let wrong = |ok: f64, tokens: f64, seen: usize| {
            let said = [
                (Metric::RequestsOk, Statistic::Value, ok),
                (Metric::OutputTokens, Statistic::Value, tokens),
            ];
            let checks = judge(&case, &row(&said), seen, 2.0).into_iter();
            checks.filter(|check| !check.is_right).map(|check| check.what).collect::<Vec<_>>()
        };
        assert_eq!(wrong(3.0, 3.0 * tokens, 3), [""; 0]);
        assert_eq!(wrong(1.0, tokens, 3), [""; 0], "two of them were to warm up");
        assert_eq!(wrong(3.0, 3.0 * tokens, 1), ["complete answers"], "it never sent three");
        assert_eq!(wrong(3.0, tokens, 3), ["output tokens"]);
        assert_eq!(wrong(0.0, 0.0, 3), ["complete answers"]);
    }

    #[test]
    fn other_definitions_of_the_end_are_no_mistakes_but_other_times_are() {
        let suite = ifm_truth::cases::suite();
        let case = suite.into_iter().find(|case| case.name == "late_tail").expect("the case");
        let truth = &case.truth;
        let (first, last) = (truth.ttft_ms.expect("a time"), truth.last_token_ms.expect("a time"));
        let end = end_ms(&case);
        assert!(end >= last + 300.0, "the tail is late");
        let tokens = f64::from(truth.output_tokens.expect("a count"));
        let said = |e2e: f64, tpot: f64, definition: Definition| {
            let mut row = row(&[
                (Metric::RequestsOk, Statistic::Value, 1.0),
                (Metric::E2e, Statistic::Mean, e2e),
                (Metric::Tpot, Statistic::Mean, tpot),
            ]);
            row.figures[2].definition = definition;
            wrong(&case, &row)
        };
        let other = || Definition::Different("to the end of the stream".to_owned());
        let to_end = (end - first) / (tokens - 1.0);
        assert_eq!(said(end, (last - first) / (tokens - 1.0), Definition::Same), [""; 0]);
        assert_eq!(said(end + 10.0, to_end, other()), ["E2E, ms"]);
        assert_eq!(said(last - 10.0, to_end, Definition::Same), ["TPOT, ms", "E2E, ms"]);
        assert_eq!(said(last, end / tokens, other()), [""; 0], "with the first token's wait");
        assert_eq!(said(last, to_end + 10.0, other()), ["TPOT, ms"]);
    }
}
