//! One level as MLPerf's LoadGen (5.1) defines it, from our events, in its server scenario; and in its
//! offline scenario, where all requests were sent before the first one was answered.
//!
//! Taken over (`loadgen/results.cc`, `loadgen.cc` and `logging.cc` of mlcommons/inference): times run
//! from when a request was due, to its first and to its last token; time per output token is what lies
//! between the two over the tokens after the first; a percentile is the value at place `floor(n p)` of
//! the sorted ones, counted from 0; completed samples per second are one fewer than the samples, and
//! completed tokens per second all tokens, over the time from the first due request to the last token.
//! Offline it is all samples over the latency of the slowest one, which is that same time.
//! Each percentile comes with the early-stopping estimate, or with the number of values missing to
//! it.
//!
//! Different on purpose: only complete answers count, for LoadGen knows no failed ones; tokens are
//! counted as the run has them, where LoadGen believes the system under test. Not here: whether a
//! run is valid for MLPerf (its data sets, its accuracy and its minimum duration).

use super::rows::{complete, output_tokens, push};
use crate::stat::early_stopping;
use ifm_core::Metric;
use ifm_core::RequestRecord;
use ifm_core::sheet::{Row, Statistic, Unit};

const NS_PER_MS: f64 = 1e6;
const NS_PER_S: f64 = 1e9;
/// What LoadGen's offline scenario calls "Samples per second".
const OFFLINE: &str = "offline samples per second";
/// The percentiles that LoadGen prints.
const PERCENTILES: [f64; 6] = [50.0, 90.0, 95.0, 97.0, 99.0, 99.9];

/// Adds every figure.
pub(super) fn fill(sent: &[&RequestRecord], row: &mut Row) {
    let ok = complete(sent);
    let value = Statistic::Value;
    let tokens: u64 = ok.iter().map(|record| u64::from(output_tokens(record))).sum();
    let failed = sent.len() - ok.len();
    push(row, Metric::RequestsOk, value, ok.len() as f64, Unit::Count);
    push(row, Metric::RequestsFailed, value, failed as f64, Unit::Count);
    push(row, Metric::OutputTokens, value, tokens as f64, Unit::Count);
    let start_ns = sent.iter().map(|record| record.due_ns).min();
    let end_ns = ok.iter().filter_map(|record| record.last_token_ns()).max();
    let span_ns = start_ns.zip(end_ns).map(|(start, end)| end.saturating_sub(start));
    if let Some(seconds) = span_ns.map(|ns| ns as f64 / NS_PER_S).filter(|seconds| *seconds > 0.0) {
        let samples = ok.len().saturating_sub(1) as f64;
        push(row, Metric::Duration, value, seconds, Unit::S);
        push(row, Metric::RequestRate, value, samples / seconds, Unit::PerS);
        push(row, Metric::OutputRate, value, tokens as f64 / seconds, Unit::PerS);
        if is_offline(sent) {
            let offline = Metric::other(OFFLINE);
            push(row, offline, value, ok.len() as f64 / seconds, Unit::PerS);
        }
    }
    let mut add = |quantity: Metric, of: fn(&RequestRecord) -> Option<f64>| {
        times(row, quantity, ok.iter().filter_map(|record| of(record)).collect());
    };
    add(Metric::Ttft, ttft_ns);
    add(Metric::Tpot, tpot_ns);
    add(Metric::E2e, e2e_ns);
}

/// Whether there was one query with all samples in it, as far as a server can tell: each of several
/// requests was sent before the first one ended.
fn is_offline(sent: &[&RequestRecord]) -> bool {
    let last_start_ns = sent.iter().map(|record| record.start_ns).max();
    let first_end_ns = sent.iter().map(|record| record.end_ns).min();
    sent.len() > 1 && last_start_ns < first_end_ns
}

fn since_due(record: &RequestRecord, at_ns: u64) -> f64 {
    at_ns.saturating_sub(record.due_ns) as f64
}

fn e2e_ns(record: &RequestRecord) -> Option<f64> {
    record.last_token_ns().map(|at_ns| since_due(record, at_ns))
}

fn ttft_ns(record: &RequestRecord) -> Option<f64> {
    record.first_token_ns().filter(|_| record.streamed).map(|at_ns| since_due(record, at_ns))
}

fn tpot_ns(record: &RequestRecord) -> Option<f64> {
    let after = output_tokens(record).checked_sub(1).filter(|after| *after > 0)?;
    Some((e2e_ns(record)? - ttft_ns(record)?) / f64::from(after))
}

