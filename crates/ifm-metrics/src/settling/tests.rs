//! Synthetic levels with random values, ended by the judge.

use super::*;
use crate::slo;
use crate::testing::{NoisyLoop, failed, request, run};

/// 4 users, answers of 16 tokens, TTFT 100 ms and gaps of 10 ms in the median.
const LEVEL: NoisyLoop = NoisyLoop {
    users: 4,
    rounds: 500,
    ttft_ms: 100.0,
    itl_ms: 10.0,
    tokens: 16,
    spread: 0.2,
    memory: 0.0,
    seed: 1,
};

fn early_end(settled_share: Option<f64>, at_broken_target: bool) -> EarlyEnd {
    EarlyEnd { settled_share, at_broken_target, requests_min: 50, seconds_min: 1.0 }
}

fn judge(users: u32, early_end: EarlyEnd, target: &str) -> Settling {
    let mut load = run(&[users], Vec::new()).manifest.spec.levels[0].clone();
    load.early_end = Some(early_end);
    Settling::new(&load, &slo::parse(target).expect("a target")).expect("a judge")
}

/// What ends a level whose requests finish in the order of their ends, and after how many.
fn end(judge: &mut Settling, mut records: Vec<RequestRecord>) -> Option<(LevelEnd, usize)> {
    records.order_by_key(|record| record.end_ns);
    records.iter().enumerate().find_map(|(index, record)| Some((judge.add(record)?, index + 1)))
}

const FAR: &str = "ttft:p99<9s";

#[test]
fn the_narrower_the_interval_the_more_requests_it_takes() {
    let needed = |share: f64| {
        let mut judge = judge(4, early_end(Some(share), false), FAR);
        end(&mut judge, LEVEL.requests((0, 0), 0.0))
    };
    let (wide, narrow) = (needed(0.1).expect("settles"), needed(0.02).expect("settles"));
    assert_eq!((wide.0, narrow.0), (LevelEnd::Settled, LevelEnd::Settled));
    assert!(wide.1 >= 50 && 4 * wide.1 < narrow.1, "{wide:?} {narrow:?}");
    assert_eq!(needed(0.0001), None, "2 000 requests cannot tell that");
}

#[test]
fn looks_are_at_sizes_that_grow_by_a_quarter() {
    let mut judge = judge(4, early_end(Some(0.0), false), FAR);
    let mut sizes = Vec::new();
    for (index, record) in LEVEL.requests((0, 0), 0.0).iter().enumerate().take(200) {
        let before = judge.looks;
        assert_eq!(judge.add(record), None);
        if judge.looks > before {
            sizes.push(index + 1);
        }
    }
    assert_eq!(sizes, [50, 62, 77, 96, 120, 150, 187]);
}

#[test]
fn nothing_ends_before_its_time() {
    let late = EarlyEnd { seconds_min: 1e4, ..early_end(Some(0.5), true) };
    let mut judge = judge(4, late, "ttft:p99<1ms");
    assert_eq!(end(&mut judge, LEVEL.requests((0, 0), 0.0)), None);
}

#[test]
fn requests_that_depend_on_each_other_take_longer() {
    let needed = |memory: f64| -> usize {
        (0..8)
            .filter_map(|seed| {
                let level = NoisyLoop { memory, seed, ..LEVEL };
                let mut judge = judge(4, early_end(Some(0.03), false), FAR);
                Some(end(&mut judge, level.requests((0, 0), 0.0))?.1)
            })
            .sum()
    };
    assert!(needed(0.8) > 2 * needed(0.0));
}

/// Of 400 levels, how many had the truth in the interval at which they were ended: TTFT (the
/// median is 100 ms by construction) and the mean gap (the truth by a million of them).
#[test]
fn the_interval_at_the_end_holds_the_truth_nearly_as_often_as_it_says() {
    let (mut ended, mut held) = (0, 0);
    for seed in 0..400 {
        let level = NoisyLoop { seed, memory: 0.4, ..LEVEL };
        let mut records = level.requests((0, 0), 0.0);
        records.order_by_key(|record| record.end_ns);
        let mut judge = judge(4, early_end(Some(0.05), false), FAR);
        let Some((_, n)) = end(&mut judge, records.clone()) else { continue };
        ended += 1;
        let mut ttft: Vec<f64> = records[..n]
            .iter()
            .filter_map(|record| RequestMetrics::derive(record).ttft_ns)
            .map(|value| value as f64)
            .collect();
        ttft.sort_unstable_by(f64::total_cmp);
        let median = crate::stat::percentile_of_sorted(&ttft, 50.0).expect("values");
        held += u32::from((median / 100e6 - 1.0).abs() <= 0.05);
    }
    assert!(ended >= 390, "{ended}");
    // Within ±5 %, which is at least the half width at which they ended.
    assert!(f64::from(held) / f64::from(ended) >= 0.92, "{held} of {ended}");
}

#[test]
fn a_target_that_is_missed_is_found_out_soon() {
    let mut broken = judge(4, early_end(None, true), "ttft:p99<1s,itl:p50<8ms");
    assert_eq!(
        end(&mut broken, LEVEL.requests((0, 0), 0.0)),
        Some((LevelEnd::TargetBroken, 50)),
        "half of the gaps may be above 8 ms, and most are"
    );
    let mut kept = judge(4, early_end(None, true), "ttft:p99<1s,itl:p50<20ms");
    assert_eq!(end(&mut kept, LEVEL.requests((0, 0), 0.0)), None);
}

#[test]
fn a_level_exactly_at_its_limit_is_seldom_called_broken() {
    // The median is 100 ms by construction. All looks and both terms together: 2.5 %, and what
    // dependence adds that so few requests cannot show.
    let broken = (0..400)
        .filter(|seed| {
            let level = NoisyLoop { seed: *seed, memory: 0.4, ..LEVEL };
            let mut judge = judge(4, early_end(None, true), "ttft:p50<100ms");
            end(&mut judge, level.requests((0, 0), 0.0)).is_some()
        })
        .count();
    assert!(broken <= 20, "{broken} of 400");
}

#[test]
fn many_failures_end_a_level_and_few_do_not() {
    let with_failures = |every: u32| {
        let mut records = LEVEL.requests((0, 0), 0.0);
        for record in records.iter_mut().filter(|record| record.seq % every == every - 1) {
            *record = failed(record.seq, 0, record.slot, record.start_ns as f64 / 1e6, 5.0);
        }
        end(&mut judge(4, early_end(None, true), FAR), records).map(|(end, _)| end)
    };
    assert_eq!(with_failures(8), Some(LevelEnd::TooManyErrors));
    assert_eq!(with_failures(150), None, "0.7 % is less than 1 %");
}

#[test]
fn answers_without_gaps_settle_by_their_first_token_and_whole_ones_by_their_end() {
    let one_token: Vec<_> =
        (0..60).map(|seq| request(seq, 0, 0, f64::from(seq) * 60.0, &[50.0])).collect();
    let settled = Some((LevelEnd::Settled, 50));
    assert_eq!(end(&mut judge(1, early_end(Some(0.05), false), FAR), one_token.clone()), settled);
    let whole = one_token.into_iter().map(|mut record| {
        record.streamed = false;
        record.events = ifm_core::TokenEvents::default();
        record
    });
    let mut judge = judge(1, early_end(Some(0.05), false), FAR);
    assert_eq!(end(&mut judge, whole.collect()), settled);
}
