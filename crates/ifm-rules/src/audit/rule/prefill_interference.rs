//! A gap between tokens that grows with the prompts of other requests is not a decode speed.
//!
//! A single stream shows what a longer context costs: its keys and values are read for every token.
//! With `n` streams they are read `n` times in a step, and no more. Any further growth of the gap
//! is other work between the tokens: prompts of other requests that the server mixes in.

use super::super::streams::{Interval, Stream, streams};
use super::super::{Cell, Finding, Level, Looked, Rule, Subject};
use ifm_core::Metric;
use ifm_core::Sheet;
use ifm_core::order::Order as _;
use ifm_core::sheet::{Factors, Statistic};
use std::collections::BTreeMap;

pub(super) const RULE: Rule = Rule {
    id: "prefill_interference",
    title: "gaps between tokens do not grow with the prompts of other requests",
    look,
};

/// A smaller growth between two workloads is ignored.
const GROWS: f64 = 1.5;
/// Share by which the growth must pass what reading explains.
const BEYOND: f64 = 1.1;
/// Ratio of two lengths from which on one prompt is the longer one.
const LONGER: f64 = 2.0;
/// Growth of the tail over the middle from which on it is reported.
const TAIL_GROWS: f64 = 2.0;

/// Streams of two workloads at one number of streams.
pub(super) struct Excess<'c> {
    pub short: Stream<'c>,
    pub long: Stream<'c>,
    /// The longest gap of `long` that reading its context explains, ms.
    pub explained_ms: f64,
}

fn look(subject: &Subject) -> Looked {
    let streams = streams(subject);
    let groups = groups(&streams);
    if !groups.iter().any(|group| group.len() > 1) {
        return Looked::Needs(
            "gaps between tokens, or speeds per user, of several workloads at one number of streams",
        );
    }
    let beyond = beyond(&streams, &groups);
    let mut findings = Vec::new();
    findings.extend(tell_beyond(&beyond));
    if beyond.is_empty() {
        findings.extend(tell_grown(&groups));
    }
    findings.extend(tell_tails(&groups));
    Looked::Found(findings)
}

/// The gaps of documents that are longer than reading their contexts explains.
pub(super) fn excesses<'s>(subject: &'s Subject<'s>) -> Vec<Excess<'s>> {
    let streams = streams(subject);
    beyond(&streams, &groups(&streams))
}

/// Streams of the same thing and number, of at least two workloads, shortest gap first.
fn groups<'a, 's>(streams: &'a [Stream<'s>]) -> Vec<Vec<&'a Stream<'s>>> {
    let mut groups: BTreeMap<_, Vec<&Stream>> = BTreeMap::new();
    for stream in streams.iter().filter(|stream| stream.users > 1.0) {
        if !stream.workload.is_empty() {
            let key = (stream.sheet(), stream.sort, &stream.of, stream.users.to_bits());
            groups.entry(key).or_default().push(stream);
        }
    }
    let mut groups: Vec<_> = groups.into_values().collect();
    for group in &mut groups {
        group.order_by(|a, b| a.gap.middle().total_cmp(&b.gap.middle()));
    }
    groups.retain(|group| group.iter().any(|other| other.workload != group[0].workload));
    groups
}

/// The first of a group and each other with a gap that has grown.
fn grown<'a, 's>(
    group: &'a [&'a Stream<'s>],
) -> impl Iterator<Item = (&'a Stream<'s>, &'a Stream<'s>)> {
    let short = group.first().copied();
    let others = group.iter().skip(1).copied();
    others.filter_map(move |long| {
        let short = short.filter(|short| short.workload != long.workload)?;
        (long.gap.low >= GROWS * short.gap.high).then_some((short, long))
    })
}

