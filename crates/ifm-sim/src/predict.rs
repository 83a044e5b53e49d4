//! What a deployment does under one load: the simulation, run long enough for its means.
//!
//! A forecast and the forward half of a calibration are the same function, so that constants that
//! were found mean the same when they are used. Everything is determined by what is asked: random
//! arrivals are the same ones every time.
//!
//! Not here: where constants come from (`fit`), and loads request by request (`Simulation`).

use crate::constants::Constants;
use crate::deployment::Deployment;
use crate::kv::BLOCK_TOKENS;
use crate::simulation::{Ask, Finished, Simulation, TooLong};
use crate::steady::{self, Lengths};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt as _, SeedableRng as _};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// Most requests that are followed for one forecast.
const REQUESTS_MAX: u32 = 20_000;
/// This many requests of an open load are enough where more would only be alike, as long as they cover
/// `STAYS` stays of a request: then the start of the window matters little.
const ENOUGH: u32 = 4_000;
const STAYS: f64 = 20.0;
/// Fewest requests whose means represent a closed loop of several users.
const COUNTED_MIN: u32 = 48;
/// Fractional part of the golden ratio: its multiples spread evenly over 0 to 1.
const GOLDEN: f64 = 0.618_033_988_749_894_9;

/// When requests are sent.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Load {
    /// This many users, each with one request under way at all times. Their first requests do not
    /// count.
    Closed {
        /// Users.
        users: u32,
    },
    /// Requests at a rate, whatever happens to earlier requests.
    Open {
        /// Requests a second.
        req_per_s: f64,
        /// How long.
        span: Span,
        /// Whether the times between them are random (exponential); else they are all alike.
        is_random: bool,
    },
    /// This many sequences at once and nothing else. The time to the first token is that of the last
    /// sequence to get one, and gaps are counted from there.
    Batch {
        /// Sequences.
        sequences: u32,
    },
}

/// How long an open load goes on.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Span {
    /// This many requests, all of them to their end.
    Requests(u32),
    /// This many seconds: times cover the requests that end within, rates and the number under way
    /// cover the whole window.
    Seconds(f64),
}

/// What times of single requests are put together to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Statistic {
    /// The mean over requests, and over all gaps.
    #[default]
    Mean,
    /// The median over requests, of their mean gaps too.
    Median,
}

/// A load, and what was measured under it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Observation {
    /// When requests were sent.
    pub load: Load,
    /// Mean tokens of a prompt.
    pub prompt_tokens: f64,
    /// Mean tokens of an answer.
    pub output_tokens: f64,
    /// Standard deviation of the answers' lengths as a share of the mean; 0 where all are alike.
    /// Lengths are even between two ends, so that more than 0.577 counts as 0.577.
    pub output_spread: f64,
    /// What the times below are.
    pub statistic: Statistic,
    /// Time to the first token, seconds.
    pub ttft_s: Option<f64>,
    /// Gap between tokens, seconds.
    pub itl_s: Option<f64>,
    /// Relative standard error of the time to the first token, from repeats.
    pub ttft_error: Option<f64>,
    /// Relative standard error of the gap, from repeats.
    pub itl_error: Option<f64>,
}

impl Observation {
    /// A load of requests of these mean lengths, of which nothing was measured.
    pub fn of(load: Load, prompt_tokens: f64, output_tokens: f64) -> Observation {
        Observation {
            load,
            prompt_tokens,
            output_tokens,
            output_spread: 0.0,
            statistic: Statistic::Mean,
            ttft_s: None,
            itl_s: None,
            ttft_error: None,
            itl_error: None,
        }
    }
}

/// The forecast.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Predicted {
    /// Time to the first token, seconds.
    pub ttft_s: f64,
    /// Gap between tokens, seconds; absent where answers have one token.
    pub itl_s: Option<f64>,
    /// Tokens of answers a second, all requests together.
    pub output_tok_per_s: f64,
    /// From sending a request to its last token, seconds.
    pub e2e_s: f64,
    /// Mean number of requests under way.
    pub in_flight: f64,
}

/// Why there is no forecast.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PredictError {
    /// A request never fits.
    #[error(transparent)]
    TooLong(#[from] TooLong),
    /// A load that cannot be.
    #[error("{0}")]
    Load(String),
    /// A window in which nothing ends.
    #[error("no request ends within {0} s: there is nothing to take a mean of")]
    NothingEnds(f64),
}

