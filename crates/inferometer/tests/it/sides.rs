//! Which results a report takes together: two real servers under one model name, tags that are added
//! later, copies, and factors that no result has.

use crate::support::{
    assert_measured, document, run, serve, served, stderr, stdout, store, store_changed,
};
use serde_json::Value;
use std::path::Path;

const KINDS: [&str; 6] = ["note", "grid", "variant", "matrix", "scenario", "sweep"];

/// Measures a simulated server in this precision, at one and at four users.
fn measure(folder: &Path, dtype: &str, more: &[&str]) {
    let sim = ["--sim", "--gpu", "l40s", "--model", "llama-3.1-8b", "--time-scale", "0.05"];
    let (_server, url) = served(folder, &[&sim[..], &["--quant", dtype]].concat());
    let words = ["sweep", &url, "-c", "1,4", "-n", "40", "-W", "64/16", "--quiet"];
    assert_measured(&run(folder, &[&words[..], more].concat()));
}

/// Every number of a document.
fn numbers(value: &Value) -> Vec<f64> {
    match value {
        Value::Number(number) => number.as_f64().into_iter().collect(),
        Value::Array(items) => items.iter().flat_map(numbers).collect(),
        Value::Object(fields) => fields.values().flat_map(numbers).collect(),
        _ => Vec::new(),
    }
}

/// Output tokens per second at each load.
fn rates(folder: &Path, run: &str) -> Vec<f64> {
    let shown = document(folder, &["report", run, "--json"]);
    let levels = shown["levels"].as_array().expect("levels");
    let rate = |level: &Value| {
        let window = ["steady", "whole"].iter().find(|name| level[**name].is_object());
        level[*window.expect("a window")]["output_tok_per_s"].as_f64().expect("a rate")
    };
    levels.iter().map(rate).collect()
}

#[test]
fn two_servers_of_one_model_are_two_sides_in_every_report() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    measure(folder, "bf16", &["--name", "base"]);
    measure(folder, "fp8", &["--name", "small"]);
    let (base, small) = (rates(folder, "base"), rates(folder, "small"));
    let is_among = |all: &[f64], value: f64| all.iter().any(|one| (one / value - 1.0).abs() < 1e-9);
    for kind in KINDS {
        let words = ["report", "base", "small", "--kind", kind];
        let shown = document(folder, &[&words[..], &["--format", "json"]].concat());
        let all = numbers(&shown);
        for (one, other) in base.iter().zip(&small) {
            assert!(!is_among(&all, f64::midpoint(*one, *other)), "{kind}: a mean of two servers");
            let is_drawn = ["note", "variant", "matrix", "sweep"].contains(&kind);
            let both = [*one, *other].iter().all(|rate| is_among(&all, *rate));
            assert!(!is_drawn || both, "{kind}: {one} and {other}");
        }
        for format in ["text", "md"] {
            let text = stdout(&run(folder, &[&words[..], &["--format", format]].concat()));
            assert!(text.contains("base") && text.contains("small"), "{kind}: {text}");
        }
        let page = folder.join("both.html");
        let words = [&words[..], &["-o", "both.html"]].concat();
        assert!(run(folder, &words).status.success());
        let page = std::fs::read_to_string(page).unwrap();
        assert!(page.contains("base") && page.contains("small"), "{kind}");
    }
}

/// The same model name and no run name: what their servers report distinguishes them.
#[test]
fn sides_without_names_are_distinguished_by_their_servers() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    measure(folder, "bf16", &[]);
    measure(folder, "fp8", &["--slo", "ttft:p99<5s"]);
    let list = document(folder, &["runs", "list", "--json"]);
    let ids: Vec<&str> =
        list["runs"].as_array().unwrap().iter().filter_map(|run| run["id"].as_str()).collect();
    let shown = run(folder, &["report", ids[1], ids[0]]);
    let text = stdout(&shown);
    for precision in ["bf16", "fp8"] {
        assert!(text.matches(precision).count() >= 4, "each load of each server: {text}");
    }
    let capacity = run(folder, &["capacity", ids[1], ids[0], "--slo", "ttft:p99<5s"]);
    let text = stdout(&capacity);
    assert!(text.contains("bf16") && text.contains("fp8"), "{text}");
}

#[test]
fn a_history_has_a_series_for_each_variant() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    for dtype in ["bf16", "fp8", "bf16", "fp8"] {
        measure(folder, dtype, &["--tag", "series=nightly"]);
    }
    let found = document(folder, &["history", "series=nightly", "--metric", "itl.p50", "--json"]);
    let cells = found["cells"].to_string();
    assert!(cells.contains("bf16") && cells.contains("fp8"), "{cells}");
    let series = found["series"].as_array().unwrap();
    assert_eq!(series.len(), 4, "two variants at two loads");
}

