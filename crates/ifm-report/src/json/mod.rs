//! Results for programs: one JSON document, one line per request, one line per session.
//!
//! Field names contain the units (`_s`, `_ms`, `_per_s`). Unknown values are left out; they are
//! never 0. Fields are only ever added within a major version. A document is a type, and its
//! published schema follows from the type. What is not here: the stored format of a run.

mod answers;
mod document;
mod forms;
mod level;
mod load;
mod media;
mod metrics;
mod part;
mod request;
mod session;

pub use document::{ResultDocument, json};
pub use request::{RequestLine, request_line};
pub use session::{SessionLine, session_line};

use serde::Serialize;
use serde_json::{Map, Value};

/// Version of the document and of the request lines.
pub const SCHEMA_VERSION: &str = "1.0";

/// Declares objects of JSON documents, one line per field: its name, its type, and the value that it
/// has. The comments are the descriptions of the schema. Fields that are not known are left out.
///
/// ```text
/// objects! {
///     /// Answers inside the target.
///     Goodput of goodput: &analysis::Goodput {
///         /// Inside.
///         good: u64 = goodput.good,
///         /// Share inside.
///         attainment: Option<f64> = goodput.attainment(),
///     }
/// }
/// ```
macro_rules! objects {
    ($(
        $(#[$about:meta])*
        $object:ident of $from:ident: $source:ty {
            $($(#[$field_about:meta])* $field:ident: $kind:ty = $value:expr,)*
        }
    )*) => {$(
        #[derive(serde::Serialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[cfg_attr(feature = "schema", schemars(transform = crate::schema::leave_out_unknown))]
        $(#[$about])*
        pub struct $object {
            $($(#[$field_about])* $field: $kind,)*
        }

        impl From<$source> for $object {
            fn from($from: $source) -> $object {
                $object { $($field: $value,)* }
            }
        }
    )*};
}
pub(crate) use objects;

/// A document as indented text, with a line break at its end.
pub(crate) fn text(document: &impl Serialize) -> String {
    // Documents have text keys only, and numbers always serialize: this does not fail.
    let mut text = serde_json::to_string_pretty(document).unwrap_or_default();
    text.push('\n');
    text
}

/// A value without the fields that are not known.
pub(crate) fn known(value: &impl Serialize) -> Value {
    let mut value = serde_json::to_value(value).unwrap_or(Value::Null);
    drop_nulls(&mut value);
    value
}

/// A value of the run's own types as an object, without the fields that are not known.
pub(crate) fn known_object(value: &impl Serialize) -> Map<String, Value> {
    match known(value) {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}

fn drop_nulls(value: &mut Value) {
    match value {
        Value::Object(map) => {
            map.retain(|_, value| !value.is_null());
            map.values_mut().for_each(drop_nulls);
        }
        Value::Array(list) => list.iter_mut().for_each(drop_nulls),
        _ => {}
    }
}

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
