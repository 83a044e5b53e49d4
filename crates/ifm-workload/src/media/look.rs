//! What a file holds, by its own head: the kind, the pixels, the length.
//!
//! Files are walked through from their first byte to their last as far as their format can be without
//! decoding, so that one that was cut off, that is empty or that is something else is found before the
//! load begins. What stands between the marks is not decoded.
//!
//! Not here: decoding (`sheet`), where files come from (`file`).

use ifm_core::MediumKind;

use super::made;

/// Pixels of one image at most: twice what Pillow, which most servers read images with, warns of;
/// beyond it refuses.
pub(super) const PIXELS_MAX: u64 = 2 * 89_478_485;

/// What a file holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Look {
    pub kind: MediumKind,
    pub mime: &'static str,
    pub size: Option<(u32, u32)>,
    pub duration_ns: Option<u64>,
}

impl Look {
    fn picture(mime: &'static str, size: (u32, u32)) -> Self {
        Self { kind: MediumKind::Image, mime, size: Some(size), duration_ns: None }
    }

    fn sound(mime: &'static str, samples: u64, rate: u64) -> Self {
        let duration_ns = made::samples_ns(samples, rate);
        Self { kind: MediumKind::Audio, mime, size: None, duration_ns }
    }
}

/// Looks into a file.
///
/// # Errors
/// What is wrong with it.
pub(crate) fn look(bytes: &[u8]) -> Result<Look, String> {
    let cut = || "the file was cut off".to_owned();
    let found = match bytes {
        [] => return Err("the file is empty".to_owned()),
        [0x89, b'P', b'N', b'G', ..] => Look::picture("image/png", png(bytes).ok_or_else(cut)?),
        [0xff, 0xd8, 0xff, ..] => Look::picture("image/jpeg", jpeg(bytes)?),
        [b'G', b'I', b'F', b'8', ..] => Look::picture("image/gif", gif(bytes).ok_or_else(cut)?),
        [b'R', b'I', b'F', b'F', ..] => riff(bytes)?,
        [b'f', b'L', b'a', b'C', ..] => flac(bytes).ok_or_else(cut)?,
        [b'I', b'D', b'3', ..] | [0xff, 0xe0..=0xff, ..] => mp3(bytes)?,
        [b'O', b'g', b'g', b'S', ..] => unmeasured(MediumKind::Audio, "audio/ogg"),
        [0x1a, 0x45, 0xdf, 0xa3, ..] => unmeasured(MediumKind::Video, "video/webm"),
        _ if slice(bytes, 4, 4) == Some(b"ftyp") => match slice(bytes, 8, 3) {
            Some(b"M4A") => unmeasured(MediumKind::Audio, "audio/mp4"),
            _ => unmeasured(MediumKind::Video, "video/mp4"),
        },
        _ => return Err(unknown(bytes)),
    };
    match found.size {
        Some((0, _) | (_, 0)) => Err("the image has no pixels".to_owned()),
        Some((width, height)) if u64::from(width) * u64::from(height) > PIXELS_MAX => Err(format!(
            "the image has {width} x {height} pixels; servers refuse more than {} million",
            PIXELS_MAX / 1_000_000
        )),
        _ => Ok(found),
    }
}

/// A format whose head is not read here: its length stays unknown.
fn unmeasured(kind: MediumKind, mime: &'static str) -> Look {
    Look { kind, mime, size: None, duration_ns: None }
}

fn unknown(bytes: &[u8]) -> String {
    let start = bytes.get(..bytes.len().min(64)).unwrap_or_default();
    let is_text = start.iter().all(|byte| matches!(byte, b' '..=b'~' | b'\n' | b'\r' | b'\t'));
    let what = if is_text { "it is a text" } else { "its first bytes are of no known format" };
    format!("it is no image, recording or video that is known here: {what}")
}

fn slice(bytes: &[u8], from: usize, count: usize) -> Option<&[u8]> {
    bytes.get(from..from.checked_add(count)?)
}

/// A number, the highest byte first.
fn big(bytes: &[u8], from: usize, count: usize) -> Option<u64> {
    Some(slice(bytes, from, count)?.iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte)))
}

/// A number, the lowest byte first.
fn little(bytes: &[u8], from: usize, count: usize) -> Option<u64> {
    Some(slice(bytes, from, count)?.iter().rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte)))
}

