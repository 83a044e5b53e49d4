//! A tool's flags as data: `data/TOOL.toml`, one row for each flag.
//!
//! Not here: what several flags mean together (`tools`).

use serde::Deserialize;
use std::collections::BTreeMap;

/// A tool whose command lines are understood.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Table {
    /// The tool as people call it.
    pub tool: String,
    /// The version whose flags these are.
    pub version: String,
    /// Where that version says so.
    pub source: String,
    /// How its command lines begin. `python` is any Python.
    pub programs: Vec<String>,
    /// Our command, whose own flags the line may contain too.
    pub verb: String,
    /// Whether a flag may be cut short where no other begins so, as argparse does.
    #[serde(default)]
    pub abbreviations: bool,
    /// Whether `_` in a flag is `-`.
    #[serde(default)]
    pub underscores: bool,
    /// Whether `--a.b` is the field `a.b` of the tool's file.
    #[serde(default)]
    pub dotted: bool,
    /// What the tool does with a flag that is given again, where the row does not collect its values.
    #[serde(default)]
    pub given_again: GivenAgain,
    /// Number of words that the tool accepts without a flag.
    #[serde(default)]
    pub positional: usize,
    /// The program to which the tool passes the words after `--`, where it does.
    pub passes_to: Option<String>,
    /// The flags.
    pub flags: BTreeMap<String, Row>,
    /// The fields of the tool's file: the names in each of its sections, with spaces between them.
    #[serde(default)]
    pub fields: BTreeMap<String, String>,
}

/// A flag.
#[derive(Debug, Deserialize)]
#[serde(try_from = "Written")]
pub struct Row {
    /// Its other names.
    pub aliases: Vec<String>,
    /// How many values it takes.
    pub takes: Takes,
    /// Whether the values of all its occurrences count.
    pub collects: bool,
    /// A value that it may have, for the test that holds the row against our command line.
    pub sample: Option<String>,
    /// Whether the value names a file or folder that is read.
    pub path: bool,
    /// How it is translated.
    pub becomes: Becomes,
}

/// A row as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    #[serde(default)]
    aliases: Vec<String>,
    #[serde(default)]
    takes: Takes,
    #[serde(default)]
    collects: bool,
    sample: Option<String>,
    #[serde(default)]
    path: bool,
    is: Option<String>,
    each: Option<String>,
    header: Option<String>,
    body: Option<String>,
    rule: Option<String>,
    none: Option<String>,
    quiet: Option<String>,
}

impl TryFrom<Written> for Row {
    type Error = &'static str;

    fn try_from(row: Written) -> Result<Row, &'static str> {
        let all = [
            row.is.map(Becomes::Is),
            row.each.map(Becomes::Each),
            row.header.map(Becomes::Header),
            row.body.map(Becomes::Body),
            row.rule.map(Becomes::Rule),
            row.none.map(Becomes::None),
            row.quiet.map(Becomes::Quiet),
        ];
        let mut all = all.into_iter().flatten();
        let (Some(becomes), None) = (all.next(), all.next()) else {
            return Err("a flag becomes one of: is, each, header, body, rule, none, quiet");
        };
        let Written { aliases, takes, collects, sample, path, .. } = row;
        Ok(Row { aliases, takes, collects, sample, path, becomes })
    }
}

/// How many values a flag takes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Takes {
    /// None: it is a switch.
    None,
    /// One.
    #[default]
    One,
    /// One, or none.
    Maybe,
    /// Two.
    Two,
    /// All that follow up to the next flag.
    Many,
}

/// What a tool does with a flag that is given again.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum GivenAgain {
    /// The last one replaces the others.
    #[default]
    Last,
    /// It refuses the line.
    Error,
}

/// How a flag is translated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Becomes {
    /// This inferometer flag, with the same value.
    Is(String),
    /// This inferometer flag, once for each of its values.
    Each(String),
    /// This inferometer flag, once for each `NAME=VALUE` or `NAME:VALUE`, as a header is written.
    Header(String),
    /// This field of the request body.
    Body(String),
    /// A part of a setting that `tools` builds; the text names the setting.
    Rule(String),
    /// Nothing; what leaving it out means.
    None(String),
    /// Nothing, and nothing that is measured changes; why.
    Quiet(String),
}

