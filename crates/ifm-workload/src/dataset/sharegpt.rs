//! ShareGPT: the first question of each conversation, as long an answer as was recorded.
//!
//! Two tools choose differently from the same file, and both choices are here, bit for
//! bit: which conversations come in which order follows from Python's `random.shuffle`.
//!
//! Not here: whole conversations (`sharegpt_chat`).

use ifm_core::Prompt;
use serde_json::Value;

use super::{Dataset, DatasetKind};
use crate::{
    compat::PythonRandom,
    count::HuggingFace,
    error::WorkloadError,
    facts::DropReason,
    hub::HubSet,
    opening::Opening,
    select::{BATCH_ROWS, Candidate, Limits, Output, Selector},
    source::Row,
};

/// The data set's entry in the registry.
pub const KIND: DatasetKind = DatasetKind {
    name: "sharegpt",
    aliases: &[],
    usage: "sharegpt:FILE",
    summary: "first questions of recorded conversations, chosen as vLLM or SGLang chooses",
    ignore_eos: false,
    hub: &[SHAREGPT],
    open,
};

/// Where both tools get it from.
pub(super) const SHAREGPT: HubSet = HubSet {
    repository: "anon8231489123/ShareGPT_Vicuna_unfiltered",
    file: Some("ShareGPT_V3_unfiltered_cleaned_split.json"),
};

/// Whose choice it is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rule {
    Vllm,
    Sglang,
}

/// Question and answer.
type Pair = (Box<str>, Box<str>);

fn open(opening: &mut Opening<'_>) -> Result<Box<dyn Dataset>, WorkloadError> {
    let rule = match opening.options.word("rule", &["vllm", "sglang"])? {
        "sglang" => Rule::Sglang,
        _ => Rule::Vllm,
    };
    let shuffled = opening.options.word("shuffle", &["yes", "no"])? == "yes";
    let context = opening.options.value::<u32>("context", "a number of tokens")?;
    let special_tokens = HuggingFace::of(opening.tokenizer)?.special_tokens;
    let limits = limits(rule, context, special_tokens);
    let mut rows = opening.rows(Some(&SHAREGPT), &[&["messages"]])?;
    let mut pairs = Vec::new();
    while let Some(row) = rows.next()? {
        match read_pair(&row, rule) {
            Ok(Some(pair)) => pairs.push(pair),
            Ok(None) => rows.drop_row(DropReason::TooFewTurns),
            Err(reason) => rows.bad(row.line, &reason)?,
        }
    }
    let mut counts = rows.into_counts();
    let seed = if rule == Rule::Vllm { 0 } else { 42 };
    let order = match shuffled {
        true => {
            let seed = opening.selection_seed(seed);
            PythonRandom::new(seed).shuffle(&mut pairs);
            format!("seed {seed}, Python random.shuffle")
        }
        false => "order of the file".to_owned(),
    };
    opening.rule(match rule {
        Rule::Vllm => format!("vLLM 0.33 ShareGPT filter, {order}"),
        Rule::Sglang => format!("SGLang 0.5 ShareGPT filter, {order}"),
    });
    if special_tokens > 0 {
        opening.rule(format!(
            "lengths count {special_tokens} tokens that the tokenizer adds to a text, answers too"
        ));
    }
    let mut selector = Selector::new(opening, limits);
    let mut pairs = pairs.into_iter();
    while !selector.is_done() {
        let batch = pairs.by_ref().take(BATCH_ROWS).map(|(question, answer)| Candidate {
            prompt: Prompt::Text(question.into()),
            output: Output::Answer(answer),
            at_ns: None,
            fields: None,
            later: Vec::new(),
        });
        let batch = batch.collect::<Vec<_>>();
        if batch.is_empty() {
            break;
        }
        selector.push(batch, &mut counts)?;
    }
    opening.list(selector.into_items(), counts)
}

/// vLLM: `is_valid_sequence`; SGLang: `sample_sharegpt_requests`.
fn limits(rule: Rule, context: Option<u32>, special_tokens: u32) -> Limits {
    let context = context.map_or(u64::MAX, u64::from);
    match rule {
        Rule::Vllm => Limits {
            prompt_min: 4,
            prompt_max: 1024,
            output_min: 4,
            total_max: context.min(2048),
            output_min_always: false,
            special_tokens,
        },
        Rule::Sglang => Limits {
            prompt_min: 2,
            output_min: 2,
            total_max: context,
            output_min_always: true,
            special_tokens,
            ..Limits::NONE
        },
    }
}

/// The first two turns, whoever speaks; nothing where there are not two.
fn read_pair(row: &Row, rule: Rule) -> Result<Option<Pair>, String> {
    let names: &[&str] = match rule {
        Rule::Vllm => &["conversations"],
        Rule::Sglang => &["conversations", "conversation"],
    };
    let turns = names.iter().find_map(|name| row.fields.get(*name));
    let turns = match turns {
        None => return Ok(None),
        Some(Value::Array(turns)) => turns,
        Some(other) => {
            let kind = crate::source::kind(other);
            return Err(format!("'conversations' is {kind}, not a list of turns"));
        }
    };
    let (Some(question), Some(answer)) = (turns.first(), turns.get(1)) else {
        return Ok(None);
    };
    let text = |turn: &Value, which: &str| {
        let text = turn.get("value").and_then(Value::as_str);
        text.map(Box::from).ok_or_else(|| format!("the {which} turn has no text in 'value'"))
    };
    Ok(Some((text(question, "first")?, text(answer, "second")?)))
}
