//! A data set whose items carry media: any that makes text, with images, recordings or videos in it.
//!
//! The text of an item is what it is without media, and so are its counts of tokens.
//!
//! Not here: which media (`pool`).

use std::sync::Arc;

use ifm_core::{Medium, Message, Placed, Prompt, Role};

use super::{ahead::Ahead, pool::Part};
use crate::{
    error::WorkloadError,
    item::{Dataset, Turn, WorkItem},
};

/// What is put into every item.
pub(super) struct Dress {
    pub parts: Vec<Part>,
    /// Whether each turn of a conversation carries media, not the first alone.
    pub is_every_turn: bool,
    /// Whether media stand behind the text.
    pub is_behind: bool,
}

impl Dress {
    fn put_on(&self, item: &mut WorkItem) -> Result<(), WorkloadError> {
        let turns = if self.is_every_turn { item.turns.len() } else { 1 };
        for (number, turn) in item.turns.iter_mut().take(turns).enumerate() {
            let Some(message) = heard(turn)? else { continue };
            let mut media = Vec::new();
            for part in &self.parts {
                media.extend(part.media(item.id, number as u16)?);
            }
            place(message, media, self.is_behind);
        }
        Ok(())
    }
}

/// The last message of a turn in which media can stand: the user's.
///
/// # Errors
/// [`WorkloadError::Shape`] for a prompt of token ids.
fn heard(turn: &mut Turn) -> Result<Option<&mut Message>, WorkloadError> {
    if let Prompt::Text(text) = &mut turn.prompt {
        let message = Message::text(Role::User, std::mem::take(text));
        turn.prompt = Prompt::Messages(vec![message]);
    }
    match &mut turn.prompt {
        Prompt::Messages(messages) => {
            Ok(messages.iter_mut().rev().find(|message| message.role == Role::User))
        }
        Prompt::Text(_) | Prompt::Tokens(_) => Err(WorkloadError::Shape {
            text: "media in prompts of token ids".to_owned(),
            reason: "images, recordings and videos stand in text; choose a workload of text"
                .to_owned(),
        }),
    }
}

/// Puts media before the text of a message, or behind it.
pub(super) fn place(message: &mut Message, media: Vec<Arc<Medium>>, is_behind: bool) {
    let at = if is_behind { message.content.len() } else { 0 };
    let placed = media.into_iter().map(|medium| Placed { at, medium });
    match is_behind {
        true => message.media.extend(placed),
        false => _ = message.media.splice(0..0, placed),
    }
}

/// A data set with media.
pub(super) struct Dressed {
    inner: Arc<Inner>,
    ahead: Option<Ahead<WorkItem>>,
}

struct Inner {
    dataset: Box<dyn Dataset>,
    dress: Dress,
}

impl Inner {
    fn item(&self, id: u32) -> Result<WorkItem, WorkloadError> {
        let mut item = self.dataset.item(id)?;
        self.dress.put_on(&mut item)?;
        Ok(item)
    }
}

impl Dressed {
    /// A data set whose media are made ahead where each item has its own.
    pub(super) fn new(dataset: Box<dyn Dataset>, dress: Dress) -> Self {
        let is_made = dress.parts.iter().any(Part::is_made_ahead);
        let inner = Arc::new(Inner { dataset, dress });
        let maker = inner.clone();
        let make = move |id| {
            let item = maker.item(id).ok()?;
            let bytes = item.held_bytes();
            Some((item, bytes))
        };
        Self { ahead: is_made.then(|| Ahead::new(make)), inner }
    }
}

impl Dataset for Dressed {
    fn item(&self, id: u32) -> Result<WorkItem, WorkloadError> {
        let made = self.ahead.as_ref().and_then(|ahead| ahead.take(id));
        made.map_or_else(|| self.inner.item(id), Ok)
    }

    fn make_ahead(&self, from: u32, needed: u32, go_on: &dyn Fn() -> bool) {
        if let Some(ahead) = &self.ahead {
            ahead.fill(from, needed, go_on);
        }
    }

    fn distinct_items(&self) -> u64 {
        self.inner.dataset.distinct_items()
    }

    fn items(&self) -> Option<u32> {
        self.inner.dataset.items()
    }

    fn has_conversations(&self) -> bool {
        self.inner.dataset.has_conversations()
    }

    fn parallel(&self) -> u32 {
        self.inner.dataset.parallel()
    }

    /// An image of its own before the text is where prompts begin to differ.
    fn shared_tokens(&self) -> Option<u32> {
        let shared = self.inner.dataset.shared_tokens();
        match (self.inner.dress.is_behind, &self.ahead) {
            (true, _) => shared,
            (false, Some(_)) => shared.map(|_| 0),
            (false, None) => None,
        }
    }
}
