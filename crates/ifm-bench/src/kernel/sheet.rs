//! What was measured as rows of a document: a table for each mask, size and type, and one for the
//! ceilings.

use super::count::{self, Ceilings};
use super::course::{Ask, Done, Passed, Run};
use super::protocol::{Attention, Operation, Pass};
use crate::disturbance::Disturbance;
use ifm_core::Metric;
use ifm_core::Sheet;
use ifm_core::sheet::{
    Definition, Factors, Figure, Part, PartKind, Place, Remark, RemarkKind, Row, RowRole, Source,
    Statistic, StdKind, Unit, WHY, kernel, key,
};
use ifm_core::words::counted;
use serde_json::{Map, Value, json};

/// Id of the format, and the tool, of what is written here.
const FORMAT: &str = "inferometer-kernel";
const TOOL: &str = "inferometer kernel";
/// What figures mean.
const BY_WALL: &str = "one call, by the monotonic clock";
const BY_DEVICE: &str = "one call, by events of the device";
const OPERATIONS: &str = "two for each product and sum, of the allowed pairs of query and key alone: 4 a pair and number of \
     the width forward, 10 backward";
const OF_PRODUCT: &str = "2 m n k";
const ROOFLINE: &str = "least time by the measured arithmetic rate and memory bandwidth of this device, over the median \
     time; a little above 1 where a kernel beats the product that the rate was measured by, or caches feed \
     what memory could not";
const MOVED: &str = "bytes that the program reads and writes, each once, over the median time";
const ERROR: &str =
    "greatest difference over greatest value of a tensor, the worst of them, against 64-bit floats";

/// Names of the two passes.
pub fn pass_name(pass: Pass) -> &'static str {
    match pass {
        Pass::Forward => "forward",
        Pass::Backward => "backward",
    }
}

/// `1x4x2048x64`, with `/` before the heads of the keys and before the keys where they are others.
pub fn size_name(of: &Attention) -> String {
    let pair = |one: u64, other: u64| match one == other {
        true => one.to_string(),
        false => format!("{one}/{other}"),
    };
    let (heads, tokens) = (pair(of.query_heads, of.kv_heads), pair(of.queries, of.keys));
    format!("{}x{heads}x{tokens}x{}", of.batch, of.width)
}

/// The size of any case.
pub fn size_of(operation: &Operation) -> String {
    match operation {
        Operation::Attention(of) => size_name(of),
        Operation::Gemm { m, n, k } => format!("{m}x{n}x{k}"),
        Operation::Bandwidth { bytes } => bytes.to_string(),
    }
}

/// A kernel that is faster than its roofline by more than this proves that the roofline is invalid; up to
/// this factor, the excess is the scatter of both measurements.
const ABOVE: f64 = 1.1;

/// An implementation of attention, prefixed by its provider unless native.
pub fn kernel_name(ask: &Ask, done: &Done) -> String {
    let own = &done.case.implementation;
    if !matches!(done.case.operation, Operation::Attention(_)) {
        return own.clone();
    }
    match ask.providers.get(done.provider).map(super::Provider::name) {
        None | Some("native") => own.clone(),
        Some(provider) => format!("{provider}:{own}"),
    }
}

/// Median, nanoseconds.
pub fn median_ns(runs: &[Run]) -> Option<f64> {
    let mut times: Vec<u64> = runs.iter().map(Run::ns).collect();
    times.sort_unstable();
    let middle = times.len() / 2;
    let upper = *times.get(middle)? as f64;
    Some(match times.len() % 2 {
        1 => upper,
        _ => (*times.get(middle.checked_sub(1)?)? as f64 + upper) / 2.0,
    })
}

