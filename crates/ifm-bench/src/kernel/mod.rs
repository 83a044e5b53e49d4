//! Kernels: attention under masks, matrix products and transfers, of any provider, each compared
//! with 64-bit floats before it is timed.
//!
//! Providers share one interface, the protocol of `docs/reference/kernel-protocol.md`: our own kernels
//! (`native`), PyTorch (`torch.py`), any command. Not here: flags and what is printed (`inferometer`).

mod check;
mod clock;
mod count;
mod course;
mod masks;
mod native;
mod preset;
mod protocol;
mod provider;
mod sheet;
#[cfg(test)]
mod tests;

pub use course::{Ask, Done, measure};
pub use masks::{Masks, wire};
pub use native::serve as serve_worker;
pub use preset::{PRESETS, Preset, preset};
pub use protocol::{Attention, Case, Load, Mask, Operation, Pass, VERSION};
pub use provider::Provider;
pub use sheet::{disturbed, line, sheet};
