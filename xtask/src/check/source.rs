//! Rust source without its comments and the contents of its strings.
//!
//! Enough of the language's grammar to distinguish a word of code from a word of prose; what it leaves
//! blank keeps its lines.

/// Replaces comments, strings and character literals by spaces; line breaks stay.
pub fn code_only(source: &str) -> String {
    let text: Vec<char> = source.chars().collect();
    let mut code = String::with_capacity(source.len());
    let mut at = 0;
    while let Some(&char) = text.get(at) {
        let is_word_start = at == 0 || !is_word(text.get(at - 1).copied());
        let end = match char {
            '/' if text.get(at + 1) == Some(&'/') => line_end(&text, at),
            '/' if text.get(at + 1) == Some(&'*') => comment_end(&text, at),
            '"' => string_end(&text, at),
            '\'' => quote_end(&text, at),
            'r' | 'b' | 'c' if is_word_start => prefixed_end(&text, at).unwrap_or(at),
            _ => at,
        };
        if end > at {
            let blank = text.get(at..end).unwrap_or_default().iter();
            code.extend(blank.map(|&char| if char == '\n' { '\n' } else { ' ' }));
            at = end;
        } else {
            code.push(char);
            at += 1;
        }
    }
    code
}

/// Whether the code contains a word, as a whole.
pub fn has_word(code: &str, word: &str) -> bool {
    words(code).any(|found| found == word)
}

/// The words of code: identifiers, keywords and numbers.
pub fn words(code: &str) -> impl Iterator<Item = &str> {
    code.split(|char| !is_word(Some(char))).filter(|word| !word.is_empty())
}

fn is_word(char: Option<char>) -> bool {
    char.is_some_and(|char| char.is_alphanumeric() || char == '_')
}

/// Where a line comment ends.
fn line_end(text: &[char], start: usize) -> usize {
    let rest = text.iter().skip(start);
    start + rest.take_while(|&&char| char != '\n').count()
}

/// Where a block comment, which may hold others, ends.
fn comment_end(text: &[char], start: usize) -> usize {
    let (mut at, mut depth) = (start, 0_usize);
    while at < text.len() {
        match (text.get(at), text.get(at + 1)) {
            (Some('/'), Some('*')) => {
                depth += 1;
                at += 2;
            }
            (Some('*'), Some('/')) => {
                depth -= 1;
                at += 2;
                if depth == 0 {
                    return at;
                }
            }
            _ => at += 1,
        }
    }
    text.len()
}

/// Where a string that begins with a quotation mark ends.
fn string_end(text: &[char], quote: usize) -> usize {
    let mut at = quote + 1;
    while let Some(&char) = text.get(at) {
        match char {
            '\\' => at += 2,
            '"' => return at + 1,
            _ => at += 1,
        }
    }
    text.len()
}

/// Where a character literal ends; the start itself for a lifetime.
fn quote_end(text: &[char], quote: usize) -> usize {
    match (text.get(quote + 1), text.get(quote + 2)) {
        (Some('\\'), _) => {
            let rest = text.iter().skip(quote + 3);
            let inside = rest.take_while(|&&char| char != '\'').count();
            (quote + 4 + inside).min(text.len())
        }
        (Some(_), Some('\'')) => quote + 3,
        _ => quote,
    }
}

/// Where a string or byte literal with a prefix ends: `r"…"`, `br#"…"#`, `c"…"`, `b'…'`.
fn prefixed_end(text: &[char], start: usize) -> Option<usize> {
    let letters = text.iter().skip(start).take_while(|char| matches!(char, 'r' | 'b' | 'c'));
    let prefix: String = letters.collect();
    let after = start + prefix.len();
    if prefix == "b" && text.get(after) == Some(&'\'') {
        return Some(quote_end(text, after));
    }
    if prefix.len() > 2 {
        return None;
    }
    if !prefix.contains('r') {
        return (text.get(after) == Some(&'"')).then(|| string_end(text, after));
    }
    let hashes = text.iter().skip(after).take_while(|&&char| char == '#').count();
    if text.get(after + hashes) != Some(&'"') {
        return None;
    }
    let mut at = after + hashes + 1;
    while at < text.len() {
        let closing = text.iter().skip(at + 1).take(hashes);
        if text.get(at) == Some(&'"') && closing.filter(|&&char| char == '#').count() == hashes {
            return Some(at + 1 + hashes);
        }
        at += 1;
    }
    Some(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_code_is_left() {
        let cases = [
            ("a // unsafe\nb", "a\nb"),
            ("a /* x /* unsafe */ y */ b", "a b"),
            ("f(\"unsafe \\\" unsafe\") g", "f( ) g"),
            ("f(r#\"unsafe \" unsafe\"#) g", "f( ) g"),
            ("f(br\"unsafe\\\") g", "f( ) g"),
            ("f(c\"unsafe\", b\"unsafe\") g", "f( , ) g"),
            ("let r = 'x'; let q = '\\''; let s = '\\u{1f}'; g", "let r = ; let q = ; let s = ; g"),
            ("fn f<'a>(x: &'a str) -> b'\"' g", "fn f<'a>(x: &'a str) -> g"),
            ("r#type bar.rb \"unsafe\" crab\"unsafe\" g", "r#type bar.rb crab g"),
            ("\"never closed unsafe", ""),
        ];
        for (source, expected) in cases {
            let squeeze = |text: &str| {
                let lines = text.lines().map(|line| {
                    line.split(' ').filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
                });
                lines.collect::<Vec<_>>().join("\n")
            };
            assert_eq!(squeeze(&code_only(source)), squeeze(expected), "{source}");
            assert_eq!(code_only(source).lines().count(), source.lines().count(), "{source}");
        }
    }

    #[test]
    fn words_are_whole() {
        assert!(has_word("x = unsafe { y }", "unsafe"));
        assert!(!has_word("#![forbid(unsafe_code)]", "unsafe"));
    }
}
