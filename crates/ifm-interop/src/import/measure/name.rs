//! Words for quantities and settings, as a whole label or somewhere in a sentence.

use super::lex::{Kind, Token};
use ifm_core::sheet::{Quantity, key};
use std::collections::HashMap;
use std::sync::OnceLock;

/// Phrases in lower case with single spaces, and what they are names of.
static QUANTITIES: &[(&str, Quantity)] = &[
    ("ttft", Quantity::Ttft),
    ("time to first token", Quantity::Ttft),
    ("time to the first token", Quantity::Ttft),
    ("first token latency", Quantity::Ttft),
    ("first token time", Quantity::Ttft),
    ("ttfot", Quantity::Ttfot),
    ("itl", Quantity::Itl),
    ("inter token latency", Quantity::Itl),
    ("intertoken latency", Quantity::Itl),
    ("time between tokens", Quantity::Itl),
    ("tbt", Quantity::Itl),
    ("tpot", Quantity::Tpot),
    ("time per output token", Quantity::Tpot),
    ("e2e", Quantity::E2e),
    ("e2el", Quantity::E2e),
    ("e2e latency", Quantity::E2e),
    ("end to end latency", Quantity::E2e),
    ("end to end", Quantity::E2e),
    ("request latency", Quantity::E2e),
    ("response time", Quantity::E2e),
    ("total latency", Quantity::E2e),
    ("latency", Quantity::E2e),
    ("prefill time", Quantity::PrefillTime),
    ("prefill latency", Quantity::PrefillTime),
    ("prompt processing time", Quantity::PrefillTime),
    ("prompt eval time", Quantity::PrefillTime),
    ("duration", Quantity::Duration),
    ("benchmark duration", Quantity::Duration),
    ("elapsed", Quantity::Duration),
    ("elapsed time", Quantity::Duration),
    ("wall time", Quantity::Duration),
    ("wall clock time", Quantity::Duration),
    ("total time", Quantity::Duration),
    ("kernel time", Quantity::KernelTime),
    ("request throughput", Quantity::RequestRate),
    ("requests per second", Quantity::RequestRate),
    ("requests per sec", Quantity::RequestRate),
    ("rps", Quantity::RequestRate),
    ("qps", Quantity::RequestRate),
    ("goodput", Quantity::Goodput),
    ("request goodput", Quantity::Goodput),
    ("input throughput", Quantity::InputRate),
    ("input token throughput", Quantity::InputRate),
    ("prompt throughput", Quantity::InputRate),
    ("input tokens per second", Quantity::InputRate),
    ("output throughput", Quantity::OutputRate),
    ("output token throughput", Quantity::OutputRate),
    ("output tokens per second", Quantity::OutputRate),
    ("generation throughput", Quantity::OutputRate),
    ("decode throughput", Quantity::OutputRate),
    ("overall throughput", Quantity::TotalRate),
    ("total throughput", Quantity::TotalRate),
    ("total token throughput", Quantity::TotalRate),
    ("total tokens per second", Quantity::TotalRate),
    ("peak throughput", Quantity::PeakOutputRate),
    ("peak output throughput", Quantity::PeakOutputRate),
    ("peak output token throughput", Quantity::PeakOutputRate),
    ("per user decode speed", Quantity::UserRate),
    ("per user speed", Quantity::UserRate),
    ("per user throughput", Quantity::UserRate),
    ("decode speed per user", Quantity::UserRate),
    ("throughput per user", Quantity::UserRate),
    ("speed per user", Quantity::UserRate),
    ("tokens per second per user", Quantity::UserRate),
    ("prefill speed", Quantity::PrefillRate),
    ("prefill throughput", Quantity::PrefillRate),
    ("prompt processing", Quantity::PrefillRate),
    ("prompt processing speed", Quantity::PrefillRate),
    ("prompt eval rate", Quantity::PrefillRate),
    ("decode speed", Quantity::DecodeRate),
    ("decoding speed", Quantity::DecodeRate),
    ("generation speed", Quantity::DecodeRate),
    ("text generation", Quantity::DecodeRate),
    ("eval rate", Quantity::DecodeRate),
    ("requests in flight", Quantity::InFlight),
    ("mean concurrency", Quantity::InFlight),
    ("achieved concurrency", Quantity::InFlight),
    ("peak concurrent requests", Quantity::PeakInFlight),
    ("max concurrent requests", Quantity::PeakInFlight),
    ("maximum concurrent requests", Quantity::PeakInFlight),
    ("successful requests", Quantity::RequestsOk),
    ("completed requests", Quantity::RequestsOk),
    ("completed", Quantity::RequestsOk),
    ("failed requests", Quantity::RequestsFailed),
    ("failed", Quantity::RequestsFailed),
    ("errors", Quantity::RequestsFailed),
    ("total requests", Quantity::Requests),
    ("total input tokens", Quantity::InputTokens),
    ("total output tokens", Quantity::OutputTokens),
    ("generated tokens", Quantity::OutputTokens),
    ("total generated tokens", Quantity::OutputTokens),
    ("total tokens", Quantity::TotalTokens),
    ("cached tokens", Quantity::CachedTokens),
    ("text tokens", Quantity::TextTokens),
    ("image tokens", Quantity::ImageTokens),
    ("vision tokens", Quantity::ImageTokens),
    ("input vision tokens", Quantity::ImageTokens),
    ("audio tokens", Quantity::AudioTokens),
    ("video tokens", Quantity::VideoTokens),
    ("images per second", Quantity::ImageRate),
    ("pixels per second", Quantity::PixelRate),
    ("rtfx of the level", Quantity::AudioRate),
    ("rtfx of the run", Quantity::AudioRate),
    ("level rtfx", Quantity::AudioRate),
    ("rtfx of a request", Quantity::Rtfx),
    ("time to first audio", Quantity::Ttfa),
    ("ttfa", Quantity::Ttfa),
    ("accept length", Quantity::AcceptLength),
    ("acceptance length", Quantity::AcceptLength),
    ("efficiency", Quantity::Efficiency),
    ("scaling efficiency", Quantity::Efficiency),
    ("error rate", Quantity::ErrorRate),
    ("failure rate", Quantity::ErrorRate),
    ("slo attainment", Quantity::Attainment),
    ("power", Quantity::Power),
    ("power draw", Quantity::Power),
    ("gpu power", Quantity::Power),
    ("energy", Quantity::Energy),
    ("energy per token", Quantity::EnergyPerToken),
    ("memory", Quantity::Memory),
    ("gpu memory", Quantity::Memory),
    ("peak memory", Quantity::Memory),
    ("vram", Quantity::Memory),
    ("memory bandwidth", Quantity::Bandwidth),
    ("bandwidth", Quantity::Bandwidth),
    ("sparsity", Quantity::Sparsity),
    ("cost per million tokens", Quantity::CostPerMillion),
    ("ratio", Quantity::Ratio),
    ("degradation ratio", Quantity::Ratio),
    ("degradation factor", Quantity::Ratio),
    ("speedup", Quantity::Ratio),
    ("speed up", Quantity::Ratio),
    ("slowdown", Quantity::Ratio),
    ("rank", Quantity::Rank),
    ("place", Quantity::Rank),
];

