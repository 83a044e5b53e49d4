//! Errors without a field `error`: what gateways and frameworks send in the place of an answer, under
//! HTTP 200 or within a stream.
//!
//! Read only where the API itself finds nothing in a payload: no choice, no count, no result. So a
//! wrapper around an answer (`{"code":0,"message":"success","choices":[…]}`) never gets here.

use super::error::{ERROR_BYTES_MAX, error_words, is_report};
use super::json::Raw;
use ifm_core::finish::Ending;
use serde::Deserialize;
use serde_json::Value;

/// HTTP statuses of success and of failure, where a body repeats them.
const SUCCESS_STATUS: std::ops::Range<i64> = 200..300;
const FAILURE_STATUS: std::ops::Range<i64> = 400..600;
/// Words of success.
const SUCCESS: [&str; 8] =
    ["success", "succeed", "succeeded", "successful", "ok", "true", "completed", "processing"];

/// What a payload says that is no part of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Envelope {
    /// An error, in the server's words.
    Error(String),
    /// A sentence alone, such as FastAPI's `detail`. It is an error where no answer comes with it.
    Sentence(String),
}

/// What a payload says that cannot be a part of an answer.
pub fn words(data: &str) -> Option<String> {
    read(data).map(|(Envelope::Error(words) | Envelope::Sentence(words))| words)
}

/// The fields that tell, as they are written.
#[derive(Deserialize)]
struct Fields<'input> {
    #[serde(borrow, default)]
    error: Option<Raw<'input>>,
    #[serde(borrow, default)]
    errors: Option<Raw<'input>>,
    #[serde(borrow, default)]
    object: Option<Raw<'input>>,
    #[serde(borrow, default, rename = "type", alias = "__type")]
    kind: Option<Raw<'input>>,
    #[serde(borrow, default)]
    event: Option<Raw<'input>>,
    #[serde(borrow, default)]
    status: Option<Raw<'input>>,
    #[serde(borrow, default, alias = "ok")]
    success: Option<Raw<'input>>,
    #[serde(
        borrow,
        default,
        alias = "status_code",
        alias = "statusCode",
        alias = "error_code",
        alias = "errorCode",
        alias = "err_code",
        alias = "errcode"
    )]
    code: Option<Raw<'input>>,
    #[serde(
        borrow,
        default,
        alias = "msg",
        alias = "error_msg",
        alias = "errmsg",
        alias = "error_message",
        alias = "errorMessage",
        alias = "status_msg",
        alias = "Message"
    )]
    message: Option<Raw<'input>>,
    #[serde(borrow, default, alias = "details")]
    detail: Option<Raw<'input>>,
    /// Objects in which some APIs put code and message.
    #[serde(borrow, default, alias = "base_resp")]
    header: Option<Raw<'input>>,
}

/// What a payload says, if the API finds nothing in it.
pub fn read(data: &str) -> Option<Envelope> {
    let data = data.trim();
    if !data.starts_with('{') || data.len() > ERROR_BYTES_MAX {
        return None;
    }
    // A field that comes twice, by two of its names, fails the quick way.
    let fields: Fields<'_> = match serde_json::from_str(data) {
        Ok(fields) => fields,
        Err(_) => return read_any(&serde_json::from_str(data).ok()?),
    };
    if !fields.may_tell() {
        return None;
    }
    read_any(&serde_json::from_str(data).ok()?)
}

impl Fields<'_> {
    /// Whether any field is there that could tell of an error.
    fn may_tell(&self) -> bool {
        let [error, errors, header] = [self.error, self.errors, self.header]
            .map(|field| field.is_some_and(|field| field.0 != "null"));
        let rest = [self.status, self.success, self.code, self.message, self.detail];
        let named = [self.object, self.kind, self.event].into_iter().flatten();
        error
            || errors
            || header
            || rest.into_iter().flatten().any(|field| field.0 != "null")
            || named.into_iter().any(|name| names_error(name.0.trim_matches('"')))
    }
}

fn read_any(value: &Value) -> Option<Envelope> {
    let words = || error_words(value);
    if is_error(value) {
        return Some(Envelope::Error(words()));
    }
    for nested in ["status", "header", "base_resp"] {
        if value.get(nested).is_some_and(|inner| inner.is_object() && is_error(inner)) {
            return Some(Envelope::Error(words()));
        }
    }
    let is_success = field(value, &["success", "ok"]).and_then(Value::as_bool) == Some(true)
        || field(value, &["status"]).and_then(Value::as_str).is_some_and(is_good_word)
        || field(value, MESSAGES).and_then(Value::as_str).is_some_and(is_good_word);
    let says = |names: &[&str]| {
        let said = field(value, names);
        said.is_some_and(|said| said.as_str().is_some_and(|text| !text.trim().is_empty()))
    };
    let has_kind = field(value, &["type", "event", "object"]).is_some_and(Value::is_string);
    let has_list =
        field(value, &["detail"]).and_then(Value::as_array).is_some_and(|it| !it.is_empty());
    let is_sentence = says(&["detail", "details"]) || has_list || (says(MESSAGES) && !has_kind);
    (is_sentence && !is_success).then(|| Envelope::Sentence(words()))
}

const MESSAGES: &[&str] = &[
    "message",
    "msg",
    "Message",
    "error_msg",
    "errmsg",
    "error_message",
    "errorMessage",
    "status_msg",
];
const CODES: &[&str] = &[
    "code",
    "status_code",
    "statusCode",
    "error_code",
    "errorCode",
    "err_code",
    "errcode",
    "status",
];

