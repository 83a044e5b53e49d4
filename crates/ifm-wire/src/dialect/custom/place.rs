//! Pieces of JSON with places in them, as a file writes bodies, messages and their parts.
//!
//! A place is a string such as `"{model}"`, which becomes a value of any type, or part of a longer
//! string. A field whose place has no value is left out. An object or a list that this leaves empty
//! is left out too.
//!
//! Not here: the values of the places (`request`, `message`).

use super::super::body::{put, put_name};
use ifm_core::words::nearest;
use serde_json::Value;

ifm_core::vocabulary! {
    /// The placeholders that a piece of JSON may contain.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub(super) enum Place {
        /// Name of the model.
        Model = "model",
        /// Whether a stream is asked for.
        Stream = "stream",
        /// True, where answers are to go on past the end of the text.
        IgnoreEos = "ignore_eos",
        /// Sampling temperature.
        Temperature = "temperature",
        /// The same, left out where it is zero.
        TemperatureAboveZero = "temperature_above_zero",
        /// Whether the temperature is above zero.
        Samples = "samples",
        /// Tokens to generate at most.
        OutputTokens = "output_tokens",
        /// The prompt, where it is a text.
        Prompt = "prompt",
        /// The messages of a conversation; a text is one of the user.
        Messages = "messages",
        /// System messages, for an API that has a separate field for them.
        System = "system",
        /// Who says a message, in the API's word.
        Role = "role",
        /// Text of a message, of a part, of a tool's result.
        Text = "text",
        /// The text of a message; with media, or more than text, the list of its parts.
        Content = "content",
        /// The list of a message's parts.
        Parts = "parts",
        /// The list of a message's calls of tools.
        ToolCalls = "tool_calls",
        /// Id of the call whose result a message is.
        ToolCallId = "tool_call_id",
        /// What the model thought, with `--echo-reasoning`.
        Reasoning = "reasoning",
        /// Media type: `image/png`.
        Mime = "mime",
        /// The second part of it: `png`.
        Format = "format",
        /// The file in base64.
        Base64 = "base64",
        /// The address of the file, or a data URL that holds it.
        Url = "url",
        /// How closely the model is to look at an image: `low`, `high`, `auto`.
        Detail = "detail",
        /// Id of a call of a tool.
        CallId = "call_id",
        /// Name of the called tool.
        CallName = "call_name",
        /// The list of tools that the model may call.
        Tools = "tools",
        /// Name of a tool.
        ToolName = "tool_name",
        /// What it is for.
        ToolAbout = "tool_about",
        /// The JSON schema of its arguments.
        ToolParameters = "tool_parameters",
        /// The arguments of the call, an object.
        Arguments = "arguments",
        /// The same as a text.
        ArgumentsText = "arguments_text",
    }
}

/// Writes the value of a place as JSON; false, where it has none.
pub(super) type Fill<'fill> = dyn Fn(Place, &mut Vec<u8>) -> bool + 'fill;

/// A piece of JSON with places.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Node {
    Literal(Value),
    Place(Place),
    /// A string with places in it.
    Text(Vec<Piece>),
    List(Vec<Node>),
    Object(Vec<(String, Node)>),
}

/// A piece of a string.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Piece {
    Text(String),
    Place(Place),
}

impl Node {
    /// Parses a piece of JSON that may contain these placeholders.
    pub(super) fn parse(text: &str, allowed: &[Place]) -> Result<Node, String> {
        let value: Value =
            serde_json::from_str(text).map_err(|error| format!("it is not JSON: {error}"))?;
        Node::of(value, allowed)
    }

    fn of(value: Value, allowed: &[Place]) -> Result<Node, String> {
        Ok(match value {
            Value::String(text) => of_text(text, allowed)?,
            Value::Array(items) if !items.is_empty() => {
                let items = items.into_iter().map(|item| Node::of(item, allowed));
                Node::List(items.collect::<Result<_, _>>()?)
            }
            Value::Object(fields) if !fields.is_empty() => {
                let fields = fields.into_iter();
                let fields = fields.map(|(name, value)| Ok((name, Node::of(value, allowed)?)));
                Node::Object(fields.collect::<Result<_, String>>()?)
            }
            other => Node::Literal(other),
        })
    }

    /// The fields of an object.
    pub(super) fn into_fields(self) -> Option<Vec<(String, Node)>> {
        match self {
            Node::Object(fields) => Some(fields),
            Node::Literal(Value::Object(_)) => Some(Vec::new()),
            _ => None,
        }
    }

    /// Whether it contains the placeholder at any depth.
    pub(super) fn has(&self, place: Place) -> bool {
        match self {
            Node::Literal(_) => false,
            Node::Place(own) => *own == place,
            Node::Text(pieces) => pieces.contains(&Piece::Place(place)),
            Node::List(items) => items.iter().any(|item| item.has(place)),
            Node::Object(fields) => fields.iter().any(|(_, node)| node.has(place)),
        }
    }

    /// Appends it; false, and nothing appended, where it has no value.
    pub(super) fn put(&self, fill: &Fill<'_>, out: &mut Vec<u8>) -> bool {
        let start = out.len();
        let is_there = match self {
            Node::Literal(value) => {
                put(value, out);
                true
            }
            Node::Place(place) => fill(*place, out),
            Node::Text(pieces) => put_pieces(pieces, fill, out),
            Node::List(items) => {
                out.push(b'[');
                let mut any = false;
                for item in items {
                    any |= put_item(out, |out| item.put(fill, out));
                }
                out.push(b']');
                any
            }
            Node::Object(fields) => {
                out.push(b'{');
                let mut any = false;
                for (name, node) in fields {
                    let start = out.len();
                    put_name(name, out);
                    let is_there = node.put(fill, out);
                    if !is_there {
                        out.truncate(start);
                    }
                    any |= is_there;
                }
                out.push(b'}');
                any
            }
        };
        if !is_there {
            out.truncate(start);
        }
        is_there
    }

