//! What the user asked for, resolved: every default filled in, so that it can be run again.

use crate::form::FormSpec;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::collections::BTreeMap;

pub use crate::slo::{Asked, SloSpec, SloTerm, other_end};

crate::vocabulary! {
    /// Which API of the server carries the load. Its path on a server and its messages are the
    /// business of `ifm-wire`, which has one dialect for each.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum Api {
        /// OpenAI's chat completions.
        Chat = "chat",
        /// OpenAI's completions.
        Completions = "completions",
        /// OpenAI's Responses.
        Responses = "responses",
        /// Anthropic's messages.
        Messages = "messages",
        /// SGLang's own API.
        Sglang = "sglang",
        /// Text Generation Inference's own API.
        Tgi = "tgi",
        /// Ollama's own API for conversations.
        OllamaChat = "ollama_chat",
        /// Ollama's own API for texts.
        OllamaGenerate = "ollama_generate",
        /// llama.cpp's own API.
        LlamaCpp = "llama_cpp",
        /// Triton's generate extension.
        Triton = "triton",
        /// Embeddings, as OpenAI has them.
        Embeddings = "embeddings",
        /// Reranking, as Jina and Cohere have it.
        Rerank = "rerank",
        /// Ollama's own API for embeddings.
        OllamaEmbed = "ollama_embed",
        /// Recordings to text, as OpenAI has it.
        Transcriptions = "transcriptions",
        /// Recordings to English text, as OpenAI has it.
        Translations = "translations",
        /// Text to sound, as OpenAI has it.
        Speech = "speech",
        ;
        /// One that a file describes.
        Custom(FileId) = "custom"
    }
}

/// Which file describes an API: the first bytes of the SHA-256 of its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FileId(pub [u8; 8]);

impl FileId {
    /// The bytes in hex.
    pub fn hex(self) -> String {
        format!("{:016x}", u64::from_be_bytes(self.0))
    }

    fn from_hex(hex: &str) -> Option<FileId> {
        let is_hex = hex.len() == 16 && hex.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_hex
            .then(|| u64::from_str_radix(hex, 16).ok())
            .flatten()
            .map(|it| FileId(it.to_be_bytes()))
    }
}

/// The prefix of an API described by a file; the id of the file follows.
const CUSTOM_PREFIX: &str = "custom:";

impl Api {
    /// Whether answers are generated tokens, so that a rate of them means something.
    pub fn generates(self) -> bool {
        !matches!(self, Api::Embeddings | Api::Rerank | Api::OllamaEmbed | Api::Speech)
    }

    /// Whether prompts are recordings, each sent as a file.
    pub fn takes_recordings(self) -> bool {
        matches!(self, Api::Transcriptions | Api::Translations)
    }

    /// Whether the server puts a prompt into the model's chat template.
    pub fn has_template(self) -> bool {
        match self {
            Api::Chat
            | Api::Responses
            | Api::Messages
            | Api::OllamaChat
            | Api::OllamaGenerate
            | Api::Custom(_) => true,
            Api::Completions
            | Api::Sglang
            | Api::Tgi
            | Api::LlamaCpp
            | Api::Triton
            | Api::Embeddings
            | Api::Rerank
            | Api::OllamaEmbed
            | Api::Transcriptions
            | Api::Translations
            | Api::Speech => false,
        }
    }
}

impl Serialize for Api {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Api::Custom(id) => serializer.collect_str(&format_args!("{CUSTOM_PREFIX}{}", id.hex())),
            other => serializer.serialize_str(other.word()),
        }
    }
}

impl<'de> Deserialize<'de> for Api {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let word = String::deserialize(deserializer)?;
        let custom =
            || word.strip_prefix(CUSTOM_PREFIX).and_then(FileId::from_hex).map(Api::Custom);
        let unknown = || D::Error::custom(format!("unknown API: {word}"));
        Api::from_word(&word).or_else(custom).ok_or_else(unknown)
    }
}

/// The file that describes an API.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ApiFile {
    /// Its name: of one that comes with the program, or of the file.
    pub name: String,
    /// SHA-256 of its text, in hex.
    pub sha256: String,
    /// Its text. It holds no secret: keys come from the environment.
    pub text: String,
}

