//! Answers of a form: what a request asks for, a text of that form, and its way into an answer.
//!
//! The backend makes as many tokens as the text has, at its own speed, and the text takes their
//! place: so a form costs what its answer's length costs, and what a server is told to take for a
//! grammar. A grammar is not read, and asking for one is refused.
//!
//! Not here: how a text is made (`pattern`, `schema`).

mod pattern;
mod schema;

use std::{
    collections::VecDeque,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use ifm_engine::FinishReason;
use ifm_kernels::RandomStream;
use serde_json::{Value, json};

use crate::{error::ApiError, event::Event, fields::Fields};

/// What makes a text of any form another one.
const BROKEN: &str = " (broken on demand)";

/// The form that an answer is to have.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Form {
    /// A JSON schema.
    Schema(Value),
    /// A regular expression, as a whole.
    Regex(String),
    /// One of these texts.
    Choice(Vec<String>),
}

impl Form {
    /// The form that a request asks for: in OpenAI's words or in those of vLLM.
    pub(crate) fn read(fields: &Fields) -> Result<Option<Form>, ApiError> {
        let ours = fields.value("structured_outputs").map(of_vllm).transpose()?;
        let theirs = match fields.value("response_format") {
            Some(format) => of_openai(format)?,
            None => None,
        };
        let form = ours.or(theirs);
        if let Some(form) = &form {
            // What cannot be made is told before anything is.
            form.text(0)?;
        }
        Ok(form)
    }

    /// A text of the form: the same for the same seed.
    pub(crate) fn text(&self, seed: u64) -> Result<String, ApiError> {
        let mut draws = RandomStream::new(seed, "form");
        let made = match self {
            Form::Schema(schema) => schema::text(schema, &mut draws),
            Form::Regex(pattern) => pattern::text(pattern, &mut draws),
            Form::Choice(choices) => {
                choices.get(below(&mut draws, choices.len())).cloned().ok_or("it is empty".into())
            }
        };
        made.map_err(|reason| {
            ApiError::field(self.field(), format!("The form cannot be used here: {reason}."))
        })
    }

    fn field(&self) -> &'static str {
        match self {
            Form::Schema(_) => "response_format",
            Form::Regex(_) | Form::Choice(_) => "structured_outputs",
        }
    }

    /// What a grammar of it would be kept under.
    fn name(&self) -> String {
        match self {
            Form::Schema(schema) => schema.to_string(),
            Form::Regex(pattern) => pattern.clone(),
            Form::Choice(choices) => choices.join("\n"),
        }
    }
}

fn of_vllm(value: &Value) -> Result<Form, ApiError> {
    let error = |text: &str| Err(ApiError::field("structured_outputs", text));
    let choices = |list: &Vec<Value>| -> Option<Vec<String>> {
        list.iter().map(|choice| choice.as_str().map(str::to_owned)).collect()
    };
    match (&value["json"], &value["regex"], &value["choice"], &value["json_object"]) {
        (schema @ Value::Object(_), _, _, _) => Ok(Form::Schema(schema.clone())),
        (_, Value::String(pattern), _, _) => Ok(Form::Regex(pattern.clone())),
        (_, _, Value::Array(list), _) => match choices(list) {
            Some(choices) => Ok(Form::Choice(choices)),
            None => error("`structured_outputs.choice` must be a list of strings."),
        },
        (_, _, _, Value::Bool(true)) => Ok(any_object()),
        _ => error("`structured_outputs` must have json, json_object, regex or choice here."),
    }
}

fn of_openai(format: &Value) -> Result<Option<Form>, ApiError> {
    match format["type"].as_str() {
        Some("text") => Ok(None),
        Some("json_object") => Ok(Some(any_object())),
        Some("json_schema") => match &format["json_schema"]["schema"] {
            schema @ Value::Object(_) => Ok(Some(Form::Schema(schema.clone()))),
            _ => Err(ApiError::field(
                "response_format",
                "`response_format.json_schema.schema` must be an object.",
            )),
        },
        _ => Err(ApiError::field(
            "response_format",
            "`response_format.type` must be text, json_object or json_schema.",
        )),
    }
}

fn any_object() -> Form {
    Form::Schema(json!({"type": "object"}))
}

/// A whole number below a bound; 0 where that is 0.
fn below(draws: &mut RandomStream, bound: usize) -> usize {
    ((u128::from(draws.next_word()) * bound as u128) >> 64) as usize
}

/// The text of an answer, in as many pieces as it has tokens.
#[derive(Debug)]
pub(crate) struct Script {
    pieces: VecDeque<String>,
}

impl Script {
    /// A text in so many pieces of about the same length.
    pub(crate) fn new(text: &str, tokens: usize) -> Self {
        let letters: Vec<char> = text.chars().collect();
        let tokens = tokens.max(1);
        let end = |piece: usize| letters.len() * piece / tokens;
        let piece = |number: usize| letters.get(end(number)..end(number + 1));
        Self {
            pieces: (0..tokens).map(|it| piece(it).unwrap_or_default().iter().collect()).collect(),
        }
    }

