//! Charts of every kind, with figures of the published reports they are modelled on, and charts
//! that nobody should have to draw.

use ifm_chart::{
    Along, Axis, Block, Cartesian, Cell, CellState, Chart, Dash, Form, GREY, Guide, Heading,
    HeatScale, Heatmap, Mark, Mask, Note, Plot, Point, Scale, Second, Series, Tone, Weight,
};

fn axis(name: &str, unit: &str, scale: Scale) -> Axis {
    Axis { name: name.into(), unit: unit.into(), scale, ..Axis::default() }
}

fn linear() -> Scale {
    Scale::Linear { from_zero: true }
}

fn names(list: &[&str]) -> Scale {
    Scale::Category(list.iter().map(|name| (*name).to_owned()).collect())
}

fn chart(id: &str, title: &str, plot: Cartesian) -> Chart {
    Chart {
        id: id.into(),
        title: title.into(),
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

/// Decode speed per user of four scenarios: the ends are those of a published report.
pub fn decode_speed() -> Chart {
    let loads = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0];
    let speeds = [
        ("Chatbot", [172.5, 166.0, 152.1, 130.3, 101.4, 70.6]),
        ("RAG", [171.0, 161.2, 140.7, 110.9, 78.3, 48.9]),
        ("Agentic", [168.4, 148.8, 112.6, 72.4, 42.8, 23.9]),
        ("Tool calling", [165.0, 132.5, 84.9, 49.2, 26.0, 13.2]),
    ];
    let marks = [Mark::Circle, Mark::Square, Mark::Triangle, Mark::Diamond];
    let line = |(index, (name, values)): (usize, (&str, [f64; 6]))| {
        let pairs: Vec<(f64, f64)> = loads.into_iter().zip(values).collect();
        Series { mark: marks[index], ..series(name, index as u8, &pairs) }
    };
    let y = Axis {
        second: Some(Second {
            name: "ITL".into(),
            unit: "ms".into(),
            factor: 1000.0,
            is_inverse: true,
        }),
        ..axis("decode speed per user", "tok/s", linear())
    };
    chart(
        "decode-speed",
        "How fast does one user's answer grow?",
        Cartesian {
            x: axis("concurrency", "users", Scale::Log2),
            y,
            series: speeds.into_iter().enumerate().map(line).collect(),
            ..Cartesian::default()
        },
    )
}

/// ITL with an interval, zones and a limit; the last level of a condition is not trusted.
pub fn itl() -> Chart {
    let line = |name: &str, color, dash, values: &[f64; 6]| {
        let point = |(index, y): (usize, &f64)| Point {
            x: f64::from(1 << index),
            y: Some(*y),
            low: Some(y * 0.94),
            high: Some(y * 1.07),
            is_trusted: *y <= 50.0,
            label: (index == 5 && dash == Dash::Dashed).then(|| "n=1".to_owned()),
            text: Some(format!("{y:.1} ms")),
        };
        Series {
            name: name.into(),
            color,
            dash,
            points: values.iter().enumerate().map(point).collect(),
            ..Series::default()
        }
    };
    let zone = |from, to, name: &str, tone| Guide::Zone {
        along: Along::Y,
        from,
        to,
        name: name.into(),
        tone,
    };
    chart(
        "itl",
        "How long does a reader wait for the next token?",
        Cartesian {
            x: axis("concurrency", "users", Scale::Log2),
            y: axis("ITL P99", "ms", linear()),
            series: vec![
                line("base", 0, Dash::Solid, &[14.7, 16.0, 19.1, 25.2, 38.4, 71.2]),
                line("base, CC", 0, Dash::Dashed, &[15.4, 17.1, 20.2, 27.0, 41.0, 77.0]),
                line("INT8", 1, Dash::Solid, &[9.7, 10.8, 12.9, 17.7, 27.9, 52.5]),
                line("INT8, CC", 1, Dash::Dashed, &[10.1, 11.2, 13.4, 18.3, 29.0, 54.9]),
            ],
            guides: vec![
                zone(None, Some(20.0), "instant", Tone::Good),
                zone(Some(20.0), Some(70.0), "acceptable", Tone::Caution),
                zone(Some(70.0), None, "sluggish", Tone::Bad),
                Guide::Horizontal { at: 50.0, name: "limit 50 ms".into(), tone: Tone::Bad },
            ],
            has_switch: true,
            ..Cartesian::default()
        },
    )
}

/// TTFT from 211 ms to 6.18 s: a range on a logarithmic axis.
pub fn ttft_range() -> Chart {
    let ends = [(211.0, 890.0), (230.0, 1210.0), (270.0, 1900.0), (340.0, 2890.0), (480.0, 6180.0)];
    let point = |(index, (low, high)): (usize, (f64, f64))| Point {
        x: f64::from(1 << index),
        low: Some(low),
        high: Some(high),
        ..Point::default()
    };
    let note = |x, y, text: &str| Note { x, y: Some(y), text: text.into(), tone: Tone::Neutral };
    chart(
        "ttft-range",
        "How long until the first token?",
        Cartesian {
            x: axis("concurrency", "users", Scale::Log2),
            y: axis("TTFT P95", "ms", Scale::Log10),
            series: vec![Series {
                name: "best to worst scenario".into(),
                color: 2,
                form: Form::Band,
                points: ends.into_iter().enumerate().map(point).collect(),
                ..Series::default()
            }],
            guides: vec![Guide::Horizontal {
                at: 2000.0,
                name: "limit 2 s".into(),
                tone: Tone::Bad,
            }],
            notes: vec![note(4.0, 1900.0, "Tool calling"), note(4.0, 270.0, "Chatbot")],
            ..Cartesian::default()
        },
    )
}

/// Throughput against speed, with the frontier and the area inside the limit.
pub fn pareto() -> Chart {
    let curve = |name: &str, color, weight, values: &[(f64, f64)]| {
        let label = |(index, (x, y)): (usize, &(f64, f64))| Point {
            x: *x,
            y: Some(*y),
            label: (weight != Weight::Faint).then(|| (1 << index).to_string()),
            ..Point::default()
        };
        Series {
            name: name.into(),
            color,
            weight,
            points: values.iter().enumerate().map(label).collect(),
            ..Series::default()
        }
    };
    chart(
        "pareto",
        "What does speed for one user cost in throughput?",
        Cartesian {
            x: axis("speed per user", "tok/s", linear()),
            y: axis("output per GPU", "tok/s", linear()),
            series: vec![
                curve(
                    "earlier run",
                    GREY,
                    Weight::Faint,
                    &[(150.0, 150.0), (121.0, 480.0), (80.0, 1270.0), (44.0, 1900.0)],
                ),
                curve(
                    "w8a8-gptq",
                    0,
                    Weight::Strong,
                    &[
                        (172.0, 172.0),
                        (166.0, 332.0),
                        (152.0, 608.0),
                        (130.0, 1042.0),
                        (101.0, 1622.0),
                        (70.0, 2259.0),
                    ],
                ),
                curve(
                    "original",
                    1,
                    Weight::Normal,
                    &[
                        (110.0, 110.0),
                        (107.0, 213.0),
                        (101.0, 404.0),
                        (88.0, 705.0),
                        (70.0, 1121.0),
                        (48.0, 1550.0),
                    ],
                ),
            ],
            guides: vec![Guide::Zone {
                along: Along::X,
                from: Some(50.0),
                to: None,
                name: "at least 50 tok/s for each user".into(),
                tone: Tone::Good,
            }],
            ..Cartesian::default()
        },
    )
}

/// End-to-end latency with and without confidential computing.
pub fn grouped_bars() -> Chart {
    let bars = |name: &str, dash, values: [f64; 4]| {
        let point = |(index, y): (usize, f64)| Point {
            x: index as f64,
            y: Some(y),
            low: Some(y * 0.97),
            high: Some(y * 1.03),
            ..Point::default()
        };
        Series {
            name: name.into(),
            dash,
            form: Form::Bar,
            points: values.into_iter().enumerate().map(point).collect(),
            ..Series::default()
        }
    };
    let note = |(index, (text, tone)): (usize, (&str, Tone))| Note {
        x: index as f64,
        y: None,
        text: text.into(),
        tone,
    };
    let notes = [
        ("+9.7 %", Tone::Bad),
        ("+1.2 %", Tone::Neutral),
        ("+4.1 %", Tone::Caution),
        ("−0.3 %", Tone::Neutral),
    ];
    let models = ["GPT-OSS 120B", "Llama 3.3 70B Instruct", "Gemma 3 27B", "Qwen 2.5 7B"];
    chart(
        "e2e-mean",
        "Random (1500 ⇒ 250) (100 Concurrent Requests)",
        Cartesian {
            x: axis("", "", names(&models)),
            y: axis("End-to-End Latency (Mean)", "s", linear()),
            series: vec![
                bars("No CC", Dash::Solid, [10.3, 24.1, 14.9, 5.2]),
                bars("CC", Dash::Dashed, [11.3, 24.4, 15.5, 5.18]),
            ],
            notes: notes.into_iter().enumerate().map(note).collect(),
            ..Cartesian::default()
        },
    )
}

/// Throughput as bars with a line and a second reading.
pub fn bars_and_line() -> Chart {
    let loads = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0];
    let output = [172.0, 332.0, 608.0, 1042.0, 1622.0, 2259.0];
    let ideal: Vec<(f64, f64)> = loads.iter().take(4).map(|n| (*n, n * 172.0)).collect();
    let pairs: Vec<(f64, f64)> = loads.into_iter().zip(output).collect();
    let y = Axis {
        second: Some(Second {
            name: "output".into(),
            unit: "tokens/h".into(),
            factor: 3600.0,
            is_inverse: false,
        }),
        ..axis("output", "tok/s", linear())
    };
    chart(
        "system",
        "How much comes out in all?",
        Cartesian {
            x: axis("concurrency", "users", Scale::Log2),
            y,
            series: vec![
                Series { form: Form::Bar, ..series("Chatbot", 0, &pairs) },
                Series {
                    dash: Dash::Dotted,
                    mark: Mark::None,
                    ..series("in proportion", GREY, &ideal)
                },
            ],
            guides: vec![Guide::Vertical { at: 16.0, name: "knee".into(), tone: Tone::Neutral }],
            ..Cartesian::default()
        },
    )
}

