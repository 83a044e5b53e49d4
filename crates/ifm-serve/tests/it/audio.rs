//! Recordings and tones.

use super::*;

fn wav(seconds: u32) -> Vec<u8> {
    let mut file = b"RIFF\xff\xff\xff\xffWAVEfmt \x10\0\0\0\x01\0\x01\0".to_vec();
    file.extend(1000_u32.to_le_bytes());
    file.extend(1000_u32.to_le_bytes());
    file.extend(b"\x01\0\x08\0data\xff\xff\xff\xff");
    file.extend(vec![0x80; seconds as usize * 1000]);
    file
}

fn ask(file: &[u8], fields: &[(&str, &str)]) -> Answer {
    ask_at(shared(), file, fields)
}

fn ask_at(address: SocketAddr, file: &[u8], fields: &[(&str, &str)]) -> Answer {
    let mut body = Vec::new();
    for (name, value) in fields {
        let part = "--x\r\nContent-Disposition: form-data; name=";
        body.extend(format!("{part}\"{name}\"\r\n\r\n{value}\r\n").bytes());
    }
    body.extend(b"--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a\"\r\n\r\n");
    body.extend(file);
    body.extend(b"\r\n--x--\r\n");
    let head = "POST /v1/audio/transcriptions HTTP/1.1\r\n\
                Content-Type: multipart/form-data; boundary=x";
    receive(send(address, head, &body))
}

#[test]
fn a_recording_is_answered_whole_or_word_by_word() {
    let whole = ask(&wav(4), &[("response_format", "verbose_json"), ("language", "de")]).json();
    assert_eq!(whole["usage"], json!({"type": "duration", "seconds": 4}));
    assert_eq!((&whole["duration"], &whole["language"]), (&json!(4.0), &json!("de")));
    let text = whole["text"].as_str().expect("a text");
    assert_eq!(text.split(' ').count(), 12);
    let stream = [("stream", "true"), ("stream_include_usage", "true")];
    let events = ask(&wav(4), &stream).events();
    let said: String = events
        .iter()
        .filter_map(|event| event["choices"][0]["delta"]["content"].as_str())
        .collect();
    assert_eq!((events.len(), said.trim()), (13, text));
    assert_eq!(events[11]["choices"][0]["finish_reason"], "stop");
    let usage = json!({"prompt_tokens": 404, "completion_tokens": 12, "total_tokens": 416});
    assert_eq!((&events[12]["usage"], &events[12]["choices"]), (&usage, &json!([])));
    let few = ask(&wav(4), &[("stream", "true"), ("max_completion_tokens", "2")]).events();
    assert_eq!(few.len(), 2, "and no usage unless it is asked for");
}

#[test]
fn what_is_no_recording_is_refused() {
    for (file, fields, status, word) in [
        (Vec::new(), [("language", "en")], 400, "empty"),
        (b"ID3 and so on".to_vec(), [("language", "en")], 400, "no WAV"),
        (wav(1), [("model", "other")], 404, "other"),
        (vec![0; 150_000], [("language", "en")], 400, "25 MB"),
    ] {
        let answer = ask(&file, &fields);
        assert_eq!(answer.status, status, "{}", answer.text());
        assert!(answer.text().contains(word), "{}", answer.text());
    }
}

#[test]
fn a_text_becomes_events_or_an_error() {
    let path = "/v1/audio/speech";
    let body = json!({"input": "abc", "voice": "v", "stream_format": "sse"});
    let answer = post(shared(), path, &body);
    let text = answer.text();
    let events: Vec<Value> = text.split_terminator("\n\n").map(parse_event).collect();
    let kinds: Vec<&str> = events.iter().filter_map(|event| event["type"].as_str()).collect();
    assert_eq!(kinds, ["speech.audio.delta", "speech.audio.delta", "speech.audio.done"]);
    assert_eq!(events[2]["usage"]["output_tokens"], 2);
    for (body, word) in [
        (json!({"voice": "v"}), "input"),
        (json!({"input": "a", "response_format": "opus"}), "opus"),
        (json!({"input": "a", "stream_format": "x"}), "stream_format"),
    ] {
        let answer = post(shared(), path, &body);
        assert_eq!(answer.status, 400);
        assert!(answer.text().contains(word), "{}", answer.text());
    }
}

#[test]
fn the_servers_own_counters_know_recordings_and_speech() {
    let server = Server::start(serve_options(start_engine(options()))).expect("starts");
    let address = server.address();
    ask_at(address, &wav(4), &[]);
    ask_at(address, &wav(4), &[("stream", "true")]).events();
    post(
        address,
        "/v1/audio/speech",
        &json!({"input": "abc", "voice": "v", "stream_format": "sse"}),
    );
    let refused = ask_at(address, b"none", &[]);
    assert_eq!(refused.status, 400);
    let page = get(address, "/metrics").text();
    let value = |name: &str| sample(&page, &format!("vllm:{name}{{model_name=\"nano\""));
    let ended = "vllm:request_success_total{model_name=\"nano\",finished_reason=\"stop\"}";
    assert_eq!(sample(&page, ended), 3.0);
    assert_eq!(value("e2e_request_latency_seconds_count"), 3.0);
    assert_eq!((value("num_requests_running"), value("generation_tokens_total")), (0.0, 24.0));
    assert_eq!(value("prompt_tokens_total"), 808.0);
    assert_eq!(value("time_to_first_token_seconds_count"), 1.0, "sound has no first token");
}
