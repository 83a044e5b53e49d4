//! APIs that a file describes: those that come with the program against what their makers' own clients
//! send and read, and three that the program knows, said once more as files.
//!
//! `tests/custom/README.md` lists the sources of the data.

use crate::bodies::{Asked, text};
use crate::recorded::{bytes_of, counted, decode, until_close};
use ifm_core::outcome::{Outcome, TimeoutKind};
use ifm_core::record::CountSource;
use ifm_core::spec::Api;
use ifm_core::{Carried, Medium, MediumKind, Message, Placed, Prompt, Role, ToolCall};
use ifm_wire::dialect::custom::{self, SHIPPED};
use ifm_wire::{EndCause, dialect};
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;

/// The API of a file that comes with the program.
pub(crate) fn shipped(word: &str) -> Api {
    let file = SHIPPED.iter().find(|file| file.word == word).expect(word);
    custom::read(file.word, file.text).unwrap_or_else(|error| panic!("{word}: {error}"))
}

/// The three APIs that are known, and written as files.
fn twins() -> [(Api, Api); 3] {
    [
        (Api::Chat, "chat", include_str!("../custom/chat.toml")),
        (Api::OllamaChat, "ollama_chat", include_str!("../custom/ollama_chat.toml")),
        (Api::Tgi, "tgi", include_str!("../custom/tgi.toml")),
    ]
    .map(|(api, name, text)| (api, custom::read(name, text).expect(name)))
}

#[test]
fn every_file_that_comes_along_is_an_api_with_a_word_about_it() {
    for file in SHIPPED {
        let api = shipped(file.word);
        let dialect = dialect::of(api);
        let told = dialect.file().expect("a file");
        assert_eq!((dialect.api, told.stored().name.as_str()), (api, file.word));
        assert!(!told.about.is_empty() && told.key_env.is_some(), "{}", file.word);
        assert_eq!(told.stored().text, file.text);
        assert_eq!(
            custom::read("another name", file.text),
            Ok(api),
            "the same text is the same API"
        );
    }
}

/// A question that was put to a maker's client: a line of `tests/custom/bodies.jsonl`.
#[derive(Deserialize)]
struct Sent {
    api: String,
    ask: String,
    stream: bool,
    path: String,
    header: (String, String),
    body: Value,
}

/// The questions of `bodies.jsonl` in our words.
fn asked(word: &str, api: &str) -> Prompt {
    let said = |role, text: &str| Message::text(role, text);
    let pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==";
    Prompt::Messages(match word {
        "text" => return text_of_clients(),
        "talk" => vec![
            said(Role::System, "be brief"),
            said(Role::User, "rain?"),
            said(Role::Assistant, "no"),
            said(Role::User, "why?"),
        ],
        "tools" => {
            let arguments = r#"{"in":"Rome"}"#.to_owned();
            let call = ToolCall { id: "c1".to_owned(), name: "rain".to_owned(), arguments };
            let result = Message { tool_call_id: Some("c1".to_owned()), ..said(Role::Tool, "no") };
            vec![
                said(Role::User, "rain?"),
                Message { tool_calls: vec![call], ..said(Role::Assistant, "I look") },
                result,
            ]
        }
        "image" => {
            let medium = Arc::new(Medium {
                kind: MediumKind::Image,
                mime: "image/png".to_owned(),
                sha256: [0; 32],
                size: None,
                frames: None,
                duration_ns: None,
                file_bytes: None,
                uuid: None,
                detail: None,
                carried: Carried::Base64(pixel.as_bytes().into()),
            });
            let media = vec![Placed { at: 7, medium }];
            vec![Message { media, ..said(Role::User, "what is") }]
        }
        other => panic!("{api}: {other}"),
    })
}

fn text_of_clients() -> Prompt {
    Prompt::Text("say \"hi\"\né".to_owned())
}

