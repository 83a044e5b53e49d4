//! The usual stream, and its usual variants in time and in where one event ends.

use crate::case::{Case, Class};
use crate::payload::{choice, quote, token};
use crate::script::{Cut, Script};

fn chat(name: &'static str, what: &'static str, why: &'static str) -> Script {
    Script::chat(name, Class::Plain, what, why)
}

/// The cases of this class.
pub fn cases() -> Vec<Case> {
    let mut cases = shape();
    cases.extend(split());
    cases.extend(together());
    cases
}

/// Which chunks open and close the stream.
fn shape() -> Vec<Case> {
    vec![
        chat("baseline", "ten tokens, finish, usage, end mark", "(280 - 100) / 9 = 20")
            .ten_tokens()
            .tail(280, 10)
            .case(),
        chat(
            "role_first",
            "a first delta with the role and empty content, 90 ms before the first token",
            "a delta that only names the role is not a token",
        )
        .role(10, "\"\"")
        .ten_tokens()
        .tail(280, 10)
        .case(),
        chat(
            "role_null_content",
            "a first delta with the role and null content",
            "a delta that only names the role is not a token",
        )
        .role(10, "null")
        .ten_tokens()
        .tail(280, 10)
        .case(),
        chat(
            "role_with_content",
            "the first delta carries the role and the first token",
            "content is not empty, so the delta is a token whatever stands beside it",
        )
        .delta(100, "{\"role\": \"assistant\", \"content\": \" tok0\"}")
        .tokens(1..10, 120, 20)
        .tail(280, 10)
        .case(),
        role_everywhere(),
        chat(
            "finish_with_last_token",
            "the last token's chunk also carries the finish reason",
            "a chunk with text is a token, finish reason or not",
        )
        .tokens(0..9, 100, 20)
        .event(
            280,
            &format!(
                "\"choices\": [{}]",
                choice(0, &format!("{{\"content\": {}}}", quote(&token(9))), Some("stop"))
            ),
        )
        .usage(280, 10)
        .done(280)
        .case(),
        chat(
            "late_tail",
            "finish, usage and end mark come 300 ms after the last token",
            "trailers are not part of a token's latency: the last token is at 280",
        )
        .ten_tokens()
        .tail(580, 10)
        .case(),
        chat("no_done", "the end mark is missing", "a finish reason makes the answer complete")
            .ten_tokens()
            .finish(280, "length")
            .usage(280, 10)
            .case(),
        chat(
            "done_without_finish",
            "no chunk tells a finish reason, but the end mark comes",
            "the end mark says that the server meant to end here",
        )
        .ten_tokens()
        .usage(280, 10)
        .done(280)
        .case(),
        chat("one_token", "an answer of one token", "TPOT needs two tokens: absent, not 0")
            .tokens(0..1, 100, 20)
            .tail(100, 1)
            .complete(100, 100, 1, 1)
            .case(),
        chat(
            "no_tokens",
            "the model ends at once: finish and a usage of 0",
            "no token, so there is no first and no last one; the count is known to be 0",
        )
        .role(10, "\"\"")
        .finish(100, "stop")
        .usage(100, 0)
        .done(100)
        .truth(|truth| {
            truth.ttft_ms = None;
            truth.ttfat_ms = None;
            truth.last_token_ms = None;
            truth.output_tokens = Some(0);
            truth.tpot_ms = None;
            truth.token_events = Some(0);
        })
        .case(),
        chat(
            "after_done",
            "a chunk with text comes 100 ms after the end mark",
            "the stream ends at its end mark; what follows is not part of the answer",
        )
        .ten_tokens()
        .tail(280, 10)
        .content(380, " late")
        .case(),
        chat("fast", "the first token at 2 ms, then one every millisecond", "(51 - 2) / 49 = 1")
            .tokens(0..50, 2, 1)
            .tail(51, 50)
            .complete(2, 51, 50, 50)
            .case(),
        chat(
            "uneven",
            "gaps of 5, 95, 5, 95 ... ms",
            "TPOT is the mean gap over the answer: (500 - 100) / 8 = 50",
        )
        .tokens(0..5, 100, 100)
        .tokens(0..4, 105, 100)
        .tail(500, 9)
        .complete(100, 500, 9, 9)
        .case(),
    ]
}

fn role_everywhere() -> Case {
    let mut script = chat(
        "role_everywhere",
        "every delta names the role beside its token, and so does an empty last one",
        "content is what counts; empty content with a role is not a token",
    );
    for position in 0..10 {
        let delta =
            format!("{{\"role\": \"assistant\", \"content\": {}}}", quote(&token(position)));
        script = script.delta(100 + 20 * position as u64, &delta);
    }
    let last = choice(0, "{\"role\": \"assistant\", \"content\": \"\"}", Some("stop"));
    script.event(380, &format!("\"choices\": [{last}]")).usage(380, 10).done(380).case()
}

