//! Which benchmark wrote a result, and what it means by its numbers.

use super::super::words::{
    CONNECTS, CONNECTS_ALWAYS, CONNECTS_TO_THE_END, PIECES, PIECES_AND_END, SPREAD, TO_THE_END,
    TPOT_LAST_CHUNK, TPOT_ROLE, TPOT_TO_THE_END, WHOLE_RUN,
};
use ifm_core::Metric;
use ifm_core::sheet::meaning::RETOKENIZED;
use ifm_core::sheet::{Definition, Figure, Remark, RemarkKind, Row, Statistic, key};

/// A serving benchmark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// `vllm bench serve`.
    Vllm,
    /// The same of vLLM's client in Rust.
    VllmRust,
    /// `sglang.bench_serving`.
    Sglang,
    /// The same of SGLang's client in Rust.
    SglangRust,
    /// `benchmark_serving` of TensorRT-LLM.
    TensorRt,
}

/// How an answer's stream is read, as the tool's backend says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Api {
    Chat,
    Completions,
    Native,
    Unknown,
}

impl Api {
    fn of(backend: Option<&str>) -> Api {
        match backend {
            Some(backend) if backend.contains("chat") => Api::Chat,
            Some("openai" | "vllm" | "sglang-oai" | "lmdeploy") => Api::Completions,
            Some("sglang" | "sglang-native") => Api::Native,
            _ => Api::Unknown,
        }
    }
}

/// Times that are above zero wherever they were measured.
const TIMES: [Metric; 4] = [Metric::Ttft, Metric::Tpot, Metric::Itl, Metric::E2e];

const ROLE: &str = "to the first chunk of any kind, also one with a role and no text";
const LAST_CHUNK: &str = "to the last chunk, the one that ends the answer among them";
const AGAIN: &str = "tokens of the texts of the answers, tokenized again by the client";
const REQUESTED: &str = "the number that was asked for, where the server did not count";
/// Meaning of prompt tokens per kind of media: video tokens are included in image tokens.
const PROCESSOR: &str = "counted by the client, which runs the model's processor with and without the \
    images: what the server read may differ";
const WHOLE_RUN_INFO: &str = "over the whole run, ramp, drain and questions about the server in \
    it; only requests that succeeded";

