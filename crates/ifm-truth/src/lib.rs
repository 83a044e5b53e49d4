//! A test server that knows the right answer: scripted and paced token streams with its own
//! stamps.
//!
//! Three rooms. [`cases`] is the suite: streams whose outcome, times and counts are known, each
//! with its reason. [`scripted`] plays a case to any client that requests it, byte by byte at the due
//! time. [`paced`] streams tokens to thousands of connections at a given pace or as fast as the
//! kernel takes them, for benchmarks. Both servers log the kernel's stamp of each request's
//! arrival and their own stamp of each write, so that what a client says can be compared with what
//! happened. [`drain`] holds the simplest possible clients: the limit that no client can beat.
//! [`claims`] writes results of a server whose law is known, and counts what the program says of them.
//!
//! Nothing here measures a client or judges one; that is up to the user of the client.
#![forbid(unsafe_code)]

pub mod case;
pub mod cases;
pub mod claims;
pub mod command;
pub mod drain;
pub mod listen;
pub mod paced;
pub mod payload;
pub mod request;
pub mod script;
pub mod scripted;
mod slower;
pub mod truth;

pub use case::{Action, Case, Class, Limits, Step};
pub use command::{CommandError, main_from_args};
pub use slower::slower_and_slower;
pub use truth::{Api, Truth};
