//! What kinds of output are tokens, and how a complete answer may end.

use crate::case::{Case, Class};
use crate::payload::{choice, quote, text_choice, token, usage};
use crate::script::Script;
use ifm_core::Outcome;

fn chat(name: &'static str, what: &'static str, why: &'static str) -> Script {
    Script::chat(name, Class::Kinds, what, why)
}

/// The cases of this class.
pub fn cases() -> Vec<Case> {
    let mut cases = reasoning();
    cases.extend(tools());
    cases.extend(empty_texts());
    cases.extend(filtered());
    cases.extend(several_choices());
    cases.extend(completions());
    cases.extend(token_free());
    cases
}

/// Reasoning in its three spellings. The first answer token is the first that is not reasoning.
fn reasoning() -> Vec<Case> {
    let both = |position: usize| {
        let text = quote(&token(position));
        format!("{{\"reasoning\": {text}, \"reasoning_content\": {text}}}")
    };
    vec![
        chat(
            "reasoning_content",
            "five tokens of reasoning_content, then five of content",
            "reasoning is output: the first token is at 100, the first answer token at 200",
        )
        .role(10, "\"\"")
        .tokens_as("reasoning_content", 0..5, 100, 20)
        .tokens(5..10, 200, 20)
        .tail(280, 10)
        .truth(|truth| truth.ttfat_ms = Some(200.0))
        .case(),
        chat(
            "reasoning_only",
            "ten tokens of reasoning_content and no answer",
            "reasoning is output; there is no answer token",
        )
        .role(10, "\"\"")
        .tokens_as("reasoning_content", 0..10, 100, 20)
        .tail(280, 10)
        .truth(|truth| truth.ttfat_ms = None)
        .case(),
        chat(
            "reasoning",
            "five tokens of reasoning, then five of content",
            "the shorter name means the same",
        )
        .role(10, "\"\"")
        .tokens_as("reasoning", 0..5, 100, 20)
        .tokens(5..10, 200, 20)
        .tail(280, 10)
        .truth(|truth| truth.ttfat_ms = Some(200.0))
        .case(),
        chat(
            "reasoning_twice",
            "each reasoning delta tells its text under both names, beside null content",
            "one event is one event: two names do not make two tokens",
        )
        .delta(100, &both(0))
        .delta(120, &both(1))
        .delta(140, &both(2))
        .tokens(3..10, 160, 20)
        .tail(280, 10)
        .truth(|truth| truth.ttfat_ms = Some(160.0))
        .case(),
        chat(
            "reasoning_with_empty_content",
            "reasoning deltas carry empty content, answer deltas carry null reasoning",
            "only text that is not empty makes an answer token",
        )
        .delta(100, "{\"content\": \"\", \"reasoning_content\": \" tok0\"}")
        .delta(120, "{\"content\": \"\", \"reasoning_content\": \" tok1\"}")
        .delta(140, "{\"content\": \" tok2\", \"reasoning_content\": null}")
        .delta(160, "{\"content\": \" tok3\", \"reasoning_content\": null}")
        .tail(160, 4)
        .complete(100, 160, 4, 4)
        .truth(|truth| truth.ttfat_ms = Some(140.0))
        .case(),
    ]
}

/// Calls of tools and functions.
fn tools() -> Vec<Case> {
    let arguments =
        "{\"tool_calls\": [{\"index\": 0, \"function\": {\"arguments\": \"{\\\"a\\\"\"}}]}";
    let mut calls = chat(
        "tool_calls",
        "the first delta names a tool, nine more carry its arguments",
        "a tool call is output, its name as well as its arguments",
    )
    .role(10, "null")
    .delta(
        100,
        "{\"tool_calls\": [{\"index\": 0, \"id\": \"call_1\", \"type\": \"function\", \
         \"function\": {\"name\": \"f\", \"arguments\": \"\"}}]}",
    );
    let mut function = chat(
        "function_call",
        "the older function_call, with the role in its first delta",
        "a function call is output; the role beside it changes nothing",
    )
    .delta(
        100,
        "{\"role\": \"assistant\", \"content\": null, \
         \"function_call\": {\"name\": \"f\", \"arguments\": \"\"}}",
    );
    for position in 1..10 {
        let at_ms = 100 + 20 * position;
        calls = calls.delta(at_ms, arguments);
        function = function.delta(at_ms, "{\"function_call\": {\"arguments\": \"{\\\"a\\\"\"}}");
    }
    vec![
        calls.tail(280, 10).case(),
        function.tail_as(280, "function_call", 10).case(),
        chat(
            "parallel_tool_calls",
            "five deltas of one tool call, then five of a second one",
            "tool calls of one choice are one sequence",
        )
        .role(10, "null")
        .each_delta(10, 100, 20, |position| {
            let call = position / 5;
            let body = match position % 5 {
                0 => format!(
                    "\"id\": \"call_{call}\", \"type\": \"function\", \
                     \"function\": {{\"name\": \"f\", \"arguments\": \"\"}}"
                ),
                _ => "\"function\": {\"arguments\": \"1\"}".to_owned(),
            };
            format!("{{\"tool_calls\": [{{\"index\": {call}, {body}}}]}}")
        })
        .tail_as(280, "tool_calls", 10)
        .case(),
        chat(
            "content_then_tool_call",
            "five tokens of text, then a tool call; empty tool_calls beside the text",
            "an empty list of calls is not a call, and takes nothing from the text beside it",
        )
        .delta(20, "{\"role\": \"assistant\", \"content\": \"\", \"tool_calls\": []}")
        .each_delta(5, 100, 20, |position| {
            format!("{{\"content\": {}, \"tool_calls\": []}}", quote(&token(position)))
        })
        .each_delta(5, 200, 20, |_| arguments.to_owned())
        .tail_as(280, "tool_calls", 10)
        .case(),
    ]
}

