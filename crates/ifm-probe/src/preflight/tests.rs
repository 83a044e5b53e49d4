//! Requests before a load against strict, flaky and refusing servers.

use super::*;
use crate::testing::{Asked, Said, server};
use crate::traced_client::Endpoint;
use ifm_core::spec::Api;
use ifm_wire::request::TemplateSpec;
use serde_json::{Map, Value, json};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

/// Requests of a streamed chat as a run sends them by default.
fn preflight(endpoint: Endpoint, rules: FieldRules) -> Preflight {
    let template = RequestTemplate::new(&TemplateSpec {
        api: Api::Chat,
        host: "h",
        path: "/v1/chat/completions",
        model: "m",
        authorization: None,
        headers: &[],
        stream: true,
        ignore_eos: true,
        temperature: Some(0.0),
        extra_body: &Map::new(),
    });
    let expect = Expect { api: Api::Chat, keep_text: false, stream: true };
    Preflight::new(Caller::new(endpoint), template.unwrap(), expect, rules)
}

fn answer() -> Said {
    let delta = json!({"index": 0, "delta": {"content": "a"}, "finish_reason": "length"});
    Said::Events(vec![json!({"choices": [delta]})])
}

/// Fields unknown to a server, in the order of the body.
fn unknown<'asked>(asked: &'asked Asked, known: &[&str]) -> Vec<&'asked str> {
    let fields = asked.body.as_object().into_iter().flat_map(Map::keys);
    fields.map(String::as_str).filter(|name| !known.contains(name)).collect()
}

/// A server as strict as OpenAI's: it names one field at a time, and the new name of the length.
fn like_openai(asked: &Asked) -> Said {
    let known = ["model", "messages", "stream", "stream_options", "max_completion_tokens"];
    let error = |message: String, param: Value, code: Value| {
        let error = json!({"message": message, "type": "invalid_request_error", "param": param,
            "code": code});
        Said::Json(400, json!({"error": error}))
    };
    match unknown(asked, &known).first() {
        None => answer(),
        Some(&"max_tokens") => error(
            "Unsupported parameter: 'max_tokens' is not supported with this model. Use \
             'max_completion_tokens' instead."
                .to_owned(),
            "max_tokens".into(),
            "unsupported_parameter".into(),
        ),
        Some(&"temperature") => error(
            "Unsupported value: 'temperature' does not support 0.0 with this model. Only the \
             default (1) value is supported."
                .to_owned(),
            "temperature".into(),
            "unsupported_value".into(),
        ),
        Some(name) => {
            let message = format!("Unrecognized request argument supplied: {name}");
            error(message, Value::Null, Value::Null)
        }
    }
}

/// A server that validates bodies by a schema, and names all fields at once.
fn like_fastapi(asked: &Asked) -> Said {
    let details: Vec<Value> = unknown(asked, &["model", "messages", "stream", "max_tokens"])
        .into_iter()
        .map(|name| {
            json!({"type": "extra_forbidden", "loc": ["body", name],
                "msg": "Extra inputs are not permitted", "input": asked.body[name]})
        })
        .collect();
    match details.is_empty() {
        true => answer(),
        false => Said::Json(422, json!({"detail": details})),
    }
}

/// Counts the requests of a server.
fn counted(
    say: impl Fn(&Asked, u32) -> Said + Send + Sync + 'static,
) -> (Endpoint, Arc<AtomicU32>) {
    let count = Arc::new(AtomicU32::new(0));
    let seen = count.clone();
    let endpoint = server(move |asked| say(asked, seen.fetch_add(1, Ordering::Relaxed) + 1));
    (endpoint, count)
}

fn names(preflight: &Preflight) -> Vec<(&str, Option<&str>, u16)> {
    let rejected = preflight.rejected().iter();
    let names = rejected.map(|one| (one.field.as_str(), one.replaced_by.as_deref(), one.status));
    let mut names: Vec<_> = names.collect();
    names.sort_unstable();
    names
}

#[test]
fn fields_that_a_server_rejects_are_left_out_whatever_the_order() {
    let (endpoint, count) = counted(|asked, _| like_openai(asked));
    let mut strict = preflight(endpoint, FieldRules::default());
    assert!(strict.ask_once().is_ok());
    let expect = [
        ("ignore_eos", None, 400),
        ("max_tokens", Some("max_completion_tokens"), 400),
        ("temperature", None, 400),
    ];
    assert_eq!(names(&strict), expect);
    assert_eq!(count.load(Ordering::Relaxed), 4);
    // The next request is sent immediately.
    assert!(strict.ask_once().is_ok());
    assert_eq!(count.load(Ordering::Relaxed), 5);

    let (endpoint, count) = counted(|asked, _| like_fastapi(asked));
    let mut strict = preflight(endpoint, FieldRules::default());
    assert!(strict.ask_once().is_ok());
    let expect =
        [("ignore_eos", None, 422), ("stream_options", None, 422), ("temperature", None, 422)];
    assert_eq!(names(&strict), expect);
    assert_eq!(count.load(Ordering::Relaxed), 2);
    assert!(strict.rejected()[0].message.contains("Extra inputs are not permitted"));
}

