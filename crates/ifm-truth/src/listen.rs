//! What both servers share below HTTP: a listener with room for a burst, a way to stop the loop
//! from outside, and arrival stamps on the monotonic clock.

use ifm_sys::{ClockPair, Interest, Poller, Received};
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;

/// Connections that may wait to be accepted.
const BACKLOG: i32 = 4096;

/// How long a joint reading of the clocks is used before the next one, nanoseconds.
const CLOCKS_KEPT_NS: u64 = 200_000_000;

/// Opens a non-blocking listener on loopback. Port 0 picks a free one.
///
/// # Errors
/// The kernel's, for instance when the port is taken.
pub fn listen(port: u16) -> io::Result<(TcpListener, SocketAddr)> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
    // A second call only widens the queue: the standard library's 128 is less than the number
    // of connections that a load generator opens at once.
    rustix::net::listen(&listener, BACKLOG)?;
    listener.set_nonblocking(true)?;
    let address = listener.local_addr()?;
    Ok((listener, address))
}

/// Accepts one waiting connection, ready for an event loop; `None` when none waits (or when it
/// is already gone). Nagle's algorithm is off and receive stamps are on where they exist.
///
/// # Errors
/// The kernel's, when the process is out of file descriptors.
pub fn accept(listener: &TcpListener) -> io::Result<Option<TcpStream>> {
    match listener.accept() {
        Ok((stream, _)) => {
            stream.set_nonblocking(true)?;
            stream.set_nodelay(true)?;
            // Without stamps the arrival is the time of the read, and the log says so.
            ifm_sys::enable_stamps(&stream).ok();
            Ok(Some(stream))
        }
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
        Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => Ok(None),
        Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(None),
        Err(error) => Err(error),
    }
}

/// The near end stops a loop by being dropped; the far end is watched by the loop.
pub fn stop_pair(poller: &Poller, token: u64) -> io::Result<(UnixStream, UnixStream)> {
    let (near, far) = UnixStream::pair()?;
    far.set_nonblocking(true)?;
    poller.add(&far, token, Interest::Read)?;
    Ok((near, far))
}

/// When bytes arrived, on the monotonic clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct Arrival {
    /// Nanoseconds on the monotonic clock.
    pub at_ns: u64,
    /// Whether the kernel stamped it; otherwise it is the time of the read, which is later.
    pub by_kernel: bool,
}

/// Brings receive stamps onto the monotonic clock.
#[derive(Debug)]
pub struct Stamper {
    clocks: ClockPair,
}

impl Default for Stamper {
    fn default() -> Stamper {
        Stamper { clocks: ClockPair::sample() }
    }
}

impl Stamper {
    /// The arrival of a read that ended at `now_ns`. A stamp that lies in the future of the read
    /// (the wall clock was stepped) is not used.
    pub fn arrival(&mut self, received: Received, now_ns: u64) -> Arrival {
        if now_ns.saturating_sub(self.clocks.mono_ns) > CLOCKS_KEPT_NS {
            self.clocks = ClockPair::sample();
        }
        match received.kernel_real_ns.map(|stamp| self.clocks.to_mono(stamp)) {
            Some(at_ns) if at_ns <= now_ns => Arrival { at_ns, by_kernel: true },
            _ => Arrival { at_ns: now_ns, by_kernel: false },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stamp_from_the_future_is_not_used() {
        let mut stamper = Stamper { clocks: ClockPair { mono_ns: 1_000, offset_ns: 5_000 } };
        let at = |real| Received { bytes: 1, kernel_real_ns: Some(real) };
        assert_eq!(stamper.arrival(at(6_500), 2_000), Arrival { at_ns: 1_500, by_kernel: true });
        assert_eq!(stamper.arrival(at(9_000), 2_000), Arrival { at_ns: 2_000, by_kernel: false });
        let unknown = Received { bytes: 1, kernel_real_ns: None };
        assert_eq!(stamper.arrival(unknown, 2_000), Arrival { at_ns: 2_000, by_kernel: false });
    }

    #[test]
    fn a_listener_accepts_what_connects() {
        let (listener, address) = listen(0).unwrap();
        assert!(accept(&listener).unwrap().is_none());
        let near = TcpStream::connect(address).unwrap();
        let far = accept(&listener).unwrap().unwrap();
        assert_eq!(far.peer_addr().unwrap(), near.local_addr().unwrap());
    }
}
