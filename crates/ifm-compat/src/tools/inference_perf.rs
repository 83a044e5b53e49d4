//! inference-perf, whose line names a file of fields.

use super::{plain, text_of};
use crate::draft::Draft;
use crate::table::Given;
use serde_json::{Map, Value};

/// The tool's defaults for random prompts without lengths.
const NO_LENGTHS: &str = "data.type random needs data.input_distribution and data.output_distribution with a mean, \
                          as inference-perf does";

/// What the fields mean together.
pub fn rules(given: &mut Given, draft: &mut Draft) -> Result<(), String> {
    let mut fields = match given.last("--config_file") {
        Some(path) => read(path)?,
        None if given.has("--analyze") => {
            return Err("--analyze reads reports: inferometer report FOLDER does".to_owned());
        }
        None if given.fields.is_empty() => {
            return Err(
                "inference-perf needs --config_file, or fields such as --load.type".to_owned()
            );
        }
        None => Map::new(),
    };
    for (name, value) in &given.fields {
        set(&mut fields, name, value);
    }
    let fields = Value::Object(fields);
    let at = |pointer: &str| fields.pointer(pointer);
    let text = |pointer: &str| at(pointer).and_then(Value::as_str);
    let base = text("/server/base_url").unwrap_or("http://0.0.0.0:8000");
    draft.url = Some(base.trim_end_matches('/').replace("//0.0.0.0", "//127.0.0.1"));
    if let Some(model) = text("/server/model_name") {
        draft.assume("--model", model);
    }
    if let Some(key) = text("/server/api_key").filter(|key| !key.is_empty()) {
        draft.add("--header", format!("Authorization: Bearer {key}"));
    }
    draft.assume(
        "--ignore-eos",
        at("/server/ignore_eos").and_then(Value::as_bool).unwrap_or(true).to_string(),
    );
    draft.assume(
        "--api",
        match text("/api/type").unwrap_or("completion") {
            "completion" => "completions",
            "anthropic_messages" => "messages",
            _ => "chat",
        },
    );
    if at("/api/streaming").and_then(Value::as_bool) != Some(true) {
        draft.switch("--no-stream");
    }
    if let Some(Value::Object(headers)) = at("/api/headers") {
        for (name, value) in headers {
            draft.add("--header", format!("{name}: {}", super::guidellm::text(value)));
        }
    }
    load(&fields, draft)?;
    workload(&fields, draft)?;
    if let Some(seed) = at("/load/base_seed").and_then(Value::as_u64) {
        draft.assume("--seed", seed.to_string());
    }
    for (pointer, effect) in [
        ("/load/sweep", "inferometer sweep finds where more users bring nothing by itself"),
        ("/load/lora_traffic_split", "adapters with their shares are --model a=0.5,b=0.5"),
        ("/metrics", "the server's own page is read: --metrics-url names another"),
        (
            "/storage",
            "runs go to the store; inferometer export last --as llm-d writes its report's form",
        ),
        (
            "/tokenizer",
            "prompt lengths use the server's count, where it reports one; --tokenizer names a file",
        ),
        ("/data/multimodal", "images of a prompt are options of --workload: ?image=720p"),
    ] {
        if at(pointer).is_some() {
            draft.leave_out(&pointer[1..].replace('/', "."), effect);
        }
    }
    for sentence in [
        "inference-perf ends a request after its own tokenizer has counted the answer, so that its latency \
         holds that time; here a request ends with its last token",
        "its times between tokens give all tokens of a piece one stamp, and so gaps of 0; inferometer's are gaps \
         between pieces",
        "it counts tokens with its tokenizer, inferometer uses the server's count where it reports one",
    ] {
        draft.differs(sentence);
    }
    Ok(())
}

/// The fields of a file.
fn read(path: &str) -> Result<Map<String, Value>, String> {
    match super::document(&text_of("--config_file", path)?)
        .map_err(|error| format!("{path}: {error}"))?
    {
        Value::Object(fields) => Ok(fields),
        _ => Err(format!("{path} holds no fields")),
    }
}

/// `load.stages.0.rate`-like names of a flag, set in the fields.
fn set(fields: &mut Map<String, Value>, name: &str, value: &str) {
    let value = serde_json::from_str(value).unwrap_or_else(|_| Value::from(value));
    match name.split_once('.') {
        None => drop(fields.insert(name.to_owned(), value)),
        Some((first, rest)) => {
            let inside = fields.entry(first).or_insert_with(|| Value::Object(Map::new()));
            if !inside.is_object() {
                *inside = Value::Object(Map::new());
            }
            if let Value::Object(inside) = inside {
                set(inside, rest, &value.as_str().map_or_else(|| value.to_string(), str::to_owned));
            }
        }
    }
}

