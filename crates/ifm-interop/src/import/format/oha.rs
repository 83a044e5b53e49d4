//! oha: a load of whole exchanges. It knows no tokens; its first byte is that of the response, not
//! of an answer. Its `rps` is a rate between neighbours and says nothing of the run. Not here: the
//! summary that it prints (`block/oha`).

use super::super::error::ImportError;
use super::super::{Input, json};
use super::field::{self, Field, Means};
use super::{Format, Like, collect};
use ifm_core::Metric;
use ifm_core::Sheet;
use ifm_core::sheet::{
    Definition, Figure, PartKind, Place, Remark, RemarkKind, Row, RowRole, Statistic, StdKind, Unit,
};
use serde_json::{Map, Value};

pub(super) const FORMAT: Format = Format {
    id: "oha",
    title: "oha, JSON",
    tool: Some("oha"),
    kind: PartKind::Serving,
    like: Like::Json(&[&["summary", "requestsPerSec", "statusCodeDistribution"]]),
    marks: &["summary", "latencyPercentiles", "statusCodeDistribution", "requestsPerSec"],
    read,
};

/// What it means by the time of a request.
pub(crate) const WHOLE_EXCHANGE: &str = "the whole exchange, to the last byte of the response";
/// What oha calls requests that its own deadline ended.
const CUT_OFF: &str = "aborted due to deadline";
const WHOLE: &[Field] = &[
    ("/summary/total", Metric::Duration, Unit::S, Means::Same),
    ("/summary/requestsPerSec", Metric::RequestRate, Unit::PerS, Means::Same),
];

fn read(format: &Format, input: Input<'_>) -> Result<Sheet, ImportError> {
    let mut sheet = collect::summaries(format, input, "no summary in it", row)?;
    let uncounted = |row: &&Row| row.figure(Metric::Requests, Statistic::Value).is_none();
    let rows = sheet.parts.iter().flat_map(|part| &part.rows);
    let without: Vec<Remark> = rows.filter(uncounted).map(missing).collect();
    sheet.remarks.extend(without);
    Ok(sheet)
}

/// The remark about a row without its counts.
pub(crate) fn missing(row: &Row) -> Remark {
    Remark {
        kind: RemarkKind::Missing,
        place: row.place.clone(),
        text: "no counts by status and by error, as in a file that was cut off: how many requests \
               succeeded or failed is not known"
            .to_owned(),
    }
}

fn row(mut object: Map<String, Value>) -> Row {
    let mut row = Row::new(RowRole::Measured, Place::pointer(""));
    let of = |name: &str| object.get(name).and_then(Value::as_object);
    let place = Place::pointer("/statusCodeDistribution");
    counts(of("statusCodeDistribution"), of("errorDistribution"), &place, &mut row);
    field::numbers(&mut object, Some(""), Statistic::Value, WHOLE, &mut row);
    let first_byte = || Metric::other("time to first byte");
    let to_first = Means::Different("first byte of the response, not its first token");
    let exchange = Means::Different(WHOLE_EXCHANGE);
    let times = [
        ("/summary", Metric::E2e, Unit::S, exchange),
        ("/latencyPercentiles", Metric::E2e, Unit::S, exchange),
        ("/details/firstByte", first_byte(), Unit::S, to_first),
        ("/firstBytePercentiles", first_byte(), Unit::S, to_first),
    ];
    field::spreads(&mut object, "", StdKind::Unknown, &times, &mut row);
    row.unknown = object;
    row
}

/// Requests by what became of them: those answered with 2xx succeeded. Where one of the two lists
/// is not there, what rests on it is not known.
pub(crate) fn counts(
    statuses: Option<&Map<String, Value>>,
    errors: Option<&Map<String, Value>>,
    place: &Place,
    row: &mut Row,
) {
    let sum = |list: &Map<String, Value>, is_meant: &dyn Fn(&str) -> bool| -> u64 {
        let meant = list.iter().filter(|(name, _)| is_meant(name));
        meant.filter_map(|(_, number)| json::count(Some(number))).sum()
    };
    let ok = statuses.map(|list| sum(list, &|status| status.starts_with('2')));
    let refused = statuses.map(|list| sum(list, &|status| !status.starts_with('2')));
    let cut_off = errors.map(|list| sum(list, &|error| error == CUT_OFF));
    let broken = errors.map(|list| sum(list, &|error| error != CUT_OFF));
    let failed = refused.zip(broken).map(|(refused, broken)| refused + broken);
    let all = [ok, failed, cut_off].into_iter().sum::<Option<u64>>();
    for (quantity, number) in [
        (Metric::Requests, all),
        (Metric::RequestsOk, ok),
        (Metric::RequestsFailed, failed),
        (Metric::RequestsIncomplete, cut_off),
    ] {
        let Some(number) = number else { continue };
        let mut figure = Figure::new(quantity, Statistic::Value, number as f64, Unit::Count)
            .defined(Definition::Derivable("sums of its counts by status and error".to_owned()));
        figure.place = Some(place.clone());
        row.figures.push(figure);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(text: &str) -> Vec<(Metric, Option<f64>)> {
        let object = serde_json::from_str(text).expect("an object");
        row(object).figures.into_iter().map(|figure| (figure.quantity, figure.value)).collect()
    }

    #[test]
    fn a_list_that_is_not_there_is_not_0() {
        let whole = r#"{"statusCodeDistribution":{"200":7,"503":1},"errorDistribution":{"aborted due to deadline":2}}"#;
        assert_eq!(
            counted(whole),
            [
                (Metric::Requests, Some(10.0)),
                (Metric::RequestsOk, Some(7.0)),
                (Metric::RequestsFailed, Some(1.0)),
                (Metric::RequestsIncomplete, Some(2.0)),
            ]
        );
        let cut = r#"{"statusCodeDistribution":{"200":7}}"#;
        assert_eq!(counted(cut), [(Metric::RequestsOk, Some(7.0))]);
        assert_eq!(counted("{}"), []);
    }
}
