//! What is measured: tests in the notation of llama-bench, static batches, lists of values.

use serde::{Deserialize, Serialize};

/// What an engine is asked to do once: load `depth` tokens of each sequence, which is not timed; then
/// process the prompts, then step all sequences together, one token each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Case {
    /// Sequences at once.
    #[serde(rename = "batch_size")]
    pub batch: u32,
    /// Context tokens before each prompt.
    #[serde(rename = "depth_tokens")]
    pub depth: u32,
    /// Prompt tokens of each; without any, the steps begin after one token that is not timed.
    #[serde(rename = "prompt_tokens")]
    pub prompt: u32,
    /// Steps after the prompt.
    pub steps: u32,
}

/// How a test counts its tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// As llama-bench does: one sequence, every generated token a step.
    Bench,
    /// As a static batch: the prompt gives the first token, so that n tokens take n - 1 steps.
    Batch(u32),
}

/// One line of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Test {
    /// How it counts.
    pub shape: Shape,
    /// Prompt tokens of a sequence.
    pub prompt: u32,
    /// Tokens that a sequence generates.
    pub generated: u32,
    /// Context tokens before the prompt.
    pub depth: u32,
}

impl Test {
    /// What the engine is asked to do.
    pub fn case(&self) -> Case {
        let (batch, steps) = match self.shape {
            Shape::Bench => (1, self.generated),
            Shape::Batch(size) => (size, self.generated.saturating_sub(1)),
        };
        Case { batch, depth: self.depth, prompt: self.prompt, steps }
    }

    /// Tokens of a sequence in the end.
    pub fn context(&self) -> u32 {
        // Steps without a prompt begin after one token.
        self.depth + self.prompt.max(1) + self.generated
    }

    /// Its name, such as `pp512 @ d4096` or `8 x 128→64`.
    pub fn name(&self) -> String {
        let work = match (self.shape, self.prompt, self.generated) {
            (Shape::Batch(size), prompt, generated) => format!("{size} x {prompt}→{generated}"),
            (_, prompt, 0) => format!("pp{prompt}"),
            (_, 0, generated) => format!("tg{generated}"),
            (_, prompt, generated) => format!("pp{prompt}+tg{generated}"),
        };
        match self.depth {
            0 => work,
            depth => format!("{work} @ d{depth}"),
        }
    }
}

/// The static batches of a name: sequences, prompt tokens, output tokens.
pub fn preset(name: &str) -> Option<Batches> {
    presets().find(|(known, _)| *known == name).map(|(_, batches)| batches)
}

/// All such names with their batches.
pub fn presets() -> impl Iterator<Item = (&'static str, Batches)> {
    PRESETS.iter().copied()
}

/// Static batches: sequences, prompt tokens, output tokens.
pub type Batches = &'static [(u32, u32, u32)];

const PRESETS: &[(&str, Batches)] = &[
    // A short talk, a long answer, a document, a book; a group, a burst, a crowd.
    (
        "variants",
        &[
            (1, 128, 64),
            (1, 256, 512),
            (1, 2048, 32),
            (1, 16_384, 32),
            (8, 256, 128),
            (32, 256, 32),
            (64, 256, 128),
        ],
    ),
    ("quick", &[(1, 128, 32), (4, 128, 32), (8, 128, 32)]),
];

/// A list as llama-bench takes it: `1,2,4`, `8-64*2` (times two), `0-1024+128` (in steps of 128).
///
/// # Errors
/// What is not a number, or never ends.
pub fn values(text: &str) -> Result<Vec<u32>, String> {
    /// More would be a slip.
    const VALUES_MAX: usize = 1_000;
    let mut all = Vec::new();
    for part in text.split(',') {
        let number = |word: &str| {
            word.trim().parse::<u32>().map_err(|_| format!("\"{}\" is not a number", word.trim()))
        };
        let Some((first, rest)) = part.split_once('-') else {
            all.push(number(part)?);
            continue;
        };
        let (last, step, is_product) = match (rest.split_once('*'), rest.split_once('+')) {
            (Some((last, factor)), _) => (last, number(factor)?, true),
            (_, Some((last, step))) => (last, number(step)?, false),
            _ => (rest, 1, false),
        };
        let (mut value, last) = (number(first)?, number(last)?);
        if value > last {
            return Err(format!("\"{}\" ends before it begins", part.trim()));
        }
        while value <= last {
            all.push(value);
            let next = match is_product {
                true => value.checked_mul(step),
                false => value.checked_add(step),
            };
            match next {
                Some(next) if next > value => value = next,
                _ => return Err(format!("\"{}\" does not rise", part.trim())),
            }
            if all.len() > VALUES_MAX {
                return Err(format!("\"{}\" is more than {VALUES_MAX} values", part.trim()));
            }
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_as_llama_bench_takes_them() {
        assert_eq!(values("512"), Ok(vec![512]));
        assert_eq!(values("1,2, 4"), Ok(vec![1, 2, 4]));
        assert_eq!(values("8-64*2"), Ok(vec![8, 16, 32, 64]));
        assert_eq!(values("0-256+128"), Ok(vec![0, 128, 256]));
        assert_eq!(values("1-3"), Ok(vec![1, 2, 3]));
        for wrong in ["", "x", "1,", "1-8*1", "0-8*2", "1-8+0", "0-100000", "5-1"] {
            assert!(values(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_batch_has_one_step_less_than_tokens() {
        let batch = Test { shape: Shape::Batch(8), prompt: 128, generated: 64, depth: 0 };
        assert_eq!(batch.case(), Case { batch: 8, depth: 0, prompt: 128, steps: 63 });
        assert_eq!(batch.name(), "8 x 128→64");
        let bench = Test { shape: Shape::Bench, prompt: 0, generated: 128, depth: 4096 };
        assert_eq!(bench.case(), Case { batch: 1, depth: 4096, prompt: 0, steps: 128 });
        assert_eq!((bench.name().as_str(), bench.context()), ("tg128 @ d4096", 4225));
    }

    #[test]
    fn seven_batches_make_the_preset() {
        assert_eq!(preset("variants").map(<[_]>::len), Some(7));
        assert_eq!(preset("none"), None);
    }
}
