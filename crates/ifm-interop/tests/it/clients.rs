//! AIPerf, genai-bench, inference-benchmarker, oha, k6 and Locust: what one run left behind in several forms,
//! against each other and against the server's own log; runs with failures and with reasoning.

use super::{close, compare, data, import, one_row, truth};
use ifm_core::Metric;
use ifm_core::sheet::{Definition, RemarkKind, Row, RowRole, SheetRequest, Statistic, Unit, key};

fn mean(row: &Row, of: fn(&SheetRequest) -> Option<f64>) -> f64 {
    let values: Vec<f64> = row.requests.iter().filter_map(of).collect();
    values.iter().sum::<f64>() / values.len() as f64
}

fn failed(row: &Row) -> Vec<&SheetRequest> {
    row.requests.iter().filter(|request| request.error.is_some()).collect()
}

#[test]
fn aiperf_json_csv_console_and_records_of_one_run_agree() {
    let json = import("aiperf-0.13.0/profile_export_aiperf.json").unwrap();
    let csv = import("aiperf-0.13.0/profile_export_aiperf.csv").unwrap();
    let console = import("aiperf-0.13.0/profile_export_console.txt").unwrap();
    let records = import("aiperf-0.13.0/profile_export.jsonl").unwrap();
    let exact = one_row(&json);
    assert_eq!(json.source.tool_version.as_deref(), Some("0.13.0"));
    assert_eq!([csv.source.tool.as_deref(), records.source.tool.as_deref()], [Some("aiperf"); 2]);
    let factors: Vec<(&str, &str)> = exact.factors.iter().collect();
    assert_eq!(
        factors,
        [
            (key::CONCURRENCY, "4"),
            (key::INPUT_TOKENS, "32"),
            (key::MODEL, "truth-model"),
            (key::OUTPUT_TOKENS, "16"),
            (key::REQUESTS, "12"),
            (key::STRATEGY, "concurrency"),
            (key::WORKLOAD, "synthetic"),
        ]
    );
    let compared = compare(one_row(&csv), exact);
    assert!(compared > 350, "{compared}");
    let compared = compare(one_row(&console), exact);
    assert!(compared > 80, "{compared}");
    let requests = one_row(&records);
    assert_eq!(requests.requests.len(), 12);
    close(
        mean(requests, |request| request.ttft_ms),
        exact.value(Metric::Ttft, Statistic::Mean).unwrap(),
    );
    close(
        mean(requests, |request| Some(request.gaps_sum_ms? / 15.0)),
        exact.value(Metric::Itl, Statistic::Mean).unwrap(),
    );
    close(
        mean(requests, |request| request.e2e_ms),
        exact.value(Metric::E2e, Statistic::Mean).unwrap(),
    );
}

#[test]
fn aiperf_counts_connections_in_and_tokens_by_itself() {
    let json = import("aiperf-0.13.0/profile_export_aiperf.json").unwrap();
    let exact = one_row(&json);
    let records = import("aiperf-0.13.0/profile_export.jsonl").unwrap();
    let truth = truth("aiperf-0.13.0/truth.jsonl");
    let mut requests: Vec<&SheetRequest> = one_row(&records).requests.iter().collect();
    requests.sort_by(|a, b| a.start_s.unwrap().total_cmp(&b.start_s.unwrap()));
    for (request, seen) in requests.iter().zip(&truth) {
        assert_eq!(request.output_tokens, Some(seen.output_tokens));
        assert!(request.ttft_ms.unwrap() > seen.ttft_ms);
    }
    // Its input length is that of the text alone, by a tokenizer of its own.
    let own = exact.value(Metric::InputTokens, Statistic::Sum).unwrap();
    let served: u64 = truth.iter().map(|seen| seen.input_tokens).sum();
    assert_eq!((own, served), (384.0, 203));
    let told = Metric::other("total_usage_prompt_tokens");
    assert_eq!(exact.value(told, Statistic::Value), Some(203.0));
    let definition = &exact.figure(Metric::InputTokens, Statistic::Mean).unwrap().definition;
    assert!(matches!(definition, Definition::Different(text) if text.contains("tokenizer")));
}

