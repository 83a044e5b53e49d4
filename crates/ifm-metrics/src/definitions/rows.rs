//! What the definitions share: settings of a level, single requests, and figures of populations.

use crate::level::{LevelSummary, Load};
use crate::stat::quantile::percentile_of_sorted;
use ifm_core::Metric;
use ifm_core::order::Order as _;
use ifm_core::sheet::{Definition, Figure, Row, SheetRequest, Statistic, StdKind, Unit, key};
use ifm_core::{RequestRecord, SentMedia};

const NS_PER_S: f64 = 1e9;
const NS_PER_MS: f64 = 1e6;
/// Percentiles that every tool is asked for.
const PERCENTILES: [f64; 7] = [1.0, 5.0, 25.0, 75.0, 90.0, 95.0, 99.0];

/// How a tool finds percentiles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Percentiles {
    /// Linear between the two nearest values.
    Linear,
    /// The smallest value that at least so large a share of the weight does not exceed.
    NearestRank,
}

/// The request of a level.
pub(super) fn settings(level: &LevelSummary, row: &mut Row) {
    match level.load() {
        Some(Load::Users(users)) => {
            row.factors.set(key::CONCURRENCY, users);
            row.factors.set(key::RATE, "inf");
        }
        Some(Load::ReqPerS(rate)) => row.factors.set(key::RATE, rate),
        None => {}
    }
    let lengths = [
        (key::INPUT_TOKENS, level.tokens.prompt_asked_mean),
        (key::OUTPUT_TOKENS, level.tokens.output_asked_mean),
    ];
    for (name, mean) in lengths {
        if let Some(mean) = mean.filter(|mean| mean.fract() == 0.0) {
            row.factors.set(name, mean);
        }
    }
    row.factors.set(key::REQUESTS, level.counts.sent);
}

/// When a request ended, by a definition.
type End = fn(&RequestRecord) -> Option<u64>;

/// The requests of a level, in the order of their starts.
pub(super) fn requests(sent: &[&RequestRecord], end_ns: End) -> Vec<SheetRequest> {
    let origin_ns = sent.iter().map(|record| record.start_ns).min().unwrap_or(0);
    let mut records = sent.to_vec();
    records.order_by_key(|record| record.start_ns);
    records.into_iter().map(|record| request(record, origin_ns, end_ns(record))).collect()
}

fn request(record: &RequestRecord, origin_ns: u64, end_ns: Option<u64>) -> SheetRequest {
    let ok = record.outcome.is_ok();
    let since_start_ms = |at_ns: u64| at_ns.saturating_sub(record.start_ns) as f64 / NS_PER_MS;
    let at_ns = &record.events.at_ns;
    let gaps =
        at_ns.windows(2).filter_map(|pair| Some(pair.last()?.saturating_sub(*pair.first()?)));
    let span_ms = record
        .first_token_ns()
        .zip(record.last_token_ns())
        .map(|(first, last)| last.saturating_sub(first) as f64 / NS_PER_MS);
    let has_gaps = ok && record.streamed && !at_ns.is_empty();
    SheetRequest {
        start_s: Some(record.start_ns.saturating_sub(origin_ns) as f64 / NS_PER_S),
        client_queue_ms: Some(record.start_ns.saturating_sub(record.due_ns) as f64 / NS_PER_MS),
        ttft_ms: record.first_token_ns().filter(|_| ok && record.streamed).map(since_start_ms),
        e2e_ms: end_ns.filter(|_| ok).map(since_start_ms),
        gaps: has_gaps.then(|| at_ns.len().saturating_sub(1) as u32),
        gaps_sum_ms: span_ms.filter(|_| has_gaps),
        gap_max_ms: gaps.max().filter(|_| has_gaps).map(|gap| gap as f64 / NS_PER_MS),
        input_tokens: record.prompt_tokens.map(|counted| u64::from(counted.tokens)),
        output_tokens: record.output_tokens.map(|counted| u64::from(counted.tokens)),
        error: (!ok)
            .then(|| record.error.clone().unwrap_or_else(|| record.outcome.word().to_owned())),
        status: record.http_status.filter(|_| !ok),
    }
}

/// Adds mean, deviation and percentiles of a population of times in nanoseconds, each with its
/// weight, as milliseconds. Nothing is added for no value.
pub(super) fn latency(
    row: &mut Row,
    quantity: Metric,
    values: Vec<(f64, f64)>,
    std: StdKind,
    by: Percentiles,
) {
    population(row, quantity, values, (std, by), (NS_PER_MS, &Unit::Ms));
}

