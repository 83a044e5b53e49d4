//! Decoding allocates for an exchange, never for an event: counted, not believed.
//!
//! A test binary of its own, because it replaces the allocator of the whole process.

use ifm_core::spec::Api;
use ifm_wire::{EndCause, ExchangeDecoder, Expect};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// The system's allocator, counting the calls of each thread that ask for memory.
struct Counting;

thread_local! {
    static CALLS: Cell<u64> = const { Cell::new(0) };
}

fn count_call() {
    // A thread that is being torn down has no counter any more, and nothing to count for.
    let _ = CALLS.try_with(|calls| calls.set(calls.get() + 1));
}

// SAFETY: every call goes to the system's allocator with the same arguments; counting touches
// only a thread-local cell that needs neither allocation nor destructor.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count_call();
        // SAFETY: the caller keeps the contract, which is the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as above; what is freed here came from the system's allocator.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count_call();
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

const PLAIN: [&str; 4] = [" the", " quick", "!", " fox jumps over"];
const ESCAPED: [&str; 4] = [r"\n\n", r#" \"so\""#, r"\u00e9t\u00e9", r"\ud83e\udd80 crab"];

/// A whole response of so many events.
fn response(event: &str, texts: &[&str; 4], events: usize) -> Vec<u8> {
    let mut bytes = HEAD.as_bytes().to_vec();
    for number in 1..=events {
        let payload = event
            .replace("TEXT", texts[number % texts.len()])
            .replace("TOTAL", &(512 + number).to_string())
            .replace("COUNT", &number.to_string());
        let length = payload.len() + "data: \n\n".len();
        bytes.extend_from_slice(format!("{length:x}\r\ndata: {payload}\n\n\r\n").as_bytes());
    }
    bytes.extend_from_slice(b"e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n");
    bytes
}

/// Calls of the allocator while one exchange is fed that is like the one before, and the number
/// of token-bearing events.
fn calls(event: &str, texts: &[&str; 4], events: usize, read_bytes: usize) -> (u64, usize) {
    let expect = Expect { api: Api::Chat, keep_text: false };
    let bytes = response(event, texts, events);
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
    // Many events a read; less than one; and reads that end anywhere.
    for read_bytes in [16 * 1024, 100, 1021] {
        let (few, few_events) = calls(event, texts, 1_000, read_bytes);
        let (many, many_events) = calls(event, texts, 50_000, read_bytes);
        assert_eq!(many_events, 50 * few_events, "{event}");
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
