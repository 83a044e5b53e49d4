//! A simulated server from outside. Nothing here asks how fast the host is: times are those
//! that the simulation tells, or lower bounds.

use super::*;
use ifm_engine::Tokenizer;
use ifm_roofline::{Machine, Model, Precision, Setup};
use ifm_serve::{Backend, Faults, SimulatedError, SimulatedOptions};
use ifm_sim::{Ask, Constants, Deployment, Kind, Settings, Simulation, Speculation};
use std::time::{Duration, Instant};

/// Llama 3.1 8B on an H100 behind vLLM, with some settings changed.
fn deployment(change: impl FnOnce(&mut Settings)) -> Deployment {
    let setup = Setup::new(
        Machine::parse("h100-sxm").expect("a machine"),
        Model::find("llama-3.1-8b").expect("a model"),
        Precision::find("bf16").expect("a format"),
        1,
    )
    .expect("a setup");
    let constants = Constants::defaults(Kind::Vllm, &setup);
    let mut settings = Settings::defaults(Kind::Vllm, &setup);
    change(&mut settings);
    Deployment::new(setup, constants, settings).expect("a deployment")
}

fn simulate(options: SimulatedOptions, faults: &str) -> Server {
    let backend = Backend::simulate(options).expect("a simulation");
    let listen = SocketAddr::from(([127, 0, 0, 1], 0));
    let options = ServeOptions {
        faults: Faults::parse(faults, 3).expect("a list of faults"),
        per_request_metrics: true,
        ..ServeOptions::new(listen, backend)
    };
    Server::start(options).expect("starts")
}

fn quick() -> SimulatedOptions {
    SimulatedOptions { time_scale: 0.1, ..SimulatedOptions::new(deployment(|_| {})) }
}

fn ask(text: &str, max_tokens: usize) -> Value {
    let mut body = chat(text, max_tokens);
    body["model"] = json!("llama-3.1-8b");
    body
}

fn streamed(body: Value) -> Value {
    with(body, &json!({"stream": true, "stream_options": {"include_usage": true}}))
}

fn chatted(server: &Server, body: &Value) -> Value {
    let answer = post(server.address(), "/v1/chat/completions", body);
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()
}

fn content(events: &[Value]) -> String {
    events.iter().filter_map(|event| event["choices"][0]["delta"]["content"].as_str()).collect()
}

/// Gap between the first and the last token of a request alone, milliseconds.
fn predicted_ms(deployment: Deployment, prompt_tokens: u32, output_tokens: u32) -> f64 {
    let mut simulation = Simulation::new(deployment);
    let ask = Ask { prompt_tokens, output_tokens, blocks: Vec::new() };
    simulation.submit(0, ask).expect("it fits");
    while simulation.next_ns().is_some() {
        simulation.advance(None);
    }
    let stamps = simulation.take_finished().expect("it has ended").stamps;
    (stamps[stamps.len() - 1] - stamps[0]) as f64 / 1e6
}

#[test]
fn a_simulated_server_says_what_it_is() {
    let mut options = quick();
    options.notes.push(("calibration".to_owned(), "none".to_owned()));
    let server = simulate(options, "");
    assert_eq!(get(server.address(), "/version").json()["simulated"], true);
    let model = get(server.address(), "/v1/models").json()["data"][0].clone();
    assert_eq!(model["id"], "llama-3.1-8b");
    let meta = &model["meta"];
    assert_eq!((&meta["simulated"], &meta["stored_dtype"]), (&json!(true), &json!("bf16")));
    assert!(meta["machine"].as_str().is_some_and(|name| name.contains("H100")), "{meta}");
    assert_eq!(meta["calibration"], "none");
    let kv_tokens = meta["kv_tokens"].as_u64().expect("a count");
    assert!(kv_tokens > 131_072, "{meta}");
    assert_eq!(model["max_model_len"], 131_072, "more memory is no longer context");
    let page = get(server.address(), "/metrics").text();
    let blocks = deployment(|_| {}).blocks;
    assert!(page.contains(&format!("block_size=\"16\",num_gpu_blocks=\"{blocks}\"")), "{page}");
}

#[test]
fn the_tokens_of_an_answer_can_be_counted() {
    let server = simulate(quick(), "");
    let whole = chatted(&server, &ask("Count me", 30));
    let text = whole["choices"][0]["message"]["content"].as_str().expect("text");
    assert_eq!(whole["usage"]["completion_tokens"], 30);
    assert_eq!(whole["choices"][0]["finish_reason"], "length");
    let ids = Tokenizer::embedded().expect("embedded").encode(text).expect("ids");
    assert_eq!(ids.len(), 30, "{text}");
    let answer = post(server.address(), "/v1/chat/completions", &streamed(ask("Count me", 30)));
    assert_eq!(answer.chunks.len(), 30, "every token is flushed on its own");
    let events = answer.events();
    assert_eq!(content(&events), text, "the same prompt is answered alike");
    assert_eq!(events[32]["usage"]["prompt_tokens"], whole["usage"]["prompt_tokens"]);
    let other = simulate(SimulatedOptions { seed: 1, ..quick() }, "");
    let other = chatted(&other, &ask("Count me", 30));
    assert_ne!(other["choices"], whole["choices"], "another seed has other words");
    let long = post(server.address(), "/v1/chat/completions", &ask("x", 9_000_000));
    assert_eq!(long.json()["error"]["code"], "context_length_exceeded");
}

