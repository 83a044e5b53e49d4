//! Notes that people write: headings, tables, lists, sentences, blocks of several tools.
//!
//! The notes that were found have other authors: they are read if `IFM_SEEDS`, or `shared/seeds`
//! next to the repository, contains them. The meaning of the notes in `tests/data/notes`, written
//! in the style of the found ones, is in `meanings.rs`.

use super::data;
use super::seeds::seed;
use ifm_core::Metric;
use ifm_core::Sheet;
use ifm_core::sheet::{PartKind, Row, RowRole, Statistic, key};
use ifm_interop::Input;
use std::path::PathBuf;

/// Rows by role: measured, summary, stated, planned.
fn counts(sheet: &Sheet) -> [usize; 4] {
    let roles = [RowRole::Measured, RowRole::Summary, RowRole::Stated, RowRole::Planned];
    roles.map(|role| {
        let is_meant = |row: &Row| row.role == role && (row.text.is_none() || !is_claim(row));
        rows(sheet).filter(|(_, row)| is_meant(row)).count()
    })
}

/// Whether a row is a sentence without a figure.
fn is_claim(row: &Row) -> bool {
    row.role == RowRole::Stated && row.figures.is_empty()
}

/// Lines of the sentences without figures that are kept as claims.
fn claims(sheet: &Sheet) -> Vec<u32> {
    rows(sheet).filter(|(_, row)| is_claim(row)).filter_map(|(_, row)| row.place.line).collect()
}

/// Every row with what holds for it.
fn rows(sheet: &Sheet) -> impl Iterator<Item = (&ifm_core::sheet::Part, &Row)> {
    sheet.parts.iter().flat_map(|part| part.rows.iter().map(move |row| (part, row)))
}

