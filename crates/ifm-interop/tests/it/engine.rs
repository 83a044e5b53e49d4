//! Benchmarks of engines and processed results: static batches, offline runs, sweeps, InferenceX,
//! llm-d. Texts in this file are written after the keys that the tools write, not by them.

use super::{import, import_text, one_row};
use ifm_core::sheet::{
    Definition, PartKind, Quantity, RemarkKind, Row, RowRole, Statistic, Unit, key,
};

fn value(row: &Row, quantity: Quantity) -> Option<f64> {
    row.value(&quantity, Statistic::Value)
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
        assert_eq!(value(row, Quantity::Parameters), Some(26_483_200.0));
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
            let generation = value(row, Quantity::Other("generation_time".to_owned())).unwrap();
            let rate = value(row, Quantity::DecodeRate).unwrap();
            assert!((tokens / (generation / 1e3) / rate - 1.0).abs() < 0.04, "{rate}");
        }
    }
    assert_eq!(lines.parts[0].rows[0].factors.get("is_pp_shared"), Some("1"));
}

#[test]
fn a_static_batch_of_sglang() {
    let line = "{\"run_name\": \"default\", \"batch_size\": 16, \"input_len\": 1024, \
        \"output_len\": 16, \"latency\": 0.71, \"input_throughput\": 38912.4, \
        \"output_throughput\": 842.1, \"overall_throughput\": 23432.0, \"last_ttft\": 0.4211, \
        \"last_gen_throughput\": 910.55, \"acc_length\": -1, \"total_output_tokens\": 256, \
        \"steady_state_window_s\": null, \"cache_hit_rate\": null}\n";
    let sheet = import_text("result.jsonl", &format!("{line}{}\n{line}", &line[..60])).unwrap();
    assert_eq!(sheet.source.tool.as_deref(), Some("sglang.bench_one_batch_server"));
    let rows = &sheet.parts[0].rows;
    assert_eq!(rows.len(), 2);
    assert_eq!(sheet.remarks[0].kind, RemarkKind::Skipped);
    assert_eq!(value(&rows[0], Quantity::AcceptLength), None, "-1 stands for none");
    assert_eq!(rows[0].unknown["acc_length"], -1);
    let last = rows[0].figure(&Quantity::Ttft, Statistic::Max).unwrap();
    assert_eq!((last.value, &last.unit), (Some(0.4211), &Unit::S));
    let decode = rows[0].figure(&Quantity::DecodeRate, Statistic::Value).unwrap();
    assert!(matches!(&decode.definition, Definition::Derivable(how) if how.contains("first")));
    let one = "{\"run_name\": \"x\", \"batch_size\": 1, \"input_len\": 8, \"output_len\": 4, \
        \"prefill_latency\": 0.5, \"prefill_throughput\": 16.0, \"median_decode_latency\": 0.01, \
        \"median_decode_throughput\": 100.0, \"total_latency\": 0.53, \"overall_throughput\": 22.6}";
    let sheet = import_text("one.jsonl", one).unwrap();
    let row = one_row(&sheet);
    assert_eq!(row.value(&Quantity::Itl, Statistic::Median), Some(10.0));
    assert_eq!(value(row, Quantity::PrefillTime), Some(500.0));
    assert_eq!(row.unknown.len(), 0);
}

#[test]
fn reports_of_static_batches_with_and_without_costs() {
    let text = "### meta-llama/Llama-3.1-8B\n\
        |   batch size |   input len |   latency (s) |   input throughput (tok/s) |   output throughput (tok/s) | acc length   |   ITL (ms) |   input cost ($/1M) |   output cost ($/1M) | cache hit rate   |\n\
        |--------------|-------------|---------------|----------------------------|-----------------------------|--------------|------------|---------------------|----------------------|------------------|\n\
        |           16 |        1024 |          0.71 |                   38912.40 |                      842.10 | n/a          |      19.00 |                0.02 |                 0.66 | n/a              |\n\
        |           16 |        1024 |          0.72 |                   38000.00 |                      840.00 | 2.50         |      19.05 |                0.02 |                 0.66 | 0.5000           |\n\
        \n\
        | batch size | input len | latency (s) | input throughput (tok/s)  | output throughput (tok/s) | ITL (ms) |\n\
        | ---------- | --------- | ----------- | ------------------------- | ------------------------- | -------- |\n\
        | 1 | 4096 | 1.50 | 9000.00 | 150.00 | 6.67 |\n\
        | 8 | 4096 |\n";
    let sheet = import_text("report.md", text).unwrap();
    assert_eq!(sheet.parts.len(), 2);
    let rows = &sheet.parts[0].rows;
    assert_eq!(rows.len(), 2);
    assert_eq!(value(&rows[0], Quantity::AcceptLength), None);
    assert_eq!(value(&rows[1], Quantity::AcceptLength), Some(2.5));
    assert_eq!(value(&rows[1], Quantity::CostPerMillion), Some(0.66));
    let printed = rows[0].figure(&Quantity::Itl, Statistic::Mean).unwrap();
    assert_eq!((printed.rounding(), &printed.unit), (Some(0.005), &Unit::Ms));
    assert_eq!(sheet.parts[1].rows.len(), 1);
    let skipped = sheet.remarks.iter().find(|remark| remark.kind == RemarkKind::Skipped).unwrap();
    assert_eq!(skipped.place.line, Some(10));
}

