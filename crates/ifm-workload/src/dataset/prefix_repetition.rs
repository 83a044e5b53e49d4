//! Prompts that share beginnings, to measure a server's prefix cache.
//!
//! Each prompt is one of several prefixes and a part of its own. With `hit=0.5` the
//! prefix is so long that a cache which forgets nothing finds half of the prompts'
//! tokens, the first prompt of each prefix left out.
//!
//! Not here: one prefix for all prompts, which `random` has too.

use ifm_core::Prompt;
use ifm_made::{Rng, Stream};

use super::{Dataset, DatasetKind, WorkItem};
use crate::{
    compat::PythonRandom,
    error::WorkloadError,
    lengths::{LengthPair, Lengths},
    opening::Opening,
    prompt::{Prefix, PromptMaker},
};

/// The data set's entry in the registry.
pub const KIND: DatasetKind = DatasetKind {
    name: "prefix-repetition",
    aliases: &["prefix_repetition", "shared-prefix"],
    usage: "prefix-repetition:PREFIX+REST/OUTPUT",
    summary: "prompts with a few shared beginnings, for a chosen hit rate of the prefix cache",
    ignore_eos: true,
    hub: &[],
    open,
};

/// vLLM's defaults.
const LENGTHS_DEFAULT: &str = "256+256/128";
/// vLLM's default.
const PREFIXES_DEFAULT: u32 = 10;
/// Prefixes at most.
const PREFIXES_MAX: u32 = 65_536;
/// Tokens of all prefixes at most: about half a gigabyte of text.
const PREFIX_TOKENS_MAX: u64 = 1 << 26;

/// The data set.
struct PrefixPrompts {
    prompts: PromptMaker,
    prefixes: Vec<Prefix>,
    /// Tokens of the whole prompt.
    prompt: Lengths,
    output: Lengths,
    order: Order,
    streams: [Stream; 2],
}

/// Which prefix comes when.
enum Order {
    /// One after the other, and again.
    Cycle,
    /// Drawn, each as often as any other.
    Random(Stream),
    /// vLLM's: as many of each, then shuffled by Python.
    Listed(Vec<u32>),
}

fn open(opening: &mut Opening<'_>) -> Result<Box<dyn Dataset>, WorkloadError> {
    let (mut prefix_tokens, prompt, output) = lengths(opening)?;
    let count = opening.options.value::<u32>("prefixes", "a number of prefixes")?;
    let count = count.unwrap_or(PREFIXES_DEFAULT).clamp(1, PREFIXES_MAX);
    if let Some(hit) = opening.options.value::<f64>("hit", "a share from 0 to 1")? {
        if !(0.0..=1.0).contains(&hit) {
            return Err(shape(&format!("hit={hit}"), "the share lies from 0 to 1"));
        }
        prefix_tokens = (hit * prompt.mean()).round() as u32;
    }
    if prefix_tokens > prompt.min() {
        let (shared_prefix_tokens, prompt_tokens_min) = (prefix_tokens, prompt.min());
        return Err(WorkloadError::Prefix { shared_prefix_tokens, prompt_tokens_min });
    }
    if u64::from(prefix_tokens) * u64::from(count) > PREFIX_TOKENS_MAX {
        let text = format!("{count} prefixes of {prefix_tokens} tokens");
        return Err(shape(&text, "they do not fit into memory; take fewer or shorter ones"));
    }
    let order = opening.options.word("order", &["cycle", "random", "vllm"])?;
    let rng = Rng::new(opening.request.seed);
    let order = match order {
        "random" => Order::Random(rng.stream("prefix_order")),
        "vllm" => Order::Listed(vllm_order(opening, count)?),
        _ => Order::Cycle,
    };
    let prompts = opening.prompts(&rng)?;
    let texts = rng.stream("prefix");
    let prefixes =
        (0..count).map(|index| prompts.prefix(prefix_tokens, texts.item(u64::from(index))));
    let prefixes = prefixes.collect::<Result<Vec<_>, _>>()?;
    let share = f64::from(prefix_tokens) / prompt.mean() * 100.0;
    opening.rule(format!(
        "{count} shared prefixes of {prefix_tokens} tokens: a cache that forgets nothing finds \
         {share:.1} % of the prompt tokens after the first prompt of each"
    ));
    let facts = &mut opening.facts;
    facts.prompt_tokens = Some(prompt.to_string());
    facts.output_tokens = Some(output.to_string());
    facts.prompt_tokens_max = Some(prompt.max());
    facts.output_tokens_max = Some(output.max());
    facts.total_tokens_max = Some(u64::from(prompt.max()) + u64::from(output.max()));
    let name = format!("prefix-repetition:{prompt}/{output}");
    opening.name(|| name);
    let streams = ["prompt_length", "output_length"].map(|name| rng.stream(name));
    let dataset = PrefixPrompts { prompts, prefixes, prompt, output, order, streams };
    opening.facts.items = dataset.items();
    Ok(Box::new(dataset))
}

