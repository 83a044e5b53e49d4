//! Whether a series began elsewhere and then settled: a cold start, a ramp.
//!
//! Two cases that must not be confused: a head that differs from a level rest may be left out, a
//! series that drifts all the time may not, because no part of it represents the whole. Not here:
//! what the values are, and how the head is treated.

use super::blocks::block_length;
use super::special::student_two_sided;
use super::trend::mann_kendall;

/// Fewest values in a batch.
const BATCH_MIN: usize = 5;
/// Minimum number of batches for a head to be identified.
const BATCHES_MIN: usize = 10;
/// Most batches: more values make the batches longer.
const BATCHES_MAX: usize = 400;
/// Chance of calling a series that is level something else, for each of the two tests.
const CHANCE: f64 = 0.01;
/// Smaller changes, as the logarithm of a ratio, are left alone: 10 %.
const LN_CHANGE_MIN: f64 = 0.095_310_179_804_324_87;

/// How a series went.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Course {
    /// It is level from the start.
    Level,
    /// This many values at its head differ from a level rest.
    Settles {
        /// Values at the head.
        values: usize,
        /// Their geometric mean over that of the rest.
        ratio: f64,
    },
    /// It rises or falls all the time.
    Drifts,
}

/// How a series of positive values in the order of time went. None for too few values to say, and
/// for one that is not above 0.
///
/// On logarithms, in batches of at least five values and twice the [`block_length`] of the second
/// half (its straight line taken out), so that batches are about independent. The head is where
/// MSER-5 cuts (White 1997): the cut, within the first half, that makes
/// `sum((x - mean)^2) / (batches left)^2` of the rest smallest. It counts only if its mean differs
/// from that of the rest by Student's t of the rest's spread, at 1 % after Bonferroni's correction
/// for all cuts that were tried, and by at least 10 %. Then the rest must not drift: by the test of
/// Mann and Kendall at 1 %, and by at least 10 % from the first to the last third.
pub fn course(values: &[f64]) -> Option<Course> {
    if values.iter().any(|value| !(*value > 0.0 && value.is_finite())) {
        return None;
    }
    let logs: Vec<f64> = values.iter().map(|value| value.ln()).collect();
    let block = block_length(&without_line(logs.get(logs.len() / 2..)?))?;
    let batch = BATCH_MIN.max((2.0 * block).ceil() as usize).max(logs.len() / BATCHES_MAX);
    let batches: Vec<f64> =
        logs.chunks_exact(batch).map(|values| values.iter().sum::<f64>() / batch as f64).collect();
    if batches.len() < BATCHES_MIN {
        return None;
    }
    let cut = mser_cut(&batches);
    let change = head_change(&batches, cut);
    let rest = if change.is_some() { batches.get(cut..)? } else { &batches };
    if drifts(rest) {
        return Some(Course::Drifts);
    }
    Some(match change {
        Some(change) => Course::Settles { values: cut * batch, ratio: change.exp() },
        None => Course::Level,
    })
}

/// The number of values at the head, at most half of them, without which the standard error of the
/// mean of the rest is smallest.
fn mser_cut(values: &[f64]) -> usize {
    let (mut sum, mut squares, mut left) = (0.0, 0.0, 0.0);
    let mut best = (f64::INFINITY, 0);
    let origin = values.last().copied().unwrap_or(0.0);
    for (place, value) in values.iter().enumerate().rev() {
        // From the last value, against rounding.
        let value = value - origin;
        (sum, squares, left) = (sum + value, squares + value * value, left + 1.0);
        let error = (squares - sum * sum / left).max(0.0) / (left * left);
        if place <= values.len() / 2 && error <= best.0 {
            best = (error, place);
        }
    }
    best.1
}

/// How far the mean of the first `cut` values lies from that of the rest, where that is not a chance
/// and enough to matter.
fn head_change(values: &[f64], cut: usize) -> Option<f64> {
    let (head, rest) = values.split_at_checked(cut).filter(|(head, _)| !head.is_empty())?;
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let change = mean(head) - mean(rest);
    if change.abs() < LN_CHANGE_MIN {
        return None;
    }
    let middle = mean(rest);
    let freedom = rest.len() as f64 - 1.0;
    let spread = rest.iter().map(|value| (value - middle).powi(2)).sum::<f64>() / freedom;
    let error = (spread * (1.0 / head.len() as f64 + 1.0 / rest.len() as f64)).sqrt();
    let tried = (values.len() / 2) as f64;
    let p = if error > 0.0 { student_two_sided(change / error, freedom) } else { 0.0 };
    (p * tried < CHANCE).then_some(change)
}

fn drifts(values: &[f64]) -> bool {
    let third = values.len() / 3;
    let ends = values.get(..third).zip(values.get(values.len() - third..));
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let change = ends.map_or(0.0, |(first, last)| mean(last) - mean(first));
    change.abs() >= LN_CHANGE_MIN && mann_kendall(values).is_some_and(|trend| trend.p < CHANCE)
}

