//! GuideLLM's tables on the console, of its four generations.
//!
//! A run is printed as separate tables: latencies in one, throughput in another. Tables that name
//! the same strategies in the same order belong to one run, and become one row per benchmark.

use super::super::Recognised;
use super::super::format::guidellm::words;
use super::super::grid::{resumed, stray};
use super::super::text::{Line, Text};
use super::spans::{cells, columns, is_rule, spread};
use super::{Block, Found, joining};
use ifm_core::Metric;
use ifm_core::sheet::{
    Definition, Factors, Figure, Part, PartKind, Place, Remark, RemarkKind, Row, RowRole,
    Statistic, Unit,
};
use serde_json::{Map, Value};

pub(super) struct Guidellm;

/// The tool as parts name it.
const TOOL: &str = "guidellm";
/// Lines of a table at most.
const LINES_MAX: usize = 10_000;
/// First cells of the lines of a table header.
const HEADS: [&str; 4] = ["Benchmark", "Strategy", "Metadata", ""];
/// Lines between a title and its table.
const TITLE_LINES: u32 = 3;

impl Block for Guidellm {
    fn about(&self) -> Recognised {
        Recognised { id: "guidellm-tables", title: "GuideLLM, printed tables" }
    }

    fn read(&self, first: Line<'_>, text: &Text) -> Option<Found> {
        let first_cell = |line: &str| cells(line).map(|cells| cells[0].trim().to_owned());
        let second = text.from(first.number + 1).next()?;
        // Versions 0.2 and 0.3 print `Metadata` above the names of benchmarks.
        let tpot = match (first_cell(first.text)?.as_str(), first_cell(second.text)?.as_str()) {
            ("Benchmark", "Strategy") => words::TpotMeaning::WithFirst,
            ("Metadata", "Benchmark") => words::TpotMeaning::ByAll,
            _ => return None,
        };
        let title = title(first.number, text);
        let mut found = Found { parts: Vec::new(), last_line: first.number, remarks: Vec::new() };
        let mut table = Table::default();
        // The row with which the table goes on behind lines that are none.
        let mut next_row = 0;
        for line in text.from(first.number).take(LINES_MAX) {
            if line.number < next_row {
                found.remarks.extend((!line.text.trim().is_empty()).then(|| stray(line.number)));
                continue;
            }
            let Some(cells) = cells(line.text) else {
                match table.goes_on(line.number, text) {
                    Some(row) => next_row = row,
                    None => break,
                }
                found.remarks.extend((!line.text.trim().is_empty()).then(|| stray(line.number)));
                continue;
            };
            found.last_line = line.number;
            table.is_closed = is_rule(line.text) && !table.rows.is_empty();
            if is_rule(line.text) {
                table.rules += 1;
            } else if cells[0].trim() == "Benchmark" && table.rules > 0 && !table.rows.is_empty() {
                // A second table in the same frame.
                found.parts.extend(std::mem::take(&mut table).part(&title, &mut found.remarks));
                table.headings.push(spread(&cells));
                table.first = line.number;
            } else if table.rules == 0 {
                table.first = table.first.max(first.number);
                table.headings.push(spread(&cells));
            } else {
                table
                    .rows
                    .push((line.number, cells.iter().map(|cell| cell.trim().to_owned()).collect()));
            }
        }
        found.parts.extend(table.part(&title, &mut found.remarks));
        let rows = found.parts.iter_mut().flat_map(|part| &mut part.rows);
        rows.for_each(|row| words::define_tpot(row, Some(tpot)));
        (!found.parts.is_empty()).then_some(found)
    }

    fn join(&self, parts: &mut Vec<Part>, remarks: &mut Vec<Remark>) {
        joining::join(TOOL, parts, remarks);
    }
}

/// The title of a table, if there is one above it.
fn title(number: u32, text: &Text) -> String {
    let above = text.from(number.saturating_sub(TITLE_LINES).max(1));
    above
        .take_while(|line| line.number < number)
        .filter(|line| !is_rule(line.text) && cells(line.text).is_none())
        .map(|line| line.text.trim().trim_start_matches(|c: char| !c.is_alphanumeric()))
        .filter(|line| ["Statistics", "Info", "Stats"].iter().any(|word| line.contains(word)))
        .last()
        .unwrap_or_default()
        .trim_end_matches(':')
        .to_owned()
}

#[derive(Default)]
struct Table {
    first: u32,
    headings: Vec<Vec<String>>,
    rules: usize,
    /// Whether the last line was a rule below rows.
    is_closed: bool,
    rows: Vec<(u32, Vec<String>)>,
}

impl Table {
    /// Columns that the lowest line of the headings names.
    fn width(&self) -> usize {
        self.headings.last().map_or(0, Vec::len)
    }

