//! Errors in the command line: the intended flag, and what a command accepts.
//!
//! Not here: flags of other tools that work unchanged, which are aliases; whole lines of other tools
//! (`compat`).

use crate::cli::help::short_help;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, Command, Error};
use ifm_compat::shell;
use ifm_core::words::nearest;

/// Flags in the spelling of other tools, and in inferometer's.
const SPELLINGS: &[(&str, &str)] = &[
    ("--api-base", "--base-url"),
    ("--api-key", "--api-key-env"),
    ("--api-url", "--base-url"),
    ("--batch-size", "--concurrency"),
    ("--clients", "--concurrency"),
    ("--concurrent", "--concurrency"),
    ("--connections", "--concurrency"),
    ("--data-path", "--workload"),
    ("--dataset", "--workload"),
    ("--dataset-file", "--workload"),
    ("--endpoint-url", "--base-url"),
    ("--input-length", "--input-len"),
    ("--input-tokens", "--input-len"),
    ("--max-duration", "--duration"),
    ("--max-new-tokens", "--output-len"),
    ("--max-num-completed-requests", "--requests"),
    ("--max-requests-per-run", "--requests"),
    ("--max-time-per-run", "--duration"),
    ("--max-tokens", "--output-len"),
    ("--mean-input-tokens", "--input-len"),
    ("--mean-output-tokens", "--output-len"),
    ("--model-id", "--model"),
    ("--model-name", "--model"),
    ("--num-clients", "--concurrency"),
    ("--num-requests", "--requests"),
    ("--num-users", "--concurrency"),
    ("--number", "--requests"),
    ("--output-dir", "--out"),
    ("--output-file", "--out"),
    ("--output-format", "--format"),
    ("--output-length", "--output-len"),
    ("--output-path", "--out"),
    ("--output-tokens", "--output-len"),
    ("--output-tokens-mean", "--output-len"),
    ("--parallel", "--concurrency"),
    ("--prompt-file", "--workload"),
    ("--prompt-len", "--input-len"),
    ("--prompt-tokens", "--input-len"),
    ("--qps", "--rate"),
    ("--requests-per-second", "--rate"),
    ("--rps", "--rate"),
    ("--run-time", "--duration"),
    ("--seconds", "--duration"),
    ("--server-url", "--base-url"),
    ("--slos", "--slo"),
    ("--synthetic-input-tokens-mean", "--input-len"),
    ("--text-input-length", "--input-len"),
    ("--total-requests", "--requests"),
    ("--users", "--concurrency"),
    ("--vus", "--concurrency"),
    ("--warmup-requests", "--warmup"),
];

/// The error as text, with the intended flag and what the command accepts.
pub fn explained(mut error: Error, words: &[String]) -> String {
    let mut command = crate::cli::command();
    command.build();
    let command = meant(&command, words);
    if error.get(ContextKind::Usage).is_some() {
        // The included usage lists what was given: also what an environment variable gave, or what
        // belongs to another suggestion.
        let usage = ContextValue::StyledStr(command.clone().render_usage());
        error.insert(ContextKind::Usage, usage);
    }
    match error.kind() {
        ErrorKind::UnknownArgument => {
            if let Some(tip) = simulated(&error, command, words).or_else(|| negative(&error, words))
            {
                return tip;
            }
            // The included suggestion knows no flag of another tool, and may be far from what was typed.
            error.remove(ContextKind::SuggestedArg);
            if let Some(near) = intended(&error, command) {
                error.remove(ContextKind::TrailingArg);
                error.remove(ContextKind::Suggested);
                error.insert(ContextKind::SuggestedArg, ContextValue::String(near));
            }
            error.render().to_string()
        }
        ErrorKind::MissingRequiredArgument => needs(&error, command),
        _ => error.render().to_string(),
    }
}

/// The command in the line.
fn meant<'a>(program: &'a Command, words: &[String]) -> &'a Command {
    let mut command = program;
    for word in words.iter().skip(1) {
        match command.find_subcommand(word) {
            Some(sub) => command = sub,
            None => break,
        }
    }
    let is_simulated = command.get_name() == "serve" && words.iter().any(|word| word == "--sim");
    let simulated = || program.find_subcommand(crate::cli::serve_simulated::VERB);
    if is_simulated { simulated().unwrap_or(command) } else { command }
}

