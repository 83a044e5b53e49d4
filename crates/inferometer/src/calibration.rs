//! How long prompts are by the server's own count, found out before a run.
//!
//! Without the model's tokenizer the words of a prompt are counted by the embedded vocabulary. A
//! few requests for one token each tell how the server counts the same words: what it adds to each
//! prompt, and how many tokens it counts for one of ours. Prompts are then made so long that the
//! server counts what was asked.
//!
//! The words are counted all at once rather than by samples. They stand in two texts; the tokens of
//! both apart, less those of both in one prompt, are what a prompt has whatever it says.

use crate::caller::Caller;
use ifm_core::Prompt;
use ifm_core::spec::{Api, Calibration};
use ifm_tokenizer::Tokenizer;
use ifm_wire::request::Ask;
use ifm_wire::{Expect, RequestTemplate};
use ifm_workload::{Generator, LengthRange, LengthScale, RandomSpec, word_texts};
use std::time::{Duration, Instant};

/// Most requests.
const REQUESTS_MAX: u32 = 8;
/// Longest time for all of them.
const TIME_MAX: Duration = Duration::from_secs(30);
/// Longest time that the two texts of words may take, by what the first request took.
const WORDS_TIME_S: f64 = 4.0;
/// Words of the first request.
const FIRST_WORDS: u32 = 32;
/// Fewest words that tell something.
const WORDS_MIN: u32 = 16;
/// Longest time that one prompt may take that only checks the result.
const CHECK_TIME_S: f64 = 8.0;
/// Prompts of the length asked for in one check: at least, and as many as make this many tokens
/// while requests are left.
const CHECKS_MIN: u32 = 2;
const CHECKED_TOKENS: u32 = 1024;
/// What the mean length may be off.
const ERROR_SHARE_MAX: f64 = 0.01;
/// What it may be off where that is less than a token.
const ERROR_TOKENS_MAX: f64 = 1.0;
/// Standard errors by which a few prompts may be off by the chance of their words.
const CHANCE_ERRORS: f64 = 2.0;

/// What is to be calibrated.
pub struct CalibrationAsk<'ask> {
    /// The run's requests.
    pub template: &'ask RequestTemplate,
    /// Their API.
    pub api: Api,
    /// Counts the words of the prompts.
    pub tokenizer: &'ask Tokenizer,
    /// Lengths that prompts are to have.
    pub prompt_tokens: LengthRange,
    /// Seed of the run: the prompts sent here are others than its own.
    pub seed: u64,
    /// Context of the model, if known.
    pub context_tokens: Option<u32>,
}

/// What came out.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Calibrated {
    /// What to make prompts by.
    pub scale: LengthScale,
    /// What to store.
    pub facts: Calibration,
    /// Whether prompts came out as long as asked, as far as that was looked at.
    pub is_close: bool,
}

/// Prompts of the length asked for, as the server counted them.
#[derive(Debug, Clone, Copy)]
struct Check {
    /// Mean of (counted / asked - 1).
    share: f64,
    /// Tokens of all of them, as made.
    made: u32,
}

impl Check {
    /// Whether the mean is as near as it should be, or as near as the chance of so few words lets
    /// one tell. A word is one token more than the ratio's whole part or is not, so that the
    /// variance of its tokens is about the fraction above 1.
    fn is_close(&self, asked: u32, ratio: f64) -> bool {
        let chance = ((ratio - 1.0).abs().max(0.01) / f64::from(self.made.max(1))).sqrt() / ratio;
        let limit = ERROR_SHARE_MAX.max(ERROR_TOKENS_MAX / f64::from(asked.max(1)));
        self.share.abs() <= limit.max(CHANCE_ERRORS * chance)
    }
}

/// Finds out how the server counts.
///
/// # Errors
/// Why it cannot be found out, in a clause: the server does not count, refuses, or its counts do
/// not add up.
pub fn calibrate(caller: &mut Caller, ask: &CalibrationAsk<'_>) -> Result<Calibrated, String> {
    let mut counter = Counter {
        caller,
        ask,
        bytes: Vec::new(),
        requests: 0,
        tokens_per_s: 0.0,
        until: Instant::now() + TIME_MAX,
    };
    let mut sums = counter.count_words()?;
    let shortest = ask.prompt_tokens.min();
    if sums.template_tokens >= shortest {
        return Err(format!(
            "the server adds {} tokens to each prompt, and {shortest} in all were asked for",
            sums.template_tokens
        ));
    }
    let mut checked = None;
    while let Some(check) = counter.check(&mut sums) {
        checked = Some(check);
        let is_close = check.is_close(ask.prompt_tokens.max(), sums.scale()?.ratio());
        if is_close || counter.requests + CHECKS_MIN > REQUESTS_MAX {
            break;
        }
        // All that was counted so far, the words and the prompts, makes the next guess.
        sums = sums.pooled();
    }
    let scale = sums.scale()?;
    Ok(Calibrated {
        scale,
        facts: Calibration {
            template_tokens: scale.template_tokens(),
            ratio: scale.ratio(),
            requests: counter.requests,
            error_share: checked.map(|check| check.share),
        },
        is_close: checked
            .is_none_or(|check| check.is_close(ask.prompt_tokens.max(), scale.ratio())),
    })
}

