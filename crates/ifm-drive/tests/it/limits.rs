//! Which time limit ends a request.

use crate::support::{plan, post, run};
use ifm_core::outcome::{Outcome, TimeoutKind};
use ifm_drive::Limits;
use ifm_truth::scripted::{Scripted, ScriptedOptions};
use ifm_truth::slower_and_slower;

/// Plays a case of the suite, slowed down by `factor`, with a first-token limit of 400 ms and a
/// shorter idle limit, both scaled as well.
fn outcome(name: &str, factor: u64) -> Outcome {
    let case = ifm_truth::cases::suite().into_iter().find(|case| case.name == name).unwrap();
    let path = format!("/case/{}{}", case.name, case.api.path());
    let cases = vec![case.slower(factor)];
    let server = Scripted::start(cases, ScriptedOptions::for_tests()).unwrap();
    let mut plan = plan(server.address());
    plan.limits = Limits {
        first_token_ns: Some(400_000_000 * factor),
        idle_ns: Some(100_000_000 * factor),
        total_ns: Some(30_000_000_000 * factor),
        ..Limits::default()
    };
    run(&plan, post(&path)).0[0].outcome
}

fn check(name: &str, expected: TimeoutKind) {
    slower_and_slower(|factor| match outcome(name, factor) {
        found if found == Outcome::Timeout(expected) => Ok(()),
        found => Err(format!("{name}: {found:?}")),
    })
    .unwrap();
}

#[test]
fn a_wait_for_the_first_token_is_no_silence() {
    // A server with a long queue sends nothing, or its head and a role, for longer than it may be
    // silent between two tokens.
    check("stall_before_head", TimeoutKind::FirstToken);
    check("stall_after_role", TimeoutKind::FirstToken);
}

#[test]
fn silence_after_the_first_token_ends_a_request() {
    check("stall_midstream", TimeoutKind::Idle);
}
