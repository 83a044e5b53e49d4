//! `vllm bench serve`, and `benchmark_serving.py` before it.

use super::{host, model_and_tokenizer, number, plain, ramp_s, whole};
use crate::draft::Draft;
use crate::table::Given;
use ifm_wire::dialect;
use serde_json::Value;

/// The client's own default of requests.
const REQUESTS: u64 = 1000;
/// Default limit of requests in flight in our open loop.
const IN_FLIGHT: u64 = 4096;

/// What the flags mean together.
pub fn rules(given: &mut Given, draft: &mut Draft) -> Result<(), String> {
    server(given, draft)?;
    let mut requests = REQUESTS;
    match given.last("--num-prompts") {
        // All that a data set has.
        Some("-1") => {
            draft.unset("--requests");
            draft.assume("--duration", "24h");
            draft.differs(
                "--num-prompts -1 sends all prompts of the data set, and the run ends with them",
            );
        }
        _ => {
            requests = whole(given, "--num-prompts", REQUESTS)?;
            draft.assume("--requests", requests.to_string());
        }
    }
    workload(given, draft)?;
    load(given, draft, requests)?;
    sampling(given, draft)?;
    probe(given, draft)?;
    // vLLM's first prompts are cold by default, and so are these.
    draft.assume("--warmup", "0");
    // Its prompts are the same in every run.
    draft.assume("--seed", "0");
    files(given, draft)?;
    if !draft.has("--json") {
        draft.assume("--format", "vllm");
    }
    let (metrics, percentiles) =
        (given.last("--percentile-metrics"), given.last("--metric-percentiles"));
    if metrics.is_some() || percentiles.is_some() {
        let parts = [
            metrics.map(|list| format!("metrics={list}")),
            percentiles.map(|list| format!("percentiles={list}")),
        ];
        draft.set("--vllm-lines", parts.into_iter().flatten().collect::<Vec<_>>().join("&"));
    }
    differences(given, draft);
    Ok(())
}

fn server(given: &Given, draft: &mut Draft) -> Result<(), String> {
    let backend = given.last("--backend").or(given.last("--endpoint-type")).unwrap_or("openai");
    let api = match backend {
        "openai-chat" | "vllm-chat" | "openai-vllm-chat" => "chat",
        "openai-responses" => "responses",
        "openai-audio" => "transcriptions",
        "openai-embeddings"
        | "openai-embeddings-chat"
        | "openai-embeddings-clip"
        | "openai-embeddings-vlm2vec"
        | "infinity-embeddings" => "embeddings",
        "vllm-rerank" => "rerank",
        "tgi" => "tgi",
        "tensorrt-llm" => "triton",
        "openai" | "vllm" | "sglang" | "lmdeploy" | "scalellm" | "llama.cpp" => "completions",
        other => {
            return Err(format!(
                "--backend {other} is not supported; use openai, openai-chat, vllm, \
                 openai-audio, openai-embeddings, vllm-rerank, tgi, sglang, lmdeploy or llama.cpp"
            ));
        }
    };
    let base = match given.last("--base-url") {
        Some(base) => base.trim_end_matches('/').to_owned(),
        None => {
            let port = whole(given, "--port", 8000)?;
            format!("http://{}:{port}", host(given.last("--host").unwrap_or("127.0.0.1")))
        }
    };
    let (mut url, mut chosen) = (base.clone(), Some(api.to_owned()));
    if let Some(endpoint) = given.last("--endpoint") {
        let endpoint = format!("/{}", endpoint.trim_start_matches('/'));
        match dialect::api_of_path(&endpoint) {
            Some((_, of_path)) if endpoint.starts_with("/v1/") => {
                chosen = Some(of_path.word().to_owned());
            }
            // A path of its own, which the URL holds with its API.
            Some(_) => (url, chosen) = (format!("{base}{endpoint}"), None),
            None => {
                return Err(format!(
                    "--endpoint {endpoint} is not the path of a supported API: name one \
                     with --api"
                ));
            }
        }
    }
    draft.url = Some(url);
    if let Some(api) = chosen {
        draft.assume("--api", api);
    }
    model_and_tokenizer(given, draft, "--lora-modules");
    if given.last("--lora-assignment").is_some_and(|strategy| strategy != "random")
        && given.all("--lora-modules").len() > 1
    {
        draft.leave_out(
            "--lora-assignment",
            "inferometer draws the adapter of each request at random, with equal shares",
        );
    }
    Ok(())
}

