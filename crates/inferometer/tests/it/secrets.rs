//! Keys in many places, and everything that the program writes searched for them.

use crate::support::{answering, program, stderr};
use serde_json::json;
use std::cell::RefCell;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// A folder, the keys that were given in it, and what commands printed.
struct Search {
    folder: tempfile::TempDir,
    keys: RefCell<Vec<String>>,
    printed: RefCell<Vec<(String, Vec<u8>)>>,
    /// Files of the user, which hold keys.
    own: RefCell<Vec<PathBuf>>,
}

impl Search {
    fn new() -> Search {
        Search {
            folder: tempfile::tempdir().unwrap(),
            keys: RefCell::default(),
            printed: RefCell::default(),
            own: RefCell::default(),
        }
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    /// A key that no other place has.
    fn key(&self, place: &str) -> String {
        let mut keys = self.keys.borrow_mut();
        let key = format!("Qz{:02}{place}Xk9w7v5", keys.len());
        keys.push(key.clone());
        key
    }

    /// A file of the user.
    fn own_file(&self, name: &str, text: &str) -> String {
        let path = self.path().join(name);
        fs::write(&path, text).unwrap();
        self.own.borrow_mut().push(path.clone());
        path.display().to_string()
    }

    /// Runs a command with variables; its code is one of these.
    #[track_caller]
    fn run(&self, words: &[&str], variables: &[(&str, &str)], codes: &[i32]) {
        let mut command = program(self.path());
        command.env("TMPDIR", self.path()).envs(variables.iter().copied());
        let output = command.args(words).output().unwrap();
        let code = output.status.code().unwrap_or(-1);
        assert!(codes.contains(&code), "{words:?}: {code} {}", stderr(&output));
        let name = words.join(" ");
        self.printed.borrow_mut().push((format!("standard output of {name}"), output.stdout));
        self.printed.borrow_mut().push((format!("standard error of {name}"), output.stderr));
    }

    /// Everything that was printed and written, by its name.
    fn everything(&self) -> Vec<(String, Vec<u8>)> {
        let mut all = self.printed.borrow().clone();
        let mut folders = vec![self.path().to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else if !self.own.borrow().contains(&path) {
                    all.push((path.display().to_string(), fs::read(&path).unwrap()));
                }
            }
        }
        all
    }
}

fn contains(bytes: &[u8], key: &str) -> bool {
    bytes.windows(key.len()).any(|window| window == key.as_bytes())
}

