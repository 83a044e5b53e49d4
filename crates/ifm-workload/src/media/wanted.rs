//! The options of every workload that put media into its prompts: `image=720p&images=2`.
//!
//! Not here: making and reading media.

use std::path::{Path, PathBuf};

use ifm_core::MediumKind;

use super::{
    MEDIA_MAX,
    code::PictureFormat,
    column::Reader,
    dress::{Dress, Dressed},
    look::PIXELS_MAX,
    made::{Recipe, Reel, Style, Voice},
    picture::Motif,
    pool::{POOL_MAX, Part, Pool, Reuse, Stock, made_stream},
    share::Shares,
    sound::SoundFormat,
};
use crate::{
    error::WorkloadError,
    facts::WorkloadFacts,
    item::Dataset,
    known::{KindFacts, MediaFacts},
    lengths::Lengths,
    options::Options,
    request::WorkloadRequest,
};

/// Sizes by name, as screens have them.
const NAMED_SIZES: [(&str, (u32, u32)); 7] = [
    ("360p", (640, 360)),
    ("480p", (854, 480)),
    ("720p", (1280, 720)),
    ("1080p", (1920, 1080)),
    ("1440p", (2560, 1440)),
    ("4k", (3840, 2160)),
    ("8k", (7680, 4320)),
];
/// Frames of a video at most.
const FRAMES_MAX: u32 = 4096;
/// The longest recording in milliseconds: six hours, less than memory holds.
const AUDIO_MS_MAX: f64 = 21_600_000.0;
/// How sizes are written.
const SIZES: &str = "a size as 640x360, 720p, 1080p or 4k, or a folder";
const SPANS: &str = "a length as 30s, 500ms or 5s-30s, or a folder";
const REELS: &str = "a video as 640x360x16 (16 frames), or a folder";

/// Where media of a kind come from.
enum Origin {
    Made(Recipe),
    Folder(PathBuf),
}

struct WantedKind {
    kind: MediumKind,
    counts: Lengths,
    law: String,
    style: String,
    origin: Origin,
}

/// The media that a workload is to carry.
pub(crate) struct Wanted {
    kinds: Vec<WantedKind>,
    pool: Option<u32>,
    reuse: Option<Reuse>,
    has_names: bool,
    is_name_alone: bool,
    is_every_turn: bool,
    is_behind: bool,
}

impl Wanted {
    /// Takes what is asked; nothing where no medium is.
    ///
    /// # Errors
    /// [`WorkloadError::Shape`] for an option that is not understood.
    pub(crate) fn take(options: &mut Options) -> Result<Option<Self>, WorkloadError> {
        let kinds = [take_images(options)?, take_audio(options)?, take_video(options)?];
        let kinds: Vec<WantedKind> = kinds.into_iter().flatten().collect();
        if kinds.is_empty() {
            return Ok(None);
        }
        let counts = kinds.iter().map(|kind| u64::from(kind.counts.max())).sum::<u64>();
        if counts > u64::from(MEDIA_MAX) {
            return Err(shape(
                &counts.to_string(),
                &format!("give {MEDIA_MAX} media a request at most"),
            ));
        }
        let pool = options.value::<u32>("media_pool", "a number of different media")?;
        if let Some(wrong) = pool.filter(|pool| *pool == 0 || *pool > POOL_MAX) {
            let reason = format!("a pool has 1 to {POOL_MAX} media");
            return Err(shape(&format!("media_pool={wrong}"), &reason));
        }
        let reuse = options.text("media_reuse");
        let reuse = reuse.map(|text| {
            let wrong =
                || shape(&format!("media_reuse={text}"), &format!("write {}", Reuse::USAGE));
            Reuse::read(&text).ok_or_else(wrong)
        });
        let reuse = reuse.transpose()?;
        let names = options.word("media_uuid", &["no", "yes", "name"])?;
        let turns = options.word("media_turns", &["first", "every"])?;
        let place = options.word("media_at", &["start", "end"])?;
        if names == "name" && turns == "every" {
            return Err(shape("media_uuid=name", "names stand alone in first turns only"));
        }
        let is_all_made = kinds.iter().all(|kind| matches!(kind.origin, Origin::Made(_)));
        if reuse.is_some() && pool.is_none() && is_all_made {
            return Err(shape("media_reuse", "say how many media there are, as media_pool=20"));
        }
        Ok(Some(Self {
            kinds,
            pool,
            reuse,
            has_names: names != "no",
            is_name_alone: names == "name",
            is_every_turn: turns == "every",
            is_behind: place == "end",
        }))
    }

