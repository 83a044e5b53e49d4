//! Characters and tables.

use crate::sample;
use ifm_chart::{Chart, Plot, Screen, braille, csv, table};

fn screen(columns: u16, lines: u16, is_ascii: bool) -> Screen {
    Screen { columns, lines, is_ascii, has_color: false }
}

fn charts() -> Vec<Chart> {
    sample::all().into_iter().chain(sample::hostile()).collect()
}

#[test]
fn every_chart_fits_into_every_terminal() {
    for chart in charts() {
        for (columns, lines) in [(0, 0), (20, 8), (80, 24), (200, 60)] {
            for is_ascii in [false, true] {
                let text = braille(&chart, screen(columns, lines, is_ascii));
                assert!(text.lines().count() <= usize::from(lines.clamp(8, 200)), "{}", chart.id);
                for line in text.lines() {
                    let width = ratatui::text::Span::raw(line).width();
                    assert!(width <= usize::from(columns.max(20)), "{}: {line}", chart.id);
                    assert_eq!(line, line.trim_end());
                }
            }
        }
    }
}

#[test]
fn ascii_is_ascii() {
    for chart in sample::all() {
        let text = braille(&chart, screen(80, 24, true));
        assert!(text.is_ascii(), "{}:\n{text}", chart.id);
    }
}

#[test]
fn lines_have_ticks_names_and_the_limit() {
    let text = braille(&sample::itl(), screen(80, 24, false));
    for words in ["ITL P99 (ms)", "limit 50 ms", "a base", "d INT8, CC", "concurrency (users)"] {
        assert!(text.contains(words), "{words}\n{text}");
    }
    assert!(text.chars().any(|letter| ('⠁'..='⣿').contains(&letter)));
    let ticks = text.lines().find(|line| line.trim_start().starts_with("1 ")).unwrap();
    let found: Vec<&str> = ticks.split_whitespace().collect();
    assert_eq!(found, ["1", "2", "4", "8", "16", "32"]);
}

#[test]
fn bars_are_as_long_as_their_numbers() {
    let text = braille(&sample::capacity(), screen(80, 24, false));
    let bar = |name: &str| {
        let line = text.lines().find(|line| line.contains(name)).unwrap();
        line.chars().filter(|letter| matches!(letter, '█' | '░')).count()
    };
    let (chat, agent) = (bar("Chat"), bar("Coding"));
    assert!(chat.abs_diff(4 * agent) <= 4, "{chat} {agent}\n{text}");
    assert!(text.contains("~12") && text.contains("░"));
}

#[test]
fn figures_stand_beside_dots_and_in_cells() {
    let dots = braille(&sample::dumbbell(), screen(80, 24, false));
    assert!(dots.contains("a─") && dots.contains("10.3k → 13.3k"), "{dots}");
    let cells = braille(&sample::heatmap(), screen(100, 24, false));
    for words in ["+21.8 ▼", "−9.0 ▲", "+0.8 =", "·"] {
        assert!(cells.contains(words), "{words}\n{cells}");
    }
}

#[test]
fn colour_only_where_it_is_asked_for() {
    let chart = sample::pareto();
    let coloured = braille(&chart, Screen { has_color: true, ..screen(80, 24, false) });
    assert!(coloured.contains("\u{1b}["));
    assert!(!braille(&chart, screen(80, 24, false)).contains('\u{1b}'));
}

#[test]
fn the_table_holds_the_bits_that_are_drawn() {
    let chart = sample::decode_speed();
    let table = table(&chart);
    assert_eq!(table.head[0], "concurrency (users)");
    assert_eq!(table.head[1], "Chatbot (tok/s)");
    let Plot::Cartesian(plot) = &chart.plot else { panic!("not cartesian") };
    for (column, series) in plot.series.iter().enumerate() {
        for (row, point) in series.points.iter().enumerate() {
            let cell: f64 = table.rows[row][column + 1].parse().unwrap();
            assert_eq!(Some(cell.to_bits()), point.y.map(f64::to_bits));
        }
    }
}

#[test]
fn tables_are_rectangular_and_read_back() {
    for chart in charts() {
        let table = table(&chart);
        assert!(table.rows.iter().all(|row| row.len() == table.head.len()), "{}", chart.id);
        let text = csv(&chart);
        let head = text.lines().next().unwrap_or_default();
        assert!(!head.is_empty() && text.ends_with('\n'), "{}", chart.id);
    }
    let text = csv(&sample::itl());
    assert!(text.contains("\"base, CC (ms)\""), "{text}");
}

#[test]
fn points_of_their_own_get_rows_of_their_own() {
    let pareto = table(&sample::pareto());
    assert_eq!(
        pareto.head,
        ["series", "speed per user (tok/s)", "output per GPU (tok/s)", "label"]
    );
    assert_eq!(pareto.rows[4], ["w8a8-gptq", "172", "172", "1"]);
    let repeats = table(&sample::repeats());
    assert_eq!(repeats.rows.len(), 4 + 12);
    let overhead = table(&sample::heatmap());
    assert_eq!(overhead.rows[4][4], "", "what is missing is empty");
}
