//! What two sides differ in besides their numbers: server, workload, client.
//!
//! A difference is expected (it is what is being compared), deserves a warning, or makes the sides
//! unlike, so that their numbers do not answer one question. Not here: the numbers.

use super::side::{Lengths, Member, Side};
use ifm_core::order::Order as _;
pub use ifm_results::fact::DifferenceKind;
use ifm_results::fact::{ACCOUNT, Fact, SEED};
use std::collections::BTreeSet;

/// Mean lengths that differ by a larger share than this make sides unlike.
const LENGTH_SHARE_MAX: f64 = 0.02;

/// Facts that only one side states are named up to this number.
const UNTOLD_NAMED: usize = 6;

/// One thing that was compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// Its name.
    pub what: String,
    /// What it means.
    pub kind: DifferenceKind,
    /// Its value on the first side; absent if unknown.
    pub a: Option<String>,
    /// Its value on the second side.
    pub b: Option<String>,
    /// Whether it is one of the machine: by default a gate refuses it.
    pub is_of_machine: bool,
}

impl Difference {
    /// Of anything but the machine.
    pub(crate) fn new(
        what: impl Into<String>,
        kind: DifferenceKind,
        (a, b): (Option<String>, Option<String>),
    ) -> Difference {
        Difference { what: what.into(), kind, a, b, is_of_machine: false }
    }
}

/// Everything that was compared, differences first by weight, then what is the same. `keys` are the
/// settings that distinguish levels: they are not differences.
pub(crate) fn differences(a: &Side, b: &Side, keys: &BTreeSet<String>) -> Vec<Difference> {
    let (mut found, untold) = of_facts(a, b, keys);
    if a.is_own() && b.is_own() {
        found.extend(prompts(a, b));
    }
    found.extend(asked_lengths(a, b));
    found.extend(measured_lengths(a, b, keys));
    found.extend(doubts(a, b));
    found.extend(copies(a, b));
    found.extend(untold);
    found.extend(machine_untold(a, b));
    found.order_by_key(|difference| std::cmp::Reverse(difference.kind));
    found
}

/// The requests of both sides, and how they were measured: what makes two runs answers to one
/// question. Actual lengths are not included.
pub(crate) fn asked(a: &Side, b: &Side, keys: &BTreeSet<String>) -> Vec<Difference> {
    let (mut found, _) = of_facts(a, b, keys);
    found.extend(asked_lengths(a, b));
    found
}

/// What a side says, over all its runs.
fn joined(side: &Side, of: &dyn Fn(&Member) -> Option<String>) -> Option<String> {
    let mut words: Vec<String> = side.members.iter().filter_map(of).collect();
    words.sort();
    words.dedup();
    (!words.is_empty()).then(|| words.join(" | "))
}

/// A list without the items that the other one has too; equal lists stay as they are.
fn without(list: &Option<String>, other: &Option<String>) -> Option<String> {
    let (Some(words), Some(others)) = (list, other) else { return list.clone() };
    if words == others {
        return list.clone();
    }
    let others: BTreeSet<&str> = others.split(", ").collect();
    let own: Vec<&str> = words.split(", ").filter(|item| !others.contains(item)).collect();
    Some(if own.is_empty() { NONE.to_owned() } else { own.join(", ") })
}

/// Whether a side has a fact of this kind.
fn has(side: &Side, is: impl Fn(&Fact) -> bool) -> bool {
    side.members.iter().any(|member| member.facts.iter().any(&is))
}

/// Whether any fact of a side's machine is known.
fn has_machine(side: &Side) -> bool {
    has(side, |fact| fact.is_of_machine)
}

/// That the machine of one of two sides of ours is not known: it may differ.
fn machine_untold(a: &Side, b: &Side) -> Option<Difference> {
    let is_found = a.is_own() && b.is_own() && has_machine(a) != has_machine(b);
    let words = |side| Some(if has_machine(side) { "given" } else { "not given" }.to_owned());
    let kind = DifferenceKind::Warning;
    is_found.then(|| Difference::new("facts of the machine", kind, (words(a), words(b))))
}