/// That a flag of `serve` describes a simulated server, which has to be asked for.
fn simulated(error: &Error, command: &Command, words: &[String]) -> Option<String> {
    let Some(ContextValue::String(typed)) = error.get(ContextKind::InvalidArg) else { return None };
    let name = typed.split('=').next()?.trim_start_matches("--");
    let program = crate::cli::command();
    let sim = program.find_subcommand(crate::cli::serve_simulated::VERB)?;
    let is_its = |arg: &Arg| {
        arg.get_long() == Some(name) || arg.get_all_aliases().unwrap_or_default().contains(&name)
    };
    let is_meant = command.get_name() == "serve" && sim.get_arguments().any(is_its);
    let rest = words.get(2..).unwrap_or_default();
    is_meant.then(|| {
        format!(
            "error: --{name} describes a simulated server, and serve runs the embedded engine\n\n  \
             tip: add --sim: inferometer serve --sim {}\n",
            shell::joined(rest)
        )
    })
}

/// That a number is not negative, where one was read as a flag.
fn negative(error: &Error, words: &[String]) -> Option<String> {
    let Some(ContextValue::String(typed)) = error.get(ContextKind::InvalidArg) else { return None };
    // Of `-50` the parser names `-5`.
    let is_it = |word: &&String| {
        word.starts_with(typed.as_str()) && word.parse::<f64>().is_ok_and(|number| number < 0.0)
    };
    let word = words.iter().find(is_it)?;
    Some(format!("error: {word}: a negative number is not accepted here\n"))
}

/// The flag of the command that was probably meant: by another tool's spelling, by the nearest
/// spelling, or as the only flag that begins like this.
fn intended(error: &Error, command: &Command) -> Option<String> {
    let Some(ContextValue::String(typed)) = error.get(ContextKind::InvalidArg) else { return None };
    let typed = typed.split('=').next()?.strip_prefix("--")?;
    let visible = command.get_arguments().filter(|arg| !arg.is_hide_set());
    let own: Vec<&str> = visible
        .flat_map(|arg| arg.get_long().into_iter().chain(arg.get_all_aliases().unwrap_or_default()))
        .collect();
    let foreign = SPELLINGS.iter().filter_map(|(theirs, ours)| {
        let ours = ours.strip_prefix("--")?;
        own.contains(&ours).then_some((theirs.strip_prefix("--")?, ours))
    });
    let all: Vec<(&str, &str)> = own.iter().map(|name| (*name, *name)).chain(foreign).collect();
    let begun = || {
        let mut begun = own.iter().filter(|name| name.starts_with(typed));
        begun.next().filter(|_| begun.next().is_none()).copied()
    };
    let near = || nearest(typed, all.iter().map(|(spelling, _)| *spelling));
    let found = near().or_else(begun)?;
    let (_, ours) = all.iter().find(|(spelling, _)| *spelling == found)?;
    Some(format!("--{ours}"))
}