    /// The row with which it goes on behind lines that are none.
    fn goes_on(&self, line: u32, text: &Text) -> Option<u32> {
        let width = self.width();
        let is_row = |line: &str| {
            cells(line).is_some_and(|cells| {
                let first = cells.first().map_or("", |cell| cell.trim());
                cells.len() == width && !HEADS.contains(&first)
            })
        };
        let is_open = self.rules > 0 && !self.is_closed;
        resumed(line, text, is_row, is_rule).filter(|_| is_open)
    }

    fn part(self, title: &str, remarks: &mut Vec<Remark>) -> Option<Part> {
        let mut columns = columns(&self.headings);
        // Bars behind the last heading are of no column.
        columns.truncate(self.width());
        let mut rows = Vec::new();
        for (line, cells) in &self.rows {
            if cells.len() != columns.len() || cells.first().is_none_or(String::is_empty) {
                remarks.push(Remark {
                    kind: RemarkKind::Skipped,
                    place: Place::line(*line),
                    text: format!("{} cells below {} headings", cells.len(), columns.len()),
                });
                continue;
            }
            let row = row(&columns, cells, *line, title);
            remarks.extend(row.figures.iter().filter_map(|figure| no_number(figure, *line)));
            rows.push(without_means_of_none(row));
            remarks.extend(rows.last_mut().map(words::without_zeros).unwrap_or_default());
        }
        (!rows.is_empty()).then(|| Part {
            kind: PartKind::Serving,
            tool: Some(TOOL.to_owned()),
            headings: Vec::new(),
            place: Place::line(self.first),
            factors: Factors::default(),
            rows,
            unknown: Map::from_iter([(
                joining::TABLES.to_owned(),
                Value::from(vec![name(title, &columns)]),
            )]),
        })
    }
}

/// Where no request was completed there is no mean over them, and a zero is printed for it.
fn without_means_of_none(mut row: Row) -> Row {
    if row.value(Metric::RequestsOk, Statistic::Value) == Some(0.0) {
        let means = row.figures.iter_mut().filter(|figure| figure.statistic == Statistic::Mean);
        means.filter(|figure| figure.value == Some(0.0)).for_each(|figure| figure.value = None);
    }
    row
}

/// The name of a table: its title, or its headings if it has no title.
fn name(title: &str, columns: &[Vec<String>]) -> String {
    let mut groups: Vec<&str> =
        columns.iter().skip(1).filter_map(|column| column.first()).map(String::as_str).collect();
    groups.dedup();
    match title {
        "" => groups.join(", "),
        title => format!("{title}: {}", groups.join(", ")),
    }
}

fn row(columns: &[Vec<String>], cells: &[String], line: u32, title: &str) -> Row {
    let mut row = Row::new(RowRole::Measured, Place::line(line));
    let own = |column: &[String]| Place { line: Some(line), pointer: Some(column.join(" / ")) };
    for (at, (column, cell)) in columns.iter().zip(cells).enumerate() {
        if at == 0 {
            words::strategy(cell, &mut row.factors);
            row.label = Some(cell.clone());
            continue;
        }
        let known = match title.split_once(" Metrics") {
            Some((kind, _)) => carried(kind, column),
            None => figure_of(column),
        };
        let Some((quantity, statistic, unit)) = known else {
            row.unknown.insert(column.join(" / "), Value::from(cell.as_str()));
            continue;
        };
        for (statistic, value, printed) in numbers(cell, statistic) {
            let definition = match title.contains("All Requests") {
                true => {
                    Definition::Different("over all requests, also those that failed".to_owned())
                }
                false => words::definition(quantity, statistic),
            };
            let value = value.unwrap_or(f64::NAN);
            let mut figure = Figure::new(quantity, statistic, value, unit.clone())
                .as_printed(printed)
                .defined(definition);
            figure.place = Some(own(column));
            row.figures.push(figure);
        }
    }
    row
}

/// The meaning of a column in a table of media: `Input Pixels` of one request, or per second. For
/// text, the tool counts tokens, words and characters separately from the server's counts, so these
/// columns are not read.
fn carried(kind: &str, column: &[String]) -> Option<(Metric, Statistic, Unit)> {
    let heading = column.first()?.to_ascii_lowercase();
    let name = heading.strip_prefix("input ")?;
    let kind = kind.rsplit(' ').next()?.to_ascii_lowercase();
    let own = words::CARRIED.iter().find(|own| (own.kind, own.name) == (kind.as_str(), name))?;
    let is_rate = column.iter().any(|heading| heading.eq_ignore_ascii_case("per second"));
    let (quantity, unit) = if is_rate { own.rate.clone()? } else { own.each.clone() };
    let last = column.last()?;
    let statistic = super::super::statistic::statistic(last, ifm_core::sheet::StdKind::Population)?;
    Some((quantity, statistic, unit))
}

