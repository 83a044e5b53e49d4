//! Names that are known when they are seen: processors, families of models, engines, formats of
//! weights.
//!
//! Only the shape of a name and its family are looked at. Not here: what a heading says with them.

use std::ops::Range;

/// Families of models, as names begin with them.
const FAMILIES: &[&str] = &[
    "llama",
    "codellama",
    "tinyllama",
    "mistral",
    "mixtral",
    "ministral",
    "codestral",
    "devstral",
    "qwen",
    "qwq",
    "gemma",
    "phi",
    "deepseek",
    "gpt",
    "glm",
    "chatglm",
    "yi",
    "falcon",
    "olmo",
    "granite",
    "command",
    "internlm",
    "baichuan",
    "bloom",
    "opt",
    "kimi",
    "minimax",
    "nemotron",
    "smollm",
    "starcoder",
    "vicuna",
    "solar",
    "dbrx",
    "jamba",
    "mamba",
    "exaone",
    "hunyuan",
    "ernie",
    "seed",
    "step",
    "apertus",
    "stablelm",
    "pythia",
    "mpt",
    "t5",
    "grok",
];
/// Words that occur in headings about a topic, not in names of models.
const TOPICS: &[&str] = &[
    "result",
    "results",
    "benchmark",
    "benchmarks",
    "performance",
    "comparison",
    "vs",
    "versus",
    "for",
    "on",
    "of",
    "the",
    "and",
    "with",
    "model",
    "models",
    "test",
    "tests",
    "summary",
    "table",
    "latency",
    "throughput",
    "ranking",
    "configuration",
    "setup",
    "statistics",
    "to",
    "in",
    "by",
    "latencies",
    "scaling",
    "conclusion",
    "notes",
    "detailed",
    "overview",
];

/// Engines, in lower case and as they are written.
const ENGINES: &[(&str, &str)] = &[
    ("llama.cpp", "llama.cpp"),
    ("vllm", "vLLM"),
    ("sglang", "SGLang"),
    ("tensorrt-llm", "TensorRT-LLM"),
    ("trt-llm", "TensorRT-LLM"),
    ("tgi", "TGI"),
    ("ollama", "Ollama"),
    ("lmdeploy", "LMDeploy"),
    ("exllamav2", "ExLlamaV2"),
    ("exllamav3", "ExLlamaV3"),
    ("mlx", "MLX"),
    ("mlc-llm", "MLC-LLM"),
    ("ktransformers", "KTransformers"),
    ("text-generation-inference", "TGI"),
];

/// The engine that a text names, where it names nothing else but a version.
pub(crate) fn engine(text: &str) -> Option<&'static str> {
    let mut words = text.split_whitespace();
    let first = words.next()?.trim_end_matches(':').to_lowercase();
    let version = |word: &str| {
        let digits = word.trim_start_matches(['v', 'b']);
        !digits.is_empty()
            && digits.chars().all(|c| c.is_ascii_alphanumeric() || c == '.')
            && digits.starts_with(|c: char| c.is_ascii_digit())
    };
    if !words.all(version) {
        return None;
    }
    ENGINES.iter().find(|(name, _)| *name == first).map(|(_, engine)| *engine)
}

/// Whether a text is a name of a model, whole.
pub(crate) fn is_model(text: &str) -> bool {
    let words: Vec<String> = text
        .split([' ', '\t', '/'])
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect();
    if words.is_empty() || words.len() > 6 || text.len() > 80 || engine(text).is_some() {
        return false;
    }
    if words.iter().any(|word| TOPICS.contains(&word.as_str()) || word.ends_with([':', ',', '.'])) {
        return false;
    }
    let pieces = || words.iter().flat_map(|word| word.split(['-', '_', ':']));
    let family = |word: &str| {
        FAMILIES.iter().any(|family| {
            word.strip_prefix(family)
                .is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_alphabetic()))
        })
    };
    let sized = pieces().any(is_size);
    // A family alone may be a word of the language: a number or a hyphen goes with a name.
    let named = words.iter().any(|word| family(word))
        && text.contains(|c: char| c.is_ascii_digit() || c == '-');
    sized || named
}

