//! Answers that every kind with levels gives: how many users fit, how many people that is, how
//! many servers they need, and what the tokens cost.
//!
//! Not here: the arithmetic (`results` of `ifm-results`).

mod capacity;
mod cost;

use crate::format::{change, number, percent, plain};
use crate::model::load;
use crate::page::Tile;
use crate::words;
use crate::words::value_and_limit;
use ifm_core::order::Order as _;
use ifm_core::spec::{SloSpec, SloTerm};
use ifm_metrics::answer::UsersState;
use ifm_metrics::level::Load;
use ifm_metrics::slo::{PRESETS, VerdictState, parse};
use ifm_results::{Fitting, Miss, Pool, Pooled};
use ifm_rules::insight::{Question, Tone, Topic};

/// Curves that are compared with every preset; more are compared with the first target alone.
const CURVES_MAX: usize = 6;
/// Rows of a table, at most.
const ROWS_MAX: usize = 60;

/// The curves of results with the targets they are compared with.
pub(super) struct Answers<'q> {
    question: &'q Question<'q>,
    pool: &'q Pool<'q>,
    names: Vec<&'q str>,
    targets: Vec<SloSpec>,
}

impl<'q> Answers<'q> {
    /// About the measurements of `pool`, curves distinguished by `by`.
    pub fn new(question: &'q Question<'q>, pool: &'q Pool<'q>, by: &'q [String]) -> Answers<'q> {
        let own = &question.slo;
        // Presets matter only to users who have a target.
        let general = PRESETS.iter().filter(|preset| preset.is_general && !own.terms.is_empty());
        let mut targets: Vec<SloSpec> =
            general.filter_map(|preset| parse(preset.name).ok()).collect();
        // What the user asks for comes first, by its own name or that of the preset that it is.
        if !own.terms.is_empty() {
            let is_same = |target: &SloSpec| {
                target.terms.len() == own.terms.len()
                    && target.terms.iter().all(|term| own.terms.contains(term))
            };
            let same = targets.iter().position(is_same);
            let first = match same {
                Some(place) if own.name == "custom" => targets.remove(place),
                Some(place) => {
                    targets.remove(place);
                    own.clone()
                }
                None => own.clone(),
            };
            targets.insert(0, first);
        }
        Answers { question, pool, names: by.iter().map(String::as_str).collect(), targets }
    }

    /// The target of the tile: the user's; absent where none was named.
    fn first(&self) -> Option<&SloSpec> {
        self.targets.first()
    }

    /// The target that curves are compared with, one without terms where none was named.
    fn compared(&self) -> &SloSpec {
        self.first().unwrap_or(&self.question.slo)
    }

    /// The curves compared with a target, the shortest prompts first.
    fn fittings(&self, slo: &SloSpec) -> Vec<Fitting<'q>> {
        let length = |fitting: &Fitting| {
            let cell = fitting.lowest.as_ref()?;
            cell.setting()?.number(ifm_core::sheet::key::INPUT_TOKENS)
        };
        let mut fittings = self.pool.fittings(&self.names, slo);
        fittings.order_by(|a, b| {
            let [a, b] = [a, b].map(|fitting| length(fitting).unwrap_or(f64::INFINITY));
            a.total_cmp(&b)
        });
        fittings
    }

    /// How many users fit: of the only curve, or of each.
    pub fn tile(&self) -> Option<Tile> {
        let slo = self.first()?;
        let fittings = self.fittings(slo);
        let words = |fitting: &Fitting| match (name(fitting), state(fitting)) {
            (name, state) if name.is_empty() => state,
            (name, state) => format!("{name} {state}"),
        };
        let lead = fittings
            .iter()
            .find(|fitting| fitting.fits.is_some())
            .or_else(|| fittings.iter().find(|fitting| fitting.state == UsersState::None))
            .or(fittings.first())?;
        let mut detail = format!("inside {}", words::target(slo));
        if !name(lead).is_empty() {
            detail = format!("{} {detail}", name(lead));
        }
        if let Some(failing) = failing(lead).filter(|_| lead.state != UsersState::Unknown) {
            detail.push_str(&format!("; {failing}{}", again(lead)));
        }
        let answer = lead.resumed.as_ref().map(|resumed| &resumed.fits).or(lead.fits.as_ref());
        if let Some(held) = answer.and_then(Pooled::held_less) {
            detail.push_str(&format!(
                "; a limit of the client: {} in flight on average",
                number(held)
            ));
        }
        let others: Vec<String> = fittings
            .iter()
            .filter(|other| other.of != lead.of && other.state != UsersState::Unknown)
            .take(CURVES_MAX)
            .map(words)
            .collect();
        if !others.is_empty() {
            detail.push_str(&format!(" · {}", others.join(" · ")));
        }
        if lead.state == UsersState::Unknown {
            detail = format!("nothing here can be compared with {}", words::target(slo));
        }
        let is_rate = lead.lowest.as_ref().is_some_and(|cell| is_rate(cell.load()));
        let question = if is_rate { "How many requests?" } else { "How many users fit?" };
        let tone = match (lead.state, lead.is_sure) {
            (UsersState::Found | UsersState::AtLeast, true) if again(lead).is_empty() => {
                Some(Tone::Good)
            }
            (UsersState::Found | UsersState::AtLeast, _) => Some(Tone::Warn),
            (UsersState::None, _) if lead.resumed.is_some() => Some(Tone::Warn),
            (UsersState::None, _) => Some(Tone::Bad),
            (UsersState::Unknown, _) => None,
        };
        Some(Tile::new(question, state(lead), "", detail).toned(tone).on(Topic::Capacity))
    }
}

