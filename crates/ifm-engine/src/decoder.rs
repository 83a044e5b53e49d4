//! The decoder: one pass over a batch of rows, each with tokens of one sequence.
//!
//! Rows may be chunks of prompts and single tokens of answers, mixed: all their
//! tokens go through each matrix together, so decoding rides along with prompts at
//! little cost. Work that cannot be seen in any wanted logits (the last layer of
//! tokens inside a prompt, beyond their keys and values) is left out.
//!
//! The family is Llama's: RMS norms, rotary positions, grouped queries, SwiGLU, with
//! biases and norms of queries and keys where a model has them (Qwen 2 and 3).
//!
//! Not here: which rows go together (`scheduler`), sampling (`sample`).

use std::collections::HashMap;

use ifm_kernels::{Format, Isa, Stored, simd::arch_of};
use pulp::Arch;

use crate::{
    attention::{Span, attend},
    kv::{HeadPlace, KvCache},
    linear::{Linear, Matrix, Projected, Projection},
    load_error::LoadError,
    parallel::{Compute, Processor},
    peaks::Peaks,
    rope::Rotation,
    shape::ModelShape,
    simd::{Gate, Normalize, add},
    weights::{LayerTensor, TensorName, WeightSource},
};

/// What went wrong in a pass.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ComputeError {
    /// A row has no tokens, or more than its cache has room for.
    #[error("a row of {tokens} tokens after {seen} does not fit into {capacity}")]
    Row {
        /// Tokens of the row.
        tokens: usize,
        /// Tokens that the sequence has seen.
        seen: usize,
        /// Tokens that its cache and the model's context have room for.
        capacity: usize,
    },
    /// A token that the model does not have.
    #[error("token {token} is outside the vocabulary of {vocabulary}")]
    Token {
        /// The token.
        token: u32,
        /// Number of tokens of the model.
        vocabulary: usize,
    },
}

/// The next tokens of one sequence.
pub(crate) struct Row<'a> {
    /// What the sequence has seen; grows by the tokens of the row.
    pub(crate) cache: &'a mut KvCache,
    pub(crate) tokens: &'a [u32],
    /// Whether the logits after the last token are wanted.
    pub(crate) wants_logits: bool,
}

/// A model in memory.
#[derive(Debug)]
pub(crate) struct Decoder {
    shape: ModelShape,
    embedding: Stored,
    layers: Vec<Layer>,
    final_norm: Vec<f32>,
    head: Linear,
    rotation: Rotation,
    processor: Processor,
    arch: Arch,
    peaks: Option<Peaks>,
}

#[derive(Debug)]
struct Layer {
    attention_norm: Vec<f32>,
    /// Queries, keys, values.
    attention_input: Projection,
    query_norm: Option<Vec<f32>>,
    key_norm: Option<Vec<f32>>,
    attention_output: Linear,
    feed_forward_norm: Vec<f32>,
    /// Gate, up.
    feed_forward_input: Projection,
    feed_forward_output: Linear,
}

/// The parts of `attention_input`.
const QUERY: usize = 0;
const KEY: usize = 1;
const VALUE: usize = 2;
/// The parts of `feed_forward_input`.
const GATE: usize = 0;
const UP: usize = 1;

impl Layer {
    fn load(
        shape: &ModelShape,
        index: usize,
        source: &mut dyn WeightSource,
        processor: &Processor,
    ) -> Result<Self, LoadError> {
        let name = |tensor| TensorName::Layer(index, tensor);
        let width = shape.embedding;
        let (queries, keys) = (shape.heads * shape.head_width, shape.kv_heads * shape.head_width);
        let mut biased = |weight, bias, rows| -> Result<_, LoadError> {
            Ok((source.matrix(name(weight), rows, width)?, source.vector(name(bias), rows)?))
        };
        let attention_input = vec![
            biased(LayerTensor::Query, LayerTensor::QueryBias, queries)?,
            biased(LayerTensor::Key, LayerTensor::KeyBias, keys)?,
            biased(LayerTensor::Value, LayerTensor::ValueBias, keys)?,
        ];
        let feed_forward_input = vec![
            (source.matrix(name(LayerTensor::Gate), shape.feed_forward, width)?, None),
            (source.matrix(name(LayerTensor::Up), shape.feed_forward, width)?, None),
        ];
        let output = source.matrix(name(LayerTensor::AttentionOutput), width, queries)?;
        let down = source.matrix(name(LayerTensor::Down), width, shape.feed_forward)?;
        Ok(Self {
            attention_norm: source.required_vector(name(LayerTensor::AttentionNorm), width)?,
            attention_input: Projection::join(attention_input, processor)?,
            query_norm: source.vector(name(LayerTensor::QueryNorm), shape.head_width)?,
            key_norm: source.vector(name(LayerTensor::KeyNorm), shape.head_width)?,
            attention_output: Linear::new(output, None, processor)?,
            feed_forward_norm: source.required_vector(name(LayerTensor::FeedForwardNorm), width)?,
            feed_forward_input: Projection::join(feed_forward_input, processor)?,
            feed_forward_output: Linear::new(down, None, processor)?,
        })
    }
}

