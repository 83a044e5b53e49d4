//! How far what the client says is from what happened, request by request and gap by gap.

use super::pair::Pair;
use super::statistics::Spread;
use anyhow::{Context as _, Result};
use ifm_metrics::RequestMetrics;

/// Errors of one run, milliseconds: said minus true.
#[derive(Debug, Clone, Default)]
pub struct Errors {
    /// Time to first token, one for each request.
    pub ttft: Vec<f64>,
    /// The same less the time of the upload.
    pub ttft_less_upload: Vec<f64>,
    /// Start to last token, one for each request.
    pub e2e: Vec<f64>,
    /// Gaps between tokens, one for each gap.
    pub itl: Vec<f64>,
    /// From the client's start stamp to the arrival at the server: the first part of an error.
    pub sending: Vec<f64>,
    /// From the server's stamp before a write to the client's stamp of its arrival: the rest.
    pub receiving: Vec<f64>,
    /// From the client's start stamp to the last byte in the kernel's hands.
    pub upload: Vec<f64>,
}

/// A figure of [`Errors`].
pub type Figure = fn(&Errors) -> &[f64];

fn ms(ns: i64) -> f64 {
    ns as f64 / 1e6
}

/// The difference of two stamps or durations, nanoseconds.
fn less(said_ns: u64, true_ns: u64) -> i64 {
    said_ns as i64 - true_ns as i64
}

impl Errors {
    /// Errors of all requests of a run. The client's durations come from `ifm-metrics`, as a report
    /// shows them; the true ones count from the arrival of the request's last byte.
    ///
    /// # Errors
    /// When a request lacks what it should have.
    pub fn of(pairs: &[Pair<'_>]) -> Result<Errors> {
        let mut errors = Errors::default();
        for pair in pairs {
            errors.add(pair).with_context(|| format!("request {}", pair.said.seq))?;
        }
        Ok(errors)
    }

    fn add(&mut self, pair: &Pair<'_>) -> Result<()> {
        let Pair { said, truth, .. } = pair;
        let metrics = RequestMetrics::derive(said);
        let first_ns = truth.token_ns.first().context("the server wrote no token")?;
        let last_ns = truth.token_ns.last().context("the server wrote no token")?;
        let ttft_ns = metrics.ttft_ns.context("no TTFT was stored")?;
        let e2e_ns = metrics.e2e_ns.context("no E2E was stored")?;
        let upload_ns = metrics.upload_ns.context("the end of the upload was not stored")?;
        let ttft = less(ttft_ns, first_ns - truth.arrival_ns);
        self.ttft.push(ms(ttft));
        self.ttft_less_upload.push(ms(ttft - upload_ns as i64));
        self.e2e.push(ms(less(e2e_ns, last_ns - truth.arrival_ns)));
        self.upload.push(ms(upload_ns as i64));
        let start_ns = pair.on_server_clock(said.start_ns);
        self.sending.push(ms(less(truth.arrival_ns, start_ns)));
        for (said_gap, true_gap) in said.events.at_ns.windows(2).zip(truth.token_ns.windows(2)) {
            let gap = |pair: &[u64]| less(pair[1], pair[0]);
            self.itl.push(ms(gap(said_gap) - gap(true_gap)));
        }
        for (said, written) in said.events.at_ns.iter().zip(&truth.token_ns) {
            self.receiving.push(ms(less(pair.on_server_clock(*said), *written)));
        }
        Ok(())
    }
}

/// Medians over runs of the spread of one figure.
pub fn spread(runs: &[Errors], figure: Figure) -> Option<Spread> {
    let spreads: Vec<Spread> = runs.iter().filter_map(|run| Spread::of(figure(run))).collect();
    Spread::median(&spreads)
}
