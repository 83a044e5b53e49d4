//! Charts of every kind, with figures of the published reports they are modeled on, and hostile
//! charts.

use ifm_chart::{
    Axis, Cartesian, Cell, CellState, Chart, HeatScale, Heatmap, Mask, Plot, Point, Scale, Series,
};

fn axis(name: &str, unit: &str, scale: Scale) -> Axis {
    Axis { name: name.into(), unit: unit.into(), scale, ..Axis::default() }
}

fn linear() -> Scale {
    Scale::Linear { from_zero: true }
}

fn chart(id: &str, title: &str, plot: Cartesian) -> Chart {
    Chart {
        id: id.into(),
        title: title.into(),
        subject: String::new(),
        description: format!("{title} A sentence with the extremes."),
        plot: Plot::Cartesian(plot),
    }
}

fn points(values: &[(f64, f64)]) -> Vec<Point> {
    values.iter().map(|&(x, y)| Point { x, y: Some(y), ..Point::default() }).collect()
}

fn series(name: &str, color: u8, values: &[(f64, f64)]) -> Series {
    Series { name: name.into(), color, points: points(values), ..Series::default() }
}

macro_rules! samples {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        $($(#[$doc])* pub fn $name() -> Chart {
            serde_json::from_str(include_str!(concat!("../data/", stringify!($name), ".json"))).unwrap()
        })*

        /// One chart of every kind.
        pub fn all() -> Vec<Chart> {
            vec![$($name()),*]
        }
    };
}

samples! {
    /// Decode speed per user of four scenarios: the ends are from a published report.
    decode_speed,
    /// ITL with an interval, zones and a limit; the last level of a condition is not trusted.
    itl,
    /// TTFT from 211 ms to 6.18 s: a range on a logarithmic axis.
    ttft_range,
    /// Throughput against speed, with the frontier and the area inside the limit.
    pareto,
    /// End-to-end latency with and without confidential computing.
    grouped_bars,
    /// Throughput as bars with a line and a second reading.
    bars_and_line,
    /// Users by use case.
    capacity,
    /// Every repeat as a dot, next to mean and interval.
    repeats,
    /// Latency with and without a condition, one row for each cell.
    dumbbell,
    /// Two cumulative distributions.
    distribution,
    /// Served against offered load.
    served,
    /// Speed of models with the limit that memory sets.
    limits,
    /// Overhead of all cells of a grid.
    heatmap,
    /// Blocks of a sliding window.
    mask,
}

/// Charts that have to be drawn nevertheless.
pub fn hostile() -> Vec<Chart> {
    let long = "a very long name of a model that nobody could read in a legend ".repeat(5);
    let plain = |id: &str, title: &str, series: Vec<Series>| {
        chart(
            id,
            title,
            Cartesian {
                x: axis("concurrency", "users", Scale::Log2),
                y: axis("ITL", "ms", linear()),
                series,
                has_switch: true,
                ..Cartesian::default()
            },
        )
    };
    let fifty = |index: u8| {
        let slope = f64::from(index);
        series(&format!("run {index}"), index, &[(1.0, slope), (8.0, 2.0 * slope), (64.0, 40.0)])
    };
    let absurd = [(1e-300, 1e300), (1.0, 1e-300), (1e300, -1e300), (f64::MAX, f64::MAX)];
    let broken = [(f64::NAN, 1.0), (2.0, f64::INFINITY), (0.0, 3.0), (-4.0, 4.0), (8.0, f64::NAN)];
    let empty = Heatmap {
        name: "overhead".into(),
        unit: "%".into(),
        rows: vec![],
        columns: vec![],
        scale: HeatScale { middle: 0.0, reach: 0.0, is_ratio: true, is_more_better: true },
        cells: vec![Cell {
            row: usize::MAX / 4,
            column: 2,
            value: Some(f64::NAN),
            text: "?".into(),
            state: CellState::Shown,
        }],
    };
    vec![
        plain("nothing", "Was anything measured?", vec![]),
        plain("none", "Was anything measured at all?", vec![series("base", 0, &[])]),
        plain("one", "What does one point say?", vec![series("base", 0, &[(4.0, 12.5)])]),
        plain(
            "equal",
            "Is it the same everywhere?",
            vec![
                series("base", 0, &[(1.0, 7.0), (2.0, 7.0), (4.0, 7.0)]),
                series("other", 1, &[(1.0, 7.0), (2.0, 7.0), (4.0, 7.0)]),
                series("third", 2, &[(1.0, 7.0), (2.0, 7.0), (4.0, 7.0)]),
            ],
        ),
        plain("fifty", "Which of fifty is fastest?", (0..50).map(fifty).collect()),
        plain(
            "long",
            &format!("How long may a name be: {long}?"),
            vec![
                series(&long, 0, &[(1.0, 5.0), (2.0, 9.0)]),
                series(&long, 1, &[(1.0, 6.0), (2.0, 9.1)]),
            ],
        ),
        plain(
            "scripts",
            "مرحبا: ما مدى السرعة؟ שלום 你好 <b>&amp;</b>",
            vec![
                series("نموذج سريع", 0, &[(1.0, 5.0), (2.0, 9.0)]),
                series("מודל מהיר", 1, &[(1.0, 3.0), (2.0, 4.0)]),
                series("<script>alert(1)</script>\u{0}\u{7}", 2, &[(1.0, 6.0), (2.0, 6.1)]),
                series("模型 {a|b}", 3, &[(1.0, 1.0), (2.0, 2.0)]),
            ],
        ),
        plain("absurd", "What if the values are absurd?", vec![series("base", 0, &absurd)]),
        plain("broken", "What if they are not numbers?", vec![series("base", 0, &broken)]),
        Chart {
            id: "  \"><script>".into(),
            title: "Is there a cell?".into(),
            subject: String::new(),
            description: String::new(),
            plot: Plot::Heatmap(empty),
        },
        Chart {
            id: String::new(),
            title: String::new(),
            subject: String::new(),
            description: String::new(),
            plot: Plot::Mask(Mask { row_name: "q".into(), column_name: "k".into(), rows: vec![] }),
        },
    ]
}
