//! The frame that `vllm bench serve` prints, and that SGLang and TensorRT-LLM adopted. Its lines
//! show which tool printed it.

use super::super::Recognised;
use super::super::serving::{Dialect, names};
use super::super::text::{Line, Text};
use super::{Block, Found};
use ifm_core::Metric;
use ifm_core::sheet::{
    Factors, Figure, Part, PartKind, Place, Remark, RemarkKind, Row, RowRole, Statistic, key,
};
use serde_json::{Map, Value};

pub(super) struct Serving;

/// Maximum number of lines in a frame: a longer one without an end is not a frame.
const LINES_MAX: usize = 200;
/// Lines in front of a frame that may say what was set.
const LINES_BEFORE: u32 = 60;
/// Arguments of SGLang that say what images were made.
const OF_IMAGES: [&str; 4] = ["image_count", "image_resolution", "image_format", "image_content"];
/// Words for a setting that was not set.
const NOT_SET: &[&str] = &["not set", "None", "n/a", ""];

impl Block for Serving {
    fn about(&self) -> Recognised {
        Recognised { id: "serving-block", title: "vllm bench serve or SGLang, printed result" }
    }

    fn read(&self, first: Line<'_>, text: &Text) -> Option<Found> {
        if !begins(first.text) {
            return None;
        }
        let mut frame = Frame::new(first.number);
        let mut last_line = first.number;
        let mut whole = false;
        for line in text.from(first.number + 1).take(LINES_MAX) {
            if begins(line.text) {
                break;
            }
            last_line = line.number;
            if ends(line.text) {
                whole = true;
                break;
            }
            frame.take(line);
        }
        if frame.rows.iter().all(|row| row.figures.is_empty()) {
            return None;
        }
        if !whole {
            frame.remark(RemarkKind::Skipped, last_line, "the printed block breaks off here");
        }
        Some(frame.finish(first, last_line, text))
    }
}

fn is_frame(line: &str) -> bool {
    let line = line.trim();
    line.starts_with("=====") && line.ends_with("=====")
}

fn begins(line: &str) -> bool {
    is_frame(line) && line.contains("Serving Benchmark Result")
}

fn ends(line: &str) -> bool {
    is_frame(line) && line.trim().bytes().all(|byte| byte == b'=')
}

/// A frame while its lines are read.
struct Frame {
    /// The run, and behind it its steady state if the frame has one.
    rows: Vec<Row>,
    remarks: Vec<Remark>,
    section: String,
    total_requests: bool,
}

impl Frame {
    fn new(line: u32) -> Frame {
        Frame {
            rows: vec![Row::new(RowRole::Measured, Place::line(line))],
            remarks: Vec::new(),
            section: String::new(),
            total_requests: false,
        }
    }

    fn remark(&mut self, kind: RemarkKind, line: u32, text: &str) {
        self.remarks.push(Remark { kind, place: Place::line(line), text: text.to_owned() });
    }

    fn take(&mut self, line: Line<'_>) {
        let title = line.text.trim().trim_matches('-').trim();
        if line.text.trim().starts_with("---") && !title.is_empty() {
            self.section = title.to_owned();
            if title.to_ascii_lowercase().starts_with("steady-state") {
                let mut row = Row::new(RowRole::Summary, Place::line(line.number));
                row.factors.set("window", "steady state");
                self.rows.push(row);
            }
            return;
        }
        let Some((label, printed)) = line.text.split_once(':') else { return };
        let (label, printed) = (label.trim(), printed.trim());
        self.total_requests |= label == "Total requests";
        let (kind, place) = (RemarkKind::Missing, line.number);
        let Some(row) = self.rows.last_mut() else { return };
        if let Some(factor) = names::setting_label(label) {
            if !NOT_SET.contains(&printed) {
                // A value that ends in `.00` is a whole number.
                row.factors.set(factor, printed.strip_suffix(".00").unwrap_or(printed));
            }
            return;
        }
        let Some((quantity, statistic, unit)) = names::label(label) else {
            if !printed.is_empty() {
                keep(row, &self.section, label, printed);
            }
            return;
        };
        let value = printed.replace(',', "").parse().unwrap_or(f64::NAN);
        let mut figure = Figure::new(quantity, statistic, value, unit).as_printed(printed);
        figure.place = Some(Place::line(line.number));
        let missing = figure.value.is_none();
        row.figures.push(figure);
        if missing {
            self.remark(kind, place, &format!("{label}: `{printed}` is not a number"));
        }
    }

