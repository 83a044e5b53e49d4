//! Result files as `vllm bench serve --save-detailed` writes them, of a server whose law is known.

use super::law::{Law, Requests};
use serde_json::{Value, json};

/// Median time to first token of one user's share of the load, seconds, or nearly so.
pub(super) const TTFT_S: f64 = 0.05;
/// Mean gap between tokens, seconds.
const GAP_S: f64 = 0.01;
const INPUT_TOKENS: usize = 16;
const OUTPUT_TOKENS: usize = 8;

/// One result file.
#[derive(Debug, Clone, Copy)]
pub(super) struct Result {
    pub law: Law,
    pub seed: u64,
    /// Complete requests.
    pub requests: usize,
    pub failed: usize,
    pub users: usize,
    /// How many times as long every time is as that of the law.
    pub factor: f64,
}

impl Result {
    /// The document. `order` is its place among the documents of a series, which gives its date.
    pub fn document(&self, order: usize) -> Value {
        let mut all = Requests::new(self.law, self.seed);
        let (mut ttfts, mut itls) = (Vec::new(), Vec::new());
        for _ in 0..self.requests {
            let (first, speed) = all.next();
            ttfts.push(TTFT_S * self.factor * first);
            let gap = GAP_S * self.factor * speed;
            itls.push((1..OUTPUT_TOKENS).map(|_| gap * all.random.gamma()).collect::<Vec<f64>>());
        }
        let sums: Vec<f64> = itls.iter().map(|gaps| gaps.iter().sum()).collect();
        let e2es: Vec<f64> = ttfts.iter().zip(&sums).map(|(ttft, sum)| ttft + sum).collect();
        let starts = starts(&e2es, self.users);
        let ends = starts.iter().zip(&e2es).map(|(start, e2e)| start + e2e);
        let seconds = ends.fold(0.0, f64::max);
        let (n, per_s) = (self.requests, |count: usize| count as f64 / seconds);
        let mut document = json!({
            "date": format!("202611{:02}-{:02}0000", 1 + order / 24, order % 24),
            "endpoint_type": "openai-chat", "backend": "openai-chat", "label": null,
            "model_id": "toy", "tokenizer_id": "toy", "num_prompts": n + self.failed,
            "request_rate": "inf", "burstiness": 1.0, "max_concurrency": self.users,
            "duration": seconds, "completed": n, "failed": self.failed,
            "total_input_tokens": INPUT_TOKENS * n, "total_output_tokens": OUTPUT_TOKENS * n,
            "request_throughput": per_s(n), "request_goodput": null,
            "output_throughput": per_s(OUTPUT_TOKENS * n),
            "total_token_throughput": per_s((INPUT_TOKENS + OUTPUT_TOKENS) * n),
            "input_lens": vec![INPUT_TOKENS; n], "output_lens": vec![OUTPUT_TOKENS; n],
            "start_times": starts, "generated_texts": vec![""; n], "errors": vec![""; n],
        });
        let tpots: Vec<f64> = sums.iter().map(|sum| sum / (OUTPUT_TOKENS - 1) as f64).collect();
        let all: Vec<f64> = itls.iter().flatten().copied().collect();
        for (name, values) in [("ttft", &ttfts), ("tpot", &tpots), ("itl", &all), ("e2el", &e2es)] {
            state(&mut document, name, values);
        }
        document["ttfts"] = json!(ttfts);
        document["itls"] = json!(itls);
        document
    }
}

/// When each request starts: each user sends its next one as soon as an answer ended.
fn starts(e2es: &[f64], users: usize) -> Vec<f64> {
    let mut free = vec![0.0f64; users.max(1)];
    let mut starts = Vec::with_capacity(e2es.len());
    for e2e in e2es {
        let next = free.iter_mut().min_by(|a, b| a.total_cmp(b));
        if let Some(next) = next {
            starts.push(*next);
            *next += e2e;
        }
    }
    starts
}

/// Writes mean, deviation and percentiles, in milliseconds.
fn state(document: &mut Value, name: &str, values: &[f64]) {
    let mut sorted: Vec<f64> = values.iter().map(|value| value * 1e3).collect();
    sorted.sort_unstable_by(f64::total_cmp);
    let n = sorted.len() as f64;
    let mean = sorted.iter().sum::<f64>() / n;
    let variance = sorted.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / n;
    let percentile = |p: f64| {
        let place = (n - 1.0) * p / 100.0;
        let at = |rank: usize| sorted.get(rank.min(sorted.len() - 1)).copied().unwrap_or(0.0);
        let low = at(place as usize);
        low + (at(place as usize + 1) - low) * place.fract()
    };
    document[format!("mean_{name}_ms")] = json!(mean);
    document[format!("std_{name}_ms")] = json!(variance.sqrt());
    document[format!("median_{name}_ms")] = json!(percentile(50.0));
    for p in [90, 95, 99] {
        document[format!("p{p}_{name}_ms")] = json!(percentile(f64::from(p)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_keeps_its_own_arithmetic() {
        let law = Law::Lognormal;
        let result = Result { law, seed: 1, requests: 50, failed: 2, users: 4, factor: 1.0 };
        let document = result.document(25);
        let list = |name: &str| -> Vec<f64> {
            let list = document[name].as_array().expect("a list");
            list.iter().filter_map(Value::as_f64).collect()
        };
        let (starts, ttfts) = (list("start_times"), list("ttfts"));
        assert_eq!((starts.len(), ttfts.len()), (50, 50));
        assert_eq!(starts.iter().filter(|start| **start == 0.0).count(), 4);
        let mean = ttfts.iter().sum::<f64>() / 50.0 * 1e3;
        assert!((document["mean_ttft_ms"].as_f64().expect("a mean") - mean).abs() < 1e-9);
        assert_eq!(document["num_prompts"], 52);
        assert_eq!(document["date"], "20261102-010000");
    }

    #[test]
    fn a_slower_server_is_slower_in_every_time() {
        let law = Law::Exponential;
        let result = Result { law, seed: 1, requests: 30, failed: 0, users: 3, factor: 1.0 };
        let slow = Result { factor: 1.1, ..result }.document(0);
        let result = result.document(0);
        for (name, expect) in [("median_ttft_ms", 1.1), ("output_throughput", 1.0 / 1.1)] {
            let ratio = slow[name].as_f64().expect(name) / result[name].as_f64().expect(name);
            assert!((ratio - expect).abs() < 1e-9, "{name}: {ratio}");
        }
    }
}
