//! Keys and values of the tokens that a sequence has seen.
//!
//! A cache grows by tiles of [`TILE_TOKENS`] tokens, each one buffer with the keys
//! and values of all layers. Inside a tile the keys of a head are stored
//! transposed, one row for each dimension, and the values as they are, one row for
//! each token: both products of attention then run along rows, without sums across
//! a vector. The pool bounds the number of tiles and keeps released ones.
//!
//! Keys and values are kept as 32-bit floats or rounded to 16 bits ([`KvFormat`]); products
//! run on 32-bit floats, so a tile of the latter is widened when it is walked over.
//!
//! Not here: who gets tiles when they are short (`scheduler`).

use half::{f16, slice::HalfFloatSliceExt as _};

use crate::{kv_format::KvFormat, shape::ModelShape};

/// Keys and values of [`TILE_TOKENS`] tokens, all layers.
#[derive(Debug)]
pub(crate) enum Tile {
    F32(Box<[f32]>),
    F16(Box<[f16]>),
}

impl Tile {
    fn new(format: KvFormat, numbers: usize) -> Self {
        match format {
            KvFormat::F32 => Self::F32(vec![0.0; numbers].into()),
            KvFormat::F16 => Self::F16(vec![f16::ZERO; numbers].into()),
        }
    }

    /// Some of its numbers, widened into `room` where they are kept in 16 bits.
    fn widened<'a>(&'a self, start: usize, count: usize, room: &'a mut [f32]) -> &'a [f32] {
        match self {
            Self::F32(numbers) => &numbers[start..][..count],
            Self::F16(numbers) => {
                let room = &mut room[..count];
                numbers[start..][..count].convert_to_f32_slice(room);
                room
            }
        }
    }
}

/// Tokens in a tile. 64 keys are four vectors of AVX-512, the width of a register
/// tile, and with heads of 64 a tile of keys is 16 KiB: half a first-level cache.
pub(crate) const TILE_TOKENS: usize = 64;

/// Tiles that are needed for a number of tokens.
pub(crate) fn tiles_for(tokens: usize) -> usize {
    tokens.div_ceil(TILE_TOKENS)
}

/// The memory of all sequences.
#[derive(Debug)]
pub(crate) struct KvPool {
    /// How a tile keeps its numbers, and how many there are.
    format: KvFormat,
    tile_numbers: usize,
    /// Tiles that may exist.
    tiles_max: usize,
    /// Tiles in the caches of sequences.
    tiles_used: usize,
    free: Vec<Tile>,
}

impl KvPool {
    /// A pool for at least `tokens` tokens of a model. No memory is taken yet.
    pub(crate) fn new(shape: &ModelShape, tokens: usize) -> Self {
        let format = shape.kv;
        let tile_numbers = shape.kv_bytes_per_token() / format.bytes() * TILE_TOKENS;
        let tiles_max = tiles_for(tokens);
        Self { format, tile_numbers, tiles_max, tiles_used: 0, free: Vec::new() }
    }

    /// Tiles that may exist.
    pub(crate) fn tiles_max(&self) -> usize {
        self.tiles_max
    }

    /// Makes room for `tokens` more tokens.
    ///
    /// # Errors
    /// [`KvExhausted`] when the pool has no tile left; the cache is unchanged then.
    pub(crate) fn extend(&mut self, cache: &mut KvCache, tokens: usize) -> Result<(), KvExhausted> {
        let wanted = tiles_for(cache.length + tokens).saturating_sub(cache.tiles.len());
        if self.tiles_used + wanted > self.tiles_max {
            return Err(KvExhausted);
        }
        self.tiles_used += wanted;
        for _ in 0..wanted {
            let tile = self.free.pop();
            let fresh = || Tile::new(self.format, self.tile_numbers);
            cache.tiles.push(tile.unwrap_or_else(fresh));
        }
        Ok(())
    }

    /// Takes back the tiles of a sequence that ended.
    pub(crate) fn release(&mut self, cache: KvCache) {
        self.tiles_used = self.tiles_used.saturating_sub(cache.tiles.len());
        self.free.extend(cache.tiles);
    }
}

/// The pool has no tile left.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("no memory left for keys and values; hint: raise the budget of KV tokens")]
pub struct KvExhausted;

/// The keys and values of one sequence.
#[derive(Debug, Default)]
pub(crate) struct KvCache {
    tiles: Vec<Tile>,
    length: usize,
}

/// Where the keys and values of one head in one layer are in a tile.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HeadPlace {
    start: usize,
    width: usize,
}

impl HeadPlace {
    pub(crate) fn new(shape: &ModelShape, layer: usize, kv_head: usize) -> Self {
        let width = shape.head_width;
        let start = (layer * shape.kv_heads + kv_head) * 2 * width * TILE_TOKENS;
        Self { start, width }
    }

