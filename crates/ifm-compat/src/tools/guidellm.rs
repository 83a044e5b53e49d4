//! GuideLLM: `benchmark` with flags of their own, and `run` with flags of fields, `kind=…,name=value`.

use super::{number, object, opens, plain};
use crate::draft::Draft;
use crate::table::{Given, is_no};
use ifm_core::regular::read_named_text;
use serde_json::{Map, Value};
use std::path::Path;

/// Default number of benchmarks of a sweep: the two ends, and rates between them.
const SWEEP: f64 = 10.0;

/// What the flags mean together.
pub fn rules(given: &mut Given, draft: &mut Draft) -> Result<(), String> {
    if let Some(scenario) = given.last("--scenario").map(str::to_owned) {
        read_scenario(&scenario, given)?;
        for (flag, ours) in
            [("--model", "--model"), ("--max-requests", "--requests"), ("--random-seed", "--seed")]
        {
            if let Some(value) = given.last(flag) {
                draft.assume(ours, value);
            }
        }
    }
    server(given, draft)?;
    load(given, draft)?;
    endings(given, draft)?;
    workload(given, draft)?;
    draft.assume("--temperature", "none");
    if let Some(seed) = given.last("--seed") {
        let seed = fields(seed).get("value").map(text).unwrap_or_else(|| seed.to_owned());
        draft.assume("--seed", seed);
    }
    outputs(given, draft)?;
    for sentence in [
        "the file is by GuideLLM's definitions: TPOT is the whole time of a request over all of its \
         tokens, so that it includes the time to the first, and ITL one value for each request, weighed by \
         its tokens; the table uses inferometer's definitions",
        "GuideLLM's rates spread a request's tokens evenly over its time; inferometer counts them when they arrive",
        "requests that a level's end cuts off are incomplete there; here they finish and count",
        "the first request of each user is left out of latencies in the table, since all begin together; \
         GuideLLM counts it",
    ] {
        draft.differs(sentence);
    }
    Ok(())
}

/// Flags of a scenario: a file of theirs, or one of the two that older versions brought along.
fn read_scenario(name: &str, given: &mut Given) -> Result<(), String> {
    let built_in = match name {
        "chat" => Some(
            "prompt_tokens=512,prompt_tokens_stdev=128,prompt_tokens_min=1,prompt_tokens_max=1024,output_tokens=256,output_tokens_stdev=64,output_tokens_min=1,output_tokens_max=1024",
        ),
        "rag" => Some(
            "prompt_tokens=4096,prompt_tokens_stdev=512,prompt_tokens_min=2048,prompt_tokens_max=6144,output_tokens=512,output_tokens_stdev=128,output_tokens_min=1,output_tokens_max=1024",
        ),
        _ => None,
    };
    if let Some(data) = built_in {
        given.assume("--profile", "sweep");
        given.assume("--data", data);
        return Ok(());
    }
    let read = read_named_text(Path::new(name), super::FILE_BYTES_MAX).map_err(|error| {
        format!("--scenario {name} is neither chat nor rag, and cannot be read: {error}")
    })?;
    let Ok(Value::Object(all)) = super::document(&read) else {
        return Err(format!("--scenario {name} holds no fields"));
    };
    // From 0.7 on the settings are in `spec`.
    let all = match all.get("spec") {
        Some(Value::Object(spec)) => spec.clone(),
        _ => all,
    };
    for (key, value) in &all {
        let flag = match key.as_str() {
            "constraints" => "--constraint".to_owned(),
            "outputs" => "--output".to_owned(),
            key => format!("--{}", key.replace('_', "-")),
        };
        for value in value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice) {
            if !value.is_null() {
                given.append(&flag, &text(value));
            }
        }
    }
    Ok(())
}

