//! The runs of a command as rows of a document: what was measured, by which definition, and
//! additional data that is kept.
//!
//! A run that did not end by itself has no time and no energy, since a person or a limit chose its
//! end. One that failed has no figures at all; its measurements are kept as fields that are never
//! compared.

use super::Ask;
use super::pattern::Field;
use super::process::{End, ProcessStats};
use super::progress::Mark;
use ifm_core::Metric;
use ifm_core::sheet::{
    Definition, Factors, Figure, Part, PartKind, Place, Remark, RemarkKind, Row, RowRole, Source,
    Statistic, Unit, key,
};
use ifm_core::words::counted;
use ifm_core::{Series, Sheet};
use ifm_metrics::telemetry::{
    Drawn, EnergyMethod, LostReadings, PoweredBy, gpu_memory_last, gpu_memory_peak,
};
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

/// Id of the format, and the tool, of what is written here.
const FORMAT: &str = "inferometer-exec";
const TOOL: &str = "inferometer exec";
/// Most marks and samples of a series that are kept with a row: of more, every n-th.
const KEPT_MAX: usize = 2_000;
/// Number of steps from which bunching can be detected.
const BUNCHES_FROM: u64 = 4;
/// Memory in use on the GPUs before the start from which on it is reported, bytes.
const BEFORE_MIN: f64 = 256.0 * 1_048_576.0;
/// The definition where the kernel reports no proportional shares.
const WHOLE: &str = "largest sum of the resident memory of all processes, what they share counted \
                     once for each";
const GPU_MEMORY: &str = "most memory in use on the GPUs together, whole devices and all of their \
                          processes, sampled once a second";

/// The document of all runs.
pub fn sheet(ask: &Ask, id: &str, lives: &[ProcessStats], recorded: (&[Series], u64)) -> Sheet {
    let mut part = Part::new(PartKind::Training, Place::default());
    part.headings.extend(ask.name.clone());
    let command = command(ask);
    part.factors = Factors::default().with(key::COMMAND, &command);
    if let Some(cpu) = ifm_sys::host::cpu_name() {
        part.factors.set(key::HARDWARE, cpu);
    }
    let (facts, _) = ifm_machine::facts::of_host();
    let gpus: BTreeSet<&String> = facts.gpus.iter().filter_map(|gpu| gpu.name.as_ref()).collect();
    if let (Some(gpu), 1) = (gpus.first(), gpus.len()) {
        part.factors.set(key::GPU, gpu);
    }
    if let Some(state) = facts.confidential_word() {
        part.factors.set("cc", state);
    }
    part.unknown.insert("facts".to_owned(), json!(facts));
    if ask.skip_steps > 0 {
        part.factors.set("skip_steps", ask.skip_steps);
    }
    part.factors = ask.factors.within(&part.factors);
    part.unknown.insert("warmups".to_owned(), json!(ask.warmups));
    let mut remarks = Vec::new();
    for (index, lived) in lives.iter().enumerate() {
        let place = Place::pointer(format!("/runs/{index}"));
        let mut row = row(ask, lived, recorded, place.clone());
        row.factors.set(key::REPEAT, index + 1);
        let told = remarks_of(ask, lived, recorded);
        remarks.extend(told.into_iter().map(|(kind, text)| {
            let place = place.clone();
            Remark { kind, place, text: format!("run {}: {text}", index + 1) }
        }));
        part.rows.push(row);
    }
    let source = Source {
        name: ask.name.as_ref().map_or_else(|| id.to_owned(), |name| format!("{name} {id}")),
        format: FORMAT.to_owned(),
        tool: Some(TOOL.to_owned()),
        tool_version: Some(env!("CARGO_PKG_VERSION").to_owned()),
        bytes: 0,
        run_id: None,
    };
    Sheet { source, parts: vec![part], remarks }
}

fn command(ask: &Ask) -> String {
    ask.secrets.blot(&ifm_report::command_line(&ask.words)).into_owned()
}

fn row(
    ask: &Ask,
    lived: &ProcessStats,
    (series, origin_ns): (&[Series], u64),
    place: Place,
) -> Row {
    let mut row = Row::new(RowRole::Measured, place);
    let figures = figures(ask, lived, (series, origin_ns));
    let (kept, left): (Vec<Figure>, Vec<Figure>) =
        figures.into_iter().partition(|figure| counts(lived.end, figure.quantity));
    row.figures = kept;
    if lived.end.code() != 0 {
        row.factors.set(key::ENDED, ended(lived.end));
    }
    if !left.is_empty() {
        row.unknown.insert("figures_that_do_not_count".to_owned(), json!(left));
    }
    let tail = lived.heard.tail();
    if !tail.is_empty() {
        row.text = Some(ask.secrets.blot(&tail.join("\n")).into_owned());
    }
    let heard = &lived.heard;
    let span = (lived.span_ns.0 - origin_ns, lived.span_ns.1.saturating_sub(origin_ns));
    for (name, value) in [
        ("exit_code", json!(lived.end.code())),
        ("output", json!({"bytes": heard.bytes, "lines": heard.lines, "lines_cut": heard.cut})),
        (
            "memory",
            json!({"samples": lived.memory.samples, "processes": lived.memory.processes,
                   "largest_process_bytes": lived.largest}),
        ),
        ("span_ns", json!([span.0, span.1])),
        ("progress", progress(lived, origin_ns)),
        ("series", Value::Array(series.iter().filter_map(|one| samples(one, span)).collect())),
    ] {
        row.unknown.insert(name.to_owned(), value);
    }
    row
}

