//! Grammars in GBNF, the language of llama.cpp, which the EBNF of xgrammar (vLLM, SGLang) shares. They
//! are read into productions for recognizing an answer (`recognise`).
//!
//! A grammar in another language, such as Lark, or with words that only one server knows, is not read:
//! it is sent, and its answers stay unchecked.
//!
//! Not here: recognizing.

use std::collections::HashMap;

/// Maximum number of symbols in all productions: a larger grammar is not read.
const SYMBOLS_MAX: usize = 1 << 18;
/// Maximum number of letters shown of a line.
const LINE_SHOWN: usize = 40;
/// Maximum depth of nested groups.
const DEPTH_MAX: usize = 64;

/// One step of a production.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Symbol {
    /// Whatever this rule generates.
    Rule(u32),
    /// One character of a set.
    Chars(u32),
}

/// The characters allowed at a place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Chars {
    ranges: Vec<(char, char)>,
    is_negated: bool,
}

impl Chars {
    fn one(letter: char) -> Self {
        Self { ranges: vec![(letter, letter)], is_negated: false }
    }

    /// Whether a character is one of them.
    pub(super) fn has(&self, letter: char) -> bool {
        let is_in = self.ranges.iter().any(|(from, to)| (*from..=*to).contains(&letter));
        is_in != self.is_negated
    }
}

/// One way to match a rule.
#[derive(Debug)]
pub(super) struct Production {
    pub rule: u32,
    pub symbols: Vec<Symbol>,
}

/// A grammar that was read.
#[derive(Debug)]
pub(super) struct Grammar {
    pub productions: Vec<Production>,
    /// The productions of each rule.
    pub of_rule: Vec<Vec<u32>>,
    pub sets: Vec<Chars>,
    /// Rules that can generate the empty text.
    pub is_nullable: Vec<bool>,
    pub root: u32,
}

/// Why a text is not a grammar.
enum Unread {
    /// It is in another language, or contains unknown words.
    Foreign,
    /// It is an error in every language.
    Wrong(String),
}

/// Reads a grammar; `None` if it is in another language.
///
/// # Errors
/// A text that is not a grammar in any language, an unterminated part, or an undefined rule.
pub(super) fn read(text: &str) -> Result<Option<Grammar>, String> {
    check_language(text)?;
    let mut reader = Reader { letters: text.chars().collect(), ..Reader::default() };
    match reader.grammar() {
        Ok(grammar) => Ok(Some(grammar)),
        Err(Unread::Foreign) => match reader.open {
            // The text ended inside a part: no other language allows that either.
            Some((place, what)) if reader.at >= reader.letters.len() => {
                let before = reader.letters.get(..place).unwrap_or_default();
                let line = 1 + before.iter().filter(|letter| **letter == '\n').count();
                Err(format!("line {line}: the {what} that begins here does not end"))
            }
            _ => Ok(None),
        },
        Err(Unread::Wrong(why)) => Err(why),
    }
}

/// Whether a text defines anything, in GBNF, EBNF or Lark.
fn check_language(text: &str) -> Result<(), String> {
    let text = text.trim_start_matches('\u{feff}');
    if text.trim_start().starts_with(['{', '[']) {
        return Err(match serde_json::from_str::<serde::de::IgnoredAny>(text) {
            Ok(_) => "the file contains JSON, which is not a grammar; for a schema use json:FILE"
                .to_owned(),
            Err(error) => format!("the file is neither a grammar nor JSON: {error}"),
        });
    }
    let defines = |line: &str| {
        let name = line.trim_start().trim_start_matches(['?', '!']);
        let rest = name
            .trim_start_matches(|letter: char| letter.is_alphanumeric() || "-_".contains(letter));
        rest.len() < name.len() && rest.contains([':', '='])
    };
    let first = text.lines().zip(1..).find(|(line, _)| {
        let line = line.trim();
        !line.is_empty() && !line.starts_with('#') && !line.starts_with("//")
    });
    match (text.lines().any(defines), first) {
        (true, _) => Ok(()),
        (false, Some((line, number))) => {
            let start: String = line.trim().chars().take(LINE_SHOWN).collect();
            Err(format!("line {number}: \"{start}\" defines no rule, and no other line does"))
        }
        (false, None) => Err("the file contains only comments".to_owned()),
    }
}

