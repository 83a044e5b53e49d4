//! JSON Lines: a value on each line, read line by line in bounded memory. A line that is broken
//! does not keep the others from being read.

use super::super::bounds::VALUE_BYTES_MAX;
use super::super::lines;
use serde::de::DeserializeOwned;
use std::io::{self, BufRead};

/// Reads every line that is not empty: its number from 1, and its value or what is wrong with it.
///
/// # Errors
/// When the file cannot be read from.
pub(crate) fn read<T: DeserializeOwned>(
    reader: &mut dyn BufRead,
    mut take: impl FnMut(u32, Result<T, String>),
) -> io::Result<()> {
    lines::each(reader, VALUE_BYTES_MAX as u64, |number, line| match line {
        None => take(number, Err(format!("a line of more than {} MiB", VALUE_BYTES_MAX >> 20))),
        Some(line) if line.trim_ascii().is_empty() => {}
        Some(line) => take(number, super::lenient(line).map_err(|error| super::reason(&error))),
    })
    .map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_broken_line_leaves_the_others() {
        let mut seen = Vec::new();
        let text = "{\"a\": NaN}\n\n{\"a\": \n[7]";
        read::<serde_json::Value>(&mut text.as_bytes(), |line, value| {
            seen.push((line, value.map(|value| value.to_string())));
        })
        .unwrap();
        assert_eq!(seen[0], (1, Ok("{\"a\":null}".to_owned())));
        assert!(seen[1].0 == 3 && seen[1].1.is_err());
        assert_eq!(seen[2], (4, Ok("[7]".to_owned())));
    }
}
