//! A note from a workstation: engine speeds over power limits and models, attention kernels, a
//! sweep of a server, a training run; whatever of these was measured.
//!
//! Blocks and tables that tools print appear as those tools print them, next to one picture and
//! one table of all. Not here: how a tool's file is read (`ifm-interop`).

mod batches;
mod blocks;
mod engine;
mod kernel;
mod models;
mod serving;
mod training;

pub use kernel::overview as kernel_overview;

use super::common::page as frame;
use super::{Kind, Subject, matrix};
use crate::page::{Page, Section, Tile};
use ifm_core::Sheet;
use ifm_core::sheet::{Part, PartKind, key};
use ifm_results::{KernelMask, Point, Results};
use std::collections::BTreeSet;

pub(super) const KIND: Kind = Kind {
    word: "note",
    about: "what a machine does: engine speeds, power limits, kernels, a served sweep, training, commands",
    fits,
    page,
};

/// What a server's levels alone do not have.
const OWN: [PartKind; 3] = [PartKind::Engine, PartKind::Kernel, PartKind::Training];

fn fits(subject: &Subject) -> bool {
    let results = subject.question.results;
    // Batches of one model are not a matrix.
    let has_batches = results.has(PartKind::StaticBatch);
    OWN.iter().any(|kind| results.has(*kind)) || has_batches && !matrix::fits(subject)
}

fn page(subject: &Subject) -> Page {
    let results = subject.question.results;
    let mut sections: Vec<Section> = Vec::new();
    sections.extend(engine::sections(subject));
    sections.extend(batches::section(subject));
    sections.extend(kernel::sections(subject));
    sections.extend(serving::sections(subject));
    sections.extend(training::section(subject));
    let mut tiles: Vec<Tile> = Vec::new();
    tiles.extend(serving::tile(subject));
    tiles.extend(engine::tiles(results));
    tiles.extend(kernel::tile(results));
    let nothing = sections.is_empty();
    let is_command =
        |point: &Point| point.kind == PartKind::Training && !training::is_training(point);
    let title = match results.points.iter().all(is_command) {
        true if !results.points.is_empty() => "Measured commands",
        _ => "Measurements of a machine",
    };
    let names = (key::GPU, title);
    Page {
        conditions: conditions(subject),
        banners: nothing.then(|| "✗ No measurement was read.".to_owned()).into_iter().collect(),
        tiles,
        sections,
        ..frame(subject, (KIND.word, results), subject.insights, names)
    }
}

/// What was measured, in words with their number.
fn conditions(subject: &Subject) -> Vec<String> {
    let results = subject.question.results;
    let measured = |kind| results.measured(kind).count();
    let trained =
        results.measured(PartKind::Training).filter(|point| training::is_training(point)).count();
    let kinds = [
        (results.engine_tests().count(), "engine row", "engine rows"),
        (results.pool(PartKind::StaticBatch).cells.len(), "static batch", "static batches"),
        (kernels(results), "kernel", "kernels, each under its mask"),
        (measured(PartKind::Serving), "level of a server", "levels of a server"),
        (trained, "training run", "training runs"),
        (measured(PartKind::Training) - trained, "run of a command", "runs of commands"),
    ];
    let counted = |(number, one, several): (usize, &str, &str)| match number {
        0 => None,
        1 => Some(format!("1 {one}")),
        number => Some(format!("{number} {several}")),
    };
    kinds.into_iter().filter_map(counted).collect()
}

/// Kernels under a mask: a row each, whose two directions are two points.
fn kernels(results: &Results) -> usize {
    let of = |mask: &KernelMask| {
        let names: BTreeSet<&str> = mask.times.iter().map(|time| time.kernel.as_str()).collect();
        names.len()
    };
    results.kernels().iter().map(of).sum()
}

/// The table of a document that points came from: sources count the runs first, then the documents.
fn part<'s>(subject: &Subject<'s>, (origin, part): (usize, usize)) -> Option<&'s Part> {
    let sheet: &Sheet = subject.sheets.get(origin.checked_sub(subject.runs.len())?)?;
    sheet.parts.get(part)
}

#[cfg(test)]
mod tests;
