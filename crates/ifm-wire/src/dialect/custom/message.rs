//! How the messages of a conversation are written by a file.
//!
//! Not here: the rest of the body (`request`).

use super::super::body::{put_arguments, put_text};
use super::super::parts::{Part, data_url, parts, put_carried};
use super::super::takers;
use super::place::{Fill, Node, Place, put_item};
use crate::ask::RequestError;
use ifm_core::{Carried, ImageDetail, Medium, MediumKind, Message, Role, ToolCall};

/// Places of a message.
pub(super) const MESSAGE_PLACES: &[Place] = &[
    Place::Role,
    Place::Text,
    Place::Content,
    Place::Parts,
    Place::ToolCalls,
    Place::ToolCallId,
    Place::Reasoning,
];
/// Places of a part with text.
pub(super) const TEXT_PLACES: &[Place] = &[Place::Text];
/// Places of a part with a medium.
pub(super) const MEDIUM_PLACES: &[Place] =
    &[Place::Mime, Place::Format, Place::Base64, Place::Url, Place::Detail];
/// Places of a call of a tool.
pub(super) const CALL_PLACES: &[Place] =
    &[Place::CallId, Place::CallName, Place::Arguments, Place::ArgumentsText];
/// Places of a tool's result.
pub(super) const RESULT_PLACES: &[Place] = &[Place::CallId, Place::CallName, Place::Text];

/// How messages are written.
#[derive(Debug)]
pub(super) struct Messages {
    pub(super) form: Node,
    /// The API's words, in the order of [`Role::ALL`].
    pub(super) roles: Vec<String>,
    /// Whether messages of one role in a row become one.
    pub(super) is_joined: bool,
    /// Whether system messages are written outside the list of messages.
    pub(super) is_system_apart: bool,
    pub(super) text: Option<Node>,
    pub(super) image: Option<Node>,
    pub(super) audio: Option<Node>,
    pub(super) video: Option<Node>,
    pub(super) call: Option<Node>,
    pub(super) result: Option<Node>,
}

impl Messages {
    /// The kinds of media that a message may carry.
    pub(super) fn media(&self) -> Vec<MediumKind> {
        MediumKind::ALL.into_iter().filter(|kind| self.of_kind(*kind).is_some()).collect()
    }

    /// Whether an image has a place for how closely the model is to look at it.
    pub(super) fn has_details(&self) -> bool {
        self.image.as_ref().is_some_and(|form| form.has(Place::Detail))
    }

    /// Whether a message is written the same way regardless of the other messages.
    pub(super) fn is_alone(&self, message: &Message) -> bool {
        let names_calls = self.result.as_ref().is_some_and(|form| form.has(Place::CallName));
        !self.is_joined && !self.is_system_apart && !names_calls && self.check(message).is_ok()
    }

    /// Whether the form has a place for all that a message carries.
    pub(super) fn check(&self, message: &Message) -> Result<(), RequestError> {
        let refusal = |kind| {
            let takes = "messages without them";
            Err(RequestError::Prompt { api: "custom", kind, takes })
        };
        let has_calls = self.call.is_some();
        if !message.tool_calls.is_empty() && !has_calls {
            return refusal("calls of tools");
        }
        if message.role == Role::Tool && self.result.is_none() && !self.form.has(Place::ToolCallId)
        {
            return refusal("results of tools");
        }
        for placed in &message.media {
            let medium = &placed.medium;
            let is_apart = self.is_system_apart && message.role == Role::System;
            if is_apart || !self.can_carry(medium) {
                let (api, kind) = ("custom", medium.kind.word());
                return Err(RequestError::Medium { api, kind, takers: takers(medium.kind) });
            }
        }
        Ok(())
    }

    fn can_carry(&self, medium: &Medium) -> bool {
        let Some(form) = self.of_kind(medium.kind) else { return false };
        match medium.carried {
            Carried::Base64(_) => true,
            Carried::Url(_) => !form.has(Place::Base64),
            Carried::File(_) | Carried::Name => false,
        }
    }

    fn of_kind(&self, kind: MediumKind) -> Option<&Node> {
        match kind {
            MediumKind::Image => self.image.as_ref(),
            MediumKind::Audio => self.audio.as_ref(),
            MediumKind::Video => self.video.as_ref(),
        }
    }

    fn word(&self, role: Role) -> &str {
        let place = Role::ALL.into_iter().position(|other| other == role);
        place.and_then(|place| self.roles.get(place)).map_or(role.word(), String::as_str)
    }

    /// Appends the list of messages, behind those that were written before.
    pub(super) fn put(&self, messages: &[Message], said: &[u8], out: &mut Vec<u8>) {
        out.push(b'[');
        out.extend_from_slice(said);
        let is_here = |it: &&Message| !self.is_system_apart || it.role != Role::System;
        let here: Vec<&Message> = messages.iter().filter(is_here).collect();
        let is_one = |one: &&Message, next: &&Message| {
            self.is_joined && self.word(one.role) == self.word(next.role)
        };
        for group in here.chunk_by(is_one) {
            put_item(out, |out| self.put_group(group, &here, out));
        }
        out.push(b']');
    }

    /// Appends one message.
    pub(super) fn put_one(&self, message: &Message, out: &mut Vec<u8>) {
        self.put_group(&[message], &[], out);
    }

