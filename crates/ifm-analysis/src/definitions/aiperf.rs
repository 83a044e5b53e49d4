//! One level as AIPerf (0.13) defines it, from our events.
//!
//! Taken over: ITL is one value per request, the time from first to last content over the tokens
//! after the first; latency ends with the last content; deviations are those of a population;
//! percentiles are linear; the duration runs from the first start to the last content.
//!
//! Different on purpose: tokens are counted as the run has them, where AIPerf runs a tokenizer over
//! the text unless told otherwise.

use super::rows::{Percentiles, Totals, complete, latency, output_tokens, since, totals};
use ifm_core::RequestRecord;
use ifm_core::sheet::{Quantity, Row, StdKind};

/// Adds every figure.
pub(super) fn fill(sent: &[&RequestRecord], row: &mut Row) {
    let ok = complete(sent);
    let start_ns = ok.iter().map(|record| record.start_ns).min();
    let end_ns = ok.iter().filter_map(|record| record.last_token_ns()).max();
    let span_ns = start_ns.zip(end_ns).map(|(start, end)| end.saturating_sub(start));
    totals(row, Totals::of(sent, &ok, span_ns.map(|ns| ns as f64 / 1e9)));
    let mut add = |quantity: &Quantity, of: fn(&RequestRecord) -> Option<f64>| {
        let values = ok.iter().filter_map(|record| Some((of(record)?, 1.0))).collect();
        latency(row, quantity, values, StdKind::Population, Percentiles::Linear);
    };
    add(&Quantity::Ttft, |record| ttft(record, record.first_token_ns()));
    add(&Quantity::Ttfot, |record| ttft(record, record.first_answer_ns));
    add(&Quantity::E2e, |record| record.last_token_ns().map(|at| since(record, at)));
    add(&Quantity::Itl, itl);
}

fn ttft(record: &RequestRecord, at_ns: Option<u64>) -> Option<f64> {
    at_ns.filter(|_| record.streamed).map(|at| since(record, at))
}

fn itl(record: &RequestRecord) -> Option<f64> {
    let first_tokens = record.first_event_tokens.unwrap_or(1);
    let after = output_tokens(record).checked_sub(first_tokens).filter(|n| *n > 0)?;
    let first_ns = record.first_token_ns().filter(|_| record.streamed)?;
    let span = record.last_token_ns()?.saturating_sub(first_ns) as f64;
    Some(span / f64::from(after))
}