fn load(given: &Given, draft: &mut Draft, requests: u64) -> Result<(), String> {
    let rate = number(given, "--request-rate")?.filter(|rate| rate.is_finite());
    let law = number(given, "--burstiness")?.filter(|shape| (*shape - 1.0).abs() > f64::EPSILON);
    if let Some(strategy) = given.last("--ramp-up-strategy") {
        let ends = number(given, "--ramp-up-start-rps")?.zip(number(given, "--ramp-up-end-rps")?);
        let Some((from, to)) = ends else {
            return Err(
                "--ramp-up-strategy needs --ramp-up-start-rps and --ramp-up-end-rps".to_owned()
            );
        };
        if from <= 0.0 || to <= 0.0 {
            return Err("a ramp begins and ends above 0 requests per second here".to_owned());
        }
        let seconds = ramp_s(from, to, requests as f64);
        draft.assume("--ramp", format!("{}-{}/{}s:exp", plain(from), plain(to), plain(seconds)));
        draft.differs(match strategy {
            "exponential" => {
                "the client's exponential ramp grows by the same factor with each request, so that \
                 it is steepest at its end; inferometer's grows by the same factor each second, between the \
                 same rates and with as many requests"
            }
            _ => {
                "the client's linear ramp grows by the same step with each request, which is by the \
                 same factor each second, as inferometer's does"
            }
        });
        draft.differs(
            "the ramp is inside all means and rates, as it is in the client's own; nothing of it is \
             a steady state",
        );
    } else if let Some(rate) = rate {
        draft.assume("--rate", plain(rate));
    } else if !draft.has("--concurrency") && !draft.has("--replay") && !replays(given) {
        draft.assume("--rate", "inf");
        if requests > IN_FLIGHT {
            draft.assume("--max-in-flight", requests.to_string());
        }
    }
    if let Some(shape) =
        law.filter(|_| draft.has("--rate") && rate.is_some() || draft.has("--ramp"))
    {
        draft.assume("--arrivals", format!("gamma:{}", plain(shape)));
    }
    if replays(given) {
        draft.assume("--replay", "1");
    }
    Ok(())
}

/// Whether requests go by the times of a trace.
fn replays(given: &Given) -> bool {
    given.last("--dataset-name") == Some("timed_trace") && !given.has("--no-self-timed")
}

