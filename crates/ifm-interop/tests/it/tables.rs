//! Result tables as people write them: marked cells, tests of llama-bench as heads, captions, and the
//! same table as Markdown, CSV and HTML; flat JSON; and tables that are no results.

use super::import_text;
use ifm_core::Metric;
use ifm_core::Sheet;
use ifm_core::sheet::{PartKind, RemarkKind, Row, Statistic, Unit, key};
use ifm_interop::ImportError;

fn rows(name: &str, text: &str) -> Vec<Row> {
    let sheet = import_text(name, text).unwrap_or_else(|error| panic!("{error}: {text}"));
    sheet.parts.into_iter().flat_map(|part| part.rows).collect()
}

/// Values of a quantity and the factors of their rows.
fn values(rows: &[Row], quantity: Metric) -> Vec<f64> {
    let figures = rows.iter().flat_map(|row| &row.figures);
    figures.filter(|f| f.quantity == quantity).filter_map(|f| f.value).collect()
}

fn refused(name: &str, text: &str) -> ImportError {
    match import_text(name, text) {
        Err(error) => error,
        Ok(Sheet { parts, .. }) => panic!("{text}: {parts:?}"),
    }
}

#[test]
fn marks_next_to_numbers_cost_no_number() {
    let cells = [
        "86.1",
        "**86.1** ⭐",
        "86.1 🏆",
        "🥇 86.1",
        "86.1 ✅",
        "86.1 ↑",
        "86.1†",
        "86.1<sup>1</sup>",
        "<u>86.1</u>",
        "_86.1_",
        "86.1 (best)",
        "86.1 (+5%)",
        "**86.1** (1.2×)",
        "86.1 [1]",
    ];
    let mut text = "# Speed\n\n| Engine | Output tok/s |\n|---|---|\n".to_owned();
    for (at, cell) in cells.iter().enumerate() {
        text.push_str(&format!("| e{at} | {cell} |\n"));
    }
    text.push_str("| range | 330–359 |\n| scaled | 1.2k |\n| bound | > 90 |\n| factor | 1.4x |\n");
    let sheet = import_text("marked.md", &text).unwrap();
    let rows = &sheet.parts[0].rows;
    for row in &rows[..cells.len()] {
        assert_eq!(row.value(Metric::OutputRate, Statistic::Value), Some(86.1), "{row:?}");
    }
    let range = &rows[cells.len()];
    assert_eq!(range.value(Metric::OutputRate, Statistic::Min), Some(330.0));
    assert_eq!(range.value(Metric::OutputRate, Statistic::Max), Some(359.0));
    let scaled = rows[cells.len() + 1].figure(Metric::OutputRate, Statistic::Value).unwrap();
    assert_eq!((scaled.value, scaled.rounding()), (Some(1200.0), Some(50.0)));
    assert!(rows[cells.len() + 2].figures.is_empty() && rows[cells.len() + 3].figures.is_empty());
    let told = |word: &str| sheet.remarks.iter().any(|remark| remark.text.contains(word));
    assert!(told("`> 90` is a bound") && told("`1.4x` is not a number"), "{:?}", sheet.remarks);
    assert!(told("is a range") && told("marks next to numbers"), "{:?}", sheet.remarks);
}

#[test]
fn warns_once_where_many_cells_of_a_column_are_no_numbers() {
    let mut text = "| Users | A tok/s | TTFT (ms) |\n|---|---|---|\n".to_owned();
    for users in 1..=12 {
        let ttft = if users <= 8 { "50 or so".to_owned() } else { users.to_string() };
        text.push_str(&format!("| {users} | 5 | {ttft} |\n"));
    }
    let sheet = import_text("x.md", &text).unwrap();
    let missing: Vec<&str> = sheet
        .remarks
        .iter()
        .filter(|remark| remark.kind == RemarkKind::Missing)
        .map(|remark| remark.text.as_str())
        .collect();
    assert_eq!(missing.len(), 1, "{missing:?}");
    assert!(missing[0].contains("TTFT (ms): 8 of 12 cells are not numbers"), "{missing:?}");
}

#[test]
fn decimal_commas_are_read_where_the_table_shows_them() {
    let found = rows("x.csv", "Users;TTFT (ms);Output tok/s\n1;86,1;1.234,5\n8;1.250;640,5\n");
    assert_eq!(values(&found, Metric::Ttft), [86.1, 1250.0]);
    assert_eq!(values(&found, Metric::OutputRate), [1234.5, 640.5]);
}

