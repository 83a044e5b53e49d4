//! What the program writes is what its published schemas say, and no more.

use crate::support::{document, paced, run, serve, stderr, stdout, store};
use boon::{Compiler, Schemas};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// Forbids the fields that no schema describes: what is published allows them, since fields may be
/// added, and this test finds those that were added and not described.
fn forbid_others(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            fields.values_mut().for_each(forbid_others);
            let is_closed = fields.get("type") == Some(&json!("object"))
                && fields.contains_key("properties")
                && !fields.contains_key("additionalProperties");
            if is_closed {
                fields.insert("additionalProperties".to_owned(), json!(false));
            }
        }
        Value::Array(list) => list.iter_mut().for_each(forbid_others),
        _ => {}
    }
}

/// A schema as the program prints it.
fn published(folder: &Path, name: &str) -> Value {
    let output = run(folder, &["schema", name]);
    assert_eq!(output.status.code(), Some(0), "{name}: {}", stderr(&output));
    serde_json::from_str(&stdout(&output)).unwrap()
}

/// What a schema says of a document: nothing, or what is wrong.
fn judge(mut schema: Value, document: &Value, is_strict: bool) -> Result<(), String> {
    if is_strict {
        forbid_others(&mut schema);
    }
    let place = schema["$id"].as_str().unwrap().to_owned();
    let (mut schemas, mut compiler) = (Schemas::new(), Compiler::new());
    compiler.add_resource(&place, schema).unwrap();
    let index = compiler.compile(&place, &mut schemas).unwrap();
    schemas.validate(document, index).map_err(|error| format!("{error:#}"))
}

/// Holds a document against its schema; then copies of it that lack a field, or have one of
/// another type.
pub(crate) fn check(folder: &Path, name: &str, document: &Value) {
    let schema = published(folder, name);
    if let Err(wrong) = judge(schema.clone(), document, true) {
        panic!("docs/reference/schema/{name}.json does not describe what is written: {wrong}");
    }
    assert!(document.is_object(), "{name}: a document is an object: {document}");
    for field in schema["required"].as_array().unwrap() {
        let field = field.as_str().unwrap();
        let mut spoiled = document.clone();
        spoiled.as_object_mut().unwrap().remove(field);
        assert!(judge(schema.clone(), &spoiled, false).is_err(), "{name} without {field}");
        spoiled[field] = json!([[[]]]);
        assert!(judge(schema.clone(), &spoiled, false).is_err(), "{name} with a wrong {field}");
    }
}

/// Of what is read: the files that come along, and none with a mistake.
#[test]
fn files_of_apis_follow_their_schema() {
    let folder = tempfile::tempdir().unwrap();
    let schema = published(folder.path(), "api-file");
    let document = |text: &str| serde_json::to_value(text.parse::<toml::Table>().unwrap()).unwrap();
    let files = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/apis");
    let mut judged = 0;
    for entry in fs::read_dir(files).unwrap() {
        let text = fs::read_to_string(entry.unwrap().path()).unwrap();
        assert_eq!(judge(schema.clone(), &document(&text), false), Ok(()), "{text}");
        for (right, wrong) in [
            ("[read", "[reed"),
            ("path =", "pfad ="),
            ("finish_reason =", "finish ="),
            ("events = \"", "events = \"not_"),
        ] {
            if text.contains(right) {
                let spoiled = document(&text.replace(right, wrong));
                assert!(judge(schema.clone(), &spoiled, false).is_err(), "{wrong} in {text}");
            }
        }
        judged += 1;
    }
    assert!(judged >= 5, "{judged}");
}

