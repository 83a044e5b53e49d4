//! The table that llama-benchy prints: tests as llama-bench names them, measured over a server's
//! API, with the number of requests in flight in brackets.
//!
//! A prompt test and a generation test are two rows of one run. Not here: `llama-bench` itself
//! (`llama`), whose table has no times to a first response.

use super::super::Recognised;
use super::super::grid::{grid, stray};
use super::super::measure::{Cell, plain};
use super::super::separated::misfit;
use super::super::text::{Line, Text};
use super::answer::{different, own};
use super::{Block, Found};
use ifm_core::Metric;
use ifm_core::sheet::{
    Definition, Figure, Part, PartKind, Place, Remark, RemarkKind, Row, RowRole, Statistic,
    StdKind, Unit, key,
};
use serde_json::Value;

pub(super) struct LlamaBenchy;

const TOOL: &str = "llama-benchy";
/// Lines after a table that may name the build.
const LINES_BEHIND: usize = 6;
/// Columns that llama-bench's table does not have; one of them distinguishes the tables.
const OWN_COLUMNS: [&str; 3] = ["ttfr (ms)", "est_ppt (ms)", "e2e_ttft (ms)"];

const PROMPTS: &str = "prompt tokens of all requests over the time from the first start to the last \
    first token";
const PROMPT: &str = "prompt tokens of a request over its estimated prefill time";
const ANSWERS: &str = "tokens of all answers, the first of each apart, over the time from the earliest \
    first token to the end";
const ANSWER: &str = "tokens after the first over the time from the first token to the end";
const FIRST_RESPONSE: &str = "to the first chunk of any kind, also one without text";
const ESTIMATED: &str =
    "to the first chunk of any kind, less an estimated latency of the connection";

/// What a table measures in a column, for tests of prompts or of generation.
fn column(head: &str, is_prompt: bool, is_alone: bool) -> Option<(Metric, Unit, Definition)> {
    let rate = |quantity, text| Some((quantity, Unit::PerS, different(text)));
    match (head, is_prompt) {
        // With one request in flight the tool prints the speed of the request as the total.
        ("t/s (total)", true) if is_alone => rate(Metric::InputRate, PROMPT),
        ("t/s (total)", false) if is_alone => rate(Metric::OutputRate, ANSWER),
        ("t/s (total)", true) => rate(Metric::InputRate, PROMPTS),
        ("t/s (total)", false) => rate(Metric::OutputRate, ANSWERS),
        ("t/s" | "t/s (req)", true) => rate(Metric::PrefillRate, PROMPT),
        ("t/s" | "t/s (req)", false) => Some((Metric::UserSpeed, Unit::PerS, Definition::Same)),
        ("peak t/s", false) => {
            rate(Metric::PeakOutputRate, "of all requests, in the busiest window of the tool")
        }
        ("peak t/s (req)", false) => rate(own("peak_user_rate"), "of one request"),
        ("ttfr (ms)", _) => {
            Some((own("time_to_first_response"), Unit::Ms, different(FIRST_RESPONSE)))
        }
        ("est_ppt (ms)", _) => Some((Metric::Prefill, Unit::Ms, different(ESTIMATED))),
        ("e2e_ttft (ms)", _) => Some((Metric::Ttft, Unit::Ms, Definition::Same)),
        _ => None,
    }
}

impl Block for LlamaBenchy {
    fn about(&self) -> Recognised {
        Recognised { id: "llama-benchy-table", title: "llama-benchy, printed table" }
    }

    fn read(&self, first: Line<'_>, text: &Text) -> Option<Found> {
        if !first.text.contains("t/s") || !first.text.contains("test") {
            return None;
        }
        let table = grid(first, text)?;
        let head: Vec<String> = table.head.iter().map(|head| plain(head)).collect();
        let has = |name: &str| head.iter().any(|head| head == name);
        if !has("test") || !OWN_COLUMNS.iter().any(|name| has(name)) {
            return None;
        }
        let mut remarks: Vec<Remark> = table.strays.iter().copied().map(stray).collect();
        let mut part = Part::new(PartKind::Serving, Place::line(first.number));
        part.tool = Some(TOOL.to_owned());
        for (line, cells) in &table.rows {
            match row(&head, cells, *line, &mut remarks) {
                Ok(row) => part.rows.push(row),
                Err(reason) => remarks.push(remark(RemarkKind::Skipped, *line, reason)),
            }
        }
        let mut last_line = table.last_line;
        for line in text.from(table.last_line + 1).take(LINES_BEHIND) {
            let text = line.text.trim();
            if let Some(build) = text.strip_prefix("llama-benchy (") {
                let build = build.trim_end_matches(')');
                let (name, value) = build.split_once(':').unwrap_or(("version", build));
                part.unknown.insert(name.to_owned(), Value::String(value.trim().to_owned()));
            } else if text.starts_with("date:") {
                for (name, value) in text.split('|').filter_map(|field| field.split_once(':')) {
                    let value = Value::String(value.trim().to_owned());
                    part.unknown.insert(name.trim().to_owned(), value);
                }
            } else if text.is_empty() {
                continue;
            } else {
                break;
            }
            last_line = line.number;
        }
        (!part.rows.is_empty()).then(|| Found { parts: vec![part], last_line, remarks })
    }
}

fn remark(kind: RemarkKind, line: u32, text: String) -> Remark {
    Remark { kind, place: Place::line(line), text }
}

/// A test: `pp1024`, `tg128 @ d4096 (c5)`, `ctx_pp @ d4096`.
#[derive(Debug, PartialEq)]
struct Test {
    is_prompt: bool,
    is_context: bool,
    tokens: Option<u64>,
    depth: Option<u64>,
    users: Option<u64>,
}

