//! Whether values drift while time goes on.
//!
//! Not here: jumps, and values that swing.

use super::quantile::percentile_of_sorted;
use super::special::normal_above;

/// Most points of which the slope takes every pair; of more, evenly spaced ones are taken.
const SLOPE_POINTS_MAX: usize = 1_000;

/// The result of the trend test.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Trend {
    /// Pairs that rise minus pairs that fall.
    pub s: f64,
    /// The same as a share of the pairs, -1 to 1; ties count in no direction.
    pub tau: f64,
    /// Two-sided chance of such an S without a trend.
    pub p: f64,
    /// Median slope over all pairs, per step from one value to the next. Source: Sen (1968). Of
    /// more than 1 000 values, the slope is taken over 1 000 that are evenly spaced.
    pub slope: f64,
}

/// The test of Mann (1945) and Kendall (1975): whether values in their order in time rise or fall.
///
/// `S` is the number of rising minus falling pairs. Its variance without a trend is
/// `(n (n - 1)(2n + 5) - sum t (t - 1)(2t + 5)) / 18` for groups of t ties, and p follows from the
/// normal law with a correction of one for continuity. Assumes independent values: values that depend on the one
/// before make p too small. None for fewer than four values, a value that is not a number, and
/// equal values.
pub fn mann_kendall(values: &[f64]) -> Option<Trend> {
    let n = values.len();
    if n < 4 || values.iter().any(|value| !value.is_finite()) {
        return None;
    }
    let (falling, sorted) = inversions(values.to_vec());
    let size = n as f64;
    let (mut tied_pairs, mut ties) = (0.0, 0.0);
    for group in sorted.chunk_by(|a, b| a == b) {
        let t = group.len() as f64;
        tied_pairs += t * (t - 1.0) / 2.0;
        ties += t * (t - 1.0) * (2.0 * t + 5.0);
    }
    let pairs = size * (size - 1.0) / 2.0;
    let s = pairs - tied_pairs - 2.0 * falling as f64;
    let variance = (size * (size - 1.0) * (2.0 * size + 5.0) - ties) / 18.0;
    if variance <= 0.0 {
        return None;
    }
    let distance = (s.abs() - 1.0).max(0.0);
    let p = (2.0 * normal_above(distance / variance.sqrt())).min(1.0);
    Some(Trend { s, tau: s / pairs, p, slope: slope(values)? })
}

/// Median slope over all pairs of values, per step.
fn slope(values: &[f64]) -> Option<f64> {
    let every = values.len().div_ceil(SLOPE_POINTS_MAX).max(1);
    let points: Vec<(f64, f64)> = values
        .iter()
        .enumerate()
        .step_by(every)
        .map(|(index, value)| (index as f64, *value))
        .collect();
    steepness(&points)
}

/// Median slope over all pairs of points at different places.
fn steepness(points: &[(f64, f64)]) -> Option<f64> {
    let mut slopes = Vec::with_capacity(points.len() * points.len().saturating_sub(1) / 2);
    for (index, (x, y)) in points.iter().enumerate() {
        let later = points.iter().skip(index + 1).filter(|(later_x, _)| later_x != x);
        slopes.extend(later.map(|(later_x, later_y)| (later_y - y) / (later_x - x)));
    }
    slopes.sort_unstable_by(f64::total_cmp);
    percentile_of_sorted(&slopes, 50.0)
}

/// A straight line.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Line {
    /// Its value at 0.
    pub start: f64,
    /// How much it rises for 1.
    pub slope: f64,
}

impl Line {
    /// The value at a place.
    pub fn at(self, x: f64) -> f64 {
        self.start + self.slope * x
    }
}