#[test]
fn offline_runs_of_vllm() {
    let latency = r#"{"model_id": "m", "avg_latency": 0.2, "latencies": [0.1, 0.3],
        "percentiles": {"10": 0.12, "50": 0.2, "99": 0.298}}"#;
    let sheet = import_text("latency.json", latency).unwrap();
    let rows = &sheet.parts[0].rows;
    assert_eq!(rows.len(), 3);
    assert_eq!((rows[0].role, rows[1].role), (RowRole::Summary, RowRole::Measured));
    assert_eq!(rows[0].value(&Quantity::E2e, Statistic::Median), Some(200.0));
    assert_eq!(value(&rows[2], Quantity::E2e), Some(300.0));
    assert_eq!(rows[2].factors.get(key::REPEAT), Some("2"));
    let throughput = r#"{"elapsed_time": 2.0, "num_requests": 10, "total_num_tokens": 500,
        "requests_per_second": 5.0, "tokens_per_second": 250.0, "extra": 1}"#;
    let sheet = import_text("throughput.json", throughput).unwrap();
    let row = one_row(&sheet);
    assert_eq!(value(row, Quantity::TotalRate), Some(250.0));
    assert_eq!(value(row, Quantity::Duration), Some(2000.0));
    assert_eq!(row.unknown["extra"], 1);
}

#[test]
fn a_sweep_leaves_a_table_and_notes_of_failures() {
    let table = ",date,backend,label,model_id,request_rate,completed,request_throughput,\
        total_token_throughput,mean_ttft_ms,errors,run_number,max_num_seqs\n\
        0,20260101,openai,,m,inf,10,5.0,100.0,12.5,\"['', '']\",0,64\n\
        1,20260101,openai,,m,inf,10,5.0\n\
        2,20260101,openai,,m,4.0,10,5.5,110.0,11.5,\"['', '']\",1,128.0\n";
    let sheet = import_text("summary.csv", table).unwrap();
    let rows = &sheet.parts[0].rows;
    assert_eq!(rows.len(), 2);
    assert_eq!(rows[1].factors.get("max_num_seqs"), Some("128.0"));
    assert_eq!(rows[1].factors.get(key::REPEAT), Some("2"));
    assert_eq!(rows[1].factors.get(key::RATE), Some("4"));
    assert_eq!(rows[0].value(&Quantity::Ttft, Statistic::Mean), Some(12.5));
    assert_eq!(sheet.remarks[0].place.line, Some(3));
    let failure = r#"{"run_number": 1, "error_type": "CalledProcessError", "error": "exit 1",
        "serve_overrides": {"max_num_seqs": 512}, "bench_overrides": {"max_concurrency": 8}}"#;
    let sheet = import_text("run=1.failure.json", failure).unwrap();
    let row = one_row(&sheet);
    assert_eq!(row.factors.get(key::CONCURRENCY), Some("8"));
    assert_eq!(row.factors.get("max_num_seqs"), Some("512"));
    assert!(row.figures.is_empty() && row.text.as_deref().unwrap().contains("exit 1"));
    assert_eq!(sheet.remarks[0].kind, RemarkKind::Missing);
}

/// The numbers of a published row, vllm-project/perf-eval of 2026-09-30, some fields left out.
const PERF_EVAL: &str = r#"{"conc":128,"device":"mi300x","disagg":"false","ep":1,
    "framework":"vllm","input_tput_per_gpu":130.21526637990956,"is_multinode":"false","isl":1024,
    "mean_intvty":8.323526688425265,"mean_itl":0.1201413820647208,"mean_tpot":0.1201413820647208,
    "mean_ttft":2.840227181401133,"median_intvty":8.462457708604006,
    "model":"moonshotai/Kimi-K2.5","osl":1024,"output_tput_per_gpu":130.21526637990956,
    "p99_intvty":7.796225042229961,"p99_tpot":0.1282672055492602,"precision":"bf16",
    "std_intvty":295.9446411856773,"tp":8,"tput_per_gpu":260.43053275981913,"later_field":[1]}"#;

