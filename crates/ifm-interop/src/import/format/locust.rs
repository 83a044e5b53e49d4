//! Locust: the table that `--csv` leaves behind at the end of a test, a row for each name of a request
//! and a last one over all of them. It knows no tokens.
//!
//! Times and rates are of all requests, including failed ones; percentiles are rounded to two
//! digits by Locust itself. Not here: the history file that Locust also writes.

use super::super::statistic::different;
use super::{Format, Like, records, sure};
use ifm_core::Metric;
use ifm_core::sheet::{Definition, Figure, PartKind, RowRole, Statistic, Unit, meaning};
use serde_json::Value;

pub(super) const FORMAT: Format = Format {
    id: "locust",
    title: "Locust, _stats.csv",
    tool: Some("locust"),
    kind: PartKind::Serving,
    like: Like::By(|head| sure(!head.is_json() && head.text().starts_with(HEAD))),
    marks: &[],
    read: |format, input| {
        records::read_csv(format, input, |cells, draft| {
            for (name, cell) in cells {
                match (figure(&name, &cell), name.as_str()) {
                    (Some(figure), _) => draft.row.figures.push(figure),
                    (None, "Name") => {
                        if cell == ALL {
                            draft.row.role = RowRole::Summary;
                        }
                        draft.row.label = Some(cell);
                    }
                    _ => {
                        draft.row.unknown.insert(name, Value::String(cell));
                    }
                }
            }
        })
    },
};
const HEAD: &str = "Type,Name,Request Count,Failure Count,Median Response Time,";
/// The name of the row over all requests.
const ALL: &str = "Aggregated";
/// What Locust does to times before it takes percentiles of them.
const ROUNDED: &str = "rounded to two digits";
const WHOLE: &str = "sending, waiting and receiving of the whole response";

fn figure(name: &str, cell: &str) -> Option<Figure> {
    let time = |statistic| (Metric::E2e, statistic, Unit::Ms);
    let (quantity, statistic, unit) = match name {
        "Request Count" => (Metric::Requests, Statistic::Value, Unit::Count),
        "Failure Count" => (Metric::RequestsFailed, Statistic::Value, Unit::Count),
        "Requests/s" => (Metric::RequestRate, Statistic::Value, Unit::PerS),
        "Median Response Time" => time(Statistic::Median),
        "Average Response Time" => time(Statistic::Mean),
        "Min Response Time" => time(Statistic::Min),
        "Max Response Time" => time(Statistic::Max),
        // The same as the median and the maximum, but rounded.
        "50%" | "100%" => return None,
        _ => time(Statistic::percentile(name.strip_suffix('%')?.parse().ok()?)),
    };
    let is_rounded = matches!(statistic, Statistic::Median | Statistic::Percentile(_));
    let definition = match quantity {
        // A percentile that was rounded up can exceed the maximum, which is not rounded.
        Metric::E2e if is_rounded => {
            different(&format!("{WHOLE}; {}; {ROUNDED}", meaning::WITH_FAILED))
        }
        Metric::E2e => different(&format!("{WHOLE}; {}", meaning::WITH_FAILED)),
        Metric::RequestRate => different(meaning::WITH_FAILED),
        _ => Definition::Same,
    };
    let value = cell.trim().parse().ok()?;
    Some(Figure::new(quantity, statistic, value, unit).defined(definition))
}
