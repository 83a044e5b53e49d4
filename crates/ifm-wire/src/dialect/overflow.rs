//! How servers say that a prompt is longer than their context.
//!
//! Not here: which failures are looked at (`exchange`).

/// Words of the refusals, in lower case, and who says them. Read in November 2026 in the source or
/// the documentation of each.
const WORDS: [(&str, &str); 8] = [
    // `vllm/renderers/params.py`: "This model's maximum context length is 4096 tokens. However, …";
    // OpenAI's chat completions say the same.
    ("maximum context length", "vLLM, OpenAI"),
    // The code beside the message, of both of OpenAI's APIs.
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
];

/// Whether what a server says of a failure is that the prompt is longer than its context.
pub fn is_overflow(said: &str) -> bool {
    let said = said.to_ascii_lowercase();
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
        ] {
            assert!(is_overflow(said), "{said}");
        }
        for other in ["the model does not exist", "context deadline exceeded", "rate limit", ""] {
            assert!(!is_overflow(other), "{other}");
        }
    }
}