/// Users by use case.
pub fn capacity() -> Chart {
    let rows = [
        (32.0, "32", "limited by ITL", Dash::Solid),
        (12.0, "~12", "limited by ITL", Dash::Dotted),
        (8.0, "8", "limited by TTFT", Dash::Solid),
        (4.0, "4", "limited by errors", Dash::Solid),
    ];
    let point = |(index, row): (usize, (f64, &str, &str, Dash))| Point {
        x: index as f64,
        y: Some(row.0),
        text: Some(row.1.to_owned()),
        label: Some(row.2.to_owned()),
        is_trusted: row.3 == Dash::Solid,
        ..Point::default()
    };
    let cases = ["Chat", "Retrieval (RAG)", "Coding agent", "Tool calling with long context"];
    chart(
        "capacity",
        "How many users fit?",
        Cartesian {
            x: axis("", "", names(&cases)),
            y: axis("users inside the limits", "", linear()),
            series: vec![Series {
                form: Form::Bar,
                points: rows.into_iter().enumerate().map(point).collect(),
                ..series("users", 0, &[])
            }],
            is_horizontal: true,
            ..Cartesian::default()
        },
    )
}

/// Every repeat a dot, beside mean and interval.
pub fn repeats() -> Chart {
    let runs = [
        ("w8a8_gptq", [6402.0, 6371.0, 6433.0]),
        ("w8a8_smooth", [6280.0, 6391.0, 6310.0]),
        ("w8a16_awq", [5240.0, 5262.0, 3380.0]),
        ("original", [4190.0, 4172.0, 4205.0]),
    ];
    let dots = |(index, (_, values)): (usize, &(&str, [f64; 3]))| {
        values.map(|y| Point { x: index as f64, y: Some(y), ..Point::default() })
    };
    let mean = |(index, (_, values)): (usize, &(&str, [f64; 3]))| {
        let mean = values.iter().sum::<f64>() / 3.0;
        let [low, high] = [-1.0, 1.0].map(|sign| mean + sign * (values[0] - values[2]).abs());
        Point {
            x: index as f64,
            y: Some(mean),
            low: Some(low),
            high: Some(high),
            ..Point::default()
        }
    };
    let list: Vec<&str> = runs.iter().map(|(name, _)| *name).collect();
    chart(
        "repeats",
        "How much do repeats differ?",
        Cartesian {
            x: axis("", "", names(&list)),
            y: axis("output", "tok/s", linear()),
            series: vec![
                Series {
                    name: "mean with 95 % interval".into(),
                    form: Form::Bar,
                    points: runs.iter().enumerate().map(mean).collect(),
                    ..Series::default()
                },
                Series {
                    name: "one repeat".into(),
                    color: 1,
                    form: Form::Dots,
                    points: runs.iter().enumerate().flat_map(dots).collect(),
                    ..Series::default()
                },
            ],
            is_horizontal: true,
            ..Cartesian::default()
        },
    )
}

