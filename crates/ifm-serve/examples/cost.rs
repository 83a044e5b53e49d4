//! Prints what a streamed token costs in the engine's thread and in the server's.
//!
//! `cargo run --release -p ifm-serve --example cost -- tiny q8_0 8 200`: preset, format,
//! streams at once, tokens of each. The clients are threads of this program that read
//! and throw away; their cost is not counted.

// Printing is what this program is for.
#![allow(clippy::print_stdout)]

use std::{
    collections::BTreeMap,
    error::Error,
    fs,
    io::{Read, Write},
    net::{SocketAddr, TcpStream},
    thread,
    time::{Duration, Instant},
};

use ifm_engine::{Compute, Engine, EngineOptions, ModelSource};
use ifm_serve::{ServeOptions, Server};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let argument = |index: usize, default: &str| {
        arguments.get(index).cloned().unwrap_or_else(|| default.to_owned())
    };
    let streams: usize = argument(2, "8").parse()?;
    let tokens: usize = argument(3, "200").parse()?;
    let compute = Compute::on_threads(argument(4, "1").parse()?);
    let source = ModelSource::Preset {
        preset: argument(0, "tiny").parse()?,
        quantization: argument(1, "q8_0").parse()?,
        seed: 1,
    };
    let start = Instant::now();
    let engine = Engine::load(&source, EngineOptions { compute, ..EngineOptions::suggested() })?;
    println!("ready after {:.0} ms", start.elapsed().as_secs_f64() * 1e3);
    let listen = SocketAddr::from(([127, 0, 0, 1], 0));
    let server = Server::start(ServeOptions::new(listen, engine))?;
    run(server.address(), 1, 10);
    let before = thread_ns()?;
    thread::sleep(Duration::from_secs(2));
    let idle: u64 = thread_ns()?.values().sum::<u64>() - before.values().sum::<u64>();
    println!("idle: {:.2} ms of CPU in 2 s", idle as f64 / 1e6);
    let (before, start) = (thread_ns()?, Instant::now());
    let bytes = run(server.address(), streams, tokens);
    let (after, wall) = (thread_ns()?, start.elapsed().as_secs_f64());
    let all = (streams * tokens) as f64;
    println!("{all} tokens, {bytes} bytes, {:.0} tok/s", all / wall);
    for name in ["ifm-engine", "ifm-serve"] {
        let used = after.get(name).unwrap_or(&0) - before.get(name).unwrap_or(&0);
        let each_us = used as f64 / 1e3 / all;
        println!("{name}: {each_us:.1} us a token, {:.0} tok/CPU s", 1e6 / each_us);
    }
    server.stop()?;
    Ok(())
}

/// Runs streams at once to their end; gives the bytes of the answers.
fn run(address: SocketAddr, streams: usize, tokens: usize) -> usize {
    let clients: Vec<_> = (0..streams)
        .map(|index| thread::spawn(move || read_stream(address, index, tokens)))
        .collect();
    clients.into_iter().filter_map(|client| client.join().ok()?.ok()).sum()
}

fn read_stream(address: SocketAddr, index: usize, tokens: usize) -> std::io::Result<usize> {
    let body = format!(
        r#"{{"messages":[{{"role":"user","content":"stream {index}"}}],"max_tokens":{tokens},"temperature":0,"ignore_eos":true,"stream":true}}"#
    );
    let mut stream = TcpStream::connect(address)?;
    let head = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all((head + &body).as_bytes())?;
    let (mut buffer, mut bytes) = ([0; 1 << 16], 0);
    loop {
        match stream.read(&mut buffer)? {
            0 => return Ok(bytes),
            read => bytes += read,
        }
    }
}

/// CPU time of each thread of this process by name, from `/proc`, nanoseconds.
fn thread_ns() -> Result<BTreeMap<String, u64>, Box<dyn Error>> {
    let mut times = BTreeMap::new();
    for task in fs::read_dir("/proc/self/task")? {
        let path = task?.path();
        let name = fs::read_to_string(path.join("comm"))?.trim().to_owned();
        let used = fs::read_to_string(path.join("schedstat"))?;
        let used: u64 = used.split(' ').next().unwrap_or_default().parse()?;
        *times.entry(name).or_default() += used;
    }
    Ok(times)
}
