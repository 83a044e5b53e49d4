//! Answers that are known beforehand: what the program says of servers whose capacity, failures and
//! delays are given.

use crate::support::{paced, run, serve, stderr, stdout};
use ifm_truth::case::{Case, Class};
use ifm_truth::paced::{Pace, Paced, PacedOptions, queue, run_paced};
use ifm_truth::script::Script;
use ifm_truth::scripted::{Scripted, ScriptedOptions};
use serde_json::Value;
use std::io::{Read, Write};
use std::process::Output;
use std::sync::{Mutex, MutexGuard, PoisonError};

const MS: u64 = 1_000_000;

/// Held by each search, so that those of this file do not take each other's processors.
static SEARCHING: Mutex<()> = Mutex::new(());

fn search_alone() -> MutexGuard<'static, ()> {
    // A search that failed leaves nothing behind.
    SEARCHING.lock().unwrap_or_else(PoisonError::into_inner)
}

fn json(output: &Output) -> Value {
    serde_json::from_str(&stdout(output))
        .unwrap_or_else(|error| panic!("{error}: {} {}", stdout(output), stderr(output)))
}

/// A server with a queue in front of some stations, each busy for so long with an answer of one
/// token.
fn stations(count: u32, service_ms: u64) -> Paced {
    let service_ns = service_ms * MS;
    let pace = Pace { ttft_ns: service_ns, itl_ns: 0, coalesce: false, burst: 1, usage: true };
    let options = PacedOptions::for_benchmarks(pace);
    run_paced(PacedOptions { stations: Some(count), ..options }).unwrap()
}

#[test]
fn a_known_capacity_is_found_with_fewer_than_half_the_requests_of_a_grid() {
    const LOOK: u64 = 150;
    let _alone = search_alone();
    let folder = tempfile::tempdir().unwrap();
    let (count, service_ms, rounds) = (2, 16, 9);
    let server = stations(count, service_ms);
    // Nine rounds of waiting and one of service, and half of what one user more would add.
    let limit_ms = (rounds + 1) * service_ms + service_ms / (2 * u64::from(count));
    let truth = queue::users_inside(count, service_ms * MS, (limit_ms - service_ms) * MS);
    assert_eq!(truth, 20);
    let (url, slo) = (format!("http://{}", server.address()), format!("ttft:p75<{limit_ms}ms"));
    let words = ["capacity", &url, "-W", "16/1", "--slo", &slo, "--prompt-lengths", "tokenizer"];
    let flags = ["-n", "150", "--json", "--price", "1.8"];
    let output = run(folder.path(), &[&words[..], &flags].concat());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let answer = json(&output);
    let inside = answer["users_inside"].as_u64().unwrap();
    assert!(inside.abs_diff(u64::from(truth)) * 20 <= u64::from(truth), "{answer}");
    // All that the server answered, warm-up and repeated looks too, against one look each at every
    // number of users up to the largest that the search tried, since the answer is exact to a user.
    let loads = answer["loads"].as_array().unwrap();
    let largest = loads.iter().map(|load| load["users"].as_u64().unwrap()).max().unwrap();
    let grid: u64 = (1..=largest).map(|users| LOOK.max(4 * users) + users).sum();
    let sent = server.stop().served.len() as u64;
    println!("capacity {inside} of {truth}: {sent} requests, a grid {grid}");
    assert!(2 * sent < grid, "{sent} of {grid}: {answer}");
    // A report of the stored run says the same: load, what is outside, and price.
    let report = json(&run(folder.path(), &["report", "last", "--format", "json"]));
    let users = &report["answers"]["users"];
    assert_eq!((&users["users"], &users["is_searched"]), (&answer["users_inside"], &true.into()));
    assert_eq!(users["next_worse"]["users"], answer["users_outside"], "{users}");
    let file = folder.path().join("page.md");
    let words = ["report", "last", "-o", file.to_str().unwrap()];
    assert_eq!(run(folder.path(), &words).status.code(), Some(0));
    let printed = stdout(&run(folder.path(), &["report", "last", "--format", "md"]));
    let cost = answer["cost_per_million_output_tokens"].as_f64().unwrap();
    for page in [std::fs::read_to_string(file).unwrap(), printed] {
        assert!(page.contains(&format!("${cost:.2}")), "{cost}: {page}");
    }
}

