//! `inferometer rerun RUN [FLAGS]`: a stored run again, with flags changed.
//!
//! The stored command is parsed by its command's own parser, flags of the same kind give way to the
//! new ones, and the result runs as if it had been typed. A run without a seed draws new prompts. Not
//! here: what the command does.

use crate::exit::Failure;
use crate::inputs::stored::{find, repeats_of};
use crate::session::store_root;
use crate::terminal;
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Args, Command};
use ifm_compat::shell;
use ifm_store::{RunEntry, Store};
use ifm_wire::request::MASK;
use std::collections::BTreeSet;
use std::path::PathBuf;

/// Flags of `rerun`.
#[derive(Debug, Args)]
pub struct RerunArgs {
    /// Id, start of an id, name, path, or "last"
    run: String,

    /// Flags that replace those of the run, such as -c 32
    ///
    /// A run without --seed gets new prompts, which no prefix cache of the server contains. To send the
    /// same prompts again, pass the seed that is printed
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "FLAGS")]
    flags: Vec<String>,

    /// Folder of stored runs [default: .inferometer/runs]
    #[arg(long, value_name = "DIR", env = "INFEROMETER_STORE")]
    store: Option<PathBuf>,
}

/// Commands that can be repeated.
const REPEATABLE: [&str; 5] = ["run", "sweep", "capacity", "predict", "demo"];
/// Flags that name where results go: a report that was written once is not overwritten.
const OUTPUTS: [&str; 5] = ["out", "json", "format", "vllm_lines", "plan_cell"];
/// Flags of which one makes the others meaningless: a new one replaces all of its group.
const EXCLUSIVE: [&[&str]; 2] = [
    &["concurrency", "rate", "arrivals", "ramp", "steps", "bursts", "replay"],
    &["requests", "duration", "sessions"],
];

/// Runs the command again, and gives its exit code.
///
/// # Errors
/// No such run, a run whose command cannot be repeated, or flags that its command does not have.
pub fn run(args: &RerunArgs) -> Result<u8, Failure> {
    let store = Store::at(store_root(args.store.as_ref()));
    let entry = newest(&store, &args.run)?;
    let manifest = entry.manifest.as_ref().map_err(|error| Failure::files(error.to_string()))?;
    let mut words = changed(&super::command(), &manifest.command, &args.flags)?;
    if let (Some(folder), false) = (&args.store, words.iter().any(|word| is_store(word))) {
        words.push(format!("--store={}", folder.display()));
    }
    terminal::say(&format!("runs: {}", shell::joined(&words)));
    if let Some(sentence) = dropped_name(&words, manifest.name.as_deref(), &args.flags) {
        terminal::say(&sentence);
    }
    let seed = manifest.spec.workload.seed;
    if let Some(sentence) = prompts(&words, &args.flags, (&args.run, seed)) {
        terminal::say(&sentence);
    }
    let read = super::read_as(&words, words.clone(), &["store", "presets"]).map_err(|refused| {
        match refused {
            super::Refused::File(failure) => failure,
            super::Refused::Typed(error) => unparsed(&error),
        }
    })?;
    super::dispatch(read.cli, &read.words)
}

/// The run that a word names; of repeats with one name the newest, which is said.
///
/// # Errors
/// No such run, or runs of one name that are no repeats of each other.
fn newest(store: &Store, word: &str) -> Result<RunEntry, Failure> {
    let failure = match find(store, word) {
        Ok(entry) => return Ok(entry),
        Err(failure) => failure,
    };
    let mut repeats = repeats_of(store, word).ok_or(failure)?;
    let count = repeats.len();
    let newest = repeats.pop().ok_or_else(|| Failure::usage(format!("no run {word}")))?;
    terminal::say(&format!(
        "{count} runs are named \"{word}\": this repeats the newest, {}",
        newest.id
    ));
    Ok(newest)
}

/// That a run with changed flags does not keep its name, which only repeats share.
fn dropped_name(words: &[String], name: Option<&str>, flags: &[String]) -> Option<String> {
    let is_name = |word: &String| word == "--name" || word.starts_with("--name=");
    let name = name.filter(|_| !flags.is_empty() && !words.iter().any(is_name))?;
    Some(format!(
        "this run is not named \"{name}\", because its flags differ; pass --name NAME to name it"
    ))
}

