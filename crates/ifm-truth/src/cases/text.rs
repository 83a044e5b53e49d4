//! JSON texts (RFC 8259) that mean the same in other words, or look like something they are not.

use crate::case::{Case, Class};
use crate::payload::{quote, token};
use crate::script::Script;

fn chat(name: &'static str, what: &'static str, why: &'static str) -> Script {
    Script::chat(name, Class::Text, what, why)
}

/// The suite's ten tokens with this text in the first one, as a JSON string literal.
fn first_text(name: &'static str, what: &'static str, why: &'static str, literal: &str) -> Case {
    chat(name, what, why)
        .delta(100, &format!("{{\"content\": {literal}}}"))
        .tokens(1..10, 120, 20)
        .tail(280, 10)
        .case()
}

/// The cases of this class.
pub fn cases() -> Vec<Case> {
    let mut cases = strings();
    cases.extend(disguises());
    cases.extend(layouts());
    cases
}

/// Characters within strings.
fn strings() -> Vec<Case> {
    vec![
        first_text(
            "line_separators",
            "the first token holds U+2028, U+2029, U+0085, form feed and a vertical tab escape",
            "only LF and CR end a line of an event stream",
            "\"a\u{2028}b\u{2029}c\u{85}d\\fe\\u000b\"",
        ),
        first_text(
            "escaped_unicode",
            "the first token is written in \\u escapes, surrogate pairs among them",
            "an escape is the character that it names",
            "\"\\u4e2d\\ud83d\\ude00\\u0000\"",
        ),
        first_text(
            "escaped_quotes",
            "the first token holds quotes and ends in backslashes",
            "an escaped quote ends no string, a quote after an escaped backslash does",
            "\"say \\\"x\\\" \\\\\\\" \\\\\\\\\"",
        ),
        first_text(
            "escaped_newlines",
            "the first token holds escaped blank lines and a data line",
            "an escaped line feed ends no line",
            "\"\\n\\n\\r\\n\\r\\ndata: [DONE]\\n\\n\"",
        ),
        first_text(
            "escaped_solidus",
            "the first token escapes its slashes",
            "\\/ is /",
            "\"http:\\/\\/x\\/\"",
        ),
        chat(
            "large_content",
            "one token-bearing event holds 64 KB of text",
            "usage counts 20,000 tokens: (120 - 100) / 19,999",
        )
        .content(100, &"word ".repeat(13_000))
        .content(120, " end")
        .tail(120, 20_000)
        .complete(100, 120, 2, 20_000)
        .case(),
    ]
}

/// Texts that hold what looks like protocol.
fn disguises() -> Vec<Case> {
    vec![
        first_text(
            "text_like_usage",
            "the first token's text is a usage object",
            "text is text",
            &quote("\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":999,\"total_tokens\":1000}"),
        ),
        first_text(
            "text_like_done",
            "the first token's text is the end mark",
            "only an event's whole payload can be the end mark",
            &quote("data: [DONE]"),
        ),
        first_text(
            "text_like_error",
            "the first token's text is an error object",
            "text is text",
            &quote("{\"error\":{\"message\":\"boom\",\"code\":500}}"),
        ),
        first_text(
            "text_like_finish",
            "the first token's text holds a finish reason and an empty delta",
            "text is text",
            &quote("\"delta\": {}, \"finish_reason\": \"stop\""),
        ),
        chat(
            "error_null",
            "every chunk has an error member that is null",
            "null is not an error",
        )
        .each_event(10, 100, 20, |position| {
            format!(
                "\"error\": null, \"choices\": [{{\"index\": 0, \"delta\": {{\"content\": {}}}, \
                 \"finish_reason\": null}}]",
                quote(&token(position))
            )
        })
        .tail(280, 10)
        .case(),
        chat(
            "logprobs",
            "every chunk has log probabilities with tokens, bytes and content of their own",
            "members of logprobs are not output",
        )
        .each_event(10, 100, 20, |position| {
            let text = quote(&token(position));
            format!(
                "\"choices\": [{{\"index\": 0, \"logprobs\": {{\"content\": [{{\"token\": {text}, \
                 \"logprob\": -0.5, \"bytes\": [32, 116], \"top_logprobs\": [{{\"token\": {text}, \
                 \"logprob\": -0.5, \"bytes\": null}}]}}]}}, \"delta\": {{\"content\": {text}}}, \
                 \"finish_reason\": null}}]"
            )
        })
        .tail(280, 10)
        .case(),
    ]
}

