//! genai-bench.

use super::{number, object, opens, plain};
use crate::draft::Draft;
use crate::table::Given;

/// Default levels.
const LEVELS: &str = "1,2,4,8,16,32,64,128,256";

/// What the flags mean together.
pub fn rules(given: &mut Given, draft: &mut Draft) -> Result<(), String> {
    if let Some(backend) = given.last("--api-backend") {
        const OPENAI: [&str; 6] = ["openai", "vllm", "sglang", "together", "baseten", "oci-openai"];
        if !OPENAI.contains(&backend.to_ascii_lowercase().as_str()) {
            return Err(format!(
                "--api-backend {backend} is the API of a cloud: inferometer run URL --api custom:NAME \
                 supports the APIs of Azure, Bedrock, Vertex and Cohere"
            ));
        }
    }
    let base = given.last("--api-base").unwrap_or("http://127.0.0.1:8000");
    draft.url = Some(base.trim_end_matches('/').to_owned());
    let task = given.last("--task").unwrap_or("text-to-text");
    draft.assume(
        "--api",
        match task {
            "text-to-text" | "image-text-to-text" => "chat",
            "text-to-embeddings" | "image-to-embeddings" => "embeddings",
            "text-to-rerank" => "rerank",
            "text-to-speech" => "speech",
            other => return Err(format!("--task {other} is not supported")),
        },
    );
    if let Some(key) = given.last("--api-key").or(given.last("--model-api-key")) {
        // Its own documentation passes a placeholder where a server needs no key.
        draft.add("--header", format!("Authorization: Bearer {key}"));
    }
    if let Some(model) = given.last("--model") {
        draft.assume("--model", model);
    }
    if let Some(name) = given.last("--model-tokenizer") {
        match opens(name) {
            true => draft.assume("--tokenizer", name),
            false => draft.leave_out(
                "--model-tokenizer",
                format!("{name} is not on this machine; prompt lengths use the server's count, where it reports one"),
            ),
        }
    }
    let levels = match given.list("--num-concurrency") {
        list if list.is_empty() => LEVELS.to_owned(),
        list => list.join(","),
    };
    draft.assume("--concurrency", levels);
    if let Some(minutes) = number(given, "--max-time-per-run")? {
        draft.assume("--duration", format!("{}s", plain(minutes * 60.0)));
    }
    workload(given, draft)?;
    if let Some(text) = given.last("--additional-request-params") {
        draft.body.extend(object("--additional-request-params", text)?);
        // These fields of a body become inferometer flags.
        if let Some(temperature) = draft.body.remove("temperature") {
            draft.assume("--temperature", temperature.to_string());
        }
        match draft.body.remove("ignore_eos") {
            Some(value) => draft.assume("--ignore-eos", value.to_string()),
            None => draft.assume("--ignore-eos", "false"),
        }
    }
    for (flag, tag) in [
        ("--server-engine", "engine"),
        ("--server-gpu-type", "gpu"),
        ("--server-gpu-count", "gpu_count"),
        ("--server-version", "server_version"),
    ] {
        if let Some(value) = given.last(flag) {
            draft.add("--tag", format!("{tag}={value}"));
        }
    }
    draft.differs(
        "genai-bench's TPOT is (E2E - TTFT) / (tokens - 1) with tokens as its tokenizer counts them, and \
         its end is that of the stream; inferometer's ends with the last token, by the server's count",
    );
    draft.differs(
        "its rates include the start and the end of each level; inferometer's cover the steady part",
    );
    draft.differs(
        "its files are computed by its definitions, times in seconds; its sheets and pictures are made of them by \
         genai-bench excel and genai-bench plot, and inferometer report last -o x.html has tables and charts",
    );
    outputs(given, draft);
    Ok(())
}

