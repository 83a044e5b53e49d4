//! Numbers that a pass computes and throws away, in memory that the thread keeps for the next pass.
//!
//! A pass over a prompt takes and gives back many blocks of some hundred kilobytes. An allocator that hands such
//! blocks to the system each time, as musl's does, spends a quarter of the time of a prompt on their pages
//! (a model of 26 million parameters, prompts of 512 tokens, one thread).
//!
//! Not here: what is kept in packed weights, and what lives as long as a sequence.

use std::{
    cell::RefCell,
    fmt,
    ops::{Deref, DerefMut},
    thread::LocalKey,
};

/// Blocks that a thread keeps of each kind, and the bytes of all of them.
const BLOCKS_MAX: usize = 24;
const BYTES_MAX: usize = 256 << 20;
/// Smaller blocks are the allocator's, bytes: it has them at hand.
const BYTES_MIN: usize = 32 << 10;

type Blocks<T> = RefCell<Vec<Vec<T>>>;

/// A kind of numbers.
pub trait Number: Copy + Default + 'static {
    #[doc(hidden)]
    fn blocks() -> &'static LocalKey<Blocks<Self>>;
}

macro_rules! number {
    ($($kind:ty),*) => {$(
        impl Number for $kind {
            fn blocks() -> &'static LocalKey<Blocks<Self>> {
                thread_local! { static BLOCKS: Blocks<$kind> = const { RefCell::new(Vec::new()) }; }
                &BLOCKS
            }
        }
    )*};
}
number!(u8, i32, f32);

/// A block of numbers; goes back to the thread that drops it.
pub struct Kept<T: Number>(Vec<T>);

impl<T: Number> Kept<T> {
    /// `count` zeros.
    pub fn zeros(count: usize) -> Self {
        match Self::kept(count) {
            Some(mut block) => {
                block.clear();
                block.resize(count, T::default());
                Self(block)
            }
            None => Self(vec![T::default(); count]),
        }
    }

    /// `count` numbers of any value.
    pub fn used(count: usize) -> Self {
        let mut block = Self::kept(count).unwrap_or_default();
        block.resize(count, T::default());
        Self(block)
    }

    /// The smallest of the blocks that have room for `count` numbers.
    fn kept(count: usize) -> Option<Vec<T>> {
        if is_small::<T>(count) {
            return None;
        }
        let fitting = |blocks: &Blocks<T>| {
            let mut blocks = blocks.borrow_mut();
            let fits = blocks.iter().enumerate().filter(|(_, block)| block.capacity() >= count);
            let place = fits.min_by_key(|(_, block)| block.capacity()).map(|(place, _)| place)?;
            Some(blocks.swap_remove(place))
        };
        // While a thread ends there is nothing kept any more.
        T::blocks().try_with(fitting).ok().flatten()
    }
}

fn is_small<T>(count: usize) -> bool {
    count * size_of::<T>() < BYTES_MIN
}

impl<T: Number> Drop for Kept<T> {
    fn drop(&mut self) {
        let block = std::mem::take(&mut self.0);
        if is_small::<T>(block.capacity()) {
            return;
        }
        let _ = T::blocks().try_with(|blocks| {
            let mut blocks = blocks.borrow_mut();
            blocks.push(block);
            let bytes: usize = blocks.iter().map(|block| block.capacity() * size_of::<T>()).sum();
            if bytes > BYTES_MAX {
                let most = blocks.iter().enumerate().max_by_key(|(_, block)| block.capacity());
                most.map(|(place, _)| place).map(|place| blocks.swap_remove(place));
            }
            if blocks.len() > BLOCKS_MAX {
                let least = blocks.iter().enumerate().min_by_key(|(_, block)| block.capacity());
                least.map(|(place, _)| place).map(|place| blocks.swap_remove(place));
            }
        });
    }
}

impl<T: Number> Default for Kept<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T: Number> From<Vec<T>> for Kept<T> {
    fn from(numbers: Vec<T>) -> Self {
        Self(numbers)
    }
}

impl<T: Number> Clone for Kept<T> {
    fn clone(&self) -> Self {
        let mut out = Self::zeros(self.0.len());
        out.copy_from_slice(&self.0);
        out
    }
}

impl<T: Number + fmt::Debug> fmt::Debug for Kept<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<T: Number> Deref for Kept<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.0
    }
}

impl<T: Number> DerefMut for Kept<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_comes_back_as_zeros() {
        let mut first = Kept::<i32>::zeros(BYTES_MIN);
        first.fill(7);
        let place = first.as_ptr();
        drop(first);
        // A larger one is another's.
        assert_ne!(Kept::<i32>::zeros(2 * BYTES_MIN).as_ptr(), place);
        let again = Kept::<i32>::zeros(BYTES_MIN - 1);
        assert_eq!(again.as_ptr(), place);
        assert!(again.len() == BYTES_MIN - 1 && again.iter().all(|it| *it == 0));
        assert_eq!(*again.clone(), *again);
    }

    #[test]
    fn a_thread_keeps_so_many_and_the_largest() {
        let all: Vec<Kept<u8>> = (0..40).map(|more| Kept::zeros(BYTES_MIN + more)).collect();
        drop(all);
        u8::blocks().with(|blocks| {
            let blocks = blocks.borrow();
            assert_eq!(blocks.len(), BLOCKS_MAX);
            assert!(blocks.iter().all(|block| block.capacity() >= BYTES_MIN + 40 - BLOCKS_MAX));
        });
        drop(Kept::<f32>::zeros(4));
        f32::blocks().with(|blocks| assert!(blocks.borrow().is_empty()));
    }
}
