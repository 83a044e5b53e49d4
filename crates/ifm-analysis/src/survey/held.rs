//! How many requests were in flight on average, where only a limit on them was set.
//!
//! Not here: whether a document contradicts itself about it (`audit`).

use super::Pooled;
use crate::level::Load;
use ifm_core::Metric;
use ifm_core::sheet::{Statistic, key};

/// A level whose mean is below this share of its limit did not hold it.
pub const HELD_MIN: f64 = 0.85;
const MS_PER_S: f64 = 1e3;

impl Pooled<'_> {
    /// Mean requests in flight: as reported, else by Little's law, requests per second times the
    /// mean time of a request. If that time is not reported, it is the mean TTFT plus a mean gap
    /// for every further token, which is exact if every event holds one token.
    pub fn in_flight_mean(&self) -> Option<f64> {
        let mean = |quantity| Some(self.reading(quantity, Statistic::Mean)?.value);
        if let Some(told) = mean(Metric::InFlight) {
            return Some(told);
        }
        let rate = self.central(Metric::RequestRate)?.value;
        let by_gaps = || {
            let tokens = self.reading(Metric::OutputTokens, Statistic::Value)?.value;
            let gaps = (tokens / self.requests_ok()? - 1.0).max(0.0);
            Some(mean(Metric::Ttft)? + mean(Metric::Itl)? * gaps)
        };
        Some(rate * mean(Metric::E2e).or_else(by_gaps)? / MS_PER_S)
    }

    /// Complete answers, or the requested number of requests.
    pub fn requests_ok(&self) -> Option<f64> {
        let told = self.reading(Metric::RequestsOk, Statistic::Value);
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
pub(crate) mod tests {
    use super::super::pool::tests::point;
    use super::super::{Point, Reading, Survey};
    use super::*;
    use ifm_core::sheet::PartKind;

    /// A level of a published sweep of 1,000 requests: limit, requests per second, mean TTFT, mean
    /// ITL (ms), output tokens of all.
    pub(crate) fn level((users, rate, ttft, itl, tokens): (u32, f64, f64, f64, f64)) -> Point {
        let value = Statistic::Value;
        let mut point = Point {
            kind: PartKind::Serving,
            readings: vec![
                Reading::new(Metric::RequestsOk, value, 1000.0),
                Reading::new(Metric::InputTokens, value, 214_316.0),
                Reading::new(Metric::OutputTokens, value, tokens),
                Reading::new(Metric::RequestRate, value, rate),
                Reading::new(Metric::Ttft, Statistic::Mean, ttft),
                Reading::new(Metric::Itl, Statistic::Mean, itl),
            ],
            ..point(users, 1, 0.0)
        };
        point.load = Some(Load::Users(users));
        point
    }

    /// Three levels of that sweep.
    pub(crate) fn sweep() -> Survey {
        let levels = [
            (32, 11.86, 62.26, 26.17, 91_928.0),
            (128, 28.09, 84.11, 32.09, 90_886.0),
            (512, 37.30, 430.01, 47.72, 92_521.0),
        ];
        Survey { origins: Vec::new(), points: levels.map(level).to_vec() }
    }

    #[test]
    fn a_limit_is_not_a_load() {
        let survey = sweep();
        let pool = survey.pool(PartKind::Serving);
        let means: Vec<f64> = pool.cells.iter().filter_map(Pooled::in_flight_mean).collect();
        for (mean, expect) in means.iter().zip([28.96, 83.39, 178.95]) {
            assert!((mean - expect).abs() < 0.05, "{means:?}");
        }
        let held: Vec<bool> = pool.cells.iter().map(|cell| cell.held_less().is_none()).collect();
        assert_eq!(held, [true, false, false], "29 of 32 are nearly all");
    }

    #[test]
    fn prefers_the_reported_number_and_needs_times_otherwise() {
        let mut survey = sweep();
        survey.points.truncate(1);
        let told = Reading::new(Metric::InFlight, Statistic::Mean, 31.0);
        survey.points[0].readings.push(told);
        let of = |survey: &Survey| survey.pool(PartKind::Serving).cells[0].in_flight_mean();
        assert_eq!(of(&survey), Some(31.0));
        survey.points[0].readings.retain(|reading| reading.quantity == Metric::RequestRate);
        assert_eq!(of(&survey), None);
    }
}
