//! What was measured at one place, and what a search found of its load.

use crate::Stat;
use ifm_core::Metric;
use ifm_core::sheet::{Factors, PartKind, Place, RowRole, Statistic, key};
use ifm_core::spec::SloSpec;
use ifm_metrics::level::Load;
use ifm_metrics::slo::VerdictState;

/// What was measured at one place: one row of a document, one level of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Point {
    /// Index into [`Results::sources`](crate::Results::sources).
    pub source: usize,
    /// Position of its table in the document; 0 in a run.
    pub part: usize,
    /// Kind of measurement.
    pub kind: PartKind,
    /// What the row claims to be.
    pub role: RowRole,
    /// Headings above it, from the outermost.
    pub headings: Vec<String>,
    /// Its own name.
    pub label: Option<String>,
    /// What was set, but for the load and the number of the repeat.
    pub setting: Factors,
    /// The load; absent where it has none or does not say it.
    pub load: Option<Load>,
    /// Number of the repeat, where the document gives one.
    pub repeat: Option<u32>,
    /// The numbers.
    pub stats: Vec<Stat>,
    /// Whether it is inside the latency target; unknown for a document.
    pub verdict: VerdictState,
    /// What a search for the capacity found of its load, all looks together.
    pub searched: Option<Searched>,
    /// GPUs that it ran on; absent if not reported.
    pub gpus: Option<f64>,
    /// Its position in the source.
    pub place: Place,
    /// The sentence of a stated row, the lines of a drawn block.
    pub text: Option<String>,
}

impl Point {
    /// The number of a metric and statistic.
    pub fn stat(&self, metric: Metric, statistic: Statistic) -> Option<&Stat> {
        let is = |stat: &&Stat| stat.metric == metric && stat.statistic == statistic;
        self.stats.iter().find(is)
    }

    /// The central number of a metric: the first of [`Statistic::central`].
    pub fn central(&self, metric: Metric) -> Option<&Stat> {
        Statistic::central(metric).into_iter().find_map(|statistic| self.stat(metric, statistic))
    }

    /// A value in the canonical unit of its metric.
    pub fn value(&self, metric: Metric, statistic: Statistic) -> Option<f64> {
        Some(self.stat(metric, statistic)?.value)
    }

    /// Whether it was computed and not measured.
    pub fn is_predicted(&self) -> bool {
        self.setting.get(key::NUMBERS) == Some(key::PREDICTED)
    }

    /// A factor by name, the load's among them.
    pub fn factor(&self, name: &str) -> Option<String> {
        match (name, self.load) {
            (key::CONCURRENCY, Some(Load::Users(users))) => Some(users.to_string()),
            (key::RATE, Some(Load::ReqPerS(rate))) => Some(rate.to_string()),
            (key::NUMBERS, _) => Some(self.setting.get(name).unwrap_or(key::MEASURED).to_owned()),
            _ => self.setting.get(name).map(str::to_owned),
        }
    }

    /// Failed requests and all requests that were sent, as they were counted. A document that does
    /// not count what was sent sent what succeeded or failed.
    pub fn failed_of_sent(&self) -> Option<(u64, u64)> {
        let count = |metric: Metric| {
            let value = self.value(metric, Statistic::Value)?;
            (value >= 0.0).then_some(value as u64)
        };
        let (ok, sent) = (count(Metric::RequestsOk), count(Metric::Requests));
        let failed = count(Metric::RequestsFailed).or_else(|| sent?.checked_sub(ok?))?;
        let ended = ok.map_or(failed, |ok| ok + failed);
        let sent = sent.filter(|sent| *sent >= ended).or(ok.map(|_| ended))?;
        (sent > 0).then_some((failed, sent))
    }

    /// Requested prompt and output tokens.
    pub fn lengths(&self) -> (Option<f64>, Option<f64>) {
        (self.setting.number(key::INPUT_TOKENS), self.setting.number(key::OUTPUT_TOKENS))
    }
}

/// What a search found of a load, for one target.
#[derive(Debug, Clone, PartialEq)]
pub struct Searched {
    /// The target that was searched for.
    pub slo: SloSpec,
    /// Whether the load is inside; unknown where it could not be settled.
    pub state: VerdictState,
}
