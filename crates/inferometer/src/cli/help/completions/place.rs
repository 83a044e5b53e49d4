//! Which command, flag or value is at the cursor, found by walking the line with the parser's own
//! description.

use super::values::{self, Asked, first_line};
use super::{Candidate, Line};
use crate::cli::{compat, serve};
use clap::{Arg, ArgAction, Command};
use std::collections::BTreeMap;

/// The completions at the cursor of a line.
pub fn candidates(line: &Line) -> Vec<Candidate> {
    let mut program = crate::cli::command();
    program.build();
    let before = serve::told_apart(compat::spelled_out(line.before.clone()));
    let place = Place::of(&program, &before);
    place.candidates(&line.typed)
}

/// The place after the words of a line.
struct Place<'c> {
    command: &'c Command,
    /// Values typed so far, by the argument's id.
    given: BTreeMap<&'c str, Vec<String>>,
    /// The flag that expects a value.
    awaits: Option<&'c Arg>,
    /// Number of values that flag still expects.
    missing: usize,
    /// Non-flag words after the command.
    positionals: usize,
    /// `--` was typed.
    flags_ended: bool,
    /// A line of another tool, after `as`.
    foreign: Option<Vec<String>>,
}

impl<'c> Place<'c> {
    fn of(program: &'c Command, before: &[String]) -> Place<'c> {
        let mut place = Place {
            command: program,
            given: BTreeMap::new(),
            awaits: None,
            missing: 0,
            positionals: 0,
            flags_ended: false,
            foreign: None,
        };
        before.iter().skip(1).for_each(|word| place.pass(word));
        place
    }

    /// Continues after a word.
    fn pass(&mut self, word: &str) {
        if let Some(line) = &mut self.foreign {
            line.push(word.to_owned());
        } else if let Some(arg) = self.awaits {
            self.given.entry(arg.get_id().as_str()).or_default().push(word.to_owned());
            self.missing -= 1;
            if self.missing == 0 {
                self.awaits = None;
            }
        } else if self.flags_ended {
            self.positionals += 1;
        } else if word == "--" {
            self.flags_ended = true;
            self.positionals = 0;
        } else if let Some(long) = word.strip_prefix("--") {
            let (name, value) = match long.split_once('=') {
                Some((name, value)) => (name, Some(value)),
                None => (long, None),
            };
            self.pass_flag(self.long(name), value);
        } else if let Some(letters) = word.strip_prefix('-').filter(|letters| !letters.is_empty()) {
            self.pass_letters(letters);
        } else if let Some(sub) =
            self.command.find_subcommand(word).filter(|_| self.positionals == 0)
        {
            self.command = sub;
            self.given.clear();
            self.foreign = is_foreign(sub).then(Vec::new);
        } else {
            if let Some(arg) = self.positional() {
                self.given.entry(arg.get_id().as_str()).or_default().push(word.to_owned());
            }
            self.positionals += 1;
        }
    }

    fn pass_flag(&mut self, arg: Option<&'c Arg>, value: Option<&str>) {
        let Some(arg) = arg else { return };
        let values = self.given.entry(arg.get_id().as_str()).or_default();
        match value {
            Some(value) => values.push(value.to_owned()),
            None => {
                self.missing = awaited(arg);
                self.awaits = Some(arg).filter(|_| self.missing > 0);
            }
        }
    }

    /// `-c 8`, `-c8`, `-vc 8`.
    fn pass_letters(&mut self, letters: &str) {
        for (at, letter) in letters.char_indices() {
            let Some(arg) = self.short(letter) else { return };
            let rest = &letters[at + letter.len_utf8()..];
            if awaited(arg) > 0 && !rest.is_empty() {
                return self.pass_flag(Some(arg), Some(rest));
            }
            self.pass_flag(Some(arg), None);
        }
    }

    fn long(&self, name: &str) -> Option<&'c Arg> {
        self.command.get_arguments().find(|arg| {
            arg.get_long() == Some(name)
                || arg.get_all_aliases().is_some_and(|aliases| aliases.contains(&name))
        })
    }

