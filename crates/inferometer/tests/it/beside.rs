//! A probe during the load of a simulated server: what is reported about it, and that the load is
//! unaffected. Times are judged only by what the simulation does to them; on a host that is too slow to
//! show it, the test is repeated with a slower server.

use crate::support::{assert_measured, json, run, served, stderr, stdout};
use ifm_truth::slower_and_slower;
use serde_json::Value;

const DEPLOYMENT: [&str; 5] = ["--sim", "--gpu", "l40s", "--model", "llama-3.1-8b"];

/// The lines of the requests of the last run in a phase.
fn in_phase(folder: &std::path::Path, phase: &str) -> Vec<Value> {
    let lines = run(folder, &["report", "last", "--format", "requests"]);
    let lines = stdout(&lines);
    let read = lines.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    read.filter(|line| line["phase"] == phase).collect()
}

/// The head of the only run of a folder.
fn manifest(folder: &std::path::Path) -> Value {
    let runs = std::fs::read_dir(folder.join("runs")).expect("runs");
    let heads = runs.filter_map(|run| std::fs::read(run.ok()?.path().join("manifest.json")).ok());
    serde_json::from_slice(&heads.last().expect("a run")).expect("JSON")
}

#[test]
fn a_probe_measures_the_load_and_is_in_no_number_of_the_load() {
    let (folder, document) = slower_and_slower(|factor| {
        let folder = tempfile::tempdir().expect("a folder");
        let scale = format!("{}", 0.2 * factor as f64);
        let quick = ["--time-scale", &scale, "--seed", "4"];
        let (_server, url) = served(folder.path(), &[&DEPLOYMENT[..], &quick].concat());
        let words = ["run", &url, "-c", "4", "-n", "40", "-w", "2", "-W", "2048/4", "--json"];
        let flags =
            ["--probe", "random:32/4", "--probe-pause", "20ms", "--prompt-lengths", "tokenizer"];
        let output = run(folder.path(), &[&words[..], &flags].concat());
        assert_measured(&output);
        let document = json(&output);
        // A prompt of the load keeps the server busy ten times as long as a whole probe.
        let times = &document["levels"][0]["probe"]["ttft_times"];
        match times["low"].as_f64() {
            Some(low) if low > 1.5 => Ok((folder, document)),
            _ => Err(format!("{times}")),
        }
    })
    .expect("a probe that waits");
    let level = &document["levels"][0];
    let probe = &level["probe"];
    assert_eq!((&probe["name"], &probe["workload"]), (&"probe".into(), &"random:32/4".into()));
    assert_eq!(probe["alone"]["ok"], 10, "{probe}");
    let during = probe["beside"]["ok"].as_u64().expect("a count");
    assert!(during >= 5, "{probe}");
    // The load is as it would be without.
    assert_eq!(level["requests"]["ok"], 40, "{level}");
    assert_eq!(level["tokens"]["output_total"], 40 * 4);
    assert_eq!(level["tokens"]["output_mean"], 4.0);
    assert!(level.get("classes").is_none(), "{level}");
    let measured = in_phase(folder.path(), "measure");
    assert_eq!(measured.len(), 40);
    assert!(measured.iter().all(|line| line.get("class").is_none()), "{measured:?}");
    let probes = in_phase(folder.path(), "probe");
    assert!(probes.len() as u64 >= 10 + during, "{} of {during}", probes.len());
    assert!(probes.iter().all(|line| line["class"] == 0), "{probes:?}");
    let warm = in_phase(folder.path(), "warmup");
    let of_probe = warm.iter().filter(|line| line["class"] == 0).count();
    assert_eq!((warm.len(), of_probe), (3, 1), "{warm:?}");
    let manifest = manifest(folder.path());
    assert_eq!(manifest["workload"]["prompts"], 42, "{manifest}");
    let classes = &manifest["spec"]["workload"]["classes"];
    assert_eq!(classes[0]["name"], "probe", "{classes}");
    let text = stdout(&run(folder.path(), &["report", "last"]));
    let rows = ["probe alone", "random:32/4 during the load: median TTFT"];
    assert!(rows.iter().all(|row| text.contains(row)), "{text}");
}

#[test]
fn rejects_what_cannot_be_a_probe() {
    let folder = tempfile::tempdir().expect("a folder");
    for (flags, part) in [
        (&["--probe", "random:32/8?turns=3"][..], "requests of a probe are independent"),
        (&["--probe", "nothing:3"], "--probe nothing:3"),
        (&["--probe-pause", "2s"], "--probe"),
    ] {
        let words = ["run", "http://127.0.0.1:1", "-W", "16/4"];
        let output = run(folder.path(), &[&words[..], flags].concat());
        assert_eq!(output.status.code(), Some(2), "{flags:?}");
        assert!(stderr(&output).contains(part), "{flags:?}: {}", stderr(&output));
    }
}