#[test]
fn results_and_what_is_made_of_them_follow_their_schemas() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let (_running, nano) = serve(folder, &["--threads", "1"]);
    let short = ["-n", "12", "-W", "16/4", "--quiet", "--json"];
    let words = [&["sweep", &nano, "-c", "1,2", "--name", "a"][..], &short].concat();
    check(folder, "result", &document(folder, &words));
    check(folder, "report", &document(folder, &["report", "--kind", "sweep", "-f", "json"]));
    check(folder, "probe", &document(folder, &["probe", &nano, "--json"]));

    let server = paced(5, 2);
    let url = format!("http://{}", server.address());
    let words = [&["run", &url, "--rate", "40", "--name", "rate"][..], &short].concat();
    check(folder, "result", &document(folder, &words));
    for name in ["b", "c"] {
        let words = [&["sweep", &url, "-c", "1,2", "--name", name][..], &short].concat();
        check(folder, "result", &document(folder, &words));
    }
    let lines = stdout(&run(folder, &["report", "b", "--format", "requests"]));
    let line = lines.lines().next().unwrap();
    check(folder, "request", &serde_json::from_str(line).unwrap());
    check(folder, "comparison", &document(folder, &["compare", "b", "c", "--json"]));
    check(folder, "ranking", &document(folder, &["rank", "b", "c", "--json"]));
    let limits = ["--max", "ttft.p99=+10%", "--min", "out_tok_s=1", "--json"];
    let words = [&["gate", "b", "--baseline", "c"][..], &limits].concat();
    check(folder, "gate", &document(folder, &words));
    check(folder, "history", &document(folder, &["history", "--json"]));
    check(folder, "audit", &document(folder, &["audit", "b", "--json"]));
    check(folder, "runs", &document(folder, &["runs", "--json"]));
    let list = document(folder, &["runs", "list", "--json"]);
    assert!(list["runs"].as_array().unwrap().iter().any(|run| run["name"] == "rate"), "{list}");
    check(folder, "result", &document(folder, &["runs", "show", "b", "--json"]));
    check(folder, "result", &document(folder, &["report", "b", "--json"]));
    let lines = stdout(&run(folder, &["report", "b", "--json=requests"]));
    assert!(lines.lines().count() >= 12, "{lines}");
    let words = ["report", "b", "-o", "b.md", "--json"];
    check(folder, "result", &document(folder, &words));
    assert!(folder.join("b.md").is_file());
    let slo = ["--slo", "ttft:p99<2s", "--max-users", "2", "-n", "20", "-W", "16/4"];
    let words = [&["capacity", &url][..], &slo, &["--quiet", "--json"]].concat();
    check(folder, "capacity", &document(folder, &words));
    for entry in fs::read_dir(folder.join("runs")).unwrap() {
        let path = entry.unwrap().path().join("manifest.json");
        if let Ok(text) = fs::read_to_string(path) {
            check(folder, "manifest", &serde_json::from_str(&text).unwrap());
        }
    }
}

#[test]
fn runs_before_a_run_follow_their_schemas() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let names = ["a", "b", "c", "d", "e", "f"];
    names.iter().for_each(|name| store(folder, name, &[2], (20.0, 5.0)));
    // Six runs have a band, two have none.
    for (before, state) in [(5, "pass"), (1, "inconclusive")] {
        let past = format!("history:{before}");
        let words = ["gate", "f", "--baseline", &past, "--max", "itl.p50=band", "--json"];
        let gated = document(folder, &words);
        check(folder, "gate", &gated);
        let row = &gated["thresholds"][0];
        assert_eq!((&row["max"]["band"], &row["state"]), (&json!(true), &json!(state)), "{row}");
        assert_eq!(row["baseline"]["runs"], before, "{row}");
    }
    check(folder, "history", &document(folder, &["history", "--metric", "itl.p50", "--json"]));
    check(folder, "report", &document(folder, &["report", "--kind", "history", "--json"]));
}

#[test]
fn documents_without_a_run_follow_their_schemas() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let words = ["workload", "preview", "-W", "16/4", "-n", "20", "--json"];
    check(folder, "workload-preview", &document(folder, &words));
    check(folder, "workload-list", &document(folder, &["workload", "list", "--json"]));
    let lists: [(&[&str], &str); 4] = [
        (&["audit", "--list-rules"], "rules"),
        (&["import", "--list-formats"], "formats"),
        (&["conform", "--list"], "cases"),
        (&["schema"], "schemas"),
    ];
    for (words, of) in lists {
        let list = document(folder, &[words, &["--json"]].concat());
        check(folder, "list", &list);
        assert_eq!(list["of"], of);
        let text = stdout(&run(folder, words));
        assert_eq!(list["entries"].as_array().unwrap().len(), text.lines().count(), "{text}");
    }
    check(folder, "doctor", &document(folder, &["doctor", "--json"]));
    check(folder, "limit-list", &document(folder, &["limit", "--list", "--json"]));
    let words = ["conform", "--case", "baseline", "--json"];
    check(folder, "conformance", &document(folder, &words));
    let words = ["limit", "--gpu", "l40s", "-m", "llama-3.1-8b", "--measured", "itl=22.2ms@1"];
    check(folder, "limit", &document(folder, &[&words[..], &["--json"]].concat()));

    let note = "# Model A on L40S\n\n| concurrency | TTFT p99 (ms) |\n|---|---|\n| 1 | 20.5 |\n";
    fs::write(folder.join("note.md"), note).unwrap();
    let imported = document(folder, &["import", "note.md", "--json", "--name", "n"]);
    check(folder, "imported", &imported);
    check(folder, "sheet", &imported["import"]["sheets"][0]);
    let stored = fs::read_dir(folder.join("runs")).unwrap().next().unwrap().unwrap().path();
    let text = fs::read_to_string(stored.join("import.json")).unwrap();
    check(folder, "import", &serde_json::from_str(&text).unwrap());
    let words = ["exec", "--json", "--steps", "s", "--", "sh", "-c", "echo s; exit 0"];
    check(folder, "executed", &document(folder, &words));
}

