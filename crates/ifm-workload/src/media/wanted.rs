//! The options of every workload that put media into its prompts: `image=720p&images=2`.
//!
//! Not here: making and reading media.

use std::{
    fmt,
    ops::RangeInclusive,
    path::{Path, PathBuf},
    str::FromStr,
    sync::Arc,
};

use ifm_core::{ImageDetail, Medium, MediumKind};
use ifm_made::{code::PictureFormat, picture::Motif, sound::SoundFormat};

use super::{
    MEDIA_MAX,
    column::{Reader, is_of_kind},
    dress::{Dress, Dressed},
    look::{LARGEST, PIXELS_MAX},
    made::{Recipe, Reel, Style, Voice},
    pool::{POOL_MAX, Part, Pool, Reuse, Stock, made_stream},
    share::{Shares, Unread},
};
use crate::{
    error::WorkloadError,
    facts::WorkloadFacts,
    hub,
    item::Dataset,
    known::{KindFacts, MediaFacts, detail_words},
    lengths::Lengths,
    options::Options,
    request::WorkloadRequest,
    source::{self, Columns, is_of_rows},
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
/// Pixels of a side at most: what WebP has room for; JPEG and PNG have more.
const SIDE_MAX: u32 = 16_383;
/// Frames of a video at most.
const FRAMES_MAX: u32 = 4096;
/// The longest recording in milliseconds: six hours, less than memory holds.
const AUDIO_MS_MAX: f64 = 21_600_000.0;
/// How sizes, lengths and videos are written.
const SIZES: &str = "'image' takes a size as 640x360, 720p, 1080p or 4k, several with their shares \
     as 720p:0.7,1080p:0.3, or a folder or a file";
const SPANS: &str = "'audio' takes a length as 30s, 500ms or 5s-30s, several with their shares as \
     5s:0.7,30s:0.3, or a folder or a file";
const REELS: &str = "'video' takes a size and a number of frames as 640x360x16, several with their \
     shares as 640x360x16:0.7,640x360x64:0.3, or a folder or a file";

/// Options that say more of images, of audio, of videos, and of all media.
const OF_IMAGES: [&str; 4] = ["images", "image_kind", "image_format", "image_quality"];
const OF_AUDIO: [&str; 4] = ["audios", "audio_rate", "audio_bits", "audio_format"];
const OF_VIDEO: [&str; 4] = ["videos", "fps", "video_kind", "video_quality"];
const OF_ALL: [&str; 5] = ["media_pool", "media_reuse", "media_uuid", "media_turns", "media_at"];

/// Where media of a kind come from.
enum Origin {
    Made(Recipe),
    /// A folder of files, or one file.
    Folder(PathBuf),
    /// Files of rows.
    Rows(PathBuf),
    /// A data set of the hub.
    Hub(String),
}

impl Origin {
    /// Whether nothing is read.
    fn is_made(&self) -> bool {
        matches!(self, Origin::Made(_))
    }

    /// What it is called: the path is this machine's own, the name is what a result may tell.
    fn told(&self) -> Option<(String, &'static str)> {
        match self {
            Origin::Made(_) => None,
            Origin::Folder(folder) if folder.is_dir() => {
                Some((crate::error::file_name(folder), "files of a folder"))
            }
            Origin::Folder(file) => Some((crate::error::file_name(file), "one file")),
            Origin::Rows(path) => Some((crate::error::file_name(path), "files of a data set")),
            Origin::Hub(name) => Some((format!("hub:{name}"), "files of a data set")),
        }
    }

    /// The media that stand there, so many at most; files of rows are noted.
    fn read(
        self,
        kind: MediumKind,
        most: usize,
        request: &WorkloadRequest,
        facts: &mut WorkloadFacts,
    ) -> Result<Vec<Arc<Medium>>, WorkloadError> {
        let mut reader = Reader::new(request);
        let files = match self {
            Origin::Made(_) => return Ok(Vec::new()),
            Origin::Folder(folder) => return reader.folder(&folder, kind, most),
            Origin::Rows(path) => source::files_at(&path)?,
            Origin::Hub(name) => hub::named(&request.hub, kind.word(), &name, None)?,
        };
        facts.files.extend(source::describe(&files)?);
        reader.rows(files, kind, most, Columns::new(&request.columns)?)
    }
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
    pub(crate) fn take(
        options: &mut Options,
        detail: Option<ImageDetail>,
    ) -> Result<Option<Self>, WorkloadError> {
        let kinds = [take_images(options, detail)?, take_audio(options)?, take_video(options)?];
        let kinds: Vec<WantedKind> = kinds.into_iter().flatten().collect();
        if kinds.is_empty() {
            options.without(&OF_ALL, "media to apply to, as image=720p")?;
            return Ok(None);
        }
        let counts = kinds.iter().map(|kind| u64::from(kind.counts.max())).sum::<u64>();
        if counts > u64::from(MEDIA_MAX) {
            return Err(shape(
                &counts.to_string(),
                &format!("give {MEDIA_MAX} media a request at most"),
            ));
        }
        let pool =
            number(options, "media_pool", "a number of different media", 1..=POOL_MAX, "20")?;
        let reuse_text = options.text("media_reuse");
        let reuse = reuse_text.as_ref().map(|text| {
            let reason = || format!("'media_reuse' is {}", Reuse::USAGE);
            Reuse::read(text).ok_or_else(|| shape(&format!("media_reuse={text}"), &reason()))
        });
        let reuse = reuse.transpose()?;
        let names = options.word("media_uuid", &["no", "yes", "name"])?;
        let turns = options.word("media_turns", &["first", "every"])?;
        let place = options.word("media_at", &["start", "end"])?;
        if names == "name" && turns == "every" {
            return Err(shape("media_uuid=name", "names stand alone in first turns only"));
        }
        let is_all_made = kinds.iter().all(|kind| kind.origin.is_made());
        if let (Some(text), None, true) = (reuse_text, pool, is_all_made) {
            let reason = "say how many media there are, as media_pool=20";
            return Err(shape(&format!("media_reuse={text}"), reason));
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
                (origin, pool) => {
                    let is_fixed = wanted.counts.min() == wanted.counts.max();
                    let reuse = if is_fixed { Reuse::InOrder } else { Reuse::Uniform };
                    let reuse = self.reuse.unwrap_or(reuse);
                    law = Some(reuse);
                    // One after the other, no more are needed than requests will carry.
                    let carried = request.items_max.filter(|_| reuse == Reuse::InOrder);
                    let carried = carried.map(|items| items.saturating_mul(wanted.counts.max()));
                    let most = pool.unwrap_or(POOL_MAX).min(carried.unwrap_or(u32::MAX)) as usize;
                    let media = origin.read(wanted.kind, most, request, facts)?;
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

/// A number between bounds; `what` it counts and an `example` stand in the error.
fn number<T: FromStr + PartialOrd + fmt::Display>(
    options: &mut Options,
    name: &'static str,
    what: &str,
    bounds: RangeInclusive<T>,
    example: &str,
) -> Result<Option<T>, WorkloadError> {
    let (from, to) = (bounds.start(), bounds.end());
    let what = format!("{what} from {from} to {to}, as {name}={example}");
    let given = options.value::<T>(name, &what)?;
    match given {
        Some(wrong) if !bounds.contains(&wrong) => {
            Err(shape(&format!("{name}={wrong}"), &format!("'{name}' needs {what}")))
        }
        given => Ok(given),
    }
}

/// A law, or where files are: a folder, a file, or a data set. `usage` says how the option is written.
fn law_or_files<T>(
    name: &str,
    text: &str,
    usage: &str,
    read: impl Fn(&str) -> Result<T, Unread>,
    recipe: impl FnOnce(Shares<T>) -> Recipe,
) -> Result<Origin, WorkloadError> {
    if let Some(name) = text.strip_prefix("hub:") {
        return Ok(Origin::Hub(name.to_owned()));
    }
    let path = Path::new(text);
    let given = format!("{name}={text}");
    match Shares::read(text, usage, read) {
        Ok(law) => Ok(Origin::Made(recipe(law))),
        Err(_) if path.is_file() && is_of_rows(path) => Ok(Origin::Rows(path.to_owned())),
        Err(_) if path.exists() => Ok(Origin::Folder(path.to_owned())),
        Err(_) if text.contains('/') || is_of_rows(path) || is_a_medium(path) => {
            Err(shape(&given, &format!("there is no such file or folder; {usage}")))
        }
        Err(WorkloadError::Shape { text: part, reason }) if part != text => {
            Err(shape(&given, &format!("'{part}': {reason}")))
        }
        Err(WorkloadError::Shape { reason, .. }) => Err(shape(&given, &reason)),
        Err(error) => Err(error),
    }
}

/// Whether a name is that of an image, a recording or a video.
fn is_a_medium(path: &Path) -> bool {
    [MediumKind::Image, MediumKind::Audio, MediumKind::Video]
        .into_iter()
        .any(|kind| is_of_kind(path, kind))
}

/// How many in each item.
fn counts(options: &mut Options, name: &'static str) -> Result<Lengths, WorkloadError> {
    let Some(text) = options.text(name) else {
        return Lengths::fixed(1);
    };
    let wrong = || {
        let reason = format!(
            "'{name}' takes how many a request carries, 1 to {MEDIA_MAX}: as 2, 1-3, or several \
             with their weights as 1:8,4:2"
        );
        shape(&format!("{name}={text}"), &reason)
    };
    match text.parse::<Lengths>() {
        Ok(law) if law.max() <= MEDIA_MAX => Ok(law),
        // A file of weights says itself what is wrong with it.
        Err(error) if text.starts_with("histogram(") => Err(error),
        _ => Err(wrong()),
    }
}

fn take_images(
    options: &mut Options,
    detail: Option<ImageDetail>,
) -> Result<Option<WantedKind>, WorkloadError> {
    let Some(text) = options.text("image") else {
        options.without(&OF_IMAGES, "images to apply to, as image=720p")?;
        return Ok(None);
    };
    let (style, words) = take_style(options, "image_kind")?;
    let style = Style { detail, ..style };
    let origin = law_or_files("image", &text, SIZES, size, |law| Recipe::Image(law, style))?;
    let counts = counts(options, "images")?;
    let mut wanted = wanted(MediumKind::Image, counts, text, words, origin);
    wanted.style.push_str(&detail_words(detail));
    Ok(Some(wanted))
}

fn take_audio(options: &mut Options) -> Result<Option<WantedKind>, WorkloadError> {
    let Some(text) = options.text("audio") else {
        options.without(&OF_AUDIO, "audio to apply to, as audio=30s")?;
        return Ok(None);
    };
    let rate = number(options, "audio_rate", "samples a second", 4000..=192_000, "16000")?;
    let rate = rate.unwrap_or(16_000);
    let bits = if options.word("audio_bits", &["16", "24"])? == "24" { 24 } else { 16 };
    let format = match options.word("audio_format", &["wav", "flac"])? {
        "flac" => SoundFormat::Flac,
        _ => SoundFormat::Wav,
    };
    let voice = Voice { rate, bits, format };
    let words = format!("speech-like, {} of {bits} bits at {rate} Hz", format.mime());
    let origin = law_or_files("audio", &text, SPANS, span_ms, |law| Recipe::Audio(law, voice))?;
    let counts = counts(options, "audios")?;
    Ok(Some(wanted(MediumKind::Audio, counts, text, words, origin)))
}

fn take_video(options: &mut Options) -> Result<Option<WantedKind>, WorkloadError> {
    let Some(text) = options.text("video") else {
        options.without(&OF_VIDEO, "videos to apply to, as video=640x360x16")?;
        return Ok(None);
    };
    let (style, words) = take_style(options, "video_kind")?;
    let fps = number(options, "fps", "frames a second", 0.01..=240.0, "2")?.unwrap_or(2.0);
    let origin = law_or_files("video", &text, REELS, reel, |law| Recipe::Video(law, style, fps))?;
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
    let (law, style) = match origin.told() {
        None => (law, style),
        Some((name, what)) => (name, what.to_owned()),
    };
    WantedKind { kind, counts, law, style, origin }
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
    let quality = number::<u8>(options, name, "a quality", 1..=100, "85")?.unwrap_or(85);
    let (format, words) = match format {
        "png" => (PictureFormat::Png, "PNG".to_owned()),
        "webp" => (PictureFormat::Webp, "WebP without loss".to_owned()),
        _ => (PictureFormat::Jpeg, format!("JPEG of quality {quality}")),
    };
    Ok((Style { motif, format, quality, detail: None }, format!("{word} as {words}")))
}

fn size(text: &str) -> Result<(u32, u32), Unread> {
    if let Some((_, size)) = NAMED_SIZES.iter().find(|(name, _)| *name == text) {
        return Ok(*size);
    }
    let (width, height) = text.split_once('x').ok_or(Unread::Unknown)?;
    let side = |text: &str| text.trim().parse::<u32>().map_err(|_| Unread::Unknown);
    let (width, height) = (side(width)?, side(height)?);
    let pixels = u64::from(width) * u64::from(height);
    match pixels {
        0 => Err(Unread::Refused("a size has no side of 0; the smallest is 1x1".to_owned())),
        _ if width > SIDE_MAX || height > SIDE_MAX || pixels > PIXELS_MAX => {
            Err(Unread::Refused(format!(
                "a side has {SIDE_MAX} pixels at most and an image {} million, beyond which servers \
                 refuse it: {LARGEST} is about the largest",
                PIXELS_MAX / 1_000_000
            )))
        }
        _ => Ok((width, height)),
    }
}

fn span_ms(text: &str) -> Result<(u32, u32), Unread> {
    let ms = |text: &str| {
        let s = ifm_core::duration::seconds(text.trim()).map_err(|_| Unread::Unknown)?;
        match s * 1000.0 {
            ms if ms < 1.0 => Err(Unread::Refused("the shortest is 1ms".to_owned())),
            ms if ms > AUDIO_MS_MAX => {
                Err(Unread::Refused("the longest is 6h, as much as memory should hold".to_owned()))
            }
            ms => Ok(ms.round() as u32),
        }
    };
    let (from, to) = text.split_once('-').unwrap_or((text, text));
    let (from, to) = (ms(from)?, ms(to)?);
    match from <= to {
        true => Ok((from, to)),
        false => Err(Unread::Refused("write the shorter length first".to_owned())),
    }
}

fn reel(text: &str) -> Result<Reel, Unread> {
    let (size_text, frames) = text.rsplit_once('x').ok_or(Unread::Unknown)?;
    let size = match size_text.contains('x') || NAMED_SIZES.iter().any(|(it, _)| *it == size_text) {
        true => size(size_text)?,
        false => return Err(Unread::Unknown),
    };
    let frames = frames.trim().parse::<u32>().map_err(|_| Unread::Unknown)?;
    match (1..=FRAMES_MAX).contains(&frames) {
        true => Ok(Reel { size, frames }),
        false => Err(Unread::Refused(format!("a video has 1 to {FRAMES_MAX} frames"))),
    }
}
