//! `inferometer doctor`: checks what on this machine distorts measurements, and how to fix it.

use crate::exit::{Code, Failure};
use crate::session::store_root;
use crate::terminal;
use clap::Args;
use ifm_machine::doctor::{self, DoctorDocument, Machine, State};
use ifm_store::Store;
use std::path::PathBuf;

/// Flags of `doctor`.
#[derive(Debug, Args)]
pub struct DoctorArgs {
    /// Exit with code 1 if anything distorts measurements
    #[arg(long)]
    strict: bool,

    /// Folder of stored runs, to check its free space [default: .inferometer/runs]
    #[arg(long, value_name = "DIR", env = "INFEROMETER_STORE")]
    store: Option<PathBuf>,

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
pub fn run(args: &DoctorArgs) -> Result<Code, Failure> {
    let store = Store::at(store_root(args.store.as_ref()));
    let findings = doctor::look(&Machine::read(&store));
    match args.json {
        true => terminal::print_document(&DoctorDocument::from(findings.as_slice())),
        false => {
            terminal::print(&doctor::text(&findings, &terminal::style(args.no_color, args.ascii)));
        }
    }
    let problems = doctor::count(&findings, State::Caution) + doctor::count(&findings, State::Bad);
    Ok(if args.strict && problems > 0 { Code::Failed } else { Code::Done })
}