/// Whether the run gets new prompts, and how to get the others. A run without a seed gets new ones: the
/// server's prefix cache may still contain the prompts of the stored run.
fn prompts(words: &[String], flags: &[String], (run, seed): (&str, u64)) -> Option<String> {
    let is_seed = |word: &String| word == "--seed" || word.starts_with("--seed=");
    // A prediction without a seed has always the same, and no server.
    let is_predicted = words.get(1).is_some_and(|verb| verb == "predict");
    if flags.iter().any(is_seed) || is_predicted {
        return None;
    }
    Some(match words.iter().any(is_seed) {
        true => format!(
            "same prompts as {run} (seed {seed}), which the server's prefix cache may contain; pass \
             --seed N for others"
        ),
        false => format!(
            "new prompts, which no prefix cache contains; pass --seed {seed} to send the prompts of {run}"
        ),
    })
}

fn is_store(word: &str) -> bool {
    word == "--store" || word.starts_with("--store=")
}

/// The first line of what the parser says.
fn unparsed(error: &clap::Error) -> Failure {
    let text = error.to_string();
    let first = text.lines().next().unwrap_or_default();
    Failure::usage(first.trim_start_matches("error: ").to_owned())
        .hint("inferometer runs show RUN prints the command of a run")
}

/// The words of a stored command with flags changed.
fn changed(program: &Command, stored: &[String], flags: &[String]) -> Result<Vec<String>, Failure> {
    let verb = stored.get(1).map_or("", String::as_str);
    let command = program
        .find_subcommand(verb)
        .filter(|_| REPEATABLE.contains(&verb))
        .ok_or_else(|| {
            let known = REPEATABLE.join(", ");
            Failure::usage(format!("\"{}\" cannot be repeated", shell::joined(stored)))
                .hint(format!("rerun repeats what {known} stored"))
        })?
        .clone()
        .mut_args(|arg| arg.required(false));
    let parse = |words: &[String]| {
        let words = std::iter::once(verb.to_owned()).chain(words.iter().cloned());
        command.clone().try_get_matches_from(words).map_err(|error| unparsed(&error))
    };
    let (old, new) = (parse(stored.get(2..).unwrap_or_default())?, parse(flags)?);
    let given: BTreeSet<&str> = typed(&command, &new).map(|arg| arg.get_id().as_str()).collect();
    let mut words = vec![program.get_name().to_owned(), verb.to_owned()];
    for arg in typed(&command, &old) {
        let id = arg.get_id().as_str();
        let replaced = EXCLUSIVE
            .iter()
            .any(|group| group.contains(&id) && group.iter().any(|other| given.contains(other)));
        // A run with changed flags is no repeat of the old one, whose name says that it is.
        let renamed = id == "name" && !flags.is_empty();
        if replaced || renamed || given.contains(id) || OUTPUTS.contains(&id) {
            continue;
        }
        let again = spelled(arg, &old);
        if again.iter().any(|word| word.contains(MASK)) {
            let flag = again.first().and_then(|word| word.split('=').next()).unwrap_or_default();
            return Err(Failure::usage(format!(
                "the value of {flag} is secret and was not stored"
            ))
            .hint(format!("pass it: inferometer rerun RUN {flag} VALUE")));
        }
        words.extend(again);
    }
    words.extend(typed(&command, &new).flat_map(|arg| spelled(arg, &new)));
    Ok(words)
}

/// The arguments that were typed, in the order of the help.
fn typed<'a>(command: &'a Command, matches: &'a ArgMatches) -> impl Iterator<Item = &'a Arg> {
    command.get_arguments().filter(|arg| {
        matches.try_contains_id(arg.get_id().as_str()).unwrap_or(false)
            && matches.value_source(arg.get_id().as_str()) == Some(ValueSource::CommandLine)
    })
}

