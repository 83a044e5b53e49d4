//! What an audit looks at: the rows of documents with everything that holds for them.

use super::finding::Spot;
use ifm_core::Metric;
use ifm_core::Sheet;
use ifm_core::sheet::{Factors, Figure, Part, PartKind, Place, Row, RowRole, Statistic, Unit, key};

/// The documents of an audit.
#[derive(Debug)]
pub struct Subject<'a> {
    sheets: &'a [Sheet],
    cells: Vec<Cell<'a>>,
    gpu: Option<String>,
    model: Option<String>,
}

/// A row in its part and document.
#[derive(Debug, Clone)]
pub struct Cell<'a> {
    /// The document.
    pub sheet: &'a Sheet,
    /// The table or block; its position in the document distinguishes blocks.
    pub part: &'a Part,
    /// Position of the part in its document.
    pub part_index: usize,
    /// The row.
    pub row: &'a Row,
    /// Settings: the factors of the row and of its part.
    pub factors: Factors,
}

impl<'a> Subject<'a> {
    /// The rows of documents.
    pub fn new(sheets: &'a [Sheet]) -> Subject<'a> {
        let mut cells = Vec::new();
        for sheet in sheets {
            for (part_index, part) in sheet.parts.iter().enumerate() {
                cells.extend(part.rows.iter().map(|row| Cell {
                    sheet,
                    part,
                    part_index,
                    row,
                    factors: row.factors.within(&part.factors),
                }));
            }
        }
        Subject { sheets, cells, gpu: None, model: None }
    }

    /// On this machine and with this model where the documents name none: names or figures as
    /// `ifm-roofline` reads them. Rows of another machine or model stay rows of that.
    #[must_use]
    pub fn measured_with(mut self, gpu: Option<String>, model: Option<String>) -> Subject<'a> {
        (self.gpu, self.model) = (gpu, model);
        self
    }

    /// The machine that the user names.
    pub fn gpu(&self) -> Option<&str> {
        self.gpu.as_deref()
    }

    /// The model that the user names.
    pub fn model(&self) -> Option<&str> {
        self.model.as_deref()
    }

    /// Whether all rows that name a model name the same one.
    pub fn has_one_model(&self) -> bool {
        let mut names = self.cells.iter().filter_map(|cell| cell.factors.get(key::MODEL));
        let first = names.next();
        names.all(|name| Some(name) == first)
    }

    /// Measured rows that differ in nothing but their load: the levels of a sweep, of one document.
    /// Groups of one are left out.
    pub(super) fn sweeps(&self) -> Vec<Vec<&Cell<'a>>> {
        let mut sweeps: Vec<(Factors, Vec<&Cell<'a>>)> = Vec::new();
        for cell in self.cells(RowRole::Measured) {
            let setting = cell.factors.without(&LOAD);
            let is_of = |(known, cells): &&mut (Factors, Vec<&Cell<'a>>)| {
                let of = |first: &&&Cell| {
                    std::ptr::eq(first.sheet, cell.sheet) && first.part.kind == cell.part.kind
                };
                *known == setting && cells.first().as_ref().is_some_and(of)
            };
            match sweeps.iter_mut().find(is_of) {
                Some((_, cells)) => cells.push(cell),
                None => sweeps.push((setting, vec![cell])),
            }
        }
        sweeps.into_iter().map(|(_, cells)| cells).filter(|cells| cells.len() > 1).collect()
    }