/// Chunks to the one that ends it.
fn png(bytes: &[u8]) -> Option<(u32, u32)> {
    if slice(bytes, 12, 4)? != b"IHDR" {
        return None;
    }
    let size = (big(bytes, 16, 4)? as u32, big(bytes, 20, 4)? as u32);
    let mut place = 8;
    loop {
        let length = big(bytes, place, 4)? as usize;
        let name = slice(bytes, place + 4, 4)?;
        // The length, the name, and a checksum behind.
        let next = place.checked_add(length)?.checked_add(12)?;
        bytes.get(..next)?;
        if name == b"IEND" {
            return Some(size);
        }
        place = next;
    }
}

/// Segments to the frame's, and a mark at the end. Some writers append more to an image, so the mark
/// may stand anywhere behind the frame.
fn jpeg(bytes: &[u8]) -> Result<(u32, u32), String> {
    let broken = || "the file was cut off before the image's size".to_owned();
    let mut place = 2;
    loop {
        let mark = slice(bytes, place, 2).ok_or_else(broken)?;
        let [0xff, kind] = *mark else {
            return Err("the file is damaged: a segment has no mark".to_owned());
        };
        match kind {
            0xff => place += 1,
            0x01 | 0xd0..=0xd7 => place += 2,
            0xc0..=0xc3 | 0xc5..=0xc7 | 0xc9..=0xcb | 0xcd..=0xcf => {
                let height = big(bytes, place + 5, 2).ok_or_else(broken)?;
                let width = big(bytes, place + 7, 2).ok_or_else(broken)?;
                let rest = bytes.get(place..).unwrap_or_default();
                // Stuffing keeps the mark out of the coded data.
                return match rest.windows(2).rev().any(|two| two == [0xff, 0xd9]) {
                    true => Ok((width as u32, height as u32)),
                    false => Err("the file was cut off: its end is missing".to_owned()),
                };
            }
            0xd9 | 0xda => return Err("the file is damaged: it has no frame".to_owned()),
            _ => {
                let length = big(bytes, place + 2, 2).ok_or_else(broken)?;
                place += 2 + length.max(2) as usize;
            }
        }
    }
}

fn gif(bytes: &[u8]) -> Option<(u32, u32)> {
    let size = (little(bytes, 6, 2)? as u32, little(bytes, 8, 2)? as u32);
    // Some writers put zeros behind the end.
    let last = bytes.iter().rev().find(|byte| **byte != 0);
    (bytes.len() > 13 && last == Some(&0x3b)).then_some(size)
}

/// WAV, or WebP.
fn riff(bytes: &[u8]) -> Result<Look, String> {
    let cut = || "the file was cut off".to_owned();
    match slice(bytes, 8, 4).ok_or_else(cut)? {
        b"WEBP" => {
            let whole = little(bytes, 4, 4).ok_or_else(cut)? + 8;
            if (bytes.len() as u64) < whole {
                return Err(format!("the file was cut off: {} of {whole} bytes", bytes.len()));
            }
            Ok(Look::picture("image/webp", webp(bytes).ok_or_else(cut)?))
        }
        b"WAVE" => wav(bytes),
        _ => Err(unknown(&[0])),
    }
}

fn webp(bytes: &[u8]) -> Option<(u32, u32)> {
    let low =
        |from: usize, bits: u32| little(bytes, from, 4).map(|it| it as u32 & ((1 << bits) - 1));
    match slice(bytes, 12, 4)? {
        b"VP8X" => Some(((little(bytes, 24, 3)? + 1) as u32, (little(bytes, 27, 3)? + 1) as u32)),
        b"VP8L" => {
            let sizes = little(bytes, 21, 4)? as u32;
            Some(((sizes & 0x3fff) + 1, (sizes >> 14 & 0x3fff) + 1))
        }
        b"VP8 " => Some((low(26, 14)?, low(28, 14).or(little(bytes, 28, 2).map(|it| it as u32))?)),
        _ => None,
    }
}

