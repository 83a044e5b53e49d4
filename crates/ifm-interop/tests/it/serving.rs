//! `vllm bench serve` and SGLang's `bench_serving`: the file, the printed block and the server's
//! own log of one run.

use super::{compare, data, import, import_text, one_row};
use ifm_core::Metric;
use ifm_core::sheet::{Definition, PartKind, RemarkKind, Row, SheetRequest, Statistic, key};

/// Folder, file, and the tool that is detected.
const RUNS: &[(&str, &str, &str)] = &[
    ("vllm-serve-0.33", "result.json", "vllm bench serve"),
    ("sglang-serve-0.5.23", "result.jsonl", "sglang.bench_serving"),
    ("sglang-serve-rust-0.5.23", "result.jsonl", "sglang.bench_serving, Rust client"),
];

fn close(a: f64, b: f64, relative: f64) {
    assert!((a - b).abs() <= relative * b.abs(), "{a} {b}");
}

fn values(row: &Row, of: fn(&SheetRequest) -> Option<f64>) -> Vec<f64> {
    row.requests.iter().filter_map(of).collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

#[test]
fn file_and_console_of_one_run_agree() {
    for (folder, file, tool) in RUNS {
        let sheet = import(&format!("{folder}/{file}")).unwrap();
        assert_eq!(sheet.source.tool.as_deref(), Some(*tool));
        let [exact] = sheet.parts[0].rows.as_slice() else { panic!("{folder}: one row") };
        let console = import(&format!("{folder}/console.txt")).unwrap();
        assert_eq!(console.parts[0].kind, PartKind::Serving);
        let [printed] = console.parts[0].rows.as_slice() else { panic!("{folder}: one block") };
        let compared = compare(printed, exact);
        assert!(compared >= 25, "{folder}: {compared}");
        for figure in &printed.figures {
            let same = exact.figure(figure.quantity, figure.statistic);
            assert!(same.is_none_or(|same| same.definition == figure.definition), "{figure:?}");
        }
        for factor in [key::CONCURRENCY, key::RATE, key::ENGINE] {
            assert_eq!(exact.factors.get(factor), printed.factors.get(factor), "{folder} {factor}");
        }
        assert_eq!(exact.factors.get(key::RATE), Some("inf"));
        assert_eq!(exact.factors.get(key::CONCURRENCY), Some("4"));
    }
}

#[test]
fn what_was_set_is_read_from_the_lines_before_a_block() {
    let console = import("vllm-serve-0.33/console.txt").unwrap();
    let factors = &console.parts[0].rows[0].factors;
    for (factor, value) in [
        (key::MODEL, "truth-model"),
        (key::WORKLOAD, "random"),
        (key::INPUT_TOKENS, "32"),
        (key::OUTPUT_TOKENS, "16"),
        (key::REQUESTS, "12"),
    ] {
        assert_eq!(factors.get(factor), Some(value), "{factor}");
    }
}

#[test]
fn the_times_of_the_requests_give_the_means_of_the_file() {
    for (folder, file, _) in RUNS {
        let sheet = import(&format!("{folder}/{file}")).unwrap();
        let row = &sheet.parts[0].rows[0];
        assert_eq!(row.requests.len(), 12);
        let written = |quantity| row.value(quantity, Statistic::Mean).unwrap();
        close(mean(&values(row, |r| r.ttft_ms)), written(Metric::Ttft), 1e-9);
        let gaps: f64 = values(row, |r| r.gaps.map(f64::from)).iter().sum();
        let sum: f64 = values(row, |r| r.gaps_sum_ms).iter().sum();
        close(sum / gaps, written(Metric::Itl), 1e-9);
        let tokens: u64 = row.requests.iter().filter_map(|r| r.output_tokens).sum();
        assert_eq!(tokens, 192);
        let e2e = values(row, |r| r.e2e_ms);
        match folder.starts_with("vllm") {
            true => close(mean(&e2e), written(Metric::E2e), 1e-9),
            // SGLang's ends with the last line of the stream, of which the arrays say nothing.
            false => {
                assert!(e2e.is_empty());
                let last = mean(&values(row, |r| Some(r.ttft_ms? + r.gaps_sum_ms?)));
                assert!((0.0..1.0).contains(&(written(Metric::E2e) - last)));
            }
        }
    }
}

/// Milliseconds from the arrival of a request to its first and last token, and its tokens, by the
/// server's own log; the requests of the warm-up left out.
fn truth(folder: &str, requests: usize) -> Vec<(f64, f64, u64)> {
    let log = std::fs::read_to_string(data(&format!("{folder}/truth.jsonl"))).expect("a log");
    let parse = |line| serde_json::from_str(line).expect("a line of the log");
    let lines: Vec<serde_json::Value> = log.lines().skip(1).map(parse).collect();
    let run = &lines[lines.len() - requests..];
    run.iter()
        .map(|request| {
            let tokens = request["tok_rel_ns"].as_array().expect("stamps");
            let ms = |at: usize| tokens[at].as_f64().expect("a stamp") / 1e6;
            (ms(0), ms(tokens.len() - 1), tokens.len() as u64)
        })
        .collect()
}

#[test]
fn the_tools_are_later_than_the_server_and_by_what_is_said() {
    for (folder, file, _) in RUNS {
        let sheet = import(&format!("{folder}/{file}")).unwrap();
        let row = &sheet.parts[0].rows[0];
        let truth = truth(folder, 12);
        let tokens: u64 = truth.iter().map(|(_, _, tokens)| tokens).sum();
        assert_eq!(row.value(Metric::OutputTokens, Statistic::Value), Some(tokens as f64));
        // From before the connection is opened to the tool's reading: later, and not by much.
        let first = mean(&truth.iter().map(|(first, _, _)| *first).collect::<Vec<_>>());
        let late = row.value(Metric::Ttft, Statistic::Mean).unwrap() - first;
        assert!((0.0..15.0).contains(&late), "{folder}: TTFT {late} ms late");
        let ttft = row.figure(Metric::Ttft, Statistic::Mean).unwrap();
        // Only the client that keeps its connections measures what we call TTFT.
        let kept = folder.contains("rust");
        assert_eq!(ttft.definition == Definition::Same, kept, "{folder}");
        assert!(!kept || late < 2.0, "{folder}: {late}");
        // What lies between first and last token is the server's, whoever measures.
        let decode = mean(&truth.iter().map(|(first, last, _)| last - first).collect::<Vec<_>>());
        let gaps = mean(&values(row, |r| r.gaps_sum_ms));
        assert!((gaps - decode).abs() < 6.0, "{folder}: {gaps} {decode}");
    }
}

#[test]
fn unknown_fields_survive_and_texts_are_told_as_lost() {
    let sheet = import("vllm-serve-0.33/result.json").unwrap();
    let row = &sheet.parts[0].rows[0];
    assert_eq!(row.unknown.get("burstiness"), Some(&serde_json::json!(1.0)));
    assert_eq!(row.unknown.get("endpoint_type"), Some(&serde_json::json!("openai-chat")));
    assert!(!row.unknown.contains_key("itls"));
    let lost = sheet.remarks.iter().find(|remark| remark.kind == RemarkKind::Lost).unwrap();
    assert_eq!(lost.place.pointer.as_deref(), Some("/generated_texts"));
}

#[test]
fn a_damaged_line_costs_no_other() {
    let good = std::fs::read_to_string(data("sglang-serve-0.5.23/result.jsonl")).unwrap();
    let line = good.trim();
    let broken = &line[..line.find("\"ttfts\"").unwrap() + 40];
    let sheet = import_text("x.jsonl", &format!("{line}\n{broken}\n{line}\n")).unwrap();
    let rows = &sheet.parts[0].rows;
    assert_eq!(rows.len(), 3);
    assert_eq!(rows[0].figures, rows[2].figures);
    // Content before the damage is kept.
    assert_eq!(rows[1].figures[..20], rows[0].figures[..20]);
    let skipped: Vec<_> = sheet.remarks.iter().filter(|r| r.kind == RemarkKind::Skipped).collect();
    assert_eq!(skipped.len(), 1);
    assert!((2..=3).contains(&skipped[0].place.line.unwrap()), "{skipped:?}");
}

#[test]
fn sorted_fields_and_long_lists_in_front_are_recognised_and_folded() {
    // 4 MB: far more than what is looked at to recognise a file.
    let requests = 2_000;
    let list = |element: &str| vec![element; requests].join(", ");
    let gaps = format!("[{}]", vec!["0.010000000000000002"; 100].join(", "));
    let text = format!(
        "{{\"backend\": \"openai\", \"burstiness\": 1.0, \"completed\": {requests}, \
         \"endpoint_type\": \"openai\", \"errors\": [{}], \"itls\": [{}], \"mean_ttft_ms\": 50.0, \
         \"model_id\": \"m\", \"ttfts\": [{}]}}",
        list("\"\""),
        list(&gaps),
        list("0.05")
    );
    let sheet = import_text("detailed.json", &text).unwrap();
    let row = &sheet.parts[0].rows[0];
    assert_eq!(sheet.source.bytes, text.len() as u64);
    assert_eq!((row.requests.len(), row.factors.get(key::MODEL)), (requests, Some("m")));
    let last = row.requests.last().unwrap();
    assert_eq!(last.gaps, Some(100));
    close(last.gaps_sum_ms.unwrap(), 1000.0, 1e-9);
    close(last.e2e_ms.unwrap(), 1050.0, 1e-9);
}

#[test]
fn real_runs_with_failures_two_tokens_a_piece_and_no_counts() {
    for (folder, file) in [
        ("vllm-serve-0.33-failures", "result.json"),
        ("sglang-serve-0.5.23-failures", "result.jsonl"),
    ] {
        let sheet = import(&format!("{folder}/{file}")).unwrap();
        let row = &sheet.parts[0].rows[0];
        let value = |quantity| row.value(quantity, Statistic::Value);
        // The server cut two of sixteen answers and refused two.
        let log = std::fs::read_to_string(data(&format!("{folder}/truth.jsonl"))).unwrap();
        let failed = log.lines().filter(|line| !line.contains("\"did\": \"ok\"")).count();
        assert_eq!(failed, 4);
        assert_eq!(row.requests.len(), 16);
        assert_eq!(value(Metric::RequestsOk), Some(12.0));
        assert_eq!(value(Metric::RequestsFailed), Some(4.0), "{folder}");
        let bad: Vec<_> = row.requests.iter().filter(|request| request.error.is_some()).collect();
        assert_eq!(bad.len(), 4);
        for request in &bad {
            let times = (request.ttft_ms, request.e2e_ms, request.gaps, request.output_tokens);
            assert_eq!(times, (None, None, None, None), "{folder}");
            let error = request.error.as_deref().unwrap();
            let known = ["Service Unavailable", "not completed"];
            assert!(known.iter().any(|words| error.contains(words)), "{error}");
        }
        // Twelve tokens in six pieces: five gaps, and twice as long as the time per token.
        let good = row.requests.iter().filter(|request| request.error.is_none());
        for request in good {
            assert_eq!((request.gaps, request.output_tokens), (Some(5), Some(12)));
        }
        close(mean(&values(row, |r| r.ttft_ms)), value_of_mean(row, Metric::Ttft), 1e-9);
        let per_token = value_of_mean(row, Metric::Itl) * 5.0 / 11.0;
        let tpot = value_of_mean(row, Metric::Tpot);
        match folder.starts_with("vllm") {
            // The last piece ends the answer: the gaps are the whole time.
            true => close(per_token, tpot, 1e-9),
            // SGLang's TPOT goes on to the last line of the stream.
            false => assert!((0.0..0.6).contains(&(tpot - per_token)), "{tpot} {per_token}"),
        }
        // The field named as a rate of tokens counts pieces.
        assert_eq!(value(Metric::PeakOutputRate), Some(72.0));
        assert_eq!(value(Metric::OutputTokens), Some(144.0));
        let console = import(&format!("{folder}/console.txt")).unwrap();
        assert!(compare(&console.parts[0].rows[0], row) >= 20, "{folder}");
        let queued = values(row, |r| r.client_queue_ms);
        assert_eq!(queued.is_empty(), folder.starts_with("sglang"));
    }
}

fn value_of_mean(row: &Row, quantity: Metric) -> f64 {
    row.value(quantity, Statistic::Mean).expect("a mean")
}

/// A file of a hundred thousand rows would take twice the memory.
#[test]
fn a_row_keeps_no_room_that_nothing_fills() {
    let sheet = import("vllm-serve-0.33/result.json").unwrap();
    let row = one_row(&sheet);
    assert!(row.figures.len() > 20 && row.requests.len() == 12);
    assert_eq!(row.figures.capacity(), row.figures.len());
    assert_eq!(row.requests.capacity(), row.requests.len());
}
