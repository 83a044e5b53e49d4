//! By how much the values of one sample are larger than those of another, for any law.
//!
//! What is not here: whether that is chance; see [`mann_whitney`](super::mann_whitney).

use super::special::normal_upper_quantile;
use super::welch::{Estimate, tail};

/// The shift between two samples: the median of all differences of a value of the second and one of
/// the first, with the interval of Moses (1953) that belongs to the rank-sum test.
///
/// Source: Hodges and Lehmann (1963). The bounds are the differences of rank
/// `nm/2 ± z · sqrt(nm (n + m + 1) / 12)`; where so few values leave no such difference the bound is
/// the extreme one, and the confidence is then smaller than asked. Assumes two laws that differ by
/// a shift, and independent values. O((n + m) log) in time, whatever n times m. None for an empty
/// sample, a value that is no number, and a confidence that is not between 0 and 1.
pub fn hodges_lehmann(a: &[f64], b: &[f64], confidence: f64) -> Option<Estimate> {
    let z = normal_upper_quantile(tail(confidence)?);
    let (a, b) = (sorted(a)?, sorted(b)?);
    let pairs = a.len() as u64 * b.len() as u64;
    let upper_middle = nth_difference(&a, &b, pairs / 2);
    let lower_middle = nth_difference(&a, &b, (pairs - 1) / 2);
    let (n, m) = (a.len() as f64, b.len() as f64);
    let reach = z * (n * m * (n + m + 1.0) / 12.0).sqrt();
    let rank = (n * m / 2.0 - reach).floor().max(1.0) as u64;
    Some(Estimate {
        value: 0.5 * (lower_middle + upper_middle),
        low: nth_difference(&a, &b, rank - 1),
        high: nth_difference(&a, &b, pairs - rank),
    })
}

/// How often a value of the second sample is larger than one of the first, minus how often it is
/// smaller, as a share of all pairs: -1 to 1, and 0 for the same law.
///
/// Source: Cliff (1993). None for an empty sample and a value that is no number.
pub fn cliffs_delta(a: &[f64], b: &[f64]) -> Option<f64> {
    let (a, b) = (sorted(a)?, sorted(b)?);
    let mut balance = 0.0;
    for value in &b {
        let smaller = a.partition_point(|other| other < value) as f64;
        let not_larger = a.partition_point(|other| other <= value) as f64;
        balance += smaller - (a.len() as f64 - not_larger);
    }
    Some(balance / (a.len() as f64 * b.len() as f64))
}

/// The values in rising order; none for no values and where one is no number.
fn sorted(values: &[f64]) -> Option<Vec<f64>> {
    if values.is_empty() || values.iter().any(|value| !value.is_finite()) {
        return None;
    }
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    Some(sorted)
}

/// The difference `b - a` of rank `rank` (from 0) among all pairs. By halving the range of numbers
/// that it can be, bit by bit: at most 64 passes over both samples.
fn nth_difference(a: &[f64], b: &[f64], rank: u64) -> f64 {
    let (mut low, mut high) = (order_of(f64::NEG_INFINITY), order_of(f64::INFINITY));
    while low < high {
        let middle = low + (high - low) / 2;
        if differences_up_to(a, b, number_of(middle)) > rank {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    number_of(low)
}

/// How many pairs have a difference `b - a` of at most `limit`. Both samples rise, so the place in
/// `a` moves one way only.
fn differences_up_to(a: &[f64], b: &[f64], limit: f64) -> u64 {
    let mut count = 0;
    let mut place = 0;
    for value in b {
        while a.get(place).is_some_and(|other| value - other > limit) {
            place += 1;
        }
        count += (a.len() - place) as u64;
    }
    count
}

/// A whole number that rises with the number, so that ranges can be halved exactly.
fn order_of(number: f64) -> u64 {
    let bits = number.to_bits();
    if bits >> 63 == 0 { bits | (1 << 63) } else { !bits }
}

/// The inverse of [`order_of`].
fn number_of(order: u64) -> f64 {
    f64::from_bits(if order >> 63 == 1 { order & !(1 << 63) } else { !order })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_shift_by_hand() {
        // Differences of (4, 7) and (1, 2, 3): 1 2 3 4 5 6; the median is 3.5.
        let found = hodges_lehmann(&[1.0, 2.0, 3.0], &[4.0, 7.0], 0.95).expect("values");
        assert_eq!((found.value, found.low, found.high), (3.5, 1.0, 6.0));
        assert_eq!(cliffs_delta(&[1.0, 2.0, 3.0], &[4.0, 7.0]), Some(1.0));
        assert_eq!(cliffs_delta(&[4.0, 7.0], &[1.0, 2.0, 3.0]), Some(-1.0));
        // Of nine pairs three are ties, three larger, three smaller.
        assert_eq!(cliffs_delta(&[1.0, 2.0, 3.0], &[1.0, 2.0, 3.0]), Some(0.0));
        assert_eq!(hodges_lehmann(&[], &[1.0], 0.95), None);
        assert_eq!(cliffs_delta(&[1.0], &[f64::NAN]), None);
    }

    // numpy 2.4.6: d = numpy.sort(numpy.subtract.outer(b, a).ravel()); numpy.median(d), and the
    // differences of rank floor(nm/2 - 1.959964 sqrt(nm(n+m+1)/12)) from either end, for
    // a = arange(12) * 1.7 and b = arange(9) * 2.3 + 4.05.
    #[test]
    fn a_shift_is_that_of_numpy() {
        let a: Vec<f64> = (0..12).map(|i| f64::from(i) * 1.7).collect();
        let b: Vec<f64> = (0..9).map(|i| f64::from(i) * 2.3 + 4.05).collect();
        let found = hodges_lehmann(&a, &b, 0.95).expect("values");
        assert!((found.value - 3.9).abs() < 1e-9, "{found:?}");
        assert!((found.low - -2.65).abs() < 1e-9, "{found:?}");
        assert!((found.high - 10.45).abs() < 1e-9, "{found:?}");
        let delta = cliffs_delta(&a, &b).expect("values");
        assert!((delta - 0.351_851_851_851_851_86).abs() < 1e-12, "{delta}");
    }

    proptest! {
        #[test]
        fn any_rank_is_the_one_that_sorting_gives(
            a in prop::collection::vec(-50.0f64..50.0, 1..12),
            b in prop::collection::vec(-50.0f64..50.0, 1..12),
            at in 0.0f64..1.0,
        ) {
            let mut all: Vec<f64> =
                b.iter().flat_map(|b| a.iter().map(move |a| b - a)).collect();
            all.sort_unstable_by(f64::total_cmp);
            let rank = ((all.len() as f64 * at) as usize).min(all.len() - 1);
            let (a, b) = (sorted(&a).expect("values"), sorted(&b).expect("values"));
            prop_assert_eq!(nth_difference(&a, &b, rank as u64), all[rank]);
        }
    }
}
