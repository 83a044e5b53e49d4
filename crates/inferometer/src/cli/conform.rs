//! `inferometer conform`: tests any client against a suite of streams with known answers.

use crate::cli::id_list::{Entry, List};
use crate::exit::{Code, Failure};
use crate::inputs::documents;
use crate::terminal;
use clap::{Args, ValueEnum};
use ifm_conformance::{ConformanceDocument, Trial, Verdict, details, run as try_client, score};
use ifm_core::Sheet;
use ifm_truth::Case;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Format of standard output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ConformFormat {
    /// For people
    Text,
    /// One JSON document
    Json,
}

/// Flags of `conform`.
#[derive(Debug, Args)]
pub struct ConformArgs {
    /// Client to test, as a shell command [default: inferometer itself]
    ///
    /// Placeholders: {url} is the server's base URL without /v1, {base} the same with it,
    /// {endpoint} the path, {api} "chat" or "completions", {requests} the number of requests to
    /// send one after the other, {out} a folder for the client's files, and {tokenizer} the folder
    /// of a small tokenizer. {first_token_s}, {idle_s} and {total_s} are the limits that a case
    /// needs, in seconds
    #[arg(long, value_name = "COMMAND")]
    cmd: Option<String>,

    /// Client for the completions API, if that needs a different command
    #[arg(long, value_name = "COMMAND", requires = "cmd")]
    completions_cmd: Option<String>,

    /// Only these cases, by name, with all that was sent and said
    #[arg(long = "case", value_name = "NAME")]
    cases: Vec<String>,

    /// Run only cases of this API: chat or completions
    #[arg(long, value_name = "API")]
    api: Option<String>,

    /// Tolerance of times, milliseconds, in addition to the server's own lateness
    #[arg(long, default_value_t = 10.0, value_name = "MS")]
    tolerance_ms: f64,

    /// Runs of the client per case, an odd number; the majority decides
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = odd)]
    runs: usize,

    /// Maximum time for the client to start and send its first request
    #[arg(long, default_value = "2m", value_name = "TIME", value_parser = ifm_core::duration::seconds)]
    start_limit: f64,

    /// Maximum time from the client's first request to its end
    #[arg(long, default_value = "60s", value_name = "TIME", value_parser = ifm_core::duration::seconds)]
    time_limit: f64,

    /// Number of cases to run in parallel; a case mostly waits
    #[arg(long, default_value_t = 4, value_name = "N")]
    jobs: usize,

    /// Folder to keep the client's files in [default: a temporary one]
    #[arg(short, long, value_name = "DIR")]
    out: Option<PathBuf>,

    /// Format of standard output
    #[arg(short, long, value_enum, default_value = "text")]
    format: ConformFormat,

    /// The same as --format json
    #[arg(long, conflicts_with = "format")]
    json: bool,

    /// List the cases and exit; with --case, what the server sends
    #[arg(long)]
    list: bool,
}

fn odd(text: &str) -> Result<usize, String> {
    let runs = text.parse().ok().filter(|runs| runs % 2 == 1);
    runs.ok_or_else(|| "expected an odd number, so that most runs decide".to_owned())
}

/// Runs the command.
pub fn run(args: &ConformArgs) -> Result<Code, Failure> {
    let cases = chosen(args)?;
    let is_detailed = !args.cases.is_empty();
    let is_text = !args.json && args.format == ConformFormat::Text;
    if args.list {
        match is_detailed && is_text {
            true => cases
                .iter()
                .for_each(|case| _ = terminal::print(&terminal::folded(&details::case(case)))),
            false => List::new("cases", cases.iter().map(listed)).tell(!is_text),
        }
        return Ok(Code::Done);
    }
    let trial = trial(args)?;
    let again = again(args);
    let tried = try_client(&trial, cases, |tried| {
        if !is_text {
            return;
        }
        if is_detailed {
            terminal::print(&terminal::folded(&details::tried(tried, &trial, &again)));
        } else if !matches!(tried.verdict, Verdict::Right | Verdict::NotApplicable(_)) {
            terminal::print(&terminal::folded(&score::wrong(tried)));
        }
    });
    if args.out.is_none() {
        // The system cleans up what cannot be removed.
        let _ = std::fs::remove_dir_all(&trial.folder);
    }
    let tried = tried?;
    match is_text {
        true => _ = terminal::print(&terminal::folded(&score::score(&tried))),
        false => terminal::print_document(&ConformanceDocument::new(&trial, &tried)),
    }
    let is_wrong = |verdict| !matches!(verdict, Verdict::Right | Verdict::NotApplicable(_));
    let some_wrong = tried.iter().any(|tried| is_wrong(tried.verdict));
    if is_text && some_wrong && !is_detailed {
        terminal::print(&format!(
            "\nA case in full, with what was sent and reported: {again} --case NAME\n"
        ));
    }
    Ok(if some_wrong { Code::Failed } else { Code::Done })
}