/// Latency with and without a condition, one row for each cell.
pub fn dumbbell() -> Chart {
    let rows = ["GPT-OSS 120B · 100", "GPT-OSS 120B · 50", "Gemma 3 27B · 100", "Qwen 2.5 7B · 1"];
    let dots = |name: &str, dash, values: [f64; 4]| {
        let pairs: Vec<(f64, f64)> =
            values.into_iter().enumerate().map(|(index, y)| (index as f64, y)).collect();
        Series { form: Form::Dots, dash, ..series(name, 0, &pairs) }
    };
    chart(
        "dumbbell",
        "Which cells suffer most?",
        Cartesian {
            x: axis("", "", names(&rows)),
            y: axis("End-to-End Latency (Mean)", "ms", Scale::Log10),
            series: vec![
                dots("No CC", Dash::Dashed, [10_300.0, 6_020.0, 14_900.0, 840.0]),
                dots("CC", Dash::Solid, [13_300.0, 6_920.0, 15_500.0, 852.0]),
            ],
            is_horizontal: true,
            is_joined: true,
            ..Cartesian::default()
        },
    )
}

/// Two cumulative distributions.
pub fn distribution() -> Chart {
    let steps = |name: &str, color, scale: f64| {
        let pairs: Vec<(f64, f64)> = (1..=40)
            .map(|i| {
                let share = f64::from(i) / 40.0;
                (scale * (1.0 + 0.8 * share * share + 0.02 / (1.02 - share)), share)
            })
            .collect();
        Series { form: Form::Step, mark: Mark::None, ..series(name, color, &pairs) }
    };
    chart(
        "cdf",
        "How are the waits spread?",
        Cartesian {
            x: axis("TTFT", "ms", linear()),
            y: axis("share of requests at or below", "", linear()),
            series: vec![steps("base", 0, 210.0), steps("INT8", 1, 150.0)],
            guides: vec![Guide::Vertical {
                at: 400.0,
                name: "limit 400 ms".into(),
                tone: Tone::Bad,
            }],
            ..Cartesian::default()
        },
    )
}

