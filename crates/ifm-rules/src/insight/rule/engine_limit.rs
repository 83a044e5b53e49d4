//! Generation of an engine as a share of what the memory of its machine allows.

use crate::insight::{Insight, InsightRule, Question, Tone, Topic};
use ifm_core::Metric;
use ifm_core::sheet::{Statistic, key};
use ifm_metrics::roof;
use ifm_results::Point;
use ifm_results::say;
use ifm_roofline::Binding;

const BYTES_PER_GIB: f64 = (1u64 << 30) as f64;

pub(super) const RULE: InsightRule = InsightRule {
    id: "engine_limit",
    title: "the largest share of the limit of machine and model that an engine reaches when it generates",
    look,
};

/// What machine and model say about the speed of generation.
#[derive(Debug, Clone, PartialEq)]
pub enum EngineLimit {
    /// It can be no faster than this.
    AtMost(DecodeLimit),
    /// The weights are larger than the memory of the GPUs: part of the model runs elsewhere, and
    /// the memory of the GPUs is not a limit of the whole.
    Larger {
        /// Weights, bytes.
        weight_bytes: f64,
        /// Memory of all GPUs, bytes.
        memory_bytes: f64,
    },
}

/// The most that machine and model allow, and what it is computed from.
#[derive(Debug, Clone, PartialEq)]
pub struct DecodeLimit {
    /// Tokens per second.
    pub tok_per_s: f64,
    /// Bytes that are read for a token, where memory bandwidth is what limits.
    pub bytes_per_token: Option<f64>,
    /// Memory bandwidth of all GPUs, bytes per second.
    pub bytes_per_s: f64,
    /// The row of the table of machines: its name, and how well it is founded.
    pub machine: String,
    /// What the figures of that row rest on.
    pub source: String,
    /// Whether it was measured on the machine itself, where caches may feed faster than memory does.
    pub is_measured: bool,
}

/// The limit that the producer of a row measured on its own machine.
fn measured(point: &Point) -> Option<DecodeLimit> {
    let value = |quantity: Metric| point.value(quantity, Statistic::Value);
    Some(DecodeLimit {
        tok_per_s: value(Metric::other("roofline rate"))?,
        bytes_per_token: None,
        bytes_per_s: value(Metric::Bandwidth)?,
        machine: "this machine".to_owned(),
        source: "measured with the same threads before the tests".to_owned(),
        is_measured: true,
    })
}

/// What machine and model allow for the sequences of an engine's row: no step is shorter than
/// reading once what every step reads of the weights. Absent where machine or model is not known.
pub fn decode_limit(question: &Question, point: &Point) -> Option<EngineLimit> {
    if let Some(limit) = measured(point) {
        return Some(EngineLimit::AtMost(limit));
    }
    let value = |quantity: Metric| point.value(quantity, Statistic::Value);
    let size = value(Metric::other("model_size"));
    let named = (question.gpu.as_deref(), question.model.as_deref());
    let known = roof::setup(named, &point.setting, value(Metric::Parameters), size)?;
    let setup = known.as_told()?;
    let machine = setup.machine();
    let (weight_bytes, memory) = (setup.weight_bytes(), machine.memory_gib);
    if let Some(memory_bytes) = memory.map(|gib| gib * BYTES_PER_GIB * setup.gpus())
        && weight_bytes > memory_bytes
    {
        return Some(EngineLimit::Larger { weight_bytes, memory_bytes });
    }
    let number = |name: &str| point.setting.number(name).filter(|number| *number >= 0.0);
    let batch = number(key::BATCH_SIZE).unwrap_or(1.0).max(1.0);
    let bound = setup.decode(batch, number(key::DEPTH_TOKENS).unwrap_or(0.0) + 1.0);
    let tok_per_s = Some(bound.tokens_per_s(bound.strict)).filter(|limit| limit.is_finite())?;
    let bytes_per_s = machine.bandwidth_gb_s * 1e9 * setup.gpus();
    let is_memory = bound.strict.binds == Binding::MemoryBandwidth;
    Some(EngineLimit::AtMost(DecodeLimit {
        tok_per_s,
        bytes_per_token: is_memory.then_some(bytes_per_s / tok_per_s),
        bytes_per_s,
        machine: format!("{}, {}", machine.name, machine.confidence.label()),
        source: machine.source.clone(),
        is_measured: false,
    }))
}

