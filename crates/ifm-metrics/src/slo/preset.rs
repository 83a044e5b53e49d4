//! Latency targets by name: ours, and those that others published.
//!
//! The rows `mlperf-…` are the limits of the server scenario in `loadgen/mlperf.conf` of MLPerf Inference
//! (github.com/mlcommons/inference, commit b0662794362bc2c22c33c3e4a0c66ef83411ecf0, the seed of round 6.1,
//! read in August 2026): the 99th percentile of the TTFT, counted from when a request is due, and of the
//! TPOT; or of the whole answer. Not here: how terms are read (`parse`).

use ifm_core::order::Order as _;
use ifm_core::spec::Api;

/// Minimum similarity of a word and a name, 0 to 1, for the name to be suggested.
const ALIKE_MIN: f64 = 0.7;
/// Maximum number of names suggested for an unknown one.
const OFFERED_MAX: usize = 5;

/// A target with a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Preset {
    /// The name.
    pub name: &'static str,
    /// Another name of the same target.
    pub also: Option<&'static str>,
    /// The terms, as they are written.
    pub terms: &'static str,
    /// What it is for, and where it comes from.
    pub about: &'static str,
    /// Whether reports compare every result with it. One that belongs to a single model, or to answers that
    /// are no text, is compared only where it was asked for.
    pub is_general: bool,
}

impl Preset {
    /// Its names: one, or two.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        std::iter::once(self.name).chain(self.also)
    }
}

/// All presets; the first is the default where answers are text.
pub const PRESETS: [Preset; 20] = [
    general("chat", "ttft:p99<500ms,itl:p99<50ms", "a person reads along"),
    general("rag", "ttft:p99<2s,itl:p99<50ms", "long prompts with documents in them"),
    general("code", "ttft:p99<300ms,itl:p99<30ms", "completion of code"),
    Preset {
        also: Some("mlperf-llama2-70b"),
        ..general("mlperf-server", "ttft:p99<2s,tpot:p99<200ms", "MLPerf, Llama 2 70B")
    },
    Preset {
        also: Some("mlperf-llama2-70b-interactive"),
        ..general(
            "mlperf-interactive",
            "ttft:p99<450ms,tpot:p99<40ms",
            "MLPerf, Llama 2 70B, interactive",
        )
    },
    general("agent", "ttft:p99<1s,e2e:p99<30s", "a step of a chain of calls that no person reads"),
    general("luminal", "itl:mean<70ms", "above it the reports of that name call output sluggish"),
    SPEECH,
    TRANSCRIPTION,
    EMBEDDING,
    on_its_own("mlperf-deepseek-r1", "ttft:p99<2s,tpot:p99<80ms", "MLPerf, DeepSeek R1"),
    on_its_own(
        "mlperf-deepseek-r1-interactive",
        "ttft:p99<1.5s,tpot:p99<15ms",
        "MLPerf, DeepSeek R1, interactive",
    ),
    on_its_own("mlperf-gpt-oss-120b", "ttft:p99<3s,tpot:p99<80ms", "MLPerf, gpt-oss 120B"),
    on_its_own(
        "mlperf-gpt-oss-120b-interactive",
        "ttft:p99<2s,tpot:p99<15ms",
        "MLPerf, gpt-oss 120B, interactive",
    ),
    on_its_own("mlperf-llama3.1-8b", "ttft:p99<2s,tpot:p99<100ms", "MLPerf, Llama 3.1 8B"),
    on_its_own(
        "mlperf-llama3.1-8b-interactive",
        "ttft:p99<500ms,tpot:p99<30ms",
        "MLPerf, Llama 3.1 8B, interactive",
    ),
    on_its_own("mlperf-llama3.1-405b", "ttft:p99<6s,tpot:p99<175ms", "MLPerf, Llama 3.1 405B"),
    on_its_own(
        "mlperf-llama3.1-405b-interactive",
        "ttft:p99<4.5s,tpot:p99<80ms",
        "MLPerf, Llama 3.1 405B, interactive",
    ),
    on_its_own("mlperf-mixtral-8x7b", "ttft:p99<2s,tpot:p99<200ms", "MLPerf, Mixtral 8x7B"),
    on_its_own(
        "mlperf-qwen3-vl-235b-a22b",
        "e2e:p99<12s",
        "MLPerf, Qwen3-VL 235B: images and text",
    ),
];

const SPEECH: Preset =
    on_its_own("speech", "ttfa:p99<500ms,rtf:p99<1", "a person listens while it is spoken");
const TRANSCRIPTION: Preset =
    on_its_own("transcription", "rtfx:p1>1", "recordings are transcribed faster than real time");
const EMBEDDING: Preset =
    on_its_own("embedding", "e2e:p99<500ms", "a search waits for embeddings or ranks");

const fn general(name: &'static str, terms: &'static str, about: &'static str) -> Preset {
    Preset { name, also: None, terms, about, is_general: true }
}

const fn on_its_own(name: &'static str, terms: &'static str, about: &'static str) -> Preset {
    Preset { is_general: false, ..general(name, terms, about) }
}

/// The target of answers of an API where none was named: one whose terms have values there.
pub fn default_of(api: Api) -> &'static Preset {
    match api {
        Api::Speech => &SPEECH,
        Api::Transcriptions | Api::Translations => &TRANSCRIPTION,
        Api::Embeddings | Api::Rerank | Api::OllamaEmbed => &EMBEDDING,
        _ => &PRESETS[0],
    }
}

/// The preset of a name.
pub fn preset(name: &str) -> Option<&'static Preset> {
    PRESETS.iter().find(|preset| preset.names().any(|known| known == name))
}

/// The names that are most like a word, the nearest first.
pub(super) fn nearest(word: &str) -> Vec<&'static str> {
    let word = word.to_ascii_lowercase();
    let alike = |name: &'static str| (strsim::jaro_winkler(&word, name), name);
    let mut names: Vec<_> = PRESETS.iter().flat_map(Preset::names).map(alike).collect();
    names.retain(|(alike, _)| *alike >= ALIKE_MIN);
    names.order_by(|(a, _), (b, _)| b.total_cmp(a));
    names.into_iter().take(OFFERED_MAX).map(|(_, name)| name).collect()
}
