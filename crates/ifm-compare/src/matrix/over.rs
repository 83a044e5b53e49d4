//! A row against the baseline over several configurations, and where that hides something.

use super::ratio::family;
use super::{Matrix, Ratio};
use ifm_core::order::Order as _;

/// A row against the baseline over several configurations.
#[derive(Debug, Clone, PartialEq)]
pub struct Over {
    /// Geometric mean of the ratios; says nothing where they are [mixed](Over::is_mixed).
    pub ratio: Ratio,
    /// The ratio in each configuration, by its index.
    pub members: Vec<(usize, Ratio)>,
}

impl Over {
    /// The smallest and the largest ratio.
    pub fn range(&self) -> (f64, f64) {
        let values = || self.members.iter().map(|(_, ratio)| ratio.value);
        (values().fold(f64::INFINITY, f64::min), values().fold(0.0, f64::max))
    }

    /// Whether it is faster in some configurations and slower in others, so that no single number
    /// describes all of them.
    pub fn is_mixed(&self) -> bool {
        let (low, high) = self.range();
        let is_any_shown = self.members.iter().any(|(_, ratio)| ratio.is_shown());
        low < 1.0 && high > 1.0 && (is_any_shown || self.ratio.is_shown())
    }

    /// Whether it is shown to be faster, and slower nowhere.
    pub fn is_faster(&self) -> bool {
        !self.is_mixed() && self.ratio.is_faster()
    }

    /// Whether it is shown to be slower, and faster nowhere.
    pub fn is_slower(&self) -> bool {
        !self.is_mixed() && self.ratio.is_slower()
    }
}

/// A row over all configurations.
#[derive(Debug, Clone, PartialEq)]
pub struct Overall {
    /// The thing.
    pub thing: usize,
    /// Against the baseline, over the configurations that all things can be compared in.
    pub over: Over,
    /// Of all configurations, those in which it is shown to be faster.
    pub faster: usize,
    /// Those in which a relevant difference is ruled out.
    pub tied: usize,
    /// Those in which it is shown to be slower.
    pub slower: usize,
    /// Those in which the data do not decide.
    pub undecided: usize,
    /// Whether the first is not shown to be ahead of it.
    pub ties_first: bool,
    /// Whether a relevant difference to the first is ruled out; of the first itself too.
    pub is_equal_to_first: bool,
}

/// One of those that nothing is shown to be ahead of.
#[derive(Debug, Clone, PartialEq)]
pub struct Leader {
    /// The thing.
    pub thing: usize,
    /// Against the baseline.
    pub over: Over,
    /// Whether a relevant difference to the first is ruled out.
    pub is_equal: bool,
}

