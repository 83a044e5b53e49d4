//! What a figure measures, and in which unit it was written.

use serde::{Deserialize, Serialize};

/// What a figure measures, with its canonical unit.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Quantity {
    /// Time to first token, ms.
    Ttft,
    /// Time to the first token that is not reasoning, ms.
    Ttfot,
    /// Gap between tokens or pieces, ms; one value per gap.
    Itl,
    /// Time per output token, ms; one value per request.
    Tpot,
    /// End-to-end time of a request, ms.
    E2e,
    /// End-to-end time divided by the output tokens, ms.
    NormalizedLatency,
    /// Time between being due or queued in the client and being sent, ms.
    ClientQueue,
    /// Time of the whole prompt in an engine, ms.
    PrefillTime,
    /// Duration of a measurement, ms.
    Duration,
    /// Time of one kernel call, ms.
    KernelTime,
    /// Finished requests per second.
    RequestRate,
    /// Requests per second inside the latency target.
    Goodput,
    /// Prompt tokens per second.
    InputRate,
    /// Output tokens per second.
    OutputRate,
    /// Prompt and output tokens per second.
    TotalRate,
    /// Largest output rate of a second, tokens per second.
    PeakOutputRate,
    /// Output tokens per second that one user sees.
    UserRate,
    /// Prompt tokens per second of an engine.
    PrefillRate,
    /// Generated tokens per second of an engine.
    DecodeRate,
    /// Requests in flight.
    InFlight,
    /// Largest number of requests in flight.
    PeakInFlight,
    /// Requests that were sent.
    Requests,
    /// Requests that succeeded.
    RequestsOk,
    /// Requests that failed.
    RequestsFailed,
    /// Requests that were cut off by the end.
    RequestsIncomplete,
    /// Prompt tokens.
    InputTokens,
    /// Output tokens.
    OutputTokens,
    /// Prompt and output tokens.
    TotalTokens,
    /// Reasoning tokens.
    ReasoningTokens,
    /// Prompt tokens that came from a cache.
    CachedTokens,
    /// Text tokens of prompts that carry media.
    TextTokens,
    /// Prompt tokens that images became.
    ImageTokens,
    /// Prompt tokens that audio became.
    AudioTokens,
    /// Prompt tokens that videos became.
    VideoTokens,
    /// Images in prompts.
    Images,
    /// Pixels of the images and video frames in prompts.
    Pixels,
    /// Length of the audio in prompts, ms.
    AudioLength,
    /// Images per second, over a whole run or window.
    ImageRate,
    /// Pixels of images and video frames per second, likewise.
    PixelRate,
    /// Seconds of audio in prompts per second, likewise: RTFx of all requests together.
    AudioRate,
    /// Seconds of audio in a prompt over its end-to-end time in seconds; one value per request.
    Rtfx,
    /// Time to the first byte of audio in an answer, ms.
    Ttfa,
    /// End-to-end time over the length of the audio in the answer; one value per request.
    Rtf,
    /// Time in which a listener hears nothing, ms; one value per request.
    Silence,
    /// Tokens accepted per step of speculative decoding.
    AcceptLength,
    /// Share of the ideal, such as scaling efficiency.
    Efficiency,
    /// Share of failed requests.
    ErrorRate,
    /// Share of requests inside the latency target.
    Attainment,
    /// Power, W.
    Power,
    /// Energy, J.
    Energy,
    /// Energy per output token, J.
    EnergyPerToken,
    /// Memory, bytes; of a training run that of its GPUs.
    Memory,
    /// Memory of the host that the processes of a command use, bytes.
    HostMemory,
    /// Steps of a command per second, such as training steps.
    StepRate,
    /// Memory traffic, bytes per second.
    Bandwidth,
    /// Arithmetic, floating-point operations per second.
    FlopRate,
    /// Share of a block mask that is empty.
    Sparsity,
    /// Parameters of a model.
    Parameters,
    /// Price of a million tokens, US dollars.
    CostPerMillion,
    /// Ratio or factor between two figures.
    Ratio,
    /// Place in a ranking.
    Rank,
    /// Something else, by the name that the file gives it.
    Other(String),
}

/// A unit as it was written.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Nanoseconds.
    Ns,
    /// Microseconds.
    Us,
    /// Milliseconds.
    Ms,
    /// Seconds.
    S,
    /// Minutes.
    Min,
    /// Hours.
    H,
    /// Something per second: tokens, requests.
    PerS,
    /// Something per minute.
    PerMin,
    /// Something per hour.
    PerH,
    /// A number of things.
    Count,
    /// A share between 0 and 1, a ratio.
    One,
    /// Hundredths.
    Percent,
    /// Watts.
    W,
    /// Joules.
    J,
    /// Bytes.
    Bytes,
    /// 2^20 bytes.
    MiB,
    /// 2^30 bytes.
    GiB,
    /// 10^9 bytes.
    Gb,
    /// 10^9 bytes per second.
    GbPerS,
    /// 10^12 floating-point operations per second.
    TflopPerS,
    /// 10^6 things, as in millions of parameters.
    Million,
    /// 10^9 things, as in billions of parameters.
    Billion,
    /// US dollars.
    Usd,
    /// Another, as written; such figures have no canonical value.
    Other(String),
}

