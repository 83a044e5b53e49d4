//! How many requests were in flight on average, where only a limit on them was set.
//!
//! Not here: whether a document contradicts itself about it (`audit`).

use super::Pooled;
use ifm_core::Metric;
use ifm_core::sheet::{Statistic, key};
use ifm_metrics::level::Load;

/// A level whose mean is below this share of its limit did not hold it.
pub const HELD_MIN: f64 = 0.85;
const MS_PER_S: f64 = 1e3;

impl Pooled<'_> {
    /// Mean requests in flight: as reported, else by Little's law, requests per second times the
    /// mean time of a request. If that time is not reported, it is the mean TTFT plus a mean gap
    /// for every further token, which is exact if every event holds one token.
    pub fn in_flight_mean(&self) -> Option<f64> {
        let mean = |metric| Some(self.stat(metric, Statistic::Mean)?.value);
        if let Some(told) = mean(Metric::InFlight) {
            return Some(told);
        }
        let rate = self.central(Metric::RequestRate)?.value;
        let by_gaps = || {
            let tokens = self.stat(Metric::OutputTokens, Statistic::Value)?.value;
            let gaps = (tokens / self.requests_ok()? - 1.0).max(0.0);
            Some(mean(Metric::Ttft)? + mean(Metric::Itl)? * gaps)
        };
        Some(rate * mean(Metric::E2e).or_else(by_gaps)? / MS_PER_S)
    }

    /// Complete answers, or the requested number of requests.
    pub fn requests_ok(&self) -> Option<f64> {
        let told = self.stat(Metric::RequestsOk, Statistic::Value);
        told.map(|told| told.value)
            .or_else(|| self.setting()?.number(key::REQUESTS))
            .filter(|requests| *requests > 0.0)
    }

    /// Mean requests in flight if they are clearly fewer than the requested users: the concurrency
    /// was not reached, since ramp and drain are much of the run.
    pub fn held_less(&self) -> Option<f64> {
        let Load::Users(users) = self.load()? else { return None };
        self.in_flight_mean().filter(|mean| *mean < HELD_MIN * f64::from(users))
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Results, Stat};
    use super::*;
    use crate::testing::sweep;
    use ifm_core::sheet::PartKind;

    #[test]
    fn a_limit_is_not_a_load() {
        let results = sweep();
        let pool = results.pool(PartKind::Serving);
        let means: Vec<f64> = pool.cells.iter().filter_map(Pooled::in_flight_mean).collect();
        for (mean, expect) in means.iter().zip([28.96, 83.39, 178.95]) {
            assert!((mean - expect).abs() < 0.05, "{means:?}");
        }
        let held: Vec<bool> = pool.cells.iter().map(|cell| cell.held_less().is_none()).collect();
        assert_eq!(held, [true, false, false], "29 of 32 are nearly all");
    }

    #[test]
    fn prefers_the_reported_number_and_needs_times_otherwise() {
        let mut results = sweep();
        results.points.truncate(1);
        let told = Stat::new(Metric::InFlight, Statistic::Mean, 31.0);
        results.points[0].stats.push(told);
        let of = |results: &Results| results.pool(PartKind::Serving).cells[0].in_flight_mean();
        assert_eq!(of(&results), Some(31.0));
        results.points[0].stats.retain(|stat| stat.metric == Metric::RequestRate);
        assert_eq!(of(&results), None);
    }
}
