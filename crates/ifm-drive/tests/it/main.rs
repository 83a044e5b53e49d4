//! The load generator against real sockets: servers that know what they did.

mod conformance;
mod support;
