//! The block that `vllm bench serve` prints, so that people and scripts that know it can read it.
//!
//! Layout as in version 0.33: 50 wide, labels left in 40, values left in 10. The numbers follow
//! vLLM's definitions, see [`ifm_metrics::definitions::vllm`]; a value that is not defined is
//! `nan`, as Python prints it. What is not here: notes of our own, which would break the readers,
//! except the one saying that a prediction is not a benchmark.

use crate::{ReportModel, VllmLines};
use ifm_core::sheet::key;
use ifm_core::spec::LoadSpec;
use ifm_metrics::definitions::vllm::{VllmLatency, VllmSummary};
use std::fmt::Write;

const WIDTH: usize = 50;
/// How Python prints what is not defined.
const NAN: &str = "nan";
/// The name of the latency target that was given in vLLM's own words.
const GOODPUT_TARGET: &str = "goodput";

/// One block for each level, an empty line between them.
pub fn vllm(model: &ReportModel) -> String {
    let goodput = model.manifest.spec.slo.name == GOODPUT_TARGET;
    let is_predicted = model.manifest.predicted.is_some();
    // The rate of each level, where every level that was asked for sent something.
    let levels = &model.manifest.spec.levels;
    let has_all = levels.len() == model.vllm.len();
    let rate = |index: usize| levels.get(index).filter(|_| has_all).and_then(rate_of);
    let blocks = model.vllm.iter().enumerate();
    let lines = &model.vllm_lines;
    let block = |(index, summary)| block(summary, rate(index), (goodput, is_predicted), lines);
    blocks.map(block).collect::<Vec<String>>().join("\n")
}

/// Requests per second that were asked for, where that is one rate.
fn rate_of(level: &LoadSpec) -> Option<f64> {
    match level.arrivals.as_ref()?.stretches.as_slice() {
        [one] if one.from_req_per_s == one.to_req_per_s => Some(one.from_req_per_s),
        _ => None,
    }
}

fn block(
    summary: &VllmSummary,
    rate: Option<f64>,
    (goodput, is_predicted): (bool, bool),
    lines: &VllmLines,
) -> String {
    let mut out = String::new();
    rule(&mut out, " Serving Benchmark Result ", '=');
    // A separate line that no reader knows: what is not a measurement must not look like one.
    if is_predicted {
        line(&mut out, "Numbers:", key::PREDICTED);
    }
    line(&mut out, "Successful requests:", &summary.completed.to_string());
    line(&mut out, "Failed requests:", &summary.failed.to_string());
    if let Some(concurrency) = summary.max_concurrency {
        line(&mut out, "Maximum request concurrency:", &concurrency.to_string());
    }
    if let Some(rate) = rate {
        float(&mut out, "Request rate configured (RPS):", rate);
    }
    float(&mut out, "Benchmark duration (s):", summary.duration_s);
    let whole = |count: Option<u64>| count.map_or_else(|| NAN.to_owned(), |n| n.to_string());
    line(&mut out, "Total input tokens:", &whole(summary.total_input_tokens));
    line(&mut out, "Total generated tokens:", &whole(summary.total_output_tokens));
    float(&mut out, "Request throughput (req/s):", summary.request_throughput);
    if let Some(value) = summary.request_goodput.filter(|_| goodput) {
        float(&mut out, "Request goodput (req/s):", value);
    }
    let output = summary.output_throughput.unwrap_or(f64::NAN);
    float(&mut out, "Output token throughput (tok/s):", output);
    let peak = summary.peak_output_throughput.unwrap_or(f64::NAN);
    float(&mut out, "Peak output token throughput (tok/s):", peak);
    float(&mut out, "Peak concurrent requests:", summary.peak_concurrent_requests);
    if let Some(rtfx) = summary.rtfx {
        float(&mut out, "RTFx (Inverse Real-Time Factor):", rtfx);
    }
    let total = summary.total_token_throughput.unwrap_or(f64::NAN);
    float(&mut out, "Total token throughput (tok/s):", total);
    for (word, title, name, values) in [
        ("ttft", "Time to First Token", "TTFT", &summary.ttft),
        ("tpot", "Time per Output Token (excl. 1st token)", "TPOT", &summary.tpot),
        ("itl", "Inter-token Latency", "ITL", &summary.itl),
        ("e2el", "End-to-end Latency", "E2EL", &summary.e2el),
    ] {
        if lines.metrics.iter().any(|metric| metric == word) {
            latency(&mut out, (title, name), values.as_ref(), &lines.percentiles);
        }
    }
    rule(&mut out, "", '=');
    out
}

