//! Results sent to other services: a server here records what it receives.

use crate::support::{program, run, stderr, stdout, store, store_changed};
use ifm_interop::export::otlp;
use ifm_metrics::testing::{NoisyLoop, conversations, noisy_run, run as run_of};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::Output;
use std::sync::{Arc, Mutex};

/// One request as the server saw it.
#[derive(Debug, Clone)]
struct Told {
    /// `POST /v1/traces`
    line: String,
    headers: BTreeMap<String, String>,
    body: Vec<u8>,
}

impl Told {
    fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }
}

/// A server that records requests and answers by a function: status and document.
struct Keeper {
    url: String,
    told: Arc<Mutex<Vec<Told>>>,
}

impl Keeper {
    fn new(say: impl Fn(&Told) -> (u16, Value) + Send + 'static) -> Keeper {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let told = Arc::new(Mutex::new(Vec::new()));
        let kept = told.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let Some(one) = read(&mut stream) else { continue };
                let (status, document) = say(&one);
                kept.lock().unwrap().push(one);
                let body = document.to_string();
                let length = body.len();
                let head = format!(
                    "HTTP/1.1 {status} X\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
                );
                // The client may have gone.
                let _ = stream.write_all((head + &body).as_bytes());
            }
        });
        Keeper { url, told }
    }

    fn told(&self) -> Vec<Told> {
        self.told.lock().unwrap().clone()
    }
}

fn read(stream: &mut TcpStream) -> Option<Told> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let line = line.trim().strip_suffix(" HTTP/1.1")?.to_owned();
    let mut headers = BTreeMap::new();
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).ok()?;
        let Some((name, value)) = header.trim().split_once(": ") else { break };
        headers.insert(name.to_lowercase(), value.to_owned());
    }
    let length = headers.get("content-length").map_or(0, |length| length.parse().unwrap());
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(Told { line, headers, body })
}

/// `export last` with these words.
fn export(folder: &Path, words: &[&str]) -> Output {
    run(folder, &[&["export", "last"], words].concat())
}

fn spans_in(document: &Value) -> &Vec<Value> {
    document["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().unwrap()
}

/// The value of a span's attribute, whatever its type.
fn attribute<'span>(span: &'span Value, key: &str) -> Option<&'span Value> {
    let list = span["attributes"].as_array().unwrap();
    let found = list.iter().find(|one| one["key"] == key)?;
    found["value"].as_object().unwrap().values().next()
}

