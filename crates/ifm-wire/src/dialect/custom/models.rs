//! The list of models of an API described by a file: its endpoint and its contents.
//!
//! Not here: asking (whoever has a socket).

use super::form::{self, KEY_IN_PATH, may_hold_key};
use serde_json::Value;

/// Where a list of models is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelList {
    /// Path below the base URL of the server, a version at its end left out.
    pub path: String,
    list: String,
    name: String,
    prefix: String,
    context_tokens: Option<String>,
}

impl ModelList {
    /// Takes what the file says.
    ///
    /// # Errors
    /// The key that is wrong, and why.
    pub(super) fn of(form: &form::Models) -> Result<ModelList, (&'static str, String)> {
        let is_path =
            form.path.starts_with('/') && form.path.bytes().all(|it| it.is_ascii_graphic());
        if !is_path {
            let why = format!("\"{}\" is no path: it begins with a slash", form.path);
            return Err(("path", why));
        }
        if may_hold_key(&form.path) {
            return Err(("path", KEY_IN_PATH.to_owned()));
        }
        let context = form.context_tokens.as_deref().unwrap_or("/");
        let places = [("list", &*form.list), ("name", &*form.name), ("context_tokens", context)];
        for (key, place) in places {
            if !place.starts_with('/') || place.contains('*') {
                let why =
                    format!("\"{place}\" is no place here: write it as \"/data\", without a star");
                return Err((key, why));
            }
        }
        Ok(ModelList {
            path: form.path.clone(),
            list: form.list.clone(),
            name: form.name.clone(),
            prefix: form.prefix.clone(),
            context_tokens: form.context_tokens.clone(),
        })
    }

    /// Names of the models in an answer, and how many tokens a request to each may hold; nothing where
    /// the answer has no such list.
    pub fn read(&self, answer: &Value) -> Option<Vec<(String, Option<u32>)>> {
        let list = answer.pointer(&self.list)?.as_array()?;
        let of = |model: &Value| {
            let name = model.pointer(&self.name)?.as_str()?;
            let name = name.strip_prefix(&self.prefix).unwrap_or(name).to_owned();
            let context = self.context_tokens.as_ref().and_then(|place| model.pointer(place));
            let context = context.and_then(Value::as_u64).and_then(|it| u32::try_from(it).ok());
            Some((name, context))
        };
        Some(list.iter().filter_map(of).collect())
    }
}