/// Served against offered load.
pub fn served() -> Chart {
    let base = [(1.0, 1.0), (5.0, 5.0), (10.0, 9.8), (20.0, 17.2), (30.0, 18.1)];
    let int8 = [(1.0, 1.0), (5.0, 5.0), (10.0, 10.0), (20.0, 19.7), (30.0, 26.0)];
    chart(
        "served",
        "Does the server keep up with what is asked of it?",
        Cartesian {
            x: axis("offered", "req/s", linear()),
            y: axis("served", "req/s", linear()),
            series: vec![series("base", 0, &base), series("INT8", 1, &int8)],
            guides: vec![Guide::Diagonal { name: "served = offered".into() }],
            ..Cartesian::default()
        },
    )
}

/// Speed of models with the limit that memory sets.
pub fn limits() -> Chart {
    let models = ["7B Q4_0", "13B Q4_0", "70B Q4_K_M"];
    let point = |index: f64, y: f64, text: &str| Point {
        x: index,
        y: Some(y),
        low: Some(y * 0.97),
        high: Some(y * 1.03),
        text: Some(text.to_owned()),
        ..Point::default()
    };
    chart(
        "limits",
        "How near is decoding to what memory allows?",
        Cartesian {
            x: axis("", "", names(&models)),
            y: axis("tg128", "tok/s", Scale::Log10),
            series: vec![
                Series {
                    form: Form::Bar,
                    points: vec![
                        point(0.0, 279.0, "279 ± 2"),
                        point(1.0, 151.0, "151 ± 1"),
                        point(2.0, 31.2, "31.2 ± 0.1"),
                    ],
                    ..series("measured", 0, &[])
                },
                Series {
                    form: Form::Tick,
                    ..series(
                        "at most (memory 1.79 TB/s)",
                        GREY,
                        &[(0.0, 468.0), (1.0, 250.0), (2.0, 45.0)],
                    )
                },
            ],
            is_horizontal: true,
            ..Cartesian::default()
        },
    )
}

