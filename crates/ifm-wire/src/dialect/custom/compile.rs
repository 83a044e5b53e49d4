//! Compiles the text of a file to a dialect. Reports every error in the file, with its line.
//!
//! Not here: the form of the file (`form`).

use super::super::{Base, Dialect, End, Endpoint, Framing, Media, Prompts, Reads};
use super::form::{
    At, CompleteWith, Events, File, KEY_IN_PATH, Places, Reads as Keys, may_hold_key,
};
use super::message::{
    CALL_PLACES, MEDIUM_PLACES, MESSAGE_PLACES, Messages, RESULT_PLACES, TEXT_PLACES,
};
use super::place::{Node, Place};
use super::pointer::{Condition, Pointer, Source};
use super::reading::{CallNames, Counts, Reading};
use super::request::Body;
use super::tools::Tools;
use super::{ApiFileError, Description, ModelList, form};
use crate::header::is_framing_header;
use ifm_core::spec::{Api, ApiFile, FileId};
use ifm_core::words::nearest;
use ifm_core::{MediumKind, Role};
use std::fmt::Display;

/// Reads a file.
///
/// # Errors
/// What is wrong with it.
pub(super) fn dialect(id: FileId, file: ApiFile) -> Result<Dialect, ApiFileError> {
    let form: File = toml::from_str(&file.text).map_err(|error| of_toml(&file.text, &error))?;
    let at = Lines(&file.text);
    let body = body(&form.request, &at)?;
    let messages = messages(form.message.as_ref(), &body, &at)?;
    let event = reading(&form.read_event.or(&form.read), &form.answer, ("read_event", &at))?;
    let whole = reading(&form.read_whole.or(&form.read), &form.answer, ("read_whole", &at))?;
    let streams = form.answer.events != Events::Whole;
    if event.text.is_empty() && streams || whole.text.is_empty() {
        let why = "\"text\" is missing: say where the generated text stands, \
                   as text = \"/choices/*/delta/content\"";
        return Err(at.error("read", "text", why));
    }
    let tools = Tools::parse(form.request.when_tools.as_deref(), form.request.tool.as_deref());
    let tools = tools.map_err(|(key, why)| at.error("request", key, why))?;
    let models = form.models.as_ref().map(ModelList::of).transpose();
    let models = models.map_err(|(key, why)| at.error("models", key, why))?;
    let length = body.length(form.request.output_tokens_default);
    let prompt_fields = body.prompt_fields();
    let output_keys: Vec<&[u8]> =
        event.output_keys().into_iter().map(|key| key.leak().as_bytes()).collect();
    let endpoint = endpoint(&form, streams, &at)?;
    let can_ignore_eos = body.can_ignore_eos;
    let media: Vec<MediumKind> = messages.as_ref().map(Messages::media).unwrap_or_default();
    let details = messages.as_ref().is_some_and(Messages::has_details);
    let end = end(&form.answer, &event);
    let headers = headers(&form.request, &at)?;
    let framing = match form.answer.events {
        Events::Lines => Framing::Lines,
        Events::Sse | Events::Whole => Framing::Events,
    };
    let end_mark = form.answer.end_mark.map(|mark| &*mark.leak());
    let description = Description {
        about: form.about,
        key_env: form.key_env,
        models,
        headers,
        body,
        messages,
        tools,
        event,
        whole,
        file,
    };
    Ok(Dialect {
        framing,
        end,
        end_mark,
        can_ignore_eos,
        length: Some(length),
        prompts: Prompts::texts(""),
        media: Media { addresses: true, details, ..Media::of(media.leak()) },
        prompt_fields: prompt_fields.leak(),
        write_prompt: |dialect, ask, out| match dialect.file() {
            Some(file) => file.put_prompt(ask, out).map(|()| None),
            None => Ok(None),
        },
        output_keys: output_keys.leak(),
        reads: Reads::File(Box::leak(Box::new(description))),
        ..Dialect::new(
            Api::Custom(id),
            endpoint,
            |_, _, _| Err(String::new()),
            |_, _, _| Err(String::new()),
        )
    })
}