#[derive(Default)]
struct Reader {
    letters: Vec<char>,
    at: usize,
    /// The innermost unterminated part: where it began, and what it is.
    open: Option<(usize, &'static str)>,
    /// Numbers of rules by their names.
    names: HashMap<String, u32>,
    /// The ways to match each rule; empty for one that is not defined yet.
    rules: Vec<Vec<Vec<Symbol>>>,
    sets: Vec<Chars>,
    symbols: usize,
}

impl Reader {
    fn peek(&self) -> Option<char> {
        self.letters.get(self.at).copied()
    }

    fn next(&mut self) -> Result<char, Unread> {
        let letter = self.peek().ok_or(Unread::Foreign)?;
        self.at += 1;
        Ok(letter)
    }

    /// White space, ends of lines and comments.
    fn skip(&mut self) {
        while let Some(letter) = self.peek() {
            match letter {
                '#' => {
                    while self.peek().is_some_and(|letter| letter != '\n') {
                        self.at += 1;
                    }
                }
                _ if letter.is_whitespace() => self.at += 1,
                _ => return,
            }
        }
    }

    fn name(&mut self) -> Option<String> {
        let is_part = |letter: &char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_');
        let rest = self.letters.get(self.at..).unwrap_or_default();
        let name: String = rest.iter().take_while(|letter| is_part(letter)).collect();
        self.at += name.len();
        (!name.is_empty()).then_some(name)
    }

    fn is_defined_next(&mut self) -> bool {
        self.skip();
        self.letters.get(self.at..self.at + 3) == Some(&[':', ':', '='])
    }

    fn new_rule(&mut self, ways: Vec<Vec<Symbol>>) -> Result<Symbol, Unread> {
        self.symbols += ways.iter().map(|way| way.len() + 1).sum::<usize>();
        if self.symbols > SYMBOLS_MAX {
            return Err(Unread::Foreign);
        }
        self.rules.push(ways);
        Ok(Symbol::Rule(self.rules.len() as u32 - 1))
    }

    fn rule_of(&mut self, name: String) -> u32 {
        let rules = &mut self.rules;
        *self.names.entry(name).or_insert_with(|| {
            rules.push(Vec::new());
            rules.len() as u32 - 1
        })
    }

    fn grammar(&mut self) -> Result<Grammar, Unread> {
        loop {
            self.skip();
            if self.peek().is_none() {
                break;
            }
            let name = self.name().ok_or(Unread::Foreign)?;
            if !self.is_defined_next() {
                return Err(Unread::Foreign);
            }
            self.at += 3;
            let ways = self.ways(0)?;
            let rule = self.rule_of(name) as usize;
            self.symbols += ways.iter().map(Vec::len).sum::<usize>();
            match self.rules.get_mut(rule) {
                Some(defined) if defined.is_empty() => *defined = ways,
                _ => return Err(Unread::Foreign),
            }
        }
        let none = |name: &str| Unread::Wrong(format!("the grammar has no rule \"{name}\""));
        let root = *self.names.get("root").ok_or_else(|| none("root"))?;
        let mut missing: Vec<&String> = self
            .names
            .iter()
            .filter(|(_, rule)| self.rules.get(**rule as usize).is_none_or(Vec::is_empty))
            .map(|(name, _)| name)
            .collect();
        missing.sort();
        if let Some(name) = missing.first() {
            return Err(none(name));
        }
        Ok(self.finished(root))
    }

