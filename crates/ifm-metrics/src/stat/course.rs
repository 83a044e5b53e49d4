//! Changes in a series of values: steps, drifts, and single outliers.
//!
//! For one value a night: values that are independent and roughly normal around a level that stays,
//! steps or drifts. Not here: what the values are, and whether a change matters.

use super::quantile::percentile_of_sorted;
use super::special::{normal_upper_quantile, student_two_sided};
use ifm_core::order::Order as _;
use std::ops::Range;

/// Minimum number of values for a change to be detected.
pub const VALUES_MIN: usize = 5;
/// Fewest values on a side of a step: a single value may be an outlier.
const SIDE_MIN: usize = 2;
/// Maximum number of simultaneous steps whose fit is compared with that of a drift.
const STEPS_TRIED: usize = 3;
/// Of the chance of a false alarm, the part that is spent on single steps; the rest is for changes that
/// were undone.
const SHARE_SINGLE: f64 = 0.8;
/// A value that is further than this many standard deviations from both of its neighbors is an
/// outlier.
const APART_DEVIATIONS: f64 = 4.0;
/// Outliers are few; if more than this share would be, none is.
const APART_SHARE_MAX: f64 = 0.2;
/// The median of the size of a difference of two normal values, in standard deviations of one:
/// `sqrt(2)` times the upper quartile of the normal law.
const MEDIAN_DIFFERENCE: f64 = 0.953_873;
/// From this difference of two BICs on, one of two shapes is the better one. Source: Raftery (1995),
/// "positive" evidence.
const BIC_CLEAR: f64 = 2.0;
/// How surely the place of a step lies between its bounds.
const PLACE_CONFIDENCE: f64 = 0.95;

/// What values do one after the other.
#[derive(Debug, Clone, PartialEq)]
pub struct Course {
    /// Stretches of one level, or of one drift, in order; each the places of its values. Outliers
    /// are in none.
    pub stretches: Vec<Stretch>,
    /// What lies between them: one fewer.
    pub steps: Vec<Step>,
    /// Places of values that differ from both neighbors, while the next value is as before.
    pub apart: Vec<usize>,
    /// Chance of such a change somewhere if there were none: that of the first split, corrected for
    /// all that were tried.
    pub p: f64,
}

/// Values between two steps.
#[derive(Debug, Clone, PartialEq)]
pub struct Stretch {
    /// Places of its values.
    pub places: Vec<usize>,
    /// How they drift; absent where they stay.
    pub drift: Option<Drift>,
}

/// Values that rise or fall steadily.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Drift {
    /// Place of the last value before it began.
    pub from: usize,
    /// How much one value differs from the one before.
    pub slope: f64,
    /// Standard error of that.
    pub error: f64,
    /// Its degrees of freedom.
    pub freedom: f64,
}

/// A step between two stretches.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Step {
    /// Place of the last value before.
    pub before: usize,
    /// Place of the first value after.
    pub after: usize,
    /// Earliest place that the first value after may have, at 95 %.
    pub earliest: usize,
    /// Latest place that it may have.
    pub latest: usize,
    /// Chance of such a step if there were none, corrected for the splits that were tried.
    pub p: f64,
    /// Whether a step fits clearly better than a drift does; false where there are too few values
    /// since to tell.
    pub is_clear: bool,
}