/// Tokens of the prefix, of the whole prompt, and to ask for: from `PREFIX+REST/OUTPUT`,
/// or from `PROMPT/OUTPUT`, of which half is the prefix if nothing else is said.
fn lengths(opening: &mut Opening<'_>) -> Result<(u32, Lengths, Lengths), WorkloadError> {
    let body = if opening.body.is_empty() { LENGTHS_DEFAULT } else { &opening.body };
    let usage = "write prefix-repetition:PREFIX+REST/OUTPUT or prefix-repetition:PROMPT/OUTPUT";
    let (prefix, mut prompt, mut output) = match body.split_once('+') {
        Some((prefix, rest)) => {
            let pair = rest.parse::<LengthPair>()?;
            let prefix = prefix.trim().parse::<u32>().map_err(|_| shape(body, usage))?;
            if pair.prompt.min() != pair.prompt.max() {
                let reason = "the part after the prefix has one length; for a range give the \
                              whole prompt's, as in prefix-repetition:300-500/128?hit=0.4";
                return Err(shape(body, reason));
            }
            let whole = prefix.saturating_add(pair.prompt.max());
            (prefix, Lengths::fixed(whole)?, pair.output)
        }
        None => {
            let pair = body.parse::<LengthPair>()?;
            ((pair.prompt.mean() / 2.0).round() as u32, pair.prompt, pair.output)
        }
    };
    if let Some(lengths) = opening.request.prompt_tokens.clone() {
        prompt = lengths;
    }
    if let Some(lengths) = opening.output_override() {
        output = lengths;
    }
    match opening.request.shared_prefix_tokens {
        0 => Ok((prefix, prompt, output)),
        tokens => Ok((tokens, prompt, output)),
    }
}

/// vLLM's order: `N // prefixes` prompts of each, shuffled by `random.shuffle`.
fn vllm_order(opening: &mut Opening<'_>, count: u32) -> Result<Vec<u32>, WorkloadError> {
    let Some(items) = opening.request.items_max else {
        return Err(shape("order=vllm", "vLLM's order needs the number of requests"));
    };
    let each = items / count;
    if each == 0 {
        let reason = "vLLM's order needs at least one request for each prefix";
        return Err(shape(&format!("{items} requests, {count} prefixes"), reason));
    }
    let seed = opening.selection_seed(0);
    let mut order = (0..count).flat_map(|index| (0..each).map(move |_| index)).collect::<Vec<_>>();
    PythonRandom::new(seed).shuffle(&mut order);
    opening.rule(format!("vLLM 0.33 prefix_repetition order, seed {seed}, Python random.shuffle"));
    Ok(order)
}

fn shape(text: &str, reason: &str) -> WorkloadError {
    WorkloadError::Shape { text: text.to_owned(), reason: reason.to_owned() }
}

impl PrefixPrompts {
    fn prefix(&self, id: u32) -> Result<&Prefix, WorkloadError> {
        let count = self.prefixes.len() as u32;
        let index = match &self.order {
            Order::Cycle => id.checked_rem(count).unwrap_or(0),
            Order::Random(stream) => stream.item(u64::from(id)).below(count),
            Order::Listed(list) => {
                let items = list.len() as u64;
                *list.get(id as usize).ok_or(WorkloadError::Exhausted { items })?
            }
        };
        self.prefixes.get(index as usize).ok_or(WorkloadError::Exhausted { items: 0 })
    }
}

impl Dataset for PrefixPrompts {
    fn item(&self, id: u32) -> Result<WorkItem, WorkloadError> {
        let prefix = self.prefix(id)?;
        let [prompts, outputs] = &self.streams;
        let tokens = self.prompt.draw(&mut prompts.item(u64::from(id)));
        let output = self.output.draw(&mut outputs.item(u64::from(id)));
        let prompt = Prompt::Text(self.prompts.prompt(prefix, id, tokens)?);
        Ok(WorkItem::single(id, prompt, Some(tokens), Some(output)))
    }

    fn are_items_alike(&self) -> bool {
        true
    }

    fn distinct_items(&self) -> u64 {
        let first = self.prefixes.first();
        first.map_or(0, |prefix| self.prompts.distinct_prompts(prefix, self.prompt.min()))
    }

    fn items(&self) -> Option<u32> {
        match &self.order {
            Order::Listed(list) => Some(list.len() as u32),
            Order::Cycle | Order::Random(_) => None,
        }
    }
}
