//! A request of sound, as the server's own counters know it: no backend answers it, so it counts itself.
//!
//! Not here: the page that shows the counters (`metrics`).

use std::sync::{Arc, atomic::Ordering::Relaxed};

use tokio::time::Instant;

use crate::{app::App, metrics::Metrics};

/// A request between its arrival and its end. One that is dropped before its end was broken off.
#[derive(Debug)]
pub(super) struct UnderWay {
    metrics: Arc<Metrics>,
    start: Instant,
    /// Tokens of the prompt and of the answer; absent for an answer of sound, which has none.
    tokens: Option<[u64; 2]>,
    has_ended: bool,
}

impl UnderWay {
    /// The request has arrived.
    pub(super) fn new(app: &App) -> Self {
        let metrics = Arc::clone(&app.metrics);
        metrics.sound.running.fetch_add(1, Relaxed);
        Self { metrics, start: Instant::now(), tokens: None, has_ended: false }
    }

    /// Its answer is text of so many tokens.
    pub(super) fn with_tokens(mut self, prompt: usize, output: usize) -> Self {
        self.tokens = Some([prompt, output].map(|tokens| tokens as u64));
        self
    }

    /// The first piece of its answer goes out.
    pub(super) fn first(&self) {
        if self.tokens.is_some() {
            self.metrics.first_token.record(self.start.elapsed());
        }
    }

    /// Its answer is complete.
    pub(super) fn end(&mut self) {
        if std::mem::replace(&mut self.has_ended, true) {
            return;
        }
        let sound = &self.metrics.sound;
        sound.running.fetch_sub(1, Relaxed);
        sound.ended.fetch_add(1, Relaxed);
        if let Some([prompt, output]) = self.tokens {
            sound.prompt_tokens.fetch_add(prompt, Relaxed);
            sound.generation_tokens.fetch_add(output, Relaxed);
        }
        self.metrics.request.record(self.start.elapsed());
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        if !self.has_ended {
            self.metrics.sound.running.fetch_sub(1, Relaxed);
            self.metrics.sound.broken_off.fetch_add(1, Relaxed);
        }
    }
}
