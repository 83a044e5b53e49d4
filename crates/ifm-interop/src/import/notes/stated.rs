//! Figures in sentences: `TTFT rises to 6.2s (agents, 32 users)`.
//!
//! A number counts where a quantity that it can belong to is named: in its sentence, or in the
//! heading. Limits, references and suppositions are kept under separate names, so that they are not
//! mistaken for results.

use super::super::heading;
use super::super::known;
use super::super::measure::{
    Dimension, Kind, Mention, Token, lex, mentions, natural_unit, statistic, unit,
};
use super::section::SIDES;
use ifm_core::Metric;
use ifm_core::order::Order as _;
use ifm_core::sheet::{Factors, Figure, Place, Row, RowRole, Statistic, Unit, key, meaning};
use std::ops::Range;

/// Longest sentence that is looked at, bytes.
const SENTENCE_BYTES_MAX: usize = 2000;
/// Tokens between a name and its number at most.
const REACH: usize = 40;
/// The same for words that mean something else as often.
const FAR: usize = 20;
const NEAR: usize = 4;

/// Words between a figure and the parentheses that tell what it holds for, at most.
const WORDS_BEHIND: usize = 5;

/// A sentence and its place.
pub(super) struct Sentence<'a> {
    pub line: u32,
    pub text: &'a str,
    /// Whether it is a line of code or of output: a number needs a sign of equality then.
    pub code: bool,
}

/// Where names come from that a sentence leaves out.
pub(super) struct Context<'a> {
    pub heading: Option<&'a str>,
    /// The model on a side of the comparison.
    pub model_of: &'a dyn Fn(&str) -> Option<String>,
}

/// The rows of a sentence: one for each figure, or for several that hold for the same.
pub(super) fn rows(sentence: &Sentence<'_>, context: &Context<'_>) -> Vec<Row> {
    // Progress and tables of programs are not statements.
    if sentence.code && sentence.text.contains(['|', '█', '{']) {
        return Vec::new();
    }
    if sentence.text.len() > SENTENCE_BYTES_MAX
        || !sentence.text.bytes().any(|b| b.is_ascii_digit())
    {
        return Vec::new();
    }
    let tokens = lex(sentence.text);
    let mut named = mentions(&tokens);
    in_flight(&tokens, &mut named);
    let headed = context.heading.map(|heading| mentions(&lex(heading))).unwrap_or_default();
    if named.is_empty() && headed.is_empty() {
        return Vec::new();
    }
    let reader = Reader { tokens: &tokens, text: sentence.text, named, headed, context };
    let sense = reader.sense();
    let mut rows: Vec<Row> = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let Some(amount) = reader.amount(at, sentence.code) else {
            at += 1;
            continue;
        };
        at = amount.next;
        reader.add(amount, sense, sentence, &mut rows);
    }
    rows
}

/// A number, or two, with a unit and a quantity.
struct Amount {
    /// First token.
    first: usize,
    values: Vec<(f64, String)>,
    unit: Unit,
    quantity: Metric,
    statistic: Option<Statistic>,
    /// Numerator and denominator that are written out.
    ratio: Option<[(f64, String); 2]>,
    /// Token behind it.
    next: usize,
}

/// What a sentence says with its numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sense {
    Result,
    Limit,
    Reference,
    Supposition,
}

struct Reader<'a> {
    tokens: &'a [Token<'a>],
    text: &'a str,
    named: Vec<Mention>,
    headed: Vec<Mention>,
    context: &'a Context<'a>,
}