fn test(name: &str) -> Option<Test> {
    let mut users = None;
    let mut rest = name.trim().to_owned();
    if let Some((before, inside)) = name.split_once('(') {
        let (inside, after) = inside.split_once(')')?;
        users = Some(inside.trim().strip_prefix('c')?.trim().parse().ok()?);
        rest = format!("{} {}", before.trim(), after.trim());
    }
    let (work, depth) = match rest.split_once('@') {
        Some((work, depth)) => (work, Some(depth.trim().strip_prefix('d')?.trim().parse().ok()?)),
        None => (rest.as_str(), None),
    };
    let work = work.trim();
    let bare = work.strip_prefix("ctx_").unwrap_or(work);
    let tokens = bare.strip_prefix("pp").or_else(|| bare.strip_prefix("tg"))?.trim();
    let tokens = if tokens.is_empty() { None } else { Some(tokens.parse().ok()?) };
    let is_context = work.starts_with("ctx_");
    // A context is what the prompt of its test is.
    let is_known = tokens.is_some() || (is_context && depth.is_some());
    is_known.then(|| Test { is_prompt: bare.starts_with("pp"), is_context, tokens, depth, users })
}

impl Test {
    fn set(&self, row: &mut Row) {
        let kind = if self.is_prompt { "pp" } else { "tg" };
        let context = if self.is_context { "ctx_" } else { "" };
        let tokens = self.tokens.map_or(String::new(), |tokens| tokens.to_string());
        row.factors.set(key::TEST, format!("{context}{kind}{tokens}"));
        let length = if self.is_prompt { key::INPUT_TOKENS } else { key::OUTPUT_TOKENS };
        let prompt = self.depth.filter(|_| self.is_context && self.is_prompt);
        for (factor, value) in [
            (length, self.tokens.or(prompt)),
            (key::DEPTH_TOKENS, self.depth.filter(|_| prompt.is_none())),
            (key::CONCURRENCY, self.users),
        ] {
            if let Some(value) = value {
                row.factors.set(factor, value);
            }
        }
    }
}

fn row(
    head: &[String],
    cells: &[String],
    line: u32,
    remarks: &mut Vec<Remark>,
) -> Result<Row, String> {
    if cells.len() != head.len() {
        return Err(misfit(cells.len(), head.len()));
    }
    let cell = |name: &str| head.iter().position(|head| head == name).and_then(|at| cells.get(at));
    let name = cell("test").map(|name| plain(name)).unwrap_or_default();
    let mut test = test(&name).ok_or_else(|| format!("test `{name}`"))?;
    // Without a number in brackets the tool sent one request at a time, unless it gives totals.
    let is_single = !head.iter().any(|head| head == "t/s (total)");
    test.users = test.users.or(is_single.then_some(1));
    let mut row = Row::new(RowRole::Measured, Place::line(line));
    test.set(&mut row);
    for (head, cell) in head.iter().zip(cells) {
        let is_empty = plain(cell).is_empty();
        match head.as_str() {
            "test" => {}
            "model" => row.factors.set(key::MODEL, plain(cell)),
            _ if is_empty => {}
            name => match column(name, test.is_prompt, test.users == Some(1)) {
                Some((quantity, unit, meaning)) => match figures(cell, quantity, unit, meaning) {
                    Some(figures) => row.figures.extend(figures),
                    None => {
                        let text = format!("{name}: `{}` is not a number of it", plain(cell));
                        remarks.push(remark(RemarkKind::Missing, line, text));
                    }
                },
                None => {
                    row.unknown.insert(name.to_owned(), Value::String(plain(cell)));
                    let text = format!("column not understood, so no figure: `{name}`");
                    if !remarks.iter().any(|other| other.text == text) {
                        remarks.push(remark(RemarkKind::Lost, line, text));
                    }
                }
            },
        }
    }
    match row.figures.iter().any(|figure| figure.value.is_some()) {
        true => Ok(row),
        false => Err(format!("test `{name}` without a number")),
    }
}

/// A mean and its deviation, `1900.0 ± 300.0`, which numpy divides by the number of values.
fn figures(cell: &str, quantity: Metric, unit: Unit, meaning: Definition) -> Option<Vec<Figure>> {
    let Cell::Number { value, printed, spread, .. } = Cell::read(cell) else { return None };
    let figure = |statistic, value, printed: String| {
        let figure = Figure::new(quantity, statistic, value, unit.clone());
        figure.as_printed(printed).defined(meaning.clone())
    };
    let mut found = vec![figure(Statistic::Mean, value, printed)];
    if let Some((spread, printed)) = spread {
        found.push(figure(Statistic::Std(StdKind::Population), spread, printed));
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_names_of_tests() {
        let of = |name| {
            let test = test(name)?;
            Some((test.is_prompt, test.tokens, test.depth, test.users))
        };
        assert_eq!(of("pp1024 (c5)"), Some((true, Some(1024), None, Some(5))));
        assert_eq!(of("tg32"), Some((false, Some(32), None, None)));
        assert_eq!(of("pp2048 @ d4096"), Some((true, Some(2048), Some(4096), None)));
        assert_eq!(of("tg32 @ d4096 (c2)"), Some((false, Some(32), Some(4096), Some(2))));
        assert_eq!(of("ctx_pp @ d4096 (c2)"), Some((true, None, Some(4096), Some(2))));
        for name in ["pp", "tg", "warmup", "pp1024 (x5)", "pp1024 @ 4096", ""] {
            assert_eq!(of(name), None, "{name}");
        }
    }
}