/// The course of values in order. A change is reported if its chance without one, over all places
/// at which it was looked for, is below `alpha`. `floor` is the variance that a value has by
/// itself, 0 if it is not known: less is never assumed.
///
/// A step at k has Student's `t = |m1 - m2| / (s sqrt(1/k + 1/(n - k)))`, `s` from both sides; a
/// change that was undone has the same with the values inside it on one side. The best split counts,
/// with its chance times the number of splits (Bonferroni), or where it is less with that of Miller
/// and Siegmund, "Maximally selected chi square statistics" (1982), theorem 1. What was split is
/// looked at again: binary segmentation, Scott and Knott (1974); changes that were undone: Olshen and
/// others, "Circular binary segmentation" (2004). A stretch drifts where a line, or a line that begins
/// somewhere, has the smaller BIC (Schwarz 1978) than up to three steps.
///
/// None for fewer than five values, and where one is not a number.
pub fn course(values: &[f64], floor: f64, alpha: f64) -> Option<Course> {
    if values.len() < VALUES_MIN || values.iter().any(|value| !value.is_finite()) {
        return None;
    }
    let apart = apart(values, floor);
    let kept: Vec<usize> = (0..values.len()).filter(|place| !apart.contains(place)).collect();
    let middle = median(values.to_vec())?;
    let left: Vec<f64> = kept.iter().map(|place| values[*place] - middle).collect();
    if left.len() < VALUES_MIN {
        return None;
    }
    let sums = Sums::of(&left, floor);
    let all = 0..left.len();
    let p = sums.scan(&all).map_or(1.0, |found| found.p);
    let mut search =
        Search { sums: &sums, values: &left, alpha, splits: Vec::new(), drifts: Vec::new() };
    search.look(all.clone(), alpha);
    search.prune(all.end);
    let Search { splits, drifts, .. } = search;
    let edges: Vec<usize> =
        std::iter::once(0).chain(splits.iter().copied()).chain([all.end]).collect();
    let pieces: Vec<Range<usize>> = edges.windows(2).map(|pair| pair[0]..pair[1]).collect();
    let stretch = |piece: &Range<usize>| Stretch {
        places: kept[piece.clone()].to_vec(),
        drift: drifts
            .iter()
            .find(|(range, _)| range == piece)
            .map(|(_, drift)| Drift { from: kept[drift.from], ..*drift }),
    };
    let step = |pair: &[Range<usize>]| {
        let (range, at) = (pair[0].start..pair[1].end, pair[1].start);
        let places = sums.places(&range);
        Step {
            before: kept[at - 1],
            after: kept[at],
            earliest: kept[places.start.min(at)],
            latest: kept[(places.end - 1).max(at)],
            p: sums.single(&range, Some(at)).map_or(1.0, |found| found.p),
            is_clear: sums.shape(&left, &range).is_none_or(|shape| shape.is_clear()),
        }
    };
    Some(Course {
        stretches: pieces.iter().map(stretch).collect(),
        steps: pieces.windows(2).map(step).collect(),
        apart,
        p,
    })
}

/// Places of values that are far from both of their neighbors on the same side. The last value has
/// no later one to confirm it, and is never an outlier. The spread is that of the differences from
/// one value to the next, by their median: a step or a drift adds little to it.
pub fn apart(values: &[f64], floor: f64) -> Vec<usize> {
    let differences: Vec<f64> = values.windows(2).map(|pair| (pair[1] - pair[0]).abs()).collect();
    let Some(usual) = median(differences) else { return Vec::new() };
    let reach = APART_DEVIATIONS * (usual / MEDIAN_DIFFERENCE).max(floor.max(0.0).sqrt());
    let is_apart = |place: &usize| {
        let (before, after) = match place {
            0 => (1, 2),
            place => (place - 1, place + 1),
        };
        let off = |other: usize| values.get(other).map(|value| values[*place] - value);
        let (Some(before), Some(after)) = (off(before), off(after)) else { return false };
        before.signum() == after.signum() && before.abs().min(after.abs()) > reach
    };
    let found: Vec<usize> =
        (0..values.len().saturating_sub(1)).filter(|place| is_apart(place)).collect();
    if found.len() as f64 > APART_SHARE_MAX * values.len() as f64 { Vec::new() } else { found }
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_unstable_by(f64::total_cmp);
    percentile_of_sorted(&values, 50.0)
}

/// Sums over the first values and over their squares, by which those over any range are known.
struct Sums {
    sum: Vec<f64>,
    squares: Vec<f64>,
    /// The variance that is assumed at least.
    floor: f64,
}

/// The best split of a range.
struct Split {
    /// Places at which it is split: one or two.
    at: Vec<usize>,
    p: f64,
}

impl Sums {
    fn of(values: &[f64], floor: f64) -> Sums {
        let running = |of: &dyn Fn(f64) -> f64| {
            let mut total = 0.0;
            let next = |value: &f64| {
                total += of(*value);
                total
            };
            std::iter::once(0.0).chain(values.iter().map(next)).collect::<Vec<_>>()
        };
        let largest = values.iter().fold(0.0, |a: f64, b| a.max(b.abs()));
        // What differs by less than the last digits of a number does not vary.
        let floor = floor.max(largest * largest * 1e-24);
        Sums { sum: running(&|value| value), squares: running(&|value| value * value), floor }
    }

