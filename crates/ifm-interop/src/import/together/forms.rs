//! The same measurement in several forms: GuideLLM writes JSON, YAML and CSV of a run, others a table and what they
//! print; `vllm bench sweep` writes every run, and summaries of the runs beside them.
//!
//! The fullest form is kept. Two rows are forms of one measurement where all numbers that both have agree
//! within their printed digits, and enough of these are so exact that they could not agree by chance. Copies
//! in the same format stay two: nobody's tool writes them.

use super::{At, folder, remark, rows, take_out};
use ifm_core::Sheet;
use ifm_core::order::Order as _;
use ifm_core::sheet::{Figure, Quantity, RemarkKind, Row, RowRole, Source, Statistic, Unit};
use std::collections::BTreeMap;

/// Ids of the formats that a summary of a sweep has: a table, and the runs in an array.
const TABLE: &str = "vllm-sweep-csv";
const RUNS: &str = "vllm-serve";
/// The name of such a summary without its ending.
const SUMMARY: &str = "summary";
/// Times and rates that two rows must share to be of one measurement: fewer could be equal by chance.
const SHARED_MIN: usize = 4;
/// How far a number may be known, as a share of it, to count among them.
const EXACT_SHARE: f64 = 5e-3;
/// Numbers of machines that wrote the same number differ by this share at most.
const SAME_SHARE: f64 = 1e-9;
/// A tool that cuts digits off, where another form rounds, is off by two halves of the last one.
const ROUNDINGS: f64 = 2.0;

/// Leaves out the rows that another file of the same folder holds as well, or fuller.
pub(super) fn leave_out(sheets: &mut [&mut Sheet]) {
    let repeated = repeated(forms(sheets));
    let mut told: BTreeMap<usize, (usize, usize)> = BTreeMap::new();
    for (at, fuller) in &repeated {
        told.entry(at.sheet).or_insert((0, fuller.sheet)).0 += 1;
    }
    for (sheet, (count, other)) in told {
        let name = sheets.get(other).map(|sheet| sheet.source.name.clone()).unwrap_or_default();
        let text = match count {
            1 => format!("1 row stands in {name} too: it is read once"),
            _ => {
                format!("{count} rows stand in other files too, such as {name}: each is read once")
            }
        };
        remark(sheets, sheet, RemarkKind::Lost, text);
    }
    take_out(sheets, repeated.into_iter().map(|(at, _)| at).collect());
}

/// Rows that repeat a fuller one, each with that.
fn repeated(mut forms: Vec<Form<'_>>) -> Vec<(At, At)> {
    let first = forms.first().map(|form| form.format);
    if forms.iter().all(|form| form.kind == Kind::Own && Some(form.format) == first) {
        return Vec::new();
    }
    forms.order_by(|one, other| other.fullness.cmp(&one.fullness));
    let (mut kept, mut repeated) = (Vec::<Form<'_>>::new(), Vec::new());
    for form in forms {
        match kept.iter().find(|fuller| form.repeats(fuller)) {
            Some(fuller) => repeated.push((form.at, fuller.at)),
            None => kept.push(form),
        }
    }
    repeated
}

/// What a file holds, and how much of a run: a table has less than an array.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    /// Many runs of a sweep, in a table.
    Table,
    /// Many runs of a sweep.
    Runs,
    /// Anything else.
    Own,
}

/// A row, and what tells whether another is of the same measurement.
struct Form<'s> {
    at: At,
    tool: &'s str,
    folder: &'s str,
    format: &'s str,
    kind: Kind,
    /// How much it holds: the kind of file, requests before none, then figures and factors.
    fullness: (Kind, bool, usize, usize),
    marks: Vec<Mark>,
}

/// A number, and how far it is known.
struct Mark {
    of: (Quantity, Statistic),
    value: f64,
    within: f64,
    is_exact: bool,
}

fn forms<'s>(sheets: &'s [&mut Sheet]) -> Vec<Form<'s>> {
    let form = |(at, tool, row): (At, Option<&'s str>, &'s Row)| {
        let Source { name, format, .. } = &sheets.get(at.sheet)?.source;
        let (kind, marks) = (kind(name, format), marks(row));
        let factors = row.factors.iter().count();
        (row.role == RowRole::Measured && !marks.is_empty()).then_some(Form {
            at,
            tool: tool?,
            folder: folder(name),
            format,
            kind,
            fullness: (kind, !row.requests.is_empty(), marks.len(), factors),
            marks,
        })
    };
    rows(sheets).filter_map(form).collect()
}

fn kind(name: &str, format: &str) -> Kind {
    let file = name.rsplit(['/', '\\']).next().unwrap_or_default();
    let stem = file.rsplit_once('.').map_or(file, |(stem, _)| stem);
    match format {
        TABLE => Kind::Table,
        RUNS if stem == SUMMARY => Kind::Runs,
        _ => Kind::Own,
    }
}

fn marks(row: &Row) -> Vec<Mark> {
    let mark = |figure: &Figure| {
        let (value, factor) = (figure.canonical()?, figure.unit.factor()?);
        let rounding = figure.rounding().unwrap_or_default() * factor;
        let within = ROUNDINGS * rounding + SAME_SHARE * value.abs();
        Some(Mark {
            of: (figure.quantity.clone(), figure.statistic),
            value,
            within,
            is_exact: figure.unit != Unit::Count && within <= EXACT_SHARE * value.abs(),
        })
    };
    row.figures.iter().filter_map(mark).collect()
}

