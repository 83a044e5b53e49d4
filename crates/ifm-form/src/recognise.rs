//! Whether a grammar generates a text, trying all ways at once, character by character.
//!
//! J. Earley, "An efficient context-free parsing algorithm", 1970, with the treatment of empty rules of
//! J. Aycock and R. N. Horspool, "Practical Earley parsing", 2002.
//!
//! Not here: reading grammars (`grammar`).

use std::collections::{HashMap, HashSet};

use super::grammar::{Grammar, Symbol};

/// Maximum number of steps: about a second. A text that takes more is not judged.
const STEPS_MAX: u64 = 5_000_000;

/// A production in progress: its position, and where in the text it began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Item {
    production: u32,
    done: u32,
    from: u32,
}

impl Item {
    fn further(self) -> Item {
        Item { done: self.done + 1, ..self }
    }
}

/// Items that wait for a rule, by the rule.
type Waiting = HashMap<u32, Vec<Item>>;

/// The state at one place of the text.
#[derive(Default)]
struct Place {
    items: Vec<Item>,
    seen: HashSet<Item>,
}

impl Place {
    fn push(&mut self, item: Item) {
        if self.seen.insert(item) {
            self.items.push(item);
        }
    }

    fn begin(&mut self, grammar: &Grammar, rule: u32, from: u32) {
        for production in grammar.of_rule.get(rule as usize).into_iter().flatten() {
            self.push(Item { production: *production, done: 0, from });
        }
    }
}

/// Whether the grammar generates the text; `None` if that takes too long.
pub(super) fn recognises(grammar: &Grammar, text: &str) -> Option<bool> {
    within(grammar, text, STEPS_MAX)
}

fn within(grammar: &Grammar, text: &str, steps_max: u64) -> Option<bool> {
    let mut waiting: Vec<Waiting> = Vec::new();
    let mut steps = 0;
    let mut place = Place::default();
    place.begin(grammar, grammar.root, 0);
    let mut letters = text.chars();
    loop {
        let letter = letters.next();
        let at = waiting.len() as u32;
        let mut here = Waiting::new();
        let mut next = Place::default();
        let mut is_whole = false;
        let mut number = 0;
        while let Some(item) = place.items.get(number).copied() {
            number += 1;
            steps += 1;
            if steps > steps_max {
                return None;
            }
            let production = grammar.productions.get(item.production as usize)?;
            match production.symbols.get(item.done as usize) {
                Some(Symbol::Chars(set)) => {
                    let set = grammar.sets.get(*set as usize)?;
                    if letter.is_some_and(|letter| set.has(letter)) {
                        next.push(item.further());
                    }
                }
                Some(Symbol::Rule(rule)) => {
                    here.entry(*rule).or_default().push(item);
                    place.begin(grammar, *rule, at);
                    if grammar.is_nullable.get(*rule as usize) == Some(&true) {
                        place.push(item.further());
                    }
                }
                None => {
                    is_whole |= production.rule == grammar.root && item.from == 0;
                    // Empty rules were skipped where they were expected.
                    if let Some(before) = waiting.get(item.from as usize) {
                        let rule = production.rule;
                        for item in before.get(&rule).into_iter().flatten() {
                            steps += 1;
                            place.push(item.further());
                        }
                    }
                }
            }
        }
        match letter {
            None => return Some(is_whole),
            Some(_) if next.items.is_empty() => return Some(false),
            Some(_) => {}
        }
        waiting.push(here);
        place = next;
    }
}

#[cfg(test)]
mod tests {
    use super::super::grammar::read;
    use super::*;

    fn judged(grammar: &str, text: &str) -> Option<bool> {
        recognises(&read(grammar).unwrap().unwrap_or_else(|| panic!("{grammar}")), text)
    }

