//! The whole suite of streams with a known answer, end to end over a socket: outcomes and counts
//! exact, times within 2 ms and the server's own lateness. A case that was not read right is played
//! slower, with a tolerance that is wider by as much: another process may have taken our processor
//! between our stamp and our send, or a reset may have overtaken what we had not read yet. What is
//! wrong stays wrong at every speed; how small an error is, the benchmark `timing` says.

use crate::support::{plan, post, run};
use ifm_core::RequestRecord;
use ifm_core::spec::Api;
use ifm_drive::Limits;
use ifm_metrics::RequestMetrics;
use ifm_truth::case::Case;
use ifm_truth::scripted::{Exchange, Scripted, ScriptedOptions};
use ifm_truth::slower_and_slower;
use std::sync::Mutex;
use std::time::Duration;

/// Tolerance for a time in addition to the server's lateness, milliseconds, at the speed of the
/// suite.
const TOLERANCE_MS: f64 = 2.0;
/// Cases played at the same time: most of the time they wait.
const CLIENTS: usize = 8;

/// How a case was not read right.
#[derive(Debug, Default)]
struct Differences(Vec<String>);

impl Differences {
    fn exact<T: PartialEq + std::fmt::Debug>(&mut self, what: &str, said: T, truth: T) {
        if said != truth {
            self.0.push(format!("{what}: said {said:?}, truth {truth:?}"));
        }
    }

    fn time(&mut self, what: &str, said: Option<f64>, truth: Option<f64>, slack_ms: f64) {
        match (said, truth) {
            (Some(said), Some(truth)) if (said - truth).abs() <= slack_ms => {}
            (Some(said), Some(truth)) => self.0.push(format!(
                "{what}: said {said:.3} ms, truth {truth:.3} ms, {slack_ms:.3} ms are allowed"
            )),
            (said, truth) => self.exact(what, said.is_some(), truth.is_some()),
        }
    }
}

fn compare(
    case: &Case,
    record: &RequestRecord,
    exchange: Option<&Exchange>,
    factor: u64,
) -> Differences {
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
    let late_ms = exchange.map_or(0.0, |exchange| exchange.lateness_ns_max() as f64 / 1e6);
    let slack_ms = TOLERANCE_MS * factor as f64 + late_ms;
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
    // Where events hold several tokens or shared a read, TPOT is not the time over n - 1.
    let is_one_each = truth.output_tokens == truth.token_events || truth.output_tokens.is_none();
    if record.co_arrived_events == 0 {
        let expected = match truth.tpot_after_first_event_ms {
            None if !is_one_each => return found,
            None => truth.tpot_ms,
            counted => counted,
        };
        found.time("tpot", per_token(metrics.tpot_ns), expected, slack_ms);
    }
    found
}

/// Plays a case once, slowed down by `factor`; returns how its requests were misread.
fn play(case: &Case, factor: u64) -> Result<(), String> {
    let case = case.slower(factor);
    let server = Scripted::start(vec![case.clone()], ScriptedOptions::for_tests()).unwrap();
    let mut plan = plan(server.address());
    let ns = |ms: u64| Some(ms * 1_000_000);
    // A client without any limit would wait for ever where a case means "the client's own".
    plan.limits = Limits {
        connect_ns: ns(60_000),
        first_token_ns: case.limits.first_token_ms.and_then(ns),
        idle_ns: ns(case.limits.idle_ms.unwrap_or(20_000 * factor)),
        total_ns: ns(case.limits.total_ms.unwrap_or(30_000 * factor)),
    };
    plan.requests = Some(case.requests);
    plan.expect.api = match case.api {
        ifm_truth::Api::Chat => Api::Chat,
        ifm_truth::Api::Completions => Api::Completions,
    };
    let path = format!("/case/{}{}", case.name, case.api.path());
    let (records, _) = run(&plan, post(&path));
    let count = case.requests as usize;
    let exchanges = server.wait_for(case.name, count, Duration::from_secs(600));
    let mut found = Differences::default();
    found.exact("records", records.len(), count);
    for (position, record) in records.iter().enumerate() {
        let differences = compare(&case, record, exchanges.get(position), factor).0;
        if !differences.is_empty() {
            found.0.push(format!("{differences:?} {:?}", record.error));
        }
    }
    if found.0.is_empty() { Ok(()) } else { Err(format!("{:?}", found.0)) }
}

#[test]
fn every_stream_of_the_suite_is_read_right() {
    let cases = ifm_truth::cases::suite();
    let (next, wrong) = (Mutex::new(cases.iter()), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..CLIENTS {
            scope.spawn(|| {
                loop {
                    let Some(case) = next.lock().unwrap().next() else { return };
                    if let Err(error) = slower_and_slower(|factor| play(case, factor)) {
                        let Case { name, why, .. } = case;
                        wrong.lock().unwrap().push(format!("{name}, because {why}: {error}"));
                    }
                }
            });
        }
    });
    let wrong = wrong.into_inner().unwrap();
    let (count, of) = (wrong.len(), cases.len());
    assert!(wrong.is_empty(), "{count} of {of} cases are read wrong:\n{}", wrong.join("\n"));
}
