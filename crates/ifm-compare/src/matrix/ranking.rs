//! Places in a configuration, shared where no difference is shown.

use super::{Matrix, Sample};
use crate::comparison::Placement;
use crate::comparison::placement::{PairVerdict, placements};
use ifm_core::Metric;
use ifm_core::order::Order as _;

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
    pub fn quantity(self) -> Metric {
        match self {
            RankBy::Output => Metric::OutputRate,
            RankBy::Overall => Metric::TotalRate,
            RankBy::Input => Metric::InputRate,
            RankBy::Latency => Metric::E2e,
            RankBy::Images => Metric::ImageRate,
            RankBy::Audio => Metric::LevelRtfx,
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
    /// Its place, by the verdicts of all pairs; `other` of an undecided pair is the index of a row.
    pub placement: Placement,
}

impl Matrix<'_> {
    /// The rows of a configuration, the best first: by their places, then by their means. Places
    /// follow from the verdicts of the comparison about all pairs.
    pub fn ranking(&self, configuration: usize) -> Vec<Place> {
        let is_cost = self.configurations.get(configuration).is_some_and(|of| of.is_cost());
        let sample = |thing| Some((thing, self.sample(thing, configuration)?));
        let measured: Vec<(usize, Sample)> = (0..self.things.len()).filter_map(sample).collect();
        let verdicts = self.verdicts(&[configuration]);
        let mut pairs = Vec::new();
        for (index, (first, _)) in measured.iter().enumerate() {
            for (other, (second, _)) in measured.iter().enumerate().skip(index + 1) {
                let (verdict, ratio) = verdicts.second(*first, *second);
                let doubt = ratio.and_then(|ratio| ratio.doubt.clone());
                let detectable = ratio.and_then(|ratio| ratio.detectable);
                pairs.push(PairVerdict { sides: (index, other), verdict, doubt, detectable });
            }
        }
        let things: Vec<usize> = measured.iter().map(|(thing, _)| *thing).collect();
        let thing_of = |place: &mut usize| {
            *place = things.get(*place).copied().unwrap_or(*place);
        };
        let mut places: Vec<Place> = measured
            .into_iter()
            .zip(placements(things.len(), &pairs))
            .map(|((thing, sample), mut placement)| {
                placement.equal.iter_mut().for_each(thing_of);
                placement.undecided.iter_mut().for_each(|of| thing_of(&mut of.other));
                Place { thing, sample, placement }
            })
            .collect();
        places.order_by(|a, b| {
            let of = |place: &Place| (place.placement.first, place.placement.last);
            let by_mean = match is_cost {
                true => a.sample.mean.total_cmp(&b.sample.mean),
                false => b.sample.mean.total_cmp(&a.sample.mean),
            };
            of(a).cmp(&of(b)).then(by_mean)
        });
        places
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ifm_results::testing::{repeats, results};

    const ASKED: (u32, u32, u32) = (1, 256, 512);

    fn places_of(things: &[(&str, &[f64])]) -> Vec<(String, usize, usize)> {
        let points: Vec<_> =
            things.iter().flat_map(|(name, rates)| repeats(name, ASKED, rates)).collect();
        let results = results(&points);
        let matrix = Matrix::of(&results, None, None).expect("batches");
        let name = |place: Place| {
            let (first, last) = (place.placement.first, place.placement.last);
            (matrix.thing(place.thing).to_owned(), first, last)
        };
        matrix.ranking(0).into_iter().map(name).collect()
    }

    fn check(things: &[(&str, &[f64])], expect: &[(&str, usize, usize)]) {
        let expect: Vec<_> =
            expect.iter().map(|(name, first, last)| ((*name).to_owned(), *first, *last)).collect();
        assert_eq!(places_of(things), expect);
    }

    /// Output rates of a published table: three medals were given, and two share the first place.
    #[test]
    fn things_without_a_difference_share_a_place() {
        check(
            &[
                ("a", &[198.0, 198.1, 198.1]),
                ("b", &[197.5, 198.4, 198.2]),
                ("c", &[187.0, 187.2, 186.9]),
                ("d", &[136.4, 136.5, 136.6]),
            ],
            &[("a", 1, 1), ("b", 1, 1), ("c", 3, 3), ("d", 4, 4)],
        );
    }

    /// Repeats that contradict each other leave the place open, and so do single numbers.
    #[test]
    fn places_that_the_data_do_not_decide_are_ranges() {
        check(
            &[
                ("wild", &[1000.0, 4000.0, 4200.0]),
                ("far", &[9000.0, 9010.0, 9040.0]),
                ("calm", &[3000.0, 3010.0, 3020.0]),
            ],
            &[("far", 1, 2), ("wild", 1, 3), ("calm", 2, 3)],
        );
        check(&[("one", &[100.0]), ("other", &[50.0])], &[("one", 1, 2), ("other", 1, 2)]);
    }

    /// 3 % would matter, and the interval of b against a reaches further: they do not share a place.
    #[test]
    fn an_open_pair_does_not_share_a_place() {
        check(
            &[
                ("a", &[198.0, 198.1, 198.1]),
                ("b", &[190.5, 203.0, 198.2]),
                ("c", &[100.0, 100.4, 100.8]),
            ],
            &[("a", 1, 2), ("b", 1, 2), ("c", 3, 3)],
        );
    }
}
