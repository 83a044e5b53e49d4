//! How many users fit inside the target, and what stops the next.

use super::{target, told_by};
use crate::answer::UsersState;
use crate::insight::{Insight, InsightRule, Meant, Question, Sentence, Tone, Topic};
use crate::level::Load;
use crate::survey::{Fitting, Miss, Pooled, name_of};
use ifm_core::sheet::PartKind;

pub(super) const RULE: InsightRule = InsightRule {
    id: "capacity",
    title: "the largest measured load inside the target, the next one, and which limit stops it",
    look,
};

fn look(question: &Question) -> Vec<Insight> {
    if question.slo.terms.is_empty() {
        return Vec::new();
    }
    let pool = question.survey.pool(PartKind::Serving);
    let by = told_by(question);
    let names: Vec<&str> = by.iter().map(String::as_str).collect();
    pool.fittings(&names, &question.slo).iter().filter_map(insight).collect()
}

fn insight(fitting: &Fitting) -> Option<Insight> {
    let name = name_of(&fitting.of);
    let mut head = Sentence::new(if name.is_empty() {
        "Inside ".to_owned()
    } else {
        format!("{name}: inside ")
    });
    head = target(head, &fitting.slo);
    let load = fitting.load().map(Load::value);
    let resumed = fitting.resumed.as_ref().and_then(|resumed| resumed.fits.load());
    let (tone, mut sentence) = match (fitting.state, load, resumed) {
        (UsersState::Found, Some(load), _) => {
            (Tone::Note, head.text(" up to ").number(load, Meant::Load))
        }
        (UsersState::AtLeast, Some(load), _) => {
            let tone = if fitting.is_sure { Tone::Good } else { Tone::Note };
            (tone, head.text(" at every load, the highest being ").number(load, Meant::Load))
        }
        (UsersState::None, _, Some(above)) => {
            (Tone::Warn, head.text(" up to ").number(above.value(), Meant::Load))
        }
        (UsersState::None, ..) => (Tone::Bad, head.text(" at no load")),
        _ => return None,
    };
    if let Some((cell, misses)) = fitting.resumed.as_ref().and_then(|resumed| resumed.next.as_ref())
    {
        sentence = fails(sentence.text("; "), cell, misses);
    }
    if let Some((cell, misses)) = &fitting.next {
        sentence = fails(sentence.text("; "), cell, misses);
        if resumed.is_some() {
            sentence = sentence.text(", though it is the lowest load: measure it again");
        }
    }
    if !fitting.is_sure {
        sentence = sentence.text(" (not settled: too few requests to be sure)");
    }
    let insight = Insight::new(RULE.id, Topic::Capacity, tone, sentence.text("."));
    Some(insight.weighing(load.unwrap_or(0.0)))
}

/// `256 fails: ITL p99 67.2 ms`.
fn fails(sentence: Sentence, cell: &Pooled, misses: &[Miss]) -> Sentence {
    let at = cell.load().map_or(0.0, Load::value);
    let mut sentence = sentence.number(at, Meant::Load).text(" fails");
    for (index, miss) in misses.iter().enumerate() {
        sentence = sentence.text(if index == 0 { ": " } else { ", " });
        sentence = match miss {
            Miss::Term(term, Some(ms)) => sentence
                .text(format!("{} {} ", term.metric.to_ascii_uppercase(), term.over()))
                .read(*ms, Meant::Ms, !cell.is_thin(term)),
            Miss::Term(term, None) => {
                sentence.text(format!("{} is not known", term.metric.to_ascii_uppercase()))
            }
            Miss::Errors(share) => {
                sentence.number(*share, Meant::Share).text(" of the requests failed")
            }
        };
    }
    sentence
}
