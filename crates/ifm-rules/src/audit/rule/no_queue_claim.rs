//! "No queueing" holds where the first token does not wait longer the more there are.

use super::super::light::setup_of;
use super::super::sentence::{Sentence, sentences};
use super::super::streams::{gap, split, users};
use super::super::{Cell, Finding, Level, Looked, Rule, Subject};
use ifm_core::Metric;
use ifm_core::sheet::{Factors, RowRole, key};
use std::collections::BTreeMap;

pub(super) const RULE: Rule =
    Rule { id: "no_queue_claim", title: "\"no queueing\" claims agree with TTFT", look };

/// Phrases that say that nothing waits.
const CLAIMS: [&str; 14] = [
    "no queu",
    "without queu",
    "without any queu",
    "without request queu",
    "zero queu",
    "no request queu",
    "no waiting",
    "nothing waits",
    "never wait",
    "never queue",
    "not queued",
    "no requests are queued",
    "immediate gpu attention",
    "no scheduling delay",
];
/// Growth with the load that is worth a look, and growth that sharing the machine does not explain.
const GROWS: f64 = 4.0;
const GROWS_FAR: f64 = 10.0;

/// A time to first token.
struct First<'c> {
    cell: &'c Cell<'c>,
    ms: f64,
    users: Option<f64>,
}

fn look(subject: &Subject) -> Looked {
    let sentences = sentences(subject);
    let claims: Vec<&Sentence> =
        sentences.iter().filter(|sentence| sentence.says(&CLAIMS)).collect();
    if claims.is_empty() {
        return Looked::Needs("sentences that say that nothing queues");
    }
    let mut told: Vec<*const ifm_core::Sheet> = Vec::new();
    let mut looked = false;
    let mut findings = Vec::new();
    for claim in &claims {
        let sheet = std::ptr::from_ref(claim.cell.sheet);
        if told.contains(&sheet) {
            continue;
        }
        told.push(sheet);
        let groups = groups(subject, claim.cell);
        looked |= groups.values().map(Vec::len).sum::<usize>() > 1;
        findings.extend(grows(claim, &groups).or_else(|| spreads(claim, &groups)));
        findings.extend(too_early(subject, claim, &groups));
    }
    match looked {
        true => Looked::Found(findings),
        false => {
            Looked::Needs("times to first token at several loads, and a statement about queues")
        }
    }
}

type Groups<'c> = BTreeMap<(Factors, Factors), Vec<First<'c>>>;

/// Times to first token of the document of a claim, by what was measured.
fn groups<'s>(subject: &'s Subject<'s>, claim: &Cell) -> Groups<'s> {
    let mut groups: Groups = BTreeMap::new();
    for role in [RowRole::Measured, RowRole::Stated] {
        let cells = subject.cells(role).filter(|cell| std::ptr::eq(cell.sheet, claim.sheet));
        for cell in cells {
            let Some(figure) = cell.central(Metric::Ttft) else { continue };
            let Some(ms) = figure.canonical().filter(|ms| *ms > 0.0) else { continue };
            let first = First { cell, ms, users: users(cell) };
            groups.entry(split(&cell.factors)).or_default().push(first);
        }
    }
    groups
}

/// One workload at a low and a high load.
fn grows(claim: &Sentence, groups: &Groups) -> Option<Finding> {
    let pair = |group: &'_ Vec<First>| -> Option<(f64, usize, usize)> {
        let loads = || group.iter().enumerate().filter_map(|(at, f)| Some((f.users?, at)));
        let (low, at_low) = loads().min_by(|a, b| a.0.total_cmp(&b.0))?;
        let (high, at_high) = loads().max_by(|a, b| a.0.total_cmp(&b.0))?;
        let ratio = group.get(at_high)?.ms / group.get(at_low)?.ms;
        (high > low && ratio >= GROWS).then_some((ratio, at_low, at_high))
    };
    let grown = groups.values().filter_map(|group| Some((group, pair(group)?)));
    let (group, (ratio, at_low, at_high)) = grown.max_by(|a, b| a.1.0.total_cmp(&b.1.0))?;
    let (low, high) = (group.get(at_low)?, group.get(at_high)?);
    let level = if ratio >= GROWS_FAR { Level::Strong } else { Level::Hint };
    let text = format!(
        "the document claims that nothing queues (\"{}\"), but the TTFT grows {ratio:.1} times, \
         from {} ms to {} ms, between {} and {} streams{}: first tokens wait for the prompts of \
         other requests",
        claim.shown(),
        low.ms,
        high.ms,
        low.users.unwrap_or(1.0),
        high.users.unwrap_or(1.0),
        steps(high)
    );
    Some(finding(level, text, claim, low, high, ratio))
}

/// Far apart, where what else differs is not known, or is the workload.
fn spreads(claim: &Sentence, groups: &Groups) -> Option<Finding> {
    let all = || groups.values().flatten();
    let low = all().min_by(|a, b| a.ms.total_cmp(&b.ms))?;
    let loaded = all().filter(|first| first.users.is_some_and(|users| users > 1.0));
    let high = loaded.max_by(|a, b| a.ms.total_cmp(&b.ms))?;
    let ratio = high.ms / low.ms;
    if ratio < GROWS_FAR || low.users >= high.users {
        return None;
    }
    let text = format!(
        "the document claims that nothing queues (\"{}\"), but the TTFT is between {} ms and {} \
         ms, {ratio:.0} times as much at {} streams{}: unless the length of the prompts alone \
         explains it, they wait for each other",
        claim.shown(),
        low.ms,
        high.ms,
        high.users.unwrap_or(1.0),
        steps(high)
    );
    Some(finding(Level::Hint, text, claim, low, high, ratio))
}

