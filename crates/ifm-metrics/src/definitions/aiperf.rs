//! One level as AIPerf (0.13) defines it, from our events.
//!
//! Taken over: ITL is one value per request, the time from first to last content over the tokens
//! after the first; latency ends with the last content; standard deviations are of a population;
//! percentiles are linear; the duration runs from the first start to the last content. RTFx is one
//! value per request, the length of its audio over its latency; so is image throughput, the images
//! of a request over its latency, and image latency is its inverse. Chunks are token-bearing
//! events; a user's rate is the inverse of the ITL of a request, its prefill rate the prompt over
//! TTFT, its rate from end to end the output over its latency.
//!
//! Different on purpose: tokens are counted as the run has them, where AIPerf runs a tokenizer over
//! the text by default; the length of audio is that of any prompt with audio, where AIPerf
//! has it of transcriptions that it made itself.

use super::rows::{Percentiles, Totals, audio_s, carried, complete, latency, output_tokens};
use super::rows::{population, prompt_tokens, push, since, totals};
use ifm_core::Metric;
use ifm_core::RequestRecord;
use ifm_core::sheet::{Row, Statistic, StdKind, Unit, meaning};

const NS_PER_S: f64 = 1e9;
const NS_PER_MS: f64 = 1e6;

/// Adds every figure.
pub(super) fn fill(sent: &[&RequestRecord], row: &mut Row) {
    let ok = complete(sent);
    let start_ns = ok.iter().map(|record| record.start_ns).min();
    let end_ns = ok.iter().filter_map(|record| record.last_token_ns()).max();
    let span_ns = start_ns.zip(end_ns).map(|(start, end)| end.saturating_sub(start));
    totals(row, Totals::of(sent, &ok, span_ns.map(|ns| ns as f64 / 1e9)));
    let mut add = |quantity: Metric, of: fn(&RequestRecord) -> Option<f64>| {
        let values = ok.iter().filter_map(|record| Some((of(record)?, 1.0))).collect();
        latency(row, quantity, values, StdKind::Population, Percentiles::Linear);
    };
    add(Metric::Ttft, |record| ttft(record, record.first_token_ns()));
    add(Metric::Ttfat, |record| ttft(record, record.first_answer_ns));
    add(Metric::E2e, latency_ns);
    add(Metric::Itl, itl);
    let tagged = |tag: &str| Metric::other(tag);
    add(tagged(meaning::TIME_TO_SECOND_CHUNK), |record| {
        let [first, second, ..] = record.events.at_ns.as_slice() else { return None };
        record.streamed.then(|| second.saturating_sub(*first) as f64)
    });
    add(tagged(meaning::DECODE_DURATION), decode_ns);
    chunks(&ok, row);
    if !sent.is_empty() {
        let failed = (sent.len() - ok.len()) as f64 / sent.len() as f64;
        push(row, Metric::ErrorRate, Statistic::Value, failed * 100.0, Unit::Percent);
    }
    let mut add =
        |quantity: Metric, scale: f64, unit: Unit, of: fn(&RequestRecord) -> Option<f64>| {
            let values = ok.iter().filter_map(|record| Some((of(record)?, 1.0))).collect();
            let by = (StdKind::Population, Percentiles::Linear);
            population(row, quantity, values, by, (scale, &unit));
        };
    add(Metric::InputTokens, 1.0, Unit::Count, |record| prompt_tokens(record).map(f64::from));
    add(Metric::OutputTokens, 1.0, Unit::Count, |record| Some(f64::from(output_tokens(record))));
    add(Metric::ReasoningTokens, 1.0, Unit::Count, |record| record.reasoning_tokens.map(f64::from));
    add(Metric::UserSpeed, 1.0, Unit::PerS, |record| {
        itl(record).filter(|ns| *ns > 0.0).map(|ns| NS_PER_S / ns)
    });
    add(tagged(meaning::PREFILL_RATE_OF_A_REQUEST), 1.0, Unit::PerS, |record| {
        let ns = ttft(record, record.first_token_ns()).filter(|ns| *ns > 0.0)?;
        Some(f64::from(prompt_tokens(record)?) * NS_PER_S / ns)
    });
    add(tagged(meaning::OUTPUT_RATE_OF_A_REQUEST), 1.0, Unit::PerS, |record| {
        Some(f64::from(output_tokens(record)) * NS_PER_S / latency_ns(record)?)
    });
    add(Metric::Images, 1.0, Unit::Count, images);
    let rate = Metric::other(meaning::IMAGES_OF_A_REQUEST);
    add(rate, 1.0, Unit::PerS, |record| Some(images(record)? * NS_PER_S / latency_ns(record)?));
    let time = Metric::other(meaning::TIME_OF_AN_IMAGE);
    add(time, NS_PER_MS, Unit::Ms, |record| Some(latency_ns(record)? / images(record)?));
    add(Metric::AudioLength, 1.0, Unit::S, |record| carried(record, audio_s));
    add(Metric::Rtfx, 1.0, Unit::One, |record| {
        Some(carried(record, audio_s)? * NS_PER_S / latency_ns(record)?)
    });
}