#[test]
fn requests_are_those_of_the_makers_own_clients() {
    let mut asked_of = Vec::new();
    for line in include_str!("../custom/bodies.jsonl").lines() {
        let mut sent: Sent = serde_json::from_str(line).expect(line);
        let model = match sent.api.as_str() {
            "azure" => "gpt-4o",
            "cohere" => "command-a-03-2025",
            "bedrock" => "amazon.nova-lite-v1:0",
            _ => "gemini-2.5-flash",
        };
        let api = shipped(&sent.api);
        let base = match sent.api.as_str() {
            "vertex" => "/v1/projects/P/locations/us-central1",
            _ => "/v1",
        };
        assert_eq!(dialect::path(api, base, model, sent.stream), sent.path, "{line}");
        let prompt = asked(&sent.ask, &sent.api);
        let asked = Asked { stream: sent.stream, ..Asked::of(api, prompt) };
        let mut body = asked.body_of(model);
        tidy(&mut sent.body);
        tidy(&mut body);
        assert_eq!(body, sent.body, "{line}");
        let headers = dialect::of(api).headers(Some("Bearer sk-1"));
        let header = headers.iter().find(|(name, _)| name.eq_ignore_ascii_case(&sent.header.0));
        assert_eq!(header.map(|(_, value)| value.as_str()), Some(sent.header.1.as_str()));
        assert!(dialect::of(api).headers(None).is_empty(), "no key, no header of one");
        asked_of.push(sent.api);
    }
    for file in SHIPPED {
        assert!(asked_of.iter().any(|api| api == file.word), "{}", file.word);
    }
}

/// Removes client-specific details: see the README next to the data. The order of names has no
/// meaning.
fn tidy(body: &mut Value) {
    if let Some(system) = body.pointer_mut("/systemInstruction").and_then(Value::as_object_mut) {
        system.remove("role");
    }
    if let Some(data) =
        body.pointer_mut("/contents/0/parts/1/inlineData").and_then(Value::as_object_mut)
        && let Some(mime) = data.remove("mime_type")
    {
        data.insert("mimeType".to_owned(), mime);
    }
}

/// What an answer means: a line of `tests/custom/meanings.jsonl`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    file: String,
    api: String,
    #[serde(default = "ok")]
    outcome: Outcome,
    #[serde(default)]
    events: usize,
    #[serde(default)]
    tokens: Vec<u32>,
    prompt: Option<(u32, CountSource)>,
    output: Option<(u32, CountSource)>,
    finish_reason: Option<String>,
    #[serde(default)]
    text: String,
    /// Ids, names and arguments of calls.
    #[serde(default)]
    calls: Vec<(String, String, String)>,
    #[serde(default)]
    mark: String,
    #[serde(default, rename = "why")]
    _why: String,
}

fn ok() -> Outcome {
    Outcome::Ok
}

fn cases() -> Vec<Case> {
    let lines = include_str!("../custom/meanings.jsonl").lines();
    lines.map(|line| serde_json::from_str(line).expect(line)).collect()
}

fn bytes_of_case(case: &Case) -> Vec<u8> {
    bytes_of(&format!("../custom/{}", case.file))
}

/// Calls with what their arguments mean, however they are spaced.
fn read(calls: &[(String, String, String)]) -> Vec<(&str, &str, Value)> {
    let read = |it: &str| serde_json::from_str(it).expect("arguments");
    calls.iter().map(|(id, name, it)| (id.as_str(), name.as_str(), read(it))).collect()
}

