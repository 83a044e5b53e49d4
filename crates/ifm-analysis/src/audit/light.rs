//! Rows beside the limit of their machine and model.
//!
//! What runs is taken from the factors of a row, or from the user where they say nothing that is
//! known. Not here: the arithmetic of limits (`ifm-roofline`).

use super::{Cell, Subject};
use crate::roof::{self, Known};
use ifm_core::sheet::{PartKind, Quantity, RowRole, Statistic, key};
use ifm_roofline::{Bound, Setup, Share};

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
    /// The setup in words: model, format, machine.
    pub setup: String,
    /// Whether the number format and the number of GPUs are given and not assumed.
    pub is_certain: bool,
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
    let setup = &known.setup;
    let words = known.words();
    bounds(cell, setup)
        .into_iter()
        .filter_map(|(quantity, bound, seconds)| {
            let share = bound.share(seconds)?;
            let (setup, is_certain) = (words.clone(), known.is_certain);
            Some(Lit { cell, quantity, bound, share, setup, is_certain })
        })
        .collect()
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
