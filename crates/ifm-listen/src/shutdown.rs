//! The end of a server, asked for from any thread.

use std::sync::Arc;
use tokio::sync::watch;

/// Ends a server from anywhere, also from a signal's thread.
#[derive(Debug, Clone)]
pub struct Shutdown {
    sender: Arc<watch::Sender<bool>>,
}

impl Shutdown {
    /// A handle that has not been used.
    pub fn new() -> Self {
        Self { sender: Arc::new(watch::Sender::new(false)) }
    }

    /// Ends the server: it accepts nothing more, and answers in progress have a grace period.
    pub fn request(&self) {
        self.sender.send_replace(true);
    }

    /// Returns once the end was requested.
    pub(crate) async fn wait(&self) {
        // The sender is held by `self`, so the channel cannot close meanwhile.
        let _ = self.sender.subscribe().wait_for(|is_requested| *is_requested).await;
    }
}

impl Default for Shutdown {
    fn default() -> Self {
        Self::new()
    }
}
