//! Words, numbers and signs of a piece of text.

/// What a token is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Kind {
    /// Letters, then letters, digits and underscores.
    Word,
    /// Digits with a decimal point and with commas between thousands.
    Number(f64),
    /// One other character.
    Sign,
}

/// A piece of text.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Token<'a> {
    pub kind: Kind,
    pub text: &'a str,
    /// First byte.
    pub start: usize,
    /// Byte behind it.
    pub end: usize,
}

impl Token<'_> {
    /// Whether it is this word, in whatever case, or this sign.
    pub fn is(&self, text: &str) -> bool {
        self.text.eq_ignore_ascii_case(text)
    }

    /// The number that it is.
    pub fn number(&self) -> Option<f64> {
        match self.kind {
            Kind::Number(number) => Some(number),
            Kind::Word | Kind::Sign => None,
        }
    }
}

/// The tokens of a text, without white space.
pub(crate) fn lex(text: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let mut start = 0;
    while let Some(first) = text.get(start..).and_then(|rest| rest.chars().next()) {
        let rest = text.get(start..).unwrap_or_default();
        let length = match first {
            c if c.is_whitespace() => {
                start += c.len_utf8();
                continue;
            }
            c if c.is_ascii_digit() => number_length(rest),
            c if c.is_alphabetic() => {
                rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len())
            }
            c => c.len_utf8(),
        };
        let piece = rest.get(..length).unwrap_or_default();
        let kind = match first {
            c if c.is_ascii_digit() => match piece.replace(',', "").parse() {
                Ok(number) => Kind::Number(number),
                Err(_) => Kind::Sign,
            },
            c if c.is_alphabetic() => Kind::Word,
            _ => Kind::Sign,
        };
        tokens.push(Token { kind, text: piece, start, end: start + length });
        start += length;
    }
    tokens
}

/// Bytes of the number at the beginning: `12`, `1,234.5`.
fn number_length(text: &str) -> usize {
    let digits = |from: usize| {
        let rest = text.get(from..).unwrap_or_default();
        rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len()
    };
    let mut length = digits(0);
    if length <= 3 {
        while text.get(length..).is_some_and(|rest| rest.starts_with(','))
            && digits(length + 1) == 3
        {
            length += 4;
        }
    }
    let decimals = match text.get(length..) {
        Some(rest) if rest.starts_with('.') => digits(length + 1),
        _ => 0,
    };
    if decimals > 0 { length + 1 + decimals } else { length }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_taken_apart() {
        let pieces = |text| lex(text).iter().map(|token| token.text).collect::<Vec<_>>();
        assert_eq!(
            pieces("TTFT is 1,234.5ms (3, 4)."),
            ["TTFT", "is", "1,234.5", "ms", "(", "3", ",", "4", ")", "."]
        );
        assert_eq!(pieces("batch_size=1, 20–70"), ["batch_size", "=", "1", ",", "20", "–", "70"]);
        assert_eq!(lex("1,000,000")[0].number(), Some(1e6));
        assert_eq!(pieces("1,23"), ["1", ",", "23"]);
        assert_eq!(pieces("5."), ["5", "."]);
    }
}
