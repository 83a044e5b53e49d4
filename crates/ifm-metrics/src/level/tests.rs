//! A run of five requests with results computed on paper.
//!
//! One level, two users asked for. Times in milliseconds from the run's origin:
//!
//! | seq | slot | start | tokens at            | end  | outcome   |
//! |-----|------|-------|----------------------|------|-----------|
//! | 0   | 0    | 0     | 100, 120, 160        | 160  | ok        |
//! | 1   | 1    | 0     | 110, 130, 150, 170   | 170  | ok        |
//! | 2   | 0    | 160   | 300                  | 300  | ok        |
//! | 3   | 1    | 170   | 270, 290             | 310  | truncated |
//! | 4   | 0    | 300   | none                 | 320  | 503       |

use super::*;
use crate::slo::VerdictState;
use crate::testing::{MS, failed, request, run};
use ifm_core::spec::{ArrivalLaw, ArrivalSpec, RateCurve, RateStretch};
use ifm_core::{CountSource, Counted, RunData, SentMedia};

fn five() -> RunData {
    let mut requests = vec![
        request(0, 0, 0, 0.0, &[100.0, 120.0, 160.0]),
        request(1, 0, 1, 0.0, &[110.0, 130.0, 150.0, 170.0]),
        request(2, 0, 0, 160.0, &[140.0]),
        request(3, 0, 1, 170.0, &[100.0, 120.0]),
        failed(4, 0, 0, 300.0, 20.0),
    ];
    requests[3].outcome = Outcome::Truncated;
    requests[3].output_tokens = Some(Counted { tokens: 2, from: CountSource::Events });
    requests[3].prompt_tokens = None;
    requests[3].end_ns = 310 * MS;
    run(&[2], requests)
}

fn level(run: &RunData) -> LevelSummary {
    let info = run.manifest.levels.first();
    summarize_level(&run.manifest.spec, 0, info, Seen::of(run))
}

fn near(got: f64, expect: f64) {
    assert!((got - expect).abs() <= 1e-9 * expect.abs().max(1.0), "{got} is not {expect}");
}

#[test]
fn counts() {
    let counts = level(&five()).counts;
    assert_eq!((counts.sent, counts.ok, counts.failed), (5, 3, 2));
    assert_eq!((counts.cancelled, counts.dropped), (0, 0));
    assert_eq!(
        counts.outcomes,
        [(Outcome::Ok, 3), (Outcome::Truncated, 1), (Outcome::HttpError, 1)]
    );
    assert_eq!(counts.statuses, [(200, 4), (503, 1)]);
    assert_eq!(counts.error_rate(), Some(0.4));
}

#[test]
fn latencies_are_over_the_three_complete_answers() {
    let latencies = level(&five()).latencies;
    let ttft = latencies.get(Metric::Ttft).expect("100, 110, 140");
    assert_eq!(ttft.n, 3);
    near(ttft.mean, 350e6 / 3.0);
    near(ttft.median().expect("three"), 110e6);
    near(ttft.percentile(90.0).expect("usual").value, 134e6);
    // Deviations -16.67, -6.67 and 23.33: squares 277.8 + 44.4 + 544.4 = 866.7, over 2.
    near(ttft.std.expect("three"), (2600.0f64 / 3.0 / 2.0).sqrt() * 1e6);
    let e2e = latencies.get(Metric::E2e).expect("160, 170, 140");
    near(e2e.median().expect("three"), 160e6);
    // 60 / 2 and 60 / 3; one token has none.
    let tpot = latencies.get(Metric::Tpot).expect("30 and 20");
    assert_eq!(tpot.n, 2);
    near(tpot.mean, 25e6);
    let speed = latencies.get(Metric::UserSpeed).expect("33.3 and 50");
    near(speed.mean, (1000.0 / 30.0 + 50.0) / 2.0);
    // 20, 40; 20, 20, 20.
    let gaps = latencies.get(Metric::Itl).expect("five");
    assert_eq!((gaps.n, gaps.min, gaps.max), (5, 20e6, 40e6));
    near(gaps.mean, 24e6);
    near(gaps.percentile(90.0).expect("usual").value, 32e6);
    assert!(!gaps.percentile(90.0).expect("usual").enough);
    assert_eq!(latencies.gap_label, GapLabel::InterToken);
    assert_eq!(latencies.several_token_event_share, Some(0.0));
    assert!(
        latencies.get(Metric::TtftDue).is_none() && latencies.get(Metric::ItlPerToken).is_none()
    );
}

