//! What requests of every API say, to the byte where that matters and as JSON otherwise.

use ifm_core::spec::Api;
use ifm_core::{Message, Prompt, Role, ToolCall};
use ifm_wire::RequestTemplate;
use ifm_wire::dialect;
use ifm_wire::request::{Ask, RequestError, TemplateSpec};
use serde_json::{Map, Value, json};

/// What is asked.
#[derive(Clone)]
struct Asked {
    api: Api,
    prompt: Prompt,
    stream: bool,
    output_tokens: Option<u32>,
    /// The user's fields for all requests, and those of this one.
    extra: Value,
    fields: Value,
}

impl Asked {
    fn of(api: Api, prompt: Prompt) -> Asked {
        let output_tokens = Some(16);
        Asked { api, prompt, stream: true, output_tokens, extra: json!({}), fields: json!({}) }
    }

    /// The request, and how many results it asks for.
    fn write(&self) -> Result<(String, Option<u32>), RequestError> {
        let extra = self.extra.as_object().expect("an object");
        let path = dialect::path(self.api, "/v1", "a/m", self.stream);
        let spec = TemplateSpec {
            api: self.api,
            host: "h:1",
            path: &path,
            model: "a/m",
            authorization: Some("Bearer sk-1"),
            headers: &[],
            stream: self.stream,
            ignore_eos: true,
            temperature: Some(0.5),
            extra_body: extra,
        };
        let mut out = Vec::new();
        let ask = Ask {
            prompt: &self.prompt,
            output_tokens: self.output_tokens,
            fields: self.fields.as_object(),
            number: None,
        };
        let results = RequestTemplate::new(&spec)?.write(&ask, &mut out)?;
        Ok((String::from_utf8(out).expect("a text"), results))
    }

    /// The body. Its names are checked to be there once, which `Value` alone would not tell.
    fn body(&self) -> Value {
        let (request, _) = self.write().expect("a request");
        let (head, body) = request.split_once("\r\n\r\n").expect("a head");
        let length = head.lines().find_map(|line| line.strip_prefix("Content-Length:"));
        assert_eq!(length.map(|length| length.trim().parse()), Some(Ok(body.len())));
        let value: Value = serde_json::from_str(body).expect("right JSON");
        let names = value.as_object().expect("an object").keys();
        for name in names {
            assert_eq!(count_of(body, name), 1, "{name} in {body}");
        }
        value
    }
}

