//! The listening socket, the thread behind it, and the end of both.
//!
//! One thread serves all connections: an event costs a few microseconds, and the cores
//! are better used by the engine and by the client that measures it.
//!
//! Not here: paths and answers (`router`), bounds on connections and bodies (`ifm-listen`).

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex, PoisonError, mpsc},
    thread::JoinHandle,
};

use axum::{extract::ConnectInfo, response::IntoResponse as _};
use ifm_core::contained::TaskBoundary;
use ifm_listen::{Service, Shutdown};
use tokio::net::TcpListener;

use crate::{
    app::App,
    error::ApiError,
    options::ServeOptions,
    router::router,
    socket::{Socket, Sockets},
};

/// Why a server does not run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The address cannot be listened on: in use, or not of this machine.
    #[error("cannot listen on {address}: {source}; hint: --port 0 takes a free port")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// What the system says.
        source: std::io::Error,
    },
    /// The system refused a thread or a selector.
    #[error("cannot start the server: {0}")]
    Start(std::io::Error),
    /// Only simulated steps can be slowed down.
    #[error("the fault throttle needs a simulated server; hint: leave it out")]
    Throttle,
    /// The server's thread died.
    #[error("the server's thread died")]
    Died,
}

/// Serves until `shutdown` is requested; the calling thread does the work.
///
/// `on_ready` is told the address as soon as connections are accepted.
///
/// # Errors
/// [`ServeError::Listen`] and [`ServeError::Start`].
pub fn serve(
    options: ServeOptions,
    shutdown: &Shutdown,
    on_ready: impl FnOnce(SocketAddr),
) -> Result<(), ServeError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .enable_time()
        // A token of the backend goes before what has yet to be read: of thousands of requests that come at
        // once the reading takes longer than a step.
        .global_queue_interval(1)
        // Only long prompts are worked on beside the server's thread.
        .max_blocking_threads(1)
        .build()
        .map_err(ServeError::Start)?;
    // A panic while one request is answered closes its connection and leaves the others alone.
    let _boundary = TaskBoundary::new();
    let served = runtime.block_on(run(options, shutdown, on_ready));
    // Connections that outlast the grace are cut here.
    runtime.shutdown_background();
    served
}

async fn run(
    options: ServeOptions,
    shutdown: &Shutdown,
    on_ready: impl FnOnce(SocketAddr),
) -> Result<(), ServeError> {
    let ServeOptions { listen, body_bytes_max, grace, limits, .. } = options;
    if let Some((after, factor)) = options.faults.throttle()
        && !options.backend.throttle(after, factor)
    {
        return Err(ServeError::Throttle);
    }
    let listen_error = |source| ServeError::Listen { address: listen, source };
    let listener = TcpListener::bind(listen).await.map_err(listen_error)?;
    let address = listener.local_addr().map_err(listen_error)?;
    let service = Service {
        router: router(Arc::new(App::new(options)), body_bytes_max),
        extension: |socket: &Socket| ConnectInfo(socket.connection().clone()),
        refuse: |status, refusal| {
            ApiError::body(status, refusal.sentence().to_owned()).into_response()
        },
        limits,
        grace,
    };
    on_ready(address);
    ifm_listen::serve(Sockets::new(listener), service, shutdown).await;
    Ok(())
}

/// A server on a thread of its own. Dropping it shuts it down.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    shutdown: Shutdown,
    thread: Mutex<Option<JoinHandle<Result<(), ServeError>>>>,
}

impl Server {
    /// Starts a server; returns when it accepts connections.
    ///
    /// # Errors
    /// [`ServeError`].
    pub fn start(options: ServeOptions) -> Result<Self, ServeError> {
        let shutdown = Shutdown::new();
        let (ready, is_ready) = mpsc::channel();
        let thread = {
            let shutdown = shutdown.clone();
            std::thread::Builder::new()
                .name("ifm-serve".to_owned())
                .spawn(move || {
                    serve(options, &shutdown, |address| {
                        // The starter waits for nothing else.
                        let _ = ready.send(address);
                    })
                })
                .map_err(ServeError::Start)?
        };
        match is_ready.recv() {
            Ok(address) => Ok(Self { address, shutdown, thread: Mutex::new(Some(thread)) }),
            // The thread ended without being ready, so it has the reason.
            Err(_) => match thread.join() {
                Ok(Err(error)) => Err(error),
                Ok(Ok(())) | Err(_) => Err(ServeError::Died),
            },
        }
    }

    /// Where the server listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// A handle that ends the server.
    pub fn shutdown_handle(&self) -> Shutdown {
        self.shutdown.clone()
    }

    /// Shuts down and waits for the end.
    ///
    /// # Errors
    /// What ended the server, if not this call.
    pub fn stop(&self) -> Result<(), ServeError> {
        self.shutdown.request();
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        match thread.map(JoinHandle::join) {
            None => Ok(()),
            Some(Ok(result)) => result,
            Some(Err(_)) => Err(ServeError::Died),
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Nobody is left to be told.
        let _ = self.stop();
    }
}