#[test]
fn throughput_counts_what_arrived() {
    let level = level(&five());
    let whole = level.whole.expect("five requests");
    assert_eq!((whole.window.start_ns, whole.window.end_ns), (0, 320 * MS));
    // 3 + 4 + 1 tokens, and 2 on the truncated answer, in 0.32 s.
    near(whole.output_tokens, 10.0);
    near(whole.output_tokens_incomplete, 2.0);
    near(whole.output_tokens_estimated, 2.0);
    near(whole.output_tok_per_s, 31.25);
    near(whole.req_per_s, 3.0 / 0.32);
    // The prompt tokens of the truncated answer were not counted.
    assert_eq!((whole.prompt_tokens, whole.total_tok_per_s), (None, None));
    // Two in flight from 0 to 310 ms, one from there to 320 ms.
    let concurrency = whole.concurrency;
    near(concurrency.mean, (2.0 * 310.0 + 10.0) / 320.0);
    assert_eq!((concurrency.p50, concurrency.p95, concurrency.max), (2, 2, 2));
    assert!(level.steady.is_none());
    let reason = level.steady_absent_because.expect("310 ms are not three times 160");
    assert_eq!(
        reason,
        "2 requests were in flight for 310 ms altogether, less than 3 times the median request of \
         160 ms"
    );
}

#[test]
fn total_throughput_needs_every_prompt_counted() {
    let mut run = five();
    run.requests[3].prompt_tokens = Some(Counted { tokens: 60, from: CountSource::FinalUsage });
    let whole = level(&run).whole.expect("five requests");
    assert_eq!(whole.prompt_tokens, Some(360));
    near(whole.total_tok_per_s.expect("counted"), 370.0 / 0.32);
}

#[test]
fn tokens_and_their_counters() {
    let tokens = level(&five()).tokens;
    assert_eq!(tokens.output_total, Some(8));
    near(tokens.output_mean.expect("three"), 8.0 / 3.0);
    assert_eq!(tokens.output_from.provenance(), Provenance::Server);
    assert_eq!(tokens.prompt_mean, Some(100.0));
    assert_eq!(tokens.prompt_added, None);
    let added = |counted: [u32; 3]| {
        let mut run = five();
        for (record, tokens) in run.requests.iter_mut().zip(counted) {
            record.prompt_tokens = Some(Counted { tokens, from: CountSource::FinalUsage });
        }
        level(&run).tokens.prompt_added
    };
    assert_eq!(added([103, 103, 103]), Some(3));
    assert_eq!((added([103, 104, 103]), added([103, 100, 103])), (None, None));
    assert_eq!((added([97, 97, 97]), added([97, 103, 103])), (None, None));
    let of_text = |text: Option<u32>| {
        let mut run = five();
        for record in &mut run.requests {
            record.media = Some(SentMedia { images: 1, ..SentMedia::default() });
            record.prompt_tokens = Some(Counted { tokens: 356, from: CountSource::FinalUsage });
            record.text_tokens =
                text.map(|tokens| Counted { tokens, from: CountSource::FinalUsage });
        }
        level(&run).tokens.prompt_added
    };
    assert_eq!((of_text(Some(103)), of_text(None)), (Some(3), None), "an image is no template");
    assert_eq!((tokens.cached_total, tokens.cached_share), (Some(0), Some(0.0)));
    assert_eq!((tokens.events, tokens.reasoning_total), (8, None));
    assert_eq!(tokens.disagreement, None);
}

#[test]
fn goodput_asks_all_terms_of_the_same_request() {
    let mut run = five();
    run.manifest.spec.slo = slo::parse("ttft:p99<120ms,itl:p99<30ms").expect("a target");
    let level = level(&run);
    // 0 breaks the gap, 2 the first token; 1 holds both.
    let goodput = level.goodput.expect("streamed");
    assert_eq!((goodput.good, goodput.sent), (1, 5));
    assert_eq!(goodput.attainment(), Some(0.2));
    near(level.whole.and_then(|whole| whole.good_req_per_s).expect("a target"), 1.0 / 0.32);
}

