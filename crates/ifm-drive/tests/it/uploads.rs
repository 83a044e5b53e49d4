//! When the last byte of a large request had come to the server, against the server's own log.

use crate::support::{plan, post, run};
use ifm_core::RequestRecord;
use ifm_drive::LevelPlan;
use ifm_truth::paced::{Pace, PacedOptions, Served, run_paced};
use ifm_truth::slower_and_slower;

/// A request for this many tokens with a prompt of this many bytes.
fn request(prompt_bytes: usize) -> Vec<u8> {
    let body = format!(
        "{{\"model\":\"m\",\"stream\":true,\"max_tokens\":2,\"messages\":[{{\"role\":\"user\",\
         \"content\":\"{}\"}}]}}",
        "x".repeat(prompt_bytes)
    );
    let path = "/v1/chat/completions";
    let mut bytes = post(path);
    bytes.clear();
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    bytes.extend_from_slice(head.as_bytes());
    bytes.extend_from_slice(body.as_bytes());
    bytes
}

/// What the client stored and what the server logged of each request, in order.
fn uploaded(
    prompt_bytes: usize,
    read_bytes_per_s: Option<u64>,
    change: impl FnOnce(LevelPlan) -> LevelPlan,
) -> Vec<(RequestRecord, Served, u64)> {
    let pace =
        Pace { ttft_ns: 5_000_000, itl_ns: 1_000_000, coalesce: false, burst: 1, usage: true };
    let options = PacedOptions { read_bytes_per_s, ..PacedOptions::for_benchmarks(pace) };
    let server = run_paced(options).expect("a server");
    let plan = change(LevelPlan { requests: Some(3), ..plan(server.address()) });
    let (records, _) = run(&plan, request(prompt_bytes));
    let mut served = server.stop().served;
    served.sort_by_key(|served| served.arrival.at_ns);
    assert_eq!((records.len(), served.len()), (3, 3));
    records.into_iter().zip(served).map(|(record, it)| (record, it, plan.origin_ns)).collect()
}

#[test]
fn the_last_byte_of_a_long_request_is_acknowledged_when_the_server_has_it() {
    // The server takes some tenths of a second per request, and longer in each try: the kernel's times
    // are closer to the server's log than anything the client knows by itself.
    let seen = slower_and_slower(|factor| {
        let seen = uploaded(12_000_000, Some(40_000_000 / factor), |plan| plan);
        for (record, served, origin_ns) in &seen {
            let Some(acked_ns) = record.acked_ns else { return Ok(seen) };
            let arrival_ns = served.arrival.at_ns.saturating_sub(*origin_ns);
            let off_ns = acked_ns.abs_diff(arrival_ns);
            if off_ns * 20 > arrival_ns.saturating_sub(record.start_ns) {
                return Err(format!("{off_ns} ns off"));
            }
        }
        Ok(seen)
    })
    .expect("stamps near the server's");
    for (record, served, origin_ns) in seen {
        assert!(record.outcome.is_ok(), "{record:?}");
        let Some(acked_ns) = record.acked_ns else { continue }; // A kernel without such stamps.
        let head_ns = record.head_ns.expect("an answer");
        assert!(record.start_ns < acked_ns && acked_ns <= head_ns, "{record:?}");
        assert!(served.first_byte.at_ns - origin_ns < acked_ns, "{record:?} {served:?}");
    }
}

#[test]
fn short_requests_are_not_asked_about_and_each_connection_counts_its_own_bytes() {
    for (record, ..) in uploaded(2_000, None, |plan| plan) {
        assert!(record.outcome.is_ok() && record.acked_ns.is_none(), "{record:?}");
    }
    let fresh = uploaded(300_000, None, |mut plan| {
        plan.target.fresh_connections = true;
        plan
    });
    let kept = uploaded(300_000, None, |plan| plan);
    let told = |list: &[(RequestRecord, Served, u64)]| {
        list.iter().filter(|(record, ..)| record.acked_ns.is_some()).count()
    };
    assert_eq!(told(&fresh), told(&kept), "both or neither are acknowledged");
    for (record, ..) in fresh.into_iter().chain(kept) {
        let (sent, head) = (record.sent_ns.expect("sent"), record.head_ns.expect("a head"));
        // The time of the call that sent the end: it may be over when the answer is there.
        assert!(record.start_ns <= sent, "{record:?}");
        assert!(record.acked_ns.is_none_or(|acked| record.start_ns < acked && acked <= head));
    }
}
