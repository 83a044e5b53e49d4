//! What tokens cost: per hour, per million, per kilowatt-hour.
//!
//! Not here: prices. The user gives one for the whole server.

use super::Pooled;
use ifm_core::Metric;
use ifm_core::sheet::Statistic;

const SECONDS_PER_HOUR: f64 = 3600.0;
const JOULES_PER_KWH: f64 = 3.6e6;

/// What comes out at one load, and for what.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Yield {
    /// Output tokens per second.
    pub output_tok_per_s: f64,
    /// Output tokens per hour.
    pub output_tok_per_hour: f64,
    /// US dollars for a million output tokens, the server being busy all the time; absent without
    /// a price.
    pub usd_per_million: Option<f64>,
    /// Output tokens per kilowatt-hour; absent if the energy was not measured.
    pub output_tok_per_kwh: Option<f64>,
}

impl Pooled<'_> {
    /// What comes out here; absent without an output rate. `usd_per_hour` is the price of the whole
    /// server: cost = price · 10⁶ / (rate · 3600).
    pub fn output_yield(&self, usd_per_hour: Option<f64>) -> Option<Yield> {
        let rate = self.central(Metric::OutputRate)?.value;
        let per_hour = rate * SECONDS_PER_HOUR;
        let joules = self.stat(Metric::EnergyPerToken, Statistic::Value);
        Some(Yield {
            output_tok_per_s: rate,
            output_tok_per_hour: per_hour,
            usd_per_million: usd_per_hour.filter(|_| rate > 0.0).map(|usd| usd * 1e6 / per_hour),
            output_tok_per_kwh: joules
                .filter(|joules| joules.value > 0.0)
                .map(|joules| JOULES_PER_KWH / joules.value),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::Results;
    use crate::testing::repeat as point;
    use ifm_core::sheet::PartKind;

    /// A published sweep: 2553 tok/s on a server of $1.80 an hour.
    #[test]
    fn a_million_tokens_cost_price_over_rate() {
        let results = Results { sources: Vec::new(), points: vec![point(128, 1, 2553.0)] };
        let pool = results.pool(PartKind::StaticBatch);
        let found = pool.cells[0].output_yield(Some(1.8)).expect("a rate");
        assert_eq!(found.output_tok_per_hour, 9_190_800.0);
        assert!((found.usd_per_million.expect("a price") - 0.195_848).abs() < 1e-6);
        assert_eq!(found.output_tok_per_kwh, None);
        assert_eq!(pool.cells[0].output_yield(None).and_then(|found| found.usd_per_million), None);
    }
}
