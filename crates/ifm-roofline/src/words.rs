//! Names of machines and models as they occur in the wild, taken apart into words.
//!
//! A name is matched by words and never by likeness: likeness serves only for what to suggest.
//!
//! Not here: which names there are (the tables), and which words make another product (`machine`,
//! `model`).

/// Longest name that is looked at, bytes: what is longer is prose.
const NAME_BYTES_MAX: usize = 512;

/// The words of a name: lower case, parted at everything but letters, digits and points inside a
/// number, and between letters and a number that follows them (`llama3.1` is `llama`, `3.1`; a
/// single letter stays: `l40s`, `a3b`). `80 GB`, `80GiB` and `80g` are all `80gb`.
pub(crate) fn words(name: &str) -> Vec<String> {
    let name: String = name.chars().take(NAME_BYTES_MAX).collect::<String>().to_lowercase();
    let mut words: Vec<String> = Vec::new();
    for piece in pieces(&name) {
        let letters = piece.chars().take_while(char::is_ascii_alphabetic).count();
        let (head, number) = piece.split_at(if letters >= 2 { letters } else { 0 });
        words.extend([head, number].into_iter().filter(|part| !part.is_empty()).map(str::to_owned));
    }
    gigabytes(words)
}

/// Parts a name at everything but letters, digits and points between digits.
fn pieces(name: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut start = 0;
    let bytes = name.as_bytes();
    let is_digit =
        |at: Option<usize>| at.and_then(|at| bytes.get(at)).is_some_and(u8::is_ascii_digit);
    for (at, c) in name.char_indices() {
        let is_inside = c.is_ascii_alphanumeric()
            || (c == '.' && is_digit(at.checked_sub(1)) && is_digit(Some(at + 1)));
        if !is_inside {
            pieces.push(&name[start..at]);
            start = at + c.len_utf8();
        }
    }
    pieces.push(&name[start..]);
    pieces.retain(|piece| !piece.is_empty());
    pieces
}

/// Brings sizes of memory into one form.
fn gigabytes(words: Vec<String>) -> Vec<String> {
    let mut out: Vec<String> = Vec::with_capacity(words.len());
    for word in words {
        let is_unit = matches!(word.as_str(), "gb" | "gib" | "g");
        match out.last_mut() {
            Some(last) if is_unit && last.parse::<f64>().is_ok() => last.push_str("gb"),
            _ => match word.strip_suffix("gib").or_else(|| word.strip_suffix('g')) {
                Some(number) if number.parse::<f64>().is_ok() => out.push(format!("{number}gb")),
                _ => out.push(word),
            },
        }
    }
    out
}

/// Gigabytes that a word states.
pub(crate) fn stated_gigabytes(word: &str) -> Option<f64> {
    word.strip_suffix("gb")?.parse().ok()
}

/// Whether all words of `part` occur in `whole`, in their order.
pub(crate) fn is_within(part: &[String], whole: &[String]) -> bool {
    let mut rest = whole.iter();
    part.iter().all(|word| rest.any(|other| other == word))
}

/// How alike two names are, 0 to 1: shared pairs of neighbouring characters (Dice's coefficient).
pub(crate) fn likeness(left: &str, right: &str) -> f64 {
    let pairs = |text: &str| -> Vec<(char, char)> {
        let letters: Vec<char> =
            text.to_lowercase().chars().filter(char::is_ascii_alphanumeric).collect();
        letters.iter().copied().zip(letters.iter().copied().skip(1)).collect()
    };
    let (left, mut right) = (pairs(left), pairs(right));
    let total = left.len() + right.len();
    if total == 0 {
        return 0.0;
    }
    let mut shared = 0;
    for pair in left {
        if let Some(place) = right.iter().position(|other| *other == pair) {
            right.swap_remove(place);
            shared += 1;
        }
    }
    2.0 * f64::from(shared) / total as f64
}

