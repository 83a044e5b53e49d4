//! Calibration against servers that count by other rules.

use super::*;
use crate::preflight::FieldRules;
use crate::testing::{Said, server};
use crate::traced_client::Caller;
use ifm_core::spec::Api;
use ifm_wire::request::TemplateSpec;
use ifm_wire::{Expect, RequestTemplate};
use serde_json::{Map, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// A server: its count for the text of a prompt (absent: no usage), its tokenizer's count for a
/// text (absent: no endpoint), and the longest prompt that it accepts.
struct Server<Count, Tokenizer> {
    count: Count,
    tokenizer: Option<Tokenizer>,
    context: u32,
}

/// Calibrates against a server without a tokenizer endpoint.
fn against(
    prompt_tokens: (u32, u32),
    context_tokens: Option<u32>,
    count: impl Fn(&str) -> Option<u32> + Send + Sync + 'static,
) -> Result<Calibrated, Fault> {
    let server = Server { count, tokenizer: None::<fn(&str) -> u32>, context: u32::MAX };
    calibrated_by(server, prompt_tokens, context_tokens).0
}

/// The result, and how many requests for one token it took.
fn calibrated_by(
    asked_server: Server<
        impl Fn(&str) -> Option<u32> + Send + Sync + 'static,
        impl Fn(&str) -> u32 + Send + Sync + 'static,
    >,
    prompt_tokens: (u32, u32),
    context_tokens: Option<u32>,
) -> (Result<Calibrated, Fault>, u32) {
    let requests = Arc::new(AtomicU32::new(0));
    let seen = requests.clone();
    let endpoint = server(move |asked| {
        let Server { count, tokenizer, context } = &asked_server;
        assert_eq!(asked.method, "POST");
        if asked.path == "/tokenize" {
            let text = asked.body["content"].as_str().unwrap();
            return match tokenizer {
                Some(tokenizer) => {
                    Said::Json(200, json!({"tokens": vec![0; tokenizer(text) as usize]}))
                }
                None => Said::Json(404, json!({"error": "File Not Found"})),
            };
        }
        seen.fetch_add(1, Ordering::Relaxed);
        assert_eq!(asked.body["max_tokens"].as_u64(), Some(1));
        let counted = count(asked.body["prompt"].as_str().unwrap());
        if counted.is_some_and(|tokens| tokens >= *context) {
            let message =
                format!("the request exceeds the available context size ({context} tokens)");
            return Said::Json(400, json!({"error": {"code": 400, "message": message}}));
        }
        let usage = counted.map(|tokens| json!({"prompt_tokens": tokens}));
        let choice = json!({"index": 0, "text": "a", "finish_reason": "length"});
        Said::Json(200, json!({"choices": [choice], "usage": usage}))
    });
    let template = RequestTemplate::new(&TemplateSpec {
        api: Api::Completions,
        host: "h",
        path: "/v1/completions",
        model: "m",
        authorization: None,
        headers: &[],
        stream: false,
        ignore_eos: true,
        temperature: None,
        extra_body: &Map::new(),
    });
    let ask = CalibrationAsk {
        tokenizer: &Tokenizer::embedded().unwrap(),
        prompt_tokens: LengthRange::new(prompt_tokens.0, prompt_tokens.1).unwrap(),
        seed: 1,
        context_tokens,
        server: ServerTokenizer::of(Some("llama.cpp"), "m"),
    };
    let expect = Expect { api: Api::Completions, keep_text: false, stream: false };
    let caller = Caller::new(endpoint);
    let mut preflight = Preflight::new(caller, template.unwrap(), expect, FieldRules::default());
    let calibrated = calibrate(&mut preflight, &ask);
    let requests = requests.load(Ordering::Relaxed);
    assert!(requests <= REQUESTS_MAX);
    (calibrated, requests)
}

/// Like a tokenizer that splits words of more than five letters, after a template.
fn in_parts(text: &str) -> Option<u32> {
    Some(17 + text.split(' ').map(|word| 1 + u32::from(word.len() > 5)).sum::<u32>())
}

#[test]
fn another_tokenizer_and_a_template_are_found_out() {
    for (prompt_tokens, context) in [((128, 128), None), ((100, 4000), Some(8192))] {
        let calibrated = against(prompt_tokens, context, in_parts).unwrap();
        let facts = calibrated.facts;
        assert_eq!(facts.template_tokens, 17);
        assert!(calibrated.is_close && facts.requests <= 8, "{calibrated:?}");
        // By counting every word that prompts consist of.
        let [(first, _), (second, _)] =
            word_texts(&Tokenizer::embedded().unwrap(), u32::MAX).unwrap();
        let words = format!("{first} {second}");
        let all = f64::from(in_parts(&words).unwrap() - 17) / words.split(' ').count() as f64;
        assert!((facts.ratio / all - 1.0).abs() < 0.01, "{} and {all}", facts.ratio);
    }
}

#[test]
fn the_same_tokenizer_has_the_ratio_one() {
    let calibrated = against((64, 64), None, |text| Some(text.split(' ').count() as u32)).unwrap();
    assert_eq!((calibrated.facts.template_tokens, calibrated.facts.ratio), (0, 1.0));
    assert_eq!((calibrated.facts.error_share, calibrated.is_close), (Some(0.0), true));
}

#[test]
fn a_small_context_is_kept() {
    let calibrated = against((50, 50), Some(128), |text| {
        let tokens = in_parts(text)?;
        assert!(tokens < 128, "{tokens}");
        Some(tokens)
    });
    assert_eq!(calibrated.unwrap().facts.template_tokens, 17);
}

#[test]
fn counts_that_are_none_are_not_believed() {
    let error = |count: fn(&str) -> Option<u32>| against((64, 64), None, count).unwrap_err();
    let unknown = |fault: Fault| match fault {
        Fault::Unknown(why) => why,
        other => panic!("nothing is known of lengths: {other:?}"),
    };
    assert!(unknown(error(|_| None)).contains("does not report"));
    assert!(unknown(error(|_| Some(10))).contains("do not add up"));
    let template = error(|text| Some(80 + text.len() as u32));
    assert!(matches!(template, Fault::Template(79 | 80, 64)), "{template:?}");
}

/// Why prompts would be far from the length asked for.
fn far(calibrated: Result<Calibrated, Fault>) -> String {
    match calibrated {
        Err(Fault::Far(why, _)) => why,
        other => panic!("{other:?}"),
    }
}

#[test]
fn lengths_that_cannot_be_reached_are_told() {
    // It counts long prompts by a different rule than short ones.
    let rather_more = |text: &str| {
        let words = text.split(' ').count() as u32;
        Some(if words > 2500 { words + words / 20 } else { words })
    };
    let calibrated = against((2600, 2600), None, rather_more).unwrap();
    assert_eq!(calibrated.facts.requests, REQUESTS_MAX, "it was tried once more");
    let nine_times = |text: &str| {
        let words = text.split(' ').count() as u32;
        Some(if words > 2500 { words * 9 } else { words })
    };
    assert!(far(against((4096, 4096), None, nine_times)).contains("by the server's count"));
}

#[test]
fn the_servers_own_tokenizer_is_asked_and_one_request_tells_the_template() {
    // The tokenizer adds one token at the start of each text; the template is 16 more.
    let text_tokens = |text: &str| in_parts(text).unwrap() - 17 + 1;
    let server = Server { count: in_parts, tokenizer: Some(text_tokens), context: 2048 };
    let (calibrated, requests) = calibrated_by(server, (256, 256), Some(2048));
    let calibrated = calibrated.unwrap();
    assert_eq!((calibrated.facts.template_tokens, calibrated.is_close), (17, true));
    // One request, and prompts of the requested length to check the result.
    assert_eq!(requests, 1 + 1024 / 256, "{calibrated:?}");
    assert_eq!(calibrated.facts.requests, requests);
}

#[test]
fn a_text_that_is_too_long_for_the_server_is_followed_by_shorter_ones() {
    // Every letter is a token, as with random weights: 1024 embedded-vocabulary tokens are some
    // 7000.
    let letters = |text: &str| Some(9 + text.len() as u32);
    for known in [None, Some(2048)] {
        let server = Server { count: letters, tokenizer: None::<fn(&str) -> u32>, context: 2048 };
        let (calibrated, requests) = calibrated_by(server, (256, 256), known);
        let calibrated = calibrated.unwrap();
        assert_eq!(calibrated.facts.template_tokens, 8, "the blank between the texts is one more");
        let share = calibrated.facts.error_share.unwrap();
        assert!(share.abs() < FAR_SHARE && requests <= REQUESTS_MAX, "{calibrated:?}");
    }
}

#[test]
fn a_server_that_takes_no_prompt_of_the_length_asked_for_gets_no_load() {
    let letters = |text: &str| Some(9 + text.len() as u32);
    let server = Server { count: letters, tokenizer: None::<fn(&str) -> u32>, context: 2048 };
    let why = far(calibrated_by(server, (4000, 4000), Some(2048)).0);
    assert!(why.contains("refused a prompt of 4000 tokens") && why.contains("2048"), "{why}");
    // It accepts the first text and nothing longer.
    let server = Server { count: letters, tokenizer: None::<fn(&str) -> u32>, context: 300 };
    let why = far(calibrated_by(server, (256, 256), None).0);
    assert!(why.contains("counts otherwise") && why.contains("context size"), "{why}");
}
