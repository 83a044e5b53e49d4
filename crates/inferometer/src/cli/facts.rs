//! `inferometer facts`: records the facts of this machine.

use super::project;
use crate::exit::{Code, Failure};
use crate::output::check_folder;
use crate::terminal;
use clap::Args;
use ifm_machine::facts::{self, FactsDocument};
use std::path::PathBuf;

/// Flags of `facts`.
#[derive(Debug, Args)]
pub struct FactsArgs {
    /// JSON file to write [default: text on standard output]
    ///
    /// run, sweep and capacity attach it with --facts
    #[arg(short, long, value_name = "FILE")]
    out: Option<PathBuf>,

    /// PID of the server; its command line is recorded with secrets removed
    #[arg(long, value_name = "PID")]
    server_pid: Option<u32>,

    /// One JSON document on standard output
    #[arg(long)]
    json: bool,

    /// Print without color (also: NO_COLOR)
    #[arg(long)]
    no_color: bool,

    /// Print only ASCII characters (default on terminals without UTF-8)
    #[arg(long)]
    ascii: bool,
}

/// Runs the command.
///
/// # Errors
/// There is no such process, or the file cannot be written.
pub fn run(args: &FactsArgs) -> Result<Code, Failure> {
    args.out.as_deref().map(check_folder).transpose()?;
    let settings = project::in_effect()?;
    let server = args.server_pid.map(facts::of_process).transpose()?;
    let (mut found, without_gpus) = facts::of_host();
    found.server = server;
    if let Some(why) = without_gpus {
        terminal::say(terminal::wrapped("no GPU visible: ", &why).trim_end());
    }
    if let Some(path) = &args.out {
        let document = FactsDocument::from(found.clone());
        let text = serde_json::to_string_pretty(&document).unwrap_or_default();
        std::fs::write(path, format!("{text}\n"))
            .map_err(|error| Failure::files(format!("cannot write {}: {error}", path.display())))?;
        terminal::say(&format!("wrote {}", path.display()));
    }
    if args.json {
        terminal::print_document(&FactsDocument::from(found).with(settings));
    } else if args.out.is_none() {
        let style = terminal::style(args.no_color, args.ascii);
        terminal::print(&(facts::text(&found, &style) + &facts::settings_text(&settings, &style)));
    }
    Ok(Code::Done)
}