#[test]
fn tags_count_when_they_are_added_later() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    store(folder, "a", &[1, 4], (20.0, 5.0));
    store(folder, "b", &[1, 4], (25.0, 6.0));
    for (name, tag) in [("a", "cc=off"), ("b", "cc=on")] {
        assert_eq!(stdout(&run(folder, &["runs", "tag", name, tag])), format!("{tag}\n"));
    }
    let text = stdout(&run(folder, &["report", "a", "b", "--kind", "variant", "--compare", "cc"]));
    assert!(text.contains("compared by cc, baseline off"), "{text}");
    let grid = stdout(&run(folder, &["report", "a", "b", "--kind", "grid"]));
    assert!(grid.contains("cc on against cc off"), "{grid}");
    let compared = document(folder, &["compare", "a", "b", "--json"]);
    let differences = compared["pairs"][0]["differences"].as_array().unwrap();
    let tag = differences.iter().find(|found| found["what"] == "tag cc").expect("a tag");
    assert_eq!((&tag["a"], &tag["b"]), (&"off".into(), &"on".into()));
    let capacity = stdout(&run(folder, &["capacity", "a", "b", "--slo", "ttft:p99<5s"]));
    assert!(capacity.contains("cc off") && capacity.contains("cc on"), "{capacity}");
    let history = document(folder, &["history", "--by", "cc", "--metric", "itl.p50", "--json"]);
    assert_eq!(history["cells"].as_array().unwrap().len(), 2);
    // A later value replaces an earlier one, and a tag that is removed is gone.
    run(folder, &["runs", "tag", "b", "cc=off"]);
    let page = || stdout(&run(folder, &["report", "b", "--format", "md"]));
    assert!(page().contains("cc off"), "{}", page());
    run(folder, &["runs", "tag", "b", "cc=off", "--remove"]);
    assert!(!page().contains("cc o"), "{}", page());
}

#[test]
fn a_factor_that_no_result_has_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let tagged = |value: &'static str| {
        move |head: &mut ifm_core::Manifest| {
            head.tags.insert("cc".to_owned(), value.to_owned());
        }
    };
    store_changed(folder, "a", &[1, 4], ((20.0, 5.0), 10), tagged("off"));
    store_changed(folder, "b", &[1, 4], ((25.0, 6.0), 10), tagged("on"));
    let refused = run(folder, &["report", "a", "b", "--compare", "colour"]);
    assert_eq!(refused.status.code(), Some(2), "{}", stdout(&refused));
    let said = stderr(&refused);
    assert!(said.contains("no result has the factor \"colour\""), "{said}");
    assert!(said.contains("cc,") && said.contains("model"), "{said}");
    let refused = run(folder, &["report", "a", "b", "--compare", "cc", "--baseline", "maybe"]);
    assert_eq!(refused.status.code(), Some(2), "{}", stdout(&refused));
    assert!(stderr(&refused).contains("values of cc: off, on"), "{}", stderr(&refused));
    for baseline in ["on", "a"] {
        let words = ["report", "a", "b", "--kind", "variant", "--baseline", baseline];
        assert!(run(folder, &words).status.success(), "{baseline}");
    }
}

#[test]
fn copies_are_one_measurement() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    store(folder, "a", &[4], (20.0, 5.0));
    store(folder, "b", &[4], (30.0, 6.0));
    assert!(run(folder, &["report", "a", "-o", "a.json"]).status.success());
    assert!(run(folder, &["export", "a", "--as", "parquet", "-o", "a.parquet"]).status.success());
    // The run in three forms is its own report.
    let all = run(folder, &["report", "a", "a.json", "a.parquet"]);
    assert_eq!(stdout(&all), stdout(&run(folder, &["report", "a"])));
    assert!(stderr(&all).contains("a.json contains the same measurement as a"), "{}", stderr(&all));
    for (name, seed) in [("old.json", "a"), ("new.json", "a"), ("other.json", "b")] {
        let words = ["export", seed, "--as", "vllm", "-o", name];
        assert!(run(folder, &words).status.success(), "{name}");
    }
    let compared = run(folder, &["compare", "old.json", "new.json"]);
    assert!(
        stdout(&compared).contains("the same measurement on both sides"),
        "{}",
        stdout(&compared)
    );
    assert!(stderr(&compared).contains("it is compared with itself"), "{}", stderr(&compared));
    let joined = document(folder, &["compare", "old.json,new.json", "other.json", "--json"]);
    assert_eq!(joined["baseline"]["runs"].as_array().unwrap().len(), 1, "{joined}");
    let shown = run(folder, &["report", "old.json", "new.json", "other.json"]);
    let rows = |name: &str| stdout(&shown).lines().filter(|line| line.starts_with(name)).count();
    assert!(rows("old.json") > 0 && rows("new.json") == 0, "{}", stdout(&shown));
    let history = document(folder, &["history", "old.json", "new.json", "other.json", "--json"]);
    assert_eq!(history["runs"].as_array().unwrap().len(), 2);
}

