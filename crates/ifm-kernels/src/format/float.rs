//! Floats of 32 and 16 bits, little-endian.

use half::{bf16, f16};

pub(super) fn decode_f32(bytes: &[u8], out: &mut [f32]) {
    for (out, bytes) in out.iter_mut().zip(bytes.as_chunks::<4>().0) {
        *out = f32::from_le_bytes(*bytes);
    }
}

pub(super) fn decode_f16(bytes: &[u8], out: &mut [f32]) {
    for (out, bytes) in out.iter_mut().zip(bytes.as_chunks::<2>().0) {
        *out = f16::from_le_bytes(*bytes).to_f32();
    }
}

pub(super) fn decode_bf16(bytes: &[u8], out: &mut [f32]) {
    for (out, bytes) in out.iter_mut().zip(bytes.as_chunks::<2>().0) {
        *out = bf16::from_le_bytes(*bytes).to_f32();
    }
}

pub(super) fn encode_f32(values: &[f32], bytes: &mut [u8]) {
    for (bytes, value) in bytes.chunks_exact_mut(4).zip(values) {
        bytes.copy_from_slice(&value.to_le_bytes());
    }
}

pub(super) fn encode_f16(values: &[f32], bytes: &mut [u8]) {
    for (bytes, value) in bytes.chunks_exact_mut(2).zip(values) {
        bytes.copy_from_slice(&f16::from_f32(*value).to_le_bytes());
    }
}

pub(super) fn encode_bf16(values: &[f32], bytes: &mut [u8]) {
    for (bytes, value) in bytes.chunks_exact_mut(2).zip(values) {
        bytes.copy_from_slice(&bf16::from_f32(*value).to_le_bytes());
    }
}
