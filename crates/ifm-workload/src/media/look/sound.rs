//! Recordings: their lengths, and whether all of their sound is there. FLAC and Ogg have checksums,
//! which are verified; MP3 is walked through frame by frame, with the checksums that it may have; WAV
//! tells how much sound it holds, and any samples are sound.
//!
//! Not here: decoding.

use ifm_core::MediumKind;

use super::{Look, big, cut, cut_at, damaged, little, slice, unmeasured};
use ifm_made::checksum::{crc_ogg, crc8, crc16_with};

/// Chunks to that of the samples. A length of 0 or of all ones was not known when the file began.
pub(super) fn wav(bytes: &[u8]) -> Result<Look, String> {
    let broken = || format!("{} before the samples", cut());
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
                    return Err(damaged("its samples have no rate or no size"));
                }
                format = Some((rate, frame));
            }
            (b"data", None) => return Err(damaged("its samples come before their format")),
            (b"data", Some((rate, frame))) => {
                let there = bytes.len().saturating_sub(body) as u64;
                let is_open = length == 0 || length == u64::from(u32::MAX);
                let length = if is_open { there } else { length };
                if there < length {
                    return Err(format!("{} of sound", cut_at(there, length)));
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

/// Blocks of metadata, and frames with their checksums (RFC 9639, 8 and 9).
pub(super) fn flac(bytes: &[u8]) -> Result<Look, String> {
    let info = big(bytes, 18, 8).ok_or_else(cut)?;
    let (rate, told) = (info >> 44, info & 0xf_ffff_ffff);
    let mut place = 4;
    loop {
        let head = big(bytes, place, 4).ok_or_else(cut)?;
        place += 4 + (head & 0xff_ffff) as usize;
        if head >> 31 != 0 {
            break;
        }
    }
    let mut samples = 0;
    let mut number = 0;
    while place < bytes.len() {
        let rest = bytes.get(place..).unwrap_or_default();
        if samples > 0 && is_tag(rest) {
            break;
        }
        let Some(block) = flac_head(rest, number) else { return Err(gap(samples, told, rate)) };
        let Some(length) = flac_frame(rest, number) else { return Err(gap(samples, told, rate)) };
        samples += block;
        number += 1;
        place += length;
    }
    match samples {
        0 => Err(format!("{} before its sound", cut())),
        _ if samples < told => Err(gap(samples, told, rate)),
        _ if rate == 0 => Ok(unmeasured(MediumKind::Audio, "audio/flac")),
        _ => Ok(Look::sound("audio/flac", samples, rate)),
    }
}

/// What is wrong with sound that goes no further.
fn gap(samples: u64, told: u64, rate: u64) -> String {
    let seconds = |samples: u64| samples as f64 / rate.max(1) as f64;
    match told {
        0 => format!("the file was cut off or is damaged after {:.1} s of sound", seconds(samples)),
        _ => format!(
            "the file was cut off or is damaged: {:.1} of {:.1} s of sound",
            seconds(samples),
            seconds(told)
        ),
    }
}

/// Samples of the frame that begins here, where it is the one with this number (or has blocks of
/// changing size, which count samples).
fn flac_head(bytes: &[u8], number: u64) -> Option<u64> {
    let head = big(bytes, 0, 4)?;
    let varies = head >> 16 & 1 == 1;
    if head >> 17 != 0x7ffc || head & 1 != 0 {
        return None;
    }
    let first = *bytes.get(4)?;
    let more = if first < 0x80 { 0 } else { (first.leading_ones() as usize).saturating_sub(1) };
    if !varies {
        let start = u64::from(first) & (0x7f >> if more > 0 { more + 1 } else { 0 });
        let coded = slice(bytes, 5, more)?;
        let found = coded.iter().fold(start, |sum, byte| sum << 6 | u64::from(byte & 0x3f));
        if found != number {
            return None;
        }
    }
    let mut place = 5 + more;
    let block = match head >> 12 & 15 {
        0 => return None,
        1 => 192,
        code @ 2..=5 => 576 << (code - 2),
        code @ (6 | 7) => {
            let count = code as usize - 5;
            let block = big(bytes, place, count)? + 1;
            place += count;
            block
        }
        code => 256 << (code - 8),
    };
    place += match head >> 8 & 15 {
        12 => 1,
        13 | 14 => 2,
        15 => return None,
        _ => 0,
    };
    (crc8(bytes.get(..place)?) == *bytes.get(place)?).then_some(block)
}

/// Bytes of the frame that begins here: to where its checksum comes out and the next one begins, or the
/// file ends.
fn flac_frame(bytes: &[u8], number: u64) -> Option<usize> {
    let mut crc = 0;
    for (place, byte) in (1..).zip(bytes) {
        crc = crc16_with(crc, *byte);
        // Over the checksum itself the sum is zero.
        if crc == 0 && place > 6 {
            let rest = bytes.get(place..)?;
            if rest.is_empty() || is_tag(rest) || flac_head(rest, number + 1).is_some() {
                return Some(place);
            }
        }
    }
    None
}

/// Whether what follows the sound is no sound: marks of ID3, APE and Lyrics3, or zeros.
fn is_tag(rest: &[u8]) -> bool {
    let starts: [&[u8]; 4] = [b"TAG", b"APETAGEX", b"LYRICSBEGIN", b"ID3"];
    starts.iter().any(|start| rest.starts_with(start)) || rest.iter().all(|byte| *byte == 0)
}

/// Kilobits a second by the field of a frame's head: MPEG 1 and MPEG 2, layer 3.
const BITRATES: [[u32; 15]; 2] = [
    [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320],
    [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160],
];

/// All frames, one after the other: the only length that holds for a changing rate.
pub(super) fn mp3(bytes: &[u8]) -> Result<Look, String> {
    let mut place = match bytes {
        // Its length has seven bits a byte.
        [b'I', b'D', b'3', _, _, _, a, b, c, d, ..] => {
            10 + [a, b, c, d].iter().fold(0, |sum, byte| sum << 7 | usize::from(**byte & 0x7f))
        }
        _ => 0,
    };
    let (mut samples, mut rate_of_all) = (0_u64, 0);
    let (mut frames, mut frames_told) = (0_u64, None);
    while let Some(Some((length, count, rate))) = slice(bytes, place, 4).map(mp3_frame) {
        if bytes.len() < place + length {
            return Err(format!("{} within a frame of sound", cut()));
        }
        let whole = slice(bytes, place, length).unwrap_or_default();
        // A first frame that only tells about the others holds no sound.
        let frame = whole.get(..length.min(64)).unwrap_or_default();
        let tells = |word: &[u8]| frame.windows(4).any(|four| four == word);
        let is_silent = samples == 0 && (tells(b"Xing") || tells(b"Info") || tells(b"VBRI"));
        if let Some(why) = mp3_damage(whole).filter(|_| !is_silent) {
            return Err(damaged(&format!("the frame of sound at byte {place}: {why}")));
        }
        match is_silent {
            true => frames_told = mp3_frames(frame),
            false => (samples, frames) = (samples + count, frames + 1),
        }
        rate_of_all = rate;
        place += length;
    }
    // Sound behind a gap would be left out of the length.
    if samples > 0 && has_frames(bytes.get(place..).unwrap_or_default()) {
        return Err(damaged(&format!("at byte {place} there is no frame of sound")));
    }
    let rest = bytes.len().saturating_sub(place);
    let is_cut = frames_told.is_some_and(|told| frames < told);
    match samples {
        0 => Err(damaged("it has no frame of sound")),
        _ if is_cut || rest > 0 && rest < 4 && bytes.get(place) == Some(&0xff) => {
            let of = frames_told.map(|told| format!(" of {told}")).unwrap_or_default();
            Err(format!("{} after {frames}{of} frames of sound", cut()))
        }
        _ => Ok(Look::sound("audio/mpeg", samples, rate_of_all)),
    }
}

/// What is wrong within a frame (ISO 11172-3, 2.4.1; ISO 13818-3): its checksum, where it has one, and
/// how much of it and of the frames before its parts say that they fill.
fn mp3_damage(frame: &[u8]) -> Option<&'static str> {
    let head = big(frame, 0, 4)?;
    let is_first = head >> 19 & 3 == 3;
    let has_sum = head >> 16 & 1 == 0;
    let channels = if head >> 6 & 3 == 3 { 1 } else { 2 };
    let side_bytes = match (is_first, channels) {
        (true, 2) => 32,
        (true, _) | (false, 2) => 17,
        (false, _) => 9,
    };
    let from = 4 + 2 * usize::from(has_sum);
    let side = slice(frame, from, side_bytes)?;
    if has_sum {
        let covered = slice(frame, 2, 2)?.iter().chain(side);
        let sum = covered.fold(0xffff, |crc, byte| crc16_with(crc, *byte));
        if u64::from(sum) != big(frame, 4, 2)? {
            return Some("its checksum is wrong");
        }
    }
    let bits = |from: usize, count: usize| {
        let bit = |at: usize| side.get(at / 8).map(|byte| u32::from(byte >> (7 - at % 8) & 1));
        (from..from + count).try_fold(0, |sum, at| Some(sum << 1 | bit(at)?))
    };
    // Bits of the reservoir's length, of what stands before the parts, and of a part.
    let (reservoir, before, part, parts) = match (is_first, channels) {
        (true, 1) => (9, 9 + 5 + 4, 59, 2),
        (true, _) => (9, 9 + 3 + 8, 59, 4),
        (false, 1) => (8, 8 + 1, 63, 1),
        (false, _) => (8, 8 + 2, 63, 2),
    };
    let mut filled = 0;
    for number in 0..parts {
        filled += bits(before + number * part, 12)?;
        // Pairs of the 576 values.
        if bits(before + number * part + 12, 9)? > 288 {
            return Some("it has more values than there are");
        }
    }
    let there = 8 * (bits(0, reservoir)? as usize + frame.len() - from - side_bytes);
    (filled as usize > there).then_some("it has more sound than it has room for")
}

/// How many frames of sound follow, by the frame that tells of them (Xing's head, which LAME calls Info).
fn mp3_frames(frame: &[u8]) -> Option<u64> {
    let at = frame.windows(4).position(|four| four == b"Xing" || four == b"Info")?;
    // The first of the flags says that the number is there.
    let flags = big(frame, at + 4, 4)?;
    (flags & 1 == 1).then(|| big(frame, at + 8, 4)).flatten()
}

/// Whether two frames stand somewhere in what is no tag, one behind the other.
fn has_frames(rest: &[u8]) -> bool {
    let frame = |place: usize| slice(rest, place, 4).and_then(mp3_frame);
    let is_pair =
        |place: usize| frame(place).is_some_and(|(length, ..)| frame(place + length).is_some());
    !is_tag(rest) && (0..rest.len()).any(|place| rest.get(place) == Some(&0xff) && is_pair(place))
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

/// Pages with their checksums (RFC 3533). The position of the first stream's last page is its length,
/// for Vorbis and Opus (RFC 7845, 4: always 48,000 a second, the first samples left out).
pub(super) fn ogg(bytes: &[u8]) -> Result<Look, String> {
    let mut place = 0;
    let mut first: Option<Stream> = None;
    let mut position = 0;
    while place < bytes.len() {
        if slice(bytes, place, 4) != Some(b"OggS") {
            let rest = bytes.get(place..).unwrap_or_default();
            match place > 0 && is_tag(rest) {
                true => break,
                false if rest.len() < 27 => return Err(cut()),
                false => return Err(damaged(&format!("at byte {place} there is no page"))),
            }
        }
        let head = slice(bytes, place, 27).ok_or_else(cut)?;
        let segments = usize::from(*head.last().unwrap_or(&0));
        let lengths = slice(bytes, place + 27, segments).ok_or_else(cut)?;
        let body = place + 27 + segments;
        let length: usize = lengths.iter().map(|it| usize::from(*it)).sum();
        let data = slice(bytes, body, length).ok_or_else(cut)?;
        let page = slice(bytes, place, body - place + length).unwrap_or_default();
        let zeroed =
            (0..).zip(page).map(|(at, byte)| if (22..26).contains(&at) { 0 } else { *byte });
        if Some(u64::from(crc_ogg(zeroed))) != little(head, 22, 4) {
            return Err(damaged(&format!("the checksum of its page at byte {place} is wrong")));
        }
        let serial = little(head, 14, 4).unwrap_or(0);
        let stream = first.get_or_insert_with(|| Stream::of(serial, data));
        let at = little(head, 6, 8).unwrap_or(0);
        // All ones where no packet ends in the page.
        if stream.serial == serial && at != u64::MAX {
            position = at;
        }
        place = body + length;
    }
    let stream = first.ok_or_else(cut)?;
    let samples = position.saturating_sub(stream.skipped);
    Ok(match stream.rate {
        _ if stream.is_video => unmeasured(MediumKind::Video, "video/ogg"),
        Some(_) if samples == 0 => return Err("the recording has no samples".to_owned()),
        Some(rate) => Look::sound("audio/ogg", samples, rate),
        None => unmeasured(MediumKind::Audio, "audio/ogg"),
    })
}

/// The first stream of an Ogg file.
struct Stream {
    serial: u64,
    /// Samples a second, of the codecs that are known here.
    rate: Option<u64>,
    /// Samples at the start that are not heard.
    skipped: u64,
    is_video: bool,
}

impl Stream {
    fn of(serial: u64, data: &[u8]) -> Self {
        let plain = Self { serial, rate: None, skipped: 0, is_video: false };
        match data {
            [0x01, b'v', b'o', b'r', b'b', b'i', b's', ..] => {
                Self { rate: little(data, 12, 4).filter(|rate| *rate > 0), ..plain }
            }
            [b'O', b'p', b'u', b's', b'H', b'e', b'a', b'd', ..] => {
                let skipped = little(data, 10, 2).unwrap_or(0);
                Self { rate: Some(48_000), skipped, ..plain }
            }
            [0x80, b't', b'h', b'e', b'o', b'r', b'a', ..] => Self { is_video: true, ..plain },
            _ => plain,
        }
    }
}
