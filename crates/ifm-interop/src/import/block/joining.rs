//! Tables of one run that a tool prints apart become rows that hold all of it.
//!
//! Two tables are joined only if nothing indicates two different runs: they have the same settings,
//! no heading is between them except one that names a table, they follow the order of the tool, and
//! all tables between the same headings are the same for every run. If one of them is missing, so
//! that a table might belong to its neighbor above or below, the tables are not joined.

use ifm_core::sheet::{Part, Place, Remark, RemarkKind, Row};
use serde_json::Value;

/// Where a part keeps the names of the tables it came from.
pub(super) const TABLES: &str = "tables";

/// Words of headings that name a table, in addition to the words in the table.
const TABLE_WORDS: &[&str] = &[
    "a",
    "all",
    "and",
    "benchmark",
    "benchmarks",
    "by",
    "completed",
    "console",
    "details",
    "for",
    "in",
    "info",
    "latencies",
    "latency",
    "metrics",
    "of",
    "output",
    "per",
    "printed",
    "request",
    "requests",
    "result",
    "results",
    "server",
    "statistics",
    "stats",
    "summary",
    "table",
    "tables",
    "the",
    "throughput",
    "throughputs",
    "time",
    "times",
    "token",
    "tokens",
];

/// Words in titles of tables, in the order in which a tool prints these tables of one run.
const ORDER: [&str; 6] = [
    "Info",
    "Text Metrics",
    "Request Token",
    "Latency Statistics",
    "Throughput Statistics",
    "Benchmarks Stats",
];

/// Joins neighboring parts of a tool that belong to one run: rows of the same names in the same
/// order, and no table that is in both.
pub(super) fn join(tool: &str, parts: &mut Vec<Part>, remarks: &mut Vec<Remark>) {
    let mut joined: Vec<Part> = Vec::new();
    let mut rest = std::mem::take(parts).into_iter().peekable();
    while let Some(part) = rest.next() {
        if !is_own(tool, &part) {
            joined.push(part);
            continue;
        }
        let mut section = vec![part];
        while let Some(next) = rest.next_if(|next| {
            is_own(tool, next) && section.last().is_none_or(|last| share_section(last, next))
        }) {
            section.push(next);
        }
        let runs = runs(section);
        let is_told = runs.windows(2).all(|pair| names(&pair[0]) == names(&pair[1]));
        for run in runs {
            match is_told {
                true => {
                    joined.extend(run.into_iter().reduce(|all, part| merge(all, part, remarks)))
                }
                false => {
                    remarks.extend(run.get(1).map(left_apart));
                    joined.extend(run);
                }
            }
        }
    }
    *parts = joined;
}

fn is_own(tool: &str, part: &Part) -> bool {
    part.tool.as_deref() == Some(tool) && part.unknown.contains_key(TABLES)
}

/// Whether nothing between two tables sets anything else for the second.
fn share_section(one: &Part, other: &Part) -> bool {
    let shared = one.headings.iter().zip(&other.headings).take_while(|(a, b)| a == b).count();
    let names_tables = |part: &Part| {
        let own: String = tables(part).iter().filter_map(Value::as_str).collect();
        let own = words(&own);
        let mut below = part.headings.iter().skip(shared).flat_map(|heading| words(heading));
        below.all(|word| own.contains(&word) || TABLE_WORDS.contains(&word.as_str()))
    };
    one.factors == other.factors && names_tables(one) && names_tables(other)
}

fn words(text: &str) -> Vec<String> {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect()
}

