//! Sockets as the load generator needs them: non-blocking connect, no delay, reset on close.

use rustix::net::{self, AddressFamily, SocketType, ipproto, sockopt};
use std::io::{self, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

/// Starts a TCP connection without waiting for it: the socket becomes writable when the
/// handshake has ended; then [`connect_result`] returns the outcome. Nagle's algorithm is off.
///
/// # Errors
/// The kernel's, when no socket can be made or the address is refused at once.
pub fn connect_start(address: SocketAddr) -> io::Result<TcpStream> {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let socket = new_socket(family)?;
    sockopt::set_tcp_nodelay(&socket, true)?;
    match net::connect(&socket, &address) {
        Ok(()) | Err(rustix::io::Errno::INPROGRESS) => Ok(TcpStream::from(socket)),
        Err(error) => Err(error.into()),
    }
}

/// A TCP socket that does not wait, and that no child gets.
#[cfg(target_os = "linux")]
fn new_socket(family: AddressFamily) -> io::Result<OwnedFd> {
    let flags = net::SocketFlags::NONBLOCK | net::SocketFlags::CLOEXEC;
    Ok(net::socket_with(family, SocketType::STREAM, flags, Some(ipproto::TCP))?)
}

#[cfg(not(target_os = "linux"))]
fn new_socket(family: AddressFamily) -> io::Result<OwnedFd> {
    let socket = net::socket(family, SocketType::STREAM, Some(ipproto::TCP))?;
    rustix::io::fcntl_setfd(&socket, rustix::io::FdFlags::CLOEXEC)?;
    rustix::io::ioctl_fionbio(&socket, true)?;
    Ok(socket)
}

/// How a started connection ended, once its socket is writable.
///
/// # Errors
/// Why the connection could not be made.
pub fn connect_result(socket: &TcpStream) -> io::Result<()> {
    match socket.take_error()? {
        Some(error) => Err(error),
        None => Ok(()),
    }
}

/// Hands bytes to the kernel without a signal if the other side has gone; how many it took. With
/// `has_more` it may hold them for what follows at once, where the system can (`MSG_MORE`).
///
/// # Errors
/// The kernel's: `WouldBlock` where there is no room, `Interrupted`, a broken connection.
pub fn send(mut stream: &TcpStream, bytes: &[u8], has_more: bool) -> io::Result<usize> {
    #[cfg(target_os = "linux")]
    if has_more {
        let flags = net::SendFlags::NOSIGNAL | net::SendFlags::MORE;
        return Ok(net::send(stream, bytes, flags)?);
    }
    let _ = has_more;
    // The standard library keeps the signal away on every system.
    stream.write(bytes)
}

/// Makes closing the socket send a reset instead of an orderly end.
///
/// # Errors
/// The kernel's.
pub fn reset_on_close(socket: impl AsFd) -> io::Result<()> {
    Ok(sockopt::set_socket_linger(socket, Some(Duration::ZERO))?)
}