/// The document of everything that was done.
pub fn sheet(ask: &Ask, name: &str, factors: &Factors, all: &[Done]) -> Sheet {
    let mut tables: Vec<(Factors, Vec<usize>)> = Vec::new();
    for (index, done) in all.iter().enumerate() {
        let table = table(done);
        match tables.iter_mut().find(|(known, _)| *known == table) {
            Some((_, cases)) => cases.push(index),
            None => tables.push((table, vec![index])),
        }
    }
    let versions = versions(all);
    let mut remarks = Vec::new();
    let mut parts = Vec::new();
    for (table, cases) in tables {
        let place_of = |index: usize| Place::pointer(format!("/cases/{index}"));
        let mut part = Part::new(PartKind::Kernel, place_of(cases[0]));
        part.factors = factors.within(&table.within(&versions));
        for index in &cases {
            let of_case = Of { ask, all, done: &all[*index], place: place_of(*index) };
            part.rows.extend(of_case.rows());
            remarks.extend(of_case.remarks());
        }
        // The mask follows its table.
        part.rows.extend(mask_row(ask, &all[cases[0]], &part.place));
        parts.push(part);
    }
    let about_runs = disturbed(all).map(|text| Remark {
        kind: RemarkKind::Measured,
        place: Place::default(),
        text,
    });
    remarks.extend(about_runs);
    let source = Source {
        name: name.to_owned(),
        format: FORMAT.to_owned(),
        tool: Some(TOOL.to_owned()),
        tool_version: Some(env!("CARGO_PKG_VERSION").to_owned()),
        bytes: 0,
        run_id: None,
    };
    Sheet { source, parts, remarks }
}

/// What holds for a table: the mask, and what else makes rows comparable; all ceilings are one table.
fn table(done: &Done) -> Factors {
    let mut factors = Factors::default();
    if let Operation::Attention(of) = &done.case.operation {
        factors.set(kernel::MASK, &of.mask.name);
        factors.set(kernel::SIZE, size_name(of));
        factors.set(kernel::TYPE, &done.case.kind);
    }
    factors
}

/// The machine, and of everything that brought a kernel the version and what it computed on.
fn versions(all: &[Done]) -> Factors {
    let mut factors = Factors::default();
    if let Some(cpu) = ifm_sys::host::cpu_name() {
        factors.set(key::HARDWARE, cpu);
    }
    for about in all.iter().filter_map(|done| done.about.as_ref()) {
        if let Some(version) = &about.version {
            factors.set(format!("{} version", about.provider), version);
        }
        about
            .versions
            .iter()
            .for_each(|(name, version)| factors.set(format!("{name} version"), version));
        if let Some(gpu) = &about.gpu {
            factors.set(key::GPU, gpu);
        }
        // Facts of the document: another number of threads is another result of the same kernel.
        let provider = &about.provider;
        let mut set = |name: &str, value: Option<String>| {
            value.into_iter().for_each(|value| factors.set(format!("{provider} {name}"), value));
        };
        set(kernel::DEVICE, Some(about.device.clone()));
        set(kernel::THREADS, about.threads.map(|threads| threads.to_string()));
        set(kernel::INSTRUCTIONS, about.instructions.clone());
    }
    factors
}

/// The blocks of a mask, as a row.
fn mask_row(ask: &Ask, done: &Done, place: &Place) -> Option<Row> {
    let Operation::Attention(of) = &done.case.operation else { return None };
    let blocks = ask.masks.blocks(of)?;
    let mut row = Row::new(RowRole::Measured, place.clone());
    row.label = Some("block mask".to_owned());
    let meant = format!("share of blocks of {} x {} without an allowed pair", of.block, of.block);
    row.figures.push(
        Figure::new(Metric::Sparsity, Statistic::Value, blocks.sparsity, Unit::One)
            .defined(Definition::Different(meant)),
    );
    row.text = Some(blocks.drawing.clone());
    row.unknown.insert(kernel::SHAPE.to_owned(), json!([1, 1, of.queries, of.keys]));
    row.unknown.insert("cells".to_owned(), json!(blocks.cells));
    row.unknown.insert("block".to_owned(), json!(of.block));
    row.unknown.insert("allowed_pairs".to_owned(), json!(blocks.pairs));
    Some(row)
}

/// A case among all of them.
struct Of<'a> {
    ask: &'a Ask,
    all: &'a [Done],
    done: &'a Done,
    place: Place,
}

