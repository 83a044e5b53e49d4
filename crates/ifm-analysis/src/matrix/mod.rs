//! A matrix: things compared in several configurations, every cell with its repeats.
//!
//! Batches of fixed size, and levels of fixed concurrency where the lengths of prompts and answers
//! are fixed, become the same matrix. Not here: sentences (`insight`), pages (`ifm-report`).

mod build;
mod contrary;
mod names;
mod over;
mod ranking;
mod ratio;

pub use contrary::Contrary;
pub use over::{Over, Overall};
pub use ranking::{Place, RankBy, Unranked};
pub use ratio::{Ratio, Verdicts};

use crate::stat::welch::{Moments, mean_interval};
use crate::survey::{CONFIDENCE, Point, REPEATS_MIN, Survey};
use ifm_core::sheet::{PartKind, Quantity, Statistic, StdKind};
use std::collections::BTreeSet;

/// Standard deviation over mean above which repeats say nothing of the thing that they measured.
pub const TRUSTED_CV_MAX: f64 = 0.2;
/// Prompt tokens for each output token from which on things are ranked by all tokens.
const PREFILL_BOUND: f64 = 16.0;

/// Things in configurations.
#[derive(Debug, Clone)]
pub struct Matrix<'a> {
    /// The factor whose values are compared.
    pub compare_by: String,
    /// Its values, in the order of their first appearance, without what `shared` says.
    pub things: Vec<String>,
    /// Beginning and ending that all values share and that their names here are without.
    pub shared: (String, String),
    /// The configurations, in the order of their first appearance.
    pub configurations: Vec<Configuration>,
    /// The thing that the others are held against; absent where there is only one.
    pub baseline: Option<usize>,
    /// What was measured.
    pub cells: Vec<Cell<'a>>,
    /// Batches, or levels of a server.
    pub kind: PartKind,
    /// What a user wants the things ranked by.
    pub rank_by: Option<RankBy>,
}

/// What was asked of every thing alike.
#[derive(Debug, Clone, PartialEq)]
pub struct Configuration {
    /// Sequences in the batch, or users.
    pub batch: Option<f64>,
    /// Prompt tokens of a sequence.
    pub input_tokens: Option<f64>,
    /// Output tokens of a sequence.
    pub output_tokens: Option<f64>,
    /// Other factors that differ between configurations.
    pub others: Vec<(String, String)>,
    /// The ending that it adds to all names.
    pub ending: Option<String>,
    /// What things are ranked by: what its time is spent on.
    pub measure: Quantity,
    /// Whether `batch` counts users.
    pub is_users: bool,
}

/// The repeats of one thing in one configuration.
#[derive(Debug, Clone)]
pub struct Cell<'a> {
    /// Index of the thing.
    pub thing: usize,
    /// Index of the configuration.
    pub configuration: usize,
    /// Its name as it stands in the document.
    pub name: String,
    /// The repeats in order, or the summary of repeats that nobody printed.
    pub points: Vec<&'a Point>,
}

/// What repeats of a number are together.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    /// Arithmetic mean.
    pub mean: f64,
    /// Sample standard deviation, or what a summary prints behind `±`; absent for one repeat.
    pub std: Option<f64>,
    /// Number of repeats; absent where a summary does not say.
    pub n: Option<usize>,
    /// Every repeat; empty for a summary.
    pub values: Vec<f64>,
}

impl Sample {
    /// Standard deviation over mean.
    pub fn cv(&self) -> Option<f64> {
        self.std.filter(|_| self.mean > 0.0).map(|std| std / self.mean)
    }

    /// Whether the repeats agree well enough to say anything of what they measured.
    pub fn is_trusted(&self) -> bool {
        self.cv().is_none_or(|cv| cv <= TRUSTED_CV_MAX)
    }

    /// The interval of the mean with 95 % confidence (Student); absent with fewer than three
    /// repeats.
    pub fn interval(&self) -> Option<(f64, f64)> {
        let found = mean_interval(&self.values, CONFIDENCE).filter(|_| self.is_testable())?;
        Some((found.low, found.high))
    }

    /// Whether there are enough repeats to test a difference.
    pub fn is_testable(&self) -> bool {
        self.values.len() >= REPEATS_MIN
    }
}

impl Configuration {
    /// The configuration in the words of static-batch tools.
    pub fn name(&self) -> String {
        let batch = if self.is_users { "users" } else { "batch_size" };
        let numbers = [
            (batch, self.batch),
            ("input_len", self.input_tokens),
            ("output_len", self.output_tokens),
        ];
        let number = |(name, value): (&str, Option<f64>)| Some(format!("{name}={}", value?));
        let mut words: Vec<String> = numbers.into_iter().filter_map(number).collect();
        words.extend(self.others.iter().map(|(name, value)| format!("{name}={value}")));
        if words.is_empty() { "everything".to_owned() } else { words.join(", ") }
    }

    /// What remains of the name under a heading that says the batch: `2048→32`.
    pub fn short_name(&self) -> String {
        let mut words = Vec::new();
        if let (Some(input), Some(output)) = (self.input_tokens, self.output_tokens) {
            words.push(format!("{input}→{output}"));
        }
        words.extend(self.others.iter().map(|(_, value)| value.clone()));
        if words.is_empty() { "all".to_owned() } else { words.join(" ") }
    }

