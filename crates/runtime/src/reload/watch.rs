//! Notices that a policy file may have changed. What really changed, reading it tells.
//!
//! Directories are watched and not the file: files are replaced by renaming another over them, and mounted
//! configuration by swapping a symbolic link on the way to them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use notify::{RecommendedWatcher, RecursiveMode, Watcher as _};
use tokio::sync::mpsc::{Receiver, channel};

use crate::source::PolicySource;

/// Tells of anything that happens on the way to a policy file.
#[derive(Debug)]
pub(super) struct Watch {
    notices: Option<Receiver<()>>,
    /// Watches as long as it lives.
    _watcher: Option<RecommendedWatcher>,
}

impl Watch {
    /// Watches the source as it lies now, as far as the system can; where it cannot, that is logged, and the
    /// file is looked at now and then. A directory may be replaced, so this is done anew for every look.
    pub(super) fn start(source: &PolicySource) -> Self {
        let PolicySource::File(path) = source else { return Self::nothing() };
        match watch(path) {
            Ok((watcher, notices)) => Self { notices: Some(notices), _watcher: Some(watcher) },
            Err(error) => {
                tracing::debug!(%error, "the policy file is not watched, only looked at now and then");
                Self::nothing()
            }
        }
    }

    /// Tells of nothing.
    pub(super) const fn nothing() -> Self {
        Self { notices: None, _watcher: None }
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
    // One notice that waits says as much as many.
    let (notice, notices) = channel(1);
    let tell = move |event: notify::Result<notify::Event>| {
        // Reading the file is an event as well, and ours.
        if !event.is_ok_and(|event| event.kind.is_access()) {
            let _ = notice.try_send(());
        }
    };
    let mut watcher = notify::recommended_watcher(tell)?;
    for directory in on_the_way_to(file) {
        if let Err(error) = watcher.watch(&directory, RecursiveMode::NonRecursive) {
            tracing::debug!(%error, directory = %directory.display(), "not watched");
        }
    }
    Ok((watcher, notices))
}

/// The directories in which something may change what the path leads to: that of the file, those of every
/// symbolic link on the way, and that of the file which the links lead to. Where one is missing, the one
/// above it, in which it would come back.
fn on_the_way_to(file: &Path) -> BTreeSet<PathBuf> {
    let file = std::path::absolute(file).unwrap_or_else(|_| file.to_path_buf());
    let links = file.ancestors().filter(|path| path.is_symlink()).map(Path::to_path_buf);
    let target = file.canonicalize().ok();
    let changing = links.chain(target).chain([file.clone()]);
    let existing =
        |path: PathBuf| path.ancestors().skip(1).find(|above| above.is_dir()).map(Path::to_path_buf);
    changing.filter_map(existing).collect()
}
