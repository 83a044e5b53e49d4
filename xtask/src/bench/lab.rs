//! What every benchmark needs: the binaries, the two processors, a server, and runs of the client
//! and of the simplest client.

use super::child::{Cost, run_on};
use anyhow::{Context as _, Result, bail, ensure};
use ifm_core::RunData;
use ifm_store::Store;
use serde::Deserialize;
use serde_json::Value;
use std::{
    fs,
    io::{BufRead as _, BufReader},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};
use tempfile::TempDir;

/// Longest life of a server: a benchmark that hangs is ended.
const SERVER_SECONDS: u32 = 600;

/// Binaries, processors and a folder for what is thrown away.
#[derive(Debug)]
pub struct Lab {
    client: PathBuf,
    /// The release build of this program: server and simplest client.
    tools: PathBuf,
    server_cpu: usize,
    client_cpu: usize,
    folder: TempDir,
    /// Runs of each measurement.
    pub repeats: usize,
}

/// What the client is to do.
#[derive(Debug, Clone, Copy)]
pub struct Load<'a> {
    /// How the server paces its answers, such as `ttft_ms=200,itl_ms=20`.
    pub pace: &'a str,
    /// Users, each with one connection.
    pub streams: u32,
    /// Requests in all.
    pub requests: u32,
    /// Prompt tokens.
    pub prompt_tokens: u32,
    /// Tokens of each answer.
    pub tokens: u32,
    /// Options of the workload, such as `?image=720p`; empty for none.
    pub options: &'a str,
}

impl Load<'_> {
    /// Tokens of all answers.
    pub fn tokens_total(&self) -> u64 {
        u64::from(self.requests) * u64::from(self.tokens)
    }
}

/// What the client made of a load.
#[derive(Debug)]
pub struct Loaded {
    /// The stored run.
    pub run: RunData,
    /// What it cost.
    pub cost: Cost,
    /// Bytes of the run's folder.
    pub disk_bytes: u64,
}

/// What the simplest client said about itself.
#[derive(Debug, Clone, Copy, Deserialize)]
pub struct Drained {
    /// CPU time of the load alone, nanoseconds.
    pub cpu_ns: u64,
    /// Tokens of all answers.
    pub tokens: u64,
    /// Tokens per second of wall time.
    pub tokens_per_s: f64,
    /// Tokens per receive.
    pub tokens_per_read: f64,
}

impl Drained {
    /// CPU time per token, nanoseconds.
    pub fn cpu_ns_per_token(&self) -> f64 {
        self.cpu_ns as f64 / self.tokens.max(1) as f64
    }
}

/// One request as the server logged it. Times are nanoseconds on the monotonic clock.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Served {
    /// What the client calls it.
    pub id: Option<String>,
    /// Arrival of the first segment of the request.
    pub first_byte_ns: u64,
    /// Arrival of its last byte.
    pub arrival_ns: u64,
    /// Stamps that a full log left out.
    pub stamps_left_out: u32,
    /// Taken right before the write that completed each token.
    pub token_ns: Vec<u64>,
}

impl Lab {
    /// Finds binaries and processors.
    ///
    /// # Errors
    /// When one of them is missing: then with what to do.
    pub fn new(
        repeats: usize,
        binary: Option<PathBuf>,
        cpus: Option<(usize, usize)>,
    ) -> Result<Lab> {
        let own = std::env::current_exe().context("this program cannot find itself")?;
        let release = own.parent().and_then(Path::parent).map(|folder| folder.join("release"));
        let release = release.context("this program does not lie in a build folder")?;
        let tools = release.join("xtask");
        // With a binary of their own, people may have no release build: this program serves then.
        let tools = if binary.is_some() && !tools.is_file() { own } else { tools };
        let client = binary.unwrap_or_else(|| release.join("inferometer"));
        for file in [&client, &tools] {
            ensure!(
                file.is_file(),
                "{} does not exist; hint: cargo build --release --workspace",
                file.display()
            );
        }
        let allowed = ifm_sys::thread::allowed_cpus().context("the processors are not known")?;
        let (server_cpu, client_cpu) = match (cpus, allowed.as_slice()) {
            (Some(pair), _) => pair,
            (None, [server, client, ..]) => (*server, *client),
            (None, _) => bail!("server and client need a processor each, and this host has one"),
        };
        let folder = tempfile::tempdir().context("no temporary folder can be made")?;
        Ok(Lab { client, tools, server_cpu, client_cpu, folder, repeats })
    }

