//! One level as genai-bench (0.0.5) defines it, from our events.
//!
//! Taken over: a request ends with the last line of the stream, whatever it says; its output
//! latency is that end less the first token, and TPOT, output throughput and "inference speed" of a
//! request divide it by the tokens after the first; a request whose output took less than a
//! millisecond has neither TPOT nor speed; input throughput of a request is its prompt over its
//! TTFT; standard deviations are of a population, percentiles linear; rates divide the totals of
//! complete answers by the whole duration (`metrics/request_metrics_collector.py`,
//! `aggregated_metrics_collector.py`).
//!
//! Different on purpose: which answers are complete; tokens are counted as the run has them, while
//! the tool runs a tokenizer unless the server reported the count; the duration is the first start
//! to the last end, while the tool checks each second whether enough were sent, and includes that
//! wait.

use super::rows::{Percentiles, Totals, complete, duration_s, output_tokens, population};
use super::rows::{prompt_tokens, push, since, totals};
use ifm_core::Metric;
use ifm_core::RequestRecord;
use ifm_core::sheet::{Row, Statistic, StdKind, Unit, meaning};

const NS_PER_S: f64 = 1e9;
const NS_PER_MS: f64 = 1e6;
/// Output that took less is too short for a speed, nanoseconds.
const SHORT_NS: f64 = 1e6;

/// A value of one request.
type Of = fn(&RequestRecord) -> Option<f64>;

/// Adds every figure.
pub(super) fn fill(sent: &[&RequestRecord], row: &mut Row) {
    let ok = complete(sent);
    totals(row, Totals::of(sent, &ok, duration_s(sent)));
    let other = |name: &str| Metric::other(name);
    let ms = || (NS_PER_MS, Unit::Ms);
    let per_s = || (1.0, Unit::PerS);
    let count = || (1.0, Unit::Count);
    let values: [(Metric, (f64, Unit), Of); 11] = [
        (Metric::Ttft, ms(), ttft_ns),
        (Metric::E2e, ms(), |record| Some(since(record, end_ns(record)?))),
        (other(meaning::OUTPUT_LATENCY), ms(), output_ns),
        (Metric::Tpot, ms(), tpot_ns),
        (Metric::UserSpeed, per_s(), |record| Some(NS_PER_S / tpot_ns(record)?)),
        (other(meaning::OUTPUT_OF_A_REQUEST), per_s(), |record| {
            Some(f64::from(behind_the_first(record)?) * NS_PER_S / above_zero(output_ns(record)?)?)
        }),
        (other(meaning::INPUT_OF_A_REQUEST), per_s(), |record| {
            Some(f64::from(prompt_tokens(record)?) * NS_PER_S / above_zero(ttft_ns(record)?)?)
        }),
        (Metric::InputTokens, count(), |record| prompt_tokens(record).map(f64::from)),
        (Metric::OutputTokens, count(), output),
        (Metric::ReasoningTokens, count(), |record| record.reasoning_tokens.map(f64::from)),
        (Metric::TotalTokens, count(), |record| {
            Some(f64::from(prompt_tokens(record)?) + output(record)?)
        }),
    ];
    for (quantity, (scale, unit), of) in values {
        let values: Vec<f64> = ok.iter().filter_map(|record| of(record)).collect();
        let sum = values.iter().sum::<f64>();
        let by = (StdKind::Population, Percentiles::Linear);
        let is_any = !values.is_empty();
        let weighted = values.into_iter().map(|value| (value, 1.0)).collect();
        population(row, quantity, weighted, by, (scale, &unit));
        if is_any {
            push(row, quantity, Statistic::Sum, sum / scale, unit);
        }
    }
}

/// When the stream ended; of an answer without one, its last token.
pub(super) fn end_ns(record: &RequestRecord) -> Option<u64> {
    record.stream_end_ns.or(record.last_token_ns())
}

fn ttft_ns(record: &RequestRecord) -> Option<f64> {
    record.first_token_ns().filter(|_| record.streamed).map(|at| since(record, at))
}

fn output_ns(record: &RequestRecord) -> Option<f64> {
    Some(since(record, end_ns(record)?) - ttft_ns(record)?)
}

/// Output tokens, if they were counted or observed.
fn output(record: &RequestRecord) -> Option<f64> {
    let is_told = record.output_tokens.is_some() || !record.events.is_empty();
    is_told.then(|| f64::from(output_tokens(record)))
}

fn behind_the_first(record: &RequestRecord) -> Option<u32> {
    output_tokens(record).checked_sub(1).filter(|tokens| *tokens > 0)
}

fn tpot_ns(record: &RequestRecord) -> Option<f64> {
    let span = output_ns(record).filter(|ns| *ns >= SHORT_NS)?;
    Some(span / f64::from(behind_the_first(record)?))
}

fn above_zero(value: f64) -> Option<f64> {
    Some(value).filter(|value| *value > 0.0)
}

#[cfg(test)]
mod tests {
    use super::super::{Definitions, sheet};
    use crate::testing::{MS, closed_loop, run};
    use ifm_core::Metric;
    use ifm_core::sheet::{Statistic, meaning};

    /// 2 users, 3 requests each of 4 tokens: TTFT 100 ms, gaps 10 ms, the stream ends 20 ms later; one
    /// answer came in one piece.
    #[test]
    fn a_request_ends_with_its_stream_and_a_short_one_has_no_speed() {
        let mut run = run(&[2], closed_loop((0, 0), (2, 3), 0.0, (100.0, 10.0, 4)));
        for record in &mut run.requests {
            record.stream_end_ns = record.last_token_ns().map(|at| at + 20 * MS);
        }
        let short = &mut run.requests[0];
        short.events.at_ns = vec![short.start_ns + 100 * MS; 4];
        short.stream_end_ns = short.last_token_ns().map(|at| at + MS / 2);
        let sheet = sheet(&run, Definitions::GenaiBench);
        let row = &sheet.parts[0].rows[0];
        let value = |quantity: Metric, statistic| row.value(quantity, statistic);
        let near = |value: Option<f64>, expect: f64| {
            assert!(value.is_some_and(|value| (value - expect).abs() < 1e-6), "{value:?} {expect}");
        };
        near(value(Metric::E2e, Statistic::Max), 150.0);
        near(value(Metric::E2e, Statistic::Min), 100.5);
        near(value(Metric::Tpot, Statistic::Mean), 50.0 / 3.0);
        near(value(Metric::Tpot, Statistic::Count), 5.0);
        near(value(Metric::UserSpeed, Statistic::Median), 60.0);
        near(value(Metric::OutputTokens, Statistic::Sum), 24.0);
        let other = |name: &str| Metric::other(name);
        near(value(other(meaning::OUTPUT_LATENCY), Statistic::Median), 50.0);
        near(value(other(meaning::OUTPUT_OF_A_REQUEST), Statistic::Median), 60.0);
        // Three tokens in half a millisecond: reported as it is.
        near(value(other(meaning::OUTPUT_OF_A_REQUEST), Statistic::Max), 6000.0);
        assert_eq!(value(Metric::ReasoningTokens, Statistic::Mean), None, "not reported");
        assert_eq!(row.requests[0].e2e_ms, Some(100.5));
    }
}