    /// After llama.cpp's grammar of JSON, with comments and lines as people write them.
    const JSON: &str = r#"
        root   ::= object # an object alone
        value  ::= object | array | string | number |
                   ("true" | "false" | "null") ws
        object ::= "{" ws ( string ":" ws value ("," ws string ":" ws value)* )? "}" ws
        array  ::= "[" ws ( value ("," ws value)* )? "]" ws
        string ::= "\"" ( [^"\\\x7F\x00-\x1F] | "\\" (["\\/bfnrt] | "u" [0-9a-fA-F]{4}) )* "\"" ws
        number ::= ("-"? ([0-9] | [1-9] [0-9]{0,15})) ("." [0-9]+)? ([eE] [-+]? [0-9] [1-9]{0,15})? ws
        ws ::= | " " | "\n" [ \t]{0,20}
    "#;

    #[test]
    fn answers_of_a_grammar_are_told_from_others() {
        for (grammar, text, expect) in [
            (r#"root ::= "a""#, "a", true),
            (r#"root ::= "a""#, "b", false),
            (r#"root ::= "a""#, "aa", false),
            (r#"root ::= "a""#, "", false),
            (r#"root ::= "a"*"#, "", true),
            (r#"root ::= "ab"+ "c"?"#, "ababc", true),
            (r#"root ::= "ab"+ "c"?"#, "abab", true),
            (r#"root ::= "ab"+ "c"?"#, "abb", false),
            (r#"root ::= [a-c]{2,3}"#, "a", false),
            (r#"root ::= [a-c]{2,3}"#, "abc", true),
            (r#"root ::= [a-c]{2,3}"#, "abca", false),
            (r#"root ::= [a-c]{2,}"#, "abcabc", true),
            (r#"root ::= [^a-c-]{1}"#, "-", false),
            (r#"root ::= . [\u00e9\x41]"#, "…é", true),
            // Both ways of recursion, and rules that may be empty.
            (r#"root ::= root "x" | "y""#, "yxxx", true),
            ("root ::= a b\na ::= \"x\" a |\nb ::= a a", "xxx", true),
            ("root ::= \"(\" root \")\" root | \"\"", "(()())()", true),
            ("root ::= \"(\" root \")\" root | \"\"", "(()", false),
            (JSON, "{\"a\": [1, -2.5e3, \"\\u00e9\\n\"], \"b\":{}}", true),
            (JSON, "{\"a\": [1,], \"b\":{}}", false),
            (JSON, "{\"a\": 01}", false),
            (JSON, "[1]", false),
        ] {
            assert_eq!(judged(grammar, text), Some(expect), "{grammar} {text}");
        }
    }

    #[test]
    fn what_is_in_another_language_is_not_read_and_what_is_missing_is_told() {
        for foreign in [
            "start: \"a\" | \"b\"",
            "root ::= (?= \"a\") b\nb ::= \"a\"",
            "root ::= TagDispatch((\"a\", b))\nb ::= \"x\"",
            "root ::= \"\\d\"",
            "root ::= \"a\"{1000000000}",
            "root ::= \"a\"\nroot ::= \"b\"",
        ] {
            assert!(read(foreign).unwrap().is_none(), "{foreign}");
        }
        assert!(read(&format!("root ::= {}", "(".repeat(100_000))).unwrap().is_none());
        for (open, what) in [
            ("root ::= \"a", "line 1: the text"),
            ("root ::= b\nb ::= [a-z", "line 2: the set"),
            ("root ::= (\"a\"", "line 1: the group"),
            ("root ::= (\"a\" \"b)", "line 1: the text"),
        ] {
            let error = read(open).unwrap_err();
            assert_eq!(error, format!("{what} that begins here does not end"), "{open}");
        }
        assert_eq!(read("root ::= thing").unwrap_err(), "the grammar has no rule \"thing\"");
        assert_eq!(read("top ::= \"a\"").unwrap_err(), "the grammar has no rule \"root\"");
    }

    /// The work grows linearly with the text, not quadratically; a text that would take too long is
    /// not judged.
    #[test]
    fn long_answers_are_judged_and_endless_work_ends() {
        let read = |grammar: &str| read(grammar).unwrap().expect("a grammar");
        let long = format!("{{\"a\": [{}0]}}", "12, ".repeat(500));
        assert_eq!(within(&read(JSON), &long, 100 * long.len() as u64), Some(true));
        let text = "x".repeat(2000);
        let (left, right) =
            (read("root ::= root \"x\" | \"x\""), read("root ::= \"x\" root | \"x\""));
        assert_eq!(within(&left, &text, 20 * text.len() as u64), Some(true));
        assert_eq!(within(&right, &text, 20 * text.len() as u64), None);
    }
}
