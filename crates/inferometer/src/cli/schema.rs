//! `inferometer schema`: the JSON Schemas of what this program writes.
//!
//! The files of `docs/reference/schema` are part of the binary. Not here: how they come about.

use crate::exit::{Code, Failure};
use crate::terminal;
use clap::Args;

/// A published schema.
struct Published {
    /// Its name: that of its file, too.
    name: &'static str,
    /// Which documents it describes.
    about: &'static str,
    text: &'static str,
}

macro_rules! published {
    ($name:literal, $about:literal) => {
        Published {
            name: $name,
            about: $about,
            text: include_str!(concat!("../../../../docs/reference/schema/", $name, ".json")),
        }
    };
}

/// Every schema, in the order of the list. To add one, add its file and a line.
const SCHEMAS: &[Published] = &[
    published!("manifest", "manifest.json of a stored run"),
    published!("result", "run, sweep, demo, report --format json of one run"),
    published!("report", "report --format json of several runs, of files, or of a kind"),
    published!("request", "one line of --json=requests"),
    published!("comparison", "compare --json"),
    published!("ranking", "rank --json"),
    published!("gate", "gate --json"),
    published!("audit", "audit --format json"),
    published!("capacity", "capacity URL --json"),
    published!("measured-capacity", "capacity RESULT… --json"),
    published!("probe", "probe --json"),
    published!("conformance", "conform --format json"),
    published!("workload-preview", "workload preview --json"),
    published!("limit", "limit --json"),
    published!("imported", "import --format json"),
    published!("import", "import.json of a stored import"),
    published!("sheet", "one document of an import: results as they stood in a file"),
];

/// Flags of `schema`.
#[derive(Debug, Args)]
pub struct SchemaArgs {
    /// Name of the schema [default: list all]
    #[arg(value_name = "NAME")]
    name: Option<String>,
}

/// Runs the command.
///
/// # Errors
/// A name that no schema has.
pub fn run(args: &SchemaArgs) -> Result<Code, Failure> {
    match &args.name {
        None => terminal::print(&list()),
        Some(name) => match SCHEMAS.iter().find(|schema| schema.name == name) {
            Some(schema) => terminal::print(schema.text),
            None => {
                return Err(Failure::usage(format!("no schema {name}"))
                    .hint("inferometer schema lists them"));
            }
        },
    };
    Ok(Code::Done)
}

fn list() -> String {
    let line = |schema: &Published| format!("{:<18}{}\n", schema.name, schema.about);
    SCHEMAS.iter().map(line).collect()
}
