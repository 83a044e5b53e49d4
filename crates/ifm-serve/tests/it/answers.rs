//! Whole answers, models, tokens.

use super::*;

#[test]
fn a_chat_is_answered_with_usage() {
    let answer = post(shared(), "/v1/chat/completions", &chat("Hello there", 7));
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert!(answer.head.contains("content-type: application/json"));
    let json = answer.json();
    assert_eq!(json["object"], "chat.completion");
    assert_eq!(json["model"], "nano");
    assert!(json["id"].as_str().is_some_and(|id| id.starts_with("chatcmpl-")));
    assert_eq!(json["choices"][0]["message"]["role"], "assistant");
    assert!(json["choices"][0]["message"]["content"].is_string());
    assert_eq!(json["choices"][0]["finish_reason"], "length");
    assert_eq!(json["usage"]["completion_tokens"], 7);
    let tokens = post(shared(), "/tokenize", &chat("Hello there", 7)).json();
    assert_eq!(json["usage"]["prompt_tokens"], tokens["count"]);
    let total = tokens["count"].as_u64().expect("a count") + 7;
    assert_eq!(json["usage"]["total_tokens"], total);
}

#[test]
fn completions_take_texts_and_tokens() {
    let tokens = post(shared(), "/tokenize", &json!({"prompt": "Once upon a time"})).json();
    let prompts =
        [json!("Once upon a time"), json!(["Once upon a time"]), tokens["tokens"].clone()];
    let answers: Vec<Value> = prompts
        .into_iter()
        .map(|prompt| {
            let body = json!({"prompt": prompt, "temperature": 0, "ignore_eos": true});
            post(shared(), "/v1/completions", &body).json()
        })
        .collect();
    for answer in &answers {
        assert_eq!(answer["object"], "text_completion");
        assert_eq!(answer["usage"]["completion_tokens"], 16, "the default of the API");
        assert_eq!(answer["usage"]["prompt_tokens"], tokens["count"]);
        assert_eq!(answer["choices"], answers[0]["choices"]);
    }
}

#[test]
fn seeds_make_samples_repeatable() {
    let sample = |seed: u64| {
        let fields = json!({"temperature": 1.2, "top_p": 0.95, "seed": seed});
        let answer = post(shared(), "/v1/chat/completions", &with(chat("Hi", 12), &fields)).json();
        answer["choices"][0]["message"]["content"].clone()
    };
    assert_eq!(sample(5), sample(5));
    assert_ne!(sample(5), sample(6));
}

#[test]
fn stop_strings_end_an_answer() {
    let whole = post(shared(), "/v1/chat/completions", &chat("Stop me", 40)).json();
    let text = whole["choices"][0]["message"]["content"].as_str().expect("text").to_owned();
    let characters: Vec<(usize, char)> = text.char_indices().collect();
    let stop = &text[characters[15].0..characters[27].0];
    let body = with(chat("Stop me", 40), &json!({"stop": ["never there", stop]}));
    let stopped = post(shared(), "/v1/chat/completions", &body).json();
    let first = text.find(stop).expect("it is there");
    assert_eq!(stopped["choices"][0]["message"]["content"], text[..first]);
    assert_eq!(stopped["choices"][0]["finish_reason"], "stop");
    assert!(stopped["usage"]["completion_tokens"].as_u64() < Some(40));
}

#[test]
fn without_a_limit_a_chat_may_fill_the_context() {
    let mut body = chat("Go on", 1);
    body.as_object_mut().expect("an object").remove("max_tokens");
    let json = post(shared(), "/v1/chat/completions", &body).json();
    assert_eq!(json["usage"]["total_tokens"], 512);
}

#[test]
fn models_are_listed() {
    let list = get(shared(), "/v1/models").json();
    assert_eq!(list["object"], "list");
    let model = &list["data"][0];
    assert_eq!((&model["id"], &model["max_model_len"]), (&json!("nano"), &json!(512)));
    assert_eq!(model["meta"]["random_seed"], 1);
    assert_eq!(model["meta"]["prefix_cache"], false);
    assert_eq!(get(shared(), "/v1/models/nano").json()["id"], "nano");
    assert_eq!(get(shared(), "/v1/models/gpt-5").status, 404);
}

#[test]
fn tokens_become_text_again() {
    let text = "Some text, with ünicode 😀.";
    let body = json!({"prompt": text, "return_token_strs": true});
    let tokens = post(shared(), "/tokenize", &body).json();
    let ids = tokens["tokens"].as_array().expect("a list");
    assert_eq!(tokens["count"], ids.len());
    assert_eq!(tokens["token_strs"].as_array().map(Vec::len), Some(ids.len()));
    assert_eq!(tokens["max_model_len"], 512);
    let body = json!({"tokens": ids});
    assert_eq!(post(shared(), "/detokenize", &body).json()["prompt"], text);
}

#[test]
fn health_and_version_answer() {
    assert_eq!(get(shared(), "/health").status, 200);
    let version = get(shared(), "/version").json();
    assert!(version["version"].is_string());
    assert!(version["simulated"].is_null(), "it is real");
    // An engine without a prefix cache has none to reset.
    assert_eq!(post(shared(), "/reset_prefix_cache", &json!({})).status, 404);
}
