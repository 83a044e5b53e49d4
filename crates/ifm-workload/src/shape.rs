//! The name of a workload, as a user writes it.
//!
//! `chat` and the other scenarios, `1024/256` for prompt and output lengths, and
//! `random:1500/250` with the data set spelt out.
//!
//! Not here: reading data sets.

use std::{fmt, str::FromStr};

use crate::{
    dataset::{DATASETS, random},
    error::WorkloadError,
    lengths::LengthRange,
};

/// A named pair of lengths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scenario {
    /// The name.
    pub name: &'static str,
    /// Tokens of each prompt.
    pub prompt_tokens: u32,
    /// Tokens of each output.
    pub output_tokens: u32,
    /// What it stands for.
    pub summary: &'static str,
}

/// All scenarios. To add one, add a line.
pub const SCENARIOS: &[Scenario] = &[
    scenario("chat", 1024, 256, "a conversation"),
    scenario("rag", 4096, 256, "a question over retrieved documents"),
    scenario("agent", 16_384, 256, "an agent with a long history"),
    scenario("tools", 32_768, 256, "tool calls over long schemas and results"),
];

const fn scenario(
    name: &'static str,
    prompt_tokens: u32,
    output_tokens: u32,
    summary: &'static str,
) -> Scenario {
    Scenario { name, prompt_tokens, output_tokens, summary }
}

/// What a workload's name says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shape {
    name: String,
    kind: &'static str,
    prompt_tokens: LengthRange,
    output_tokens: LengthRange,
}

impl Shape {
    /// The name in its shortest form: a scenario's, or the lengths.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The data set's name, such as `random`.
    pub fn kind(&self) -> &'static str {
        self.kind
    }

    /// Tokens of each prompt.
    pub fn prompt_tokens(&self) -> LengthRange {
        self.prompt_tokens
    }

    /// Tokens of each output.
    pub fn output_tokens(&self) -> LengthRange {
        self.output_tokens
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.name)
    }
}

impl FromStr for Shape {
    type Err = WorkloadError;

    fn from_str(text: &str) -> Result<Self, WorkloadError> {
        let text = text.trim();
        if let Some(scenario) = SCENARIOS.iter().find(|scenario| scenario.name == text) {
            return Ok(Self {
                name: text.to_owned(),
                kind: random::KIND.name,
                prompt_tokens: LengthRange::fixed(scenario.prompt_tokens)?,
                output_tokens: LengthRange::fixed(scenario.output_tokens)?,
            });
        }
        let (kind, lengths) = match text.split_once(':') {
            Some((name, lengths)) => {
                let kind = DATASETS.iter().find(|kind| kind.name == name);
                (kind.ok_or_else(|| unknown(text))?, lengths)
            }
            None if text.starts_with(|first: char| first.is_ascii_digit()) => (&random::KIND, text),
            None => return Err(unknown(text)),
        };
        let Some((prompt, output)) = lengths.split_once('/') else {
            return Err(WorkloadError::Shape {
                text: text.to_owned(),
                reason: "write prompt and output tokens, as in random:1500/250".to_owned(),
            });
        };
        let (prompt_tokens, output_tokens) = (prompt.parse()?, output.parse()?);
        Ok(Self {
            name: format!("{prompt_tokens}/{output_tokens}"),
            kind: kind.name,
            prompt_tokens,
            output_tokens,
        })
    }
}

fn unknown(text: &str) -> WorkloadError {
    let scenarios = SCENARIOS.iter().map(|scenario| scenario.name);
    let scenarios = scenarios.collect::<Vec<_>>().join(", ");
    let kinds = DATASETS.iter().map(|kind| kind.usage).collect::<Vec<_>>().join(", ");
    WorkloadError::Shape {
        text: text.to_owned(),
        reason: format!("there are {scenarios}; or give lengths as 1024/256, or {kinds}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lengths(text: &str) -> (u32, u32, u32, u32) {
        let shape = text.parse::<Shape>().unwrap();
        let (prompt, output) = (shape.prompt_tokens(), shape.output_tokens());
        (prompt.min(), prompt.max(), output.min(), output.max())
    }

    #[test]
    fn names_and_lengths_are_understood() {
        assert_eq!(lengths("chat"), (1024, 1024, 256, 256));
        assert_eq!(lengths("rag"), (4096, 4096, 256, 256));
        assert_eq!(lengths("1024/256"), (1024, 1024, 256, 256));
        assert_eq!(lengths(" random:1500/250 "), (1500, 1500, 250, 250));
        assert_eq!(lengths("random:100-200/1-9"), (100, 200, 1, 9));
        assert_eq!("random:1500/250".parse::<Shape>().unwrap().to_string(), "1500/250");
        assert_eq!("chat".parse::<Shape>().unwrap().kind(), "random");
    }

    #[test]
    fn every_scenario_is_possible() {
        for scenario in SCENARIOS {
            let shape = scenario.name.parse::<Shape>().unwrap();
            assert_eq!(shape.name(), scenario.name);
            assert_eq!(shape.prompt_tokens().max(), scenario.prompt_tokens);
        }
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (text, part) in [
            ("chatt", "chat, rag"),
            ("", "chat, rag"),
            ("random:1500", "random:1500/250"),
            ("1024", "random:1500/250"),
            ("random:1500/x", "'x' is not a number"),
            ("random:0/5", "1 to 4194304"),
            ("random:9-3/5", "smaller first"),
            ("1/2/3", "'2/3' is not a number"),
            ("trace:1/2", "random:"),
        ] {
            let error = text.parse::<Shape>().unwrap_err().to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
