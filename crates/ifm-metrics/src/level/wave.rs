//! The first wave of a closed loop: the first request of every user, all of which begin together.
//!
//! Their prompts wait for each other as no later prompt does, and the user did not ask for that
//! moment: the measurement causes it, not the server. So latencies, their verdicts and the steady
//! window begin after it. Requests are left out by their place in the order of starts, never by how
//! long they took. Not here: a head that is slower for other reasons ([`Warming`](super::Warming)),
//! which latencies keep.

use super::Latencies;
use crate::goodput::Goodput;
use crate::slo::Verdict;
use ifm_core::RequestRecord;
use ifm_core::order::Order as _;
use ifm_core::spec::LoadSpec;

/// With fewer complete answers after it, the first wave counts as well.
const ANSWERS_MIN: usize = 10;

/// The first wave of a level, and what its requests would change.
#[derive(Debug, Clone, PartialEq)]
pub struct FirstWave {
    /// Requests that belong to it, one of each user.
    pub requests: u64,
    /// Latencies over all complete answers, these among them.
    pub latencies_with: Latencies,
    /// The verdict over all of them.
    pub verdict_with: Verdict,
    /// Goodput of the judged requests alone; absent where the level has no goodput.
    pub goodput_without: Option<Goodput>,
}

/// Requests that a level is judged by, in the order of their starts.
pub struct Judged<'a> {
    /// The requests.
    pub requests: Vec<&'a RequestRecord>,
    /// How many came before them; 0 where all are judged.
    pub first_wave: usize,
}

impl<'a> Judged<'a> {
    /// Leaves out the first wave of these measured requests, which met `asked`. All are judged
    /// where there is one user or an open loop; where too few answers would remain, fewer than the
    /// wave has; and in conversations, whose first turns are of another length than the rest.
    pub fn of(asked: Option<&LoadSpec>, measured: &[&'a RequestRecord]) -> Judged<'a> {
        let mut requests = measured.to_vec();
        requests.order_by_key(|record| (record.start_ns, record.seq));
        let users = asked
            .filter(|asked| asked.arrivals.is_none())
            .map_or(0, |asked| asked.concurrency as usize);
        let behind = requests.get(users..).unwrap_or_default();
        let answers = behind.iter().filter(|record| record.outcome.is_ok()).count();
        let are_conversations = requests.iter().any(|record| record.turn.is_some());
        let is_left_out = users > 1 && answers >= users.max(ANSWERS_MIN) && !are_conversations;
        let first_wave = if is_left_out { users } else { 0 };
        requests.drain(..first_wave);
        Judged { requests, first_wave }
    }

    /// When the first of them started after a first wave, nanoseconds since the run's origin.
    pub fn begin_ns(&self) -> Option<u64> {
        self.requests.first().filter(|_| self.first_wave > 0).map(|record| record.start_ns)
    }
}

/// The requests that a level of this load is judged by, of its measured ones, by start.
pub fn behind_first_wave<'a>(
    asked: Option<&LoadSpec>,
    measured: &[&'a RequestRecord],
) -> Vec<&'a RequestRecord> {
    Judged::of(asked, measured).requests
}

#[cfg(test)]
mod tests {
    use crate::goodput::Goodput;
    use crate::slo::VerdictState;
    use crate::testing::{MS, closed_loop, run};
    use crate::{LevelSummary, Settling};
    use ifm_core::Metric;
    use ifm_core::RunData;
    use ifm_core::spec::EarlyEnd;

    /// Four users with this many requests each; the first ones wait 900 ms for their first token,
    /// the others 100 ms. The target is 500 ms.
    fn burst(rounds: u32) -> RunData {
        let mut requests = closed_loop((0, 0), (4, rounds), 0.0, (100.0, 10.0, 11));
        for record in requests.iter_mut().take(4) {
            record.events.at_ns[0] = record.start_ns + 900 * MS;
        }
        run(&[4], requests)
    }

    fn level(run: &RunData) -> LevelSummary {
        crate::summarize(run).levels[0].clone()
    }

    fn ttft_max_ms(level: &LevelSummary) -> (u64, f64) {
        let ttft = level.latencies.get(Metric::Ttft).expect("answers");
        (ttft.n, ttft.max / MS as f64)
    }

    #[test]
    fn users_that_begin_together_do_not_make_the_verdict() {
        let level = level(&burst(20));
        assert_eq!(ttft_max_ms(&level), (76, 100.0));
        assert_eq!(level.verdict.state, VerdictState::Pass);
        let wave = level.first_wave.expect("four users began together");
        let with = wave.latencies_with.get(Metric::Ttft).expect("answers");
        assert_eq!((wave.requests, with.n, with.max), (4, 80, 900e6));
        assert_eq!(wave.verdict_with.state, VerdictState::Fail);
        let good = |goodput: Option<Goodput>| goodput.map(|of| (of.good, of.sent));
        assert_eq!(good(level.goodput), Some((76, 80)), "of all requests");
        assert_eq!(good(wave.goodput_without), Some((76, 76)), "of those that the verdict is of");
        let window = level.steady.expect("a window").window;
        assert_eq!(window.start_ns, 200 * MS, "the first second request");
        assert_eq!((level.counts.sent, level.counts.ok), (80, 80), "nothing is lost");
    }

    #[test]
    fn keeps_the_first_wave_if_little_else_remains() {
        // Three waves of four are eight answers after the first: too few.
        let few = level(&burst(3));
        assert!(few.first_wave.is_none());
        assert_eq!(ttft_max_ms(&few), (12, 900.0));
        assert!(level(&burst(4)).first_wave.is_some());
    }

    #[test]
    fn one_user_schedules_and_conversations_have_no_first_wave() {
        let alone = run(&[1], closed_loop((0, 0), (1, 40), 0.0, (100.0, 10.0, 11)));
        assert!(level(&alone).first_wave.is_none());
        let mut talk = burst(20);
        for record in &mut talk.requests {
            record.turn = Some((record.seq / 4) as u16);
        }
        assert!(level(&talk).first_wave.is_none());
    }

    #[test]
    fn a_level_that_is_judged_while_it_runs_leaves_out_the_same() {
        let mut run = burst(20);
        run.manifest.spec.levels[0].early_end = Some(EarlyEnd {
            settled_share: None,
            at_broken_target: true,
            requests_min: 5,
            seconds_min: 0.0,
        });
        let spec = &run.manifest.spec;
        let mut judge = Settling::new(&spec.levels[0], &spec.slo).expect("it may end early");
        assert!(run.requests.iter().all(|record| judge.add(record).is_none()));
    }
}