/// The tables of a section, grouped by run: the same rows, and no table twice.
fn runs(section: Vec<Part>) -> Vec<Vec<Part>> {
    let labels = |part: &Part| part.rows.iter().map(|row| row.label.clone()).collect::<Vec<_>>();
    let mut runs: Vec<Vec<Part>> = Vec::new();
    for part in section {
        let fits = |run: &Vec<Part>| {
            let twice = names(run).iter().any(|name| tables(&part).contains(name));
            let in_order = run.last().map(place_of) <= Some(place_of(&part));
            let same = run.first().is_none_or(|first| labels(first) == labels(&part));
            !twice && same && (in_order || place_of(&part).is_none())
        };
        match runs.last_mut().filter(|run| fits(run)) {
            Some(run) => run.push(part),
            None => runs.push(vec![part]),
        }
    }
    runs
}

/// The position of a table within its run, if known.
fn place_of(part: &Part) -> Option<usize> {
    let names = tables(part);
    let name = names.first()?.as_str()?;
    ORDER.iter().position(|words| name.contains(words))
}

/// The names of the tables of a run, in their order.
fn names(run: &[Part]) -> Vec<Value> {
    run.iter().flat_map(tables).collect()
}

fn tables(part: &Part) -> Vec<Value> {
    part.unknown.get(TABLES).and_then(Value::as_array).cloned().unwrap_or_default()
}

fn left_apart(part: &Part) -> Remark {
    Remark {
        kind: RemarkKind::Assumed,
        place: part.place.clone(),
        text: "this table and the one before it are not put together: other tables around them are missing or have other rows, so they may be of two runs".to_owned(),
    }
}

fn merge(mut into: Part, part: Part, remarks: &mut Vec<Remark>) -> Part {
    remarks.push(Remark {
        kind: RemarkKind::Assumed,
        place: part.place.clone(),
        text: format!(
            "this table and the one on line {} are of one run: the same rows in the same order",
            into.place.line.unwrap_or_default()
        ),
    });
    let all: Vec<Value> = tables(&into).into_iter().chain(tables(&part)).collect();
    into.unknown.insert(TABLES.to_owned(), Value::Array(all));
    let shared = into.headings.iter().zip(&part.headings).take_while(|(a, b)| a == b).count();
    into.headings.truncate(shared);
    for (row, more) in into.rows.iter_mut().zip(part.rows) {
        add(row, more);
    }
    into
}

fn add(row: &mut Row, more: Row) {
    for mut figure in more.figures {
        // The row's place is that of its first table: each figure says its own.
        figure.place = figure.place.or(Some(Place { pointer: None, ..more.place.clone() }));
        row.figures.push(figure);
    }
    row.unknown.extend(more.unknown);
}

#[cfg(test)]
mod tests {
    use crate::{Input, read};
    use ifm_core::Metric;
    use ifm_core::Sheet;
    use ifm_core::sheet::{RemarkKind, RowRole, key};

    const RULE: &str = "|----|----|\n";

    fn table(title: &str, quantity: &str, unit: &str, values: &[(&str, f64)]) -> String {
        let head = format!(
            "{title}\n{RULE}| Benchmark | {quantity} |\n| Strategy | {unit} |\n| | Mdn |\n{RULE}"
        );
        let rows = values.iter().map(|(label, value)| format!("| {label} | {value} |\n"));
        format!("{head}{}{RULE}\n", rows.collect::<String>())
    }

    fn latency(values: &[(&str, f64)]) -> String {
        table("Request Latency Statistics", "ITL", "ms", values)
    }

    fn throughput(values: &[(&str, f64)]) -> String {
        table("Server Throughput Statistics", "Output Tokens", "Per Sec", values)
    }

    fn sheet(text: &str) -> Sheet {
        read(Input::new("x", text.as_bytes())).expect("tables")
    }

    /// Model, time between tokens and rate of every row.
    fn rows(text: &str) -> Vec<(String, Option<f64>, Option<f64>)> {
        let sheet = sheet(text);
        let rows = sheet
            .parts
            .iter()
            .flat_map(|part| part.rows.iter().map(|row| (row, row.factors.within(&part.factors))));
        let measured = rows.filter(|(row, _)| row.role == RowRole::Measured);
        let value = |row: &ifm_core::sheet::Row, wanted: Metric| {
            row.figures.iter().find(|f| f.quantity == wanted).and_then(|f| f.value)
        };
        measured
            .map(|(row, factors)| {
                let model = factors.get(key::MODEL).unwrap_or("?").to_owned();
                (model, value(row, Metric::Itl), value(row, Metric::OutputRate))
            })
            .collect()
    }

