//! Moving numbers between memory and registers: what the memory gives when nothing is computed.
//!
//! Bytes are counted by the rule of STREAM (McCalpin 1995): those that the program reads and those that
//! it writes. That a processor fetches a line before it writes a part of it is not counted. Stores are plain
//! ones, as compilers make them and products use them: stores past the caches spare that fetch, and then
//! `triad` and `copy` count 1.3 to 1.5 times as much (EPYC of the Zen 4 kind).
//!
//! Not here: what a product reads (`gemm`).

use std::{
    fmt,
    ops::Range,
    str::FromStr,
    sync::{Mutex, PoisonError},
};

#[cfg(target_arch = "aarch64")]
use crate::lanes::Neon;
#[cfg(target_arch = "x86_64")]
use crate::lanes::{Avx2, Avx512};
use crate::{
    Isa, PackError, Pool,
    aligned::Aligned,
    lanes::{LANES, Lanes, Portable, Task},
};

/// Bytes of a vector.
const VECTOR: usize = 4 * LANES;
/// Bytes of an array that one call moves: whole pages, and sums of small numbers stay exact.
const BLOCK: usize = 64 << 10;
/// Vectors of a stretch that are moved one after another before the next stretch's.
const UNROLL: usize = 2;
/// Stretches of a block that are read side by side: one alone waits for its own lines.
const STREAMS: usize = 4;

/// What is moved. `a`, `b` and `c` are arrays of 32-bit floats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Motion {
    /// The sum of all `b`.
    Read,
    /// `a = x`.
    Write,
    /// `a = b`.
    Copy,
    /// `a = b + 3 c`.
    Triad,
}

impl Motion {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Read, Self::Write, Self::Copy, Self::Triad];

    /// The spelling that [`Motion::from_str`] reads, such as `triad`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Copy => "copy",
            Self::Triad => "triad",
        }
    }

    /// Arrays that are read or written.
    pub fn arrays(self) -> usize {
        match self {
            Self::Read | Self::Write => 1,
            Self::Copy => 2,
            Self::Triad => 3,
        }
    }

    /// Arrays that are read.
    fn sources(self) -> usize {
        self.arrays() - usize::from(self != Self::Read)
    }
}

impl fmt::Display for Motion {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// A name that is not a valid [`Motion`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownMotion(pub String);

impl fmt::Display for UnknownMotion {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "unknown motion: {}; known are read, write, copy and triad", self.0)
    }
}

impl std::error::Error for UnknownMotion {}

impl FromStr for Motion {
    type Err = UnknownMotion;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.into_iter().find(|motion| motion.name() == name);
        found.ok_or_else(|| UnknownMotion(name.to_owned()))
    }
}

/// Arrays that are there, and what is done with them.
#[derive(Debug)]
pub struct Bandwidth {
    motion: Motion,
    isa: Isa,
    /// Of each array.
    bytes: usize,
    /// `a` where it is written, then `b` and `c` as far as they are read.
    to: Aligned,
    sources: Vec<Aligned>,
    runs: u32,
    sum: f64,
}

/// Value of an element of `b` and of `c`: whole numbers below 8, another for each neighbour.
fn element(array: usize, index: usize) -> f32 {
    (index * (5 - 2 * array) % 8) as f32
}

impl Bandwidth {
    /// Arrays of at least this many bytes each, rounded up to whole blocks of 64 KiB, written once.
    ///
    /// # Errors
    /// The processor lacks the instructions.
    pub fn new(motion: Motion, bytes: usize, isa: Isa) -> Result<Self, PackError> {
        if !isa.is_here() {
            return Err(PackError { reason: format!("this processor has no {isa}") });
        }
        let bytes = bytes.max(1).next_multiple_of(BLOCK);
        let sources = (0..motion.sources()).map(|array| {
            let mut filled = Aligned::zeros(bytes);
            for (index, place) in filled.bytes_mut().as_chunks_mut::<4>().0.iter_mut().enumerate() {
                *place = element(array, index).to_ne_bytes();
            }
            filled
        });
        let sources = sources.collect();
        let to = Aligned::zeros(if motion == Motion::Read { 0 } else { bytes });
        Ok(Self { motion, isa, bytes, to, sources, runs: 0, sum: 0.0 })
    }