#[test]
fn a_stop_string_ends_an_answer() {
    let server = simulate(quick(), "");
    let whole = chatted(&server, &ask("Stop here", 30));
    let text = whole["choices"][0]["message"]["content"].as_str().expect("text");
    let words: Vec<&str> = text.split_whitespace().collect();
    let first =
        |word: &str| words.iter().position(|other| other.contains(word)).expect("it is one");
    for stop in [words[7].to_owned(), format!("{} {}", words[7], words[8])] {
        let place = text.find(&stop).expect("it is part of the answer");
        let mut body = ask("Stop here", 30);
        body["stop"] = json!([stop]);
        let ended = chatted(&server, &body);
        let choice = &ended["choices"][0];
        assert_eq!(choice["finish_reason"], "stop");
        assert_eq!(choice["message"]["content"], text[..place]);
        let tokens = first(words[7]) as u64 + stop.split(' ').count() as u64;
        assert_eq!(ended["usage"]["completion_tokens"], tokens);
        let events = post(server.address(), "/v1/chat/completions", &streamed(body)).events();
        assert_eq!(content(&events), text[..place], "the stream has the same text");
    }
    let mut body = ask("Stop here", 30);
    body["stop"] = json!(["never in any answer"]);
    assert_eq!(chatted(&server, &body)["choices"], whole["choices"]);
}

#[test]
fn times_are_those_of_the_simulation() {
    for (scale, faults, factor) in [(0.1, "", 0.1), (0.5, "throttle:1ms:3", 1.5)] {
        let options = SimulatedOptions { time_scale: scale, ..quick() };
        let server = simulate(options, faults);
        // The throttle begins before the next request can come.
        std::thread::sleep(Duration::from_millis(2));
        let start = Instant::now();
        let answer = chatted(&server, &ask("How long?", 40));
        let elapsed_ms = start.elapsed().as_secs_f64() * 1e3;
        let prompt = answer["usage"]["prompt_tokens"].as_u64().expect("usage") as u32;
        let expected = predicted_ms(deployment(|_| {}), prompt, 40) * factor;
        let told = &answer["metrics"];
        let generation = told["generation_time_ms"].as_f64().expect("a time");
        assert!((generation / expected - 1.0).abs() < 1e-3, "{generation} is not {expected}");
        assert!(elapsed_ms >= expected, "{elapsed_ms} is less than {expected}");
        let itl = told["mean_itl_ms"].as_f64().expect("a time");
        assert!((itl * 39.0 - generation).abs() < 1e-6);
        for name in ["queue_time_ms", "time_to_first_token_ms", "tokens_per_second"] {
            assert!(told[name].as_f64().is_some_and(|value| value >= 0.0), "{name}: {told}");
        }
    }
}

#[test]
fn prompts_are_found_again_until_the_cache_is_reset() {
    let server = simulate(quick(), "");
    let text = "Some words that stand at the start of every prompt. ".repeat(20);
    let cached = |answer: &Value| {
        let details = &answer["usage"]["prompt_tokens_details"]["cached_tokens"];
        details.as_u64().expect("a number of tokens")
    };
    let first = chatted(&server, &ask(&text, 40));
    let prompt = first["usage"]["prompt_tokens"].as_u64().expect("usage");
    assert_eq!(cached(&first), 0);
    // The last token has to be computed, so the block that it ends is not taken.
    let full = (prompt - 1) / 16 * 16;
    assert_eq!(cached(&chatted(&server, &ask(&text, 40))), full);
    let events = post(server.address(), "/v1/chat/completions", &streamed(ask(&text, 2))).events();
    let usage = &events[events.len() - 1]["usage"];
    assert_eq!(usage["prompt_tokens_details"]["cached_tokens"], full);
    // An answer that comes back is found as well.
    let mut next = ask(&text, 4);
    let messages = next["messages"].as_array_mut().expect("a list");
    messages.push(first["choices"][0]["message"].clone());
    messages.push(json!({"role": "user", "content": "And on."}));
    let next = chatted(&server, &next);
    assert!((prompt + 16..prompt + 40).contains(&cached(&next)), "{next}");
    let page = get(server.address(), "/metrics").text();
    let value = |name: &str| sample(&page, &format!("vllm:{name}{{"));
    let hits = 2 * full + cached(&next);
    assert_eq!(value("prefix_cache_hits_total"), hits as f64);
    let asked = next["usage"]["prompt_tokens"].as_u64().expect("usage");
    assert_eq!(value("prefix_cache_queries_total"), (3 * prompt + asked) as f64);
    assert_eq!(value("prompt_tokens_total"), (3 * prompt + asked) as f64);
    assert_eq!(value("generation_tokens_total"), 86.0);
    assert_eq!(value("num_requests_running") + value("num_requests_waiting"), 0.0);
    let reset = post(server.address(), "/reset_prefix_cache", &json!({}));
    assert_eq!((reset.status, reset.json()), (200, json!({"success": true})));
    assert_eq!(cached(&chatted(&server, &ask(&text, 4))), 0);
}