    const TWO: &[(&str, f64)] = &[("synchronous", 10.0), ("throughput", 20.0)];
    const OTHER: &[(&str, f64)] = &[("synchronous", 30.0), ("throughput", 40.0)];
    const ONE: &[(&str, f64)] = &[("synchronous", 10.0)];

    #[test]
    fn tables_of_one_run_are_joined() {
        let text = format!(
            "# Llama-3.1-8B\n\n1. **Request Latency Statistics (Completed Requests)**\n\n{}\n\
             1. **Server Throughput Statistics**\n\n{}\n# Llama-3.1-8B-int8\n\n{}{}",
            latency(TWO),
            throughput(OTHER),
            latency(OTHER),
            throughput(TWO),
        );
        let row = |model: &str, itl, rate| (model.to_owned(), Some(itl), Some(rate));
        assert_eq!(
            rows(&text),
            [
                row("Llama-3.1-8B", 10.0, 30.0),
                row("Llama-3.1-8B", 20.0, 40.0),
                row("Llama-3.1-8B-int8", 30.0, 10.0),
                row("Llama-3.1-8B-int8", 40.0, 20.0)
            ]
        );
        let again =
            format!("{}{}{}{}", latency(TWO), throughput(TWO), latency(ONE), throughput(ONE));
        assert_eq!(rows(&again).len(), 3);
    }

    #[test]
    fn tables_of_two_models_stay_apart() {
        // Whether the heading's model is known, or it names only something else.
        for headings in [
            ["## Llama-3.1-8B", "## Llama-3.1-8B-int8"],
            ["## Before the update", "## After the update"],
            ["## c=8", "## c=16"],
            ["**Throughput of server 1**", "**Latency of server 2**"],
        ] {
            let [first, second] = headings;
            let text =
                format!("# T\n\n{first}\n\n{}{second}\n\n{}", throughput(TWO), latency(OTHER));
            let rows = rows(&text);
            assert_eq!(rows.len(), 4, "{second}");
            assert!(rows.iter().all(|(_, itl, rate)| itl.is_some() != rate.is_some()), "{rows:?}");
        }
    }

    #[test]
    fn a_table_that_is_printed_earlier_is_of_the_next_run() {
        assert_eq!(rows(&format!("{}{}", latency(TWO), throughput(OTHER))).len(), 2);
        assert_eq!(rows(&format!("{}{}", throughput(TWO), latency(OTHER))).len(), 4);
    }

    #[test]
    fn a_line_that_sets_another_model_is_a_boundary() {
        let text = format!("Model: a-7b\n\n{}Model: b-7b\n\n{}", throughput(TWO), latency(TWO));
        let rows = rows(&text);
        assert_eq!(
            rows.iter().map(|row| row.0.as_str()).collect::<Vec<_>>(),
            ["a-7b", "a-7b", "b-7b", "b-7b"]
        );
    }

    #[test]
    fn where_a_table_lost_a_row_its_neighbours_stay_apart() {
        // Without headings the second latencies could be of either run.
        let text =
            format!("{}{}{}{}", latency(ONE), throughput(TWO), latency(OTHER), throughput(OTHER));
        let rows = rows(&text);
        assert_eq!(rows.len(), 1 + 2 + 2 + 2);
        let told = sheet(&text).remarks;
        assert!(told.iter().any(|remark| remark.text.contains("may be of two runs")), "{told:?}");
        assert!(!told.iter().any(|remark| remark.text.contains("are of one run")));
        assert!(told.iter().all(|remark| remark.kind != RemarkKind::Repaired));
    }
}
