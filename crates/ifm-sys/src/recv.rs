//! Receive with the kernel's own stamp of when the bytes arrived.
//!
//! `SO_TIMESTAMPNS` makes `recvmsg` report when the last segment that it consumed reached the
//! host. The stamp is exact for the last byte of a read and an upper bound for earlier ones.
//! It is on the wall clock: bring it onto the monotonic one with [`crate::ClockPair::to_mono`].

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd};

/// What one receive returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Received {
    /// Bytes received; 0 means the peer closed its side.
    pub bytes: usize,
    /// Wall-clock stamp of the last segment consumed; absent where the kernel gave none.
    pub kernel_real_ns: Option<u64>,
}

/// Asks the kernel to stamp what this socket receives. The first segments after the first such
/// socket of the whole host may still come without a stamp.
///
/// # Errors
/// The kernel's, where the option is not supported.
#[cfg(target_os = "linux")]
pub fn enable_stamps(socket: impl AsFd) -> io::Result<()> {
    let on: libc::c_int = 1;
    // SAFETY: the pointer and the length describe one c_int that lives over the call.
    let status = unsafe {
        libc::setsockopt(
            socket.as_fd().as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_TIMESTAMPNS,
            std::ptr::from_ref(&on).cast(),
            size_of::<libc::c_int>() as libc::socklen_t,
        )
    };
    if status < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// There are no such stamps here: what is received is stamped when it is read.
///
/// # Errors
/// Always.
#[cfg(not(target_os = "linux"))]
pub fn enable_stamps(_socket: impl AsFd) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Room for one control message with a timespec, aligned as the kernel requires.
#[repr(C, align(8))]
struct ControlBuffer([u8; 64]);

/// Receives into the spare capacity of `buffer`, once, without waiting: the buffer grows by the
/// bytes received and never reallocates. Its spare capacity must not be empty.
///
/// # Errors
/// `WouldBlock` when nothing is there, otherwise the socket's error. `InvalidInput` when the
/// buffer has no room.
pub fn recv_stamped(socket: impl AsFd, buffer: &mut Vec<u8>) -> io::Result<Received> {
    let received = receive(socket, buffer.spare_capacity_mut())?;
    // SAFETY: the kernel initialised `bytes` bytes of the spare capacity, which is at least that
    // large, so the new length is within the capacity and all bytes up to it are initialised.
    unsafe { buffer.set_len(buffer.len() + received.bytes) };
    Ok(received)
}

/// The same into a plain slice, which tracks no length: [`Received::bytes`] of them are new.
///
/// # Errors
/// As [`recv_stamped`].
pub fn recv_stamped_into(socket: impl AsFd, room: &mut [u8]) -> io::Result<Received> {
    // SAFETY: initialised bytes are possibly uninitialised ones of the same layout, and the kernel
    // writes nothing but bytes into them.
    let room = unsafe { &mut *(std::ptr::from_mut(room) as *mut [MaybeUninit<u8>]) };
    receive(socket, room)
}

fn receive(socket: impl AsFd, room: &mut [MaybeUninit<u8>]) -> io::Result<Received> {
    if room.is_empty() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "no room in the receive buffer"));
    }
    let mut part = libc::iovec { iov_base: room.as_mut_ptr().cast(), iov_len: room.len() };
    let mut control = ControlBuffer([0; 64]);
    // SAFETY: all-zero is a valid msghdr (null pointers, zero lengths).
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = &mut part;
    message.msg_iovlen = 1;
    message.msg_control = control.0.as_mut_ptr().cast();
    message.msg_controllen = control.0.len() as _;
    // SAFETY: `message` points to one iovec over `room` and to a control buffer of the stated
    // length; all of them live over the call.
    let count =
        unsafe { libc::recvmsg(socket.as_fd().as_raw_fd(), &mut message, libc::MSG_DONTWAIT) };
    if count < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(Received { bytes: count as usize, kernel_real_ns: stamp_of(&message) })
}

#[cfg(not(target_os = "linux"))]
fn stamp_of(_message: &libc::msghdr) -> Option<u64> {
    None
}

/// Finds the stamp among the control messages of a completed receive.
#[cfg(target_os = "linux")]
fn stamp_of(message: &libc::msghdr) -> Option<u64> {
    // SAFETY: `message` was filled by recvmsg and its control buffer is still alive; the CMSG
    // functions stay within `msg_controllen`.
    let mut header = unsafe { libc::CMSG_FIRSTHDR(message) };
    while !header.is_null() {
        // SAFETY: a non-null result of CMSG_FIRSTHDR/NXTHDR points to a whole cmsghdr.
        let (level, kind) = unsafe { ((*header).cmsg_level, (*header).cmsg_type) };
        if level == libc::SOL_SOCKET && kind == libc::SCM_TIMESTAMPNS {
            // SAFETY: a message of this type carries one timespec; the read is unaligned-safe.
            let time: libc::timespec =
                unsafe { std::ptr::read_unaligned(libc::CMSG_DATA(header).cast()) };
            return Some(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64);
        }
        // SAFETY: as for CMSG_FIRSTHDR above.
        header = unsafe { libc::CMSG_NXTHDR(message, header) };
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::net::{TcpListener, TcpStream};

    fn pair() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (far, _) = listener.accept().unwrap();
        (near, far)
    }

    #[test]
    fn fills_only_the_spare_capacity_and_reports_the_end() {
        let (mut near, far) = pair();
        let mut buffer = Vec::with_capacity(8);
        buffer.push(b'<');
        assert_eq!(recv_stamped(&far, &mut buffer).unwrap_err().kind(), io::ErrorKind::WouldBlock);
        near.write_all(b"0123456789").unwrap();
        let pointer = buffer.as_ptr();
        let room = buffer.capacity() - 1;
        let first = recv_stamped(&far, &mut buffer).unwrap();
        assert_eq!(first.bytes, room.min(10));
        assert_eq!(buffer.as_ptr(), pointer);
        assert_eq!(&buffer[..4], b"<012");
        if room < 10 {
            assert_eq!(
                recv_stamped(&far, &mut buffer).unwrap_err().kind(),
                io::ErrorKind::InvalidInput
            );
        }
        drop(near);
        let mut rest = Vec::with_capacity(64);
        loop {
            match recv_stamped(&far, &mut rest) {
                Ok(received) if received.bytes == 0 => break,
                Ok(_) => {}
                // The end may take a moment to come.
                Err(error) => assert_eq!(error.kind(), io::ErrorKind::WouldBlock),
            }
        }
        assert_eq!(buffer.len() - 1 + rest.len(), 10);
    }

    #[test]
    fn a_stamp_lies_between_the_send_and_the_read() {
        let (mut near, far) = pair();
        if enable_stamps(&far).is_err() {
            return; // A host without the option: `probe` reports it, and the client says so.
        }
        let mut buffer = Vec::with_capacity(64);
        // The kernel switches stamping on from another thread, which may take its time.
        let deadline = crate::mono_ns() + 5_000_000_000;
        while crate::mono_ns() < deadline {
            let before = crate::clock::real_ns();
            near.write_all(b"x").unwrap();
            let received = loop {
                match recv_stamped(&far, &mut buffer) {
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => continue,
                    other => break other.unwrap(),
                }
            };
            let after = crate::clock::real_ns();
            buffer.clear();
            if let Some(stamp) = received.kernel_real_ns {
                assert!(before <= stamp && stamp <= after, "{before} {stamp} {after}");
                return;
            }
        }
        assert!(!crate::probe::kernel_stamps(), "the probe and the socket disagree");
    }
}
