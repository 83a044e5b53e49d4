//! From starting the process to its first request, as a server sees it.
//!
//! The paced server logs requests for tokens only; this needs the very first request too, which
//! asks for the models. So a door of its own answers here: one connection after the other gets a
//! fixed answer, on the processor that otherwise the server has.

use super::lab::{Lab, Load};
use super::statistics::median;
use super::table::{Table, number, verdict};
use anyhow::{Context as _, Result};
use ifm_sys::mono_ns;
use std::{
    io::{Read as _, Write as _},
    net::{Ipv4Addr, TcpListener, TcpStream},
    sync::mpsc::{self, Receiver, Sender},
    time::Duration,
};

/// Processes started in each repeat.
const SPAWNS: usize = 20;
const TARGET_MS: f64 = 20.0;
/// Longest wait for a request's bytes.
const PATIENCE: Duration = Duration::from_secs(10);
/// Bytes of a request that are looked at.
const REQUEST_BYTES_MAX: usize = 64 * 1024;

const LOAD: Load<'static> =
    Load { pace: "", streams: 1, requests: 1, prompt_tokens: 32, tokens: 1, options: "" };

const NOTE: &str = "From right before the process is made to the arrival of its first request (which \
    asks for the models) and of its first request for tokens. One user, one request.";

/// A request that arrived.
#[derive(Debug, Clone, Copy)]
struct Knock {
    at_ns: u64,
    asks_tokens: bool,
}

/// Runs the benchmark.
///
/// # Errors
/// When a run fails.
pub fn run(lab: &Lab, say: &mut dyn FnMut(&str)) -> Result<Vec<Table>> {
    let door = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("no port is free")?;
    let url = format!("http://{}/v1", door.local_addr()?);
    let (knocks, knocked) = mpsc::channel();
    let server_cpu = lab.server_cpu();
    // The thread waits at its door until the process ends.
    std::thread::spawn(move || {
        ifm_sys::thread::pin_to(&[server_cpu]).ok();
        open_door(&door, &knocks);
    });
    let (mut first, mut tokens, mut whole, mut cpu) = (vec![], vec![], vec![], vec![]);
    for repeat in 1..=lab.repeats {
        for _ in 0..SPAWNS {
            let (cost, _) = lab.client(&url, &LOAD)?;
            let since = |at_ns: u64| at_ns.saturating_sub(cost.spawn_ns) as f64 / 1e6;
            let heard: Vec<Knock> = Receiver::try_iter(&knocked).collect();
            let asks = heard.iter().find(|knock| knock.asks_tokens);
            first.extend(heard.first().map(|knock| since(knock.at_ns)));
            tokens.extend(asks.map(|knock| since(knock.at_ns)));
            whole.push(since(cost.end_ns));
            cpu.push(cost.cpu_ns as f64 / 1e6);
        }
        say(&format!("run {repeat}: {:.1} ms", median(&tokens).unwrap_or(f64::NAN)));
    }
    let mut table = Table::new("Start-up", NOTE, &["from start to, ms", "median", "p90", "target"]);
    for (name, values, has_target) in [
        ("first request", &first, true),
        ("first request for tokens", &tokens, true),
        ("end of the process", &whole, false),
        ("CPU time of all", &cpu, false),
    ] {
        let middle = median(values);
        let target = if has_target { verdict(middle, TARGET_MS, "20") } else { String::new() };
        table.push(vec![name.to_owned(), number(middle, 1), number(p90(values), 1), target]);
    }
    Ok(vec![table])
}

fn p90(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted.get((sorted.len() * 9).div_ceil(10).saturating_sub(1)).copied()
}

/// Answers every connection, with a thread for each.
fn open_door(door: &TcpListener, knocks: &Sender<Knock>) {
    for stream in door.incoming().map_while(Result::ok) {
        let knocks = knocks.clone();
        std::thread::spawn(move || answer(stream, &knocks));
    }
}

/// Answers one request and closes. A client that leaves early gets nothing.
fn answer(mut stream: TcpStream, knocks: &Sender<Knock>) {
    stream.set_read_timeout(Some(PATIENCE)).ok();
    stream.set_nodelay(true).ok();
    let mut request = Vec::new();
    let mut part = [0; 4096];
    let mut at_ns = None;
    while !is_whole(&request) && request.len() < REQUEST_BYTES_MAX {
        match stream.read(&mut part) {
            Ok(count) if count > 0 => {
                at_ns.get_or_insert_with(mono_ns);
                request.extend_from_slice(&part[..count]);
            }
            _ => return,
        }
    }
    let Some(at_ns) = at_ns else { return };
    let asks_tokens = request.starts_with(b"POST ");
    // The benchmark has ended if the receiver is gone.
    knocks.send(Knock { at_ns, asks_tokens }).ok();
    let page = match (asks_tokens, request.windows(8).any(|part| part == b"/models ")) {
        (true, _) => TOKENS,
        (false, true) => MODELS,
        (false, false) => NOTHING,
    };
    stream.write_all(page.as_bytes()).ok();
}

/// Whether head and announced body are there.
fn is_whole(request: &[u8]) -> bool {
    let Some(head) = request.windows(4).position(|part| part == b"\r\n\r\n") else { return false };
    let text = String::from_utf8_lossy(&request[..head]).to_ascii_lowercase();
    let length = text.lines().find_map(|line| line.strip_prefix("content-length:"));
    let length: usize = length.and_then(|text| text.trim().parse().ok()).unwrap_or(0);
    request.len() >= head + 4 + length
}

const MODELS: &str = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n\r\n\
    {\"object\":\"list\",\"data\":[{\"id\":\"m\",\"object\":\"model\"}]}";
const NOTHING: &str = "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
const TOKENS: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n\
    data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"}}]}\n\n\
    data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"length\"}]}\n\n\
    data: [DONE]\n\n";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_whole_with_its_body() {
        let head = b"POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\n";
        assert!(!is_whole(&head[..10]));
        assert!(!is_whole(&[head.as_slice(), b"ab"].concat()));
        assert!(is_whole(&[head.as_slice(), b"abc"].concat()));
        assert!(is_whole(b"GET / HTTP/1.1\r\n\r\n"));
    }

    #[test]
    fn the_ninetieth_of_a_hundred() {
        let values: Vec<f64> = (1..=20).rev().map(f64::from).collect();
        assert_eq!(p90(&values), Some(18.0));
        assert_eq!(p90(&[]), None);
    }
}