#[test]
fn inference_x_means_other_things_by_its_names() {
    let sheet = import_text("agg.json", &format!("[{PERF_EVAL},{PERF_EVAL}]")).unwrap();
    assert_eq!(sheet.parts[0].rows.len(), 2);
    let row = &sheet.parts[0].rows[0];
    for (factor, value) in [
        (key::GPU, "mi300x"),
        (key::CONCURRENCY, "128"),
        (key::TENSOR_PARALLEL, "8"),
        (key::QUANTIZATION, "bf16"),
        ("disagg", "false"),
    ] {
        assert_eq!(row.factors.get(factor), Some(value), "{factor}");
    }
    let p99 = row.figure(&Quantity::Tpot, Statistic::Percentile(99.0)).unwrap();
    assert_eq!(p99.unit, Unit::S);
    let slowest = row.figure(&Quantity::UserRate, Statistic::Percentile(99.0)).unwrap();
    assert!((slowest.value.unwrap() * p99.value.unwrap() - 1.0).abs() < 1e-12);
    assert!(matches!(&slowest.definition, Definition::Different(what) if what.contains("slowest")));
    assert_eq!(value(row, Quantity::TotalRate), None, "a rate of one GPU is not the whole");
    let rate = row
        .figures
        .iter()
        .find(|figure| figure.quantity == Quantity::Other("total_rate_per_gpu".to_owned()));
    assert!(matches!(rate.unwrap().definition, Definition::Derivable(_)));
    assert!(sheet.remarks.iter().any(|remark| remark.text.contains("std_intvty")));
    assert_eq!(row.unknown["later_field"][0], 1);
}

/// A disaggregated run as written before energies per token became those of the whole deployment.
const DISAGGREGATED: &str = r#"{"conc":64,"device":"gb300","disagg":true,"framework":"dynamo-sglang",
    "is_multinode":true,"isl":8192,"osl":1024,"precision":"fp8","tput_per_gpu":900.0,
    "num_prefill_gpu":8,"num_decode_gpu":8,"prefill_tp":4,"decode_avg_power_w":400.0,
    "avg_power_w":500.0,"joules_per_output_token":32.0,"joules_per_input_token":6.0,
    "joules_per_total_token":8.889}"#;

#[test]
fn energy_of_the_decode_gpus_alone_is_not_that_of_a_token() {
    let sheet = import_text("agg.json", DISAGGREGATED).unwrap();
    let row = one_row(&sheet);
    assert_eq!(value(row, Quantity::EnergyPerToken), None);
    let other = |name: &str| {
        let named = Quantity::Other(name.to_owned());
        row.figures.iter().find(|figure| figure.quantity == named).unwrap()
    };
    let decode = other("decode_joules_per_output_token");
    assert_eq!(decode.value, Some(32.0));
    assert!(matches!(&decode.definition, Definition::Different(what) if what.contains("decode")));
    assert_eq!(other("prefill_joules_per_input_token").value, Some(6.0));
    assert_eq!(other("joules_per_total_token").value, Some(8.889));
    assert_eq!(other("decode_power_per_gpu").value, Some(400.0), "a power is not a setting");
    assert_eq!(
        (row.factors.get("decode_avg_power_w"), row.factors.get("prefill_tp")),
        (None, Some("4"))
    );
    let told =
        |word: &str| sheet.remarks.iter().filter(|remark| remark.text.contains(word)).count();
    assert_eq!((told("joules_per_output_token"), told("joules_per_input_token")), (1, 1));

    // From version 2 on it is the energy of all GPUs, and each role has fields of its own.
    let now = DISAGGREGATED.replace(
        "\"joules_per_output_token\":32.0",
        "\"power_metric_schema_version\":2,\"decode_joules_per_output_token\":32.0,\
         \"joules_per_output_token\":80.0",
    );
    let sheet = import_text("agg.json", &now).unwrap();
    let row = one_row(&sheet);
    assert_eq!(value(row, Quantity::EnergyPerToken), Some(80.0));
    let decode = Quantity::Other("decode_joules_per_output_token".to_owned());
    assert_eq!(row.value(&decode, Statistic::Value), Some(32.0));
    assert!(!sheet.remarks.iter().any(|remark| remark.text.contains("joules")));

    // On one node there is one energy.
    let single = DISAGGREGATED.replace("\"disagg\":true", "\"disagg\":false");
    assert_eq!(
        value(one_row(&import_text("agg.json", &single).unwrap()), Quantity::EnergyPerToken),
        Some(32.0)
    );
}

