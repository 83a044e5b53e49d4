//! The same measurement in several forms: GuideLLM writes JSON, YAML and CSV of a run, other tools
//! a table and their printed output; `vllm bench sweep` writes every run, and summaries of the runs
//! next to them.
//!
//! The fullest form is kept. Two rows are forms of one measurement if no shared value contradicts,
//! and enough times and rates agree within their printed digits to rule out chance. Copies in the
//! same format are both kept, and so is text with prose or headings: that is a separate document.

use super::{At, Found, folder, remark, rows, take_out};
use crate::import::TEXT;
use ifm_core::Metric;
use ifm_core::Sheet;
use ifm_core::order::Order as _;
use ifm_core::sheet::{
    Definition, Factors, Figure, RemarkKind, Row, RowRole, Source, Statistic, Unit, key,
};
use ifm_core::words::counted;
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
/// The same for a duration, which identifies a run even if no request succeeded.
const STAMP_SHARE: f64 = 1e-6;
/// Figures of any kind that must be shared in addition to such a duration.
const BESIDE_STAMP_MIN: usize = 4;
/// Numbers of machines that wrote the same number differ by this share at most.
const SAME_SHARE: f64 = 1e-9;
/// A tool that cuts digits off, where another form rounds, is off by two halves of the last one.
const ROUNDINGS: f64 = 2.0;
/// Settings that two forms of one measurement cannot have differently.
const LOAD: [&str; 4] = [key::MODEL, key::CONCURRENCY, key::RATE, key::REPEAT];

/// Leaves out the rows that another file of the same folder holds as well, or fuller.
pub(super) fn leave_out(sheets: &mut [&mut Sheet]) {
    let repeated = repeated(forms(sheets));
    let mut told: BTreeMap<usize, Told> = BTreeMap::new();
    for Repeated { at, fuller, only_here } in &repeated {
        let told = told.entry(at.sheet).or_insert(Told { rows: 0, other: fuller.sheet, lost: 0 });
        told.rows += 1;
        told.lost += only_here;
    }
    for (sheet, Told { rows, other, lost }) in told {
        let name = sheets.get(other).map(|sheet| sheet.source.name.clone()).unwrap_or_default();
        let mut text = match rows {
            1 => format!("1 row is also in {name}: it counts once"),
            _ => format!("{rows} rows are also in other files, such as {name}: each counts once"),
        };
        if lost > 0 {
            let figures = counted(lost as u64, "figure");
            text.push_str(&format!(", without {figures} that only this file has"));
        }
        remark(sheets, sheet, RemarkKind::Lost, text);
    }
    // What was set is known of the measurement, whichever form says it.
    for Repeated { at, fuller, .. } in &repeated {
        let set = at.settings(sheets);
        let known = fuller.settings(sheets);
        if let Some(row) = fuller.row(sheets) {
            for (name, value) in set.iter().filter(|(name, _)| known.get(name).is_none()) {
                row.factors.set(name, value);
            }
        }
    }
    take_out(sheets, repeated.into_iter().map(|repeated| repeated.at).collect());
}

/// Counts for the remark about rows of a sheet that are also in another.
struct Told {
    rows: usize,
    other: usize,
    /// Figures that only this sheet has.
    lost: usize,
}

/// A row that another form of the same measurement makes needless.
struct Repeated {
    at: At,
    fuller: At,
    only_here: usize,
}

fn repeated(mut forms: Vec<Form<'_>>) -> Vec<Repeated> {
    let first = forms.first().map(|form| form.format);
    if forms.iter().all(|form| form.kind == Kind::Own && Some(form.format) == first) {
        return Vec::new();
    }
    forms.order_by(|one, other| other.fullness.cmp(&one.fullness));
    let (mut kept, mut repeated) = (Vec::<Form<'_>>::new(), Vec::new());
    for form in forms {
        match kept.iter().find(|fuller| form.repeats(fuller)) {
            Some(fuller) => {
                let only_here = form.marks.iter().filter(|mark| !fuller.has(mark)).count();
                repeated.push(Repeated { at: form.at, fuller: fuller.at, only_here });
            }
            None => kept.push(form),
        }
    }
    repeated
}

/// What a file holds, and how much of a run: a table has less than an array, and what is printed has fewer digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    /// What was printed.
    Printed,
    /// Many runs of a sweep, in a table.
    Table,
    /// Many runs of a sweep.
    Runs,
    /// Anything else.
    Own,
}