fn latency(
    out: &mut String,
    (title, name): (&str, &str),
    latency: Option<&VllmLatency>,
    percentiles: &[f64],
) {
    rule(out, title, '-');
    let value = |pick: fn(&VllmLatency) -> f64| latency.map_or(f64::NAN, pick);
    float(out, &format!("Mean {name} (ms):"), value(|latency| latency.mean_ms));
    float(out, &format!("Median {name} (ms):"), value(|latency| latency.median_ms));
    for &p in percentiles {
        let known = latency.and_then(|latency| {
            latency.percentiles_ms.iter().find(|(known, _)| *known == p).map(|(_, value)| *value)
        });
        float(out, &format!("P{p} {name} (ms):"), known.unwrap_or(f64::NAN));
    }
}

/// A title centered between signs; as in Python, the odd sign goes to the right.
pub(crate) fn rule(out: &mut String, title: &str, sign: char) {
    let free = WIDTH.saturating_sub(title.len());
    let sign = sign.to_string();
    let left = sign.repeat(free / 2);
    let right = sign.repeat(free - free / 2);
    out.push_str(&format!("{left}{title}{right}\n"));
}

pub(crate) fn float(out: &mut String, label: &str, value: f64) {
    let text = if value.is_nan() { NAN.to_owned() } else { format!("{value:.2}") };
    line(out, label, &text);
}

pub(crate) fn line(out: &mut String, label: &str, value: &str) {
    // Writing to a string cannot fail.
    let _ = writeln!(out, "{label:<40} {value:<10}");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{model, sweep};

    #[test]
    fn the_layout_is_that_of_vllm() {
        let model = model(&sweep());
        insta::assert_snapshot!(vllm(&model));
        for line in vllm(&model).lines() {
            assert!(line.is_empty() || line.len() >= WIDTH, "{line:?}");
        }
    }

    #[test]
    fn the_goodput_line_is_there_only_for_vllms_own_flag() {
        let mut run = sweep();
        assert!(!vllm(&model(&run)).contains("goodput"));
        run.manifest.spec.slo.name = GOODPUT_TARGET.to_owned();
        assert!(vllm(&model(&run)).contains("Request goodput (req/s):                 "));
    }

    #[test]
    fn prompts_that_nobody_counted_are_nan_and_not_0() {
        let mut model = model(&sweep());
        assert!(!vllm(&model).contains(NAN));
        for block in &mut model.vllm {
            (block.total_input_tokens, block.total_token_throughput) = (None, None);
        }
        let text = vllm(&model);
        for label in ["Total input tokens:", "Total token throughput (tok/s):"] {
            assert!(text.contains(&format!("{label:<40} nan       \n")), "{text}");
        }
    }

    #[test]
    fn latencies_and_percentiles_are_those_of_its_flags() {
        let run = sweep();
        let labels = |text: &str| -> Vec<String> {
            let block = text.split("\n\n").next().unwrap_or_default();
            let after = block.lines().skip_while(|line| !line.contains("Time to First Token"));
            after.map(|line| line.get(..24).unwrap_or(line).trim().to_owned()).collect()
        };
        let text = vllm(&model(&run));
        assert!(!text.contains("E2EL") && !text.contains("P50") && !text.contains("P90"), "{text}");
        let known = labels(&text);
        assert_eq!(known[1..4], ["Mean TTFT (ms):", "Median TTFT (ms):", "P99 TTFT (ms):"]);
        let lines = VllmLines { metrics: vec!["e2el".to_owned()], percentiles: vec![75.0, 99.9] };
        let other = vllm(&model(&run).with_vllm_lines(lines, &run));
        assert!(!other.contains("TTFT") && !other.contains(NAN), "{other}");
        assert!(other.contains("P75 E2EL (ms):") && other.contains("P99.9 E2EL (ms):"), "{other}");
    }

    #[test]
    fn what_is_not_defined_is_nan() {
        let run = crate::testing::all_failed();
        assert!(
            vllm(&model(&run)).contains("Mean TTFT (ms):                          nan       \n")
        );
    }
}
