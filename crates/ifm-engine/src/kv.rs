//! Keys and values of the tokens that a sequence has seen.
//!
//! A cache grows by tiles of [`TILE_TOKENS`] tokens, each one buffer with the keys
//! and values of all layers. Inside a tile the keys of a head are stored
//! transposed, one row for each dimension, and the values as they are, one row for
//! each token: both products of attention then run along rows, without sums across
//! a vector. The pool bounds the number of tiles and keeps released ones.
//!
//! Not here: who gets tiles when they are short (`scheduler`).

use crate::shape::ModelShape;

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
    /// Floats in a tile.
    tile_floats: usize,
    /// Tiles that may exist.
    tiles_max: usize,
    /// Tiles in the caches of sequences.
    tiles_used: usize,
    free: Vec<Box<[f32]>>,
}

impl KvPool {
    /// A pool for at least `tokens` tokens of a model. No memory is taken yet.
    pub(crate) fn new(shape: &ModelShape, tokens: usize) -> Self {
        let tile_floats = shape.kv_bytes_per_token() / size_of::<f32>() * TILE_TOKENS;
        Self { tile_floats, tiles_max: tiles_for(tokens), tiles_used: 0, free: Vec::new() }
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
            cache.tiles.push(tile.unwrap_or_else(|| vec![0.0; self.tile_floats].into()));
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
    tiles: Vec<Box<[f32]>>,
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

    /// Keys of the head: `width` rows of [`TILE_TOKENS`].
    pub(crate) fn keys(self, tile: &[f32]) -> &[f32] {
        &tile[self.start..][..self.width * TILE_TOKENS]
    }

    /// Values of the head: [`TILE_TOKENS`] rows of `width`.
    pub(crate) fn values(self, tile: &[f32]) -> &[f32] {
        &tile[self.start + self.width * TILE_TOKENS..][..self.width * TILE_TOKENS]
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
    pub(crate) fn tiles(&self) -> &[Box<[f32]>] {
        &self.tiles
    }

    /// Stores the key and the value of a head at a position within the capacity.
    pub(crate) fn store(&mut self, place: HeadPlace, position: usize, key: &[f32], value: &[f32]) {
        let tile = &mut self.tiles[position / TILE_TOKENS];
        let column = position % TILE_TOKENS;
        let (keys, values) = tile[place.start..][..2 * place.width * TILE_TOKENS]
            .split_at_mut(place.width * TILE_TOKENS);
        for (row, key) in keys.chunks_exact_mut(TILE_TOKENS).zip(key) {
            row[column] = *key;
        }
        values[column * place.width..][..place.width].copy_from_slice(value);
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
        let shape = Preset::Nano.shape();
        let mut pool = KvPool::new(&shape, 100);
        let mut cache = KvCache::default();
        pool.extend(&mut cache, 100).expect("room");
        let place = HeadPlace::new(&shape, 1, 1);
        let key: Vec<f32> = (0..64).map(|index| index as f32).collect();
        let value: Vec<f32> = (0..64).map(|index| -(index as f32)).collect();
        cache.store(place, 70, &key, &value);
        let tile = &cache.tiles()[1];
        assert_eq!(place.keys(tile)[3 * TILE_TOKENS + 6], 3.0);
        assert_eq!(place.values(tile)[6 * 64 + 3], -3.0);
        cache.advance(71);
        assert_eq!(cache.length(), 71);
    }
}
