//! The manual page of a command: the parser's own description, in reading order.

use crate::cli::serve_simulated;
use crate::exit::Code;
use clap::builder::StyledStr;
use clap::{Arg, Command, CommandFactory as _};
use ifm_core::order::Order as _;
use std::collections::BTreeMap;

/// The page of the program, or of a command.
pub struct Page {
    /// The words of the command after the program's name; empty for the program.
    pub words: String,
    /// What it does, in one line.
    pub about: String,
    /// More about it, in paragraphs.
    pub more: String,
    /// Its usage.
    pub usage: Vec<String>,
    /// Its commands: words and what they do.
    pub commands: Vec<(String, String)>,
    /// Arguments and flags, by their headings.
    pub groups: Vec<Group>,
    /// The sections after them: titles and verbatim lines.
    pub behind: Vec<(String, Vec<String>)>,
}

/// Arguments with a heading.
pub struct Group {
    /// The heading.
    pub title: String,
    /// The arguments.
    pub items: Vec<Item>,
}

/// An argument, a variable or an exit code, and its meaning.
#[derive(Default)]
pub struct Item {
    /// Its notation: literal pieces, and pieces to replace.
    pub term: Vec<Piece>,
    /// What it does.
    pub help: String,
    /// Its possible values, with their meanings.
    pub values: Vec<(String, String)>,
    /// Facts after the help: default, variable, other names.
    pub facts: Vec<String>,
}

/// A piece of a term.
pub enum Piece {
    /// Typed literally.
    Typed(String),
    /// Replaced by a value.
    Value(String),
    /// Between the other two.
    Plain(&'static str),
}

impl Page {
    /// The page's name: `inferometer-plan-run`.
    pub fn name(&self) -> String {
        let words = self.words.replace(" --", "-").replace(' ', "-");
        if words.is_empty() { "inferometer".to_owned() } else { format!("inferometer-{words}") }
    }
}

/// Every page, the program's first, then the commands in the order of the help.
pub fn all() -> Vec<Page> {
    let mut program = crate::cli::command().term_width(100);
    program.build();
    let mut pages = vec![of_program(&program)];
    below("", &program, &mut pages);
    pages
}

fn below(path: &str, command: &Command, pages: &mut Vec<Page>) {
    for sub in in_order(path, command) {
        let name = match sub.get_name() {
            serve_simulated::VERB => "serve --sim",
            name => name,
        };
        let words = format!("{path} {name}").trim().to_owned();
        pages.push(of_command(&words, sub));
        below(&words, sub, pages);
    }
}

/// Commands of a command that have a page, in the order of the help. The parser's own list differs if a
/// command was changed.
fn in_order<'c>(path: &str, command: &'c Command) -> Vec<&'c Command> {
    let program = crate::cli::Cli::command();
    let first =
        path.split_whitespace().try_fold(&program, |above, word| above.find_subcommand(word));
    let names: Vec<&str> =
        first.into_iter().flat_map(Command::get_subcommands).map(Command::get_name).collect();
    let mut subs: Vec<&Command> = command.get_subcommands().filter(|sub| is_told(sub)).collect();
    subs.order_by_key(|sub| names.iter().position(|name| *name == sub.get_name()));
    subs
}

/// Whether a command has a page: those that only inferometer starts have none.
fn is_told(command: &Command) -> bool {
    let is_shown = !command.is_hide_set() || command.get_name() == serve_simulated::VERB;
    is_shown && command.get_name() != "help"
}

fn of_program(program: &Command) -> Page {
    let mut page = of_command("", program);
    page.usage = vec!["inferometer [COMMAND]".to_owned()];
    let mut variables = BTreeMap::new();
    variables_of(program, &mut variables);
    let variables = variables.into_iter().map(|(name, help)| item(name, help)).collect();
    page.groups.push(Group { title: "Environment".to_owned(), items: variables });
    let codes = Code::MEANINGS.iter();
    let codes = codes.map(|(code, meaning)| item((*code as u8).to_string(), (*meaning).to_owned()));
    page.groups.push(Group { title: "Exit status".to_owned(), items: codes.collect() });
    page
}

/// The variables of flags, and those that have no flag.
fn variables_of(command: &Command, all: &mut BTreeMap<String, String>) {
    for (name, help) in WITHOUT_FLAG {
        all.insert((*name).to_owned(), (*help).to_owned());
    }
    for arg in command.get_arguments() {
        if let (Some(name), Some(long)) = (arg.get_env(), arg.get_long()) {
            let flag = format!("The same as --{long}.");
            all.insert(name.to_string_lossy().into_owned(), flag);
        }
    }
    command.get_subcommands().for_each(|sub| variables_of(sub, all));
}

/// Variables without a flag.
const WITHOUT_FLAG: &[(&str, &str)] = &[
    ("OPENAI_API_KEY", "The API key, unless --api-key-env names another variable."),
    (
        "INFEROMETER_PROJECT",
        "The project file, instead of inferometer.toml in this folder or above; empty for none.",
    ),
    ("NO_COLOR", "If set to any value, output has no color."),
    ("CLICOLOR_FORCE", "If set to any value, output has color even without a terminal."),
    ("COLUMNS", "Width of the output, instead of the terminal's own."),
];

