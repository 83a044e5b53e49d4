//! The durations of one request, derived from its stamps: the one place that defines them.
//!
//! Formulas follow the canonical definitions of this program: TTFT = `t_1 - start`, E2E = `t_last -
//! start`; TPOT is in [`tpot`](crate::tpot). A duration that is not defined, or that was not
//! observed, is absent. Not here: populations of many requests.

use crate::tpot::{SequenceTpot, TokenSpread, TpotAbsence, each_tpot};
use ifm_core::Metric;
use ifm_core::RequestRecord;

/// The durations of one request. "From due" counts from when the schedule wanted the request; in
/// a closed loop that is its start.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct RequestMetrics {
    /// Time to first token of any kind, nanoseconds. Absent for an answer that was not streamed.
    pub ttft_ns: Option<u64>,
    /// The same from the due time.
    pub ttft_ns_from_due: Option<u64>,
    /// From the last byte that the server's machine had acknowledged to the first token of any kind,
    /// nanoseconds: what is left of TTFT without the upload. Absent where the kernel did not tell,
    /// and where the first token came before.
    pub ttft_ns_from_acked: Option<u64>,
    /// Time to the first token of the answer proper, reasoning skipped, nanoseconds.
    pub ttfat_ns: Option<u64>,
    /// Start to last token, nanoseconds; only for complete answers. For an answer that was not
    /// streamed and has no token stamp: start to the end of the response.
    pub e2e_ns: Option<u64>,
    /// The same from the due time.
    pub e2e_ns_from_due: Option<u64>,
    /// Start to the end of the stream, nanoseconds: usage and trailers that came late included.
    pub stream_end_ns: Option<u64>,
    /// Start to the last request byte handed to the kernel, nanoseconds.
    pub upload_ns: Option<u64>,
    /// Time per output token after the tokens of the first read, nanoseconds; absent for fewer than
    /// two tokens, for an incomplete answer, and if the number of tokens in the time is not known.
    /// With several choices: the mean over the choices.
    pub tpot_ns: Option<f64>,
    /// The same where that number is an estimate; absent where `tpot_ns` is present.
    pub tpot_ns_estimated: Option<f64>,
    /// Why a complete, streamed answer of two tokens or more has neither.
    pub tpot_absence: Option<TpotAbsence>,
    /// Seconds of audio in the prompt over seconds of E2E: how much faster than it is spoken it is
    /// heard. Absent where the prompt carries no recording, or one that does not tell its length.
    pub rtfx: Option<f64>,
    /// The inverse: seconds of E2E over seconds of audio in the prompt. Absent likewise.
    pub heard_rtf: Option<f64>,
    /// Start to the first byte of sound, nanoseconds; absent where none came.
    pub ttfa_ns: Option<u64>,
    /// The same from the due time.
    pub ttfa_ns_from_due: Option<u64>,
    /// Seconds of E2E over seconds of sound: below 1 it is made faster than it is spoken. Absent where
    /// its length is not known.
    pub rtf: Option<f64>,
    /// How long a listener who began with the first byte heard nothing, nanoseconds; absent likewise.
    pub silence_ns: Option<u64>,
}

impl RequestMetrics {
    /// Derives the durations of one request.
    pub fn derive(record: &RequestRecord) -> RequestMetrics {
        let since_start = |stamp: u64| stamp.saturating_sub(record.start_ns);
        let since_due = |stamp: u64| stamp.saturating_sub(record.due_ns);
        let has_tokens = record.streamed && !record.is_sound_alone();
        let first = record.first_token_ns().filter(|_| has_tokens);
        let done = last_token_or_body_end(record).filter(|_| record.outcome.is_ok());
        let mut metrics = RequestMetrics {
            ttft_ns: first.map(since_start),
            ttft_ns_from_due: first.map(since_due),
            ttft_ns_from_acked: first
                .zip(record.acked_ns)
                .and_then(|(first, acked)| first.checked_sub(acked)),
            ttfat_ns: record.first_answer_ns.filter(|_| has_tokens).map(since_start),
            e2e_ns: done.map(since_start),
            e2e_ns_from_due: done.map(since_due),
            stream_end_ns: record.stream_end_ns.filter(|_| record.outcome.is_ok()).map(since_start),
            upload_ns: record.sent_ns.map(since_start),
            ..RequestMetrics::default()
        };
        metrics.set_tpot(record);
        metrics.set_audio(record);
        metrics
    }

