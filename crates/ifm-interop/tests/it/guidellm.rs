//! GuideLLM: file, YAML, CSV, console and the server's own log of one run; other generations.

use super::{close, compare, data, import, one_row, truth};
use ifm_core::Metric;
use ifm_core::Sheet;
use ifm_core::sheet::{Definition, Place, RemarkKind, Row, Statistic, Unit, key};

const LATENCIES: [Metric; 5] =
    [Metric::Ttft, Metric::Ttfat, Metric::Itl, Metric::Tpot, Metric::E2e];

fn benchmarks(sheet: &Sheet) -> &[Row] {
    &sheet.parts[0].rows
}

#[test]
fn json_yaml_and_csv_of_one_run_agree() {
    let file = import("guidellm-0.8.1/result.json").unwrap();
    let yaml = import("guidellm-0.8.1/result.yaml").unwrap();
    let csv = import("guidellm-0.8.1/result.csv").unwrap();
    assert_eq!(
        [&file, &yaml, &csv].map(|sheet| sheet.source.format.as_str()),
        ["guidellm", "guidellm-yaml", "guidellm-csv"]
    );
    assert_eq!(file.source.tool_version.as_deref(), Some("0.8.1"));
    assert_eq!(csv.source.tool_version.as_deref(), Some("0.8.1"));
    assert_eq!(
        file.source.bytes,
        std::fs::metadata(data("guidellm-0.8.1/result.json")).unwrap().len()
    );
    assert_eq!(benchmarks(&file), benchmarks(&yaml));
    let (exact, table) = (one_row(&file), one_row(&csv));
    assert!(table.figures.len() > 100, "{}", table.figures.len());
    for figure in &table.figures {
        assert_eq!(
            figure.value,
            exact.figure(figure.quantity, figure.statistic).and_then(|exact| exact.value),
            "{figure:?}"
        );
    }
    assert_eq!(exact.factors, table.factors);
    let factors: Vec<(&str, &str)> = exact.factors.iter().collect();
    assert_eq!(
        factors,
        [
            (key::CONCURRENCY, "4"),
            (key::INPUT_TOKENS, "32"),
            (key::MODEL, "truth-model"),
            (key::OUTPUT_TOKENS, "16"),
            (key::REQUESTS, "8"),
            (key::STRATEGY, "concurrent"),
            (key::WORKLOAD, "synthetic_text"),
        ]
    );
}

#[test]
fn the_console_shows_the_file_rounded() {
    let file = import("guidellm-0.8.1/result.json").unwrap();
    let console = import("guidellm-0.8.1/console.txt").unwrap();
    let (exact, printed) = (one_row(&file), one_row(&console));
    assert_eq!(printed.factors.get(key::STRATEGY), Some("concurrent"));
    assert_eq!(printed.factors.get(key::CONCURRENCY), Some("4"));
    let compared = compare(printed, exact);
    assert!(compared >= 20, "{compared}");
    let ttft = printed.figure(Metric::Ttft, Statistic::Percentile(95.0)).unwrap();
    assert_eq!((ttft.value, ttft.printed.as_deref()), (Some(74.7), Some("74.7*")));
    let place = ttft.place.clone().unwrap();
    assert_eq!(place.pointer.as_deref(), Some("TTFT / ms / p95"));
    assert!(place.line > printed.place.line);
    let half = printed.figures.iter().find(|figure| {
        (&figure.quantity, figure.statistic) == (&Metric::Ttft, Statistic::HalfWidth)
    });
    assert_eq!(half.unwrap().value, Some(4.8));
}

#[test]
fn requests_give_the_means_and_are_those_that_the_server_saw() {
    let file = import("guidellm-0.8.1/result.json").unwrap();
    let row = one_row(&file);
    let truth = truth("guidellm-0.8.1/truth.jsonl");
    assert_eq!((row.requests.len(), truth.len()), (8, 8));
    let mean = |of: fn(&ifm_core::sheet::SheetRequest) -> Option<f64>| {
        let values: Vec<f64> = row.requests.iter().filter_map(of).collect();
        assert_eq!(values.len(), 8);
        values.iter().sum::<f64>() / 8.0
    };
    close(mean(|r| r.ttft_ms), row.value(Metric::Ttft, Statistic::Mean).unwrap());
    close(mean(|r| r.e2e_ms), row.value(Metric::E2e, Statistic::Mean).unwrap());
    // Its "ITL" is the sum of the gaps by their number, and its "TPOT" all
    // up to the last token by the tokens.
    close(mean(|r| r.gaps_sum_ms) / 15.0, row.value(Metric::Itl, Statistic::Mean).unwrap());
    let to_last = |r: &ifm_core::sheet::SheetRequest| Some(r.ttft_ms? + r.gaps_sum_ms?);
    close(mean(to_last) / 16.0, row.value(Metric::Tpot, Statistic::Mean).unwrap());
    let mut requests: Vec<_> = row.requests.iter().collect();
    requests.sort_by(|a, b| a.start_s.unwrap().total_cmp(&b.start_s.unwrap()));
    for (request, seen) in requests.iter().zip(&truth) {
        assert_eq!(request.output_tokens, Some(seen.output_tokens));
        let late = request.ttft_ms.unwrap() - seen.ttft_ms;
        assert!((-0.5..30.0).contains(&late), "{late}");
    }
    let sum = |of: fn(&ifm_core::sheet::SheetRequest) -> Option<u64>| {
        row.requests.iter().filter_map(of).sum::<u64>()
    };
    assert_eq!(sum(|r| r.input_tokens), truth.iter().map(|seen| seen.input_tokens).sum::<u64>());
}

