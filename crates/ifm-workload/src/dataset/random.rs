//! Random words: prompts of exact length that no server has seen.
//!
//! Not here: making text of a length (`prompt`), files.

use ifm_core::{Message, Prompt, Role};
use ifm_made::{Rng, Stream};
use ifm_tokenizer::Tokenizer;

use super::{Dataset, DatasetKind, Turn, WorkItem};
use crate::{
    compat::lengths::{RandomAsk, RandomDraw, sglang_random, vllm_random},
    count::HuggingFace,
    error::WorkloadError,
    lengths::{GENAI_BENCH, LengthPair, LengthRange, Lengths, RangeRatio},
    opening::Opening,
    prompt::{Prefix, PromptMaker},
    request::AfterLast,
    scale::LengthScale,
    think::Think,
};

/// The data set's entry in the registry.
pub const KIND: DatasetKind = DatasetKind {
    name: "random",
    aliases: &["synthetic", "synthetic_text"],
    usage: "random:PROMPT/OUTPUT",
    summary: "random words of exact token length, made from a seed",
    ignore_eos: true,
    hub: &[],
    open,
};

/// Turns of a conversation at most.
const TURNS_MAX: u32 = 1000;
/// Requests that a tool draws lengths for when nothing is said: vLLM's and SGLang's
/// default.
pub(super) const DRAWS_DEFAULT: u32 = 1000;

/// What random prompts are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RandomSpec {
    /// Tokens of each prompt, shared prefix included.
    pub prompt_tokens: LengthRange,
    /// Tokens to ask for in each request.
    pub output_tokens: LengthRange,
    /// Tokens at the start of every prompt that are the same in all. 0 for prompts
    /// that a prefix cache cannot help with.
    pub shared_prefix_tokens: u32,
    /// Seed of everything that is drawn.
    pub seed: u64,
    /// Who counts these lengths: the tokenizer itself unless said otherwise.
    pub scale: LengthScale,
}

impl RandomSpec {
    /// Fixed lengths, no shared prefix.
    ///
    /// # Errors
    /// [`WorkloadError::Length`] when a length is 0 or too large.
    pub fn fixed(prompt_tokens: u32, output_tokens: u32, seed: u64) -> Result<Self, WorkloadError> {
        Ok(Self {
            prompt_tokens: LengthRange::fixed(prompt_tokens)?,
            output_tokens: LengthRange::fixed(output_tokens)?,
            shared_prefix_tokens: 0,
            seed,
            scale: LengthScale::EXACT,
        })
    }
}

/// The data set.
pub struct RandomPrompts {
    plan: Plan,
    shared_tokens: u32,
    prefix: Prefix,
    prompts: PromptMaker,
    more: More,
}

/// Where lengths come from.
enum Plan {
    /// From laws, each item by its own draws.
    Laws { laws: Box<[Lengths; 2]>, streams: [Stream; 2] },
    /// As another tool drew them.
    Drawn { draws: Vec<RandomDraw>, after_last: AfterLast },
}

impl Plan {
    fn laws(prompt: Lengths, output: Lengths, rng: &Rng) -> Self {
        let streams = [rng.stream("prompt_length"), rng.stream("output_length")];
        Self::Laws { laws: Box::new([prompt, output]), streams }
    }

    /// Tokens of an item's prompt and output.
    fn lengths(&self, id: u32) -> Result<(u32, u32), WorkloadError> {
        match self {
            Self::Laws { laws, streams } => {
                let [prompt, output] = laws.as_ref();
                let [prompts, outputs] = streams;
                let id = u64::from(id);
                Ok((prompt.draw(&mut prompts.item(id)), output.draw(&mut outputs.item(id))))
            }
            Self::Drawn { draws, after_last } => {
                let place = match after_last {
                    AfterLast::Stop | AfterLast::VllmOversample => id as usize,
                    AfterLast::Repeat => (id as usize).checked_rem(draws.len()).unwrap_or(0),
                };
                let items = draws.len() as u64;
                let draw = draws.get(place).ok_or(WorkloadError::Exhausted { items })?;
                Ok((draw.prompt_tokens.max(1), draw.output_tokens.max(1)))
            }
        }
    }

