//! Matrix products of activations with stored weights.
//!
//! `ifm-kernels` computes the products. Matrices that share an input, such as query,
//! key and value, are joined into one where their formats agree: the input is rounded
//! once and the work is split over threads once.
//!
//! Not here: everything between two products (`decoder`, `attention`).

use ifm_kernels::{Format, Kept, Packed, Stored};

use crate::{load_error::LoadError, parallel::Processor, weights::Weight};

/// Rows of floats, each of the same width, one after another.
#[derive(Debug, Clone, Default)]
pub(crate) struct Matrix {
    pub(crate) data: Kept<f32>,
    pub(crate) width: usize,
}

impl Matrix {
    pub(crate) fn zeros(rows: usize, width: usize) -> Self {
        Self { data: Kept::zeros(rows * width), width }
    }

    pub(crate) fn row(&self, row: usize) -> &[f32] {
        &self.data[row * self.width..][..self.width]
    }

    pub(crate) fn rows(&self) -> usize {
        self.data.len() / self.width.max(1)
    }
}

/// Weights of `outputs` rows by `inputs` columns, and what is added to the product.
#[derive(Debug)]
pub(crate) struct Linear {
    weights: Packed,
    bias: Option<Vec<f32>>,
    outputs: usize,
    stored: Format,
}

impl Linear {
    /// Takes a matrix and arranges it for the processor.
    pub(crate) fn new(
        weight: Weight,
        bias: Option<Vec<f32>>,
        processor: &Processor,
    ) -> Result<Self, LoadError> {
        let Weight { stored, activations } = weight;
        let (outputs, format) = (stored.rows(), stored.format());
        let weights = Packed::new(stored, activations, processor.isa)?;
        Ok(Self { weights, bias, outputs, stored: format })
    }

    /// The format of the weights as stored, and what products compute with, in words.
    pub(crate) fn computed(&self) -> (Format, &'static str) {
        (self.stored, self.weights.computed())
    }

    /// Multiplies each row of `input`; gives rows of `outputs`.
    pub(crate) fn apply(&self, processor: &Processor, input: &Matrix) -> Matrix {
        let mut out = Matrix::zeros(input.rows(), self.outputs);
        self.weights.multiply(&processor.pool, &input.data, input.rows(), &mut out.data);
        if let Some(bias) = &self.bias {
            for row in out.data.chunks_exact_mut(self.outputs) {
                row.iter_mut().zip(bias).for_each(|(value, bias)| *value += bias);
            }
        }
        out
    }
}

/// Several matrices over the same input.
#[derive(Debug)]
pub(crate) struct Projection {
    /// One when joined, else one for each part.
    linears: Vec<Linear>,
    /// Where part `i` is: which linear, from which column, how many columns.
    parts: Vec<Part>,
}

#[derive(Debug, Clone, Copy)]
struct Part {
    linear: usize,
    start: usize,
    width: usize,
}

impl Projection {
    /// Joins matrices with the same number of columns, where they are computed alike.
    pub(crate) fn join(
        matrices: Vec<(Weight, Option<Vec<f32>>)>,
        processor: &Processor,
    ) -> Result<Self, LoadError> {
        let kind = |weight: &Weight| (weight.stored.format(), weight.activations);
        let joinable = matrices.windows(2).all(|pair| kind(&pair[0].0) == kind(&pair[1].0));
        let mut parts = Vec::with_capacity(matrices.len());
        let mut start = 0;
        for (index, (weight, _)) in matrices.iter().enumerate() {
            let width = weight.stored.rows();
            let (linear, from) = if joinable { (0, start) } else { (index, 0) };
            parts.push(Part { linear, start: from, width });
            start += width;
        }
        let matrices = if joinable { vec![join_weights(matrices)?] } else { matrices };
        let linears = matrices
            .into_iter()
            .map(|(weight, bias)| Linear::new(weight, bias, processor))
            .collect::<Result<_, _>>()?;
        Ok(Self { linears, parts })
    }

    pub(crate) fn apply(&self, processor: &Processor, input: &Matrix) -> Projected<'_> {
        let matrices = self.linears.iter().map(|linear| linear.apply(processor, input)).collect();
        Projected { matrices, parts: &self.parts }
    }
}

fn join_weights(
    matrices: Vec<(Weight, Option<Vec<f32>>)>,
) -> Result<(Weight, Option<Vec<f32>>), LoadError> {
    let Some((first, _)) = matrices.first() else {
        return Err(LoadError::Unsupported { what: "a projection without matrices".to_owned() });
    };
    let activations = first.activations;
    let has_bias = matrices.iter().any(|(_, bias)| bias.is_some());
    let mut biases = Vec::new();
    let mut stored = Vec::with_capacity(matrices.len());
    for (weight, bias) in matrices {
        let rows = weight.stored.rows();
        biases.extend(bias.unwrap_or_else(|| vec![0.0; rows]));
        stored.push(weight.stored);
    }
    let stored = Stored::join(&stored)?;
    Ok((Weight { stored, activations }, has_bias.then_some(biases)))
}

/// What a [`Projection`] gave: the parts of each row.
pub(crate) struct Projected<'a> {
    matrices: Vec<Matrix>,
    parts: &'a [Part],
}

impl Projected<'_> {
    /// The columns of one part in one row.
    pub(crate) fn row(&self, part: usize, row: usize) -> &[f32] {
        let Part { linear, start, width } = self.parts[part];
        let matrix = &self.matrices[linear];
        &matrix.data[row * matrix.width + start..][..width]
    }

    /// As [`Projected::row`], to be changed in place.
    pub(crate) fn row_mut(&mut self, part: usize, row: usize) -> &mut [f32] {
        let Part { linear, start, width } = self.parts[part];
        let matrix = &mut self.matrices[linear];
        &mut matrix.data[row * matrix.width + start..][..width]
    }
}