/// Tokens as made and as counted, the template apart.
#[derive(Debug, Clone, Copy)]
struct Sums {
    template_tokens: u32,
    made: u32,
    counted: u32,
    checks_made: u32,
    checks_counted: u32,
}

impl Sums {
    fn scale(&self) -> Result<LengthScale, String> {
        let scale = LengthScale::new(self.template_tokens, self.counted, self.made);
        scale.ok_or_else(|| "its counts of prompt tokens do not add up".to_owned())
    }

    fn pooled(&self) -> Sums {
        Sums {
            made: self.made.saturating_add(self.checks_made),
            counted: self.counted.saturating_add(self.checks_counted),
            checks_made: 0,
            checks_counted: 0,
            ..*self
        }
    }
}

struct Counter<'counter> {
    caller: &'counter mut Caller,
    ask: &'counter CalibrationAsk<'counter>,
    bytes: Vec<u8>,
    requests: u32,
    tokens_per_s: f64,
    until: Instant,
}

impl Counter<'_> {
    /// Has the server count a text.
    fn count(&mut self, text: String) -> Result<u32, String> {
        let left = self.until.saturating_duration_since(Instant::now());
        if left.is_zero() || self.requests >= REQUESTS_MAX {
            return Err(format!("it took longer than {} s", TIME_MAX.as_secs()));
        }
        let prompt = Prompt::Text(text);
        let ask = Ask { prompt: &prompt, output_tokens: Some(1), fields: None };
        self.ask.template.write(&ask, &mut self.bytes).map_err(|error| error.to_string())?;
        self.requests += 1;
        let reply = self.caller.send(&self.bytes, left);
        if !reply.is_success() {
            return Err(format!("a request for one token failed ({})", reply.fault()));
        }
        let answer = reply.answer(Expect { api: self.ask.api, keep_text: false });
        if let Some(error) = answer.error {
            return Err(format!("a request for one token failed ({error})"));
        }
        let counted = answer.prompt_tokens.filter(|counted| !counted.from.is_estimate());
        let tokens = counted.ok_or("the server does not tell how long a prompt was")?.tokens;
        let seconds = (reply.took_ns() as f64 / 1e9).max(1e-6);
        self.tokens_per_s = self.tokens_per_s.max(f64::from(tokens) / seconds);
        Ok(tokens)
    }

    /// The words of prompts: what the server counts for them, and beside them.
    fn count_words(&mut self) -> Result<Sums, String> {
        let words = |tokens_max: u32| {
            word_texts(self.ask.tokenizer, tokens_max).map_err(|error| error.to_string())
        };
        let [(first, _), _] = words(2 * FIRST_WORDS)?;
        let room = self.ask.context_tokens.map_or(u32::MAX, |tokens| tokens / 2);
        self.count(first)?;
        let affordable = (self.tokens_per_s * WORDS_TIME_S / 2.0).min(f64::from(u32::MAX)) as u32;
        let [(first, _), (second, _)] = words(affordable.min(room).max(WORDS_MIN))?;
        let both = format!("{first} {second}");
        let made = self.ask.tokenizer.encode(&both).map_err(|error| error.to_string())?.len();
        let apart = i64::from(self.count(first)?) + i64::from(self.count(second)?);
        let together = self.count(both)?;
        let template_tokens = u32::try_from(apart - i64::from(together)).unwrap_or(0);
        Ok(Sums {
            template_tokens,
            made: made as u32,
            counted: together.saturating_sub(template_tokens),
            checks_made: 0,
            checks_counted: 0,
        })
    }

    /// Prompts as the run would make them. Absent where they would take too long, or are refused.
    fn check(&mut self, sums: &mut Sums) -> Option<Check> {
        let (min, max) = (self.ask.prompt_tokens.min(), self.ask.prompt_tokens.max());
        let checks = CHECKED_TOKENS.div_ceil(max.max(1)).max(CHECKS_MIN);
        let (mut shares, mut made) = (Vec::new(), 0_u32);
        for number in 0..checks.min(REQUESTS_MAX - self.requests.min(REQUESTS_MAX)) {
            // The longest prompts weigh most; of a range, one in its middle as well.
            let asked = if number % 2 == 0 { max } else { min.midpoint(max) };
            if f64::from(asked) > CHECK_TIME_S * self.tokens_per_s {
                break;
            }
            let Some((text, tokens)) = self.prompt(sums, asked) else { break };
            let Ok(counted) = self.count(text) else { break };
            made = made.saturating_add(tokens);
            let inner = counted.saturating_sub(sums.template_tokens);
            sums.checks_counted = sums.checks_counted.saturating_add(inner);
            shares.push(f64::from(counted) / f64::from(asked.max(1)) - 1.0);
        }
        sums.checks_made = sums.checks_made.saturating_add(made);
        let share = shares.iter().sum::<f64>() / shares.len().max(1) as f64;
        (!shares.is_empty()).then_some(Check { share, made })
    }

    /// A prompt of the workload's kind but not of the run, and its tokens by our tokenizer.
    fn prompt(&self, sums: &Sums, asked: u32) -> Option<(String, u32)> {
        let scale = sums.scale().ok()?;
        let seed = self.ask.seed ^ 0xca11_b7a7_0000_0000 ^ u64::from(self.requests);
        let spec = RandomSpec { scale, ..RandomSpec::fixed(asked, 1, seed).ok()? };
        let mut item = Generator::random(&spec, self.ask.tokenizer).ok()?.next_item().ok()?;
        match item.turns.pop()?.prompt {
            Prompt::Text(text) => Some((text, scale.text_tokens(asked))),
            Prompt::Tokens(_) | Prompt::Messages(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Said, server};
    use ifm_wire::request::TemplateSpec;
    use serde_json::{Map, json};

    /// Calibrates against a server that counts the text of a prompt by `count`; absent gives no
    /// usage.
    fn against(
        prompt_tokens: (u32, u32),
        context_tokens: Option<u32>,
        count: impl Fn(&str) -> Option<u32> + Send + Sync + 'static,
    ) -> Result<Calibrated, String> {
        let endpoint = server(move |asked| {
            assert_eq!(
                (asked.method.as_str(), asked.body["max_tokens"].as_u64()),
                ("POST", Some(1))
            );
            let counted = count(asked.body["prompt"].as_str().unwrap());
            let usage = counted.map(|tokens| json!({"prompt_tokens": tokens}));
            let choice = json!({"index": 0, "text": "a", "finish_reason": "length"});
            Said::Json(200, json!({"choices": [choice], "usage": usage}))
        });
        let template = RequestTemplate::new(&TemplateSpec {
            api: Api::Completions,
            host: "h",
            path: "/v1/completions",
            model: "m",
            authorization: None,
            headers: &[],
            stream: false,
            ignore_eos: true,
            temperature: None,
            extra_body: &Map::new(),
        });
        let ask = CalibrationAsk {
            template: &template.unwrap(),
            api: Api::Completions,
            tokenizer: &Tokenizer::embedded().unwrap(),
            prompt_tokens: LengthRange::new(prompt_tokens.0, prompt_tokens.1).unwrap(),
            seed: 1,
            context_tokens,
        };
        let mut caller = Caller::new(endpoint);
        let calibrated = calibrate(&mut caller, &ask);
        assert!(caller.calls() <= REQUESTS_MAX);
        calibrated
    }

    /// As a tokenizer that takes words of more than five letters apart, behind a template.
    fn in_parts(text: &str) -> Option<u32> {
        Some(17 + text.split(' ').map(|word| 1 + u32::from(word.len() > 5)).sum::<u32>())
    }

    #[test]
    fn another_tokenizer_and_a_template_are_found_out() {
        for (prompt_tokens, context) in [((128, 128), None), ((100, 4000), Some(8192))] {
            let calibrated = against(prompt_tokens, context, in_parts).unwrap();
            let facts = calibrated.facts;
            assert_eq!(facts.template_tokens, 17);
            assert!(calibrated.is_close && facts.requests <= 8, "{calibrated:?}");
            // By counting every word that prompts are made of.
            let [(first, _), (second, _)] =
                word_texts(&Tokenizer::embedded().unwrap(), u32::MAX).unwrap();
            let words = format!("{first} {second}");
            let all = f64::from(in_parts(&words).unwrap() - 17) / words.split(' ').count() as f64;
            assert!((facts.ratio / all - 1.0).abs() < 0.01, "{} and {all}", facts.ratio);
        }
    }

    #[test]
    fn the_same_tokenizer_has_the_ratio_one() {
        let calibrated =
            against((64, 64), None, |text| Some(text.split(' ').count() as u32)).unwrap();
        assert_eq!((calibrated.facts.template_tokens, calibrated.facts.ratio), (0, 1.0));
        assert_eq!((calibrated.facts.error_share, calibrated.is_close), (Some(0.0), true));
    }

    #[test]
    fn a_small_context_is_kept() {
        let calibrated = against((50, 50), Some(128), |text| {
            let tokens = in_parts(text)?;
            assert!(tokens < 128, "{tokens}");
            Some(tokens)
        });
        assert_eq!(calibrated.unwrap().facts.template_tokens, 17);
    }

    #[test]
    fn counts_that_are_none_are_not_believed() {
        let error = |count: fn(&str) -> Option<u32>| against((64, 64), None, count).unwrap_err();
        assert!(error(|_| None).contains("does not tell"));
        assert!(error(|_| Some(10)).contains("do not add up"));
        assert!(error(|text| Some(80 + text.len() as u32)).contains("64 in all were asked for"));
    }

    #[test]
    fn lengths_that_cannot_be_reached_are_told() {
        // It counts long prompts by another rule than short ones.
        let twice = |text: &str| {
            let words = text.split(' ').count() as u32;
            Some(if words > 2500 { words * 9 } else { words })
        };
        let calibrated = against((4096, 4096), None, twice).unwrap();
        assert!(!calibrated.is_close, "{calibrated:?}");
    }
}