impl Reader<'_> {
    fn amount(&self, at: usize, code: bool) -> Option<Amount> {
        let token = self.tokens.get(at)?;
        let value = token.number()?;
        if let Some(amount) = self.division(at) {
            return Some(amount);
        }
        // Two ends of a range share the unit behind the second.
        let mut values = vec![(value, token.text.to_owned())];
        let mut last = at;
        if let (Some(dash), Some(second)) = (self.tokens.get(at + 1), self.tokens.get(at + 2))
            && matches!(dash.text, "–" | "-" | "—")
            && let Some(high) = second.number()
            && second.start == dash.end
            && high > value
        {
            values.push((high, second.text.to_owned()));
            last = at + 2;
        }
        let mut measured = self.unit_behind(last);
        let mut next = measured.as_ref().map_or(last + 1, |(_, _, next)| *next);
        // `13.2 to 70.6 tok/s`: the first has the unit of the second.
        if measured.is_none()
            && let (Some(to), Some(second)) = (self.tokens.get(last + 1), self.tokens.get(last + 2))
            && (to.is("to") || to.is("and"))
            && second.number().is_some()
        {
            measured = self.unit_behind(last + 2);
            next = last + 1;
        }
        let before = at.checked_sub(1).and_then(|before| self.tokens.get(before));
        // `00:50` is a time of day or of waiting.
        let assigned =
            before.is_some_and(|sign| sign.is("=") || (sign.is(":") && sign.end < token.start));
        if code && !assigned {
            return None;
        }
        let (quantity, statistic, unit) = match measured {
            Some((unit, dimension, _)) => {
                let (quantity, statistic) = self.quantity(at, next, Some(dimension))?;
                (quantity, statistic, unit)
            }
            None => {
                let bare = assigned || self.alone_in_parentheses(at) || self.said_to_be(at);
                let (quantity, statistic) = self.quantity(at, at, None).filter(|_| bare)?;
                if assigned && !self.names_directly(at) {
                    return None;
                }
                // A whole number without a unit counts something.
                if !token.text.contains('.') && !Dimension::Count.fits(quantity) {
                    return None;
                }
                let unit = natural_unit(quantity);
                (quantity, statistic, unit)
            }
        };
        Some(Amount { first: at, values, unit, quantity, statistic, ratio: None, next })
    }

    /// Whether no other number is between a name and the sign before this one.
    fn names_directly(&self, at: usize) -> bool {
        let name = self.named.iter().rev().find(|mention| mention.last < at);
        let between = name.and_then(|name| self.tokens.get(name.last + 1..at.saturating_sub(1)));
        between.is_some_and(|tokens| {
            !tokens.iter().any(|token| token.number().is_some() || token.is("="))
        })
    }

    /// `= 34.5/14.7 = 2.35`.
    fn division(&self, at: usize) -> Option<Amount> {
        let window = self.tokens.get(at..at + 5)?;
        let [above, over, below, equals, result] = window else { return None };
        if !over.is("/") || !matches!(equals.text, "=" | "≈") {
            return None;
        }
        let number =
            |token: &Token<'_>| token.number().map(|number| (number, token.text.to_owned()));
        let (above, below, result) = (number(above)?, number(below)?, number(result)?);
        Some(Amount {
            first: at,
            values: vec![result],
            unit: Unit::One,
            quantity: Metric::Ratio,
            statistic: None,
            ratio: Some([above, below]),
            next: at + 5,
        })
    }

    /// The unit right behind a number, and the token behind it.
    fn unit_behind(&self, at: usize) -> Option<(Unit, Dimension, usize)> {
        let number = self.tokens.get(at)?;
        let first = self.tokens.get(at + 1)?;
        let gap = self.text.get(number.end..first.start)?;
        if !gap.chars().all(|c| c == ' ') || gap.len() > 1 || first.number().is_some() {
            return None;
        }
        // The longest run of tokens that is a unit.
        (1..=5).rev().find_map(|count| {
            let last = self.tokens.get(at + count)?;
            let (unit, dimension) = unit(self.text.get(first.start..last.end)?)?;
            // `x` and one-letter units follow their number without a space.
            let letter = last.end - first.start == 1
                && !gap.is_empty()
                && !first.is("s")
                && !first.is("W")
                && !first.is("%");
            (!letter && dimension != Dimension::Count).then_some((unit, dimension, at + count + 1))
        })
    }

    /// What a number measures: the nearest name that fits, before it or else behind it, or the one
    /// in the heading.
    fn quantity(
        &self,
        at: usize,
        next: usize,
        dimension: Option<Dimension>,
    ) -> Option<(Metric, Option<Statistic>)> {
        let fits = |mention: &&Mention| dimension.is_none_or(|d| d.fits(mention.quantity));
        let before = self.named.iter().rev().filter(|mention| mention.last < at);
        let before =
            before.filter(|mention| at - mention.last <= reach(mention.quantity)).find(fits);
        let behind = || {
            let behind = self.named.iter().filter(|mention| mention.first >= next);
            behind.filter(|mention| mention.first - next <= reach(mention.quantity)).find(fits)
        };
        let here = before.or_else(|| dimension.and_then(|_| behind()));
        if let Some(mention) = here {
            let from = mention.first.saturating_sub(2);
            let words = self.tokens.get(from..mention.first).unwrap_or_default();
            let found = words.iter().rev().find_map(|word| match word.kind {
                Kind::Word => statistic(&word.text.to_lowercase()),
                _ => None,
            });
            // The greatest of a few is not a statistic of a population.
            let found = found.filter(|found| !matches!(found, Statistic::Max | Statistic::Min));
            return Some((mention.quantity, found));
        }
        let headed = dimension.and_then(|_| self.headed.iter().find(fits))?;
        Some((headed.quantity, None))
    }

    /// `acceptance length is 2.8`: a name, a verb, a number with decimals.
    fn said_to_be(&self, at: usize) -> bool {
        let verb = at.checked_sub(1).and_then(|before| self.tokens.get(before));
        let verb = verb.is_some_and(|verb| ["is", "was", "of"].iter().any(|word| verb.is(word)));
        let named = self.named.iter().any(|mention| mention.last + 2 == at);
        let decimals = self.tokens.get(at).is_some_and(|token| token.text.contains('.'));
        verb && named && decimals
    }

    /// Whether a number with decimals is the only content of parentheses.
    fn alone_in_parentheses(&self, at: usize) -> bool {
        let is = |at: Option<usize>, sign: &str| {
            at.and_then(|at| self.tokens.get(at)).is_some_and(|token| token.is(sign))
        };
        let decimals = self.tokens.get(at).is_some_and(|token| token.text.contains('.'));
        decimals && is(at.checked_sub(1), "(") && is(Some(at + 1), ")")
    }

    fn sense(&self) -> Sense {
        let has = |words: &[&str]| {
            self.tokens.iter().any(|token| words.iter().any(|word| token.is(word)))
        };
        if has(&[
            "threshold",
            "thresholds",
            "feels",
            "feel",
            "slo",
            "target",
            "limit",
            "budget",
            "boundary",
            "should",
            "acceptable",
        ]) {
            Sense::Limit
        } else if self.text.to_lowercase().contains("for reference")
            || has(&["typically", "typical", "published", "advertised", "competitors"])
        {
            Sense::Reference
        } else if has(&["would", "ideal", "ideally", "suppose", "if"]) {
            Sense::Supposition
        } else {
            Sense::Result
        }
    }

    fn add(&self, amount: Amount, sense: Sense, sentence: &Sentence<'_>, rows: &mut Vec<Row>) {
        let quantity = match sense {
            Sense::Result => amount.quantity,
            Sense::Limit => meaning::about("limit of", amount.quantity),
            Sense::Reference => meaning::about("reference of", amount.quantity),
            Sense::Supposition => meaning::about("supposed", amount.quantity),
        };
        let statistics = match amount.values.len() {
            1 => vec![amount.statistic.unwrap_or(Statistic::Value)],
            _ => vec![Statistic::Min, Statistic::Max],
        };
        let place = Place::line(sentence.line);
        let figure = |quantity: Metric, statistic, (value, printed): &(f64, String), unit| {
            let mut figure = Figure::new(quantity, statistic, *value, unit).as_printed(printed);
            figure.place = Some(place.clone());
            figure
        };
        let mut figures: Vec<Figure> = amount
            .values
            .iter()
            .zip(statistics)
            .map(|(value, statistic)| figure(quantity, statistic, value, amount.unit.clone()))
            .collect();
        for (name, value) in ["numerator", "denominator"].iter().zip(amount.ratio.iter().flatten())
        {
            let quantity = Metric::other(*name);
            figures.push(figure(quantity, Statistic::Value, value, Unit::Other(String::new())));
        }
        let factors = self.factors(&amount);
        let same = rows.last_mut().filter(|row| {
            row.factors == factors && !row.figures.iter().any(|other| other.quantity == quantity)
        });
        match same {
            Some(row) => row.figures.extend(figures),
            None => {
                let mut row = Row::new(RowRole::Stated, place);
                row.factors = factors;
                row.figures = figures;
                row.text = Some(sentence.text.trim().to_owned());
                rows.push(row);
            }
        }
    }

    /// What a figure holds for: the parentheses behind it, the load that the sentence names, the
    /// model that it is about.
    fn factors(&self, amount: &Amount) -> Factors {
        let mut factors = Factors::default();
        if let Some(load) = self.load() {
            factors.set(key::CONCURRENCY, load);
        }
        if let Some(side) = self.side_before(amount.first) {
            match (self.context.model_of)(side) {
                Some(model) => factors.set(key::MODEL, model),
                None => factors.set(key::CONDITION, side),
            }
        }
        if let Some(inside) = self.parentheses(amount.next) {
            for piece in self.text.get(inside).unwrap_or_default().split([',', ';']) {
                factors = said(piece.trim()).within(&factors);
            }
        }
        factors
    }

    /// The bytes between the parentheses that open behind a figure: right there, or behind a few
    /// words that go with it.
    fn parentheses(&self, at: usize) -> Option<Range<usize>> {
        let words = self.tokens.iter().skip(at).take(WORDS_BEHIND + 1);
        let words = words
            .take_while(|token| token.kind == Kind::Word && !token.is("to") && !token.is("and"));
        let open_at = at + words.count();
        let open = self.tokens.get(open_at).filter(|token| token.is("("))?;
        let close = self.tokens.iter().skip(open_at).take(REACH).find(|token| token.is(")"))?;
        Some(open.end..close.start)
    }

    /// The one number of users that a sentence names outside of parentheses.
    fn load(&self) -> Option<String> {
        let mut depth = 0_usize;
        let mut found = None;
        for (at, token) in self.tokens.iter().enumerate() {
            match token.text {
                "(" => depth += 1,
                ")" => depth = depth.saturating_sub(1),
                _ => {}
            }
            let Some(next) = self.tokens.get(at + 1).filter(|_| depth == 0) else { continue };
            let users =
                ["concurrent", "users", "clients", "streams"].iter().any(|word| next.is(word));
            if token.number().is_some() && users {
                if found.is_some() {
                    return None;
                }
                found = Some(token.text.replace(',', ""));
            }
        }
        found
    }

    /// The side of a comparison that was named last before a token.
    fn side_before(&self, at: usize) -> Option<&'static str> {
        (0..at).rev().find_map(|index| {
            let token = self.tokens.get(index)?;
            let (side, _) =
                SIDES.iter().find(|(_, words)| words.iter().any(|word| token.is(word)))?;
            let model = self.tokens.iter().skip(index + 1).take(4);
            model.into_iter().any(|next| next.is("model") || next.is("models")).then_some(*side)
        })
    }
}

