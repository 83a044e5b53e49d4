//! Who stamps what arrives, and what is known of stamps that the kernel does not take.

use crate::support::{plan, post, run};
use ifm_drive::Evidence;
use ifm_truth::scripted::{Scripted, ScriptedOptions};

/// What three requests told, with stamps of the kernel or without; they last as long as a stalled stream
/// until it is given up, so that marks come meanwhile.
fn evidence(kernel_stamps: bool) -> Evidence {
    let case = ifm_truth::cases::suite().into_iter().find(|case| case.name == "stall_midstream");
    let case = case.unwrap();
    let path = format!("/case/{}{}", case.name, case.api.path());
    let server = Scripted::start(vec![case], ScriptedOptions::for_tests()).unwrap();
    let mut plan = plan(server.address());
    plan.kernel_stamps = kernel_stamps;
    plan.requests = Some(3);
    plan.limits.idle_ns = Some(100_000_000);
    run(&plan, post(&path)).1.evidence
}

#[test]
fn the_error_of_stamps_is_measured_without_kernel_stamps() {
    let without = evidence(false);
    assert_eq!(without.counts.stamped_reads, 0);
    let late = without.late_stamps.quantiles().unwrap();
    assert_eq!(late.reading.n, without.counts.reads);
    let waking = late.waking.unwrap();
    assert!(waking.n > 0 && waking.p50_ns > 0 && late.p99_ns() > Some(waking.p99_ns), "{late:?}");
}

#[test]
fn stamps_of_the_kernel_need_no_such_measure() {
    let with = evidence(ifm_sys::probe::kernel_stamps());
    if with.counts.stamped_reads > 0 {
        assert_eq!(with.late_stamps.quantiles(), None);
    }
}
