//! The machine in the record: told, kept with runs, compared, and refused where it differs.

use crate::schemas::check;
use crate::support::{assert_measured, paced, program, run, serve, served, stderr, stdout};
use ifm_core::Manifest;
use ifm_store::Store;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A fake of NVIDIA's library that follows the files of its folder.
struct StandIn {
    folder: tempfile::TempDir,
    library: PathBuf,
}

impl StandIn {
    fn new() -> StandIn {
        let folder = tempfile::tempdir().unwrap();
        let library = folder.path().join("libnvidia-ml.so.1");
        let source =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../ifm-telemetry/tests/data/nvml.c");
        let mut compiler = Command::new("cc");
        compiler.args(["-shared", "-fPIC", "-O1", "-w", "-o"]).arg(&library).arg(source);
        compiler.arg(format!("-DFOLDER=\"{}\"", folder.path().display())).arg("-lm");
        assert!(compiler.status().unwrap().success());
        StandIn { folder, library }
    }

    fn set(&self, name: &str, text: &str) {
        fs::write(self.folder.path().join(name), text).unwrap();
    }

    /// Runs the program with this library.
    fn run(&self, folder: &Path, words: &[&str]) -> Output {
        let mut program = program(folder);
        program.env("INFEROMETER_NVML", &self.library).args(words).output().unwrap()
    }
}

fn manifest(folder: &Path, name: &str) -> Manifest {
    let runs = Store::at(folder.join("runs")).list().unwrap();
    let manifests = runs.into_iter().filter_map(|run| run.manifest.ok());
    manifests.into_iter().find(|manifest| manifest.name.as_deref() == Some(name)).unwrap()
}

#[test]
fn the_machine_is_printed_written_and_attached() {
    let (stand_in, folder) = (StandIn::new(), tempfile::tempdir().unwrap());
    let folder = folder.path();
    stand_in.set("limit", "350000");
    let output = stand_in.run(folder, &["facts", "--json"]);
    let document: Value = serde_json::from_str(&stdout(&output)).unwrap();
    check(folder, "facts", &document);
    assert_eq!(document["gpus"][0]["power_limit_w"], 350.0);
    assert!(document.get("confidential").is_none_or(|cc| cc.get("gpus").is_none()));
    let text = stdout(&stand_in.run(folder, &["facts"]));
    assert!(text.contains("1 × NVIDIA Stand-in 80GB") && text.contains("350 W"), "{text}");

    let id = std::process::id().to_string();
    let words = ["facts", "-o", "facts.json", "--server-pid", &id];
    let output = stand_in.run(folder, &words);
    assert!(output.status.success() && stdout(&output).is_empty(), "{}", stderr(&output));
    let server = paced(5, 1);
    let url = format!("http://{}", server.address());
    let words = ["run", &url, "-n", "4", "-W", "16/4", "--facts", "facts.json", "--name", "a"];
    assert_measured(&run(folder, &words));
    let found = manifest(folder, "a").facts.expect("facts");
    assert_eq!(found.gpus[0].power_limit_w, Some(350.0));
    assert_eq!(found.server.expect("a server").pid, Some(std::process::id()));
    let page = stdout(&run(folder, &["report", "a", "-f", "md"]));
    assert!(page.contains("Machine of the server") && page.contains("350 W"), "{page}");

    fs::write(folder.join("facts.json"), "{}").unwrap();
    let output = run(folder, &words);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    let output = run(folder, &["facts", "--server-pid", "4194304"]);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
}

#[test]
fn a_server_on_loopback_gets_the_facts_of_this_host_and_its_process() {
    let folder = tempfile::tempdir().unwrap();
    let (running, url) = serve(folder.path(), &["--threads", "1"]);
    let words = ["run", &url, "-n", "4", "-W", "16/4", "--name", "own"];
    assert_measured(&run(folder.path(), &words));
    let facts = manifest(folder.path(), "own").facts.expect("facts");
    let server = facts.server.expect("a server");
    assert_eq!(server.pid, Some(running.0.id()));
    assert_eq!(server.command[1..3], ["serve", "--preset"]);
    assert_eq!(server.kind.as_deref(), Some("inferometer"));
    assert!(facts.host.expect("a host").kernel.is_some_and(|kernel| kernel.starts_with("Linux ")));
}

