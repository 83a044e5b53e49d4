//! Gates whose limit is the true value, or some percent from it.

use super::count::{Share, Sum, counted, seed};
use super::file::{Result as File, TTFT_S};
use super::law::{Law, Random};
use super::program::{ClaimError, Program};
use serde_json::Value;
use std::path::Path;

/// Users of each result.
const USERS: usize = 8;
/// True share of failed requests.
const FAILED: f64 = 0.03;
/// True change against the baseline.
const CHANGE: f64 = 0.05;
/// How far limits are from the true value, as shares of it.
pub(super) const AWAY: [f64; 3] = [0.05, 0.10, 0.15];

/// What is limited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limited {
    /// The median TTFT.
    Median,
    /// The P99 of the TTFT.
    P99,
    /// The share of failed requests.
    Failures,
    /// The change of the median TTFT against a baseline, which is 5 %.
    Change,
}

/// A gate.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// The law of a request.
    pub law: Law,
    /// Requests of each result.
    pub requests: usize,
    /// Results that are one side.
    pub runs: u32,
    /// What is limited.
    pub limited: Limited,
}

/// What came of gates.
#[derive(Debug, Clone, Copy, Default)]
pub struct Gates {
    /// Passes with the limit at the true value.
    pub passes_at_truth: Share,
    /// Fails with the limit at the true value.
    pub fails_at_truth: Share,
    /// Passes although the true value is outside by 5, 10 and 15 %.
    pub passes_outside: [Share; 3],
    /// Fails where the true value is outside by 5, 10 and 15 %.
    pub fails_outside: [Share; 3],
    /// Passes where the true value is inside by 5, 10 and 15 %.
    pub passes_inside: [Share; 3],
    /// The verdict says something else than the interval that is printed with it.
    pub contradicts: Share,
}

impl Sum for Gates {
    fn sum(&mut self, other: Gates) {
        self.passes_at_truth.sum(other.passes_at_truth);
        self.fails_at_truth.sum(other.fails_at_truth);
        self.contradicts.sum(other.contradicts);
        for (own, more) in [
            (&mut self.passes_outside, other.passes_outside),
            (&mut self.fails_outside, other.fails_outside),
            (&mut self.passes_inside, other.passes_inside),
        ] {
            own.iter_mut().zip(more).for_each(|(own, more)| own.sum(more));
        }
    }
}

/// Checks `count` results against limits around the true value. Files go below `folder`.
///
/// # Errors
/// When a file cannot be written, or the program writes something else than its schema.
pub fn gates(
    program: &Path,
    folder: &Path,
    limits: Limits,
    count: u32,
) -> Result<Gates, ClaimError> {
    let truth = match limits.limited {
        Limited::Median => 1e3 * TTFT_S * limits.law.percentile(50.0),
        Limited::P99 => 1e3 * TTFT_S * limits.law.percentile(99.0),
        Limited::Failures => FAILED,
        Limited::Change => 1.0 + CHANGE,
    };
    counted(program, folder, count, |program, trial, found: &mut Gates| {
        let runs = limits.write(program, trial)?;
        let mut words = vec!["gate".to_owned(), runs];
        if limits.limited == Limited::Change {
            words.push("--baseline=base.json".to_owned());
        }
        let all = limits.factors();
        words.extend(all.iter().map(|factor| limits.threshold(truth * factor)));
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let document = program.json(&words)?;
        let rows = document["thresholds"].as_array().map_or(&[][..], Vec::as_slice);
        let mut explicit = rows.iter().filter(|row| row["is_implied"] != true);
        for place in 0..all.len() {
            let row = explicit.next().ok_or_else(|| {
                program.unexpected(&words, "fewer thresholds than limits", &document.to_string())
            })?;
            found.add(place, row);
        }
        Ok(())
    })
}

impl Limits {
    /// The true value, then limits below it, then above it, as shares of it.
    fn factors(&self) -> [f64; 7] {
        let [a, b, c] = AWAY;
        [1.0, (1.0 + a).recip(), (1.0 + b).recip(), (1.0 + c).recip(), 1.0 + a, 1.0 + b, 1.0 + c]
    }

    fn threshold(&self, limit: f64) -> String {
        match self.limited {
            Limited::Median => format!("--max=ttft.p50={limit:.9}ms"),
            Limited::P99 => format!("--max=ttft.p99={limit:.9}ms"),
            Limited::Failures => format!("--max=error_rate={:.9}%", limit * 100.0),
            Limited::Change => format!("--max=ttft.p50={:+.9}%", (limit - 1.0) * 100.0),
        }
    }

    /// Writes the files of a gate; the names of those that are checked, with commas.
    fn write(&self, program: &Program, trial: u32) -> Result<String, ClaimError> {
        let mut names = Vec::new();
        let is_change = self.limited == Limited::Change;
        for run in 0..self.runs {
            let seed = seed(trial, 0, run);
            let mut random = Random::new(seed ^ 0x6661_696c);
            let fails = |_: &usize| self.limited == Limited::Failures && random.uniform() < FAILED;
            let failed = (0..self.requests).filter(fails).count();
            let file = File {
                law: self.law,
                seed,
                requests: self.requests - failed,
                failed,
                users: USERS,
                factor: if is_change { 1.0 + CHANGE } else { 1.0 },
            };
            let name = format!("g{run}.json");
            program.write(&name, &file.document(run as usize + 1))?;
            names.push(name);
        }
        if is_change {
            let (seed, requests) = (seed(trial, 1, 0), self.requests);
            let file = File { law: self.law, seed, requests, failed: 0, users: USERS, factor: 1.0 };
            program.write("base.json", &file.document(0))?;
        }
        Ok(names.join(","))
    }
}

impl Gates {
    /// Adds the row of the limit at a place of [`Limits::factors`].
    fn add(&mut self, place: usize, row: &Value) {
        let is = |state: &str| row["state"] == state;
        match place {
            0 => {
                self.passes_at_truth.add(is("pass"));
                self.fails_at_truth.add(is("fail"));
            }
            1..=3 => {
                self.passes_outside[place - 1].add(is("pass"));
                self.fails_outside[place - 1].add(is("fail"));
            }
            _ => self.passes_inside[(place - 4).min(2)].add(is("pass")),
        }
        let change = row["max"].get("change").and_then(Value::as_f64);
        let value = row["max"].get("value").and_then(Value::as_f64);
        let of = if change.is_some() { &row["change"] } else { &row["value"] };
        if let (Some(limit), Some(low), Some(high)) =
            (change.or(value), of["low"].as_f64(), of["high"].as_f64())
        {
            self.contradicts.add((is("pass") && high > limit) || (is("fail") && low <= limit));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_verdict_is_compared_with_its_limit_and_its_interval() {
        let mut found = Gates::default();
        let row = |state: &str| json!({"state": state, "max": {"value": 0.1}, "value": {"low": 0.09, "high": 0.11}});
        found.add(0, &row("pass"));
        found.add(3, &row("fail"));
        found.add(4, &row("inconclusive"));
        assert_eq!((found.passes_at_truth.hits, found.fails_at_truth.hits), (1, 0));
        assert_eq!((found.fails_outside[2].hits, found.passes_inside[0].of), (1, 1));
        assert_eq!((found.contradicts.hits, found.contradicts.of), (2, 3));
    }
}
