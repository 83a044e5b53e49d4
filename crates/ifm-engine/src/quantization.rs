//! The variants of a model: how weights are stored and how products take activations.
//!
//! All variants can be made from the same floats, random ones or a checkpoint's,
//! so what they lose and what they gain can be compared. [`Variant`] makes them, matrix
//! by matrix.
//!
//! The kinds of GGUF (`q8_0`, ...) store all matrices alike. The kinds that are named by
//! bits of weights and activations (`w8a8`, ...) keep the embedding and the last layer in
//! 16-bit floats, as checkpoints of those kinds do.
//!
//! Not here: the encoders and the products (`ifm-kernels`), checkpoints that are
//! quantised already (`load`).

use std::{collections::HashMap, fmt, str::FromStr};

use ifm_kernels::{Activations, Format, Stored};

use crate::{
    load_error::LoadError,
    weights::{TensorName, Weight},
};

/// A variant that is made of floats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Quantization {
    /// 32-bit floats: 32 bits a weight, the reference.
    F32,
    /// 16-bit floats of IEEE 754: 16 bits a weight.
    F16,
    /// The upper halves of 32-bit floats: 16 bits a weight.
    BF16,
    /// Blocks of 32 signed bytes with one 16-bit scale: 8.5 bits a weight.
    Q8_0,
    /// Blocks of 32 four-bit values with one 16-bit scale: 4.5 bits a weight.
    Q4_0,
    /// Blocks of 256 four-bit values in eight groups with their own scales: 4.5
    /// bits a weight. Needs rows that are a multiple of 256 long.
    Q4K,
    /// Blocks of 256 six-bit values in 16 groups with their own scales: 6.5625 bits a
    /// weight. Needs rows that are a multiple of 256 long.
    Q6K,
    /// Signed bytes with a 32-bit scale for each row; activations stay floats.
    W8A16,
    /// The same weights; activations are rounded to signed bytes, with a scale for each
    /// token that is found while it runs.
    W8A8,
    /// The same weights; activations are rounded to signed bytes with one scale for all
    /// tokens, which a pass over random tokens found.
    W8A8Static,
    /// Four-bit values in groups of 128 with a 16-bit scale; activations stay floats.
    W4A16,
    /// The same with a zero point for each group.
    W4A16Asym,
}

/// What is said about a variant, and how it is asked for.
struct Row {
    quantization: Quantization,
    name: &'static str,
    aliases: &'static [&'static str],
    /// The text in parentheses in a label.
    what: &'static str,
    /// The format of matrices inside the layers.
    format: Format,
    /// How products take activations; `None` for what is usual for the format.
    activations: Option<Activations>,
    /// Whether the embedding and the last layer are stored so too.
    all_matrices: bool,
}

/// Columns that share a scale in the kinds of four bits.
const GROUP: usize = 128;
/// The same where rows are not a multiple of it.
const GROUP_SMALL: usize = 32;
/// The steps of a signed byte.
const STEPS: f32 = 127.0;

/// All variants, in the order of help texts.
static ROWS: [Row; 12] = {
    use Quantization as Q;
    const fn gguf(
        quantization: Q,
        name: &'static str,
        aliases: &'static [&'static str],
        format: Format,
        what: &'static str,
    ) -> Row {
        Row { quantization, name, aliases, what, format, activations: None, all_matrices: true }
    }
    const fn bits(
        quantization: Q,
        name: &'static str,
        aliases: &'static [&'static str],
        format: Format,
        activations: Option<Activations>,
        what: &'static str,
    ) -> Row {
        Row { quantization, name, aliases, what, format, activations, all_matrices: false }
    }
    let static8 = Some(Activations::Static8 { scale: 1.0 });
    [
        gguf(Q::Q8_0, "q8_0", &["q8", "int8"], Format::Q8_0, "int8 in blocks of 32"),
        gguf(Q::Q4K, "q4_k", &["q4k", "q4", "q4_k_m"], Format::Q4K, "int4 in groups of 32"),
        gguf(Q::Q4_0, "q4_0", &[], Format::Q4_0, "int4 in blocks of 32"),
        gguf(Q::Q6K, "q6_k", &["q6k", "q6"], Format::Q6K, "int6 in groups of 16"),
        gguf(Q::F16, "f16", &["fp16", "float16"], Format::F16, "16-bit floats"),
        gguf(Q::BF16, "bf16", &["bfloat16"], Format::BF16, "16-bit floats of 8-bit range"),
        gguf(Q::F32, "f32", &["fp32", "float32"], Format::F32, "32-bit floats"),
        bits(Q::W8A16, "w8a16", &[], Format::Int8, None, "int8 weights x floats"),
        bits(
            Q::W8A8,
            "w8a8",
            &["w8a8-dynamic"],
            Format::Int8,
            Some(Activations::Token8),
            "int8 x int8, dynamic per token",
        ),
        bits(
            Q::W8A8Static,
            "w8a8-static",
            &[],
            Format::Int8,
            static8,
            "int8 x int8, one scale for all tokens",
        ),
        bits(
            Q::W4A16,
            "w4a16",
            &["int4"],
            Format::Int4 { group: GROUP, zeros: false },
            None,
            "int4 weights in groups of 128 x floats",
        ),
        bits(
            Q::W4A16Asym,
            "w4a16-asym",
            &[],
            Format::Int4 { group: GROUP, zeros: true },
            None,
            "int4 weights in groups of 128 with zero points x floats",
        ),
    ]
};

impl Quantization {
    /// All of them, for help texts.
    pub fn all() -> impl Iterator<Item = Self> {
        ROWS.iter().map(|row| row.quantization)
    }

