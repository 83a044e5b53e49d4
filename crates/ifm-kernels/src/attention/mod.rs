//! Attention: `softmax(score(q k / sqrt(width)) where the mask allows) v`, and its gradient.
//!
//! An [`Attention`] is prepared once, with a [`Method`] and a type of numbers, and runs again and
//! again.
//!
//! A query that may see no key has the output 0, no gradient, and minus infinity for its logarithm
//! of the sum.
//!
//! Not here: masks (`mask`), the caches of a model (`ifm-engine`).

mod backward;
mod buffer;
mod element;
mod forward;
mod gradients;
mod lanes;
mod naive;
mod pack;
mod plan;
mod prepared;
pub mod reference;
mod rule;
mod shape;
#[cfg(test)]
mod tests;

pub use element::{Element, UnknownElement};
pub use prepared::{Attention, Head, Method, Setup, SetupError, UnknownMethod};
pub use rule::QUICK_TANH_ERROR;
pub use shape::{Shape, ShapeError};
