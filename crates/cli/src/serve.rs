//! `weir serve`: a node with its doors.

mod doors;

use std::io::IsTerminal as _;
use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use weir_core::file::{Options, Severity};
use weir_core::{Limiter, Policy, Posture, Precision};
use weir_runtime::{
    Listener, LoadError, Node, PolicySource, Reloader, Settings, Shutdown, StoreSetting, Telemetry, admin,
    log_warnings, logs,
};
use weir_store::{AnyStore, Awaited, MemoryStore, RedisStore};

use self::doors::{Addresses, Doors};
use crate::args::ServeArgs;
use crate::{NO, complain, say};

pub(crate) fn run(args: ServeArgs) -> Result<ExitCode> {
    let raw = args.settings.raw();
    let url = raw.store.clone();
    let settings = raw.settle()?;
    if let StoreSetting::Redis(redis) = &settings.store
        && redis.has_password()
        && url.contains('@')
        && std::env::args().any(|argument| argument.contains(&url))
    {
        bail!(
            "--store: a password in an argument can be read by every process of this machine; put the URL into \
             WEIR_STORE, or the password into WEIR_STORE_PASSWORD"
        );
    }
    logs::start(settings.log_format, &settings.log).context("--log")?;
    let source = args.file.map_or(PolicySource::Example, PolicySource::File);
    let content = source.read()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let (store, options, awaited) = runtime.block_on(open(&settings))?;
    let loaded = match source.settle(&content, &options) {
        Ok(loaded) => loaded,
        Err(LoadError::Broken(report)) => {
            complain(&report.render(Severity::Error, std::io::stderr().is_terminal()));
            complain("\nweir: not started: the policy file has mistakes");
            runtime.block_on(store.leave());
            return Ok(ExitCode::from(NO));
        }
        Err(error) => return Err(error.into()),
    };
    log_warnings(&loaded, &source.name());
    let (held, asked, left) = (store.clone(), store.clone(), store.clone());
    let telemetry =
        Telemetry::new(&loaded.policies, move || held.memory_stats(), move || asked.server_stats());
    let mut limiter = Limiter::new(loaded.policies, store);
    if settings.admits_unknown_domains {
        limiter = limiter.admitting_unknown_domains();
    }
    let shutdown = Shutdown::new();
    let node = Arc::new(Node::new(limiter, telemetry, shutdown.clone()));
    let reloader = Reloader::new(node.clone(), source.clone(), options, content).awaiting(awaited);
    let served = runtime.block_on(serve(node, reloader, &settings, &shutdown, &source));
    runtime.block_on(left.leave());
    // A policy file on a file system that hangs is not waited for.
    runtime.shutdown_timeout(Duration::from_secs(1));
    served?;
    Ok(ExitCode::SUCCESS)
}

/// The store, how policies are read for it, and what waits for it where it is not there.
async fn open(settings: &Settings) -> Result<(Arc<AnyStore>, Options, Option<Awaited>)> {
    let options = |secret, precision| Options { secret, log_limit_max: settings.log_limit_max, precision };
    match &settings.store {
        StoreSetting::Memory => {
            let store = AnyStore::Memory(MemoryStore::with_limits(settings.memory));
            Ok((Arc::new(store), options(settings.secret.secret(), Precision::Integer), None))
        }
        StoreSetting::Redis(redis) => {
            let connected = if settings.requires_store {
                RedisStore::connect(redis, &settings.secret)
                    .await
                    .map(|(store, secret)| (store, secret, None))
            } else {
                RedisStore::connect_or_wait(redis, &settings.secret).await
            };
            let (store, secret, awaited) = connected.context("--store")?;
            Ok((Arc::new(AnyStore::Redis(store)), options(secret, Precision::Double), awaited))
        }
    }
}