    /// Its value.
    pub(super) fn value(&self, fill: &Fill<'_>) -> Option<Value> {
        let mut out = Vec::new();
        self.put(fill, &mut out).then(|| serde_json::from_slice(&out).ok()).flatten()
    }
}

/// Appends an item to an open list, after a comma unless it is the first. Returns false and appends
/// nothing if there is no item.
pub(super) fn put_item(out: &mut Vec<u8>, put: impl FnOnce(&mut Vec<u8>) -> bool) -> bool {
    let start = out.len();
    if out.last() != Some(&b'[') {
        out.push(b',');
    }
    let is_there = put(out);
    if !is_there {
        out.truncate(start);
    }
    is_there
}

fn put_pieces(pieces: &[Piece], fill: &Fill<'_>, out: &mut Vec<u8>) -> bool {
    out.push(b'"');
    for piece in pieces {
        let start = out.len();
        match piece {
            Piece::Text(text) => put(text, out),
            Piece::Place(place) if fill(*place, out) => {}
            Piece::Place(_) => return false,
        }
        // A string within the string: its own quotes go.
        if out.get(start) == Some(&b'"') && out.len() > start + 1 {
            out.pop();
            out.remove(start);
        }
    }
    out.push(b'"');
    true
}

/// A string: a place alone, a text with places, or a text.
fn of_text(text: String, allowed: &[Place]) -> Result<Node, String> {
    let known = |word: &str| allowed.iter().copied().find(|place| place.word() == word);
    if let Some(word) = place_word(&text) {
        return known(word).map(Node::Place).ok_or_else(|| {
            let near = nearest(word, allowed.iter().map(|place| place.word()));
            let near = near.map(|near| format!("; did you mean \"{{{near}}}\"?"));
            format!("\"{text}\" is no place that can stand here{}", near.unwrap_or_default())
        });
    }
    let mut pieces = Vec::new();
    let (mut plain, mut rest) = (String::new(), text.as_str());
    while let Some((before, behind)) = rest.split_once('{') {
        plain.push_str(before);
        let place = behind.split_once('}').and_then(|(word, rest)| Some((known(word)?, rest)));
        match place {
            Some((place, behind)) => {
                if !plain.is_empty() {
                    pieces.push(Piece::Text(std::mem::take(&mut plain)));
                }
                pieces.push(Piece::Place(place));
                rest = behind;
            }
            None => {
                plain.push('{');
                rest = behind;
            }
        }
    }
    plain.push_str(rest);
    if pieces.is_empty() {
        return Ok(Node::Literal(Value::String(text)));
    }
    if !plain.is_empty() {
        pieces.push(Piece::Text(plain));
    }
    Ok(Node::Text(pieces))
}

/// The word of a string that is a place and nothing else.
fn place_word(text: &str) -> Option<&str> {
    let word = text.strip_prefix('{')?.strip_suffix('}')?;
    let is_word = |byte: u8| byte.is_ascii_lowercase() || byte == b'_' || byte.is_ascii_digit();
    (!word.is_empty() && word.bytes().all(is_word)).then_some(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(json: &str) -> Option<String> {
        let node = Node::parse(json, &[Place::Model, Place::Temperature, Place::Prompt]).unwrap();
        let fill = |place: Place, out: &mut Vec<u8>| {
            match place {
                Place::Model => put("a \"m\"", out),
                Place::Prompt => put(&7, out),
                _ => return false,
            }
            true
        };
        let mut out = Vec::new();
        node.put(&fill, &mut out).then(|| String::from_utf8(out).unwrap())
    }

    #[test]
    fn places_are_filled_and_what_has_no_value_is_left_out() {
        for (json, expect) in [
            (r#"{"a": "{model}", "b": ["{prompt}", 1]}"#, r#"{"a":"a \"m\"","b":[7,1]}"#),
            (r#"{"a": {"t": "{temperature}"}, "b": {}}"#, r#"{"b":{}}"#),
            (r#"["{temperature}", "{temperature}", []]"#, "[[]]"),
            (r#""<{model}> {prompt} {temp} {""#, r#""<a \"m\"> 7 {temp} {""#),
            (r#""{Model}""#, r#""{Model}""#),
        ] {
            assert_eq!(written(json).as_deref(), Some(expect), "{json}");
        }
        assert_eq!(written(r#"{"a": ["{temperature}"]}"#), None);
        assert_eq!(written(r#""at {temperature}""#), None);
    }

    #[test]
    fn a_place_that_is_none_is_told_with_the_nearest() {
        let error = Node::parse(r#"{"a": "{modell}"}"#, &[Place::Model]).unwrap_err();
        assert!(error.contains("did you mean \"{model}\"?"), "{error}");
        let error = Node::parse(r#"["{output_tokens}"]"#, &[Place::Model]).unwrap_err();
        assert_eq!(error, "\"{output_tokens}\" is no place that can stand here");
        assert!(Node::parse("{", &[]).unwrap_err().contains("it is not JSON"));
    }
}
