//! Which fields of a request a server rejects, by its own words.
//!
//! Servers name a field that they do not know in many shapes: a list of details with a place (`loc`), an
//! error object with `param`, or a sentence. A refusal for another reason, such as a prompt that is too
//! long, often names fields too, so that a name alone proves nothing.
//!
//! Not here: what is sent instead (`request`), and refusals of long prompts (`overflow`).

use super::bounded_sentence;
use super::error::error_sentence;
use super::overflow::is_overflow;
use serde_json::Value;

/// A field of a request, and what a refusal of it could mean.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestField {
    /// Its name in the body, or in the object of options that the body holds.
    pub name: String,
    /// Names below it, where it is an object.
    pub parts: Vec<String>,
    /// Whether it says how many tokens to generate. Servers name it in refusals of long prompts.
    pub is_length: bool,
}

/// A field that a server rejects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rejection {
    /// Name of the field.
    pub field: String,
    /// The name that the server expects instead, if reported.
    pub replacement: Option<String>,
    /// The server's words, in one bounded sentence.
    pub message: String,
}

/// Words that say that a field is not taken, in lower case.
const REFUSALS: &[&str] = &[
    "unexpected",
    "unrecognized",
    "unrecognised",
    "not recognized",
    "unsupported",
    "not support",
    "unknown",
    "not permitted",
    "not allowed",
    "not accepted",
    "not implemented",
    "not available",
    "not a valid",
    "forbidden",
    "deprecated",
    "no longer",
    "extraneous",
    "extra field",
    "extra input",
    "additional propert",
    "invalid field",
    "invalid parameter",
    "invalid argument",
    "cannot find field",
    "no such field",
];
/// Words that say that the value of a field is not taken.
const BAD_VALUES: &[&str] = &["must be", "must not", "should be", "invalid", "out of range"];
/// What follows these words is what the server would take.
const ALTERNATIVES: &[&str] = &[
    "expected",
    "did you mean",
    "use '",
    "use \"",
    "use `",
    "use the",
    "please use",
    "instead",
    "one of",
    "allowed values",
    "allowed fields",
    "allowed parameters",
    "allowed keys",
    "allowed properties",
    "supported values",
    "supported fields",
    "supported parameters",
    "supported arguments",
    "valid fields",
    "valid keys",
    "valid parameters",
    "known fields",
    "available fields",
    "only accepts",
];
/// Words next to a bare name that show that a sentence is about the field itself.
const KINDS_OF_FIELDS: &[&str] = &["parameter", "argument", "field", "propert", "key", "input"];
/// What follows these marks is the request again.
const REPEATED: &[&str] = &["'input':", "\"input\":", "input_value="];
/// Where the next detail begins after them.
const NEXT_DETAIL: &[&str] = &["'type':", "\"type\":", "'loc':", "\"loc\":", "\n"];
/// Objects within objects that are looked through.
const DEPTH_MAX: u8 = 8;

/// The fields that the body of a refusal rejects, each once. Empty for a refusal of anything else.
pub fn rejected_fields(body: &[u8], fields: &[RequestField]) -> Vec<Rejection> {
    if is_overflow(body) {
        return Vec::new();
    }
    let mut found = Found { fields, message: error_sentence(body), rejections: Vec::new() };
    match serde_json::from_slice::<Value>(body) {
        Ok(value) => found.look_into(&value, DEPTH_MAX),
        Err(_) => found.read_text(&String::from_utf8_lossy(body)),
    }
    found.rejections
}

struct Found<'found> {
    fields: &'found [RequestField],
    message: String,
    rejections: Vec<Rejection>,
}

