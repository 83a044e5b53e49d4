//! What is known of a workload's media before they are sent.
//!
//! Not here: what was sent (a run counts that request by request).

use ifm_core::order::Order as _;
use std::{collections::HashSet, sync::Arc};

use ifm_core::{ImageDetail, Medium, MediumKind, SentMedia};
use serde::{Deserialize, Serialize};

use crate::{item::WorkItem, lengths::Lengths};

/// The media of a workload.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MediaFacts {
    /// Each kind by itself.
    pub kinds: Vec<KindFacts>,
    /// Different media in all; absent where every request has its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub distinct: Option<u32>,
    /// How media of a shared pool are chosen; absent where every request has its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reuse: Option<String>,
    /// Whether each medium bears a name under which a server may know it.
    pub has_names: bool,
    /// Whether the name alone is sent of what was sent before.
    pub is_name_alone: bool,
}

impl MediaFacts {
    /// What the media of a data set's rows are; nothing where it has none.
    pub(crate) fn of_files<'media>(
        media: impl Iterator<Item = &'media Arc<Medium>>,
    ) -> Option<Self> {
        let mut all: Vec<&Arc<Medium>> = media.collect();
        all.order_by_key(|medium| (medium.kind, medium.sha256));
        all.dedup_by_key(|medium| (medium.kind, medium.sha256));
        let kinds = [MediumKind::Image, MediumKind::Audio, MediumKind::Video].map(|kind| {
            let media: Vec<Arc<Medium>> =
                all.iter().filter(|medium| medium.kind == kind).map(|it| Arc::clone(it)).collect();
            let detail = media.first().and_then(|medium| medium.detail);
            let is_one = media.iter().all(|medium| medium.detail == detail);
            let detail = if is_one { detail_words(detail) } else { ", several details".to_owned() };
            let (law, made) = ("of the rows".to_owned(), format!("files of the data set{detail}"));
            let told =
                KindFacts::told(kind, "as the rows have it".to_owned(), law, made, Some(&media));
            (!media.is_empty()).then_some(told)
        });
        let kinds: Vec<KindFacts> = kinds.into_iter().flatten().collect();
        let distinct = Some(all.len() as u32);
        (!all.is_empty()).then(|| Self { kinds, distinct, ..Self::default() })
    }

    /// Whether there are media of a kind.
    pub(crate) fn has(&self, kind: MediumKind) -> bool {
        self.kinds.iter().any(|told| told.kind == kind.word())
    }

    /// What these and others are together.
    pub(crate) fn joined(mut self, others: Option<Self>) -> Self {
        let Some(others) = others else { return self };
        self.kinds.splice(0..0, others.kinds);
        self.distinct = self.distinct.zip(others.distinct).map(|(one, other)| one + other);
        self
    }
}

/// How closely a model is to look at images, behind what they are; nothing where that is not said.
pub(crate) fn detail_words(detail: Option<ImageDetail>) -> String {
    detail.map(|detail| format!(", detail {}", detail.word())).unwrap_or_default()
}

/// The media of one kind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct KindFacts {
    /// `image`, `audio` or `video`.
    pub kind: String,
    /// The law of how many a request carries.
    pub count: String,
    /// The law of their sizes or lengths, or where they come from.
    pub law: String,
    /// What they are: `photo as JPEG of quality 85`, `files of a folder`.
    pub made: String,
    /// Different ones; absent where every request has its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub distinct: Option<u32>,
    /// Mean size of a file in bytes, over all different ones; absent where every request has its own,
    /// and where an address stands for one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_bytes_mean: Option<f64>,
}

impl KindFacts {
    /// What is asked of a kind, and what its media are where all are there already.
    pub(crate) fn new(
        kind: MediumKind,
        counts: &Lengths,
        law: String,
        made: String,
        media: Option<&[Arc<Medium>]>,
    ) -> Self {
        Self::told(kind, counts.to_string(), law, made, media)
    }