    /// The documents.
    pub fn sheets(&self) -> &'a [Sheet] {
        self.sheets
    }

    /// All rows of a role.
    pub fn cells(&self, role: RowRole) -> impl Iterator<Item = &Cell<'a>> {
        self.cells.iter().filter(move |cell| cell.row.role == role)
    }

    /// Rows of a role, by table.
    pub fn tables(&self, role: RowRole) -> Vec<Vec<&Cell<'a>>> {
        let mut tables: Vec<Vec<&Cell<'a>>> = Vec::new();
        for cell in self.cells(role) {
            match tables.last_mut() {
                Some(table)
                    if table.first().is_some_and(|first| std::ptr::eq(first.part, cell.part)) =>
                {
                    table.push(cell);
                }
                _ => tables.push(vec![cell]),
            }
        }
        tables
    }

    /// Measured rows that repeat each other: same document, same headings, same kind of part, same
    /// factors but for the number of the repeat. In the order of the document; groups of one are left out.
    pub fn repeats(&self) -> Vec<Vec<&Cell<'a>>> {
        let mut groups: Vec<(Factors, Vec<&Cell<'a>>)> = Vec::new();
        let is_repeatable = |cell: &&Cell<'a>| match cell.part.kind {
            // Tables of kernels name variants by their labels, and measure each once.
            PartKind::Kernel => false,
            // Rows of a sweep that do not say their load are of different loads.
            PartKind::Serving => {
                cell.factors.get(key::CONCURRENCY).is_some()
                    || cell.factors.number(key::RATE).is_some()
            }
            _ => true,
        };
        for cell in self.cells(RowRole::Measured).filter(is_repeatable) {
            let key = cell.setting();
            let group = groups.iter_mut().find(|(factors, cells)| {
                *factors == key
                    && cells.first().is_some_and(|first| first.has_lengths_of(cell))
                    && cells.first().is_some_and(|first| {
                        std::ptr::eq(first.sheet, cell.sheet)
                            && first.part.kind == cell.part.kind
                            && first.part.headings == cell.part.headings
                    })
            });
            match group {
                Some((_, cells)) => cells.push(cell),
                None => groups.push((key, vec![cell])),
            }
        }
        groups.into_iter().map(|(_, cells)| cells).filter(|cells| cells.len() > 1).collect()
    }
}

/// Factors of the load, and of the order of measuring.
pub(super) const LOAD: [&str; 5] =
    [key::CONCURRENCY, key::RATE, key::REQUESTS, key::REPEAT, key::STRATEGY];
/// Words for a concurrency without a limit.
const UNLIMITED: [&str; 5] = ["max", "inf", "none", "None", "unlimited"];
/// Factors that a reader would name a row by.
const NAMING: [&str; 11] = [
    key::MODEL,
    key::GPU,
    key::CONDITION,
    key::TEST,
    key::STRATEGY,
    key::CONCURRENCY,
    key::RATE,
    key::BATCH_SIZE,
    key::INPUT_TOKENS,
    key::OUTPUT_TOKENS,
    key::DEPTH_TOKENS,
];

/// The repeats of what a row summarises or ranks, among groups of repeats.
pub(super) fn repeats_of<'r, 'c>(
    repeats: &'r [Vec<&'c Cell<'c>>],
    cell: &Cell,
) -> Option<&'r [&'c Cell<'c>]> {
    let of = |rows: &&Vec<&Cell>| {
        rows.first().is_some_and(|first| {
            std::ptr::eq(first.sheet, cell.sheet) && first.setting() == cell.setting()
        })
    };
    repeats.iter().find(of).map(Vec::as_slice)
}

