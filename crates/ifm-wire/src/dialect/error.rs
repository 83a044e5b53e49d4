//! The server's error message, in one bounded sentence, from any known shape.

use serde_json::Value;

/// Most bytes of a payload that are searched for an error: a tree of JSON values takes up to 30 times
/// the bytes of its text.
pub(super) const ERROR_BYTES_MAX: usize = 64 * 1024;

/// A payload as a tree of values; absent for one that is too large to be an error, or no JSON.
pub(super) fn small_value(data: &str) -> Option<Value> {
    (data.len() <= ERROR_BYTES_MAX).then(|| serde_json::from_str(data).ok()).flatten()
}

/// The message of an error body, whatever its shape: `{"error":{"message":…}}`,
/// `{"error":"…"}`, `{"object":"error","message":…}`, `{"detail":…}`, the text of a page of
/// markup as proxies send them, or the plain text.
pub fn error_sentence(body: &[u8]) -> String {
    let body = body.get(..ERROR_BYTES_MAX).unwrap_or(body);
    match serde_json::from_slice::<Value>(body) {
        Ok(value) => error_message(&value),
        Err(_) => {
            let text = String::from_utf8_lossy(body);
            match text.trim_start().starts_with('<') {
                true => markup_sentence(&text),
                false => bounded_sentence(&text),
            }
        }
    }
}

/// The message in an error document of any known shape, in one bounded sentence.
pub fn error_message(value: &Value) -> String {
    let has_words = |error: &&Value| is_report(error) && !error.is_boolean() && !error.is_number();
    error_words(value.get("error").filter(has_words).unwrap_or(value))
}

/// Fields that hold the words of an error, or an object that does, those that say most first.
const WORDED: [&str; 19] = [
    "error",
    "message",
    "msg",
    "Message",
    "detail",
    "details",
    "error_msg",
    "errmsg",
    "error_message",
    "errorMessage",
    "status_msg",
    "errors",
    "text",
    "content",
    "title",
    "reason",
    "status",
    "header",
    "base_resp",
];
/// How deep the words of an error may lie.
const DEPTH_MAX: usize = 5;

/// The words of an error, wherever they lie in it; where it has none, how it is written.
pub(super) fn error_words(error: &Value) -> String {
    match worded(error, DEPTH_MAX) {
        Some(text) => bounded_sentence(&text),
        None => bounded_sentence(&error.to_string()),
    }
}

fn worded(value: &Value, depth: usize) -> Option<String> {
    let depth = depth.checked_sub(1)?;
    match value {
        Value::String(text) => Some(text.clone()).filter(|text| !text.trim().is_empty()),
        // A list of FastAPI says where each field is wrong: it is shown as it is written.
        Value::Array(list) if list.iter().any(|entry| entry.get("loc").is_some()) => {
            Some(value.to_string())
        }
        Value::Array(list) => list.iter().find_map(|entry| worded(entry, depth)),
        Value::Object(fields) => {
            WORDED.into_iter().filter_map(|name| fields.get(name)).find_map(|it| worded(it, depth))
        }
        _ => None,
    }
}

/// Whether the value of a field `error` reports one: empty values do not.
pub(super) fn is_report(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => false,
        Value::Bool(true) => true,
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::String(text) => !text.trim().is_empty(),
        Value::Array(list) => !list.is_empty(),
        Value::Object(fields) => !fields.is_empty(),
    }
}

/// What a page of markup says to a reader, without its tags; the page itself if that is nothing.
pub fn markup_sentence(page: &str) -> String {
    // A character has up to four bytes, so one of the four lengths does not cut one.
    let start = (0..4).find_map(|less| page.get(..ERROR_BYTES_MAX - less));
    let page = start.unwrap_or(page);
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
