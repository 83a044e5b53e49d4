//! Two sides compared row by row: a measure at a requested condition, by one definition on both
//! sides.
//!
//! Sides are matched by what was requested. If only one side was measured at a load, the other can
//! be interpolated between its two neighbors, if that is requested and it was measured below and
//! above. Nothing is extrapolated. Not here: the correction for many rows, which
//! [`compare`](super::compare) makes over all pairs.

use super::condition::Condition;
use super::contrast::{Basis, Cell, Contrast, Doubt, Rules, cell, contrast, judge};
use super::evidence::{Evidence, Known};
use super::meaning::{Agreement, By};
use super::measure::{Measure, Over};
use super::shortage::Shortage;
use super::side::AtLoad;
use super::verdict::Verdict;
use ifm_core::metric::Direction;
use ifm_core::order::Order as _;
use ifm_metrics::stat::Estimate;

/// One measure at one load.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// The requested condition.
    pub at: Condition,
    /// The measure.
    pub measure: Measure,
    /// First side; absent if it has no value.
    pub a: Option<Cell>,
    /// Second side.
    pub b: Option<Cell>,
    /// Second over first; for shares, second minus first. With its interval; absent without one.
    pub change: Option<Estimate>,
    /// The same as a number alone, wherever both sides have a value.
    pub difference: Option<f64>,
    /// Chance of such a change if there were none, by itself.
    pub p: Option<f64>,
    /// The same corrected for all rows that were tested together.
    pub p_corrected: Option<f64>,
    /// The smallest change that would have been found with a chance of 80 %: a share of the first
    /// side's value, or points of a share. Absent where a side lies between two measured loads.
    pub detectable: Option<f64>,
    /// What the interval rests on.
    pub basis: Option<Basis>,
    /// What may be said.
    pub verdict: Verdict,
    /// Why the data do not decide; present if the verdict is inconclusive.
    pub doubt: Option<Doubt>,
}

impl Row {
    /// Whether a side was read between two measured loads.
    pub fn is_interpolated(&self) -> bool {
        [self.a, self.b].into_iter().flatten().any(|cell| cell.is_interpolated)
    }
}

/// A row before the correction.
pub(crate) struct Draft {
    at: Condition,
    pub measure: Measure,
    pub a: Option<Cell>,
    pub b: Option<Cell>,
    pub contrast: Result<Contrast, Doubt>,
    /// The definitions of both, where they are not surely the same.
    pub unsure: Option<(By, By)>,
    /// Whether each side was computed and not measured.
    pub is_predicted: [bool; 2],
}

/// What a pair of sides is compared for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asked<'a> {
    pub measures: &'a [Measure],
    /// Whether only rows are wanted that both sides have a value for, of each latency the most
    /// telling numbers.
    pub is_choice: bool,
    /// Whether values of different definitions are compared anyway.
    pub even_so: bool,
    /// Whether a load that only one side has is read between two measured loads of the other.
    pub interpolates: bool,
}

impl Draft {
    /// Whether both sides have a value.
    pub fn has_both(&self) -> bool {
        self.a.is_some() && self.b.is_some()
    }

    /// Whether both values are above zero, so that they have a ratio.
    pub fn has_ratio(&self) -> bool {
        let is_positive = |cell: Cell| cell.value > 0.0 && cell.value.is_finite();
        !self.measure.is_share()
            && self.a.is_some_and(is_positive)
            && self.b.is_some_and(is_positive)
    }

    /// The logarithm of how many times better the second side is.
    pub fn log_advantage(&self) -> Option<f64> {
        let alone = self.b?.value / self.a?.value;
        let ratio = self.contrast.as_ref().map_or(alone, |contrast| contrast.change.value);
        let log =
            if self.measure.direction() == Direction::Lower { -ratio.ln() } else { ratio.ln() };
        log.is_finite().then_some(log)
    }

    /// The chance that takes part in the correction: that of a row that can get a verdict.
    /// Otherwise 1 is used, so that the other rows keep theirs.
    pub fn p(&self) -> Option<f64> {
        let contrast = self.contrast.as_ref().ok()?;
        let is_chance = (0.0..=1.0).contains(&contrast.p);
        contrast.shortage.is_none().then_some(if is_chance { contrast.p } else { 1.0 })
    }

