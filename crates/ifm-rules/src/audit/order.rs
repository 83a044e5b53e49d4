//! Orders that a sentence states without a number: `red is faster than blue`, `blue has the lowest
//! TTFT`.
//!
//! Only what can be read in one way is taken: one comparison to a sentence, no negation, no hedge,
//! no supposition, no number that is not understood. Not here: whether an order is true
//! (`stated_order`).

use super::change::{COMPARATIVES, Direction, SUPPOSED, direction, load_of, numbers, than};
use std::ops::Range;

/// An order that a sentence states.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Order {
    pub direction: Direction,
    /// The word that says it.
    pub at: Range<usize>,
    /// Where the reference of the comparison is named: after `than`; absent for a superlative,
    /// which is over all others.
    pub than: Option<usize>,
    /// Numbers, each with the factor that it sets.
    pub load: Vec<(&'static str, f64)>,
}

const SUPERLATIVES: [(&str, Direction); 10] = [
    ("fastest", Direction::Faster),
    ("quickest", Direction::Faster),
    ("slowest", Direction::Slower),
    ("highest", Direction::Higher),
    ("greatest", Direction::Higher),
    ("largest", Direction::Higher),
    ("longest", Direction::Higher),
    ("lowest", Direction::Lower),
    ("smallest", Direction::Lower),
    ("shortest", Direction::Lower),
];
/// Words that reverse an order, or restrict what it is about.
const LIMITING: [&str; 27] = [
    "not",
    "no",
    "never",
    "neither",
    "nor",
    "cannot",
    "only",
    "except",
    "apart",
    "besides",
    "unlike",
    "second",
    "third",
    "next",
    "among",
    "amongst",
    "within",
    "nearly",
    "almost",
    "hardly",
    "barely",
    "sometimes",
    "usually",
    "often",
    "but",
    "while",
    "although",
];

/// The one order that a sentence states, in small letters with single spaces. `names` are places
/// whose digits and words belong to names.
pub(super) fn order(sentence: &str, names: &[Range<usize>]) -> Option<Order> {
    let is_name =
        |at: &Range<usize>| names.iter().any(|name| name.start <= at.start && at.end <= name.end);
    let words: Vec<(&str, Range<usize>)> =
        words(sentence).into_iter().filter(|(_, at)| !is_name(at)).collect();
    let is_limiting =
        |word: &str| LIMITING.contains(&word) || SUPPOSED.contains(&word) || word.ends_with("n't");
    if sentence.ends_with('?') || words.iter().any(|(word, _)| is_limiting(word)) {
        return None;
    }
    let mut load = Vec::new();
    for number in numbers(sentence).iter().filter(|number| !is_name(&number.at)) {
        load.push(load_of(sentence, number)?);
    }
    let mut found = words.iter().filter_map(|(word, at)| {
        let comparative = direction(&COMPARATIVES, word).map(|direction| (direction, true));
        let any =
            comparative.or_else(|| direction(&SUPERLATIVES, word).map(|found| (found, false)));
        any.map(|(direction, is_comparative)| (direction, at.clone(), is_comparative))
    });
    let ((direction, at, is_comparative), None) = (found.next()?, found.next()) else {
        // With two comparisons in a sentence, it is ambiguous which belongs to what.
        return None;
    };
    let than = match is_comparative {
        true => Some(than(sentence, at.end)?),
        false => None,
    };
    Some(Order { direction, at, than, load })
}

/// The words of a sentence without the signs around them, and their places.
fn words(sentence: &str) -> Vec<(&str, Range<usize>)> {
    let mut at = 0;
    let mut found = Vec::new();
    for part in sentence.split(' ') {
        let word = part.trim_matches(|c: char| !c.is_alphanumeric());
        let inside = part.find(word).unwrap_or(0);
        found.push((word, at + inside..at + inside + word.len()));
        at += part.len() + 1;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_are_read_only_where_they_are_plain() {
        let read = |text: &str| {
            let order = order(text, &[])?;
            let behind = order.than.map(|than| text[than..].to_owned());
            Some((order.direction, behind, order.load))
        };
        let blue = |load: &[(&'static str, f64)]| (Some("blue.".to_owned()), load.to_vec());
        let users = [(ifm_core::sheet::key::CONCURRENCY, 8.0)];
        for (text, expect) in [
            ("red is faster than blue.", Some((Direction::Faster, blue(&[])))),
            ("red has a lower ttft than blue.", Some((Direction::Lower, blue(&[])))),
            ("at 8 users, red is slower than blue.", Some((Direction::Slower, blue(&users)))),
            ("red is the fastest.", Some((Direction::Faster, (None, Vec::new())))),
            ("red is not faster than blue.", None),
            ("red isn't faster than blue.", None),
            ("red would be faster than blue.", None),
            ("is red faster than blue?", None),
            ("red is faster than blue, but slower than green.", None),
            ("red is faster than blue on 4 gpus.", None),
            ("red is the second fastest.", None),
            ("red is the fastest among the small ones.", None),
            ("red is faster.", None),
        ] {
            let expect = expect.map(|(direction, (behind, load))| (direction, behind, load));
            assert_eq!(read(text), expect, "{text}");
        }
    }

    #[test]
    fn words_of_names_say_nothing() {
        let text = "faster-7b is slower than blue.";
        let first = |length: usize| std::iter::once(0..length).collect::<Vec<_>>();
        let found = order(text, &first(9)).expect("one order");
        assert_eq!(found.direction, Direction::Slower);
        let text = "no 1 is slower than blue.";
        let of_name = order(text, &first(4));
        assert!(of_name.is_some() && order(text, &[]).is_none());
    }
}
