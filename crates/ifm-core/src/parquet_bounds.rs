//! What a Parquet file claims about its pages and lists, checked before a library believes it.
//!
//! The library reserves the memory that the head of a compressed page asks for, up to 2 GiB, and counts through lists
//! whose elements take no bytes. Here the heads are read first, in Thrift's compact protocol. Not here: what they mean.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;

/// Bytes of a decompressed page that need no compressed bytes.
const PAGE_BYTES_FREE: u64 = 64 << 20;
/// Decompressed bytes for each byte of a larger page. Snappy reaches about 21.
const PAGE_RATIO_MAX: u64 = 32;
/// Bytes that are read for the head of a page; the longer one is for heads with long statistics.
const HEAD_BYTES: [usize; 2] = [4 << 10, 4 << 20];
/// Largest description of a file, bytes.
const FOOTER_BYTES_MAX: u64 = 256 << 20;
/// Structures in structures.
const DEPTH_MAX: u32 = 64;

/// Checks that the lists of a file's description have no more elements than it has bytes.
///
/// # Errors
/// What is wrong, to follow the name of the file; or the disk's.
pub fn check_footer(file: &File) -> io::Result<Result<(), String>> {
    let bytes = file.metadata()?.len();
    let mut end = [0; 8];
    let Some(at) = bytes.checked_sub(8) else { return Ok(Ok(())) };
    file.read_exact_at(&mut end, at)?;
    let length = u64::from(u32::from_le_bytes([end[0], end[1], end[2], end[3]]));
    // What is no Parquet at all, the library says.
    let Some(start) = at.checked_sub(length).filter(|_| end.ends_with(b"PAR1")) else {
        return Ok(Ok(()));
    };
    if length > FOOTER_BYTES_MAX {
        return Ok(Err(format!("its description has {length} bytes")));
    }
    let mut footer = vec![0; length as usize];
    file.read_exact_at(&mut footer, start)?;
    let mut walk = Walk { bytes: &footer, elements_left: footer.len() as u64 };
    match walk.structure(DEPTH_MAX) {
        Some(()) => Ok(Ok(())),
        None => Ok(Err("its description claims more than its bytes can hold".to_owned())),
    }
}

/// Checks that the pages from `start` on, within `length` bytes, claim no more than their bytes can hold.
///
/// # Errors
/// What is wrong, to follow the name of the file; or the disk's.
pub fn check_pages(file: &File, start: u64, length: u64) -> io::Result<Result<(), String>> {
    let end = start.saturating_add(length).min(file.metadata()?.len());
    let mut at = start;
    while at < end {
        let Some(head) = read_head(file, at, end)? else {
            return Ok(Err(format!("the head of the page at byte {at} cannot be read")));
        };
        let allowed = head.compressed.saturating_mul(PAGE_RATIO_MAX).max(PAGE_BYTES_FREE);
        if head.decompressed > allowed {
            let (claimed, bytes) = (head.decompressed, head.compressed);
            let text = format!("the page at byte {at} claims {claimed} bytes in {bytes}");
            return Ok(Err(text));
        }
        at = at.saturating_add(head.length).saturating_add(head.compressed);
    }
    Ok(Ok(()))
}

/// The head of a page: its own length, and the sizes of the page.
struct Head {
    length: u64,
    decompressed: u64,
    compressed: u64,
}

fn read_head(file: &File, at: u64, end: u64) -> io::Result<Option<Head>> {
    for most in HEAD_BYTES {
        let mut bytes = vec![0; most.min((end - at) as usize)];
        file.read_exact_at(&mut bytes, at)?;
        let mut walk = Walk { bytes: &bytes, elements_left: bytes.len() as u64 };
        if let Some((decompressed, compressed)) = walk.page() {
            let length = (bytes.len() - walk.bytes.len()) as u64;
            return Ok(Some(Head { length, decompressed, compressed }));
        }
    }
    Ok(None)
}

/// Types of fields and elements.
const STOP: u8 = 0;
const BOOL: u8 = 1;
const I32: u8 = 5;
const STRUCT: u8 = 12;

/// A place in bytes.
struct Walk<'bytes> {
    bytes: &'bytes [u8],
    /// Elements of lists that may still come: each takes a byte, or would take none.
    elements_left: u64,
}