/// How it ended, in words.
fn ended(end: End) -> String {
    match end {
        End::Code(code) => format!("exit code {code}"),
        End::Signal(signal) => format!("signal {signal}"),
        End::TimedOut => "its time was over".to_owned(),
        End::Interrupted => "Ctrl-C".to_owned(),
        End::Terminated => "SIGTERM".to_owned(),
    }
}

/// Whether a figure of a run that ended so says what the command does.
fn counts(end: End, quantity: Metric) -> bool {
    match end {
        End::Code(0) => true,
        End::Code(_) | End::Signal(_) => false,
        End::TimedOut | End::Interrupted | End::Terminated => matches!(
            quantity,
            Metric::StepRate
                | Metric::TotalRate
                | Metric::Power
                | Metric::Memory
                | Metric::HostMemory
        ),
    }
}

fn figures(ask: &Ask, lived: &ProcessStats, (series, origin_ns): (&[Series], u64)) -> Vec<Figure> {
    let span = (lived.span_ns.0 - origin_ns, lived.span_ns.1.saturating_sub(origin_ns));
    let seconds = span.1.saturating_sub(span.0) as f64 / 1e9;
    let other = |name: &str| Metric::other(name);
    let mut figures = Vec::new();
    let mut add = |quantity, value: Option<f64>, unit, definition| {
        let figure = |value| Figure::new(quantity, Statistic::Value, value, unit);
        figures.extend(value.map(|value| figure(value).defined(definition)));
    };
    let same = || Definition::Same;
    add(Metric::Duration, Some(seconds), Unit::S, same());
    let (user_s, system_s) = (lived.cpu_ns.0 as f64 / 1e9, lived.cpu_ns.1 as f64 / 1e9);
    add(other("processor time, user"), Some(user_s), Unit::S, same());
    add(other("processor time, system"), Some(system_s), Unit::S, same());
    // Between two samples a process may have grown and gone: the kernel has its account.
    let sampled = lived.memory.peak();
    let host = sampled.max(lived.largest);
    let is_whole = lived.memory.has_whole && sampled >= lived.largest;
    let meant = if is_whole { Definition::Different(WHOLE.to_owned()) } else { same() };
    add(Metric::HostMemory, host.map(|bytes| bytes as f64), Unit::Bytes, meant);
    let on_gpus = Definition::Different(GPU_MEMORY.to_owned());
    add(Metric::Memory, gpu_memory_peak(series, around(series, span)), Unit::Bytes, on_gpus);
    if let Some(drawn) = Drawn::within(series, span) {
        let meant = Definition::Different(drawn_by(&drawn).to_owned());
        add(Metric::Energy, Some(drawn.joules), Unit::J, meant.clone());
        add(Metric::Power, Some(drawn.joules / seconds), Unit::W, meant);
    }
    let rates = lived.heard.progress.rates(ask.skip_steps, ask.tokens_per_step);
    add(other("steps"), rates.steps, Unit::Count, same());
    add(Metric::StepRate, rates.steps_per_s, Unit::PerS, same());
    add(Metric::TotalTokens, rates.tokens, Unit::Count, same());
    add(Metric::TotalRate, rates.tokens_per_s, Unit::PerS, same());
    add(other("rated time"), rates.window_s, Unit::S, same());
    let losses = lived.heard.progress.losses;
    add(other("first loss"), losses.map(|(first, _)| first), Unit::One, same());
    add(other("loss"), losses.map(|(_, last)| last), Unit::One, same());
    figures
}

/// A span, and the first sample after it, which is used for it.
fn around(series: &[Series], (start_ns, end_ns): (u64, u64)) -> (u64, u64) {
    let stamps = || series.iter().flat_map(|series| series.at_ns.iter().copied());
    let after = stamps().filter(|at_ns| *at_ns >= end_ns).min();
    (start_ns, after.unwrap_or(end_ns))
}

/// Whose energy it is, and how it came about.
fn drawn_by(drawn: &Drawn) -> &'static str {
    match (drawn.of, drawn.method) {
        (PoweredBy::Stated, _) | (_, EnergyMethod::Stated) => "by the power that the user stated",
        (PoweredBy::Gpus, _) => "drawn by the GPUs as whole devices, idle power included",
        (PoweredBy::Processors, _) => {
            "drawn by the processors and their memory as a whole, idle power included"
        }
    }
}