    fn finished(&mut self, root: u32) -> Grammar {
        let mut productions = Vec::new();
        let mut of_rule = Vec::with_capacity(self.rules.len());
        for (ways, rule) in std::mem::take(&mut self.rules).into_iter().zip(0..) {
            let first = productions.len() as u32;
            productions.extend(ways.into_iter().map(|symbols| Production { rule, symbols }));
            of_rule.push((first..productions.len() as u32).collect());
        }
        let mut is_nullable = vec![false; of_rule.len()];
        loop {
            let mut has_changed = false;
            for production in &productions {
                let is_empty = production.symbols.iter().all(|symbol| match symbol {
                    Symbol::Rule(rule) => is_nullable.get(*rule as usize) == Some(&true),
                    Symbol::Chars(_) => false,
                });
                if let Some(known) =
                    is_nullable.get_mut(production.rule as usize).filter(|it| is_empty && !**it)
                {
                    *known = true;
                    has_changed = true;
                }
            }
            if !has_changed {
                break;
            }
        }
        Grammar { productions, of_rule, sets: std::mem::take(&mut self.sets), is_nullable, root }
    }

    /// Alternatives, to the end of the rule or of the group.
    fn ways(&mut self, depth: usize) -> Result<Vec<Vec<Symbol>>, Unread> {
        if depth > DEPTH_MAX {
            return Err(Unread::Foreign);
        }
        let mut ways = Vec::new();
        loop {
            ways.push(self.sequence(depth)?);
            if self.peek() != Some('|') {
                return Ok(ways);
            }
            self.at += 1;
        }
    }

    fn sequence(&mut self, depth: usize) -> Result<Vec<Symbol>, Unread> {
        let mut all = Vec::new();
        loop {
            self.skip();
            let start = self.at;
            let mut one = match self.peek() {
                None | Some('|' | ')') => return Ok(all),
                Some('"') => self.within("text", Self::literal)?,
                Some('[') => self.within("set", Self::set)?,
                Some('.') => {
                    self.at += 1;
                    let any = Chars { ranges: Vec::new(), is_negated: true };
                    vec![self.chars(any)]
                }
                Some('(') => self.within("group", |reader| {
                    reader.at += 1;
                    let ways = reader.ways(depth + 1)?;
                    if reader.next()? != ')' {
                        return Err(Unread::Foreign);
                    }
                    Ok(vec![reader.new_rule(ways)?])
                })?,
                Some(_) => {
                    let name = self.name().ok_or(Unread::Foreign)?;
                    // A construct of one server, such as `TagDispatch(…)`.
                    if self.peek() == Some('(') {
                        return Err(Unread::Foreign);
                    }
                    if self.is_defined_next() {
                        self.at = start;
                        return Ok(all);
                    }
                    vec![Symbol::Rule(self.rule_of(name))]
                }
            };
            while let Some(repeated) = self.repeated(&one)? {
                one = repeated;
            }
            self.symbols += one.len();
            if self.symbols > SYMBOLS_MAX {
                return Err(Unread::Foreign);
            }
            all.append(&mut one);
        }
    }

    /// Reads something with its own end mark.
    fn within(
        &mut self,
        what: &'static str,
        read: impl FnOnce(&mut Self) -> Result<Vec<Symbol>, Unread>,
    ) -> Result<Vec<Symbol>, Unread> {
        let around = self.open.replace((self.at, what));
        let all = read(self)?;
        self.open = around;
        Ok(all)
    }

    /// The same, repeated as the suffix says; nothing without a suffix.
    fn repeated(&mut self, one: &[Symbol]) -> Result<Option<Vec<Symbol>>, Unread> {
        self.skip();
        let (least, most) = match self.peek() {
            Some('*') => (0, None),
            Some('+') => (1, None),
            Some('?') => (0, Some(1)),
            Some('{') => {
                self.at += 1;
                return self.counted(one).map(Some);
            }
            _ => return Ok(None),
        };
        self.at += 1;
        self.times(one, least, most).map(Some)
    }

