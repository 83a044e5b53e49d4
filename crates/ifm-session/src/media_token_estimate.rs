//! Tokens of media for servers that do not report them, from what the server counted for similar media.
//!
//! The difference of a pair of requests applies to every request whose media are all similar to a
//! measured one: of the same kind and size, or duration. It is the server's count and not a model's
//! rule; what a chat template adds around a medium is included.
//!
//! Not here: how pairs are measured (`inferometer`).

use ifm_core::manifest::MediaPair;
use ifm_core::record::{CountSource, Counted};
use ifm_core::{Medium, MediumKind, RequestRecord};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// What makes media similar.
pub type Shape = (MediumKind, Option<(u32, u32)>, Option<u32>, Option<u64>);

/// The key of similar media.
pub fn shape(medium: &Medium) -> Shape {
    (medium.kind, medium.size, medium.frames, medium.duration_ns)
}

fn shape_of(pair: &MediaPair) -> Option<Shape> {
    let kind = MediumKind::from_word(&pair.kind)?;
    Some((kind, pair.width.zip(pair.height), pair.frames, pair.duration_ns))
}

/// Prompt tokens of a request's media by kind, if all of a kind are known.
type Tokens = [Option<u32>; 3];

/// The measurements, and the resulting values for requests in flight.
#[derive(Default)]
pub struct Pairs {
    tokens: HashMap<Shape, u32>,
    /// What the server itself reported for one medium of each shape.
    told: HashMap<Shape, u32>,
    under_way: Mutex<HashMap<u32, Tokens>>,
}

impl Pairs {
    /// The measurements, and what the server itself reported for one medium of each shape.
    pub fn new(pairs: &[MediaPair], told: &[(Shape, u32)]) -> Pairs {
        let rows = pairs.iter().filter_map(|pair| Some((shape_of(pair)?, pair.tokens()?)));
        let told = told.iter().copied().collect();
        Pairs { tokens: rows.collect(), told, under_way: Mutex::default() }
    }

    /// Tokens of media in a context, as far as the server counted a similar one.
    pub fn in_context<'media>(&self, media: impl Iterator<Item = &'media Arc<Medium>>) -> u64 {
        let known = media.filter_map(|medium| {
            let shape = shape(medium);
            self.tokens.get(&shape).or_else(|| self.told.get(&shape))
        });
        known.copied().map(u64::from).sum()
    }

    /// Records the media of a request that was created.
    pub fn note<'media>(&self, seq: u32, media: impl Iterator<Item = &'media Arc<Medium>> + Clone) {
        if self.tokens.is_empty() || media.clone().next().is_none() {
            return;
        }
        let of_kind = |kind| {
            let mut media = media.clone().filter(|medium| medium.kind == kind).peekable();
            media.peek()?;
            media.try_fold(0_u32, |sum, medium| sum.checked_add(*self.tokens.get(&shape(medium))?))
        };
        let tokens = [MediumKind::Image, MediumKind::Audio, MediumKind::Video].map(of_kind);
        self.under_way.lock().unwrap_or_else(PoisonError::into_inner).insert(seq, tokens);
    }

    /// Forgets requests that were created and never sent.
    pub fn begin_level(&self) {
        self.under_way.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// Fills in what the server did not report for a finished request.
    pub fn fill(&self, record: &mut RequestRecord) {
        if self.tokens.is_empty() {
            return;
        }
        let noted =
            self.under_way.lock().unwrap_or_else(PoisonError::into_inner).remove(&record.seq);
        let Some(tokens) = noted.filter(|_| record.outcome.is_ok()) else { return };
        let is_told = record.image_tokens.or(record.audio_tokens).or(record.video_tokens).is_some();
        if is_told {
            // Partial counts: missing values are not reported.
            return;
        }
        let from = CountSource::Pair;
        let of = |tokens: Option<u32>| tokens.map(|tokens| Counted { tokens, from });
        [record.image_tokens, record.audio_tokens, record.video_tokens] = tokens.map(of);
        let sent = record.media.unwrap_or_default();
        let counts = [sent.images, sent.audios, sent.videos];
        let is_all = counts.iter().zip(&tokens).all(|(count, it)| *count == 0 || it.is_some());
        let sum = tokens.iter().flatten().fold(0_u32, |sum, tokens| sum.saturating_add(*tokens));
        let prompt = record.prompt_tokens.filter(|prompt| !prompt.from.is_estimate() && is_all);
        record.text_tokens =
            record.text_tokens.or(of(prompt.and_then(|prompt| prompt.tokens.checked_sub(sum))));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ifm_core::{Carried, SentMedia};

    fn medium(kind: MediumKind, size: (u32, u32)) -> Arc<Medium> {
        Arc::new(Medium {
            kind,
            mime: "image/png".to_owned(),
            sha256: [1; 32],
            size: Some(size),
            frames: None,
            duration_ns: None,
            file_bytes: None,
            uuid: None,
            detail: None,
            carried: Carried::Name,
        })
    }

    fn pair(width: u32, with: u32) -> MediaPair {
        MediaPair {
            kind: "image".to_owned(),
            width: Some(width),
            height: Some(10),
            frames: None,
            duration_ns: None,
            sha256: "01".repeat(32),
            tokens_with: with,
            tokens_without: 12,
        }
    }

    fn ended(pairs: &Pairs, media: &[Arc<Medium>], told: Option<u32>) -> RequestRecord {
        pairs.note(4, media.iter());
        let counted = |tokens| Counted { tokens, from: CountSource::FinalUsage };
        let mut record = RequestRecord {
            seq: 4,
            prompt_tokens: Some(counted(500)),
            image_tokens: told.map(counted),
            media: Some(SentMedia::of(media.iter().map(|medium| &**medium), 0)),
            ..RequestRecord::blank()
        };
        pairs.fill(&mut record);
        record
    }

    #[test]
    fn media_of_a_measured_size_have_its_tokens_and_others_none() {
        let pairs = Pairs::new(&[pair(10, 112), pair(20, 312), pair(30, 5)], &[]);
        let image = |width| medium(MediumKind::Image, (width, 10));
        let tokens = |record: &RequestRecord| {
            let of = |it: Option<Counted>| it.map(|it| (it.tokens, it.from));
            (of(record.image_tokens), of(record.text_tokens))
        };
        let by_pair = |tokens| Some((tokens, CountSource::Pair));
        let record = ended(&pairs, &[image(10), image(20)], None);
        assert_eq!(tokens(&record), (by_pair(400), by_pair(100)));
        // A size that was never measured, a pair that makes no sense, another kind.
        assert_eq!(tokens(&ended(&pairs, &[image(10), image(11)], None)), (None, None));
        assert_eq!(tokens(&ended(&pairs, &[image(30)], None)), (None, None));
        let film = medium(MediumKind::Video, (10, 10));
        let mixed = ended(&pairs, &[image(10), film], None);
        assert_eq!((tokens(&mixed), mixed.video_tokens), ((by_pair(100), None), None));
        let told = ended(&pairs, &[image(10)], Some(99));
        assert_eq!(tokens(&told).0, Some((99, CountSource::FinalUsage)));
        assert_eq!(tokens(&ended(&pairs, &[], None)), (None, None));
    }
}
