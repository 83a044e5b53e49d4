//! The decoder against a plain one: loops over floats, one token after another, no
//! cache layout, no tiles, no batches.

use std::{collections::HashMap, rc::Rc};

use ifm_kernels::{Format, RandomStream};

use crate::{
    decoder::{Decoder, Row},
    kv::{KvCache, KvPool},
    linear::Matrix,
    load_error::LoadError,
    parallel::Compute,
    quantization::Quantization,
    random::RandomWeights,
    sample::most_likely,
    shape::{ModelShape, Preset},
    weights::{LayerTensor, TensorName, Weight, WeightSource},
};

/// A prompt that crosses two borders of tiles.
fn prompt(length: usize) -> Vec<u32> {
    (0..length).map(|index| (index * 7919 % 8192) as u32).collect()
}

fn load(source: &mut dyn WeightSource) -> Decoder {
    Decoder::load(Preset::Nano.shape(), &[], source, Compute::default()).expect("loads")
}

fn nano(quantization: Quantization) -> Decoder {
    let shape = Preset::Nano.shape();
    load(&mut RandomWeights::new(&shape, quantization, 5))
}

fn run(decoder: &Decoder, pool: &mut KvPool, cache: &mut KvCache, tokens: &[u32]) -> Matrix {
    pool.extend(cache, tokens.len()).expect("room");
    decoder.step(&mut [Row { cache, tokens, wants_logits: true }]).expect("step")
}

/// Logits after the whole prompt in one pass.
fn logits_of(decoder: &Decoder, tokens: &[u32]) -> Vec<f32> {
    let mut pool = KvPool::new(decoder.shape(), tokens.len());
    run(decoder, &mut pool, &mut KvCache::default(), tokens).data.to_vec()
}

fn assert_close(got: &[f32], expected: &[f32], tolerance: f32) {
    assert_eq!(got.len(), expected.len());
    for (index, (got, expected)) in got.iter().zip(expected).enumerate() {
        assert!((got - expected).abs() < tolerance, "{index}: {got} instead of {expected}");
    }
}

/// Random weights with the biases of Qwen 2 and the norms of Qwen 3.
struct Extended(RandomWeights);

impl WeightSource for Extended {
    fn format(&self, name: TensorName, rows: usize, columns: usize) -> Result<Format, LoadError> {
        self.0.format(name, rows, columns)
    }

    fn matrix(
        &mut self,
        name: TensorName,
        rows: usize,
        columns: usize,
    ) -> Result<Weight, LoadError> {
        self.0.matrix(name, rows, columns)
    }

    fn vector(&mut self, name: TensorName, length: usize) -> Result<Option<Vec<f32>>, LoadError> {
        let mut stream = RandomStream::new(9, &name.hugging_face());
        Ok(Some((0..length).map(|_| stream.next_unit() + 0.5).collect()))
    }
}

/// The plain decoder.
struct Plain {
    shape: ModelShape,
    weights: Box<dyn WeightSource>,
    /// Matrices that have been asked for.
    made: HashMap<TensorName, Rc<[f32]>>,
    /// For each layer the keys and values of each token, all heads.
    seen: Vec<Vec<(Vec<f32>, Vec<f32>)>>,
}

impl Plain {
    fn matrix(&mut self, name: TensorName, rows: usize, columns: usize) -> Rc<[f32]> {
        let Self { weights, made, .. } = self;
        let make = || {
            let stored = weights.matrix(name, rows, columns).expect("made").stored;
            let mut floats = vec![0.0; rows * columns];
            for (row, floats) in floats.chunks_exact_mut(columns).enumerate() {
                stored.decode_row(row, floats);
            }
            floats.into()
        };
        Rc::clone(made.entry(name).or_insert_with(make))
    }

    fn product(&mut self, name: TensorName, input: &[f32], rows: usize) -> Vec<f32> {
        let weights = self.matrix(name, rows, input.len());
        weights
            .chunks(input.len())
            .map(|row| row.iter().zip(input).map(|(w, x)| w * x).sum())
            .collect()
    }

    fn vector(&mut self, name: TensorName, length: usize) -> Option<Vec<f32>> {
        self.weights.vector(name, length).expect("made")
    }

    fn normalize(&mut self, name: TensorName, input: &[f32]) -> Vec<f32> {
        let gain = self.vector(name, input.len()).unwrap_or(vec![1.0; input.len()]);
        let square = input.iter().map(|x| x * x).sum::<f32>() / input.len() as f32;
        let factor = (square + self.shape.norm_epsilon).sqrt();
        input.iter().zip(gain).map(|(x, gain)| x / factor * gain).collect()
    }

