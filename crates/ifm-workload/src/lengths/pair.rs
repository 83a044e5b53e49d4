//! Lengths of prompt and output together, in every tool's spelling.
//!
//! `1500/250` and any two laws; GuideLLM's `prompt_tokens=1000,output_tokens=200`;
//! genai-bench's `D(100,1000)`, `N(480,240)/(300,150)` and `U(50,100)/(200,250)`.
//!
//! Not here: what a range ratio means (`ratio`).

use std::{collections::BTreeMap, str::FromStr};

use super::{LengthRange, Lengths};
use crate::error::WorkloadError;

/// The rule of genai-bench's lengths.
pub(crate) const GENAI_BENCH: &str = "genai-bench scenario";
/// genai-bench asks for at least this many tokens.
const GENAI_OUTPUT_MIN: u32 = 2;
/// What GuideLLM's text may say of lengths here.
const GUIDELLM_KEYS: &str = "prompt_tokens, output_tokens, and each with _stdev, _min and _max";

/// Lengths of prompt and output.
#[derive(Debug, Clone, PartialEq)]
pub struct LengthPair {
    /// Tokens of each prompt.
    pub prompt: Lengths,
    /// Tokens to ask for in each request.
    pub output: Lengths,
    /// Whose rule made the lengths, where it is another tool's.
    pub rule: Option<&'static str>,
}

impl LengthPair {
    /// Whether a text looks like a pair of lengths rather than a name.
    pub(crate) fn is_like(text: &str) -> bool {
        let law = ["normal(", "lognormal(", "histogram("];
        text.starts_with(|first: char| first.is_ascii_digit())
            || law.iter().any(|law| text.starts_with(law))
            || genai(text).is_some()
            || text.contains("prompt_tokens")
    }

    /// GuideLLM's keys, as `a=1,b=2` or as JSON: a standard deviation gives a normal law
    /// within five deviations, bounds alone a uniform one.
    ///
    /// # Errors
    /// [`WorkloadError::Shape`] for a key or a number that is not understood,
    /// [`WorkloadError::Length`].
    pub fn guidellm(text: &str) -> Result<Self, WorkloadError> {
        let mut keys = guidellm_keys(text)?;
        let prompt = guidellm_side(text, &mut keys, "prompt_tokens")?;
        let output = guidellm_side(text, &mut keys, "output_tokens")?;
        match keys.into_keys().next() {
            Some(key) => {
                Err(shape(text, format!("'{key}' is not known here; there are {GUIDELLM_KEYS}")))
            }
            None => Ok(Self { prompt, output, rule: Some("GuideLLM synthetic_text lengths") }),
        }
    }

    /// genai-bench's scenarios of text.
    ///
    /// # Errors
    /// [`WorkloadError::Shape`], [`WorkloadError::Length`].
    pub fn genai_bench(text: &str) -> Result<Self, WorkloadError> {
        let usage = "write D(100,1000), N(480,240)/(300,150), U(50,100)/(200,250) or U(100,200)";
        let Some((letter, numbers)) = genai(text) else {
            return Err(shape(text, usage));
        };
        let floor = GENAI_OUTPUT_MIN;
        let (prompt, output) = match (letter, numbers.as_slice()) {
            ('D', [prompt, output]) => (Lengths::fixed(*prompt)?, Lengths::fixed(*output)?),
            ('N', [mean, stdev, mean_out, stdev_out]) => (
                Lengths::normal_cut(*mean, *stdev, 1)?,
                Lengths::normal_cut(*mean_out, *stdev_out, floor)?,
            ),
            ('U', [min, max, min_out, max_out]) => (
                Lengths::uniform_cut(*min, *max, 1)?,
                Lengths::uniform_cut(*min_out, *max_out, floor)?,
            ),
            ('U', [max, max_out]) => {
                (Lengths::uniform_cut(1, *max, 1)?, Lengths::uniform_cut(1, *max_out, floor)?)
            }
            _ => return Err(shape(text, usage)),
        };
        Ok(Self { prompt, output, rule: Some(GENAI_BENCH) })
    }
}

impl FromStr for LengthPair {
    type Err = WorkloadError;

    fn from_str(text: &str) -> Result<Self, WorkloadError> {
        let text = text.trim();
        if text.contains("prompt_tokens") {
            return Self::guidellm(text);
        }
        if genai(text).is_some() {
            return Self::genai_bench(text);
        }
        match split_pair(text) {
            Some((prompt, output)) => {
                Ok(Self { prompt: prompt.parse()?, output: output.parse()?, rule: None })
            }
            None => Err(shape(text, "write prompt and output tokens, as in random:1500/250")),
        }
    }
}

fn shape(text: &str, reason: impl Into<String>) -> WorkloadError {
    WorkloadError::Shape { text: text.to_owned(), reason: reason.into() }
}