/// The server under test.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TargetSpec {
    /// Base URL including the API prefix: `http://127.0.0.1:8000/v1`. Holds no user or password.
    pub base_url: String,
    /// Which API.
    pub api: Api,
    /// The file that describes it; absent for an API that the program knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_file: Option<ApiFile>,
    /// Path that the requests of such an API go to, from the server's root on, without its query.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Model name sent with each request.
    pub model: String,
    /// Name of the environment variable that held the key; the key itself is never stored.
    pub api_key_env: Option<String>,
    /// Names and values of extra headers. Values of headers that look secret are masked.
    pub headers: BTreeMap<String, String>,
    /// Fields merged into each request body.
    pub extra_body: serde_json::Map<String, serde_json::Value>,
    /// Whether the certificate check was switched off.
    pub insecure_tls: bool,
    /// Whether answers are streamed.
    pub stream: bool,
    /// Whether each request opens its own connection, inside its own time.
    pub fresh_connections: bool,
    /// Whether each request carried its id in the header `X-Request-Id`: that of the run, a hyphen,
    /// and its `seq`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub request_ids: bool,
    /// Whether what the model thought goes back into its conversations, in the API's own field.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub echo_reasoning: bool,
    /// Names and values of the headers that identify the session of a turn: `{session}` in a value
    /// is replaced by the id of the run, a hyphen and the session's number, and for a sub-agent
    /// another hyphen and its own. Values of headers that look secret are masked.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub session_headers: BTreeMap<String, String>,
}

impl TargetSpec {
    /// Where requests go, for people: the base URL, or of an API that a file describes the URL itself.
    pub fn address(&self) -> Cow<'_, str> {
        let Some(path) = &self.path else { return Cow::Borrowed(&self.base_url) };
        let host_at = self.base_url.find("://").map_or(0, |at| at + "://".len());
        let (scheme, rest) = self.base_url.split_at(host_at);
        let host = rest.split('/').next().unwrap_or_default();
        Cow::Owned(format!("{scheme}{host}{path}"))
    }

    /// The API in words; of one that a file describes, its name and the beginning of its SHA-256.
    pub fn api_words(&self) -> String {
        const SHOWN: usize = 8;
        let word = self.api.word();
        match &self.api_file {
            None => word.to_owned(),
            Some(file) => {
                let sum: String = file.sha256.chars().take(SHOWN).collect();
                format!("{word}:{} ({sum})", file.name)
            }
        }
    }
}

/// What is sent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WorkloadSpec {
    /// Kind of workload: `random`, `sharegpt`.
    pub kind: String,
    /// The workload as it was typed; absent in runs of format 1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Longest prompt asked for, tokens; absent where it was not counted.
    pub prompt_tokens: Option<u32>,
    /// Most output tokens asked for; absent where the server decides.
    pub output_tokens: Option<u32>,
    /// Tokens that all prompts share at their start.
    pub shared_prefix_tokens: u32,
    /// Whether the server is asked to continue past its end-of-text token.
    pub ignore_eos: bool,
    /// Sampling temperature, if sent.
    pub temperature: Option<f64>,
    /// Name of the tokenizer that made the prompts.
    pub tokenizer: String,
    /// SHA-256 of that tokenizer.
    pub tokenizer_sha256: String,
    /// Seed of the workload.
    pub seed: u64,
    /// The classes of mixed traffic, by the index that requests have; empty for one workload alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub classes: Vec<TrafficClass>,
    /// Who counted the prompt lengths that were asked for; absent in runs of earlier versions,
    /// where a tokenizer did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt_lengths: Option<PromptLengths>,
    /// Tokens of prompt and answer together above which a session ends instead of sending its next
    /// turn; absent where only the server's own limit ends it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_context_tokens: Option<u32>,
    /// Time from one turn of a user to the next, seconds, whatever the workload's pauses are; absent
    /// where these hold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cadence_s: Option<f64>,
    /// The forms that answers are to have, by the index that requests have; empty where all answers
    /// are free.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub forms: Vec<FormSpec>,
    /// The probe during the load; absent where there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probe: Option<ProbeSpec>,
}

impl WorkloadSpec {
    /// The share of requests whose answers are free, 0 to 1.
    pub fn free_share(&self) -> f64 {
        let asked: f64 = self.forms.iter().map(|form| form.share).sum();
        (1.0 - asked).max(0.0)
    }
}

/// A probe: small requests of another workload, one at a time over a connection of their own, which
/// show what the load does to a bystander. They are in no metric of a level.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProbeSpec {
    /// Index of its class in the workload.
    pub class: u16,
    /// From the end of one of its requests to the start of the next, seconds.
    pub pause_s: f64,
    /// Seed of its prompts.
    pub seed: u64,
    /// Whether the server was asked to go on past its end-of-text token.
    pub ignore_eos: bool,
    /// Who counted the prompt lengths of its workload; absent where they were not made by length, and
    /// in runs of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt_lengths: Option<PromptLengths>,
}

/// One class of mixed traffic.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TrafficClass {
    /// Its name.
    pub name: String,
    /// Its share of the requests, or of the conversations, 0 to 1; each is drawn independently.
    pub share: f64,
    /// The model that it asks for; absent where it is that of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Its workload, as it was typed.
    pub workload: String,
}

