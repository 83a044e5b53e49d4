//! Whether the values of one sample tend to be larger than those of another.
//!
//! What is not here: by how much; see [`effect`](super::effect).

use super::special::normal_above;

/// Largest product of the two sizes for which the law of U is counted out.
const EXACT_PAIRS_MAX: usize = 2_500;

/// The result of the test.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RankTest {
    /// Pairs in which the value of the second sample is larger, ties counting one half.
    pub u: f64,
    /// Two-sided chance of such a U, or one further from the middle, if both samples came from one
    /// law.
    pub p: f64,
    /// Whether p was counted out; otherwise it is the normal approximation.
    pub is_exact: bool,
}

/// The test of Mann and Whitney (1947), also known as Wilcoxon's rank-sum test.
///
/// U counts the pairs in which the second sample's value is larger. Without ties and for up to
/// 2 500 pairs its law is counted out; otherwise p is that of the normal law with mean `nm/2` and
/// variance `nm/12 · ((N + 1) - sum(t^3 - t) / (N (N - 1)))` for groups of t ties, with a
/// correction of one half for continuity. Assumes independent values. None for an empty sample, a
/// value that is no number, and where all values are the same.
pub fn mann_whitney(a: &[f64], b: &[f64]) -> Option<RankTest> {
    let (n, m) = (a.len(), b.len());
    if n == 0 || m == 0 || a.iter().chain(b).any(|value| !value.is_finite()) {
        return None;
    }
    let mut all: Vec<(f64, bool)> = a.iter().map(|value| (*value, false)).collect();
    all.extend(b.iter().map(|value| (*value, true)));
    all.sort_unstable_by(|x, y| x.0.total_cmp(&y.0));
    // `below` counts values of the first sample that are smaller than the group of ties.
    let (mut u, mut ties, mut below) = (0.0, 0.0, 0.0);
    for group in all.chunk_by(|x, y| x.0 == y.0) {
        let second = group.iter().filter(|(_, is_second)| *is_second).count() as f64;
        let first = group.len() as f64 - second;
        u += second * (below + first / 2.0);
        below += first;
        let size = group.len() as f64;
        ties += size.powi(3) - size;
    }
    if ties == 0.0 && n * m <= EXACT_PAIRS_MAX {
        return Some(RankTest { u, p: exact_p(u, n, m), is_exact: true });
    }
    let (n, m) = (n as f64, m as f64);
    let total = n + m;
    let variance = n * m / 12.0 * ((total + 1.0) - ties / (total * (total - 1.0)));
    if variance <= 0.0 {
        return None;
    }
    let distance = ((u - n * m / 2.0).abs() - 0.5).max(0.0);
    let p = (2.0 * normal_above(distance / variance.sqrt())).min(1.0);
    Some(RankTest { u, p, is_exact: false })
}

/// Two-sided chance of a whole U without ties. Of all orders of the two samples, the ways to reach
/// each U are the coefficients of the Gaussian binomial; they are taken as chances, against
/// overflow.
fn exact_p(u: f64, n: usize, m: usize) -> f64 {
    let pairs = n * m;
    let extreme = (u.min(pairs as f64 - u)).round() as usize;
    let chances = u_chances(n, m);
    let tail: f64 = chances.iter().take(extreme + 1).sum();
    (2.0 * tail).min(1.0)
}

/// The chance of each U from 0 to nm. Source: Mann and Whitney's recursion: the largest of all
/// values belongs to the first sample with chance n/(n+m) and then adds nothing to U, or to the
/// second and then adds n.
fn u_chances(n: usize, m: usize) -> Vec<f64> {
    // chances[i] is the law for i values of the first sample and the current number of the second.
    let mut chances: Vec<Vec<f64>> = (0..=n).map(|_| vec![1.0]).collect();
    for second in 1..=m {
        let mut next: Vec<Vec<f64>> = Vec::with_capacity(n + 1);
        next.push(vec![1.0]);
        for first in 1..=n {
            let total = (first + second) as f64;
            let mut law = vec![0.0; first * second + 1];
            if let Some(fewer) = next.last() {
                for (slot, chance) in law.iter_mut().zip(fewer) {
                    *slot += chance * first as f64 / total;
                }
            }
            if let Some(before) = chances.get(first) {
                for (slot, chance) in law.iter_mut().skip(first).zip(before) {
                    *slot += chance * second as f64 / total;
                }
            }
            next.push(law);
        }
        chances = next;
    }
    chances.pop().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(got: f64, expect: f64) {
        assert!((got - expect).abs() < 1e-12 * expect.abs().max(1.0), "{got} is not {expect}");
    }

    #[test]
    fn three_against_three_by_hand() {
        // 20 orders; only one has every second value above: U = 9, p = 2/20.
        let found = mann_whitney(&[1.0, 2.0, 3.0], &[4.0, 5.0, 6.0]).expect("values");
        assert_eq!((found.u, found.is_exact), (9.0, true));
        near(found.p, 0.1);
        let middle = mann_whitney(&[1.0, 4.0], &[2.0, 3.0]).expect("values");
        assert_eq!((middle.u, middle.p), (2.0, 1.0));
    }

    // scipy 1.17.1: stats.mannwhitneyu(b, a, method="exact"), and method="asymptotic" for the
    // samples with ties; numpy.arange(12) * 1.7 and numpy.arange(9) * 2.3 + 4.05.
    #[test]
    fn the_test_is_that_of_scipy() {
        let a: Vec<f64> = (0..12).map(|i| f64::from(i) * 1.7).collect();
        let b: Vec<f64> = (0..9).map(|i| f64::from(i) * 2.3 + 4.05).collect();
        let exact = mann_whitney(&a, &b).expect("values");
        assert!(exact.is_exact);
        near(exact.u, 73.0);
        near(exact.p, 0.193_005_137_277_583_12);
        let tied = mann_whitney(&[1.0, 2.0, 2.0, 3.0, 5.0, 7.0], &[2.0, 4.0, 5.0, 5.0, 8.0, 9.0]);
        let tied = tied.expect("values");
        assert!(!tied.is_exact);
        near(tied.u, 27.0);
        near(tied.p, 0.167_422_157_745_950_48);
    }

    #[test]
    fn what_cannot_be_ranked_has_no_result() {
        assert_eq!(mann_whitney(&[], &[1.0]), None);
        assert_eq!(mann_whitney(&[1.0], &[f64::NAN]), None);
        assert_eq!(mann_whitney(&[2.0, 2.0], &[2.0, 2.0]), None);
    }

    #[test]
    fn the_two_ways_to_p_meet() {
        let a: Vec<f64> = (0..50).map(|i| f64::from(i) * 1.01).collect();
        let b: Vec<f64> = (0..50).map(|i| f64::from(i) * 1.02 + 9.3).collect();
        let exact = mann_whitney(&a, &b).expect("values");
        let more: Vec<f64> = b.iter().copied().chain([30.005]).collect();
        let normal = mann_whitney(&a, &more).expect("values");
        assert!(exact.is_exact && !normal.is_exact);
        assert!((exact.p / normal.p - 1.0).abs() < 0.25, "{} and {}", exact.p, normal.p);
    }
}
