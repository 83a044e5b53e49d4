//! What clients may make a server hold and wait for.

use std::time::Duration;

/// What clients may make a server hold and wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Longest wait for the whole head of a request. An open connection without a request ends after the same time.
    pub head: Duration,
    /// Longest time for a body, in addition to the time that its bytes take at [`Limits::body_bytes_s`].
    pub body: Duration,
    /// Lowest rate of a body, bytes per second.
    pub body_bytes_s: u64,
    /// Longest time in which a client reads nothing of its answer.
    pub write: Duration,
    /// Maximum size of all bodies of unanswered requests together, bytes.
    pub bodies_bytes: u64,
    /// Maximum number of open connections. One more ends the connection that has waited longest for a request.
    pub connections: usize,
}

impl Default for Limits {
    /// As usual for web servers: 60 s for a head, 30 s and 16 KiB/s for a body, 5 minutes for a
    /// client that reads nothing, 1 GiB of bodies, 16,384 connections.
    fn default() -> Limits {
        Limits {
            head: Duration::from_secs(60),
            body: Duration::from_secs(30),
            body_bytes_s: 16 << 10,
            write: Duration::from_secs(300),
            bodies_bytes: 1 << 30,
            connections: 16_384,
        }
    }
}

impl Limits {
    /// Maximum time from the beginning of a body whose first `received` bytes have arrived.
    pub(crate) fn body_time(&self, received: u64) -> Duration {
        let earned = received.saturating_mul(1000) / self.body_bytes_s.max(1);
        self.body.saturating_add(Duration::from_millis(earned))
    }
}

/// Why a request with a body is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// The body takes longer than its limit: status 408.
    Slow,
    /// The bodies of all requests exceed their limit: status 503.
    Full,
}

impl Refusal {
    /// A sentence for the client.
    pub fn sentence(self) -> &'static str {
        match self {
            Refusal::Slow => "The body of the request arrived too slowly.",
            Refusal::Full => "The server holds too many request bodies; retry later.",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_earns_time_by_its_bytes() {
        let limits =
            Limits { body: Duration::from_secs(10), body_bytes_s: 1000, ..Limits::default() };
        assert_eq!(limits.body_time(0), Duration::from_secs(10));
        assert_eq!(limits.body_time(2500), Duration::from_millis(12_500));
        let still = Limits { body_bytes_s: 0, ..limits };
        assert!(still.body_time(u64::MAX) > Duration::from_secs(10));
    }
}