#[test]
fn heads_and_rows_may_be_tests_of_llama_bench() {
    let sheet = import_text(
        "plain.md",
        "# Results\n\n| model | size | params | pp512 (t/s) | tg128 | pp8192 @ d4096 |\n|---|---|---|---|---|---|\n\
         | model-7B Q4_K_M | 3.80 GiB | 6.74B | 1,180.5 ± 7.3 | **51.4** ⭐ | OOM |\n\
         | model-7B Q8_0 | 7.2 GiB | 6.74B | 1122.0 ± 2 | 38.9 | 612.5 |\n",
    )
    .unwrap();
    assert_eq!(sheet.parts[0].kind, PartKind::Engine);
    let rows = &sheet.parts[0].rows;
    assert_eq!(rows.len(), 5);
    assert_eq!(rows[0].value(Metric::PrefillRate, Statistic::Mean), Some(1180.5));
    let deviation = rows[0].figures.iter().find(|f| matches!(f.statistic, Statistic::Std(_)));
    assert_eq!(deviation.and_then(|figure| figure.value), Some(7.3));
    assert_eq!(rows[0].factors.get(key::INPUT_TOKENS), Some("512"));
    assert_eq!(rows[0].factors.get(key::MODEL), Some("model-7B Q4_K_M"));
    let params = rows[0].figure(Metric::Parameters, Statistic::Value).unwrap();
    assert_eq!((params.value, &params.unit), (Some(6.74), &Unit::Billion));
    assert_eq!(rows[1].value(Metric::DecodeRate, Statistic::Value), Some(51.4));
    assert_eq!(rows[1].factors.get(key::OUTPUT_TOKENS), Some("128"));
    assert_eq!(rows[4].value(Metric::PrefillRate, Statistic::Value), Some(612.5));
    assert_eq!(rows[4].factors.get(key::DEPTH_TOKENS), Some("4096"));

    let turned = self::rows(
        "turned.md",
        "| Model | Metric | Card A | Card B | Δ |\n|---|---|---|---|---|\n\
         | m-7B | pp512 | 1,074 | 1,598 ✅ | -33% |\n| m-7B | tg128 | 47.3 | 55.9 | -15% |\n",
    );
    assert_eq!(values(&turned, Metric::PrefillRate), [1074.0, 1598.0]);
    assert_eq!(values(&turned, Metric::DecodeRate), [47.3, 55.9]);
    assert_eq!(turned[1].factors.get(key::CONDITION), Some("Card B"));
    let single =
        self::rows("s.md", "| test | speed (t/s) |\n|---|---|\n| pp512 | 10 |\n| tg128 | 5 |\n");
    assert_eq!(values(&single, Metric::DecodeRate), [5.0]);
}

#[test]
fn a_caption_names_the_quantity_of_a_table() {
    let gpus = rows(
        "gpus.md",
        "# Machines\n\nAverage speed (tokens/s) of generating 1024 tokens. Higher is better.\n\n\
         | GPU | 8B Q4_K_M | 8B F16 | 70B Q4_K_M |\n|---|---|---|---|\n\
         | Card A 24GB | 120.5 | 50.2 | OOM |\n| Card B 48GB | 118.0 | **44.9** | 16.8 |\n",
    );
    assert_eq!(values(&gpus, Metric::DecodeRate), [120.5, 50.2, 118.0, 44.9, 16.8]);
    let last = gpus.last().unwrap();
    assert_eq!(last.value(Metric::DecodeRate, Statistic::Mean), Some(16.8));
    assert_eq!(last.factors.get(key::GPU), Some("Card B 48GB"));
    assert_eq!(last.factors.get(key::MODEL), Some("70B Q4_K_M"));
    assert_eq!(last.factors.get(key::QUANTIZATION), Some("Q4_K_M"));
    assert_eq!(last.factors.get(key::OUTPUT_TOKENS), Some("1024"));

    let statistics = rows(
        "board.md",
        "## Time to First Token (seconds)\n\n### 70B Models\n\n<img src=\"x.jpg\">\n\n\
         | Framework | Model | Median | P95 |\n|---|---|---|---|\n\
         | a | org/m-70b | 0.21 | 0.36 |\n| b | org/m-70b | - | 1.1 |\n",
    );
    assert_eq!(statistics.len(), 2);
    assert_eq!(statistics[0].value(Metric::Ttft, Statistic::Median), Some(210.0));
    assert_eq!(statistics[1].value(Metric::Ttft, Statistic::Percentile(95.0)), Some(1100.0));
    assert_eq!(statistics[1].figures.len(), 1);

    let engines = rows(
        "engines.md",
        "### m-7b\n\n**Performance Metrics:** (unit: Tokens / second)\n\n\
         | Engine | float16 | int8 |\n|---|---|---|\n| [vllm](/x/) | 84.9 ± 0.3 | - |\n| x | 22.4 | 10.5 |\n",
    );
    let rate = Metric::other("token throughput");
    assert_eq!(engines[0].value(rate, Statistic::Mean), Some(84.9));
    assert_eq!(engines[0].factors.get(key::ENGINE), Some("vllm"));
    assert_eq!(engines.len(), 3);
}