fn load(fields: &Value, draft: &mut Draft) -> Result<(), String> {
    let kind = fields.pointer("/load/type").and_then(Value::as_str).unwrap_or("constant");
    let none = Vec::new();
    let stages = fields.pointer("/load/stages").and_then(Value::as_array).unwrap_or(&none);
    let all = |name: &str| {
        stages.iter().filter_map(|stage| stage.get(name)?.as_f64()).collect::<Vec<f64>>()
    };
    let joined =
        |numbers: &[f64]| numbers.iter().map(|number| plain(*number)).collect::<Vec<_>>().join(",");
    match kind {
        "concurrent" => {
            let users = all("concurrency_level");
            if users.is_empty() {
                return Err("load.stages names no concurrency_level".to_owned());
            }
            draft.assume("--concurrency", joined(&users));
            let requests = all("num_requests");
            if let Some(first) = requests.first() {
                draft.assume("--requests", plain(*first));
                if requests.iter().any(|other| (other - first).abs() > f64::EPSILON) {
                    let effect = "all levels have as many requests as the first";
                    draft.leave_out("load.stages.num_requests", effect);
                }
            }
        }
        "constant" | "poisson" => {
            let rates = all("rate");
            if rates.is_empty() {
                return Err("load.stages names no rate".to_owned());
            }
            draft.assume("--rate", joined(&rates));
            draft.assume("--arrivals", kind);
        }
        other => {
            return Err(format!(
                "load.type {other}: traces are played by inferometer run --replay"
            ));
        }
    }
    let spans = all("duration");
    if let Some(span) = spans.first() {
        draft.assume("--duration", format!("{}s", plain(*span)));
        if spans.iter().any(|other| (other - span).abs() > f64::EPSILON) {
            draft.leave_out("load.stages.duration", "all levels are as long as the first");
        }
    }
    Ok(())
}

fn workload(fields: &Value, draft: &mut Draft) -> Result<(), String> {
    let data = |pointer: &str| fields.pointer(&format!("/data/{pointer}"));
    let whole = |pointer: &str, default: u64| {
        data(pointer).and_then(Value::as_f64).map_or(default, |number| number as u64)
    };
    let lengths = |side: &str| -> Option<String> {
        let of = |name: &str| data(&format!("{side}_distribution/{name}")).and_then(Value::as_f64);
        let mean = of("mean")?;
        let kind = data(&format!("{side}_distribution/type")).and_then(Value::as_str);
        match (kind, of("min"), of("max"), of("std_dev")) {
            (Some("fixed"), ..) => Some(plain(mean)),
            (Some("uniform"), Some(min), Some(max), _) => {
                Some(format!("{}-{}", plain(min), plain(max)))
            }
            (_, _, _, Some(deviation)) if deviation > 0.0 => {
                Some(format!("normal({},{})", plain(mean), plain(deviation)))
            }
            _ => Some(plain(mean)),
        }
    };
    let path = fields.pointer("/data/path").and_then(Value::as_str);
    let text = match fields.pointer("/data/type").and_then(Value::as_str).unwrap_or("mock") {
        "shareGPT" => path.map_or_else(|| "sharegpt".to_owned(), |path| format!("sharegpt:{path}")),
        "synthetic" | "random" => {
            let input = lengths("input").ok_or(NO_LENGTHS)?;
            let output = lengths("output").ok_or(NO_LENGTHS)?;
            format!("random:{input}/{output}")
        }
        "shared_prefix" => format!(
            "prefix-repetition:{}+{}/{}?prefixes={}",
            whole("shared_prefix/system_prompt_len", 100),
            whole("shared_prefix/question_len", 50),
            whole("shared_prefix/output_len", 50),
            whole("shared_prefix/num_groups", 10)
        ),
        "visionarena" => "vision-arena".to_owned(),
        "otel_trace_replay" => format!("otel:{}", path.ok_or("data.path is missing")?),
        "weka_trace_replay" => format!("weka:{}", path.ok_or("data.path is missing")?),
        "mock" => "random:16/16".to_owned(),
        _ => format!("custom:{}", path.ok_or("data.path is missing")?),
    };
    if let Some(path) = path {
        draft.reads("data.path", path);
    }
    if !draft.has("-W") {
        draft.assume("--workload", text);
    }
    Ok(())
}
