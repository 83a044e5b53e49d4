//! Places in a configuration, shared where no difference is shown.

use super::{Matrix, Sample};
use ifm_core::order::Order as _;
use ifm_core::sheet::Quantity;

/// What things are ranked by, where a user says it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RankBy {
    /// Output tokens per second, as the tool counts them.
    Output,
    /// Prompt and output tokens per second.
    Overall,
    /// Prompt tokens per second.
    Input,
    /// End-to-end latency, the shortest first.
    Latency,
    /// Images per second.
    Images,
    /// Seconds of audio in prompts per second: RTFx of the level.
    Audio,
}

impl RankBy {
    /// All of them with their words on the command line.
    pub const ALL: [(&str, RankBy); 6] = [
        ("output", RankBy::Output),
        ("overall", RankBy::Overall),
        ("input", RankBy::Input),
        ("latency", RankBy::Latency),
        ("images", RankBy::Images),
        ("rtfx", RankBy::Audio),
    ];

    /// The measured quantity.
    pub fn quantity(self) -> Quantity {
        match self {
            RankBy::Output => Quantity::OutputRate,
            RankBy::Overall => Quantity::TotalRate,
            RankBy::Input => Quantity::InputRate,
            RankBy::Latency => Quantity::E2e,
            RankBy::Images => Quantity::ImageRate,
            RankBy::Audio => Quantity::AudioRate,
        }
    }
}

/// A row in its place.
#[derive(Debug, Clone, PartialEq)]
pub struct Place {
    /// The thing.
    pub thing: usize,
    /// Its repeats.
    pub sample: Sample,
    /// Number of its group from 1, or why it has none.
    pub group: Result<usize, Unranked>,
}

/// Why a row has no rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unranked {
    /// Its repeats contradict each other.
    Noisy,
    /// There are fewer than three repeats.
    FewRepeats,
}

impl Matrix<'_> {
    /// The rows of a configuration by their means, the best first. A group holds neighbors of which
    /// no two are shown to differ: the first row that is shown to differ from one of them begins
    /// the next group. A row that cannot be tested is placed by its mean, without a group.
    pub fn ranking(&self, configuration: usize) -> Vec<Place> {
        let is_cost = self.configurations.get(configuration).is_some_and(|of| of.is_cost());
        let sample = |thing| Some((thing, self.sample(thing, configuration)?));
        let mut measured: Vec<(usize, Sample)> =
            (0..self.things.len()).filter_map(sample).collect();
        measured.order_by(|(_, a), (_, b)| match is_cost {
            true => a.mean.total_cmp(&b.mean),
            false => b.mean.total_cmp(&a.mean),
        });
        let verdicts = self.verdicts(&[configuration]);
        let mut open: Vec<usize> = Vec::new();
        let mut number = 0;
        let mut group = |thing: usize, sample: &Sample| {
            if !sample.is_trusted() {
                return Err(Unranked::Noisy);
            }
            if !sample.is_testable() {
                return Err(Unranked::FewRepeats);
            }
            if number == 0 || open.iter().any(|other| verdicts.differ(*other, thing)) {
                number += 1;
                open.clear();
            }
            open.push(thing);
            Ok(number)
        };
        let place = |(thing, sample): (usize, Sample)| {
            let group = group(thing, &sample);
            Place { thing, sample, group }
        };
        measured.into_iter().map(place).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{repeats, survey};
    use super::*;

    const ASKED: (u32, u32, u32) = (1, 256, 512);

    fn groups_of(things: &[(&str, &[f64])]) -> Vec<(String, Result<usize, Unranked>)> {
        let points: Vec<_> =
            things.iter().flat_map(|(name, rates)| repeats(name, ASKED, rates)).collect();
        let survey = survey(&points);
        let matrix = Matrix::of(&survey, None, None).expect("batches");
        let name = |place: Place| (matrix.thing(place.thing).to_owned(), place.group);
        matrix.ranking(0).into_iter().map(name).collect()
    }

    /// Output rates of a published table: three medals were given, and six share the first place.
    #[test]
    fn a_difference_that_is_not_shown_gives_no_place() {
        let found = groups_of(&[
            ("a", &[198.0, 198.1, 198.1]),
            ("b", &[196.5, 199.0, 198.2]),
            ("c", &[187.0, 187.2, 186.9]),
            ("d", &[136.4, 136.5, 136.6]),
        ]);
        let expect = [("a", 1), ("b", 1), ("c", 2), ("d", 3)];
        let expect: Vec<_> =
            expect.iter().map(|(name, group)| ((*name).to_owned(), Ok(*group))).collect();
        assert_eq!(found, expect);
    }

    #[test]
    fn contradicting_repeats_and_single_ones_have_no_place() {
        let found = groups_of(&[
            ("wild", &[1000.0, 4000.0, 4200.0]),
            ("once", &[5000.0]),
            ("calm", &[3000.0, 3010.0, 3020.0]),
        ]);
        let groups: Vec<_> = found.iter().map(|(_, group)| *group).collect();
        let names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["once", "wild", "calm"], "by their means");
        assert_eq!(groups, [Err(Unranked::FewRepeats), Err(Unranked::Noisy), Ok(1)]);
    }

    /// Overall rates of a published table with prompts of 2 048 tokens: the last of the slower
    /// three varies so much that it is indistinguishable from the first of all, and yet it is
    /// ranked after rows that differ from it.
    #[test]
    fn groups_are_contiguous() {
        let found = groups_of(&[
            ("original", &[5929.80, 5676.17, 5812.84]),
            ("w8a16_awq", &[6523.36, 6120.81, 5961.15]),
            ("w8a16_smooth_awq", &[6157.39, 6120.07, 6523.00]),
            ("w8a16_sparse_awq", &[6385.78, 6504.51, 6364.05]),
            ("w8a8_smooth_gptq", &[8109.06, 7072.57, 7799.73]),
            ("w8a8_smooth_ptq", &[7886.07, 7614.76, 7861.86]),
            ("w8a8_sparse_smooth_gptq", &[7534.41, 8025.11, 7303.00]),
        ]);
        let groups: Vec<usize> = found.iter().filter_map(|(_, group)| group.ok()).collect();
        assert_eq!(groups, [1, 1, 1, 2, 2, 2, 3]);
        assert_eq!(
            (found[0].0.as_str(), found[3].0.as_str()),
            ("w8a8_smooth_ptq", "w8a16_sparse_awq")
        );
    }

    /// The second is as calm as the third, the first is not: that the first and the third are
    /// indistinguishable does not put the third into the group of the second.
    #[test]
    fn no_two_of_a_group_are_shown_to_differ() {
        let found = groups_of(&[
            ("wide", &[190.0, 205.0, 214.0]),
            ("calm", &[200.0, 200.5, 201.0]),
            ("less", &[190.0, 190.4, 190.8]),
            ("base", &[100.0, 100.4, 100.8]),
        ]);
        let groups: Vec<usize> = found.iter().filter_map(|(_, group)| group.ok()).collect();
        assert_eq!(groups, [1, 1, 2, 3], "{found:?}");
    }
}
