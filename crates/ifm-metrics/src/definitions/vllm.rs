//! One level as `vllm bench serve` (Python, 0.33) defines it, from our events.
//!
//! Taken over: latencies are over complete answers; E2EL is start to last token and TPOT is
//! `(E2EL - TTFT) / (n - 1)` for n > 1; ITL is one value per gap between token-bearing events of a
//! request, regardless of its choices; the duration is the first start to the last end, ramp and drain
//! included, and all rates divide by it; percentiles interpolate linearly. The peak of output
//! throughput counts events, not tokens, in buckets of one second from the first start; the peak
//! of concurrent requests counts every request that touches a bucket, so requests one after the
//! other within a second add up; RTFx is the audio of complete answers over that duration
//! (`calculate_metrics` in `vllm/benchmarks/serve.py`).
//!
//! Different on purpose: which answers are complete (vLLM also takes a stream that broke off, or
//! an error inside the stream, for a success); a number that is not defined is absent, where vLLM
//! prints zero; a count that is missing is the number of events, where vLLM runs a tokenizer; RTFx
//! is of any prompt with audio, where vLLM has it of transcriptions alone.

use super::rows::{
    self, Percentiles, Totals, complete, output_tokens, prompt_tokens, push, since, totals,
};
use crate::level::LevelSummary;
use crate::stat::quantile::percentile_of_sorted;
use crate::stat::{Distribution, Population};
use crate::tpot::is_one_sequence;
use ifm_core::Metric;
use ifm_core::sheet::{Row, Statistic, StdKind, Unit};
use ifm_core::{Outcome, RequestRecord};

/// Percentiles of the block.
pub const PERCENTILES: [f64; 3] = [50.0, 90.0, 99.0];
const NS_PER_S: u64 = 1_000_000_000;
const NS_PER_S_FLOAT: f64 = 1e9;
const NS_PER_MS: f64 = 1e6;
/// Buckets are kept for at most this many seconds, about a month.
const SECONDS_MAX: u64 = 2_700_000;

/// One latency of the block.
#[derive(Debug, Clone, PartialEq)]
pub struct VllmLatency {
    /// Mean, milliseconds.
    pub mean_ms: f64,
    /// Median, milliseconds.
    pub median_ms: f64,
    /// Percentile and value in milliseconds.
    pub percentiles_ms: Vec<(f64, f64)>,
}

/// The block of one level. A latency that no request has is absent.
#[derive(Debug, Clone, PartialEq)]
pub struct VllmSummary {
    /// Complete answers.
    pub completed: u64,
    /// Requests sent that did not complete.
    pub failed: u64,
    /// Requested number of requests in flight.
    pub max_concurrency: Option<u32>,
    /// First start to last end, seconds.
    pub duration_s: f64,
    /// Prompt tokens of the complete answers; uncounted prompts by their asked length. Absent where
    /// a prompt has neither.
    pub total_input_tokens: Option<u64>,
    /// Output tokens of the complete answers; absent if they were neither counted nor observed.
    pub total_output_tokens: Option<u64>,
    /// Complete answers per second.
    pub request_throughput: f64,
    /// Complete answers per second that met the latency target; absent without one.
    pub request_goodput: Option<f64>,
    /// Output tokens of complete answers per second; absent likewise.
    pub output_throughput: Option<f64>,
    /// Most token-bearing events in one second; absent likewise.
    pub peak_output_throughput: Option<f64>,
    /// Most requests that touched one second.
    pub peak_concurrent_requests: f64,
    /// Seconds of audio in the prompts of complete answers per second; absent without audio, and where
    /// the length of one is not known.
    pub rtfx: Option<f64>,
    /// Input and output tokens per second; absent with either.
    pub total_token_throughput: Option<f64>,
    /// Time to first token.
    pub ttft: Option<VllmLatency>,
    /// Time per output token.
    pub tpot: Option<VllmLatency>,
    /// Gap between events.
    pub itl: Option<VllmLatency>,
    /// Start to last token.
    pub e2el: Option<VllmLatency>,
}

/// Gaps between events whatever their choice.
struct Gaps<'a>(&'a [&'a RequestRecord]);

impl Population for Gaps<'_> {
    fn visit(&self, mut each: impl FnMut(u64)) {
        for record in self.0 {
            for pair in record.events.at_ns.windows(2) {
                if let [before, after] = pair {
                    each(after.saturating_sub(*before));
                }
            }
        }
    }
}

