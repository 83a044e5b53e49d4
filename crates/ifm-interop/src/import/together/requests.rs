//! Single requests in a separate file, such as AIPerf's records, next to the file with their
//! figures.
//!
//! Both are one measurement: the requests go to the row of their figures. Not here: figures of requests that
//! have none (`ifm-results`).

use super::forms::are_of_one;
use super::{At, Found, folder, remark, rows, take_out};
use ifm_core::Metric;
use ifm_core::Sheet;
use ifm_core::order::Order as _;
use ifm_core::sheet::{RemarkKind, Row, RowRole, Statistic};
use ifm_core::words::counted;
use std::cmp::Reverse;

/// Gives single requests to the figures that they are of: the same tool wrote both into one folder, there is one row
/// of requests alone there, and one measurement in which as many succeeded, without single requests of its own.
/// Where several rows are of that measurement, as a stage and the summary of inference-perf, the fullest has them.
pub(super) fn join(sheets: &mut [&mut Sheet]) {
    let (mut bare, mut figures) = (Vec::new(), Vec::new());
    for Found { at, tool, row, .. } in rows(sheets) {
        let (Some(tool), RowRole::Measured) = (tool, row.role) else { continue };
        let Some(name) = sheets.get(at.sheet).map(|sheet| &sheet.source.name) else { continue };
        let by = (tool.to_owned(), folder(name).to_owned());
        match (row.figures.is_empty(), row.requests.is_empty()) {
            (true, false) if row.label.is_none() => bare.push((at, by, good(row))),
            (false, true) => {
                let ok = row.value(Metric::RequestsOk, Statistic::Value);
                figures.extend(ok.map(|ok| (at, by, ok)));
            }
            _ => {}
        }
    }
    let mut emptied = Vec::new();
    for (from, by, good) in &bare {
        let is_alone = bare.iter().filter(|(_, other, _)| other == by).count() == 1;
        let of_them = figures.iter().filter(|(_, other, ok)| other == by && ok == good);
        let of_them: Vec<At> = of_them.map(|(at, ..)| *at).collect();
        let (Some(to), true) = (fullest(sheets, &of_them), is_alone) else { continue };
        let taken = from.row(sheets).map(|row| std::mem::take(&mut row.requests));
        let requests = taken.unwrap_or_default();
        let count = counted(requests.len() as u64, "request");
        if let Some(row) = to.row(sheets) {
            row.requests = requests;
        }
        let name = sheets.get(to.sheet).map(|sheet| sheet.source.name.clone()).unwrap_or_default();
        let text = format!("its {count} are those of the figures in {name}");
        remark(sheets, from.sheet, RemarkKind::Assumed, text);
        emptied.push(*from);
    }
    take_out(sheets, emptied);
}

/// The row with most figures, where all are of one measurement.
fn fullest(sheets: &[&mut Sheet], places: &[At]) -> Option<At> {
    let row = |at: &At| sheets.get(at.sheet)?.parts.get(at.part)?.rows.get(at.row);
    let mut rows: Vec<(At, &Row)> = places.iter().filter_map(|at| Some((*at, row(at)?))).collect();
    rows.order_by_key(|(_, row)| Reverse(row.figures.len()));
    let ((first, full), others) = rows.split_first()?;
    others.iter().all(|(_, other)| are_of_one(full, other)).then_some(*first)
}

/// Requests of a row that succeeded.
fn good(row: &Row) -> f64 {
    row.requests.iter().filter(|request| request.error.is_none()).count() as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use ifm_core::sheet::{Figure, Part, PartKind, Place, SheetRequest, Source, Unit};

    /// Three requests, the last of which failed.
    fn bare() -> Row {
        let mut row = Row::new(RowRole::Measured, Place::default());
        row.requests = vec![SheetRequest::default(); 2];
        row.requests
            .push(SheetRequest { error: Some("500".to_owned()), ..SheetRequest::default() });
        row
    }

    fn sheet(name: &str, tool: &str, row: Row) -> Sheet {
        let part = Part { rows: vec![row], ..Part::new(PartKind::Serving, Place::default()) };
        let (name, tool) = (name.to_owned(), Some(tool.to_owned()));
        let source = Source { name, tool, ..Source::default() };
        Sheet { source, parts: vec![part], remarks: Vec::new() }
    }

    #[test]
    fn requests_beside_their_figures_are_no_second_row() {
        let of = |name: &str, good: f64| {
            let mut row = Row::new(RowRole::Measured, Place::default());
            let ok = Figure::new(Metric::RequestsOk, Statistic::Value, good, Unit::Count);
            row.figures.push(ok);
            sheet(name, "aiperf", row)
        };
        let joined = |sheets: &[Sheet]| {
            let mut sheets = sheets.to_vec();
            join(&mut sheets.iter_mut().collect::<Vec<_>>());
            let rows = sheets.iter().flat_map(|sheet| &sheet.parts).map(|part| part.rows.len());
            (rows.sum::<usize>(), sheets[0].parts[0].rows[0].requests.len())
        };
        let records = || sheet("a/records.jsonl", "aiperf", bare());
        assert_eq!(joined(&[of("a/summary.json", 2.0), records()]), (1, 3));
        assert_eq!(joined(&[of("a/summary.json", 3.0), records()]), (2, 0), "of others");
        assert_eq!(joined(&[of("b/summary.json", 2.0), records()]), (2, 0), "elsewhere");
        let by_oha = sheet("a/records.jsonl", "oha", bare());
        assert_eq!(joined(&[of("a/summary.json", 2.0), by_oha]), (2, 0), "of another tool");
        let two = [of("a/summary.json", 2.0), records(), records()];
        assert_eq!(joined(&two), (3, 0), "it is not known which are of it");
        let two = [of("a/one.json", 2.0), of("a/other.json", 2.0), records()];
        assert_eq!(joined(&two), (3, 0), "it is not known of which they are");
        // A stage and the summary of the only stage.
        let timed = |name: &str, more: bool| {
            let mut sheet = of(name, 2.0);
            let times = [Metric::Ttft, Metric::Tpot, Metric::E2e, Metric::E2ePerToken];
            let figure = |quantity| Figure::new(quantity, Statistic::Mean, 12.345, Unit::Ms);
            sheet.parts[0].rows[0].figures.extend(times.map(figure));
            if more {
                let rate = Figure::new(Metric::RequestRate, Statistic::Value, 2.0, Unit::PerS);
                sheet.parts[0].rows[0].figures.push(rate);
            }
            sheet
        };
        let both = [timed("a/stage.json", true), timed("a/summary.json", false), records()];
        assert_eq!(joined(&both), (2, 3), "the fullest has them");
        // Both in one document, as `import` keeps them; and two rows of requests alone in one.
        let mut both = of("a/both.json", 2.0);
        both.parts.push(records().parts.remove(0));
        assert_eq!(joined(std::slice::from_ref(&both)), (1, 3));
        both.parts[1].rows.push(bare());
        assert_eq!(joined(&[both]), (3, 0));
    }
}
