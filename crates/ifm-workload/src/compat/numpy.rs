//! numpy's `default_rng`: PCG64 (M. O'Neill, "PCG", 2014, the variant XSL-RR) behind
//! `SeedSequence`.
//!
//! Not here: numpy's older generator (`numpy_legacy`), floating-point
//! distributions other than the uniform one.

/// The multiplier of the 128-bit generator.
const MULTIPLIER: u128 = 0x2360_ed05_1fc6_5da4_4385_df64_9fcc_f645;
/// Words that `SeedSequence` keeps.
const POOL_WORDS: usize = 4;

/// numpy's `Generator(PCG64(seed))`, which `numpy.random.default_rng(seed)` makes.
#[derive(Debug, Clone)]
pub struct NumpyGenerator {
    state: u128,
    increment: u128,
    /// The upper half of a 64-bit draw of which the lower half was used.
    half: Option<u32>,
}

impl NumpyGenerator {
    /// As `numpy.random.default_rng(seed)`.
    pub fn new(seed: u64) -> Self {
        let [a, b, c, d] = seed_words(seed);
        let join = |high: u64, low: u64| u128::from(high) << 64 | u128::from(low);
        let increment = join(c, d) << 1 | 1;
        let mut generator = Self { state: 0, increment, half: None };
        generator.step();
        generator.state = generator.state.wrapping_add(join(a, b));
        generator.step();
        generator
    }

    fn step(&mut self) {
        self.state = self.state.wrapping_mul(MULTIPLIER).wrapping_add(self.increment);
    }

    fn next_u64(&mut self) -> u64 {
        self.step();
        let mixed = (self.state >> 64) as u64 ^ self.state as u64;
        mixed.rotate_right((self.state >> 122) as u32)
    }

    fn next_u32(&mut self) -> u32 {
        self.half.take().unwrap_or_else(|| {
            let word = self.next_u64();
            self.half = Some((word >> 32) as u32);
            word as u32
        })
    }

    /// As one draw of `integers(low, high)`: `high` is excluded; `low` when the
    /// bounds are upside down. Multiply and shift with rejection (D. Lemire, "Fast
    /// Random Integer Generation in an Interval", 2019), in 32 bits where they
    /// suffice.
    pub fn integer(&mut self, low: i64, high: i64) -> i64 {
        let Some(last) = high.checked_sub(1).filter(|&last| last > low) else {
            return low;
        };
        let range = last.wrapping_sub(low) as u64;
        let above = match u32::try_from(range) {
            Ok(u32::MAX) => u64::from(self.next_u32()),
            Ok(range) => u64::from(self.below_u32(range + 1)),
            Err(_) if range == u64::MAX => self.next_u64(),
            Err(_) => self.below_u64(range + 1),
        };
        low.wrapping_add(above as i64)
    }

    /// As `integers(low, high, size=count)`.
    pub fn integers(&mut self, low: i64, high: i64, count: usize) -> Vec<i64> {
        (0..count).map(|_| self.integer(low, high)).collect()
    }

    /// As `random()`: a number from 0 to 1, 1 excluded, with 53 bits.
    pub fn random(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / 9_007_199_254_740_992.0
    }

    /// As `shuffle(list)` on a list of Python's, of less than 2^32 elements.
    pub fn shuffle<T>(&mut self, list: &mut [T]) {
        for last in (1..list.len()).rev() {
            let other = self.up_to(last as u32) as usize;
            list.swap(last, other);
        }
    }

    /// A number in `0..=max`, `max` not 0: draws of as many bits as it has, until one fits.
    fn up_to(&mut self, max: u32) -> u32 {
        let mask = u32::MAX >> max.leading_zeros();
        loop {
            let number = self.next_u32() & mask;
            if number <= max {
                return number;
            }
        }
    }

    fn below_u32(&mut self, bound: u32) -> u32 {
        let mut product = u64::from(self.next_u32()) * u64::from(bound);
        if (product as u32) < bound {
            let threshold = bound.wrapping_neg() % bound;
            while (product as u32) < threshold {
                product = u64::from(self.next_u32()) * u64::from(bound);
            }
        }
        (product >> 32) as u32
    }

    fn below_u64(&mut self, bound: u64) -> u64 {
        let mut product = u128::from(self.next_u64()) * u128::from(bound);
        if (product as u64) < bound {
            let threshold = bound.wrapping_neg() % bound;
            while (product as u64) < threshold {
                product = u128::from(self.next_u64()) * u128::from(bound);
            }
        }
        (product >> 64) as u64
    }
}

/// The hash of `SeedSequence`, whose constant moves on with each use.
struct Hash {
    constant: u32,
    multiplier: u32,
}

impl Hash {
    fn mix(&mut self, value: u32) -> u32 {
        let value = value ^ self.constant;
        self.constant = self.constant.wrapping_mul(self.multiplier);
        let value = value.wrapping_mul(self.constant);
        value ^ (value >> 16)
    }
}

/// Two words of the pool into one.
fn join_words(one: u32, two: u32) -> u32 {
    let mixed = 0xca01_f9dd_u32.wrapping_mul(one).wrapping_sub(0x4973_f715_u32.wrapping_mul(two));
    mixed ^ (mixed >> 16)
}

/// As `SeedSequence(seed).generate_state(4, uint64)`.
fn seed_words(seed: u64) -> [u64; 4] {
    let entropy = [seed as u32, (seed >> 32) as u32, 0, 0];
    let mut hash = Hash { constant: 0x43b0_d7e5, multiplier: 0x931e_8875 };
    let mut pool = entropy.map(|word| hash.mix(word));
    for from in 0..POOL_WORDS {
        for to in (0..POOL_WORDS).filter(|&to| to != from) {
            pool[to] = join_words(pool[to], hash.mix(pool[from]));
        }
    }
    let mut hash = Hash { constant: 0x8b51_f9dd, multiplier: 0x58f3_8ded };
    let mut next = pool.iter().cycle().map(|&word| u64::from(hash.mix(word)));
    [(); 4].map(|()| {
        let (low, high) = (next.next().unwrap_or(0), next.next().unwrap_or(0));
        low | high << 32
    })
}
