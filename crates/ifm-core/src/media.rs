//! Images, recordings and videos in prompts, and what came of them.
//!
//! Not here: how they are made or read (`ifm-workload`), how an API writes them (`ifm-wire`).

use serde::{Serialize, Serializer};
use std::fmt;
use std::sync::Arc;

crate::vocabulary! {
    /// What a medium is.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum MediumKind {
        /// One image.
        Image = "image",
        /// A recording.
        Audio = "audio",
        /// A video, or a list of its frames.
        Video = "video",
    }
}
crate::vocabulary::stored_as_word!(MediumKind, "kind of medium");

crate::vocabulary! {
    /// How closely a model examines an image: OpenAI's `detail`.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum ImageDetail {
        /// A small copy of it, for few tokens.
        Low = "low",
        /// All of it.
        High = "high",
        /// As the server decides.
        Auto = "auto",
    }
}
crate::vocabulary::stored_as_word!(ImageDetail, "detail of images");

/// One image, recording or video. It is made once and shared by all requests that carry it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Medium {
    /// What it is.
    pub kind: MediumKind,
    /// Its IANA media type: `image/jpeg`. Of a video as a list of frames that of a frame.
    pub mime: String,
    /// SHA-256 of the file, or of the address where only that is sent.
    #[serde(serialize_with = "as_hex")]
    pub sha256: [u8; 32],
    /// Pixels across and down, of an image or of each frame; absent for sound, and where the file
    /// was not looked into.
    pub size: Option<(u32, u32)>,
    /// Frames of a video; absent for what has none, and where the file was not looked into.
    pub frames: Option<u32>,
    /// Length of a recording or a video, nanoseconds; absent for images, and where the file does
    /// not tell.
    pub duration_ns: Option<u64>,
    /// Size of the file, bytes; absent where only an address is sent.
    pub file_bytes: Option<u64>,
    /// The name under which a server may know it (vLLM's `uuid`), if one is sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uuid: Option<String>,
    /// How closely the model examines an image, if specified.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<ImageDetail>,
    /// What a request carries of it.
    #[serde(skip)]
    pub carried: Carried,
}

/// What a request carries of a medium.
#[derive(Clone, PartialEq, Eq)]
pub enum Carried {
    /// The file in base64, as written in JSON. A video sent as frames is its frames, separated by
    /// commas.
    Base64(Arc<[u8]>),
    /// The file itself, as written in a form.
    File(Arc<[u8]>),
    /// Its address, which the server fetches.
    Url(String),
    /// Nothing but its name: the server has it.
    Name,
}

impl Carried {
    /// The bytes that requests share, if there are any.
    pub fn bytes(&self) -> Option<&Arc<[u8]>> {
        match self {
            Carried::Base64(bytes) | Carried::File(bytes) => Some(bytes),
            Carried::Url(_) | Carried::Name => None,
        }
    }
}

impl fmt::Debug for Carried {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Carried::Base64(bytes) => write!(out, "Base64({} bytes)", bytes.len()),
            Carried::File(bytes) => write!(out, "File({} bytes)", bytes.len()),
            Carried::Url(url) => write!(out, "Url({url})"),
            Carried::Name => write!(out, "Name"),
        }
    }
}

/// A medium and its position in the text of its message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Placed {
    /// Bytes of text before it: 0 puts it first, the text's length last. A boundary of characters;
    /// media at one position keep the order of the list.
    pub at: usize,
    /// The medium.
    #[serde(serialize_with = "as_it_is")]
    pub medium: Arc<Medium>,
}

/// What a request carried in addition to text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SentMedia {
    /// Images.
    pub images: u32,
    /// Pixels of all images and frames; absent where one of them was not looked into.
    pub pixels: Option<u64>,
    /// Recordings.
    pub audios: u32,
    /// Length of all recordings, nanoseconds; absent if unknown for one of them.
    pub audio_ns: Option<u64>,
    /// Videos.
    pub videos: u32,
    /// Frames of all videos; absent where one was not looked into.
    pub frames: Option<u32>,
    /// Bytes of all files, before base64; absent where an address replaces a file.
    pub file_bytes: Option<u64>,
    /// How many of them an earlier request of the run had carried, or occurred in it before: what a
    /// cache that forgets nothing would know.
    pub seen: u32,
}

