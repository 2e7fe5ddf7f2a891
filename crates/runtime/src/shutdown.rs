//! Stopping: asked for once, seen by everyone.

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

/// A stop that can be asked for, and waited for. Clones share it.
#[derive(Clone, Debug)]
pub struct Shutdown(watch::Sender<bool>);

impl Shutdown {
    /// No stop yet.
    pub fn new() -> Self {
        Self(watch::Sender::new(false))
    }

    /// Asks for the stop. Asking twice changes nothing.
    pub fn ask(&self) {
        self.0.send_replace(true);
    }

    /// Whether it was asked for.
    pub fn is_asked(&self) -> bool {
        *self.0.borrow()
    }

    /// Waits until it is asked for.
    pub async fn asked(&self) {
        // The sender lives in `self`, so waiting cannot fail.
        let _ = self.0.subscribe().wait_for(|asked| *asked).await;
    }

    /// Asks for the stop when the process is told to end (SIGTERM) or interrupted (SIGINT).
    ///
    /// # Errors
    ///
    /// The system does not let this process listen to signals.
    pub fn on_signals(&self) -> std::io::Result<()> {
        let (mut terminate, mut interrupt) =
            (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
        let shutdown = self.clone();
        tokio::spawn(async move {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
            shutdown.ask();
        });
        Ok(())
    }
}

impl Default for Shutdown {
    fn default() -> Self {
        Self::new()
    }
}
