//! The suite is sound: names, order, and a truth that a second reading agrees with.

use crate::oracle::judge;
use ifm_core::{Outcome, TimeoutKind};
use ifm_truth::{Action, Class, cases};
use std::collections::BTreeSet;

#[test]
fn names_are_unique_and_fit_a_url() {
    let suite = cases::suite();
    let names: BTreeSet<_> = suite.iter().map(|case| case.name).collect();
    assert_eq!(names.len(), suite.len());
    for case in &suite {
        assert!(case.name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_'));
        assert!(!case.what.is_empty() && !case.why.is_empty(), "{}", case.name);
        assert_eq!(cases::find(case.name).as_ref(), Some(case));
    }
    assert_eq!(cases::find("no_such_case"), None);
}

#[test]
fn every_class_has_cases_and_every_way_to_end_is_among_them() {
    let suite = cases::suite();
    for class in Class::ALL {
        assert!(suite.iter().filter(|case| case.class == class).count() >= 5, "{}", class.word());
    }
    let never_by_a_server =
        [Outcome::Timeout(TimeoutKind::Connect), Outcome::Cancelled, Outcome::Dropped];
    for outcome in Outcome::ALL {
        let found = suite.iter().any(|case| case.truth.outcome == outcome);
        assert_eq!(found, !never_by_a_server.contains(&outcome), "{outcome}");
    }
}

#[test]
fn steps_come_in_order_and_only_the_last_ends_the_connection() {
    for case in cases::suite() {
        assert!(case.steps.is_sorted_by_key(|step| step.at_ms), "{}", case.name);
        assert!(case.last_step_ms() <= 2_000, "{}", case.name);
        let ends = case.steps.iter().position(|step| !matches!(step.action, Action::Send(_)));
        assert!(ends.is_none_or(|position| position + 1 == case.steps.len()), "{}", case.name);
        for step in &case.steps {
            assert_ne!(step.action, Action::Send(Vec::new()), "{}", case.name);
        }
    }
}

#[test]
fn a_second_reading_finds_the_same_truth() {
    for case in cases::suite() {
        let mut read = judge(&case);
        let mut told = case.truth.clone();
        for compared in [&mut read, &mut told] {
            // Rounded to a nanosecond: the two computations may differ in the last bit.
            compared.tpot_ms = compared.tpot_ms.map(|ms| (ms * 1e6).round() / 1e6);
            compared.tpot_after_first_event_ms =
                compared.tpot_after_first_event_ms.map(|ms| (ms * 1e6).round() / 1e6);
        }
        if told.token_events.is_none() || !read.streamed || read.http_status.is_none() {
            read.token_events = told.token_events;
        }
        if !told.has_latencies() {
            read.streamed = told.streamed;
        }
        assert_eq!(read, told, "{}", case.name);
    }
}
