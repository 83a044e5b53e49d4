//! Pairs of results of one server, or of two that are apart by a known share: `compare` and `report`.

use super::count::{Coverage, Share, Sum, counted, seed};
use super::file::{Result as File, TTFT_S};
use super::law::Law;
use super::program::{ClaimError, Program};
use serde_json::Value;
use std::path::Path;

/// The row by which a difference counts as found.
const FOUND_BY: &str = "ttft.p50";
/// Users of each result.
const USERS: usize = 8;
/// Words of a finding that claims a difference.
const DIFFERS: [&str; 9] =
    ["faster", "slower", "× the", "x the", "costs", "cheaper", "beats", "outperforms", "leads"];
/// Words of a finding that leaves the question open.
const OPEN: [&str; 5] = ["inconclusive", "undecided", "cannot be decided", "not shown", "too few"];
/// Words of a finding that claims that there is no difference.
const EQUAL: [&str; 2] = ["no difference", "no relevant difference"];

/// Two sides.
#[derive(Debug, Clone, Copy)]
pub struct Sides {
    /// The law of a request.
    pub law: Law,
    /// Requests of each result.
    pub requests: usize,
    /// Results of each side.
    pub runs: u32,
    /// How many times as long the times of the second side are: 1 for the same server.
    pub factor: f64,
}

/// What came of pairs.
#[derive(Debug, Clone, Copy, Default)]
pub struct Pairs {
    /// `compare` calls some row better or worse.
    pub differs: Share,
    /// `compare` calls some row better, although every true value is the same or worse.
    pub better: Share,
    /// `compare` calls the median TTFT worse.
    pub found: Share,
    /// `compare` calls some row that truly differs the same.
    pub same: Share,
    /// `compare` calls the throughput better or worse.
    pub throughput: Share,
    /// `report` says that the sides differ.
    pub report_differs: Share,
    /// `report` says that they do not.
    pub report_same: Share,
    /// The interval of the median TTFT of a side; of one result.
    pub median: Coverage,
    /// The interval of its P99.
    pub p99: Coverage,
    /// The interval of the ratio of the medians.
    pub median_ratio: Coverage,
    /// The interval of the ratio of the P99.
    pub p99_ratio: Coverage,
    /// The interval of the ratio of the throughputs.
    pub throughput_ratio: Coverage,
}

impl Sum for Pairs {
    fn sum(&mut self, other: Pairs) {
        self.differs.sum(other.differs);
        self.better.sum(other.better);
        self.found.sum(other.found);
        self.same.sum(other.same);
        self.throughput.sum(other.throughput);
        self.report_differs.sum(other.report_differs);
        self.report_same.sum(other.report_same);
        self.median.sum(other.median);
        self.p99.sum(other.p99);
        self.median_ratio.sum(other.median_ratio);
        self.p99_ratio.sum(other.p99_ratio);
        self.throughput_ratio.sum(other.throughput_ratio);
    }
}

/// Compares `count` pairs, and reports on them if they are of one result each and `with_report` is
/// set. Files go below `folder`.
///
/// # Errors
/// When a file cannot be written, or the program writes something else than its schema.
pub fn pairs(
    program: &Path,
    folder: &Path,
    sides: Sides,
    (count, with_report): (u32, bool),
) -> Result<Pairs, ClaimError> {
    let truth = [50.0, 99.0].map(|p| TTFT_S * sides.law.percentile(p));
    counted(program, folder, count, |program, trial, found: &mut Pairs| {
        let names = sides.write(program, trial)?;
        let [a, b] = [names[0].join(","), names[1].join(",")];
        let words = ["compare", &a, &b];
        let document = program.json(&words)?;
        let rows = document["pairs"][0]["rows"].as_array().filter(|rows| !rows.is_empty());
        let rows =
            rows.ok_or_else(|| program.unexpected(&words, "no rows", &document.to_string()))?;
        found.add(rows, sides, truth);
        if with_report && sides.runs == 1 {
            let mut texts = Vec::new();
            findings(&program.json(&["report", "--kind=variant", &a, &b])?, &mut texts);
            let says = |is_so: fn(&str) -> bool| texts.iter().any(|text| is_so(text));
            found.report_differs.add(says(claims_difference));
            found.report_same.add(says(claims_none));
        }
        Ok(())
    })
}

impl Sides {
    /// Writes the files of a pair; their names.
    fn write(&self, program: &Program, trial: u32) -> Result<[Vec<String>; 2], ClaimError> {
        let mut names = [Vec::new(), Vec::new()];
        for (side, (names, factor)) in (0u32..).zip(names.iter_mut().zip([1.0, self.factor])) {
            for run in 0..self.runs {
                let name = format!("{}{run}.json", ["a", "b"][side as usize]);
                let file = File {
                    law: self.law,
                    seed: seed(trial, side, run),
                    requests: self.requests,
                    failed: 0,
                    users: USERS,
                    factor,
                };
                program.write(&name, &file.document((2 * run + side) as usize))?;
                names.push(name);
            }
        }
        Ok(names)
    }
}

