//! The content of a message with media: a list of parts, text and media in their order, or a text
//! with a placeholder for each medium.
//!
//! Not here: which media an API takes (`Dialect::write_prompt`).

use super::body::{put, put_field, put_list, put_name, put_object, put_text_field};
use crate::bytes::HOLE;
use ifm_core::{Carried, Medium, MediumKind, Message, Placed};

/// One part of a message.
pub(super) enum Part<'message> {
    Text(&'message str),
    Medium(&'message Medium),
}

/// The parts of a message, in order; texts that are empty are left out.
pub(super) fn parts(message: &Message) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let mut from = 0;
    for placed in &message.media {
        let text = message.content.get(from..placed.at).unwrap_or_default();
        if !text.is_empty() {
            parts.push(Part::Text(text));
            from = placed.at;
        }
        parts.push(Part::Medium(&placed.medium));
    }
    let rest = message.content.get(from..).unwrap_or_default();
    if !rest.is_empty() {
        parts.push(Part::Text(rest));
    }
    parts
}

/// Appends what a request carries of a medium as a JSON string: base64 behind `before`, or its
/// address. An empty string where only its name goes.
pub(super) fn put_carried(medium: &Medium, before: &str, out: &mut Vec<u8>) {
    match &medium.carried {
        Carried::Url(url) => put(url, out),
        Carried::Name => put("", out),
        // Base64 needs no escape. A file that is not in base64 has no place in JSON, which
        // `RequestTemplate::write` sees to.
        Carried::Base64(_) | Carried::File(_) => {
            out.push(b'"');
            out.extend_from_slice(before.as_bytes());
            out.push(HOLE);
            out.push(b'"');
        }
    }
}

/// Appends a part as OpenAI's chat completions have it; vLLM and SGLang know videos and names too.
pub(super) fn put_chat_part(part: &Part<'_>, out: &mut Vec<u8>) {
    put_object(out, |out| match part {
        Part::Text(text) => {
            put_field("type", "text", out);
            put_text_field("text", text, out);
        }
        Part::Medium(medium) => {
            put_chat_medium(medium, out);
            if let Some(uuid) = &medium.uuid {
                put_field("uuid", uuid, out);
            }
        }
    });
}

fn put_chat_medium(medium: &Medium, out: &mut Vec<u8>) {
    let name = match (medium.kind, &medium.carried) {
        (MediumKind::Image, _) => "image_url",
        (MediumKind::Audio, Carried::Base64(_) | Carried::File(_)) => "input_audio",
        (MediumKind::Audio, _) => "audio_url",
        (MediumKind::Video, _) => "video_url",
    };
    put_field("type", name, out);
    put_name(name, out);
    if medium.carried == Carried::Name {
        return out.extend_from_slice(b"null");
    }
    if name == "input_audio" {
        return put_sound(medium, out);
    }
    put_object(out, |out| {
        put_name("url", out);
        put_carried(medium, &data_url(medium), out);
        put_detail(medium, out);
    });
}

/// How closely the model is to look, where that is said.
fn put_detail(medium: &Medium, out: &mut Vec<u8>) {
    if let Some(detail) = medium.detail {
        put_field("detail", detail.word(), out);
    }
}

fn put_sound(medium: &Medium, out: &mut Vec<u8>) {
    put_object(out, |out| {
        put_name("data", out);
        put_carried(medium, "", out);
        put_field("format", format_of(&medium.mime), out);
    });
}

/// Appends the content of a message as a field: its text, or a list of parts where it has media.
pub(super) fn put_content(
    name: &str,
    message: &Message,
    out: &mut Vec<u8>,
    put_part: impl Fn(&Part<'_>, &mut Vec<u8>),
) {
    match message.media.is_empty() {
        true => put_text_field(name, &message.content, out),
        false => {
            put_name(name, out);
            put_list(&parts(message), out, put_part);
        }
    }
}

/// Appends a part as OpenAI's Responses have it.
pub(super) fn put_input_part(part: &Part<'_>, out: &mut Vec<u8>) {
    put_object(out, |out| match part {
        Part::Text(text) => {
            put_field("type", "input_text", out);
            put_text_field("text", text, out);
        }
        Part::Medium(medium) if medium.kind == MediumKind::Audio => {
            put_field("type", "input_audio", out);
            put_name("input_audio", out);
            put_sound(medium, out);
        }
        Part::Medium(medium) => {
            put_field("type", "input_image", out);
            put_name("image_url", out);
            put_carried(medium, &data_url(medium), out);
            put_detail(medium, out);
        }
    });
}

/// Appends a part as a block of Anthropic's messages.
pub(super) fn put_block(part: &Part<'_>, out: &mut Vec<u8>) {
    put_object(out, |out| match part {
        Part::Text(text) => {
            put_field("type", "text", out);
            put_text_field("text", text, out);
        }
        Part::Medium(medium) => {
            put_field("type", "image", out);
            put_name("source", out);
            put_object(out, |out| match &medium.carried {
                Carried::Url(url) => {
                    put_field("type", "url", out);
                    put_field("url", url, out);
                }
                _ => {
                    put_field("type", "base64", out);
                    put_field("media_type", &medium.mime, out);
                    put_name("data", out);
                    put_carried(medium, "", out);
                }
            });
        }
    });
}

/// The text of a message with a placeholder for each medium.
pub(super) fn with_placeholders(
    message: &Message,
    placeholder: impl Fn(MediumKind) -> &'static str,
) -> String {
    let mut text = String::with_capacity(message.content.len());
    for part in parts(message) {
        match part {
            Part::Text(piece) => text.push_str(piece),
            Part::Medium(medium) => text.push_str(placeholder(medium.kind)),
        }
    }
    text
}

/// Appends a list of media as a field: what a request carries of each, base64 behind what `before`
/// says.
pub(super) fn put_media<'media>(
    name: &str,
    media: impl Iterator<Item = &'media Placed>,
    before: impl Fn(&Medium) -> String,
    out: &mut Vec<u8>,
) {
    let media: Vec<&Medium> = media.map(|placed| &*placed.medium).collect();
    if !media.is_empty() {
        put_name(name, out);
        put_list(&media, out, |medium, out| put_carried(medium, &before(medium), out));
    }
}

/// The beginning of a data URL. Frames of a video are a video to servers that take them so.
pub(super) fn data_url(medium: &Medium) -> String {
    let mime = match (medium.kind, medium.mime.strip_prefix("image/")) {
        (MediumKind::Video, Some(frame)) => format!("video/{frame}"),
        _ => medium.mime.clone(),
    };
    format!("data:{mime};base64,")
}

/// The word by which APIs call the format of a recording: `wav`, `mp3`, `flac`.
pub(super) fn format_of(mime: &str) -> &str {
    match mime.strip_prefix("audio/").unwrap_or(mime) {
        "mpeg" => "mp3",
        "x-wav" | "wave" => "wav",
        "x-flac" => "flac",
        other => other,
    }
}
