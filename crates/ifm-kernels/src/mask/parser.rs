//! The language of `expr:`, such as `q >= k && (q - k) % 4 == 0`.
//!
//! Integers with `q`, `k` and `h`; `+ - * / %` where `/` and `%` round down and divide by a number
//! that is written out; comparisons, `&&`, `||`, `!` and parentheses. They bind as in Rust: `!` and
//! minus, then `* / %`, then `+ -`, then comparisons, which do not chain, then `&&`, then `||`.
//!
//! Not here: what a condition means (`expression`).

use super::{
    MaskError,
    expression::{Comparison, Condition, Number},
};

/// Parentheses and signs within each other that are read: the tree is walked by recursion.
const DEEPEST: usize = 100;

/// Characters that are read, for the same reason: a long sum is a deep tree.
const LONGEST: usize = 2000;

/// Reads a condition. Columns in errors count characters of `text` from 1.
pub(super) fn parse(text: &str) -> Result<Condition, MaskError> {
    let mut reader = Reader { text, place: 0, depth: 0 };
    if text.len() > LONGEST {
        return Err(reader.wrong(0, format!("more than {LONGEST} characters")));
    }
    let tree = reader.any_of()?;
    reader.skip_blanks();
    match reader.rest().chars().next() {
        None => reader.condition(tree),
        Some(next) => Err(reader.wrong(reader.place, format!("`{next}` is not expected here"))),
    }
}

/// What has been read, with the place where it begins.
enum Tree {
    Number(Number, usize),
    Condition(Condition, usize),
}

impl Tree {
    fn start(&self) -> usize {
        match self {
            Self::Number(_, start) | Self::Condition(_, start) => *start,
        }
    }
}

