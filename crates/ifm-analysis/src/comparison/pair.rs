//! Two sides held against each other, row by row: a measure at a load.
//!
//! Where only one side was measured at a load, the other is read between its two neighbours, if it
//! was measured below and above. Nothing is read beyond what was measured. What is not here: the
//! correction for many rows, which [`compare`](super::compare) makes over all pairs.

use super::contrast::{Basis, Cell, Contrast, Doubt, Rules, Verdict, cell, contrast, judge};
use super::evidence::Evidence;
use super::measure::Measure;
use super::side::{AtLoad, is_same, is_same_kind, order};
use crate::level::Load;
use crate::stat::Estimate;

/// One measure at one load.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// The load.
    pub load: Load,
    /// The measure.
    pub measure: Measure,
    /// First side; absent if it has no value.
    pub a: Option<Cell>,
    /// Second side.
    pub b: Option<Cell>,
    /// Second over first; for shares, second minus first. With its interval.
    pub change: Option<Estimate>,
    /// Chance of such a change if there were none, by itself.
    pub p: Option<f64>,
    /// The same corrected for all rows that were tested together.
    pub p_corrected: Option<f64>,
    /// The smallest change that would have been found with a chance of 80 %: a share of the first
    /// side's value, or points of a share. Absent where a side lies between two measured loads.
    pub detectable: Option<f64>,
    /// What the interval rests on.
    pub basis: Option<Basis>,
    /// What may be said.
    pub verdict: Verdict,
    /// Why the data do not decide; present if the verdict is inconclusive.
    pub doubt: Option<Doubt>,
}

impl Row {
    /// Whether a side was read between two measured loads.
    pub fn is_interpolated(&self) -> bool {
        [self.a, self.b].into_iter().flatten().any(|cell| cell.is_interpolated)
    }
}

/// A row before the correction.
pub(crate) struct Draft {
    load: Load,
    measure: Measure,
    a: Option<Cell>,
    b: Option<Cell>,
    contrast: Result<Contrast, Doubt>,
}

impl Draft {
    /// The chance that takes part in the correction: that of a row which can get a verdict.
    pub fn p(&self) -> Option<f64> {
        let contrast = self.contrast.as_ref().ok()?;
        contrast.shortage.is_none().then_some(contrast.p)
    }

    pub fn finish(self, p_corrected: Option<f64>, rules: &Rules) -> Row {
        let (verdict, doubt) = match (&self.contrast, p_corrected) {
            (Err(doubt), _) => (Verdict::Inconclusive, Some(doubt.clone())),
            (Ok(contrast), p) => judge(self.measure, contrast, p.unwrap_or(1.0), rules),
        };
        let is_interpolated =
            [self.a, self.b].into_iter().flatten().any(|cell| cell.is_interpolated);
        let doubt = match doubt {
            Some(Doubt::Wide | Doubt::Size | Doubt::Correction) if is_interpolated => {
                Some(Doubt::Between)
            }
            doubt => doubt,
        };
        let contrast = self.contrast.ok();
        Row {
            load: self.load,
            measure: self.measure,
            a: self.a,
            b: self.b,
            change: contrast.as_ref().map(|contrast| contrast.change),
            p: contrast.as_ref().map(|contrast| contrast.p),
            p_corrected,
            detectable: contrast.as_ref().and_then(|contrast| contrast.detectable),
            basis: contrast.as_ref().map(|contrast| contrast.basis),
            verdict,
            doubt,
        }
    }
}

/// Where a side's value at a load comes from.
enum Place<'a> {
    Measured(&'a AtLoad),
    Between { low: &'a AtLoad, high: &'a AtLoad, way: f64 },
}

/// The loads at which two sides can be held against each other, rising: those that both have, and
/// those that one has and that lie between two of the other.
pub(crate) fn loads(a: &[AtLoad], b: &[AtLoad]) -> Vec<Load> {
    let mut loads: Vec<Load> = a.iter().chain(b).map(|at| at.load).collect();
    loads.sort_by(|a, b| order(*a, *b));
    loads.dedup_by(|a, b| is_same(*a, *b));
    loads.retain(|load| place(a, *load).is_some() && place(b, *load).is_some());
    loads
}

/// The rows of two sides at their loads.
pub(crate) fn drafts(
    a: &[AtLoad],
    b: &[AtLoad],
    measures: &[Measure],
    rules: &Rules,
) -> Vec<Draft> {
    let mut drafts = Vec::new();
    for load in loads(a, b) {
        let (Some(of_a), Some(of_b)) = (place(a, load), place(b, load)) else { continue };
        for measure in measures.iter().map(|measure| measure.at_load(load)) {
            drafts.extend(draft(load, measure, &of_a, &of_b, rules));
        }
    }
    drafts
}