#[test]
fn each_request_is_a_span_and_each_session_of_agents_a_trace() {
    let mut run = run_of(&[2], conversations((0, 0), (2, 2), 3, 100.0, 0.0));
    let sent = run.requests.len();
    run.manifest.spec.target.request_ids = true;
    // The second turn of each session is a sub-agent's.
    for record in &mut run.requests {
        record.agent = Some(u16::from(record.turn == Some(1)));
    }
    let failed = &mut run.requests[0];
    failed.outcome = ifm_core::Outcome::HttpError;
    (failed.http_status, failed.error) = (Some(503), Some("too many requests".to_owned()));
    let spans = otlp::spans(&run);
    let sessions: BTreeSet<u32> = run.requests.iter().filter_map(|one| one.session).collect();
    assert_eq!(otlp::traces(&spans), sessions.len());
    // A span for each session, for its sub-agent, and for each request.
    assert_eq!(spans.len(), sent + 2 * sessions.len());
    let ids: BTreeSet<&str> = spans.iter().map(|span| span["spanId"].as_str().unwrap()).collect();
    assert_eq!(ids.len(), spans.len());
    let time = |span: &Value, end: &str| -> u64 {
        span[format!("{end}TimeUnixNano")].as_str().unwrap().parse().unwrap()
    };
    for span in &spans {
        assert_eq!(span["traceId"].as_str().unwrap().len(), 32);
        assert_eq!(span["spanId"].as_str().unwrap().len(), 16);
        assert!(time(span, "end") >= time(span, "start"));
        let Some(parent) = span.get("parentSpanId") else {
            assert_eq!(span["name"], "invoke_agent main");
            continue;
        };
        let above = spans.iter().find(|one| one["spanId"] == *parent).unwrap();
        assert_eq!(above["traceId"], span["traceId"]);
        assert!(
            time(above, "start") <= time(span, "start") && time(above, "end") >= time(span, "end")
        );
    }
    let of_request = |seq: u32| {
        let is_it = |span: &&Value| {
            attribute(span, "inferometer.request.seq") == Some(&json!(seq.to_string()))
        };
        spans.iter().find(is_it).unwrap()
    };
    let record = &run.requests[1];
    let span = of_request(record.seq);
    let origin_ns = run.manifest.clock.origin_unix_ns;
    assert_eq!(time(span, "start"), origin_ns + record.start_ns);
    assert_eq!(time(span, "end"), origin_ns + record.end_ns);
    let events = span["events"].as_array().unwrap();
    let first = events.iter().find(|one| one["name"] == "inferometer.first_token").unwrap();
    let first_ns = origin_ns + record.first_token_ns().unwrap();
    assert_eq!(first["timeUnixNano"], first_ns.to_string());
    let tokens = record.output_tokens.unwrap().tokens.to_string();
    assert_eq!(attribute(span, "gen_ai.usage.output_tokens"), Some(&json!(tokens)));
    assert_eq!(attribute(span, "gen_ai.operation.name"), Some(&json!("chat")));
    assert_eq!(attribute(span, "error.type"), None);
    let id = run.manifest.request_id(record.seq).unwrap();
    let sent_id = attribute(span, "http.request.header.x-request-id").unwrap();
    assert_eq!(sent_id["values"][0]["stringValue"], id);
    let failed = of_request(run.requests[0].seq);
    assert_eq!(failed["status"], json!({"code": 2, "message": "too many requests"}));
    assert_eq!(attribute(failed, "error.type"), Some(&json!("503")));
    // What is not known has no attribute.
    assert_eq!((record.cached_tokens, record.reasoning_tokens), (Some(60), None));
    let cached = attribute(span, "gen_ai.usage.cache_read.input_tokens");
    assert_eq!(cached, Some(&json!("60")));
    assert_eq!(attribute(span, "gen_ai.usage.reasoning.output_tokens"), None);
    // The same run is the same trace.
    assert_eq!(otlp::spans(&run), spans);
    run.manifest.run_id.push('x');
    assert_ne!(otlp::spans(&run)[0]["traceId"], spans[0]["traceId"]);
}

#[test]
fn spans_reach_a_collector_in_parts_and_with_the_key() {
    let folder = tempfile::tempdir().unwrap();
    // 80 rounds for each of seven levels: more spans than go into one request.
    store(folder.path(), "sweep", &[1, 1, 1, 1, 1, 1, 1], (5.0, 2.0));
    let collector = Keeper::new(|_| (200, json!({"partialSuccess": {}})));
    let words =
        ["export", "last", "--as", "otlp", "--push", &collector.url, "--push-key-env", "KEY"];
    let sent = program(folder.path()).args(words).env("KEY", "tok-123456789").output().unwrap();
    assert_eq!(sent.status.code(), Some(0), "{}", stderr(&sent));
    let told = collector.told();
    assert!(told.iter().all(|one| one.line == "POST /v1/traces"));
    assert!(told.iter().all(|one| one.headers["authorization"] == "Bearer tok-123456789"));
    let counts: Vec<usize> = told.iter().map(|one| spans_in(&one.json()).len()).collect();
    assert_eq!(counts, [512, 48]);
    assert!(stderr(&sent).contains("560 spans in 560 traces"), "{}", stderr(&sent));
    assert_eq!(stdout(&sent), "");
    // The file holds the same.
    let file: Value =
        serde_json::from_str(&stdout(&export(folder.path(), &["--as", "otlp"]))).unwrap();
    assert_eq!(spans_in(&file)[..512], spans_in(&told[0].json())[..]);
}