    /// What takes time over what has a length, the one way and the other.
    fn set_audio(&mut self, record: &RequestRecord) {
        let over = |one: u64, other: u64| (other > 0).then(|| one as f64 / other as f64);
        let heard_ns = record.media.and_then(|media| media.audio_ns.filter(|_| media.audios > 0));
        let both = heard_ns.zip(self.e2e_ns);
        self.rtfx = both.and_then(|(audio_ns, e2e_ns)| over(audio_ns, e2e_ns));
        self.heard_rtf = both.and_then(|(audio_ns, e2e_ns)| over(e2e_ns, audio_ns));
        let Some(made) = record.made_audio else { return };
        self.ttfa_ns = Some(made.first_ns.saturating_sub(record.start_ns));
        self.ttfa_ns_from_due = Some(made.first_ns.saturating_sub(record.due_ns));
        let both = made.audio_ns.zip(self.e2e_ns);
        self.rtf = both.and_then(|(audio_ns, e2e_ns)| over(e2e_ns, audio_ns));
        self.silence_ns = made.silence_ns;
    }

    fn set_tpot(&mut self, record: &RequestRecord) {
        let mut all = Mean::default();
        let mut has_estimates = false;
        let mut absence = None;
        each_tpot(record, |tpot| match tpot {
            SequenceTpot::Counted(ns) => all.add(ns),
            SequenceTpot::Estimated(ns) => {
                all.add(ns);
                has_estimates = true;
            }
            SequenceTpot::Unknown(because) => absence = Some(because),
        });
        let tpot = if has_estimates { &mut self.tpot_ns_estimated } else { &mut self.tpot_ns };
        *tpot = all.value();
        self.tpot_absence = absence.filter(|_| all.count == 0);
    }

    /// The value of a metric of which the request has one, in the unit of the metric.
    pub fn value(&self, record: &RequestRecord, metric: Metric) -> Option<f64> {
        let mut found = None;
        each_value(record, self, metric, |value, _| found = Some(value));
        found
    }

    /// Speed that one user sees, tokens per second: 1 / TPOT. Absent without TPOT.
    pub fn user_tok_per_s(&self) -> Option<f64> {
        self.tpot_ns.and_then(speed)
    }
}

/// Tokens per second of a time per token in nanoseconds.
pub(crate) fn speed(tpot_ns: f64) -> Option<f64> {
    (tpot_ns > 0.0).then(|| 1e9 / tpot_ns)
}

