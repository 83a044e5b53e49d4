//! Which share of a population is at most so large: its cumulative distribution, with a bounded
//! number of steps.

/// The cumulative distribution of a population.
#[derive(Debug, Clone, PartialEq)]
pub struct Cumulative {
    /// Number of values.
    pub n: u64,
    /// Values, rising, each with the share of the population that is not larger. The last share
    /// is 1.
    pub steps: Vec<(f64, f64)>,
}

impl Cumulative {
    /// Of independent values, in any order; values that are not numbers are left out. If there are
    /// more than `steps_max` different values, only this many are kept, at even shares: each kept
    /// step is exact, and between two of them the share rises by about 1 / `steps_max`. Absent for
    /// no values. O(n log n).
    pub fn of(mut values: Vec<f64>, steps_max: usize) -> Option<Cumulative> {
        values.retain(|value| value.is_finite());
        values.sort_unstable_by(f64::total_cmp);
        let n = values.len();
        let kept = n.min(steps_max.max(1));
        let mut steps: Vec<(f64, f64)> = Vec::with_capacity(kept);
        for step in 1..=kept {
            // The smallest rank that holds `step` of `kept` equal parts: the last one is `n`.
            let rank = (step * n).div_ceil(kept);
            let value = *values.get(rank.checked_sub(1)?)?;
            if steps.last().is_some_and(|(last, _)| *last == value) {
                continue;
            }
            let not_larger = values.partition_point(|other| *other <= value);
            steps.push((value, not_larger as f64 / n as f64));
        }
        (n > 0).then_some(Cumulative { n: n as u64, steps })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_is_a_step_where_there_are_few() {
        let found = Cumulative::of(vec![3.0, 1.0, f64::NAN, 2.0, 2.0], 10).expect("values");
        assert_eq!((found.n, found.steps), (4, vec![(1.0, 0.25), (2.0, 0.75), (3.0, 1.0)]));
        assert_eq!(Cumulative::of(vec![f64::NAN], 10), None);
        assert_eq!(Cumulative::of(Vec::new(), 10), None);
    }

    #[test]
    fn many_values_become_a_limited_number_of_exact_steps() {
        let values: Vec<f64> = (1..=1000).rev().map(f64::from).collect();
        let found = Cumulative::of(values, 7).expect("values");
        assert_eq!(found.steps.len(), 7);
        assert_eq!(found.steps.last(), Some(&(1000.0, 1.0)));
        for (value, share) in &found.steps {
            assert_eq!(value / 1000.0, *share);
        }
        let shares: Vec<f64> = found.steps.iter().map(|(_, share)| *share).collect();
        assert!(shares.windows(2).all(|pair| (pair[1] - pair[0] - 1.0 / 7.0).abs() < 0.002));
    }
}