#[test]
fn a_table_is_the_same_as_markdown_csv_and_html() {
    let figures = |name: &str, text: &str| -> Vec<String> {
        let sheet = import_text(name, text).unwrap_or_else(|error| panic!("{error}: {text}"));
        assert!(sheet.parts.iter().all(|part| part.kind == PartKind::Serving), "{text}");
        let found: Vec<Row> = sheet.parts.into_iter().flat_map(|part| part.rows).collect();
        let one = |row: &Row| {
            let figures = row.figures.iter().map(|f| {
                format!(
                    "{:?} {:?} {:?} {:?} {:?}",
                    f.quantity, f.statistic, f.value, f.unit, f.printed
                )
            });
            format!("{:?} {:?}", row.factors, figures.collect::<Vec<_>>())
        };
        found.iter().map(one).collect()
    };
    let cells = [
        ["Concurrency", "Output tok/s", "TTFT p50 (ms)", "TPOT (ms)"],
        ["1", "95.2", "41 ± 2", "10.4"],
        ["8", "**640.5** ⭐", "88", "N/A"],
    ];
    let lines = |open: &str, between: &str, close: &str| -> Vec<String> {
        cells.iter().map(|row| format!("{open}{}{close}", row.join(between))).collect()
    };
    let mut markdown = lines("| ", " | ", " |");
    markdown.insert(1, "|---|---|---|---|".to_owned());
    let expected = figures("a.md", &format!("# r\n\n{}\n", markdown.join("\n")));
    assert_eq!(expected.len(), 2);
    let html =
        format!("<table>\n{}\n</table>", lines("<tr><td>", "</td><td>", "</td></tr>").join("\n"));
    let thead = format!(
        "<table><thead><tr><th>{}</th></tr></thead><tbody>{}</tbody></table>",
        cells[0].join("</th><th>"),
        lines("<tr><td>", "</td><td>", "</td></tr>")[1..].concat()
    );
    let page = format!("<!DOCTYPE html>\n<html><body><h1>r</h1><p>x</p>{thead}</body></html>");
    for (name, text) in [
        ("a.csv", lines("", ",", "").join("\n")),
        ("a.csv", format!("\u{feff}{}\r\n", lines("", ";", "").join("\r\n"))),
        ("a.tsv", format!("# made by x\n{}\n", lines("", "\t", "").join("\n"))),
        ("a.md", format!("# r\n\n{html}\n\nafter")),
        ("b.md", format!("# r\n\n<div align=\"center\">{thead}</div>\n")),
        ("a.html", page),
    ] {
        assert_eq!(figures(name, &text), expected, "{text}");
    }
}

#[test]
fn spans_of_html_are_heads_and_cells_of_each_column() {
    let found = rows(
        "s.md",
        "# r\n\n<table>\n<thead>\n<tr><th rowspan=2>Users</th><th colspan=\"2\">TTFT (ms)</th></tr>\n\
         <tr><th>p50</th><th>p99</th></tr>\n</thead>\n<tr><td>1</td><td><b>41</b></td><td>&lt; 90</td></tr>\n\
         <tr><td>8</td><td>88&nbsp;<sup>2</sup></td><td>190</td></tr>\n</table>\n",
    );
    assert_eq!(values(&found, Metric::Ttft), [41.0, 88.0, 190.0]);
    assert_eq!(found[1].value(Metric::Ttft, Statistic::Percentile(99.0)), Some(190.0));
    assert_eq!(found[1].factors.get(key::CONCURRENCY), Some("8"));
}

const FLAT: &str = r#"{
  "model_id": "org/model-7b",
  "max_concurrency": 16,
  "request_rate": "inf",
  "duration": 48.2,
  "completed": 160,
  "total_output_tokens": 20480,
  "request_throughput": 3.32,
  "output_throughput": 424.9,
  "median_ttft": 0.35,
  "p99_tpot": 0.062,
  "median_tpot": 0.031
}
"#;

#[test]
fn flat_json_is_read_by_its_keys_in_every_layout() {
    let one_line = FLAT.replace('\n', "");
    let python = FLAT.replace('"', "'").replace("16,", "16, 'x': None,");
    let yaml: String = FLAT
        .lines()
        .filter(|line| line.contains(':'))
        .map(|line| format!("{}\n", line.trim().trim_end_matches(',').replace('"', "")))
        .collect();
    for text in [
        FLAT,
        &one_line,
        &format!("{one_line}\n{one_line}\n"),
        &format!("{FLAT}{FLAT}"),
        &python,
        &yaml,
    ] {
        let found = rows("result", text);
        let row = found.last().unwrap();
        assert_eq!(row.value(Metric::Ttft, Statistic::Median), Some(350.0), "{text}");
        assert_eq!(row.value(Metric::Tpot, Statistic::Percentile(99.0)), Some(62.0), "{text}");
        assert_eq!(row.value(Metric::Duration, Statistic::Value), Some(48200.0), "{text}");
        assert_eq!(row.factors.get(key::CONCURRENCY), Some("16"), "{text}");
        assert_eq!(row.factors.get(key::MODEL), Some("org/model-7b"), "{text}");
    }
}

