//! `inferometer.toml`: settings for every command in a folder and below it, so that they need not be typed
//! each time.
//!
//! A flag overrides its variable, and that overrides the file. Settings of the file are appended to the
//! command as if they had been typed, unless they are set otherwise. They are parsed, checked and refused
//! like flags.
//!
//! Not here: which keys exist (`keys`), and how the file is read (`file`).

mod file;
mod keys;

use crate::exit::Failure;
use crate::secrets::mask_command;
use crate::terminal;
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Command};
use file::{Entry, ProjectFile, Value};
use ifm_core::order::Order as _;
use ifm_core::{SetBy, Setting};
use std::collections::BTreeMap;

/// A command line with what the file adds to it.
pub struct Line {
    /// The words as they were typed, with what the file adds.
    pub words: Vec<String>,
    /// What the parser found in them.
    pub matches: ArgMatches,
    /// All settings, and where each was set.
    pub settings: Vec<Setting>,
}

/// Why there is no such line.
pub enum Refused {
    /// The typed line is invalid, or asks for help.
    Typed(clap::Error),
    /// The file is invalid.
    File(Failure),
}

impl From<clap::Error> for Refused {
    fn from(error: clap::Error) -> Refused {
        Refused::Typed(error)
    }
}

/// The result for an entry of the file.
struct Added<'f> {
    entry: &'f Entry,
    id: String,
    words: Vec<String>,
}

/// Reads a command line where the program was started. `parsed` is the form in which the words are parsed.
/// If `only` names keys, no others of the file are used.
///
/// # Errors
/// Invalid words, or an invalid file.
pub fn read(words: &[String], parsed: Vec<String>, only: &[&str]) -> Result<Line, Refused> {
    let command = crate::cli::command();
    let of_ours = |word: &str| command.find_subcommand(word).is_some_and(keys::is_without_project);
    let file = match parsed.get(1).is_some_and(|word| of_ours(word)) && only.is_empty() {
        true => None,
        false => ProjectFile::find().map_err(Refused::File)?,
    };
    let Some(mut file) = file else {
        let matches = command.clone().try_get_matches_from(&parsed)?;
        let settings = settings(command, &matches, None, &[]);
        return Ok(Line { words: words.to_vec(), matches, settings });
    };
    let (mut words, mut parsed) = (words.to_vec(), parsed);
    if parsed.len() == 1 {
        // The program without a command runs its first command, whose flags the file may set.
        [&mut words, &mut parsed].into_iter().for_each(|words| words.push("demo".to_owned()));
    }
    file.keep_only(only);
    let mut built = command.clone();
    built.build();
    keys::check(&file, &built).map_err(Refused::File)?;
    // The parse that follows reports errors.
    let typed = command.clone().ignore_errors(true).try_get_matches_from(&parsed)?;
    let (place, added) = added(&file, &built, &typed, &parsed);
    let with = |words: &[String], added: &[Added<'_>]| {
        let mut words = words.to_vec();
        let new = added.iter().flat_map(|one| one.words.iter().cloned());
        words.splice(place..place, new.collect::<Vec<_>>());
        words
    };
    let whole = with(&parsed, &added);
    let matches = match command.clone().try_get_matches_from(&whole) {
        Ok(matches) => matches,
        Err(error) => {
            // An invalid typed line is refused for its own error, else for the first entry that conflicts
            // with it.
            command.clone().try_get_matches_from(&parsed)?;
            let is_wrong = |one: &&Added<'_>| {
                let one = std::slice::from_ref(*one);
                command.clone().try_get_matches_from(with(&parsed, one)).is_err()
            };
            let culprit = added.iter().find(is_wrong).or(added.last());
            return Err(match culprit {
                Some(one) => Refused::File(file.wrong(one.entry, &first_line(&error))),
                None => Refused::Typed(error),
            });
        }
    };
    let settings = settings(command, &matches, Some(&file), &added);
    tell(&settings, &matches);
    Ok(Line { words: with(&words, &added), matches, settings })
}

/// The first line of the parser's error.
fn first_line(error: &clap::Error) -> String {
    let said = error.render().to_string();
    let first = said.lines().next().unwrap_or_default();
    first.strip_prefix("error: ").unwrap_or(first).to_owned()
}

/// The matched command, with its matches and its words.
fn innermost<'c, 'm>(
    mut command: &'c Command,
    mut matches: &'m ArgMatches,
) -> (&'c Command, &'m ArgMatches, Vec<&'m str>) {
    let mut path = Vec::new();
    while let Some((name, below)) = matches.subcommand() {
        let Some(sub) = command.find_subcommand(name) else { break };
        (command, matches) = (sub, below);
        path.push(name);
    }
    (command, matches, path)
}

