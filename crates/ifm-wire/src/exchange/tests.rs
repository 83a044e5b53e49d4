//! Whole exchanges, from raw bytes to facts.

use super::*;
use ifm_core::record::CountSource;
use proptest::prelude::*;

const CHAT: Expect = Expect { api: Api::Chat, keep_text: false, stream: true };
const HEAD: &str =
    "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";

fn delta(delta: &str) -> String {
    format!(
        "data: {{\"id\":\"c\",\"choices\":[{{\"index\":0,\"delta\":{delta},\"finish_reason\":null}}]}}\n\n"
    )
}

fn content(text: &str) -> String {
    delta(&format!("{{\"content\":\"{text}\"}}"))
}

const FINISH: &str =
    "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n";
const DONE: &str = "data: [DONE]\n\n";

fn usage(prompt: u32, completion: u32) -> String {
    format!(
        "data: {{\"choices\":[],\"usage\":{{\"prompt_tokens\":{prompt},\"completion_tokens\":{completion}}}}}\n\n"
    )
}

fn chunk(body: &str) -> Vec<u8> {
    format!("{:x}\r\n{body}\r\n", body.len()).into_bytes()
}

/// Feeds one read per element, stamped 1000, 2000, …
fn decode(reads: &[Vec<u8>], cause: EndCause) -> Answer {
    let mut decoder = ExchangeDecoder::new(CHAT);
    for (position, read) in reads.iter().enumerate() {
        decoder.feed(read, (position as u64 + 1) * 1000);
    }
    decoder.finish(cause, CHAT)
}

fn stream(events: &[String]) -> Vec<Vec<u8>> {
    let mut reads = vec![HEAD.as_bytes().to_vec()];
    reads.extend(events.iter().map(|event| chunk(event)));
    reads.push(b"0\r\n\r\n".to_vec());
    reads
}

