//! When bytes that were sent had left, and when the peer had acknowledged them, as the kernel stamps
//! it.
//!
//! `SO_TIMESTAMPING` reports on the socket's error queue when the packet with a marked byte went to
//! the device, and when the peer's kernel had acknowledged that byte. A mark belongs to one call and
//! means its last byte, so that requests that nobody marks cost nothing. Stamps are on the wall clock,
//! as those of [`crate::recv`].
//!
//! The alternative, to ask `TCP_INFO` again and again whether anything is on its way, was tried
//! against it: it costs a call at every look, and is late by half the time between two of them.

use std::io::{self, IoSlice};
use std::os::fd::{AsFd, AsRawFd};

/// Takes the bytes since the option was set as the stamps' ids from what was written, rather than from
/// what was acknowledged. Linux 6.2; the name is not in every libc.
const OPT_ID_TCP: libc::c_uint = 1 << 16;
/// Room for the control messages of one stamp: three times, and the error that carries it.
const CONTROL_BYTES: usize = 256;

/// What the kernel has to say about a marked byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SentStamp {
    /// Bytes that were written since [`stamp_sends`], before the marked one; of 32 bits.
    pub id: u32,
    /// What happened.
    pub what: SentStep,
    /// When, on the wall clock.
    pub real_ns: u64,
}

/// How far a byte came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SentStep {
    /// Its packet was given to the device, for the first time or again.
    Left,
    /// The peer's kernel has it.
    Acknowledged,
}

/// Has the kernel stamp marked bytes of a connection, counted from here.
///
/// # Errors
/// The kernel's, where it has no such stamps.
pub fn stamp_sends(socket: impl AsFd) -> io::Result<()> {
    let flags = libc::SOF_TIMESTAMPING_SOFTWARE
        | libc::SOF_TIMESTAMPING_OPT_ID
        | libc::SOF_TIMESTAMPING_OPT_TSONLY;
    set_flags(&socket, flags | OPT_ID_TCP).or_else(|_| set_flags(&socket, flags))
}

