//! How a run ends: its exit code.

use super::*;
use ifm_analysis::testing::{closed_loop, failed, run};
use ifm_core::health::SpanQuantiles;

fn code(run: &RunData) -> (Option<Code>, String) {
    let summary = ifm_analysis::summarize(run);
    match verdict(run, &summary, &Ended::Planned, &Signals::default()) {
        Ok(code) => (Some(code), String::new()),
        Err(failure) => (Some(failure.code), failure.to_string()),
    }
}

#[test]
fn a_run_whose_load_was_not_sent_is_no_result() {
    // Answers of 100 ms, and half of the requests left so late.
    let late = |p50_ms: u64| {
        let mut run = run(&[1], closed_loop((0, 0), (1, 40), 0.0, (100.0, 0.0, 1)));
        let ns = p50_ms * 1_000_000;
        let health = run.manifest.health.as_mut().unwrap();
        health.send_lateness =
            Some(SpanQuantiles { n: 40, p50_ns: ns, p99_ns: 90_000_000, max_ns: 90_000_000 });
        code(&run)
    };
    assert_eq!(late(19), (Some(Code::Done), String::new()));
    let (code, said) = late(21);
    assert_eq!(code, Some(Code::Invalid));
    assert!(said.contains("21.0 ms after they were due") && said.contains("stored"), "{said}");
}

#[test]
fn a_run_without_an_answer_is_no_result() {
    let (code, said) = code(&run(&[1], vec![failed(0, 0, 0, 0.0, 10.0)]));
    assert_eq!(code, Some(Code::Invalid));
    assert!(said.contains("the server answered 503"), "{said}");
}