#[test]
fn answers_mean_what_the_makers_document() {
    for case in cases() {
        let (bytes, api, file) = (bytes_of_case(&case), shipped(&case.api), &case.file);
        let mut answer = decode(api, &[&bytes], true, EndCause::Complete);
        assert_eq!(answer.outcome, case.outcome, "{file}: {:?}", answer.error);
        assert_eq!(answer.events.len(), case.events, "{file}");
        assert_eq!(answer.events.tokens, case.tokens, "{file}");
        assert_eq!(answer.prompt_tokens, counted(case.prompt), "{file}");
        assert_eq!(answer.output_tokens, counted(case.output), "{file}");
        assert_eq!(answer.finish_reason, case.finish_reason, "{file}");
        let text = answer.text.take().expect("a text");
        assert_eq!(&*text, case.text, "{file}");
        let calls: Vec<_> = text
            .tool_calls()
            .iter()
            .map(|call| (call.id.clone(), call.name.clone(), call.arguments.clone()))
            .collect();
        assert_eq!(read(&calls), read(&case.calls), "{file}");
        if !answer.outcome.is_ok() {
            let error = answer.error.as_deref().unwrap_or_default();
            assert!(error.contains(&case.mark), "{file}: {error}");
        }
        let quick = decode(api, &[&bytes], false, EndCause::Complete);
        assert_eq!(quick, answer, "{file}: without its text");
    }
}

#[test]
fn no_split_changes_what_an_answer_means_and_none_that_was_cut_off_passes() {
    for case in cases() {
        let (bytes, api) = (bytes_of_case(&case), shipped(&case.api));
        let whole = decode(api, &[&bytes], false, EndCause::Closed);
        for place in 0..=bytes.len() {
            let (front, back) = bytes.split_at(place);
            let split = decode(api, &[front, back], false, EndCause::Closed);
            assert_eq!(split, whole, "{} split at {place}", case.file);
        }
        let each: Vec<&[u8]> = bytes.chunks(1).collect();
        assert_eq!(decode(api, &each, false, EndCause::Closed), whole, "{}", case.file);
        let closing = until_close(&bytes);
        for bytes in [&bytes, &closing] {
            for place in 0..bytes.len() {
                let (cut, mark) = (&bytes[..place], case.mark.as_bytes());
                let may_be_whole =
                    !mark.is_empty() && cut.windows(mark.len()).any(|window| window == mark);
                for cause in [EndCause::Closed, EndCause::TimedOut(TimeoutKind::Idle)] {
                    let answer = decode(api, &[cut], false, cause);
                    assert!(
                        !answer.outcome.is_ok() || case.outcome.is_ok() && may_be_whole,
                        "{} cut at {place}",
                        case.file
                    );
                }
            }
        }
    }
}

#[test]
fn apis_that_are_known_are_asked_alike_by_a_file() {
    let mut compared = 0;
    for (known, file) in twins() {
        for (line, asked) in crate::bodies::asked_of(known) {
            // A second name of the output length is something that the program alone knows.
            if line.contains("max_completion_tokens") {
                continue;
            }
            // The files of this test write no media.
            if asked.has_media() {
                continue;
            }
            for stream in [true, false] {
                let known = Asked { stream, ..asked.clone() };
                let file = Asked { api: file, ..known.clone() };
                assert_eq!(file.body(), known.body(), "{line}");
                let first = |asked: &Asked| {
                    let (request, _) = asked.write().expect("a request");
                    request.split("\r\n\r\n").next().map(|head| {
                        let is_same = |line: &&str| !line.starts_with("Content-Length");
                        head.lines().filter(is_same).collect::<Vec<_>>().join("\n")
                    })
                };
                assert_eq!(first(&file), first(&known), "{line}");
                compared += 1;
            }
        }
    }
    assert!(compared > 10, "{compared}");
}

#[test]
fn answers_of_apis_that_are_known_are_read_alike_by_a_file() {
    let mut compared = 0;
    for (name, api) in crate::recorded::files() {
        let Some((known, file)) = twins().into_iter().find(|(known, _)| *known == api) else {
            continue;
        };
        let bytes = bytes_of(&name);
        for keep_text in [true, false] {
            let mut expect = decode(known, &[&bytes], keep_text, EndCause::Complete);
            let answer = decode(file, &[&bytes], keep_text, EndCause::Complete);
            // The file of chat completions has no fields for times and drafts in the usage.
            if known == Api::Chat {
                expect.usage = answer.usage;
            }
            // Nor has sound.
            if expect.made_audio.is_some() {
                continue;
            }
            assert_eq!(answer, expect, "{name}");
            compared += 1;
        }
    }
    assert!(compared >= 14, "{compared}");
}

