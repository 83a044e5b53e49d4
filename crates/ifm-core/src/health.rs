//! What the client knows about its own error: the evidence, and the verdict.

use serde::{Deserialize, Serialize};

/// Whether the client's own part in the numbers is small enough to ignore.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum HealthVerdict {
    /// The client kept up.
    #[default]
    Good,
    /// The client may have been the bottleneck: see the reasons.
    Suspect,
}

/// Quantiles of a population of nanosecond values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SpanQuantiles {
    /// Number of values.
    pub n: u64,
    /// Median, nanoseconds.
    pub p50_ns: u64,
    /// 99th percentile, nanoseconds.
    pub p99_ns: u64,
    /// Largest, nanoseconds.
    pub max_ns: u64,
}

/// How late stamps are that the kernel does not take: both parts add up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StampError {
    /// How long the bytes of a read can have waited, at most, behind others that were read first, per read.
    pub reading: SpanQuantiles,
    /// From the leaving of a byte of our own over loopback, at any time while the load ran, to our read of
    /// it: what it takes to be woken, counted once for every socket that was ready with it. Absent without loopback.
    pub waking: Option<SpanQuantiles>,
}

impl StampError {
    /// How late a stamp is at P99, nanoseconds: the parts at theirs, added; absent where one is not known.
    pub fn p99_ns(&self) -> Option<u64> {
        Some(self.reading.p99_ns + self.waking?.p99_ns)
    }
}

/// Evidence about the client, over one run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ClientHealth {
    /// The verdict over all that follows.
    pub verdict: HealthVerdict,
    /// One sentence for each reason to be suspect; empty when good.
    pub reasons: Vec<String>,
    /// Delay from the kernel's receive stamp to our read, per read. Absent without kernel stamps.
    pub reader_lag: Option<SpanQuantiles>,
    /// How late stamps were that were taken when bytes were read. Only where the kernel does not stamp.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stamp_error: Option<StampError>,
    /// Delay from the moment a request was due to its first byte leaving, per request.
    pub send_lateness: Option<SpanQuantiles>,
    /// Reads in all.
    pub reads: u64,
    /// Reads with a kernel receive stamp.
    pub stamped_reads: u64,
    /// Token-bearing events in all.
    pub events: u64,
    /// Token-bearing events that shared their read, and so their stamp, with another.
    pub co_arrived_events: u64,
    /// CPU time of the reading threads, nanoseconds.
    pub reader_cpu_ns: u64,
    /// CPU time of the decoding thread, nanoseconds.
    pub decoder_cpu_ns: u64,
    /// CPU time of the whole client process during the load, nanoseconds.
    pub process_cpu_ns: u64,
    /// Wall time of the load, nanoseconds.
    pub wall_ns: u64,
    /// Share of the wall time for which the busiest reading thread was on a CPU, 0 to 1.
    pub reader_busy_share: f64,
    /// Times a reading thread was put off its CPU against its will.
    pub involuntary_switches: u64,
    /// Whether the reading threads ran before all others, on processors kept awake; false where
    /// that was requested and the system refused it, absent where it was not requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub readers_first: Option<bool>,
    /// Share of the host's CPU time stolen by the hypervisor, 0 to 1; absent if not reported.
    pub steal_share: Option<f64>,
    /// Times a request was due and its bytes were not ready.
    pub starved_sends: u64,
    /// Buffers that had to be made or grown after the load had started.
    pub late_allocations: u64,
    /// Times a reading thread had to wait because the decoder lagged far behind.
    #[serde(default)]
    pub decoder_stalls: u64,
    /// Steps of the wall clock against the monotonic one above 50 microseconds.
    pub clock_steps: u64,
    /// Keep-alive connections found dead and opened again.
    pub reconnects: u64,
    /// Connections opened, those before the start of a level among them. Absent where a run did not
    /// count them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connections: Option<u64>,
}
