//! oha's summary on the console: the whole run, percentiles, and counts by status and by error. The
//! names of its units scale with the slowest request, up to `10 min`.

use super::super::format::oha::{WHOLE_EXCHANGE, counts, missing};
use super::super::statistic::{different, statistic};
use super::super::text::{Line, Text};
use super::super::{Recognised, measure};
use super::{Block, Found};
use ifm_core::Metric;
use ifm_core::sheet::{
    Definition, Figure, Part, PartKind, Place, Row, RowRole, Statistic, StdKind, Unit,
};
use serde_json::{Map, Value};

pub(super) struct Oha;

/// Lines that a summary has at most.
const LINES_MAX: usize = 300;
const STATUSES: &str = "Status code distribution";
const ERRORS: &str = "Error distribution";
/// Its percentiles; older versions call them the second.
const PERCENTILES: [&str; 2] = ["Response time distribution", "Latency distribution"];
/// Lines of the first section that measure something.
const WHOLES: [(&str, Metric, Statistic); 5] = [
    ("Total", Metric::Duration, Statistic::Value),
    ("Slowest", Metric::E2e, Statistic::Max),
    ("Fastest", Metric::E2e, Statistic::Min),
    ("Average", Metric::E2e, Statistic::Mean),
    ("Requests/sec", Metric::RequestRate, Statistic::Value),
];

impl Block for Oha {
    fn about(&self) -> Recognised {
        Recognised { id: "oha-summary", title: "oha, printed summary" }
    }

    fn read(&self, first: Line<'_>, text: &Text) -> Option<Found> {
        // hey, its model, prints no rate of success.
        let second = text.line(first.number + 1)?;
        if first.text.trim() != "Summary:" || !second.text.trim().starts_with("Success rate:") {
            return None;
        }
        let mut summary = Summary::new(first.number);
        for line in text.from(second.number).take(LINES_MAX) {
            match line.text.trim() {
                "" => {}
                title if !line.text.starts_with(char::is_whitespace) => {
                    let section = title.strip_suffix(':').filter(|title| is_section(title));
                    let Some(section) = section else { break };
                    section.clone_into(&mut summary.section);
                    summary.last_line = line.number;
                }
                inner => summary.take(line.number, inner),
            }
        }
        summary.finish(first.number)
    }
}

fn is_section(title: &str) -> bool {
    let title = title.split(" (").next().unwrap_or(title);
    let known = ["Response time histogram", "Latency histogram", "Details", STATUSES, ERRORS];
    known.contains(&title) || PERCENTILES.contains(&title)
}

/// A summary while its lines are read.
struct Summary {
    row: Row,
    section: String,
    statuses: Option<Map<String, Value>>,
    errors: Option<Map<String, Value>>,
    /// Place of the counts.
    counted: Place,
    all_succeeded: bool,
    last_line: u32,
}

impl Summary {
    fn new(line: u32) -> Summary {
        Summary {
            row: Row::new(RowRole::Measured, Place::line(line)),
            section: String::new(),
            statuses: None,
            errors: None,
            counted: Place::line(line),
            all_succeeded: false,
            last_line: line,
        }
    }

    fn take(&mut self, number: u32, line: &str) {
        self.last_line = number;
        let place = Place::line(number);
        let figure = match self.section.as_str() {
            "" => {
                let Some((label, printed)) = line.split_once(':') else { return };
                let printed = printed.trim();
                self.all_succeeded |=
                    label == "Success rate" && matches!(printed, "100.00%" | "1.0000");
                let whole = WHOLES.iter().find(|(name, ..)| *name == label);
                let figure = whole
                    .and_then(|(_, quantity, statistic)| figure(*quantity, *statistic, printed));
                if figure.is_none() {
                    self.row.unknown.insert(label.to_owned(), Value::from(printed));
                }
                figure
            }
            section if PERCENTILES.contains(&section) => percentile(line),
            STATUSES => return count(line, &mut self.statuses, &mut self.counted, place, true),
            ERRORS => return count(line, &mut self.errors, &mut self.counted, place, false),
            _ => None,
        };
        match figure {
            Some(figure) => self.row.figures.push(Figure { place: Some(place), ..figure }),
            None if !self.section.is_empty() => {
                let kept = self.row.unknown.entry(self.section.as_str());
                if let Value::Array(lines) =
                    kept.or_insert_with(|| Value::from(Vec::<Value>::new()))
                {
                    lines.push(Value::from(line));
                }
            }
            None => {}
        }
    }

    fn finish(mut self, line: u32) -> Option<Found> {
        if self.row.figures.is_empty() {
            return None;
        }
        // Errors are listed where there are some.
        let errors = self.errors.or_else(|| self.all_succeeded.then(Map::new));
        let errors = errors.filter(|_| self.statuses.is_some());
        counts(self.statuses.as_ref(), errors.as_ref(), &self.counted, &mut self.row);
        let counted = self.row.figure(Metric::Requests, Statistic::Value).is_some();
        let remarks = (!counted).then(|| missing(&self.row)).into_iter().collect();
        let mut part = Part::new(PartKind::Serving, Place::line(line));
        part.tool = Some("oha".to_owned());
        part.rows = vec![self.row];
        Some(Found { parts: vec![part], last_line: self.last_line, remarks })
    }
}

/// `0.1279 sec`, `31.5622`; of `1.2345 10 min` the unit is ten of them.
fn figure(quantity: Metric, statistic: Statistic, printed: &str) -> Option<Figure> {
    let (number, unit) = printed.split_once(' ').unwrap_or((printed, ""));
    let (tens, unit) = match unit.strip_prefix("10 ") {
        Some(unit) => (true, unit),
        None => (false, unit),
    };
    let unit = match (quantity, unit) {
        (Metric::RequestRate, "") => Unit::PerS,
        (_, unit) => measure::unit_field(unit)?,
    };
    let value: f64 = number.parse().ok()?;
    let definition = match quantity {
        Metric::E2e => different(WHOLE_EXCHANGE),
        _ => Definition::Same,
    };
    let scale = if tens { 10.0 } else { 1.0 };
    let figure = Figure::new(quantity, statistic, value * scale, unit).defined(definition);
    // The digits give the precision of the printed number, not of a tenth of it.
    Some(if tens { figure } else { figure.as_printed(number) })
}

/// `50.00% in 0.1259 sec`.
fn percentile(line: &str) -> Option<Figure> {
    let (percent, printed) = line.split_once(" in ")?;
    figure(Metric::E2e, statistic(percent, StdKind::Unknown)?, printed)
}

/// `[200] 12 responses`, `[3] aborted due to deadline`.
fn count(
    line: &str,
    into: &mut Option<Map<String, Value>>,
    counted: &mut Place,
    place: Place,
    by_status: bool,
) {
    let Some((inner, behind)) = line.strip_prefix('[').and_then(|rest| rest.split_once(']')) else {
        return;
    };
    let behind = behind.trim();
    let (name, number) = match by_status {
        true => (inner, behind.split(' ').next().unwrap_or_default()),
        false => (behind, inner),
    };
    if let Ok(number) = number.parse::<u64>() {
        if into.is_none() && by_status {
            *counted = place;
        }
        into.get_or_insert_default().insert(name.to_owned(), Value::from(number));
    }
}