/// A row, and the data that identifies rows of the same measurement.
struct Form<'s> {
    at: At,
    tool: &'s str,
    folder: &'s str,
    format: &'s str,
    kind: Kind,
    settings: Factors,
    /// How much it holds: the kind of file, requests before none, then figures and settings.
    fullness: (Kind, bool, usize, usize),
    marks: Vec<Mark>,
}

/// A number, and how far it is known.
struct Mark {
    of: (Metric, Statistic),
    value: f64,
    within: f64,
    definition: Definition,
    /// Whether it is a time or a rate: settings and shares agree between runs.
    is_of_time: bool,
}

fn forms<'s>(sheets: &'s [&mut Sheet]) -> Vec<Form<'s>> {
    let form = |Found { at, tool, part, row }: Found<'s>| {
        let sheet = sheets.get(at.sheet)?;
        let Source { name, format, .. } = &sheet.source;
        let (kind, marks) = (kind(name, format), marks(row));
        let settings = row.factors.within(&part.factors);
        let is_measured = row.role == RowRole::Measured && !marks.is_empty();
        let is_document =
            kind == Kind::Printed && (!part.headings.is_empty() || is_told_of(sheet, row));
        (is_measured && !is_document).then_some(Form {
            at,
            tool: tool?,
            folder: folder(name),
            format,
            kind,
            fullness: (kind, !row.requests.is_empty(), marks.len(), settings.iter().count()),
            settings,
            marks,
        })
    };
    rows(sheets).filter_map(form).collect()
}

/// Whether a text outside of any heading states something about a row: figures of a quantity that
/// the row has, or a statement without figures. Content below a heading, such as GuideLLM's
/// warnings, belongs to no other part.
fn is_told_of(sheet: &Sheet, row: &Row) -> bool {
    let parts = sheet.parts.iter().filter(|part| part.headings.is_empty());
    let mut others = parts.flat_map(|part| &part.rows).filter(|of| of.role != RowRole::Measured);
    let is_of_it = |told: &Figure| row.figures.iter().any(|has| has.quantity == told.quantity);
    others.any(|other| other.figures.is_empty() || other.figures.iter().any(is_of_it))
}

fn kind(name: &str, format: &str) -> Kind {
    let file = name.rsplit(['/', '\\']).next().unwrap_or_default();
    let stem = file.rsplit_once('.').map_or(file, |(stem, _)| stem);
    match format {
        TABLE => Kind::Table,
        RUNS if stem == SUMMARY => Kind::Runs,
        TEXT => Kind::Printed,
        _ => Kind::Own,
    }
}

fn marks(row: &Row) -> Vec<Mark> {
    let mark = |figure: &Figure| {
        let (value, factor) = (figure.canonical()?, figure.unit.factor()?);
        let rounding = figure.rounding().unwrap_or_default() * factor;
        Some(Mark {
            of: (figure.quantity, figure.statistic),
            value,
            within: ROUNDINGS * rounding + SAME_SHARE * value.abs(),
            definition: figure.definition.clone(),
            is_of_time: matches!(
                figure.unit,
                Unit::Ns
                    | Unit::Us
                    | Unit::Ms
                    | Unit::S
                    | Unit::Min
                    | Unit::H
                    | Unit::PerS
                    | Unit::PerMin
                    | Unit::PerH
            ),
        })
    };
    row.figures.iter().filter_map(mark).collect()
}

impl Mark {
    /// Whether it is known so exactly that another run would have another.
    fn is_within(&self, share: f64) -> bool {
        self.is_of_time && self.value != 0.0 && self.within <= share * self.value.abs()
    }

    fn agrees(&self, other: &Mark) -> bool {
        (self.value - other.value).abs() <= self.within + other.within
    }
}

impl Form<'_> {
    /// Whether this is another form of a fuller row.
    fn repeats(&self, fuller: &Form<'_>) -> bool {
        let is_beside = self.tool == fuller.tool
            && self.folder == fuller.folder
            && self.format != fuller.format;
        let is_below = matches!(self.kind, Kind::Table | Kind::Runs)
            && self.at.sheet != fuller.at.sheet
            && fuller.folder.starts_with(self.folder);
        (is_beside || is_below)
            && agree(&self.marks, &fuller.marks)
            && !LOAD.iter().any(|name| differ(self.settings.get(name), fuller.settings.get(name)))
    }

    fn has(&self, mark: &Mark) -> bool {
        self.marks.iter().any(|other| other.of == mark.of)
    }
}

/// Whether two settings contradict each other; what one does not say it does not.
fn differ(one: Option<&str>, other: Option<&str>) -> bool {
    let number = |text: &str| text.trim().parse::<f64>().ok();
    one.zip(other).is_some_and(|(one, other)| match (number(one), number(other)) {
        (Some(one), Some(other)) => one != other,
        _ => one != other,
    })
}

