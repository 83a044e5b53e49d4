//! How much faster or slower than the baseline, at equal load; and where that turns round.

use crate::insight::versus::{CENTER, OUTPUT, Party, Versus};
use crate::insight::{Delta, Insight, InsightRule, Question, Sentence, Shown, Tone, Topic};
use crate::say;
use crate::survey::Curve;
use ifm_core::sheet::{Quantity, Statistic};

/// A change smaller than this says nothing about which of two read-off values is larger.
const NOISE: f64 = 0.02;

/// The tails that are told beside a middle, the best known first.
const TAILS: [f64; 2] = [95.0, 99.0];

pub(super) const RULE: InsightRule = InsightRule {
    id: "versus_speed",
    title: "against the baseline at the lowest and the highest equal load: ITL, TTFT and output",
    look,
};

pub(super) const CROSSOVER: InsightRule = InsightRule {
    id: "versus_crossover",
    title: "where on the axis of the load the faster one becomes the slower one",
    look: crossovers,
};

pub(super) const TIE: InsightRule = InsightRule {
    id: "versus_tie",
    title: "at how many equal loads no difference from the baseline is shown",
    look: ties,
};

/// What is compared: topic, quantity, statistics, and whether more is better.
const COMPARED: [(Topic, Quantity, &[Statistic], bool); 3] = [
    (Topic::Itl, Quantity::Itl, CENTER, false),
    (Topic::Ttft, Quantity::Ttft, CENTER, false),
    (Topic::Throughput, Quantity::OutputRate, OUTPUT, true),
];

/// How many times better the other is at a place: above 1 it is better.
fn advantage(base: &Curve, other: &Curve, at: f64, more_is_better: bool) -> Option<f64> {
    let (before, after) = (base.between(at)?, other.between(at)?);
    let ratio = if more_is_better { after / before } else { before / after };
    (ratio.is_finite() && ratio > 0.0).then_some(ratio)
}

/// Two curves of one quantity, and where both have a value.
struct Pair<'v, 'a> {
    versus: &'v Versus<'a>,
    party: &'v Party<'a>,
    topic: Topic,
    quantity: &'v Quantity,
    more_is_better: bool,
    base: Curve<'a>,
    other: Curve<'a>,
    places: Vec<f64>,
}

impl Pair<'_, '_> {
    /// How many times better the other is at a place.
    fn advantage(&self, at: f64) -> Option<f64> {
        advantage(&self.base, &self.other, at, self.more_is_better)
    }

    /// Whether both were measured there.
    fn is_measured(&self, at: f64) -> bool {
        self.base.at(at).is_some() && self.other.at(at).is_some()
    }

    /// What the other is called, under its conditions where there are several.
    fn name(&self) -> String {
        match &self.versus.scene {
            Some(scene) => format!("{scene}: {}", self.party.short),
            None => self.party.short.clone(),
        }
    }

    /// What is compared, with its statistic: `median TTFT`.
    fn measure(&self) -> String {
        let statistic = self.base.points.first().map(|point| point.reading.statistic);
        match statistic {
            Some(Statistic::Median) => format!("median {}", self.quantity),
            Some(Statistic::Mean) => format!("mean {}", self.quantity),
            _ => self.quantity.to_string(),
        }
    }

    /// The tails of both: the first percentile that both have at these places.
    fn tails(&self, places: &[f64]) -> Option<Tails<'_>> {
        TAILS.into_iter().find_map(|p| {
            let statistics = [Statistic::Percentile(p)];
            let of = |party| self.versus.curve(party, self.quantity, &statistics);
            let (base, other) = (of(&self.versus.base), of(self.party));
            let is_there = |at: &f64| base.between(*at).is_some() && other.between(*at).is_some();
            places.iter().all(is_there).then(|| Tails {
                p,
                base: Tail::new(self.versus.base.short_as_base(), base),
                other: Tail::new(&self.party.short, other),
            })
        })
    }
}

/// The tails of a pair.
struct Tails<'p> {
    p: f64,
    base: Tail<'p>,
    other: Tail<'p>,
}

/// A percentile of one of a pair against the load.
struct Tail<'p> {
    name: &'p str,
    /// All of it.
    curve: Curve<'p>,
    /// Places and values, ms, that no load explains: of a tail more than twice that of the next
    /// heavier load.
    apart: Vec<(f64, f64)>,
}

