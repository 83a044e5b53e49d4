//! Token events count while their answer still arrives.

use crate::support::{Kept, Same, plan, post};
use ifm_core::Outcome;
use ifm_drive::{Progress, Stop, drive_level};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

#[test]
fn counts_events_of_an_answer_before_it_ends() {
    const PATIENCE: Duration = Duration::from_secs(20);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let progress = Arc::new(Progress::default());
    let seen_by_server = progress.clone();
    // The server ends its answer once the client has counted some of it.
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.set_nodelay(true).unwrap();
        let mut request = [0; 4096];
        assert!(stream.read(&mut request).unwrap() > 0);
        let head =
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
        stream.write_all(head.as_bytes()).unwrap();
        let (begin, mut sent) = (Instant::now(), 0);
        while seen_by_server.events.load(Ordering::Relaxed) == 0 && begin.elapsed() < PATIENCE {
            let event = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"}}]}\n\n";
            stream.write_all(event.as_bytes()).unwrap();
            sent += 1;
            std::thread::sleep(Duration::from_millis(50));
        }
        let counted = seen_by_server.events.load(Ordering::Relaxed);
        stream.write_all(b"data: [DONE]\n\n").unwrap();
        (counted, sent)
    });
    let mut kept = Kept::default();
    let mut source = Same(post("/v1/chat/completions"));
    drive_level(&plan(address), &mut source, &mut kept, &Stop::default(), &progress).unwrap();
    let (counted, sent) = server.join().unwrap();
    assert!(counted > 0, "none of {sent} events counted before the answer ended");
    assert!(counted <= sent, "{counted} of {sent}");
    assert_eq!(kept.0[0].outcome, Outcome::Ok);
    assert_eq!(kept.0[0].events.len() as u64, sent, "the record has every event");
    assert_eq!(progress.events.load(Ordering::Relaxed), sent, "each event counts once");
}