/// An argument as words, from what was parsed.
fn spelled(arg: &Arg, matches: &ArgMatches) -> Vec<String> {
    let id = arg.get_id().as_str();
    let flag = match (arg.get_long(), arg.get_short()) {
        (Some(long), _) => Some(format!("--{long}")),
        (None, Some(short)) => Some(format!("-{short}")),
        (None, None) => None,
    };
    if !arg.get_action().takes_values() {
        let times = match arg.get_action() {
            ArgAction::Count => usize::from(matches.get_count(id)),
            _ => 1,
        };
        return flag.into_iter().cycle().take(times).collect();
    }
    let mut words = Vec::new();
    for occurrence in matches.get_raw_occurrences(id).into_iter().flatten() {
        let values: Vec<String> =
            occurrence.map(|value| value.to_string_lossy().into_owned()).collect();
        let joined = arg.get_value_delimiter().map(|by| values.join(&by.to_string()));
        match (&flag, joined) {
            (Some(flag), Some(joined)) => words.push(format!("{flag}={joined}")),
            (Some(flag), None) if values.is_empty() => words.push(flag.clone()),
            (Some(flag), None) if values.len() == 1 => words.push(format!("{flag}={}", values[0])),
            (Some(flag), None) => {
                words.push(flag.clone());
                words.extend(values);
            }
            (None, Some(joined)) => words.push(joined),
            (None, None) => words.extend(values),
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rerun(stored: &str, flags: &str) -> Result<String, Failure> {
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let stored = words(&format!("inferometer {stored}"));
        changed(&crate::cli::command(), &stored, &words(flags)).map(|words| words[1..].join(" "))
    }

    #[test]
    fn replaces_flags_and_keeps_the_others() {
        let stored = "run http://127.0.0.1:8000 -c 8 -n 100 -W 64/16 --tag a=1 --tag b=2";
        assert_eq!(
            rerun(stored, "").unwrap(),
            "run http://127.0.0.1:8000 --workload=64/16 --tag=a=1 --tag=b=2 --concurrency=8 --requests=100"
        );
        let other = rerun(stored, "-c 16 --tag a=3").unwrap();
        assert!(other.contains("--concurrency=16") && !other.contains("=8 "), "{other}");
        assert!(other.contains("--tag=a=3") && !other.contains("b=2"), "{other}");
    }

    #[test]
    fn a_rate_replaces_users_and_a_duration_replaces_requests() {
        let words = rerun("run http://127.0.0.1:1 -c 8 -n 100", "--rate 5 -z 10s").unwrap();
        assert!(words.contains("--rate=5") && words.contains("--duration=10s"), "{words}");
        assert!(!words.contains("concurrency") && !words.contains("requests"), "{words}");
    }

    #[test]
    fn keeps_lists_and_switches_and_writes_no_file_twice() {
        let words =
            rerun("sweep http://127.0.0.1:1 -c 1,8 --no-stream -o x.html --json", "").unwrap();
        assert!(words.contains("--concurrency=1,8") && words.contains("--no-stream"), "{words}");
        assert!(!words.contains("x.html") && !words.contains("--json"), "{words}");
    }

    #[test]
    fn asks_for_secrets_that_were_not_stored() {
        let stored = format!("run http://127.0.0.1:1 -H Authorization:{MASK}");
        let error = rerun(&stored, "").unwrap_err().to_string();
        assert!(error.contains("--header is secret"), "{error}");
        assert!(rerun(&stored, "-H Authorization:new").unwrap().contains("Authorization:new"));
    }

    #[test]
    fn says_whether_prompts_are_the_same() {
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let said = |line: &str, flags: &str| prompts(&words(line), &words(flags), ("r1", 7));
        let new = said("inferometer run URL -c 2", "-c 2").unwrap();
        assert!(new.starts_with("new prompts") && new.contains("--seed 7 "), "{new}");
        let same = said("inferometer run URL --seed=7", "").unwrap();
        assert!(same.starts_with("same prompts as r1 (seed 7)"), "{same}");
        assert_eq!(said("inferometer run URL --seed=8", "--seed 8"), None);
        assert_eq!(said("inferometer predict --gpu l40s", ""), None);
    }

    #[test]
    fn reports_that_changed_flags_drop_the_name() {
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let dropped = |flags: &str| {
            let line = rerun("run http://127.0.0.1:1 -c 8 --name base", flags).unwrap();
            dropped_name(&words(&line), Some("base"), &words(flags))
        };
        let said = dropped("-c 16").unwrap();
        assert!(said.contains("not named \"base\"") && said.contains("--name NAME"), "{said}");
        assert_eq!((dropped(""), dropped("-c 16 --name more")), (None, None));
        assert_eq!(dropped_name(&words("run URL"), None, &words("-c 16")), None);
    }

    #[test]
    fn rejects_flags_and_commands_that_do_not_exist() {
        assert!(rerun("run http://127.0.0.1:1", "--no-such-flag").is_err());
        let error = rerun("engine -m nano", "").unwrap_err().to_string();
        assert!(error.contains("cannot be repeated"), "{error}");
    }
}