/// A value on a line, with some of its factors.
struct Spot(u32, Metric, Statistic, Option<f64>, &'static str);

#[track_caller]
fn holds(sheet: &Sheet, spots: &[Spot]) {
    for Spot(line, quantity, statistic, value, factors) in spots {
        let found = rows(sheet).any(|(part, row)| {
            let at = |figure: &ifm_core::sheet::Figure| {
                figure.place.as_ref().and_then(|place| place.line).or(row.place.line)
            };
            let all = row.factors.within(&part.factors);
            let factors = factors.split(' ').filter(|pair| !pair.is_empty()).all(|pair| {
                let (name, value) = pair.split_once('=').expect("name=value");
                all.get(name) == Some(&value.replace('_', " ")) || all.get(name) == Some(value)
            });
            factors
                && row.figures.iter().any(|figure| {
                    (figure.quantity == *quantity, figure.statistic == *statistic) == (true, true)
                        && figure.value == *value
                        && at(figure) == Some(*line)
                })
        });
        assert!(found, "line {line}: {quantity:?} {statistic:?} {value:?} {factors}");
    }
}

use Metric::{
    E2e, Efficiency, InFlight, InputRate, Itl, Kernel, Memory, OutputRate, Rank, Ratio, Sparsity,
    TotalRate, Ttft, UserSpeed,
};
use Statistic::{HalfWidth, Max, Mean, Median, Value};
const P99: Statistic = Statistic::Percentile(99.0);

#[test]
#[cfg_attr(not(documents), ignore = "needs the published documents: set IFM_SEEDS")]
fn found_000_is_a_plan_of_288_cells() {
    let sheet = seed("000");
    assert_eq!(counts(&sheet), [0, 0, 0, 288]);
    let repeated = rows(&sheet).map(|(part, row)| {
        format!("{:?} {:?}", row.factors.within(&part.factors), row.figures[0].statistic)
    });
    assert_eq!(repeated.collect::<std::collections::BTreeSet<_>>().len(), 288, "all differ");
    holds(
        &sheet,
        &[
            Spot(
                7,
                E2e,
                Mean,
                None,
                "workload=Random input_tokens=1500 output_tokens=250 concurrency=100",
            ),
            Spot(253, E2e, P99, None, "workload=Numina_Math concurrency=1 condition=No_CC"),
        ],
    );
}

#[test]
#[cfg_attr(not(documents), ignore = "needs the published documents: set IFM_SEEDS")]
fn found_001_states_eleven_figures() {
    let sheet = seed("001");
    let result = |row: &&Row| row.figures.iter().all(|f| !matches!(f.quantity, Metric::Other(_)));
    let figures = rows(&sheet).map(|(_, row)| row).filter(|row| !is_claim(row));
    assert_eq!(figures.filter(result).count(), 11);
    // No queueing, split bandwidth, the hardware's capability, a match, shared bandwidth, a likely
    // bottleneck.
    assert_eq!(claims(&sheet), [1, 1, 3, 6, 13, 16]);
    let heavy = "workload=Tool_Calling_Agentic concurrency=32";
    holds(
        &sheet,
        &[
            Spot(6, UserSpeed, Value, Some(172.5), "workload=Chatbot concurrency=1"),
            Spot(6, UserSpeed, Value, Some(13.2), heavy),
            Spot(11, Itl, Mean, Some(5.8), "workload=Chatbot concurrency=1"),
            Spot(11, Itl, Mean, Some(75.8), heavy),
            Spot(16, Efficiency, Value, Some(41.0), "workload=Chatbot concurrency=32"),
            Spot(16, Efficiency, Value, Some(8.0), heavy),
            Spot(21, UserSpeed, Value, Some(70.6), "concurrency=32"),
            Spot(26, Ttft, Value, Some(211.0), "workload=Chatbot"),
            Spot(26, Ttft, Value, Some(6.18), heavy),
        ],
    );
}

#[test]
#[cfg_attr(not(documents), ignore = "needs the published documents: set IFM_SEEDS")]
fn found_002_is_147_runs_in_49_groups() {
    let sheet = seed("002");
    assert_eq!(counts(&sheet), [147, 3 * 49, 0, 0]);
    let groups: std::collections::BTreeSet<String> = rows(&sheet)
        .filter(|(_, row)| row.role == RowRole::Measured)
        .map(|(part, _)| format!("{:?}", part.factors))
        .collect();
    assert_eq!(groups.len(), 49);
    let text = |row: &Row| format!("{:?} {:?}", row.label, row.factors);
    assert!(rows(&sheet).all(|(_, row)| !text(row).contains(['Â', 'ð'])));
    let interactive = "batch_size=1 input_tokens=128 output_tokens=64 model=original_interactive";
    holds(
        &sheet,
        &[
            Spot(17, E2e, Mean, Some(0.38), "batch_size=1 quantization=w8a8"),
            Spot(17, InputRate, Value, None, ""),
            Spot(35, E2e, Value, Some(0.51), interactive),
            Spot(41, OutputRate, Value, Some(122.9), interactive),
            Spot(38, InputRate, Value, None, interactive),
            Spot(53, TotalRate, HalfWidth, Some(21.6), interactive),
            Spot(1479, Rank, Value, Some(1.0), "model=w8a8_sparse_smooth_gptq_interactive"),
            Spot(1482, OutputRate, Value, Some(181.78), "batch_size=1"),
        ],
    );
}

#[test]
#[cfg_attr(not(documents), ignore = "needs the published documents: set IFM_SEEDS")]
fn found_003_holds_tables_and_conclusions() {
    let sheet = seed("003");
    // Two tables of ten lines each, for each model: the lines of one run are one row.
    assert_eq!(counts(&sheet), [20, 0, 10, 0]);
    let base = "model=LLama-3.1-8B-Instruct gpu=L40S";
    let small = "model=LLama-3.1-8B-Instruct-int8-dynamic quantization=W8A8 gpu=L40S";
    holds(
        &sheet,
        &[
            Spot(130, Metric::PeakInFlight, Value, Some(44.0), small),
            Spot(141, InFlight, Median, Some(34.0), base),
            Spot(139, Itl, Value, Some(34.5), small),
            Spot(156, Ratio, Value, Some(1.78), base),
            Spot(177, Ratio, Value, Some(2.34), small),
        ],
    );
}

#[test]
#[cfg_attr(not(documents), ignore = "needs the published documents: set IFM_SEEDS")]
fn found_004_holds_every_block() {
    let sheet = seed("004");
    let parts = |kind| sheet.parts.iter().filter(|part| part.kind == kind).count();
    assert_eq!(
        [PartKind::Engine, PartKind::Kernel, PartKind::Serving, PartKind::Training].map(parts),
        [13, 7, 6, 1]
    );
    let of = |kind| rows(&sheet).filter(move |(part, _)| part.kind == kind);
    assert_eq!(of(PartKind::Engine).count(), 26);
    assert_eq!(of(PartKind::Kernel).filter(|(_, row)| row.text.is_none()).count(), 7 * 3 * 2);
    assert_eq!(of(PartKind::Kernel).filter(|(_, row)| row.text.is_some()).count(), 4);
    let card = "gpu=NVIDIA_RTX_PRO_6000_Blackwell_Workstation_Edition";
    holds(
        &sheet,
        &[
            Spot(16, Metric::PrefillRate, Mean, Some(16634.04), "power_limit_w=600"),
            Spot(122, Metric::DecodeRate, Mean, Some(189.82), "power_limit_w=200"),
            Spot(122, Metric::DecodeRate, Mean, Some(189.82), card),
            Spot(214, Kernel, Value, Some(20.3867), "mask=Causal_Mask pass=backward"),
            Spot(271, Sparsity, Value, Some(86.82), "mask=Sliding_Window_1024"),
            Spot(671, Memory, Max, Some(88.0), "model=llama-3.2-1b batch_size=32"),
        ],
    );
    let loads: Vec<&str> = sheet
        .parts
        .iter()
        .filter(|part| part.kind == PartKind::Serving)
        .filter_map(|part| part.factors.get(key::CONCURRENCY))
        .collect();
    assert_eq!(loads, ["max", "32", "64", "128", "256", "512"]);
}

/// A stream of numbers from a seed: splitmix64.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, below: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % below.max(1) as u64) as usize
    }
}

