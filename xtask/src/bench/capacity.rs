//! Whether the search for the capacity finds what is known beforehand, and with how many requests: of
//! queues before some stations, at random arrivals, at even ones and in users, and of the slots of
//! the embedded engine.

use super::lab::Lab;
use super::short_search;
use super::table::Table;
use anyhow::{Context as _, Result};
use ifm_truth::paced::queue;
use serde_json::Value;

const NS_PER_MS: u64 = 1_000_000;
/// Requests that the true rate is played with, at each rate that is tried.
const PLAYED: usize = 400_000;
/// The first rate of each search at random arrivals, as a share of all that the stations can do.
const START_SHARE: f64 = 0.25;
/// The precision of a search for a rate, and the step of the grid that it is compared with.
const PRECISION: f64 = 0.05;
/// Requests of a look at random arrivals, and how many looks there are at most. With 5,000 a search takes
/// 6 minutes and the whole benchmark an hour; a server that is started for it ends after 10 minutes.
const LOOK: u32 = 1_000;
const LOOKS: u32 = 4;
/// Requests of a look where nothing is random, and of one at the engine.
const EVEN_LOOK: u32 = 150;
const SLOTS_LOOK: u32 = 40;
/// Requests that the engine computes at once.
const SLOTS: u32 = 20;

/// Stations, milliseconds that each answer holds one, the percentile of the TTFT that is limited, and
/// the wait beyond the service that it may be, milliseconds.
const QUEUES: [(u32, u64, f64, u64); 3] = [(2, 4, 75.0, 4), (4, 8, 75.0, 4), (8, 16, 90.0, 8)];

const NOTE: &str = "Arrivals at a number of stations, each busy for the same time with an answer. Random \
    arrivals (Poisson): the true rate is that of a queue that is played. Even arrivals: all that the \
    stations can do. Users: as many as wait no longer than the limit allows. Slots: the embedded engine \
    computes 20 requests at once, of unlike lengths, and the limit is half of what one user more \
    waits. The answer is the largest load that \
    is shown to be inside; behind it the smallest that is shown to be outside, and the loads between \
    them that no number of looks settled. Requests: all that the server answered, warm-up, repeated \
    looks and the second look at both ends included (for the engine: what the search reports). The grid has \
    one look at each load from the first to the largest that the search tried, rates 5 % apart, users one \
    by one. Looks end sooner where the target is surely missed.";

/// One search with a known answer.
struct Known {
    what: String,
    target: String,
    /// In the unit of the search.
    truth: f64,
    answer: Value,
    /// The first load that is tried; users begin with one.
    start: Option<f64>,
    /// Requests of a look.
    look: u32,
    sent: f64,
}

/// Runs the benchmark.
///
/// # Errors
/// When a search fails, or says something else than its schema.
pub fn run(lab: &Lab, say: &mut dyn FnMut(&str)) -> Result<Vec<Table>> {
    let short = short_search::run(lab, say)?;
    let columns = [
        "server",
        "target",
        "truth",
        "answer",
        "off",
        "outside",
        "not settled",
        "requests",
        "grid",
        "share",
    ];
    let mut table = Table::new("Capacity that is known", NOTE, &columns);
    add(&mut table, say, even(lab)?)?;
    add(&mut table, say, users(lab)?)?;
    add(&mut table, say, slots(lab)?)?;
    // Only random arrivals differ from one repeat to the next.
    for repeat in 0..lab.repeats {
        for queue in QUEUES {
            add(&mut table, say, random(lab, queue, repeat as u64 + 1)?)?;
        }
    }
    Ok(vec![short, table])
}

fn random(
    lab: &Lab,
    (stations, service_ms, percentile, wait_ms): (u32, u64, f64, u64),
    seed: u64,
) -> Result<Known> {
    let limit = (percentile, wait_ms * NS_PER_MS);
    let start = (START_SHARE * f64::from(stations) / service_ms as f64 * 1e3).round();
    let target = format!("ttft:p{percentile}<{}ms", service_ms + wait_ms);
    let flags = [
        "--by=rate".to_owned(),
        format!("--start={start:.0}"),
        format!("--precision={PRECISION}"),
        format!("--requests={LOOK}"),
        format!("--looks={LOOKS}"),
        format!("--seed={seed}"),
    ];
    let (answer, sent) = search(lab, (stations, service_ms), &target, &flags)?;
    Ok(Known {
        what: format!("{stations} of {service_ms} ms, random"),
        target,
        truth: queue::rate_inside(stations, service_ms * NS_PER_MS, limit, PLAYED, seed),
        answer,
        start: Some(start),
        look: LOOK,
        sent,
    })
}

/// Requests at equal distances do not wait up to what the stations can do, and above that each waits
/// longer than the one before.
fn even(lab: &Lab) -> Result<Known> {
    let (stations, service_ms, start) = (2, 16, 10.0);
    let target = "ttft:p75<24ms".to_owned();
    let flags = ["--by=rate", "--arrivals=constant", "--start=10"].map(str::to_owned);
    let requests = [format!("--requests={EVEN_LOOK}")];
    let (answer, sent) =
        search(lab, (stations, service_ms), &target, &[&flags[..], &requests].concat())?;
    Ok(Known {
        what: format!("{stations} of {service_ms} ms, even"),
        target,
        truth: f64::from(stations) / service_ms as f64 * 1e3,
        answer,
        start: Some(start),
        look: EVEN_LOOK,
        sent,
    })
}

