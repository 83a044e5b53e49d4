//! BurstGPT: lengths and times of a real service, without its texts.
//!
//! Prompts are random words of the recorded lengths. `rule=vllm` takes the rows that vLLM
//! takes: those of GPT-4, drawn by pandas.
//!
//! Not here: other traces (`mooncake`).

use super::{Dataset, DatasetKind};
use crate::{
    compat::NumpyLegacy,
    error::WorkloadError,
    facts::{DropReason, RowCounts},
    opening::Opening,
    source::{Columns, Row},
    trace::{self, Clock, Request},
    value,
};
use ifm_core::order::Order as _;

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
    clock.set_times(&mut requests, &stamps);
    let mut counts = rows.into_counts();
    if vllm {
        requests = draw(opening, &requests, &mut counts)?;
    } else {
        requests.order_by_key(|request| request.at_ns);
        opening.rule("BurstGPT requests by time, the first at 0");
        opening.facts.timed = true;
    }
    trace::dataset(opening, requests, None, counts)
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
    Ok(drawn.map(|request| Request { at_ns: None, ..request.clone() }).collect())
}

/// A row's time stamp and request, or why it is left out.
fn read(
    columns: &Columns,
    row: &Row,
    model: Option<&str>,
    vllm: bool,
) -> Result<Result<(f64, Request), DropReason>, String> {
    if let Some(model) = model
        && columns.get(&row.fields, "model").and_then(value::text) != Some(model)
    {
        return Ok(Err(DropReason::OtherModel));
    }
    let (prompt_tokens, output_tokens) = trace::lengths(columns, row)?;
    if output_tokens == 0 || prompt_tokens == 0 && !vllm {
        return Ok(Err(DropReason::Failed));
    }
    let stamp = trace::stamp(columns, row)?;
    Ok(Ok((stamp, Request::new(prompt_tokens.max(1), output_tokens))))
}
