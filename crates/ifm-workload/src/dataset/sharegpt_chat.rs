//! Whole conversations: every question is a turn that waits for the answer before it.
//!
//! Not here: first questions alone (`sharegpt`), tools (`agent_trace`).

use ifm_core::{Message, Role};
use ifm_made::Rng;

use super::{Dataset, DatasetKind, sharegpt::SHAREGPT};
use crate::{
    compat::PythonRandom,
    conversation::Play,
    error::WorkloadError,
    facts::DropReason,
    list::Stored,
    media::Reader,
    opening::Opening,
    request::Answers,
    source::{Columns, Row},
    think::Think,
};

/// The data set's entry in the registry.
pub const KIND: DatasetKind = DatasetKind {
    name: "sharegpt-chat",
    aliases: &["chat-trace", "multi-turn"],
    usage: "sharegpt-chat:FILE",
    summary: "recorded conversations of several turns, with answers of the server or recorded ones",
    ignore_eos: false,
    hub: &[],
    open,
};

/// Turns of one conversation at most, if nothing else is said.
const TURNS_MAX: usize = 100;

fn open(opening: &mut Opening<'_>) -> Result<Box<dyn Dataset>, WorkloadError> {
    let turns_min = opening.options.value::<usize>("turns_min", "a number of turns")?.unwrap_or(1);
    let turns_max = opening.options.value::<usize>("turns_max", "a number of turns")?;
    let total_max = opening.options.value::<u64>("total_max", "a number of tokens")?;
    let think = opening.options.value::<Think>("think", "a pause, such as 2s or exp(2s)")?;
    let shuffled = opening.options.word("shuffle", &["no", "yes"])? == "yes";
    let answers = opening.take_answers(Answers::Server)?;
    let mut rows = opening.rows(Some(&SHAREGPT), &[&["messages"]])?;
    let mut found = Vec::new();
    let mut media = Reader::new(opening.request);
    let wanted = opening.wanted();
    let play = Play {
        tokenizer: opening.tokenizer,
        answers,
        think: think.unwrap_or_default(),
        tool_time: Think::None,
        turns_max: turns_max.unwrap_or(TURNS_MAX).max(1),
    };
    let pauses = Rng::new(opening.request.seed).stream("think");
    let output = opening.output_override();
    let lengths = Rng::new(opening.request.seed).stream("output_length");
    while shuffled || found.len() < wanted {
        let Some(row) = rows.next()? else { break };
        let messages = match read(rows.columns(), &row, &mut media) {
            Ok(messages) => messages,
            Err(reason) => {
                rows.bad(row.line, &reason)?;
                continue;
            }
        };
        let mut turns = play.turns(messages, None, &mut pauses.item(row.line))?;
        if turns.last().is_some_and(|turn| turn.output_tokens.is_none()) && output.is_none() {
            // The last question has no answer, so the length is unknown.
            turns.pop();
        }
        if turns.len() < turns_min.max(1) {
            rows.drop_row(DropReason::TooFewTurns);
            continue;
        }
        if let Some(law) = &output {
            for (turn, place) in turns.iter_mut().zip(0_u64..) {
                turn.output_tokens = Some(law.draw(&mut lengths.item(row.line << 16 | place)));
            }
        }
        let tokens = turns.iter().map(|turn| {
            u64::from(turn.prompt_tokens.unwrap_or(0)) + u64::from(turn.output_tokens.unwrap_or(0))
        });
        if tokens.sum::<u64>() > total_max.unwrap_or(u64::MAX) {
            rows.drop_row(DropReason::TotalTooLong);
            continue;
        }
        found.push(Stored { turns, at_ns: None, agents: Vec::new() });
    }
    if shuffled {
        let seed = opening.selection_seed(0);
        PythonRandom::new(seed).shuffle(&mut found);
        found.truncate(wanted);
        opening.rule(format!("seed {seed}, Python random.shuffle"));
    }
    opening.tell_answers(answers);
    opening.list(found, rows.into_counts())
}

/// The messages of a row, from the first that is not the model's: ShareGPT has
/// conversations that begin with the end of an answer.
fn read(columns: &Columns, row: &Row, media: &mut Reader) -> Result<Vec<Message>, String> {
    let messages = media.messages(columns.list(row, "messages")?, &row.folder)?;
    Ok(messages.into_iter().skip_while(|message| message.role == Role::Assistant).collect())
}
