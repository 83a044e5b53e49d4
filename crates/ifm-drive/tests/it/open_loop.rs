//! An open loop: requests go when they are due, whatever the server does.

use crate::support::{Kept, plan, post};
use ifm_core::{Outcome, RequestRecord};
use ifm_drive::{
    Evidence, LevelPlan, Loop, NextAsk, Offer, Progress, RequestMeta, RequestSource, Stop,
    drive_level,
};
use ifm_truth::paced::{Pace, PacedOptions, run_paced};
use ifm_wire::RequestBytes;
use std::sync::Arc;

const MS: u64 = 1_000_000;

/// Requests at constant distances.
struct Clocked {
    request: Vec<u8>,
    gap_ns: u64,
    left: u32,
    next: u32,
}

impl Clocked {
    fn meta(&mut self) -> Option<RequestMeta> {
        self.left = self.left.checked_sub(1)?;
        let item = self.next;
        self.next += 1;
        Some(RequestMeta {
            item,
            due_ns: Some(u64::from(item) * self.gap_ns),
            turn: None,
            class: None,
            known_tokens: None,
            prompt_tokens_asked: None,
            output_tokens_asked: None,
            results_asked: None,
            media: None,
            form: None,
        })
    }
}

impl RequestSource for Clocked {
    fn next(&mut self, _: &NextAsk, buffer: &mut RequestBytes) -> Result<Offer, String> {
        buffer.clear();
        buffer.own_mut().extend_from_slice(&self.request);
        Ok(self.meta().map_or(Offer::End, Offer::Request))
    }

    fn skip(&mut self) -> Option<RequestMeta> {
        self.meta()
    }
}

/// Runs a schedule against a server whose answers take a time; records by due time.
fn drive(gap_ns: u64, requests: u32, answer_ns: u64, change: LevelPlan) -> Vec<RequestRecord> {
    drive_told(gap_ns, requests, answer_ns, change).0
}

/// The same, with the client's report about itself.
fn drive_told(
    gap_ns: u64,
    requests: u32,
    answer_ns: u64,
    change: LevelPlan,
) -> (Vec<RequestRecord>, Evidence) {
    let pace = Pace { ttft_ns: answer_ns, itl_ns: 0, coalesce: true, burst: 1, usage: true };
    let server = run_paced(PacedOptions::for_benchmarks(pace)).expect("a server");
    let plan = LevelPlan {
        arrivals: Loop::Open,
        requests: None,
        target: plan(server.address()).target,
        ..change
    };
    let request = post("/v1/chat/completions");
    let mut source = Clocked { request, gap_ns, left: requests, next: 0 };
    let mut kept = Kept::default();
    let progress = Arc::new(Progress::default());
    let result = drive_level(&plan, &mut source, &mut kept, &Stop::default(), &progress)
        .expect("a level that runs");
    assert_eq!(result.gave_up, None);
    kept.0.sort_by_key(|record| record.seq);
    (kept.0, result.evidence)
}

fn any_address() -> LevelPlan {
    plan(std::net::SocketAddr::from(([127, 0, 0, 1], 1)))
}

#[test]
fn requests_go_when_they_are_due_and_not_when_answers_come() {
    let records = drive(2 * MS, 100, 60 * MS, LevelPlan { slots: 64, ..any_address() });
    assert_eq!(records.len(), 100);
    for (index, pair) in records.windows(2).enumerate() {
        assert_eq!(pair[1].due_ns - pair[0].due_ns, 2 * MS, "{index}");
        assert!(pair[1].start_ns >= pair[1].due_ns, "{index}: nothing goes before its time");
    }
    assert!(records.iter().all(|record| record.outcome.is_ok()));
    // Thirty answers are out at a time: a closed loop of as many users would look the same, one of
    // fewer would not. A client that stood still sends what was due meanwhile at once, which makes
    // them more.
    let at = |at_ns: u64| {
        records.iter().filter(|other| other.start_ns <= at_ns && at_ns < other.end_ns).count()
    };
    assert!(records.iter().map(|record| at(record.start_ns)).max() > Some(10));
}

#[test]
fn a_precise_client_sends_the_same_and_says_whether_it_ran_first() {
    let change = LevelPlan { slots: 16, precise: true, ..any_address() };
    let (records, evidence) = drive_told(2 * MS, 50, MS, change);
    assert_eq!(records.len(), 50);
    assert!(records.iter().all(|record| record.outcome.is_ok()));
    assert!(records.iter().all(|record| record.start_ns >= record.due_ns));
    let granted = std::thread::spawn(|| ifm_sys::thread::run_first().is_ok()).join().unwrap();
    assert_eq!(evidence.counts.readers_first, Some(granted));
    let (_, evidence) = drive_told(2 * MS, 5, MS, any_address());
    assert_eq!(evidence.counts.readers_first, None, "not requested");
}

#[test]
fn a_request_that_finds_no_free_slot_is_late_and_says_so() {
    // 5 ms apart, answers of 50 ms, one slot: request k starts 45 k ms after its due time.
    let records = drive(5 * MS, 12, 50 * MS, any_address());
    assert_eq!(records.len(), 12);
    for (index, record) in (0u64..).zip(&records) {
        let late_ns = record.start_ns - record.due_ns;
        assert!(late_ns >= index * 45 * MS, "{index}: {late_ns}");
        // From its own start an answer takes what it takes.
        assert!(record.first_token_ns().unwrap() - record.start_ns >= 50 * MS);
    }
}

#[test]
fn what_was_due_and_never_sent_is_recorded() {
    // 100 ms of a schedule of ten requests, one slot can send two or three of them.
    let plan = LevelPlan { duration_ns: Some(100 * MS), ..any_address() };
    let records = drive(10 * MS, 10, 40 * MS, plan);
    assert_eq!(records.len(), 10, "every request of the schedule is accounted for");
    let dropped = records.iter().filter(|record| record.outcome == Outcome::Dropped);
    let ok = records.iter().filter(|record| record.outcome.is_ok());
    assert_eq!(ok.count() + dropped.clone().count(), 10);
    assert!(dropped.clone().count() >= 6);
    assert!(dropped.clone().all(|record| record.sent_ns.is_none() && record.events.is_empty()));
}
