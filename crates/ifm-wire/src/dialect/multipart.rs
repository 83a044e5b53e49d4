//! Bodies that are forms (`multipart/form-data`, RFC 7578): fields, and one file.
//!
//! A file is held in memory once and sent from there, like an image in JSON: the body contains a
//! placeholder. The boundary is derived from the file's digest, so it differs from everything
//! within the file. Not here: which fields there are (`request`).

use super::Dialect;
use crate::ask::{Ask, RequestError};
use crate::bytes::HOLE;
use crate::dialect::parts::format_of;
use ifm_core::{Carried, Medium, MediumKind, Prompt};
use serde_json::{Map, Value};

/// The field of the file.
const FILE: &str = "file";
/// Formats of answers that are texts without counts, and not JSON.
const TEXT_FORMATS: [&str; 3] = ["text", "srt", "vtt"];

/// Refuses fields that would have the answer come in a form that is not read.
///
/// # Errors
/// [`RequestError::ResponseFormat`].
pub(crate) fn check_fields(
    dialect: &Dialect,
    fields: &Map<String, Value>,
) -> Result<(), RequestError> {
    let asked = fields.get("response_format").and_then(Value::as_str);
    match asked.filter(|format| TEXT_FORMATS.contains(format)) {
        Some(format) => {
            Err(RequestError::ResponseFormat { api: dialect.api.word(), value: format.to_owned() })
        }
        None => Ok(()),
    }
}

/// The recording that a prompt is.
///
/// # Errors
/// [`RequestError::NoRecording`] for a prompt that is anything else or more.
pub(crate) fn file_of<'ask>(
    dialect: &Dialect,
    ask: &Ask<'ask>,
) -> Result<&'ask Medium, RequestError> {
    let refused = |kind| RequestError::NoRecording { api: dialect.api.word(), kind };
    let message = match ask.prompt {
        Prompt::Text(_) => return Err(refused("a text")),
        Prompt::Tokens(_) => return Err(refused("token ids")),
        Prompt::Messages(messages) => match messages.as_slice() {
            [message] if ask.said.is_empty() => message,
            _ => return Err(refused("a conversation")),
        },
    };
    match message.media.as_slice() {
        [] => Err(refused("a text")),
        _ if !message.content.is_empty() => Err(refused("a text with media")),
        [placed] if placed.medium.kind != MediumKind::Audio => Err(refused("no recording")),
        [placed] if !matches!(placed.medium.carried, Carried::File(_)) => {
            Err(refused("a recording that is not sent as a file"))
        }
        [placed] => Ok(&placed.medium),
        _ => Err(refused("several media")),
    }
}

/// Value of the header `Content-Type` of a form with this file.
pub(crate) fn content_type(file: &Medium) -> String {
    format!("multipart/form-data; boundary={}", boundary(file))
}

/// Appends a form with these fields and the file. A list becomes one part for each item, named
/// `name[]`, and an object one for each field, named `name[field]`, as OpenAI's clients write them.
pub(crate) fn put(fields: &Map<String, Value>, file: &Medium, out: &mut Vec<u8>) {
    let boundary = boundary(file);
    for (name, value) in fields {
        put_value(name, value, &boundary, out);
    }
    open_part(&boundary, FILE, out);
    let (mime, ending) = (&file.mime, format_of(&file.mime));
    let head = format!("; filename=\"recording.{ending}\"\r\nContent-Type: {mime}\r\n\r\n");
    out.extend_from_slice(head.as_bytes());
    out.push(HOLE);
    out.extend_from_slice(format!("\r\n--{boundary}--\r\n").as_bytes());
}

/// What divides the parts: at most the 70 characters that RFC 2046 allows.
fn boundary(file: &Medium) -> String {
    let digest: String = file.sha256.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("ifm-{digest}")
}

fn put_value(name: &str, value: &Value, boundary: &str, out: &mut Vec<u8>) {
    let text = match value {
        Value::Null => return,
        Value::Array(items) => {
            let name = format!("{name}[]");
            return items.iter().for_each(|item| put_value(&name, item, boundary, out));
        }
        Value::Object(fields) => {
            return fields.iter().for_each(|(field, value)| {
                put_value(&format!("{name}[{field}]"), value, boundary, out);
            });
        }
        Value::String(text) => text.clone(),
        Value::Bool(_) | Value::Number(_) => value.to_string(),
    };
    open_part(boundary, name, out);
    out.extend_from_slice(b"\r\n\r\n");
    out.extend_from_slice(text.as_bytes());
    out.extend_from_slice(b"\r\n");
}

/// Begins a part. In a name what would end it is written as browsers do (RFC 7578, 4.2, and the
/// HTML standard).
fn open_part(boundary: &str, name: &str, out: &mut Vec<u8>) {
    let name = name.replace('"', "%22").replace('\r', "%0D").replace('\n', "%0A");
    let head = format!("--{boundary}\r\nContent-Disposition: form-data; name=\"{name}\"");
    out.extend_from_slice(head.as_bytes());
}
