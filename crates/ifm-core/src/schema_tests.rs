//! The published JSON Schemas of what this crate stores: derived from the types, kept in
//! `docs/reference/schema`, and held against the types by every run of the tests.
//!
//! Written anew with `cargo xtask schema`. Not here: schemas of documents that other crates put
//! together by hand.

use crate::Manifest;
use crate::sheet::{SHEET_VERSION, Sheet};
use crate::spec::Api;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Value, json};
use std::borrow::Cow;
use std::path::PathBuf;

/// Set to `write`, the tests write the files instead of comparing them.
const UPDATE: &str = "IFM_SCHEMA";

impl JsonSchema for Api {
    fn schema_name() -> Cow<'static, str> {
        "Api".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let words: Vec<&str> = Api::ALL.into_iter().map(Api::word).collect();
        json_schema!({
            "description": "Which API of the server carries the load.",
            "type": "string",
            "enum": words,
        })
    }
}

/// Documents that were imported together, as the store keeps them. The struct is `ifm-store`'s,
/// which compares its fields with this one.
#[expect(dead_code, reason = "only its schema is used")]
#[derive(JsonSchema)]
struct Import {
    /// Version of the format.
    sheet_version: u32,
    /// Identity: UTC time of the import and a random part.
    id: String,
    /// Name that the user gave.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    /// Version of inferometer that read the documents.
    tool_version: String,
    /// The documents.
    sheets: Vec<Sheet>,
}

/// What `import --format json` writes.
#[expect(dead_code, reason = "only its schema is used")]
#[derive(JsonSchema)]
struct Imported {
    /// What kind of document this is.
    kind: String,
    /// The import.
    import: Import,
}

/// The schema of a type as it is published.
fn schema<T: JsonSchema>(name: &str, title: &str) -> Value {
    let generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    let mut schema = generator.into_root_schema_for::<T>().to_value();
    schema["$id"] = json!(format!("urn:inferometer:schema:{name}"));
    schema["title"] = json!(title);
    sorted(schema)
}

/// With the fields of each object by name, whatever the JSON library was built with.
fn sorted(value: Value) -> Value {
    match value {
        Value::Object(map) => {
            let mut fields: Vec<(String, Value)> = map.into_iter().collect();
            fields.sort_by(|a, b| a.0.cmp(&b.0));
            fields.into_iter().map(|(name, value)| (name, sorted(value))).collect()
        }
        Value::Array(list) => list.into_iter().map(sorted).collect(),
        value => value,
    }
}

/// Compares a schema with its published file, or writes the file.
fn check(name: &str, schema: &Value) {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/schema");
    let path = folder.join(format!("{name}.json"));
    let text = format!("{schema:#}\n");
    if std::env::var(UPDATE).as_deref() == Ok("write") {
        std::fs::write(&path, text).unwrap();
        return;
    }
    let published = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(published == text, "{name}.json is not what the types say: run `cargo xtask schema`");
}

#[test]
fn the_schema_of_a_manifest_is_published() {
    check("manifest", &schema::<Manifest>("manifest", "Manifest of an inferometer run"));
}

#[test]
fn the_schema_of_an_import_is_published() {
    let version = json!({"description": "Version of the format.", "const": SHEET_VERSION});
    let mut import = schema::<Import>("import", "Import kept by inferometer");
    import["properties"]["sheet_version"] = version.clone();
    check("import", &import);
    let mut imported = schema::<Imported>("imported", "Import as `import --format json` has it");
    imported["properties"]["kind"]["const"] = json!("inferometer_import");
    imported["$defs"]["Import"]["properties"]["sheet_version"] = version;
    check("imported", &imported);
    check("sheet", &schema::<Sheet>("sheet", "Sheet: results as they stood in a file"));
}