    fn prompt_tokens_min(&self) -> u32 {
        match self {
            Self::Laws { laws, .. } => laws.first().map_or(1, Lengths::min),
            Self::Drawn { draws, .. } => {
                draws.iter().map(|draw| draw.prompt_tokens.max(1)).min().unwrap_or(1)
            }
        }
    }
}

/// Turns after the first one.
struct More {
    turns: u32,
    tokens: Lengths,
    think: Think,
    lengths: Stream,
    texts: Stream,
    pauses: Stream,
}

impl More {
    fn new(turns: u32, tokens: Lengths, think: Think, rng: &Rng) -> Self {
        let [lengths, texts, pauses] =
            ["turn_length", "turn_text", "think"].map(|name| rng.stream(name));
        Self { turns: turns.clamp(1, TURNS_MAX), tokens, think, lengths, texts, pauses }
    }
}

impl RandomPrompts {
    /// Prepares the words; takes a few milliseconds.
    ///
    /// # Errors
    /// [`WorkloadError::Prefix`], and [`WorkloadError::Unreachable`] when the
    /// tokenizer has no text as long as the shared prefix.
    pub fn new(spec: &RandomSpec, tokenizer: &Tokenizer) -> Result<Self, WorkloadError> {
        let rng = Rng::new(spec.seed);
        let (prompt, output) = (spec.prompt_tokens.into(), spec.output_tokens.into());
        let more = More::new(1, Lengths::from(spec.prompt_tokens), Think::None, &rng);
        let plan = Plan::laws(prompt, output, &rng);
        let prompts = PromptMaker::new(tokenizer, &rng, spec.scale)?;
        Self::build(plan, spec.shared_prefix_tokens, more, &rng, prompts)
    }

    fn build(
        plan: Plan,
        shared_prefix_tokens: u32,
        more: More,
        rng: &Rng,
        prompts: PromptMaker,
    ) -> Result<Self, WorkloadError> {
        let prompt_tokens_min = plan.prompt_tokens_min();
        if shared_prefix_tokens > prompt_tokens_min {
            return Err(WorkloadError::Prefix { shared_prefix_tokens, prompt_tokens_min });
        }
        let prefix = prompts.prefix(shared_prefix_tokens, rng.stream("prefix").item(0))?;
        Ok(Self { plan, shared_tokens: shared_prefix_tokens, prefix, prompts, more })
    }

    /// Whether lengths are known from the words alone; otherwise each prompt is
    /// encoded and corrected until it fits, which is slower and equally exact.
    pub fn counts_words(&self) -> bool {
        self.prompts.counts_words()
    }

    /// A later turn of a conversation.
    fn turn(&self, id: u32, turn: u32, output_tokens: u32) -> Result<Turn, WorkloadError> {
        let more = &self.more;
        let place = u64::from(id) << 32 | u64::from(turn);
        let tokens = more.tokens.draw(&mut more.lengths.item(place));
        let text = self.prompts.passage(tokens, more.texts.item(place))?;
        Ok(Turn {
            prompt_tokens: Some(tokens),
            output_tokens: Some(output_tokens),
            think_ns: more.think.draw(&mut more.pauses.item(place)),
            ..Turn::new(Prompt::Messages(vec![Message::text(Role::User, text)]))
        })
    }
}

impl Dataset for RandomPrompts {
    fn item(&self, id: u32) -> Result<WorkItem, WorkloadError> {
        let (prompt_tokens, output_tokens) = self.plan.lengths(id)?;
        let prompt = Prompt::Text(self.prompts.prompt(&self.prefix, id, prompt_tokens)?);
        let mut item = WorkItem::single(id, prompt, Some(prompt_tokens), Some(output_tokens));
        for turn in 1..self.more.turns {
            item.turns.push(self.turn(id, turn, output_tokens)?);
        }
        Ok(item)
    }