/// A row of a table, with what it may be called.
pub(crate) struct Names<'a> {
    /// Place in the table.
    pub place: usize,
    /// The row's id.
    pub id: &'a str,
    /// The row's name in full.
    pub title: &'a str,
    /// Its names, in words.
    pub aliases: Vec<Vec<String>>,
}

/// The outcome of a search.
pub(crate) enum Search {
    /// The row at this place.
    Found(usize),
    /// Several rows fit.
    Several(Vec<String>),
    /// None fits; these are the nearest.
    Nothing(Vec<String>),
}

/// Suggestions at most.
const SUGGESTED_MAX: usize = 6;
/// Likeness below which a name is not a suggestion.
const LIKENESS_MIN: f64 = 0.35;

/// Finds the row whose name the asked words contain; the longest name wins. `is_other` returns
/// whether the asked words name another product although this name of the row fits.
pub(crate) fn search(
    asked: &str,
    asked_words: &[String],
    rows: &[Names<'_>],
    is_other: impl Fn(usize, &[String]) -> bool,
) -> Search {
    if let Some(row) = rows.iter().find(|row| row.id.eq_ignore_ascii_case(asked.trim())) {
        return Search::Found(row.place);
    }
    let mut best: (usize, Vec<&Names<'_>>) = (0, Vec::new());
    for row in rows {
        let longest = row
            .aliases
            .iter()
            .filter(|alias| is_within(alias, asked_words) && !is_other(row.place, alias))
            .map(Vec::len)
            .max();
        match longest {
            Some(length) if length > best.0 => best = (length, vec![row]),
            Some(length) if length == best.0 => best.1.push(row),
            _ => {}
        }
    }
    match best.1.as_slice() {
        [row] => return Search::Found(row.place),
        [] => {}
        several => return Search::Several(several.iter().map(|row| row.id.to_owned()).collect()),
    }
    let fits = |row: &&Names<'_>| {
        row.aliases.iter().any(|alias| asked_words.iter().all(|word| alias.contains(word)))
    };
    let wider: Vec<String> =
        rows.iter().filter(fits).take(SUGGESTED_MAX).map(|row| row.id.to_owned()).collect();
    if !asked_words.is_empty() && !wider.is_empty() {
        return Search::Several(wider);
    }
    let mut alike: Vec<(f64, &str)> = rows
        .iter()
        .map(|row| (likeness(asked, row.id).max(likeness(asked, row.title)), row.id))
        .filter(|(likeness, _)| *likeness >= LIKENESS_MIN)
        .collect();
    alike.sort_by(|left, right| right.0.total_cmp(&left.0));
    Search::Nothing(
        alike.into_iter().take(SUGGESTED_MAX / 2).map(|(_, id)| id.to_owned()).collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_taken_apart() {
        let cases = [
            ("NVIDIA H100 80GB HBM3", "nvidia h100 80gb hbm 3"),
            ("Single L40S GPU, 46GB", "single l40s gpu 46gb"),
            ("NVIDIA A100-SXM4-80 GiB", "nvidia a100 sxm 4 80gb"),
            ("meta-llama/Llama-3.1-8B-Instruct", "meta llama llama 3.1 8b instruct"),
            ("Qwen3-30B-A3B", "qwen 3 30b a3b"),
            ("llama3.3", "llama 3.3"),
            ("qwen3moe 30B.A3B", "qwen 3moe 30b a3b"),
            ("mistral-7b-v0.1.", "mistral 7b v0.1"),
        ];
        for (name, expected) in cases {
            assert_eq!(words(name).join(" "), expected);
        }
    }

    #[test]
    fn likeness_is_one_for_the_same_and_zero_for_nothing_shared() {
        assert!((likeness("L40S", "l-40-s") - 1.0).abs() < 1e-12);
        assert!(likeness("abc", "xyz") == 0.0 && likeness("", "") == 0.0);
    }
}
