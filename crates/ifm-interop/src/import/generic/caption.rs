//! The quantity of a table that its caption names: the line or the heading above says
//! `Average speed (tokens/s) of generating 1024 tokens`, the columns are models or percentiles.
//!
//! A caption counts where it names one quantity and its unit, and nothing in it says that the numbers
//! are limits, prices or estimates. Not here: how the table is read with it (`captioned`).

use super::super::measure::{
    Dimension, Kind, Meaning, Token, decode_entities, lex, meaning, mentions, natural_unit, plain,
    statistic, unit,
};
use super::super::text::Text;
use super::is_performance;
use ifm_core::Metric;
use ifm_core::sheet::{Statistic, Unit};

/// What a caption says of all numbers of its table.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Caption {
    pub quantity: Metric,
    /// The unit, where the caption says it.
    pub unit: Option<Unit>,
    pub statistic: Option<Statistic>,
    /// Tokens that the caption counts: of prompts for a prefill rate, else of answers.
    pub tokens: Option<u64>,
    /// Its own words.
    pub text: String,
}

/// The text around a table, the nearest first.
#[derive(Debug, Default)]
pub(crate) struct Context {
    /// Paragraphs between the table and its heading.
    pub above: Vec<String>,
    /// Headings, from the innermost.
    pub headings: Vec<String>,
}

/// Lines above a table that are looked at.
const LINES_MAX: u32 = 16;
/// Paragraphs of them.
const PARAGRAPHS_MAX: usize = 2;
/// Longest caption, bytes.
const CAPTION_BYTES_MAX: usize = 400;

impl Context {
    /// The text above a line. `headings` are the headings of its section, from the outermost.
    pub fn above(line: u32, text: &Text, headings: Vec<String>) -> Context {
        let mut above: Vec<String> = Vec::new();
        let mut is_open = false;
        for number in (line.saturating_sub(LINES_MAX).max(1)..line).rev() {
            let found = text.line(number).map_or("", |line| line.text).trim();
            let is_edge = found.starts_with(['#', '|']) || found.starts_with("```");
            if is_edge || found.starts_with("</table") {
                break;
            }
            let is_picture = found.starts_with("![") || found.starts_with('<');
            if found.is_empty() || is_picture {
                is_open = false;
                continue;
            }
            if !is_open && above.len() == PARAGRAPHS_MAX {
                break;
            }
            match above.last_mut().filter(|_| is_open) {
                Some(paragraph) => *paragraph = format!("{found} {paragraph}"),
                None => above.push(found.to_owned()),
            }
            is_open = true;
        }
        Context { above, headings: headings.into_iter().rev().collect() }
    }
}

/// The caption of a table, if one of the texts around it is one. `own` is a caption that the table
/// itself has.
pub(super) fn find(own: Option<&str>, context: &Context) -> Option<Caption> {
    let own = own.into_iter();
    let above = context.above.iter().map(String::as_str);
    let headings = context.headings.iter().map(String::as_str);
    // A table of limits has no results, whatever an outer heading is about.
    let innermost = context.headings.first().map(String::as_str);
    if own.clone().chain(above.clone().take(1)).chain(innermost).any(is_about_something_else) {
        return None;
    }
    own.chain(above).chain(headings).find_map(|text| {
        let text = plain(&decode_entities(text));
        let sentences = text.split(". ").filter(|sentence| sentence.len() <= CAPTION_BYTES_MAX);
        let mut found: Vec<Caption> = sentences.filter_map(parse).collect();
        found.dedup_by(|a, b| (&a.quantity, &a.unit) == (&b.quantity, &b.unit));
        // Two quantities in one text name none.
        if found.len() == 1 { found.pop() } else { None }
    })
}

/// Words of texts about numbers that were not measured.
const OTHERS: &[&str] = &[
    "target",
    "targets",
    "limit",
    "limits",
    "slo",
    "slos",
    "sla",
    "threshold",
    "thresholds",
    "budget",
    "budgets",
    "timeout",
    "timeouts",
    "recommended",
    "required",
    "requirement",
    "requirements",
    "price",
    "prices",
    "pricing",
    "cost",
    "costs",
    "theoretical",
    "estimated",
    "estimate",
    "estimates",
    "expected",
    "projected",
    "specification",
    "specifications",
    "specs",
    "spec",
    "simulated",
    "quota",
    "quotas",
];