/// Chunks to that of the samples. A length of 0 or of all ones was not known when the file began.
fn wav(bytes: &[u8]) -> Result<Look, String> {
    let broken = || "the file was cut off before the samples".to_owned();
    let mut place = 12;
    let mut format: Option<(u64, u64)> = None;
    loop {
        let name = slice(bytes, place, 4).ok_or_else(broken)?;
        let length = little(bytes, place + 4, 4).ok_or_else(broken)?;
        let body = place + 8;
        match (name, format) {
            (b"fmt ", _) => {
                let rate = little(bytes, body + 4, 4).ok_or_else(broken)?;
                let frame = little(bytes, body + 12, 2).ok_or_else(broken)?;
                if rate == 0 || frame == 0 {
                    return Err("the file is damaged: its samples have no rate or no size".into());
                }
                format = Some((rate, frame));
            }
            (b"data", None) => {
                return Err("the file is damaged: samples before their format".into());
            }
            (b"data", Some((rate, frame))) => {
                let there = bytes.len().saturating_sub(body) as u64;
                let is_open = length == 0 || length == u64::from(u32::MAX);
                let length = if is_open { there } else { length };
                if there < length {
                    return Err(format!(
                        "the file was cut off: {there} of {length} bytes of sound"
                    ));
                }
                if length < frame {
                    return Err("the recording has no samples".to_owned());
                }
                return Ok(Look::sound("audio/wav", length / frame, rate));
            }
            _ => {}
        }
        place = usize::try_from(length + (length & 1))
            .ok()
            .and_then(|length| body.checked_add(length))
            .ok_or_else(broken)?;
    }
}

/// The stream's information, which is always the first block.
fn flac(bytes: &[u8]) -> Option<Look> {
    let info = big(bytes, 18, 8)?;
    let (rate, samples) = (info >> 44, info & 0xf_ffff_ffff);
    // A file without a frame of sound.
    bytes.get(42..)?.first()?;
    let known = samples > 0 && rate > 0;
    Some(match known {
        true => Look::sound("audio/flac", samples, rate),
        false => unmeasured(MediumKind::Audio, "audio/flac"),
    })
}

/// Kilobits a second by the field of a frame's head: MPEG 1 and MPEG 2, layer 3.
const BITRATES: [[u32; 15]; 2] = [
    [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320],
    [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160],
];

/// All frames, one after the other: the only length that holds for a changing rate.
fn mp3(bytes: &[u8]) -> Result<Look, String> {
    let mut place = match bytes {
        // Its length has seven bits a byte.
        [b'I', b'D', b'3', _, _, _, a, b, c, d, ..] => {
            10 + [a, b, c, d].iter().fold(0, |sum, byte| sum << 7 | usize::from(**byte & 0x7f))
        }
        _ => 0,
    };
    let (mut samples, mut rate_of_all) = (0_u64, 0);
    while let Some(Some((length, count, rate))) = slice(bytes, place, 4).map(mp3_frame) {
        if bytes.len() < place + length {
            return Err("the file was cut off within a frame of sound".to_owned());
        }
        // A first frame that only tells about the others holds no sound.
        let frame = slice(bytes, place, length.min(64)).unwrap_or_default();
        let tells = |word: &[u8]| frame.windows(4).any(|four| four == word);
        let is_silent = samples == 0 && (tells(b"Xing") || tells(b"Info") || tells(b"VBRI"));
        samples += if is_silent { 0 } else { count };
        rate_of_all = rate;
        place += length;
    }
    match samples {
        0 => Err("the file is damaged: it has no frame of sound".to_owned()),
        _ => Ok(Look::sound("audio/mpeg", samples, rate_of_all)),
    }
}

