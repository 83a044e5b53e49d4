//! What a chart shows: plain data with names, units and figures.
//!
//! Every report describes its charts with these types and every drawing starts from them, so that
//! page, file, terminal and table show the same numbers. Values are in the unit of their axis.
//! What is not here: anything that knows a pixel, a colour or a font.
//!
//! The look follows three rules. Colour is the thing that is compared (a model, a run); dash or
//! hatch is the condition (with, without); a hollow mark is a figure that is outside the limit or
//! not trusted.

use serde::{Deserialize, Serialize};

/// One chart.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Chart {
    /// Short name in ASCII letters, digits and hyphens; unique on a page, prefix of all ids in the
    /// drawing.
    pub id: String,
    /// What the chart answers, as a question.
    pub title: String,
    /// What was measured, as a line under the title of a picture; empty on a page, which has it in its
    /// own title.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub subject: String,
    /// One or two sentences with the extreme values, for those who do not see the drawing.
    pub description: String,
    /// What is drawn.
    pub plot: Plot,
}

/// The kinds of drawing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[expect(clippy::large_enum_variant, reason = "a report has tens of charts")]
pub enum Plot {
    /// Figures over two axes: lines, bands, bars, dots, steps, and mixtures of these.
    Cartesian(Cartesian),
    /// A grid of coloured numbers.
    Heatmap(Heatmap),
    /// A grid of blocks that are full, partial or empty.
    Mask(Mask),
}

/// Series over two axes.
///
/// | chart | how to say it |
/// |---|---|
/// | lines, confidence band | [`Form::Line`]; `low` and `high` of the points are the band |
/// | range of a group | [`Form::Band`] |
/// | Pareto | [`Form::Line`] with `label`s; frontier [`Weight::Strong`], other runs [`Weight::Faint`] |
/// | cumulative distribution | [`Form::Step`] |
/// | grouped bars, error bars, hatch | [`Form::Bar`] on [`Scale::Category`]; `low`, `high`; [`Dash`] |
/// | figure above a group of bars | a [`Note`] without `y` |
/// | horizontal bars | as bars, with `is_horizontal` |
/// | a dot for each repeat | [`Form::Dots`] with several points of the same `x` |
/// | dumbbell | two series of [`Form::Dots`], `is_horizontal`, `is_joined` |
/// | limit of each row | [`Form::Tick`] |
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Cartesian {
    /// Axis of the known quantity (load, category), drawn below, or at the left if
    /// `is_horizontal`.
    pub x: Axis,
    /// Axis of the measured quantity.
    pub y: Axis,
    /// What is drawn, the first one below all others. A caller keeps to at most six lines.
    pub series: Vec<Series>,
    /// Lines and zones to read the figures against.
    pub guides: Vec<Guide>,
    /// Words at a place.
    pub notes: Vec<Note>,
    /// Whether `x` runs down the left side and `y` to the right.
    pub is_horizontal: bool,
    /// Whether points of the same `x` are joined across series, as in a dumbbell.
    pub is_joined: bool,
    /// Whether a reader may switch `y` between linear and logarithmic.
    pub has_switch: bool,
}

/// One axis.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Axis {
    /// Metric, such as `ITL P99`.
    pub name: String,
    /// Unit, such as `ms`; empty for a pure number or categories.
    pub unit: String,
    /// How values become places.
    pub scale: Scale,
    /// What is drawn for the names of [`Scale::Category`], in their order, where those are long;
    /// empty where they are not. Tooltips and tables have the names in full.
    pub short_names: Vec<String>,
    /// Ends of the axis, where several charts share them; otherwise found from the values.
    pub range: Option<(f64, f64)>,
    /// A second reading of the same places, at the opposite side.
    pub second: Option<Second>,
}