impl Decoder {
    /// Takes all tensors from a source. `shape.context_max` positions are prepared;
    /// `rope_divisors` slow pairs of the rotation down.
    pub(crate) fn load(
        shape: ModelShape,
        rope_divisors: &[f32],
        source: &mut dyn WeightSource,
        compute: Compute,
    ) -> Result<Self, LoadError> {
        shape.check().map_err(|reason| LoadError::Dimensions { reason })?;
        let processor = Processor::new(compute);
        let (rows, width) = (shape.vocabulary, shape.embedding);
        let embedding = source.matrix(TensorName::Embedding, rows, width)?;
        let head = if shape.tied_head {
            embedding.clone()
        } else {
            source.matrix(TensorName::Head, rows, width)?
        };
        let layers = (0..shape.layers)
            .map(|index| Layer::load(&shape, index, source, &processor))
            .collect::<Result<_, _>>()?;
        Ok(Self {
            embedding: embedding.stored,
            layers,
            final_norm: source.required_vector(TensorName::FinalNorm, width)?,
            head: Linear::new(head, None, &processor)?,
            rotation: Rotation::new(
                shape.head_width,
                shape.rope_base,
                rope_divisors,
                shape.context_max,
            ),
            arch: arch_of(compute.isa),
            peaks: None,
            processor,
            shape,
        })
    }

    /// From now on the sizes of what goes into products are looked at.
    pub(crate) fn start_observing(&mut self) {
        self.peaks = Some(Peaks::default());
    }

    /// The largest sizes since [`Decoder::start_observing`], by matrix.
    pub(crate) fn peaks(self) -> HashMap<TensorName, f32> {
        self.peaks.map(Peaks::into_inner).unwrap_or_default()
    }

    pub(crate) fn processor(&self) -> &Processor {
        &self.processor
    }

    pub(crate) fn shape(&self) -> &ModelShape {
        &self.shape
    }

    /// The instructions of this crate's own loops.
    pub(crate) fn arch(&self) -> Arch {
        self.arch
    }

    /// The instructions that are used.
    pub(crate) fn isa(&self) -> Isa {
        self.processor.isa
    }

    /// Threads that compute.
    pub(crate) fn threads(&self) -> usize {
        self.processor.pool.threads()
    }

    /// The format of most weights, and what their products compute with, in words.
    pub(crate) fn computed(&self) -> (Format, &'static str) {
        // The feed-forward layers hold most weights of every model of this family.
        self.layers
            .first()
            .map_or_else(|| self.head.computed(), |layer| layer.feed_forward_output.computed())
    }

