//! Tags of the form `NAME=VALUE`: factors that the user sets and this program cannot see.
//!
//! `run --tag` and `runs tag` read them by one rule. Not here: tags without a value, which are words
//! to find runs by.

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

#[cfg(test)]
mod tests {
    use super::parse_tag;

    #[test]
    fn a_tag_is_a_name_and_a_value() {
        assert_eq!(parse_tag("gpu=L40S=2"), Ok(("gpu".to_owned(), "L40S=2".to_owned())));
        for bad in ["gpu", "=x", "gpu=", "a b=c", "a=\u{1b}[0m"] {
            assert!(parse_tag(bad).is_err(), "{bad}");
        }
    }
}