    /// Each kind with the law of its sizes or lengths.
    pub(crate) fn laws(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.kinds.iter().map(|wanted| (wanted.kind.word(), wanted.law.as_str()))
    }

    /// The data set with these media in its prompts, and what they are. A shared pool is made here,
    /// and files are read here.
    ///
    /// # Errors
    /// What making and reading says.
    pub(crate) fn dress(
        self,
        dataset: Box<dyn Dataset>,
        request: &WorkloadRequest,
        facts: &mut WorkloadFacts,
    ) -> Result<Box<dyn Dataset>, WorkloadError> {
        let (mut parts, mut kinds) = (Vec::new(), Vec::new());
        let mut distinct = Some(0);
        let mut laws = Vec::new();
        for wanted in self.kinds {
            let word = wanted.kind.word();
            let mut law = None;
            let stock = match (wanted.origin, self.pool) {
                (Origin::Made(recipe), None) => Stock::Own(recipe),
                (Origin::Made(recipe), Some(count)) => {
                    let reuse = self.reuse.unwrap_or(Reuse::Uniform);
                    law = Some(reuse);
                    let stream = made_stream(request.seed, word);
                    Stock::Shared(Pool::make(&recipe, count, reuse, &stream, request.carry)?)
                }
                (Origin::Folder(folder), _) => {
                    let is_fixed = wanted.counts.min() == wanted.counts.max();
                    let reuse = if is_fixed { Reuse::InOrder } else { Reuse::Uniform };
                    let reuse = self.reuse.unwrap_or(reuse);
                    law = Some(reuse);
                    let media = Reader::folder(&folder, wanted.kind, request)?;
                    Stock::Shared(Pool::new(media, reuse))
                }
            };
            laws.extend(law.map(|law| law.to_string()));
            let known = match &stock {
                Stock::Own(_) => None,
                Stock::Shared(pool) => Some(pool.media.as_slice()),
            };
            kinds.push(KindFacts::new(
                wanted.kind,
                &wanted.counts,
                wanted.law,
                wanted.style,
                known,
            ));
            distinct =
                distinct.zip(kinds.last().and_then(|kind| kind.distinct)).map(|(a, b)| a + b);
            let mut part = Part::new(wanted.counts, stock, request.seed, word, request.carry);
            part.name(self.has_names, self.is_name_alone);
            parts.push(part);
        }
        laws.dedup();
        let media = MediaFacts {
            kinds,
            distinct,
            reuse: (!laws.is_empty()).then(|| laws.join("; ")),
            has_names: self.has_names,
            is_name_alone: self.is_name_alone,
        };
        facts.media = Some(media.joined(facts.media.take()));
        let dress = Dress { parts, is_every_turn: self.is_every_turn, is_behind: self.is_behind };
        Ok(Box::new(Dressed::new(dataset, dress)))
    }
}

fn shape(text: &str, reason: &str) -> WorkloadError {
    WorkloadError::Shape { text: text.to_owned(), reason: reason.to_owned() }
}

/// A law, or a folder that is there.
fn law_or_folder<T>(
    text: &str,
    what: &str,
    read: impl Fn(&str) -> Option<T>,
    recipe: impl FnOnce(Shares<T>) -> Recipe,
) -> Result<Origin, WorkloadError> {
    match Shares::read(text, what, read) {
        Ok(law) => Ok(Origin::Made(recipe(law))),
        Err(_) if Path::new(text).is_dir() => Ok(Origin::Folder(PathBuf::from(text))),
        Err(error) => Err(error),
    }
}

/// How many in each item.
fn counts(options: &mut Options, name: &'static str) -> Result<Lengths, WorkloadError> {
    match options.text(name) {
        Some(text) => text.parse(),
        None => Lengths::fixed(1),
    }
}

fn take_images(options: &mut Options) -> Result<Option<WantedKind>, WorkloadError> {
    let Some(text) = options.text("image") else { return Ok(None) };
    let (style, words) = take_style(options, "image_kind")?;
    let origin = law_or_folder(&text, SIZES, size, |law| Recipe::Image(law, style))?;
    let counts = counts(options, "images")?;
    Ok(Some(wanted(MediumKind::Image, counts, text, words, origin)))
}