/// Adds the times between one chunk and the next, of all answers together.
fn chunks(ok: &[&RequestRecord], row: &mut Row) {
    let streamed = ok.iter().filter(|record| record.streamed);
    let gaps = streamed.flat_map(|record| record.events.at_ns.windows(2)).filter_map(|pair| {
        let [before, after] = pair else { return None };
        Some((after.saturating_sub(*before) as f64, 1.0))
    });
    let quantity = Metric::other(meaning::CHUNK_GAP);
    latency(row, quantity, gaps.collect(), StdKind::Population, Percentiles::Linear);
}

/// From the first content to the last, nanoseconds.
fn decode_ns(record: &RequestRecord) -> Option<f64> {
    let first_ns = record.first_token_ns().filter(|_| record.streamed)?;
    Some(record.last_token_ns()?.saturating_sub(first_ns) as f64)
}

fn latency_ns(record: &RequestRecord) -> Option<f64> {
    record.last_token_ns().map(|at| since(record, at)).filter(|ns| *ns > 0.0)
}

fn images(record: &RequestRecord) -> Option<f64> {
    carried(record, |media| Some(f64::from(media.images)))
}

fn ttft(record: &RequestRecord, at_ns: Option<u64>) -> Option<f64> {
    at_ns.filter(|_| record.streamed).map(|at| since(record, at))
}

fn itl(record: &RequestRecord) -> Option<f64> {
    let first_tokens = record.first_event_tokens.unwrap_or(1);
    let after = output_tokens(record).checked_sub(first_tokens).filter(|n| *n > 0)?;
    Some(decode_ns(record)? / f64::from(after))
}

#[cfg(test)]
mod tests {
    use super::super::{Definitions, sheet};
    use crate::testing::{MS, images};
    use ifm_core::Metric;
    use ifm_core::SentMedia;
    use ifm_core::sheet::{Statistic, meaning};

    /// 419 prompt tokens, TTFT 100 ms, 16 tokens 10 ms apart; one of 60 requests failed.
    #[test]
    fn rates_of_a_user_are_those_of_one_request() {
        let run = images(|number, record| {
            if number == 7 {
                record.outcome = ifm_core::Outcome::HttpError;
            }
        });
        let sheet = sheet(&run, Definitions::Aiperf);
        let row = &sheet.parts[0].rows[0];
        let mean = |quantity: Metric| row.value(quantity, Statistic::Mean).expect("it is there");
        let tagged = |tag: &str| mean(Metric::other(tag));
        let near = |value: f64, expected: f64| {
            assert!((value / expected - 1.0).abs() < 1e-9, "{value} {expected}");
        };
        near(mean(Metric::InputTokens), 419.0);
        near(mean(Metric::OutputTokens), 16.0);
        near(mean(Metric::UserSpeed), 100.0);
        near(tagged(meaning::PREFILL_RATE_OF_A_REQUEST), 4_190.0);
        near(tagged(meaning::OUTPUT_RATE_OF_A_REQUEST), 64.0);
        near(tagged(meaning::DECODE_DURATION), 150.0);
        near(tagged(meaning::TIME_TO_SECOND_CHUNK), 10.0);
        near(tagged(meaning::CHUNK_GAP), 10.0);
        let ok = run.requests.iter().filter(|record| record.outcome.is_ok()).count() as f64;
        let gaps = Metric::other(meaning::CHUNK_GAP);
        near(row.value(gaps, Statistic::Count).expect("it is there"), ok * 15.0);
        let share = row.value(Metric::ErrorRate, Statistic::Value).expect("it is there");
        near(share, 1.0 / run.requests.len() as f64);
    }

    /// Two images and 5 s of audio a request, whose last token comes after 100 + 15 x 10 ms = 250 ms.
    #[test]
    fn rates_of_media_are_those_of_one_request() {
        let media =
            SentMedia { images: 2, audios: 1, audio_ns: Some(5_000 * MS), ..SentMedia::default() };
        let run = images(|_, record| record.media = Some(media));
        let sheet = sheet(&run, Definitions::Aiperf);
        let row = &sheet.parts[0].rows[0];
        let mean = |quantity| row.value(quantity, Statistic::Mean).expect("there is one");
        let other = |name: &str| mean(Metric::other(name));
        assert_eq!(mean(Metric::E2e), 250.0);
        assert_eq!((mean(Metric::Images), mean(Metric::AudioLength)), (2.0, 5_000.0));
        assert_eq!(other(meaning::IMAGES_OF_A_REQUEST), 8.0);
        assert_eq!(other(meaning::TIME_OF_AN_IMAGE), 125.0);
        assert_eq!(mean(Metric::Rtfx), 20.0);
        assert_eq!(row.value(Metric::LevelRtfx, Statistic::Value), None, "it has none of a level");
    }
}