    pub fn finish(self, p_corrected: Option<f64>, rules: &Rules) -> Row {
        let (verdict, doubt) = match (&self.contrast, p_corrected) {
            (Err(doubt), _) => (Verdict::Inconclusive, Some(doubt.clone())),
            (Ok(contrast), p) => judge(self.measure, contrast, p.unwrap_or(1.0), rules),
        };
        let verdict = match self.is_predicted {
            [a, b] if a != b => verdict.of_prediction(self.measure.direction(), b),
            _ => verdict,
        };
        let is_interpolated =
            [self.a, self.b].into_iter().flatten().any(|cell| cell.is_interpolated);
        let doubt = match doubt {
            Some(Doubt::Wide | Doubt::Size | Doubt::Correction) if is_interpolated => {
                Some(Doubt::Between)
            }
            doubt => doubt,
        };
        let is_decided = doubt.as_ref().is_none_or(|doubt| !is_of_repeats(doubt));
        let contrast = self.contrast.ok();
        let difference = self.a.zip(self.b).and_then(|(a, b)| {
            let alone = if self.measure.is_share() { b.value - a.value } else { b.value / a.value };
            let alone = contrast.as_ref().map_or(alone, |contrast| contrast.change.value);
            alone.is_finite().then_some(alone)
        });
        Row {
            at: self.at,
            measure: self.measure,
            a: self.a,
            b: self.b,
            difference,
            // Over two repeats an interval is so wide that it says nothing.
            change: contrast.as_ref().filter(|_| is_decided).map(|contrast| contrast.change),
            p: contrast.as_ref().map(|contrast| contrast.p),
            p_corrected,
            detectable: contrast
                .as_ref()
                .filter(|_| is_decided)
                .and_then(|contrast| contrast.detectable),
            basis: contrast.as_ref().map(|contrast| contrast.basis),
            verdict,
            doubt,
        }
    }
}

/// Whether another repeat is what is needed.
fn is_of_repeats(doubt: &Doubt) -> bool {
    matches!(doubt, Doubt::Short(Shortage::Repeats { .. }))
}

/// Where a side's value at a load comes from.
enum Place<'a> {
    Measured(&'a AtLoad),
    Between { low: &'a AtLoad, high: &'a AtLoad, way: f64 },
}

/// The conditions at which two sides can be compared, in order: those that both have, and with
/// `interpolates` those that one has and that lie between two loads of the other.
pub(crate) fn conditions(a: &[AtLoad], b: &[AtLoad], interpolates: bool) -> Vec<Condition> {
    let mut all: Vec<Condition> = a.iter().chain(b).map(|at| at.at.clone()).collect();
    all.order_by(Condition::order);
    all.dedup_by(|a, b| a.is_same(b));
    all.retain(|at| place(a, at, interpolates).is_some() && place(b, at, interpolates).is_some());
    all
}

/// The conditions of a side that the other has nothing for.
pub(crate) fn without_match<'a>(
    side: &'a [AtLoad],
    other: &[AtLoad],
    interpolates: bool,
) -> Vec<&'a Condition> {
    side.iter().map(|at| &at.at).filter(|at| place(other, at, interpolates).is_none()).collect()
}

/// The rows of two sides at their conditions.
pub(super) fn drafts(a: &[AtLoad], b: &[AtLoad], asked: &Asked, rules: &Rules) -> Vec<Draft> {
    let interpolates = asked.interpolates;
    let mut drafts = Vec::new();
    for at in conditions(a, b, interpolates) {
        let places = (place(a, &at, interpolates), place(b, &at, interpolates));
        let (Some(of_a), Some(of_b)) = places else { continue };
        drafts.append(&mut drafts_at_place(&at, &of_a, &of_b, (asked, rules)));
    }
    drafts
}

/// The rows of two levels that were measured at the same.
pub(crate) fn drafts_at(a: &AtLoad, b: &AtLoad, how: (&Asked, &Rules)) -> Vec<Draft> {
    drafts_at_place(&a.at, &Place::Measured(a), &Place::Measured(b), how)
}

fn drafts_at_place(
    at: &Condition,
    a: &Place,
    b: &Place,
    (asked, rules): (&Asked, &Rules),
) -> Vec<Draft> {
    let all = asked.measures.iter();
    let mut here: Vec<Draft> =
        all.filter_map(|measure| draft(at, *measure, a, b, (asked, rules))).collect();
    // Where one side does not draft there is nothing to compare.
    here.retain(|draft| !draft.measure.metric.is_of_drafts() || draft.has_both());
    if asked.is_choice {
        choose(&mut here);
    }
    here
}

