//! The body of a request as a file writes it: what is the same for all requests of a level, the prompt,
//! and the one place of the output length.
//!
//! Not here: messages (`message`), and how fields of the user are merged in (`crate::request`).

use super::super::body::{put, put_name};
use super::super::{LengthField, TemplateSpec};
use super::message::{Messages, put_value};
use super::place::{Node, Place};
use crate::ask::{Ask, RequestError};
use ifm_core::order::Order as _;
use ifm_core::{Message, Prompt, Role};
use serde_json::{Map, Value};

/// Places that have the same value for every request of a level.
const FIXED_PLACES: &[Place] = &[
    Place::Model,
    Place::Stream,
    Place::IgnoreEos,
    Place::Temperature,
    Place::TemperatureAboveZero,
    Place::Samples,
];
/// Places of the prompt.
const PROMPT_PLACES: &[Place] = &[Place::Prompt, Place::Messages, Place::System];

/// Fields with their values.
pub(super) type Fields = Vec<(String, Node)>;

/// The body of a request.
#[derive(Debug)]
pub(super) struct Body {
    /// What is the same for every request.
    fixed: Fields,
    /// What it has in addition for streams, and for whole answers.
    when_streamed: Fields,
    when_whole: Fields,
    /// Fields that hold the prompt; the main one, with texts or messages, first.
    prompt: Fields,
    pub(super) takes_messages: bool,
    pub(super) is_system_apart: bool,
    pub(super) can_ignore_eos: bool,
    /// The object and the name of the output length.
    length: Option<(Option<String>, String)>,
}

impl Body {
    /// Reads a body, and what it has in addition for streams and whole answers.
    pub(super) fn parse(text: &str) -> Result<Body, String> {
        let allowed = [FIXED_PLACES, PROMPT_PLACES, &[Place::OutputTokens]].concat();
        let fields = Node::parse(text, &allowed)?.into_fields().ok_or("it is no object")?;
        let has = |place| fields.iter().any(|(_, node)| node.has(place));
        let (takes_messages, takes_texts) = (has(Place::Messages), has(Place::Prompt));
        match (takes_messages, takes_texts) {
            (true, true) => return Err("it has both \"{messages}\" and \"{prompt}\"".to_owned()),
            (false, false) => {
                return Err("it has neither \"{messages}\" nor \"{prompt}\"".to_owned());
            }
            _ => {}
        }
        let (is_system_apart, can_ignore_eos) = (has(Place::System), has(Place::IgnoreEos));
        if is_system_apart && takes_texts {
            return Err("it has \"{system}\" beside \"{prompt}\": a text has no system".to_owned());
        }
        let is_prompt = |node: &Node| PROMPT_PLACES.iter().any(|place| node.has(*place));
        let is_main = |node: &Node| node.has(Place::Messages) || node.has(Place::Prompt);
        let (mut prompt, mut fixed): (Fields, Fields) =
            fields.into_iter().partition(|(_, node)| is_prompt(node));
        prompt.order_by_key(|(_, node)| !is_main(node));
        let length = taken_length(&mut fixed)?;
        if prompt.iter().chain(&fixed).any(|(_, node)| node.has(Place::OutputTokens)) {
            return Err(
                "\"{output_tokens}\" stands once, as a field of the body or of an object in \
                        it that does not hold the prompt"
                    .to_owned(),
            );
        }
        Ok(Body {
            fixed,
            when_streamed: Vec::new(),
            when_whole: Vec::new(),
            prompt,
            takes_messages,
            is_system_apart,
            can_ignore_eos,
            length,
        })
    }

    pub(super) fn with_streamed(mut self, text: &str) -> Result<Body, String> {
        self.when_streamed = more_fields(text)?;
        Ok(self)
    }

    pub(super) fn with_whole(mut self, text: &str) -> Result<Body, String> {
        self.when_whole = more_fields(text)?;
        Ok(self)
    }

    /// The field for the output length. Without one, the API chooses the length.
    pub(super) fn length(&self, default: Option<u32>) -> LengthField {
        let (within, names) = match &self.length {
            Some((within, name)) => (within.as_ref(), vec![&*name.clone().leak()]),
            None => (None, Vec::new()),
        };
        let within = within.map(|name| &*name.clone().leak());
        LengthField { within, names: names.leak(), default }
    }