/// How often the name stands at the top of an object.
fn count_of(body: &str, name: &str) -> usize {
    struct Names(Vec<String>);
    impl<'de> serde::Deserialize<'de> for Names {
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

fn text() -> Prompt {
    Prompt::Text("say \"hi\"\n\u{1}é".to_owned())
}

fn ids() -> Prompt {
    Prompt::Tokens(vec![1, 70_000])
}

/// A conversation with everything that one can hold.
fn talk() -> Prompt {
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

#[test]
fn texts_are_asked_as_each_api_wants_them() {
    let said = "say \"hi\"\n\u{1}é";
    let user = json!([{"role": "user", "content": said}]);
    for (api, expect) in [
        (
            Api::Chat,
            json!({
                "model": "a/m", "stream": true, "stream_options": {"include_usage": true},
                "ignore_eos": true, "temperature": 0.5, "max_tokens": 16, "messages": user,
            }),
        ),
        (
            Api::Completions,
            json!({
                "model": "a/m", "stream": true, "stream_options": {"include_usage": true},
                "ignore_eos": true, "temperature": 0.5, "max_tokens": 16, "prompt": said,
            }),
        ),
        (
            Api::Responses,
            json!({
                "model": "a/m", "stream": true, "store": false, "ignore_eos": true,
                "temperature": 0.5, "max_output_tokens": 16, "input": said,
            }),
        ),
        (
            Api::Messages,
            json!({
                "model": "a/m", "stream": true, "temperature": 0.5, "max_tokens": 16,
                "messages": user,
            }),
        ),
        (
            Api::Sglang,
            json!({
                "text": said, "stream": true,
                "sampling_params": {"ignore_eos": true, "temperature": 0.5, "max_new_tokens": 16},
            }),
        ),
        (
            Api::Tgi,
            json!({
                "inputs": said,
                "parameters": {
                    "details": true, "do_sample": true, "temperature": 0.5, "max_new_tokens": 16,
                },
            }),
        ),
        (
            Api::OllamaChat,
            json!({
                "model": "a/m", "messages": user, "stream": true,
                "options": {"temperature": 0.5, "num_predict": 16},
            }),
        ),
        (
            Api::OllamaGenerate,
            json!({
                "model": "a/m", "prompt": said, "stream": true,
                "options": {"temperature": 0.5, "num_predict": 16},
            }),
        ),
        (
            Api::LlamaCpp,
            json!({
                "model": "a/m", "prompt": said, "stream": true, "ignore_eos": true,
                "temperature": 0.5, "n_predict": 16,
            }),
        ),
        (
            Api::Triton,
            json!({
                "text_input": said, "stream": true, "ignore_eos": true, "temperature": 0.5,
                "max_tokens": 16,
            }),
        ),
        (Api::Embeddings, json!({"model": "a/m", "input": said})),
        (Api::Rerank, json!({"model": "a/m", "query": "say \"hi\"", "documents": ["\u{1}é"]})),
        (Api::OllamaEmbed, json!({"model": "a/m", "input": said})),
    ] {
        let ignores = expect.to_string().contains("\"ignore_eos\":true");
        assert_eq!(dialect::of(api).can_ignore_eos(), ignores, "{api:?}");
        assert_eq!(Asked::of(api, text()).body(), expect, "{api:?}");
    }
}

#[test]
fn token_ids_are_asked_where_the_api_takes_them_and_refused_in_words_elsewhere() {
    for api in Api::ALL {
        let field = match api {
            Api::Completions | Api::LlamaCpp => "prompt",
            Api::Sglang => "input_ids",
            Api::Embeddings => "input",
            _ => {
                let error = Asked::of(api, ids()).write().unwrap_err().to_string();
                assert!(error.contains("takes no token ids") && error.contains("it takes texts"));
                assert!(error.contains(api.word()), "{error}");
                continue;
            }
        };
        assert_eq!(Asked::of(api, ids()).body()[field], json!([1, 70_000]), "{api:?}");
    }
}

#[test]
fn conversations_are_asked_with_their_calls_and_refused_in_words_elsewhere() {
    let chat = json!([
        {"role": "system", "content": "be brief"},
        {"role": "user", "content": "rain?"},
        {"role": "assistant", "content": "I look", "tool_calls": [
            {"id": "c1", "type": "function",
             "function": {"name": "rain", "arguments": "{\"in\":\"Rome\"}"}},
            {"id": "c2", "type": "function", "function": {"name": "rain", "arguments": "{broken"}},
        ]},
        {"role": "tool", "content": "no", "tool_call_id": "c1"},
        {"role": "tool", "content": "yes", "tool_call_id": "c2"},
        {"role": "assistant", "content": "", "tool_calls": [
            {"id": "c3", "type": "function", "function": {"name": "rain", "arguments": "{}"}},
        ]},
        {"role": "tool", "content": "maybe", "tool_call_id": "c3"},
    ]);
    assert_eq!(Asked::of(Api::Chat, talk()).body()["messages"], chat);
    let ollama = json!([
        {"role": "system", "content": "be brief"},
        {"role": "user", "content": "rain?"},
        {"role": "assistant", "content": "I look", "tool_calls": [
            {"id": "c1", "function": {"name": "rain", "arguments": {"in": "Rome"}}},
            {"id": "c2", "function": {"name": "rain", "arguments": {}}},
        ]},
        {"role": "tool", "content": "no", "tool_call_id": "c1"},
        {"role": "tool", "content": "yes", "tool_call_id": "c2"},
        {"role": "assistant", "content": "", "tool_calls": [
            {"id": "c3", "function": {"name": "rain", "arguments": {}}},
        ]},
        {"role": "tool", "content": "maybe", "tool_call_id": "c3"},
    ]);
    assert_eq!(Asked::of(Api::OllamaChat, talk()).body()["messages"], ollama);
    let responses = json!([
        {"role": "system", "content": "be brief"},
        {"role": "user", "content": "rain?"},
        {"role": "assistant", "content": "I look"},
        {"type": "function_call", "call_id": "c1", "name": "rain",
         "arguments": "{\"in\":\"Rome\"}"},
        {"type": "function_call", "call_id": "c2", "name": "rain", "arguments": "{broken"},
        {"type": "function_call_output", "call_id": "c1", "output": "no"},
        {"type": "function_call_output", "call_id": "c2", "output": "yes"},
        {"type": "function_call", "call_id": "c3", "name": "rain", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c3", "output": "maybe"},
    ]);
    assert_eq!(Asked::of(Api::Responses, talk()).body()["input"], responses);
    let anthropic = Asked::of(Api::Messages, talk()).body();
    assert_eq!(anthropic["system"], "be brief");
    let messages = json!([
        {"role": "user", "content": "rain?"},
        {"role": "assistant", "content": [
            {"type": "text", "text": "I look"},
            {"type": "tool_use", "id": "c1", "name": "rain", "input": {"in": "Rome"}},
            {"type": "tool_use", "id": "c2", "name": "rain", "input": {}},
        ]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "c1", "content": "no"},
            {"type": "tool_result", "tool_use_id": "c2", "content": "yes"},
        ]},
        {"role": "assistant", "content": [
            {"type": "tool_use", "id": "c3", "name": "rain", "input": {}},
        ]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "c3", "content": "maybe"},
        ]},
    ]);
    assert_eq!(anthropic["messages"], messages);
    for api in Api::ALL {
        if !matches!(api, Api::Chat | Api::OllamaChat | Api::Responses | Api::Messages) {
            let error = Asked::of(api, talk()).write();
            assert!(matches!(error, Err(RequestError::Prompt { .. })), "{api:?}");
        }
    }
}

