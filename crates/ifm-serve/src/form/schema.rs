//! A JSON text that a schema allows.
//!
//! Knows what schemas for answers are made of: types, enumerations, constants, bounds, properties,
//! lists, alternatives and references within the schema. What must not be, such as `not`, is not
//! looked at.
//!
//! Not here: judging a text.

use ifm_kernels::RandomStream;
use serde_json::{Map, Number, Value};

use super::{below, pattern};

/// Levels of nesting, after which a schema that holds itself is given up.
const DEPTH_MAX: usize = 32;
/// Values of one text at most: lists in lists grow fast.
const VALUES_MAX: usize = 16 << 10;
/// Letters of a text that may have any length.
const LETTERS: usize = 8;
/// How far a number goes above its least, where no bound says it.
const SPAN: i64 = 100;

/// A text of a schema.
///
/// # Errors
/// Why there is none, in words.
pub(super) fn text(schema: &Value, draws: &mut RandomStream) -> Result<String, String> {
    let mut maker = Maker { root: schema, draws, values: 0 };
    Ok(maker.value(schema, 0)?.to_string())
}

struct Maker<'a> {
    root: &'a Value,
    draws: &'a mut RandomStream,
    values: usize,
}

impl<'a> Maker<'a> {
    fn value(&mut self, schema: &'a Value, depth: usize) -> Result<Value, String> {
        self.values += 1;
        if depth > DEPTH_MAX || self.values > VALUES_MAX {
            return Err("the schema asks for too much, or for itself".to_owned());
        }
        if let Some(place) = schema["$ref"].as_str() {
            let target = place.strip_prefix('#').and_then(|path| self.root.pointer(path));
            let target = target.ok_or_else(|| format!("there is no {place} in the schema"))?;
            return self.value(target, depth + 1);
        }
        if let Some(value) = schema.get("const") {
            return Ok(value.clone());
        }
        for name in ["enum", "anyOf", "oneOf"] {
            let Some(list) = schema[name].as_array() else { continue };
            let one = list.get(below(self.draws, list.len())).ok_or("a list of it is empty")?;
            return if name == "enum" { Ok(one.clone()) } else { self.value(one, depth + 1) };
        }
        let kind = match &schema["type"] {
            Value::Array(kinds) => kinds.first().and_then(Value::as_str),
            Value::String(kind) => Some(kind.as_str()),
            _ if schema["properties"].is_object() => Some("object"),
            _ if schema["items"].is_object() => Some("array"),
            _ => Some("string"),
        };
        match kind.unwrap_or_default() {
            "object" => self.object(schema, depth),
            "array" => self.list(schema, depth),
            "string" => self.string(schema),
            "integer" => Ok(self.integer(schema).into()),
            "number" => Ok(self.number(schema)),
            "boolean" => Ok((below(self.draws, 2) == 1).into()),
            "null" => Ok(Value::Null),
            other => Err(format!("there is no type \"{other}\"")),
        }
    }

