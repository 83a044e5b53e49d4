//! Where answers end, and what is refused.

use super::*;

#[test]
fn a_stop_string_ends_the_answer_and_is_not_shown() {
    let engine = start(options());
    let whole = answer(&engine, request(prompt(1, 10), 40));
    // Twelve characters from the middle: more than any one token of this answer.
    let characters: Vec<(usize, char)> = whole.text.char_indices().collect();
    let (from, to) = (characters[20].0, characters[32].0);
    let stop = whole.text[from..to].to_owned();
    let first = whole.text.find(&stop).expect("it is there");
    let stopped = answer(
        &engine,
        GenerateRequest { stop: vec!["\u{1F600}".to_owned(), stop], ..request(prompt(1, 10), 40) },
    );
    assert_eq!(stopped.text, whole.text[..first]);
    assert_eq!(stopped.finish.reason, FinishReason::Stop);
    assert!(stopped.finish.completion_tokens < 40);
    assert_eq!(stopped.ids, whole.ids[..stopped.ids.len()]);
    assert_eq!(engine.stats().finished_stop_total, 1);
}

#[test]
fn requests_that_cannot_be_answered_are_refused() {
    let engine = start(EngineOptions { kv_tokens: Some(300), ..options() });
    let refuse = |request| engine.submit(request).expect_err("refused");
    assert_eq!(refuse(request(Vec::new(), 1)), SubmitError::EmptyPrompt);
    assert_eq!(refuse(request(vec![6], 0)), SubmitError::NoTokens);
    let unknown = SubmitError::UnknownToken { token: 8192, vocabulary: 8192 };
    assert_eq!(refuse(request(vec![6, 8192], 1)), unknown);
    // Memory is given out in tiles, so 300 tokens of it are 320.
    let long = SubmitError::TooLong { prompt_tokens: 300, max_tokens: 21, context: 320 };
    assert_eq!(refuse(request(prompt(1, 300), 21)), long);
    assert_eq!(answer(&engine, request(prompt(1, 300), 20)).ids.len(), 20);
    assert!(matches!(refuse(request(vec![6], usize::MAX)), SubmitError::TooLong { .. }));
}

#[test]
fn the_queue_is_bounded() {
    let engine = start(EngineOptions { max_batch: 1, waiting_max: 2, ..options() });
    let mut running = engine.submit(request(prompt(1, 4), 1000)).expect("taken");
    assert!(matches!(running.blocking_recv(), Some(Event::Token(_))));
    let waiting: Vec<EventReceiver> =
        (0..2).map(|index| engine.submit(request(prompt(index, 4), 2)).expect("taken")).collect();
    let refused = engine.submit(request(prompt(1, 4), 2));
    assert!(matches!(refused, Err(SubmitError::Overloaded { waiting: 2 })));
    assert_eq!(engine.stats().refused_total, 1);
    drop(running);
    for events in waiting {
        assert_eq!(collect(events).expect("complete").ids.len(), 2);
    }
}

#[test]
fn a_shutdown_fails_what_runs_and_refuses_the_rest() {
    let engine = start(options());
    let mut running = engine.submit(request(prompt(1, 4), 1000)).expect("taken");
    assert!(matches!(running.blocking_recv(), Some(Event::Token(_))));
    engine.shutdown();
    let reason = collect(running).expect_err("cut short");
    assert!(reason.contains("shutting down"), "{reason}");
    let refused = engine.submit(request(vec![6], 1));
    assert!(matches!(refused, Err(SubmitError::Stopped)));
    assert_eq!((engine.stats().running, engine.stats().waiting), (0, 0));
    engine.shutdown();
}

#[test]
fn impossible_options_are_named() {
    let compute = Compute { threads: 0, ..Compute::default() };
    let error = Engine::load(&nano(), EngineOptions { compute, ..options() });
    let error = error.expect_err("no threads");
    assert!(matches!(error, EngineError::Zero { option: "threads" }), "{error}");
    let batch = EngineOptions { max_batch: 0, ..options() };
    let error = Engine::load(&nano(), batch).expect_err("no batch");
    assert!(error.to_string().contains("max_batch is 0"), "{error}");
}

#[test]
fn the_engine_says_what_it_is() {
    let engine = start(options());
    let info = engine.info();
    assert_eq!(info.model.name, "nano");
    assert_eq!(info.model.architecture, "llama");
    assert_eq!(info.model.stored_dtype, "q8_0");
    assert_eq!(info.model.variant, "q8_0 (int8 in blocks of 32)");
    assert_eq!(info.model.bits_per_weight, 8.5);
    // The matrices of 2.9 M weights in blocks of 34 bytes for 32.
    let weights = 8192 * 256 + 2 * (256 * (2 * 256 + 2 * 128) + 3 * 256 * 256);
    assert_eq!(info.model.stored_bytes, weights / 32 * 34);
    assert_eq!(info.model.random_seed, Some(1));
    assert!(!info.model.prefix_cache);
    assert_eq!((info.context, info.max_batch), (1024, 8));
    assert_eq!(info.kv_tokens, 8 * 1024);
    // Two layers, two heads of 64, keys and values, four bytes.
    assert_eq!(info.kv_bytes, 8 * 1024 * 2 * 2 * 64 * 2 * 4);
}

#[test]
fn what_does_not_fit_into_memory_is_refused_before_it_is_made() {
    // 2.9 M weights in 8.5 bits, and 1024 tokens of 2048 bytes.
    let (weights, kv) = (3_063_808, 1024 * 2048);
    let with = |available| EngineOptions { available_bytes: Some(available), ..options() };
    let engine = start(with(weights + 2 * kv));
    assert_eq!(engine.info().kv_tokens, 2 * 1024, "as many tokens as there is room for");
    let error = Engine::load(&nano(), with(weights + kv - 1)).expect_err("no room").to_string();
    for words in ["needs 3.1 MB", "and 2.1 MB for keys", "5.2 MB are left", "fewer bits"] {
        assert!(error.contains(words), "{words} is not in: {error}");
    }
}

#[test]
fn a_static_batch_is_timed_behind_its_depth() {
    let model = Model::load(&nano(), Some(64)).expect("loads");
    let batch = |depth_tokens, prompt_tokens, generated_tokens| {
        model.time_static_batch(StaticBatch {
            sequences: 2,
            depth_tokens,
            prompt_tokens,
            generated_tokens,
            prefill_chunk: 8,
        })
    };
    let both = batch(16, 20, 28).expect("it fits");
    assert!(both.prompt_ns > 0);
    assert_eq!(both.step_ns.len(), 28);
    // Without a prompt the steps begin after one token, which is not timed and takes a place.
    let steps = batch(0, 0, 63).expect("it fits");
    assert_eq!((steps.prompt_ns, steps.step_ns.len()), (0, 63));
    for (depth, prompt, generated) in [(17, 20, 28), (0, 0, 64), (64, 1, 0), (5, 0, 0)] {
        let refused = batch(depth, prompt, generated);
        assert!(matches!(refused, Err(MeasureError::Batch { .. })), "{depth} {prompt} {generated}");
    }
}