fn server(given: &mut Given, draft: &mut Draft) -> Result<(), String> {
    let backend = given.last("--backend").map(fields).unwrap_or_default();
    let kind = backend.get("kind").map(text);
    let kind = kind
        .or_else(|| given.last("--backend").filter(|word| !word.contains('=')).map(str::to_owned));
    if let Some(kind) = kind.filter(|kind| !kind.starts_with("openai")) {
        return Err(format!(
            "--backend {kind} is an engine without a server: inferometer engine --adapter vllm measures it"
        ));
    }
    let target = backend.get("target").map(text).or(given.last("--target").map(str::to_owned));
    let target = target.unwrap_or_else(|| "http://localhost:8000".to_owned());
    draft.url = Some(target.trim_end_matches('/').to_owned());
    if let Some(model) = backend.get("model") {
        draft.assume("--model", text(model));
    }
    let format = backend
        .get("request_format")
        .map(text)
        .or(given.last("--request-format").map(str::to_owned));
    let format = format.unwrap_or_else(|| "/v1/chat/completions".to_owned());
    let api = match format.trim_start_matches("/v1/").trim_start_matches('/') {
        "chat/completions" | "chat_completions" => "chat",
        "completions" | "text_completions" => "completions",
        "responses" => "responses",
        "audio/transcriptions" | "audio_transcriptions" | "audio_transcription" => "transcriptions",
        "audio/translations" | "audio_translations" | "audio_translation" => "translations",
        "embeddings" | "pooling" => "embeddings",
        other => return Err(format!("--request-format {other} is not supported")),
    };
    draft.assume("--api", api);
    let mut extra = backend;
    for flag in ["--backend-kwargs", "--request-formatter-kwargs"] {
        if let Some(typed) = given.last(flag) {
            extra.extend(object(flag, typed)?);
        }
    }
    for (name, value) in &extra {
        match (name.as_str(), value) {
            ("verify", value) if is_no(&text(value)) => draft.switch("--insecure"),
            (
                "http2" | "follow_redirects" | "verify" | "kind" | "target" | "model"
                | "request_format",
                _,
            ) => {}
            ("api_key", key) => {
                draft.add("--header", format!("Authorization: Bearer {}", text(key)))
            }
            ("stream", value) if is_no(&text(value)) => draft.switch("--no-stream"),
            ("timeout", value) => draft.assume("--timeout", format!("{}s", text(value))),
            ("max_output_tokens" | "max_tokens", value) => {
                draft.assume("--output-len", text(value))
            }
            ("extras" | "extra_body", Value::Object(parts)) => extras(parts, draft),
            ("headers", Value::Object(headers)) => add_headers(headers, draft),
            (other, _) => draft.leave_out("--backend", format!("its {other} is not known here")),
        }
    }
    let tokenizer = given
        .last("--tokenizer")
        .map(|typed| fields(typed).get("model").map(text).unwrap_or_else(|| typed.to_owned()));
    let tokenizer = tokenizer.or(given.last("--processor").map(str::to_owned));
    match tokenizer {
        Some(name) if opens(&name) => draft.assume("--tokenizer", name),
        Some(name) => draft.leave_out(
            if given.has("--processor") { "--processor" } else { "--tokenizer" },
            format!("{name} is not on this machine; prompt lengths use the server's count, where it reports one"),
        ),
        None => {}
    }
    Ok(())
}

fn extras(parts: &Map<String, Value>, draft: &mut Draft) {
    match (parts.get("body"), parts.get("headers")) {
        (None, None) => draft.body.extend(parts.clone()),
        (body, headers) => {
            if let Some(Value::Object(body)) = body {
                draft.body.extend(body.clone());
            }
            if let Some(Value::Object(headers)) = headers {
                add_headers(headers, draft);
            }
        }
    }
}

fn add_headers(headers: &Map<String, Value>, draft: &mut Draft) {
    headers
        .iter()
        .for_each(|(name, value)| draft.add("--header", format!("{name}: {}", text(value))));
}

