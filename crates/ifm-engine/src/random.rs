//! Random weights: the same bits for the same seed on every machine, in
//! milliseconds.
//!
//! Blocks of quantised weights are filled directly instead of quantising floats,
//! which takes seconds. Only integers are drawn, so nothing depends on a
//! machine's floating point. The scale is chosen so that every layer keeps the
//! variance of its input: random models then compute with ordinary numbers, and
//! with ordinary speed.
//!
//! Not here: what the tensors are for (`weights`).

use candle_core::quantized::GgmlDType;

/// Standard deviation of the signed bytes of a random `q8_0` block: uniform over
/// -127..=127, that is sqrt((255^2 - 1) / 12).
const Q8_0_DEVIATION: f32 = 73.611;
/// Standard deviation of uniform four-bit values: sqrt((16^2 - 1) / 12).
const NIBBLE_DEVIATION: f32 = 4.6098;
/// The scale of every group in a random `q4_k` block.
const Q4K_GROUP_SCALE: u8 = 8;
/// The offset of every group: 8 times the mean nibble 7.5, so the mean is zero.
const Q4K_GROUP_MINIMUM: u8 = 60;

/// A stream of random words: SplitMix64 (Steele, Lea, Flood 2014).
#[derive(Debug, Clone)]
pub(crate) struct RandomStream {
    state: u64,
}

impl RandomStream {
    /// A stream of its own for each name under a seed.
    pub(crate) fn new(seed: u64, name: &str) -> Self {
        // FNV-1a over the name, then two rounds of mixing with the seed.
        let hash = name.bytes().fold(0xCBF2_9CE4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3)
        });
        let mut stream = Self { state: seed ^ hash };
        stream.state = stream.next_word() ^ seed.rotate_left(32);
        stream
    }

    pub(crate) fn next_word(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut word = self.state;
        word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        word ^ (word >> 31)
    }

    /// Uniform over [0, 1) with 24 bits.
    pub(crate) fn next_unit(&mut self) -> f32 {
        (self.next_word() >> 40) as f32 / (1_u32 << 24) as f32
    }

    fn fill(&mut self, bytes: &mut [u8]) {
        for chunk in bytes.chunks_mut(8) {
            let word = self.next_word().to_le_bytes();
            chunk.copy_from_slice(&word[..chunk.len()]);
        }
    }
}

/// The bytes of a random tensor of `elements` weights with the given standard
/// deviation and mean zero. `None` for formats that are never made here.
pub(crate) fn random_tensor(
    stream: &mut RandomStream,
    dtype: GgmlDType,
    elements: usize,
    deviation: f32,
) -> Option<Vec<u8>> {
    match dtype {
        GgmlDType::F32 => Some(random_f32(stream, elements, deviation)),
        GgmlDType::Q8_0 => Some(random_q8_0(stream, elements, deviation)),
        GgmlDType::Q4K => Some(random_q4_k(stream, elements, deviation)),
        _ => None,
    }
}

fn random_f32(stream: &mut RandomStream, elements: usize, deviation: f32) -> Vec<u8> {
    // Uniform over [-1, 1) has the deviation 1 / sqrt(3).
    let scale = deviation * 3_f32.sqrt() / (1_u32 << 23) as f32;
    let mut bytes = Vec::with_capacity(elements * 4 + 4);
    while bytes.len() < elements * 4 {
        let word = stream.next_word();
        for half in [word as u32, (word >> 32) as u32] {
            let centred = (half >> 8) as f32 - (1_u32 << 23) as f32;
            bytes.extend_from_slice(&(centred * scale).to_le_bytes());
        }
    }
    bytes.truncate(elements * 4);
    bytes
}

/// Block: a 16-bit scale, then 32 signed bytes.
fn random_q8_0(stream: &mut RandomStream, elements: usize, deviation: f32) -> Vec<u8> {
    const BLOCK_BYTES: usize = 34;
    let scale = half_bits(deviation / Q8_0_DEVIATION).to_le_bytes();
    let mut bytes = vec![0; elements / 32 * BLOCK_BYTES];
    for block in bytes.chunks_exact_mut(BLOCK_BYTES) {
        let (head, values) = block.split_at_mut(2);
        head.copy_from_slice(&scale);
        stream.fill(values);
        for value in values {
            // -128 would make the mean non-zero and is not a value of this format.
            *value = (*value as i8).max(-127) as u8;
        }
    }
    bytes
}

