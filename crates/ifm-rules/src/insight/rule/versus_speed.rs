//! How much faster or slower than the baseline at the loads that were requested of both, by the
//! comparison that `compare` makes; and where that turns round.

use crate::insight::versus::{CENTER, Matched, OUTPUT, Party, Versus};
use crate::insight::{Delta, Insight, InsightRule, Question, Sentence, Tone, Topic};
use ifm_compare::comparison::Verdict;
use ifm_core::Metric;
use ifm_core::metric::Direction;
use ifm_core::sheet::Statistic;
use ifm_core::words::counted;
use ifm_results::Curve;
use ifm_results::say;

/// The tails that a sentence adds to a median or mean, the best known first.
const TAILS: [f64; 2] = [95.0, 99.0];

pub(super) const RULE: InsightRule = InsightRule {
    id: "versus_speed",
    title: "comparison with the baseline at the loads requested of both, with its interval: ITL, TTFT and output",
    look,
};

pub(super) const CROSSOVER: InsightRule = InsightRule {
    id: "versus_crossover",
    title: "load from which on the faster side is shown to be slower",
    look: crossovers,
};

pub(super) const TIE: InsightRule = InsightRule {
    id: "versus_tie",
    title: "number of equal loads at which a relevant difference from the baseline is ruled out",
    look: ties,
};

/// What is compared: topic, quantity, statistics.
const COMPARED: [(Topic, Metric, &[Statistic]); 3] = [
    (Topic::Itl, Metric::Itl, CENTER),
    (Topic::Ttft, Metric::Ttft, CENTER),
    (Topic::Throughput, Metric::OutputRate, OUTPUT),
];

/// One quantity of a party against the baseline.
struct Pair<'v, 'a> {
    versus: &'v Versus<'a>,
    party: &'v Party<'a>,
    topic: Topic,
    quantity: &'v Metric,
    /// The loads, rising, with the difference at each.
    deltas: Vec<(f64, Delta)>,
}

impl Pair<'_, '_> {
    /// The name of the other, with its conditions if there are several.
    fn name(&self) -> String {
        match &self.versus.scene {
            Some(scene) => format!("{scene}: {}", self.party.short),
            None => self.party.short.clone(),
        }
    }

    /// What is compared, with its statistic: `median TTFT`.
    fn measure(&self) -> String {
        self.deltas.first().map_or_else(|| self.quantity.to_string(), |(_, delta)| delta.name())
    }

    /// Those that are shown.
    fn shown(&self) -> impl Iterator<Item = &(f64, Delta)> {
        self.deltas.iter().filter(|(_, delta)| delta.is_shown())
    }
}

/// Every pair of parties and quantities.
fn pairs(question: &Question, mut each: impl FnMut(&Pair)) {
    for versus in &Versus::all(question) {
        for (topic, quantity, statistics) in &COMPARED {
            for (party, matched) in versus.compared() {
                let delta =
                    |matched: &Matched| Some((matched.at, matched.delta(*quantity, statistics)?));
                let deltas = matched.iter().filter_map(delta).collect();
                each(&Pair { versus, party, topic: *topic, quantity, deltas });
            }
        }
    }
}

fn look(question: &Question) -> Vec<Insight> {
    let mut found = Vec::new();
    pairs(question, |pair| {
        let insight = match pair.shown().next() {
            Some(_) => shown(pair),
            None => undecided(pair),
        };
        found.extend(insight);
    });
    found
}

