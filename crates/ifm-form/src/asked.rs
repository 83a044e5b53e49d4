//! Forms as typed by the user: `[SHARE*]KIND[:WHAT]`.
//!
//! Every error is found here, before anything is sent: a missing file, an invalid schema, an
//! expression that does not compile.
//!
//! Not here: whether an answer keeps to a form (`checker`).

use crate::checker::Rule;
use crate::error::FormError;
use crate::preset;
use ifm_core::form::{FormSpec, unique_schema};
use ifm_core::regular::read_named;
use ifm_core::{Form, FormKind};
use ifm_workload::Forms;
use sha2::{Digest as _, Sha256};
use std::path::Path;

/// Maximum number of forms in a run.
const FORMS_MAX: usize = 64;
/// Maximum size of a form's file, bytes: far above any schema.
const FILE_BYTES_MAX: u64 = 4 << 20;
/// Maximum length of a schema name in OpenAI's API.
const NAME_LENGTH_MAX: usize = 64;

/// A requested form.
#[derive(Debug, Clone, PartialEq)]
pub struct Asked {
    /// As typed, without its share.
    word: String,
    form: Form,
    share: f64,
}

impl Asked {
    /// Reads all forms of a command. Forms without a share divide the remaining share equally.
    ///
    /// # Errors
    /// The first invalid form, and why.
    pub fn read(texts: &[String]) -> Result<Vec<Asked>, FormError> {
        let written: Vec<(Option<f64>, Asked)> =
            texts.iter().map(|text| read(text)).collect::<Result<_, _>>()?;
        if written.len() > FORMS_MAX {
            return Err(FormError::TooMany { max: FORMS_MAX });
        }
        let stated: f64 = written.iter().filter_map(|(share, _)| *share).sum();
        let open = written.iter().filter(|(share, _)| share.is_none()).count();
        // Shares are decimal fractions: their sum may differ in the last bit.
        let is_too_much = stated > 1.0 + 1e-9 || (open > 0 && stated > 1.0 - 1e-9);
        if is_too_much {
            return Err(FormError::Shares { sum: (stated * 1e6).round() / 1e6 });
        }
        let rest = (1.0 - stated) / open.max(1) as f64;
        let with_share =
            |(share, asked): (Option<f64>, Asked)| Asked { share: share.unwrap_or(rest), ..asked };
        Ok(written.into_iter().map(with_share).collect())
    }

    /// The forms with their draws.
    pub fn forms(asked: &[Asked], seed: u64) -> Forms {
        Forms::new(asked.iter().map(|asked| (asked.form.clone(), asked.share)).collect(), seed)
    }
}

