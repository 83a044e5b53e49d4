//! The top-level help: commands in groups, on one screen with `-h`, with an example of each group with
//! `--help`.
//!
//! Descriptions come from the commands themselves. Not here: the help of a single command
//! (`short_help`, `long_help`).

use clap::Command;

/// Commands that answer one kind of question.
struct Group {
    title: &'static str,
    commands: &'static [&'static str],
    example: &'static str,
}

const GROUPS: &[Group] = &[
    Group {
        title: "Measure",
        commands: &[
            "run", "sweep", "capacity", "probe", "engine", "kernel", "exec", "workload", "demo",
        ],
        example: "inferometer run http://localhost:8000 -c 16 -n 500 -W 1024/256",
    },
    Group {
        title: "Compare",
        commands: &["compare", "rank", "gate", "history"],
        example: "inferometer compare base int8",
    },
    Group { title: "Plan", commands: &["plan"], example: "inferometer plan init quantization" },
    Group {
        title: "Predict",
        commands: &["predict", "calibrate", "limit", "serve"],
        example: "inferometer predict --gpu l40s -m llama-3.1-8b -W 1024/256 -c 1..64",
    },
    Group {
        title: "Exchange",
        commands: &["import", "export", "audit", "as", "translate", "conform"],
        example: "inferometer audit results.json",
    },
    Group {
        title: "Machine",
        commands: &["doctor", "facts", "completions", "man", "schema"],
        example: "inferometer doctor",
    },
    Group {
        title: "Store",
        commands: &["runs", "rerun", "report", "ui"],
        example: "inferometer report last -o run.html",
    },
];

/// The last lines of both forms.
const START: &str = "Start with: inferometer demo (no GPU, server or network needed)\n\
    Options:    -h and --help (with examples), also for each command; -V, --version";
/// Columns of the group's title, and of the command's name.
const TITLE_WIDTH: usize = 10;
const NAME_WIDTH: usize = 13;

/// Replaces the list of commands in the top-level help by groups.
pub fn apply(command: Command) -> Command {
    let short = format!("{}\n{START}", list(&command));
    let long = format!("{}\n{START}", list_with_examples(&command));
    command
        .help_template("{about-with-newline}\n{usage-heading} {usage}{after-help}")
        .after_help(short)
        .after_long_help(long)
}

/// The first line of a command's description.
fn about(command: &Command, name: &str) -> String {
    let about = command.find_subcommand(name).and_then(Command::get_about);
    about.map(ToString::to_string).unwrap_or_default()
}

/// A line for each command; the title of a group precedes its first.
fn list(command: &Command) -> String {
    let mut text = String::new();
    for group in GROUPS {
        for (at, name) in group.commands.iter().enumerate() {
            let title = if at == 0 { group.title } else { "" };
            text += &format!("{title:TITLE_WIDTH$}{name:NAME_WIDTH$}{}\n", about(command, name));
        }
    }
    text
}

/// A paragraph for each group, which ends with an example.
fn list_with_examples(command: &Command) -> String {
    let mut text = String::new();
    for group in GROUPS {
        text += &format!("{}:\n", group.title);
        for name in group.commands {
            text += &format!("  {name:NAME_WIDTH$}{}\n", about(command, name));
        }
        text += &format!("  Example: {}\n\n", group.example);
    }
    text.truncate(text.trim_end().len() + 1);
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_visible_command_is_in_one_group() {
        let listed: Vec<&str> = GROUPS.iter().flat_map(|group| group.commands).copied().collect();
        let unique: BTreeSet<String> = listed.iter().map(|name| (*name).to_owned()).collect();
        assert_eq!(unique.len(), listed.len(), "a command is listed twice");
        let visible = crate::cli::command()
            .get_subcommands()
            .filter(|sub| !sub.is_hide_set())
            .map(|sub| sub.get_name().to_owned())
            .collect::<BTreeSet<String>>();
        assert_eq!(unique, visible);
    }

    #[test]
    fn short_help_fits_a_small_terminal() {
        let help = crate::cli::command().render_help().to_string();
        assert!(help.lines().count() <= 40, "{} lines:\n{help}", help.lines().count());
        for line in help.lines() {
            assert!(line.chars().count() <= 80, "{} columns: {line}", line.chars().count());
        }
    }

    #[test]
    fn examples_are_commands_that_parse() {
        for group in GROUPS {
            let words: Vec<String> = group.example.split(' ').map(str::to_owned).collect();
            assert!(group.commands.contains(&words[1].as_str()), "{}", group.example);
            crate::cli::parse(&words).unwrap_or_else(|error| panic!("{}: {error}", group.example));
        }
    }
}
