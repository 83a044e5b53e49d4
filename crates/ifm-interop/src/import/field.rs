//! Fields as data: the place of a number, what it measures, its unit, and the tool's definition of
//! it. A format lists its fields in tables of these; fields that no table names stay in place.

use super::json;
use super::statistic::Measure;
use ifm_core::metric::{Metric, Name};
use ifm_core::sheet::{Definition, Factors, Figure, Place, Row, Statistic, StdKind, Unit};
use serde_json::{Map, Value};

/// What a tool means by a number, against ours of the same name.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Means {
    /// The same.
    Same,
    /// Another, from which ours follows; how.
    Derivable(&'static str),
    /// Another, from which ours does not follow; what it is.
    Different(&'static str),
    /// The definition is not stated.
    Unstated,
}

impl From<Means> for Definition {
    fn from(means: Means) -> Definition {
        match means {
            Means::Same => Definition::Same,
            Means::Derivable(how) => Definition::Derivable(how.to_owned()),
            Means::Different(what) => Definition::Different(what.to_owned()),
            Means::Unstated => Definition::Unstated,
        }
    }
}

/// A quantity that we have no name for: it has the name of its field.
pub(crate) const OWN: Metric = Metric::Other(Name::of(""));

/// A field: its JSON pointer, seen from the object of the row, and what it holds.
pub(crate) type Field = (&'static str, Metric, Unit, Means);

/// Takes fields with one number each out of an object. Figures get their place if `base`, the path
/// of the object, is known.
pub(super) fn numbers(
    object: &mut Map<String, Value>,
    base: Option<&str>,
    statistic: Statistic,
    fields: &[Field],
    row: &mut Row,
) {
    for (at, quantity, unit, means) in fields {
        let Some((parent, name)) = parent_of(object, at) else { continue };
        let Some(value) = json::number(parent.get(name)) else { continue };
        parent.remove(name);
        let mut figure = Figure::new(named(*quantity, name), statistic, value, unit.clone())
            .defined((*means).into());
        figure.place = base.map(|base| Place::pointer(format!("{base}{at}")));
        row.figures.push(figure);
    }
}

/// Takes the statistics of fields that are objects of them. What is not a statistic stays.
pub(super) fn spreads(
    object: &mut Map<String, Value>,
    base: &str,
    std: StdKind,
    fields: &[Field],
    row: &mut Row,
) {
    for (at, quantity, unit, means) in fields {
        let Some((parent, name)) = parent_of(object, at) else { continue };
        let Some(Value::Object(statistics)) = parent.get_mut(name) else { continue };
        let (quantity, unit) = (named(*quantity, name), unit.clone());
        let definition = &|_| (*means).into();
        let pointer = format!("{base}{at}");
        Measure { quantity, unit, definition, std, pointer }.take(statistics, &mut row.figures);
    }
}

/// Removes fields of a table whose objects have nothing left.
pub(super) fn drop_empty(object: &mut Map<String, Value>, fields: &[Field]) {
    for (at, ..) in fields {
        let Some((parent, name)) = parent_of(object, at) else { continue };
        if parent.get(name).and_then(Value::as_object).is_some_and(Map::is_empty) {
            parent.remove(name);
        }
    }
}

/// Sets the factors of a table: pointers, seen from an object, and the factors that they hold. Of
/// several pointers to one factor the first that leads to a word counts.
pub(super) fn settings(from: &Map<String, Value>, fields: &[(&str, &str)], factors: &mut Factors) {
    let mut set: Vec<&str> = Vec::new();
    for (pointer, factor) in fields {
        if let Some(word) = json::word(at(from, pointer)).filter(|_| !set.contains(factor)) {
            factors.set(*factor, word);
            set.push(factor);
        }
    }
}

/// The value at a pointer.
fn at<'a>(object: &'a Map<String, Value>, pointer: &str) -> Option<&'a Value> {
    let mut names = pointer.strip_prefix('/')?.splitn(2, '/');
    let first = object.get(names.next()?)?;
    match names.next() {
        Some(rest) => first.pointer(&format!("/{rest}")),
        None => Some(first),
    }
}

/// Takes settings, by the names of their fields, out of an object.
pub(super) fn take_settings(
    object: &mut Map<String, Value>,
    fields: &[(&str, &str)],
    factors: &mut Factors,
) {
    for (name, factor) in fields {
        if let Some(word) = json::word(object.remove(*name).as_ref()) {
            factors.set(*factor, word);
        }
    }
}

/// The quantity of a field, by its own name where we have none.
pub(super) fn named(quantity: Metric, field: &str) -> Metric {
    match quantity {
        Metric::Other(name) if name.as_str().is_empty() => Metric::other(field),
        known => known,
    }
}

/// The object that contains a field, and the field's name there.
fn parent_of<'a, 'b>(
    object: &'a mut Map<String, Value>,
    at: &'b str,
) -> Option<(&'a mut Map<String, Value>, &'b str)> {
    let (path, name) = at.rsplit_once('/')?;
    let mut names = path.split('/').skip(1);
    Some((names.try_fold(object, |object, name| object.get_mut(name)?.as_object_mut())?, name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ifm_core::sheet::RowRole;
    use serde_json::json;

    fn object(value: Value) -> Map<String, Value> {
        value.as_object().cloned().expect("an object")
    }

    #[test]
    fn a_table_takes_what_it_names_and_leaves_the_rest() {
        let fields = &[
            ("/load/count", Metric::Requests, Unit::Count, Means::Same),
            ("/load/hits", OWN, Unit::Count, Means::Unstated),
            ("/load/rate", Metric::RequestRate, Unit::PerS, Means::Same),
            ("/absent/count", Metric::RequestsOk, Unit::Count, Means::Same),
        ];
        let mut object =
            object(json!({"load": {"count": 3, "hits": "2.5", "rate": "fast", "later": 1}}));
        let mut row = Row::new(RowRole::Measured, Place::pointer("/x"));
        numbers(&mut object, Some("/x"), Statistic::Value, fields, &mut row);
        let hits = Metric::other("hits");
        let found: Vec<_> =
            row.figures.iter().map(|figure| (figure.quantity, figure.value)).collect();
        assert_eq!(found, [(Metric::Requests, Some(3.0)), (hits, Some(2.5))]);
        assert_eq!(row.figures[0].place, Some(Place::pointer("/x/load/count")));
        assert_eq!(json!(object), json!({"load": {"rate": "fast", "later": 1}}));
    }

    #[test]
    fn of_several_places_of_a_setting_the_first_that_has_a_word_counts() {
        let mut factors = Factors::default();
        let object = object(json!({"new": {"model": null}, "old": [{"model": "m"}], "model": "n"}));
        let fields = [("/new/model", "model"), ("/old/0/model", "model"), ("/model", "model")];
        settings(&object, &fields, &mut factors);
        assert_eq!(factors.get("model"), Some("m"));
    }
}
