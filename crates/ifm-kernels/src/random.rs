//! Streams of random words: the same for the same seed on every machine.
//!
//! Not here: what is drawn for a model (`ifm-engine`).

/// A stream of random words: `SplitMix64` (Steele, Lea, Flood 2014).
#[derive(Debug, Clone)]
pub struct RandomStream {
    state: u64,
}

impl RandomStream {
    /// A stream of its own for each name under a seed.
    pub fn new(seed: u64, name: &str) -> Self {
        // FNV-1a over the name, then two rounds of mixing with the seed.
        let hash = name.bytes().fold(0xCBF2_9CE4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3)
        });
        let mut stream = Self { state: seed ^ hash };
        stream.state = stream.next_word() ^ seed.rotate_left(32);
        stream
    }

    /// The next 64 bits.
    pub fn next_word(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut word = self.state;
        word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        word ^ (word >> 31)
    }

    /// Uniform over [0, 1) with 24 bits.
    pub fn next_unit(&mut self) -> f32 {
        (self.next_word() >> 40) as f32 / (1_u32 << 24) as f32
    }

    /// Uniform over `0..bound`, which is not 0, by the high half of a product: off by less than
    /// `bound / 2^64`.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next_word()) * u128::from(bound)) >> 64) as u64
    }
}
