//! Blocks of 256 values whose groups have scales of their own: `Q2_K` to `Q6_K`.
//!
//! The layouts follow GGUF (ggml's `ggml-common.h`). The scales of the groups are
//! small integers, multiplied by a 16-bit scale `d` of the block; kinds with minima have
//! integers for those too, multiplied by `dmin`, and a value is
//! `d * scale * q - dmin * minimum`, else `d * scale * q`.
//!
//! Not here: the search for the scales that fit best (`search`).

use super::{
    rounding::{read_f16, write_f16},
    search,
};

/// 84 bytes: 16 bytes with scale (low) and minimum (high) of 16 values each, 64 bytes of
/// two-bit values, `d`, `dmin`.
pub(super) fn decode_q2_k(block: &[u8], out: &mut [f32]) {
    let (scale, least) = (read_f16(&block[80..]), read_f16(&block[82..]));
    for (group, out) in out.chunks_exact_mut(16).enumerate() {
        let sub_scale = scale * f32::from(block[group] & 15);
        let minimum = least * f32::from(block[group] >> 4);
        for (index, out) in out.iter_mut().enumerate() {
            *out = sub_scale * f32::from(two_bits(&block[16..80], group * 16 + index)) - minimum;
        }
    }
}

/// The two bits of value `index`: 128 values share 32 bytes, 32 of them each pair of bits.
fn two_bits(packed: &[u8], index: usize) -> u8 {
    let byte = packed[index / 128 * 32 + index % 32];
    (byte >> (index % 128 / 32 * 2)) & 3
}

/// 110 bytes: 32 bytes with the third bits, 64 bytes of two-bit values, 12 bytes with 16
/// six-bit scales, `d`. A third bit that is missing takes 4 off.
pub(super) fn decode_q3_k(block: &[u8], out: &mut [f32]) {
    let (high, low, scales) = (&block[..32], &block[32..96], &block[96..108]);
    let scale = read_f16(&block[108..]);
    for (group, out) in out.chunks_exact_mut(16).enumerate() {
        let four = (scales[group % 8] >> (group / 8 * 4)) & 15;
        let two = (scales[8 + group % 4] >> (group / 4 * 2)) & 3;
        let sub_scale = scale * (f32::from(four | (two << 4)) - 32.0);
        for (within, out) in out.iter_mut().enumerate() {
            let index = group * 16 + within;
            let third = (high[index % 32] >> (index / 32)) & 1;
            *out = sub_scale * (f32::from(two_bits(low, index) | (third << 2)) - 4.0);
        }
    }
}

/// Scale and minimum of group `group` of eight, six bits each, from the 12 bytes of
/// `Q4_K` and `Q5_K`.
fn six_bit_pair(packed: &[u8], group: usize) -> (u8, u8) {
    if group < 4 {
        return (packed[group] & 63, packed[group + 4] & 63);
    }
    let both = packed[group + 4];
    let high = |at: usize| (packed[at] >> 6) << 4;
    ((both & 15) | high(group - 4), (both >> 4) | high(group))
}

/// Writes what [`six_bit_pair`] reads.
fn write_six_bit_pairs(scales: &[u8; 8], minima: &[u8; 8], packed: &mut [u8]) {
    for group in 0..4 {
        let (later_scale, later_minimum) = (scales[group + 4], minima[group + 4]);
        packed[group] = scales[group] | ((later_scale >> 4) << 6);
        packed[group + 4] = minima[group] | ((later_minimum >> 4) << 6);
        packed[group + 8] = (later_scale & 15) | ((later_minimum & 15) << 4);
    }
}

/// 144 bytes: `d`, `dmin`, 12 bytes of scales and minima, 128 bytes: 32 of them hold 32
/// values in their low halves and the next 32 in their high halves.
pub(super) fn decode_q4_k(block: &[u8], out: &mut [f32]) {
    let (scale, least) = (read_f16(block), read_f16(&block[2..]));
    for (group, out) in out.chunks_exact_mut(32).enumerate() {
        let (sub_scale, minimum) = six_bit_pair(&block[4..16], group);
        let (sub_scale, minimum) = (scale * f32::from(sub_scale), least * f32::from(minimum));
        let bytes = &block[16 + group / 2 * 32..][..32];
        for (out, byte) in out.iter_mut().zip(bytes) {
            *out = sub_scale * f32::from((byte >> (group % 2 * 4)) & 15) - minimum;
        }
    }
}

