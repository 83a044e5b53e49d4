//! Results for programs: one JSON document, and one line per request.
//!
//! Units stand in the names of the fields (`_s`, `_ms`, `_per_s`). What is not known is left out;
//! it is never 0. Fields are only ever added within a major version. What is not here: the stored
//! format of a run.

mod document;
mod request;

pub use document::json;
pub use request::request_line;

use serde_json::{Map, Value};

/// Version of the document and of the request lines.
pub const SCHEMA_VERSION: &str = "1.0";

/// An object that leaves out what is not known.
#[derive(Default)]
pub(crate) struct Object(Map<String, Value>);

impl Object {
    pub(crate) fn set(&mut self, name: &str, value: impl Into<Value>) -> &mut Object {
        self.0.insert(name.to_owned(), value.into());
        self
    }

    pub(crate) fn set_known(&mut self, name: &str, value: Option<impl Into<Value>>) -> &mut Object {
        if let Some(value) = value {
            self.set(name, value);
        }
        self
    }

    pub(crate) fn take(&mut self) -> Value {
        Value::Object(std::mem::take(&mut self.0))
    }
}
