//! How many users fit inside the target, and what stops the next.

use super::{headed, target, told_by};
use crate::insight::{Insight, InsightRule, Question, Sentence, Tone, Topic};
use ifm_core::sheet::PartKind;
use ifm_core::spec::SloTerm;
use ifm_metrics::answer::UsersState;
use ifm_metrics::level::Load;
use ifm_metrics::slo::VerdictState;
use ifm_results::say;
use ifm_results::{Fitting, Miss, Pooled, name_of};

pub(super) const RULE: InsightRule = InsightRule {
    id: "capacity",
    title: "the largest measured load inside the target, the next one, and which limit stops it",
    look,
};

fn look(question: &Question) -> Vec<Insight> {
    if question.slo.terms.is_empty() {
        return Vec::new();
    }
    let pool = question.results.pool(PartKind::Serving);
    let by = told_by(question);
    let names: Vec<&str> = by.iter().map(String::as_str).collect();
    pool.fittings(&names, &question.slo).iter().filter_map(insight).collect()
}

fn insight(fitting: &Fitting) -> Option<Insight> {
    let head = say!("{} {}"; headed(&name_of(&fitting.of), "inside"), target(&fitting.slo));
    let load = fitting.load().map(Load::value);
    let resumed = fitting.resumed.as_ref().and_then(|resumed| resumed.fits.load());
    let (tone, mut sentence) = match (fitting.state, load, resumed) {
        (UsersState::Found, Some(load), _) => (Tone::Note, say!("{} up to {}"; head, load => Load)),
        (UsersState::AtLeast, Some(load), _) => {
            let tone = if fitting.is_sure { Tone::Good } else { Tone::Note };
            (tone, say!("{} at all loads up to {}"; head, load => Load))
        }
        (UsersState::None, _, Some(above)) => {
            (Tone::Warn, say!("{} up to {}"; head, above.value() => Load))
        }
        (UsersState::None, ..) => (Tone::Bad, say!("{} at no tested load"; head)),
        _ => return None,
    };
    if let Some((cell, misses)) = fitting.resumed.as_ref().and_then(|resumed| resumed.next.as_ref())
    {
        sentence = say!("{}; {}"; sentence, fails(cell, misses));
    }
    if let Some((cell, misses)) = &fitting.next {
        let next = match fitting.next_state {
            VerdictState::Unknown => undecided(cell, misses),
            _ => fails(cell, misses),
        };
        sentence = say!("{}; {}"; sentence, next);
        if resumed.is_some() {
            sentence = say!("{}, though it is the lowest load: measure it again"; sentence);
        }
    }
    if !fitting.is_sure {
        sentence =
            say!("{} (not certain: too few requests, or numbers without an interval)"; sentence);
    }
    let insight = Insight::new(RULE.id, Topic::Capacity, tone, say!("{}."; sentence));
    Some(insight.weighing(load.unwrap_or(0.0)))
}

/// `256 is not settled`, `256 cannot be judged: ITL p99 is unknown`.
fn undecided(cell: &Pooled, misses: &[Miss]) -> Sentence {
    let at = cell.load().map_or(0.0, Load::value);
    let name = |miss: &Miss| match miss {
        Miss::Term(term, _) => format!("{} {}", term.asked().0, term.asked().1),
        Miss::Errors(_) => "the share of failed requests".to_owned(),
    };
    match misses.iter().map(name).collect::<Vec<_>>() {
        names if names.is_empty() => say!("{} is not settled"; at => Load),
        names => say!("{} cannot be judged: {} unknown"; at => Load, names.join(", ")),
    }
}

/// `256 fails: ITL p99 67.2 ms`.
fn fails(cell: &Pooled, misses: &[Miss]) -> Sentence {
    let metric = |term: &SloTerm| term.asked().0;
    let words = |miss: &Miss| match miss {
        Miss::Term(term, Some(ms)) => {
            let (is_sure, over) = (!cell.is_thin(term), term.asked().1);
            say!("{} {} {}"; metric(term), over, super::shown(term.shown(*ms), is_sure))
        }
        Miss::Term(term, None) => say!("{} is not known"; metric(term)),
        Miss::Errors(share) => say!("{} of the requests failed"; *share => Share),
    };
    let at = cell.load().map_or(0.0, Load::value);
    match misses {
        [] => say!("{} fails"; at => Load),
        _ => say!("{} fails: {}"; at => Load, Sentence::list(misses.iter().map(words), ", ", ", ")),
    }
}
