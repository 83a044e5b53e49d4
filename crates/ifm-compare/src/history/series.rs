//! One series: its values, their course, and the verdict.
//!
//! Not here: how a change is found (`stat::course`), and which values belong together.

use super::change::{self, Places, change};
use super::value::{Scaled, as_run, scaled, shortage};
use super::{
    BAND_CONFIDENCE, Change, Dated, Point, RUNS_MIN, Series, SeriesState, Standing, Stretch, latest,
};
use crate::comparison::contrast::{POWER, cell};
use crate::comparison::evidence::{Evidence, RunEvidence};
use crate::comparison::{Condition, Doubt, Measure, Settings, Shortage, Verdict};
use ifm_metrics::stat::Estimate;
use ifm_metrics::stat::course::{Course, course};
use ifm_metrics::stat::power::detectable;
use ifm_metrics::stat::special::student_upper_quantile;
use ifm_metrics::stat::welch::tail;
use std::collections::BTreeSet;

/// Runs after a change within which it is to be found.
const RUNS_TO_FIND: f64 = 3.0;

/// A series before the correction for all of them.
pub(super) struct Draft {
    cell: usize,
    pub at: Condition,
    pub measure: Measure,
    is_inter_event: bool,
    points: Vec<Point>,
    evidence: Vec<Evidence>,
    /// Places of the values that were used, and the values.
    places: Vec<usize>,
    values: Vec<f64>,
    /// The variance of a value by itself, 0 where that is not known.
    floor: f64,
    course: Option<Course>,
    doubt: Option<Doubt>,
}

impl Draft {
    pub fn new(cell: usize, at: Condition, measure: Measure, is_inter_event: bool) -> Draft {
        Draft {
            cell,
            at,
            measure,
            is_inter_event,
            points: Vec::new(),
            evidence: Vec::new(),
            places: Vec::new(),
            values: Vec::new(),
            floor: 0.0,
            course: None,
            doubt: None,
        }
    }

    /// Adds the value of these runs.
    pub fn add(&mut self, (runs, evidence): (Vec<usize>, Evidence), settings: &Settings) {
        let Some(cell) = cell(&evidence, self.measure, settings.confidence) else { return };
        let shortage = shortage(&evidence, self.measure);
        let standing = match (shortage, scaled(&evidence)) {
            (Some(_), _) => Standing::TooFew,
            (None, None) => Standing::Zero,
            (None, Some(_)) => Standing::Counted,
        };
        self.points.push(Point { runs, cell, standing, shortage });
        self.evidence.push(evidence);
    }

    /// Looks for changes.
    pub fn looked_at(mut self, settings: &Settings) -> Draft {
        let counts = |place: &usize| {
            self.points.get(*place).is_some_and(|point| point.standing == Standing::Counted)
        };
        self.places = (0..self.points.len()).filter(counts).collect();
        let of = |place: &usize| self.evidence.get(*place).and_then(scaled);
        let all: Vec<Scaled> = self.places.iter().filter_map(of).collect();
        self.values = all.iter().map(|one| one.value).collect();
        let variances: Vec<f64> = all.iter().filter_map(|one| one.variance).collect();
        if !variances.is_empty() {
            self.floor = variances.iter().sum::<f64>() / variances.len() as f64;
        }
        self.course = course(&self.values, self.floor, settings.rules().alpha());
        for place in self.course.iter().flat_map(|course| &course.apart) {
            let point = self.places.get(*place).and_then(|place| self.points.get_mut(*place));
            if let Some(point) = point {
                point.standing = Standing::Apart;
            }
        }
        if self.course.is_none() {
            self.doubt = Some(self.too_few());
        }
        self
    }

    /// Why no change was searched for.
    fn too_few(&self) -> Doubt {
        let of = |standing| self.points.iter().filter(move |point| point.standing == standing);
        let zeros = of(Standing::Zero).count();
        let short = of(Standing::TooFew).filter_map(|point| point.shortage).next_back();
        match short {
            _ if zeros * 2 > self.points.len() => Doubt::NoRatio,
            Some(shortage) if self.points.len() >= RUNS_MIN => Doubt::Short(shortage),
            _ => Doubt::Short(Shortage::Runs {
                n: self.places.len() as u64,
                needed: RUNS_MIN as u64,
            }),
        }
    }

    /// The chance that takes part in the correction.
    pub fn p(&self) -> Option<f64> {
        self.course.as_ref().map(|course| course.p)
    }