#[test]
fn a_length_that_is_left_open_is_not_sent_unless_the_api_insists() {
    for api in Api::ALL {
        let open = Asked { output_tokens: None, ..Asked::of(api, text()) }.body();
        let Some(length) = dialect::of(api).length_field() else { continue };
        let holder = length.within.map_or(&open, |name| &open[name]);
        let sent = holder.get(length.names[0]).cloned();
        assert_eq!(sent, (api == Api::Messages).then(|| json!(4096)), "{api:?}");
    }
}

#[test]
fn fields_of_the_user_win_within_the_options_too() {
    let own = Asked {
        extra: json!({"options": {"num_ctx": 4096, "temperature": null}, "keep_alive": 0}),
        ..Asked::of(Api::OllamaGenerate, Prompt::Text("p".to_owned()))
    };
    let expect = json!({
        "model": "a/m", "prompt": "p", "stream": true, "keep_alive": 0,
        "options": {"num_ctx": 4096, "num_predict": 16},
    });
    assert_eq!(own.body(), expect);
    let longer = Asked { extra: json!({"sampling_params": {"max_new_tokens": 9}}), ..own.clone() };
    let longer = Asked { api: Api::Sglang, ..longer };
    assert_eq!(longer.body()["sampling_params"]["max_new_tokens"], 9);
    let bare = Asked { extra: json!({"parameters": null}), api: Api::Tgi, ..own.clone() };
    assert_eq!(bare.body(), json!({"inputs": "p", "parameters": {"max_new_tokens": 16}}));
    let bare = Asked { output_tokens: None, ..bare };
    assert_eq!(bare.body(), json!({"inputs": "p"}));
}

#[test]
fn fields_of_one_request_win_and_are_said_once() {
    let prompt = || Prompt::Text("p".to_owned());
    let chat = Asked {
        fields: json!({"temperature": 1, "max_completion_tokens": 3, "stream_options": null, "n": 2}),
        ..Asked::of(Api::Chat, prompt())
    };
    let expect = json!({
        "model": "a/m", "stream": true, "ignore_eos": true, "temperature": 1, "n": 2,
        "max_completion_tokens": 3, "messages": [{"role": "user", "content": "p"}],
    });
    assert_eq!(chat.body(), expect);
    let own = Asked { fields: json!({"messages": [], "top_p": 1}), ..chat.clone() };
    assert_eq!(own.body()["messages"], json!([]));
    assert_eq!(own.body()["max_tokens"], 16);
    let ollama = Asked {
        fields: json!({"options": {"num_predict": 3, "seed": 7}, "think": false}),
        ..Asked::of(Api::OllamaChat, prompt())
    };
    let options = json!({"temperature": 0.5, "num_predict": 3, "seed": 7});
    assert_eq!(ollama.body()["options"], options);
    let anthropic = Asked { api: Api::Messages, prompt: talk(), ..chat };
    let anthropic = Asked { fields: json!({"system": "mine"}), ..anthropic };
    assert_eq!(anthropic.body()["system"], "mine");
}

