//! Images, recordings and videos in a chat: what they cost in tokens and in time.
//!
//! No model here sees or hears. A medium becomes as many tokens as a rule says, which follow from its
//! content, so that the same one again is the same prompt; and it takes a stated time the first time
//! that it is seen. Servers keep what they have worked out of a medium, and this one remembers that it
//! has.
//!
//! Not here: which files say what about themselves (`file`).

mod file;

use std::{
    collections::HashMap,
    hash::{DefaultHasher, Hash as _, Hasher as _},
    str::FromStr,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Map, Value, json};

use crate::error::ApiError;

/// Media that are remembered; when there are more, all are forgotten.
const REMEMBERED_MAX: usize = 4096;
/// Side of what Qwen2-VL makes a token of, pixels, and the fewest and most tokens of an image.
const QWEN_SIDE: f64 = 28.0;
const QWEN_TOKENS_MIN: f64 = 4.0;
const QWEN_TOKENS_MAX: f64 = 1280.0;
/// Frames of a video that become one for Qwen2-VL.
const QWEN_FRAMES: usize = 2;

/// What media cost.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MediaOptions {
    /// Tokens of an image, and of each frame of a video.
    pub image_tokens: ImageTokens,
    /// Tokens of a second of a recording.
    pub audio_tokens_s: f64,
    /// Time for a million pixels, milliseconds.
    pub ms_per_mpixel: f64,
    /// Whether what was seen before costs no time.
    pub has_cache: bool,
}

impl Default for MediaOptions {
    /// 256 tokens an image, 100 a second of sound, no time, with a cache.
    fn default() -> Self {
        Self {
            image_tokens: ImageTokens::Each(256),
            audio_tokens_s: 100.0,
            ms_per_mpixel: 0.0,
            has_cache: true,
        }
    }
}

/// How an image becomes tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImageTokens {
    /// So many, whatever its size.
    Each(u32),
    /// By its size, as Qwen2-VL: one for 28 x 28 pixels, at most 1280. Two frames of a video are one.
    Qwen2Vl,
}

impl FromStr for ImageTokens {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        match word {
            "qwen2-vl" => Ok(Self::Qwen2Vl),
            number => number
                .parse()
                .map(Self::Each)
                .map_err(|_| format!("\"{word}\" is neither a number of tokens nor qwen2-vl")),
        }
    }
}

impl ImageTokens {
    /// Tokens of a list of frames; an image is one.
    fn of(self, frames: &[(u32, u32)]) -> u32 {
        match self {
            Self::Each(tokens) => tokens.saturating_mul(frames.len() as u32),
            Self::Qwen2Vl => {
                frames.chunks(QWEN_FRAMES).filter_map(|pair| pair.first()).map(qwen_tokens).sum()
            }
        }
    }
}

/// Each side to the nearest multiple, and smaller or larger where that is too many tokens or too few.
fn qwen_tokens((width, height): &(u32, u32)) -> u32 {
    let (width, height) = (f64::from(*width) / QWEN_SIDE, f64::from(*height) / QWEN_SIDE);
    let nearest = |side: f64| side.round_ties_even().max(1.0);
    let tokens = nearest(width) * nearest(height);
    let scale = |tokens: f64| (tokens / (width * height)).sqrt();
    let tokens = if tokens > QWEN_TOKENS_MAX {
        let scale = scale(QWEN_TOKENS_MAX);
        (width * scale).floor().max(1.0) * (height * scale).floor().max(1.0)
    } else if tokens < QWEN_TOKENS_MIN {
        let scale = scale(QWEN_TOKENS_MIN);
        (width * scale).ceil() * (height * scale).ceil()
    } else {
        tokens
    };
    tokens as u32
}

/// What a medium is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Kind {
    Image,
    Audio,
    Video,
}

impl Kind {
    fn word(self) -> &'static str {
        match self {
            Self::Image => "image",
            Self::Audio => "audio",
            Self::Video => "video",
        }
    }
}

/// A medium that was looked into.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Seen {
    kind: Kind,
    /// Follows from the content.
    digest: u64,
    tokens: u32,
    mpixels: f64,
}

/// What media cost, and what was seen of them.
#[derive(Debug)]
pub(crate) struct Media {
    options: MediaOptions,
    remembered: Mutex<HashMap<Name, Seen>>,
    queries: AtomicU64,
    hits: AtomicU64,
}

/// By what a medium is known: a name that came with it, or its content.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Name {
    Given(Kind, String),
    Content(Kind, u64),
}

/// The media of one prompt.
#[derive(Debug, Clone, Default)]
pub(crate) struct Taken {
    seen: Vec<Seen>,
    /// How long they take.
    pub(crate) delay: Duration,
}

impl Media {
    pub(crate) fn new(options: MediaOptions) -> Self {
        Self {
            options,
            remembered: Mutex::default(),
            queries: AtomicU64::new(0),
            hits: AtomicU64::new(0),
        }
    }