/// A GPU that falls off the bus takes its energy along, and the result says so.
#[test]
fn a_gpu_that_is_lost_while_a_command_runs_has_no_energy() {
    let (stand_in, folder) = (StandIn::new(), tempfile::tempdir().unwrap());
    let lost = stand_in.folder.path().join("lost");
    let exec = |script: &str| -> Value {
        let words = ["exec", "--json", "--quiet", "--", "sh", "-c", script];
        serde_json::from_slice(&stand_in.run(folder.path(), &words).stdout).unwrap()
    };
    let sheet = |document: &Value| document["import"]["sheets"][0].clone();
    let has = |document: &Value, quantity: &str| {
        sheet(document)["parts"][0]["rows"][0]["figures"].to_string().contains(quantity)
    };
    let whole = exec("sleep 1.2");
    assert!(has(&whole, "\"energy\"") && has(&whole, "\"power\""), "{whole:#}");
    let broken = exec(&format!("sleep 1.2; touch {}; sleep 4", lost.display()));
    assert!(!has(&broken, "\"energy\"") && !has(&broken, "\"power\""), "{broken:#}");
    assert!(!has(&broken, "\"memory\""), "its peak may have come later: {broken:#}");
    let remarks = sheet(&broken)["remarks"].to_string();
    assert!(remarks.contains("NVML GPU 0: no readings from "), "{remarks}");
    assert!(remarks.contains("energy and power are not reported"), "{remarks}");
}

/// Neither computes on the GPUs that happen to be in its host.
#[test]
fn the_energy_of_gpus_is_not_that_of_our_own_servers() {
    let (stand_in, folder) = (StandIn::new(), tempfile::tempdir().unwrap());
    let folder = folder.path();
    stand_in.set("limit", "350000");
    let simulated = ["--sim", "--gpu", "l40s", "-m", "llama-3.1-8b", "--time-scale", "0.01"];
    let embedded = ["--preset", "nano", "--threads", "1"];
    for (name, words) in [("embedded", &embedded[..]), ("simulated", &simulated)] {
        let (_running, url) = served(folder, words);
        let words = ["run", &url, "-n", "4", "-W", "16/4", "--name", name];
        assert_measured(&stand_in.run(folder, &words));
        let store = Store::at(folder.join("runs"));
        let entry = store.list().unwrap().remove(0);
        let run = store.open(&entry).unwrap().data;
        assert_eq!(run.manifest.name.as_deref(), Some(name));
        assert!(!run.series.iter().any(|series| series.source.starts_with("NVML")), "{name}");
    }
}

#[test]
fn confidential_computing_tags_runs_and_makes_a_grid() {
    let (stand_in, folder) = (StandIn::new(), tempfile::tempdir().unwrap());
    let folder = folder.path();
    let server = paced(5, 1);
    let url = format!("http://{}", server.address());
    let measure = |cc: &str, name: &str, more: &[&str]| {
        stand_in.set("cc", cc);
        let words = ["sweep", &url, "-c", "1,2", "-n", "24", "-W", "16/4", "--name", name];
        assert_measured(&stand_in.run(folder, &[&words[..], more].concat()));
        manifest(folder, name)
    };
    let off = measure("0 0 0", "off", &[]);
    let on = measure("2 1 0", "on", &[]);
    assert_eq!((off.tags["cc"].as_str(), on.tags["cc"].as_str()), ("off", "on"));
    assert_eq!(measure("2 1 0", "named", &["--tag", "cc=tdx"]).tags["cc"], "tdx");
    let store = Store::at(folder.join("runs"));
    let entry = store.list().unwrap().remove(0);
    let series = store.open(&entry).unwrap().data.series;
    let power = series.iter().find(|series| series.name == "gpu_power_w").expect("power");
    assert_eq!(power.source, "NVML GPU 0");

    let output = run(folder, &["report", "off", "on", "-f", "json"]);
    let page: Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(page["kind"], "grid", "{}", stdout(&output));
    let text = stdout(&run(folder, &["report", "off", "on", "-f", "md"]));
    assert!(text.contains("off") && text.contains("on") && text.contains('Δ'), "{text}");

    let document = stdout(&run(folder, &["compare", "off", "on", "--json"]));
    assert!(document.contains("confidential computing of the GPUs"), "{document}");
    let gate = ["gate", "on", "--baseline", "off", "--max", "error_rate=50%"];
    let output = run(folder, &gate);
    assert_eq!(output.status.code(), Some(7), "{}", stderr(&output));
    let said = stderr(&output);
    assert!(said.contains("confidential computing of the GPUs (off and on)"), "{said}");
    assert!(said.contains("--allow-difference"), "{said}");
    let allowed = [
        "--allow-difference",
        "confidential-computing-of-the-gpus",
        "--allow-difference",
        "confidential environment",
    ];
    let output = run(folder, &[&gate[..], &allowed].concat());
    assert_ne!(output.status.code(), Some(7), "{}", stderr(&output));
    fs::write(
        folder.join("gate.toml"),
        "allow_differences = [\"confidential computing of the GPUs\", \"confidential environment\"]\n",
    )
    .unwrap();
    let output = run(folder, &[&gate[..], &["--thresholds", "gate.toml"]].concat());
    assert_ne!(output.status.code(), Some(7), "{}", stderr(&output));
    let output = run(folder, &[&gate[..], &["--even-so"]].concat());
    assert_ne!(output.status.code(), Some(7), "{}", stderr(&output));
}
