//! What computes on the processor.
//!
//! * Matrix products with weights as they are stored. A [`Stored`] matrix is bytes in a [`Format`].
//!   [`Packed::new`] arranges it once for the machine ([`Isa`]) and for how the other operand is
//!   taken ([`Activations`]); [`Packed::multiply`] runs on the threads of a [`Pool`].
//! * [`attention`] under a [`mask`], forward and backward, and what it should give.
//! * [`simd`]: the vectors and small products that attention is made of.
//! * A [`Gemm`], a product by itself, and [`Bandwidth`], what memory delivers: the limits shown next
//!   to a measured speed.
//!
//! # Not here
//! Files, models, everything between two products (`ifm-engine`).

mod activations;
mod aligned;
pub mod attention;
mod bandwidth;
pub mod ceiling;
mod codes;
mod float;
pub mod format;
mod gemm;
mod integer;
mod isa;
mod kept;
mod lanes;
pub mod mask;
mod packed;
mod panel;
mod pool;
mod random;
mod schedule;
pub mod simd;
mod stored;
mod tiles;

pub use activations::Activations;
pub use bandwidth::{Bandwidth, Motion, UnknownMotion};
pub use format::Format;
pub use gemm::{Gemm, GemmError, GemmType, UnknownGemmType};
pub use isa::Isa;
pub use kept::{Kept, Number};
pub use packed::{PackError, Packed};
pub use pool::Pool;
pub use random::RandomStream;
pub use stored::{Stored, StoredError};
