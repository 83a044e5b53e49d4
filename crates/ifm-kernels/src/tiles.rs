//! Weights as the kernels read them: tiles of sixteen outputs, interleaved.
//!
//! Not here: the contents of a tile (`float`, `integer`).

use crate::{aligned::Aligned, lanes::LANES};

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
    /// Tiles of zero bytes; calls `fill` for each output with its lane and its tile:
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