#[test]
fn a_plain_stream_is_read_to_the_token() {
    let events = [
        delta(r#"{"role":"assistant","content":""}"#),
        content("a"),
        content("b"),
        content("c"),
        FINISH.to_owned(),
        usage(5, 3),
        DONE.to_owned(),
    ];
    let answer = decode(&stream(&events), EndCause::Complete);
    assert_eq!(answer.outcome, Outcome::Ok);
    assert_eq!(answer.events.at_ns, [3000, 4000, 5000]);
    assert_eq!(answer.head_ns, Some(1000));
    assert_eq!(answer.first_event_ns, Some(2000));
    assert_eq!(answer.first_answer_ns, Some(3000));
    assert_eq!(answer.stream_end_ns, Some(8000));
    assert_eq!(answer.output_tokens, Some(Counted { tokens: 3, from: CountSource::FinalUsage }));
    assert_eq!(answer.prompt_tokens, Some(Counted { tokens: 5, from: CountSource::FinalUsage }));
    assert_eq!(answer.finish_reason.as_deref(), Some("stop"));
    assert_eq!((answer.streamed, answer.co_arrived_events, answer.choices), (true, 0, 1));
}

#[test]
fn without_usage_the_count_is_an_estimate() {
    let events = [content("a"), content("b"), FINISH.to_owned()];
    let answer = decode(&stream(&events), EndCause::Complete);
    assert_eq!(answer.outcome, Outcome::Ok);
    assert_eq!(answer.output_tokens, Some(Counted { tokens: 2, from: CountSource::Events }));
}

#[test]
fn per_chunk_usage_tells_the_tokens_of_each_event() {
    let counted = |text: &str, total: u32| {
        format!(
            "data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{text}\"}}}}],\"usage\":{{\"prompt_tokens\":9,\"completion_tokens\":{total}}}}}\n\n"
        )
    };
    let events =
        [counted("ab", 2), counted("", 2), counted("", 3), counted("c", 6), FINISH.to_owned()];
    let answer = decode(&stream(&events), EndCause::Complete);
    assert_eq!(answer.events.tokens, [2, 1, 3]);
    assert_eq!(answer.events.at_ns, [2000, 4000, 5000]);
    assert_eq!(answer.output_tokens, Some(Counted { tokens: 6, from: CountSource::ChunkUsage }));
    assert_eq!(answer.first_event_tokens, Some(2));
}

#[test]
fn bytes_of_text_are_counted_in_all_events_and_in_the_first_read() {
    let events = [
        content("ab") + &content("\\u00e9\\n"),
        content("cde"),
        delta(r#"{"reasoning":"hm"}"#),
        delta(r#"{"tool_calls":[{"index":0,"function":{"name":"f","arguments":"{}"}}]}"#),
        FINISH.to_owned(),
        usage(1, 64),
    ];
    let answer = decode(&stream(&events), EndCause::Complete);
    assert_eq!((answer.text_bytes, answer.first_text_bytes), (Some(5 + 3 + 2 + 3), Some(5)));
    // The first token has no text.
    let events = [content(""), content("cde"), FINISH.to_owned(), usage(1, 2)];
    let answer = decode(&stream(&events), EndCause::Complete);
    assert_eq!((answer.text_bytes, answer.first_text_bytes), (Some(3), Some(0)));
    let events = [FINISH.to_owned(), usage(1, 2)];
    let answer = decode(&stream(&events), EndCause::Complete);
    assert_eq!((answer.text_bytes, answer.first_text_bytes), (None, None));
}

#[test]
fn empty_texts_are_tokens_only_where_the_count_has_room() {
    let events =
        |total| [content("a"), content(""), content("b"), FINISH.to_owned(), usage(1, total)];
    assert_eq!(decode(&stream(&events(3)), EndCause::Complete).events.len(), 3);
    assert_eq!(decode(&stream(&events(2)), EndCause::Complete).events.at_ns, [2000, 4000]);
}

#[test]
fn an_empty_text_that_closes_an_answer_is_its_last_token_where_the_count_has_room() {
    let close = |usage: &str| {
        format!(
            "data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"\"}},\
             \"finish_reason\":\"stop\"}}]{usage}}}\n\n"
        )
    };
    let last = |middle: &str, total: u32| {
        let events = [content("a"), content(middle), close(""), usage(1, total)];
        decode(&stream(&events), EndCause::Complete).events.at_ns
    };
    assert_eq!(last("b", 3), [2000, 3000, 4000]);
    assert_eq!(last("b", 2), [2000, 3000]);
    // The token that is left is the one within: what closes an answer comes last.
    assert_eq!(last("", 2), [2000, 3000]);
    assert_eq!(last("", 1), [2000]);
    assert_eq!(last("", 3), [2000, 3000, 4000]);
    // An answer that was cut at its length has no such token: its events hold several.
    let cut = |total: u32| {
        let events = [content("a"), close("").replace("stop", "length"), usage(1, total)];
        decode(&stream(&events), EndCause::Complete).events.len()
    };
    assert_eq!((cut(1), cut(2), cut(5)), (1, 2, 1));
    // Where each event counts, its own count decides.
    let counted = |text: &str, total: u32| {
        format!(
            "data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{text}\"}}}}],\
             \"usage\":{{\"completion_tokens\":{total}}}}}\n\n"
        )
    };
    for (usage, tokens) in [
        (",\"usage\":{\"completion_tokens\":3}", vec![2, 1]),
        (",\"usage\":{\"completion_tokens\":2}", vec![2]),
        ("", vec![2]),
    ] {
        let answer = decode(&stream(&[counted("ab", 2), close(usage)]), EndCause::Complete);
        assert_eq!(answer.events.tokens, tokens, "{usage}");
        let total = Counted { tokens: tokens.iter().sum(), from: CountSource::ChunkUsage };
        assert_eq!(answer.output_tokens, Some(total), "{usage}");
    }
    // An end-of-text token is no answer.
    let thought = [delta(r#"{"reasoning":"r"}"#), close(""), usage(1, 2)];
    let answer = decode(&stream(&thought), EndCause::Complete);
    assert_eq!((answer.events.at_ns.as_slice(), answer.first_answer_ns), (&[2000, 3000][..], None));
}

#[test]
fn the_last_event_counts_without_its_blank_line_if_it_is_whole() {
    let decoded = |last: &str| {
        let events = [content("a"), content("b"), last.to_owned()];
        decode(&stream(&events), EndCause::Complete)
    };
    let last = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"c\"},\
                \"finish_reason\":\"stop\"}],\"usage\":{\"completion_tokens\":3}}";
    for end in ["", "\n", "\r", "\r\n"] {
        let answer = decoded(&format!("{last}{end}"));
        assert_eq!(answer.outcome, Outcome::Ok, "{end:?}");
        assert_eq!(answer.events.at_ns, [2000, 3000, 4000]);
        let expect = Counted { tokens: 3, from: CountSource::FinalUsage };
        assert_eq!(answer.output_tokens, Some(expect));
    }
    for cut in 1..last.len() {
        let answer = decoded(&last[..cut]);
        assert_eq!((answer.outcome, answer.events.len()), (Outcome::Truncated, 2), "{cut}");
    }
    assert_eq!(decoded("data: [DONE]").outcome, Outcome::Ok);
    assert_eq!(decoded("data: [DON").outcome, Outcome::Truncated);
    assert_eq!(decoded("data: 1").outcome, Outcome::Truncated);
    let error = decoded("data: {\"error\":\"out of memory\"}");
    assert_eq!(error.outcome, Outcome::InBandError);
    assert_eq!(error.error.as_deref(), Some("out of memory"));
    assert_eq!(decoded("event: error\ndata: gone").outcome, Outcome::InBandError);
}

#[test]
fn counts_that_a_proxy_has_rewritten_fail_no_answer() {
    for (written, expect) in [("2.0", Some(2)), ("\"2\"", Some(2)), ("-1", None), ("2.5", None)] {
        let finish = format!(
            "data: {{\"choices\":[{{\"index\":0.0,\"delta\":{{}},\"finish_reason\":\"stop\"}}],\
             \"usage\":{{\"prompt_tokens\":{written},\"completion_tokens\":{written}}}}}\n\n"
        );
        let answer = decode(&stream(&[content("a"), content("b"), finish]), EndCause::Complete);
        assert_eq!(answer.outcome, Outcome::Ok, "{written}");
        assert_eq!(answer.prompt_tokens.map(|count| count.tokens), expect, "{written}");
        let counted = answer.output_tokens.filter(|count| !count.from.is_estimate());
        assert_eq!(counted.map(|count| count.tokens), expect, "{written}");
    }
}

#[test]
fn events_of_one_read_share_its_stamp_and_are_counted() {
    let two = [content("a"), content("b")].concat();
    let events = [two, content("c"), FINISH.to_owned()];
    let answer = decode(&stream(&events), EndCause::Complete);
    assert_eq!(answer.events.at_ns, [2000, 2000, 3000]);
    assert_eq!(answer.co_arrived_events, 2);
}

#[test]
fn the_ways_to_fail_are_told_apart() {
    let outcome = |reads: &[Vec<u8>], cause| decode(reads, cause).outcome;
    let cut = [HEAD.as_bytes().to_vec(), chunk(&content("a"))];
    assert_eq!(outcome(&cut, EndCause::Closed), Outcome::TransportError);
    assert_eq!(
        outcome(&cut, EndCause::TimedOut(TimeoutKind::Idle)),
        Outcome::Timeout(TimeoutKind::Idle)
    );
    assert_eq!(outcome(&cut, EndCause::Cancelled), Outcome::Cancelled);
    assert_eq!(outcome(&stream(&[content("a")]), EndCause::Complete), Outcome::Truncated);
    let error = "data: {\"error\":{\"message\":\"engine died\"}}\n\n".to_owned();
    let events = [content("a"), error, DONE.to_owned()];
    let answer = decode(&stream(&events), EndCause::Complete);
    assert_eq!(answer.outcome, Outcome::InBandError);
    assert_eq!(answer.error.as_deref(), Some("engine died"));
    assert_eq!(answer.events.len(), 1);
    let broken = [content("a"), "data: {\"choices\":\n\n".to_owned()];
    assert_eq!(outcome(&stream(&broken), EndCause::Complete), Outcome::InBandError);
    let named = ["event: error\ndata: gone\n\n".to_owned()];
    assert_eq!(outcome(&stream(&named), EndCause::Complete), Outcome::InBandError);
    let silent = ["event: error\ndata:\n\n".to_owned(), DONE.to_owned()];
    let answer = decode(&stream(&silent), EndCause::Complete);
    assert_eq!(answer.outcome, Outcome::InBandError);
    assert!(answer.error.unwrap().contains("without a message"));
}

#[test]
fn a_stream_that_said_it_was_done_is_ok_even_if_the_connection_then_hangs_or_breaks() {
    let reads = [HEAD.as_bytes().to_vec(), chunk(&content("a")), chunk(DONE)];
    for cause in [EndCause::TimedOut(TimeoutKind::Idle), EndCause::Closed] {
        assert_eq!(decode(&reads, cause).outcome, Outcome::Ok);
    }
}

#[test]
fn documents_are_read_or_explained() {
    let plain = |status: &str, body: &str| {
        let head = format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\n\r\n{body}", body.len());
        decode(&[head.into_bytes()], EndCause::Complete)
    };
    let whole = plain(
        "200 OK",
        r#"{"choices":[{"index":0,"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}],"usage":{"prompt_tokens":2,"completion_tokens":4}}"#,
    );
    assert_eq!((whole.outcome, whole.streamed), (Outcome::Ok, false));
    assert_eq!(whole.output_tokens, Some(Counted { tokens: 4, from: CountSource::FinalUsage }));
    assert!(whole.events.is_empty() && whole.stream_end_ns == Some(1000));
    let marked = plain("200 OK", "\u{feff} {\"choices\":[{\"finish_reason\":\"stop\"}]}");
    assert_eq!((marked.outcome, marked.streamed), (Outcome::Ok, false));
    let unfinished = r#"{"choices":[{"message":{"content":"hi"}}]}"#;
    let answer = plain("200 OK", unfinished);
    assert_eq!(answer.outcome, Outcome::Truncated);
    assert!(answer.error.unwrap().contains("came whole, not as a stream"));
    let asked_whole = Expect { stream: false, ..CHAT };
    let mut decoder = ExchangeDecoder::new(asked_whole);
    for (body, outcome) in
        [(unfinished, Outcome::Ok), (r#"{"choices":[{"index":0}]}"#, Outcome::Truncated)]
    {
        let length = body.len();
        let bytes = format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n\r\n{body}");
        decoder.feed(bytes.as_bytes(), 1);
        assert_eq!(decoder.finish(EndCause::Complete, asked_whole).outcome, outcome, "{body}");
    }
    assert_eq!(plain("200 OK", r#"{"error":{"message":"no"}}"#).outcome, Outcome::InBandError);
    assert_eq!(plain("200 OK", r#"{"ok":true}"#).outcome, Outcome::InBandError);
    assert_eq!(plain("200 OK", "<html>login</html>").outcome, Outcome::InBandError);
    assert_eq!(plain("200 OK", "").outcome, Outcome::Truncated);
    let limited =
        plain("429 Too Many Requests\r\nretry-after: 3", r#"{"error":{"message":"slow down"}}"#);
    assert_eq!((limited.outcome, limited.retry_after_s), (Outcome::HttpError, Some(3)));
    assert_eq!(limited.error.as_deref(), Some("HTTP 429: slow down"));
    assert_eq!(plain("500 Oops", "plain text").error.as_deref(), Some("HTTP 500: plain text"));
    let moved = plain("308 Moved\r\nlocation: https://a/v1", "");
    assert!(moved.error.unwrap().contains("https://a/v1"));
}

#[test]
fn a_list_is_complete_with_as_many_results_as_were_asked_for() {
    let answered = |body: &str, asked: Option<u32>| {
        let expect = Expect { api: Api::Embeddings, keep_text: false, stream: true };
        let mut decoder = ExchangeDecoder::new(expect);
        let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}", body.len());
        decoder.feed(head.as_bytes(), 7);
        decoder.expect_results(asked);
        let answer = decoder.finish(EndCause::Complete, expect);
        assert!(!answer.streamed && answer.events.is_empty() && answer.output_tokens.is_none());
        (answer.outcome, answer.error.unwrap_or_default())
    };
    let two = r#"{"data":[{"embedding":[0.5]},{"embedding":"AAAA"}],"usage":{"prompt_tokens":3}}"#;
    assert_eq!(answered(two, Some(2)), (Outcome::Ok, String::new()));
    assert_eq!(answered(two, None), (Outcome::Ok, String::new()));
    let (outcome, error) = answered(two, Some(3));
    assert_eq!(
        (outcome, error.as_str()),
        (Outcome::Truncated, "the answer holds 2 results instead of 3")
    );
    let (outcome, error) = answered(two, Some(1));
    assert_eq!(
        (outcome, error.as_str()),
        (Outcome::InBandError, "the answer holds 2 results instead of 1")
    );
    for empty in [r#"{"data":[]}"#, r#"{"data":[{"embedding":[ ]},{"embedding":null},{}]}"#] {
        let (outcome, error) = answered(empty, None);
        assert_eq!((outcome, error.as_str()), (Outcome::Truncated, "the answer holds no results"));
    }
    let (outcome, error) = answered(r#"{"object":"list"}"#, None);
    assert_eq!(outcome, Outcome::InBandError);
    assert!(error.contains("none of the API \"embeddings\""), "{error}");
}

#[test]
fn lines_are_a_stream_unless_the_head_says_that_they_are_one_document() {
    let line = r#"{"message":{"content":"a"},"done":true,"eval_count":4}"#;
    let answered = |head: &str, body: &str, cause: EndCause| {
        let expect = Expect { api: Api::OllamaChat, keep_text: false, stream: true };
        let mut decoder = ExchangeDecoder::new(expect);
        decoder.feed(format!("HTTP/1.1 200 OK\r\n{head}\r\n{body}").as_bytes(), 7);
        let answer = decoder.finish(cause, expect);
        (answer.outcome, answer.streamed, answer.events.len())
    };
    let length = format!("content-length: {}\r\n", line.len());
    let of_type = |media_type: &str| format!("content-type: {media_type}\r\n{length}");
    for (head, streamed) in [
        (of_type("application/json; charset=utf-8"), false),
        (of_type("application/x-ndjson"), true),
        (length.clone(), true),
    ] {
        let expect = (Outcome::Ok, streamed, usize::from(streamed));
        assert_eq!(answered(&head, line, EndCause::Complete), expect, "{head}");
    }
    // The end of the last line may be missing, the end of its value not.
    assert_eq!(answered("", line, EndCause::Closed), (Outcome::Ok, true, 1));
    let cut = &line[..line.len() - 1];
    assert_eq!(answered("", cut, EndCause::Closed), (Outcome::Truncated, true, 0));
    let html = answered("", "<html>login</html>", EndCause::Closed);
    assert_eq!(html.0, Outcome::InBandError);
}

#[test]
fn an_encoded_answer_is_refused_in_words_and_with_its_status() {
    let outcome = |status: &str| {
        let head =
            format!("HTTP/1.1 {status}\r\ncontent-encoding: gzip\r\ncontent-length: 4\r\n\r\n");
        let answer = decode(&[head.into_bytes(), b"\x1f\x8b{\n".to_vec()], EndCause::Complete);
        (answer.outcome, answer.http_status, answer.error.unwrap())
    };
    let (outcome_of_200, status, error) = outcome("200 OK");
    assert_eq!((outcome_of_200, status), (Outcome::InBandError, Some(200)));
    assert!(error.contains("encoded as gzip"), "{error}");
    let (outcome_of_429, status, error) = outcome("429 Slow down");
    assert_eq!((outcome_of_429, status), (Outcome::HttpError, Some(429)));
    assert_eq!(error, "HTTP 429: the explanation is encoded as gzip");
}

#[test]
fn counts_that_no_sum_can_hold_do_not_stop_the_decoder() {
    let counted = |index: u16| {
        format!(
            "data: {{\"choices\":[{{\"index\":{index},\"text\":\"a\"}}],\"usage\":{{\"completion_tokens\":{}}}}}\n\n",
            u32::MAX
        )
    };
    let answer = decode(&stream(&[counted(0), counted(1)]), EndCause::Complete);
    assert_eq!(answer.output_tokens.map(|count| count.tokens), Some(u32::MAX));
}

#[test]
fn several_choices_are_sequences_and_all_must_finish() {
    let of = |index: u16, finish: bool| {
        let (delta, reason) =
            if finish { ("{}", "\"length\"") } else { (r#"{"content":"a"}"#, "null") };
        format!(
            "data: {{\"choices\":[{{\"index\":{index},\"delta\":{delta},\"finish_reason\":{reason}}}]}}\n\n"
        )
    };
    let begun = [of(0, false), of(1, false), of(0, false), of(0, true)];
    assert_eq!(decode(&stream(&begun), EndCause::Complete).outcome, Outcome::Truncated);
    let whole = [begun.as_slice(), &[of(1, true)]].concat();
    let answer = decode(&stream(&whole), EndCause::Complete);
    assert_eq!((answer.outcome, answer.choices), (Outcome::Ok, 2));
    assert_eq!(answer.events.choice, [0, 1, 0]);
}

#[test]
fn a_decoder_carries_nothing_over_to_the_next_exchange() {
    let mut decoder = ExchangeDecoder::new(CHAT);
    let events = [content("a"), FINISH.to_owned(), usage(1, 1), DONE.to_owned()];
    let reads = stream(&events);
    let mut answers = Vec::new();
    for round in 0..3 {
        if round == 1 {
            decoder.feed(b"HTTP/1.1 503 Busy\r\n\r\nbusy", 1);
            assert_eq!(decoder.finish(EndCause::Closed, CHAT).outcome, Outcome::HttpError);
        }
        for (position, read) in reads.iter().enumerate() {
            decoder.feed(read, position as u64);
        }
        answers.push(decoder.finish(EndCause::Complete, CHAT));
    }
    assert_eq!(answers[0], answers[1]);
    assert_eq!(answers[1], answers[2]);
}

#[test]
fn the_quick_way_counts_exactly_like_the_full_one() {
    let mut events: Vec<String> = (0..50).map(|n| content(&format!(" t{n}"))).collect();
    events.insert(20, content(""));
    events.insert(30, delta(r#"{"reasoning":"r"}"#));
    events.extend([FINISH.to_owned(), usage(1, 52), DONE.to_owned()]);
    let reads = stream(&events);
    let quick = decode(&reads, EndCause::Complete);
    // Keeping the text switches the quick way off.
    let keep = Expect { keep_text: true, ..CHAT };
    let mut decoder = ExchangeDecoder::new(keep);
    for (position, read) in reads.iter().enumerate() {
        decoder.feed(read, (position as u64 + 1) * 1000);
    }
    let mut full = decoder.finish(EndCause::Complete, keep);
    assert!(full.text.take().unwrap().starts_with(" t0 t1"));
    assert_eq!(quick, full);
    assert_eq!(quick.events.len(), 52);
}

proptest! {
    #[test]
    fn any_split_of_the_bytes_gives_the_same_facts_but_for_stamps(
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..30),
    ) {
        let events = [
            delta(r#"{"role":"assistant","content":""}"#),
            content("a"), content("ü"), content(""), content("d\\n"),
            FINISH.to_owned(), usage(5, 4), DONE.to_owned(),
        ];
        let bytes = stream(&events).concat();
        let mut places: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len())).collect();
        places.extend([0, bytes.len()]);
        places.sort_unstable();
        let parts: Vec<Vec<u8>> =
            places.windows(2).map(|pair| bytes[pair[0]..pair[1]].to_vec()).collect();
        let strip = |mut answer: Answer| {
            answer.events.at_ns.iter_mut().for_each(|at| *at = 0);
            (answer.outcome, answer.events, answer.output_tokens, answer.prompt_tokens, answer.finish_reason)
        };
        prop_assert_eq!(
            strip(decode(&parts, EndCause::Complete)),
            strip(decode(&[bytes], EndCause::Complete))
        );
    }
}
