//! The images, recordings and videos of a level: how many, how large, how often seen before, and the
//! prompt tokens that they became.
//!
//! Sums are over complete answers whose prompt carried media. Values that were not inspected or not
//! counted are absent, and a value that only some requests have comes with their number. Not here:
//! whether such numbers can be right (`warning`).

use super::scatter::Scatter;
use super::sessions::KnownPart;
use super::tokens::CountSources;
use super::upload::Upload;
use crate::request::RequestMetrics;
use crate::stat::Distribution;
use crate::stat::welch::{Estimate, welch};
use ifm_core::{Counted, Metric, RequestRecord, SentMedia};

const NS_PER_S: f64 = 1e9;
const PER_MEGA: f64 = 1e6;
/// Fewer requests than this on a side say nothing of what a cache changes.
const SEEN_MIN: usize = 10;
/// Confidence of the interval of that.
const CONFIDENCE: f64 = 0.95;

ifm_core::vocabulary! {
    /// What prompt tokens encode.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
    pub enum TokenKind {
        /// Text.
        Text = "text",
        /// Images.
        Image = "image",
        /// Recordings.
        Audio = "audio",
        /// Videos.
        Video = "video",
    }
}

/// Prompt tokens of one kind, over the requests that carried it.
#[derive(Debug, Clone, PartialEq)]
pub struct KindTokens {
    /// Which.
    pub kind: TokenKind,
    /// Requests that carried it; of text those that carried any medium.
    pub requests: u64,
    /// Requests with a count for this kind.
    pub told: u64,
    /// Tokens of the requests that have a count.
    pub tokens: u64,
    /// Who counted.
    pub from: CountSources,
}

impl KindTokens {
    /// Sum over all requests; absent unless all of them have a count.
    pub fn total(&self) -> Option<u64> {
        (self.told == self.requests).then_some(self.tokens)
    }

    /// Mean over the requests that have a count.
    pub fn mean(&self) -> Option<f64> {
        (self.told > 0).then(|| self.tokens as f64 / self.told as f64)
    }
}

/// TTFT by whether the server could have known what a request carried.
#[derive(Debug, Clone, PartialEq)]
pub struct SeenMedia {
    /// TTFT of requests that carried something new, nanoseconds.
    pub new_ttft_ns: Distribution,
    /// TTFT of requests whose media had all been sent before, nanoseconds.
    pub seen_ttft_ns: Distribution,
    /// Geometric mean of the second over that of the first, with its 95 % interval.
    pub ratio: Estimate,
}

/// The media of a level.
#[derive(Debug, Clone, PartialEq)]
pub struct MediaSummary {
    /// Complete answers.
    pub ok: u64,
    /// Complete answers whose prompt carried media; all fields below are over these.
    pub requests: u64,
    /// Images.
    pub images: u64,
    /// Recordings.
    pub audios: u64,
    /// Videos.
    pub videos: u64,
    /// Pixels of images and frames; absent without any, and if one was not inspected.
    pub pixels: Option<u64>,
    /// Length of the recordings and videos, nanoseconds; likewise.
    pub audio_ns: Option<u64>,
    /// Frames of the videos; likewise.
    pub frames: Option<u64>,
    /// Bytes of the files, before base64; absent if a URL was sent instead of a file.
    pub file_bytes: Option<u64>,
    /// Of all media, those that an earlier request of the run had carried.
    pub seen: u64,
    /// Prompt tokens of those, the maximum that a cache could know of media: of each request the
    /// tokens of its media times the share that was sent before. Absent unless all are counted.
    pub seen_tokens: Option<f64>,
    /// Prompt tokens by kind, of the kinds that were carried; empty if none were reported.
    pub tokens: Vec<KindTokens>,
    /// Prompt tokens from a cache among all prompt tokens, if the server reported both.
    pub cached: KnownPart,
    /// The uploads, without the first wave.
    pub upload: Option<Upload>,
    /// TTFT of what was new and of what was seen before, without the first wave; absent where one
    /// of them has fewer than 10 requests.
    pub seen_or_new: Option<SeenMedia>,
    /// TTFT against millions of pixels, without the first wave.
    pub ttft_by_megapixels: Option<Scatter>,
    /// E2E against the seconds of recordings, likewise.
    pub e2e_by_audio_s: Option<Scatter>,
}

