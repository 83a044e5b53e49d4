//! Everything that several runs and documents measured, point by point, in one form.
//!
//! A run of ours and a file of another tool are opened once and processed the same way. A point keeps
//! its settings, its number of repeats and its place; a number keeps its interval, its population and
//! its definition. Nothing is computed on the way in but units, and the figures of single requests
//! that have none of their own.

use crate::{Point, Source};
use ifm_core::sheet::{PartKind, RowRole, key};
use std::collections::{BTreeMap, BTreeSet};

/// Everything that was measured.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Results {
    /// Runs and documents, in the order in which they were given.
    pub sources: Vec<Source>,
    /// Points, in the order of their sources and places.
    pub points: Vec<Point>,
}

impl Results {
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
                (head.source, head.part, &head.place, &head.setting)
                    == (point.source, point.part, &point.place, &point.setting)
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
    pub fn without_predictions(&self) -> Results {
        let measured = self.points.iter().filter(|point| !point.is_predicted());
        Results { sources: self.sources.clone(), points: measured.cloned().collect() }
    }

    /// Where a point comes from.
    pub fn source(&self, point: &Point) -> Option<&Source> {
        self.sources.get(point.source)
    }

    /// Takes over the points of others.
    pub fn extend(&mut self, other: Results) {
        let before = self.sources.len();
        self.sources.extend(other.sources);
        self.points.extend(other.points.into_iter().map(|mut point| {
            point.source += before;
            point
        }));
    }
}
