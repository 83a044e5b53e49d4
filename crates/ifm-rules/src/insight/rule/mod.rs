//! The rules, one file each, in the order in which a report lists them.

mod bottleneck;
mod capacity;
mod cheapest;
mod cold_level;
mod condition;
mod configuration_best;
mod context_penalty;
mod crossover;
mod efficiency;
mod engine_limit;
mod equal_latency;
mod first_crossing;
mod growth;
mod headroom;
mod held_load;
mod in_flight_words;
mod itl_band;
mod kernel;
mod knee;
mod measures_disagree;
mod media;
mod output_peak;
mod overall_winner;
mod pareto;
mod power;
mod repeat_noise;
mod same_prompts;
mod scheme_reason;
mod speed_range;
mod speed_spread;
mod ttft_range;
mod versus_speed;

pub use efficiency::efficiency_curves;
pub use engine_limit::{DecodeLimit, EngineLimit, decode_limit};
pub use equal_latency::itl_limits;
pub use growth::{Growth, growth};
pub use headroom::{setup_of, step_limit, step_users};
pub use knee::knee_at;
pub use pareto::{Configuration, Place, configurations, is_per_gpu};

use super::{InsightRule, Meant, Question, Sentence};
use ifm_compare::matrix::Matrix;
use ifm_core::Metric;
use ifm_core::order::Order as _;
use ifm_core::sheet::{Definition, PartKind, Statistic, key};
use ifm_core::spec::{Asked, SloSpec, SloTerm};
use ifm_core::words::counted;
use ifm_metrics::level::Load;
use ifm_results::say;
use ifm_results::{Curve, CurvePoint, Pool, Stat};
use std::collections::BTreeMap;

/// Every rule.
pub(super) const RULES: &[&InsightRule] = &[
    &capacity::RULE,
    &speed_range::RULE,
    &headroom::RULE,
    &itl_band::RULE,
    &first_crossing::RULE,
    &efficiency::RULE,
    &context_penalty::RULE,
    &speed_spread::RULE,
    &bottleneck::RULE,
    &ttft_range::RULE,
    &knee::RULE,
    &output_peak::RULE,
    &pareto::RULE,
    &cheapest::RULE,
    &overall_winner::RULE,
    &crossover::RULE,
    &measures_disagree::RULE,
    &configuration_best::RULE,
    &repeat_noise::RULE,
    &power::RULE,
    &kernel::RULE,
    &engine_limit::RULE,
    &media::SHARE,
    &media::UPLOAD,
    &media::CACHE,
    &cold_level::RULE,
    &held_load::RULE,
    &same_prompts::RULE,
    &versus_speed::RULE,
    &versus_speed::CROSSOVER,
    &versus_speed::TIE,
    &equal_latency::RULE,
    &growth::RULE,
    &in_flight_words::RULE,
    &scheme_reason::RULE,
    &condition::MODEL,
    &condition::TREND,
    &condition::TAIL,
    &condition::TIE,
    &condition::MISSING,
];

/// Rules that ask what disturbed a measurement, or how near to its limit it came: a prediction is made
/// from the limit.
pub(super) const OF_MEASURED: [&str; 3] =
    [cold_level::RULE.id, headroom::RULE.id, bottleneck::RULE.id];

/// Rules that name what is best, or by how much one is better than another.
pub(super) const OF_WINNERS: [&str; 18] = [
    speed_range::RULE.id,
    speed_spread::RULE.id,
    itl_band::RULE.id,
    ttft_range::RULE.id,
    pareto::RULE.id,
    cheapest::RULE.id,
    overall_winner::RULE.id,
    crossover::RULE.id,
    configuration_best::RULE.id,
    versus_speed::RULE.id,
    versus_speed::CROSSOVER.id,
    versus_speed::TIE.id,
    equal_latency::RULE.id,
    condition::MODEL.id,
    condition::TREND.id,
    condition::TAIL.id,
    condition::TIE.id,
    condition::MISSING.id,
];

/// The median of a population if available, else its mean.
const CENTER: &[Statistic] = &[Statistic::Median, Statistic::Mean, Statistic::Value];

/// Factors that are lengths.
const LENGTHS: [&str; 2] = [key::INPUT_TOKENS, key::OUTPUT_TOKENS];

/// Factors of a prediction from which most of the others follow.
const PREDICTED_FIRST: [&str; 3] =
    ["predicted_machine", "predicted_quantization", "predicted_gpus"];