    fn finish(mut self, first: Line<'_>, last_line: u32, text: &Text) -> Found {
        let dialect = self.dialect();
        let set = settings_before(first.number, text);
        let run = self.rows.first().map(|row| row.factors.clone()).unwrap_or_default();
        for row in &mut self.rows {
            row.factors = row.factors.within(&run).within(&set);
            dialect.define(row, &mut self.remarks);
        }
        let part = Part {
            kind: PartKind::Serving,
            tool: Some(dialect.tool().to_owned()),
            headings: Vec::new(),
            place: Place::line(first.number),
            factors: Factors::default(),
            rows: self.rows,
            unknown: Map::new(),
        };
        Found { parts: vec![part], last_line, remarks: self.remarks }
    }

    fn dialect(&self) -> Dialect {
        let Some(run) = self.rows.first() else { return Dialect::Vllm };
        let has = |quantity| run.figure(quantity, Statistic::Value).is_some();
        if run.unknown.contains_key("Protocol") {
            Dialect::SglangRust
        } else if run.factors.get(key::ENGINE).is_some() {
            Dialect::Sglang
        } else if has(Metric::UserSpeed) || self.total_requests {
            Dialect::TensorRt
        } else if self.rows.len() > 1 || has(Metric::InputRate) {
            Dialect::VllmRust
        } else {
            Dialect::Vllm
        }
    }
}

/// A line that no figure holds. Labels may come again in another section.
fn keep(row: &mut Row, section: &str, label: &str, printed: &str) {
    let mut name = label.to_owned();
    if row.unknown.contains_key(&name) {
        name = format!("{section}: {label}");
    }
    let mut number = 2;
    while row.unknown.contains_key(&name) {
        name = format!("{section}: {label} ({number})");
        number += 1;
    }
    row.unknown.insert(name, Value::String(printed.to_owned()));
}

/// What the lines in front of a frame say about the run that it ends.
fn settings_before(frame: u32, text: &Text) -> Factors {
    let mut factors = Factors::default();
    let first = frame.saturating_sub(LINES_BEFORE).max(1);
    for line in text.from(first).take_while(|line| line.number < frame) {
        if is_frame(line.text) {
            factors = Factors::default();
        } else if let Some(arguments) = line.text.trim().strip_prefix("Namespace(") {
            factors = arguments_of(arguments);
        } else if let Some((label, printed)) = line.text.split_once(':')
            && let Some(factor) = names::setting_label(label.trim())
            && !NOT_SET.contains(&printed.trim())
        {
            factors.set(factor, printed.trim());
        }
    }
    factors
}

/// The arguments as Python prints them: `model='x', num_prompts=12, …`.
fn arguments_of(arguments: &str) -> Factors {
    let mut factors = Factors::default();
    let value_of = |name: &str| {
        let start = match arguments.starts_with(&format!("{name}=")) {
            true => name.len() + 1,
            false => arguments.find(&format!(", {name}="))? + name.len() + 3,
        };
        let rest = arguments.get(start..)?;
        let value = match rest.strip_prefix('\'') {
            Some(quoted) => quoted.split('\'').next()?,
            None => rest.split([',', ')']).next()?,
        };
        (!NOT_SET.contains(&value)).then(|| value.to_owned())
    };
    if let Some(model) = value_of("model") {
        factors.set(key::MODEL, model);
    }
    // These have a default too, which holds where images are made.
    if value_of("dataset_name").as_deref() == Some("image") {
        for (name, value) in OF_IMAGES.iter().filter_map(|name| Some((*name, value_of(name)?))) {
            factors.set(name, value);
        }
    }
    let random = value_of("dataset_name").is_some_and(|name| name.starts_with("random"));
    for (name, factor) in names::SETTINGS {
        // Lengths have a default value, which holds for random prompts only.
        if name.starts_with("random_") && !random {
            continue;
        }
        if let Some(value) = value_of(name) {
            factors.set(*factor, value);
        }
    }
    factors
}
