//! Decoding allocates for an exchange, never for an event: counted, not believed.
//!
//! The allocator that counts is that of the whole test binary; it counts each thread on its own.

use ifm_core::spec::Api;
use ifm_wire::{EndCause, ExchangeDecoder, Expect};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// The system's allocator, counting the calls of each thread that ask for memory, and the bytes that
/// the thread holds.
struct Counting;

thread_local! {
    static CALLS: Cell<u64> = const { Cell::new(0) };
    /// Bytes that the thread holds, and their peak.
    static HELD: Cell<(i64, i64)> = const { Cell::new((0, 0)) };
}

fn count_call() {
    // A thread that is being torn down has no counter any more, and nothing to count for.
    let _ = CALLS.try_with(|calls| calls.set(calls.get() + 1));
}

fn count_bytes(grown: i64) {
    let _ = HELD.try_with(|held| {
        let (now, peak) = held.get();
        let now = now + grown;
        held.set((now, peak.max(now)));
    });
}

/// Peak of the bytes that this thread holds while the closure runs, above what it held before.
pub fn peak_bytes(run: impl FnOnce()) -> usize {
    let (before, _) = HELD.get();
    HELD.set((before, before));
    run();
    let (_, peak) = HELD.get();
    usize::try_from(peak - before).unwrap_or_default()
}

// SAFETY: every call goes to the system's allocator with the same arguments; counting touches
// only thread-local cells that need neither allocation nor destructor.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count_call();
        count_bytes(layout.size() as i64);
        // SAFETY: the caller keeps the contract, which is the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count_bytes(-(layout.size() as i64));
        // SAFETY: as above; what is freed here came from the system's allocator.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count_call();
        count_bytes(size as i64 - layout.size() as i64);
        // SAFETY: as above.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const HEAD: &str = "HTTP/1.1 200 OK\r\nserver: uvicorn\r\ncontent-type: text/event-stream\r\n\
                    transfer-encoding: chunked\r\n\r\n";
const CHAT: &str = r#"{"id":"chatcmpl-3f0c1e5b0a6f","object":"chat.completion.chunk","created":1753000000,"model":"m","choices":[{"index":0,"delta":{"content":"TEXT"},"logprobs":null,"finish_reason":null}]}"#;
const COMPLETIONS: &str = r#"{"id":"cmpl-3f0c1e5b0a6f","object":"text_completion","created":1753000000,"model":"m","choices":[{"index":0,"text":"TEXT","logprobs":null,"finish_reason":null,"stop_reason":null}],"usage":null}"#;
const COUNTED: &str = r#"{"id":"chatcmpl-3f0c1e5b0a6f","object":"chat.completion.chunk","created":1753000000,"model":"m","choices":[{"index":0,"delta":{"content":"TEXT"},"logprobs":null,"finish_reason":null}],"usage":{"prompt_tokens":512,"total_tokens":TOTAL,"completion_tokens":COUNT}}"#;
const TWO_CHOICES: &str = r#"{"id":"chatcmpl-3f0c1e5b0a6f","choices":[{"index":0,"delta":{"content":"TEXT"}},{"index":1,"delta":{"reasoning_content":"TEXT"}}]}"#;
const TOOL_CALL: &str = r#"{"id":"chatcmpl-3f0c1e5b0a6f","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"TEXT"}}]}}]}"#;

const RESPONSES: &str = r#"{"type":"response.output_text.delta","sequence_number":COUNT,"item_id":"msg_1","output_index":0,"content_index":0,"delta":"TEXT","logprobs":[]}"#;
const MESSAGES: &str =
    r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"TEXT"}}"#;
const SGLANG: &str = r#"{"text":"TEXT","output_ids":[1],"meta_info":{"id":"e2b1","finish_reason":null,"prompt_tokens":512,"completion_tokens":COUNT,"cached_tokens":0}}"#;
const TGI: &str = r#"{"index":COUNT,"token":{"id":COUNT,"text":"TEXT","logprob":-0.6,"special":false},"generated_text":null,"details":null}"#;
const OLLAMA: &str = r#"{"model":"m","created_at":"2026-08-21T18:48:22.COUNTZ","message":{"role":"assistant","content":"TEXT"},"done":false}"#;
const LLAMA_CPP: &str = r#"{"index":0,"content":"TEXT","tokens":[1],"stop":false,"id_slot":-1,"tokens_predicted":COUNT,"tokens_evaluated":512}"#;
const TRITON: &str = r#"{"model_name":"ensemble","model_version":"1","sequence_end":false,"sequence_id":0,"sequence_start":false,"text_output":"TEXT"}"#;