/// The failure that ends the run.
fn stopped(asked: Result<Exchange, Fault>) -> String {
    match asked {
        Err(Fault::Stop(failure)) => failure.to_string(),
        Err(other) => panic!("{other:?}"),
        Ok(_) => panic!("it was answered"),
    }
}

#[test]
fn a_field_that_the_user_set_is_not_left_out() {
    let set_by = [("temperature".to_owned(), "--temperature".to_owned())].into();
    let rules = FieldRules { set_by, ..FieldRules::default() };
    let told = stopped(preflight(server(like_openai), rules).ask_once());
    assert!(told.contains("rejects the field \"temperature\", which --temperature sets"), "{told}");
    assert!(told.contains("HTTP 400: Unsupported value") && told.contains("hint:"), "{told}");
    let set_by = [("ignore_eos".to_owned(), EXTRA_BODY.to_owned())].into();
    let rules = FieldRules { set_by, ..FieldRules::default() };
    let told = stopped(preflight(server(like_fastapi), rules).ask_once());
    assert!(told.contains("remove \"ignore_eos\" from --extra-body"), "{told}");
}

#[test]
fn strict_ends_at_the_first_rejected_field() {
    let (endpoint, count) = counted(|asked, _| like_openai(asked));
    let rules = FieldRules { is_strict: true, ..FieldRules::default() };
    let told = stopped(preflight(endpoint, rules).ask_once());
    assert!(told.contains("--strict: the server rejects the field \"ignore_eos\""), "{told}");
    assert!(told.contains("--ignore-eos=false"), "{told}");
    assert_eq!(count.load(Ordering::Relaxed), 1);
}

#[test]
fn a_length_that_is_rejected_by_every_name_ends_the_run() {
    let (endpoint, count) = counted(|asked, _| {
        let name = unknown(asked, &["model", "messages", "stream", "stream_options"])
            .into_iter()
            .find(|name| name.contains("tokens"))
            .unwrap_or("none");
        let error = json!({"message": format!("Unknown parameter: '{name}'."), "param": name});
        Said::Json(400, json!({"error": error}))
    });
    let told = stopped(preflight(endpoint, FieldRules::default()).ask_once());
    assert!(told.contains("\"max_completion_tokens\", and no other name"), "{told}");
    assert_eq!(count.load(Ordering::Relaxed), 2);
}

#[test]
fn a_refusal_that_stays_is_not_tried_for_ever() {
    // It names a field that is no longer sent.
    let (endpoint, count) = counted(|_, _| {
        let error = json!({"message": "Unrecognized request argument supplied: ignore_eos"});
        Said::Json(400, json!({"error": error}))
    });
    let asked = preflight(endpoint, FieldRules::default()).ask_once();
    assert!(matches!(asked, Err(Fault::Refused(400, _))), "{:?}", asked.err());
    assert_eq!(count.load(Ordering::Relaxed), 2);
}

#[test]
fn each_cause_of_a_failure_has_one_meaning() {
    let fault = |status: u16, body: Value| {
        let body = Mutex::new(body);
        let (endpoint, count) =
            counted(move |_, _| Said::Json(status, body.lock().unwrap().clone()));
        let mut preflight = preflight(endpoint, FieldRules::default());
        let fault = preflight.ask_once().err().expect("a fault");
        assert!(preflight.rejected().is_empty());
        (fault, count.load(Ordering::Relaxed))
    };
    let long = json!({"error": {"message": "This model's maximum context length is 8 tokens. However, \
        you requested 9 tokens (unsupported: 1 in 'max_tokens').", "param": "max_tokens"}});
    assert!(matches!(fault(400, long).0, Fault::TooLong(400, _)));
    assert!(matches!(fault(413, json!({})).0, Fault::TooLong(413, _)));
    assert!(matches!(fault(404, json!({"error": "no model"})).0, Fault::Refused(404, _)));
    assert!(matches!(fault(401, json!({})).0, Fault::Stop(_)));
    let (busy, tries) = fault(503, json!({}));
    assert!(matches!(busy, Fault::Failed(_)), "{busy:?}");
    assert_eq!(tries, TRIES);
}

#[test]
fn a_connection_that_is_cut_is_tried_once_more() {
    for cut in
        ["", "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 9000\r\n\r\n"]
    {
        let (endpoint, count) = counted(move |_, number| match number {
            1 => Said::Cut(cut.to_owned()),
            _ => answer(),
        });
        assert!(preflight(endpoint, FieldRules::default()).ask_once().is_ok());
        assert_eq!(count.load(Ordering::Relaxed), 2);
        let (endpoint, count) = counted(move |_, _| Said::Cut(cut.to_owned()));
        let asked = preflight(endpoint, FieldRules::default()).ask_once();
        assert!(matches!(asked, Err(Fault::Failed(_))), "{:?}", asked.err());
        assert_eq!(count.load(Ordering::Relaxed), TRIES);
    }
}