impl MediaSummary {
    /// Over the `measured` requests of a level, and for times over the `judged` ones; absent where
    /// no complete answer's prompt carried media.
    pub fn of(
        measured: &[&RequestRecord],
        judged: &[&RequestRecord],
        percentiles: &[f64],
    ) -> Option<MediaSummary> {
        let (all, judged) = (carrying(measured), carrying(judged));
        if all.is_empty() {
            return None;
        }
        let sum = |of: fn(&SentMedia) -> u64| {
            all.iter().filter_map(|record| record.media.as_ref()).map(of).sum::<u64>()
        };
        let known = |of: fn(&SentMedia) -> Option<u64>| {
            let each = all.iter().filter_map(|record| record.media.as_ref()).map(of);
            each.sum::<Option<u64>>().filter(|sum| *sum > 0)
        };
        let mut cached = KnownPart::default();
        for record in &all {
            let prompt = record.prompt_tokens.map(|counted| counted.tokens);
            cached.add(record.cached_tokens, prompt);
        }
        Some(MediaSummary {
            ok: measured.iter().filter(|record| record.outcome.is_ok()).count() as u64,
            requests: all.len() as u64,
            images: sum(|media| u64::from(media.images)),
            audios: sum(|media| u64::from(media.audios)),
            videos: sum(|media| u64::from(media.videos)),
            pixels: known(|media| media.pixels),
            audio_ns: known(|media| media.audio_ns),
            frames: known(|media| media.frames.map(u64::from)),
            file_bytes: known(|media| media.file_bytes),
            seen: sum(|media| u64::from(media.seen)),
            seen_tokens: all.iter().map(|record| seen_tokens(record)).sum(),
            tokens: by_kind(&all),
            cached,
            upload: Upload::of(&judged, percentiles),
            seen_or_new: seen_or_new(&judged, percentiles),
            ttft_by_megapixels: Scatter::ttft_by_megapixels(&judged),
            e2e_by_audio_s: Scatter::e2e_by_audio_s(&judged),
        })
    }

    /// All media together.
    pub fn media(&self) -> u64 {
        self.images + self.audios + self.videos
    }

    /// Share of the media that a cache which forgets nothing would know, 0 to 1.
    pub fn seen_share(&self) -> f64 {
        self.seen as f64 / self.media().max(1) as f64
    }

    /// A sum as a mean per request.
    pub fn per_request(&self, sum: u64) -> f64 {
        sum as f64 / self.requests.max(1) as f64
    }

    /// Tokens of one kind, if any of it were carried.
    pub fn tokens_of(&self, kind: TokenKind) -> Option<&KindTokens> {
        self.tokens.iter().find(|tokens| tokens.kind == kind)
    }
}

/// Complete answers among these whose prompt carried media.
fn carrying<'a>(requests: &[&'a RequestRecord]) -> Vec<&'a RequestRecord> {
    let has = |record: &&&RequestRecord| record.outcome.is_ok() && record.media.is_some();
    requests.iter().filter(has).copied().collect()
}

/// Media of one request.
pub(crate) fn number(media: &SentMedia) -> u32 {
    media.images.saturating_add(media.audios).saturating_add(media.videos)
}

/// Prompt tokens of the media of a request that were sent before; absent if the tokens of a kind
/// that it carried were not reported.
fn seen_tokens(record: &RequestRecord) -> Option<f64> {
    let media = record.media.as_ref()?;
    let of = |(kind, is_carried, count): &Kept| match kind {
        TokenKind::Text => Some(0),
        _ if !is_carried(media) => Some(0),
        _ => count(record).map(|counted| u64::from(counted.tokens)),
    };
    let tokens = KEPT.iter().map(of).sum::<Option<u64>>()?;
    Some(tokens as f64 * f64::from(media.seen) / f64::from(number(media).max(1)))
}

/// A kind of tokens: of which media it is, and where a record keeps it.
type Kept = (TokenKind, fn(&SentMedia) -> bool, fn(&RequestRecord) -> Option<Counted>);

const KEPT: [Kept; 4] = [
    (TokenKind::Text, |_| true, |record| record.text_tokens),
    (TokenKind::Image, |media| media.images > 0, |record| record.image_tokens),
    (TokenKind::Audio, |media| media.audios > 0, |record| record.audio_tokens),
    (TokenKind::Video, |media| media.videos > 0, |record| record.video_tokens),
];

