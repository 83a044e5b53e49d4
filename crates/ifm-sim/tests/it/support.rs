//! Servers to simulate, and loads to put on them.

use ifm_roofline::{Machine, Model, Precision, Setup};
use ifm_sim::{Ask, Constants, Deployment, Finished, Kind, Settings, Simulation};

/// A model on one machine.
pub fn setup(machine: &str, model: &str, format: &str) -> Setup {
    Setup::new(
        Machine::parse(machine).expect("a machine"),
        Model::find(model).expect("a model"),
        Precision::find(format).expect("a format"),
        1,
    )
    .expect("a setup")
}

/// Llama 3.1 8B on an L40S behind vLLM, with some settings changed.
pub fn llama(change: impl FnOnce(&mut Settings)) -> Deployment {
    let setup = setup("l40s", "llama-3.1-8b", "bf16");
    let constants = Constants::defaults(Kind::Vllm, &setup);
    let mut settings = Settings::defaults(Kind::Vllm, &setup);
    change(&mut settings);
    Deployment::new(setup, constants, settings).expect("a deployment")
}

/// Requests of these lengths at these times, in the order in which they finish.
pub fn open(
    deployment: Deployment,
    requests: impl IntoIterator<Item = (u64, Ask)>,
) -> Vec<Finished> {
    let mut simulation = Simulation::new(deployment);
    let mut finished = Vec::new();
    for (at_ns, ask) in requests {
        while simulation.next_ns().is_some_and(|next_ns| next_ns < at_ns) {
            simulation.advance(None);
        }
        simulation.submit(at_ns, ask).expect("it fits");
        while let Some(one) = simulation.take_finished() {
            finished.push(one);
        }
    }
    while simulation.next_ns().is_some() {
        simulation.advance(None);
    }
    while let Some(one) = simulation.take_finished() {
        finished.push(one);
    }
    finished
}

/// `users` users, each of whom sends the next request when the previous one has ended.
pub fn closed(
    simulation: &mut Simulation,
    users: usize,
    mut next: impl Iterator<Item = Ask>,
) -> Vec<Finished> {
    let start_ns = simulation.now_ns();
    for _ in 0..users {
        if let Some(ask) = next.next() {
            simulation.submit(start_ns, ask).expect("it fits");
        }
    }
    let mut finished = Vec::new();
    while simulation.next_ns().is_some() {
        simulation.advance(None);
        while let Some(one) = simulation.take_finished() {
            if let Some(ask) = next.next() {
                simulation.submit(last_ns(&one), ask).expect("it fits");
            }
            finished.push(one);
        }
    }
    finished
}

/// When the last token of a request came.
pub fn last_ns(finished: &Finished) -> u64 {
    *finished.stamps.last().expect("a token")
}

/// A request without a prompt that others share.
pub fn ask(prompt_tokens: u32, output_tokens: u32) -> Ask {
    Ask { prompt_tokens, output_tokens, blocks: Vec::new() }
}

/// Mean time to the first token and mean gap between tokens, seconds.
pub fn means(finished: &[Finished]) -> (f64, f64) {
    let (mut ttft, mut gaps, mut count) = (0.0, 0.0, 0.0);
    for one in finished {
        ttft += (one.stamps[0] - one.sent_ns) as f64 / 1e9;
        gaps += (last_ns(one) - one.stamps[0]) as f64 / 1e9;
        count += one.stamps.len() as f64 - 1.0;
    }
    (ttft / finished.len() as f64, gaps / count)
}
