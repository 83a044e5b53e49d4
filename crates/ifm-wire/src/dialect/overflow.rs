//! How servers say that a prompt is longer than their context.
//!
//! Not here: which failures are looked at (`exchange`).

use super::error::ERROR_BYTES_MAX;
use serde_json::Value;

/// Words of the refusals, in lower case, and who says them. Read in November 2026 in the source or
/// the documentation of each.
const WORDS: [(&str, &str); 9] = [
    // `vllm/renderers/params.py`: "This model's maximum context length is 4096 tokens. However, …";
    // OpenAI's chat completions say the same.
    ("maximum context length", "vLLM, OpenAI"),
    // The code next to the message, in both of OpenAI's APIs.
    ("context_length_exceeded", "OpenAI"),
    // OpenAI's Responses: "Your input exceeds the context window of this model."
    ("exceeds the context window", "OpenAI"),
    // SGLang, `tokenizer_manager.py`: "The input (9 tokens) is longer than the model's context
    // length (8 tokens)."
    ("longer than the model's context length", "SGLang"),
    // SGLang, where prompt and answer together are too long: "Requested token count exceeds the
    // model's maximum context length of …".
    ("requested token count exceeds", "SGLang"),
    // llama.cpp, `server-context.cpp`: "request (9 tokens) exceeds the available context size (8
    // tokens), try increasing it", of type `exceed_context_size_error`.
    ("exceeds the available context size", "llama.cpp"),
    // Anthropic: "prompt is too long: 210000 tokens > 200000 maximum".
    ("prompt is too long", "Anthropic"),
    // Text Generation Inference, `router/src/validation.rs`: "`inputs` tokens + `max_new_tokens` must
    // be <= 8. Given: …".
    ("`inputs` tokens + `max_new_tokens` must be", "TGI"),
    // The same file: "`inputs` must have less than 8 tokens. Given: 9".
    ("`inputs` must have less than", "TGI"),
];

/// Locations of an error in a server's message: the object itself, OpenAI and compatible servers,
/// FastAPI, a failed response, and SGLang's reason for aborting a request.
const ERRORS: [&str; 5] = ["", "/error", "/detail", "/response/error", "/meta_info/finish_reason"];
/// Fields of an error that say what is wrong, rather than what was asked.
const TELLING: [&str; 6] = ["message", "detail", "error", "code", "type", "error_type"];
/// After these words pydantic repeats the request in its message.
const REPEATED: [&str; 3] = ["\"input\":", "'input':", "input_value="];

/// Whether a server's failure message says that the prompt is longer than its context. Only the
/// server's own words count: many servers repeat the request, whose text may mention contexts.
pub fn is_overflow(body: &[u8]) -> bool {
    let body = body.get(..ERROR_BYTES_MAX).unwrap_or(body);
    match serde_json::from_slice::<Value>(body) {
        Ok(value) => ERRORS.into_iter().filter_map(|place| value.pointer(place)).any(tells),
        Err(_) => has_words(&String::from_utf8_lossy(body)),
    }
}

/// Whether an error says so: a text, or an object.
fn tells(error: &Value) -> bool {
    let fields = TELLING.into_iter().filter_map(|name| error.get(name));
    let mut texts = std::iter::once(error).chain(fields).filter_map(Value::as_str);
    let details = error.get("detail").and_then(Value::as_array).into_iter().flatten();
    let mut details = details.filter_map(|detail| detail.get("msg")?.as_str());
    texts.any(has_words) || details.any(has_words)
}

fn has_words(said: &str) -> bool {
    let own = REPEATED.into_iter().filter_map(|mark| said.find(mark)).min();
    let said = said.get(..own.unwrap_or(said.len())).unwrap_or(said).to_ascii_lowercase();
    WORDS.iter().any(|(words, _)| said.contains(words))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prompt_that_is_too_long_is_told_from_other_refusals() {
        for said in [
            "This model's maximum context length is 4096 tokens. However, you requested 1 output \
             tokens and your prompt contains at least 4096 input tokens",
            "The input (9 tokens) is longer than the model's context length (8 tokens).",
            r#"{"error":{"message":"too much","code":"context_length_exceeded"}}"#,
            "Your input exceeds the context window of this model.",
            "request (9 tokens) exceeds the available context size (8 tokens), try increasing it",
            "prompt is too long: 210000 tokens > 200000 maximum",
            "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 8",
            r#"{"error":"Input validation error: `inputs` must have less than 8 tokens. Given: 9"}"#,
            r#"{"object":"error","message":"the maximum context length is 8","code":400}"#,
            r#"{"detail":"prompt is too long"}"#,
            r#"{"detail":[{"loc":["body"],"msg":"prompt is too long","input":"x"}]}"#,
            r#"{"response":{"status":"failed","error":{"code":"context_length_exceeded"}}}"#,
            r#"{"meta_info":{"finish_reason":{"type":"abort","message":"prompt is too long"}}}"#,
            r#""prompt is too long""#,
        ] {
            assert!(is_overflow(said.as_bytes()), "{said}");
        }
        for other in ["the model does not exist", "context deadline exceeded", "rate limit", ""] {
            assert!(!is_overflow(other.as_bytes()), "{other}");
        }
    }

    #[test]
    fn what_a_server_repeats_of_the_request_is_not_its_own_words() {
        for other in [
            r#"{"detail":[{"type":"missing","msg":"Field required","input":{"prompt":"maximum context length"}}]}"#,
            r#"{"detail":[{"type":"missing","msg":"Field required","input":{"prompt":"maximum context length, cut"#,
            r#"{"error":{"message":"[{'msg': 'Field required', 'input': 'prompt is too long'}]"}}"#,
            r#"{"error":{"message":"1 error [input_value='prompt is too long', input_type=str]"}}"#,
            r#"{"error":{"message":"no such model","param":"prompt is too long"}}"#,
            r#"{"response":{"input":"prompt is too long","error":{"message":"no"}}}"#,
        ] {
            assert!(!is_overflow(other.as_bytes()), "{other}");
        }
    }

    #[test]
    fn the_reference_names_the_words_of_each_server() {
        let page = include_str!("../../../../docs/reference/apis.md");
        for (words, servers) in WORDS {
            for server in servers.split(", ") {
                let mut rows =
                    page.lines().filter(|line| line.starts_with(&format!("| {server} |")));
                assert!(rows.any(|row| row.contains(words)), "apis.md: {server}: {words}");
            }
        }
        let named = page.lines().filter(|line| WORDS.iter().any(|(words, _)| line.contains(words)));
        let quoted = |row: &str| row.matches(", ").count() + 1;
        let pairs: usize = WORDS.iter().map(|(_, servers)| quoted(servers)).sum();
        assert_eq!(named.map(quoted).sum::<usize>(), pairs, "apis.md has words of its own");
    }
}
