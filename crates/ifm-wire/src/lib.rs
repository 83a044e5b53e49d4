//! Bytes to meaning, without a socket: HTTP/1.1 framing, server-sent events or lines, API dialects.
//!
//! Every parser here takes bytes as they come and gives the same answer for every way of
//! splitting them. What it never sees: sockets, clocks, threads. Stamps enter as arguments.
#![forbid(unsafe_code)]

mod ask;
mod bytes;
pub mod dialect;
pub mod exchange;
mod header;
pub mod http1;
pub mod lines;
pub mod request;
mod sound;
pub mod sse;

pub use bytes::RequestBytes;
pub use exchange::{Answer, EndCause, ExchangeDecoder, Expect};
pub use http1::{Head, HttpError, ResponseReader, Step};
pub use request::RequestTemplate;
