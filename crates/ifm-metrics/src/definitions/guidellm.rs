//! One level as GuideLLM (0.8) defines it, from our events.
//!
//! Taken over: ITL is one value per request, last token minus first over the tokens after the
//! first, and its statistics weigh a request by those tokens; TPOT is the whole time to the last
//! token over all tokens, so that it includes the TTFT; a request's latency ends with its stream;
//! percentiles are of nearest rank; standard deviations are of a population; what a prompt carries
//! (images, pixels, seconds of audio, and tokens of each kind) is one value per request.
//!
//! Different on purpose: which answers are complete; times are monotonic; rates are counts over the
//! whole time, while GuideLLM spreads the tokens of a request evenly over its time and counts
//! incomplete requests too; prompt tokens are the server's count, to which GuideLLM adds image and
//! audio tokens once more if the server reports them separately.

use super::rows::{Percentiles, Totals, audio_s, carried, complete, duration_s, latency};
use super::rows::{output_tokens, population, prompt_tokens, push, since, totals};
use super::spread::{in_flight, rate, spread};
use ifm_core::Metric;
use ifm_core::RequestRecord;
use ifm_core::sheet::{Row, Spread, Statistic, StdKind, Unit};

const NS_PER_S: f64 = 1e9;
const NS_PER_MS: f64 = 1e6;

/// Adds every figure.
pub(super) fn fill(sent: &[&RequestRecord], row: &mut Row) {
    let ok = complete(sent);
    let seconds = duration_s(sent);
    totals(row, Totals::of(sent, &ok, seconds));
    let mut add = |quantity: Metric, of: fn(&RequestRecord) -> Option<(f64, f64)>| {
        let values = ok.iter().filter_map(|record| of(record)).collect();
        latency(row, quantity, values, StdKind::Population, Percentiles::NearestRank);
    };
    add(Metric::E2e, e2e);
    add(Metric::Ttft, |record| ttft(record, record.first_token_ns()));
    add(Metric::Ttfat, |record| ttft(record, record.first_answer_ns));
    add(Metric::Itl, itl);
    add(Metric::Tpot, tpot);
    row.spreads = spreads(&ok);
    media(&ok, seconds.filter(|seconds| *seconds > 0.0), row);
    let busy_ns: f64 = ok.iter().filter_map(|record| e2e(record)).map(|(ns, _)| ns).sum();
    if let Some(seconds) = seconds.filter(|seconds| *seconds > 0.0) {
        let in_flight = busy_ns / NS_PER_S / seconds;
        push(row, Metric::InFlight, Statistic::Mean, in_flight, Unit::Count);
    }
}