    /// Media that were looked up, and those that were known.
    pub(crate) fn looked_up(&self) -> (u64, u64) {
        (self.queries.load(Ordering::Relaxed), self.hits.load(Ordering::Relaxed))
    }

    /// Takes a part of a message; whether it is a medium.
    pub(crate) fn take(&self, part: &Value, taken: &mut Taken) -> Result<bool, ApiError> {
        let Some((kind, source)) = source_of(part) else { return Ok(false) };
        let given = part["uuid"].as_str().map(|name| Name::Given(kind, name.to_owned()));
        let content = source.map(|source| (source, Name::Content(kind, digest_of(source))));
        let name = given.or_else(|| content.as_ref().map(|(_, name)| name.clone()));
        let Some(name) = name else {
            return Err(refusal(kind, "there is neither a file nor a name of one"));
        };
        self.queries.fetch_add(1, Ordering::Relaxed);
        let mut remembered = self.remembered.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(seen) = remembered.get(&name).filter(|_| self.options.has_cache) {
            self.hits.fetch_add(1, Ordering::Relaxed);
            taken.seen.push(*seen);
            return Ok(true);
        }
        let Some((source, _)) = content else {
            return Err(refusal(kind, "nothing is cached under its uuid; send the file once"));
        };
        let seen = self.look(kind, source).map_err(|why| refusal(kind, &why))?;
        if remembered.len() >= REMEMBERED_MAX {
            remembered.clear();
        }
        remembered.insert(name, seen);
        taken.delay += Duration::from_secs_f64(seen.mpixels * self.options.ms_per_mpixel / 1000.0);
        taken.seen.push(seen);
        Ok(true)
    }

    fn look(&self, kind: Kind, source: &str) -> Result<Seen, String> {
        let data = match source.strip_prefix("data:") {
            Some(url) => {
                let (_, data) =
                    url.split_once(";base64,").ok_or("only data URLs in base64 are read here")?;
                data
            }
            None if source.contains("://") => {
                return Err("this server fetches nothing; send it as a data URL".to_owned());
            }
            None => source,
        };
        let decode =
            |data: &str| STANDARD.decode(data).map_err(|_| "it is not valid base64".to_owned());
        let size = |data: &str| {
            file::size(&decode(data)?).ok_or_else(|| "cannot identify image file".to_owned())
        };
        let frames: Vec<(u32, u32)> = match kind {
            Kind::Image => vec![size(data)?],
            // A list of frames needs no video decoder.
            Kind::Video => data.split(',').map(size).collect::<Result<_, _>>()?,
            Kind::Audio => Vec::new(),
        };
        let tokens = match kind {
            Kind::Audio => {
                let seconds = file::seconds(&decode(data)?)
                    .ok_or("only WAV files are read here, and this is none")?;
                (seconds * self.options.audio_tokens_s).ceil() as u32
            }
            Kind::Image | Kind::Video => self.options.image_tokens.of(&frames),
        };
        let pixels: u64 = frames.iter().map(|(w, h)| u64::from(*w) * u64::from(*h)).sum();
        let digest = digest_of(source);
        Ok(Seen { kind, digest, tokens, mpixels: pixels as f64 / 1e6 })
    }
}

impl Taken {
    /// Tokens of each medium, in order, of a vocabulary of so many: they follow from its content.
    pub(crate) fn ids(&self, vocabulary: u32) -> impl Iterator<Item = Vec<u32>> {
        self.seen.iter().map(move |seen| {
            let id = |place: u32| {
                let mut hasher = DefaultHasher::new();
                (seen.digest, place).hash(&mut hasher);
                (hasher.finish() % u64::from(vocabulary.max(1))) as u32
            };
            (0..seen.tokens).map(id).collect()
        })
    }

    /// Tokens by kind, as vLLM tells them; absent where there are no media.
    pub(crate) fn told(&self) -> Option<Value> {
        let mut tokens = Map::new();
        for kind in [Kind::Image, Kind::Audio, Kind::Video] {
            let of_kind = self.seen.iter().filter(|seen| seen.kind == kind);
            let sum: u64 = of_kind.clone().map(|seen| u64::from(seen.tokens)).sum();
            if of_kind.count() > 0 {
                tokens.insert(kind.word().to_owned(), json!(sum));
            }
        }
        (!tokens.is_empty()).then_some(Value::Object(tokens))
    }
}

/// What a part is and where its file stands, if that is there; absent for what is no medium.
fn source_of(part: &Value) -> Option<(Kind, Option<&str>)> {
    let word = part["type"].as_str()?;
    let field = &part[word];
    let url = || field["url"].as_str().or_else(|| field.as_str());
    match word {
        "image_url" => Some((Kind::Image, url())),
        "audio_url" => Some((Kind::Audio, url())),
        "video_url" => Some((Kind::Video, url())),
        "input_audio" => Some((Kind::Audio, field["data"].as_str())),
        _ => None,
    }
}

