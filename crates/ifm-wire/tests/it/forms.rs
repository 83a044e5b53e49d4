//! The answer format in the body of each API, as JSON and in the order of a schema.

use ifm_core::spec::Api;
use ifm_core::{Form, FormKind, Prompt};
use ifm_wire::dialect::FormSpeech;
use ifm_wire::request::{Ask, RequestError, TemplateSpec};
use ifm_wire::{RequestBytes, RequestTemplate};
use serde_json::{Map, Value, json};

/// Properties in an order that no map of names would keep.
const SCHEMA: &str = r#"{"type":"object","properties":{"z":{"type":"string"},"a":{"type":"integer"}},"required":["z","a"],"additionalProperties":false}"#;

fn form(kind: FormKind) -> Form {
    let text = match kind {
        FormKind::JsonObject => "",
        FormKind::Json | FormKind::JsonUnique => SCHEMA,
        FormKind::Regex => r"[a-z]+@\w+",
        FormKind::Choice => "yes, c++,\"no\"",
        FormKind::Grammar => "root ::= \"a\"\n",
    };
    Form { kind, name: "order".to_owned(), text: text.to_owned() }
}

fn template(api: Api, extra: &Map<String, Value>) -> RequestTemplate {
    let spec = TemplateSpec {
        api,
        host: "h",
        path: "/",
        model: "m",
        authorization: None,
        headers: &[],
        stream: true,
        ignore_eos: true,
        temperature: Some(0.5),
        extra_body: extra,
    };
    RequestTemplate::new(&spec).expect("a template")
}

fn body_of(template: &RequestTemplate, fields: &Value) -> String {
    let prompt = Prompt::Text("hi".to_owned());
    let ask = Ask {
        prompt: &prompt,
        said: &[],
        said_media: &[],
        output_tokens: Some(16),
        fields: fields.as_object(),
        number: None,
        session: None,
    };
    let mut out = RequestBytes::default();
    template.write(&ask, &mut out).expect("a request");
    let text = String::from_utf8(out.to_vec()).expect("a text");
    text.split_once("\r\n\r\n").expect("a head").1.to_owned()
}

/// What a form adds to a body, written both ways: with fields of the request's own and without.
fn added(api: Api, kind: FormKind, speech: FormSpeech) -> Result<Value, RequestError> {
    let none = Map::new();
    let free = template(api, &none);
    let with = free.with_form(&form(kind), speech, true)?;
    let (plain, own) = (body_of(&with, &json!({})), body_of(&with, &json!({"seed": 7})));
    for body in [&plain, &own] {
        if matches!(kind, FormKind::Json | FormKind::JsonUnique) {
            let order = ["z", "a"].map(|name| {
                body.find(&format!("{name}\\\":")).or_else(|| body.find(&format!("\"{name}\":")))
            });
            assert!(order[0] < order[1], "{body}");
        }
    }
    let read = |text: &str| serde_json::from_str::<Map<String, Value>>(text).expect("right JSON");
    let (mut plain, mut own) = (read(&plain), read(&own));
    own.remove("seed");
    assert_eq!(plain, own, "{api:?}");
    let free = read(&body_of(&free, &json!({})));
    for (name, value) in &free {
        match (plain.get_mut(name), value) {
            (Some(Value::Object(more)), Value::Object(less)) if more.len() > less.len() => {
                less.keys().for_each(|name| drop(more.remove(name)));
            }
            _ => drop(plain.remove(name)),
        }
    }
    Ok(Value::Object(plain))
}

#[test]
fn openai_is_asked_as_its_own_client_asks() {
    // The bodies of `client.chat.completions.create(response_format=…)` and
    // `client.responses.create(text={"format": …})` of the official Python client.
    let schema: Value = serde_json::from_str(SCHEMA).expect("JSON");
    let openai = FormSpeech::OpenAi;
    let chat = |kind| added(Api::Chat, kind, openai).expect("it takes that");
    assert_eq!(chat(FormKind::JsonObject), json!({"response_format": {"type": "json_object"}}));
    let named = json!({"name": "order", "schema": schema, "strict": true});
    let expect = json!({"response_format": {"type": "json_schema", "json_schema": named}});
    assert_eq!(chat(FormKind::Json), expect);
    assert_eq!(chat(FormKind::JsonUnique), expect);
    let responses = |kind| added(Api::Responses, kind, openai).expect("it takes that");
    let named = json!({"type": "json_schema", "name": "order", "schema": schema, "strict": true});
    assert_eq!(responses(FormKind::Json), json!({"text": {"format": named}}));
    let expect = json!({"text": {"format": {"type": "json_object"}}});
    assert_eq!(responses(FormKind::JsonObject), expect);
}

