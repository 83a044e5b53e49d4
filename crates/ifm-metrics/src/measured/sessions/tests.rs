//! Sessions computed on paper, and checked against the sums of their requests.

use super::{Session, sessions};
use crate::capacity::pooled;
use crate::level::{Seen, summarize_level};
use crate::slo::VerdictState;
use crate::stat::random::RandomStream;
use crate::testing::{MS, conversations, failed, request, run};
use ifm_core::{
    CountSource, Counted, EndedSession, Manifest, Outcome, RequestRecord, RunView, SessionEnd,
};

/// A turn of 3 tokens that takes 300 ms; of 100 prompt tokens 50 are known and 40 reported as
/// cached.
fn turn(seq: u32, session: u32, (number, turns): (u16, u16), start_ms: f64) -> RequestRecord {
    let mut record = request(seq, 0, session, start_ms, &[100.0, 200.0, 300.0]);
    (record.session, record.turn, record.agent_turns) = (Some(session), Some(number), Some(turns));
    (record.known_tokens, record.cached_tokens) = (Some(50), Some(40));
    record
}

fn found(records: &[RequestRecord], ended: &[EndedSession]) -> Vec<Session> {
    let records: Vec<&RequestRecord> = records.iter().collect();
    sessions(&records, ended, Some(32))
}

#[test]
fn a_session_is_the_sum_of_its_turns() {
    let records = [turn(0, 0, (0, 2), 0.0), turn(1, 0, (1, 2), 1000.0)];
    let all = found(&records, &[]);
    let [only] = all.as_slice() else { panic!("{all:?}") };
    assert_eq!((only.sent, only.ok, only.failed, only.agents), (2, 2, 0, 1));
    assert_eq!(
        (only.duration_ns(), only.busy_ns, only.waiting_ns()),
        (1300 * MS, 600 * MS, 700 * MS)
    );
    assert_eq!((only.end, only.complete_ns()), (Some(SessionEnd::Complete), Some(1300 * MS)));
    assert_eq!((only.prompt_tokens, only.output_tokens), (Some(200), Some(6)));
    assert_eq!((only.ideal.share(), only.told.share()), (Some(0.5), Some(0.4)));
}

#[test]
fn end_of_a_session_is_recorded_or_derived() {
    let end = |records: &[RequestRecord], told: &[EndedSession]| found(records, told)[0].end;
    let first = || turn(0, 0, (0, 2), 0.0);
    assert_eq!(end(&[first()], &[]), Some(SessionEnd::CutOff));
    let mut broken = failed(1, 0, 0, 1000.0, 5.0);
    (broken.session, broken.turn, broken.agent_turns) = (Some(0), Some(1), Some(2));
    assert_eq!(end(&[first(), broken.clone()], &[]), Some(SessionEnd::Failed));
    let told = [EndedSession { session: 0, level: 0, end: SessionEnd::Overflow }];
    assert_eq!(end(&[first(), broken.clone()], &told), Some(SessionEnd::Overflow));
    broken.outcome = Outcome::Cancelled;
    assert_eq!(end(&[first(), broken], &[]), Some(SessionEnd::CutOff));
    // The planned number of turns is unknown.
    let mut old = first();
    old.agent_turns = None;
    assert_eq!(end(&[old], &[]), None);
}

#[test]
fn agents_that_work_at_the_same_time_are_busy_once() {
    let mut records = [
        turn(0, 0, (0, 2), 0.0),
        turn(1, 0, (0, 1), 400.0),
        turn(2, 0, (0, 1), 500.0),
        turn(3, 0, (1, 2), 900.0),
    ];
    for (record, agent) in records.iter_mut().zip([0, 1, 2, 0]) {
        record.agent = Some(agent);
    }
    let all = found(&records, &[]);
    assert_eq!((all[0].agents, all[0].turns_asked), (3, Some(4)));
    // 0 to 300, 400 to 800 with two of them, 900 to 1200.
    assert_eq!((all[0].busy_ns, all[0].duration_ns()), (1000 * MS, 1200 * MS));
    assert!(all[0].is_complete());
}