/// The required arguments that a command lacks, in its own words, with examples.
fn needs(error: &Error, command: &Command) -> String {
    let missing = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::Strings(missing)) => missing.as_slice(),
        _ => return error.render().to_string(),
    };
    // Optional arguments are in square brackets there, and in angle brackets here.
    let named = |arg: &Arg| arg.to_string().replace('[', "<").replace(']', ">");
    let is_missing = |arg: &&Arg| missing.contains(&named(arg));
    let lines: Vec<String> = command
        .get_arguments()
        .filter(is_missing)
        .map(|arg| format!("  {}  {}\n", named(arg), arg.get_help().cloned().unwrap_or_default()))
        .collect();
    if lines.is_empty() {
        return error.render().to_string();
    }
    let path = command.get_bin_name().unwrap_or("inferometer").to_owned();
    let name = command.get_name();
    let examples = short_help::examples(name).map(|text| format!("\n{text}")).unwrap_or_default();
    format!(
        "error: {name} needs:\n{}{examples}\nFor more information: {path} --help\n",
        lines.concat()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: &str) -> String {
        let words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
        let error = crate::cli::parse(&words).expect_err(text);
        explained(error, &words)
    }

    #[test]
    fn a_wrong_flag_gets_the_one_that_was_meant() {
        for (typed, meant) in [
            ("run http://h --users 8", "--concurrency"),
            ("run http://h --num-requests 8", "--requests"),
            ("run http://h --qps=8", "--rate"),
            ("sweep http://h --input-tokens 8", "--input-len"),
            ("sweep http://h --max-tokens 8", "--output-len"),
            ("capacity http://h --dataset x", "--workload"),
            ("run http://h --output-path x.json", "--out"),
            ("run http://h --api-key x", "--api-key-env"),
            // Misspelled: letters swapped, missing, added, changed, or only the beginning.
            ("run http://h --usres 8", "--concurrency"),
            ("run http://h --userss 8", "--concurrency"),
            ("run http://h --numrequests 8", "--requests"),
            ("run http://h --ouput x", "--out"),
            ("run http://h --warmpu 3", "--warmup"),
            ("run http://h --durtion=5", "--duration"),
            ("run http://h --concurency 8", "--concurrency"),
            ("run http://h --conc 8", "--concurrency"),
            ("run http://h --rat -5", "--rate"),
            ("report x --fromat json", "--format"),
            ("runs list --stroe x", "--store"),
            ("serve --prot 8", "--port"),
            ("capacity http://h --slp chat", "--slo"),
            ("audit x --formt json", "--format"),
            ("report --formats json", "--format"),
        ] {
            let told = told(&format!("inferometer {typed}"));
            let tip = told.lines().find(|line| line.contains("tip:")).unwrap_or_default();
            assert!(tip.contains(&format!("'{meant}'")), "{typed}: {told}");
        }
        assert!(!told("inferometer audit x --users 8").contains("--concurrency"));
        for far in ["run http://h --foo", "run http://h --xyzzy 3", "audit x --burst"] {
            assert!(!told(&format!("inferometer {far}")).contains("similar"), "{far}");
        }
    }

    /// What an environment variable gave is not part of the line that was typed.
    #[test]
    fn the_usage_lists_only_what_the_command_needs() {
        for (typed, usage) in [
            ("run http://h --rate 5 --ramp 1-5/10s", "Usage: inferometer run [OPTIONS] [URL]"),
            ("run http://h --usres 8", "Usage: inferometer run [OPTIONS] [URL]"),
            ("sweep http://h --rate 5 -c 4", "Usage: inferometer sweep [OPTIONS] [URL]"),
        ] {
            let told = told(&format!("inferometer {typed} --store x"));
            assert!(told.lines().any(|line| line == usage), "{told}");
        }
    }

    #[test]
    fn a_flag_of_simulated_servers_names_the_flag_that_asks_for_one() {
        let said = told("inferometer serve --gpu l40s -m llama-3.1-8b");
        let tip = "tip: add --sim: inferometer serve --sim --gpu l40s -m llama-3.1-8b";
        assert!(said.contains(tip), "{said}");
        assert!(!told("inferometer serve --gpuu l40s").contains("--sim"));
        assert!(told("inferometer run http://h -n -50").contains("-50: a negative number"));
    }

    #[test]
    fn every_spelling_is_foreign_and_means_a_flag_of_ours() {
        let run = crate::cli::command();
        let run = run.find_subcommand("run").expect("run");
        let names: Vec<String> = run
            .get_arguments()
            .flat_map(|arg| {
                let aliases = arg.get_all_aliases().unwrap_or_default();
                arg.get_long().into_iter().chain(aliases).map(|name| format!("--{name}"))
            })
            .collect();
        assert!(SPELLINGS.is_sorted(), "in the order of the alphabet");
        for (theirs, ours) in SPELLINGS {
            assert!(!names.iter().any(|name| name == theirs), "{theirs} is taken already");
            assert!(names.iter().any(|name| name == ours), "run has no {ours}");
        }
    }

    #[test]
    fn a_command_without_its_arguments_says_what_it_takes() {
        for command in ["import", "audit", "compare", "rank", "export"] {
            let told = told(&format!("inferometer {command}"));
            assert!(told.starts_with(&format!("error: {command} needs:\n")), "{told}");
            assert!(told.contains(&format!("  inferometer {command} ")), "{told}");
            assert!(told.lines().count() <= 12, "{told}");
        }
    }
}