/// `70b`, `1.5B`, `8x7b`, `a3b`.
fn is_size(piece: &str) -> bool {
    let Some(digits) = piece.strip_suffix(['b', 'B']) else { return false };
    let digits = digits.strip_prefix(['a', 'e']).unwrap_or(digits);
    let number = |text: &str| {
        text.len() <= 6
            && text.parse::<f64>().is_ok_and(|n| n > 0.0)
            && text.starts_with(|c: char| c.is_ascii_digit())
    };
    match digits.split_once('x') {
        Some((count, size)) => number(count) && number(size),
        None => {
            number(digits.split('.').take(2).collect::<Vec<_>>().join(".").as_str())
                && !digits.contains(char::is_alphabetic)
        }
    }
}

/// A model name that is one word among others: a family with a size.
pub(crate) fn model_word(text: &str) -> Option<&str> {
    let mut found = text
        .split(|c: char| c.is_whitespace() || matches!(c, '(' | ')' | ',' | '`' | '"'))
        .filter(|word| {
            word.contains('-')
                && is_model(word)
                && word.split(['-', '_']).any(|piece| is_size(&piece.to_lowercase()))
        });
    let first = found.next()?;
    found.all(|other| other == first).then_some(first)
}

/// The format of weights that a text names, if it names one only.
pub(crate) fn quantization(text: &str) -> Option<String> {
    let words: Vec<&str> = text
        .split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
        .flat_map(|word| if is_format(word) { vec![word] } else { word.split('_').collect() })
        .filter(|word| is_format(word))
        .collect();
    let lower = |word: &&str| word.to_lowercase();
    // Widths of weights and activations say more than the method.
    let widths: Vec<&&str> = words.iter().filter(|word| is_widths(&word.to_lowercase())).collect();
    let of = if widths.is_empty() { words.iter().collect() } else { widths };
    let first = of.first()?;
    of.iter().all(|word| lower(word) == lower(first)).then(|| (**first).to_owned())
}

/// `w8a8`, `w4a16`.
fn is_widths(word: &str) -> bool {
    let digits =
        |text: &str| (1..=2).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
    word.strip_prefix('w')
        .and_then(|rest| rest.split_once('a'))
        .is_some_and(|(w, a)| digits(w) && digits(a))
}

fn is_format(word: &str) -> bool {
    let word = word.to_lowercase();
    let known = [
        "int8", "int4", "fp8", "fp4", "fp16", "bf16", "fp32", "mxfp4", "nvfp4", "awq", "gptq",
        "nf4", "f16", "f32",
    ];
    let gguf = word.strip_prefix("iq").or_else(|| word.strip_prefix('q')).is_some_and(|rest| {
        let mut parts = rest.split('_');
        let bits = parts.next().unwrap_or_default();
        bits.len() == 1
            && bits.bytes().all(|byte| byte.is_ascii_digit())
            && parts.next().is_some_and(|kind| {
                matches!(kind, "0" | "1" | "k" | "xs" | "xxs" | "s" | "m" | "nl")
            })
    });
    known.contains(&word.as_str()) || gguf || is_widths(&word)
}

/// Words that name a processor on their own.
const GPUS: &[&str] = &[
    "H100", "H200", "H20", "H800", "A100", "A800", "A10", "A10G", "A16", "A30", "A40", "A2000",
    "A4000", "A4500", "A5000", "A6000", "L4", "L40", "L40S", "B100", "B200", "B300", "GB10",
    "GB200", "GB300", "GH200", "V100", "T4", "P40", "P100", "MI50", "MI100", "MI210", "MI250",
    "MI250X", "MI300A", "MI300X", "MI308X", "MI325X", "MI350X", "MI355X", "B60", "W7900",
];
/// Words that go before a number, as in `RTX 4090`.
const SERIES: &[&str] = &["RTX", "GTX", "RX", "Arc", "Gaudi"];
/// Words that can precede the name.
const MAKERS: &[&str] =
    &["NVIDIA", "Nvidia", "AMD", "Intel", "GeForce", "Tesla", "Instinct", "Radeon", "Quadro"];