fn load(given: &Given, draft: &mut Draft) -> Result<(), String> {
    let typed = given.last("--profile").unwrap_or("sweep");
    let profile = fields(typed);
    let kind = profile.get("kind").map(text).unwrap_or_else(|| typed.to_owned());
    let own = |names: &[&str]| {
        let value = names.iter().find_map(|name| profile.get(*name))?;
        let values = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
        Some(values.iter().map(text).collect::<Vec<_>>().join(","))
    };
    let over = overridden(given, draft);
    let rates = rates(given, draft);
    let has_rates = rates.is_some();
    let of_profile = over.or_else(|| own(&["streams", "rate", "sweep_size", "max_concurrency"]));
    if has_rates && of_profile.is_some() {
        draft.leave_out("--rate", "the profile has its own values");
    }
    if has_rates && matches!(kind.as_str(), "synchronous" | "replay") {
        draft.leave_out("--rate", format!("the profile {kind} has no rate"));
    }
    let values = of_profile.or(rates);
    for (name, flag) in
        [("rampup_duration", "--rampup"), ("warmup", "--warmup"), ("cooldown", "--cooldown")]
    {
        if profile.contains_key(name) {
            draft.leave_out(flag, "each level's own beginning and end are found and left out");
        }
    }
    let needs = |what: &str| values.clone().ok_or_else(|| format!("--profile {kind} needs {what}"));
    match kind.as_str() {
        "synchronous" => draft.assume("--concurrency", "1"),
        "concurrent" => draft.assume("--concurrency", needs("--rate, the requests in flight")?),
        "constant" | "async" | "poisson" => {
            draft.assume("--rate", needs("--rate, requests per second")?);
            draft.assume("--arrivals", if kind == "poisson" { "poisson" } else { "constant" });
        }
        "throughput" => {
            draft.assume("--profile", "throughput");
            if let Some(most) = values {
                draft.assume("--max-in-flight", most);
            }
        }
        "sweep" => {
            draft.assume("--profile", "sweep");
            let all: f64 = match values {
                Some(text) => text.parse().map_err(|_| {
                    format!("--rate {text}: a sweep has one number, that of its benchmarks")
                })?,
                None => SWEEP,
            };
            draft.assume("--points", plain((all - 2.0).max(1.0)));
        }
        "replay" => {
            let scale: f64 = own(&["time_scale"]).and_then(|text| text.parse().ok()).unwrap_or(1.0);
            draft.verb = "run".to_owned();
            draft.assume("--replay", plain(1.0 / scale));
        }
        "goodput" | "knee" => {
            return Err(format!(
                "--profile {kind} looks for a load: inferometer capacity URL --slo does that"
            ));
        }
        other => {
            return Err(format!(
                "--profile {other} is not supported; use synchronous, concurrent, \
                 throughput, constant, async, poisson, sweep or replay"
            ));
        }
    }
    Ok(())
}

/// The values of `--override` for the profile; other overrides are noted.
fn overridden(given: &Given, draft: &mut Draft) -> Option<String> {
    let mut values = None;
    for pair in given.all("--override").chunks(2) {
        match pair {
            [name, text] if name.starts_with("profile.") && values.is_none() => {
                values = Some((*text).to_owned());
            }
            other => draft.leave_out(
                &format!("--override {}", other.join(" ")),
                "one override of the profile is used",
            ),
        }
    }
    values
}

/// The values of `--rate` as one list.
fn rates(given: &Given, draft: &mut Draft) -> Option<String> {
    let list = given.list("--rate");
    if given.has_words("--rate") {
        draft.differs(
            "GuideLLM accepts --rate 1,2,4 and, in some versions, --rate 1 --rate 2; it refuses --rate 1 2 4, \
             of which each value is a level here",
        );
    }
    (!list.is_empty()).then(|| list.join(",").trim_matches(['[', ']']).to_owned())
}

fn endings(given: &Given, draft: &mut Draft) -> Result<(), String> {
    if let Some(seconds) = number(given, "--max-seconds")? {
        draft.assume("--duration", format!("{}s", plain(seconds)));
    }
    for typed in given.all("--constraint") {
        let constraint = fields(typed);
        let value = |names: &[&str]| names.iter().find_map(|name| constraint.get(*name)).map(text);
        match (
            constraint.get("kind").map(text).unwrap_or_default().as_str(),
            value(&["seconds", "count", "value", "max_num", "max_duration"]),
        ) {
            ("max_duration", Some(seconds)) => draft.assume("--duration", format!("{seconds}s")),
            ("max_requests" | "max_number", Some(count)) => draft.assume("--requests", count),
            (kind, _) => draft.leave_out(
                "--constraint",
                format!("{kind} ends no level here; errors are reported"),
            ),
        }
    }
    if !draft.has("--duration") && !draft.has("--requests") {
        draft.differs(
            "GuideLLM goes on until its data end where no end is given; here a level takes 20 s",
        );
    }
    Ok(())
}

