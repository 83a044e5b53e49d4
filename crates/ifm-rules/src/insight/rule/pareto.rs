//! Which configurations give the most output for each speed.

use super::{told_by, user_speed_curves};
use crate::insight::delta::{Delta, user_speeds};
use crate::insight::versus::OUTPUT;
use crate::insight::{Insight, InsightRule, Question, Tone, Topic};
use ifm_compare::comparison::Verdict;
use ifm_core::Metric;
use ifm_core::sheet::{PartKind, key};
use ifm_results::say;
use ifm_results::{Curve, Pool, Pooled};

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
    let place = |point: ifm_results::CurvePoint<'a>| {
        let gpus = point.cell.setting()?.number(key::TENSOR_PARALLEL).filter(|_| per_gpu);
        let output = point.cell.central(Metric::OutputRate)?.value / gpus.unwrap_or(1.0);
        Some(Place { speed: point.stat.value, output, cell: point.cell })
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
    let pool = question.results.pool(PartKind::Serving);
    let all = configurations(&pool, &told_by(question));
    let mut workloads: Vec<&Vec<Option<String>>> = Vec::new();
    for configuration in &all {
        if !workloads.contains(&&configuration.workload) {
            workloads.push(&configuration.workload);
        }
    }
    workloads.into_iter().filter_map(|workload| sentence(question, &all, workload)).collect()
}

/// For each of these configurations the first other that is shown to beat it at every load: better in
/// speed or output, with a relevant loss in the other ruled out. All pairs are tested together.
fn dominating(question: &Question, all: &[&Configuration]) -> Vec<Option<usize>> {
    let mut pairs: Vec<(usize, usize, &Place, &Place)> = Vec::new();
    for (index, one) in all.iter().enumerate() {
        for (number, other) in all.iter().enumerate().filter(|(number, _)| *number != index) {
            for place in &one.places {
                let better = other.places.iter().filter(|it| it.beats(place));
                pairs.extend(better.map(|it| (index, number, place, it)));
            }
        }
    }
    let cells = || pairs.iter().map(|(_, _, a, b)| (&a.cell, &b.cell));
    let outputs = question.deltas(cells(), Metric::OutputRate, OUTPUT);
    let speeds = user_speeds(question, cells);
    let is_shown: Vec<bool> = outputs
        .iter()
        .zip(&speeds)
        .map(|pair| {
            let (Some(output), Some(speed)) = pair else { return false };
            let is_kept = |delta: &Delta| delta.is_tie() || delta.verdict == Verdict::Better;
            is_kept(output) && is_kept(speed) && (output.is_shown() || speed.is_shown())
        })
        .collect();
    let beats = |index: usize, number: usize| {
        let is_beaten = |place: &Place| {
            pairs.iter().zip(&is_shown).any(|((one, other, of, _), is_shown)| {
                *is_shown && (*one, *other) == (index, number) && std::ptr::eq(*of, place)
            })
        };
        all.get(index).is_some_and(|one| one.places.iter().all(is_beaten))
    };
    (0..all.len()).map(|index| (0..all.len()).find(|number| beats(index, *number))).collect()
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
        .zip(dominating(question, &same))
        .filter_map(|(one, by)| {
            let by = same.get(by?)?;
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
