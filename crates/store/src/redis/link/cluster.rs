//! A cluster. The client library knows the slots and keeps the connections; what is sent a second time is decided
//! here, since it would also send again what may have been done.

use ::redis::cluster::ClusterClient;
use ::redis::cluster_async::ClusterConnection;
use ::redis::cluster_routing::SingleNodeRoutingInfo;
use ::redis::{Cmd, ConnectionInfo, ErrorKind, RedisError, ServerErrorKind, Value, cmd};

use super::kept::Dial;
use super::{CONNECT_TIMEOUT, response_timeout};
use crate::redis::settings::{RedisSettings, tcp};

/// Some nodes of a cluster, by which the others are found.
pub(super) struct Cluster(ClusterClient);

impl Cluster {
    pub(super) fn of(settings: &RedisSettings) -> Result<Self, RedisError> {
        let nodes: Vec<ConnectionInfo> = settings.connections().collect::<Result<_, _>>()?;
        let mut builder = ClusterClient::builder(nodes)
            .retries(0)
            .connection_timeout(CONNECT_TIMEOUT)
            .response_timeout(response_timeout(settings))
            .tcp_settings(tcp());
        if let Some(certificates) = settings.certificates() {
            builder = builder.certs(certificates.clone());
        }
        Ok(Self(builder.build()?))
    }
}

impl Dial for Cluster {
    type Connection = ClusterConnection;

    async fn dial(&self) -> Result<ClusterConnection, RedisError> {
        self.0.get_async_connection().await
    }
}

/// Asks the server that has the slot of the command's keys, and the one that it is on its way to.
pub(super) async fn query(mut connection: ClusterConnection, command: &Cmd) -> Result<Value, RedisError> {
    let reply: Result<Value, RedisError> = command.query_async(&mut connection).await;
    let Err(error) = &reply else { return reply };
    if error.kind() != ErrorKind::Server(ServerErrorKind::Ask) {
        return reply;
    }
    let place = error.redirect_node().and_then(|(place, _)| place.rsplit_once(':'));
    let Some((host, Ok(port))) = place.map(|(host, port)| (host.to_owned(), port.parse())) else {
        return reply;
    };
    let mut pipeline = ::redis::pipe();
    pipeline.add_command(cmd("ASKING")).ignore().add_command(command.clone());
    let there = SingleNodeRoutingInfo::ByAddress { host, port };
    let mut values = connection.route_pipeline(pipeline, 0, 2, there).await?;
    values.pop().map_or(reply, Value::extract_error)
}
