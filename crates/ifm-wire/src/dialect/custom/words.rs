//! The known word that is nearest to one that is not known.

/// The nearest of the known words, if one is near enough to be meant.
pub fn nearest<'word>(word: &str, known: impl Iterator<Item = &'word str>) -> Option<&'word str> {
    let most = word.chars().count().div_ceil(3);
    known
        .map(|other| (edits(word, other), other))
        .filter(|(edits, _)| *edits <= most)
        .min()
        .map(|(_, other)| other)
}

/// Letters to put in, take out or change until one word is the other (Levenshtein's distance).
fn edits(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (place, letter) in one.chars().enumerate() {
        let mut diagonal = place;
        let mut left = place + 1;
        for (column, goal) in other.iter().enumerate() {
            let Some(above) = row.get(column + 1).copied() else { break };
            let changed = diagonal + usize::from(letter != *goal);
            let least = changed.min(left + 1).min(above + 1);
            if let Some(cell) = row.get_mut(column) {
                *cell = left;
            }
            (diagonal, left) = (above, least);
        }
        if let Some(last) = row.last_mut() {
            *last = left;
        }
    }
    row.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_word_is_one_that_can_be_meant() {
        for (one, other, expect) in
            [("", "", 0), ("a", "", 1), ("", "ab", 2), ("kitten", "sitting", 3), ("ab", "ba", 2)]
        {
            assert_eq!(edits(one, other), expect, "{one} {other}");
        }
        let known = ["text", "tool_calls", "finish_reason"];
        assert_eq!(nearest("finsh_reason", known.into_iter()), Some("finish_reason"));
        assert_eq!(nearest("texts", known.into_iter()), Some("text"));
        assert_eq!(nearest("usage", known.into_iter()), None);
    }
}