#[test]
fn the_verdict_says_which_terms_fail() {
    let mut run = five();
    run.requests.truncate(3);
    run.manifest.spec.slo = slo::parse("ttft:p50<110ms,itl:p90<31ms").expect("a target");
    let verdict = level(&run).verdict;
    assert_eq!((verdict.state, verdict.too_many_errors), (VerdictState::Fail, false));
    let failing: Vec<&str> = verdict.failing().map(|term| term.term.metric.word()).collect();
    assert_eq!(failing, ["itl"]);
    assert!(!verdict.is_sure);
    run.manifest.spec.slo = slo::parse("ttft:p50<110ms").expect("a target");
    assert_eq!(level(&run).verdict.state, VerdictState::Pass);
    run.requests.iter_mut().for_each(|record| record.streamed = false);
    assert_eq!(level(&run).verdict.state, VerdictState::Unknown);
}

#[test]
fn a_verdict_is_sure_when_the_interval_is_on_one_side() {
    let requests = crate::testing::closed_loop((0, 0), (4, 250), 0.0, (100.0, 10.0, 3));
    let mut run = run(&[4], requests);
    let verdict = level(&run).verdict;
    assert_eq!((verdict.state, verdict.is_sure), (VerdictState::Pass, true));
    // Twelve of 996 above the limit: P99 is above, but its interval reaches below.
    for record in run.requests.iter_mut().skip(4).take(12) {
        record.events.at_ns[0] = record.start_ns + 600 * MS;
    }
    let verdict = level(&run).verdict;
    assert_eq!((verdict.state, verdict.is_sure), (VerdictState::Fail, false));
}

#[test]
fn the_steady_window_leaves_out_ramp_and_drain() {
    // Slot 0 sends 20 requests of 100 ms from 0; slot 1 starts at 300 ms and sends 12 of them.
    let mut requests = Vec::new();
    for index in 0..20u32 {
        requests.push(request(index, 0, 0, f64::from(index) * 100.0, &[50.0, 100.0]));
    }
    for index in 0..12u32 {
        let start = 300.0 + f64::from(index) * 100.0;
        requests.push(request(20 + index, 0, 1, start, &[50.0, 100.0]));
    }
    let steady = level(&run(&[2], requests)).steady.expect("1200 ms with two in flight");
    assert_eq!((steady.window.start_ns, steady.window.end_ns), (300 * MS, 1500 * MS));
    // Both slots end a request every 100 ms in (300, 1500].
    assert_eq!(steady.ok, 24);
    near(steady.req_per_s, 20.0);
    near(steady.output_tok_per_s, 40.0);
    near(steady.total_tok_per_s.expect("counted"), 40.0 + 2000.0);
    near(steady.concurrency.mean, 2.0);
    assert_eq!(steady.window.kind.word(), "steady");
}

#[test]
fn warm_up_and_dropped_requests_are_in_no_number() {
    let mut run = five();
    let before = level(&run);
    let mut warm = request(5, 0, 0, 0.0, &[1.0, 2.0]);
    warm.phase = Phase::Warmup;
    run.requests.push(warm);
    assert_eq!(level(&run), before);
    let mut dropped = failed(6, 0, 0, 0.0, 900.0);
    dropped.outcome = Outcome::Dropped;
    run.requests.push(dropped);
    let after = level(&run);
    assert_eq!((after.counts.sent, after.counts.dropped), (5, 1));
    assert_eq!((after.whole, after.latencies), (before.whole, before.latencies));
}

#[test]
fn several_tokens_in_an_event_change_the_name_of_the_gap() {
    let mut run = five();
    run.requests.truncate(2);
    for (record, tokens) in run.requests.iter_mut().zip([vec![1, 2, 1], vec![1, 1, 1, 4]]) {
        record.output_tokens =
            Some(Counted { tokens: tokens.iter().sum(), from: CountSource::ChunkUsage });
        record.first_event_tokens = Some(1);
        record.events.tokens = tokens;
    }
    let level = level(&run);
    let latencies = level.latencies;
    assert_eq!(latencies.gap_label, GapLabel::InterEvent);
    assert_eq!(latencies.several_token_event_share, Some(2.0 / 7.0));
    // 20 / 2, 40 / 1; 20, 20, 20 / 4.
    let per_token = latencies.get(Metric::ItlPerToken).expect("told");
    assert_eq!((per_token.n, per_token.min, per_token.max), (5, 5e6, 40e6));
    near(per_token.mean, 19e6);
    // 11 tokens by event time, regardless of the events.
    near(level.whole.expect("sent").output_tokens, 11.0);
    assert_eq!(level.tokens.disagreement.map(|both| (both.events, both.tokens)), Some((7, 11)));
}

#[test]
fn an_uncounted_end_of_text_token_does_not_change_the_name() {
    let mut run = five();
    for record in &mut run.requests {
        if let Some(counted) = &mut record.output_tokens {
            counted.tokens += 1;
        }
    }
    assert_eq!(level(&run).latencies.gap_label, GapLabel::InterToken);
}