/// After llm-d's published example of a report, shortened.
const LLM_D: &str = "\
results:
  request_performance:
    aggregate:
      latency:
        time_to_first_token: {mean: 0.0368, p0p1: 0.0273, p50: 0.036, p99p9: 0.057, units: s}
        inter_token_latency:
          mean: 36.8
          units: ms/token
        request_latency: {mean: 0.0, p99: 0.0, units: s}
      requests:
        failures: 2
        total: 500
        input_length: {mean: 2262.4, units: count}
        request_size: {mean: 51234.0, max: 120000.0, units: bytes}
        multimodal: {image: {filesize: {mean: 40000.0, units: bytes}}, scent: {mean: 1.0, units: count}}
      throughput:
        output_token_rate: {mean: 2262.4, units: tokens/s}
        image_rate: {mean: 24.0, units: images/s}
  observability: {drop_rate: {mean: 0.02, units: percent}}
run:
  time: {duration: PT49.5S}
scenario:
  load:
    standardized:
      concurrency: .inf
      rate_qps: 10.0
      stage: 3
      tool: inference-perf
      tool_version: 0.3.0
  stack:
  - standardized: {kind: generic, tool: router}
  - standardized:
      accelerator: {model: NVIDIA-H100, parallelism: {tp: 8}}
      model: {name: Qwen/Qwen3-0.6B}
version: 0.2.1
";

#[test]
fn a_report_of_llm_d() {
    let sheet = import_text("br.yaml", LLM_D).unwrap();
    assert_eq!(sheet.source.format, "llm-d");
    let row = one_row(&sheet);
    assert_eq!(row.value(&Quantity::Ttft, Statistic::Percentile(99.9)), Some(57.0));
    assert_eq!(row.value(&Quantity::Ttft, Statistic::Percentile(0.1)), Some(27.3));
    assert_eq!(row.value(&Quantity::Itl, Statistic::Mean), Some(36.8));
    assert_eq!(row.value(&Quantity::E2e, Statistic::Mean), None, "zero is no time");
    assert_eq!(row.value(&Quantity::OutputRate, Statistic::Mean), Some(2262.4));
    assert_eq!(value(row, Quantity::RequestsFailed), Some(2.0));
    assert_eq!(value(row, Quantity::Duration), Some(49_500.0));
    for (factor, value) in [
        (key::MODEL, "Qwen/Qwen3-0.6B"),
        (key::GPU, "NVIDIA-H100"),
        (key::TENSOR_PARALLEL, "8"),
        (key::RATE, "10.0"),
        ("load_tool", "inference-perf 0.3.0"),
    ] {
        assert_eq!(row.factors.get(factor), Some(value), "{factor}");
    }
    let other = |name: &str, statistic| row.value(&Quantity::Other(name.to_owned()), statistic);
    assert_eq!(other("image_rate", Statistic::Mean), Some(24.0));
    assert_eq!(other("request_size", Statistic::Max), Some(120_000.0));
    assert_eq!(other("image_filesize", Statistic::Mean), Some(40_000.0));
    let told = |pointer: &str, word: &str| {
        let at = |remark: &&ifm_core::sheet::Remark| {
            remark.place.pointer.as_deref() == Some(pointer) && remark.text.contains(word)
        };
        sheet.remarks.iter().filter(at).count()
    };
    assert_eq!(told("/results/observability", "telemetry of the servers"), 1);
    let scent = "/results/request_performance/aggregate/requests/multimodal/scent";
    assert_eq!((told(scent, "not known"), told("/version", "")), (1, 0));
    let kept = &sheet.parts[0].unknown["results"];
    assert_eq!(kept["observability"]["drop_rate"]["mean"], 0.02);
    let later = import_text("br.yaml", &LLM_D.replace("0.2.1", "0.3")).unwrap();
    assert!(later.remarks.iter().any(|remark| remark.text.contains("version 0.3")));
    let broken = import_text("br.yaml", &LLM_D.replace("  stack:\n  -", "  stack:\n -"));
    assert!(broken.unwrap_err().to_string().contains("line "));
}
