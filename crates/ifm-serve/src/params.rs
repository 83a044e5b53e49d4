//! What completions and chat completions have in common: lengths, sampling, stops,
//! streaming.
//!
//! Not here: prompts (`completions`, `chat`).

use std::{
    hash::{BuildHasher as _, RandomState},
    sync::atomic::{AtomicU64, Ordering},
};

use ifm_engine::{GenerateRequest, Sampling};
use serde_json::Value;

use crate::{error::ApiError, fields::Fields, form::Form};

/// Most stop strings, and most bytes of each. OpenAI allows four; each one costs time
/// for every token.
const STOPS_MAX: usize = 16;
const STOP_BYTES_MAX: usize = 1024;

/// The common parameters of a request.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Params {
    pub(crate) max_tokens: Option<usize>,
    min_tokens: usize,
    ignore_eos: bool,
    stop: Vec<String>,
    sampling: Sampling,
    /// The form that the answer is to have.
    pub(crate) form: Option<Form>,
    pub(crate) stream: Option<StreamParams>,
}

/// How a stream is to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StreamParams {
    /// A last event with the usage.
    pub(crate) include_usage: bool,
    /// The usage so far with every event.
    pub(crate) continuous_usage: bool,
}

impl StreamParams {
    /// The same without any usage.
    pub(crate) fn without_usage(self) -> Self {
        Self { include_usage: false, continuous_usage: false }
    }
}

impl Params {
    pub(crate) fn read(fields: &Fields) -> Result<Self, ApiError> {
        for name in ["n", "best_of"] {
            fields.refuse(name, |value| value == 1)?;
        }
        // Zero log probabilities, or none, are what every answer has.
        fields.refuse("logprobs", |value| value == false)?;
        fields.refuse("top_logprobs", |value| value == 0)?;
        fields.refuse("echo", |value| value == false)?;
        fields.refuse("suffix", |value| value == "")?;
        let max_tokens = match fields.count("max_completion_tokens")? {
            Some(tokens) => Some(tokens),
            None => fields.count("max_tokens")?,
        };
        if max_tokens == Some(0) {
            return Err(ApiError::field("max_tokens", "`max_tokens` must be at least 1."));
        }
        let min_tokens = fields.count("min_tokens")?.unwrap_or(0);
        if max_tokens.is_some_and(|most| min_tokens > most) {
            let message = "`min_tokens` must not be greater than `max_tokens`.";
            return Err(ApiError::field("min_tokens", message));
        }
        Ok(Self {
            max_tokens,
            min_tokens,
            ignore_eos: fields.flag("ignore_eos")?,
            stop: read_stop(fields)?,
            sampling: read_sampling(fields)?,
            form: Form::read(fields)?,
            stream: read_stream(fields)?,
        })
    }

    /// Whether the answer is to go on past its end.
    pub(crate) fn goes_on(&self) -> bool {
        self.ignore_eos
    }

    /// The seed of what is drawn for the answer.
    pub(crate) fn seed(&self) -> u64 {
        self.sampling.seed
    }

    /// A request to the backend for just so many tokens, whatever they say.
    pub(crate) fn request_of(&self, prompt: Vec<u32>, tokens: usize) -> GenerateRequest {
        GenerateRequest {
            prompt,
            max_tokens: tokens,
            min_tokens: tokens,
            ignore_eos: true,
            stop: Vec::new(),
            sampling: self.sampling,
        }
    }

    /// The request to the backend.
    pub(crate) fn request(&self, prompt: Vec<u32>, max_tokens: usize) -> GenerateRequest {
        GenerateRequest {
            prompt,
            max_tokens,
            min_tokens: self.min_tokens,
            ignore_eos: self.ignore_eos,
            stop: self.stop.clone(),
            sampling: self.sampling,
        }
    }
}

fn read_stop(fields: &Fields) -> Result<Vec<String>, ApiError> {
    let error = |message: String| ApiError::field("stop", message);
    let stops = match fields.value("stop") {
        None => Vec::new(),
        Some(Value::String(stop)) => vec![stop.clone()],
        Some(Value::Array(stops)) => stops
            .iter()
            .map(|stop| stop.as_str().map(str::to_owned))
            .collect::<Option<_>>()
            .ok_or_else(|| error("`stop` must be a string or a list of strings.".to_owned()))?,
        Some(_) => {
            return Err(error("`stop` must be a string or a list of strings.".to_owned()));
        }
    };
    if stops.len() > STOPS_MAX || stops.iter().any(|stop| stop.len() > STOP_BYTES_MAX) {
        return Err(error(format!(
            "`stop` may have {STOPS_MAX} strings of {STOP_BYTES_MAX} bytes each."
        )));
    }
    if stops.iter().any(String::is_empty) {
        return Err(error("`stop` must not have an empty string.".to_owned()));
    }
    Ok(stops)
}