/// Deltas whose text is empty: usage tells whether a token stands behind them.
fn empty_texts() -> Vec<Case> {
    vec![
        chat(
            "empty_first_token",
            "the first delta's content is empty, without a role; usage counts it",
            "ten tokens and ten events: the empty one is a token",
        )
        .content(100, "")
        .tokens(1..10, 120, 20)
        .tail(280, 10)
        .case(),
        chat(
            "empty_mid_tokens",
            "three deltas in the middle have empty content; usage counts them",
            "ten tokens and ten events: the empty ones are tokens",
        )
        .tokens(0..3, 100, 20)
        .content(160, "")
        .content(180, "")
        .content(200, "")
        .tokens(6..10, 220, 20)
        .tail(280, 10)
        .case(),
        chat(
            "empty_without_token",
            "an empty delta without a role comes first, and usage does not count it",
            "ten tokens stand behind the ten events with text: the empty one is none",
        )
        .content(20, "")
        .ten_tokens()
        .tail(280, 10)
        .case(),
        closing(
            "empty_last_token",
            "an empty text closes the answer 20 ms behind the ninth text; usage counts ten",
            "nine texts and ten tokens: the end-of-text token came with the finish reason",
            9,
            280,
        ),
        closing(
            "empty_close_without_token",
            "an empty text closes the answer 300 ms behind the tenth text; usage counts ten",
            "ten tokens stand behind the ten texts: what closes the answer is none",
            10,
            580,
        ),
        chat(
            "empty_last_token_after_reasoning",
            "nine tokens of reasoning, then an empty text with the finish reason; usage counts ten",
            "the end-of-text token is the tenth; it is no answer",
        )
        .role(10, "\"\"")
        .tokens_as("reasoning_content", 0..9, 100, 20)
        .event(280, &format!("\"choices\": [{}]", choice(0, EMPTY, Some("stop"))))
        .usage(280, 10)
        .done(280)
        .truth(|truth| truth.ttfat_ms = None)
        .case(),
        Script::completions(
            "empty_last_token_completions",
            Class::Kinds,
            "nine texts, then an empty one with the finish reason; usage counts ten",
            "nine texts and ten tokens: the end-of-text token came with the finish reason",
        )
        .each_event(10, 100, 20, |position| {
            let (text, reason) =
                if position < 9 { (token(position), None) } else { (String::new(), Some("stop")) };
            format!("\"choices\": [{}]", text_choice(0, &text, reason))
        })
        .usage(280, 10)
        .done(280)
        .case(),
    ]
}

/// A delta with an empty text.
const EMPTY: &str = "{\"content\": \"\"}";

/// So many texts, and at the end an empty one with the finish reason. Usage counts ten tokens.
fn closing(
    name: &'static str,
    what: &'static str,
    why: &'static str,
    texts: usize,
    end_ms: u64,
) -> Case {
    chat(name, what, why)
        .tokens(0..texts, 100, 20)
        .event(end_ms, &format!("\"choices\": [{}]", choice(0, EMPTY, Some("stop"))))
        .usage(end_ms, 10)
        .done(end_ms)
        .case()
}

/// Complete answers that a filter or the model itself cut off.
fn filtered() -> Vec<Case> {
    vec![
        chat(
            "content_filter",
            "three tokens, then the finish reason content_filter",
            "the answer is complete, but filtered: (140 - 100) / 2 = 20",
        )
        .tokens(0..3, 100, 20)
        .tail_as(140, "content_filter", 3)
        .complete(100, 140, 3, 3)
        .truth(|truth| truth.outcome = Outcome::OkFiltered)
        .case(),
        chat(
            "refusal",
            "the model refuses: ten tokens of refusal, finish reason stop",
            "a refusal is output; the answer is complete, but a refusal",
        )
        .delta(10, "{\"role\": \"assistant\", \"content\": null, \"refusal\": null}")
        .tokens_as("refusal", 0..10, 100, 20)
        .tail_as(280, "stop", 10)
        .truth(|truth| truth.outcome = Outcome::OkFiltered)
        .case(),
    ]
}