#[test]
fn lists_with_commas_are_repeats() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    for (name, pace) in [("a", 20.0), ("b", 21.0), ("c", 22.0), ("d", 30.0)] {
        store(folder, name, &[1, 4], (pace, 5.0));
    }
    let text = stdout(&run(folder, &["report", "a,b,c", "d"]));
    assert!(text.contains("a,b,c"), "{text}");
    let rows: Vec<&str> =
        text.lines().filter(|line| line.trim_start().starts_with("a,b,c")).collect();
    assert!(rows.iter().any(|row| row.trim_end().ends_with('3')), "three repeats: {text}");
}

/// Runs of one name are repeats; a run of another server cannot become one by accident.
#[test]
fn a_name_that_another_server_has_gets_a_number() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let ((_one, first), (_other, second)) = (serve(folder, &[]), serve(folder, &[]));
    let measure = |url: &str| {
        let words = ["run", url, "-c", "1", "-n", "2", "-W", "16/4", "--name", "base"];
        let done = run(folder, &words);
        assert_measured(&done);
        stderr(&done).split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert!(!measure(&first).contains("named"));
    assert!(measure(&first).contains("1 earlier run is also named base"));
    let said = measure(&second);
    assert!(said.contains("differs in: address; this run is named \"base-2\""), "{said}");
    let listed = document(folder, &["runs", "list", "--json"]);
    let names: Vec<&str> = listed["runs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|run| run["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["base-2", "base", "base"]);
    let compared = run(folder, &["compare", "base", "base-2"]);
    let [first, second] = [&first, &second].map(|url| url.trim_start_matches("http://"));
    let sides = [format!("base-2 ({second}) (run "), format!("against base ({first}) (2 runs)")];
    let text = stdout(&compared).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(sides.iter().all(|side| text.contains(side)), "{sides:?}: {text}");
    // A shared name also selects all of its runs in a list, and is no single run for a block of one.
    let listed = run(folder, &["compare", "base-2", "base,"]);
    assert!(stdout(&listed).contains("(2 runs) against base-2"), "{}", stderr(&listed));
    assert!(stderr(&listed).contains("base: the 2 runs of this name are used as repeats"));
    let block = run(folder, &["report", "base", "-f", "vllm"]);
    assert_eq!(block.status.code(), Some(2));
    assert!(stderr(&block).contains("\"base\" names 2: "), "{}", stderr(&block));
}

/// Nothing is left to compare, and no flag changes that.
#[test]
fn sides_without_a_common_load_are_refused_with_their_loads() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    store(folder, "few", &[1, 4], (20.0, 5.0));
    store(folder, "many", &[8], (20.0, 5.0));
    for more in [&[][..], &["--even-so"], &["--interpolate"]] {
        let compared = run(folder, &[&["compare", "few", "many"], more].concat());
        let said = stderr(&compared).split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(compared.status.code(), Some(7), "{said}");
        assert_eq!(stdout(&compared), "");
        assert!(said.contains("the baseline has 1 user, 4 users, many has 8 users"), "{said}");
        assert!(said.contains("hint: measure both at the same load"), "{said}");
    }
}

/// A best side is one that the data distinguish: of two equal servers neither is.
#[test]
fn the_best_side_of_a_report_is_named_with_those_that_may_be_as_good() {
    let folder = tempfile::tempdir().unwrap();
    for (name, itl_ms) in [("one", 10.0), ("other", 10.0), ("slow", 20.0)] {
        store(folder.path(), name, &[4], (50.0, itl_ms));
    }
    let told = |names: &[&str]| {
        let words = [&["report"], names].concat();
        stdout(&run(folder.path(), &words)).split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let equal = told(&["one", "other"]);
    assert!(equal.contains("with 4 users; not distinguished from o"), "{equal}");
    let apart = told(&["one", "slow"]);
    assert!(apart.contains("What gives most output? one "), "{apart}");
    assert!(!apart.contains("not distinguished"), "{apart}");
}