/// What deserves caution, in words.
fn remarks_of(
    ask: &Ask,
    lived: &ProcessStats,
    (series, origin_ns): (&[Series], u64),
) -> Vec<(RemarkKind, String)> {
    let progress = &lived.heard.progress;
    let mut remarks = Vec::new();
    let mut tell = |is_so: bool, kind, text: String| remarks.extend(is_so.then_some((kind, text)));
    let (missing, measured) = (RemarkKind::Missing, RemarkKind::Measured);
    let end = ended(lived.end);
    match lived.end {
        End::Code(0) => {}
        End::Code(_) | End::Signal(_) => {
            tell(true, missing, format!("it failed ({end}), so that no figure of it counts"));
        }
        _ => {
            tell(true, missing, format!("it was stopped ({end}): its time and energy do not count"))
        }
    }
    for (field, word) in [(Field::Step, "step"), (Field::Tokens, "tokens")] {
        let is_unseen = ask.patterns.has(field) && progress.seen() == 0;
        tell(is_unseen, missing, format!("no line of the output contained {word}"));
    }
    let is_brief = lived.memory.peak().max(lived.largest).is_none();
    tell(is_brief, missing, "it was too short for its memory to be sampled".to_owned());
    let no_loss = ask.patterns.has(Field::Loss) && progress.losses.is_none();
    tell(no_loss, missing, "no line of the output contained a loss".to_owned());
    let rates = progress.rates(ask.skip_steps, ask.tokens_per_step);
    let is_short = progress.seen() > 0 && rates.window_s.is_none();
    tell(
        is_short,
        missing,
        format!(
            "no rate: two lines at different times are needed, from step {} on",
            ask.skip_steps
        ),
    );
    let (together, seen) = (progress.together, progress.seen());
    tell(
        seen >= BUNCHES_FROM && 2 * together >= seen,
        measured,
        format!(
            "{together} of {seen} steps came together with the one before: the command buffers its \
             output, and rates may be off by what it buffered at both ends"
        ),
    );
    tell(
        progress.looks_like_totals(),
        measured,
        "the tokens rise with every line: if they are totals, use --tokens-total".to_owned(),
    );
    tell(
        progress.began_anew > 0,
        measured,
        format!("the step count restarted {}", counted(progress.began_anew, "time")),
    );
    tell(
        progress.losses_lost > 0,
        missing,
        format!("{} no finite number", counted(progress.losses_lost, "loss value")),
    );
    tell(progress.unread > 0, missing, format!("{} not read", counted(progress.unread, "number")));
    tell(
        lived.left_behind > 0,
        measured,
        format!("it left processes running: {} were ended", lived.left_behind),
    );
    let start = lived.span_ns.0 - origin_ns;
    let span = (start, lived.span_ns.1.saturating_sub(origin_ns));
    if let Some(words) = LostReadings::words(series, span) {
        tell(true, missing, words);
    }
    // The last sample: what came before may be the run before this one.
    let before = gpu_memory_last(series, (start.saturating_sub(1_000_000_000), start));
    if let Some(bytes) = before.filter(|bytes| *bytes >= BEFORE_MIN) {
        let mib = bytes / 1_048_576.0;
        tell(true, measured, format!("{mib:.0} MiB were in use on the GPUs before it began"));
    }
    remarks
}

/// The marks that were kept, columns for JSON.
fn progress(lived: &ProcessStats, origin_ns: u64) -> Value {
    let marks: Vec<Mark> = lived.heard.progress.marks().collect();
    let step = marks.len().div_ceil(KEPT_MAX).max(1);
    let column = |of: fn(&Mark, u64) -> Value| -> Value {
        marks.iter().step_by(step).map(|mark| of(mark, origin_ns)).collect()
    };
    json!({
        "seen": lived.heard.progress.seen(),
        "at_ns": column(|mark, origin| json!(mark.at_ns.saturating_sub(origin))),
        "steps": column(|mark, _| json!(mark.steps)),
        "tokens": column(|mark, _| json!(mark.tokens)),
        "loss": column(|mark, _| json!(mark.loss)),
    })
}

/// The samples of a series around a run; absent if there are none.
fn samples(series: &Series, (start_ns, end_ns): (u64, u64)) -> Option<Value> {
    let from = series.at_ns.partition_point(|at_ns| *at_ns < start_ns).saturating_sub(1);
    let to = (series.at_ns.partition_point(|at_ns| *at_ns <= end_ns) + 1).min(series.at_ns.len());
    let step = to.saturating_sub(from).div_ceil(KEPT_MAX).max(1);
    let at_ns: Vec<u64> = series.at_ns.get(from..to)?.iter().step_by(step).copied().collect();
    let value: Vec<f64> = series.value.get(from..to)?.iter().step_by(step).copied().collect();
    let mut kept = Map::new();
    for (name, text) in [("name", &series.name), ("unit", &series.unit), ("source", &series.source)]
    {
        kept.insert(name.to_owned(), json!(text));
    }
    kept.insert("at_ns".to_owned(), json!(at_ns));
    kept.insert("value".to_owned(), json!(value));
    (!at_ns.is_empty()).then_some(Value::Object(kept))
}
