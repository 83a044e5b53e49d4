//! One connection: plain or TLS, non-blocking. Stamps of the kernel survive TLS, since they
//! belong to the read that brought the cipher text.

use ifm_sys::{SentStamp, recv_stamped, sent};
use ifm_wire::RequestBytes;
use rustls::ClientConnection;
use std::io::{self, BufRead, ErrorKind, IoSlice, Write};
use std::net::TcpStream;

/// Most cipher text taken in one read, bytes: one full TLS record and its overhead.
const CIPHER_BYTES: usize = 17 * 1024;
/// Spare room that a read may need. Plain reads take what there is; a TLS read may complete a
/// record of 16 KiB that earlier reads began.
const ROOM_PLAIN: usize = 8 * 1024;
const ROOM_TLS: usize = 2 * CIPHER_BYTES;

/// Requests from this size on have the kernel stamp their last byte, bytes: a smaller one is gone with
/// one call.
pub(crate) const STAMPED_FROM_BYTES: usize = 16 * 1024;
/// Maximum number of pieces of a request that one call sends.
const PIECES_MAX: usize = 16;
/// The end of a large request, which has a call of its own: the kernel stamps the last byte of a call.
const MARKED_BYTES: usize = 16 * 1024;

/// A connection.
#[derive(Debug)]
pub(crate) enum Transport {
    Plain(Outlet),
    Tls(Box<TlsStream>),
}

/// Where bytes leave to the kernel.
#[derive(Debug)]
pub(crate) struct Outlet {
    socket: TcpStream,
    /// Bytes written since the kernel was asked to stamp what is sent; absent before.
    stamped: Option<u32>,
    /// Whether what is written now is the end of a request whose last byte is to be stamped.
    marks: bool,
}

impl Outlet {
    fn new(socket: TcpStream) -> Outlet {
        Outlet { socket, stamped: None, marks: false }
    }

    /// Enables kernel timestamps, once for the connection. Failure is not reported.
    fn begin_stamps(&mut self) {
        if self.stamped.is_none() && sent::stamp_sends(&self.socket).is_ok() {
            self.stamped = Some(0);
        }
    }
}

