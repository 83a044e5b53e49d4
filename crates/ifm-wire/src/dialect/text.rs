//! JSON strings as written in the input, so that none is copied only to check that it is not empty.
//!
//! Lone surrogates are let through: servers that cut text between two UTF-16 units send them,
//! and other clients read them. In kept text each becomes U+FFFD.

use super::list::List;
use super::template::{bytes_under, string_bytes};
use serde::de::{Deserialize, Deserializer, Error};
use serde_json::value::RawValue;

/// The inside of a JSON string that a parser has found right, escapes as written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Text<'input>(&'input str);

impl<'de: 'input, 'input> Deserialize<'de> for Text<'input> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = <&RawValue>::deserialize(deserializer)?.get();
        Text::of_raw(raw).ok_or_else(|| D::Error::custom("invalid type: expected a string"))
    }
}

impl<'input> Text<'input> {
    /// The text of a raw JSON value, if that is a string.
    pub(super) fn of_raw(raw: &'input str) -> Option<Text<'input>> {
        raw.strip_prefix('"')?.strip_suffix('"').map(Text)
    }

    pub(super) fn is_empty(self) -> bool {
        self.0.is_empty()
    }

    /// Bytes of the text as written, escapes included.
    pub(super) fn written_bytes(self) -> usize {
        self.0.len()
    }

    /// Bytes in UTF-8 of what the text means.
    pub(super) fn bytes(self) -> u32 {
        string_bytes(self.0.as_bytes()).unwrap_or(0)
    }

    /// Appends what the text means.
    pub(super) fn append_to(self, out: &mut String) {
        let mut rest = self.0;
        while let Some((plain, behind)) = rest.split_once('\\') {
            out.push_str(plain);
            let mut characters = behind.chars();
            match characters.next() {
                Some('u') => {
                    let (character, used) = unicode_escape(behind);
                    out.push(character);
                    rest = &behind[used..];
                    continue;
                }
                Some('n') => out.push('\n'),
                Some('r') => out.push('\r'),
                Some('t') => out.push('\t'),
                Some('b') => out.push('\u{8}'),
                Some('f') => out.push('\u{c}'),
                Some(other) => out.push(other),
                None => {}
            }
            rest = characters.as_str();
        }
        out.push_str(rest);
    }
}

/// A value that is a text, or anything else, which then counts as none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct AnyText<'input>(pub(super) Option<Text<'input>>);

impl<'de: 'input, 'input> Deserialize<'de> for AnyText<'input> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(AnyText(Text::of_raw(<&RawValue>::deserialize(deserializer)?.get())))
    }
}

/// The character that an escape means, and the bytes it takes. `text` begins with its `u`; a
/// second escape is taken along if the two are halves of one character.
fn unicode_escape(text: &str) -> (char, usize) {
    let unit = |start: usize| {
        let digits = text.get(start..start + 4).filter(|_| text[..start].ends_with('u'));
        digits.and_then(|digits| u16::from_str_radix(digits, 16).ok())
    };
    let Some(first) = unit(1) else { return (char::REPLACEMENT_CHARACTER, 1) };
    let second = text.get(5..6).filter(|slash| *slash == "\\").and_then(|_| unit(7));
    if let Some(second) = second
        && let Some(Ok(character)) = char::decode_utf16([first, second]).next()
        && character > '\u{ffff}'
    {
        return (character, 11);
    }
    (char::from_u32(u32::from(first)).unwrap_or(char::REPLACEMENT_CHARACTER), 5)
}

/// The text of a message: a string, or a list of parts of which each text counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Content<'input> {
    Whole(Text<'input>),
    Parts { raw: &'input str, is_empty: bool },
}

#[derive(serde::Deserialize)]
struct Part<'part> {
    #[serde(borrow, default)]
    text: Option<Text<'part>>,
}