/// A server that repeats the whole request: in its headers, its model list, its answers and errors.
fn repeating(request: &str) -> String {
    let repeated = request.replace("\r\n", " ");
    let header = |name: &str| {
        let name = format!("{name}: ");
        let line = request.lines().find(|line| line.to_ascii_lowercase().starts_with(&name));
        line.map_or("", |line| &line[name.len()..]).to_owned()
    };
    let authorization = header("authorization");
    let respond = |status: &str, kind: &str, body: &str| {
        format!(
            "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nServer: x/{authorization}\r\nConnection: \
             close\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        )
    };
    if request.starts_with("GET /v1/models") {
        let models = json!({"data": [{"id": "m"}, {"id": format!("m {authorization}")}]});
        return respond("200 OK", "application/json", &models.to_string());
    }
    if request.starts_with("GET /version") {
        return respond(
            "200 OK",
            "application/json",
            &json!({"version": authorization}).to_string(),
        );
    }
    // Of the requests of a load, each other one is refused with all that it said.
    static COUNT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
    let number = COUNT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    if !request.starts_with("POST /v1/chat") || number.is_multiple_of(3) {
        let error = json!({"error": {"message": format!("wrong {repeated}")}});
        return respond("400 Bad Request", "application/json", &error.to_string());
    }
    let event = |text: &str, reason: Option<&str>| {
        let choice = json!({"index": 0, "delta": {"content": text}, "finish_reason": reason});
        format!("data: {}\n\n", json!({"choices": [choice]}))
    };
    let text = [event("a", None), event(&authorization, None), event("b", Some("length"))].concat();
    respond("200 OK", "text/event-stream", &format!("{text}data: [DONE]\n\n"))
}

const LOAD: [&str; 11] =
    ["-m", "m", "-n", "6", "-c", "1", "-w", "0", "-W", "8/4", "--prompt-lengths=tokenizer"];

/// Runs whose keys are in flags, variables, headers, bodies and addresses.
fn measure(search: &Search, url: &str) {
    let body = json!({
        "pwd": search.key("pwd"),
        "auth": search.key("auth"),
        "list": [{"any": format!("Bearer {}", search.key("bearer"))}],
        "other": format!("sk-{}", search.key("form")),
        "deep": {"client_secret": search.key("secret"), "api_token": search.key("apitoken")},
        "token": search.key("token"),
        (format!("sk-proj-{}", search.key("fieldname"))): 1,
    });
    let words = [
        format!("X-Any: {}", search.key("anyheader")),
        format!("Cookie: a=1; sid={}", search.key("cookie")),
        format!("X-Tok={}-{{session}}", search.key("persession")),
        body.to_string(),
        format!("{url}/metrics?token={}&sig={}", search.key("metrics"), search.key("signature")),
        format!("{url}/power?api_key={}", search.key("power")),
        format!("X-Behind: {}", search.key("behindflags")),
        format!("site=http://bob:{}@h/", search.key("taguser")),
        format!("note=sk-proj-{}", search.key("tagform")),
    ];
    let flags = [
        "-H",
        &words[0],
        "-H",
        &words[1],
        "--header-per-session",
        &words[2],
        "--extra-body",
        &words[3],
        "--metrics-url",
        &words[4],
        "--power-url",
        &words[5],
        "-vH",
        &words[6],
        "--tag",
        &words[7],
        "--tag",
        &words[8],
        "--keep-text",
        "--name",
        "first",
    ];
    let variable = [("OPENAI_API_KEY", search.key("openai"))];
    let variable = variable.each_ref().map(|(name, value)| (*name, value.as_str()));
    search.run(&[&["run", url], &LOAD[..], &flags].concat(), &variable, &[0, 6]);

    let file = json!({"password": search.key("file"), "in": {"apiKey": search.key("nestedfile")}});
    let file = format!("@{}", search.own_file("body.json", &file.to_string()));
    let header = format!("-sHAuthorization:{}", search.key("joined"));
    let flags = ["--extra-body", &file, &header, "--name", "second"];
    search.run(&[&["run", url], &LOAD[..], &flags].concat(), &[], &[0, 6]);

    let named = search.key("named");
    let flags = ["--api-key-env", "MY_VARIABLE", "--json"];
    search.run(&[&["sweep", url], &LOAD[..], &flags].concat(), &[("MY_VARIABLE", &named)], &[0, 6]);

    // Refused, and not repeated.
    let address = url.replace("http://", &format!("http://user:{}@", search.key("userinfo")));
    search.run(&[&["run", &address], &LOAD[..]].concat(), &[], &[2]);
    let address = format!("{url}/v1?api-key={}", search.key("query"));
    search.run(&[&["run", &address], &LOAD[..]].concat(), &[], &[2]);
    // An address whose path is a key.
    let address = format!("{url}/sk-proj-{}", search.key("path"));
    search.run(&[&["run", &address], &LOAD[..]].concat(), &[], &[0, 5, 6]);
}

/// Commands that other programs run, and command lines of other tools.
fn run_other_commands(search: &Search, url: &str) {
    let argument = search.key("execargument");
    let address =
        format!("https://u:{}@h/?key={}", search.key("execuser"), search.key("execquery"));
    let shell = format!("API_TOKEN='{}' true", search.key("execshell"));
    let variable = search.key("execvariable");
    // The command prints nothing itself: what it prints is its own.
    let words = ["exec", "--", "sh", "-c", "true; true", "--api-key", &argument, &address, &shell];
    search.run(&words, &[("SOME_TOKEN", &variable)], &[0]);
    search.run(&["exec", "--", "sh", "-c", &shell], &[], &[0]);

    let bearer = |place: &str| format!("Authorization: Bearer {}", search.key(place));
    let aiperf = search.key("asaiperf");
    let guidellm = json!({"api_key": search.key("asguidellm")}).to_string();
    let oha = (
        bearer("asohaheader"),
        json!({
            "model": "m", "messages": [{"role": "user", "content": "a"}], "api_key": search.key("asohabody"),
        }),
    );
    let (oha_header, oha_body) = (oha.0, oha.1.to_string());
    let chat = format!("{url}/v1/chat/completions");
    let genai = bearer("asgenai");
    let vllm = format!("Authorization=Bearer {}", search.key("asvllm"));
    let lines: [&[&str]; 5] = [
        &[
            "vllm",
            "bench",
            "serve",
            "--base-url",
            url,
            "--model",
            "m",
            "--num-prompts",
            "2",
            "--random-input-len",
            "8",
            "--random-output-len",
            "4",
            "--header",
            &vllm,
        ],
        &[
            "aiperf",
            "profile",
            "-m",
            "m",
            "--url",
            url,
            "--api-key",
            &aiperf,
            "--streaming",
            "--endpoint-type",
            "chat",
            "--request-count",
            "2",
            "--concurrency",
            "1",
        ],
        &[
            "genai-perf",
            "profile",
            "-m",
            "m",
            "--url",
            url,
            "-H",
            &genai,
            "--endpoint-type",
            "chat",
            "--streaming",
            "--request-count",
            "2",
        ],
        &[
            "guidellm",
            "benchmark",
            "--target",
            url,
            "--model",
            "m",
            "--max-requests",
            "2",
            "--rate-type",
            "synchronous",
            "--backend-args",
            &guidellm,
            "--data",
            "prompt_tokens=8,output_tokens=4",
        ],
        &["oha", "-n", "2", "-c", "1", "-m", "POST", "-H", &oha_header, "-d", &oha_body, &chat],
    ];
    for line in lines {
        search.run(&[&["as"], line].concat(), &[], &[0, 6]);
    }
    // The translated body becomes a data set for its user alone.
    let bodies = fs::read_dir(search.path()).unwrap().map(|entry| entry.unwrap().path());
    let mut bodies = bodies.filter(|path| path.extension().is_some_and(|end| end == "jsonl"));
    let bodies = bodies.next().unwrap();
    assert_eq!(fs::metadata(&bodies).unwrap().permissions().mode() & 0o777, 0o600);
    search.own.borrow_mut().push(bodies);

    // Refused, because the path contains a key.
    let api = format!(
        "[request]\npath = \"/v1/chat?api_key={}\"\nbody = '{{\"prompt\": \"{{prompt}}\"}}'\n\
         [read]\ntext = \"/text\"\n",
        search.key("api")
    );
    let api = format!("custom:{}", search.own_file("api.toml", &api));
    search.run(&[&["run", url, "--api", &api], &LOAD[..]].concat(), &[], &[2]);
}

/// A plan whose servers, variables, hooks and flags hold keys.
fn measure_plan(search: &Search) {
    let program = env!("CARGO_BIN_EXE_inferometer");
    let (word, variable, shell) =
        (search.key("planword"), search.key("planenv"), search.key("plansh"));
    let (before, after, header) =
        (search.key("before"), search.key("after"), search.key("planheader"));
    let script = "#!/bin/sh\necho \"started with $* and $MY_SECRET\"\necho \"$MY_SECRET\" >&2\n";
    let script = search.own_file(
        "start.sh",
        &format!("{script}exec {program} serve --preset nano --port \"$PORT_TO_USE\"\n"),
    );
    let text = format!(
        r#"
[plan]
name = "keys"
flags = ["-w", "0", "-H", "X-Plan: {header}"]

[[server]]
name = "script"
kind = "command"
model = "nano"
command = ["sh", "-c", "PORT_TO_USE={{port}} MY_TOKEN='{shell}' exec sh {script} --password={word} $MY_TOKEN"]
env = {{ MY_SECRET = "{variable}" }}
ready-within = "60s"

[[workload]]
workload = "8/4"

[[load]]
users = [1]
requests = 2

[[condition]]
name = "hook"
set = "hook"
values = [1]
before = ["sh", "-c", "true --password={before}"]
after = ["sh", "-c", "true --api-key {after}"]
"#
    );
    let plan = search.own_file("plan.toml", &text);
    search.run(&["plan", "check", &plan], &[], &[0]);
    search.run(&["plan", "check", &plan, "--commands"], &[], &[0]);
    search.run(&["plan", "check", &plan, "--json"], &[], &[0]);
    search.run(&["plan", "run", &plan, "-o", "plan.html"], &[], &[0, 6]);
    search.run(&["plan", "show", "keys"], &[], &[0]);
    // The plan itself is kept word for word, since it is read again, for its user alone.
    let copy = search.path().join("runs/.plans/keys/plan.toml");
    assert!(contains(&fs::read(&copy).unwrap(), &word));
    search.own.borrow_mut().push(copy);
}

#[test]
fn nothing_that_is_written_holds_a_key() {
    let search = Search::new();
    let url = answering(repeating);
    measure(&search, &url);
    run_other_commands(&search, &url);
    measure_plan(&search);
    for name in ["first", "second"] {
        search.run(&["report", name], &[], &[0]);
        for format in ["html", "md", "json"] {
            search.run(&["report", name, "-o", &format!("{name}.{format}")], &[], &[0]);
        }
        search.run(&["audit", name], &[], &[0, 1, 9]);
        search.run(&["export", name, "--as", "csv", "-o", &format!("{name}.csv")], &[], &[0]);
    }
    search.run(&["compare", "first", "second"], &[], &[0, 1]);
    search.run(&["runs", "--json"], &[], &[0]);

    let everything = search.everything();
    let keys = search.keys.borrow();
    assert!(keys.len() >= 30, "{}", keys.len());
    let found: Vec<String> = everything
        .iter()
        .flat_map(|(name, bytes)| {
            let found = keys.iter().filter(|key| contains(bytes, key));
            found.map(|key| format!("{key} in {name}")).collect::<Vec<_>>()
        })
        .collect();
    assert!(found.is_empty(), "{found:#?}");

    // What may hold words of a server or of a plan is for its user alone.
    let is_private = |name: &str| {
        name.contains("/.plans/keys/") && (name.ends_with(".log") || name.ends_with(".jsonl"))
    };
    let copy = search.path().join("runs/.plans/keys/plan.toml").display().to_string();
    let private = everything.iter().map(|(name, _)| name).filter(|name| is_private(name));
    let private: Vec<&String> = private.chain([&copy]).collect();
    assert!(private.len() >= 4, "plan, journal, and logs of a server and a cell: {private:?}");
    let first = fs::read_dir(search.path().join("runs")).unwrap();
    let mut first = first.map(|entry| entry.unwrap().path());
    let kept = first.find(|path| {
        let head = fs::read_to_string(path.join("manifest.json")).unwrap_or_default();
        head.contains("\"first\"")
    });
    let kept = kept.unwrap().join("requests.parquet").display().to_string();
    for path in private.into_iter().chain([&kept]) {
        let mode = fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o600, "{path}");
    }
}
