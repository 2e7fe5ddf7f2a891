//! Policies that change while the node runs: taken whole, or not at all.

mod watch;

use std::sync::Arc;
use std::time::Duration;

use tokio::signal::unix::{SignalKind, signal};
use tokio::time::{Instant, sleep_until};
use weir_core::file::{Loaded, Options};
use weir_core::{PolicySet, Store, Usage};

use crate::node::Node;
use crate::shutdown::Shutdown;
use crate::source::{Content, LoadError, PolicySource, log_warnings};
use watch::Watch;

/// A writer is given so long to finish before the file is looked at.
const SETTLE: Duration = Duration::from_millis(200);
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
}

impl<S: Store + 'static> Reloader<S> {
    /// A reloader of what the node has loaded from `source`, whose content was `seen`.
    pub fn new(node: Arc<Node<S>>, source: PolicySource, options: Options, seen: Content) -> Self {
        Self { node, source, options, seen: Some(seen) }
    }

    /// Looks until the node is to stop.
    ///
    /// # Errors
    ///
    /// The system does not let this process listen to signals.
    pub fn run(mut self, shutdown: Shutdown) -> std::io::Result<()> {
        let mut told = signal(SignalKind::hangup())?;
        let mut watch = Watch::start(&self.source);
        tokio::spawn(async move {
            let mut look_at = Instant::now() + LOOK_EVERY;
            loop {
                tokio::select! {
                    () = shutdown.asked() => return,
                    _ = told.recv() => {
                        watch = Watch::start(&self.source);
                        self.look(true).await;
                    }
                    () = watch.noticed() => look_at = look_at.min(Instant::now() + SETTLE),
                    () = sleep_until(look_at) => {
                        look_at = Instant::now() + LOOK_EVERY;
                        // Before the look, so that nothing falls between the two.
                        watch = Watch::start(&self.source);
                        self.look(false).await;
                    }
                }
            }
        });
        Ok(())
    }

    /// Looks at the source, and takes what is new and good. One who asked is answered in any case.
    async fn look(&mut self, is_asked: bool) {
        if self.source.is_read_once() {
            if is_asked {
                tracing::warn!(
                    source = self.source.name(),
                    "a pipe is read once; the policies stay as they are"
                );
            }
            return;
        }
        let (source, options, seen) = (self.source.clone(), self.options.clone(), self.seen.clone());
        // Reading and settling may take a while; requests do not wait for it.
        let looked = tokio::task::spawn_blocking(move || match source.read() {
            Ok(content) if Some(&content) == seen.as_ref() && !is_asked => None,
            Ok(content) => Some((source.settle(&content, &options), Some(content))),
            Err(error) => Some((Err(error), None)),
        });
        match looked.await {
            Ok(Some((Ok(loaded), content))) => self.take(loaded, content),
            Ok(Some((Err(error), content))) => self.refuse(&error, content, is_asked),
            Ok(None) => {}
            Err(error) => tracing::error!(%error, "looking at the policies failed"),
        }
    }

    fn take(&mut self, loaded: Loaded, content: Option<Content>) {
        log_warnings(&loaded, &self.source.name());
        let old = self.node.policies();
        let anew = begun_anew(&loaded.policies, &old);
        let (policies, domain) = (loaded.policies.policies().len(), loaded.policies.domain().to_owned());
        self.node.replace(loaded.policies);
        self.seen = content;
        tracing::info!(source = self.source.name(), policies, domain, anew, "policies reloaded");
    }

    /// Says once what is wrong, and again to one who asked.
    fn refuse(&mut self, error: &LoadError, content: Option<Content>, is_asked: bool) {
        let why = error.brief();
        let is_news = self.node.refused_policies().is_none_or(|known| *known != why);
        if is_news || is_asked {
            tracing::error!(source = self.source.name(), error = %error, "policies refused; the old ones stay in force");
            self.node.policies_are_refused(why);
        }
        self.seen = content;
    }
}

/// The policies whose counters begin anew.
fn begun_anew(new: &PolicySet, old: &PolicySet) -> String {
    let name = |usage: Usage<'_>| match usage {
        Usage::Anew { policy, .. } => Some(policy.name.to_string()),
        Usage::Kept(_) | Usage::Gone(_) => None,
    };
    new.changes_from(old).into_iter().filter_map(name).collect::<Vec<_>>().join(", ")
}
