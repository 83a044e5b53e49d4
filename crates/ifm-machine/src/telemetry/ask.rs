//! What to record, and of which server.

use ifm_core::manifest::ServerInfo;
use std::net::SocketAddr;

/// What to record.
#[derive(Debug, Clone, PartialEq)]
pub struct TelemetryAsk {
    /// The server's metrics.
    pub metrics: MetricsAsk,
    /// Power.
    pub power: PowerAsk,
    /// Whether to report what is missing.
    pub verbose: bool,
}

/// Where the server's metrics are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MetricsAsk {
    /// Do not read them.
    Off,
    /// At the usual place, if a known format is found there.
    Tried,
    /// At this URL.
    At(String),
}

/// The source of the server's power.
#[derive(Debug, Clone, PartialEq)]
pub enum PowerAsk {
    /// No device.
    Off,
    /// This host's devices, if the server is on loopback.
    IfLoopback,
    /// This host's devices, or these of its GPUs.
    Local(Option<Vec<u32>>),
    /// The GPUs on the page of a DCGM exporter.
    Exporter(String),
    /// This many watts, as given by the user.
    Stated(f64),
}

/// A server under load, as far as its telemetry is concerned.
#[derive(Debug, Clone)]
pub struct MeteredServer<'server> {
    /// Its addresses.
    pub addresses: &'server [SocketAddr],
    /// The URL of its root.
    pub root: String,
    /// What it reported about itself.
    pub info: &'server ServerInfo,
    /// Value of the `Authorization` header, only for the server itself.
    pub authorization: Option<&'server str>,
    /// More headers, likewise.
    pub headers: &'server [(String, String)],
    /// Whether to accept any certificate.
    pub insecure: bool,
}
