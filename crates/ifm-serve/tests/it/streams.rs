//! Event streams: one event for each token, each sent on its own.

use super::*;

fn stream(body: &Value, fields: &Value) -> Value {
    with(with(body.clone(), &json!({"stream": true})), fields)
}

fn content(events: &[Value]) -> String {
    events.iter().filter_map(|event| event["choices"][0]["delta"]["content"].as_str()).collect()
}

#[test]
fn a_chat_streams_one_event_for_each_token() {
    let body = chat("Tell me a story with ünicode", 30);
    let whole = post(shared(), "/v1/chat/completions", &body).json();
    let fields = json!({"stream_options": {"include_usage": true}});
    let answer = post(shared(), "/v1/chat/completions", &stream(&body, &fields));
    assert!(answer.head.contains("content-type: text/event-stream"), "{}", answer.head);
    assert_eq!(answer.chunks.len(), 30, "every token is flushed on its own");
    let events = answer.events();
    // Role, tokens, end, usage.
    assert_eq!(events.len(), 1 + 30 + 1 + 1);
    assert_eq!(events[0]["choices"][0]["delta"]["role"], "assistant");
    for event in &events[1..31] {
        let choice = &event["choices"][0];
        assert!(choice["delta"]["content"].is_string() && choice["delta"]["role"].is_null());
        assert!(choice["finish_reason"].is_null());
        assert_eq!(event["object"], "chat.completion.chunk");
        assert_eq!(event["id"], events[0]["id"]);
    }
    assert_eq!(events[31]["choices"][0]["finish_reason"], "length");
    assert_eq!(events[32]["choices"], json!([]));
    assert_eq!(events[32]["usage"]["completion_tokens"], 30);
    assert_eq!(events[32]["usage"]["prompt_tokens"], whole["usage"]["prompt_tokens"]);
    assert_eq!(content(&events), whole["choices"][0]["message"]["content"]);
}

#[test]
fn usage_can_come_with_every_event() {
    let fields = json!({"stream_options": {"continuous_usage_stats": true}});
    let body = stream(&chat("Count", 5), &fields);
    let events = post(shared(), "/v1/chat/completions", &body).events();
    let counts: Vec<u64> = events
        .iter()
        .map(|event| event["usage"]["completion_tokens"].as_u64().expect("usage"))
        .collect();
    assert_eq!(counts, [0, 1, 2, 3, 4, 5, 5]);
}

#[test]
fn a_completion_says_with_its_last_token_why_it_ended() {
    let body =
        json!({"prompt": "Once", "max_tokens": 6, "stream": true, "ignore_eos": true, "seed": 1});
    let answer = post(shared(), "/v1/completions", &body);
    assert_eq!(answer.chunks.len(), 6);
    let events = answer.events();
    assert_eq!(events.len(), 6);
    for (index, event) in events.iter().enumerate() {
        assert!(event["choices"][0]["text"].is_string());
        let reason = if index == 5 { json!("length") } else { Value::Null };
        assert_eq!(event["choices"][0]["finish_reason"], reason);
    }
}

#[test]
fn held_back_text_leaves_empty_events() {
    let body = chat("Stop in the middle", 40);
    let whole = post(shared(), "/v1/chat/completions", &body).json();
    let text = whole["choices"][0]["message"]["content"].as_str().expect("text").to_owned();
    let characters: Vec<(usize, char)> = text.char_indices().collect();
    let stop = &text[characters[15].0..characters[30].0];
    let fields = json!({"stop": stop, "stream_options": {"include_usage": true}});
    let events = post(shared(), "/v1/chat/completions", &stream(&body, &fields)).events();
    let usage = &events[events.len() - 1]["usage"];
    assert_eq!(usage["completion_tokens"], events.len() - 3, "an event for each token");
    assert_eq!(events[events.len() - 2]["choices"][0]["finish_reason"], "stop");
    assert_eq!(content(&events), text[..text.find(stop).expect("it is there")]);
}

#[test]
fn eight_streams_at_once_are_as_each_alone() {
    let bodies: Vec<Value> = (0..8)
        .map(|index| chat(&format!("Stream {index} {}", "word ".repeat(index * 7)), 20 + index))
        .collect();
    let alone: Vec<Value> = bodies
        .iter()
        .map(|body| post(shared(), "/v1/chat/completions", body).json()["choices"].clone())
        .collect();
    let threads: Vec<_> = bodies
        .into_iter()
        .map(|body| {
            let body = stream(&body, &json!({}));
            std::thread::spawn(move || post(shared(), "/v1/chat/completions", &body).events())
        })
        .collect();
    for (index, (thread, alone)) in threads.into_iter().zip(alone).enumerate() {
        let events = thread.join().expect("a stream");
        assert_eq!(content(&events), alone[0]["message"]["content"], "stream {index}");
        assert_eq!(events.len(), 1 + 20 + index + 1);
    }
}

#[test]
fn a_client_that_leaves_cancels_its_request() {
    let server =
        Server::start(serve_options(start_engine(EngineOptions { max_batch: 1, ..options() })))
            .expect("starts");
    let address = server.address();
    // One that streams and one that waits for the whole answer: each would take the only
    // place in the batch until the context is full.
    for stream_flag in [true, false] {
        let body = with(chat("Go on", 480), &json!({"stream": stream_flag})).to_string();
        let connection = send(address, "POST /v1/chat/completions HTTP/1.1", body.as_bytes());
        if stream_flag {
            let mut reader = BufReader::new(&connection);
            read_head(&mut reader);
            assert!(read_chunk(&mut reader).is_some());
        }
        drop(connection);
    }
    let next = post(address, "/v1/chat/completions", &chat("And now", 3)).json();
    assert_eq!(next["usage"]["completion_tokens"], 3);
    let page = get(address, "/metrics").text();
    let line = page.lines().find(|line| line.contains("finished_reason=\"length\""));
    assert!(line.is_some_and(|line| line.ends_with(" 1")), "only the last one ended: {page}");
}

#[test]
fn a_connection_serves_one_request_after_another() {
    let mut stream_socket = TcpStream::connect(shared()).expect("connects");
    let mut reader = BufReader::new(stream_socket.try_clone().expect("a second handle"));
    for _ in 0..3 {
        let body = stream(&chat("Again", 4), &json!({})).to_string();
        let length = body.len();
        let head = format!(
            "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: {length}\r\n\r\n"
        );
        stream_socket.write_all((head + &body).as_bytes()).expect("sends");
        assert!(read_head(&mut reader).starts_with("HTTP/1.1 200"));
        let mut chunks = Vec::new();
        while let Some(chunk) = read_chunk(&mut reader) {
            chunks.push(chunk);
        }
        assert!(chunks.concat().ends_with("data: [DONE]\n\n"));
    }
}
