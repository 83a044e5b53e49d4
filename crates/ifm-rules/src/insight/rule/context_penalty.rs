//! What a long context costs against a short one.

use super::speed_spread::shared_load;
use super::{told_by, user_speed_curves};
use crate::insight::delta::user_speed;
use crate::insight::{Insight, InsightRule, Question, Tone, Topic};
use ifm_core::sheet::PartKind;
use ifm_results::Curve;
use ifm_results::say;

/// A ratio up to here is not a loss worth a sentence.
const RATIO_MIN: f64 = 1.1;
/// Where the loss among many is this many times that of one alone it comes from sharing.
const SHARING_MIN: f64 = 2.0;

pub(super) const RULE: InsightRule = InsightRule {
    id: "context_penalty",
    title: "slowdown from the shortest to the longest context, with many users and with one",
    look,
};

/// The curves of the shortest and the longest prompt; absent with fewer than two lengths.
pub(super) fn extremes<'c, 'a>(curves: &'c [Curve<'a>]) -> Option<[(&'c Curve<'a>, f64); 2]> {
    let known = || curves.iter().filter_map(|curve| Some((curve, curve.input_tokens()?)));
    let short = known().min_by(|a, b| a.1.total_cmp(&b.1))?;
    let long = known().max_by(|a, b| a.1.total_cmp(&b.1))?;
    (long.1 > short.1).then_some([short, long])
}

fn look(question: &Question) -> Vec<Insight> {
    let pool = question.results.pool(PartKind::Serving);
    let curves = user_speed_curves(&pool, &told_by(question));
    let Some([(short, short_tokens), (long, long_tokens)]) = extremes(&curves) else {
        return Vec::new();
    };
    let pair = [short.clone(), long.clone()];
    let ratio = |at: f64| {
        let (short, long) = (short.at(at)?.stat.value, long.at(at)?.stat.value);
        (long > 0.0).then_some(short / long)
    };
    let Some((high, loss)) = shared_load(&pair, |a, b| a > b).and_then(|at| Some((at, ratio(at)?)))
    else {
        return Vec::new();
    };
    if loss < RATIO_MIN {
        return Vec::new();
    }
    let cells = long.at(high).zip(short.at(high));
    let delta = cells.and_then(|(long, short)| user_speed(question, &long.cell, &short.cell));
    let Some(sure) = delta.and_then(|delta| delta.as_measured()) else { return Vec::new() };
    let mut sentence = say!(
        "{} tokens of context cost {} speed against {} at {}{}";
        long_tokens => Count, loss => Times, short_tokens => Count, high => Load, sure
    );
    let low = shared_load(&pair, |a, b| a < b).filter(|low| *low < high);
    if let Some((low, alone)) = low.and_then(|at| Some((at, ratio(at)?))) {
        sentence = say!("{}; at {} it is {}"; sentence, low => Load, alone => Times);
        if loss - 1.0 >= SHARING_MIN * (alone - 1.0).max(0.0) {
            sentence = say!("{}: the loss comes from sharing, not from length alone"; sentence);
        }
    }
    let insight = Insight::new(RULE.id, Topic::DecodeSpeed, Tone::Note, say!("{}."; sentence));
    vec![insight.weighing(loss - 1.0)]
}
