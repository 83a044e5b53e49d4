//! Recordings without text, for transcription: `audio:30s`, made up, or `audio:DIR`, a folder's.
//!
//! Each item is one message of a recording and no words; how long the answer is, the server decides.
//!
//! Not here: recordings of a data set's rows (`asr`), making them (`media`).

use ifm_core::{Message, Prompt, Role};

use super::{Dataset, DatasetKind, WorkItem};
use crate::lengths::Lengths;
use crate::{error::WorkloadError, opening::Opening, options::Options};
use ifm_made::{Rng, Stream};

/// The data set's entry in the registry.
pub const KIND: DatasetKind = DatasetKind {
    name: "audio",
    aliases: &["recordings"],
    usage: "audio:30s or audio:DIR",
    summary: "recordings without text, for transcription: speech-like ones, or files of a folder",
    ignore_eos: false,
    hub: &[],
    open,
};

fn open(opening: &mut Opening<'_>) -> Result<Box<dyn Dataset>, WorkloadError> {
    let body = match opening.body.as_str() {
        "" => "30s",
        body => body,
    };
    // The part after the colon is the option that every workload has.
    let (_, audio) = Options::split(&format!("?audio={body}"))?;
    let name = format!("audio:{}", body.rsplit('/').find(|part| !part.is_empty()).unwrap_or(body));
    opening.options.fill(audio);
    let output = opening.output_override();
    let output = match opening.options.text("output") {
        Some(text) => Some(text.parse::<Lengths>()?),
        None => output,
    };
    opening.facts.output_tokens = output.as_ref().map(Lengths::to_string);
    opening.facts.output_tokens_max = output.as_ref().map(Lengths::max);
    opening.name(|| name);
    let outputs = Rng::new(opening.request.seed).stream("output_length");
    Ok(Box::new(Silent { output, outputs }))
}

/// Items without text and without end.
struct Silent {
    output: Option<Lengths>,
    outputs: Stream,
}

impl Dataset for Silent {
    fn item(&self, id: u32) -> Result<WorkItem, WorkloadError> {
        let prompt = Prompt::Messages(vec![Message::text(Role::User, "")]);
        let output = self.output.as_ref().map(|law| law.draw(&mut self.outputs.item(id.into())));
        Ok(WorkItem::single(id, prompt, None, output))
    }

    fn distinct_items(&self) -> u64 {
        u64::MAX
    }
}