#[test]
fn damaged_notes_are_survived() {
    let cases: usize = std::env::var("IFM_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(2000);
    let mut files: Vec<PathBuf> = std::fs::read_dir(data("notes"))
        .expect("test data")
        .map(|entry| entry.expect("a file").path())
        .collect();
    files.sort();
    let files: Vec<Vec<u8>> = files.iter().map(|path| std::fs::read(path).expect("text")).collect();
    let marks: &[&[u8]] = &[
        b"|",
        b"\n",
        b"```\n",
        b"# ",
        b"- ",
        b":",
        b"=",
        b"\xc3",
        b"\xff",
        b"(",
        b")",
        b"\r",
        b"\x1b[",
        "±".as_bytes(),
        "╔".as_bytes(),
        "█".as_bytes(),
        b"99999999999999999999",
        b"1.5.5",
        b" ms",
        b"+-",
    ];
    let mut dice = Dice(7);
    let mut read = 0;
    for _ in 0..cases {
        let mut bytes = files[dice.roll(files.len())].clone();
        for _ in 0..=dice.roll(12) {
            let at = dice.roll(bytes.len() + 1);
            match dice.roll(4) {
                0 => bytes.truncate(at),
                1 => {
                    let end = (at + dice.roll(40)).min(bytes.len());
                    bytes.drain(at..end);
                }
                2 => {
                    let mark = marks[dice.roll(marks.len())];
                    bytes.splice(at..at, mark.iter().copied());
                }
                _ => {
                    let other = &files[dice.roll(files.len())];
                    let from = dice.roll(other.len());
                    let to = (from + dice.roll(200)).min(other.len());
                    bytes.splice(at..at, other[from..to].iter().copied());
                }
            }
        }
        let lines = bytes.iter().filter(|&&byte| byte == b'\n').count() + 1;
        let Ok(sheet) = ifm_interop::read(Input::new("notes", bytes.as_slice())) else { continue };
        read += 1;
        let inside = |line: Option<u32>| line.is_none_or(|line| (1..=lines as u32).contains(&line));
        assert!(sheet.remarks.iter().all(|remark| inside(remark.place.line)));
        for (_, row) in rows(&sheet) {
            assert!(inside(row.place.line));
            assert!(row.figures.iter().all(|figure| figure.value.is_none_or(f64::is_finite)));
        }
    }
    assert!(2 * read > cases, "{read} of {cases} still hold something");
}

#[test]
fn time_grows_with_the_size_alone() {
    // Forms that begin everywhere and never become anything: what is looked at twice is looked at
    // a bounded number of times, so this ends at once or not at all.
    for line in [
        "| a | b |\n",
        "- a\n",
        "+---+\n",
        "╔══╦══╗\n",
        "TTFT: 5\n",
        "1. a: 5\n",
        "```\n",
        "**a**\n",
        "BlockMask(shape=(1,\n",
        "word word. ",
        "TTFT 5 ms (",
        "a: b: c: d\n",
        "🥇 x\n",
        "\r",
        "Ã",
        "========\n",
        "[",
        "|",
        "5 ms ",
        "± ",
    ] {
        let text = line.repeat(100_000 / line.len());
        let _ = ifm_interop::read(Input::new("notes", text.as_bytes()));
    }
}