fn endpoint(form: &File, streams: bool, at: &Lines<'_>) -> Result<Endpoint, ApiFileError> {
    let request = &form.request;
    let of = |key: &str, path: &str| {
        let is_path = path.starts_with('/') && path.bytes().all(|it| it.is_ascii_graphic());
        if !is_path {
            let why = format!("\"{path}\" is no path: it begins with a slash and has no spaces");
            return Err(at.error("request", key, why));
        }
        if may_hold_key(path) {
            return Err(at.error("request", key, KEY_IN_PATH));
        }
        Ok(&*path.to_owned().leak())
    };
    let whole: &'static str = of("path", &request.path)?;
    let stream = match &request.streamed_path {
        Some(_) if !streams => {
            let why = "there are no streams: [answer] says events = \"whole\"";
            return Err(at.error("request", "streamed_path", why));
        }
        Some(path) => Some(of("streamed_path", path)?),
        None => streams.then_some(whole),
    };
    Ok(Endpoint { base: Base::Root, stream, whole })
}

/// What is said of a key in a file.
const KEY_IN_FILE: &str = "a key does not belong into the file, which every run stores: write {key} here \
                           and name its environment variable as key_env";

/// Whether a header of this name carries credentials.
fn carries_key(name: &str) -> bool {
    let name = name.to_ascii_lowercase().replace(['-', '_'], "");
    let words = ["authorization", "apikey", "secret", "password", "token", "cookie", "credential"];
    words.iter().any(|word| name.contains(word)) || name.ends_with("key")
}

fn headers(request: &form::Request, at: &Lines<'_>) -> Result<Vec<(String, String)>, ApiFileError> {
    for (name, value) in &request.headers {
        if is_framing_header(name) {
            let why = "this header is written by the program alone";
            return Err(at.error("request.headers", name, why));
        }
        if carries_key(name) && !value.contains("{key}") {
            return Err(at.error("request.headers", name, KEY_IN_FILE));
        }
        let is_text = |byte: u8| byte >= 0x20 && byte != 0x7f;
        if !value.bytes().all(is_text) {
            return Err(at.error("request.headers", name, "no header can carry this value"));
        }
    }
    Ok(request.headers.iter().map(|(name, value)| (name.clone(), value.clone())).collect())
}

fn body(request: &form::Request, at: &Lines<'_>) -> Result<Body, ApiFileError> {
    let mut body = Body::parse(&request.body).map_err(|why| at.error("request", "body", why))?;
    if let Some(text) = &request.when_streamed {
        let told = |why| at.error("request", "when_streamed", why);
        body = body.with_streamed(text).map_err(told)?;
    }
    if let Some(text) = &request.when_whole {
        body = body.with_whole(text).map_err(|why| at.error("request", "when_whole", why))?;
    }
    Ok(body)
}

fn messages(
    message: Option<&form::Message>,
    body: &Body,
    at: &Lines<'_>,
) -> Result<Option<Messages>, ApiFileError> {
    let message = match (message, body.takes_messages) {
        (None, false) => return Ok(None),
        (Some(message), true) => message,
        (None, true) => {
            let why = "the body has \"{messages}\": say in [message] how one is written";
            return Err(at.error("request", "body", why));
        }
        (Some(_), false) => {
            let why = "the body has no \"{messages}\", so that [message] says nothing";
            return Err(at.error("message", "form", why));
        }
    };
    let part = |table: &str, key: &str, text: &Option<String>, places: &[Place]| {
        let node = text.as_deref().map(|text| Node::parse(text, places)).transpose();
        node.map_err(|why| at.error(table, key, why))
    };
    let parsed = Node::parse(&message.form, MESSAGE_PLACES);
    let form = parsed.map_err(|why| at.error("message", "form", why))?;
    for role in message.roles.keys() {
        if Role::from_word(role).is_none() {
            let near = nearest(role, Role::ALL.into_iter().map(Role::word));
            let near = near.map(|near| format!("; did you mean \"{near}\"?")).unwrap_or_default();
            let why = format!("there is no role \"{role}\"{near}");
            return Err(at.error("message", "roles", why));
        }
    }
    let word = |role: Role| message.roles.get(role.word()).map_or(role.word(), String::as_str);
    let of = &message.part;
    let messages = Messages {
        roles: Role::ALL.into_iter().map(|role| word(role).to_owned()).collect(),
        is_joined: message.joined,
        is_system_apart: body.is_system_apart,
        text: part("message.part", "text", &of.text, TEXT_PLACES)?,
        image: part("message.part", "image", &of.image, MEDIUM_PLACES)?,
        audio: part("message.part", "audio", &of.audio, MEDIUM_PLACES)?,
        video: part("message.part", "video", &of.video, MEDIUM_PLACES)?,
        call: part("message", "call", &message.call, CALL_PLACES)?,
        result: part("message.part", "result", &of.result, RESULT_PLACES)?,
        form,
    };
    contradiction(&messages).map_or(Ok(Some(messages)), |why| Err(at.error("message", "form", why)))
}

