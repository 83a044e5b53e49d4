//! The messages of one agent, each written once.
//!
//! A request of a conversation carries all that was said before. The bytes of a message are the same
//! in each of them, so they are kept and copied; its digest is a chain: BLAKE3 over the digest of
//! the message before it (nothing for the first one) and its own canonical JSON.
//!
//! Not here: which message follows which (`ifm_workload::Thread`).

use ifm_core::{Medium, Message, Prompt};
use ifm_wire::RequestTemplate;
use std::ops::Range;
use std::sync::Arc;

/// Messages as a request contains them, and the media in them.
#[derive(Default)]
pub struct Written {
    /// A comma between two messages, a hole for each medium.
    pub bytes: Vec<u8>,
    /// In their order.
    pub media: Vec<Arc<Medium>>,
}

impl Written {
    /// Empties it; the memory is kept.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.media.clear();
    }
}

/// The messages of one agent, by number.
#[derive(Default)]
pub struct Said {
    /// All of them as the API has them, one after the other.
    bytes: Vec<u8>,
    /// The position of each message.
    spans: Vec<Range<usize>>,
    /// The media of each that is written.
    media: Vec<Vec<Arc<Medium>>>,
    /// Messages for an API whose format of a message depends on its neighbors.
    messages: Vec<Vec<Message>>,
    digests: Vec<[u8; 32]>,
}

impl Said {
    /// Takes the next message, which follows another one; what belongs before it goes along under
    /// the same number.
    pub fn push(
        &mut self,
        template: &RequestTemplate,
        follows: Option<u32>,
        before: Vec<Message>,
        message: Message,
    ) {
        let mut digest = blake3::Hasher::new();
        if let Some(former) = follows.and_then(|number| self.digests.get(number as usize)) {
            digest.update(former);
        }
        let start = self.bytes.len();
        let (mut kept, mut media) = (Vec::new(), Vec::new());
        for message in before.into_iter().chain([message]) {
            // Strings and lists always become JSON.
            digest.update(&serde_json::to_vec(&message).unwrap_or_default());
            if self.bytes.len() > start {
                self.bytes.push(b',');
            }
            match template.put_message(&message, &mut self.bytes) {
                true => media.extend(message.media.into_iter().map(|placed| placed.medium)),
                false => kept.push(message),
            }
        }
        self.media.push(media);
        self.spans.push(start..self.bytes.len());
        self.messages.push(kept);
        self.digests.push(digest.finalize().into());
    }

    /// The digest of a prompt that ends with this message.
    pub fn digest(&self, tip: Option<u32>) -> [u8; 32] {
        let digest = tip.and_then(|tip| self.digests.get(tip as usize));
        digest.copied().unwrap_or_default()
    }

    /// A prompt of these messages: what is written already goes to `said`, the rest comes back.
    pub fn prompt(&self, path: &[u32], said: &mut Written) -> Prompt {
        said.clear();
        let mut messages = Vec::new();
        for &number in path {
            let span = self.spans.get(number as usize).cloned().unwrap_or_default();
            let bytes = self.bytes.get(span).unwrap_or_default();
            if !said.bytes.is_empty() && !bytes.is_empty() {
                said.bytes.push(b',');
            }
            said.bytes.extend_from_slice(bytes);
            said.media.extend(self.media.get(number as usize).into_iter().flatten().cloned());
            messages.extend(self.messages.get(number as usize).into_iter().flatten().cloned());
        }
        Prompt::Messages(messages)
    }
}
