//! Readiness of sockets: level-triggered, with a nanosecond timeout.
//!
//! Level triggering lets the caller do one read per wake-up: what is left keeps the socket ready.

#[cfg(target_os = "linux")]
mod epoll;
#[cfg(not(target_os = "linux"))]
mod kqueue;

#[cfg(target_os = "linux")]
pub use epoll::Poller;
#[cfg(not(target_os = "linux"))]
pub use kqueue::Poller;

/// What to wait for on a socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interest {
    /// Bytes to read, or the peer closed.
    Read,
    /// Room to write, or a pending connect finished.
    Write,
    /// Either.
    ReadWrite,
}

/// One socket that is ready.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ready {
    /// The token given to [`Poller::add`].
    pub token: u64,
    /// A read will not block (bytes, end of stream, or an error to collect).
    pub readable: bool,
    /// A write will not block.
    pub writable: bool,
    /// Something lies in the error queue (a stamp of what was sent), or the connection broke.
    pub has_error: bool,
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::unix::net::UnixStream;

    #[test]
    fn level_triggering_reports_until_the_bytes_are_read() {
        let (mut near, far) = UnixStream::pair().unwrap();
        let mut poller = Poller::new(4).unwrap();
        poller.add(&far, 7, Interest::Read).unwrap();
        assert_eq!(poller.wait(Some(0)).unwrap(), 0);
        near.write_all(b"x").unwrap();
        for _ in 0..2 {
            assert_eq!(poller.wait(Some(1_000_000_000)).unwrap(), 1);
            let ready = poller.ready(0);
            assert_eq!((ready.token, ready.readable, ready.writable), (7, true, false));
        }
        poller.modify(&far, 8, Interest::ReadWrite).unwrap();
        assert_eq!(poller.wait(Some(0)).unwrap(), 1);
        assert!(poller.ready(0).writable);
        poller.remove(&far).unwrap();
        assert_eq!(poller.wait(Some(0)).unwrap(), 0);
    }
}