/// The requested cases.
fn chosen(args: &ConformArgs) -> Result<Vec<Case>, Failure> {
    let mut cases = ifm_truth::cases::suite();
    if let Some(unknown) = args.cases.iter().find(|name| !cases.iter().any(|c| c.name == **name)) {
        return Err(Failure::usage(format!("no case {unknown}")).hint("--list names them"));
    }
    cases.retain(|case| {
        let named = args.cases.is_empty() || args.cases.iter().any(|name| name == case.name);
        named && args.api.as_ref().is_none_or(|api| api == case.api.word())
    });
    if cases.is_empty() {
        return Err(Failure::usage("no case is left").hint("--list names them"));
    }
    Ok(cases)
}

fn trial(args: &ConformArgs) -> Result<Trial, Failure> {
    let folder = match &args.out {
        Some(folder) => folder.clone(),
        // Created for this user only, with a name that others cannot predict. It is kept, because
        // results name it.
        None => tempfile::Builder::new()
            .prefix("inferometer-conform-")
            .tempdir()
            .map_err(|error| Failure::files(format!("cannot create a folder: {error}")))?
            .keep(),
    };
    // The client runs in its own folder: a relative path would resolve differently there.
    let folder = std::path::absolute(&folder)
        .map_err(|error| Failure::files(format!("{}: {error}", folder.display())))?;
    Ok(Trial {
        command: match &args.cmd {
            Some(command) => command.clone(),
            None => own_command()?,
        },
        completions_command: args.completions_cmd.clone(),
        is_for_all_cases: args.api.is_some(),
        runs: args.runs,
        start_limit: Duration::from_secs_f64(args.start_limit),
        time_limit: Duration::from_secs_f64(args.time_limit),
        tolerance_ms: args.tolerance_ms,
        jobs: args.jobs,
        folder,
        read: readable_documents,
    })
}

/// This program as a client.
fn own_command() -> Result<String, Failure> {
    let program = std::env::current_exe().map_err(|error| {
        Failure::new(Code::Internal, format!("cannot determine the current folder: {error}"))
    })?;
    let program = quoted(&program.display().to_string());
    let alone = ifm_launch::own_program::PROJECT_VARIABLE;
    Ok(format!(
        "{alone}= {program} run {{base}} --model mock --api {{api}} -c 1 -n {{requests}} -w 0 -W 16/16 \
         --store {{out}}/runs --first-token-timeout {{first_token_s}} --idle-timeout {{idle_s}} \
         --timeout {{total_s}} --quiet"
    ))
}

fn listed(case: &Case) -> Entry {
    Entry { group: Some(case.class.word()), ..Entry::new(case.name, case.what) }
}

/// The files of a folder that are results of a known format.
fn readable_documents(folder: &Path) -> Result<Vec<Sheet>, Failure> {
    let documents = documents::open(&[folder.to_owned()])?;
    Ok(documents.into_iter().filter_map(|document| document.sheet.ok()).collect())
}

/// The command that runs the same cases again, without the list of cases.
fn again(args: &ConformArgs) -> String {
    let mut words = "inferometer conform".to_owned();
    let mut flag = |name: &str, value: Option<&String>| {
        if let Some(value) = value {
            words.push_str(&format!(" {name} {}", quoted(value)));
        }
    };
    flag("--cmd", args.cmd.as_ref());
    flag("--completions-cmd", args.completions_cmd.as_ref());
    flag("--api", args.api.as_ref());
    flag("--tolerance-ms", Some(&args.tolerance_ms.to_string()));
    words
}

/// A word, quoted for the shell.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./".contains(c);
    match word.chars().all(is_plain) && !word.is_empty() {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_quoted_where_the_shell_would_take_it_apart() {
        assert_eq!(quoted("a/b-c.d"), "a/b-c.d");
        assert_eq!(quoted("client {url}"), "'client {url}'");
        assert_eq!(quoted("it's"), "'it'\\''s'");
        assert_eq!(quoted(""), "''");
    }
}