#[test]
fn aiperf_failures_have_no_times() {
    let json = import("aiperf-0.13.0-failures/profile_export_aiperf.json").unwrap();
    let csv = import("aiperf-0.13.0-failures/profile_export_aiperf.csv").unwrap();
    for sheet in [&json, &csv] {
        let row = one_row(sheet);
        assert_eq!(row.value(Metric::RequestsFailed, Statistic::Value), Some(3.0));
        assert_eq!(row.value(Metric::RequestsOk, Statistic::Value), Some(9.0));
        assert_eq!(row.value(Metric::ErrorRate, Statistic::Value), Some(0.25));
    }
    let records = import("aiperf-0.13.0-failures/profile_export.jsonl").unwrap();
    let row = one_row(&records);
    assert_eq!((row.requests.len(), failed(row).len()), (12, 3));
    for request in failed(row) {
        assert!(request.error.as_deref().unwrap().starts_with("503 "), "{request:?}");
        assert_eq!((request.ttft_ms, request.e2e_ms, request.output_tokens), (None, None, None));
        assert_eq!(request.input_tokens, Some(32));
    }
}

#[test]
fn aiperf_tells_the_first_token_from_the_first_of_the_answer() {
    let json = import("aiperf-0.13.0-reasoning/profile_export_aiperf.json").unwrap();
    let row = one_row(&json);
    let ttft = row.value(Metric::Ttft, Statistic::Mean).unwrap();
    let ttfot = row.value(Metric::Ttfat, Statistic::Mean).unwrap();
    // Eight tokens of reasoning, 5 ms apart.
    assert!(ttfot - ttft > 30.0, "{ttft} {ttfot}");
    assert_eq!(row.factors.get(key::RATE), Some("10"));
    assert_eq!(row.factors.get(key::STRATEGY), Some("poisson"));
}

#[test]
fn genai_bench_means_follow_from_its_requests_and_the_server_saw_them() {
    let sheet =
        import("genai-bench-0.0.5/D32_16_text-to-text_num_concurrency_4_time_1s.json").unwrap();
    let row = one_row(&sheet);
    let truth = truth("genai-bench-0.0.5/truth.jsonl");
    assert_eq!((row.requests.len(), truth.len()), (28, 28));
    close(mean(row, |r| r.ttft_ms), row.value(Metric::Ttft, Statistic::Mean).unwrap());
    close(mean(row, |r| r.e2e_ms), row.value(Metric::E2e, Statistic::Mean).unwrap());
    let served: u64 = truth.iter().map(|seen| seen.input_tokens).sum();
    assert_eq!(row.value(Metric::InputTokens, Statistic::Sum), Some(served as f64));
    let rate = row.value(Metric::OutputRate, Statistic::Value).unwrap();
    let seconds = row.value(Metric::Duration, Statistic::Value).unwrap() / 1e3;
    close(rate * seconds, 448.0);
    assert_eq!(row.factors.get(key::OUTPUT_TOKENS), Some("16"));
}

#[test]
fn genai_bench_in_milliseconds_with_failures_that_its_rate_denies() {
    let sheet =
        import("genai-bench-0.0.5-failures/D32_16_text-to-text_num_concurrency_4_time_1s.json")
            .unwrap();
    let row = one_row(&sheet);
    let ttft = row.figure(Metric::Ttft, Statistic::Mean).unwrap();
    assert_eq!(ttft.unit, Unit::Ms);
    close(mean(row, |r| r.ttft_ms), ttft.value.unwrap());
    assert_eq!(row.value(Metric::RequestsFailed, Statistic::Value), Some(11.0));
    assert_eq!(failed(row).len(), 11);
    assert!(failed(row).iter().all(|request| request.ttft_ms.is_none()));
    // The rate that the file gives is 0: no value, and a remark.
    assert_eq!(row.value(Metric::ErrorRate, Statistic::Value), None);
    assert!(sheet.remarks.iter().any(|remark| remark.kind == RemarkKind::Missing));
    // Its duration is in seconds although its times are not.
    let duration = row.figure(Metric::Duration, Statistic::Value).unwrap();
    assert_eq!(duration.unit, Unit::S);
}