fn beyond<'s>(streams: &[Stream<'s>], groups: &[Vec<&Stream<'s>>]) -> Vec<Excess<'s>> {
    let mut alone: BTreeMap<(*const Sheet, &Factors, &Factors), Vec<&Stream>> = BTreeMap::new();
    for stream in streams.iter().filter(|stream| stream.users == 1.0) {
        alone.entry((stream.sheet(), &stream.of, &stream.workload)).or_default().push(stream);
    }
    let alone = |of: &Stream| -> Option<Interval> {
        let found = alone.get(&(of.sheet(), &of.of, &of.workload))?;
        found.iter().find(|stream| stream.sort == of.sort).map(|stream| stream.gap)
    };
    let mut found = Vec::new();
    for (short, long) in groups.iter().flat_map(|group| grown(group)) {
        let Some((short_alone, long_alone)) = alone(short).zip(alone(long)) else { continue };
        let longer_ms = (long_alone.high - short_alone.low).max(0.0);
        let explained_ms = short.gap.high + long.users * longer_ms;
        if long.gap.low > BEYOND * explained_ms {
            found.push(Excess { short: short.clone(), long: long.clone(), explained_ms });
        }
    }
    found.order_by(|a, b| b.share().total_cmp(&a.share()));
    found
}

impl Excess<'_> {
    fn share(&self) -> f64 {
        self.long.gap.low / self.explained_ms
    }

    /// What reading explains, in a few words.
    pub fn explained(&self) -> String {
        format!(
            "reading the context of {} explains at most {:.1} of the {:.1} ms between tokens at {} \
             streams",
            self.long.workload_name(),
            self.explained_ms,
            self.long.gap.middle(),
            self.long.users
        )
    }

    /// A finding with the numbers of the excess.
    pub fn evidence_of(&self, finding: Finding) -> Finding {
        finding.with("gap", self.long.gap.middle(), "ms").with("explained", self.explained_ms, "ms")
    }

    /// The excess in a sentence.
    fn words(&self) -> String {
        format!(
            "with {} streams the gap between tokens is {:.1} ms ({}) and {:.1} ms ({}), while streams \
             by themselves show that reading the longer context explains at most {:.1} ms",
            self.long.users,
            self.short.gap.middle(),
            self.short.workload_name(),
            self.long.gap.middle(),
            self.long.workload_name(),
            self.explained_ms
        )
    }
}

fn tell_beyond(found: &[Excess]) -> Option<Finding> {
    let worst = found.first()?;
    let text = format!(
        "{}: the rest is other work between the tokens, most likely prompts of other requests, so the figure \
         is not a decode speed",
        worst.words()
    );
    let spots = found.iter().flat_map(|excess| [excess.long.cell.spot(), excess.short.cell.spot()]);
    let finding = worst
        .evidence_of(Finding::new(RULE.id, Level::Strong, text))
        .at_all(spots)
        .remedy("measure decode with prompts that begin together, or tell TTFT and ITL by load");
    Some(finding)
}

/// Longer prompts with longer gaps, where no stream by itself was measured.
fn tell_grown(groups: &[Vec<&Stream>]) -> Option<Finding> {
    let longer = |(short, long): &(&Stream, &Stream)| {
        let tokens = short.prompt_tokens().zip(long.prompt_tokens());
        tokens.is_some_and(|(short, long)| long >= LONGER * short)
    };
    let found: Vec<_> = groups.iter().flat_map(|group| grown(group)).filter(longer).collect();
    let ratio = |(short, long): &(&Stream, &Stream)| long.gap.middle() / short.gap.middle();
    let worst = found.iter().max_by(|a, b| ratio(a).total_cmp(&ratio(b)))?;
    let (short, long) = worst;
    let text = format!(
        "with {} streams the gap between tokens grows from {:.1} ms ({}) to {:.1} ms ({}): prompts \
         of other requests may be computed between the tokens, or a longer context read",
        long.users,
        short.gap.middle(),
        short.workload_name(),
        long.gap.middle(),
        long.workload_name()
    );
    let finding = Finding::new(RULE.id, Level::Hint, text)
        .at_all(found.iter().flat_map(|(short, long)| [long.cell.spot(), short.cell.spot()]))
        .remedy("measure both workloads with one stream to distinguish the two causes");
    Some(finding)
}

/// Tails that grow with the prompts while the middle does not: single steps hold whole prompts.
fn tell_tails(groups: &[Vec<&Stream>]) -> Option<Finding> {
    let mut worst: Option<(f64, &Stream, &Stream)> = None;
    for group in groups {
        let tails = group.iter().filter_map(|stream| Some((tail(stream.cell)?, *stream)));
        let tails: Vec<(f64, &Stream)> = tails.collect();
        let order = |a: &&(f64, &Stream), b: &&(f64, &Stream)| a.0.total_cmp(&b.0);
        let (Some(low), Some(high)) = (tails.iter().min_by(order), tails.iter().max_by(order))
        else {
            continue;
        };
        let tokens = low.1.prompt_tokens().zip(high.1.prompt_tokens());
        let is_longer = tokens.is_some_and(|(short, long)| long >= LONGER * short);
        let ratio = high.0 / low.0;
        if is_longer && ratio >= TAIL_GROWS && worst.is_none_or(|(known, ..)| ratio > known) {
            worst = Some((ratio, low.1, high.1));
        }
    }
    let (_, short, long) = worst?;
    let text = format!(
        "with {} streams P99 of the gap is {:.1} times its median for {} and {:.1} times for {}: \
         whole prompts of other requests are computed in single steps",
        long.users,
        tail(short.cell)?,
        short.workload_name(),
        tail(long.cell)?,
        long.workload_name()
    );
    let finding = Finding::new(RULE.id, Level::Hint, text)
        .at_all([long.cell.spot(), short.cell.spot()])
        .remedy("look at the server's chunk of prompt tokens per step");
    Some(finding)
}

