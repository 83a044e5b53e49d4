//! `inferometer man`: the manual, generated from the parser, with a page for the program and one for each
//! command.
//!
//! The same pages as Markdown are the reference of the command line in `docs/reference/cli`. A test
//! compares them with the parser, and `cargo xtask reference` writes them.
//!
//! Not here: the content of a page (`page`), and its format (`roff`, `markdown`).

mod markdown;
mod page;
mod roff;

use crate::exit::{Code, Failure};
use crate::terminal;
use clap::{Args, ValueEnum};
use ifm_core::words::{counted, nearest};
use page::Page;
use std::io::{IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Format of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Format of `man`
    Roff,
    /// Markdown
    Markdown,
}

impl Format {
    fn text(self, page: &Page) -> String {
        match self {
            Format::Roff => roff::text(page),
            Format::Markdown => markdown::text(page),
        }
    }

    fn file_name(self, page: &Page) -> String {
        match self {
            Format::Roff => format!("{}.1", page.name()),
            Format::Markdown => markdown::file_name(page),
        }
    }
}

/// Flags of `man`.
#[derive(Debug, Args)]
pub struct ManArgs {
    /// Command to show the page of [default: the program itself]
    #[arg(value_name = "COMMAND")]
    command: Vec<String>,

    /// Folder for all pages, such as ~/.local/share/man/man1
    #[arg(short, long, value_name = "DIR", conflicts_with = "command")]
    out: Option<PathBuf>,

    /// Format of the pages [default: roff]
    #[arg(short, long, value_enum, value_name = "FORMAT")]
    format: Option<Format>,
}

/// Shows a page, or writes all pages.
///
/// # Errors
/// There is no such command, or the folder cannot be written.
pub fn run(args: &ManArgs) -> Result<Code, Failure> {
    let pages = page::all();
    let format = args.format.unwrap_or(Format::Roff);
    if let Some(folder) = &args.out {
        return write(&pages, format, folder);
    }
    let words = args.command.join(" ");
    let Some(page) = pages.iter().find(|page| page.words == words) else {
        let failure = Failure::usage(format!("there is no command \"{words}\""));
        return Err(match nearest(&words, pages.iter().map(|page| page.words.as_str())) {
            Some(near) => failure.hint(format!("did you mean inferometer man {near}?")),
            None => failure.hint("inferometer --help lists the commands"),
        });
    };
    let text = format.text(page);
    // On a terminal, `man` shows it, if it is installed.
    let is_shown = args.format.is_none() && std::io::stdout().is_terminal() && shown(&text);
    if !is_shown {
        terminal::print(&text);
    }
    Ok(Code::Done)
}

/// Writes every page.
fn write(pages: &[Page], format: Format, folder: &Path) -> Result<Code, Failure> {
    let cannot = |path: &Path, error: std::io::Error| {
        Failure::files(format!("cannot write {}: {error}", path.display()))
    };
    std::fs::create_dir_all(folder).map_err(|error| cannot(folder, error))?;
    for page in pages {
        let path = folder.join(format.file_name(page));
        std::fs::write(&path, format.text(page)).map_err(|error| cannot(&path, error))?;
    }
    let count = counted(pages.len() as u64, "page");
    terminal::say(&format!("wrote {count} to {}", folder.display()));
    Ok(Code::Done)
}

/// Passes a page to `man`, and returns whether `man` showed it.
fn shown(text: &str) -> bool {
    let man = Command::new("man").args(["-l", "-"]).stdin(Stdio::piped()).spawn();
    let Ok(mut man) = man else { return false };
    let written = man.stdin.take().is_some_and(|mut page| page.write_all(text.as_bytes()).is_ok());
    man.wait().is_ok_and(|status| status.success()) && written
}

#[cfg(test)]
mod tests {
    use super::*;

    /// If set to `write`, the test writes the reference instead of comparing it.
    const UPDATE: &str = "IFM_REFERENCE";

    #[test]
    fn the_reference_is_what_the_parser_says() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/cli");
        let pages = page::all();
        if std::env::var(UPDATE).as_deref() == Ok("write") {
            let _ = std::fs::remove_dir_all(&folder);
            write(&pages, Format::Markdown, &folder).expect("written");
        }
        let old: Vec<String> = pages
            .iter()
            .map(|page| (Format::Markdown.file_name(page), Format::Markdown.text(page)))
            .filter(|(name, text)| {
                std::fs::read_to_string(folder.join(name)).unwrap_or_default() != *text
            })
            .map(|(name, _)| name)
            .collect();
        assert!(
            old.is_empty(),
            "{old:?} are not what the parser says: run `cargo xtask reference`"
        );
        let files = std::fs::read_dir(&folder).expect("the reference").count();
        assert_eq!(
            files,
            pages.len(),
            "pages of commands that are gone: run `cargo xtask reference`"
        );
    }

    #[test]
    fn a_page_tells_what_help_tells() {
        let pages = page::all();
        let run = pages.iter().find(|page| page.words == "run").expect("run");
        let man = roff::text(run);
        for part in [
            ".TH INFEROMETER\\-RUN 1",
            "inferometer\\-run \\- Measure a server at one load",
            "\\fB\\-c\\fR, \\fB\\-\\-concurrency\\fR \\fI<N>\\fR",
            "INFEROMETER_STORE",
            ".SH SHAPES OF THE LOAD",
        ] {
            assert!(man.contains(part), "{part}:\n{man}");
        }
        assert!(pages.iter().any(|page| page.words == "plan run"));
        // Commands that only the program itself starts have no page.
        assert!(!pages.iter().any(|page| ["guard", "worker", "complete"].contains(&&*page.words)));
        // No line begins with a request by accident.
        for page in &pages {
            for line in roff::text(page).lines().filter(|line| line.starts_with(['.', '\''])) {
                let request = line.split(' ').next().unwrap_or_default();
                let known = [".TH", ".SH", ".SS", ".PP", ".TP", ".IP", ".RS", ".RE", ".nf", ".fi"];
                assert!(known.contains(&request), "{}: {line}", page.words);
            }
        }
    }
}
