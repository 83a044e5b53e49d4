//! How often each command says something false, and how often it finds what is there: results of
//! servers whose laws are known, and searches on servers whose capacity is known.
//!
//! Not a timed benchmark: the counts follow from seeds, except for the searches. A small part of
//! them runs in CI (`crates/inferometer/tests/it/claims.rs`). The results and the counts come from
//! [`ifm_truth::claims`]; here they become tables.

use super::lab::Lab;
use super::table::{Table, number};
use anyhow::{Context as _, Result};
use ifm_truth::claims::{
    Coverage, Law, Limited, Limits, Pairs, Share, Sides, capacities, gates, histories, pairs,
};
use ifm_truth::paced::queue;
use std::path::Path;

/// Pairs, gates or histories of a row for each repeat that is asked for.
const TRIALS_PER_REPEAT: u32 = 20;
/// Folders of levels, and searches.
const CAPACITIES: u32 = 20;
/// Requests of each level of a folder.
const LEVEL: usize = 1_000;
/// True differences that are to be found.
const FACTORS: [f64; 3] = [1.05, 1.10, 1.15];
/// Requests and results of each side of the pairs.
const SINGLE: (usize, u32) = (300, 1);
/// The same where each result has a speed of its own.
const REPEATED: (usize, u32) = (300, 5);
/// The difference on which reports are made.
const REPORTED: f64 = 1.10;
/// Requests of the results whose intervals are counted: of the first law, and of the others.
const COVERED: [&[usize]; 2] = [&[100, 300, 400, 1_000], &[300, 1_000]];
/// Requests and results of each gate on a P99: of the first law, and of the others.
const GATED: [&[(usize, u32)]; 2] =
    [&[(400, 1), (1_000, 1), (30, 5), (400, 5)], &[(400, 1), (400, 5)]];

const NOTE_PAIRS: &str = "Two results of another tool's format, 8 users, percent of the pairs. False: compare \
    calls any row better or worse, report claims any difference, and the servers are the same. Found: \
    compare calls the median TTFT worse where the second server is slower by 5, 10, 15 %. Same: compare \
    calls a row that differs by so much the same. Wrong: compare calls a row of the slower server better.";
const NOTE_INTERVALS: &str = "Percent of the intervals that contain the truth; in brackets the percent of \
    values that have an interval, where it is not 100. Of one result: the median and the P99 of the TTFT. Of \
    pairs: the ratios of both, and of the throughputs.";
const NOTE_GATES: &str = "Percent of the gates. At the truth: the limit is the true value, so both pass and fail \
    are without evidence. Outside: the true value is 5, 10, 15 % beyond the limit. Inside: it is as much within. \
    Contradicts: the verdict differs from the interval in the same row.";
const NOTE_HISTORY: &str = "Sixteen results one after the other. False: any series changes although the server \
    does not. Found: the median TTFT becomes worse by so much with the eleventh result.";
const NOTE_CAPACITY: &str = "The largest load inside the target and the smallest outside, against the truth. Wrong: \
    a load on the wrong side is named as sure. Levels: files at 2 to 32 users. Searches: capacity URL on \
    servers with a known number of stations.";

/// Counts claims.
///
/// # Errors
/// When the program fails, or writes something else than its schemas.
pub fn run(lab: &Lab, say: &mut dyn FnMut(&str)) -> Result<Vec<Table>> {
    let folder = tempfile::tempdir().context("a folder for the results")?;
    let program = lab.binary().canonicalize().context("the program")?;
    let bench = Bench {
        program: &program,
        folder: folder.path(),
        trials: TRIALS_PER_REPEAT * u32::try_from(lab.repeats).unwrap_or(1),
    };
    Ok(vec![
        bench.gates(say)?,
        bench.intervals(say)?,
        bench.pairs(say)?,
        bench.histories(say)?,
        bench.capacities(lab, say)?,
    ])
}

/// The program and how much of it is asked.
struct Bench<'a> {
    program: &'a Path,
    folder: &'a Path,
    trials: u32,
}