/// Computes the block of one level from its measured requests, which `level` summarizes; absent if
/// nothing was sent.
pub fn summarize(level: &LevelSummary, measured: &[&RequestRecord]) -> Option<VllmSummary> {
    summarize_at(level, measured, &PERCENTILES)
}

/// The same with these percentiles of the latencies.
pub fn summarize_at(
    level: &LevelSummary,
    measured: &[&RequestRecord],
    percentiles: &[f64],
) -> Option<VllmSummary> {
    let sent: Vec<&RequestRecord> =
        measured.iter().copied().filter(|record| record.outcome != Outcome::Dropped).collect();
    let start_ns = sent.iter().map(|record| record.start_ns).min()?;
    let end_ns = sent.iter().map(|record| record.end_ns).max()?;
    let duration_s = end_ns.saturating_sub(start_ns) as f64 / NS_PER_S_FLOAT;
    let ok: Vec<&RequestRecord> =
        sent.iter().copied().filter(|record| record.outcome.is_ok()).collect();
    let input: Option<u64> = ok.iter().map(|record| prompt_tokens(record).map(u64::from)).sum();
    let output = rows::output_sum(&ok);
    let per_s = |count: f64| if duration_s > 0.0 { count / duration_s } else { 0.0 };
    let (peak_events, peak_requests) = peaks(&ok);
    Some(VllmSummary {
        completed: ok.len() as u64,
        failed: (sent.len() - ok.len()) as u64,
        max_concurrency: level.concurrency_asked(),
        duration_s,
        total_input_tokens: input,
        total_output_tokens: output,
        request_throughput: per_s(ok.len() as f64),
        request_goodput: level.goodput.map(|goodput| per_s(goodput.good as f64)),
        output_throughput: output.map(|output| per_s(output as f64)),
        peak_output_throughput: output.map(|_| peak_events as f64),
        peak_concurrent_requests: peak_requests as f64,
        rtfx: audio_s(&ok).map(per_s).filter(|rtfx| *rtfx > 0.0),
        total_token_throughput: input
            .zip(output)
            .map(|(input, output)| per_s((input + output) as f64)),
        ttft: first_tokens(level, &ok, percentiles),
        tpot: latency(&ok, percentiles, tpot_ns),
        itl: gaps(level, &ok, percentiles),
        e2el: latency(&ok, percentiles, |record| {
            record.last_token_ns().map(|at| since(record, at))
        }),
    })
}

/// Seconds of audio in their prompts.
fn audio_s(ok: &[&RequestRecord]) -> Option<f64> {
    rows::sum_of(ok, |media| media.audios > 0, |record| rows::audio_s(record.media.as_ref()?))
}

/// Adds every figure to the row of a sheet.
pub(super) fn fill(
    level: &LevelSummary,
    sent: &[&RequestRecord],
    percentiles: &[f64],
    row: &mut Row,
) {
    let Some(summary) = summarize(level, sent) else { return };
    totals(row, Totals::of(sent, &complete(sent), Some(summary.duration_s)));
    let value = Statistic::Value;
    if let Some(peak) = summary.peak_output_throughput {
        push(row, Metric::PeakOutputRate, value, peak, Unit::PerS);
    }
    push(row, Metric::PeakInFlight, value, summary.peak_concurrent_requests, Unit::Count);
    if let Some(goodput) = summary.request_goodput {
        push(row, Metric::Goodput, value, goodput, Unit::PerS);
    }
    if let Some(rtfx) = summary.rtfx {
        push(row, Metric::LevelRtfx, value, rtfx, Unit::One);
    }
    let ok = || sent.iter().copied().filter(|record| record.outcome.is_ok());
    let mut add = |quantity: Metric, mut values: Vec<f64>| {
        values.sort_unstable_by(f64::total_cmp);
        for p in percentiles {
            if let Some(value) = percentile_of_sorted(&values, *p) {
                push(row, quantity, Statistic::Percentile(*p), value / NS_PER_MS, Unit::Ms);
            }
        }
        let values = values.into_iter().map(|value| (value, 1.0)).collect();
        rows::latency(row, quantity, values, StdKind::Population, Percentiles::Linear);
    };
    let first = |record: &RequestRecord| {
        record.first_token_ns().filter(|_| record.streamed).map(|at| since(record, at))
    };
    add(Metric::Ttft, ok().filter_map(first).collect());
    add(Metric::Tpot, ok().filter_map(tpot_ns).collect());
    let streamed: Vec<&RequestRecord> = ok().filter(|record| record.streamed).collect();
    let mut gaps = Vec::new();
    Gaps(&streamed).visit(|gap| gaps.push(gap as f64));
    add(Metric::Itl, gaps);
    let last = |record: &RequestRecord| record.last_token_ns().map(|at| since(record, at));
    add(Metric::E2e, ok().filter_map(last).collect());
}

