//! A time of each request against the size of its media, for a chart of single requests.
//!
//! What is kept has a bound: of many requests every nth, in the order in which they were sent, so
//! that warming up and trends stay visible. Not here: statistics over sizes.

use crate::request::RequestMetrics;
use ifm_core::{RequestRecord, SentMedia};

/// Requests that are kept at most.
const SPOTS_MAX: usize = 150;

/// Requests by the size of their media and by a time.
#[derive(Debug, Clone, PartialEq)]
pub struct Scatter {
    /// Size and time, nanoseconds, of the requests that were kept.
    pub spots: Vec<(f64, f64)>,
    /// Requests of which both are known; of many every nth was kept.
    pub of: u64,
}

impl Scatter {
    /// Absent if the requests have fewer than two different sizes, or if the sizes are unknown.
    fn of(
        requests: &[&RequestRecord],
        spot: impl Fn(&RequestRecord) -> Option<(f64, f64)>,
    ) -> Option<Self> {
        let all: Vec<(f64, f64)> = requests.iter().filter_map(|record| spot(record)).collect();
        let first = all.first()?.0;
        if all.iter().all(|(size, _)| *size == first) {
            return None;
        }
        let step = all.len().div_ceil(SPOTS_MAX);
        Some(Scatter { of: all.len() as u64, spots: all.into_iter().step_by(step).collect() })
    }

    /// TTFT against millions of pixels of images and frames.
    pub(super) fn ttft_by_megapixels(requests: &[&RequestRecord]) -> Option<Self> {
        Scatter::of(requests, |record| {
            let pixels = media(record)?.pixels.filter(|pixels| *pixels > 0)?;
            let ttft_ns = RequestMetrics::derive(record).ttft_ns?;
            Some((pixels as f64 / 1e6, ttft_ns as f64))
        })
    }

    /// E2E against the seconds of recordings.
    pub(super) fn e2e_by_audio_s(requests: &[&RequestRecord]) -> Option<Self> {
        Scatter::of(requests, |record| {
            let audio_ns = media(record)?.audio_ns.filter(|ns| *ns > 0)?;
            let e2e_ns = record.end_ns.checked_sub(record.start_ns)?;
            Some((audio_ns as f64 / 1e9, e2e_ns as f64))
        })
    }
}

fn media(record: &RequestRecord) -> Option<&SentMedia> {
    record.media.as_ref()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{MS, request};

    fn requests(count: u32, of: impl Fn(u32) -> SentMedia) -> Vec<RequestRecord> {
        let record = |seq: u32| RequestRecord {
            media: Some(of(seq)),
            ..request(seq, 0, 0, f64::from(seq) * 100.0, &[50.0])
        };
        (0..count).map(record).collect()
    }

    #[test]
    fn pairs_sizes_with_times_and_thins_out_many() {
        let pixels = |seq| SentMedia {
            images: 1,
            pixels: Some(if seq % 2 == 0 { 1_000_000 } else { 4_000_000 }),
            audio_ns: Some(0),
            ..SentMedia::default()
        };
        let all = requests(301, pixels);
        let all: Vec<&RequestRecord> = all.iter().collect();
        let found = Scatter::ttft_by_megapixels(&all).unwrap();
        assert_eq!((found.of, found.spots.len()), (301, 101));
        assert_eq!(found.spots[..2], [(1.0, 50.0 * MS as f64), (4.0, 50.0 * MS as f64)]);
        assert_eq!(Scatter::e2e_by_audio_s(&all), None, "no recording has no length of 0 s");
        assert_eq!(Scatter::ttft_by_megapixels(&all[..1]), None, "one size is no relation");
        let audio = |seq| SentMedia {
            audios: 1,
            audio_ns: Some(u64::from(seq + 1) * 1000 * MS),
            ..SentMedia::default()
        };
        let all = requests(2, audio);
        let found = Scatter::e2e_by_audio_s(&all.iter().collect::<Vec<_>>()).unwrap();
        assert_eq!(found.spots, [(1.0, 50.0 * MS as f64), (2.0, 50.0 * MS as f64)]);
    }
}