fn finding(
    level: Level,
    text: String,
    claim: &Sentence,
    low: &First,
    high: &First,
    ratio: f64,
) -> Finding {
    Finding::new(RULE.id, level, text)
        .at_all([claim.cell.spot(), high.cell.spot(), low.cell.spot()])
        .with("TTFT at the low load", low.ms, "ms")
        .with("TTFT at the high load", high.ms, "ms")
        .with("ratio", ratio, "")
        .remedy("show the TTFT of one workload over the number of streams")
}

/// How many of the document's decode steps a first token waits, if the same row or another of the
/// same setting states the gap.
fn steps(first: &First) -> String {
    let gap_ms = gap(first.cell).map(|(_, gap)| gap.middle());
    gap_ms.map_or_else(String::new, |gap_ms| format!(" ({:.0} decode steps)", first.ms / gap_ms))
}

/// Prompts that together need far longer than the time to first token did not begin at once.
fn too_early(subject: &Subject, claim: &Sentence, groups: &Groups) -> Option<Finding> {
    let early = groups.values().flatten().filter_map(|first| {
        let prompts = first.users.filter(|users| *users > 1.0)?;
        let tokens = first.cell.factors.number(key::INPUT_TOKENS).filter(|n| *n >= 1.0)?;
        let known = setup_of(subject, first.cell)?;
        // One after the other, the middle one of them waits for half of the others.
        let least_ms = known.setup.prefill(prompts, tokens).strict.seconds * 1e3 / 2.0;
        let ratio = least_ms / first.ms;
        (ratio > 1.0).then_some((ratio, first, prompts, tokens, least_ms, known))
    });
    let (_, first, prompts, tokens, least_ms, known) = early.max_by(|a, b| a.0.total_cmp(&b.0))?;
    let level = if known.is_certain { Level::Strong } else { Level::Hint };
    let text = format!(
        "{prompts} requests are said to run at once (\"{}\"), but {prompts} prompts of {tokens} tokens \
         need {least_ms:.0} ms for half of them at the limit of {}, and the TTFT is {} ms: they do not \
         begin together, or come from a cache",
        claim.shown(),
        known.words(),
        first.ms
    );
    let finding = Finding::new(RULE.id, level, text)
        .at_all([claim.cell.spot(), first.cell.spot()])
        .with("TTFT", first.ms, "ms")
        .with("half of the prompts at the limit", least_ms, "ms")
        .remedy("show how many requests were in prefill and in decode over time");
    Some(finding)
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::{check, found, row, sheet};
    use super::*;
    use ifm_core::Sheet;
    use ifm_core::sheet::{PartKind, Row, Statistic, Unit};

    fn claim() -> Row {
        let mut claim = row(1, &[]);
        claim.role = RowRole::Stated;
        claim.text = Some("N requests run at once, with no queuing.".to_owned());
        claim
    }

    fn level(workload: &str, users: u32, ttft: &str) -> Row {
        let mut row = row(users, &[(Metric::Ttft, Statistic::Median, ttft, Unit::Ms)]);
        row.factors = row.factors.with(key::WORKLOAD, workload).with(key::CONCURRENCY, users);
        row
    }

    fn document(loaded: &Row) -> Sheet {
        sheet(PartKind::Serving, vec![claim(), level("Chat", 1, "50"), loaded.clone()])
    }

    #[test]
    fn a_first_token_that_waits_contradicts_it() {
        let sound = document(&level("Chat", 32, "120"));
        let far = |sheet: &mut Sheet| *sheet = document(&level("Chat", 32, "1500"));
        check("no_queue_claim", &sound, far, Level::Strong, "grows 30.0 times");
        let some = |sheet: &mut Sheet| *sheet = document(&level("Chat", 32, "300"));
        check("no_queue_claim", &sound, some, Level::Hint, "grows 6.0 times");
        let other = |sheet: &mut Sheet| *sheet = document(&level("Agents", 32, "1500"));
        check("no_queue_claim", &sound, other, Level::Hint, "30 times as much at 32 streams");
    }

    #[test]
    fn prompts_that_need_longer_do_not_begin_at_once() {
        // 32 prompts of 4096 tokens are 2.1e15 operations, 5.8 s at 362e12 per second.
        let of = |ttft: &str| {
            let mut level = level("Chat", 32, ttft);
            level.factors = level
                .factors
                .with(key::GPU, "L40S")
                .with(key::MODEL, "Llama-3.1-8B-Instruct")
                .with(key::QUANTIZATION, "bf16")
                .with(key::TENSOR_PARALLEL, 1)
                .with(key::INPUT_TOKENS, 4096);
            document(&level)
        };
        let findings = found("no_queue_claim", &[of("200")]);
        assert_eq!(findings.len(), 1, "{findings:?}");
        assert!(findings[0].text.contains("do not begin together"), "{findings:?}");
        assert!(
            !found("no_queue_claim", &[of("4000")])
                .iter()
                .any(|finding| finding.text.contains("do not begin together"))
        );
    }

    #[test]
    fn without_the_claim_nothing_is_refused() {
        let mut sheet = document(&level("Chat", 32, "1500"));
        sheet.parts[0].rows.remove(0);
        assert_eq!(found("no_queue_claim", &[sheet]), []);
    }
}
