//! Whether one quantity rises with another, by ranks.
//!
//! Not here: drift of a series over time, see [`trend`](super::trend).

use ifm_core::order::Order as _;

/// Spearman's rank correlation, -1 to 1: Pearson's correlation of the ranks, equal values sharing
/// the mean of theirs. Source: Spearman (1904). None for fewer than three pairs, for a value that
/// is not a number, and where all values of a side are equal.
pub fn spearman(pairs: &[(f64, f64)]) -> Option<f64> {
    const PAIRS_MIN: usize = 3;
    let is_sound = |(a, b): &(f64, f64)| a.is_finite() && b.is_finite();
    if pairs.len() < PAIRS_MIN || !pairs.iter().all(is_sound) {
        return None;
    }
    let a = ranks(&pairs.iter().map(|pair| pair.0).collect::<Vec<_>>());
    let b = ranks(&pairs.iter().map(|pair| pair.1).collect::<Vec<_>>());
    // Ranks sum to the same regardless of the ties.
    let mean = (pairs.len() + 1) as f64 / 2.0;
    let product: f64 = a.iter().zip(&b).map(|(a, b)| (a - mean) * (b - mean)).sum();
    let square = |ranks: &[f64]| ranks.iter().map(|rank| (rank - mean).powi(2)).sum::<f64>();
    let scale = (square(&a) * square(&b)).sqrt();
    (scale > 0.0).then(|| product / scale)
}

/// The rank of every value, from 1; equal values share the mean of their ranks.
fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<(usize, f64)> = values.iter().copied().enumerate().collect();
    order.order_by(|a, b| a.1.total_cmp(&b.1));
    let mut ranks = vec![0.0; values.len()];
    let mut before = 0;
    for same in order.chunk_by(|a, b| a.1 == b.1) {
        let rank = before as f64 + (same.len() + 1) as f64 / 2.0;
        for (index, _) in same {
            if let Some(place) = ranks.get_mut(*index) {
                *place = rank;
            }
        }
        before += same.len();
    }
    ranks
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values of scipy 1.14.1: `scipy.stats.spearmanr(a, b).statistic`.
    #[test]
    fn as_scipy_computes_it() {
        for (a, b, expect) in [
            (vec![1.0, 2.0, 3.0, 4.0, 5.0], vec![5.0, 6.0, 7.0, 8.0, 7.0], 0.820_782_681_668_123_3),
            (vec![1.0, 50.0, 100.0], vec![0.02, 0.04, 0.09], 1.0),
            (vec![1.0, 2.0, 3.0], vec![3.0, 2.0, 1.0], -1.0),
        ] {
            let pairs: Vec<(f64, f64)> = a.into_iter().zip(b).collect();
            let found = spearman(&pairs).expect("three pairs");
            assert!((found - expect).abs() < 1e-12, "{found} {expect}");
        }
        assert_eq!(spearman(&[(1.0, 1.0), (2.0, 1.0), (3.0, 1.0)]), None);
        assert_eq!(spearman(&[(1.0, 1.0), (2.0, 2.0)]), None);
        assert_eq!(spearman(&[(1.0, 1.0), (2.0, f64::NAN), (3.0, 1.0)]), None);
    }
}
