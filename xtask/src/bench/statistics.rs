//! Medians over repeats, and the spread of an error.

/// The middle value; with an even number of values the mean of the middle two. Absent for none.
pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let upper = *sorted.get(sorted.len() / 2)?;
    if sorted.len() % 2 == 1 {
        return Some(upper);
    }
    let lower = *sorted.get(sorted.len() / 2 - 1)?;
    Some((lower + upper) / 2.0)
}

/// The spread of signed errors, in the unit of the errors.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    /// Mean, signed: errors in both directions cancel.
    pub mean: f64,
    /// Median, signed.
    pub p50: f64,
    /// 99th percentile of the size, whatever the direction.
    pub p99_size: f64,
    /// Largest size.
    pub max_size: f64,
}

impl Spread {
    /// Of all errors; absent for none. Percentiles are nearest ranks.
    pub fn of(errors: &[f64]) -> Option<Spread> {
        let mut sizes: Vec<f64> = errors.iter().map(|error| error.abs()).collect();
        sizes.sort_unstable_by(f64::total_cmp);
        let rank = (sizes.len() as f64 * 0.99).ceil() as usize;
        Some(Spread {
            mean: errors.iter().sum::<f64>() / errors.len() as f64,
            p50: median(errors)?,
            p99_size: *sizes.get(rank.saturating_sub(1))?,
            max_size: *sizes.last()?,
        })
    }

    /// Medians of each figure over repeats; absent for none.
    pub fn median(spreads: &[Spread]) -> Option<Spread> {
        let of =
            |figure: fn(&Spread) -> f64| median(&spreads.iter().map(figure).collect::<Vec<f64>>());
        Some(Spread {
            mean: of(|spread| spread.mean)?,
            p50: of(|spread| spread.p50)?,
            p99_size: of(|spread| spread.p99_size)?,
            max_size: of(|spread| spread.max_size)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_of_odd_and_even_numbers_of_values() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
        assert_eq!(median(&[]), None);
    }

    #[test]
    fn sizes_have_no_direction_and_means_have() {
        let mut errors: Vec<f64> = (1..=99).map(f64::from).collect();
        errors.push(-1000.0);
        let spread = Spread::of(&errors).expect("not empty");
        assert_eq!((spread.mean, spread.p50), (39.5, 49.5));
        assert_eq!((spread.p99_size, spread.max_size), (99.0, 1000.0));
        assert_eq!(Spread::of(&[]), None);
        let other = Spread { mean: 41.5, ..spread };
        assert_eq!(Spread::median(&[spread, other]).map(|middle| middle.mean), Some(40.5));
    }
}
