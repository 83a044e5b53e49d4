//! The names and contents of the metrics pages of inference servers: one file for each kind of
//! server, one line in `ENGINES`.
//!
//! Names change over the versions, so a quantity may have several rules: the first whose metrics
//! are all on the page is taken. What a page does not hold is absent. Not here: the text format
//! (`page`), fetching a page.

mod inferometer;
mod llama_cpp;
mod sglang;
mod tensorrt_llm;
mod tgi;
mod triton;
mod vllm;

use crate::page::Sample;
use crate::{Page, Reading};
use ifm_core::series::Signal;
use std::collections::BTreeSet;

/// A kind of server.
#[derive(Debug)]
pub struct Engine {
    /// Its name.
    pub name: &'static str,
    /// Prefix of metric names that only this engine uses.
    mark: &'static str,
    /// Where its page is, below the server's root.
    pub path: &'static str,
    rules: &'static [Rule],
}

/// How a quantity is found on a page: as the sum of some metrics.
#[derive(Debug)]
struct Rule {
    quantity: Signal,
    /// Its unit, where that is not the usual one.
    unit: Option<&'static str>,
    sum_of: &'static [Metric],
    /// A label whose values, whole numbers, are kept apart instead of added up.
    apart_by: Option<&'static str>,
}

/// A metric on a page.
#[derive(Debug)]
struct Metric {
    name: &'static str,
    /// A label and the value that it must have.
    label: Option<(&'static str, &'static str)>,
    over: Over,
}

/// What is made of several samples of one metric, which are parts of a server or kinds of event.
#[derive(Debug, Clone, Copy)]
enum Over {
    Sum,
    Max,
}

const fn metric(name: &'static str) -> Metric {
    Metric { name, label: None, over: Over::Sum }
}

const fn fullest(name: &'static str) -> Metric {
    Metric { name, label: None, over: Over::Max }
}

const fn rule(quantity: Signal, sum_of: &'static [Metric]) -> Rule {
    Rule { quantity, unit: None, sum_of, apart_by: None }
}

/// Values of a label above this are no place in a draft.
const APART_MAX: u32 = 255;

/// Every kind of server; the first match wins. Servers that borrow another server's metric names
/// come before it.
pub const ENGINES: [&Engine; 7] = [
    &inferometer::ENGINE,
    &vllm::ENGINE,
    &sglang::ENGINE,
    &llama_cpp::ENGINE,
    &tgi::ENGINE,
    &tensorrt_llm::ENGINE,
    &triton::ENGINE,
];

/// Ranks of one group, which all report the same values as the first.
const RANK_LABELS: [&str; 3] = ["tp_rank", "pp_rank", "moe_ep_rank"];

/// The kind of server that a page is from; absent if it contains no known names.
pub fn recognise(page: &Page<'_>) -> Option<&'static Engine> {
    let is_on = |engine: &&&'static Engine| {
        page.samples.iter().any(|sample| begins(sample.name, engine.mark))
    };
    ENGINES.iter().find(is_on).copied()
}

impl Engine {
    /// What the page reports, for the server as a whole: parts are added up.
    pub fn read(&self, page: &Page<'_>) -> Vec<Reading> {
        let source = format!("{} {}", self.name, self.path);
        let mut readings: Vec<Reading> = Vec::new();
        for rule in self.rules {
            if readings.iter().any(|reading| reading.quantity == rule.quantity) {
                continue;
            }
            let reading = |source: String, value| Reading {
                source,
                quantity: rule.quantity,
                unit: rule.unit.unwrap_or(rule.quantity.unit()),
                value,
            };
            if let Some(label) = rule.apart_by {
                for place in places(page, rule, label) {
                    let at = place.to_string();
                    let parts =
                        rule.sum_of.iter().map(|metric| metric.value(page, &[(label, &at)]));
                    let value: Option<f64> = parts.sum();
                    readings.extend(
                        value.map(|value| reading(format!("{source} {label} {place}"), value)),
                    );
                }
                continue;
            }
            let value: Option<f64> = rule.sum_of.iter().map(|metric| metric.value(page, &[])).sum();
            readings.extend(value.map(|value| reading(source.clone(), value)));
        }
        readings
    }
}

/// The values of a label, rising.
fn places(page: &Page<'_>, rule: &Rule, label: &str) -> BTreeSet<u32> {
    let is_meant =
        |sample: &&Sample<'_>| rule.sum_of.iter().any(|metric| is_same(sample.name, metric.name));
    let found = page.samples.iter().filter(is_meant);
    found
        .filter_map(|sample| sample.label(label)?.parse::<u32>().ok())
        .filter(|place| *place <= APART_MAX)
        .collect()
}

impl Metric {
    /// Of the samples with these labels too; absent where the page does not hold it, or holds
    /// something that can be no count.
    fn value(&self, page: &Page<'_>, labels: &[(&str, &str)]) -> Option<f64> {
        let is_meant = |sample: &&Sample<'_>| {
            is_same(sample.name, self.name)
                && labels.iter().all(|(name, value)| sample.label(name) == Some(*value))
                && self.label.is_none_or(|(name, value)| sample.label(name) == Some(value))
                && RANK_LABELS.iter().all(|rank| sample.label(rank).is_none_or(|rank| rank == "0"))
        };
        let values: Vec<f64> =
            page.samples.iter().filter(is_meant).map(|sample| sample.value).collect();
        let is_sound = values.iter().all(|value| value.is_finite() && *value >= 0.0);
        match self.over {
            _ if !is_sound => None,
            Over::Sum => values.into_iter().reduce(|sum, value| sum + value),
            Over::Max => values.into_iter().reduce(f64::max),
        }
    }
}

/// Whether a name is the one that is meant. Pages that went through other programs have lost
/// their colons.
fn is_same(name: &str, meant: &str) -> bool {
    name.len() == meant.len() && begins(name, meant)
}

fn begins(name: &str, mark: &str) -> bool {
    let same = |(a, b): (u8, u8)| a == b || (b == b':' && a == b'_');
    name.len() >= mark.len() && name.bytes().zip(mark.bytes()).all(same)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_names_metrics_of_its_own_engine() {
        for engine in ENGINES {
            assert!(engine.path.starts_with('/') && !engine.rules.is_empty(), "{}", engine.name);
            for rule in engine.rules {
                assert!(!rule.sum_of.is_empty(), "{} {:?}", engine.name, rule.quantity);
            }
        }
    }

    #[test]
    fn parts_are_added_up_and_ranks_are_not() {
        let text = "sglang_num_running_reqs{tp_rank=\"0\",dp_rank=\"0\"} 3\n\
                    sglang:num_running_reqs{tp_rank=\"1\",dp_rank=\"0\"} 3\n\
                    sglang:num_running_reqs{tp_rank=\"0\",dp_rank=\"1\"} 4\n\
                    sglang:token_usage{dp_rank=\"0\"} 0.25\n\
                    sglang:token_usage{dp_rank=\"1\"} 0.5\n\
                    sglang:num_queue_reqs NaN\n";
        let page = Page::read(text);
        let engine = recognise(&page).expect("a known server");
        let found: Vec<_> =
            engine.read(&page).into_iter().map(|told| (told.quantity, told.value)).collect();
        assert_eq!(found, [(Signal::ServerRunning, 7.0), (Signal::ServerKvShare, 0.5)]);
    }

    #[test]
    fn a_page_of_something_else_is_not_recognised() {
        for text in ["", "python_gc_objects_collected_total 3\nvllm 1\n", "<html></html>"] {
            assert!(recognise(&Page::read(text)).is_none(), "{text}");
        }
    }
}
