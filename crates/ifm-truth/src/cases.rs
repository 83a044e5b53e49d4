//! The suite: streams with a known answer, one file per class.
//!
//! Every case says what the stream does and why its truth is what it is. The grammar is that of
//! the WHATWG event stream, RFC 9112 and RFC 8259; the meaning is that of the project's metrics.
//! Cases are legal streams that servers, proxies and gateways of the field send, or failures that
//! they show; no case rests on a reading that those texts leave open. The language that they are
//! written in is in `script`.

use crate::case::{Case, Class};
use crate::script;
use std::sync::LazyLock;

/// The text of each class.
const TEXTS: [(Class, &str); Class::ALL.len()] = [
    (Class::Plain, include_str!("cases/plain.txt")),
    (Class::Grammar, include_str!("cases/grammar.txt")),
    (Class::Framing, include_str!("cases/framing.txt")),
    (Class::Kinds, include_str!("cases/kinds.txt")),
    (Class::Counts, include_str!("cases/counts.txt")),
    (Class::Text, include_str!("cases/text.txt")),
    (Class::Failures, include_str!("cases/failures.txt")),
];

static SUITE: LazyLock<Vec<Case>> = LazyLock::new(|| {
    let read = |(class, text)| {
        script::read(class, text).expect("invariant: the texts are ours, and a test reads all")
    };
    TEXTS.into_iter().flat_map(read).collect()
});

/// All cases, grouped by class: about a megabyte.
pub fn suite() -> Vec<Case> {
    SUITE.clone()
}

/// The case of that name.
pub fn find(name: &str) -> Option<Case> {
    SUITE.iter().find(|case| case.name == name).cloned()
}
