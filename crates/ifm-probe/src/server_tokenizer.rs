//! The server's own tokenizer, if it has an endpoint for it: how many tokens a text has, without a
//! request that generates any.
//!
//! vLLM and SGLang accept `prompt`, llama.cpp accepts `content`, and TGI accepts `inputs`. The
//! answer is an object with `count` or with the list `tokens`, or (TGI) the list itself.

use crate::traced_client::Caller;
use serde_json::{Map, Value};
use std::time::Duration;

/// Path of the endpoint, from the server's root.
const PATH: &str = "/tokenize";

/// How to ask a server for the number of tokens of a text.
#[derive(Debug, Clone)]
pub struct ServerTokenizer {
    model: String,
    /// Names of the field with the text. A server of unknown kind gets all of them, and reads its
    /// own.
    fields: &'static [&'static str],
}

impl ServerTokenizer {
    /// For this kind of server, as identified.
    pub fn of(kind: Option<&str>, model: &str) -> ServerTokenizer {
        let fields: &[&str] = match kind {
            Some("vLLM" | "SGLang") => &["prompt"],
            Some("llama.cpp") => &["content"],
            Some("TGI") => &["inputs"],
            _ => &["prompt", "content", "inputs"],
        };
        ServerTokenizer { model: model.to_owned(), fields }
    }

    /// Tokens of a text, including those that the tokenizer adds around every text. `None` if the
    /// server has no such endpoint.
    pub fn count(&self, caller: &mut Caller, text: &str, limit: Duration) -> Option<u32> {
        let answer = self.ask(caller, text, limit)?;
        let list =
            || answer.get("tokens").unwrap_or(&answer).as_array().map(|list| list.len() as u64);
        u32::try_from(answer.get("count").and_then(Value::as_u64).or_else(list)?).ok()
    }

    /// The IDs of a text's tokens. `None` if the server does not report them.
    pub fn ids(&self, caller: &mut Caller, text: &str, limit: Duration) -> Option<Vec<u32>> {
        let answer = self.ask(caller, text, limit)?;
        let list = answer.get("tokens").unwrap_or(&answer).as_array()?;
        let id = |token: &Value| token.get("id").unwrap_or(token).as_u64()?.try_into().ok();
        list.iter().map(id).collect()
    }

    fn ask(&self, caller: &mut Caller, text: &str, limit: Duration) -> Option<Value> {
        let mut body = Map::new();
        body.insert("model".to_owned(), self.model.as_str().into());
        self.fields.iter().for_each(|name| drop(body.insert((*name).to_owned(), text.into())));
        let reply = caller.post(PATH, &Value::Object(body), limit);
        serde_json::from_slice(&reply.body()).ok().filter(|_| reply.is_success())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Said, server};
    use serde_json::json;

    #[test]
    fn each_kind_is_asked_in_its_own_words_and_understood() {
        const LIMIT: Duration = Duration::from_secs(20);
        for (kind, asked, answer, count) in [
            (
                "vLLM",
                "prompt",
                json!({"count": 3, "max_model_len": 9, "tokens": [1, 2, 3]}),
                Some(3),
            ),
            ("SGLang", "prompt", json!({"tokens": [1, 2], "count": 2}), Some(2)),
            ("llama.cpp", "content", json!({"tokens": [1, 2, 3, 4]}), Some(4)),
            ("TGI", "inputs", json!([{"id": 1, "text": "a", "start": 0, "stop": 1}]), Some(1)),
            ("Ollama", "content", json!({"tokens": []}), Some(0)),
            ("Ollama", "content", json!({"ok": true}), None),
        ] {
            let endpoint = server(move |request| {
                assert_eq!((request.method.as_str(), request.path.as_str()), ("POST", "/tokenize"));
                assert_eq!(
                    (&request.body["model"], &request.body[asked]),
                    (&json!("m"), &json!("a b"))
                );
                Said::Json(200, answer.clone())
            });
            let tokenizer = ServerTokenizer::of(Some(kind), "m");
            assert_eq!(tokenizer.count(&mut Caller::new(endpoint), "a b", LIMIT), count, "{kind}");
        }
        for (answer, ids) in [
            (json!({"count": 2, "tokens": [5, 6]}), Some(vec![5, 6])),
            (json!([{"id": 7, "text": "a", "start": 0, "stop": 1}]), Some(vec![7])),
            (json!({"count": 2}), None),
            (json!({"tokens": ["a"]}), None),
        ] {
            let endpoint = server(move |_| Said::Json(200, answer.clone()));
            let tokenizer = ServerTokenizer::of(None, "m");
            assert_eq!(tokenizer.ids(&mut Caller::new(endpoint), "a", LIMIT), ids);
        }
        let endpoint = server(|_| Said::Json(404, json!({"tokens": [1]})));
        let tokenizer = ServerTokenizer::of(None, "m");
        assert_eq!(tokenizer.count(&mut Caller::new(endpoint), "a", LIMIT), None);
    }
}
