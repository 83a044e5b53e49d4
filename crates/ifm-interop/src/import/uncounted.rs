//! Prompt tokens that were not counted: tools write 0 where the server did not report them, as for
//! transcriptions. A prompt has tokens, so 0 is never their number.
//!
//! Not here: output tokens, which may be none (`format`, where a tool says otherwise).

use super::statistic::different;
use ifm_core::Metric;
use ifm_core::Sheet;
use ifm_core::sheet::{Figure, PartKind, Remark, RemarkKind, Row, RowRole, Statistic};

/// What the total is without them.
const OUTPUT_ALONE: &str = "without the prompt tokens, which nobody counted";

/// Removes the value of prompt tokens that are 0 throughout a row whose requests succeeded, and of
/// its single requests.
pub(super) fn without_zeros(sheet: &mut Sheet) {
    let mut remarks = Vec::new();
    for part in sheet.parts.iter_mut().filter(|part| part.kind == PartKind::Serving) {
        for row in part.rows.iter_mut().filter(|row| row.role != RowRole::Planned) {
            remarks.extend(of_row(row));
        }
    }
    sheet.remarks.extend(remarks);
}

fn of_row(row: &mut Row) -> Option<Remark> {
    for request in &mut row.requests {
        request.input_tokens = request.input_tokens.filter(|tokens| *tokens > 0);
    }
    let nothing_succeeded = [Metric::RequestsOk, Metric::Requests]
        .iter()
        .any(|quantity| row.value(*quantity, Statistic::Value) == Some(0.0));
    if nothing_succeeded || !take(row, Metric::InputTokens, "0") {
        return None;
    }
    take(row, Metric::InputRate, "0");
    for figure in &mut row.figures {
        if matches!(figure.quantity, Metric::TotalTokens | Metric::TotalRate) {
            figure.definition = different(OUTPUT_ALONE);
        }
    }
    Some(Remark {
        kind: RemarkKind::Missing,
        place: row.place.clone(),
        text: "0 prompt tokens: nobody counted them".to_owned(),
    })
}

/// Takes the values of a quantity that is 0 in all its statistics, as it is written there. Whether it was.
pub(crate) fn take(row: &mut Row, quantity: Metric, zero: &str) -> bool {
    let mut of: Vec<&mut Figure> = row
        .figures
        .iter_mut()
        .filter(|figure| figure.quantity == quantity && figure.statistic != Statistic::Count)
        .collect();
    let is_zero = !of.is_empty() && of.iter().all(|figure| figure.value == Some(0.0));
    for figure in of.iter_mut().filter(|_| is_zero) {
        figure.value = None;
        figure.printed.get_or_insert_with(|| zero.to_owned());
    }
    is_zero
}

#[cfg(test)]
mod tests {
    use super::*;
    use ifm_core::sheet::{Definition, Place, SheetRequest, Unit};

    /// A row with these figures, and a request of no prompt tokens.
    fn read(figures: &[(Metric, Statistic, f64)]) -> (Row, Option<Remark>) {
        let mut row = Row::new(RowRole::Measured, Place::line(3));
        let figure = |(quantity, statistic, value): &(Metric, Statistic, f64)| {
            Figure::new(*quantity, *statistic, *value, Unit::Count)
        };
        row.figures = figures.iter().map(figure).collect();
        row.requests = vec![SheetRequest { input_tokens: Some(0), ..SheetRequest::default() }];
        let remark = of_row(&mut row);
        (row, remark)
    }

    #[test]
    fn no_prompt_tokens_are_unknown_ones() {
        let (row, remark) = read(&[
            (Metric::RequestsOk, Statistic::Value, 4.0),
            (Metric::InputTokens, Statistic::Mean, 0.0),
            (Metric::InputTokens, Statistic::Sum, 0.0),
            (Metric::InputRate, Statistic::Value, 0.0),
            (Metric::OutputTokens, Statistic::Mean, 30.0),
            (Metric::TotalTokens, Statistic::Mean, 30.0),
        ]);
        assert_eq!(row.value(Metric::InputTokens, Statistic::Mean), None);
        assert_eq!(row.value(Metric::InputTokens, Statistic::Sum), None);
        assert_eq!(row.value(Metric::InputRate, Statistic::Value), None);
        assert_eq!(row.value(Metric::OutputTokens, Statistic::Mean), Some(30.0));
        let total = row.figure(Metric::TotalTokens, Statistic::Mean).expect("a total");
        assert_eq!(total.definition, Definition::Different(OUTPUT_ALONE.to_owned()));
        assert_eq!(row.requests[0].input_tokens, None);
        assert_eq!(remark.expect("a remark").text, "0 prompt tokens: nobody counted them");
    }

    #[test]
    fn where_nothing_succeeded_nothing_was_sent_and_one_that_was_counted_counts() {
        let none = read(&[
            (Metric::RequestsOk, Statistic::Value, 0.0),
            (Metric::InputTokens, Statistic::Sum, 0.0),
        ]);
        assert_eq!(none.0.value(Metric::InputTokens, Statistic::Sum), Some(0.0));
        let some = read(&[
            (Metric::InputTokens, Statistic::Percentile(1.0), 0.0),
            (Metric::InputTokens, Statistic::Mean, 7.0),
        ]);
        assert_eq!(some.0.value(Metric::InputTokens, Statistic::Mean), Some(7.0));
        assert_eq!((none.1, some.1), (None, None));
    }
}
