//! Formats of which no real file is at hand: written here after the keys that the tools' sources
//! name, with the traps of each.

use super::one_row;
use ifm_core::Sheet;
use ifm_core::sheet::{Quantity, RemarkKind, Statistic, Unit, key};
use ifm_interop::{Input, read};

fn sheet(name: &str, text: &str) -> Sheet {
    read(Input::new(name, text.as_bytes())).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn stats(mean: f64) -> String {
    format!(
        r#"{{"successful":{{"mean":{mean},"median":{mean},"std_dev":0.0,"min":{mean},"max":{mean},
        "count":2,"total_sum":0,"percentiles":{{"p50":{mean},"p99":{mean}}}}},
        "errored":{{"mean":0.0,"count":0}},"incomplete":{{"mean":0.0,"count":0}}}}"#
    )
}

#[test]
fn guidellm_before_0_4_has_settings_in_each_benchmark() {
    let text = format!(
        r#"{{"benchmarks":[{{"type_":"generative_benchmark","args":{{"profile":{{}},"strategy":
        {{"type_":"constant","rate":2.5}},"max_number":2}},"worker":{{"backend_model":"m"}},
        "metrics":{{"time_to_first_token_ms":{},"request_latency":{}}},"duration":3.0,
        "request_totals":{{"successful":2}},"requests":{{"successful":[{{"start_time":100.5,
        "first_token_time":100.75,"last_token_time":101.0,"request_latency":0.5,"output_tokens":6,
        "time_to_first_token_ms":250.0,"prompt_tokens":4}}],"errored":[],"incomplete":
        [{{"start_time":100.0,"prompt_tokens":4,"output_tokens":1,"request_latency":9.0}}]}}}}]}}"#,
        stats(250.0),
        stats(0.5)
    );
    let sheet = sheet("old.json", &text);
    let row = one_row(&sheet);
    assert_eq!(row.factors.get(key::RATE), Some("2.5"));
    assert_eq!(
        (row.factors.get(key::MODEL), row.factors.get(key::REQUESTS)),
        (Some("m"), Some("2"))
    );
    assert_eq!(row.value(&Quantity::Ttft, Statistic::Percentile(99.0)), Some(250.0));
    assert_eq!(row.value(&Quantity::E2e, Statistic::Mean), Some(500.0));
    let [ok, cut_off] = &row.requests[..] else { panic!("two requests") };
    assert_eq!((ok.start_s, ok.ttft_ms, ok.gaps_sum_ms), (Some(0.5), Some(250.0), Some(250.0)));
    assert!(cut_off.error.is_some() && cut_off.e2e_ms.is_none());
}

#[test]
fn guidellm_0_6_has_arguments_beside_and_zeros_without_streaming() {
    let text = format!(
        r#"{{"type_":"generative_benchmarks_report","metadata":{{"version":1,"guidellm_version":
        "0.6.0"}},"args":{{"model":"m","data":"prompt_tokens=256,output_tokens=128"}},"benchmarks":
        [{{"config":{{"strategy":{{"type_":"synchronous"}}}},"metrics":{{"time_to_first_token_ms":
        {zero},"inter_token_latency_ms":{zero},"time_per_output_token_ms":{tpot}}}}}]}}"#,
        zero = stats(0.0),
        tpot = stats(33.8)
    );
    let sheet = sheet("mid.json", &text);
    let row = one_row(&sheet);
    assert_eq!(sheet.source.tool_version.as_deref(), Some("0.6.0"));
    assert_eq!(row.factors.get(key::INPUT_TOKENS), Some("256"));
    assert_eq!(row.value(&Quantity::Ttft, Statistic::Mean), None);
    assert_eq!(row.value(&Quantity::Itl, Statistic::Mean), None);
    assert_eq!(row.value(&Quantity::Tpot, Statistic::Mean), Some(33.8));
    assert!(sheet.remarks.iter().any(|remark| remark.kind == RemarkKind::Missing));
}

