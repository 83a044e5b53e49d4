//! Small images of media, for a person who wants to see what was sent.
//!
//! Not here: which media, and where the small images stand in a report.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use ifm_core::contained::contained;
use ifm_core::{Carried, Medium, MediumKind};
use ifm_made::code::{PictureFormat, encode};

use super::pixels::Pixels;

/// The longer side of a small image in pixels.
const SIDE: usize = 192;
/// The largest small image in bytes.
const BYTES_MAX: usize = 20_000;
/// Points of an envelope.
const POINTS: usize = 96;

/// A small image of a medium.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Thumbnail {
    /// Its IANA media type: `image/jpeg`, or `image/svg+xml` for a line.
    pub mime: &'static str,
    /// The file, 20 kB at most.
    pub bytes: Vec<u8>,
}

/// Makes a small image: of an image or a video's first frame itself, of a recording in WAV how loud
/// it is along its length. Nothing where only an address was sent, and where the format is not
/// decoded here.
pub fn thumbnail(medium: &Medium) -> Option<Thumbnail> {
    let file = match &medium.carried {
        Carried::File(bytes) => bytes.to_vec(),
        Carried::Base64(bytes) => {
            let first = bytes.split(|byte| *byte == b',').next()?;
            STANDARD.decode(first).ok()?
        }
        Carried::Url(_) | Carried::Name => return None,
    };
    match medium.kind {
        // A decoder may panic on a damaged file, and a run does not end for a small image.
        MediumKind::Image | MediumKind::Video => contained(|| picture(&file)).ok()?,
        MediumKind::Audio => contained(|| envelope(&file)).ok()?,
    }
}

fn picture(file: &[u8]) -> Option<Thumbnail> {
    let small = Pixels::of(file)?.smaller(SIDE);
    let size = (small.width as u32, small.height as u32);
    // Noise is as large as it can be: the quality gives way.
    [80, 50, 25, 10, 1].into_iter().find_map(|quality| {
        let bytes = encode(&small.rgb, size, PictureFormat::Jpeg, quality).ok()?;
        (bytes.len() <= BYTES_MAX).then_some(Thumbnail { mime: "image/jpeg", bytes })
    })
}

/// How loud WAV of 16 bits is along its length, as a line.
fn envelope(file: &[u8]) -> Option<Thumbnail> {
    let data = file.windows(4).position(|four| four == b"data")? + 8;
    let bits = u16::from_le_bytes([*file.get(34)?, *file.get(35)?]);
    let width = usize::from(bits / 8).clamp(1, 4);
    // The highest two bytes of each sample tell how loud it is.
    let samples: Vec<i32> = file
        .get(data..)?
        .chunks_exact(width)
        .map(|sample| match sample {
            [.., low, high] => i32::from(i16::from_le_bytes([*low, *high])),
            [only] => (i32::from(*only) - 128) * 256,
            [] => 0,
        })
        .collect();
    let share = samples.len().div_ceil(POINTS).max(1);
    let peaks: Vec<i32> = samples
        .chunks(share)
        .map(|part| part.iter().map(|sample| sample.abs()).max().unwrap_or(0))
        .collect();
    let most = peaks.iter().copied().max().unwrap_or(1).max(1);
    let bars = peaks.iter().enumerate().map(|(place, peak)| {
        let half = (peak * 50 / most).max(1);
        format!("M{} {}V{}", place * 2 + 1, 54 - half, 54 + half)
    });
    let path = bars.collect::<String>();
    let svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {SIDE} 108\"><path d=\"{path}\" \
         stroke=\"#607080\" stroke-width=\"1.5\"/></svg>"
    );
    Some(Thumbnail { mime: "image/svg+xml", bytes: svg.into_bytes() })
}
