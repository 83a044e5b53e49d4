//! The fields of a result: settings, figures, arrays of single requests, and parts of the run.

use super::super::json::{self, Fault, Reader};
use super::super::labels;
use super::super::records::Draft;
use super::details::Details;
use super::{Dialect, names};
use ifm_core::Metric;
use ifm_core::sheet::{Factors, Figure, Place, Remark, RemarkKind, Row, RowRole, Statistic, Unit};
use serde_json::{Map, Value};

/// Fields that hold results of a part of the run, and the factor that names the part.
const PARTS: &[(&str, &str)] = &[("steady_state", "window"), ("per_turn_metrics", "turn")];

/// One result while its fields come in.
#[derive(Debug, Default)]
pub(crate) struct Fields {
    details: Details,
}

impl Fields {
    /// Reads the value of a field that the tools share. False for any other field; then nothing has
    /// been read.
    pub fn take(
        &mut self,
        field: &str,
        reader: &mut Reader<'_>,
        draft: &mut Draft<'_>,
    ) -> Result<bool, Fault> {
        if self.details.take(field, reader, draft.remarks)? {
            return Ok(true);
        }
        if let Some(factor) = names::setting(field) {
            if let Some(setting) = reader.setting()? {
                draft.row.factors.set(factor, setting);
            }
        } else if field == "label" || field == "tag" {
            draft.row.label = reader.setting()?;
        } else if names::figure(field, 0.0).is_some() {
            let place = Place { line: Some(reader.line()), pointer: Some(format!("/{field}")) };
            let number = reader.number_or(|other| {
                let text = format!("{other} stands where a number belongs: it is not kept");
                draft.remarks.push(Remark { kind: RemarkKind::Lost, place, text });
            })?;
            draft.row.figures.extend(number.and_then(|value| names::figure(field, value)));
        } else {
            return Ok(false);
        }
        Ok(true)
    }

    /// Finishes the row: requests, parts of the run, and what the tool means by its numbers.
    pub fn settle(self, dialect: Dialect, draft: &mut Draft<'_>) {
        labels::take(&mut draft.row.unknown, &mut draft.row.factors);
        let failed = self.details.failed();
        self.details.settle(dialect, &mut draft.row, draft.remarks);
        let told = draft.row.figure(Metric::RequestsFailed, Statistic::Value).is_some();
        if let Some(failed) = failed.filter(|_| !told) {
            let (quantity, unit) = (Metric::RequestsFailed, Unit::Count);
            draft.row.figures.push(Figure::new(quantity, Statistic::Value, failed as f64, unit));
            draft.remarks.push(Remark {
                kind: RemarkKind::Assumed,
                place: draft.row.place.clone(),
                text: "failed requests: as many as the list of errors has".to_owned(),
            });
        }
        for (field, factor) in PARTS {
            let parts = draft.row.unknown.remove(*field);
            let Some(parts) = parts else { continue };
            match rows(&parts, field, factor, &draft.row) {
                rows if rows.is_empty() => {
                    draft.row.unknown.insert((*field).to_owned(), parts);
                }
                rows => draft.more.extend(rows),
            }
        }
        dialect.define(&mut draft.row, draft.remarks);
        draft.more.iter_mut().for_each(|row| dialect.define(row, draft.remarks));
    }
}

/// Rows of a part of the run: one, several in a list, or several by name.
fn rows(parts: &Value, field: &str, factor: &str, whole: &Row) -> Vec<Row> {
    let parts: Vec<(String, &Map<String, Value>)> = match parts {
        Value::Array(parts) => {
            let numbered = (1..).zip(parts);
            numbered
                .filter_map(|(number, part)| Some((number.to_string(), part.as_object()?)))
                .collect()
        }
        Value::Object(part) if part.values().all(Value::is_object) => {
            part.iter().filter_map(|(name, part)| Some((name.clone(), part.as_object()?))).collect()
        }
        Value::Object(part) => vec![(field.replace('_', " "), part)],
        _ => Vec::new(),
    };
    let rows = parts.into_iter().map(|(name, part)| {
        let mut row = Row::new(RowRole::Summary, whole.place.clone());
        row.place.pointer = Some(format!("/{field}"));
        row.factors = Factors::default().with(factor, name).within(&whole.factors);
        for (field, value) in part {
            match json::number(Some(value)).and_then(|value| names::figure(field, value)) {
                Some(figure) => row.figures.push(figure),
                None => {
                    row.unknown.insert(field.clone(), value.clone());
                }
            }
        }
        row
    });
    rows.filter(|row| !row.figures.is_empty()).collect()
}