    fn sum(&self, range: &Range<usize>) -> f64 {
        self.sum[range.end] - self.sum[range.start]
    }

    /// Sum of the squares around the mean.
    fn rest(&self, range: &Range<usize>) -> f64 {
        let n = range.len().max(1) as f64;
        let squares = self.squares[range.end] - self.squares[range.start];
        (squares - self.sum(range).powi(2) / n).max(0.0)
    }

    /// The size of Student's t between `inside` and the rest of `range`.
    fn distance(&self, range: &Range<usize>, inside: &Range<usize>) -> f64 {
        let (n, k) = (range.len() as f64, inside.len() as f64);
        let others = n - k;
        let sum = self.sum(inside);
        let rest_sum = self.sum(range) - sum;
        let squares = self.squares[range.end] - self.squares[range.start];
        let rest = (squares - sum * sum / k - rest_sum * rest_sum / others).max(0.0);
        let variance = (rest / (n - 2.0)).max(self.floor);
        let difference = sum / k - rest_sum / others;
        if variance <= 0.0 {
            return if difference == 0.0 { 0.0 } else { f64::INFINITY };
        }
        difference.abs() / (variance * (1.0 / k + 1.0 / others)).sqrt()
    }

    /// The best single split, or the one at a place, with its chance over all places.
    fn single(&self, range: &Range<usize>, only: Option<usize>) -> Option<Split> {
        if range.len() < VALUES_MIN {
            return None;
        }
        let places = range.start + SIDE_MIN..range.end + 1 - SIDE_MIN;
        let count = places.len() as f64;
        let places = only.map_or(places, |at| at..at + 1);
        let distance = |at: usize| (at, self.distance(range, &(range.start..at)));
        let (at, t) = places.map(distance).max_by(|a, b| a.1.total_cmp(&b.1))?;
        let p = student_two_sided(t, range.len() as f64 - 2.0);
        Some(Split { at: vec![at], p: over_splits(p, count, range.len()) })
    }

    /// The best split of a range: at one place, or at two where a change was undone.
    fn scan(&self, range: &Range<usize>) -> Option<Split> {
        let single = self.single(range, None)?;
        let single = Split { p: (single.p / SHARE_SINGLE).min(1.0), ..single };
        let mut best: Option<(Range<usize>, f64)> = None;
        let mut tried = 0u64;
        for start in range.start + SIDE_MIN..range.end {
            for end in start + SIDE_MIN..(range.end + 1).saturating_sub(SIDE_MIN) {
                tried += 1;
                let t = self.distance(range, &(start..end));
                if best.as_ref().is_none_or(|(_, most)| t > *most) {
                    best = Some((start..end, t));
                }
            }
        }
        let double = best.map(|(inside, t)| Split {
            at: vec![inside.start, inside.end],
            p: (student_two_sided(t, range.len() as f64 - 2.0) * tried as f64
                / (1.0 - SHARE_SINGLE))
                .min(1.0),
        });
        Some(match double {
            Some(double) if double.p < single.p => double,
            _ => single,
        })
    }

    /// Places that the first value of the second part may have: those with the largest weights that
    /// have 95 % of it together, and what lies between them. The weight of a split at k is
    /// `(k (n - k))^(-1/2) · R_k^(-(n - 2)/2)`, with the sum of squares R. Source: Smith, "A Bayesian
    /// approach to inference about a change-point" (1975), section 3, without knowledge before.
    fn places(&self, range: &Range<usize>) -> Range<usize> {
        let n = range.len() as f64;
        let least = ((n - 2.0) * self.floor).max(f64::MIN_POSITIVE);
        let weight = |at: usize| {
            let k = (at - range.start) as f64;
            let rest = self.rest(&(range.start..at)) + self.rest(&(at..range.end));
            -0.5 * (k * (n - k)).ln() - (n - 2.0) / 2.0 * rest.max(least).ln()
        };
        let mut weights: Vec<(usize, f64)> =
            (range.start + 1..range.end).map(|at| (at, weight(at))).collect();
        weights.order_by(|a, b| b.1.total_cmp(&a.1));
        let largest = weights.first().map_or(0.0, |(_, weight)| *weight);
        let shares: Vec<(usize, f64)> =
            weights.into_iter().map(|(at, weight)| (at, (weight - largest).exp())).collect();
        let all: f64 = shares.iter().map(|(_, share)| share).sum();
        let mut within = 0.0;
        let enough = shares.iter().take_while(|(_, share)| {
            let is_open = within < PLACE_CONFIDENCE * all;
            within += share;
            is_open
        });
        let (mut low, mut high) = (usize::MAX, 0);
        for (at, _) in enough {
            (low, high) = (low.min(*at), high.max(*at));
        }
        low..high + 1
    }

