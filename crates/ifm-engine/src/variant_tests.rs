//! The variants against each other: all are made of the same floats, so what each loses is
//! known from its own steps.

use ifm_kernels::{Format, RandomStream, Stored};

use crate::{
    decoder::{Decoder, Row},
    kv::{KvCache, KvPool},
    kv_format::KvFormat,
    load::Prepared,
    load_error::LoadError,
    parallel::Compute,
    quantization::Quantization,
    random::RandomWeights,
    sample::most_likely,
    shape::Preset,
    weights::{TensorName, Weight, WeightSource, matrices},
};

const SEED: u64 = 3;

/// A variant's values in 32-bit floats.
struct Widened(RandomWeights);

impl WeightSource for Widened {
    fn format(&self, _: TensorName, _: usize, _: usize) -> Result<Format, LoadError> {
        Ok(Format::F32)
    }

    fn matrix(
        &mut self,
        name: TensorName,
        rows: usize,
        columns: usize,
    ) -> Result<Weight, LoadError> {
        let stored = self.0.matrix(name, rows, columns)?.stored;
        Ok(Stored::encode(Format::F32, rows, columns, &decode(&stored))?.into())
    }

    fn vector(&mut self, name: TensorName, length: usize) -> Result<Option<Vec<f32>>, LoadError> {
        self.0.vector(name, length)
    }
}

fn decode(stored: &Stored) -> Vec<f32> {
    let mut floats = vec![0.0; stored.rows() * stored.columns()];
    for (row, floats) in floats.chunks_exact_mut(stored.columns()).enumerate() {
        stored.decode_row(row, floats);
    }
    floats
}

fn random(quantization: Quantization) -> RandomWeights {
    RandomWeights::new(&Preset::Nano.shape(), quantization, SEED)
}

/// The tokens of a greedy answer, with the logits that each was taken from.
fn greedy(source: &mut dyn WeightSource, count: usize) -> (Vec<u32>, Vec<f32>) {
    let decoder = Decoder::load(Preset::Nano.shape(), &[], source, Compute::default());
    let decoder = decoder.expect("loads");
    let mut pool = KvPool::new(decoder.shape(), 256);
    let mut cache = KvCache::default();
    let mut next = vec![17, 4000, 8000];
    let (mut answer, mut logits) = (Vec::new(), Vec::new());
    while answer.len() < count {
        pool.extend(&mut cache, next.len()).expect("room");
        let row = Row { cache: &mut cache, tokens: &next, wants_logits: true };
        let found = decoder.step(&mut [row]).expect("a step").data;
        next = vec![most_likely(&found)];
        answer.push(next[0]);
        logits.extend_from_slice(&found);
    }
    (answer, logits)
}

#[test]
fn weights_of_16_bits_answer_as_the_same_values_in_32() {
    for quantization in [Quantization::F16, Quantization::BF16] {
        let (got, logits) = greedy(&mut random(quantization), 64);
        let (expected, reference) = greedy(&mut Widened(random(quantization)), 64);
        assert_eq!(got, expected, "{quantization}");
        // The order of a sum is all that may differ.
        let drift = drift(&logits, &reference);
        assert!(drift < 1e-5, "{quantization}: {drift}");
    }
}

/// Logits after each of four random texts of 24 tokens.
fn logits(quantization: Quantization, kv: KvFormat) -> Vec<f32> {
    let mut prepared = Prepared::preset(Preset::Nano, quantization, SEED, Some(64)).expect("known");
    prepared.shape.kv = kv;
    let decoder = prepared.load(Compute::default()).expect("loads");
    let mut stream = RandomStream::new(1, "texts");
    let mut logits = Vec::new();
    for _ in 0..4 {
        let tokens: Vec<u32> = (0..24).map(|_| (stream.next_word() % 8192) as u32).collect();
        let mut cache = KvCache::default();
        KvPool::new(decoder.shape(), 24).extend(&mut cache, 24).expect("room");
        let row = Row { cache: &mut cache, tokens: &tokens, wants_logits: true };
        logits.extend_from_slice(&decoder.step(&mut [row]).expect("a step").data);
    }
    logits
}

/// The root mean square of a difference, over that of the reference.
fn drift(got: &[f32], reference: &[f32]) -> f64 {
    let square = |x: f32| f64::from(x) * f64::from(x);
    let lost: f64 = got.iter().zip(reference).map(|(a, b)| square(a - b)).sum();
    (lost / reference.iter().map(|x| square(*x)).sum::<f64>()).sqrt()
}