impl Matrix<'_> {
    /// Every thing against the baseline over the configurations of a size, by its index: over those
    /// in which both are trusted, else over all of them.
    pub fn at_size(&self, batch: f64) -> Vec<Option<Over>> {
        let all = self.at_batch(batch);
        let each: Vec<(usize, Vec<Option<Ratio>>)> =
            all.iter().map(|of| (*of, self.against_baseline(&[*of], None))).collect();
        let members: Vec<Vec<(usize, Ratio)>> = (0..self.things.len())
            .map(|thing| {
                let members = each.iter().filter_map(|(of, ratios)| {
                    ratios.get(thing).cloned().flatten().map(|ratio| (*of, ratio))
                });
                let members: Vec<(usize, Ratio)> = members.collect();
                let is_any_trusted = members.iter().any(|(_, ratio)| ratio.is_trusted);
                let is_taken = |member: &(usize, Ratio)| member.1.is_trusted || !is_any_trusted;
                members.into_iter().filter(is_taken).collect()
            })
            .collect();
        let drafts = members.iter().enumerate().map(|(thing, members)| {
            let baseline = self.baseline.filter(|baseline| *baseline != thing)?;
            let over: Vec<usize> = members.iter().map(|(of, _)| *of).collect();
            // A result over a single configuration has its verdict already.
            (over.len() > 1).then(|| self.draft(thing, baseline, &over, None))?
        });
        let several = family(drafts.collect());
        let over = |(members, several): (Vec<(usize, Ratio)>, Option<Ratio>)| {
            let ratio = match members.as_slice() {
                [(_, only)] => only.clone(),
                _ => several?,
            };
            Some(Over { ratio, members })
        };
        members.into_iter().zip(several).map(over).collect()
    }

    /// The best of a size against the baseline, and all that are not shown to be slower; empty if
    /// nothing can be trusted. A row that is faster in one configuration and slower in another is
    /// best only if there is nothing else, and then alone. All are compared with each other over
    /// the configurations that all of them have, if there are any.
    pub fn leaders_at(&self, batch: f64) -> Vec<Leader> {
        let all = self.alike_at(batch).unwrap_or_else(|| self.at_size(batch));
        let trusted: Vec<(usize, Over)> = all
            .into_iter()
            .enumerate()
            .filter_map(|(thing, over)| Some((thing, over?)))
            .filter(|(_, over)| over.ratio.is_trusted)
            .collect();
        let (plain, mixed): (Vec<_>, Vec<_>) =
            trusted.into_iter().partition(|(_, over)| !over.is_mixed());
        let is_mixed = plain.is_empty();
        let mut order = if is_mixed { mixed } else { plain };
        order.order_by(|(_, a), (_, b)| b.ratio.value.total_cmp(&a.ratio.value));
        let Some((first, best)) = order.first().cloned() else { return Vec::new() };
        let of = |over: &Over| over.members.iter().map(|(of, _)| *of).collect::<Vec<_>>();
        let verdicts = self.verdicts(&of(&best));
        order.retain(|(thing, over)| {
            let is_tied = of(over) == of(&best) && !verdicts.differ(first, *thing);
            *thing == first || (is_tied && !is_mixed)
        });
        let leader = |(thing, over)| {
            let is_equal = thing == first || verdicts.are_equal(first, thing);
            Leader { thing, over, is_equal }
        };
        order.into_iter().map(leader).collect()
    }

    /// Every thing against the baseline over the comparable configurations of a size; absent where
    /// there are none.
    fn alike_at(&self, batch: f64) -> Option<Vec<Option<Over>>> {
        let of_size = self.at_batch(batch);
        let common: Vec<usize> =
            self.comparable().into_iter().filter(|of| of_size.contains(of)).collect();
        let each: Vec<Vec<Option<Ratio>>> =
            common.iter().map(|of| self.against_baseline(&[*of], None)).collect();
        let over = |(thing, ratio): (usize, Option<Ratio>)| {
            let member = |(of, ratios): (&usize, &Vec<Option<Ratio>>)| {
                Some((*of, ratios.get(thing).cloned().flatten()?))
            };
            Some(Over {
                ratio: ratio?,
                members: common.iter().zip(&each).filter_map(member).collect(),
            })
        };
        let ratios = self.against_baseline(&common, None);
        (!common.is_empty()).then(|| ratios.into_iter().enumerate().map(over).collect())
    }

    /// The configurations in which every thing was measured and is trusted.
    pub fn comparable(&self) -> Vec<usize> {
        let is_trusted = |thing: usize, configuration: usize| {
            self.sample(thing, configuration).is_some_and(|sample| sample.is_trusted())
        };
        (0..self.configurations.len())
            .filter(|of| (0..self.things.len()).all(|thing| is_trusted(thing, *of)))
            .collect()
    }

    /// Every thing but the baseline over the comparable configurations, the largest geometric mean
    /// first.
    pub fn overall(&self) -> Vec<Overall> {
        let comparable = self.comparable();
        let each: Vec<Vec<Option<Ratio>>> =
            (0..self.configurations.len()).map(|of| self.against_baseline(&[of], None)).collect();
        let ratio_in = |thing: usize, of: usize| each.get(of)?.get(thing)?.clone();
        let verdicts = self.verdicts(&comparable);
        let ratios = self.against_baseline(&comparable, None);
        let mut all: Vec<Overall> = ratios
            .into_iter()
            .enumerate()
            .filter_map(|(thing, ratio)| {
                let member = |of: &usize| Some((*of, ratio_in(thing, *of)?));
                let over =
                    Over { ratio: ratio?, members: comparable.iter().filter_map(member).collect() };
                let everywhere =
                    (0..self.configurations.len()).filter_map(|of| ratio_in(thing, of));
                let count = |is: fn(&Ratio) -> bool| everywhere.clone().filter(is).count();
                Some(Overall {
                    thing,
                    over,
                    faster: count(Ratio::is_faster),
                    tied: count(Ratio::is_equal),
                    slower: count(Ratio::is_slower),
                    undecided: count(|ratio| !ratio.is_shown() && !ratio.is_equal()),
                    ties_first: false,
                    is_equal_to_first: false,
                })
            })
            .collect();
        all.order_by(|a, b| b.over.ratio.value.total_cmp(&a.over.ratio.value));
        let first = all.first().map(|first| first.thing);
        for (index, other) in all.iter_mut().enumerate() {
            let is_behind = |first| verdicts.differ(first, other.thing);
            other.ties_first = index == 0 || !first.is_some_and(is_behind);
            other.is_equal_to_first =
                index == 0 || first.is_some_and(|first| verdicts.are_equal(first, other.thing));
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ifm_results::testing::{repeats, results};

    const SMALL: (u32, u32, u32) = (1, 128, 64);
    const LONG: (u32, u32, u32) = (1, 256, 64);
    const LARGE: (u32, u32, u32) = (64, 256, 128);

    fn near(got: f64, expect: f64) {
        assert!((got - expect).abs() < 2e-4, "{got} is not {expect}");
    }

    #[test]
    fn over_configurations_the_ratios_are_multiplied() {
        let mut points = repeats("base", SMALL, &[99.0, 100.0, 101.0]);
        points.extend(repeats("a", SMALL, &[199.0, 200.0, 201.0]));
        points.extend(repeats("b", SMALL, &[100.0, 100.1, 99.9]));
        points.extend(repeats("base", LARGE, &[999.0, 1000.0, 1001.0]));
        points.extend(repeats("a", LARGE, &[1499.0, 1500.0, 1501.0]));
        points.extend(repeats("b", LARGE, &[1000.0, 1000.1, 999.9]));
        let results = results(&points);
        let matrix = Matrix::of(&results, None, None).expect("batches");
        let overall = matrix.overall();
        assert_eq!(overall.len(), 2);
        let [a, b] = overall.as_slice() else { panic!("{overall:?}") };
        // √(2 · 1.5)
        near(a.over.ratio.value, 3f64.sqrt());
        assert_eq!((a.faster, a.tied, a.slower, a.over.ratio.configurations), (2, 0, 0, 2));
        assert!(a.over.is_faster() && !a.over.is_mixed());
        near(a.over.range().0, 1.5);
        near(a.over.range().1, 2.0);
        assert_eq!((b.faster, b.tied, b.slower, b.undecided), (0, 2, 0, 0));
        assert!(!b.ties_first && !b.over.is_faster());
    }

    #[test]
    fn the_best_of_a_size_share_its_place() {
        let mut points = repeats("base", SMALL, &[99.0, 100.0, 101.0]);
        points.extend(repeats("a", SMALL, &[199.0, 200.0, 201.0]));
        points.extend(repeats("b", SMALL, &[199.5, 200.5, 201.5]));
        points.extend(repeats("c", SMALL, &[149.0, 150.0, 151.0]));
        points.extend(repeats("wild", SMALL, &[100.0, 400.0, 400.0]));
        let results = results(&points);
        let matrix = Matrix::of(&results, None, None).expect("batches");
        let names = |found: Vec<Leader>| -> Vec<String> {
            assert!(found.iter().all(|leader| leader.is_equal), "{found:?}");
            found.iter().map(|leader| matrix.thing(leader.thing).to_owned()).collect()
        };
        assert_eq!(names(matrix.leaders_at(1.0)), ["b", "a"]);
        assert!(matrix.leaders_at(2.0).is_empty());
    }

    /// Twice as fast with short prompts and half as fast with long ones: the geometric mean of 1
    /// would say "no difference", and the first alone "faster".
    #[test]
    fn what_differs_in_direction_is_not_pooled() {
        let mut points = Vec::new();
        for (asked, rates) in [(SMALL, [199.0, 200.0, 201.0]), (LONG, [49.0, 50.0, 51.0])] {
            points.extend(repeats("base", asked, &[99.0, 100.0, 101.0]));
            points.extend(repeats("a", asked, &rates));
        }
        points.extend(repeats("base", LARGE, &[999.0, 1000.0, 1001.0]));
        points.extend(repeats("a", LARGE, &[499.0, 500.0, 501.0]));
        let results = results(&points);
        let matrix = Matrix::of(&results, None, None).expect("batches");
        let alone = matrix.at_size(1.0)[1].clone().expect("measured");
        assert!(alone.is_mixed() && !alone.is_faster() && !alone.is_slower());
        near(alone.range().0, 0.5);
        near(alone.range().1, 2.0);
        let large = matrix.at_size(64.0)[1].clone().expect("measured");
        assert!(large.is_slower() && !large.is_mixed());
        assert_eq!(
            Some(large.ratio.clone()),
            matrix.speed_up(1, 2),
            "one configuration, one verdict"
        );
        let overall = matrix.overall();
        assert!(overall[0].over.is_mixed());
        assert_eq!((overall[0].faster, overall[0].slower), (1, 2));
    }
}
