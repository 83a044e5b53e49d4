//! A whole request as bytes: its own, and those that it shares with other requests.
//!
//! A large image is held in memory once, in base64 as it is sent. The request's own bytes contain a
//! placeholder for it, and the sender sends the shared bytes at that position.

use std::sync::Arc;

/// Placeholder byte for a medium while a body is written. It never occurs in UTF-8, so a body
/// without media never contains it.
pub(crate) const HOLE: u8 = 0xff;

/// A whole request. The default is empty.
#[derive(Debug, Clone, Default)]
pub struct RequestBytes {
    /// Its own bytes, [`HOLE`] in each place that shared bytes fill.
    own: Vec<u8>,
    /// What fills them, and where the hole is; in order.
    shared: Vec<(usize, Arc<[u8]>)>,
}

impl RequestBytes {
    /// A request without shared bytes.
    pub fn of(own: Vec<u8>) -> RequestBytes {
        RequestBytes { own, shared: Vec::new() }
    }

    /// Empties it; the memory of its own bytes is kept.
    pub fn clear(&mut self) {
        self.own.clear();
        self.shared.clear();
    }

    /// Its own bytes, to be written to; without any shared ones so far.
    pub fn own_mut(&mut self) -> &mut Vec<u8> {
        &mut self.own
    }

    /// Its own bytes: the head, and the body with a hole for each medium.
    pub fn own(&self) -> &[u8] {
        &self.own
    }

    /// Bytes on the wire.
    pub fn len(&self) -> usize {
        let shared: usize = self.shared.iter().map(|(_, bytes)| bytes.len()).sum();
        self.own.len() - self.shared.len() + shared
    }

    /// Memory that this request alone holds, bytes: shared bytes count where no one else has them.
    pub fn held_bytes(&self) -> usize {
        let alone = self.shared.iter().filter(|(_, bytes)| Arc::strong_count(bytes) == 1);
        self.own.len() + alone.map(|(_, bytes)| bytes.len()).sum::<usize>()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.own.is_empty()
    }

    /// The bytes on the wire from an offset up to the end of that contiguous part; empty at the
    /// end.
    pub fn run_at(&self, offset: usize) -> &[u8] {
        let mut at = offset;
        let mut from = 0;
        for (hole, shared) in &self.shared {
            let own = self.own.get(from..*hole).unwrap_or_default();
            match own.get(at..) {
                Some(run) if !run.is_empty() => return run,
                _ => at -= own.len(),
            }
            match shared.get(at..) {
                Some(run) if !run.is_empty() => return run,
                _ => at -= shared.len(),
            }
            from = hole + 1;
        }
        self.own.get(from.saturating_add(at)..).unwrap_or_default()
    }

    /// All bytes on the wire, copied.
    pub fn to_vec(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.len());
        while let run @ [_, ..] = self.run_at(bytes.len()) {
            bytes.extend_from_slice(run);
        }
        bytes
    }

    /// Fills the holes behind `start`, in order. Says where the last one ends; absent where there are
    /// fewer than bytes for them.
    pub(crate) fn fill(
        &mut self,
        start: usize,
        shared: impl Iterator<Item = Arc<[u8]>>,
    ) -> Option<usize> {
        let mut at = start;
        for bytes in shared {
            let rest = self.own.get(at..).unwrap_or_default();
            let hole = rest.iter().position(|byte| *byte == HOLE)?;
            self.shared.push((at + hole, bytes));
            at += hole + 1;
        }
        Some(at)
    }

    /// Whether a hole is left that nothing fills.
    pub(crate) fn has_hole(&self, from: usize) -> bool {
        self.own.get(from..).unwrap_or_default().contains(&HOLE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holes_are_filled_in_order_and_runs_join_to_the_whole() {
        let shared = [b"11".as_slice(), b"", b"333"].map(Arc::<[u8]>::from);
        for (own, whole) in [
            (b"a\xffb\xffc\xffd".as_slice(), "a11bc333d"),
            (b"\xff\xff\xff", "11333"),
            (b"ab\xff\xff\xff", "ab11333"),
        ] {
            let mut bytes = RequestBytes::of(own.to_vec());
            let end = bytes.fill(0, shared.iter().cloned()).unwrap();
            assert!(!bytes.has_hole(end));
            assert_eq!((bytes.to_vec(), bytes.len()), (whole.as_bytes().to_vec(), whole.len()));
            for offset in 0..=whole.len() {
                assert!(whole.as_bytes()[offset..].starts_with(bytes.run_at(offset)));
                assert_eq!(bytes.run_at(offset).is_empty(), offset == whole.len());
            }
        }
        assert_eq!(RequestBytes::of(b"a".to_vec()).fill(0, shared.iter().cloned()), None);
        let mut more = RequestBytes::of(b"\xff\xff\xff\xff".to_vec());
        let end = more.fill(0, shared.into_iter()).unwrap();
        assert!(more.has_hole(end));
    }
}
