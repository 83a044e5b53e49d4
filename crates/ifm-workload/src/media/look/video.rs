//! Videos, and recordings in the same containers: MP4 (and QuickTime), WebM (and Matroska). Their boxes
//! are walked through to the end; sizes, lengths and frames are read from their heads.
//!
//! Not here: the samples of MP4 (`samples`), codecs.

use ifm_core::MediumKind;

use super::{
    Look, big,
    boxes::{BOXES_MAX, Mp4Box, boxes},
    cut, cut_at, damaged, little, samples, slice,
};

/// What a container's heads tell.
#[derive(Default)]
struct Heads {
    has_video: bool,
    has_sound: bool,
    size: Option<(u32, u32)>,
    frames: Option<u32>,
    duration_ns: Option<u64>,
}

impl Heads {
    /// What the file is by its tracks: `names` are its media types as a video and as a recording.
    fn look(self, names: (&'static str, &'static str)) -> Result<Look, String> {
        let (kind, mime) = match (self.has_video, self.has_sound) {
            (true, _) => (MediumKind::Video, names.0),
            (false, true) => (MediumKind::Audio, names.1),
            (false, false) => return Err(damaged("it has neither video nor sound")),
        };
        let is_video = kind == MediumKind::Video;
        Ok(Look {
            kind,
            mime,
            size: self.size.filter(|_| is_video),
            frames: self.frames.filter(|_| is_video),
            duration_ns: self.duration_ns.filter(|ns| *ns > 0),
        })
    }
}

/// Nanoseconds of a number of units, of which a second has `scale`.
fn units_ns(units: u64, scale: u64) -> Option<u64> {
    (scale > 0).then(|| u128::from(units) * 1_000_000_000 / u128::from(scale))?.try_into().ok()
}

/// MP4 and QuickTime. One whose index was to be written at the end, and was not, cannot be played.
pub(super) fn mp4(bytes: &[u8]) -> Result<Look, String> {
    let brand = slice(bytes, 8, 4).unwrap_or_default();
    if matches!(brand, b"heic" | b"heix" | b"mif1" | b"msf1" | b"avif" | b"avis") {
        return Err(
            "it is an image in HEIF or AVIF, which servers do not take: save it as JPEG, PNG \
                    or WebP"
                .to_owned(),
        );
    }
    let top = boxes(bytes, 0, bytes.len())?;
    let has = |name: &[u8]| top.iter().any(|it| it.name == name);
    let Some(index) = top.iter().find(|it| it.name == b"moov") else {
        return Err(damaged("it has no index (moov): the writing of it did not end"));
    };
    if !has(b"mdat") && !has(b"moof") {
        return Err(damaged("it has nothing but heads"));
    }
    let content: Vec<(usize, usize)> =
        top.iter().filter(|it| it.name == b"mdat").map(|it| (it.body, it.end)).collect();
    let mut heads = Heads::default();
    for it in boxes(bytes, index.body, index.end)? {
        match it.name {
            b"mvhd" => heads.duration_ns = mp4_duration_ns(bytes, it.body),
            b"trak" => track(bytes, &it, &content, &mut heads)?,
            _ => {}
        }
    }
    heads.look(("video/mp4", "audio/mp4"))
}

fn mp4_duration_ns(bytes: &[u8], body: usize) -> Option<u64> {
    match bytes.get(body)? {
        1 => units_ns(big(bytes, body + 24, 8)?, big(bytes, body + 20, 4)?),
        _ => units_ns(big(bytes, body + 16, 4)?, big(bytes, body + 12, 4)?),
    }
}