/// Whether the figures of two rows can belong to one measurement: see [`agree`].
pub(super) fn are_of_one(one: &Row, other: &Row) -> bool {
    agree(&marks(one), &marks(other))
}

/// Whether all that both have is the same, and that is enough.
fn agree(one: &[Mark], other: &[Mark]) -> bool {
    let (mut shared, mut telling, mut is_stamped) = (Vec::new(), 0, false);
    for mark in one.iter() {
        let mut same = other.iter().filter(|same| same.of == mark.of);
        // A tool may mean two things by a name: so it is where it prints a figure twice, or defines it otherwise.
        let Some(same) = same.clone().find(|same| mark.agrees(same)) else {
            match same.any(|same| same.definition == mark.definition) {
                true => return false,
                false => continue,
            }
        };
        if shared.contains(&&mark.of) {
            continue;
        }
        shared.push(&mark.of);
        let both = |share| mark.is_within(share) && same.is_within(share);
        telling += usize::from(both(EXACT_SHARE));
        is_stamped |= mark.of.0 == Metric::Duration && both(STAMP_SHARE);
    }
    telling >= SHARED_MIN || (is_stamped && shared.len() > BESIDE_STAMP_MIN)
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

    /// The number of rows of each file, and whether a repeat is reported.
    fn found(files: &[(&str, String)]) -> Vec<(usize, bool)> {
        let read = |(name, text): &(&str, String)| {
            read(Input::new(*name, text.as_bytes())).expect("a sheet")
        };
        let mut sheets: Vec<Sheet> = files.iter().map(read).collect();
        leave_out(&mut sheets.iter_mut().collect::<Vec<_>>());
        let is_told = |sheet: &Sheet| sheet.remarks.iter().any(|r| r.text.contains("once"));
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
    fn the_fullest_form_is_kept_and_told_what_it_lacks() {
        let files = [("s/summary.json", run(1)), ("s/console.txt", printed(1, "68.1"))];
        assert_eq!(found(&files), [(1, false), (0, true)], "print has the fewest digits");
        let more = "P99 TTFT (ms):  99.90\n             Median TTFT";
        let console = printed(1, "68.1").replacen("Median TTFT", more, 1);
        let mut sheets = [("s/run.json", run(1)), ("s/console.txt", console)]
            .map(|(name, text)| read(Input::new(name, text.as_bytes())).expect("a sheet"));
        leave_out(&mut sheets.iter_mut().collect::<Vec<_>>());
        let said = &sheets[1].remarks.last().expect("a remark").text;
        assert_eq!(
            said,
            "1 row is also in s/run.json: it counts once, without 1 figure that only this file has"
        );
    }

    #[test]
    fn a_document_with_prose_keeps_what_it_shows() {
        let note = format!("# Results\n\n```\n{}```\n", printed(1, "68.1"));
        assert_eq!(found(&[("s/run.json", run(1)), ("s/note.md", note)]), [(1, false), (1, false)]);
        let said = |text: &str| {
            let text = format!("{}\n{text}\n", printed(1, "68.1"));
            let files = [("s/run.json", run(1)), ("s/note.txt", text)];
            found(&files)[1].1
        };
        assert!(!said("The mean TTFT of 68.1 ms is good."), "of a figure of the row");
        assert!(said("The memory in use was 3.5 GB."), "of something else");
    }

    #[test]
    fn settings_that_contradict_each_other_are_of_two_measurements() {
        let of = |users: u32| run(1).replacen('{', &format!("{{\"max_concurrency\": {users}, "), 1);
        let with = |users: u32| {
            let text = printed(1, "68.1");
            let line = format!("Maximum request concurrency: {users}\n Successful");
            text.replacen("Successful", &line, 1)
        };
        let beside = |users| [("s/run.json", of(4)), ("s/console.txt", with(users))];
        assert_eq!(found(&beside(4)), [(1, false), (0, true)]);
        assert_eq!(found(&beside(8)), [(1, false), (1, false)]);
    }

    #[test]
    fn a_run_of_a_sweep_in_which_all_failed_counts_once() {
        let failed = "{\"endpoint_type\": \"openai\", \"burstiness\": 1.0, \"duration\": 0.4137, \
             \"completed\": 0, \"failed\": 12, \"total_input_tokens\": 0, \
             \"total_output_tokens\": 0, \"request_throughput\": 0.0, \"run_number\": 0}";
        let files =
            [("s/run=0.json", failed.to_owned()), ("s/summary.json", format!("[{failed}]"))];
        assert_eq!(found(&files), [(1, false), (0, true)]);
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
