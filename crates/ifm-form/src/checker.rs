//! Whether an answer keeps to its form.
//!
//! A schema is compiled once, and an answer is read once. Schemas that differ per request are
//! compiled for each.
//!
//! Not here: which part of an answer is its text, and whether it was cut off (`ifm-drive`).

use super::grammar::{self, Grammar};
use super::recognise::recognises;
use boon::{CompileError, Compiler, Draft, SchemaIndex, Schemas};
use ifm_core::{Form, FormKind, RequestRecord, Validity, form_key};
use ifm_workload::Forms;
use regex::Regex;
use serde_json::Value;

/// The name of a schema inside its own compiler; nothing is ever loaded from it.
const PLACE: &str = "form.json";

/// What an answer is checked against.
pub(super) enum Rule {
    Object,
    Schema(Box<(Schemas, SchemaIndex)>),
    /// Compiled for each request, from the form of the run.
    OfRequest,
    Regex(Regex),
    Choice(Vec<String>),
    Grammar(Box<Grammar>),
    /// What cannot be checked here.
    Open,
}

impl Rule {
    /// The rule of a form.
    ///
    /// # Errors
    /// Why the form is invalid.
    pub(super) fn of(form: &Form) -> Result<Rule, String> {
        Ok(match form.kind {
            FormKind::JsonObject => Rule::Object,
            FormKind::Json => compiled(&form.text)?,
            FormKind::JsonUnique => {
                compiled(&form.text)?;
                Rule::OfRequest
            }
            FormKind::Grammar => match grammar::read(&form.text)? {
                Some(grammar) => Rule::Grammar(Box::new(grammar)),
                None => Rule::Open,
            },
            FormKind::Choice => {
                let choices: Vec<String> = form.choices().map(str::to_owned).collect();
                match choices.is_empty() {
                    true => return Err("the choice holds no text".to_owned()),
                    false => Rule::Choice(choices),
                }
            }
            FormKind::Regex => match Regex::new(&format!("^(?:{})$", form.text)) {
                Ok(regex) => Rule::Regex(regex),
                // Servers may support syntax that a linear-time engine does not: it is sent, and
                // not checked.
                Err(_) if looks_around(&form.text) => Rule::Open,
                Err(error) => return Err(format!("the expression does not compile: {error}")),
            },
        })
    }

    fn judge(&self, answer: &str) -> Validity {
        let is_valid = match self {
            Rule::Open | Rule::OfRequest => return Validity::Unchecked,
            Rule::Object => json(answer).is_some_and(|value| value.is_object()),
            Rule::Schema(schema) => {
                let (schemas, index) = &**schema;
                json(answer).is_some_and(|value| schemas.validate(&value, *index).is_ok())
            }
            Rule::Regex(regex) => regex.is_match(answer),
            Rule::Choice(choices) => choices.iter().any(|choice| choice == answer),
            Rule::Grammar(grammar) => match recognises(grammar, answer) {
                Some(is_valid) => is_valid,
                None => return Validity::Unchecked,
            },
        };
        if is_valid { Validity::Valid } else { Validity::Invalid }
    }
}

fn json(text: &str) -> Option<Value> {
    serde_json::from_str(text).ok()
}

/// Whether an expression uses lookaround or backreferences, which no linear-time engine supports.
fn looks_around(pattern: &str) -> bool {
    let back = (b'1'..=b'9').any(|digit| pattern.contains(&format!("\\{}", char::from(digit))));
    back || ["(?=", "(?!", "(?<=", "(?<!"].iter().any(|part| pattern.contains(part))
}

fn compiled(text: &str) -> Result<Rule, String> {
    let schema: Value =
        serde_json::from_str(text).map_err(|error| format!("the schema is not JSON: {error}"))?;
    let mut schemas = Schemas::new();
    let mut compiler = Compiler::new();
    compiler.set_default_draft(Draft::V2020_12);
    // Without a loader: a reference to another file or to the network is an error.
    compiler.use_loader(Box::new(Nothing));
    let why = |error: CompileError| {
        let text = format!("{error:#}");
        let lines = text.lines().map(|it| it.trim().trim_start_matches("- "));
        // The first lines say that the schema violates the meta-schema, and name both with internal
        // URLs; the reasons follow.
        let reasons: Vec<&str> = lines.clone().filter(|line| line.starts_with("at '")).collect();
        let said = if reasons.is_empty() { lines.collect() } else { reasons };
        format!("it is no JSON schema: {}", said.join("; ").replace(PLACE, ""))
    };
    compiler.add_resource(PLACE, schema).map_err(why)?;
    let index = compiler.compile(PLACE, &mut schemas).map_err(why)?;
    Ok(Rule::Schema(Box::new((schemas, index))))
}

