//! `inferometer report RUN`: a stored run as a document.

use super::load_args::Format;
use super::runs::{find, load};
use crate::exit::{Code, Failure};
use crate::session::store_root;
use crate::{output, terminal};
use clap::Args;
use ifm_store::Store;
use std::path::PathBuf;

/// Flags of `report`.
#[derive(Debug, Args)]
pub struct ReportArgs {
    /// Id, start of an id, name, path, or "last"
    #[arg(default_value = "last")]
    run: String,

    /// File to write: .html, .md or .json; may be repeated [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    out: Vec<PathBuf>,

    /// What goes to standard output when no file is named
    #[arg(short, long, value_enum, default_value = "text")]
    format: Format,

    /// Folder of stored runs [default: .inferometer/runs]
    #[arg(long, value_name = "DIR", env = "INFEROMETER_STORE")]
    store: Option<PathBuf>,

    /// No colour (also: NO_COLOR)
    #[arg(long)]
    no_color: bool,

    /// Only ASCII characters
    #[arg(long)]
    ascii: bool,
}

/// Runs the command.
pub fn run(args: &ReportArgs) -> Result<Code, Failure> {
    for path in &args.out {
        output::check_path(path)?;
    }
    let store = Store::at(store_root(args.store.as_ref()));
    let entry = find(&store, &args.run)?;
    if args.format == Format::Requests && args.out.is_empty() {
        let loaded = store.open(&entry).map_err(|error| Failure::files(error.to_string()))?;
        for record in &loaded.data.requests {
            terminal::print(&format!("{}\n", ifm_report::request_line(record)));
        }
        return Ok(Code::Done);
    }
    let model = load(&store, &entry)?;
    for path in &args.out {
        output::write_file(&model, path)?;
        terminal::say(&format!("wrote {}", path.display()));
    }
    if args.out.is_empty() {
        let style = terminal::style(args.no_color, args.ascii);
        terminal::print(&output::text(&model, args.format, &style));
    }
    Ok(Code::Done)
}
