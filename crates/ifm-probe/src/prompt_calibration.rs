//! How long prompts are by the server's own count, determined before a run.
//!
//! Without the model's tokenizer, the embedded vocabulary counts the words of a prompt. The server's
//! count of the same words comes from its own tokenizer endpoint, if it has one (`server_tokenizer`), or
//! from a few requests for one token each. They show what the server adds to each prompt, and how
//! many tokens it counts per token of the embedded vocabulary. Prompts are then sized so that the
//! server counts what was requested. If that fails by far, there is no run.
//!
//! The words are counted all at once rather than by samples. They are divided into two texts. The
//! tokens of both texts counted separately, minus the tokens of both in one prompt, are the constant part
//! of every prompt.

use crate::preflight::{self, Preflight, one_token};
use crate::server_tokenizer::ServerTokenizer;
use ifm_core::Prompt;
use ifm_core::spec::Calibration;
use ifm_terminal::exit::Failure;
use ifm_tokenizer::Tokenizer;
use ifm_workload::{Generator, LengthRange, LengthScale, RandomSpec, word_texts};
use std::time::{Duration, Instant};

/// Most requests.
const REQUESTS_MAX: u32 = 8;
/// Time limit for all requests after the first, which may wait for the server to load its model.
const TIME_MAX: Duration = Duration::from_secs(30);
/// Time limit of the server's tokenizer for one text.
const TOKENIZER_TIME_MAX: Duration = Duration::from_secs(5);
/// Time limit for the two texts of words, as estimated from the first request.
const WORDS_TIME_S: f64 = 4.0;
/// Words of the first request.
const FIRST_WORDS: u32 = 32;
/// Minimum number of words for a meaningful count.
const WORDS_MIN: u32 = 16;
/// Time limit of one prompt that only checks the result.
const CHECK_TIME_S: f64 = 8.0;
/// Prompts of the requested length per check: the minimum, and as many as reach this many tokens
/// while requests are left.
const CHECKS_MIN: u32 = 2;
const CHECKED_TOKENS: u32 = 1024;
/// Maximum error of the mean length.
const ERROR_SHARE_MAX: f64 = 0.01;
/// Maximum error where that share is less than a token.
const ERROR_TOKENS_MAX: f64 = 1.0;
/// Errors above which the run does not start, as a share and in tokens; both must be exceeded.
const FAR_SHARE: f64 = 0.1;
const FAR_TOKENS: f64 = 8.0;
/// Share of the context that a text of words may take, by the counts so far.
const ROOM_SHARE: f64 = 0.9;
/// Factor by which texts are shortened after a refusal.
const SHORTER: u32 = 4;
/// Standard errors that a few prompts may be off because of the random choice of words.
const CHANCE_ERRORS: f64 = 2.0;

/// What is to be calibrated.
pub struct CalibrationAsk<'ask> {
    /// Counts the words of the prompts.
    pub tokenizer: &'ask Tokenizer,
    /// Requested prompt lengths.
    pub prompt_tokens: LengthRange,
    /// Seed of the run; the prompts sent here are different.
    pub seed: u64,
    /// Context of the model, if known.
    pub context_tokens: Option<u32>,
    /// The server's own tokenizer, if it has an endpoint.
    pub server: ServerTokenizer,
}

/// The result of a calibration.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Calibrated {
    /// How to size prompts.
    pub scale: LengthScale,
    /// What to store.
    pub facts: Calibration,
    /// Whether prompts had the requested length, as far as that was checked.
    pub is_close: bool,
}

/// Prompts of the requested length, as counted by the server.
#[derive(Debug, Clone, Copy)]
struct Check {
    /// Mean of (counted / asked - 1).
    share: f64,
    /// Tokens of all of them, as made.
    made: u32,
}

impl Check {
    /// Whether the mean is as close as it should be, or as close as chance allows with so few
    /// words. Each word is either the ratio's whole part in tokens or one more, so that the
    /// variance of its tokens is about the fraction above 1.
    fn is_close(&self, asked: u32, ratio: f64) -> bool {
        let chance = ((ratio - 1.0).abs().max(0.01) / f64::from(self.made.max(1))).sqrt() / ratio;
        let limit = ERROR_SHARE_MAX.max(ERROR_TOKENS_MAX / f64::from(asked.max(1)));
        self.share.abs() <= limit.max(CHANCE_ERRORS * chance)
    }

    /// Whether prompts are so far off that the run would answer a different question.
    fn is_far(&self, asked: u32) -> bool {
        let tokens = self.share.abs() * f64::from(asked);
        self.share.abs() > FAR_SHARE && tokens > FAR_TOKENS
    }
}