/// How values become places on an axis.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Scale {
    /// Even.
    Linear {
        /// Whether 0 is shown even where no value is near it. Bars always start at 0.
        from_zero: bool,
    },
    /// Doublings; its ticks are the measured values and no others. For loads.
    Log2,
    /// Powers of ten.
    Log10,
    /// Names; a value is the index of its name.
    Category(Vec<String>),
}

impl Default for Scale {
    fn default() -> Self {
        Self::Linear { from_zero: true }
    }
}

/// A second reading of an axis: the same places in another quantity.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Second {
    /// Metric.
    pub name: String,
    /// Unit.
    pub unit: String,
    /// `factor` × value, or `factor` ÷ value if `is_inverse`: 1000 and true turn tok/s per user
    /// into ms per token.
    pub factor: f64,
    /// Whether the factor is divided by the value.
    pub is_inverse: bool,
}

/// Colour of what belongs to no compared thing: limits and references.
pub const GREY: u8 = u8::MAX;

/// Figures of one thing under one condition.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Series {
    /// Name in full, as tooltips and tables have it.
    pub name: String,
    /// What is drawn in the legend or at the end of the line, where the name is long.
    pub short: Option<String>,
    /// Number of the thing compared; the palette has eight and begins again after them. [`GREY`]
    /// for what is not compared.
    pub color: u8,
    /// The condition, as dash of a line or hatch of a bar.
    pub dash: Dash,
    /// Shape of the points.
    pub mark: Mark,
    /// How the points are drawn.
    pub form: Form,
    /// How prominent the series is.
    pub weight: Weight,
    /// The figures, joined in this order.
    pub points: Vec<Point>,
}

/// One figure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Point {
    /// Place on the x axis, in its unit; the index of the name on a category axis.
    pub x: f64,
    /// Figure in the unit of the y axis; `None` breaks a line.
    pub y: Option<f64>,
    /// Lower end of the interval or band, same unit.
    pub low: Option<f64>,
    /// Upper end of the interval or band, same unit.
    pub high: Option<f64>,
    /// Label of the point, such as the load on a Pareto curve or `n=1`.
    pub label: Option<String>,
    /// Whether the figure is inside the limit and trusted; otherwise the mark is hollow.
    pub is_trusted: bool,
    /// The figure with its unit, as the tables print it.
    pub text: Option<String>,
}

impl Default for Point {
    /// A trusted point at 0 without a figure.
    fn default() -> Self {
        Self { x: 0.0, y: None, low: None, high: None, label: None, is_trusted: true, text: None }
    }
}

/// How the points of a series are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Form {
    /// Points joined by straight lines, named at the end; the interval is a band.
    #[default]
    Line,
    /// A line that goes level until the next point; no marks.
    Step,
    /// The area between `low` and `high`; no line.
    Band,
    /// A bar from 0; the interval is an error bar.
    Bar,
    /// Marks that are not joined; the interval is an error bar.
    Dots,
    /// A short stroke across the row or column, such as a limit.
    Tick,
}

/// Condition of a series: dash of its line, hatch of its bars.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Dash {
    /// Drawn through; bars filled.
    #[default]
    Solid,
    /// Dashed; bars hatched to the right.
    Dashed,
    /// Dotted, for estimates; bars hatched to the left.
    Dotted,
    /// Dash and dot; bars hatched both ways.
    DashDot,
}

/// Shape of the points of a series.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Mark {
    /// Circle.
    #[default]
    Circle,
    /// Square.
    Square,
    /// Triangle.
    Triangle,
    /// Diamond.
    Diamond,
    /// No mark.
    None,
}

/// How prominent a series is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Weight {
    /// As the others.
    #[default]
    Normal,
    /// Thicker, for a frontier.
    Strong,
    /// Thin and pale, for what is only background.
    Faint,
}

