//! `inferometer runs`: the contents of the store.
//!
//! Not here: the list as text and as JSON (`cli/run_list`).

use super::run_list::RunList;
use crate::exit::{Code, Failure};
pub use crate::inputs::stored::{Meant, find, find_either, load};
use crate::session::store_root;
use crate::terminal;
use clap::{Args, Subcommand};
use ifm_core::words::counted;
use ifm_store::{Store, StoreError};
use std::path::PathBuf;

/// Flags of `runs`.
#[derive(Debug, Args)]
pub struct RunsArgs {
    #[command(subcommand)]
    action: Option<Action>,

    /// One JSON document on standard output
    #[arg(long)]
    json: bool,

    /// Folder of stored runs [default: .inferometer/runs]
    #[arg(long, global = true, value_name = "DIR", env = "INFEROMETER_STORE")]
    store: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List all runs, newest first (default)
    List {
        /// One JSON document on standard output
        #[arg(long)]
        json: bool,
    },
    /// Show the table and answers of a run
    Show {
        /// ID, start of an ID, name, path, or "last"
        run: String,
        /// One JSON document on standard output, as in report --json
        #[arg(long)]
        json: bool,
        /// Print without color (also: NO_COLOR)
        #[arg(long)]
        no_color: bool,
        /// Print only ASCII characters (default on terminals without UTF-8)
        #[arg(long)]
        ascii: bool,
    },
    /// Rename a run or import
    Rename {
        /// ID, start of an ID, name, or path
        run: String,
        /// New name; "" removes the name
        name: String,
    },
    /// Add tags to a run or import, or show its tags
    Tag {
        /// ID, start of an ID, name, path, or "last"
        run: String,
        /// Tags to add
        tags: Vec<String>,
        /// Remove these tags instead
        #[arg(long, requires = "tags")]
        remove: bool,
    },
    /// Convert the journal of an interrupted run to its final files
    Seal {
        /// ID, start of an ID, name, path, or "last"
        run: String,
    },
    /// Move a run or import to the bin
    Rm {
        /// Id, start of an id, name or path; with --permanent also the id of one in the bin
        run: String,
        /// Delete it instead
        #[arg(long)]
        permanent: bool,
    },
    /// Take a run or import out of the bin, or list the bin
    Restore {
        /// Id, as `runs restore` lists it
        id: Option<String>,
    },
}

/// Runs the command.
pub fn run(args: &RunsArgs) -> Result<Code, Failure> {
    let store = Store::at(store_root(args.store.as_ref()));
    let Some(action) = &args.action else { return list(&store, args.json) };
    match action {
        Action::List { json } => list(&store, *json || args.json),
        Action::Show { run, json, no_color, ascii } => {
            let model = load(&store, &find(&store, run)?)?;
            let style = terminal::style(*no_color, *ascii);
            terminal::print(&match *json || args.json {
                true => ifm_report::json(&model),
                false => {
                    let command = ifm_report::command_line(&model.manifest.command);
                    let command = style.paragraph(&format!("command  {command}"), "         ");
                    format!("{}\n{}\n", ifm_report::terminal(&model, &style), command.join("\n"))
                }
            });
            Ok(Code::Done)
        }
        _ if args.json => Err(Failure::usage(
            "--json is for `runs list` and `runs show`; this prints no document",
        )),
        Action::Rename { run, name } => {
            let name = Some(name.as_str()).filter(|name| !name.is_empty());
            match find_either(&store, run)? {
                Meant::Run(entry) => store.rename(&entry, name),
                Meant::Import(import) => store.rename_import(&import.id, name),
            }
            .map_err(refused)?;
            Ok(Code::Done)
        }
        Action::Tag { run, tags, remove } => tag(&store, run, tags, *remove),
        Action::Seal { run } => {
            let entry = find(&store, run)?;
            let sealed = store.seal_abandoned(&entry).map_err(|e| Failure::files(e.to_string()))?;
            terminal::print(&format!(
                "sealed {}: {}\n",
                entry.id,
                counted(sealed.requests, "request")
            ));
            if let Some(loss) = sealed.loss {
                terminal::warn(&format!(
                    "{} bytes of the journal were cut off",
                    loss.bytes_dropped
                ));
            }
            Ok(Code::Done)
        }
        Action::Rm { run, permanent } => remove(&store, run, *permanent),
        Action::Restore { id } => restore(&store, id.as_deref()),
    }
}

