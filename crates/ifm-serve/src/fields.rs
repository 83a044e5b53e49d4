//! The fields of a request's JSON object, with an error that names the field.
//!
//! Unknown fields are ignored, as every server of this API does: clients send each
//! other's extensions. A field that is `null` is as good as missing.
//!
//! Not here: what the fields mean (`params`).

use serde_json::{Map, Value};

use crate::error::ApiError;

/// The object of a request.
#[derive(Debug)]
pub(crate) struct Fields {
    object: Map<String, Value>,
}

impl Fields {
    pub(crate) fn parse(body: &[u8]) -> Result<Self, ApiError> {
        match serde_json::from_slice(body) {
            Ok(Value::Object(object)) => Ok(Self { object }),
            Ok(_) => Err(ApiError::invalid("The body is not a JSON object.")),
            Err(error) => Err(ApiError::invalid(format!("The body is not valid JSON: {error}."))),
        }
    }

    /// Fields that were put together.
    pub(crate) fn of(object: Map<String, Value>) -> Self {
        Self { object }
    }

    /// All of them.
    pub(crate) fn into_map(self) -> Map<String, Value> {
        self.object
    }

    /// A value that is there and not null.
    pub(crate) fn value(&self, name: &str) -> Option<&Value> {
        self.object.get(name).filter(|value| !value.is_null())
    }

    fn typed<'a, T>(
        &'a self,
        name: &str,
        expected: &str,
        convert: impl FnOnce(&'a Value) -> Option<T>,
    ) -> Result<Option<T>, ApiError> {
        self.value(name)
            .map(|value| {
                convert(value)
                    .ok_or_else(|| ApiError::field(name, format!("`{name}` must be {expected}.")))
            })
            .transpose()
    }

    pub(crate) fn text(&self, name: &str) -> Result<Option<&str>, ApiError> {
        self.typed(name, "a string", Value::as_str)
    }

    pub(crate) fn flag(&self, name: &str) -> Result<bool, ApiError> {
        Ok(self.typed(name, "true or false", Value::as_bool)?.unwrap_or(false))
    }

    pub(crate) fn number(&self, name: &str) -> Result<Option<f64>, ApiError> {
        self.typed(name, "a number", Value::as_f64)
    }

    /// A whole number from 0 up.
    pub(crate) fn count(&self, name: &str) -> Result<Option<usize>, ApiError> {
        self.typed(name, "a whole number from 0 up", |value| usize::try_from(value.as_u64()?).ok())
    }

    /// A whole number, negative ones by their bits.
    pub(crate) fn seed(&self, name: &str) -> Result<Option<u64>, ApiError> {
        self.typed(name, "a whole number", |value| {
            value.as_u64().or_else(|| value.as_i64().map(i64::cast_unsigned))
        })
    }

    pub(crate) fn object(&self, name: &str) -> Result<Option<Self>, ApiError> {
        self.typed(name, "an object", |value| {
            value.as_object().map(|object| Self { object: object.clone() })
        })
    }

    pub(crate) fn list(&self, name: &str) -> Result<Option<&[Value]>, ApiError> {
        self.typed(name, "a list", |value| value.as_array().map(Vec::as_slice))
    }

    /// Refuses fields that change the answer in ways that this server has not, unless
    /// they say what it does anyway.
    pub(crate) fn refuse(
        &self,
        name: &str,
        harmless: impl FnOnce(&Value) -> bool,
    ) -> Result<(), ApiError> {
        match self.value(name) {
            Some(value) if !harmless(value) => {
                Err(ApiError::field(name, format!("`{name}` = {value} is not supported here.")))
            }
            _ => Ok(()),
        }
    }
}

/// Token ids in a list, or `None` when an entry is not an id.
pub(crate) fn token_ids(values: &[Value]) -> Option<Vec<u32>> {
    values.iter().map(|value| u32::try_from(value.as_u64()?).ok()).collect()
}