fn take_audio(options: &mut Options) -> Result<Option<WantedKind>, WorkloadError> {
    let Some(text) = options.text("audio") else { return Ok(None) };
    let rate = options.value::<u32>("audio_rate", "samples a second")?.unwrap_or(16_000);
    if !(4000..=192_000).contains(&rate) {
        return Err(shape(&format!("audio_rate={rate}"), "give 4000 to 192000 samples a second"));
    }
    let bits = if options.word("audio_bits", &["16", "24"])? == "24" { 24 } else { 16 };
    let format = match options.word("audio_format", &["wav", "flac"])? {
        "flac" => SoundFormat::Flac,
        _ => SoundFormat::Wav,
    };
    let voice = Voice { rate, bits, format };
    let words = format!("speech-like, {} of {bits} bits at {rate} Hz", format.mime());
    let origin = law_or_folder(&text, SPANS, span_ms, |law| Recipe::Audio(law, voice))?;
    let counts = counts(options, "audios")?;
    Ok(Some(wanted(MediumKind::Audio, counts, text, words, origin)))
}

fn take_video(options: &mut Options) -> Result<Option<WantedKind>, WorkloadError> {
    let Some(text) = options.text("video") else { return Ok(None) };
    let (style, words) = take_style(options, "video_kind")?;
    let fps = options.value::<f64>("fps", "frames a second")?.unwrap_or(2.0);
    if !(0.01..=240.0).contains(&fps) {
        return Err(shape(&format!("fps={fps}"), "give 0.01 to 240 frames a second"));
    }
    let origin = law_or_folder(&text, REELS, reel, |law| Recipe::Video(law, style, fps))?;
    let counts = counts(options, "videos")?;
    let words = format!("frames, {fps} a second, each a {words}");
    Ok(Some(wanted(MediumKind::Video, counts, text, words, origin)))
}

fn wanted(
    kind: MediumKind,
    counts: Lengths,
    law: String,
    style: String,
    origin: Origin,
) -> WantedKind {
    match origin {
        Origin::Made(_) => WantedKind { kind, counts, law, style, origin },
        Origin::Folder(folder) => {
            // The path is this machine's own; the name is what a result may tell.
            let law = crate::error::file_name(&folder);
            let origin = Origin::Folder(folder);
            WantedKind { kind, counts, law, style: "files of a folder".to_owned(), origin }
        }
    }
}

/// What images show and how they are coded, and that in words. Frames of videos are always JPEG,
/// which is what servers take.
fn take_style(options: &mut Options, kind: &'static str) -> Result<(Style, String), WorkloadError> {
    let word = options.word(kind, &["photo", "noise", "blank"])?;
    let motif = match word {
        "noise" => Motif::Noise,
        "blank" => Motif::Blank,
        _ => Motif::Photo,
    };
    let format = match kind == "image_kind" {
        true => options.word("image_format", &["jpeg", "png", "webp"])?,
        false => "jpeg",
    };
    let name = if kind == "image_kind" { "image_quality" } else { "video_quality" };
    let quality = options.value::<u8>(name, "a number from 1 to 100")?.unwrap_or(85);
    if !(1..=100).contains(&quality) {
        return Err(shape(&format!("{name}={quality}"), "give a quality from 1 to 100"));
    }
    let (format, words) = match format {
        "png" => (PictureFormat::Png, "PNG".to_owned()),
        "webp" => (PictureFormat::Webp, "WebP without loss".to_owned()),
        _ => (PictureFormat::Jpeg, format!("JPEG of quality {quality}")),
    };
    Ok((Style { motif, format, quality }, format!("{word} as {words}")))
}

fn size(text: &str) -> Option<(u32, u32)> {
    if let Some((_, size)) = NAMED_SIZES.iter().find(|(name, _)| *name == text) {
        return Some(*size);
    }
    let (width, height) = text.split_once('x')?;
    let side = |text: &str| text.trim().parse::<u32>().ok().filter(|side| *side > 0);
    let (width, height) = (side(width)?, side(height)?);
    // A format of files has 16 bits for a side at most; WebP has 14.
    let is_possible =
        width <= 16_383 && height <= 16_383 && u64::from(width) * u64::from(height) <= PIXELS_MAX;
    is_possible.then_some((width, height))
}

fn span_ms(text: &str) -> Option<(u32, u32)> {
    let ms = |text: &str| {
        let ms = ifm_core::duration::seconds(text.trim()).ok()? * 1000.0;
        (1.0..=AUDIO_MS_MAX).contains(&ms).then_some(ms.round() as u32)
    };
    let (from, to) = text.split_once('-').unwrap_or((text, text));
    let (from, to) = (ms(from)?, ms(to)?);
    (from <= to).then_some((from, to))
}

fn reel(text: &str) -> Option<Reel> {
    let (size_text, frames) = text.rsplit_once('x')?;
    let frames = frames.trim().parse::<u32>().ok()?;
    let size = size(size_text)?;
    (1..=FRAMES_MAX).contains(&frames).then_some(Reel { size, frames })
}