/// The first contradiction among the message forms, if any.
fn contradiction(messages: &Messages) -> Option<&'static str> {
    let form = &messages.form;
    let has_parts = form.has(Place::Parts) || form.has(Place::Content);
    let has_text = has_parts || form.has(Place::Text);
    if !has_text {
        return Some("it has no place for what is said: \"{text}\", \"{content}\" or \"{parts}\"");
    }
    if has_parts && form.has(Place::Parts) && messages.text.is_none() {
        return Some("\"{parts}\" needs a form of [message.part] text");
    }
    let has_forms =
        messages.image.is_some() || messages.audio.is_some() || messages.video.is_some();
    if has_forms && (!has_parts || messages.text.is_none()) {
        return Some(
            "parts with media need \"{parts}\" or \"{content}\", and a form of their text",
        );
    }
    if messages.result.is_some() && !form.has(Place::Parts) {
        return Some("[message.part] result needs \"{parts}\"");
    }
    if messages.is_joined
        && (!form.has(Place::Parts) || form.has(Place::Text) || form.has(Place::Content))
    {
        return Some("joined messages need \"{parts}\", and no other place of their text");
    }
    if messages.is_joined && form.has(Place::ToolCallId) {
        return Some("joined messages have no \"{tool_call_id}\" of their own");
    }
    if form.has(Place::ToolCalls) && messages.call.is_none() {
        return Some("\"{tool_calls}\" needs a form of their own: call = '{…}'");
    }
    if messages.call.is_some() && !form.has(Place::ToolCalls) && !form.has(Place::Parts) {
        return Some("call needs \"{tool_calls}\" or \"{parts}\"");
    }
    None
}

fn end(answer: &form::Answer, event: &Reading) -> End {
    let has_mark = answer.end_mark.is_some() || !event.end.is_empty();
    match answer.complete_with {
        Some(CompleteWith::Mark) => End::Mark,
        Some(CompleteWith::MarkOrFinish) => End::MarkOrFinish,
        Some(CompleteWith::Response) => End::Response,
        None if has_mark => End::Mark,
        None => End::MarkOrFinish,
    }
}

/// Reads the places of one kind of document. `read` holds what the more special table leaves out.
fn reading(
    keys: &Keys,
    answer: &form::Answer,
    (table, at): (&str, &Lines<'_>),
) -> Result<Reading, ApiFileError> {
    let of = |key: &str, why: String| at.error_in([table, "read"], key, why);
    let choices = match &keys.choices {
        None => None,
        Some(places) => match places.list() {
            [At::Place(place)] => Some(Pointer::parse(place).map_err(|why| of("choices", why))?),
            _ => return Err(of("choices", "it is one place, without a condition".to_owned())),
        },
    };
    let sources = |key: &'static str, places: &Option<Places>| {
        let list = places.as_ref().map(Places::list).unwrap_or_default();
        let read = list.iter().map(|at| source(at, choices.as_ref()));
        read.collect::<Result<Vec<_>, String>>().map_err(|why| of(key, why))
    };
    let sums = |key: &'static str, places: &Option<Places>| {
        let list = places.as_ref().map(Places::list).unwrap_or_default();
        let read = list.iter().map(sum);
        read.collect::<Result<Vec<_>, String>>().map_err(|why| of(key, why))
    };
    let end = keys.end.as_ref().map(Places::list).unwrap_or_default().iter().map(|at| match at {
        At::Place(text) if text.starts_with('/') => Condition::parse(text, false, None),
        _ => Err("it is a place from the top, as \"/done\" or \"/type = done\"".to_owned()),
    });
    Ok(Reading {
        index: sources("choice_index", &keys.choice_index)?,
        text: sources("text", &keys.text)?,
        reasoning: sources("reasoning", &keys.reasoning)?,
        refusal: sources("refusal", &keys.refusal)?,
        tool_calls: sources("tool_calls", &keys.tool_calls)?,
        finish_reason: sources("finish_reason", &keys.finish_reason)?,
        opening: sources("opening", &keys.opening)?,
        token: sources("token", &keys.token)?,
        counts: Counts {
            prompt: sums("prompt_tokens", &keys.prompt_tokens)?,
            output: sums("output_tokens", &keys.output_tokens)?,
            cached: sums("cached_tokens", &keys.cached_tokens)?,
            reasoning: sums("reasoning_tokens", &keys.reasoning_tokens)?,
        },
        times: [
            sources("queue_ns", &keys.queue_ns)?,
            sources("first_token_ns", &keys.first_token_ns)?,
            sources("decode_ns", &keys.decode_ns)?,
        ],
        end: end.collect::<Result<_, _>>().map_err(|why| of("end", why))?,
        error: sources("error", &keys.error)?,
        finish_words: answer.finish_words.clone(),
        empty_text_may_be_token: answer.empty_text_may_be_token,
        call: CallNames {
            id: answer.call.id.clone(),
            name: answer.call.name.clone(),
            arguments: answer.call.arguments.clone(),
        },
        choices,
    })
}