fn read_sampling(fields: &Fields) -> Result<Sampling, ApiError> {
    let temperature = fields.number("temperature")?.unwrap_or(1.0);
    if !(0.0..=100.0).contains(&temperature) {
        let message = format!("`temperature` must be from 0 to 100, got {temperature}.");
        return Err(ApiError::field("temperature", message));
    }
    let top_p = fields.number("top_p")?.unwrap_or(1.0);
    if !(top_p > 0.0 && top_p <= 1.0) {
        let message = format!("`top_p` must be above 0 and at most 1, got {top_p}.");
        return Err(ApiError::field("top_p", message));
    }
    let seed = fields.seed("seed")?.unwrap_or_else(random_seed);
    Ok(Sampling { temperature: temperature as f32, top_p: top_p as f32, seed })
}

fn read_stream(fields: &Fields) -> Result<Option<StreamParams>, ApiError> {
    let options = fields.object("stream_options")?;
    if !fields.flag("stream")? {
        if options.is_some() {
            let message = "`stream_options` is only allowed when `stream` is true.";
            return Err(ApiError::field("stream_options", message));
        }
        return Ok(None);
    }
    let flag = |name| options.as_ref().map_or(Ok(false), |options| options.flag(name));
    Ok(Some(StreamParams {
        include_usage: flag("include_usage")?,
        continuous_usage: flag("continuous_usage_stats")?,
    }))
}

/// Another seed for each request that names none.
fn random_seed() -> u64 {
    static REQUESTS: AtomicU64 = AtomicU64::new(0);
    // The standard library keys its hashers with the system's randomness.
    RandomState::new().hash_one(REQUESTS.fetch_add(1, Ordering::Relaxed))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> Result<Params, ApiError> {
        Params::read(&Fields::parse(json.as_bytes()).expect("an object"))
    }

    #[test]
    fn defaults_are_those_of_the_api() {
        let params = read(r#"{"user": "x", "top_k": 5, "stop": null}"#).expect("fine");
        assert_eq!((params.max_tokens, params.min_tokens, params.ignore_eos), (None, 0, false));
        assert_eq!((params.sampling.temperature, params.sampling.top_p), (1.0, 1.0));
        assert_eq!((params.stop.len(), params.stream), (0, None));
        let other = read("{}").expect("fine");
        assert_ne!(params.sampling.seed, other.sampling.seed);
    }

    #[test]
    fn fields_are_read() {
        let params = read(
            r#"{"max_tokens": 5, "max_completion_tokens": 7, "min_tokens": 7, "seed": -1,
                "stop": ["a", "b"], "temperature": 0, "top_p": 0.5, "stream": true, "n": 1,
                "stream_options": {"include_usage": true, "continuous_usage_stats": true},
                "ignore_eos": true, "logprobs": false, "response_format": {"type": "text"}}"#,
        )
        .expect("fine");
        assert_eq!((params.max_tokens, params.min_tokens, params.ignore_eos), (Some(7), 7, true));
        assert_eq!(params.sampling, Sampling { temperature: 0.0, top_p: 0.5, seed: u64::MAX });
        assert_eq!(params.stop, ["a", "b"]);
        let stream = StreamParams { include_usage: true, continuous_usage: true };
        assert_eq!(params.stream, Some(stream));
    }

    #[test]
    fn what_makes_no_sense_is_named() {
        let cases = [
            (r#"{"n": 2}"#, "n"),
            (r#"{"best_of": 3}"#, "best_of"),
            (r#"{"logprobs": 5}"#, "logprobs"),
            (r#"{"echo": true}"#, "echo"),
            (r#"{"response_format": {"type": "xml"}}"#, "response_format"),
            (r#"{"max_tokens": "many"}"#, "max_tokens"),
            (r#"{"max_tokens": -1}"#, "max_tokens"),
            (r#"{"max_tokens": 1.5}"#, "max_tokens"),
            (r#"{"max_tokens": 0}"#, "max_tokens"),
            (r#"{"max_tokens": 3, "min_tokens": 4}"#, "min_tokens"),
            (r#"{"temperature": "hot"}"#, "temperature"),
            (r#"{"temperature": -0.1}"#, "temperature"),
            (r#"{"top_p": 0}"#, "top_p"),
            (r#"{"top_p": 1.1}"#, "top_p"),
            (r#"{"seed": 0.5}"#, "seed"),
            (r#"{"stop": 5}"#, "stop"),
            (r#"{"stop": [5]}"#, "stop"),
            (r#"{"stop": ""}"#, "stop"),
            (r#"{"stream": 1}"#, "stream"),
            (r#"{"stream_options": {}}"#, "stream_options"),
            (r#"{"stream": true, "stream_options": {"include_usage": 1}}"#, "include_usage"),
            (r#"{"ignore_eos": "yes"}"#, "ignore_eos"),
        ];
        for (json, field) in cases {
            let error = read(json).expect_err(json).to_json();
            assert_eq!(error["error"]["param"], field, "{json}");
            assert!(error["error"]["message"].as_str().is_some_and(|text| text.contains(field)));
        }
        let stops = format!(r#"{{"stop": {:?}}}"#, vec!["x"; 17]);
        assert!(read(&stops).is_err());
    }
}
