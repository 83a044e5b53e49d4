//! Running the binary, and servers to run it against.

use ifm_core::Manifest;
use ifm_metrics::testing::{NoisyLoop, noisy_run};
use ifm_store::Store;
use ifm_truth::paced::{Pace, Paced, PacedOptions, run_paced};
use serde_json::Value;
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

/// The JSON document that was printed.
#[track_caller]
pub fn json(output: &Output) -> Value {
    serde_json::from_str(&stdout(output))
        .unwrap_or_else(|error| panic!("{error}: {} {}", stdout(output), stderr(output)))
}

/// The JSON document that a command prints.
#[track_caller]
pub fn document(folder: &Path, words: &[&str]) -> Value {
    json(&run(folder, words))
}

/// Asserts that a run was measured. Its code is 6 where the host was so busy that half of the
/// requests left late, or the way to the server took longer than its answer: that is reported and has
/// its own tests, and no other test depends on it.
#[track_caller]
pub fn assert_measured(output: &Output) {
    let said = stderr(output);
    let is_late = ["after they were due", "too short to be timed from here"];
    let is_busy =
        output.status.code() == Some(6) && is_late.iter().any(|words| said.contains(words));
    assert!(output.status.success() || is_busy, "{:?}: {said}", output.status.code());
}

/// A server that streams tokens at a pace: time to first token and gaps in milliseconds.
pub fn paced(ttft_ms: u64, itl_ms: u64) -> Paced {
    run_paced(PacedOptions::for_benchmarks(pace(ttft_ms, itl_ms))).unwrap()
}

/// Time to first token and gaps in milliseconds.
pub fn pace(ttft_ms: u64, itl_ms: u64) -> Pace {
    Pace {
        ttft_ns: ttft_ms * 1_000_000,
        itl_ns: itl_ms * 1_000_000,
        coalesce: false,
        burst: 1,
        usage: true,
    }
}

/// A stored run of users, as if a server had answered at that pace: median TTFT and gap in milliseconds,
/// ten tokens each. No clock, no server: the same figures on every host.
pub fn store(folder: &Path, name: &str, users: &[u32], pace_ms: (f64, f64)) {
    store_changed(folder, name, users, (pace_ms, 10), |_| {});
}

/// The same with this many tokens per answer, and a manifest that is changed first.
pub fn store_changed(
    folder: &Path,
    name: &str,
    users: &[u32],
    ((ttft_ms, itl_ms), tokens): ((f64, f64), u32),
    change: impl FnOnce(&mut Manifest),
) {
    // The name makes the chance of the run.
    let seed = name.bytes().fold(1, |seed: u64, byte| seed * 31 + u64::from(byte));
    let level = |&users: &u32| NoisyLoop {
        users,
        rounds: 80 / users,
        ttft_ms,
        itl_ms,
        tokens,
        spread: 0.1,
        memory: 0.2,
        seed,
    };
    let mut run = noisy_run(&users.iter().map(level).collect::<Vec<_>>());
    let manifest = &mut run.manifest;
    manifest.run_id = format!("20261120-110000-{:04x}", seed as u16);
    manifest.name = Some(name.to_owned());
    manifest.spec.workload.seed = seed;
    manifest.spec.workload.output_tokens = Some(tokens);
    change(manifest);
    let mut writer = Store::at(folder.join("runs")).create(&run.manifest).unwrap();
    run.requests.iter().for_each(|record| writer.append(record).unwrap());
    writer.seal(run.manifest, &run.series).unwrap();
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
    served(folder, &[&["--preset", "nano"], words].concat())
}

/// Starts `inferometer serve` with these flags on a free port.
pub fn served(folder: &Path, words: &[&str]) -> (Running, String) {
    let child = program(folder)
        .arg("serve")
        .args(words)
        .args(["--port", "0", "--until-stdin-closes"])
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

/// A published document by its number. Tests that read one are ignored where it is missing: the build
/// script reports where it looks for them.
pub fn published(number: &str) -> PathBuf {
    let Some(folder) = option_env!("IFM_DOCUMENTS") else { panic!("no published documents") };
    let mut paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let is_asked = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().starts_with(number);
    paths.find(is_asked).unwrap()
}