    /// The series, once its chance is corrected for all of them.
    pub fn finish(
        self,
        p_corrected: Option<f64>,
        (all, keys): (&[Dated], &BTreeSet<String>),
        settings: &Settings,
    ) -> Series {
        let p = self.p();
        let is_sure = p_corrected.is_some_and(|p| p < settings.rules().alpha());
        let stretches = self.stretches();
        let spread = self.spread();
        let changes = self.changes((all, keys), settings, is_sure);
        let (state, doubt) = match (&self.doubt, latest(&changes)) {
            (Some(doubt), _) => (SeriesState::Undecided, Some(doubt.clone())),
            (None, Some(change)) if is_sure => (of_change(change), change.doubt.clone()),
            (None, Some(_)) => (SeriesState::Undecided, Some(Doubt::Correction)),
            (None, None) if self.is_outside(spread) => (SeriesState::Outside, None),
            (None, None) => (SeriesState::Steady, None),
        };
        let noise = spread.map(|(sd, _)| self.as_share(sd));
        let detectable = spread.and_then(|(sd, freedom)| {
            let before = freedom + 1.0;
            let error = sd * (before.recip() + RUNS_TO_FIND.recip()).sqrt();
            detectable(error, freedom, settings.rules().alpha() / before, POWER)
        });
        let detectable = detectable.map(|least| self.as_share(least));
        Series {
            cell: self.cell,
            at: self.at,
            measure: self.measure,
            is_inter_event: self.is_inter_event,
            points: self.points,
            stretches,
            changes,
            state,
            doubt,
            noise,
            detectable,
            p,
            p_corrected,
        }
    }

    /// A difference on the scale of the series as a share of the value, or as points of a share, there
    /// where its last value lies: `d asin(sqrt(p)) = dp / (2 sqrt(p (1 - p)))`.
    fn as_share(&self, difference: f64) -> f64 {
        if !self.measure.is_share() {
            return difference.exp_m1();
        }
        let last = self.values.last().copied().unwrap_or(0.0);
        difference * (2.0 * last).sin().abs()
    }

    /// Standard deviation of runs of the same, from all stretches that stay, and its degrees of
    /// freedom: at least what a run varies by itself.
    fn spread(&self) -> Option<(f64, f64)> {
        let course = self.course.as_ref()?;
        let (mut squares, mut freedom) = (0.0, 0.0);
        for stretch in course.stretches.iter().filter(|stretch| stretch.drift.is_none()) {
            let of: Vec<f64> = self.values_at(&stretch.places);
            let mean = of.iter().sum::<f64>() / of.len().max(1) as f64;
            squares += of.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
            freedom += of.len().saturating_sub(1) as f64;
        }
        (freedom > 0.0).then(|| ((squares / freedom).max(self.floor).sqrt(), freedom))
    }

    fn values_at(&self, places: &[usize]) -> Vec<f64> {
        places.iter().filter_map(|place| self.values.get(*place).copied()).collect()
    }

    /// Places of points for places of values.
    fn points_at(&self, places: &[usize]) -> Vec<usize> {
        places.iter().filter_map(|place| self.places.get(*place).copied()).collect()
    }

    /// The value on the scale of the measure.
    fn unscaled(&self, value: f64) -> f64 {
        match self.measure.is_share() {
            true => value.clamp(0.0, std::f64::consts::FRAC_PI_2).sin().powi(2),
            false => value.exp(),
        }
    }

    /// The interval in which another value of the same level lies: `mean ± t s sqrt(1 + 1/n)`.
    fn band(&self, places: &[usize], (sd, freedom): (f64, f64)) -> Option<Estimate> {
        let of = self.values_at(places);
        if of.is_empty() {
            return None;
        }
        let n = of.len() as f64;
        let mean = of.iter().sum::<f64>() / n;
        let reach = student_upper_quantile(tail(BAND_CONFIDENCE)?, freedom) * sd;
        let reach = reach * (1.0 + n.recip()).sqrt();
        Some(Estimate { value: mean, low: mean - reach, high: mean + reach })
    }