impl Write for Outlet {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_vectored(&[IoSlice::new(bytes)])
    }

    fn write_vectored(&mut self, pieces: &[IoSlice<'_>]) -> io::Result<usize> {
        let count = match (self.stamped, self.marks) {
            (Some(_), true) => sent::send_marked(&self.socket, pieces)?,
            _ => self.socket.write_vectored(pieces)?,
        };
        self.stamped = self.stamped.map(|bytes| bytes.wrapping_add(count as u32));
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[derive(Debug)]
pub(crate) struct TlsStream {
    outlet: Outlet,
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
        Transport::Plain(Outlet::new(socket))
    }

    pub fn tls(socket: TcpStream, session: ClientConnection) -> Transport {
        let cipher = Vec::with_capacity(CIPHER_BYTES);
        Transport::Tls(Box::new(TlsStream { outlet: Outlet::new(socket), session, cipher }))
    }

    fn outlet(&self) -> &Outlet {
        match self {
            Transport::Plain(outlet) => outlet,
            Transport::Tls(stream) => &stream.outlet,
        }
    }

    pub fn socket(&self) -> &TcpStream {
        &self.outlet().socket
    }

    /// Id of the byte that was written last, if the kernel stamps what is sent.
    pub fn last_id(&self) -> Option<u32> {
        self.outlet().stamped.map(|bytes| bytes.wrapping_sub(1))
    }

    /// The next stamp of sent bytes; absent when the kernel has none.
    pub fn next_stamp(&self) -> Option<SentStamp> {
        let outlet = self.outlet();
        outlet.stamped.and_then(|_| sent::next_stamp(&outlet.socket).ok().flatten())
    }

    /// What the kernel knows of the way to the server.
    pub fn way(&self) -> Option<sent::Way> {
        sent::way(self.socket())
    }

    /// Spare capacity that the buffer must have before [`Transport::receive`].
    pub fn room(&self) -> usize {
        match self {
            Transport::Plain(_) => ROOM_PLAIN,
            Transport::Tls(_) => ROOM_TLS,
        }
    }

    /// Continues the TLS handshake; returns true without TLS, or once it is done.
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
        let length = bytes.len();
        let is_stamped = length >= STAMPED_FROM_BYTES;
        match self {
            Transport::Plain(outlet) => {
                if is_stamped {
                    outlet.begin_stamps();
                }
                while *offset < length {
                    let end = end_of_call(*offset, length, is_stamped);
                    outlet.marks = is_stamped && end == length;
                    match write_run(outlet, bytes, *offset, end) {
                        Ok(0) => return Err(ErrorKind::WriteZero.into()),
                        Ok(count) => *offset += count,
                        Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
                        Err(error) if error.kind() == ErrorKind::Interrupted => {}
                        Err(error) => return Err(error),
                    }
                }
                Ok(true)
            }
            Transport::Tls(stream) => {
                if is_stamped {
                    stream.outlet.begin_stamps();
                }
                stream.send(bytes, offset, is_stamped)
            }
        }
    }

    /// Reads once into the spare capacity.
    ///
    /// # Errors
    /// `WouldBlock` when nothing is there, otherwise the socket's or the session's.
    #[inline]
    pub fn receive(&mut self, out: &mut Vec<u8>) -> io::Result<Arrival> {
        match self {
            Transport::Plain(outlet) => {
                let received = recv_stamped(&outlet.socket, out)?;
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
            let received = match recv_stamped(&self.outlet.socket, &mut self.cipher) {
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

    fn send(
        &mut self,
        bytes: &RequestBytes,
        offset: &mut usize,
        is_stamped: bool,
    ) -> io::Result<bool> {
        let length = bytes.len();
        loop {
            // What the session has taken is what it will write, in whole records.
            self.outlet.marks = is_stamped && *offset == length;
            if !self.flush()? {
                return Ok(false);
            }
            let rest = bytes.run_at(*offset);
            if rest.is_empty() {
                return Ok(true);
            }
            let end = end_of_call(*offset, length, is_stamped);
            let rest = rest.get(..end - *offset).unwrap_or(rest);
            *offset += self.session.writer().write(rest)?;
        }
    }

    /// Hands pending cipher text to the kernel; true when none is left.
    fn flush(&mut self) -> io::Result<bool> {
        while self.session.wants_write() {
            match self.session.write_tls(&mut self.outlet) {
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
        let received = recv_stamped(&self.outlet.socket, &mut self.cipher)?;
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
                // An end without the TLS goodbye: HTTP's own framing shows whether it matters.
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

    /// Feeds all of `cipher` to the session; an empty slice means that the peer closed.
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

/// Where the next call that sends a request is to end: at its end, or before the part that has a call
/// of its own.
fn end_of_call(offset: usize, length: usize, is_stamped: bool) -> usize {
    let marked = length.saturating_sub(MARKED_BYTES);
    if is_stamped && offset < marked { marked } else { length }
}

/// Writes from `offset` to `end` with one call, own and shared bytes together.
fn write_run(
    outlet: &mut Outlet,
    bytes: &RequestBytes,
    offset: usize,
    end: usize,
) -> io::Result<usize> {
    let first = bytes.run_at(offset);
    if first.len() >= end - offset {
        return outlet.write(first.get(..end - offset).unwrap_or(first));
    }
    let mut pieces = [IoSlice::new(&[]); PIECES_MAX];
    let (mut count, mut at) = (0, offset);
    for piece in &mut pieces {
        let run = bytes.run_at(at);
        let run = run.get(..end - at).unwrap_or(run);
        if run.is_empty() {
            break;
        }
        *piece = IoSlice::new(run);
        at += run.len();
        count += 1;
    }
    outlet.write_vectored(&pieces[..count])
}

/// A TLS error as a message with a hint.
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

/// Whether the error is that of a peer that had closed the connection before.
pub(crate) fn is_hang_up(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::BrokenPipe | ErrorKind::ConnectionReset | ErrorKind::ConnectionAborted
    )
}

/// Why there is no connection.
pub(crate) fn cannot_connect(error: &io::Error) -> String {
    format!("cannot connect: {error}")
}
