//! What the server did, in the words of vLLM's `/metrics`, so that dashboards and
//! tools made for it work here.
//!
//! Latencies are measured where the client's are: from the request's arrival until an
//! event is handed to the connection.
//!
//! Not here: the engine's own counters, which are read when the page is asked for.

use std::{
    fmt::Write as _,
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use ifm_engine::EngineStats;

use crate::{
    facts::{Counters, Drafts, Facts},
    media::Media,
};

/// Upper bounds of the buckets, seconds: vLLM's, with finer ones below for models that
/// are small enough for a CPU.
const FIRST_TOKEN_BOUNDS: [f64; 22] = [
    0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0,
    20.0, 40.0, 80.0, 160.0, 640.0, 2560.0,
];
const TOKEN_BOUNDS: [f64; 23] = [
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75,
    1.0, 2.5, 5.0, 7.5, 10.0, 20.0, 40.0, 80.0,
];
const LAG_BOUNDS: [f64; 12] =
    [0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 1.0, 10.0];
const REQUEST_BOUNDS: [f64; 23] = [
    0.05, 0.1, 0.3, 0.5, 0.8, 1.0, 1.5, 2.0, 2.5, 5.0, 10.0, 15.0, 20.0, 30.0, 40.0, 50.0, 60.0,
    120.0, 240.0, 480.0, 960.0, 1920.0, 7680.0,
];

/// Counts of durations in buckets.
#[derive(Debug)]
pub(crate) struct Histogram {
    bounds: &'static [f64],
    /// One more than bounds: the last one is for everything beyond.
    counts: Box<[AtomicU64]>,
    sum_ns: AtomicU64,
}

impl Histogram {
    fn new(bounds: &'static [f64]) -> Self {
        let counts = (0..=bounds.len()).map(|_| AtomicU64::new(0)).collect();
        Self { bounds, counts, sum_ns: AtomicU64::new(0) }
    }

    pub(crate) fn record(&self, duration: Duration) {
        let seconds = duration.as_secs_f64();
        let bucket = self.bounds.partition_point(|bound| *bound < seconds);
        if let Some(count) = self.counts.get(bucket) {
            count.fetch_add(1, Ordering::Relaxed);
        }
        let ns = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        self.sum_ns.fetch_add(ns, Ordering::Relaxed);
    }

    fn write(&self, page: &mut Page<'_>, name: &str, help: &str) {
        page.head(name, "histogram", help);
        let mut total = 0;
        for (index, count) in self.counts.iter().enumerate() {
            total += count.load(Ordering::Relaxed);
            let bound = self.bounds.get(index).map_or("+Inf".to_owned(), f64::to_string);
            page.sample(&format!("{name}_bucket"), &format!("le=\"{bound}\""), &total.to_string());
        }
        let sum = self.sum_ns.load(Ordering::Relaxed) as f64 / 1e9;
        page.sample(&format!("{name}_sum"), "", &sum.to_string());
        page.sample(&format!("{name}_count"), "", &total.to_string());
    }
}

/// Requests of sound, which no backend counts.
#[derive(Debug, Default)]
pub(crate) struct Sound {
    pub(crate) running: AtomicU64,
    pub(crate) ended: AtomicU64,
    pub(crate) broken_off: AtomicU64,
    pub(crate) prompt_tokens: AtomicU64,
    pub(crate) generation_tokens: AtomicU64,
}

/// What the server itself counts.
#[derive(Debug)]
pub(crate) struct Metrics {
    pub(crate) first_token: Histogram,
    pub(crate) between_tokens: Histogram,
    /// The mean of a request's gaps between tokens.
    pub(crate) per_output_token: Histogram,
    pub(crate) request: Histogram,
    /// How late simulated tokens went out.
    pub(crate) lag: Histogram,
    pub(crate) sound: Sound,
}

impl Metrics {
    pub(crate) fn new() -> Self {
        Self {
            first_token: Histogram::new(&FIRST_TOKEN_BOUNDS),
            between_tokens: Histogram::new(&TOKEN_BOUNDS),
            per_output_token: Histogram::new(&TOKEN_BOUNDS),
            request: Histogram::new(&REQUEST_BOUNDS),
            lag: Histogram::new(&LAG_BOUNDS),
            sound: Sound::default(),
        }
    }

    /// The page in the Prometheus text format 0.0.4.
    pub(crate) fn page(
        &self,
        model: &str,
        facts: &Facts,
        counters: &Counters,
        media: &Media,
    ) -> String {
        let stats = &counters.engine;
        let model = escape(model);
        let mut page = Page { text: String::with_capacity(16 << 10), model: &model };
        let running = stats.running as u64 + self.sound.running.load(Ordering::Relaxed);
        page.gauge("vllm:num_requests_running", "Requests in the batch.", running as f64);
        page.gauge("vllm:num_requests_waiting", "Requests that wait.", stats.waiting as f64);
        let usage = stats.kv_tokens_reserved as f64 / stats.kv_tokens.max(1) as f64;
        let help = "Share of the memory for keys and values that is reserved, 1 is all.";
        page.gauge("vllm:kv_cache_usage_perc", help, usage);
        page.gauge("vllm:gpu_cache_usage_perc", help, usage);
        write_counters(&mut page, stats, &self.sound);
        write_caches(&mut page, counters);
        write_media(&mut page, media);
        if let Some(drafts) = &counters.drafts {
            write_drafts(&mut page, drafts);
        }
        write_histograms(&mut page, self);
        if facts.is_simulated {
            let help = "From the simulated time of an event until it is handed to its connection.";
            self.lag.write(&mut page, "inferometer:simulation_lag_seconds", help);
        }
        page.head("vllm:cache_config_info", "gauge", "How keys and values are kept.");
        let labels =
            facts.cache.iter().map(|(name, value)| format!("{name}=\"{}\"", escape(value)));
        page.sample("vllm:cache_config_info", &labels.collect::<Vec<_>>().join(","), "1");
        page.text
    }
}

fn write_counters(page: &mut Page<'_>, stats: &EngineStats, sound: &Sound) {
    let with =
        |of_backend: u64, of_sound: &AtomicU64| of_backend + of_sound.load(Ordering::Relaxed);
    let prompt = with(stats.prompt_tokens_total, &sound.prompt_tokens);
    let generated = with(stats.generation_tokens_total, &sound.generation_tokens);
    let totals = [
        ("vllm:prompt_tokens_total", "Tokens of prompts computed.", prompt),
        ("vllm:generation_tokens_total", "Tokens generated.", generated),
        ("inferometer:requests_refused_total", "Requests refused: overload.", stats.refused_total),
        ("inferometer:steps_total", "Passes through the model.", stats.steps_total),
    ];
    for (name, help, value) in totals {
        page.counter(name, help, value);
    }
    let name = "vllm:request_success_total";
    page.head(name, "counter", "Requests that ended, by how.");
    for (reason, value) in [
        ("stop", with(stats.finished_stop_total, &sound.ended)),
        ("length", stats.finished_length_total),
        ("abort", with(stats.cancelled_total, &sound.broken_off)),
        ("error", stats.failed_total),
    ] {
        page.sample(name, &format!("finished_reason=\"{reason}\""), &value.to_string());
    }
}

fn write_caches(page: &mut Page<'_>, counters: &Counters) {
    let Counters { preemptions_total, prefix_queries_total, prefix_hits_total, .. } = *counters;
    let name = "vllm:num_preemptions_total";
    page.counter(name, "Requests put off after they had started.", preemptions_total);
    let help = "Tokens of prompts looked up in the prefix cache, if there is one.";
    page.counter("vllm:prefix_cache_queries_total", help, prefix_queries_total);
    let help = "Tokens of prompts found in the prefix cache.";
    page.counter("vllm:prefix_cache_hits_total", help, prefix_hits_total);
}

fn write_media(page: &mut Page<'_>, media: &Media) {
    let (queries, hits) = media.looked_up();
    page.counter("vllm:mm_cache_queries_total", "Media looked up in their cache.", queries);
    page.counter("vllm:mm_cache_hits_total", "Media found in their cache.", hits);
}

fn write_drafts(page: &mut Page<'_>, drafts: &Drafts) {
    let Drafts { drafts_total, tokens_total, accepted_total, accepted_by_position } = drafts;
    page.counter("vllm:spec_decode_num_drafts_total", "Guesses.", *drafts_total);
    page.counter("vllm:spec_decode_num_draft_tokens_total", "Tokens guessed.", *tokens_total);
    let help = "Guessed tokens that were taken.";
    page.counter("vllm:spec_decode_num_accepted_tokens_total", help, *accepted_total);
    let name = "vllm:spec_decode_num_accepted_tokens_per_pos_total";
    page.head(name, "counter", "Guessed tokens that were taken, by their place in the guess.");
    for (position, accepted) in accepted_by_position.iter().enumerate() {
        page.sample(name, &format!("position=\"{position}\""), &accepted.to_string());
    }
}

fn write_histograms(page: &mut Page<'_>, metrics: &Metrics) {
    metrics.first_token.write(
        page,
        "vllm:time_to_first_token_seconds",
        "From a request's arrival to its first token.",
    );
    metrics.between_tokens.write(
        page,
        "vllm:inter_token_latency_seconds",
        "Between two tokens of a request.",
    );
    metrics.per_output_token.write(
        page,
        "vllm:time_per_output_token_seconds",
        "Mean of a request's gaps between tokens.",
    );
    metrics.request.write(
        page,
        "vllm:e2e_request_latency_seconds",
        "From a request's arrival to its last token.",
    );
}

/// The value of a label, as the format wants it.
fn escape(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

/// The text of the page.
struct Page<'a> {
    text: String,
    model: &'a str,
}

impl Page<'_> {
    fn head(&mut self, name: &str, kind: &str, help: &str) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.text, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    fn sample(&mut self, name: &str, labels: &str, value: &str) {
        let comma = if labels.is_empty() { "" } else { "," };
        let model = self.model;
        let _ = writeln!(self.text, "{name}{{model_name=\"{model}\"{comma}{labels}}} {value}");
    }

    fn counter(&mut self, name: &str, help: &str, value: u64) {
        self.head(name, "counter", help);
        self.sample(name, "", &value.to_string());
    }

    fn gauge(&mut self, name: &str, help: &str, value: f64) {
        self.head(name, "gauge", help);
        self.sample(name, "", &value.to_string());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_cumulative_and_closed_above() {
        let histogram = Histogram::new(&FIRST_TOKEN_BOUNDS);
        for ms in [1, 5, 6, 3_000_000] {
            histogram.record(Duration::from_millis(ms));
        }
        let mut page = Page { text: String::new(), model: "m" };
        histogram.write(&mut page, "x_seconds", "help");
        let value = |label: &str| {
            let line = page.text.lines().find(|line| line.contains(label)).expect(label);
            line.rsplit(' ').next().and_then(|value| value.parse::<f64>().ok()).expect("a number")
        };
        assert_eq!([value("0.001\""), value("0.005\""), value("0.01\"")], [1.0, 2.0, 3.0]);
        assert_eq!([value("2560\""), value("+Inf"), value("_count")], [3.0, 4.0, 4.0]);
        assert!((value("_sum") - 3000.012).abs() < 1e-6);
    }
}
