//! Policies that change while the node runs: taken whole, or not at all. And the store that comes while it runs, with a
//! secret under which they are loaded anew.

mod watch;

use std::sync::Arc;
use std::time::Duration;

use tokio::signal::unix::{SignalKind, signal};
use tokio::time::{Instant, sleep_until, timeout};
use weir_core::file::{Loaded, Options};
use weir_core::{KeySecret, PolicySet, Store, Usage};
use weir_store::Awaited;

use crate::node::Node;
use crate::shutdown::Shutdown;
use crate::source::{Content, LoadError, PolicySource, log_warnings};
use watch::Watch;

/// A writer is given so long to finish before the file is looked at.
const SETTLE: Duration = Duration::from_millis(200);
/// One who never stops writing is not waited for longer.
const SETTLE_MAX: Duration = Duration::from_secs(5);
/// A file system that takes longer has failed.
const READ_MAX: Duration = Duration::from_secs(10);
/// Without any notice, the file is looked at so often: some file systems tell nothing.
const LOOK_EVERY: Duration = Duration::from_secs(30);

/// Looks at the policies when they may have changed, and when told to (SIGHUP).
#[derive(Debug)]
pub struct Reloader<S> {
    node: Arc<Node<S>>,
    source: PolicySource,
    options: Options,
    /// What was looked at last, good or bad: the same again is no news.
    seen: Option<Content>,
    /// What was good last.
    in_force: Content,
    /// A store that is not there yet.
    awaited: Option<Awaited>,
}

impl<S: Store + 'static> Reloader<S> {
    /// A reloader of what the node has loaded from `source`, whose content was `seen`.
    pub fn new(node: Arc<Node<S>>, source: PolicySource, options: Options, seen: Content) -> Self {
        Self { node, source, options, seen: Some(seen.clone()), in_force: seen, awaited: None }
    }

    /// Opens that store once it is there, to policies that are loaded with its secret.
    #[must_use]
    pub fn awaiting(self, awaited: Option<Awaited>) -> Self {
        Self { awaited, ..self }
    }

    /// Looks until the node is to stop.
    ///
    /// # Errors
    ///
    /// The system does not let this process listen to signals.
    pub fn run(mut self, shutdown: Shutdown) -> std::io::Result<()> {
        let mut told = signal(SignalKind::hangup())?;
        tokio::spawn(async move {
            // Each look begins the watch anew. Something may have changed since the first reading, so one is due.
            let mut watch = Watch::nothing();
            let mut look_at = Instant::now();
            let mut at_latest = None;
            loop {
                tokio::select! {
                    () = shutdown.asked() => return,
                    _ = told.recv() => watch = self.look(true).await,
                    secret = agreed(&mut self.awaited) => self.open_store(secret).await,
                    () = watch.noticed() => {
                        // Each notice puts the look off: somebody is still writing. But not for ever.
                        let latest = *at_latest.get_or_insert(Instant::now() + SETTLE_MAX);
                        look_at = (Instant::now() + SETTLE).min(latest);
                    }
                    () = sleep_until(look_at) => {
                        (look_at, at_latest) = (Instant::now() + LOOK_EVERY, None);
                        watch = self.look(false).await;
                    }
                }
            }
        });
        Ok(())
    }

    /// Looks at the source, and takes what is new and good. One who asked is answered in any case. Returns what
    /// tells of later changes.
    async fn look(&mut self, is_asked: bool) -> Watch {
        let (source, options, seen) = (self.source.clone(), self.options.clone(), self.seen.clone());
        // Reading and settling may take a while; requests do not wait for it.
        let looking = tokio::task::spawn_blocking(move || {
            // Before it is read, so that nothing falls between the two.
            let watch = Watch::start(&source);
            let looked = match source.read_again() {
                Ok(None) => Looked::ReadOnce,
                Ok(Some(content)) if Some(&content) == seen.as_ref() && !is_asked => Looked::Same,
                Ok(Some(content)) => Looked::Found(source.settle(&content, &options), Some(content)),
                Err(error) => Looked::Found(Err(error), None),
            };
            (watch, looked)
        });
        let (watch, looked) = match timeout(READ_MAX, looking).await {
            Ok(Ok(done)) => done,
            Ok(Err(error)) => {
                tracing::error!(%error, "looking at the policies failed");
                return Watch::nothing();
            }
            Err(_) => (Watch::nothing(), Looked::Found(Err(self.source.takes_too_long()), None)),
        };
        match looked {
            Looked::Found(Ok(loaded), content) => self.take(loaded, content),
            Looked::Found(Err(error), content) => self.refuse(&error, content, is_asked),
            Looked::ReadOnce if is_asked => {
                tracing::warn!(
                    source = self.source.name(),
                    "a pipe is read once; the policies stay as they are"
                );
            }
            Looked::ReadOnce | Looked::Same => {}
        }
        watch
    }

    /// The store is there, and keys are hashed with this secret from now on.
    async fn open_store(&mut self, secret: KeySecret) {
        let awaited = self.awaited.take();
        if secret != self.options.secret {
            self.options.secret = secret;
            let (source, options, content) =
                (self.source.clone(), self.options.clone(), self.in_force.clone());
            let settling = tokio::task::spawn_blocking(move || source.settle(&content, &options)).await;
            // They were good before, and it is no secret that makes them bad.
            let Ok(Ok(loaded)) = settling else {
                return tracing::error!("the policies in force cannot be loaded with the store's secret");
            };
            self.node.count_by(loaded.policies);
        }
        if let Some(awaited) = awaited {
            awaited.open();
        }
    }

    fn take(&mut self, loaded: Loaded, content: Option<Content>) {
        log_warnings(&loaded, &self.source.name());
        let old = self.node.policies();
        let anew = begun_anew(&loaded.policies, &old);
        let (policies, domain) = (loaded.policies.policies().len(), loaded.policies.domain().to_owned());
        self.node.replace(loaded.policies);
        if let Some(content) = &content {
            self.in_force = content.clone();
        }
        self.seen = content;
        tracing::info!(source = self.source.name(), policies, domain, anew, "policies reloaded");
    }

    /// Says once what is wrong, and again to one who asked.
    fn refuse(&mut self, error: &LoadError, content: Option<Content>, is_asked: bool) {
        let why = error.brief();
        let is_news = self.node.refused_policies().is_none_or(|known| *known != why);
        if is_news || is_asked {
            // Noted before it is logged: whoever reads the log finds the rest to agree with it.
            self.node.policies_are_refused(why);
            tracing::error!(source = self.source.name(), error = %error, "policies refused; the old ones stay in force");
        }
        self.seen = content;
    }
}

/// The secret of a store that is awaited, once it is there.
async fn agreed(awaited: &mut Option<Awaited>) -> KeySecret {
    match awaited {
        Some(awaited) => awaited.agreed().await,
        None => std::future::pending().await,
    }
}

/// What a look found.
enum Looked {
    /// What was seen last.
    Same,
    /// A pipe, which has nothing more to say.
    ReadOnce,
    /// Other content, if it could be read, and what it means.
    Found(Result<Loaded, LoadError>, Option<Content>),
}

/// The policies whose counters begin anew.
fn begun_anew(new: &PolicySet, old: &PolicySet) -> String {
    let name = |usage: Usage<'_>| match usage {
        Usage::Anew { policy, .. } => Some(policy.name.to_string()),
        Usage::Kept(_) | Usage::Gone(_) => None,
    };
    new.changes_from(old).into_iter().filter_map(name).collect::<Vec<_>>().join(", ")
}