fn place<'a>(side: &'a [AtLoad], load: Load) -> Option<Place<'a>> {
    if let Some(at) = side.iter().find(|at| is_same(at.load, load)) {
        return Some(Place::Measured(at));
    }
    let kin = || side.iter().filter(|at| is_same_kind(at.load, load));
    let low = kin().rfind(|at| at.load.value() < load.value())?;
    let high = kin().find(|at| at.load.value() > load.value())?;
    let (from, to) = (low.load.value().ln(), high.load.value().ln());
    Some(Place::Between { low, high, way: (load.value().ln() - from) / (to - from) })
}

/// One row; absent if neither side has a value.
fn draft(load: Load, measure: Measure, a: &Place, b: &Place, rules: &Rules) -> Option<Draft> {
    let (cell_a, cell_b) =
        (cell_at(a, measure, rules.confidence), cell_at(b, measure, rules.confidence));
    if cell_a.is_none() && cell_b.is_none() {
        return None;
    }
    let mut contrast = all_contrasts(a, b, measure, rules);
    if let (Ok(contrast), Some(a), Some(b)) = (&mut contrast, cell_a, cell_b)
        && (a.is_interpolated || b.is_interpolated)
    {
        let value = if measure.is_share() { b.value - a.value } else { b.value / a.value };
        contrast.change.value = value.clamp(contrast.change.low, contrast.change.high);
    }
    Some(Draft { load, measure, a: cell_a, b: cell_b, contrast })
}

/// The value at a place. Between two loads it is read on a straight line of logarithms, which is
/// exact for a power of the load; its interval reaches over those of both neighbours, since all
/// that is assumed of the true value is that it lies between theirs.
fn cell_at(place: &Place, measure: Measure, confidence: f64) -> Option<Cell> {
    let of = |at: &AtLoad| at.evidence(measure).and_then(|found| cell(found, confidence));
    match place {
        Place::Measured(at) => of(at),
        Place::Between { low, high, way } => {
            let (low, high) = (of(low)?, of(high)?);
            let smaller = |a: Option<f64>, b: Option<f64>| Some(a?.min(b?));
            let larger = |a: Option<f64>, b: Option<f64>| Some(a?.max(b?));
            Some(Cell {
                value: between(low.value, high.value, *way),
                low: smaller(low.low, high.low),
                high: larger(low.high, high.high),
                n: low.n.min(high.n),
                runs: low.runs.min(high.runs),
                is_interpolated: true,
            })
        }
    }
}

/// A value on the way from one to another, by logarithms where both are above 0.
pub(crate) fn between(low: f64, high: f64, way: f64) -> f64 {
    if low > 0.0 && high > 0.0 {
        (low.ln() + (high.ln() - low.ln()) * way).exp()
    } else {
        low + (high - low) * way
    }
}

/// The contrast of two places: where one lies between two loads, the other side is held against
/// both of them, and only what holds against both is said.
fn all_contrasts(a: &Place, b: &Place, measure: Measure, rules: &Rules) -> Result<Contrast, Doubt> {
    let evidence = |place: &Place| -> Result<Vec<Evidence>, Doubt> {
        let of = |at: &AtLoad| at.evidence(measure).cloned().ok_or(Doubt::NoValue);
        Ok(match place {
            Place::Measured(at) => vec![of(at)?],
            Place::Between { low, high, .. } => vec![of(low)?, of(high)?],
        })
    };
    let (of_a, of_b) = (evidence(a)?, evidence(b)?);
    let mut all: Option<Contrast> = None;
    for first in &of_a {
        for second in &of_b {
            let found = contrast(first, second, rules)?;
            all = Some(match all {
                None => found,
                Some(known) => hull(known, found, measure),
            });
        }
    }
    all.ok_or(Doubt::NoValue)
}

/// What two contrasts have in common: the interval over both, the larger chance, and none at all if
/// they point in different directions.
fn hull(a: Contrast, b: Contrast, measure: Measure) -> Contrast {
    let none = if measure.is_share() { 0.0 } else { 1.0 };
    let apart = (a.change.value > none) != (b.change.value > none);
    Contrast {
        change: Estimate {
            value: a.change.value,
            low: a.change.low.min(b.change.low),
            high: a.change.high.max(b.change.high),
        },
        p: if apart { 1.0 } else { a.p.max(b.p) },
        detectable: None,
        basis: a.basis,
        shortage: a.shortage.or(b.shortage),
    }
}