    fn are_items_alike(&self) -> bool {
        true
    }

    fn distinct_items(&self) -> u64 {
        self.prompts.distinct_prompts(&self.prefix, self.plan.prompt_tokens_min())
    }

    fn items(&self) -> Option<u32> {
        match &self.plan {
            Plan::Drawn { draws, after_last } if *after_last != AfterLast::Repeat => {
                Some(draws.len() as u32)
            }
            _ => None,
        }
    }

    fn has_conversations(&self) -> bool {
        self.more.turns > 1
    }

    fn shared_tokens(&self) -> Option<u32> {
        Some(self.shared_tokens)
    }
}

fn open(opening: &mut Opening<'_>) -> Result<Box<dyn Dataset>, WorkloadError> {
    let mut pair = opening.body.parse::<LengthPair>()?;
    let rng = Rng::new(opening.request.seed);
    let draws = take_draws(opening, &mut pair)?;
    if let Some(lengths) = opening.request.prompt_tokens.clone() {
        pair = LengthPair { prompt: lengths, rule: None, ..pair };
    }
    if let Some(lengths) = opening.output_override() {
        pair = LengthPair { output: lengths, rule: None, ..pair };
    }
    if let Some(rule) = pair.rule {
        opening.rule(rule);
    }
    let turns = opening.options.value::<u32>("turns", "a number of turns")?.unwrap_or(1);
    let turn_tokens = opening.options.value::<Lengths>("turn_tokens", "a length in tokens")?;
    let think = opening.options.value::<Think>("think", "a pause, such as 2s or exp(2s)")?;
    let turn_tokens = turn_tokens.unwrap_or_else(|| pair.prompt.clone());
    let turn_tokens_max = u64::from(turn_tokens.max());
    let more = More::new(turns, turn_tokens, think.unwrap_or_default(), &rng);

    let prefix = opening.options.value::<u32>("prefix", "a number of tokens")?;
    let prefix = prefix.unwrap_or(opening.request.shared_prefix_tokens);
    let (prompt, output) = (&pair.prompt, &pair.output);
    let facts = &mut opening.facts;
    facts.prompt_tokens_max = Some(prompt.max());
    facts.output_tokens_max = Some(output.max());
    let first = u64::from(prompt.max()) + u64::from(output.max());
    let later = turn_tokens_max + u64::from(output.max());
    facts.total_tokens_max = Some(first + later * u64::from(more.turns - 1));
    facts.turns_max = more.turns;
    facts.prompt_tokens = Some(prompt.to_string());
    facts.output_tokens = Some(output.to_string());
    if facts.preset.is_none() {
        facts.name = match pair.rule {
            // A name has to be understood again, and these lengths have no other spelling.
            Some(rule) if rule == GENAI_BENCH => opening.body.clone(),
            _ => format!("{prompt}/{output}"),
        };
    }
    if prefix > 0 {
        opening.rule(format!("the first {prefix} tokens of every prompt are the same"));
    }
    let plan = match draws {
        Some(draws) => Plan::Drawn { draws, after_last: opening.request.after_last },
        None => Plan::laws(pair.prompt, pair.output, &rng),
    };
    let words = opening.prompts(&rng)?;
    let prompts = RandomPrompts::build(plan, prefix, more, &rng, words)?;
    opening.facts.items = prompts.items();
    opening.facts.after_last = opening.request.after_last;
    Ok(Box::new(prompts))
}

/// Reads `range_ratio`, `ratio` and `draws`: the laws become those of the ratio's
/// meaning, and where a tool's own draws are asked for these are given.
fn take_draws(
    opening: &mut Opening<'_>,
    pair: &mut LengthPair,
) -> Result<Option<Vec<RandomDraw>>, WorkloadError> {
    let tool = opening.options.word("draws", &["own", "vllm", "sglang"])?;
    let asked = take_ratio(opening, pair, tool)?;
    let Some(asked) = asked.filter(|_| tool != "own") else {
        return Ok(None);
    };
    let hf = HuggingFace::of(opening.tokenizer)?;
    let draws = draw_lengths(opening, tool, &asked, hf.special_tokens, hf.vocab_size)?;
    Ok(Some(draws))
}

