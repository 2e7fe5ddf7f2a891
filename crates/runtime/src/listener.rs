//! An HTTP listener with a limit on everything: connections, headers, time, and the length of a stop.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
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

/// A bound socket.
#[derive(Debug)]
pub struct Listener {
    socket: TcpListener,
    address: SocketAddr,
}

impl Listener {
    /// Binds an address; port 0 takes any free port.
    pub async fn bind(address: SocketAddr) -> std::io::Result<Self> {
        let socket = TcpListener::bind(address).await?;
        let address = socket.local_addr()?;
        Ok(Self { socket, address })
    }

    /// The address that was bound.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves HTTP/1.1 and HTTP/2 until `shutdown`; then takes no more connections, lets open requests end
    /// for at most `drain`, and cuts off what is left.
    pub async fn serve(self, router: Router, shutdown: Shutdown, drain: Duration) {
        let free = Arc::new(Semaphore::new(CONNECTIONS_MAX));
        let graceful = GracefulShutdown::new();
        let mut connections = JoinSet::new();
        let mut stop = std::pin::pin!(shutdown.asked());
        loop {
            // Never closed, so a permit always comes.
            let Ok(permit) = free.clone().acquire_owned().await else { break };
            let accepted = tokio::select! {
                () = &mut stop => break,
                accepted = self.socket.accept() => accepted,
            };
            while connections.try_join_next().is_some() {}
            match accepted {
                Ok((stream, _)) => {
                    let connection = graceful.watch(connection(stream, router.clone()).into_owned());
                    connections.spawn(async move {
                        // A connection that breaks is the client's affair.
                        let _ = connection.await;
                        drop(permit);
                    });
                }
                Err(error) => {
                    tracing::warn!(%error, "a connection could not be accepted");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            }
        }
        drop(self.socket);
        if tokio::time::timeout(drain, graceful.shutdown()).await.is_err() {
            tracing::warn!(left = connections.len(), "the drain time is over: open connections are cut off");
        }
    }
}

type Http = hyper_util::server::conn::auto::Connection<
    'static,
    TokioIo<TcpStream>,
    TowerToHyperService<Router>,
    TokioExecutor,
>;

fn connection(stream: TcpStream, router: Router) -> Http {
    // Answers are small and awaited: waiting to fill a packet only delays them.
    let _ = stream.set_nodelay(true);
    let mut builder = Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_TIMEOUT)
        .max_headers(HEADERS_MAX)
        .max_buf_size(HEADER_BYTES_MAX as usize);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(STREAMS_MAX)
        .max_header_list_size(HEADER_BYTES_MAX);
    builder.serve_connection(TokioIo::new(stream), TowerToHyperService::new(router)).into_owned()
}
