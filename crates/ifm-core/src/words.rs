//! Numbers of things in words, so that one thing is never several (`1 request`, `2 requests`), and the
//! word that was meant where another was written.
//!
//! Not here: how large numbers are written, which is the part of reports.

/// The noun that fits a number: `request` for 1, `requests` for any other.
pub fn plural(n: u64, noun: &str) -> String {
    if n == 1 { noun.to_owned() } else { format!("{noun}s") }
}

/// A number of things: `1 request`, `2 requests`.
pub fn counted(n: u64, noun: &str) -> String {
    format!("{n} {}", plural(n, noun))
}

/// The nearest of the known words, if one is near enough to be meant.
pub fn nearest<'word>(word: &str, known: impl Iterator<Item = &'word str>) -> Option<&'word str> {
    let letters = word.chars().count();
    // A third of the letters, but never all of them.
    let most = letters.div_ceil(3).min(letters.saturating_sub(1));
    known
        .map(|other| (edits(word, other), other))
        .filter(|(edits, _)| *edits <= most)
        .min()
        .map(|(_, other)| other)
}

/// Letters to insert, remove, change or swap with their neighbor until one word is the other (optimal
/// string alignment).
fn edits(one: &str, other: &str) -> usize {
    let (one, other): (Vec<char>, Vec<char>) = (one.chars().collect(), other.chars().collect());
    let at = |row: &[usize], place: usize| row.get(place).copied().unwrap_or(usize::MAX / 2);
    let mut before: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=other.len()).collect();
    for (place, letter) in one.iter().enumerate() {
        let mut row = vec![place + 1];
        for (column, goal) in other.iter().enumerate() {
            let changed = at(&above, column) + usize::from(letter != goal);
            let least = changed.min(at(&row, column) + 1).min(at(&above, column + 1) + 1);
            let previous = place.checked_sub(1).and_then(|place| one.get(place));
            let previous_goal = column.checked_sub(1).and_then(|column| other.get(column));
            let is_swap = previous == Some(goal) && previous_goal == Some(letter);
            let swapped = column.checked_sub(1).map(|column| at(&before, column) + 1);
            row.push(swapped.filter(|_| is_swap).map_or(least, |swapped| swapped.min(least)));
        }
        (before, above) = (above, row);
    }
    above.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_one_and_none_are_several() {
        assert_eq!(counted(0, "user"), "0 users");
        assert_eq!(counted(1, "user"), "1 user");
        assert_eq!(counted(2, "user"), "2 users");
    }

    #[test]
    fn the_nearest_word_is_one_that_can_be_meant() {
        for (one, other, expect) in [
            ("", "", 0),
            ("a", "", 1),
            ("", "ab", 2),
            ("kitten", "sitting", 3),
            // Swapped letters are one edit.
            ("ab", "ba", 1),
            ("usres", "users", 1),
            ("same", "same", 0),
        ] {
            assert_eq!((edits(one, other), edits(other, one)), (expect, expect), "{one} {other}");
        }
        let known = ["text", "tool_calls", "finish_reason"];
        assert_eq!(nearest("finsh_reason", known.into_iter()), Some("finish_reason"));
        assert_eq!(nearest("texts", known.into_iter()), Some("text"));
        assert_eq!(nearest("usage", known.into_iter()), None);
        assert_eq!(nearest("b", ["a"].into_iter()), None);
    }
}
