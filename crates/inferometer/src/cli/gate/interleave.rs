//! Measures both sides of a gate in one job: A B B A, and so on.
//!
//! Drift during the job (a host that warms up, a neighbor that becomes active) affects both sides
//! alike. Each measurement is a separate process and an ordinary stored run, as if `sweep` had been
//! typed. Nothing carries over to the next one except what the server keeps.
//!
//! Not here: judging, which is the same for stored runs.

use crate::cli::args::repeats;
use crate::exit::{Code, Failure};
use crate::terminal;
use ifm_launch::own_program::{OwnServer, own_command};
use ifm_probe::url::BaseUrl;
use serde_json::Value;
use std::net::TcpStream;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

/// The word for the embedded engine; flags of `serve` may follow a colon.
const ENGINE: &str = "engine";

/// One side: what was typed, its address, and its runs.
pub struct Measured {
    /// The URL, or the engine with its flags.
    pub label: String,
    /// IDs of the runs, in the order of measurement.
    pub runs: Vec<String>,
}

/// A side while it is being measured.
struct Server {
    url: String,
    /// The engine, which stops when this is dropped.
    _own: Option<OwnServer>,
}

impl Server {
    fn of(word: &str) -> Result<Server, Failure> {
        let flags = match word.split_once(':') {
            Some((ENGINE, flags)) => flags,
            None if word == ENGINE => "",
            _ => {
                reach(word)?;
                return Ok(Server { url: word.to_owned(), _own: None });
            }
        };
        let flags: Vec<&str> = flags.split_whitespace().collect();
        let own = OwnServer::start(&flags)?;
        Ok(Server { url: own.url.clone(), _own: Some(own) })
    }
}

/// Maximum time for an address to accept a connection.
const REACH: Duration = Duration::from_secs(5);

/// Whether a server listens at a URL: a missing one should be reported before the other side is
/// measured.
fn reach(url: &str) -> Result<(), Failure> {
    let (base, _) = BaseUrl::parse(url)?;
    let addresses = base.resolve()?;
    let mut failures = addresses.iter().map(|to| TcpStream::connect_timeout(to, REACH).err());
    match failures.by_ref().find(Option::is_none) {
        Some(None) => Ok(()),
        _ => Err(Failure::new(Code::Server, format!("no server responds at {}", base.authority()))),
    }
}

/// Measures both sides the given number of times, the baseline first, with the same flags of
/// `sweep`.
///
/// # Errors
/// A server that does not start, or a measurement that fails, then with its exit code.
pub fn measure(
    sides: &[String],
    repeat: u32,
    flags: &[String],
    store: &Path,
) -> Result<Vec<Measured>, Failure> {
    let servers = sides.iter().map(|side| Server::of(side)).collect::<Result<Vec<_>, _>>()?;
    let mut measured: Vec<Measured> =
        sides.iter().map(|side| Measured { label: side.clone(), runs: Vec::new() }).collect();
    let order = repeats::forth_and_back(sides.len(), repeat as usize);
    for (done, place) in order.iter().enumerate() {
        let (Some(server), Some(side)) = (servers.get(*place), measured.get_mut(*place)) else {
            continue;
        };
        terminal::tell(&format!("measuring {} of {}: {}", done + 1, order.len(), side.label));
        side.runs.push(sweep(&server.url, flags, store)?);
    }
    Ok(measured)
}

/// One measurement; returns the ID of its run.
fn sweep(url: &str, flags: &[String], store: &Path) -> Result<String, Failure> {
    let internal = |why: String| Failure::new(Code::Internal, why);
    let output = own_command()
        .map_err(|error| internal(error.to_string()))?
        .args(["sweep", url, "--quiet", "--json", "--store"])
        .arg(store)
        // They were already reported, and would not be visible.
        .args(flags.iter().filter(|flag| !["-s", "--quiet", "--json"].contains(&flag.as_str())))
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| internal(format!("the measurement cannot be started: {error}")))?;
    if !output.status.success() {
        // The measurement has reported the reason.
        let code = output.status.code().and_then(Code::of_number).unwrap_or(Code::Internal);
        return Err(Failure::new(code, format!("{url} could not be measured")));
    }
    let document: Value = serde_json::from_slice(&output.stdout)
        .map_err(|error| internal(format!("the measurement said something else: {error}")))?;
    let id = document.pointer("/run/id").and_then(Value::as_str).map(str::to_owned);
    id.ok_or_else(|| internal("the measurement named no run".to_owned()))
}