    /// The names of all of them, in words.
    pub fn names() -> String {
        let names: Vec<&str> = ROWS.iter().map(|row| row.name).collect();
        names.join(", ")
    }

    fn row(self) -> &'static Row {
        // Every variant has its row: a test looks.
        ROWS.iter().find(|row| row.quantization == self).unwrap_or(&ROWS[0])
    }

    /// The spelling that [`Quantization::from_str`] reads, such as `q8_0`.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// Name and meaning, for tables: `w8a8 (int8 x int8, dynamic per token)`.
    pub fn label(self) -> String {
        format!("{} ({})", self.name(), self.row().what)
    }

    /// The format of a matrix with rows of this length: as asked where the length is a
    /// multiple of the block, else the next finer one, as llama.cpp does it.
    pub(crate) fn format_for(self, name: TensorName, columns: usize) -> Format {
        let row = self.row();
        let is_inner = matches!(name, TensorName::Layer(..));
        let fits = |format: &Format| columns.is_multiple_of(format.block());
        let finer = match row.format {
            _ if !is_inner && !row.all_matrices => return Format::F16,
            Format::Int4 { zeros, .. } => {
                [row.format, Format::Int4 { group: GROUP_SMALL, zeros }, Format::Int8]
            }
            format => [format, Format::Q8_0, Format::F32],
        };
        finer.into_iter().find(fits).unwrap_or(Format::F32)
    }
}

/// Makes the matrices of a variant.
#[derive(Debug, Clone)]
pub(crate) struct Variant {
    pub(crate) quantization: Quantization,
    /// The largest size of what goes into a product, where it has been observed.
    peaks: Option<HashMap<TensorName, f32>>,
}

impl Variant {
    pub(crate) fn new(quantization: Quantization) -> Self {
        Self { quantization, peaks: None }
    }

    /// Whether what goes into products must be observed first. Until then activations
    /// are taken as floats.
    pub(crate) fn needs_peaks(&self) -> bool {
        let activations = self.quantization.row().activations;
        matches!(activations, Some(Activations::Static8 { .. })) && self.peaks.is_none()
    }

    /// Takes what was observed.
    pub(crate) fn set_peaks(&mut self, peaks: HashMap<TensorName, f32>) {
        self.peaks = Some(peaks);
    }

    /// Encodes a matrix.
    pub(crate) fn weight(
        &self,
        name: TensorName,
        rows: usize,
        columns: usize,
        floats: &[f32],
    ) -> Result<Weight, LoadError> {
        let format = self.quantization.format_for(name, columns);
        let stored = Stored::encode(format, rows, columns, floats)?;
        let mut weight = Weight::from(stored);
        if format == Format::Int8 {
            weight.activations = match (self.quantization.row().activations, &self.peaks) {
                (Some(Activations::Static8 { .. }), Some(peaks)) => {
                    let peak = peaks.get(&name).copied().unwrap_or(STEPS);
                    Activations::Static8 { scale: peak.max(f32::MIN_POSITIVE) / STEPS }
                }
                (Some(Activations::Token8), _) => Activations::Token8,
                _ => Activations::Float,
            };
        }
        Ok(weight)
    }
}

impl fmt::Display for Quantization {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// A name that is not a valid [`Quantization`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown variant: {name}; hint: use one of {}", Quantization::names())]
pub struct UnknownQuantization {
    /// What was given.
    pub name: String,
}

impl FromStr for Quantization {
    type Err = UnknownQuantization;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let lower = name.to_ascii_lowercase();
        let is_named = |row: &&Row| row.name == lower || row.aliases.contains(&lower.as_str());
        let row = ROWS.iter().find(is_named);
        row.map(|row| row.quantization).ok_or_else(|| UnknownQuantization { name: name.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::weights::LayerTensor;

    const DOWN: TensorName = TensorName::Layer(0, LayerTensor::Down);

    #[test]
    fn names_are_read_back_and_no_two_are_alike() {
        let mut words = Vec::new();
        for row in &ROWS {
            assert_eq!(row.name.parse(), Ok(row.quantization));
            assert_eq!(row.quantization.name(), row.name, "the row of another");
            words.push(row.name);
            words.extend(row.aliases);
        }
        let count = words.len();
        words.sort_unstable();
        words.dedup();
        assert_eq!(words.len(), count);
        let error = "int3".parse::<Quantization>().expect_err("no such format").to_string();
        assert!(error.contains("int3") && error.contains("w4a16-asym"), "{error}");
        let label = Quantization::W8A8.label();
        assert_eq!(label, "w8a8 (int8 x int8, dynamic per token)");
    }

    #[test]
    fn rows_that_no_block_fits_get_a_finer_format() {
        let of = |quantization: Quantization, columns| quantization.format_for(DOWN, columns);
        assert_eq!(of(Quantization::Q4K, 512), Format::Q4K);
        assert_eq!(of(Quantization::Q4K, 576), Format::Q8_0);
        assert_eq!(of(Quantization::Q8_0, 40), Format::F32);
        assert_eq!(of(Quantization::W4A16, 256), Format::Int4 { group: 128, zeros: false });
        assert_eq!(of(Quantization::W4A16Asym, 96), Format::Int4 { group: 32, zeros: true });
        assert_eq!(of(Quantization::W4A16, 40), Format::Int8);
    }

    #[test]
    fn the_embedding_of_kinds_of_checkpoints_stays_in_floats() {
        let of = |quantization: Quantization| quantization.format_for(TensorName::Embedding, 256);
        assert_eq!(of(Quantization::W8A8), Format::F16);
        assert_eq!(of(Quantization::Q4_0), Format::Q4_0);
    }
}