    /// Puts the text into an event of the backend. Behind its end nothing more is said.
    pub(crate) fn rewrite(&mut self, event: Event) -> Event {
        let Event::Piece(mut piece) = event else { return event };
        let said = self.pieces.len().min(piece.tokens);
        piece.text = self.pieces.drain(..said).collect();
        if let Some(finish) = &mut piece.finish {
            // A text that is over when its tokens are ended by itself.
            let is_over = self.pieces.is_empty() && said == piece.tokens;
            finish.reason = if is_over { FinishReason::Stop } else { FinishReason::Length };
        }
        Event::Piece(piece)
    }
}

/// Breaks a text, so that it has its form no more.
pub(crate) fn broken(text: &str) -> String {
    format!("{text}{BROKEN}")
}

/// The grammars of a server, by the clock.
#[derive(Debug)]
pub(crate) struct Grammars {
    began: Instant,
    all: Mutex<ifm_sim::Grammars<String>>,
}

impl Grammars {
    /// Grammars that take so long each.
    pub(crate) fn new(takes: Duration) -> Self {
        let takes_ns = u64::try_from(takes.as_nanos()).unwrap_or(u64::MAX);
        Self { began: Instant::now(), all: Mutex::new(ifm_sim::Grammars::new(takes_ns)) }
    }

    /// How long a request waits for its grammar.
    pub(crate) fn wait(&self, form: &Form, now: Instant) -> Duration {
        let now_ns = now.saturating_duration_since(self.began).as_nanos() as u64;
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        Duration::from_nanos(all.wait_ns(Some(form.name()), now_ns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Finish, Piece};

    fn read(json: &str) -> Result<Option<Form>, String> {
        Form::read(&Fields::parse(json.as_bytes()).expect("an object"))
            .map_err(|error| error.to_json()["error"]["message"].to_string())
    }

    #[test]
    fn forms_are_read_in_the_words_of_both() {
        let schema = |json: Value| Ok(Some(Form::Schema(json)));
        assert_eq!(read(r#"{"response_format": {"type": "text"}}"#), Ok(None));
        assert_eq!(
            read(r#"{"response_format": {"type": "json_object"}}"#),
            schema(json!({"type": "object"}))
        );
        assert_eq!(
            read(
                r#"{"response_format": {"type": "json_schema", "json_schema":
                {"name": "f", "schema": {"type": "null"}}}}"#
            ),
            schema(json!({"type": "null"}))
        );
        assert_eq!(
            read(r#"{"structured_outputs": {"json": {"type": "null"}}}"#),
            schema(json!({"type": "null"}))
        );
        assert_eq!(
            read(r#"{"structured_outputs": {"regex": "a+"}}"#),
            Ok(Some(Form::Regex("a+".to_owned())))
        );
        assert_eq!(
            read(r#"{"structured_outputs": {"choice": ["a", "b"]}}"#),
            Ok(Some(Form::Choice(vec!["a".to_owned(), "b".to_owned()])))
        );
        for (wrong, word) in [
            (r#"{"response_format": {"type": "xml"}}"#, "response_format"),
            (r#"{"response_format": {"type": "json_schema"}}"#, "schema"),
            (r#"{"structured_outputs": {"grammar": "root ::= x"}}"#, "json_object"),
            (r#"{"structured_outputs": {"choice": [1]}}"#, "strings"),
            (r#"{"structured_outputs": {"choice": []}}"#, "empty"),
            (r#"{"structured_outputs": {"regex": "("}}"#, "cannot be used"),
            (r#"{"structured_outputs": {"json": {"type": "objekt"}}}"#, "objekt"),
        ] {
            let error = read(wrong).expect_err(wrong);
            assert!(error.contains(word), "{wrong}: {error}");
        }
    }

    #[test]
    fn a_text_takes_the_place_of_the_tokens() {
        let mut script = Script::new("{\"é\":1}", 3);
        let piece = |tokens, finish: bool| {
            let finish = finish.then_some(Finish {
                reason: FinishReason::Length,
                prompt_tokens: 1,
                completion_tokens: 3,
                cached_tokens: None,
                times: None,
            });
            Event::Piece(Piece { text: "word".to_owned(), tokens, due: None, finish })
        };
        let mut said = String::new();
        for event in [piece(1, false), piece(2, true)] {
            let Event::Piece(piece) = script.rewrite(event) else { panic!("a piece") };
            said.push_str(&piece.text);
            if let Some(finish) = piece.finish {
                assert_eq!(finish.reason, FinishReason::Stop);
            }
        }
        assert_eq!(said, "{\"é\":1}");
        // One token less than the text has, and one more.
        for tokens in [2, 4] {
            let Event::Piece(cut) = Script::new("abc", 3).rewrite(piece(tokens, true)) else {
                panic!("a piece")
            };
            assert_eq!(cut.finish.map(|finish| finish.reason), Some(FinishReason::Length));
        }
    }

    #[test]
    fn the_first_of_each_form_waits_for_its_grammar() {
        let grammars = Grammars::new(Duration::from_millis(500));
        let now = Instant::now();
        let (one, other) = (Form::Regex("a".to_owned()), Form::Regex("b".to_owned()));
        assert_eq!(grammars.wait(&one, now), Duration::from_millis(500));
        let later = now + Duration::from_millis(200);
        assert_eq!(grammars.wait(&one, later), Duration::from_millis(300));
        assert_eq!(grammars.wait(&other, later), Duration::from_millis(500));
        assert_eq!(grammars.wait(&one, now + Duration::from_secs(9)), Duration::ZERO);
    }
}