const PLAIN: [&str; 4] = [" the", " quick", "!", " fox jumps over"];
const ESCAPED: [&str; 4] = [r"\n\n", r#" \"so\""#, r"\u00e9t\u00e9", r"\ud83e\udd80 crab"];

/// The text before and after the payload of an event.
#[derive(Clone, Copy)]
struct Around {
    front: &'static str,
    back: &'static str,
    content_type: &'static str,
}

const EVENT: Around = Around { front: "data: ", back: "\n\n", content_type: "text/event-stream" };
const NAMED_EVENT: Around = Around { front: "event: delta\ndata: ", ..EVENT };
const LINE: Around = Around { front: "", back: "\n", content_type: "application/x-ndjson" };

/// A whole response with this number of events.
fn response(around: Around, event: &str, texts: &[&str; 4], events: usize) -> Vec<u8> {
    let Around { front, back, content_type } = around;
    let mut bytes = HEAD.replace("text/event-stream", content_type).into_bytes();
    for number in 1..=events {
        let payload = event
            .replace("TEXT", texts[number % texts.len()])
            .replace("TOTAL", &(512 + number).to_string())
            .replace("COUNT", &number.to_string());
        let length = payload.len() + front.len() + back.len();
        bytes.extend_from_slice(format!("{length:x}\r\n{front}{payload}{back}\r\n").as_bytes());
    }
    bytes.extend_from_slice(b"0\r\n\r\n");
    bytes
}

/// Calls of the allocator while one exchange is fed that is like the one before, and the number
/// of token-bearing events.
fn calls(
    (api, around): (Api, Around),
    event: &str,
    texts: &[&str; 4],
    events: usize,
    read_bytes: usize,
) -> (u64, usize) {
    let expect = Expect { api, keep_text: false, stream: true };
    let bytes = response(around, event, texts, events);
    let mut decoder = ExchangeDecoder::new(expect);
    let feed = |decoder: &mut ExchangeDecoder| {
        for (position, read) in bytes.chunks(read_bytes).enumerate() {
            decoder.feed(read, position as u64);
        }
        decoder.events_so_far()
    };
    feed(&mut decoder);
    decoder.finish(EndCause::Complete, expect);
    let before = CALLS.get();
    let found = feed(&mut decoder);
    (CALLS.get() - before, found)
}

/// That feeding costs the same few calls whatever the number of events.
fn check(event: &str, texts: &[&str; 4]) {
    check_of((Api::Chat, EVENT), event, texts, 50);
}

/// The same for any API, with `times` thousand events.
fn check_of(api: (Api, Around), event: &str, texts: &[&str; 4], times: usize) {
    // Many events a read; less than one; and reads that end anywhere.
    for read_bytes in [16 * 1024, 100, 1021] {
        let (few, few_events) = calls(api, event, texts, 1_000, read_bytes);
        let (many, many_events) = calls(api, event, texts, 1_000 * times, read_bytes);
        assert_eq!(many_events, times * few_events, "{event}");
        assert!(few_events >= 1_000, "{event}");
        assert_eq!(few, many, "reads of {read_bytes} bytes, {texts:?} in {event}");
        assert!(few < 20, "{few} calls for the head alone");
    }
}

#[test]
fn the_allocator_is_counted() {
    let before = CALLS.get();
    let boxed = std::hint::black_box(Box::new(7u64));
    assert_eq!((CALLS.get() - before, *boxed), (1, 7));
}

#[test]
fn chat_events_need_no_memory() {
    check(CHAT, &PLAIN);
}

#[test]
fn completion_events_need_no_memory() {
    check(COMPLETIONS, &PLAIN);
}

#[test]
fn escaped_texts_need_no_memory() {
    check(CHAT, &ESCAPED);
    check(COMPLETIONS, &ESCAPED);
}

#[test]
fn events_with_usage_need_no_memory() {
    check(COUNTED, &PLAIN);
}

#[test]
fn escaped_texts_beside_usage_need_no_memory() {
    check(COUNTED, &ESCAPED);
}

#[test]
fn events_of_several_choices_and_of_tool_calls_need_no_memory() {
    check(TWO_CHOICES, &PLAIN);
    check(TWO_CHOICES, &ESCAPED);
    check(TOOL_CALL, &ESCAPED);
}

#[test]
fn events_of_every_other_api_need_no_memory() {
    for (api, around, event) in [
        (Api::Responses, NAMED_EVENT, RESPONSES),
        (Api::Messages, NAMED_EVENT, MESSAGES),
        (Api::Sglang, EVENT, SGLANG),
        (Api::Tgi, EVENT, TGI),
        (Api::OllamaChat, LINE, OLLAMA),
        (Api::LlamaCpp, EVENT, LLAMA_CPP),
        (Api::Triton, EVENT, TRITON),
    ] {
        check_of((api, around), event, &PLAIN, 5);
        check_of((api, around), event, &ESCAPED, 5);
    }
}
