//! JSON Lines: a value on each line, read line by line in bounded memory. A line that is broken
//! does not keep the others from being read.

use serde::de::DeserializeOwned;
use std::io::{self, BufRead, Read};

/// Bytes of a line at most; a longer one is told and skipped.
const LINE_BYTES_MAX: u64 = 256_000_000;

/// Reads every line that is not empty: its number from 1, and its value or what is wrong with it.
///
/// # Errors
/// When the file cannot be read from.
pub(crate) fn read<T: DeserializeOwned>(
    reader: &mut dyn BufRead,
    mut take: impl FnMut(u32, Result<T, String>),
) -> io::Result<()> {
    let mut line = Vec::new();
    for number in 1_u32.. {
        line.clear();
        let length = reader.take(LINE_BYTES_MAX).read_until(b'\n', &mut line)?;
        if length == 0 {
            break;
        }
        if length as u64 == LINE_BYTES_MAX && line.last() != Some(&b'\n') {
            skip_line(reader)?;
            take(number, Err("a line of more than 256 MB".to_owned()));
        } else if !line.trim_ascii().is_empty() {
            take(number, super::lenient(&line).map_err(|error| super::reason(&error)));
        }
    }
    Ok(())
}

fn skip_line(reader: &mut dyn BufRead) -> io::Result<()> {
    loop {
        let bytes = reader.fill_buf()?;
        let end = memchr::memchr(b'\n', bytes).map(|at| at + 1);
        let (length, done) = (end.unwrap_or(bytes.len()), end.is_some() || bytes.is_empty());
        reader.consume(length);
        if done {
            return Ok(());
        }
    }
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
