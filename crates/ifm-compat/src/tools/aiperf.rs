//! AIPerf, and GenAI-Perf before it.

use super::{number, opens, plain, whole};
use crate::draft::Draft;
use crate::table::Given;
use serde_json::{Map, Value};
use std::fmt::Write;

/// The prompt length if the line gives none; answers have no length then.
const INPUT: &str = "550";
const OUTPUT: &str = "128";

/// What the flags mean together.
pub fn rules(given: &mut Given, draft: &mut Draft) -> Result<(), String> {
    refuse_lists(given)?;
    models(given, draft)?;
    server(given, draft)?;
    let users = load(given, draft)?;
    workload(given, draft)?;
    extra_inputs(given, draft)?;
    draft.assume("--warmup", given.last("--warmup-request-count").unwrap_or("0"));
    goodput(given, draft)?;
    outputs(given, draft, &users);
    if let Some(pages) = given.all("--server-metrics").first() {
        draft.assume("--metrics-url", *pages);
    }
    if given.has("--no-server-metrics") {
        draft.switch("--no-metrics");
    }
    for sentence in [
        "the file is by AIPerf's definitions: a latency ends with the last content, ITL is one value for \
         each request, from its first to its last content over the tokens between; the table uses inferometer's \
         definitions",
        "AIPerf counts tokens with its tokenizer by default; inferometer uses the server's count \
         where it reports one",
        "its rates divide by the whole time; rates in the table cover the steady part",
        "the first request of each user is left out of latencies in the table, since all begin together; \
         AIPerf counts it",
    ] {
        draft.differs(sentence);
    }
    if !given.has("--streaming") {
        draft.differs("without --streaming there is no time to first token, as in AIPerf");
    }
    Ok(())
}

/// Flags with a list whose every value AIPerf measures; an inferometer command measures one.
const LISTS: [&str; 8] = [
    "--isl",
    "--isl-stddev",
    "--osl",
    "--osl-stddev",
    "--conversation-num",
    "--conversation-turn-mean",
    "--benchmark-duration",
    "--request-count",
];

fn refuse_lists(given: &Given) -> Result<(), String> {
    let list = LISTS.into_iter().find_map(|flag| {
        given.last(flag).filter(|value| value.contains(',')).map(|value| (flag, value))
    });
    match list {
        Some((flag, values)) => Err(format!(
            "{flag} {values}: a command of inferometer measures one value of {flag}; run one command \
             for each value"
        )),
        None => Ok(()),
    }
}

/// The model, or several in equal shares.
fn models(given: &Given, draft: &mut Draft) -> Result<(), String> {
    let names = given.list("--model");
    let typed = given.last("--model-selection-strategy");
    if !matches!(typed, None | Some("round_robin" | "random")) {
        let strategy = typed.unwrap_or_default();
        return Err(format!(
            "--model-selection-strategy {strategy}: the strategies are round_robin and random"
        ));
    }
    match names.as_slice() {
        [] => {}
        [model] => draft.set("--model", *model),
        several => {
            draft.set("--model", super::equal_shares(several));
            if typed != Some("random") {
                draft.differs(format!(
                    "--model-selection-strategy round_robin sends prompt N to model N modulo {}; inferometer \
                     draws the model of each request at random, with equal shares",
                    several.len()
                ));
            }
            if given.has_words("--model") {
                draft.differs(
                    "GenAI-Perf accepts several models as -m A B; AIPerf accepts -m A,B and refuses -m A B",
                );
            }
        }
    }
    Ok(())
}

