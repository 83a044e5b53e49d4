//! Whether the server was as fast when a load was measured again as it was the first time.
//!
//! A look's interval does not include what changes between looks: a server that other work slows
//! down gives sure verdicts that belong to different servers. Not here: which loads are measured
//! again, and when.

use crate::request::RequestMetrics;
use crate::settling::median_with_half_width;
use ifm_core::order::Order as _;
use ifm_core::{Phase, RequestRecord};

/// A smaller change is not reported: it moves the answer by less than the usual precision of a
/// search.
const CHANGE_MIN: f64 = 0.05;

/// What the speed of a server is read from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pace {
    /// Time per output token after the first.
    Tpot,
    /// Time of a whole answer, where answers have no second token.
    E2e,
}

/// Two looks at the same load.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Change {
    /// What the medians are of.
    pub pace: Pace,
    /// Median of the first look, nanoseconds.
    pub first_ns: f64,
    /// Median of the second look, nanoseconds.
    pub second_ns: f64,
    /// `second / first - 1`.
    pub share: f64,
    /// Half the width of its 95 % interval, of requests that depend on each other.
    pub half_width: f64,
}

impl Change {
    /// The change of the median time per output token; without it, and in a closed loop, where no
    /// queue grows, that of the median answer. Absent where a look has too few of either.
    pub fn between(
        first: &[RequestRecord],
        second: &[RequestRecord],
        is_open: bool,
    ) -> Option<Change> {
        let paces = [Pace::Tpot, Pace::E2e];
        let paces = paces.into_iter().filter(|pace| !(is_open && *pace == Pace::E2e));
        let known = |pace| Some((pace, median(first, pace)?, median(second, pace)?));
        let (pace, (first_ns, first_width), (second_ns, second_width)) =
            paces.map(known).find_map(|known| known)?;
        let ratio = second_ns / first_ns;
        let half_width = ratio * first_width.hypot(second_width);
        Some(Change { pace, first_ns, second_ns, share: ratio - 1.0, half_width })
    }

    /// Whether the speed surely changed by more than nothing, and by more than 5 % as measured.
    pub fn is_shown(&self) -> bool {
        self.share.abs() >= CHANGE_MIN && self.share.abs() > self.half_width
    }
}

/// Median of a look, and half the width of its interval as a share of it.
fn median(look: &[RequestRecord], pace: Pace) -> Option<(f64, f64)> {
    let is_judged =
        |record: &&RequestRecord| record.phase == Phase::Measure && record.outcome.is_ok();
    let mut judged: Vec<&RequestRecord> = look.iter().filter(is_judged).collect();
    judged.order_by_key(|record| (record.start_ns, record.seq));
    let value = |record: &&RequestRecord| {
        let metrics = RequestMetrics::derive(record);
        match pace {
            Pace::Tpot => metrics.tpot_ns.or(metrics.tpot_ns_estimated),
            Pace::E2e => metrics.e2e_ns.map(|e2e| e2e as f64),
        }
    };
    let values: Vec<f64> = judged.iter().filter_map(value).collect();
    median_with_half_width(&values).filter(|(median, _)| *median > 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{NoisyLoop, request};

    const LOOK: NoisyLoop = NoisyLoop {
        users: 4,
        rounds: 50,
        ttft_ms: 100.0,
        itl_ms: 10.0,
        tokens: 16,
        spread: 0.1,
        memory: 0.3,
        seed: 1,
    };

    #[test]
    fn a_slower_server_is_found_and_the_same_one_seldom() {
        let first = LOOK.requests((0, 0), 0.0);
        let slower = NoisyLoop { itl_ms: 13.0, seed: 2, ..LOOK }.requests((0, 0), 0.0);
        let change = Change::between(&first, &slower, true).unwrap();
        assert_eq!(change.pace, Pace::Tpot);
        assert!((change.share - 0.3).abs() < 0.1 && change.is_shown(), "{change:?}");
        let alarms = (0..100u64).filter(|seed| {
            let again = NoisyLoop { seed: 10 + seed, ..LOOK }.requests((0, 0), 0.0);
            Change::between(&first, &again, true).unwrap().is_shown()
        });
        assert!(alarms.count() <= 5);
    }

    #[test]
    fn compares_answers_of_one_token_by_their_duration_without_a_queue() {
        let look = |ms: f64| -> Vec<RequestRecord> {
            (0..20).map(|seq| request(seq, 0, 0, f64::from(seq) * 100.0, &[ms])).collect()
        };
        let change = Change::between(&look(10.0), &look(12.0), false).unwrap();
        assert_eq!((change.pace, change.first_ns, change.second_ns), (Pace::E2e, 10e6, 12e6));
        assert!((change.share - 0.2).abs() < 1e-9 && change.is_shown());
        let less = Change::between(&look(10.0), &look(10.4), false).unwrap();
        assert!(!less.is_shown(), "4 % are less than what matters");
        assert_eq!(Change::between(&look(10.0), &look(12.0), true), None);
        assert_eq!(Change::between(&look(10.0)[..7], &look(12.0), false), None);
    }
}
