//! The JSON payloads of events, as the Python servers of the field write them: a blank follows
//! every `:` and `,`. How payloads become events and bytes on the wire is in `script`.

/// Fields that open every chat event.
pub const CHAT_FIELDS: &str = "\"id\": \"chatcmpl-1\", \"object\": \"chat.completion.chunk\", \
    \"created\": 1700000000, \"model\": \"mock\"";

/// Fields that open every completions event.
pub const TEXT_FIELDS: &str = "\"id\": \"cmpl-1\", \"object\": \"text_completion\", \
    \"created\": 1700000000, \"model\": \"mock\"";

/// Prompt tokens that every usage object of the suite reports.
const PROMPT_TOKENS: u32 = 8;

/// A JSON string literal.
pub fn quote(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// One chat choice with a delta, as an element of `choices`.
pub fn choice(index: usize, delta: &str, finish_reason: Option<&str>) -> String {
    let finish = finish_reason.map_or_else(|| "null".to_owned(), quote);
    format!(
        "{{\"index\": {index}, \"delta\": {delta}, \"finish_reason\": {finish}, \"logprobs\": null}}"
    )
}

/// A usage object for `tokens` output tokens.
pub fn usage(tokens: u32) -> String {
    format!(
        "{{\"prompt_tokens\": {PROMPT_TOKENS}, \"completion_tokens\": {tokens}, \
         \"total_tokens\": {}}}",
        PROMPT_TOKENS + tokens
    )
}

/// The text of token number `position`, as the suite writes it.
pub fn token(position: usize) -> String {
    format!(" tok{}", position % 10)
}
