//! BurstGPT: lengths and times of a real service, without its texts.
//!
//! Prompts are random words of the recorded lengths. `rule=vllm` takes the rows that vLLM
//! takes: those of GPT-4, drawn by pandas.
//!
//! Not here: other traces (`mooncake`).

use ifm_core::Prompt;

use super::{Dataset, DatasetKind, WorkItem};
use crate::{
    compat::NumpyLegacy,
    error::WorkloadError,
    facts::{DropReason, RowCounts},
    lengths::Lengths,
    opening::Opening,
    prompt::{Prefix, PromptMaker},
    request::AfterLast,
    rng::{Rng, Stream},
    source::{Columns, Row},
    trace::{Clock, exhausted, place_of},
    value,
};

/// The data set's entry in the registry.
pub const KIND: DatasetKind = DatasetKind {
    name: "burstgpt",
    aliases: &[],
    usage: "burstgpt:FILE",
    summary: "lengths and times of a real service (BurstGPT), with made-up text",
    ignore_eos: true,
    hub: &[],
    open,
};

/// The model whose rows vLLM takes.
const VLLM_MODEL: &str = "GPT-4";

/// One request of the trace.
#[derive(Clone, Copy)]
struct Request {
    /// None where the rule draws rows without their times.
    at_ns: Option<u64>,
    prompt_tokens: u32,
    output_tokens: u32,
}

/// The data set.
struct Burst {
    requests: Vec<Request>,
    prompts: PromptMaker,
    prefix: Prefix,
    output: Option<Lengths>,
    outputs: Stream,
    after_last: AfterLast,
}

fn open(opening: &mut Opening<'_>) -> Result<Box<dyn Dataset>, WorkloadError> {
    let vllm = opening.options.word("rule", &["trace", "vllm"])? == "vllm";
    let model = opening.options.text("model");
    let model = if vllm { Some(VLLM_MODEL.to_owned()) } else { model };
    let clock = Clock::take(opening, 1e9)?;
    let needed: [&[&str]; 3] = [&["timestamp"], &["input_tokens"], &["output_tokens"]];
    let mut rows = opening.rows(None, &needed)?;
    let wanted = opening.wanted();
    let (mut requests, mut stamps) = (Vec::new(), Vec::new());
    while vllm || requests.len() < wanted {
        let Some(row) = rows.next()? else { break };
        match read(rows.columns(), &row, model.as_deref(), vllm) {
            Ok(Ok((stamp, request))) => {
                stamps.push(stamp);
                requests.push(request);
            }
            Ok(Err(reason)) => rows.drop_row(reason),
            Err(reason) => rows.bad(row.line, &reason)?,
        }
    }
    for (request, at_ns) in requests.iter_mut().zip(clock.times_ns(&stamps)) {
        request.at_ns = Some(at_ns);
    }
    let mut counts = rows.into_counts();
    if vllm {
        requests = draw(opening, &requests, &mut counts)?;
    } else {
        requests.sort_by_key(|request| request.at_ns);
        opening.rule("BurstGPT requests by time, the first at 0");
        opening.facts.timed = true;
    }
    let rng = Rng::new(opening.request.seed);
    let lengths = requests.iter().map(|one| (one.prompt_tokens, one.output_tokens));
    crate::trace::describe(opening, counts, lengths)?;
    Ok(Box::new(Burst {
        requests,
        prompts: opening.prompts(&rng)?,
        prefix: Prefix::default(),
        output: opening.output_override(),
        outputs: rng.stream("output_length"),
        after_last: opening.request.after_last,
    }))
}

/// The rows that `DataFrame.sample(n, random_state=seed)` takes.
fn draw(
    opening: &mut Opening<'_>,
    requests: &[Request],
    counts: &mut RowCounts,
) -> Result<Vec<Request>, WorkloadError> {
    let seed = opening.selection_seed(0);
    let seed = u32::try_from(seed).map_err(|_| WorkloadError::Shape {
        text: format!("seed={seed}"),
        reason: "pandas needs a seed below 2^32".to_owned(),
    })?;
    let count = requests.len() as u32;
    let wanted = opening.request.items_max.unwrap_or(count);
    opening.rule(format!(
        "vLLM 0.33 BurstGPT rows of {VLLM_MODEL}, pandas DataFrame.sample of {wanted}, seed {seed}"
    ));
    let drawn = NumpyLegacy::new(seed).sample_rows(count, wanted);
    let missing = requests.len().saturating_sub(drawn.len());
    (0..missing).for_each(|_| counts.drop_row(DropReason::NotDrawn));
    let drawn = drawn.into_iter().filter_map(|row| requests.get(row as usize));
    Ok(drawn.map(|request| Request { at_ns: None, ..*request }).collect())
}

/// A row's time stamp and request, or why it is left out.
fn read(
    columns: &Columns,
    row: &Row,
    model: Option<&str>,
    vllm: bool,
) -> Result<Result<(f64, Request), DropReason>, String> {
    let there = || row.fields.keys().map(String::as_str).collect::<Vec<_>>();
    let get = |name: &str| columns.get(&row.fields, name);
    let lack = |name: &str| columns.missing(&[name], &there());
    if let Some(model) = model
        && get("model").and_then(value::text) != Some(model)
    {
        return Ok(Err(DropReason::OtherModel));
    }
    let length = |name: &str| {
        let tokens = get(name).ok_or_else(|| lack(name))?;
        value::tokens(tokens).ok_or_else(|| format!("'{name}' is not a number of tokens"))
    };
    let (prompt_tokens, output_tokens) = (length("input_tokens")?, length("output_tokens")?);
    if output_tokens == 0 || prompt_tokens == 0 && !vllm {
        return Ok(Err(DropReason::Failed));
    }
    let stamp = get("timestamp").ok_or_else(|| lack("timestamp"))?;
    let stamp = value::number(stamp).ok_or("the time stamp is not a number")?;
    let prompt_tokens = prompt_tokens.max(1);
    Ok(Ok((stamp, Request { at_ns: None, prompt_tokens, output_tokens })))
}

impl Dataset for Burst {
    fn item(&self, id: u32) -> Result<WorkItem, WorkloadError> {
        let place = place_of(id, self.requests.len(), self.after_last)?;
        let request = self.requests.get(place).ok_or_else(|| exhausted(self.requests.len()))?;
        let tokens = request.prompt_tokens;
        let text = self.prompts.prompt(&self.prefix, id, tokens)?;
        let law = self.output.as_ref();
        let output = law.map(|law| law.draw(&mut self.outputs.item(u64::from(id))));
        let output = output.unwrap_or(request.output_tokens);
        let mut item = WorkItem::single(id, Prompt::Text(text), Some(tokens), Some(output));
        item.at_ns = request.at_ns.filter(|_| place == id as usize);
        Ok(item)
    }

    fn distinct_items(&self) -> u64 {
        let shortest = self.requests.iter().map(|request| request.prompt_tokens).min();
        self.prompts.distinct_prompts(&self.prefix, shortest.unwrap_or(1))
    }

    fn items(&self) -> Option<u32> {
        (self.after_last != AfterLast::Repeat).then_some(self.requests.len() as u32)
    }
}
