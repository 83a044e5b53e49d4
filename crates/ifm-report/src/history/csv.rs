//! Every value of a history as CSV: a line for each, for a spreadsheet or a dashboard.

use super::words;
use crate::comparison::unit_json;
use ifm_compare::history::History;
use ifm_core::delimited::csv_cell;

const HEAD: &str = "cell,at,metric,unit,run,name,at_utc,tags,value,low,high,standing,stretch\n";

/// Every value; quoting follows RFC 4180.
pub fn history_csv(history: &History) -> String {
    let mut out = String::from(HEAD);
    for series in &history.series {
        let (unit, per) = unit_json(series.measure.unit());
        for (place, point) in series.points.iter().enumerate() {
            let Some(head) = words::run_at(history, series, place) else { continue };
            let stretch = series.stretches.iter().position(|of| of.points.contains(&place));
            let number =
                |value: Option<f64>| value.map(|v| (v / per).to_string()).unwrap_or_default();
            let fields = [
                history.cells.get(series.cell).cloned().unwrap_or_default(),
                series.at.to_string(),
                series.measure.to_string(),
                unit.to_owned(),
                head.id.clone(),
                head.name.clone().unwrap_or_default(),
                head.at_utc.clone().unwrap_or_default(),
                head.tags.join(" "),
                number(Some(point.cell.value)),
                number(point.cell.low),
                number(point.cell.high),
                point.standing.word().to_owned(),
                stretch.map(|number| (number + 1).to_string()).unwrap_or_default(),
            ];
            let fields: Vec<String> = fields.iter().map(|field| csv_cell(field)).collect();
            out.push_str(&format!("{}\n", fields.join(",")));
        }
    }
    out
}