impl Walk<'_> {
    fn take(&mut self, count: u64) -> Option<&[u8]> {
        let (taken, rest) = self.bytes.split_at_checked(usize::try_from(count).ok()?)?;
        self.bytes = rest;
        Some(taken)
    }

    fn byte(&mut self) -> Option<u8> {
        self.take(1).map(|taken| taken[0])
    }

    /// An unsigned number of any length; only its lowest bits are kept.
    fn number(&mut self) -> Option<u64> {
        let (mut number, mut shift) = (0, 0_u32);
        loop {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f).wrapping_shl(shift);
            if byte < 0x80 {
                return Some(number);
            }
            shift += 7;
        }
    }

    /// The type and the number of the next field.
    fn field(&mut self, last: i64) -> Option<(u8, i64)> {
        let head = self.byte()?;
        let (step, kind) = (i64::from(head >> 4), head & 15);
        match (kind, step) {
            (STOP, _) => Some((STOP, 0)),
            (_, 0) => {
                let id = self.number()?;
                Some((kind, (id >> 1) as i64 ^ -((id & 1) as i64)))
            }
            _ => Some((kind, last + step)),
        }
    }

    fn structure(&mut self, depth: u32) -> Option<()> {
        let mut last = 0;
        loop {
            let (kind, id) = self.field(last)?;
            if kind == STOP {
                return Some(());
            }
            last = id;
            self.value(kind, depth)?;
        }
    }

    fn elements(&mut self, count: u64, kinds: &[u8], depth: u32) -> Option<()> {
        self.elements_left = self.elements_left.checked_sub(count)?;
        for _ in 0..count {
            kinds.iter().try_for_each(|kind| self.value(*kind, depth))?;
        }
        Some(())
    }

    fn value(&mut self, kind: u8, depth: u32) -> Option<()> {
        let depth = depth.checked_sub(1)?;
        match kind {
            // The library takes no byte for these, in lists either.
            1 | 2 => Some(()),
            3 => self.byte().map(drop),
            4..=6 => self.number().map(drop),
            7 => self.take(8).map(drop),
            8 => {
                let length = self.number()?;
                self.take(length).map(drop)
            }
            9 | 10 => {
                let head = self.byte()?;
                let count = if head >> 4 == 15 { self.number()? } else { u64::from(head >> 4) };
                self.elements(count, &[head & 15], depth)
            }
            11 => match self.number()? {
                0 => Some(()),
                count => {
                    let kinds = self.byte()?;
                    self.elements(count, &[kinds >> 4, kinds & 15], depth)
                }
            },
            STRUCT => self.structure(depth),
            13 => self.take(16).map(drop),
            _ => None,
        }
    }

    /// Decompressed and compressed size in the head of a page.
    fn page(&mut self) -> Option<(u64, u64)> {
        let (mut sizes, mut last) = ([None; 2], 0);
        loop {
            let (kind, id) = self.field(last)?;
            last = id;
            match (id, kind) {
                (_, STOP) => return Some((sizes[0]?, sizes[1]?)),
                (2 | 3, I32) => {
                    let number = self.number()?;
                    // A negative size the library refuses.
                    sizes[id as usize - 2] = Some(if number & 1 == 0 { number >> 1 } else { 0 });
                }
                (1 | 4, I32) => self.value(kind, DEPTH_MAX)?,
                (5, STRUCT) => self.typed(&[I32, I32, I32, I32, STRUCT])?,
                (6, STRUCT) => self.typed(&[])?,
                (7, STRUCT) => self.typed(&[I32, I32, BOOL])?,
                (8, STRUCT) => self.typed(&[I32, I32, I32, I32, I32, I32, BOOL, STRUCT])?,
                (1..=8, _) => return None,
                _ => self.value(kind, DEPTH_MAX)?,
            }
        }
    }

    /// A structure whose fields from 1 on have these types. Another type could hide fields from this reader that the
    /// library sees, since it reads the type that it expects.
    fn typed(&mut self, kinds: &[u8]) -> Option<()> {
        let mut last = 0;
        loop {
            let (kind, id) = self.field(last)?;
            if kind == STOP {
                return Some(());
            }
            last = id;
            let place = usize::try_from(id).ok().and_then(|id| id.checked_sub(1));
            let expected = place.and_then(|place| kinds.get(place));
            let is_as_expected = match expected {
                Some(&BOOL) => matches!(kind, 1 | 2),
                Some(expected) => kind == *expected,
                None => true,
            };
            if !is_as_expected {
                return None;
            }
            self.value(kind, DEPTH_MAX)?;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    fn file(bytes: &[u8]) -> File {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        file
    }

    /// The head of a page: type, decompressed and compressed size, and an empty structure.
    fn page(decompressed: u32, compressed: u32) -> Vec<u8> {
        let number = |number: u32| {
            let (mut left, mut bytes) = (u64::from(number) << 1, Vec::new());
            while left > 0x7f {
                bytes.push(left as u8 | 0x80);
                left >>= 7;
            }
            bytes.push(left as u8);
            bytes
        };
        [&[0x15, 0, 0x15], &number(decompressed)[..], &[0x15], &number(compressed), &[0x2c, 0, 0]]
            .concat()
    }

    #[test]
    fn pages_claim_no_more_than_their_bytes_can_hold() {
        let check = |bytes: &[u8]| check_pages(&file(bytes), 0, bytes.len() as u64).unwrap();
        let content = [7; 9];
        let sound = [page(1_000_000, 9), content.to_vec()].concat();
        assert_eq!(check(&sound.repeat(3)), Ok(()));
        let error = check(&[sound, page(i32::MAX as u32, 9)].concat()).unwrap_err();
        assert!(error.contains("claims 2147483647 bytes in 9"), "{error}");
        // A size that is a text for one reader and a number for the other.
        assert!(check(&[0x15, 0, 0x18, 2, 0, 0, 0x15, 2, 0]).is_err());
    }

    #[test]
    fn lists_have_no_more_elements_than_bytes() {
        let check = |footer: &[u8]| {
            let length = (footer.len() as u32).to_le_bytes();
            check_footer(&file(&[b"PAR1", footer, &length, b"PAR1"].concat())).unwrap()
        };
        assert_eq!(check(&[0x15, 2, 0x19, 0x15, 1, 0]), Ok(()));
        // Two billion elements without a byte, alone and as keys of a map.
        assert!(check(&[0x19, 0xf1, 0xff, 0xff, 0xff, 0xff, 7, 0]).is_err());
        assert!(check(&[0x1b, 0xff, 0xff, 0xff, 0xff, 7, 0x11, 0]).is_err());
        assert!(check(&[0x1c; 300]).is_err());
        assert_eq!(check_footer(&file(b"no Parquet")).unwrap(), Ok(()));
    }
}