    /// `{3}`, `{3,}`, `{,5}` or `{3,5}`, after the brace.
    fn counted(&mut self, one: &[Symbol]) -> Result<Vec<Symbol>, Unread> {
        let mut text = String::new();
        loop {
            match self.next()? {
                '}' => break,
                letter if letter.is_whitespace() => {}
                letter => text.push(letter),
            }
        }
        let number = |text: &str| text.parse::<usize>().map_err(|_| Unread::Foreign);
        let (least, most) = match text.split_once(',') {
            None => (number(&text)?, Some(number(&text)?)),
            Some(("", most)) => (0, Some(number(most)?)),
            Some((least, "")) => (number(least)?, None),
            Some((least, most)) => (number(least)?, Some(number(most)?)),
        };
        if most.is_some_and(|most| most < least) {
            return Err(Unread::Foreign);
        }
        self.times(one, least, most)
    }

    fn times(
        &mut self,
        one: &[Symbol],
        least: usize,
        most: Option<usize>,
    ) -> Result<Vec<Symbol>, Unread> {
        let copies = most.unwrap_or(least).max(1);
        if copies.saturating_mul(one.len() + 2).saturating_add(self.symbols) > SYMBOLS_MAX {
            return Err(Unread::Foreign);
        }
        let each = match one {
            [only] => *only,
            several => self.new_rule(vec![several.to_vec()])?,
        };
        let mut all = vec![each; least];
        match most {
            None => {
                // Left-recursive, so that recognizing takes the same time for each repetition.
                let Symbol::Rule(more) = self.new_rule(vec![Vec::new()])? else { return Ok(all) };
                if let Some(ways) = self.rules.get_mut(more as usize) {
                    ways.push(vec![Symbol::Rule(more), each]);
                }
                all.push(Symbol::Rule(more));
            }
            Some(most) => {
                let mut rest: Option<Symbol> = None;
                for _ in least..most {
                    let way = [each].into_iter().chain(rest).collect();
                    rest = Some(self.new_rule(vec![Vec::new(), way])?);
                }
                all.extend(rest);
            }
        }
        Ok(all)
    }

    fn chars(&mut self, chars: Chars) -> Symbol {
        let known = self.sets.iter().position(|other| *other == chars);
        let place = known.unwrap_or_else(|| {
            self.sets.push(chars);
            self.sets.len() - 1
        });
        Symbol::Chars(place as u32)
    }

    /// `"text"`.
    fn literal(&mut self) -> Result<Vec<Symbol>, Unread> {
        self.at += 1;
        let mut all = Vec::new();
        loop {
            if self.peek() == Some('"') {
                self.at += 1;
                return Ok(all);
            }
            let letter = self.letter()?;
            all.push(self.chars(Chars::one(letter)));
        }
    }

    /// `[a-z_]` or `[^"]`.
    fn set(&mut self) -> Result<Vec<Symbol>, Unread> {
        self.at += 1;
        let is_negated = self.peek() == Some('^');
        self.at += usize::from(is_negated);
        let mut ranges = Vec::new();
        while self.peek() != Some(']') {
            let from = self.letter()?;
            let is_range = self.peek() == Some('-') && self.letters.get(self.at + 1) != Some(&']');
            let to = match is_range {
                true => {
                    self.at += 1;
                    self.letter()?
                }
                false => from,
            };
            ranges.push((from, to));
        }
        self.at += 1;
        Ok(vec![self.chars(Chars { ranges, is_negated })])
    }

    /// One character, or an escape for one.
    fn letter(&mut self) -> Result<char, Unread> {
        match self.next()? {
            '\\' => Ok(match self.next()? {
                'n' => '\n',
                'r' => '\r',
                't' => '\t',
                'x' => self.code(2)?,
                'u' => self.code(4)?,
                'U' => self.code(8)?,
                letter if letter.is_ascii_alphanumeric() => return Err(Unread::Foreign),
                letter => letter,
            }),
            letter => Ok(letter),
        }
    }

    fn code(&mut self, digits: usize) -> Result<char, Unread> {
        let code = self.letters.get(self.at..self.at + digits).ok_or(Unread::Foreign)?;
        let code: String = code.iter().collect();
        self.at += digits;
        u32::from_str_radix(&code, 16).ok().and_then(char::from_u32).ok_or(Unread::Foreign)
    }
}
