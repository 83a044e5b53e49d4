//! What only several flags of a tool together mean: the server, the load, the workload, its files.

pub mod aiperf;
pub mod genai_bench;
pub mod guidellm;
pub mod inference_perf;
pub mod llama;
pub mod oha;
pub mod sglang;
pub mod vllm;

use super::draft::Draft;
use super::table::Given;
use ifm_core::regular::read_named_text;
use std::path::Path;

/// Largest file that a flag of another tool names, bytes.
const FILE_BYTES_MAX: u64 = 64 << 20;

/// Reads a number of a flag.
fn number(given: &Given, flag: &str) -> Result<Option<f64>, String> {
    let Some(text) = given.last(flag) else { return Ok(None) };
    match text.trim().parse::<f64>() {
        Ok(number) if !number.is_nan() => Ok(Some(number)),
        _ => Err(format!("{flag} {text} is not a number")),
    }
}

/// The whole-number value of a flag, or its default.
fn whole(given: &Given, flag: &str, default: u64) -> Result<u64, String> {
    let Some(text) = given.last(flag) else { return Ok(default) };
    text.trim().parse().map_err(|_| format!("{flag} {text} is not a whole number"))
}

/// The name of an address that listens on all of a machine's, as a client calls it.
fn host(text: &str) -> &str {
    match text {
        "0.0.0.0" | "localhost" | "::" => "127.0.0.1",
        other => other,
    }
}

/// The model as the server calls it, adapters in equal shares, and the tokenizer where it is a path.
fn model_and_tokenizer(given: &Given, draft: &mut Draft, adapters: &str) {
    if let Some(served) = given.last("--served-model-name") {
        draft.set("--model", served);
    }
    match given.all(adapters).as_slice() {
        [] => {}
        [adapter] => draft.set("--model", *adapter),
        several => draft.set("--model", equal_shares(several)),
    }
    match given.last("--tokenizer").or(given.last("--model")) {
        Some(name) if opens(name) => draft.assume("--tokenizer", name),
        Some(name) if given.has("--tokenizer") => draft.leave_out(
            "--tokenizer",
            format!("{name} is not on this machine; prompt lengths use the server's count, where it reports one"),
        ),
        _ => {}
    }
}

/// Several models as the value of `--model`. A name that is given twice has twice the share.
fn equal_shares(models: &[&str]) -> String {
    let mut shares: Vec<(&str, usize)> = Vec::new();
    for model in models {
        match shares.iter_mut().find(|(known, _)| known == model) {
            Some((_, share)) => *share += 1,
            None => shares.push((model, 1)),
        }
    }
    match shares.as_slice() {
        [(model, _)] => (*model).to_owned(),
        shares => {
            let each = shares.iter().map(|(model, share)| format!("{model}={share}"));
            each.collect::<Vec<_>>().join(",")
        }
    }
}

/// Whether a tokenizer can be opened without a download: a file, a folder, or a name that is known.
fn opens(name: &str) -> bool {
    const KNOWN: [&str; 5] =
        ["cl100k_base", "o200k_base", "o200k_harmony", "p50k_base", "r50k_base"];
    Path::new(name).exists() || KNOWN.contains(&name) || name.starts_with("gpt-")
}

/// Seconds of a ramp from one rate to another in which this many requests are sent, if the rate
/// grows by the same factor each second: the integral of `from * exp(t * ln(to / from) / T)` over
/// T.
fn ramp_s(from: f64, to: f64, requests: f64) -> f64 {
    match (to - from).abs() < f64::EPSILON {
        true => requests / from,
        false => requests * (to / from).ln() / (to - from),
    }
}

/// A number without needless digits.
fn plain(number: f64) -> String {
    let text = format!("{number:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A JSON object of a flag.
fn object(flag: &str, text: &str) -> Result<serde_json::Map<String, serde_json::Value>, String> {
    match serde_json::from_str(text) {
        Ok(serde_json::Value::Object(fields)) => Ok(fields),
        _ => Err(format!("{flag} is not a JSON object: {text}")),
    }
}

/// The text of a file that a flag names.
fn text_of(flag: &str, path: &str) -> Result<String, String> {
    read_named_text(Path::new(path), FILE_BYTES_MAX).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => format!("{flag} {path}: no such file or folder"),
        _ => format!("{flag} {path}: {error}"),
    })
}

/// A file of JSON or YAML.
fn document(text: &str) -> Result<serde_json::Value, String> {
    if let Ok(value) = serde_json::from_str(text) {
        return Ok(value);
    }
    ifm_interop::yaml_value(text)
}