    /// Appends messages of one role as one message; several only if the API has a list of parts.
    /// `all` are the messages of the request, because tool results need the preceding calls.
    fn put_group(&self, group: &[&Message], all: &[&Message], out: &mut Vec<u8>) -> bool {
        let Some(message) = group.first() else { return false };
        let fill = |place: Place, out: &mut Vec<u8>| match place {
            Place::Role => put_value(self.word(message.role), out),
            Place::Text => put_value(&message.content, out),
            Place::Content if message.media.is_empty() => put_value(&message.content, out),
            Place::Content | Place::Parts => self.put_parts(group, all, out),
            Place::ToolCalls => self.put_calls(&message.tool_calls, out),
            Place::ToolCallId => put_some(message.tool_call_id.as_deref(), out),
            Place::Reasoning => put_some(message.reasoning.as_deref(), out),
            _ => false,
        };
        self.form.put(&fill, out)
    }

    /// Appends the parts of messages: their texts and media, results of tools, and, where the message
    /// has no other place for them, calls. A message without any has an empty text.
    fn put_parts(&self, group: &[&Message], all: &[&Message], out: &mut Vec<u8>) -> bool {
        out.push(b'[');
        let start = out.len();
        for message in group {
            if let (Role::Tool, Some(form)) = (message.role, &self.result) {
                let call = call_of(message, all);
                put_item(out, |out| form.put(&of_result(message, call), out));
                continue;
            }
            for part in parts(message) {
                put_item(out, |out| self.put_part(&part, out));
            }
            if let (Some(form), false) = (&self.call, self.form.has(Place::ToolCalls)) {
                for call in &message.tool_calls {
                    put_item(out, |out| {
                        form.put(&|place, out: &mut _| fill_call(call, place, out), out)
                    });
                }
            }
        }
        if out.len() == start {
            self.put_part(&Part::Text(""), out);
        }
        out.push(b']');
        true
    }

    fn put_part(&self, part: &Part<'_>, out: &mut Vec<u8>) -> bool {
        match part {
            Part::Text(text) => {
                let fill = |place, out: &mut Vec<u8>| place == Place::Text && put_value(text, out);
                self.text.as_ref().is_some_and(|form| form.put(&fill, out))
            }
            Part::Medium(medium) => {
                let fill = |place, out: &mut Vec<u8>| fill_medium(medium, place, out);
                self.of_kind(medium.kind).is_some_and(|form| form.put(&fill, out))
            }
        }
    }

    fn put_calls(&self, calls: &[ToolCall], out: &mut Vec<u8>) -> bool {
        let Some(form) = self.call.as_ref().filter(|_| !calls.is_empty()) else { return false };
        out.push(b'[');
        for call in calls {
            put_item(out, |out| form.put(&|place, out: &mut _| fill_call(call, place, out), out));
        }
        out.push(b']');
        true
    }
}

/// The call that a result answers: the one of its id in the last message with calls before it; where
/// ids are unknown, the one at its place.
fn call_of<'message>(result: &Message, all: &[&'message Message]) -> Option<&'message ToolCall> {
    let at = all.iter().position(|message| std::ptr::eq(*message, result))?;
    let before = all.get(..at)?;
    let asked = before.iter().rposition(|message| !message.tool_calls.is_empty())?;
    let calls = &before.get(asked)?.tool_calls;
    let id = result.tool_call_id.as_deref().filter(|id| !id.is_empty());
    match id {
        Some(id) => calls.iter().find(|call| call.id == id),
        None => calls.get(before.len() - asked - 1),
    }
}

fn of_result<'message>(
    message: &'message Message,
    call: Option<&'message ToolCall>,
) -> Box<Fill<'message>> {
    Box::new(move |place, out| match place {
        Place::CallName => put_some(call.map(|call| call.name.as_str()), out),
        Place::CallId => put_some(message.tool_call_id.as_deref().filter(|id| !id.is_empty()), out),
        Place::Text => put_value(&message.content, out),
        _ => false,
    })
}

fn fill_medium(medium: &Medium, place: Place, out: &mut Vec<u8>) -> bool {
    match place {
        Place::Mime => return put_value(&medium.mime, out),
        Place::Format => {
            let format = medium.mime.split_once('/').map_or(medium.mime.as_str(), |(_, it)| it);
            return put_value(format, out);
        }
        Place::Detail => return put_some(medium.detail.map(ImageDetail::word), out),
        Place::Base64 => put_carried(medium, "", out),
        Place::Url => put_carried(medium, &data_url(medium), out),
        _ => return false,
    }
    true
}

fn fill_call(call: &ToolCall, place: Place, out: &mut Vec<u8>) -> bool {
    match place {
        // Older servers give none.
        Place::CallId => put_some(Some(call.id.as_str()).filter(|id| !id.is_empty()), out),
        Place::CallName => put_value(&call.name, out),
        Place::ArgumentsText => put_value(&call.arguments, out),
        Place::Arguments => {
            put_arguments(call, out);
            true
        }
        _ => false,
    }
}

pub(super) fn put_value(text: &str, out: &mut Vec<u8>) -> bool {
    put_text(text, out);
    true
}

fn put_some(text: Option<&str>, out: &mut Vec<u8>) -> bool {
    text.is_some_and(|text| put_value(text, out))
}
