//! `inferometer as LINE` and `inferometer translate LINE`: command lines of other tools.
//!
//! Not here: the translation of their flags (`ifm-compat`).

use crate::exit::{Code, Failure};
use crate::terminal;
use clap::{Args, Command};
use ifm_compat::{Becomes, CompatError, Draft, Table, Translation, shell};
use ifm_launch::own_program::own_command;
use serde::Serialize;
use std::io::{Read, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::sync::OnceLock;

/// Flags of `as`.
#[derive(Debug, Args)]
pub struct AsArgs {
    /// Command line to run, quoted or not, or "-" for standard input
    ///
    /// It can include inferometer's own flags
    #[arg(
        value_name = "LINE",
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    line: Vec<String>,
}

/// Flags of `translate`.
#[derive(Debug, Args)]
pub struct TranslateArgs {
    /// One JSON document on standard output
    #[arg(long)]
    json: bool,

    /// Command line to translate, quoted or not, or "-" for standard input
    #[arg(
        value_name = "LINE",
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    line: Vec<String>,
}

/// What `translate --json` writes.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TranslationDocument {
    /// What kind of document this is.
    #[cfg_attr(test, schemars(extend("const" = "inferometer_translation")))]
    kind: &'static str,
    /// The tool that the line is for.
    tool: String,
    /// The tool version whose flags are supported.
    version: String,
    /// The words of inferometer's command, program name first.
    command: Vec<String>,
    /// Names of the variables before the line; their values may be secrets.
    variables: Vec<String>,
    /// Flags that have no effect here.
    left_out: Vec<LeftOut>,
    /// What differs in definition, in sentences.
    differences: Vec<String>,
    /// What follows the command and is not run, such as a pipe.
    not_run: Option<String>,
}

/// A flag that has no effect here.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct LeftOut {
    /// The flag.
    flag: String,
    /// The consequence of leaving it out.
    effect: String,
}

/// The words with `bench serve` completed to a line of vLLM's client.
pub fn spelled_out(mut words: Vec<String>) -> Vec<String> {
    if matches!(words.as_slice(), [_, bench, serve, ..] if bench == "bench" && serve == "serve") {
        words.insert(1, "as".to_owned());
    }
    words
}

/// Runs the line.
///
/// # Errors
/// An invalid line, and any error of inferometer's own command.
pub fn run(args: &AsArgs) -> Result<u8, Failure> {
    let line = line_of(&args.line)?;
    if let Some(table) = asks_for_help(&line.words)? {
        terminal::print(&help(&table));
        return Ok(Code::Done as u8);
    }
    let translation = ifm_compat::translate(line, &ours).map_err(refused)?;
    if let Some(missing) = translation.missing() {
        return Err(Failure::usage(format!("{}: {missing}", translation.tool)));
    }
    if let Some(rest) = &translation.rest {
        terminal::warn(&format!("not run: {rest}"));
    }
    if !translation.environment.is_empty() {
        return Err(with_variables(&translation));
    }
    translation.left_out().iter().for_each(|text| terminal::warn(text));
    write_files(&translation)?;
    let words = translation.draft.words();
    terminal::say(&format!("runs as: {}", shown(&translation.draft)));
    let parsed = super::serve::told_apart(super::engine::spelled_out(words.clone()));
    // The line is complete by itself: only the folders of the project file apply.
    let read = super::read_as(&words, parsed, &["store", "presets"]).map_err(|refusal| {
        let error = match refusal {
            super::Refused::File(failure) => return failure,
            super::Refused::Typed(error) => error,
        };
        // The first line is the error; the rest is the usage of a command that the user did not
        // type.
        let said = error.render().to_string();
        let first = said.lines().next().unwrap_or_default();
        Failure::usage(first.strip_prefix("error: ").unwrap_or(first).to_owned())
            .hint("inferometer translate LINE shows what the line becomes")
    })?;
    super::dispatch(read.cli, &read.words)
}

/// Shows the translated line.
///
/// # Errors
/// An invalid line.
pub fn translate(args: &TranslateArgs) -> Result<Code, Failure> {
    let line = line_of(&args.line)?;
    if let Some(table) = asks_for_help(&line.words)? {
        terminal::print(&help(&table));
        return Ok(Code::Done);
    }
    let translation = ifm_compat::translate(line, &ours).map_err(refused)?;
    write_files(&translation)?;
    if args.json {
        terminal::print_document(&document(translation));
        return Ok(Code::Done);
    }
    terminal::print(&told(&translation));
    if let Some(missing) = translation.missing() {
        terminal::warn(&missing);
    }
    Ok(Code::Done)
}

/// Writes the files that the command reads, such as a request body from the line, readable only by the
/// user. An existing file or link is never followed.
fn write_files(translation: &Translation) -> Result<(), Failure> {
    for (path, text) in &translation.draft.writes {
        let mut options = std::fs::OpenOptions::new();
        let file = options.write(true).create_new(true).mode(0o600).open(path);
        file.and_then(|mut file| file.write_all(text.as_bytes()))
            .map_err(|error| Failure::files(format!("cannot write {path}: {error}")))?;
    }
    Ok(())
}