fn source(at: &At, choices: Option<&Pointer>) -> Result<Source, String> {
    let (place, when, unless) = match at {
        At::Place(place) => (place, None, None),
        At::If(it) => (&it.at, it.when.as_deref(), it.unless.as_deref()),
    };
    let pointer = Pointer::parse(place)?;
    let of_choice = choices.and_then(|choices| pointer.behind(choices));
    let condition = |text, is_negated| Condition::parse(text, is_negated, choices);
    let conditions = [(when, false), (unless, true)];
    let conditions =
        conditions.into_iter().filter_map(|(text, is_negated)| Some((text?, is_negated)));
    Ok(Source {
        is_of_choice: of_choice.is_some(),
        pointer: of_choice.unwrap_or(pointer),
        conditions: conditions.map(|(text, no)| condition(text, no)).collect::<Result<_, _>>()?,
        written: place.clone(),
    })
}

/// Places joined by plus signs.
fn sum(at: &At) -> Result<Vec<Source>, String> {
    match at {
        At::Place(text) => {
            text.split(" + ").map(|place| source(&At::Place(place.to_owned()), None)).collect()
        }
        At::If(_) => Ok(vec![source(at, None)?]),
    }
}

/// The lines of a file, to locate errors.
struct Lines<'file>(&'file str);

impl Lines<'_> {
    fn error(&self, table: &str, key: &str, why: impl Display) -> ApiFileError {
        self.error_in([table], key, why)
    }

    /// What is wrong with a key of the first table that has it.
    fn error_in<const TABLES: usize>(
        &self,
        tables: [&str; TABLES],
        key: &str,
        why: impl Display,
    ) -> ApiFileError {
        let found = tables.iter().find_map(|table| Some((*table, self.line(table, key)?)));
        ApiFileError(match (found, tables.first()) {
            (Some((table, line)), _) => format!("line {line}: [{table}] {key}: {why}"),
            (None, Some(table)) => format!("[{table}] {key}: {why}"),
            (None, None) => format!("{key}: {why}"),
        })
    }

    fn line(&self, table: &str, key: &str) -> Option<usize> {
        let mut within = String::new();
        for (number, line) in self.0.lines().enumerate() {
            let line = line.trim();
            if let Some(name) = line.strip_prefix('[') {
                within = name.split(']').next().unwrap_or_default().trim().to_owned();
            }
            let rest = line.trim_start_matches('"').strip_prefix(key);
            let is_key = rest.is_some_and(|it| it.trim_start_matches(['"', ' ']).starts_with('='));
            if is_key && within == table {
                return Some(number + 1);
            }
        }
        None
    }
}

/// What the reader of TOML says, with the line, and the nearest name for one that is not known.
fn of_toml(text: &str, error: &toml::de::Error) -> ApiFileError {
    let line = error.span().map(|span| {
        let before = text.get(..span.start).unwrap_or_default();
        format!("line {}: ", before.matches('\n').count() + 1)
    });
    let message = error.message().trim_end();
    let mut quoted = message.split('`').skip(1).step_by(2);
    let near = match (message.starts_with("unknown field"), quoted.next()) {
        (true, Some(word)) => nearest(word, quoted),
        _ => None,
    };
    let near = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
    ApiFileError(format!("{}{message}{near}", line.unwrap_or_default()))
}