    /// Where one token's key goes, number by number, and its value.
    fn split<T>(self, tile: &mut [T], column: usize) -> (impl Iterator<Item = &mut T>, &mut [T]) {
        let (keys, values) = tile[self.start..][..2 * self.width * TILE_TOKENS]
            .split_at_mut(self.width * TILE_TOKENS);
        let keys = keys.iter_mut().skip(column).step_by(TILE_TOKENS);
        (keys, &mut values[column * self.width..][..self.width])
    }

    /// Numbers of the keys, and of the values, of the head in a tile: the room to widen them.
    pub(crate) fn numbers(shape: &ModelShape) -> usize {
        shape.head_width * TILE_TOKENS
    }

    /// Keys of the head: `width` rows of [`TILE_TOKENS`].
    pub(crate) fn keys<'a>(self, tile: &'a Tile, room: &'a mut [f32]) -> &'a [f32] {
        tile.widened(self.start, self.width * TILE_TOKENS, room)
    }

    /// Values of the head for the first `tokens` tokens of the tile: rows of `width`.
    pub(crate) fn values<'a>(
        self,
        tile: &'a Tile,
        tokens: usize,
        room: &'a mut [f32],
    ) -> &'a [f32] {
        tile.widened(self.start + self.width * TILE_TOKENS, self.width * tokens, room)
    }
}

impl KvCache {
    /// Tokens whose keys and values are complete.
    pub(crate) fn length(&self) -> usize {
        self.length
    }

    /// Tokens that fit into the tiles.
    pub(crate) fn capacity(&self) -> usize {
        self.tiles.len() * TILE_TOKENS
    }

    /// The tiles, in the order of the tokens.
    pub(crate) fn tiles(&self) -> &[Tile] {
        &self.tiles
    }

    /// Stores the key and the value of a head at a position within the capacity.
    pub(crate) fn store(&mut self, place: HeadPlace, position: usize, key: &[f32], value: &[f32]) {
        let column = position % TILE_TOKENS;
        match &mut self.tiles[position / TILE_TOKENS] {
            Tile::F32(tile) => {
                let (keys, values) = place.split(tile, column);
                keys.zip(key).for_each(|(kept, key)| *kept = *key);
                values.copy_from_slice(value);
            }
            Tile::F16(tile) => {
                let (keys, values) = place.split(tile, column);
                keys.zip(key).for_each(|(kept, key)| *kept = f16::from_f32(*key));
                values.convert_from_f32_slice(value);
            }
        }
    }

    /// Counts tokens whose keys and values have been stored in every layer.
    pub(crate) fn advance(&mut self, tokens: usize) {
        self.length += tokens;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shape::Preset;

    #[test]
    fn tiles_are_bounded_and_used_again() {
        let shape = Preset::Nano.shape();
        let mut pool = KvPool::new(&shape, 130);
        assert_eq!(pool.tiles_max(), 3);
        let (mut first, mut second) = (KvCache::default(), KvCache::default());
        assert_eq!(pool.extend(&mut first, 65), Ok(()));
        assert_eq!(first.capacity(), 128);
        assert_eq!(pool.extend(&mut second, 65), Err(KvExhausted));
        assert_eq!(second.capacity(), 0, "nothing is taken when not all can be");
        pool.release(first);
        assert_eq!(pool.extend(&mut second, 192), Ok(()));
        assert_eq!(pool.free.len(), 0);
    }

    #[test]
    fn keys_are_transposed_and_values_are_not() {
        for kv in [KvFormat::F32, KvFormat::F16] {
            assert_eq!(kv.to_string().parse(), Ok(kv));
            let shape = ModelShape { kv, ..Preset::Nano.shape() };
            let mut pool = KvPool::new(&shape, 100);
            let mut cache = KvCache::default();
            pool.extend(&mut cache, 100).expect("room");
            let place = HeadPlace::new(&shape, 1, 1);
            let key: Vec<f32> = (0..64).map(|index| index as f32).collect();
            // Sixteen bits do not hold the rest.
            let value: Vec<f32> = (0..64).map(|index| -(index as f32) - 1.0 / 4096.0).collect();
            cache.store(place, 70, &key, &value);
            let tile = &cache.tiles()[1];
            let mut room = vec![0.0; HeadPlace::numbers(&shape)];
            assert_eq!(place.keys(tile, &mut room)[3 * TILE_TOKENS + 6], 3.0);
            let kept = place.values(tile, 7, &mut room)[6 * 64 + 3];
            assert_eq!(kept, if kv == KvFormat::F32 { value[3] } else { -3.0 });
            cache.advance(71);
            assert_eq!(cache.length(), 71);
            // Two layers, two heads, keys and values of 64 numbers.
            assert_eq!(shape.kv_bytes_per_token(), 2 * 2 * 2 * 64 * kv.bytes());
        }
        assert!("q8_0".parse::<KvFormat>().is_err());
    }
}