/// Why there is no calibration.
#[derive(Debug)]
pub enum Fault {
    /// The server's way of counting is unknown, for the reason in this clause.
    Unknown(String),
    /// The server adds this many tokens to each prompt, which is the whole length of this shortest
    /// prompt.
    Template(u32, u32),
    /// Prompts would be far from the requested length, as this clause says. With the status of a refusal.
    Far(String, Option<u16>),
    /// The load must not start.
    Stop(Box<Failure>),
}

/// Why a text was not counted.
enum Uncounted {
    /// The server refused the request, with this status: it may be too long.
    Refused(u16, String),
    /// Anything else.
    Unknown(String),
    /// The load must not start.
    Stop(Box<Failure>),
}

impl From<Uncounted> for Fault {
    fn from(uncounted: Uncounted) -> Fault {
        match uncounted {
            Uncounted::Refused(_, why) | Uncounted::Unknown(why) => Fault::Unknown(why),
            Uncounted::Stop(failure) => Fault::Stop(failure),
        }
    }
}

/// Determines how the server counts.
///
/// # Errors
/// The reason why this is impossible (the server does not count, refuses, or its counts do not add
/// up), or that prompts of the requested length cannot be created.
pub fn calibrate(preflight: &mut Preflight, ask: &CalibrationAsk<'_>) -> Result<Calibrated, Fault> {
    let mut counter = Counter::new(preflight, ask);
    let mut sums = counter.count_words()?;
    let mut ratio = sums.scale()?.ratio();
    let shortest = ask.prompt_tokens.min();
    if sums.template_tokens >= shortest {
        // The text is what remains of that length after the template.
        return Err(Fault::Template(sums.template_tokens, shortest));
    }
    let mut checked = None;
    while let Some(check) = counter.check(&mut sums)? {
        checked = Some(check);
        let is_close = check.is_close(ask.prompt_tokens.max(), ratio);
        if is_close || counter.requests + CHECKS_MIN > REQUESTS_MAX {
            break;
        }
        // The next guess uses all counts so far, of the words and of the prompts.
        sums = sums.pooled();
        ratio = sums.scale()?.ratio();
    }
    let longest = ask.prompt_tokens.max();
    match (checked, counter.refusal.take()) {
        (None, Some((status, why))) => {
            let why = format!("it refused a prompt of {longest} tokens: {why}");
            return Err(Fault::Far(why, Some(status)));
        }
        (Some(check), _) if check.is_far(longest) => {
            let why = format!(
                "prompts of {longest} tokens differ by {:+.1} % by the server's count, despite {} \
                 calibration requests",
                check.share * 100.0,
                counter.requests
            );
            return Err(Fault::Far(why, None));
        }
        _ => {}
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
        is_close: checked.is_none_or(|check| check.is_close(longest, scale.ratio())),
    })
}

/// Determines how many tokens the server adds to each prompt, with three short requests. `None` if the
/// server does not report counts.
///
/// # Errors
/// Why the load must not start.
pub fn measure_template(
    preflight: &mut Preflight,
    ask: &CalibrationAsk<'_>,
) -> Result<Option<u32>, Box<Failure>> {
    let mut counter = Counter::new(preflight, ask);
    let sums = counter.words(2 * FIRST_WORDS).and_then(|few| {
        let counted = counter.count(&few.apart[0])?;
        counter.count_apart(&few, Some(counted)).map_err(Fault::from)
    });
    match sums {
        Ok(sums) => Ok(sums.scale().is_ok().then_some(sums.template_tokens)),
        Err(Fault::Stop(failure)) => Err(failure),
        Err(_) => Ok(None),
    }
}

/// Tokens as made and as counted, without the template.
#[derive(Debug, Clone, Copy)]
struct Sums {
    template_tokens: u32,
    made: u32,
    counted: u32,
    checks_made: u32,
    checks_counted: u32,
}

impl Sums {
    fn of(template_tokens: u32, made: u32, counted: u32) -> Sums {
        Sums { template_tokens, made, counted, checks_made: 0, checks_counted: 0 }
    }

    fn scale(&self) -> Result<LengthScale, Fault> {
        let scale = LengthScale::new(self.template_tokens, self.counted, self.made);
        let fault = || Fault::Unknown("its counts of prompt tokens do not add up".to_owned());
        scale.ok_or_else(fault)
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
    preflight: &'counter mut Preflight,
    ask: &'counter CalibrationAsk<'counter>,
    requests: u32,
    tokens_per_s: f64,
    /// When the time is up; absent before the first answer.
    until: Option<Instant>,
    /// Tokens of the first text, as made and as counted.
    first: Option<(u32, u32)>,
    /// Why a prompt of the requested length was refused, and the status.
    refusal: Option<(u16, String)>,
}

/// Two texts of words, their tokens as made, and both in one.
struct WordTexts {
    apart: [String; 2],
    both: String,
    made: u32,
}

impl<'counter> Counter<'counter> {
    fn new(
        preflight: &'counter mut Preflight,
        ask: &'counter CalibrationAsk<'counter>,
    ) -> Counter<'counter> {
        Counter {
            preflight,
            ask,
            requests: 0,
            tokens_per_s: 0.0,
            until: None,
            first: None,
            refusal: None,
        }
    }