#[test]
fn inference_benchmarker_file_and_table_agree() {
    let file = import("inference-benchmarker-1.1.0/result.json").unwrap();
    let console = import("inference-benchmarker-1.1.0/console.txt").unwrap();
    let (exact, printed) = (&file.parts[0].rows, &console.parts[0].rows);
    assert_eq!((exact.len(), printed.len()), (2, 2));
    for (exact, printed) in exact.iter().zip(printed) {
        assert_eq!(exact.label, printed.label);
        // Rate, E2E, TTFT, ITL, output rate, successes, requests.
        assert_eq!(compare(printed, exact), 7);
    }
    assert_eq!(exact[1].factors.get(key::CONCURRENCY), Some("4"));
    assert_eq!(exact[1].factors.get(key::MODEL), Some("truth-model"));
    assert_eq!(exact[1].factors.get(key::STRATEGY), Some("throughput"));
    let itl = exact[1].figure(Metric::Itl, Statistic::Percentile(95.0)).unwrap();
    assert_eq!(itl.value, Some(5.32));
}

#[test]
fn oha_has_whole_exchanges_and_no_tokens() {
    let sheet = import("oha-1.16.0/result.json").unwrap();
    let row = one_row(&sheet);
    let truth = truth("oha-1.16.0/truth.jsonl");
    assert_eq!(row.value(Metric::RequestsOk, Statistic::Value), Some(truth.len() as f64));
    assert_eq!(row.value(Metric::RequestsFailed, Statistic::Value), Some(0.0));
    let fastest = row.value(Metric::E2e, Statistic::Min).unwrap();
    assert!(fastest > 125.0, "{fastest}");
    assert!(row.figures.iter().all(|figure| figure.quantity != Metric::Ttft));
    let first_byte = Metric::other("time to first byte");
    let mean = row.value(first_byte, Statistic::Mean).unwrap();
    assert!((50.0..53.0).contains(&mean), "{mean}");
    // The rate between neighbours is not taken for that of the run.
    let rates = row.figures.iter().filter(|figure| figure.quantity == Metric::RequestRate);
    assert_eq!(rates.map(|figure| figure.value.unwrap()).collect::<Vec<_>>(), [31.562236742177905]);
}

#[test]
fn ohas_printed_summary_is_that_of_its_file() {
    let file = import("oha-1.16.0/result.json").unwrap();
    let printed = import("written/oha.txt").unwrap();
    assert_eq!(printed.parts[0].tool.as_deref(), Some("oha"));
    let (file, printed) = (one_row(&file), one_row(&printed));
    assert_eq!(printed.figures.len(), 13);
    for figure in &printed.figures {
        let exact = file.figure(figure.quantity, figure.statistic).unwrap();
        let (value, exact) = (figure.canonical().unwrap(), exact.canonical().unwrap());
        assert!((value - exact).abs() < 6e-5, "{figure:?}: {exact}");
    }
}

#[test]
fn locust_has_a_row_for_each_name_and_one_over_all() {
    let sheet = import("locust-2.47.0/run_stats.csv").unwrap();
    assert_eq!(sheet.source.tool.as_deref(), Some("locust"));
    let [chat, all] = sheet.parts[0].rows.as_slice() else { panic!("{sheet:?}") };
    assert_eq!((chat.label.as_deref(), chat.role), (Some("chat"), RowRole::Measured));
    assert_eq!((all.label.as_deref(), all.role), (Some("Aggregated"), RowRole::Summary));
    for (quantity, statistic, value) in [
        (Metric::Requests, Statistic::Value, 111.0),
        (Metric::RequestsFailed, Statistic::Value, 13.0),
        (Metric::RequestRate, Statistic::Value, 37.043_785_748_914_37),
        (Metric::E2e, Statistic::Mean, 103.545_224_270_263_89),
        (Metric::E2e, Statistic::Median, 100.0),
        (Metric::E2e, Statistic::Percentile(99.9), 220.0),
    ] {
        let figure = chat.figure(quantity, statistic).expect("stated");
        assert_eq!(figure.value, Some(value), "{figure:?}");
        let has_failed = !matches!(figure.definition, Definition::Same);
        let is_count = matches!(quantity, Metric::Requests | Metric::RequestsFailed);
        assert_eq!(has_failed, !is_count, "{figure:?}");
    }
}

