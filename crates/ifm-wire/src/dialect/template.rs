//! The quick way through a stream: events that equal the last one but for one string.
//!
//! Within one stream, an event usually differs from the one before only in the text of one JSON
//! string. When an event was read in full and one string in it carried the output, its bytes
//! before and behind that string are kept. A later event with the same bytes before and behind,
//! and a non-empty valid string body between, has the same structure by construction, so it
//! means the same and need not be parsed. Anything else goes the full way.

use memchr::{memchr2, memmem};

/// Longest event that is kept as a template, bytes.
const TEMPLATE_BYTES_MAX: usize = 4096;
/// The bytes around the output string of the last event that was read in full.
#[derive(Debug, Default)]
pub struct Template {
    before: Vec<u8>,
    behind: Vec<u8>,
    armed: bool,
}

impl Template {
    /// Forgets the stream; buffers are kept.
    pub fn reset(&mut self) {
        self.armed = false;
    }

    /// Learns from an event that was read in full and was found to carry non-empty text of one
    /// choice, no usage and no finish reason. `keys` are those of strings that carry output, or
    /// stand within a value that does. Takes the event as a template only if exactly one string
    /// value under one of them is non-empty, so that its being non-empty is what made
    /// the event carry output.
    pub fn learn(&mut self, data: &[u8], keys: &[&[u8]]) {
        self.armed = false;
        if data.len() > TEMPLATE_BYTES_MAX {
            return;
        }
        let mut found: Option<(usize, usize)> = None;
        for key in keys {
            for start in value_starts(data, key) {
                let Some(end) = string_end(data, start) else { return };
                if end > start && found.replace((start, end)).is_some() {
                    return;
                }
            }
        }
        if let Some((start, end)) = found {
            self.before.clear();
            self.before.extend_from_slice(&data[..start]);
            self.behind.clear();
            self.behind.extend_from_slice(&data[end..]);
            self.armed = true;
        }
    }

    /// Whether the event equals the template but for a non-empty, valid string body.
    #[inline]
    pub fn matches(&self, data: &[u8]) -> bool {
        let around = self.before.len() + self.behind.len();
        if !self.armed || data.len() <= around {
            return false;
        }
        let end = data.len() - self.behind.len();
        data[..self.before.len()] == self.before[..]
            && data[end..] == self.behind[..]
            && is_string_body(&data[self.before.len()..end])
    }
}

/// Positions just behind `"key"`, a colon and an opening quote.
fn value_starts<'data>(data: &'data [u8], key: &'data [u8]) -> impl Iterator<Item = usize> + 'data {
    memmem::find_iter(data, key).filter_map(move |place| {
        let quoted = place.checked_sub(1).is_some_and(|before| data[before] == b'"');
        let rest = data.get(place + key.len()..)?.strip_prefix(b"\"")?;
        let rest = rest.trim_ascii_start().strip_prefix(b":")?;
        let rest = rest.trim_ascii_start().strip_prefix(b"\"")?;
        quoted.then_some(data.len() - rest.len())
    })
}

/// Where the string that begins at `start` ends (the position of its closing quote).
fn string_end(data: &[u8], start: usize) -> Option<usize> {
    let mut position = start;
    loop {
        position += memchr2(b'"', b'\\', data.get(position..)?)?;
        if data[position] == b'"' {
            return Some(position);
        }
        position += 2;
    }
}

/// Whether the bytes are the inside of a JSON string: no quote, no control character, only whole
/// and known escapes. UTF-8 is the stream's business and not checked here.
#[inline]
fn is_string_body(body: &[u8]) -> bool {
    let mut rest = body;
    while let Some((&byte, behind)) = rest.split_first() {
        rest = match byte {
            b'"' | 0..=0x1f => return false,
            b'\\' => match behind.split_first() {
                Some((b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't', behind)) => behind,
                Some((b'u', hex)) => match hex.split_at_checked(4) {
                    Some((digits, behind)) if digits.iter().all(u8::is_ascii_hexdigit) => behind,
                    _ => return false,
                },
                _ => return false,
            },
            _ => behind,
        };
    }
    !body.is_empty()
}

#[cfg(test)]
mod tests {
    use super::super::Memory;
    use super::*;
    use crate::dialect::openai;
    use proptest::prelude::*;

    const EVENT: &str =
        r#"{"id":"c-1","choices":[{"index":0,"delta":{"content":" tok"},"finish_reason":null}]}"#;

    fn learned(event: &str) -> Template {
        let mut template = Template::default();
        template.learn(event.as_bytes(), openai::OUTPUT_KEYS);
        template
    }

    #[test]
    fn only_the_text_may_differ() {
        let template = learned(EVENT);
        for text in [
            " tok",
            "x",
            "ünï",
            r"\n",
            r#"say \"hi\""#,
            r"\u00e9",
            r"\ud83e\udd80",
            r"\ud800",
            "data: {\\\"usage\\\":1}",
        ] {
            assert!(template.matches(EVENT.replace(" tok", text).as_bytes()), "{text}");
        }
        for text in ["", "\"", "\\", r"\x", r"\u12", "\n", r#"","role":"x"#] {
            assert!(!template.matches(EVENT.replace(" tok", text).as_bytes()), "{text}");
        }
        assert!(!template.matches(EVENT.replace("null", "\"stop\"").as_bytes()));
        assert!(!template.matches(EVENT.replace("c-1", "c-2").as_bytes()));
    }

    #[test]
    fn an_event_with_two_texts_or_none_is_no_template() {
        for event in [
            r#"{"choices":[{"delta":{"content":"a","reasoning":"b"}}]}"#,
            r#"{"choices":[{"delta":{"content":"a"}},{"delta":{"content":"b"}}]}"#,
            r#"{"choices":[{"delta":{"tool_calls":[{}]}}]}"#,
            r#"{"choices":[{"delta":{"content":""}}]}"#,
        ] {
            assert!(!learned(event).matches(event.as_bytes()), "{event}");
        }
    }

    #[test]
    fn a_text_that_looks_like_a_key_does_not_mislead() {
        // The text holds `"content":"` in escaped form, which is not that key.
        let event = r#"{"choices":[{"delta":{"content":"\"content\":\"x"}}]}"#;
        let template = learned(event);
        let other = r#"{"choices":[{"delta":{"content":"y"}}]}"#;
        assert!(
            !template.matches(other.as_bytes())
                || openai::read(other, &mut Memory::default(), None).is_ok()
        );
        assert!(template.matches(event.as_bytes()) || !template.armed);
    }

    proptest! {
        #[test]
        fn whatever_matches_means_the_same_to_the_full_parser(text in "[ -~é\u{2028}\\\\\"\n]{0,12}") {
            let template = learned(EVENT);
            let event = EVENT.replace(" tok", &text);
            if template.matches(event.as_bytes()) {
                let facts = openai::read(&event, &mut Memory::default(), None);
                prop_assert!(facts.is_ok(), "{event}");
                let full = openai::read(EVENT, &mut Memory::default(), None);
                prop_assert_eq!(facts.ok(), full.ok());
            }
        }
    }
}
