//! Requests of other APIs as those of OpenAI's chat and completions.
//!
//! Calls of tools and what they brought are read as text: there are no tools here.

use serde_json::{Map, Value, json};

use crate::{error::ApiError, fields::Fields};

/// What all of them call alike.
const COMMON: [&str; 9] = [
    "model",
    "stream",
    "temperature",
    "top_p",
    "seed",
    "stop",
    "min_tokens",
    "ignore_eos",
    "structured_outputs",
];

/// A request that is put together.
struct Asked {
    theirs: Map<String, Value>,
    ours: Map<String, Value>,
    messages: Vec<Value>,
}

impl Asked {
    fn of(fields: Fields) -> Self {
        let (theirs, ours) = (fields.into_map(), Map::new());
        let mut asked = Self { theirs, ours, messages: Vec::new() };
        COMMON.into_iter().for_each(|name| asked.keep(name, name));
        asked
    }

    /// Takes a field as it is.
    fn keep(&mut self, theirs: &str, ours: &str) {
        if let Some(value) = self.theirs.remove(theirs) {
            self.ours.insert(ours.to_owned(), value);
        }
    }

    /// Takes fields that stand in an object.
    fn keep_within(&mut self, object: &str, names: &[(&str, &str)]) {
        if let Some(Value::Object(mut within)) = self.theirs.remove(object) {
            for (theirs, ours) in names {
                if let Some(value) = within.remove(*theirs) {
                    self.ours.insert((*ours).to_owned(), value);
                }
            }
        }
    }

    fn say(&mut self, role: &str, content: Value) {
        self.messages.push(json!({"role": role, "content": content}));
    }

    /// Asks for answers by a schema.
    fn schema(&mut self, schema: Value) {
        let format = json!({"type": "json_schema", "json_schema": {"schema": schema}});
        self.ours.insert("response_format".to_owned(), format);
    }

    /// A chat, whether anything was said or not.
    fn chat(mut self) -> Fields {
        self.ours.insert("messages".to_owned(), Value::Array(self.messages));
        Fields::of(self.ours)
    }

    /// A completion of a prompt with media before it.
    fn completion(mut self, prompt: Value, media: Vec<Value>) -> Fields {
        self.ours.insert("prompt".to_owned(), prompt);
        self.ours.insert("media".to_owned(), media.into());
        Fields::of(self.ours)
    }
}

/// OpenAI's Responses.
pub(super) fn responses(fields: Fields) -> Result<Fields, ApiError> {
    let mut asked = Asked::of(fields);
    asked.keep("max_output_tokens", "max_tokens");
    match asked.theirs.remove("text").map(|mut text| text["format"].take()) {
        Some(mut format) if format["type"] == "json_schema" => {
            asked.schema(format["schema"].take())
        }
        Some(format @ Value::Object(_)) => {
            asked.ours.insert("response_format".to_owned(), format);
        }
        _ => {}
    }
    if let Some(text @ Value::String(_)) = asked.theirs.remove("instructions") {
        asked.say("system", text);
    }
    match asked.theirs.remove("input") {
        Some(text @ Value::String(_)) => asked.say("user", text),
        Some(Value::Array(items)) => {
            for mut item in items {
                match item["type"].as_str() {
                    None | Some("message") => {
                        let content = content_of(item["content"].take(), of_input);
                        let role = item["role"].as_str().unwrap_or_default().to_owned();
                        asked.say(&role, content);
                    }
                    Some("function_call") => {
                        let call = called(&item["name"], &item["arguments"]);
                        asked.say("assistant", call);
                    }
                    Some("function_call_output") => {
                        asked.say("tool", content_of(item["output"].take(), of_input));
                    }
                    Some("reasoning") => {}
                    Some(kind) => {
                        let message = format!(
                            "`input` has an item of the type {kind}, which is not supported here."
                        );
                        return Err(ApiError::field("input", message));
                    }
                }
            }
        }
        _ => return Err(ApiError::field("input", "`input` must be a string or a list.")),
    }
    Ok(asked.chat())
}