/// The words that the file adds, and their position: after the words of the command.
fn added<'f>(
    file: &'f ProjectFile,
    program: &Command,
    typed: &ArgMatches,
    words: &[String],
) -> (usize, Vec<Added<'f>>) {
    let (command, matches, path) = innermost(program, typed);
    let mut place = 1;
    for name in &path {
        let behind = words.iter().skip(place).position(|word| word == name);
        place += behind.map_or(0, |at| at + 1);
    }
    // A command's table takes precedence over the head of the file.
    let mut chosen: BTreeMap<&str, (&Arg, &Entry)> = BTreeMap::new();
    for entry in &file.entries {
        if let Some(arg) = keys::arg_of(entry, command, &path) {
            chosen.insert(arg.get_id().as_str(), (arg, entry));
        }
    }
    let is_typed = |id: &str| is_typed(matches, id);
    let contradicts = |arg: &Arg| {
        let others = command.get_arguments().filter(|other| is_typed(other.get_id().as_str()));
        others.into_iter().any(|other| {
            let one = command.get_arg_conflicts_with(arg);
            let two = command.get_arg_conflicts_with(other);
            one.iter().any(|it| it.get_id() == other.get_id())
                || two.iter().any(|it| it.get_id() == arg.get_id())
        })
    };
    let mut added: Vec<Added<'f>> = chosen
        .into_iter()
        .filter(|(id, (arg, _))| !is_typed(id) && !contradicts(arg))
        .map(|(id, (arg, entry))| Added { entry, id: id.to_owned(), words: file.words(entry, arg) })
        .filter(|one| !one.words.is_empty())
        .collect();
    added.order_by_key(|one| one.entry.line);
    (place, added)
}

/// Whether an argument has a non-default value.
fn is_typed(matches: &ArgMatches, id: &str) -> bool {
    let source = matches.try_contains_id(id).is_ok().then(|| matches.value_source(id)).flatten();
    matches!(source, Some(ValueSource::CommandLine | ValueSource::EnvVariable))
}

/// Everything that is not a default, in the order of the help.
fn settings(
    mut program: Command,
    matches: &ArgMatches,
    file: Option<&ProjectFile>,
    added: &[Added<'_>],
) -> Vec<Setting> {
    program.build();
    let (command, matches, _) = innermost(&program, matches);
    let set = command.get_arguments().filter(|arg| is_typed(matches, arg.get_id().as_str()));
    set.map(|arg| {
        let id = arg.get_id().as_str();
        let name = arg.get_long().unwrap_or(id).to_owned();
        let given = matches.get_raw(id).into_iter().flatten();
        let given: Vec<String> =
            given.map(|value| masked(&name, &value.to_string_lossy())).collect();
        let (by, at) = match (matches.value_source(id), added.iter().find(|one| one.id == id)) {
            (Some(ValueSource::EnvVariable), _) => {
                (SetBy::Environment, arg.get_env().map(|name| name.to_string_lossy().into_owned()))
            }
            (_, Some(one)) => (SetBy::Project, file.map(|file| file.place(one.entry))),
            _ => (SetBy::Flag, None),
        };
        Setting { name, value: given.join(","), by, at }
    })
    .collect()
}

/// A value without secrets.
fn masked(name: &str, value: &str) -> String {
    let flag = format!("--{name}=");
    let masked = mask_command(&[format!("{flag}{value}")]);
    masked.first().and_then(|word| word.strip_prefix(&flag)).unwrap_or_default().to_owned()
}

/// Whether a command should print no progress.
pub fn is_quiet(matches: &ArgMatches) -> bool {
    has_switch(matches, "quiet")
}

/// Whether a switch of the command is on; a command that lacks it has it off.
pub fn has_switch(matches: &ArgMatches, name: &str) -> bool {
    match matches.subcommand() {
        Some((_, below)) => has_switch(below, name),
        None => matches.try_get_one::<bool>(name).ok().flatten().copied().unwrap_or(false),
    }
}

/// Reports the target of the load if the user did not type it.
fn tell(settings: &[Setting], matches: &ArgMatches) {
    let server = settings.iter().find(|one| one.name == "url" && one.by == SetBy::Project);
    if let Some(Setting { value, at: Some(at), .. }) = server
        && !is_quiet(matches)
    {
        terminal::say(&format!("server {value} ({at})"));
    }
}

/// Everything that the file and the variables set here, for any command, by the names in the file.
///
/// # Errors
/// The file cannot be read, or is invalid.
pub fn in_effect() -> Result<Vec<Setting>, Failure> {
    let mut program = crate::cli::command();
    program.build();
    let file = ProjectFile::find()?;
    let mut variables = BTreeMap::new();
    variables_of(&program, &mut variables);
    let mut all: Vec<Setting> = variables
        .iter()
        .filter_map(|(name, variable)| {
            let value = std::env::var(variable).ok().filter(|value| !value.is_empty())?;
            let (by, at) = (SetBy::Environment, Some(variable.clone()));
            Some(Setting { name: name.clone(), value, by, at })
        })
        .collect();
    let Some(file) = &file else { return Ok(all) };
    keys::check(file, &program)?;
    for entry in &file.entries {
        let name = entry.path();
        if !all.iter().any(|one| one.name == name) {
            let value = masked(&entry.key, &entry.value.shown());
            all.push(Setting { name, value, by: SetBy::Project, at: Some(file.place(entry)) });
        }
    }
    Ok(all)
}

/// Variables of flags, by the flags' names.
fn variables_of(command: &Command, all: &mut BTreeMap<String, String>) {
    for arg in command.get_arguments() {
        if let (Some(name), Some(long)) = (arg.get_env(), arg.get_long()) {
            all.insert(long.to_owned(), name.to_string_lossy().into_owned());
        }
    }
    command.get_subcommands().for_each(|sub| variables_of(sub, all));
}

/// A path from the head of the file, for use without a command line.
pub fn path_of(key: &str) -> Option<String> {
    let file = ProjectFile::find().ok().flatten()?;
    let entry = file.entries.iter().find(|entry| entry.table.is_empty() && entry.key == key)?;
    match &entry.value {
        Value::Text(text) => Some(file.path_of(text)),
        _ => None,
    }
}