#[test]
fn guidellm_tables_of_the_oldest_and_the_0_7_kind() {
    let text = "Benchmarks Stats:\n\
        =======================================\n\
        Metadata   | Request Stats         || Out Tok/sec| Tot Tok/sec| Req Latency (sec)  ||| TTFT (ms)          ||| ITL (ms)         ||\n\
        \u{20} Benchmark| Per Second| Concurrency|        mean|        mean|  mean|  median|  p99|  mean|  median|  p99|  mean| median| p99\n\
        -----------|-----------|------------|------------|------------|------|--------|-----|------|--------|-----|------|-------|----\n\
        synchronous|       1.55|        1.00|       198.2|       396.1|  0.64|    0.63| 0.70|  17.2|    17.0| 21.3|   4.9|    4.9| 5.1\n\
        constant@2.50|     2.41|        1.58|       310.0|       620.7|  0.66|    0.65| 0.72|   0.0|     0.0|  0.0|   0.0|    0.0| --\n\
        =======================================\n";
    let old = sheet("old.txt", text);
    let rows = &old.parts[0].rows;
    assert_eq!(rows.len(), 2);
    assert_eq!(rows[0].value(&Quantity::RequestRate, Statistic::Mean), Some(1.55));
    assert_eq!(rows[0].value(&Quantity::E2e, Statistic::Percentile(99.0)), Some(700.0));
    assert_eq!(rows[0].value(&Quantity::TotalRate, Statistic::Mean), Some(396.1));
    assert_eq!(rows[1].factors.get(key::RATE), Some("2.5"));
    assert_eq!(rows[1].value(&Quantity::Ttft, Statistic::Mean), None);
    assert_eq!(rows[1].value(&Quantity::Itl, Statistic::Percentile(99.0)), None);

    let text = "ℹ Server Throughput Statistics (All Requests)\n\
        |=====|=====|=====|=====|=====|\n\
        | Benchmark | Requests             ||| Output Tokens |\n\
        | Strategy  | Concurrency || Per Sec | Per Sec       |\n\
        |           | Mdn  | Mean | Mean    | Mean          |\n\
        |-----|-----|-----|-----|-----|\n\
        | constant  | 4.0  | 3.2  | 23.9    | 382.3         |\n\
        | constant  | 4.0  | 3.2  | 23.9    |\n\
        |=====|=====|=====|=====|=====|\n";
    let new = sheet("new.txt", text);
    assert_eq!(one_row(&new).value(&Quantity::OutputRate, Statistic::Mean), Some(382.3));
    assert_eq!(new.remarks[0].place.line, Some(8));
}

#[test]
fn genai_perf_json_csv_and_raw_records() {
    let json = sheet(
        "genai.json",
        r#"{"request_throughput":{"unit":"requests/sec","avg":5.5},"time_to_first_token":{"unit":
        "ms","avg":16.2,"p50":15.0,"p99":20.0},"output_sequence_length":{"unit":"tokens","avg":100.1,
        "max":120},"input_config":{"model":["m"],"perf_analyzer":{"stimulus":{"concurrency":8}}}}"#,
    );
    let row = one_row(&json);
    assert_eq!(json.source.tool.as_deref(), Some("genai-perf"));
    assert_eq!(row.factors.get(key::CONCURRENCY), Some("8"));
    assert_eq!(row.value(&Quantity::RequestRate, Statistic::Value), Some(5.5));
    assert_eq!(row.value(&Quantity::Ttft, Statistic::Median), Some(15.0));

    let csv = sheet(
        "genai.csv",
        "Metric,avg,min,max,p99,p50\nTime To First Token (ms),16.26,12.39,19.96,18.91,16.01\n\
         Request Latency (ms),\"1,015.54\",812.4,1301.12,1300,999.9\nbroken,1\n\nMetric,Value\n\
         Output Token Throughput (per sec),1234.56\nRequest Throughput (per sec),5.50\n",
    );
    let row = one_row(&csv);
    assert_eq!(row.value(&Quantity::E2e, Statistic::Mean), Some(1015.54));
    assert_eq!(row.value(&Quantity::OutputRate, Statistic::Value), Some(1234.56));
    assert_eq!(csv.remarks[0].place.line, Some(4));

    let event = |content: &str| {
        format!(
            r#"{{"response":"data: {{\"choices\":[{{\"delta\":{{\"content\":\"{content}\"}}}}]}}\n\n"}}"#
        )
    };
    let text = format!(
        r#"{{"service_kind":"openai","version":"0.0.8","experiments":[{{"experiment":{{"mode":
        "concurrency","value":2}},"requests":[{{"timestamp":1000000000,"response_timestamps":
        [1010000000,1020000000,1025000000,1040000000,1041000000],"response_outputs":[{},{},{},{},
        {{"response":"data: [DONE]\n\n"}}]}},{{"timestamp":1500000000,"response_timestamps":[]}}]}}]}}"#,
        event(""),
        event("a"),
        event("b"),
        event("c")
    );
    let raw = sheet("raw.json", &text);
    let row = one_row(&raw);
    assert_eq!(row.factors.get(key::CONCURRENCY), Some("2"));
    let request = &row.requests[0];
    // The first piece has a role and no content; the last closes.
    assert_eq!((request.ttft_ms, request.e2e_ms), (Some(20.0), Some(40.0)));
    assert_eq!((request.gaps, request.gap_max_ms), (Some(2), Some(15.0)));
    assert!(row.requests[1].error.is_some() && row.requests[1].start_s == Some(0.5));
}