fn workload(given: &Given, draft: &mut Draft) -> Result<(), String> {
    let all: Vec<(&str, Map<String, Value>)> =
        given.all("--data").into_iter().map(|typed| (typed, fields(typed))).collect();
    let kind_of = |data: &Map<String, Value>| data.get("kind").map(text).unwrap_or_default();
    let is_media = |data: &Map<String, Value>| {
        matches!(kind_of(data).as_str(), "synthetic_image" | "synthetic_video")
    };
    let mut others = all.iter().filter(|(_, data)| !is_media(data));
    let Some((typed, data)) = others.next() else { return Err("guidellm needs --data".to_owned()) };
    if others.next().is_some() {
        draft.leave_out("--data", "only the first of several data sets is sent");
    }
    let mut data = data.clone();
    let mut options: Vec<String> = Vec::new();
    for (_, media) in all.iter().filter(|(_, data)| is_media(data)) {
        add_media(&kind_of(media), media, &mut data, &mut options);
    }
    let kind = kind_of(&data);
    let get = |names: &[&str]| names.iter().find_map(|name| data.get(*name)).map(text);
    let samples = given.last("--data-samples").map(str::to_owned);
    let samples = samples.or_else(|| fields(given.last("--data-loader")?).get("samples").map(text));
    let samples = samples.filter(|samples| samples.parse::<i64>().is_ok_and(|samples| samples > 0));
    options.extend(samples.map(|samples| format!("items={samples}")));
    let is_made_up = data.contains_key("prompt_tokens") && !kind.starts_with("trace");
    let file = get(&["path", "source", "file"]);
    let file = file.or_else(|| Some((*typed).to_owned()).filter(|_| data.is_empty()));
    let text = if is_made_up {
        if !data.contains_key("output_tokens") {
            let tokens = if draft.value("--api") == Some("embeddings") { 1 } else { 128 };
            data.insert("output_tokens".to_owned(), tokens.into());
            if tokens > 1 {
                draft.differs("--data names no output_tokens: answers of 128 tokens are asked for");
            }
        }
        synthetic(&data, draft, &mut options)
    } else if let Some(path) = file {
        let is_local = path.starts_with(['.', '/'])
            || path.rsplit('.').next().is_some_and(|ending| {
                matches!(ending, "json" | "jsonl" | "csv" | "txt" | "parquet")
            })
            || Path::new(&path).exists();
        let set = match kind.as_str() {
            "mooncake" | "trace_synthetic" => "mooncake",
            "weka" => "weka",
            "otel" | "opentelemetry" => "otel",
            _ if draft.value("--api").is_some_and(|api| api.starts_with("trans")) => "asr",
            _ => "custom",
        };
        if is_local {
            draft.reads("--data", &path);
        }
        format!("{set}:{}{path}", if is_local { "" } else { "hub:" })
    } else {
        return Err(format!("--data {typed} is neither lengths nor a file nor a data set"));
    };
    let mapper = given.last("--data-column-mapper").map(fields).unwrap_or_default();
    let mapper = match mapper.get("column_mappings") {
        Some(Value::Object(inner)) => inner.clone(),
        _ => mapper,
    };
    let columns: Vec<String> = mapper
        .iter()
        .filter_map(|(name, column)| {
            let ours = match name.as_str() {
                "text_column" | "prompt_column" => "prompt",
                "output_tokens_count_column" => "output_tokens",
                "image_column" => "image",
                "audio_column" => "audio",
                _ => return None,
            };
            Some(format!("{ours}={}", super::guidellm::text(column)))
        })
        .collect();
    if !columns.is_empty() {
        draft.assume("--columns", columns.join(","));
    }
    let options = match options.is_empty() {
        true => String::new(),
        false => format!("?{}", options.join("&")),
    };
    if !draft.has("-W") {
        draft.assume("--workload", format!("{text}{options}"));
    }
    Ok(())
}

/// Images or videos in addition to the text of another data set.
fn add_media(
    kind: &str,
    media: &Map<String, Value>,
    data: &mut Map<String, Value>,
    options: &mut Vec<String>,
) {
    let get = |name: &str| media.get(name).map(text);
    let size = get("width").zip(get("height")).map(|(width, height)| format!("{width}x{height}"));
    let size = size.or_else(|| get("resolution")).unwrap_or_else(|| "720p".to_owned());
    if kind == "synthetic_image" {
        options.push(format!("image={size}"));
        options.extend(get("images_per_request").map(|count| format!("images={count}")));
        options.extend(get("format").map(|format| format!("image_format={format}")));
    } else {
        options.push(format!("video={size}x{}", get("frames").unwrap_or_else(|| "8".to_owned())));
        options.extend(get("fps").map(|fps| format!("fps={fps}")));
    }
    for (name, value) in media.iter().filter(|(name, _)| name.starts_with("output_tokens")) {
        data.entry(name.clone()).or_insert_with(|| value.clone());
    }
}