/// Whether a text says that its numbers are limits, prices, specifications or estimates.
pub(super) fn is_about_something_else(text: &str) -> bool {
    lex(text).iter().any(|token| OTHERS.iter().any(|word| token.is(word)))
}

/// A sentence as a caption.
fn parse(sentence: &str) -> Option<Caption> {
    let sentence = sentence.trim().trim_end_matches(['.', ':', ' ']);
    let tokens = lex(sentence);
    if is_about_something_else(sentence) || states_a_value(&tokens) {
        return None;
    }
    if let Some(Meaning::Figure(named)) = meaning(sentence)
        && is_of_tables(named.quantity, &tokens)
    {
        let is_natural = natural_unit(named.quantity) != Unit::Other(String::new());
        let unit = named.unit.or_else(|| is_natural.then(|| natural_unit(named.quantity)));
        return Some(Caption {
            quantity: named.quantity,
            unit,
            statistic: named.statistic,
            tokens: counted_tokens(&tokens),
            text: sentence.to_owned(),
        });
    }
    let (unit, dimension) = unit_in(sentence)?;
    let mut named: Vec<Metric> =
        mentions(&tokens).into_iter().map(|mention| mention.quantity).collect();
    named.retain(|quantity| dimension.fits(*quantity));
    named.dedup();
    let quantity = match named.as_slice() {
        [quantity] => *quantity,
        [] => by_words(dimension, &tokens)?,
        _ => return None,
    };
    is_of_tables(quantity, &tokens).then(|| Caption {
        quantity,
        unit: Some(unit),
        statistic: statistic_in(&tokens),
        tokens: counted_tokens(&tokens),
        text: sentence.to_owned(),
    })
}

/// The unit that a sentence names: in brackets, or behind `in` or `unit:`.
fn unit_in(sentence: &str) -> Option<(Unit, Dimension)> {
    let named = |text: &str| {
        let text = text.trim();
        let lower = text.to_lowercase();
        let begin = ["units:", "unit:", "in "].iter().find(|begin| lower.starts_with(**begin));
        unit(text.get(begin.map_or(0, |begin| begin.len())..)?)
    };
    let mut rest = sentence;
    while let Some(open) = rest.find(['(', '[']) {
        let inner = rest.get(open + 1..)?;
        let close = inner.find([')', ']']).unwrap_or(inner.len());
        if let Some(found) = inner.get(..close).and_then(named) {
            return Some(found);
        }
        rest = inner.get(close..)?;
    }
    let behind = sentence.split(" in ").skip(1).find_map(|behind| {
        let words: Vec<&str> = behind.split_whitespace().collect();
        (1..=words.len().min(3)).rev().find_map(|count| {
            let text = words.get(..count)?.join(" ");
            unit(text.trim_end_matches([',', ';', '.', ':']))
        })
    });
    let last = || {
        let (_, last) = sentence.rsplit_once([' ', ','])?;
        unit(last).filter(|_| last.contains('/'))
    };
    behind.or_else(last).filter(|(_, dimension)| *dimension != Dimension::Count)
}

