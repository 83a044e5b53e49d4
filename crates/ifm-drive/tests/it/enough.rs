//! A level that its sink ends: nothing new is sent, what is in flight finishes.

use crate::support::{Same, plan, post, run};
use ifm_core::{LevelEnd, Outcome, RequestRecord};
use ifm_drive::{
    LevelPlan, Loop, NextAsk, Offer, Progress, RequestMeta, RequestSource, Sink, Stop, drive_level,
};
use ifm_truth::paced::{Pace, Paced, PacedOptions, run_paced};
use ifm_truth::slower_and_slower;
use ifm_wire::RequestBytes;
use std::sync::Arc;

const MS: u64 = 1_000_000;

/// Stops the level after this many records.
struct Sated(Vec<RequestRecord>, usize);

impl Sink for Sated {
    fn record(&mut self, record: RequestRecord) -> Result<(), String> {
        self.0.push(record);
        Ok(())
    }

    fn tick(&mut self) -> Result<(), String> {
        Ok(())
    }

    fn has_enough(&self) -> bool {
        self.0.len() >= self.1
    }
}

fn server(answer_ns: u64) -> Paced {
    let pace = Pace { ttft_ns: answer_ns, itl_ns: MS, coalesce: false, burst: 1, usage: true };
    run_paced(PacedOptions::for_benchmarks(pace)).expect("a server")
}

fn drive(plan: &LevelPlan, source: &mut dyn RequestSource) -> Vec<RequestRecord> {
    let mut sink = Sated(Vec::new(), 5);
    let progress = Arc::new(Progress::default());
    let result = drive_level(plan, source, &mut sink, &Stop::default(), &progress)
        .expect("a level that runs");
    let info = result.info.expect("something was measured");
    assert!(info.complete && info.ended_by == Some(LevelEnd::Planned), "{info:?}");
    assert!(!result.workload_ended && result.gave_up.is_none());
    assert!(sink.0.iter().all(|record| record.start_ns <= info.send_end_ns));
    sink.0
}

#[test]
fn what_is_in_flight_finishes_and_nothing_new_is_sent() {
    slower_and_slower(|factor| {
        let server = server(20 * factor * MS);
        let plan = LevelPlan { slots: 4, requests: Some(10_000), ..plan(server.address()) };
        let records = drive(&plan, &mut Same(post("/v1/chat/completions")));
        assert!(records.iter().all(|record| record.outcome.is_ok()), "none is cut off");
        // The fifth answer ends it; each of four slots may have begun another one by then.
        match records.len() {
            5..=20 => Ok(()),
            many => Err(format!("{many} requests")),
        }
    })
    .unwrap();
}

/// With two slots and three requests to warm up, one slot is done an answer before the other.
#[test]
fn a_slot_that_waits_for_the_warm_up_of_others_is_not_late() {
    slower_and_slower(|factor| {
        let answer_ns = 40 * factor * MS;
        let server = server(answer_ns);
        let plan =
            LevelPlan { slots: 2, warmup_requests: 3, requests: Some(4), ..plan(server.address()) };
        let (records, result) = run(&plan, post("/v1/chat/completions"));
        assert_eq!(records.len(), 7, "warm-up included");
        let late_ns = result.evidence.send_lateness.quantiles().expect("requests").max_ns;
        if late_ns < answer_ns / 2 { Ok(()) } else { Err(format!("late by {late_ns} ns")) }
    })
    .unwrap();
}

/// Requests at a distance, for ever.
struct Endless {
    next: u32,
    gap_ns: u64,
    request: Vec<u8>,
}

impl RequestSource for Endless {
    fn next(&mut self, _: &NextAsk, buffer: &mut RequestBytes) -> Result<Offer, String> {
        buffer.clear();
        buffer.own_mut().extend_from_slice(&self.request);
        Ok(self.skip().map_or(Offer::End, Offer::Request))
    }

    fn skip(&mut self) -> Option<RequestMeta> {
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

#[test]
fn unsent_requests_are_reported_only_if_they_were_due() {
    slower_and_slower(|factor| {
        // One slot, and eight requests due for each answer: of what is due within five answers most
        // waits.
        let server = server(40 * factor * MS);
        let plan = LevelPlan { arrivals: Loop::Open, requests: None, ..plan(server.address()) };
        let request = post("/v1/chat/completions");
        let records = drive(&plan, &mut Endless { next: 0, gap_ns: 5 * factor * MS, request });
        let ok = records.iter().filter(|record| record.outcome.is_ok()).count();
        let dropped: Vec<_> =
            records.iter().filter(|record| record.outcome == Outcome::Dropped).collect();
        assert_eq!(ok + dropped.len(), records.len());
        assert!(dropped.len() >= 30, "{}", dropped.len());
        // Everything that was due is accounted for, and no more: the schedule has no end.
        let mut items: Vec<u32> = records.iter().map(|record| record.item).collect();
        items.sort_unstable();
        assert!(items.iter().enumerate().all(|(place, item)| place == *item as usize), "{items:?}");
        let end_ns = dropped.iter().map(|record| record.end_ns).max();
        assert!(dropped.iter().all(|record| Some(record.due_ns) <= end_ns));
        if (5..=6).contains(&ok) { Ok(()) } else { Err(format!("{ok} answers")) }
    })
    .unwrap();
}

/// Stops the server after this many records.
struct Killer(Vec<RequestRecord>, usize, Option<Paced>);

impl Sink for Killer {
    fn record(&mut self, record: RequestRecord) -> Result<(), String> {
        self.0.push(record);
        if self.0.len() == self.1 {
            drop(self.2.take());
        }
        Ok(())
    }

    fn tick(&mut self) -> Result<(), String> {
        Ok(())
    }
}

/// In the middle of a level it takes 32 failures in a row to believe it.
#[test]
fn a_server_that_is_gone_when_the_level_ends_is_reported() {
    let gone = |requests: u32, factor: u64| {
        let server = server(factor * MS);
        let plan = LevelPlan { requests: Some(requests), ..plan(server.address()) };
        let mut sink = Killer(Vec::new(), 5, Some(server));
        let progress = Arc::new(Progress::default());
        let mut source = Same(post("/v1/chat/completions"));
        let result = drive_level(&plan, &mut source, &mut sink, &Stop::default(), &progress)
            .expect("a level that runs");
        assert_eq!(sink.0.len(), requests as usize);
        assert!(sink.0.iter().filter(|record| record.outcome.is_ok()).count() >= 5);
        let complete = result.info.expect("something was measured").complete;
        assert_eq!(complete, result.gave_up.is_none());
        result.gave_up
    };
    // By how many answers the server outlives the fifth one is the host's affair.
    let is_gone = |factor| gone(20, factor).ok_or("it was not gone".to_owned());
    let error = slower_and_slower(is_gone).unwrap();
    assert!(error.contains("connect"), "{error}");
    assert_eq!(gone(9, 1), None, "four failures are not proof");
}
