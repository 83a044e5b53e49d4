//! Rows beside the limit of their machine and model.
//!
//! What runs is taken from the factors of a row, or from the user where they say nothing that is
//! known. Not here: the arithmetic of limits (`ifm-roofline`).

use super::{Cell, Subject};
use crate::roof::{self, Known};
use ifm_core::sheet::{PartKind, Quantity, RowRole, Statistic, key};
use ifm_roofline::{Bound, Setup, Share, Verdict};
use std::cmp::Ordering;

/// A measured figure beside its limit.
#[derive(Debug)]
pub(super) struct Lit<'c> {
    /// The row.
    pub cell: &'c Cell<'c>,
    /// What was measured.
    pub quantity: Quantity,
    /// The limit.
    pub bound: Bound,
    /// Where the figure lies.
    pub share: Share,
    /// The setup in words: model, format, machine, and what of it is assumed.
    pub setup: String,
    /// How sure it is that this limit holds.
    pub ground: Ground,
}

/// How sure it is that a limit holds for what ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Ground {
    /// The number of GPUs is not stated, and a whole node of them could do it.
    Fewest,
    /// No number of GPUs of a node could do it, or the number format is not stated.
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
    let is_speculative = cell.row.figures.iter().any(|f| f.quantity == Quantity::AcceptLength);
    let is_served =
        matches!(cell.part.kind, PartKind::Serving | PartKind::StaticBatch | PartKind::Engine);
    let Some(known) = (is_served && !is_speculative).then(|| setup_of(subject, cell)).flatten()
    else {
        return Vec::new();
    };
    let by_setup: Vec<_> = known.open.iter().map(|setup| (setup, bounds(cell, setup))).collect();
    let alone = bounds(cell, &known.setup);
    let told = alone.into_iter().enumerate().filter_map(|(at, (quantity, bound, seconds))| {
        // The most that any number of GPUs that may have run allows.
        let open = by_setup.iter().filter_map(|(setup, bounds)| {
            let (_, bound, seconds) = bounds.get(at)?;
            Some((*setup, bound.clone(), bound.share(*seconds)?))
        });
        let (setup, most, share) = open.min_by(|a, b| mildest(&a.2, &b.2))?;
        let ground = match (known.is_counted, known.has_format) {
            (true, true) => Ground::Stated,
            _ => Ground::Assumed,
        };
        let fewest = bound.share(seconds)?;
        let is_open = !known.is_counted
            && share.verdict != Verdict::BelowStrict
            && fewest.verdict == Verdict::BelowStrict;
        let (setup, bound, share, ground) = match is_open {
            true => (&known.setup, bound, fewest, Ground::Fewest),
            false => (setup, most, share, ground),
        };
        let words = match (known.is_counted, is_open) {
            (true, _) => roof::words(setup),
            (false, true) => format!(
                "{} (the fewest that hold it; their number is not stated, and {} could be so fast)",
                roof::words(setup),
                roof::NODE
            ),
            (false, false) => format!("{} (their number is not stated)", roof::words(setup)),
        };
        Some(Lit { cell, quantity, bound, share, setup: words, ground })
    });
    told.collect()
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
fn bounds(cell: &Cell, setup: &Setup) -> Vec<(Quantity, Bound, f64)> {
    let number = |name: &str| cell.factors.number(name).filter(|number| *number >= 1.0);
    let (input, output) = (number(key::INPUT_TOKENS), number(key::OUTPUT_TOKENS));
    let batch = number(key::BATCH_SIZE).unwrap_or(1.0);
    let depth = number(key::DEPTH_TOKENS).unwrap_or(0.0);
    // The middle of the gaps, and the mean of requests: closing events make a mean gap too short.
    let seconds = |quantity: &Quantity, statistics: &[Statistic]| {
        let mut found = statistics.iter().filter_map(|s| cell.row.value(quantity, *s));
        found.next().map(|ms| ms / 1e3)
    };
    let middle = [Statistic::Median];
    let central = [Statistic::Median, Statistic::Mean, Statistic::Value];
    let mut found = Vec::new();
    // One sequence in the step, whatever the load: no step is shorter.
    let step = || setup.decode(1.0, input.unwrap_or(1.0));
    if let Some(gap) = seconds(&Quantity::Itl, &middle) {
        found.push((Quantity::Itl, step(), gap));
    }
    if let Some(token) = seconds(&Quantity::Tpot, &central) {
        found.push((Quantity::Tpot, step(), token));
    }
    if let (Some(input), Some(first)) = (input, seconds(&Quantity::Ttft, &middle)) {
        found.push((Quantity::Ttft, setup.prefill(1.0, input), first));
    }
    if cell.part.kind == PartKind::StaticBatch
        && let (Some(input), Some(output)) = (input, output)
        && let Some(whole) = seconds(&Quantity::E2e, &central)
    {
        found.push((Quantity::E2e, setup.static_batch(batch, input, output), whole));
    }
    if cell.part.kind == PartKind::Engine {
        let rate = |quantity: &Quantity| cell.central(quantity)?.canonical().filter(|r| *r > 0.0);
        if let Some(rate) = rate(&Quantity::DecodeRate) {
            let bound = setup.decode(batch, depth + 1.0);
            let seconds = bound.tokens / rate;
            found.push((Quantity::DecodeRate, bound, seconds));
        }
        if let (Some(rate), Some(input)) = (rate(&Quantity::PrefillRate), input) {
            let bound = setup.prefill(batch, input);
            let seconds = bound.tokens / rate;
            found.push((Quantity::PrefillRate, bound, seconds));
        }
    }
    found
}

/// What runs where a row was measured, as far as it is known.
pub(super) fn setup_of(subject: &Subject, cell: &Cell) -> Option<Known> {
    let value = |quantity: &Quantity| cell.row.value(quantity, Statistic::Value);
    let size = Quantity::Other("model_size".to_owned());
    let named = (subject.gpu(), subject.model());
    roof::setup(named, &cell.factors, value(&Quantity::Parameters), value(&size))
}
