//! What goes out in a format comes back: every factor, and every figure that the page of the
//! formats does not call lacking.

use ifm_core::Metric;
use ifm_core::Sheet;
use ifm_core::sheet::{
    Factors, Figure, Part, PartKind, Place, Row, RowRole, SheetRequest, Source, Statistic, StdKind,
    Unit, key,
};
use ifm_interop::{EXPORTS, Export, Input, read};
use proptest::collection::vec;
use proptest::prelude::*;

const TIMES: [Metric; 5] = [Metric::Ttft, Metric::Ttfat, Metric::Itl, Metric::Tpot, Metric::E2e];
const WHOLES: [(Metric, Unit); 14] = [
    (Metric::Duration, Unit::S),
    (Metric::RequestsOk, Unit::Count),
    (Metric::RequestsFailed, Unit::Count),
    (Metric::Requests, Unit::Count),
    (Metric::InputTokens, Unit::Count),
    (Metric::OutputTokens, Unit::Count),
    (Metric::RequestRate, Unit::PerS),
    (Metric::InputRate, Unit::PerS),
    (Metric::OutputRate, Unit::PerS),
    (Metric::TotalRate, Unit::PerS),
    (Metric::Goodput, Unit::PerS),
    (Metric::InFlight, Unit::Count),
    (Metric::PeakInFlight, Unit::Count),
    (Metric::PeakOutputRate, Unit::PerS),
];
const STATISTICS: [Statistic; 10] = [
    Statistic::Mean,
    Statistic::Median,
    Statistic::Std(StdKind::Population),
    Statistic::Min,
    Statistic::Max,
    Statistic::Percentile(1.0),
    Statistic::Percentile(25.0),
    Statistic::Percentile(90.0),
    Statistic::Percentile(95.0),
    Statistic::Percentile(99.0),
];

fn text() -> impl Strategy<Value = String> {
    "[!-~éü中][ -~éü中]{0,10}[!-~éü中]"
}

/// Factors as they are set by a run, and some that only their document knows.
fn factors() -> impl Strategy<Value = Factors> {
    let load = (1_u32..500, 1_u32..9000, 1_u32..500, 1_u32..500);
    let words = (text(), text(), text(), text());
    let free = vec(("[a-z][a-z_ .]{0,8}[a-z]", text()), 0..3);
    (load, words, free).prop_map(|(load, words, free)| {
        let mut factors = Factors::default();
        for (name, value) in free {
            factors.set(name, value);
        }
        for (name, value) in [
            (key::CONCURRENCY, load.0.to_string()),
            (key::REQUESTS, load.1.to_string()),
            (key::INPUT_TOKENS, load.2.to_string()),
            (key::OUTPUT_TOKENS, load.3.to_string()),
            (key::RATE, "inf".to_owned()),
            // No format may lose that a row is no measurement.
            (key::NUMBERS, key::PREDICTED.to_owned()),
            (key::MODEL, words.0),
            (key::GPU, words.1),
            (key::CONDITION, words.2),
            (key::WORKLOAD, words.3),
        ] {
            factors.set(name, value);
        }
        factors
    })
}

/// A row as a run gives it: all statistics of all times, and what holds for the whole.
fn row() -> impl Strategy<Value = Row> {
    let times = vec(1e-3..1e6_f64, TIMES.len() * STATISTICS.len());
    let wholes = vec(1e-3..1e6_f64, WHOLES.len());
    (factors(), times, wholes, text()).prop_map(|(factors, times, wholes, label)| {
        let mut row = Row::new(RowRole::Measured, Place::line(1));
        row.factors = factors;
        row.label = Some(label);
        let names = TIMES.iter().flat_map(|time| STATISTICS.map(|statistic| (time, statistic)));
        for ((time, statistic), value) in names.zip(times) {
            row.figures.push(Figure::new(*time, statistic, value, Unit::Ms));
        }
        for ((whole, unit), value) in WHOLES.iter().zip(wholes) {
            let value = if *unit == Unit::Count { value.ceil() } else { value };
            row.figures.push(Figure::new(*whole, Statistic::Value, value, unit.clone()));
        }
        row
    })
}