fn set_flags(socket: &impl AsFd, flags: libc::c_uint) -> io::Result<()> {
    // SAFETY: the pointer and the length describe one c_uint that lives over the call.
    let status = unsafe {
        libc::setsockopt(
            socket.as_fd().as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_TIMESTAMPING,
            std::ptr::from_ref(&flags).cast(),
            size_of::<libc::c_uint>() as libc::socklen_t,
        )
    };
    if status < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Room for control messages, aligned as the kernel wants them.
#[repr(C, align(8))]
struct ControlBuffer([u8; CONTROL_BYTES]);

/// Sends pieces in one call, without waiting, and marks the last byte that the kernel takes.
///
/// # Errors
/// `WouldBlock` when there is no room, otherwise the socket's.
pub fn send_marked(socket: impl AsFd, pieces: &[IoSlice<'_>]) -> io::Result<usize> {
    let marks = libc::SOF_TIMESTAMPING_TX_SOFTWARE | libc::SOF_TIMESTAMPING_TX_ACK;
    let mut control = ControlBuffer([0; CONTROL_BYTES]);
    // SAFETY: all-zero is a valid msghdr (null pointers, zero lengths).
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    // An IoSlice is an iovec by its documentation, and sendmsg does not write to it.
    message.msg_iov = pieces.as_ptr().cast_mut().cast();
    message.msg_iovlen = pieces.len() as _;
    message.msg_control = control.0.as_mut_ptr().cast();
    // SAFETY: CMSG_SPACE only computes a size.
    message.msg_controllen = unsafe { libc::CMSG_SPACE(size_of::<libc::c_uint>() as _) } as _;
    // SAFETY: the control buffer is larger than the stated length, which holds one header and one
    // c_uint, so the first header is not null and its data lie within the buffer.
    unsafe {
        let header = libc::CMSG_FIRSTHDR(&message);
        (*header).cmsg_level = libc::SOL_SOCKET;
        (*header).cmsg_type = libc::SO_TIMESTAMPING;
        (*header).cmsg_len = libc::CMSG_LEN(size_of::<libc::c_uint>() as _) as _;
        std::ptr::write_unaligned(libc::CMSG_DATA(header).cast::<libc::c_uint>(), marks);
    }
    // SAFETY: `message` points to pieces and to a control buffer that live over the call.
    let count = unsafe {
        libc::sendmsg(socket.as_fd().as_raw_fd(), &message, libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL)
    };
    if count < 0 { Err(io::Error::last_os_error()) } else { Ok(count as usize) }
}

/// Takes one stamp from the socket's error queue; absent when it holds none, or something else.
///
/// # Errors
/// The socket's; an empty queue is none.
pub fn next_stamp(socket: impl AsFd) -> io::Result<Option<SentStamp>> {
    let mut control = ControlBuffer([0; CONTROL_BYTES]);
    // SAFETY: all-zero is a valid msghdr (null pointers, zero lengths).
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_control = control.0.as_mut_ptr().cast();
    message.msg_controllen = control.0.len() as _;
    // SAFETY: `message` has no pieces and a control buffer of the stated length that lives over the
    // call.
    let count = unsafe {
        libc::recvmsg(
            socket.as_fd().as_raw_fd(),
            &mut message,
            libc::MSG_ERRQUEUE | libc::MSG_DONTWAIT,
        )
    };
    if count < 0 {
        let error = io::Error::last_os_error();
        return if error.kind() == io::ErrorKind::WouldBlock { Ok(None) } else { Err(error) };
    }
    Ok(stamp_of(&message))
}

/// Finds the time and what it is of among the control messages of a completed receive.
fn stamp_of(message: &libc::msghdr) -> Option<SentStamp> {
    let (mut real_ns, mut mark) = (None, None);
    // SAFETY: `message` was filled by recvmsg and its control buffer is still alive; the CMSG
    // functions stay within `msg_controllen`.
    let mut header = unsafe { libc::CMSG_FIRSTHDR(message) };
    while !header.is_null() {
        // SAFETY: a non-null result of CMSG_FIRSTHDR/NXTHDR points to a whole cmsghdr.
        let (level, kind) = unsafe { ((*header).cmsg_level, (*header).cmsg_type) };
        match (level, kind) {
            (libc::SOL_SOCKET, libc::SCM_TIMESTAMPING) => {
                // SAFETY: a message of this type carries three timespecs, the software's first; the
                // read is unaligned-safe.
                let time: libc::timespec =
                    unsafe { std::ptr::read_unaligned(libc::CMSG_DATA(header).cast()) };
                real_ns = Some(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64);
            }
            (libc::SOL_IP, libc::IP_RECVERR) | (libc::SOL_IPV6, libc::IPV6_RECVERR) => {
                // SAFETY: a message of this type carries one sock_extended_err; likewise.
                let error: libc::sock_extended_err =
                    unsafe { std::ptr::read_unaligned(libc::CMSG_DATA(header).cast()) };
                if error.ee_origin == libc::SO_EE_ORIGIN_TIMESTAMPING {
                    mark = Some((error.ee_data, error.ee_info));
                }
            }
            _ => {}
        }
        // SAFETY: as for CMSG_FIRSTHDR above.
        header = unsafe { libc::CMSG_NXTHDR(message, header) };
    }
    /// Kinds of stamps, of `linux/errqueue.h`.
    const LEFT: u32 = 0;
    const ACKNOWLEDGED: u32 = 2;
    let (id, kind) = mark?;
    let what = match kind {
        LEFT => SentStep::Left,
        ACKNOWLEDGED => SentStep::Acknowledged,
        _ => return None,
    };
    Some(SentStamp { id, what, real_ns: real_ns? })
}

/// What the kernel knows of a connection's way to its peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Way {
    /// The shortest round trip so far, nanoseconds.
    pub round_trip_ns: u64,
    /// Whether the peer had everything already that was sent again: then nothing was lost.
    pub is_lossless: bool,
}

/// What the kernel knows of the way; absent where it does not tell.
pub fn way(socket: impl AsFd) -> Option<Way> {
    /// Where fields stand in `struct tcp_info` of the kernel, in which they never move.
    const TOTAL_RETRANS: usize = 100;
    const MIN_RTT: usize = 148;
    const DSACK_DUPS: usize = 216;
    let mut info = [0_u8; 256];
    let mut length = info.len() as libc::socklen_t;
    // SAFETY: the pointers describe a buffer and its length, which live over the call; the kernel
    // writes at most that many bytes and states how many.
    let status = unsafe {
        libc::getsockopt(
            socket.as_fd().as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            info.as_mut_ptr().cast(),
            &mut length,
        )
    };
    let told = info.get(..length as usize).filter(|_| status == 0)?;
    let field = |place: usize| {
        let bytes = told.get(place..place + 4)?;
        Some(u32::from_ne_bytes(bytes.try_into().ok()?))
    };
    // The kernel says all ones where it has measured none.
    let micros = field(MIN_RTT).filter(|micros| *micros != u32::MAX)?;
    let again = field(TOTAL_RETRANS)?;
    let is_lossless = again == 0 || field(DSACK_DUPS).is_some_and(|had| had >= again);
    Some(Way { round_trip_ns: u64::from(micros) * 1000, is_lossless })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::net::{TcpListener, TcpStream};

    #[test]
    fn the_last_byte_is_stamped_when_it_left_and_when_it_was_acknowledged() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut far, _) = listener.accept().unwrap();
        if stamp_sends(&near).is_err() {
            return; // A host without the option: nothing is told there.
        }
        let before = crate::real_ns();
        let (head, body) = (vec![b'h'; 100], vec![b'b'; 20_000]);
        let sent = send_marked(&near, &[IoSlice::new(&head), IoSlice::new(&body)]).unwrap();
        assert_eq!(sent, 20_100);
        far.read_exact(&mut vec![0; sent]).unwrap();
        let mut seen = Vec::new();
        let deadline = crate::mono_ns() + 5_000_000_000;
        while seen.len() < 2 && crate::mono_ns() < deadline {
            seen.extend(next_stamp(&near).unwrap());
        }
        let after = crate::real_ns();
        let steps: Vec<(u32, SentStep)> = seen.iter().map(|stamp| (stamp.id, stamp.what)).collect();
        let last = sent as u32 - 1;
        assert_eq!(steps, [(last, SentStep::Left), (last, SentStep::Acknowledged)]);
        assert!(before <= seen[0].real_ns && seen[0].real_ns <= seen[1].real_ns);
        assert!(seen[1].real_ns <= after);
        assert!(way(&near).is_some_and(|way| way.round_trip_ns < 5_000_000_000));
        assert_eq!(next_stamp(&near).unwrap(), None);
    }
}