impl Form<'_> {
    /// Whether this is another form of a fuller row.
    fn repeats(&self, fuller: &Form<'_>) -> bool {
        let is_beside = self.tool == fuller.tool
            && self.folder == fuller.folder
            && self.format != fuller.format;
        let is_below = self.kind != Kind::Own
            && self.at.sheet != fuller.at.sheet
            && fuller.folder.starts_with(self.folder);
        (is_beside || is_below) && self.agrees(fuller)
    }

    /// Whether all that both have is the same, and that is enough.
    fn agrees(&self, other: &Form<'_>) -> bool {
        let mut shared = 0;
        for mark in &self.marks {
            let Some(same) = other.marks.iter().find(|same| same.of == mark.of) else { continue };
            if (mark.value - same.value).abs() > mark.within + same.within {
                return false;
            }
            shared += usize::from(mark.is_exact && same.is_exact && mark.value != 0.0);
        }
        shared >= SHARED_MIN
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Input, read};

    fn run(number: u32) -> String {
        format!(
            "{{\"endpoint_type\": \"openai\", \"burstiness\": 1.0, \"duration\": 0.41{number}, \
             \"completed\": 12, \"failed\": 0, \"total_input_tokens\": 143, \
             \"total_output_tokens\": 192, \"request_throughput\": 29.{number}, \
             \"mean_ttft_ms\": 68.{number}, \"median_ttft_ms\": 70.5, \"run_number\": {number}}}"
        )
    }

    const HEAD: &str = "duration,completed,failed,total_input_tokens,total_output_tokens,\
        request_throughput,total_token_throughput,mean_ttft_ms,median_ttft_ms,run_number";

    fn table(numbers: &[u32]) -> String {
        let row = |n: &u32| format!("0.41{n},12,0,143,192,29.{n},815.0,68.{n},70.5,{n}\n");
        format!("{HEAD}\n{}", numbers.iter().map(row).collect::<String>())
    }

    /// Rows of each file, and whether a repeat is told.
    fn found(files: &[(&str, String)]) -> Vec<(usize, bool)> {
        let read = |(name, text): &(&str, String)| {
            read(Input::new(*name, text.as_bytes())).expect("a sheet")
        };
        let mut sheets: Vec<Sheet> = files.iter().map(read).collect();
        leave_out(&mut sheets.iter_mut().collect::<Vec<_>>());
        let is_told = |sheet: &Sheet| sheet.remarks.iter().any(|r| r.text.contains("read once"));
        let rows = |sheet: &Sheet| sheet.parts.iter().map(|part| part.rows.len()).sum();
        sheets.iter().map(|sheet| (rows(sheet), is_told(sheet))).collect()
    }

    #[test]
    fn a_sweep_counts_every_run_once() {
        let both = format!("[{}, {}]", run(0), run(1));
        let files = [
            ("s/a/run=0.json", run(0)),
            ("s/a/run=1.json", run(1)),
            ("s/a/summary.json", both.clone()),
            ("s/summary.csv", table(&[0, 1])),
        ];
        assert_eq!(found(&files), [(1, false), (1, false), (0, true), (0, true)]);
        // A run whose file is gone comes from the summary, once.
        assert_eq!(found(&files[1..]), [(1, false), (1, true), (0, true)]);
        assert_eq!(found(&files[3..]), [(2, false)]);
    }

    /// What `vllm bench serve` prints of [`run`], with another mean TTFT if it is of another run.
    fn printed(number: u32, ttft_ms: &str) -> String {
        format!(
            "============ Serving Benchmark Result ============\n\
             Successful requests:                     12        \n\
             Benchmark duration (s):                  0.41{number}      \n\
             Total input tokens:                      143       \n\
             Total generated tokens:                  192       \n\
             Request throughput (req/s):              29.{number}      \n\
             ---------------Time to First Token----------------\n\
             Mean TTFT (ms):                          {ttft_ms}     \n\
             Median TTFT (ms):                        70.5     \n\
             ==================================================\n"
        )
    }

    #[test]
    fn what_a_tool_prints_beside_its_file_is_read_once() {
        let of = |text: String| [("s/run.json", run(1)), ("s/console.txt", text)];
        assert_eq!(found(&of(printed(1, "68.1"))), [(1, false), (0, true)]);
        // Of another run; in another folder; alone.
        assert_eq!(found(&of(printed(1, "68.4"))), [(1, false), (1, false)]);
        let apart = [("s/run.json", run(1)), ("t/console.txt", printed(1, "68.1"))];
        assert_eq!(found(&apart), [(1, false), (1, false)]);
        assert_eq!(found(&apart[1..]), [(1, false)]);
    }

    #[test]
    fn what_is_no_summary_or_of_another_sweep_is_left_alone() {
        let one = format!("[{}]", run(0));
        let copies = [("s/a.json", run(0)), ("s/b.json", run(0))];
        assert_eq!(found(&copies), [(1, false), (1, false)]);
        let apart = [("t/run=0.json", run(0)), ("s/summary.json", one.clone())];
        assert_eq!(found(&apart), [(1, false), (1, false)]);
        let other = [("s/run=1.json", run(1)), ("s/summary.json", one)];
        assert_eq!(found(&other), [(1, false), (1, false)]);
    }
}
