//! One level as GuideLLM (0.8) defines it, from our events.
//!
//! Taken over: ITL is one value per request, last token minus first over the tokens after the
//! first, and its statistics weigh a request by those tokens; TPOT is the whole time to the last
//! token over all tokens, so that it holds the TTFT; a request's latency ends with its stream;
//! percentiles are of nearest rank; deviations are those of a population.
//!
//! Different on purpose: which answers are complete; times are monotonic; rates are counts over the
//! whole time, where GuideLLM spreads the tokens of a request evenly over its time and counts
//! incomplete requests too.

use super::rows::{Percentiles, Totals, complete, duration_s, latency, output_tokens, push};
use super::rows::{since, totals};
use ifm_core::RequestRecord;
use ifm_core::sheet::{Quantity, Row, Statistic, StdKind, Unit};

/// Adds every figure.
pub(super) fn fill(sent: &[&RequestRecord], row: &mut Row) {
    let ok = complete(sent);
    let seconds = duration_s(sent);
    totals(row, Totals::of(sent, &ok, seconds));
    let mut add = |quantity: &Quantity, of: fn(&RequestRecord) -> Option<(f64, f64)>| {
        let values = ok.iter().filter_map(|record| of(record)).collect();
        latency(row, quantity, values, StdKind::Population, Percentiles::NearestRank);
    };
    add(&Quantity::E2e, e2e);
    add(&Quantity::Ttft, |record| ttft(record, record.first_token_ns()));
    add(&Quantity::Ttfot, |record| ttft(record, record.first_answer_ns));
    add(&Quantity::Itl, itl);
    add(&Quantity::Tpot, tpot);
    let busy_ns: f64 = ok.iter().filter_map(|record| e2e(record)).map(|(ns, _)| ns).sum();
    if let Some(seconds) = seconds.filter(|seconds| *seconds > 0.0) {
        let in_flight = busy_ns / 1e9 / seconds;
        push(row, &Quantity::InFlight, Statistic::Mean, in_flight, Unit::Count);
    }
}

fn e2e(record: &RequestRecord) -> Option<(f64, f64)> {
    let end_ns = record.stream_end_ns.or(record.last_token_ns())?;
    Some((since(record, end_ns), 1.0))
}

fn ttft(record: &RequestRecord, at_ns: Option<u64>) -> Option<(f64, f64)> {
    Some((since(record, at_ns.filter(|_| record.streamed)?), 1.0))
}

fn itl(record: &RequestRecord) -> Option<(f64, f64)> {
    let after_first = f64::from(output_tokens(record).checked_sub(1).filter(|n| *n > 0)?);
    let first_ns = record.first_token_ns().filter(|_| record.streamed)?;
    let span = record.last_token_ns()?.saturating_sub(first_ns) as f64;
    Some((span / after_first, after_first))
}

fn tpot(record: &RequestRecord) -> Option<(f64, f64)> {
    let tokens = f64::from(output_tokens(record));
    let span = since(record, record.last_token_ns()?);
    (tokens > 0.0).then(|| (span / tokens, tokens))
}
