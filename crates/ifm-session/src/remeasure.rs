//! Remeasures levels that were worse than a larger load: mostly the first one, when something was
//! cold.
//!
//! Each is remeasured once, after all other levels, and the second measurement replaces the first.
//! Not here: when a level is worse (`ifm-metrics`).

use ifm_core::LevelInfo;
use ifm_core::spec::LoadSpec;
use ifm_metrics::LevelSummary;
use ifm_metrics::warning::cold_levels;

/// The levels to remeasure.
#[derive(Debug, Default)]
pub struct Remeasure {
    /// Whether to remeasure any.
    is_wanted: bool,
    /// Levels, and the original level that each replaces, once known.
    places: Option<Vec<(usize, usize)>>,
}

impl Remeasure {
    /// Levels that were worse than a larger load, if remeasuring is enabled.
    pub fn new(is_wanted: bool) -> Remeasure {
        Remeasure { is_wanted, places: None }
    }

    /// Whether the next levels are remeasured ones.
    pub fn has_begun(&self) -> bool {
        self.places.is_some()
    }

    /// The levels to append after `levels`; none the second time.
    pub fn after(&mut self, levels: &[LoadSpec], measured: &[LevelSummary]) -> Vec<LoadSpec> {
        if !self.is_wanted || self.has_begun() {
            return Vec::new();
        }
        let cold: Vec<usize> = cold_levels(measured).into_iter().map(usize::from).collect();
        let loads = cold.iter().filter_map(|place| levels.get(*place).cloned()).collect();
        self.places = Some((levels.len()..).zip(cold).collect());
        loads
    }

    /// Records that a level ran to its end, on the original level that it replaces.
    pub fn ended(&self, level: usize, infos: &mut [LevelInfo]) {
        let places = self.places.iter().flatten();
        for (_, first) in places.filter(|(second, _)| *second == level) {
            let first = infos.iter_mut().find(|info| usize::from(info.level) == *first);
            first.into_iter().for_each(|info| info.measured_again = Some(level as u16));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ifm_metrics::testing::{closed_loop, run};

    #[test]
    fn a_level_that_was_cold_follows_once_and_counts_in_place_of_the_first() {
        // One user waited longer than two: that level was cold.
        let mut records = closed_loop((0, 0), (1, 30), 0.0, (90.0, 1.0, 4));
        records.extend(closed_loop((30, 1), (2, 30), 10_000.0, (20.0, 1.0, 4)));
        let run = run(&[1, 2], records);
        let levels = run.manifest.spec.levels.clone();
        let measured = ifm_metrics::summarize(&run).levels;
        assert_eq!(Remeasure::new(false).after(&levels, &measured), []);
        let mut again = Remeasure::new(true);
        assert_eq!(again.after(&levels, &measured), levels[..1]);
        let mut infos = run.manifest.levels.clone();
        again.ended(1, &mut infos);
        assert!(infos.iter().all(|info| info.measured_again.is_none()), "it is another level");
        again.ended(2, &mut infos);
        assert_eq!((infos[0].measured_again, infos[1].measured_again), (Some(2), None));
        assert_eq!(again.after(&levels, &measured), [], "once");
    }
}