impl<'p> Tail<'p> {
    fn new(name: &'p str, curve: Curve<'p>) -> Tail<'p> {
        let (_, apart) = curve.clone().parted();
        let apart = apart.iter().map(|point| (point.at, point.reading.value)).collect();
        Tail { name, curve, apart }
    }

    /// The value at a place, and whether it was measured there. A line to or from a point that no
    /// load explains says nothing.
    fn at(&self, place: f64) -> Option<(f64, bool)> {
        if let Some(point) = self.curve.at(place) {
            return Some((point.reading.value, true));
        }
        let below = self.curve.points.iter().rev().find(|point| point.at < place)?;
        let above = self.curve.points.iter().find(|point| point.at > place)?;
        let is_apart = |at: f64| self.apart.iter().any(|(apart, _)| *apart == at);
        if is_apart(below.at) || is_apart(above.at) {
            return None;
        }
        Some((self.curve.between(place)?, false))
    }
}

/// Every pair of curves.
fn pairs(question: &Question, mut each: impl FnMut(&Pair)) {
    for versus in &Versus::all(question) {
        for (topic, quantity, statistics, more_is_better) in &COMPARED {
            for party in &versus.others {
                let base = versus.curve(&versus.base, quantity, statistics);
                let other = versus.curve(party, quantity, statistics);
                let places = Versus::common(&base, &other);
                let (topic, more_is_better) = (*topic, *more_is_better);
                each(&Pair { versus, party, topic, quantity, more_is_better, base, other, places });
            }
        }
    }
}

fn look(question: &Question) -> Vec<Insight> {
    let mut found = Vec::new();
    pairs(question, |pair| {
        let (Some(low), Some(high)) = (pair.places.first(), pair.places.last()) else { return };
        let (Some(first), Some(last)) = (pair.advantage(*low), pair.advantage(*high)) else {
            return;
        };
        if is_tie(pair, *low, first) && is_tie(pair, *high, last) {
            return;
        }
        let unit = pair.versus.counted(*high);
        let sentence = match pair.more_is_better {
            true => say!("{}{}"; of_output(pair, (first, *low), (last, *high)), unit),
            false => {
                let speed = of_latency(pair, (first, *low), (last, *high));
                say!("{}{} ({})"; speed, unit, pair.measure())
            }
        };
        let tone = match (first.min(last) >= 1.0, first.max(last) <= 1.0) {
            (true, _) => Tone::Good,
            (_, true) => Tone::Warn,
            _ => Tone::Note,
        };
        let (sentence, tone) = match pair.more_is_better {
            true => (sentence, tone),
            false => with_tail(pair, &[*low, *high], sentence, tone),
        };
        let insight = Insight::new(RULE.id, pair.topic, tone, say!("{}."; sentence));
        found.push(insight.weighing(last.ln()));
    });
    found
}

/// The sentence with the tails beside it. What is faster in the middle and slower in the tail
/// deserves care.
fn with_tail(pair: &Pair, places: &[f64], sentence: Sentence, tone: Tone) -> (Sentence, Tone) {
    let mut places = places.to_vec();
    places.dedup();
    let Some(Tails { p, base, other }) = pair.tails(&places) else { return (sentence, tone) };
    let told: Vec<_> =
        places.iter().filter_map(|at| Some((*at, base.at(*at)?, other.at(*at)?))).collect();
    let is_longer = |(at, (before, _), (after, _)): &(f64, (f64, bool), (f64, bool))| {
        before / after < 1.0 - NOISE && pair.advantage(*at).is_some_and(|middle| middle > 1.0)
    };
    let is_longer = told.iter().any(is_longer);
    let but = if is_longer { "but " } else { "" };
    let words = |(at, before, after): &(f64, (f64, bool), (f64, bool))| {
        let before = say!("{}"; before.0 => Ms if before.1);
        say!("{} against {} at {}"; after.0 => Ms if after.1, before, *at => Load)
    };
    let read = match told.is_empty() {
        true => Sentence::default(),
        false => {
            let told = Sentence::list(told.iter().map(words), " and ", " and ");
            say!("; {}p{} {}"; but, p, told)
        }
    };
    let tone = match tone {
        Tone::Good if is_longer || !base.apart.is_empty() || !other.apart.is_empty() => Tone::Warn,
        tone => tone,
    };
    let unread = places.iter().filter(|place| told.iter().all(|(at, ..)| at != *place));
    let unexplained = unexplained(p, &[&base, &other], unread.copied().collect());
    (say!("{}{}{}"; sentence, read, unexplained), tone)
}

/// Which points no load explains, and where nothing is read beside them.
fn unexplained(p: f64, tails: &[&Tail], unread: Vec<f64>) -> Sentence {
    let unread = match unread.as_slice() {
        [] => Sentence::default(),
        places => {
            let places = places.iter().map(|at| say!("{}"; *at => Load));
            say!("; p{} not read at {}"; p, Sentence::list(places, " and ", " and "))
        }
    };
    let of_tail = |tail: &&&Tail| {
        let values = tail.apart.iter().map(|(at, ms)| say!("{} at {}"; *ms => Ms, *at => Load));
        say!("of {}, {}"; tail.name, Sentence::list(values, " and ", " and "))
    };
    let tails: Vec<_> = tails.iter().filter(|tail| !tail.apart.is_empty()).collect();
    let more = match tails.iter().map(|tail| tail.apart.len()).sum::<usize>() {
        0 => return unread,
        1 => "more",
        _ => "each more",
    };
    say!(
        "{}; measure the p{} again {}, {} than twice that of the next heavier load";
        unread, p, Sentence::list(tails.iter().map(of_tail), " and ", " and "), more
    )
}