/// Leaves out what only one side has a value for, and of each latency means and other percentiles
/// where a median or a P99 says as much.
fn choose(drafts: &mut Vec<Draft>) {
    drafts.retain(|draft| draft.a.is_some() && draft.b.is_some());
    let is_first = |measure: Measure| matches!(measure.percentile(), Some(50.0 | 99.0));
    let firsts: Vec<(Measure, bool)> = drafts
        .iter()
        .filter(|draft| is_first(draft.measure))
        .map(|draft| (draft.measure, draft.contrast.is_ok()))
        .collect();
    let means: Vec<Measure> = drafts
        .iter()
        .filter(|draft| draft.measure.over == Over::Mean)
        .map(|draft| draft.measure)
        .collect();
    drafts.retain(|draft| {
        let measure = draft.measure;
        let is_alike = |other: &Measure| other.metric == measure.metric;
        let mut alike = firsts.iter().filter(|(first, _)| is_alike(first));
        match measure.over {
            _ if is_first(measure) || !measure.metric.has_many_values() => true,
            Over::Mean => !alike.any(|(_, is_decided)| *is_decided),
            _ => alike.next().is_none() && !means.iter().any(is_alike),
        }
    });
}

fn place<'a>(side: &'a [AtLoad], at: &Condition, interpolates: bool) -> Option<Place<'a>> {
    if let Some(found) = side.iter().find(|known| known.at.is_same(at)) {
        return Some(Place::Measured(found));
    }
    if !interpolates {
        return None;
    }
    let value = |at: &Condition| at.load.map(ifm_metrics::level::Load::value);
    let wanted = value(at)?;
    let kin = || side.iter().filter(|known| known.at.is_same_kind(at));
    let low = kin().rfind(|known| value(&known.at).is_some_and(|load| load < wanted))?;
    let high = kin().find(|known| value(&known.at).is_some_and(|load| load > wanted))?;
    let (from, to) = (value(&low.at)?.ln(), value(&high.at)?.ln());
    Some(Place::Between { low, high, way: (wanted.ln() - from) / (to - from) })
}

impl<'a> Place<'a> {
    /// The evidence of a measure by one definition; between two loads of both of them.
    fn by(&self, measure: Measure, by: &By) -> Option<Vec<&'a Evidence>> {
        let of = |at: &'a AtLoad| {
            let known = at.known.iter().find(|k| k.measure == measure && k.by == *by);
            known.map(|known| &known.evidence)
        };
        match self {
            Place::Measured(at) => Some(vec![of(at)?]),
            Place::Between { low, high, .. } => Some(vec![of(low)?, of(high)?]),
        }
    }

    /// Whether the value is computed and not measured.
    fn is_predicted(&self) -> bool {
        let (Place::Measured(at) | Place::Between { low: at, .. }) = self;
        at.is_predicted
    }

    /// What is known of a measure, by each definition.
    fn known(&self, measure: Measure) -> Vec<&'a Known> {
        let (Place::Measured(at) | Place::Between { low: at, .. }) = self;
        let of = at.known.iter().filter(|known| known.measure == measure);
        of.filter(|known| self.by(measure, &known.by).is_some()).collect()
    }
}

/// The definitions by which two places are compared, and how well they agree: those that are the
/// same before those that may be, among them those with an interval on both sides, and of those the
/// ones of most runs.
fn definitions<'a>(a: &[&'a Known], b: &[&'a Known]) -> Option<(&'a Known, &'a Known, Agreement)> {
    let mut best: Option<(&Known, &Known, (Agreement, usize, usize))> = None;
    for first in a {
        for second in b {
            let spread = [first, second].iter().filter(|known| known.evidence.has_spread()).count();
            let runs = first.evidence.runs() + second.evidence.runs();
            let worth = (first.by.agrees(&second.by), spread, runs);
            if best.as_ref().is_none_or(|(.., known)| worth > *known) {
                best = Some((first, second, worth));
            }
        }
    }
    best.map(|(a, b, (agreement, ..))| (a, b, agreement))
}

/// One row of two sides that were measured at the same.
pub(crate) fn draft_at(
    a: &AtLoad,
    b: &AtLoad,
    measure: Measure,
    how: (&Asked, &Rules),
) -> Option<Draft> {
    draft(&a.at, measure, &Place::Measured(a), &Place::Measured(b), how)
}

