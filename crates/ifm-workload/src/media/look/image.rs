//! Images: walked through to their end, so that what was cut off or damaged is found. PNG has
//! checksums, which are verified; the codes of JPEG and GIF are read, and a WebP is decoded.
//!
//! Not here: the codes of JPEG (`jpeg`).

use std::io::Cursor;

use image_webp::{DecodingError, WebPDecoder};

use super::{Look, big, cut, cut_at, damaged, jpeg::Walk, little, slice};

/// Pixels of the largest WebP that is decoded: decoding takes 8 bytes for each, and an image of any size can have 42
/// bytes.
const WEBP_PIXELS_MAX: u64 = 16 << 20;
/// Pixels of all frames of the longest WebP that is decoded: a frame of any size can have 56 bytes.
const WEBP_FRAME_PIXELS_MAX: u64 = 64 << 20;

/// Chunks to the one that ends it, each with its checksum (PNG, third edition, 5.3).
pub(super) fn png(bytes: &[u8]) -> Result<Look, String> {
    let size = || Some((big(bytes, 16, 4)? as u32, big(bytes, 20, 4)? as u32));
    if slice(bytes, 12, 4).ok_or_else(cut)? != b"IHDR" {
        return Err(damaged("it does not begin with its size"));
    }
    let size = size().ok_or_else(cut)?;
    let mut place = 8;
    let mut has_pixels = false;
    loop {
        let length = big(bytes, place, 4).ok_or_else(cut)? as usize;
        let name = slice(bytes, place + 4, 4).ok_or_else(cut)?;
        if !name.iter().all(u8::is_ascii_alphabetic) {
            return Err(damaged(&format!("at byte {place} there is no chunk")));
        }
        // The length, the name, and a checksum behind.
        let sum = place.checked_add(length).and_then(|it| it.checked_add(8)).ok_or_else(cut)?;
        let told = big(bytes, sum, 4).ok_or_else(cut)?;
        let data = bytes.get(place + 4..sum).unwrap_or_default();
        if u64::from(crc32fast::hash(data)) != told {
            let name = String::from_utf8_lossy(name);
            return Err(damaged(&format!("the checksum of its {name} at byte {place} is wrong")));
        }
        has_pixels |= name == b"IDAT";
        match name {
            b"IEND" if has_pixels => return Ok(Look::image("image/png", size)),
            b"IEND" => return Err(damaged("it has no pixels")),
            _ => place = sum + 4,
        }
    }
}

/// Segments and coded data to the mark that ends it (ITU-T T.81, annex B). Some writers append more to
/// an image.
pub(super) fn jpeg(bytes: &[u8]) -> Result<Look, String> {
    let mut place = 2;
    let mut size = None;
    let mut walk = Walk::default();
    loop {
        let mark = slice(bytes, place, 2).ok_or_else(|| end_is_missing(bytes))?;
        let [0xff, kind] = *mark else {
            return Err(damaged(&format!("at byte {place} a segment has no mark")));
        };
        let length = || big(bytes, place + 2, 2).ok_or_else(|| end_is_missing(bytes));
        match kind {
            0xff => place += 1,
            0x01 | 0xd0..=0xd7 => place += 2,
            0xd9 => return Err(damaged("it has no pixels")),
            0xda => {
                let size = size.ok_or_else(|| damaged("its pixels come before its size"))?;
                let head = place + 4;
                place += 2 + length()?.max(2) as usize;
                let next = end_of_scan(bytes, place).ok_or_else(|| end_is_missing(bytes))?;
                walk.scan(bytes, head, place, next)?;
                match bytes.get(next + 1) {
                    Some(0xd9) => return Ok(Look::image("image/jpeg", size)),
                    // Tables and the next scan of an image that comes in several.
                    Some(0xc4 | 0xda..=0xdd | 0xe0..=0xef | 0xfe) => place = next,
                    _ => return Err(damaged(&format!("at byte {next} of its pixels"))),
                }
            }
            0xc0..=0xc3 | 0xc5..=0xc7 | 0xc9..=0xcb | 0xcd..=0xcf => {
                let side = |from| big(bytes, place + from, 2).ok_or_else(|| end_is_missing(bytes));
                size = Some((side(7)? as u32, side(5)? as u32));
                let next = place + 2 + length()?.max(2) as usize;
                walk.segment(bytes, kind, place + 4, next)?;
                place = next;
            }
            _ => {
                let next = place + 2 + length()?.max(2) as usize;
                walk.segment(bytes, kind, place + 4, next)?;
                place = next;
            }
        }
    }
}

fn end_is_missing(bytes: &[u8]) -> String {
    format!("{}: its end is missing after {} bytes", cut(), bytes.len())
}

