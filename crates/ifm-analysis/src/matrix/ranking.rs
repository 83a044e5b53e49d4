//! Places in a configuration, shared where no difference is shown.

use super::{Matrix, Sample};
use crate::stat::multiple::holm;
use crate::stat::welch::welch;
use crate::survey::CONFIDENCE;

/// A thing in its place.
#[derive(Debug, Clone, PartialEq)]
pub struct Place {
    /// The thing.
    pub thing: usize,
    /// Its repeats.
    pub sample: Sample,
    /// Number of its group from 1, or why it has none.
    pub group: Result<usize, Unranked>,
}

/// Why a thing has no rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unranked {
    /// Its repeats contradict each other.
    Noisy,
    /// There are fewer than three repeats.
    FewRepeats,
}

impl Matrix<'_> {
    /// The things of a configuration by group, then by value, those without a group last. The
    /// first group is the best and all that are not shown to differ from it (Welch's test of
    /// every pair, Holm's correction for their number, 95 %); the next group is the best of the
    /// rest and all of the rest that are not shown to differ from that; and so on.
    pub fn ranking(&self, configuration: usize) -> Vec<Place> {
        let is_cost = self.configurations.get(configuration).is_some_and(|of| of.is_cost());
        let sample = |thing| Some((thing, self.sample(thing, configuration)?));
        let mut measured: Vec<(usize, Sample)> =
            (0..self.things.len()).filter_map(sample).collect();
        measured.sort_by(|(_, a), (_, b)| match is_cost {
            true => a.mean.total_cmp(&b.mean),
            false => b.mean.total_cmp(&a.mean),
        });
        let (ranked, others): (Vec<_>, Vec<_>) = measured
            .into_iter()
            .partition(|(_, sample)| sample.is_trusted() && sample.is_testable());
        let groups = groups(&ranked);
        let mut places: Vec<Place> = ranked
            .into_iter()
            .zip(groups)
            .map(|((thing, sample), group)| Place { thing, sample, group: Ok(group) })
            .collect();
        // The order within a group is by value already.
        places.sort_by_key(|place| place.group.unwrap_or(usize::MAX));
        places.extend(others.into_iter().map(|(thing, sample)| {
            let why = if sample.is_trusted() { Unranked::FewRepeats } else { Unranked::Noisy };
            Place { thing, sample, group: Err(why) }
        }));
        places
    }
}

/// The group of each, from 1.
fn groups(ranked: &[(usize, Sample)]) -> Vec<usize> {
    let mut pairs = Vec::new();
    for (a, (_, first)) in ranked.iter().enumerate() {
        for (b, (_, second)) in ranked.iter().enumerate().skip(a + 1) {
            let found = welch(&first.values, &second.values, CONFIDENCE);
            pairs.extend(found.map(|found| (a, b, found.p)));
        }
    }
    let chances: Vec<f64> = pairs.iter().map(|(.., p)| *p).collect();
    let corrected = holm(&chances).unwrap_or_default();
    let is_shown = |a: usize, b: usize| {
        let of = pairs.iter().zip(&corrected).find(|((x, y, _), _)| (*x, *y) == (a, b));
        of.is_some_and(|(_, p)| *p < 1.0 - CONFIDENCE)
    };
    let mut groups: Vec<Option<usize>> = vec![None; ranked.len()];
    let mut group = 0;
    while let Some(leader) = groups.iter().position(Option::is_none) {
        group += 1;
        for (other, of) in groups.iter_mut().enumerate().skip(leader) {
            if of.is_none() && (other == leader || !is_shown(leader, other)) {
                *of = Some(group);
            }
        }
    }
    groups.into_iter().flatten().collect()
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
        assert_eq!(found[0].0, "calm");
        assert_eq!(groups, [Ok(1), Err(Unranked::FewRepeats), Err(Unranked::Noisy)]);
    }
}