impl Pairs {
    fn add(&mut self, rows: &[Value], sides: Sides, truth: [f64; 2]) {
        let verdict = |row: &Value| row["verdict"].as_str().unwrap_or_default().to_owned();
        let is_in = |row: &Value, words: &[&str]| words.contains(&verdict(row).as_str());
        let any = |words: &[&str]| rows.iter().any(|row| is_in(row, words));
        let of = |metric: &str| rows.iter().find(|row| row["metric"] == metric);
        let differs = ["better", "worse"];
        self.differs.add(any(&differs));
        self.better.add(any(&["better"]));
        self.found.add(of(FOUND_BY).is_some_and(|row| is_in(row, &["worse"])));
        // Shares are the same on both sides whatever the times are.
        let is_time = |row: &&Value| row["unit"] != "share";
        let same = ["no_difference_shown", "no_relevant_difference"];
        let differ_truly = sides.factor != 1.0;
        self.same.add(differ_truly && rows.iter().filter(is_time).any(|row| is_in(row, &same)));
        self.throughput.add(of("out_tok_s").is_some_and(|row| is_in(row, &differs)));
        for (metric, truth, own, ratio) in [
            ("ttft.p50", truth[0], &mut self.median, &mut self.median_ratio),
            ("ttft.p99", truth[1], &mut self.p99, &mut self.p99_ratio),
        ] {
            if let Some(row) = of(metric) {
                if sides.runs == 1 {
                    own.add(bounds(&row["a"]), truth);
                }
                ratio.add(bounds(&row["ratio"]), sides.factor);
            }
        }
        if let Some(row) = of("out_tok_s") {
            self.throughput_ratio.add(bounds(&row["ratio"]), sides.factor.recip());
        }
    }
}

/// Both bounds of an interval.
fn bounds(of: &Value) -> Option<(f64, f64)> {
    Some((of["low"].as_f64()?, of["high"].as_f64()?))
}

/// The texts of all findings of a document, wherever they are.
fn findings(of: &Value, texts: &mut Vec<String>) {
    match of {
        Value::Array(all) => all.iter().for_each(|one| findings(one, texts)),
        Value::Object(fields) => {
            if let (Some(_), Some(text)) = (fields.get("rule"), fields.get("text")) {
                texts.extend(text.as_str().map(str::to_lowercase));
            }
            fields.values().for_each(|one| findings(one, texts));
        }
        _ => {}
    }
}

fn has_any(text: &str, words: &[&str]) -> bool {
    words.iter().any(|word| text.contains(word))
}

fn claims_none(text: &str) -> bool {
    has_any(text, &EQUAL) && !has_any(text, &OPEN)
}

fn claims_difference(text: &str) -> bool {
    has_any(text, &DIFFERS) && !has_any(text, &OPEN) && !has_any(text, &EQUAL)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn findings_are_sorted_by_what_they_claim() {
        let document = json!({"findings": [{"rule": "x", "text": "B is 1.04x faster"}], "sections":
            [{"blocks": [{"findings": [{"rule": "y", "text": "No difference is shown at 8 users"}]}]}]});
        let mut texts = Vec::new();
        findings(&document, &mut texts);
        assert_eq!(texts.len(), 2);
        assert!(claims_difference(&texts[0]) && !claims_none(&texts[0]));
        assert!(claims_none(&texts[1]) && !claims_difference(&texts[1]));
        let open = "inconclusive whether b is faster: a difference of 12 % would have shown";
        assert!(!claims_difference(open) && !claims_none(open));
    }

    #[test]
    fn rows_are_counted_by_what_is_true() {
        let row = |metric: &str, verdict: &str, low: f64, high: f64| {
            json!({"metric": metric, "unit": "s", "verdict": verdict,
                   "a": {"low": low, "high": high}, "ratio": {"low": 0.9, "high": 1.05}})
        };
        let rows = [
            row("ttft.p50", "worse", 0.04, 0.06),
            row("ttft.p99", "no_difference_shown", 0.2, 0.3),
        ];
        let sides = Sides { law: Law::Lognormal, requests: 1, runs: 1, factor: 1.1 };
        let mut found = Pairs::default();
        found.add(&rows, sides, [0.05, 0.127]);
        assert_eq!((found.found.hits, found.same.hits, found.better.hits), (1, 1, 0));
        assert_eq!((found.median.held.hits, found.p99.held.hits), (1, 0));
        assert_eq!((found.median_ratio.held.hits, found.median_ratio.given.of), (0, 1));
    }
}
