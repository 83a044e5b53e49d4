//! Messages whose content is a list of parts, media among them, as the OpenAI API writes them.
//!
//! Not here: messages of text (`conversation`), reading a medium (`column`).

use std::{path::Path, sync::Arc};

use ifm_core::{MediumKind, Message, Placed};
use serde_json::Value;

use super::{Reader, file};
use crate::conversation::read_messages;

impl Reader {
    /// Reads a list of messages; a medium stands behind the texts that come before its part.
    ///
    /// # Errors
    /// What is wrong with a message or a medium.
    pub(crate) fn messages(
        &mut self,
        list: &[Value],
        folder: &Path,
    ) -> Result<Vec<Message>, String> {
        let mut texts = list.to_vec();
        let mut media = Vec::with_capacity(texts.len());
        for (message, number) in texts.iter_mut().zip(1..) {
            let placed = self.take_media(message, folder);
            media.push(placed.map_err(|reason| format!("message {number}: {reason}"))?);
        }
        let mut messages = read_messages(&texts)?;
        for (message, placed) in messages.iter_mut().zip(media) {
            message.media = placed;
        }
        Ok(messages)
    }

    /// Takes the media out of a message's parts, and leaves the others.
    fn take_media(&mut self, message: &mut Value, folder: &Path) -> Result<Vec<Placed>, String> {
        let (mut placed, mut at) = (Vec::new(), 0);
        let Some(Value::Array(parts)) = message.get_mut("content") else { return Ok(placed) };
        for part in std::mem::take(parts) {
            if let Some((kind, name)) = name_of(&part) {
                placed.push(Placed { at, medium: Arc::new(file::of_name(name, kind)) });
                continue;
            }
            if let Some((kind, value)) = medium_of(&part) {
                for medium in self.field(value, kind, folder)? {
                    let medium = self.told(medium, &part, value)?;
                    placed.push(Placed { at, medium });
                }
                continue;
            }
            let text = part.as_str().or_else(|| part.get("text").and_then(Value::as_str));
            at += text.map_or(0, str::len);
            parts.push(part);
        }
        Ok(placed)
    }
}

/// The name of a part that holds nothing else, as vLLM has it of media that it knows.
fn name_of(part: &Value) -> Option<(MediumKind, &str)> {
    let (kind, field) = kind_of(part)?;
    let is_empty = match part.get(field) {
        None | Some(Value::Null) => true,
        Some(Value::Object(fields)) => fields.is_empty(),
        Some(_) => false,
    };
    Some((kind, part.get("uuid")?.as_str()?)).filter(|_| is_empty)
}

/// The medium of a part.
fn medium_of(part: &Value) -> Option<(MediumKind, &Value)> {
    let (kind, name) = kind_of(part)?;
    Some((kind, part.get(name)?))
}

/// What a part is, by its type, and its field that holds it.
fn kind_of(part: &Value) -> Option<(MediumKind, &'static str)> {
    Some(match part.get("type")?.as_str()? {
        "image_url" | "input_image" => (MediumKind::Image, "image_url"),
        "image" => (MediumKind::Image, "image"),
        "input_audio" => (MediumKind::Audio, "input_audio"),
        "audio_url" => (MediumKind::Audio, "audio_url"),
        "audio" => (MediumKind::Audio, "audio"),
        "video_url" => (MediumKind::Video, "video_url"),
        "video" => (MediumKind::Video, "video"),
        _ => return None,
    })
}