/// The quantity of a rate by the words around it.
fn by_words(dimension: Dimension, tokens: &[Token<'_>]) -> Option<Metric> {
    let has = |words: &[&str]| tokens.iter().any(|token| words.iter().any(|word| token.is(word)));
    let prompt = has(&["prefill", "pp"])
        || (has(&["prompt", "prompts"]) && has(&["eval", "evaluation", "processing"]));
    let decode = has(&[
        "generation",
        "generating",
        "generate",
        "generated",
        "decode",
        "decoding",
        "tg",
        "eval",
    ]);
    Some(match dimension {
        Dimension::TokenRate => match (prompt, decode) {
            (true, _) if has(&["generation", "generating", "decode", "decoding", "tg"]) => {
                return None;
            }
            (true, _) => Metric::PrefillRate,
            (false, true) => Metric::DecodeRate,
            _ if has(&["user"]) => Metric::UserSpeed,
            _ if has(&["output"]) && !has(&["input"]) => Metric::OutputRate,
            _ if has(&["input"]) && !has(&["output"]) => Metric::InputRate,
            _ if has(&["total"]) => Metric::TotalRate,
            _ => Metric::other("token throughput"),
        },
        Dimension::RequestRate => Metric::RequestRate,
        Dimension::ImageRate => Metric::ImageRate,
        _ => return None,
    })
}

/// Whether a table below a caption may be full of a quantity. Memory counts where it was used.
fn is_of_tables(quantity: Metric, tokens: &[Token<'_>]) -> bool {
    const USED: [&str; 6] = ["consumption", "usage", "used", "peak", "footprint", "allocated"];
    match quantity {
        Metric::Memory => tokens.iter().any(|token| USED.iter().any(|word| token.is(word))),
        Metric::Other(name) => name.as_str() == "token throughput",
        quantity => is_performance(quantity),
    }
}

/// Whether a sentence gives a result itself: a number with a unit of time or of a rate.
fn states_a_value(tokens: &[Token<'_>]) -> bool {
    tokens.windows(2).any(|pair| {
        let [number, next] = pair else { return false };
        let is_unit = unit(next.text).is_some_and(|(_, dimension)| {
            matches!(dimension, Dimension::Time | Dimension::Share | Dimension::TokenRate)
        });
        number.number().is_some() && (is_unit || next.is("%"))
    })
}

/// The only statistic that a sentence names.
fn statistic_in(tokens: &[Token<'_>]) -> Option<Statistic> {
    let mut found = tokens
        .iter()
        .filter(|token| token.kind == Kind::Word)
        .filter_map(|token| statistic(&token.text.to_lowercase()));
    let first = found.next()?;
    found.all(|other| other == first).then_some(first)
}

/// The number before the word `tokens`, if there is one.
fn counted_tokens(tokens: &[Token<'_>]) -> Option<u64> {
    let mut found = tokens.windows(2).filter_map(|pair| {
        let [number, word] = pair else { return None };
        let value = number.number().filter(|value| *value >= 1.0 && value.fract() == 0.0)?;
        (word.is("tokens") || word.is("token")).then_some(value as u64)
    });
    let first = found.next();
    first.filter(|_| found.next().is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    type Parts = (Metric, Option<Unit>, Option<Statistic>, Option<u64>);

    fn caption(text: &str) -> Option<Parts> {
        let context = Context { above: vec![text.to_owned()], headings: Vec::new() };
        let found = find(None, &context)?;
        Some((found.quantity, found.unit, found.statistic, found.tokens))
    }

    #[test]
    fn captions_name_quantity_and_unit() {
        let (mean, per_s) = (Some(Statistic::Mean), Some(Unit::PerS));
        for (text, expected) in [
            (
                "Average speed (tokens/s) of generating 1024 tokens. Higher is better.",
                (Metric::DecodeRate, per_s.clone(), mean, Some(1024)),
            ),
            (
                "Average 1024 tokens prompt eval speed (tokens/s) by GPUs on LLaMA 3.",
                (Metric::PrefillRate, per_s.clone(), mean, Some(1024)),
            ),
            (
                "Output Tokens Throughput (tokens/s)",
                (Metric::OutputRate, per_s.clone(), None, None),
            ),
            ("Time to First Token (seconds)", (Metric::Ttft, Some(Unit::S), None, None)),
            (
                "Median TTFT in milliseconds, by model:",
                (Metric::Ttft, Some(Unit::Ms), Some(Statistic::Median), None),
            ),
            (
                "**Performance Metrics:** (unit: Tokens / second)",
                (Metric::other("token throughput"), per_s.clone(), None, None),
            ),
            (
                "**Performance Metrics:** GPU Memory Consumption (unit: MB)",
                (Metric::Memory, Some(Unit::Other("MB".to_owned())), None, None),
            ),
            ("Decode throughput, tok/s", (Metric::OutputRate, per_s.clone(), None, None)),
        ] {
            assert_eq!(caption(text), Some(expected), "{text}");
        }
    }

    #[test]
    fn other_texts_are_no_captions() {
        for text in [
            "TTFT targets (ms)",
            "Price ($) of a million tokens",
            "Memory (GB)",
            "Peak compute (TFLOPS) by format",
            "TTFT rises to 6.2 s with 32 users, in ms:",
            "TTFT and ITL (ms)",
            "The machines that we used:",
            "Context window (tokens)",
            "Estimated decode speed (tok/s)",
        ] {
            assert_eq!(caption(text), None, "{text}");
        }
    }
}
