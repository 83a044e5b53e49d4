//! A small part of `cargo xtask bench claims` with fixed seeds: what the commands say of results whose
//! truth is known. The counts are the same on every host.

use ifm_truth::claims::{Law, Limited, Limits, Sides, gates, pairs};
use std::path::Path;

const PROGRAM: &str = env!("CARGO_BIN_EXE_inferometer");

#[test]
fn one_server_twice_is_rarely_called_different() {
    let folder = tempfile::tempdir().unwrap();
    for law in [Law::Lognormal, Law::HeavyTail, Law::Autocorrelated] {
        let sides = Sides { law, requests: 300, runs: 1, factor: 1.0 };
        let found = pairs(Path::new(PROGRAM), folder.path(), sides, (10, false)).unwrap();
        assert!(found.differs.hits <= 1, "{law:?}: {found:?}");
        assert_eq!((found.differs.of, found.p99.given.hits), (10, 0), "{law:?}: 300 bound no P99");
        let median = found.median.held;
        assert!(median.of >= 6 && median.of - median.hits <= 2, "{law:?}: {:?}", found.median);
    }
}

#[test]
fn a_real_difference_is_found_and_never_denied() {
    let folder = tempfile::tempdir().unwrap();
    let sides = Sides { law: Law::Lognormal, requests: 400, runs: 1, factor: 1.15 };
    let found = pairs(Path::new(PROGRAM), folder.path(), sides, (6, false)).unwrap();
    assert!(found.found.hits >= 5, "{found:?}");
    assert_eq!((found.same.hits, found.better.hits), (0, 0), "{found:?}");
    assert!(found.p99.given.hits >= 4 && found.p99_ratio.held.hits >= 4, "{found:?}");
}

#[test]
fn gates_pass_and_fail_with_evidence_alone() {
    let folder = tempfile::tempdir().unwrap();
    let check = |limits: Limits, count: u32| {
        let found = gates(Path::new(PROGRAM), folder.path(), limits, count).unwrap();
        assert!(found.passes_at_truth.hits <= 1, "{limits:?}: {found:?}");
        assert!(found.fails_at_truth.hits <= 1, "{limits:?}: {found:?}");
        assert_eq!(found.contradicts.hits, 0, "{limits:?}: {found:?}");
        found
    };
    let law = Law::Lognormal;
    let limits = Limits { law, requests: 400, runs: 1, limited: Limited::P99 };
    check(limits, 16);
    let failures = check(Limits { limited: Limited::Failures, ..limits }, 6);
    assert_eq!(failures.contradicts.of, 42, "each share has an interval");
    // Five repeats of 30 requests do not bound a P99, which lies near their maxima.
    let few = check(Limits { requests: 30, runs: 5, ..limits }, 4);
    assert_eq!(few.passes_inside.map(|share| share.hits), [0, 0, 0]);
    let median = check(Limits { limited: Limited::Median, ..limits }, 6);
    assert!(median.passes_inside[2].hits >= 5 && median.fails_outside[2].hits >= 5, "{median:?}");
}