fn tpot_ns(record: &RequestRecord) -> Option<f64> {
    let n = output_tokens(record);
    if n < 2 || !record.streamed {
        return None;
    }
    let span = record.last_token_ns()?.saturating_sub(record.first_token_ns()?);
    Some(span as f64 / f64::from(n - 1))
}

fn latency(
    ok: &[&RequestRecord],
    percentiles: &[f64],
    value: impl Fn(&RequestRecord) -> Option<f64>,
) -> Option<VllmLatency> {
    let values = ok.iter().filter_map(|record| value(record)).collect();
    let found = Distribution::from_values(values, &with_median(percentiles));
    found.as_ref().and_then(|found| in_ms(found, percentiles))
}

/// Times to first tokens; the level has the usual percentiles.
fn first_tokens(
    level: &LevelSummary,
    ok: &[&RequestRecord],
    percentiles: &[f64],
) -> Option<VllmLatency> {
    match percentiles.iter().all(|p| PERCENTILES.contains(p)) {
        true => {
            let found = level.latencies_of_all().get(Metric::Ttft);
            found.and_then(|found| in_ms(found, percentiles))
        }
        false => {
            let first = |record: &RequestRecord| record.first_token_ns();
            latency(ok, percentiles, |record| first(record).map(|at| since(record, at)))
        }
    }
}

/// The gaps of all choices of a request as one sequence. For requests with one choice each they
/// are those that the level has.
fn gaps(level: &LevelSummary, ok: &[&RequestRecord], percentiles: &[f64]) -> Option<VllmLatency> {
    let streamed: Vec<&RequestRecord> =
        ok.iter().copied().filter(|record| record.streamed).collect();
    let has_all = percentiles.iter().all(|p| PERCENTILES.contains(p));
    let found = match has_all && streamed.iter().all(|record| is_one_sequence(record)) {
        true => level.latencies_of_all().get(Metric::Itl).cloned(),
        false => Distribution::from_population(&Gaps(&streamed), 1.0, &with_median(percentiles)),
    };
    found.as_ref().and_then(|found| in_ms(found, percentiles))
}

/// These percentiles and the median, rising.
fn with_median(percentiles: &[f64]) -> Vec<f64> {
    let mut all = [percentiles, &[50.0]].concat();
    all.sort_unstable_by(f64::total_cmp);
    all.dedup();
    all
}

/// Absent without the median, which the block always prints.
fn in_ms(distribution: &Distribution, percentiles: &[f64]) -> Option<VllmLatency> {
    let percentiles = percentiles.iter().filter_map(|p| distribution.percentile(*p));
    Some(VllmLatency {
        mean_ms: distribution.mean / NS_PER_MS,
        median_ms: distribution.median()? / NS_PER_MS,
        percentiles_ms: percentiles
            .map(|percentile| (percentile.p, percentile.value / NS_PER_MS))
            .collect(),
    })
}

/// The most events, and the most requests, in one bucket of a second.
fn peaks(ok: &[&RequestRecord]) -> (u64, u64) {
    let Some(origin) = ok.iter().map(|record| record.start_ns).min() else { return (0, 0) };
    let second = |at_ns: u64| (at_ns.saturating_sub(origin) / NS_PER_S).min(SECONDS_MAX) as usize;
    let last = ok.iter().map(|record| second(end_of(record))).max().unwrap_or(0);
    let mut events = vec![0u64; last + 1];
    // Changes of the number of requests from one bucket to the next, added up at the end.
    let mut changes = vec![0i64; last + 2];
    for record in ok {
        for at_ns in &record.events.at_ns {
            if let Some(count) = events.get_mut(second(*at_ns)) {
                *count += 1;
            }
        }
        if let Some(change) = changes.get_mut(second(record.start_ns)) {
            *change += 1;
        }
        if let Some(change) = changes.get_mut(second(end_of(record)) + 1) {
            *change -= 1;
        }
    }
    let mut now = 0;
    let mut most = 0;
    for change in changes {
        now += change;
        most = most.max(now);
    }
    (events.into_iter().max().unwrap_or(0), most.unsigned_abs())
}

