//! Generation of an engine as a share of what the memory of its machine allows.

use crate::insight::{Insight, InsightRule, Meant, Question, Sentence, Tone, Topic};
use crate::roof;
use crate::survey::Point;
use ifm_core::sheet::{PartKind, Quantity, Statistic, key};

pub(super) const RULE: InsightRule = InsightRule {
    id: "engine_limit",
    title: "the largest share of the limit of machine and model that an engine reaches when it generates",
    look,
};

/// Tokens per second that machine and model allow for the sequences of an engine's row: no step is
/// shorter than reading the weights once. Absent where machine or model is not known.
pub fn decode_limit(question: &Question, point: &Point) -> Option<f64> {
    let value = |quantity: &Quantity| point.value(quantity, Statistic::Value);
    let size = value(&Quantity::Other("model_size".to_owned()));
    let named = (question.gpu.as_deref(), question.model.as_deref());
    let setup = roof::setup(named, &point.setting, value(&Quantity::Parameters), size)?.setup;
    let number = |name: &str| point.setting.number(name).filter(|number| *number >= 0.0);
    let batch = number(key::BATCH_SIZE).unwrap_or(1.0).max(1.0);
    let bound = setup.decode(batch, number(key::DEPTH_TOKENS).unwrap_or(0.0) + 1.0);
    Some(bound.tokens_per_s(bound.strict)).filter(|limit| limit.is_finite())
}

fn look(question: &Question) -> Vec<Insight> {
    let shares = question.survey.measured(PartKind::Engine).filter_map(|point| {
        let rate = point.central(&Quantity::DecodeRate)?.value;
        Some((point, rate, decode_limit(question, point)?))
    });
    let largest = shares.max_by(|a, b| (a.1 / a.2).total_cmp(&(b.1 / b.2)));
    let Some((point, rate, limit)) = largest else { return Vec::new() };
    let share = rate / limit;
    let (tone, end) = match share > 1.0 {
        true => (Tone::Bad, "; more than all cannot be: an input is wrong."),
        false => (Tone::Note, "."),
    };
    let model = point.factor(key::MODEL).unwrap_or_else(|| "The model".to_owned());
    let sentence = Sentence::new(format!("{model} comes nearest to what its machine allows: "))
        .number(rate, Meant::TokPerS)
        .text(", ")
        .number(share, Meant::Share)
        .text(" of ")
        .number(limit, Meant::TokPerS)
        .text(end);
    vec![Insight::new(RULE.id, Topic::DecodeSpeed, tone, sentence).weighing(share)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::insight::insights;
    use crate::survey::{Reading, Survey, power_tests::engine};

    fn found(gpu: &str) -> Vec<f64> {
        let mut point = engine(600, 278.95);
        point.setting.set(key::GPU, gpu);
        point.setting.set(key::MODEL, "llama 7B Q4_0");
        let reading = |quantity, value| Reading::new(quantity, Statistic::Value, value);
        point.readings.push(reading(Quantity::Parameters, 6.74e9));
        let bytes = 3.56 * (1u64 << 30) as f64;
        point.readings.push(reading(Quantity::Other("model_size".to_owned()), bytes));
        let survey = Survey { origins: Vec::new(), points: vec![point] };
        let all = insights(&Question::new(&survey));
        let of_rule = all.iter().find(|insight| insight.rule == RULE.id);
        of_rule.map_or_else(Vec::new, |one| one.sentence.numbers().map(|of| of.0).collect())
    }

    #[test]
    fn a_share_of_the_bandwidth() {
        let found = found("NVIDIA RTX PRO 6000 Blackwell Workstation Edition");
        // 1792 GB/s over 3.56 GiB is 469 steps a second; the input embeddings are not read.
        assert!(found[2] > 460.0 && found[2] < 520.0, "{found:?}");
        assert!((found[1] - found[0] / found[2]).abs() < 1e-12, "{found:?}");
    }

    #[test]
    fn a_machine_that_nobody_knows_has_no_limit() {
        assert!(found("zx9000").is_empty());
    }
}
