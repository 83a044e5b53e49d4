//! Sixteen lanes: the vectors in which products are written, once for all processors.
//!
//! A lane is an output of the matrix. The kernels (`float`, `integer`) are generic over
//! [`Lanes`]; each implementation compiles them with its instructions.
//!
//! Not here: which implementation runs (`packed`).

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "aarch64")]
mod neon;
mod portable;

#[cfg(target_arch = "x86_64")]
pub(crate) use avx2::Avx2;
#[cfg(target_arch = "x86_64")]
pub(crate) use avx512::Avx512;
#[cfg(target_arch = "aarch64")]
pub(crate) use neon::Neon;
pub(crate) use portable::Portable;

/// Lanes of a vector; outputs of a tile.
pub(crate) const LANES: usize = 16;

/// Vectors of sixteen lanes.
///
/// # Safety of all functions
/// The processor has the instructions of the type, and a pointer is good for the bytes
/// that are read or written: 64 where nothing else is said.
pub(crate) trait Lanes: Copy + 'static {
    /// A float in each lane.
    type Floats: Copy;
    /// A sum of 32 bits in each lane; for nibbles perhaps two of 16 bits until `finish4`.
    type Sums: Copy;
    /// Four unsigned bytes in each lane, ready for `dot8`.
    type Bytes: Copy;
    /// Four unsigned bytes in each lane below 16, ready for `dot4`.
    type Nibbles: Copy;

    /// Bytes that `dot8` reads for four activations: 4, or 8 where it takes them as
    /// 16-bit integers in the order 0, 2, 1, 3.
    const QUAD: usize;
    /// What `load_bytes` takes off each byte, because its products are of signed bytes.
    const TAKEN_OFF: i32 = 0;
    /// Tokens of the widest float kernel, which its registers have room for.
    const FLOAT_TOKENS: usize;
    /// Tokens of the widest integer kernel.
    const INTEGER_TOKENS: usize;

    unsafe fn splat(value: f32) -> Self::Floats;
    unsafe fn multiply(a: Self::Floats, b: Self::Floats) -> Self::Floats;
    /// `a * b + c`, rounded once.
    unsafe fn multiply_add(a: Self::Floats, b: Self::Floats, c: Self::Floats) -> Self::Floats;
    unsafe fn load_f32(from: *const u8) -> Self::Floats;
    /// From 32 bytes.
    unsafe fn load_f16(from: *const u8) -> Self::Floats;
    /// From 32 bytes.
    unsafe fn load_bf16(from: *const u8) -> Self::Floats;
    /// From 16 signed bytes.
    unsafe fn load_i8(from: *const u8) -> Self::Floats;
    /// From 16 unsigned bytes.
    unsafe fn load_u8(from: *const u8) -> Self::Floats;
    /// From 16 bytes: the low nibbles, then the high ones.
    unsafe fn load_u4(from: *const u8) -> [Self::Floats; 2];
    unsafe fn store(to: *mut f32, values: Self::Floats);
    /// In each lane the greater magnitude, by the order of their bits.
    unsafe fn greater(a: Self::Floats, b: Self::Floats) -> Self::Floats;
    /// The greatest magnitude of all lanes.
    unsafe fn greatest(values: Self::Floats) -> f32;
    /// `values * inverse`, between -127 and 127, rounded half to even, as 16 bytes; their sum.
    unsafe fn round(values: Self::Floats, inverse: Self::Floats, to: *mut i8) -> i32;
    /// Fetches the line of the cache at a place that need not be there, as a hint.
    #[inline(always)]
    unsafe fn fetch(_at: *const u8) {}

    unsafe fn load_bytes(from: *const u8) -> Self::Bytes;
    /// The low nibbles of 64 bytes, then the high ones.
    unsafe fn load_nibbles(from: *const u8) -> [Self::Nibbles; 2];
    /// The same sum in each lane.
    unsafe fn start8(value: i32) -> Self::Sums;
    /// Adds the products of each lane's bytes with four activations (`QUAD` bytes).
    unsafe fn dot8(sums: Self::Sums, bytes: Self::Bytes, quad: *const u8) -> Self::Sums;
    /// As `start8`, for `dot4`.
    unsafe fn start4(value: i32) -> Self::Sums;
    /// As `dot8`, with four bytes of activations; at most eight times in a row.
    unsafe fn dot4(sums: Self::Sums, nibbles: Self::Nibbles, quad: *const u8) -> Self::Sums;
    /// What `dot4` has summed; `value` is that of `start4`.
    unsafe fn finish4(sums: Self::Sums, value: i32) -> Self::Sums;
    unsafe fn to_floats(sums: Self::Sums) -> Self::Floats;

    /// Runs a task, compiled with the instructions.
    unsafe fn run<T: Task>(task: T);
}

/// Something written in lanes.
pub(crate) trait Task {
    /// To be inlined, so that it gets the instructions of its caller.
    ///
    /// # Safety
    /// As [`Lanes`].
    unsafe fn run<S: Lanes>(self);
}
