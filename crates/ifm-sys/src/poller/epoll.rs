//! Linux: epoll.

use super::{Interest, Ready};
use rustix::event::epoll;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};

/// An epoll instance. Sockets leave it by being closed.
#[derive(Debug)]
pub struct Poller {
    epoll: OwnedFd,
    events: Vec<libc::epoll_event>,
}

/// Set once the kernel said that it has no `epoll_pwait2` (before Linux 5.11, or filtered).
static MILLISECONDS_ONLY: AtomicBool = AtomicBool::new(false);

impl Poller {
    /// Opens an epoll instance that reports up to `batch` sockets per wait.
    ///
    /// # Errors
    /// The kernel's, when the process is out of file descriptors.
    pub fn new(batch: usize) -> io::Result<Poller> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        Ok(Poller { epoll, events: vec![libc::epoll_event { events: 0, u64: 0 }; batch.max(1)] })
    }

    /// Starts watching a socket. The token comes back in [`Ready`].
    ///
    /// # Errors
    /// The kernel's: already watched, or out of watches.
    pub fn add(&self, socket: impl AsFd, token: u64, interest: Interest) -> io::Result<()> {
        Ok(epoll::add(&self.epoll, socket, epoll::EventData::new_u64(token), interest.flags())?)
    }

    /// Changes what is waited for.
    ///
    /// # Errors
    /// The kernel's: the socket is not watched.
    pub fn modify(&self, socket: impl AsFd, token: u64, interest: Interest) -> io::Result<()> {
        Ok(epoll::modify(&self.epoll, socket, epoll::EventData::new_u64(token), interest.flags())?)
    }

    /// Stops watching a socket.
    ///
    /// # Errors
    /// The kernel's: the socket is not watched.
    pub fn remove(&self, socket: impl AsFd) -> io::Result<()> {
        Ok(epoll::delete(&self.epoll, socket)?)
    }

    /// Waits until a socket is ready or the timeout has passed; `None` waits for ever. Returns
    /// the number of ready sockets, to be read with [`Poller::ready`]. An interrupting signal
    /// counts as nothing ready.
    ///
    /// # Errors
    /// The kernel's, which for a valid instance means a bug.
    pub fn wait(&mut self, timeout_ns: Option<u64>) -> io::Result<usize> {
        let count = match self.wait_once(timeout_ns) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => 0,
            other => other?,
        };
        Ok(count)
    }

    /// The `index`-th ready socket of the last wait.
    pub fn ready(&self, index: usize) -> Ready {
        let event = self.events[index];
        let flags = event.events;
        let hung = (libc::EPOLLERR | libc::EPOLLHUP) as u32;
        Ready {
            token: event.u64,
            readable: flags & (libc::EPOLLIN as u32 | hung) != 0,
            writable: flags & (libc::EPOLLOUT as u32 | hung) != 0,
            has_error: flags & libc::EPOLLERR as u32 != 0,
        }
    }

    fn wait_once(&mut self, timeout_ns: Option<u64>) -> io::Result<usize> {
        let capacity = self.events.len().min(i32::MAX as usize) as i32;
        if !MILLISECONDS_ONLY.load(Ordering::Relaxed) {
            let timeout = timeout_ns.map(|ns| libc::timespec {
                tv_sec: (ns / 1_000_000_000) as _,
                tv_nsec: (ns % 1_000_000_000) as libc::c_long,
            });
            let pointer = timeout.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
            // SAFETY: `events` holds `capacity` writable entries, `pointer` is null or points to
            // a timespec that lives over the call, and a null mask leaves the signal mask alone.
            let count = unsafe {
                libc::syscall(
                    libc::SYS_epoll_pwait2,
                    self.epoll.as_raw_fd(),
                    self.events.as_mut_ptr(),
                    capacity,
                    pointer,
                    std::ptr::null::<libc::sigset_t>(),
                    size_of::<u64>(),
                )
            };
            if count >= 0 {
                return Ok(count as usize);
            }
            let error = io::Error::last_os_error();
            let refused = matches!(error.raw_os_error(), Some(libc::ENOSYS | libc::EPERM));
            if !refused {
                return Err(error);
            }
            MILLISECONDS_ONLY.store(true, Ordering::Relaxed);
        }
        let timeout_ms = match timeout_ns {
            None => -1,
            Some(ns) => ns.div_ceil(1_000_000).min(i32::MAX as u64) as i32,
        };
        // SAFETY: `events` holds `capacity` writable entries.
        let count = unsafe {
            libc::epoll_wait(self.epoll.as_raw_fd(), self.events.as_mut_ptr(), capacity, timeout_ms)
        };
        if count < 0 { Err(io::Error::last_os_error()) } else { Ok(count as usize) }
    }
}

impl Interest {
    fn flags(self) -> epoll::EventFlags {
        match self {
            Interest::Read => epoll::EventFlags::IN,
            Interest::Write => epoll::EventFlags::OUT,
            Interest::ReadWrite => epoll::EventFlags::IN | epoll::EventFlags::OUT,
        }
    }
}