#[test]
fn a_level_counts_them_by_end() {
    let mut records = conversations((0, 0), (2, 12), 3, 500.0, 0.0);
    let last = records.len() - 1;
    records[last].outcome = Outcome::HttpError;
    records.retain(|record| record.session != Some(3) || record.turn != Some(2));
    let summary = crate::summarize(&run(&[2], records));
    let sessions = summary.levels[0].sessions.as_ref().expect("conversations");
    assert_eq!((sessions.begun(), sessions.complete()), (24, 22));
    let by_end = [(SessionEnd::Complete, 22), (SessionEnd::Failed, 1), (SessionEnd::CutOff, 1)];
    assert_eq!(sessions.ends, by_end);
    assert_eq!((sessions.ok_share(), sessions.with_failures()), (Some(22.0 / 23.0), 1));
    assert_eq!((sessions.turns(), sessions.failed_turns()), (71, 1));
    // Three turns of 260 ms and two pauses of 500 ms.
    let duration = sessions.duration_ns.as_ref().expect("complete ones");
    assert_eq!((duration.n, duration.median()), (22, Some(1780.0 * MS as f64)));
    assert_eq!(sessions.turns_mean(), Some(3.0));
    assert_eq!(sessions.waiting_share(), Some(1000.0 / 1780.0));
    // Two users, twelve sessions of 1780 ms each.
    let hours = 12.0 * 1.78 / 3600.0;
    assert!((sessions.per_hour.expect("complete ones") - 22.0 / hours).abs() < 1e-6);
    let alone = crate::summarize(&run(
        &[2],
        crate::testing::closed_loop((0, 0), (2, 9), 0.0, (9.0, 9.0, 3)),
    ));
    assert!(alone.levels[0].sessions.is_none());
}

/// Whatever becomes of requests, sessions neither lose nor invent any.
#[test]
fn sums_over_sessions_are_sums_over_requests() {
    for seed in 0..50 {
        let mut random = RandomStream::named(seed, "sessions");
        let mut below = |n: usize| random.below(n);
        let mut records = conversations((0, 0), (3, 8), 4, 100.0, 0.0);
        for record in &mut records {
            match below(10) {
                0 => record.outcome = Outcome::HttpError,
                1 => record.outcome = Outcome::Cancelled,
                2 => record.outcome = Outcome::Dropped,
                3 => record.prompt_tokens = None,
                4 => record.cached_tokens = None,
                5 => record.agent = Some(below(3) as u16),
                _ => {}
            }
        }
        records.retain(|_| below(8) > 0);
        let all = found(&records, &[]);
        let requests =
            |value: &dyn Fn(&RequestRecord) -> u64| records.iter().map(value).sum::<u64>();
        let sum = |value: &dyn Fn(&Session) -> u64| all.iter().map(value).sum::<u64>();
        let is = |outcome: bool| u64::from(outcome);
        assert_eq!(sum(&|one| one.sent), requests(&|one| is(one.outcome != Outcome::Dropped)));
        assert_eq!(sum(&|one| one.ok), requests(&|one| is(one.outcome.is_ok())));
        assert_eq!(sum(&|one| one.failed), requests(&|one| is(one.outcome.is_failure())));
        let tokens = |one: &RequestRecord| {
            let counted = one.prompt_tokens.filter(|_| one.outcome.is_ok());
            counted.map_or(0, |counted| u64::from(counted.tokens))
        };
        assert_eq!(sum(&|one| one.prompt_tokens.unwrap_or(0)), requests(&tokens));
        for one in &all {
            assert_eq!(one.busy_ns + one.waiting_ns(), one.duration_ns());
            assert!(one.ok + one.failed <= one.sent);
            assert!(!one.is_complete() || one.failed == 0 && Some(one.ok) >= one.turns_asked);
        }
    }
}