/// Visits what a metric is of one request, each value with whether it is of counted tokens rather than
/// an estimate: nanoseconds, tokens per second, or seconds over seconds. Nothing for a metric that only a level has.
pub fn each_value(
    record: &RequestRecord,
    metrics: &RequestMetrics,
    metric: Metric,
    mut each: impl FnMut(f64, bool),
) {
    let one = match metric {
        Metric::Ttft => metrics.ttft_ns,
        Metric::TtftDue => metrics.ttft_ns_from_due,
        Metric::TtftAcked => metrics.ttft_ns_from_acked,
        Metric::Ttfat => metrics.ttfat_ns,
        Metric::Ttst => second_event_ns(record),
        Metric::E2e => metrics.e2e_ns,
        Metric::E2eDue => metrics.e2e_ns_from_due,
        Metric::StreamEnd => metrics.stream_end_ns,
        Metric::Upload => metrics.upload_ns,
        Metric::Queue => record.server_queue_ns,
        Metric::Ttfa => metrics.ttfa_ns,
        Metric::TtfaDue => metrics.ttfa_ns_from_due,
        Metric::Silence => metrics.silence_ns,
        Metric::Rtfx => return metrics.rtfx.into_iter().for_each(|value| each(value, true)),
        Metric::HeardRtf => {
            return metrics.heard_rtf.into_iter().for_each(|value| each(value, true));
        }
        Metric::Rtf => return metrics.rtf.into_iter().for_each(|value| each(value, true)),
        Metric::E2ePerToken => {
            // The requested number is never taken for a count.
            let counted = record.output_tokens.filter(|counted| counted.tokens > 0);
            if let Some((ns, counted)) = metrics.e2e_ns.zip(counted) {
                each(ns as f64 / f64::from(counted.tokens), !counted.from.is_estimate());
            }
            return;
        }
        Metric::Itl => return each_gap(record, |gap, _| each(gap as f64, true)),
        Metric::ItlPerToken => {
            return each_gap_per_token(record, |gap_ps| {
                each(gap_ps as f64 / PS_PER_NS as f64, true)
            });
        }
        Metric::Tpot | Metric::UserSpeed => {
            return each_tpot(record, |tpot| {
                let of = |tpot| if metric == Metric::Tpot { Some(tpot) } else { speed(tpot) };
                if let Some((ns, is_counted)) = tpot.value()
                    && let Some(value) = of(ns)
                {
                    each(value, is_counted);
                }
            });
        }
        _ => None,
    };
    if let Some(ns) = one {
        each(ns as f64, true);
    }
}

/// From the first event with tokens to the second, nanoseconds; only of one sequence.
fn second_event_ns(record: &RequestRecord) -> Option<u64> {
    let events = &record.events;
    let is_told = record.streamed && !record.is_sound_alone() && events.choice.is_empty();
    let [first, second, ..] = events.at_ns.as_slice() else { return None };
    is_told.then(|| second.saturating_sub(*first))
}

/// When the last part of the answer arrived: its last token, or the end of a body without stamps.
pub(crate) fn last_token_or_body_end(record: &RequestRecord) -> Option<u64> {
    record.last_token_ns().or(if record.streamed { None } else { record.stream_end_ns })
}

/// A running mean.
#[derive(Default)]
struct Mean {
    sum: f64,
    count: u64,
}

impl Mean {
    fn add(&mut self, value: f64) {
        self.sum += value;
        self.count += 1;
    }

    fn value(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum / self.count as f64)
    }
}

/// The token-bearing events of an answer, and how many of them carry several tokens. Exact if the
/// server reported the tokens of each event; reasoning before the first event that was not sent is
/// not included. If only the whole count is known, the surplus of tokens over events is taken as
/// that many events with two tokens, less one token per sequence: an end-of-text token is often
/// counted and not sent. Absent if the tokens were not counted.
pub fn several_token_events(record: &RequestRecord) -> Option<(u64, u64)> {
    if record.is_sound_alone() {
        return None;
    }
    let events = record.events.len() as u64;
    let hidden = TokenSpread::of(record).map_or(0, |spread| spread.hidden(record));
    if events > 0 && record.events.tokens.len() as u64 == events {
        let several = record.events.tokens.iter().filter(|tokens| **tokens > 1).count() as u64;
        let first = record.events.tokens.first().copied().unwrap_or(0);
        return Some((events, several - u64::from(hidden > 0 && first - hidden <= 1)));
    }
    let counted = record.output_tokens.filter(|counted| !counted.from.is_estimate())?;
    let sequences = u64::from(record.choices.max(1));
    let sent = u64::from(counted.tokens).saturating_sub(u64::from(hidden));
    Some((events, sent.saturating_sub(events + sequences).min(events)))
}

