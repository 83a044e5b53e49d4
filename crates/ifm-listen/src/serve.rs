//! Connections: accepted, answered one request after the other, and ended.

use std::{
    convert::Infallible,
    future::poll_fn,
    pin::{Pin, pin},
    sync::Arc,
    time::Duration,
};

use axum::{
    Router,
    extract::Request,
    http::{HeaderValue, StatusCode, header},
    response::Response,
    serve::Listener,
};
use hyper::{
    body::Incoming,
    server::conn::http1,
    service::{Service as _, service_fn},
};
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    service::TowerToHyperService,
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    task::JoinSet,
};

use crate::{
    activity::{Activity, Answer, Connections},
    at_once::AtOnce,
    body::{Ledger, Metered, Share},
    limits::{Limits, Refusal},
    patient::Patient,
    shutdown::Shutdown,
};

/// Answer to a connection that is one too many while all others are busy.
const TOO_MANY: &[u8] =
    b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";

/// What is served on a listener.
pub struct Service<Io, E> {
    /// Paths and their answers.
    pub router: Router,
    /// What each request of a connection can extract as `Extension<E>`.
    pub extension: fn(&Io) -> E,
    /// The answer to a request that exceeds a limit. Its status is set here.
    pub refuse: fn(StatusCode, Refusal) -> Response,
    /// Bounds on what clients may do.
    pub limits: Limits,
    /// How long a shutdown waits for answers in progress.
    pub grace: Duration,
}

/// Serves until `shutdown` is requested, and then until the last answer or the end of the grace period. Drop the
/// runtime afterwards to cut connections that are still open.
pub async fn serve<L, E>(listener: L, service: Service<L::Io, E>, shutdown: &Shutdown)
where
    L: Listener,
    E: Clone + Send + Sync + 'static,
{
    let out_of_patience = async {
        shutdown.wait().await;
        tokio::time::sleep(service.grace).await;
    };
    tokio::select! {
        () = accept(listener, &service, shutdown) => {}
        () = out_of_patience => {}
    }
}

async fn accept<L, E>(mut listener: L, service: &Service<L::Io, E>, shutdown: &Shutdown)
where
    L: Listener,
    E: Clone + Send + Sync + 'static,
{
    let ledger = Arc::new(Ledger::default());
    let (mut tasks, mut connections) = (JoinSet::new(), Connections::default());
    loop {
        tokio::select! {
            (mut io, _) = listener.accept() => {
                if connections.len() >= service.limits.connections && !connections.end_longest_waiting() {
                    refuse(&mut io).await;
                    continue;
                }
                let activity = connections.activity();
                let extension = (service.extension)(&io);
                let connection = Connection {
                    router: TowerToHyperService::new(service.router.clone()),
                    extension,
                    refuse: service.refuse,
                    limits: service.limits,
                    ledger: Arc::clone(&ledger),
                    activity: activity.clone(),
                };
                let task = tasks.spawn(connection.answer(io, shutdown.clone()));
                connections.add(task, activity);
            }
            Some(ended) = tasks.join_next_with_id() => {
                connections.remove(ended.map_or_else(|error| error.id(), |(id, ())| id));
            }
            () = shutdown.wait() => break,
        }
    }
    drop(listener);
    while tasks.join_next().await.is_some() {}
}

/// Sends a short answer. It fits into the buffer of a new socket, so this does not wait for the client.
async fn refuse(io: &mut (impl AsyncWrite + Unpin)) {
    // A client that is gone needs no answer.
    let _ = poll_fn(|context| Pin::new(&mut *io).poll_write(context, TOO_MANY)).await;
}

struct Connection<E> {
    router: TowerToHyperService<Router>,
    extension: E,
    refuse: fn(StatusCode, Refusal) -> Response,
    limits: Limits,
    ledger: Arc<Ledger>,
    activity: Activity,
}

impl<E: Clone + Send + Sync + 'static> Connection<E> {
    /// Answers requests one after the other, until one side ends the connection.
    fn answer<Io>(self, io: Io, shutdown: Shutdown) -> impl Future<Output = ()> + Send + 'static
    where
        Io: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        AtOnce::new(async move {
            let (head, io) = (self.limits.head, Patient::new(io, self.limits.write));
            let service = service_fn(move |request| self.call(request));
            let serving = http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(head)
                .serve_connection(TokioIo::new(io), service);
            let mut serving = pin!(serving);
            let ended = tokio::select! {
                ended = serving.as_mut() => ended,
                () = shutdown.wait() => {
                    serving.as_mut().graceful_shutdown();
                    serving.await
                }
            };
            // The client went away, was too slow, or sent something that is not HTTP and got an answer to it.
            let _ = ended;
        })
    }

    fn call(
        &self,
        mut request: Request<Incoming>,
    ) -> impl Future<Output = Result<Response<Answer<axum::body::Body>>, Infallible>> + Send + use<E>
    {
        let busy = self.activity.begin();
        let share = Share::new(&self.ledger);
        request.extensions_mut().insert(self.extension.clone());
        let request = request.map(|body| Metered::new(body, Arc::clone(&share), self.limits));
        let (answering, refuse) = (self.router.call(request), self.refuse);
        async move {
            let mut response = answering.await?;
            if let Some(refusal) = share.refusal() {
                let status = match refusal {
                    Refusal::Slow => StatusCode::REQUEST_TIMEOUT,
                    Refusal::Full => StatusCode::SERVICE_UNAVAILABLE,
                };
                response = refuse(status, refusal);
                // The rest of the body is not read.
                response
                    .headers_mut()
                    .insert(header::CONNECTION, HeaderValue::from_static("close"));
            }
            Ok(response.map(|inner| Answer { inner, _busy: busy }))
        }
    }
}
