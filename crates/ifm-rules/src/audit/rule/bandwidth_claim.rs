//! "Bound by memory bandwidth" holds where steps move bytes near the peak.

use super::super::light::setup_of;
use super::super::sentence::{Sentence, sentences};
use super::super::streams::{gap, users};
use super::super::{Cell, Finding, Level, Looked, Rule, Subject};
use super::prefill_interference::{Excess, excesses};
use ifm_core::Metric;
use ifm_core::sheet::{PartKind, RowRole, key};

pub(super) const RULE: Rule = Rule {
    id: "bandwidth_claim",
    title: "work described as memory-bandwidth-bound comes near the peak bandwidth",
    look,
};

/// Phrases that name the memory's bandwidth, or being bound by it.
const BANDWIDTH: [&str; 8] = [
    "memory bandwidth",
    "memory-bandwidth",
    "hbm bandwidth",
    "dram bandwidth",
    "bandwidth-bound",
    "bandwidth bound",
    "memory-bound",
    "memory bound",
];
/// Words that make a cause or a limit of it.
const CAUSE: [&str; 11] = [
    "bound",
    "limit",
    "bottleneck",
    "shared",
    "split",
    "saturat",
    "because",
    "due to",
    "drop",
    "constrain",
    "starv",
];
/// Words that deny it.
const DENIED: [&str; 7] = [
    "not memory",
    "not bandwidth",
    "not bound",
    "not limited",
    "not the bottleneck",
    "isn't",
    "rather than memory",
];
/// Share of the peak bandwidth below which a step is not bound by it. Decode steps that are reach
/// 0.6 to 0.85.
const LOW: f64 = 0.4;

/// How much of the peak bandwidth a step uses.
struct Use<'c> {
    cell: &'c Cell<'c>,
    share: f64,
    setup: String,
    /// Whether lengths, number format and GPUs are given.
    is_certain: bool,
}

fn look(subject: &Subject) -> Looked {
    let sentences = sentences(subject);
    let claims: Vec<&Sentence> = sentences.iter().filter(|sentence| claims(sentence)).collect();
    if claims.is_empty() {
        return Looked::Needs("sentences that call something bound by memory bandwidth");
    }
    let excesses = excesses(subject);
    let mut looked = false;
    let mut findings = Vec::new();
    let mut told: Vec<*const ifm_core::Sheet> = Vec::new();
    for claim in &claims {
        let sheet = std::ptr::from_ref(claim.cell.sheet);
        if told.contains(&sheet) {
            continue;
        }
        told.push(sheet);
        let of_sheet: Vec<&Sentence> =
            claims.iter().filter(|other| std::ptr::eq(other.cell.sheet, sheet)).copied().collect();
        let uses = uses(subject, claim.cell);
        let best = uses.iter().max_by(|a, b| a.share.total_cmp(&b.share));
        let excess = excesses.iter().find(|excess| excess.long.sheet() == sheet);
        looked |= best.is_some() || excess.is_some();
        let low = best.filter(|best| best.share < LOW);
        let mut words = Vec::new();
        words.extend(low.map(Use::words));
        words.extend(excess.map(Excess::explained));
        if words.is_empty() {
            continue;
        }
        let level = match (excess, low) {
            (None, Some(low)) if !low.is_certain => Level::Hint,
            _ => Level::Strong,
        };
        let mut finding = finding(level, &of_sheet, &words, low);
        if let Some(excess) = excess {
            finding = excess.evidence_of(finding);
        }
        findings.push(finding);
    }
    match looked {
        true => Looked::Found(findings),
        false => Looked::Needs(
            "decode speeds of a known machine and model and a statement about memory bandwidth; \
             --gpu and --model name them",
        ),
    }
}

fn finding(level: Level, claims: &[&Sentence], words: &[String], low: Option<&Use>) -> Finding {
    let times = match claims.len() {
        1 => "once".to_owned(),
        times => format!("{times} times"),
    };
    let text =
        format!("memory bandwidth is given as the cause {times}, but {}", words.join("; and "));
    let mut finding = Finding::new(RULE.id, level, text)
        .at_all(claims.iter().map(|claim| claim.cell.spot()))
        .remedy("say how many bytes a step moves, over its time and the peak");
    if let Some(low) = low {
        finding = finding.with("share of the peak bandwidth", low.share, "").at(low.cell.spot());
    }
    finding
}