/// What a line of a tool says.
#[derive(Debug, Default)]
pub struct Given {
    /// Flags by the name in the table, with their values, in their order.
    flags: Vec<(String, Vec<String>)>,
    /// Fields of the tool's file that the line contains, by their dotted names.
    pub fields: Vec<(String, String)>,
    /// Flags whose values a later occurrence replaced, as they were typed.
    pub replaced: Vec<(String, Vec<String>)>,
    /// Words that belong to no flag.
    pub positional: Vec<String>,
    /// Words after `--` that the tool passes to another program.
    pub passed_on: Vec<String>,
    /// inferometer's own flags with their values.
    pub own: Vec<String>,
}

impl Given {
    /// Whether the line contains a flag.
    pub fn has(&self, name: &str) -> bool {
        self.flags.iter().any(|(known, _)| known == name)
    }

    /// The last value of a flag.
    pub fn last(&self, name: &str) -> Option<&str> {
        let given = self.flags.iter().rev().find(|(known, _)| known == name)?;
        given.1.last().map(String::as_str)
    }

    /// All values of a flag.
    pub fn all(&self, name: &str) -> Vec<&str> {
        let given = self.flags.iter().filter(|(known, _)| known == name);
        given.flat_map(|(_, values)| values.iter().map(String::as_str)).collect()
    }

    /// All values as one list, commas taken for what they are.
    pub fn list(&self, name: &str) -> Vec<&str> {
        let all = self.all(name).into_iter().flat_map(|value| value.split(','));
        all.map(str::trim).filter(|value| !value.is_empty()).collect()
    }

    /// Adds a flag as if it were in the line; one that the line contains takes precedence.
    pub fn assume(&mut self, name: &str, value: &str) {
        if !self.has(name) {
            self.flags.push((name.to_owned(), vec![value.to_owned()]));
        }
    }

    /// Adds a value of a flag, as a file names it; a line's own comes first.
    pub fn append(&mut self, name: &str, value: &str) {
        self.flags.insert(0, (name.to_owned(), vec![value.to_owned()]));
    }

    /// Whether one occurrence of a flag has several words as its values.
    pub fn has_words(&self, name: &str) -> bool {
        self.flags.iter().any(|(known, values)| known == name && values.len() > 1)
    }

    /// The flags in their order.
    pub fn flags(&self) -> impl Iterator<Item = (&str, &[String])> {
        self.flags.iter().map(|(name, values)| (name.as_str(), values.as_slice()))
    }
}

/// The words of a line that are still to be read.
type Words<'a> = std::iter::Peekable<std::slice::Iter<'a, String>>;

/// What our own command takes: whether it has a flag, and whether a value follows.
pub type Ours<'a> = dyn Fn(&str, &str) -> Option<bool> + 'a;

impl Table {
    /// Reads the words after the program.
    ///
    /// # Errors
    /// One sentence: a flag that neither the tool nor we have, one without its value, or a word that
    /// belongs to no flag.
    pub fn read(&self, words: &[String], ours: &Ours<'_>) -> Result<Given, String> {
        let mut given = Given::default();
        let mut words = words.iter().peekable();
        // The flag before a word: a word too many is named with it.
        let mut before: Option<(&str, Takes)> = None;
        while let Some(word) = words.next() {
            if word == "--" {
                match &self.passes_to {
                    Some(_) => given.passed_on = words.cloned().collect(),
                    None => {
                        for word in words {
                            self.add_positional(&mut given, word, None)?;
                        }
                    }
                }
                break;
            }
            if !is_flag(word) {
                self.add_positional(&mut given, word, before)?;
                continue;
            }
            let (typed, mut value) = match word.split_once('=') {
                Some((name, value)) => (name, Some(value.to_owned())),
                None => (word.as_str(), None),
            };
            let Some((name, row)) = self.find(typed, ours, &mut value) else {
                before = None;
                self.read_other(&mut given, word, (typed, value), &mut words, ours)?;
                continue;
            };
            before = Some((typed, row.takes));
            let values = self.values(typed, row, value, &mut words, ours)?;
            self.add(&mut given, (typed, name, row), values)?;
        }
        Ok(given)
    }

