//! The BSDs, macOS among them: kqueue.

use super::{Interest, Ready};
use rustix::event::kqueue::{self, Event, EventFilter, EventFlags};
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::time::Duration;

/// A kernel queue. Sockets leave it by being closed.
#[derive(Debug)]
pub struct Poller {
    queue: OwnedFd,
    batch: usize,
    ready: Vec<Ready>,
}

impl Poller {
    /// Opens a queue that reports up to `batch` sockets per wait.
    ///
    /// # Errors
    /// The kernel's, when the process is out of file descriptors.
    pub fn new(batch: usize) -> io::Result<Poller> {
        Ok(Poller { queue: kqueue::kqueue()?, batch: batch.max(1), ready: Vec::new() })
    }

    /// Starts watching a socket. The token comes back in [`Ready`].
    ///
    /// # Errors
    /// The kernel's: out of watches.
    pub fn add(&self, socket: impl AsFd, token: u64, interest: Interest) -> io::Result<()> {
        let (read, write) = match interest {
            Interest::Read => (EventFlags::ENABLE, EventFlags::DISABLE),
            Interest::Write => (EventFlags::DISABLE, EventFlags::ENABLE),
            Interest::ReadWrite => (EventFlags::ENABLE, EventFlags::ENABLE),
        };
        self.change(socket, token, [EventFlags::ADD | read, EventFlags::ADD | write])
    }

    /// Changes what is waited for.
    ///
    /// # Errors
    /// As [`Poller::add`].
    pub fn modify(&self, socket: impl AsFd, token: u64, interest: Interest) -> io::Result<()> {
        self.add(socket, token, interest)
    }

    /// Stops watching a socket.
    ///
    /// # Errors
    /// The kernel's: the socket is not watched.
    pub fn remove(&self, socket: impl AsFd) -> io::Result<()> {
        self.change(socket, 0, [EventFlags::DELETE; 2])
    }

    fn change(
        &self,
        socket: impl AsFd,
        token: u64,
        [read, write]: [EventFlags; 2],
    ) -> io::Result<()> {
        let fd = socket.as_fd().as_raw_fd();
        // A token is our number, which the kernel returns unchanged.
        let token = token as usize as *mut _;
        let changes = [
            Event::new(EventFilter::Read(fd), read, token),
            Event::new(EventFilter::Write(fd), write, token),
        ];
        let mut none: [Event; 0] = [];
        // SAFETY: the descriptor is open over the call, and the kernel does not look at the token.
        unsafe { kqueue::kevent(&self.queue, &changes, &mut none[..], Some(Duration::ZERO))? };
        Ok(())
    }

    /// Waits until a socket is ready or the timeout has passed; `None` waits for ever. Returns
    /// the number of ready sockets, to be read with [`Poller::ready`]. An interrupting signal
    /// counts as nothing ready.
    ///
    /// # Errors
    /// The kernel's, which for a valid queue means a bug.
    pub fn wait(&mut self, timeout_ns: Option<u64>) -> io::Result<usize> {
        self.ready.clear();
        let mut events: Vec<Event> = Vec::with_capacity(self.batch);
        let timeout = timeout_ns.map(Duration::from_nanos);
        let spare = rustix::buffer::spare_capacity(&mut events);
        // SAFETY: no change is made.
        match unsafe { kqueue::kevent(&self.queue, &[], spare, timeout) } {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        for found in events.iter().map(ready) {
            // What can be read and written is two events, and one socket.
            match self.ready.iter_mut().find(|known| known.token == found.token) {
                Some(known) => {
                    known.readable |= found.readable;
                    known.writable |= found.writable;
                    known.has_error |= found.has_error;
                }
                None => self.ready.push(found),
            }
        }
        Ok(self.ready.len())
    }

    /// The `index`-th ready socket of the last wait.
    pub fn ready(&self, index: usize) -> Ready {
        self.ready[index]
    }
}

fn ready(event: &Event) -> Ready {
    let ended = event.flags().contains(EventFlags::EOF);
    let writes = matches!(event.filter(), EventFilter::Write(_));
    Ready {
        token: event.udata() as usize as u64,
        readable: !writes || ended,
        writable: writes,
        has_error: event.flags().contains(EventFlags::ERROR),
    }
}
