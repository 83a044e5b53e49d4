//! Answers that are known beforehand: what the program says of servers whose capacity, failures and
//! delays are given.

use crate::support::{assert_measured, json, paced, run, stderr, stdout};
use ifm_truth::case::{Case, Class};
use ifm_truth::paced::{Pace, Paced, PacedOptions, run_paced};
use ifm_truth::scripted::{Scripted, ScriptedOptions};
use ifm_truth::slower_and_slower;
use serde_json::Value;
use std::path::Path;

const MS: u64 = 1_000_000;

/// A server with a queue in front of some stations, each busy for so long with an answer of one
/// token.
fn stations(count: u32, service_ms: u64) -> Paced {
    let service_ns = service_ms * MS;
    let pace = Pace { ttft_ns: service_ns, itl_ns: 0, coalesce: false, burst: 1, usage: true };
    let options = PacedOptions::for_benchmarks(pace);
    run_paced(PacedOptions { stations: Some(count), ..options }).unwrap()
}

/// How exact a search is, and with how few requests, is proved where time is made up (`course`) and
/// measured by the benchmark `capacity`: here that a report of the stored run says what the search said.
#[test]
fn a_report_of_a_search_says_what_the_search_said() {
    // One station: the second user always waits for the first, twice as long as one alone.
    let (folder, answer) = slower_and_slower(|factor| {
        let folder = tempfile::tempdir().unwrap();
        let server = stations(1, 20 * factor);
        let url = format!("http://{}", server.address());
        let slo = format!("ttft:p50<{}ms", 30 * factor);
        let words = ["capacity", &url, "-W", "16/1", "--slo", &slo, "-n", "12", "--price", "1.8"];
        let flags = ["--prompt-lengths", "tokenizer", "--json"];
        let output = run(folder.path(), &[&words[..], &flags].concat());
        assert_measured(&output);
        let answer = json(&output);
        match (answer["users_inside"].as_u64(), answer["users_outside"].as_u64()) {
            (Some(1), Some(2)) => Ok((folder, answer)),
            found => Err(format!("{found:?}")),
        }
    })
    .unwrap();
    let report = json(&run(folder.path(), &["report", "last", "--format", "json"]));
    let users = &report["answers"]["users"];
    assert_eq!((&users["users"], &users["is_searched"]), (&1.into(), &true.into()));
    assert_eq!(users["next_worse"]["users"], 2, "{users}");
    let file = folder.path().join("page.md");
    let words = ["report", "last", "-o", file.to_str().unwrap()];
    assert_eq!(run(folder.path(), &words).status.code(), Some(0));
    let printed = stdout(&run(folder.path(), &["report", "last", "--format", "md"]));
    let cost = answer["cost_per_million_output_tokens"].as_f64().unwrap();
    for page in [std::fs::read_to_string(file).unwrap(), printed] {
        assert!(page.contains(&format!("${cost:.2}")), "{cost}: {page}");
    }
}

/// Four tokens at once: an answer that costs no time.
const QUICK: &str = "
[quick]
four tokens at once
the usual stream
    tokens 0 4 5 0
    tail 5 4
    complete 5 5 4 4
";

#[test]
fn each_kind_of_failure_is_listed_with_its_number() {
    const FAILURES: [&str; 4] =
        ["http503_retry_after", "truncated_rst", "truncated_clean", "stall_midstream"];
    let expect = [
        ("ok", 80),
        ("http_error", 5),
        ("transport_error", 5),
        ("truncated", 5),
        ("timeout_idle", 5),
    ];
    let mut cases: Vec<Case> = ifm_truth::cases::suite();
    cases.extend(ifm_truth::script::read(Class::Plain, QUICK).unwrap());
    // Of each twenty requests sixteen go well and each failure comes once.
    let turns: Vec<&str> = FAILURES
        .iter()
        .flat_map(|failure| [*failure, "quick", "quick", "quick", "quick"])
        .collect();
    // A host that stalls for longer than a server may be silent causes silences of its own.
    let (folder, output, document) = slower_and_slower(|factor| {
        let folder = tempfile::tempdir().unwrap();
        let options = ScriptedOptions { turns: turns.clone(), ..ScriptedOptions::for_tests() };
        let server = Scripted::start(cases.clone(), options).unwrap();
        let (url, silence) = (server.turns_url(), format!("{}ms", 400 * factor));
        let words = ["run", &url, "-W", "16/4", "-n", "100", "-c", "20", "-w", "0"];
        let flags = ["--prompt-lengths", "tokenizer", "--idle-timeout", &silence];
        let output = run(folder.path(), &[&words[..], &flags].concat());
        assert_measured(&output);
        let document = json(&run(folder.path(), &["report", "last", "--format", "json"]));
        let found = &document["levels"][0]["requests"]["outcomes"];
        let is_right = expect.iter().all(|(kind, count)| found[*kind] == *count);
        if is_right { Ok((folder, output, document)) } else { Err(found.to_string()) }
    })
    .unwrap();
    let requests = &document["levels"][0]["requests"];
    assert_eq!(requests["outcomes"].as_object().unwrap().len(), expect.len());
    assert_eq!((&requests["sent"], &requests["failed"]), (&100.into(), &20.into()));
    // What people read says the same, kind by kind.
    let markdown = stdout(&run(folder.path(), &["report", "last", "--format", "md"]));
    for text in [stdout(&output), markdown] {
        // Lines are broken where the screen ends, and Markdown escapes what it would read.
        let text = text.replace('\\', "").split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains("20 of 100 requests failed"), "{text}");
        for (kind, count) in &expect[1..] {
            let told = [format!("{kind} ({count})"), format!("{kind} ({count} with status 503)")];
            assert!(told.iter().any(|told| text.contains(told)), "{kind}: {text}");
        }
    }
}