#[test]
fn k6_has_whole_exchanges_and_its_failures_apart() {
    let log = std::fs::read_to_string(data("k6-1.1.0/truth.jsonl")).unwrap();
    let whole_ms = |line: &str| -> f64 {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        (line["done_ns"].as_f64().unwrap() - line["begin_ns"].as_f64().unwrap()) / 1e6
    };
    let seen: Vec<f64> = log.lines().map(whole_ms).collect();
    let seen_mean = seen.iter().sum::<f64>() / seen.len() as f64;
    for (file, is_of_the_log) in [("summary-export.json", true), ("handle-summary.json", false)] {
        let sheet = import(&format!("k6-1.1.0/{file}")).unwrap();
        let row = one_row(&sheet);
        let whole = |quantity| row.value(quantity, Statistic::Value);
        assert_eq!(whole(Metric::Requests), Some(12.0), "{file}");
        assert_eq!(whole(Metric::RequestsFailed), Some(3.0), "{file}");
        assert_eq!(whole(Metric::RequestsOk), Some(seen.len() as f64), "{file}");
        let all = Metric::other("http_req_duration");
        assert!(row.value(all, Statistic::Min).unwrap() < 1.0, "{file}: a refusal is quick");
        assert!(row.figures.iter().all(|figure| figure.quantity != Metric::Ttft), "{file}");
        let mean = row.value(Metric::E2e, Statistic::Mean).unwrap();
        if is_of_the_log {
            assert!((0.0..1.0).contains(&(mean - seen_mean)), "{file}: {mean}, log {seen_mean}");
        } else {
            assert!(whole(Metric::Duration).unwrap() > 2.0 * mean, "{file}: 12 by 3 users");
        }
    }
}

#[test]
fn inference_perf_counts_with_the_server_and_waits_for_content() {
    let folder = "inference-perf-0.7.0";
    let sheet = import(&format!("{folder}/per_request_lifecycle_metrics.json")).unwrap();
    let mut requests: Vec<_> = one_row(&sheet).requests.iter().collect();
    requests.sort_by(|a, b| a.start_s.partial_cmp(&b.start_s).unwrap());
    let log = std::fs::read_to_string(data(&format!("{folder}/truth.jsonl"))).unwrap();
    let mut seen: Vec<serde_json::Value> =
        log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    seen.sort_by_key(|line| line["arrival_ns"].as_u64());
    assert_eq!((requests.len(), seen.len()), (12, 12));
    let refused = requests.iter().filter(|request| request.error.is_some());
    assert_eq!(refused.count(), seen.iter().filter(|line| line["status"] == 503).count());
    let answered = seen.iter().filter(|line| line["status"] == 200);
    for (request, line) in requests.iter().filter(|one| one.error.is_none()).zip(answered) {
        // Sixteen tokens, of which the client shows the twelve that are not reasoning.
        assert_eq!(request.output_tokens, line["n_tok"].as_u64());
        assert_eq!((request.input_tokens, request.gaps), (Some(8), Some(11)));
        let first_content_ms = line["tok_rel_ns"][4].as_f64().unwrap() / 1e6;
        assert!(request.ttft_ms.unwrap() > first_content_ms, "nothing is seen before it was sent");
    }
    for file in ["summary_lifecycle_metrics.json", "stage_0_lifecycle_metrics.json"] {
        let sheet = import(&format!("{folder}/{file}")).unwrap();
        let row = one_row(&sheet);
        let whole = |quantity| row.value(quantity, Statistic::Value);
        let counts = (whole(Metric::RequestsOk), whole(Metric::RequestsFailed));
        let expected = if file.starts_with("stage") { (5.0, 1.0) } else { (9.0, 3.0) };
        assert_eq!(counts, (Some(expected.0), Some(expected.1)), "{file}");
        // The client's count and the server's are both kept, each with its definition.
        let means = row.figures.iter().filter(|figure| {
            figure.quantity == Metric::OutputTokens && figure.statistic == Statistic::Mean
        });
        let told: Vec<(Option<f64>, bool)> = means
            .map(|figure| {
                let meaning = format!("{:?}", figure.definition);
                (figure.value, meaning.contains("counted by the server"))
            })
            .collect();
        assert_eq!(told, [(Some(16.0), true), (Some(12.0), false)], "{file}");
    }
}