    fn told(
        kind: MediumKind,
        count: String,
        law: String,
        made: String,
        media: Option<&[Arc<Medium>]>,
    ) -> Self {
        let different = |media: &[Arc<Medium>]| {
            media.iter().map(|medium| medium.sha256).collect::<HashSet<_>>().len() as u32
        };
        let mean = |media: &[Arc<Medium>]| {
            let bytes = media.iter().map(|medium| medium.file_bytes).sum::<Option<u64>>()?;
            (!media.is_empty()).then(|| bytes as f64 / media.len() as f64)
        };
        Self {
            kind: kind.word().to_owned(),
            count,
            law,
            made,
            distinct: media.map(different),
            file_bytes_mean: media.and_then(mean),
        }
    }
}

/// Media of the items that were looked at.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MediaPreview {
    /// Requests that carry media.
    pub requests: u64,
    /// Images.
    pub images: u64,
    /// Pixels of all images and frames; absent where one was not looked into.
    pub pixels: Option<u64>,
    /// Recordings.
    pub audios: u64,
    /// Length of all recordings, seconds; absent where one does not tell.
    pub audio_s: Option<f64>,
    /// Videos.
    pub videos: u64,
    /// Frames of all videos; absent where one was not looked into.
    pub frames: Option<u64>,
    /// Bytes of all files, before base64; absent where an address stands for one.
    pub file_bytes: Option<u64>,
    /// Different media.
    pub distinct: u64,
    /// Share of the media that an earlier request carried, or the same one before: what a cache that
    /// forgets nothing would know, were the requests sent one after another.
    pub known_share: f64,
}

/// Adds up media.
#[derive(Default)]
pub(crate) struct Known {
    sum: MediaPreview,
    seen: HashSet<[u8; 32]>,
    known: u64,
    audio_ns: Option<u64>,
}

impl Known {
    /// Nothing yet.
    pub(crate) fn new() -> Self {
        let sum = MediaPreview {
            pixels: Some(0),
            frames: Some(0),
            file_bytes: Some(0),
            ..MediaPreview::default()
        };
        Self { sum, audio_ns: Some(0), ..Self::default() }
    }

    /// The media of an item, request by request.
    pub(crate) fn add(&mut self, item: &WorkItem) {
        for agent in 0..=item.agents.len() as u16 {
            for turn in item.turns_of(agent) {
                let mut seen = 0;
                for medium in turn.prompt.media() {
                    seen += u32::from(!self.seen.insert(medium.sha256));
                }
                let media = turn.prompt.media();
                if media.clone().next().is_some() {
                    self.add_request(&SentMedia::of(media.map(|medium| &**medium), seen));
                }
            }
        }
    }

    fn add_request(&mut self, sent: &SentMedia) {
        let add = |sum: Option<u64>, more: Option<u64>| Some(sum?.saturating_add(more?));
        let sum = &mut self.sum;
        sum.requests += 1;
        sum.images += u64::from(sent.images);
        sum.audios += u64::from(sent.audios);
        sum.videos += u64::from(sent.videos);
        sum.pixels = add(sum.pixels, sent.pixels);
        sum.frames = add(sum.frames, sent.frames.map(u64::from));
        sum.file_bytes = add(sum.file_bytes, sent.file_bytes);
        self.audio_ns = add(self.audio_ns, sent.audio_ns);
        self.known += u64::from(sent.seen);
    }

    /// What they are together; nothing where there are none.
    pub(crate) fn finish(mut self) -> Option<MediaPreview> {
        let all = self.sum.images + self.sum.audios + self.sum.videos;
        self.sum.distinct = self.seen.len() as u64;
        self.sum.audio_s = self.audio_ns.map(|ns| ns as f64 / 1e9);
        self.sum.known_share = self.known as f64 / all.max(1) as f64;
        (all > 0).then_some(self.sum)
    }
}