fn sheet(kind: PartKind, rows: Vec<Row>) -> Sheet {
    let part = Part { rows, ..Part::new(kind, Place::line(1)) };
    let source = Source { name: "run".to_owned(), ..Source::default() };
    Sheet { source, parts: vec![part], remarks: Vec::new() }
}

fn export(id: &str) -> &'static Export {
    EXPORTS.iter().find(|export| export.id == id).expect("a format")
}

/// The rows of an export, read again.
fn back(id: &str, sheet: &Sheet) -> Vec<Row> {
    let files = export(id).write(sheet).expect("files");
    // The metadata file holds no results.
    let files =
        files.iter().filter(|file| file.name.as_deref() != Some("experiment_metadata.json"));
    let rows = files.flat_map(|file| {
        let sheet = read(Input::new(format!("x.{}", file.ending), file.text.as_bytes()));
        sheet.unwrap_or_else(|error| panic!("{id}: {error}\n{}", file.text)).parts
    });
    rows.flat_map(|part| part.rows).collect()
}

/// Times, which of their statistics, and numbers of the whole.
type Held = (&'static [Metric], fn(Statistic) -> bool, &'static [Metric]);

/// What the page says a format holds.
fn held(id: &str) -> Held {
    use Metric::*;
    let upper: fn(Statistic) -> bool = |statistic| match statistic {
        Statistic::Min | Statistic::Max => false,
        Statistic::Percentile(p) => p > 50.0,
        _ => true,
    };
    let all: fn(Statistic) -> bool = |_| true;
    let no_deviation: fn(Statistic) -> bool = |s| !matches!(s, Statistic::Std(_));
    match id {
        "vllm" => (
            &[Ttft, Itl, Tpot, E2e],
            upper,
            &[
                Duration,
                RequestsOk,
                RequestsFailed,
                InputTokens,
                OutputTokens,
                RequestRate,
                OutputRate,
                TotalRate,
                Goodput,
                PeakInFlight,
                PeakOutputRate,
            ],
        ),
        "sglang" => (
            &[Ttft, Itl, Tpot, E2e],
            upper,
            &[
                Duration,
                RequestsOk,
                InputTokens,
                OutputTokens,
                RequestRate,
                InputRate,
                OutputRate,
                TotalRate,
                InFlight,
            ],
        ),
        "guidellm" => (
            &TIMES,
            all,
            &[
                Duration,
                RequestsOk,
                RequestsFailed,
                RequestRate,
                InputRate,
                OutputRate,
                TotalRate,
                InFlight,
            ],
        ),
        "aiperf" => (
            &[Ttft, Ttfat, Itl, E2e],
            all,
            &[Duration, RequestsOk, RequestsFailed, RequestRate, InputRate, OutputRate, TotalRate],
        ),
        "genai-bench" => (
            &[Ttft, Tpot, E2e],
            |s| s != Statistic::Percentile(1.0),
            &[
                Duration,
                Requests,
                RequestsOk,
                RequestsFailed,
                RequestRate,
                InputRate,
                OutputRate,
                TotalRate,
            ],
        ),
        "inferencex" => (&[Ttft, Itl, Tpot, E2e], upper, &[]),
        "llm-d" => (
            &[Ttft, Itl, Tpot, E2e],
            no_deviation,
            &[Requests, RequestsFailed, RequestRate, OutputRate, TotalRate],
        ),
        other => panic!("no table of {other}"),
    }
}

