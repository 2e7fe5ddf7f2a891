//! Notices that a policy file may have changed. What really changed, reading it tells.
//!
//! The directory is watched and not the file: files are replaced by renaming another over them, and mounted
//! configuration by swapping a symbolic link beside them.

use std::path::Path;

use notify::{RecommendedWatcher, RecursiveMode, Watcher as _};
use tokio::sync::mpsc::{Receiver, channel};

use crate::source::PolicySource;

/// Tells of anything that happens in the directory of a policy file.
#[derive(Debug)]
pub(super) struct Watch {
    notices: Option<Receiver<()>>,
    /// Watches as long as it lives.
    _watcher: Option<RecommendedWatcher>,
}

impl Watch {
    /// Watches the source, as far as the system can: where it cannot, that is logged, and the file is looked
    /// at now and then.
    pub(super) fn start(source: &PolicySource) -> Self {
        let PolicySource::File(path) = source else { return Self { notices: None, _watcher: None } };
        match watch(path) {
            Ok((watcher, notices)) => Self { notices: Some(notices), _watcher: Some(watcher) },
            Err(error) => {
                tracing::warn!(%error, "the policy file is not watched, only looked at now and then");
                Self { notices: None, _watcher: None }
            }
        }
    }

    /// Waits until something happened.
    pub(super) async fn noticed(&mut self) {
        let told = match &mut self.notices {
            Some(notices) => notices.recv().await,
            None => None,
        };
        if told.is_none() {
            // Nothing will be told; whoever else is waited for decides.
            std::future::pending::<()>().await;
        }
    }
}

fn watch(file: &Path) -> notify::Result<(RecommendedWatcher, Receiver<()>)> {
    let directory = match file.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    // One notice that waits says as much as many.
    let (notice, notices) = channel(1);
    let tell = move |event: notify::Result<notify::Event>| {
        // Reading the file is an event as well, and ours.
        if !event.is_ok_and(|event| event.kind.is_access()) {
            let _ = notice.try_send(());
        }
    };
    let mut watcher = notify::recommended_watcher(tell)?;
    watcher.watch(directory, RecursiveMode::NonRecursive)?;
    Ok((watcher, notices))
}