/// The place of the first mark behind coded data that is none of it.
fn end_of_scan(bytes: &[u8], from: usize) -> Option<usize> {
    let mut place = from;
    loop {
        place += bytes.get(place..)?.iter().position(|byte| *byte == 0xff)?;
        match bytes.get(place + 1)? {
            // Stuffing, and marks at which a decoder can begin anew.
            0x00 | 0xd0..=0xd7 => place += 2,
            0xff => place += 1,
            _ => return Some(place),
        }
    }
}

/// Blocks to the one that ends it (GIF89a, 17 to 27).
pub(super) fn gif(bytes: &[u8]) -> Result<Look, String> {
    let size = || Some((little(bytes, 6, 2)? as u32, little(bytes, 8, 2)? as u32));
    let size = size().ok_or_else(cut)?;
    let colours = |flags: u8| if flags & 0x80 != 0 { 3 << ((flags & 7) + 1) } else { 0 };
    let mut place = 13 + colours(*bytes.get(10).ok_or_else(cut)?);
    let mut has_pixels = false;
    loop {
        match bytes.get(place).ok_or_else(cut)? {
            0x3b if has_pixels => return Ok(Look::image("image/gif", size)),
            0x3b => return Err(damaged("it has no pixels")),
            0x21 => place += 2,
            0x2c => {
                has_pixels = true;
                let side = |from| little(bytes, place + from, 2).ok_or_else(cut);
                let pixels = side(5)? * side(7)?;
                // The image's own colours, and the size of its codes.
                place += 11 + colours(*bytes.get(place + 9).ok_or_else(cut)?);
                gif_pixels(bytes, place, pixels)?;
            }
            _ => return Err(damaged(&format!("at byte {place} there is no block"))),
        }
        loop {
            let length = usize::from(*bytes.get(place).ok_or_else(cut)?);
            place += 1 + length;
            if length == 0 {
                break;
            }
        }
    }
}

/// Whether the codes of an image stand for as many pixels as it has (GIF89a, appendix F). `place` is
/// that of the first block of codes.
fn gif_pixels(bytes: &[u8], mut place: usize, pixels: u64) -> Result<(), String> {
    const CODES: usize = 4096;
    let base = u32::from(*bytes.get(place - 1).ok_or_else(cut)?);
    let wrong =
        |place: usize, why: &str| Err(damaged(&format!("its pixels at byte {place}: {why}")));
    if !(1..=11).contains(&base) {
        return wrong(place - 1, "codes of a size that there is not");
    }
    let (clear, end) = (1_usize << base, (1_usize << base) + 1);
    // Number of pixels of each code.
    let mut lengths = [1_u64; CODES];
    let (mut next, mut width, mut before) = (end + 1, base + 1, None::<u64>);
    let (mut held, mut count, mut found) = (0_u32, 0_u32, 0_u64);
    loop {
        let block = usize::from(*bytes.get(place).ok_or_else(cut)?);
        let codes = slice(bytes, place + 1, block).ok_or_else(cut)?;
        if block == 0 {
            break;
        }
        for (byte, at) in codes.iter().zip(place + 1..) {
            held |= u32::from(*byte) << count;
            count += 8;
            while count >= width {
                let code = (held & ((1 << width) - 1)) as usize;
                held >>= width;
                count -= width;
                if code == clear {
                    (next, width, before) = (end + 1, base + 1, None);
                    continue;
                }
                let length = match (code, before) {
                    _ if code == end => return gif_end(found, pixels),
                    _ if code < next => lengths.get(code).copied(),
                    (_, Some(before)) if code == next => Some(before + 1),
                    _ => None,
                };
                let Some(length) = length else { return wrong(at, "a code that there is not") };
                if let (Some(before), Some(new)) = (before, lengths.get_mut(next)) {
                    *new = before + 1;
                    next += 1;
                    width += u32::from(next == 1 << width && width < 12);
                }
                found += length;
                before = Some(length);
            }
        }
        place += 1 + block;
    }
    gif_end(found, pixels)
}

fn gif_end(found: u64, pixels: u64) -> Result<(), String> {
    match found == pixels {
        true => Ok(()),
        false => Err(damaged(&format!("it has {found} of {pixels} pixels"))),
    }
}