    /// The released build of this program.
    pub fn tools(&self) -> &Path {
        &self.tools
    }

    /// Host, load, and what that means for the figures.
    pub fn describe(&self) -> String {
        let cpu = ifm_sys::host::cpu_name().unwrap_or_else(|| "unknown processor".to_owned());
        let count = ifm_sys::thread::allowed_cpus().map_or(0, |cpus| cpus.len());
        let runs = match self.repeats {
            1 => "One run of each measurement.".to_owned(),
            count => format!("Medians of {count} runs."),
        };
        format!(
            "{cpu}, {count} processors, {}. Server on processor {}, client on {}, loopback. {runs}\n\
             {}\n\
             Absolute figures depend on the host and on what else it does; the ratio to the \
             simplest possible client\n\
             (one thread that reads, finds and stamps every event, and nothing else: \
             `drain --parse`, run in turn) travels better.\n",
            ifm_sys::host::os_release(),
            self.server_cpu,
            self.client_cpu,
            load_line("at the start"),
        )
    }

    /// The binary that is measured.
    pub fn binary(&self) -> &Path {
        &self.client
    }

    /// The client's processor.
    pub fn client_cpu(&self) -> usize {
        self.client_cpu
    }

    /// The server's processor.
    pub fn server_cpu(&self) -> usize {
        self.server_cpu
    }

    /// Starts a paced server, with a log of what it did or without.
    ///
    /// # Errors
    /// When it does not start.
    pub fn serve(&self, with_log: bool) -> Result<Server> {
        self.serve_with(with_log, &[])
    }

    /// The same with further flags of the paced server.
    ///
    /// # Errors
    /// When it does not start.
    pub fn serve_with(&self, with_log: bool, flags: &[String]) -> Result<Server> {
        let log = self.folder.path().join("served.jsonl");
        let mut command = Command::new(&self.tools);
        command.args(["truth", "paced", "--until-stdin-closes"]);
        command.args(["--cpu", &self.server_cpu.to_string()]);
        command.args(["--seconds", &SERVER_SECONDS.to_string()]);
        command.args(flags);
        if with_log {
            command.arg("--log").arg(&log);
        }
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot start {}", self.tools.display()))?;
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
        let mut server = Server {
            child,
            stdin,
            stdout: stdout.map(BufReader::new),
            address: String::new(),
            log: with_log.then_some(log),
        };
        let mut line = String::new();
        if let Some(stdout) = &mut server.stdout {
            stdout.read_line(&mut line).context("the server cannot be read")?;
        }
        let address = line.trim().strip_prefix("listening ");
        server.address = address.context("the server did not start")?.to_owned();
        Ok(server)
    }

    /// Runs the client on a server to the end of its load.
    ///
    /// # Errors
    /// When the client fails, or any of its requests did.
    pub fn load(&self, server: &Server, load: &Load<'_>) -> Result<Loaded> {
        let url = format!("http://{}/pace/{}/v1", server.address, load.pace);
        let (cost, store) = self.client(&url, load)?;
        let (run, folder) = stored(&store)?;
        let failed = run.requests.iter().find(|record| !record.outcome.is_ok());
        if let Some(failed) = failed {
            bail!("a request failed ({}): {:?}", failed.outcome.word(), failed.error);
        }
        ensure!(
            run.requests.len() == load.requests as usize,
            "{} of {} requests were stored",
            run.requests.len(),
            load.requests
        );
        Ok(Loaded { run, cost, disk_bytes: folder_bytes(&folder)? })
    }

