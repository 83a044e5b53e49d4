//! Linux: `SO_TIMESTAMPING` and the socket's error queue.

use std::io::{self, IoSlice};
use std::os::fd::{AsFd, AsRawFd};

use super::{SentStamp, SentStep, Way};

/// Takes the bytes since the option was set as the stamps' ids from what was written, rather than from
/// what was acknowledged. Linux 6.2; the name is not in every libc.
const OPT_ID_TCP: libc::c_uint = 1 << 16;
/// Room for the control messages of one stamp: three times, and the error that carries it.
const CONTROL_BYTES: usize = 256;

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

/// Room for control messages, aligned as the kernel requires.
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
/// The socket's; an empty queue is not an error.
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

/// What the kernel knows of the way; absent where it does not report it.
pub fn way(socket: impl AsFd) -> Option<Way> {
    /// Offsets of fields in `struct tcp_info` of the kernel, in which they never move.
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
