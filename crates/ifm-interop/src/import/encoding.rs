//! Repairs damaged characters: UTF-8 that was decoded as Windows-1252 or Latin-1, once or several
//! times, and bytes that never were UTF-8.
//!
//! Only sequences that cannot be intended are changed: text without them is returned bit for bit.
//! What cannot be recovered is counted as lost. Not here: control characters of terminals, files in
//! UTF-16 (`decoding`).

use ifm_core::sheet::{Place, Remark, RemarkKind};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// Maximum number of kinds of damage that are listed individually.
const KINDS_MAX: usize = 50;
/// How often a text was misread at most.
const DEPTH_MAX: usize = 3;

/// Where a damage stood, and how often.
#[derive(Debug, Default)]
struct Tally {
    first_line: u32,
    last_line: u32,
    lines: u32,
    times: u64,
}

/// What was put right so far, and whether the text is known to be damaged.
#[derive(Debug, Default)]
pub(crate) struct Repairs {
    /// Doubtful sequences are damage too, since others beyond doubt are there.
    damaged: bool,
    fixed: BTreeMap<(String, String), Tally>,
    lost: BTreeMap<String, Tally>,
}

impl Repairs {
    /// Whether a line holds damage beyond doubt: doubtful sequences elsewhere count then too.
    pub fn note_damage(&mut self, line: &str) {
        self.damaged = self.damaged || scan(line, false).is_some_and(|scan| scan.strong);
    }

    /// Whether damage beyond doubt was seen.
    pub fn is_damaged(&self) -> bool {
        self.damaged
    }

    /// A line with its damage put right.
    pub fn repair<'a>(&mut self, line: &'a str, number: u32) -> Cow<'a, str> {
        if line.is_ascii() {
            return line.into();
        }
        let Some(scan) = scan(line, self.damaged) else { return line.into() };
        for (from, to) in scan.fixed {
            count(&mut self.fixed, (from, to), number);
        }
        for from in scan.lost {
            count(&mut self.lost, from, number);
        }
        scan.text.into()
    }

    /// A line that is not UTF-8, read as Windows-1252.
    pub fn foreign(&mut self, bytes: &[u8], number: u32) -> String {
        if bytes.iter().any(|byte| UNDEFINED.contains(byte)) {
            count(&mut self.lost, "bytes that are not text".to_owned(), number);
            return String::from_utf8_lossy(bytes).into_owned();
        }
        let to = "the text that they are in Windows-1252".to_owned();
        count(&mut self.fixed, ("bytes that are not UTF-8".to_owned(), to), number);
        bytes.iter().map(|&byte| char_of(byte)).collect()
    }

    /// One remark for each kind of damage.
    pub fn remarks(self) -> Vec<Remark> {
        let times = |tally: &Tally| format!("{} times in {} lines", tally.times, tally.lines);
        let fixed = self.fixed.iter().map(|((from, to), tally)| Remark {
            kind: RemarkKind::Repaired,
            place: Place::line(tally.first_line),
            text: format!("damaged text put right: {from} is {to}, {}", times(tally)),
        });
        let lost = self.lost.iter().map(|(from, tally)| Remark {
            kind: RemarkKind::Lost,
            place: Place::line(tally.first_line),
            text: format!("damaged text that cannot be put right: {from}, {}", times(tally)),
        });
        fixed.chain(lost).collect()
    }
}

fn count<K: Ord>(tallies: &mut BTreeMap<K, Tally>, key: K, line: u32) {
    if tallies.len() >= KINDS_MAX && !tallies.contains_key(&key) {
        return;
    }
    let tally = tallies.entry(key).or_insert(Tally { first_line: line, ..Tally::default() });
    tally.times += 1;
    // Lines come in order: the same one counts once.
    tally.lines += u32::from(tally.last_line != line);
    tally.last_line = line;
}

/// What a line becomes.
struct Scan {
    text: String,
    fixed: Vec<(String, String)>,
    lost: Vec<String>,
    strong: bool,
}

/// A line without its damage; absent where it has none.
fn scan(line: &str, weak_too: bool) -> Option<Scan> {
    if line.is_ascii() {
        return None;
    }
    let chars: Vec<char> = line.chars().collect();
    let mut out = Scan { text: String::new(), fixed: Vec::new(), lost: Vec::new(), strong: false };
    let mut at = 0;
    while let Some(&first) = chars.get(at) {
        let rest = chars.get(at..).unwrap_or_default();
        match sequence(rest, weak_too) {
            Sequence::None => {
                out.text.push(first);
                at += 1;
            }
            Sequence::Damaged { length, to, strong } => {
                let from: String = rest.iter().take(length).collect();
                out.text.push(to);
                out.strong |= strong;
                out.fixed.push((shown(&from), shown(&to.to_string())));
                at += length;
            }
            Sequence::Lost { length } => {
                let from: String = rest.iter().take(length).collect();
                out.text.push_str(&from);
                out.lost.push(shown(&from));
                at += length;
            }
        }
    }
    (!out.fixed.is_empty() || !out.lost.is_empty()).then_some(out)
}

