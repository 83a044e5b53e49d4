//! Open loops and the search for a capacity, as a user runs them.

use crate::support::{paced, program, run, stderr, stdout};
use ifm_truth::paced::{Pace, PacedOptions, run_paced};
use serde_json::Value;
use std::fs;
use std::process::{Command, Stdio};
use std::time::Duration;

fn json(output: &std::process::Output) -> Value {
    serde_json::from_str(&stdout(output))
        .unwrap_or_else(|error| panic!("{error}: {} {}", stdout(output), stderr(output)))
}

#[test]
fn a_rate_is_kept_whatever_the_server_does() {
    let folder = tempfile::tempdir().unwrap();
    let server = paced(100, 1);
    let url = format!("http://{}", server.address());
    let words = ["run", &url, "-W", "16/4", "--rate", "50", "--arrivals", "constant", "-n", "40"];
    let output = run(folder.path(), &[&words[..], &["--json"]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let document = json(&output);
    let level = &document["levels"][0];
    assert_eq!(level["req_per_s_asked"], 50.0);
    assert!(level.get("concurrency_asked").is_none());
    assert_eq!(level["requests"]["ok"], 40);
    // Five answers of 103 ms are under way at a time; one user alone would take 4 s for all.
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
fn a_sweep_over_rates_names_them() {
    let folder = tempfile::tempdir().unwrap();
    let server = paced(5, 1);
    let url = format!("http://{}", server.address());
    let words = ["sweep", &url, "-W", "16/4", "--rate", "20,40", "-n", "20", "--seed", "3"];
    let output = run(folder.path(), &words);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let text = stdout(&output);
    assert!(text.contains("20.0/s") && text.contains("40.0/s"), "{text}");
    assert!(text.contains("How many requests?"), "{text}");
}

#[test]
fn guidellms_sweep_measures_both_ends_and_rates_between() {
    let folder = tempfile::tempdir().unwrap();
    let server = paced(100, 1);
    let url = format!("http://{}", server.address());
    let words = ["sweep", &url, "-W", "16/2", "--profile", "sweep", "--points", "2", "-n", "16"];
    let flags = ["--max-in-flight", "4", "--arrivals", "constant", "--json"];
    let output = run(folder.path(), &[&words[..], &flags].concat());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let document = json(&output);
    let levels = document["levels"].as_array().unwrap();
    let users: Vec<_> = levels.iter().filter_map(|l| l["concurrency_asked"].as_u64()).collect();
    assert_eq!(users, [1, 4]);
    let reached = |level: &Value| {
        let window = level.get("steady").unwrap_or(&level["whole"]);
        window["req_per_s"].as_f64().unwrap()
    };
    let (low, high) = (reached(&levels[0]), reached(&levels[1]));
    let asked: Vec<f64> = levels.iter().filter_map(|l| l["req_per_s_asked"].as_f64()).collect();
    if high <= low {
        // A host that stood still for a second: there is nothing between the ends.
        assert!(asked.is_empty(), "{asked:?}");
        return;
    }
    assert_eq!(asked.len(), 2);
    for (rate, share) in asked.iter().zip([1.0 / 3.0, 2.0 / 3.0]) {
        assert!((rate - (low + (high - low) * share)).abs() < 1e-6, "{low} {high} {asked:?}");
    }
    assert!(document["answers"]["at"].get("req_per_s_asked").is_some(), "rates are the answer");
}

#[test]
fn guidellms_other_profiles_mean_users_and_laws() {
    let folder = tempfile::tempdir().unwrap();
    let server = paced(2, 1);
    let url = format!("http://{}", server.address());
    let sweep = |flags: &[&str]| {
        let words = ["sweep", &url, "-W", "16/2", "-n", "4", "-w", "0", "--json"];
        run(folder.path(), &[&words[..], flags].concat())
    };
    let asked = |flags: &[&str]| {
        let output = sweep(flags);
        assert_eq!(output.status.code(), Some(0), "{flags:?}: {}", stderr(&output));
        json(&output)["spec"]["levels"].clone()
    };
    let levels = asked(&["--profile", "concurrent", "--rate", "1,3"]);
    assert_eq!((&levels[0]["concurrency"], &levels[1]["concurrency"]), (&1.into(), &3.into()));
    assert_eq!(levels[0].get("arrivals"), None);
    for law in ["constant", "poisson"] {
        let levels = asked(&["--rate-type", law, "--rate", "100,200"]);
        assert_eq!(levels.as_array().unwrap().len(), 2);
        assert_eq!(levels[1]["arrivals"]["law"], law, "{levels}");
    }
    for flags in [
        &["--profile", "poisson"][..],
        &["--profile", "constant", "-c", "2"],
        &["--profile", "concurrent"],
        &["--profile", "sweep", "--rate", "3"],
        &["--profile", "nonsense"],
    ] {
        let refused = sweep(flags);
        assert_eq!(refused.status.code(), Some(2), "{flags:?}");
        assert!(stderr(&refused).contains("profile"), "{}", stderr(&refused));
    }
}

#[test]
fn levels_are_repeated_forth_and_back() {
    let folder = tempfile::tempdir().unwrap();
    let server = paced(2, 1);
    let url = format!("http://{}", server.address());
    let words = ["sweep", &url, "-W", "16/2", "-c", "1,3", "--repeat", "2", "-n", "4", "--json"];
    let output = run(folder.path(), &words);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let document = json(&output);
    let levels = document["levels"].as_array().unwrap();
    let users: Vec<_> = levels.iter().map(|l| l["concurrency_asked"].as_u64().unwrap()).collect();
    assert_eq!(users, [1, 3, 3, 1]);
}

#[test]
fn a_level_that_was_cold_is_measured_again_and_counts_once() {
    let pace = |ttft_ms: u64| Pace {
        ttft_ns: ttft_ms * 1_000_000,
        itl_ns: 1_000_000,
        coalesce: false,
        burst: 1,
        usage: true,
    };
    // Cold for the 24 requests of one user, warm-up among them.
    let sweep = |flags: &[&str]| {
        let folder = tempfile::tempdir().unwrap();
        let options = PacedOptions::for_benchmarks(pace(90));
        let server = run_paced(PacedOptions { later: Some((24, pace(20))), ..options }).unwrap();
        let url = format!("http://{}", server.address());
        let words = ["sweep", &url, "-W", "16/4", "-c", "1,2", "-n", "23", "-w", "1", "--json"];
        let lengths = ["--prompt-lengths", "tokenizer"];
        let output = run(folder.path(), &[&words[..], &lengths, flags].concat());
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        json(&output)
    };
    let state = |document: &Value| {
        let checks = document["checks"].as_array().unwrap();
        checks.iter().find(|check| check["id"] == "cold_level").unwrap()["state"].clone()
    };
    let once = sweep(&[]);
    assert_eq!((once["levels"].as_array().unwrap().len(), state(&once)), (2, "caution".into()));
    let again = sweep(&["--auto-retry"]);
    let levels = again["levels"].as_array().unwrap();
    let users: Vec<_> = levels.iter().map(|l| l["concurrency_asked"].as_u64().unwrap()).collect();
    assert_eq!(users, [1, 2, 1], "{again}");
    assert_eq!((&levels[0]["measured_again"], levels[2].get("measured_again")), (&2.into(), None));
    assert_eq!(state(&again), "passed");
    assert_eq!(again["run"]["state"], "complete");
    assert_eq!(again.get("repeats"), None, "the cold one is no repeat");
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
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
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
    let untimed = run(folder.path(), &["run", &url, "-W", "16/2", "--replay"]);
    assert_eq!(untimed.status.code(), Some(2), "{}", stderr(&untimed));
}

#[test]
fn what_cannot_be_a_load_is_told() {
    let folder = tempfile::tempdir().unwrap();
    for words in [
        &["run", "http://127.0.0.1:9", "--rate", "0"][..],
        &["run", "http://127.0.0.1:9", "--rate", "1,2"],
        &["run", "http://127.0.0.1:9", "--ramp", "5"],
        &["run", "http://127.0.0.1:9", "--rate", "1", "--arrivals", "gamma:0"],
        &["run", "http://127.0.0.1:9", "--arrivals", "poisson"],
        &["sweep", "http://127.0.0.1:9", "--rate", "1", "-c", "2"],
        &["sweep", "http://127.0.0.1:9", "--repeat", "2"],
        &["capacity", "http://127.0.0.1:9", "--start", "9", "--max-users", "3"],
        &["capacity", "http://127.0.0.1:9", "--precision", "2"],
        &["capacity", "http://127.0.0.1:9", "--start", "1.5"],
        &["capacity", "http://127.0.0.1:9", "--arrivals", "constant"],
        &["capacity", "http://127.0.0.1:9", "--by", "rate", "--start", "0"],
        &["capacity", "http://127.0.0.1:9", "--by", "rate", "--start", "9", "--max-rate", "3"],
        &["capacity", "http://127.0.0.1:9", "--by", "rate", "--arrivals", "soon"],
    ] {
        let output = run(folder.path(), words);
        assert_eq!(output.status.code(), Some(2), "{words:?}: {}", stderr(&output));
    }
}

#[test]
fn a_capacity_lies_between_a_load_inside_and_one_outside() {
    let folder = tempfile::tempdir().unwrap();
    let server = paced(20, 1);
    let url = format!("http://{}", server.address());
    let search = |slo: &str| {
        let words = ["capacity", &url, "-W", "16/2", "--slo", slo, "-n", "20", "--max-users", "3"];
        let output = run(folder.path(), &[&words[..], &["--json"]].concat());
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        json(&output)
    };
    // The server is as fast for three users as for one.
    let all = search("ttft:p50<2000ms");
    assert_eq!((&all["users_inside"], all.get("users_outside")), (&3.into(), None), "{all}");
    assert_eq!(all["is_finished"], true);
    assert_eq!(all["loads"].as_array().map(Vec::len), Some(3), "1, 2 and 3 users");
    // It cannot be faster than 20 ms.
    let none = search("ttft:p50<10ms");
    assert_eq!((none.get("users_inside"), &none["users_outside"]), (None, &1.into()), "{none}");
    assert!(none["limited_by"].as_str().unwrap().starts_with("TTFT p50"), "{none}");
}

#[test]
fn a_run_whose_load_was_not_sent_is_code_6_and_stored() {
    let folder = tempfile::tempdir().unwrap();
    let server = paced(20, 1);
    let url = format!("http://{}", server.address());
    let words = ["run", &url, "-W", "16/2", "--rate", "100", "-n", "200", "--json"];
    let mut child = program(folder.path())
        .args(words)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // The client stands still while most of its requests are due.
    let pid = child.id().to_string();
    let signal = |name: &str| {
        assert!(Command::new("kill").args([name, &pid]).status().unwrap().success());
    };
    let is_under_way = || {
        let runs = fs::read_dir(folder.path().join("runs")).into_iter().flatten().flatten();
        let mut journals = runs.map(|run| run.path().join("requests.journal"));
        journals.any(|journal| fs::metadata(journal).is_ok_and(|file| file.len() > 1_000))
    };
    while !is_under_way() {
        assert!(child.try_wait().unwrap().is_none(), "it ended before its load");
        std::thread::sleep(Duration::from_millis(5));
    }
    signal("-STOP");
    std::thread::sleep(Duration::from_secs(3));
    signal("-CONT");
    let output = child.wait_with_output().unwrap();
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(6), "{said}");
    assert!(said.contains("the server did not get the load that was asked for"), "{said}");
    assert!(run(folder.path(), &["report", "last"]).status.success(), "it is stored");
}

#[test]
fn a_server_that_changes_its_speed_is_found_out_by_a_second_look() {
    let pace = |itl_ms: u64| Pace {
        ttft_ns: 10_000_000,
        itl_ns: itl_ms * 1_000_000,
        coalesce: false,
        burst: 1,
        usage: true,
    };
    // Warm-up and look of one user, then of two: 43 requests until the search is over.
    let search = |later: Option<(u64, Pace)>, format: &[&str]| {
        let folder = tempfile::tempdir().unwrap();
        let server =
            run_paced(PacedOptions { later, ..PacedOptions::for_benchmarks(pace(4)) }).unwrap();
        let url = format!("http://{}", server.address());
        let words = ["capacity", &url, "-W", "16/8", "--slo", "e2e:p50<90ms", "-n", "20"];
        let flags = ["--max-users", "2", "--prompt-lengths", "tokenizer"];
        let output = run(folder.path(), &[&words[..], &flags, format].concat());
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        output
    };
    let told = |answer: &Value, what: &str| {
        let warnings = answer["warnings"].as_array().unwrap();
        warnings.iter().any(|warning| warning.as_str().unwrap().contains(what))
    };
    let slower = Some((43, pace(16)));
    let answer = json(&search(slower, &["--json"]));
    let two = &answer["loads"][1];
    assert_eq!((&answer["users_inside"], &two["users"]), (&2.into(), &2.into()), "{answer}");
    assert_eq!((&two["looks"], &two["requests"]), (&2.into(), &40.into()), "{answer}");
    // 10 ms and seven gaps: 38 ms and then 122 ms.
    assert_eq!((&two["finding"], &two["again"]["finding"]), (&"inside".into(), &"outside".into()));
    let change = two["again"]["change"]["share"].as_f64().unwrap();
    assert!((2.5..3.5).contains(&change), "{answer}");
    assert!(told(&answer, "speed changed between two looks at 2 users"), "{answer}");
    assert!(told(&answer, "inside in the search, outside when looked at again"), "{answer}");
    assert!(answer["loads"][0].get("again").is_none(), "not an end of the bracket: {answer}");
    let text = stdout(&search(slower, &[])).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("Second look 2 users: inside in the search, outside when"), "{text}");

    let answer = json(&search(None, &["--json"]));
    assert_eq!(answer["loads"][1]["again"]["finding"], "inside", "{answer}");
    assert!(!told(&answer, "two looks"), "{answer}");
    let once = json(&search(None, &["--looks", "1", "--json"]));
    assert!(once["loads"][1].get("again").is_none(), "{once}");
}
