//! Several tests at once: the more questions, the surer one of them is answered by chance.
//!
//! Not here: single tests.

use ifm_core::order::Order as _;

/// Holm's correction: chances that may each be compared with the same limit, so that the chance of
/// one false alarm among all of them stays within it, however the tests depend on each other.
///
/// With the m chances in rising order, the k-th (from 1) becomes the maximum over j <= k of
/// `min(1, (m - j + 1) · p_j)`. Source: Holm (1979). The results are in the order of `chances`.
/// None if one of them is not between 0 and 1.
pub fn holm(chances: &[f64]) -> Option<Vec<f64>> {
    if chances.iter().any(|p| !(0.0..=1.0).contains(p)) {
        return None;
    }
    let mut order: Vec<usize> = (0..chances.len()).collect();
    let chance = |index: usize| chances.get(index).copied().unwrap_or(1.0);
    order.order_by(|a, b| chance(*a).total_cmp(&chance(*b)));
    let mut corrected = vec![1.0; chances.len()];
    let mut largest: f64 = 0.0;
    for (rank, index) in order.iter().enumerate() {
        let left = (chances.len() - rank) as f64;
        largest = largest.max((left * chance(*index)).min(1.0));
        if let Some(slot) = corrected.get_mut(*index) {
            *slot = largest;
        }
    }
    Some(corrected)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn corrects_four_tests() {
        // Sorted 0.005, 0.01, 0.03, 0.04 times 4, 3, 2, 1, each at least the one before.
        let found = holm(&[0.01, 0.04, 0.03, 0.005]).expect("chances");
        for (got, expect) in found.iter().zip([0.03, 0.06, 0.06, 0.02]) {
            assert!((got - expect).abs() < 1e-15, "{found:?}");
        }
        assert_eq!(holm(&[]), Some(vec![]));
        assert_eq!(holm(&[0.7, 0.9]), Some(vec![1.0, 1.0]));
        assert_eq!(holm(&[0.5, f64::NAN]), None);
    }
}
