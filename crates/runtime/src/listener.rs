//! An HTTP listener with a limit on everything: connections, headers, time, and the length of a stop.

use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;

use crate::shutdown::Shutdown;

/// Further connections wait in the kernel's queue.
const CONNECTIONS_MAX: usize = 10_000;
/// A client that takes longer to send its headers is cut off.
const HEADER_TIMEOUT: Duration = Duration::from_secs(10);
/// More headers, or longer ones, are answered with 431.
const HEADERS_MAX: usize = 100;
const HEADER_BYTES_MAX: u32 = 32 * 1024;
/// Requests at once on one HTTP/2 connection.
const STREAMS_MAX: u32 = 256;
/// After a failed accept (no free file descriptor, mostly) the next is tried this much later.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// A connection on which nothing moves is asked for a sign of life this often (HTTP/2).
const PING_INTERVAL: Duration = Duration::from_secs(30);

const HTTP2_PREFACE: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// Between two looks at a preface that comes in pieces: rare, so that ten thousand of them cost little.
const PEEK_PAUSE: Duration = Duration::from_millis(100);

/// A bound socket.
#[derive(Debug)]
pub struct Listener {
    socket: TcpListener,
    address: SocketAddr,
    connections_max: usize,
}

impl Listener {
    /// Binds an address; port 0 takes any free port.
    ///
    /// # Errors
    ///
    /// The address is taken, is not this machine's, or may not be listened at.
    pub async fn bind(address: SocketAddr) -> std::io::Result<Self> {
        let socket = TcpListener::bind(address).await?;
        let address = socket.local_addr()?;
        Ok(Self { socket, address, connections_max: CONNECTIONS_MAX })
    }

    /// The address that was bound.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves HTTP/1.1 and HTTP/2 until `shutdown`; then takes no more connections, lets open requests end
    /// for at most `drain`, and cuts off what is left.
    pub async fn serve(self, router: Router, shutdown: Shutdown, drain: Duration) {
        let graceful = GracefulShutdown::new();
        let one = |stream| {
            let connection = Connection { stream, router: router.clone(), watcher: graceful.watcher() };
            let shutdown = shutdown.clone();
            async move { connection.serve(&shutdown).await }
        };
        let connections = self.take(&shutdown, one).await;
        if tokio::time::timeout(drain, graceful.shutdown()).await.is_err() {
            tell_of_those_cut_off(connections.len());
        }
    }

    /// Serves another protocol: each connection by a future of its own, which ends soon after `shutdown` is asked for.
    /// What is left after `drain` is cut off.
    pub async fn serve_each<F>(self, one: impl Fn(TcpStream) -> F, shutdown: Shutdown, drain: Duration)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let mut connections = self.take(&shutdown, one).await;
        let ended = async { while connections.join_next().await.is_some() {} };
        if tokio::time::timeout(drain, ended).await.is_err() {
            tell_of_those_cut_off(connections.len());
        }
    }

    /// Takes connections until `shutdown`, and returns those that are open then.
    async fn take<F>(self, shutdown: &Shutdown, one: impl Fn(TcpStream) -> F) -> JoinSet<()>
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let free = Arc::new(Semaphore::new(self.connections_max));
        let mut connections = JoinSet::new();
        let mut stop = pin!(shutdown.asked());
        let mut is_failing = false;
        loop {
            // A stop is heard also while every connection is taken.
            let (permit, accepted) = tokio::select! {
                () = &mut stop => break,
                next = next_connection(&self.socket, &free) => next,
            };
            while connections.try_join_next().is_some() {}
            match accepted {
                Ok(stream) => {
                    is_failing = false;
                    // Answers are small and awaited: waiting to fill a packet only delays them.
                    let _ = stream.set_nodelay(true);
                    let served = one(stream);
                    connections.spawn(async move {
                        served.await;
                        drop(permit);
                    });
                }
                Err(error) => {
                    // One line when it begins, not one a try.
                    if !std::mem::replace(&mut is_failing, true) {
                        tracing::warn!(%error, "connections cannot be accepted");
                    }
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            }
        }
        connections
    }
}

fn tell_of_those_cut_off(left: usize) {
    tracing::warn!(left, "the drain time is over: open connections are cut off");
}

/// The next connection, once there is room for it.
async fn next_connection(
    socket: &TcpListener,
    free: &Arc<Semaphore>,
) -> (Option<OwnedSemaphorePermit>, std::io::Result<TcpStream>) {
    // The semaphore is never closed, so there is always a permit in the end.
    let permit = free.clone().acquire_owned().await.ok();
    (permit, socket.accept().await.map(|(stream, _)| stream))
}

struct Connection {
    stream: TcpStream,
    router: Router,
    /// Makes a stop wait for the requests of this connection.
    watcher: Watcher,
}

