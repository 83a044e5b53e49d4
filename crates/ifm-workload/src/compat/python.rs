//! Python's module `random`: the same seed gives the same draws as `random.Random(seed)`.
//!
//! The algorithms are those of CPython 3.2 to 3.13, of which the draws did not change.
//!
//! Not here: weighted choices, and seeds that are no whole number.

use std::{collections::HashSet, f64::consts::TAU};

use super::mt19937::Mt19937;

/// Python's `random.Random`, seeded with a whole number.
#[derive(Clone)]
pub struct PythonRandom {
    generator: Mt19937,
    gauss_next: Option<f64>,
}

impl PythonRandom {
    /// As `random.Random(seed)` or `random.seed(seed)`.
    pub fn new(seed: u64) -> Self {
        let (low, high) = (seed as u32, (seed >> 32) as u32);
        let key = [low, high];
        let words = if high == 0 { 1 } else { 2 };
        Self { generator: Mt19937::from_key(&key[..words]), gauss_next: None }
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

    /// As `sample(range(population), k=count)`; at most the whole population.
    pub fn sample_indices(&mut self, population: u32, count: u32) -> Vec<u32> {
        let count = count.min(population);
        if population <= pool_max(count) {
            let mut pool = (0..population).collect::<Vec<_>>();
            return (0..count)
                .map(|taken| {
                    let left = (population - taken) as usize;
                    pool.swap_remove(self.below(left as u64) as usize)
                })
                .collect();
        }
        let mut seen = HashSet::new();
        let mut taken = Vec::with_capacity(count as usize);
        while taken.len() < count as usize {
            let index = self.below(u64::from(population)) as u32;
            if seen.insert(index) {
                taken.push(index);
            }
        }
        taken
    }

    /// As `gauss(mean, stdev)`. Python asks the platform's C library for the
    /// logarithm, sine and cosine, so the last bit may differ from one platform to
    /// the next; here they are the same everywhere.
    pub fn gauss(&mut self, mean: f64, stdev: f64) -> f64 {
        let normal = self.gauss_next.take().unwrap_or_else(|| {
            let angle = self.random() * TAU;
            let radius = (-2.0 * libm::log(1.0 - self.random())).sqrt();
            self.gauss_next = Some(libm::sin(angle) * radius);
            libm::cos(angle) * radius
        });
        mean + normal * stdev
    }
}

/// The population up to which `sample` draws from a pool: `21`, and for more than
/// five `4 ** ceil(log(3 * count, 4))` more.
fn pool_max(count: u32) -> u32 {
    let mut set_size = 21_u64;
    if count > 5 {
        let mut power = 1_u64;
        while power < u64::from(count) * 3 {
            power *= 4;
        }
        set_size += power;
    }
    u32::try_from(set_size).unwrap_or(u32::MAX)
}