/// Whether nothing is shown at a place: by the interval where both were measured there, else by a
/// difference that is smaller than what curves can be read to.
fn is_tie(pair: &Pair, at: f64, ratio: f64) -> bool {
    let delta = pair.base.at(at).zip(pair.other.at(at)).and_then(|(before, after)| {
        Delta::of(&before.cell, &after.cell, pair.quantity, before.reading.statistic)
    });
    delta.map_or((ratio - 1.0).abs() < NOISE, |delta| delta.shown == Shown::No)
}

/// `m is 1.51× faster at 1 and ~1.38× at 28.5`
fn of_latency(pair: &Pair, first: (f64, f64), last: (f64, f64)) -> Sentence {
    let word = |ratio: f64| if ratio >= 1.0 { "faster" } else { "slower" };
    let size = |ratio: f64| if ratio >= 1.0 { ratio } else { 1.0 / ratio };
    let start = say!(
        "{} is {} {} at {}";
        pair.name(), size(first.0) => Times if pair.is_measured(first.1), word(first.0),
        first.1 => Load
    );
    if first.1 >= last.1 {
        return start;
    }
    let turn = match word(last.0) {
        same if same == word(first.0) => String::new(),
        other => format!(" {other}"),
    };
    let size = say!("{}"; size(last.0) => Times if pair.is_measured(last.1));
    say!("{} and {}{} at {}"; start, size, turn, last.1 => Load)
}

/// `m gives 1.51× the output at 1 and ~1.38× at 28.5`
fn of_output(pair: &Pair, first: (f64, f64), last: (f64, f64)) -> Sentence {
    let mut sentence = say!(
        "{} gives {} the output at {}";
        pair.name(), first.0 => Times if pair.is_measured(first.1), first.1 => Load
    );
    if first.1 < last.1 {
        sentence = say!(
            "{} and {} at {}";
            sentence, last.0 => Times if pair.is_measured(last.1), last.1 => Load
        );
    }
    sentence
}

fn crossovers(question: &Question) -> Vec<Insight> {
    let mut found = Vec::new();
    pairs(question, |pair| {
        let sides: Vec<(f64, f64)> = pair
            .places
            .iter()
            .filter_map(|at| Some((*at, pair.advantage(*at)?)))
            .filter(|(_, ratio)| (ratio - 1.0).abs() >= NOISE)
            .collect();
        let turn = sides.windows(2).find_map(|pair| match pair {
            [a, b] if (a.1 > 1.0) != (b.1 > 1.0) => Some((*a, *b)),
            _ => None,
        });
        let Some(((low, first), (high, last))) = turn else { return };
        let word = |ratio: f64| if ratio > 1.0 { "better" } else { "worse" };
        let size = |ratio: f64| if ratio >= 1.0 { ratio } else { 1.0 / ratio };
        let sentence = say!(
            "{} is {} {} up to {}{} and {} {} from {} on ({}).";
            pair.name(), size(first) => Times if pair.is_measured(low), word(first), low => Load,
            pair.versus.counted(low), size(last) => Times if pair.is_measured(high), word(last),
            high => Load, pair.measure()
        );
        let insight = Insight::new(CROSSOVER.id, pair.topic, Tone::Warn, sentence);
        found.push(insight.weighing(first.ln() - last.ln()));
    });
    found
}

fn ties(question: &Question) -> Vec<Insight> {
    let mut found = Vec::new();
    pairs(question, |pair| {
        let deltas: Vec<Delta> = pair
            .base
            .points
            .iter()
            .filter_map(|point| {
                let twin = pair.other.at(point.at)?;
                Delta::of(&point.cell, &twin.cell, pair.quantity, point.reading.statistic)
            })
            .collect();
        let ties = deltas.iter().filter(|delta| delta.shown == Shown::No).count();
        if ties == 0 {
            return;
        }
        let sentence = say!(
            "{}: no difference in {} shown at {} of {} equal loads ({}).";
            pair.name(), pair.measure(), ties as f64 => Count, deltas.len() as f64 => Count,
            pair.versus.axis.words()
        );
        found.push(Insight::new(TIE.id, pair.topic, Tone::Note, sentence));
    });
    found
}