/// Requests that the embedded engine has answered in full, by its own count.
fn answered(url: &str) -> u64 {
    let address = url.strip_prefix("http://").unwrap();
    let mut stream = std::net::TcpStream::connect(address).unwrap();
    let ask = format!("GET /metrics HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(ask.as_bytes()).unwrap();
    let mut page = String::new();
    stream.read_to_string(&mut page).unwrap();
    let counts = page.lines().filter(|line| line.starts_with("vllm:request_success_total"));
    counts.map(|line| line.rsplit(' ').next().unwrap().parse::<f64>().unwrap() as u64).sum()
}

/// The engine computes 20 requests at once, however fast it is. Of 20 users each is admitted as soon
/// as it asks, and waits for a pass or two; of 21 one always waits for an answer to end, on average
/// the 20th part of an answer: ten passes here. A limit of half that part lies between the two
/// by a factor of two or three on either side. The answers are of unlike lengths, so that their ends
/// do not fall together.
#[test]
fn the_slots_of_the_embedded_engine_are_found_with_fewer_than_half_the_requests_of_a_grid() {
    const SLOTS: u64 = 20;
    const LOOK: u64 = 40;
    let _alone = search_alone();
    let folder = tempfile::tempdir().unwrap();
    let (_server, url) = serve(folder.path(), &["--max-batch", "20"]);
    let load = [&url, "-W", "16/96-320", "--json"];
    let full =
        json(&run(folder.path(), &[&["run"], &load[..], &["-c", "20", "-n", "80"]].concat()));
    let answer_s = full["levels"][0]["latency"]["e2e_s"]["mean"].as_f64().unwrap();
    let slo = format!("ttft:p75<{:.3}ms", 1e3 * answer_s / SLOTS as f64 / 2.0);
    let before = answered(&url);
    let words = ["-n", "40", "--looks", "3", "--slo", &slo];
    let output = run(folder.path(), &[&["capacity"], &load[..], &words].concat());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let answer = json(&output);
    let inside = answer["users_inside"].as_u64().unwrap();
    assert!(inside.abs_diff(SLOTS) * 20 <= SLOTS, "{slo}: {answer}");
    let loads = answer["loads"].as_array().unwrap();
    let largest = loads.iter().map(|load| load["users"].as_u64().unwrap()).max().unwrap();
    let grid: u64 = (1..=largest).map(|users| LOOK.max(4 * users) + users).sum();
    let sent = answered(&url) - before;
    println!("capacity {inside} of {SLOTS} ({slo}): {sent} requests, a grid {grid}");
    assert!(2 * sent < grid, "{sent} of {grid}: {answer}");
}

#[test]
fn a_known_rate_is_found_with_fewer_than_half_the_requests_of_a_grid() {
    const LOOK: f64 = 150.0;
    const STEP: f64 = 1.05;
    let _alone = search_alone();
    let folder = tempfile::tempdir().unwrap();
    // Two stations, 16 ms each: 125 requests per second at equal distances wait for nobody, and
    // above that each waits longer than the one before.
    let (server, truth) = (stations(2, 16), 125.0);
    let url = format!("http://{}", server.address());
    let words = ["capacity", &url, "-W", "16/1", "--slo", "ttft:p75<24ms", "--by", "rate"];
    let flags = ["--arrivals", "constant", "--start", "10", "-n", "150", "--json"];
    let output =
        run(folder.path(), &[&words[..], &flags, &["--prompt-lengths", "tokenizer"]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let answer = json(&output);
    let inside = answer["req_per_s_inside"].as_f64().unwrap();
    let outside = answer["req_per_s_outside"].as_f64().unwrap();
    // A bracket of 5 % around the truth, and what the host's own pauses may add.
    assert!((inside / truth - 1.0).abs() <= 0.05 && outside > inside, "{answer}");
    // A grid of the same resolution: each rate 5 % above the one before, from the first to the
    // largest that the search tried.
    let loads = answer["loads"].as_array().unwrap();
    let largest = loads.iter().map(|load| load["req_per_s_asked"].as_f64().unwrap());
    let largest = largest.fold(0.0, f64::max);
    let grid = ((largest / 10.0).ln() / STEP.ln()).ceil() * (LOOK + 4.0);
    let sent = server.stop().served.len() as f64;
    println!("capacity {inside} to {outside} of {truth}: {sent} requests, a grid {grid}");
    assert!(2.0 * sent < grid, "{sent} of {grid}: {answer}");
}

/// Arrivals at random, where waits depend on each other and no single look tells much: what is known
/// at the end is a bracket, and it holds the truth.
#[test]
fn the_bracket_of_random_arrivals_holds_the_truth() {
    let _alone = search_alone();
    let folder = tempfile::tempdir().unwrap();
    let (count, service_ms) = (2, 8);
    let server = stations(count, service_ms);
    // Three of four wait no longer than one answer takes.
    let limit = (75.0, service_ms * MS);
    let truth = queue::rate_inside(count, service_ms * MS, limit, 200_000, 1);
    assert!((180.0..200.0).contains(&truth), "{truth}");
    let url = format!("http://{}", server.address());
    let words = ["capacity", &url, "-W", "16/1", "--slo", "ttft:p75<16ms", "--by", "rate"];
    let search = ["--start", "160", "-n", "800", "--looks", "4", "--precision", "0.1"];
    let flags = ["--seed", "7", "--prompt-lengths", "tokenizer", "--json"];
    let output = run(folder.path(), &[&words[..], &search, &flags].concat());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let answer = json(&output);
    let inside = answer["req_per_s_inside"].as_f64().unwrap();
    let outside = answer["req_per_s_outside"].as_f64().unwrap();
    println!("capacity {inside} to {outside} of {truth:.1}");
    // What the host adds to each wait moves the truth by a little.
    assert!(inside <= 1.03 * truth && 0.97 * truth <= outside, "{truth}: {answer}");
    assert!(outside <= 1.6 * inside, "no bracket at all: {answer}");
}

/// Four tokens at once: an answer that costs no time.
fn quick() -> Case {
    Script::chat("quick", Class::Plain, "four tokens at once", "the usual stream")
        .tokens(0..4, 5, 0)
        .tail(5, 4)
        .complete(5, 5, 4, 4)
        .case()
}

#[test]
fn each_kind_of_failure_is_listed_with_its_number() {
    const FAILURES: [&str; 4] =
        ["http503_retry_after", "truncated_rst", "truncated_clean", "stall_midstream"];
    let folder = tempfile::tempdir().unwrap();
    let mut cases: Vec<Case> = ifm_truth::cases::suite();
    cases.push(quick());
    // Of each twenty requests sixteen go well and each failure comes once.
    let turns: Vec<&str> = FAILURES
        .iter()
        .flat_map(|failure| [*failure, "quick", "quick", "quick", "quick"])
        .collect();
    let options = ScriptedOptions { turns, ..ScriptedOptions::for_tests() };
    let server = Scripted::start(cases, options).unwrap();
    let url = server.turns_url();
    let words = ["run", &url, "-W", "16/4", "-n", "300", "-c", "20", "-w", "0"];
    let flags = ["--prompt-lengths", "tokenizer", "--idle-timeout", "2s"];
    let output = run(folder.path(), &[&words[..], &flags].concat());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let expect = [
        ("ok", 240),
        ("http_error", 15),
        ("transport_error", 15),
        ("truncated", 15),
        ("timeout_idle", 15),
    ];
    let document = json(&run(folder.path(), &["report", "last", "--format", "json"]));
    let requests = &document["levels"][0]["requests"];
    let found = requests["outcomes"].as_object().unwrap();
    assert_eq!(found.len(), expect.len(), "{found:?}");
    for (kind, count) in expect {
        assert_eq!(found.get(kind), Some(&count.into()), "{kind}: {found:?}");
    }
    assert_eq!((&requests["sent"], &requests["failed"]), (&300.into(), &60.into()));
    // What people read says the same, kind by kind.
    let markdown = stdout(&run(folder.path(), &["report", "last", "--format", "md"]));
    for text in [stdout(&output), markdown] {
        // Lines are broken where the screen ends, and Markdown escapes what it would read.
        let text = text.replace('\\', "").split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains("60 of 300 requests failed"), "{text}");
        for (kind, count) in &expect[1..] {
            let told = [format!("{kind} ({count})"), format!("{kind} ({count} with status 503)")];
            assert!(told.iter().any(|told| text.contains(told)), "{kind}: {text}");
        }
    }
}

#[test]
fn behind_a_limit_in_flight_latency_from_due_grows_and_from_start_does_not() {
    let folder = tempfile::tempdir().unwrap();
    let server = paced(100, 0);
    let url = format!("http://{}", server.address());
    // Five in flight, 0.1 s each: 50 of the 100 requests that are due each second can be sent.
    let words = ["run", &url, "-W", "16/1", "--rate", "100", "--arrivals", "constant", "-n", "120"];
    let flags = ["-c", "5", "-w", "0", "--prompt-lengths", "tokenizer"];
    let output = run(folder.path(), &[&words[..], &flags].concat());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let lines = run(folder.path(), &["report", "last", "--format", "requests"]);
    let mut requests: Vec<(u64, f64, f64)> = stdout(&lines)
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .map(|line| {
            let e2e_ms = line["e2e_ms"].as_f64().unwrap();
            let from_due_ms = line["e2e_ms_from_due"].as_f64().unwrap_or(e2e_ms);
            (line["stamps"]["due_ns"].as_u64().unwrap(), e2e_ms, from_due_ms)
        })
        .collect();
    requests.sort_unstable_by_key(|(due_ns, ..)| *due_ns);
    assert_eq!(requests.len(), 120);
    // 1/50 - 1/100 of a second more for each request.
    let slope = slope(requests.iter().map(|(_, _, from_due_ms)| *from_due_ms));
    assert!((7.0..15.0).contains(&slope), "{slope} ms more for each request");
    let mut own: Vec<f64> = requests.iter().map(|(_, e2e_ms, _)| *e2e_ms).collect();
    own.sort_unstable_by(f64::total_cmp);
    assert!(own[0] >= 100.0 && own[60] < 150.0, "from start: {} and {}", own[0], own[60]);
    // So do the percentiles that are reported.
    let document = json(&run(folder.path(), &["report", "last", "--format", "json"]));
    let latency = &document["levels"][0]["latency"];
    let p50 = |name: &str| latency[name]["p50"].as_f64();
    let (from_due, from_start) = (p50("e2e_s_from_due").unwrap(), p50("e2e_s").unwrap());
    assert!(from_due > 3.0 * from_start, "{from_due} and {from_start}");
}

/// How much a value grows from one place to the next, by least squares.
fn slope(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let middle = (values.len() - 1) as f64 / 2.0;
    let (mut products, mut squares) = (0.0, 0.0);
    for (place, value) in values.enumerate() {
        let from_middle = place as f64 - middle;
        products += from_middle * value;
        squares += from_middle * from_middle;
    }
    products / squares
}

#[test]
fn a_gate_measures_both_servers_in_turn() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let (base, same, slower) = (paced(40, 0), paced(40, 0), paced(60, 0));
    let gate = |server: &Paced, more: &[&str]| {
        let urls = [&base, server].map(|server| format!("http://{}", server.address()));
        let words = ["gate", "--interleave", &urls[0], &urls[1], "--max", "ttft.p50@4=+20%"];
        let load = ["--", "-c", "4", "-n", "40", "-W", "16/2", "--prompt-lengths", "tokenizer"];
        run(folder, &[&words[..], more, &load].concat())
    };
    let failed = gate(&slower, &["--repeat", "3", "--json", "--junit", "gate.xml"]);
    assert_eq!(failed.status.code(), Some(1), "{} {}", stdout(&failed), stderr(&failed));
    let document = json(&failed);
    assert_eq!(document["state"], "fail");
    let runs = |side: &str| document[side]["runs"].as_array().unwrap().len();
    assert_eq!((runs("run"), runs("baseline")), (3, 3), "{document}");
    let xml = std::fs::read_to_string(folder.join("gate.xml")).unwrap();
    assert!(xml.contains("failures=\"1\""), "{xml}");
    // The command that repeats it measures both again.
    assert!(xml.contains("gate --interleave http") && xml.contains("--repeat 3"), "{xml}");
    // In the order that lets a drift fall on both alike, as ordinary runs.
    let said = stderr(&failed);
    let order: Vec<bool> = said
        .lines()
        .filter(|line| line.starts_with("measuring "))
        .map(|line| line.ends_with(&slower.address().to_string()))
        .collect();
    assert_eq!(order, [false, true, true, false, false, true], "{said}");
    assert_eq!(stdout(&run(folder, &["runs", "list"])).matches("complete").count(), 6);

    let alike = gate(&same, &["--repeat", "2"]);
    assert_ne!(alike.status.code(), Some(1), "{} {}", stdout(&alike), stderr(&alike));
    assert!([Some(0), Some(4)].contains(&alike.status.code()), "{}", stderr(&alike));

    for words in [
        &["gate", "--interleave", "http://127.0.0.1:9"][..],
        &["gate", "last", "--max", "ttft.p50=1s", "--", "-c", "4"],
        &["gate", "--repeat", "2", "--max", "ttft.p50=1s"],
        &["gate", "--baseline", "x", "--interleave", "a", "b", "--max", "ttft.p50=1s"],
    ] {
        assert_eq!(run(folder, words).status.code(), Some(2), "{words:?}");
    }
    let gone = ["gate", "--interleave", "http://127.0.0.1:9", "http://127.0.0.1:9", "--max"];
    let gone = run(folder, &[&gone[..], &["ttft.p50=+5%", "--", "-c", "2"]].concat());
    assert_eq!(gone.status.code(), Some(5), "{}", stderr(&gone));
}
