//! Clients that send too slowly, too much, or too often, over connections in memory and in simulated time: a test of
//! minutes ends at once, and no test depends on the speed of its host.

use std::time::Duration;

use axum::{
    Router,
    body::{Body, Bytes},
    http::StatusCode,
    response::IntoResponse as _,
    routing::{get, post},
    serve::Listener,
};
use ifm_listen::{Limits, Service, Shutdown, serve};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, duplex},
    sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel},
    task::JoinHandle,
    time::{Instant, sleep},
};

/// Accepts the connections that a channel brings.
struct InMemory(UnboundedReceiver<DuplexStream>);

impl Listener for InMemory {
    type Io = DuplexStream;
    type Addr = ();

    async fn accept(&mut self) -> (DuplexStream, ()) {
        match self.0.recv().await {
            Some(stream) => (stream, ()),
            None => std::future::pending().await,
        }
    }

    fn local_addr(&self) -> std::io::Result<()> {
        Ok(())
    }
}

/// A server in memory, whose `/` is a short answer, `/length` the length of the body, `/never` no answer, and
/// `/endless` an answer without an end.
struct Served {
    connections: UnboundedSender<DuplexStream>,
    shutdown: Shutdown,
    ended: JoinHandle<()>,
}

impl Served {
    fn start(limits: Limits) -> Served {
        let endless = || async {
            let (mut sender, receiver) = duplex(4096);
            tokio::spawn(async move { while sender.write_all(&[b'x'; 4096]).await.is_ok() {} });
            Body::new(Endless(receiver))
        };
        let router = Router::new()
            .route("/", get(|| async { "short" }))
            .route("/length", post(|body: Bytes| async move { body.len().to_string() }))
            .route("/never", get(std::future::pending::<StatusCode>))
            .route("/endless", get(endless));
        let service = Service {
            router,
            extension: |_: &DuplexStream| (),
            refuse: |status, refusal| (status, refusal.sentence()).into_response(),
            limits,
            grace: Duration::from_secs(2),
        };
        let (connections, receiver) = unbounded_channel();
        let shutdown = Shutdown::new();
        let ended = {
            let shutdown = shutdown.clone();
            tokio::spawn(async move { serve(InMemory(receiver), service, &shutdown).await })
        };
        Served { connections, shutdown, ended }
    }

    fn connect(&self) -> DuplexStream {
        let (client, server) = duplex(1 << 16);
        self.connections.send(server).expect("a server");
        client
    }
}

/// A body from a pipe.
struct Endless(DuplexStream);

impl http_body::Body for Endless {
    type Data = Bytes;
    type Error = std::io::Error;

