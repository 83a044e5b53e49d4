//! The lines of a file, one after the other, in bounded memory.

use std::io::{self, BufRead, Read};

/// Goes through the lines: the number of each from 1, and its bytes with their end, or nothing for
/// one that is longer than it may be, which is passed over. Gives the number of bytes.
///
/// # Errors
/// When the file cannot be read from.
pub(crate) fn each(
    reader: &mut dyn BufRead,
    bytes_max: u64,
    mut take: impl FnMut(u32, Option<&[u8]>),
) -> io::Result<u64> {
    let (mut line, mut bytes) = (Vec::new(), 0);
    for number in 1_u32.. {
        line.clear();
        let length = reader.take(bytes_max).read_until(b'\n', &mut line)? as u64;
        bytes += length;
        if length == 0 {
            break;
        }
        if length == bytes_max && line.last() != Some(&b'\n') {
            let rest = pass_line(reader)?;
            bytes += rest;
            // A line may end with the file where it is as long as it may be.
            take(number, Some(line.as_slice()).filter(|_| rest == 0));
        } else {
            take(number, Some(&line));
        }
    }
    Ok(bytes)
}

/// Skips the rest of a line and returns its number of bytes.
fn pass_line(reader: &mut dyn BufRead) -> io::Result<u64> {
    let mut passed = 0;
    loop {
        let bytes = reader.fill_buf()?;
        let end = memchr::memchr(b'\n', bytes).map(|at| at + 1);
        let (length, is_done) = (end.unwrap_or(bytes.len()), end.is_some() || bytes.is_empty());
        reader.consume(length);
        passed += length as u64;
        if is_done {
            return Ok(passed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_is_too_long_costs_no_other() {
        let mut seen = Vec::new();
        let text = b"one\n\n0123456789\ntwo\nabcd";
        let bytes = each(&mut text.as_slice(), 4, |number, line| {
            seen.push((number, line.map(|line| String::from_utf8_lossy(line).into_owned())));
        });
        assert_eq!(bytes.expect("text"), text.len() as u64);
        let some = |text: &str| Some(text.to_owned());
        let expected =
            [(1, some("one\n")), (2, some("\n")), (3, None), (4, some("two\n")), (5, some("abcd"))];
        assert_eq!(seen, expected);
    }
}
