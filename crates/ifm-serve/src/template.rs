//! How the messages of a chat become one prompt.
//!
//! Real models come with a program for this (a Jinja template). Here the four forms
//! in widest use are written out, and the tokens in the vocabulary tell which one a
//! model was made with; a model with none of them gets plain text.
//!
//! Not here: the program of a model, tools, what media cost (`media`).

use ifm_engine::Tokenizer;
use serde_json::Value;

use crate::{error::ApiError, fields::Fields};

/// A way to write a chat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ChatTemplate {
    /// `<|user|>…<|end|>`: the embedded tokenizer, and Phi 3.
    Roles,
    /// `<|im_start|>user\n…<|im_end|>\n`: Qwen, SmolLM and others.
    ChatMl,
    /// `<|start_header_id|>user<|end_header_id|>\n\n…<|eot_id|>`: Llama 3.
    Llama3,
    /// `user: …\n`.
    Plain,
}

impl ChatTemplate {
    /// The form that the vocabulary is made for.
    pub(crate) fn find(tokenizer: &Tokenizer) -> Self {
        let has = |token: &str| tokenizer.id(token).is_some();
        if has("<|user|>") && has("<|assistant|>") && has("<|end|>") {
            Self::Roles
        } else if has("<|im_start|>") && has("<|im_end|>") {
            Self::ChatMl
        } else if has("<|start_header_id|>") && has("<|eot_id|>") {
            Self::Llama3
        } else {
            Self::Plain
        }
    }

    /// The prompt of a chat; with `answer`, up to where the answer begins.
    pub(crate) fn render(self, messages: &[Message], answer: bool) -> String {
        let mut prompt = String::new();
        for message in messages {
            self.open(message.role, &mut prompt);
            prompt.push_str(&message.content);
            self.close(&mut prompt);
        }
        if answer {
            self.open(Role::Assistant, &mut prompt);
        }
        prompt
    }

    fn open(self, role: Role, prompt: &mut String) {
        let role = role.name();
        let parts = match self {
            Self::Roles => ["<|", role, "|>"],
            Self::ChatMl => ["<|im_start|>", role, "\n"],
            Self::Llama3 => ["<|start_header_id|>", role, "<|end_header_id|>\n\n"],
            Self::Plain => ["", role, ": "],
        };
        prompt.extend(parts);
    }

    fn close(self, prompt: &mut String) {
        prompt.push_str(match self {
            Self::Roles => "<|end|>",
            Self::ChatMl => "<|im_end|>\n",
            Self::Llama3 => "<|eot_id|>",
            Self::Plain => "\n",
        });
    }
}

/// Who speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    System,
    User,
    Assistant,
}

impl Role {
    fn name(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::User => "user",
            Self::Assistant => "assistant",
        }
    }
}

/// One message of a chat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Message {
    role: Role,
    content: String,
}

/// Stands for a medium in the text of a message; a text that has it itself loses it.
pub(crate) const MEDIUM: char = '\u{10fffd}';

/// Takes a part of a message that is no text, if it is a medium.
type TakePart<'take> = dyn FnMut(&Value) -> Result<bool, ApiError> + 'take;

/// Reads the messages of a request; parts that are no text go to `take`.
pub(crate) fn read_messages(
    fields: &Fields,
    take: &mut TakePart<'_>,
) -> Result<Vec<Message>, ApiError> {
    let Some(list) = fields.list("messages")? else {
        return Err(ApiError::field("messages", "`messages` is missing."));
    };
    if list.is_empty() {
        return Err(ApiError::field("messages", "`messages` is empty."));
    }
    list.iter().enumerate().map(|(index, message)| read_message(index, message, take)).collect()
}

fn read_message(
    index: usize,
    message: &Value,
    take: &mut TakePart<'_>,
) -> Result<Message, ApiError> {
    let error = |what: &str| ApiError::field("messages", format!("`messages[{index}]` {what}."));
    let role = match message["role"].as_str() {
        Some("system" | "developer") => Role::System,
        Some("user" | "tool" | "function") => Role::User,
        Some("assistant") => Role::Assistant,
        Some(_) => return Err(error("has an unknown role")),
        None => return Err(error("has no role")),
    };
    let content = match &message["content"] {
        Value::String(text) => text.replace(MEDIUM, ""),
        // An assistant's turn may be tool calls only.
        Value::Null if role == Role::Assistant => String::new(),
        Value::Array(parts) => {
            let mut content = String::new();
            for part in parts {
                match part["text"].as_str().filter(|_| part["type"] == "text") {
                    Some(text) => content.push_str(&text.replace(MEDIUM, "")),
                    None if take(part)? => content.push(MEDIUM),
                    None => return Err(error("has a part that is not supported")),
                }
            }
            content
        }
        _ => return Err(error("has no content")),
    };
    Ok(Message { role, content })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(json: &str) -> Result<Vec<Message>, ApiError> {
        let fields = Fields::parse(json.as_bytes()).expect("an object");
        read_messages(&fields, &mut |part| Ok(part["type"] == "image_url"))
    }

    #[test]
    fn every_form_ends_where_the_answer_begins() {
        let messages = messages(
            r#"{"messages": [{"role": "developer", "content": "Be brief."},
                {"role": "user", "content": [{"type": "text", "text": "H"},
                                             {"type": "text", "text": "i"}]}]}"#,
        )
        .expect("fine");
        let render = |template: ChatTemplate| template.render(&messages, true);
        assert_eq!(
            render(ChatTemplate::Roles),
            "<|system|>Be brief.<|end|><|user|>Hi<|end|><|assistant|>"
        );
        assert_eq!(
            render(ChatTemplate::ChatMl),
            "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n\
             <|im_start|>assistant\n"
        );
        assert!(render(ChatTemplate::Llama3).ends_with("<|end_header_id|>\n\n"));
        assert_eq!(render(ChatTemplate::Plain), "system: Be brief.\nuser: Hi\nassistant: ");
        assert!(ChatTemplate::Plain.render(&messages, false).ends_with("Hi\n"));
        let with_image = r#"{"messages": [{"role": "user", "content": [
            {"type": "text", "text": "a\udbff\udffd"}, {"type": "image_url"},
            {"type": "text", "text": "b"}]}]}"#;
        let rendered =
            ChatTemplate::Plain.render(&self::messages(with_image).expect("fine"), false);
        assert_eq!(rendered, format!("user: a{MEDIUM}b\n"));
    }

    #[test]
    fn the_embedded_vocabulary_has_roles() {
        let tokenizer = Tokenizer::embedded().expect("embedded");
        assert_eq!(ChatTemplate::find(&tokenizer), ChatTemplate::Roles);
    }

    #[test]
    fn messages_that_make_no_sense_are_named() {
        for json in [
            "{}",
            r#"{"messages": []}"#,
            r#"{"messages": "hi"}"#,
            r#"{"messages": [{"content": "hi"}]}"#,
            r#"{"messages": [{"role": "king", "content": "hi"}]}"#,
            r#"{"messages": [{"role": "user"}]}"#,
            r#"{"messages": [{"role": "user", "content": [{"type": "hologram"}]}]}"#,
            r#"{"messages": ["hi"]}"#,
        ] {
            let error = messages(json).expect_err(json).to_json();
            assert_eq!(error["error"]["param"], "messages", "{json}");
        }
    }
}