/// The remark about a cell that is neither a number nor a mark for a missing value.
fn no_number(figure: &Figure, line: u32) -> Option<Remark> {
    let printed = figure.printed.as_deref()?.trim();
    let is_mark = printed.is_empty()
        || printed.chars().all(|c| matches!(c, '-' | '–' | '—' | '*'))
        || ["n/a", "nan", "none", "null"].contains(&printed.to_lowercase().as_str());
    (figure.value.is_none() && !is_mark).then(|| Remark {
        kind: RemarkKind::Missing,
        place: Place::line(line),
        text: format!(
            "{}: `{printed}` is not a number",
            figure.place.as_ref().and_then(|place| place.pointer.as_deref()).unwrap_or("a cell")
        ),
    })
}

/// The numbers of a cell: `62.7 ± 4.8`, `74.7*`, `--`.
fn numbers(cell: &str, statistic: Statistic) -> Vec<(Statistic, Option<f64>, &str)> {
    let number = |text: &str| text.trim_end_matches('*').replace(',', "").parse::<f64>().ok();
    match cell.split_once('±') {
        Some((mean, half)) => vec![
            (statistic, number(mean.trim()), mean.trim()),
            (Statistic::HalfWidth, number(half.trim()), half.trim()),
        ],
        None => vec![(statistic, number(cell), cell)],
    }
}

/// What the headings of a column say.
fn figure_of(column: &[String]) -> Option<(Metric, Statistic, Unit)> {
    let words = column.join(" ").to_ascii_lowercase();
    let has = |word: &str| words.contains(word);
    let statistic = match column.last()?.to_ascii_lowercase().as_str() {
        "per second" | "concurrency" => Statistic::Mean,
        last => super::super::statistic::statistic(last, ifm_core::sheet::StdKind::Population)
            .unwrap_or(Statistic::Value),
    };
    // Numbers of requests and tokens by what became of them.
    let outcome = ["comp", "inc", "err"]
        .into_iter()
        .find(|outcome| column.iter().any(|heading| heading.eq_ignore_ascii_case(outcome)));
    let (quantity, unit) = match outcome {
        Some("comp") if has("requests") => (Metric::RequestsOk, Unit::Count),
        Some("inc") if has("requests") => (Metric::RequestsIncomplete, Unit::Count),
        Some("err") if has("requests") => (Metric::RequestsFailed, Unit::Count),
        Some("comp") if has("input tok") || has("prompt tok") => {
            return tokens(Metric::InputTokens, &words);
        }
        Some("comp") if has("output tok") => return tokens(Metric::OutputTokens, &words),
        Some(_) => return None,
        None => plain(&words)?,
    };
    Some((quantity, statistic, unit))
}

/// Tokens of completed requests: a mean per request in the oldest tables, otherwise a sum.
fn tokens(quantity: Metric, words: &str) -> Option<(Metric, Statistic, Unit)> {
    let statistic = if words.contains("tok/req") { Statistic::Mean } else { Statistic::Sum };
    Some((quantity, statistic, Unit::Count))
}

fn plain(words: &str) -> Option<(Metric, Unit)> {
    let has = |word: &str| words.contains(word);
    let time = if has("(ms)") || has(" ms") { Unit::Ms } else { Unit::S };
    let per_s = has("per sec") || has("/sec");
    Some(match () {
        () if has("timings") || has("duration") => match has(" dur") {
            true => (Metric::Duration, Unit::S),
            false => return None,
        },
        () if has("ttfot") => (Metric::Ttfat, time),
        () if has("ttft") => (Metric::Ttft, time),
        () if has("itl") => (Metric::Itl, time),
        () if has("tpot") => (Metric::Tpot, time),
        () if has("request latency") || has("req latency") => (Metric::E2e, time),
        () if has("concurrency") => (Metric::InFlight, Unit::Count),
        () if has("request") && !has("tok") && per_s => (Metric::RequestRate, Unit::PerS),
        () if has("input tok") && per_s => (Metric::InputRate, Unit::PerS),
        () if has("output tok") && per_s || has("out tok/sec") => (Metric::OutputRate, Unit::PerS),
        () if has("total tok") && per_s || has("tot tok/sec") => (Metric::TotalRate, Unit::PerS),
        () if has("stream iter") => return None,
        () if has("input tok") && has("per req") => (Metric::InputTokens, Unit::Count),
        () if has("output tok") && has("per req") => (Metric::OutputTokens, Unit::Count),
        () if has("total tok") && has("per req") => (Metric::TotalTokens, Unit::Count),
        () => return None,
    })
}

#[cfg(test)]
mod tests {
    use crate::{Input, read};
    use ifm_core::Metric;
    use ifm_core::sheet::{RemarkKind, Statistic};