    fn poll_frame(
        mut self: std::pin::Pin<&mut Self>,
        context: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Result<http_body::Frame<Bytes>, std::io::Error>>> {
        let mut buffer = [0; 4096];
        let mut buffer = tokio::io::ReadBuf::new(&mut buffer);
        let read =
            tokio::io::AsyncRead::poll_read(std::pin::Pin::new(&mut self.0), context, &mut buffer);
        read.map_ok(|()| http_body::Frame::data(Bytes::copy_from_slice(buffer.filled()))).map(Some)
    }
}

/// Everything until the server closes, and how long that took.
async fn read_all(mut stream: DuplexStream) -> (String, Duration) {
    let start = Instant::now();
    let mut all = Vec::new();
    // A reset is an end too.
    let _ = stream.read_to_end(&mut all).await;
    (String::from_utf8_lossy(&all).into_owned(), start.elapsed())
}

async fn ask(served: &Served, path: &str) -> String {
    let mut stream = served.connect();
    let head = format!("GET {path} HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
    stream.write_all(head.as_bytes()).await.expect("sends");
    read_all(stream).await.0
}

fn seconds(limits: (u64, u64)) -> std::ops::Range<Duration> {
    Duration::from_secs(limits.0)..Duration::from_secs(limits.1)
}

#[tokio::test(start_paused = true)]
async fn half_a_head_ends_after_its_time() {
    let served = Served::start(Limits::default());
    for head in ["", "G", "GET / HTTP/1.1\r\nHost: h\r\nX"] {
        let mut stream = served.connect();
        stream.write_all(head.as_bytes()).await.expect("sends");
        let (_, time) = read_all(stream).await;
        assert!(seconds((59, 62)).contains(&time), "{head:?}: {time:?}");
    }
    // One byte every ten seconds earns no time.
    let mut stream = served.connect();
    let start = Instant::now();
    while stream.write_all(b"G").await.is_ok() {
        sleep(Duration::from_secs(10)).await;
        assert!(start.elapsed() < Duration::from_secs(90), "still open");
    }
    // A connection that waits for its next request ends too.
    let mut stream = served.connect();
    stream.write_all(b"GET / HTTP/1.1\r\nHost: h\r\n\r\n").await.expect("sends");
    let (answer, time) = read_all(stream).await;
    assert!(answer.ends_with("short") && seconds((59, 62)).contains(&time), "{answer} {time:?}");
}

#[tokio::test(start_paused = true)]
async fn a_head_without_an_end_is_refused() {
    let served = Served::start(Limits::default());
    let mut stream = served.connect();
    stream.write_all(b"GET / HTTP/1.1\r\n").await.expect("sends");
    let mut sent = 0;
    while sent < 64 << 20 && stream.write_all(b"X: 0123456789abcdef\r\n").await.is_ok() {
        sent += 20;
    }
    assert!(sent < 1 << 20, "{sent} bytes of headers were read");
    assert!(read_all(stream).await.0.starts_with("HTTP/1.1 431"));
}

/// Sends a body of this length in pieces, one per interval: the answer and the time.
async fn drip(served: &Served, length: usize, piece: usize, every_ms: u64) -> (String, Duration) {
    let mut stream = served.connect();
    let start = Instant::now();
    let head = format!(
        "POST /length HTTP/1.1\r\nHost: h\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await.expect("sends");
    let (mut reader, mut writer) = tokio::io::split(stream);
    let sending = tokio::spawn(async move {
        for _ in 0..length / piece {
            if writer.write_all(&vec![b'x'; piece]).await.is_err() {
                return;
            }
            sleep(Duration::from_millis(every_ms)).await;
        }
    });
    let mut answer = String::new();
    // A reset is an end too.
    let _ = reader.read_to_string(&mut answer).await;
    sending.abort();
    (answer, start.elapsed())
}

#[tokio::test(start_paused = true)]
async fn a_body_has_a_lowest_rate() {
    let limits = Limits { bodies_bytes: 64 << 20, ..Limits::default() };
    let served = Served::start(limits);
    let (answer, time) = drip(&served, 1000, 1, 1000).await;
    assert!(answer.starts_with("HTTP/1.1 408"), "{answer}");
    assert!(seconds((30, 33)).contains(&time), "{time:?}");
    // A body at twice the lowest rate ends well, though it takes longer than a body that stops may.
    let (answer, time) = drip(&served, 2 << 20, 4096, 125).await;
    assert!(answer.starts_with("HTTP/1.1 200") && answer.ends_with("2097152"), "{answer}");
    assert!(time > Duration::from_secs(60), "{time:?}");
}

#[tokio::test(start_paused = true)]
async fn all_bodies_together_have_a_bound() {
    let served = Served::start(Limits { bodies_bytes: 3 << 20, ..Limits::default() });
    let head = b"POST /length HTTP/1.1\r\nHost: h\r\nContent-Length: 2000000\r\n\r\n";
    let mut first = served.connect();
    first.write_all(head).await.expect("sends");
    first.write_all(&vec![b'x'; 1_900_000]).await.expect("sends");
    let (answer, _) = drip(&served, 2_000_000, 10_000, 1).await;
    assert!(answer.starts_with("HTTP/1.1 503"), "{answer}");
    assert_eq!(ask(&served, "/").await.lines().next(), Some("HTTP/1.1 200 OK"));
    // The bytes of a client that has left count no more.
    drop(first);
    sleep(Duration::from_secs(1)).await;
    let (answer, _) = drip(&served, 2_000_000, 10_000, 1).await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}

#[tokio::test(start_paused = true)]
async fn the_connection_that_waits_longest_makes_room() {
    let served = Served::start(Limits { connections: 4, ..Limits::default() });
    let mut slow = Vec::new();
    for _ in 0..100 {
        let mut stream = served.connect();
        stream.write_all(b"GET / HTTP/1.1\r\nHost: h\r\n").await.expect("sends");
        slow.push(stream);
        sleep(Duration::from_millis(1)).await;
    }
    assert!(ask(&served, "/").await.ends_with("short"));
    let mut open = 0;
    for mut stream in slow {
        // The last ones are still open, so their heads can end.
        let is_sent = stream.write_all(b"Connection: close\r\n\r\n").await.is_ok();
        open += usize::from(is_sent && read_all(stream).await.0.ends_with("short"));
    }
    assert_eq!(open, 3);
}

#[tokio::test(start_paused = true)]
async fn a_busy_connection_does_not_make_room() {
    let served = Served::start(Limits { connections: 2, ..Limits::default() });
    let mut busy = Vec::new();
    for _ in 0..2 {
        let mut stream = served.connect();
        stream.write_all(b"GET /never HTTP/1.1\r\nHost: h\r\n\r\n").await.expect("sends");
        busy.push(stream);
    }
    sleep(Duration::from_millis(1)).await;
    let answer = ask(&served, "/").await;
    assert!(answer.starts_with("HTTP/1.1 503") && answer.contains("Retry-After"), "{answer}");
    drop(busy.pop());
    sleep(Duration::from_millis(1)).await;
    assert!(ask(&served, "/").await.ends_with("short"));
}

#[tokio::test(start_paused = true)]
async fn a_client_that_reads_nothing_ends_after_its_time() {
    let served = Served::start(Limits { connections: 1, ..Limits::default() });
    let mut stream = served.connect();
    stream.write_all(b"GET /endless HTTP/1.1\r\nHost: h\r\n\r\n").await.expect("sends");
    sleep(Duration::from_secs(290)).await;
    assert!(ask(&served, "/").await.starts_with("HTTP/1.1 503"));
    sleep(Duration::from_secs(20)).await;
    assert!(ask(&served, "/").await.ends_with("short"));
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_waits_for_no_slow_client() {
    let served = Served::start(Limits::default());
    let mut slow = served.connect();
    slow.write_all(b"POST /length HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\nx")
        .await
        .expect("sends");
    let mut busy = served.connect();
    busy.write_all(b"GET /never HTTP/1.1\r\nHost: h\r\n\r\n").await.expect("sends");
    sleep(Duration::from_millis(1)).await;
    let start = Instant::now();
    served.shutdown.request();
    served.ended.await.expect("ends");
    assert!(start.elapsed() < Duration::from_secs(3), "{:?}", start.elapsed());
}