/// Block: 16-bit scale, 16-bit scale of the minima, twelve bytes with eight
/// six-bit scales and minima, 128 bytes of nibbles.
fn random_q4_k(stream: &mut RandomStream, elements: usize, deviation: f32) -> Vec<u8> {
    const BLOCK_BYTES: usize = 144;
    let unit = deviation / (f32::from(Q4K_GROUP_SCALE) * NIBBLE_DEVIATION);
    let scale = half_bits(unit).to_le_bytes();
    let (group_scale, minimum) = (Q4K_GROUP_SCALE, Q4K_GROUP_MINIMUM);
    let mut groups = [0; 12];
    groups[..4].fill(group_scale & 63);
    groups[4..8].fill((minimum & 63) | ((minimum >> 4) << 6));
    groups[8..].fill((group_scale & 15) | ((minimum & 15) << 4));
    let mut bytes = vec![0; elements / 256 * BLOCK_BYTES];
    for block in bytes.chunks_exact_mut(BLOCK_BYTES) {
        block[..2].copy_from_slice(&scale);
        block[2..4].copy_from_slice(&scale);
        block[4..16].copy_from_slice(&groups);
        stream.fill(&mut block[16..]);
    }
    bytes
}

/// The bits of the nearest 16-bit float at or below, for ordinary positive numbers.
fn half_bits(value: f32) -> u16 {
    let bits = value.to_bits();
    let exponent = (bits >> 23) as i32 - 127 + 15;
    // Outside 1..=30 it would be subnormal or infinite; no width of a model that
    // passes the check of its dimensions gets there.
    ((exponent.clamp(1, 30) as u16) << 10) | ((bits >> 13) & 0x3FF) as u16
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use candle_core::{
        Device,
        quantized::{QStorage, QTensor},
    };

    use super::*;

    fn values(dtype: GgmlDType, deviation: f32) -> Vec<f32> {
        let mut stream = RandomStream::new(7, "test");
        let bytes = random_tensor(&mut stream, dtype, 1 << 16, deviation).expect("made here");
        let storage = QStorage::from_data(Cow::Owned(bytes), &Device::Cpu, dtype).expect("storage");
        let tensor = QTensor::new(storage, (256, 256)).expect("tensor");
        let floats = tensor.dequantize(&Device::Cpu).expect("floats");
        floats.flatten_all().expect("flat").to_vec1().expect("f32")
    }

    #[test]
    fn every_format_has_mean_zero_and_the_asked_deviation() {
        for dtype in [GgmlDType::F32, GgmlDType::Q8_0, GgmlDType::Q4K] {
            let values = values(dtype, 0.05);
            let mean = values.iter().sum::<f32>() / values.len() as f32;
            let square = values.iter().map(|value| value * value).sum::<f32>();
            let deviation = (square / values.len() as f32).sqrt();
            assert!(mean.abs() < 1e-3, "{dtype:?}: mean {mean}");
            assert!((deviation - 0.05).abs() < 1e-3, "{dtype:?}: deviation {deviation}");
        }
    }

    #[test]
    fn the_bits_are_fixed_by_seed_and_name() {
        let first = RandomStream::new(1, "a").next_word();
        assert_eq!(first, 0xFA97_E7E4_D21D_A1E2, "a change here changes every random model");
        assert_ne!(first, RandomStream::new(1, "b").next_word());
        assert_ne!(first, RandomStream::new(2, "a").next_word());
    }

    #[test]
    fn halves_are_exact_where_they_can_be() {
        assert_eq!(half_bits(1.0), 0x3C00);
        assert_eq!(half_bits(0.5), 0x3800);
        assert_eq!(half_bits(1.5), 0x3E00);
    }
}
