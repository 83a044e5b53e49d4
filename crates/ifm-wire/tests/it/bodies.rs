//! What requests of every API say, to the byte where that matters and as JSON otherwise.

use crate::multipart::{as_object, recording};
use ifm_core::spec::Api;
use ifm_core::{Carried, ImageDetail, Medium, MediumKind, Message, Placed, Prompt, Role, ToolCall};
use ifm_wire::dialect;
use ifm_wire::request::{Ask, RequestError, TemplateSpec};
use ifm_wire::{RequestBytes, RequestTemplate};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// What is asked.
#[derive(Clone)]
pub(crate) struct Asked {
    pub(crate) api: Api,
    pub(crate) prompt: Prompt,
    pub(crate) stream: bool,
    pub(crate) output_tokens: Option<u32>,
    /// The user's fields for all requests, and the fields of this one.
    pub(crate) extra: Value,
    pub(crate) fields: Value,
}

impl Asked {
    /// Whether the prompt carries media.
    pub(crate) fn has_media(&self) -> bool {
        self.prompt.media().next().is_some()
    }

    pub(crate) fn of(api: Api, prompt: Prompt) -> Asked {
        let output_tokens = Some(16);
        Asked { api, prompt, stream: true, output_tokens, extra: json!({}), fields: json!({}) }
    }

    /// The request, and how many results it asks for.
    pub(crate) fn write(&self) -> Result<(String, Option<u32>), RequestError> {
        self.write_of("a/m")
    }

    /// The same for a model.
    fn write_of(&self, model: &str) -> Result<(String, Option<u32>), RequestError> {
        let extra = self.extra.as_object().expect("an object");
        let path = dialect::path(self.api, "/v1", model, self.stream);
        let spec = TemplateSpec {
            api: self.api,
            host: "h:1",
            path: &path,
            model,
            authorization: Some("Bearer sk-1"),
            headers: &[],
            stream: self.stream,
            ignore_eos: true,
            temperature: Some(0.5),
            extra_body: extra,
        };
        let mut out = RequestBytes::default();
        let ask = Ask {
            prompt: &self.prompt,
            said: &[],
            said_media: &[],
            output_tokens: self.output_tokens,
            fields: self.fields.as_object(),
            number: None,
            session: None,
        };
        let results = RequestTemplate::new(&spec)?.write(&ask, &mut out)?;
        Ok((String::from_utf8(out.to_vec()).expect("a text"), results))
    }

    /// The body. Its names are checked to be there once, which `Value` alone would not tell.
    pub(crate) fn body(&self) -> Value {
        self.body_of("a/m")
    }

    /// The body for a model.
    pub(crate) fn body_of(&self, model: &str) -> Value {
        let (request, _) = self.write_of(model).expect("a request");
        let (head, body) = request.split_once("\r\n\r\n").expect("a head");
        let length = head.lines().find_map(|line| line.strip_prefix("Content-Length:"));
        assert_eq!(length.map(|length| length.trim().parse()), Some(Ok(body.len())));
        if is_form(self.api) {
            return as_object(head, body.as_bytes());
        }
        let value: Value = serde_json::from_str(body).expect("right JSON");
        let names = value.as_object().expect("an object").keys();
        for name in names {
            assert_eq!(count_of(body, name), 1, "{name} in {body}");
        }
        value
    }
}

/// Number of occurrences of the name at the top level of an object.
fn count_of(body: &str, name: &str) -> usize {
    struct Names(Vec<String>);
    impl<'de> Deserialize<'de> for Names {
        fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            struct Each;
            impl<'de> serde::de::Visitor<'de> for Each {
                type Value = Names;
                fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                    formatter.write_str("an object")
                }
                fn visit_map<A: serde::de::MapAccess<'de>>(
                    self,
                    mut map: A,
                ) -> Result<Names, A::Error> {
                    let mut names = Vec::new();
                    while let Some((name, _)) = map.next_entry::<String, serde::de::IgnoredAny>()? {
                        names.push(name);
                    }
                    Ok(Names(names))
                }
            }
            deserializer.deserialize_map(Each)
        }
    }
    let names: Names = serde_json::from_str(body).expect("right JSON");
    names.0.iter().filter(|other| *other == name).count()
}

fn is_form(api: Api) -> bool {
    api.takes_recordings()
}

pub(crate) fn text() -> Prompt {
    Prompt::Text("say \"hi\"\n\u{1}é".to_owned())
}

fn ids() -> Prompt {
    Prompt::Tokens(vec![1, 70_000])
}

