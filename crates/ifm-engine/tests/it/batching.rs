//! Requests together give what they give alone, and the counters add up.

use super::*;

#[test]
fn answers_do_not_depend_on_company() {
    let engine = start(options());
    let requests: Vec<GenerateRequest> =
        (0..8).map(|index| request(prompt(index, 3 + 60 * index), 12 + index as usize)).collect();
    let alone: Vec<Answer> =
        requests.iter().map(|request| answer(&engine, request.clone())).collect();
    let receivers: Vec<EventReceiver> =
        requests.iter().map(|request| engine.submit(request.clone()).expect("taken")).collect();
    let together: Vec<Answer> =
        receivers.into_iter().map(|events| collect(events).expect("complete")).collect();
    assert_eq!(alone, together);
    for (request, answer) in requests.iter().zip(&together) {
        let expected = Finish {
            reason: FinishReason::Length,
            prompt_tokens: request.prompt.len(),
            completion_tokens: request.max_tokens,
        };
        assert_eq!((answer.finish, answer.ids.len()), (expected, request.max_tokens));
    }
    let stats = engine.stats();
    let prompts: usize = requests.iter().map(|request| request.prompt.len()).sum();
    let tokens: usize = requests.iter().map(|request| request.max_tokens).sum();
    assert_eq!(stats.prompt_tokens_total, 2 * prompts as u64);
    assert_eq!(stats.generation_tokens_total, 2 * tokens as u64);
    assert_eq!(stats.finished_length_total, 16);
    assert_eq!((stats.running, stats.waiting, stats.kv_tokens_reserved), (0, 0, 0));
}

#[test]
fn more_requests_than_places_all_get_their_turn() {
    let engine = start(EngineOptions { max_batch: 2, prefill_chunk: 7, ..options() });
    let receivers: Vec<EventReceiver> =
        (0..9).map(|index| engine.submit(request(prompt(index, 20), 4)).expect("taken")).collect();
    for (index, events) in receivers.into_iter().enumerate() {
        let answer = collect(events).expect("complete");
        assert_eq!(answer.finish.completion_tokens, 4, "request {index}");
    }
}

#[test]
fn memory_for_one_serves_many_in_turn() {
    // 128 tokens of memory; every request needs 100.
    let engine = start(EngineOptions { kv_tokens: Some(128), ..options() });
    let receivers: Vec<EventReceiver> =
        (0..5).map(|index| engine.submit(request(prompt(index, 90), 10)).expect("taken")).collect();
    for events in receivers {
        assert_eq!(collect(events).expect("complete").ids.len(), 10);
        assert!(engine.stats().kv_tokens_reserved <= 128);
    }
}

#[test]
fn a_client_that_leaves_makes_room() {
    // The first request alone would take the whole context.
    let engine = start(EngineOptions { max_batch: 1, ..options() });
    let mut first = engine.submit(request(prompt(1, 10), 1000)).expect("taken");
    assert!(matches!(first.blocking_recv(), Some(Event::Token(_))));
    drop(first);
    let waiting = engine.submit(request(prompt(3, 10), 5)).expect("taken");
    drop(waiting);
    let next = answer(&engine, request(prompt(2, 10), 5));
    assert_eq!(next.ids.len(), 5);
    let stats = engine.stats();
    assert_eq!(stats.cancelled_total, 2);
    assert_eq!(stats.finished_length_total, 1);
}

#[test]
fn choices_depend_on_the_seed_alone() {
    let engine = start(options());
    let sampled = |seed| GenerateRequest {
        sampling: Sampling { temperature: 1.0, top_p: 0.9, seed },
        ..request(prompt(4, 10), 20)
    };
    let first = answer(&engine, sampled(7));
    let company = engine.submit(request(prompt(5, 200), 30)).expect("taken");
    assert_eq!(first, answer(&engine, sampled(7)));
    assert_ne!(first.ids, answer(&engine, sampled(8)).ids);
    assert_ne!(first.ids, answer(&engine, request(prompt(4, 10), 20)).ids);
    collect(company).expect("complete");
}