    const HEAD: &str = "\
Request Latency Statistics
|=====|=====|======|
| Benchmark | ITL | TPOT |
| Strategy | ms | ms |
| | Mdn | Mdn |
|-----|-----|------|
| synchronous | 1.0 | 2.0 |
";

    /// The number of rows, and the line and kind of each remark.
    fn found(rest: &str) -> (usize, Vec<(u32, RemarkKind)>) {
        let text = format!("{HEAD}{rest}|=====|=====|======|\n");
        let sheet = read(Input::new("x", text.as_bytes())).expect("a table");
        let rows = sheet.parts.iter().map(|part| part.rows.len()).sum();
        let of = |remark: &ifm_core::sheet::Remark| Some((remark.place.line?, remark.kind));
        (rows, sheet.remarks.iter().filter_map(of).collect())
    }

    /// Of the first generation: what was done in one table, how fast in another.
    const FIRST: &str = "\
Benchmarks Info:
===================================
Metadata                                      |||| Requests Made  ||| Prompt Tok/Req ||| Output Tok/Req ||| Prompt Tok Total||| Output Tok Total  ||
    Benchmark| Start Time| End Time| Duration (s)|  Comp|  Inc|  Err|  Comp|   Inc| Err|  Comp|   Inc| Err|  Comp|    Inc| Err|   Comp|    Inc|  Err
-------------|-----------|---------|-------------|------|-----|-----|------|------|----|------|------|----|------|-------|----|-------|-------|-----
  synchronous|   12:49:37| 12:50:07|         29.6|     0|    1|    0|   0.0| 256.0| 0.0|   0.0| 127.0| 0.0|     0|    256|   0|      0|    127|    0
constant@0.93|   12:50:44| 12:51:12|         28.9|    11|   16|    2| 257.0| 256.0| 0.0| 128.0|  64.5| 0.0|  2827|   4096|   0|   1408|   1032|    0
===================================


Benchmarks Stats:
===================================
Metadata     | Request Stats         || Out Tok/sec| ITL (ms)         ||
    Benchmark| Per Second| Concurrency|        mean| mean|  median| p99
-------------|-----------|------------|------------|-----|--------|----
  synchronous|       0.00|        1.00|         4.3|  4.9|     4.9| 5.1
constant@0.93|       0.38|        9.58|        49.0|  5.9|     5.8| 6.1
===================================
";

    #[test]
    fn the_two_tables_of_the_first_generation_are_one_row_a_benchmark() {
        // A bar more at the end of the heads is not a column.
        for text in
            [FIRST.to_owned(), FIRST.replace("Output Tok Total  ||", "Output Tok Total  |||")]
        {
            let sheet = read(Input::new("x", text.as_bytes())).expect("tables");
            assert_eq!(sheet.parts.len(), 1);
            let rows = &sheet.parts[0].rows;
            assert_eq!(rows.len(), 2);
            let of = |at: usize, quantity, statistic| rows[at].value(quantity, statistic);
            for (quantity, statistic, value) in [
                (Metric::RequestsOk, Statistic::Value, 11.0),
                (Metric::RequestsIncomplete, Statistic::Value, 16.0),
                (Metric::RequestsFailed, Statistic::Value, 2.0),
                (Metric::InputTokens, Statistic::Mean, 257.0),
                (Metric::InputTokens, Statistic::Sum, 2827.0),
                (Metric::OutputTokens, Statistic::Sum, 1408.0),
                (Metric::Duration, Statistic::Value, 28900.0),
                (Metric::Itl, Statistic::Mean, 5.9),
            ] {
                assert_eq!(of(1, quantity, statistic), Some(value), "{quantity:?}");
            }
            assert_eq!(rows[1].unknown["Output Tok Total / Inc"], "1032");
            assert_eq!(rows[1].unknown["Prompt Tok/Req / Err"], "0.0");
            assert_eq!(of(0, Metric::RequestsOk, Statistic::Value), Some(0.0));
            assert_eq!(of(0, Metric::OutputTokens, Statistic::Mean), None);
        }
    }

    #[test]
    fn damaged_lines_cost_no_sound_ones() {
        let row = "| constant | 3.0 | 4.0 |\n";
        assert_eq!(found(row), (2, Vec::new()));
        let skipped = |line| vec![(line, RemarkKind::Skipped)];
        assert_eq!(found(&format!("WARNING slow\n{row}")), (2, skipped(8)));
        assert_eq!(found(&format!("| constant | 3\n{row}")), (2, skipped(8)));
        let missing = vec![(8, RemarkKind::Missing)];
        assert_eq!(found(&format!("| constant | abc | 4.0 |\n{row}")), (3, missing));
        assert_eq!(found(&format!("| constant | -- | 4.0 |\n{row}")), (3, Vec::new()));
    }
}
