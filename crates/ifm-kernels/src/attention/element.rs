//! Types of inputs and outputs, and numbers of a type.
//!
//! Not here: the floats that kernels compute with (`buffer`).

use std::{fmt, str::FromStr};

use half::{bf16, f16, slice::HalfFloatSliceExt};

use super::buffer::Shared;
use crate::random::RandomStream;

/// Type of inputs and outputs. Between them all is computed in 32 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Element {
    /// 32 bits.
    F32,
    /// 16 bits, of which 10 are fraction.
    F16,
    /// 16 bits, of which 7 are fraction.
    BF16,
}

impl Element {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::F32, Self::F16, Self::BF16];

    /// The spelling that [`Element::from_str`] reads.
    pub fn name(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::F16 => "f16",
            Self::BF16 => "bf16",
        }
    }

    /// Bytes of a number.
    pub fn bytes(self) -> usize {
        if self == Self::F32 { 4 } else { 2 }
    }
}

impl fmt::Display for Element {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// A name that is not a valid [`Element`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown type `{0}`: known are f32, f16 and bf16")]
pub struct UnknownElement(pub String);

impl FromStr for Element {
    type Err = UnknownElement;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.into_iter().find(|element| element.name() == name);
        found.ok_or_else(|| UnknownElement(name.to_owned()))
    }
}

/// Numbers of a type.
#[derive(Debug, Clone)]
pub(super) enum Numbers {
    F32(Vec<f32>),
    F16(Vec<f16>),
    BF16(Vec<bf16>),
}

/// Numbers that threads write without overlap.
#[derive(Debug)]
pub(super) enum Sink<'a> {
    F32(Shared<'a, f32>),
    F16(Shared<'a, f16>),
    BF16(Shared<'a, bf16>),
}

impl Numbers {
    pub(super) fn zeros(element: Element, count: usize) -> Self {
        match element {
            Element::F32 => Self::F32(vec![0.0; count]),
            Element::F16 => Self::F16(vec![f16::ZERO; count]),
            Element::BF16 => Self::BF16(vec![bf16::ZERO; count]),
        }
    }

    /// Numbers with mean 0 and deviation 1: each the sum of twelve that are uniform over 16 bits,
    /// normal except for tails beyond 6. Only integers are drawn, so that every machine gets the same.
    pub(super) fn normal(element: Element, count: usize, mut stream: RandomStream) -> Self {
        let mut next = || {
            let mut sum = 0;
            for _ in 0..3 {
                let word = stream.next_word();
                sum += (0..4).map(|part| word >> (16 * part) & 0xFFFF).sum::<u64>();
            }
            // Twelve times the mean of 0 to 65535.
            (sum as i64 - 6 * 65535) as f32 / 65536.0
        };
        match element {
            Element::F32 => Self::F32((0..count).map(|_| next()).collect()),
            Element::F16 => Self::F16((0..count).map(|_| f16::from_f32(next())).collect()),
            Element::BF16 => Self::BF16((0..count).map(|_| bf16::from_f32(next())).collect()),
        }
    }

    /// The numbers from `start` on as floats.
    pub(super) fn widen(&self, start: usize, out: &mut [f32]) {
        let range = start..start + out.len();
        match self {
            Self::F32(numbers) => out.copy_from_slice(&numbers[range]),
            Self::F16(numbers) => numbers[range].convert_to_f32_slice(out),
            Self::BF16(numbers) => numbers[range].convert_to_f32_slice(out),
        }
    }

    pub(super) fn sink(&mut self) -> Sink<'_> {
        match self {
            Self::F32(numbers) => Sink::F32(Shared::new(numbers)),
            Self::F16(numbers) => Sink::F16(Shared::new(numbers)),
            Self::BF16(numbers) => Sink::BF16(Shared::new(numbers)),
        }
    }

    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::F32(numbers) => size_of_val(&numbers[..]),
            Self::F16(numbers) => size_of_val(&numbers[..]),
            Self::BF16(numbers) => size_of_val(&numbers[..]),
        }
    }
}

impl Sink<'_> {
    /// Writes numbers from `start` on, rounded to the nearest.
    ///
    /// # Safety
    /// As [`Shared::part`].
    pub(super) unsafe fn write(&self, start: usize, from: &[f32]) {
        // SAFETY: the caller's promise.
        unsafe {
            match self {
                Self::F32(numbers) => numbers.part(start, from.len()).copy_from_slice(from),
                Self::F16(numbers) => numbers.part(start, from.len()).convert_from_f32_slice(from),
                Self::BF16(numbers) => numbers.part(start, from.len()).convert_from_f32_slice(from),
            }
        }
    }
}