/// The facts of both sides, in their order. The second part is what only one side states, if a side
/// is a document: that is not a difference, but it may hide one.
fn of_facts(a: &Side, b: &Side, keys: &BTreeSet<String>) -> (Vec<Difference>, Option<Difference>) {
    let facts = || [a, b].into_iter().flat_map(|side| &side.members).flat_map(|m| &m.facts);
    let are_own = a.is_own() && b.is_own();
    let is_mixed = a.is_own() != b.is_own();
    let mut found: Vec<Difference> = Vec::new();
    let mut untold: [Vec<&str>; 2] = Default::default();
    let have_machines = has_machine(a) && has_machine(b);
    // A prediction was not measured in any way, and a document does not say how it was.
    let is_measured = |side: &Side| !side.is_own() || has(side, |fact| fact.is_of_measuring);
    let are_measured = is_measured(a) && is_measured(b);
    for fact in facts() {
        let what = fact.what.as_str();
        if fact.is_of_machine && !have_machines || fact.is_of_measuring && !are_measured {
            continue;
        }
        let is_known = |found: &Difference| found.what == what;
        if fact.setting.as_ref().is_some_and(|name| keys.contains(name)) {
            continue;
        }
        if found.iter().any(is_known) || untold.iter().flatten().any(|known| *known == what) {
            continue;
        }
        let of = |member: &Member| member.facts.iter().find(|f| f.what == what)?.value.clone();
        let (of_a, of_b) = (joined(a, &of), joined(b, &of));
        match (&of_a, &of_b) {
            (None, None) if fact.is_of_machine => {}
            (None, Some(_)) if !are_own => untold[0].push(what),
            (Some(_), None) if !are_own => untold[1].push(what),
            _ => {
                // Two tools call one thing by two names.
                let most = if is_mixed { DifferenceKind::Warning } else { DifferenceKind::Unlike };
                let kind = if of_a == of_b { DifferenceKind::Same } else { fact.kind.min(most) };
                let is_of_machine = fact.is_of_machine;
                let (of_a, of_b) = match what == ACCOUNT {
                    true => (without(&of_a, &of_b), without(&of_b, &of_a)),
                    false => (of_a, of_b),
                };
                let found_here = Difference::new(what, kind, (of_a, of_b));
                found.push(Difference { is_of_machine, ..found_here });
            }
        }
    }
    let list = |names: &[&str]| match names.len() {
        0 => NOTHING.to_owned(),
        n if n > UNTOLD_NAMED => {
            let named = names.iter().take(UNTOLD_NAMED).copied().collect::<Vec<_>>();
            format!("{} and {} more", named.join(", "), n - named.len())
        }
        _ => names.join(", "),
    };
    let untold = untold.iter().any(|names| !names.is_empty()).then(|| {
        let sides = (Some(list(&untold[0])), Some(list(&untold[1])));
        Difference::new(NOT_GIVEN, DifferenceKind::Warning, sides)
    });
    (found, untold)
}

/// The digest of the prompts.
pub(crate) const PROMPTS: &str = "digest of the prompts";

/// The prompts themselves: with another seed they are meant to differ, with the same they are not.
/// Nothing where two versions of ours took digests of two kinds, which say nothing of each other.
fn prompts(a: &Side, b: &Side) -> Option<Difference> {
    let kinds =
        |side| joined(side, &|run| Some(run.prompts.as_ref()?.split(':').next()?.to_owned()));
    if kinds(a).zip(kinds(b)).is_some_and(|(a, b)| a != b) {
        return None;
    }
    let sum = |run: &Member| run.prompts.clone();
    let seed = |run: &Member| run.facts.iter().find(|fact| fact.what == SEED)?.value.clone();
    let (sum_a, sum_b) = (joined(a, &sum), joined(b, &sum));
    let same_seed = joined(a, &seed) == joined(b, &seed);
    let same_loads = {
        let loads = |side: &Side| side.members.first().map(|run| run.levels.clone());
        loads(a) == loads(b)
    };
    let kind = match (sum_a == sum_b, same_seed && same_loads) {
        (true, _) => DifferenceKind::Same,
        (false, true) => DifferenceKind::Warning,
        (false, false) => DifferenceKind::Expected,
    };
    Some(Difference::new(PROMPTS, kind, (sum_a, sum_b)))
}

/// Whether two numbers differ by more than the share that is allowed.
fn is_far(a: f64, b: f64) -> bool {
    (a - b).abs() > LENGTH_SHARE_MAX * a.abs().max(b.abs())
}

