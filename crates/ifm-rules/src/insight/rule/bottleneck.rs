//! The probable bottleneck, from the shape of the curves. A guess, always with the two numbers
//! that it rests on: the server itself was not examined.

use super::context_penalty::extremes;
use super::{CENTER, curves, efficiency_curves, told_by};
use crate::insight::{Insight, InsightRule, Question, Tone, Topic};
use ifm_core::Metric;
use ifm_core::sheet::{PartKind, Statistic};
use ifm_results::say;
use ifm_results::{Curve, Pool};

/// A latency that grows by less stays flat.
const FLAT_MAX: f64 = 1.3;
/// Efficiency at long contexts below this share of that at short ones falls with the context.
const CONTEXT_SHARE_MAX: f64 = 0.7;
/// TTFT that grows by this share of what the load grows by grows with it.
const LINEAR_MIN: f64 = 0.5;
/// Output that grows by less than this share of the load does not grow.
const OUTPUT_MAX: f64 = 0.2;
/// Growth is judged from this factor between the loads on.
const LOADS_MIN: f64 = 4.0;

pub(super) const RULE: InsightRule = InsightRule {
    id: "bottleneck",
    title: "the likely bottleneck, with the two numbers behind the guess",
    look,
};

fn look(question: &Question) -> Vec<Insight> {
    let pool = question.results.pool(PartKind::Serving);
    let by = told_by(question);
    let mut found: Vec<Insight> = Vec::new();
    found.extend(context(&efficiency_curves(&pool, &by)));
    let itl = growths(&pool, &by, Metric::Itl, CENTER);
    let ttft = growths(&pool, &by, Metric::Ttft, CENTER);
    let output = growths(&pool, &by, Metric::OutputRate, &[Statistic::Value]);
    for growth in &ttft {
        let same = |other: &&Growth| other.name == growth.name && other.loads == growth.loads;
        let Some(itl) = itl.iter().find(same) else { continue };
        let load = growth.loads.1 / growth.loads.0;
        if load < LOADS_MIN || itl.ratio > FLAT_MAX {
            continue;
        }
        let output = output.iter().find(same);
        if growth.ratio - 1.0 >= LINEAR_MIN * (load - 1.0) {
            found.push(prefill(growth, itl));
        } else if let Some(output) = output.filter(|output| {
            growth.ratio < FLAT_MAX && output.ratio - 1.0 < OUTPUT_MAX * (load - 1.0)
        }) {
            found.push(outside(growth, output));
        }
    }
    found
}

/// Efficiency falls faster with the context.
fn context(efficiencies: &[Curve]) -> Option<Insight> {
    let [(short, short_tokens), (long, long_tokens)] = extremes(efficiencies)?;
    let at = long.points.iter().rev().find(|point| short.at(point.at).is_some())?;
    let of_short = short.at(at.at)?.stat.value;
    let of_long = at.stat.value;
    if at.at <= 1.0 || of_long > CONTEXT_SHARE_MAX * of_short {
        return None;
    }
    let sentence = say!(
        "traffic of keys and values, or prompts that are read between the steps, likely limits \
         long contexts: at {} users efficiency is {} with {} tokens and {} with {}.";
        at.at => Load, of_long => Share, long_tokens => Count, of_short => Share,
        short_tokens => Count
    );
    Some(Insight::new(RULE.id, Topic::Scaling, Tone::Note, sentence).hypothesis())
}

fn prefill(ttft: &Growth, itl: &Growth) -> Insight {
    let sentence = say!(
        "{}reading prompts likely limits: TTFT grows {} from {} to {}, ITL only {}.";
        ttft.head(), ttft.ratio => Times, ttft.loads.0 => Load, ttft.loads.1 => Load,
        itl.ratio => Times
    );
    Insight::new(RULE.id, Topic::Ttft, Tone::Note, sentence).hypothesis()
}

fn outside(ttft: &Growth, output: &Growth) -> Insight {
    let sentence = say!(
        "{}something before the engine, a limit of rate or the client, likely limits: from {} to {} \
         output grows only {} while TTFT grows only {}.";
        ttft.head(), ttft.loads.0 => Load, ttft.loads.1 => Load, output.ratio => Times,
        ttft.ratio => Times
    );
    Insight::new(RULE.id, Topic::Throughput, Tone::Note, sentence).hypothesis()
}

/// How a quantity grows from the lowest to the highest load.
struct Growth {
    name: String,
    loads: (f64, f64),
    ratio: f64,
}

impl Growth {
    fn head(&self) -> String {
        if self.name.is_empty() { String::new() } else { format!("{}: ", self.name) }
    }
}

fn growths(pool: &Pool, by: &[String], quantity: Metric, statistics: &[Statistic]) -> Vec<Growth> {
    let growth = |curve: &Curve| {
        let (first, last) = (curve.points.first()?, curve.points.last()?);
        (first.at > 0.0 && last.at > first.at && first.stat.value > 0.0).then(|| Growth {
            name: curve.name(),
            loads: (first.at, last.at),
            ratio: last.stat.value / first.stat.value,
        })
    };
    curves(pool, by, quantity, statistics).iter().filter_map(growth).collect()
}
