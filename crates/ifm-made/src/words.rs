//! A list of words to draw from, and texts of drawn words.

use crate::draws::Draws;

/// Maximum number of words in a list. Ten bits of choice each are plenty.
pub const WORDS_MAX: usize = 1024;

/// Bytes that are copied for a word, whatever its length: a copy of a known length is two instructions,
/// and a long prompt is half a million of them.
const SLOT_BYTES: usize = 16;
/// Words that are drawn and put at once.
const DRAWN_AT_ONCE: usize = 256;

/// Words in one text, each with the space before it.
#[derive(Debug)]
pub struct WordList {
    text: String,
    /// Where each word ends.
    ends: Vec<u32>,
    /// The words again.
    slots: Box<Slots>,
}

/// Words with the space before each, filled up to a length that is the same for all. A word that is
/// longer has the length 0 here.
#[derive(Debug)]
struct Slots {
    bytes: [[u8; SLOT_BYTES]; WORDS_MAX],
    lengths: [u8; WORDS_MAX],
}

impl WordList {
    /// A list of the first [`WORDS_MAX`] words given, without spaces.
    pub fn new<'words>(list: impl Iterator<Item = &'words str>) -> Self {
        let (mut text, mut ends) = (String::new(), Vec::new());
        for word in list.take(WORDS_MAX) {
            text.push(' ');
            text.push_str(word);
            ends.push(text.len() as u32);
        }
        let slots = Slots { bytes: [[b' '; SLOT_BYTES]; WORDS_MAX], lengths: [0; WORDS_MAX] };
        let mut list = Self { text, ends, slots: Box::new(slots) };
        list.fill_slots();
        list
    }

    fn fill_slots(&mut self) {
        let mut start = 0;
        let slots = self.slots.bytes.iter_mut().zip(&mut self.slots.lengths);
        for ((slot, length), &end) in slots.zip(&self.ends) {
            let word = self.text.as_bytes().get(start..end as usize);
            if let Some(word) = word
                && let Some(place) = slot.get_mut(..word.len())
            {
                place.copy_from_slice(word);
                *length = word.len() as u8;
            }
            start = end as usize;
        }
    }

    /// How many words there are.
    pub fn count(&self) -> u32 {
        self.ends.len() as u32
    }

    /// A word with the space before it; nothing for an index beyond the list.
    pub fn get(&self, index: u32) -> &str {
        let index = index as usize;
        let start = index.checked_sub(1).map_or(Some(0), |before| self.ends.get(before).copied());
        start
            .zip(self.ends.get(index))
            .and_then(|(start, &end)| self.text.get(start as usize..end as usize))
            .unwrap_or("")
    }

    /// Bytes that one word takes on average with its space, rounded up.
    pub fn mean_bytes(&self) -> usize {
        self.text.len().div_ceil(self.ends.len().max(1))
    }

    /// Appends this many drawn words, each with the space before it.
    pub fn put_drawn(&self, mut count: usize, draws: &mut Draws, out: &mut String) {
        let mut drawn = [0_u32; DRAWN_AT_ONCE];
        let mut written = [0_u8; DRAWN_AT_ONCE * SLOT_BYTES];
        while count > 0 {
            let drawn = drawn.get_mut(..count.min(DRAWN_AT_ONCE)).unwrap_or_default();
            draws.fill_below(self.count(), drawn);
            count -= drawn.len();
            let mut end = 0;
            for &word in &*drawn {
                // There are no more words than places.
                let place = word as usize % WORDS_MAX;
                let Some(written_here) = written.get_mut(end..end + SLOT_BYTES) else { break };
                written_here.copy_from_slice(&self.slots.bytes[place]);
                let length = self.slots.lengths[place];
                end += usize::from(length);
                if length == 0 {
                    push_bytes(written.get(..end), out);
                    out.push_str(self.get(word));
                    end = 0;
                }
            }
            push_bytes(written.get(..end), out);
        }
    }
}

/// Appends words as bytes, each of them whole.
fn push_bytes(words: Option<&[u8]>, out: &mut String) {
    out.push_str(str::from_utf8(words.unwrap_or_default()).unwrap_or_default());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Rng;

    #[test]
    fn words_are_put_as_they_are_drawn() {
        let long = "x".repeat(SLOT_BYTES);
        for list in [["a", "bcd", "äöü"], ["a", "bcd", long.as_str()]] {
            let words = WordList::new(list.into_iter());
            for count in [0, 1, DRAWN_AT_ONCE, 2 * DRAWN_AT_ONCE + 1] {
                let [mut one, mut many] = [(); 2].map(|()| Rng::new(7).stream("words").item(3));
                let mut out = "so".to_owned();
                words.put_drawn(count, &mut many, &mut out);
                let drawn: String = (0..count).map(|_| words.get(one.below(3))).collect();
                assert_eq!(out, format!("so{drawn}"));
            }
        }
    }

    #[test]
    fn a_list_has_its_words_and_no_more() {
        let words: Vec<String> = (0..WORDS_MAX + 5).map(|index| format!("w{index}")).collect();
        let list = WordList::new(words.iter().map(String::as_str));
        assert_eq!(list.count(), WORDS_MAX as u32);
        assert_eq!([list.get(0), list.get(1023), list.get(1024)], [" w0", " w1023", ""]);
        assert_eq!(WordList::new(["abc", "d"].into_iter()).mean_bytes(), 3);
    }
}
