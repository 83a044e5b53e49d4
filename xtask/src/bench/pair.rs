//! Which stored request is which request of the server's log: each carries an id that the run knows.

use super::lab::Served;
use anyhow::{Context as _, Result, ensure};
use ifm_core::{RequestRecord, RunData};
use std::collections::HashMap;

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
/// When a request was stored and not served, or they differ in the number of tokens.
pub fn pair<'a>(run: &'a RunData, log: &'a [Served]) -> Result<Vec<Pair<'a>>> {
    let origin_ns = run.manifest.clock.origin_monotonic_ns;
    let origin_ns =
        origin_ns.context("the run does not contain its origin: is the client older?")?;
    // Requests that ask how many tokens an image has went ahead of the load, and are not in the run.
    let served: HashMap<&str, &Served> =
        log.iter().filter_map(|served| Some((served.id.as_deref()?, served))).collect();
    let mut said: Vec<&RequestRecord> = run.requests.iter().collect();
    said.sort_by_key(|record| record.start_ns);
    let pair_of = |said: &'a RequestRecord| {
        let id = run.manifest.request_id(said.seq).context("the run sent no ids")?;
        let truth = served.get(id.as_str());
        let truth = *truth.with_context(|| format!("request {id} is not in the server's log"))?;
        ensure!(
            truth.stamps_left_out == 0 && truth.token_ns.len() == said.events.len(),
            "request {id} has {} token events, the server logged {}",
            said.events.len(),
            truth.token_ns.len()
        );
        Ok(Pair { said, truth, origin_ns })
    };
    said.into_iter().map(pair_of).collect()
}
