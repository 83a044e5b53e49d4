//! `q8_0`: a 16-bit scale, then 32 signed bytes.

use half::f16;

const BLOCK: usize = 32;
const BLOCK_BYTES: usize = 34;

pub(super) fn decode(bytes: &[u8], out: &mut [f32]) {
    for (out, block) in out.chunks_exact_mut(BLOCK).zip(bytes.as_chunks::<BLOCK_BYTES>().0) {
        let scale = f16::from_le_bytes([block[0], block[1]]).to_f32();
        for (out, byte) in out.iter_mut().zip(&block[2..]) {
            *out = f32::from(*byte as i8) * scale;
        }
    }
}

/// The scale is the greatest magnitude over 127, rounded to 16 bits after the division.
pub(super) fn encode(values: &[f32], bytes: &mut Vec<u8>) {
    for block in values.chunks_exact(BLOCK) {
        let most = block.iter().fold(0.0_f32, |most, value| most.max(value.abs()));
        let scale = most / 127.0;
        let inverse = if scale > 0.0 { scale.recip() } else { 0.0 };
        bytes.extend(f16::from_f32(scale).to_le_bytes());
        bytes.extend(block.iter().map(|value| (value * inverse).round() as i8 as u8));
    }
}
