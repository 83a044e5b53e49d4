//! What the finished requests of a level amount to so far, in memory that does not grow.
//!
//! Fed with records on the decoder's thread, never by the threads that measure. The numbers are
//! for watching: percentiles come from a histogram, up to 1/16 above the true ones. Not here: the
//! result, which is computed from the records.

use crate::level::{GapLabel, MediaRates};
use crate::measured::MediaTally;
use crate::request;
use ifm_core::order::Order as _;
use ifm_core::{Histogram, Outcome, Phase, RequestRecord, Validity};

/// Percentiles, nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Percentiles {
    /// Values.
    pub n: u64,
    /// Median.
    pub p50: u64,
    /// 90th percentile.
    pub p90: u64,
    /// 99th percentile.
    pub p99: u64,
}

/// Requests of one level so far.
#[derive(Debug, Default)]
pub struct Tally {
    outcomes: [u64; Outcome::ALL.len()],
    warmup_ended: u64,
    ttft: Histogram,
    gap: Histogram,
    /// Token-bearing events of answers whose tokens were counted, and how many hold several.
    several: (u64, u64),
    e2e_ns_sum: u64,
    e2e_n: u64,
    media: MediaTally,
    /// Bytes of media files, once some were sent; absent inside where one is not known.
    media_bytes: Option<Option<u64>>,
    /// Length of the sound that was made, nanoseconds, likewise.
    made_ns: Option<Option<u64>>,
    /// Structured answers that are valid, and that are not.
    judged: (u64, u64),
}

impl Tally {
    /// Counts a finished request.
    pub fn add(&mut self, record: &RequestRecord) {
        match record.phase {
            Phase::Measure => {}
            Phase::Warmup => {
                self.warmup_ended += 1;
                return;
            }
            Phase::Probe => return,
        }
        let place = Outcome::ALL.iter().position(|outcome| *outcome == record.outcome);
        if let Some(count) = place.and_then(|place| self.outcomes.get_mut(place)) {
            *count += 1;
        }
        if !record.outcome.is_ok() {
            return;
        }
        self.e2e_ns_sum += record.end_ns.saturating_sub(record.start_ns);
        self.e2e_n += 1;
        self.add_beside_text(record);
        if !record.streamed {
            return;
        }
        if let Some(first_ns) = record.first_token_ns() {
            self.ttft.record(first_ns.saturating_sub(record.start_ns));
            request::each_gap(record, |gap_ns, _| self.gap.record(gap_ns));
        }
        if let Some((events, several)) = request::several_token_events(record) {
            self.several.0 += events;
            self.several.1 += several;
        }
    }

    /// Adds what a complete answer had in addition to text: media before it, sound in it, a form of
    /// it.
    fn add_beside_text(&mut self, record: &RequestRecord) {
        let added = |sum: &mut Option<Option<u64>>, more: Option<u64>| {
            *sum = Some(sum.unwrap_or(Some(0)).zip(more).map(|(sum, more)| sum + more));
        };
        if let Some(media) = &record.media {
            self.media.add(media, 1.0);
            added(&mut self.media_bytes, media.file_bytes);
        }
        if let Some(made) = &record.made_audio {
            added(&mut self.made_ns, made.audio_ns);
        }
        match record.validity {
            Some(Validity::Valid) => self.judged.0 += 1,
            Some(Validity::Invalid) => self.judged.1 += 1,
            Some(Validity::Cut | Validity::Unchecked) | None => {}
        }
    }

    /// Media of complete answers per second over this time; absent if none was sent.
    pub fn media_rates(&self, seconds: f64) -> Option<MediaRates> {
        self.media.per_s(seconds)
    }

    /// Bytes of the media files of complete answers, before base64; absent where none was sent, and
    /// where one is not known.
    pub fn media_bytes(&self) -> Option<u64> {
        self.media_bytes.flatten()
    }

    /// Seconds of sound in complete answers; absent where there was none, and where the format of
    /// one does not tell.
    pub fn made_audio_s(&self) -> Option<f64> {
        Some(self.made_ns.flatten()? as f64 / 1e9)
    }

    /// Structured answers that were judged valid, and that were judged invalid.
    pub fn judged(&self) -> (u64, u64) {
        self.judged
    }

    /// Warm-up requests that have ended.
    pub fn warmup_ended(&self) -> u64 {
        self.warmup_ended
    }

    /// Measured requests that have ended, regardless of the outcome.
    pub fn finished(&self) -> u64 {
        self.outcomes.iter().sum()
    }

    /// Failures by the word of the outcome, most first.
    pub fn failures(&self) -> Vec<(&'static str, u64)> {
        let counted = Outcome::ALL.iter().zip(self.outcomes);
        let mut failures: Vec<_> = counted
            .filter(|(outcome, count)| outcome.is_failure() && *count > 0)
            .map(|(outcome, count)| (outcome.word(), count))
            .collect();
        failures.order_by_key(|(_, count)| std::cmp::Reverse(*count));
        failures
    }

    /// Time to first token of complete answers.
    pub fn ttft(&self) -> Option<Percentiles> {
        percentiles(&self.ttft)
    }

    /// Gaps between token events of complete answers.
    pub fn gap(&self) -> Option<Percentiles> {
        percentiles(&self.gap)
    }

    /// What the gaps may be called.
    pub fn gap_label(&self) -> GapLabel {
        let (events, several) = self.several;
        GapLabel::of((events > 0).then(|| several as f64 / events as f64))
    }

