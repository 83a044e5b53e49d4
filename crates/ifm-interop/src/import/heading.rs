//! What a heading, or a few words in parentheses, say was set.
//!
//! Each rule takes the words it understands; what is left may be a model, a processor, an engine
//! or a workload. What is ambiguous is left alone: the heading itself is kept anyway.

use super::known;
use super::measure::{Kind, Token, lex, plain, setting};
use ifm_core::sheet::{Factors, key};
use std::ops::Range;

/// Longest heading that is looked at, bytes.
const HEADING_BYTES_MAX: usize = 200;
/// Words that say nothing on their own.
const GENERIC: &[&str] = &[
    "results",
    "result",
    "run",
    "test",
    "benchmark",
    "load",
    "with",
    "at",
    "for",
    "and",
    "configuration",
    "config",
    "setup",
    "case",
    "scenario",
    "level",
    "performance",
    "summary",
    "table",
    "under",
];

/// The factors that a heading sets.
pub(crate) fn factors(heading: &str) -> Factors {
    let mut factors = Factors::default();
    if heading.len() > HEADING_BYTES_MAX {
        return factors;
    }
    let text = arrows(&plain(heading));
    let tokens = lex(&text);
    let mut used: Vec<Range<usize>> = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        match rule(tokens.get(at..).unwrap_or_default(), &mut factors) {
            Some(count) => {
                let first = tokens.get(at).map_or(0, |token| token.start);
                let last = tokens.get(at + count - 1).map_or(text.len(), |token| token.end);
                used.push(first..last);
                at += count;
            }
            None => at += 1,
        }
    }
    let rest = without(&text, &used);
    names(&rest, &used, &mut factors);
    if factors.get(key::QUANTIZATION).is_none()
        && let Some(format) = known::quantization(&text)
    {
        factors.set(key::QUANTIZATION, format);
    }
    factors
}

/// What is left of a heading as a name of something.
fn names(rest: &str, used: &[Range<usize>], factors: &mut Factors) {
    let mut rest = rest.to_owned();
    if let Some(range) = known::gpu(&rest) {
        if let Some(gpu) = rest.get(range.clone()) {
            factors.set(key::GPU, gpu);
        }
        let counted = known::counted_gpu(&rest).map(str::to_owned);
        match &counted {
            Some(counted) => {
                factors.set(key::HARDWARE, counted);
                rest = rest.replacen(counted, " ", 1);
            }
            None => rest.replace_range(range, " "),
        }
        rest = tidy(&rest);
    }
    let words = rest.trim_matches(|c: char| !c.is_alphanumeric() && c != ')' && c != '(').trim();
    if let Some(engine) = known::engine(words) {
        factors.set(key::ENGINE, engine);
    } else if known::is_model(words) {
        factors.set(key::MODEL, words);
    } else if let Some(model) = known::model_word(words) {
        factors.set(key::MODEL, model);
    } else if !used.is_empty() && is_workload(words, factors) {
        factors.set(key::WORKLOAD, words);
    }
}

