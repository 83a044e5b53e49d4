//! A survey: everything that several runs and documents measured, point by point, in one form.
//!
//! Reports and their findings read this and nothing else, so that a run of ours and a file of
//! another tool are processed the same way. A point keeps its settings, its number of repeats and
//! its position; a reading keeps its interval, its population and its definition. Nothing is
//! computed on the way in but units, and the figures of single requests that have none. Not here:
//! what it means (`insight`), how it looks (`ifm-report`).

mod cold;
mod curve;
mod fitting;
mod from_requests;
mod from_run;
mod from_sheet;
mod held;
mod kernel;
mod pool;
mod power;
mod price;
mod reading;
pub(crate) mod request_times;
mod side;
mod stated;

pub use cold::Cold;
pub use curve::{Curve, CurvePoint, factor_words, loop_words, name_of};
pub(crate) use fitting::fitting_of_points;
pub use fitting::{Fitting, MEDIA_RATES, Miss, Resumed, readings_of};
pub use held::HELD_MIN;
#[cfg(test)]
pub(crate) use held::tests as held_tests;
#[cfg(test)]
pub(crate) use kernel::tests as kernel_tests;
pub use kernel::{CeilingTime, KernelMask, KernelTime};
pub use pool::{CONFIDENCE, Pool, Pooled, REPEATS_MIN};
#[cfg(test)]
pub(crate) use power::tests as power_tests;
pub use power::{PowerPoint, PowerSeries};
pub use price::Yield;
pub use reading::Reading;
pub use side::{Given, are_repeats, distinct_words, setup_differences};

use crate::level::Load;
use crate::slo::VerdictState;
use ifm_core::sheet::{Factors, PartKind, Place, Quantity, RowRole, Statistic, key};
use ifm_core::spec::SloSpec;
use side::RunIdentity;
use std::collections::{BTreeMap, BTreeSet};

/// A run or a document that a survey was made from.
#[derive(Debug, Clone, PartialEq)]
pub struct Origin {
    /// Name of the file, or id of the run.
    pub name: String,
    /// Name of the side that it is a part of: see [`Survey::with_sides`].
    pub side: String,
    /// The tool that measured; absent where the document does not say.
    pub tool: Option<String>,
    /// Its version.
    pub tool_version: Option<String>,
    /// Whether it is a run of this program.
    pub is_own: bool,
    /// By what its repeats are recognized; absent for documents.
    identity: Option<RunIdentity>,
}

impl Origin {
    /// A document of this name, which is its own side.
    pub fn of_document(name: &str) -> Origin {
        Origin {
            name: name.to_owned(),
            side: name.to_owned(),
            tool: None,
            tool_version: None,
            is_own: false,
            identity: None,
        }
    }
}

/// What was measured at one place: one row of a document, one level of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Point {
    /// Index into [`Survey::origins`].
    pub origin: usize,
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
    pub readings: Vec<Reading>,
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
    /// The reading of a quantity and statistic.
    pub fn reading(&self, quantity: &Quantity, statistic: Statistic) -> Option<&Reading> {
        let is =
            |reading: &&Reading| reading.quantity == *quantity && reading.statistic == statistic;
        self.readings.iter().find(is)
    }

    /// The central reading of a quantity: the first of [`Statistic::central`].
    pub fn central(&self, quantity: &Quantity) -> Option<&Reading> {
        Statistic::central(quantity)
            .into_iter()
            .find_map(|statistic| self.reading(quantity, statistic))
    }

    /// A value in the canonical unit of its quantity.
    pub fn value(&self, quantity: &Quantity, statistic: Statistic) -> Option<f64> {
        Some(self.reading(quantity, statistic)?.value)
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
        let count = |quantity: Quantity| {
            let value = self.value(&quantity, Statistic::Value)?;
            (value >= 0.0).then_some(value as u64)
        };
        let (ok, sent) = (count(Quantity::RequestsOk), count(Quantity::Requests));
        let failed = count(Quantity::RequestsFailed).or_else(|| sent?.checked_sub(ok?))?;
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

/// Everything that was measured.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Survey {
    /// Runs and documents, in the order in which they were given.
    pub origins: Vec<Origin>,
    /// Points, in the order of their origins and places.
    pub points: Vec<Point>,
}

