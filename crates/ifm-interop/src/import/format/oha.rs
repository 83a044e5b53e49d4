//! oha: a load of whole exchanges. It knows no tokens; its first byte is that of the response, not
//! of an answer. Its `rps` is a rate between neighbours and says nothing of the run.

use super::super::error::ImportError;
use super::super::statistic::{Measure, different};
use super::super::{Head, Input, Likeness, Recognised, json};
use super::{Format, collect};
use ifm_core::Sheet;
use ifm_core::sheet::{
    Definition, Figure, Place, Quantity, Row, RowRole, Statistic, StdKind, Unit,
};
use serde_json::{Map, Value};

pub(super) struct Oha;

const ABOUT: Recognised = Recognised { id: "oha", title: "oha, JSON" };
const MARKS: &[&str] =
    &["summary", "latencyPercentiles", "statusCodeDistribution", "requestsPerSec"];
/// What oha calls requests that its own deadline ended.
const CUT_OFF: &str = "aborted due to deadline";

impl Format for Oha {
    fn about(&self) -> Recognised {
        ABOUT
    }

    fn likeness(&self, head: &Head) -> Likeness {
        let own = head.has_keys(&["summary", "requestsPerSec"])
            && head.has_keys(&["statusCodeDistribution"]);
        match head.is_json() && own {
            true => Likeness::Sure,
            false => Likeness::No,
        }
    }

    fn marks(&self) -> &'static [&'static str] {
        MARKS
    }

    fn read(&self, input: Input<'_>) -> Result<Sheet, ImportError> {
        collect::summaries(input, ABOUT, "oha", "no summary in it", row)
    }
}

fn row(mut object: Map<String, Value>) -> Row {
    let mut row = Row::new(RowRole::Measured, Place::pointer(""));
    counts(&object, &mut row);
    let e2e = || different("the whole exchange, to the last byte of the response");
    if let Some(Value::Object(summary)) = object.get_mut("summary") {
        for (name, quantity, unit) in [
            ("total", Quantity::Duration, Unit::S),
            ("requestsPerSec", Quantity::RequestRate, Unit::PerS),
        ] {
            let Some(value) = json::number(summary.remove(name).as_ref()) else { continue };
            let mut figure =
                Figure::new(quantity, Statistic::Value, value, unit).defined(Definition::Same);
            figure.place = Some(Place::pointer(format!("/summary/{name}")));
            row.figures.push(figure);
        }
    }
    let first_byte = || Quantity::Other("time to first byte".to_owned());
    let to_first = || different("first byte of the response, not its first token");
    for (pointer, quantity, definition) in [
        ("/summary", Quantity::E2e, e2e()),
        ("/latencyPercentiles", Quantity::E2e, e2e()),
        ("/details/firstByte", first_byte(), to_first()),
        ("/firstBytePercentiles", first_byte(), to_first()),
    ] {
        let names = pointer.split('/').skip(1);
        let mut found = Some(&mut object);
        for name in names {
            found = found.and_then(|object| object.get_mut(name)?.as_object_mut());
        }
        let Some(statistics) = found else { continue };
        let definition = &|_| definition.clone();
        let (unit, std, pointer) = (Unit::S, StdKind::Unknown, pointer.to_owned());
        Measure { quantity, unit, definition, std, pointer }.take(statistics, &mut row.figures);
    }
    row.unknown = object;
    row
}

/// Requests by what became of them: those answered with 2xx succeeded.
fn counts(object: &Map<String, Value>, row: &mut Row) {
    let of = |name: &str| object.get(name).and_then(Value::as_object);
    let (mut ok, mut failed, mut cut_off) = (0, 0, 0);
    for (status, number) in of("statusCodeDistribution").into_iter().flatten() {
        let number = json::count(Some(number)).unwrap_or(0);
        match status.starts_with('2') {
            true => ok += number,
            false => failed += number,
        }
    }
    for (error, number) in of("errorDistribution").into_iter().flatten() {
        let number = json::count(Some(number)).unwrap_or(0);
        match error == CUT_OFF {
            true => cut_off += number,
            false => failed += number,
        }
    }
    for (quantity, number) in [
        (Quantity::Requests, ok + failed + cut_off),
        (Quantity::RequestsOk, ok),
        (Quantity::RequestsFailed, failed),
        (Quantity::RequestsIncomplete, cut_off),
    ] {
        let mut figure = Figure::new(quantity, Statistic::Value, number as f64, Unit::Count)
            .defined(Definition::Derivable("sums of its counts by status and error".to_owned()));
        figure.place = Some(Place::pointer("/statusCodeDistribution"));
        row.figures.push(figure);
    }
}