/// The factors that distinguish serving curves: those that differ, and lengths only if they do not
/// follow from the others, such as the name of a workload or a tag.
pub fn told_by(question: &Question) -> Vec<String> {
    let varying = question.results.varying(PartKind::Serving);
    let is_length = |name: &&String| LENGTHS.contains(&name.as_str());
    let (lengths, others): (Vec<&String>, Vec<&String>) = varying.iter().partition(is_length);
    // What a prediction was made from differs in many things at once: those that say more.
    let is_of_prediction = |name: &&String| name.starts_with(key::PREDICTED_PREFIX);
    let (mut of_prediction, mut told): (Vec<&String>, Vec<&String>) =
        others.into_iter().partition(is_of_prediction);
    let is_constant = |name: &str| !PREDICTED_FIRST.contains(&name);
    of_prediction.order_by_key(|name| is_constant(name));
    let of_lengths = LENGTHS.iter().filter_map(|name| lengths.iter().find(|told| *told == name));
    for name in of_prediction.into_iter().chain(of_lengths.copied()) {
        if !determines(question, &told, name) {
            told.push(name);
        }
    }
    told.into_iter().cloned().collect()
}

/// Whether points that agree in `names` agree in `other` too.
fn determines(question: &Question, names: &[&String], other: &str) -> bool {
    let mut seen = BTreeMap::new();
    question.results.measured(PartKind::Serving).all(|point| {
        let of: Vec<Option<String>> = names.iter().map(|name| point.factor(name)).collect();
        let value = point.factor(other);
        *seen.entry(of).or_insert_with(|| value.clone()) == value
    })
}

/// Curves of a statistic of serving measurements against the load.
fn curves<'a>(
    pool: &Pool<'a>,
    by: &[String],
    quantity: Metric,
    statistics: &[Statistic],
) -> Vec<Curve<'a>> {
    let by: Vec<&str> = by.iter().map(String::as_str).collect();
    let mut curves = pool.curves_against(&by, |cell| {
        let reading = statistics.iter().find_map(|statistic| cell.stat(quantity, *statistic))?;
        Some((cell.load()?.value(), reading))
    });
    curves.iter_mut().for_each(keep_one_definition);
    curves
}

/// Leaves the points of the definition that most of a curve have: values of another are not compared
/// with them, such as rates over whole levels with rates over steady windows.
fn keep_one_definition(curve: &mut Curve) {
    let count = |definition: &Definition| {
        curve.points.iter().filter(|point| point.stat.definition == *definition).count()
    };
    let all = curve.points.iter().rev().map(|point| &point.stat.definition);
    if let Some(most) = all.max_by_key(|definition| count(definition)).cloned() {
        curve.points.retain(|point| point.stat.definition == most);
    }
}

/// Curves of the speed that one user sees: as it was measured, else the inverse of TPOT, else of
/// ITL.
pub fn user_speed_curves<'a>(pool: &Pool<'a>, by: &[String]) -> Vec<Curve<'a>> {
    let by: Vec<&str> = by.iter().map(String::as_str).collect();
    pool.curves_against(&by, |cell| {
        let own = cell.central(Metric::UserSpeed);
        let inverse = |quantity: Metric| {
            let time = cell.central(quantity).filter(|time| time.value > 0.0)?;
            let speed = |ms: f64| 1e3 / ms;
            Some(Stat {
                value: speed(time.value),
                low: time.high.map(speed),
                high: time.low.filter(|low| *low > 0.0).map(speed),
                printed: None,
                metric: Metric::UserSpeed,
                ..time
            })
        };
        let speed = own.or_else(|| inverse(Metric::Tpot)).or_else(|| inverse(Metric::Itl))?;
        Some((cell.load()?.value(), speed))
    })
}

/// The matrix that was measured, where it is a proper one.
fn matrix<'a>(question: &Question<'a>) -> Option<Matrix<'a>> {
    let (by, baseline) = (question.compare_by.as_deref(), question.baseline.as_deref());
    let matrix = Matrix::of(question.results, by, baseline).filter(Matrix::is_proper)?;
    let matrix = matrix.resting_on(question.evidence);
    Some(matrix.ranked_by(question.ranks.by))
}

/// The name of a matrix's measure in a sentence.
fn measure_word(measure: Metric) -> String {
    match measure {
        Metric::TotalRate => "overall throughput".to_owned(),
        Metric::E2e => "latency".to_owned(),
        other => other.to_string(),
    }
}

