//! The tables of a track of MP4 against the file: each sample lies within the content, and the parts of
//! a frame of H.264 or H.265 fill it (ISO/IEC 14496-12, 8.6 and 8.7; 14496-15).
//!
//! Not here: fragments, whose samples follow their tables, and codecs.

use super::{big, boxes::Mp4Box, damaged, slice};

/// Samples of a track at most that are looked at.
const SAMPLES_MAX: u64 = 1 << 24;

/// The tables of a track; nothing where one is missing, as in a file of fragments.
struct Tables<'file> {
    bytes: &'file [u8],
    /// Where the tables' entries begin: sizes, chunks by samples, places.
    sizes: usize,
    runs: usize,
    places: usize,
    /// Bytes of a place.
    place_bytes: usize,
    samples: u64,
    /// The size of all samples where it is one.
    one_size: u64,
    run_count: u64,
    place_count: u64,
}

impl<'file> Tables<'file> {
    fn of(bytes: &'file [u8], boxes: &[Mp4Box<'_>]) -> Option<Self> {
        let find = |name: &[u8]| boxes.iter().find(|it| it.name == name);
        let sizes = find(b"stsz")?.body;
        let runs = find(b"stsc")?.body;
        let (places, place_bytes) = match (find(b"stco"), find(b"co64")) {
            (Some(it), _) => (it.body, 4),
            (None, it) => (it?.body, 8),
        };
        let samples = big(bytes, sizes + 8, 4)?;
        (1..=SAMPLES_MAX).contains(&samples).then_some(())?;
        Some(Self {
            bytes,
            sizes: sizes + 12,
            runs: runs + 8,
            places: places + 8,
            place_bytes,
            samples,
            one_size: big(bytes, sizes + 4, 4)?,
            run_count: big(bytes, runs + 4, 4)?,
            place_count: big(bytes, places + 4, 4)?,
        })
    }

    /// Samples of each chunk from one on, and from which one on there are as many.
    fn run(&self, number: u64) -> Option<(u64, u64)> {
        let from = self.runs + 12 * number as usize;
        (number < self.run_count).then_some(())?;
        Some((big(self.bytes, from, 4)?, big(self.bytes, from + 4, 4)?))
    }

    fn size(&self, sample: u64) -> Option<u64> {
        match self.one_size {
            0 => big(self.bytes, self.sizes + 4 * sample as usize, 4),
            size => Some(size),
        }
    }
}

/// Looks at the samples of a track. `boxes` are those of its table, `content` where the file's content
/// begins and ends.
///
/// # Errors
/// The first that does not fit, and where.
pub(super) fn check(
    bytes: &[u8],
    boxes: &[Mp4Box<'_>],
    content: &[(usize, usize)],
) -> Result<(), String> {
    let Some(tables) = Tables::of(bytes, boxes) else { return Ok(()) };
    let torn = || damaged("the tables of its samples do not fit together");
    let parts = part_bytes(bytes, boxes);
    let (mut sample, mut number) = (0, 0);
    for chunk in 1..=tables.place_count {
        let next = tables.run(number + 1).map(|(from, _)| from);
        number += u64::from(next == Some(chunk));
        let (_, count) = tables.run(number).ok_or_else(torn)?;
        let entry = tables.places + tables.place_bytes * (chunk as usize - 1);
        let mut place = big(bytes, entry, tables.place_bytes).ok_or_else(torn)?;
        for _ in 0..count {
            if sample == tables.samples {
                return Err(torn());
            }
            let size = tables.size(sample).ok_or_else(torn)?;
            sample += 1;
            let end = place.saturating_add(size);
            let is_within =
                |(from, to): &(usize, usize)| *from as u64 <= place && end <= *to as u64;
            if !content.iter().any(is_within) {
                let why = format!("sample {sample} at byte {place} lies beyond its content");
                return Err(damaged(&why));
            }
            if parts.is_some_and(|parts| !is_filled(bytes, place as usize, end as usize, parts)) {
                return Err(damaged(&format!("frame {sample} at byte {place} is not filled")));
            }
            place = end;
        }
    }
    if sample == tables.samples { Ok(()) } else { Err(torn()) }
}

/// Bytes in which the length of each part of a frame stands, for H.264 and H.265.
fn part_bytes(bytes: &[u8], boxes: &[Mp4Box<'_>]) -> Option<usize> {
    let kinds = boxes.iter().find(|it| it.name == b"stsd")?;
    // Several descriptions are rare, and each sample would have to be asked for its own.
    (big(bytes, kinds.body + 4, 4)? == 1).then_some(())?;
    let within = |name: &[u8]| {
        let kind = bytes.get(kinds.body..kinds.end)?;
        Some(kinds.body + kind.windows(4).position(|four| four == name)? + 4)
    };
    let last = match slice(bytes, kinds.body + 12, 4)? {
        b"avc1" | b"avc3" => *bytes.get(within(b"avcC")? + 4)?,
        b"hvc1" | b"hev1" => *bytes.get(within(b"hvcC")? + 21)?,
        _ => return None,
    };
    Some(usize::from(last & 3) + 1)
}

/// Whether parts, each behind its length, fill a frame; the first bit of each is 0.
fn is_filled(bytes: &[u8], mut place: usize, end: usize, parts: usize) -> bool {
    while place < end {
        let Some(length) = big(bytes, place, parts) else { return false };
        let next = (place + parts) as u64 + length;
        let starts_right = bytes.get(place + parts).is_some_and(|byte| byte & 0x80 == 0);
        if next > end as u64 || length > 0 && !starts_right {
            return false;
        }
        place = next as usize;
    }
    true
}