/// Something to read the figures against.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Guide {
    /// A tinted stretch of an axis; an end that is `None` lies at the end of the axis.
    Zone {
        /// Whose values the ends are.
        along: Along,
        /// Lower end, in the axis's unit.
        from: Option<f64>,
        /// Upper end, in the axis's unit.
        to: Option<f64>,
        /// Name, written into the zone.
        name: String,
        /// Verdict.
        tone: Tone,
    },
    /// A line at one value of the y axis, such as a latency limit.
    Horizontal {
        /// Value, in the unit of the y axis.
        at: f64,
        /// Name, written on the line.
        name: String,
        /// Verdict of what lies beyond; [`Tone::Neutral`] is grey and dotted.
        tone: Tone,
    },
    /// A line at one value of the x axis.
    Vertical {
        /// Value, in the unit of the x axis.
        at: f64,
        /// Name, written on the line.
        name: String,
        /// Verdict; [`Tone::Neutral`] is grey and dotted.
        tone: Tone,
    },
    /// The line where y equals x, such as "served = offered".
    Diagonal {
        /// Name, written on the line.
        name: String,
    },
}

/// Which axis a guide is measured on. In a horizontal chart too x is the axis of categories.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Along {
    /// The axis of the known quantity.
    X,
    /// The axis of the measured quantity.
    Y,
}

/// Verdict shown by color in addition to words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Tone {
    /// Inside the limit.
    Good,
    /// Near it.
    Caution,
    /// Beyond it.
    Bad,
    /// No verdict.
    #[default]
    Neutral,
}

/// Words at a place of the drawing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Note {
    /// Place on the x axis.
    pub x: f64,
    /// Place on the y axis; `None` places it above everything that is drawn at `x`.
    pub y: Option<f64>,
    /// The words: few.
    pub text: String,
    /// Verdict.
    pub tone: Tone,
}

/// A grid of numbers, coloured by how far they lie from the middle.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Heatmap {
    /// What the numbers are, such as `overhead`.
    pub name: String,
    /// Their unit, such as `%`.
    pub unit: String,
    /// Names of the rows, from the top.
    pub rows: Vec<Heading>,
    /// Names of the columns, from the left.
    pub columns: Vec<Heading>,
    /// How numbers become colours.
    pub scale: HeatScale,
    /// The cells; one that is absent here is missing.
    pub cells: Vec<Cell>,
}

/// Name of a row or column.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Heading {
    /// What neighbours have in common, written once over them.
    pub group: Option<String>,
    /// Name in full, as tooltips and tables have it.
    pub name: String,
    /// What is drawn, where the name is long.
    pub short: Option<String>,
}

/// How the numbers of a heatmap become colours: two directions from a middle.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct HeatScale {
    /// Value without colour: 0 for differences, 1 for ratios.
    pub middle: f64,
    /// Distance from the middle at which the colour is full: 15 for ±15 %; with `is_ratio` a
    /// factor above 1: 2 for from half to double.
    pub reach: f64,
    /// Whether distances are factors.
    pub is_ratio: bool,
    /// Whether larger is better.
    pub is_more_better: bool,
}

/// One number of a heatmap.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// Index of the row.
    pub row: usize,
    /// Index of the column.
    pub column: usize,
    /// The number, in the heatmap's unit.
    pub value: Option<f64>,
    /// The number as the tables print it.
    pub text: String,
    /// What is known about it.
    pub state: CellState,
}

/// What is known about a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum CellState {
    /// A difference is shown: coloured.
    #[default]
    Shown,
    /// No difference is shown: grey and hatched.
    Tie,
    /// Not measured: outlined and empty.
    Missing,
}

/// A picture of which blocks of a matrix are computed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Mask {
    /// What a row is, such as `query block`.
    pub row_name: String,
    /// What a column is, such as `key block`.
    pub column_name: String,
    /// Rows of blocks, from the top; rows may differ in length.
    pub rows: Vec<Vec<Block>>,
}

/// One block of a [`Mask`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Block {
    /// All of it is computed.
    Full,
    /// Some of it is masked.
    Partial,
    /// None of it is computed.
    Empty,
}
