//! The engine from outside: requests in, events out.

use ifm_engine::{
    Compute, Engine, EngineError, EngineHandle, EngineOptions, Event, EventReceiver, Finish,
    FinishReason, GenerateRequest, MeasureError, Model, ModelSource, Preset, Quantization,
    Sampling, StaticBatch, SubmitError,
};

mod batching;
mod fuzzed;
mod limits;
mod seeds;

fn nano() -> ModelSource {
    ModelSource::Preset { preset: Preset::Nano, quantization: Quantization::Q8_0, seed: 1 }
}

fn options() -> EngineOptions {
    EngineOptions { context: Some(1024), max_batch: 8, ..EngineOptions::suggested() }
}

fn start(options: EngineOptions) -> EngineHandle {
    Engine::load(&nano(), options).expect("nano starts")
}

/// A greedy request that only its length ends.
fn request(prompt: Vec<u32>, max_tokens: usize) -> GenerateRequest {
    GenerateRequest {
        prompt,
        max_tokens,
        min_tokens: 0,
        ignore_eos: true,
        stop: Vec::new(),
        sampling: Sampling { temperature: 0.0, top_p: 1.0, seed: 0 },
    }
}

fn prompt(start: u32, length: u32) -> Vec<u32> {
    (0..length).map(|index| (start * 977 + index * 131) % 8000 + 6).collect()
}

/// A whole answer: its ids, its text, its end.
#[derive(Debug, PartialEq, Eq)]
struct Answer {
    ids: Vec<u32>,
    text: String,
    finish: Finish,
}

fn collect(mut events: EventReceiver) -> Result<Answer, String> {
    let (mut ids, mut text) = (Vec::new(), String::new());
    while let Some(event) = events.blocking_recv() {
        match event {
            Event::Token(token) => {
                ids.push(token.id);
                text.push_str(&token.text);
                if let Some(finish) = token.finish {
                    assert!(events.blocking_recv().is_none(), "the end is the last event");
                    return Ok(Answer { ids, text, finish });
                }
            }
            Event::Failed(reason) => return Err(reason),
        }
    }
    Err("closed".to_owned())
}

fn answer(engine: &EngineHandle, request: GenerateRequest) -> Answer {
    collect(engine.submit(request).expect("taken")).expect("complete")
}