impl Dialect {
    /// Its name.
    pub fn tool(self) -> &'static str {
        match self {
            Dialect::Vllm => "vllm bench serve",
            Dialect::VllmRust => "vllm bench serve, Rust client",
            Dialect::Sglang => "sglang.bench_serving",
            Dialect::SglangRust => "sglang.bench_serving, Rust client",
            Dialect::TensorRt => "TensorRT-LLM benchmark_serving",
        }
    }

    /// Adds the tool's definition to each figure of a row. Zeros that mean "not measured" lose
    /// their value, and figures of media are removed where there is no media.
    pub fn define(self, row: &mut Row, remarks: &mut Vec<Remark>) {
        for quantity in TIMES {
            unmeasured(quantity, row, remarks);
        }
        without_media(row);
        not_retokenized(row);
        let api = Api::of(row.factors.get(key::ENGINE));
        for figure in &mut row.figures {
            figure.definition = self.definition(api, figure.quantity, figure.statistic);
        }
    }

    /// The first of the two clients of SGLang or the second.
    fn sglang(self) -> bool {
        matches!(self, Dialect::Sglang | Dialect::SglangRust)
    }

    fn definition(self, api: Api, quantity: Metric, statistic: Statistic) -> Definition {
        let different = |text: &str| Definition::Different(text.to_owned());
        match quantity {
            Metric::Ttft => match self {
                Dialect::Vllm => different(CONNECTS),
                Dialect::VllmRust => different(ROLE),
                Dialect::Sglang | Dialect::TensorRt => different(CONNECTS_ALWAYS),
                Dialect::SglangRust => Definition::Same,
            },
            Metric::Tpot => match (self, api) {
                (Dialect::Vllm, Api::Chat) => Definition::Same,
                (Dialect::Vllm | Dialect::TensorRt, _) => different(TPOT_LAST_CHUNK),
                (Dialect::VllmRust, _) => different(TPOT_ROLE),
                (Dialect::Sglang | Dialect::SglangRust, _) => different(TPOT_TO_THE_END),
            },
            Metric::Itl => match (self, api) {
                (Dialect::Vllm, Api::Chat) => different(PIECES),
                (Dialect::Sglang | Dialect::SglangRust, Api::Native) => different(SPREAD),
                (Dialect::Sglang | Dialect::SglangRust, _) => different(PIECES),
                _ => different(PIECES_AND_END),
            },
            Metric::E2e => match (self, api) {
                (Dialect::Vllm, Api::Chat) => different(CONNECTS),
                (Dialect::Vllm | Dialect::VllmRust | Dialect::TensorRt, _) => different(LAST_CHUNK),
                (Dialect::Sglang, _) => different(CONNECTS_TO_THE_END),
                (Dialect::SglangRust, _) => different(TO_THE_END),
            },
            Metric::Other(name) if name.as_str() == "e2el_including_client_queue" => {
                Definition::Different("end to end from the due time".to_owned())
            }
            Metric::Other(name) if name.as_str() == RETOKENIZED => different(AGAIN),
            Metric::OutputTokens if self.sglang() => different(REQUESTED),
            Metric::OutputRate | Metric::TotalRate if self.sglang() => {
                Definition::Different(format!("{WHOLE_RUN_INFO}; tokens: {REQUESTED}"))
            }
            Metric::InputRate | Metric::RequestRate | Metric::Goodput if self.sglang() => {
                different(WHOLE_RUN_INFO)
            }
            Metric::TextTokens | Metric::ImageTokens => different(PROCESSOR),
            Metric::RequestRate
            | Metric::LevelRtfx
            | Metric::InputRate
            | Metric::OutputRate
            | Metric::TotalRate
            | Metric::Goodput => different(WHOLE_RUN),
            Metric::InFlight if self.sglang() => Definition::Derivable(
                "sum of the end-to-end times over the duration: the mean of the whole run"
                    .to_owned(),
            ),
            Metric::PeakInFlight => different(
                "requests of which any part lies in the busiest second, not at one moment",
            ),
            Metric::PeakOutputRate => different("pieces of answers in the busiest second"),
            Metric::UserSpeed if statistic == Statistic::Value => {
                different("mean over requests of tokens over end-to-end time")
            }
            _ => Definition::Same,
        }
    }
}

/// Vision tokens and RTFx are zero where prompts are only text: then they are not figures, and the
/// text tokens are all prompt tokens.
fn without_media(row: &mut Row) {
    let none = |row: &Row, quantity: Metric| {
        row.value(quantity, Statistic::Value).is_none_or(|value| value == 0.0)
    };
    let mut absent = Vec::new();
    if none(row, Metric::ImageTokens) {
        absent.extend([Metric::TextTokens, Metric::ImageTokens]);
    }
    if none(row, Metric::LevelRtfx) {
        absent.push(Metric::LevelRtfx);
    }
    row.figures.retain(|figure| !absent.contains(&figure.quantity));
}

/// Zero is written where the texts of the answers were not tokenized again: then there is no figure.
fn not_retokenized(row: &mut Row) {
    let again = Metric::other(RETOKENIZED);
    let has_output = row.value(Metric::OutputTokens, Statistic::Value) != Some(0.0);
    let is_placeholder = |figure: &Figure| figure.quantity == again && figure.value == Some(0.0);
    row.figures.retain(|figure| !(has_output && is_placeholder(figure)));
}

/// Where all figures of a time are zero, none was measured: no request succeeded, or the answers
/// did not come in pieces.
fn unmeasured(quantity: Metric, row: &mut Row, remarks: &mut Vec<Remark>) {
    let mut figures: Vec<_> =
        row.figures.iter_mut().filter(|figure| figure.quantity == quantity).collect();
    if figures.is_empty() || figures.iter().any(|figure| figure.value != Some(0.0)) {
        return;
    }
    figures.iter_mut().for_each(|figure| figure.value = None);
    let word = format!("{quantity:?}").to_uppercase();
    remarks.push(Remark {
        kind: RemarkKind::Missing,
        place: row.place.clone(),
        text: format!("{word}: nothing was measured, and 0 is written"),
    });
}