/// Calls `each` with every gap between successive token-bearing events of one choice, nanoseconds,
/// and the tokens of the event that ends the gap, if the server reported them.
#[inline]
pub fn each_gap(record: &RequestRecord, mut each: impl FnMut(u64, Option<u32>)) {
    let events = &record.events;
    if record.is_sound_alone() {
        return;
    }
    let tokens_known = events.tokens.len() == events.len();
    let tokens_of = |index: usize| {
        if tokens_known { events.tokens.get(index).copied() } else { None }
    };
    if events.choice.len() != events.len() {
        let mut last = None;
        for (index, &at_ns) in events.at_ns.iter().enumerate() {
            if let Some(last) = last {
                each(at_ns.saturating_sub(last), tokens_of(index));
            }
            last = Some(at_ns);
        }
        return;
    }
    let mut last: Vec<(u16, u64)> = Vec::new();
    for (index, (&at_ns, &choice)) in events.at_ns.iter().zip(&events.choice).enumerate() {
        match last.iter_mut().find(|(id, _)| *id == choice) {
            Some((_, stamp)) => {
                each(at_ns.saturating_sub(*stamp), tokens_of(index));
                *stamp = at_ns;
            }
            None => last.push((choice, at_ns)),
        }
    }
}

/// Picoseconds in a nanosecond: the unit in which gaps per token are divided.
pub(crate) const PS_PER_NS: u64 = 1_000;