#[test]
fn every_api_is_told_in_its_own_words() {
    use FormKind::{Choice, Grammar, Json, JsonObject, Regex};
    use FormSpeech::{LlamaCpp, OpenAi, Sglang, Vllm, VllmGuided};
    let schema: Value = serde_json::from_str(SCHEMA).expect("JSON");
    let choice = json!(["yes", "c++", "\"no\""]);
    let as_regex = r#"(yes|c\+\+|\"no\")"#;
    let as_grammar = r#"root ::= "yes" | "c++" | "\"no\"""#;
    for (api, speech, kind, expect) in [
        (Api::Chat, Vllm, Regex, json!({"structured_outputs": {"regex": r"[a-z]+@\w+"}})),
        (Api::Chat, Vllm, Choice, json!({"structured_outputs": {"choice": choice}})),
        (Api::Chat, Vllm, Grammar, json!({"structured_outputs": {"grammar": "root ::= \"a\"\n"}})),
        (Api::Chat, VllmGuided, Regex, json!({"guided_regex": r"[a-z]+@\w+"})),
        (Api::Chat, VllmGuided, Choice, json!({"guided_choice": choice})),
        (Api::Chat, Sglang, Regex, json!({"regex": r"[a-z]+@\w+"})),
        (Api::Chat, Sglang, Choice, json!({"regex": as_regex})),
        (Api::Chat, Sglang, Grammar, json!({"ebnf": "root ::= \"a\"\n"})),
        (Api::Chat, LlamaCpp, Grammar, json!({"grammar": "root ::= \"a\"\n"})),
        (Api::Chat, LlamaCpp, Choice, json!({"grammar": as_grammar})),
        (Api::Completions, Vllm, Json, json!({"structured_outputs": {"json": schema}})),
        (Api::Completions, Vllm, JsonObject, json!({"structured_outputs": {"json_object": true}})),
        (Api::Completions, VllmGuided, Json, json!({"guided_json": schema})),
        (Api::Completions, Sglang, Json, json!({"json_schema": SCHEMA})),
        (Api::Completions, LlamaCpp, Json, json!({"json_schema": schema})),
        (Api::Responses, Vllm, Regex, json!({"structured_outputs": {"regex": r"[a-z]+@\w+"}})),
        (
            Api::Messages,
            OpenAi,
            Json,
            json!({"output_config": {"format": {"type": "json_schema", "schema": schema}}}),
        ),
        (Api::Sglang, OpenAi, Json, json!({"sampling_params": {"json_schema": SCHEMA}})),
        (Api::Sglang, OpenAi, Regex, json!({"sampling_params": {"regex": r"[a-z]+@\w+"}})),
        (Api::Sglang, OpenAi, Grammar, json!({"sampling_params": {"ebnf": "root ::= \"a\"\n"}})),
        (
            Api::Tgi,
            OpenAi,
            Json,
            json!({"parameters": {"grammar": {"type": "json", "value": schema}}}),
        ),
        (
            Api::Tgi,
            OpenAi,
            Choice,
            json!({"parameters": {"grammar": {"type": "regex", "value": as_regex}}}),
        ),
        (Api::OllamaChat, OpenAi, Json, json!({"format": schema})),
        (Api::OllamaChat, OpenAi, JsonObject, json!({"format": "json"})),
        (Api::OllamaGenerate, OpenAi, Json, json!({"format": schema})),
        (Api::LlamaCpp, OpenAi, Json, json!({"json_schema": schema})),
        (Api::LlamaCpp, OpenAi, Choice, json!({"grammar": as_grammar})),
    ] {
        assert_eq!(added(api, kind, speech), Ok(expect), "{api:?} {speech:?} {kind:?}");
    }
}

#[test]
fn what_an_api_cannot_carry_is_refused_with_those_that_can() {
    let refused =
        |api, kind| added(api, kind, FormSpeech::OpenAi).expect_err("it cannot").to_string();
    let error = refused(Api::Chat, FormKind::Regex);
    assert!(error.starts_with("the API chat in the words of openai cannot carry a regular"));
    assert!(error.contains("chat (vllm, vllm-guided, sglang)") && error.contains("tgi"), "{error}");
    assert!(refused(Api::Messages, FormKind::JsonObject).contains("the API messages cannot"));
    for (api, kind) in [
        (Api::Completions, FormKind::Json),
        (Api::Tgi, FormKind::Grammar),
        (Api::OllamaChat, FormKind::Regex),
        (Api::LlamaCpp, FormKind::Regex),
        (Api::Triton, FormKind::Json),
        (Api::Embeddings, FormKind::Json),
    ] {
        refused(api, kind);
    }
}

#[test]
fn an_answer_with_a_form_may_end_unless_the_user_insists() {
    let none = Map::new();
    let free = template(Api::Sglang, &none);
    let with = |ignore_eos| {
        let with = free.with_form(&form(FormKind::Json), FormSpeech::OpenAi, ignore_eos);
        body_of(&with.expect("a template"), &json!({}))
    };
    assert!(with(true).contains("ignore_eos") && !with(false).contains("ignore_eos"));
    let extra = json!({"response_format": {"type": "text"}});
    let taken = template(Api::Chat, extra.as_object().expect("an object"));
    let error = taken.with_form(&form(FormKind::Json), FormSpeech::OpenAi, false);
    assert_eq!(error.err(), Some(RequestError::FormField("response_format")));
}