/// Messages without anything but texts.
const PLAIN: &str = r#"
[request]
path = "/talk"
body = '{"messages": "{messages}"}'
[message]
form = '{"role": "{role}", "say": "{text}"}'
[read]
text = "/say"
"#;

fn read_file(text: &str) -> Api {
    custom::read("test.toml", text).unwrap_or_else(|error| panic!("{error}"))
}

/// As google-genai 3.6.1 sends them, but for its `parameters_json_schema`, which the API takes alike; and
/// as boto3 does.
#[test]
fn tools_are_declared_in_the_words_of_the_api() {
    let schema = json!({"type": "object", "properties": {"in": {"type": "string"}}});
    let rain = json!({"name": "rain", "description": "tells of rain", "parameters": schema});
    let tools = json!({"tools": [{"type": "function", "function": rain}], "seed": 1});
    let asked = |api: &str, fields: Value| Asked { fields, ..Asked::of(shipped(api), text()) };
    let body = asked("gemini", tools.clone()).body();
    let told =
        json!({"name": "rain", "description": "tells of rain", "parametersJsonSchema": schema});
    assert_eq!(body["tools"], json!([{"functionDeclarations": [told]}]));
    assert_eq!(body["seed"], 1);
    let body = Asked { stream: false, ..asked("bedrock", tools.clone()) }.body();
    let told =
        json!({"name": "rain", "description": "tells of rain", "inputSchema": {"json": schema}});
    assert_eq!(body["toolConfig"], json!({"tools": [{"toolSpec": told}]}));
    assert_eq!(body.get("tools"), None);
    // What chat completions take goes as it is, and so does what is in the API's own words already.
    assert_eq!(asked("cohere", tools.clone()).body()["tools"], tools["tools"]);
    let own = json!({"tools": [{"googleSearch": {}}]});
    assert_eq!(asked("gemini", own.clone()).body()["tools"], own["tools"]);
}

#[test]
fn lists_of_models_are_read_as_the_file_says() {
    let file = dialect::of(shipped("gemini")).file().expect("a file");
    let list = file.models.as_ref().expect("it has a list");
    let answer = json!({"models": [
        {"name": "models/gemini-2.5-flash", "inputTokenLimit": 1_048_576},
        {"name": "tunedModels/mine"}, {"displayName": "no name"},
    ]});
    let expect = [("gemini-2.5-flash", Some(1_048_576)), ("tunedModels/mine", None)];
    let expect = expect.map(|(name, context)| (name.to_owned(), context));
    assert_eq!(list.read(&answer), Some(expect.to_vec()));
    assert_eq!(list.read(&json!({"models": {}})), None);
    assert_eq!(dialect::of(shipped("azure")).file().expect("a file").models, None);
    for (models, part) in [
        ("path = '/m'\nlist = 'data'\nname = '/id'", "[models] list: \"data\" is no place here"),
        ("path = '/m'\nlist = '/data/*'\nname = '/id'", "without a star"),
        ("path = 'm'\nlist = '/data'\nname = '/id'", "begins with a slash"),
        ("path = '/m?api_key=x'\nlist = '/data'\nname = '/id'", "a key does not belong"),
        ("path = '/m'\nlist = '/data'\nid = '/id'", "unknown field `id`"),
    ] {
        let error = custom::read("x.toml", &format!("{PLAIN}[models]\n{models}\n"));
        let error = error.unwrap_err().to_string();
        assert!(error.contains(part), "{error}, not {part}");
    }
    let alone = PLAIN.replace("[message]", "when_tools = '{\"t\": \"{tools}\"}'\n[message]");
    let error = custom::read("x.toml", &alone).unwrap_err().to_string();
    assert!(error.contains("when_tools: it needs tool"), "{error}");
}

