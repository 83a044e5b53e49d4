//! A latency target as it is asked for and stored: terms, each a bound from above.
//!
//! What is asked for from below, a speed or a share that is to be large, is kept as the bound on what it
//! leaves. Not here: how targets are written, and how a level is judged (`ifm-metrics`).

use crate::metric::{Metric, MetricUnit};
pub use crate::percentile::other_end;
use crate::percentile::without_dust;
use crate::sheet::Statistic;
use serde::{Deserialize, Serialize};

/// A latency target that a level can pass or fail. Bounds are on percentiles over ok requests.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SloSpec {
    /// Name of a preset, or `custom`.
    pub name: String,
    /// Terms, all of which must hold.
    pub terms: Vec<SloTerm>,
    /// Whether the user named no target, so that it is the default of the API: nothing is judged by
    /// it. Absent for a target that was named, and in runs before this field.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_default: bool,
}

impl SloSpec {
    /// No target at all.
    pub fn none() -> SloSpec {
        SloSpec { name: "none".to_owned(), terms: Vec::new(), is_default: false }
    }

    /// The target that the user named; none where there is only a default.
    pub fn named(&self) -> SloSpec {
        if self.is_default { SloSpec::none() } else { self.clone() }
    }
}

/// One bound of an SLO.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SloTerm {
    /// Metric id: `ttft`, `itl`, `tpot`, `e2e`, `ttfa`, `rtf`.
    #[serde(with = "crate::metric::stored::as_word")]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub metric: Metric,
    /// Percentile, above 0 and at most 100; absent where the bound is on the mean.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub percentile: Option<f64>,
    /// Upper bound, milliseconds; of a ratio of times such as `rtf`, milliseconds for each second; of a
    /// share such as `session_failed`, thousandths.
    pub limit_ms: f64,
    /// Where the term was asked for as a speed, which has a least value: that value, tokens per
    /// second of a user (the metric is then `tpot`) or seconds of audio for each second (`rtf_heard`).
    /// `limit_ms` is the time that such a speed leaves, and the percentile counts from the other end:
    /// P10 of the speed is P90 of the time. So too for a share that is to be large, 0 to 1: of sessions
    /// that are complete (`session_failed`), of their prompts that came from a cache
    /// (`session_uncached`); `limit_ms` is the rest. Absent for all others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speed_min: Option<f64>,
}

const MS_PER_S: f64 = 1e3;
const NS_PER_MS: f64 = 1e6;

/// A value of a term, or its limit, as it was asked for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Asked {
    /// A time, milliseconds.
    Ms(f64),
    /// The speed of a user, tokens per second.
    TokPerS(f64),
    /// Seconds over seconds.
    Ratio(f64),
    /// A share, 0 to 1.
    Share(f64),
}

impl SloTerm {
    /// A bound on the speed of a user: at least `tok_per_s` at the percentile `p` of the slow tail.
    pub fn speed(p: f64, tok_per_s: f64) -> SloTerm {
        SloTerm::at_least(Metric::Tpot, p, tok_per_s)
    }

    /// A bound on the RTFx of requests: at least `rtfx` at the percentile `p` of the slow tail.
    pub fn rtfx(p: f64, rtfx: f64) -> SloTerm {
        SloTerm::at_least(Metric::HeardRtf, p, rtfx)
    }

    /// A bound on a share that is to be large, by the share that is left; a percentile counts from the
    /// other end. `rest` is [`Metric::SessionFailed`] or [`Metric::SessionUncached`].
    pub fn share(rest: Metric, p: Option<f64>, least: f64) -> SloTerm {
        let limit_ms = without_dust((1.0 - least) * MS_PER_S);
        SloTerm { metric: rest, percentile: p.map(other_end), limit_ms, speed_min: Some(least) }
    }

    /// A bound on the inverse of a metric.
    fn at_least(metric: Metric, p: f64, least: f64) -> SloTerm {
        SloTerm {
            metric,
            percentile: Some(other_end(p)),
            limit_ms: MS_PER_S / least,
            speed_min: Some(least),
        }
    }

