//! APIs beside OpenAI's first two, as their own clients read them.

use super::*;

/// The head of a PNG file of 56 x 56 pixels, which is all that the server reads: 256 tokens.
const SMALL: &str = "iVBORw0KGgoAAAANSUhEUgAAADgAAAA4";
/// The path of each, a prompt with an image and a length of 3 tokens in its words, and where its whole answer has
/// the text, and the counts of prompt and output.
fn cases() -> Vec<(&'static str, Value, [&'static str; 3])> {
    let data_url = format!("data:image/png;base64,{SMALL}");
    vec![
        (
            "/v1/responses",
            json!({"max_output_tokens": 3, "stream": false, "instructions": "Be brief.", "input": [
                {"role": "user", "content": [
                    {"type": "input_image", "image_url": data_url},
                    {"type": "input_text", "text": "What is it?"}]},
                {"type": "function_call", "call_id": "1", "name": "look", "arguments": "{}"},
                {"type": "function_call_output", "call_id": "1", "output": "A cat."}]}),
            ["/output/0/content/0/text", "/usage/input_tokens", "/usage/output_tokens"],
        ),
        (
            "/v1/messages",
            json!({"max_tokens": 3, "stream": false, "system": "Be brief.", "messages": [
                {"role": "user", "content": [
                    {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": SMALL}},
                    {"type": "text", "text": "What is it?"}]},
                {"role": "assistant", "content": [
                    {"type": "tool_use", "id": "1", "name": "look", "input": {}}]},
                {"role": "user", "content": [
                    {"type": "tool_result", "tool_use_id": "1", "content": "A cat."}]}]}),
            ["/content/0/text", "/usage/input_tokens", "/usage/output_tokens"],
        ),
        (
            "/api/chat",
            json!({"options": {"num_predict": 3}, "stream": false, "messages": [
                {"role": "user", "content": "What is it?", "images": [SMALL]}]}),
            ["/message/content", "/prompt_eval_count", "/eval_count"],
        ),
        (
            "/api/generate",
            json!({"options": {"num_predict": 3}, "stream": false, "prompt": "What is it?", "images": [SMALL]}),
            ["/response", "/prompt_eval_count", "/eval_count"],
        ),
        (
            "/generate",
            json!({"sampling_params": {"max_new_tokens": 3, "ignore_eos": true}, "stream": false,
                "text": "<image>What is it?", "image_data": [data_url]}),
            ["/text", "/meta_info/prompt_tokens", "/meta_info/completion_tokens"],
        ),
        (
            "/completion",
            json!({"n_predict": 3, "stream": false, "prompt": {
                "prompt_string": "<__media__>What is it?", "multimodal_data": [SMALL]}}),
            ["/content", "/tokens_evaluated", "/tokens_predicted"],
        ),
    ]
}

/// The objects of a stream: of events, or of lines.
fn objects(answer: &Answer) -> Vec<Value> {
    let text = answer.text();
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with("event: "));
    let data = lines.map(|line| line.strip_prefix("data: ").unwrap_or(line));
    data.filter(|data| *data != "[DONE]")
        .map(|data| serde_json::from_str(data).unwrap_or_else(|_| panic!("{data}")))
        .collect()
}

#[test]
fn a_stream_has_the_text_and_the_counts_of_the_whole_answer() {
    for (path, body, [text, prompt, output]) in cases() {
        // The seed of what is drawn makes both answers one.
        let sampled = match path {
            "/api/chat" | "/api/generate" => json!({"num_predict": 3, "seed": 7}),
            "/generate" => {
                json!({"max_new_tokens": 3, "ignore_eos": true, "temperature": 0})
            }
            _ => Value::Null,
        };
        let body = match path {
            "/api/chat" | "/api/generate" => with(body, &json!({"options": sampled})),
            "/generate" => with(body, &json!({"sampling_params": sampled})),
            _ => with(body, &json!({"seed": 7, "ignore_eos": true})),
        };
        let whole = post(shared(), path, &body);
        assert_eq!(whole.status, 200, "{path}: {}", whole.text());
        let whole = whole.json();
        let at =
            |pointer: &str| whole.pointer(pointer).unwrap_or_else(|| panic!("{path}: {whole}"));
        let (prompt, output) = (at(prompt).as_u64(), at(output).as_u64());
        // The image and the words.
        assert!(prompt > Some(256), "{path}: {whole}");
        assert!(output.is_some_and(|tokens| (1..=3).contains(&tokens)), "{path}: {whole}");
        let streamed = post(shared(), path, &with(body, &json!({"stream": true})));
        let objects = objects(&streamed);
        let all = objects.iter().map(Value::to_string).collect::<String>();
        let told = |words: &[&str], count: Option<u64>| {
            let count = count.unwrap_or_default();
            words.iter().any(|word| all.contains(&format!("\"{word}\":{count}")))
        };
        let counts = ["prompt_tokens", "input_tokens", "prompt_eval_count", "tokens_evaluated"];
        assert!(told(&counts, prompt), "{path}: {all}");
        let counts = ["completion_tokens", "output_tokens", "eval_count", "tokens_predicted"];
        assert!(told(&counts, output), "{path}: {all}");
        let said: String = match path {
            // Each repeats what was said before.
            "/generate" => {
                objects.last().and_then(|last| last["text"].as_str()).unwrap_or_default().to_owned()
            }
            _ => objects
                .iter()
                .filter(|event| event["type"] != "content_block_start")
                .filter_map(|event| {
                    let places =
                        ["/delta", "/delta/text", "/message/content", "/response", "/content"];
                    places.iter().find_map(|place| event.pointer(place)?.as_str())
                })
                .collect(),
        };
        assert_eq!(at(text), &Value::from(said), "{path}: {all}");
    }
}

#[test]
fn what_cannot_be_answered_is_named() {
    for (path, body, param) in [
        ("/v1/responses", json!({}), "input"),
        ("/v1/responses", json!({"input": [{"type": "computer_call"}]}), "input"),
        ("/v1/messages", json!({"messages": []}), "max_tokens"),
        ("/v1/messages", json!({"max_tokens": 3}), "messages"),
        ("/api/chat", json!({}), "messages"),
        ("/generate", json!({}), "text"),
        ("/completion", json!({"prompt": "a", "grammar": "root ::= \"a\""}), "grammar"),
    ] {
        let answer = post(shared(), path, &body);
        assert_eq!(answer.status, 400, "{path}");
        assert_eq!(answer.json()["error"]["param"], param, "{path}: {}", answer.text());
    }
}

#[test]
fn anthropics_clients_bring_their_key_in_a_header_of_its_own() {
    let key = Some("secret".to_owned());
    let options = ServeOptions { api_key: key, ..serve_options(start_engine(options())) };
    let server = Server::start(options).expect("starts");
    let body =
        json!({"max_tokens": 1, "messages": [{"role": "user", "content": "Hi"}]}).to_string();
    for (key, status) in [("secret", 200), ("other", 401)] {
        let head = format!("POST /v1/messages HTTP/1.1\r\nx-api-key: {key}");
        assert_eq!(receive(send(server.address(), &head, body.as_bytes())).status, status);
    }
}