impl<'found> Found<'found> {
    fn field(&self, name: &str) -> Option<&'found RequestField> {
        let is_part = |field: &&RequestField| field.parts.iter().any(|part| part == name);
        let by_name = |field: &&RequestField| field.name.eq_ignore_ascii_case(name);
        self.fields.iter().find(by_name).or_else(|| self.fields.iter().find(is_part))
    }

    fn add(&mut self, field: &RequestField, replacement: Option<String>, message: &str) {
        let known = self.rejections.iter_mut().find(|known| known.field == field.name);
        match known {
            Some(known) => known.replacement = known.replacement.take().or(replacement),
            None => self.rejections.push(Rejection {
                field: field.name.clone(),
                replacement,
                message: bounded_sentence(message),
            }),
        }
    }

    fn look_into(&mut self, value: &Value, depth: u8) {
        let Some(depth) = depth.checked_sub(1) else { return };
        match value {
            Value::String(text) => self.read_text(text),
            Value::Array(list) => list.iter().for_each(|value| self.look_into(value, depth)),
            Value::Object(object) => {
                let text = |name: &str| object.get(name).and_then(Value::as_str);
                if let Some(place) = object.get("loc").and_then(Value::as_array) {
                    let message = text("msg").unwrap_or_default();
                    return self.read_detail(place, text("type").unwrap_or_default(), message);
                }
                if let (Some(name), message) = (text("param"), text("message")) {
                    self.read_parameter(name, text("code").unwrap_or_default(), message);
                }
                let is_told = |name: &str| {
                    ["message", "detail", "details", "error", "errors", "msg", "reason"]
                        .contains(&name)
                };
                for (name, value) in object {
                    if is_told(name) {
                        self.look_into(value, depth);
                    }
                }
            }
            _ => {}
        }
    }

    /// A detail as pydantic has it: where it is in the request, what kind, and a sentence.
    fn read_detail(&mut self, place: &[Value], kind: &str, message: &str) {
        let mut names = place.iter().filter_map(Value::as_str);
        let Some(field) = names.find_map(|name| self.field(name)) else { return };
        let is_refusal = kind.contains("extra") || has_any(message, REFUSALS);
        if is_refusal || !field.is_length {
            let said = if message.is_empty() { kind } else { message };
            self.add(field, None, &format!("{}: {said}", field.name));
        }
    }

    /// An error object that names a parameter, as OpenAI's APIs have it.
    fn read_parameter(&mut self, name: &str, code: &str, message: Option<&str>) {
        let name = name.split(['.', '[']).next().unwrap_or(name);
        let Some(field) = self.field(name) else { return };
        let message = message.unwrap_or_default();
        let refusals = ["unsupported_parameter", "unknown_parameter", "unrecognized"];
        let is_refusal = has_any(code, &refusals) || has_any(message, REFUSALS);
        if is_refusal || (!field.is_length && has_any(message, BAD_VALUES)) {
            self.add(field, replacement(message, field), message);
        }
    }

    fn read_text(&mut self, text: &str) {
        let own = without_repeated(text);
        for sentence in sentences(&own) {
            let lower = sentence.to_ascii_lowercase();
            let until = ALTERNATIVES.iter().filter_map(|words| lower.find(words)).min();
            // "unexpected" is no list of what is expected.
            let until = match until {
                Some(at) if lower.get(..at).is_some_and(|before| before.ends_with("un")) => {
                    let rest = at + "expected".len();
                    let after = lower.get(rest..).unwrap_or_default();
                    let next = ALTERNATIVES.iter().filter_map(|words| after.find(words)).min();
                    next.map_or(lower.len(), |at| rest + at)
                }
                Some(at) => at,
                None => lower.len(),
            };
            let told = sentence.get(..until).unwrap_or(sentence);
            let is_refusal = has_any(told, REFUSALS);
            let is_value = has_any(told, BAD_VALUES);
            if !is_refusal && !is_value {
                continue;
            }
            for (at, name) in words(told) {
                let Some(field) = self.field(name) else { continue };
                let is_meant = match field.is_length {
                    true => is_refusal && is_about_field(told, at, name),
                    false => true,
                };
                if is_meant {
                    let message = match self.message.is_empty() {
                        true => sentence.to_owned(),
                        false => self.message.clone(),
                    };
                    self.add(field, replacement(&own, field), &message);
                }
            }
        }
    }
}

fn has_any(text: &str, words: &[&str]) -> bool {
    let lower = text.to_ascii_lowercase();
    words.iter().any(|word| lower.contains(word))
}

/// Whether a name is quoted, followed by a colon, or described as a field: a sentence about tokens
/// also mentions the length.
fn is_about_field(sentence: &str, at: usize, name: &str) -> bool {
    let before = sentence.get(..at).and_then(|text| text.chars().next_back());
    let after = sentence.get(at + name.len()..).and_then(|text| text.chars().next());
    let is_quoted = before.zip(after).is_some_and(|(before, after)| {
        "'\"`".contains(before) && before == after || (before == '[' && after == ']')
    });
    is_quoted || after == Some(':') || has_any(sentence, KINDS_OF_FIELDS)
}

