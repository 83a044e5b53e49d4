//! What this machine can do at most with these threads, as found by running: the limit beside a
//! measured speed.
//!
//! Not here: what a model needs (`ifm-engine`).

use std::time::{Duration, Instant};

use crate::{Activations, Format, Isa, PackError, Packed, Pool, Stored, StoredError};

/// A matrix larger than what caches hold, bytes.
const LARGE_BYTES: usize = 256 << 20;
/// Rows and columns of one that a second-level cache holds.
const SMALL: usize = 512;
/// Rows of activations in front of it.
const ROWS: usize = 256;
/// How long the best of several runs is looked for.
const LOOK: Duration = Duration::from_millis(150);

/// Why there is no ceiling.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CeilingError {
    /// The matrix could not be made.
    Stored(StoredError),
    /// It has no product.
    Pack(PackError),
}

/// Bytes per second at which weights are read from memory: a product of one row with a matrix of
/// 256 MiB of 32-bit floats, the best of several.
///
/// # Errors
/// The processor lacks the instructions.
pub fn read_bytes_per_s(pool: &Pool, isa: Isa) -> Result<f64, CeilingError> {
    let columns = 8 * SMALL;
    let rows = LARGE_BYTES / size_of::<f32>() / columns;
    let packed = packed(Format::F32, Activations::Float, isa, rows, columns)?;
    Ok(LARGE_BYTES as f64 / best_s(&packed, pool, 1, rows, columns))
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
) -> Result<f64, CeilingError> {
    let packed = packed(format, activations, isa, SMALL, SMALL)?;
    let operations = 2.0 * (SMALL * SMALL * ROWS) as f64;
    Ok(operations / best_s(&packed, pool, ROWS, SMALL, SMALL))
}

fn packed(
    format: Format,
    activations: Activations,
    isa: Isa,
    rows: usize,
    columns: usize,
) -> Result<Packed, CeilingError> {
    // Any values do, as long as none is subnormal.
    let bytes = vec![0x3C; format.bytes(rows, columns)];
    let stored = Stored::new(format, rows, columns, bytes).map_err(CeilingError::Stored)?;
    Packed::new(stored, activations, isa).map_err(CeilingError::Pack)
}

/// The shortest run, seconds.
fn best_s(packed: &Packed, pool: &Pool, rows: usize, outputs: usize, columns: usize) -> f64 {
    let input = vec![0.5; rows * columns];
    let mut out = vec![0.0; rows * outputs];
    let (begun, mut best) = (Instant::now(), f64::INFINITY);
    while best.is_infinite() || begun.elapsed() < LOOK {
        let start = Instant::now();
        packed.multiply(pool, &input, rows, &mut out);
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