/// A conversation with everything that one can hold.
pub(crate) fn talk() -> Prompt {
    let call = |id: &str, arguments: &str| ToolCall {
        id: id.to_owned(),
        name: "rain".to_owned(),
        arguments: arguments.to_owned(),
    };
    let result = |id: &str, content: &str| Message {
        tool_call_id: Some(id.to_owned()),
        ..Message::text(Role::Tool, content)
    };
    Prompt::Messages(vec![
        Message::text(Role::System, "be brief"),
        Message::text(Role::User, "rain?"),
        Message {
            tool_calls: vec![call("c1", r#"{"in":"Rome"}"#), call("c2", "{broken")],
            ..Message::text(Role::Assistant, "I look")
        },
        result("c1", "no"),
        result("c2", "yes"),
        Message { tool_calls: vec![call("c3", "{}")], ..Message::text(Role::Assistant, "") },
        result("c3", "maybe"),
    ])
}

/// A user message from a list of parts: texts, and media as `{"kind", "mime", "data"}`, or with
/// only a URL (`url`) or a name (`uuid`) instead of the data.
fn with_media(message: &Map<String, Value>) -> Message {
    let mut said = Message::text(Role::User, "");
    for part in message["parts"].as_array().expect("a list") {
        let Some(part) = part.as_object() else {
            said.content.push_str(part.as_str().expect("a text"));
            continue;
        };
        let field = |name: &str| part.get(name).and_then(Value::as_str).map(str::to_owned);
        let kind = MediumKind::from_word(&field("kind").expect("a kind")).expect("a kind");
        let carried = match (field("data"), field("url")) {
            (Some(data), _) => Carried::Base64(data.into_bytes().into()),
            (_, Some(url)) => Carried::Url(url),
            _ => Carried::Name,
        };
        said.media.push(Placed { at: said.content.len(), medium: medium(kind, carried, part) });
    }
    said
}

fn medium(kind: MediumKind, carried: Carried, part: &Map<String, Value>) -> Arc<Medium> {
    let field = |name: &str| part.get(name).and_then(Value::as_str).map(str::to_owned);
    Arc::new(Medium {
        kind,
        mime: field("mime").unwrap_or_else(|| "image/jpeg".to_owned()),
        sha256: [0; 32],
        size: None,
        frames: None,
        duration_ns: None,
        file_bytes: None,
        uuid: field("uuid"),
        detail: field("detail").map(|word| ImageDetail::from_word(&word).expect("a word")),
        carried,
    })
}

/// A message that holds a medium of each kind, each with bytes of its own.
fn all_kinds() -> Prompt {
    let parts = json!({"parts": [
        "a", {"kind": "audio", "mime": "audio/wav", "data": "QTE="},
        "b", {"kind": "image", "data": "STE="},
        {"kind": "video", "data": "VjE="}, "c",
        {"kind": "audio", "mime": "audio/mpeg", "data": "QTI="},
        {"kind": "image", "mime": "image/png", "data": "STI="},
    ]});
    Prompt::Messages(vec![with_media(parts.as_object().expect("an object"))])
}

#[test]
fn media_are_filled_in_where_their_own_fields_stand() {
    let body = Asked::of(Api::Sglang, all_kinds()).body();
    assert_eq!(body["text"], "a<audio>b<image><video>c<audio><image>");
    let url = |mime: &str, data: &str| json!(format!("data:{mime};base64,{data}"));
    let images = [url("image/jpeg", "STE="), url("image/png", "STI=")];
    assert_eq!(body["image_data"], json!(images));
    assert_eq!(body["audio_data"], json!([url("audio/wav", "QTE="), url("audio/mpeg", "QTI=")]));
    assert_eq!(body["video_data"], json!([url("video/jpeg", "VjE=")]));
    for (model, text) in [
        ("Qwen/Qwen2.5-VL-7B", "<|vision_start|><|image_pad|><|vision_end|>"),
        ("google/gemma-3-4b-it", "<start_of_image>"),
        ("llava-1.6", "<image>"),
    ] {
        let words = dialect::of_model(Api::Sglang, model);
        let mut body = b"{".to_vec();
        let part = json!({"parts": [{"kind": "image", "data": "STE="}]});
        let prompt = Prompt::Messages(vec![with_media(part.as_object().expect("an object"))]);
        let ask = Ask {
            prompt: &prompt,
            said: &[],
            said_media: &[],
            output_tokens: None,
            fields: None,
            number: None,
            session: None,
        };
        words.write_prompt(&ask, &mut body).expect("a prompt");
        let body = String::from_utf8_lossy(&body).into_owned();
        assert!(body.starts_with(&format!("{{\"text\":\"{text}\"")), "{body}");
    }
    let body = Asked::of(Api::Chat, all_kinds()).body();
    let content = body["messages"][0]["content"].as_array().expect("a list");
    let kinds: Vec<&str> = content.iter().filter_map(|part| part["type"].as_str()).collect();
    let video = ["input_audio", "text", "image_url", "video_url", "text"];
    assert_eq!(kinds[1..6], video);
    assert_eq!(body["messages"][0]["content"][6]["input_audio"]["format"], "mp3");
}

#[test]
fn media_that_an_api_does_not_take_are_refused_with_what_to_do() {
    for api in Api::ALL {
        let refused = Asked::of(api, all_kinds()).write().map(|_| ());
        match api {
            Api::Chat | Api::Sglang => assert!(refused.is_ok(), "{api:?} {refused:?}"),
            _ => {
                let sentence = refused.unwrap_err().to_string();
                let way = if is_form(api) { "a workload of recordings" } else { "use --api chat" };
                assert!(sentence.contains(way), "{sentence}");
                assert!(sentence.contains(api.word()), "{sentence}");
            }
        }
    }
    for (api, part, says) in [
        (Api::OllamaChat, json!({"kind": "image", "url": "http://h/a"}), "send the file itself"),
        (Api::LlamaCpp, json!({"kind": "audio", "url": "http://h/a"}), "fetches no audio"),
        (Api::Messages, json!({"kind": "image", "uuid": "u"}), "no image by its name"),
        (
            Api::Messages,
            json!({"kind": "image", "data": "SU1H", "detail": "low"}),
            "cannot be told the detail",
        ),
        (Api::Completions, json!({"kind": "image", "data": "AA=="}), "completions"),
    ] {
        let message = json!({"parts": ["a", part]});
        let prompt = Prompt::Messages(vec![with_media(message.as_object().expect("an object"))]);
        let sentence = Asked::of(api, prompt).write().unwrap_err().to_string();
        assert!(sentence.contains(says), "{sentence}");
    }
}

/// A request and its body, or parts of it: a line of `tests/bodies.jsonl`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    api: Api,
    /// A text, token ids, `talk`, `recording`, or the parts of a message; without it the text of [`text`].
    prompt: Option<Value>,
    /// Whether the length of the answer is left open.
    #[serde(default)]
    open: bool,
    #[serde(default)]
    fields: Map<String, Value>,
    #[serde(default)]
    extra: Map<String, Value>,
    body: Option<Value>,
    #[serde(default)]
    at: Map<String, Value>,
    results: Option<u32>,
    /// For who reads the line.
    #[serde(default, rename = "why")]
    _why: String,
}

impl Row {
    fn asked(&self) -> Asked {
        let prompt = match &self.prompt {
            None => text(),
            Some(Value::String(word)) if word == "talk" => talk(),
            Some(Value::String(word)) if word == "recording" => recording(b"fLaC"),
            Some(Value::String(text)) => Prompt::Text(text.clone()),
            Some(Value::Object(message)) => Prompt::Messages(vec![with_media(message)]),
            Some(_) => ids(),
        };
        Asked {
            output_tokens: (!self.open).then_some(16),
            fields: self.fields.clone().into(),
            extra: self.extra.clone().into(),
            ..Asked::of(self.api, prompt)
        }
    }
}

/// What is asked of one API, with the line that says so.
pub(crate) fn asked_of(api: Api) -> Vec<(&'static str, Asked)> {
    let lines = include_str!("../bodies.jsonl").lines();
    let rows = lines.map(|line| (line, serde_json::from_str::<Row>(line).expect(line)));
    rows.filter(|(_, row)| row.api == api).map(|(line, row)| (line, row.asked())).collect()
}

#[test]
fn requests_are_written_as_each_api_wants_them() {
    let lines = include_str!("../bodies.jsonl").lines();
    let rows = lines.map(|line| (line, serde_json::from_str::<Row>(line).expect(line)));
    let mut texts = 0;
    for (line, row) in rows {
        let asked = row.asked();
        let body = asked.body();
        assert!(row.body.is_some() || !row.at.is_empty(), "{line}: nothing is expected");
        if let Some(expect) = &row.body {
            assert_eq!(body, *expect, "{line}");
        }
        for (place, expect) in &row.at {
            assert_eq!(body.pointer(place), Some(expect), "{line}");
        }
        let is_list = matches!(row.api, Api::Embeddings | Api::Rerank | Api::OllamaEmbed);
        let results = asked.write().expect("a request").1;
        assert_eq!(results.is_some(), is_list, "{line}");
        assert!(row.results.is_none() || row.results == results, "{line}: {results:?}");
        if row.prompt.is_none() {
            let ignores = body.to_string().contains("\"ignore_eos\":true");
            assert_eq!(dialect::of(row.api).can_ignore_eos, ignores, "{line}");
            texts += 1;
        }
    }
    let of_texts = Api::ALL.iter().filter(|api| !is_form(**api)).count();
    assert!(texts >= of_texts, "the text is asked of every API that takes texts");
}

#[test]
fn what_an_api_does_not_take_is_refused_in_words() {
    for api in Api::ALL.into_iter().filter(|api| !is_form(*api)) {
        if !matches!(api, Api::Completions | Api::LlamaCpp | Api::Sglang | Api::Embeddings) {
            let error = Asked::of(api, ids()).write().unwrap_err().to_string();
            assert!(error.contains("takes no token ids") && error.contains("it takes texts"));
            assert!(error.contains(api.word()), "{error}");
        }
        if !matches!(api, Api::Chat | Api::OllamaChat | Api::Responses | Api::Messages) {
            let error = Asked::of(api, talk()).write();
            assert!(matches!(error, Err(RequestError::Prompt { .. })), "{api:?}");
        }
    }
}

#[test]
fn a_length_that_is_left_open_is_not_sent_unless_the_api_insists() {
    for api in Api::ALL {
        let prompt = if is_form(api) { recording(b"fLaC") } else { text() };
        let open = Asked { output_tokens: None, ..Asked::of(api, prompt) }.body();
        let Some(length) = dialect::of(api).length else { continue };
        let holder = length.within.map_or(&open, |name| &open[name]);
        let sent = holder.get(length.names[0]).cloned();
        assert_eq!(sent, (api == Api::Messages).then(|| json!(4096)), "{api:?}");
    }
}

#[test]
fn heads_say_where_and_what_is_taken() {
    for (api, stream, line) in [
        (Api::Chat, true, "POST /v1/chat/completions HTTP/1.1"),
        (Api::Completions, false, "POST /v1/completions HTTP/1.1"),
        (Api::Responses, true, "POST /v1/responses HTTP/1.1"),
        (Api::Messages, true, "POST /v1/messages HTTP/1.1"),
        (Api::Sglang, true, "POST /generate HTTP/1.1"),
        (Api::Tgi, true, "POST /generate_stream HTTP/1.1"),
        (Api::Tgi, false, "POST /generate HTTP/1.1"),
        (Api::OllamaChat, true, "POST /api/chat HTTP/1.1"),
        (Api::OllamaGenerate, false, "POST /api/generate HTTP/1.1"),
        (Api::LlamaCpp, true, "POST /completion HTTP/1.1"),
        (Api::Triton, true, "POST /v2/models/a%2Fm/generate_stream HTTP/1.1"),
        (Api::Triton, false, "POST /v2/models/a%2Fm/generate HTTP/1.1"),
        (Api::Embeddings, false, "POST /v1/embeddings HTTP/1.1"),
        (Api::Rerank, true, "POST /v1/rerank HTTP/1.1"),
        (Api::OllamaEmbed, true, "POST /api/embed HTTP/1.1"),
        (Api::Transcriptions, true, "POST /v1/audio/transcriptions HTTP/1.1"),
        (Api::Translations, false, "POST /v1/audio/translations HTTP/1.1"),
        (Api::Speech, true, "POST /v1/audio/speech HTTP/1.1"),
    ] {
        let prompt = if is_form(api) { recording(b"fLaC") } else { text() };
        let asked = Asked { stream, ..Asked::of(api, prompt) };
        let (request, _) = asked.write().expect("a request");
        let lines: Vec<&str> = request.lines().collect();
        assert_eq!(lines[0], line);
        let taken = match api {
            Api::OllamaChat | Api::OllamaGenerate => {
                "Accept: application/x-ndjson, application/json"
            }
            Api::Speech => "Accept: audio/*, text/event-stream, application/json",
            _ => "Accept: text/event-stream, application/json",
        };
        assert!(lines.contains(&taken), "{api:?}");
        assert!(lines.contains(&"Authorization: Bearer sk-1"), "{api:?}");
        let is_anthropic = api == Api::Messages;
        assert_eq!(lines.contains(&"x-api-key: sk-1"), is_anthropic);
        assert_eq!(lines.contains(&"anthropic-version: 2023-06-01"), is_anthropic);
    }
}

#[test]
fn a_key_of_anthropic_goes_where_it_belongs_and_headers_of_the_user_win() {
    let headers = [("Anthropic-Version".to_owned(), "2024-01-01".to_owned())];
    let extra = Map::new();
    let spec = TemplateSpec {
        api: Api::Messages,
        host: "h",
        path: "/v1/messages",
        model: "m",
        authorization: Some("Bearer sk-ant-1"),
        headers: &headers,
        stream: true,
        ignore_eos: false,
        temperature: None,
        extra_body: &extra,
    };
    let mut out = RequestBytes::default();
    let prompt = text();
    let ask = Ask {
        prompt: &prompt,
        said: &[],
        said_media: &[],
        output_tokens: None,
        fields: None,
        number: None,
        session: None,
    };
    RequestTemplate::new(&spec).expect("a template").write(&ask, &mut out).expect("a request");
    let request = String::from_utf8(out.to_vec()).expect("a text");
    assert!(request.contains("x-api-key: sk-ant-1\r\n") && !request.contains("Authorization"));
    assert!(request.contains("Anthropic-Version: 2024-01-01\r\n"));
    assert!(!request.contains("2023-06-01"));
}

#[test]
fn a_temperature_of_zero_is_no_sampling_where_the_api_refuses_it() {
    let extra = Map::new();
    let spec = TemplateSpec {
        api: Api::Tgi,
        host: "h",
        path: "/generate",
        model: "m",
        authorization: None,
        headers: &[],
        stream: false,
        ignore_eos: false,
        temperature: Some(0.0),
        extra_body: &extra,
    };
    let fixed = dialect::of(Api::Tgi).fixed_fields(&spec);
    assert_eq!(Value::Object(fixed), json!({"parameters": {"details": true, "do_sample": false}}));
}

#[test]
fn the_page_of_the_apis_tells_of_each() {
    let page = include_str!("../../../../docs/reference/apis.md");
    for dialect in dialect::DIALECTS {
        let word = dialect.api.word().replace('_', "-");
        let row = page.lines().find(|line| line.starts_with(&format!("| `{word}` | `/")));
        let row = row.unwrap_or_else(|| panic!("no row for {word}"));
        let endpoint = dialect.endpoint;
        let path = endpoint.stream.unwrap_or(endpoint.whole).replace("{model}", "MODEL");
        assert!(row.contains(&format!("{path}`")), "{row}");
        let length = dialect.length.map_or("none", |length| length.names[0]);
        assert!(row.contains(length), "{row}");
        let ignores = dialect.can_ignore_eos;
        assert_eq!(row.contains("ignore_eos"), ignores, "{row}");
    }
}

#[test]
fn messages_that_were_written_before_stand_before_the_new_ones() {
    let said = |role, text: &str| Message::text(role, text);
    let call = ToolCall { id: "c1".into(), name: "ls".into(), arguments: "{}".into() };
    let list = vec![
        said(Role::User, "a \"b\""),
        Message { tool_calls: vec![call], ..said(Role::Assistant, "") },
        Message { tool_call_id: Some("c1".into()), ..said(Role::Tool, "etc") },
    ];
    for api in [Api::Chat, Api::OllamaChat, Api::Messages, Api::Responses] {
        let extra = Map::new();
        let path = dialect::path(api, "/v1", "m", true);
        let spec = TemplateSpec {
            api,
            host: "h",
            path: &path,
            model: "m",
            authorization: None,
            headers: &[],
            stream: true,
            ignore_eos: false,
            temperature: None,
            extra_body: &extra,
        };
        let template = RequestTemplate::new(&spec).expect("a template");
        let write = |prompt: &Prompt, said: &[u8]| {
            let mut out = RequestBytes::default();
            let ask = Ask {
                prompt,
                said,
                said_media: &[],
                output_tokens: None,
                fields: None,
                number: None,
                session: None,
            };
            template.write(&ask, &mut out).expect("a request");
            String::from_utf8(out.to_vec()).expect("a text")
        };
        let whole = write(&Prompt::Messages(list.clone()), &[]);
        for written in 0..=list.len() {
            let mut before = Vec::new();
            let mut can = true;
            for message in &list[..written] {
                if !before.is_empty() {
                    before.push(b',');
                }
                can &= template.put_message(message, &mut before);
            }
            if can {
                let rest = Prompt::Messages(list[written..].to_vec());
                assert_eq!(write(&rest, &before), whole, "{api:?} {written}");
            } else {
                assert!(matches!(api, Api::Messages | Api::Responses));
            }
        }
    }
}
