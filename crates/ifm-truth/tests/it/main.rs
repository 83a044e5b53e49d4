//! The test server against plain sockets, and the suite against a second reading of it.

mod oracle;
mod suite;