/// The line of Theil (1950) and Sen (1968) through points: the median slope of all pairs, and the
/// median of the residuals. Up to 29 % of the points may be far off without moving it far. All
/// pairs are used: for tens of points. None if all points are at one place.
pub fn theil_sen(points: &[(f64, f64)]) -> Option<Line> {
    let slope = steepness(points)?;
    let mut left: Vec<f64> = points.iter().map(|(x, y)| y - slope * x).collect();
    left.sort_unstable_by(f64::total_cmp);
    Some(Line { start: percentile_of_sorted(&left, 50.0)?, slope })
}

/// The number of pairs that fall, and the values in rising order. By merging, O(n log n).
fn inversions(mut values: Vec<f64>) -> (u64, Vec<f64>) {
    let mut falling = 0;
    let mut merged = Vec::with_capacity(values.len());
    let mut width = 1;
    while width < values.len() {
        merged.clear();
        for block in values.chunks(2 * width) {
            let (mut left, mut right) = block.split_at(width.min(block.len()));
            while let (Some((a, later_left)), Some((b, later_right))) =
                (left.split_first(), right.split_first())
            {
                if a <= b {
                    merged.push(*a);
                    left = later_left;
                } else {
                    // It falls against all that is left of the left part.
                    falling += left.len() as u64;
                    merged.push(*b);
                    right = later_right;
                }
            }
            merged.extend_from_slice(left);
            merged.extend_from_slice(right);
        }
        std::mem::swap(&mut values, &mut merged);
        width *= 2;
    }
    (falling, values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn computes_the_trend_of_five_values() {
        // Pairs of 1 3 2 4 5: nine rise, one falls. The variance is 5 · 4 · 15 / 18.
        let found = mann_kendall(&[1.0, 3.0, 2.0, 4.0, 5.0]).expect("values");
        assert_eq!((found.s, found.tau), (8.0, 0.8));
        let expect = 2.0 * normal_above(7.0 / (300f64 / 18.0).sqrt());
        assert!((found.p - expect).abs() < 1e-15);
        // Slopes -1, 1/2, 1 (five of them), 3/2, 2 and 1: the median is 1.
        assert_eq!(found.slope, 1.0);
        assert_eq!(mann_kendall(&[1.0, 2.0, 3.0]), None);
        assert_eq!(mann_kendall(&[2.0; 9]), None);
    }

    #[test]
    fn a_line_is_not_moved_by_one_point() {
        let on = |x: f64| (x, 1.0 + 2.0 * x);
        let line = theil_sen(&[on(0.0), on(1.0), (2.0, 90.0), on(3.0), on(4.0)]).expect("points");
        assert_eq!((line.start, line.slope, line.at(5.0)), (1.0, 2.0, 11.0));
        assert_eq!(theil_sen(&[(1.0, 2.0), (1.0, 3.0)]), None);
    }

    // pymannkendall 1.4.3: original_test(values), its s, Tau, p and slope, for
    // [(i * 7919 % 101) / 10 + i / 40 for i in range(60)], rounded to whole numbers.
    #[test]
    fn the_test_is_that_of_pymannkendall() {
        let values: Vec<f64> = (0..60)
            .map(|i| (f64::from(i * 7919 % 101) / 10.0 + f64::from(i) / 40.0).round())
            .collect();
        let found = mann_kendall(&values).expect("values");
        assert_eq!(found.s, 286.0);
        assert!((found.tau - 0.161_581_920_903_954_8).abs() < 1e-12, "{}", found.tau);
        assert!((found.p / 0.067_752_729_518_313_35 - 1.0).abs() < 1e-9, "{}", found.p);
        assert!((found.slope - 0.047_619_047_619_047_616).abs() < 1e-12, "{}", found.slope);
    }

    #[test]
    fn many_values_keep_their_slope() {
        let values: Vec<f64> =
            (0..5_000).map(|i| f64::from(i) * 0.25 + f64::from(i * 37 % 11)).collect();
        let found = mann_kendall(&values).expect("values");
        assert!((found.slope - 0.25).abs() < 0.001, "{}", found.slope);
        assert!(found.p < 1e-12);
    }
}
