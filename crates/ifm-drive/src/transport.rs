//! One connection: plain or TLS, non-blocking. Stamps of the kernel survive TLS, since they
//! belong to the read that brought the cipher text.

use ifm_sys::recv_stamped;
use ifm_wire::RequestBytes;
use rustls::ClientConnection;
use std::io::{self, BufRead, ErrorKind, Write};
use std::net::TcpStream;

/// Most cipher text taken in one read, bytes: one full TLS record and its overhead.
const CIPHER_BYTES: usize = 17 * 1024;
/// Spare room that a read may need. Plain reads take what there is; a TLS read may complete a
/// record of 16 KiB that earlier reads began.
const ROOM_PLAIN: usize = 8 * 1024;
const ROOM_TLS: usize = 2 * CIPHER_BYTES;

/// A connection.
#[derive(Debug)]
pub(crate) enum Transport {
    Plain(TcpStream),
    Tls(Box<TlsStream>),
}

#[derive(Debug)]
pub(crate) struct TlsStream {
    socket: TcpStream,
    session: ClientConnection,
    cipher: Vec<u8>,
}

/// What a read brought.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Arrival {
    /// Bytes for the reader; may be 0 for TLS records that carry none.
    pub bytes: usize,
    /// The peer closed its side.
    pub closed: bool,
    /// Wall-clock stamp of the kernel.
    pub kernel_real_ns: Option<u64>,
}

impl Transport {
    pub fn plain(socket: TcpStream) -> Transport {
        Transport::Plain(socket)
    }

    pub fn tls(socket: TcpStream, session: ClientConnection) -> Transport {
        let cipher = Vec::with_capacity(CIPHER_BYTES);
        Transport::Tls(Box::new(TlsStream { socket, session, cipher }))
    }

    pub fn socket(&self) -> &TcpStream {
        match self {
            Transport::Plain(socket) => socket,
            Transport::Tls(stream) => &stream.socket,
        }
    }

    /// Spare capacity that the buffer must have before [`Transport::receive`].
    pub fn room(&self) -> usize {
        match self {
            Transport::Plain(_) => ROOM_PLAIN,
            Transport::Tls(_) => ROOM_TLS,
        }
    }

    /// Goes on with the TLS handshake; true when there is none or it is done.
    ///
    /// # Errors
    /// Why it failed: a certificate that is not believed, or no TLS on the other side.
    pub fn shake_hands(&mut self) -> io::Result<bool> {
        match self {
            Transport::Plain(_) => Ok(true),
            Transport::Tls(stream) => stream.shake_hands(),
        }
    }

    /// Whether TLS has cipher text that the socket did not take yet.
    pub fn wants_write(&self) -> bool {
        matches!(self, Transport::Tls(stream) if stream.session.wants_write())
    }

    /// Sends from `offset` on and advances it; true when all is with the kernel.
    ///
    /// # Errors
    /// The socket's.
    pub fn send(&mut self, bytes: &RequestBytes, offset: &mut usize) -> io::Result<bool> {
        match self {
            Transport::Plain(socket) => {
                while let rest @ [_, ..] = bytes.run_at(*offset) {
                    match socket.write(rest) {
                        Ok(0) => return Err(ErrorKind::WriteZero.into()),
                        Ok(count) => *offset += count,
                        Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
                        Err(error) if error.kind() == ErrorKind::Interrupted => {}
                        Err(error) => return Err(error),
                    }
                }
                Ok(true)
            }
            Transport::Tls(stream) => stream.send(bytes, offset),
        }
    }

    /// Reads once into the spare capacity.
    ///
    /// # Errors
    /// `WouldBlock` when nothing is there, otherwise the socket's or the session's.
    #[inline]
    pub fn receive(&mut self, out: &mut Vec<u8>) -> io::Result<Arrival> {
        match self {
            Transport::Plain(socket) => {
                let received = recv_stamped(&*socket, out)?;
                Ok(Arrival {
                    bytes: received.bytes,
                    closed: received.bytes == 0,
                    kernel_real_ns: received.kernel_real_ns,
                })
            }
            Transport::Tls(stream) => stream.receive(out),
        }
    }
}

impl TlsStream {
    fn shake_hands(&mut self) -> io::Result<bool> {
        while self.session.is_handshaking() {
            self.flush()?;
            self.cipher.clear();
            let received = match recv_stamped(&self.socket, &mut self.cipher) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
                other => other?,
            };
            if received.bytes == 0 {
                let text = "the server closed the connection during the TLS handshake";
                return Err(io::Error::new(ErrorKind::UnexpectedEof, text));
            }
            self.take_cipher()?;
        }
        self.flush()?;
        Ok(true)
    }

    fn send(&mut self, bytes: &RequestBytes, offset: &mut usize) -> io::Result<bool> {
        loop {
            if !self.flush()? {
                return Ok(false);
            }
            let rest = bytes.run_at(*offset);
            if rest.is_empty() {
                return Ok(true);
            }
            *offset += self.session.writer().write(rest)?;
        }
    }

    /// Hands pending cipher text to the kernel; true when none is left.
    fn flush(&mut self) -> io::Result<bool> {
        while self.session.wants_write() {
            match self.session.write_tls(&mut self.socket) {
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    fn receive(&mut self, out: &mut Vec<u8>) -> io::Result<Arrival> {
        self.cipher.clear();
        let received = recv_stamped(&self.socket, &mut self.cipher)?;
        self.take_cipher()?;
        let before = out.len();
        let mut closed = received.bytes == 0;
        loop {
            let mut reader = self.session.reader();
            match reader.fill_buf() {
                Ok([]) => {
                    closed = true;
                    break;
                }
                Ok(bytes) => {
                    let count = bytes.len();
                    out.extend_from_slice(bytes);
                    reader.consume(count);
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                // An end without the TLS goodbye: HTTP's own framing tells whether it matters.
                Err(error) if error.kind() == ErrorKind::UnexpectedEof => {
                    closed = true;
                    break;
                }
                Err(error) => return Err(error),
            }
        }
        // Answers of the session itself (key updates) are sent when there is room; if there is
        // none now, the next request's send takes them along.
        self.flush()?;
        Ok(Arrival { bytes: out.len() - before, closed, kernel_real_ns: received.kernel_real_ns })
    }

    /// Gives the session all of `cipher`; an empty one tells it that the peer closed.
    fn take_cipher(&mut self) -> io::Result<()> {
        let mut input = self.cipher.as_slice();
        loop {
            self.session.read_tls(&mut input)?;
            if let Err(error) = self.session.process_new_packets() {
                // Tell the peer why, as far as the socket takes it.
                let _ = self.flush();
                return Err(io::Error::new(ErrorKind::InvalidData, explain(&error)));
            }
            if input.is_empty() {
                return Ok(());
            }
        }
    }
}

/// A TLS error in words that say what to do.
fn explain(error: &rustls::Error) -> String {
    match error {
        rustls::Error::InvalidCertificate(cause) => format!(
            "the server's certificate is not believed ({cause:?}): check the name in the URL, \
             add its authority with SSL_CERT_FILE, or use --insecure for a server that you trust"
        ),
        rustls::Error::InvalidMessage(_) => {
            format!("the server does not speak TLS on this port ({error}): try http://")
        }
        other => format!("TLS: {other}"),
    }
}
