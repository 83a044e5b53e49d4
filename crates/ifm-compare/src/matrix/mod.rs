//! A matrix: things compared in several configurations, every cell with its repeats.
//!
//! Batches of fixed size, and levels of fixed concurrency where the lengths of prompts and answers
//! are fixed, become the same matrix. Not here: sentences (`insight`), pages (`ifm-report`).

mod build;
mod contrary;
mod label;
mod measure;
mod names;
mod over;
mod ranking;
mod ratio;
mod sample;

pub use contrary::Contrary;
pub use measure::Why;
pub use over::{Leader, Over, Overall};
pub use ranking::{Place, RankBy};
pub use ratio::{Ratio, Verdicts};
pub use sample::{Sample, TRUSTED_CV_MAX};

use crate::comparison::ResultsEvidence;
use crate::comparison::side::AtLoad;
use ifm_core::Metric;
use ifm_core::sheet::PartKind;
use ifm_results::{Point, REPEATS_MIN};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

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
    /// The thing that the others are compared with; absent where there is only one.
    pub baseline: Option<usize>,
    /// What was measured.
    pub cells: Vec<Cell<'a>>,
    /// Batches, or levels of a server.
    pub kind: PartKind,
    /// The figure that the user ranks by.
    pub rank_by: Option<RankBy>,
    /// What differences rest on.
    evidence: &'a ResultsEvidence,
    /// What each cell says of each measure, once it was needed.
    known: KnownCells,
}

/// What cells say, by thing, configuration and measure.
type KnownCells = Rc<RefCell<BTreeMap<(usize, usize, String), Rc<AtLoad>>>>;

/// The request that is the same for every row.
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
    /// The measure that ranks the rows: the one that most of the time is spent on.
    pub measure: Metric,
    /// Why that.
    pub why: Why,
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
    /// Its name in the document.
    pub name: String,
    /// The repeats in order, or the summary of repeats that were not printed.
    pub points: Vec<&'a Point>,
    /// What the document says of them together.
    pub stated: Option<&'a Point>,
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

    /// Whether less of the measure is better.
    pub fn is_cost(&self) -> bool {
        self.measure == Metric::E2e
    }
}

impl<'a> Matrix<'a> {
    /// The same, with what differences between its points rest on: their requests, where they are
    /// known. Without it they rest on the numbers of the points.
    #[must_use]
    pub fn resting_on(self, evidence: &'a ResultsEvidence) -> Self {
        Matrix { evidence, known: KnownCells::default(), ..self }
    }

    /// The cell of a row in a configuration.
    pub fn cell(&self, thing: usize, configuration: usize) -> Option<&Cell<'a>> {
        self.cells.iter().find(|cell| cell.thing == thing && cell.configuration == configuration)
    }

    /// Cells of a configuration in the order of the things.
    pub fn row(&self, configuration: usize) -> Vec<&Cell<'a>> {
        let of = |thing| self.cell(thing, configuration);
        (0..self.things.len()).filter_map(of).collect()
    }

    /// The result of a row in a configuration, by the figure that ranks the configuration.
    pub fn sample(&self, thing: usize, configuration: usize) -> Option<Sample> {
        let measure = &self.configurations.get(configuration)?.measure;
        self.cell(thing, configuration)?.sample(*measure)
    }

    /// The name of a row.
    pub fn thing(&self, thing: usize) -> &str {
        self.things.get(thing).map_or("", String::as_str)
    }

    /// Sizes of batches, or numbers of users, rising.
    pub fn batches(&self) -> Vec<f64> {
        let mut batches: Vec<f64> =
            self.configurations.iter().filter_map(|configuration| configuration.batch).collect();
        batches.sort_unstable_by(f64::total_cmp);
        batches.dedup();
        batches
    }

    /// The configurations of a size.
    pub fn at_batch(&self, batch: f64) -> Vec<usize> {
        let is = |(_, of): &(usize, &Configuration)| of.batch == Some(batch);
        self.configurations.iter().enumerate().filter(is).map(|(index, _)| index).collect()
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