/// More than one sequence in an answer.
fn several_choices() -> Vec<Case> {
    let mut two = chat(
        "two_choices",
        "two sequences of ten tokens each, the second 10 ms behind the first",
        "tokens add up to 20, TPOT is per sequence: (280 - 100) / 9 and (290 - 110) / 9",
    );
    let mut texts = Script::completions(
        "two_choices_completions",
        Class::Kinds,
        "two completions of ten tokens each, the second 10 ms behind the first",
        "tokens add up to 20, TPOT is per sequence: (280 - 100) / 9 and (290 - 110) / 9",
    );
    for position in 0..10 {
        for index in 0..2 {
            let at_ms = 100 + 20 * position as u64 + 10 * index as u64;
            let delta = format!("{{\"content\": {}}}", quote(&token(position)));
            two = two.event(at_ms, &format!("\"choices\": [{}]", choice(index, &delta, None)));
            texts = texts.event(
                at_ms,
                &format!("\"choices\": [{}]", text_choice(index, &token(position), None)),
            );
        }
    }
    for index in 0..2 {
        two = two.event(290, &format!("\"choices\": [{}]", choice(index, "{}", Some("length"))));
        texts =
            texts.event(290, &format!("\"choices\": [{}]", text_choice(index, "", Some("length"))));
    }
    [two, texts]
        .into_iter()
        .map(|script| {
            script
                .usage(290, 20)
                .done(290)
                .complete(100, 290, 20, 20)
                .truth(|truth| {
                    truth.choices = Some(2);
                    truth.tpot_ms = Some(20.0);
                })
                .case()
        })
        .collect()
}

/// A completions case that begins with `count` texts, 20 ms apart.
fn texts(name: &'static str, what: &'static str, why: &'static str, count: usize) -> Script {
    Script::completions(name, Class::Kinds, what, why).each_event(count, 100, 20, |position| {
        format!("\"choices\": [{}]", text_choice(0, &token(position), None))
    })
}

/// The completions endpoint.
fn completions() -> Vec<Case> {
    let empty_finish = format!("\"choices\": [{}]", text_choice(0, "", Some("length")));
    let last = text_choice(0, &token(9), Some("stop"));
    vec![
        texts(
            "completions",
            "ten texts, then an empty text with the finish reason 300 ms later",
            "usage counts ten tokens, which the ten texts hold: the empty one is none",
            10,
        )
        .event(580, &empty_finish)
        .usage(580, 10)
        .done(580)
        .case(),
        texts(
            "completions_finish_with_text",
            "the last text carries the finish reason, usage stands in the same chunk",
            "a chunk with text is a token, finish reason and usage or not",
            9,
        )
        .event(280, &format!("\"choices\": [{last}], \"usage\": {}", usage(10)))
        .done(280)
        .case(),
        texts(
            "completions_no_usage",
            "ten texts and a finish reason, no usage",
            "events are not tokens: the count is not knowable from the stream",
            10,
        )
        .event(280, &empty_finish)
        .done(280)
        .truth(|truth| {
            truth.output_tokens = None;
            truth.tpot_ms = None;
        })
        .case(),
    ]
}

/// Events without output that servers send around it.
fn token_free() -> Vec<Case> {
    vec![
        chat(
            "prompt_filter_results",
            "a first event without choices tells the prompt's filter results",
            "an event without choices is not a token",
        )
        .event(
            10,
            "\"choices\": [], \"prompt_filter_results\": [{\"prompt_index\": 0, \
             \"content_filter_results\": {\"hate\": {\"filtered\": false, \"content\": \"x\"}}}]",
        )
        .role(20, "\"\"")
        .ten_tokens()
        .event(
            290,
            "\"choices\": [{\"index\": 0, \"finish_reason\": null, \
             \"content_filter_results\": {\"hate\": {\"filtered\": false}}}]",
        )
        .tail(300, 10)
        .case(),
        chat(
            "empty_deltas",
            "empty deltas come every 20 ms before the first token",
            "a delta without any output field is not a token",
        )
        .each_delta(4, 20, 20, |_| "{}".to_owned())
        .ten_tokens()
        .tail(280, 10)
        .case(),
        chat(
            "null_fields",
            "every delta names all output fields, null but for content",
            "null is not output",
        )
        .delta(
            10,
            "{\"role\": \"assistant\", \"content\": null, \"reasoning\": null, \
             \"tool_calls\": null, \"function_call\": null, \"refusal\": null}",
        )
        .each_delta(10, 100, 20, |position| {
            format!(
                "{{\"role\": null, \"content\": {}, \"reasoning\": null, \"tool_calls\": null, \
                 \"function_call\": null, \"refusal\": null, \"audio\": null}}",
                quote(&token(position))
            )
        })
        .tail(280, 10)
        .case(),
        chat(
            "content_elsewhere",
            "the first events hold content and text outside of any delta",
            "only a choice's delta (or text) is output",
        )
        .event(
            20,
            "\"choices\": [], \"metadata\": {\"delta\": {\"content\": \"x\"}, \"text\": \"y\"}",
        )
        .event(
            40,
            "\"choices\": [{\"index\": 0, \"delta\": {}, \"finish_reason\": null, \
             \"logprobs\": {\"content\": [], \"refusal\": null}}]",
        )
        .ten_tokens()
        .tail(280, 10)
        .case(),
    ]
}
