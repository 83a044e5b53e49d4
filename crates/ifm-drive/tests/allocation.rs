//! A whole level allocates for its requests, never for their events: counted over all threads of
//! the client.
//!
//! A test binary of its own, and the only test in it, because it replaces the allocator of the
//! whole process and counts what every thread but the server's asks for.

#[allow(dead_code)] // This test keeps no records.
#[path = "it/support.rs"]
mod support;

use ifm_core::RequestRecord;
use ifm_drive::{Evidence, Progress, Sink, Stop, drive_level};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The system's allocator, counting the calls that ask for memory outside of the server.
struct Counting;

static CALLS: AtomicU64 = AtomicU64::new(0);

thread_local! {
    static IS_SERVER: Cell<bool> = const { Cell::new(false) };
}

fn count_call() {
    // A thread that is being torn down has no mark any more; it counts as the client's.
    if !IS_SERVER.try_with(Cell::get).unwrap_or(false) {
        CALLS.fetch_add(1, Ordering::Relaxed);
    }
}

// SAFETY: every call goes to the system's allocator with the same arguments; counting touches
// only an atomic and a thread-local cell that needs neither allocation nor destructor.
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

const SLOTS: u32 = 4;
const WARMUP_REQUESTS: u32 = 8;
/// Calls of the allocator that making one segment takes: its box, its bytes, its stamps.
const CALLS_PER_SEGMENT: u64 = 3;

/// A response with this many token-bearing events, each in its own chunk.
fn response(events: usize) -> Vec<Vec<u8>> {
    let head =
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
    let mut writes = vec![head.as_bytes().to_vec()];
    for number in 0..events {
        let text = [" the", " quick", r"\n", r"\ud83e\udd8a"][number % 4];
        let event = format!(
            "data: {{\"id\":\"chatcmpl-3f0c1e5b0a6f4d6f\",\"object\":\"chat.completion.chunk\",\
             \"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{text}\"}},\
             \"finish_reason\":null}}]}}\n\n"
        );
        writes.push(format!("{:x}\r\n{event}\r\n", event.len()).into_bytes());
    }
    writes.push(b"e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n".to_vec());
    writes
}

/// Answers every request on the connection with the same writes, until the client hangs up.
fn serve(mut stream: TcpStream, request_bytes: usize, writes: &[Vec<u8>]) {
    stream.set_nodelay(true).expect("a socket option");
    let mut request = vec![0; request_bytes];
    while stream.read_exact(&mut request).is_ok() {
        for bytes in writes {
            if stream.write_all(bytes).is_err() {
                return;
            }
        }
    }
}

/// Counts records and drops them.
#[derive(Default)]
struct Counted {
    ok: u32,
    events: u64,
}

impl Sink for Counted {
    fn record(&mut self, record: RequestRecord) -> Result<(), String> {
        self.ok += u32::from(record.outcome.is_ok());
        self.events += record.events.len() as u64;
        Ok(())
    }

    fn tick(&mut self) -> Result<(), String> {
        Ok(())
    }
}

/// Runs a level of responses with this many events; returns the allocator calls and the evidence.
fn drive(address: SocketAddr, request: &[u8], requests: u32, events: usize) -> (u64, Evidence) {
    let plan = ifm_drive::LevelPlan {
        slots: SLOTS,
        warmup_requests: WARMUP_REQUESTS,
        requests: Some(requests),
        ..support::plan(address)
    };
    let mut source = support::Same(request.to_vec());
    let mut sink = Counted::default();
    let progress = Arc::new(Progress::default());
    let before = CALLS.load(Ordering::Relaxed);
    let result = drive_level(&plan, &mut source, &mut sink, &Stop::default(), &progress)
        .expect("a level that runs");
    let calls = CALLS.load(Ordering::Relaxed) - before;
    let requests = WARMUP_REQUESTS + requests;
    assert_eq!((sink.ok, sink.events), (requests, u64::from(requests) * events as u64));
    (calls, result.evidence)
}

/// One level against a server of its own: calls of the allocator but for segments that were made
/// because the decoder was behind. The driver counts those itself, and their number depends on
/// the host.
fn calls(requests: u32, events: usize) -> u64 {
    let request = support::post("/v1/chat/completions");
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("an address");
    let writes = response(events);
    let (calls, evidence) = std::thread::scope(|scope| {
        let (writes, request_bytes) = (&writes, request.len());
        for _ in 0..SLOTS {
            let listener = &listener;
            scope.spawn(move || {
                IS_SERVER.set(true);
                serve(listener.accept().expect("a client").0, request_bytes, writes);
            });
        }
        drive(address, &request, requests, events)
    });
    calls - evidence.counts.late_allocations * CALLS_PER_SEGMENT
}

#[test]
fn a_level_allocates_for_requests_and_not_for_events() {
    let base = calls(40, 200);
    let more_events = calls(40, 2_000);
    let more_requests = calls(240, 200);
    // What is left for an event is the growth of each slot's columns to the longer answers, once.
    let per_event =
        more_events.saturating_sub(base) as f64 / (f64::from(WARMUP_REQUESTS + 40) * 1_800.0);
    assert!(per_event < 0.002, "{per_event} calls for each event more: {base}, {more_events}");
    let per_request = more_requests.saturating_sub(base) as f64 / 200.0;
    assert!(per_request < 20.0, "{per_request} calls for each request more");
}
