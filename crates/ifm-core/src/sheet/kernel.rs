//! Names of factors and figures of kernels that their writers and readers share.

use crate::metric::{Metric, Name};

/// Factor: the mask.
pub const MASK: &str = "mask";
/// Factor: the implementation of attention, or `gemm`, `read`, `write`, `copy`, `triad`.
pub const KERNEL: &str = "kernel";
/// Factor: `forward` or `backward`.
pub const PASS: &str = "pass";
/// Factor: the mask that is computed, where it is another than the one that was asked for.
pub const COMPUTES: &str = "computes";
/// Factor: batch, heads, lengths and width; of a product `m x n x k`; of a transfer the bytes of an array.
pub const SIZE: &str = "size";
/// Factor: type of the numbers.
pub const TYPE: &str = "type";
/// Factor: what computes, `cpu` or a GPU.
pub const DEVICE: &str = "device";
/// Factor: threads that compute.
pub const THREADS: &str = "threads";
/// Factor: who brings the implementation.
pub const PROVIDER: &str = "provider";
/// Factor: instructions of a processor.
pub const INSTRUCTIONS: &str = "instructions";
/// Field of a row: the sides of the tensor that a mask is for.
pub const SHAPE: &str = "shape";
/// Kernels of `kernel bandwidth`.
pub const TRANSFERS: [&str; 4] = ["read", "write", "copy", "triad"];
/// The kernel of `kernel gemm`.
pub const GEMM: &str = "gemm";

/// Operations of one call.
pub fn operations() -> Metric {
    Metric::Other(Name::of("operations"))
}

/// Operations of one call by the rule of the tool that the implementation is known from.
pub fn own_operations() -> Metric {
    Metric::Other(Name::of("operations by the tool's own rule"))
}

/// Greatest error over greatest value of a tensor, against 64-bit floats.
pub fn error() -> Metric {
    Metric::Other(Name::of("relative error"))
}

/// Share of the roofline.
pub fn roofline() -> Metric {
    Metric::Other(Name::of("share of the roofline"))
}

/// Speed over that of the same kernel without a mask.
pub fn over_full() -> Metric {
    Metric::Other(Name::of("speed-up over the full mask"))
}

/// Speed over that of the reference implementation under the same mask.
pub fn over_reference() -> Metric {
    Metric::Other(Name::of("speed-up over the reference"))
}