/// The values without the straight line of least squares through them.
fn without_line(values: &[f64]) -> Vec<f64> {
    let n = values.len() as f64;
    let (middle, mean) = ((n - 1.0) / 2.0, values.iter().sum::<f64>() / n);
    let (mut products, mut squares) = (0.0, 0.0);
    for (place, value) in values.iter().enumerate() {
        let from_middle = place as f64 - middle;
        products += from_middle * (value - mean);
        squares += from_middle * from_middle;
    }
    let slope = if squares > 0.0 { products / squares } else { 0.0 };
    let line = |place: usize| mean + slope * (place as f64 - middle);
    values.iter().enumerate().map(|(place, value)| value - line(place)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stat::random::RandomStream;

    /// `n` values around a shape, with lognormal noise that inherits a share of the one before.
    fn noisy(n: usize, memory: f64, seed: u64, shape: impl Fn(f64) -> f64) -> Vec<f64> {
        let mut stream = RandomStream::named(seed, "transient");
        let (mut deviation, fresh) = (0.0, (1.0 - memory * memory).sqrt());
        (0..n)
            .map(|place| {
                deviation = memory * deviation + fresh * stream.normal();
                shape(place as f64 / n as f64) * (0.2 * deviation).exp()
            })
            .collect()
    }

    fn courses(n: usize, memory: f64, shape: impl Fn(f64) -> f64) -> Vec<Course> {
        (0..200).filter_map(|seed| course(&noisy(n, memory, seed, &shape))).collect()
    }

    #[test]
    fn computes_the_cut() {
        // Without 9 and 5: 1 1 1 1 1 1 has no spread. Of 9 1 1 2 1 2 the cuts 0 to 3 give
        // (33.33, 1.2, 1.0, 0.667) / (36, 25, 16, 9): the second is the smallest.
        assert_eq!(mser_cut(&[9.0, 5.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]), 2);
        assert_eq!(mser_cut(&[9.0, 1.0, 1.0, 2.0, 1.0, 2.0]), 1);
        assert_eq!(mser_cut(&[1.0; 6]), 0);
    }

    #[test]
    fn a_line_is_taken_out() {
        let left = without_line(&[1.0, 3.0, 5.0, 7.0]);
        assert!(left.iter().all(|value| value.abs() < 1e-12), "{left:?}");
    }

    #[test]
    fn flat_noise_keeps_its_head() {
        for (n, memory) in [(60, 0.0), (300, 0.0), (2_000, 0.0), (400, 0.5), (2_000, 0.7)] {
            let found = courses(n, memory, |_| 100.0);
            assert!(found.len() >= 150, "{n} {memory}: only {} are decided", found.len());
            let level = found.iter().filter(|course| **course == Course::Level).count();
            assert!(level as f64 >= 0.95 * found.len() as f64, "{n} {memory}: {level}");
        }
    }

    #[test]
    fn a_step_near_the_start_is_cut_off() {
        // The cut may lie a little after the step, further the more the values depend on each
        // other.
        for (factor, memory) in [(3.0, 0.0), (0.4, 0.0), (3.0, 0.5)] {
            let found = courses(400, memory, |at| if at < 0.1 { 100.0 * factor } else { 100.0 });
            let right = found.iter().filter(|course| {
                matches!(course, Course::Settles { values, ratio }
                    if (30..=120).contains(values)
                        && (0.3..=1.3).contains(&(ratio.ln() / f64::ln(factor))))
            });
            let right = right.count();
            assert!(right as f64 >= 0.9 * found.len() as f64, "{factor} {memory}: {right}");
        }
    }

    #[test]
    fn what_settles_slowly_is_cut_where_it_has_settled() {
        // Three times as slow at first, less by a factor e each 5 % of the series.
        let found = courses(600, 0.0, |at| 100.0 * (1.0 + 2.0 * (-at / 0.05).exp()));
        let cut = found.iter().filter(|course| {
            matches!(course, Course::Settles { values, .. } if (40..=200).contains(values))
        });
        let cut = cut.count();
        assert!(cut as f64 >= 0.9 * found.len() as f64, "{cut} of {}", found.len());
    }

    #[test]
    fn a_drift_is_not_a_warm_up() {
        for shape in [(|at| 100.0 * (1.0 + at)) as fn(f64) -> f64, |at| 200.0 - 100.0 * at] {
            let found = courses(600, 0.0, shape);
            let drifts = found.iter().filter(|course| **course == Course::Drifts).count();
            assert!(drifts as f64 >= 0.95 * found.len() as f64, "{drifts} of {}", found.len());
        }
        let late = courses(600, 0.0, |at| if at < 0.75 { 100.0 } else { 200.0 });
        let cut = late.iter().filter(|course| matches!(course, Course::Settles { .. })).count();
        assert!(cut as f64 <= 0.05 * late.len() as f64, "a jump near the end is not a head: {cut}");
    }

    #[test]
    fn undecidable_series_have_no_result() {
        assert_eq!(course(&[100.0; 49]), None, "nine batches");
        assert_eq!(course(&[100.0; 50]), Some(Course::Level));
        assert_eq!(course(&[0.0; 100]), None);
        assert_eq!(course(&[]), None);
    }
}
