//! Random numbers that are the same on every machine, for ever.
//!
//! Each purpose draws from its own named stream and each item from its own part
//! of it, so a draw more in one place moves nothing in another. ChaCha with 8
//! rounds (D. J. Bernstein, "ChaCha, a variant of Salsa20", 2008), keyed by the
//! SHA-256 of seed and name.
//!
//! Not here: distributions other than uniform ones (`lengths`).

use rand::{Rng as _, SeedableRng as _, rngs::ChaCha8Rng};
use sha2::{Digest as _, Sha256};

/// Separates these keys from any other use of the hash. Part of the definition
/// of all prompts: a change makes other prompts from the same seed.
const DOMAIN: &[u8] = b"inferometer rng 1\0";

/// Words of the generator's own blocks: 4 of ChaCha's.
const BLOCK_WORDS: usize = 64;

/// The root of all draws of one seed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rng {
    seed: u64,
}

impl Rng {
    /// The root for a seed.
    pub fn new(seed: u64) -> Self {
        Self { seed }
    }

    /// The stream of one purpose; streams of different names are independent.
    pub fn stream(&self, name: &str) -> Stream {
        let mut hasher = Sha256::new();
        hasher.update(DOMAIN);
        hasher.update(self.seed.to_le_bytes());
        hasher.update(name.as_bytes());
        Stream { key: hasher.finalize().into() }
    }
}

/// The draws of one purpose, one sequence per item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stream {
    key: [u8; 32],
}

impl Stream {
    /// The draws for one item, from their beginning.
    pub fn item(&self, id: u64) -> Draws {
        let mut rng = ChaCha8Rng::from_seed(self.key);
        rng.set_stream(id);
        Draws { rng }
    }
}

/// One sequence of draws. Made by [`Stream::item`].
#[derive(Debug)]
pub struct Draws {
    rng: ChaCha8Rng,
}

impl Draws {
    /// A number in `0..bound`; 0 when `bound` is 0.
    ///
    /// Multiply and shift (D. Lemire, "Fast Random Integer Generation in an
    /// Interval", 2019) without the rejection: the chances of two numbers differ
    /// by at most `bound` / 2^32 of themselves, one in four million for the words
    /// of a prompt.
    #[inline]
    pub fn below(&mut self, bound: u32) -> u32 {
        scaled(self.rng.next_u32(), bound)
    }

    /// Many numbers as [`Draws::below`] gives them one after the other, without a call for each: the
    /// words of a long prompt are half a million of them.
    pub(crate) fn fill_below(&mut self, bound: u32, out: &mut [u32]) {
        for part in out.chunks_mut(BLOCK_WORDS) {
            let mut bytes = [0_u8; 4 * BLOCK_WORDS];
            let bytes = bytes.get_mut(..4 * part.len()).unwrap_or_default();
            self.rng.fill_bytes(bytes);
            for (place, word) in part.iter_mut().zip(bytes.as_chunks::<4>().0) {
                *place = scaled(u32::from_le_bytes(*word), bound);
            }
        }
    }

    /// A number in `0..bound`; 0 when `bound` is 0. As [`Draws::below`], for large bounds.
    #[inline]
    pub fn below_u64(&mut self, bound: u64) -> u64 {
        ((u128::from(self.rng.next_u64()) * u128::from(bound)) >> 64) as u64
    }

    /// A number from 0 to 1, 1 excluded, with 53 bits.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.rng.next_u64() >> 11) as f64 / 9_007_199_254_740_992.0
    }

    /// A number in `min..=max`; `min` when the two are upside down.
    pub fn within(&mut self, min: u32, max: u32) -> u32 {
        match max.checked_sub(min) {
            None | Some(0) => min,
            Some(u32::MAX) => self.rng.next_u32(),
            Some(width) => min + self.below(width + 1),
        }
    }

    /// Puts a list into a random order (Fisher and Yates).
    pub fn shuffle<T>(&mut self, list: &mut [T]) {
        for last in (1..list.len()).rev() {
            let other = self.below(last as u32 + 1) as usize;
            list.swap(last, other);
        }
    }
}

/// 32 random bits as a number in `0..bound`.
fn scaled(bits: u32, bound: u32) -> u32 {
    ((u64::from(bits) * u64::from(bound)) >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draw(seed: u64, name: &str, item: u64) -> [u32; 3] {
        let mut draws = Rng::new(seed).stream(name).item(item);
        [(); 3].map(|()| draws.below(1_000_000))
    }

    #[test]
    fn draws_never_change() {
        // Computed by a separate implementation of ChaCha8.
        assert_eq!(draw(0, "prompt", 0), [180_031, 196_910, 348_864]);
        assert_eq!(draw(42, "prompt", 1_000_000), [40_098, 367_207, 608_278]);
    }

    #[test]
    fn seed_name_and_item_each_matter() {
        let all = [draw(1, "a", 1), draw(2, "a", 1), draw(1, "b", 1), draw(1, "a", 2)];
        for (i, one) in all.iter().enumerate() {
            assert!(!all[i + 1..].contains(one), "{all:?}");
        }
        assert_eq!(draw(1, "a", 1), all[0]);
    }

    #[test]
    fn many_draws_at_once_are_those_one_by_one() {
        for count in [0, 1, 63, 64, 65, 1000] {
            let [mut one, mut many] = [(); 2].map(|()| Rng::new(7).stream("words").item(3));
            // They begin in the middle of a block.
            assert_eq!(one.below(9), many.below(9));
            let mut filled = vec![0; count];
            many.fill_below(1000, &mut filled);
            assert_eq!(filled, (0..count).map(|_| one.below(1000)).collect::<Vec<_>>());
            assert_eq!(one.below(1 << 30), many.below(1 << 30), "{count}");
        }
    }

    #[test]
    fn draws_stay_in_bounds_and_reach_them() {
        let mut draws = Rng::new(3).stream("bounds").item(0);
        let seen = (0..200).map(|_| draws.within(5, 8)).collect::<Vec<_>>();
        assert_eq!(seen.iter().min(), Some(&5));
        assert_eq!(seen.iter().max(), Some(&8));
        assert_eq!(draws.within(7, 7), 7);
        assert_eq!(draws.within(9, 2), 9);
        assert_eq!(draws.below(0), 0);
        assert_eq!(draws.below(1), 0);
    }

    #[test]
    fn draws_are_uniform() {
        let mut draws = Rng::new(4).stream("uniform").item(0);
        let mut counts = [0_u32; 10];
        for _ in 0..100_000 {
            counts[draws.below(10) as usize] += 1;
        }
        // Chi-square with 9 degrees of freedom; 27.9 is passed by 99.9 % of seeds.
        let chi_square = counts
            .iter()
            .map(|&count| (f64::from(count) - 10_000.0).powi(2) / 10_000.0)
            .sum::<f64>();
        assert!(chi_square < 27.9, "{counts:?}");
    }

    #[test]
    fn a_shuffle_keeps_everything() {
        let mut list = (0..100).collect::<Vec<_>>();
        Rng::new(5).stream("shuffle").item(0).shuffle(&mut list);
        assert_ne!(list, (0..100).collect::<Vec<_>>());
        list.sort_unstable();
        assert_eq!(list, (0..100).collect::<Vec<_>>());
    }
}