    fn object(&mut self, schema: &'a Value, depth: usize) -> Result<Value, String> {
        let mut made = Map::new();
        for (name, of) in schema["properties"].as_object().into_iter().flatten() {
            made.insert(name.clone(), self.value(of, depth + 1)?);
        }
        for name in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            made.entry(name).or_insert_with(|| Value::from("any"));
        }
        Ok(made.into())
    }

    fn list(&mut self, schema: &'a Value, depth: usize) -> Result<Value, String> {
        let bound = |name: &str| schema[name].as_u64().map(|bound| bound as usize);
        let least = bound("minItems").unwrap_or(1).min(bound("maxItems").unwrap_or(usize::MAX));
        let more =
            bound("maxItems").unwrap_or(least.saturating_add(2)).saturating_sub(least).min(4);
        let length = least + below(self.draws, more + 1);
        if length > VALUES_MAX {
            return Err("the schema asks for too long a list".to_owned());
        }
        (0..length).map(|_| self.value(&schema["items"], depth + 1)).collect()
    }

    fn string(&mut self, schema: &Value) -> Result<Value, String> {
        if let Some(pattern) = schema["pattern"].as_str() {
            return Ok(pattern::text(pattern, self.draws)?.into());
        }
        let bound = |name: &str| schema[name].as_u64().map(|bound| bound as usize);
        let least = bound("minLength").unwrap_or(0);
        let length = LETTERS.max(least).min(bound("maxLength").unwrap_or(usize::MAX));
        if length > VALUES_MAX {
            return Err("the schema asks for too long a text".to_owned());
        }
        let letter = |_| char::from(b'a' + below(self.draws, 26) as u8);
        Ok((0..length).map(letter).collect::<String>().into())
    }

    fn integer(&mut self, schema: &Value) -> i64 {
        let bound = |name: &str| schema[name].as_f64();
        let least = bound("minimum").map(f64::ceil);
        let least = least.or(bound("exclusiveMinimum").map(|it| it.floor() + 1.0));
        let most = bound("maximum").map(f64::floor);
        let most = most.or(bound("exclusiveMaximum").map(|it| it.ceil() - 1.0));
        let low = least.unwrap_or_else(|| most.map_or(0.0, |most| most.min(0.0))) as i64;
        let high = most.map_or(low.saturating_add(SPAN), |most| most as i64).max(low);
        let span = (high.saturating_sub(low) as u64).min(1 << 20) as usize;
        low.saturating_add(below(self.draws, span + 1) as i64)
    }

    fn number(&mut self, schema: &Value) -> Value {
        let bound = |name: &str| schema[name].as_f64();
        let least = bound("minimum").or(bound("exclusiveMinimum")).unwrap_or(0.0);
        let most = bound("maximum").or(bound("exclusiveMaximum")).unwrap_or(least + SPAN as f64);
        // Neither end, which may be excluded.
        let share = (below(self.draws, 98) + 1) as f64 / 100.0;
        Number::from_f64(least + (most - least) * share).map_or(Value::Null, Value::Number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn made(schema: &Value) -> Result<Value, String> {
        let mut draws = RandomStream::new(1, "test");
        text(schema, &mut draws).map(|text| serde_json::from_str(&text).expect("JSON"))
    }

    #[test]
    fn values_keep_to_their_bounds() {
        let mut draws = RandomStream::new(2, "test");
        let schema = json!({
            "type": "object",
            "properties": {
                "n": {"type": "integer", "minimum": 3, "maximum": 5},
                "x": {"type": "number", "exclusiveMinimum": 0, "maximum": 1},
                "s": {"type": "string", "minLength": 2, "maxLength": 4},
                "p": {"type": "string", "pattern": "^[0-9]{3}$"},
                "e": {"enum": ["a", 5]},
                "c": {"const": true},
                "l": {"type": "array", "minItems": 2, "maxItems": 3, "items": {"$ref": "#/$defs/b"}},
                "o": {"anyOf": [{"type": "null"}, {"type": "boolean"}]},
            },
            "required": ["n", "other"],
            "$defs": {"b": {"type": "boolean"}},
        });
        for _ in 0..200 {
            let value: Value =
                serde_json::from_str(&text(&schema, &mut draws).expect("a text")).expect("JSON");
            assert!((3..=5).contains(&value["n"].as_i64().expect("n")));
            let x = value["x"].as_f64().expect("x");
            assert!(x > 0.0 && x <= 1.0, "{x}");
            assert!((2..=4).contains(&value["s"].as_str().expect("s").len()));
            assert_eq!(value["p"].as_str().expect("p").len(), 3);
            assert!(value["e"] == "a" || value["e"] == 5);
            assert_eq!(value["c"], true);
            let list = value["l"].as_array().expect("l");
            assert!((2..=3).contains(&list.len()) && list.iter().all(Value::is_boolean));
            assert!(value["o"].is_null() || value["o"].is_boolean());
            assert_eq!(value["other"], "any");
        }
    }

    #[test]
    fn what_cannot_be_made_is_told() {
        assert!(made(&json!({"$ref": "#"})).is_err());
        assert!(made(&json!({"$ref": "other.json"})).is_err());
        assert!(made(&json!({"type": "array", "minItems": 1_000_000})).is_err());
        assert!(made(&json!({"enum": []})).is_err());
        assert_eq!(
            made(&json!({"type": "integer", "maximum": -5})).map(|it| it.as_i64() <= Some(-5)),
            Ok(true)
        );
    }
}