/// Overhead of all cells of a grid.
pub fn heatmap() -> Chart {
    let models = ["GPT-OSS 120B", "Llama 3.3 70B", "Gemma 3 27B", "Qwen 2.5 7B"];
    let workloads = ["Random 1500/250", "ShareGPT"];
    let heading = |group: &str, name: &str| Heading {
        group: Some(group.to_owned()),
        name: name.to_owned(),
        short: None,
    };
    let columns: Vec<Heading> =
        models.iter().flat_map(|m| [heading(m, "mean"), heading(m, "P99")]).collect();
    let rows: Vec<Heading> =
        workloads.iter().flat_map(|w| ["100", "50", "1"].map(|n| heading(w, n))).collect();
    let mut cells = Vec::new();
    for row in 0..rows.len() {
        for column in 0..columns.len() {
            let value = ((row * 7 + column * 5) % 23) as f64 * 1.4 - 9.0;
            let state = if value.abs() < 2.0 { CellState::Tie } else { CellState::Shown };
            if (row, column) != (4, 3) {
                let text = format!("{value:+.1}").replace('-', "−");
                cells.push(Cell { row, column, value: Some(value), text, state });
            }
        }
    }
    Chart {
        id: "overhead".into(),
        title: "What does confidential computing cost?".into(),
        description: "Overhead from −9.0 % to +21.8 %.".into(),
        plot: Plot::Heatmap(Heatmap {
            name: "overhead".into(),
            unit: "%".into(),
            rows,
            columns,
            scale: HeatScale { middle: 0.0, reach: 15.0, is_ratio: false, is_more_better: false },
            cells,
        }),
    }
}

/// Blocks of a sliding window.
pub fn mask() -> Chart {
    let block = |row: usize, column: usize| match row.checked_sub(column) {
        Some(0) | Some(3) => Block::Partial,
        Some(1..=2) => Block::Full,
        _ => Block::Empty,
    };
    let row = |row: usize| (0..16).map(|column| block(row, column)).collect();
    Chart {
        id: "mask".into(),
        title: "Which blocks does a sliding window compute? 77.3 % are empty".into(),
        description: "16 by 16 blocks, 58 of them not empty.".into(),
        plot: Plot::Mask(Mask {
            row_name: "query block".into(),
            column_name: "key block".into(),
            rows: (0..16).map(row).collect(),
        }),
    }
}

/// One chart of every kind.
pub fn all() -> Vec<Chart> {
    vec![
        decode_speed(),
        itl(),
        ttft_range(),
        pareto(),
        grouped_bars(),
        bars_and_line(),
        capacity(),
        repeats(),
        dumbbell(),
        distribution(),
        served(),
        limits(),
        heatmap(),
        mask(),
    ]
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
            description: String::new(),
            plot: Plot::Heatmap(empty),
        },
        Chart {
            id: String::new(),
            title: String::new(),
            description: String::new(),
            plot: Plot::Mask(Mask { row_name: "q".into(), column_name: "k".into(), rows: vec![] }),
        },
    ]
}