/// 176 bytes: as `Q4_K`, with 32 bytes of fifth bits before the values.
pub(super) fn decode_q5_k(block: &[u8], out: &mut [f32]) {
    let (scale, least) = (read_f16(block), read_f16(&block[2..]));
    for (group, out) in out.chunks_exact_mut(32).enumerate() {
        let (sub_scale, minimum) = six_bit_pair(&block[4..16], group);
        let (sub_scale, minimum) = (scale * f32::from(sub_scale), least * f32::from(minimum));
        let bytes = &block[48 + group / 2 * 32..][..32];
        for ((out, byte), high) in out.iter_mut().zip(bytes).zip(&block[16..48]) {
            let five = ((byte >> (group % 2 * 4)) & 15) | (((high >> group) & 1) << 4);
            *out = sub_scale * f32::from(five) - minimum;
        }
    }
}

/// Where value `index` of a `Q6_K` block has its low four bits and its high two: byte and
/// shift of each. 128 values share 64 bytes of low bits and 32 of high bits.
fn six_bit_places(index: usize) -> ((usize, usize), (usize, usize)) {
    let (half, within) = (index / 128, index % 128);
    let low = (half * 64 + within % 64, within / 64 * 4);
    (low, (half * 32 + within % 32, within / 32 * 2))
}

/// 210 bytes: 128 bytes of low halves, 64 bytes of high pairs, 16 signed scales, `d`.
pub(super) fn decode_q6_k(block: &[u8], out: &mut [f32]) {
    let (low, high, scales) = (&block[..128], &block[128..192], &block[192..208]);
    let scale = read_f16(&block[208..]);
    for (index, out) in out.iter_mut().enumerate() {
        let ((at, shift), (high_at, high_shift)) = six_bit_places(index);
        let six = ((low[at] >> shift) & 15) | (((high[high_at] >> high_shift) & 3) << 4);
        *out = scale * f32::from(scales[index / 16] as i8) * (f32::from(six) - 32.0);
    }
}

/// Searches scales and minima for each 32 values, rounds them to six bits, and then the
/// values with what was rounded.
pub(super) fn encode_q4_k(values: &[f32], block: &mut [u8]) {
    const LEVELS: f32 = 15.0;
    let mut found = [search::Line::default(); 8];
    for (line, group) in found.iter_mut().zip(values.chunks_exact(32)) {
        *line = search::line(group, LEVELS);
    }
    let largest = |of: fn(&search::Line) -> f32| found.iter().map(of).fold(0.0, f32::max);
    let scale = write_f16(largest(|line| line.scale) / 63.0, block);
    let least = write_f16(largest(|line| line.below) / 63.0, &mut block[2..]);
    let scales = found.map(|line| search::level(line.scale, scale, 63.0));
    let minima = found.map(|line| search::level(line.below, least, 63.0));
    write_six_bit_pairs(&scales, &minima, &mut block[4..16]);
    block[16..144].fill(0);
    for (group, values) in values.chunks_exact(32).enumerate() {
        let step = scale * f32::from(scales[group]);
        let below = least * f32::from(minima[group]);
        let bytes = &mut block[16 + group / 2 * 32..][..32];
        for (byte, value) in bytes.iter_mut().zip(values) {
            *byte |= search::level(value + below, step, LEVELS) << (group % 2 * 4);
        }
    }
}

/// Searches a scale for each 16 values, rounds it to a signed byte, and then the values.
pub(super) fn encode_q6_k(values: &[f32], block: &mut [u8]) {
    let mut found = [0.0; 16];
    for (scale, group) in found.iter_mut().zip(values.chunks_exact(16)) {
        *scale = search::scale(group, 32.0);
    }
    let extreme = found.iter().fold(0.0_f32, |a, &b| if b.abs() > a.abs() { b } else { a });
    let scale = write_f16(extreme / -128.0, &mut block[208..]);
    block[..192].fill(0);
    for (group, values) in values.chunks_exact(16).enumerate() {
        let sub_scale = search::signed_level(found[group], scale, 127.0);
        block[192 + group] = sub_scale as u8;
        let step = scale * f32::from(sub_scale);
        for (within, value) in values.iter().enumerate() {
            let six = (search::signed_level(*value, step, 31.0) + 32) as u8;
            let ((at, shift), (high_at, high_shift)) = six_bit_places(group * 16 + within);
            block[at] |= (six & 15) << shift;
            block[128 + high_at] |= (six >> 4) << high_shift;
        }
    }
}
