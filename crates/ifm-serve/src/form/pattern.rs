//! A text that a regular expression matches as a whole.
//!
//! Not here: expressions that look around; those are refused.

use ifm_kernels::RandomStream;
use regex_syntax::{
    Parser,
    hir::{Class, Hir, HirKind},
};

use super::below;

/// Times that something is repeated beyond the least, at most.
const MORE_MAX: u32 = 8;
/// Longest text, bytes: a short expression can ask for a very long one.
const TEXT_BYTES_MAX: usize = 64 << 10;

/// A text of a pattern.
///
/// # Errors
/// Why there is none, in words.
pub(super) fn text(pattern: &str, draws: &mut RandomStream) -> Result<String, String> {
    let parsed = Parser::new().parse(pattern);
    let hir = parsed.map_err(|_| "the expression does not compile".to_owned())?;
    let mut out = Vec::new();
    put(&hir, draws, &mut out)?;
    String::from_utf8(out).map_err(|_| "the expression is not of text".to_owned())
}

fn put(hir: &Hir, draws: &mut RandomStream, out: &mut Vec<u8>) -> Result<(), String> {
    if out.len() > TEXT_BYTES_MAX {
        return Err("the expression asks for too long a text".to_owned());
    }
    match hir.kind() {
        // A text is matched as a whole, which is what anchors of its ends ask for.
        HirKind::Empty | HirKind::Look(_) => {}
        HirKind::Literal(literal) => out.extend_from_slice(&literal.0),
        HirKind::Class(class) => put_one_of(class, draws, out)?,
        HirKind::Repetition(repeated) => {
            let most = repeated.max.unwrap_or(u32::MAX);
            let more = most.saturating_sub(repeated.min).min(MORE_MAX);
            let times = repeated.min + below(draws, more as usize + 1) as u32;
            for _ in 0..times {
                put(&repeated.sub, draws, out)?;
            }
        }
        HirKind::Capture(capture) => put(&capture.sub, draws, out)?,
        HirKind::Concat(parts) => {
            for part in parts {
                put(part, draws, out)?;
            }
        }
        HirKind::Alternation(parts) => {
            if let Some(part) = parts.get(below(draws, parts.len())) {
                put(part, draws, out)?;
            }
        }
    }
    Ok(())
}

/// A letter of a class: one of what is easily read, where the class has such.
fn put_one_of(class: &Class, draws: &mut RandomStream, out: &mut Vec<u8>) -> Result<(), String> {
    let ranges: Vec<(char, char)> = match class {
        Class::Unicode(class) => class.iter().map(|range| (range.start(), range.end())).collect(),
        Class::Bytes(class) => {
            class.iter().map(|range| (char::from(range.start()), char::from(range.end()))).collect()
        }
    };
    let is_in = |letter: &char| ranges.iter().any(|(low, high)| (low..=high).contains(&letter));
    let plain: Vec<char> = (' '..='~').filter(is_in).collect();
    let letter = match plain.is_empty() {
        false => plain.get(below(draws, plain.len())).copied(),
        true => ranges.first().map(|(low, _)| *low),
    };
    let letter = letter.ok_or("a class of the expression is empty")?;
    out.extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_of_their_pattern() {
        let mut draws = RandomStream::new(5, "test");
        for pattern in [
            r"[a-z]+@[a-z]+\.com",
            r"^\d{3}-(\d{4}|x{2,3})?$",
            r"(yes|no)( maybe)*",
            r"[^a-z]{4}",
            r"[äöü]\w.",
            "",
        ] {
            let regex = regex::Regex::new(&format!("^(?:{pattern})$")).expect(pattern);
            for _ in 0..50 {
                let made = text(pattern, &mut draws).expect(pattern);
                assert!(regex.is_match(&made), "{pattern}: {made:?}");
            }
        }
        assert!(text("(?=a)b", &mut draws).is_err());
        assert!(text("((a{999}){999}){999}", &mut draws).is_err());
    }
}