/// Whether words next to a load or lengths name the workload.
fn is_workload(words: &str, factors: &Factors) -> bool {
    let load = [key::CONCURRENCY, key::INPUT_TOKENS, key::RATE];
    let count = words.split_whitespace().count();
    factors.get(key::WORKLOAD).is_none()
        && load.iter().any(|key| factors.get(key).is_some())
        && (1..=4).contains(&count)
        && words.starts_with(char::is_alphabetic)
        && words.chars().all(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_' | '.'))
        && !words.split_whitespace().any(|word| GENERIC.contains(&word.to_lowercase().as_str()))
}

/// Takes the tokens at the beginning that one rule understands; how many.
fn rule(tokens: &[Token<'_>], factors: &mut Factors) -> Option<usize> {
    lengths(tokens, factors)
        .or_else(|| counted(tokens, factors))
        .or_else(|| assigned(tokens, factors))
        .or_else(|| parallel(tokens, factors))
}

/// `1500 → 250`.
fn lengths(tokens: &[Token<'_>], factors: &mut Factors) -> Option<usize> {
    let [input, arrow, output, ..] = tokens else { return None };
    if input.number().is_none() || output.number().is_none() || !arrow.is("→") {
        return None;
    }
    factors.set(key::INPUT_TOKENS, input.text.replace(',', ""));
    factors.set(key::OUTPUT_TOKENS, output.text.replace(',', ""));
    Some(3)
}

/// A number and what it counts: `600W`, `100 concurrent requests`, `5 req/s`, `single user`.
fn counted(tokens: &[Token<'_>], factors: &mut Factors) -> Option<usize> {
    let (first, second) = (tokens.first()?, tokens.get(1)?);
    if matches!(first.text.to_lowercase().as_str(), "single" | "one") && is_user(second) {
        factors.set(key::CONCURRENCY, 1);
        return Some(2);
    }
    first.number()?;
    let number = first.text.replace(',', "");
    let third = tokens.get(2);
    if second.text == "W" || second.is("watt") || second.is("watts") {
        let more = usize::from(third.is_some_and(|token| token.is("power")))
            + usize::from(tokens.get(3).is_some_and(|token| token.is("limit") || token.is("cap")));
        factors.set(key::POWER_LIMIT_W, number);
        return Some(2 + more);
    }
    if second.is("concurrent") || second.is("parallel") || second.is("simultaneous") {
        let more = third.is_some_and(|token| is_user(token));
        factors.set(key::CONCURRENCY, number);
        return Some(2 + usize::from(more));
    }
    if is_user(second) && !second.is("requests") && !second.is("request") {
        factors.set(key::CONCURRENCY, number);
        return Some(2);
    }
    if second.is("rps") || second.is("qps") {
        factors.set(key::RATE, number);
        return Some(2);
    }
    let per_second = tokens.get(2).is_some_and(|token| token.is("/"))
        && tokens.get(3).is_some_and(|token| token.is("s"));
    if (second.is("req") || second.is("requests")) && per_second {
        factors.set(key::RATE, number);
        return Some(4);
    }
    None
}

fn is_user(token: &Token<'_>) -> bool {
    let words = [
        "user", "users", "client", "clients", "stream", "streams", "requests", "request",
        "sessions",
    ];
    words.iter().any(|word| token.is(word))
}

/// `c=32`, `batch size: 8`, `power limit 450 W`, and any other name with `=`.
fn assigned(tokens: &[Token<'_>], factors: &mut Factors) -> Option<usize> {
    let mut name = String::new();
    for (at, token) in tokens.iter().take(6).enumerate() {
        match token.kind {
            Kind::Word => {
                if !name.is_empty() {
                    name.push(' ');
                }
                name.push_str(&token.text.to_lowercase().replace('_', " "));
            }
            Kind::Sign if token.is("-") && !name.is_empty() => continue,
            _ => return None,
        }
        let next = tokens.get(at + 1)?;
        let equals = next.is("=") || next.is(":");
        let known = setting(&name);
        let value_at = at + if equals { 2 } else { 1 };
        let value = tokens.get(value_at);
        match (known, value) {
            (Some(factor), Some(value))
                if equals || is_plain_number(factor, value, tokens.get(value_at + 1)) =>
            {
                let watts = tokens
                    .get(value_at + 1)
                    .filter(|unit| factor == key::POWER_LIMIT_W && unit.is("W"));
                // A number that is counted ends where its digits end.
                let (text, count) = match value.number() {
                    Some(_) if COUNTED.contains(&factor) => (value.text.replace(',', ""), 1),
                    _ => value_text(tokens.get(value_at..).unwrap_or_default())?,
                };
                if at == 0 && token.text.len() == 1 && !equals {
                    return None;
                }
                factors.set(factor, text);
                return Some(value_at + count + usize::from(watts.is_some()));
            }
            (None, Some(_)) if next.is("=") && at == 0 => {
                let (text, count) = value_text(tokens.get(value_at..).unwrap_or_default())?;
                factors.set(token.text, text);
                return Some(value_at + count);
            }
            _ => {}
        }
    }
    None
}

/// Settings whose values are numbers.
const COUNTED: &[&str] = &[
    key::CONCURRENCY,
    key::BATCH_SIZE,
    key::INPUT_TOKENS,
    key::OUTPUT_TOKENS,
    key::POWER_LIMIT_W,
    key::TENSOR_PARALLEL,
    key::RATE,
    key::DEPTH_TOKENS,
];

/// Whether a number without a unit follows the name of a counted setting.
fn is_plain_number(factor: &str, value: &Token<'_>, next: Option<&Token<'_>>) -> bool {
    let unit = next.is_none_or(|next| {
        next.kind != Kind::Word || factor == key::POWER_LIMIT_W || is_user(next)
    });
    COUNTED.contains(&factor) && value.number().is_some() && unit
}

/// The text of a value and how many tokens it is: `32`, `max`, `Qwen/Qwen3-8B`.
fn value_text(tokens: &[Token<'_>]) -> Option<(String, usize)> {
    let first = tokens.first().filter(|token| token.kind != Kind::Sign)?;
    let mut text = first.text.to_owned();
    let mut end = first.end;
    let mut count = 1;
    for token in tokens.iter().skip(1) {
        if token.start != end || token.is(",") || token.is(")") || token.is(";") || token.is("]") {
            break;
        }
        text.push_str(token.text);
        end = token.end;
        count += 1;
    }
    let number = first.number().is_some();
    Some((if number { text.replace(',', "") } else { text }, count))
}

/// `TP2`, `TP 4`.
fn parallel(tokens: &[Token<'_>], factors: &mut Factors) -> Option<usize> {
    let digits = tokens
        .first()?
        .text
        .strip_prefix("TP")
        .or_else(|| tokens.first()?.text.strip_prefix("tp"))?;
    let _: u32 = digits.parse().ok()?;
    factors.set(key::TENSOR_PARALLEL, digits);
    Some(1)
}

/// Arrows of LaTeX and of keyboards as one sign.
fn arrows(text: &str) -> String {
    let mut text = text.to_owned();
    for arrow in [
        "$\\Rightarrow$",
        "$\\rightarrow$",
        "$\\to$",
        "$\\longrightarrow$",
        "\\Rightarrow",
        "\\rightarrow",
        "\\to ",
        "⇒",
        "⟶",
        "⟹",
        "➜",
        "➔",
        "=>",
        "->",
    ] {
        if text.contains(arrow) {
            text = text.replace(arrow, "→");
        }
    }
    text
}

fn without(text: &str, used: &[Range<usize>]) -> String {
    let mut out = String::new();
    let mut at = 0;
    for range in used {
        out.push_str(text.get(at..range.start).unwrap_or_default());
        out.push(' ');
        at = range.end;
    }
    out.push_str(text.get(at..).unwrap_or_default());
    tidy(&out)
}

/// Without parentheses that hold nothing any more, and without separators at the ends.
fn tidy(text: &str) -> String {
    let mut text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for empty in ["( )", "()", "(,)", "( ,)", "(, )", "[ ]", "[]"] {
        text = text.replace(empty, " ");
    }
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let ends = |c: char| {
        c.is_whitespace() || matches!(c, ',' | ':' | ';' | '-' | '–' | '—' | '|' | '@' | '·' | '/')
    };
    text.trim_matches(ends).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_become_factors() {
        for (heading, expected) in [
            ("600W", "power_limit_w=600"),
            ("Power limit 450 W", "power_limit_w=450"),
            ("power limit: 450W", "power_limit_w=450"),
            ("input_len=1,024, c=8", "concurrency=8 input_tokens=1024"),
            ("c=32", "concurrency=32"),
            ("c=max", "concurrency=max"),
            ("100 Concurrent Requests", "concurrency=100"),
            ("Concurrency: 8", "concurrency=8"),
            ("64 users", "concurrency=64"),
            ("single user", "concurrency=1"),
            (
                "Configuration: batch_size=1, input_len=128, output_len=64",
                "batch_size=1 input_tokens=128 output_tokens=64",
            ),
            (
                "Random (1500 $\\Rightarrow$ 250) (100 Concurrent Requests)",
                "concurrency=100 input_tokens=1500 output_tokens=250 workload=Random",
            ),
            ("ShareGPT (50 Concurrent Requests)", "concurrency=50 workload=ShareGPT"),
            (
                "Edit 10K Characters (1 Concurrent Requests)",
                "concurrency=1 workload=Edit 10K Characters",
            ),
            ("1,024 -> 128", "input_tokens=1024 output_tokens=128"),
            ("Mistral Nemo 12B", "model=Mistral Nemo 12B"),
            ("Qwen3-8B-FP8 (c=4)", "concurrency=4 model=Qwen3-8B-FP8 quantization=FP8"),
            ("Llama 3.1 8B on RTX 4090", "gpu=RTX 4090"),
            ("llama.cpp", "engine=llama.cpp"),
            ("NVIDIA H100 80GB HBM3", "gpu=NVIDIA H100 80GB HBM3"),
            ("8xH100 SXM", "gpu=H100 SXM hardware=8xH100 SXM"),
            ("4 x L40S, TP=4", "gpu=L40S hardware=4 x L40S tensor_parallel=4"),
            ("TP2, rate=5", "rate_req_per_s=5 tensor_parallel=2"),
            ("gpu_memory_utilization=0.9", "gpu_memory_utilization=0.9"),
            ("5 req/s", "rate_req_per_s=5"),
            ("W8A8", "quantization=W8A8"),
            ("TTFT and ITL Comparison", ""),
            ("Performance Ranking (by Output Throughput)", ""),
            ("Detailed Results", ""),
            ("End-to-End Latency (P99)", ""),
            ("Results at 2026", ""),
        ] {
            let found = factors(heading);
            let found: Vec<String> =
                found.iter().map(|(name, value)| format!("{name}={value}")).collect();
            assert_eq!(found.join(" "), expected, "{heading}");
        }
    }
}
