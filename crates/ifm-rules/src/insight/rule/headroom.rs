//! How near decoding comes to what the machine can do at most.

use super::{told_by, user_speed_curves};
use crate::insight::{Insight, InsightRule, Question, Tone, Topic};
use ifm_core::Metric;
use ifm_core::sheet::{PartKind, Statistic, key};
use ifm_metrics::level::Load;
use ifm_metrics::roof;
use ifm_results::say;
use ifm_results::{CurvePoint, Pooled};
use ifm_roofline::{Bound, Setup};

pub(super) const RULE: InsightRule = InsightRule {
    id: "headroom",
    title: "decode speed as a share of the limit of machine and model, at the lowest load",
    look,
};

/// What runs where a measurement was made: as the user names it, else as the measurement does.
pub fn setup_of(question: &Question, cell: &Pooled) -> Option<Setup> {
    let named = (question.gpu.as_deref(), question.model.as_deref());
    roof::setup(named, cell.setting()?, None, None)?.as_told()
}

/// Users that share a step: the requested ones, or those in flight on average if that is clearly
/// less. Absent in an open loop.
pub fn step_users(cell: &Pooled) -> Option<f64> {
    let Load::Users(users) = cell.load()? else { return None };
    Some(cell.held_less().unwrap_or(f64::from(users)))
}

/// The shortest step that gives each of the users there a token, at the mean length of their
/// contexts: prompt and half the answer, as they were set, else as they were counted, else one token.
/// Absent where machine or model is not known.
pub fn step_limit(question: &Question, cell: &Pooled) -> Option<Bound> {
    let set = |name: &str| cell.setting()?.number(name).filter(|number| *number >= 1.0);
    let counted = |quantity| {
        let sum = cell.stat(quantity, Statistic::Value)?.value;
        Some(sum / cell.requests_ok()?).filter(|mean| *mean >= 1.0)
    };
    let prompt = set(key::INPUT_TOKENS).or_else(|| counted(Metric::InputTokens));
    let answer = set(key::OUTPUT_TOKENS).or_else(|| counted(Metric::OutputTokens));
    let context = prompt.unwrap_or(1.0) + answer.unwrap_or(0.0) / 2.0;
    Some(setup_of(question, cell)?.decode(step_users(cell)?, context))
}

fn look(question: &Question) -> Vec<Insight> {
    let pool = question.results.pool(PartKind::Serving);
    let curves = user_speed_curves(&pool, &told_by(question));
    let lowest = curves.iter().filter_map(|curve| Some((curve.name(), curve.points.first()?)));
    lowest.filter_map(|(name, point)| insight(question, &name, point)).collect()
}

fn insight(question: &Question, name: &str, point: &CurvePoint) -> Option<Insight> {
    let bound = step_limit(question, &point.cell)?;
    let limit = bound.strict.seconds.recip();
    let share = point.stat.value / limit;
    let binds = bound.strict.binds.label();
    let head = if name.is_empty() { String::new() } else { format!("{name}: ") };
    let (tone, reach, end) = match share > 1.0 {
        true => {
            let end = ". Nothing can be faster: an input is wrong.";
            (Tone::Bad, say!("is {}"; share => Times), end)
        }
        false => (Tone::Note, say!("reaches {}"; share => Share), "."),
    };
    let sentence = say!(
        "{}decode {} of the {} limit at {}: {} of at most {}{}";
        head, reach, binds, point.at => Load, point.stat.value => TokPerS, limit => TokPerS, end
    );
    Some(Insight::new(RULE.id, Topic::DecodeSpeed, tone, sentence))
}
