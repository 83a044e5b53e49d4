//! `sglang.bench_serving`, and `sglang.bench_one_batch_server`, which measures batches.

use super::{host, model_and_tokenizer, number, object, plain, whole};
use crate::draft::Draft;
use crate::table::Given;

/// The client's own default of requests.
const REQUESTS: u64 = 1000;
/// Default limit of requests in flight in our open loop.
const IN_FLIGHT: u64 = 4096;

/// What the flags mean together.
pub fn rules(given: &mut Given, draft: &mut Draft) -> Result<(), String> {
    let backend = given.last("--backend").unwrap_or("sglang").to_owned();
    server(given, draft, &backend)?;
    let requests = workload(given, draft)?;
    draft.assume("--requests", requests.to_string());
    load(given, draft, requests)?;
    answers(given, draft)?;
    // One request goes before the others, and is in no number.
    draft.assume("--warmup", "1");
    draft.assume("--seed", "42");
    if let Some(file) = given.last("--output-file") {
        let is_detailed = given.has("--output-details");
        if is_detailed {
            draft.switch("--keep-text");
        }
        let detailed = if is_detailed { "yes" } else { "no" };
        let format = format!("sglang?backend={backend}&detailed={detailed}");
        draft.add("--export-append", format!("{format}:{file}"));
    }
    if !draft.has("--json") {
        draft.assume("--format", "sglang");
    }
    for sentence in [
        "the block and the file are by the client's definitions: E2E ends with the last line of the \
         stream and not with the last token, TPOT is (E2E - TTFT) / (tokens - 1), ITL a gap between two \
         pieces of an answer, and rates divide by the whole time, ramp and drain included",
        "where the server reports no token count for an answer, the client assumes the length that it asked \
         for; inferometer's are the server's count, a tokenizer's, or none",
        "an answer that broke off, or an error inside a stream, fails here and succeeds there",
        "the prompt before the measurement is in no number, as there",
    ] {
        draft.differs(sentence);
    }
    Ok(())
}

fn server(given: &Given, draft: &mut Draft, backend: &str) -> Result<(), String> {
    let (api, port) = match backend {
        "sglang" | "sglang-native" => ("sglang", 30000),
        "sglang-oai" | "sglang-embedding" => ("completions", 30000),
        "sglang-oai-chat" => ("chat", 30000),
        "vllm" => ("completions", 8000),
        "vllm-chat" => ("chat", 8000),
        "lmdeploy" => ("completions", 23333),
        "lmdeploy-chat" => ("chat", 23333),
        "trt" => ("triton", 8000),
        "gserver" => ("completions", 9988),
        "truss" => ("completions", 8080),
        other => {
            return Err(format!(
                "--backend {other} is not supported; use sglang, sglang-oai, \
                 sglang-oai-chat, vllm, vllm-chat, lmdeploy, lmdeploy-chat or trt"
            ));
        }
    };
    // A chat template is the server's work with the chat API.
    let api = match backend == "sglang-embedding" {
        true => "embeddings",
        false if given.has("--apply-chat-template") && api != "triton" => "chat",
        false => api,
    };
    draft.assume("--api", api);
    draft.url = Some(match given.last("--base-url") {
        Some(base) => base.trim_end_matches('/').to_owned(),
        None => {
            let port = whole(given, "--port", port)?;
            format!("http://{}:{port}", host(given.last("--host").unwrap_or("127.0.0.1")))
        }
    });
    model_and_tokenizer(given, draft, "--lora-name");
    Ok(())
}

