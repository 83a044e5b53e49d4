//! MMMU: questions of university exams with up to seven images, which stand where the text names
//! them.
//!
//! As in SGLang, the question and its choices are one prompt; `<image 1>` in it becomes the image.
//!
//! Not here: judging answers.

use ifm_core::order::Order as _;
use ifm_core::{MediumKind, Message, Placed, Prompt, Role};
use serde_json::Value;

use super::{Dataset, DatasetKind};
use crate::{
    error::WorkloadError,
    hub::HubSet,
    media::Reader,
    opening::Opening,
    order::{self, Step},
    select::{Candidate, Limits, Output},
    source::{Columns, Row},
};

/// The data set's entry in the registry.
pub const KIND: DatasetKind = DatasetKind {
    name: "mmmu",
    aliases: &[],
    usage: "mmmu:FILE",
    summary: "exam questions with images in their text (MMMU)",
    ignore_eos: false,
    hub: &[HubSet { repository: "MMMU/MMMU", file: None }],
    open,
};

/// Tokens to ask for where nothing is said: room for a choice and its reason.
const OUTPUT_TOKENS: u32 = 256;
/// Images of one question at most.
const PICTURES_MAX: usize = 7;

fn open(opening: &mut Opening<'_>) -> Result<Box<dyn Dataset>, WorkloadError> {
    let rows = opening.documents(KIND.hub.first())?;
    let output = opening.options.value::<u32>("output", "a number of tokens")?;
    let output = output.unwrap_or(OUTPUT_TOKENS);
    let mut media = Reader::new(opening.request);
    opening.rule(format!("question, choices and images, {output} output tokens"));
    order::fill(opening, rows, Limits::NONE, |columns, row| read(columns, row, output, &mut media))
}

fn read(columns: &Columns, row: &Row, output: u32, media: &mut Reader) -> Result<Step, String> {
    let mut text = columns.text(row, "prompt")?.to_owned();
    for (letter, choice) in ('A'..='Z').zip(choices(row.fields.get("options"))) {
        text.push_str(&format!("\n{letter}. {choice}"));
    }
    let mut message = Message::text(Role::User, "");
    let mut pictures = Vec::new();
    for number in 1..=PICTURES_MAX {
        let Some(field) = row.fields.get(&format!("image_{number}")) else { continue };
        let found = media.field(field, MediumKind::Image, &row.folder)?;
        pictures.extend(found.into_iter().map(|medium| (number, medium)));
    }
    if pictures.is_empty() {
        return Err("the row has no image (image_1 to image_7)".to_owned());
    }
    // In the order in which the text names them, after the ones that it does not name.
    let mut named: Vec<(usize, usize, _)> = Vec::new();
    for (number, medium) in pictures {
        let mark = format!("<image {number}>");
        match text.find(&mark) {
            Some(place) => named.push((place, mark.len(), medium)),
            None => message.media.push(Placed { at: 0, medium }),
        }
    }
    named.order_by_key(|(place, ..)| *place);
    let mut from = 0;
    for (place, length, medium) in named {
        message.content.push_str(text.get(from..place).unwrap_or_default());
        message.media.push(Placed { at: message.content.len(), medium });
        from = place + length;
    }
    message.content.push_str(text.get(from..).unwrap_or_default());
    let prompt = Prompt::Messages(vec![message]);
    Ok(Step::Take(Candidate::new(prompt, Output::Tokens(output))))
}

/// Choices as a list, or as the text of a Python list that the data set has.
fn choices(value: Option<&Value>) -> Vec<String> {
    match value {
        Some(Value::Array(list)) => {
            list.iter().filter_map(Value::as_str).map(str::to_owned).collect()
        }
        Some(Value::String(text)) => {
            let json = text.replace('\'', "\"");
            serde_json::from_str::<Vec<String>>(text)
                .or_else(|_| serde_json::from_str(&json))
                .unwrap_or_default()
        }
        _ => Vec::new(),
    }
}
