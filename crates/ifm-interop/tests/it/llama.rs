//! `llama-bench` and `llama-batched-bench`: every way in which they write.

use super::import;
use ifm_core::Metric;
use ifm_core::sheet::{PartKind, Row, RowRole, Sheet, Statistic, StdKind, key};

fn rows(sheet: &Sheet) -> Vec<&Row> {
    sheet.parts.iter().flat_map(|part| &part.rows).collect()
}

fn test_of(row: &Row) -> (&str, Option<&str>, &str) {
    let factor = |name| row.factors.get(name);
    (
        factor(key::TEST).expect("a test"),
        factor(key::DEPTH_TOKENS),
        factor("n_threads").unwrap_or(""),
    )
}

#[test]
fn tests_and_settings_are_the_same_in_every_format() {
    let table = import("llama-bench-0c1e570/sweep.md").unwrap();
    let json = import("llama-bench-0c1e570/sweep.json").unwrap();
    let sql = import("llama-bench-0c1e570/sweep.sql").unwrap();
    let (table_rows, sql_rows) = (rows(&table), rows(&sql));
    let json_rows: Vec<&Row> =
        rows(&json).into_iter().filter(|row| row.role == RowRole::Summary).collect();
    assert_eq!(table_rows.len(), 20);
    for rows in [&json_rows, &sql_rows] {
        assert_eq!(rows.len(), 20);
        for (row, printed) in rows.iter().zip(&table_rows) {
            assert_eq!(test_of(row), test_of(printed));
            for factor in [key::MODEL, key::ENGINE, "backends", key::INPUT_TOKENS] {
                assert_eq!(row.factors.get(factor), printed.factors.get(factor), "{factor}");
            }
            // What is printed with two digits is the same model.
            for quantity in [Metric::Parameters, Metric::other("model_size")] {
                let (exact, rounded) = (
                    row.value(quantity, Statistic::Value).unwrap(),
                    printed.value(quantity, Statistic::Value).unwrap(),
                );
                assert!((exact / rounded - 1.0).abs() < 1e-3, "{exact} {rounded}");
            }
        }
    }
    assert_eq!(sql.source.tool_version.as_deref(), Some("0c1e570 (1)"));
    assert_eq!(table.parts[0].unknown["build"], "0c1e570 (1)");
    let last = table_rows[19];
    assert_eq!(last.value(Metric::TotalRate, Statistic::Mean), Some(151.73));
    assert_eq!(last.value(Metric::TotalRate, Statistic::Std(StdKind::Sample)), Some(56.01));
}

#[test]
fn samples_are_repeats_and_give_the_mean() {
    let json = import("llama-bench-0c1e570/sweep.json").unwrap();
    let rows = rows(&json);
    assert_eq!(rows.len(), 20 * 4);
    for group in rows.chunks(4) {
        let (mean, samples) = (group[0], &group[1..]);
        let quantity = [Metric::PrefillRate, Metric::DecodeRate, Metric::TotalRate]
            .into_iter()
            .find(|quantity| mean.figure(*quantity, Statistic::Mean).is_some())
            .unwrap();
        let rates: Vec<f64> =
            samples.iter().map(|row| row.value(quantity, Statistic::Value).unwrap()).collect();
        let average = rates.iter().sum::<f64>() / 3.0;
        let written = mean.value(quantity, Statistic::Mean).unwrap();
        assert!((average / written - 1.0).abs() < 1e-4, "{average} {written}");
        // The deviation is that of a sample: divided by one less than the number.
        let squares: f64 = rates.iter().map(|rate| (rate - average).powi(2)).sum();
        let deviation = mean.value(quantity, Statistic::Std(StdKind::Sample)).unwrap();
        assert!(((squares / 2.0).sqrt() - deviation).abs() < 2e-4 * written, "{deviation}");
        assert_eq!(samples[2].factors.get(key::REPEAT), Some("3"));
        assert_eq!(mean.value(quantity, Statistic::Count), Some(3.0));
    }
}

#[test]
fn real_files_of_llama_bench_have_the_same_tests() {
    let csv = import("llama-bench-0c1e570/small/run.csv").unwrap();
    let lines = import("llama-bench-0c1e570/small/run.jsonl").unwrap();
    let tests = |rows: &[Row]| -> Vec<String> {
        let means = rows.iter().filter(|row| row.factors.get(key::REPEAT).is_none());
        means.map(|row| row.factors.get(key::TEST).expect("a test").to_owned()).collect()
    };
    assert_eq!(tests(&csv.parts[0].rows), ["pp32", "tg8", "pp32", "tg8"]);
    assert_eq!(tests(&csv.parts[0].rows), tests(&lines.parts[0].rows));
    assert_eq!(lines.parts[0].rows.len(), 4 * (1 + 3));
    assert_eq!(csv.parts[0].rows[2].factors.get(key::DEPTH_TOKENS), Some("32"));
    assert_eq!(csv.source.tool_version.as_deref(), Some("0c1e570 (1)"));
    for row in &csv.parts[0].rows {
        assert_eq!(row.factors.get("n_batch"), Some("2048"));
        assert_eq!(row.value(Metric::Parameters, Statistic::Value), Some(26_483_200.0));
    }
}

#[test]
fn a_batch_of_llama_is_the_same_as_table_and_lines() {
    let table = import("llama-batched-bench-0c1e570/table.txt").unwrap();
    let lines = import("llama-batched-bench-0c1e570/run.jsonl").unwrap();
    for sheet in [&table, &lines] {
        let rows = &sheet.parts[0].rows;
        assert_eq!(sheet.parts[0].kind, PartKind::StaticBatch);
        let batches: Vec<_> = rows.iter().map(|row| row.factors.get(key::BATCH_SIZE)).collect();
        assert_eq!(batches, [Some("1"), Some("2"), Some("4")]);
        for row in rows {
            let number = |factor| row.factors.number(factor).unwrap();
            let tokens = number(key::BATCH_SIZE) * number(key::OUTPUT_TOKENS);
            let value = |quantity| row.value(quantity, Statistic::Value).unwrap();
            let generation = value(Metric::other("generation_time"));
            let rate = value(Metric::DecodeRate);
            assert!((tokens / (generation / 1e3) / rate - 1.0).abs() < 0.04, "{rate}");
        }
    }
    assert_eq!(lines.parts[0].rows[0].factors.get("is_pp_shared"), Some("1"));
}