/// Lengths, as both of us write them.
fn synthetic(data: &Map<String, Value>, draft: &mut Draft, options: &mut Vec<String>) -> String {
    const LENGTHS: [&str; 8] = [
        "prompt_tokens",
        "prompt_tokens_stdev",
        "prompt_tokens_min",
        "prompt_tokens_max",
        "output_tokens",
        "output_tokens_stdev",
        "output_tokens_min",
        "output_tokens_max",
    ];
    let parts: Vec<String> = LENGTHS
        .iter()
        .filter_map(|name| Some(format!("{name}={}", text(data.get(*name)?))))
        .collect();
    for (name, value) in data {
        match name.as_str() {
            name if LENGTHS.contains(&name) => {}
            "turns" => options.push(format!("turns={}", text(value))),
            "prefix_tokens" => draft.assume("--shared-prefix", text(value)),
            "kind" | "samples" | "source" => {}
            other => draft.leave_out("--data", format!("its {other} is not known here")),
        }
    }
    parts.join(",")
}

fn outputs(given: &Given, draft: &mut Draft) -> Result<(), String> {
    // Kind and path of each.
    let mut files: Vec<(String, Option<String>)> = Vec::new();
    for typed in given.all("--output") {
        let output = fields(typed);
        let kind = output.get("kind").map(text).unwrap_or_else(|| typed.to_owned());
        files.push((kind, output.get("path").or(output.get("filename")).map(text)));
    }
    for name in given.list("--outputs") {
        match name.rsplit_once('.') {
            Some((_, ending)) => files.push((ending.to_owned(), Some(name.to_owned()))),
            None => files.push((name.to_owned(), None)),
        }
    }
    let mut folder = given.last("--output-dir").map(str::to_owned);
    if let Some(path) = given.last("--output-path") {
        match path.rsplit('/').next().and_then(|name| name.rsplit_once('.')) {
            Some((_, ending)) if files.is_empty() => {
                files.push((ending.to_owned(), Some(path.to_owned())))
            }
            _ => folder = Some(path.to_owned()),
        }
    }
    // The default file is benchmarks.json.
    if files.is_empty() {
        files.push(("json".to_owned(), None));
    }
    for (kind, path) in files {
        let (flag, ending) = match kind.as_str() {
            "json" => ("--export", "json"),
            "csv" => ("--out", "csv"),
            "html" => ("--out", "html"),
            "console" | "none" => continue,
            other => {
                draft.leave_out("--output", format!("{other} is not supported"));
                continue;
            }
        };
        let path = path.unwrap_or_else(|| format!("benchmarks.{ending}"));
        let path = match (&folder, path.contains('/')) {
            (Some(folder), false) => format!("{}/{path}", folder.trim_end_matches('/')),
            _ => path,
        };
        match flag {
            "--export" => draft.add(flag, format!("guidellm:{path}")),
            _ => draft.add(flag, path),
        }
    }
    Ok(())
}

/// Fields as a flag has them: an object in JSON, or `name=value,name=value` with points in names for
/// fields of fields. Nothing for a word.
fn fields(typed: &str) -> Map<String, Value> {
    let typed = typed.trim();
    if typed.starts_with('{') {
        return match serde_json::from_str(typed) {
            Ok(Value::Object(fields)) => fields,
            _ => Map::new(),
        };
    }
    let mut all = Map::new();
    for part in typed.split(',') {
        let Some((name, value)) = part.split_once('=') else { continue };
        let value = serde_json::from_str(value).unwrap_or_else(|_| Value::from(value.trim()));
        let mut names: Vec<&str> = name.trim().split('.').collect();
        let last = names.pop().unwrap_or_default();
        let mut inside = &mut all;
        for name in names {
            let next = inside.entry(name).or_insert_with(|| Value::Object(Map::new()));
            if !next.is_object() {
                *next = Value::Object(Map::new());
            }
            let Value::Object(next) = next else { return all };
            inside = next;
        }
        inside.insert(last.to_owned(), value);
    }
    all
}

/// A value without quotes.
pub(super) fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