fn end_of(record: &RequestRecord) -> u64 {
    record.last_token_ns().unwrap_or(record.end_ns)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{failed, request, run};
    use ifm_core::RunData;

    fn block(run: &RunData) -> Option<VllmSummary> {
        let measured = crate::level::measured_by_level(&run.requests);
        let level = crate::summarize(run).levels.into_iter().next()?;
        summarize(&level, measured.get(&0)?)
    }

    #[test]
    fn computes_three_sequential_requests() {
        let mut requests = vec![
            request(0, 0, 0, 0.0, &[100.0, 120.0, 140.0]),
            request(1, 0, 0, 200.0, &[110.0, 140.0, 150.0]),
            request(2, 0, 0, 1000.0, &[100.0]),
            failed(3, 0, 0, 1100.0, 900.0),
        ];
        requests[2].events.choice = vec![0];
        let summary = block(&run(&[1], requests)).expect("requests");
        assert_eq!((summary.completed, summary.failed), (3, 1));
        assert_eq!(summary.max_concurrency, Some(1));
        assert_eq!(summary.duration_s, 2.0);
        assert_eq!((summary.total_input_tokens, summary.total_output_tokens), (Some(300), Some(7)));
        assert_eq!(summary.request_throughput, 1.5);
        assert_eq!(summary.output_throughput, Some(3.5));
        assert_eq!(summary.total_token_throughput, Some(153.5));
        // Six events and two requests in the first second, though never two at once.
        assert_eq!(summary.peak_output_throughput, Some(6.0));
        assert_eq!(summary.peak_concurrent_requests, 2.0);
        let ttft = summary.ttft.expect("tokens");
        assert!((ttft.mean_ms - 310.0 / 3.0).abs() < 1e-9);
        assert_eq!(ttft.median_ms, 100.0);
        assert!((ttft.percentiles_ms[1].1 - 108.0).abs() < 1e-9);
        // 40 / 2 and 40 / 2.
        assert_eq!(summary.tpot.expect("two requests").mean_ms, 20.0);
        // 20, 20, 30, 10.
        let itl = summary.itl.expect("gaps");
        assert_eq!((itl.mean_ms, itl.median_ms), (20.0, 20.0));
        assert_eq!(summary.e2el.expect("tokens").median_ms, 140.0);
        // TTFT at most 500 ms and ITL at most 50 ms hold on all three.
        assert_eq!(summary.request_goodput, Some(1.5));
    }

    #[test]
    fn the_median_is_one_whatever_percentiles_are_asked_for() {
        // 100, 100 and 400 ms to the first token; 20, 20 and 50 ms from token to token.
        let records = vec![
            request(0, 0, 0, 0.0, &[100.0, 120.0]),
            request(1, 0, 0, 500.0, &[100.0, 120.0]),
            request(2, 0, 0, 1000.0, &[400.0, 450.0]),
        ];
        let run = run(&[1], records);
        let summary = crate::summarize(&run);
        let measured: Vec<&RequestRecord> = run.requests.iter().collect();
        for asked in [&[99.0][..], &[99.5], &[50.0, 99.0]] {
            let block = summarize_at(&summary.levels[0], &measured, asked).expect("requests");
            let medians = [block.ttft, block.tpot, block.itl, block.e2el]
                .map(|found| found.expect("answers").median_ms);
            assert_eq!(medians, [100.0, 20.0, 20.0, 120.0], "{asked:?}");
        }
    }

    #[test]
    fn a_level_without_an_answer_has_no_latencies() {
        let run = run(&[1], vec![failed(0, 0, 0, 0.0, 100.0)]);
        let summary = block(&run).expect("a request");
        assert_eq!((summary.completed, summary.failed), (0, 1));
        assert!(summary.ttft.is_none() && summary.itl.is_none());
    }

    #[test]
    fn the_choices_of_a_request_are_one_sequence() {
        let mut record = request(0, 0, 0, 0.0, &[100.0, 110.0, 120.0, 140.0]);
        record.choices = 2;
        record.events.choice = vec![0, 1, 0, 1];
        // 10, 10 and 20; by choice it would be 20 and 30.
        let itl = block(&run(&[1], vec![record])).expect("a request").itl.expect("gaps");
        assert_eq!((itl.median_ms, itl.mean_ms), (10.0, 40.0 / 3.0));
    }
}
