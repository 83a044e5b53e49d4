//! The load generator against real sockets: servers that know what they did.

// Test helpers may panic like the tests themselves.
#![allow(clippy::unwrap_used)]

mod conformance;
mod connections;
mod conversations;
mod enough;
mod hostile;
mod limits;
mod lines;
mod live_events;
mod open_loop;
mod stamps;
mod support;
mod uploads;