/// What a deployment does under the load of an observation. Its measured values are not looked at.
///
/// # Errors
/// [`PredictError`].
pub fn predict(deployment: &Deployment, row: &Observation) -> Result<Predicted, PredictError> {
    check_lengths(row)?;
    let load = shortened(deployment, row);
    let under_way = check_load(load)?;
    let asks = Asks { row };
    let needed = asks.tokens_max() * under_way / f64::from(BLOCK_TOKENS);
    let mut deployment = deployment.clone();
    // Nothing is found in a cache here, so blocks that are never needed change nothing.
    deployment.settings.prefix_cache = false;
    deployment.blocks = deployment.blocks.min((2.0 * needed).ceil() as u32 + 64);
    match load {
        Load::Closed { users } => closed(deployment, asks, users),
        Load::Batch { sequences } => batch(deployment, asks, sequences),
        Load::Open { req_per_s, span, is_random } => {
            open(deployment, asks, &arrivals(req_per_s, span, is_random), span)
        }
    }
}

fn check_lengths(row: &Observation) -> Result<(), PredictError> {
    let wrong = |text: &str| Err(PredictError::Load(text.to_owned()));
    let is_length = |tokens: f64| (1.0..1e8).contains(&tokens);
    if !is_length(row.prompt_tokens) || !is_length(row.output_tokens) {
        return wrong("prompts and answers have at least one token");
    }
    if !(0.0..=1.5).contains(&row.output_spread) {
        return wrong("the spread of the answers' lengths is 0 to 1.5 of their mean");
    }
    match row.load {
        Load::Open { req_per_s, .. } if !(req_per_s > 0.0 && req_per_s.is_finite()) => {
            wrong("requests arrive at a rate above 0")
        }
        Load::Open { span: Span::Seconds(seconds), .. } if seconds.is_nan() || seconds <= 0.0 => {
            wrong("a window is longer than 0 s")
        }
        _ => Ok(()),
    }
}

/// Most requests that can be under way at a time.
fn check_load(load: Load) -> Result<f64, PredictError> {
    let (count, most) = match load {
        Load::Closed { users: count } | Load::Batch { sequences: count } => {
            (count, REQUESTS_MAX / 4)
        }
        Load::Open { req_per_s, span, .. } => (requests_of(req_per_s, span), REQUESTS_MAX),
    };
    if (1..=most).contains(&count) {
        return Ok(f64::from(count));
    }
    let text = "a forecast follows at least one request, at most 5 000 users, and at most 20 000 requests that queue up";
    Err(PredictError::Load(text.to_owned()))
}

/// Requests one after another, spread evenly around their mean.
#[derive(Clone, Copy)]
struct Asks<'a> {
    row: &'a Observation,
}

impl Asks<'_> {
    fn get(self, number: u32) -> Ask {
        let part = (f64::from(number) * GOLDEN).fract();
        // Even between the two ends that give the standard deviation.
        let output = self.row.output_tokens
            * (1.0 + self.row.output_spread.min(0.577) * 3.0_f64.sqrt() * (2.0 * part - 1.0));
        // Rounded up or down so that the mean is kept.
        let whole = |tokens: f64, part: f64| ((tokens + part).floor() as u32).max(1);
        let parts = (part * 97.0).fract();
        Ask {
            prompt_tokens: whole(self.row.prompt_tokens, parts),
            output_tokens: whole(output, parts),
            blocks: Vec::new(),
        }
    }

    fn tokens_max(self) -> f64 {
        self.row.prompt_tokens + 2.0 * self.row.output_tokens + f64::from(BLOCK_TOKENS)
    }
}

