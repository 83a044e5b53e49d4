//! The boxes that an MP4 is made of.
//!
//! Not here: what they hold (`video`, `samples`).

use super::{big, cut, cut_at, damaged, slice};

/// Boxes (and elements of WebM) side by side that are looked at, at most.
pub(super) const BOXES_MAX: usize = 1 << 20;

/// One box of MP4: its name, and the place of its content.
pub(super) struct Mp4Box<'file> {
    pub name: &'file [u8],
    pub body: usize,
    pub end: usize,
}

/// The boxes between two places of a file (ISO/IEC 14496-12, 4.2); one that goes on beyond is an error.
pub(super) fn boxes(bytes: &[u8], from: usize, to: usize) -> Result<Vec<Mp4Box<'_>>, String> {
    let mut found = Vec::new();
    let mut place = from;
    while place < to && found.len() < BOXES_MAX {
        let small = big(bytes, place, 4).ok_or_else(cut)?;
        let name = slice(bytes, place + 4, 4).ok_or_else(cut)?;
        let (head, length) = match small {
            // To the end of its parent.
            0 => (8, (to - place) as u64),
            1 => (16, big(bytes, place + 8, 8).ok_or_else(cut)?),
            _ => (8, small),
        };
        if length < head {
            return Err(damaged(&format!("a box at byte {place} has no length")));
        }
        let end = (place as u64).checked_add(length).ok_or_else(cut)?;
        if end > to as u64 {
            return Err(match to == bytes.len() {
                true => cut_at(to as u64, end),
                false => {
                    damaged(&format!("a box at byte {place} is longer than what it stands in"))
                }
            });
        }
        found.push(Mp4Box { name, body: place + head as usize, end: end as usize });
        place = end as usize;
    }
    Ok(found)
}