/// Maximum distance of a number from its name: words of everyday language must be near.
fn reach(quantity: Metric) -> usize {
    match quantity {
        Metric::Duration | Metric::Memory | Metric::Power | Metric::Energy => NEAR,
        Metric::Bandwidth | Metric::Efficiency | Metric::Ratio | Metric::Rank => FAR,
        _ => REACH,
    }
}

/// What a few words between parentheses say.
fn said(piece: &str) -> Factors {
    let factors = heading::factors(piece);
    if !factors.is_empty() || piece.is_empty() {
        return factors;
    }
    let words = piece.split_whitespace().count();
    let name = (1..=4).contains(&words)
        && piece.starts_with(char::is_uppercase)
        && !piece.contains(|c: char| c.is_ascii_digit() || matches!(c, '/' | '='));
    if name && !known::is_model(piece) { factors.with(key::WORKLOAD, piece) } else { factors }
}

/// `median concurrency = 44`: requests in flight if a statistic precedes the word.
fn in_flight(tokens: &[Token<'_>], named: &mut Vec<Mention>) {
    for (at, token) in tokens.iter().enumerate().filter(|(_, token)| token.is("concurrency")) {
        let before = at.checked_sub(1).and_then(|before| tokens.get(before));
        let measured = before.and_then(|word| statistic(&word.text.to_lowercase())).is_some();
        let assigned =
            tokens.get(at + 1).is_some_and(|next| next.is("=") || next.is("is") || next.is(":"));
        let known = named.iter().any(|mention| (mention.first..=mention.last).contains(&at));
        if measured && assigned && !known && token.kind == Kind::Word {
            named.push(Mention { quantity: Metric::InFlight, first: at, last: at });
        }
    }
    named.order_by_key(|mention| mention.first);
}

/// Whether a line is written for people, as against what a program prints.
pub(super) fn is_prose(line: &str) -> bool {
    let line = line.trim().trim_start_matches(['-', '*', '•', '>', ' ', '"', '“', '(', '~']);
    let words = line.split_whitespace().filter(|word| {
        word.trim_matches(|c: char| c.is_ascii_punctuation()).chars().all(char::is_alphabetic)
    });
    line.starts_with(|c: char| c.is_alphabetic() || c.is_ascii_digit())
        && !line.contains(['|', '{', '█', '\\'])
        && 2 * words.count() >= line.split_whitespace().count()
}

/// Splits a paragraph into sentences, as ranges of bytes.
pub(super) fn sentences(paragraph: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut start = 0;
    let mut chars = paragraph.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let end = at + c.len_utf8();
        let stop = matches!(c, '.' | '!' | '?')
            && chars.peek().is_none_or(|(_, next)| next.is_whitespace());
        if stop {
            found.push(start..end);
            start = end;
        }
    }
    found.push(start..paragraph.len());
    found.retain(|range| paragraph.get(range.clone()).is_some_and(|text| !text.trim().is_empty()));
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stated(text: &str, heading: Option<&str>) -> Vec<(String, String)> {
        let sentence = Sentence { line: 1, text, code: false };
        let context = Context { heading, model_of: &|_| None };
        let one = |row: &Row| {
            let figures = row.figures.iter().map(|figure| {
                format!(
                    "{:?} {:?} {}",
                    figure.quantity,
                    figure.statistic,
                    figure.printed.as_deref().unwrap_or("")
                )
            });
            let factors = row.factors.iter().map(|(name, value)| format!("{name}={value}"));
            (figures.collect::<Vec<_>>().join("; "), factors.collect::<Vec<_>>().join(" "))
        };
        rows(&sentence, &context).iter().map(one).collect()
    }

    fn expect(text: &str, heading: Option<&str>, expected: &[(&str, &str)]) {
        let found = stated(text, heading);
        let found: Vec<(&str, &str)> =
            found.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn sentences_state_figures() {
        expect(
            "Per-user decode speed falls from 90.5 tok/s (Search, single user) to 11 tok/s (Code Review, 16 concurrent).",
            None,
            &[
                ("UserSpeed Value 90.5", "concurrency=1 workload=Search"),
                ("UserSpeed Value 11", "concurrency=16 workload=Code Review"),
            ],
        );
        expect(
            "At 16 users, scaling efficiency ranges from 61% (Search) to 9%.",
            None,
            &[
                ("Efficiency Value 61", "concurrency=16 workload=Search"),
                ("Efficiency Value 9", "concurrency=16"),
            ],
        );
        expect(
            "The band runs from 11.5 to 60.5 tok/s.",
            Some("Per-User Throughput"),
            &[("UserSpeed Value 11.5", ""), ("UserSpeed Value 60.5", "")],
        );
        expect(
            "The median TTFT was 1,211ms and P99 ITL 3 ms.",
            None,
            &[("Ttft Median 1,211; Itl Percentile(99.0) 3", "")],
        );
        expect(
            "Base model: median concurrency = 34.0, ITL = 39.6 ms",
            None,
            &[("InFlight Median 34.0; Itl Value 39.6", "condition=base")],
        );
        expect(
            "ITL ratio compressed model = 30.0/15.0 = 2.00",
            None,
            &[(
                "Ratio Value 2.00; Other(\"numerator\") Value 30.0; Other(\"denominator\") Value 15.0",
                "condition=compressed",
            )],
        );
        expect(
            "a higher ITL degradation factor (2.5) than the base model (1.5)",
            None,
            &[("Ratio Value 2.5", ""), ("Ratio Value 1.5", "condition=base")],
        );
    }

    #[test]
    fn limits_and_references_are_no_results() {
        expect(
            "An inter-token latency under 20ms feels instant.",
            None,
            &[("Other(\"limit of Itl\") Value 20", "")],
        );
        expect(
            "For reference, others reach a TTFT of 4–8ms.",
            None,
            &[("Other(\"reference of Ttft\") Min 4; Other(\"reference of Ttft\") Max 8", "")],
        );
    }

    #[test]
    fn numbers_without_a_name_state_nothing() {
        for text in [
            "We ran 32 of them (1, 2, 4).",
            "It took 5 ms.",
            "Version 2.5 of (3.1) is out.",
            "See page 5%.",
        ] {
            expect(text, None, &[]);
        }
    }

    #[test]
    fn sentences_end_where_they_end() {
        let text = "One is 1.5 ms. Two! And e.g. three";
        let found: Vec<&str> =
            sentences(text).into_iter().map(|range| text[range].trim()).collect();
        assert_eq!(found, ["One is 1.5 ms.", "Two!", "And e.g.", "three"]);
    }
}