impl SentMedia {
    /// What these media are together. `seen` of them had been sent before.
    pub fn of<'media>(media: impl Iterator<Item = &'media Medium>, seen: u32) -> SentMedia {
        let mut sum = SentMedia {
            pixels: Some(0),
            audio_ns: Some(0),
            frames: Some(0),
            file_bytes: Some(0),
            seen,
            ..SentMedia::default()
        };
        for medium in media {
            let frames = match medium.kind {
                MediumKind::Image => {
                    sum.images += 1;
                    Some(1)
                }
                MediumKind::Audio => {
                    sum.audios += 1;
                    sum.audio_ns = added(sum.audio_ns, medium.duration_ns);
                    Some(0)
                }
                MediumKind::Video => {
                    sum.videos += 1;
                    sum.frames = sum.frames.zip(medium.frames).map(|(sum, it)| sum + it);
                    medium.frames
                }
            };
            if medium.kind != MediumKind::Audio {
                let area = medium.size.map(|(width, height)| u64::from(width) * u64::from(height));
                let pixels = area.zip(frames).map(|(area, frames)| area * u64::from(frames));
                sum.pixels = added(sum.pixels, pixels);
            }
            sum.file_bytes = added(sum.file_bytes, medium.file_bytes);
        }
        sum
    }
}

fn added(sum: Option<u64>, more: Option<u64>) -> Option<u64> {
    Some(sum?.saturating_add(more?))
}

/// Sound that a server made, as it arrived.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MadeAudio {
    /// When the first byte of sound arrived (the header of a sound file does not count).
    pub first_ns: u64,
    /// Length of the sound, nanoseconds; absent where its format does not contain it.
    pub audio_ns: Option<u64>,
    /// Bytes of sound, before base64.
    pub bytes: u64,
    /// How long a listener who began with the first byte heard nothing, because the sound that had
    /// arrived was at its end, nanoseconds; absent where the length is.
    pub silence_ns: Option<u64>,
    /// How often that happened; absent likewise.
    pub silences: Option<u32>,
}

crate::vocabulary! {
    /// Whether an answer keeps to the form that was asked for.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum Validity {
        /// It does.
        Valid = "valid",
        /// It does not.
        Invalid = "invalid",
        /// It was cut off by a limit of its length before it could.
        Cut = "cut",
        /// It could not be checked here: a grammar, or an answer that failed.
        Unchecked = "unchecked",
    }
}
crate::vocabulary::stored_as_word!(Validity, "validity");

fn as_it_is<S: Serializer>(medium: &Medium, serializer: S) -> Result<S::Ok, S::Error> {
    medium.serialize(serializer)
}

fn as_hex<S: Serializer>(bytes: &[u8; 32], serializer: S) -> Result<S::Ok, S::Error> {
    let text: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    serializer.serialize_str(&text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn medium(kind: MediumKind) -> Medium {
        Medium {
            kind,
            mime: String::new(),
            sha256: [7; 32],
            size: None,
            frames: None,
            duration_ns: None,
            file_bytes: None,
            uuid: None,
            detail: None,
            carried: Carried::Name,
        }
    }

    #[test]
    fn sums_are_absent_where_a_part_is() {
        let image =
            Medium { size: Some((640, 360)), file_bytes: Some(50), ..medium(MediumKind::Image) };
        let video = Medium { frames: Some(4), ..image.clone() };
        let video = Medium { kind: MediumKind::Video, ..video };
        let audio = Medium { duration_ns: Some(9), ..medium(MediumKind::Audio) };
        let sum = SentMedia::of([&image, &video].into_iter(), 1);
        assert_eq!((sum.images, sum.videos, sum.frames), (1, 1, Some(4)));
        assert_eq!((sum.pixels, sum.file_bytes, sum.seen), (Some(5 * 640 * 360), Some(100), 1));
        let sum = SentMedia::of([&image, &audio].into_iter(), 0);
        assert_eq!((sum.audio_ns, sum.pixels, sum.file_bytes), (Some(9), Some(640 * 360), None));
        let unknown = medium(MediumKind::Video);
        let sum = SentMedia::of([&image, &unknown].into_iter(), 0);
        assert_eq!((sum.pixels, sum.frames), (None, None));
    }

    #[test]
    fn a_medium_is_written_by_its_digest_and_not_by_its_bytes() {
        let carried = Carried::Base64(vec![b'A'; 1 << 20].into());
        let text = serde_json::to_string(&Medium { carried, ..medium(MediumKind::Image) }).unwrap();
        assert!(text.contains(&"07".repeat(32)) && text.len() < 300, "{text}");
    }
}
