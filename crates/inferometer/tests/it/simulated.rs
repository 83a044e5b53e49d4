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

/// Questions about prices name the flag that was given, and a wrong name is an error, not an answer.
#[test]
fn questions_about_deployments_refuse_what_they_cannot_answer() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |words: &str| {
        let words = format!("predict -m llama-3.1-8b {words}");
        let output = run(folder.path(), &words.split(' ').collect::<Vec<_>>());
        assert_eq!(output.status.code(), Some(2), "{words}: {}", stderr(&output));
        assert_eq!(stdout(&output), "", "{words}");
        stderr(&output).split_whitespace().collect::<Vec<_>>().join(" ")
    };
    for words in ["--gpu h100 --price 2", "--vary gpu=l40s,h100 -c 1"] {
        assert!(refused(words).starts_with("error: machine \"h100\" may be "), "{words}");
    }
    let several = refused("--gpu l40s --price 2 -c 1,2");
    assert!(several.starts_with("error: --price needs one load, or none: 2 are given"));
    let both = refused("--vary gpu=l40s,h100-sxm --price 2 -c 1,2");
    assert!(both.starts_with("error: --vary and --price need one load"), "{both}");
    let named = refused("--gpu l40s --price 2 --name x");
    assert!(named.starts_with("error: --name is not possible with --price: "), "{named}");
}

/// The default number of requests is large enough that more users do not seem slower by chance.
#[test]
fn predictions_of_neighboring_loads_are_in_order() {
    let folder = tempfile::tempdir().unwrap();
    let words = "predict --gpu l40s -m llama-3.1-8b -c 27,31,32 --json";
    let document = json(&run(folder.path(), &words.split(' ').collect::<Vec<_>>()));
    let levels = document["levels"].as_array().expect("levels");
    let rate = |level: &serde_json::Value| {
        assert!(level["steady"].is_object(), "{}", level["steady"]);
        level["steady"]["output_tok_per_s"].as_f64().expect("a rate")
    };
    let rates: Vec<f64> = levels.iter().map(rate).collect();
    assert!(rates.is_sorted() && rates.len() == 3, "{rates:?}");
}

/// Three tokens a draft, each accepted with a chance of 0.7 if the one before it was: 0.7 + 0.49 + 0.343
/// are accepted of a draft on average.
#[test]
fn drafts_are_counted_by_the_server_and_a_speed_up_is_relative_to_no_drafts() {
    let folder = tempfile::tempdir().unwrap();
    let measure = |drafting: &[&str], name: &str| {
        let quick = ["--time-scale", "0.1", "--seed", "4"];
        let (_server, url) = served(folder.path(), &[&DEPLOYMENT[..], &quick, drafting].concat());
        let words = ["run", &url, "-c", "2", "-n", "40", "-W", "64/64", "--name", name, "--json"];
        json(&run(folder.path(), &words))
    };
    let plain = measure(&[], "plain");
    assert!(plain["levels"][0].get("speculation").is_none(), "{plain}");
    let document = measure(&["--draft-tokens", "3", "--acceptance", "0.7"], "drafting");
    let found = &document["levels"][0]["speculation"];
    let number = |name: &str| found[name].as_f64().unwrap_or_else(|| panic!("{name}: {found}"));
    assert_eq!(found["counted_by"], "counters");
    assert_eq!(number("draft_tokens"), 3.0 * number("drafts"));
    assert_eq!(number("acceptance_length"), 1.0 + number("accepted_tokens") / number("drafts"));
    assert!((2.2..2.8).contains(&number("acceptance_length")), "{found}");
    let places: Vec<f64> = found["by_position"]
        .as_array()
        .expect("by place")
        .iter()
        .flat_map(|one| one.as_f64())
        .collect();
    for (place, expect) in places.iter().zip([0.7, 0.49, 0.343]) {
        assert!((place - expect).abs() < 0.1, "{places:?}");
    }
    let checks = document["checks"].as_array().expect("a list");
    let check = checks.iter().find(|check| check["id"] == "made_up_drafts").expect("a check");
    assert_eq!(check["state"], "caution", "{check}");
    let compared = json(&run(folder.path(), &["compare", "plain", "drafting", "--json"]));
    let pair = &compared["pairs"][0];
    let drafts = |one: &&serde_json::Value| one["what"] == "speculative decoding";
    let differences = pair["differences"].as_array().expect("a list");
    let difference = differences.iter().find(drafts).expect("told");
    assert_eq!((&difference["a"], &difference["b"]), (&"off".into(), &"on".into()));
    let speed_up = &pair["speed_ups"][0];
    let ratio = |name: &str| speed_up["ratio"][name].as_f64().expect("a number");
    assert_eq!(speed_up["metric"], "tpot.p50", "{pair}");
    assert!(ratio("low") <= ratio("value") && ratio("value") <= ratio("high"), "{speed_up}");
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
