//! Servers and files whose words would steer a terminal or a CI system, and servers that do not end
//! their answers.

use crate::support::{Running, answering, program, run, stderr, stdout};
use serde_json::json;
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::Stdio;
use std::time::{Duration, Instant};

/// A name that sets the title of a terminal, turns the direction of text, and begins lines that CI
/// systems run.
const NAME: &str = "x\u{1b}]0;title\u{7}\u{202e}\u{1b}[31m\u{2066}y\n::error title=T::injected\r\
                    ::add-mask::z\n##[error]q\u{200f}\u{9b}31m";

/// The first line that steers a terminal or a CI system.
fn steering(text: &str) -> Option<String> {
    let steers = |c: char| {
        (c.is_control() && !"\n\t".contains(c))
            || matches!(c, '\u{200e}' | '\u{200f}' | '\u{61c}')
            || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    let is_command = |line: &&str| line.trim_start().starts_with("::") || line.contains("##[");
    let control = text.lines().find(|line| line.contains(steers));
    control.or_else(|| text.lines().find(is_command)).map(|line| format!("{line:?}"))
}

/// A server that uses the name wherever a server may choose words.
fn named(request: &str) -> String {
    static COUNT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
    let respond = |status: u16, kind: &str, body: &str| {
        let length = body.len();
        format!(
            "HTTP/1.1 {status} X\r\nContent-Type: {kind}\r\nServer: e\u{202e}vil\r\nConnection: \
             close\r\nContent-Length: {length}\r\n\r\n{body}"
        )
    };
    if request.starts_with("GET /v1/models") {
        let models = json!({"data": [{"id": NAME, "owned_by": NAME}, {"id": format!("b{NAME}")}]});
        return respond(200, "application/json", &models.to_string());
    }
    if request.starts_with("GET /version") {
        return respond(200, "application/json", &json!({"version": NAME}).to_string());
    }
    if !request.starts_with("POST /v1/chat") {
        return respond(404, "text/plain", NAME);
    }
    let error = json!({"error": {"message": NAME, "type": NAME}}).to_string();
    let event = |text: &str, reason: Option<&str>| {
        let choice = json!({"index": 0, "delta": {"content": text}, "finish_reason": reason});
        format!("data: {}\n\n", json!({"id": NAME, "model": NAME, "choices": [choice]}))
    };
    let number = COUNT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    match number % 4 {
        0 => respond(400, "application/json", &error),
        1 => respond(200, "text/event-stream", &format!("data: {error}\n\n")),
        _ => {
            let text = [event("a", None), event(NAME, None), event("b", Some(NAME))].concat();
            respond(200, "text/event-stream", &format!("{text}data: [DONE]\n\n"))
        }
    }
}

#[test]
fn no_name_of_a_server_or_a_file_steers_a_terminal_or_a_ci_system() {
    let folder = tempfile::tempdir().unwrap();
    let url = answering(named);
    let load = ["-n", "8", "-c", "1", "-w", "0", "-W", "8/4", "--prompt-lengths=tokenizer"];
    let file = folder.path().join("e\u{1b}]0;t\u{7}\u{202e}.json");
    let results = json!([{"model": NAME, NAME: 1, "request_throughput": 3, "mean_ttft_ms": 4}]);
    fs::write(&file, results.to_string()).unwrap();
    let file = file.to_str().unwrap();
    let custom = format!("custom:{file}");
    let name = serde_json::to_string(NAME).unwrap();
    let plan = format!(
        "[plan]\nname = \"p\"\n[[server]]\nname = \"a\"\nurl = \"{url}\"\n[[load]]\nusers = [1]\n\
         requests = 2\nflags = [\"-m\", {name}]\n"
    );
    fs::write(folder.path().join("plan.toml"), plan).unwrap();
    let commands: [&[&str]; 17] = [
        &[&["run", &url, "-m", "other", "--name", "first"], &load[..]].concat(),
        &[&["run", &url], &load[..]].concat(),
        &[&["run", &url, "-m", NAME], &load[..]].concat(),
        &[&["sweep", &url, "-m", "m", "--name", "second"], &load[..]].concat(),
        &["runs"],
        &["report", "first"],
        &["audit", "first"],
        &["compare", "first", "second"],
        &["import", file],
        &["report", file],
        &["audit", file],
        &["import", "no\u{1b}]0;t\u{7}\n::error::x.json"],
        &["plan", "check", "plan.toml"],
        &["plan", "check", "plan.toml", "--commands"],
        &["workload", "preview", "-W", &custom],
        &["report", NAME],
        &[NAME],
    ];
    let mut said = String::new();
    for words in commands {
        let output = run(folder.path(), words);
        assert_ne!(output.status.code(), Some(70), "{words:?}: {}", stderr(&output));
        for text in [stdout(&output), stderr(&output)] {
            assert_eq!(steering(&text), None, "{words:?}: {text}");
            said.push_str(&text);
        }
    }
    // The words themselves are shown, so the test has looked at them.
    assert!(said.matches("injected").count() >= 5, "{said}");
    for words in [&["runs", "--json"][..], &["report", "first", "--json"]] {
        let text = stdout(&run(folder.path(), words));
        assert!(!text.contains(['\u{1b}', '\u{202e}', '\u{9b}']), "{words:?}: {text}");
        assert!(serde_json::from_str::<serde_json::Value>(&text).is_ok(), "{words:?}");
    }
}

/// An answer whose length is known and that ends.
fn whole(kind: &str, body: &str) -> String {
    format!(
        "HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nConnection: close\r\nContent-Length: {}\r\n\r\n\
         {body}",
        body.len()
    )
}

/// What a server sends without an end: where, the beginning, what follows again and again, and the pause
/// after each time.
#[derive(Clone, Copy)]
struct Endless {
    target: &'static str,
    head: &'static str,
    rest: &'static str,
    pause_ms: u64,
}

impl Endless {
    fn send(self, mut stream: TcpStream) {
        let times = if self.pause_ms > 0 { 1 } else { 65536_usize.div_ceil(self.rest.len()) };
        let part = self.rest.repeat(times);
        let mut is_open = stream.write_all(self.head.as_bytes()).is_ok();
        while is_open {
            is_open = stream.write_all(part.as_bytes()).is_ok();
            std::thread::sleep(Duration::from_millis(self.pause_ms));
        }
    }

    /// A server whose other answers are short and right.
    fn serve(self) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let answer = move |mut stream: TcpStream| {
            let mut request = [0; 65536];
            let read = stream.read(&mut request).unwrap_or(0);
            let request = String::from_utf8_lossy(&request[..read]).into_owned();
            if request.starts_with(self.target) {
                return self.send(stream);
            }
            let text = match request.split(' ').nth(1) {
                Some("/v1/chat/completions") => {
                    let event = TOKEN.trim_end_matches("data: ");
                    let end =
                        "{\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"length\"}]}";
                    whole(
                        "text/event-stream",
                        &format!("data: {event}data: {end}\n\ndata: [DONE]\n\n"),
                    )
                }
                Some("/v1/models") => whole("application/json", "{\"data\":[{\"id\":\"m\"}]}"),
                _ => "HTTP/1.1 404 X\r\nConnection: close\r\nContent-Length: 0\r\n\r\n".to_owned(),
            };
            // The client may have gone.
            let _ = stream.write_all(text.as_bytes());
        };
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                std::thread::spawn(move || answer(stream));
            }
        });
        url
    }
}

