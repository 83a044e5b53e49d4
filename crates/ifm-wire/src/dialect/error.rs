//! What a server says went wrong, in one bounded sentence, whatever the shape it comes in.

use serde_json::Value;

/// The message of an error body, whatever its shape: `{"error":{"message":…}}`,
/// `{"error":"…"}`, `{"object":"error","message":…}`, `{"detail":…}`, the text of a page of
/// markup as proxies send them, or the plain text.
pub fn error_sentence(body: &[u8]) -> String {
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
    let error = value.get("error").filter(|error| !error.is_null()).unwrap_or(value);
    let message = ["message", "detail", "error"]
        .into_iter()
        .find_map(|key| error.get(key))
        .filter(|message| !message.is_null())
        .unwrap_or(error);
    match message {
        Value::String(text) => bounded_sentence(text),
        other => bounded_sentence(&other.to_string()),
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