fn workload(given: &mut Given, draft: &mut Draft) -> Result<(), String> {
    if draft.has("--workload") || draft.has("-W") {
        return Ok(());
    }
    // The old spelling of the ShareGPT file.
    if let Some(path) = given.last("--dataset").map(str::to_owned) {
        given.assume("--dataset-path", &path);
        given.assume("--dataset-name", "sharegpt");
    }
    let path = given.last("--dataset-path").map(str::to_owned);
    let name = given.last("--dataset-name").unwrap_or("random").to_owned();
    let file = || path.clone().ok_or_else(|| format!("--dataset-name {name} needs --dataset-path"));
    let general = |own: &str| given.last("--output-len").or(given.last(own)).map(str::to_owned);
    let mut options: Vec<String> = Vec::new();
    let mut output = None;
    if given.has("--disable-shuffle") && name == "sharegpt" {
        options.push("shuffle=no".to_owned());
    }
    let text = match name.as_str() {
        "random" | "random-mm" | "random-rerank" => {
            let input = given.last("--input-len").or(given.last("--random-input-len"));
            let made = format!(
                "random:{}/{}",
                input.unwrap_or("1024"),
                general("--random-output-len").as_deref().unwrap_or("128")
            );
            ratio(given, &mut options)?;
            prefix(given, "--random-prefix-len", &mut options)?;
            if name == "random-mm" {
                media(given, &mut options)?;
            }
            made
        }
        "sharegpt" => {
            output = general("--sharegpt-output-len");
            format!("sharegpt:{}", file()?)
        }
        "burstgpt" => {
            options.push("rule=vllm".to_owned());
            format!("burstgpt:{}", file()?)
        }
        "sonnet" => {
            options.extend(path.iter().map(|path| format!("text={path}")));
            options.push(format!("prefix={}", whole(given, "--sonnet-prefix-len", 200)?));
            format!(
                "sonnet:{}/{}",
                given.last("--sonnet-input-len").unwrap_or("550"),
                given.last("--sonnet-output-len").unwrap_or("150")
            )
        }
        "prefix_repetition" => {
            options.push(format!(
                "prefixes={}",
                whole(given, "--prefix-repetition-num-prefixes", 10)?
            ));
            format!(
                "prefix-repetition:{}+{}/{}",
                given.last("--prefix-repetition-prefix-len").unwrap_or("256"),
                given.last("--prefix-repetition-suffix-len").unwrap_or("256"),
                general("--prefix-repetition-output-len").as_deref().unwrap_or("128")
            )
        }
        "custom" | "custom_mm" | "custom_image" | "custom_audio" => {
            let asked = general("--custom-output-len").filter(|tokens| tokens != "-1");
            options.extend(asked.map(|tokens| format!("output={tokens}")));
            format!("custom:{}", file()?)
        }
        "spec_bench" => {
            options.extend(
                general("--spec-bench-output-len").map(|tokens| format!("output={tokens}")),
            );
            options
                .extend(given.last("--spec-bench-category").map(|word| format!("category={word}")));
            format!("spec-bench:{}", file()?)
        }
        "speed_bench" => {
            options.extend(
                general("--speed-bench-output-len").map(|tokens| format!("output={tokens}")),
            );
            options.extend(
                given.last("--speed-bench-category").map(|word| format!("category={word}")),
            );
            format!("speed-bench:{}", file()?)
        }
        "timed_trace" => {
            options
                .extend(given.last("--timed-trace-chunk-hash-size").map(|n| format!("block={n}")));
            format!("mooncake:{}", file()?)
        }
        "hf" => {
            output = general("--hf-output-len");
            hub(given, path.as_deref().unwrap_or_default(), &mut options)?
        }
        other => {
            return Err(format!(
                "--dataset-name {other} is not supported; use random, random-mm, sharegpt, \
                 burstgpt, sonnet, custom, prefix_repetition, spec_bench, speed_bench, timed_trace or hf"
            ));
        }
    };
    if let Some(path) = path.filter(|_| name != "hf") {
        draft.reads("--dataset-path", &path);
    }
    let options = match options.is_empty() {
        true => String::new(),
        false => format!("?{}", options.join("&")),
    };
    draft.set("--workload", format!("{text}{options}"));
    if let Some(tokens) = output {
        draft.assume("--output-len", tokens);
    }
    Ok(())
}

/// The lengths around those that are asked for.
fn ratio(given: &Given, options: &mut Vec<String>) -> Result<(), String> {
    let Some(text) = given.last("--random-range-ratio").or(given.last("--range-ratio")) else {
        return Ok(());
    };
    let ratio = match serde_json::from_str::<Value>(text) {
        Ok(Value::Object(both)) => {
            let part = |name: &str| both.get(name).and_then(Value::as_f64).unwrap_or(0.0);
            format!("{},{}", plain(part("input")), plain(part("output")))
        }
        Ok(Value::Number(_)) => text.to_owned(),
        _ => return Err(format!("--random-range-ratio {text} is not a number")),
    };
    if ratio.split(',').any(|part| part.parse::<f64>().is_ok_and(|part| part != 0.0)) {
        options.push(format!("range_ratio={ratio}&ratio=vllm"));
    }
    Ok(())
}

fn prefix(given: &Given, flag: &str, options: &mut Vec<String>) -> Result<(), String> {
    match whole(given, flag, 0)? {
        0 => {}
        tokens => options.push(format!("prefix={tokens}")),
    }
    Ok(())
}