#[test]
fn lists_say_how_many_results_they_ask_for() {
    let long = (0..100).map(|n| format!("w{n}")).collect::<Vec<_>>().join(" ");
    let query = (0..32).map(|n| format!("w{n}")).collect::<Vec<_>>().join(" ");
    let rest = (32..100).map(|n| format!("w{n}")).collect::<Vec<_>>().join(" ");
    let none = json!({});
    let two = json!({"documents": ["a", "b"]});
    for (api, prompt, fields, extra, expect, results) in [
        (Api::Embeddings, "p", &none, &none, json!({"input": "p"}), 1),
        (Api::OllamaEmbed, "p", &none, &none, json!({"input": "p"}), 1),
        (
            Api::Embeddings,
            "p",
            &json!({"input": ["a", "b"]}),
            &none,
            json!({"input": ["a", "b"]}),
            2,
        ),
        (Api::Embeddings, "p", &json!({"input": [1, 2, 3]}), &none, json!({"input": [1, 2, 3]}), 1),
        (
            Api::Embeddings,
            "p",
            &json!({"input": [[1], [2]]}),
            &none,
            json!({"input": [[1], [2]]}),
            2,
        ),
        (
            Api::Rerank,
            "q\n\n a \nb\n",
            &none,
            &none,
            json!({"query": "q", "documents": ["a", "b"]}),
            2,
        ),
        (Api::Rerank, &long, &none, &none, json!({"query": query, "documents": [rest]}), 1),
        (Api::Rerank, "a b c", &none, &none, json!({"query": "a", "documents": ["b c"]}), 1),
        (Api::Rerank, "word", &none, &none, json!({"query": "word", "documents": ["word"]}), 1),
        (Api::Rerank, "q", &two, &none, json!({"query": "q", "documents": ["a", "b"]}), 2),
        (
            Api::Rerank,
            "p",
            &json!({"query": "q"}),
            &none,
            json!({"query": "q", "documents": ["p"]}),
            1,
        ),
        (
            Api::Rerank,
            "q",
            &two,
            &json!({"top_n": 1}),
            json!({"query": "q", "documents": ["a", "b"], "top_n": 1}),
            1,
        ),
        (
            Api::Rerank,
            "q\na\nb\nc",
            &none,
            &json!({"top_n": 2}),
            json!({"query": "q", "documents": ["a", "b", "c"], "top_n": 2}),
            2,
        ),
    ] {
        let asked = Asked {
            fields: fields.clone(),
            extra: extra.clone(),
            ..Asked::of(api, Prompt::Text(prompt.to_owned()))
        };
        let mut whole: Map<String, Value> = expect.as_object().expect("an object").clone();
        whole.insert("model".to_owned(), "a/m".into());
        assert_eq!(asked.body(), Value::Object(whole));
        assert_eq!(asked.write().expect("a request").1, Some(results), "{prompt} {fields}");
    }
    assert_eq!(Asked::of(Api::Chat, text()).write().expect("a request").1, None);
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
    ] {
        let asked = Asked { stream, ..Asked::of(api, text()) };
        let (request, _) = asked.write().expect("a request");
        let lines: Vec<&str> = request.lines().collect();
        assert_eq!(lines[0], line);
        let taken = match api {
            Api::OllamaChat | Api::OllamaGenerate => {
                "Accept: application/x-ndjson, application/json"
            }
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
    let mut out = Vec::new();
    let prompt = text();
    let ask = Ask { prompt: &prompt, output_tokens: None, fields: None, number: None };
    RequestTemplate::new(&spec).expect("a template").write(&ask, &mut out).expect("a request");
    let request = String::from_utf8(out).expect("a text");
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
        let word = dialect.api().word().replace('_', "-");
        let row = page.lines().find(|line| line.starts_with(&format!("| `{word}` | `/")));
        let row = row.unwrap_or_else(|| panic!("no row for {word}"));
        let endpoint = dialect.endpoint();
        let path = endpoint.stream.unwrap_or(endpoint.whole).replace("{model}", "MODEL");
        assert!(row.contains(&format!("{path}`")), "{row}");
        let length = dialect.length_field().map_or("none", |length| length.names[0]);
        assert!(row.contains(length), "{row}");
        let ignores = dialect.can_ignore_eos();
        assert_eq!(row.contains("ignore_eos"), ignores, "{row}");
    }
}
