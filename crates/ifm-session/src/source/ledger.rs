//! What was sent: a digest and the lengths of each prompt, in order. 48 bytes for a request.
//!
//! The digest of a single-turn prompt is the digest of its canonical bytes. In a conversation of
//! several turns it is a chain over the messages (`said`), so that a turn costs what it adds.

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use ifm_core::manifest::{SentWorkload, TemplatePlace};
use ifm_core::{Medium, Prompt, SentMedia};
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

/// One request.
struct Sent {
    digest: [u8; 32],
    prompt_tokens: Option<u32>,
    output_tokens: Option<u32>,
}

/// The requests of a run in the order in which they were made.
#[derive(Default)]
pub struct Ledger {
    entries: Vec<Sent>,
    /// The media that were sent, and the prompt that had each first.
    media: HashMap<[u8; 32], usize>,
    /// The first of them, to be shown, each with that prompt.
    shown: Vec<(usize, Arc<Medium>)>,
    shown_bytes: usize,
    /// Media that the server had before the first prompt.
    had: HashSet<[u8; 32]>,
}

/// Media of a run that are shown at most, and the memory that they may hold until it has ended, bytes.
const SHOWN_MAX: usize = 24;
const SHOWN_BYTES_MAX: usize = 16 << 20;

impl Ledger {
    /// Notes a request that was made, by the digest of its prompt.
    pub fn note(
        &mut self,
        digest: [u8; 32],
        prompt_tokens: Option<u32>,
        output_tokens: Option<u32>,
    ) {
        self.entries.push(Sent { digest, prompt_tokens, output_tokens });
    }

    /// Forgets the requests that were made ahead and never sent.
    pub fn truncate(&mut self, sent: u32) {
        self.entries.truncate(sent as usize);
        self.media.retain(|_, first| *first < sent as usize);
        self.shown.retain(|(first, _)| *first < sent as usize);
        self.shown_bytes = self.shown.iter().map(|(_, medium)| held(medium)).sum();
    }

    /// What the media of the next prompt are together; absent where it has none. They are known
    /// from now on.
    pub fn media<'media>(
        &mut self,
        media: impl Iterator<Item = &'media Arc<Medium>> + Clone,
    ) -> Option<SentMedia> {
        let place = self.entries.len();
        let (mut count, mut seen) = (0_u32, 0);
        for medium in media.clone() {
            count += 1;
            let is_new = match self.media.entry(medium.sha256) {
                Entry::Occupied(_) => false,
                Entry::Vacant(vacant) => {
                    vacant.insert(place);
                    let bytes = held(medium);
                    // The first is shown however large it is.
                    let has_room =
                        self.shown_bytes == 0 || self.shown_bytes + bytes <= SHOWN_BYTES_MAX;
                    if self.shown.len() < SHOWN_MAX && has_room {
                        self.shown_bytes += bytes;
                        self.shown.push((place, medium.clone()));
                    }
                    true
                }
            };
            seen += u32::from(!is_new || self.had.contains(&medium.sha256));
        }
        (count > 0).then(|| SentMedia::of(media.map(|medium| &**medium), seen))
    }

    /// Small images of the first different media that were sent, as stored in the manifest of a run:
    /// `medium` and `picture`, a data URL. None where no media can be drawn.
    pub fn media_sheet(&self) -> Option<serde_json::Value> {
        let drawn = self.shown.iter().filter_map(|(_, medium)| {
            let small = ifm_workload::thumbnail(medium)?;
            let base64 = BASE64.encode(&small.bytes);
            let medium = serde_json::to_value(&**medium).ok()?;
            let picture = format!("data:{};base64,{base64}", small.mime);
            Some(serde_json::json!({ "medium": medium, "picture": picture }))
        });
        let drawn: Vec<serde_json::Value> = drawn.collect();
        (!drawn.is_empty()).then_some(serde_json::Value::Array(drawn))
    }

    /// Notes a medium that the server had before the first prompt.
    pub fn had(&mut self, sha256: [u8; 32]) {
        self.had.insert(sha256);
    }

    /// Whether any prompt so far had media.
    pub fn has_media(&self) -> bool {
        !self.media.is_empty() || !self.had.is_empty()
    }

    /// What the media of a prompt are together that is not sent; absent where it has none.
    pub fn unsent_media<'media>(
        &self,
        media: impl Iterator<Item = &'media Arc<Medium>> + Clone,
    ) -> Option<SentMedia> {
        let is_known = |medium: &&Arc<Medium>| {
            self.media.contains_key(&medium.sha256) || self.had.contains(&medium.sha256)
        };
        let seen = media.clone().filter(is_known).count() as u32;
        media.clone().next()?;
        Some(SentMedia::of(media.map(|medium| &**medium), seen))
    }

    /// BLAKE3 over the digest of each prompt, in order, in hex.
    pub fn prompts_blake3(&self) -> String {
        let mut digest = blake3::Hasher::new();
        self.entries.iter().for_each(|entry| _ = digest.update(&entry.digest));
        digest.finalize().to_hex().to_string()
    }

    /// The counts for the head of the run.
    pub fn sent_workload(&self, template_by: TemplatePlace) -> SentWorkload {
        let distinct: HashSet<&[u8; 32]> = self.entries.iter().map(|entry| &entry.digest).collect();
        SentWorkload {
            facts: serde_json::Map::new(),
            template_by,
            prompts: self.entries.len() as u64,
            distinct_prompts: distinct.len() as u64,
            sessions: None,
            ended_sessions: Vec::new(),
            prompt_tokens: histogram(self.entries.iter().filter_map(|entry| entry.prompt_tokens)),
            output_tokens: histogram(self.entries.iter().filter_map(|entry| entry.output_tokens)),
        }
    }
}

