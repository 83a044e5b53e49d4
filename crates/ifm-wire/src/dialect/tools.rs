//! Tools that the model may call, and whether it has to, in the words of each API.
//!
//! A workload or a recorded trace has them in the format of chat completions, Responses or
//! messages: all three are read, and written in the format of the target API. Anything else, such
//! as one of the server's own tools, is passed through unchanged.
//!
//! Not here: calls and their results, which are parts of messages.

use serde_json::{Map, Value, json};
use std::borrow::Cow;

type Fields = Map<String, Value>;

const TOOLS: &str = "tools";
const CHOICE: &str = "tool_choice";
const PARALLEL: &str = "parallel_tool_calls";
const NO_PARALLEL: &str = "disable_parallel_tool_use";

/// Whose words an API uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Words {
    /// Chat completions: a function within a tool.
    Chat,
    /// Responses: a function is the tool.
    Responses,
    /// Messages: a name with the schema of its input.
    Messages,
}

/// A function that the model may call.
pub(super) struct Function<'tool> {
    pub(super) name: &'tool Value,
    pub(super) description: Option<&'tool Value>,
    /// JSON schema of its arguments.
    pub(super) parameters: Option<&'tool Value>,
    strict: Option<&'tool Value>,
    words: Words,
}

impl<'tool> Function<'tool> {
    /// The function that a tool is, in whichever words; absent for anything else.
    pub(super) fn of(tool: &'tool Value) -> Option<Function<'tool>> {
        let is_function = tool.get("type").is_some_and(|kind| kind == "function");
        let (holder, schema, words) = match tool.get("function") {
            Some(function) => (function, "parameters", Words::Chat),
            None if is_function => (tool, "parameters", Words::Responses),
            None => (tool, "input_schema", Words::Messages),
        };
        let told = |name: &str| holder.get(name).filter(|value| !value.is_null());
        let parameters = told(schema);
        // Tools of a server's own have a name too, but no schema.
        let is_known = words != Words::Messages || parameters.is_some();
        Some(Function {
            name: told("name").filter(|_| is_known)?,
            description: told("description"),
            parameters,
            strict: told("strict"),
            words,
        })
    }

    fn told(&self, words: Words) -> Value {
        let mut function = Map::from_iter([("name".to_owned(), self.name.clone())]);
        let mut set = |name: &str, value: Value| _ = function.insert(name.to_owned(), value);
        let strict = self.strict.cloned();
        self.description.into_iter().for_each(|about| set("description", about.clone()));
        match words {
            Words::Chat => {
                self.parameters.into_iter().for_each(|schema| set("parameters", schema.clone()));
                strict.into_iter().for_each(|strict| set("strict", strict));
                json!({"type": "function", "function": function})
            }
            Words::Responses => {
                set("type", "function".into());
                set("parameters", self.parameters.cloned().unwrap_or(Value::Null));
                // It has to be said: what is left open is strict here, and is not in the others.
                set("strict", strict.unwrap_or(Value::Bool(false)));
                function.into()
            }
            Words::Messages => {
                set("input_schema", object_schema(self.parameters));
                strict.into_iter().for_each(|strict| set("strict", strict));
                function.into()
            }
        }
    }
}

/// A schema as messages insist on it: of an object.
fn object_schema(parameters: Option<&Value>) -> Value {
    let mut schema = parameters.and_then(Value::as_object).cloned().unwrap_or_default();
    if schema.is_empty() {
        schema.insert("properties".to_owned(), json!({}));
    }
    schema.entry("type").or_insert_with(|| "object".into());
    schema.into()
}

/// What the model has to do.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Must<'choice> {
    /// Call a function or not.
    Choose,
    /// Call none.
    Refrain,
    /// Call one, whichever.
    Call,
    /// Call this one.
    CallThis(&'choice str),
}

impl<'choice> Must<'choice> {
    /// Reads a choice in whichever words; absent for one that only one API has.
    fn of(choice: &'choice Value) -> Option<Must<'choice>> {
        let word = choice.as_str().or_else(|| choice.get("type")?.as_str())?;
        let name = || choice.get("function").unwrap_or(choice).get("name")?.as_str();
        match word {
            "auto" => Some(Must::Choose),
            "none" => Some(Must::Refrain),
            "required" | "any" => Some(Must::Call),
            "function" | "tool" => name().map(Must::CallThis),
            _ => None,
        }
    }

    fn told(self, words: Words) -> Value {
        let word = match (self, words) {
            (Must::Choose, _) => "auto",
            (Must::Refrain, _) => "none",
            (Must::Call, Words::Messages) => "any",
            (Must::Call, _) => "required",
            (Must::CallThis(name), Words::Chat) => {
                return json!({"type": "function", "function": {"name": name}});
            }
            (Must::CallThis(name), Words::Responses) => {
                return json!({"type": "function", "name": name});
            }
            (Must::CallThis(name), Words::Messages) => {
                return json!({"type": "tool", "name": name});
            }
        };
        if words == Words::Messages { json!({"type": word}) } else { word.into() }
    }
}

/// Fields of one request with tools, choice and parallel calls in these words.
pub(super) fn told(words: Words, own: &Fields) -> Cow<'_, Fields> {
    let tools = own.get(TOOLS).and_then(Value::as_array);
    let is_foreign =
        |tool: &Value| Function::of(tool).is_some_and(|function| function.words != words);
    let tools = tools.filter(|tools| tools.iter().any(is_foreign)).map(|tools| {
        let one = |tool: &Value| match Function::of(tool) {
            Some(function) if function.words != words => function.told(words),
            _ => tool.clone(),
        };
        tools.iter().map(one).collect::<Value>()
    });
    let choice = choice(words, own);
    let is_parallel_foreign = words == Words::Messages && own.contains_key(PARALLEL);
    if tools.is_none() && choice.is_none() && !is_parallel_foreign {
        return Cow::Borrowed(own);
    }
    let mut all = own.clone();
    if is_parallel_foreign {
        all.remove(PARALLEL);
    }
    all.extend(tools.map(|tools| (TOOLS.to_owned(), tools)));
    all.extend(choice.into_iter().flatten());
    Cow::Owned(all)
}

/// The choice and its related fields, if it is written in another API's format.
fn choice(words: Words, own: &Fields) -> Option<Vec<(String, Value)>> {
    let choice = own.get(CHOICE);
    let must = choice.and_then(Must::of);
    let one_by_one = own.get(PARALLEL) == Some(&Value::Bool(false));
    if words == Words::Messages {
        // A choice in the API's own format may disable parallel calls.
        let is_own = choice.is_some_and(|choice| choice.get(NO_PARALLEL).is_some());
        // One by one is part of the choice, and there is nothing to choose without tools.
        let has_tools = own.get(TOOLS).is_some();
        let must = must.or((choice.is_none() && one_by_one && has_tools).then_some(Must::Choose));
        let mut told = must.filter(|_| !is_own)?.told(words);
        if one_by_one && must != Some(Must::Refrain) {
            told[NO_PARALLEL] = true.into();
        }
        return (Some(&told) != choice).then(|| vec![(CHOICE.to_owned(), told)]);
    }
    let told = must?.told(words);
    if Some(&told) == choice {
        return None;
    }
    let no_parallel = choice.and_then(|choice| choice.get(NO_PARALLEL));
    let parallel = (no_parallel == Some(&Value::Bool(true)))
        .then(|| (PARALLEL.to_owned(), Value::Bool(false)));
    Some(std::iter::once((CHOICE.to_owned(), told)).chain(parallel).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Words; 3] = [Words::Chat, Words::Responses, Words::Messages];

    fn told_of(words: Words, own: Value) -> Value {
        told(words, own.as_object().expect("an object")).into_owned().into()
    }

    /// One request in the words of each API, as its official client sends it.
    #[test]
    fn every_api_gets_its_own_words_whoever_wrote_them() {
        let schema = json!({"type": "object", "properties": {"in": {"type": "string"}}});
        let mut same = [
            json!({
                "tools": [{"type": "function", "function": {"name": "rain", "description": "d",
                    "parameters": schema, "strict": false}}],
                "tool_choice": {"type": "function", "function": {"name": "rain"}},
                "parallel_tool_calls": false,
            }),
            json!({
                "tools": [{"type": "function", "name": "rain", "description": "d",
                    "parameters": schema, "strict": false}],
                "tool_choice": {"type": "function", "name": "rain"},
                "parallel_tool_calls": false,
            }),
            json!({
                "tools": [{"name": "rain", "description": "d", "input_schema": schema,
                    "strict": false}],
                "tool_choice": {"type": "tool", "name": "rain", "disable_parallel_tool_use": true},
            }),
        ];
        for (from, own) in same.iter().enumerate() {
            for (words, expect) in ALL.into_iter().zip(&same) {
                let read = told(words, own.as_object().expect("an object"));
                assert_eq!(Value::from(read.clone().into_owned()), *expect, "{words:?} {own}");
                let is_own = words == ALL[from];
                assert_eq!(matches!(read, Cow::Borrowed(_)), is_own, "{words:?} {own}");
            }
        }
        // The same with a choice in a word.
        for (of_openai, of_anthropic) in [("auto", "auto"), ("none", "none"), ("required", "any")] {
            let choices = [json!(of_openai), json!(of_openai), json!({"type": of_anthropic})];
            for (own, choice) in same.iter_mut().zip(choices) {
                own["tool_choice"] = choice;
                own.as_object_mut().expect("an object").remove("parallel_tool_calls");
            }
            for own in &same {
                for (words, expect) in ALL.into_iter().zip(&same) {
                    assert_eq!(told_of(words, own.clone()), *expect, "{words:?}");
                }
            }
        }
    }

    #[test]
    fn what_is_left_open_is_said_where_an_api_insists() {
        let own = json!({"tools": [{"type": "function", "function": {"name": "ls"}}],
            "parallel_tool_calls": false, "top_k": 3});
        assert_eq!(
            told_of(Words::Messages, own.clone()),
            json!({"tools": [{"name": "ls", "input_schema": {"type": "object", "properties": {}}}],
                "tool_choice": {"type": "auto", "disable_parallel_tool_use": true}, "top_k": 3})
        );
        assert_eq!(
            told_of(Words::Responses, own),
            json!({"tools": [{"type": "function", "name": "ls", "parameters": null,
                "strict": false}], "parallel_tool_calls": false, "top_k": 3})
        );
    }

    #[test]
    fn what_only_one_api_has_stays_as_it_is() {
        let own = json!({"tools": [{"type": "web_search_20250305", "name": "web_search"},
            {"type": "mcp", "server_label": "x"}], "tool_choice": {"type": "allowed_tools"}});
        for words in ALL {
            assert_eq!(told_of(words, own.clone()), own);
            assert_eq!(told_of(words, json!({"top_k": 3})), json!({"top_k": 3}));
        }
        let alone = json!({"parallel_tool_calls": false});
        assert_eq!(told_of(Words::Messages, alone.clone()), json!({}), "there are no tools");
        assert_eq!(told_of(Words::Chat, alone.clone()), alone);
    }
}
