//! `llama-bench` and `llama-batched-bench`: every way in which they write.

use super::{import, import_text};
use ifm_core::sheet::{Quantity, RemarkKind, Row, RowRole, Sheet, Statistic, StdKind, key};

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
            for quantity in [Quantity::Parameters, Quantity::Other("model_size".to_owned())] {
                let (exact, rounded) = (
                    row.value(&quantity, Statistic::Value).unwrap(),
                    printed.value(&quantity, Statistic::Value).unwrap(),
                );
                assert!((exact / rounded - 1.0).abs() < 1e-3, "{exact} {rounded}");
            }
        }
    }
    assert_eq!(sql.source.tool_version.as_deref(), Some("0c1e570 (1)"));
    assert_eq!(table.parts[0].unknown["build"], "0c1e570 (1)");
    let last = table_rows[19];
    assert_eq!(last.value(&Quantity::TotalRate, Statistic::Mean), Some(151.73));
    assert_eq!(last.value(&Quantity::TotalRate, Statistic::Std(StdKind::Sample)), Some(56.01));
}

#[test]
fn samples_are_repeats_and_give_the_mean() {
    let json = import("llama-bench-0c1e570/sweep.json").unwrap();
    let rows = rows(&json);
    assert_eq!(rows.len(), 20 * 4);
    for group in rows.chunks(4) {
        let (mean, samples) = (group[0], &group[1..]);
        let quantity = [Quantity::PrefillRate, Quantity::DecodeRate, Quantity::TotalRate]
            .into_iter()
            .find(|quantity| mean.figure(quantity, Statistic::Mean).is_some())
            .unwrap();
        let rates: Vec<f64> =
            samples.iter().map(|row| row.value(&quantity, Statistic::Value).unwrap()).collect();
        let average = rates.iter().sum::<f64>() / 3.0;
        let written = mean.value(&quantity, Statistic::Mean).unwrap();
        assert!((average / written - 1.0).abs() < 1e-4, "{average} {written}");
        // The deviation is that of a sample: divided by one less than the number.
        let squares: f64 = rates.iter().map(|rate| (rate - average).powi(2)).sum();
        let deviation = mean.value(&quantity, Statistic::Std(StdKind::Sample)).unwrap();
        assert!(((squares / 2.0).sqrt() - deviation).abs() < 2e-4 * written, "{deviation}");
        assert_eq!(samples[2].factors.get(key::REPEAT), Some("3"));
        assert_eq!(mean.value(&quantity, Statistic::Count), Some(3.0));
    }
}

#[test]
fn columns_of_forks_and_new_fields_survive() {
    let text = "| model | size | params | backend | ngl | moe_cache | test | t/s |\n\
        | --- | ---: | ---: | --- | --: | --: | ---: | ---: |\n\
        | qwen 30B | 17.28 GiB | 30.53 B | ROCm | 99 | 8 | pp 512 @ d1024 | 1,0 |\n\
        | qwen 30B | 17.28 GiB | 30.53 B | ROCm | 99 | 8 | tg128 | 88.10 +/- 0.20 |\n\
        | qwen 30B | 17.28 GiB |\n";
    let sheet = import_text("notes.md", text).unwrap();
    let rows = rows(&sheet);
    assert_eq!(rows.len(), 1);
    assert_eq!(rows[0].factors.get("moe_cache"), Some("8"));
    assert_eq!(rows[0].factors.get("n_gpu_layers"), Some("99"));
    assert_eq!(rows[0].value(&Quantity::DecodeRate, Statistic::Mean), Some(88.1));
    let lines: Vec<_> = sheet.remarks.iter().map(|remark| remark.place.line).collect();
    assert_eq!(lines, [Some(3), Some(5)]);
    let json = r#"{"build_commit": "b", "model_type": "m", "n_prompt": 0, "n_gen": 128,
        "avg_ts": 10.5, "avg_ns": 5, "n_gen_warmup": 3, "power": {"w": 1}}"#;
    let sheet = import_text("x.jsonl", json).unwrap();
    let row = &sheet.parts[0].rows[0];
    assert_eq!(row.unknown["n_gen_warmup"], 3);
    assert_eq!(row.unknown["power"]["w"], 1);
}

#[test]
fn a_damaged_statement_or_record_costs_no_other() {
    let insert = "INSERT INTO llama_bench (build_commit, n_prompt, n_gen, avg_ts) VALUES \
        ('b', '512', '0', '99.5');\n";
    let sheet = import_text("x.sql", &format!("{insert}{}\n{insert}", &insert[..70])).unwrap();
    assert_eq!(sheet.parts[0].rows.len(), 2);
    assert_eq!(sheet.remarks[0].place.line, Some(2));
    let head = "build_commit,model_type,n_prompt,n_gen,avg_ts\n";
    let record = "\"b\",\"llama \"\"x\"\"\",\"512\",\"0\",\"99.5\"\n";
    let sheet = import_text("x.csv", &format!("{head}{record}\"b\",\"m\"\n{record}")).unwrap();
    let rows = &sheet.parts[0].rows;
    assert_eq!(rows.len(), 2);
    assert_eq!(rows[0].factors.get(key::MODEL), Some("llama \"x\""));
    assert_eq!(rows[1].value(&Quantity::PrefillRate, Statistic::Mean), Some(99.5));
    assert_eq!(
        (sheet.remarks[0].kind, sheet.remarks[0].place.line),
        (RemarkKind::Skipped, Some(3))
    );
}
