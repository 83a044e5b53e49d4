//! End tokens: a greedy answer is known, so any of its tokens can be made the end.

use crate::{
    engine::{Engine, EngineHandle, EngineOptions},
    model::{Model, ModelSource},
    quantization::Quantization,
    request::{Event, FinishReason, GenerateRequest},
    sample::Sampling,
    shape::Preset,
};

const LENGTH: usize = 20;
/// With this seed the answer has a new token in its middle; most others repeat one.
const SEED: u64 = 9;
const PROMPT: [u32; 3] = [101, 200, 300];

fn start(eos_ids: &[u32]) -> EngineHandle {
    let source =
        ModelSource::Preset { preset: Preset::Nano, quantization: Quantization::Q8_0, seed: SEED };
    let mut model = Model::load(&source, Some(128)).expect("loads");
    model.info.eos_ids = eos_ids.to_vec();
    Engine::start(model, EngineOptions::suggested()).expect("starts")
}

fn run(engine: &EngineHandle, ignore_eos: bool, min_tokens: usize) -> (Vec<u32>, FinishReason) {
    let request = GenerateRequest {
        prompt: PROMPT.to_vec(),
        max_tokens: LENGTH,
        min_tokens,
        ignore_eos,
        stop: Vec::new(),
        sampling: Sampling { temperature: 0.0, top_p: 1.0, seed: 0 },
    };
    let mut events = engine.submit(request).expect("taken");
    let mut ids = Vec::new();
    loop {
        match events.blocking_recv() {
            Some(Event::Token(token)) => {
                ids.push(token.id);
                if let Some(finish) = token.finish {
                    assert_eq!(finish.completion_tokens, ids.len());
                    return (ids, finish.reason);
                }
            }
            other => panic!("{other:?} instead of a token"),
        }
    }
}

#[test]
fn end_tokens_end_unless_ignored_or_too_early() {
    let (whole, reason) = run(&start(&[]), false, 0);
    assert_eq!((whole.len(), reason), (LENGTH, FinishReason::Length));
    // A token that comes for the first time in the middle.
    let end = (5..15).find(|at| !whole[..*at].contains(&whole[*at])).expect("a new token");
    let engine = start(&[9, whole[end]]);
    assert_eq!(run(&engine, false, 0), (whole[..=end].to_vec(), FinishReason::Stop));
    assert_eq!(run(&engine, true, 0), (whole.clone(), FinishReason::Length));
    // Allowed from the token after the minimum on.
    assert_eq!(run(&engine, false, end), (whole[..=end].to_vec(), FinishReason::Stop));
    let (later, _) = run(&engine, false, end + 1);
    assert_eq!(later[..end], whole[..end]);
    assert_ne!(later[end], whole[end], "the next best token instead");
    let stats = engine.stats();
    assert!(stats.finished_stop_total >= 2 && stats.finished_length_total >= 1);
}
