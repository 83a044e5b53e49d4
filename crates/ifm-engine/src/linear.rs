//! Matrix products of activations with stored weights.
//!
//! The products are candle's: `QTensor` picks the kernel by format and by what the
//! processor can do. Matrices that share an input, such as query, key and value,
//! are joined into one where their formats agree: the input is quantised once and
//! the work is split over threads once.
//!
//! Not here: everything between two products (`model`, `attention`).

use std::sync::Arc;

use candle_core::{
    CpuStorage, CustomOp1 as _, DType, Device, Layout, Storage, Tensor, WithDType as _,
    quantized::{GgmlDType, QTensor, k_quants::matmul},
};

use crate::{load_error::LoadError, weights::tensor_from_bytes};

/// Rows of activations up to which products with floats are taken as dot products:
/// the general product first rearranges the weights, which costs more than a few rows
/// need (tiny, decoding two at once: 520 tokens a second against 207).
const DOT_ROWS_MAX: usize = 12;

/// Rows of floats, each of the same width, one after another.
#[derive(Debug, Clone, Default)]
pub(crate) struct Matrix {
    pub(crate) data: Vec<f32>,
    pub(crate) width: usize,
}

impl Matrix {
    pub(crate) fn zeros(rows: usize, width: usize) -> Self {
        Self { data: vec![0.0; rows * width], width }
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
    weights: Weights,
    bias: Option<Vec<f32>>,
    inputs: usize,
    outputs: usize,
    stored: GgmlDType,
}

#[derive(Debug)]
enum Weights {
    /// Blocks, multiplied as they are.
    Blocks(Arc<QTensor>),
    /// Floats: `outputs` by `inputs`.
    Floats(Tensor),
}

impl Linear {
    /// Takes a matrix. Formats without a kernel of their own (16-bit floats) are
    /// widened to 32-bit floats here, once.
    pub(crate) fn new(tensor: Arc<QTensor>, bias: Option<Vec<f32>>) -> Result<Self, LoadError> {
        let (outputs, inputs) = tensor.shape().dims2()?;
        let stored = tensor.dtype();
        let weights = match stored {
            GgmlDType::F32 | GgmlDType::F16 | GgmlDType::BF16 => {
                let floats = tensor.dequantize(&Device::Cpu)?.to_dtype(DType::F32)?;
                Weights::Floats(floats)
            }
            _ => Weights::Blocks(tensor),
        };
        Ok(Self { weights, bias, inputs, outputs, stored })
    }

    /// The format of the weights as stored, and whether products run on its blocks.
    pub(crate) fn dtypes(&self) -> (GgmlDType, bool) {
        (self.stored, matches!(self.weights, Weights::Blocks(_)))
    }

    /// Multiplies each row of `input`; gives rows of `outputs`.
    pub(crate) fn apply(&self, input: &Input) -> Result<Matrix, candle_core::Error> {
        let mut data = match &self.weights {
            Weights::Blocks(tensor) => {
                let layout = Layout::contiguous((input.rows, self.inputs));
                let (storage, _) = tensor.cpu_fwd(&input.storage, &layout)?;
                f32::cpu_storage_data(storage)?
            }
            Weights::Floats(tensor) => self.multiply_floats(tensor, input)?,
        };
        if let Some(bias) = &self.bias {
            for row in data.chunks_exact_mut(self.outputs) {
                row.iter_mut().zip(bias).for_each(|(value, bias)| *value += bias);
            }
        }
        Ok(Matrix { data, width: self.outputs })
    }

    fn multiply_floats(
        &self,
        weights: &Tensor,
        input: &Input,
    ) -> Result<Vec<f32>, candle_core::Error> {
        let rows = input.storage.as_slice::<f32>()?;
        let (storage, _) = weights.storage_and_layout();
        match &*storage {
            Storage::Cpu(weights) if input.rows <= DOT_ROWS_MAX => {
                let mut data = vec![0.0; input.rows * self.outputs];
                let sizes = (input.rows, self.inputs, self.outputs);
                matmul(sizes, rows, weights.as_slice::<f32>()?, &mut data)?;
                Ok(data)
            }
            _ => {
                let rows = Tensor::from_slice(rows, (input.rows, self.inputs), &Device::Cpu)?;
                rows.matmul(&weights.t()?)?.flatten_all()?.to_vec1()
            }
        }
    }
}

/// Rows that several products share, in the form that candle takes.
pub(crate) struct Input {
    storage: CpuStorage,
    rows: usize,
}

impl From<Matrix> for Input {
    fn from(matrix: Matrix) -> Self {
        Self { rows: matrix.rows(), storage: CpuStorage::F32(matrix.data) }
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
    /// Joins matrices with the same number of columns, where their formats agree.
    pub(crate) fn join(matrices: Vec<(QTensor, Option<Vec<f32>>)>) -> Result<Self, LoadError> {
        let dtypes = matrices.iter().map(|(tensor, _)| tensor.dtype()).collect::<Vec<_>>();
        let joinable = dtypes.windows(2).all(|pair| pair[0] == pair[1]);
        let mut parts = Vec::with_capacity(matrices.len());
        let mut start = 0;
        for (index, (tensor, _)) in matrices.iter().enumerate() {
            let (rows, _) = tensor.shape().dims2()?;
            let (linear, from) = if joinable { (0, start) } else { (index, 0) };
            parts.push(Part { linear, start: from, width: rows });
            start += rows;
        }
        let linears = if joinable {
            vec![join_linears(&matrices, start)?]
        } else {
            matrices
                .into_iter()
                .map(|(tensor, bias)| Linear::new(Arc::new(tensor), bias))
                .collect::<Result<_, _>>()?
        };
        Ok(Self { linears, parts })
    }

    pub(crate) fn apply(&self, input: &Input) -> Result<Projected<'_>, candle_core::Error> {
        let matrices =
            self.linears.iter().map(|linear| linear.apply(input)).collect::<Result<_, _>>()?;
        Ok(Projected { matrices, parts: &self.parts })
    }
}

fn join_linears(
    matrices: &[(QTensor, Option<Vec<f32>>)],
    rows: usize,
) -> Result<Linear, LoadError> {
    let Some((first, _)) = matrices.first() else {
        return Err(LoadError::Unsupported { what: "a projection without matrices".to_owned() });
    };
    let (dtype, columns) = (first.dtype(), first.shape().dims2()?.1);
    let mut bytes = Vec::new();
    let mut biases = Vec::with_capacity(rows);
    for (tensor, bias) in matrices {
        bytes.extend_from_slice(&tensor.data()?);
        let (tensor_rows, _) = tensor.shape().dims2()?;
        match bias {
            Some(bias) => biases.extend_from_slice(bias),
            None => biases.resize(biases.len() + tensor_rows, 0.0),
        }
    }
    let has_bias = matrices.iter().any(|(_, bias)| bias.is_some());
    let tensor = tensor_from_bytes(bytes, dtype, rows, columns)?;
    Linear::new(Arc::new(tensor), has_bias.then_some(biases))
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
