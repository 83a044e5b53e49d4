//! The sockets of connections, and a way to end one with a reset.
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
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll},
};

use axum::{
    extract::connect_info::Connected,
    serve::{IncomingStream, Listener},
};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::{TcpListener, TcpStream},
};

/// Accepts connections.
#[derive(Debug)]
pub(crate) struct Sockets(pub(crate) TcpListener);

impl Listener for Sockets {
    type Io = Socket;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Socket, SocketAddr) {
        let (stream, address) = Listener::accept(&mut self.0).await;
        // An event waits for nothing. A socket that refuses is about to fail anyway.
        let _ = stream.set_nodelay(true);
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
}

impl Connection {
    /// When the connection is given up, the client gets a reset.
    pub(crate) fn end_with_reset(&self) {
        self.is_reset.store(true, Ordering::Relaxed);
    }
}

impl Connected<IncomingStream<'_, Sockets>> for Connection {
    fn connect_info(stream: IncomingStream<'_, Sockets>) -> Self {
        stream.io().connection.clone()
    }
}

/// One connection.
#[derive(Debug)]
pub(crate) struct Socket {
    stream: TcpStream,
    connection: Connection,
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
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
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