    /// Queries or keys: product, bias, norm of each head where there is one, rotation.
    fn heads(
        &mut self,
        layer: usize,
        [weights, bias, norm]: [LayerTensor; 3],
        input: &[f32],
        rows: usize,
        position: usize,
    ) -> Vec<f32> {
        let name = |tensor| TensorName::Layer(layer, tensor);
        let mut heads = self.product(name(weights), input, rows);
        if let Some(bias) = self.vector(name(bias), rows) {
            heads.iter_mut().zip(bias).for_each(|(head, bias)| *head += bias);
        }
        let width = self.shape.head_width;
        if self.vector(name(norm), width).is_some() {
            let normed: Vec<Vec<f32>> =
                heads.chunks(width).map(|head| self.normalize(name(norm), head)).collect();
            heads = normed.concat();
        }
        self.turn(&mut heads, position);
        heads
    }

    fn turn(&self, heads: &mut [f32], position: usize) {
        let width = self.shape.head_width;
        for head in heads.chunks_mut(width) {
            for pair in 0..width / 2 {
                let exponent = -2.0 * pair as f32 / width as f32;
                let angle = position as f32 * self.shape.rope_base.powf(exponent);
                let (x, y) = (head[pair], head[pair + width / 2]);
                head[pair] = x * angle.cos() - y * angle.sin();
                head[pair + width / 2] = y * angle.cos() + x * angle.sin();
            }
        }
    }

    fn attend(&self, layer: usize, queries: &[f32]) -> Vec<f32> {
        let (width, group) = (self.shape.head_width, self.shape.group());
        let mut out = vec![0.0; queries.len()];
        for (head, query) in queries.chunks(width).enumerate() {
            let start = head / group * width;
            let scores: Vec<f32> = self.seen[layer]
                .iter()
                .map(|(key, _)| {
                    let key = &key[start..][..width];
                    query.iter().zip(key).map(|(q, k)| q * k).sum::<f32>() / (width as f32).sqrt()
                })
                .collect();
            let top = scores.iter().copied().fold(f32::MIN, f32::max);
            let total: f32 = scores.iter().map(|score| (score - top).exp()).sum();
            for (score, (_, value)) in scores.iter().zip(&self.seen[layer]) {
                let weight = (score - top).exp() / total;
                for (index, value) in value[start..][..width].iter().enumerate() {
                    out[head * width + index] += weight * value;
                }
            }
        }
        out
    }

    fn logits(&mut self, token: u32, position: usize) -> Vec<f32> {
        let ModelShape { embedding: width, layers, vocabulary, feed_forward, .. } = self.shape;
        let queries = self.shape.heads * self.shape.head_width;
        let keys = self.shape.kv_heads * self.shape.head_width;
        let table = self.matrix(TensorName::Embedding, vocabulary, width);
        let mut hidden = table[token as usize * width..][..width].to_vec();
        for layer in 0..layers {
            let name = |tensor| TensorName::Layer(layer, tensor);
            let normed = self.normalize(name(LayerTensor::AttentionNorm), &hidden);
            let tensors = [LayerTensor::Query, LayerTensor::QueryBias, LayerTensor::QueryNorm];
            let query = self.heads(layer, tensors, &normed, queries, position);
            let tensors = [LayerTensor::Key, LayerTensor::KeyBias, LayerTensor::KeyNorm];
            let key = self.heads(layer, tensors, &normed, keys, position);
            let mut value = self.product(name(LayerTensor::Value), &normed, keys);
            if let Some(bias) = self.vector(name(LayerTensor::ValueBias), keys) {
                value.iter_mut().zip(bias).for_each(|(value, bias)| *value += bias);
            }
            self.seen[layer].push((key, value));
            let attended = self.attend(layer, &query);
            let out = self.product(name(LayerTensor::AttentionOutput), &attended, width);
            hidden.iter_mut().zip(out).for_each(|(hidden, out)| *hidden += out);
            let normed = self.normalize(name(LayerTensor::FeedForwardNorm), &hidden);
            let gate = self.product(name(LayerTensor::Gate), &normed, feed_forward);
            let up = self.product(name(LayerTensor::Up), &normed, feed_forward);
            let gated: Vec<f32> =
                gate.iter().zip(up).map(|(gate, up)| gate / (1.0 + (-gate).exp()) * up).collect();
            let out = self.product(name(LayerTensor::Down), &gated, width);
            hidden.iter_mut().zip(out).for_each(|(hidden, out)| *hidden += out);
        }
        let normed = self.normalize(TensorName::FinalNorm, &hidden);
        self.product(TensorName::Embedding, &normed, vocabulary)
    }
}

/// Checks the decoder after two and after five tokens.
fn assert_as_plain(
    mut source: Box<dyn WeightSource>,
    weights: Box<dyn WeightSource>,
    tolerance: f32,
) {
    let shape = Preset::Nano.shape();
    let seen = vec![Vec::new(); shape.layers];
    let mut plain = Plain { shape, weights, made: HashMap::new(), seen };
    let tokens = prompt(5);
    let expected: Vec<Vec<f32>> =
        (0..5).map(|position| plain.logits(tokens[position], position)).collect();
    let decoder = load(source.as_mut());
    assert_close(&logits_of(&decoder, &tokens), &expected[4], tolerance);
    assert_close(&logits_of(&decoder, &tokens[..2]), &expected[1], tolerance);
    let square = expected[4].iter().map(|x| x * x).sum::<f32>() / 8192.0;
    assert!((2.0..6.0).contains(&square.sqrt()), "the spread of the logits: {square}");
}

