//! How far repeats of the same measurement lie apart.

use super::{matrix, measure_word, measured};
use crate::insight::{Bands, Insight, InsightRule, Meant, Question, Sentence, Tone, Topic};
use ifm_compare::matrix::{Cell, TRUSTED_CV_MAX};
use ifm_core::Metric;
use ifm_core::order::Order as _;
use ifm_core::sheet::{Statistic, StdKind, key};
use ifm_results::say;

pub(super) const RULE: InsightRule = InsightRule {
    id: "repeat_noise",
    title: "measurements whose repeats vary by more than a fifth of their mean, and how many vary less but noticeably",
    look,
};

/// Maximum number of measurements that are listed one by one.
const TOLD_MAX: usize = 5;

/// One measurement with its spread.
struct Spread {
    name: String,
    mean: f64,
    std: f64,
    how: Meant,
    topic: Topic,
    of: Option<String>,
}

impl Spread {
    fn cv(&self) -> f64 {
        self.std / self.mean
    }
}

fn look(question: &Question) -> Vec<Insight> {
    let mut all = of_matrix(question);
    all.extend(of_engines(question));
    let count = all.len();
    all.retain(|spread| Bands::get().cv.is_poor(spread.cv()));
    all.order_by(|a, b| b.cv().total_cmp(&a.cv()));
    let wild = all.iter().filter(|spread| spread.cv() > TRUSTED_CV_MAX).count();
    let told = wild.min(TOLD_MAX);
    let mut found: Vec<Insight> = all.iter().take(told).map(tell).collect();
    if let (Some(least), Some(most), true) = (all.last(), all.get(told), all.len() > told) {
        let sentence = say!(
            "{}{} of {} measurements spread by {} to {} of their mean over their repeats.";
            if told > 0 { "Another " } else { "" }, (all.len() - told) as f64 => Count,
            count as f64 => Count, least.cv() => Share, most.cv() => Share
        );
        let tone = if wild > told { Tone::Warn } else { Tone::Note };
        found.push(Insight::new(RULE.id, Topic::Summary, tone, sentence).weighing(least.cv()));
    }
    found
}

fn tell(spread: &Spread) -> Insight {
    let sentence = say!(
        "{}: repeats spread by {} of their mean ({} ± {}), so this mean says little.";
        spread.name, spread.cv() => Share, Sentence::number(spread.mean, spread.how, true),
        Sentence::number(spread.std, spread.how, true)
    );
    let insight = Insight::new(RULE.id, spread.topic, Tone::Warn, sentence).weighing(spread.cv());
    match &spread.of {
        Some(of) => insight.of(of.clone()),
        None => insight,
    }
}

fn of_matrix(question: &Question) -> Vec<Spread> {
    let Some(matrix) = matrix(question) else { return Vec::new() };
    let spread = |(cell, measure): (&Cell, Metric)| {
        let configuration = matrix.configurations.get(cell.configuration)?;
        let sample = cell.sample(measure)?;
        let is_ranked = measure == configuration.measure;
        let by = if is_ranked { String::new() } else { format!(", {}", measure_word(measure)) };
        let name = configuration.name();
        // What does not rank is reported only if it says nothing at all.
        (is_ranked || !sample.is_trusted()).then_some(Spread {
            name: format!("{} at {name}{by}", matrix.thing(cell.thing)),
            mean: sample.mean,
            std: sample.std?,
            how: measured(measure),
            topic: Topic::Ranking,
            of: Some(name),
        })
    };
    let measures = |cell: &Cell| {
        let ranked = matrix.configurations.get(cell.configuration).map(|of| of.measure);
        let output = Some(Metric::OutputRate).filter(|output| Some(output) != ranked.as_ref());
        ranked.into_iter().chain(output)
    };
    let all = matrix.cells.iter().flat_map(|cell| measures(cell).map(move |by| (cell, by)));
    all.filter_map(spread).filter(|spread| spread.mean > 0.0).collect()
}

/// Rows of engine benchmarks, which print a deviation and not their repeats.
fn of_engines(question: &Question) -> Vec<Spread> {
    let kinds = [StdKind::Sample, StdKind::Population, StdKind::Unknown];
    let mut found = Vec::new();
    for point in question.results.engine_tests() {
        for quantity in [Metric::PrefillRate, Metric::DecodeRate] {
            let mean = point.central(quantity).map(|reading| reading.value);
            let std = kinds.iter().find_map(|kind| point.value(quantity, Statistic::Std(*kind)));
            let (Some(mean), Some(std)) = (mean.filter(|mean| *mean > 0.0), std) else { continue };
            let factor = |name: &str| point.factor(name).unwrap_or_default();
            let power = point.factor(key::POWER_LIMIT_W);
            let power = power.map(|power| format!(" at {power} W")).unwrap_or_default();
            let name = format!("{} of {}{power}", factor(key::TEST), factor(key::MODEL));
            let topic = Topic::Power;
            found.push(Spread { name, mean, std, how: Meant::TokPerS, topic, of: None });
        }
    }
    found
}
