//! Numbers of things in words, so that one thing is never several: `1 request`, `2 requests`.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_one_and_none_are_several() {
        assert_eq!(counted(0, "user"), "0 users");
        assert_eq!(counted(1, "user"), "1 user");
        assert_eq!(counted(2, "user"), "2 users");
    }
}