fn closed(deployment: Deployment, asks: Asks, users: u32) -> Result<Predicted, PredictError> {
    let row = asks.row;
    let are_alike = row.output_spread == 0.0;
    let lengths = Lengths { prompt: row.prompt_tokens, output: row.output_tokens };
    let form = steady::closed_loop(&deployment, f64::from(users), lengths);
    // Users whose answers differ in length drift apart: they begin apart, and what they do first
    // only has to settle. Where all are alike they begin together, and stay so as far as they do.
    let stay_ns = (form.ttft_s + form.itl_s * row.output_tokens) * 1e9;
    let settled = if users == 1 { 0 } else { users };
    let counted = if users == 1 { 2 } else { (2 * users).max(COUNTED_MIN) };
    let mut simulation = Simulation::new(deployment);
    for user in 0..users {
        let share = if are_alike { 0.0 } else { f64::from(user) / f64::from(users) };
        simulation.submit((share * stay_ns) as u64, asks.get(user))?;
    }
    let mut next = users;
    let mut times = Times::default();
    while times.count() < counted as usize && simulation.next_ns().is_some() {
        simulation.advance(None);
        while let Some(one) = simulation.take_finished() {
            if (u64::from(settled)..u64::from(settled + counted)).contains(&one.ticket) {
                times.add(&one);
            }
            simulation.submit(last_ns(&one), asks.get(next))?;
            next += 1;
        }
    }
    let e2e_s = mean(&times.e2e_s).unwrap_or(0.0);
    let in_flight = f64::from(users);
    // Little's law: users do not pause between two requests.
    let rate = in_flight * times.tokens as f64 / times.count() as f64 / e2e_s;
    times.predicted(row.statistic, rate, in_flight).ok_or(PredictError::NothingEnds(f64::INFINITY))
}

fn batch(deployment: Deployment, asks: Asks, sequences: u32) -> Result<Predicted, PredictError> {
    // One request brings them all.
    let at_once = Constants { request_serial_s: 0.0, ..*deployment.step.constants() };
    let mut simulation = Simulation::new(deployment.with_constants(at_once));
    for number in 0..sequences {
        simulation.submit(0, asks.get(number))?;
    }
    let (mut first_ns, mut end_ns, mut tokens) = (0, 0, 0_u64);
    while simulation.next_ns().is_some() {
        simulation.advance(None);
        while let Some(one) = simulation.take_finished() {
            first_ns = first_ns.max(one.stamps.first().copied().unwrap_or(0));
            end_ns = end_ns.max(last_ns(&one));
            tokens += tokens_of(&one);
        }
    }
    let seconds = |ns: u64| ns as f64 / 1e9;
    let gaps = tokens as f64 / f64::from(sequences) - 1.0;
    Ok(Predicted {
        ttft_s: seconds(first_ns),
        itl_s: (gaps > 0.0).then(|| seconds(end_ns - first_ns) / gaps),
        output_tok_per_s: tokens as f64 / seconds(end_ns),
        e2e_s: seconds(end_ns),
        in_flight: f64::from(sequences),
    })
}

/// The part of a load that is simulated, where the rest would only be alike.
fn shortened(deployment: &Deployment, row: &Observation) -> Load {
    let Load::Open { req_per_s, span, is_random } = row.load else { return row.load };
    let lengths = Lengths { prompt: row.prompt_tokens, output: row.output_tokens };
    // A queue that grows all the time is followed to its end.
    let Some(steady) = steady::open_loop(deployment, req_per_s, lengths) else { return row.load };
    let stay_s = steady.ttft_s + steady.itl_s * row.output_tokens;
    let enough = f64::from(ENOUGH).max(STAYS * stay_s * req_per_s);
    let span = match span {
        Span::Requests(count) => Span::Requests(count.min(enough as u32)),
        Span::Seconds(seconds) => Span::Seconds(seconds.min(enough / req_per_s)),
    };
    Load::Open { req_per_s, span, is_random }
}

/// When requests are sent, nanoseconds.
fn arrivals(req_per_s: f64, span: Span, is_random: bool) -> Vec<u64> {
    let count = requests_of(req_per_s, span);
    let mut random = ChaCha8Rng::seed_from_u64(0);
    let gaps: Vec<f64> = (0..count)
        .map(|_| if is_random { -(1.0 - random.random::<f64>()).ln() } else { 1.0 })
        .collect();
    // So that luck does not change the rate.
    let mean = mean(&gaps).unwrap_or(1.0);
    let sent = gaps.iter().scan(0.0, |at_s, gap| {
        let now_s = *at_s;
        *at_s += gap / mean / req_per_s;
        Some((now_s * 1e9) as u64)
    });
    sent.collect()
}

/// How many requests are sent.
fn requests_of(req_per_s: f64, span: Span) -> u32 {
    match span {
        Span::Requests(count) => count,
        Span::Seconds(seconds) => (req_per_s * seconds).ceil() as u32,
    }
}