impl Bench<'_> {
    fn pair(&self, sides: Sides) -> Result<Pairs> {
        let with_report = sides.factor == 1.0 || sides.factor == REPORTED;
        Ok(pairs(self.program, self.folder, sides, (self.trials, with_report))?)
    }

    fn pairs(&self, say: &mut dyn FnMut(&str)) -> Result<Table> {
        let columns = [
            "law",
            "requests",
            "results",
            "false",
            "of throughput",
            "report",
            "found 5",
            "10",
            "15",
            "same 5",
            "10",
            "15",
            "wrong",
            "report same",
        ];
        let mut table = Table::new("Pairs: compare and report", NOTE_PAIRS, &columns);
        for law in Law::ALL {
            let (requests, runs) = if law == Law::Drifting { REPEATED } else { SINGLE };
            let sides = Sides { law, requests, runs, factor: 1.0 };
            let none = self.pair(sides)?;
            let mut row = vec![law.name().to_owned(), requests.to_string(), runs.to_string()];
            row.extend([none.differs, none.throughput, none.report_differs].map(percent));
            let mut found = Vec::new();
            for factor in FACTORS {
                found.push(self.pair(Sides { factor, ..sides })?);
            }
            row.extend(found.iter().map(|found| percent(found.found)));
            row.extend(found.iter().map(|found| percent(found.same)));
            let all = |of: fn(&Pairs) -> Share| {
                found.iter().map(of).fold(Share::default(), |all, one| Share {
                    hits: all.hits + one.hits,
                    of: all.of + one.of,
                })
            };
            row.push(percent(all(|found| found.better)));
            row.push(percent(all(|found| found.report_same)));
            say(&row.join(" | "));
            table.push(row);
        }
        Ok(table)
    }

    fn intervals(&self, say: &mut dyn FnMut(&str)) -> Result<Table> {
        let columns =
            ["law", "requests", "median", "P99", "median ratio", "P99 ratio", "throughput ratio"];
        let mut table = Table::new("Intervals: compare", NOTE_INTERVALS, &columns);
        for law in Law::ALL.into_iter().filter(|law| *law != Law::Drifting) {
            for &requests in COVERED[usize::from(law != Law::Lognormal)] {
                let sides = Sides { law, requests, runs: 1, factor: 1.1 };
                let found = pairs(self.program, self.folder, sides, (self.trials, false))?;
                let mut row = vec![law.name().to_owned(), requests.to_string()];
                row.extend(
                    [
                        found.median,
                        found.p99,
                        found.median_ratio,
                        found.p99_ratio,
                        found.throughput_ratio,
                    ]
                    .map(coverage),
                );
                say(&row.join(" | "));
                table.push(row);
            }
        }
        Ok(table)
    }

    fn gates(&self, say: &mut dyn FnMut(&str)) -> Result<Table> {
        let columns = [
            "limit",
            "law",
            "requests",
            "results",
            "passes at truth",
            "fails at truth",
            "passes outside 5",
            "10",
            "15",
            "fails outside 5",
            "10",
            "15",
            "passes inside 5",
            "10",
            "15",
            "contradicts",
        ];
        let mut table = Table::new("Gates", NOTE_GATES, &columns);
        let mut all: Vec<Limits> = Vec::new();
        for law in Law::ALL {
            for &(requests, runs) in GATED[usize::from(law != Law::Lognormal)] {
                all.push(Limits { law, requests, runs, limited: Limited::P99 });
            }
            all.push(Limits { law, requests: 400, runs: 1, limited: Limited::Median });
        }
        let law = Law::Lognormal;
        for requests in [100, 400, 1_000] {
            all.push(Limits { law, requests, runs: 1, limited: Limited::Failures });
        }
        all.push(Limits { law, requests: 400, runs: 1, limited: Limited::Change });
        for limits in all {
            // One run cannot say how runs differ.
            if limits.law == Law::Drifting && limits.runs == 1 {
                continue;
            }
            let found = gates(self.program, self.folder, limits, self.trials)?;
            let limit = match limits.limited {
                Limited::Median => "TTFT median",
                Limited::P99 => "TTFT P99",
                Limited::Failures => "failed",
                Limited::Change => "TTFT change",
            };
            let mut row = vec![limit.to_owned(), limits.law.name().to_owned()];
            row.extend([limits.requests.to_string(), limits.runs.to_string()]);
            row.extend([found.passes_at_truth, found.fails_at_truth].map(percent));
            for shares in [found.passes_outside, found.fails_outside, found.passes_inside] {
                row.extend(shares.map(percent));
            }
            row.push(percent(found.contradicts));
            say(&row.join(" | "));
            table.push(row);
        }
        Ok(table)
    }

    fn histories(&self, say: &mut dyn FnMut(&str)) -> Result<Table> {
        let columns = ["law", "requests", "false", "found 5", "10", "15"];
        let mut table = Table::new("Series: history", NOTE_HISTORY, &columns);
        for (law, requests) in [(Law::Lognormal, 300), (Law::HeavyTail, 300), (Law::Drifting, 300)]
        {
            let of = |factor| {
                histories(self.program, self.folder, (law, requests, factor), self.trials / 2)
            };
            let mut row = vec![law.name().to_owned(), requests.to_string()];
            row.push(percent(of(1.0)?.changes));
            for factor in FACTORS {
                row.push(percent(of(factor)?.found));
            }
            say(&row.join(" | "));
            table.push(row);
        }
        Ok(table)
    }

    fn capacities(&self, lab: &Lab, say: &mut dyn FnMut(&str)) -> Result<Table> {
        let columns = ["what", "requests", "right", "wrong", "of"];
        let mut table = Table::new("Capacity", NOTE_CAPACITY, &columns);
        for law in [Law::Lognormal, Law::Exponential, Law::Bimodal, Law::HeavyTail] {
            let found = capacities(self.program, self.folder, (law, LEVEL), CAPACITIES)?;
            let mut row = vec![format!("levels, {}", law.name()), LEVEL.to_string()];
            row.extend([found.right.hits, found.wrong.hits, found.right.of].map(|n| n.to_string()));
            say(&row.join(" | "));
            table.push(row);
        }
        let found = searches(lab, say)?;
        let mut row = vec!["searches, queue with stations".to_owned(), LOOK.to_string()];
        row.extend([found.0, found.1, CAPACITIES].map(|n| n.to_string()));
        say(&row.join(" | "));
        table.push(row);
        Ok(table)
    }
}

