//! Names of things without the ending that each configuration adds to all of them.
//!
//! Some tools use a different name in every configuration: `original_interactive`, `original_base`.
//! A reader means the same by both. Not here: which configurations there are.

/// Signs that divide a name into words.
const DIVIDERS: [char; 4] = ['_', '-', ' ', '.'];

/// The ending that each list of names has in common and that differs between the lists; `None` for
/// all lists unless taking it away leaves the same names in several of them.
pub(super) fn endings(lists: &[Vec<String>]) -> Vec<Option<String>> {
    let none = vec![None; lists.len()];
    if lists.len() < 2 || lists.iter().any(|names| names.len() < 2) {
        return none;
    }
    let all = || lists.iter().flatten();
    if all().any(|name| all().filter(|other| *other == name).count() > 1) {
        return none;
    }
    let whole: Vec<String> = lists.iter().map(|names| common_ending(names)).collect();
    // What all endings begin with belongs to the names: `a_awq_x`, `b_awq_x` and `a_awq_y`, `b_awq_y`.
    let shared = common_words(&whole);
    let endings: Vec<String> =
        whole.iter().map(|ending| ending.get(shared..).unwrap_or_default().to_owned()).collect();
    if endings.iter().any(String::is_empty) {
        return none;
    }
    let mut short: Vec<Vec<&str>> = Vec::new();
    for (names, ending) in lists.iter().zip(&endings) {
        short.push(names.iter().filter_map(|name| name.strip_suffix(ending.as_str())).collect());
    }
    let recurs = short
        .iter()
        .flatten()
        .any(|name| short.iter().filter(|names| names.contains(name)).count() > 1);
    if !recurs {
        return none;
    }
    endings.into_iter().map(Some).collect()
}

/// Names longer than this many letters are shortened: they have to fit next to a chart.
const LONG: usize = 24;
/// Signs at which a long name may be cut; not the point, which is part of a version.
const CUTS: [char; 4] = ['_', '-', ' ', '/'];

/// Takes away the words that all names begin and end with, where one of them is long: what was
/// taken from the beginning and from the end.
pub(super) fn shorten(names: &mut [String]) -> (String, String) {
    let is_long = names.iter().any(|name| name.chars().count() > LONG);
    if names.len() < 2 || !is_long {
        return (String::new(), String::new());
    }
    let Some(first) = names.first().cloned() else { return (String::new(), String::new()) };
    // What is left of a name has to begin with a letter or a digit, and must not be empty.
    let is_left =
        |rest: Option<&str>| rest.is_some_and(|rest| rest.starts_with(char::is_alphanumeric));
    let cuts = || first.char_indices().filter(|(_, c)| CUTS.contains(c));
    let mut beginnings = cuts().filter_map(|(at, c)| first.get(..at + c.len_utf8()));
    let is_beginning = |part: &&str| names.iter().all(|name| is_left(name.strip_prefix(*part)));
    let beginning = beginnings.rfind(is_beginning).unwrap_or_default().to_owned();
    let is_ending = |part: &&str| {
        let rest = |name: &String| {
            let rest = name.get(beginning.len()..).unwrap_or_default().strip_suffix(*part);
            is_left(rest)
        };
        names.iter().all(rest)
    };
    let ending = cuts().filter_map(|(at, _)| first.get(at..)).find(is_ending);
    let ending = ending.unwrap_or_default().to_owned();
    for name in names.iter_mut() {
        let rest = name.strip_prefix(beginning.as_str()).unwrap_or(name);
        *name = rest.strip_suffix(ending.as_str()).unwrap_or(rest).to_owned();
    }
    (beginning, ending)
}

/// The longest ending of all names that begins with a divider and leaves something of each.
fn common_ending(names: &[String]) -> String {
    let Some(first) = names.first() else { return String::new() };
    let starts = first.char_indices().filter(|(at, c)| *at > 0 && DIVIDERS.contains(c));
    let is_common = |ending: &&str| {
        names.iter().all(|name| name.len() > ending.len() && name.ends_with(*ending))
    };
    let mut endings = starts.filter_map(|(at, _)| first.get(at..));
    endings.find(is_common).unwrap_or_default().to_owned()
}

/// Bytes of the words that all endings begin with.
fn common_words(endings: &[String]) -> usize {
    let Some(first) = endings.first() else { return 0 };
    let ends = first.char_indices().filter(|(at, c)| *at > 0 && DIVIDERS.contains(c));
    let is_common = |at: &usize| {
        first.get(..*at).is_some_and(|words| {
            endings.iter().all(|ending| {
                let rest = ending.strip_prefix(words);
                rest.is_some_and(|rest| rest.starts_with(DIVIDERS))
            })
        })
    };
    ends.map(|(at, _)| at).filter(is_common).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(lists: &[&[&str]]) -> Vec<Option<String>> {
        let owned: Vec<Vec<String>> = lists
            .iter()
            .map(|names| names.iter().map(|name| (*name).to_owned()).collect())
            .collect();
        endings(&owned)
    }

    #[test]
    fn removes_the_ending_of_a_configuration_from_names() {
        let some = |ending: &str| Some(ending.to_owned());
        let lists: [&[&str]; 2] =
            [&["original_base", "w8_base"], &["w8_long_ctx", "original_long_ctx"]];
        assert_eq!(found(&lists), [some("_base"), some("_long_ctx")]);
        let lists: [&[&str]; 2] = [&["a_awq_x", "b_awq_x"], &["a_awq_y", "b_awq_y"]];
        assert_eq!(found(&lists), [some("_x"), some("_y")]);
    }

    #[test]
    fn shortens_long_names_by_their_common_part() {
        let shortened = |names: &[&str]| {
            let mut names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            let shared = shorten(&mut names);
            (names, shared)
        };
        let (names, shared) = shortened(&[
            "meta-llama/Llama-3.1-8B-FP8-Instruct",
            "meta-llama/Llama-3.1-8B-Instruct",
            "meta-llama/Llama-3.1-70B-Instruct",
        ]);
        assert_eq!(names, ["8B-FP8", "8B", "70B"]);
        assert_eq!(shared, ("meta-llama/Llama-3.1-".to_owned(), "-Instruct".to_owned()));
        for left in [
            ["original", "w8a8_sparse_smooth_gptq"],
            ["a-short-name", "a-short-game"],
            ["a-name-that-is-rather-long", "a-name-that-is-rather-long-int8"],
        ] {
            let (names, shared) = shortened(&left);
            let left = match left[0].len() > LONG {
                // One of them is the beginning of the other: the words before are shared still.
                true => ["long", "long-int8"],
                false => left,
            };
            assert_eq!(names, left);
            assert_eq!(shared.1, "");
        }
    }

    #[test]
    fn names_that_stay_are_left_alone() {
        assert_eq!(found(&[&["a-8b", "b-8b"], &["a-8b", "b-8b"]]), [None, None]);
        assert_eq!(found(&[&["a_x", "b_x"], &["c_y", "d_y"]]), [None, None]);
        assert_eq!(found(&[&["a_x"], &["a_y"]]), [None, None]);
        assert_eq!(found(&[&["a_x", "b_x"]]), [None]);
    }
}
