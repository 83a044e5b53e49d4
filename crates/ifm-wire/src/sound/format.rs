//! What format sound has: by its first bytes, and by what the answer's head says.
//!
//! Not here: how long it is (`sound`).

use super::mp3;
use std::num::NonZeroU64;

/// Bytes needed to identify each format that has a signature.
const MARK_BYTES: usize = 12;
/// Samples of OpenAI's `pcm` and `pcm16`, in a second.
const SAMPLES_PER_S: u64 = 24_000;
/// Bytes of one of them.
const SAMPLE_BYTES: u64 = 2;
/// Minimum file size in a header that means "unknown", as in streams.
const OPEN_SIZE: u32 = 0x7fff_0000;

/// A format, with what is needed to compute a length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    /// Samples of one size.
    Samples {
        /// Bytes of a second.
        bytes_per_s: NonZeroU64,
        /// Bytes of sound that are still to come; absent where that is open.
        left: Option<u64>,
    },
    /// Frames of MPEG audio, layer III.
    Mp3,
    /// One whose length is not known here.
    Other,
}

/// What the head of an answer says of the format.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Declared {
    /// Nothing.
    #[default]
    Nothing,
    /// Plain samples of 16 bits.
    Samples {
        /// Bytes of a second.
        bytes_per_s: NonZeroU64,
    },
    Mp3,
    Other,
}

/// What the first bytes say.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Told {
    NeedMore,
    /// The format, and the bytes before the sound.
    Format(Format, usize),
}

impl Declared {
    /// What a header `Content-Type` says.
    pub(super) fn of(content_type: &str) -> Declared {
        let mut parts = content_type.split(';').map(|part| part.trim().to_ascii_lowercase());
        match parts.next().unwrap_or_default().as_str() {
            "audio/pcm" | "audio/x-pcm" | "audio/l16" | "audio/raw" => {
                let (mut rate, mut channels) = (SAMPLES_PER_S, 1);
                for (name, value) in parts.filter_map(|part| {
                    let (name, value) = part.split_once('=')?;
                    Some((name.to_owned(), value.trim_matches('"').parse::<u64>().ok()?))
                }) {
                    match name.as_str() {
                        "rate" => rate = value,
                        "channels" => channels = value,
                        _ => {}
                    }
                }
                let bytes = rate.saturating_mul(channels).saturating_mul(SAMPLE_BYTES);
                NonZeroU64::new(bytes)
                    .map_or(Declared::Other, |bytes_per_s| Declared::Samples { bytes_per_s })
            }
            "audio/mpeg" | "audio/mp3" => Declared::Mp3,
            "audio/wav" | "audio/x-wav" | "audio/wave" | "audio/vnd.wave" => Declared::Nothing,
            other if other.starts_with("audio/") => Declared::Other,
            _ => Declared::Nothing,
        }
    }
}

/// Detects the format. A WAV header overrides the declared format.
pub(super) fn told(head: &[u8], declared: Declared) -> Told {
    if head.len() < MARK_BYTES {
        return Told::NeedMore;
    }
    if head.starts_with(b"RIFF") && head.get(8..12) == Some(b"WAVE") {
        return wav(head);
    }
    Told::Format(without_head(head, declared), 0)
}

/// The same of so few bytes that no head is whole.
pub(super) fn told_of_few(head: &[u8], declared: Declared) -> (Format, usize) {
    if head.starts_with(b"RIFF") {
        return (Format::Other, head.len());
    }
    (without_head(head, declared), 0)
}

fn without_head(head: &[u8], declared: Declared) -> Format {
    let is_aac = matches!(head, [0xff, second, ..] if second & 0xf6 == 0xf0);
    match declared {
        Declared::Samples { bytes_per_s } => Format::Samples { bytes_per_s, left: None },
        Declared::Mp3 => Format::Mp3,
        Declared::Other => Format::Other,
        Declared::Nothing if head.starts_with(b"ID3") || mp3::is_frame(head) => Format::Mp3,
        Declared::Nothing if head.starts_with(b"OggS") || head.starts_with(b"fLaC") || is_aac => {
            Format::Other
        }
        // Of the formats that APIs of speech document, only plain samples have no mark.
        Declared::Nothing => NonZeroU64::new(SAMPLES_PER_S * SAMPLE_BYTES)
            .map_or(Format::Other, |bytes_per_s| Format::Samples { bytes_per_s, left: None }),
    }
}

/// Reads the head of a WAV file: the chunks before its sound.
fn wav(head: &[u8]) -> Told {
    let u32_at = |at: usize| {
        let bytes = head.get(at..at + 4)?;
        Some(u32::from_le_bytes(bytes.try_into().ok()?))
    };
    let mut at = MARK_BYTES;
    let mut bytes_per_s = None;
    loop {
        let (Some(name), Some(size)) = (head.get(at..at + 4), u32_at(at + 4)) else {
            return Told::NeedMore;
        };
        let start = at + 8;
        if name == b"data" {
            let left = (1..OPEN_SIZE).contains(&size).then_some(u64::from(size));
            let format = match bytes_per_s.and_then(NonZeroU64::new) {
                Some(bytes_per_s) => Format::Samples { bytes_per_s, left },
                None => Format::Other,
            };
            return Told::Format(format, start);
        }
        if name == b"fmt " {
            let Some(average) = u32_at(start + 8) else { return Told::NeedMore };
            bytes_per_s = Some(u64::from(average));
        }
        // A chunk of an odd size has a byte of padding.
        let Some(next) = start.checked_add(size as usize + size as usize % 2) else {
            return Told::Format(Format::Other, start);
        };
        at = next;
    }
}
