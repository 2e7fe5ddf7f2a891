//! The door for Redis clients: `CL.THROTTLE` as redis-cell answers it, and what clients send when they connect.
//!
//! The protocol is RESP2 and RESP3 (<https://redis.io/docs/latest/develop/reference/protocol-spec/>), of which requests
//! use little: arrays of strings, or a line of words. What comes at once is decided at once.

mod command;
pub mod frame;
mod greeting;
mod reply;
mod session;
mod throttle;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::net::TcpStream;
use weir_core::Store;
use weir_runtime::{Node, Shutdown};

use session::Session;

/// The door, as each of its connections needs it.
#[derive(Debug)]
pub struct Resp<S>(Arc<Shared<S>>);

#[derive(Debug)]
struct Shared<S> {
    node: Arc<Node<S>>,
    /// What clients have to say first.
    password: Option<String>,
    shutdown: Shutdown,
    connections: AtomicU64,
}

impl<S> Clone for Resp<S> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<S: Store + 'static> Resp<S> {
    /// A door to this node, locked if there is a password, that takes nothing more once `shutdown` is asked for.
    pub fn new(node: Arc<Node<S>>, password: Option<String>, shutdown: Shutdown) -> Self {
        Self(Arc::new(Shared { node, password, shutdown, connections: AtomicU64::new(1) }))
    }

    /// Serves a connection until its client leaves, breaks the protocol or stops reading, or until the stop.
    pub async fn serve(self, mut stream: TcpStream) {
        let number = self.0.connections.fetch_add(1, Ordering::Relaxed);
        // A connection that breaks is the client's affair.
        let _gone = Session::new(&self.0, number).run(&mut stream).await;
    }
}
