//! The bits of quantised formats as codes and scales for integer products.
//!
//! Blocks have GGUF's layout (ggml's `block_q4_0` and so on); `Int8` is inferometer's.
//!
//! Not here: the sums (`integer`).

use crate::{
    Stored,
    integer::{Codes, Scales},
    lanes::{LANES, Lanes},
};

/// A 16-bit scale for each output and group.
pub(crate) struct Halves;
/// A 16-bit scale and a 16-bit minimum.
pub(crate) struct HalvesMinima;
/// For eight groups a 16-bit scale of scales and one of minima, then bytes of both.
pub(crate) struct Supers;
/// For sixteen groups a 16-bit scale of scales, then signed bytes.
pub(crate) struct Sixteens;
/// One 32-bit scale for each output.
pub(crate) struct Rows;

/// Bytes of a vector of 16-bit and of 8-bit values.
const HALF: usize = 2 * LANES;
const BYTE: usize = LANES;
/// Bytes of eight groups of [`Supers`], and of sixteen of [`Sixteens`].
const SUPER: usize = 2 * HALF + 8 * 2 * BYTE;
const SIXTEEN: usize = HALF + 16 * BYTE;

impl Scales for Halves {
    fn bytes(groups: usize) -> usize {
        groups * HALF
    }
    #[inline(always)]
    unsafe fn scale<S: Lanes>(from: *const u8, group: usize) -> S::Floats {
        // SAFETY: the caller's promise.
        unsafe { S::load_f16(from.add(group * HALF)) }
    }
}

impl Scales for HalvesMinima {
    const MINIMA: bool = true;

    fn bytes(groups: usize) -> usize {
        groups * 2 * HALF
    }
    #[inline(always)]
    unsafe fn scale<S: Lanes>(from: *const u8, group: usize) -> S::Floats {
        // SAFETY: the caller's promise.
        unsafe { S::load_f16(from.add(group * 2 * HALF)) }
    }
    #[inline(always)]
    unsafe fn minimum<S: Lanes>(from: *const u8, group: usize) -> S::Floats {
        // SAFETY: the caller's promise.
        unsafe { S::load_f16(from.add(group * 2 * HALF + HALF)) }
    }
}

impl Scales for Supers {
    const MINIMA: bool = true;

    fn bytes(groups: usize) -> usize {
        groups / 8 * SUPER
    }
    #[inline(always)]
    unsafe fn scale<S: Lanes>(from: *const u8, group: usize) -> S::Floats {
        // SAFETY: the caller's promise.
        unsafe {
            let from = from.add(group / 8 * SUPER);
            let scale = S::load_u8(from.add(2 * HALF + group % 8 * 2 * BYTE));
            S::multiply(scale, S::load_f16(from))
        }
    }
    #[inline(always)]
    unsafe fn minimum<S: Lanes>(from: *const u8, group: usize) -> S::Floats {
        // SAFETY: the caller's promise.
        unsafe {
            let from = from.add(group / 8 * SUPER);
            let minimum = S::load_u8(from.add(2 * HALF + group % 8 * 2 * BYTE + BYTE));
            S::multiply(minimum, S::load_f16(from.add(HALF)))
        }
    }
}

impl Scales for Sixteens {
    fn bytes(groups: usize) -> usize {
        groups / 16 * SIXTEEN
    }
    #[inline(always)]
    unsafe fn scale<S: Lanes>(from: *const u8, group: usize) -> S::Floats {
        // SAFETY: the caller's promise.
        unsafe {
            let from = from.add(group / 16 * SIXTEEN);
            let scale = S::load_i8(from.add(HALF + group % 16 * BYTE));
            S::multiply(scale, S::load_f16(from))
        }
    }
}

impl Scales for Rows {
    fn bytes(_groups: usize) -> usize {
        4 * LANES
    }
    #[inline(always)]
    unsafe fn scale<S: Lanes>(from: *const u8, _group: usize) -> S::Floats {
        // SAFETY: the caller's promise.
        unsafe { S::load_f32(from) }
    }
}

/// Puts 16-bit floats at a byte offset, in a lane.
fn put_half(scales: &mut [u8], offset: usize, lane: usize, half: &[u8]) {
    scales[offset + 2 * lane..][..2].copy_from_slice(&half[..2]);
}

