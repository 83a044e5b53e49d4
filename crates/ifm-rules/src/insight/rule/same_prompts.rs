//! Levels that sent the same prompts, which a server with a prefix cache knows from the level before.

use super::told_by;
use crate::insight::{Insight, InsightRule, Question, Tone, Topic};
use ifm_core::Metric;
use ifm_core::sheet::{PartKind, Statistic};
use ifm_results::Pooled;
use ifm_results::say;

/// With fewer levels there is nothing to share.
const LEVELS_MIN: usize = 2;

pub(super) const RULE: InsightRule = InsightRule {
    id: "same_prompts",
    title: "levels of a document that sent the same number of prompt tokens in as many requests of differing lengths: probably the same prompts",
    look,
};

fn look(question: &Question) -> Vec<Insight> {
    let pool = question.results.pool(PartKind::Serving);
    let by = told_by(question);
    let mut groups: Vec<Alike> = Vec::new();
    for cell in pool.cells.iter().filter(|cell| !is_own(question, cell)) {
        let Some(sent) = sent(cell) else { continue };
        let of: Vec<Option<String>> = by.iter().map(|name| cell.factor(name)).collect();
        match groups.iter_mut().find(|group| group.of == of && group.sent == sent) {
            Some(group) => group.levels += 1,
            None => groups.push(Alike { of, sent, levels: 1 }),
        }
    }
    let several = groups.into_iter().filter(|group| group.levels >= LEVELS_MIN);
    several.map(|group| told(group.sent, group.levels)).take(1).collect()
}

/// Levels that sent the same.
struct Alike {
    /// Values that distinguish them from other levels.
    of: Vec<Option<String>>,
    /// Prompt tokens and requests of each.
    sent: (f64, f64),
    levels: usize,
}

fn is_own(question: &Question, cell: &Pooled) -> bool {
    let origin = cell.first().and_then(|point| question.results.source(point));
    origin.is_some_and(|origin| origin.is_own)
}

/// Prompt tokens and requests of a level, where the prompts cannot all be of one length: equal
/// sums of equal lengths say nothing.
fn sent(cell: &Pooled) -> Option<(f64, f64)> {
    let tokens = cell.stat(Metric::InputTokens, Statistic::Value)?.value;
    let requests = cell.requests_ok()?;
    (tokens > requests && tokens % requests != 0.0).then_some((tokens, requests))
}

fn told((tokens, requests): (f64, f64), levels: usize) -> Insight {
    let sentence = say!(
        "{} levels sent {} prompt tokens each, in {} requests of differing lengths: most likely \
         the same prompts. A server with a prefix cache knows them from the level before; what \
         later levels seem to carry and to cost is then too good.";
        levels as f64 => Count, tokens => Count, requests => Count
    );
    Insight::new(RULE.id, Topic::Capacity, Tone::Warn, sentence)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::insight::insights;
    use ifm_results::Results;
    use ifm_results::testing::sweep;

    fn numbers(results: &Results) -> Option<Vec<f64>> {
        let all = insights(&Question::new(results));
        let found = all.iter().find(|insight| insight.rule == RULE.id)?;
        Some(found.sentence.numbers().map(|(number, _)| number).collect())
    }

    fn with_tokens(tokens: [f64; 3]) -> Results {
        let mut results = sweep();
        for (point, tokens) in results.points.iter_mut().zip(tokens) {
            let is = |reading: &&mut ifm_results::Stat| reading.metric == Metric::InputTokens;
            point.stats.iter_mut().find(is).expect("told").value = tokens;
        }
        results
    }

    #[test]
    fn equal_sums_of_differing_lengths_are_the_same_prompts() {
        assert_eq!(numbers(&sweep()), Some(vec![3.0, 214_316.0, 1000.0]));
        assert_eq!(numbers(&with_tokens([214_316.0, 214_317.0, 214_320.0])), None);
        // 1,000 prompts of 512 tokens each can all be new.
        assert_eq!(numbers(&with_tokens([512_000.0; 3])), None);
    }
}
