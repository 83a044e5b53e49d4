//! How often levels are measured, and in which order.

use crate::job::levels::LevelRequest;
use clap::{Args, ValueEnum};
use ifm_workload::Rng;

/// Order of repeated levels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Order {
    /// All repeats of a level, then the next level
    Blocked,
    /// Levels forward, then backward, and so on; drift affects all equally
    Interleaved,
    /// Random order, from the seed
    Shuffled,
}

/// Number and order of repeats.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Load")]
pub struct RepeatArgs {
    /// Number of measurements per level
    #[arg(long, default_value_t = 1, alias = "num-runs", value_parser = clap::value_parser!(u32).range(1..=100), value_name = "N")]
    repeat: u32,

    /// Order of repeated levels
    #[arg(long, value_enum, default_value = "interleaved", value_name = "ORDER")]
    order: Order,

    /// Remeasure levels that were worse than the next larger load
    ///
    /// Such a level was affected by something cold. It is measured again after all others, and the
    /// second measurement replaces the first
    #[arg(long)]
    auto_retry: bool,
}

impl RepeatArgs {
    /// Whether levels are measured more than once.
    pub fn repeats(&self) -> bool {
        self.repeat > 1
    }

    /// Whether to remeasure levels that were worse than a larger load.
    pub fn measures_again(&self) -> bool {
        self.auto_retry
    }

    /// The levels with their repeats.
    pub fn spread(&self, levels: &[LevelRequest], seed: u64) -> Vec<LevelRequest> {
        let places = places(levels.len(), self.repeat as usize, self.order, seed);
        places.into_iter().filter_map(|place| levels.get(place).cloned()).collect()
    }
}

/// Which level runs when.
fn places(levels: usize, repeats: usize, order: Order, seed: u64) -> Vec<usize> {
    match order {
        Order::Blocked => {
            (0..levels).flat_map(|level| std::iter::repeat_n(level, repeats)).collect()
        }
        Order::Interleaved => forth_and_back(levels, repeats),
        Order::Shuffled => {
            let mut all: Vec<usize> = (0..repeats).flat_map(|_| 0..levels).collect();
            Rng::new(seed).stream("level_order").item(0).shuffle(&mut all);
            all
        }
    }
}

/// Indices forward, then backward, and so on: 0 1 1 0 0 1 1 0.
pub fn forth_and_back(places: usize, repeats: usize) -> Vec<usize> {
    let round = |round| {
        let forth = round % 2 == 0;
        (0..places).map(move |place| if forth { place } else { places - 1 - place })
    };
    (0..repeats).flat_map(round).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_level_runs_as_often_as_asked() {
        assert_eq!(places(2, 3, Order::Blocked, 0), [0, 0, 0, 1, 1, 1]);
        assert_eq!(places(2, 2, Order::Interleaved, 0), [0, 1, 1, 0]);
        assert_eq!(places(3, 3, Order::Interleaved, 0), [0, 1, 2, 2, 1, 0, 0, 1, 2]);
        let mut shuffled = places(4, 5, Order::Shuffled, 1);
        assert_ne!(shuffled, places(4, 5, Order::Shuffled, 2));
        assert_eq!(shuffled, places(4, 5, Order::Shuffled, 1));
        shuffled.sort_unstable();
        assert_eq!(shuffled, places(4, 5, Order::Blocked, 0));
    }
}