fn is_near(a: f64, b: f64) -> bool {
    (a - b).abs() <= 4.0 * f64::EPSILON * b.abs()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(24) })]

    #[test]
    fn a_run_comes_back_from_the_formats_of_others(rows in vec(row(), 1..3)) {
        let sheet = sheet(PartKind::Serving, rows.clone());
        for id in
            ["vllm", "sglang", "guidellm", "aiperf", "genai-bench", "inferencex", "llm-d"]
        {
            let found = back(id, &sheet);
            prop_assert_eq!(found.len(), rows.len(), "{}", id);
            let (times, statistics, wholes) = held(id);
            for (row, found) in rows.iter().zip(&found) {
                for (name, value) in row.factors.iter() {
                    prop_assert_eq!(found.factors.get(name), Some(value), "{}: {}", id, name);
                }
                for figure in &row.figures {
                    let is_time = times.contains(&figure.quantity) && statistics(figure.statistic);
                    let is_whole = figure.statistic == Statistic::Value
                        && wholes.contains(&figure.quantity);
                    let back = if is_time {
                        found.value(figure.quantity, figure.statistic)
                    } else if is_whole {
                        let one = |statistic| found.value(figure.quantity, statistic);
                        one(Statistic::Value).or_else(|| one(Statistic::Mean))
                    } else {
                        continue;
                    };
                    let expect = figure.canonical().expect("a number");
                    prop_assert!(
                        back.is_some_and(|back| is_near(back, expect)),
                        "{}: {:?}: {:?}", id, figure, back
                    );
                }
            }
        }
    }

    /// Our own formats give the same bits.
    #[test]
    fn a_run_comes_back_from_our_formats_bit_for_bit(
        mut rows in vec(row(), 1..3),
        other in (text(), prop_oneof![Just(StdKind::Sample), Just(StdKind::Unknown)], text()),
    ) {
        for row in &mut rows {
            let quantity = Metric::other(&other.0);
            let unit = Unit::Other(other.2.clone());
            row.figures.push(Figure::new(quantity, Statistic::Std(other.1), 0.1 + 0.2, unit));
            row.figures.push(Figure::new(Metric::Itl, Statistic::Std(other.1), -0.0, Unit::Us));
            row.figures.push(Figure::new(Metric::Efficiency, Statistic::Min, 5e-324, Unit::One));
            // A name that a figure has too, and texts that a table could take apart.
            row.factors.set("ttft_mean_ms", "=1+1");
            row.factors.set("kind", "'a,\"b\nc");
        }
        let sheet = sheet(PartKind::Engine, rows.clone());
        for id in ["csv", "jsonl"] {
            let found = back(id, &sheet);
            prop_assert_eq!(found.len(), rows.len(), "{}", id);
            for (row, found) in rows.iter().zip(&found) {
                prop_assert_eq!(&found.label, &row.label);
                prop_assert_eq!(&found.factors, &row.factors);
                let bits = |row: &Row| -> Vec<String> {
                    let mut all: Vec<String> = row.figures.iter().map(|figure| {
                        let bits = figure.value.map(f64::to_bits);
                        format!("{:?} {:?} {:?} {bits:?}", figure.quantity, figure.statistic, figure.unit)
                    }).collect();
                    all.sort();
                    all
                };
                prop_assert_eq!(bits(found), bits(row), "{}", id);
            }
        }
    }
}

#[test]
fn kinds_and_requests_come_back_where_there_is_room() {
    let mut row = Row::new(RowRole::Measured, Place::line(1));
    row.factors = row.factors.with(key::CONCURRENCY, 4);
    for (quantity, statistic, value, unit) in [
        (Metric::Ttft, Statistic::Mean, 50.0, Unit::Ms),
        (Metric::RequestRate, Statistic::Value, 8.0, Unit::PerS),
        (Metric::TotalRate, Statistic::Value, 256.0, Unit::PerS),
    ] {
        row.figures.push(Figure::new(quantity, statistic, value, unit));
    }
    row.requests = vec![SheetRequest {
        start_s: Some(0.0),
        ttft_ms: Some(50.0),
        e2e_ms: Some(120.0),
        input_tokens: Some(24),
        output_tokens: Some(8),
        ..SheetRequest::default()
    }];
    let mut both = sheet(PartKind::Serving, vec![row.clone()]);
    both.parts
        .push(Part { rows: vec![row.clone()], ..Part::new(PartKind::StaticBatch, Place::line(2)) });
    let text = &export("csv").write(&both).unwrap()[0].text;
    let kinds: Vec<PartKind> = read(Input::new("x", text.as_bytes()))
        .unwrap()
        .parts
        .iter()
        .map(|part| part.kind)
        .collect();
    assert_eq!(kinds, [PartKind::Serving, PartKind::StaticBatch]);
    assert_eq!(
        back("vllm", &sheet(PartKind::Serving, vec![row.clone()]))[0].requests,
        row.requests
    );
    assert_eq!(back("jsonl", &both)[1].requests, row.requests);
}

