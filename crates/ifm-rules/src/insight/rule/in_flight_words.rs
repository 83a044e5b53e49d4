//! What "N concurrent requests" means: sustained by a rate, or all sent at once.

use crate::insight::versus::{Party, Versus, is_burst};
use crate::insight::{Insight, InsightRule, Question, Sentence, Tone, Topic};
use ifm_core::Metric;
use ifm_core::sheet::Statistic;
use ifm_results::say;

pub(super) const RULE: InsightRule = InsightRule {
    id: "in_flight_words",
    title: "maximum requests in flight that a rate step held, separate from sending all requests at once; neither is a limit of the server",
    look,
};

/// The row with the largest median in flight, of the rows that hold a load or of those that do not:
/// its median, and its mean if reported.
fn largest(party: &Party, of_bursts: bool) -> Option<(f64, Option<f64>)> {
    let rows = party.cells.iter().filter(|cell| is_burst(cell) == of_bursts);
    let in_flight = |cell: &ifm_results::Pooled| {
        let of = |statistic| Some(cell.stat(Metric::InFlight, statistic)?.value);
        Some((of(Statistic::Median)?, of(Statistic::Mean)))
    };
    rows.filter_map(in_flight).max_by(|a, b| a.0.total_cmp(&b.0))
}

/// `median 34, mean 28.5`
fn told((median, mean): (f64, Option<f64>)) -> Sentence {
    match mean {
        Some(mean) => say!("median {}, mean {}"; median => Load, mean => Load),
        None => say!("median {}"; median => Load),
    }
}

fn look(question: &Question) -> Vec<Insight> {
    let mut found = Vec::new();
    for versus in &Versus::all(question) {
        let base = &versus.base;
        for party in &versus.others {
            let held = largest(base, false).zip(largest(party, false));
            let bursts = largest(base, true).zip(largest(party, true));
            let (Some(held), Some(bursts)) = (held, bursts) else { continue };
            let sentence = say!(
                "Most requests in flight in the highest rate step: {} ({}) and {} ({}); with all \
                 requests at once {} and {}; neither is the most that the server can hold.";
                told(held.0), base.short_as_base(), told(held.1), party.short, told(bursts.0),
                told(bursts.1)
            );
            found.push(Insight::new(RULE.id, Topic::Variant, Tone::Warn, sentence));
        }
    }
    found
}