/// Images and videos of random prompts: buckets of height, width and frames with their shares.
fn media(given: &Given, options: &mut Vec<String>) -> Result<(), String> {
    let buckets = given
        .last("--random-mm-bucket-config")
        .unwrap_or("{(256, 256, 1): 0.5, (720, 1280, 1): 0.5}");
    let unread =
        || format!("--random-mm-bucket-config {buckets} is not {{(height, width, frames): share}}");
    let (mut images, mut videos) = (Vec::new(), Vec::new());
    for bucket in buckets.trim().trim_matches(['{', '}']).split('(').skip(1) {
        let (size, share) = bucket.split_once(')').ok_or_else(unread)?;
        let sizes: Result<Vec<u32>, _> =
            size.split(',').map(|part| part.trim().parse::<u32>()).collect();
        let share = share.trim_matches([':', ' ', ',', '"', '\'']);
        let share: f64 = share.parse().map_err(|_| unread())?;
        match sizes.map_err(|_| unread())?.as_slice() {
            _ if share <= 0.0 => {}
            [height, width, 1] => images.push(format!("{width}x{height}:{share}")),
            [height, width, frames] => videos.push(format!("{width}x{height}x{frames}:{share}")),
            _ => return Err(unread()),
        }
    }
    let base = whole(given, "--random-mm-base-items-per-request", 1)?;
    let ratio = number(given, "--random-mm-num-mm-items-range-ratio")?.unwrap_or(0.0);
    let (least, most) =
        ((base as f64 * (1.0 - ratio)).floor(), (base as f64 * (1.0 + ratio)).ceil());
    let limit = |kind: &str| {
        let limits = given.last("--random-mm-limit-mm-per-prompt")?;
        serde_json::from_str::<Value>(limits).ok()?.get(kind)?.as_f64()
    };
    let count = |kind: &str| {
        let most = most.min(limit(kind).unwrap_or(most));
        let least = least.min(most);
        if least < most { format!("{least}-{most}") } else { format!("{most}") }
    };
    if !images.is_empty() {
        options.push(format!("image={}&images={}", images.join(","), count("image")));
        options.push("image_kind=noise&image_quality=75&media_at=end".to_owned());
    } else if !videos.is_empty() {
        options.push(format!("video={}&videos={}", videos.join(","), count("video")));
        options.push("video_kind=noise&media_at=end".to_owned());
    }
    Ok(())
}

/// A data set of the hub, by its name there.
fn hub(given: &Given, path: &str, options: &mut Vec<String>) -> Result<String, String> {
    let name = given.last("--hf-name").unwrap_or(path);
    let body = match name == path {
        true => format!("hub:{name}"),
        // A copy of the data set on this machine.
        false => path.to_owned(),
    };
    let known = name.to_ascii_lowercase();
    let kind = match known.as_str() {
        _ if known.contains("visionarena") => "vision-arena",
        _ if known.contains("mmmu") => "mmmu",
        _ if known.contains("mmstar") => "mmstar",
        _ if known.contains("librispeech")
            || known.contains("common_voice")
            || known.contains("tedlium")
            || known.contains("gigaspeech")
            || known.contains("earnings22")
            || known.contains("ami") && known.contains("edinburgh") =>
        {
            "asr"
        }
        _ if known.contains("mt-bench") => "spec-bench",
        _ if known.contains("sharegpt") => "sharegpt",
        "ai-mo/numinamath-1.5" | "ai-mo/numinamath-cot" => return Ok("numina-math".to_owned()),
        "ai-mo/aimo-validation-aime" | "ai-mo/aimo-validation-amc" => return Ok("aimo".to_owned()),
        "vdaita/edit_10k_char" | "vdaita/edit_5k_char" => {
            for (flag, option) in [
                ("--blazedit-min-distance", "min_distance"),
                ("--blazedit-max-distance", "max_distance"),
            ] {
                options.extend(given.last(flag).map(|value| format!("{option}={value}")));
            }
            let kind = if known.ends_with("10k_char") { "edit-10k-chars" } else { "edit-5k-chars" };
            return Ok(kind.to_owned());
        }
        "" => return Err("--dataset-name hf needs --dataset-path".to_owned()),
        _ => "custom",
    };
    Ok(format!("{kind}:{body}"))
}

fn sampling(given: &Given, draft: &mut Draft) -> Result<(), String> {
    // It sends no temperature by default.
    draft.assume("--temperature", "none");
    if let Some(text) = given.last("--logprobs") {
        let count = whole(given, "--logprobs", 0)?;
        match draft.value("--api") == Some("chat") {
            true => {
                draft.body.insert("logprobs".to_owned(), true.into());
                draft.body.insert("top_logprobs".to_owned(), count.into());
            }
            false => drop(draft.body.insert("logprobs".to_owned(), count.into())),
        }
        draft.differs(format!(
            "--logprobs {text}: answers are larger, and so is what each token costs"
        ));
    }
    if let Some(text) = given.last("--chat-template-kwargs") {
        let object = super::object("--chat-template-kwargs", text)?;
        draft.body.insert("chat_template_kwargs".to_owned(), object.into());
    }
    if let Some(text) = given.last("--extra-body") {
        // What is written there counts.
        draft.body.extend(super::object("--extra-body", text)?);
    }
    Ok(())
}