    fn short(&self, letter: char) -> Option<&'c Arg> {
        self.command.get_arguments().find(|arg| {
            arg.get_short() == Some(letter)
                || arg.get_all_short_aliases().is_some_and(|aliases| aliases.contains(&letter))
        })
    }

    /// The next positional argument.
    fn positional(&self) -> Option<&'c Arg> {
        let of_kind = |arg: &&'c Arg| arg.is_last_set() == self.flags_ended;
        let all: Vec<&'c Arg> = self.command.get_positionals().filter(of_kind).collect();
        let takes_more = |arg: &&&'c Arg| {
            arg.get_num_args().is_some_and(|count| count.max_values() > 1)
                || matches!(arg.get_action(), ArgAction::Append)
        };
        all.get(self.positionals).or_else(|| all.last().filter(takes_more)).copied()
    }

    fn candidates(&self, typed: &str) -> Vec<Candidate> {
        if let Some(line) = &self.foreign {
            return values::foreign(line, typed);
        }
        if let Some(arg) = self.awaits {
            return self.values(arg, "", typed);
        }
        if !self.flags_ended {
            if let Some((flag, value)) = typed.split_once('=')
                && let Some(arg) = flag.strip_prefix("--").and_then(|name| self.long(name))
            {
                return self.values(arg, &format!("{flag}="), value);
            }
            if let Some(letters) = typed.strip_prefix('-').filter(|it| !it.starts_with('-'))
                && let Some(letter) = letters.chars().next()
                && let Some(arg) = self.short(letter).filter(|arg| awaited(arg) > 0)
            {
                let (flag, value) = typed.split_at(1 + letter.len_utf8());
                return self.values(arg, flag, value);
            }
            if typed.starts_with('-') {
                return self.flags(typed);
            }
        }
        let mut found = Vec::new();
        if self.positionals == 0 && !self.flags_ended {
            found = self.commands(typed);
        }
        if let Some(arg) = self.positional() {
            found.extend(self.values(arg, "", typed));
        }
        found
    }

    fn commands(&self, typed: &str) -> Vec<Candidate> {
        let shown = self.command.get_subcommands().filter(|sub| !sub.is_hide_set());
        shown
            .filter(|sub| sub.get_name().starts_with(typed))
            .map(|sub| Candidate::new(sub.get_name(), first_line(sub.get_about())))
            .collect()
    }

    fn flags(&self, typed: &str) -> Vec<Candidate> {
        let may_come = |arg: &&Arg| {
            let again = matches!(arg.get_action(), ArgAction::Append | ArgAction::Count);
            !arg.is_hide_set() && (again || !self.given.contains_key(arg.get_id().as_str()))
        };
        let of = |arg: &Arg| {
            let name = format!("--{}", arg.get_long()?);
            name.starts_with(typed).then(|| Candidate::new(name, first_line(arg.get_help())))
        };
        self.command.get_arguments().filter(may_come).filter_map(of).collect()
    }

    /// Values of an argument, after a given part of the word.
    fn values(&self, arg: &Arg, before: &str, typed: &str) -> Vec<Candidate> {
        let path = self.command.get_bin_name().unwrap_or_default();
        let asked = Asked {
            command: path.split_once(' ').map_or("", |(_, command)| command),
            arg,
            typed,
            store: self.given.get("store").and_then(|given| given.last()).map(String::as_str),
            presets: self.given.get("presets").and_then(|given| given.last()).map(String::as_str),
        };
        let mut found = values::of(&asked);
        found.iter_mut().for_each(|candidate| candidate.text.insert_str(0, before));
        found
    }
}

/// The number of following words that a flag uses as values.
fn awaited(arg: &Arg) -> usize {
    if !arg.get_action().takes_values() || arg.is_require_equals_set() {
        return 0;
    }
    arg.get_num_args().map_or(1, |count| count.min_values())
}

/// Whether a line of another tool follows a command.
fn is_foreign(command: &Command) -> bool {
    matches!(command.get_name(), "as" | "translate")
}