/// Phrases for what was set, and the factor.
static SETTINGS: &[(&str, &str)] = &[
    ("model", key::MODEL),
    ("model name", key::MODEL),
    ("gpu", key::GPU),
    ("gpus", key::GPU),
    ("device", key::GPU),
    ("hardware", key::GPU),
    ("accelerator", key::GPU),
    ("quantization", key::QUANTIZATION),
    ("quantisation", key::QUANTIZATION),
    ("quant", key::QUANTIZATION),
    ("precision", key::QUANTIZATION),
    ("dtype", key::QUANTIZATION),
    ("concurrency", key::CONCURRENCY),
    ("max concurrency", key::CONCURRENCY),
    ("concurrent requests", key::CONCURRENCY),
    ("concurrent users", key::CONCURRENCY),
    ("users", key::CONCURRENCY),
    ("clients", key::CONCURRENCY),
    ("streams", key::CONCURRENCY),
    ("conc", key::CONCURRENCY),
    ("c", key::CONCURRENCY),
    ("batch size", key::BATCH_SIZE),
    ("batch", key::BATCH_SIZE),
    ("bs", key::BATCH_SIZE),
    ("input len", key::INPUT_TOKENS),
    ("input length", key::INPUT_TOKENS),
    ("prompt len", key::INPUT_TOKENS),
    ("prompt length", key::INPUT_TOKENS),
    ("input tokens", key::INPUT_TOKENS),
    ("prompt tokens", key::INPUT_TOKENS),
    ("isl", key::INPUT_TOKENS),
    ("random input len", key::INPUT_TOKENS),
    ("output len", key::OUTPUT_TOKENS),
    ("output length", key::OUTPUT_TOKENS),
    ("output tokens", key::OUTPUT_TOKENS),
    ("osl", key::OUTPUT_TOKENS),
    ("random output len", key::OUTPUT_TOKENS),
    ("depth", key::DEPTH_TOKENS),
    ("request rate", key::RATE),
    ("rate", key::RATE),
    ("workload", key::WORKLOAD),
    ("dataset", key::WORKLOAD),
    ("dataset name", key::WORKLOAD),
    ("scenario", key::WORKLOAD),
    ("power limit", key::POWER_LIMIT_W),
    ("tp", key::TENSOR_PARALLEL),
    ("tp size", key::TENSOR_PARALLEL),
    ("tensor parallel", key::TENSOR_PARALLEL),
    ("tensor parallel size", key::TENSOR_PARALLEL),
    ("engine", key::ENGINE),
    ("backend", key::ENGINE),
    ("framework", key::ENGINE),
    ("num prompts", key::REQUESTS),
    ("number of prompts", key::REQUESTS),
    ("condition", key::CONDITION),
];

