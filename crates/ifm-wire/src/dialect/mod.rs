//! What the payload of an event or of a whole answer means, API by API.
//!
//! A dialect turns JSON into [`ChunkFacts`]: which choices carry generated output and of what
//! kind, how the stream ended, what the server counted. It knows no stamps.
//!
//! To add an API: one file here, and an arm in the functions below.

pub mod openai;
pub mod template;
mod text;

use ifm_core::spec::Api;
use std::borrow::Cow;

/// What an event says about one choice (sequence).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChoiceFacts<'input> {
    /// Index of the choice.
    pub index: u16,
    /// Non-empty answer text, a tool call, a function call, or a refusal.
    pub has_answer: bool,
    /// Non-empty reasoning text.
    pub has_reasoning: bool,
    /// An empty text that may stand for a token: no role, no finish reason beside it.
    pub has_empty_text: bool,
    /// The model refused.
    pub has_refusal: bool,
    /// The reason why the choice ended, if it did.
    pub finish_reason: Option<Cow<'input, str>>,
}

/// What the server counted. Each number is absent where it said nothing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    /// Tokens of the prompt.
    pub prompt_tokens: Option<u32>,
    /// Tokens generated so far, of all choices that the object speaks for.
    pub completion_tokens: Option<u32>,
    /// Reasoning tokens among them.
    pub reasoning_tokens: Option<u32>,
    /// Prompt tokens from a cache.
    pub cached_tokens: Option<u32>,
    /// Accepted draft tokens.
    pub accepted_draft_tokens: Option<u32>,
    /// Rejected draft tokens.
    pub rejected_draft_tokens: Option<u32>,
}

/// What one event, or one whole answer, says.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct ChunkFacts<'input> {
    /// What it says about each choice that it mentions.
    pub choices: openai::Choices<'input>,
    /// What the server counted, if it said so here.
    pub usage: Option<Usage>,
    /// The error that it reports, in one bounded sentence.
    pub error: Option<String>,
}

/// Reads the payload of one event of a stream.
///
/// # Errors
/// Why the payload is no JSON of that API, in one bounded sentence.
pub fn read_event<'input>(
    api: Api,
    data: &'input str,
    text: Option<&mut String>,
) -> Result<ChunkFacts<'input>, String> {
    match api {
        Api::Chat | Api::Completions => openai::read(data, text),
    }
}

/// Reads a whole answer that was not streamed. The shape is the same as that of an event, with
/// `message` in the place of `delta`.
///
/// # Errors
/// As [`read_event`].
pub fn read_answer<'input>(
    api: Api,
    data: &'input str,
    text: Option<&mut String>,
) -> Result<ChunkFacts<'input>, String> {
    read_event(api, data, text)
}

/// Whether the payload is the mark that ends a stream.
pub fn is_end_mark(api: Api, data: &[u8]) -> bool {
    match api {
        Api::Chat | Api::Completions => data.trim_ascii() == b"[DONE]",
    }
}

/// The message of an error body, whatever its shape: `{"error":{"message":…}}`,
/// `{"error":"…"}`, `{"object":"error","message":…}`, `{"detail":…}`, the text of a page of
/// markup as proxies send them, or the plain text.
pub fn error_sentence(body: &[u8]) -> String {
    match serde_json::from_slice::<serde_json::Value>(body) {
        Ok(value) => openai::error_message(&value),
        Err(_) => {
            let text = String::from_utf8_lossy(body);
            match text.trim_start().starts_with('<') {
                true => markup_sentence(&text),
                false => bounded_sentence(&text),
            }
        }
    }
}

/// What a page of markup says to a reader, without its tags; the page itself if that is nothing.
pub fn markup_sentence(page: &str) -> String {
    // Lower-casing ASCII only keeps every byte in its place.
    let lower = page.to_ascii_lowercase();
    let mut at = lower.find("<body").unwrap_or(0);
    let mut text = String::new();
    while let Some(tag) = lower[at..].find('<').map(|offset| at + offset) {
        text.push_str(&page[at..tag]);
        text.push(' ');
        let rest = &lower[tag..];
        let ending = ["script", "style"]
            .into_iter()
            .find(|name| rest[1..].starts_with(name))
            .map_or_else(|| ">".to_owned(), |name| format!("</{name}>"));
        at = rest.find(&ending).map_or(page.len(), |offset| tag + offset + ending.len());
    }
    text.push_str(&page[at..]);
    match bounded_sentence(&text) {
        sentence if sentence.is_empty() => bounded_sentence(page),
        sentence => sentence,
    }
}

/// One line of at most 300 characters: no control characters, no runs of spaces.
pub fn bounded_sentence(text: &str) -> String {
    let mut sentence = String::new();
    for word in text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|w| !w.is_empty())
    {
        if !sentence.is_empty() {
            sentence.push(' ');
        }
        sentence.extend(word.chars().take(301));
        if sentence.chars().count() > 300 {
            sentence = sentence.chars().take(299).collect();
            sentence.push('…');
            break;
        }
    }
    sentence
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_of_markup_is_told_by_what_it_says() {
        for (page, expect) in [
            (
                "<html><head><title>502</title></head>\r\n<BODY><center><h1>502 Bad Gateway</h1>\
                 </center><hr>nginx</body></html>",
                "502 Bad Gateway nginx",
            ),
            ("<p>é</p><style>p > q {}</style><Script>a<b</script>up<br/>down", "é up down"),
            ("<html></html>", "<html></html>"),
            ("<b", "<b"),
            ("<script>", "<script>"),
            (" <!doctype html><body>no end <", "no end"),
        ] {
            assert_eq!(error_sentence(page.as_bytes()), expect, "{page}");
        }
        assert_eq!(error_sentence(b"a < b"), "a < b");
    }
}
