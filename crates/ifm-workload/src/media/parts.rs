//! Messages whose content is a list of parts, media among them, as the OpenAI API writes them.
//!
//! Not here: messages of text (`conversation`), reading a medium (`column`).

use std::path::Path;

use ifm_core::{MediumKind, Message, Placed};
use serde_json::Value;

use super::Reader;
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
            if let Some((kind, value)) = medium_of(&part) {
                let media = self.field(value, kind, folder)?;
                placed.extend(media.into_iter().map(|medium| Placed { at, medium }));
                continue;
            }
            let text = part.as_str().or_else(|| part.get("text").and_then(Value::as_str));
            at += text.map_or(0, str::len);
            parts.push(part);
        }
        Ok(placed)
    }
}

/// The medium of a part, by the part's type.
fn medium_of(part: &Value) -> Option<(MediumKind, &Value)> {
    let (kind, name) = match part.get("type")?.as_str()? {
        "image_url" | "input_image" => (MediumKind::Image, "image_url"),
        "image" => (MediumKind::Image, "image"),
        "input_audio" => (MediumKind::Audio, "input_audio"),
        "audio_url" => (MediumKind::Audio, "audio_url"),
        "audio" => (MediumKind::Audio, "audio"),
        "video_url" => (MediumKind::Video, "video_url"),
        "video" => (MediumKind::Video, "video"),
        _ => return None,
    };
    Some((kind, part.get(name)?))
}