fn shown(text: &str) -> String {
    format!("\"{}\"", text.escape_debug())
}

/// The sequence at a position.
enum Sequence {
    None,
    /// `length` characters are one character, `to`.
    Damaged {
        length: usize,
        to: char,
        strong: bool,
    },
    /// `length` characters are the remains of one character.
    Lost {
        length: usize,
    },
}

fn sequence(chars: &[char], weak_too: bool) -> Sequence {
    // The deepest reading that makes sense is the right one.
    let deep = (2..=DEPTH_MAX).rev().find_map(|depth| {
        undo(chars, depth).filter(|(to, _)| plausibility(*to, None) != Plausibility::None)
    });
    if let Some((to, length)) = deep {
        return Sequence::Damaged { length, to, strong: true };
    }
    let Some(lead) = chars.first().copied().and_then(byte_of) else { return Sequence::None };
    let Some(need) = continuations(lead) else { return Sequence::None };
    let follow: Vec<u8> = chars
        .iter()
        .skip(1)
        .take(need)
        .map_while(|&c| byte_of(c).filter(|byte| (0x80..0xc0).contains(byte)))
        .collect();
    if follow.len() == need {
        let bytes: Vec<u8> = std::iter::once(lead).chain(follow).collect();
        let to = std::str::from_utf8(&bytes).ok().and_then(|text| text.chars().next());
        return match to.map(|to| (to, plausibility(to, chars.get(1).copied()))) {
            Some((to, Plausibility::Sure)) => {
                Sequence::Damaged { length: need + 1, to, strong: true }
            }
            Some((to, Plausibility::Doubtful)) if weak_too => {
                Sequence::Damaged { length: need + 1, to, strong: false }
            }
            _ => Sequence::None,
        };
    }
    let begun = (lead, follow.first().copied());
    match begun {
        // Of the three bytes of a quotation mark, Windows-1252 has no character for the last.
        (0xe2, Some(0x80)) if follow.len() == 1 && chars.get(1) == Some(&'€') => {
            Sequence::Damaged { length: 2, to: '\u{201d}', strong: true }
        }
        (0xe2, Some(second)) if matches!(second, 0x80..=0x9f) && follow.len() == 1 => {
            Sequence::Lost { length: 2 }
        }
        (0xf0, Some(0x9f)) => Sequence::Lost { length: 1 + follow.len() },
        _ => Sequence::None,
    }
}

/// One character that was misread `depth` times, and how many characters it has become.
fn undo(chars: &[char], depth: usize) -> Option<(char, usize)> {
    if depth == 0 {
        return chars.first().map(|&c| (c, 1));
    }
    let (lead, mut length) = undo(chars, depth - 1)?;
    let lead = byte_of(lead)?;
    let mut bytes = vec![lead];
    for _ in 0..continuations(lead)? {
        let (next, used) = undo(chars.get(length..)?, depth - 1)?;
        bytes.push(byte_of(next).filter(|byte| (0x80..0xc0).contains(byte))?);
        length += used;
    }
    let to = std::str::from_utf8(&bytes).ok()?.chars().next()?;
    Some((to, length))
}

fn continuations(lead: u8) -> Option<usize> {
    match lead {
        0xc2..=0xdf => Some(1),
        0xe0..=0xef => Some(2),
        0xf0..=0xf4 => Some(3),
        _ => None,
    }
}

#[derive(PartialEq, Eq)]
enum Plausibility {
    None,
    /// The characters might be intended.
    Doubtful,
    Sure,
}

/// Whether a character is one that texts hold, `second` being the second character of what it
/// became.
fn plausibility(to: char, second: Option<char>) -> Plausibility {
    // A capital with a mark, before a quotation mark or a dash, ends a word.
    let ends_word = second.is_some_and(|c| !c.is_alphanumeric() && u32::from(c) > 0xff)
        || matches!(second, Some('»' | '«'));
    match u32::from(to) {
        0xa0..=0xbf => Plausibility::Sure,
        0xc0..=0xff if ends_word => Plausibility::Doubtful,
        0xc0..=0xff => Plausibility::Sure,
        0x391..=0x3c9 => Plausibility::Sure,
        0x2000..=0x2bff | 0x3000..=0x303f | 0xfe00..=0xfe0f | 0xfeff | 0xfffd => Plausibility::Sure,
        0x1_f000..=0x1_faff => Plausibility::Sure,
        _ => Plausibility::None,
    }
}

