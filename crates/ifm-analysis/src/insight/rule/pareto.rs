//! Which configurations give the most output for each speed.

use super::{told_by, user_speed_curves};
use crate::comparison::Verdict;
use crate::insight::delta::user_speed;
use crate::insight::versus::OUTPUT;
use crate::insight::{Insight, InsightRule, Question, Tone, Topic};
use crate::say;
use crate::survey::{Curve, Pool, Pooled};
use ifm_core::sheet::{PartKind, Quantity, key};

/// Names of dominated configurations in one sentence, at most.
const NAMED_MAX: usize = 4;

pub(super) const RULE: InsightRule = InsightRule {
    id: "pareto",
    title: "configurations of the same workload that no other beats in both speed and output, and those that another is shown to beat everywhere",
    look,
};

/// A load of a configuration: speed for one user, and output of the server for each of its GPUs
/// where their number is known.
#[derive(Debug, Clone)]
pub struct Place<'a> {
    /// Tokens per second for one user.
    pub speed: f64,
    /// Output tokens per second, per GPU where all measurements say how many there are.
    pub output: f64,
    /// The measurement.
    pub cell: Pooled<'a>,
}

/// A configuration with its loads.
#[derive(Debug, Clone)]
pub struct Configuration<'a> {
    /// What sets it apart.
    pub name: String,
    /// What was sent: only configurations with the same workload are compared.
    pub workload: Vec<Option<String>>,
    /// Its loads.
    pub places: Vec<Place<'a>>,
}

impl Place<'_> {
    /// Whether it is at least as good in both and better in one.
    fn beats(&self, other: &Place) -> bool {
        self.speed >= other.speed
            && self.output >= other.output
            && (self.speed > other.speed || self.output > other.output)
    }
}

impl Configuration<'_> {
    /// For each of its loads whether no load of a configuration with the same workload beats it.
    pub fn frontier(&self, all: &[Configuration]) -> Vec<bool> {
        let same = || all.iter().filter(|other| other.workload == self.workload);
        let is_beaten =
            |place: &Place| same().flat_map(|other| &other.places).any(|other| other.beats(place));
        self.places.iter().map(|place| !is_beaten(place)).collect()
    }
}

/// Whether all measurements say on how many GPUs they ran, so that output is per GPU.
pub fn is_per_gpu(pool: &Pool) -> bool {
    let gpus = |cell: &Pooled| cell.setting()?.number(key::TENSOR_PARALLEL);
    !pool.cells.is_empty() && pool.cells.iter().all(|cell| gpus(cell).is_some_and(|n| n >= 1.0))
}

/// Every configuration that has speed and output.
pub fn configurations<'a>(pool: &Pool<'a>, by: &[String]) -> Vec<Configuration<'a>> {
    let per_gpu = is_per_gpu(pool);
    let place = |point: crate::survey::CurvePoint<'a>| {
        let gpus = point.cell.setting()?.number(key::TENSOR_PARALLEL).filter(|_| per_gpu);
        let output = point.cell.central(&Quantity::OutputRate)?.value / gpus.unwrap_or(1.0);
        Some(Place { speed: point.reading.value, output, cell: point.cell })
    };
    let configuration = |curve: Curve<'a>| {
        let name = curve.name();
        let first = curve.points.first()?.cell.clone();
        let workload = [key::WORKLOAD, key::INPUT_TOKENS, key::OUTPUT_TOKENS]
            .map(|name| first.factor(name))
            .to_vec();
        let places: Vec<Place> = curve.points.into_iter().filter_map(place).collect();
        (!places.is_empty()).then_some(Configuration { name, workload, places })
    };
    user_speed_curves(pool, by).into_iter().filter_map(configuration).collect()
}

fn look(question: &Question) -> Vec<Insight> {
    let pool = question.survey.pool(PartKind::Serving);
    let all = configurations(&pool, &told_by(question));
    let mut workloads: Vec<&Vec<Option<String>>> = Vec::new();
    for configuration in &all {
        if !workloads.contains(&&configuration.workload) {
            workloads.push(&configuration.workload);
        }
    }
    workloads.into_iter().filter_map(|workload| sentence(question, &all, workload)).collect()
}

/// Whether every load of one is shown to be beaten by a load of the other: better in speed or output,
/// and worse in neither.
fn is_dominated(question: &Question, one: &Configuration, other: &Configuration) -> bool {
    let is_beaten = |place: &Place| {
        let better = other.places.iter().filter(|it| it.beats(place));
        better.map(|it| &it.cell).any(|cell| {
            let output = question.deltas([(&place.cell, cell)], &Quantity::OutputRate, OUTPUT);
            let speed = user_speed(question, &place.cell, cell);
            let verdicts: Vec<Verdict> =
                output.into_iter().flatten().chain(speed).map(|delta| delta.verdict).collect();
            verdicts.contains(&Verdict::Better) && !verdicts.contains(&Verdict::Worse)
        })
    };
    one.places.iter().all(is_beaten)
}

fn sentence(
    question: &Question,
    all: &[Configuration],
    workload: &[Option<String>],
) -> Option<Insight> {
    let same: Vec<&Configuration> = all.iter().filter(|one| one.workload == workload).collect();
    if same.len() < 2 {
        return None;
    }
    let kept = same.iter().filter(|one| one.frontier(all).contains(&true)).count();
    let mut sentence = say!(
        "{} of {} configurations are on the measured frontier of output against speed";
        kept as f64 => Count, same.len() as f64 => Count
    );
    let dominated: Vec<String> = same
        .iter()
        .filter_map(|one| {
            let by = same.iter().find(|other| is_dominated(question, one, other))?;
            Some(format!("{} is shown to be dominated by {} everywhere", one.name, by.name))
        })
        .collect();
    let named = dominated.iter().take(NAMED_MAX).cloned().collect::<Vec<_>>().join(", ");
    if !named.is_empty() {
        sentence = say!("{}; {}"; sentence, named);
    }
    if dominated.len() > NAMED_MAX {
        let more = (dominated.len() - NAMED_MAX) as f64;
        sentence = say!("{}, and {} more are"; sentence, more => Count);
    }
    let workload = workload.iter().flatten().next().cloned().unwrap_or_default();
    Some(Insight::new(RULE.id, Topic::Pareto, Tone::Note, say!("{}."; sentence)).of(workload))
}
