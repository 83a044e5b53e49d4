//! Whether a server answers a prompt faster because it has seen it: MLPerf's TEST04.
//!
//! One side sent one prompt again and again, the other only new ones, at the same load: the first
//! may be at most 10 % faster (`compliance/TEST04` of mlcommons/inference). Not here: how much a
//! prefix cache is meant to serve, see the check `prompt_cache`.

use super::condition::Condition;
use super::difference::{Difference, DifferenceKind};
use super::pair::Row;
use super::side::Side;
use super::{Measure, Metric};
use ifm_metrics::level::Load;
use ifm_metrics::stat::Estimate;

/// A side that sent one prompt is at most this many times as fast.
const FASTER_MAX: f64 = 1.1;

/// One prompt against new ones, at one load.
#[derive(Debug, Clone, PartialEq)]
pub struct RepeatedPrompt {
    /// The requested condition.
    pub at: Condition,
    /// The measure that judges it: complete answers per second in a closed loop; if the rate is
    /// given, the median time of a request.
    pub measure: Measure,
    /// How many times as fast the side with one prompt is, and its interval.
    pub ratio: Estimate,
    /// Whether that is more than is allowed.
    pub fails: bool,
}

/// What the sides of a run sent.
#[derive(PartialEq)]
enum Sent {
    One,
    New,
}

/// The loads of a pair whose one side sent one prompt only; empty for all others.
pub(super) fn repeated_prompt(
    (a, b): (&Side, &Side),
    differences: &[Difference],
    rows: &[Row],
) -> Vec<RepeatedPrompt> {
    let is_second = match (sent(a), sent(b)) {
        (Some(Sent::New), Some(Sent::One)) => true,
        (Some(Sent::One), Some(Sent::New)) => false,
        _ => return Vec::new(),
    };
    if differences.iter().any(|found| found.kind == DifferenceKind::Unlike) {
        return Vec::new();
    }
    let judged = |row: &&Row| match row.at.load {
        Some(Load::Users(_)) => row.measure == Measure::value_of(Metric::RequestRate),
        Some(Load::ReqPerS(_)) => {
            let median = Some(50.0);
            matches!(row.measure.metric, Metric::E2e | Metric::E2eDue)
                && row.measure.percentile() == median
        }
        None => false,
    };
    let told = |row: &Row| {
        let change = row.change.filter(|_| !row.is_interpolated())?;
        let is_time = row.measure.metric != Metric::RequestRate;
        // A larger rate and a smaller time are faster; a row is the second side over the first.
        let ratio = if is_second == is_time { change.inverse() } else { change };
        let is_finite = [ratio.value, ratio.low, ratio.high].iter().all(|value| value.is_finite());
        is_finite.then(|| RepeatedPrompt {
            at: row.at.clone(),
            measure: row.measure,
            ratio,
            fails: ratio.value > FASTER_MAX,
        })
    };
    rows.iter().filter(judged).filter_map(told).collect()
}

/// What a side sent; absent where its runs do not agree, sent some prompts again, or do not tell.
fn sent(side: &Side) -> Option<Sent> {
    let mut all = side.members.iter().map(|member| match member.sent? {
        (prompts, 1) if prompts > 1 => Some(Sent::One),
        (prompts, distinct) if prompts == distinct && prompts > 1 => Some(Sent::New),
        _ => None,
    });
    let first = all.next()??;
    all.all(|other| other.as_ref() == Some(&first)).then_some(first)
}

#[cfg(test)]
mod tests {
    use crate::comparison::{Member, RepeatedPrompt, Settings, Side, compare};
    use ifm_metrics::testing::{NoisyLoop, noisy_run};

    fn side(itl_ms: f64, seed: u64, distinct: Option<u64>) -> Side {
        let (users, rounds, tokens) = (4, 60, 21);
        let (ttft_ms, spread, memory) = (itl_ms, 0.05, 0.0);
        let level = NoisyLoop { users, rounds, ttft_ms, itl_ms, tokens, spread, memory, seed };
        let mut run = noisy_run(&[level]);
        let sent = run.manifest.workload.as_mut().expect("a workload");
        sent.distinct_prompts = distinct.unwrap_or(sent.prompts);
        let settings = Settings::default();
        let member = Member::of(&run, &settings.measures, &settings.slo);
        Side { label: format!("{itl_ms}"), members: vec![member] }
    }

    fn found(a: &Side, b: Side) -> Vec<RepeatedPrompt> {
        compare(a, &[b], &Settings::default()).pairs.remove(0).repeated_prompt
    }

    #[test]
    fn allows_one_prompt_to_be_a_tenth_faster() {
        let new = side(20.0, 1, None);
        let cached = found(&new, side(10.0, 2, Some(1)));
        let [only] = &cached[..] else { panic!("{cached:?}") };
        assert!((1.8..2.2).contains(&only.ratio.value) && only.fails, "{only:?}");
        let turned = found(&side(10.0, 2, Some(1)), side(20.0, 1, None));
        assert!((1.8..2.2).contains(&turned[0].ratio.value) && turned[0].fails, "{turned:?}");
        let honest = found(&new, side(19.5, 2, Some(1)));
        assert!(!honest[0].fails && honest[0].ratio.value > 1.0, "{honest:?}");
        assert!(found(&new, side(10.0, 2, None)).is_empty(), "both sent new ones");
        assert!(found(&new, side(10.0, 2, Some(7))).is_empty(), "some came again");
    }
}