/// The forms in the stored form of a run.
pub fn specs(asked: &[Asked], ignore_eos: bool) -> Vec<FormSpec> {
    let spec = |asked: &Asked| FormSpec {
        word: asked.word.clone(),
        kind: asked.form.kind,
        share: asked.share,
        text: FormSpec::stored_text(&asked.form.text).filter(|text| !text.is_empty()),
        bytes: asked.form.text.len() as u64,
        sha256: hex(&Sha256::digest(asked.form.text.as_bytes())),
        ignore_eos,
    };
    asked.iter().map(spec).collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn read(text: &str) -> Result<(Option<f64>, Asked), FormError> {
    let wrong = |reason: String| FormError::Invalid { text: text.to_owned(), reason };
    // An expression may contain an asterisk: a share comes before the kind.
    let head = text.split(':').next().unwrap_or(text);
    let (share, word) = match head.split_once('*') {
        None => (None, text),
        Some((number, _)) => {
            let share = number.trim().parse::<f64>().ok().filter(|it| *it > 0.0 && *it <= 1.0);
            let share =
                share.ok_or_else(|| wrong("a share is above 0 and at most 1".to_owned()))?;
            (Some(share), text.get(number.len() + 1..).unwrap_or_default())
        }
    };
    let word = word.trim();
    let (kind, what) = word.split_once(':').unwrap_or((word, ""));
    let form = form(kind.trim(), what).map_err(wrong)?;
    if let Err(reason) = Rule::of(&form) {
        return Err(wrong(reason));
    }
    Ok((share, Asked { word: word.to_owned(), form, share: 0.0 }))
}

fn form(kind: &str, what: &str) -> Result<Form, String> {
    let plain = |kind, text: &str| Form { kind, name: "form".to_owned(), text: text.to_owned() };
    match (kind, what) {
        ("json", "") => Ok(plain(FormKind::JsonObject, "")),
        ("json", file) => from_file(FormKind::Json, file),
        ("preset", name) => from_preset(FormKind::Json, name),
        ("json-unique", what) => {
            let form = match what.strip_prefix("preset:") {
                Some(name) => from_preset(FormKind::JsonUnique, name)?,
                None => from_file(FormKind::JsonUnique, what)?,
            };
            unique_schema(&form.text, 0, 0)?;
            Ok(form)
        }
        ("grammar", file) => from_file(FormKind::Grammar, file),
        ("regex" | "choice", "") => Err("nothing follows the colon".to_owned()),
        ("regex", pattern) => Ok(plain(FormKind::Regex, pattern)),
        ("choice", list) => Ok(plain(FormKind::Choice, list)),
        (other, _) => Err(format!("there is no form \"{other}\"")),
    }
}

fn from_preset(kind: FormKind, name: &str) -> Result<Form, String> {
    let text = preset::find(name)
        .ok_or_else(|| format!("there is no preset \"{name}\"; there are {}", preset::names()))?;
    Ok(Form { kind, name: name.to_owned(), text: text.to_owned() })
}

fn from_file(kind: FormKind, file: &str) -> Result<Form, String> {
    if file.is_empty() {
        return Err("it names no file".to_owned());
    }
    let path = Path::new(file);
    let bytes = read_named(path, FILE_BYTES_MAX).map_err(|error| format!("{file}: {error}"))?;
    let text = String::from_utf8(bytes).map_err(|error| {
        let place = error.utf8_error().valid_up_to();
        let before = error.as_bytes().get(..place).unwrap_or_default();
        let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
        format!("{file} is not UTF-8 text: line {line}, byte {place}")
    })?;
    if text.trim().is_empty() {
        return Err(format!("{file} is empty"));
    }
    let stem = path.file_stem().map(|stem| stem.to_string_lossy()).unwrap_or_default();
    let is_plain = |letter: &char| letter.is_ascii_alphanumeric() || "_-".contains(*letter);
    let name: String = stem.chars().filter(is_plain).take(NAME_LENGTH_MAX).collect();
    let name = if name.is_empty() { "form".to_owned() } else { name };
    Ok(Form { kind, name, text })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(texts: &[&str]) -> Result<Vec<Asked>, String> {
        let texts: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
        Asked::read(&texts).map_err(|error| error.to_string())
    }

    #[test]
    fn shares_stand_before_the_kind() {
        let found = asked(&["0.5*regex:a*0.3", "choice:yes,no", "json"]).unwrap();
        let read: Vec<_> =
            found.iter().map(|it| (it.word.as_str(), it.share, it.form.kind)).collect();
        assert_eq!(
            read,
            [
                ("regex:a*0.3", 0.5, FormKind::Regex),
                ("choice:yes,no", 0.25, FormKind::Choice),
                ("json", 0.25, FormKind::JsonObject),
            ]
        );
        assert_eq!(asked(&["0.25*json"]).unwrap()[0].share, 0.25);
        assert_eq!(found[0].form.text, "a*0.3");
    }

    #[test]
    fn mistakes_are_told_before_anything_is_sent() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            path.to_string_lossy().into_owned()
        };
        let (no_json, no_schema) = (file("a.json", "{"), file("b.json", r#"{"type":"objekt"}"#));
        let empty = file("c.json", " ");
        let prose = file("d.gbnf", "# a rule?\nplease answer yes\n");
        let open = file("e.gbnf", "root ::= a\na ::= \"yes | (b)\n");
        let no_text = file("f.json", "");
        std::fs::write(&no_text, b"{\n\xff}").unwrap();
        for (text, said) in [
            ("xml".to_owned(), "no form \"xml\""),
            ("2*json".to_owned(), "above 0 and at most 1"),
            ("json:/no/such/file".to_owned(), "/no/such/file"),
            (format!("json:{no_json}"), "not JSON"),
            (format!("json:{no_schema}"), "no JSON schema"),
            (format!("grammar:{empty}"), "is empty"),
            (
                format!("grammar:{no_json}"),
                "neither a grammar nor JSON: EOF while parsing an object at line 1",
            ),
            (format!("grammar:{no_schema}"), "which is not a grammar; for a schema use json:"),
            (format!("grammar:{prose}"), "line 2: \"please answer yes\" defines no rule"),
            (format!("grammar:{open}"), "line 2: the text that begins here does not end"),
            (format!("grammar:{no_text}"), "not UTF-8 text: line 2, byte 2"),
            (format!("json:{no_text}"), "not UTF-8 text: line 2, byte 2"),
            ("preset:nobody".to_owned(), "person, sentiment"),
            ("regex:(".to_owned(), "does not compile"),
            ("choice:, ,".to_owned(), "holds no text"),
            ("regex:".to_owned(), "nothing follows"),
            (format!("json-unique:{no_schema}"), "not a schema of an object"),
        ] {
            let error = asked(&[&text]).expect_err(&text);
            assert!(error.contains(said), "{text}: {error}");
        }
        assert!(asked(&["0.7*json", "0.6*json"]).is_err());
        assert!(asked(&["1*json", "json"]).is_err());
    }

    #[test]
    fn every_preset_is_a_schema_that_can_be_made_unique() {
        for (name, _) in preset::PRESETS {
            let found = asked(&[&format!("preset:{name}"), &format!("json-unique:preset:{name}")]);
            assert_eq!(found.map(|found| found.len()), Ok(2), "{name}");
        }
    }
}