    /// Bytes of one array.
    pub fn array_bytes(&self) -> usize {
        self.bytes
    }

    /// Bytes that a run reads and writes.
    pub fn bytes_per_run(&self) -> usize {
        self.bytes * self.motion.arrays()
    }

    /// Moves everything once, on all threads of the pool.
    pub fn run(&mut self, pool: &Pool) {
        match self.isa {
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512 | Isa::Avx512Vnni => self.run_with::<Avx512<false>>(pool),
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 => self.run_with::<Avx2>(pool),
            #[cfg(target_arch = "aarch64")]
            Isa::Neon => self.run_with::<Neon>(pool),
            _ => self.run_with::<Portable>(pool),
        }
    }

    fn run_with<S: Lanes>(&mut self, pool: &Pool) {
        self.runs += 1;
        let to = To(self.to.bytes_mut().as_mut_ptr());
        let sources: Vec<&[u8]> = self.sources.iter().map(Aligned::bytes).collect();
        let (motion, value) = (self.motion, self.runs as f32);
        let total = Mutex::new(0.0);
        pool.run(self.bytes / BLOCK, |range: Range<usize>| {
            let to = &to;
            let mut sum = 0.0;
            for block in range {
                let from = |array: usize| match sources.get(array) {
                    Some(bytes) => bytes[block * BLOCK..][..BLOCK].as_ptr(),
                    None => std::ptr::null(),
                };
                let to = to.0.wrapping_add(block * BLOCK);
                let mut block = Block { motion, value, to, b: from(0), c: from(1), sum: 0.0 };
                // SAFETY: `new` takes only an `Isa` that the processor has; the arrays that the
                // motion takes hold the block, and no other call writes this one.
                unsafe { S::run(&mut block) };
                sum += f64::from(block.sum);
            }
            *total.lock().unwrap_or_else(PoisonError::into_inner) += sum;
        });
        self.sum = total.into_inner().unwrap_or_else(PoisonError::into_inner);
    }

    /// The first numbers of `a`, `b` and `c`, up to `count` of each; empty for an array that the motion
    /// does not have.
    pub fn first(&self, count: usize) -> [Vec<f32>; 3] {
        let numbers = |array: Option<&Aligned>| -> Vec<f32> {
            let all = array.map_or(&[][..], |array| array.bytes().as_chunks::<4>().0);
            all.iter().take(count).map(|bytes| f32::from_ne_bytes(*bytes)).collect()
        };
        [numbers(Some(&self.to)), numbers(self.sources.first()), numbers(self.sources.get(1))]
    }

    /// The sum of `b` that the last run of [`Motion::Read`] found; `b` holds the numbers from 0 to 7 in
    /// some order, over and over.
    pub fn sum(&self) -> f64 {
        self.sum
    }

    /// What [`Motion::Write`] wrote in the last run.
    pub fn written(&self) -> f32 {
        self.runs as f32
    }

    /// Whether the last run moved every element to where it belongs, or read every one. False before
    /// the first run.
    pub fn is_right(&self) -> bool {
        let elements = 0..self.bytes / size_of::<f32>();
        if self.motion == Motion::Read {
            return self.runs > 0
                && self.sum == elements.map(|index| f64::from(element(0, index))).sum::<f64>();
        }
        let expected = |index| match self.motion {
            Motion::Triad => 3.0f32.mul_add(element(1, index), element(0, index)),
            Motion::Copy => element(0, index),
            Motion::Write | Motion::Read => self.runs as f32,
        };
        let written = self.to.bytes().as_chunks::<4>().0;
        self.runs > 0
            && elements.zip(written).all(|(i, bytes)| f32::from_ne_bytes(*bytes) == expected(i))
    }
}

/// The array that is written, by blocks.
struct To(*mut u8);

// SAFETY: each block is written by the one call that has taken it.
unsafe impl Sync for To {}

