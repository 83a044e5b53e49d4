//! Recordings of a data set's rows, for transcription: LibriSpeech and others of the hub, or a file
//! that names recordings.
//!
//! A row has a recording and, mostly, what is said in it, whose tokens are those to ask for. As in
//! vLLM, the recording goes out without a text.
//!
//! Not here: recordings that are made up, or of a folder (`audio`); judging what was heard.

use ifm_core::Prompt;

use super::{Dataset, DatasetKind};
use crate::{
    error::WorkloadError,
    hub::HubSet,
    media::{Reader, with_media},
    opening::Opening,
    order::{self, Step},
    select::{Candidate, Limits, Output},
    source::{Columns, Row},
    value,
};

/// The data set's entry in the registry.
pub const KIND: DatasetKind = DatasetKind {
    name: "asr",
    aliases: &["librispeech"],
    usage: "asr:FILE",
    summary: "recordings of a data set's rows (column audio), for transcription",
    ignore_eos: false,
    hub: &[HubSet { repository: "openslr/librispeech_asr", file: None }],
    open,
};

fn open(opening: &mut Opening<'_>) -> Result<Box<dyn Dataset>, WorkloadError> {
    let rows = opening.rows(KIND.hub.first(), &[&["audio"]])?;
    let output = opening.options.value::<u32>("output", "a number of tokens")?;
    let mut media = Reader::new(opening.request);
    opening.rule("recordings without text, as long an answer as what is said in them");
    order::fill(opening, rows, Limits::NONE, |columns, row| read(columns, row, output, &mut media))
}

fn read(
    columns: &Columns,
    row: &Row,
    output: Option<u32>,
    media: &mut Reader,
) -> Result<Step, String> {
    let recordings =
        media.field(columns.found(row, "audio")?, ifm_core::MediumKind::Audio, &row.folder)?;
    if recordings.is_empty() {
        return Err("the row has no recording".to_owned());
    }
    let said = ["text", "transcript", "transcription", "sentence", "normalized_text"];
    let said = said.iter().find_map(|name| row.fields.get(*name).and_then(value::text));
    let output = match (output, said.filter(|said| !said.is_empty())) {
        (Some(tokens), _) => Output::Tokens(tokens),
        (None, Some(said)) => Output::Answer(said.into()),
        (None, None) => Output::Open,
    };
    let prompt = with_media(Prompt::Text(String::new()), recordings)?;
    Ok(Step::Take(Candidate::new(prompt, output)))
}