fn digest_of(source: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    source.hash(&mut hasher);
    hasher.finish()
}

fn refusal(kind: Kind, why: &str) -> ApiError {
    ApiError::field("messages", format!("Failed to load {}: {why}.", kind.word()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use file::tests::{png_head, wav};

    fn url(mime: &str, files: &[Vec<u8>]) -> String {
        let files: Vec<String> = files.iter().map(|file| STANDARD.encode(file)).collect();
        format!("data:{mime};base64,{}", files.join(","))
    }

    fn image(width: u32, height: u32) -> Value {
        let url = url("image/png", &[png_head(width, height)]);
        json!({"type": "image_url", "image_url": {"url": url}})
    }

    fn take(media: &Media, part: &Value) -> Result<Taken, String> {
        let mut taken = Taken::default();
        let is_medium = media.take(part, &mut taken);
        is_medium.map(|_| taken).map_err(|error| error.to_json().to_string())
    }

    #[test]
    fn pictures_are_as_many_tokens_as_qwen2_vl_makes_of_them() {
        for (width, height, tokens) in [
            (56, 56, 4),
            (100, 100, 16),
            (640, 360, 299),
            (1280, 720, 1196),
            (1920, 1080, 1222),
            (10, 10, 4),
        ] {
            let frames = [(width, height)];
            assert_eq!(ImageTokens::Qwen2Vl.of(&frames), tokens, "{width}x{height}");
        }
        // Four frames of a video, two and two.
        assert_eq!(ImageTokens::Qwen2Vl.of(&[(112, 112); 4]), 32);
        assert_eq!(ImageTokens::Each(7).of(&[(112, 112); 4]), 28);
        assert_eq!("qwen2-vl".parse(), Ok(ImageTokens::Qwen2Vl));
        assert!("gemma".parse::<ImageTokens>().is_err());
    }

    #[test]
    fn the_same_picture_costs_time_once_and_is_the_same_tokens() {
        let options = MediaOptions { ms_per_mpixel: 10.0, ..MediaOptions::default() };
        let media = Media::new(options);
        let first = take(&media, &image(1000, 500)).expect("an image");
        let again = take(&media, &image(1000, 500)).expect("an image");
        assert_eq!((first.delay, again.delay), (Duration::from_millis(5), Duration::ZERO));
        let ids = |taken: &Taken| taken.ids(1000).collect::<Vec<_>>();
        assert_eq!(ids(&first), ids(&again));
        assert_ne!(ids(&first), ids(&take(&media, &image(500, 1000)).expect("another")));
        assert_eq!(first.told(), Some(json!({"image": 256})));
        assert_eq!(media.looked_up(), (3, 1));
        let media = Media::new(MediaOptions { has_cache: false, ..options });
        let delays = [(); 2].map(|()| take(&media, &image(1000, 500)).expect("an image").delay);
        assert_eq!(delays, [Duration::from_millis(5); 2]);
    }

    #[test]
    fn sound_counts_by_its_length_films_by_their_frames_and_names_by_what_they_named() {
        let media = Media::new(MediaOptions::default());
        let data = STANDARD.encode(wav(20));
        let sound = json!({"type": "input_audio", "input_audio": {"data": data, "format": "wav"}});
        assert_eq!(take(&media, &sound).expect("sound").told(), Some(json!({"audio": 250})));
        let film = url("video/png", &[png_head(112, 112), png_head(112, 112)]);
        let film = json!({"type": "video_url", "video_url": {"url": film}});
        assert_eq!(take(&media, &film).expect("a video").told(), Some(json!({"video": 512})));
        let mut named = image(50, 50);
        named["uuid"] = json!("u-1");
        take(&media, &named).expect("an image with a name");
        named["image_url"] = Value::Null;
        assert_eq!(take(&media, &named).expect("by name").told(), Some(json!({"image": 256})));
        named["uuid"] = json!("u-2");
        assert!(take(&media, &named).unwrap_err().contains("send the file once"));
        assert_eq!(take(&media, &json!({"type": "text"})).expect("no medium").told(), None);
    }

    #[test]
    fn what_is_no_file_is_refused_in_words() {
        let media = Media::new(MediaOptions::default());
        let image = |url: &str| json!({"type": "image_url", "image_url": {"url": url}});
        for (part, says) in [
            (image("data:image/png;base64,!!!"), "Failed to load image: it is not valid base64"),
            (image("data:image/png;base64,aGVsbG8="), "cannot identify image file"),
            (image("https://example.com/a.png"), "fetches nothing"),
            (image("data:image/png,abc"), "data URLs in base64"),
            (json!({"type": "image_url", "image_url": null}), "neither a file nor a name"),
            (
                json!({"type": "input_audio", "input_audio": {"data": "SUQz", "format": "mp3"}}),
                "Failed to load audio: only WAV",
            ),
        ] {
            let error = take(&media, &part).expect_err(says);
            assert!(error.contains(says), "{error}");
        }
    }
}
