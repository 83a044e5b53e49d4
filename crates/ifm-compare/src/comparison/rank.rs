//! Sides in order of one measure at one load, with shared ranks where no difference is shown, and
//! ranges of ranks where the data do not decide.
//!
//! Not here: several measures at once; which one counts is the user's to say.

use super::condition::Condition;
use super::contrast::{Cell, cell};
use super::difference::{Difference, differences};
use super::measure::Measure;
use super::pair::{Asked, Draft, draft_at};
use super::placement::{PairVerdict, Placement, Undecided, placements};
use super::side::{AtLoad, Side, keys};
use super::{Settings, SideHead, head, of_definitions};
use ifm_core::metric::Direction;
use ifm_core::order::Order as _;
use ifm_metrics::stat::multiple::holm;

/// One side in its place.
#[derive(Debug, Clone, PartialEq)]
pub struct Ranked {
    /// The side.
    pub side: SideHead,
    /// One more than the number of sides that are shown to be better; absent without a value, and for a
    /// prediction among measurements.
    pub rank: Option<usize>,
    /// The value; absent if the side was not measured at the load.
    pub cell: Option<Cell>,
    /// The last rank that it may have: every side that the data cannot tell apart from it may be
    /// better. Absent without a value.
    pub last_rank: Option<usize>,
    /// The sides from which no relevant difference is shown, by place in the list.
    pub equal: Vec<usize>,
    /// The sides that the data cannot tell apart from it, by place in the list.
    pub undecided: Vec<Undecided>,
}

/// Sides in order.
#[derive(Debug, Clone, PartialEq)]
pub struct Ranking {
    /// What they are ordered by.
    pub measure: Measure,
    /// The requested condition.
    pub at: Condition,
    /// The sides: by rank, then by value.
    pub order: Vec<Ranked>,
    /// Confidence of the intervals, and of all pairwise tests together.
    pub confidence: f64,
    /// Smallest relevant difference.
    pub threshold: f64,
    /// What any side differs in from the first one given, in the order given.
    pub differences: Vec<(String, Vec<Difference>)>,
}

/// What every side was measured at, in order, and has a value of the measure for.
pub fn common_conditions(sides: &[Side], measure: Measure) -> Vec<Condition> {
    let keys = keys(sides.iter());
    let all: Vec<Vec<Condition>> = sides
        .iter()
        .map(|side| {
            let samples = side.members.iter().flat_map(|member| &member.samples);
            let has = |sample: &&super::sample::LevelSample| {
                let due = sample.at.load.map_or(measure, |load| measure.at_load(load));
                sample.told().any(|told| [measure, due].contains(&told.measure))
            };
            samples.filter(has).map(|sample| sample.at.reduced(&keys)).collect()
        })
        .collect();
    let Some((first, others)) = all.split_first() else { return Vec::new() };
    let in_all =
        |at: &&Condition| others.iter().all(|side| side.iter().any(|known| known.is_same(at)));
    let mut common: Vec<Condition> = first.iter().filter(in_all).cloned().collect();
    common.order_by(Condition::order);
    common.dedup_by(|a, b| a.is_same(b));
    common
}

/// Puts sides in order. A rank is one more than the number of sides that pairwise tests, corrected
/// for their number, show to be better by a relevant amount. Where the data cannot tell sides apart
/// it is the first of a range.
pub fn rank(sides: &[Side], measure: Measure, at: &Condition, settings: &Settings) -> Ranking {
    let rules = settings.rules();
    let keys = keys(sides.iter());
    let found: Vec<Option<AtLoad>> = sides
        .iter()
        .enumerate()
        .map(|(place, side)| {
            let known = side.evidence(settings.drawing(), place, &keys).into_iter();
            known.into_iter().find(|known| known.at.is_same(at))
        })
        .collect();
    let of = |place: usize| found.get(place)?.as_ref();
    let asked = Asked { measures: &[measure], ..settings.asked() };
    let pairs: Vec<(usize, usize, Draft)> = (0..sides.len())
        .flat_map(|a| (a + 1..sides.len()).map(move |b| (a, b)))
        .filter_map(|(a, b)| {
            let draft = draft_at(of(a)?, of(b)?, measure, (&asked, &rules))?;
            // A prediction has no rank among measurements.
            let [first, second] = draft.is_predicted;
            (draft.has_both() && first == second).then_some((a, b, draft))
        })
        .collect();
    let shown = pairs.first().map_or(measure, |(.., draft)| draft.measure);
    let definitions: Vec<(usize, Vec<Difference>)> = pairs
        .iter()
        .filter(|(a, ..)| *a == 0)
        .map(|(_, b, draft)| (*b, of_definitions(std::slice::from_ref(draft))))
        .collect();
    let chances: Vec<f64> = pairs.iter().filter_map(|(.., draft)| draft.p()).collect();
    let mut corrected = holm(&chances).unwrap_or_default().into_iter();
    let verdicts: Vec<PairVerdict> = pairs
        .into_iter()
        .map(|(a, b, draft)| {
            let p = draft.p().and_then(|_| corrected.next());
            PairVerdict::of((a, b), &draft.finish(p, &rules))
        })
        .collect();
    let places = placements(sides.len(), &verdicts);
    let differences = differences_of(sides, &keys, definitions);
    let order = order_of(sides, shown, &found, places, settings);
    Ranking {
        measure: shown,
        at: at.clone(),
        order,
        confidence: settings.confidence,
        threshold: settings.threshold,
        differences,
    }
}