    /// The limit in the unit of the metric's own values: nanoseconds, or a ratio.
    pub fn limit(&self) -> f64 {
        match self.is_ratio() {
            true => self.limit_ms / MS_PER_S,
            false => self.limit_ms * NS_PER_MS,
        }
    }

    /// A value of the metric, nanoseconds or a ratio, in the unit of `limit_ms`.
    pub fn in_ms(&self, value: f64) -> f64 {
        if self.is_ratio() { value * MS_PER_S } else { value / NS_PER_MS }
    }

    /// Whether the metric is a ratio of times, or a share.
    pub fn is_ratio(&self) -> bool {
        self.metric.unit() != MetricUnit::Ns
    }

    /// Whether the metric is a share.
    pub fn is_share(&self) -> bool {
        self.metric.unit() == MetricUnit::Share
    }

    /// Whether what was asked for has a least value.
    pub fn is_least(&self) -> bool {
        self.speed_min.is_some()
    }

    /// The metric and its bounded statistic as requested: `TTFT`, `p99`; `tok/s/user`, `p10`.
    pub fn asked(&self) -> (&'static str, String) {
        match (self.speed_min, self.percentile) {
            (Some(_), Some(p)) => (self.speed_metric().name(), format!("p{}", other_end(p))),
            (Some(_), None) => (self.speed_metric().name(), self.over()),
            (None, _) => (self.metric.name(), self.over()),
        }
    }

    /// The metric of which a least value was asked for, where one was.
    pub fn speed_metric(&self) -> Metric {
        match self.metric {
            Metric::HeardRtf => Metric::Rtfx,
            Metric::SessionFailed => Metric::SessionOk,
            Metric::SessionUncached => Metric::SessionCached,
            _ => Metric::UserSpeed,
        }
    }

    /// A value of the term, in the unit of `limit_ms`, as requested. For an infinite speed it
    /// returns the time.
    pub fn shown(&self, value_ms: f64) -> Asked {
        if self.is_share() {
            let share = value_ms / MS_PER_S;
            return Asked::Share(if self.is_least() { 1.0 - share } else { share });
        }
        match (self.speed_min.filter(|_| value_ms > 0.0), self.is_ratio()) {
            (Some(_), true) => Asked::Ratio(MS_PER_S / value_ms),
            (Some(_), false) => Asked::TokPerS(MS_PER_S / value_ms),
            (None, true) => Asked::Ratio(value_ms / MS_PER_S),
            (None, false) => Asked::Ms(value_ms),
        }
    }

    /// The limit as it was asked for.
    pub fn limit_shown(&self) -> Asked {
        match (self.speed_min, self.is_ratio()) {
            (Some(least), _) if self.is_share() => Asked::Share(least),
            (Some(least), true) => Asked::Ratio(least),
            (Some(least), false) => Asked::TokPerS(least),
            (None, _) => self.shown(self.limit_ms),
        }
    }

    /// How much a value exceeds or falls short of what was asked for, as a ratio: above 1 it is more.
    pub fn over_limit(&self, value_ms: f64) -> f64 {
        match (self.shown(value_ms), self.limit_shown()) {
            (Asked::Share(found), Asked::Share(limit)) => found / limit,
            _ if self.is_least() => self.limit_ms / value_ms,
            _ => value_ms / self.limit_ms,
        }
    }

    /// The bounded statistic in a word: `p99`, `mean`; `share` for a metric with one value per level.
    pub fn over(&self) -> String {
        if !self.metric.has_many_values() {
            return "share".to_owned();
        }
        self.percentile.map_or_else(|| "mean".to_owned(), |p| format!("p{p}"))
    }

    /// The same as the statistic of a figure.
    pub fn statistic(&self) -> Statistic {
        self.percentile.map_or(Statistic::Mean, Statistic::percentile)
    }
}
