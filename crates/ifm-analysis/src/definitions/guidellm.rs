//! One level as GuideLLM (0.8) defines it, from our events.
//!
//! Taken over: ITL is one value per request, last token minus first over the tokens after the
//! first, and its statistics weigh a request by those tokens; TPOT is the whole time to the last
//! token over all tokens, so that it holds the TTFT; a request's latency ends with its stream;
//! percentiles are of nearest rank; deviations are those of a population; what a prompt carries
//! (images, pixels, seconds of audio, and tokens of each kind) is one value per request.
//!
//! Different on purpose: which answers are complete; times are monotonic; rates are counts over the
//! whole time, where GuideLLM spreads the tokens of a request evenly over its time and counts
//! incomplete requests too; prompt tokens are those that the server counted, to which GuideLLM adds
//! those of images and audio once more where the server tells them apart.

use super::rows::{Percentiles, Totals, audio_s, carried, complete, duration_s, latency};
use super::rows::{output_tokens, population, push, since, totals};
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
    media(&ok, seconds.filter(|seconds| *seconds > 0.0), row);
    let busy_ns: f64 = ok.iter().filter_map(|record| e2e(record)).map(|(ns, _)| ns).sum();
    if let Some(seconds) = seconds.filter(|seconds| *seconds > 0.0) {
        let in_flight = busy_ns / 1e9 / seconds;
        push(row, &Quantity::InFlight, Statistic::Mean, in_flight, Unit::Count);
    }
}

/// A number of one request.
type OfRequest = fn(&RequestRecord) -> Option<f64>;
/// What prompts carry, its unit, the rate of it with its unit, and the number of one request.
type Kind = (Quantity, Unit, Option<(Quantity, Unit)>, OfRequest);

/// What prompts carry, of each request that carries it; and by the time of all, where that is a rate of
/// ours.
fn media(ok: &[&RequestRecord], seconds: Option<f64>, row: &mut Row) {
    let kinds: [Kind; 6] = [
        (Quantity::Images, Unit::Count, Some((Quantity::ImageRate, Unit::PerS)), |record| {
            carried(record, |media| Some(f64::from(media.images)))
        }),
        // Frames of videos are not among its pixels.
        (Quantity::Pixels, Unit::Count, Some((Quantity::PixelRate, Unit::PerS)), |record| {
            carried(record, |media| media.pixels.filter(|_| media.videos == 0).map(|n| n as f64))
        }),
        (Quantity::AudioLength, Unit::S, Some((Quantity::AudioRate, Unit::One)), |record| {
            carried(record, audio_s)
        }),
        (Quantity::ImageTokens, Unit::Count, None, |record| {
            record.image_tokens.map(|counted| f64::from(counted.tokens))
        }),
        (Quantity::AudioTokens, Unit::Count, None, |record| {
            record.audio_tokens.map(|counted| f64::from(counted.tokens))
        }),
        (Quantity::VideoTokens, Unit::Count, None, |record| {
            record.video_tokens.map(|counted| f64::from(counted.tokens))
        }),
    ];
    for (quantity, unit, rate, of) in kinds {
        let values: Vec<(f64, f64)> =
            ok.iter().filter_map(|record| Some((of(record)?, 1.0))).collect();
        let sum: f64 = values.iter().map(|(value, _)| value).sum();
        if let Some(((rate, unit), seconds)) = rate.zip(seconds).filter(|_| sum > 0.0) {
            push(row, &rate, Statistic::Mean, sum / seconds, unit);
        }
        let by = (StdKind::Population, Percentiles::NearestRank);
        population(row, &quantity, values, by, (1.0, &unit));
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
    use ifm_core::sheet::{Quantity, Statistic};

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
        let value = |quantity, statistic| row.value(&quantity, statistic).expect("there is one");
        assert_eq!(value(Quantity::Images, Statistic::Count), 60.0);
        assert_eq!(value(Quantity::Pixels, Statistic::Mean), 640.0 * 360.0);
        assert_eq!(value(Quantity::ImageTokens, Statistic::Median), 299.0);
        let seconds = value(Quantity::Duration, Statistic::Value) / 1e3;
        assert_eq!(value(Quantity::ImageRate, Statistic::Mean), 60.0 / seconds);
        assert_eq!(row.value(&Quantity::AudioLength, Statistic::Mean), None);
    }
}
