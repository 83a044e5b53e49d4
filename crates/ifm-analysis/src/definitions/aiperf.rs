//! One level as AIPerf (0.13) defines it, from our events.
//!
//! Taken over: ITL is one value per request, the time from first to last content over the tokens
//! after the first; latency ends with the last content; deviations are those of a population;
//! percentiles are linear; the duration runs from the first start to the last content. RTFx is one
//! value per request, the length of its audio over its latency; so is image throughput, the images of
//! a request over its latency, and image latency is its inverse.
//!
//! Different on purpose: tokens are counted as the run has them, where AIPerf runs a tokenizer over
//! the text unless told otherwise; the length of audio is that of any prompt with audio, where AIPerf
//! has it of transcriptions that it made itself.

use super::rows::{Percentiles, Totals, audio_s, carried, complete, latency, output_tokens};
use super::rows::{population, since, totals};
use ifm_core::RequestRecord;
use ifm_core::sheet::{Quantity, Row, StdKind, Unit, meaning};

const NS_PER_S: f64 = 1e9;
const NS_PER_MS: f64 = 1e6;

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
    add(&Quantity::E2e, latency_ns);
    add(&Quantity::Itl, itl);
    let mut add =
        |quantity: Quantity, scale: f64, unit: Unit, of: fn(&RequestRecord) -> Option<f64>| {
            let values = ok.iter().filter_map(|record| Some((of(record)?, 1.0))).collect();
            let by = (StdKind::Population, Percentiles::Linear);
            population(row, &quantity, values, by, (scale, &unit));
        };
    add(Quantity::Images, 1.0, Unit::Count, images);
    let rate = Quantity::Other(meaning::IMAGES_OF_A_REQUEST.to_owned());
    add(rate, 1.0, Unit::PerS, |record| Some(images(record)? * NS_PER_S / latency_ns(record)?));
    let time = Quantity::Other(meaning::TIME_OF_AN_IMAGE.to_owned());
    add(time, NS_PER_MS, Unit::Ms, |record| Some(latency_ns(record)? / images(record)?));
    add(Quantity::AudioLength, 1.0, Unit::S, |record| carried(record, audio_s));
    add(Quantity::Rtfx, 1.0, Unit::One, |record| {
        Some(carried(record, audio_s)? * NS_PER_S / latency_ns(record)?)
    });
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
    let first_ns = record.first_token_ns().filter(|_| record.streamed)?;
    let span = record.last_token_ns()?.saturating_sub(first_ns) as f64;
    Some(span / f64::from(after))
}

#[cfg(test)]
mod tests {
    use super::super::{Definitions, sheet};
    use crate::testing::{MS, images};
    use ifm_core::SentMedia;
    use ifm_core::sheet::{Quantity, Statistic, meaning};

    /// Two images and 5 s of audio a request, whose last token comes after 100 + 15 x 10 ms = 250 ms.
    #[test]
    fn rates_of_media_are_those_of_one_request() {
        let media =
            SentMedia { images: 2, audios: 1, audio_ns: Some(5_000 * MS), ..SentMedia::default() };
        let run = images(|_, record| record.media = Some(media));
        let sheet = sheet(&run, Definitions::Aiperf);
        let row = &sheet.parts[0].rows[0];
        let mean = |quantity| row.value(&quantity, Statistic::Mean).expect("there is one");
        let other = |name: &str| mean(Quantity::Other(name.to_owned()));
        assert_eq!(mean(Quantity::E2e), 250.0);
        assert_eq!((mean(Quantity::Images), mean(Quantity::AudioLength)), (2.0, 5_000.0));
        assert_eq!(other(meaning::IMAGES_OF_A_REQUEST), 8.0);
        assert_eq!(other(meaning::TIME_OF_AN_IMAGE), 125.0);
        assert_eq!(mean(Quantity::Rtfx), 20.0);
        assert_eq!(
            row.value(&Quantity::AudioRate, Statistic::Value),
            None,
            "it has none of a level"
        );
    }
}
