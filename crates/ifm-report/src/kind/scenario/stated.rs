//! What is shown of a document that states figures and holds no data.

use crate::format::{ABSENT, meant, plain};
use crate::model::load;
use crate::page::{Block, Cell, Head, Section, Table};
use ifm_analysis::insight::Meant;
use ifm_analysis::survey::{Point, Reading, Survey};
use ifm_core::sheet::{Quantity, RowRole, key};

/// Before any number.
pub(super) const BANNER: &str = "⚠ The document states these figures and shows no data: none of \
     them was measured here, and none can be checked against requests.";
/// Sentences in the table, at most.
const ROWS_MAX: usize = 100;

/// Why there is no capacity.
pub(super) fn no_capacity(is_stated: bool) -> Option<Section> {
    let words = "A capacity needs measured percentiles at several loads; the document states none.";
    is_stated.then(|| Section::new("How many users fit", vec![Block::Prose(words.to_owned())]))
}

/// Every stated figure with its sentence.
pub(super) fn figures(survey: &Survey) -> Section {
    let mut rows = Vec::new();
    for point in survey.of_role(RowRole::Stated) {
        for reading in &point.readings {
            if rows.len() < ROWS_MAX {
                rows.push(row(point, reading));
            }
        }
    }
    if rows.is_empty() {
        return Section::new("What the document states", Vec::new());
    }
    Section::new(
        "What the document states",
        vec![Block::Table(Table {
            caption: "Every figure that a sentence states. What no sentence says is absent."
                .to_owned(),
            heads: vec![
                Head::number("line"),
                Head::text("quantity"),
                Head::number("figure"),
                Head::text("use case"),
                Head::number("users"),
                Head::text("sentence"),
            ],
            rows,
        })],
    )
}

fn row(point: &Point, reading: &Reading) -> Vec<Cell> {
    let line = reading.place.as_ref().or(Some(&point.place)).and_then(|place| place.line);
    let how = match &reading.quantity {
        Quantity::Ttft | Quantity::Itl | Quantity::Tpot | Quantity::E2e => Meant::Ms,
        Quantity::UserRate | Quantity::OutputRate | Quantity::TotalRate => Meant::TokPerS,
        Quantity::Efficiency | Quantity::ErrorRate => Meant::Share,
        Quantity::RequestRate => Meant::ReqPerS,
        // Limits and references of such quantities are in their units.
        Quantity::Other(name) if ["Itl", "Ttft", "Tpot"].iter().any(|of| name.ends_with(of)) => {
            Meant::Ms
        }
        Quantity::Other(name) if name.ends_with("Efficiency") => Meant::Share,
        _ => Meant::Plain,
    };
    let name = point.factor(key::WORKLOAD);
    let at = point.load;
    vec![
        Cell::number(line.map(f64::from), |line| meant(line, Meant::Count)),
        Cell::text(plain(
            &reading.quantity.to_string().replace("Itl", "ITL").replace("Ttft", "TTFT"),
        )),
        Cell::number(Some(reading.value), |value| match (how, &reading.printed) {
            (Meant::TokPerS, Some(printed)) => plain(&format!("{printed} tok/s")),
            _ => meant(value, how),
        }),
        Cell::text(name.map_or(ABSENT.to_owned(), |name| plain(&name))),
        Cell {
            value: at.map(|at| at.value()),
            ..Cell::text(at.map_or(ABSENT.to_owned(), |at| load(Some(at))))
        },
        Cell::text(point.text.as_deref().map_or(ABSENT.to_owned(), plain)),
    ]
}
