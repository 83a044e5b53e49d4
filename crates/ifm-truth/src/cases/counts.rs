//! Who counts tokens, and where in the stream the count stands.

use crate::case::{Case, Class};
use crate::payload::{CHAT_FIELDS, choice, quote, token, usage};
use crate::script::Script;

fn chat(name: &'static str, what: &'static str, why: &'static str) -> Script {
    Script::chat(name, Class::Counts, what, why)
}

/// A choice with some content, and the usage of the chunk.
fn counted(text: &str, tokens: u32) -> String {
    let delta = format!("{{\"content\": {}}}", quote(text));
    format!("\"choices\": [{}], \"usage\": {}", choice(0, &delta, None), usage(tokens))
}

/// The chunk with the finish reason and usage.
fn finish_with_usage(tokens: u32) -> String {
    format!("\"choices\": [{}], \"usage\": {}", choice(0, "{}", Some("length")), usage(tokens))
}

/// The cases of this class.
pub fn cases() -> Vec<Case> {
    let mut cases = places();
    cases.extend(per_chunk());
    cases
}

/// Where the one count of the answer stands.
fn places() -> Vec<Case> {
    vec![
        chat(
            "usage_with_finish",
            "usage stands in the chunk with the finish reason",
            "usage counts wherever it stands",
        )
        .ten_tokens()
        .event(280, &finish_with_usage(10))
        .done(280)
        .case(),
        chat(
            "usage_before_finish",
            "an event with usage alone comes before the finish reason",
            "usage counts wherever it stands",
        )
        .ten_tokens()
        .usage(280, 10)
        .finish(280, "length")
        .done(280)
        .case(),
        chat(
            "usage_with_last_token",
            "usage stands in the chunk with the last token and the finish reason",
            "the chunk is a token, a finish and a count at once",
        )
        .tokens(0..9, 100, 20)
        .event(
            280,
            &format!(
                "\"choices\": [{}], \"usage\": {}",
                choice(0, "{\"content\": \" tok9\"}", Some("stop")),
                usage(10)
            ),
        )
        .done(280)
        .case(),
        chat(
            "choices_null_usage",
            "choices is null in the event with usage",
            "null choices are not choices",
        )
        .ten_tokens()
        .finish(280, "length")
        .payload(
            280,
            &format!(
                "{{\"id\": \"x\", \"object\": \"chat.completion.chunk\", \"created\": 1, \
                 \"model\": \"mock\", \"choices\": null, \"usage\": {}}}",
                usage(10)
            ),
        )
        .done(280)
        .case(),
        chat(
            "choices_absent_usage",
            "the event with usage has no choices at all",
            "absent choices are not choices",
        )
        .ten_tokens()
        .finish(280, "length")
        .event(280, &format!("\"usage\": {}", usage(10)))
        .done(280)
        .case(),
        chat(
            "usage_null",
            "usage is null in every chunk but the last",
            "null is not a count, least of all 0",
        )
        .each_event(10, 100, 20, |position| {
            let delta = format!("{{\"content\": {}}}", quote(&token(position)));
            format!("\"choices\": [{}], \"usage\": null", choice(0, &delta, None))
        })
        .tail(280, 10)
        .case(),
        chat(
            "usage_late",
            "usage comes 200 ms after the finish reason",
            "the count waits for usage; no latency does",
        )
        .ten_tokens()
        .finish(280, "length")
        .usage(480, 10)
        .done(480)
        .case(),
        chat(
            "usage_details",
            "usage has details: cached prompt tokens, reasoning tokens, nested counts",
            "the output tokens are completion_tokens; details are parts of it",
        )
        .ten_tokens()
        .finish(280, "stop")
        .event(
            280,
            "\"choices\": [], \"usage\": {\"prompt_tokens_details\": {\"cached_tokens\": 4}, \
             \"completion_tokens_details\": {\"completion_tokens\": 77, \"reasoning_tokens\": 5, \
             \"accepted_prediction_tokens\": 0, \"rejected_prediction_tokens\": 0}, \
             \"prompt_tokens\": 8, \"completion_tokens\": 10, \"total_tokens\": 18}",
        )
        .done(280)
        .case(),
        chat(
            "no_usage",
            "no chunk has usage",
            "events are not tokens: the count is not knowable from the stream",
        )
        .ten_tokens()
        .finish(280, "length")
        .done(280)
        .truth(|truth| {
            truth.output_tokens = None;
            truth.tpot_ms = None;
        })
        .case(),
        chat(
            "usage_is_not_events",
            "usage counts 19 tokens in ten events of unknown size",
            "the server's count stands: (280 - 100) / 18 = 10",
        )
        .ten_tokens()
        .tail(280, 19)
        .complete(100, 280, 10, 19)
        .case(),
        written("usage_as_float", "10.0", Some(10)),
        written("usage_as_exponent", "1e1", Some(10)),
        written("usage_as_text", "\"10\"", Some(10)),
        written("usage_negative", "-1", None),
        written("usage_in_parts", "10.5", None),
        chat("no_object_field", "chunks have no object field", "nothing rests on that field")
            .fields("\"id\": \"chatcmpl-1\", \"created\": 1700000000, \"model\": \"mock\"")
            .ten_tokens()
            .tail(280, 10)
            .case(),
    ]
}

