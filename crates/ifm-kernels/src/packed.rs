//! Matrices arranged for products, and the table of what is computed how.

use std::fmt;

use crate::{Activations, Isa, Pool, Stored};

/// A matrix that is ready for products.
#[derive(Debug)]
pub struct Packed {
    stored: Stored,
}

/// A matrix that has no product.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackError {
    /// Why.
    pub reason: String,
}

impl fmt::Display for PackError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.reason)
    }
}

impl std::error::Error for PackError {}

impl Packed {
    /// Arranges a matrix for the machine, once.
    ///
    /// # Errors
    /// [`PackError`] when the processor lacks the instructions.
    pub fn new(stored: Stored, _activations: Activations, isa: Isa) -> Result<Self, PackError> {
        if !isa.is_here() {
            return Err(PackError { reason: format!("this processor has no {isa}") });
        }
        Ok(Self { stored })
    }

    /// What is multiplied: activations, then weights.
    pub fn computed(&self) -> &'static str {
        "f32 x f32"
    }

    /// `out[t][o] = sum over i of input[t][i] * weight[o][i]`, for `rows` rows `t` of
    /// `input` (row-major, as many columns as the matrix).
    ///
    /// # Panics
    /// When a slice has another length.
    pub fn multiply(&self, _pool: &Pool, input: &[f32], rows: usize, out: &mut [f32]) {
        let (outputs, columns) = (self.stored.rows(), self.stored.columns());
        assert_eq!(input.len(), rows * columns);
        assert_eq!(out.len(), rows * outputs);
        let mut weights = vec![0.0; columns];
        for output in 0..outputs {
            self.stored.decode_row(output, &mut weights);
            for (row, input) in input.chunks_exact(columns).enumerate() {
                let products = weights.iter().zip(input).map(|(weight, value)| weight * value);
                out[row * outputs + output] = products.sum();
            }
        }
    }
}
