//! Files that repeat what other files of the same folder hold: `vllm bench sweep` writes every run,
//! and a summary of the runs beside them as JSON and as CSV.
//!
//! A run that is there is counted once. What the summary has and no file of a run holds stays.

use ifm_core::Sheet;
use ifm_core::order::Order as _;
use ifm_core::sheet::{Place, Quantity, Remark, RemarkKind, Row, Statistic};
use std::collections::BTreeMap;

/// Ids of the formats that a summary has: a table, and the runs in an array.
const TABLE: &str = "vllm-sweep-csv";
const RUNS: &str = "vllm-serve";
/// The name of a summary without its ending.
const SUMMARY: &str = "summary";
/// Figures that two rows must share to be of one run: fewer could be equal by chance.
const SHARED_MIN: usize = 5;

/// Takes from the summaries of sweeps the rows of runs that stand in other files below the same
/// folder, and tells it. Names of sheets are paths, as they were given.
pub fn leave_out_repeats<'a>(sheets: impl IntoIterator<Item = &'a mut Sheet>) {
    let (mut summaries, mut runs): (Vec<&mut Sheet>, Vec<&mut Sheet>) =
        sheets.into_iter().partition(|sheet| is_summary(sheet));
    if summaries.is_empty() {
        return;
    }
    let mut known = Known::default();
    for sheet in &runs {
        known.add(sheet);
    }
    runs.clear();
    // The array keeps more of a run than the table does.
    summaries.order_by_key(|sheet| sheet.source.format == TABLE);
    for sheet in summaries {
        leave_out(sheet, &known);
        known.add(sheet);
    }
}

fn is_summary(sheet: &Sheet) -> bool {
    let name = sheet.source.name.rsplit(['/', '\\']).next().unwrap_or_default();
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    sheet.source.format == TABLE || (sheet.source.format == RUNS && stem == SUMMARY)
}

/// The folder of a file, with the sign behind it.
fn folder(name: &str) -> &str {
    name.rfind(['/', '\\']).and_then(|at| name.get(..=at)).unwrap_or_default()
}

/// Rows of files that were read, by their duration in bits: with the name of the file.
#[derive(Default)]
struct Known {
    rows: BTreeMap<u64, Vec<(String, Row)>>,
}

impl Known {
    fn add(&mut self, sheet: &Sheet) {
        for row in sheet.parts.iter().flat_map(|part| &part.rows) {
            if let Some(duration) = duration(row) {
                let bare = Row { requests: Vec::new(), ..row.clone() };
                let rows = self.rows.entry(duration).or_default();
                rows.push((sheet.source.name.clone(), bare));
            }
        }
    }

    /// The file below a folder that holds the run of this row.
    fn file_of(&self, row: &Row, folder: &str) -> Option<&str> {
        let rows = self.rows.get(&duration(row)?)?;
        let found = rows
            .iter()
            .find(|(name, other)| name.starts_with(folder) && are_of_one_run(row, other));
        found.map(|(name, _)| name.as_str())
    }
}

fn duration(row: &Row) -> Option<u64> {
    row.value(&Quantity::Duration, Statistic::Value).map(f64::to_bits)
}

/// Whether two rows hold the same numbers, as far as both have them.
fn are_of_one_run(one: &Row, other: &Row) -> bool {
    let mut shared = 0;
    for figure in one.figures.iter().filter(|figure| figure.value.is_some()) {
        match other.value(&figure.quantity, figure.statistic) {
            Some(value) if Some(value) == figure.canonical() => shared += 1,
            Some(_) => return false,
            None => {}
        }
    }
    shared >= SHARED_MIN
}

fn leave_out(sheet: &mut Sheet, known: &Known) {
    let folder = folder(&sheet.source.name).to_owned();
    let (mut count, mut example) = (0, None);
    for part in &mut sheet.parts {
        part.rows.retain(|row| match known.file_of(row, &folder) {
            Some(file) => {
                count += 1;
                example.get_or_insert_with(|| file.to_owned());
                false
            }
            None => true,
        });
    }
    sheet.parts.retain(|part| !part.rows.is_empty());
    let Some(example) = example else { return };
    let rows = if count == 1 {
        "1 row repeats a run".to_owned()
    } else {
        format!("{count} rows repeat runs")
    };
    let has = if count == 1 { "has" } else { "have" };
    sheet.remarks.push(Remark {
        kind: RemarkKind::Lost,
        place: Place::default(),
        text: format!("{rows} that {has} a place of their own, as in {example}: each is read once"),
    });
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
        leave_out_repeats(&mut sheets);
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