fn track(
    bytes: &[u8],
    track: &Mp4Box<'_>,
    content: &[(usize, usize)],
    heads: &mut Heads,
) -> Result<(), String> {
    let mut size = None;
    let mut kind: &[u8] = b"";
    let mut frames = None;
    for it in boxes(bytes, track.body, track.end)? {
        match it.name {
            // Width and height come last, in 16 bits and 16 bits behind the point.
            b"tkhd" => {
                let side = |back: usize| Some(big(bytes, it.end.checked_sub(back)?, 2)? as u32);
                size = side(8).zip(side(4));
            }
            b"mdia" => {
                for it in boxes(bytes, it.body, it.end)? {
                    match it.name {
                        b"hdlr" => kind = slice(bytes, it.body + 8, 4).unwrap_or_default(),
                        b"minf" => frames = samples_of(bytes, &it, content)?,
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }
    match kind {
        b"vide" if !heads.has_video => {
            heads.has_video = true;
            heads.size = size.filter(|(width, height)| *width > 0 && *height > 0);
            heads.frames = frames;
        }
        b"soun" => heads.has_sound = true,
        _ => {}
    }
    Ok(())
}

/// Samples of a track: frames, of a video's. The index of a file in fragments reports none.
fn samples_of(
    bytes: &[u8],
    info: &Mp4Box<'_>,
    content: &[(usize, usize)],
) -> Result<Option<u32>, String> {
    for table in boxes(bytes, info.body, info.end)?.iter().filter(|it| it.name == b"stbl") {
        let tables = boxes(bytes, table.body, table.end)?;
        if let Some(sizes) = tables.iter().find(|it| it.name == b"stsz") {
            samples::check(bytes, &tables, content)?;
            let count = big(bytes, sizes.body + 8, 4).map(|count| count as u32);
            return Ok(count.filter(|count| *count > 0));
        }
    }
    Ok(None)
}

/// One element of EBML: its name, and the place of its content.
struct Element {
    id: u64,
    body: usize,
    end: usize,
}

/// A number whose first byte gives the number of further bytes (RFC 8794, 4); with its mark or without.
fn vint(bytes: &[u8], place: usize, with_mark: bool) -> Option<(u64, usize)> {
    let first = *bytes.get(place)?;
    let length = first.leading_zeros() as usize + 1;
    let number = big(bytes, place, length).filter(|_| length <= 8)?;
    let mark = 1_u64 << (7 * length);
    Some((if with_mark { number } else { number & (mark - 1) }, length))
}

/// The elements between two places of a file. One of unknown length goes on to the end.
fn elements(bytes: &[u8], from: usize, to: usize) -> Result<Vec<Element>, String> {
    let mut found = Vec::new();
    let mut place = from;
    while place < to && found.len() < BOXES_MAX {
        let (id, id_length) = vint(bytes, place, true).ok_or_else(cut)?;
        let (length, bytes_of_length) = vint(bytes, place + id_length, false).ok_or_else(cut)?;
        let body = place + id_length + bytes_of_length;
        let is_open = length == (1 << (7 * bytes_of_length)) - 1;
        let end = if is_open { to as u64 } else { (body as u64).saturating_add(length) };
        if end > to as u64 {
            return Err(match to == bytes.len() {
                true => cut_at(to as u64, end),
                false => {
                    damaged(&format!("a part at byte {place} is longer than what it stands in"))
                }
            });
        }
        found.push(Element { id, body, end: end as usize });
        place = end as usize;
    }
    Ok(found)
}

const SEGMENT: u64 = 0x1853_8067;
const INFO: u64 = 0x1549_a966;
const TIMESTAMP_SCALE: u64 = 0x2a_d7b1;
const DURATION: u64 = 0x4489;
const TRACKS: u64 = 0x1654_ae6b;
const TRACK_ENTRY: u64 = 0xae;
const TRACK_TYPE: u64 = 0x83;
const VIDEO: u64 = 0xe0;
const PIXEL_WIDTH: u64 = 0xb0;
const PIXEL_HEIGHT: u64 = 0xba;
const CLUSTER: u64 = 0x1f43_b675;
const TRACK_NUMBER: u64 = 0xd7;
const SIMPLE_BLOCK: u64 = 0xa3;
const BLOCK_GROUP: u64 = 0xa0;
const BLOCK: u64 = 0xa1;
const CRC_32: u64 = 0xbf;
/// Elements that may occur next to clusters, and within one.
const BESIDE: [u64; 6] = [0x114d_9b74, 0x1c53_bb6b, 0x1254_c367, 0x1941_a469, 0x1043_a770, 0xec];
const WITHIN: [u64; 5] = [0xe7, 0xab, 0xa7, 0x5854, 0xec];

/// WebM and Matroska (RFC 9559).
pub(super) fn webm(bytes: &[u8]) -> Result<Look, String> {
    let top = elements(bytes, 0, bytes.len())?;
    let segment = top.iter().find(|it| it.id == SEGMENT).ok_or_else(cut)?;
    let mut heads = Heads::default();
    let mut has_content = false;
    let mut tracks = Vec::new();
    for it in elements(bytes, segment.body, segment.end)? {
        checksum(bytes, &it)?;
        match it.id {
            INFO => heads.duration_ns = webm_duration_ns(bytes, &it)?,
            TRACKS => {
                for it in elements(bytes, it.body, it.end)? {
                    if it.id == TRACK_ENTRY {
                        tracks.extend(webm_track(bytes, &it, &mut heads)?);
                    }
                }
            }
            CLUSTER => {
                has_content = true;
                cluster(bytes, &it, &tracks)?;
            }
            id if BESIDE.contains(&id) || id == CRC_32 => {}
            _ => return Err(no_part(&it)),
        }
    }
    match has_content {
        true => heads.look(("video/webm", "audio/webm")),
        false => Err(format!("{} before its content", cut())),
    }
}

fn number(bytes: &[u8], it: &Element) -> Option<u64> {
    big(bytes, it.body, (it.end - it.body).min(8))
}

fn webm_duration_ns(bytes: &[u8], info: &Element) -> Result<Option<u64>, String> {
    // Nanoseconds of one unit, unless the file has another number.
    let mut scale = 1_000_000;
    let mut duration = None;
    for it in elements(bytes, info.body, info.end)? {
        match (it.id, it.end - it.body) {
            (TIMESTAMP_SCALE, _) => scale = number(bytes, &it).unwrap_or(scale),
            (DURATION, 4) => {
                duration = number(bytes, &it).map(|bits| f64::from(f32::from_bits(bits as u32)));
            }
            (DURATION, 8) => duration = number(bytes, &it).map(f64::from_bits),
            _ => {}
        }
    }
    let ns = duration.map(|duration| duration * scale as f64);
    Ok(ns.filter(|ns| ns.is_finite() && *ns > 0.0).map(|ns| ns as u64))
}

fn no_part(it: &Element) -> String {
    damaged(&format!("at the part whose content begins at byte {}", it.body))
}

/// The checksum of an element, where it has one: the first within, over the others (RFC 8794, 11.3.1).
fn checksum(bytes: &[u8], it: &Element) -> Result<(), String> {
    let Some([0xbf, 0x84]) = slice(bytes, it.body, 2) else { return Ok(()) };
    let told = little(bytes, it.body + 2, 4);
    let sum = bytes.get(it.body + 6..it.end).map(|data| u64::from(crc32fast::hash(data)));
    match sum.is_some() && sum == told {
        true => Ok(()),
        false => Err(damaged(&format!("the checksum of its part at byte {} is wrong", it.body))),
    }
}

/// The blocks of a cluster: each is of a track that there is. Within one of unknown length the next
/// ones stand too.
fn cluster(bytes: &[u8], cluster: &Element, tracks: &[u64]) -> Result<(), String> {
    let block = |it: &Element| match vint(bytes, it.body, false) {
        Some((track, _)) if tracks.contains(&track) => Ok(()),
        _ => Err(damaged(&format!("the block at byte {} is of no track", it.body))),
    };
    for it in elements(bytes, cluster.body, cluster.end)? {
        match it.id {
            SIMPLE_BLOCK => block(&it)?,
            BLOCK_GROUP => {
                for it in elements(bytes, it.body, it.end)?.iter().filter(|it| it.id == BLOCK) {
                    block(it)?;
                }
            }
            CRC_32 | INFO | TRACKS | CLUSTER => {}
            id if WITHIN.contains(&id) || BESIDE.contains(&id) => {}
            _ => return Err(no_part(&it)),
        }
    }
    Ok(())
}

/// Reads a track; its number.
fn webm_track(bytes: &[u8], track: &Element, heads: &mut Heads) -> Result<Option<u64>, String> {
    let (mut kind, mut sides) = (None, [None, None]);
    let mut of = None;
    for it in elements(bytes, track.body, track.end)? {
        match it.id {
            TRACK_NUMBER => of = number(bytes, &it),
            TRACK_TYPE => kind = number(bytes, &it),
            VIDEO => {
                for it in elements(bytes, it.body, it.end)? {
                    let side = number(bytes, &it).and_then(|side| u32::try_from(side).ok());
                    match it.id {
                        PIXEL_WIDTH => sides[0] = side,
                        PIXEL_HEIGHT => sides[1] = side,
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }
    match kind {
        Some(1) if !heads.has_video => {
            heads.has_video = true;
            heads.size = sides[0].zip(sides[1]);
        }
        Some(2) => heads.has_sound = true,
        _ => {}
    }
    Ok(of)
}