/// The same with the sign turned: what a format adds is taken off here.
fn put_negated(scales: &mut [u8], offset: usize, lane: usize, half: &[u8]) {
    put_half(scales, offset, lane, &[half[0], half[1] ^ 0x80]);
}

/// Blocks of a row, with the codes of each and its number.
fn blocks<'a>(
    stored: &'a Stored,
    row: usize,
    codes: &'a mut [u8],
) -> impl Iterator<Item = (usize, &'a [u8], &'a mut [u8])> {
    let format = stored.format();
    let width = format.row_bytes(stored.columns());
    let blocks = stored.bytes()[row * width..][..width].chunks_exact(format.block_bytes());
    let codes = codes.chunks_exact_mut(format.block());
    blocks.zip(codes).enumerate().map(|(index, (block, codes))| (index, block, codes))
}

/// Low nibbles, then high ones.
fn split_nibbles(bytes: &[u8], codes: &mut [u8]) {
    let (low, high) = codes.split_at_mut(bytes.len());
    for ((byte, low), high) in bytes.iter().zip(low).zip(high) {
        (*low, *high) = (byte & 15, byte >> 4);
    }
}

/// Adds bit `index` of the four bytes as the fifth bit of code `index`.
fn add_fifth_bits(bits: &[u8], codes: &mut [u8]) {
    for (index, code) in codes.iter_mut().enumerate() {
        *code |= (bits[index / 8] >> (index % 8) & 1) << 4;
    }
}

/// `q8_0`.
pub(crate) struct Q8_0;
/// `q4_0`.
pub(crate) struct Q4_0;
/// `q4_1`.
pub(crate) struct Q4_1;
/// `q5_0`.
pub(crate) struct Q5_0;
/// `q5_1`.
pub(crate) struct Q5_1;
/// `q4_k`.
pub(crate) struct Q4K;
/// `q5_k`.
pub(crate) struct Q5K;
/// `q6_k`.
pub(crate) struct Q6K;
/// Signed bytes with a scale for each output.
pub(crate) struct Int8;

impl Codes for Q8_0 {
    type Scales = Halves;
    const NIBBLES: bool = false;
    const GROUP: usize = 32;
    const ZERO: u8 = 128;

    fn unpack(stored: &Stored, row: usize, lane: usize, codes: &mut [u8], scales: &mut [u8]) {
        for (index, block, codes) in blocks(stored, row, codes) {
            put_half(scales, index * HALF, lane, block);
            codes.iter_mut().zip(&block[2..]).for_each(|(code, byte)| *code = byte ^ 128);
        }
    }
}

impl Codes for Q4_0 {
    type Scales = Halves;
    const NIBBLES: bool = true;
    const GROUP: usize = 32;
    const ZERO: u8 = 8;

    fn unpack(stored: &Stored, row: usize, lane: usize, codes: &mut [u8], scales: &mut [u8]) {
        for (index, block, codes) in blocks(stored, row, codes) {
            put_half(scales, index * HALF, lane, block);
            split_nibbles(&block[2..], codes);
        }
    }
}

impl Codes for Q4_1 {
    type Scales = HalvesMinima;
    const NIBBLES: bool = true;
    const GROUP: usize = 32;
    const ZERO: u8 = 0;

    fn unpack(stored: &Stored, row: usize, lane: usize, codes: &mut [u8], scales: &mut [u8]) {
        for (index, block, codes) in blocks(stored, row, codes) {
            put_half(scales, index * 2 * HALF, lane, block);
            put_negated(scales, index * 2 * HALF + HALF, lane, &block[2..]);
            split_nibbles(&block[4..], codes);
        }
    }
}

impl Codes for Q5_0 {
    type Scales = Halves;
    const NIBBLES: bool = false;
    const GROUP: usize = 32;
    const ZERO: u8 = 16;

    fn unpack(stored: &Stored, row: usize, lane: usize, codes: &mut [u8], scales: &mut [u8]) {
        for (index, block, codes) in blocks(stored, row, codes) {
            put_half(scales, index * HALF, lane, block);
            split_nibbles(&block[6..], codes);
            add_fifth_bits(&block[2..6], codes);
        }
    }
}

impl Codes for Q5_1 {
    type Scales = HalvesMinima;
    const NIBBLES: bool = false;
    const GROUP: usize = 32;
    const ZERO: u8 = 0;

