//! Prints how late the tokens of a simulated server go out, and what they cost.
//!
//! `cargo run --release -p ifm-serve --example lag -- 64 200 1`: streams at once, tokens of
//! each, time scale. The clients are one thread of this program that reads and throws away.

// Printing is what this program is for.
#![allow(clippy::print_stdout)]

use std::{
    error::Error,
    fs,
    io::{Read, Write},
    net::{SocketAddr, TcpStream},
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use ifm_roofline::{Machine, Model, Precision, Setup};
use ifm_serve::{Backend, ServeOptions, Server, SimulatedOptions};
use ifm_sim::{Constants, Deployment, Kind, Settings};
use tokio::sync::Barrier;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let argument = |index: usize, default: &str| {
        arguments.get(index).cloned().unwrap_or_else(|| default.to_owned())
    };
    let streams: usize = argument(0, "64").parse()?;
    let tokens: usize = argument(1, "200").parse()?;
    let time_scale = argument(2, "1").parse()?;
    let setup = Setup::new(
        Machine::parse("h100-sxm")?,
        Model::find("llama-3.1-8b")?,
        Precision::find("fp8")?,
        1,
    )?;
    let constants = Constants::defaults(Kind::Vllm, &setup);
    let settings = Settings { sequences: 4096, ..Settings::defaults(Kind::Vllm, &setup) };
    let deployment = Deployment::new(setup, constants, settings)?;
    let options = SimulatedOptions { time_scale, ..SimulatedOptions::new(deployment) };
    let listen = SocketAddr::from(([127, 0, 0, 1], 0));
    let server = Server::start(ServeOptions::new(listen, Backend::simulate(options)?))?;
    let address = server.address();
    let start = Instant::now();
    let bytes = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build()?
        .block_on(read_streams(address, streams, tokens))?;
    let wall = start.elapsed();
    println!("{} tokens, {bytes} bytes, {:.2} s", streams * tokens, wall.as_secs_f64());
    let page = page(address)?;
    for line in page.lines().filter(|line| line.starts_with("inferometer:simulation_lag")) {
        println!("{}", line.replace("model_name=\"llama-3.1-8b\",", ""));
    }
    for name in ["ifm-sim", "ifm-serve"] {
        let used = Duration::from_nanos(thread_ns(name)?);
        let each_us = used.as_secs_f64() * 1e6 / (streams * tokens) as f64;
        println!(
            "{name}: {each_us:.2} us a token, busy {:.0} %",
            100.0 * used.as_secs_f64() / wall.as_secs_f64()
        );
    }
    server.stop()?;
    thread::sleep(Duration::from_millis(10));
    Ok(())
}

/// Reads streams at once to their end; gives the bytes of the answers.
async fn read_streams(
    address: SocketAddr,
    streams: usize,
    tokens: usize,
) -> Result<usize, Box<dyn Error>> {
    let together = Arc::new(Barrier::new(streams));
    let local = tokio::task::LocalSet::new();
    let mut clients = Vec::new();
    for index in 0..streams {
        let together = Arc::clone(&together);
        clients.push(local.spawn_local(async move {
            let socket = tokio::net::TcpStream::connect(address).await?;
            together.wait().await;
            read_stream(&socket, index, tokens).await
        }));
    }
    local
        .run_until(async move {
            let mut bytes = 0;
            for client in clients {
                bytes += client.await??;
            }
            Ok(bytes)
        })
        .await
}

async fn read_stream(
    socket: &tokio::net::TcpStream,
    index: usize,
    tokens: usize,
) -> std::io::Result<usize> {
    let body = format!(
        r#"{{"messages":[{{"role":"user","content":"stream {index}"}}],"max_tokens":{tokens},"stream":true}}"#
    );
    let length = body.len();
    let head = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n"
    );
    socket.writable().await?;
    // A request is far smaller than an empty socket's buffer.
    socket.try_write((head + &body).as_bytes())?;
    let (mut buffer, mut bytes) = ([0; 1 << 12], 0);
    loop {
        socket.readable().await?;
        match socket.try_read(&mut buffer) {
            Ok(0) => return Ok(bytes),
            Ok(read) => bytes += read,
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
    }
}

fn page(address: SocketAddr) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(address)?;
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")?;
    let mut page = String::new();
    stream.read_to_string(&mut page)?;
    Ok(page)
}

/// CPU time of the threads of this process with a name, from `/proc`, nanoseconds.
fn thread_ns(name: &str) -> Result<u64, Box<dyn Error>> {
    let mut all = 0;
    for task in fs::read_dir("/proc/self/task")? {
        let path = task?.path();
        if fs::read_to_string(path.join("comm"))?.trim() == name {
            let used = fs::read_to_string(path.join("schedstat"))?;
            all += used.split(' ').next().unwrap_or_default().parse::<u64>()?;
        }
    }
    Ok(all)
}