impl Unit {
    /// What one of it is in the canonical unit of its kind: ms for times, per second for rates,
    /// bytes for sizes, shares for percentages. Absent for a unit that is not known.
    pub fn factor(&self) -> Option<f64> {
        Some(match self {
            Unit::Ns => 1e-6,
            Unit::Us => 1e-3,
            Unit::Ms => 1.0,
            Unit::S => 1e3,
            Unit::Min => 60e3,
            Unit::H => 3600e3,
            Unit::PerS | Unit::Count | Unit::One => 1.0,
            Unit::PerMin => 1.0 / 60.0,
            Unit::PerH => 1.0 / 3600.0,
            Unit::Percent => 0.01,
            Unit::W | Unit::J | Unit::Bytes | Unit::Usd => 1.0,
            Unit::MiB => 1_048_576.0,
            Unit::GiB => 1_073_741_824.0,
            Unit::Million => 1e6,
            Unit::Gb | Unit::GbPerS | Unit::Billion => 1e9,
            Unit::TflopPerS => 1e12,
            Unit::Other(_) => return None,
        })
    }
}

impl std::fmt::Display for Quantity {
    /// The name that a sentence uses.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Quantity::Ttft => "TTFT",
            Quantity::Ttfot => "time to first answer token",
            Quantity::Itl => "ITL",
            Quantity::Tpot => "TPOT",
            Quantity::E2e => "end-to-end latency",
            Quantity::NormalizedLatency => "latency per output token",
            Quantity::ClientQueue => "time in the client's queue",
            Quantity::PrefillTime => "prefill time",
            Quantity::Duration => "duration",
            Quantity::KernelTime => "kernel time",
            Quantity::RequestRate => "requests per second",
            Quantity::Goodput => "goodput",
            Quantity::InputRate => "input throughput",
            Quantity::OutputRate => "output throughput",
            Quantity::TotalRate => "total throughput",
            Quantity::PeakOutputRate => "peak output throughput",
            Quantity::UserRate => "decode speed per user",
            Quantity::PrefillRate => "prefill speed",
            Quantity::DecodeRate => "decode speed",
            Quantity::InFlight => "requests in flight",
            Quantity::PeakInFlight => "peak requests in flight",
            Quantity::Requests => "requests",
            Quantity::RequestsOk => "successful requests",
            Quantity::RequestsFailed => "failed requests",
            Quantity::RequestsIncomplete => "incomplete requests",
            Quantity::InputTokens => "input tokens",
            Quantity::OutputTokens => "output tokens",
            Quantity::TotalTokens => "total tokens",
            Quantity::ReasoningTokens => "reasoning tokens",
            Quantity::CachedTokens => "cached tokens",
            Quantity::TextTokens => "text tokens",
            Quantity::ImageTokens => "image tokens",
            Quantity::AudioTokens => "audio tokens",
            Quantity::VideoTokens => "video tokens",
            Quantity::Images => "images",
            Quantity::Pixels => "pixels",
            Quantity::AudioLength => "audio length",
            Quantity::ImageRate => "images per second",
            Quantity::PixelRate => "pixels per second",
            Quantity::AudioRate => "RTFx of the level",
            Quantity::Rtfx => "RTFx of a request",
            Quantity::Ttfa => "time to first audio",
            Quantity::Rtf => "RTF",
            Quantity::Silence => "silence",
            Quantity::AcceptLength => "accept length",
            Quantity::Efficiency => "efficiency",
            Quantity::ErrorRate => "error rate",
            Quantity::Attainment => "attainment",
            Quantity::Power => "power",
            Quantity::Energy => "energy",
            Quantity::EnergyPerToken => "energy per token",
            Quantity::Memory => "memory",
            Quantity::HostMemory => "host memory",
            Quantity::StepRate => "steps per second",
            Quantity::Bandwidth => "memory bandwidth",
            Quantity::FlopRate => "arithmetic rate",
            Quantity::Sparsity => "sparsity",
            Quantity::Parameters => "parameters",
            Quantity::CostPerMillion => "cost per million tokens",
            Quantity::Ratio => "ratio",
            Quantity::Rank => "rank",
            Quantity::Other(name) => name,
        })
    }
}