/// What is shown, at the lowest and the highest load at which it is.
fn shown(pair: &Pair) -> Option<Insight> {
    let ((low, first), (high, last)) = (pair.shown().next()?, pair.shown().last()?);
    let is_of_output = first.measure.direction() == Direction::Higher;
    let unit = pair.versus.counted(*high);
    let sentence = match is_of_output {
        true => say!("{}{}"; of_output(pair, (low, first), (high, last)), unit),
        false => {
            let speed = of_latency(pair, (low, first), (high, last));
            say!("{}{} ({})"; speed, unit, pair.measure())
        }
    };
    let (count, all) = (pair.shown().count(), pair.deltas.len());
    let sentence = match count < all {
        true => say!(
            "{}, shown at {} of {} equal loads"; sentence, count as f64 => Count, all as f64 => Count
        ),
        false => sentence,
    };
    let is = |verdict: Verdict| pair.shown().all(|(_, delta)| delta.verdict == verdict);
    let tone = match (is(Verdict::Better), is(Verdict::Worse)) {
        (true, _) => Tone::Good,
        (_, true) => Tone::Warn,
        _ => Tone::Note,
    };
    let (sentence, tone) = match is_of_output {
        true => (sentence, tone),
        false => with_tail(pair, &[*low, *high], sentence, tone),
    };
    let insight = Insight::new(RULE.id, pair.topic, tone, say!("{}."; sentence));
    Some(insight.weighing(last.advantage().0.ln()))
}

/// What was measured where nothing is shown, at the highest load at which that is open.
fn undecided(pair: &Pair) -> Option<Insight> {
    let open = || pair.deltas.iter().filter(|(_, delta)| !delta.is_tie());
    let (at, delta) = open().next_back()?;
    let others = match open().count() - 1 {
        0 => Sentence::default(),
        count => say!("; {} undecided too"; counted(count as u64, "other load")),
    };
    let sentence = say!(
        "{}: {} at {}{}: {}{}."; pair.name(), pair.measure(), *at => Load,
        pair.versus.counted(*at), delta.undecided(), others
    );
    Some(Insight::new(RULE.id, pair.topic, Tone::Note, sentence))
}

/// A ratio with its interval: `1.51× (1.49× to 1.53×)`.
fn times(delta: &Delta, turned: bool) -> Sentence {
    let (ratio, bounds) = delta.advantage();
    let size = |ratio: f64| if turned { 1.0 / ratio } else { ratio };
    match bounds {
        None => say!("{}"; size(ratio) => Times),
        Some((low, high)) => {
            let (low, high) = if turned { (high, low) } else { (low, high) };
            say!(
                "{} (95% CI {} to {}{})"; size(ratio) => Times, size(low) => Times,
                size(high) => Times, delta.runs_note()
            )
        }
    }
}

/// `m is 1.51× (95% CI 1.49× to 1.53×) faster at 1 and 1.38× (…) at 28`
fn of_latency(pair: &Pair, (low, first): (&f64, &Delta), (high, last): (&f64, &Delta)) -> Sentence {
    let word = |delta: &Delta| match delta.verdict {
        Verdict::Better => "faster",
        _ => "slower",
    };
    let size = |delta: &Delta| times(delta, delta.verdict == Verdict::Worse);
    let start = say!("{} is {} {} at {}"; pair.name(), size(first), word(first), *low => Load);
    if low >= high {
        return start;
    }
    let turn = match word(last) {
        same if same == word(first) => String::new(),
        other => format!(" {other}"),
    };
    say!("{} and {}{} at {}"; start, size(last), turn, *high => Load)
}

/// `m gives 1.51× (95% CI 1.49× to 1.53×) the output at 1 and 1.38× (…) at 28`
fn of_output(pair: &Pair, (low, first): (&f64, &Delta), (high, last): (&f64, &Delta)) -> Sentence {
    let sentence = say!(
        "{} gives {} the output at {}"; pair.name(), times(first, false), *low => Load
    );
    match low < high {
        true => say!("{} and {} at {}"; sentence, times(last, false), *high => Load),
        false => sentence,
    }
}

/// A percentile of one of a pair against the load.
struct Tail<'p> {
    name: &'p str,
    curve: Curve<'p>,
    /// Places and values, ms, that no load explains: of a tail more than twice that of the next
    /// heavier load.
    apart: Vec<(f64, f64)>,
}

impl<'p> Tail<'p> {
    fn new(name: &'p str, curve: Curve<'p>) -> Tail<'p> {
        let (_, apart) = curve.clone().parted();
        let apart = apart.iter().map(|point| (point.at, point.stat.value)).collect();
        Tail { name, curve, apart }
    }

    fn at(&self, place: f64) -> Option<f64> {
        Some(self.curve.at(place)?.stat.value)
    }
}