/// One event in several reads.
fn split() -> Vec<Case> {
    vec![
        chat(
            "split_delim",
            "the first event's blank line comes 50 ms after its payload",
            "an event's time is that of its last payload byte: (360 - 100) / 9",
        )
        .content(100, " tok0")
        .split_write(Cut::Back(2), 150)
        .tokens(1..10, 200, 20)
        .tail(360, 10)
        .complete(100, 360, 10, 10)
        .case(),
        chat(
            "split_utf8",
            "a read ends inside a four-byte character of the first event",
            "the payload is complete at 110: (280 - 110) / 9",
        )
        .content(100, " 中😀")
        .split_write(Cut::Back(50), 110)
        .tokens(1..10, 120, 20)
        .tail(280, 10)
        .complete(110, 280, 10, 10)
        .case(),
        chat(
            "split_after_data",
            "a read ends right after the field name of the first event",
            "the payload is complete at 101: (280 - 101) / 9",
        )
        .content(100, " tok0")
        .split_write(Cut::Front(6), 101)
        .tokens(1..10, 120, 20)
        .tail(280, 10)
        .complete(101, 280, 10, 10)
        .case(),
        chat(
            "split_in_field_name",
            "a read ends inside the word data of the first event",
            "the payload is complete at 110: (280 - 110) / 9",
        )
        .content(100, " tok0")
        .split_write(Cut::Front(2), 110)
        .tokens(1..10, 120, 20)
        .tail(280, 10)
        .complete(110, 280, 10, 10)
        .case(),
        chat(
            "split_between_newlines",
            "the first event's blank line is cut between its two line feeds, 50 ms apart",
            "the last payload byte came at 100",
        )
        .content(100, " tok0")
        .split_write(Cut::Back(1), 150)
        .tokens(1..10, 200, 20)
        .tail(360, 10)
        .complete(100, 360, 10, 10)
        .case(),
        chat(
            "split_end_mark",
            "the end mark comes in two reads, 50 ms apart",
            "an end mark is not a token; the tokens are where they were",
        )
        .ten_tokens()
        .finish(280, "length")
        .usage(280, 10)
        .done(300)
        .split_write(Cut::Front(9), 350)
        .case(),
    ]
}

/// Several events in one read.
fn together() -> Vec<Case> {
    vec![
        coalesced(),
        coalesced_large(),
        everything_at_once(),
        chat(
            "multitok",
            "four tokens in each of four events, as speculative decoding sends them",
            "tokens are not events: (340 - 100) / 15 = 16",
        )
        .content(100, " tok0 tok1 tok2 tok3")
        .content(180, " tok4 tok5 tok6 tok7")
        .content(260, " tok8 tok9 tok0 tok1")
        .content(340, " tok2 tok3 tok4 tok5")
        .tail(340, 16)
        .complete(100, 340, 4, 16)
        .case(),
        two_events_per_write(),
        chat(
            "big_event",
            "the first event carries 300 KB of log probabilities",
            "a token is a token however large its event is",
        )
        .event(
            100,
            &format!(
                "\"choices\": [{{\"index\": 0, \"delta\": {{\"content\": \" tok0\"}}, \
                 \"finish_reason\": null, \"logprobs\": {{\"content\": [{{\"token\": \"x\", \
                 \"logprob\": -1.0, \"pad\": \"{}\"}}]}}}}]",
                "y".repeat(300_000)
            ),
        )
        .tokens(1..10, 120, 20)
        .tail(280, 10)
        .case(),
    ]
}

fn two_events_per_write() -> Case {
    let mut script = chat(
        "two_events_per_write",
        "ten tokens, two events in each write, 40 ms apart",
        "events of one read share its time: (260 - 100) / 9",
    );
    for position in 0..10 {
        script = script.content(100 + 40 * (position as u64 / 2), &token(position));
    }
    script.join_writes().tail(260, 10).complete(100, 260, 10, 10).case()
}

fn coalesced() -> Case {
    let mut script =
        chat("coalesced", "five events in each of two writes", "(200 - 100) / 9 = 11.1");
    for position in 0..10 {
        script = script.content(100 + 100 * (position as u64 / 5), &token(position));
    }
    script.join_writes().tail(200, 10).complete(100, 200, 10, 10).case()
}

fn coalesced_large() -> Case {
    let mut script = chat(
        "coalesced_large",
        "150 events (30 KB) in each of three writes",
        "(300 - 100) / 449; more than one read's worth of bytes share a time",
    );
    for write in 0..3 {
        for position in 0..150 {
            script = script.content(100 + 100 * write, &token(position));
        }
    }
    script.join_writes().tail(300, 450).complete(100, 300, 450, 450).case()
}

fn everything_at_once() -> Case {
    let mut script = chat(
        "everything_at_once",
        "head, ten events and the whole tail go out in one write at 100 ms",
        "first and last token came together: TPOT is 0, which is known and not absent",
    );
    for position in 0..10 {
        script = script.content(100, &token(position));
    }
    script
        .tail(100, 10)
        .join_writes()
        .head(100, crate::script::STREAM_HEAD)
        .join_sends()
        .complete(100, 100, 10, 10)
        .case()
}
