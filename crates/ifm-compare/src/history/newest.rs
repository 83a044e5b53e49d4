//! A run against the runs before it: which of them it is compared with, and which runs it is
//! combined with.
//!
//! One night says little, and a step that several nights confirm should be judged by all of them.
//! Not here: limits and verdicts, which belong to gates.

use super::value::{as_run, scaled, shortage};
use super::{BAND_CONFIDENCE, RUNS_MIN};
use crate::comparison::evidence::{Evidence, RunEvidence};
use crate::comparison::{Doubt, Measure, Shortage};
use ifm_core::metric::Direction;
use ifm_metrics::stat::course::{Stretch, apart, course};

/// The two sides of a comparison within a history.
pub(crate) struct Newest {
    pub before: Evidence,
    pub after: Evidence,
    /// Where a step for the worse came first, the place of its first run among those before; absent
    /// where the run is judged by itself.
    pub since: Option<usize>,
    /// Chance of that step if there were none.
    pub p: Option<f64>,
    /// Runs on each side.
    pub runs: (usize, usize),
}

/// The reference of a run among the runs before it, and the runs that belong to it.
///
/// Without a step, the run alone is compared with all runs that are not outliers. After a step for
/// the worse, all runs since are compared with those before it, so that an alarm becomes surer
/// night by night and does not vanish into the baseline. After a step for the better, the new level
/// is the reference. In a drift, the last third is compared with the first. Shares are counted over
/// all `runs` before.
///
/// # Errors
/// Too few runs, or the run has too few requests.
pub(crate) fn newest(
    (before, runs): (&Evidence, usize),
    run: &Evidence,
    measure: Measure,
) -> Result<Newest, Doubt> {
    if let Some(shortage) = shortage(run, measure) {
        return Err(Doubt::Short(shortage));
    }
    let Evidence::Runs(before) = before else {
        too_few(runs)?;
        return Ok(Newest {
            before: before.clone(),
            after: run.clone(),
            since: None,
            p: None,
            runs: (runs, 1),
        });
    };
    let runs = by_run(before);
    let counts = |(_, evidence): &&(usize, Evidence)| {
        shortage(evidence, measure).is_none() && scaled(evidence).is_some()
    };
    let mut kept: Vec<RunEvidence> = runs
        .iter()
        .filter(counts)
        .filter_map(|(place, evidence)| as_run(evidence, *place))
        .collect();
    too_few(kept.len())?;
    let of_run = as_run(run, usize::MAX).ok_or(Doubt::NoRatio)?;
    let all = || runs.iter().map(|(_, evidence)| evidence).chain([run]);
    let variances: Vec<f64> = all().filter_map(|of| scaled(of)?.variance).collect();
    let floor = variances.iter().sum::<f64>() / variances.len().max(1) as f64;
    kept.push(of_run);
    let values: Vec<f64> = kept.iter().map(|run| run.value.ln()).collect();
    let of = |places: &[usize]| -> Vec<RunEvidence> {
        places.iter().filter_map(|place| kept.get(*place).cloned()).collect()
    };
    let last = kept.len() - 1;
    let alone = |places: &[usize]| {
        let before: Vec<usize> = places.iter().copied().filter(|place| *place != last).collect();
        Newest {
            before: Evidence::Runs(of(&before)),
            after: Evidence::Runs(of(&[last])),
            since: None,
            p: None,
            runs: (before.len(), 1),
        }
    };
    let usual = || {
        let apart = apart(&values, floor);
        (0..last).filter(|place| !apart.contains(place)).collect::<Vec<_>>()
    };
    let Some(found) = course(&values, floor, 1.0 - BAND_CONFIDENCE) else {
        return Ok(alone(&usual()));
    };
    let together = |before: &[usize], after: &[usize], p: f64| {
        let (before, after) = (of(before), of(after));
        Newest {
            since: after.first().map(|run| run.run).filter(|run| *run != usize::MAX),
            runs: (before.len(), after.len()),
            before: Evidence::Runs(before),
            after: Evidence::Runs(after),
            p: Some(p),
        }
    };
    Ok(match found.stretches.as_slice() {
        [.., Stretch { places, drift: Some(_) }] => {
            let third = (places.len() / 3).max(1);
            let (first, end) = (places.get(..third), places.get(places.len() - third..));
            together(first.unwrap_or_default(), end.unwrap_or_default(), found.p)
        }
        [.., before, after] => {
            let mean = |of: &Stretch| {
                of.places.iter().filter_map(|place| values.get(*place)).sum::<f64>()
                    / of.places.len() as f64
            };
            let is_higher = mean(after) > mean(before);
            let is_worse = is_higher == (measure.direction() == Direction::Lower);
            let p = found.steps.last().map_or(found.p, |step| step.p);
            // One run alone does not suffice for a comparison.
            match is_worse || after.places.len() < 3 {
                true => together(&before.places, &after.places, p),
                false => alone(&after.places),
            }
        }
        [one] => alone(&one.places),
        [] => alone(&usual()),
    })
}

fn too_few(runs: usize) -> Result<(), Doubt> {
    let (n, needed) = (runs as u64, RUNS_MIN as u64);
    if n < needed { Err(Doubt::Short(Shortage::Runs { n, needed })) } else { Ok(()) }
}

/// The evidence of each run by itself, in order: a run may have measured a load several times.
fn by_run(all: &[RunEvidence]) -> Vec<(usize, Evidence)> {
    let runs = all.chunk_by(|a, b| a.run == b.run);
    runs.filter_map(|of| Some((of.first()?.run, Evidence::Runs(of.to_vec())))).collect()
}
