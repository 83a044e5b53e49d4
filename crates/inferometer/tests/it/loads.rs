//! Open loops and the search for a capacity, as a user runs them.

use crate::support::{assert_measured, json, pace, paced, run, stderr, stdout};
use ifm_truth::paced::{PacedOptions, run_paced};
use ifm_truth::slower_and_slower;
use serde_json::Value;
use std::fs;

#[test]
fn a_rate_is_kept_whatever_the_server_does() {
    let folder = tempfile::tempdir().unwrap();
    let server = paced(100, 1);
    let url = format!("http://{}", server.address());
    let words = ["run", &url, "-W", "16/4", "--rate", "50", "--arrivals", "constant", "-n", "20"];
    let output = run(folder.path(), &[&words[..], &["--json"]].concat());
    assert_measured(&output);
    let document = json(&output);
    let level = &document["levels"][0];
    assert_eq!(level["req_per_s_asked"], 50.0);
    assert!(level.get("concurrency_asked").is_none());
    assert_eq!(level["requests"]["ok"], 20);
    // Five answers of 103 ms are under way at a time. A client that stood still sends what was due
    // meanwhile at once, which makes them more.
    assert!(level["whole"]["concurrency"]["max"].as_u64() >= Some(4), "{level}");
    let lines = run(folder.path(), &["report", "last", "--format", "requests"]);
    let mut due: Vec<u64> = stdout(&lines)
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .filter(|line| line["phase"] == "measure")
        .map(|line| line["stamps"]["due_ns"].as_u64().unwrap())
        .collect();
    due.sort_unstable();
    assert!(due.windows(2).all(|pair| pair[1] - pair[0] == 20_000_000), "{due:?}");
}

#[test]
fn guidellms_sweep_measures_both_ends_and_rates_between() {
    // A host that stood still while many were sent reaches no more with four users than with one, and
    // there is nothing between: it is asked again, of a slower server.
    let levels = slower_and_slower(|factor| {
        let folder = tempfile::tempdir().unwrap();
        let server = paced(50 * factor, 1);
        let url = format!("http://{}", server.address());
        let words = ["sweep", &url, "-W", "16/2", "--profile", "sweep", "--points", "2", "-n", "8"];
        let flags = ["--max-in-flight", "4", "--arrivals", "constant", "--json"];
        let output = run(folder.path(), &[&words[..], &flags].concat());
        assert_measured(&output);
        let document = json(&output);
        let levels = document["levels"].as_array().unwrap().clone();
        let is_by_rate = document["answers"]["at"].get("req_per_s_asked").is_some();
        match levels.len() {
            4 => Ok((levels, is_by_rate)),
            count => Err(format!("{count} levels")),
        }
    });
    let (levels, is_by_rate) = levels.unwrap();
    let users: Vec<_> = levels.iter().filter_map(|l| l["concurrency_asked"].as_u64()).collect();
    assert_eq!(users, [1, 4]);
    let asked: Vec<f64> = levels.iter().filter_map(|l| l["req_per_s_asked"].as_f64()).collect();
    assert!(asked.len() == 2 && asked[0] < asked[1], "{asked:?}");
    assert!(is_by_rate, "rates are the answer");
}

#[test]
fn a_level_that_was_cold_is_measured_again_and_counts_once() {
    // Cold for the 24 requests of one user, warm-up among them.
    let sweep = |factor: u64| {
        let folder = tempfile::tempdir().unwrap();
        let options = PacedOptions::for_benchmarks(pace(40 * factor, 1));
        let later = Some((24, pace(8 * factor, 1)));
        let server = run_paced(PacedOptions { later, ..options }).unwrap();
        let url = format!("http://{}", server.address());
        let words = ["sweep", &url, "-W", "16/4", "-c", "1,2", "-n", "23", "-w", "1", "--json"];
        let flags = ["--prompt-lengths", "tokenizer", "--auto-retry"];
        let output = run(folder.path(), &[&words[..], &flags].concat());
        assert_measured(&output);
        let document = json(&output);
        let levels = document["levels"].as_array().unwrap();
        let users: Vec<_> =
            levels.iter().map(|level| level["concurrency_asked"].as_u64().unwrap()).collect();
        let checks = document["checks"].as_array().unwrap();
        let cold = checks.iter().find(|check| check["id"] == "cold_level").unwrap();
        // The host's delays of single answers are negligible compared with slower ones.
        match (&users[..], cold["state"].as_str()) {
            ([1, 2, 1], Some("passed")) => Ok(document),
            (users, state) => Err(format!("{users:?} {state:?}")),
        }
    };
    let again = slower_and_slower(sweep).unwrap();
    let levels = again["levels"].as_array().unwrap();
    assert_eq!((&levels[0]["measured_again"], levels[2].get("measured_again")), (&2.into(), None));
    assert_eq!(again["run"]["state"], "complete");
    assert_eq!(again.get("repeats"), None, "the cold one is not a repeat");
}