/// The sentence with the tails next to it, as they were measured. A point that no load explains
/// deserves care.
fn with_tail(pair: &Pair, places: &[f64], sentence: Sentence, tone: Tone) -> (Sentence, Tone) {
    let mut places = places.to_vec();
    places.dedup();
    let tails = TAILS.into_iter().find_map(|p| {
        let statistics = [Statistic::Percentile(p)];
        let of =
            |name, party| Tail::new(name, pair.versus.curve(party, *pair.quantity, &statistics));
        let base = of(pair.versus.base.short_as_base(), &pair.versus.base);
        let other = of(&pair.party.short, pair.party);
        let told: Vec<(f64, f64, f64)> =
            places.iter().filter_map(|at| Some((*at, base.at(*at)?, other.at(*at)?))).collect();
        (told.len() == places.len()).then_some((p, base, other, told))
    });
    let Some((p, base, other, told)) = tails else { return (sentence, tone) };
    let words = |(at, before, after): &(f64, f64, f64)| say!("{} against {} at {}"; *after => Ms, *before => Ms, *at => Load);
    let told = Sentence::list(told.iter().map(words), " and ", " and ");
    let tone = match tone {
        Tone::Good if !base.apart.is_empty() || !other.apart.is_empty() => Tone::Warn,
        tone => tone,
    };
    (say!("{}; p{} {}{}"; sentence, p, told, unexplained(p, &[&base, &other])), tone)
}

/// Which points no load explains.
fn unexplained(p: f64, tails: &[&Tail]) -> Sentence {
    let of_tail = |tail: &&&Tail| {
        let values = tail.apart.iter().map(|(at, ms)| say!("{} at {}"; *ms => Ms, *at => Load));
        say!("of {}, {}"; tail.name, Sentence::list(values, " and ", " and "))
    };
    let tails: Vec<_> = tails.iter().filter(|tail| !tail.apart.is_empty()).collect();
    let more = match tails.iter().map(|tail| tail.apart.len()).sum::<usize>() {
        0 => return Sentence::default(),
        1 => "more",
        _ => "each more",
    };
    say!(
        "; measure the p{} again {}, {} than twice that of the next heavier load";
        p, Sentence::list(tails.iter().map(of_tail), " and ", " and "), more
    )
}

fn crossovers(question: &Question) -> Vec<Insight> {
    let mut found = Vec::new();
    pairs(question, |pair| {
        let shown: Vec<&(f64, Delta)> = pair.shown().collect();
        let turn = shown.windows(2).find_map(|pair| match pair {
            [a, b] if a.1.verdict != b.1.verdict => Some((*a, *b)),
            _ => None,
        });
        let Some(((low, first), (high, last))) = turn else { return };
        let word = |delta: &Delta| match delta.verdict {
            Verdict::Better => "better",
            _ => "worse",
        };
        let size = |delta: &Delta| times(delta, delta.verdict == Verdict::Worse);
        let sentence = say!(
            "{} is {} {} at {}{} and {} {} at {} ({}).";
            pair.name(), size(first), word(first), *low => Load, pair.versus.counted(*low),
            size(last), word(last), *high => Load, pair.measure()
        );
        let insight = Insight::new(CROSSOVER.id, pair.topic, Tone::Warn, sentence);
        let ends = (first.advantage().0, last.advantage().0);
        found.push(insight.weighing(ends.0.ln() - ends.1.ln()));
    });
    found
}

fn ties(question: &Question) -> Vec<Insight> {
    let mut found = Vec::new();
    pairs(question, |pair| {
        let ties = pair.deltas.iter().filter(|(_, delta)| delta.is_tie()).count();
        if ties == 0 {
            return;
        }
        let sentence = say!(
            "{}: no difference in {} shown at {} of {} equal loads ({}).";
            pair.name(), pair.measure(), ties as f64 => Count, pair.deltas.len() as f64 => Count,
            pair.versus.axis.words()
        );
        found.push(Insight::new(TIE.id, pair.topic, Tone::Note, sentence));
    });
    found
}