/// Words that can follow the name.
const VARIANTS: &[&str] = &[
    "Ti",
    "SUPER",
    "Super",
    "XT",
    "XTX",
    "SXM",
    "SXM2",
    "SXM4",
    "SXM5",
    "SXM6",
    "PCIe",
    "PCIE",
    "NVL",
    "OAM",
    "Blackwell",
    "Ada",
    "Ampere",
    "Hopper",
    "Workstation",
    "Server",
    "Edition",
    "Generation",
    "Laptop",
    "Max-Q",
    "D",
    "16GB",
    "24GB",
    "32GB",
    "40GB",
    "48GB",
    "80GB",
    "94GB",
    "96GB",
    "141GB",
    "192GB",
    "HBM3",
];

/// Where a text names a processor.
pub(crate) fn gpu(text: &str) -> Option<Range<usize>> {
    let words = spans(text);
    let of = |at: usize| words.get(at).and_then(|range: &Range<usize>| text.get(range.clone()));
    for at in 0..words.len() {
        let Some(written) = of(at) else { continue };
        let word = without_count(written);
        let head = word.split('-').next().unwrap_or_default();
        let mut last = at;
        if SERIES.contains(&word) {
            let skip = usize::from(of(at + 1).is_some_and(|next| matches!(next, "PRO" | "Pro")));
            let number = of(at + 1 + skip).unwrap_or_default();
            let digits = number.trim_start_matches(['A', 'B']);
            if digits.len() < 3 || !digits.starts_with(|c: char| c.is_ascii_digit()) {
                continue;
            }
            last = at + 1 + skip;
        } else if !GPUS.contains(&head) {
            continue;
        }
        while of(last + 1).is_some_and(|next| VARIANTS.contains(&next)) {
            last += 1;
        }
        let mut first = at;
        let is_maker = |at: usize| of(at).is_some_and(|b| MAKERS.contains(&without_count(b)));
        while first > 0 && word == written && is_maker(first - 1) {
            first -= 1;
        }
        let first = words.get(first)?;
        let count =
            text.get(first.clone()).map_or(0, |word| word.len() - without_count(word).len());
        return Some(first.start + count..words.get(last)?.end);
    }
    None
}

/// `H100` of `8xH100`.
fn without_count(word: &str) -> &str {
    let rest = word.trim_start_matches(|c: char| c.is_ascii_digit());
    let has_count = (1..=COUNT_DIGITS_MAX).contains(&(word.len() - rest.len()));
    match rest.strip_prefix(['x', '×']).filter(|rest| has_count && !rest.is_empty()) {
        Some(name) => name,
        None => word,
    }
}

/// Digits of a number of processors at most.
const COUNT_DIGITS_MAX: usize = 3;
/// Numbers of processors in words.
const COUNTS: &[&str] = &["one", "single", "two", "three", "four", "six", "eight", "sixteen"];

/// A processor's name together with the number of them, if there is one before or after it: `8x
/// NVIDIA H100`, `Eight H100 SXM`, `4 H100`, `H100 (x8)`.
pub(crate) fn counted_gpu(text: &str) -> Option<&str> {
    let name = gpu(text)?;
    let before = text.get(..name.start)?;
    let trimmed = before.trim_end();
    let joined = trimmed.strip_suffix(['x', '×', 'X']).unwrap_or(trimmed).trim_end();
    let word = joined.rsplit(|c: char| !(c.is_alphanumeric() || c == '.')).next()?;
    let is_number = (1..=COUNT_DIGITS_MAX).contains(&word.len())
        && word.bytes().all(|byte| byte.is_ascii_digit());
    if is_number || COUNTS.contains(&word.to_lowercase().as_str()) {
        return text.get(joined.len() - word.len()..name.end);
    }
    let after = text.get(name.end..)?;
    let rest =
        after.trim_start_matches([' ', '(', ',']).strip_prefix(['x', '×', '*'])?.trim_start();
    let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let ends = rest.get(digits..)?.chars().next().is_none_or(|c| !c.is_alphanumeric());
    // The lanes of a bus are not processors.
    let is_bus = text.get(name.clone())?.ends_with(['e', 'E']);
    let is_count = (1..=COUNT_DIGITS_MAX).contains(&digits) && ends && !is_bus;
    let closed = usize::from(rest.get(digits..)?.starts_with(')') && after.contains('('));
    text.get(name.start..text.len() - rest.len() + digits + closed).filter(|_| is_count)
}