#[test]
fn what_a_file_has_no_place_for_is_refused_in_words() {
    let refusal_of =
        |api: Api, prompt: Prompt| Asked::of(api, prompt).write().unwrap_err().to_string();
    let refusal = |api: &str, prompt: Prompt| refusal_of(shipped(api), prompt);
    let tools = refusal_of(read_file(PLAIN), asked("tools", "plain"));
    assert!(tools.contains("takes no calls of tools"), "{tools}");
    let ids = refusal("cohere", Prompt::Tokens(vec![1]));
    assert!(ids.contains("takes no token ids as a prompt: it takes texts and messages"), "{ids}");
    let (_, tgi) = twins()[2];
    let talk = Asked::of(tgi, asked("talk", "tgi")).write().unwrap_err().to_string();
    assert!(talk.contains("takes no messages"), "{talk}");
    let picture = Asked::of(twins()[0].1, asked("image", "chat")).write().unwrap_err().to_string();
    assert!(picture.contains("takes no"), "{picture}");
    assert!(Asked::of(tgi, text()).write().is_ok());
    let extra = Asked { extra: json!({"contents": []}), ..Asked::of(shipped("gemini"), text()) };
    assert!(extra.write().unwrap_err().to_string().contains("may not set \"contents\""));
}

#[test]
fn fields_of_the_user_win_and_join_the_object_of_the_length() {
    let extra =
        json!({"generationConfig": {"topP": 0.9, "temperature": null}, "safetySettings": []});
    let body = Asked { extra, ..Asked::of(shipped("gemini"), text()) }.body();
    assert_eq!(body["generationConfig"], json!({"topP": 0.9, "maxOutputTokens": 16}));
    assert_eq!(body["safetySettings"], json!([]));
    let fields = json!({"generationConfig": {"maxOutputTokens": 3}});
    let body = Asked { fields, ..Asked::of(shipped("gemini"), text()) }.body();
    assert_eq!(body["generationConfig"]["maxOutputTokens"], 3);
    let open = Asked { output_tokens: None, ..Asked::of(shipped("cohere"), text()) }.body();
    assert_eq!(open.get("max_tokens"), None);
}

#[test]
fn hostile_answers_are_one_clear_error_and_never_a_panic() {
    let deep = "[".repeat(200_000);
    let closed = format!("{deep}{}", "]".repeat(200_000));
    let events = [
        format!(r#"{{"candidates":{closed}}}"#),
        format!(r#"{{"candidates":{deep}"#),
        r#"{"candidates":{"content":7}}"#.to_owned(),
        r#"{"candidates":[{"content":{"parts":[{"text":[]},{"text":{}},7,null]},"index":-1e400}]}"#
            .to_owned(),
        r#"{"candidates":[{"index":99999999999999999999,"finishReason":{"a":1}}],"usageMetadata":{"promptTokenCount":1e999,"candidatesTokenCount":-5}}"#.to_owned(),
        r#"{"usageMetadata":"x","error":null,"candidates":null}"#.to_owned(),
        r#"{"error":{"message":7}}"#.to_owned(),
        r#"{"error":"\ud800"}"#.to_owned(),
        "7".to_owned(),
        "\"text\"".to_owned(),
        "{".to_owned(),
        String::new(),
    ];
    let apis = SHIPPED.iter().map(|file| shipped(file.word)).chain(twins().map(|(_, file)| file));
    for api in apis {
        for event in &events {
            let stream = format!(
                "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: {event}\n\n"
            );
            let length = event.len();
            let whole = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n{event}");
            for bytes in [stream, whole] {
                let one = decode(api, &[bytes.as_bytes()], true, EndCause::Closed);
                assert!(!one.outcome.is_ok(), "{:.80}", event);
                let error = one.error.unwrap_or_default();
                assert!(!error.is_empty() && error.chars().count() < 600, "{error:.700}");
            }
        }
    }
}
