//! A pasted line as a shell takes it: words, quotes, variables, comments, line ends with `\`.
//!
//! Not here: `$(…)`, patterns and loops, which only a shell can do. Nothing is run.

/// The first command of a text.
#[derive(Debug, PartialEq, Eq)]
pub struct Line {
    /// Its words, quotes taken away.
    pub words: Vec<String>,
    /// What follows the command and is not run: a pipe, a redirection, a second command.
    pub rest: Option<String>,
}

/// Splits a text into the words of its first command. `variable` gives what a variable holds.
///
/// # Errors
/// One sentence: an unfinished quote, a variable that is not set, a command inside the command.
pub fn split(text: &str, variable: impl Fn(&str) -> Option<String>) -> Result<Line, String> {
    let mut reader = Reader {
        text,
        at: 0,
        word: None,
        words: Vec::new(),
        redirections: Vec::new(),
        variable: &variable,
    };
    loop {
        let Some(sign) = reader.next() else {
            reader.end_word();
            return Ok(reader.ended(None));
        };
        match sign {
            '\\' => match reader.next() {
                Some('\n') | None => {}
                // What an editor or a web page leaves after the sign.
                Some('\r') if reader.peek() == Some('\n') => drop(reader.next()),
                Some(' ' | '\t') if reader.ends_line() => reader.end_word(),
                Some(other) => reader.push(other),
            },
            '\'' => reader.single()?,
            '"' => reader.double()?,
            '$' => reader.dollar(false)?,
            '`' => return Err(inside("`…`")),
            '#' if reader.word.is_none() => while reader.next_if(|sign| sign != '\n').is_some() {},
            ' ' | '\t' | '\r' => reader.end_word(),
            '<' if reader.placeholder().is_some() => {
                let name = reader.placeholder().unwrap_or_default();
                return Err(format!("the line holds the placeholder <{name}>: put your own there"));
            }
            '>' | '<' => reader.redirection(sign)?,
            '&' if reader.peek() == Some('>') => reader.redirection(sign)?,
            '|' | ';' | '&' => {
                reader.end_word();
                let from = reader.at - 1;
                return Ok(reader.ended(Some(from)));
            }
            '\n' => {
                reader.end_word();
                let from = reader.at;
                let rest = text[from..].trim();
                let is_comment = rest
                    .lines()
                    .all(|line| line.trim().is_empty() || line.trim_start().starts_with('#'));
                match reader.words.is_empty() {
                    true => {}
                    // A line that goes on without a sign at its end: flags on a line of their own.
                    false if rest.starts_with('-') => {}
                    false if is_comment => return Ok(reader.ended(None)),
                    false => return Ok(reader.ended(Some(from))),
                }
            }
            other => reader.push(other),
        }
    }
}

/// Words as one line that a shell reads the same way.
pub fn joined(words: &[String]) -> String {
    words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
}

