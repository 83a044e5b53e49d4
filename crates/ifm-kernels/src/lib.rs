//! Matrix products with weights as they are stored, on the processor.
//!
//! A [`Stored`] matrix is bytes in a [`Format`]. [`Packed::new`] arranges it once for
//! the machine ([`Isa`]) and for how the other operand is taken ([`Activations`]);
//! [`Packed::multiply`] runs on the threads of a [`Pool`]. A [`Gemm`] is such a product by itself, a
//! [`Bandwidth`] what memory gives without one: the limits beside a measured speed.
//!
//! # Not here
//! Files, models, everything between two products (`ifm-engine`).

mod activations;
mod aligned;
mod bandwidth;
pub mod ceiling;
mod codes;
mod float;
pub mod format;
mod gemm;
mod integer;
mod isa;
mod lanes;
mod packed;
mod panel;
mod pool;
mod schedule;
mod stored;
mod tiles;

pub use activations::Activations;
pub use bandwidth::{Bandwidth, Motion, UnknownMotion};
pub use format::Format;
pub use gemm::{Gemm, GemmError, GemmType, UnknownGemmType};
pub use isa::Isa;
pub use packed::{PackError, Packed};
pub use pool::Pool;
pub use stored::{Stored, StoredError};
