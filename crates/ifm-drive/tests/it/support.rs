//! What the tests share: a source of one fixed request, a sink in memory, a plan to vary.

use ifm_core::RequestRecord;
use ifm_core::spec::Api;
use ifm_drive::{
    LevelPlan, Limits, Loop, NextAsk, Offer, Progress, RequestMeta, RequestSource, Sink,
};
use ifm_drive::{LevelResult, Stop, Target, drive_level};
use ifm_wire::{Expect, RequestBytes};
use std::net::SocketAddr;
use std::sync::Arc;

/// Sends the same bytes for ever.
pub struct Same(pub Vec<u8>);

impl RequestSource for Same {
    fn next(&mut self, _: &NextAsk, buffer: &mut RequestBytes) -> Result<Offer, String> {
        buffer.clear();
        buffer.own_mut().extend_from_slice(&self.0);
        Ok(Offer::Request(RequestMeta {
            item: 0,
            due_ns: None,
            turn: None,
            class: None,
            known_tokens: None,
            prompt_tokens_asked: None,
            output_tokens_asked: None,
            results_asked: None,
            media: None,
            form: None,
        }))
    }
}

/// Keeps records in memory, ordered by `seq` in the end.
#[derive(Default)]
pub struct Kept(pub Vec<RequestRecord>);

impl Sink for Kept {
    fn record(&mut self, record: RequestRecord) -> Result<(), String> {
        self.0.push(record);
        Ok(())
    }

    fn tick(&mut self) -> Result<(), String> {
        Ok(())
    }
}

/// A request of an OpenAI client with a body of no interest.
pub fn post(path: &str) -> Vec<u8> {
    let body = r#"{"model":"m","stream":true,"messages":[]}"#;
    format!(
        "POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

/// One slot, one measured request, no limits.
pub fn plan(address: SocketAddr) -> LevelPlan {
    LevelPlan {
        level: 0,
        first_seq: 0,
        target: Target { addresses: vec![address], tls: None, fresh_connections: false },
        expect: Expect { api: Api::Chat, keep_text: false, stream: true },
        arrivals: Loop::Closed,
        slots: 1,
        warmup_requests: 0,
        requests: Some(1),
        duration_ns: None,
        limits: Limits::default(),
        follows_answers: false,
        origin_ns: ifm_sys::mono_ns(),
        kernel_stamps: ifm_sys::probe::kernel_stamps(),
        shards: 1,
        cpus: vec![],
        precise: false,
    }
}

/// Runs a plan to its end.
pub fn run(plan: &LevelPlan, request: Vec<u8>) -> (Vec<RequestRecord>, LevelResult) {
    let mut kept = Kept::default();
    let progress = Arc::new(Progress::default());
    let result = drive_level(plan, &mut Same(request), &mut kept, &Stop::default(), &progress)
        .expect("a level that runs");
    kept.0.sort_by_key(|record| record.seq);
    (kept.0, result)
}