struct Reader<'a> {
    text: &'a str,
    /// Byte that is next.
    place: usize,
    depth: usize,
}

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.place..]
    }

    fn wrong(&self, place: usize, what: impl Into<String>) -> MaskError {
        let column = self.text[..place].chars().count() + 1;
        MaskError::Expression { column, what: what.into() }
    }

    fn skip_blanks(&mut self) {
        self.place = self.text.len() - self.rest().trim_start().len();
    }

    /// The first of the signs that comes next, taken.
    fn sign(&mut self, signs: &[&'static str]) -> Option<&'static str> {
        self.skip_blanks();
        let found = signs.iter().find(|sign| self.rest().starts_with(**sign))?;
        self.place += found.len();
        Some(found)
    }

    fn number(&self, tree: Tree) -> Result<Number, MaskError> {
        match tree {
            Tree::Number(number, _) => Ok(number),
            Tree::Condition(_, start) => {
                Err(self.wrong(start, "expected a number, found a condition"))
            }
        }
    }

    fn condition(&self, tree: Tree) -> Result<Condition, MaskError> {
        match tree {
            Tree::Condition(condition, _) => Ok(condition),
            Tree::Number(_, start) => {
                Err(self.wrong(start, "expected a condition such as q >= k, found a number"))
            }
        }
    }

    fn any_of(&mut self) -> Result<Tree, MaskError> {
        let mut left = self.all_of()?;
        while self.sign(&["||"]).is_some() {
            let right = self.all_of()?;
            let start = left.start();
            let both = (Box::new(self.condition(left)?), Box::new(self.condition(right)?));
            left = Tree::Condition(Condition::Or(both.0, both.1), start);
        }
        Ok(left)
    }

    fn all_of(&mut self) -> Result<Tree, MaskError> {
        let mut left = self.comparison()?;
        while self.sign(&["&&"]).is_some() {
            let right = self.comparison()?;
            let start = left.start();
            let both = (Box::new(self.condition(left)?), Box::new(self.condition(right)?));
            left = Tree::Condition(Condition::And(both.0, both.1), start);
        }
        Ok(left)
    }

    fn comparison(&mut self) -> Result<Tree, MaskError> {
        const SIGNS: [&str; 6] = ["<=", ">=", "==", "!=", "<", ">"];
        let left = self.sum()?;
        let Some(sign) = self.sign(&SIGNS) else { return Ok(left) };
        let start = left.start();
        let right = self.sum()?;
        let (left, right) = (self.number(left)?, self.number(right)?);
        let place = self.place;
        if self.sign(&SIGNS).is_some() {
            return Err(self.wrong(place, "comparisons do not chain: join them by &&"));
        }
        let condition = match sign {
            "<" => Condition::Compare(Comparison::Less, left, right),
            ">" => Condition::Compare(Comparison::Less, right, left),
            "<=" => Condition::Compare(Comparison::LessOrEqual, left, right),
            ">=" => Condition::Compare(Comparison::LessOrEqual, right, left),
            "==" => Condition::Compare(Comparison::Equal, left, right),
            _ => Condition::Compare(Comparison::Unequal, left, right),
        };
        Ok(Tree::Condition(condition, start))
    }

    fn sum(&mut self) -> Result<Tree, MaskError> {
        let mut left = self.product()?;
        while let Some(sign) = self.sign(&["+", "-"]) {
            let right = self.product()?;
            let start = left.start();
            let both = (Box::new(self.number(left)?), Box::new(self.number(right)?));
            let number = match sign {
                "+" => Number::Add(both.0, both.1),
                _ => Number::Subtract(both.0, both.1),
            };
            left = Tree::Number(number, start);
        }
        Ok(left)
    }

    fn product(&mut self) -> Result<Tree, MaskError> {
        let mut left = self.single()?;
        while let Some(sign) = self.sign(&["*", "/", "%"]) {
            let right = self.single()?;
            let (start, second) = (left.start(), right.start());
            let (left_number, right_number) = (self.number(left)?, self.number(right)?);
            let left_number = Box::new(left_number);
            let number = match (sign, right_number) {
                ("*", right) => Number::Multiply(left_number, Box::new(right)),
                (_, Number::Constant(0)) => return Err(self.wrong(second, "division by 0")),
                ("/", Number::Constant(divisor)) => Number::Divide(left_number, divisor),
                (_, Number::Constant(divisor)) => Number::Remainder(left_number, divisor),
                _ => {
                    let what = "the divisor must be a literal number";
                    return Err(self.wrong(second, what));
                }
            };
            left = Tree::Number(number, start);
        }
        Ok(left)
    }

    fn single(&mut self) -> Result<Tree, MaskError> {
        self.depth += 1;
        if self.depth > DEEPEST {
            let what = format!("more than {DEEPEST} parentheses and signs within each other");
            return Err(self.wrong(self.place, what));
        }
        self.skip_blanks();
        let start = self.place;
        let tree = match self.rest().chars().next() {
            Some('(') => {
                self.place += 1;
                let inner = self.any_of()?;
                if self.sign(&[")"]).is_none() {
                    let what = "a closing parenthesis is missing";
                    return Err(self.wrong(self.text.len(), what));
                }
                inner
            }
            Some('!') => {
                self.place += 1;
                let inner = self.single()?;
                Tree::Condition(Condition::Not(Box::new(self.condition(inner)?)), start)
            }
            Some('-') => {
                self.place += 1;
                let inner = self.single()?;
                let number = match self.number(inner)? {
                    Number::Constant(number) => Number::Constant(number.wrapping_neg()),
                    number => Number::Subtract(Box::new(Number::Constant(0)), Box::new(number)),
                };
                Tree::Number(number, start)
            }
            Some(first) if first.is_ascii_digit() => self.digits(start)?,
            Some(first) if first.is_alphabetic() => self.variable(start)?,
            Some(other) => {
                return Err(self.wrong(start, format!("`{other}` is not expected here")));
            }
            None => return Err(self.wrong(start, "something is missing at the end")),
        };
        self.depth -= 1;
        Ok(tree)
    }

    fn digits(&mut self, start: usize) -> Result<Tree, MaskError> {
        let rest = self.rest();
        let length = rest.find(|next: char| !next.is_ascii_digit()).unwrap_or(rest.len());
        self.place += length;
        let number: i64 =
            rest[..length].parse().map_err(|_| self.wrong(start, "the number is too large"))?;
        Ok(Tree::Number(Number::Constant(number), start))
    }

    fn variable(&mut self, start: usize) -> Result<Tree, MaskError> {
        let rest = self.rest();
        let length =
            rest.find(|next: char| !next.is_alphanumeric() && next != '_').unwrap_or(rest.len());
        self.place += length;
        let number = match &rest[..length] {
            "q" => Number::Query,
            "k" => Number::Key,
            "h" => Number::Head,
            other => {
                let what = format!(
                    "unknown name `{other}`: q is the query's position, k the key's, h the head"
                );
                return Err(self.wrong(start, what));
            }
        };
        Ok(Tree::Number(number, start))
    }
}

#[cfg(test)]
mod tests {
    use super::{super::expression::Pair, *};

    fn holds(text: &str, query: i64, key: i64, head: i64) -> bool {
        parse(text).expect(text).of(Pair { query, key, head })
    }

    #[test]
    fn signs_bind_as_in_rust_and_division_rounds_down() {
        assert!(holds("q - k * 2 == 1 && h < 1 || k > 90", 7, 3, 0));
        assert!(holds("q == 1 || q == 2 && k == 3", 1, 0, 0));
        assert!(!holds("(q == 1 || q == 2) && k == 3", 1, 0, 0));
        assert!(holds("!(q < k) && !!(q != k)", 3, 2, 0));
        assert!(holds("(k - q) / 4 == -1 && (k - q) % 4 == 3", 1, 0, 0));
        assert!(holds("q / -4 == -2 && q % -4 == -3", 5, 0, 0));
        assert!(holds("--q == 5 && -q - -k == -3", 5, 2, 0));
        assert!(holds("10 - 3 - 2 == 5 && 7 * 5 / 2 % 4 == 1", 0, 0, 0));
    }

    #[test]
    fn errors_say_where() {
        for (text, column, what) in [
            ("q >= ", 6, "something is missing"),
            ("q", 1, "expected a condition"),
            ("q >= k >= 1", 8, "do not chain"),
            ("(q >= k", 8, "closing parenthesis"),
            ("q >= x", 6, "unknown name `x`"),
            ("q % 0 == 1", 5, "division by 0"),
            ("q % k == 1", 5, "written out"),
            ("q = k", 3, "`=` is not expected"),
            ("q >= k)", 7, "`)` is not expected"),
            ("(q > k) + 1 > 0", 2, "this is a condition"),
            ("q > 99999999999999999999", 5, "too large"),
            ("q >= k && 4", 11, "this is a number"),
        ] {
            match parse(text) {
                Err(MaskError::Expression { column: found, what: said }) => {
                    assert_eq!(found, column, "{text}: {said}");
                    assert!(said.contains(what), "{text}: {said}");
                }
                other => panic!("{text}: {other:?}"),
            }
        }
        let deep = format!("{}q > k", "(".repeat(1000));
        assert!(parse(&deep).expect_err("too deep").to_string().contains("within each other"));
        assert!(parse(&format!("{}q > k", "1 + ".repeat(1000))).is_err());
    }
}