#[test]
fn estimated_counts_give_only_estimated_speeds() {
    let mut run = five();
    for record in &mut run.requests {
        if let Some(counted) = &mut record.output_tokens {
            counted.from = CountSource::Events;
        }
    }
    let level = level(&run);
    assert!(
        level.latencies.get(Metric::Tpot).is_none()
            && level.latencies.get(Metric::UserSpeed).is_none()
    );
    near(level.latencies.estimated(Metric::Tpot).expect("estimates").mean, 25e6);
    assert!(level.user_tok_per_s().expect("an estimate").1);
    assert_eq!(level.tokens.output_from.provenance(), Provenance::Estimated);
}

#[test]
fn an_open_loop_counts_from_due_too() {
    let mut run = five();
    run.requests[0].start_ns = 5 * MS;
    let latencies = level(&run).latencies;
    near(latencies.get(Metric::TtftDue).expect("one was late").median().expect("three"), 110e6);
    near(latencies.get(Metric::Ttft).expect("three").min, 95e6);
}

/// Four users who move in step: six rounds of 100 ms, 8 tokens each. The window ends with the last
/// round, so a count of ends would hold 20 of 400 ms or 24 of 500, as its edge happens to fall.
#[test]
fn users_in_step_bring_no_wave_at_the_edge_of_the_window() {
    let stamps: Vec<f64> = (1..=8).map(|token| f64::from(token) * 12.5).collect();
    let mut requests = Vec::new();
    for index in 0..24u32 {
        let (round, slot) = (index / 4, index % 4);
        // The users are a little apart, as they are in life.
        let start_ms = f64::from(round) * 100.0 + f64::from(slot) * 2.0;
        requests.push(request(index, 0, slot, start_ms, &stamps));
    }
    let level = level(&run(&[4], requests));
    let steady = level.steady.expect("five rounds");
    assert!((steady.req_per_s - 40.0).abs() < 0.5, "{}", steady.req_per_s);
    assert!((steady.output_tok_per_s / 8.0 - steady.req_per_s).abs() < 1.0, "{steady:?}");
}

/// A level of an open loop whose rate is made of these stretches.
fn open_loop(
    law: ArrivalLaw,
    stretches: &[(f64, f64, f64)],
    requests: Vec<RequestRecord>,
) -> LevelSummary {
    let mut run = run(&[100], requests);
    let stretch = |(from, to, seconds): &(f64, f64, f64)| RateStretch {
        from_req_per_s: *from,
        to_req_per_s: *to,
        curve: RateCurve::Linear,
        seconds: Some(*seconds),
    };
    let stretches = stretches.iter().map(stretch).collect();
    run.manifest.spec.levels[0].arrivals = Some(ArrivalSpec { law, stretches, seed: 0 });
    level(&run)
}

/// 16 requests each second for 4 s, each answered in 88 ms with 8 tokens: 16 answers and 128 tokens
/// per second.
#[test]
fn bursts_are_counted_over_whole_periods() {
    let stamps: Vec<f64> = (1..=8).map(|token| f64::from(token) * 11.0).collect();
    let burst = |index: u32| request(index, 0, index, f64::from(index / 16) * 1000.0, &stamps);
    let requests = (0..64).map(burst).collect();
    let level = open_loop(ArrivalLaw::Burst(16), &[(16.0, 16.0, 4.0)], requests);
    let steady = level.steady.expect("two periods");
    near(steady.req_per_s, 16.0);
    near(steady.output_tok_per_s, 128.0);
}

#[test]
fn changing_rate_has_no_steady_window_and_no_answer() {
    let requests =
        || (0..80).map(|k| request(k, 0, k, f64::from(k) * 50.0, &[40.0, 80.0])).collect();
    for stretches in [&[(5.0, 35.0, 4.0)][..], &[(10.0, 10.0, 2.0), (30.0, 30.0, 2.0)]] {
        let level = open_loop(ArrivalLaw::Constant, stretches, requests());
        assert!(level.is_changing() && level.steady.is_none());
        let because = level.steady_absent_because.expect("a reason");
        assert!(because.contains("the rate changed"), "{because}");
    }
    let same = open_loop(ArrivalLaw::Poisson, &[(20.0, 20.0, 2.0), (20.0, 20.0, 2.0)], requests());
    assert!(!same.is_changing() && same.steady.is_some());
}
