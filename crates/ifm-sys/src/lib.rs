//! Safe wrappers over the host: epoll with nanosecond timeouts, receive with kernel stamps,
//! clocks, thread placement, limits, and facts about the machine.
//!
//! This is the one crate on the measuring side that holds `unsafe`; every block says why it is
//! sound. Nothing here knows HTTP, a request or a metric.
//!
//! It is also the one place that asks which operating system this is. Kernel receive stamps are the
//! reason this crate exists, and Linux has them; on macOS and the BSDs bytes are stamped when they are
//! read, and what the system does not report is absent or `Unsupported`.

/// What only Linux's side of a library has: `Some` of the expression there, elsewhere nothing, without
/// compiling it.
#[cfg(target_os = "linux")]
#[macro_export]
macro_rules! only_on_linux {
    ($value:expr) => {
        Some($value)
    };
}

/// What only Linux's side of a library has: `Some` of the expression there, elsewhere nothing, without
/// compiling it.
#[cfg(not(target_os = "linux"))]
#[macro_export]
macro_rules! only_on_linux {
    ($value:expr) => {
        None
    };
}

pub mod account;
pub mod clock;
pub mod family;
pub mod host;
pub mod page_cache;
pub mod pages;
pub mod poller;
pub mod probe;
pub mod process;
pub mod recv;
pub mod sent;
pub mod socket;
pub mod thread;

pub use clock::{ClockPair, mono_ns, process_cpu_ns, real_ns, thread_cpu_ns};
pub use poller::{Interest, Poller, Ready};
pub use recv::{Received, enable_stamps, recv_stamped, recv_stamped_into};
pub use sent::{SentStamp, SentStep};
