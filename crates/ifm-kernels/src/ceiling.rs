//! The maximum that this machine reaches with these threads, found by running: the limit shown next
//! to a measured speed.
//!
//! Not here: what a model needs (`ifm-engine`).

use std::time::{Duration, Instant};

use crate::{
    Activations, Bandwidth, Format, Gemm, GemmError, Isa, Motion, PackError, Pool, Stored,
};

/// An array larger than what caches hold, bytes.
const LARGE_BYTES: usize = 256 << 20;
/// Rows and columns of a matrix that a second-level cache holds.
const SMALL: usize = 512;
/// Rows of activations multiplied by it.
const ROWS: usize = 256;
/// How long the best of several runs is looked for.
const LOOK: Duration = Duration::from_millis(150);

/// Bytes per second at which memory is read: an array of 256 MiB of 32-bit floats, the best of several.
///
/// # Errors
/// The processor lacks the instructions.
pub fn read_bytes_per_s(pool: &Pool, isa: Isa) -> Result<f64, PackError> {
    let mut read = Bandwidth::new(Motion::Read, LARGE_BYTES, isa)?;
    Ok(read.bytes_per_run() as f64 / best_s(|| read.run(pool)))
}

/// Operations per second, two for each weight and row, of products of this kind whose operands
/// caches hold: 256 rows with a matrix of 512 by 512, the best of several.
///
/// # Errors
/// The format has no product with such activations, or the processor lacks the instructions.
pub fn ops_per_s(
    pool: &Pool,
    isa: Isa,
    (format, activations): (Format, Activations),
) -> Result<f64, GemmError> {
    // Any values do, as long as none is subnormal: some formats are read and never made.
    let bytes = vec![0x3C; format.bytes(SMALL, SMALL)];
    let stored = Stored::new(format, SMALL, SMALL, bytes).map_err(GemmError::Stored)?;
    let mut gemm = Gemm::with(stored, activations, ROWS, isa, 0)?;
    Ok(gemm.operations() / best_s(|| gemm.run(pool)))
}

/// The shortest run, seconds.
fn best_s(mut run: impl FnMut()) -> f64 {
    let (begun, mut best) = (Instant::now(), f64::INFINITY);
    while best.is_infinite() || begun.elapsed() < LOOK {
        let start = Instant::now();
        run();
        best = best.min(start.elapsed().as_secs_f64());
    }
    best.max(f64::MIN_POSITIVE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_in_caches_do_more_than_memory_feeds() {
        let pool = Pool::new(1);
        let isa = Isa::best();
        let ops = ops_per_s(&pool, isa, (Format::F32, Activations::Float)).expect("a product");
        // Every processor does a million a second, and none a thousand million million.
        assert!(ops > 1e6 && ops < 1e15, "{ops}");
    }
}