/// What any side differs in from the first one.
fn differences_of(
    sides: &[Side],
    keys: &std::collections::BTreeSet<String>,
    mut definitions: Vec<(usize, Vec<Difference>)>,
) -> Vec<(String, Vec<Difference>)> {
    let Some((first, others)) = sides.split_first() else { return Vec::new() };
    let of = |(index, side): (usize, &Side)| {
        let mut found = differences(first, side, keys);
        for (_, more) in definitions.iter_mut().filter(|(place, _)| *place == index + 1) {
            found.append(more);
        }
        found.order_by_key(|difference| std::cmp::Reverse(difference.kind));
        (side.label.clone(), found)
    };
    others.iter().enumerate().map(of).collect()
}

/// The list: by rank, then by value, those without one last.
fn order_of(
    sides: &[Side],
    measure: Measure,
    found: &[Option<AtLoad>],
    placements: Vec<Placement>,
    settings: &Settings,
) -> Vec<Ranked> {
    let mut order: Vec<(usize, Ranked)> = sides
        .iter()
        .zip(placements)
        .enumerate()
        .map(|(place, (side, placement))| {
            let at = found.get(place).and_then(Option::as_ref);
            let evidence = at.and_then(|at| at.evidence(measure));
            let cell = evidence.and_then(|evidence| cell(evidence, measure, settings.confidence));
            let cell = cell.map(Cell::with_useful_interval);
            let (rank, last_rank) = cell.map(|_| (placement.first, placement.last)).unzip();
            let side = head(side, at.map(std::slice::from_ref).unwrap_or_default());
            let (equal, undecided) = (placement.equal, placement.undecided);
            (place, Ranked { side, rank, last_rank, cell, equal, undecided })
        })
        .collect();
    let value = |ranked: &Ranked| {
        let value = ranked.cell.map_or(f64::INFINITY, |cell| cell.value);
        if measure.direction() == Direction::Higher { -value } else { value }
    };
    // A prediction has no rank among measurements.
    if order.iter().any(|(_, of)| !of.side.is_predicted) {
        let predicted = order.iter_mut().filter(|(_, of)| of.side.is_predicted);
        predicted.for_each(|(_, of)| (of.rank, of.last_rank) = (None, None));
    }
    order.order_by(|(_, a), (_, b)| {
        let rank = |ranked: &Ranked| ranked.rank.unwrap_or(usize::MAX);
        let last = |ranked: &Ranked| ranked.last_rank.unwrap_or(usize::MAX);
        let by_rank = rank(a).cmp(&rank(b)).then(last(a).cmp(&last(b)));
        by_rank.then(value(a).total_cmp(&value(b)))
    });
    let places: Vec<usize> = order.iter().map(|(place, _)| *place).collect();
    let in_list = |side: usize| places.iter().position(|place| *place == side);
    for (_, ranked) in &mut order {
        ranked.equal = ranked.equal.iter().filter_map(|other| in_list(*other)).collect();
        ranked.equal.sort_unstable();
        ranked.undecided.retain_mut(|undecided| {
            let place = in_list(undecided.other);
            undecided.other = place.unwrap_or(undecided.other);
            place.is_some()
        });
        ranked.undecided.sort_unstable_by_key(|undecided| undecided.other);
    }
    order.into_iter().map(|(_, ranked)| ranked).collect()
}