/// Anthropic's Messages.
pub(super) fn messages(fields: Fields) -> Result<Fields, ApiError> {
    let mut asked = Asked::of(fields);
    if !asked.theirs.contains_key("max_tokens") {
        return Err(ApiError::field("max_tokens", "`max_tokens` is missing."));
    }
    asked.keep("max_tokens", "max_tokens");
    asked.keep("stop_sequences", "stop");
    if let Some(mut config) = asked.theirs.remove("output_config")
        && config["format"]["type"] == "json_schema"
    {
        asked.schema(config["format"]["schema"].take());
    }
    if let Some(system) = asked.theirs.remove("system") {
        asked.say("system", content_of(system, of_block));
    }
    let Some(Value::Array(list)) = asked.theirs.remove("messages") else {
        return Err(ApiError::field("messages", "`messages` must be a list."));
    };
    for mut message in list {
        let role = message["role"].as_str().unwrap_or_default().to_owned();
        asked.say(&role, content_of(message["content"].take(), of_block));
    }
    Ok(asked.chat())
}

/// What Ollama's two paths call alike.
fn ollama(fields: Fields) -> Asked {
    let mut asked = Asked::of(fields);
    // A stream, unless the request says otherwise.
    asked.ours.entry("stream").or_insert(true.into());
    let names = [("num_predict", "max_tokens"), ("temperature", "temperature"), ("top_p", "top_p")];
    asked.keep_within("options", &[&names[..], &[("seed", "seed"), ("stop", "stop")]].concat());
    // Below zero means no limit.
    if asked.ours.get("max_tokens").is_some_and(|tokens| tokens.as_i64().is_some_and(|n| n < 0)) {
        asked.ours.remove("max_tokens");
    }
    match asked.theirs.remove("format") {
        Some(schema @ Value::Object(_)) => asked.schema(schema),
        Some(Value::String(word)) if word == "json" => {
            asked.ours.insert("response_format".to_owned(), json!({"type": "json_object"}));
        }
        _ => {}
    }
    asked
}

/// Ollama's chat.
pub(super) fn ollama_chat(fields: Fields) -> Result<Fields, ApiError> {
    let mut asked = ollama(fields);
    let Some(Value::Array(list)) = asked.theirs.remove("messages") else {
        return Err(ApiError::field("messages", "`messages` must be a list."));
    };
    for mut message in list {
        let role = message["role"].as_str().unwrap_or_default().to_owned();
        let content = with_images(message["images"].take(), message["content"].take());
        asked.say(&role, content);
    }
    Ok(asked.chat())
}

/// Ollama's texts, which it puts into the model's template.
pub(super) fn ollama_generate(fields: Fields) -> Result<Fields, ApiError> {
    let mut asked = ollama(fields);
    if let Some(system @ Value::String(_)) = asked.theirs.remove("system") {
        asked.say("system", system);
    }
    let images = asked.theirs.remove("images").unwrap_or_default();
    let prompt = asked.theirs.remove("prompt").unwrap_or_default();
    asked.say("user", with_images(images, prompt));
    Ok(asked.chat())
}

/// What stands in texts of SGLang for media: the words of Qwen's models, of Gemma, and of others.
const PLACES: [&str; 9] = [
    "<|vision_start|><|image_pad|><|vision_end|>",
    "<|audio_start|><|audio_pad|><|audio_end|>",
    "<|vision_start|><|video_pad|><|vision_end|>",
    "<start_of_image>",
    "<start_of_audio>",
    "<start_of_video>",
    "<image>",
    "<audio>",
    "<video>",
];

/// SGLang's own. Media stand before the text here, and not in their places.
pub(super) fn sglang(fields: Fields) -> Result<Fields, ApiError> {
    let mut asked = Asked::of(fields);
    let sampling = asked.theirs.get_mut("sampling_params");
    let schema = sampling.map(|sampling| sampling["json_schema"].take());
    let schema = schema.and_then(|text| serde_json::from_str(text.as_str()?).ok());
    let names = [
        ("max_new_tokens", "max_tokens"),
        ("min_new_tokens", "min_tokens"),
        ("temperature", "temperature"),
        ("top_p", "top_p"),
        ("stop", "stop"),
        ("ignore_eos", "ignore_eos"),
    ];
    let regex = asked.theirs.get("sampling_params").map(|sampling| sampling["regex"].clone());
    asked.keep_within("sampling_params", &names);
    match (schema, regex) {
        (Some(schema), _) => asked.schema(schema),
        (None, Some(regex @ Value::String(_))) => {
            asked.ours.insert("structured_outputs".to_owned(), json!({"regex": regex}));
        }
        _ => {}
    }
    let ids = asked.theirs.remove("input_ids");
    let Some(mut prompt) = asked.theirs.remove("text").or(ids) else {
        return Err(ApiError::field("text", "`text` or `input_ids` is missing."));
    };
    let mut media = Vec::new();
    for (name, part) in [("image_data", "image_url"), ("video_data", "video_url")] {
        for url in list_of(asked.theirs.remove(name)) {
            media.push(json!({"type": part, part: {"url": url}}));
        }
    }
    for data in list_of(asked.theirs.remove("audio_data")) {
        media.push(sound(data));
    }
    if let Value::String(text) = &mut prompt
        && !media.is_empty()
    {
        for place in PLACES {
            *text = text.replace(place, "");
        }
    }
    Ok(asked.completion(prompt, media))
}