#[test]
fn json_and_tables_that_are_not_known_are_no_prose() {
    let odd = "{\n  \"odd\": 48.2,\n  \"note\": \"the TTFT was 5 ms with 160 requests\"\n}\n";
    for text in [odd, &odd.replace('\n', ""), "[\n  {\"odd\": 1, \"latency of\": \"5 ms\"}\n]\n"] {
        let hints = refused("odd.json", text).hints().join("; ");
        assert!(hints.contains("its columns: ") && hints.contains("--map"), "{text}: {hints}");
    }
    let cut = refused("cut.json", "{\n  \"duration\": 48.2,\n  \"TTFT\": 5, \"completed\": 160,\n");
    assert!(cut.to_string().contains("breaks on line"), "{cut}");
    let python = "{'odd': 48.2, 'note': 'the TTFT was 5 ms'}";
    assert!(refused("x.py", python).to_string().contains("no known results"));
    let yaml = "run_name: x\nodd_value: 48.2\nnote_text: TTFT 5 of 160\n";
    assert!(refused("x.yaml", yaml).to_string().contains("no known results"));
    let csv = refused("x.csv", "name,concurrency,first_tok\na,4,52\nb,8,60\n").hints().join("; ");
    assert!(csv.contains("--map \"users=concurrency,…\""), "{csv}");
}

#[test]
fn a_log_that_begins_with_json_keeps_its_blocks() {
    let console = std::fs::read_to_string(super::data("vllm-serve-0.33/console.txt")).unwrap();
    let found = rows("log.txt", &format!("{{\"event\": \"start\", \"seed\": 1}}\n{console}"));
    assert!(!values(&found, Metric::Ttft).is_empty());
}

#[test]
fn tables_that_are_no_results_become_none() {
    for text in [
        // Data sheets.
        "# GPUs\n\n| GPU | Memory (GB) | Bandwidth (GB/s) | TDP (W) |\n|---|---|---|---|\n| A | 24 | 936 | 350 |\n",
        "# GPUs\n\n| GPU | FP16 (TFLOPS) | Memory (GB) |\n|---|---|---|\n| A | 142 | 24 |\n| B | 990 | 80 |\n",
        "# Memory (GB) by format\n\n| Model | FP16 | Q4 |\n|---|---|---|\n| 8B | 16 | 5 |\n",
        "name,memory (GB),power (W)\na,24,350\nb,80,700\n",
        // Prices.
        "# Price ($ per million tokens)\n\n| Model | Input | Output |\n|---|---|---|\n| 8B | 0.1 | 0.3 |\n| 70B | 0.6 | 0.8 |\n",
        "provider;cost per million tokens ($)\na;0,20\nb;0,35\n",
        // Features.
        "| Engine | float16 | int8 |\n|---|---|---|\n| a | ✅ | ❌ |\n| b | ✅ | ⚠️ |\n",
        // Parameters.
        "| Parameter | Value |\n|---|---|\n| Concurrency | 8 |\n| Duration | 60 s |\n| Input tokens | 512 |\n",
        "| Model | Layers | Parameters | Context |\n|---|---|---|---|\n| 8B | 32 | 8.0B | 8192 |\n",
        // Targets.
        "## Latency targets\n\n| Use | TTFT (ms) | TPOT (ms) |\n|---|---|---|\n| chat | 500 | 50 |\n",
        "| SLO | TTFT P99 | TPOT P99 |\n|---|---|---|\n| chat | 500 ms | 50 ms |\n",
        // Scores.
        "# Accuracy (%) of generating answers\n\n| Model | MMLU | GSM8K |\n|---|---|---|\n| 8B | 66.6 | 79.6 |\n",
        "a,b,c\n1,2,3\n4,5,6\n",
        "<html><body><h1>Specs</h1><table><tr><th>GPU</th><th>Memory (GB)</th></tr><tr><td>A</td><td>24</td></tr></table></body></html>",
    ] {
        let found = import_text("x", text);
        let figures = found.map_or(0, |sheet| {
            let rows = sheet.parts.iter().flat_map(|part| &part.rows);
            rows.flat_map(|row| &row.figures).filter(|figure| figure.value.is_some()).count()
        });
        assert_eq!(figures, 0, "{text}");
    }
}