impl<'de: 'input, 'input> Deserialize<'de> for Content<'input> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = <&RawValue>::deserialize(deserializer)?.get();
        if let Some(text) = Text::of_raw(raw) {
            return Ok(Content::Whole(text));
        }
        let parts: List<Part<'_>> = serde_json::from_str(raw)
            .map_err(|_| D::Error::custom("invalid type: expected a text, or a list of parts"))?;
        let is_empty = parts.iter().filter_map(|part| part.text).all(Text::is_empty);
        Ok(Content::Parts { raw, is_empty })
    }
}

impl Content<'_> {
    pub(super) fn is_empty(&self) -> bool {
        match self {
            Content::Whole(text) => text.is_empty(),
            Content::Parts { is_empty, .. } => *is_empty,
        }
    }

    /// Bytes in UTF-8 of what the text, or the text of all parts, means.
    pub(super) fn bytes(&self) -> u32 {
        match self {
            Content::Whole(text) => text.bytes(),
            Content::Parts { raw, .. } => bytes_under(raw.as_bytes(), &[b"text"]),
        }
    }

    /// Appends what the text, or the text of all parts, means.
    pub(super) fn append_to(&self, out: &mut String) {
        match self {
            Content::Whole(text) => text.append_to(out),
            Content::Parts { raw, .. } => {
                let parts: List<Part<'_>> = serde_json::from_str(raw).unwrap_or_default();
                parts.iter().filter_map(|part| part.text).for_each(|text| text.append_to(out));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn meaning(json: &str) -> String {
        let mut out = String::new();
        serde_json::from_str::<Content<'_>>(json).unwrap().append_to(&mut out);
        out
    }

    #[test]
    fn escapes_mean_what_they_say() {
        assert_eq!(meaning(r#""a\n\t\r\b\f\"\\\/z""#), "a\n\t\r\u{8}\u{c}\"\\/z");
        assert_eq!(meaning(r#""\u00e9\uD83E\uDD80\u0000""#), "é\u{1f980}\0");
    }

    #[test]
    fn a_lone_half_of_a_character_is_text_too() {
        for lone in [r#""\ud83e""#, r#""\udd80""#, r#""\ud83e\n""#, r#""\ud83e\ud83e\udd80""#] {
            assert!(serde_json::from_str::<String>(lone).is_err(), "{lone}");
            assert!(!serde_json::from_str::<Text<'_>>(lone).unwrap().is_empty());
        }
        assert_eq!(meaning(r#""\ud83e""#), "\u{fffd}");
        assert_eq!(meaning(r#""\ud83e\n""#), "\u{fffd}\n");
        assert_eq!(meaning(r#""\ud83e\ud83e\udd80""#), "\u{fffd}\u{1f980}");
        assert_eq!(meaning(r#""\ud83e\u0041""#), "\u{fffd}A");
    }

    #[test]
    fn parts_are_joined_and_other_types_refused() {
        assert_eq!(meaning(r#"[{"type":"text","text":"a"},{"x":1},{"text":"\n"}]"#), "a\n");
        for (parts, is_empty) in
            [("[]", true), (r#"[{"text":""}]"#, true), (r#"[{"text":"a"}]"#, false)]
        {
            assert_eq!(serde_json::from_str::<Content<'_>>(parts).unwrap().is_empty(), is_empty);
        }
        for wrong in ["5", "true", "{}", "[1]", r#"[{"text":1}]"#] {
            assert!(serde_json::from_str::<Content<'_>>(wrong).is_err(), "{wrong}");
        }
        assert!(serde_json::from_str::<Text<'_>>("5").is_err());
    }

    proptest! {
        #[test]
        fn texts_mean_what_a_full_parser_says(text in any::<String>(), ascii in any::<bool>()) {
            let mut json = serde_json::to_string(&text).unwrap();
            if ascii {
                let escaped = |unit: u16| format!("\\u{unit:04x}");
                let inside: String = text.encode_utf16().map(escaped).collect();
                json = format!("\"{inside}\"");
            }
            prop_assert_eq!(meaning(&json), text);
        }
    }
}
