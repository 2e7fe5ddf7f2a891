//! A primary with two replicas, watched by three Sentinels.

use crate::server::{Kind, Server, free_port, words};
use crate::wait_until;

/// The name by which the Sentinels know the primary.
const NAME: &str = "main";

/// Servers and Sentinels that run as long as this lives.
#[derive(Debug)]
pub struct Sentinels {
    /// The server that begins as the primary.
    pub primary: Server,
    /// Those that follow it.
    pub replicas: Vec<Server>,
    watchers: Vec<Server>,
}

impl Sentinels {
    /// Starts all of them and waits until the Sentinels would agree on a failover.
    pub fn start(kind: Kind) -> Self {
        let primary = Server::start(kind, &[]);
        let of = format!("127.0.0.1 {}", primary.port);
        let replicas: Vec<Server> = (0..2).map(|_| Server::start(kind, &["--replicaof", &of])).collect();
        for replica in &replicas {
            wait_until("the replica follows", || {
                replica.says(&["INFO", "replication"], "master_link_status:up")
            });
        }
        let sentinels: Vec<Server> = (0..3).map(|_| sentinel(kind, primary.port)).collect();
        let known =
            format!("master0:name={NAME},status=ok,address=127.0.0.1:{},slaves=2,sentinels=3", primary.port);
        for sentinel in &sentinels {
            wait_until("the Sentinels know all", || sentinel.says(&["INFO", "sentinel"], &known));
        }
        Self { primary, replicas, watchers: sentinels }
    }

    /// Where they are.
    pub fn url(&self) -> String {
        let places: Vec<String> =
            self.watchers.iter().map(|server| format!("127.0.0.1:{}", server.port)).collect();
        format!("redis+sentinel://{}/{NAME}", places.join(","))
    }

    /// The port of the server that the Sentinels take for the primary.
    pub fn primary_port(&self) -> u16 {
        let asked = |sentinel: &Server| -> (String, u16) {
            sentinel.query(&words(&["SENTINEL", "GET-MASTER-ADDR-BY-NAME", NAME]))
        };
        self.watchers.first().map(asked).expect("a Sentinel").1
    }

    /// Has the Sentinels choose another primary, and waits until they have.
    pub fn fail_over(&self) {
        let before = self.primary_port();
        if let Some(sentinel) = self.watchers.first() {
            sentinel.query::<()>(&words(&["SENTINEL", "FAILOVER", NAME]));
        }
        wait_until("another primary is chosen", || self.primary_port() != before);
    }
}

fn sentinel(kind: Kind, primary: u16) -> Server {
    let port = free_port();
    let config = format!(
        "port {port}\nbind 127.0.0.1\nsentinel monitor {NAME} 127.0.0.1 {primary} 2\n\
         sentinel down-after-milliseconds {NAME} 500\nsentinel failover-timeout {NAME} 2000"
    );
    Server::start_by(kind, port, &config, &["--sentinel"])
}