fn by_kind(requests: &[&RequestRecord]) -> Vec<KindTokens> {
    let of = |(kind, is_carried, count): &Kept| {
        let mut found = KindTokens {
            kind: *kind,
            requests: 0,
            told: 0,
            tokens: 0,
            from: CountSources::default(),
        };
        let carries = |record: &&&RequestRecord| record.media.as_ref().is_some_and(is_carried);
        for record in requests.iter().filter(carries) {
            let counted = count(record);
            found.requests += 1;
            found.told += u64::from(counted.is_some());
            found.tokens += counted.map_or(0, |counted| u64::from(counted.tokens));
            found.from.add(counted);
        }
        found
    };
    let kinds: Vec<KindTokens> = KEPT.iter().map(of).filter(|kind| kind.requests > 0).collect();
    if kinds.iter().all(|kind| kind.told == 0) { Vec::new() } else { kinds }
}

fn seen_or_new(requests: &[&RequestRecord], percentiles: &[f64]) -> Option<SeenMedia> {
    let (mut new, mut seen) = (Vec::new(), Vec::new());
    for record in requests {
        let ttft_ns = RequestMetrics::derive(record).ttft_ns.filter(|ns| *ns > 0);
        if let Some((media, ns)) = record.media.as_ref().zip(ttft_ns) {
            let list = if media.seen >= number(media) { &mut seen } else { &mut new };
            list.push(ns as f64);
        }
    }
    if new.len() < SEEN_MIN || seen.len() < SEEN_MIN {
        return None;
    }
    let logs = |values: &[f64]| values.iter().map(|ns| ns.ln()).collect::<Vec<f64>>();
    let difference = welch(&logs(&new), &logs(&seen), CONFIDENCE)?.difference;
    Some(SeenMedia {
        ratio: difference.map(f64::exp),
        new_ttft_ns: Distribution::from_values(new, percentiles)?,
        seen_ttft_ns: Distribution::from_values(seen, percentiles)?,
    })
}

/// What a request brings to a rate of media; absent where that is not known.
pub fn amount(media: &SentMedia, metric: Metric) -> Option<f64> {
    match metric {
        Metric::ImageRate => Some(f64::from(media.images)),
        Metric::PixelRate => media.pixels.map(|pixels| pixels as f64 / PER_MEGA),
        Metric::LevelRtfx => media.audio_ns.map(|ns| ns as f64 / NS_PER_S),
        _ => None,
    }
}

/// Media per second over a window. Each is absent if none of its kind was sent, and if one was not
/// inspected.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MediaRates {
    /// Images per second.
    pub images_per_s: Option<f64>,
    /// Millions of pixels per second, of images and frames.
    pub megapixels_per_s: Option<f64>,
    /// Seconds of audio for each second: the RTFx of the level.
    pub audio_s_per_s: Option<f64>,
    /// Frames of videos per second.
    pub frames_per_s: Option<f64>,
}

impl MediaRates {
    /// Those that are known, with their units.
    pub fn told(&self) -> impl Iterator<Item = (f64, &'static str)> {
        let each = [
            (self.images_per_s, "images/s"),
            (self.megapixels_per_s, "megapixels/s"),
            (self.audio_s_per_s, "audio s/s"),
            (self.frames_per_s, "frames/s"),
        ];
        each.into_iter().filter_map(|(rate, unit)| Some((rate?, unit)))
    }

    /// Whether a rate of images, pixels or frames is known.
    pub fn has_pictures(&self) -> bool {
        self.images_per_s.or(self.megapixels_per_s).or(self.frames_per_s).is_some()
    }

    /// The rate that is a metric; absent for every other metric, and where it is not known.
    pub fn of(&self, metric: Metric) -> Option<f64> {
        match metric {
            Metric::ImageRate => self.images_per_s,
            Metric::PixelRate => self.megapixels_per_s,
            Metric::LevelRtfx => self.audio_s_per_s,
            _ => None,
        }
    }
}

/// Media being added up over a window.
#[derive(Debug, Default)]
pub(crate) struct MediaTally {
    sums: Option<[Option<f64>; 4]>,
}