fn server(given: &Given, draft: &mut Draft) -> Result<(), String> {
    let urls = given.list("--url");
    let url = urls.first().copied().unwrap_or("localhost:8000");
    if urls.len() > 1 {
        draft.leave_out("--url", format!("of several servers {url} is measured"));
    }
    let base = match url.contains("://") {
        true => url.trim_end_matches('/').to_owned(),
        false => format!("http://{}", url.trim_end_matches('/')),
    };
    let of_triton = match given.last("--service-kind") {
        None | Some("openai" | "dynamic_grpc" | "tensorrtllm_engine") => false,
        Some("triton") => true,
        Some(other) => {
            return Err(format!("--service-kind {other} is not supported; use openai or triton"));
        }
    };
    let api = match given.last("--endpoint-type") {
        None if of_triton => {
            draft.differs(
                "GenAI-Perf speaks gRPC to Triton; here its generate extension is asked over HTTP",
            );
            "triton"
        }
        kind => spoken(kind.unwrap_or("chat"))?,
    };
    draft.url = Some(match given.last("--endpoint") {
        Some(path) if !path.trim_start_matches('/').starts_with("v1/") => {
            format!("{base}/{}", path.trim_start_matches('/'))
        }
        _ => base,
    });
    draft.assume("--api", api);
    if !given.has("--streaming") {
        draft.switch("--no-stream");
    }
    if let Some(key) = given.last("--api-key") {
        draft.add("--header", format!("Authorization: Bearer {key}"));
    }
    for header in given.all("--header") {
        match serde_json::from_str(header) {
            Ok(Value::Object(all)) => all.iter().for_each(|(name, value)| {
                draft.add("--header", format!("{name}: {}", text(value)))
            }),
            _ => {
                let (name, value) = header.split_once(':').ok_or("a --header has no colon")?;
                draft.add("--header", format!("{}: {}", name.trim(), value.trim()));
            }
        }
    }
    if let Some(seconds) = number(given, "--request-timeout-seconds")? {
        draft.assume("--timeout", format!("{}s", plain(seconds)));
    }
    match given.last("--tokenizer") {
        Some(name) if opens(name) => draft.assume("--tokenizer", name),
        Some("builtin") | None => {}
        Some(name) => draft.leave_out(
            "--tokenizer",
            format!("{name} is not on this machine; prompt lengths use the server's count, where it reports one"),
        ),
    }
    Ok(())
}

/// The tool's words for APIs, as people mean them.
const KINDS: [&str; 10] = [
    "chat",
    "completions",
    "responses",
    "messages",
    "embeddings",
    "chat_embeddings",
    "nim_embeddings",
    "rankings",
    "multimodal",
    "huggingface_generate",
];

/// Our word for an API of the tool's.
fn spoken(kind: &str) -> Result<&str, String> {
    Ok(match kind {
        kind @ ("chat" | "completions" | "responses" | "messages" | "embeddings") => kind,
        "multimodal" | "vision" => "chat",
        "chat_embeddings" | "nim_embeddings" => "embeddings",
        "rankings" | "cohere_rankings" | "nim_rankings" | "hf_tei_rankings" => "rerank",
        "huggingface_generate" => "tgi",
        other => {
            let meant = ifm_core::words::nearest(other, KINDS.into_iter()).map_or_else(
                || "--api custom:FILE describes any".to_owned(),
                |near| format!("{near} is the nearest match"),
            );
            return Err(format!("--endpoint-type {other} is not supported; {meant}"));
        }
    })
}

/// Sets the load, and returns its part of the name of AIPerf's folder.
fn load(given: &Given, draft: &mut Draft) -> Result<String, String> {
    let users = given.list("--concurrency").join(",");
    if users.contains(',') {
        draft.verb = "sweep".to_owned();
    }
    if !users.is_empty() {
        draft.assume("--concurrency", &users);
    }
    let mut name = format!("concurrency{}", if users.is_empty() { "1" } else { &users });
    if let Some(rate) = given.last("--request-rate") {
        if rate.contains(',') {
            draft.verb = "sweep".to_owned();
        }
        draft.assume("--rate", rate);
        name = format!("request_rate{rate}");
        match (
            given.last("--request-rate-mode").unwrap_or("poisson"),
            given.last("--arrival-smoothness"),
        ) {
            ("gamma", shape) => {
                draft.assume("--arrivals", format!("gamma:{}", shape.unwrap_or("1")))
            }
            (law @ ("constant" | "poisson"), _) => draft.assume("--arrivals", law),
            (other, _) => {
                draft.leave_out("--request-rate-mode", format!("{other} is not supported"))
            }
        }
    }
    let milliseconds = number(given, "--measurement-interval")?;
    let seconds = number(given, "--benchmark-duration")?.or(milliseconds.map(|time| time / 1e3));
    if let Some(seconds) = seconds {
        draft.assume("--duration", format!("{}s", plain(seconds)));
    }
    if given.has("--fixed-schedule")
        || given.has("--fixed-schedule-auto-offset")
        || given.has("--fixed-schedule-start-offset")
    {
        draft.assume("--replay", "1");
        draft.unset("--concurrency");
    } else if !draft.has("--requests") && !draft.has("--duration") {
        // Its own default: twice as many as users, and ten at least.
        let most = users.split(',').filter_map(|users| users.parse::<u64>().ok()).max();
        let requests = most.map_or(10, |users| (2 * users).max(10));
        match given.last("--conversation-num") {
            Some(_) if is_chat(given)? => {}
            _ => draft.assume("--requests", requests.to_string()),
        }
    }
    Ok(name)
}

