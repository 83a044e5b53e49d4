//! Python's module `random`: the same seed gives the same draws as `random.Random(seed)`.
//!
//! The algorithms match CPython 3.2 to 3.13, whose draws did not change.
//!
//! Not here: weighted choices, samples without replacement, other laws, and seeds that are not whole numbers.

use super::mt19937::Mt19937;

/// Python's `random.Random`, seeded with a whole number.
#[derive(Clone)]
pub struct PythonRandom {
    generator: Mt19937,
}

impl PythonRandom {
    /// As `random.Random(seed)` or `random.seed(seed)`.
    pub fn new(seed: u64) -> Self {
        let (low, high) = (seed as u32, (seed >> 32) as u32);
        let key = [low, high];
        let words = if high == 0 { 1 } else { 2 };
        Self { generator: Mt19937::from_key(&key[..words]) }
    }

    /// As `getrandbits(bits)`, for at most 64 bits.
    pub fn bits(&mut self, bits: u32) -> u64 {
        let word = |generator: &mut Mt19937, bits: u32| {
            u64::from(generator.next_u32()) >> 32_u32.saturating_sub(bits)
        };
        match bits {
            0 => 0,
            1..=32 => word(&mut self.generator, bits),
            _ => {
                let low = word(&mut self.generator, 32);
                low | word(&mut self.generator, bits.min(64) - 32) << 32
            }
        }
    }

    /// As `_randbelow(bound)`: a number in `0..bound`; 0 when `bound` is 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        if bound == 0 {
            return 0;
        }
        let bits = u64::BITS - bound.leading_zeros();
        loop {
            let number = self.bits(bits);
            if number < bound {
                return number;
            }
        }
    }

    /// As `random()`: a number from 0 to 1, 1 excluded, with 53 bits.
    pub fn random(&mut self) -> f64 {
        let high = f64::from(self.generator.next_u32() >> 5);
        let low = f64::from(self.generator.next_u32() >> 6);
        (high * 67_108_864.0 + low) / 9_007_199_254_740_992.0
    }

    /// As `randint(min, max)`: both bounds included; `min` when they are upside down.
    pub fn randint(&mut self, min: u64, max: u64) -> u64 {
        match max.checked_sub(min) {
            None => min,
            Some(width) => min + self.below(width.saturating_add(1)),
        }
    }

    /// As `shuffle(list)`.
    pub fn shuffle<T>(&mut self, list: &mut [T]) {
        for last in (1..list.len()).rev() {
            let other = self.below(last as u64 + 1) as usize;
            list.swap(last, other);
        }
    }

    /// As `choice(list)`; nothing of an empty list.
    pub fn choice<'list, T>(&mut self, list: &'list [T]) -> Option<&'list T> {
        list.get(self.below(list.len() as u64) as usize)
    }

    /// As `choices(list, k=count)`; nothing of an empty list.
    pub fn choices<'list, T>(&mut self, list: &'list [T], count: usize) -> Vec<&'list T> {
        let len = list.len() as f64;
        let index = (0..count).map(|_| (self.random() * len).floor() as usize);
        index.filter_map(|index| list.get(index)).collect()
    }
}
