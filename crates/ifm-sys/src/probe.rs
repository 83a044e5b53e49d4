//! What this host can do, found by trying.

use crate::recv::{enable_stamps, recv_stamped};
use std::io::{ErrorKind, Write};
use std::net::{TcpListener, TcpStream};

/// Whether the kernel stamps what a TCP socket receives here, tried over loopback. Takes well
/// under a millisecond where it works, and at most about 50 ms where it does not.
pub fn kernel_stamps() -> bool {
    try_stamps().unwrap_or(false)
}

fn try_stamps() -> std::io::Result<bool> {
    let listener = TcpListener::bind(("127.0.0.1", 0))?;
    let mut near = TcpStream::connect(listener.local_addr()?)?;
    near.set_nodelay(true)?;
    let (far, _) = listener.accept()?;
    enable_stamps(&far)?;
    let mut buffer = Vec::with_capacity(16);
    let deadline = crate::mono_ns() + 50_000_000;
    // The kernel switches stamping on with a short delay, so early bytes may come without.
    while crate::mono_ns() < deadline {
        near.write_all(b"x")?;
        buffer.clear();
        match recv_stamped(&far, &mut buffer) {
            Ok(received) if received.kernel_real_ns.is_some() => return Ok(true),
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
        std::thread::yield_now();
    }
    Ok(false)
}
