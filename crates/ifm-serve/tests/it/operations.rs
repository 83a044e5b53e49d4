//! Starting, stopping, and what can be seen of the work.

use super::*;

#[test]
fn metrics_have_vllms_names_and_add_up() {
    let server = Server::start(serve_options(start_engine(options()))).expect("starts");
    let address = server.address();
    let whole = post(address, "/v1/chat/completions", &chat("Count this", 9)).json();
    let streamed = with(chat("And this", 5), &json!({"stream": true}));
    post(address, "/v1/chat/completions", &streamed);
    let answer = get(address, "/metrics");
    assert!(answer.head.contains("text/plain; version=0.0.4"), "{}", answer.head);
    let page = answer.text();
    let value = |name: &str| sample(&page, &format!("vllm:{name}{{model_name=\"nano\""));
    for gauge in [
        "num_requests_running",
        "num_requests_waiting",
        "kv_cache_usage_perc",
        "gpu_cache_usage_perc",
    ] {
        assert_eq!(value(gauge), 0.0, "{gauge}");
    }
    assert_eq!(value("generation_tokens_total"), 14.0);
    let prompt = whole["usage"]["prompt_tokens"].as_f64().expect("usage");
    assert!(value("prompt_tokens_total") > prompt);
    assert_eq!(value("time_to_first_token_seconds_count"), 2.0);
    assert_eq!(value("inter_token_latency_seconds_count"), 12.0);
    assert_eq!(value("time_per_output_token_seconds_count"), 2.0);
    assert_eq!(value("e2e_request_latency_seconds_count"), 2.0);
    assert!(value("e2e_request_latency_seconds_sum") > 0.0);
    let ended = "vllm:request_success_total{model_name=\"nano\",finished_reason=\"length\"}";
    assert_eq!(sample(&page, ended), 2.0);
    assert!(page.contains("# TYPE vllm:time_to_first_token_seconds histogram"));
    assert!(page.contains("le=\"+Inf\""));
}

#[test]
fn a_stopped_server_refuses_connections() {
    let engine = start_engine(options());
    let server = Server::start(serve_options(engine.clone())).expect("starts");
    let address = server.address();
    assert_eq!(get(address, "/health").status, 200);
    server.stop().expect("ends well");
    assert!(TcpStream::connect(address).is_err());
    server.stop().expect("twice is as good as once");
    // The engine outlives its server.
    assert_eq!(engine.stats().running, 0);
    let again = Server::start(serve_options(engine)).expect("starts again");
    assert_eq!(get(again.address(), "/health").status, 200);
}

#[test]
fn a_shutdown_lets_answers_end() {
    let server = Server::start(serve_options(start_engine(options()))).expect("starts");
    let body = with(chat("Finish this", 60), &json!({"stream": true})).to_string();
    let connection = send(server.address(), "POST /v1/chat/completions HTTP/1.1", body.as_bytes());
    let mut reader = BufReader::new(connection);
    read_head(&mut reader);
    let mut text = read_chunk(&mut reader).expect("the first token");
    server.shutdown_handle().request();
    while let Some(chunk) = read_chunk(&mut reader) {
        text.push_str(&chunk);
    }
    assert!(text.ends_with("data: [DONE]\n\n"), "{text}");
    assert_eq!(text.matches("\"content\"").count(), 61);
    server.stop().expect("ends well");
}

#[test]
fn an_engine_that_stops_ends_its_streams_with_an_error() {
    let engine = start_engine(options());
    let server = Server::start(serve_options(engine.clone())).expect("starts");
    let body = with(chat("Never to end", 480), &json!({"stream": true})).to_string();
    let connection = send(server.address(), "POST /v1/chat/completions HTTP/1.1", body.as_bytes());
    let mut reader = BufReader::new(connection);
    read_head(&mut reader);
    assert!(read_chunk(&mut reader).is_some());
    engine.shutdown();
    let mut last = String::new();
    while let Some(chunk) = read_chunk(&mut reader) {
        last = chunk;
    }
    let (error, done) = last.split_once("\n\n").expect("two events");
    assert!(
        parse_event(error)["error"]["message"]
            .as_str()
            .is_some_and(|text| text.contains("shutting down"))
    );
    assert_eq!(done, "data: [DONE]\n\n");
    let refused = post(server.address(), "/v1/chat/completions", &chat("x", 1));
    assert_eq!(refused.status, 503);
}

#[test]
fn a_taken_address_is_an_error() {
    let engine = start_engine(options());
    let first = Server::start(serve_options(engine.clone())).expect("starts");
    let options = ServeOptions { listen: first.address(), ..serve_options(engine) };
    let error = Server::start(options).expect_err("taken");
    assert!(error.to_string().contains(&first.address().to_string()), "{error}");
}
