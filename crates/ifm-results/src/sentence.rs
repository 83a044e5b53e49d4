//! A sentence that keeps its numbers as numbers.
//!
//! A report writes them as it writes the numbers of its tables and charts, so that all three are
//! the same; a program finds them in the JSON with all digits.

/// How a number in a sentence is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meant {
    /// Milliseconds.
    Ms,
    /// A limit in milliseconds, as it was set: written without rounding.
    LimitMs,
    /// Tokens per second.
    TokPerS,
    /// Requests per second.
    ReqPerS,
    /// How many times as much: `2.35×`.
    Times,
    /// A share, 0 to 1, written in percent.
    Share,
    /// A change, -1 up, written in percent with its sign.
    Change,
    /// A number of things.
    Count,
    /// Tokens per hour.
    TokPerH,
    /// US dollars.
    Usd,
    /// Watts.
    W,
    /// Joules.
    J,
    /// Bytes, written in powers of 1024.
    Bytes,
    /// Bytes per second, written in powers of 1000.
    BytesPerS,
    /// Floating-point operations per second.
    FlopPerS,
    /// A load: users are whole numbers, rates need not be.
    Load,
    /// A number without unit.
    Plain,
}

impl Meant {
    /// The unit as a word in a file.
    pub fn word(self) -> &'static str {
        match self {
            Meant::Ms | Meant::LimitMs => "ms",
            Meant::TokPerS => "tok/s",
            Meant::ReqPerS => "req/s",
            Meant::Times => "ratio",
            Meant::Share => "share",
            Meant::Change => "change",
            Meant::Count => "count",
            Meant::TokPerH => "tok/h",
            Meant::Usd => "usd",
            Meant::W => "W",
            Meant::J => "J",
            Meant::Bytes => "B",
            Meant::BytesPerS => "B/s",
            Meant::FlopPerS => "flop/s",
            Meant::Load => "load",
            Meant::Plain => "",
        }
    }
}

/// A piece of a sentence.
#[derive(Debug, Clone, PartialEq)]
pub enum Piece {
    /// Words.
    Text(String),
    /// A number.
    Number(f64, Meant),
}

/// A sentence.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Sentence(Vec<Piece>);

impl Sentence {
    /// One number; one that was read between two measured ones says so with `~`.
    pub fn number(value: f64, meant: Meant, is_measured: bool) -> Sentence {
        let mark = (!is_measured).then(|| Piece::Text("~".to_owned()));
        Sentence(mark.into_iter().chain([Piece::Number(value, meant)]).collect())
    }

    /// Parts with words between them, others between the last two.
    pub fn list(parts: impl IntoIterator<Item = Sentence>, between: &str, last: &str) -> Sentence {
        let parts: Vec<Sentence> = parts.into_iter().collect();
        let count = parts.len();
        let mut pieces = Vec::new();
        for (index, part) in parts.into_iter().enumerate() {
            if index > 0 {
                let words = if index + 1 == count { last } else { between };
                pieces.push(Piece::Text(words.to_owned()));
            }
            pieces.extend(part.0);
        }
        Sentence(pieces)
    }

    /// Words, with a part for every `{}` in them.
    pub fn filled<const PARTS: usize>(words: &str, parts: [Sentence; PARTS]) -> Sentence {
        let mut pieces = Vec::new();
        let mut parts = parts.into_iter();
        for (index, text) in words.split("{}").enumerate() {
            if index > 0 {
                pieces.extend(parts.next().unwrap_or_default().0);
            }
            if !text.is_empty() {
                pieces.push(Piece::Text(text.to_owned()));
            }
        }
        Sentence(pieces)
    }

    /// The pieces in order.
    pub fn pieces(&self) -> &[Piece] {
        &self.0
    }

    /// The numbers in order.
    pub fn numbers(&self) -> impl Iterator<Item = (f64, Meant)> {
        self.0.iter().filter_map(|piece| match piece {
            Piece::Number(value, meant) => Some((*value, *meant)),
            Piece::Text(_) => None,
        })
    }
}

impl From<&Sentence> for Sentence {
    fn from(part: &Sentence) -> Sentence {
        part.clone()
    }
}

impl<T: std::fmt::Display + ?Sized> From<&T> for Sentence {
    /// Words.
    fn from(words: &T) -> Sentence {
        Sentence(vec![Piece::Text(words.to_string())])
    }
}

/// How many parts a sentence has room for.
pub const fn holes(words: &str) -> usize {
    let words = words.as_bytes();
    let (mut at, mut holes) = (1, 0);
    while at < words.len() {
        if words[at - 1] == b'{' && words[at] == b'}' {
            holes += 1;
        }
        at += 1;
    }
    holes
}

/// A sentence, as `format!` would write it: for every `{}` words, a sentence, or a number with how it
/// is meant, `limit => Ms`; one that was perhaps read between two measured ones is
/// `limit => Ms if is_measured`. What does not fill the sentence does not compile.
#[macro_export]
macro_rules! say {
    (@ $value:expr) => { $crate::sentence::Sentence::from(&$value) };
    (@ $value:expr, $meant:ident) => { $crate::say!(@ $value, $meant, true) };
    (@ $value:expr, $meant:ident, $is_measured:expr) => {
        $crate::sentence::Sentence::number($value, $crate::sentence::Meant::$meant, $is_measured)
    };
    ($words:literal $(; $($value:expr $(=> $meant:ident $(if $is_measured:expr)?)?),+)?) => {{
        const PARTS: usize = $crate::sentence::holes($words);
        let parts: [$crate::sentence::Sentence; PARTS] =
            [$($($crate::say!(@ $value $(, $meant $(, $is_measured)?)?)),+)?];
        $crate::sentence::Sentence::filled($words, parts)
    }};
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_has_words_and_numbers_in_their_places() {
        let inner = say!("at {}"; 4.0 => Load);
        let sentence = say!("{} takes {} {}."; "it", 7.5 => Ms if false, inner);
        let text = |text: &str| Piece::Text(text.to_owned());
        let number = Piece::Number;
        let expected = [
            text("it"),
            text(" takes "),
            text("~"),
            number(7.5, Meant::Ms),
            text(" "),
            text("at "),
            number(4.0, Meant::Load),
            text("."),
        ];
        assert_eq!(sentence.pieces(), expected);
        assert_eq!(say!("so").pieces(), [text("so")]);
    }
}