/// llama.cpp's own. A file is a recording where it begins as one.
pub(super) fn llama_cpp(fields: Fields) -> Result<Fields, ApiError> {
    let mut asked = Asked::of(fields);
    asked.keep("max_tokens", "max_tokens");
    if asked.theirs.get("n_predict").is_some_and(|tokens| tokens.as_i64().unwrap_or(0) >= 0) {
        asked.keep("n_predict", "max_tokens");
    }
    if let Some(schema @ Value::Object(_)) = asked.theirs.remove("json_schema") {
        asked.schema(schema);
    }
    if asked.theirs.contains_key("grammar") {
        return Err(ApiError::field("grammar", "Grammars are not read here."));
    }
    let mut prompt = asked.theirs.remove("prompt").unwrap_or_default();
    let mut media = Vec::new();
    if prompt.is_object() {
        for data in list_of(Some(prompt["multimodal_data"].take())) {
            let is_sound = data.as_str().is_some_and(|data| {
                // "RIFF" and "AVE" in base64.
                data.starts_with("UklGR") && data.get(12..16) == Some("QVZF")
            });
            media.push(if is_sound { sound(data) } else { image(data) });
        }
        let text = prompt["prompt_string"].as_str().unwrap_or_default();
        prompt = text.replace("<__media__>", "").into();
    }
    Ok(asked.completion(prompt, media))
}

fn image(url: Value) -> Value {
    json!({"type": "image_url", "image_url": {"url": url}})
}

fn sound(data: Value) -> Value {
    json!({"type": "input_audio", "input_audio": {"data": data}})
}

/// A list, or the one thing that stands in its place.
fn list_of(value: Option<Value>) -> Vec<Value> {
    match value {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(list)) => list,
        Some(one) => vec![one],
    }
}

/// A text with images before it.
fn with_images(images: Value, text: Value) -> Value {
    let mut parts: Vec<Value> = list_of(Some(images)).into_iter().map(image).collect();
    if parts.is_empty() {
        return text;
    }
    parts.push(json!({"type": "text", "text": text}));
    Value::Array(parts)
}

fn text_part(text: Value) -> Value {
    json!({"type": "text", "text": text})
}

/// A call of a tool as text.
fn called(name: &Value, arguments: &Value) -> Value {
    let arguments = arguments.as_str().map_or_else(|| arguments.to_string(), str::to_owned);
    format!("{}({arguments})", name.as_str().unwrap_or_default()).into()
}

/// A content: a text stays one, and parts become OpenAI's.
fn content_of(content: Value, part: fn(Value) -> Vec<Value>) -> Value {
    match content {
        Value::Array(parts) => parts.into_iter().flat_map(part).collect(),
        text => text,
    }
}

/// A part of the Responses.
fn of_input(mut part: Value) -> Vec<Value> {
    vec![match part["type"].as_str() {
        Some("input_text" | "output_text" | "text") => text_part(part["text"].take()),
        Some("input_image") => image(part["image_url"].take()),
        _ => part,
    }]
}

/// A block of the Messages.
fn of_block(mut block: Value) -> Vec<Value> {
    match block["type"].as_str() {
        Some("image") => {
            let source = &mut block["source"];
            let key = if source["type"] == "url" { "url" } else { "data" };
            vec![image(source[key].take())]
        }
        Some("tool_use") => vec![text_part(called(&block["name"], &block["input"]))],
        Some("tool_result") => match content_of(block["content"].take(), of_block) {
            Value::Array(parts) => parts,
            Value::Null => Vec::new(),
            text => vec![text_part(text)],
        },
        Some("thinking" | "redacted_thinking") => Vec::new(),
        _ => vec![block],
    }
}
