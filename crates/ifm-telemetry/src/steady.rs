//! Whether a temperature has become steady: a pure function of readings.
//!
//! A chip that warms up changes its power and, at a limit, its clock. Not here: reading and waiting.

/// When a temperature counts as steady.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SteadyRule {
    /// Readings of this many last seconds count.
    pub window_s: f64,
    /// Steepest slope that is steady, degrees per minute, up or down.
    pub slope_max: f64,
    /// Longest wait, seconds.
    pub limit_s: f64,
}

impl Default for SteadyRule {
    /// A window in which a change of one degree, the step of most sensors, is below the slope.
    fn default() -> SteadyRule {
        SteadyRule { window_s: 30.0, slope_max: 2.0, limit_s: 300.0 }
    }
}

/// Result of a check.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Steadiness {
    /// Steady.
    Steady,
    /// Not yet.
    Waiting,
    /// The time is over and it is not: the slope, degrees per minute, where there are readings enough.
    GaveUp(Option<f64>),
}

/// Readings within a window below which a slope says nothing.
const READINGS_MIN: usize = 3;
/// The share of the window that readings have to span.
const SPAN_MIN: f64 = 0.8;

/// State of the readings, pairs of seconds since the wait began and degrees Celsius, rising in
/// time.
pub fn steadiness(readings: &[(f64, f64)], now_s: f64, rule: &SteadyRule) -> Steadiness {
    let slope = slope(readings, now_s - rule.window_s, rule.window_s * SPAN_MIN);
    match slope {
        Some(slope) if slope.abs() <= rule.slope_max => Steadiness::Steady,
        _ if now_s >= rule.limit_s => Steadiness::GaveUp(slope),
        _ => Steadiness::Waiting,
    }
}

/// The slope of the line of least squares through the readings from a time on, degrees per minute;
/// absent where they are few or span less than `span_s`.
fn slope(readings: &[(f64, f64)], from_s: f64, span_s: f64) -> Option<f64> {
    let within = readings.get(readings.partition_point(|(at, _)| *at < from_s)..)?;
    let (first, last) = (within.first()?, within.last()?);
    if within.len() < READINGS_MIN || last.0 - first.0 < span_s {
        return None;
    }
    let n = within.len() as f64;
    let mean_at = within.iter().map(|(at, _)| at).sum::<f64>() / n;
    let mean_c = within.iter().map(|(_, degrees)| degrees).sum::<f64>() / n;
    let square: f64 = within.iter().map(|(at, _)| (at - mean_at).powi(2)).sum();
    let product: f64 = within.iter().map(|(at, c)| (at - mean_at) * (c - mean_c)).sum();
    (square > 0.0).then(|| product / square * 60.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULE: SteadyRule = SteadyRule { window_s: 30.0, slope_max: 2.0, limit_s: 120.0 };

    /// One reading a second of a curve, in whole degrees as a sensor reports it.
    fn readings(until_s: u32, curve: impl Fn(f64) -> f64) -> Vec<(f64, f64)> {
        (0..=until_s).map(|at| (f64::from(at), curve(f64::from(at)).round())).collect()
    }

    /// The second at which it is steady, or at which the wait ends.
    fn end(curve: impl Fn(f64) -> f64) -> (u32, Steadiness) {
        let all = readings(200, curve);
        let states = (0..=200_u32).map(|at| {
            let seen = &all[..=at as usize];
            (at, steadiness(seen, f64::from(at), &RULE))
        });
        states.into_iter().find(|(_, state)| *state != Steadiness::Waiting).expect("an end")
    }

    #[test]
    fn a_flat_curve_is_steady_as_soon_as_the_window_is_filled() {
        assert_eq!(end(|_| 60.0), (24, Steadiness::Steady));
    }

    #[test]
    fn a_chip_that_warms_up_is_waited_for() {
        // 40 to 70 degrees with a time constant of 20 s: 2 degrees a minute at 75 s.
        let (at, state) = end(|at| 70.0 - 30.0 * (-at / 20.0).exp());
        assert_eq!(state, Steadiness::Steady);
        assert!((70..=110).contains(&at), "{at}");
        // Cooling down is no steadier.
        let (back, state) = end(|at| 40.0 + 30.0 * (-at / 20.0).exp());
        assert_eq!(state, Steadiness::Steady);
        assert!(back.abs_diff(at) <= 2, "{back}");
    }

    #[test]
    fn a_wait_has_an_end_with_its_slope() {
        let (at, state) = end(|at| 40.0 + at / 10.0);
        let Steadiness::GaveUp(Some(slope)) = state else { panic!("{state:?}") };
        assert_eq!(at, 120);
        assert!((slope - 6.0).abs() < 0.3, "{slope}");
        assert_eq!(steadiness(&[], 120.0, &RULE), Steadiness::GaveUp(None));
        assert_eq!(steadiness(&[(0.0, 60.0)], 10.0, &RULE), Steadiness::Waiting);
    }
}
