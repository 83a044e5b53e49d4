//! What "so many concurrent requests" means: held by a rate, or thrown in at once.

use crate::insight::versus::{Party, Versus, is_burst};
use crate::insight::{Insight, InsightRule, Meant, Question, Sentence, Tone, Topic};
use ifm_core::sheet::{Quantity, Statistic};

pub(super) const RULE: InsightRule = InsightRule {
    id: "in_flight_words",
    title: "the most requests in flight that a rate step held, apart from those of all requests at once: neither is a limit of the server",
    look,
};

/// The largest median in flight of the rows that hold a load, and of those that do not.
fn largest(party: &Party, of_bursts: bool) -> Option<f64> {
    let rows = party.cells.iter().filter(|cell| is_burst(cell) == of_bursts);
    let median = |cell: &crate::survey::Pooled| {
        Some(cell.reading(&Quantity::InFlight, Statistic::Median)?.value)
    };
    rows.filter_map(median).max_by(f64::total_cmp)
}

fn look(question: &Question) -> Vec<Insight> {
    let mut found = Vec::new();
    for versus in &Versus::all(question) {
        let base = &versus.base;
        for party in &versus.others {
            let held = largest(base, false).zip(largest(party, false));
            let bursts = largest(base, true).zip(largest(party, true));
            let (Some(held), Some(bursts)) = (held, bursts) else { continue };
            let sentence = Sentence::new("Most requests in flight (median): ")
                .number(held.0, Meant::Load)
                .text(format!(" ({}) and ", base.short_as_base()))
                .number(held.1, Meant::Load)
                .text(format!(" ({}) in the highest rate step, ", party.short))
                .number(bursts.0, Meant::Load)
                .text(" and ")
                .number(bursts.1, Meant::Load)
                .text(" with all requests at once; neither is the most that the server can hold.");
            found.push(Insight::new(RULE.id, Topic::Variant, Tone::Warn, sentence));
        }
    }
    found
}
