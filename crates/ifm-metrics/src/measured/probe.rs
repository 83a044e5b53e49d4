//! The background probe of a level: how the load affects another client that sends small requests
//! of another workload one at a time.
//!
//! The probe requests of a level are those that began while the level was measured; the reference
//! are the probe requests before the first level. The slowdown is the ratio of the two medians,
//! with an interval from resampling both samples.
//!
//! Not here: how they are sent, and the level's own requests, among which they never count.

use super::PartSummary;
use crate::request::RequestMetrics;
use crate::stat::Estimate;
use crate::stat::bootstrap::{Bootstrap, BootstrapMethod, Statistic};
use ifm_core::{Phase, RequestRecord, RunView};

/// How the intervals of ratios are made.
const INTERVAL: Bootstrap =
    Bootstrap { resamples: 2000, confidence: 0.95, method: BootstrapMethod::Percentile, seed: 0 };
/// Minimum number of answers on each side for an interval: fewer say nothing about their spread.
const ANSWERS_MIN: usize = 5;

/// The background probe of one level.
#[derive(Debug, Clone, PartialEq)]
pub struct ProbeSummary {
    /// Name of its class.
    pub name: String,
    /// Its workload, as it was typed.
    pub workload: String,
    /// Its requests during the level.
    pub beside: PartSummary,
    /// Its requests before all load; absent where none was sent.
    pub alone: Option<PartSummary>,
    /// Median TTFT during the level over that without load; 95 % interval.
    pub ttft_times: Option<Estimate>,
    /// Median time from start to last token during the level over that without load; 95 % interval.
    pub e2e_times: Option<Estimate>,
}

impl ProbeSummary {
    /// The background probe of a level; absent if no probe request began while it was measured.
    pub fn of(run: RunView, level: u16, percentiles: &[f64]) -> Option<ProbeSummary> {
        let spec = &run.manifest.spec;
        let asked = spec.workload.probe.as_ref()?;
        let class = spec.workload.classes.get(usize::from(asked.class))?;
        let info = run.manifest.levels.iter().find(|info| info.level == level)?;
        let is_probe = |record: &&RequestRecord| record.phase == Phase::Probe;
        let within = info.start_ns..=info.send_end_ns;
        let during: Vec<&RequestRecord> = run
            .requests
            .iter()
            .filter(is_probe)
            .filter(|record| record.level == level && within.contains(&record.start_ns))
            .collect();
        let load_ns = run.manifest.levels.iter().map(|info| info.start_ns).min()?;
        let alone: Vec<&RequestRecord> = run
            .requests
            .iter()
            .filter(is_probe)
            .filter(|record| record.level == 0 && record.start_ns < load_ns)
            .collect();
        if during.is_empty() {
            return None;
        }
        let times = |of: fn(&RequestMetrics) -> Option<u64>| {
            let values = |records: &[&RequestRecord]| {
                let ok = records.iter().filter(|record| record.outcome.is_ok());
                let values = ok.filter_map(|record| of(&RequestMetrics::derive(record)));
                values.map(|ns| ns as f64).collect::<Vec<f64>>()
            };
            let (alone, during) = (values(&alone), values(&during));
            let is_enough = alone.len().min(during.len()) >= ANSWERS_MIN;
            is_enough
                .then(|| INTERVAL.ratio(&alone, &during, Statistic::Percentile(50.0)))
                .flatten()
        };
        Some(ProbeSummary {
            name: class.name.clone(),
            workload: class.workload.clone(),
            ttft_times: times(|metrics| metrics.ttft_ns),
            e2e_times: times(|metrics| metrics.e2e_ns),
            alone: (!alone.is_empty()).then(|| PartSummary::of(&alone, &alone, percentiles)),
            beside: PartSummary::of(&during, &during, percentiles),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{closed_loop, run};
    use ifm_core::RunData;
    use ifm_core::spec::{ProbeSpec, TrafficClass};

    /// A level of two users, and a probe of 10 requests without load and 10 during the level that
    /// take three times as long.
    fn probed() -> (RunData, RunData) {
        let plain = run(&[2], closed_loop((0, 0), (2, 60), 2000.0, (100.0, 10.0, 16)));
        let mut probed = plain.clone();
        probed.manifest.spec.workload.classes = vec![TrafficClass {
            name: "probe".to_owned(),
            share: 0.0,
            model: None,
            workload: "random:32/8".to_owned(),
        }];
        probed.manifest.spec.workload.probe = Some(ProbeSpec {
            class: 0,
            pause_s: 1.0,
            seed: 1,
            ignore_eos: true,
            prompt_lengths: None,
        });
        for (start_ms, ttft_ms) in [(0.0, 20.0), (2000.0, 60.0)] {
            let of_probe = closed_loop((1000, 0), (1, 10), start_ms, (ttft_ms, ttft_ms / 10.0, 8));
            let probe = |record| RequestRecord { phase: Phase::Probe, class: Some(0), ..record };
            probed.requests.extend(of_probe.into_iter().map(probe));
        }
        (plain, probed)
    }

    #[test]
    fn compares_a_probe_with_itself_without_load() {
        let (plain, probed) = probed();
        let mut level = crate::summarize(&probed).levels.remove(0);
        let probe = level.probe.take().expect("a probe");
        let alone = probe.alone.as_ref().expect("alone");
        assert_eq!((probe.name.as_str(), probe.beside.sent, alone.sent), ("probe", 10, 10));
        let times = probe.ttft_times.expect("a ratio");
        assert!(times.low <= times.value && times.value <= times.high, "{times:?}");
        assert!((times.value - 3.0).abs() < 0.2, "{times:?}");
        assert!((probe.e2e_times.expect("a ratio").value - 3.0).abs() < 0.2);
        // Nothing of the level knows of it.
        assert_eq!(level, crate::summarize(&plain).levels.remove(0));
    }

    #[test]
    fn few_answers_give_no_ratio_and_none_no_probe() {
        let (_, mut probed) = probed();
        let begin_ns = probed.manifest.levels[0].start_ns;
        let is_alone =
            |record: &RequestRecord| record.phase == Phase::Probe && record.start_ns < begin_ns;
        probed.requests.retain(|record| !is_alone(record));
        let probe = crate::summarize(&probed).levels.remove(0).probe.expect("a probe");
        assert_eq!((probe.alone, probe.ttft_times), (None, None));
        probed.requests.retain(|record| record.phase != Phase::Probe);
        assert!(crate::summarize(&probed).levels.remove(0).probe.is_none());
    }
}