/// Takes a text apart at its first `/` that stands in no brackets.
fn split_pair(text: &str) -> Option<(&str, &str)> {
    let mut depth = 0_i32;
    let place = text.find(|character| {
        match character {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        character == '/' && depth == 0
    })?;
    Some((text.get(..place)?, text.get(place + 1..)?))
}

/// `N(480,240)/(300,150)` as its letter and its numbers.
fn genai(text: &str) -> Option<(char, Vec<u32>)> {
    let mut characters = text.trim().chars();
    let letter = characters.next().filter(|letter| "DNU".contains(*letter))?;
    let rest = characters.as_str().strip_prefix('(')?.strip_suffix(')')?;
    let groups = rest.split(")/(").collect::<Vec<_>>();
    let numbers = groups.iter().flat_map(|group| group.split(','));
    let numbers = numbers.map(|part| part.trim().parse().ok()).collect::<Option<Vec<u32>>>()?;
    (groups.len() <= 2).then_some((letter, numbers))
}

fn guidellm_keys(text: &str) -> Result<BTreeMap<String, u32>, WorkloadError> {
    if text.trim_start().starts_with('{') {
        let wrong = |error| shape(text, format!("GuideLLM's keys need whole numbers: {error}"));
        return serde_json::from_str(text).map_err(wrong);
    }
    let pairs = text.split(',').map(|part| {
        let (key, number) = part.split_once('=')?;
        Some((key.trim().to_owned(), number.trim().parse().ok()?))
    });
    let wrong = || shape(text, "write GuideLLM's keys as prompt_tokens=1000,output_tokens=200");
    pairs.collect::<Option<_>>().ok_or_else(wrong)
}

/// `X`, `X_stdev`, `X_min` and `X_max` as GuideLLM's `IntegerRangeSampler` reads them.
fn guidellm_side(
    text: &str,
    keys: &mut BTreeMap<String, u32>,
    name: &str,
) -> Result<Lengths, WorkloadError> {
    let mut take = |suffix: &str| keys.remove(&format!("{name}{suffix}"));
    let (mean, stdev, min, max) = (take(""), take("_stdev"), take("_min"), take("_max"));
    let mean = mean.ok_or_else(|| shape(text, format!("{name} is missing")))?;
    match stdev {
        Some(stdev) => Lengths::normal(mean.into(), stdev.into(), min, max),
        None => LengthRange::new(min.unwrap_or(mean), max.unwrap_or(mean)).map(Lengths::from),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_is_read() {
        for (text, prompt, output) in [
            ("1500/250", "1500", "250"),
            ("normal(9,1)/100:5,200:3", "normal(9,1,4,14)", "histogram(100:5,200:3)"),
            ("D(100,1000)", "100", "1000"),
            ("N(480,240)/(300,150)", "N(480,240)", "N(300,150)"),
            ("U(50,100)/(200,250)", "U(50,100)", "U(200,250)"),
            ("U(100,200)", "U(1,100)", "U(1,200)"),
            ("prompt_tokens=1000,output_tokens=200", "1000", "200"),
            (
                "prompt_tokens=1000, output_tokens=200, prompt_tokens_stdev=100",
                "normal(1000,100,500,1500)",
                "200",
            ),
            (r#"{"prompt_tokens":10,"output_tokens":20,"output_tokens_min":5}"#, "10", "5-20"),
        ] {
            let pair = text.parse::<LengthPair>().unwrap();
            assert_eq!(
                (pair.prompt.to_string(), pair.output.to_string()),
                (prompt.into(), output.into())
            );
            assert!(LengthPair::is_like(text), "{text}");
        }
        for text in ["sharegpt", "D100", "N(1,2)", "U(1)", "random"] {
            assert!(text.parse::<LengthPair>().is_err(), "{text}");
        }
        assert!(!LengthPair::is_like("sharegpt"));
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (text, part) in [
            ("1024", "random:1500/250"),
            ("prompt_tokens=9", "output_tokens is missing"),
            ("prompt_tokens=9,output_tokens=x", "write GuideLLM's keys"),
            ("prompt_tokens=9,output_tokens=1,turns=3", "'turns' is not known"),
            ("N(1,2)", "N(480,240)/(300,150)"),
        ] {
            let error = text.parse::<LengthPair>().unwrap_err().to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
    }

    #[test]
    fn genai_bench_cuts_and_brings_up() {
        use ifm_made::Rng;
        let pair = LengthPair::genai_bench("U(50,52)/(1,3)").unwrap();
        let stream = Rng::new(1).stream("lengths");
        let drawn = (0..500).map(|item| {
            let mut draws = stream.item(item);
            (pair.prompt.draw(&mut draws), pair.output.draw(&mut draws))
        });
        let drawn = drawn.collect::<std::collections::BTreeSet<_>>();
        assert_eq!(drawn, [(50, 2), (51, 2)].into());
    }
}
