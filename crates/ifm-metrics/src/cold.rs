//! Loads that are worse than heavier ones: something other than the load slowed them, mostly that
//! something was still cold.
//!
//! The check of a run, the rule of the audit, the finding and the curves of reports ask here. Not here:
//! which times they compare, and what they say.

use ifm_core::order::Order as _;

/// A time that exceeds that of the next heavier load by more than this factor has another cause than
/// the load.
const BREAK: f64 = 2.0;

/// Whether a time is too long for its load, given that of a heavier one.
pub fn is_break(lighter: f64, heavier: f64) -> bool {
    heavier > 0.0 && lighter > BREAK * heavier
}

/// A time that was measured at a load.
#[derive(Debug, Clone, Copy)]
pub struct At<T> {
    pub load: f64,
    pub time: f64,
    /// Of what.
    pub of: T,
}

/// Measurements at loads that can be ordered, each with the next heavier load that was measured; of
/// repeats of that the slowest.
pub fn neighbors<T: Copy>(measured: &[At<T>]) -> Vec<(At<T>, At<T>)> {
    let mut by_load = measured.to_vec();
    by_load.order_by(|a, b| a.load.total_cmp(&b.load));
    let next = |lighter: &At<T>| {
        let load = by_load.iter().map(|at| at.load).find(|load| *load > lighter.load)?;
        let heavier = by_load.iter().filter(|at| at.load == load);
        let slowest = heavier.max_by(|a, b| a.time.total_cmp(&b.time))?;
        Some((*lighter, *slowest))
    };
    by_load.iter().filter_map(next).collect()
}

/// The neighbors of which the lighter one is too slow.
pub fn breaks<T: Copy>(measured: &[At<T>]) -> Vec<(At<T>, At<T>)> {
    let mut pairs = neighbors(measured);
    pairs.retain(|(lighter, heavier)| is_break(lighter.time, heavier.time));
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(times: &[(f64, f64)]) -> Vec<(usize, usize)> {
        let at = |(of, (load, time)): (usize, &(f64, f64))| At { load: *load, time: *time, of };
        let measured: Vec<At<usize>> = times.iter().enumerate().map(at).collect();
        breaks(&measured).iter().map(|(lighter, heavier)| (lighter.of, heavier.of)).collect()
    }

    #[test]
    fn only_more_than_twice_the_next_heavier_load_is_a_break() {
        assert_eq!(found(&[(1.0, 200.0), (2.0, 100.0), (4.0, 400.0)]), []);
        assert_eq!(found(&[(4.0, 400.0), (1.0, 201.0), (2.0, 100.0)]), [(1, 2)]);
        assert_eq!(found(&[(1.0, 201.0), (2.0, 0.0)]), [], "a time of 0 says nothing");
        assert_eq!(found(&[(1.0, 201.0)]), []);
    }

    #[test]
    fn every_repeat_is_held_against_the_slowest_of_the_heavier_load() {
        let times = [(1.0, 300.0), (1.0, 100.0), (2.0, 110.0), (2.0, 120.0)];
        assert_eq!(found(&times), [(0, 3)]);
        assert_eq!(found(&[(1.0, 300.0), (2.0, 110.0), (2.0, 160.0)]), []);
    }
}
