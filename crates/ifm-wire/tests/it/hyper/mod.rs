//! The HTTP/1.1 reader against hyper's client: the same bytes in the same pieces must give the
//! same status, body, ending and fate of the connection.
//!
//! Where the two differ for a reason, the reason is a [`Class`]; everything else is a failure.

mod client;
mod differences;
mod responses;

use crate::{pieces, try_cases};
use differences::{Class, EXAMPLES};
use ifm_wire::{ResponseReader, Step};
use proptest::prelude::*;
use proptest::sample::Index;

/// How a response ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// By its own framing, with the connection still open.
    Complete,
    /// With the connection.
    CompleteAtClose,
    /// Never: it breaks the rules, or the connection ended too early.
    Error,
}

/// What a client made of the bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Seen {
    status: Option<u16>,
    body: Vec<u8>,
    end: End,
    /// Whether the connection may carry another request.
    reusable: bool,
}

/// What our reader makes of them.
fn read(parts: &[Vec<u8>]) -> Seen {
    let mut reader = ResponseReader::new();
    let mut seen = Seen { status: None, body: vec![], end: End::Error, reusable: false };
    let mut left = 0;
    for part in parts {
        let mut input = part.as_slice();
        loop {
            match reader.step(&mut input) {
                Ok(Step::NeedMore) => break,
                Ok(Step::Head) => seen.status = reader.head().map(|head| head.status),
                Ok(Step::Body(bytes)) => seen.body.extend_from_slice(bytes),
                Ok(Step::End) => {
                    left += input.len();
                    break;
                }
                Err(_) => return seen,
            }
        }
    }
    if reader.is_complete() {
        seen.end = End::Complete;
        seen.reusable = reader.may_reuse() && left == 0;
    } else if reader.end_of_connection().is_ok() {
        seen.end = End::CompleteAtClose;
    }
    seen
}

/// Whether both agree, or disagree for a known reason.
fn compare(bytes: &[u8], cuts: &[Index]) -> Result<(), TestCaseError> {
    let parts = pieces(bytes, cuts);
    let ours = read(&parts);
    let theirs = client::read(&parts);
    if ours != theirs && Class::of(bytes, &ours, &theirs).is_none() {
        let text = String::from_utf8_lossy(bytes).into_owned();
        return Err(TestCaseError::fail(format!(
            "{text:?}\n  ours   {ours:?}\n  hyper's {theirs:?}"
        )));
    }
    let whole = read(&[bytes.to_vec()]);
    prop_assert_eq!(ours, whole, "another answer when the bytes come whole");
    Ok(())
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
    try_cases(500, &strategy, |(bytes, cuts)| compare(&bytes, &cuts));
}

#[test]
fn damaged_responses_are_read_as_hyper_reads_them() {
    let strategy = (responses::damaged(), cuts());
    try_cases(1500, &strategy, |(bytes, cuts)| compare(&bytes, &cuts));
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
