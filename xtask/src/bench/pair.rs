//! Which stored request is which request of the server's log.
//!
//! Nothing in a request tells. But one thread of the client sends one request after the other, on
//! connections that are open, so the order of starts is the order in which first bytes arrive. That
//! each of the client's slots then keeps to one of the server's connections shows that it holds.

use super::lab::Served;
use anyhow::{Context as _, Result, ensure};
use ifm_core::{RequestRecord, RunData};
use std::collections::BTreeMap;

/// A request as the client stored it and as the server logged it.
#[derive(Debug, Clone, Copy)]
pub struct Pair<'a> {
    /// What the client says.
    pub said: &'a RequestRecord,
    /// What happened.
    pub truth: &'a Served,
    /// The run's origin on the monotonic clock, nanoseconds: what brings the two together.
    pub origin_ns: u64,
}

impl Pair<'_> {
    /// A stored time on the clock of the log.
    pub fn on_server_clock(&self, at_ns: u64) -> u64 {
        self.origin_ns + at_ns
    }
}

/// Brings the two sides together, in the order of the requests' starts.
///
/// # Errors
/// When they differ in number or in the number of tokens, or when connections do not fit.
pub fn pair<'a>(run: &'a RunData, log: &'a [Served]) -> Result<Vec<Pair<'a>>> {
    let origin_ns = run.manifest.clock.origin_monotonic_ns;
    let origin_ns = origin_ns.context("the run does not tell its origin: is the client older?")?;
    let mut said: Vec<&RequestRecord> = run.requests.iter().collect();
    said.sort_by_key(|record| record.start_ns);
    // Requests that ask what an image counts go ahead of the load.
    let begun_ns = origin_ns + said.first().map_or(0, |first| first.start_ns);
    let mut truth: Vec<&Served> =
        log.iter().filter(|served| served.first_byte_ns >= begun_ns).collect();
    truth.sort_by_key(|served| served.first_byte_ns);
    ensure!(
        said.len() == truth.len(),
        "{} requests were stored and {} served",
        said.len(),
        truth.len()
    );
    let (mut connection_of, mut slot_of) = (BTreeMap::new(), BTreeMap::new());
    let mut pairs = Vec::with_capacity(said.len());
    for (said, truth) in said.into_iter().zip(truth) {
        let connection = *connection_of.entry(said.slot).or_insert(truth.connection);
        let slot = *slot_of.entry(truth.connection).or_insert(said.slot);
        ensure!(
            connection == truth.connection && slot == said.slot,
            "request {} and the server's log do not fit: slot {} changed its connection",
            said.seq,
            said.slot
        );
        ensure!(
            truth.stamps_left_out == 0 && truth.token_ns.len() == said.events.len(),
            "request {} has {} token events, the server logged {}",
            said.seq,
            said.events.len(),
            truth.token_ns.len()
        );
        pairs.push(Pair { said, truth, origin_ns });
    }
    Ok(pairs)
}
