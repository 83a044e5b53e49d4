//! Rows compared with the limit of their machine and model.
//!
//! The setup comes from the factors of a row, or from the user where the row does not state it. Not
//! here: the arithmetic of limits (`ifm-roofline`).

use super::burst::bursts;
use super::{Cell, Subject};
use ifm_core::Metric;
use ifm_core::sheet::{PartKind, RowRole, Statistic, key};
use ifm_metrics::roof::{self, Known};
use ifm_roofline::{Bound, Question, Setup, Share, Verdict};
use std::cmp::Ordering;

/// A measured figure and its limit.
#[derive(Debug)]
pub(super) struct Lit<'c> {
    /// The row.
    pub cell: &'c Cell<'c>,
    /// What was measured.
    pub quantity: Metric,
    /// The limit.
    pub bound: Bound,
    /// Where the figure lies.
    pub share: Share,
    /// A description of the setup: model, format, machine, and which of them are assumed.
    pub setup: String,
    /// How sure it is that this limit holds.
    pub ground: Ground,
}

/// How sure it is that a limit holds for what ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Ground {
    /// Prompts that come from a cache are not computed, and could explain it.
    Uncached,
    /// The number of GPUs is not stated, and a whole node of them could do it.
    Fewest,
    /// The number format is not stated, and weights of four bits could do it.
    Format,
    /// No number of GPUs of a node could do it, and no number format.
    Assumed,
    /// Number format and GPUs are stated.
    Stated,
}

/// All figures that have a limit.
pub(super) fn lit<'s>(subject: &'s Subject<'s>) -> Vec<Lit<'s>> {
    subject.cells(RowRole::Measured).flat_map(|cell| of_cell(subject, cell)).collect()
}

fn of_cell<'s>(subject: &'s Subject<'s>, cell: &'s Cell<'s>) -> Vec<Lit<'s>> {
    // A step of speculative decoding gives several tokens.
    let is_speculative = cell.row.figures.iter().any(|f| f.quantity == Metric::AcceptanceLength);
    let is_served =
        matches!(cell.part.kind, PartKind::Serving | PartKind::StaticBatch | PartKind::Engine);
    let Some(known) = (is_served && !is_speculative).then(|| setup_of(subject, cell)).flatten()
    else {
        return Vec::new();
    };
    let open = known.open.iter().map(|setup| (setup, false));
    let by_setup = open.chain(known.all.iter().map(|setup| (setup, true)));
    let by_setup: Vec<_> =
        by_setup.map(|(setup, is_all)| (setup, is_all, bounds(cell, setup))).collect();
    let alone = bounds(cell, &known.setup);
    let told = alone.into_iter().enumerate().filter_map(|(at, (quantity, bound, seconds))| {
        let is_rate = is_rate(quantity);
        let is_burst = prompts(&bound) > 1.0;
        let is_counted = if is_rate { known.has_all } else { known.is_counted };
        // The most that any number of GPUs that may have run allows; copies answer together.
        let meant = by_setup.iter().filter(|(_, is_all, _)| *is_all == is_rate);
        let open = meant.filter_map(|(setup, _, bounds)| {
            let (_, bound, seconds) = bounds.get(at)?;
            Some((*setup, bound.clone(), bound.share(*seconds)?))
        });
        let (setup, most, share) = open.min_by(|a, b| mildest(&a.2, &b.2))?;
        let ground = match (is_counted, known.has_format) {
            _ if quantity == Metric::TotalRate => Ground::Uncached,
            (true, true) if !known.is_renamed && !is_burst => Ground::Stated,
            _ => Ground::Assumed,
        };
        let fewest = bound.share(seconds)?;
        let is_open = !is_counted
            && share.verdict != Verdict::BelowStrict
            && fewest.verdict == Verdict::BelowStrict;
        let (setup, bound, share, ground) = match is_open {
            true => (&known.setup, bound, fewest, ground.min(Ground::Fewest)),
            false => (setup, most, share, ground),
        };
        let is_light = !known.has_format && share.of_strict <= OF_FORMATS;
        let ground = if is_light { ground.min(Ground::Format) } else { ground };
        // The parts of a rate are not judged: how they overlap is not known.
        let is_meant = !(is_rate || is_burst) || share.verdict == Verdict::BelowStrict;
        let share = if is_meant { share } else { Share { verdict: Verdict::Possible, ..share } };
        let words = match (is_counted, is_open) {
            (true, _) => roof::words(setup),
            (false, true) if known.is_counted => format!(
                "{} (further copies of the model are not counted, and {} GPUs could be this fast)",
                roof::words(setup),
                roof::NODE
            ),
            (false, true) => format!(
                "{} (the fewest that hold it; their number is not stated, and {} could be this \
                 fast)",
                roof::words(setup),
                roof::NODE
            ),
            (false, false) => format!("{} (their number is not stated)", roof::words(setup)),
        };
        let of_format = if known.has_format { "" } else { ", its number format assumed," };
        let of_name = if known.is_renamed { ", taken to be what the row names," } else { "" };
        Some(Lit { cell, quantity, bound, share, setup: words + of_name + of_format, ground })
    });
    told.collect()
}

/// Weights of four bits are a quarter of the sixteen that are assumed, and so is their arithmetic.
const OF_FORMATS: f64 = 4.0;

/// Whether a quantity is a rate of a served load.
pub(super) fn is_rate(quantity: Metric) -> bool {
    matches!(quantity, Metric::OutputRate | Metric::TotalRate)
}