impl Of<'_> {
    fn rows(&self) -> Vec<Row> {
        self.done.passes.iter().map(|(pass, passed)| self.row(*pass, passed)).collect()
    }

    fn row(&self, pass: Pass, passed: &Passed) -> Row {
        let done = self.done;
        let is_planned = passed.runs.is_empty();
        let role = if is_planned { RowRole::Planned } else { RowRole::Measured };
        let mut row = Row::new(role, self.place.clone());
        row.label = Some(kernel_name(self.ask, done));
        row.factors = self.factors(pass);
        row.unknown = self.kept(passed);
        if is_planned {
            return row;
        }
        let mut add = |quantity, statistic, value: Option<f64>, unit, meant: &str| {
            let defined = Definition::Different(meant.to_owned());
            let figure = |value| Figure::new(quantity, statistic, value, unit).defined(defined);
            row.figures.extend(value.map(figure));
        };
        let (median, value) = (Statistic::Median, Statistic::Value);
        let times: Vec<f64> = passed.runs.iter().map(|run| run.ns() as f64 / 1e6).collect();
        let by = match passed.runs.iter().all(|run| run.device_ns.is_some()) {
            true => BY_DEVICE,
            false => BY_WALL,
        };
        let (count, mean) = (times.len() as f64, times.iter().sum::<f64>() / times.len() as f64);
        let squares: f64 = times.iter().map(|time| (time - mean).powi(2)).sum();
        let std = (times.len() > 1).then(|| (squares / (count - 1.0)).sqrt());
        let middle_ms = median_ns(&passed.runs).map(|ns| ns / 1e6);
        let time = Metric::Kernel;
        add(time, median, middle_ms, Unit::Ms, by);
        add(time, Statistic::Mean, Some(mean), Unit::Ms, by);
        add(time, Statistic::Std(StdKind::Sample), std, Unit::Ms, by);
        let least = times.iter().copied().reduce(f64::min);
        add(time, Statistic::Min, least, Unit::Ms, by);
        add(time, Statistic::Count, Some(count), Unit::Count, by);
        let processors: Option<Vec<u64>> = passed.runs.iter().map(|run| run.cpu_ns).collect();
        let cpu_ms = processors.map(|all| all.iter().sum::<u64>() as f64 / 1e6 / count);
        let cpu_time = Metric::other("processor time");
        add(cpu_time, Statistic::Mean, cpu_ms, Unit::Ms, "one call, all threads together");
        let memory = passed.peak_bytes.map(|bytes| bytes as f64);
        add(
            Metric::Memory,
            Statistic::Max,
            memory,
            Unit::Bytes,
            "most of the device, inputs included",
        );
        let Some(seconds) = middle_ms.map(|ms| ms / 1e3) else { return row };
        let operation = &done.case.operation;
        if let Operation::Bandwidth { bytes } = operation {
            let moved = count::moved(&done.case.implementation, *bytes);
            let rate = moved.map(|bytes| bytes / seconds / 1e9);
            add(Metric::Bandwidth, median, rate, Unit::GbPerS, MOVED);
            return row;
        }
        let pairs = self.pairs();
        let flop = pairs.map(|pairs| count::operations(operation, pass, pairs));
        let rule = match operation {
            Operation::Attention(_) => OPERATIONS,
            _ => OF_PRODUCT,
        };
        add(kernel::operations(), value, flop, Unit::One, rule);
        add(
            Metric::FlopRate,
            median,
            flop.map(|flop| flop / seconds / 1e12),
            Unit::TflopPerS,
            rule,
        );
        let prepared = done.prepared.as_ref();
        let own = prepared.and_then(|prepared| prepared.own_flop.get(&pass).copied());
        add(kernel::own_operations(), value, own, Unit::One, "as the tool's own benchmark counts");
        let error = done.check.as_ref().map(|check| check.of_pass(pass));
        add(kernel::error(), Statistic::Max, error, Unit::One, ERROR);
        let share = self.roofline(pass, seconds).filter(|share| *share <= ABOVE);
        add(kernel::roofline(), value, share, Unit::One, ROOFLINE);
        let full = self.time_of(pass, |other| {
            mask(other).is_some_and(|name| name == "full")
                && kernel_name(self.ask, other) == kernel_name(self.ask, done)
        });
        let over = |other: Option<f64>| other.map(|ns| ns / 1e9 / seconds);
        let meant = "median time of the same kernel under the full mask over this one";
        add(kernel::over_full(), value, over(full), Unit::One, meant);
        let reference = self.time_of(pass, |other| {
            mask(other) == mask(done) && kernel_name(self.ask, other) == self.ask.reference
        });
        let meant =
            format!("median time of {} under the same mask over this one", self.ask.reference);
        add(kernel::over_reference(), value, over(reference), Unit::One, &meant);
        row
    }

    /// The least time of a pass by the measured ceilings, over a time in seconds.
    fn roofline(&self, pass: Pass, seconds: f64) -> Option<f64> {
        let device = self.done.about.as_ref().map_or("", |about| about.device.as_str());
        let least_s = Ceilings::of(self.all, device).least_s(self.done, pass, self.pairs()?)?;
        Some(least_s / seconds)
    }

    /// Pairs that are computed: the mask's, or those that the implementation computes instead.
    fn pairs(&self) -> Option<u64> {
        match &self.done.case.operation {
            Operation::Attention(of) => {
                let computes = self.done.prepared.as_ref().and_then(|of| of.computes.as_ref());
                let of = computes.map_or_else(|| of.clone(), |mask| of.clone().under(mask.clone()));
                Some(self.ask.masks.blocks(&of)?.pairs)
            }
            _ => Some(0),
        }
    }

    /// Median time of another case of this size and type, nanoseconds.
    fn time_of(&self, pass: Pass, is_it: impl Fn(&Done) -> bool) -> Option<f64> {
        let is_alike = |other: &&Done| {
            other.case.kind == self.done.case.kind
                && size_of(&other.case.operation) == size_of(&self.done.case.operation)
        };
        let other = self.all.iter().filter(is_alike).find(|other| is_it(other))?;
        median_ns(&other.passes.get(&pass)?.runs)
    }

    fn factors(&self, pass: Pass) -> Factors {
        let mut factors = Factors::default();
        factors.set(kernel::KERNEL, kernel_name(self.ask, self.done));
        if let Operation::Attention(_) = self.done.case.operation {
            factors.set(kernel::PASS, pass_name(pass));
        } else {
            factors.set(kernel::SIZE, size_of(&self.done.case.operation));
            factors.set(kernel::TYPE, &self.done.case.kind);
            if let Some(about) = &self.done.about {
                factors.set(kernel::PROVIDER, &about.provider);
                factors.set(kernel::DEVICE, about.gpu.as_ref().unwrap_or(&about.device));
                let mut known = |name: &str, value: Option<String>| {
                    value.into_iter().for_each(|value| factors.set(name, value));
                };
                known(kernel::THREADS, about.threads.map(|threads| threads.to_string()));
                known(kernel::INSTRUCTIONS, about.instructions.clone());
            }
        }
        if let Some(mask) = self.done.prepared.as_ref().and_then(|of| of.computes.as_ref()) {
            factors.set(kernel::COMPUTES, &mask.name);
        }
        factors
    }

    /// What no figure holds.
    fn kept(&self, passed: &Passed) -> Map<String, Value> {
        let mut kept = Map::new();
        let mut set = |name: &str, value: Value| {
            let is_nothing = value.is_null() || value.as_array().is_some_and(Vec::is_empty);
            if !is_nothing {
                kept.insert(name.to_owned(), value);
            }
        };
        if let Some(prepared) = &self.done.prepared {
            set("kernels", json!(prepared.kernels));
            set("mask_ns", json!(prepared.mask_ns));
            set("compile_ns", json!(prepared.compile_ns));
        }
        set("check", json!(self.done.check.as_ref()));
        let runs = |runs: &[Run]| json!(runs.iter().map(Run::ns).collect::<Vec<_>>());
        set("runs_ns", runs(&passed.runs));
        set("replaced_ns", runs(&passed.replaced));
        let disturbances: Vec<_> = passed.runs.iter().filter_map(|run| run.disturbance).collect();
        set("disturbance", json!(disturbances));
        set("clock_mhz", json!(passed.clock_mhz));
        set(WHY, json!(passed.trouble));
        kept
    }

    fn remarks(&self) -> Vec<Remark> {
        let name = case_name(self.ask, self.done);
        let told = self.done.passes.iter().filter_map(|(pass, passed)| {
            let why = passed.trouble.as_ref()?;
            Some((RemarkKind::Missing, format!("{}: {why}", pass_name(*pass))))
        });
        let above = self.done.passes.iter().filter_map(|(pass, passed)| {
            let share = self.roofline(*pass, median_ns(&passed.runs)? / 1e9)?;
            let text = format!(
                "{}: {share:.1} times as fast as the measured product and triad allow, so they are not a ceiling \
                 here: the share of the roofline is left out",
                pass_name(*pass)
            );
            (share > ABOVE).then_some((RemarkKind::Missing, text))
        });
        let remark = |(kind, text)| Remark {
            kind,
            place: self.place.clone(),
            text: format!("{name}, {text}"),
        };
        told.chain(above).map(remark).collect()
    }
}

