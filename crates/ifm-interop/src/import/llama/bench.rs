//! `llama-bench`: one row for each test and configuration.
//!
//! Fields come by their JSON names. The samples become rows of their own, as repeats; the mean is
//! then a summary of them.

use super::super::json;
use ifm_core::Metric;
use ifm_core::sheet::{Definition, Figure, Place, Row, RowRole, Statistic, StdKind, Unit, key};
use serde_json::{Map, Value};

/// Its name.
pub(crate) const TOOL: &str = "llama-bench";
/// Name of the engine.
pub(crate) const ENGINE: &str = "llama.cpp";

/// Fields that set something and are factors of several formats.
const SHARED: &[(&str, &str)] = &[("model_type", key::MODEL), ("gpu_info", key::GPU)];
/// Fields that set something, by the names of the tool.
const SETTINGS: &[&str] = &[
    "backends",
    "cpu_info",
    "cpu_mask",
    "cpu_strict",
    "devices",
    "embeddings",
    "fit_min_ctx",
    "fit_target",
    "flash_attn",
    "lazy_mode",
    "load_mode",
    "main_gpu",
    "model_filename",
    "n_batch",
    "n_cpu_moe",
    "n_gpu_layers",
    "n_threads",
    "n_ubatch",
    "no_host",
    "no_kv_offload",
    "no_op_offload",
    "poll",
    "repack",
    "split_mode",
    "tensor_buft_overrides",
    "tensor_split",
    "type_k",
    "type_v",
    "use_direct_io",
    "use_mmap",
];
/// Names of columns in printed tables that differ from the names of the fields.
const COLUMNS: &[(&str, &str)] = &[
    ("ngl", "n_gpu_layers"),
    ("threads", "n_threads"),
    ("fa", "flash_attn"),
    ("sm", "split_mode"),
    ("nkvo", "no_kv_offload"),
    ("lm", "load_mode"),
    ("mmap", "use_mmap"),
    ("dio", "use_direct_io"),
    ("embd", "embeddings"),
    ("nopo", "no_op_offload"),
    ("noh", "no_host"),
    ("rpk", "repack"),
    ("dev", "devices"),
    ("ts", "tensor_split"),
    ("ot", "tensor_buft_overrides"),
    ("fitt", "fit_target"),
    ("fitc", "fit_min_ctx"),
    ("backend", "backends"),
    ("model", key::MODEL),
];
/// Samples of a row that become rows at most.
const SAMPLES_MAX: usize = 1_000;

/// The factor of a printed column.
pub(crate) fn factor_of_column(column: &str) -> &str {
    COLUMNS.iter().find(|(name, _)| *name == column).map_or(column, |(_, field)| field)
}

/// The printed column of a factor.
pub(crate) fn column_of_factor(factor: &str) -> &str {
    COLUMNS.iter().find(|(_, field)| *field == factor).map_or(factor, |(name, _)| name)
}

/// A test such as `pp512`, `tg 128` or `pp512+tg128 @ d4096`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Test {
    /// Prompt tokens.
    pub prompt: u64,
    /// Generated tokens.
    pub generated: u64,
    /// Tokens in front of them.
    pub depth: u64,
}

impl Test {
    /// Reads the name of a test.
    pub fn parse(name: &str) -> Option<Test> {
        let (work, depth) = match name.split_once('@') {
            Some((work, depth)) => (work, depth.trim().strip_prefix('d')?.trim().parse().ok()?),
            None => (name, 0),
        };
        let mut test = Test { depth, ..Test::default() };
        for part in work.split('+') {
            let part = part.trim();
            match (part.strip_prefix("pp"), part.strip_prefix("tg")) {
                (Some(tokens), _) => test.prompt = tokens.trim().parse().ok()?,
                (_, Some(tokens)) => test.generated = tokens.trim().parse().ok()?,
                _ => return None,
            }
        }
        Some(test)
    }

    /// Its name without the depth.
    fn name(self) -> String {
        match (self.prompt, self.generated) {
            (prompt, 0) => format!("pp{prompt}"),
            (0, generated) => format!("tg{generated}"),
            (prompt, generated) => format!("pp{prompt}+tg{generated}"),
        }
    }

    /// Sets what it says.
    pub fn set(self, row: &mut Row) {
        row.factors.set(key::TEST, self.name());
        row.factors.set(key::BATCH_SIZE, 1);
        for (factor, tokens) in [
            (key::INPUT_TOKENS, self.prompt),
            (key::OUTPUT_TOKENS, self.generated),
            (key::DEPTH_TOKENS, self.depth),
        ] {
            if tokens > 0 {
                row.factors.set(factor, tokens);
            }
        }
    }

    fn rate(self) -> Metric {
        match (self.prompt, self.generated) {
            (_, 0) => Metric::PrefillRate,
            (0, _) => Metric::DecodeRate,
            _ => Metric::TotalRate,
        }
    }

    fn time(self) -> Metric {
        match self.generated {
            0 => Metric::Prefill,
            _ => Metric::Duration,
        }
    }