    fn stretches(&self) -> Vec<Stretch> {
        let spread = self.spread();
        let stretch = |of: &ifm_metrics::stat::course::Stretch| {
            let values = self.values_at(&of.places);
            let mean = values.iter().sum::<f64>() / values.len().max(1) as f64;
            let band = spread.filter(|_| of.drift.is_none());
            let band = band.and_then(|spread| self.band(&of.places, spread));
            Stretch {
                points: self.points_at(&of.places),
                mean: self.unscaled(mean),
                band: band.map(|band| band.map(|value| self.unscaled(value))),
            }
        };
        self.course.iter().flat_map(|course| &course.stretches).map(stretch).collect()
    }

    /// Whether the last value lies outside the band of those before.
    fn is_outside(&self, spread: Option<(f64, f64)>) -> bool {
        let Some(stretch) = self.course.as_ref().and_then(|course| course.stretches.last()) else {
            return false;
        };
        let Some((last, before)) = stretch.places.split_last() else { return false };
        if before.len() + 1 < RUNS_MIN || stretch.drift.is_some() || spread.is_none() {
            return false;
        }
        // Its own distance does not widen the band that it is compared with.
        let of = self.values_at(before);
        let n = of.len() as f64;
        let mean = of.iter().sum::<f64>() / n;
        let squares: f64 = of.iter().map(|value| (value - mean).powi(2)).sum();
        let sd = (squares / (n - 1.0)).max(self.floor).sqrt();
        let band = self.band(before, (sd, n - 1.0));
        let value = self.values.get(*last);
        band.zip(value).is_some_and(|(band, value)| *value < band.low || *value > band.high)
    }

    /// The evidence of values as that of runs, or counted together for shares.
    fn side(&self, places: &[usize]) -> Evidence {
        let of = || self.points_at(places).into_iter();
        if self.measure.is_share() {
            let (mut all_hits, mut all) = (0, 0);
            for place in of() {
                if let Some(Evidence::Share { hits, n }) = self.evidence.get(place) {
                    (all_hits, all) = (all_hits + hits, all + n);
                }
            }
            return Evidence::Share { hits: all_hits, n: all };
        }
        let run = |place: usize| as_run(self.evidence.get(place)?, place);
        let runs: Vec<RunEvidence> = of().filter_map(run).collect();
        Evidence::Runs(runs)
    }

    fn changes(
        &self,
        (all, keys): (&[Dated], &BTreeSet<String>),
        settings: &Settings,
        is_sure: bool,
    ) -> Vec<Change> {
        let Some(course) = &self.course else { return Vec::new() };
        let place = |of: usize| self.places.get(of).copied().unwrap_or(0);
        let runs = |of: usize| {
            self.points.get(place(of)).map(|point| point.runs.as_slice()).unwrap_or_default()
        };
        let how = (settings, is_sure);
        let mut found = Vec::new();
        for (index, stretch) in course.stretches.iter().enumerate() {
            let before = index
                .checked_sub(1)
                .and_then(|at| Some((course.steps.get(at)?, course.stretches.get(at)?)));
            if let Some((step, before)) = before {
                let sides = (self.side(&before.places), self.side(&stretch.places));
                let at = Places {
                    last_before: place(step.before),
                    first_after: place(step.after),
                    earliest: place(step.earliest),
                    latest: place(step.latest),
                    before: runs(step.earliest.saturating_sub(1).min(step.before)),
                    after: runs(step.latest),
                };
                let of = change::Found::Step { sides: &sides, p: step.p, is_clear: step.is_clear };
                found.extend(change(self.measure, of, &at, (all, keys), how));
            }
            if let Some(drift) = &stretch.drift {
                let last = stretch.places.last().copied().unwrap_or(drift.from);
                let first = (drift.from + 1).min(last);
                let at = Places {
                    last_before: place(drift.from),
                    first_after: place(first),
                    earliest: place(first),
                    latest: place(first),
                    before: runs(drift.from),
                    after: runs(last),
                };
                let many = stretch.places.iter().filter(|place| **place > drift.from).count();
                let of = change::Found::Drift {
                    drift,
                    many,
                    level: self.level_at(drift.from),
                    p: course.p,
                };
                found.extend(change(self.measure, of, &at, (all, keys), how));
            }
        }
        found
    }

    /// Around which value a drift of a share begins, on the scale of the series.
    fn level_at(&self, place: usize) -> f64 {
        self.values.get(place).copied().unwrap_or(0.0)
    }
}

fn of_change(change: &Change) -> SeriesState {
    match change.verdict {
        Verdict::Better => SeriesState::Better,
        Verdict::Worse => SeriesState::Worse,
        _ => SeriesState::Small,
    }
}