    /// Runs the client on a server with flags of its own; what it stored, whatever its exit status.
    ///
    /// # Errors
    /// When the client fails.
    pub fn run_with(&self, server: &Server, pace: &str, flags: &[String]) -> Result<Loaded> {
        self.run_on_url(&format!("http://{}/pace/{pace}/v1", server.address), flags)
    }

    /// The same on any URL.
    ///
    /// # Errors
    /// When the client fails.
    pub fn run_on_url(&self, url: &str, flags: &[String]) -> Result<Loaded> {
        let (cost, store) = self.client_with(url, flags)?;
        let (run, folder) = stored(&store)?;
        Ok(Loaded { run, cost, disk_bytes: folder_bytes(&folder)? })
    }

    /// Runs the client on any URL; what it cost, and the folder of its store.
    ///
    /// # Errors
    /// When the client fails.
    pub fn client(&self, url: &str, load: &Load<'_>) -> Result<(Cost, TempDir)> {
        self.client_with(
            url,
            &[
                format!("--workload={}/{}{}", load.prompt_tokens, load.tokens, load.options),
                format!("--concurrency={}", load.streams),
                format!("--requests={}", load.requests),
                "--warmup=0".to_owned(),
            ],
        )
    }

    fn client_with(&self, url: &str, flags: &[String]) -> Result<(Cost, TempDir)> {
        let store = TempDir::new_in(self.folder.path()).context("no folder can be made")?;
        let mut arguments = vec![
            "run".to_owned(),
            url.to_owned(),
            "--quiet".to_owned(),
            "--store".to_owned(),
            store.path().display().to_string(),
            // Requests that find out how the server counts would be in its log.
            "--prompt-lengths=tokenizer".to_owned(),
        ];
        arguments.extend_from_slice(flags);
        let (_, cost) = run_on(self.client_cpu, &self.client, &arguments)?;
        Ok((cost, store))
    }

    /// Searches the capacity of a server; the document that says what was found.
    ///
    /// # Errors
    /// When the search fails, or says something else than JSON.
    pub fn search(&self, url: &str, flags: &[String]) -> Result<Value> {
        let mut words = vec!["capacity".to_owned(), url.to_owned()];
        words.extend_from_slice(flags);
        self.json(words)
    }

    /// What the client says as JSON, with a store of its own.
    ///
    /// # Errors
    /// When it fails, or says something else.
    pub fn json(&self, mut words: Vec<String>) -> Result<Value> {
        let store = TempDir::new_in(self.folder.path()).context("no folder can be made")?;
        let store = store.path().display().to_string();
        let flags = ["--json", "--store", &store, "--prompt-lengths=tokenizer"];
        words.extend(flags.map(str::to_owned));
        let (text, _) = run_on(self.client_cpu, &self.client, &words)?;
        serde_json::from_str(text.trim()).context("the client said something else")
    }

    /// Starts the embedded engine with room for this many requests at once.
    ///
    /// # Errors
    /// When it does not start.
    pub fn engine(&self, slots: u32) -> Result<Serving> {
        let slots = slots.to_string();
        self.serving(&["--preset", "nano", "--threads", "1", "--max-batch", &slots])
    }

    /// Starts the server of the released binary with flags of its own, on any processor. It ends when
    /// this is dropped.
    ///
    /// # Errors
    /// When it does not start.
    pub fn serving(&self, flags: &[&str]) -> Result<Serving> {
        let mut child = Command::new(&self.client)
            .args(["serve", "--port", "0", "--until-stdin-closes"])
            .args(flags)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .context("cannot start a server")?;
        let stdout = child.stdout.take();
        let mut serving = Serving { child, url: String::new() };
        let mut line = String::new();
        if let Some(stdout) = stdout {
            BufReader::new(stdout).read_line(&mut line).context("the server cannot be read")?;
        }
        let url = line.trim().strip_prefix("listening on ").context("the server did not start")?;
        serving.url = url.to_owned();
        Ok(serving)
    }

