//! One answer of an engine, built from the lines that the engine prints after it: one row in a part
//! of its own.
//!
//! Not here: where the numbers are in a line. Each engine has a file of its own.

use super::Found;
use ifm_core::Metric;
use ifm_core::sheet::{
    Definition, Figure, Part, PartKind, Place, Remark, RemarkKind, Row, RowRole, Statistic, Unit,
    key,
};
use serde_json::Value;

/// Time of generation, prompt not included.
pub(super) const GENERATION_TIME: &str = "generation_time";
/// Time of loading the model.
pub(super) const LOAD_TIME: &str = "load_time";
/// Of an engine's speed of generation.
pub(super) const NO_FIRST: &str =
    "decode steps over their time: the first token, which comes with the prompt, is not in it";
/// Of an engine's prompt tokens.
pub(super) const COMPUTED: &str =
    "prompt tokens that were computed: those from a prompt cache are not in it";

/// An answer while its lines are read.
#[derive(Debug)]
pub(super) struct Answer {
    row: Row,
    remarks: Vec<Remark>,
}

/// A quantity without a name of its own in the sheet.
pub(super) fn own(name: &str) -> Metric {
    Metric::other(name)
}

/// A definition that differs from inferometer's, in words.
pub(super) fn different(text: &str) -> Definition {
    Definition::Different(text.to_owned())
}

/// The number that a line has printed; absent for `inf`, `nan` and words.
pub(super) fn number(printed: &str) -> Option<f64> {
    printed.replace(',', "").parse().ok().filter(|number: &f64| number.is_finite())
}

impl Answer {
    /// An answer whose first line is this one.
    pub fn new(line: u32, engine: Option<&str>) -> Answer {
        let mut row = Row::new(RowRole::Measured, Place::line(line));
        if let Some(engine) = engine {
            row.factors.set(key::ENGINE, engine);
        }
        Answer { row, remarks: Vec::new() }
    }

    /// Adds a figure with the characters that were printed. What is not a number has no value.
    pub fn add(
        &mut self,
        line: u32,
        quantity: Metric,
        printed: &str,
        unit: Unit,
        definition: Definition,
    ) {
        let value = number(printed).unwrap_or(f64::NAN);
        if !value.is_finite() {
            let text = format!("{}: `{printed}` is not a number", quantity.prose());
            self.remarks.push(Remark { kind: RemarkKind::Missing, place: Place::line(line), text });
        }
        let figure = Figure::new(quantity, Statistic::Value, value, unit);
        self.push(line, figure.as_printed(printed).defined(definition));
    }

    /// Keeps what the engine prints for something that it did not measure: zero is not a figure of it.
    pub fn keep_unmeasured(&mut self, quantity: Metric, printed: &str) {
        self.keep(quantity.prose(), printed);
    }

    /// Adds a figure that is printed on a line.
    pub fn push(&mut self, line: u32, mut figure: Figure) {
        figure.place = Some(Place::line(line));
        self.row.figures.push(figure);
    }

    /// Keeps a field that is not a figure.
    pub fn keep(&mut self, name: &str, printed: &str) {
        self.row.unknown.insert(name.to_owned(), Value::String(printed.to_owned()));
    }

    /// Remarks on something in the lines.
    pub fn remark(&mut self, kind: RemarkKind, line: u32, text: impl Into<String>) {
        self.remarks.push(Remark { kind, place: Place::line(line), text: text.into() });
    }

    /// Whether a figure of this quantity was printed, with or without a value.
    pub fn has(&self, quantity: Metric) -> bool {
        self.row.figures.iter().any(|figure| figure.quantity == quantity)
    }

    /// The part that holds the answer; none where no figure has a value.
    pub fn into_part(self, tool: &str, remarks: &mut Vec<Remark>) -> Option<Part> {
        let is_measured = self.row.figures.iter().any(|figure| figure.value.is_some());
        if !is_measured {
            remarks.push(Remark {
                kind: RemarkKind::Skipped,
                place: self.row.place.clone(),
                text: "timings of an engine without a measured number".to_owned(),
            });
            return None;
        }
        remarks.extend(self.remarks);
        let mut part = Part::new(PartKind::Engine, self.row.place.clone());
        part.tool = Some(tool.to_owned());
        part.rows.push(self.row);
        Some(part)
    }

    /// The block that is this answer and nothing else.
    pub fn into_block(self, tool: &str, last_line: u32) -> Found {
        let mut remarks = Vec::new();
        let parts = self.into_part(tool, &mut remarks).into_iter().collect();
        Found { parts, last_line, remarks }
    }
}
