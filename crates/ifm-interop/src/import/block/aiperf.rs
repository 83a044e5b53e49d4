//! AIPerf's and genai-perf's tables on the console: a metric to a line, a statistic to a column.
//! AIPerf prints several for one run, by kinds of metrics.

use super::super::Recognised;
use super::super::format::aiperf::words;
use super::super::grid::{grid, stray};
use super::super::measure;
use super::super::statistic::{Measure, statistic};
use super::super::text::{Line, Text};
use super::{Block, Found, joining};
use ifm_core::sheet::{
    Factors, Figure, Part, PartKind, Place, Remark, Row, RowRole, StdKind, Unit,
};
use serde_json::{Map, Value};

pub(super) struct Aiperf;

const AIPERF: &str = "aiperf";

impl Block for Aiperf {
    fn about(&self) -> Recognised {
        Recognised { id: "aiperf-tables", title: "AIPerf or genai-perf, printed tables" }
    }

    fn read(&self, first: Line<'_>, text: &Text) -> Option<Found> {
        if !first.text.contains(['┏', '┃']) {
            return None;
        }
        let table = grid(first, text)?.with_whole_labels();
        if !table.head.iter().any(|head| head == "avg") || table.rows.is_empty() {
            return None;
        }
        // genai-perf heads its column of names "Statistic".
        let tool = match table.head.first()?.as_str() {
            "Metric" => AIPERF,
            "Statistic" => "genai-perf",
            _ => return None,
        };
        let mut row = Row::new(RowRole::Measured, Place::line(table.head_line));
        for (line, cells) in &table.rows {
            row.figures.extend(figures(&table.head, cells, *line));
        }
        let title = text
            .from(table.head_line.saturating_sub(3).max(1))
            .find(|line| line.number < table.head_line && line.text.contains('|'))
            .map_or(String::new(), |line| line.text.trim().to_owned());
        let tables = Value::from(vec![title]);
        let part = Part {
            kind: PartKind::Serving,
            tool: Some(tool.to_owned()),
            headings: Vec::new(),
            place: Place::line(table.head_line),
            factors: Factors::default(),
            rows: vec![row],
            unknown: Map::from_iter([(joining::TABLES.to_owned(), tables)]),
        };
        let remarks = table.strays.iter().copied().map(stray).collect();
        Some(Found { parts: vec![part], last_line: table.last_line, remarks })
    }

    fn join(&self, parts: &mut Vec<Part>, remarks: &mut Vec<Remark>) {
        joining::join(AIPERF, parts, remarks);
    }
}

/// The figures of a line; `N/A` gives no figure.
fn figures(headings: &[String], cells: &[String], line: u32) -> Vec<Figure> {
    let Some((label, cells)) = cells.split_first() else { return Vec::new() };
    let (name, unit) = measure::name_and_unit(label);
    let columns = headings.iter().skip(1).zip(cells);
    let numbers: Vec<_> =
        columns.filter_map(|(column, cell)| Some((column, measure::printed(cell)?))).collect();
    let (quantity, single) = words::quantity(&words::tag(name), numbers.len() == 1);
    let definition = words::definition(quantity);
    let measure = Measure {
        quantity,
        unit: unit.unwrap_or(Unit::Count),
        definition: &|_| definition.clone(),
        std: StdKind::Population,
        pointer: String::new(),
    };
    numbers
        .into_iter()
        .filter_map(|(column, (value, printed, _))| {
            let statistic = single.or_else(|| statistic(column, measure.std))?;
            let mut figure = measure.figure(statistic, value).as_printed(printed);
            figure.place =
                Some(Place { line: Some(line), pointer: Some(format!("{label} / {column}")) });
            Some(figure)
        })
        .collect()
}