/// The same for values that have to be divided by the given number to be in the unit.
pub(super) fn population(
    row: &mut Row,
    quantity: Metric,
    mut values: Vec<(f64, f64)>,
    (std, by): (StdKind, Percentiles),
    (scale, unit): (f64, &Unit),
) {
    values.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let weight: f64 = values.iter().map(|(_, weight)| weight).sum();
    let (Some(first), Some(last)) = (values.first(), values.last()) else { return };
    if weight <= 0.0 {
        return;
    }
    let mean = values.iter().map(|(value, weight)| value * weight).sum::<f64>() / weight;
    let squares: f64 = values.iter().map(|(value, w)| (value - mean).powi(2) * w).sum();
    let freedom = if std == StdKind::Sample { weight - 1.0 } else { weight };
    let plain: Vec<f64> = values.iter().map(|(value, _)| *value).collect();
    let percentile = |p: f64| match by {
        Percentiles::Linear => percentile_of_sorted(&plain, p),
        Percentiles::NearestRank => nearest_rank(&values, weight, p),
    };
    let mut figures = vec![
        (Statistic::Mean, Some(mean)),
        (Statistic::Std(std), (freedom > 0.0).then(|| (squares / freedom).sqrt())),
        (Statistic::Min, Some(first.0)),
        (Statistic::Max, Some(last.0)),
        (Statistic::Median, percentile(50.0)),
    ];
    figures.extend(PERCENTILES.map(|p| (Statistic::Percentile(p), percentile(p))));
    for (statistic, value) in figures {
        if let Some(value) = value {
            push(row, quantity, statistic, value / scale, unit.clone());
        }
    }
    push(row, quantity, Statistic::Count, weight, Unit::Count);
}

/// The smallest value that a share `p` (0 to 100) of the weight does not exceed.
pub(super) fn nearest_rank(sorted: &[(f64, f64)], weight: f64, p: f64) -> Option<f64> {
    let wanted = weight * p / 100.0;
    let mut below = 0.0;
    for (value, weight) in sorted {
        below += weight;
        // A hair of room: the shares are sums of floating-point numbers.
        if below >= wanted - 1e-9 {
            return Some(*value);
        }
    }
    sorted.last().map(|(value, _)| *value)
}

/// Adds a figure by its own tool's definition.
pub(super) fn push(row: &mut Row, quantity: Metric, statistic: Statistic, value: f64, unit: Unit) {
    let figure = Figure::new(quantity, statistic, value, unit).defined(Definition::Same);
    row.figures.push(figure);
}

/// What tools count over the complete answers of a run and divide by its duration.
#[derive(Debug, Clone, Copy)]
pub(super) struct Totals {
    completed: u64,
    failed: u64,
    /// Absent unless the prompt of every complete answer was counted, or its length was requested.
    input_tokens: Option<u64>,
    /// Absent if they were neither counted nor observed.
    output_tokens: Option<u64>,
    /// Absent where nothing was answered.
    duration_s: Option<f64>,
}

impl Totals {
    /// Counts over the complete ones of what was sent, with this duration.
    pub fn of(sent: &[&RequestRecord], ok: &[&RequestRecord], duration_s: Option<f64>) -> Totals {
        Totals {
            completed: ok.len() as u64,
            failed: (sent.len() - ok.len()) as u64,
            input_tokens: ok.iter().map(|record| prompt_tokens(record).map(u64::from)).sum(),
            output_tokens: output_sum(ok),
            duration_s: duration_s.filter(|seconds| *seconds > 0.0),
        }
    }
}

/// The complete answers.
pub(super) fn complete<'a>(sent: &[&'a RequestRecord]) -> Vec<&'a RequestRecord> {
    sent.iter().copied().filter(|record| record.outcome.is_ok()).collect()
}

/// Adds counts and the rates that follow from them. Unknown values are omitted.
pub(super) fn totals(row: &mut Row, totals: Totals) {
    let value = Statistic::Value;
    let both = totals.input_tokens.zip(totals.output_tokens).map(|(input, output)| input + output);
    for (quantity, count) in [
        (Metric::RequestsOk, Some(totals.completed)),
        (Metric::RequestsFailed, Some(totals.failed)),
        (Metric::InputTokens, totals.input_tokens),
        (Metric::OutputTokens, totals.output_tokens),
    ] {
        if let Some(count) = count {
            push(row, quantity, value, count as f64, Unit::Count);
        }
    }
    let Some(seconds) = totals.duration_s else { return };
    push(row, Metric::Duration, value, seconds, Unit::S);
    for (quantity, count) in [
        (Metric::RequestRate, Some(totals.completed)),
        (Metric::InputRate, totals.input_tokens),
        (Metric::OutputRate, totals.output_tokens),
        (Metric::TotalRate, both),
    ] {
        if let Some(count) = count {
            push(row, quantity, value, count as f64 / seconds, Unit::PerS);
        }
    }
}

/// What a prompt carried, where it carried any: `of` is a number of it, above 0.
pub(super) fn carried(
    record: &RequestRecord,
    of: impl Fn(&SentMedia) -> Option<f64>,
) -> Option<f64> {
    record.media.as_ref().and_then(of).filter(|amount| *amount > 0.0)
}

/// Length of the audio in a prompt, seconds.
pub(super) fn audio_s(media: &SentMedia) -> Option<f64> {
    media.audio_ns.filter(|_| media.audios > 0).map(|ns| ns as f64 / NS_PER_S)
}

