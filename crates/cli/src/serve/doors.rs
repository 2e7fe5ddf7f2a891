//! The doors of a node, bound before any is opened.

use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::{Context as _, Result, bail};
use tokio::task::JoinSet;
use weir_runtime::{Address, Listener, Node, Settings, Shutdown};
use weir_server::door::{http, resp};
use weir_store::AnyStore;

pub(super) struct Doors {
    http: Option<Listener>,
    resp: Option<Listener>,
}

/// Where they listen; nothing where they are off.
pub(super) struct Addresses {
    pub(super) http: Option<SocketAddr>,
    pub(super) resp: Option<SocketAddr>,
}

impl Doors {
    pub(super) async fn bind(settings: &Settings) -> Result<Self> {
        let doors =
            Self { http: bind("http", settings.http).await?, resp: bind("resp", settings.resp).await? };
        if doors.http.is_none() && doors.resp.is_none() {
            bail!("every door is off: give --http or --resp an address");
        }
        Ok(doors)
    }

    pub(super) fn addresses(&self) -> Addresses {
        let [http, resp] = [&self.http, &self.resp].map(|door| door.as_ref().map(Listener::address));
        Addresses { http, resp }
    }

    /// Opens them until the stop.
    pub(super) fn open(
        self,
        node: &Arc<Node<Arc<AnyStore>>>,
        settings: &Settings,
        shutdown: &Shutdown,
    ) -> JoinSet<()> {
        let mut open = JoinSet::new();
        if let Some(door) = self.http {
            let told =
                http::HttpSettings { body_max: settings.body_max, legacy_fields: settings.legacy_fields };
            open.spawn(door.serve(http::router(node.clone(), told), shutdown.clone(), settings.drain));
        }
        if let Some(door) = self.resp {
            let told = resp::Resp::new(node.clone(), settings.resp_password.clone(), shutdown.clone());
            let one = move |stream| told.clone().serve(stream);
            open.spawn(door.serve_each(one, shutdown.clone(), settings.drain));
        }
        open
    }
}

pub(super) async fn bind(flag: &str, address: Address) -> Result<Option<Listener>> {
    match address {
        Address::Off => Ok(None),
        Address::At(address) => {
            let listener = Listener::bind(address).await;
            listener.map(Some).with_context(|| format!("--{flag} {address}: cannot listen there"))
        }
    }
}
