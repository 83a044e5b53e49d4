//! The suite: streams with a known answer, one function per class.
//!
//! Every case says what the stream does and why its truth is what it is. The grammar is that of
//! the WHATWG event stream, RFC 9112 and RFC 8259; the meaning is that of the project's metrics.
//! Cases are legal streams that servers, proxies and gateways of the field send, or failures that
//! they show; no case rests on a reading that those texts leave open.

mod counts;
mod failures;
mod framing;
mod grammar;
mod kinds;
mod plain;
mod text;

use crate::case::Case;

/// All cases, grouped by class. Builds them anew: about a megabyte.
pub fn suite() -> Vec<Case> {
    let mut cases = plain::cases();
    cases.extend(grammar::cases());
    cases.extend(framing::cases());
    cases.extend(kinds::cases());
    cases.extend(counts::cases());
    cases.extend(text::cases());
    cases.extend(failures::cases());
    cases
}

/// The case of that name.
pub fn find(name: &str) -> Option<Case> {
    suite().into_iter().find(|case| case.name == name)
}
