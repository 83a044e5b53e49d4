//! Running the binary, and servers to run it against.

use ifm_truth::paced::{Pace, Paced, PacedOptions, run_paced};
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

/// The program with an environment of its own: no key, no colour, a store in the given folder.
pub fn program(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_inferometer"));
    command
        .current_dir(folder)
        .env_remove("OPENAI_API_KEY")
        .env_remove("COLUMNS")
        .env("INFEROMETER_STORE", folder.join("runs"))
        .env("NO_COLOR", "1");
    command
}

/// Runs it to its end.
pub fn run(folder: &Path, words: &[&str]) -> Output {
    program(folder).args(words).output().unwrap()
}

pub fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

pub fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A server that streams tokens at a pace: time to first token and gaps in milliseconds.
pub fn paced(ttft_ms: u64, itl_ms: u64) -> Paced {
    let pace = Pace {
        ttft_ns: ttft_ms * 1_000_000,
        itl_ns: itl_ms * 1_000_000,
        coalesce: false,
        burst: 1,
        usage: true,
    };
    run_paced(PacedOptions::for_benchmarks(pace)).unwrap()
}

/// A process that ends with the test.
pub struct Running(pub Child);

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts `inferometer serve` on a free port: the process and its base URL.
pub fn serve(folder: &Path, words: &[&str]) -> (Running, String) {
    let child = program(folder)
        .args(["serve", "--preset", "nano", "--port", "0", "--until-stdin-closes"])
        .args(words)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut running = Running(child);
    let mut line = String::new();
    BufReader::new(running.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let url = line.trim().strip_prefix("listening on ").unwrap().to_owned();
    (running, url)
}

/// A listener that answers each connection with the same bytes and closes it.
pub fn canned(answer: &'static str) -> String {
    answering(move |_| answer.to_owned())
}

/// A listener that answers the request of each connection by a function and closes it.
pub fn answering(say: impl Fn(&str) -> String + Send + Sync + 'static) -> String {
    let say = std::sync::Arc::new(say);
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let say = say.clone();
            std::thread::spawn(move || {
                use std::io::{Read, Write};
                let mut request = [0; 65536];
                if let Ok(bytes) = stream.read(&mut request) {
                    let answer = say(&String::from_utf8_lossy(&request[..bytes]));
                    // The client may have gone.
                    let _ = stream.write_all(answer.as_bytes());
                }
            });
        }
    });
    format!("http://{address}")
}

/// A published document by its number; absent, and said so, where they are not at hand.
#[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
pub fn published(number: &str) -> Option<PathBuf> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/seeds");
    let folder = std::env::var_os("IFM_SEEDS").map_or_else(beside, PathBuf::from);
    let found = fs::read_dir(&folder).ok().and_then(|entries| {
        let mut paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
        paths.find(|path| {
            path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(number))
        })
    });
    if found.is_none() {
        eprintln!("skipped: {number} is not in {}", folder.display());
    }
    found
}