fn claims(sentence: &Sentence) -> bool {
    sentence.says(&BANDWIDTH) && sentence.says(&CAUSE) && !sentence.says(&DENIED)
}

impl Use<'_> {
    fn words(&self) -> String {
        let of = if self.is_certain { "" } else { ", as far as formats and lengths are known" };
        format!(
            "the decode step that moves most, {}, uses {:.0} % of the peak of {}{of}",
            self.cell.name(),
            self.share * 100.0,
            self.setup
        )
    }
}

/// The use of bandwidth of all decode steps in the document of a claim.
fn uses<'s>(subject: &'s Subject<'s>, claim: &Cell) -> Vec<Use<'s>> {
    let of_sheet = |cell: &&Cell| std::ptr::eq(cell.sheet, claim.sheet);
    let cells = [RowRole::Measured, RowRole::Stated].into_iter();
    cells
        .flat_map(|role| subject.cells(role).filter(of_sheet))
        .filter_map(|c| used(subject, c))
        .collect()
}

fn used<'s>(subject: &'s Subject<'s>, cell: &'s Cell<'s>) -> Option<Use<'s>> {
    // A step of speculative decoding gives several tokens.
    if cell.row.figures.iter().any(|figure| figure.quantity == Metric::AcceptanceLength) {
        return None;
    }
    let number = |name: &str| cell.factors.number(name).filter(|number| *number >= 1.0);
    let batch = users(cell).or_else(|| number(key::BATCH_SIZE));
    let (input, output) = (number(key::INPUT_TOKENS), number(key::OUTPUT_TOKENS));
    let depth = number(key::DEPTH_TOKENS);
    let (seconds, context) = match cell.part.kind {
        PartKind::Engine => {
            let rate = cell.central(Metric::DecodeRate)?.canonical().filter(|rate| *rate > 0.0)?;
            (batch.unwrap_or(1.0) / rate, Some(depth.unwrap_or(1.0)))
        }
        _ => {
            let half_answer = output.map_or(0.0, |output| output / 2.0);
            (gap(cell)?.1.middle() / 1e3, input.map(|input| input + half_answer))
        }
    };
    let known = setup_of(subject, cell)?;
    let bound = known.setup.decode(batch.unwrap_or(1.0), context.unwrap_or(1.0));
    let share = bound.share(seconds)?.bandwidth;
    let is_certain = known.is_certain && context.is_some();
    Some(Use { cell, share, setup: known.words(), is_certain })
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::{check, found, row, sheet};
    use super::*;
    use ifm_core::Sheet;
    use ifm_core::sheet::{Statistic, Unit};

    /// A step reads 15.1 GB of an 8 B model at 16 bits; over 864 GB/s of an L40S that is 17.5 ms.
    fn document(tpot: &str, text: &str) -> Sheet {
        let mut level = row(3, &[(Metric::Tpot, Statistic::Mean, tpot, Unit::Ms)]);
        level.factors = level
            .factors
            .with(key::GPU, "L40S")
            .with(key::MODEL, "Llama-3.1-8B-Instruct")
            .with(key::QUANTIZATION, "bf16")
            .with(key::TENSOR_PARALLEL, 1)
            .with(key::CONCURRENCY, 1)
            .with(key::INPUT_TOKENS, 512);
        let mut claim = row(9, &[]);
        claim.role = RowRole::Stated;
        claim.text = Some(text.to_owned());
        sheet(PartKind::Serving, vec![level, claim])
    }

    const CLAIM: &str = "Decode is memory-bandwidth bound here.";

    #[test]
    fn a_step_far_from_the_peak_is_not_bound_by_it() {
        let corrupt = |sheet: &mut Sheet| *sheet = document("90.0", CLAIM);
        check("bandwidth_claim", &document("22.2", CLAIM), corrupt, Level::Strong, "uses 19 % of");
    }

    #[test]
    fn other_sentences_claim_nothing() {
        for text in [
            "The memory bandwidth is 864 GB/s.",
            "Decode is compute bound, not memory bound.",
            "The network bandwidth is the bottleneck.",
        ] {
            assert_eq!(found("bandwidth_claim", &[document("90.0", text)]), [], "{text}");
        }
    }
}