/// Moves a run or import to the bin, or deletes it.
fn remove(store: &Store, run: &str, is_permanent: bool) -> Result<Code, Failure> {
    let in_bin = store.set_aside_ids().map_err(refused)?.iter().any(|id| id == run);
    if is_permanent && in_bin {
        store.erase(run).map_err(refused)?;
        terminal::print(&format!("deleted {run}\n"));
        return Ok(Code::Done);
    }
    let id = match find_either(store, run)? {
        Meant::Run(entry) => entry.id,
        Meant::Import(import) => import.id,
    };
    store.set_aside(&id).map_err(refused)?;
    if is_permanent {
        store.erase(&id).map_err(refused)?;
        terminal::print(&format!("deleted {id}\n"));
        return Ok(Code::Done);
    }
    terminal::print(&format!("moved {id} to the bin\n"));
    terminal::say(&format!(
        "undo: inferometer runs restore {id}; delete: inferometer runs rm --permanent {id}"
    ));
    Ok(Code::Done)
}

/// Takes a run or import out of the bin, or lists what is in it.
fn restore(store: &Store, id: Option<&str>) -> Result<Code, Failure> {
    let ids = store.set_aside_ids().map_err(refused)?;
    match id {
        None => {
            if ids.is_empty() {
                terminal::say("the bin is empty");
            }
            for id in ids {
                terminal::print(&format!("{id}\n"));
            }
        }
        Some(id) => {
            store.restore(id).map_err(|error| match error {
                StoreError::NotThere { .. } => Failure::usage(format!("{id} is not in the bin"))
                    .hint("inferometer runs restore lists the bin"),
                other => refused(other),
            })?;
            terminal::print(&format!("restored {id}\n"));
        }
    }
    Ok(Code::Done)
}

/// Adds or removes tags, and prints the resulting tags.
fn tag(store: &Store, run: &str, tags: &[String], is_removal: bool) -> Result<Code, Failure> {
    let meant = find_either(store, run)?;
    let mut kept = match &meant {
        Meant::Run(entry) => entry.tags(),
        Meant::Import(import) => store.import_tags(&import.id),
    }
    .map_err(refused)?;
    match is_removal {
        true => kept.retain(|tag| !tags.contains(tag)),
        false => kept.extend(tags.iter().cloned()),
    }
    if !tags.is_empty() {
        kept = match &meant {
            Meant::Run(entry) => store.tag(entry, &kept),
            Meant::Import(import) => store.tag_import(&import.id, &kept),
        }
        .map_err(refused)?;
    }
    kept.iter().for_each(|tag| {
        terminal::print(&format!("{tag}\n"));
    });
    Ok(Code::Done)
}

/// An invalid name or tag is the user's error; other errors are the disk's.
fn refused(error: StoreError) -> Failure {
    match error {
        StoreError::BadName { .. } | StoreError::BadTag { .. } => Failure::usage(error.to_string()),
        _ => Failure::files(error.to_string()),
    }
}

fn list(store: &Store, is_json: bool) -> Result<Code, Failure> {
    let list = RunList::of(store)?;
    match (is_json, list.is_empty()) {
        (true, _) => terminal::print_document(&list),
        (false, true) => terminal::say(&format!("no runs in {}", store.root().display())),
        (false, false) => _ = terminal::print(&list.text(store, &terminal::style(false, false))),
    }
    Ok(Code::Done)
}