/// Mean requested lengths. A document that states none may have requested any; the same workload
/// with another seed has other lengths by chance, which deserves a warning.
fn asked_lengths(a: &Side, b: &Side) -> Vec<Difference> {
    let over = |side: &Side, which: usize| {
        let asked = side.members.iter().filter_map(|member| *member.asked.get(which)?);
        let values: Vec<f64> = asked.collect();
        (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
    };
    let are_own = a.is_own() && b.is_own();
    let seed = |run: &Member| run.facts.iter().find(|fact| fact.what == SEED)?.value.clone();
    let typed = |side: &Side| joined(side, &|run| run.typed.clone());
    let are_drawn =
        typed(a).is_some() && typed(a) == typed(b) && joined(a, &seed) != joined(b, &seed);
    let each = ["prompt tokens asked for", "output tokens asked for"].into_iter().zip(0..);
    each.map(|(what, which)| {
        let (a, b) = (over(a, which), over(b, which));
        let kind = match (a, b) {
            (Some(a), Some(b)) if is_far(a, b) && are_drawn => DifferenceKind::Warning,
            (Some(a), Some(b)) if is_far(a, b) => DifferenceKind::Unlike,
            (Some(_), None) | (None, Some(_)) if are_own => DifferenceKind::Unlike,
            (Some(_), None) | (None, Some(_)) => DifferenceKind::Warning,
            _ => DifferenceKind::Same,
        };
        let words = |value: Option<f64>| value.map(|value| format!("{value:.0}"));
        Difference::new(what, kind, (words(a), words(b)))
    })
    .collect()
}

/// Mean lengths as they were counted, at each load that both sides have; only where they differ.
fn measured_lengths(a: &Side, b: &Side, keys: &BTreeSet<String>) -> Vec<Difference> {
    let mut found = Vec::new();
    let lengths = |side: &Side| -> Vec<Lengths> {
        let all = side.members.iter().flat_map(|run| run.lengths.iter().cloned());
        all.map(|lengths| Lengths { at: lengths.at.reduced(keys), ..lengths }).collect()
    };
    let (of_a, of_b) = (lengths(a), lengths(b));
    for (index, first) in of_a.iter().enumerate() {
        // Repeats of a load have the same lengths.
        if of_a.iter().take(index).any(|before| before.at.is_same(&first.at)) {
            continue;
        }
        let Some(second) = of_b.iter().find(|second| first.at.is_same(&second.at)) else {
            continue;
        };
        let at = format!("at {}", first.at);
        let mut add = |what: &str, kind, a: Option<f64>, b: Option<f64>| {
            if let (Some(a), Some(b)) = (a, b)
                && is_far(a, b)
            {
                let words = |value: f64| Some(format!("{value:.1}"));
                let what = format!("{what} {at}");
                found.push(Difference::new(what, kind, (words(a), words(b))));
            }
        };
        add("mean output tokens", DifferenceKind::Unlike, first.output, second.output);
        // The same prompts count differently where models have other tokenizers.
        add("mean prompt tokens", DifferenceKind::Warning, first.prompt, second.prompt);
    }
    found
}

/// Why the client may have been the bottleneck, with what was measured of it.
pub const CLIENT_TIMING: &str = "suspect client timing";
/// What only one side states, if a side is a document.
pub const NOT_GIVEN: &str = "not given, so it may differ";
/// Of [`NOT_GIVEN`], a side that states everything.
pub const NOTHING: &str = "nothing";
/// Shown for a side that has none.
pub const NONE: &str = "none";

/// Content that both sides hold: a measurement compared with itself.
pub const COPIES: &str = "the same measurement on both sides";

/// Members of both sides that are copies of each other.
fn copies(a: &Side, b: &Side) -> Option<Difference> {
    let in_both = |of: &Side, other: &Side| {
        let is_there = |one: &&Member| other.members.iter().any(|it| it.content == one.content);
        let names: Vec<&str> = of.members.iter().filter(is_there).map(Member::title).collect();
        (!names.is_empty()).then(|| names.join(", "))
    };
    let (of_a, of_b) = (in_both(a, b)?, in_both(b, a)?);
    Some(Difference::new(COPIES, DifferenceKind::Warning, (Some(of_a), Some(of_b))))
}

/// What calls for caution on either side by itself.
fn doubts(a: &Side, b: &Side) -> Vec<Difference> {
    let about = |of: &dyn Fn(&Member) -> Option<String>, what: &str| {
        let (a, b) = (joined(a, of), joined(b, of));
        let kind = DifferenceKind::Warning;
        let is_found = a.is_some() || b.is_some();
        let told = |words: Option<String>| Some(words.unwrap_or_else(|| NONE.to_owned()));
        is_found.then(|| Difference::new(what, kind, (told(a), told(b))))
    };
    let doubt = |which: usize| move |run: &Member| run.doubts.get(which)?.clone();
    let checks = |run: &Member| {
        let mut ids: Vec<&str> = run.warnings.iter().map(|warning| warning.check).collect();
        ids.dedup();
        (!ids.is_empty()).then(|| ids.join(", "))
    };
    [
        about(&doubt(0), CLIENT_TIMING),
        about(&doubt(1), "why the run is not complete"),
        about(&doubt(2), "warnings during measurement"),
        about(&checks, "warnings of checks"),
    ]
    .into_iter()
    .flatten()
    .collect()
}
