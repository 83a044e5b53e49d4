//! The classes of mixed traffic, each apart; the level itself covers all together.
//!
//! Not here: how a class is drawn (`ifm-workload`).

use super::PartSummary;
use ifm_core::RequestRecord;
use ifm_core::spec::TrafficClass;

/// One class within a level.
#[derive(Debug, Clone, PartialEq)]
pub struct ClassSummary {
    /// Name of the class.
    pub name: String,
    /// Its share of the requests as asked, 0 to 1.
    pub share: f64,
    /// The model that it asks for, where it is not that of the run.
    pub model: Option<String>,
    /// Its requests.
    pub part: PartSummary,
}

/// One summary for each class that sent something, in the order of the classes. `judged` are the
/// measured requests that latencies are over.
pub(crate) fn by_class<'a>(
    classes: &[TrafficClass],
    measured: &[&'a RequestRecord],
    judged: &[&'a RequestRecord],
    percentiles: &[f64],
) -> Vec<ClassSummary> {
    let of = |(class, number): (&TrafficClass, u16)| {
        let is_own = |record: &&&RequestRecord| record.class == Some(number);
        let own = |all: &[&'a RequestRecord]| -> Vec<&'a RequestRecord> {
            all.iter().filter(is_own).copied().collect()
        };
        let records = own(measured);
        (!records.is_empty()).then(|| ClassSummary {
            name: class.name.clone(),
            share: class.share,
            model: class.model.clone(),
            part: PartSummary::of(&records, &own(judged), percentiles),
        })
    };
    classes.iter().zip(0..).filter_map(of).collect()
}

#[cfg(test)]
mod tests {
    use crate::testing::{closed_loop, run};
    use ifm_core::spec::TrafficClass;

    #[test]
    fn classes_are_separate_and_add_up() {
        let mut run = run(&[2], closed_loop((0, 0), (2, 60), 0.0, (100.0, 10.0, 16)));
        assert!(crate::summarize(&run).levels[0].classes.is_empty());
        let class = |name: &str, share| TrafficClass {
            name: name.to_owned(),
            share,
            model: None,
            workload: "random:100/16".to_owned(),
        };
        run.manifest.spec.workload.classes =
            vec![class("a", 0.7), class("b", 0.25), class("never", 0.05)];
        for (place, record) in run.requests.iter_mut().enumerate() {
            record.class = Some(u16::from(place % 4 == 3));
            if place % 4 == 3 {
                record.events.at_ns.iter_mut().for_each(|at| *at += 50_000_000);
            }
        }
        let level = crate::summarize(&run).levels.remove(0);
        let found: Vec<_> = level
            .classes
            .iter()
            .map(|class| {
                let ttft = class.part.ttft_ns.as_ref().and_then(|ttft| ttft.median());
                (class.name.as_str(), class.part.sent, ttft.map(|ns| (ns / 1e6).round()))
            })
            .collect();
        assert_eq!(found, [("a", 90, Some(100.0)), ("b", 30, Some(150.0))]);
        assert_eq!(level.counts.sent, 120);
    }
}
