//! The grammar of the event stream (WHATWG HTML, section 9.2): legal streams only.

use crate::case::{Case, Class};
use crate::payload::{CHAT_FIELDS, choice, quote, token, usage};
use crate::script::{Cut, Script};

fn chat(name: &'static str, what: &'static str, why: &'static str) -> Script {
    Script::chat(name, Class::Grammar, what, why)
}

/// The cases of this class.
pub fn cases() -> Vec<Case> {
    let mut cases = line_ends();
    cases.extend(comments());
    cases.extend(fields());
    cases.extend(multi_line());
    cases.extend(unterminated());
    cases
}

/// Line feeds, carriage returns, both, and a byte order mark.
fn line_ends() -> Vec<Case> {
    vec![
        chat("crlf", "lines end in CR LF", "the grammar allows LF, CR LF and CR")
            .lines(" ", "\r\n")
            .ten_tokens()
            .tail(280, 10)
            .case(),
        chat("cr_only", "lines end in CR", "the grammar allows LF, CR LF and CR")
            .lines(" ", "\r")
            .ten_tokens()
            .tail(280, 10)
            .case(),
        mixed_line_ends(),
        chat(
            "crlf_split",
            "a read ends between CR and LF of the first event's blank line",
            "CR LF is one line end wherever the read ends; the payload came at 100",
        )
        .lines(" ", "\r\n")
        .content(100, " tok0")
        .split_write(Cut::Back(1), 110)
        .tokens(1..10, 120, 20)
        .tail(280, 10)
        .case(),
        chat(
            "bom",
            "a byte order mark opens the stream",
            "one leading U+FEFF is dropped by the grammar",
        )
        .raw(100, "\u{feff}")
        .ten_tokens()
        .join_writes()
        .tail(280, 10)
        .case(),
        chat("nospace", "no blank stands after the colon", "the blank is optional")
            .lines("", "\n")
            .ten_tokens()
            .tail(280, 10)
            .case(),
        chat(
            "blank_lines",
            "several blank lines stand between the events",
            "a blank line without data before it dispatches nothing",
        )
        .raw(50, "\n\n\n")
        .ten_tokens()
        .raw(130, "\n")
        .raw(250, "\n\n\n\n")
        .tail(280, 10)
        .case(),
    ]
}

fn mixed_line_ends() -> Case {
    let mut script = chat(
        "mixed_line_ends",
        "events end in LF LF, CR LF CR LF, CR CR and LF CR LF in turn",
        "each line may end in its own way",
    );
    let ends = ["\n\n", "\r\n\r\n", "\r\r", "\n\r\n"];
    for (position, end) in ends.iter().cycle().take(10).enumerate() {
        let delta = format!("{{\"content\": {}}}", quote(&token(position)));
        let line =
            format!("data: {{{CHAT_FIELDS}, \"choices\": [{}]}}{end}", choice(0, &delta, None));
        script = script.raw(100 + 20 * position as u64, line);
    }
    script.tail(280, 10).case()
}

/// Lines that begin with a colon.
fn comments() -> Vec<Case> {
    vec![
        chat(
            "heartbeat",
            "comments come before and between the events",
            "a comment is not an event and no token",
        )
        .raw(20, ": ping\n\n")
        .raw(60, ": ping\n\n")
        .ten_tokens()
        .raw(190, ": ping\n\n")
        .tail(280, 10)
        .case(),
        chat(
            "comment_inside_event",
            "a comment stands between an event's data line and its blank line",
            "a comment ends no event; the payload came at 100",
        )
        .raw(
            100,
            format!(
                ": before\ndata: {{{CHAT_FIELDS}, \"choices\": [{}]}}\n: after\n\n",
                choice(0, "{\"content\": \" tok0\"}", None)
            ),
        )
        .tokens(1..10, 120, 20)
        .tail(280, 10)
        .case(),
        chat(
            "comment_like_data",
            "comments hold what looks like events, usage and the end mark",
            "whatever follows a leading colon is a comment",
        )
        .raw(
            50,
            format!(
                ":data: {{{CHAT_FIELDS}, \"choices\": [{}]}}\n\n: data: [DONE]\n\n",
                choice(0, "{\"content\": \" no\"}", Some("stop"))
            ),
        )
        .raw(60, format!(": {{\"choices\": [], \"usage\": {}}}\n\n", usage(99)))
        .ten_tokens()
        .tail(280, 10)
        .case(),
        chat(
            "comment_flood",
            "20,000 comments (240 KB) come before the first token",
            "comments are dropped, however many there are",
        )
        .raw(20, ": waiting\n\n".repeat(20_000))
        .ten_tokens()
        .tail(280, 10)
        .case(),
        chat(
            "comment_long",
            "one comment line is 100 KB long",
            "a comment is dropped, however long it is",
        )
        .raw(20, format!(": {}\n\n", "x".repeat(100_000)))
        .ten_tokens()
        .tail(280, 10)
        .case(),
    ]
}

