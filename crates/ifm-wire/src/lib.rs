//! Bytes to meaning without a socket: HTTP/1.1, server-sent events, API dialects.
