//! Tables and blocks as the tools print them: llama-bench, attention-gym, vLLM.
//!
//! The layouts follow llama-bench's Markdown output (build 6413), the table that
//! attention-gym prints with Python's tabulate ("grid"), and of `vllm bench serve` 0.10.

use crate::vllm::{line, rule};
use ifm_core::Metric;
use ifm_core::sheet::{Statistic, StdKind, key};
use ifm_results::{KernelMask, KernelTime, Point};

const GIB: f64 = (1u64 << 30) as f64;
const MIB: f64 = (1u64 << 20) as f64;
const BILLION: f64 = 1e9;
const MILLION: f64 = 1e6;
const FLOP_PER_TFLOP: f64 = 1e12;
/// Width of the box around the name of a mask.
const BOX_WIDTH: usize = 89;

/// A column of llama-bench: name, width, whether it is left-aligned.
type Column = (&'static str, usize, bool);
const MODEL: Column = ("model", 30, true);
const SIZE: Column = ("size", 10, false);
const PARAMETERS: Column = ("params", 10, false);
const BACKEND: Column = ("backend", 10, true);
const LAYERS: Column = ("ngl", 3, false);
const FLASH: Column = ("fa", 2, false);
const TEST: Column = ("test", 15, false);
/// What it shows only where rows differ in it: the factor, and its column.
const DIFFERING: [(&str, Column); 5] = [
    ("n_threads", ("threads", 7, false)),
    ("n_batch", ("n_batch", 7, false)),
    ("n_ubatch", ("n_ubatch", 8, false)),
    ("type_k", ("type_k", 6, false)),
    ("type_v", ("type_v", 6, false)),
];
const SPEED: Column = ("t/s", 20, false);

/// llama-bench's table of some rows, and its build.
pub(super) fn llama_bench(points: &[&Point], build: Option<&str>) -> String {
    let has = |name: &str| points.iter().any(|point| point.setting.get(name).is_some());
    let mut columns = vec![MODEL, SIZE, PARAMETERS, BACKEND];
    columns.extend(
        [("n_gpu_layers", LAYERS), ("flash_attn", FLASH)]
            .into_iter()
            .filter_map(|(factor, column)| has(factor).then_some(column)),
    );
    let differs = |name: &str| {
        let mut values = points.iter().map(|point| point.factor(name));
        let first = values.next();
        values.any(|value| Some(value) != first)
    };
    columns.extend(
        DIFFERING.into_iter().filter_map(|(factor, column)| differs(factor).then_some(column)),
    );
    columns.extend([TEST, SPEED]);
    let written = |cells: Vec<String>| {
        let cell = |(text, (_, width, is_left)): (String, &Column)| match is_left {
            true => format!(" {text:<width$} ", width = *width),
            false => format!(" {text:>width$} ", width = *width),
        };
        let cells: Vec<String> = cells.into_iter().zip(&columns).map(cell).collect();
        format!("|{}|\n", cells.join("|"))
    };
    let mut out = written(columns.iter().map(|(name, ..)| (*name).to_owned()).collect());
    let dashes = |(_, width, is_left): &Column| match is_left {
        true => format!(" {} ", "-".repeat(*width)),
        false => format!(" {}: ", "-".repeat(width - 1)),
    };
    out.push_str(&format!("|{}|\n", columns.iter().map(dashes).collect::<Vec<_>>().join("|")));
    for point in points {
        out.push_str(&written(columns.iter().map(|column| engine_cell(point, column.0)).collect()));
    }
    if let Some(build) = build {
        out.push_str(&format!("\nbuild: {build}\n"));
    }
    out
}

fn engine_cell(point: &Point, column: &str) -> String {
    let factor = |name: &str| point.factor(name).unwrap_or_default();
    let value = |quantity: Metric| Some(point.central(quantity)?.value);
    let scaled =
        |value: Option<f64>, (large, large_name): (f64, &str), (small, name): (f64, &str)| {
            value.map_or_else(String::new, |value| match value >= large {
                true => format!("{:.2} {large_name}", value / large),
                false => format!("{:.2} {name}", value / small),
            })
        };
    match column {
        "model" => factor("model"),
        "size" => {
            let size = value(Metric::other("model_size"));
            scaled(size, (GIB, "GiB"), (MIB, "MiB"))
        }
        "params" => scaled(value(Metric::Parameters), (BILLION, "B"), (MILLION, "M")),
        "backend" => factor("backends"),
        "ngl" => factor("n_gpu_layers"),
        "fa" => factor("flash_attn"),
        "test" => match point.factor(key::DEPTH_TOKENS).filter(|depth| depth != "0") {
            Some(depth) => format!("{} @ d{depth}", factor("test")),
            None => factor("test"),
        },
        "t/s" => match speed(point) {
            Some((_, mean, Some(std))) => format!("{mean:.2} ± {std:.2}"),
            Some((_, mean, None)) => format!("{mean:.2}"),
            None => String::new(),
        },
        other => {
            let of = DIFFERING.iter().find(|(_, (name, ..))| *name == other);
            of.map_or_else(String::new, |(name, _)| factor(name))
        }
    }
}

/// The rate of an engine row with its deviation.
pub(super) fn speed(point: &Point) -> Option<(Metric, f64, Option<f64>)> {
    let kinds = [StdKind::Sample, StdKind::Population, StdKind::Unknown];
    [Metric::PrefillRate, Metric::DecodeRate, Metric::TotalRate].into_iter().find_map(|quantity| {
        let mean = point.central(quantity)?.value;
        let std = kinds.iter().find_map(|kind| point.value(quantity, Statistic::Std(*kind)));
        Some((quantity, mean, std))
    })
}

/// What attention-gym prints for a mask: its name in a box, the check, the times, the blocks.
pub(super) fn attention(mask: &KernelMask, check: Option<&str>) -> String {
    let bar = "═".repeat(BOX_WIDTH);
    let mut out = format!("╔{bar}╗\n║{}║\n╚{bar}╝\n", centered(&mask.name, BOX_WIDTH));
    if let Some(check) = check {
        let sign = if check == "passed" { "✅" } else { "❌" };
        out.push_str(&format!("Correctness check {check} {sign}\n"));
    }
    out.push_str(&grid(mask));
    if let Some(share) = mask.sparsity {
        let drawing = mask.drawing.unwrap_or_default();
        let percent = share * 100.0;
        let shape = mask.shape.as_ref().map_or(String::new(), |shape| format!("shape=({shape}), "));
        out.push_str(&format!("\nBlock Mask:\n{shape}sparsity={percent:.2}%\n{drawing}\n"));
    }
    out
}

/// As Python centers text: an odd sign goes to the left in an odd width.
fn centered(text: &str, width: usize) -> String {
    let free = width.saturating_sub(text.chars().count());
    let left = free / 2 + (free & width & 1);
    format!("{}{text}{}", " ".repeat(left), " ".repeat(free - left))
}

/// How a figure of a kernel is written.
type Written = fn(&KernelTime) -> Option<String>;

/// Python's tabulate, "grid": numbers aligned at their points.
fn grid(mask: &KernelMask) -> String {
    let mut kernels: Vec<&str> = Vec::new();
    for time in &mask.times {
        if !kernels.contains(&time.kernel.as_str()) {
            kernels.push(&time.kernel);
        }
    }
    let of = |kernel: &str, pass: &str| {
        mask.times.iter().find(|time| time.kernel == kernel && time.pass == pass)
    };
    let figures: [(&str, &str, Written); 4] = [
        ("FW Time (ms)", "forward", |time| Some(short(time.ms, 4))),
        ("FW FLOPS (TF/s)", "forward", |time| Some(short(time.flop_per_s? / FLOP_PER_TFLOP, 2))),
        ("BW Time (ms)", "backward", |time| Some(short(time.ms, 4))),
        ("BW FLOPS (TF/s)", "backward", |time| Some(short(time.flop_per_s? / FLOP_PER_TFLOP, 2))),
    ];
    let mut columns = vec![("Operation", kernels.iter().map(|name| (*name).to_owned()).collect())];
    for (head, pass, figure) in figures {
        let cells: Vec<String> = kernels
            .iter()
            .map(|kernel| of(kernel, pass).and_then(figure).unwrap_or_default())
            .collect();
        if cells.iter().any(|cell| !cell.is_empty()) {
            columns.push((head, aligned(&cells)));
        }
    }
    let width = |(index, (head, cells)): (usize, &(&str, Vec<String>))| {
        // Numbers keep two columns of padding next to their head.
        let head = head.chars().count() + if index == 0 { 0 } else { 2 };
        cells.iter().map(|cell| cell.chars().count()).fold(head, usize::max) + 2
    };
    let widths: Vec<usize> = columns.iter().enumerate().map(width).collect();
    let ruler = |sign: &str| {
        let dashes: Vec<String> = widths.iter().map(|width| sign.repeat(*width)).collect();
        format!("+{}+\n", dashes.join("+"))
    };
    let written = |cells: Vec<&str>| {
        let mut line = String::new();
        for (index, (cell, width)) in cells.iter().zip(&widths).enumerate() {
            let width = width - 2;
            line.push_str(&match index {
                0 => format!("| {cell:<width$} "),
                _ => format!("| {cell:>width$} "),
            });
        }
        format!("{line}|\n")
    };
    let mut out = ruler("-");
    out.push_str(&written(columns.iter().map(|(head, _)| *head).collect()));
    out.push_str(&ruler("="));
    for row in 0..kernels.len() {
        let cell = |(_, cells): &(&str, Vec<String>)| cells.get(row).cloned().unwrap_or_default();
        let cells: Vec<String> = columns.iter().map(cell).collect();
        out.push_str(&written(cells.iter().map(String::as_str).collect()));
        out.push_str(&ruler("-"));
    }
    out
}

/// A number without trailing zeros, rounded to `decimals` places.
fn short(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

/// Numbers with as much room after them as the longest has decimals.
fn aligned(cells: &[String]) -> Vec<String> {
    let tail = |cell: &String| cell.find('.').map_or(0, |at| cell.len() - at);
    let longest = cells.iter().map(tail).max().unwrap_or(0);
    cells.iter().map(|cell| format!("{cell}{}", " ".repeat(longest - tail(cell)))).collect()
}

/// vLLM's block of a level, with the lines whose numbers are known.
pub(super) fn vllm(point: &Point) -> String {
    let value = |quantity: Metric| Some(point.stat(quantity, Statistic::Value)?.value);
    let mut out = String::new();
    rule(&mut out, " Serving Benchmark Result ", '=');
    let users = point.load.and_then(|load| match load {
        ifm_metrics::level::Load::Users(users) => Some(f64::from(users)),
        ifm_metrics::level::Load::ReqPerS(_) => None,
    });
    let peak = value(Metric::PeakOutputRate);
    // Versions with a peak write "token" small.
    let total = match peak {
        Some(_) => "Total token throughput (tok/s):",
        None => "Total Token throughput (tok/s):",
    };
    let rows = [
        ("Successful requests:", value(Metric::RequestsOk), 0),
        ("Failed requests:", value(Metric::RequestsFailed), 0),
        ("Maximum request concurrency:", users, 0),
        ("Benchmark duration (s):", value(Metric::Duration).map(|ms| ms / 1e3), 2),
        ("Total input tokens:", value(Metric::InputTokens), 0),
        ("Total generated tokens:", value(Metric::OutputTokens), 0),
        ("Request throughput (req/s):", value(Metric::RequestRate), 2),
        ("Request goodput (req/s):", value(Metric::Goodput), 2),
        ("Output token throughput (tok/s):", value(Metric::OutputRate), 2),
        ("Peak output token throughput (tok/s):", peak, 2),
        ("Peak concurrent requests:", value(Metric::PeakInFlight), 2),
        ("RTFx (Inverse Real-Time Factor):", value(Metric::LevelRtfx), 2),
        (total, value(Metric::TotalRate), 2),
    ];
    for (label, value, decimals) in rows {
        if let Some(value) = value {
            line(&mut out, label, &format!("{value:.decimals$}"));
        }
    }
    for (title, name, quantity) in [
        ("Time to First Token", "TTFT", Metric::Ttft),
        ("Time per Output Token (excl. 1st token)", "TPOT", Metric::Tpot),
        ("Inter-token Latency", "ITL", Metric::Itl),
        ("End-to-end Latency", "E2EL", Metric::E2e),
    ] {
        latency(&mut out, (title, name), point, quantity);
    }
    rule(&mut out, "", '=');
    out
}

fn latency(out: &mut String, (title, name): (&str, &str), point: &Point, quantity: Metric) {
    let mut rows: Vec<(String, f64)> = Vec::new();
    let mut add = |label: String, statistic| {
        rows.extend(point.value(quantity, statistic).map(|value| (label, value)));
    };
    add(format!("Mean {name} (ms):"), Statistic::Mean);
    add(format!("Median {name} (ms):"), Statistic::Median);
    for p in [75.0, 90.0, 95.0, 99.0] {
        add(format!("P{p} {name} (ms):"), Statistic::Percentile(p));
    }
    if rows.is_empty() {
        return;
    }
    rule(out, title, '-');
    for (label, value) in rows {
        line(out, &label, &format!("{value:.2}"));
    }
}
