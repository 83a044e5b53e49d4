//! SGLang's own API, `POST /generate`.
//!
//! Takes texts and token ids, and one message with media. Each event repeats the whole text so far and counts the tokens so
//! far (`meta_info.completion_tokens`), so an event carries what its count has grown by; a server
//! that streams disjoint pieces of text counts in the same way. A stream ends with `[DONE]`.
//! A request that the server gave up says so in the reason why it ended (`abort`): a failure.

use super::body::put_field;
use super::json::{self, Word};
use super::list::List;
use super::openai;
use super::parts::{data_url, put_media, with_placeholders};
use super::text::Text;
use super::{
    ChoiceFacts, Choices, ChunkFacts, Dialect, Endpoint, Generated, LengthField, Media, Memory,
    Prompts, Usage,
};
use ifm_core::finish::Ending;
use ifm_core::spec::Api;
use ifm_core::{MediumKind, Message};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;

/// The dialect, for models that call a medium by its kind.
pub(super) static DIALECT: Dialect = dialect(|message, out| put_single(message, &PLAIN, out));
/// The dialect for models of the Qwen family.
static QWEN: Dialect = dialect(|message, out| put_single(message, &QWEN_WORDS, out));
/// The dialect for Gemma 3 and what follows it.
static GEMMA: Dialect = dialect(|message, out| put_single(message, &GEMMA_WORDS, out));

/// The dialect for a model, which requires its own media placeholders in the text: the API leaves
/// them to the client.
pub(super) fn of_model(model: &str) -> &'static Dialect {
    let model = model.to_ascii_lowercase();
    let is = |family: &str| model.contains(family);
    match () {
        () if is("qwen") || is("qvq") => &QWEN,
        () if is("gemma") => &GEMMA,
        () => &DIALECT,
    }
}

/// The placeholders for an image, a recording and a video in a text.
struct Placeholders {
    image: &'static str,
    audio: &'static str,
    video: &'static str,
}

static PLAIN: Placeholders = Placeholders { image: "<image>", audio: "<audio>", video: "<video>" };
static QWEN_WORDS: Placeholders = Placeholders {
    image: "<|vision_start|><|image_pad|><|vision_end|>",
    audio: "<|audio_start|><|audio_pad|><|audio_end|>",
    video: "<|vision_start|><|video_pad|><|vision_end|>",
};
static GEMMA_WORDS: Placeholders = Placeholders {
    image: "<start_of_image>",
    audio: "<start_of_audio>",
    video: "<start_of_video>",
};

impl Placeholders {
    fn of(&self, kind: MediumKind) -> &'static str {
        match kind {
            MediumKind::Image => self.image,
            MediumKind::Audio => self.audio,
            MediumKind::Video => self.video,
        }
    }
}

/// The fields of media, in the order in which they are written.
const FIELDS: [(MediumKind, &str); 3] = [
    (MediumKind::Image, "image_data"),
    (MediumKind::Video, "video_data"),
    (MediumKind::Audio, "audio_data"),
];
const KINDS: [MediumKind; 3] = [FIELDS[0].0, FIELDS[1].0, FIELDS[2].0];

/// A text with its media in separate fields, grouped by kind. If a text already has one placeholder
/// for each medium of a kind, no more are added.
fn put_single(message: &Message, words: &Placeholders, out: &mut Vec<u8>) {
    let media = |kind| message.media.iter().filter(move |placed| placed.medium.kind == kind);
    let is_there = |kind| {
        let count = media(kind).count();
        count > 0 && message.content.matches(words.of(kind)).count() == count
    };
    let text = with_placeholders(message, |kind| if is_there(kind) { "" } else { words.of(kind) });
    put_field("text", &text, out);
    for (kind, field) in FIELDS {
        put_media(field, media(kind), data_url, out);
    }
}

const fn dialect(single: fn(&Message, &mut Vec<u8>)) -> Dialect {
    Dialect {
        names_model: false,
        end_mark: Some(openai::DONE),
        length: Some(LengthField {
            within: Some("sampling_params"),
            names: &["max_new_tokens"],
            default: None,
        }),
        prompts: Prompts {
            tokens: Some("input_ids"),
            single: Some(single),
            ..Prompts::texts("text")
        },
        media: Media { addresses: true, by_kind: true, ..Media::of(&KINDS) },
        form: Some(super::forms::sglang),
        ..Dialect::new(
            Api::Sglang,
            Endpoint::root("/generate", "/generate"),
            read_event,
            read_answer,
        )
    }
}

