//! Questions with turns by category: Spec-Bench and MT-Bench, the usual prompts for speculative
//! decoding, whose gain depends on what is asked.
//!
//! A row is a question; its first turn is the prompt, as in vLLM, or all of its turns are a conversation,
//! each behind the server's answer to the one before. Not here: judging answers.

use ifm_core::{Message, Prompt, Role};
use ifm_made::{Rng, Stream};
use serde_json::Value;

use super::{Dataset, DatasetKind};
use crate::{
    error::WorkloadError,
    facts::DropReason,
    item::Turn,
    opening::Opening,
    order::{self, Step},
    request::Answers,
    select::{Candidate, Limits, Output},
    source::{Columns, Row},
    think::Think,
    value,
};

/// The data set's entry in the registry.
pub const KIND: DatasetKind = DatasetKind {
    name: "spec-bench",
    aliases: &["spec_bench", "mt-bench", "mt_bench"],
    usage: "spec-bench:FILE",
    summary: "questions by category, for speculative decoding (Spec-Bench, MT-Bench)",
    ignore_eos: false,
    hub: &[],
    open,
};

/// Tokens to ask for: vLLM's `--spec-bench-output-len`.
const OUTPUT_TOKENS: u32 = 256;

fn open(opening: &mut Opening<'_>) -> Result<Box<dyn Dataset>, WorkloadError> {
    let rows = opening.rows(None, &[&["turns"]])?;
    let category = opening.options.text("category");
    let output = opening.options.value::<u32>("output", "a number of tokens")?;
    let output = output.unwrap_or(OUTPUT_TOKENS);
    let asked = Asked::take(opening, category, output)?;
    order::fill(opening, rows, Limits::NONE, |columns, row| asked.read(columns, row, |_| Ok(())))
}

/// Turns of one question at most.
const TURNS_MAX: usize = 1024;

/// What is asked of questions with turns.
pub(super) struct Asked {
    /// The category that is wanted, if not all are.
    category: Option<String>,
    output: u32,
    /// Pauses before later turns; absent if only first turns are sent.
    pauses: Option<(Think, Stream)>,
}

impl Asked {
    /// Takes the options `turns` and `think`, and notes what is sent.
    ///
    /// # Errors
    /// What is wrong with an option.
    pub(super) fn take(
        opening: &mut Opening<'_>,
        category: Option<String>,
        output: u32,
    ) -> Result<Self, WorkloadError> {
        let pauses = match opening.options.word("turns", &["first", "all"])? {
            "all" => {
                let think =
                    opening.options.value::<Think>("think", "a pause, such as 2s or exp(2s)")?;
                Some((think.unwrap_or_default(), Rng::new(opening.request.seed).stream("think")))
            }
            _ => {
                opening.options.without(&["think"], "later turns to pause before, as turns=all")?;
                None
            }
        };
        let which = if pauses.is_some() { "all turns" } else { "the first turn" };
        opening.rule(format!("{which} of each question, {output} output tokens"));
        if pauses.is_some() {
            opening.tell_answers(Answers::Server);
        }
        Ok(Self { category, output, pauses })
    }

    /// One question, unless it is of another category, and its turns, of each of which `check` says
    /// what is wrong.
    pub(super) fn read(
        &self,
        columns: &Columns,
        row: &Row,
        check: impl Fn(&str) -> Result<(), String>,
    ) -> Result<Step, String> {
        let category = columns.get(&row.fields, "category").and_then(value::text);
        if self.category.is_some() && category != self.category.as_deref() {
            return Ok(Step::Drop(DropReason::NotDrawn));
        }
        let turns = columns.get(&row.fields, "turns").and_then(Value::as_array);
        let turns =
            turns.filter(|turns| !turns.is_empty()).ok_or("the question has no first turn")?;
        let Some((think, pauses)) = &self.pauses else {
            let first = text(turns, 0, &check)?;
            let prompt = Prompt::Text(first.to_owned());
            return Ok(Step::Take(Candidate::new(prompt, Output::Tokens(self.output))));
        };
        if turns.len() > TURNS_MAX {
            return Err(format!("the question has more than {TURNS_MAX} turns"));
        }
        let said = |place| {
            let message = Message::text(Role::User, text(turns, place, &check)?);
            Ok::<_, String>(Prompt::Messages(vec![message]))
        };
        let mut draws = pauses.item(row.line);
        let mut later = Vec::with_capacity(turns.len() - 1);
        for place in 1..turns.len() {
            let think_ns = think.draw(&mut draws);
            later.push(Turn { think_ns, ..Turn::new(said(place)?) });
        }
        let first = Candidate::new(said(0)?, Output::Tokens(self.output));
        Ok(Step::Take(Candidate { later, ..first }))
    }
}

/// The text of a turn.
fn text<'row>(
    turns: &'row [Value],
    place: usize,
    check: &impl Fn(&str) -> Result<(), String>,
) -> Result<&'row str, String> {
    let text = turns.get(place).and_then(value::text).filter(|text| !text.is_empty());
    let text = text.ok_or_else(|| match place {
        0 => "the question has no first turn".to_owned(),
        _ => format!("turn {} of the question is no text, or empty", place + 1),
    })?;
    check(text).map(|()| text)
}