impl MediaTally {
    /// Adds what an answer carried by the share that the answer counts by.
    pub(crate) fn add(&mut self, media: &SentMedia, share: f64) {
        let frames = media.frames.map(f64::from);
        let rates = [Metric::ImageRate, Metric::PixelRate, Metric::LevelRtfx];
        let of = rates.iter().map(|metric| amount(media, *metric)).chain([frames]);
        let sums = self.sums.get_or_insert([Some(0.0); 4]);
        for (sum, more) in sums.iter_mut().zip(of) {
            *sum = sum.zip(more).map(|(sum, more)| sum + more * share);
        }
    }

    /// The rates; absent where nothing was added, or nothing of it was known.
    pub(crate) fn per_s(&self, seconds: f64) -> Option<MediaRates> {
        let [images, megapixels, audio_s, frames] = self.sums?.map(|sum| {
            let rate = sum.map(|sum| sum / seconds);
            rate.filter(|rate| rate.is_finite() && *rate > 0.0)
        });
        let rates = MediaRates {
            images_per_s: images,
            megapixels_per_s: megapixels,
            audio_s_per_s: audio_s,
            frames_per_s: frames,
        };
        [images, megapixels, audio_s, frames].iter().any(Option::is_some).then_some(rates)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{images, sound_images};
    use ifm_core::CountSource;

    #[test]
    fn what_was_sent_is_added_up() {
        let summary = crate::summarize(&sound_images());
        let media = summary.levels[0].media.as_ref().expect("images");
        assert_eq!((media.ok, media.requests, media.images, media.audios), (120, 120, 120, 0));
        assert_eq!(
            (media.pixels, media.frames, media.audio_ns),
            (Some(120 * 640 * 360), None, None)
        );
        assert_eq!((media.file_bytes, media.seen), (Some(120 * 50_000), 0));
        let image = media.tokens_of(TokenKind::Image).expect("counted");
        assert_eq!((image.total(), image.mean(), image.told), (Some(120 * 299), Some(299.0), 120));
        assert_eq!(media.seen_or_new, None);
        let window = summary.levels[0].window().expect("a window");
        let rates = window.media.expect("images");
        assert_eq!(rates.images_per_s, Some(window.req_per_s));
        assert!((rates.megapixels_per_s.unwrap() - window.req_per_s * 0.2304).abs() < 1e-9);
        assert_eq!((rates.audio_s_per_s, rates.frames_per_s), (None, None));
    }

    #[test]
    fn incomplete_counts_have_no_sum() {
        let mut run = sound_images();
        run.requests[3].image_tokens = None;
        run.requests[4].media = run.requests[4].media.map(|it| SentMedia { pixels: None, ..it });
        let summary = crate::summarize(&run);
        let media = summary.levels[0].media.as_ref().expect("images");
        let image = media.tokens_of(TokenKind::Image).expect("counted");
        assert_eq!((image.total(), image.mean(), image.told), (None, Some(299.0), 119));
        assert_eq!((media.pixels, image.from.unknown), (None, 1));
        for record in &mut run.requests {
            (record.image_tokens, record.text_tokens) = (None, None);
        }
        assert!(crate::summarize(&run).levels[0].media.as_ref().expect("some").tokens.is_empty());
        run.requests.iter_mut().for_each(|record| record.media = None);
        let text = crate::summarize(&run);
        assert!(text.levels[0].media.is_none());
        assert!(text.levels[0].window().expect("a window").media.is_none());
    }

    #[test]
    fn what_was_seen_before_is_set_against_what_was_new() {
        // The second half shows what the first had shown, and takes a tenth of its time.
        let run = images(|number, record| {
            if number >= 60 {
                record.media = record.media.map(|it| SentMedia { seen: 1, ..it });
                let first = record.start_ns + (record.events.at_ns[0] - record.start_ns) / 10;
                record.events.at_ns[0] = first;
            }
            let from = CountSource::Pair;
            record.image_tokens = Some(Counted { tokens: 299, from });
        });
        let summary = crate::summarize(&run);
        let media = summary.levels[0].media.as_ref().expect("images");
        assert_eq!((media.seen, media.seen_share()), (60, 0.5));
        let found = media.seen_or_new.as_ref().expect("both");
        assert_eq!((found.new_ttft_ns.n, found.seen_ttft_ns.n), (58, 60));
        assert!((found.ratio.value - 0.1).abs() < 1e-9, "{:?}", found.ratio);
    }
}