#[test]
fn logits_are_those_of_the_plain_decoder() {
    let shape = Preset::Nano.shape();
    for quantization in Quantization::all() {
        // Products with blocks round their activations to eight bits.
        let rounds = !matches!(
            quantization,
            Quantization::F32
                | Quantization::F16
                | Quantization::BF16
                | Quantization::W8A16
                | Quantization::W4A16
                | Quantization::W4A16Asym
                // Without peaks, activations stay floats.
                | Quantization::W8A8Static
        );
        let tolerance = if rounds { 0.5 } else { 0.01 };
        let weights = || Box::new(RandomWeights::new(&shape, quantization, 5));
        assert_as_plain(weights(), weights(), tolerance);
    }
}

#[test]
fn biases_and_norms_of_heads_count_where_they_exist() {
    let shape = Preset::Nano.shape();
    let weights = || Box::new(Extended(RandomWeights::new(&shape, Quantization::F32, 5)));
    assert_as_plain(weights(), weights(), 0.01);
}

#[test]
fn chunks_of_a_prompt_change_nothing() {
    let kinds = [Quantization::Q8_0, Quantization::Q4K, Quantization::F32, Quantization::W8A8];
    for quantization in kinds {
        let decoder = nano(quantization);
        let tokens = prompt(150);
        let whole = logits_of(&decoder, &tokens);
        let mut pool = KvPool::new(decoder.shape(), tokens.len());
        let mut cache = KvCache::default();
        let mut last = Matrix::default();
        for chunk in tokens.chunks(47) {
            last = run(&decoder, &mut pool, &mut cache, chunk);
        }
        assert_close(&last.data, &whole, 1e-2);
        assert_eq!(most_likely(&last.data), most_likely(&whole));
        assert_eq!(cache.length(), 150);
    }
}

#[test]
fn company_in_the_batch_changes_nothing() {
    let decoder = nano(Quantization::Q8_0);
    let tokens = prompt(70);
    let alone = logits_of(&decoder, &tokens);
    let mut pool = KvPool::new(decoder.shape(), 1000);
    let mut caches: Vec<KvCache> = (0..3).map(|_| KvCache::default()).collect();
    // The second sequence is in the middle of its answer, the third of its prompt.
    run(&decoder, &mut pool, &mut caches[1], &prompt(90));
    for cache in &mut caches {
        pool.extend(cache, 70).expect("room");
    }
    let other = prompt(64);
    let mut rows: Vec<Row<'_>> = caches
        .iter_mut()
        .zip([(&tokens[..], true), (&[17], true), (&other[..], false)])
        .map(|(cache, (tokens, wants_logits))| Row { cache, tokens, wants_logits })
        .collect();
    let logits = decoder.step(&mut rows).expect("step");
    assert_eq!(logits.rows(), 2, "one row of logits for each row that needs them");
    assert_close(logits.row(0), &alone, 1e-3);
    assert!(caches.iter().map(KvCache::length).eq([70, 91, 64]));
}

#[test]
fn the_same_seed_makes_the_same_answer() {
    let answers: Vec<Vec<u32>> = [5, 5, 6]
        .into_iter()
        .map(|seed| {
            let shape = Preset::Nano.shape();
            let mut weights = RandomWeights::new(&shape, Quantization::Q8_0, seed);
            let decoder = load(&mut weights);
            let mut pool = KvPool::new(decoder.shape(), 100);
            let mut cache = KvCache::default();
            let mut token = vec![1];
            (0..12)
                .map(|_| {
                    token = vec![most_likely(&run(&decoder, &mut pool, &mut cache, &token).data)];
                    token[0]
                })
                .collect()
        })
        .collect();
    assert_eq!(answers[0], answers[1]);
    assert_ne!(answers[0], answers[2]);
}

#[test]
fn rows_that_do_not_fit_are_refused() {
    let decoder = nano(Quantization::Q8_0);
    let mut cache = KvCache::default();
    let mut step = |tokens: &[u32]| {
        decoder.step(&mut [Row { cache: &mut cache, tokens, wants_logits: true }]).map(|_| ())
    };
    assert!(step(&[1]).expect_err("no room").to_string().contains("1 tokens after 0"));
    assert!(step(&[]).is_err());
    let mut pool = KvPool::new(decoder.shape(), 64);
    pool.extend(&mut cache, 1).expect("room");
    let mut step = |tokens: &[u32]| {
        decoder.step(&mut [Row { cache: &mut cache, tokens, wants_logits: true }]).map(|_| ())
    };
    assert!(step(&[8192]).expect_err("no such token").to_string().contains("8192"));
    assert!(step(&[8191]).is_ok());
}