/// Fixed lengths with the ratios around them.
pub(super) struct Ratios {
    prompt: u32,
    output: u32,
    prompt_ratio: f64,
    output_ratio: f64,
}

/// Reads `range_ratio` and whose it is, and widens the lengths by it.
pub(super) fn take_ratio(
    opening: &mut Opening<'_>,
    pair: &mut LengthPair,
    tool: &str,
) -> Result<Option<Ratios>, WorkloadError> {
    let text = opening.options.text("range_ratio");
    let whose = opening.options.text("ratio");
    let shape = |text: String, reason: &str| WorkloadError::Shape { text, reason: reason.into() };
    let whose = match (whose, tool) {
        (Some(word), "own") => Some(RangeRatio::find(&word)?),
        (Some(word), tool) if word != tool => {
            let reason = "the draws and the ratio have to be the same tool's";
            return Err(shape(format!("draws={tool}&ratio={word}"), reason));
        }
        (_, "own") => None,
        (_, tool) => Some(RangeRatio::find(tool)?),
    };
    let text = match (text, whose) {
        (None, None) => return Ok(None),
        (Some(_), None) => {
            RangeRatio::find("")?;
            return Ok(None);
        }
        // Both tools' own default.
        (text, Some(_)) => text.unwrap_or_else(|| "0".to_owned()),
    };
    let Some(whose) = whose else { return Ok(None) };
    let (prompt_ratio, output_ratio) = text.split_once(',').unwrap_or((&text, &text));
    let (Ok(prompt_ratio), Ok(output_ratio)) = (prompt_ratio.parse(), output_ratio.parse()) else {
        let reason = "write one number, or one for prompts and one for outputs, as in 0.2,0";
        return Err(shape(format!("range_ratio={text}"), reason));
    };
    let fixed = |lengths: &Lengths| (lengths.min() == lengths.max()).then(|| lengths.max());
    let (Some(prompt), Some(output)) = (fixed(&pair.prompt), fixed(&pair.output)) else {
        let reason = "a range ratio needs one length for prompts and one for outputs";
        return Err(shape(format!("{}/{}", pair.prompt, pair.output), reason));
    };
    pair.prompt = whose.lengths(prompt, prompt_ratio)?;
    pair.output = whose.lengths(output, output_ratio)?;
    let meaning = format!("{text} as {} means it: {}", whose.word(), whose.formula());
    opening.facts.range_ratio = Some(meaning);
    Ok(Some(Ratios { prompt, output, prompt_ratio, output_ratio }))
}

/// The lengths and offsets that a tool draws for a whole run.
pub(super) fn draw_lengths(
    opening: &mut Opening<'_>,
    tool: &str,
    ratios: &Ratios,
    special_tokens: u32,
    vocab_size: u32,
) -> Result<Vec<RandomDraw>, WorkloadError> {
    let (default_seed, name) = match tool {
        "vllm" => (0, "vLLM 0.33, numpy default_rng"),
        _ => (42, "SGLang 0.5, numpy.random.seed"),
    };
    let seed = opening.selection_seed(default_seed);
    let seed = u32::try_from(seed).map_err(|_| WorkloadError::Shape {
        text: format!("seed={seed}"),
        reason: "a tool's own draws need a seed below 2^32".to_owned(),
    })?;
    let requests = opening.request.items_max.unwrap_or(DRAWS_DEFAULT);
    opening.rule(format!("lengths of {name}, seed {seed}, drawn for {requests} requests"));
    let ask = RandomAsk {
        seed,
        requests,
        input_tokens: ratios.prompt,
        output_tokens: ratios.output,
        input_ratio: ratios.prompt_ratio,
        output_ratio: ratios.output_ratio,
        special_tokens,
        vocab_size,
    };
    Ok(if tool == "vllm" { vllm_random(&ask) } else { sglang_random(&ask) })
}