#[test]
fn drafts_bring_several_tokens_and_are_counted() {
    let speculation = Speculation { drafts: 3, acceptance: 0.8, draft_share: 0.0 };
    let drafting = deployment(|settings| settings.speculation = Some(speculation));
    let server =
        simulate(SimulatedOptions { time_scale: 0.1, ..SimulatedOptions::new(drafting) }, "");
    let events =
        post(server.address(), "/v1/chat/completions", &streamed(ask("Guess", 200))).events();
    let tokens = Tokenizer::embedded().expect("embedded").encode(&content(&events)).expect("ids");
    assert_eq!(tokens.len(), 200);
    assert!(events.len() < 150, "{} events have several tokens", events.len());
    let page = get(server.address(), "/metrics").text();
    let value = |name: &str| sample(&page, &format!("vllm:spec_decode_num_{name}"));
    let drafts = value("drafts_total");
    assert_eq!(drafts, events.len() as f64 - 4.0, "all but the first token, role, end and usage");
    assert_eq!(value("draft_tokens_total"), 3.0 * drafts);
    assert_eq!(value("accepted_tokens_total"), 199.0 - drafts, "each brings one of its own");
    let position = |number: u32| {
        let label = format!("model_name=\"llama-3.1-8b\",position=\"{number}\"");
        value(&format!("accepted_tokens_per_pos_total{{{label}}}"))
    };
    let positions = [position(0), position(1), position(2)];
    assert_eq!(positions.iter().sum::<f64>(), value("accepted_tokens_total"));
    assert!(positions.is_sorted_by(|one, next| one >= next), "{positions:?}");
    // Without a second model there is nothing to tell.
    let page = get(simulate(quick(), "").address(), "/metrics").text();
    assert!(!page.contains("spec_decode"));
}

#[test]
fn requests_without_room_are_put_back() {
    // More at once than there is room for; slower until the host has sent all of them in time.
    for time_scale in [0.1, 1.0, 10.0] {
        let small = deployment(|settings| settings.kv_tokens = Some(512));
        let server = simulate(SimulatedOptions { time_scale, ..SimulatedOptions::new(small) }, "");
        let address = server.address();
        let clients: Vec<_> = (0..8)
            .map(|index| {
                let body = ask(&format!("Number {index}"), 100);
                std::thread::spawn(move || post(address, "/v1/chat/completions", &body).json())
            })
            .collect();
        for client in clients {
            let usage = client.join().expect("an answer")["usage"].clone();
            assert_eq!(usage["completion_tokens"], 100, "nothing is lost");
        }
        let page = get(address, "/metrics").text();
        assert_eq!(sample(&page, "vllm:generation_tokens_total"), 800.0);
        if sample(&page, "vllm:num_preemptions_total") > 0.0 {
            return;
        }
    }
    panic!("nothing was put back");
}

#[test]
fn clients_that_leave_are_forgotten() {
    let server = simulate(quick(), "");
    let address = server.address();
    for body in [ask("Go on", 100_000), streamed(ask("Go on", 100_000))] {
        let body = body.to_string();
        let connection = send(address, "POST /v1/chat/completions HTTP/1.1", body.as_bytes());
        // Only a request that has begun can be left.
        while sample(&get(address, "/metrics").text(), "vllm:num_requests_running") < 1.0 {}
        drop(connection);
        while sample(&get(address, "/metrics").text(), "vllm:num_requests_running") > 0.0 {}
    }
    let page = get(address, "/metrics").text();
    let model = "model_name=\"llama-3.1-8b\"";
    let ended = |how: &str| {
        sample(&page, &format!("vllm:request_success_total{{{model},finished_reason=\"{how}\"}}"))
    };
    assert_eq!((ended("abort"), ended("length")), (2.0, 0.0));
    assert_eq!(sample(&page, "vllm:kv_cache_usage_perc"), 0.0);
}

#[test]
fn faults_strike_simulated_answers_too() {
    let server = simulate(quick(), "multi-token:3,coalesce:2,truncate:1");
    let text = post(server.address(), "/v1/chat/completions", &streamed(ask("x", 30))).text();
    let events = text.matches("\"delta\":{\"content\"").count();
    assert!((1..10).contains(&events) && !text.contains("[DONE]"), "{text}");
}

#[test]
fn time_cannot_stand_still() {
    for time_scale in [0.0, -1.0, f64::NAN, 1e9] {
        let error = Backend::simulate(SimulatedOptions { time_scale, ..quick() });
        assert!(matches!(error, Err(SimulatedError::TimeScale(_))), "{time_scale}");
    }
}