    /// How many times as long prompts are as answers.
    pub fn prompt_ratio(&self) -> Option<f64> {
        let lengths = self.input_tokens.zip(self.output_tokens.filter(|output| *output > 0.0));
        lengths.map(|(input, output)| input / output)
    }

    /// Whether prompts are so much longer than answers that their tokens count in the ranking.
    pub fn is_prefill_bound(&self) -> bool {
        self.prompt_ratio().is_some_and(|ratio| ratio >= PREFILL_BOUND)
    }

    /// Whether less of the measure is better.
    pub fn is_cost(&self) -> bool {
        self.measure == Quantity::E2e
    }
}

impl<'a> Cell<'a> {
    /// The repeats of a quantity; absent where none was measured.
    pub fn sample(&self, quantity: &Quantity) -> Option<Sample> {
        let values: Vec<f64> = self
            .points
            .iter()
            .filter(|point| point.role == ifm_core::sheet::RowRole::Measured)
            .filter_map(|point| Some(point.central(quantity)?.value))
            .collect();
        match Moments::of(&values) {
            Some(moments) => {
                Some(Sample { mean: moments.mean, std: moments.std(), n: Some(moments.n), values })
            }
            None => self.summary(quantity),
        }
    }

    /// What a document says of repeats that it does not show.
    fn summary(&self, quantity: &Quantity) -> Option<Sample> {
        let point = self.points.iter().find(|point| point.central(quantity).is_some())?;
        let spread = [
            Statistic::Std(StdKind::Sample),
            Statistic::Std(StdKind::Unknown),
            Statistic::Std(StdKind::Population),
            Statistic::HalfWidth,
        ];
        let runs = Quantity::Other("runs".to_owned());
        Some(Sample {
            mean: point.central(quantity)?.value,
            std: spread.into_iter().find_map(|statistic| point.value(quantity, statistic)),
            n: point.value(&runs, Statistic::Count).map(|n| n as usize),
            values: Vec::new(),
        })
    }
}

impl<'a> Matrix<'a> {
    /// The cell of a thing in a configuration.
    pub fn cell(&self, thing: usize, configuration: usize) -> Option<&Cell<'a>> {
        self.cells.iter().find(|cell| cell.thing == thing && cell.configuration == configuration)
    }

    /// Cells of a configuration in the order of the things.
    pub fn row(&self, configuration: usize) -> Vec<&Cell<'a>> {
        let of = |thing| self.cell(thing, configuration);
        (0..self.things.len()).filter_map(of).collect()
    }

    /// What a thing did in a configuration, by what that is ranked by.
    pub fn sample(&self, thing: usize, configuration: usize) -> Option<Sample> {
        let measure = &self.configurations.get(configuration)?.measure;
        self.cell(thing, configuration)?.sample(measure)
    }

    /// The name of a thing.
    pub fn thing(&self, thing: usize) -> &str {
        self.things.get(thing).map_or("", String::as_str)
    }

    /// Sizes of batches, or numbers of users, rising.
    pub fn batches(&self) -> Vec<f64> {
        let mut batches: Vec<f64> =
            self.configurations.iter().filter_map(|configuration| configuration.batch).collect();
        batches.sort_by(f64::total_cmp);
        batches.dedup();
        batches
    }

    /// The configurations of a size.
    pub fn at_batch(&self, batch: f64) -> Vec<usize> {
        let is = |(_, of): &(usize, &Configuration)| of.batch == Some(batch);
        self.configurations.iter().enumerate().filter(is).map(|(index, _)| index).collect()
    }

    /// Names of all repeats that no two of them share: their labels, else what they are repeats of
    /// and their number; where a label stands twice the later ones get a number behind it. In the
    /// order of the cells and their points.
    pub fn repeat_ids(&self, survey: &Survey) -> Vec<Vec<String>> {
        let mut taken = BTreeSet::new();
        let mut id = |cell: &Cell, (index, point): (usize, &&Point)| {
            let origin = survey.origin(point).filter(|origin| origin.is_own);
            let wanted = match (&point.label, origin) {
                (Some(label), _) => label.clone(),
                (None, Some(origin)) => match &point.place.pointer {
                    Some(pointer) => format!("{}{pointer}", origin.name),
                    None => origin.name.clone(),
                },
                (None, None) => {
                    let repeat = point.repeat.map_or(index + 1, |repeat| repeat as usize);
                    format!("{}_run{repeat}", cell.name)
                }
            };
            let mut id = wanted.clone();
            let mut number = 2;
            while !taken.insert(id.clone()) {
                id = format!("{wanted}#{number}");
                number += 1;
            }
            id
        };
        let ids = |cell: &Cell| {
            cell.points.iter().enumerate().map(|point| id(cell, point)).collect::<Vec<_>>()
        };
        self.cells.iter().map(ids).collect()
    }

    /// Whether it is what a matrix is made for: batches, or levels of fixed lengths that were
    /// measured several times.
    pub fn is_proper(&self) -> bool {
        let has_lengths =
            |of: &Configuration| of.input_tokens.is_some() && of.output_tokens.is_some();
        let is_repeated = |cell: &Cell| cell.points.len() >= REPEATS_MIN;
        self.things.len() > 1
            && (self.kind == PartKind::StaticBatch
                || self.configurations.iter().all(has_lengths)
                    && self.cells.iter().filter(|cell| is_repeated(cell)).count() * 2
                        > self.cells.len())
    }
}

#[cfg(test)]
pub(crate) mod testing;