/// Peak of the memory of a process, MiB; absent once it has ended.
fn peak_mib(process: &Running) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{}/status", process.0.id())).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().trim_end_matches(" kB").parse::<u64>().ok()? / 1024)
}

/// Measures a server to the end: exit code, peak memory in MiB, and standard error.
fn measure(url: &str, flags: &[&str]) -> (i32, u64, String) {
    let folder = tempfile::tempdir().unwrap();
    let load = ["-m", "m", "-c", "4", "-n", "12", "-w", "0", "-W", "8/4"];
    let words = [&["run", url, "--prompt-lengths=tokenizer"], &load[..], flags].concat();
    let child = program(folder.path())
        .args(words)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut process = Running(child);
    let mut stderr = process.0.stderr.take().unwrap();
    let reading = std::thread::spawn(move || {
        let mut said = String::new();
        // It ends with the process.
        let _ = stderr.read_to_string(&mut said);
        said
    });
    // Longer than any host needs: a server without an end would need forever.
    let until = Instant::now() + Duration::from_secs(240);
    let mut peak = 0;
    while process.0.try_wait().unwrap().is_none() {
        assert!(Instant::now() < until, "no end, {peak} MiB");
        peak = peak.max(peak_mib(&process).unwrap_or_default());
        std::thread::sleep(Duration::from_millis(5));
    }
    let code = process.0.wait().unwrap().code().unwrap_or(-1);
    (code, peak, reading.join().unwrap())
}

const TOKEN: &str = "{\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"}}]}\n\ndata: ";
const STREAM: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: ";
const CHAT: &str = "POST /v1/chat";

#[test]
fn a_server_that_does_not_end_its_answers_ends_the_run_and_takes_no_memory() {
    const CHUNKED: &str =
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
    const HUGE: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\
                        Transfer-Encoding: chunked\r\n\r\nfffffffffffffffe\r\ndata: ";
    const JSON: &str = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n{\"data\": [";
    const TEXT: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n";
    const WRONG: &str = "HTTP/1.1 400 X\r\nContent-Type: application/json\r\n\r\n{\"error\": \"";
    let endless = |target, head, rest, pause_ms| Endless { target, head, rest, pause_ms };
    // 4 events of 32 MiB, what waits for the decoder, and the program itself; elsewhere only the latter.
    for (server, flags, expected, peak_max) in [
        (endless(CHAT, STREAM, "x", 0), &[][..], "more than 32 MiB in one event", 600),
        (endless(CHAT, STREAM, TOKEN, 0), &[], "more than 65536 token events", 600),
        (endless(CHAT, "HTTP/1.1 200 OK\r\n", "X-A: b\r\n", 0), &[], "head", 200),
        (endless(CHAT, "", "HTTP/1.1 100 Continue\r\n\r\n", 0), &[], "interim (1xx)", 200),
        (endless(CHAT, STREAM, "x", 20), &["--timeout", "0.2"], "timeout", 200),
        (endless(CHAT, HUGE, "x", 0), &[], "a chunk is too large", 200),
        (endless(CHAT, CHUNKED, "fffffffffffffffff", 0), &[], "chunk", 200),
        (endless(CHAT, CHUNKED, "1;x=", 0), &[], "chunk", 200),
        (endless(CHAT, WRONG, "x", 0), &[], "HTTP 400", 200),
        (endless("GET /metrics", TEXT, "vllm:num_requests_running 1\n", 0), &[], "", 200),
        (endless("GET /v1/models", JSON, "{\"id\":\"m\"},", 0), &[], "", 200),
        (endless("GET /version", JSON, "{\"id\":\"m\"},", 0), &[], "", 200),
    ] {
        let (code, peak, said) = measure(&server.serve(), flags);
        let name = format!("{} {:?} {:?}", server.target, server.head, server.rest);
        assert!((1..peak_max).contains(&peak), "{name}: {peak} MiB: {said}");
        assert!(said.contains(expected), "{name}: {said}");
        assert!(
            if server.target == CHAT { code != 0 } else { code == 0 || code == 6 },
            "{name}: {code} {said}"
        );
    }
}