/// Bytes, samples and rate of a frame of layer 3.
fn mp3_frame(head: &[u8]) -> Option<(usize, u64, u64)> {
    let head = big(head, 0, 4)? as u32;
    if head >> 21 != 0x7ff || head >> 17 & 3 != 1 {
        return None;
    }
    let version = head >> 19 & 3;
    let is_first = version == 3;
    let bitrate = BITRATES[usize::from(!is_first)].get((head >> 12 & 15) as usize)?;
    let rate = [44_100, 48_000, 32_000].get((head >> 10 & 3) as usize)?;
    let rate = match version {
        3 => *rate,
        2 => rate / 2,
        0 => rate / 4,
        _ => return None,
    };
    if *bitrate == 0 {
        return None;
    }
    let samples: u32 = if is_first { 1152 } else { 576 };
    let length = samples / 8 * bitrate * 1000 / rate + (head >> 9 & 1);
    Some((length as usize, u64::from(samples), u64::from(rate)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wav_of(rate: u32, bytes: u32, told: u32) -> Vec<u8> {
        let mut out = b"RIFF\0\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0".to_vec();
        out.extend_from_slice(&rate.to_le_bytes());
        out.extend_from_slice(&(rate * 2).to_le_bytes());
        out.extend_from_slice(b"\x02\0\x10\0LIST\x03\0\0\0abc\0data");
        out.extend_from_slice(&told.to_le_bytes());
        out.extend(vec![1; bytes as usize]);
        out
    }

    #[test]
    fn lengths_of_sound_stand_in_heads() {
        let found = look(&wav_of(8000, 32_000, 32_000)).unwrap();
        assert_eq!((found.mime, found.duration_ns), ("audio/wav", Some(2_000_000_000)));
        // A recording that was being written when it was stored.
        let open = look(&wav_of(8000, 16_000, u32::MAX)).unwrap();
        assert_eq!(open.duration_ns, Some(1_000_000_000));
        // MPEG 1, 128 kbit/s, 44,100 Hz: frames of 417 bytes.
        let frame = [&[0xff, 0xfb, 0x90, 0x00][..], &[0; 413]].concat();
        let info = [&frame[..36], b"Info", &frame[40..]].concat();
        let tag = b"ID3\x04\0\0\0\0\0\x05title".to_vec();
        let found = look(&[tag, info, frame.repeat(10)].concat()).unwrap();
        assert_eq!(found.mime, "audio/mpeg");
        assert_eq!(found.duration_ns, Some(11_520 * 1_000_000_000 / 44_100));
    }

    #[test]
    fn what_is_wrong_is_said() {
        let frame = [&[0xff, 0xfb, 0x90, 0x00][..], &[0; 100]].concat();
        for (bytes, part) in [
            (Vec::new(), "empty"),
            (b"hello, I am an image".to_vec(), "a text"),
            (vec![0, 1, 2, 3], "no known format"),
            (wav_of(8000, 100, 32_000), "cut off: 100 of 32000"),
            (wav_of(0, 100, 100), "no rate"),
            (wav_of(8000, 0, 0), "no samples"),
            (b"RIFF\x10\0\0\0WEBPVP8X".to_vec(), "16 of 24 bytes"),
            (b"RIFF\0\0\0\0AVI ".to_vec(), "no known format"),
            (b"RIFF".to_vec(), "cut off"),
            (b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR\0\0".to_vec(), "cut off"),
            (vec![0xff, 0xd8, 0xff], "cut off"),
            (vec![0xff, 0xd8, 0xff, 0xda, 0, 2], "no frame"),
            (vec![0xff, 0xd8, 0xff, 0xe0, 0, 2, 0, 0], "no mark"),
            (b"GIF89a\x01\0\x01\0\0\0\0\0".to_vec(), "cut off"),
            (b"fLaC\x80\0\0\x22".to_vec(), "cut off"),
            (frame, "within a frame"),
            (b"ID3\x04\0\0\0\0\0\0".to_vec(), "no frame of sound"),
        ] {
            let error = look(&bytes).unwrap_err();
            assert!(error.contains(part), "{error}, not {part}");
        }
    }

    #[test]
    fn sizes_that_no_server_takes_are_refused() {
        let gif = |width: u16, height: u16| {
            let size = [width.to_le_bytes(), height.to_le_bytes()].concat();
            [b"GIF89a", &size[..], b"\0\0\0,,,\x3b"].concat()
        };
        assert_eq!(look(&gif(1, 1)).unwrap().size, Some((1, 1)));
        let error = look(&gif(20_000, 20_000)).unwrap_err();
        assert!(error.contains("20000 x 20000 pixels"), "{error}");
        assert!(look(&gif(0, 5)).unwrap_err().contains("no pixels"));
    }

    /// Heads that lie, of every format and every length.
    #[test]
    fn no_bytes_make_it_fail() {
        let starts: [&[u8]; 8] = [
            b"\x89PNG\r\n\x1a\n\xff\xff\xff\xffIHDR",
            b"\xff\xd8\xff\xe1\xff\xff",
            b"GIF89a",
            b"RIFF\xff\xff\xff\xffWEBPVP8 ",
            b"RIFF\xff\xff\xff\xffWAVEfmt \xff\xff\xff\xff",
            b"fLaC",
            b"ID3\x04\0\0\x7f\x7f\x7f\x7f",
            b"\xff\xfb\xe0\0",
        ];
        for start in starts {
            for length in 0..80 {
                for fill in [0, 0x7f, 0xff] {
                    let bytes = [start, &vec![fill; length]].concat();
                    let _ = look(&bytes);
                }
            }
        }
    }
}