/// What formats have of images and audio, each by its own fields: 10 prompts of 2 images, 8 s and 320 tokens.
#[test]
fn media_come_back_where_a_format_has_them() {
    use Statistic::{Count, Mean, Median, Value};
    let other = |name: &str| Metric::other(name);
    let figures = [
        (Metric::RequestsOk, Value, 10.0, Unit::Count),
        (Metric::OutputTokens, Value, 160.0, Unit::Count),
        (Metric::RequestRate, Value, 5.0, Unit::PerS),
        (Metric::TotalRate, Value, 256.0, Unit::PerS),
        (Metric::TextTokens, Value, 200.0, Unit::Count),
        (Metric::ImageTokens, Value, 3000.0, Unit::Count),
        (Metric::ImageTokens, Mean, 300.0, Unit::Count),
        (Metric::ImageTokens, Median, 299.0, Unit::Count),
        (Metric::Images, Mean, 2.0, Unit::Count),
        (Metric::Images, Count, 10.0, Unit::Count),
        (Metric::ImageRate, Mean, 10.0, Unit::PerS),
        (Metric::Pixels, Mean, 460_800.0, Unit::Count),
        (Metric::PixelRate, Mean, 2_304_000.0, Unit::PerS),
        (Metric::AudioLength, Mean, 8.0, Unit::S),
        (Metric::LevelRtfx, Value, 40.0, Unit::One),
        (Metric::Rtfx, Mean, 16.0, Unit::One),
        (other("image_throughput"), Mean, 4.0, Unit::PerS),
        (other("image_latency"), Mean, 250.0, Unit::Ms),
    ];
    let mut row = Row::new(RowRole::Measured, Place::line(1));
    row.factors = row.factors.with(key::CONCURRENCY, 4);
    let figure = |(quantity, statistic, value, unit)| Figure::new(quantity, statistic, value, unit);
    row.figures = figures.into_iter().map(figure).collect();
    let sheet = sheet(PartKind::Serving, vec![row]);
    let told =
        |id: &str, quantity: Metric, statistic| back(id, &sheet)[0].value(quantity, statistic);
    for (id, quantity, statistic, value) in [
        ("vllm", Metric::LevelRtfx, Value, Some(40.0)),
        ("vllm", Metric::ImageTokens, Value, None),
        ("sglang", Metric::TextTokens, Value, Some(200.0)),
        ("sglang", Metric::ImageTokens, Value, Some(3000.0)),
        ("sglang", Metric::LevelRtfx, Value, None),
        ("guidellm", Metric::ImageTokens, Median, Some(299.0)),
        ("guidellm", Metric::Images, Mean, Some(2.0)),
        ("guidellm", Metric::Images, Count, Some(10.0)),
        ("guidellm", Metric::ImageRate, Mean, Some(10.0)),
        ("guidellm", Metric::PixelRate, Mean, Some(2_304_000.0)),
        ("guidellm", Metric::AudioLength, Mean, Some(8000.0)),
        ("guidellm", Metric::LevelRtfx, Mean, Some(40.0)),
        ("guidellm", Metric::Rtfx, Mean, None),
        ("aiperf", Metric::Images, Mean, Some(2.0)),
        ("aiperf", Metric::AudioLength, Mean, Some(8000.0)),
        ("aiperf", Metric::Rtfx, Mean, Some(16.0)),
        ("aiperf", other("image_throughput"), Mean, Some(4.0)),
        ("aiperf", other("image_latency"), Mean, Some(250.0)),
        ("aiperf", Metric::ImageRate, Mean, None),
    ] {
        assert_eq!(told(id, quantity, statistic), value, "{id} {quantity} {statistic:?}");
    }
    // Of prompts without media nothing is written.
    let text = Row {
        figures: vec![Figure::new(Metric::RequestRate, Value, 5.0, Unit::PerS)],
        ..Row::new(RowRole::Measured, Place::line(1))
    };
    let text = self::sheet(PartKind::Serving, vec![text]);
    for id in ["vllm", "sglang", "guidellm", "aiperf"] {
        let written = &export(id).write(&text).expect("a file")[0].text;
        for word in ["rtfx", "vision", "image", "audio"] {
            assert!(!written.contains(word), "{id} {word}: {written}");
        }
    }
}

