//! Which time limit ends a request.

use crate::support::{plan, post, run};
use ifm_core::outcome::{Outcome, TimeoutKind};
use ifm_drive::Limits;
use ifm_truth::scripted::{Scripted, ScriptedOptions};

/// Plays a case of the suite with a first-token limit of 400 ms and a shorter idle limit.
fn outcome(name: &str) -> Outcome {
    let case = ifm_truth::cases::suite().into_iter().find(|case| case.name == name).unwrap();
    let path = format!("/case/{}{}", case.name, case.api.path());
    let server = Scripted::start(vec![case], ScriptedOptions::for_tests()).unwrap();
    let mut plan = plan(server.address());
    plan.limits = Limits {
        first_token_ns: Some(400_000_000),
        idle_ns: Some(100_000_000),
        total_ns: Some(30_000_000_000),
        ..Limits::default()
    };
    run(&plan, post(&path)).0[0].outcome
}

#[test]
fn a_wait_for_the_first_token_is_no_silence() {
    // A server with a long queue sends nothing, or its head and a role, for longer than it may be
    // silent between two tokens.
    for name in ["stall_before_head", "stall_after_role"] {
        assert_eq!(outcome(name), Outcome::Timeout(TimeoutKind::FirstToken), "{name}");
    }
}

#[test]
fn silence_after_the_first_token_ends_a_request() {
    assert_eq!(outcome("stall_midstream"), Outcome::Timeout(TimeoutKind::Idle));
}