/// Prompts that a limit computes together.
pub(super) fn prompts(bound: &Bound) -> f64 {
    match bound.question {
        Question::Prefill { prompts, .. } => prompts,
        _ => 1.0,
    }
}

/// Which of two limits accuses less.
fn mildest(a: &Share, b: &Share) -> Ordering {
    let weight = |share: &Share| match share.verdict {
        Verdict::Possible => 0,
        Verdict::BelowSerial => 1,
        Verdict::BelowBalanced => 2,
        Verdict::BelowStrict => 3,
    };
    weight(a).cmp(&weight(b)).then(a.of_strict.total_cmp(&b.of_strict))
}

/// Figures of a row with their limits and the seconds that they say.
fn bounds(cell: &Cell, setup: &Setup) -> Vec<(Metric, Bound, f64)> {
    let number = |name: &str| cell.factors.number(name).filter(|number| *number >= 1.0);
    let (input, output) = (number(key::INPUT_TOKENS), number(key::OUTPUT_TOKENS));
    let batch = number(key::BATCH_SIZE).unwrap_or(1.0);
    let depth = number(key::DEPTH_TOKENS).unwrap_or(0.0);
    // The middle of the gaps, and the mean of requests: closing events make a mean gap too short.
    let seconds = |quantity: Metric, statistics: &[Statistic]| {
        let mut found = statistics.iter().filter_map(|s| cell.row.value(quantity, *s));
        found.next().map(|ms| ms / 1e3)
    };
    let middle = [Statistic::Median];
    let central = [Statistic::Median, Statistic::Mean, Statistic::Value];
    let mut found = Vec::new();
    // One sequence in the step, regardless of the load: no step is shorter.
    let step = || setup.decode(1.0, input.unwrap_or(1.0));
    if let Some(gap) = seconds(Metric::Itl, &middle) {
        found.push((Metric::Itl, step(), gap));
    }
    if let Some(token) = seconds(Metric::Tpot, &central) {
        found.push((Metric::Tpot, step(), token));
    }
    if let (Some(input), Some(first)) = (input, seconds(Metric::Ttft, &middle)) {
        found.push((Metric::Ttft, setup.prefill(1.0, input), first));
    }
    found.extend(bursts(cell).into_iter().map(|burst| {
        let bound = setup.prefill(burst.prompts / OF_LENGTHS, burst.tokens);
        (Metric::Ttft, bound, burst.within_s)
    }));
    let rate = |quantity: Metric| cell.central(quantity)?.canonical().filter(|r| *r > 0.0);
    if cell.part.kind == PartKind::Serving {
        // Prompts may be cached and their keys be shared: only the steps that make tokens are sure.
        let mut held = |quantity, bound: Bound| {
            if let Some(rate) = rate(quantity) {
                let seconds = bound.tokens / rate;
                found.push((quantity, bound, seconds));
            }
        };
        held(Metric::OutputRate, setup.decode(most_in_flight(cell), 1.0));
        held(Metric::TotalRate, setup.prefill(MANY_PROMPTS, MANY_PROMPTS));
    }
    if cell.part.kind == PartKind::StaticBatch
        && let (Some(input), Some(output)) = (input, output)
        && let Some(whole) = seconds(Metric::E2e, &central)
    {
        found.push((Metric::E2e, setup.static_batch(batch, input, output), whole));
    }
    if cell.part.kind == PartKind::Engine {
        if let Some(rate) = rate(Metric::DecodeRate) {
            let bound = setup.decode(batch, depth + 1.0);
            let seconds = bound.tokens / rate;
            found.push((Metric::DecodeRate, bound, seconds));
        }
        if let (Some(rate), Some(input)) = (rate(Metric::PrefillRate), input) {
            let bound = setup.prefill(batch, input);
            let seconds = bound.tokens / rate;
            found.push((Metric::PrefillRate, bound, seconds));
        }
    }
    found
}

/// How many times the mean length of those in a burst the mean of all prompts may be.
const OF_LENGTHS: f64 = 1.5;
/// Prompts of a step, and tokens of each, with which reading weights costs next to nothing.
const MANY_PROMPTS: f64 = 256.0;
/// Requests in flight where nothing bounds them: weights are read for all of them together.
const UNBOUNDED: f64 = 65_536.0;

/// The most requests that a row may have had in flight.
fn most_in_flight(cell: &Cell) -> f64 {
    let Some(limit) = cell.factors.number(key::CONCURRENCY).filter(|limit| *limit >= 1.0) else {
        return UNBOUNDED;
    };
    // A figure named concurrency may be a mean: if two are given, use the larger.
    let measured = [Metric::PeakInFlight, Metric::InFlight];
    let seen = measured.iter().flat_map(|quantity| {
        cell.row.figures.iter().filter(move |figure| figure.quantity == *quantity)
    });
    seen.filter_map(|figure| figure.canonical()).fold(limit, f64::max)
}

/// What runs where a row was measured, as far as it is known. A name that says nothing is the model
/// that the user gives only where there is no other name.
pub(super) fn setup_of(subject: &Subject, cell: &Cell) -> Option<Known> {
    let value = |quantity: Metric| cell.row.value(quantity, Statistic::Value);
    let size = Metric::other("model_size");
    let named = (subject.gpu(), subject.model());
    let known = roof::setup(named, &cell.factors, value(Metric::Parameters), value(size))?;
    (!known.is_renamed || subject.has_one_model()).then_some(known)
}