fn spans(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut start = None;
    for (at, c) in text.char_indices().chain([(text.len(), ' ')]) {
        let inside = c.is_alphanumeric() || c == '-';
        match (inside, start) {
            (true, None) => start = Some(at),
            (false, Some(from)) => {
                found.push(from..at);
                start = None;
            }
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models() {
        for name in [
            "llama2-7b",
            "405B",
            "Mistral Nemo 12B",
            "gpt-oss-120b",
            "Qwen3 30B-A3B",
            "GPT OSS 120B",
            "LLama 3.3 70B Int4",
            "org/some-new-thing-14b",
            "gemma-3",
            "Mixtral 8x7B",
            "Phi-4",
        ] {
            assert!(is_model(name), "{name}");
        }
        for other in [
            "llama.cpp",
            "vLLM",
            "Results for Qwen3 8B",
            "600W",
            "46GB",
            "Training",
            "c=32",
            "Step",
            "Hardware",
            "Command line",
            "ShareGPT",
            "Random",
            "",
            "Prefix cache: 8B",
        ] {
            assert!(!is_model(other), "{other}");
        }
        assert_eq!(model_word("Results of Qwen3-8B on two cards"), Some("Qwen3-8B"));
        assert_eq!(model_word("Qwen3-8B against Llama-3.1-8B"), None);
    }

    #[test]
    fn processors() {
        let of = |text: &'static str| gpu(text).and_then(|range| text.get(range));
        assert_eq!(of("Single L40S GPU, 46GB"), Some("L40S"));
        assert_eq!(
            of("Device 0: NVIDIA RTX PRO 6000 Blackwell Workstation Edition, compute"),
            Some("NVIDIA RTX PRO 6000 Blackwell Workstation Edition")
        );
        assert_eq!(of("2x NVIDIA H100 80GB HBM3"), Some("NVIDIA H100 80GB HBM3"));
        assert_eq!(of("on a GeForce RTX 4090 Ti."), Some("GeForce RTX 4090 Ti"));
        assert_eq!(of("NVIDIA A100-SXM4-80GB"), Some("NVIDIA A100-SXM4-80GB"));
        assert_eq!(of("nothing 4090 here, RX for"), None);
        assert_eq!(of("8xH100 SXM"), Some("H100 SXM"));
        assert_eq!(of("4xRTX 4090"), Some("RTX 4090"));
    }

    #[test]
    fn processors_are_counted() {
        for (text, counted) in [
            ("8x NVIDIA H100 80GB HBM3", "8x NVIDIA H100 80GB HBM3"),
            ("on 8 x H100 SXM nodes", "8 x H100 SXM"),
            ("8xH100 SXM", "8xH100 SXM"),
            ("Eight H100 SXM GPUs, tensor parallel 8.", "Eight H100 SXM"),
            ("4 H100 SXM (TP4)", "4 H100 SXM"),
            ("NVIDIA H100 80GB HBM3 (x8)", "NVIDIA H100 80GB HBM3 (x8)"),
            ("H100 SXM x 8", "H100 SXM x 8"),
            ("Single L40S GPU, 46GB", "Single L40S"),
        ] {
            assert_eq!(counted_gpu(text), Some(counted), "{text}");
        }
        for text in ["NVIDIA L40S", "H100 PCIe x16", "CUDA 12.4 H100", "a H100", "v8 H100"] {
            assert_eq!(counted_gpu(text), None, "{text}");
        }
    }

    #[test]
    fn formats_and_engines() {
        assert_eq!(quantization("llama 7B Q4_K_M").as_deref(), Some("Q4_K_M"));
        assert_eq!(quantization("w8a16_sparse_awq_x").as_deref(), Some("w8a16"));
        assert_eq!(quantization("LLama 3.3 70B Int4").as_deref(), Some("Int4"));
        assert_eq!(quantization("Int W8A8").as_deref(), Some("W8A8"));
        assert_eq!(quantization("FP16 / INT8"), None);
        assert_eq!(quantization("a quick question"), None);
        assert_eq!(engine("vLLM 0.9.1"), Some("vLLM"));
        assert_eq!(engine("llama.cpp"), Some("llama.cpp"));
        assert_eq!(engine("vLLM results"), None);
    }
}