fn item(term: String, help: String) -> Item {
    Item { term: vec![Piece::Typed(term)], help, ..Item::default() }
}

fn of_command(words: &str, command: &Command) -> Page {
    let (about, more) = split(command);
    let usage = command.clone().render_usage().to_string();
    let usage = usage.strip_prefix("Usage: ").unwrap_or(&usage).lines();
    let subs = in_order(words, command).into_iter().filter(|sub| !sub.is_hide_set());
    let behind = command.get_after_long_help().or(command.get_after_help());
    Page {
        words: words.to_owned(),
        about,
        more,
        usage: usage.map(|line| line.trim().to_owned()).filter(|line| !line.is_empty()).collect(),
        commands: subs
            .map(|sub| (format!("{words} {}", sub.get_name()).trim().to_owned(), split(sub).0))
            .collect(),
        groups: groups(command),
        behind: behind.map(|text| sections(&text.to_string())).unwrap_or_default(),
    }
}

/// The first line of a command's description, and the following paragraphs.
fn split(command: &Command) -> (String, String) {
    let about = command.get_about().map(StyledStr::to_string).unwrap_or_default();
    let long = command.get_long_about().map(StyledStr::to_string).unwrap_or_default();
    let more = long.strip_prefix(&about).unwrap_or_default().trim_start_matches('.');
    (about.trim_end_matches('.').replace('\n', " "), more.trim().to_owned())
}

/// Arguments by heading, in the order in which headings first appear.
fn groups(command: &Command) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for arg in command.get_arguments().filter(|arg| !arg.is_hide_set()) {
        let title = match (arg.is_positional(), arg.get_help_heading()) {
            (true, None) => "Arguments",
            (false, None) => "Options",
            (_, Some(heading)) => heading,
        };
        let of_arg = of_arg(arg);
        match groups.iter_mut().find(|group| group.title == title) {
            Some(group) => group.items.push(of_arg),
            None => groups.push(Group { title: title.to_owned(), items: vec![of_arg] }),
        }
    }
    // Positional arguments come first, and flags common to all commands last.
    groups.order_by_key(|group| match &*group.title {
        "Arguments" => 0,
        "Options" if group.items.len() == 1 => 2,
        _ => 1,
    });
    groups
}

fn of_arg(arg: &Arg) -> Item {
    let help = arg.get_long_help().or(arg.get_help()).map(StyledStr::to_string);
    let mut facts = Vec::new();
    let takes_values = arg.get_action().takes_values();
    let defaults: Vec<String> =
        arg.get_default_values().iter().map(|value| value.to_string_lossy().into_owned()).collect();
    if takes_values && !defaults.is_empty() && !arg.is_hide_default_value_set() {
        facts.push(format!("Default: {}", defaults.join(",")));
    }
    if let Some(name) = arg.get_env() {
        facts.push(format!("Variable: {}", name.to_string_lossy()));
    }
    if let Some(names) = arg.get_visible_aliases().filter(|names| !names.is_empty()) {
        let names: Vec<String> = names.iter().map(|name| format!("--{name}")).collect();
        facts.push(format!("Also: {}", names.join(", ")));
    }
    let words = arg.get_possible_values().into_iter();
    let words = words.filter(|word| takes_values && !word.is_hide_set());
    Item {
        term: term(arg),
        help: help.unwrap_or_default(),
        values: words
            .map(|word| {
                let help = word.get_help().map(StyledStr::to_string).unwrap_or_default();
                (word.get_name().to_owned(), help)
            })
            .collect(),
        facts,
    }
}

/// `-c, --concurrency <N>`.
fn term(arg: &Arg) -> Vec<Piece> {
    let mut term = Vec::new();
    if let Some(short) = arg.get_short() {
        term.push(Piece::Typed(format!("-{short}")));
        if arg.get_long().is_some() {
            term.push(Piece::Plain(", "));
        }
    }
    // In the parser's notation, split between the flag and its value.
    let whole = arg.to_string();
    let flag = arg.get_long().map(|long| format!("--{long}"));
    let flag = flag.filter(|flag| whole.starts_with(flag.as_str()));
    let value = match &flag {
        Some(flag) => whole[flag.len()..].to_owned(),
        None if arg.is_positional() => whole,
        None => String::new(),
    };
    term.extend(flag.map(Piece::Typed));
    match value.strip_prefix(' ') {
        Some(value) => term.extend([Piece::Plain(" "), Piece::Value(value.to_owned())]),
        None if value.is_empty() => {}
        None => term.push(Piece::Value(value)),
    }
    term
}

/// The text after a command's flags, by its titles: `Examples:` and the lines below it.
fn sections(text: &str) -> Vec<(String, Vec<String>)> {
    let mut sections: Vec<(String, Vec<String>)> = Vec::new();
    for line in text.lines() {
        match (line.strip_suffix(':').filter(|_| !line.starts_with(' ')), sections.last_mut()) {
            (Some(title), _) => sections.push((title.to_owned(), Vec::new())),
            (None, Some((_, lines))) => lines.push(line.to_owned()),
            (None, None) if line.trim().is_empty() => {}
            (None, None) => sections.push(("More".to_owned(), vec![line.to_owned()])),
        }
    }
    sections
}
