//! Average output in closed form: no request is simulated.
//!
//! Every step of the steady state is alike: a number of answers, and the share of the prompts that
//! arrive meanwhile. A check of the simulation, and a first estimate for a question.
//!
//! Not here: queues, bursts, caches, tails (`simulation`).

use crate::deployment::Deployment;
use crate::step::StepLoad;

/// Rounds in which the number of requests under way settles.
const ROUNDS: usize = 200;

/// Lengths of a request, tokens; means.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Lengths {
    /// Of its prompt.
    pub prompt: f64,
    /// Of its answer.
    pub output: f64,
}

/// Means of a steady state of one replica.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Steady {
    /// Gap between tokens, seconds.
    pub itl_s: f64,
    /// Time to the first token, without a queue, seconds.
    pub ttft_s: f64,
    /// Tokens of answers a second, all requests together.
    pub output_tok_per_s: f64,
    /// Requests that are answered at the same time.
    pub batch: f64,
}

/// Users who always have one request under way.
pub fn closed_loop(deployment: &Deployment, users: f64, lengths: Lengths) -> Steady {
    let room = deployment.kv_tokens() as f64 / (lengths.prompt + 0.75 * lengths.output);
    let batch = users.min(room).min(f64::from(deployment.settings.sequences)).max(1.0);
    let steady = at(deployment, batch, lengths);
    // While its prompt is read a request is not answered.
    let answered = steady.itl_s * (lengths.output - 1.0).max(0.0);
    let cycle_s = (steady.ttft_s + answered).max(1e-12);
    Steady { output_tok_per_s: batch * lengths.output / cycle_s, ..steady }
}

/// Requests that arrive at a rate, requests a second; absent where more arrive than can be
/// answered.
pub fn open_loop(deployment: &Deployment, rate: f64, lengths: Lengths) -> Option<Steady> {
    let most = f64::from(deployment.settings.sequences)
        .min(deployment.kv_tokens() as f64 / (lengths.prompt + lengths.output / 2.0));
    let (mut low, mut high) = (0.0, most);
    // Little's law: as many are under way as arrive while one is.
    let stay_s = |batch: f64| {
        let steady = at(deployment, batch.max(1e-9), lengths);
        steady.ttft_s + steady.itl_s * (lengths.output - 1.0).max(0.0)
    };
    if rate * stay_s(high) > high {
        return None;
    }
    for _ in 0..ROUNDS {
        let middle = f64::midpoint(low, high);
        if rate * stay_s(middle) > middle { low = middle } else { high = middle }
    }
    let steady = at(deployment, high.max(1e-9), lengths);
    Some(Steady { output_tok_per_s: rate * lengths.output, ..steady })
}

/// The step with `under_way` requests under way; below one, that of a single request.
fn at(deployment: &Deployment, under_way: f64, lengths: Lengths) -> Steady {
    let law = &deployment.step;
    let batch = under_way.max(1.0);
    let context_s = batch * law.context_s(lengths.prompt + lengths.output / 2.0);
    // Prompts of the others, spread over the steps of an answer.
    let others = (batch - 1.0).max(0.0);
    let tokens = others * lengths.prompt / lengths.output.max(1.0);
    let pieces = others / lengths.output.max(1.0);
    let plain =
        StepLoad { answers: batch, tokens_per_answer: 1.0, context_s, ..StepLoad::default() };
    let mixed = StepLoad {
        chunks: pieces,
        chunk_tokens: tokens,
        chunk_rows: pieces,
        chunk_s: pieces * law.chunk_s(lengths.prompt, 0.0),
        ..plain
    };
    // A whole prompt is in one step, not a share of it in each: a step with a prompt is long,
    // the others are not.
    let share = pieces.min(1.0);
    let whole = StepLoad {
        chunks: pieces.max(1.0),
        chunk_tokens: tokens.max(lengths.prompt),
        chunk_rows: pieces.max(1.0),
        chunk_s: pieces.max(1.0) * law.chunk_s(lengths.prompt, 0.0),
        ..plain
    };
    let budget = f64::from(deployment.settings.step_tokens);
    let itl_s = match share < 1.0 && whole.chunk_tokens + batch <= budget {
        true => (1.0 - share) * law.time(&plain).seconds() + share * law.time(&whole).seconds(),
        false => law.time(&mixed).seconds(),
    };
    let alone_s = law.prompt_s(lengths.prompt, budget);
    let mixed_step = StepLoad {
        answers: others,
        tokens_per_answer: 1.0,
        context_s: others * law.context_s(lengths.prompt + lengths.output / 2.0),
        chunks: 1.0,
        chunk_tokens: lengths.prompt.min(budget),
        chunk_rows: 1.0,
        chunk_s: law.chunk_s(lengths.prompt.min(budget), 0.0),
    };
    // It waits for half of the step under way, and shares its own with the answers to others.
    let waits_s = if others > 0.0 { itl_s / 2.0 } else { 0.0 };
    let shared_s = (law.time(&mixed_step).seconds()
        - law.prompt_s(lengths.prompt.min(budget), budget))
    .max(0.0);
    let ttft_s = law.constants().frontend_s + waits_s + alone_s + shared_s;
    Steady { itl_s, ttft_s, output_tok_per_s: batch / itl_s, batch }
}
