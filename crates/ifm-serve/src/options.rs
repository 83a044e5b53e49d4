//! How a server listens and what it answers.
//!
//! Not here: the server (`server`).

use std::{net::SocketAddr, time::Duration};

use ifm_listen::Limits;

use crate::{backend::Backend, browser::BrowserAccess, fault::Faults, media::MediaOptions};

/// How a server listens and what it answers.
#[derive(Debug, Clone)]
pub struct ServeOptions {
    /// Where to listen; port 0 takes a free one.
    pub listen: SocketAddr,
    /// What answers.
    pub backend: Backend,
    /// The name of the model in requests and answers.
    pub model_name: String,
    /// The key that requests must bring, if any. `/health`, `/version` and `/metrics` are
    /// open to all.
    pub api_key: Option<String>,
    /// Which pages in a browser may use the server.
    pub browsers: BrowserAccess,
    /// Version of the program, as `/version` tells it.
    pub version: String,
    /// Largest body of a request, bytes.
    pub body_bytes_max: usize,
    /// Bounds on connections, and on the time and the bytes of requests.
    pub limits: Limits,
    /// How long a shutdown waits for answers that are under way.
    pub grace: Duration,
    /// Faults on demand.
    pub faults: Faults,
    /// Answers tell their times, as those of vLLM do with `--enable-per-request-metrics`.
    pub per_request_metrics: bool,
    /// What images, recordings and videos cost.
    pub media: MediaOptions,
    /// How long the first request of each form waits for its grammar.
    pub form_compile: Duration,
}

impl ServeOptions {
    /// Options for a backend: its own name, no key, bodies up to 32 MiB, 5 s of grace, no
    /// faults, no times in answers.
    pub fn new(listen: SocketAddr, backend: impl Into<Backend>) -> Self {
        let backend = backend.into();
        Self {
            listen,
            model_name: backend.facts().name.clone(),
            backend,
            api_key: None,
            browsers: BrowserAccess::default(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            body_bytes_max: 32 << 20,
            limits: Limits::default(),
            grace: Duration::from_secs(5),
            faults: Faults::default(),
            per_request_metrics: false,
            media: MediaOptions::default(),
            form_compile: Duration::ZERO,
        }
    }
}