/// The replacement name in an error that rejects the length field.
fn replacement(text: &str, field: &RequestField) -> Option<String> {
    if !field.is_length {
        return None;
    }
    let lower = text.to_ascii_lowercase();
    let marks = ["use ", "instead", "did you mean", "replaced by", "renamed to", "in favor of"];
    if !marks.iter().any(|mark| lower.contains(mark)) {
        return None;
    }
    let is_length = |name: &str| {
        let lower = name.to_ascii_lowercase();
        lower.contains("token") && lower.contains('_') && !name.eq_ignore_ascii_case(&field.name)
    };
    words(text).map(|(_, name)| name).find(|name| is_length(name)).map(str::to_owned)
}

/// The names in a text, each with its place in bytes.
fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.split(move |c| !is_part(c)).filter(|word| !word.is_empty()).map(move |word| {
        // Both are within one text.
        (word.as_ptr().addr() - text.as_ptr().addr(), word)
    })
}

/// Sentences of a text. A line that is indented belongs to the one above it.
fn sentences(text: &str) -> Vec<&str> {
    let bytes = text.as_bytes();
    let mut ends = Vec::new();
    for (at, c) in text.char_indices() {
        let next = bytes.get(at + 1).copied();
        let is_blank = next.is_none_or(|next| next.is_ascii_whitespace());
        let is_end = match c {
            '.' | '!' | '?' => is_blank,
            ';' => true,
            '\n' => !is_blank,
            _ => false,
        };
        if is_end {
            ends.push(at + 1);
        }
    }
    ends.push(text.len());
    let mut from = 0;
    let mut found = Vec::new();
    for end in ends {
        found.extend(text.get(from..end).filter(|sentence| !sentence.trim().is_empty()));
        from = end;
    }
    found
}