impl Survey {
    /// Points of a role, in order.
    pub fn of_role(&self, role: RowRole) -> impl Iterator<Item = &Point> {
        self.points.iter().filter(move |point| point.role == role)
    }

    /// Measured points of a kind, in order.
    pub fn measured(&self, kind: PartKind) -> impl Iterator<Item = &Point> {
        self.of_role(RowRole::Measured).filter(move |point| point.kind == kind)
    }

    /// A point for each test of an engine: the summary of all its repeats if there is one, else the
    /// measured repeats.
    pub fn engine_tests(&self) -> impl Iterator<Item = &Point> {
        let of_engine = || self.points.iter().filter(|point| point.kind == PartKind::Engine);
        let heads: Vec<&Point> =
            of_engine().filter(|point| point.role == RowRole::Summary).collect();
        of_engine().filter(move |point| match point.role {
            RowRole::Summary => true,
            RowRole::Measured => !heads.iter().any(|head| {
                (head.origin, head.part, &head.place, &head.setting)
                    == (point.origin, point.part, &point.place, &point.setting)
            }),
            RowRole::Stated | RowRole::Planned => false,
        })
    }

    /// Whether any point of this kind was measured.
    pub fn has(&self, kind: PartKind) -> bool {
        self.measured(kind).next().is_some()
    }

    /// Values of a factor in the order of their first appearance, over all points.
    pub fn values(&self, name: &str) -> Vec<String> {
        let mut values: Vec<String> = Vec::new();
        for value in self.points.iter().filter_map(|point| point.factor(name)) {
            if !values.contains(&value) {
                values.push(value);
            }
        }
        values
    }

    /// Names of the factors that differ between measured points of a kind, in alphabetical order;
    /// the load, the repeat and the number of requests are none.
    pub fn varying(&self, kind: PartKind) -> Vec<String> {
        let mut seen: BTreeMap<&str, BTreeSet<Option<&str>>> = BTreeMap::new();
        for (name, _) in self.measured(kind).flat_map(|point| point.setting.iter()) {
            seen.entry(name).or_default();
        }
        for point in self.measured(kind) {
            for (name, values) in &mut seen {
                // A measurement has nothing of a prediction, and does not differ in it.
                let value = point.setting.get(name);
                if value.is_some() || !name.starts_with(key::PREDICTED_PREFIX) {
                    values.insert(value);
                }
            }
        }
        // A document's description of the machine differs with its accelerator; a concurrency is
        // here only if it is not a number.
        let is_told =
            |name: &str| ![key::REQUESTS, key::HARDWARE, key::CONCURRENCY].contains(&name);
        let differs = |(name, values): &(&str, BTreeSet<_>)| values.len() > 1 && is_told(name);
        seen.into_iter().filter(differs).map(|(name, _)| name.to_owned()).collect()
    }

    /// Whether it holds both what was measured and what was computed.
    pub fn is_mixed(&self) -> bool {
        let has = |is: bool| self.points.iter().any(|point| point.is_predicted() == is);
        has(true) && has(false)
    }

    /// What was measured, without what was computed.
    #[must_use]
    pub fn without_predictions(&self) -> Survey {
        let measured = self.points.iter().filter(|point| !point.is_predicted());
        Survey { origins: self.origins.clone(), points: measured.cloned().collect() }
    }

    /// Where a point comes from.
    pub fn origin(&self, point: &Point) -> Option<&Origin> {
        self.origins.get(point.origin)
    }

    /// Takes over the points of another survey.
    pub fn extend(&mut self, other: Survey) {
        let before = self.origins.len();
        self.origins.extend(other.origins);
        self.points.extend(other.points.into_iter().map(|mut point| {
            point.origin += before;
            point
        }));
    }
}