    /// BIC of a fit with this residual sum of squares and number of parameters.
    fn bic(&self, rest: f64, n: usize, parameters: f64) -> f64 {
        let n = n as f64;
        let rest = rest.max(n * self.floor).max(f64::MIN_POSITIVE);
        n * (rest / n).ln() + parameters * n.ln()
    }

    /// How well steps and a drift fit a range; absent for too few values.
    fn shape(&self, values: &[f64], range: &Range<usize>) -> Option<Shape> {
        let n = range.len();
        let of = values.get(range.clone()).filter(|of| of.len() >= VALUES_MIN)?;
        let (drift, rest) =
            (0..n - 2).filter_map(|from| line(of, from)).min_by(|a, b| a.1.total_cmp(&b.1))?;
        let whole = line(of, 0).map(|(drift, rest)| (drift, self.bic(rest, n, 2.0)));
        let part = (drift, self.bic(rest, n, 3.0));
        let (drift, of_drift) = whole.filter(|(_, bic)| *bic <= part.1).unwrap_or(part);
        let of_steps = self
            .rests_of_steps(range)
            .into_iter()
            .zip(1..)
            .map(|(rest, steps)| self.bic(rest, n, 1.0 + 2.0 * f64::from(steps)))
            .fold(f64::INFINITY, f64::min);
        Some(Shape { drift: Drift { from: range.start + drift.from, ..drift }, of_drift, of_steps })
    }

    /// The least sums of squares with one, two, … steps, by the recursion over the last of them.
    /// Source: Bellman (1961); Bai and Perron (2003).
    fn rests_of_steps(&self, range: &Range<usize>) -> Vec<f64> {
        let n = range.len();
        let piece = |from: usize, to: usize| self.rest(&(range.start + from..range.start + to));
        // Of the first values, up to each place.
        let mut best: Vec<f64> =
            (0..=n).map(|to| if to < SIDE_MIN { f64::INFINITY } else { piece(0, to) }).collect();
        let mut rests = Vec::new();
        for _ in 0..STEPS_TRIED {
            let next = |to: usize| {
                (SIDE_MIN..(to + 1).saturating_sub(SIDE_MIN))
                    .map(|from| best[from] + piece(from, to))
                    .fold(f64::INFINITY, f64::min)
            };
            best = (0..=n).map(next).collect();
            rests.extend(best.last().filter(|rest| rest.is_finite()));
        }
        rests
    }
}

/// The chance of the best of many splits of n values. `(b - 1/b) φ(b) ln(...) + 4 φ(b)/b` with the
/// normal quantile b of the chance and the ends at which a split may lie; or the sum of all chances.
fn over_splits(p: f64, count: f64, n: usize) -> f64 {
    let sum = (p * count).min(1.0);
    let b = normal_upper_quantile(p / 2.0);
    if !b.is_finite() || b < 2.0 {
        return sum;
    }
    let end = SIDE_MIN as f64 / n as f64;
    let density = (-b * b / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt();
    let reach = 2.0 * ((1.0 - end) / end).ln();
    sum.min(density * ((b - b.recip()) * reach + 4.0 / b))
}

/// How well two shapes fit: the smaller the better.
struct Shape {
    drift: Drift,
    of_drift: f64,
    of_steps: f64,
}

impl Shape {
    fn is_drift(&self) -> bool {
        self.of_drift + BIC_CLEAR < self.of_steps
    }

    fn is_clear(&self) -> bool {
        (self.of_drift - self.of_steps).abs() >= BIC_CLEAR
    }
}

/// Values that stay until a place and rise or fall from there on, by least squares, and the sum of
/// squares that is left.
fn line(values: &[f64], from: usize) -> Option<(Drift, f64)> {
    let n = values.len() as f64;
    let place = |index: usize| index.saturating_sub(from) as f64;
    let mean_x = (0..values.len()).map(place).sum::<f64>() / n;
    let mean_y = values.iter().sum::<f64>() / n;
    let (mut xx, mut xy, mut yy) = (0.0, 0.0, 0.0);
    for (index, value) in values.iter().enumerate() {
        let (x, y) = (place(index) - mean_x, value - mean_y);
        xx += x * x;
        xy += x * y;
        yy += y * y;
    }
    if xx <= 0.0 || values.len() < 4 {
        return None;
    }
    let slope = xy / xx;
    let rest = (yy - slope * xy).max(0.0);
    let freedom = n - if from == 0 { 2.0 } else { 3.0 };
    let error = (rest / freedom / xx).sqrt();
    Some((Drift { from, slope, error, freedom }, rest))
}

/// The search for all changes.
struct Search<'s> {
    sums: &'s Sums,
    values: &'s [f64],
    alpha: f64,
    /// Places of steps, rising once the search is over.
    splits: Vec<usize>,
    drifts: Vec<(Range<usize>, Drift)>,
}

