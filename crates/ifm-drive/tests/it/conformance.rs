//! The whole suite of streams with a known answer, end to end over a socket: outcomes and counts
//! exact, times within 2 ms and the server's own lateness.

use crate::support::{plan, post, run};
use ifm_analysis::RequestMetrics;
use ifm_core::RequestRecord;
use ifm_core::spec::Api;
use ifm_drive::Limits;
use ifm_truth::case::Case;
use ifm_truth::scripted::{Exchange, Scripted, ScriptedOptions};
use std::sync::Mutex;
use std::time::Duration;

/// What a time may be off beside the server's lateness, milliseconds.
const TOLERANCE_MS: f64 = 2.0;
/// Tries for a case whose times alone were off: another process may have taken our processor
/// between our stamp and our send. What is systematically wrong stays wrong.
const TRIES: usize = 5;
/// Cases played at the same time.
const CLIENTS: usize = 4;

/// What one try at a case found: exact differences, and differences in time.
#[derive(Debug, Default)]
struct Differences {
    exact: Vec<String>,
    times: Vec<String>,
}

impl Differences {
    fn exact<T: PartialEq + std::fmt::Debug>(&mut self, what: &str, said: T, truth: T) {
        if said != truth {
            self.exact.push(format!("{what}: said {said:?}, truth {truth:?}"));
        }
    }

    fn time(&mut self, what: &str, said: Option<f64>, truth: Option<f64>, slack_ms: f64) {
        match (said, truth) {
            (Some(said), Some(truth)) if (said - truth).abs() <= TOLERANCE_MS + slack_ms => {}
            (Some(said), Some(truth)) => self.times.push(format!(
                "{what}: said {said:.3} ms, truth {truth:.3} ms, server late by {slack_ms:.3} ms"
            )),
            (said, truth) => self.exact(what, said.is_some(), truth.is_some()),
        }
    }
}

fn compare(case: &Case, record: &RequestRecord, exchange: Option<&Exchange>) -> Differences {
    let truth = &case.truth;
    let metrics = RequestMetrics::derive(record);
    let mut found = Differences::default();
    found.exact("outcome", record.outcome.word(), truth.outcome.word());
    found.exact("http status", record.http_status, truth.http_status);
    found.exact("retry after", record.retry_after_s, truth.retry_after_s);
    if let Some(events) = truth.token_events {
        found.exact("token events", record.events.len() as u32, events);
    }
    if !truth.outcome.is_ok() {
        return found;
    }
    let ms = |ns: Option<u64>| ns.map(|ns| ns as f64 / 1e6);
    let slack_ms = exchange.map_or(0.0, |exchange| exchange.lateness_ns_max() as f64 / 1e6);
    let counted = record.output_tokens.filter(|count| !count.from.is_estimate());
    found.exact("streamed", record.streamed, truth.streamed);
    found.exact("output tokens", counted.map(|count| count.tokens), truth.output_tokens);
    if let Some(choices) = truth.choices {
        found.exact("choices", record.choices, choices);
    }
    found.time("ttft", ms(metrics.ttft_ns), truth.ttft_ms, slack_ms);
    found.time("ttfat", ms(metrics.ttfat_ns), truth.ttfat_ms, slack_ms);
    if truth.streamed {
        found.time("last token", ms(metrics.e2e_ns), truth.last_token_ms, slack_ms);
    }
    let per_token = |ns: Option<f64>| ns.map(|ns| ns / 1e6);
    found.time("tpot", per_token(metrics.tpot_ns), truth.tpot_ms, slack_ms);
    found.time(
        "tpot after first event",
        per_token(metrics.tpot_ns_after_first_event)
            .filter(|_| truth.tpot_after_first_event_ms.is_some()),
        truth.tpot_after_first_event_ms,
        slack_ms,
    );
    found
}

/// Plays a case once: the differences of all its requests.
fn play(server: &Scripted, case: &Case, earlier: usize) -> Differences {
    let mut plan = plan(server.address());
    let ns = |ms: Option<u64>| ms.map(|ms| ms * 1_000_000);
    // A client without any limit would wait for ever where a case means "the client's own".
    plan.limits = Limits {
        connect_ns: ns(Some(5_000)),
        first_token_ns: ns(case.limits.first_token_ms),
        idle_ns: ns(case.limits.idle_ms.or(Some(20_000))),
        total_ns: ns(case.limits.total_ms.or(Some(30_000))),
    };
    plan.requests = Some(case.requests);
    plan.expect.api = match case.api {
        ifm_truth::Api::Chat => Api::Chat,
        ifm_truth::Api::Completions => Api::Completions,
    };
    let path = format!("/case/{}{}", case.name, case.api.path());
    let (records, _) = run(&plan, post(&path));
    let count = case.requests as usize;
    let exchanges = server.wait_for(case.name, earlier + count, Duration::from_secs(5));
    let mut all = Differences::default();
    all.exact("records", records.len(), count);
    for (position, record) in records.iter().enumerate() {
        let found = compare(case, record, exchanges.get(earlier + position));
        all.exact.extend(found.exact);
        all.times.extend(found.times);
        if !all.exact.is_empty() {
            all.exact.push(format!("{:?}", record.error));
        }
    }
    all
}

#[test]
fn every_stream_of_the_suite_is_read_right() {
    let cases = ifm_truth::cases::suite();
    let server = Scripted::start(cases.clone(), ScriptedOptions::for_tests()).unwrap();
    let next = Mutex::new(cases.iter());
    let wrong = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..CLIENTS {
            scope.spawn(|| {
                loop {
                    let Some(case) = next.lock().unwrap().next() else { return };
                    let mut last = Differences::default();
                    for attempt in 0..TRIES {
                        last = play(&server, case, attempt * case.requests as usize);
                        if !last.exact.is_empty() || last.times.is_empty() {
                            break;
                        }
                    }
                    if !last.exact.is_empty() || !last.times.is_empty() {
                        wrong.lock().unwrap().push(format!(
                            "{}: {:?} {:?}\n    because: {}",
                            case.name, last.exact, last.times, case.why
                        ));
                    }
                }
            });
        }
    });
    let wrong = wrong.into_inner().unwrap();
    assert!(
        wrong.is_empty(),
        "{} of {} cases are read wrong:\n{}",
        wrong.len(),
        cases.len(),
        wrong.join("\n")
    );
}
