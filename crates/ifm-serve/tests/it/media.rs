//! Chats with images.

use super::*;
use ifm_serve::{ImageTokens, MediaOptions};

/// The head of a PNG file of 56 x 56 and of 112 x 56 pixels, which is all that the server reads.
const SMALL: &str = "iVBORw0KGgoAAAANSUhEUgAAADgAAAA4";
const WIDE: &str = "iVBORw0KGgoAAAANSUhEUgAAAHAAAAA4";

fn with_images(images: &[&str]) -> Value {
    let image = |data: &&str| {
        let url = format!("data:image/png;base64,{data}");
        json!({"type": "image_url", "image_url": {"url": url}})
    };
    let mut parts: Vec<Value> = images.iter().map(image).collect();
    parts.push(json!({"type": "text", "text": "What is it?"}));
    with(chat("", 3), &json!({"messages": [{"role": "user", "content": parts}]}))
}

#[test]
fn images_count_as_tokens_of_the_prompt_and_are_told() {
    let media = MediaOptions { image_tokens: ImageTokens::Qwen2Vl, ..MediaOptions::default() };
    let options = ServeOptions { media, ..serve_options(start_engine(options())) };
    let server = Server::start(options).expect("starts");
    let ask = |images: &[&str]| {
        post(server.address(), "/v1/chat/completions", &with_images(images)).json()["usage"].clone()
    };
    let none = ask(&[]);
    assert!(none["prompt_tokens_details"].get("multimodal_tokens").is_none(), "{none}");
    let two = ask(&[SMALL, WIDE]);
    assert_eq!(two["prompt_tokens_details"]["multimodal_tokens"], json!({"image": 4 + 8}));
    let text_tokens = none["prompt_tokens"].as_u64().expect("a count");
    assert_eq!(two["prompt_tokens"], text_tokens + 12);
    let mut stream = with(with_images(&[SMALL]), &json!({"stream": true}));
    stream["stream_options"] = json!({"include_usage": true});
    let events = post(server.address(), "/v1/chat/completions", &stream).events();
    let usage = &events.last().expect("an event")["usage"];
    assert_eq!(usage["prompt_tokens_details"]["multimodal_tokens"], json!({"image": 4}));
    let page = get(server.address(), "/metrics").text();
    assert_eq!(sample(&page, "vllm:mm_cache_queries_total"), 3.0);
    assert_eq!(sample(&page, "vllm:mm_cache_hits_total"), 1.0);
}

#[test]
fn what_is_no_image_is_refused() {
    let answer = post(shared(), "/v1/chat/completions", &with_images(&["aGVsbG8="]));
    assert_eq!(answer.status, 400);
    let message = answer.json()["error"]["message"].to_string();
    assert!(message.contains("Failed to load image: cannot identify image file"), "{message}");
}
