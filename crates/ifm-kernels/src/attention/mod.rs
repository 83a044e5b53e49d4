//! Attention: `softmax(score(q k / sqrt(width)) where the mask allows) v`, and its gradient.
//!
//! Not here: masks (`mask`), the caches of a model (`ifm-engine`).

mod shape;

pub use shape::{Shape, ShapeError};