fn read_event<'input>(
    data: &'input str,
    memory: &mut Memory,
    text: Option<&mut Generated>,
) -> Result<ChunkFacts<'input>, String> {
    let event: Event<'input> = json::parse(data)?;
    if event.error {
        return Ok(json::failure(data));
    }
    if event.text.is_none() && event.meta_info.is_none() {
        return Ok(ChunkFacts::default());
    }
    let index = event.index.unwrap_or(0);
    let sequence = memory.sequence(index);
    let written = event.text.map_or(0, Text::written_bytes);
    let counted = event.meta_info.as_ref().and_then(|meta| meta.completion_tokens);
    let has_grown = match counted {
        Some(tokens) => tokens > sequence.tokens,
        None => written > sequence.text_bytes,
    };
    let has_new_text = written != sequence.text_bytes && written > 0;
    sequence.tokens = counted.unwrap_or(sequence.tokens).max(sequence.tokens);
    sequence.text_bytes = written;
    if let (Some(kept), Some(text)) = (text, event.text) {
        keep(text, &mut sequence.text, &mut kept.text);
    }
    let (finish_reason, error) = match event.meta_info.as_ref().and_then(|m| m.finish_reason) {
        Some(reason) => read_reason(reason),
        None => (None, None),
    };
    let choice = ChoiceFacts {
        index,
        has_answer: has_grown && has_new_text,
        has_empty_text: has_grown && !has_new_text,
        finish_reason,
        ..ChoiceFacts::default()
    };
    // A count that has not grown says nothing new, and would be one of this choice alone.
    let usage = event.meta_info.filter(|_| has_grown).map(Usage::from);
    Ok(ChunkFacts { choices: Choices::one(choice), usage, error, ..ChunkFacts::default() })
}

/// One answer, or a list of them where several were asked for.
fn read_answer<'input>(
    data: &'input str,
    _memory: &mut Memory,
    mut text: Option<&mut Generated>,
) -> Result<ChunkFacts<'input>, String> {
    let answers: Vec<Event<'input>> = match data.starts_with('[') {
        true => json::parse::<List<Event<'input>>>(data)?.0,
        false => vec![json::parse(data)?],
    };
    let mut facts = ChunkFacts::default();
    for (position, answer) in answers.into_iter().enumerate() {
        if answer.error {
            return Ok(ChunkFacts { error: Some(json::error_in(data)), ..facts });
        }
        let Some(meta) = answer.meta_info else { continue };
        if let (Some(kept), Some(text)) = (text.as_deref_mut(), answer.text) {
            text.append_to(&mut kept.text);
        }
        let (finish_reason, error) = meta.finish_reason.map_or((None, None), read_reason);
        facts.error = facts.error.or(error);
        let index = u16::try_from(position).unwrap_or(u16::MAX);
        facts.choices.push(ChoiceFacts { index, finish_reason, ..ChoiceFacts::default() });
        facts.usage = Some(match facts.usage {
            None => Usage::from(meta),
            Some(usage) => usage.and_also(&Usage::from(meta)),
        });
    }
    Ok(facts)
}

#[derive(Deserialize)]
#[serde(bound(deserialize = "'de: 'input"))]
struct Event<'input> {
    #[serde(default, deserialize_with = "json::index")]
    index: Option<u16>,
    text: Option<Text<'input>>,
    meta_info: Option<Meta<'input>>,
    #[serde(default, deserialize_with = "json::reports")]
    error: bool,
}

#[derive(Deserialize)]
struct Meta<'input> {
    #[serde(borrow, default)]
    finish_reason: Option<&'input RawValue>,
    #[serde(default, deserialize_with = "json::count")]
    prompt_tokens: Option<u32>,
    #[serde(default, deserialize_with = "json::count")]
    completion_tokens: Option<u32>,
    #[serde(default, deserialize_with = "json::count")]
    cached_tokens: Option<u32>,
    #[serde(default, deserialize_with = "json::count")]
    reasoning_tokens: Option<u32>,
    /// Steps in which drafts were checked.
    #[serde(default, deserialize_with = "json::count")]
    spec_verify_ct: Option<u32>,
    /// Drafted tokens that were accepted, and all of them: three names, the newest first. A server
    /// may send two of them at once.
    #[serde(default, deserialize_with = "json::count")]
    spec_num_correct_drafts: Option<u32>,
    #[serde(default, deserialize_with = "json::count")]
    spec_num_proposed_drafts: Option<u32>,
    #[serde(default, deserialize_with = "json::count")]
    spec_accepted_drafts: Option<u32>,
    #[serde(default, deserialize_with = "json::count")]
    spec_proposed_drafts: Option<u32>,
    #[serde(default, deserialize_with = "json::count")]
    spec_accept_token_num: Option<u32>,
    #[serde(default, deserialize_with = "json::count")]
    spec_draft_token_num: Option<u32>,
}

impl From<Meta<'_>> for Usage {
    fn from(meta: Meta<'_>) -> Usage {
        let accepted = meta.spec_num_correct_drafts.or(meta.spec_accepted_drafts);
        let accepted = accepted.or(meta.spec_accept_token_num);
        let drafted = meta.spec_num_proposed_drafts.or(meta.spec_proposed_drafts);
        let drafted = drafted.or(meta.spec_draft_token_num);
        Usage {
            prompt_tokens: meta.prompt_tokens,
            completion_tokens: meta.completion_tokens,
            cached_tokens: meta.cached_tokens,
            reasoning_tokens: meta.reasoning_tokens,
            draft_steps: meta.spec_verify_ct,
            accepted_draft_tokens: accepted,
            rejected_draft_tokens: openai::rejected(drafted, accepted),
            ..Usage::default()
        }
    }
}