#[test]
fn reports_what_a_server_rejects_without_the_key() {
    let folder = tempfile::tempdir().unwrap();
    store(folder.path(), "sweep", &[1], (5.0, 2.0));
    let left_out = || json!({"partialSuccess": {"rejectedSpans": "3", "errorMessage": "x"}});
    for (status, document, says) in [
        (200, left_out(), "left out 3 of 80 spans"),
        (401, json!({}), "does not accept the key"),
        (404, json!({"error": "no tok-123456789 here"}), "4318"),
        (500, json!({"error": {"message": "no tok-123456789 here"}}), "no *** here"),
    ] {
        let server = Keeper::new(move |_| (status, document.clone()));
        let words =
            ["export", "last", "--as", "otlp", "--push", &server.url, "--push-key-env", "KEY"];
        let sent = program(folder.path()).args(words).env("KEY", "tok-123456789").output().unwrap();
        assert_eq!(sent.status.code(), Some(5), "{status}");
        let said = stderr(&sent);
        assert!(said.contains(says) && !said.contains("tok-1234"), "{status}: {said}");
    }
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let unused = format!("http://{}", free.local_addr().unwrap());
    drop(free);
    for (words, code, says) in [
        (&["--as", "otlp", "--push", &*unused][..], 5, "nothing listens"),
        (&["--as", "otlp", "--push", "http://me:word-1@h"], 2, "user name or a password"),
        (&["--as", "otlp", "--push", "ftp://h"], 2, "http://localhost:4318"),
        (&["--as", "csv", "--push", &unused], 2, "otlp, openmetrics, mlflow"),
        (
            &["--as", "mlflow", "--push", &unused, "--push-key-env", "NO_KEY"],
            2,
            "NO_KEY contains no key",
        ),
        (&["--as", "mlflow", "--insecure"], 2, "--push"),
    ] {
        let sent = export(folder.path(), words);
        assert_eq!(sent.status.code(), Some(code), "{words:?}: {}", stderr(&sent));
        let said = stderr(&sent);
        assert!(said.contains(says) && !said.contains("word-1"), "{words:?}: {said}");
    }
}

/// Samples of a text by name and labels.
fn samples(text: &str) -> BTreeMap<String, f64> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines
        .map(|line| line.rsplit_once(' ').unwrap())
        .map(|(k, v)| (k.to_owned(), v.parse().unwrap()))
        .collect()
}