    /// Mean time of a complete request, seconds.
    pub fn e2e_s_mean(&self) -> Option<f64> {
        (self.e2e_n > 0).then(|| self.e2e_ns_sum as f64 / self.e2e_n as f64 / 1e9)
    }
}

fn percentiles(histogram: &Histogram) -> Option<Percentiles> {
    let all = histogram.quantiles()?;
    let p90 = histogram.quantile(0.90)?;
    Some(Percentiles { n: all.n, p50: all.p50_ns, p90, p99: all.p99_ns })
}

/// How many tokens the answers of a run have, against their events.
#[derive(Debug, Clone, Copy, Default)]
pub struct TokenRatio {
    tokens: u64,
    events: u64,
    whole_tokens: u64,
}

impl TokenRatio {
    /// Counts a finished request, including warm-up, if its tokens were counted.
    pub fn add(&mut self, record: &RequestRecord) {
        let Some(counted) = record.output_tokens.filter(|counted| !counted.from.is_estimate())
        else {
            return;
        };
        if !record.streamed {
            self.whole_tokens += u64::from(counted.tokens);
        } else if record.outcome.is_ok() {
            self.tokens += u64::from(counted.tokens);
            self.events += record.events.len() as u64;
        }
    }

    /// Tokens of one event; absent while no answer shows it. Zero events of answers that came whole
    /// are not tokens.
    pub fn tokens_per_event(&self) -> Option<f64> {
        match (self.events, self.whole_tokens) {
            (0, 0) => None,
            (0, _) => Some(1.0),
            (events, _) => Some(self.tokens as f64 / events as f64),
        }
    }

    /// Tokens of answers that came whole.
    pub fn whole_tokens(&self) -> u64 {
        self.whole_tokens
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{MS, request};
    use ifm_core::{CountSource, Counted};

    #[test]
    fn requests_amount_to_counts_and_percentiles() {
        let mut tally = Tally::default();
        assert_eq!((tally.finished(), tally.ttft(), tally.gap()), (0, None, None));
        let answer = request(0, 0, 0, 1000.0, &[100.0, 120.0, 160.0]);
        let mut warmup = answer.clone();
        warmup.phase = Phase::Warmup;
        let mut refused = answer.clone();
        refused.outcome = Outcome::HttpError;
        [&answer, &warmup, &refused, &refused].into_iter().for_each(|record| tally.add(record));
        assert_eq!((tally.finished(), tally.warmup_ended()), (3, 1));
        assert_eq!(tally.failures(), [("http_error", 2)]);
        let (ttft, gap) = (tally.ttft().unwrap(), tally.gap().unwrap());
        assert_eq!((ttft.n, gap.n), (1, 2));
        assert_eq!((ttft.p50, ttft.p99, gap.p99), (100 * MS, 100 * MS, 40 * MS));
        assert!((20 * MS..22 * MS).contains(&gap.p50));
        assert_eq!(tally.gap_label(), GapLabel::InterToken);
        assert_eq!(tally.e2e_s_mean(), Some(0.16));
    }

    #[test]
    fn reports_media_sound_and_forms_if_any() {
        use ifm_core::{MadeAudio, SentMedia};
        let mut tally = Tally::default();
        let mut answer = request(0, 0, 0, 0.0, &[10.0]);
        tally.add(&answer);
        assert!(tally.media_rates(2.0).is_none() && tally.media_bytes().is_none());
        assert_eq!((tally.made_audio_s(), tally.judged()), (None, (0, 0)));
        answer.media =
            Some(SentMedia { images: 3, file_bytes: Some(5000), ..SentMedia::default() });
        answer.made_audio = Some(MadeAudio { audio_ns: Some(1500 * MS), ..MadeAudio::default() });
        for validity in [Validity::Valid, Validity::Invalid, Validity::Valid, Validity::Cut] {
            answer.validity = Some(validity);
            tally.add(&answer);
        }
        let rates = tally.media_rates(2.0).unwrap();
        assert_eq!((rates.images_per_s, rates.audio_s_per_s), (Some(6.0), None));
        assert_eq!((tally.media_bytes(), tally.made_audio_s()), (Some(20_000), Some(6.0)));
        assert_eq!(tally.judged(), (2, 1));
        // One address hides how many bytes all were.
        answer.media = Some(SentMedia { images: 1, ..SentMedia::default() });
        tally.add(&answer);
        assert_eq!(tally.media_bytes(), None);
        assert_eq!(tally.media_rates(2.0).unwrap().images_per_s, Some(6.5));
    }

    #[test]
    fn tokens_are_known_only_if_counted() {
        let mut ratio = TokenRatio::default();
        let mut answer = request(0, 0, 0, 0.0, &[10.0, 20.0]);
        answer.output_tokens = Some(Counted { tokens: 2, from: CountSource::Events });
        ratio.add(&answer);
        assert_eq!(ratio.tokens_per_event(), None);
        answer.output_tokens = Some(Counted { tokens: 6, from: CountSource::FinalUsage });
        ratio.add(&answer);
        assert_eq!((ratio.tokens_per_event(), ratio.whole_tokens()), (Some(3.0), 0));
        answer.streamed = false;
        ratio.add(&answer);
        assert_eq!((ratio.tokens_per_event(), ratio.whole_tokens()), (Some(3.0), 6));
    }
}
