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
/// Length of an escape such as `\u00e9`, bytes.
const ESCAPE_BYTES: usize = 6;

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
    /// choice, no usage and no finish reason. `keys` are the keys of strings that carry output, or
    /// are nested in a value that does. Accepts the event as a template only if exactly one string
    /// value under one of them is non-empty, so that this value is what made the event carry
    /// output, and it holds all `text_bytes` of generated text that the full reading found.
    pub fn learn(&mut self, data: &[u8], keys: &[&[u8]], text_bytes: u32) {
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
        if let Some((start, end)) = found
            && string_bytes(&data[start..end]) == Some(text_bytes)
        {
            self.before.clear();
            self.before.extend_from_slice(&data[..start]);
            self.behind.clear();
            self.behind.extend_from_slice(&data[end..]);
            self.armed = true;
        }
    }

    /// Bytes of generated text in an event that equals the template but for a non-empty, valid
    /// string body; absent for any other event.
    #[inline]
    pub fn text_bytes(&self, data: &[u8]) -> Option<u32> {
        let around = self.before.len() + self.behind.len();
        if !self.armed || data.len() <= around {
            return None;
        }
        let end = data.len() - self.behind.len();
        if data[..self.before.len()] != self.before[..] || data[end..] != self.behind[..] {
            return None;
        }
        string_bytes(&data[self.before.len()..end])
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

/// Bytes in UTF-8 of what the inside of a JSON string means; absent for an empty one, and where it
/// holds a quote, a control character, or an escape that is cut off or unknown. UTF-8 is the stream's
/// business and not checked here.
#[inline]
pub(super) fn string_bytes(body: &[u8]) -> Option<u32> {
    let mut rest = body;
    let mut escaped = 0;
    while let Some((&byte, behind)) = rest.split_first() {
        rest = match byte {
            b'"' | 0..=0x1f => return None,
            b'\\' => match behind.split_first() {
                Some((b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't', behind)) => {
                    escaped += 1;
                    behind
                }
                Some((b'u', hex)) => {
                    let (digits, behind) = hex.split_at_checked(4)?;
                    escaped += ESCAPE_BYTES - unit_bytes(digits)?;
                    behind
                }
                _ => return None,
            },
            _ => behind,
        };
    }
    (!body.is_empty()).then(|| (body.len() - escaped).try_into().unwrap_or(u32::MAX))
}

/// UTF-8 bytes of an escaped UTF-16 unit: half of a surrogate pair counts for half of its four.
fn unit_bytes(digits: &[u8]) -> Option<usize> {
    let mut unit = 0;
    for digit in digits {
        unit = unit * 16 + char::from(*digit).to_digit(16)?;
    }
    Some(match unit {
        0..=0x7f => 1,
        0x80..=0x7ff | 0xd800..=0xdfff => 2,
        _ => 3,
    })
}

/// Bytes of all strings in `data` whose key is one of `keys`, as text in UTF-8.
pub(super) fn bytes_under(data: &[u8], keys: &[&[u8]]) -> u32 {
    let starts = keys.iter().flat_map(|key| value_starts(data, key));
    let bodies = starts.filter_map(|start| data.get(start..string_end(data, start)?));
    bodies.filter_map(string_bytes).fold(0, u32::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::super::{ChunkFacts, Memory};
    use super::*;
    use crate::dialect::openai;
    use proptest::prelude::*;

    const EVENT: &str =
        r#"{"id":"c-1","choices":[{"index":0,"delta":{"content":" tok"},"finish_reason":null}]}"#;

    fn text_bytes(event: &str) -> u32 {
        let facts = openai::read(event, &mut Memory::default(), None).unwrap_or_default();
        facts.choices.iter().map(|choice| choice.text_bytes).sum()
    }

    fn learned(event: &str) -> Template {
        let mut template = Template::default();
        template.learn(event.as_bytes(), openai::OUTPUT_KEYS, text_bytes(event));
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
            assert!(
                template.text_bytes(EVENT.replace(" tok", text).as_bytes()).is_some(),
                "{text}"
            );
        }
        for text in ["", "\"", "\\", r"\x", r"\u12", "\n", r#"","role":"x"#] {
            assert!(
                template.text_bytes(EVENT.replace(" tok", text).as_bytes()).is_none(),
                "{text}"
            );
        }
        assert!(template.text_bytes(EVENT.replace("null", "\"stop\"").as_bytes()).is_none());
        assert!(template.text_bytes(EVENT.replace("c-1", "c-2").as_bytes()).is_none());
    }

    #[test]
    fn an_event_with_two_texts_or_none_is_no_template() {
        for event in [
            r#"{"choices":[{"delta":{"content":"a","reasoning":"b"}}]}"#,
            r#"{"choices":[{"delta":{"content":"a"}},{"delta":{"content":"b"}}]}"#,
            r#"{"choices":[{"delta":{"tool_calls":[{}]}}]}"#,
            r#"{"choices":[{"delta":{"content":""}}]}"#,
        ] {
            assert_eq!(learned(event).text_bytes(event.as_bytes()), None, "{event}");
        }
    }

    #[test]
    fn a_text_that_looks_like_a_key_does_not_mislead() {
        // The text holds `"content":"` in escaped form, which is not that key.
        let event = r#"{"choices":[{"delta":{"content":"\"content\":\"x"}}]}"#;
        let template = learned(event);
        let other = r#"{"choices":[{"delta":{"content":"y"}}]}"#;
        assert!(
            template.text_bytes(other.as_bytes()).is_none()
                || openai::read(other, &mut Memory::default(), None).is_ok()
        );
        assert!(template.text_bytes(event.as_bytes()).is_some() || !template.armed);
    }

    proptest! {
        #[test]
        fn whatever_matches_means_the_same_to_the_full_parser(text in "[ -~é\u{2028}\\\\\"\n]{0,12}") {
            let template = learned(EVENT);
            let event = EVENT.replace(" tok", &text);
            if template.text_bytes(event.as_bytes()).is_some() {
                let read = |event| openai::read(event, &mut Memory::default(), None).ok();
                let (facts, former) = (read(&event), read(EVENT));
                prop_assert!(facts.is_some(), "{event}");
                let bytes = facts.as_ref().and_then(|facts| Some(facts.choices.iter().next()?.text_bytes));
                prop_assert_eq!(template.text_bytes(event.as_bytes()), bytes);
                let without = |facts: Option<ChunkFacts<'_>>| {
                    format!("{facts:?}").replace(&format!("text_bytes: {}", bytes.unwrap_or(0)), "text_bytes: 4")
                };
                prop_assert_eq!(without(facts), without(former));
            }
        }
    }
}
