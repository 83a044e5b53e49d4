//! The schema of a type whose stored words do not follow from its names.

use crate::spec::Api;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use std::borrow::Cow;

impl JsonSchema for Api {
    fn schema_name() -> Cow<'static, str> {
        "Api".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let words: Vec<&str> = Api::ALL.into_iter().map(Api::word).collect();
        json_schema!({
            "description": "Which API of the server carries the load.",
            "type": "string",
            "anyOf": [
                {"enum": words},
                {
                    "description": "An API that a file describes, by the first bytes of its SHA-256.",
                    "pattern": "^custom:[0-9a-f]{16}$",
                },
            ],
        })
    }
}