    fn unpack(stored: &Stored, row: usize, lane: usize, codes: &mut [u8], scales: &mut [u8]) {
        for (index, block, codes) in blocks(stored, row, codes) {
            put_half(scales, index * 2 * HALF, lane, block);
            put_negated(scales, index * 2 * HALF + HALF, lane, &block[2..]);
            split_nibbles(&block[8..], codes);
            add_fifth_bits(&block[4..8], codes);
        }
    }
}

/// The head of a `q4_k` or `q5_k` block into [`Supers`]: scale, scale of minima, and
/// eight six-bit scales and minima in twelve bytes.
fn put_super(scales: &mut [u8], lane: usize, index: usize, block: &[u8]) {
    let start = index * SUPER;
    put_half(scales, start, lane, block);
    put_half(scales, start + HALF, lane, &block[2..]);
    let packed = &block[4..16];
    for group in 0..8 {
        let (scale, minimum) = if group < 4 {
            (packed[group] & 63, packed[group + 4] & 63)
        } else {
            let both = packed[group + 4];
            (both & 15 | packed[group - 4] >> 6 << 4, both >> 4 | packed[group] >> 6 << 4)
        };
        let place = start + 2 * HALF + group * 2 * BYTE + lane;
        (scales[place], scales[place + BYTE]) = (scale, minimum);
    }
}

impl Codes for Q4K {
    type Scales = Supers;
    const NIBBLES: bool = true;
    const GROUP: usize = 32;
    const ZERO: u8 = 0;

    fn unpack(stored: &Stored, row: usize, lane: usize, codes: &mut [u8], scales: &mut [u8]) {
        for (index, block, codes) in blocks(stored, row, codes) {
            put_super(scales, lane, index, block);
            for (bytes, codes) in block[16..].chunks_exact(32).zip(codes.chunks_exact_mut(64)) {
                split_nibbles(bytes, codes);
            }
        }
    }
}

impl Codes for Q5K {
    type Scales = Supers;
    const NIBBLES: bool = false;
    const GROUP: usize = 32;
    const ZERO: u8 = 0;

    fn unpack(stored: &Stored, row: usize, lane: usize, codes: &mut [u8], scales: &mut [u8]) {
        for (index, block, codes) in blocks(stored, row, codes) {
            put_super(scales, lane, index, block);
            for (bytes, codes) in block[48..].chunks_exact(32).zip(codes.chunks_exact_mut(64)) {
                split_nibbles(bytes, codes);
            }
            for (group, codes) in codes.chunks_exact_mut(32).enumerate() {
                for (code, bits) in codes.iter_mut().zip(&block[16..48]) {
                    *code |= (bits >> group & 1) << 4;
                }
            }
        }
    }
}

impl Codes for Q6K {
    type Scales = Sixteens;
    const NIBBLES: bool = false;
    const GROUP: usize = 16;
    const ZERO: u8 = 32;

    fn unpack(stored: &Stored, row: usize, lane: usize, codes: &mut [u8], scales: &mut [u8]) {
        for (index, block, codes) in blocks(stored, row, codes) {
            let start = index * SIXTEEN;
            put_half(scales, start, lane, &block[208..]);
            for (group, scale) in block[192..208].iter().enumerate() {
                scales[start + HALF + group * BYTE + lane] = *scale;
            }
            let low = block[..128].chunks_exact(64);
            let high = block[128..192].chunks_exact(32);
            for ((low, high), codes) in low.zip(high).zip(codes.chunks_exact_mut(128)) {
                split_nibbles(low, codes);
                for (quarter, codes) in codes.chunks_exact_mut(32).enumerate() {
                    for (code, bits) in codes.iter_mut().zip(high) {
                        *code |= (bits >> (2 * quarter) & 3) << 4;
                    }
                }
            }
        }
    }
}

impl Codes for Int8 {
    type Scales = Rows;
    const NIBBLES: bool = false;
    const GROUP: usize = 0;
    const ZERO: u8 = 128;

    fn unpack(stored: &Stored, row: usize, lane: usize, codes: &mut [u8], scales: &mut [u8]) {
        let (rows, columns, bytes) = (stored.rows(), stored.columns(), stored.bytes());
        let values = &bytes[row * columns..][..columns];
        codes.iter_mut().zip(values).for_each(|(code, byte)| *code = byte ^ 128);
        scales[4 * lane..][..4].copy_from_slice(&bytes[rows * columns + 4 * row..][..4]);
    }
}