/// Nine rounds of waiting and one of service, and half of what one user more would add.
fn users(lab: &Lab) -> Result<Known> {
    let (stations, service_ms, rounds) = (2, 16, 9);
    let limit_ms = (rounds + 1) * service_ms + service_ms / (2 * u64::from(stations));
    let target = format!("ttft:p75<{limit_ms}ms");
    let (answer, sent) =
        search(lab, (stations, service_ms), &target, &[format!("--requests={EVEN_LOOK}")])?;
    let wait_ns = (limit_ms - service_ms) * NS_PER_MS;
    Ok(Known {
        what: format!("{stations} of {service_ms} ms, users"),
        target,
        truth: f64::from(queue::users_inside(stations, service_ms * NS_PER_MS, wait_ns)),
        answer,
        start: None,
        look: EVEN_LOOK,
        sent,
    })
}

/// Of as many users as there are slots each is admitted as soon as it asks; of one more, one always
/// waits for an answer to end, on average the part of an answer that falls to one slot. Half of that
/// part is the limit. The answers are of unlike lengths, so that their ends do not fall together.
fn slots(lab: &Lab) -> Result<Known> {
    let engine = lab.engine(SLOTS)?;
    let url = engine.url.clone();
    let load = "--workload=16/96-320".to_owned();
    let words = ["run".to_owned(), url.clone(), load.clone()];
    let full = [format!("--concurrency={SLOTS}"), "--requests=80".to_owned()];
    let full = lab.json([&words[..], &full].concat())?;
    let answer_s = &full["levels"][0]["latency"]["e2e_s"]["mean"];
    let answer_s = answer_s.as_f64().context("a run without answers")?;
    let target = format!("ttft:p75<{:.3}ms", 1e3 * answer_s / f64::from(SLOTS) / 2.0);
    let flags = ["--looks=3", "--no-scouts"].map(str::to_owned);
    let flags = [&flags[..], &[format!("--requests={SLOTS_LOOK}")]].concat();
    let flags = [&flags[..], &[load, format!("--slo={target}")]].concat();
    let answer = lab.search(&url, &flags)?;
    drop(engine);
    let loads = answer["loads"].as_array().context("an answer without loads")?;
    let sent = loads.iter().filter_map(|load| load["requests"].as_f64()).sum();
    Ok(Known {
        what: format!("engine with {SLOTS} slots"),
        target,
        truth: f64::from(SLOTS),
        answer,
        start: None,
        look: SLOTS_LOOK,
        sent,
    })
}

/// Searches a queue before some stations; the answer, and how many requests were answered.
fn search(
    lab: &Lab,
    (stations, service_ms): (u32, u64),
    target: &str,
    flags: &[String],
) -> Result<(Value, f64)> {
    let server = lab.serve_with(true, &["--stations".to_owned(), stations.to_string()])?;
    let url = format!("http://{}/pace/ttft_ms={service_ms}/v1", server.address);
    let load = ["--workload=16/1".to_owned(), format!("--slo={target}"), "--no-scouts".to_owned()];
    let answer = lab.search(&url, &[&load[..], flags].concat())?;
    Ok((answer, server.stop()?.len() as f64))
}

fn add(table: &mut Table, say: &mut dyn FnMut(&str), known: Known) -> Result<()> {
    let row = row(&known)?;
    say(&row.join(" | "));
    table.push(row);
    Ok(())
}

fn row(known: &Known) -> Result<Vec<String>> {
    let Known { truth, answer, sent, .. } = known;
    let axis = if known.start.is_some() { "req_per_s" } else { "users" };
    let load = |name: &str| answer.get(format!("{axis}_{name}")).and_then(Value::as_f64);
    let loads = answer["loads"].as_array().context("an answer without loads")?;
    let asked = if known.start.is_some() { "req_per_s_asked" } else { "users" };
    let tried = loads.iter().filter_map(|load| load[asked].as_f64());
    let largest = tried.fold(known.start.unwrap_or(1.0), f64::max);
    let grid = match known.start {
        Some(start) => {
            let rates = ((largest / start).ln() / (1.0 + PRECISION).ln()).ceil() + 1.0;
            rates * f64::from(known.look)
        }
        None => {
            let users = 1..=largest as u32;
            users.map(|users| f64::from(known.look.max(4 * users) + users)).sum()
        }
    };
    let inside = load("inside");
    let written =
        |value: Option<f64>| value.map_or("—".to_owned(), |value| format!("{value:.0}"));
    let unsettled = load("unsettled").map(|from| {
        let to = load("unsettled_to").unwrap_or(from);
        format!("{from:.0} to {to:.0}")
    });
    Ok(vec![
        known.what.clone(),
        known.target.clone(),
        format!("{truth:.1}"),
        written(inside),
        inside
            .map_or("—".to_owned(), |inside| format!("{:+.1} %", (inside / truth - 1.0) * 100.0)),
        written(load("outside")),
        unsettled.unwrap_or_else(|| "—".to_owned()),
        format!("{sent:.0}"),
        format!("{grid:.0}"),
        format!("{:.2}", sent / grid),
    ])
}