/// The mask of a case.
fn mask(done: &Done) -> Option<&str> {
    match &done.case.operation {
        Operation::Attention(of) => Some(&of.mask.name),
        _ => None,
    }
}

/// A case in words: `causal, tiled, f32 1x4x2048x64`.
pub fn case_name(ask: &Ask, done: &Done) -> String {
    let mask = mask(done).map_or(String::new(), |mask| format!("{mask}, "));
    let size = match &done.case.operation {
        Operation::Bandwidth { bytes } => format!("{bytes} bytes"),
        operation => size_of(operation),
    };
    let provider = ask.providers.get(done.provider).map(super::Provider::name);
    let by = match (&done.case.operation, provider) {
        (Operation::Attention(_), _) | (_, None | Some("native")) => String::new(),
        (_, Some(provider)) => format!(" by {provider}"),
    };
    format!("{mask}{}{by}, {} {size}", kernel_name(ask, done), done.case.kind)
}

/// A case as a line for people, as soon as it is done.
pub fn line(ask: &Ask, all: &[Done], index: usize) -> String {
    let done = &all[index];
    let of = Of { ask, all, done, place: Place::default() };
    let told = done.passes.iter().map(|(pass, passed)| {
        let row = of.row(*pass, passed);
        let shown = match (&done.case.operation, row.value(Metric::Kernel, Statistic::Median)) {
            (_, None) => passed.trouble.clone().unwrap_or_else(|| untimed(done)),
            (_, Some(ms)) => {
                let std = row.value(Metric::Kernel, Statistic::Std(StdKind::Sample));
                let flop = row.value(Metric::FlopRate, Statistic::Median);
                let bytes = row.value(Metric::Bandwidth, Statistic::Median);
                let rate = match (flop, bytes) {
                    (_, Some(bytes)) => format!(", {}", ifm_report::bytes_per_s(bytes)),
                    (Some(flop), _) => format!(", {}", ifm_report::flop_per_s(flop)),
                    _ => String::new(),
                };
                let share = row.value(kernel::roofline(), Statistic::Value);
                let share = share.map_or(String::new(), |share| {
                    format!(", {:.0} % of the roofline", 100.0 * share)
                });
                format!("{}{rate}{share}", ifm_report::time(ms, std))
            }
        };
        match &done.case.operation {
            Operation::Attention(_) => format!("{} {shown}", pass_name(*pass)),
            _ => shown,
        }
    });
    format!("{}: {}", case_name(ask, done), told.collect::<Vec<_>>().join("; "))
}

