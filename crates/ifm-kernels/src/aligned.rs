//! Memory that begins at a line of the cache.
//!
//! Not here: its contents (`tiles`, `bandwidth`).

/// Bytes that begin at a line of the cache.
#[derive(Debug)]
pub(crate) struct Aligned {
    lines: Vec<Line>,
}

#[derive(Debug, Clone, Copy)]
#[repr(C, align(64))]
struct Line([u8; 64]);

impl Aligned {
    /// This many of them, all zero, and what is left of the last line.
    pub(crate) fn zeros(bytes: usize) -> Self {
        Self { lines: vec![Line([0; 64]); bytes.div_ceil(64)] }
    }

    /// All bytes, up to the end of the last line.
    pub(crate) fn bytes(&self) -> &[u8] {
        let length = self.lines.len() * 64;
        // SAFETY: a line is 64 bytes without padding, and lines lie one after another.
        unsafe { std::slice::from_raw_parts(self.lines.as_ptr().cast(), length) }
    }

    /// The same, to be written.
    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        let length = self.lines.len() * 64;
        // SAFETY: as in `bytes`.
        unsafe { std::slice::from_raw_parts_mut(self.lines.as_mut_ptr().cast(), length) }
    }
}