/// The folder of the experiment, named as the tool names it.
fn outputs(given: &Given, draft: &mut Draft) {
    let folder = given.last("--experiment-folder-name").map(str::to_owned).unwrap_or_else(|| {
        let parts = [
            Some(given.last("--api-backend").unwrap_or("openai")),
            given.last("--server-engine"),
            given.last("--server-version"),
            Some(given.last("--task").unwrap_or("text-to-text")),
            Some("{model}_{date}"),
        ];
        parts.into_iter().flatten().collect::<Vec<_>>().join("_")
    });
    let path = match given.last("--experiment-base-dir") {
        Some(base) => format!("{}/{folder}", base.trim_end_matches('/')),
        None => folder,
    };
    draft.add("--export", format!("genai-bench:{}/", path.trim_end_matches('/')));
    if let Some(name) = given.last("--experiment-folder-name") {
        draft.assume("--name", name.trim_end_matches('/').rsplit('/').next().unwrap_or(name));
    }
}

fn workload(given: &Given, draft: &mut Draft) -> Result<(), String> {
    if draft.has("-W") || draft.has("--workload") {
        return Ok(());
    }
    let scenarios = given.all("--traffic-scenario");
    if scenarios.len() > 1 {
        draft.leave_out(
            "--traffic-scenario",
            format!("of several only {} is sent; measure the others one by one", scenarios[0]),
        );
    }
    let scenario = scenarios.first().copied();
    let path = given.last("--dataset-path").filter(|path| *path != "default");
    let mut columns = Vec::new();
    for (flag, ours) in [("--dataset-prompt-column", "prompt"), ("--dataset-image-column", "image")]
    {
        columns.extend(given.last(flag).map(|column| format!("{ours}={column}")));
    }
    match (path, scenario) {
        (Some(path), None | Some("dataset")) => {
            let is_local = std::path::Path::new(path).exists()
                || path
                    .rsplit('.')
                    .next()
                    .is_some_and(|ending| matches!(ending, "csv" | "json" | "jsonl" | "txt"));
            if is_local {
                draft.reads("--dataset-path", path);
            }
            let kind = if is_local { "custom:" } else { "custom:hub:" };
            draft.set("--workload", format!("{kind}{path}"));
            if !columns.is_empty() {
                draft.assume("--columns", columns.join(","));
            }
        }
        (path, scenario) => {
            if path.is_some() {
                draft.leave_out("--dataset-path", "prompts of a given length use synthetic words");
            }
            let text = match scenario.unwrap_or("D(100,100)") {
                // Embeddings and ranking: an input and no output.
                text if text.starts_with("E(") => {
                    format!("random:{}/1", text[2..].trim_end_matches(')'))
                }
                text if text.starts_with("R(") => {
                    return Err(format!(
                        "--traffic-scenario {text}: lengths of documents to rank come from a workload: inferometer workload list"
                    ));
                }
                // An image of a size, and lengths.
                text if text.starts_with("I(") => {
                    let sizes: Vec<&str> = text[2..]
                        .split(')')
                        .next()
                        .unwrap_or_default()
                        .split(',')
                        .map(str::trim)
                        .collect();
                    match sizes.as_slice() {
                        [width, height] => format!("random:100/100?image={width}x{height}"),
                        [width, height, count] => {
                            format!("random:100/100?image={width}x{height}&images={count}")
                        }
                        _ => {
                            return Err(format!(
                                "--traffic-scenario {text} is not I(WIDTH,HEIGHT)"
                            ));
                        }
                    }
                }
                // Fixed, normal and uniform lengths are read unchanged.
                text if text.starts_with(['D', 'N', 'U']) => text.to_owned(),
                text => {
                    return Err(format!(
                        "--traffic-scenario {text} is not supported; use D(IN,OUT), N(MEAN,SD)/(MEAN,SD), U(MIN,MAX)/(MIN,MAX), \
                         E(IN), I(WIDTH,HEIGHT) or dataset"
                    ));
                }
            };
            draft.set("--workload", text);
        }
    }
    if let Some(tokens) = given.last("--prefix-len") {
        draft.assume("--shared-prefix", tokens);
    }
    if given.has("--prefix-ratio") {
        draft.leave_out("--prefix-ratio", "set a shared prefix in tokens: --shared-prefix");
    }
    Ok(())
}