/// What the tool's file has of each of its metrics, by its names and in its units.
fn spreads(ok: &[&RequestRecord]) -> Vec<Spread> {
    let (spans, window) = window(ok);
    let of = |name, value: fn(&RequestRecord) -> Option<(f64, f64)>, unit: f64| {
        let values = ok.iter().filter_map(|record| value(record));
        spread(name, values.map(|(value, weight)| (value / unit, weight)).collect(), None)
    };
    let each = |name, value: &dyn Fn(&RequestRecord) -> Option<f64>| {
        spread(name, ok.iter().filter_map(|record| Some((value(record)?, 1.0))).collect(), None)
    };
    let prompt = |record: &RequestRecord| prompt_tokens(record).map(f64::from);
    let output = |record: &RequestRecord| f64::from(output_tokens(record));
    // Of a prompt when its first token came, of an answer as the tool spaces its tokens.
    let prompts: Option<Vec<(f64, f64)>> = ok
        .iter()
        .map(|record| {
            let at = record.first_token_ns().filter(|_| record.streamed);
            Some((at.map_or_else(|| ended_s(record), seconds), prompt(record)?))
        })
        .collect();
    let outputs = |skip: usize| ok.iter().flat_map(move |record| iterations(record).skip(skip));
    let tokens = |of: Vec<(f64, f64)>| of.into_iter().map(|(_, tokens)| (tokens, 1.0)).collect();
    let mut total = outputs(0).collect::<Vec<_>>();
    total.extend(prompts.iter().flatten());
    [
        rate("requests_per_second", spans.iter().map(|span| (span.1, 1.0)).collect(), window),
        in_flight("request_concurrency", &spans, window),
        of("request_latency", e2e, NS_PER_S),
        of("time_to_first_token_ms", |record| ttft(record, record.first_token_ns()), NS_PER_MS),
        of(
            "time_to_first_output_token_ms",
            |record| ttft(record, record.first_answer_ns),
            NS_PER_MS,
        ),
        of("time_per_output_token_ms", tpot, NS_PER_MS),
        of("inter_token_latency_ms", itl, NS_PER_MS),
        each("request_streaming_iterations_count", &|record| Some(record.events.len() as f64)),
        prompts.as_ref().and_then(|_| each("prompt_token_count", &prompt)),
        each("output_token_count", &|record| Some(output(record))),
        prompts.as_ref().and_then(|_| {
            each("total_token_count", &|record| Some(prompt(record)? + output(record)))
        }),
        prompts.clone().and_then(|prompts| rate("prompt_tokens_per_second", prompts, window)),
        rate("output_tokens_per_second", outputs(0).collect(), window),
        prompts.as_ref().and_then(|_| rate("tokens_per_second", total, window)),
        spread("output_tokens_per_iteration", tokens(outputs(0).collect()), None),
        spread("iter_tokens_per_iteration", tokens(outputs(1).collect()), None),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / NS_PER_S
}

fn ended_s(record: &RequestRecord) -> f64 {
    seconds(record.stream_end_ns.unwrap_or(record.end_ns))
}

/// Start and end of each request, and the first start with the last end, seconds.
fn window(ok: &[&RequestRecord]) -> (Vec<(f64, f64)>, (f64, f64)) {
    let spans: Vec<(f64, f64)> =
        ok.iter().map(|record| (seconds(record.start_ns), ended_s(record))).collect();
    let start_s = spans.iter().map(|span| span.0).fold(f64::INFINITY, f64::min);
    let end_s = spans.iter().map(|span| span.1).fold(start_s, f64::max);
    (spans, (start_s, end_s))
}

/// When the tokens of an answer came, in seconds: the first with one token, the others evenly between the
/// first and the last event. Of an answer in one piece all at its end.
fn iterations(record: &RequestRecord) -> impl Iterator<Item = (f64, f64)> {
    let (tokens, events) = (f64::from(output_tokens(record)), record.events.len());
    let span = record.first_token_ns().zip(record.last_token_ns());
    let span = span.filter(|_| record.streamed && events > 1 && tokens > 1.0);
    let last = record.last_token_ns().or(record.stream_end_ns).unwrap_or(record.end_ns);
    let many = if span.is_some() { events } else { 1 };
    (0..many).map(move |index| match span {
        None => (seconds(last), tokens),
        Some((first, _)) if index == 0 => (seconds(first), 1.0),
        Some((first, last)) => {
            let share = index as f64 / (events - 1) as f64;
            let at = seconds(first) + share * seconds(last.saturating_sub(first));
            (at, (tokens - 1.0) / (events - 1) as f64)
        }
    })
}

/// A number of one request.
type OfRequest = fn(&RequestRecord) -> Option<f64>;
/// What prompts carry, its unit, the rate of it with its unit, the number of one request, and its place in
/// the file.
type Kind = (Metric, Unit, Option<(Metric, Unit)>, OfRequest, [&'static str; 2]);

/// What prompts carry, of each request that carries it; and by the time of all, where that is a rate of
/// ours.
fn media(ok: &[&RequestRecord], seconds: Option<f64>, row: &mut Row) {
    let kinds: [Kind; 6] = [
        (
            Metric::Images,
            Unit::Count,
            Some((Metric::ImageRate, Unit::PerS)),
            |record| carried(record, |media| Some(f64::from(media.images))),
            ["image/images/input", "image/images/input_per_second"],
        ),
        (
            Metric::Pixels,
            Unit::Count,
            Some((Metric::PixelRate, Unit::PerS)),
            // Frames of videos are not among its pixels.
            |record| {
                carried(record, |media| {
                    media.pixels.filter(|_| media.videos == 0).map(|n| n as f64)
                })
            },
            ["image/pixels/input", "image/pixels/input_per_second"],
        ),
        (
            Metric::AudioLength,
            Unit::S,
            Some((Metric::LevelRtfx, Unit::One)),
            |record| carried(record, audio_s),
            ["audio/seconds/input", "audio/seconds/input_per_second"],
        ),
        (
            Metric::ImageTokens,
            Unit::Count,
            None,
            |record| record.image_tokens.map(|counted| f64::from(counted.tokens)),
            ["image/tokens/input", "image/tokens/input_per_second"],
        ),
        (
            Metric::AudioTokens,
            Unit::Count,
            None,
            |record| record.audio_tokens.map(|counted| f64::from(counted.tokens)),
            ["audio/tokens/input", "audio/tokens/input_per_second"],
        ),
        (
            Metric::VideoTokens,
            Unit::Count,
            None,
            |record| record.video_tokens.map(|counted| f64::from(counted.tokens)),
            ["video/tokens/input", "video/tokens/input_per_second"],
        ),
    ];
    let (spans, window) = window(ok);
    for (quantity, unit, rate, of, [each, per_second]) in kinds {
        let values: Vec<(f64, f64)> =
            ok.iter().filter_map(|record| Some((of(record)?, 1.0))).collect();
        let sum: f64 = values.iter().map(|(value, _)| value).sum();
        if let Some(((rate, unit), seconds)) = rate.zip(seconds).filter(|_| sum > 0.0) {
            push(row, rate, Statistic::Mean, sum / seconds, unit);
        }
        if sum > 0.0 {
            let ends = ok.iter().zip(&spans);
            let ends = ends.filter_map(|(record, span)| Some((span.1, of(record)?)));
            row.spreads.extend(spread(each, values.clone(), None));
            row.spreads.extend(super::spread::rate(per_second, ends.collect(), window));
        }
        let by = (StdKind::Population, Percentiles::NearestRank);
        population(row, quantity, values, by, (1.0, &unit));
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

#[cfg(test)]
mod tests {
    use super::super::{Definitions, sheet};
    use crate::testing::images;
    use ifm_core::Metric;
    use ifm_core::sheet::Statistic;

    /// Every second request has an image of 640 x 360 with 299 tokens; 120 requests one after the other
    /// in pairs of 250 ms.
    #[test]
    fn what_is_carried_is_of_the_requests_that_carry_it() {
        let run = images(|number, record| {
            if number % 2 == 0 {
                (record.media, record.image_tokens) = (None, None);
            }
        });
        let sheet = sheet(&run, Definitions::Guidellm);
        let row = &sheet.parts[0].rows[0];
        let value = |quantity, statistic| row.value(quantity, statistic).expect("there is one");
        assert_eq!(value(Metric::Images, Statistic::Count), 60.0);
        assert_eq!(value(Metric::Pixels, Statistic::Mean), 640.0 * 360.0);
        assert_eq!(value(Metric::ImageTokens, Statistic::Median), 299.0);
        let seconds = value(Metric::Duration, Statistic::Value) / 1e3;
        assert_eq!(value(Metric::ImageRate, Statistic::Mean), 60.0 / seconds);
        assert_eq!(row.value(Metric::AudioLength, Statistic::Mean), None);
    }
}
