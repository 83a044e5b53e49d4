//! How each API requests the format of an answer.
//!
//! OpenAI's API knows JSON alone. Servers that speak it have words of their own for the rest, so for
//! its endpoints it matters whose they are: a [`FormSpeech`].
//!
//! Not here: the definition of a form (`ifm_core::form`), the position of its fields (`request`).

use super::body::put_name;
use super::{DIALECTS, Dialect};
use crate::ask::RequestError;
use ifm_core::spec::Api;
use ifm_core::{Form, FormKind};
use serde_json::Value;

ifm_core::vocabulary! {
    /// Whose words are used for the form of an answer, on the endpoints of OpenAI's API.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum FormSpeech {
        /// OpenAI's own: JSON alone.
        OpenAi = "openai",
        /// vLLM's `structured_outputs`, from version 0.11 on.
        Vllm = "vllm",
        /// vLLM's `guided_json` and its like, before version 0.12.
        VllmGuided = "vllm-guided",
        /// SGLang's `regex` and `ebnf`.
        Sglang = "sglang",
        /// llama.cpp's `grammar` and `json_schema`.
        LlamaCpp = "llama-cpp",
    }
}

/// A field of a body, with its value as JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FormField {
    pub(crate) name: &'static str,
    /// Whether it belongs in the object that holds the output length.
    pub(crate) is_within: bool,
    pub(crate) json: String,
}

impl FormField {
    /// Appends it to an object that is being written.
    pub(crate) fn put(&self, out: &mut Vec<u8>) {
        put_name(self.name, out);
        out.extend_from_slice(self.json.as_bytes());
    }
}

/// Writes a form; nothing where the API has no way to say it.
pub(super) type WriteForm = fn(&Form, FormSpeech) -> Option<FormField>;

/// A schema that any object fits.
const ANY_OBJECT: &str = r#"{"type":"object"}"#;

impl Dialect {
    /// The field that requests a form.
    ///
    /// # Errors
    /// [`RequestError::Form`] where the API cannot carry it, with those that can.
    pub(crate) fn form(&self, form: &Form, speech: FormSpeech) -> Result<FormField, RequestError> {
        let write = self.form.and_then(|write| write(form, speech));
        write.ok_or_else(|| RequestError::Form {
            api: match is_shared(self.api) {
                true => format!("{} in the words of {}", self.api.word(), speech.word()),
                false => self.api.word().to_owned(),
            },
            kind: kind_words(form.kind),
            takes: who_takes(form),
        })
    }
}

/// Whether the words for a form depend on whose server it is.
fn is_shared(api: Api) -> bool {
    matches!(api, Api::Chat | Api::Completions | Api::Responses)
}

/// A kind of form in a sentence.
fn kind_words(kind: FormKind) -> &'static str {
    match kind {
        FormKind::JsonObject => "form \"any JSON object\"",
        FormKind::Json | FormKind::JsonUnique => "JSON schema",
        FormKind::Regex => "regular expression",
        FormKind::Choice => "choice",
        FormKind::Grammar => "grammar",
    }
}

/// The APIs that carry a form, and in whose words.
fn who_takes(form: &Form) -> String {
    let of = |dialect: &'static Dialect| {
        let write = dialect.form?;
        let word = dialect.api.word();
        let speeches = FormSpeech::ALL.into_iter().filter(|speech| write(form, *speech).is_some());
        let speeches: Vec<&str> = speeches.map(FormSpeech::word).collect();
        match speeches.len() {
            0 => None,
            all if all == FormSpeech::ALL.len() => Some(word.to_owned()),
            _ => Some(format!("{word} ({})", speeches.join(", "))),
        }
    };
    DIALECTS.into_iter().filter_map(of).collect::<Vec<_>>().join(", ")
}

fn field(name: &'static str, json: impl Into<String>) -> Option<FormField> {
    Some(FormField { name, is_within: false, json: json.into() })
}

fn within(name: &'static str, json: impl Into<String>) -> Option<FormField> {
    Some(FormField { name, is_within: true, json: json.into() })
}

/// A text as JSON.
fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

fn choices(form: &Form) -> String {
    let all: Vec<String> = form.choices().map(quoted).collect();
    format!("[{}]", all.join(","))
}

/// A choice as an expression, for servers that have no word for it.
fn choice_as_regex(form: &Form) -> String {
    let escaped = |choice: &str| {
        let mut out = String::new();
        for letter in choice.chars() {
            if letter.is_ascii_punctuation() {
                out.push('\\');
            }
            out.push(letter);
        }
        out
    };
    format!("({})", form.choices().map(escaped).collect::<Vec<_>>().join("|"))
}

/// A choice as a grammar of llama.cpp.
fn choice_as_grammar(form: &Form) -> String {
    format!("root ::= {}", form.choices().map(quoted).collect::<Vec<_>>().join(" | "))
}

/// The contents of `response_format` for a schema, and of the Responses' `format` without its type.
fn named_schema(form: &Form) -> String {
    format!("\"name\":{},\"schema\":{},\"strict\":true", quoted(&form.name), form.text.trim())
}

fn schema(form: &Form) -> &str {
    if form.kind == FormKind::JsonObject { ANY_OBJECT } else { form.text.trim() }
}