/// Whether there are conversations of several turns.
fn is_chat(given: &Given) -> Result<bool, String> {
    Ok(number(given, "--conversation-turn-mean")?.is_some_and(|turns| turns > 1.0))
}

fn workload(given: &Given, draft: &mut Draft) -> Result<(), String> {
    if draft.has("--workload") || draft.has("-W") {
        return Ok(());
    }
    let mut options: Vec<String> = Vec::new();
    let text = if let Some(name) = given.last("--public-dataset") {
        match name {
            "sharegpt" => "sharegpt".to_owned(),
            other => {
                return Err(format!(
                    "--public-dataset {other}: inferometer workload list shows what there is"
                ));
            }
        }
    } else if let Some(path) = given.last("--input-file") {
        draft.reads("--input-file", path);
        let kind = match given.last("--custom-dataset-type").unwrap_or("single_turn") {
            "mooncake_trace" => "mooncake",
            "weka_trace" => "weka",
            "otel_trace" => "otel",
            "single_turn" | "random_pool" => "custom",
            "multi_turn" => "sharegpt-chat",
            other => {
                return Err(format!("--custom-dataset-type {other} is not supported"));
            }
        };
        options.extend(given.last("--isl-block-size").map(|block| format!("block={block}")));
        if draft.has("--replay") && !matches!(kind, "mooncake" | "weka" | "otel") {
            draft.differs("only a trace has times: --custom-dataset-type mooncake_trace");
        }
        format!("{kind}:{path}")
    } else {
        made_up(given, draft, &mut options)?
    };
    if is_chat(given)? {
        options.push(format!(
            "turns={}",
            plain(number(given, "--conversation-turn-mean")?.unwrap_or(1.0).round())
        ));
        if let Some(pause) =
            number(given, "--conversation-turn-delay-mean")?.filter(|pause| *pause > 0.0)
        {
            options.push(format!("think={}s", plain(pause / 1e3)));
        }
        if let Some(sessions) = given.last("--conversation-num") {
            draft.assume("--sessions", sessions);
        }
    }
    media(given, &mut options)?;
    let options = match options.is_empty() {
        true => String::new(),
        false => format!("?{}", options.join("&")),
    };
    draft.set("--workload", format!("{text}{options}"));
    Ok(())
}

/// Prompts of given lengths.
fn made_up(given: &Given, draft: &mut Draft, options: &mut Vec<String>) -> Result<String, String> {
    let law =
        |mean: &str, deviation: Option<f64>| match deviation.filter(|deviation| *deviation > 0.0) {
            Some(deviation) => format!("normal({mean},{})", plain(deviation)),
            None => mean.to_owned(),
        };
    if let Some(all) = given.last("--sequence-distribution") {
        return mixed(all);
    }
    let input = law(given.last("--isl").unwrap_or(INPUT), number(given, "--isl-stddev")?);
    let output = law(given.last("--osl").unwrap_or(OUTPUT), number(given, "--osl-stddev")?);
    if !given.has("--osl") {
        draft.differs(format!(
            "AIPerf asks for no length of answers unless --osl says one; here it is {OUTPUT} tokens"
        ));
    }
    let pool = whole(given, "--num-prefix-prompts", 0)?;
    let prefix = given.last("--prefix-prompt-length").unwrap_or("0");
    if let Some(tokens) = given.last("--shared-system-prompt-length") {
        draft.assume("--shared-prefix", tokens);
    }
    match (pool, prefix) {
        (0, _) | (_, "0") => Ok(format!("random:{input}/{output}")),
        (pool, prefix) => {
            // The part after a prefix has one length.
            if input.starts_with("normal") {
                draft.leave_out("--isl-stddev", "prompts after a shared prefix have one length");
            }
            let input = given.last("--isl").unwrap_or(INPUT);
            options.push(format!("prefixes={pool}&order=random"));
            Ok(format!("prefix-repetition:{prefix}+{input}/{output}"))
        }
    }
}

