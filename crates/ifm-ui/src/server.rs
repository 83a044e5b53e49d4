//! The listening socket, the thread behind it, and the end of both.
//!
//! Not here: who may ask (`guard`), paths and answers (`router`), bounds on connections and bodies (`ifm-listen`).

use crate::app::App;
use crate::guard::Guard;
use crate::router::router;
use axum::response::IntoResponse as _;
use ifm_core::contained::TaskBoundary;
use ifm_listen::{Limits, Service, Shutdown};
use ifm_store::Store;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpStream;

/// How long the end waits for answers that are under way.
const GRACE: Duration = Duration::from_secs(2);
/// Threads that read runs beside the one that serves: one may load a long run while another
/// answers the live view.
const READERS_MAX: usize = 4;

/// Maximum size of all bodies together, bytes: two imports of the largest size, and forms.
const BODIES_BYTES_MAX: u64 = 160 << 20;
/// Maximum number of open connections. A browser opens six.
const CONNECTIONS_MAX: usize = 128;

/// What the page shows, and where it listens.
#[derive(Debug, Clone)]
pub struct UiOptions {
    /// The runs.
    pub store: Store,
    /// Address to listen on; only a loopback address is accepted.
    pub host: IpAddr,
    /// Port to listen on; 0 takes a free one.
    pub port: u16,
    /// Version of the program, as imports note it.
    pub version: String,
    /// Bounds on connections, and on the time and the bytes of requests.
    pub limits: Limits,
}

impl UiOptions {
    /// The page of a store on a free port of 127.0.0.1.
    pub fn new(store: Store, version: impl Into<String>) -> UiOptions {
        let host = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let limits = Limits {
            bodies_bytes: BODIES_BYTES_MAX,
            connections: CONNECTIONS_MAX,
            ..Limits::default()
        };
        UiOptions { store, host, port: 0, version: version.into(), limits }
    }
}

/// Why the page is not served.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum UiError {
    /// The address can be reached from other machines.
    #[error("{host} can be reached from other machines, and the page is for this one alone")]
    NotLoopback {
        /// The address.
        host: IpAddr,
    },
    /// The address cannot be listened on: in use, or not of this machine.
    #[error("cannot listen on {address}: {source}; --port 0 takes a free port")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// What the system says.
        source: std::io::Error,
    },
    /// The system gives no random bytes, so that no session can be made.
    #[error("the system gives no random bytes for a session: {0}")]
    Random(getrandom::Error),
    /// The system refused a thread or a selector.
    #[error("cannot start the page: {0}")]
    Start(std::io::Error),
}

/// A page that listens and is not served yet.
#[derive(Debug)]
pub struct Ui {
    listener: TcpListener,
    address: SocketAddr,
    guard: Guard,
    options: UiOptions,
}

impl Ui {
    /// Takes the port and makes the secrets of the session.
    ///
    /// # Errors
    /// [`UiError`]; an address that other machines reach is refused.
    pub fn bind(options: UiOptions) -> Result<Ui, UiError> {
        if !options.host.is_loopback() {
            return Err(UiError::NotLoopback { host: options.host });
        }
        let asked = SocketAddr::new(options.host, options.port);
        let refused = |source| UiError::Listen { address: asked, source };
        let listener = TcpListener::bind(asked).map_err(refused)?;
        let address = listener.local_addr().map_err(refused)?;
        listener.set_nonblocking(true).map_err(refused)?;
        let guard = Guard::new(address).map_err(UiError::Random)?;
        Ok(Ui { listener, address, guard, options })
    }

    /// Where the page listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The address that opens the page, with the token that begins a session.
    pub fn url(&self) -> String {
        self.guard.url()
    }

    /// Serves until `stop` is requested; the calling thread does the work.
    ///
    /// # Errors
    /// [`UiError::Start`].
    pub fn serve(self, stop: &Shutdown) -> Result<(), UiError> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .max_blocking_threads(READERS_MAX)
            .build()
            .map_err(UiError::Start)?;
        let _boundary = TaskBoundary::new();
        let served = runtime.block_on(self.run(stop));
        // Connections that outlast the grace are cut here.
        runtime.shutdown_background();
        served
    }

    async fn run(self, stop: &Shutdown) -> Result<(), UiError> {
        let listener = tokio::net::TcpListener::from_std(self.listener).map_err(UiError::Start)?;
        let app = Arc::new(App::new(self.options.store, self.options.version, self.guard));
        let service = Service {
            router: router(app),
            extension: |_: &TcpStream| (),
            refuse: |status, refusal| (status, refusal.sentence()).into_response(),
            limits: self.options.limits,
            grace: GRACE,
        };
        ifm_listen::serve(listener, service, stop).await;
        Ok(())
    }
}
