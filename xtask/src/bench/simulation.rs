//! What a server in virtual time costs: steps a second, levels, and memory.
//!
//! The released build of this program simulates, called with [`SIMULATE`], on one processor; it has
//! no client and no server.

use super::child::{Cost, run_on};
use super::lab::Lab;
use super::statistics::median;
use super::table::{Table, number, verdict};
use anyhow::{Context as _, Result, bail};
use ifm_roofline::{Machine, Model, Precision, Setup};
use ifm_sim::{Ask, Constants, Deployment, Kind, Settings, Simulation};
use serde::{Deserialize, Serialize};
use std::{io::Write, process::ExitCode};

/// First argument of the program that simulates: then requests, and users of each level.
pub const SIMULATE: &str = "--simulate";

const PROMPT_TOKENS: u32 = 500;
const OUTPUT_TOKENS: u32 = 200;
/// Users of the closed loop whose steps are counted.
const USERS: &str = "32";
const LEVELS: &str = "1,2,4,8,16,32,64,128,256,512";
const STEPS_TARGET: f64 = 1e6;
const LEVELS_TARGET_S: f64 = 2.0;
/// Memory of ten times as many requests over that of the fewer.
const MEMORY_TARGET: f64 = 1.1;

const NOTE: &str = "Llama 3.1 8B on an L40S behind vLLM in virtual time, closed loops with prompts \
    of 500 and answers of 200 tokens, on one processor, without a prefix that is shared. A step is \
    an engine step with all sequences in it. CPU time and memory are for the whole \
    process.";

/// What the simulating process says.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Simulated {
    steps: u64,
    tokens: u64,
}

/// Runs the benchmark.
///
/// # Errors
/// When a simulation fails.
pub fn run(lab: &Lab, say: &mut dyn FnMut(&str)) -> Result<Vec<Table>> {
    let columns =
        ["closed loop", "CPU s", "steps", "steps per s", "ns per token", "peak MB", "target"];
    let mut table = Table::new("Simulation", NOTE, &columns);
    let mut peaks = Vec::new();
    for (what, requests, users) in [
        ("32 users, 10,000 requests", "10000", USERS),
        ("32 users, 100,000 requests", "100000", USERS),
        ("1 to 512 users, ten levels of 1,000", "1000", LEVELS),
    ] {
        let (mut seconds, mut memory, mut paces, mut gaps) = (vec![], vec![], vec![], vec![]);
        let mut steps = 0;
        for repeat in 1..=lab.repeats {
            let (said, cost) = simulate_once(lab, requests, users)?;
            let cpu_s = cost.cpu_ns as f64 / 1e9;
            say(&format!("{what}, run {repeat}: {cpu_s:.3} s"));
            seconds.push(cpu_s);
            memory.push(cost.peak_memory_bytes as f64 / 1e6);
            paces.push(said.steps as f64 / cpu_s);
            gaps.push(cost.cpu_ns as f64 / said.tokens as f64);
            steps = said.steps;
        }
        let (seconds, peak, pace) = (median(&seconds), median(&memory), median(&paces));
        let target = match users {
            LEVELS => verdict(seconds, LEVELS_TARGET_S, "2 s"),
            _ => {
                peaks.extend(peak);
                verdict(pace.map(|pace| STEPS_TARGET / pace), 1.0, "1e6 steps per s")
            }
        };
        table.push(vec![
            what.to_owned(),
            number(seconds, 3),
            number(Some(steps as f64), 0),
            number(pace, 0),
            number(median(&gaps), 1),
            number(peak, 1),
            target,
        ]);
    }
    let growth = match peaks.as_slice() {
        [few, many] => Some(many / few),
        _ => None,
    };
    let mut row = vec![String::new(); columns.len()];
    if let [what, .., peak, target] = row.as_mut_slice() {
        *what = "memory of 100,000 over 10,000".to_owned();
        *peak = number(growth, 2);
        *target = verdict(growth, MEMORY_TARGET, "flat");
    }
    table.push(row);
    Ok(vec![table])
}

fn simulate_once(lab: &Lab, requests: &str, users: &str) -> Result<(Simulated, Cost)> {
    let words = ["bench", SIMULATE, requests, users].map(str::to_owned);
    let (text, cost) = run_on(lab.client_cpu(), lab.tools(), &words)?;
    let said = serde_json::from_str(text.trim()).context("the simulation said something else")?;
    Ok((said, cost))
}

/// The program that simulates: arguments are requests, and users of each level with commas between.
pub fn simulate(arguments: &[String], out: &mut dyn Write) -> Result<ExitCode> {
    let [requests, levels] = arguments else { bail!("{SIMULATE} needs requests and users") };
    let requests: u32 = requests.parse().context("requests are a number")?;
    let deployment = deployment()?;
    let mut said = Simulated { steps: 0, tokens: 0 };
    for users in levels.split(',') {
        let users: u32 = users.parse().context("users are a number")?;
        let mut simulation = Simulation::new(deployment.clone());
        closed_loop(&mut simulation, users, requests)?;
        said.steps += simulation.stats().steps;
        said.tokens += simulation.stats().generated_tokens;
    }
    writeln!(out, "{}", serde_json::to_string(&said)?)?;
    Ok(ExitCode::SUCCESS)
}

fn deployment() -> Result<Deployment> {
    let setup = Setup::new(
        Machine::find("l40s")?,
        Model::find("llama-3.1-8b")?,
        Precision::find("bf16")?,
        1,
    )?;
    let constants = Constants::defaults(Kind::Vllm, &setup);
    // Room and seats for the most users.
    let settings = Settings {
        sequences: 1024,
        kv_tokens: Some(1_000_000),
        ..Settings::defaults(Kind::Vllm, &setup)
    };
    Ok(Deployment::new(setup, constants, settings)?)
}

/// Users who send the next request as soon as the previous one has ended.
fn closed_loop(simulation: &mut Simulation, users: u32, requests: u32) -> Result<()> {
    let ask =
        || Ask { prompt_tokens: PROMPT_TOKENS, output_tokens: OUTPUT_TOKENS, blocks: Vec::new() };
    let mut sent = users.min(requests);
    for _ in 0..sent {
        simulation.submit(0, ask())?;
    }
    while simulation.next_ns().is_some() {
        simulation.advance(None);
        while let Some(finished) = simulation.take_finished() {
            if sent < requests {
                sent += 1;
                let end_ns = finished.stamps.last().copied().unwrap_or(finished.sent_ns);
                simulation.submit(end_ns, ask())?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_token_is_simulated() {
        let mut out = Vec::new();
        let words = ["40", "1,16"].map(str::to_owned);
        simulate(&words, &mut out).expect("a simulation");
        let said: Simulated = serde_json::from_slice(&out).expect("JSON");
        assert_eq!(said.tokens, 2 * 40 * 200);
        assert!(said.steps > 40 * 200 && said.steps < 2 * 40 * 200, "{said:?}");
    }
}