impl Cell<'_> {
    /// What a row with a rank is ranked by: its one other quantity.
    pub fn ranked_by(&self) -> Option<Metric> {
        let mut others = self.row.figures.iter().filter(|figure| figure.quantity != Metric::Rank);
        others.next().map(|figure| figure.quantity)
    }

    /// Position of the row.
    pub fn spot(&self) -> Spot {
        self.spot_of(&self.row.place)
    }

    /// Position of a figure of the row.
    pub fn spot_of_figure(&self, figure: &Figure) -> Spot {
        self.spot_of(figure.place.as_ref().unwrap_or(&self.row.place))
    }

    fn spot_of(&self, place: &Place) -> Spot {
        Spot { document: self.sheet.source.name.clone(), place: place.clone() }
    }

    /// The factors but for the number of the repeat.
    pub fn setting(&self) -> Factors {
        self.factors.without(&[key::REPEAT])
    }

    /// The central figure of a quantity: the value, the mean or the median, in this order.
    pub fn central(&self, quantity: Metric) -> Option<&Figure> {
        [Statistic::Value, Statistic::Mean, Statistic::Median]
            .into_iter()
            .find_map(|statistic| self.row.figure(quantity, statistic))
    }

    /// Requests that succeeded; those that were asked for where the row does not say it.
    pub fn requests(&self) -> Option<f64> {
        let ok = self.row.value(Metric::RequestsOk, Statistic::Value);
        ok.or_else(|| self.factors.number(key::REQUESTS)).filter(|requests| *requests >= 1.0)
    }

    /// Numbers of the row that are of no known quantity, whether a figure or a mere field holds them.
    pub(super) fn others(&self) -> Vec<Other> {
        let central = [Statistic::Value, Statistic::Sum, Statistic::Mean, Statistic::Median];
        let figures = self.row.figures.iter().filter_map(|figure| {
            let Metric::Other(name) = &figure.quantity else { return None };
            let value = figure.canonical().filter(|_| central.contains(&figure.statistic))?;
            let is_share = matches!(figure.unit, Unit::Percent | Unit::One);
            let spot = self.spot_of_figure(figure);
            Some(Other { name: plain_name(name.as_str()), value, is_share, spot })
        });
        let fields = self.row.unknown.iter().filter_map(|(name, value)| {
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            let is_share = name.contains('%') || text.contains('%');
            let value: f64 = text.trim().trim_end_matches('%').trim_end().parse().ok()?;
            let value = if is_share { value / 100.0 } else { value };
            Some(Other { name: plain_name(name.as_str()), value, is_share, spot: self.spot() })
        });
        figures.chain(fields).filter(|other| other.value.is_finite()).collect()
    }

    /// Whether two answers of an engine are of as many tokens as far as they were counted: answers of
    /// other prompts are not repeats. The prompt may be counted without its cached part.
    fn has_lengths_of(&self, other: &Cell) -> bool {
        let lengths =
            |cell: &Cell| [Metric::InputTokens, Metric::OutputTokens].map(|of| cell.tokens(of));
        self.part.kind != PartKind::Engine || lengths(self) == lengths(other)
    }

    /// All tokens of a kind of the row.
    pub(super) fn tokens(&self, quantity: Metric) -> Option<f64> {
        let sum = [Statistic::Sum, Statistic::Value].into_iter();
        sum.filter_map(|statistic| self.row.value(quantity, statistic)).next()
    }

    /// Mean number of tokens of a kind in a request.
    pub(super) fn mean_tokens(&self, quantity: Metric) -> Option<f64> {
        let mean = self.row.value(quantity, Statistic::Mean);
        mean.or_else(|| {
            let ok = self.row.value(Metric::RequestsOk, Statistic::Value)?;
            Some(self.tokens(quantity)? / ok).filter(|mean| mean.is_finite())
        })
    }

    /// The limit on requests in flight of a closed loop.
    pub(super) fn users(&self) -> Option<f64> {
        let is_closed = self.factors.get(key::RATE).is_none_or(|rate| rate == "inf");
        self.factors.number(key::CONCURRENCY).filter(|users| is_closed && *users >= 1.0)
    }

    /// Requests that may be in flight where all begin at once: without a limit, any number.
    pub(super) fn users_at_once(&self) -> Option<f64> {
        let is_closed = self.factors.get(key::RATE).is_none_or(|rate| rate == "inf");
        let limit = self.factors.get(key::CONCURRENCY);
        let is_open = limit.is_none_or(|limit| UNLIMITED.contains(&limit));
        self.users().or((is_closed && is_open).then_some(f64::INFINITY))
    }

    /// A name for sentences: the label, else the factors that a reader would name it by. A label
    /// that rows of its table before this one already have gets its number: `run3#2`.
    pub fn name(&self) -> String {
        if let Some(label) = &self.row.label {
            let setting = |row: &Row| {
                let mut factors = row.factors.clone();
                factors.set(key::REPEAT, "");
                factors
            };
            let own = setting(self.row);
            let alike = self.part.rows.iter().filter(|row| {
                let is_label = row.role == self.row.role && row.label.as_ref() == Some(label);
                is_label && setting(row) == own
            });
            return match alike.take_while(|row| !std::ptr::eq(*row, self.row)).count() {
                0 => label.clone(),
                before => format!("{label}#{}", before + 1),
            };
        }
        let words: Vec<String> = NAMING
            .iter()
            .filter_map(|name| Some(format!("{name} {}", self.factors.get(name)?)))
            .collect();
        match words.is_empty() {
            true => "the row".to_owned(),
            false => words.join(", "),
        }
    }
}

/// What our exports say of themselves, in the form of another tool.
const WRITTEN_BY: &str = "written_by";