/// White space, order and names.
fn layouts() -> Vec<Case> {
    vec![
        compact(),
        chat(
            "wide_white_space",
            "blanks and tabs stand wherever JSON allows them",
            "white space between tokens of JSON has no meaning",
        )
        .each_payload(10, 100, 20, |position| {
            format!(
                " {{ \"choices\" :\t[ {{ \"index\" : 0 ,  \"delta\" : {{ \t\"content\"  :  {} }} , \
                 \"finish_reason\"\t: null }} ] \t}}  ",
                quote(&token(position))
            )
        })
        .tail(280, 10)
        .case(),
        chat(
            "other_key_order",
            "choices come first, delta last in its choice, content before the role",
            "members of an object have no order",
        )
        .each_payload(10, 100, 20, |position| {
            format!(
                "{{\"choices\": [{{\"finish_reason\": null, \"logprobs\": null, \"delta\": \
                 {{\"content\": {}, \"role\": \"assistant\"}}, \"index\": 0}}], \"model\": \
                 \"mock\", \"created\": 1700000000, \"id\": \"chatcmpl-1\"}}",
                quote(&token(position))
            )
        })
        .tail(280, 10)
        .case(),
        chat(
            "escaped_keys",
            "the names choices, delta and content are written with \\u escapes",
            "an escape is the character that it names, in a name too",
        )
        .each_payload(10, 100, 20, |position| {
            format!(
                "{{\"\\u0063hoices\": [{{\"index\": 0, \"d\\u0065lta\": {{\"conten\\u0074\": {}}}, \
                 \"finish_reason\": null}}]}}",
                quote(&token(position))
            )
        })
        .tail(280, 10)
        .case(),
        chat(
            "minimal_chunks",
            "chunks hold a choice with a delta and nothing else",
            "an absent index is 0, absent finish reasons are none",
        )
        .each_payload(10, 100, 20, |position| {
            format!("{{\"choices\":[{{\"delta\":{{\"content\":{}}}}}]}}", quote(&token(position)))
        })
        .tail(280, 10)
        .case(),
        chat(
            "vendor_members",
            "chunks have deep members that no standard knows, before and after choices",
            "unknown members have no meaning",
        )
        .each_event(10, 100, 20, |position| {
            format!(
                "\"x_vendor\": {{\"a\": [[[{{\"choices\": [], \"b\": \"}}]\"}}]]], \"n\": -1.5e+3}}, \
                 \"choices\": [{{\"index\": 0, \"delta\": {{\"content\": {}}}, \
                 \"finish_reason\": null, \"stop_reason\": null, \"token_ids\": [1, 2]}}], \
                 \"system_fingerprint\": \"fp\", \"service_tier\": null",
                quote(&token(position))
            )
        })
        .tail(280, 10)
        .case(),
    ]
}

/// As vLLM and most servers written in compiled languages send them.
fn compact() -> Case {
    let fields = "\"id\":\"chatcmpl-1\",\"object\":\"chat.completion.chunk\",\
                  \"created\":1700000000,\"model\":\"mock\"";
    let choice = |delta: &str, finish: &str| {
        format!(
            "{{{fields},\"choices\":[{{\"index\":0,\"delta\":{delta},\"logprobs\":null,\
             \"finish_reason\":{finish}}}]}}"
        )
    };
    let usage = format!(
        "{{{fields},\"choices\":[],\"usage\":{{\"prompt_tokens\":8,\"total_tokens\":18,\
         \"completion_tokens\":10}}}}"
    );
    chat("compact", "JSON without white space", "white space between tokens has no meaning")
        .payload(10, &choice("{\"role\":\"assistant\",\"content\":\"\"}", "null"))
        .each_payload(10, 100, 20, |position| {
            choice(&format!("{{\"content\":{}}}", quote(&token(position))), "null")
        })
        .payload(280, &choice("{}", "\"length\""))
        .payload(280, &usage)
        .done(280)
        .case()
}
