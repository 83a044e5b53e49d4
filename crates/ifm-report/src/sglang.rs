//! The block that SGLang's `bench_serving` prints, so that people and scripts that know it can read it.
//!
//! Layout as in version 0.5.23: 50 wide, labels left in 40, values left in 10. The numbers are those
//! of a sheet by SGLang's definitions; what is not known is `nan`. What is not here: counts of a
//! second tokenizer, which inferometer does not make.

use crate::ReportModel;
use crate::vllm::{float, line, rule};
use ifm_core::Metric;
use ifm_core::Sheet;
use ifm_core::sheet::{Row, RowRole, Statistic, key};

/// Latencies in their order: the title, the name in the lines, the quantity.
const LATENCIES: [(&str, &str, Metric); 4] = [
    ("End-to-End Latency", "E2E Latency", Metric::E2e),
    ("Time to First Token", "TTFT", Metric::Ttft),
    ("Time per Output Token (excl. 1st token)", "TPOT", Metric::Tpot),
    ("Inter-Token Latency", "ITL", Metric::Itl),
];

/// One block for each level of a run, an empty line between them. `sheet` is the run by SGLang's
/// definitions.
pub fn sglang(model: &ReportModel, sheet: &Sheet) -> String {
    let rows = sheet.parts.iter().flat_map(|part| &part.rows);
    let measured = rows.filter(|row| row.role == RowRole::Measured);
    let blocks = measured.enumerate().map(|(index, row)| block(model, row, index));
    blocks.collect::<Vec<String>>().join("")
}

fn block(model: &ReportModel, row: &Row, index: usize) -> String {
    let mut out = String::from("\n");
    let value = |quantity: Metric| row.value(quantity, Statistic::Value);
    rule(&mut out, " Serving Benchmark Result ", '=');
    if model.manifest.predicted.is_some() {
        line(&mut out, "Numbers:", key::PREDICTED);
    }
    line(&mut out, "Backend:", model.manifest.spec.target.api.word());
    line(&mut out, "Traffic request rate:", row.factors.get(key::RATE).unwrap_or("trace"));
    let users = row.factors.get(key::CONCURRENCY).unwrap_or("not set");
    line(&mut out, "Max request concurrency:", users);
    let whole = |out: &mut String, label: &str, quantity: Metric| {
        let text = value(quantity).map_or_else(|| "nan".to_owned(), |count| format!("{count:.0}"));
        line(out, label, &text);
    };
    let rate = |out: &mut String, label: &str, quantity: Metric| {
        float(out, label, value(quantity).unwrap_or(f64::NAN));
    };
    whole(&mut out, "Successful requests:", Metric::RequestsOk);
    rate(&mut out, "Benchmark duration (s):", Metric::Duration);
    whole(&mut out, "Total input tokens:", Metric::InputTokens);
    whole(&mut out, "Total generated tokens:", Metric::OutputTokens);
    rate(&mut out, "Request throughput (req/s):", Metric::RequestRate);
    rate(&mut out, "Input token throughput (tok/s):", Metric::InputRate);
    rate(&mut out, "Output token throughput (tok/s):", Metric::OutputRate);
    if let Some(summary) = model.vllm.get(index) {
        // Both clients count pieces of answers in buckets of a second.
        let peak = summary.peak_output_throughput.unwrap_or(f64::NAN);
        float(&mut out, "Peak output token throughput (tok/s):", peak);
        let peak = format!("{:.0}", summary.peak_concurrent_requests);
        line(&mut out, "Peak concurrent requests:", &peak);
    }
    rate(&mut out, "Total token throughput (tok/s):", Metric::TotalRate);
    let in_flight = row.value(Metric::InFlight, Statistic::Mean);
    float(&mut out, "Concurrency:", in_flight.unwrap_or(f64::NAN));
    for (title, name, quantity) in &LATENCIES {
        rule(&mut out, title, '-');
        let mut add = |word: &str, statistic: Statistic| {
            let value = row.value(*quantity, statistic).unwrap_or(f64::NAN);
            float(&mut out, &format!("{word} {name} (ms):"), value);
        };
        add("Mean", Statistic::Mean);
        add("Median", Statistic::Median);
        for (word, percent) in [("P90", 90.0), ("P95", 95.0), ("P99", 99.0)] {
            add(word, Statistic::percentile(percent));
        }
        if *quantity == Metric::Itl {
            add("Max", Statistic::Max);
        }
    }
    rule(&mut out, "", '=');
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{model, sweep};
    use ifm_metrics::definitions::{self, Definitions};

    #[test]
    fn the_layout_is_that_of_sglang() {
        let run = sweep();
        let text = sglang(&model(&run), &definitions::sheet(&run, Definitions::Sglang));
        let titles = [
            "= Serving Benchmark Result =",
            "-End-to-End Latency-",
            "-Time to First Token-",
            "-Inter-Token Latency-",
        ];
        for title in titles {
            assert_eq!(
                text.matches(title).count(),
                run.manifest.spec.levels.len(),
                "{title}: {text}"
            );
        }
        assert!(text.lines().all(|line| line.is_empty() || line.chars().count() >= 50), "{text}");
        // What scripts look for, at the place where they look.
        for label in ["Output token throughput (tok/s):", "Median ITL (ms):", "Concurrency:"] {
            let line = text.lines().find(|line| line.starts_with(label)).unwrap();
            assert!(line[41..].trim().parse::<f64>().is_ok_and(|value| value > 0.0), "{line}");
        }
    }
}
