//! Floats in memory as kernels like them: at the start of a cache line, and written by several
//! threads without overlap.
//!
//! Not here: numbers of other types (`element`).

use std::{
    marker::PhantomData,
    ops::{Deref, DerefMut},
};

/// Floats of a cache line.
const LINE: usize = 16;

#[derive(Clone, Copy)]
#[repr(align(64))]
struct CacheLine {
    // Read by way of `Buffer` alone.
    _floats: [f32; LINE],
}

const ZEROS: CacheLine = CacheLine { _floats: [0.0; LINE] };

/// Floats that begin at the start of a cache line: a vector never lies across two.
#[derive(Clone, Default)]
pub(super) struct Buffer(Vec<CacheLine>);

impl Buffer {
    /// At least `count` zeros.
    pub(super) fn zeros(count: usize) -> Self {
        Self(vec![ZEROS; count.div_ceil(LINE)])
    }

    /// Grows to at least `count`; new elements are 0.
    pub(super) fn grow(&mut self, count: usize) {
        if self.len() < count {
            self.0.resize(count.div_ceil(LINE), ZEROS);
        }
    }
}

impl std::fmt::Debug for Buffer {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Buffer").field("floats", &self.len()).finish()
    }
}

impl Deref for Buffer {
    type Target = [f32];

    fn deref(&self) -> &[f32] {
        // SAFETY: a `CacheLine` is its floats and nothing else: 64 bytes, a multiple of its
        // alignment.
        unsafe { std::slice::from_raw_parts(self.0.as_ptr().cast(), self.0.len() * LINE) }
    }
}

impl DerefMut for Buffer {
    fn deref_mut(&mut self) -> &mut [f32] {
        // SAFETY: as above, and the floats are borrowed mutably.
        unsafe { std::slice::from_raw_parts_mut(self.0.as_mut_ptr().cast(), self.0.len() * LINE) }
    }
}

/// A slice of which threads take parts that do not overlap.
#[derive(Debug)]
pub(super) struct Shared<'a, T> {
    start: *mut T,
    length: usize,
    borrowed: PhantomData<&'a mut [T]>,
}

// SAFETY: parts are only given to who promises that they do not overlap: see `part`.
unsafe impl<T: Send> Sync for Shared<'_, T> {}

impl<'a, T> Shared<'a, T> {
    pub(super) fn new(slice: &'a mut [T]) -> Self {
        Self { start: slice.as_mut_ptr(), length: slice.len(), borrowed: PhantomData }
    }

    /// `length` numbers from `start` on.
    ///
    /// # Safety
    /// While the part lives, no other part may overlap it.
    ///
    /// # Panics
    /// When there are fewer.
    #[allow(clippy::mut_from_ref)]
    pub(super) unsafe fn part(&self, start: usize, length: usize) -> &mut [T] {
        assert!(start <= self.length && length <= self.length - start, "a part lies inside");
        // SAFETY: inside the slice, which is borrowed mutably; not overlapping by the promise.
        unsafe { std::slice::from_raw_parts_mut(self.start.add(start), length) }
    }
}
