//! What `--help` adds to a flag: the names that a registry knows, so that no help can omit one.
//!
//! Not here: the flags, which are with their commands, and what `-h` shows (`short_help`).

use clap::{Arg, Command};
use ifm_compare::comparison::Measure;
use ifm_metrics::slo;

/// A flag by its name in any command, and the names that it accepts.
type Words = (&'static str, fn() -> String);

const WORDS: &[Words] =
    &[("metric", metrics), ("max", metrics), ("slo", targets), ("tiers", targets)];

fn metrics() -> String {
    format!("Metrics {}.", Measure::known())
}

fn targets() -> String {
    format!("A term bounds a percentile, or the mean, of {}.", slo::metrics())
}

/// Adds the names to the help of all flags that accept them.
pub fn apply(command: Command) -> Command {
    let names: Vec<String> =
        command.get_subcommands().map(|sub| sub.get_name().to_owned()).collect();
    let command = command.mut_args(with_words);
    names.into_iter().fold(command, |command, name| command.mut_subcommand(name, apply))
}

fn with_words(arg: Arg) -> Arg {
    let id = arg.get_id().as_str();
    let Some((_, words)) = WORDS.iter().find(|(known, _)| *known == id) else { return arg };
    let Some(help) = arg.get_long_help().or(arg.get_help()) else { return arg };
    let text = format!("{help}\n\n{}", words());
    arg.long_help(text)
}

#[cfg(test)]
mod tests {
    use super::WORDS;
    use clap::Command;

    /// Every flag with its long help, under its command.
    fn flags(command: &Command, all: &mut Vec<(String, String)>) {
        for arg in command.get_arguments() {
            let help = arg.get_long_help().map(ToString::to_string).unwrap_or_default();
            all.push((format!("{} {}", command.get_name(), arg.get_id()), help));
        }
        command.get_subcommands().for_each(|sub| flags(sub, all));
    }

    #[test]
    fn flags_of_metrics_and_targets_list_them() {
        let mut all = Vec::new();
        flags(&crate::cli::command(), &mut all);
        for (name, word) in [
            ("compare metric", "level_rtfx"),
            ("rank metric", "ttfa"),
            ("history metric", "images_s"),
            ("gate max", "silence"),
            ("run slo", "rtf_heard"),
            ("capacity tiers", "ttft_acked"),
            ("predict slo", "speed:p10>20"),
        ] {
            let (_, help) = all.iter().find(|(flag, _)| flag == name).expect(name);
            assert!(help.contains(word), "{name}: {help}");
        }
        for (id, _) in WORDS {
            let has = |(flag, help): &(String, String)| {
                flag.ends_with(&format!(" {id}")) && help.contains("\n\n")
            };
            assert!(all.iter().any(has), "no flag is named {id}");
        }
    }
}