/// Characters of Windows-1252 from byte 0x80 to 0x9f; where it has none, Latin-1's.
const HIGH: [char; 32] = [
    '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8d}', 'Ž', '\u{8f}',
    '\u{90}', '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9d}', 'ž', 'Ÿ',
];
/// Bytes that Windows-1252 has no character for.
const UNDEFINED: [u8; 5] = [0x81, 0x8d, 0x8f, 0x90, 0x9d];

fn char_of(byte: u8) -> char {
    let high = usize::from(byte).checked_sub(0x80).and_then(|at| HIGH.get(at));
    high.copied().unwrap_or(char::from(byte))
}

/// The byte from 0x80 that a character was read from, by Windows-1252 or by Latin-1.
fn byte_of(c: char) -> Option<u8> {
    if let code @ 0x80..=0xff = u32::from(c) {
        return u8::try_from(code).ok();
    }
    let at = HIGH.iter().position(|&high| high == c)?;
    u8::try_from(0x80 + at).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn misread(text: &str) -> String {
        text.bytes().map(char_of).collect()
    }

    fn repaired(text: &str) -> (String, Vec<Remark>) {
        let mut repairs = Repairs::default();
        repairs.note_damage(text);
        let fixed = repairs.repair(text, 1).into_owned();
        (fixed, repairs.remarks())
    }

    #[test]
    fn what_windows_made_of_utf8_is_put_right() {
        for text in
            ["0.38 ± 0.01", "🥇 first", "🥈🥉", "5 – 7 µs", "“so”", "❯ run ✅", "░░██", "é à"]
        {
            let once = misread(text);
            assert_ne!(once, text);
            assert_eq!(repaired(&once).0, text);
            assert_eq!(repaired(&misread(&once)).0, text, "twice");
            assert_eq!(repaired(text).0, text, "fine text stays");
        }
    }

    #[test]
    fn latin_1_is_put_right_too() {
        let once: String = "🥇 ± ≥".bytes().map(char::from).collect();
        assert_eq!(repaired(&once).0, "🥇 ± ≥");
    }

    #[test]
    fn what_is_lost_is_told() {
        let (text, remarks) = repaired("ðŸ¥ first");
        assert_eq!(text, "ðŸ¥ first");
        assert_eq!(remarks[0].kind, RemarkKind::Lost);
        assert_eq!(repaired("â€œwordâ€ ").0, "“word” ");
    }

    #[test]
    fn doubtful_letters_are_believed_where_nothing_else_is_damaged() {
        assert_eq!(repaired("“AMANHÃ”").0, "“AMANHÃ”");
        let mut repairs = Repairs::default();
        repairs.note_damage("1 Â± 2");
        assert_eq!(repairs.repair("HÃ”TEL", 2), "HÔTEL");
    }

    #[test]
    fn remarks_count_lines_and_times() {
        let mut repairs = Repairs::default();
        assert_eq!(repairs.repair("1 Â± 2, 3 Â± 4", 7), "1 ± 2, 3 ± 4");
        assert_eq!(repairs.repair("5 Â± 6", 9), "5 ± 6");
        let remarks = repairs.remarks();
        assert_eq!(remarks.len(), 1);
        assert_eq!(remarks[0].place.line, Some(7));
        assert!(remarks[0].text.ends_with("3 times in 2 lines"), "{}", remarks[0].text);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]
        #[test]
        fn fine_text_stays_bit_for_bit(text in "[ -~±°µ–—“”…→⇒≥█░║═❯✅🥇🥈éüñ中文]{0,60}") {
            prop_assert_eq!(&repaired(&text).0, &text);
        }

        #[test]
        fn misread_text_comes_back(text in "[ -~±°µ–—“”…→⇒≥█░║═❯✅🥇🥈éüñ]{0,40}") {
            prop_assert_eq!(&repaired(&misread(&text)).0, &text);
            prop_assert_eq!(&repaired(&misread(&misread(&text))).0, &text);
        }

        #[test]
        fn any_text_is_survived(text in "\\PC{0,60}", bytes in proptest::collection::vec(any::<u8>(), 0..60)) {
            let _ = repaired(&text);
            let _ = Repairs::default().foreign(&bytes, 1);
        }
    }
}
