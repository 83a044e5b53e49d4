//! `inferometer probe`: what a server is and can do, as far as it bears on a measurement, in some
//! seconds.
//!
//! One file per kind of question, one line in `QUESTIONS`. Each question sends a few small
//! requests, one after another, each with a time limit, and says what it found, how, and what
//! follows. What could not be found out is said to be unknown, and why.

mod apis;
mod cache;
mod clock;
mod connection;
pub mod custom;
mod fields;
mod finding;
mod identity;
mod inquiry;
mod lengths;
mod noted;
mod prompts;
mod recording;
mod render;
mod seed;
mod stop;
mod stream;

#[cfg(test)]
mod tests;

pub use finding::{Finding, Grade, Section};
pub use inquiry::{Inquiry, Wish, template, written};
pub use render::{ProbeDocument, text};

use ifm_core::order::Order as _;
use std::time::Duration;

/// A kind of question. Later ones build on what earlier ones learned.
type Question = fn(&mut Inquiry) -> Vec<Finding>;

/// Every question, in the order in which they are asked: what others need first, then by weight.
const QUESTIONS: [Question; 11] = [
    connection::ask,
    stream::ask,
    identity::ask,
    prompts::ask,
    cache::ask,
    seed::ask,
    stop::ask,
    apis::ask,
    lengths::ask,
    fields::ask,
    clock::ask,
];

/// What a probe found.
pub struct Report {
    /// Base URL.
    pub url: String,
    /// In the order of the sections.
    pub findings: Vec<Finding>,
    /// Requests that were sent.
    pub requests: u32,
    /// Time that it took.
    pub took: Duration,
    /// Whether any API gave a good answer.
    pub has_answers: bool,
}

/// Asks all questions.
pub fn probe(mut inquiry: Inquiry) -> (Vec<Finding>, Inquiry) {
    let mut findings: Vec<Finding> =
        QUESTIONS.iter().flat_map(|question| question(&mut inquiry)).collect();
    findings.order_by_key(|finding| finding.section);
    (findings, inquiry)
}