#[test]
fn what_a_variant_loses_follows_from_its_steps() {
    // What is rounded to steps is off by step / sqrt(12) on average. The weights are
    // uniform: over their root mean square that is 1 / levels (a float has 2 / sqrt(12)
    // of its last bit at most, here half of that), less where groups are small.
    // Activations are near to normal: a step is their largest size over 127, in a block
    // of 32 about 2.1 of their root mean square, over a row about 3, over 128 rows of
    // products of two of them about 9.
    let activations = |peak: f64| peak / 127.0 / 12_f64.sqrt();
    let (blocks, rows, all) = (activations(2.1), activations(3.0), activations(9.0));
    let steps = [
        (Quantization::Q8_0, 1.0 / 254.0, blocks),
        (Quantization::Q4K, 0.85 / 15.0, blocks),
        (Quantization::Q4_0, 1.0 / 16.0, blocks),
        (Quantization::Q6K, 0.85 / 64.0, blocks),
        (Quantization::F16, 1.0 / 6000.0, 0.0),
        (Quantization::BF16, 1.0 / 750.0, 0.0),
        (Quantization::F32, 0.0, 0.0),
        (Quantization::W8A16, 1.0 / 254.0, 0.0),
        (Quantization::W8A8, 1.0 / 254.0, rows),
        (Quantization::W8A8Static, 1.0 / 254.0, all),
        (Quantization::W4A16, 1.0 / 15.0, 0.0),
        (Quantization::W4A16Asym, 1.0 / 15.0, 0.0),
    ];
    assert!(Quantization::all().eq(steps.map(|(quantization, ..)| quantization)));
    let reference = logits(Quantization::F32, KvFormat::F32);
    for (quantization, weights, activations) in steps {
        let drift = drift(&logits(quantization, KvFormat::F32), &reference);
        let step = f64::hypot(weights, activations);
        // Some twelve matrices one after another add up to about four times what one
        // loses. Less than twice would be floats where integers were meant, more than
        // six times a scale that is wrong.
        let range = 2.0 * step..=6.0 * step;
        assert!(range.contains(&drift), "{quantization}: {drift:.5} is not in {range:?}");
    }
}

#[test]
fn keys_and_values_of_16_bits_lose_what_their_rounding_loses() {
    let kept = |kv| logits(Quantization::F32, kv);
    let drift = drift(&kept(KvFormat::F16), &kept(KvFormat::F32));
    // Half of the last of eleven bits at most: none would be floats where halves were meant.
    assert!((2e-5..1e-3).contains(&drift), "{drift}");
}

#[test]
fn a_variant_takes_the_bytes_of_its_format() {
    let shape = Preset::Nano.shape();
    let embedding = 8192 * 256_u64;
    let inner = shape.parameters() - embedding - 5 * 256;
    // Bits of a weight in the layers and in the embedding. Rows are 256 long: a 32-bit
    // scale for each is 1/8 of a bit, one of 16 bits for 128 weights too.
    let bits = [
        (Quantization::Q8_0, 8.5, 8.5),
        (Quantization::Q4K, 4.5, 4.5),
        (Quantization::Q4_0, 4.5, 4.5),
        (Quantization::Q6K, 6.5625, 6.5625),
        (Quantization::F16, 16.0, 16.0),
        (Quantization::BF16, 16.0, 16.0),
        (Quantization::F32, 32.0, 32.0),
        (Quantization::W8A16, 8.125, 16.0),
        (Quantization::W8A8, 8.125, 16.0),
        (Quantization::W8A8Static, 8.125, 16.0),
        (Quantization::W4A16, 4.125, 16.0),
        (Quantization::W4A16Asym, 4.1875, 16.0),
    ];
    assert!(Quantization::all().eq(bits.map(|(quantization, ..)| quantization)));
    for (quantization, layers, table) in bits {
        let expected = (inner as f64 * layers + embedding as f64 * table) / 8.0;
        let prepared = Prepared::preset(Preset::Nano, quantization, SEED, None).expect("known");
        assert_eq!(prepared.stored_bytes().expect("known").0 as f64, expected, "{quantization}");
        let mut weights = random(quantization);
        let made: usize = matrices(&shape)
            .into_iter()
            .map(|(name, rows, columns)| {
                weights.matrix(name, rows, columns).expect("made").stored.bytes().len()
            })
            .sum();
        assert_eq!(made as f64, expected, "{quantization}");
    }
}