/// `ISL|DEVIATION,OSL|DEVIATION:PERCENT;…`, as a mix of workloads.
fn mixed(all: &str) -> Result<String, String> {
    let unread = || format!("--sequence-distribution {all} is not ISL,OSL:PERCENT;…");
    let mut mix = "mix:".to_owned();
    for (index, part) in all.split(';').filter(|part| !part.trim().is_empty()).enumerate() {
        let (lengths, percent) = part.rsplit_once(':').ok_or_else(unread)?;
        let (input, output) = lengths.split_once(',').ok_or_else(unread)?;
        let percent: f64 = percent.trim().parse().map_err(|_| unread())?;
        let law = |side: &str| match side.trim().split_once('|') {
            Some((mean, deviation)) if deviation != "0" => format!("normal({mean},{deviation})"),
            Some((mean, _)) => mean.to_owned(),
            None => side.trim().to_owned(),
        };
        let sign = if index > 0 { ";" } else { "" };
        // Writing to a string cannot fail.
        let _ = write!(
            mix,
            "{sign}part{}={}*random:{}/{}",
            index + 1,
            plain(percent / 100.0),
            law(input),
            law(output)
        );
    }
    Ok(mix)
}

fn media(given: &Given, options: &mut Vec<String>) -> Result<(), String> {
    let size = number(given, "--image-width-mean")?.zip(number(given, "--image-height-mean")?);
    if let Some((width, height)) = size.filter(|(width, height)| *width > 0.0 && *height > 0.0) {
        options.push(format!("image={}x{}&image_kind=noise", plain(width), plain(height)));
        options.extend(given.last("--image-batch-size").map(|count| format!("images={count}")));
        let format = given.last("--image-format").filter(|format| *format != "random");
        options.push(format!("image_format={}", format.unwrap_or("png")));
    }
    if let Some(seconds) = number(given, "--audio-length-mean")?.filter(|seconds| *seconds > 0.0) {
        options.push(format!("audio={}s", plain(seconds)));
        options.extend(given.last("--audio-batch-size").map(|count| format!("audios={count}")));
    }
    Ok(())
}

/// Fields of the body: `name:value`, or an object.
fn extra_inputs(given: &Given, draft: &mut Draft) -> Result<(), String> {
    let mut fields = Map::new();
    for typed in given.all("--extra-inputs") {
        match serde_json::from_str(typed) {
            Ok(Value::Object(object)) => fields.extend(object),
            _ => {
                let (name, value) = typed.split_once(':').ok_or_else(|| {
                    format!("--extra-inputs {typed} is neither name:value nor an object")
                })?;
                let value = serde_json::from_str(value).unwrap_or_else(|_| Value::from(value));
                fields.insert(name.to_owned(), value);
            }
        }
    }
    // These fields of a body become inferometer flags.
    match fields.remove("ignore_eos") {
        Some(value) => draft.assume("--ignore-eos", text(&value)),
        None => draft.assume("--ignore-eos", "false"),
    }
    match fields.remove("temperature") {
        Some(value) => draft.assume("--temperature", text(&value)),
        None => draft.assume("--temperature", "none"),
    }
    draft.body.extend(fields);
    Ok(())
}

fn goodput(given: &Given, draft: &mut Draft) -> Result<(), String> {
    let mut terms = Vec::new();
    for typed in given.all("--goodput").into_iter().flat_map(str::split_whitespace) {
        let (name, limit) = typed
            .split_once(':')
            .ok_or_else(|| format!("--goodput {typed} is not NAME:MILLISECONDS"))?;
        let ours = match name {
            "time_to_first_token" => "ttft",
            "inter_token_latency" => "tpot",
            "request_latency" => "e2e",
            other => {
                draft.leave_out("--goodput", format!("{other} is not a supported metric"));
                continue;
            }
        };
        terms.push(format!("{ours}:p50<{limit}ms"));
    }
    if !terms.is_empty() {
        draft.assume("--slo", terms.join(","));
    }
    Ok(())
}

fn outputs(given: &Given, draft: &mut Draft, load: &str) {
    let kind = given.last("--endpoint-type").unwrap_or("chat");
    let folder = match given.last("--artifact-dir") {
        Some(folder) => folder.trim_end_matches('/').to_owned(),
        None => format!("artifacts/{{model}}-openai-{kind}-{load}"),
    };
    let name = match given.last("--profile-export-file") {
        Some(name) => format!("{}_aiperf.json", name.trim_end_matches(".json")),
        None => "profile_export_aiperf.json".to_owned(),
    };
    let path = match draft.verb.as_str() {
        // A file for each load.
        "sweep" => format!("{folder}/"),
        _ => format!("{folder}/{name}"),
    };
    draft.add("--export", format!("aiperf:{path}"));
}

fn text(value: &Value) -> String {
    super::guidellm::text(value)
}
