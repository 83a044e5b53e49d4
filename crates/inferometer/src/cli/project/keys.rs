//! The keys of the file: a row of `KEYS` for each key of its head, and in the table of a command its flags
//! by their long names.

use super::file::{Entry, ProjectFile, Value};
use crate::exit::Failure;
use clap::{Arg, Command};
use ifm_core::words::nearest;

/// Commands that ask a server.
const ASKING: &[&str] = &["run", "sweep", "capacity", "probe"];

/// A key of the head, the argument that it sets, and its commands: all that have the argument if none is
/// named.
struct Key {
    name: &'static str,
    id: &'static str,
    commands: &'static [&'static str],
}

/// Keys that apply to several commands. Flags with a different meaning per command belong in the
/// commands' tables.
const KEYS: &[Key] = &[
    Key {
        name: "server",
        id: "url",
        commands: &["run", "sweep", "capacity", "probe", "calibrate"],
    },
    Key { name: "model", id: "model", commands: ASKING },
    Key { name: "api", id: "api", commands: &["run", "sweep", "capacity"] },
    Key { name: "api-key-env", id: "api_key_env", commands: ASKING },
    Key { name: "workload", id: "workload", commands: &[] },
    Key { name: "tokenizer", id: "tokenizer", commands: &[] },
    Key { name: "presets", id: "presets", commands: &[] },
    Key { name: "offline", id: "offline", commands: &[] },
    Key { name: "slo", id: "slo", commands: &[] },
    Key { name: "store", id: "store", commands: &[] },
    Key { name: "quiet", id: "quiet", commands: &[] },
    Key { name: "no-color", id: "no_color", commands: &[] },
    Key { name: "ascii", id: "ascii", commands: &[] },
];

/// Decided for each call: whether to allow load on a public address.
const NEVER: &[&str] = &["yes", "help", "version"];

/// Whether the file does not apply to a command: those that only inferometer starts, and lines of other
/// tools, which are complete by themselves.
pub fn is_without_project(command: &Command) -> bool {
    ["guard", "worker", "complete", "completions", "man", "as", "translate", "schema"]
        .contains(&command.get_name())
}

/// The argument of a command that an entry sets.
pub fn arg_of<'c>(entry: &Entry, command: &'c Command, path: &[&str]) -> Option<&'c Arg> {
    let find = |is: &dyn Fn(&Arg) -> bool| command.get_arguments().find(|arg| is(arg));
    match entry.table.is_empty() {
        true => {
            let key = KEYS.iter().find(|key| key.name == entry.key)?;
            let is_for = key.commands.is_empty() || key.commands.contains(&path.join(" ").as_str());
            is_for.then(|| find(&|arg| arg.get_id() == key.id)).flatten()
        }
        false if path.starts_with(&entry.table.iter().map(String::as_str).collect::<Vec<_>>()) => {
            find(&|arg| arg.get_long() == Some(entry.key.as_str()) && may_be_set(arg))
        }
        false => None,
    }
}

fn may_be_set(arg: &Arg) -> bool {
    let is_shown = !arg.is_hide_set() && arg.get_long().is_some_and(|long| !NEVER.contains(&long));
    is_shown && !arg.is_positional()
}

/// Checks every key: an unknown one is an error, whatever command is typed.
///
/// # Errors
/// The first one, with its line and the probably intended key.
pub fn check(file: &ProjectFile, program: &Command) -> Result<(), Failure> {
    for entry in &file.entries {
        check_entry(entry, program).map_err(|why| file.wrong(entry, &why))?;
    }
    Ok(())
}

fn check_entry(entry: &Entry, program: &Command) -> Result<(), String> {
    let mut command = program;
    for (at, name) in entry.table.iter().enumerate() {
        let known = || command.get_subcommands().filter(|sub| !is_without_project(sub));
        let Some(sub) = known().find(|sub| sub.get_name() == name) else {
            let table = entry.table[..=at].join(".");
            let near = nearest(name, known().map(Command::get_name));
            return Err(meant(&format!("there is no command \"{table}\""), near));
        };
        command = sub;
    }
    let keys: Vec<&str> = match entry.table.is_empty() {
        true => KEYS.iter().map(|key| key.name).collect(),
        false => command
            .get_arguments()
            .filter(|arg| may_be_set(arg))
            .filter_map(Arg::get_long)
            .collect(),
    };
    if !keys.contains(&entry.key.as_str()) {
        let place = match entry.table.is_empty() {
            true => "there is no key".to_owned(),
            false => format!("{} has no flag", entry.table.join(" ")),
        };
        let what = format!("{place} \"{}\"", entry.key);
        return Err(match (nearest(&entry.key, keys.iter().copied()), entry.table.is_empty()) {
            (None, true) => {
                format!("{what}; there are {}, and tables of commands", keys.join(", "))
            }
            (near, _) => meant(&what, near),
        });
    }
    match &entry.value {
        Value::Other(kind) => {
            Err(format!("\"{}\" cannot be a value of the type {kind}", entry.key))
        }
        _ => Ok(()),
    }
}

fn meant(what: &str, near: Option<&str>) -> String {
    match near {
        Some(near) => format!("{what}; did you mean \"{near}\"?"),
        None => what.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program() -> Command {
        let mut program = crate::cli::command();
        program.build();
        program
    }

    #[test]
    fn every_key_is_an_argument_of_each_of_its_commands() {
        fn has(command: &Command, id: &str) -> bool {
            command.get_arguments().any(|arg| arg.get_id() == id)
                || command.get_subcommands().any(|sub| has(sub, id))
        }
        let program = program();
        for key in KEYS {
            assert!(has(&program, key.id), "{}", key.name);
            for name in key.commands {
                let command = program.find_subcommand(name).expect(name);
                assert!(has(command, key.id), "{}: {name}", key.name);
            }
        }
    }

    #[test]
    fn a_key_that_is_not_known_gets_the_nearest() {
        let program = program();
        let of = |table: &str, key: &str| {
            let table: Vec<String> = table.split_whitespace().map(str::to_owned).collect();
            let value = Value::Text("x".to_owned());
            check_entry(&Entry { table, key: key.to_owned(), value, line: 1 }, &program)
        };
        assert_eq!(of("", "workload"), Ok(()));
        assert_eq!(of("run", "concurrency"), Ok(()));
        assert_eq!(of("plan run", "budget"), Ok(()));
        for (table, key, part) in [
            ("", "workloda", "did you mean \"workload\"?"),
            ("", "concurrency", "there are server, model,"),
            ("run", "concurency", "did you mean \"concurrency\"?"),
            ("swep", "concurrency", "no command \"swep\"; did you mean \"sweep\"?"),
            ("run", "yes", "run has no flag \"yes\""),
        ] {
            let why = of(table, key).expect_err(key);
            assert!(why.contains(part), "{table} {key}: {why}");
        }
    }
}