/// Memory of a medium, bytes.
fn held(medium: &Medium) -> usize {
    medium.carried.bytes().map_or(0, |bytes| bytes.len())
}

/// The digest of a single-turn prompt: BLAKE3, since SHA-256 of a prompt of 500,000 tokens costs about
/// as much as sending it, and several times that on a processor without instructions for it.
pub fn digest(prompt: &Prompt) -> [u8; 32] {
    blake3::hash(&prompt.canonical_bytes()).into()
}

/// Values, rising, each with how often it occurs.
fn histogram(values: impl Iterator<Item = u32>) -> Vec<(u32, u64)> {
    let mut counts = BTreeMap::<u32, u64>::new();
    values.for_each(|value| *counts.entry(value).or_default() += 1);
    counts.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ifm_core::{Carried, MediumKind};

    #[test]
    fn a_medium_is_known_from_the_first_prompt_on_that_was_sent() {
        let medium = |name: u8| {
            Arc::new(Medium {
                kind: MediumKind::Image,
                mime: "image/png".to_owned(),
                sha256: [name; 32],
                size: None,
                frames: None,
                duration_ns: None,
                file_bytes: None,
                uuid: None,
                detail: None,
                carried: Carried::Name,
            })
        };
        let (one, other) = (medium(1), medium(2));
        let mut ledger = Ledger::default();
        let next = |ledger: &mut Ledger, media: &[Arc<Medium>]| {
            let sent = ledger.media(media.iter());
            ledger.note([0; 32], None, None);
            sent.map(|sent| (sent.images, sent.seen))
        };
        assert_eq!(next(&mut ledger, &[]), None);
        assert_eq!(next(&mut ledger, &[one.clone(), one.clone()]), Some((2, 1)));
        assert_eq!(next(&mut ledger, &[one.clone(), other.clone()]), Some((2, 1)));
        ledger.truncate(2);
        let unsent = ledger.unsent_media([&one, &other].into_iter());
        assert_eq!(unsent.map(|sent| (sent.images, sent.seen)), Some((2, 1)));
        assert_eq!(next(&mut ledger, &[one, other.clone()]), Some((2, 1)));
        let third = medium(3);
        ledger.had(third.sha256);
        ledger.truncate(0);
        assert_eq!(next(&mut ledger, &[third, other]), Some((2, 1)));
    }

    #[test]
    fn what_was_made_ahead_does_not_count() {
        let mut ledger = Ledger::default();
        for text in ["a", "b", "a", "c"] {
            ledger.note(digest(&Prompt::Text(text.to_owned())), Some(3), None);
        }
        ledger.truncate(3);
        let sent = ledger.sent_workload(TemplatePlace::Server);
        assert_eq!((sent.prompts, sent.distinct_prompts), (3, 2));
        assert_eq!((sent.prompt_tokens, sent.output_tokens), (vec![(3, 3)], vec![]));
        let mut other = Ledger::default();
        for text in ["a", "a", "b"] {
            other.note(digest(&Prompt::Text(text.to_owned())), None, None);
        }
        assert_ne!(ledger.prompts_blake3(), other.prompts_blake3(), "the order counts");
    }
}