impl Connection {
    async fn serve(self, shutdown: &Shutdown) {
        let Self { stream, router, watcher } = self;
        // hyper's timers start once the version is known, so finding it out has one of its own; and a client
        // that has said nothing yet has nothing for a stop to wait for.
        let version = tokio::select! {
            // What has arrived before the stop is answered.
            biased;
            version = tokio::time::timeout(HEADER_TIMEOUT, version_of(&stream)) => version,
            () = shutdown.asked() => return,
        };
        let Ok(Ok(version)) = version else { return };
        let builder = builder_for(&version);
        let connection = builder.serve_connection(TokioIo::new(stream), TowerToHyperService::new(router));
        // A connection that breaks is the client's affair.
        let _ = watcher.watch(connection.into_owned()).await;
    }
}

fn builder_for(version: &Version) -> Builder<TokioExecutor> {
    let mut builder = match version {
        Version::Http1 => Builder::new(TokioExecutor::new()).http1_only(),
        Version::Http2 => Builder::new(TokioExecutor::new()).http2_only(),
    };
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_TIMEOUT)
        .max_headers(HEADERS_MAX)
        .max_buf_size(HEADER_BYTES_MAX as usize);
    builder
        .http2()
        .timer(TokioTimer::new())
        .keep_alive_interval(PING_INTERVAL)
        .max_concurrent_streams(STREAMS_MAX)
        .max_header_list_size(HEADER_BYTES_MAX);
    builder
}

enum Version {
    Http1,
    Http2,
}

/// Looks at what a client sends first, without taking it: the preface of HTTP/2 (RFC 9113, section 3.4), or
/// anything else.
async fn version_of(stream: &TcpStream) -> std::io::Result<Version> {
    let mut seen = [0; HTTP2_PREFACE.len()];
    loop {
        let count = stream.peek(&mut seen).await?;
        let is_preface_so_far = seen.iter().zip(HTTP2_PREFACE).take(count).all(|(a, b)| a == b);
        match count {
            0 => return Err(std::io::ErrorKind::UnexpectedEof.into()),
            _ if !is_preface_so_far => return Ok(Version::Http1),
            _ if count == HTTP2_PREFACE.len() => return Ok(Version::Http2),
            // Looking again would see the same bytes until more come.
            _ => tokio::time::sleep(PEEK_PAUSE).await,
        }
    }
}

#[cfg(test)]
mod tests {
    use axum::routing::get;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::task::JoinHandle;

    use super::*;

    /// A listener that takes so many connections, and the end of its service.
    async fn serve(connections_max: usize) -> (SocketAddr, Shutdown, JoinHandle<()>) {
        let listener = Listener::bind(([127, 0, 0, 1], 0).into()).await.unwrap();
        let (address, shutdown) = (listener.address(), Shutdown::new());
        let router = Router::new().route("/", get(|| async { "hello" }));
        let service =
            Listener { connections_max, ..listener }.serve(router, shutdown.clone(), Duration::ZERO);
        (address, shutdown, tokio::spawn(service))
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_goes_silent_is_cut_off() {
        let (address, _shutdown, _service) = serve(9).await;
        for said in ["", "P", "PRI * HTTP/2.0\r\n", "GET / HTTP/1.1\r\nhost: weir\r\n"] {
            let mut client = TcpStream::connect(address).await.unwrap();
            client.write_all(said.as_bytes()).await.unwrap();
            let mut heard = Vec::new();
            // To be reset is to be cut off as well.
            let _ = client.read_to_end(&mut heard).await;
            assert!(!heard.starts_with(b"HTTP/1.1 200"), "{said:?}");
        }
    }

    #[tokio::test]
    async fn a_stop_is_heard_while_every_connection_is_taken() {
        let (address, shutdown, service) = serve(1).await;
        let mut only = TcpStream::connect(address).await.unwrap();
        only.write_all(b"GET / HTTP/1.1\r\nhost: weir\r\n\r\n").await.unwrap();
        assert!(only.read(&mut [0; 16]).await.unwrap() > 0, "it is served, and stays open");
        let _waiting = TcpStream::connect(address).await.unwrap();
        shutdown.ask();
        service.await.unwrap();
    }

    #[tokio::test]
    async fn a_stop_does_not_wait_for_clients_that_said_nothing() {
        let listener = Listener::bind(([127, 0, 0, 1], 0).into()).await.unwrap();
        let (address, shutdown) = (listener.address(), Shutdown::new());
        let service = tokio::spawn(listener.serve(Router::new(), shutdown.clone(), Duration::from_hours(1)));
        let mut silent = TcpStream::connect(address).await.unwrap();
        shutdown.ask();
        assert_eq!(silent.read(&mut [0; 1]).await.unwrap_or(0), 0);
        service.await.unwrap();
    }
}