/// A word in quotes, where it needs them.
pub fn quoted(word: &str) -> String {
    let is_plain = |sign: char| sign.is_ascii_alphanumeric() || "-_./:=,@%+".contains(sign);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

/// `NAME=VALUE` before a command.
pub fn assignment(word: &str) -> Option<(&str, &str)> {
    let (name, value) = word.split_once('=')?;
    let is_name = name.chars().next().is_some_and(|sign| sign.is_ascii_alphabetic() || sign == '_')
        && name.chars().all(|sign| sign.is_ascii_alphanumeric() || sign == '_');
    is_name.then_some((name, value))
}

fn inside(what: &str) -> String {
    format!("the line holds {what}, a command inside the command: put its result there")
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    word: Option<String>,
    words: Vec<String>,
    /// Redirections as they were written.
    redirections: Vec<String>,
    variable: &'a dyn Fn(&str) -> Option<String>,
}

impl Reader<'_> {
    fn peek(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let sign = self.peek()?;
        self.at += sign.len_utf8();
        Some(sign)
    }

    fn next_if(&mut self, wanted: impl Fn(char) -> bool) -> Option<char> {
        let sign = self.peek().filter(|sign| wanted(*sign))?;
        self.at += sign.len_utf8();
        Some(sign)
    }

    /// Whether only spaces are left before the end of the line.
    fn ends_line(&mut self) -> bool {
        let rest = &self.text[self.at..];
        let (line, has_more) = match rest.split_once('\n') {
            Some((line, _)) => (line, true),
            None => (rest, false),
        };
        if !line.trim().is_empty() {
            return false;
        }
        self.at += line.len() + usize::from(has_more);
        true
    }

    /// The text between angle brackets, which documents use for a value that the reader has to
    /// supply.
    fn placeholder(&self) -> Option<&str> {
        let rest = &self.text[self.at..];
        let name = &rest[..rest.find(['>', '<', '\n'])?];
        let is_name = name.chars().all(|sign| sign.is_alphanumeric() || " -_./:".contains(sign));
        let is_closed = rest[name.len()..].starts_with('>');
        (is_closed && is_name && name.starts_with(char::is_alphabetic)).then_some(name)
    }

    fn push(&mut self, sign: char) {
        self.word.get_or_insert_default().push(sign);
    }

    fn end_word(&mut self) {
        self.words.extend(self.word.take());
    }

    /// Reads a redirection. The words after it belong to the command.
    fn redirection(&mut self, sign: char) -> Result<(), String> {
        let is_number = |word: &String| word.chars().all(|sign| sign.is_ascii_digit());
        // The number of a stream belongs to the redirection after it.
        let number = self.word.take_if(|word| is_number(word)).unwrap_or_default();
        self.end_word();
        let from = self.at - sign.len_utf8();
        while self.next_if(|sign| matches!(sign, '>' | '<' | '&' | '|')).is_some() {}
        if self.text[from..self.at].starts_with("<<") {
            return Err("the line holds a here-document: put its text into a file".to_owned());
        }
        while self.next_if(|sign| matches!(sign, ' ' | '\t')).is_some() {}
        while let Some(sign) = self.peek() {
            match sign {
                ' ' | '\t' | '\r' | '\n' | '|' | ';' | '&' | '>' | '<' => break,
                '\'' => {
                    self.next();
                    self.single()?;
                }
                '"' => {
                    self.next();
                    self.double()?;
                }
                _ => drop(self.next()),
            }
        }
        self.word = None;
        self.redirections.push(format!("{number}{}", &self.text[from..self.at]));
        Ok(())
    }

    /// The command, where it ends before a place of the text or with it.
    fn ended(self, from: Option<usize>) -> Line {
        let after = from.map(|from| self.text[from..].trim().to_owned());
        let rest: Vec<String> =
            self.redirections.into_iter().chain(after.filter(|text| !text.is_empty())).collect();
        Line { words: self.words, rest: (!rest.is_empty()).then(|| rest.join(" ")) }
    }

    fn single(&mut self) -> Result<(), String> {
        let from = self.at;
        let rest = &self.text[from..];
        let Some(end) = rest.find('\'') else { return Err(self.unfinished("'", from)) };
        self.word.get_or_insert_default().push_str(&rest[..end]);
        self.at += end + 1;
        Ok(())
    }

    fn double(&mut self) -> Result<(), String> {
        let from = self.at;
        self.word.get_or_insert_default();
        loop {
            match self.next() {
                None => return Err(self.unfinished("\"", from)),
                Some('"') => return Ok(()),
                Some('`') => return Err(inside("`…`")),
                Some('$') => self.dollar(true)?,
                Some('\\') => match self.next() {
                    None => return Err(self.unfinished("\"", from)),
                    Some('\n') => {}
                    Some(sign @ ('"' | '\\' | '$' | '`')) => self.push(sign),
                    Some(other) => {
                        self.push('\\');
                        self.push(other);
                    }
                },
                Some(other) => self.push(other),
            }
        }
    }

    /// A variable. In quotes its value is part of the word, outside it may be several.
    fn dollar(&mut self, is_quoted: bool) -> Result<(), String> {
        if self.peek() == Some('(') {
            return Err(inside("$(…)"));
        }
        if self.peek() == Some('\'') && !is_quoted {
            self.next();
            return self.single();
        }
        let has_brace = self.next_if(|sign| sign == '{').is_some();
        let mut name = String::new();
        let is_part = |sign: char| sign.is_ascii_alphanumeric() || sign == '_';
        while let Some(sign) = self.next_if(is_part) {
            name.push(sign);
        }
        let mut other = None;
        if has_brace {
            let rest = &self.text[self.at..];
            let Some(end) = rest.find('}') else {
                return Err(format!("${{{name} has no closing }}"));
            };
            let written = &rest[..end];
            self.at += end + 1;
            match written.strip_prefix(":-").or_else(|| written.strip_prefix('-')) {
                Some(default) => other = Some(default.to_owned()),
                None if written.is_empty() => {}
                None => {
                    return Err(format!("${{{name}{written}}} is more than a shell's variable"));
                }
            }
        }
        if name.is_empty() {
            self.push('$');
            return Ok(());
        }
        let value = (self.variable)(&name).filter(|value| !value.is_empty()).or(other);
        let Some(value) = value else {
            return Err(format!(
                "the variable {name} of the line is not set: set it, or write its value"
            ));
        };
        if is_quoted || !value.contains(char::is_whitespace) {
            self.word.get_or_insert_default().push_str(&value);
            return Ok(());
        }
        for (index, part) in value.split_whitespace().enumerate() {
            if index > 0 {
                self.end_word();
            }
            self.word.get_or_insert_default().push_str(part);
        }
        Ok(())
    }

    fn unfinished(&self, quote: &str, from: usize) -> String {
        const SHOWN: usize = 24;
        let shown: String =
            self.text[from..].chars().take_while(|sign| *sign != '\n').take(SHOWN).collect();
        format!("the quote {quote} before “{shown}” is never closed")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variable(name: &str) -> Option<String> {
        match name {
            "MODEL" => Some("m/x".to_owned()),
            "ARGS" => Some("--a 1".to_owned()),
            _ => None,
        }
    }

    fn words(text: &str) -> Vec<String> {
        split(text, variable).unwrap().words
    }

    #[test]
    fn words_are_those_of_a_shell() {
        for (text, expect) in [
            ("a  b\tc", &["a", "b", "c"][..]),
            ("a \\\n  --b 'c d' \\\n --e=\"f \\\"g\\\"\"", &["a", "--b", "c d", "--e=f \"g\""]),
            // A space after the sign, which pages leave there.
            ("a \\ \n --b", &["a", "--b"]),
            ("a \\\r\n --b", &["a", "--b"]),
            ("a '{\"k\": 1}' \"\"", &["a", "{\"k\": 1}", ""]),
            ("a b\\ c", &["a", "b c"]),
            ("# first\na b # second\n", &["a", "b"]),
            ("a $MODEL ${MODEL}/b \"$MODEL\" '$MODEL'", &["a", "m/x", "m/x/b", "m/x", "$MODEL"]),
            ("a $ARGS \"$ARGS\" ${NONE:-7}", &["a", "--a", "1", "--a 1", "7"]),
            // Flags on lines of their own, their signs lost.
            ("a\n--b 1\n--c", &["a", "--b", "1", "--c"]),
            ("a#b", &["a#b"]),
        ] {
            assert_eq!(words(text), expect, "{text}");
        }
    }

    #[test]
    fn what_follows_the_command_is_reported_and_not_run() {
        for (text, expect, rest) in [
            ("a b | tee log", &["a", "b"][..], "| tee log"),
            ("a b 2>&1 | tee log", &["a", "b"], "2>&1 | tee log"),
            ("a b &> 'x y' --c 1", &["a", "b", "--c", "1"], "&> 'x y'"),
            ("a > x --c 1 2>> y &", &["a", "--c", "1"], "> x 2>> y &"),
            ("a b&", &["a", "b"], "&"),
            ("a --c 2 >x", &["a", "--c", "2"], ">x"),
            ("a b && c", &["a", "b"], "&& c"),
            ("a b > x", &["a", "b"], "> x"),
            ("a b\nc d", &["a", "b"], "c d"),
        ] {
            let line = split(text, variable).unwrap();
            assert_eq!(line.words, expect, "{text}");
            assert_eq!(line.rest.as_deref(), Some(rest), "{text}");
        }
    }

    #[test]
    fn what_cannot_be_read_is_one_sentence() {
        for (text, part) in [
            ("a --b 'c d", "the quote ' before “c d” is never closed"),
            ("a \"x", "the quote \" before “x” is never closed"),
            ("a $(date)", "$(…)"),
            ("a `date`", "`…`"),
            ("a $NONE", "NONE of the line is not set"),
            ("a <your path>/b", "the placeholder <your path>"),
        ] {
            let said = split(text, variable).unwrap_err();
            assert!(said.contains(part) && !said.contains('\n'), "{text}: {said}");
        }
    }

    #[test]
    fn quoted_words_come_back() {
        let all = ["a", "", "b c", "it's", "{\"k\": 1}", "$x", "--b=1"].map(str::to_owned);
        assert_eq!(words(&joined(&all)), all);
    }
}
