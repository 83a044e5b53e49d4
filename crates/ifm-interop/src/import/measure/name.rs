//! Words for quantities and settings, as a whole label or somewhere in a sentence.

use super::lex::{Kind, Token};
use ifm_core::Metric;
use ifm_core::sheet::key;
use std::collections::HashMap;
use std::sync::OnceLock;

/// Phrases in lower case with single spaces, and what they are names of.
static QUANTITIES: &[(&str, Metric)] = &[
    ("ttft", Metric::Ttft),
    ("time to first token", Metric::Ttft),
    ("time to the first token", Metric::Ttft),
    ("first token latency", Metric::Ttft),
    ("first token time", Metric::Ttft),
    ("ttfot", Metric::Ttfat),
    ("itl", Metric::Itl),
    ("inter token latency", Metric::Itl),
    ("intertoken latency", Metric::Itl),
    ("time between tokens", Metric::Itl),
    ("tbt", Metric::Itl),
    ("tpot", Metric::Tpot),
    ("time per output token", Metric::Tpot),
    ("e2e", Metric::E2e),
    ("e2el", Metric::E2e),
    ("e2e latency", Metric::E2e),
    ("end to end latency", Metric::E2e),
    ("end to end", Metric::E2e),
    ("request latency", Metric::E2e),
    ("response time", Metric::E2e),
    ("total latency", Metric::E2e),
    ("latency", Metric::E2e),
    ("prefill time", Metric::Prefill),
    ("prefill latency", Metric::Prefill),
    ("prompt processing time", Metric::Prefill),
    ("prompt eval time", Metric::Prefill),
    ("duration", Metric::Duration),
    ("benchmark duration", Metric::Duration),
    ("elapsed", Metric::Duration),
    ("elapsed time", Metric::Duration),
    ("wall time", Metric::Duration),
    ("wall clock time", Metric::Duration),
    ("total time", Metric::Duration),
    ("kernel time", Metric::Kernel),
    ("request throughput", Metric::RequestRate),
    ("requests per second", Metric::RequestRate),
    ("requests per sec", Metric::RequestRate),
    ("rps", Metric::RequestRate),
    ("qps", Metric::RequestRate),
    ("goodput", Metric::Goodput),
    ("request goodput", Metric::Goodput),
    ("input throughput", Metric::InputRate),
    ("input token throughput", Metric::InputRate),
    ("prompt throughput", Metric::InputRate),
    ("input tokens per second", Metric::InputRate),
    ("output throughput", Metric::OutputRate),
    ("output token throughput", Metric::OutputRate),
    ("output tokens per second", Metric::OutputRate),
    ("generation throughput", Metric::OutputRate),
    ("decode throughput", Metric::OutputRate),
    ("overall throughput", Metric::TotalRate),
    ("total throughput", Metric::TotalRate),
    ("total token throughput", Metric::TotalRate),
    ("total tokens per second", Metric::TotalRate),
    ("peak throughput", Metric::PeakOutputRate),
    ("peak output throughput", Metric::PeakOutputRate),
    ("peak output token throughput", Metric::PeakOutputRate),
    ("per user decode speed", Metric::UserSpeed),
    ("per user speed", Metric::UserSpeed),
    ("per user throughput", Metric::UserSpeed),
    ("decode speed per user", Metric::UserSpeed),
    ("throughput per user", Metric::UserSpeed),
    ("speed per user", Metric::UserSpeed),
    ("tokens per second per user", Metric::UserSpeed),
    ("prefill speed", Metric::PrefillRate),
    ("prefill throughput", Metric::PrefillRate),
    ("prompt processing", Metric::PrefillRate),
    ("prompt processing speed", Metric::PrefillRate),
    ("prompt eval rate", Metric::PrefillRate),
    ("decode speed", Metric::DecodeRate),
    ("decoding speed", Metric::DecodeRate),
    ("generation speed", Metric::DecodeRate),
    ("text generation", Metric::DecodeRate),
    ("eval rate", Metric::DecodeRate),
    ("requests in flight", Metric::InFlight),
    ("mean concurrency", Metric::InFlight),
    ("achieved concurrency", Metric::InFlight),
    ("peak concurrent requests", Metric::PeakInFlight),
    ("max concurrent requests", Metric::PeakInFlight),
    ("maximum concurrent requests", Metric::PeakInFlight),
    ("successful requests", Metric::RequestsOk),
    ("completed requests", Metric::RequestsOk),
    ("completed", Metric::RequestsOk),
    ("failed requests", Metric::RequestsFailed),
    ("failed", Metric::RequestsFailed),
    ("errors", Metric::RequestsFailed),
    ("total requests", Metric::Requests),
    ("total input tokens", Metric::InputTokens),
    ("total output tokens", Metric::OutputTokens),
    ("generated tokens", Metric::OutputTokens),
    ("total generated tokens", Metric::OutputTokens),
    ("total tokens", Metric::TotalTokens),
    ("cached tokens", Metric::CachedTokens),
    ("text tokens", Metric::TextTokens),
    ("image tokens", Metric::ImageTokens),
    ("vision tokens", Metric::ImageTokens),
    ("input vision tokens", Metric::ImageTokens),
    ("audio tokens", Metric::AudioTokens),
    ("video tokens", Metric::VideoTokens),
    ("images per second", Metric::ImageRate),
    ("pixels per second", Metric::PixelRate),
    ("rtfx of the level", Metric::LevelRtfx),
    ("rtfx of the run", Metric::LevelRtfx),
    ("level rtfx", Metric::LevelRtfx),
    ("rtfx of a request", Metric::Rtfx),
    ("time to first audio", Metric::Ttfa),
    ("ttfa", Metric::Ttfa),
    ("accept length", Metric::AcceptanceLength),
    ("acceptance length", Metric::AcceptanceLength),
    ("efficiency", Metric::Efficiency),
    ("scaling efficiency", Metric::Efficiency),
    ("error rate", Metric::ErrorRate),
    ("failure rate", Metric::ErrorRate),
    ("slo attainment", Metric::Attainment),
    ("power", Metric::Power),
    ("power draw", Metric::Power),
    ("gpu power", Metric::Power),
    ("energy", Metric::Energy),
    ("energy per token", Metric::EnergyPerToken),
    ("memory", Metric::Memory),
    ("gpu memory", Metric::Memory),
    ("peak memory", Metric::Memory),
    ("vram", Metric::Memory),
    ("memory bandwidth", Metric::Bandwidth),
    ("bandwidth", Metric::Bandwidth),
    ("sparsity", Metric::Sparsity),
    ("cost per million tokens", Metric::CostPerMillion),
    ("ratio", Metric::Ratio),
    ("degradation ratio", Metric::Ratio),
    ("degradation factor", Metric::Ratio),
    ("speedup", Metric::Ratio),
    ("speed up", Metric::Ratio),
    ("slowdown", Metric::Ratio),
    ("rank", Metric::Rank),
    ("place", Metric::Rank),
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
pub(super) fn quantity(phrase: &str) -> Option<Metric> {
    static INDEX: OnceLock<HashMap<&str, Metric>> = OnceLock::new();
    let index = INDEX
        .get_or_init(|| QUANTITIES.iter().map(|(phrase, metric)| (*phrase, *metric)).collect());
    index.get(phrase).copied()
}

/// The factor that a whole phrase names.
pub(crate) fn setting(phrase: &str) -> Option<&'static str> {
    SETTINGS.iter().find(|(name, _)| *name == phrase).map(|(_, factor)| *factor)
}

/// A quantity that a sentence names.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Mention {
    pub quantity: Metric,
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
        assert_eq!(of("Best inter-token latency is 5 ms"), [Metric::Itl]);
        assert_eq!(
            of("The time to first token and the end-to-end latency"),
            [Metric::Ttft, Metric::E2e]
        );
        assert_eq!(of("random_range_ratio=0.0, a scaling efficiency"), [Metric::Efficiency]);
        assert_eq!(of("per-user speed ranges"), [Metric::UserSpeed]);
    }
}