/// A block of each array.
struct Block {
    motion: Motion,
    value: f32,
    to: *mut u8,
    b: *const u8,
    c: *const u8,
    sum: f32,
}

impl Task for &mut Block {
    #[inline(always)]
    unsafe fn run<S: Lanes>(self) {
        // SAFETY: the caller's promise.
        unsafe {
            match self.motion {
                Motion::Read => self.sum = read::<S>(self.b),
                Motion::Write => {
                    let value = S::splat(self.value);
                    each::<S>(self.to, |_| value);
                }
                Motion::Copy => each::<S>(self.to, |at| S::load_f32(self.b.add(at))),
                Motion::Triad => each::<S>(self.to, |at| {
                    let (b, c) = (S::load_f32(self.b.add(at)), S::load_f32(self.c.add(at)));
                    S::multiply_add(c, S::splat(3.0), b)
                }),
            }
        }
    }
}

/// Writes a block, vector by vector; `value` says what goes to a byte of it.
///
/// # Safety
/// As [`Lanes`]; the block is there.
#[inline(always)]
unsafe fn each<S: Lanes>(to: *mut u8, value: impl Fn(usize) -> S::Floats) {
    for at in (0..BLOCK).step_by(UNROLL * VECTOR) {
        for part in 0..UNROLL {
            let at = at + part * VECTOR;
            // SAFETY: the caller's promise.
            unsafe { S::store(to.add(at).cast(), value(at)) };
        }
    }
}

/// The sum of a block.
///
/// # Safety
/// As [`Lanes`]; the block is there.
#[inline(always)]
unsafe fn read<S: Lanes>(from: *const u8) -> f32 {
    let stretch = BLOCK / STREAMS;
    let mut lanes = [0.0; LANES];
    // SAFETY: the caller's promise: every offset lies in the block.
    unsafe {
        let one = S::splat(1.0);
        let mut sums = [[S::splat(0.0); UNROLL]; STREAMS];
        for at in (0..stretch).step_by(UNROLL * VECTOR) {
            for (stream, sums) in sums.iter_mut().enumerate() {
                for (part, sum) in sums.iter_mut().enumerate() {
                    let values = S::load_f32(from.add(stream * stretch + at + part * VECTOR));
                    *sum = S::multiply_add(values, one, *sum);
                }
            }
        }
        let mut total = S::splat(0.0);
        for sum in sums.as_flattened() {
            total = S::multiply_add(*sum, one, total);
        }
        S::store(lanes.as_mut_ptr(), total);
    }
    lanes.iter().sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_motion_moves_every_element() {
        for isa in Isa::ALL.into_iter().filter(|isa| isa.is_here()) {
            for motion in Motion::ALL {
                for threads in [1, 3] {
                    let mut moved = Bandwidth::new(motion, 5 * BLOCK - 1, isa).expect("arrays");
                    assert!(!moved.is_right(), "{motion} before it ran");
                    let pool = Pool::new(threads);
                    moved.run(&pool);
                    moved.run(&pool);
                    assert!(moved.is_right(), "{motion} with {isa}");
                    assert_eq!(moved.array_bytes(), 5 * BLOCK);
                    assert_eq!(moved.bytes_per_run(), 5 * BLOCK * motion.arrays());
                }
            }
        }
    }

    #[test]
    fn a_wrong_element_is_found() {
        let pool = Pool::new(1);
        for motion in Motion::ALL {
            let mut moved = Bandwidth::new(motion, BLOCK, Isa::Baseline).expect("arrays");
            if let Some(source) = moved.sources.first_mut() {
                source.bytes_mut()[4 * 1000..][..4].copy_from_slice(&9.0f32.to_ne_bytes());
            }
            moved.run(&pool);
            if motion == Motion::Write {
                moved.to.bytes_mut()[4 * 1000] ^= 1;
            }
            assert!(!moved.is_right(), "{motion}");
        }
    }

    #[test]
    fn names_are_read_back() {
        assert!(Motion::ALL.into_iter().all(|motion| motion.name().parse() == Ok(motion)));
        assert_eq!("sing".parse::<Motion>(), Err(UnknownMotion("sing".to_owned())));
    }
}
