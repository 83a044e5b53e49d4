//! Whether the search for the capacity finds that of a queue in front of some stations, at random
//! arrivals, and with how many requests.

use super::lab::Lab;
use super::table::Table;
use anyhow::{Context as _, Result};
use ifm_truth::paced::queue;
use serde_json::Value;

const NS_PER_MS: u64 = 1_000_000;
/// Requests that the true rate is played with, at each rate that is tried.
const PLAYED: usize = 400_000;
/// The first rate of each search, as a share of all that the stations can do.
const START_SHARE: f64 = 0.25;
/// The precision of the search, and the step of the grid that it is held against.
const PRECISION: f64 = 0.05;
/// Requests of a look.
const LOOK: u32 = 5_000;
const LOOKS: u32 = 4;

/// Stations, milliseconds that each answer holds one, the percentile of the TTFT that is limited, and
/// the wait beyond the service that it may be, milliseconds.
const QUEUES: [(u32, u64, f64, u64); 3] = [(2, 4, 75.0, 4), (4, 8, 75.0, 4), (8, 16, 90.0, 8)];

const NOTE: &str = "Random arrivals (Poisson) at so many stations, each busy for the same time with \
    an answer; the true rate is that of a queue that is played. The answer is the largest rate that \
    is shown to be inside; behind it the smallest that is shown to be outside, and the rates between \
    them that no number of looks settled. Requests: all that the server answered, warm-up, repeated \
    looks and the second look at both ends included. The grid has one look of 5,000 requests at each \
    rate from the first to the largest that the search tried, 5 % apart. Looks end sooner where the \
    target is surely missed.";

/// Runs the benchmark.
///
/// # Errors
/// When a search fails, or says something else than its schema.
pub fn run(lab: &Lab, say: &mut dyn FnMut(&str)) -> Result<Vec<Table>> {
    let columns = [
        "stations",
        "target",
        "truth, req/s",
        "answer",
        "off",
        "outside",
        "not settled",
        "requests",
        "grid",
        "share",
    ];
    let mut table = Table::new("Capacity at random arrivals", NOTE, &columns);
    for queue in QUEUES {
        for repeat in 0..lab.repeats {
            let row = search(lab, queue, repeat as u64 + 1)?;
            say(&row.join(" | "));
            table.push(row);
        }
    }
    Ok(vec![table])
}

fn search(
    lab: &Lab,
    (stations, service_ms, percentile, wait_ms): (u32, u64, f64, u64),
    seed: u64,
) -> Result<Vec<String>> {
    let limit = (percentile, wait_ms * NS_PER_MS);
    let truth = queue::rate_inside(stations, service_ms * NS_PER_MS, limit, PLAYED, seed);
    let server = lab.serve_with(true, &["--stations".to_owned(), stations.to_string()])?;
    let target = format!("ttft:p{percentile}<{}ms", service_ms + wait_ms);
    let start = START_SHARE * f64::from(stations) / service_ms as f64 * 1e3;
    let answer = lab.search(
        &server,
        &format!("ttft_ms={service_ms}"),
        &[
            "--workload=16/1".to_owned(),
            format!("--slo={target}"),
            "--by=rate".to_owned(),
            format!("--start={start:.0}"),
            format!("--precision={PRECISION}"),
            format!("--requests={LOOK}"),
            format!("--looks={LOOKS}"),
            format!("--seed={seed}"),
        ],
    )?;
    let rate = |name: &str| answer.get(name).and_then(Value::as_f64);
    let loads = answer["loads"].as_array().context("an answer without loads")?;
    let tried = loads.iter().filter_map(|load| load["req_per_s_asked"].as_f64());
    let largest = tried.fold(start, f64::max);
    let rates = ((largest / start).ln() / (1.0 + PRECISION).ln()).ceil() + 1.0;
    let grid = rates * f64::from(LOOK);
    let sent = server.stop()?.len() as f64;
    let inside = rate("req_per_s_inside");
    let written =
        |value: Option<f64>| value.map_or("—".to_owned(), |value| format!("{value:.0}"));
    let unsettled = rate("req_per_s_unsettled").map(|from| {
        let to = rate("req_per_s_unsettled_to").unwrap_or(from);
        format!("{from:.0} to {to:.0}")
    });
    Ok(vec![
        format!("{stations} of {service_ms} ms"),
        target,
        format!("{truth:.1}"),
        written(inside),
        inside
            .map_or("—".to_owned(), |inside| format!("{:+.1} %", (inside / truth - 1.0) * 100.0)),
        written(rate("req_per_s_outside")),
        unsettled.unwrap_or_else(|| "—".to_owned()),
        format!("{sent:.0}"),
        format!("{grid:.0}"),
        format!("{:.2}", sent / grid),
    ])
}