/// Fields other than one line of data.
fn fields() -> Vec<Case> {
    let mut named = chat(
        "fields",
        "every event has event, id and retry fields and one that no standard knows",
        "the payload is what stands in data; unknown fields are dropped",
    );
    for position in 0..10 {
        let delta = format!("{{\"content\": {}}}", quote(&token(position)));
        let lines = format!(
            "event: message\nid: {position}\nretry: 3000\nx-vendor: 1\n\
             data: {{{CHAT_FIELDS}, \"choices\": [{}]}}\n\n",
            choice(0, &delta, None)
        );
        named = named.raw(100 + 20 * position as u64, lines);
    }
    vec![
        named.tail(280, 10).case(),
        chat(
            "event_field_after",
            "the event field follows the data line",
            "the order of fields has no meaning",
        )
        .raw(
            100,
            format!(
                "data: {{{CHAT_FIELDS}, \"choices\": [{}]}}\nevent: chunk\n\n",
                choice(0, "{\"content\": \" tok0\"}", None)
            ),
        )
        .tokens(1..10, 120, 20)
        .tail(280, 10)
        .case(),
        chat(
            "event_without_data",
            "events with a name and no data come between the tokens",
            "an event without data is not dispatched",
        )
        .raw(40, "event: ping\n\n")
        .raw(60, "id: 1\nretry: 10\n\n")
        .ten_tokens()
        .raw(190, "event: ping\n\n")
        .tail(280, 10)
        .case(),
        chat(
            "data_prefixed_names",
            "fields whose names begin with data come before the tokens",
            "a field's name is all that stands before the colon: these are unknown fields",
        )
        .raw(50, "data2: {\"choices\": []}\n\ndatabase: [DONE]\n\n data: [DONE]\n\n")
        .ten_tokens()
        .tail(280, 10)
        .case(),
        chat(
            "done_unterminated",
            "the end mark's line has no line end, then the response ends",
            "the mark is whole without its line end, and the finish reason came before",
        )
        .ten_tokens()
        .finish(280, "length")
        .usage(280, 10)
        .raw(280, "data: [DONE]")
        .case(),
    ]
}

/// Several data lines in one event.
fn multi_line() -> Vec<Case> {
    let mut pretty = chat(
        "multi_line_data",
        "each event is a JSON text over several data lines",
        "data lines are joined by line feeds, which JSON allows between its tokens",
    );
    for position in 0..10 {
        let lines = format!(
            "data: {{\ndata:   \"id\": \"chatcmpl-1\", \"object\": \"chat.completion.chunk\",\n\
             data:   \"choices\": [\ndata:     {{\"index\": 0,\n\
             data:      \"delta\": {{\"content\": {}}},\n\
             data:      \"finish_reason\": null}}\ndata:   ]\ndata: }}\n\n",
            quote(&token(position))
        );
        pretty = pretty.raw(100 + 20 * position as u64, lines);
    }
    vec![
        pretty.tail(280, 10).case(),
        chat(
            "multi_line_split",
            "the first event's second data line comes 10 ms after its first",
            "the payload is complete at 110: (280 - 110) / 9",
        )
        .raw(
            100,
            format!(
                "data: {{{CHAT_FIELDS},\ndata: \"choices\": [{}]}}\n\n",
                choice(0, "{\"content\": \" tok0\"}", None)
            ),
        )
        .split_write(Cut::Front(CHAT_FIELDS.len() + 9), 110)
        .tokens(1..10, 120, 20)
        .tail(280, 10)
        .complete(110, 280, 10, 10)
        .case(),
        chat(
            "data_without_colon",
            "a line that is just the field's name precedes the first event's data line",
            "it adds an empty line to the payload, which JSON allows before a value",
        )
        .raw(
            100,
            format!(
                "data\ndata: {{{CHAT_FIELDS}, \"choices\": [{}]}}\n\n",
                choice(0, "{\"content\": \" tok0\"}", None)
            ),
        )
        .tokens(1..10, 120, 20)
        .tail(280, 10)
        .case(),
    ]
}

/// A last event without the blank line that ends it. The standard has it discarded, since it may
/// have been cut off; a JSON object that is whole was not.
fn unterminated() -> Vec<Case> {
    let counted = format!("data: {{{CHAT_FIELDS}, \"choices\": [], \"usage\": {}}}", usage(10));
    let last = choice(0, "{\"content\": \" tok9\"}", Some("stop"));
    let last = format!("{{{CHAT_FIELDS}, \"choices\": [{last}], \"usage\": {}}}", usage(10));
    let close = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
    vec![
        chat(
            "usage_unterminated",
            "the last event, which has the usage, has no blank line; then the response ends",
            "the object is whole: its usage counts",
        )
        .ten_tokens()
        .finish(280, "length")
        .raw(280, format!("{counted}\n"))
        .case(),
        chat(
            "usage_unterminated_close",
            "the last event has no line end, and the connection ends the response",
            "the object is whole: its usage counts",
        )
        .head(0, close)
        .without_framing()
        .ten_tokens()
        .finish(280, "length")
        .raw(280, &counted)
        .close(280)
        .case(),
        chat(
            "usage_unterminated_crlf",
            "lines end in CR LF, and the last event has one of them instead of two",
            "the object is whole: its usage counts",
        )
        .lines(" ", "\r\n")
        .ten_tokens()
        .finish(280, "length")
        .raw(280, format!("{counted}\r\n"))
        .case(),
        chat(
            "last_token_unterminated",
            "the last event has a token, the finish reason and the usage, and no line end",
            "the object is whole: a token, a finish and a count at once",
        )
        .tokens(0..9, 100, 20)
        .raw(280, format!("data: {last}"))
        .case(),
        chat(
            "usage_cut",
            "the last event, which has the usage, is cut off within its object",
            "an object that was cut off says nothing: the count is not knowable",
        )
        .ten_tokens()
        .finish(280, "length")
        .raw(280, &counted[..counted.len() - 2])
        .truth(|truth| {
            truth.output_tokens = None;
            truth.tpot_ms = None;
        })
        .case(),
    ]
}