    fn left(&self) -> Duration {
        self.until.map_or(TIME_MAX, |until| until.saturating_duration_since(Instant::now()))
    }

    /// Lets the server count a text.
    fn count(&mut self, text: &str) -> Result<u32, Uncounted> {
        let left = self.left();
        if left.is_zero() || self.requests >= REQUESTS_MAX {
            let limit = TIME_MAX.as_secs();
            return Err(Uncounted::Unknown(format!("it took longer than {limit} s")));
        }
        let prompt = Prompt::Text(text.to_owned());
        self.requests += 1;
        let asked = self.preflight.ask(&one_token(&prompt), left);
        if self.preflight.has_answer() {
            self.until = self.until.or_else(|| Some(Instant::now() + TIME_MAX));
        }
        let failed = |why: String| format!("a request for one token failed ({why})");
        let exchange = asked.map_err(|fault| match fault {
            preflight::Fault::Stop(failure) => Uncounted::Stop(failure),
            preflight::Fault::TooLong(status, why)
            | preflight::Fault::Refused(status @ (400 | 422), why) => {
                Uncounted::Refused(status, failed(why))
            }
            preflight::Fault::Refused(_, why) | preflight::Fault::Failed(why) => {
                Uncounted::Unknown(failed(why))
            }
        })?;
        let (reply, answer) = (exchange.reply, exchange.answer);
        let counted = answer.prompt_tokens.filter(|counted| !counted.from.is_estimate());
        let silent =
            || Uncounted::Unknown("the server does not report how long a prompt was".to_owned());
        let tokens = counted.ok_or_else(silent)?.tokens;
        let seconds = (reply.took_ns() as f64 / 1e9).max(1e-6);
        self.tokens_per_s = self.tokens_per_s.max(f64::from(tokens) / seconds);
        Ok(tokens)
    }

    /// Texts with at most this many tokens together, by the embedded tokenizer.
    fn words(&self, tokens_max: u32) -> Result<WordTexts, Fault> {
        let unknown = |error: &dyn std::fmt::Display| Fault::Unknown(error.to_string());
        let texts = word_texts(self.ask.tokenizer, tokens_max).map_err(|error| unknown(&error))?;
        let apart = texts.map(|(text, _)| text);
        let both = apart.join(" ");
        let made = self.ask.tokenizer.encode(&both).map_err(|error| unknown(&error))?.len() as u32;
        Ok(WordTexts { apart, both, made })
    }

    /// The words of prompts: the server's count of them and of the constant part.
    fn count_words(&mut self) -> Result<Sums, Fault> {
        let few = self.words(2 * FIRST_WORDS)?;
        let [first, _] = &few.apart;
        let counted = self.count(first)?;
        let made = self.ask.tokenizer.encode(first).map_or(0, |tokens| tokens.len() as u32);
        self.first = Some((made, counted));
        match self.by_tokenizer(first, counted) {
            Some(sums) => Ok(sums),
            None => self.by_requests(&few, counted),
        }
    }

    /// By the server's own tokenizer endpoint, which is fast and has no length limit: all words at
    /// once. One request has shown the constant part around a prompt's text. `None` if the server
    /// has no such endpoint, or if its counts contradict the request.
    fn by_tokenizer(&mut self, first: &str, counted: u32) -> Option<Sums> {
        let words = self.words(u32::MAX).ok()?;
        let [mut one, mut other, mut both, mut in_first] = [0; 4];
        let texts = [
            (&mut in_first, first),
            (&mut one, words.apart[0].as_str()),
            (&mut other, words.apart[1].as_str()),
            (&mut both, words.both.as_str()),
        ];
        for (tokens, text) in texts {
            let limit = self.left().min(TOKENIZER_TIME_MAX);
            *tokens = self.ask.server.count(self.preflight.caller(), text, limit)?;
        }
        // What the tokenizer puts around every text.
        let around = one.saturating_add(other).saturating_sub(both);
        let template_tokens = counted.checked_sub(in_first.checked_sub(around)?)?;
        let sums = Sums::of(template_tokens, words.made, both.checked_sub(around)?);
        sums.scale().is_ok().then_some(sums)
    }