fn field<'value>(value: &'value Value, names: &[&str]) -> Option<&'value Value> {
    names.iter().filter_map(|name| value.get(*name)).find(|value| !value.is_null())
}

/// Whether an object says by itself that something went wrong.
fn is_error(value: &Value) -> bool {
    let reported = ["error", "errors"].into_iter().filter_map(|name| value.get(name));
    if reported.into_iter().any(is_report) {
        return true;
    }
    let names =
        ["object", "type", "__type", "event"].into_iter().filter_map(|name| value.get(name));
    if names.filter_map(Value::as_str).any(names_error) {
        return true;
    }
    if field(value, &["success", "ok"]).and_then(Value::as_bool) == Some(false) {
        return true;
    }
    let status = value.get("status").and_then(Value::as_str);
    if status.is_some_and(|status| Ending::from_reason(status) == Ending::Failure) {
        return true;
    }
    let message = field(value, MESSAGES);
    if message.and_then(Value::as_str).is_some_and(is_good_word) {
        return false;
    }
    let has_words = message.is_some() || field(value, &["detail", "details", "title"]).is_some();
    CODES.iter().filter_map(|name| value.get(*name)).any(|code| is_error_code(code, has_words))
}

/// Whether a code is one of an error: an HTTP status of failure, or, next to a message, anything but
/// a code of success.
fn is_error_code(code: &Value, has_words: bool) -> bool {
    let number = code.as_i64().or_else(|| code.as_str()?.trim().parse().ok());
    match (number, code.as_str()) {
        (Some(number), _) if FAILURE_STATUS.contains(&number) => true,
        (Some(0), _) => false,
        (Some(number), _) => has_words && !SUCCESS_STATUS.contains(&number),
        (None, Some(word)) => has_words && !word.trim().is_empty() && !is_good_word(word),
        (None, None) => false,
    }
}

/// Whether a type names an error: `error`, `overloaded_error`, `ThrottlingException`.
fn names_error(name: &str) -> bool {
    let lower = name.trim().to_ascii_lowercase();
    lower.ends_with("error") || lower.ends_with("exception")
}

fn is_good_word(word: &str) -> bool {
    let word = word.trim();
    SUCCESS.iter().any(|good| word.eq_ignore_ascii_case(good))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_gateways_and_frameworks_are_found_with_their_words() {
        for (payload, words) in [
            (r#"{"code":102,"message":"overloaded","data":null}"#, "overloaded"),
            (r#"{"type":"error","message":"overloaded"}"#, "overloaded"),
            (r#"{"status":{"status":"error","message":"overloaded"}}"#, "overloaded"),
            (r#"{"status":"failed","message":"overloaded"}"#, "overloaded"),
            (
                r#"{"success":false,"errors":[{"code":1,"message":"overloaded"}],"result":null}"#,
                "overloaded",
            ),
            (r#"{"object":"error","message":"overloaded","code":400}"#, "overloaded"),
            (r#"{"code":"Throttling","message":"overloaded","request_id":"1"}"#, "overloaded"),
            (r#"{"error_code":17,"error_msg":"overloaded"}"#, "overloaded"),
            (
                r#"{"base_resp":{"status_code":1008,"status_msg":"overloaded"},"choices":null}"#,
                "overloaded",
            ),
            (r#"{"header":{"code":10013,"message":"overloaded"}}"#, "overloaded"),
            (
                r#"{"type":"about:blank","title":"Unavailable","status":503,"detail":"overloaded"}"#,
                "overloaded",
            ),
            (r#"{"__type":"ThrottlingException","message":"overloaded"}"#, "overloaded"),
            (r#"{"type":"overloaded_error"}"#, r#"{"type":"overloaded_error"}"#),
            (r#"{"error":{"message":{"text":"overloaded"}}}"#, "overloaded"),
            (r#"{"ok":false,"code":500,"status_code":500,"msg":"overloaded"}"#, "overloaded"),
            (r#"{"status":503}"#, r#"{"status":503}"#),
        ] {
            assert_eq!(read(payload), Some(Envelope::Error(words.to_owned())), "{payload}");
        }
    }

    #[test]
    fn a_sentence_alone_is_kept_for_the_end() {
        for payload in [
            r#"{"detail":"overloaded"}"#,
            r#"{"message":"overloaded"}"#,
            r#"{"msg":"overloaded","request_id":"1"}"#,
        ] {
            assert_eq!(
                read(payload),
                Some(Envelope::Sentence("overloaded".to_owned())),
                "{payload}"
            );
        }
    }

    #[test]
    fn payloads_of_sound_streams_are_no_errors() {
        for payload in [
            "{}",
            r#"{"error":null}"#,
            r#"{"error":""}"#,
            r#"{"error":{},"errors":[]}"#,
            r#"{"code":0,"message":"success"}"#,
            r#"{"code":"0","msg":""}"#,
            r#"{"code":200,"message":"all fine","success":true}"#,
            r#"{"code":10000,"message":"Success"}"#,
            r#"{"type":"ping"}"#,
            r#"{"type":"ping","message":"still here"}"#,
            r#"{"type":"response.in_progress","response":{"status":"in_progress","error":null}}"#,
            r#"{"type":"message_start","message":{"id":"m"}}"#,
            r#"{"status":"processing","message":"loading the model"}"#,
            r#"{"object":"chat.completion.chunk","choices":[]}"#,
            r#"{"id":"c","code":null,"message":null}"#,
            r#""error""#,
            "[1]",
        ] {
            assert_eq!(read(payload), None, "{payload}");
        }
    }
}