/// The smallest and the largest of ratios; two that read the same are one.
fn span(ratios: impl IntoIterator<Item = f64>) -> Sentence {
    const WRITTEN: f64 = 100.0;
    let (low, high) = ratios
        .into_iter()
        .fold((f64::INFINITY, 0.0_f64), |(low, high), ratio| (low.min(ratio), high.max(ratio)));
    match (low * WRITTEN).round() < (high * WRITTEN).round() {
        true => say!("{} to {}"; low => Times, high => Times),
        false => say!("{}"; low => Times),
    }
}

/// How a number of a matrix is written.
fn measured(measure: Metric) -> Meant {
    match measure {
        Metric::E2e => Meant::Ms,
        _ => Meant::TokPerS,
    }
}

/// A latency target as text: `TTFT p99 ≤ 500 ms and ITL p99 ≤ 50 ms`.
fn target(slo: &SloSpec) -> Sentence {
    let words = |term: &SloTerm| {
        let (metric, over) = term.asked();
        let limit = match term.limit_shown() {
            Asked::Ms(ms) => say!("{}"; ms => LimitMs),
            other => shown(other, true),
        };
        match term.is_least() {
            true => say!("{} {} ≥ {}"; metric, over, limit),
            false => say!("{} {} ≤ {}"; metric, over, limit),
        }
    };
    Sentence::list(slo.terms.iter().map(words), " and ", " and ")
}

/// A value of a term of a target, as it was asked for.
fn shown(value: Asked, is_measured: bool) -> Sentence {
    match value {
        Asked::Ms(ms) => say!("{}"; ms => Ms if is_measured),
        Asked::TokPerS(speed) => say!("{}"; speed => TokPerS if is_measured),
        Asked::Ratio(ratio) => say!("{}"; ratio => Plain if is_measured),
        Asked::Share(share) => say!("{}"; share => Share if is_measured),
    }
}

/// A load in a sentence: `128 users`, `2.5 req/s`.
fn at_load(load: Load) -> Sentence {
    match load {
        Load::Users(1) => say!("{} user"; 1.0 => Load),
        Load::Users(users) => say!("{} users"; f64::from(users) => Load),
        Load::ReqPerS(rate) => say!("{}"; rate => ReqPerS),
    }
}

/// What a sentence begins with: the name of what it is about, or, where that has none, a capital.
fn headed(name: &str, words: &str) -> String {
    let mut letters = words.chars();
    match (name, letters.next()) {
        ("", Some(first)) => format!("{}{}", first.to_uppercase(), letters.as_str()),
        _ => format!("{name}: {words}"),
    }
}

/// Names in a sentence, the first few of many.
fn joined(names: &[&str]) -> String {
    const NAMED_MAX: usize = 4;
    match names {
        [] => String::new(),
        [only] => (*only).to_owned(),
        [first @ .., last] if names.len() <= NAMED_MAX => {
            format!("{} and {last}", first.join(", "))
        }
        _ => {
            let first = names.get(..NAMED_MAX - 1).unwrap_or_default();
            format!("{} and {} more", first.join(", "), names.len() - first.len())
        }
    }
}

/// A reading in a sentence: `Chatbot, 1 user, median`. If a document does not state the statistic
/// of a figure, the last word is missing.
fn measured_at(curve: &Curve, point: &CurvePoint) -> String {
    let place = place_words(curve, &point.cell);
    match point.stat.statistic {
        Statistic::Median => format!("{place}, median"),
        Statistic::Mean => format!("{place}, mean"),
        _ => place,
    }
}

/// A point in a sentence: `Chatbot, 1 user`.
fn place_words(curve: &Curve, cell: &ifm_results::Pooled) -> String {
    let load = match cell.load() {
        Some(Load::Users(users)) => counted(users.into(), "user"),
        Some(Load::ReqPerS(rate)) => format!("{rate} req/s"),
        None => [Statistic::Mean, Statistic::Median]
            .into_iter()
            .find_map(|statistic| cell.stat(Metric::InFlight, statistic))
            .map_or("load not given".to_owned(), |at| format!("{} in flight", at.value)),
    };
    match curve.name() {
        name if name.is_empty() => load,
        name => format!("{name}, {load}"),
    }
}

/// A curve in a sentence where its quantity has to be named as well.
fn subject(curve: &Curve, quantity: &str) -> String {
    match curve.name() {
        name if name.is_empty() => quantity.to_owned(),
        name => format!("{name}: {quantity}"),
    }
}

#[cfg(test)]
mod matrix_tests;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod versus_tests;