/// Sets the workload, and gives the number of requests.
fn workload(given: &Given, draft: &mut Draft) -> Result<u64, String> {
    let mut requests = whole(given, "--num-prompts", REQUESTS)?;
    let name = given.last("--dataset-name").unwrap_or("sharegpt");
    let path = given.last("--dataset-path").filter(|path| !path.is_empty());
    let file = || path.ok_or_else(|| format!("--dataset-name {name} needs --dataset-path"));
    let mut options: Vec<String> = Vec::new();
    let mut option = |name: &str, value: Option<&str>| {
        options.extend(value.map(|value| format!("{name}={value}")));
    };
    let text = match name {
        "sharegpt" => {
            option("rule", Some("sglang"));
            option("context", given.last("--sharegpt-context-len"));
            if let Some(tokens) = given.last("--sharegpt-output-len") {
                draft.assume("--output-len", tokens);
            }
            path.map_or_else(|| "sharegpt".to_owned(), |path| format!("sharegpt:{path}"))
        }
        "random" | "random-ids" | "image" => {
            let ratio = number(given, "--random-range-ratio")?.unwrap_or(0.0);
            let lengths = format!(
                "{}/{}",
                given.last("--random-input-len").unwrap_or("1024"),
                given.last("--random-output-len").unwrap_or("1024")
            );
            // A ratio of 1 is one length.
            if (ratio - 1.0).abs() > f64::EPSILON {
                option("range_ratio", Some(&plain(ratio)));
                option("ratio", Some("sglang"));
            }
            if name == "image" {
                let resolution = given.last("--image-resolution").unwrap_or("1080p");
                let size = match resolution.split_once('x') {
                    // Height comes first there.
                    Some((height, width)) => format!("{width}x{height}"),
                    None => resolution.to_owned(),
                };
                let count = given.last("--image-count").unwrap_or("1");
                option("image", Some(&size));
                let several = format!("1-{count}");
                let is_drawn = given.has("--random-image-count") && count != "1";
                option("images", Some(if is_drawn { &several } else { count }));
                let is_blank = given.last("--image-content") == Some("blank");
                option("image_kind", Some(if is_blank { "blank" } else { "noise" }));
                option("image_format", given.last("--image-format"));
            }
            let kind = match name == "random-ids" || given.has("--tokenize-prompt") {
                true => "random-ids",
                false => "random",
            };
            format!("{kind}:{lengths}")
        }
        "generated-shared-prefix" => {
            let groups = whole(given, "--gsp-num-groups", 64)?;
            requests = groups * whole(given, "--gsp-prompts-per-group", 16)?;
            option("prefixes", Some(&groups.to_string()));
            format!(
                "prefix-repetition:{}+{}/{}",
                whole(given, "--gsp-system-prompt-len", 2048)?,
                whole(given, "--gsp-question-len", 128)?,
                whole(given, "--gsp-output-len", 256)?
            )
        }
        name if name.starts_with("mooncake") => {
            // Rows go at their times, slower by the factor.
            let factor = number(given, "--mooncake-slowdown-factor")?.unwrap_or(1.0);
            draft.assume("--replay", plain(1.0 / factor));
            format!("mooncake:{}", file()?)
        }
        "agentic-trace" => {
            option("turns_max", given.last("--agentic-max-turns"));
            format!("agent-trace:{}", file()?)
        }
        "speed-bench" => {
            option("output", Some(given.last("--speed-bench-output-len").unwrap_or("512")));
            option("category", given.last("--speed-bench-category"));
            format!("speed-bench:{}", file()?)
        }
        "mmmu" => path.map_or_else(|| "mmmu".to_owned(), |path| format!("mmmu:{path}")),
        "custom" => format!("custom:{}", file()?),
        "openai" => format!("openai-batch:{}", file()?),
        "longbench_v2" => path.map_or_else(
            || "custom:hub:THUDM/LongBench-v2".to_owned(),
            |path| format!("custom:{path}"),
        ),
        other => {
            return Err(format!(
                "--dataset-name {other} is not supported; use sharegpt, random, random-ids, \
                 image, generated-shared-prefix, mooncake, agentic-trace, speed-bench, mmmu, custom or openai"
            ));
        }
    };
    // The text of random prompts comes from the file there; here it is synthetic.
    match path {
        Some(_) if matches!(name, "random" | "random-ids" | "image") => {
            draft.leave_out("--dataset-path", "random prompts use synthetic words");
        }
        Some(path) => draft.reads("--dataset-path", path),
        None => {}
    }
    let options = match options.is_empty() {
        true => String::new(),
        false => format!("?{}", options.join("&")),
    };
    if !draft.has("-W") {
        draft.assume("--workload", format!("{text}{options}"));
    }
    Ok(requests)
}

fn load(given: &Given, draft: &mut Draft, requests: u64) -> Result<(), String> {
    if draft.has("--replay") {
        return Ok(());
    }
    if given.has("--use-trace-timestamps") {
        draft.assume("--replay", "1");
    } else if let Some(rate) = number(given, "--request-rate")?.filter(|rate| rate.is_finite()) {
        draft.assume("--rate", plain(rate));
    } else if !draft.has("--concurrency") {
        draft.assume("--rate", "inf");
        if requests > IN_FLIGHT {
            draft.assume("--max-in-flight", requests.to_string());
        }
    }
    Ok(())
}

fn answers(given: &Given, draft: &mut Draft) -> Result<(), String> {
    draft.assume("--temperature", "0");
    // Every data set's answers go on to their length there.
    draft.assume("--ignore-eos", if given.has("--disable-ignore-eos") { "false" } else { "true" });
    if given.has("--return-logprob") {
        let count = whole(given, "--top-logprobs-num", 0)?;
        match draft.value("--api") {
            Some("sglang") => {
                draft.body.insert("return_logprob".to_owned(), true.into());
                draft.body.insert("top_logprobs_num".to_owned(), count.into());
            }
            Some("chat") => {
                draft.body.insert("logprobs".to_owned(), true.into());
                draft.body.insert("top_logprobs".to_owned(), count.into());
            }
            _ => drop(draft.body.insert("logprobs".to_owned(), count.into())),
        }
    }
    if let Some(text) = given.last("--extra-request-body") {
        draft.body.extend(object("--extra-request-body", text)?);
    }
    Ok(())
}

/// What the flags of `sglang.bench_one_batch_server` mean together: batches at once, on a server.
pub fn batches(given: &mut Given, draft: &mut Draft) -> Result<(), String> {
    if let Some(base) = given.last("--base-url") {
        draft.assume("--url", base.trim_end_matches('/'));
    } else {
        return Err(
            "bench_one_batch_server without --base-url starts a server: start it, and name it with \
             --base-url"
                .to_owned(),
        );
    }
    if let Some(model) = given.last("--model").filter(|model| !matches!(*model, "None" | "none")) {
        draft.assume("--model", model);
    }
    let all = |flag: &str, default: &'static str| match given.all(flag) {
        values if values.is_empty() => vec![default.to_owned()],
        values => values.into_iter().map(str::to_owned).collect(),
    };
    for batch in all("--batch-size", "1") {
        for input in all("--input-len", "1024") {
            for output in all("--output-len", "16") {
                draft.add("--static", format!("{batch}x{input}/{output}"));
            }
        }
    }
    // One measurement of each, as there.
    draft.assume("--repetitions", "1");
    draft.differs(
        "input and output throughput of a batch are reported as prompt and generation speed, with the \
         batch's time; there is one repeat of each, as there, and -r takes more",
    );
    draft.differs("the server's cache is not emptied between batches: each has new prompts");
    Ok(())
}
