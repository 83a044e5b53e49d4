//! The HTTP/1.1 reader against hyper's client: the same bytes in the same pieces must give the
//! same status, body, ending and fate of the connection.
//!
//! Where the two differ for a reason, the reason is a [`Class`]; everything else is a failure.

mod client;
mod compare;
mod differences;
mod responses;

use crate::{pieces, try_cases};
use compare::{complaint, read};
use differences::{Class, EXAMPLES};
use proptest::prelude::*;
use proptest::sample::Index;

/// Whether both agree, or disagree for a known reason.
fn check(bytes: &[u8], cuts: &[Index]) -> Result<(), TestCaseError> {
    match complaint(bytes, &pieces(bytes, cuts)) {
        Some(complaint) => Err(TestCaseError::fail(complaint)),
        None => Ok(()),
    }
}

fn cuts() -> impl Strategy<Value = Vec<Index>> {
    prop_oneof![
        3 => prop::collection::vec(any::<Index>(), 0..6),
        1 => prop::collection::vec(any::<Index>(), 0..200),
    ]
}

#[test]
fn well_formed_responses_are_read_as_hyper_reads_them() {
    let strategy = (responses::response(), cuts());
    try_cases(500, &strategy, |(bytes, cuts)| check(&bytes, &cuts));
}

#[test]
fn damaged_responses_are_read_as_hyper_reads_them() {
    let strategy = (responses::damaged(), cuts());
    try_cases(1500, &strategy, |(bytes, cuts)| check(&bytes, &cuts));
}

#[test]
fn every_known_difference_is_still_one() {
    for (class, bytes) in EXAMPLES {
        let parts = [bytes.to_vec()];
        let (ours, theirs) = (read(&parts), client::read(&parts));
        assert_ne!(ours, theirs, "{class:?} is no difference any more: remove it");
        assert_eq!(Class::of(bytes, &ours, &theirs), Some(*class), "{ours:?} {theirs:?}");
    }
}

#[test]
fn the_generator_reaches_every_ending() {
    let reached = std::cell::RefCell::new(std::collections::BTreeSet::new());
    try_cases(300, &(responses::damaged(), cuts()), |(bytes, cuts)| {
        let seen = client::read(&pieces(&bytes, &cuts));
        let empty = seen.body.is_empty();
        reached.borrow_mut().insert(format!("{:?} {} {empty}", seen.end, seen.reusable));
        Ok(())
    });
    let reached = reached.into_inner();
    for expect in [
        "Complete true false",
        "Complete true true",
        "Complete false false",
        "CompleteAtClose false false",
        "Error false false",
        "Error false true",
    ] {
        assert!(reached.contains(expect), "{expect} in {reached:?}");
    }
}