/// The kinds that OpenAI's API leaves out, in the words of the servers that speak it.
fn beside_json(form: &Form, speech: FormSpeech) -> Option<FormField> {
    use FormKind::{Choice, Grammar, Regex};
    use FormSpeech::{LlamaCpp, Sglang, Vllm, VllmGuided};
    match (speech, form.kind) {
        (Vllm, Regex) => vllm("regex", &quoted(&form.text)),
        (Vllm, Choice) => vllm("choice", &choices(form)),
        (Vllm, Grammar) => vllm("grammar", &quoted(&form.text)),
        (VllmGuided, Regex) => field("guided_regex", quoted(&form.text)),
        (VllmGuided, Choice) => field("guided_choice", choices(form)),
        (VllmGuided, Grammar) => field("guided_grammar", quoted(&form.text)),
        (Sglang, Regex) => field("regex", quoted(&form.text)),
        (Sglang, Choice) => field("regex", quoted(&choice_as_regex(form))),
        (Sglang, Grammar) => field("ebnf", quoted(&form.text)),
        (LlamaCpp, Choice) => field("grammar", quoted(&choice_as_grammar(form))),
        (LlamaCpp, Grammar) => field("grammar", quoted(&form.text)),
        _ => None,
    }
}

fn vllm(name: &str, json: &str) -> Option<FormField> {
    field("structured_outputs", format!("{{{}:{json}}}", quoted(name)))
}

/// OpenAI's chat.
pub(super) fn chat(form: &Form, speech: FormSpeech) -> Option<FormField> {
    match form.kind {
        FormKind::JsonObject => field("response_format", r#"{"type":"json_object"}"#),
        FormKind::Json | FormKind::JsonUnique => field(
            "response_format",
            format!("{{\"type\":\"json_schema\",\"json_schema\":{{{}}}}}", named_schema(form)),
        ),
        _ => beside_json(form, speech),
    }
}

/// OpenAI's completions, which has no word for forms itself.
pub(super) fn completions(form: &Form, speech: FormSpeech) -> Option<FormField> {
    use FormKind::{Json, JsonObject, JsonUnique};
    match (speech, form.kind) {
        (FormSpeech::Vllm, JsonObject) => vllm("json_object", "true"),
        (FormSpeech::Vllm, Json | JsonUnique) => vllm("json", schema(form)),
        (FormSpeech::VllmGuided, JsonObject | Json | JsonUnique) => {
            field("guided_json", schema(form))
        }
        (FormSpeech::Sglang, JsonObject | Json | JsonUnique) => {
            field("json_schema", quoted(schema(form)))
        }
        (FormSpeech::LlamaCpp, JsonObject | Json | JsonUnique) => {
            field("json_schema", schema(form))
        }
        _ => beside_json(form, speech),
    }
}

/// OpenAI's Responses; vLLM takes its own words there too.
pub(super) fn responses(form: &Form, speech: FormSpeech) -> Option<FormField> {
    match form.kind {
        FormKind::JsonObject => field("text", r#"{"format":{"type":"json_object"}}"#),
        FormKind::Json | FormKind::JsonUnique => field(
            "text",
            format!("{{\"format\":{{\"type\":\"json_schema\",{}}}}}", named_schema(form)),
        ),
        _ if speech == FormSpeech::Vllm => beside_json(form, speech),
        _ => None,
    }
}

/// Anthropic's Messages: schemas alone.
pub(super) fn messages(form: &Form, _: FormSpeech) -> Option<FormField> {
    match form.kind {
        FormKind::Json | FormKind::JsonUnique => field(
            "output_config",
            format!("{{\"format\":{{\"type\":\"json_schema\",\"schema\":{}}}}}", schema(form)),
        ),
        _ => None,
    }
}

/// SGLang's own: a schema is a text there.
pub(super) fn sglang(form: &Form, _: FormSpeech) -> Option<FormField> {
    match form.kind {
        FormKind::JsonObject | FormKind::Json | FormKind::JsonUnique => {
            within("json_schema", quoted(schema(form)))
        }
        FormKind::Regex => within("regex", quoted(&form.text)),
        FormKind::Choice => within("regex", quoted(&choice_as_regex(form))),
        FormKind::Grammar => within("ebnf", quoted(&form.text)),
    }
}

/// TGI's own.
pub(super) fn tgi(form: &Form, _: FormSpeech) -> Option<FormField> {
    let (kind, value) = match form.kind {
        FormKind::JsonObject | FormKind::Json | FormKind::JsonUnique => {
            ("json", schema(form).to_owned())
        }
        FormKind::Regex => ("regex", quoted(&form.text)),
        FormKind::Choice => ("regex", quoted(&choice_as_regex(form))),
        FormKind::Grammar => return None,
    };
    within("grammar", format!("{{\"type\":\"{kind}\",\"value\":{value}}}"))
}

/// Ollama's chat and its completions.
pub(super) fn ollama(form: &Form, _: FormSpeech) -> Option<FormField> {
    match form.kind {
        FormKind::JsonObject => field("format", "\"json\""),
        FormKind::Json | FormKind::JsonUnique => field("format", schema(form)),
        _ => None,
    }
}

/// llama.cpp's own.
pub(super) fn llama_cpp(form: &Form, _: FormSpeech) -> Option<FormField> {
    match form.kind {
        FormKind::JsonObject | FormKind::Json | FormKind::JsonUnique => {
            field("json_schema", schema(form))
        }
        FormKind::Choice => field("grammar", quoted(&choice_as_grammar(form))),
        FormKind::Grammar => field("grammar", quoted(&form.text)),
        FormKind::Regex => None,
    }
}
