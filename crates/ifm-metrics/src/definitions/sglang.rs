//! One level as SGLang's `bench_serving` (Python, 0.5) defines it, from our events.
//!
//! Taken over: a request ends with the last line of the stream, whatever it says, so that E2E and
//! TPOT include what comes after the last token; ITL is one value per gap between pieces; latencies
//! are over complete answers; standard deviations are of a population; "Concurrency" is the sum of
//! all end-to-end times over the duration; vision tokens are image and video tokens, and all others
//! of a prompt are text.
//!
//! Different on purpose: which answers are complete, and token counts, for which SGLang uses the
//! requested length if the server reports none; the duration ends with the last answer, while
//! SGLang's also includes a query to the server; vision tokens are reported by the server or found
//! with a pair of requests, while SGLang's client runs the model's processor.

use super::rows::{Percentiles, Totals, complete, duration_s, latency, output_tokens, push};
use super::rows::{since, sum_of, totals};
use ifm_core::Metric;
use ifm_core::sheet::{Row, Statistic, StdKind, Unit};
use ifm_core::{Counted, RequestRecord, SentMedia};

/// Adds every figure.
pub(super) fn fill(sent: &[&RequestRecord], row: &mut Row) {
    let ok = complete(sent);
    let seconds = duration_s(sent);
    totals(row, Totals::of(sent, &ok, seconds));
    if let Some((text, vision)) = by_kind(&ok) {
        push(row, Metric::TextTokens, Statistic::Value, text, Unit::Count);
        push(row, Metric::ImageTokens, Statistic::Value, vision, Unit::Count);
    }
    let mut add = |quantity: Metric, values: Vec<f64>| {
        let values = values.into_iter().map(|value| (value, 1.0)).collect();
        latency(row, quantity, values, StdKind::Population, Percentiles::Linear);
    };
    let e2e: Vec<f64> = ok.iter().filter_map(|record| e2e_ns(record)).collect();
    add(Metric::Ttft, ok.iter().filter_map(|record| ttft_ns(record)).collect());
    add(Metric::E2e, e2e.clone());
    add(Metric::Tpot, ok.iter().filter_map(|record| tpot_ns(record)).collect());
    add(Metric::Itl, ok.iter().flat_map(|record| gaps_ns(record)).collect());
    if let Some(seconds) = seconds.filter(|seconds| *seconds > 0.0) {
        let in_flight = e2e.iter().sum::<f64>() / 1e9 / seconds;
        push(row, Metric::InFlight, Statistic::Mean, in_flight, Unit::Count);
    }
}

/// Tokens of text and of vision; absent without an image or a video, and where one answer does not
/// tell them.
fn by_kind(ok: &[&RequestRecord]) -> Option<(f64, f64)> {
    let is_seen = |media: &SentMedia| media.images + media.videos > 0;
    let vision = |record: &RequestRecord| {
        let media = record.media.as_ref()?;
        let told = |number: u32, tokens: Option<Counted>| match number {
            0 => Some(0.0),
            _ => tokens.map(|counted| f64::from(counted.tokens)),
        };
        Some(told(media.images, record.image_tokens)? + told(media.videos, record.video_tokens)?)
    };
    let vision = sum_of(ok, is_seen, vision)?;
    let tokens = |record: &&RequestRecord| record.prompt_tokens.map(|counted| counted.tokens);
    let all: Option<f64> = ok.iter().map(tokens).map(|tokens| tokens.map(f64::from)).sum();
    all.filter(|all| *all >= vision).map(|all| (all - vision, vision))
}

fn e2e_ns(record: &RequestRecord) -> Option<f64> {
    let end_ns = record.stream_end_ns.or(record.last_token_ns())?;
    Some(since(record, end_ns))
}

fn ttft_ns(record: &RequestRecord) -> Option<f64> {
    record.first_token_ns().filter(|_| record.streamed).map(|at| since(record, at))
}

fn tpot_ns(record: &RequestRecord) -> Option<f64> {
    let n = output_tokens(record);
    let span = e2e_ns(record)? - ttft_ns(record)?;
    (n > 1).then(|| span / f64::from(n - 1))
}

/// Gaps between pieces of an answer, nanoseconds.
fn gaps_ns(record: &RequestRecord) -> Vec<f64> {
    let stamps = if record.streamed { record.events.at_ns.as_slice() } else { &[] };
    let gap = |pair: &[u64]| Some(pair.last()?.saturating_sub(*pair.first()?) as f64);
    stamps.windows(2).filter_map(gap).collect()
}

#[cfg(test)]
mod tests {
    use super::super::{Definitions, sheet};
    use crate::testing::{closed_loop, run, sound_images};
    use ifm_core::Metric;
    use ifm_core::sheet::Statistic;

    /// 120 prompts of 419 tokens, 299 of them of an image.
    #[test]
    fn what_is_not_of_an_image_is_text() {
        let mut run = sound_images();
        let value = |run: &ifm_core::RunData, quantity| {
            sheet(run, Definitions::Sglang).parts[0].rows[0].value(quantity, Statistic::Value)
        };
        assert_eq!(value(&run, Metric::ImageTokens), Some(120.0 * 299.0));
        assert_eq!(value(&run, Metric::TextTokens), Some(120.0 * 120.0));
        run.requests[7].image_tokens = None;
        assert_eq!(value(&run, Metric::ImageTokens), None, "one did not tell");
        assert_eq!(value(&run, Metric::TextTokens), None);
    }

    /// 2 users, 3 requests each of 4 tokens: TTFT 100 ms, gaps 10 ms, the stream ends 20 ms later.
    #[test]
    fn the_end_of_the_stream_is_in_latency_and_tpot() {
        let mut run = run(&[2], closed_loop((0, 0), (2, 3), 0.0, (100.0, 10.0, 4)));
        for record in &mut run.requests {
            record.stream_end_ns = record.last_token_ns().map(|at| at + 20_000_000);
        }
        let value = |by, quantity: Metric| {
            sheet(&run, by).parts[0].rows[0].value(quantity, Statistic::Mean).unwrap()
        };
        let near = |value: f64, expect: f64| assert!((value - expect).abs() < 1e-6, "{value}");
        near(value(Definitions::Sglang, Metric::E2e), 150.0);
        near(value(Definitions::Sglang, Metric::Tpot), 50.0 / 3.0);
        near(value(Definitions::Sglang, Metric::Itl), 10.0);
        near(value(Definitions::Ours, Metric::E2e), 130.0);
        near(value(Definitions::Ours, Metric::Tpot), 10.0);
        near(value(Definitions::Vllm, Metric::Tpot), 10.0);
        // GuideLLM's TPOT holds the time to the first token: 130 ms over 4 tokens.
        near(value(Definitions::Guidellm, Metric::Tpot), 32.5);
        near(value(Definitions::Guidellm, Metric::Itl), 10.0);
        near(value(Definitions::Guidellm, Metric::E2e), 150.0);
        near(value(Definitions::Aiperf, Metric::Itl), 10.0);
        near(value(Definitions::Aiperf, Metric::E2e), 130.0);
    }
}