fn look(question: &Question) -> Vec<Insight> {
    let shares = question.results.engine_tests().filter_map(|point| {
        let rate = point.central(Metric::DecodeRate)?.value;
        match decode_limit(question, point)? {
            // Exceeding one of these is possible: the weights came from a cache.
            EngineLimit::AtMost(limit) if limit.is_measured => None,
            EngineLimit::AtMost(limit) => Some((point, rate, limit)),
            EngineLimit::Larger { .. } => None,
        }
    });
    let largest = shares.max_by(|a, b| (a.1 / a.2.tok_per_s).total_cmp(&(b.1 / b.2.tok_per_s)));
    let Some((point, rate, limit)) = largest else { return Vec::new() };
    let share = rate / limit.tok_per_s;
    let (tone, end) = match share > 1.0 {
        true => (Tone::Bad, "; more than all cannot be: an input is wrong"),
        false => (Tone::Note, ""),
    };
    let model = point.factor(key::MODEL).unwrap_or_else(|| "The model".to_owned());
    let read = limit.bytes_per_token.map(
        |bytes| say!("{} read per token at {} "; bytes => Bytes, limit.bytes_per_s => BytesPerS),
    );
    let sentence = say!(
        "{} comes nearest to its limit: {}allow at most {}; {} is {}{} (hardware table: {}).";
        model, read.unwrap_or_default(), limit.tok_per_s => TokPerS, rate => TokPerS, share => Share, end, limit.machine
    );
    vec![Insight::new(RULE.id, Topic::DecodeSpeed, tone, sentence).weighing(share)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::insight::insights;
    use ifm_results::testing::engine;
    use ifm_results::{Results, Stat};

    const WORKSTATION: &str = "NVIDIA RTX PRO 6000 Blackwell Workstation Edition";

    fn row(gpu: &str, (model, parameters, gib): (&str, f64, f64)) -> Point {
        let mut point = engine(600, 278.95);
        point.setting.set(key::GPU, gpu);
        point.setting.set(key::MODEL, model);
        let reading = |quantity, value| Stat::new(quantity, Statistic::Value, value);
        point.stats.push(reading(Metric::Parameters, parameters));
        let size = Metric::other("model_size");
        point.stats.push(reading(size, gib * BYTES_PER_GIB));
        point
    }

    fn found(gpu: &str) -> Vec<f64> {
        let points = vec![row(gpu, ("llama 7B Q4_0", 6.74e9, 3.56))];
        let results = Results { sources: Vec::new(), points };
        let all = insights(&Question::new(&results));
        let of_rule = all.iter().find(|insight| insight.rule == RULE.id);
        of_rule.map_or_else(Vec::new, |one| one.sentence.numbers().map(|of| of.0).collect())
    }

    #[test]
    fn a_share_of_the_bandwidth() {
        let found = found(WORKSTATION);
        let [bytes, bandwidth, limit, rate, share] = found[..] else { panic!("{found:?}") };
        // 1792 GB/s over 3.56 GiB is 469 steps a second; the input embeddings, 2 % of it, are not
        // read.
        let gib = bytes / BYTES_PER_GIB;
        assert!(gib > 3.56 * 0.97 && gib < 3.56, "{gib}");
        assert_eq!((bandwidth, rate), (1792e9, 278.95));
        assert!((limit - bandwidth / bytes).abs() < 1e-9 && limit > 469.0, "{limit}");
        assert!((share - rate / limit).abs() < 1e-12, "{share}");
    }

    #[test]
    fn a_model_that_does_not_fit_has_no_limit_of_bandwidth() {
        let point = row(WORKSTATION, ("llama ?B IQ2_XXS - 2.0625 bpw", 405.85e9, 99.9));
        let results = Results { sources: Vec::new(), points: vec![point] };
        let question = Question::new(&results);
        let limit = decode_limit(&question, &results.points[0]).expect("machine and model");
        let EngineLimit::Larger { weight_bytes, memory_bytes } = limit else { panic!("{limit:?}") };
        assert_eq!((weight_bytes, memory_bytes), (99.9 * BYTES_PER_GIB, 95.59 * BYTES_PER_GIB));
        assert!(insights(&question).iter().all(|insight| insight.rule != RULE.id));
    }

    #[test]
    fn an_unknown_machine_has_no_limit() {
        assert!(found("zx9000").is_empty());
    }
}