/// Of a second prompt of 100 tokens 70 had been said before, 60 of them in the first prompt.
#[test]
fn an_ideal_cache_may_find_only_prompts_and_only_whole_blocks() {
    let mut records = [turn(0, 0, (0, 2), 0.0), turn(1, 0, (1, 2), 1000.0)];
    let counted = |tokens| Some(Counted { tokens, from: CountSource::FinalUsage });
    records[0].known_tokens = Some(0);
    records[0].prompt_tokens = counted(60);
    records[1].known_tokens = Some(70);
    let one = found(&records, &[]).remove(0);
    let shares = [one.ideal, one.ideal_of_prompts, one.ideal_in_blocks].map(|part| part.known);
    assert_eq!((shares, one.ideal.of), ([70, 32, 64], 160));
    let refs: Vec<&RequestRecord> = records.iter().collect();
    assert_eq!(sessions(&refs, &[], None)[0].ideal_of_prompts.known, 60);
    // A prompt that is known completely: its last token is computed anyway.
    records[1].known_tokens = Some(100);
    records[1].prompt_tokens = counted(96);
    assert_eq!(found(&records, &[])[0].ideal_in_blocks.known, 64);
    // The first prompt was not counted: how much of it a cache finds is unknown.
    records[0].prompt_tokens = None;
    assert_eq!(found(&records, &[])[0].ideal_of_prompts.of, 0);
}

/// Of 200 sessions of two turns in each of two levels a tenth of the second level ended because the
/// next prompt did not fit. The stored run, a level as soon as it has ended, and the looks of a search
/// count them alike: not as cut off by us, which would leave them out.
#[test]
fn sessions_that_overflowed_unsent_are_counted_alike_wherever_a_target_is_judged() {
    let mut records = Vec::new();
    for session in 0..400_u32 {
        let is_over = session >= 200 && session % 10 == 0;
        for number in 0..if is_over { 1 } else { 2 } {
            let seq = session * 2 + u32::from(number);
            let mut record = turn(seq, session, (number, 2), f64::from(session) * 1000.0);
            (record.level, record.slot) = ((session / 200) as u16, 0);
            record.start_ns += u64::from(number) * 400 * MS;
            record.end_ns += u64::from(number) * 400 * MS;
            records.push(record);
        }
    }
    let mut run = run(&[1, 1], records);
    run.manifest.spec.slo = crate::slo::parse("session_ok>99%").expect("a target");
    let over = (200..400_u32).filter(|session| session % 10 == 0);
    let ended = over.map(|session| EndedSession { session, level: 1, end: SessionEnd::Overflow });
    run.manifest.workload.as_mut().expect("a workload").ended_sessions = ended.collect();
    let spec = &run.manifest.spec;
    let (seen, blind) = (Seen::of(&run), Seen { requests: &run.requests, ended: &[] });
    let of_looks = |looks: &[u16], seen| {
        let pooled = pooled(spec, looks, seen);
        summarize_level(spec, looks[0], None, pooled.seen()).verdict
    };
    let stored = crate::summarize(&run).levels.swap_remove(1).verdict;
    assert_eq!(stored.state, VerdictState::Fail);
    assert_eq!(summarize_level(spec, 1, None, seen).verdict, stored);
    assert_eq!(of_looks(&[1], seen), stored);
    assert_eq!(of_looks(&[0], seen).state, VerdictState::Pass);
    assert_eq!(of_looks(&[0, 1], seen).state, VerdictState::Fail);
    assert_eq!(of_looks(&[0, 1], blind).state, VerdictState::Pass, "as if the level had cut them");
    let manifest = Manifest { workload: None, ..run.manifest.clone() };
    let live = RunView { manifest: &manifest, ..run.view() };
    let shown = crate::summarize_ended_level(live, seen.ended, 1).expect("requests");
    assert_eq!(shown.verdict, stored);
}
