//! A simulated server from the command line, measured by the program itself. What such a server
//! does is said in `ifm-serve`; no time is judged here.

use crate::support::{json, run, served, stderr, stdout};

const DEPLOYMENT: [&str; 5] = ["--sim", "--gpu", "l40s", "--model", "llama-3.1-8b"];

#[test]
fn a_simulated_server_is_measured_as_any_other() {
    let folder = tempfile::tempdir().unwrap();
    let quick = ["--time-scale", "0.05", "--fault", "429:0.3,no-usage", "--seed", "4"];
    let (_server, url) = served(folder.path(), &[&DEPLOYMENT[..], &quick].concat());
    let words = ["run", &url, "-c", "2", "-n", "20", "-W", "64/16", "--warmup", "0", "--json"];
    let measured = run(folder.path(), &words);
    let document = json(&measured);
    let notes = &document["server"]["notes"];
    assert_eq!(document["server"]["kind"], "inferometer", "{}", stderr(&measured));
    assert_eq!(notes["simulated"], "true", "{notes}");
    assert_eq!(notes["server_defaults"], "vllm");
    assert_eq!(notes["faults"], "429:0.3,no-usage");
    let level = &document["levels"][0];
    let failed = level["requests"]["failed"].as_u64().expect("a count");
    assert!((1..20).contains(&failed), "{level}");
    let checks = document["checks"].as_array().expect("a list");
    let check = checks.iter().find(|check| check["id"] == "predicted").expect("a check");
    assert_eq!(check["state"], "caution", "{check}");
}

#[test]
fn what_a_simulated_server_needs_is_said() {
    let folder = tempfile::tempdir().unwrap();
    for (words, has) in [
        (&["serve", "--sim"][..], "--gpu l40s"),
        (&["serve", "--sim", "--gpu", "l40s", "--model", "llama-3.1-405b"], "--tp"),
        (&["serve", "--sim", "--preset", "nano"], "serve --sim --gpu NAME"),
        (&["serve", "--fault", "429:0.3,sulk:1"], "error-in-stream:SHARE"),
        (&["serve", "--preset", "nano", "--fault", "throttle:1s:2", "--port", "0"], "simulated"),
    ] {
        let output = run(folder.path(), words);
        assert_eq!(output.status.code(), Some(2), "{words:?}");
        assert!(stderr(&output).contains(has), "{words:?}: {}", stderr(&output));
    }
    let help = stdout(&run(folder.path(), &["serve", "--sim", "--help"]));
    assert!(help.contains("--time-scale") && help.contains("--max-num-seqs"), "{help}");
    assert!(!help.contains("--threads"), "{help}");
    assert!(stdout(&run(folder.path(), &["serve", "--help"])).contains("serve --sim --help"));
}