#[test]
fn inference_perf_summary_and_requests() {
    let summary = sheet(
        "out/stage_1_lifecycle_metrics.json",
        r#"{"load_summary":{"count":12,"requested_rate":73.0,"schedule_delay":{"mean":0.0004}},
        "successes":{"count":9,"latency":{"request_latency":{"mean":15.5,"median":12.0,"p99.9":40.0},
        "time_to_first_token":null,"inter_token_latency":{"mean":0.029}},"throughput":
        {"requests_per_sec":7.3,"output_tokens_per_sec":100.0},"prompt_len":{"mean":30.0},
        "goodput_metrics":{"goodput_percentage":50.0}},"failures":{"count":3,"by_label":{"504":{}}}}"#,
    );
    let row = one_row(&summary);
    assert_eq!(row.label.as_deref(), Some("stage 1"));
    assert_eq!(row.factors.get(key::RATE), Some("73.0"));
    assert_eq!(row.value(&Quantity::E2e, Statistic::Percentile(99.9)), Some(40_000.0));
    assert_eq!(row.value(&Quantity::Ttft, Statistic::Mean), None);
    assert_eq!(row.value(&Quantity::ClientQueue, Statistic::Mean), Some(0.4));
    assert_eq!(row.value(&Quantity::Attainment, Statistic::Value), Some(0.5));
    assert_eq!(row.unknown["failures"]["by_label"]["504"], serde_json::json!({}));

    let requests = sheet(
        "per_request.json",
        r#"[{"start_time":5.0,"end_time":5.5,"request":"{}","response":"x","info":{"input_tokens":3,
        "output_tokens":3,"output_token_times":[5.25,5.25,5.5]},"error":null},
        {"start_time":6.0,"end_time":6.5,"request":"{}","info":{"input_tokens":3},
        "error":{"error_type":"Timeout","error_msg":"no answer"}}]"#,
    );
    let row = one_row(&requests);
    assert_eq!((row.requests[0].ttft_ms, row.requests[0].gaps), (Some(250.0), Some(2)));
    assert_eq!(row.requests[1].error.as_deref(), Some("Timeout no answer"));
    assert_eq!((row.requests[1].start_s, row.requests[1].e2e_ms), (Some(1.0), None));
}

#[test]
fn llmperf_summary_and_requests() {
    let summary = sheet(
        "llmperf.json",
        r#"{"version":"2023-08-31","model":"m","num_concurrent_requests":2,"mean_input_tokens":550,
        "results_ttft_s_quantiles_p99":0.5,"results_ttft_s_mean":0.4,"results_ttft_s_stddev":0.01,
        "results_inter_token_latency_s_mean":0.02,"results_num_completed_requests":10,
        "results_num_completed_requests_per_min":30.0,"results_error_rate":0.0,"stddev_input_tokens":1}"#,
    );
    let row = one_row(&summary);
    assert_eq!(row.value(&Quantity::Ttft, Statistic::Percentile(99.0)), Some(500.0));
    assert_eq!(row.value(&Quantity::RequestRate, Statistic::Value), Some(0.5));
    assert!(row.unknown.contains_key("stddev_input_tokens"));
    let requests = sheet(
        "individual.json",
        r#"[{"error_code":null,"error_msg":"","ttft_s":0.4,"end_to_end_latency_s":2.0,
        "number_output_tokens":50,"number_input_tokens":500},{"error_code":503,"error_msg":"busy",
        "ttft_s":0,"end_to_end_latency_s":0}]"#,
    );
    let row = one_row(&requests);
    assert_eq!((row.requests[0].ttft_ms, row.requests[0].error.as_deref()), (Some(400.0), None));
    assert_eq!(row.requests[1].error.as_deref(), Some("503 busy"));
    assert_eq!(row.requests[1].ttft_ms, None);
}

#[test]
fn k6_counts_failures_as_what_passes() {
    let export = r#"{"root_group":{},"metrics":{"http_req_duration":{"avg":120.5,"min":100,"med":119,
        "max":150,"p(90)":140,"p(95)":145},"http_reqs":{"count":12,"rate":3.5},"http_req_failed":
        {"passes":2,"fails":10,"value":0.1666},"vus":{"value":1,"min":1,"max":4}}}"#;
    let summary = r#"{"root_group":{},"state":{"testRunDurationMs":3428.5},"metrics":
        {"http_req_duration":{"type":"trend","contains":"time","values":{"avg":120.5,"p(95)":145,
        "med":119}},"http_reqs":{"type":"counter","contains":"default","values":{"count":12,"rate":3.5}},
        "http_req_failed":{"type":"rate","contains":"default","values":{"rate":0.1666,"passes":2,
        "fails":10}},"vus":{"type":"gauge","contains":"default","values":{"value":1,"max":4}}}}"#;
    for text in [export, summary] {
        let sheet = sheet("k6.json", text);
        let row = one_row(&sheet);
        assert_eq!(row.value(&Quantity::RequestsFailed, Statistic::Value), Some(2.0));
        assert_eq!(row.value(&Quantity::RequestsOk, Statistic::Value), Some(10.0));
        assert_eq!(row.value(&Quantity::E2e, Statistic::Percentile(95.0)), Some(145.0));
        assert_eq!(row.figure(&Quantity::E2e, Statistic::Median).unwrap().unit, Unit::Ms);
        assert_eq!(row.factors.get(key::CONCURRENCY), Some("4"));
    }
}
