//! A sentence that keeps its numbers as numbers.
//!
//! A report writes them as it writes the numbers of its tables and charts, so that all three are
//! the same; a program finds them in the JSON with all digits.

/// How a number in a sentence is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meant {
    /// Milliseconds.
    Ms,
    /// A limit in milliseconds, as somebody set it: written without rounding.
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
    /// Begins with words.
    pub fn new(text: impl Into<String>) -> Sentence {
        Sentence(vec![Piece::Text(text.into())])
    }

    /// Goes on with words.
    #[must_use]
    pub fn text(mut self, text: impl Into<String>) -> Sentence {
        self.0.push(Piece::Text(text.into()));
        self
    }

    /// Goes on with a number.
    #[must_use]
    pub fn number(mut self, value: f64, meant: Meant) -> Sentence {
        self.0.push(Piece::Number(value, meant));
        self
    }

    /// Goes on with a number that was read between two measured ones, and says so with `~`.
    #[must_use]
    pub fn read(self, value: f64, meant: Meant, is_measured: bool) -> Sentence {
        if is_measured { self } else { self.text("~") }.number(value, meant)
    }

    /// Goes on with another sentence.
    #[must_use]
    pub fn then(mut self, other: Sentence) -> Sentence {
        self.0.extend(other.0);
        self
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