/// Chunks up to the length that the file contains (RFC 9649).
pub(super) fn webp(bytes: &[u8]) -> Result<Look, String> {
    let whole = little(bytes, 4, 4).ok_or_else(cut)? + 8;
    if (bytes.len() as u64) < whole {
        return Err(cut_at(bytes.len() as u64, whole));
    }
    let mut place = 12;
    let mut has_pixels = false;
    let mut size = None;
    let mut frames = 0;
    while (place as u64) + 8 <= whole {
        let name = slice(bytes, place, 4).ok_or_else(cut)?;
        let length = little(bytes, place + 4, 4).ok_or_else(cut)?;
        if place as u64 + 8 + length > whole {
            return Err(damaged(&format!("a chunk at byte {place} is longer than the file")));
        }
        let body = place + 8;
        let found = match name {
            b"VP8X" => extended(bytes, body),
            b"VP8L" => lossless(bytes, body),
            b"VP8 " => lossy(bytes, body),
            _ => None,
        };
        has_pixels |= matches!(name, b"VP8 " | b"VP8L" | b"ANMF");
        frames += u64::from(name == b"ANMF");
        if matches!(name, b"VP8 " | b"VP8L" | b"VP8X") && found.is_none() {
            return Err(damaged("its pixels have no head"));
        }
        size = size.or(found);
        place = body + (length + (length & 1)) as usize;
    }
    match size.filter(|_| has_pixels) {
        Some(size) => {
            webp_pixels(bytes, size, frames.max(1))?;
            Ok(Look::image("image/webp", size))
        }
        None => Err(damaged("it has no pixels")),
    }
}

/// Decodes all frames. What no decoder here knows passes, and so does what would take too much memory or time.
fn webp_pixels(bytes: &[u8], (width, height): (u32, u32), frames: u64) -> Result<(), String> {
    let pixels = u64::from(width) * u64::from(height);
    if pixels > WEBP_PIXELS_MAX || pixels.saturating_mul(frames) > WEBP_FRAME_PIXELS_MAX {
        return Ok(());
    }
    let decoded = || -> Result<(), DecodingError> {
        let mut decoder = WebPDecoder::new(Cursor::new(bytes))?;
        let mut pixels = vec![0; decoder.output_buffer_size().ok_or(DecodingError::ImageTooLarge)?];
        if !decoder.is_animated() {
            return decoder.read_image(&mut pixels);
        }
        loop {
            match decoder.read_frame(&mut pixels) {
                Err(DecodingError::NoMoreFrames) => return Ok(()),
                frame => frame?,
            };
        }
    };
    match decoded() {
        Err(DecodingError::IoError(_)) => Err(damaged("its pixels end too early")),
        Err(error) => Err(damaged(&format!("its pixels: {error}"))),
        Ok(()) => Ok(()),
    }
}

/// The canvas of an extended file.
fn extended(bytes: &[u8], body: usize) -> Option<(u32, u32)> {
    let side = |from| Some((little(bytes, body + from, 3)? + 1) as u32);
    Some((side(4)?, side(7)?))
}

fn lossless(bytes: &[u8], body: usize) -> Option<(u32, u32)> {
    let sizes = little(bytes, body + 1, 4)? as u32;
    let size = ((sizes & 0x3fff) + 1, (sizes >> 14 & 0x3fff) + 1);
    (bytes.get(body) == Some(&0x2f)).then_some(size)
}

fn lossy(bytes: &[u8], body: usize) -> Option<(u32, u32)> {
    let side = |from| Some(little(bytes, body + from, 2)? as u32 & 0x3fff);
    (slice(bytes, body + 3, 3)? == b"\x9d\x01\x2a").then_some((side(6)?, side(8)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunk(name: &[u8; 4], content: &[u8]) -> Vec<u8> {
        let padding = &[0][..content.len() % 2];
        [name, &(content.len() as u32).to_le_bytes()[..], content, padding].concat()
    }

    fn file(chunks: &[u8]) -> Vec<u8> {
        let length = (chunks.len() as u32 + 4).to_le_bytes();
        [b"RIFF", &length[..], b"WEBP", chunks].concat()
    }

    /// Lossless pixels of a size; their codes end at once.
    fn cut_pixels(width: u32, height: u32) -> Vec<u8> {
        let sizes = (width - 1) | (height - 1) << 14;
        chunk(b"VP8L", &[&[0x2f], &sizes.to_le_bytes()[..]].concat())
    }

    fn animation(width: u32, height: u32, frames: usize) -> Vec<u8> {
        let side = |side: u32| (side - 1).to_le_bytes()[..3].to_vec();
        let canvas = [vec![2, 0, 0, 0], side(width), side(height)].concat();
        let head = [vec![0; 6], side(width), side(height), vec![10, 0, 0, 0]].concat();
        let frame = chunk(b"ANMF", &[head, cut_pixels(width, height)].concat());
        let head = [chunk(b"VP8X", &canvas), chunk(b"ANIM", &[0; 6])].concat();
        file(&[head, frame.repeat(frames)].concat())
    }

    #[test]
    fn decodes_no_webp_that_takes_much_memory_or_time() {
        let is_decoded = |file: &[u8]| webp(file).is_err();
        assert!(is_decoded(&file(&cut_pixels(64, 48))));
        assert!(is_decoded(&animation(64, 48, 3)));
        // 512 MB of memory.
        assert!(!is_decoded(&file(&cut_pixels(8192, 8191))));
        assert!(!is_decoded(&animation(8192, 8191, 1)));
        // More than two minutes.
        assert!(!is_decoded(&animation(4096, 4096, 200)));
    }
}
