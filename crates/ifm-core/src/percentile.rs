//! Percentiles counted from the other end: P10 of a speed is what P90 is of a time.

/// A percentile counted from the other end, without the dust of the subtraction.
pub fn other_end(p: f64) -> f64 {
    without_dust(100.0 - p)
}

/// A value with nine decimal places: what a subtraction of decimal numbers leaves behind them is gone.
pub(crate) fn without_dust(value: f64) -> f64 {
    const DIGITS: f64 = 1e9;
    (value * DIGITS).round() / DIGITS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_other_end_has_no_dust() {
        assert_eq!([50.0, 99.0, 99.9, 99.99].map(other_end), [50.0, 1.0, 0.1, 0.01]);
    }
}
