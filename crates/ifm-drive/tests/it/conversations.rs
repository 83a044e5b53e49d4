//! A source that follows conversations: a turn waits for the answer to the one before and for the
//! pause behind it.

use crate::support::{Kept, Same, plan, post, run};
use ifm_core::Phase;
use ifm_drive::{
    Answered, LevelPlan, NextAsk, Offer, Progress, RequestMeta, RequestSource, Stop, TurnMeta,
    drive_level,
};
use ifm_truth::paced::{Pace, PacedOptions, run_paced};
use ifm_truth::scripted::{Scripted, ScriptedOptions};
use ifm_wire::RequestBytes;
use std::collections::VecDeque;
use std::io::{Read, Write};
use std::sync::Arc;

const TURNS: u16 = 3;
const PAUSE_NS: u64 = 15_000_000;

/// Conversations of three turns, as many at a time as there are slots.
struct Talks {
    request: Vec<u8>,
    to_begin: u32,
    begun: u32,
    under_way: u32,
    at_once: u32,
    /// Turns that are due at a time.
    due: VecDeque<(u64, u32, u16)>,
    answers: Vec<Answered>,
}

impl RequestSource for Talks {
    fn next(&mut self, ask: &NextAsk, buffer: &mut RequestBytes) -> Result<Offer, String> {
        assert_eq!(ask.phase, Phase::Measure);
        let (session, turn, due_ns) = match self.due.front() {
            Some(&(due_ns, session, turn)) if due_ns <= ask.now_ns => {
                self.due.pop_front();
                (session, turn, Some(due_ns))
            }
            _ if self.under_way < self.at_once && self.begun < self.to_begin => {
                self.under_way += 1;
                self.begun += 1;
                (self.begun - 1, 0, None)
            }
            _ if self.under_way > 0 => return Ok(Offer::Later),
            _ => return Ok(Offer::End),
        };
        buffer.clear();
        buffer.own_mut().extend_from_slice(&self.request);
        Ok(Offer::Request(RequestMeta {
            item: session,
            due_ns: None,
            turn: Some(TurnMeta {
                session,
                agent: 0,
                has_agents: false,
                turn,
                turns: TURNS,
                due_ns,
            }),
            class: None,
            known_tokens: None,
            prompt_tokens_asked: None,
            output_tokens_asked: None,
            results_asked: None,
            media: None,
            form: None,
        }))
    }

    fn answered(&mut self, answered: Answered) {
        if answered.turn + 1 < TURNS {
            let due_ns = answered.end_ns + PAUSE_NS;
            self.due.push_back((due_ns, answered.session, answered.turn + 1));
        } else {
            self.under_way -= 1;
        }
        self.answers.push(answered);
    }
}

impl Talks {
    fn new(request: Vec<u8>, to_begin: u32, at_once: u32) -> Talks {
        let (due, answers) = (VecDeque::new(), Vec::new());
        Talks { request, to_begin, begun: 0, under_way: 0, at_once, due, answers }
    }
}

#[test]
fn what_goes_back_is_the_content_with_its_calls() {
    let server = Scripted::start(ifm_truth::cases::suite(), ScriptedOptions::for_tests());
    let server = server.expect("a server");
    let calls: [(&str, &str, &str); 3] = [
        ("call_0", "ls", "{\"dir\": \"/\"}"),
        ("call_1", "cat", "{\"file\": \"a\"}"),
        ("", "", ""),
    ];
    let pieces = ["{\"a\""; 5].concat();
    for (case, said, kept_text, thought, called) in [
        ("reasoning_content", 5..10, 0..10, 0..5, &calls[..0]),
        ("content_then_tool_call", 0..5, 0..5, 0..0, &[("", "", pieces.as_str())]),
        ("reasoning_only", 0..0, 0..10, 0..10, &[]),
        ("tool_call_in_pieces", 0..0, 0..0, 0..0, &calls[..1]),
        ("two_calls_at_once", 0..0, 0..0, 0..0, &calls[..2]),
        ("reasoning_then_call", 0..0, 0..5, 0..5, &calls[..1]),
    ] {
        let text = |range: std::ops::Range<u32>| -> String {
            range.map(|token| format!(" tok{token}")).collect()
        };
        let request = post(&format!("/case/{case}/v1/chat/completions"));
        let mut source = Talks::new(request, 1, 1);
        let mut plan =
            LevelPlan { requests: None, follows_answers: true, ..plan(server.address()) };
        plan.expect.keep_text = true;
        let mut kept = Kept::default();
        let progress = Arc::new(Progress::default());
        drive_level(&plan, &mut source, &mut kept, &Stop::default(), &progress)
            .expect("a level that runs");
        assert_eq!(source.answers.len(), usize::from(TURNS), "{case}");
        for (answer, record) in source.answers.iter().zip(&kept.0) {
            let reply = answer.reply.as_ref().expect("a complete answer");
            assert_eq!(reply.content, text(said.clone()), "{case}");
            assert_eq!(reply.reasoning, text(thought.clone()), "{case}");
            let found = reply.tool_calls.iter();
            let found = found.map(|it| (it.id.as_str(), it.name.as_str(), it.arguments.as_str()));
            assert_eq!(found.collect::<Vec<_>>(), called, "{case}");
            assert_eq!(record.text, Some(text(kept_text.clone())), "{case}");
        }
    }
}