/// The statistics of one time, nanoseconds.
fn times(row: &mut Row, quantity: Metric, mut values: Vec<f64>) {
    values.sort_unstable_by(f64::total_cmp);
    let (Some(least), Some(most)) = (values.first(), values.last()) else { return };
    let n = values.len();
    let mean = values.iter().sum::<f64>() / n as f64;
    let mut add = |quantity: Metric, statistic, value: f64| {
        push(row, quantity, statistic, value / NS_PER_MS, Unit::Ms);
    };
    add(quantity, Statistic::Mean, mean);
    add(quantity, Statistic::Min, *least);
    add(quantity, Statistic::Max, *most);
    let estimate = Metric::other(format!("{quantity} early-stopping estimate"));
    for p in PERCENTILES {
        if let Some(value) = values.get((n as f64 * (p / 100.0)) as usize) {
            add(quantity, Statistic::percentile(p), *value);
        }
        let rank = early_stopping::rank(n as u64, p).and_then(|rank| usize::try_from(rank).ok());
        if let Some(value) = rank.and_then(|rank| values.get(n.checked_sub(rank)?)) {
            add(estimate, Statistic::percentile(p), *value);
        }
    }
    push(row, quantity, Statistic::Count, n as f64, Unit::Count);
    let missing = Metric::other(format!("requests missing to {quantity} early-stopping estimate"));
    for p in PERCENTILES {
        if let Some(more) = early_stopping::least(p).checked_sub(n as u64).filter(|more| *more > 0)
        {
            push(row, missing, Statistic::percentile(p), more as f64, Unit::Count);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Definitions, sheet};
    use crate::testing::{closed_loop, run};
    use ifm_core::Metric;
    use ifm_core::sheet::{Row, Statistic};

    /// `n` answers of 11 tokens 10 ms apart, whose first token comes 1, 2, … n ms after its due time;
    /// each was sent 5 ms late.
    fn row(n: u32) -> Row {
        let mut run = run(&[1], closed_loop((0, 0), (1, n), 1_000.0, (1.0, 10.0, 11)));
        for (index, record) in run.requests.iter_mut().enumerate() {
            record.due_ns = record.start_ns - 5_000_000;
            let late = 1_000_000 * index as u64;
            record.events.at_ns.iter_mut().for_each(|at_ns| *at_ns += late);
            record.events.at_ns.iter_mut().for_each(|at_ns| *at_ns -= 5_000_000);
            record.end_ns += late;
        }
        sheet(&run, Definitions::Mlperf).parts[0].rows[0].clone()
    }

    #[test]
    fn times_run_from_due_and_a_percentile_is_the_value_at_its_place() {
        let row = row(100);
        let value = |quantity: Metric, statistic| row.value(quantity, statistic);
        let near = |found: Option<f64>, expect: f64| {
            assert!(found.is_some_and(|found| (found - expect).abs() < 1e-6), "{found:?} {expect}");
        };
        near(value(Metric::Ttft, Statistic::Min), 1.0);
        // Place 99 of 100, counted from 0: the largest.
        near(value(Metric::Ttft, Statistic::Percentile(99.0)), 100.0);
        near(value(Metric::Ttft, Statistic::Median), 51.0);
        near(value(Metric::Tpot, Statistic::Mean), 10.0);
        near(value(Metric::E2e, Statistic::Max), 200.0);
        near(value(Metric::OutputTokens, Statistic::Value), 1100.0);
        // Requests begin every 101 ms; the last one, at 10,999 ms, has its last token 195 ms later, and
        // the first one was due at 995 ms.
        near(value(Metric::Duration, Statistic::Value), 10_199.0);
        near(value(Metric::OutputRate, Statistic::Value), 1100.0 / 10.199);
        near(value(Metric::RequestRate, Statistic::Value), 99.0 / 10.199);
    }

    #[test]
    fn offline_all_samples_are_divided_by_the_slowest() {
        // Each answer takes 200 ms; of four users at once, or one after the other.
        let samples = |users: u32, rounds: u32| {
            let run = run(&[4], closed_loop((0, 0), (users, rounds), 0.0, (100.0, 10.0, 11)));
            let row = sheet(&run, Definitions::Mlperf).parts[0].rows[0].clone();
            row.value(Metric::other(super::OFFLINE), Statistic::Value)
        };
        assert_eq!(samples(4, 1), Some(20.0));
        assert_eq!((samples(1, 4), samples(4, 2), samples(1, 1)), (None, None, None));
    }

    #[test]
    fn reports_the_estimate_or_how_many_values_are_missing() {
        let row = row(100);
        let of = |text: &str, p| {
            let quantity = Metric::other(text);
            row.value(quantity, Statistic::percentile(p))
        };
        let estimate = format!("{} early-stopping estimate", Metric::Ttft);
        // Of 100 values the estimate of P90 is the third highest: 1, 2, 3 above have a chance of
        // 0.03 %, 0.19 % and 0.78 % or less, 4 of 2.4 %.
        assert_eq!(of(&estimate, 90.0), Some(98.0));
        assert_eq!(of(&estimate, 99.0), None);
        let missing = format!("requests missing to {} early-stopping estimate", Metric::Ttft);
        assert_eq!((of(&missing, 90.0), of(&missing, 99.0)), (None, Some(562.0)));
    }
}