#[test]
fn with_a_limit_in_flight_latency_from_due_grows_and_from_start_does_not() {
    slower_and_slower(|factor| {
        let folder = tempfile::tempdir().unwrap();
        let server = paced(50 * factor, 0);
        let url = format!("http://{}", server.address());
        // Five in flight, 50 ms each: of the requests that are due half can be sent.
        let rate = (200.0 / factor as f64).to_string();
        let words = ["run", &url, "-W", "16/1", "--rate", &rate, "--arrivals", "constant"];
        let flags = ["-n", "120", "-c", "5", "-w", "0", "--prompt-lengths", "tokenizer"];
        let output = run(folder.path(), &[&words[..], &flags].concat());
        assert_measured(&output);
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
        // Each request waits 10 - 5 ms longer than the one before.
        let slope = slope(requests.iter().map(|(_, _, from_due_ms)| *from_due_ms)) / factor as f64;
        let mut own: Vec<f64> = requests.iter().map(|(_, e2e_ms, _)| *e2e_ms).collect();
        own.sort_unstable_by(f64::total_cmp);
        let (fastest, middle) = (own[0] / factor as f64, own[60] / factor as f64);
        assert!(fastest >= 50.0, "no answer takes less: {fastest}");
        // So do the percentiles that are reported.
        let document = json(&run(folder.path(), &["report", "last", "--format", "json"]));
        let latency = &document["levels"][0]["latency"];
        let p50 = |name: &str| latency[name]["p50"].as_f64();
        let (from_due, from_start) = (p50("e2e_s_from_due").unwrap(), p50("e2e_s").unwrap());
        match (3.5..7.5).contains(&slope) && middle < 75.0 && from_due > 3.0 * from_start {
            true => Ok(()),
            false => Err(format!("{slope} {middle} {from_due} {from_start}")),
        }
    })
    .unwrap();
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
    // Half as slow again, and as fast: by how much more a host shakes both is nothing to slower ones.
    let gate = |folder: &Path, [base, other]: [&Paced; 2], more: &[&str]| {
        let urls = [base, other].map(|server| format!("http://{}", server.address()));
        let words = ["gate", "--interleave", &urls[0], &urls[1], "--max", "ttft.p50@4=+20%"];
        let load = ["--", "-c", "4", "-n", "24", "-W", "16/2", "--prompt-lengths", "tokenizer"];
        run(folder, &[&words[..], more, &load].concat())
    };
    slower_and_slower(|factor| {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let (base, slower) = (paced(40 * factor, 0), paced(60 * factor, 0));
        let words = ["--repeat", "3", "--json", "--junit", "gate.xml"];
        let failed = gate(folder, [&base, &slower], &words);
        let said = stderr(&failed);
        if failed.status.code() != Some(1) {
            return Err(format!("{} {said}", stdout(&failed)));
        }
        let document = json(&failed);
        assert_eq!(document["state"], "fail");
        let runs = |side: &str| document[side]["runs"].as_array().unwrap().len();
        assert_eq!((runs("run"), runs("baseline")), (3, 3), "{document}");
        let xml = std::fs::read_to_string(folder.join("gate.xml")).unwrap();
        assert!(xml.contains("failures=\"1\""), "{xml}");
        // The command that repeats it measures both again.
        assert!(xml.contains("gate --interleave http") && xml.contains("--repeat 3"), "{xml}");
        // In the order that lets a drift fall on both alike, as ordinary runs.
        let order: Vec<bool> = said
            .lines()
            .filter(|line| line.starts_with("measuring "))
            .map(|line| line.ends_with(&slower.address().to_string()))
            .collect();
        assert_eq!(order, [false, true, true, false, false, true], "{said}");
        assert_eq!(stdout(&run(folder, &["runs", "list"])).matches("complete").count(), 6);
        Ok(())
    })
    .unwrap();

    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    slower_and_slower(|factor| {
        let (base, same) = (paced(20 * factor, 0), paced(20 * factor, 0));
        let alike = gate(folder, [&base, &same], &["--repeat", "2"]);
        match alike.status.code() {
            Some(0 | 4) => Ok(()),
            code => Err(format!("{code:?} {} {}", stdout(&alike), stderr(&alike))),
        }
    })
    .unwrap();

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