    /// The figure of its rate.
    pub fn rate_figure(self, statistic: Statistic, value: f64) -> Figure {
        let definition = match self.rate() {
            Metric::PrefillRate => Definition::Derivable(
                "time of the prompt: its tokens divided by this; tokenizing is not in it"
                    .to_owned(),
            ),
            Metric::DecodeRate => Definition::Derivable(
                "time per output token: 1000 / this, in ms; sampling is not in it".to_owned(),
            ),
            _ => Definition::Different(
                "prompt and generated tokens of one sequence over the time of both".to_owned(),
            ),
        };
        Figure::new(self.rate(), statistic, value, Unit::PerS).defined(definition)
    }
}

/// Deviations are sample deviations: divided by one less than the number of samples.
pub(crate) const DEVIATION: Statistic = Statistic::Std(StdKind::Sample);

/// The build that wrote a row.
pub(crate) fn build(fields: &Map<String, Value>) -> Option<String> {
    let commit = json::word(fields.get("build_commit"))?;
    let number = json::word(fields.get("build_number"));
    Some(number.map_or(commit.clone(), |number| format!("{commit} ({number})")))
}

/// The rows of one object of fields: the mean, and after it the samples. Empty if the fields do not
/// describe a test.
pub(crate) fn rows(mut fields: Map<String, Value>, place: &Place) -> Vec<Row> {
    let tokens = |name: &str| json::count(fields.get(name));
    let (Some(prompt), Some(generated)) = (tokens("n_prompt"), tokens("n_gen")) else {
        return Vec::new();
    };
    let test = Test { prompt, generated, depth: tokens("n_depth").unwrap_or(0) };
    let mut row = Row::new(RowRole::Measured, place.clone());
    row.factors.set(key::ENGINE, ENGINE);
    test.set(&mut row);
    for name in ["n_prompt", "n_gen", "n_depth"] {
        fields.remove(name);
    }
    let shared = SHARED.iter().copied();
    for (name, factor) in shared.chain(SETTINGS.iter().map(|name| (*name, *name))) {
        if let Some(word) = json::word(fields.get(name)) {
            fields.remove(name);
            if !word.is_empty() {
                row.factors.set(factor, word);
            }
        }
    }
    let samples = samples(&mut fields, test, &row);
    let mut number = |name: &str| {
        let value = json::number(fields.get(name))?;
        fields.remove(name);
        Some(value)
    };
    let time = |statistic, value| Figure::new(test.time(), statistic, value, Unit::Ns);
    let figures = [
        number("avg_ts").map(|value| test.rate_figure(Statistic::Mean, value)),
        number("stddev_ts").map(|value| test.rate_figure(DEVIATION, value)),
        number("avg_ns").map(|value| time(Statistic::Mean, value)),
        number("stddev_ns").map(|value| time(DEVIATION, value)),
        number("model_size").map(|value| model_size(value, Unit::Bytes)),
        number("model_n_params")
            .map(|value| Figure::new(Metric::Parameters, Statistic::Value, value, Unit::Count)),
    ];
    row.figures.extend(figures.into_iter().flatten());
    if !samples.is_empty() {
        row.role = RowRole::Summary;
        let count = samples.len() as f64;
        let meant = test.rate_figure(Statistic::Count, count);
        row.figures.push(Figure { unit: Unit::Count, ..meant });
    }
    row.unknown = fields;
    std::iter::once(row).chain(samples).collect()
}

/// Size of the model's file.
pub(crate) fn model_size(value: f64, unit: Unit) -> Figure {
    Figure::new(Metric::other("model_size"), Statistic::Value, value, unit)
}

/// Every sample as a row.
fn samples(fields: &mut Map<String, Value>, test: Test, mean: &Row) -> Vec<Row> {
    let mut list = |name: &str| match fields.get(name) {
        Some(Value::Array(values)) if values.len() <= SAMPLES_MAX => {
            let values: Vec<_> = values.iter().map(|value| json::number(Some(value))).collect();
            fields.remove(name);
            values
        }
        _ => Vec::new(),
    };
    let (times, rates) = (list("samples_ns"), list("samples_ts"));
    let of = |list: &[Option<f64>], at: usize| list.get(at).copied().flatten();
    let rows = (0..times.len().max(rates.len())).map(|at| {
        let mut row = Row::new(RowRole::Measured, mean.place.clone());
        row.factors = mean.factors.clone().with(key::REPEAT, at + 1);
        let rate = of(&rates, at).map(|value| test.rate_figure(Statistic::Value, value));
        let time =
            of(&times, at).map(|value| Figure::new(test.time(), Statistic::Value, value, Unit::Ns));
        row.figures.extend(rate.into_iter().chain(time));
        row
    });
    rows.filter(|row| !row.figures.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_tests() {
        let test = |prompt, generated, depth| Some(Test { prompt, generated, depth });
        assert_eq!(Test::parse("pp512"), test(512, 0, 0));
        assert_eq!(Test::parse("pp 512"), test(512, 0, 0));
        assert_eq!(Test::parse("tg128 @ d4096"), test(0, 128, 4096));
        assert_eq!(Test::parse("pp64+tg16 @ d64"), test(64, 16, 64));
        assert_eq!(Test::parse("pp"), None);
        assert_eq!(Test::parse("warmup"), None);
    }
}
