//! What "so many concurrent requests" means: held by a rate, or thrown in at once.

use crate::insight::versus::{Party, Versus, is_burst};
use crate::insight::{Insight, InsightRule, Meant, Question, Sentence, Tone, Topic};
use ifm_core::sheet::{Quantity, Statistic};

pub(super) const RULE: InsightRule = InsightRule {
    id: "in_flight_words",
    title: "the most requests in flight that a rate step held, apart from those of all requests at once: neither is a limit of the server",
    look,
};

/// The row with the largest median in flight, of those that hold a load or of those that do not:
/// its median, and its mean where that is told.
fn largest(party: &Party, of_bursts: bool) -> Option<(f64, Option<f64>)> {
    let rows = party.cells.iter().filter(|cell| is_burst(cell) == of_bursts);
    let in_flight = |cell: &crate::survey::Pooled| {
        let of = |statistic| Some(cell.reading(&Quantity::InFlight, statistic)?.value);
        Some((of(Statistic::Median)?, of(Statistic::Mean)))
    };
    rows.filter_map(in_flight).max_by(|a, b| a.0.total_cmp(&b.0))
}

/// `median 34, mean 28.5`
fn told(sentence: Sentence, (median, mean): (f64, Option<f64>)) -> Sentence {
    let sentence = sentence.text("median ").number(median, Meant::Load);
    match mean {
        Some(mean) => sentence.text(", mean ").number(mean, Meant::Load),
        None => sentence,
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
            let (base_name, other_name) = (base.short_as_base(), &party.short);
            let sentence = Sentence::new("Most requests in flight in the highest rate step: ");
            let sentence = told(sentence, held.0).text(format!(" ({base_name}) and "));
            let sentence =
                told(sentence, held.1).text(format!(" ({other_name}); with all requests at once "));
            let sentence = told(sentence, bursts.0).text(" and ");
            let sentence =
                told(sentence, bursts.1).text("; neither is the most that the server can hold.");
            found.push(Insight::new(RULE.id, Topic::Variant, Tone::Warn, sentence));
        }
    }
    found
}