/// Calls `each` with every such gap divided by the tokens of the event that ends it, picoseconds; with
/// nothing where the server did not report them.
#[inline]
pub(crate) fn each_gap_per_token(record: &RequestRecord, mut each: impl FnMut(u64)) {
    each_gap(record, |gap, tokens| {
        if let Some(tokens) = tokens.filter(|tokens| *tokens > 0) {
            each(gap.saturating_mul(PS_PER_NS) / u64::from(tokens));
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{MS, request};
    use ifm_core::{CountSource, Counted, Outcome};

    #[test]
    fn audio_is_divided_by_time_and_time_by_audio() {
        use ifm_core::{MadeAudio, SentMedia};
        let mut record = request(0, 0, 0, 1000.0, &[100.0, 400.0]);
        assert_eq!(RequestMetrics::derive(&record).rtfx, None);
        let media = SentMedia { audios: 1, audio_ns: Some(3000 * MS), ..SentMedia::default() };
        record.media = Some(media);
        assert_eq!(RequestMetrics::derive(&record).rtfx, Some(7.5));
        let mut values = Vec::new();
        let metrics = RequestMetrics::derive(&record);
        each_value(&record, &metrics, Metric::Rtfx, |value, is_exact| {
            values.push((value, is_exact))
        });
        assert_eq!(values, [(7.5, true)]);
        record.media = Some(SentMedia { audio_ns: None, ..media });
        assert_eq!(RequestMetrics::derive(&record).rtfx, None, "its length is not known");
        record.media = Some(SentMedia { audios: 0, images: 1, audio_ns: Some(0), ..media });
        assert_eq!(RequestMetrics::derive(&record).rtfx, None, "an image is no audio of 0 s");
        record.made_audio = Some(MadeAudio {
            first_ns: record.start_ns + 150 * MS,
            audio_ns: Some(1600 * MS),
            bytes: 1,
            silence_ns: Some(7),
            silences: Some(1),
        });
        let metrics = RequestMetrics::derive(&record);
        assert_eq!(
            (metrics.ttfa_ns, metrics.rtf, metrics.silence_ns),
            (Some(150 * MS), Some(0.25), Some(7))
        );
        assert_eq!(metrics.ttft_ns, Some(100 * MS), "text sent with the sound has tokens");
        record.choices = 0;
        let metrics = RequestMetrics::derive(&record);
        assert_eq!((metrics.ttft_ns, metrics.ttfat_ns, metrics.tpot_ns), (None, None, None));
        assert_eq!(metrics.e2e_ns, Some(400 * MS));
        record.outcome = Outcome::Truncated;
        assert_eq!(RequestMetrics::derive(&record).rtf, None, "nothing was whole");
    }

    #[test]
    fn an_ordinary_answer() {
        let mut record = request(0, 0, 0, 1000.0, &[100.0, 120.0, 160.0]);
        record.due_ns -= 5 * MS;
        record.sent_ns = Some(record.start_ns + MS);
        record.stream_end_ns = Some(record.start_ns + 300 * MS);
        record.first_answer_ns = Some(record.start_ns + 120 * MS);
        record.first_event_tokens = Some(1);
        let metrics = RequestMetrics::derive(&record);
        assert_eq!(metrics.ttft_ns, Some(100 * MS));
        assert_eq!(metrics.ttft_ns_from_due, Some(105 * MS));
        assert_eq!(metrics.ttfat_ns, Some(120 * MS));
        assert_eq!(metrics.e2e_ns, Some(160 * MS));
        assert_eq!(metrics.e2e_ns_from_due, Some(165 * MS));
        assert_eq!(metrics.stream_end_ns, Some(300 * MS));
        assert_eq!(metrics.upload_ns, Some(MS));
        assert_eq!(metrics.tpot_ns, Some(30e6));
        assert_eq!(metrics.tpot_ns_estimated, None);
        assert_eq!(metrics.user_tok_per_s(), Some(1e9 / 30e6));
        assert_eq!(metrics.value(&record, Metric::Ttst), Some(20e6));
        record.events.at_ns.truncate(1);
        assert_eq!(metrics.value(&record, Metric::Ttst), None, "there is no second token");
    }

    #[test]
    fn the_last_byte_ends_the_upload() {
        let mut record = request(0, 0, 0, 1000.0, &[100.0, 120.0]);
        record.sent_ns = Some(record.start_ns + 10 * MS);
        assert_eq!(RequestMetrics::derive(&record).ttft_ns_from_acked, None);
        let mut found = Vec::new();
        record.acked_ns = Some(record.start_ns + 60 * MS);
        let metrics = RequestMetrics::derive(&record);
        each_value(&record, &metrics, Metric::TtftAcked, |ns, _| found.push(ns));
        assert_eq!(found, [40e6]);
        assert_eq!(metrics.ttft_ns, Some(100 * MS));
        record.acked_ns = Some(record.start_ns + 101 * MS);
        assert_eq!(RequestMetrics::derive(&record).ttft_ns_from_acked, None);
        record.streamed = false;
        assert_eq!(RequestMetrics::derive(&record).ttft_ns_from_acked, None);
    }

    #[test]
    fn a_first_event_of_several_tokens() {
        let mut record = request(0, 0, 0, 0.0, &[100.0, 400.0]);
        record.output_tokens = Some(Counted { tokens: 10, from: CountSource::ChunkUsage });
        (record.first_event_tokens, record.events.tokens) = (Some(8), vec![8, 2]);
        let metrics = RequestMetrics::derive(&record);
        assert_eq!(metrics.tpot_ns, Some(150e6));
    }

    #[test]
    fn the_wait_is_spread_over_the_tokens_of_the_answer() {
        let mut record = request(0, 0, 0, 1000.0, &[100.0, 120.0, 160.0]);
        let of = |record: &RequestRecord| {
            let mut found = Vec::new();
            let metrics = RequestMetrics::derive(record);
            let each = |ns, is_exact| found.push((ns, is_exact));
            each_value(record, &metrics, Metric::E2ePerToken, each);
            found
        };
        assert_eq!(of(&record), [(160e6 / 3.0, true)]);
        record.output_tokens = Some(Counted { tokens: 5, from: CountSource::Events });
        assert_eq!(of(&record), [(32e6, false)]);
        record.output_tokens = None;
        assert_eq!(of(&record), []);
    }

    #[test]
    fn one_token_has_no_tpot() {
        let metrics = RequestMetrics::derive(&request(0, 0, 0, 0.0, &[100.0]));
        assert_eq!((metrics.tpot_ns, metrics.tpot_ns_estimated), (None, None));
        assert_eq!(metrics.ttft_ns, Some(100 * MS));
    }

    #[test]
    fn an_estimated_count_gives_an_estimated_tpot() {
        let mut record = request(0, 0, 0, 0.0, &[100.0, 120.0]);
        record.output_tokens = Some(Counted { tokens: 2, from: CountSource::Events });
        let metrics = RequestMetrics::derive(&record);
        assert_eq!((metrics.tpot_ns, metrics.tpot_ns_estimated), (None, Some(20e6)));
        assert_eq!(metrics.user_tok_per_s(), None);
    }

    #[test]
    fn tokens_that_all_came_at_once_have_no_speed() {
        let metrics = RequestMetrics::derive(&request(0, 0, 0, 0.0, &[100.0, 100.0]));
        assert_eq!((metrics.tpot_ns, metrics.tpot_ns_estimated), (None, None));
        assert_eq!(metrics.tpot_absence, Some(TpotAbsence::AtOnce));
        assert_eq!(metrics.user_tok_per_s(), None);
    }

    #[test]
    fn an_incomplete_answer_has_a_first_token_but_no_end() {
        let mut record = request(0, 0, 0, 0.0, &[100.0, 120.0]);
        record.outcome = Outcome::Truncated;
        let metrics = RequestMetrics::derive(&record);
        assert_eq!(metrics.ttft_ns, Some(100 * MS));
        assert_eq!((metrics.e2e_ns, metrics.tpot_ns, metrics.stream_end_ns), (None, None, None));
    }

    #[test]
    fn an_answer_that_was_not_streamed_has_only_an_end() {
        let mut record = request(0, 0, 0, 0.0, &[]);
        record.streamed = false;
        record.stream_end_ns = Some(250 * MS);
        let metrics = RequestMetrics::derive(&record);
        assert_eq!((metrics.ttft_ns, metrics.tpot_ns), (None, None));
        assert_eq!(metrics.e2e_ns, Some(250 * MS));
    }

    #[test]
    fn several_choices_are_several_sequences() {
        // Choice 0: 100, 140, 180; choice 1: 110, 120. Not one sequence with gaps of 10 and 20.
        let mut record = request(0, 0, 0, 0.0, &[100.0, 110.0, 120.0, 140.0, 180.0]);
        record.choices = 2;
        record.events.choice = vec![0, 1, 1, 0, 0];
        let mut gaps = Vec::new();
        each_gap(&record, |gap, tokens| gaps.push((gap / MS, tokens)));
        assert_eq!(gaps, [(10, None), (40, None), (40, None)]);
        // TPOT 40 and 10 ms: their mean is 25.
        assert_eq!(RequestMetrics::derive(&record).tpot_ns, Some(25e6));
        // Seven tokens in five events, unknown which: an estimate, if the text is long enough for
        // them.
        record.output_tokens = Some(Counted { tokens: 7, from: CountSource::FinalUsage });
        record.text_bytes = Some(28);
        // 4.2 tokens in three events and 2.8 in two; 2.8 and 1.4 after the first events are too few.
        assert_eq!(RequestMetrics::derive(&record).tpot_absence, Some(TpotAbsence::AtOnce));
        record.output_tokens = Some(Counted { tokens: 20, from: CountSource::FinalUsage });
        record.text_bytes = Some(80);
        let metrics = RequestMetrics::derive(&record);
        assert!(metrics.tpot_ns.is_none() && metrics.tpot_ns_estimated.is_some());
        // The same with per-chunk usage: choice 0 has 4 tokens in 80 ms, choice 1 has 3 in 10.
        record.events.tokens = vec![1, 1, 2, 2, 1];
        let metrics = RequestMetrics::derive(&record);
        assert_eq!(metrics.tpot_ns, Some((80e6 / 3.0 + 10e6 / 2.0) / 2.0));
    }
}