#[test]
fn a_routers_token_is_masked_where_the_server_repeats_it() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a client");
        let _ = stream.read(&mut [0; 4096]).expect("a request");
        let body = "the tokens old-secret-1 and new-secret-2 are no good";
        let head = "HTTP/1.1 400 Bad Request\r\nx-session-token: new-secret-2\r\nConnection: close";
        let answer = format!("{head}\r\nContent-Length: {}\r\n\r\n{body}", body.len());
        stream.write_all(answer.as_bytes()).expect("an answer");
    });
    let request = String::from_utf8(post("/v1/chat/completions")).expect("text");
    let request = request.replacen("\r\n\r\n", "\r\nx-session-token: old-secret-1\r\n\r\n", 1);
    let (records, _) = run(&plan(address), request.into_bytes());
    server.join().expect("a server that ends");
    let error = records[0].error.as_deref();
    assert_eq!(error, Some("HTTP 400: the tokens *** and *** are no good"));
}

/// A source that takes its time for each request.
struct Slow(Same);

impl RequestSource for Slow {
    fn next(&mut self, ask: &NextAsk, buffer: &mut RequestBytes) -> Result<Offer, String> {
        std::thread::sleep(std::time::Duration::from_millis(20));
        self.0.next(ask, buffer)
    }
}

#[test]
fn a_request_that_was_not_ready_is_counted_once() {
    // Every event of one user's answer makes the shard look again for the other's request.
    let pace =
        Pace { ttft_ns: 1_000_000, itl_ns: 1_000_000, coalesce: false, burst: 1, usage: true };
    let server = run_paced(PacedOptions::for_benchmarks(pace)).expect("a server");
    let plan = LevelPlan { slots: 2, requests: Some(6), ..plan(server.address()) };
    let mut source = Slow(Same(post("/v1/chat/completions")));
    let progress = Arc::new(Progress::default());
    let result = drive_level(&plan, &mut source, &mut Kept::default(), &Stop::default(), &progress)
        .expect("a level that runs");
    assert!((1..=6).contains(&result.evidence.counts.starved_sends), "{:?}", result.evidence);
}

#[test]
fn a_turn_waits_for_the_answer_and_the_pause() {
    let pace =
        Pace { ttft_ns: 2_000_000, itl_ns: 1_000_000, coalesce: false, burst: 2, usage: true };
    let server = run_paced(PacedOptions::for_benchmarks(pace)).expect("a server");
    let mut source = Talks::new(post("/v1/chat/completions"), 7, 3);
    let mut plan =
        LevelPlan { slots: 3, requests: None, follows_answers: true, ..plan(server.address()) };
    plan.expect.keep_text = true;
    let mut kept = Kept::default();
    let progress = Arc::new(Progress::default());
    let result = drive_level(&plan, &mut source, &mut kept, &Stop::default(), &progress)
        .expect("a level that runs");
    assert!(result.workload_ended && result.gave_up.is_none());
    assert_eq!(result.evidence.counts.starved_sends, 0, "a pause is not a fault of the client");
    assert_eq!(kept.0.len(), 7 * usize::from(TURNS));
    assert_eq!(source.answers.len(), kept.0.len());
    let is_said = |answer: &Answered| answer.reply.as_ref().is_some_and(|it| !it.is_empty());
    assert!(source.answers.iter().all(is_said));
    for session in 0..7 {
        let mut turns: Vec<_> =
            kept.0.iter().filter(|record| record.session == Some(session)).collect();
        turns.sort_by_key(|record| record.turn);
        assert_eq!(turns.iter().map(|r| r.turn).collect::<Vec<_>>(), [Some(0), Some(1), Some(2)]);
        for pair in turns.windows(2) {
            assert_eq!(pair[1].due_ns, pair[0].end_ns + PAUSE_NS);
            assert!(pair[1].start_ns >= pair[1].due_ns);
        }
    }
    // Never more at a time than there are users.
    let spans = kept.0.iter().map(|record| (record.start_ns, record.end_ns));
    let busiest = spans
        .clone()
        .map(|(at, _)| spans.clone().filter(|(start, end)| *start <= at && at < *end).count());
    assert!(busiest.max() <= Some(3));
    assert_eq!(server.stop().served.len(), kept.0.len());
}