/// P99 of the gaps over their median.
fn tail(cell: &Cell) -> Option<f64> {
    let p99 = cell.row.value(Metric::Itl, Statistic::Percentile(99.0))?;
    let median = cell.row.value(Metric::Itl, Statistic::Median)?;
    (median > 0.0).then(|| p99 / median)
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::{check, found, row, sheet};
    use super::*;
    use ifm_core::sheet::{PartKind, Row, RowRole, Unit, key};

    fn stated(workload: &str, users: u32, quantity: Metric, printed: &str, unit: Unit) -> Row {
        let mut row = row(users, &[(quantity, Statistic::Value, printed, unit)]);
        row.role = RowRole::Stated;
        row.factors = row.factors.with(key::WORKLOAD, workload).with(key::CONCURRENCY, users);
        row
    }

    /// A short workload of 10 ms alone and 20 ms among 16; a long one of 11 ms alone.
    fn document(long: &str) -> Sheet {
        let speed = |workload, users, printed| {
            stated(workload, users, Metric::UserSpeed, printed, Unit::PerS)
        };
        let rows = vec![
            speed("Search", 1, "100.0"),
            stated("Search", 16, Metric::Efficiency, "50", Unit::Percent),
            speed("Code", 1, "90.9"),
            speed("Code", 16, long),
        ];
        sheet(PartKind::Conclusion, rows)
    }

    #[test]
    fn reports_a_gap_that_reading_does_not_explain() {
        // 20 ms and 16 times 1 ms are 36 ms; 1000 / 12.5 = 80 ms.
        let corrupt = |sheet: &mut Sheet| *sheet = document("12.5");
        let word = "the gap between tokens is 20.0 ms (Search) and 80.0 ms (Code)";
        check("prefill_interference", &document("28.0"), corrupt, Level::Strong, word);
    }

    fn level(prompt: u32, mean: &str, median: &str, p99: &str) -> Row {
        let p99 = (Metric::Itl, Statistic::Percentile(99.0), p99, Unit::Ms);
        let median = (Metric::Itl, Statistic::Median, median, Unit::Ms);
        let mut row = row(prompt, &[(Metric::Itl, Statistic::Mean, mean, Unit::Ms), median, p99]);
        row.factors = row.factors.with(key::INPUT_TOKENS, prompt).with(key::CONCURRENCY, 32);
        row
    }

    #[test]
    fn growth_without_single_streams_is_a_hint() {
        let of = |mean: &str| {
            let rows = vec![level(128, "20.0", "20.0", "25.0"), level(4096, mean, mean, "50.0")];
            sheet(PartKind::Serving, rows)
        };
        let corrupt = |sheet: &mut Sheet| *sheet = of("40.0");
        check(
            "prefill_interference",
            &of("28.0"),
            corrupt,
            Level::Hint,
            "from 20.0 ms (128 prompt",
        );
    }

    #[test]
    fn a_tail_that_grows_with_the_prompt_is_a_hint() {
        let of = |p99: &str| {
            let rows = vec![level(128, "20.0", "20.0", "25.0"), level(4096, "28.0", "20.0", p99)];
            sheet(PartKind::Serving, rows)
        };
        let corrupt = |sheet: &mut Sheet| *sheet = of("400.0");
        check(
            "prefill_interference",
            &of("40.0"),
            corrupt,
            Level::Hint,
            "1.2 times its median for",
        );
    }

    #[test]
    fn ignores_one_workload_at_several_loads() {
        let mut sheet = sheet(
            PartKind::Serving,
            vec![level(128, "20.0", "20.0", "25.0"), level(128, "80.0", "60.0", "500.0")],
        );
        sheet.parts[0].rows[1].factors.set(key::CONCURRENCY, 256);
        assert_eq!(found("prefill_interference", &[sheet]), []);
    }
}