    /// Runs the simplest client with the same load.
    ///
    /// # Errors
    /// When it fails.
    pub fn drain(&self, server: &Server, load: &Load<'_>) -> Result<Drained> {
        let mut words = vec!["truth".to_owned(), "drain".to_owned(), "--parse".to_owned()];
        for (flag, value) in [
            ("--address", server.address.clone()),
            ("--pace", load.pace.to_owned()),
            ("--connections", load.streams.to_string()),
            ("--requests", load.requests.div_ceil(load.streams).to_string()),
            ("--tokens", load.tokens.to_string()),
        ] {
            words.extend([flag.to_owned(), value]);
        }
        let (text, _) = run_on(self.client_cpu, &self.tools, &words)?;
        serde_json::from_str(text.trim()).context("the simplest client said something else")
    }
}

/// The one run of a store, and its folder.
fn stored(store: &TempDir) -> Result<(RunData, PathBuf)> {
    let store = Store::at(store.path());
    let entry = store.find("last").context("the client stored no run")?;
    let run = store.open(&entry).context("the stored run cannot be read")?.data;
    Ok((run, entry.path))
}

/// A running server. It stops when this is dropped.
#[derive(Debug)]
pub struct Server {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: Option<BufReader<ChildStdout>>,
    /// Where it listens.
    pub address: String,
    log: Option<PathBuf>,
}

impl Server {
    /// Stops it; the requests that it served, in the order in which they ended. Empty without a
    /// log.
    ///
    /// # Errors
    /// When it did not end well, or its log cannot be read.
    pub fn stop(self) -> Result<Vec<Served>> {
        Ok(self.stop_with_cost()?.0)
    }

    /// The same with the processor time that it took to serve, nanoseconds.
    ///
    /// # Errors
    /// When it fails or its log or its last word cannot be read.
    pub fn stop_with_cost(mut self) -> Result<(Vec<Served>, u64)> {
        self.stdin.take();
        let mut summary = String::new();
        if let Some(stdout) = &mut self.stdout {
            stdout.read_line(&mut summary).context("the server's last word cannot be read")?;
        }
        let status = self.child.wait().context("the server cannot be waited for")?;
        ensure!(status.success(), "the server ended with {status}");
        let summary: Summary =
            serde_json::from_str(&summary).context("the server's last word is damaged")?;
        let Some(log) = &self.log else { return Ok((Vec::new(), summary.cpu_ns)) };
        let file = fs::File::open(log).context("the server wrote no log")?;
        let mut served = Vec::new();
        for line in BufReader::new(file).lines() {
            let line = line.context("the server's log cannot be read")?;
            served.push(serde_json::from_str(&line).context("the server's log is damaged")?);
        }
        Ok((served, summary.cpu_ns))
    }
}

/// A running server of the released binary. It stops when this is dropped.
#[derive(Debug)]
pub struct Serving {
    child: Child,
    /// Its base URL.
    pub url: String,
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.child.stdin.take();
        let _ = self.child.wait();
    }
}

/// What a server says when it ends.
#[derive(Debug, Deserialize)]
struct Summary {
    /// Processor time of its thread, nanoseconds.
    cpu_ns: u64,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stdin.take();
        // It has ended already after `stop`; a benchmark that fails leaves nothing running.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The load average now, in a sentence.
pub fn load_line(when: &str) -> String {
    match ifm_sys::host::load_average() {
        Some(load) => format!("Load average {when}: {load:.2}."),
        None => format!("Load average {when}: unknown."),
    }
}

/// Bytes of the files in a folder.
fn folder_bytes(folder: &Path) -> Result<u64> {
    let mut bytes = 0;
    for entry in fs::read_dir(folder).context("the folder of the run cannot be read")? {
        bytes += entry?.metadata()?.len();
    }
    Ok(bytes)
}
