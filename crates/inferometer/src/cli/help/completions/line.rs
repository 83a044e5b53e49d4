//! The line up to the cursor, as its shell parses it. An open quote is not an error: the word
//! continues.

/// A line that is being typed.
#[derive(Debug, Default)]
pub struct Line {
    /// Complete words, program first.
    pub before: Vec<String>,
    /// The part of the word before the cursor.
    pub typed: String,
    /// The open quote at the cursor.
    quote: Option<char>,
}

impl Line {
    /// A line that its shell has split into words.
    pub fn of_words(words: &[String]) -> Line {
        let (typed, before) = words.split_last().map(|(a, b)| (a.clone(), b)).unwrap_or_default();
        Line { before: before.to_vec(), typed, quote: None }
    }

    /// A line as it is typed.
    pub fn read(text: &str) -> Line {
        let mut line = Line::default();
        let mut has_word = false;
        let mut signs = text.chars();
        while let Some(sign) = signs.next() {
            match (line.quote, sign) {
                (Some(quote), _) if sign == quote => line.quote = None,
                (Some('\''), _) => line.typed.push(sign),
                (_, '\\') => line.typed.extend(signs.next()),
                (Some(_), _) => line.typed.push(sign),
                (None, '\'' | '"') => {
                    line.quote = Some(sign);
                    has_word = true;
                }
                (None, _) if sign.is_whitespace() => {
                    if has_word || !line.typed.is_empty() {
                        line.before.push(std::mem::take(&mut line.typed));
                    }
                    has_word = false;
                }
                (None, _) => line.typed.push(sign),
            }
        }
        line
    }

    /// A word as bash inserts it for the part that it replaces. Bash also splits words at `=` and `:`, and
    /// replaces what follows them.
    pub fn for_bash(&self, word: &str, replaced: &str) -> String {
        // Such a separator is a separate word in bash, and what follows it has not been typed.
        let replaced = if matches!(replaced, "=" | ":") { "" } else { replaced };
        let plain = replaced.trim_start_matches(['\'', '"']);
        let plain = Line::read(plain).typed;
        let kept = self.typed.strip_suffix(&plain).unwrap_or_default();
        let rest = word.strip_prefix(kept).unwrap_or(word);
        match self.quote {
            // Bash keeps the open quote, and closes it itself.
            Some(_) => rest.to_owned(),
            None => rest.chars().fold(String::new(), |mut text, sign| {
                if !sign.is_alphanumeric() && !"_-./:=,@%+~".contains(sign) {
                    text.push('\\');
                }
                text.push(sign);
                text
            }),
        }
    }
}
