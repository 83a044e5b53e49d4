//! `vllm bench serve`: the file and the printed block of one run.

use super::import;
use ifm_core::sheet::{PartKind, Quantity, Statistic, key};

#[test]
fn file_and_console_of_one_run_agree() {
    let file = import("vllm-serve-0.33/result.json").unwrap();
    assert_eq!(file.source.format, "vllm-serve");
    let row = &file.parts[0].rows[0];
    assert_eq!(row.factors.get(key::CONCURRENCY), Some("4"));
    assert_eq!(row.factors.get(key::RATE), Some("inf"));
    assert_eq!(row.requests.len(), 12);
    assert_eq!(row.requests.iter().filter_map(|request| request.output_tokens).sum::<u64>(), 192);
    assert_eq!(row.unknown.get("burstiness"), Some(&serde_json::json!(1.0)));

    let console = import("vllm-serve-0.33/console.txt").unwrap();
    assert_eq!(console.parts[0].kind, PartKind::Serving);
    let printed = &console.parts[0].rows[0];
    for (quantity, statistic) in [
        (Quantity::Ttft, Statistic::Mean),
        (Quantity::Ttft, Statistic::Percentile(99.0)),
        (Quantity::Tpot, Statistic::Median),
        (Quantity::Itl, Statistic::Mean),
        (Quantity::E2e, Statistic::Percentile(90.0)),
        (Quantity::OutputRate, Statistic::Value),
        (Quantity::TotalRate, Statistic::Value),
    ] {
        let exact = row.figure(&quantity, statistic).unwrap().value.unwrap();
        let rounded = printed.figure(&quantity, statistic).unwrap();
        let off = (rounded.value.unwrap() - exact).abs();
        assert!(off <= rounded.rounding().unwrap(), "{quantity:?} {statistic:?}: {off}");
    }
    assert_eq!(printed.value(&Quantity::RequestsOk, Statistic::Value), Some(12.0));
}

#[test]
fn the_times_of_the_requests_give_the_means_of_the_file() {
    let file = import("vllm-serve-0.33/result.json").unwrap();
    let row = &file.parts[0].rows[0];
    let mean = |of: fn(&ifm_core::sheet::SheetRequest) -> Option<f64>| {
        let values: Vec<f64> = row.requests.iter().filter_map(of).collect();
        assert_eq!(values.len(), 12);
        values.iter().sum::<f64>() / values.len() as f64
    };
    let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-9 * b.abs(), "{a} {b}");
    close(mean(|r| r.ttft_ms), row.value(&Quantity::Ttft, Statistic::Mean).unwrap());
    close(mean(|r| r.e2e_ms), row.value(&Quantity::E2e, Statistic::Mean).unwrap());
}