/// Who counts the tokens of a prompt that is to have a given length.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum LengthCounter {
    /// The tokenizer of the run: the text is exact, and what the server's chat template adds comes
    /// on top.
    Tokenizer,
    /// The server: text was made so long that what it counts, its chat template included, is what
    /// was asked.
    ServerCalibrated,
}

/// How prompt lengths came about.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PromptLengths {
    /// Who counted.
    pub counted_by: LengthCounter,
    /// How the server's count was found out; absent where it was not asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calibration: Option<Calibration>,
    /// Why the server's count could not be found out although lengths were to follow it; absent where
    /// it was found out or not needed, and in runs of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// Tokens that the server adds to each prompt, measured before the run although the tokenizer
    /// counted; absent where it was not measured, and in runs of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub template_tokens: Option<u32>,
}

impl PromptLengths {
    /// Lengths by the run's tokenizer, with nothing known of what the server adds.
    pub const fn by_tokenizer() -> PromptLengths {
        PromptLengths {
            counted_by: LengthCounter::Tokenizer,
            calibration: None,
            failure: None,
            template_tokens: None,
        }
    }
}

/// The server's count of prompt tokens against that of the run's tokenizer, found out by requests
/// before the run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Calibration {
    /// Tokens that the server adds to each prompt: its chat template, and marks of begin and end.
    pub template_tokens: u32,
    /// Tokens that the server counts for one token of the run's tokenizer, the template apart.
    pub ratio: f64,
    /// Requests that it took.
    pub requests: u32,
    /// Mean of (counted / asked - 1) over prompts of the length asked for, made by the two numbers
    /// above; absent where none was counted.
    pub error_share: Option<f64>,
}

/// How the requests of an open loop are spaced, at a rate of one per unit of time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ArrivalLaw {
    /// All gaps alike; the first request goes at once.
    Constant,
    /// Independent arrivals: gaps of an exponential law.
    Poisson,
    /// Gaps of a gamma law of this shape, above 0: below 1 they come in bunches, 1 is Poisson,
    /// above they are more even. vLLM calls the shape burstiness.
    Gamma(f64),
    /// This many at once, at least 1, then a pause that keeps the rate.
    Burst(u32),
    /// The times that the workload itself has recorded, sped up by this factor, above 0.
    Replay(f64),
}

/// How the rate goes from its start to its end within a stretch.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum RateCurve {
    /// By the same amount each second.
    #[default]
    Linear,
    /// By the same factor each second.
    Exponential,
}

/// A period with its own rate.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RateStretch {
    /// Requests per second at its start, above 0.
    pub from_req_per_s: f64,
    /// Requests per second at its end, above 0.
    pub to_req_per_s: f64,
    /// The way between the two.
    #[serde(default)]
    pub curve: RateCurve,
    /// How long it lasts; absent for a step without an end, whose rate does not change.
    pub seconds: Option<f64>,
}

/// When requests of an open loop are due: nothing waits for an answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ArrivalSpec {
    /// How they are spaced.
    pub law: ArrivalLaw,
    /// The rate, stretch after stretch.
    pub stretches: Vec<RateStretch>,
    /// Seed of the gaps.
    pub seed: u64,
}

impl ArrivalSpec {
    /// Mean rate over all stretches that have an end, or that of the only one, requests per
    /// second; absent without a stretch.
    pub fn mean_req_per_s(&self) -> Option<f64> {
        let (mut requests, mut seconds) = (0.0, 0.0);
        for stretch in &self.stretches {
            let lasts = stretch.seconds.unwrap_or(1.0);
            requests += stretch.requests_in(lasts);
            seconds += lasts;
        }
        (seconds > 0.0).then(|| requests / seconds)
    }

    /// The rate where it is one for the whole time, requests per second; absent for ramps and steps,
    /// and without a stretch.
    pub fn constant_req_per_s(&self) -> Option<f64> {
        let rate = self.stretches.first()?.from_req_per_s;
        let is_flat =
            |stretch: &RateStretch| stretch.from_req_per_s == rate && stretch.to_req_per_s == rate;
        self.stretches.iter().all(is_flat).then_some(rate)
    }
}

impl RateStretch {
    /// Requests that are expected within the whole stretch if it lasts so long: the integral of
    /// the rate.
    pub fn requests_in(&self, seconds: f64) -> f64 {
        let (from, to) = (self.from_req_per_s, self.to_req_per_s);
        match self.curve {
            RateCurve::Exponential if from != to => seconds * (to - from) / (to / from).ln(),
            _ => seconds * (from + to) / 2.0,
        }
    }
}