/// Why a sequence ended: a word, or an object with the word as its type.
#[derive(Deserialize)]
struct Reason<'input> {
    #[serde(rename = "type", borrow, default)]
    kind: Option<Word<'input>>,
    #[serde(borrow, default)]
    message: Option<Word<'input>>,
}

/// The reason why a sequence ended, and the sentence where that is a failure.
fn read_reason(raw: &RawValue) -> (Option<Cow<'_, str>>, Option<String>) {
    let raw = raw.get();
    let reason = match raw.starts_with('{') {
        true => serde_json::from_str(raw).ok(),
        false => {
            let kind = serde_json::from_str::<Option<Word<'_>>>(raw).ok().flatten();
            Some(Reason { kind, message: None })
        }
    };
    let Some(Reason { kind: Some(kind), message }) = reason else { return (None, None) };
    let why = message.filter(|_| Ending::from_reason(&kind.0) == Ending::Failure);
    let error = why
        .map(|why| super::bounded_sentence(&format!("the server gave the request up: {}", why.0)));
    (Some(kind.0), error)
}

/// Appends what is new in a text that repeats what it was before, or all of one that does not.
fn keep(text: Text<'_>, so_far: &mut String, kept: &mut String) {
    let mut whole = String::new();
    text.append_to(&mut whole);
    match whole.strip_prefix(so_far.as_str()) {
        Some(new) => {
            kept.push_str(new);
            *so_far = whole;
        }
        None => {
            kept.push_str(&whole);
            so_far.push_str(&whole);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What events say: whether each carries output, and the whole text that was kept.
    fn read(events: &[&str]) -> (Vec<bool>, String) {
        let mut memory = Memory::default();
        let mut text = Generated::default();
        let carry = |data: &&str| {
            let facts = DIALECT.read_event(data, &mut memory, Some(&mut text)).unwrap();
            facts.choices.iter().any(|choice| choice.has_answer)
        };
        (events.iter().map(carry).collect(), text.into())
    }

    #[test]
    fn texts_that_repeat_and_texts_that_go_on_are_told_by_the_count() {
        let event = |text: &str, tokens: u32| {
            format!(r#"{{"text":"{text}","meta_info":{{"completion_tokens":{tokens}}}}}"#)
        };
        let repeated = [event("a", 1), event("a", 1), event("a\\nb", 2)];
        let repeated: Vec<&str> = repeated.iter().map(String::as_str).collect();
        assert_eq!(read(&repeated), (vec![true, false, true], "a\nb".to_owned()));
        let pieces = [event("ab", 1), event("c", 2), event("def", 3)];
        let pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
        assert_eq!(read(&pieces), (vec![true, true, true], "abcdef".to_owned()));
    }

    #[test]
    fn without_a_count_a_text_that_grew_is_output() {
        let (carry, text) = read(&[r#"{"text":"a"}"#, r#"{"text":"a"}"#, r#"{"text":"ab"}"#]);
        assert_eq!((carry, text.as_str()), (vec![true, false, true], "ab"));
    }

    #[test]
    fn several_answers_add_up_and_reasons_come_as_words_or_objects() {
        let list = r#"[
            {"text":"a","meta_info":{"finish_reason":{"type":"stop"},"prompt_tokens":3,"completion_tokens":1,"spec_verify_ct":2,"spec_accept_token_num":3,"spec_draft_token_num":8}},
            {"text":"b","meta_info":{"finish_reason":"length","prompt_tokens":3,"completion_tokens":4}}
        ]"#;
        let facts = DIALECT.read_answer(list, None).unwrap();
        let reasons: Vec<_> = facts.choices.iter().map(|c| c.finish_reason.clone()).collect();
        assert_eq!(reasons, [Some("stop".into()), Some("length".into())]);
        let usage = facts.usage.unwrap();
        assert_eq!((usage.prompt_tokens, usage.completion_tokens), (Some(3), Some(5)));
        let drafts = (usage.draft_steps, usage.accepted_draft_tokens, usage.rejected_draft_tokens);
        assert_eq!(drafts, (Some(2), Some(3), Some(5)));
    }

    #[test]
    fn drafts_are_counted_under_each_of_their_names() {
        for names in [
            r#""spec_accept_token_num":3,"spec_draft_token_num":8"#,
            r#""spec_accepted_drafts":3,"spec_proposed_drafts":8"#,
            r#""spec_num_correct_drafts":3,"spec_num_proposed_drafts":8"#,
            r#""spec_num_correct_drafts":3,"spec_num_proposed_drafts":8,"spec_accepted_drafts":3,"spec_proposed_drafts":8"#,
        ] {
            let answer = format!(r#"{{"text":"a","meta_info":{{"completion_tokens":4,{names}}}}}"#);
            let usage = DIALECT.read_answer(&answer, None).unwrap().usage.unwrap();
            let drafts = (usage.accepted_draft_tokens, usage.rejected_draft_tokens);
            assert_eq!(drafts, (Some(3), Some(5)), "{names}");
        }
    }
}
