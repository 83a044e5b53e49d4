//! What the things of a configuration are ranked by, and why.
//!
//! A rate of output tokens is the right measure where the tokens are what takes the time. Where the
//! prompts take most of it, by their length or by the clock, the whole time counts.

use super::{Configuration, Matrix, RankBy};
use ifm_core::Metric;
use ifm_metrics::stat::quantile::percentile_of_sorted;

/// Prompt tokens for each output token from which on prompts are taken for the longer part.
const PROMPT_LENGTHS: f64 = 16.0;
/// Share of the latency below which the output tokens are the shorter part.
const OUTPUT_SHARE: f64 = 0.5;
/// What things are ranked by where prompts take most of the time, else where they do not.
const BY_PROMPT: [Metric; 4] =
    [Metric::TotalRate, Metric::InputRate, Metric::OutputRate, Metric::E2e];
const BY_OUTPUT: [Metric; 4] =
    [Metric::OutputRate, Metric::DecodeRate, Metric::TotalRate, Metric::E2e];

/// Why things are ranked by what they are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Why {
    /// Nothing speaks for more than the output.
    Output,
    /// Prompts are this many times as long as answers.
    PromptLengths(f64),
    /// Prompts take this share of the latency, the median of the things.
    PromptTime(f64),
    /// A user named the measure.
    Asked,
}

impl Configuration {
    /// How many times as long prompts are as answers, where that decides.
    fn prompt_lengths(&self) -> Option<f64> {
        let lengths = self.input_tokens.zip(self.output_tokens.filter(|output| *output > 0.0));
        lengths.map(|(input, output)| input / output).filter(|ratio| *ratio >= PROMPT_LENGTHS)
    }
}

impl Matrix<'_> {
    /// The same, every configuration ranked by what its time is spent on.
    pub(super) fn ranked_by_time(mut self) -> Self {
        let found: Vec<(Why, Option<Metric>)> =
            (0..self.configurations.len()).map(|index| self.asked_for_by(index)).collect();
        for (of, (why, measure)) in self.configurations.iter_mut().zip(found) {
            of.why = why;
            of.measure = measure.unwrap_or(Metric::OutputRate);
        }
        self
    }

    /// The same, ranked by a measure in every configuration in which it was measured.
    #[must_use]
    pub fn ranked_by(mut self, by: Option<RankBy>) -> Self {
        let Some(by) = by else { return self };
        let measure = by.quantity();
        for index in 0..self.configurations.len() {
            let is_measured = self.is_measured(index, measure);
            if let Some(of) = self.configurations.get_mut(index).filter(|_| is_measured) {
                of.measure = measure;
                of.why = Why::Asked;
            }
        }
        self.rank_by = Some(by);
        self
    }

    /// What a configuration is ranked by unless the user says it: the reason and the measure.
    fn asked_for_by(&self, configuration: usize) -> (Why, Option<Metric>) {
        let of = self.configurations.get(configuration);
        let why =
            match (of.and_then(Configuration::prompt_lengths), self.prompt_time(configuration)) {
                (Some(lengths), _) => Why::PromptLengths(lengths),
                (None, Some(share)) => Why::PromptTime(share),
                (None, None) => Why::Output,
            };
        let order = if why == Why::Output { &BY_OUTPUT } else { &BY_PROMPT };
        let measure = order.iter().find(|measure| self.is_measured(configuration, **measure));
        (why, measure.cloned())
    }

    /// Share of the latency that is not the output's, the median of the things, where that is the
    /// longer part.
    fn prompt_time(&self, configuration: usize) -> Option<f64> {
        const ALL: f64 = 1.0;
        const MIDDLE: f64 = 50.0;
        let things = self.row(configuration);
        let share = |thing| self.output_share(thing, configuration).unwrap_or(ALL);
        let mut shares: Vec<f64> = things.iter().map(|cell| share(cell.thing)).collect();
        shares.sort_unstable_by(f64::total_cmp);
        let share = percentile_of_sorted(&shares, MIDDLE)?;
        (share < OUTPUT_SHARE).then_some(ALL - share)
    }

    fn is_measured(&self, configuration: usize, measure: Metric) -> bool {
        self.row(configuration).iter().any(|cell| cell.sample(measure).is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ifm_results::testing::{repeats, results, timed};

    fn ranked(asked: (u32, u32, u32), rows: &[(f64, f64)]) -> (Why, Metric) {
        let mut points = timed("a", asked, rows);
        points.extend(timed("b", asked, rows));
        let results = results(&points);
        let of = Matrix::of(&results, None, None).expect("batches").configurations[0].clone();
        (of.why, of.measure)
    }

    /// 32 answers of 32 tokens at 4 000 tok/s take 0.256 s: of 0.64 s the prompts take 60 %, of
    /// 0.4 s they take 36 %.
    #[test]
    fn the_longer_part_of_the_time_decides() {
        let (why, measure) = ranked((32, 256, 32), &[(4000.0, 0.64); 3]);
        let Why::PromptTime(share) = why else { panic!("{why:?}") };
        assert!((share - 0.6).abs() < 1e-9, "{share}");
        assert_eq!(measure, Metric::TotalRate);
        let short = ranked((32, 256, 32), &[(4000.0, 0.4); 3]);
        assert_eq!(short, (Why::Output, Metric::OutputRate));
        let long = ranked((1, 2048, 32), &[(180.0, 0.2); 3]);
        assert_eq!(long, (Why::PromptLengths(64.0), Metric::TotalRate));
    }

    #[test]
    fn the_measure_can_be_named() {
        let points = repeats("a", (1, 256, 512), &[1.0, 1.0, 1.1]);
        let results = results(&points);
        let of = |by| {
            let matrix = Matrix::of(&results, None, None).expect("batches").ranked_by(by);
            (matrix.configurations[0].measure, matrix.configurations[0].why)
        };
        assert_eq!(of(None), (Metric::OutputRate, Why::Output));
        assert_eq!(of(Some(RankBy::Overall)), (Metric::TotalRate, Why::Asked));
        let unmeasured = of(Some(RankBy::Latency));
        assert_eq!(unmeasured, (Metric::OutputRate, Why::Output), "not measured");
    }
}