    /// Runs all rows through the model once.
    ///
    /// Returns the logits after each row that needs them, in the order of the rows.
    /// Every cache must have room for the tokens of its row.
    pub(crate) fn step(&self, rows: &mut [Row<'_>]) -> Result<Matrix, ComputeError> {
        self.check_rows(rows)?;
        let batch = Batch::new(rows);
        let mut hidden = self.embed(rows);
        let Some((last, layers)) = self.layers.split_last() else {
            return Ok(Matrix::default());
        };
        for (index, layer) in layers.iter().enumerate() {
            let projected = self.project(layer, index, &hidden, &batch, rows);
            self.finish_layer(layer, index, &mut hidden, &batch.spans, &projected, rows);
        }
        // Past the keys and values of the last layer only wanted rows matter.
        let projected = self.project(last, layers.len(), &hidden, &batch, rows);
        let mut hidden = batch.pick_wanted(&hidden);
        if hidden.rows() > 0 {
            let spans = &batch.wanted_spans;
            self.finish_layer(last, layers.len(), &mut hidden, spans, &projected, rows);
        }
        for row in rows.iter_mut() {
            row.cache.advance(row.tokens.len());
        }
        if hidden.rows() == 0 {
            return Ok(Matrix::default());
        }
        let normed = self.normalize(&hidden, &self.final_norm);
        Ok(self.head.apply(&self.processor, &normed))
    }

    fn check_rows(&self, rows: &[Row<'_>]) -> Result<(), ComputeError> {
        for row in rows {
            let (tokens, seen) = (row.tokens.len(), row.cache.length());
            let capacity = row.cache.capacity().min(self.shape.context_max);
            if tokens == 0 || seen + tokens > capacity {
                return Err(ComputeError::Row { tokens, seen, capacity });
            }
            let vocabulary = self.shape.vocabulary;
            if let Some(&token) = row.tokens.iter().find(|&&token| token as usize >= vocabulary) {
                return Err(ComputeError::Token { token, vocabulary });
            }
        }
        Ok(())
    }

    fn embed(&self, rows: &[Row<'_>]) -> Matrix {
        let tokens = || rows.iter().flat_map(|row| row.tokens);
        let all: Vec<u32> = tokens().copied().collect();
        let mut out = Matrix::zeros(all.len(), self.shape.embedding);
        self.processor.pool.rows(&mut out.data, self.shape.embedding, |row, out| {
            self.embedding.decode_row(all[row] as usize, out);
        });
        out
    }

    fn normalize(&self, input: &Matrix, gain: &[f32]) -> Matrix {
        let mut out = Matrix::zeros(input.rows(), input.width);
        let epsilon = self.shape.norm_epsilon;
        self.processor.pool.rows(&mut out.data, input.width, |row, out| {
            self.arch.dispatch(Normalize { input: input.row(row), gain, epsilon, out });
        });
        out
    }

    /// Queries, keys and values of a layer; the latter two go into the caches.
    fn project<'a>(
        &self,
        layer: &'a Layer,
        index: usize,
        hidden: &Matrix,
        batch: &Batch,
        rows: &mut [Row<'_>],
    ) -> Projected<'a> {
        let normed = self.normalize(hidden, &layer.attention_norm);
        self.observe(index, &[LayerTensor::Query, LayerTensor::Key, LayerTensor::Value], &normed);
        let mut projected = layer.attention_input.apply(&self.processor, &normed);
        let places: Vec<HeadPlace> =
            (0..self.shape.kv_heads).map(|head| HeadPlace::new(&self.shape, index, head)).collect();
        for span in &batch.spans {
            let cache = &mut *rows[span.sequence].cache;
            for token in 0..span.tokens {
                let (row, position) = (span.query_row + token, span.position + token);
                let turned = [(QUERY, &layer.query_norm), (KEY, &layer.key_norm)];
                for (part, gain) in turned {
                    let heads = projected.row_mut(part, row);
                    if let Some(gain) = gain {
                        self.normalize_heads(heads, gain);
                    }
                    self.rotation.turn(heads, position);
                }
                let keys = projected.row(KEY, row).chunks_exact(self.shape.head_width);
                let values = projected.row(VALUE, row).chunks_exact(self.shape.head_width);
                for ((place, key), value) in places.iter().zip(keys).zip(values) {
                    cache.store(*place, position, key, value);
                }
            }
        }
        projected
    }

    fn normalize_heads(&self, heads: &mut [f32], gain: &[f32]) {
        let input = heads.to_vec();
        let epsilon = self.shape.norm_epsilon;
        self.arch.dispatch(Normalize { input: &input, gain, epsilon, out: heads });
    }

    /// Attention and feed-forward of a layer, for the tokens of the spans.
    fn finish_layer(
        &self,
        layer: &Layer,
        index: usize,
        hidden: &mut Matrix,
        spans: &[Span],
        projected: &Projected<'_>,
        rows: &mut [Row<'_>],
    ) {
        let processor = &self.processor;
        let caches: Vec<&mut KvCache> = rows.iter_mut().map(|row| &mut *row.cache).collect();
        let place = (self.arch, &processor.pool);
        let attended = attend(place, &self.shape, index, spans, &caches, projected);
        self.observe(index, &[LayerTensor::AttentionOutput], &attended);
        add(&mut hidden.data, &layer.attention_output.apply(processor, &attended).data);
        let normed = self.normalize(hidden, &layer.feed_forward_norm);
        self.observe(index, &[LayerTensor::Gate, LayerTensor::Up], &normed);
        let inner = layer.feed_forward_input.apply(processor, &normed);
        let mut gated = Matrix::zeros(hidden.rows(), self.shape.feed_forward);
        processor.pool.rows(&mut gated.data, self.shape.feed_forward, |row, out| {
            let (gate, up) = (inner.row(GATE, row), inner.row(UP, row));
            self.arch.dispatch(Gate { gate, up, out });
        });
        self.observe(index, &[LayerTensor::Down], &gated);
        add(&mut hidden.data, &layer.feed_forward_output.apply(processor, &gated).data);
    }

    /// Looks at what goes into matrices of a layer, if it is wanted.
    fn observe(&self, layer: usize, tensors: &[LayerTensor], input: &Matrix) {
        if let Some(peaks) = &self.peaks {
            peaks.see(layer, tensors, &input.data);
        }
    }
}

/// Where the tokens of the rows are in the matrices of a pass.
struct Batch {
    spans: Vec<Span>,
    /// The last token of each row that needs logits.
    wanted_spans: Vec<Span>,
}

impl Batch {
    fn new(rows: &[Row<'_>]) -> Self {
        let mut batch = Self { spans: Vec::with_capacity(rows.len()), wanted_spans: Vec::new() };
        let mut first_row = 0;
        for (sequence, row) in rows.iter().enumerate() {
            let (tokens, position) = (row.tokens.len(), row.cache.length());
            batch.spans.push(Span {
                sequence,
                query_row: first_row,
                out_row: first_row,
                tokens,
                position,
            });
            if row.wants_logits {
                batch.wanted_spans.push(Span {
                    sequence,
                    query_row: first_row + tokens - 1,
                    out_row: batch.wanted_spans.len(),
                    tokens: 1,
                    position: position + tokens - 1,
                });
            }
            first_row += tokens;
        }
        batch
    }

    fn pick_wanted(&self, hidden: &Matrix) -> Matrix {
        let rows = self.wanted_spans.iter().map(|span| hidden.row(span.query_row));
        let data: Vec<f32> = rows.flatten().copied().collect();
        Matrix { data: data.into(), width: hidden.width }
    }
}