fn probe(given: &Given, draft: &mut Draft) -> Result<(), String> {
    if let Some(rate) = number(given, "--probe-request-rate")?.filter(|rate| *rate > 0.0) {
        draft.assume("--probe", "random:8/1");
        draft.assume("--probe-pause", format!("{}s", plain(1.0 / rate)));
        draft.differs(
            "the client's probes are sent at their rate, answered or not; inferometer sends one after the \
             other, with that pause between them",
        );
    }
    Ok(())
}

/// The file that the client would write.
fn files(given: &Given, draft: &mut Draft) -> Result<(), String> {
    let appends = given.has("--append-result");
    if !given.has("--save-result") && !appends {
        if given.has("--result-filename") || given.has("--result-dir") {
            draft.leave_out("--result-filename", "the client writes it with --save-result only");
        }
        return Ok(());
    }
    let name = match given.last("--result-filename") {
        Some(name) => name.to_owned(),
        None => {
            let label = given.last("--label").or(given.last("--backend")).unwrap_or("openai");
            let rate = given.last("--request-rate").unwrap_or("inf");
            let rate = match rate.parse::<f64>() {
                Ok(rate) if rate.is_finite() && rate.fract() == 0.0 => format!("{rate:.1}"),
                _ => rate.to_owned(),
            };
            let users = given.last("--max-concurrency");
            let users = users.map(|users| format!("-concurrency{users}")).unwrap_or_default();
            match given.last("--ramp-up-strategy") {
                None => format!("{label}-{rate}qps{users}-{{model}}-{{date}}.json"),
                Some(strategy) => format!(
                    "{label}-ramp-up-{strategy}-{}qps-{}qps{users}-{{model}}-{{date}}.json",
                    given.last("--ramp-up-start-rps").unwrap_or_default(),
                    given.last("--ramp-up-end-rps").unwrap_or_default()
                ),
            }
        }
    };
    // The file's texts of answers.
    if given.has("--save-detailed") {
        draft.switch("--keep-text");
    }
    let path = match given.last("--result-dir") {
        Some(folder) => format!("{}/{name}", folder.trim_end_matches('/')),
        None => name,
    };
    let flag = if appends { "--export-append" } else { "--export" };
    draft.add(flag, format!("vllm?{}:{path}", options(given)?));
    Ok(())
}

/// What the client's flags say of its file.
fn options(given: &Given) -> Result<String, String> {
    let backend = given.last("--backend").or(given.last("--endpoint-type")).unwrap_or("openai");
    let is_detailed = given.has("--save-detailed");
    let mut options = vec![
        format!("backend={backend}"),
        format!("metrics={}", given.last("--percentile-metrics").unwrap_or("ttft,tpot,itl")),
        format!("percentiles={}", given.last("--metric-percentiles").unwrap_or("99")),
        format!("detailed={}", if is_detailed { "yes" } else { "no" }),
    ];
    let tokenizer = given.last("--tokenizer").filter(|name| !name.contains([':', '&']));
    options.extend(tokenizer.map(|name| format!("tokenizer={name}")));
    let options = options.join("&");
    ifm_interop::ExportOptions::parse(&options)
        .map_err(|why| format!("--metric-percentiles: {why}"))?;
    Ok(options)
}

fn differences(given: &Given, draft: &mut Draft) {
    draft.differs(
        "the block and the file are by the client's definitions: TPOT is (E2EL - TTFT) / (tokens - 1) \
         of a request, ITL a gap between two pieces of an answer, and rates divide by the whole time, \
         ramp and drain included; inferometer report last has inferometer's, without each user's first request",
    );
    draft.differs(
        "an answer that broke off, or an error inside a stream, fails here and succeeds there",
    );
    draft.differs(
        "a token's time is when the kernel received it; the client's is when its event loop came to \
         it, which is later at many requests in flight",
    );
    match given.last("--num-warmups") {
        None | Some("0") => draft.differs(
            "nothing is sent before the measurement, as there: the server's cold start is inside the means",
        ),
        Some(_) => draft.differs("warm-up requests are in no number, as there"),
    }
    if given.has("--save-result") || given.has("--append-result") {
        draft.differs(
            "start_times of the file begin at 0, the client's at the time since the machine started; \
             date is UTC, the client's is local time",
        );
    }
    if given.last("--dataset-name").is_none_or(|name| name == "random") {
        draft.differs(
            "random prompts are words that are as long as asked for by the server's count; the client \
             decodes random token ids, whose text may count a few tokens more or less",
        );
    }
    draft.differs(
        "the seed is the client's, 0 unless it is given: a second run sends the same prompts, which a \
         server with a prefix cache knows",
    );
}
