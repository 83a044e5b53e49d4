//! Weights as the kernels read them: tiles of sixteen outputs, interleaved.
//!
//! Not here: what stands in a tile (`float`, `integer`).

use crate::lanes::LANES;

/// Bytes that begin at a line of the cache.
#[derive(Debug)]
struct Aligned {
    lines: Vec<Line>,
}

#[derive(Debug, Clone, Copy)]
#[repr(C, align(64))]
struct Line([u8; 64]);

impl Aligned {
    fn zeros(bytes: usize) -> Self {
        Self { lines: vec![Line([0; 64]); bytes.div_ceil(64)] }
    }

    /// All bytes, up to the end of the last line.
    fn bytes(&self) -> &[u8] {
        let length = self.lines.len() * 64;
        // SAFETY: a line is 64 bytes without padding, and lines lie one after another.
        unsafe { std::slice::from_raw_parts(self.lines.as_ptr().cast(), length) }
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        let length = self.lines.len() * 64;
        // SAFETY: as in `bytes`.
        unsafe { std::slice::from_raw_parts_mut(self.lines.as_mut_ptr().cast(), length) }
    }
}

/// A matrix in tiles.
#[derive(Debug)]
pub(crate) struct Tiles {
    /// Outputs of the matrix; the last tile may have fewer than sixteen.
    pub(crate) outputs: usize,
    /// Inputs of the matrix.
    pub(crate) columns: usize,
    /// Columns that share a scale; all where that is the case.
    pub(crate) group: usize,
    /// Bytes of the weights of a tile.
    pub(crate) tile_bytes: usize,
    /// Bytes of the scales of a tile.
    pub(crate) scale_bytes: usize,
    values: Aligned,
    scales: Aligned,
}

impl Tiles {
    /// Tiles of zero bytes; `fill` is called for each output with its lane and its tile:
    /// weights, then scales.
    pub(crate) fn new(
        (outputs, columns, group): (usize, usize, usize),
        (tile_bytes, scale_bytes): (usize, usize),
        mut fill: impl FnMut(usize, usize, &mut [u8], &mut [u8]),
    ) -> Self {
        let tiles = outputs.div_ceil(LANES);
        let mut values = Aligned::zeros(tiles * tile_bytes);
        let mut scales = Aligned::zeros(tiles * scale_bytes);
        for output in 0..outputs {
            let tile = output / LANES;
            let values = &mut values.bytes_mut()[tile * tile_bytes..][..tile_bytes];
            let scales = &mut scales.bytes_mut()[tile * scale_bytes..][..scale_bytes];
            fill(output, output % LANES, values, scales);
        }
        Self { outputs, columns, group, tile_bytes, scale_bytes, values, scales }
    }

    /// The weights from a tile on.
    pub(crate) fn values(&self, tile: usize) -> *const u8 {
        self.values.bytes()[tile * self.tile_bytes..].as_ptr()
    }

    /// The scales from a tile on.
    pub(crate) fn scales(&self, tile: usize) -> *const u8 {
        self.scales.bytes()[tile * self.scale_bytes..].as_ptr()
    }
}
