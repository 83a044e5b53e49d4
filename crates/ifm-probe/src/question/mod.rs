//! `inferometer probe`: identifies a server and its features, as far as they matter for a
//! measurement, in a few seconds.
//!
//! One file per kind of question, one line in `QUESTIONS`. Each question sends a few small
//! requests, one after another, each with a time limit. It reports what it found, how, and what
//! follows. What could not be determined is reported as unknown, with the reason.

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

/// A kind of question. Later ones use the results of earlier ones.
type Question = fn(&mut Inquiry) -> Vec<Finding>;

/// Every question, in order: prerequisites first, then by importance.
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

/// The findings of a probe.
pub struct Report {
    /// Base URL.
    pub url: String,
    /// In the order of the sections.
    pub findings: Vec<Finding>,
    /// Requests that were sent.
    pub requests: u32,
    /// Elapsed time.
    pub took: Duration,
    /// Whether any API gave a valid answer.
    pub has_answers: bool,
}

/// Asks all questions.
pub fn probe(mut inquiry: Inquiry) -> (Vec<Finding>, Inquiry) {
    let mut findings: Vec<Finding> =
        QUESTIONS.iter().flat_map(|question| question(&mut inquiry)).collect();
    findings.order_by_key(|finding| finding.section);
    (findings, inquiry)
}