    /// Reads a flag that is not in the table: a field of the tool's file, or an inferometer flag.
    fn read_other(
        &self,
        given: &mut Given,
        word: &str,
        (typed, value): (&str, Option<String>),
        words: &mut Words<'_>,
        ours: &Ours<'_>,
    ) -> Result<(), String> {
        if self.dotted && typed.contains('.') {
            let next = value.or_else(|| words.next().cloned());
            let text = next.ok_or_else(|| format!("{typed} needs a value"))?;
            let name = typed.trim_start_matches('-');
            if !self.has_field(name) {
                return Err(self.unknown(typed));
            }
            given.fields.push((name.to_owned(), text));
            return Ok(());
        }
        let takes = ours(&self.verb, typed).ok_or_else(|| self.unknown(typed))?;
        given.own.push(word.to_owned());
        if takes && value.is_none() {
            given.own.extend(words.next().cloned());
        }
        Ok(())
    }

    /// The values of a flag: the one in its own word, then those that follow.
    fn values(
        &self,
        typed: &str,
        row: &Row,
        value: Option<String>,
        words: &mut Words<'_>,
        ours: &Ours<'_>,
    ) -> Result<Option<Vec<String>>, String> {
        let missing = || format!("{typed} of {} needs a value", self.tool);
        let mut values: Vec<String> = value.into_iter().collect();
        match row.takes {
            // `--switch=true`, as some command lines have it.
            Takes::None => {
                return match values.pop() {
                    None => Ok(Some(values)),
                    Some(value) if is_yes(&value) => Ok(Some(values)),
                    Some(value) if is_no(&value) => Ok(None),
                    Some(value) => Err(format!("{typed}={value}: {typed} accepts no value")),
                };
            }
            Takes::One if values.is_empty() => {
                // A value may begin with a sign; the name of a flag does not.
                let next = words.next_if(|next| !self.is_known(next, ours));
                values.push(next.cloned().ok_or_else(missing)?);
            }
            Takes::One => {}
            Takes::Maybe => {
                if values.is_empty() {
                    values.extend(words.next_if(|next| !is_flag(next)).cloned());
                }
            }
            Takes::Two => {
                while values.len() < 2 {
                    values.push(words.next().cloned().ok_or_else(missing)?);
                }
            }
            Takes::Many => {
                while let Some(next) = words.next_if(|next| !is_flag(next)) {
                    values.push(next.clone());
                }
            }
        }
        Ok(Some(values))
    }

    /// Adds a flag with its values; a switch that is off has none.
    fn add(
        &self,
        given: &mut Given,
        (typed, name, row): (&str, &str, &Row),
        values: Option<Vec<String>>,
    ) -> Result<(), String> {
        let former = given.flags.iter().position(|(known, _)| known == name);
        if let Some(former) = former.filter(|_| !row.collects) {
            if self.given_again == GivenAgain::Error && row.takes != Takes::None {
                return Err(format!("{typed} is given twice: {} accepts it once", self.tool));
            }
            let (_, replaced) = given.flags.remove(former);
            if values.as_ref() != Some(&replaced) {
                given.replaced.push((name.to_owned(), replaced));
            }
        }
        given.flags.extend(values.map(|values| (name.to_owned(), values)));
        Ok(())
    }

    /// Adds a word that belongs to no flag, if the tool accepts one.
    fn add_positional(
        &self,
        given: &mut Given,
        word: &str,
        before: Option<(&str, Takes)>,
    ) -> Result<(), String> {
        if given.positional.len() < self.positional {
            given.positional.push(word.to_owned());
            return Ok(());
        }
        let Table { tool, positional, .. } = self;
        Err(match (before, positional) {
            (Some((flag, Takes::None)), _) => {
                format!("unrecognized argument \"{word}\": {flag} of {tool} accepts no value")
            }
            (Some((flag, Takes::One | Takes::Maybe)), _) => {
                format!("unrecognized argument \"{word}\": {flag} of {tool} accepts one value")
            }
            (_, 0) => {
                format!("unrecognized argument \"{word}\": {tool} accepts no positional arguments")
            }
            (_, accepted) => format!(
                "unrecognized argument \"{word}\": {tool} accepts {}",
                ifm_core::words::counted(*accepted as u64, "positional argument")
            ),
        })
    }