/// Holds a document against one that an earlier version wrote: every field is still there, of the
/// same kind, and every number is the same. Words may change, and fields may come.
fn keeps(before: &Value, now: &Value, place: &str) {
    match (before, now) {
        (Value::Object(before), Value::Object(now)) => {
            for (name, before) in before {
                let place = format!("{place}/{name}");
                keeps(before, now.get(name).unwrap_or_else(|| panic!("{place} is gone")), &place);
            }
        }
        // A list of words may grow, as that of the percentiles with too few values does.
        (Value::Array(before), Value::Array(now)) if before.iter().all(Value::is_string) => {
            assert!(before.iter().all(|word| now.contains(word)), "{place}: {before:?}, {now:?}");
        }
        (Value::Array(before), Value::Array(now)) => {
            assert_eq!(before.len(), now.len(), "{place}");
            for (index, (before, now)) in before.iter().zip(now).enumerate() {
                keeps(before, now, &format!("{place}/{index}"));
            }
        }
        (Value::Number(before), Value::Number(now)) => {
            assert_eq!(before.as_f64(), now.as_f64(), "{place}");
        }
        _ => assert_eq!(
            std::mem::discriminant(before),
            std::mem::discriminant(now),
            "{place}: {before} and {now}"
        ),
    }
}

#[test]
fn documents_keep_their_names_and_numbers() {
    let folder = tempfile::tempdir().unwrap();
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let stored = here.join("../ifm-store/tests/golden/v1.2");
    let stored = stored.to_str().unwrap();
    let limit = ["limit", "--gpu", "bw=864,bf16=362,mem=45", "-m", "llama-3.1-8b", "-c", "1,8"];
    let limit = [&limit[..], &["--measured", "itl=22.2ms@1", "--json"]].concat();
    let documents: [(&str, &[&str]); 4] = [
        ("result", &["report", stored, "--json"]),
        ("request", &["report", stored, "--json=requests"]),
        ("limit", &limit),
        ("workload-preview", &["workload", "preview", "-W", "16/4", "-n", "3", "--json"]),
    ];
    for (name, words) in documents {
        let before = here.join(format!("tests/data/documents/{name}.json"));
        let before = serde_json::from_str(&fs::read_to_string(before).unwrap()).unwrap();
        let text = stdout(&run(folder.path(), words));
        let first = serde_json::Deserializer::from_str(&text).into_iter::<Value>().next();
        keeps(&before, &first.unwrap().unwrap(), name);
    }
}

#[test]
fn every_published_schema_is_listed_and_compiles() {
    let folder = tempfile::tempdir().unwrap();
    let files = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/schema");
    let files: BTreeSet<String> = fs::read_dir(files)
        .unwrap()
        .map(|entry| entry.unwrap().path().file_stem().unwrap().to_string_lossy().into_owned())
        .collect();
    let list = stdout(&run(folder.path(), &["schema"]));
    let names = list.lines().map(|line| line.split_whitespace().next().unwrap().to_owned());
    assert_eq!(names.collect::<BTreeSet<_>>(), files);
    for name in &files {
        let schema = published(folder.path(), name);
        assert_eq!(schema["$id"], json!(format!("urn:inferometer:schema:{name}")));
        assert!(schema["title"].is_string() && schema["description"].is_string(), "{name}");
        assert!(judge(schema, &json!([]), false).is_err(), "{name}");
    }
    let output = run(folder.path(), &["schema", "nothing"]);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
}
