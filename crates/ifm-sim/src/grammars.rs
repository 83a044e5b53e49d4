//! Grammars of structured answers: a server compiles each before its first request, and every request for
//! it meanwhile waits too.
//!
//! Not here: how long that takes (`constants`), and what a request asks for.

use std::{collections::HashMap, hash::Hash};

/// Grammars that a server remembers; then it forgets all of them.
const COMPILED_MAX: usize = 4096;

/// The grammars of a server as far as they cost time, in any clock's nanoseconds. `Key` identifies a
/// grammar.
#[derive(Debug, Clone)]
pub struct Grammars<Key> {
    takes_ns: u64,
    ready_ns: HashMap<Key, u64>,
}

impl<Key: Hash + Eq> Grammars<Key> {
    /// No grammar is compiled yet, and each takes `takes_ns`: 0 where compiling is free or unknown.
    pub fn new(takes_ns: u64) -> Self {
        Self { takes_ns, ready_ns: HashMap::new() }
    }

    /// How long a request that comes now waits for its grammar, nanoseconds. Without a key the grammar is
    /// its own.
    pub fn wait_ns(&mut self, key: Option<Key>, now_ns: u64) -> u64 {
        if self.takes_ns == 0 {
            return 0;
        }
        if self.ready_ns.len() >= COMPILED_MAX {
            self.ready_ns.clear();
        }
        let at_ns = now_ns.saturating_add(self.takes_ns);
        let ready_ns = key.map_or(at_ns, |key| *self.ready_ns.entry(key).or_insert(at_ns));
        ready_ns.saturating_sub(now_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_request_of_a_grammar_waits_and_those_that_come_meanwhile() {
        let mut grammars = Grammars::new(500);
        assert_eq!(grammars.wait_ns(Some("a"), 100), 500);
        assert_eq!(grammars.wait_ns(Some("a"), 300), 300);
        assert_eq!(grammars.wait_ns(Some("b"), 300), 500);
        assert_eq!(grammars.wait_ns(Some("a"), 900), 0);
        assert_eq!([grammars.wait_ns(None, 900), grammars.wait_ns(None, 2000)], [500, 500]);
        assert_eq!(Grammars::new(0).wait_ns(Some("a"), 0), 0);
    }

    #[test]
    fn what_was_forgotten_is_compiled_again() {
        let mut grammars = Grammars::new(1);
        for number in 0..COMPILED_MAX {
            assert_eq!(grammars.wait_ns(Some(number), 0), 1);
        }
        assert_eq!(grammars.wait_ns(Some(0), 9), 1);
        assert_eq!(grammars.wait_ns(Some(0), 19), 0);
    }
}