    /// The row of a flag as it was typed. A value that is glued to a short flag is taken off it.
    fn find(
        &self,
        typed: &str,
        ours: &Ours<'_>,
        value: &mut Option<String>,
    ) -> Option<(&str, &Row)> {
        let exact = |name: &str| {
            self.flags.iter().find(|(known, row)| {
                *known == name || row.aliases.iter().any(|alias| alias == name)
            })
        };
        let spelled = match self.underscores && typed.starts_with("--") {
            true => typed.replace('_', "-"),
            false => typed.to_owned(),
        };
        if let Some((name, row)) = exact(&spelled) {
            return Some((name, row));
        }
        if !spelled.starts_with("--") {
            let at = spelled.char_indices().nth(2).map(|(at, _)| at)?;
            let (name, row) = exact(&spelled[..at])?;
            if row.takes == Takes::None || value.is_some() {
                return None;
            }
            *value = Some(spelled[at..].to_owned());
            return Some((name, row));
        }
        if !self.abbreviations || ours(&self.verb, &spelled).is_some() {
            return None;
        }
        let mut begun = self.flags.iter().filter(|(known, row)| {
            known.starts_with(&spelled) || row.aliases.iter().any(|a| a.starts_with(&spelled))
        });
        let first = begun.next()?;
        begun.next().is_none().then_some((first.0.as_str(), first.1))
    }

    fn is_known(&self, word: &str, ours: &Ours<'_>) -> bool {
        let name = word.split('=').next().unwrap_or(word);
        let has_name = |row: &Row| row.aliases.iter().any(|alias| alias == name);
        match name.starts_with("--") {
            true => self.find(name, ours, &mut None).is_some() || ours(&self.verb, name).is_some(),
            // Of a short flag the whole name: `-1` is a value.
            false => self.flags.iter().any(|(known, row)| known == name || has_name(row)),
        }
    }

    /// Whether the tool's file has a field, or a field whose value is a document with it.
    fn has_field(&self, name: &str) -> bool {
        self.fields().any(|known| {
            known == name || name.strip_prefix(&known).is_some_and(|rest| rest.starts_with('.'))
        })
    }

    fn fields(&self) -> impl Iterator<Item = String> {
        let each = |(section, names): (&String, &String)| {
            names.split(' ').map(|name| format!("{section}.{name}")).collect::<Vec<String>>()
        };
        self.fields.iter().flat_map(each)
    }

    fn unknown(&self, typed: &str) -> String {
        let flags = self.flags.iter().flat_map(|(name, row)| {
            std::iter::once(name.as_str()).chain(row.aliases.iter().map(String::as_str))
        });
        let fields: Vec<String> = self.fields().map(|name| format!("--{name}")).collect();
        let near = ifm_core::words::nearest(typed, flags.chain(fields.iter().map(String::as_str)));
        let meant = near.map(|name| format!("; {name} is the nearest match"));
        format!(
            "{typed} is not a flag of {} {} or of inferometer {}{}",
            self.tool,
            self.version,
            self.verb,
            meant.unwrap_or_default()
        )
    }
}

/// Whether a word is a flag, and not a negative number.
fn is_flag(word: &str) -> bool {
    word.len() > 1 && word.starts_with('-') && word.parse::<f64>().is_err()
}

/// Whether a switch is on.
fn is_yes(value: &str) -> bool {
    matches!(value.to_ascii_lowercase().as_str(), "true" | "1" | "yes" | "on")
}

/// Whether a switch is off.
pub fn is_no(value: &str) -> bool {
    matches!(value.to_ascii_lowercase().as_str(), "false" | "0" | "no" | "off")
}