async fn serve(
    node: Arc<Node<Arc<AnyStore>>>,
    reloader: Reloader<Arc<AnyStore>>,
    settings: &Settings,
    shutdown: &Shutdown,
    source: &PolicySource,
) -> Result<()> {
    shutdown.on_signals()?;
    reloader.run(shutdown.clone())?;
    let doors = Doors::bind(settings).await?;
    let addresses = doors.addresses();
    let admin_port = doors::bind("admin", settings.admin).await?;
    let admin_address = admin_port.as_ref().map(Listener::address);
    let mut doors = doors.open(&node, settings, shutdown);
    // The admin port stops last: while the door drains, it tells that the node is stopping.
    let drained = Shutdown::new();
    let admin_port = admin_port
        .map(|port| tokio::spawn(port.serve(admin::router(node.clone()), drained.clone(), Duration::ZERO)));
    let policies = node.policies();
    tracing::info!(
        http = addresses.http.map(tracing::field::display),
        resp = addresses.resp.map(tracing::field::display),
        admin = admin_address.map(tracing::field::display),
        policies = policies.policies().len(),
        domain = policies.domain(),
        source = source.name(),
        "listening"
    );
    tell_of_the_store(&node, settings);
    if std::io::stdout().is_terminal() {
        say(&welcome(&addresses, admin_address, source));
    }
    shutdown.asked().await;
    tracing::info!("stopping");
    while let Some(ended) = doors.join_next().await {
        ended?;
    }
    drained.ask();
    if let Some(port) = admin_port {
        port.await?;
    }
    tracing::info!("stopped");
    Ok(())
}

/// Where the counting is done, and what there is to know of it.
fn tell_of_the_store(node: &Node<Arc<AnyStore>>, settings: &Settings) {
    match &settings.store {
        StoreSetting::Memory => {
            tracing::warn!("counting in memory: several nodes would each enforce the whole limit");
        }
        StoreSetting::Redis(redis) => {
            tracing::info!(store = %redis, "counting together with all nodes of this store");
            for fault in redis.faults() {
                tracing::warn!(%fault, "calls to the store go wrong ON PURPOSE (--fault): not for production");
            }
            let is_local = |policy: &Policy| policy.postures.contains(Posture::Local);
            let is_alone = redis.nodes().is_none() && node.store_trouble().is_some();
            if is_alone && node.policies().policies().iter().any(is_local) {
                tracing::warn!(
                    "a policy is `local` without its store, and no store has counted the nodes yet: this one counts the \
                     whole quota until then; say how many there are by --nodes"
                );
            }
        }
    }
}

fn welcome(addresses: &Addresses, admin: Option<SocketAddr>, source: &PolicySource) -> String {
    let [http, resp, admin] = [addresses.http, addresses.resp, admin].map(|address| address.map(reachable));
    let mut lines = vec![String::new()];
    lines.extend(http.map(|http| format!("Weir answers at http://{http}")));
    lines.extend(resp.map(|resp| format!("Redis clients find it at redis://{resp}")));
    lines.extend(admin.map(|admin| format!("Metrics are at http://{admin}/metrics")));
    if let (Some(http), PolicySource::Example) = (http, source) {
        let check = |body| format!("curl -i http://{http}/v1/check --json '{body}'");
        lines.extend([
            "\nTenant acme has 100 units a minute. A report costs 1, a full one 40, and what does not fit is a 429 \
             that costs nothing:\n"
                .into(),
            check(r#"{"attributes":{"tenant":"acme","path":"/v1/report/7"}}"#),
            check(r#"{"attributes":{"tenant":"acme","path":"/v1/report/full"}}"#),
            check(r#"{"attributes":{"tenant":"acme"},"cost":100}"#),
        ]);
    }
    lines.join("\n")
}

/// An address that a client on this machine can use.
fn reachable(address: SocketAddr) -> SocketAddr {
    if address.ip().is_unspecified() { SocketAddr::from(([127, 0, 0, 1], address.port())) } else { address }
}