    /// By requests for one token, within the context, and shorter if the server refuses. `few` are
    /// texts of which the first was counted.
    fn by_requests(&mut self, few: &WordTexts, counted_first: u32) -> Result<Sums, Fault> {
        let affordable = (self.tokens_per_s * WORDS_TIME_S / 2.0).min(f64::from(u32::MAX)) as u32;
        let mut tokens_max = affordable.min(self.room()).max(WORDS_MIN);
        loop {
            let is_few = tokens_max == few.made;
            let own = if is_few { None } else { Some(self.words(tokens_max)?) };
            let words = own.as_ref().unwrap_or(few);
            match self.count_apart(words, is_few.then_some(counted_first)) {
                Ok(sums) => return Ok(sums),
                Err(Uncounted::Refused(..)) if words.made > few.made => {
                    tokens_max = (words.made / SHORTER).max(few.made);
                }
                Err(uncounted) => return Err(self.given_up(uncounted)),
            }
        }
    }

    /// Counts two texts, separately and together. `counted_first` is the known count of the first.
    fn count_apart(
        &mut self,
        words: &WordTexts,
        counted_first: Option<u32>,
    ) -> Result<Sums, Uncounted> {
        // The longest comes first: if it is refused, the others are not sent.
        let both = self.count(&words.both)?;
        let one = match counted_first {
            Some(counted) => counted,
            None => self.count(&words.apart[0])?,
        };
        let apart = one.saturating_add(self.count(&words.apart[1])?);
        let template_tokens = apart.saturating_sub(both);
        let counted = both.saturating_sub(template_tokens);
        Ok(Sums::of(template_tokens, words.made, counted))
    }

    /// Tokens by the embedded vocabulary that surely fit into the context, derived from the first
    /// text's count, with its template counted as words.
    fn room(&self) -> u32 {
        let Some((context, (made, counted))) = self.ask.context_tokens.zip(self.first) else {
            return u32::MAX;
        };
        let share = f64::from(made) / f64::from(counted.max(made).max(1));
        (f64::from(context) * ROOM_SHARE * share) as u32
    }

    /// Why there is no calibration although a first text was counted. That count at least shows
    /// whether prompts by the embedded vocabulary would be far off.
    fn given_up(&self, uncounted: Uncounted) -> Fault {
        let (status, why) = match uncounted {
            Uncounted::Refused(status, why) => (Some(status), why),
            Uncounted::Unknown(why) => (None, why),
            Uncounted::Stop(failure) => return Fault::Stop(failure),
        };
        let asked = f64::from(self.ask.prompt_tokens.max());
        let is_far = self.first.is_some_and(|(made, counted)| {
            let (made, counted) = (f64::from(made.max(1)), f64::from(counted));
            // Either all additional tokens are from the template, or all are from the words.
            let shares = [(counted - made) / asked, counted / made - 1.0];
            let nearest = shares.into_iter().min_by(|a, b| a.abs().total_cmp(&b.abs()));
            nearest
                .is_some_and(|share| Check { share, made: 0 }.is_far(self.ask.prompt_tokens.max()))
        });
        match is_far {
            true => {
                let why = format!("it counts otherwise than the embedded vocabulary, and {why}");
                Fault::Far(why, status)
            }
            false => Fault::Unknown(why),
        }
    }

    /// Prompts as the run would create them. `None` if they would take too long or are refused.
    ///
    /// # Errors
    /// Why the load must not start.
    fn check(&mut self, sums: &mut Sums) -> Result<Option<Check>, Fault> {
        let (min, max) = (self.ask.prompt_tokens.min(), self.ask.prompt_tokens.max());
        let checks = CHECKED_TOKENS.div_ceil(max.max(1)).max(CHECKS_MIN);
        let (mut shares, mut made) = (Vec::new(), 0_u32);
        for number in 0..checks.min(REQUESTS_MAX - self.requests.min(REQUESTS_MAX)) {
            // The longest prompts matter most; for a range, also one in its middle.
            let asked = if number % 2 == 0 { max } else { min.midpoint(max) };
            if f64::from(asked) > CHECK_TIME_S * self.tokens_per_s {
                break;
            }
            let Some((text, tokens)) = self.prompt(sums, asked) else { break };
            let counted = match self.count(&text) {
                Ok(counted) => counted,
                Err(Uncounted::Refused(status, why)) => {
                    self.refusal = Some((status, why));
                    break;
                }
                Err(Uncounted::Unknown(_)) => break,
                Err(stop @ Uncounted::Stop(_)) => return Err(stop.into()),
            };
            made = made.saturating_add(tokens);
            let inner = counted.saturating_sub(sums.template_tokens);
            sums.checks_counted = sums.checks_counted.saturating_add(inner);
            shares.push(f64::from(counted) / f64::from(asked.max(1)) - 1.0);
        }
        sums.checks_made = sums.checks_made.saturating_add(made);
        let share = shares.iter().sum::<f64>() / shares.len().max(1) as f64;
        Ok((!shares.is_empty()).then_some(Check { share, made }))
    }

    /// A prompt of the workload's kind that the run does not use, and its tokens by the embedded
    /// tokenizer.
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
mod tests;