#[test]
fn definitions_are_those_of_the_tool() {
    let file = import("guidellm-0.8.1/result.json").unwrap();
    let row = one_row(&file);
    let of =
        |quantity: Metric, statistic| row.figure(quantity, statistic).unwrap().definition.clone();
    assert_eq!(of(Metric::Ttft, Statistic::Mean), Definition::Same);
    for (quantity, statistic, word) in [
        (Metric::Ttft, Statistic::Median, "nearest rank"),
        (Metric::Itl, Statistic::Mean, "weighted by tokens"),
        (Metric::Tpot, Statistic::Mean, "time to the first token is in it"),
        (Metric::E2e, Statistic::Mean, "end of the response"),
        (Metric::OutputRate, Statistic::Median, "rate over time"),
    ] {
        match of(quantity, statistic) {
            Definition::Different(text) => assert!(text.contains(word), "{quantity:?}: {text}"),
            other => panic!("{quantity:?}: {other:?}"),
        }
    }
    // What no figure holds is still there.
    assert!(row.unknown["scheduler_state"]["num_processes"] == 4);
    assert!(file.parts[0].unknown.contains_key("config"));
}

#[test]
fn latency_and_throughput_tables_of_one_run_become_one_row_per_benchmark() {
    let sheet = import("guidellm-0.4/two-models.md").unwrap();
    assert_eq!(sheet.parts.len(), 2);
    assert_eq!(sheet.parts[0].headings, ["Performance Results for Base Model"]);
    assert_eq!(sheet.parts[1].headings, ["Performance results for compressed model"]);
    let rows: Vec<&Row> = sheet.parts.iter().flat_map(|part| &part.rows).collect();
    assert_eq!(rows.len(), 20);
    // 8 latencies and 10 rates in each of two tables of 10 rows: 40 rows in all.
    assert!(rows.iter().all(|row| row.figures.len() == 18));
    let places: std::collections::BTreeSet<u32> = rows
        .iter()
        .flat_map(|row| {
            row.figures.iter().map(|figure| figure.place.clone().unwrap().line.unwrap())
        })
        .collect();
    assert_eq!(places.len(), 40);
    let last = rows[9];
    assert_eq!(last.factors.get(key::STRATEGY), Some("constant"));
    for (quantity, statistic, value, unit) in [
        (Metric::E2e, Statistic::Median, 20.4, Unit::S),
        (Metric::Itl, Statistic::Median, 39.6, Unit::Ms),
        (Metric::Tpot, Statistic::Percentile(95.0), 39.9, Unit::Ms),
        (Metric::RequestRate, Statistic::Median, 1.7, Unit::PerS),
        (Metric::InFlight, Statistic::Median, 34.0, Unit::Count),
        (Metric::OutputRate, Statistic::Mean, 734.0, Unit::PerS),
        (Metric::TotalRate, Statistic::Mean, 2250.6, Unit::PerS),
    ] {
        let figure = last.figure(quantity, statistic).unwrap();
        assert_eq!((figure.value, &figure.unit), (Some(value), &unit), "{quantity:?}");
    }
    let assumed = sheet.remarks.iter().filter(|remark| remark.kind == RemarkKind::Assumed);
    assert_eq!(assumed.count(), 2);
    assert!(LATENCIES.iter().all(|quantity| {
        *quantity == Metric::Ttfat || last.value(*quantity, Statistic::Median).is_some()
    }));
    assert_ne!(last.place, Place::default());
}

#[test]
fn several_rates_with_failures_in_one_file() {
    let file = import("guidellm-0.8.1-failures/result.json").unwrap();
    let csv = import("guidellm-0.8.1-failures/result.csv").unwrap();
    let console = import("guidellm-0.8.1-failures/console.txt").unwrap();
    for sheet in [&file, &csv, &console] {
        assert_eq!(sheet.parts.len(), 1);
        let rates: Vec<_> =
            benchmarks(sheet).iter().map(|row| row.factors.get(key::RATE).unwrap()).collect();
        assert_eq!(rates, ["5", "10"]);
        for row in benchmarks(sheet) {
            assert_eq!(row.factors.get(key::STRATEGY), Some("constant"));
            // 10240 in flight at most is a limit of a rate and no load.
            assert_eq!(row.factors.get(key::CONCURRENCY), None);
            assert_eq!(row.value(Metric::RequestsFailed, Statistic::Value), Some(3.0));
            assert_eq!(row.value(Metric::RequestsOk, Statistic::Value), Some(9.0));
        }
    }
    let row = &benchmarks(&file)[0];
    let failed: Vec<_> = row.requests.iter().filter(|request| request.error.is_some()).collect();
    assert_eq!((row.requests.len(), failed.len()), (12, 3));
    assert!(failed.iter().all(|request| request.e2e_ms.is_none() && request.ttft_ms.is_none()));
    assert!(failed[0].error.as_deref().unwrap().contains("503"));
}

#[test]
fn reasoning_separates_the_first_token_from_the_first_of_the_answer() {
    let csv = import("guidellm-0.8.1-reasoning/result.csv").unwrap();
    let console = import("guidellm-0.8.1-reasoning/console.txt").unwrap();
    for sheet in [&csv, &console] {
        for row in benchmarks(sheet) {
            let of = |quantity| row.value(quantity, Statistic::Mean).unwrap();
            assert!(of(Metric::Ttfat) > of(Metric::Ttft) + 30.0);
        }
    }
}
