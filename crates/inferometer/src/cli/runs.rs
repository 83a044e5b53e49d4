//! `inferometer runs`: what the store holds.

use crate::exit::{Code, Failure};
use crate::session::store_root;
pub use crate::stored::{Meant, find, find_either, load};
use crate::terminal;
use clap::{Args, Subcommand};
use ifm_core::RunState;
use ifm_core::spec::LoadSpec;
use ifm_core::words::counted;
use ifm_store::{RunEntry, Store, StoreError};
use std::path::PathBuf;

/// Flags of `runs`.
#[derive(Debug, Args)]
pub struct RunsArgs {
    #[command(subcommand)]
    action: Action,

    /// Folder of stored runs [default: .inferometer/runs]
    #[arg(long, global = true, value_name = "DIR", env = "INFEROMETER_STORE")]
    store: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// All runs, newest first
    List,
    /// One run: its table and answers
    Show {
        /// Id, start of an id, name, path, or "last"
        run: String,
        /// No colour (also: NO_COLOR)
        #[arg(long)]
        no_color: bool,
        /// Only ASCII characters
        #[arg(long)]
        ascii: bool,
    },
    /// Give a run or import another name
    Rename {
        /// Id, start of an id, name, or path
        run: String,
        /// The name; "" takes it away
        name: String,
    },
    /// Put tags on a run or import, or show those that it has
    Tag {
        /// Id, start of an id, name, path, or "last"
        run: String,
        /// Tags to put on
        tags: Vec<String>,
        /// Take these tags off instead
        #[arg(long, requires = "tags")]
        remove: bool,
    },
    /// Turn the journal of a run that was cut off into its final files
    Seal {
        /// Id, start of an id, name, path, or "last"
        run: String,
    },
    /// Remove a run for good
    Rm {
        /// Id, start of an id, name or path
        run: String,
    },
}

/// Runs the command.
pub fn run(args: &RunsArgs) -> Result<Code, Failure> {
    let store = Store::at(store_root(args.store.as_ref()));
    match &args.action {
        Action::List => list(&store),
        Action::Show { run, no_color, ascii } => {
            let entry = find(&store, run)?;
            let model = load(&store, &entry)?;
            let style = terminal::style(*no_color, *ascii);
            terminal::print(&ifm_report::terminal(&model, &style));
            Ok(Code::Done)
        }
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
        Action::Rm { run } => {
            let entry = find(&store, run)?;
            store.remove(&entry).map_err(|error| Failure::files(error.to_string()))?;
            terminal::print(&format!("removed {}\n", entry.id));
            Ok(Code::Done)
        }
    }
}

/// Puts tags on, or takes them off, and prints those that are there then.
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

/// A text that cannot be a name or a tag is the user's mistake; the rest is the disk's.
fn refused(error: StoreError) -> Failure {
    match error {
        StoreError::BadName { .. } | StoreError::BadTag { .. } => Failure::usage(error.to_string()),
        _ => Failure::files(error.to_string()),
    }
}

fn list(store: &Store) -> Result<Code, Failure> {
    let entries = store.list().map_err(|error| Failure::files(error.to_string()))?;
    let imports = store.import_ids().map_err(|error| Failure::files(error.to_string()))?;
    if entries.is_empty() && imports.is_empty() {
        terminal::say(&format!("no runs in {}", store.root().display()));
        return Ok(Code::Done);
    }
    let mut text = format!("{:<22} {:<9} {:<16} {:<28} load\n", "run", "state", "name", "model");
    for entry in entries {
        text.push_str(&row(&entry));
        text.push('\n');
    }
    for id in imports {
        text.push_str(&import_row(store, &id));
    }
    terminal::print(&text);
    Ok(Code::Done)
}

fn import_row(store: &Store, id: &str) -> String {
    match store.import(id) {
        Ok(import) => {
            let files: Vec<&str> =
                import.sheets.iter().map(|sheet| sheet.source.name.as_str()).collect();
            let name = cut(import.name.as_deref().unwrap_or("-"), 16);
            format!("{id:<22} {:<9} {name:<16} {}\n", "imported", cut(&files.join(", "), 60))
        }
        Err(error) => format!("{id:<22} {:<9} {error}\n", "broken"),
    }
}

/// Names come from users and servers: nothing that could steer a terminal gets through.
fn cut(text: &str, width: usize) -> String {
    text.chars().filter(|c| !c.is_control()).take(width).collect()
}

fn row(entry: &RunEntry) -> String {
    let manifest = match &entry.manifest {
        Ok(manifest) => manifest,
        Err(error) => return format!("{:<22} {:<9} {error}", entry.id, "broken"),
    };
    let state = match (manifest.state, entry.is_live()) {
        (RunState::Open, Ok(true)) => "running",
        (RunState::Open, _) => "unsealed",
        (RunState::Complete, _) => "complete",
        (RunState::Partial, _) => "partial",
    };
    let loads: Vec<String> = manifest.spec.levels.iter().map(load_asked).collect();
    let tags = entry.tags().unwrap_or_default();
    let tags: String = tags.iter().map(|tag| format!("  #{}", cut(tag, 40))).collect();
    format!(
        "{:<22} {state:<9} {:<16} {:<28} {}{tags}",
        entry.id,
        cut(manifest.name.as_deref().unwrap_or("-"), 16),
        cut(&manifest.spec.target.model, 28),
        loads.join(",")
    )
}

/// The load of a level in few letters: `8` users, `2.5/s` of an open loop, whose number in flight
/// is a bound and no load.
fn load_asked(level: &LoadSpec) -> String {
    let Some(arrivals) = &level.arrivals else { return level.concurrency.to_string() };
    match arrivals.mean_req_per_s() {
        Some(rate) => format!("{}/s", (rate * 100.0).round() / 100.0),
        None => "trace".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ifm_core::spec::{ArrivalLaw, ArrivalSpec, RateCurve, RateStretch};

    #[test]
    fn an_open_loop_is_listed_by_its_rate_and_not_by_its_bound() {
        let closed = ifm_analysis::testing::run(&[8], Vec::new()).manifest.spec.levels.remove(0);
        assert_eq!(load_asked(&closed), "8");
        let (rate, curve) = (2.5, RateCurve::Linear);
        let stretch =
            RateStretch { from_req_per_s: rate, to_req_per_s: rate, curve, seconds: None };
        let due = |law, stretches| LoadSpec {
            concurrency: 4096,
            arrivals: Some(ArrivalSpec { law, stretches, seed: 0 }),
            ..closed.clone()
        };
        assert_eq!(load_asked(&due(ArrivalLaw::Poisson, vec![stretch])), "2.5/s");
        assert_eq!(load_asked(&due(ArrivalLaw::Replay(1.0), Vec::new())), "trace");
    }
}
