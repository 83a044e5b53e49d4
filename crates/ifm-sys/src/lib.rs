//! Safe wrappers over the host: epoll with nanosecond timeouts, receive with kernel stamps,
//! clocks, thread placement, limits, and facts about the machine.
//!
//! This is the one crate on the measuring side that holds `unsafe`; every block says why it is
//! sound. Nothing here knows HTTP, a request or a metric. Linux only, for now: kernel receive
//! stamps are the reason this crate exists.

#[cfg(not(target_os = "linux"))]
compile_error!("inferometer measures with Linux epoll and kernel receive stamps; run it on Linux");

pub mod account;
pub mod clock;
pub mod family;
pub mod host;
pub mod page_cache;
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