fn is_rate(load: Option<Load>) -> bool {
    matches!(load, Some(Load::ReqPerS(_)))
}

fn name(fitting: &Fitting) -> String {
    plain(&ifm_results::name_of(&fitting.of))
}

/// The largest load inside where only the lowest of all is not.
fn resumed(fitting: &Fitting) -> Option<Load> {
    fitting.resumed.as_ref()?.fits.load()
}

/// What does not fit, the next load first: `256 fails: …`, and what lies below.
fn failing(fitting: &Fitting) -> Option<String> {
    let words = |(cell, misses): &(Pooled, Vec<Miss>)| {
        format!("{} fails: {}", load(cell.load()), reasons(cell, misses))
    };
    let next = fitting.next.as_ref()?;
    let below = match (fitting.next_state, next) {
        (VerdictState::Unknown, (cell, misses)) if misses.is_empty() => {
            format!("{} is not settled", load(cell.load()))
        }
        (VerdictState::Unknown, (cell, misses)) => {
            format!("{} cannot be judged: {}", load(cell.load()), reasons(cell, misses))
        }
        _ => words(next),
    };
    Some(match &fitting.resumed {
        None => match &fitting.nearest {
            None => below,
            Some((cell, misses)) => {
                let near = reasons(cell, misses);
                format!("{below}; every load fails, {} the least: {near}", load(cell.load()))
            }
        },
        Some(resumed) => {
            let above = resumed.next.as_ref().map_or(String::new(), |next| words(next) + "; ");
            format!("{above}{below}, though it is the lowest load: measure it again")
        }
    })
}

/// Loads above the failing one that are inside the target anyway, and what to do about it.
fn again(fitting: &Fitting) -> String {
    let above: Vec<String> = fitting.inside_above.iter().map(|above| load(Some(*above))).collect();
    match above.as_slice() {
        [..] if fitting.resumed.is_some() => String::new(),
        [] => String::new(),
        above => format!("; yet {} is inside, measure again", above.join(", ")),
    }
}

/// The answer in a word: `128`, `32+`, `none`; `128?` where a lower load is not inside.
fn state(fitting: &Fitting) -> String {
    let mark = if fitting.is_sure { "" } else { "~" };
    match (fitting.state, fitting.load()) {
        (UsersState::Found, at) => format!("{mark}{}", load(at)),
        (UsersState::AtLeast, at) => format!("{mark}{}+", load(at)),
        (UsersState::None, _) => match resumed(fitting) {
            above @ Some(_) => format!("{}?", load(above)),
            None => format!("{mark}none"),
        },
        (UsersState::Unknown, _) => "not known".to_owned(),
    }
}

fn metric(term: &SloTerm) -> String {
    let (name, over) = term.asked();
    format!("{name} {over}")
}

/// Why a measurement does not fit; a value of too few requests is marked.
fn reasons(cell: &Pooled, misses: &[Miss]) -> String {
    let word = |miss: &Miss| match miss {
        Miss::Term(term, Some(ms)) => format!(
            "{} {}{} ({})",
            metric(term),
            if cell.is_thin(term) { "~" } else { "" },
            value_and_limit(term, *ms).0,
            change(term.over_limit(*ms) - 1.0)
        ),
        Miss::Term(term, None) => format!("{} is unknown", metric(term)),
        Miss::Errors(share) => format!("{} of the requests failed", percent(*share)),
    };
    misses.iter().map(word).collect::<Vec<_>>().join(", ")
}