/// One row; absent if neither side has a value. In an open loop times count from due where both
/// sides have them.
fn draft(
    at: &Condition,
    measure: Measure,
    a: &Place,
    b: &Place,
    (asked, rules): (&Asked, &Rules),
) -> Option<Draft> {
    let due = at.load.map_or(measure, |load| measure.at_load(load));
    let has = |place: &Place, measure| !place.known(measure).is_empty();
    let either = |measure| has(a, measure) || has(b, measure);
    let is_due =
        (has(a, due) && has(b, due)) || !(has(a, measure) && has(b, measure)) && either(due);
    let measure = if is_due { due } else { measure };
    let (known_a, known_b) = (a.known(measure), b.known(measure));
    let pair = definitions(&known_a, &known_b);
    let by_a = pair.map(|(a, ..)| a).or(known_a.first().copied()).map(|known| &known.by);
    let by_b = pair.map(|(_, b, _)| b).or(known_b.first().copied()).map(|known| &known.by);
    let cell = |place: &Place, by: Option<&By>| {
        Some(cell_at(place, measure, by?, rules.confidence)?.with_useful_interval())
    };
    let (cell_a, cell_b) = (cell(a, by_a), cell(b, by_b));
    if cell_a.is_none() && cell_b.is_none() {
        return None;
    }
    let mut unsure = None;
    let mut contrast = match pair {
        None => Err(Doubt::NoValue),
        Some((first, second, agreement)) => {
            if agreement != Agreement::Same {
                unsure = Some((first.by.clone(), second.by.clone()));
            }
            if agreement == Agreement::None && !asked.even_so {
                Err(Doubt::Definitions(first.by.words(), second.by.words()))
            } else {
                all_contrasts(a, b, (measure, &first.by, &second.by), rules)
            }
        }
    };
    if let (Ok(contrast), Some(a), Some(b)) = (&mut contrast, cell_a, cell_b)
        && (a.is_interpolated || b.is_interpolated)
    {
        let value = if measure.is_share() { b.value - a.value } else { b.value / a.value };
        contrast.change.value = value.clamp(contrast.change.low, contrast.change.high);
    }
    let is_predicted = [a.is_predicted(), b.is_predicted()];
    Some(Draft { at: at.clone(), measure, a: cell_a, b: cell_b, contrast, unsure, is_predicted })
}

/// The value at a place. Between two loads it is interpolated on a straight line of logarithms,
/// which is exact for a power of the load. Its interval covers the intervals of both neighbors,
/// since the only assumption about the true value is that it lies between theirs.
fn cell_at(place: &Place, measure: Measure, by: &By, confidence: f64) -> Option<Cell> {
    let found = place.by(measure, by)?;
    let mut cells = found.into_iter().map(|evidence| cell(evidence, measure, confidence));
    match place {
        Place::Measured(_) => cells.next()?,
        Place::Between { way, .. } => {
            let (low, high) = (cells.next()??, cells.next()??);
            let smaller = |a: Option<f64>, b: Option<f64>| Some(a?.min(b?));
            let larger = |a: Option<f64>, b: Option<f64>| Some(a?.max(b?));
            Some(Cell {
                value: between(low.value, high.value, *way),
                low: smaller(low.low, high.low),
                high: larger(low.high, high.high),
                n: low.n.zip(high.n).map(|(low, high)| low.min(high)),
                runs: low.runs.min(high.runs),
                is_interpolated: true,
            })
        }
    }
}

/// A value on the way from one to another, by logarithms where both are above 0.
pub(crate) fn between(low: f64, high: f64, way: f64) -> f64 {
    if low > 0.0 && high > 0.0 {
        (low.ln() + (high.ln() - low.ln()) * way).exp()
    } else {
        low + (high - low) * way
    }
}

/// The contrast of two places: where one lies between two loads, the other side is compared with
/// both of them, and only what holds against both is said.
fn all_contrasts(
    a: &Place,
    b: &Place,
    (measure, by_a, by_b): (Measure, &By, &By),
    rules: &Rules,
) -> Result<Contrast, Doubt> {
    let of_a = a.by(measure, by_a).ok_or(Doubt::NoValue)?;
    let of_b = b.by(measure, by_b).ok_or(Doubt::NoValue)?;
    let mut all: Option<Contrast> = None;
    for first in of_a {
        for second in &of_b {
            let found = contrast(first, second, rules)?;
            all = Some(match all {
                None => found,
                Some(known) => hull(known, found, measure),
            });
        }
    }
    all.ok_or(Doubt::NoValue)
}

/// What two contrasts have in common: the interval over both, the larger chance, and none at all if
/// they point in different directions.
fn hull(a: Contrast, b: Contrast, measure: Measure) -> Contrast {
    let none = if measure.is_share() { 0.0 } else { 1.0 };
    let apart = (a.change.value > none) != (b.change.value > none);
    Contrast {
        change: Estimate {
            value: a.change.value,
            low: a.change.low.min(b.change.low),
            high: a.change.high.max(b.change.high),
        },
        p: if apart { 1.0 } else { a.p.max(b.p) },
        detectable: None,
        basis: a.basis,
        shortage: a.shortage.or(b.shortage),
        lacking: a.lacking.or(b.lacking),
        error: None,
    }
}
