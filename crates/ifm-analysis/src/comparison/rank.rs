//! Sides in order of one measure at one load, with shared ranks where no difference is shown.
//!
//! What is not here: several measures at once; which one counts is the user's to say.

use super::contrast::{Cell, Contrast, Doubt, Verdict, cell, contrast, judge};
use super::difference::{Difference, differences};
use super::measure::{Direction, Measure};
use super::side::{AtLoad, Side, is_same};
use super::{Settings, SideHead, head};
use crate::level::Load;
use crate::stat::multiple::holm;

/// One side in its place.
#[derive(Debug, Clone, PartialEq)]
pub struct Ranked {
    /// The side.
    pub side: SideHead,
    /// One more than the number of sides that are shown to be better; absent without a value.
    pub rank: Option<usize>,
    /// The value; absent if the side was not measured at the load.
    pub cell: Option<Cell>,
    /// The sides that it is not shown to differ from, by place in the list.
    pub ties: Vec<usize>,
}

/// Sides in order.
#[derive(Debug, Clone, PartialEq)]
pub struct Ranking {
    /// What they are ordered by.
    pub measure: Measure,
    /// At which load.
    pub load: Load,
    /// The sides: by rank, then by value.
    pub order: Vec<Ranked>,
    /// Confidence of the intervals, and of all pairwise tests together.
    pub confidence: f64,
    /// Smallest relevant difference.
    pub threshold: f64,
    /// What any side differs in from the first one given, in the order given.
    pub differences: Vec<(String, Vec<Difference>)>,
}

/// The largest load that every side was measured at; absent if there is none.
pub fn largest_common_load(sides: &[Side]) -> Option<Load> {
    let has = |side: &Side, load: Load| {
        side.members.iter().flat_map(super::Member::loads).any(|other| is_same(other, load))
    };
    let first = sides.first()?.members.iter().flat_map(super::Member::loads);
    let common = first.filter(|load| sides.iter().all(|side| has(side, *load)));
    common.max_by(|a, b| super::side::order(*a, *b))
}

/// Puts sides in order. A side shares the rank of those that are not shown to be better: ranks are
/// one more than the number of sides that pairwise tests, corrected for their number, show to be
/// better by a relevant amount.
pub fn rank(sides: &[Side], measure: Measure, load: Load, settings: &Settings) -> Ranking {
    let measure = measure.at_load(load);
    let rules = settings.rules();
    let found: Vec<Option<AtLoad>> = sides
        .iter()
        .enumerate()
        .map(|(place, side)| {
            let at = side.evidence(settings.drawing(), place).into_iter();
            at.into_iter().find(|at| is_same(at.load, load))
        })
        .collect();
    let evidence = |place: usize| found.get(place)?.as_ref().and_then(|at| at.evidence(measure));
    let pairs: Vec<(usize, usize, Result<Contrast, Doubt>)> = (0..sides.len())
        .flat_map(|a| (a + 1..sides.len()).map(move |b| (a, b)))
        .filter_map(|(a, b)| Some((a, b, contrast(evidence(a)?, evidence(b)?, &rules))))
        .collect();
    let usable = |contrast: &Result<Contrast, Doubt>| {
        contrast.as_ref().ok().filter(|contrast| contrast.shortage.is_none()).map(|c| c.p)
    };
    let chances: Vec<f64> = pairs.iter().filter_map(|(.., contrast)| usable(contrast)).collect();
    let mut corrected = holm(&chances).unwrap_or_default().into_iter();
    let mut shown_better = vec![0usize; sides.len()];
    let mut ties: Vec<Vec<usize>> = vec![Vec::new(); sides.len()];
    let add = |list: &mut Vec<Vec<usize>>, at: usize, other: usize| {
        if let Some(ties) = list.get_mut(at) {
            ties.push(other);
        }
    };
    for (a, b, contrast) in &pairs {
        let p = usable(contrast).and_then(|_| corrected.next());
        let verdict = match (contrast, p) {
            (Ok(contrast), Some(p)) => judge(measure, contrast, p, &rules).0,
            _ => Verdict::Inconclusive,
        };
        let worse = match verdict {
            Verdict::Better => Some(*a),
            Verdict::Worse => Some(*b),
            _ => None,
        };
        match worse.and_then(|worse| shown_better.get_mut(worse)) {
            Some(count) => *count += 1,
            None => {
                add(&mut ties, *a, *b);
                add(&mut ties, *b, *a);
            }
        }
    }
    order_of(sides, (measure, load), &found, (&shown_better, &ties), settings)
}

/// The list: by rank, then by value, those without one last.
fn order_of(
    sides: &[Side],
    (measure, load): (Measure, Load),
    found: &[Option<AtLoad>],
    (shown_better, ties): (&[usize], &[Vec<usize>]),
    settings: &Settings,
) -> Ranking {
    let mut order: Vec<(usize, Ranked)> = sides
        .iter()
        .enumerate()
        .map(|(place, side)| {
            let at = found.get(place).and_then(Option::as_ref);
            let evidence = at.and_then(|at| at.evidence(measure));
            let cell = evidence.and_then(|evidence| cell(evidence, settings.confidence));
            let rank = cell.and_then(|_| shown_better.get(place)).map(|better| better + 1);
            let loads = at.map(std::slice::from_ref).unwrap_or_default();
            (place, Ranked { side: head(side, loads), rank, cell, ties: Vec::new() })
        })
        .collect();
    let value = |ranked: &Ranked| {
        let value = ranked.cell.map_or(f64::INFINITY, |cell| cell.value);
        if measure.direction() == Direction::Higher { -value } else { value }
    };
    order.sort_by(|(_, a), (_, b)| {
        let rank = |ranked: &Ranked| ranked.rank.unwrap_or(usize::MAX);
        rank(a).cmp(&rank(b)).then(value(a).total_cmp(&value(b)))
    });
    let places: Vec<usize> = order.iter().map(|(place, _)| *place).collect();
    for (place, ranked) in &mut order {
        let tied = ties.get(*place).into_iter().flatten();
        ranked.ties =
            tied.filter_map(|other| places.iter().position(|place| place == other)).collect();
        ranked.ties.sort_unstable();
    }
    let first = sides.first();
    let differences = first.into_iter().flat_map(|first| {
        sides.iter().skip(1).map(|side| (side.label.clone(), differences(first, side)))
    });
    Ranking {
        measure,
        load,
        order: order.into_iter().map(|(_, ranked)| ranked).collect(),
        confidence: settings.confidence,
        threshold: settings.threshold,
        differences: differences.collect(),
    }
}