/// Words of the longest phrase.
const WORDS_MAX: usize = 6;

/// The quantity that a whole phrase names.
pub(super) fn quantity(phrase: &str) -> Option<Quantity> {
    static INDEX: OnceLock<HashMap<&str, &Quantity>> = OnceLock::new();
    let index = INDEX
        .get_or_init(|| QUANTITIES.iter().map(|(phrase, quantity)| (*phrase, quantity)).collect());
    index.get(phrase).copied().cloned()
}

/// The factor that a whole phrase names.
pub(crate) fn setting(phrase: &str) -> Option<&'static str> {
    SETTINGS.iter().find(|(name, _)| *name == phrase).map(|(_, factor)| *factor)
}

/// A quantity that a sentence names.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Mention {
    pub quantity: Quantity,
    /// First token.
    pub first: usize,
    /// Last token.
    pub last: usize,
}

/// The quantities that are named somewhere in a sentence. Of overlapping names the longest counts.
pub(crate) fn mentions(tokens: &[Token<'_>]) -> Vec<Mention> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        let mention = if token.kind == Kind::Word { longest(tokens, at) } else { None };
        at = mention.as_ref().map_or(at, |mention: &Mention| mention.last) + 1;
        found.extend(mention);
    }
    found
}

fn longest(tokens: &[Token<'_>], first: usize) -> Option<Mention> {
    static FIRSTS: OnceLock<HashMap<&str, usize>> = OnceLock::new();
    // How many words the phrases have at most that begin with a word.
    let firsts = FIRSTS.get_or_init(|| {
        let mut firsts = HashMap::new();
        for (phrase, _) in QUANTITIES {
            let words = phrase.split(' ').count();
            let longest = firsts.entry(phrase.split(' ').next().unwrap_or_default()).or_insert(0);
            *longest = words.max(*longest);
        }
        firsts
    });
    let token = tokens.get(first).filter(|token| token.text.len() < 16)?;
    let most = *firsts.get(token.text.to_lowercase().as_str())?;
    let mut phrase = String::new();
    let mut best = None;
    let mut words = 0;
    for (at, token) in tokens.iter().enumerate().skip(first).take(2 * WORDS_MAX) {
        match token.kind {
            Kind::Word => {
                if words > 0 {
                    phrase.push(' ');
                }
                phrase.push_str(&token.text.to_lowercase());
                words += 1;
                if let Some(quantity) = quantity(&phrase) {
                    best = Some(Mention { quantity, first, last: at });
                }
            }
            Kind::Sign if token.is("-") => {}
            _ => break,
        }
        if words == most {
            break;
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::super::lex;
    use super::*;

    #[test]
    fn phrases_in_sentences() {
        let of = |text: &str| {
            mentions(&lex(text)).into_iter().map(|mention| mention.quantity).collect::<Vec<_>>()
        };
        assert_eq!(of("Best inter-token latency is 5 ms"), [Quantity::Itl]);
        assert_eq!(
            of("The time to first token and the end-to-end latency"),
            [Quantity::Ttft, Quantity::E2e]
        );
        assert_eq!(of("random_range_ratio=0.0, a scaling efficiency"), [Quantity::Efficiency]);
        assert_eq!(of("per-user speed ranges"), [Quantity::UserRate]);
    }
}