fn untimed(done: &Done) -> String {
    match &done.check {
        Some(check) => format!("right, relative error {:.1e}", check.worst()),
        None => "not measured".to_owned(),
    }
}

/// How many runs were disturbed, and by what; none where none was.
pub fn disturbed(all: &[Done]) -> Option<String> {
    let passes = || all.iter().flat_map(|done| done.passes.values());
    let of = |runs: Vec<&Run>| -> Vec<Disturbance> {
        let seen = runs.into_iter().filter_map(|run| run.disturbance);
        seen.filter(|what| what.is_too_much()).collect()
    };
    let replaced = of(passes().flat_map(|pass| &pass.replaced).collect());
    let counts = of(passes().flat_map(|pass| &pass.runs).collect());
    let worst = |some: &[Disturbance]| {
        some.iter()
            .copied()
            .reduce(|one, other| if one.waited() < other.waited() { other } else { one })
    };
    let what = worst(&counts).or(worst(&replaced))?.words();
    let total = passes().map(|pass| pass.runs.len() as u64).sum();
    let again = match replaced.len() {
        0 => String::new(),
        times => format!(", {} were replaced", counted(times as u64, "other")),
    };
    if counts.is_empty() {
        let made = counted(replaced.len() as u64, "disturbed run");
        return Some(format!(
            "CPU contention: {made} replaced (the worst {what}); none of them counts"
        ));
    }
    let (count, total) = (counts.len(), counted(total, "run"));
    Some(format!(
        "CPU contention: {count} of {total} were disturbed{again} (the worst {what}); the result says which"
    ))
}