fn open(
    deployment: Deployment,
    asks: Asks,
    arrivals: &[u64],
    span: Span,
) -> Result<Predicted, PredictError> {
    let way_ns = (deployment.step.constants().frontend_s / 2.0 * 1e9) as u64;
    let end_ns = match span {
        Span::Requests(_) => u64::MAX,
        Span::Seconds(seconds) => (seconds * 1e9) as u64,
    };
    let mut simulation = Simulation::new(deployment);
    let mut under_way: HashMap<u64, u64> = HashMap::new();
    let mut coming = arrivals.iter().zip(0_u32..).peekable();
    let (mut times, mut stays_ns, mut last) = (Times::default(), 0_u64, 0_u64);
    loop {
        let next = simulation.next_ns();
        if let Some(&(&at_ns, number)) = coming.peek()
            && next.is_none_or(|next| at_ns <= next)
        {
            under_way.insert(simulation.submit(at_ns, asks.get(number))?, at_ns);
            coming.next();
            continue;
        }
        if next.is_none_or(|next| next + way_ns > end_ns) {
            break;
        }
        simulation.advance(None);
        while let Some(one) = simulation.take_finished() {
            under_way.remove(&one.ticket);
            stays_ns += last_ns(&one) - one.sent_ns;
            last = last.max(last_ns(&one));
            times.add(&one);
        }
    }
    if end_ns != u64::MAX {
        last = end_ns;
        stays_ns += under_way.values().map(|sent_ns| end_ns.saturating_sub(*sent_ns)).sum::<u64>();
    }
    let seconds = last as f64 / 1e9;
    // What came out within the window, of requests that had not ended too.
    let rate = simulation.stats().generated_tokens as f64 / seconds;
    let in_flight = stays_ns as f64 / 1e9 / seconds;
    times
        .predicted(asks.row.statistic, rate, in_flight)
        .ok_or(PredictError::NothingEnds(end_ns as f64 / 1e9))
}

/// Times of requests that count.
#[derive(Default)]
struct Times {
    ttft_s: Vec<f64>,
    e2e_s: Vec<f64>,
    /// Mean gap of each request that has one.
    itl_s: Vec<f64>,
    gaps_s: f64,
    gaps: u64,
    tokens: u64,
}

impl Times {
    fn count(&self) -> usize {
        self.e2e_s.len()
    }

    fn add(&mut self, one: &Finished) {
        let Some(&first) = one.stamps.first() else { return };
        let tokens = tokens_of(one);
        let seconds = |from: u64, to: u64| to.saturating_sub(from) as f64 / 1e9;
        self.ttft_s.push(seconds(one.sent_ns, first));
        self.e2e_s.push(seconds(one.sent_ns, last_ns(one)));
        let answered_s = seconds(first, last_ns(one));
        if tokens > 1 {
            self.itl_s.push(answered_s / (tokens - 1) as f64);
            self.gaps_s += answered_s;
            self.gaps += tokens - 1;
        }
        self.tokens += tokens;
    }

    /// Absent where there was no request.
    fn predicted(
        mut self,
        statistic: Statistic,
        output_tok_per_s: f64,
        in_flight: f64,
    ) -> Option<Predicted> {
        let itl_s = match statistic {
            Statistic::Mean => (self.gaps > 0).then(|| self.gaps_s / self.gaps as f64),
            Statistic::Median => median(&mut self.itl_s),
        };
        let of = |values: &mut Vec<f64>| match statistic {
            Statistic::Mean => mean(values),
            Statistic::Median => median(values),
        };
        Some(Predicted {
            ttft_s: of(&mut self.ttft_s)?,
            itl_s,
            output_tok_per_s,
            e2e_s: of(&mut self.e2e_s)?,
            in_flight,
        })
    }
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

fn median(values: &mut [f64]) -> Option<f64> {
    values.sort_unstable_by(f64::total_cmp);
    let upper = *values.get(values.len() / 2)?;
    match values.len() % 2 {
        0 => Some(f64::midpoint(*values.get(values.len() / 2 - 1)?, upper)),
        _ => Some(upper),
    }
}

fn last_ns(one: &Finished) -> u64 {
    one.stamps.last().copied().unwrap_or(one.sent_ns)
}

fn tokens_of(one: &Finished) -> u64 {
    match one.counts.is_empty() {
        true => one.stamps.len() as u64,
        false => one.counts.iter().map(|count| u64::from(*count)).sum(),
    }
}