impl Cell<'_> {
    /// The tool that computed the figures of the row, if known: a document that another tool wrote
    /// in its format keeps the definitions of the tool that measured.
    pub(super) fn measured_by(&self) -> Option<&str> {
        let is_export = self.row.unknown.contains_key(WRITTEN_BY)
            || self.part.unknown.contains_key(WRITTEN_BY)
            || self.factors.get(WRITTEN_BY).is_some();
        let tool = self.part.tool.as_deref().or(self.sheet.source.tool.as_deref());
        tool.filter(|_| !is_export)
    }

    /// The name, with the settings in which rows of its part differ that would be named alike.
    pub(super) fn name_among(&self) -> String {
        let named = |name: &str| NAMING.contains(&name) || name == key::REPEAT;
        let mut alike: Vec<Factors> = Vec::new();
        for row in self.part.rows.iter().filter(|row| row.role == self.row.role) {
            let factors = row.factors.within(&self.part.factors);
            let is_alike = row.label == self.row.label
                && NAMING.iter().all(|name| factors.get(name) == self.factors.get(name));
            if is_alike {
                alike.push(factors);
            }
        }
        let differs = |name: &str, value: &str| {
            alike.iter().any(|other| other.get(name).is_some_and(|other| other != value))
        };
        let mut words = vec![self.name()];
        let others = self.factors.iter().filter(|(name, _)| !named(name));
        let others = others.filter(|(name, value)| differs(name, value));
        words.extend(others.map(|(name, value)| format!("{name} {value}")));
        words.join(", ")
    }
}

/// A number of no known quantity.
#[derive(Debug, Clone)]
pub(super) struct Other {
    /// Its name, in small letters and with spaces.
    pub name: String,
    /// The number; of a percentage its hundredth.
    pub value: f64,
    /// Whether it is a percentage or a share.
    pub is_share: bool,
    /// Its position.
    pub spot: Spot,
}

impl Other {
    /// The number as a share, 0 to 1: a percentage, or a figure named rate, share or ratio.
    pub fn share(&self) -> Option<f64> {
        let is_rate = ["rate", "share", "ratio"].iter().any(|word| self.name.contains(word));
        let share = match self.value {
            share if self.is_share => share,
            share @ 0.0..=1.0 if is_rate => share,
            percent @ 1.0..=100.0 if is_rate => percent / 100.0,
            _ => return None,
        };
        (0.0..=1.0).contains(&share).then_some(share)
    }
}

fn plain_name(name: &str) -> String {
    name.to_lowercase().replace(['_', '-'], " ")
}

/// The unit after a number; empty if the number has no unit.
pub(super) fn unit_word(unit: &Unit) -> &str {
    match unit {
        Unit::Ns => "ns",
        Unit::Us => "µs",
        Unit::Ms => "ms",
        Unit::S => "s",
        Unit::Min => "min",
        Unit::H => "h",
        Unit::PerS => "/s",
        Unit::PerMin => "/min",
        Unit::PerH => "/h",
        Unit::Percent => "%",
        Unit::W => "W",
        Unit::J => "J",
        Unit::Bytes => "bytes",
        Unit::MiB => "MiB",
        Unit::GiB => "GiB",
        Unit::Gb => "GB",
        Unit::GbPerS => "GB/s",
        Unit::TflopPerS => "TFLOP/s",
        Unit::Usd => "USD",
        Unit::Count | Unit::One | Unit::Million | Unit::Billion => "",
        Unit::Other(word) => word,
    }
}

/// A figure as it was printed, with its unit.
pub(super) fn shown(figure: &Figure) -> String {
    let number = || figure.value.unwrap_or_default().to_string();
    let number = figure.printed.as_deref().map_or_else(number, |printed| printed.trim().to_owned());
    format!("{number} {}", unit_word(&figure.unit)).trim_end().to_owned()
}

/// How far the true number may lie from the one that a figure holds, in the canonical unit: half a
/// unit of the last printed digit; of the last digit that is needed to write a number of a file,
/// a whole one, since some tools cut digits off.
pub(super) fn slack(figure: &Figure) -> f64 {
    let factor = figure.unit.factor().unwrap_or(1.0);
    let written = || {
        let text = figure.value?.to_string();
        let decimals = text.split_once('.').map_or(0, |(_, decimals)| decimals.len());
        Some(10_f64.powi(-i32::try_from(decimals).ok()?))
    };
    figure.rounding().or_else(written).unwrap_or(0.0) * factor
}
