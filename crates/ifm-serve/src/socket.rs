//! The sockets of connections, when their requests arrived, and a way to end one with a reset.
//!
//! A request arrived when the kernel had its last byte. A burst of requests is read one after the
//! other, and what a simulation makes of it must not depend on how long that takes.
//!
//! A socket that is closed in order tells its client that nothing follows. One that is
//! reset tells that something broke, which is what the fault of that name is for.
//!
//! Not here: who asks for it (`fault`).

use std::{
    io,
    net::SocketAddr,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    task::{Context, Poll, ready},
    time::{Duration, Instant},
};

use axum::serve::Listener;
use ifm_sys::{ClockPair, Received, enable_stamps, mono_ns, recv_stamped_into};
use tokio::{
    io::{AsyncRead, AsyncWrite, Interest, ReadBuf},
    net::{TcpListener, TcpStream},
};

/// Accepts connections.
#[derive(Debug)]
pub(crate) struct Sockets(TcpListener);

impl Sockets {
    /// Accepts from a listener. Its sockets have stamps from their first byte on: in a burst over new
    /// connections requests are there before anybody accepts.
    pub(crate) fn new(listener: TcpListener) -> Self {
        // Without stamps, bytes arrive when they are read.
        let _ = enable_stamps(&listener);
        Self(listener)
    }
}

impl Listener for Sockets {
    type Io = Socket;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Socket, SocketAddr) {
        let (stream, address) = Listener::accept(&mut self.0).await;
        // An event waits for nothing. A socket that refuses is about to fail anyway.
        let _ = stream.set_nodelay(true);
        // Where a listener does not pass it on.
        let _ = enable_stamps(&stream);
        (Socket { stream, connection: Connection::default() }, address)
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.0.local_addr()
    }
}

/// What a request knows of its connection.
#[derive(Debug, Clone, Default)]
pub(crate) struct Connection {
    is_reset: Arc<AtomicBool>,
    /// When the last bytes came, on the monotonic clock, nanoseconds; 0 before the first ones.
    received_ns: Arc<AtomicU64>,
}

impl Connection {
    /// When the connection is given up, the client gets a reset.
    pub(crate) fn end_with_reset(&self) {
        self.is_reset.store(true, Ordering::Relaxed);
    }

    /// When the request that is being read arrived: its last byte.
    pub(crate) fn arrival(&self) -> Instant {
        let now = Instant::now();
        match self.received_ns.load(Ordering::Relaxed) {
            0 => now,
            received_ns => now - Duration::from_nanos(mono_ns().saturating_sub(received_ns)),
        }
    }

    fn note(&self, received: Received) {
        let received_ns = match received.kernel_real_ns {
            Some(real_ns) => ClockPair::sample().to_mono(real_ns).min(mono_ns()),
            None => mono_ns(),
        };
        self.received_ns.store(received_ns, Ordering::Relaxed);
    }
}

/// One connection.
#[derive(Debug)]
pub(crate) struct Socket {
    stream: TcpStream,
    connection: Connection,
}

impl Socket {
    pub(crate) fn connection(&self) -> &Connection {
        &self.connection
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        if self.connection.is_reset.load(Ordering::Relaxed) {
            // Closing without lingering is what sends a reset. One that fails closes in
            // order, and there is nobody to tell.
            let _ = self.stream.set_zero_linger();
        }
    }
}

impl AsyncRead for Socket {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        loop {
            ready!(self.stream.poll_read_ready(context))?;
            let room = buffer.initialize_unfilled();
            if room.is_empty() {
                return Poll::Ready(Ok(()));
            }
            let receive = || recv_stamped_into(&self.stream, room);
            match self.stream.try_io(Interest::READABLE, receive) {
                Ok(received) => {
                    if received.bytes > 0 {
                        self.connection.note(received);
                    }
                    buffer.advance(received.bytes);
                    return Poll::Ready(Ok(()));
                }
                // It was not ready after all, and the next look waits until it is.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
    }
}

impl AsyncWrite for Socket {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, bytes)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{future::poll_fn, io::Write as _};

    /// What comes waits in the kernel until it is read, and arrived before.
    #[tokio::test]
    async fn bytes_arrive_when_the_kernel_has_them() {
        let mut sockets = Sockets::new(TcpListener::bind("127.0.0.1:0").await.expect("a port"));
        let address = sockets.0.local_addr().expect("an address");
        // The first segments of a host may come without a stamp.
        for _ in 0..100 {
            let before_sent = Instant::now();
            let mut client = std::net::TcpStream::connect(address).expect("a connection");
            client.write_all(b"a request").expect("room");
            std::thread::sleep(Duration::from_millis(20));
            let before_read = Instant::now();
            // The bytes are there before the connection is accepted.
            let (mut socket, _) = sockets.accept().await;
            let mut room = [0; 16];
            let mut buffer = ReadBuf::new(&mut room);
            poll_fn(|context| Pin::new(&mut socket).poll_read(context, &mut buffer))
                .await
                .expect("bytes");
            assert_eq!(buffer.filled(), b"a request");
            let arrival = socket.connection.arrival();
            // Its clock is brought onto this one within microseconds.
            assert!(arrival + Duration::from_millis(1) > before_sent, "not before it was sent");
            if arrival < before_read {
                return;
            }
        }
        panic!("it arrived when it was read, a hundred times");
    }
}
