//! How often comparisons are wrong: thousands of synthetic pairs of runs, as alike as two runs of one
//! server are, or apart by a known share. `cargo test -p ifm-compare proof -- --nocapture` prints
//! the figures.
//!
//! What a run's numbers vary by: lognormal waits and gaps; requests that start in the same tenth of a
//! second share a batch; the host is slow for a third of a second now and then, for all who are in
//! flight; and, where runs are repeated, each run has a level of its own.

use super::*;
use ifm_core::RunData;
use ifm_metrics::stat::random::RandomStream;
use ifm_metrics::testing::{request, run};

/// Draws for each interval. With 2,000, the program's own number, the figures are the same.
const RESAMPLES: u32 = 200;
const USERS: u32 = 4;
/// Median TTFT and gap, milliseconds.
const TTFT_MS: f64 = 100.0;
const ITL_MS: f64 = 10.0;
const TOKENS: u32 = 12;

/// What the requests of a run have in common. Standard deviations of logarithms.
#[derive(Debug, Clone, Copy)]
struct Noise {
    requests: u32,
    /// Of a request's own wait; a gap has a third of it.
    own: f64,
    /// Of all that starts in the same tenth of a second.
    batch: f64,
    /// How much slower the host is now and then.
    host: f64,
    /// Of a whole run.
    run: f64,
}

const PLAIN: Noise = Noise { requests: 120, own: 0.3, batch: 0.0, host: 0.0, run: 0.0 };
const SHARED: Noise = Noise { requests: 300, batch: 0.1, host: 0.2, ..PLAIN };
const REPEATED: Noise = Noise { requests: 40, run: 0.03, batch: 0.1, ..PLAIN };

const BATCH_MS: f64 = 100.0;
/// Mean time between slow spells of the host, and their length.
const SPELL_EVERY_MS: f64 = 3_000.0;
const SPELL_MS: f64 = 300.0;

impl Noise {
    /// A closed loop of a server that is `factor` times as slow.
    fn run(&self, seed: u64, factor: f64) -> RunData {
        let mut stream = RandomStream::named(seed, "proof");
        let level = (self.run * stream.normal()).exp() * factor;
        let mut free_ms = vec![0.0f64; USERS as usize];
        let mut batch = (0.0, 1.0);
        let mut spell_ms = SPELL_EVERY_MS * stream.exponential();
        let mut requests = Vec::new();
        for seq in 0..self.requests {
            let next = free_ms.iter().enumerate().min_by(|a, b| a.1.total_cmp(b.1));
            let (slot, at) = next.map_or((0, 0.0), |(slot, at)| (slot, *at));
            if at >= batch.0 {
                batch = (at + BATCH_MS, (self.batch * stream.normal()).exp());
            }
            while at > spell_ms + SPELL_MS {
                spell_ms += SPELL_MS + SPELL_EVERY_MS * stream.exponential();
            }
            let host = if at >= spell_ms { 1.0 + self.host } else { 1.0 };
            let shared = level * batch.1 * host;
            let own = (self.own * stream.normal()).exp();
            let mut stamps = vec![TTFT_MS * shared * own];
            for _ in 1..TOKENS {
                let gap = ITL_MS * shared * (self.own / 3.0 * stream.normal()).exp();
                stamps.push(stamps.last().copied().unwrap_or(0.0) + gap);
            }
            free_ms[slot] += stamps.last().copied().unwrap_or(0.0);
            requests.push(request(seq, 0, slot as u32, at, &stamps));
        }
        run(&[USERS], requests)
    }

    fn side(&self, label: &str, runs: u64, seed: u64, factor: f64, settings: &Settings) -> Side {
        let member = |number| {
            let run = self.run(seed * runs + number, factor);
            Member::of(&run, &settings.measures, &settings.slo)
        };
        Side { label: label.to_owned(), members: (0..runs).map(member).collect() }
    }
}

/// The rows that are counted.
const ROWS: [&str; 5] = ["ttft.p50", "itl.p50", "itl.p99", "e2e.p50", "out_tok_s"];

/// In how many pairs a row said something.
#[derive(Debug, Clone, Copy, Default)]
struct Row {
    /// A difference, for a table of this row alone.
    alone: u64,
    /// Better, in the table with its correction.
    better: u64,
    /// Worse.
    worse: u64,
}

/// What became of the pairs.
#[derive(Debug, Clone, Copy, Default)]
struct Figures {
    rows: [Row; ROWS.len()],
    /// Pairs in whose table, with its correction, any row is better or worse.
    any: u64,
    pairs: u64,
}

impl Figures {
    fn add(&mut self, other: Figures) {
        for (row, more) in self.rows.iter_mut().zip(other.rows) {
            row.alone += more.alone;
            row.better += more.better;
            row.worse += more.worse;
        }
        self.any += other.any;
        self.pairs += other.pairs;
    }

    fn share(&self, count: u64) -> f64 {
        count as f64 / self.pairs as f64
    }
}

/// A kind of pair.
#[derive(Debug, Clone, Copy)]
struct Pairs {
    name: &'static str,
    noise: Noise,
    /// Runs of each side.
    runs: u64,
    /// How much slower the second side is.
    factor: f64,
    /// Smallest relevant change.
    threshold: f64,
}

