//! Lengths and offsets of vLLM's and SGLang's random data sets, number for number.
//!
//! Both tools draw all lengths of a run at once, so the draws depend on how many
//! requests are asked for.
//!
//! Not here: the meaning of a range ratio without the exact draws (`crate::lengths`).

use super::{NumpyGenerator, NumpyLegacy};

/// What one request of a random data set is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RandomDraw {
    /// Tokens of the prompt, without the ones that the tokenizer adds.
    pub prompt_tokens: u32,
    /// Tokens to ask for.
    pub output_tokens: u32,
    /// Where in the vocabulary the prompt begins.
    pub offset: u32,
}

/// What is asked of a random data set.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RandomAsk {
    /// Seed of the tool; vLLM's default is 0, SGLang's 42.
    pub seed: u32,
    /// Requests of the whole run.
    pub requests: u32,
    /// The tool's input length.
    pub input_tokens: u32,
    /// The tool's output length.
    pub output_tokens: u32,
    /// Range ratio of the input.
    pub input_ratio: f64,
    /// Range ratio of the output.
    pub output_ratio: f64,
    /// Tokens that the tokenizer adds to a text, which both tools take off.
    pub special_tokens: u32,
    /// The tokenizer's `vocab_size`, from which offsets are drawn.
    pub vocab_size: u32,
}

/// As vLLM 0.33 draws them: `get_sampling_params` on `default_rng(seed)`, inputs
/// first, then outputs, then offsets. Ratios are from 0 to 1, 1 excluded.
pub fn vllm_random(ask: &RandomAsk) -> Vec<RandomDraw> {
    let mut generator = NumpyGenerator::new(u64::from(ask.seed));
    let input = f64::from(ask.input_tokens.saturating_sub(ask.special_tokens));
    let output = f64::from(ask.output_tokens);
    let low = |mean: f64, ratio: f64| (mean * (1.0 - ratio)).floor() as i64;
    let high = |mean: f64, ratio: f64| (mean * (1.0 + ratio)).ceil() as i64;
    let count = ask.requests as usize;
    let (low_in, high_in) = (low(input, ask.input_ratio), high(input, ask.input_ratio));
    let inputs = generator.integers(low_in, high_in + 1, count);
    let low_out = low(output, ask.output_ratio).max(1);
    let high_out = high(output, ask.output_ratio).max(1);
    let outputs = generator.integers(low_out, high_out + 1, count);
    let offsets = generator.integers(0, i64::from(ask.vocab_size), count);
    collect(inputs, outputs, offsets)
}

/// As SGLang 0.5 draws them: `compute_random_lens` on `numpy.random.seed(seed)`,
/// inputs first, then outputs, then the offsets of `random-ids`. The ratio's lower
/// bound is `int(length * ratio)`, its upper the length itself.
pub fn sglang_random(ask: &RandomAsk) -> Vec<RandomDraw> {
    let mut generator = NumpyLegacy::new(ask.seed);
    let count = ask.requests as usize;
    let mut draw = |tokens: u32, ratio: f64| {
        let low = ((f64::from(tokens) * ratio) as u32).max(1);
        match tokens {
            0 => vec![0; count],
            _ => generator.randints(low, tokens.saturating_add(1), count),
        }
    };
    let inputs = draw(ask.input_tokens, ask.input_ratio);
    let outputs = draw(ask.output_tokens, ask.output_ratio);
    let inputs = inputs.into_iter().map(|tokens| tokens.saturating_sub(ask.special_tokens).max(1));
    let offsets = generator.randints(0, ask.vocab_size, count);
    collect(inputs, outputs, offsets)
}

fn collect<T>(
    inputs: impl IntoIterator<Item = T>,
    outputs: impl IntoIterator<Item = T>,
    offsets: impl IntoIterator<Item = T>,
) -> Vec<RandomDraw>
where
    u32: TryFrom<T>,
{
    let word = |number: T| u32::try_from(number).unwrap_or(u32::MAX);
    let draws = inputs.into_iter().zip(outputs).zip(offsets);
    draws
        .map(|((input, output), offset)| RandomDraw {
            prompt_tokens: word(input),
            output_tokens: word(output),
            offset: word(offset),
        })
        .collect()
}