/// Ten tokens whose count, and the index of whose choice, a proxy has rewritten.
fn written(name: &'static str, count: &str, tokens: Option<u32>) -> Case {
    let (what, why) = match tokens {
        Some(_) => (
            "a proxy has rewritten the numbers: the counts are in another notation, the index is 0.0",
            "the number is the same, however it is written",
        ),
        None => {
            ("the counts are not numbers of tokens", "the answer is good, its count is unknown")
        }
    };
    let usage = format!(
        "{{\"prompt_tokens\": 8.0, \"completion_tokens\": {count}, \"total_tokens\": {count}}}"
    );
    chat(name, what, why)
        .each_event(10, 100, 20, |position| {
            format!(
                "\"choices\": [{{\"index\": 0.0, \"delta\": {{\"content\": {}}}, \
                 \"finish_reason\": null}}]",
                quote(&token(position))
            )
        })
        .finish(280, "length")
        .event(280, &format!("\"choices\": [], \"usage\": {usage}"))
        .done(280)
        .truth(|truth| {
            truth.output_tokens = tokens;
            truth.tpot_ms = truth.tpot_ms.filter(|_| tokens.is_some());
        })
        .case()
}

/// A count in every chunk.
fn per_chunk() -> Vec<Case> {
    vec![
        chat(
            "continuous_usage",
            "every chunk tells the tokens so far",
            "the last count is the count; the first event holds one token",
        )
        .each_event(10, 100, 20, |position| counted(&token(position), position as u32 + 1))
        .event(280, &finish_with_usage(10))
        .usage(280, 10)
        .done(280)
        .truth(|truth| truth.tpot_after_first_event_ms = Some(20.0))
        .case(),
        chat(
            "continuous_usage_from_role",
            "the role chunk tells 0 tokens so far, later chunks 1 to 10; no count at the end",
            "the last count is the count, and 0 with the role is not a token",
        )
        .event(
            10,
            &format!(
                "\"choices\": [{}], \"usage\": {}",
                choice(0, "{\"role\": \"assistant\", \"content\": \"\"}", None),
                usage(0)
            ),
        )
        .each_event(10, 100, 20, |position| counted(&token(position), position as u32 + 1))
        .finish(280, "length")
        .done(280)
        .truth(|truth| truth.tpot_after_first_event_ms = Some(20.0))
        .case(),
        chat(
            "large_first_event",
            "the first event holds 8 of 10 tokens, as counts in each chunk tell",
            "(280 - 100) / 9 over all, but (280 - 100) / (10 - 8) = 90 after the first event",
        )
        .event(100, &counted(" tok0 tok1 tok2 tok3 tok4 tok5 tok6 tok7", 8))
        .event(190, &counted(" tok8", 9))
        .event(280, &counted(" tok9", 10))
        .tail(280, 10)
        .complete(100, 280, 3, 10)
        .truth(|truth| truth.tpot_after_first_event_ms = Some(90.0))
        .case(),
        chat(
            "continuous_empty_text",
            "an empty text comes while the count rises, another while it stands still",
            "the count tells that the first one is a token and the second one none",
        )
        .event(100, &counted("", 1))
        .event(120, &counted(" tok1", 2))
        .event(140, &counted("", 2))
        .event(160, &counted(" tok2", 3))
        .event(180, &counted(" tok3", 4))
        .tail(180, 4)
        .complete(100, 180, 4, 4)
        .truth(|truth| truth.tpot_after_first_event_ms = Some(80.0 / 3.0))
        .case(),
        chat(
            "continuous_closing_text",
            "every chunk tells the tokens so far; the last one has an empty text and one token more",
            "the count tells that the end-of-text token came with the finish reason",
        )
        .each_event(9, 100, 20, |position| counted(&token(position), position as u32 + 1))
        .event(
            280,
            &format!(
                "\"choices\": [{}], \"usage\": {}",
                choice(0, "{\"content\": \"\"}", Some("stop")),
                usage(10)
            ),
        )
        .done(280)
        .truth(|truth| truth.tpot_after_first_event_ms = Some(20.0))
        .case(),
        chat(
            "continuous_closing_text_uncounted",
            "every chunk tells the tokens so far but the last, whose text is empty, 100 ms later",
            "ten tokens were counted before: what closes the answer is none",
        )
        .each_event(10, 100, 20, |position| counted(&token(position), position as u32 + 1))
        .event(
            380,
            &format!("\"choices\": [{}]", choice(0, "{\"content\": \"\"}", Some("stop"))),
        )
        .done(380)
        .truth(|truth| truth.tpot_after_first_event_ms = Some(20.0))
        .case(),
        chat(
            "usage_first_in_object",
            "usage precedes choices in each chunk",
            "members of an object have no order",
        )
        .each_payload(10, 100, 20, |position| {
            let delta = format!("{{\"content\": {}}}", quote(&token(position)));
            format!(
                "{{\"usage\": {}, \"choices\": [{}], {CHAT_FIELDS}}}",
                usage(position as u32 + 1),
                choice(0, &delta, None)
            )
        })
        .finish(280, "length")
        .done(280)
        .truth(|truth| truth.tpot_after_first_event_ms = Some(20.0))
        .case(),
    ]
}
