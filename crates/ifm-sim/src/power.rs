//! Speed under a limit of the power that a device may take.
//!
//! `speed(limit) = most * min(1, sqrt((limit - idle) / (enough - idle)))`: below the limit that is
//! enough, what is left above the idle power goes into the clock, and voltage falls with it.
//!
//! Not here: setting a limit, or measuring under one.

use serde::{Deserialize, Serialize};

/// Limits of power, and the speed that was measured under them.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Limited {
    /// The limit, watts.
    pub limit_w: f64,
    /// The speed, in any unit.
    pub speed: f64,
}

/// A law of speed over power.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct PowerLaw {
    /// Power at which nothing would be computed, watts.
    pub idle_w: f64,
    /// Power from which more makes nothing faster, watts.
    pub enough_w: f64,
    /// Speed from there on.
    pub most: f64,
}

/// Steps of the search for each constant.
const STEPS: u32 = 240;
/// Rounds, each of which looks closer.
const ROUNDS: u32 = 5;

impl PowerLaw {
    /// The speed under a limit.
    pub fn speed(&self, limit_w: f64) -> f64 {
        let share = (limit_w - self.idle_w) / (self.enough_w - self.idle_w);
        self.most * share.clamp(0.0, 1.0).sqrt()
    }

    /// The law with the least squares of relative errors; absent with fewer than three limits.
    ///
    /// The search is by ever finer grids over the two powers, since the law has a kink; the speed
    /// follows from them in closed form.
    pub fn fit(rows: &[Limited]) -> Option<PowerLaw> {
        let rows: Vec<Limited> =
            rows.iter().filter(|row| row.limit_w > 0.0 && row.speed > 0.0).copied().collect();
        let mut limits: Vec<f64> = rows.iter().map(|row| row.limit_w).collect();
        limits.sort_unstable_by(f64::total_cmp);
        limits.dedup();
        let (&least, &largest) = (limits.first()?, limits.last()?);
        if limits.len() < 3 {
            return None;
        }
        let mut idle = (0.0, least);
        let mut enough = (least, largest * 1.5);
        let mut best: Option<(f64, PowerLaw)> = None;
        for _ in 0..ROUNDS {
            let along = |(low, high): (f64, f64), step: u32| {
                low + (high - low) * f64::from(step) / f64::from(STEPS)
            };
            for (one, other) in
                (0..STEPS).flat_map(|one| (0..=STEPS).map(move |other| (one, other)))
            {
                let (idle_w, enough_w) = (along(idle, one), along(enough, other));
                if idle_w >= least || enough_w <= idle_w {
                    continue;
                }
                let law = PowerLaw { idle_w, enough_w, most: 1.0 }.scaled(&rows);
                let errors =
                    rows.iter().map(|row| (law.speed(row.limit_w) / row.speed - 1.0).powi(2));
                let sum: f64 = errors.sum();
                if best.is_none_or(|(least, _)| sum < least) {
                    best = Some((sum, law));
                }
            }
            let (_, law) = best?;
            let near = |around: f64, (low, high): (f64, f64)| {
                let reach = (high - low) / 16.0;
                ((around - reach).max(0.0), around + reach)
            };
            (idle, enough) = (near(law.idle_w, idle), near(law.enough_w, enough));
        }
        best.map(|(_, law)| law)
    }

    /// The same with the speed that makes the relative errors least.
    fn scaled(self, rows: &[Limited]) -> PowerLaw {
        let shares = || rows.iter().map(|row| self.speed(row.limit_w) / row.speed);
        let (sum, squares): (f64, f64) =
            (shares().sum(), shares().map(|share| share * share).sum());
        PowerLaw { most: self.most * sum / squares.max(f64::MIN_POSITIVE), ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_made_up_law_is_found_again() {
        let law = PowerLaw { idle_w: 90.0, enough_w: 330.0, most: 279.0 };
        let rows: Vec<Limited> = [200.0, 250.0, 300.0, 350.0, 500.0]
            .map(|limit_w| Limited { limit_w, speed: law.speed(limit_w) })
            .to_vec();
        let found = PowerLaw::fit(&rows).expect("five limits");
        for (limit_w, speed) in [(150.0, 139.5), (330.0, 279.0), (600.0, 279.0)] {
            assert!((found.speed(limit_w) / speed - 1.0).abs() < 5e-3, "{found:?} {limit_w}");
        }
        assert!(PowerLaw::fit(&rows[..2]).is_none());
        assert_eq!(law.speed(50.0), 0.0);
    }
}