#[test]
fn an_engine_comes_back_from_the_table_of_llama_bench() {
    let mut row = Row::new(RowRole::Measured, Place::line(1));
    row.factors = row
        .factors
        .with(key::MODEL, "red 7B Q4_0")
        .with(key::TEST, "pp512")
        .with(key::DEPTH_TOKENS, 4096)
        .with(key::POWER_LIMIT_W, 300)
        .with(key::CONDITION, "open window");
    let rate = |statistic, value| Figure::new(Metric::PrefillRate, statistic, value, Unit::PerS);
    row.figures = vec![rate(Statistic::Mean, 1234.5), rate(Statistic::Std(StdKind::Sample), 6.25)];
    let found = back("llama-bench", &sheet(PartKind::Engine, vec![row.clone()]));
    for (name, value) in row.factors.iter() {
        assert_eq!(found[0].factors.get(name), Some(value), "{name}");
    }
    for figure in &row.figures {
        assert_eq!(found[0].value(figure.quantity, figure.statistic), figure.value);
    }
}

#[test]
fn the_page_says_what_each_format_lacks() {
    let page = include_str!("../../../../docs/reference/interchange.md");
    for export in EXPORTS {
        let line = format!("| `{}` | {} |", export.id, export.lacks);
        assert!(page.contains(&line), "the page should have the line: {line}");
    }
}

/// What a file of AIPerf 0.13 says of requests, written again.
#[test]
fn aiperf_keeps_its_metrics_of_requests() {
    let original = std::fs::read(super::data("aiperf-0.13.0/profile_export_aiperf.json")).unwrap();
    let sheet = read(Input::new("x.json", original.as_slice())).expect("a sheet");
    let files = export("aiperf").write(&sheet).expect("files");
    let written: serde_json::Value = serde_json::from_str(&files[0].text).expect("JSON");
    let original: serde_json::Value = serde_json::from_slice(&original).expect("JSON");
    for (metric, statistics) in [
        ("input_sequence_length", &["avg", "p50", "sum"][..]),
        ("output_sequence_length", &["avg", "std", "sum"]),
        ("output_token_throughput_per_user", &["avg", "p99", "std", "sum"]),
        ("prefill_throughput_per_user", &["avg", "p90"]),
        ("e2e_output_token_throughput", &["avg", "max"]),
        ("inter_chunk_latency", &["avg", "p50", "count"]),
        ("decode_duration", &["avg", "min"]),
        ("time_to_second_token", &["avg", "max"]),
        ("input_token_throughput", &["avg"]),
        ("total_isl", &["avg"]),
        ("total_osl", &["avg"]),
        ("request_error_rate", &["avg"]),
    ] {
        for statistic in statistics {
            let of = |value: &serde_json::Value| value[metric][statistic].as_f64();
            let (written, original) = (of(&written), of(&original).expect("a number"));
            let written = written.unwrap_or_else(|| panic!("{metric}.{statistic} is missing"));
            let error = (written - original).abs();
            assert!(error <= 1e-9 * original.abs(), "{metric}.{statistic}: {written} {original}");
        }
        assert_eq!(written[metric]["unit"], original[metric]["unit"], "{metric}");
    }
}
