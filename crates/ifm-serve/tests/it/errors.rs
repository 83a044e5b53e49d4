//! Requests that are refused, and how.

use super::*;

/// Asserts a refusal with an error object, whose message has all the words.
fn refused(answer: &Answer, status: u16, words: &[&str]) -> Value {
    assert_eq!(answer.status, status, "{}", answer.text());
    let error = answer.json()["error"].clone();
    let message = error["message"].as_str().expect("a message");
    for word in words {
        assert!(message.contains(word), "{word} is not in: {message}");
    }
    assert!(error["type"].is_string(), "{error}");
    error
}

#[test]
fn bodies_that_make_no_sense_are_bad_requests() {
    let path = "/v1/chat/completions";
    let broken = post_bytes(shared(), path, b"{\"model\": \"nano\", ");
    refused(&broken, 400, &["not valid JSON"]);
    refused(&post_bytes(shared(), path, b"[1]"), 400, &["not a JSON object"]);
    refused(&post_bytes(shared(), path, b""), 400, &["JSON"]);
    refused(&post_bytes(shared(), path, b"\xFF\xFE"), 400, &["JSON"]);
    refused(&post(shared(), path, &json!({})), 400, &["messages"]);
    for (fields, word) in [
        (json!({"n": 2}), "`n`"),
        (json!({"max_tokens": "ten"}), "max_tokens"),
        (json!({"temperature": []}), "temperature"),
        (json!({"stream": "yes"}), "stream"),
        (json!({"logprobs": true}), "logprobs"),
        (json!({"model": 5}), "model"),
    ] {
        refused(&post(shared(), path, &with(chat("x", 1), &fields)), 400, &[word]);
    }
    let extra = json!({"user": "u", "tools": [], "priority": {"a": 1}});
    assert_eq!(post(shared(), path, &with(chat("x", 1), &extra)).status, 200);
}

#[test]
fn prompts_are_checked() {
    let path = "/v1/completions";
    refused(&post(shared(), path, &json!({})), 400, &["prompt"]);
    refused(&post(shared(), path, &json!({"prompt": ""})), 400, &["no token"]);
    refused(&post(shared(), path, &json!({"prompt": ["a", "b"]})), 400, &["several prompts"]);
    refused(&post(shared(), path, &json!({"prompt": [9000]})), 400, &["9000", "8192"]);
    refused(&post(shared(), path, &json!({"prompt": "a", "echo": true})), 400, &["echo"]);
}

#[test]
fn what_exceeds_the_context_is_refused_in_vllms_words() {
    let body = json!({"prompt": vec![7; 500], "max_tokens": 13});
    let error = refused(
        &post(shared(), "/v1/completions", &body),
        400,
        &[
            "maximum context length is 512 tokens",
            "you requested 513 tokens",
            "500 in the messages",
        ],
    );
    assert_eq!(error["code"], "context_length_exceeded");
    let text = "word ".repeat(2000);
    refused(&post(shared(), "/v1/chat/completions", &chat(&text, 1)), 400, &["512"]);
    let body = json!({"prompt": vec![7; 500], "max_tokens": 12, "ignore_eos": true});
    assert_eq!(post(shared(), "/v1/completions", &body).status, 200);
}

#[test]
fn other_models_paths_and_methods_are_refused() {
    let other = with(chat("x", 1), &json!({"model": "gpt-5"}));
    let error = refused(&post(shared(), "/v1/chat/completions", &other), 404, &["`gpt-5`"]);
    assert_eq!(error["code"], "model_not_found");
    refused(&post(shared(), "/v1/embeddings", &json!({})), 404, &["/v1/embeddings"]);
    refused(&get(shared(), "/v1/chat/completions"), 405, &["GET"]);
    refused(&post(shared(), "/health", &json!({})), 405, &["POST"]);
}

#[test]
fn large_bodies_are_refused() {
    let body = chat(&"x".repeat(100_001), 1);
    refused(&post(shared(), "/v1/chat/completions", &body), 413, &["too large"]);
}

#[test]
fn a_key_is_asked_for_where_one_is_set() {
    let options = ServeOptions {
        api_key: Some("secret".to_owned()),
        ..serve_options(start_engine(options()))
    };
    let server = Server::start(options).expect("starts");
    let ask = |authorization: &str| {
        let head = format!("GET /v1/models HTTP/1.1{authorization}");
        receive(send(server.address(), &head, b""))
    };
    for wrong in ["", "\r\nAuthorization: Bearer wrong!", "\r\nAuthorization: Basic secret"] {
        let error = refused(&ask(wrong), 401, &["API key"]);
        assert_eq!(error["code"], "invalid_api_key");
    }
    assert_eq!(ask("\r\nAuthorization: Bearer secret").status, 200);
    assert_eq!(ask("\r\nAuthorization: bearer secret").status, 200);
    let body = chat("x", 1);
    refused(&post(server.address(), "/v1/chat/completions", &body), 401, &["API key"]);
    assert_eq!(get(server.address(), "/health").status, 200);
    assert_eq!(get(server.address(), "/metrics").status, 200);
}

#[test]
fn overload_asks_to_come_back() {
    let engine = start_engine(EngineOptions { max_batch: 1, waiting_max: 0, ..options() });
    let server = Server::start(serve_options(engine)).expect("starts");
    let answer = post(server.address(), "/v1/chat/completions", &chat("x", 1));
    let error = refused(&answer, 503, &["overloaded"]);
    assert_eq!(error["code"], "overloaded");
    assert!(answer.head.contains("retry-after: 1"), "{}", answer.head);
}

/// Counting the tokens of such a text would take minutes and gigabytes.
#[test]
fn a_text_that_cannot_fit_is_refused_before_it_is_counted() {
    let text = "a ".repeat(30_000);
    let chat = json!({"messages": [{"role": "user", "content": text}]});
    let prompt = json!({"prompt": text});
    for (path, body) in
        [("/tokenize", &prompt), ("/v1/completions", &prompt), ("/v1/chat/completions", &chat)]
    {
        let words = ["maximum context length is 512 tokens", "your text has"];
        let error = refused(&post(shared(), path, body), 400, &words);
        assert_eq!(error["code"], "context_length_exceeded", "{path}");
    }
}