impl Search<'_> {
    /// Examines a range. After a split, each part is examined with half of the chance, so that many
    /// pieces raise no more false alarms than one.
    fn look(&mut self, range: Range<usize>, alpha: f64) {
        let Some(found) = self.sums.scan(&range).filter(|found| found.p < alpha) else {
            return;
        };
        if let Some(shape) = self.sums.shape(self.values, &range).filter(Shape::is_drift) {
            self.drifts.push((range, shape.drift));
            return;
        }
        let mut from = range.start;
        for at in found.at {
            self.splits.push(at);
            self.look(from..at, alpha / 2.0);
            from = at;
        }
        self.look(from..range.end, alpha / 2.0);
        self.splits.sort_unstable();
    }

    /// Steps are placed anew between their neighbors, and those that are none there are taken away.
    fn prune(&mut self, end: usize) {
        loop {
            let alpha = if self.splits.len() > 1 { self.alpha / 2.0 } else { self.alpha };
            let mut worst: Option<(usize, f64)> = None;
            for index in 0..self.splits.len() {
                let from = if index > 0 { self.splits[index - 1] } else { 0 };
                let to = self.splits.get(index + 1).copied().unwrap_or(end);
                let touches = |(range, _): &(Range<usize>, Drift)| {
                    range.start == self.splits[index] || range.end == self.splits[index]
                };
                // Next to a drift there are no two levels to place it by.
                if self.drifts.iter().any(touches) {
                    continue;
                }
                let Some(found) = self.sums.single(&(from..to), None) else { continue };
                self.splits[index] = found.at[0];
                if found.p >= alpha && worst.is_none_or(|(_, p)| found.p > p) {
                    worst = Some((index, found.p));
                }
            }
            match worst {
                Some((index, _)) => _ = self.splits.remove(index),
                None => return,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stat::random::RandomStream;

    const ALPHA: f64 = 0.05;

    fn noise(seed: u64, n: usize, sd: f64, level: impl Fn(usize) -> f64) -> Vec<f64> {
        let mut stream = RandomStream::named(seed, "course");
        (0..n).map(|place| level(place) + sd * stream.normal()).collect()
    }

    /// Six values, split in the middle, computed on paper: means 2 and 6, sum of squares 4 over 4
    /// degrees of
    /// freedom, so t = 4 / sqrt(2/3) = sqrt(24). With 4 degrees of freedom its chance is
    /// 1 - 3/4 · sqrt(24/7) · (1 - 2/7) = 0.0080498931, and there are 3 splits.
    #[test]
    fn computes_a_split() {
        let values = [1.0, 2.0, 3.0, 5.0, 6.0, 7.0];
        let sums = Sums::of(&values, 0.0);
        let found = sums.single(&(0..6), Some(3)).expect("a split");
        assert!((found.p - 3.0 * 0.008_049_893_1).abs() < 1e-9, "{}", found.p);
        // With a variance of 4 for each value by itself t is half of it.
        let floored = Sums::of(&values, 4.0).single(&(0..6), Some(3)).expect("a split");
        let half = student_two_sided(4.898_979_485_566_356 / 2.0, 4.0);
        assert!((floored.p - (3.0 * half).min(1.0)).abs() < 1e-9, "{}", floored.p);
    }

    /// Of many tries without a change about as many are below a chance as it says, and not more.
    #[test]
    fn the_chance_of_the_best_split_is_that_of_tries() {
        const TRIES: u64 = 2_000;
        for n in [10, 30, 60] {
            let is_below = |seed: &u64| {
                let sums = Sums::of(&noise(*seed, n, 1.0, |_| 0.0), 0.0);
                sums.single(&(0..n), None).is_some_and(|found| found.p < ALPHA)
            };
            let share = (0..TRIES).filter(is_below).count() as f64 / TRIES as f64;
            println!("{n} values: {share}");
            assert!((0.01..0.06).contains(&share), "{n}: {share}");
        }
    }

    #[test]
    fn a_step_is_found_at_its_place() {
        let values = noise(1, 30, 0.01, |place| if place < 19 { 0.0 } else { 0.05 });
        let found = course(&values, 0.0, ALPHA).expect("values");
        assert_eq!(found.stretches.len(), 2, "{found:?}");
        let step = found.steps[0];
        assert_eq!((step.before, step.after), (18, 19));
        assert!(step.earliest <= 19 && step.latest >= 19 && step.latest - step.earliest < 4);
        assert!(step.is_clear && step.p < 1e-6);
        assert_eq!(found.apart, Vec::<usize>::new());
    }

    #[test]
    fn a_drift_is_not_a_step() {
        let values = noise(2, 30, 0.01, |place| 0.01 * place as f64);
        let found = course(&values, 0.0, ALPHA).expect("values");
        assert_eq!(found.steps, []);
        let drift = found.stretches[0].drift.expect("a drift");
        assert!((drift.slope - 0.01).abs() < 3.0 * drift.error, "{drift:?}");
        // It may begin somewhere.
        let late = noise(3, 40, 0.01, |place| 0.02 * place.saturating_sub(20) as f64);
        let found = course(&late, 0.0, ALPHA).expect("values");
        let drift = found.stretches[0].drift.expect("a drift");
        assert!(found.steps.is_empty() && drift.from.abs_diff(20) <= 2, "{found:?}");
    }

    #[test]
    fn several_steps_and_one_that_was_undone() {
        let up = |place: usize| match place {
            0..12 => 0.0,
            12..24 => 0.05,
            _ => 0.12,
        };
        let found = course(&noise(4, 36, 0.01, up), 0.0, ALPHA).expect("values");
        let places: Vec<usize> = found.steps.iter().map(|step| step.after).collect();
        assert_eq!(places, [12, 24], "{found:?}");
        let undone = |place: usize| if (14..19).contains(&place) { 0.06 } else { 0.0 };
        let found = course(&noise(5, 30, 0.01, undone), 0.0, ALPHA).expect("values");
        let places: Vec<usize> = found.steps.iter().map(|step| step.after).collect();
        assert_eq!(places, [14, 19], "{found:?}");
    }

    #[test]
    fn one_outlier_is_not_a_step() {
        let mut values = noise(6, 20, 0.01, |_| 0.0);
        values[9] = 0.3;
        let found = course(&values, 0.0, ALPHA).expect("values");
        assert_eq!((found.apart.as_slice(), found.steps.len()), ([9].as_slice(), 0));
        assert!(!found.stretches[0].places.contains(&9));
        // The last value is undecided yet.
        let mut last = noise(6, 20, 0.01, |_| 0.0);
        last[19] = 0.3;
        assert_eq!(apart(&last, 0.0), Vec::<usize>::new());
    }

    #[test]
    fn values_that_never_vary() {
        let found = course(&[2.0; 8], 0.0, ALPHA).expect("values");
        assert_eq!((found.steps.len(), found.p), (0, 1.0));
        let step = course(&[2.0, 2.0, 2.0, 2.0, 3.0, 3.0, 3.0], 0.0, ALPHA).expect("values");
        assert_eq!(step.steps.len(), 1);
        assert_eq!((step.steps[0].earliest, step.steps[0].latest), (4, 4));
        assert_eq!(course(&[1.0; 4], 0.0, ALPHA), None);
        assert_eq!(course(&[1.0, f64::NAN, 1.0, 1.0, 1.0], 0.0, ALPHA), None);
    }
}
