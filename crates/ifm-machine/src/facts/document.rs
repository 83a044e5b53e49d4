//! Facts as a JSON document and as text.

use ifm_core::regular::read_named_text;
use ifm_core::{Facts, Setting};
use ifm_metrics::machine::{Part, told_of};
use ifm_report::TerminalStyle;
use ifm_terminal::exit::Failure;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// The kind of the document, and its version.
const KIND: &str = "inferometer_facts";
const VERSION: u32 = 1;
/// Maximum size of a document, bytes.
const BYTES_MAX: u64 = 4 << 20;
/// Width of the name column.
const NAME_COLUMNS: usize = 38;

/// What `facts --json` writes, and `--facts` reads.
#[derive(Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FactsDocument {
    /// What the document is.
    #[cfg_attr(feature = "schema", schemars(extend("const" = KIND)))]
    kind: String,
    /// Version of the document.
    #[cfg_attr(feature = "schema", schemars(extend("const" = VERSION)))]
    version: u32,
    #[serde(flatten)]
    facts: Facts,
    /// Settings of the project file and of variables in the current folder, by their names in the file;
    /// only for `--json`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    settings: Vec<Setting>,
}

impl FactsDocument {
    /// The same with the current settings.
    pub fn with(self, settings: Vec<Setting>) -> FactsDocument {
        FactsDocument { settings, ..self }
    }
}

impl From<Facts> for FactsDocument {
    fn from(facts: Facts) -> FactsDocument {
        FactsDocument { kind: KIND.to_owned(), version: VERSION, facts, settings: Vec::new() }
    }
}

/// Reads a document of facts.
///
/// # Errors
/// It cannot be read, or is another document.
pub fn read(path: &Path) -> Result<Facts, Failure> {
    let named = |error: &dyn std::fmt::Display| {
        Failure::usage(format!("--facts {}: {error}", path.display()))
            .hint("inferometer facts -o facts.json writes one on the server's host")
    };
    let text = read_named_text(path, BYTES_MAX).map_err(|error| named(&error))?;
    let document: FactsDocument =
        serde_json::from_str(&text).map_err(|error| named(&format!("not facts: {error}")))?;
    if document.kind != KIND || document.version != VERSION {
        let FactsDocument { kind, version, .. } = document;
        let wanted = format!("expected {KIND} of version {VERSION}");
        return Err(named(&format!("it is {kind:?} of version {version}, {wanted}")));
    }
    Ok(document.facts)
}

/// The current settings, and where each was set; empty if all are defaults.
pub fn settings_text(settings: &[Setting], style: &TerminalStyle) -> String {
    let line = |one: &Setting| {
        let at = one.at.as_deref().unwrap_or_default();
        let line = format!("  {:<width$}{} ({at})", one.name, one.value, width = NAME_COLUMNS - 2);
        style.paragraph(&line, &" ".repeat(NAME_COLUMNS)).join("\n") + "\n"
    };
    match settings.is_empty() {
        true => String::new(),
        false => format!("\nSettings\n{}", settings.iter().map(line).collect::<String>()),
    }
}

/// The reported facts, part by part.
pub fn text(facts: &Facts, style: &TerminalStyle) -> String {
    let mut out = String::new();
    for part in Part::ALL {
        let mut rows = told_of(facts).filter(|(of, ..)| *of == part).peekable();
        if rows.peek().is_none() {
            continue;
        }
        let gap = if out.is_empty() { "" } else { "\n" };
        out.push_str(&format!("{gap}{}\n", part.title()));
        for (_, what, value) in rows {
            let line = format!("  {what:<width$}{value}", width = NAME_COLUMNS - 2);
            for line in style.paragraph(&line, &" ".repeat(NAME_COLUMNS)) {
                out.push_str(&line);
                out.push('\n');
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use ifm_core::facts::Gpu;

    #[test]
    fn a_document_is_read_as_it_was_written_and_another_is_refused() {
        let gpus = vec![Gpu { index: Some(0), power_limit_w: Some(350.0), ..Gpu::default() }];
        let facts = Facts { gpus, ..Facts::default() };
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("facts.json");
        let document = FactsDocument::from(facts.clone());
        std::fs::write(&path, serde_json::to_string(&document).unwrap()).unwrap();
        assert_eq!(read(&path).unwrap(), facts);
        for (text, word) in [
            ("{}", "not facts"),
            ("[", "not facts"),
            (r#"{"kind": "inferometer_limit", "version": 1}"#, "inferometer_limit"),
            (r#"{"kind": "inferometer_facts", "version": 9}"#, "of version 9"),
        ] {
            std::fs::write(&path, text).unwrap();
            let error = read(&path).unwrap_err().to_string();
            assert!(error.contains(word) && error.contains("facts.json"), "{error}");
        }
        assert!(read(&folder.path().join("nothing")).is_err());
    }
}