#[test]
fn figures_are_metrics_in_base_units_with_labels_that_stay() {
    let folder = tempfile::tempdir().unwrap();
    let tagged = |manifest: &mut ifm_core::Manifest| {
        manifest.tags.insert("cc".to_owned(), "on \"x\"".to_owned());
    };
    store_changed(folder.path(), "nightly", &[1, 2], ((5.0, 2.0), 10), tagged);
    let text = stdout(&export(folder.path(), &["--as", "openmetrics"]));
    assert!(text.ends_with("# EOF\n"), "{text}");
    let found = samples(&text);
    let rows = stdout(&export(folder.path(), &["--as", "jsonl"]));
    let rows: Vec<Value> = rows.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let mut compared = 0;
    for row in &rows {
        let users = &row["factors"]["concurrency"].as_str().unwrap();
        let value = |quantity: &str, statistic: Value| {
            let figures = row["figures"].as_array().unwrap();
            let is_it = |one: &&Value| one["quantity"] == quantity && one["statistic"] == statistic;
            figures.iter().find(is_it).unwrap()["value"].as_f64().unwrap()
        };
        for (name, quantile, expect) in [
            ("ttft_seconds", "0.99", value("ttft", json!({"percentile": 99.0})) / 1e3),
            ("ttft_seconds", "0.5", value("ttft", json!("median")) / 1e3),
            ("itl_seconds", "0", value("itl", json!("min")) / 1e3),
            ("ttft_seconds_count", "", value("ttft", json!("count"))),
            (
                "ttft_seconds_sum",
                "",
                value("ttft", json!("mean")) * value("ttft", json!("count")) / 1e3,
            ),
            ("output_rate_per_second", "", value("output_rate", json!("value"))),
            ("requests", "", value("requests", json!("value"))),
        ] {
            let is_it = |key: &&String| {
                key.starts_with(&format!("inferometer_{name}{{"))
                    && key.contains(&format!("concurrency=\"{users}\""))
                    && (quantile.is_empty() || key.contains(&format!("quantile=\"{quantile}\"")))
            };
            let key = found.keys().find(is_it).unwrap_or_else(|| panic!("{name}: {text}"));
            assert!(key.contains("name=\"nightly\"") && key.contains(r#"cc="on \"x\"""#), "{key}");
            assert!(
                (found[key] - expect).abs() <= 1e-12 * expect.abs(),
                "{key}: {} {expect}",
                found[key]
            );
            compared += 1;
        }
    }
    assert_eq!(compared, 14);
    // What differs from run to run is no label but of the one metric that says what was run.
    let with_id: Vec<&String> = found.keys().filter(|key| key.contains("run_id=")).collect();
    assert!(
        matches!(with_id[..], [only] if only.starts_with("inferometer_run_info{")),
        "{with_id:?}"
    );
    // The times of the levels are there where they are asked for.
    let timed = stdout(&export(folder.path(), &["--as", "openmetrics-timed"]));
    let line = timed.lines().find(|line| line.starts_with("inferometer_requests{")).unwrap();
    let at: u64 = line.rsplit(' ').next().unwrap().parse().unwrap();
    assert!(at > 1_000_000_000, "{line}");
    // A document of another tool has figures, and no times of its own.
    let file = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../ifm-interop/tests/data/vllm-serve-0.33/result.json"
    );
    let text = stdout(&run(folder.path(), &["export", file, "--as", "openmetrics"]));
    assert!(text.contains("tool=\"vllm bench serve\"") && text.ends_with("# EOF\n"), "{text}");
    let timed = run(folder.path(), &["export", file, "--as", "openmetrics-timed"]);
    assert_eq!(timed.status.code(), Some(2), "{}", stderr(&timed));
}

#[test]
fn a_gateway_gets_a_group_and_remote_write_its_samples() {
    let folder = tempfile::tempdir().unwrap();
    store(folder.path(), "the night/1", &[1, 2], (5.0, 2.0));
    let text = stdout(&export(folder.path(), &["--as", "openmetrics"]));
    let server = Keeper::new(|_| (200, json!({})));
    for path in ["", "/metrics/job/mine", "/prom/api/v1/write"] {
        let url = format!("{}{path}", server.url);
        let sent = export(folder.path(), &["--as", "openmetrics", "--push", &url]);
        assert_eq!(sent.status.code(), Some(0), "{path}: {}", stderr(&sent));
    }
    let told = server.told();
    let lines: Vec<&str> = told.iter().map(|one| one.line.as_str()).collect();
    // A name with a slash is written in base64.
    let group = "PUT /metrics/job/inferometer/name@base64/dGhlIG5pZ2h0LzE=";
    assert_eq!(lines, [group, "PUT /metrics/job/mine", "POST /prom/api/v1/write"]);
    assert_eq!(String::from_utf8_lossy(&told[0].body), text);
    assert_eq!(told[2].headers["content-encoding"], "snappy");
    let written = snap::raw::Decoder::new().decompress_vec(&told[2].body).unwrap();
    let count = |needle: &[u8]| written.windows(needle.len()).filter(|at| *at == needle).count();
    assert_eq!(count(b"__name__"), samples(&text).len());
    assert_eq!(count(b"the night/1"), samples(&text).len());
}

#[test]
fn mlflow_gets_a_run_with_a_child_for_each_level_and_the_report() {
    let folder = tempfile::tempdir().unwrap();
    store(folder.path(), "sweep", &[1, 4], (5.0, 2.0));
    let server = Keeper::new(|told| {
        let path = told.line.split([' ', '?']).nth(1).unwrap();
        let missing = json!({"error_code": "RESOURCE_DOES_NOT_EXIST"});
        match path.trim_start_matches("/ml/api/2.0/mlflow/") {
            "experiments/get-by-name" => (404, missing),
            "experiments/create" => (200, json!({"experiment_id": "7"})),
            "runs/create" => {
                let name = told.json()["run_name"].as_str().unwrap().to_owned();
                let uri = format!("mlflow-artifacts:/7/{}/artifacts", name.len());
                (
                    200,
                    json!({"run": {"info": {"run_id": format!("id of {name}"), "artifact_uri": uri}}}),
                )
            }
            _ => (200, json!({})),
        }
    });
    let words = ["export", "last", "--as", "mlflow", "--push", &format!("{}/ml/", server.url)];
    let sent =
        program(folder.path()).args(words).env("MLFLOW_EXPERIMENT_NAME", "a b").output().unwrap();
    assert_eq!(sent.status.code(), Some(0), "{}", stderr(&sent));
    let told = server.told();
    assert_eq!(told[0].line, "GET /ml/api/2.0/mlflow/experiments/get-by-name?experiment_name=a+b");
    let to = |end: &str| -> Vec<Value> {
        let those = told.iter().filter(|one| one.line.ends_with(end));
        those.map(Told::json).collect()
    };
    assert_eq!(to("experiments/create"), [json!({"name": "a b"})]);
    let runs = to("runs/create");
    let names: Vec<&Value> = runs.iter().map(|run| &run["run_name"]).collect();
    assert_eq!(names, ["sweep", "sweep: 1 user", "sweep: 4 users"]);
    let parent = json!({"key": "mlflow.parentRunId", "value": "id of sweep"});
    let has_parent = |run: &Value| run["tags"].as_array().unwrap().contains(&parent);
    assert_eq!(runs.iter().map(has_parent).collect::<Vec<_>>(), [false, true, true]);
    let batches = to("runs/log-batch");
    let metrics = |run: &str| -> Vec<&Value> {
        let of_run = batches.iter().filter(|batch| batch["run_id"] == format!("id of {run}"));
        of_run.filter_map(|batch| batch["metrics"].as_array()).flatten().collect()
    };
    let step = |users: u64| {
        let is_it = |one: &&&Value| one["key"] == "ttft_p99_ms" && one["step"] == users;
        metrics("sweep").iter().find(is_it).unwrap()["value"].as_f64().unwrap()
    };
    let child = metrics("sweep: 4 users");
    let own = child.iter().find(|one| one["key"] == "ttft_p99_ms").unwrap();
    assert_eq!(own["value"].as_f64(), Some(step(4)));
    assert_ne!(step(1), step(4));
    assert_eq!(metrics("sweep").len(), metrics("sweep: 1 user").len() + child.len());
    assert_eq!(to("runs/update").iter().filter(|end| end["status"] == "FINISHED").count(), 3);
    let report = told.last().unwrap();
    assert_eq!(report.line, "PUT /ml/api/2.0/mlflow-artifacts/artifacts/7/5/artifacts/report.html");
    assert!(String::from_utf8_lossy(&report.body).starts_with("<!DOCTYPE html>"));
}

#[test]
fn a_run_of_one_level_is_one_run_of_mlflow() {
    let folder = tempfile::tempdir().unwrap();
    store(folder.path(), "one", &[3], (5.0, 2.0));
    let text = stdout(&export(folder.path(), &["--as", "mlflow"]));
    let document: Value = serde_json::from_str(&text).unwrap();
    let [only] = &document["runs"].as_array().unwrap()[..] else { panic!("{text}") };
    assert_eq!((only.get("children"), &only["info"]["run_name"]), (None, &json!("one")));
    let params = only["data"]["params"].as_array().unwrap();
    assert!(params.contains(&json!({"key": "concurrency", "value": "3"})), "{text}");
    let run = noisy_run(&[NoisyLoop {
        users: 1,
        rounds: 3,
        ttft_ms: 5.0,
        itl_ms: 1.0,
        tokens: 3,
        spread: 0.1,
        memory: 0.0,
        seed: 1,
    }]);
    assert_eq!(otlp::traces(&otlp::spans(&run)), 3);
}