/// When the requests of one level are sent. Without arrivals it is a closed loop: a slot sends its
/// next request when the previous one ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LoadSpec {
    /// Requests in flight; with arrivals, at most.
    pub concurrency: u32,
    /// When requests are due, in an open loop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arrivals: Option<ArrivalSpec>,
    /// Requests to measure; absent when the duration alone ends the level.
    pub requests: Option<u32>,
    /// Seconds to send for; absent when the number of requests alone ends the level.
    pub duration_s: Option<f64>,
    /// Whole conversations to measure; absent where something else ends the level.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sessions: Option<u32>,
    /// Requests sent before the measurement.
    pub warmup_requests: u32,
    /// What may end the level before that; absent where nothing may.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub early_end: Option<EarlyEnd>,
    /// Whether the level only shows a search where to measure: it has few requests, and no verdict
    /// is based on it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub scout: bool,
}

/// What ends a level before its number of requests or its duration: enough evidence.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EarlyEnd {
    /// Half the width of the 95 % intervals of the mean gap and of the median TTFT, as a share of
    /// the value, at or below which the level is settled; absent where that does not end it.
    pub settled_share: Option<f64>,
    /// Whether a latency target that is surely missed, or more failures than any target allows,
    /// end it.
    pub at_broken_target: bool,
    /// Measured requests that have to be finished first.
    pub requests_min: u32,
    /// Seconds that have to pass first, from the first measured request.
    pub seconds_min: f64,
}

/// Time limits of one request, seconds; absent means none.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LimitSpec {
    /// TCP and TLS handshake.
    pub connect_s: Option<f64>,
    /// Start to first token-bearing byte of the body.
    pub first_token_s: Option<f64>,
    /// Silence within the stream.
    pub idle_s: Option<f64>,
    /// Whole request.
    pub total_s: Option<f64>,
}

/// Everything that was asked, resolved.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunSpec {
    /// The server.
    pub target: TargetSpec,
    /// The prompts.
    pub workload: WorkloadSpec,
    /// The levels, in the order in which they run.
    pub levels: Vec<LoadSpec>,
    /// Time limits.
    pub limits: LimitSpec,
    /// The latency target that the answers refer to.
    pub slo: SloSpec,
    /// Whether generated text is stored.
    pub keep_text: bool,
    /// Pause between two levels, seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cooldown_s: Option<f64>,
    /// Time for all levels together, seconds: at its end nothing more is sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget_s: Option<f64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_api_has_a_word_of_its_own_that_reads_back() {
        for (position, api) in Api::ALL.into_iter().enumerate() {
            let stored = serde_json::to_string(&api).unwrap();
            assert_eq!(stored, format!("\"{}\"", api.word()));
            assert_eq!(serde_json::from_str::<Api>(&stored).unwrap(), api);
            let first = Api::ALL.iter().position(|other| other.word() == api.word());
            assert_eq!(first, Some(position));
        }
        assert!(serde_json::from_str::<Api>("\"grpc\"").is_err());
    }

    #[test]
    fn an_address_is_where_requests_go() {
        let target = |base_url: &str, path: Option<&str>| {
            let stored = serde_json::json!({
                "base_url": base_url, "api": "chat", "path": path, "model": "m", "api_key_env": null,
                "headers": {}, "extra_body": {}, "insecure_tls": false, "stream": true,
                "fresh_connections": false,
            });
            serde_json::from_value::<TargetSpec>(stored).unwrap().address().into_owned()
        };
        for (base_url, path, expect) in [
            ("http://h:8000/v1", None, "http://h:8000/v1"),
            ("http://h:8000/v1", Some("/v1beta/models/m:go"), "http://h:8000/v1beta/models/m:go"),
            ("https://h/v1/projects/p/v1", Some("/v1/projects/p/go"), "https://h/v1/projects/p/go"),
            ("https://h", Some("/go"), "https://h/go"),
        ] {
            assert_eq!(target(base_url, path), expect);
        }
    }

    #[test]
    fn an_api_of_a_file_is_stored_with_what_tells_it_from_others() {
        let api = Api::Custom(FileId([0, 1, 2, 3, 4, 5, 6, 0xff]));
        let stored = serde_json::to_string(&api).unwrap();
        assert_eq!(stored, "\"custom:00010203040506ff\"");
        assert_eq!(serde_json::from_str::<Api>(&stored).unwrap(), api);
        assert!(api.generates() && api.word() == "custom" && !Api::ALL.contains(&api));
        for wrong in ["custom", "custom:", "custom:12", "custom:+0010203040506ff"] {
            assert!(serde_json::from_str::<Api>(&format!("\"{wrong}\"")).is_err(), "{wrong}");
        }
    }
}