impl Pairs {
    /// Compares this many pairs, on two threads, and prints the result.
    fn compare(&self, pairs: u64) -> Figures {
        let mut figures = Figures::default();
        std::thread::scope(|scope| {
            let half = |part| scope.spawn(move || self.part((0..pairs).filter(|n| n % 2 == part)));
            for half in [half(0), half(1)] {
                figures.add(half.join().expect("a half"));
            }
        });
        println!("{}: {} pairs, any row {}", self.name, figures.pairs, figures.any);
        for (word, row) in ROWS.iter().zip(figures.rows) {
            let Row { alone, better, worse } = row;
            println!("  {word:<10} alone {alone:>5}   better {better:>5}   worse {worse:>5}");
        }
        figures
    }

    fn part(&self, pairs: impl Iterator<Item = u64>) -> Figures {
        let measures: Vec<Measure> =
            ROWS.iter().map(|word| Measure::parse(word).expect("a measure")).collect();
        let mut figures = Figures::default();
        for pair in pairs {
            let settings = Settings {
                resamples: RESAMPLES,
                threshold: self.threshold,
                seed: pair,
                measures: measures.clone(),
                ..Settings::default()
            };
            let a = self.noise.side("a", self.runs, 2 * pair, 1.0, &settings);
            let b = self.noise.side("b", self.runs, 2 * pair + 1, self.factor, &settings);
            let rows = compare(&a, &[b], &settings).pairs.remove(0).rows;
            assert_eq!(rows.iter().map(|row| row.measure).collect::<Vec<_>>(), measures);
            let mut any = false;
            for (row, count) in rows.iter().zip(&mut figures.rows) {
                // The rules of a table that holds this row alone.
                // A percentile that is not bounded has no interval, and is never called different.
                let excludes =
                    row.change.is_some_and(|change| change.low > 1.0 || change.high < 1.0);
                let is_sure = row.p_corrected.is_some() && row.p.is_some_and(|p| p < 0.05);
                count.alone += u64::from(is_sure && excludes);
                count.better += u64::from(row.verdict == Verdict::Better);
                count.worse += u64::from(row.verdict == Verdict::Worse);
                any |= matches!(row.verdict, Verdict::Better | Verdict::Worse);
            }
            figures.any += u64::from(any);
            figures.pairs += 1;
        }
        figures
    }
}

/// Checks that two measurements of the same server are reported as different about as often as the
/// confidence says.
fn assert_few_alarms(name: &'static str, noise: Noise, runs: u64) {
    // A threshold would hide small false alarms.
    let pairs = Pairs { name, noise, runs, factor: 1.0, threshold: 0.0 };
    let found = pairs.compare(1_000);
    let alone = found.rows.map(|row| found.share(row.alone));
    let is_tail = |place: &usize| ROWS.get(*place).is_some_and(|word| *word == "itl.p99");
    // 50 of 1,000 are expected, with a standard deviation of 7. Percentiles of a single run reach to whole
    // ranks, so that medians raise fewer alarms, and a P99 fewer still: safe, and documented on the page.
    for (place, share) in alone.iter().enumerate() {
        let least = if is_tail(&place) { 0.005 } else { 0.02 };
        assert!((least..=0.07).contains(share), "{name} {}: {share}", ROWS[place]);
    }
    let others = (0..ROWS.len()).filter(|place| !is_tail(place)).map(|place| alone[place]);
    let mean = others.sum::<f64>() / (ROWS.len() - 1) as f64;
    assert!((0.03..=0.07).contains(&mean), "{name}: {mean}");
    // The correction keeps the whole table where one row would be.
    assert!(found.share(found.any) <= 0.05, "{name}: {found:?}");
}

#[test]
fn independent_requests_of_one_server_differ_by_chance_alone() {
    assert_few_alarms("independent requests", PLAIN, 1);
}

#[test]
fn batches_and_slow_spells_of_the_host_make_no_difference() {
    assert_few_alarms("batches and slow spells", SHARED, 1);
}

#[test]
fn varying_repeats_make_no_difference() {
    assert_few_alarms("4 runs a side", REPEATED, 4);
}

#[test]
fn ten_percent_are_found() {
    for (name, noise) in [
        ("10 %, independent requests", Noise { requests: 600, ..PLAIN }),
        ("10 %, batches and slow spells", Noise { requests: 1_500, ..SHARED }),
    ] {
        for factor in [1.1, 0.9] {
            let found = Pairs { name, noise, runs: 1, factor, threshold: 0.03 }.compare(40);
            for (word, row) in ROWS.iter().zip(found.rows) {
                // A server that takes longer brings fewer tokens: worse in every row.
                let (right, wrong) =
                    if factor > 1.0 { (row.worse, row.better) } else { (row.better, row.worse) };
                assert!(right >= 39 && wrong == 0, "{name} {factor} {word}: {row:?}");
            }
        }
    }
}

#[test]
fn one_percent_hardly_ever_gets_the_wrong_sign() {
    for (name, noise) in [("1 %, independent requests", PLAIN), ("1 %, batches", SHARED)] {
        for factor in [1.01, 0.99] {
            let found = Pairs { name, noise, runs: 1, factor, threshold: 0.03 }.compare(200);
            for (word, row) in ROWS.iter().zip(found.rows) {
                let wrong = if factor > 1.0 { row.better } else { row.worse };
                assert!(found.share(wrong) <= 0.01, "{name} {factor} {word}: {row:?}");
            }
        }
    }
}