/// Requests of one measurement of a search.
const LOOK: u32 = 120;
/// Time that an answer holds its station, milliseconds.
const SERVICE_MS: u64 = 12;
const NS_PER_MS: u64 = 1_000_000;

/// Searches on servers whose capacity in users is known: right answers, and wrong ones.
fn searches(lab: &Lab, say: &mut dyn FnMut(&str)) -> Result<(u32, u32)> {
    let (mut right, mut wrong) = (0, 0);
    for search in 0..CAPACITIES {
        let (stations, rounds) = (2 + search % 3, 1 + u64::from(search / 3) % 4);
        let server = lab.serve_with(true, &["--stations".to_owned(), stations.to_string()])?;
        let url = format!("http://{}/pace/ttft_ms={SERVICE_MS}/v1", server.address);
        // Half of what one user more would wait.
        let limit_ms = (rounds + 1) * SERVICE_MS + SERVICE_MS / (2 * u64::from(stations));
        let flags = [
            "--workload=16/1".to_owned(),
            format!("--slo=ttft:p75<{limit_ms}ms"),
            format!("--requests={LOOK}"),
        ];
        let answer = lab.search(&url, &flags)?;
        server.stop()?;
        let wait_ns = (limit_ms - SERVICE_MS) * NS_PER_MS;
        let truth = u64::from(queue::users_inside(stations, SERVICE_MS * NS_PER_MS, wait_ns));
        let users = |name: &str| answer[name].as_u64();
        let (inside, outside) = (users("users_inside"), users("users_outside"));
        let is_false = inside.is_some_and(|users| users > truth)
            || outside.is_some_and(|users| users <= truth);
        wrong += u32::from(is_false);
        right += u32::from(inside == Some(truth) && !is_false);
        say(&format!("{stations} stations, truth {truth}: inside {inside:?}, outside {outside:?}"));
    }
    Ok((right, wrong))
}

fn percent(share: Share) -> String {
    number(share.percent(), 1)
}

fn coverage(found: Coverage) -> String {
    let held = number(found.held.percent(), 1);
    match found.given.percent() {
        Some(given) if given < 100.0 => format!("{held} ({given:.0})"),
        _ => held,
    }
}