/// The sum over those whose prompts carried a kind of media; absent for none, and where one of them
/// does not tell it.
pub(super) fn sum_of(
    ok: &[&RequestRecord],
    is_carried: impl Fn(&SentMedia) -> bool,
    of: impl Fn(&RequestRecord) -> Option<f64>,
) -> Option<f64> {
    let carries = |record: &&&RequestRecord| record.media.as_ref().is_some_and(&is_carried);
    let sum = ok.iter().filter(carries).map(|record| of(record)).sum::<Option<f64>>();
    sum.filter(|sum| *sum > 0.0)
}

/// First start to last end of these requests, seconds; absent for none.
pub(super) fn duration_s(sent: &[&RequestRecord]) -> Option<f64> {
    let start_ns = sent.iter().map(|record| record.start_ns).min()?;
    let end_ns = sent.iter().map(|record| record.end_ns).max()?;
    Some(end_ns.saturating_sub(start_ns) as f64 / NS_PER_S)
}

/// Prompt tokens as tools take them: counted, else as asked; absent where neither is known.
pub(super) fn prompt_tokens(record: &RequestRecord) -> Option<u32> {
    record.prompt_tokens.map(|counted| counted.tokens).or(record.prompt_tokens_asked)
}

/// Output tokens: counted, else the number of events.
pub(super) fn output_tokens(record: &RequestRecord) -> u32 {
    record.output_tokens.map_or(record.events.len() as u32, |counted| counted.tokens)
}

/// Output tokens of complete answers; absent if they were neither counted nor observed.
pub(super) fn output_sum(ok: &[&RequestRecord]) -> Option<u64> {
    let is_told =
        |record: &&RequestRecord| record.output_tokens.is_some() || !record.events.is_empty();
    let is_known = ok.is_empty() || ok.iter().any(is_told);
    is_known.then(|| ok.iter().map(|record| u64::from(output_tokens(record))).sum())
}

/// Nanoseconds from the start of a request.
pub(super) fn since(record: &RequestRecord, at_ns: u64) -> f64 {
    at_ns.saturating_sub(record.start_ns) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use ifm_core::sheet::{Place, RowRole};

    #[test]
    fn uncounted_prompts_are_not_zero() {
        use crate::testing::{closed_loop, run};
        let mut run = run(&[2], closed_loop((0, 0), (2, 3), 0.0, (100.0, 10.0, 4)));
        let value = |run: &ifm_core::RunData, by, quantity: Metric| {
            super::super::sheet(run, by).parts[0].rows[0].value(quantity, Statistic::Value)
        };
        use super::super::Definitions;
        for by in [Definitions::Vllm, Definitions::Sglang, Definitions::Guidellm] {
            assert!(value(&run, by, Metric::InputTokens).is_some_and(|tokens| tokens > 0.0));
        }
        run.requests[2].prompt_tokens = None;
        run.requests[2].prompt_tokens_asked = None;
        for by in [Definitions::Vllm, Definitions::Sglang, Definitions::Guidellm] {
            for unknown in [Metric::InputTokens, Metric::InputRate, Metric::TotalRate] {
                assert_eq!(value(&run, by, unknown), None, "{by:?} {unknown}");
            }
            assert!(value(&run, by, Metric::OutputRate).is_some());
        }
        // Nor are tokens of whole answers.
        for record in &mut run.requests {
            record.output_tokens = None;
            record.events = Default::default();
        }
        for by in [Definitions::Vllm, Definitions::Sglang] {
            for unknown in [Metric::OutputTokens, Metric::OutputRate, Metric::PeakOutputRate] {
                assert_eq!(value(&run, by, unknown), None, "{by:?} {unknown}");
            }
        }
    }

    /// Per-request ITLs of a run of GuideLLM 0.8.1 (eight requests of 16 tokens), and what the tool
    /// made of them.
    #[test]
    fn weighted_statistics_are_those_of_guidellm() {
        let itl_ms = [
            3.657229741414388,
            4.352744420369466,
            4.489294687906901,
            4.956976572672526,
            5.0568421681722,
            5.137236913045247,
            5.345058441162109,
            5.93568483988444,
        ];
        let mut row = Row::new(RowRole::Measured, Place::default());
        let values = itl_ms.iter().map(|ms| (ms * NS_PER_MS, 15.0)).collect();
        latency(&mut row, Metric::Itl, values, StdKind::Population, Percentiles::NearestRank);
        let near = |statistic, expect: f64| {
            let value = row.value(Metric::Itl, statistic).unwrap();
            assert!((value - expect).abs() < 1e-9, "{statistic:?}: {value} {expect}");
        };
        near(Statistic::Mean, 4.86638347307841);
        near(Statistic::Std(StdKind::Population), 0.64792477606035);
        near(Statistic::Median, 4.956976572672526);
        near(Statistic::Percentile(25.0), 4.352744420369466);
        near(Statistic::Percentile(75.0), 5.137236913045247);
        near(Statistic::Percentile(90.0), 5.93568483988444);
        assert_eq!(row.value(Metric::Itl, Statistic::Count), Some(120.0));
    }
}