/// The text without what it repeats of the request.
fn without_repeated(text: &str) -> String {
    let mut own = String::new();
    let mut rest = text;
    while let Some(mark) = REPEATED.iter().filter_map(|mark| rest.find(mark)).min() {
        own.push_str(rest.get(..mark).unwrap_or_default());
        rest = rest.get(mark..).unwrap_or_default();
        let next = NEXT_DETAIL.iter().filter_map(|mark| rest.find(mark)).min();
        rest = next.and_then(|next| rest.get(next..)).unwrap_or_default();
    }
    own + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields() -> Vec<RequestField> {
        let field = |name: &str, parts: &[&str]| RequestField {
            name: name.to_owned(),
            parts: parts.iter().map(|part| (*part).to_owned()).collect(),
            is_length: name == "max_tokens",
        };
        vec![
            field("ignore_eos", &[]),
            field("stream_options", &["include_usage"]),
            field("temperature", &[]),
            field("min_tokens", &[]),
            field("seed", &[]),
            field("max_tokens", &[]),
        ]
    }

    fn rejected(body: &str) -> Vec<(String, Option<String>)> {
        let found = rejected_fields(body.as_bytes(), &fields());
        assert!(found.iter().all(|one| !one.message.is_empty()), "{body}");
        found.into_iter().map(|one| (one.field, one.replacement)).collect()
    }

    /// Names of rejected fields in the order in which the server names them.
    fn names(body: &str) -> String {
        let names: Vec<String> = rejected(body).into_iter().map(|(name, _)| name).collect();
        names.join(" ")
    }

    #[test]
    fn reads_every_shape_of_a_rejected_field() {
        for (body, expect) in [
            (
                r#"{"detail":[{"type":"extra_forbidden","loc":["body","ignore_eos"],"msg":"Extra inputs are not permitted","input":true},{"type":"extra_forbidden","loc":["body","stream_options","include_usage"],"msg":"Extra inputs are not permitted","input":true}]}"#,
                "ignore_eos stream_options",
            ),
            (
                r#"{"object":"error","message":{"detail":[{"type":"extra_forbidden","loc":["body","min_tokens"],"msg":"Extra inputs are not permitted","input":4}]},"code":null}"#,
                "min_tokens",
            ),
            (
                r#"{"error":{"message":"Unrecognized request argument supplied: ignore_eos","type":"invalid_request_error","param":null,"code":null}}"#,
                "ignore_eos",
            ),
            (
                r#"{"error":{"message":"Unrecognized request arguments supplied: ignore_eos, min_tokens"}}"#,
                "ignore_eos min_tokens",
            ),
            (
                r#"{"error":{"message":"Unknown parameter: 'seed'.","param":"seed","code":"unknown_parameter"}}"#,
                "seed",
            ),
            (
                r#"{"error":{"message":"Unsupported value: 'temperature' does not support 0.0 with this model. Only the default (1) value is supported.","param":"temperature","code":"unsupported_value"}}"#,
                "temperature",
            ),
            (r#"{"error":"`temperature` must be strictly positive"}"#, "temperature"),
            (
                r#"{"detail":"Unexpected keys in the request: {'ignore_eos', 'seed'}"}"#,
                "ignore_eos seed",
            ),
            (r#"{"error":{"message":"property 'ignore_eos' is unsupported"}}"#, "ignore_eos"),
            (r#"{"error":{"message":"ignore_eos: Extra inputs are not permitted"}}"#, "ignore_eos"),
            (r#"{"message":"extraneous key [ignore_eos] is not permitted"}"#, "ignore_eos"),
            (
                r#"{"error":{"message":"[{'type': 'extra_forbidden', 'loc': ('body', 'ignore_eos'), 'msg': 'Extra inputs are not permitted', 'input': True}, {'type': 'extra_forbidden', 'loc': ('body', 'seed'), 'msg': 'Extra inputs are not permitted', 'input': 1}]"}}"#,
                "ignore_eos seed",
            ),
            (r#"json: unknown field "ignore_eos""#, "ignore_eos"),
            (
                "Failed to deserialize the JSON body: unknown field `ignore_eos`, expected one of \
                 `model`, `messages`, `max_tokens`, `temperature`, `stream_options`",
                "ignore_eos",
            ),
            (
                "1 validation error for ChatRequest\nignore_eos\n  Extra inputs are not permitted \
                 [type=extra_forbidden, input_value=True, input_type=bool]",
                "ignore_eos",
            ),
            (
                "Additional properties are not allowed ('ignore_eos', 'seed' were unexpected)",
                "ignore_eos seed",
            ),
            (
                r#"Invalid JSON payload received. Unknown name "ignore_eos": Cannot find field."#,
                "ignore_eos",
            ),
            ("The stream_options parameter is not supported.", "stream_options"),
        ] {
            assert_eq!(names(body), expect, "{body}");
        }
    }

    #[test]
    fn reads_the_replacement_of_a_length() {
        for body in [
            r#"{"error":{"message":"Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.","type":"invalid_request_error","param":"max_tokens","code":"unsupported_parameter"}}"#,
            "unknown field `max_tokens`, did you mean `max_completion_tokens`?",
            "max_tokens: this field is deprecated, please use max_completion_tokens",
        ] {
            let expect = [("max_tokens".to_owned(), Some("max_completion_tokens".to_owned()))];
            assert_eq!(rejected(body), expect, "{body}");
        }
        let silent = r#"{"detail":[{"loc":["body","max_tokens"],"msg":"extra fields not permitted","type":"value_error.extra"}]}"#;
        assert_eq!(rejected(silent), [("max_tokens".to_owned(), None)]);
    }

    #[test]
    fn a_refusal_for_another_reason_rejects_no_field() {
        for body in [
            "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens \
             (4000 in the messages, 1000 in max_tokens). Unsupported length.",
            r#"{"error":{"message":"max_tokens is too large: 5000. This model supports at most 4096 completion tokens.","param":"max_tokens","code":"invalid_value"}}"#,
            r#"{"error":{"message":"Invalid 'max_tokens': integer below minimum value. Expected a value >= 16.","param":"max_tokens","code":"integer_below_min_value"}}"#,
            "Requests of more than 4096 tokens, prompt plus max_tokens, are not supported",
            r#"{"detail":[{"type":"greater_than_equal","loc":["body","max_tokens"],"msg":"Input should be greater than or equal to 16"}]}"#,
            r#"{"detail":[{"type":"missing","loc":["body","messages"],"msg":"Field required","input":{"ignore_eos":true,"seed":1}}]}"#,
            r#"{"error":{"message":"[{'type': 'missing', 'loc': ('body', 'messages'), 'msg': 'Field required', 'input': {'unknown': 'x', 'ignore_eos': True}}]"}}"#,
            "The model 'm' does not exist",
            "Unknown model 'm'",
            r#"{"error":{"message":"invalid request","request":{"ignore_eos":true}}}"#,
            "unknown field `top_p`, expected one of `ignore_eos`, `seed`",
            "",
        ] {
            assert_eq!(names(body), "", "{body}");
        }
    }
}