    /// Names of the fields that hold the prompt.
    pub(super) fn prompt_fields(&self) -> Vec<&'static str> {
        self.prompt.iter().map(|(name, _)| &*name.clone().leak()).collect()
    }

    /// The field with the text or the messages.
    pub(super) fn main_field(&self) -> &str {
        self.prompt.first().map_or("", |(name, _)| name)
    }

    /// Fields that are the same for every request of a level.
    pub(super) fn fixed_fields(&self, spec: &TemplateSpec<'_>) -> Map<String, Value> {
        let fill = |place: Place, out: &mut Vec<u8>| {
            let temperature = spec.temperature;
            match place {
                Place::Model => put(spec.model, out),
                Place::Stream => put(&spec.stream, out),
                Place::IgnoreEos if spec.ignore_eos => put(&true, out),
                Place::Temperature if temperature.is_some() => put(&temperature, out),
                Place::Samples if temperature.is_some() => {
                    put(&temperature.is_some_and(|it| it > 0.0), out);
                }
                Place::TemperatureAboveZero if temperature.is_some_and(|it| it > 0.0) => {
                    put(&temperature, out);
                }
                _ => return false,
            }
            true
        };
        let more = if spec.stream { &self.when_streamed } else { &self.when_whole };
        let mut all = Map::new();
        for (name, node) in self.fixed.iter().chain(more) {
            let Some(value) = node.value(&fill) else { continue };
            match (all.get_mut(name), value) {
                (Some(Value::Object(former)), Value::Object(value)) => former.extend(value),
                (_, value) => _ = all.insert(name.clone(), value),
            }
        }
        all
    }

    /// Appends the fields that hold the prompt.
    ///
    /// # Errors
    /// [`RequestError`] for a kind of prompt that the file has no place for.
    pub(super) fn put_prompt(
        &self,
        messages: Option<&Messages>,
        ask: &Ask<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), RequestError> {
        let asked;
        let (text, said): (&str, &[Message]) = match (ask.prompt, messages) {
            (Prompt::Text(text), Some(_)) => {
                asked = [Message::text(Role::User, text.as_str())];
                ("", &asked)
            }
            (Prompt::Text(text), None) => (text, &[]),
            (Prompt::Messages(list), Some(_)) => ("", list),
            (prompt, messages) => {
                let kind = match prompt {
                    Prompt::Messages(_) => "messages",
                    _ => "token ids",
                };
                let takes = if messages.is_some() { "texts and messages" } else { "texts" };
                return Err(RequestError::Prompt { api: "custom", kind, takes });
            }
        };
        if let Some(messages) = messages {
            said.iter().try_for_each(|message| messages.check(message))?;
        }
        let system = system_of(said);
        let fill = |place: Place, out: &mut Vec<u8>| match (place, messages) {
            (Place::Prompt, _) => put_value(text, out),
            (Place::System, _) => !system.is_empty() && put_value(&system, out),
            (Place::Messages, Some(messages)) => {
                messages.put(said, ask.said, out);
                true
            }
            _ => false,
        };
        for (name, node) in &self.prompt {
            let is_own = ask.fields.is_some_and(|fields| fields.contains_key(name));
            let start = out.len();
            put_name(name, out);
            if is_own || !node.put(&fill, out) {
                out.truncate(start);
            }
        }
        Ok(())
    }
}

/// What all system messages say.
fn system_of(messages: &[Message]) -> String {
    let system = messages.iter().filter(|message| message.role == Role::System);
    system.map(|message| message.content.as_str()).collect::<Vec<_>>().join("\n\n")
}

/// Takes the output length out of the fields: the object that holds it, and its name.
fn taken_length(fields: &mut Fields) -> Result<Option<(Option<String>, String)>, String> {
    let is_it = |(_, node): &(String, Node)| *node == Node::Place(Place::OutputTokens);
    if let Some(place) = fields.iter().position(is_it) {
        return Ok(Some((None, fields.remove(place).0)));
    }
    for (outer, node) in fields {
        if let Node::Object(inner) = node
            && let Some(place) = inner.iter().position(is_it)
        {
            return Ok(Some((Some(outer.clone()), inner.remove(place).0)));
        }
    }
    Ok(None)
}

fn more_fields(text: &str) -> Result<Fields, String> {
    Node::parse(text, FIXED_PLACES)?.into_fields().ok_or_else(|| "it is no object".to_owned())
}