/// Loads nothing.
struct Nothing;

impl boon::UrlLoader for Nothing {
    fn load(&self, url: &str) -> Result<Value, Box<dyn std::error::Error>> {
        Err(format!("{url} is external: a schema must contain everything that it refers to").into())
    }
}

/// Judges the answers of a run.
pub struct Checker {
    forms: Forms,
    rules: Vec<Rule>,
}

impl Checker {
    /// For the forms of a run, which were validated when they were read.
    pub fn new(forms: &Forms) -> Checker {
        let rules = forms.iter().map(|form| Rule::of(form).unwrap_or(Rule::Open)).collect();
        Checker { forms: forms.clone(), rules }
    }

    /// Whether an answer keeps to the form of its request; absent if it has none.
    pub fn judge(&self, record: &RequestRecord, answer: &str) -> Option<Validity> {
        let index = record.form?;
        let rule = self.rules.get(usize::from(index))?;
        let Rule::OfRequest = rule else { return Some(rule.judge(answer)) };
        let key = form_key(record.item, record.agent, record.turn);
        let own = self.forms.get(index)?.of_request(self.forms.seed(), key);
        Some(compiled(&own.text).map_or(Validity::Unchecked, |rule| rule.judge(answer)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form(kind: FormKind, text: &str) -> Form {
        Form { kind, name: "f".to_owned(), text: text.to_owned() }
    }

    fn judged(kind: FormKind, text: &str, answer: &str) -> Validity {
        Rule::of(&form(kind, text)).expect(text).judge(answer)
    }

    #[test]
    fn answers_are_held_against_their_form() {
        use Validity::{Invalid, Unchecked, Valid};
        let schema = r#"{"type":"object","properties":{"n":{"type":"integer","minimum":1}},
            "required":["n"],"additionalProperties":false}"#;
        for (kind, text, answer, validity) in [
            (FormKind::Json, schema, r#" {"n": 5}"#, Valid),
            (FormKind::Json, schema, r#"{"n": 0}"#, Invalid),
            (FormKind::Json, schema, r#"{"n": 5, "m": 1}"#, Invalid),
            (FormKind::Json, schema, r#"{"n": 5} and so on"#, Invalid),
            (FormKind::Json, schema, r#"{"n": 5"#, Invalid),
            (FormKind::JsonObject, "", "{}", Valid),
            (FormKind::JsonObject, "", "[]", Invalid),
            (FormKind::Regex, "a|b+", "bb", Valid),
            (FormKind::Regex, "a|b+", "ab", Invalid),
            (FormKind::Regex, "(?=a).*", "b", Unchecked),
            (FormKind::Choice, "yes, no", "no", Valid),
            (FormKind::Choice, "yes, no", "no.", Invalid),
            (FormKind::Grammar, "root ::= \"a\"", "a", Valid),
            (FormKind::Grammar, "root ::= \"a\"", "b", Invalid),
            (FormKind::Grammar, "start: \"a\"", "b", Unchecked),
        ] {
            assert_eq!(judged(kind, text, answer), validity, "{text} {answer}");
        }
        assert!(Rule::of(&form(FormKind::Grammar, "root ::= b")).is_err());
        assert!(Rule::of(&form(FormKind::Json, r#"{"$ref":"http://h/a.json"}"#)).is_err());
    }

    #[test]
    fn a_schema_of_one_request_is_met_by_its_own_answer_alone() {
        let schema = r#"{"type":"object","properties":{},"additionalProperties":false}"#;
        let forms = Forms::new(vec![(form(FormKind::JsonUnique, schema), 1.0)], 3);
        let checker = Checker::new(&forms);
        let answer = |item| {
            let own = forms.get(0).unwrap().of_request(3, form_key(item, None, None));
            let own: Value = serde_json::from_str(&own.text).unwrap();
            format!("{{\"request\":{}}}", own["properties"]["request"]["enum"][0])
        };
        let record = |item| RequestRecord { item, form: Some(0), ..RequestRecord::blank() };
        assert_eq!(checker.judge(&record(1), &answer(1)), Some(Validity::Valid));
        assert_eq!(checker.judge(&record(2), &answer(1)), Some(Validity::Invalid));
        assert_eq!(checker.judge(&RequestRecord::blank(), "x"), None);
    }
}