/// The pasted line.
fn line_of(given: &[String]) -> Result<shell::Line, Failure> {
    if given != ["-"] {
        return ifm_compat::words_of(given, variable).map_err(refused);
    }
    let mut text = String::new();
    std::io::stdin()
        .read_to_string(&mut text)
        .map_err(|error| Failure::usage(format!("standard input: {error}")))?;
    // If it contains a space, it is a line in any case.
    ifm_compat::words_of(&[format!("{text} ")], variable).map_err(refused)
}

/// A variable of this process, as a shell puts it into a line.
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Runs inferometer again, with the variables from before the line. Returns only if that fails.
fn with_variables(translation: &Translation) -> Failure {
    let variables = translation.environment.iter();
    let variables: Vec<_> = variables.map(|(name, value)| (name.clone(), value.clone())).collect();
    let mut command = match own_command() {
        Ok(command) => command,
        Err(error) => return Failure::new(Code::Internal, error.to_string()),
    };
    let error = command.arg("as").args(&translation.words).envs(variables).exec();
    Failure::new(Code::Internal, error.to_string())
}

/// Whether a command of inferometer has a flag, and whether a value follows it.
fn ours(verb: &str, flag: &str) -> Option<bool> {
    static COMMAND: OnceLock<Command> = OnceLock::new();
    let command = COMMAND.get_or_init(super::command).find_subcommand(verb)?;
    let arg = command.get_arguments().find(|arg| {
        let mut longs = arg.get_all_aliases().unwrap_or_default();
        longs.extend(arg.get_long());
        let mut shorts = arg.get_all_short_aliases().unwrap_or_default();
        shorts.extend(arg.get_short());
        match flag.strip_prefix("--") {
            Some(name) => longs.contains(&name),
            None => flag.len() == 2 && shorts.iter().any(|short| flag.ends_with(*short)),
        }
    })?;
    Some(arg.get_action().takes_values() && !arg.is_require_equals_set())
}

/// A line that is not translated, as an error of the program.
fn refused(error: CompatError) -> Failure {
    let code = match error {
        CompatError::Table(_) => Code::Internal,
        CompatError::Line(_)
        | CompatError::Flags { .. }
        | CompatError::OtherBenchmark { .. }
        | CompatError::UnknownTool { .. } => Code::Usage,
    };
    Failure::new(code, error.to_string())
}

/// The table of a tool whose line asks for help.
fn asks_for_help(words: &[String]) -> Result<Option<Table>, Failure> {
    match words.iter().any(|word| word == "--help" || word == "-h") {
        true => ifm_compat::table_of(words).map_err(refused),
        false => Ok(None),
    }
}

/// The translation of every flag of a tool.
fn help(table: &Table) -> String {
    let Table { tool, version, source, verb, flags, .. } = table;
    let width = flags.keys().map(String::len).max().unwrap_or_default();
    let mut text = format!(
        "A line of {tool} {version} as inferometer {verb}: the translation of each flag.\n\
         The line can also contain flags of inferometer {verb}.\nSource: {source}\n\n"
    );
    for (name, row) in flags {
        let becomes = match &row.becomes {
            Becomes::Is(ours) | Becomes::Each(ours) | Becomes::Header(ours) => ours.clone(),
            Becomes::Body(field) => format!("field {field} of the request's body"),
            Becomes::Rule(what) => what.clone(),
            Becomes::None(effect) => format!("nothing: {effect}"),
            Becomes::Quiet(why) => format!("no effect: {why}"),
        };
        text.push_str(&format!("  {name:<width$}  {becomes}\n"));
    }
    text
}

/// A command without the values of its headers.
fn shown(draft: &Draft) -> String {
    shell::joined(&crate::secrets::mask_command(&draft.words()))
}

fn told(translation: &Translation) -> String {
    let draft = &translation.draft;
    let mut text = format!("{}\n", shown(draft));
    let mut part = |title: &str, lines: Vec<String>| {
        if !lines.is_empty() {
            text.push_str(&format!("\n{title}\n"));
            lines.iter().for_each(|line| text.push_str(&terminal::wrapped("  - ", line)));
        }
    };
    let left_out = draft.left_out.iter().map(|(flag, effect)| format!("{flag}: {effect}"));
    part("No effect here:", left_out.collect());
    part("What differs in definition:", draft.differences.clone());
    let variables =
        translation.environment.iter().map(|(name, _)| format!("{name}: set for the run"));
    part("Variables before the line:", variables.collect());
    part("Not run:", translation.rest.iter().cloned().collect());
    text.push_str(&format!("\nFlags of {} {}.\n", translation.tool, translation.version));
    text
}

fn document(translation: Translation) -> TranslationDocument {
    let command = crate::secrets::mask_command(&translation.draft.words());
    let Translation { tool, version, draft, environment, rest, .. } = translation;
    TranslationDocument {
        kind: "inferometer_translation",
        tool,
        version,
        command,
        variables: environment.into_iter().map(|(name, _)| name).collect(),
        left_out: draft
            .left_out
            .into_iter()
            .map(|(flag, effect)| LeftOut { flag, effect })
            .collect(),
        differences: draft.differences,
        not_run: rest,
    }
}

#[cfg(test)]
mod tests;
