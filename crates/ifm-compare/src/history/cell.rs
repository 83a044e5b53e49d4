//! Which runs answer one question, so that their numbers are a series, and the label of such a
//! cell.
//!
//! Cells use the facts of comparisons: what makes two sides unlike makes two cells. Models, kinds of
//! servers, GPUs and what a server reports about itself, such as the precision of its weights, are kept
//! apart too, and what the user names. Versions are not: a new one is what a history is for. Not here: loads and measures.

use super::Dated;
use crate::comparison::difference::asked;
use crate::comparison::{DifferenceKind, Member, Side};
use ifm_metrics::machine::GPUS;
use ifm_results::fact::{ACCOUNT, NUMBERS, account_items, most_telling};
use ifm_results::factor_words;
use std::collections::BTreeSet;

/// The fact that is a server with its version.
pub(super) const SERVER: &str = "server";
/// Facts that are compared if they are known on both sides.
const APART: [&str; 2] = [NUMBERS, GPUS];

/// Items of a server's own account that move with its version and with the free memory.
const MOVING: [&str; 5] =
    ["version", "sha", "kv_tokens", "max_total_num_tokens", "max_batch_total_tokens"];

/// A side of what one run is.
pub(super) fn alone(member: &Member) -> Side {
    Side { label: member.title().to_owned(), members: vec![member.head()] }
}

/// The value of a fact of a run, or of its tag `name=value`.
pub fn told(of: &Dated, name: &str) -> Option<String> {
    let fact = of.member.facts.iter().find(|fact| plain(&fact.what) == plain(name));
    fact.map_or_else(|| value_of_tag(of, name), |fact| fact.value.clone())
}

/// The value of a tag `name=value`.
pub(super) fn value_of_tag(of: &Dated, name: &str) -> Option<String> {
    let value = |tag: &String| {
        let (known, value) = tag.split_once('=')?;
        (plain(known) == plain(name)).then(|| value.to_owned())
    };
    of.tags.iter().find_map(value)
}

/// Every name that `told` may find in these runs: facts, then tags.
pub fn names(all: &[Dated]) -> Vec<String> {
    let facts = all.iter().flat_map(|of| &of.member.facts).map(|fact| fact.what.clone());
    let tags = all.iter().flat_map(|of| &of.tags);
    let tags = tags.filter_map(|tag| Some(tag.split_once('=')?.0.to_owned()));
    let mut seen = BTreeSet::new();
    facts.chain(tags).filter(|name| seen.insert(plain(name))).collect()
}

/// A name as it is compared: `power-limit` is `power limit`.
pub(super) fn plain(name: &str) -> String {
    name.to_lowercase().replace(['-', '_'], " ")
}

/// The kind of the server, without its version.
fn engine(member: &Member) -> Option<&str> {
    let fact = member.facts.iter().find(|fact| fact.what == SERVER)?;
    fact.value.as_deref()?.split_whitespace().next()
}

fn fact<'m>(member: &'m Member, what: &str) -> Option<&'m str> {
    member.facts.iter().find(|fact| fact.what == what)?.value.as_deref()
}

/// Items of the servers' own accounts that both runs have and that differ: name, and the value of the
/// second.
fn account_apart(first: &Member, second: &Member) -> Vec<(String, String)> {
    let [first, second] =
        [first, second].map(|member| fact(member, ACCOUNT).map(account_items).unwrap_or_default());
    let differs = |(name, value): &(String, String)| {
        !MOVING.contains(&name.as_str()) && first.get(name).is_some_and(|other| other != value)
    };
    second.into_iter().filter(differs).collect()
}

/// Whether two runs are of one cell. Unknown facts separate nothing.
pub(super) fn is_same(a: &Dated, b: &Dated, by: &[String], keys: &BTreeSet<String>) -> bool {
    let differ = |a: Option<&str>, b: Option<&str>| matches!((a, b), (Some(a), Some(b)) if a != b);
    let (first, second) = (&a.member, &b.member);
    let is_apart = first.models != second.models
        || differ(engine(first), engine(second))
        || APART.iter().any(|what| differ(fact(first, what), fact(second, what)))
        || !account_apart(first, second).is_empty()
        || by.iter().any(|name| told(a, name) != told(b, name));
    if is_apart {
        return false;
    }
    let found = asked(&alone(first), &alone(second), keys);
    !found.iter().any(|difference| difference.kind == DifferenceKind::Unlike)
}

/// Words of a cell's label, by its first run: model, workload with its lengths, server, GPUs, and
/// what the user keeps apart.
fn words(of: &Dated, by: &[String]) -> Vec<String> {
    let member = &of.member;
    let lengths = member.asked.map(|mean| mean.map(|mean| format!("{mean:.0}")));
    let lengths = match lengths {
        [Some(prompt), Some(output)] => format!(" {prompt}/{output}"),
        _ => String::new(),
    };
    let workload = fact(member, "workload").map(|kind| format!("{kind}{lengths}"));
    let mut words = vec![member.models.join(", ")];
    words.extend(workload.or_else(|| member.tool.clone()));
    words.extend(engine(member).map(str::to_owned));
    words.extend(fact(member, GPUS).map(str::to_owned));
    words.extend(by.iter().map(|name| {
        format!("{name} {}", told(of, name).unwrap_or_else(|| "not known".to_owned()))
    }));
    words.retain(|word| !word.is_empty());
    words
}

/// Labels of cells, by their first runs: equal labels are distinguished by what makes the cells
/// unlike, and by what their servers report.
pub(super) fn labels(heads: &[&Dated], by: &[String], keys: &BTreeSet<String>) -> Vec<String> {
    let plain: Vec<String> = heads.iter().map(|head| words(head, by).join(" · ")).collect();
    let label = |(index, name): (usize, &String)| {
        let Some(head) = heads.get(index) else { return name.clone() };
        let mut all = vec![name.clone()];
        let others = heads.iter().zip(&plain).enumerate();
        let alike = others.filter(|(other, (_, known))| *other != index && *known == name);
        for (_, (other, _)) in alike {
            let mut apart = apart_words(other, head, keys);
            apart.retain(|word| !all.contains(word));
            all.append(&mut apart);
        }
        all.join(" · ")
    };
    plain.iter().enumerate().map(label).collect()
}

/// What makes the second of two runs another cell than the first.
fn apart_words(first: &Dated, second: &Dated, keys: &BTreeSet<String>) -> Vec<String> {
    let found = asked(&alone(&first.member), &alone(&second.member), keys);
    let unlike = found.into_iter().filter(|found| found.kind == DifferenceKind::Unlike);
    let words = unlike.map(|found| {
        format!("{} {}", found.what, found.b.unwrap_or_else(|| "not known".to_owned()))
    });
    let account = most_telling(account_apart(&first.member, &second.member));
    words.chain(account.map(|(name, value)| factor_words(&name, &value))).collect()
}
