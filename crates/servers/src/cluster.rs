//! A cluster of three primaries with a replica each.

use std::sync::OnceLock;

use crate::server::{Kind, Server, free_port, words};
use crate::wait_until;

const PRIMARIES: usize = 3;
const SLOTS: usize = 16_384;

/// A cluster that runs as long as this lives.
#[derive(Debug)]
pub struct Cluster {
    /// Those that begin as primaries, in the order of their slots.
    pub primaries: Vec<Server>,
    /// Their replicas, in the same order.
    pub replicas: Vec<Server>,
}

impl Cluster {
    /// The cluster of this kind that all tests of a program share.
    pub fn shared(kind: Kind) -> &'static Self {
        static REDIS: OnceLock<Cluster> = OnceLock::new();
        static VALKEY: OnceLock<Cluster> = OnceLock::new();
        let cluster = match kind {
            Kind::Redis => &REDIS,
            Kind::Valkey => &VALKEY,
        };
        cluster.get_or_init(|| Self::start(kind))
    }

    /// Starts the servers, gives each primary its share of the slots, and waits until all of them are in use.
    pub fn start(kind: Kind) -> Self {
        let nodes = || -> Vec<(Server, u16)> { (0..PRIMARIES).map(|_| node(kind)).collect() };
        let (primaries, replicas) = (nodes(), nodes());
        for (i, (primary, _)) in primaries.iter().enumerate() {
            let (first, end) = (i * SLOTS / PRIMARIES, (i + 1) * SLOTS / PRIMARIES);
            let range = [first.to_string(), (end - 1).to_string()];
            primary.query::<()>(&words(&["CLUSTER", "ADDSLOTSRANGE", &range[0], &range[1]]));
            primary.query::<()>(&words(&["CLUSTER", "SET-CONFIG-EPOCH", &(i + 1).to_string()]));
        }
        let all = || primaries.iter().chain(&replicas);
        if let Some((first, _)) = primaries.first() {
            for (other, bus) in all().skip(1) {
                let (port, bus) = (other.port.to_string(), bus.to_string());
                first.query::<()>(&words(&["CLUSTER", "MEET", "127.0.0.1", &port, &bus]));
            }
        }
        let known = format!("cluster_known_nodes:{}", 2 * PRIMARIES);
        for (server, _) in all() {
            wait_until("all nodes know each other", || server.says(&["CLUSTER", "INFO"], &known));
        }
        for ((replica, _), (primary, _)) in replicas.iter().zip(&primaries) {
            let id: String = primary.query(&words(&["CLUSTER", "MYID"]));
            wait_until("the replica knows its primary", || {
                words(&["CLUSTER", "REPLICATE", &id]).query::<()>(&mut replica.connection()).is_ok()
            });
        }
        for (server, _) in all() {
            wait_until("the cluster is whole", || server.says(&["CLUSTER", "INFO"], "cluster_state:ok"));
        }
        for (replica, _) in &replicas {
            wait_until("the replica follows", || {
                replica.says(&["INFO", "replication"], "master_link_status:up")
            });
        }
        let servers = |nodes: Vec<(Server, u16)>| nodes.into_iter().map(|(server, _)| server).collect();
        Self { primaries: servers(primaries), replicas: servers(replicas) }
    }

    /// The names of the keys that each primary holds, by a pattern.
    pub fn names(&self, pattern: &str) -> Vec<Vec<String>> {
        self.primaries.iter().map(|server| server.query(&words(&["KEYS", pattern]))).collect()
    }

    /// Where it is: all nodes but one, which are enough to find the last.
    pub fn url(&self) -> String {
        let nodes = self.primaries.iter().chain(&self.replicas).skip(1);
        let places: Vec<String> = nodes.map(|server| format!("127.0.0.1:{}", server.port)).collect();
        format!("redis+cluster://{}", places.join(","))
    }
}

/// A node, and the port by which the others reach it.
fn node(kind: Kind) -> (Server, u16) {
    let bus = free_port();
    let arguments = [
        "--cluster-enabled",
        "yes",
        "--cluster-node-timeout",
        "1000",
        "--cluster-replica-validity-factor",
        "0",
    ];
    let server = Server::start(kind, &[&arguments[..], &["--cluster-port", &bus.to_string()]].concat());
    (server, bus)
}
