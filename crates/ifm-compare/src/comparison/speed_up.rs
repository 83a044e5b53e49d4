//! What speculative decoding brought: time per output token without it over that with it, at the
//! same load.
//!
//! Only if exactly one of the two sides drafts, and they are equal in everything that makes their
//! numbers answer one question. One run has no speed-up. Not here: whether a side drafts, see
//! [`speculation`](ifm_metrics::speculation).

use super::condition::Condition;
use super::difference::{Difference, DifferenceKind};
use super::pair::Row;
use super::{Measure, Metric};
use ifm_metrics::stat::Estimate;
use ifm_results::fact::{DRAFTS, DRAFTS_OFF, DRAFTS_ON};

/// A speed-up at one load.
#[derive(Debug, Clone, PartialEq)]
pub struct SpeedUp {
    /// The requested condition.
    pub at: Condition,
    /// The time that it is a ratio of.
    pub measure: Measure,
    /// Without over with, and its interval; above 1 speculative decoding is faster.
    pub ratio: Estimate,
}

/// The speed-ups of a pair, by load; empty if it does not compare speculative decoding.
pub(super) fn speed_ups(differences: &[Difference], rows: &[Row]) -> Vec<SpeedUp> {
    if differences.iter().any(|found| found.kind == DifferenceKind::Unlike) {
        return Vec::new();
    }
    let Some(of) = differences.iter().find(|found| found.what == DRAFTS) else {
        return Vec::new();
    };
    // A row's change is the second side over the first.
    let is_second = match (of.a.as_deref(), of.b.as_deref()) {
        (Some(DRAFTS_OFF), Some(DRAFTS_ON)) => true,
        (Some(DRAFTS_ON), Some(DRAFTS_OFF)) => false,
        _ => return Vec::new(),
    };
    let taken = |metric| rows.iter().filter(move |row| row.measure.metric == metric);
    // An event may hold several tokens, so that gaps are second best.
    let times: Vec<&Row> = taken(Metric::Tpot).chain(taken(Metric::Itl)).collect();
    let mut found: Vec<SpeedUp> = Vec::new();
    for row in times.into_iter().filter(|row| !row.is_interpolated()) {
        let Some(change) = row.change else { continue };
        if found.iter().any(|known| known.at.is_same(&row.at)) {
            continue;
        }
        let ratio = if is_second { change.inverse() } else { change };
        if [ratio.value, ratio.low, ratio.high].iter().all(|value| value.is_finite()) {
            found.push(SpeedUp { at: row.at.clone(), measure: row.measure, ratio });
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use crate::comparison::{Member, Metric, Settings, Side, compare};
    use ifm_core::RunData;
    use ifm_core::series::Signal as Q;
    use ifm_metrics::testing::{NoisyLoop, noisy_run, telemetry};

    /// Two levels whose gaps are `itl_ms` on average; with drafts where `drafts`.
    fn measured(itl_ms: f64, seed: u64, drafts: bool) -> RunData {
        let level = |users| NoisyLoop {
            users,
            rounds: 40,
            ttft_ms: 100.0,
            itl_ms,
            tokens: 21,
            spread: 0.05,
            memory: 0.0,
            seed,
        };
        let mut run = noisy_run(&[level(1), level(4)]);
        let all = [
            (Q::ServerRequests, 5.0),
            (Q::ServerDrafts, if drafts { 40.0 } else { 0.0 }),
            (Q::ServerDraftTokens, if drafts { 80.0 } else { 0.0 }),
            (Q::ServerAcceptedTokens, if drafts { 40.0 } else { 0.0 }),
        ];
        run.series = all
            .iter()
            .map(|(quantity, by)| {
                telemetry(*quantity, "vLLM /metrics", (0.0, 3_600.0), &|at_s| by * at_s)
            })
            .collect();
        run.requests.iter_mut().for_each(|record| record.start_ns += 1);
        run
    }

    fn side(label: &str, run: &RunData) -> Side {
        let settings = Settings::default();
        let member = Member::of(run, &settings.measures, &settings.slo);
        Side { label: label.to_owned(), members: vec![member] }
    }

    #[test]
    fn a_speed_up_is_without_over_with_whichever_side_comes_first() {
        let plain = side("plain", &measured(20.0, 1, false));
        let drafting = side("drafting", &measured(10.0, 2, true));
        for (a, b) in [(&plain, &drafting), (&drafting, &plain)] {
            let found = compare(a, std::slice::from_ref(b), &Settings::default());
            let pair = &found.pairs[0];
            assert_eq!(pair.speed_ups.len(), 2);
            for one in &pair.speed_ups {
                let ratio = one.ratio;
                assert_eq!(one.measure.metric, Metric::Tpot);
                assert!((1.8..2.2).contains(&ratio.value), "{ratio:?}");
                assert!(ratio.low < ratio.value && ratio.value < ratio.high, "{ratio:?}");
            }
            let drafts = pair.differences.iter().find(|one| one.what == "speculative decoding");
            assert_ne!(drafts.expect("told").a, drafts.expect("told").b);
            let has = |metric| pair.rows.iter().any(|row| row.measure.metric == metric);
            assert!(!has(Metric::AcceptanceLength), "one side has none");
        }
    }

    #[test]
    fn two_that_draft_have_lengths_and_no_speed_up_and_one_that_is_unlike_neither() {
        let (one, two) = (measured(20.0, 1, true), measured(10.0, 2, true));
        let found = compare(&side("a", &one), &[side("b", &two)], &Settings::default());
        assert!(found.pairs[0].speed_ups.is_empty());
        let is_length =
            |row: &&crate::comparison::Row| row.measure.metric == Metric::AcceptanceLength;
        let row = found.pairs[0].rows.iter().find(is_length).expect("both have it");
        assert_eq!(
            (row.a.map(|cell| cell.value), row.b.map(|cell| cell.value)),
            (Some(2.0), Some(2.0))
        );
        let mut other = measured(20.0, 1, false);
        other.manifest.spec.workload.kind = "sharegpt".to_owned();
        let found = compare(&side("a", &other), &[side("b", &two)], &Settings::default());
        assert!(found.pairs[0].speed_ups.is_empty());
    }
}
