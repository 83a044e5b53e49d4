//! Random token ids: prompts for APIs that take the ids themselves, exact by nature.
//!
//! With `rule=vllm` or `rule=sglang` they are the ids that these tools make before they
//! turn them into text: neighbours in the vocabulary, from an offset on.
//!
//! Not here: random words (`random`).

use ifm_core::Prompt;
use ifm_made::{Rng, Stream};

use super::{
    Dataset, DatasetKind, WorkItem,
    random::{draw_lengths, take_ratio},
};
use crate::{
    compat::lengths::RandomDraw,
    count::HuggingFace,
    error::WorkloadError,
    lengths::{LengthPair, Lengths},
    opening::Opening,
    request::AfterLast,
};

/// The data set's entry in the registry.
pub const KIND: DatasetKind = DatasetKind {
    name: "random-ids",
    aliases: &["random_ids"],
    usage: "random-ids:PROMPT/OUTPUT",
    summary: "random token ids, for APIs that take them",
    ignore_eos: true,
    hub: &[],
    open,
};

/// Ids at the start of a prompt that follow from its number, so that no two prompts
/// begin alike.
const HEAD_IDS: u32 = 3;

/// Ids drawn by us.
struct OwnIds {
    /// Ids to choose from, in this workload's order.
    ids: Vec<u32>,
    prefix: Vec<u32>,
    prompt: Lengths,
    output: Lengths,
    streams: [Stream; 3],
}

/// Ids as another tool makes them.
struct ToolIds {
    ids: Vec<u32>,
    draws: Vec<RandomDraw>,
    after_last: AfterLast,
}

fn open(opening: &mut Opening<'_>) -> Result<Box<dyn Dataset>, WorkloadError> {
    let mut pair = opening.body.parse::<LengthPair>()?;
    if let Some(lengths) = opening.request.prompt_tokens.clone() {
        pair.prompt = lengths;
    }
    if let Some(lengths) = opening.output_override() {
        pair.output = lengths;
    }
    let tool = opening.options.word("rule", &["own", "vllm", "sglang"])?;
    let ratios = take_ratio(opening, &mut pair, tool)?;
    let hf = HuggingFace::of(opening.tokenizer)?;
    let (prompt, output) = (&pair.prompt, &pair.output);
    let facts = &mut opening.facts;
    facts.prompt_tokens_max = Some(prompt.max());
    facts.output_tokens_max = Some(output.max());
    facts.total_tokens_max = Some(u64::from(prompt.max()) + u64::from(output.max()));
    facts.prompt_tokens = Some(prompt.to_string());
    facts.output_tokens = Some(output.to_string());
    facts.after_last = opening.request.after_last;
    opening.name(|| format!("random-ids:{}/{}", pair.prompt, pair.output));
    let shared_prefix_tokens = opening.request.shared_prefix_tokens;
    let plain = (0..hf.vocab_size).filter(|&id| !opening.tokenizer.is_special(id));
    let mut ids = plain.collect::<Vec<_>>();
    let Some(ratios) = ratios.filter(|_| tool != "own") else {
        let prompt_tokens_min = pair.prompt.min();
        if shared_prefix_tokens > prompt_tokens_min {
            return Err(WorkloadError::Prefix { shared_prefix_tokens, prompt_tokens_min });
        }
        let rng = Rng::new(opening.request.seed);
        rng.stream("id_order").item(0).shuffle(&mut ids);
        let mut draws = rng.stream("prefix").item(0);
        let prefix = (0..shared_prefix_tokens).map(|_| pick(&ids, draws.below(ids.len() as u32)));
        let prefix = prefix.collect();
        let streams = ["prompt_length", "output_length", "prompt"].map(|name| rng.stream(name));
        let LengthPair { prompt, output, .. } = pair;
        return Ok(Box::new(OwnIds { ids, prefix, prompt, output, streams }));
    };
    if shared_prefix_tokens > 0 {
        return Err(WorkloadError::Shape {
            text: format!("rule={tool}"),
            reason: "a shared prefix goes with rule=own only".to_owned(),
        });
    }
    // SGLang takes special tokens off only where it makes text of the ids.
    let special_tokens = if tool == "vllm" { hf.special_tokens } else { 0 };
    if tool == "sglang" {
        ids = (0..hf.vocab_size).collect();
    }
    let draws = draw_lengths(opening, tool, &ratios, special_tokens, hf.vocab_size)?;
    let after_last = opening.request.after_last;
    let tool = ToolIds { ids, draws, after_last };
    opening.facts.items = tool.items();
    Ok(Box::new(tool))
}

fn pick(ids: &[u32], place: u32) -> u32 {
    ids.get(place as usize).copied().unwrap_or(0)
}

impl Dataset for OwnIds {
    fn item(&self, id: u32) -> Result<WorkItem, WorkloadError> {
        let [prompts, outputs, texts] = &self.streams;
        let tokens = self.prompt.draw(&mut prompts.item(u64::from(id)));
        let output = self.output.draw(&mut outputs.item(u64::from(id)));
        let mut draws = texts.item(u64::from(id));
        let count = self.ids.len() as u32;
        let mut list = Vec::with_capacity(tokens as usize);
        list.extend_from_slice(&self.prefix);
        let head = (tokens - self.prefix.len() as u32).min(HEAD_IDS);
        let mut number = id;
        for _ in 0..head {
            list.push(pick(&self.ids, number.checked_rem(count).unwrap_or(0)));
            number = number.checked_div(count).unwrap_or(0);
        }
        while list.len() < tokens as usize {
            list.push(pick(&self.ids, draws.below(count)));
        }
        Ok(WorkItem::single(id, Prompt::Tokens(list), Some(tokens), Some(output)))
    }

    fn are_items_alike(&self) -> bool {
        true
    }

    fn distinct_items(&self) -> u64 {
        let free = (self.prompt.min() - self.prefix.len() as u32).min(HEAD_IDS);
        (self.ids.len() as u64).saturating_pow(free)
    }
}

impl Dataset for ToolIds {
    fn item(&self, id: u32) -> Result<WorkItem, WorkloadError> {
        let items = self.draws.len();
        let place = match self.after_last {
            AfterLast::Repeat => (id as usize).checked_rem(items).unwrap_or(0),
            AfterLast::Stop | AfterLast::VllmOversample => id as usize,
        };
        let exhausted = WorkloadError::Exhausted { items: items as u64 };
        let draw = self.draws.get(place).ok_or(exhausted)?;
        let start = draw.offset as usize + place;
        let ids = self.ids.iter().cycle().skip(start % self.ids.len().max(1));
        let list = ids.take(draw.prompt_tokens as usize).copied().collect();
        let (prompt, output) = (Some(draw.prompt_tokens), Some(draw.output_tokens));
        Ok(WorkItem::single(id, Prompt::Tokens(list), prompt, output))
    }

    fn are_items_alike(&self) -> bool {
        true
    }

    fn distinct_items(&self) -> u64 {
        let starts = self.draws.iter().zip(0_u64..);
        let count = self.ids.len().max(1) as u64;
        let starts = starts.map(|(draw, place)| (u64::from(draw.offset) + place) % count);
        let mut seen = std::collections::HashSet::new();
        starts.take_while(|start| seen.insert(*start)).count() as u64
    }

    fn items(&self) -> Option<u32> {
        (self.after_last != AfterLast::Repeat).then_some(self.draws.len() as u32)
    }
}