#[test]
fn a_trace_is_replayed_at_its_own_times() {
    let folder = tempfile::tempdir().unwrap();
    let server = paced(2, 1);
    let url = format!("http://{}", server.address());
    let rows: Vec<String> = [0, 40, 50, 300, 310, 600]
        .iter()
        .map(|ms| {
            format!(r#"{{"timestamp":{ms},"input_length":20,"output_length":2,"hash_ids":[{ms}]}}"#)
        })
        .collect();
    fs::write(folder.path().join("trace.jsonl"), rows.join("\n")).unwrap();
    let words =
        ["run", &url, "-W", "mooncake:trace.jsonl?block=32", "--replay=2", "-w", "0", "--json"];
    let output = run(folder.path(), &words);
    assert_measured(&output);
    let document = json(&output);
    assert_eq!(document["run"]["state"], "complete");
    let lines = run(folder.path(), &["report", "last", "--format", "requests"]);
    let mut due: Vec<u64> = stdout(&lines)
        .lines()
        .map(|line| {
            serde_json::from_str::<Value>(line).unwrap()["stamps"]["due_ns"].as_u64().unwrap()
        })
        .collect();
    due.sort_unstable();
    let since: Vec<u64> = due.iter().map(|at| (at - due[0]) / 1_000_000).collect();
    assert_eq!(since, [0, 20, 25, 150, 155, 300], "twice as fast");
}

#[test]
fn a_capacity_lies_between_a_load_inside_and_one_outside() {
    let folder = tempfile::tempdir().unwrap();
    let server = paced(20, 1);
    let url = format!("http://{}", server.address());
    let search = |slo: &str| {
        let words = ["capacity", &url, "-W", "16/2", "--slo", slo, "-n", "12", "--max-users", "3"];
        let output = run(folder.path(), &[&words[..], &["--json"]].concat());
        assert_measured(&output);
        json(&output)
    };
    // The server is as fast for three users as for one.
    let all = search("ttft:p50<1000s");
    assert_eq!((&all["users_inside"], all.get("users_outside")), (&3.into(), None), "{all}");
    assert_eq!(all["is_finished"], true);
    let measured = all["loads"].as_array().map(Vec::len);
    assert_eq!((measured, &all["loads"][0]["users"]), (Some(1), &3.into()), "{all}");
    assert_eq!(
        (&all["scouts"][0]["users"], &all["scouts"][0]["finding"]),
        (&3.into(), &"inside".into())
    );
    // It cannot be faster than 20 ms.
    let none = search("ttft:p50<10ms");
    assert_eq!((none.get("users_inside"), &none["users_outside"]), (None, &1.into()), "{none}");
    assert!(none["limited_by"].as_str().unwrap().starts_with("TTFT p50"), "{none}");
}

/// A server in virtual time: the same on any host. `serve --sim` has the same simulation.
const SIMULATED: &str = "simulated://h100-sxm/llama-3.1-8b?max-num-seqs=16&jitter=0.05";

/// A scout is in the run, and in no answer, check or audit of it.
#[test]
fn a_scout_is_shown_and_is_no_evidence() {
    let folder = tempfile::tempdir().unwrap();
    let flags = ["--slo", "ttft:p75<200ms", "-W", "256/64-192", "--seed", "1"];
    let found = run(folder.path(), &[&["capacity", SIMULATED, "--json"], &flags[..]].concat());
    assert_measured(&found);
    let found = json(&found);
    let (inside, outside) = (&found["users_inside"], &found["users_outside"]);
    assert!(inside.as_u64() < outside.as_u64() && found["budget_s"] == 300.0, "{found}");
    assert!(found["seconds_total"].as_f64().unwrap() < 300.0, "{found}");
    let scouts = found["scouts"].as_array().unwrap();
    assert_eq!(scouts[0]["users"], 8, "{found}");
    let report = json(&run(folder.path(), &["report", "last", "--format", "json"]));
    for scout in scouts {
        let level = &report["levels"][scout["level"].as_u64().unwrap() as usize];
        assert_eq!((&level["scout"], &level["concurrency_asked"]), (&true.into(), &scout["users"]));
        let about = |check: &&Value| check["level"] == scout["level"];
        assert!(!report["warnings"].as_array().unwrap().iter().any(|one| about(&one)), "{report}");
    }
    // Only measured loads are in the answer for another target.
    let stored = ["capacity", "last", "--slo", "ttft:p75<100s", "--json"];
    let stored = json(&run(folder.path(), &stored));
    let levels = report["levels"].as_array().unwrap();
    let largest = |is_scout: bool| {
        let of = levels.iter().filter(|level| (level["scout"] == true) == is_scout);
        of.filter_map(|level| level["concurrency_asked"].as_u64()).max().unwrap()
    };
    assert!(largest(true) > largest(false), "a scout went farther than any measurement");
    let text = stored.to_string();
    assert!(!text.contains(&format!(":{},", largest(true))), "{text}");
    // The long search agrees, and takes several times as long.
    let long = [&["capacity", SIMULATED, "--json", "--no-scouts"], &flags[..]].concat();
    let long = json(&run(folder.path(), &long));
    let users = |document: &Value, key: &str| document[key].as_u64().unwrap();
    assert!(users(&long, "users_inside").abs_diff(users(&found, "users_inside")) <= 1, "{long}");
    assert_eq!(long["scouts"].as_array().map(Vec::len), Some(0));
    let seconds = |document: &Value| document["seconds_total"].as_f64().unwrap();
    assert!(2.0 * seconds(&found) < seconds(&long), "{} {}", seconds(&found), seconds(&long));
}

/// The time is over before the search is: both ends that were measured, and why it ended.
#[test]
fn a_search_out_of_time_says_what_it_knows() {
    let folder = tempfile::tempdir().unwrap();
    let words = ["capacity", SIMULATED, "--slo", "ttft:p75<200ms", "-W", "256/64-192"];
    let flags = ["--seed", "1", "--budget", "25s"];
    let output = run(folder.path(), &[&words[..], &flags].concat());
    assert_measured(&output);
    let (text, said) = (stdout(&output), stderr(&output));
    assert!(said.contains("at most 25 s"), "{said}");
    assert!(said.contains("time ran out after 25 s"), "{said}");
    assert!(text.contains("time ran out") && text.contains("a short look at "), "{text}");
    let report = json(&run(folder.path(), &["report", "last", "--format", "json"]));
    assert_eq!(report["run"]["state"], "partial", "{report}");
    let last = report["levels"].as_array().unwrap().last().unwrap();
    assert!(last["scout"] == true || last["complete"] == false, "{last}");
}

#[test]
fn a_simulated_server_needs_a_machine_and_a_model() {
    let folder = tempfile::tempdir().unwrap();
    for (url, expect) in [
        ("simulated://h100-sxm", "names no model"),
        ("simulated://h100-sxm/nothing", "no model \"nothing\""),
        ("simulated://h100-sxm/llama-3.1-8b?speed=2", "unexpected argument"),
    ] {
        let output = run(folder.path(), &["capacity", url, "--slo", "ttft:p50<1s"]);
        assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
        assert!(stderr(&output).contains(expect), "{}", stderr(&output));
    }
}

/// Standard output from its first byte on: what is measured, the head of the table, a row for each
/// load, and the answers, in lines that fit.
#[test]
fn a_search_prints_its_heading_and_every_load() {
    let folder = tempfile::tempdir().unwrap();
    let server = paced(5, 1);
    let url = format!("http://{}", server.address());
    let by_users: &[&str] = &["--start", "1", "--max-users", "2"];
    let by_rate: &[&str] = &["--by", "rate", "--start", "20", "--max-rate", "40"];
    for (by, head, expect) in
        [(by_users, " users", ["1", "2"]), (by_rate, " asked", ["20.0/s", "40.0/s"])]
    {
        let words = ["capacity", &url, "-W", "16/2", "--slo", "speed:p50>0.001", "-n", "12"];
        let output = run(folder.path(), &[&words[..], by].concat());
        assert_measured(&output);
        let text = stdout(&output);
        let mut lines = text.lines();
        let mut next = || lines.next().unwrap_or_default();
        let [model, workload, run, empty, table] = std::array::from_fn(|_| next());
        assert!(model.starts_with("truth-model · ") && model.contains(&url), "{text}");
        assert!(workload.contains("16→2 tokens"), "{text}");
        assert!(run.starts_with("run 2") && run.contains(" · 2"), "{text}");
        assert!(empty.is_empty() && table.starts_with(head), "{text}");
        let rows = lines.by_ref().take_while(|line| !line.is_empty());
        let mut loads: Vec<&str> = rows.filter_map(|row| row.split_whitespace().next()).collect();
        // Below the rows is what `~` means.
        loads.retain(|load| load.starts_with(|first: char| first.is_ascii_digit()));
        loads.dedup();
        // A busy host may make a search by rate look elsewhere after the first.
        assert_eq!(loads.first(), expect.first(), "{text}");
        assert!(loads.len() >= 2 && (by[0] == "--by" || loads == expect), "{text}");
        assert!(text.contains(" ● Capacity           at least ") && text.contains(" ● Trust "));
        assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    }
}
