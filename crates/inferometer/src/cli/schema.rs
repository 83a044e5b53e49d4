//! `inferometer schema`: the JSON Schemas of the documents that this program writes, and of files
//! that it reads.
//!
//! The files of `docs/reference/schema` are part of the binary. They follow from the types of the
//! documents: the tests derive them, compare them, and write them for `cargo xtask schema`.

use crate::cli::id_list::{Entry, List};
use crate::exit::{Code, Failure};
use crate::terminal;
use clap::Args;

/// A published schema.
struct Published {
    /// Its name, which is also that of its file.
    name: &'static str,
    /// The documents that it describes.
    about: &'static str,
    /// Commands that write such a document with `--json`; if a flag is named, only with that flag
    /// too.
    #[cfg_attr(not(test), expect(dead_code, reason = "tests compare it with the commands"))]
    commands: &'static [&'static str],
    text: &'static str,
    /// Derives it; absent for a hand-written schema.
    #[cfg(test)]
    derive: Option<fn(&str) -> serde_json::Value>,
}

macro_rules! published {
    ($name:literal, $about:literal, $commands:expr $(, $document:ty)?) => {
        Published {
            name: $name,
            about: $about,
            commands: &$commands,
            text: include_str!(concat!("../../../../docs/reference/schema/", $name, ".json")),
            #[cfg(test)]
            derive: published!(@derive $($document)?),
        }
    };
    ($name:literal, $about:literal, read $document:ty) => {
        Published {
            name: $name,
            about: $about,
            commands: &[],
            text: include_str!(concat!("../../../../docs/reference/schema/", $name, ".json")),
            #[cfg(test)]
            derive: Some(tests::derived_of_read::<$document>),
        }
    };
    (@derive) => { None };
    (@derive $document:ty) => { Some(tests::derived::<$document>) };
}

