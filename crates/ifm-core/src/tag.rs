//! Tags of the form `NAME=VALUE`: factors that the user sets and this program cannot see.
//!
//! `run --tag` and `runs tag` read them by one rule. Not here: tags without a value, which are words
//! to find runs by.

use crate::delimited::is_direction_mark;

/// Maximum length of the name of a run, an import or a part of a plan, characters.
pub const NAME_LENGTH_MAX: usize = 120;
/// Maximum length of a tag with its value, bytes.
const LENGTH_MAX: usize = 200;

/// Reads `gpu=L40S` as name and value.
///
/// # Errors
/// A sentence on what is expected.
pub fn parse_tag(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("write it as NAME=VALUE")?;
    let is_name =
        !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "_-.".contains(c));
    if !is_name {
        return Err("a name is made of letters, digits, and _ - .".to_owned());
    }
    if value.is_empty() || text.len() > LENGTH_MAX || value.chars().any(char::is_control) {
        return Err(format!("a value has 1 to {LENGTH_MAX} characters, none of them control"));
    }
    Ok((name.to_owned(), value.to_owned()))
}

/// Checks the name of a run, an import or a part of a plan, and returns it without blanks around it.
///
/// # Errors
/// A sentence on what is wrong with it, which can follow "the name".
pub fn check_name(text: &str) -> Result<String, String> {
    let name = text.trim();
    let length = name.chars().count();
    match () {
        () if name.is_empty() => Err("it is empty".to_owned()),
        () if length > NAME_LENGTH_MAX => {
            Err(format!("it has {length} characters, {NAME_LENGTH_MAX} are allowed"))
        }
        () if name.contains(char::is_control) => {
            Err("it holds a line break or another control character".to_owned())
        }
        () if name.contains(is_direction_mark) => {
            Err("it holds a mark that changes the direction of text".to_owned())
        }
        () => Ok(name.to_owned()),
    }
}

/// Checks a name that becomes part of the name of a file: letters, digits, and `_ - .`, at most [`NAME_LENGTH_MAX`]
/// of them, beginning with a letter, a digit or `_`.
///
/// # Errors
/// A sentence on what is wrong with it.
pub fn check_file_name(name: &str) -> Result<(), String> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
    let length = name.chars().count();
    match () {
        () if name.is_empty() || !name.chars().all(is_part) => {
            Err("a name is made of letters, digits, and _ - .".to_owned())
        }
        () if name.starts_with(['-', '.']) => {
            Err("a name begins with a letter, a digit or _".to_owned())
        }
        () if length > NAME_LENGTH_MAX => {
            Err(format!("a name has at most {NAME_LENGTH_MAX} characters, this one has {length}"))
        }
        () => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_a_line_of_bounded_length() {
        assert_eq!(check_name(" a run, 8 users "), Ok("a run, 8 users".to_owned()));
        assert!(check_name(&"é".repeat(NAME_LENGTH_MAX)).is_ok());
        let long = "x".repeat(NAME_LENGTH_MAX + 1);
        for bad in ["", "  ", "a\nb", "a\u{1b}[0m", "a\u{9b}0m", "a\0", "a\u{202e}b", &long] {
            assert!(check_name(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn a_name_of_a_file_stays_in_its_folder_and_is_no_flag() {
        for good in ["a", "vllm-0.9_fp8.1", "_x", "0", &"x".repeat(NAME_LENGTH_MAX)] {
            assert_eq!(check_file_name(good), Ok(()), "{good}");
        }
        let long = "x".repeat(3000);
        let bad = [
            "", "-rf", "--", ".", "..", ".hidden", "a/b", "../a", "a\\b", "a b", "a\n", "a\u{1b}",
            "é", &long,
        ];
        for bad in bad {
            assert!(check_file_name(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn a_tag_is_a_name_and_a_value() {
        assert_eq!(parse_tag("gpu=L40S=2"), Ok(("gpu".to_owned(), "L40S=2".to_owned())));
        for bad in ["gpu", "=x", "gpu=", "a b=c", "a=\u{1b}[0m"] {
            assert!(parse_tag(bad).is_err(), "{bad}");
        }
    }
}
