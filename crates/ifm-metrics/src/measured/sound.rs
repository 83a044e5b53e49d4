//! Recordings that were heard and sound that was made, at one level.
//!
//! RTFx is seconds of audio over seconds taken, for a server that hears: of one request over its E2E,
//! and of a level over its headline window, in which many are heard at once, as its other rates.
//! RTF is seconds taken over seconds of audio, for a server that speaks. The values of requests are in
//! [`Latencies`](super::Latencies), as all others; what is here is of the whole level.

use super::WindowSummary;
use ifm_core::RequestRecord;

/// Recordings in prompts.
#[derive(Debug, Clone, PartialEq)]
pub struct HeardAudio {
    /// Complete answers to prompts with recordings.
    pub requests: u64,
    /// Length of all their recordings, nanoseconds; absent where one does not tell.
    pub audio_ns: Option<u64>,
    /// Seconds of their audio for each second of the headline window, where an answer counts by the
    /// same share as for requests per second; absent likewise.
    pub level_rtfx: Option<f64>,
}

/// Sound in answers.
#[derive(Debug, Clone, PartialEq)]
pub struct SpokenAudio {
    /// Complete answers with sound.
    pub requests: u64,
    /// Length of all of it, nanoseconds; absent where one does not tell.
    pub audio_ns: Option<u64>,
    /// Share of the answers after the first wave in which a listener heard a pause, 0 to 1.
    pub silent_share: Option<f64>,
}

impl HeardAudio {
    /// Over complete answers. Absent if no prompt carried a recording.
    pub fn of(measured: &[&RequestRecord], headline: Option<&WindowSummary>) -> Option<HeardAudio> {
        let lengths: Vec<Option<u64>> = ok(measured)
            .filter_map(|record| record.media.filter(|media| media.audios > 0))
            .map(|media| media.audio_ns)
            .collect();
        let audio_ns = lengths.iter().copied().sum::<Option<u64>>();
        (!lengths.is_empty()).then(|| HeardAudio {
            requests: lengths.len() as u64,
            audio_ns,
            level_rtfx: headline.and_then(|window| window.media?.audio_s_per_s),
        })
    }
}

impl SpokenAudio {
    /// Over complete answers: `judged` are those after the first wave. Absent where no sound came.
    pub fn of(measured: &[&RequestRecord], judged: &[&RequestRecord]) -> Option<SpokenAudio> {
        let made: Vec<Option<u64>> =
            ok(measured).filter_map(|record| record.made_audio).map(|made| made.audio_ns).collect();
        let pauses: Vec<u32> =
            ok(judged).filter_map(|record| record.made_audio?.silences).collect();
        let silent = pauses.iter().filter(|pauses| **pauses > 0).count();
        (!made.is_empty()).then(|| SpokenAudio {
            requests: made.len() as u64,
            audio_ns: made.iter().copied().sum(),
            silent_share: (!pauses.is_empty()).then(|| silent as f64 / pauses.len() as f64),
        })
    }
}

fn ok<'record>(records: &[&'record RequestRecord]) -> impl Iterator<Item = &'record RequestRecord> {
    records.iter().copied().filter(|record| record.outcome.is_ok())
}

#[cfg(test)]
mod tests {
    use crate::level::{LevelSummary, Seen, summarize_level};
    use crate::testing::{MS, request, run};
    use ifm_core::record::TokenEvents;
    use ifm_core::{MadeAudio, Metric, Outcome, RequestRecord, SentMedia};

    fn hears(seq: u32, start_ms: f64, audio_ms: Option<u64>) -> RequestRecord {
        let audio_ns = audio_ms.map(|ms| ms * MS);
        let media = Some(SentMedia { audios: 1, audio_ns, ..SentMedia::default() });
        RequestRecord { media, ..request(seq, 0, 0, start_ms, &[100.0, 500.0]) }
    }

    fn level(records: impl Into<Vec<RequestRecord>>) -> LevelSummary {
        let run = run(&[1], records.into());
        summarize_level(&run.manifest.spec, 0, None, Seen::of(&run))
    }

    #[test]
    fn a_level_hears_all_audio_in_its_own_time() {
        // 2 s and 3 s of audio, each heard in 500 ms: 4 and 6 times as fast as it is spoken. One
        // after the other they take 1 s: 5 times. The third fails and counts nowhere.
        let mut failed = hears(2, 1000.0, Some(9000));
        failed.outcome = Outcome::Truncated;
        failed.end_ns = failed.start_ns;
        failed.events.at_ns.clear();
        let records = [hears(0, 0.0, Some(2000)), hears(1, 500.0, Some(3000)), failed];
        let level = level(records);
        let heard = level.heard.as_ref().expect("recordings");
        assert_eq!((heard.requests, heard.audio_ns), (2, Some(5000 * MS)));
        assert_eq!(heard.level_rtfx, Some(5.0));
        let rtfx = level.latencies.get(Metric::Rtfx).expect("values");
        assert_eq!((rtfx.n, rtfx.min, rtfx.max), (2, 4.0, 6.0));
        assert_eq!(level.spoken, None);
        let unknown = [hears(0, 0.0, Some(2000)), hears(1, 500.0, None)];
        let heard = super::tests::level(unknown).heard.expect("recordings");
        assert_eq!((heard.audio_ns, heard.level_rtfx), (None, None), "one does not tell");
    }

    #[test]
    fn uncounted_tokens_of_whole_answers_do_not_give_rate_0() {
        let mut whole = hears(0, 0.0, Some(2000));
        whole.output_tokens = None;
        whole.events = TokenEvents::default();
        let level = level([whole]);
        assert_eq!((level.counts.ok, level.output_tok_per_s()), (1, None));
        assert_eq!(level.heard.expect("a recording").level_rtfx, Some(4.0));
    }

    #[test]
    fn sound_has_a_first_byte_a_speed_and_pauses() {
        let speaks = |seq: u32, silences: u32| RequestRecord {
            made_audio: Some(MadeAudio {
                first_ns: (u64::from(seq) * 500 + 100) * MS,
                audio_ns: Some(2000 * MS),
                bytes: 96_000,
                silence_ns: Some(u64::from(silences) * 40 * MS),
                silences: Some(silences),
            }),
            choices: 0,
            output_tokens: None,
            ..request(seq, 0, 0, f64::from(seq) * 500.0, &[90.0, 500.0])
        };
        let records = [speaks(0, 0), speaks(1, 2)];
        let level = level(records);
        let spoken = level.spoken.as_ref().expect("sound");
        assert_eq!((spoken.requests, spoken.audio_ns), (2, Some(4000 * MS)));
        assert_eq!(level.latencies.get(Metric::Ttfa).expect("values").mean, 100e6);
        assert_eq!(level.latencies.get(Metric::Rtf).expect("values").mean, 0.25);
        assert_eq!(level.latencies.get(Metric::Silence).expect("values").max, 80e6);
        assert_eq!(spoken.silent_share, Some(0.5));
        let of = &level.latencies;
        assert_eq!(of.get(Metric::E2e).map(|e2e| e2e.mean), Some(500e6));
        for of_tokens in [Metric::Ttft, Metric::Itl, Metric::Tpot] {
            assert_eq!(of.population(of_tokens), None, "no tokens");
        }
        assert_eq!(level.heard, None);
    }
}