/// Every schema, in the order of the list. To add one, add a line and an empty file, which
/// `cargo xtask schema` fills.
const SCHEMAS: &[Published] = &[
    published!("manifest", "manifest.json of a stored run", [], ifm_core::Manifest),
    published!(
        "result",
        "run, sweep, demo, predict, runs show, report of one run",
        ["run", "sweep", "demo", "predict", "runs show", "report"],
        ifm_report::ResultDocument
    ),
    published!(
        "report",
        "report of several runs, of files, or of a kind; predict --against",
        ["report", "predict --against"],
        ifm_report::page::PageDocument
    ),
    published!("request", "one line of --json=requests", [], ifm_report::RequestLine),
    published!("session", "one line of --json=sessions", [], ifm_report::SessionLine),
    published!("comparison", "compare", ["compare"]),
    published!("ranking", "rank", ["rank"]),
    published!("gate", "gate", ["gate"]),
    published!("history", "history", ["history"], ifm_report::HistoryDocument),
    published!("audit", "audit", ["audit"], ifm_report::AuditDocument),
    published!("capacity", "capacity URL", ["capacity"]),
    published!("measured-capacity", "capacity RESULT…", ["capacity"]),
    published!(
        "plan",
        "plan check, run, resume, show, collect",
        ["plan check", "plan run", "plan resume", "plan show", "plan collect"],
        crate::plan::document::PlanDocument
    ),
    published!(
        "what-if",
        "predict --vary",
        ["predict --vary"],
        ifm_predict::what_if::WhatIfDocument
    ),
    published!("calibration", "calibrate", ["calibrate"], ifm_predict::CalibrationDocument),
    published!("probe", "probe", ["probe"], ifm_probe::question::ProbeDocument),
    published!("conformance", "conform", ["conform"], ifm_conformance::ConformanceDocument),
    published!(
        "workload-preview",
        "workload preview",
        ["workload preview"],
        super::workload::PreviewDocument
    ),
    published!("workload-list", "workload list", ["workload list"], super::workload::WorkloadList),
    published!("facts", "facts", ["facts"], ifm_machine::facts::FactsDocument),
    published!("doctor", "doctor", ["doctor"], ifm_machine::doctor::DoctorDocument<'static>),
    published!("limit", "limit", ["limit"], ifm_predict::limit::LimitDocument),
    published!("limit-list", "limit --list", ["limit --list"], ifm_predict::limit::LimitList),
    published!("runs", "runs, runs list", ["runs", "runs list"], super::run_list::RunList),
    published!(
        "list",
        "audit --list-rules, import --list-formats, conform --list, engine --list, schema",
        [
            "audit --list-rules",
            "import --list-formats",
            "conform --list",
            "engine --list",
            "schema",
        ],
        List
    ),
    published!("translation", "translate", ["translate"], crate::cli::compat::TranslationDocument),
    published!("imported", "import", ["import"], super::import::Imported),
    published!("engine", "engine", ["engine"], super::engine::EngineDocument),
    published!(
        "kernel",
        "kernel",
        ["kernel attention", "kernel gemm", "kernel bandwidth"],
        super::kernel::KernelDocument
    ),
    published!("executed", "exec", ["exec"], super::exec::Executed),
    published!(
        "api-file",
        "a file of --api custom:, which is read",
        read ifm_wire::dialect::custom::ApiFileForm
    ),
    published!("import", "import.json of a stored import", [], ifm_store::Import),
    published!("sheet", "one document of an import: results as in a file", [], ifm_core::Sheet),
];

/// Names of the schemas, with what each describes.
pub fn names() -> impl Iterator<Item = (&'static str, &'static str)> {
    SCHEMAS.iter().map(|schema| (schema.name, schema.about))
}

/// Flags of `schema`.
#[derive(Debug, Args)]
pub struct SchemaArgs {
    /// Name of the schema [default: list all]
    #[arg(value_name = "NAME")]
    name: Option<String>,

    /// The list as one JSON document on standard output; a schema always is one
    #[arg(long)]
    json: bool,
}

/// Runs the command.
///
/// # Errors
/// An unknown name.
pub fn run(args: &SchemaArgs) -> Result<Code, Failure> {
    let Some(name) = &args.name else {
        let entries = names().map(|(name, about)| Entry::new(name, about));
        List::new("schemas", entries).tell(args.json);
        return Ok(Code::Done);
    };
    match SCHEMAS.iter().find(|schema| schema.name == name) {
        Some(schema) => terminal::print(schema.text),
        None => {
            return Err(
                Failure::usage(format!("no schema {name}")).hint("inferometer schema lists them")
            );
        }
    };
    Ok(Code::Done)
}

#[cfg(test)]
pub(super) use tests::described;

#[cfg(test)]
mod tests {
    use super::*;
    use ifm_core::order::Order as _;
    use schemars::JsonSchema;
    use schemars::generate::SchemaSettings;
    use serde_json::{Value, json};
    use std::collections::BTreeSet;
    use std::path::PathBuf;

    /// If set to `write`, the tests write the files instead of comparing them.
    const UPDATE: &str = "IFM_SCHEMA";

    /// The published schema of a type.
    pub(super) fn derived<T: JsonSchema>(name: &str) -> Value {
        of::<T>(name, SchemaSettings::draft2020_12().for_serialize())
    }

    /// The schema of a type that is read.
    pub(super) fn derived_of_read<T: JsonSchema>(name: &str) -> Value {
        of::<T>(name, SchemaSettings::draft2020_12().for_deserialize())
    }

    fn of<T: JsonSchema>(name: &str, settings: SchemaSettings) -> Value {
        let generator = settings.into_generator();
        let mut schema = generator.into_root_schema_for::<T>().to_value();
        schema["$id"] = json!(format!("urn:inferometer:schema:{name}"));
        schema["title"] = json!(title(name));
        sorted(schema)
    }

    /// The title of a document; no two schemas share one.
    fn title(name: &str) -> &str {
        match name {
            "manifest" => "Manifest of an inferometer run",
            "result" => "Result of a run, a sweep or a demo",
            "report" => "Report",
            "request" => "One request of a run",
            "audit" => "Audit",
            "history" => "History: series of runs and their changes",
            "probe" => "Probe of a server",
            "conformance" => "Conformance of a client",
            "workload-preview" => "Preview of a workload",
            "workload-list" => "Workloads and data sets",
            "plan" => "Plan: its cells and their states",
            "what-if" => "What if: deployments by what they cost",
            "calibration" => "Calibration: the constants of a server",
            "facts" => "Facts of a machine",
            "doctor" => "Settings of a machine that distort measurements",
            "limit" => "Limit of a machine and a model",
            "limit-list" => "Machines, models and number formats",
            "session" => "One session of a run",
            "runs" => "Runs and imports of a store",
            "list" => "List of what a command knows",
            "executed" => "Measured command",
            "translation" => "Translated command line of another tool",
            "imported" => "Import as `import --json` has it",
            "import" => "Import stored by inferometer",
            "api-file" => "File that describes an API",
            "sheet" => "Sheet: results as they were in a file",
            "engine" => "Engine tests and static batches",
            "kernel" => "Kernels: attention, products, transfers",
            other => panic!("{other} needs a title"),
        }
    }

    /// With the fields of each object sorted by name, independent of the JSON library's features.
    fn sorted(value: Value) -> Value {
        match value {
            Value::Object(map) => {
                let mut fields: Vec<(String, Value)> = map.into_iter().collect();
                fields.order_by(|a, b| a.0.cmp(&b.0));
                fields.into_iter().map(|(name, value)| (name, sorted(value))).collect()
            }
            Value::Array(list) => list.into_iter().map(sorted).collect(),
            value => value,
        }
    }

    #[test]
    fn schemas_are_what_the_types_say() {
        let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/schema");
        let mut wrong = Vec::new();
        for Published { name, derive, .. } in SCHEMAS {
            let Some(derive) = derive else { continue };
            let path = folder.join(format!("{name}.json"));
            let text = format!("{:#}\n", derive(name));
            if std::env::var(UPDATE).as_deref() == Ok("write") {
                std::fs::write(&path, text).unwrap();
            } else if std::fs::read_to_string(&path).unwrap_or_default() != text {
                wrong.push(name);
            }
        }
        assert!(wrong.is_empty(), "{wrong:?} are not what the types say: run `cargo xtask schema`");
    }

    /// Fields of objects without a description, by their paths; variants of an enum are named by it.
    fn undescribed(path: &str, value: &Value, found: &mut Vec<String>) {
        let Value::Object(object) = value else { return };
        for (name, inner) in object {
            let path = format!("{path}/{name}");
            match (name.as_str(), inner) {
                ("oneOf" | "anyOf", _) => {}
                ("properties", Value::Object(fields)) => {
                    for (field, schema) in fields {
                        let is_described = ["description", "$ref", "const", "anyOf"]
                            .iter()
                            .any(|key| schema.get(*key).is_some());
                        if !is_described {
                            found.push(format!("{path}/{field}"));
                        }
                        undescribed(&format!("{path}/{field}"), schema, found);
                    }
                }
                _ => undescribed(&path, inner, found),
            }
        }
    }

    #[test]
    fn every_field_of_a_document_is_described() {
        let mut found = Vec::new();
        for Published { name, derive, .. } in SCHEMAS {
            if let Some(derive) = derive {
                undescribed(name, &derive(name), &mut found);
            }
        }
        assert!(found.is_empty(), "doc comments are missing: {found:#?}");
        let bare = json!({"properties": {"a": {"type": "string"}, "b": {"description": "x"}}});
        undescribed("bare", &bare, &mut found);
        assert_eq!(found, ["bare/properties/a"]);
    }

    /// Commands whose `--json` has a schema, with the additional flag that it needs.
    pub(in crate::cli) fn described() -> BTreeSet<&'static str> {
        SCHEMAS.iter().flat_map(|schema| schema.commands.iter().copied()).collect()
    }
}
