//! What SentencePiece does to a text before it looks for pieces.
//!
//! Characters are replaced by the map of the model (compatibility forms, kinds of
//! spaces), runs of spaces become one if asked, spaces become `▁`, and one is put
//! before the text. The order of these steps decides the ids, so it follows
//! `normalizer.cc` of SentencePiece.
//!
//! Not here: the map itself (`character_map`).

use super::character_map::CharacterMap;
use crate::{error::Problem, trie::Trie};

/// The character that represents a space in pieces, `▁`.
pub(crate) const SPACE: &str = "\u{2581}";

/// How a text is prepared, as a file says it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Rules {
    /// The compiled map of characters.
    pub(crate) characters: Option<Vec<u8>>,
    /// Whether a space is put before the text.
    pub(crate) add_prefix: bool,
    /// Whether spaces at the ends go, and runs of them become one.
    pub(crate) remove_extra_spaces: bool,
    /// Whether spaces become `▁`.
    pub(crate) escape_spaces: bool,
    /// Whether the space that is added comes after the text.
    pub(crate) space_as_suffix: bool,
}

/// Prepares texts.
#[derive(Debug)]
pub(crate) struct Normalizer {
    characters: Option<CharacterMap>,
    rules: Rules,
    /// Texts that are left as they are: the pieces that the model's user defined.
    untouched: Trie,
}

impl Normalizer {
    /// Follows rules; texts in `untouched` are never changed.
    pub(crate) fn new(mut rules: Rules, untouched: Trie) -> Result<Self, Problem> {
        let characters = rules.characters.take().map(CharacterMap::new).transpose()?;
        Ok(Self { characters, rules, untouched })
    }

    /// Whether a space is put before each text.
    pub(crate) fn adds_prefix(&self) -> bool {
        self.rules.add_prefix && !self.rules.space_as_suffix
    }

    /// The text in which pieces are looked for. It is UTF-8 unless the model's map
    /// of characters is not.
    pub(crate) fn normalize(&self, text: &str) -> Vec<u8> {
        let rules = &self.rules;
        let mut rest = text.as_bytes();
        if rules.remove_extra_spaces {
            while let (b" ", used @ 1..) = self.step(rest) {
                rest = rest.get(used..).unwrap_or(&[]);
            }
        }
        if rest.is_empty() {
            return Vec::new();
        }
        let mut normalized = Vec::with_capacity(rest.len() + rest.len() / 2 + SPACE.len());
        if self.adds_prefix() {
            normalized.extend_from_slice(self.space());
        }
        let mut after_space = rules.remove_extra_spaces;
        while !rest.is_empty() {
            let (mut piece, used) = self.step(rest);
            while let (true, Some(shorter)) = (after_space, piece.strip_prefix(b" ")) {
                piece = shorter;
            }
            for &byte in piece {
                if byte == b' ' {
                    normalized.extend_from_slice(self.space());
                } else {
                    normalized.push(byte);
                }
            }
            if !piece.is_empty() {
                after_space = piece.ends_with(b" ");
            }
            after_space &= rules.remove_extra_spaces;
            rest = rest.get(used.max(1)..).unwrap_or(&[]);
        }
        if rules.remove_extra_spaces {
            while let Some(shorter) = normalized.strip_suffix(self.space()) {
                normalized.truncate(shorter.len());
            }
        }
        if rules.add_prefix && rules.space_as_suffix {
            normalized.extend_from_slice(self.space());
        }
        normalized
    }

    fn space(&self) -> &'static [u8] {
        if self.rules.escape_spaces { SPACE.as_bytes() } else { b" " }
    }

    /// What the start of the rest becomes, and how many bytes of it that is.
    fn step<'a>(&'a self, rest: &'a [u8]) -> (&'a [u8], usize) {
        let own = |length: usize| (rest.get(..length).unwrap_or(rest), length);
        if let Some((length, _)) = self.untouched.longest_prefix(rest) {
            return own(length);
        }
        if let Some(found) = self.characters.as_ref().and_then(|map| map.longest(rest)) {
            return found;
        }
        own(rest.first().map_or(0, |&byte| character_length(byte)).min(rest.len()))
    }
}

/// Bytes of the character that a byte begins, as SentencePiece counts them.
pub(crate) fn character_length(first: u8) -> usize {
    match first {
        0xC0..=0xDF => 2,
        0xE0..=0xEF => 3,
        0xF0..=0xFF => 4,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn normalize(rules: &Rules, text: &str) -> String {
        let untouched = Trie::new([(&b"a  b"[..], 0)]);
        let normalizer = Normalizer::new(rules.clone(), untouched).unwrap();
        String::from_utf8(normalizer.normalize(text)).unwrap()
    }

    const PLAIN: Rules = Rules {
        characters: None,
        add_prefix: false,
        remove_extra_spaces: false,
        escape_spaces: true,
        space_as_suffix: false,
    };

    #[test]
    fn spaces_go_where_the_rules_say() {
        assert_eq!(normalize(&PLAIN, " x  y "), "▁x▁▁y▁");
        let prefix = Rules { add_prefix: true, ..PLAIN };
        assert_eq!(normalize(&prefix, " x  y "), "▁▁x▁▁y▁");
        assert_eq!(normalize(&prefix, ""), "");
        let tidy = Rules { remove_extra_spaces: true, ..prefix.clone() };
        assert_eq!(normalize(&tidy, "  x  y  "), "▁x▁y");
        assert_eq!(normalize(&tidy, "   "), "");
        let suffix = Rules { space_as_suffix: true, ..tidy.clone() };
        assert_eq!(normalize(&suffix, "  x  y  "), "x▁y▁");
        let raw = Rules { escape_spaces: false, ..tidy };
        assert_eq!(normalize(&raw, "x  y"), " x y");
    }

    #[test]
    fn what_the_user_defined_is_left_alone() {
        let tidy = Rules { remove_extra_spaces: true, ..PLAIN };
        assert_eq!(normalize(&tidy, "x  a  b  y"), "x▁a▁▁b▁y");
    }
}
