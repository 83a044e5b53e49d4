//! The picture at several sizes and of several runs.

use super::*;
use crate::view::{Point, RunFacts, RunLeft};
use ifm_metrics::level::{GapLabel, MediaRates};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use std::sync::Arc;

const PLAIN: Look = Look { color: false, ascii: false, help: false };

fn picture(view: &View, look: &Look, width: u16, height: u16) -> Terminal<TestBackend> {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| draw(frame, view, look)).unwrap();
    terminal
}

fn text(view: &View, look: &Look, width: u16, height: u16) -> String {
    picture(view, look, width, height).backend().to_string()
}

fn row(users: u32) -> Row {
    Row {
        load: format!("{users} users"),
        output_tok_per_s: Some(f64::from(users) * 150.0),
        ttft_ns: (Some(91e6), Some(1.15e9)),
        gap_ns: (Some(6.3e6), Some(48.8e6)),
        ok_share: Some(0.999),
        verdict: if users < 64 { VerdictState::Pass } else { VerdictState::Fail },
    }
}

/// A sweep in its fourth level.
fn sweep() -> View {
    let past = (1..60).map(|step| Point {
        at_s: f64::from(step) * 0.5,
        events_per_s: f64::from(step / 15 + 1) * 200.0,
        whole_tok_per_s: 0.0,
        in_flight: f64::from(1 << (step / 15)),
    });
    let level = LevelView {
        number: 4,
        of: LevelCount::AtMost(9),
        load: "8 users".to_owned(),
        stage: Stage::Measuring,
        elapsed_s: 14.5,
        done_share: Some(0.71),
        left_s: Some(6.0),
        at_most: false,
        warmup: (8, 8),
        finished: 1190,
        failures: vec![("http_error", 12), ("timeout_first_token", 3)],
        in_flight: 8,
        speed: Some(Speed::Tokens(1024.4)),
        req_per_s: Some(4.02),
        ttft: Some(Percentiles { n: 1175, p50: 104_000_000, p90: 121_000_000, p99: 131_000_000 }),
        gap: Some(Percentiles { n: 300_800, p50: 7_800_000, p90: 8_600_000, p99: 9_900_000 }),
        gap_label: Some(GapLabel::InterToken),
        ..LevelView::default()
    };
    View {
        facts: Arc::new(RunFacts {
            name: "nightly".to_owned(),
            server: "http://127.0.0.1:8000/v1".to_owned(),
            model: "shisa-v2-unphi4-14b".to_owned(),
            workload: "chat".to_owned(),
        }),
        elapsed_s: 71.0,
        level: Some(level),
        left: Some(RunLeft { seconds: 126.0, at_most: true }),
        rows: Arc::new(vec![row(1), row(2), row(4)]),
        past: past.collect(),
        tokens_per_event: Some(1.0),
        message: None,
    }
}

#[test]
fn a_sweep_on_the_usual_screens() {
    for (width, height) in [(80, 24), (120, 40), (40, 10)] {
        insta::assert_snapshot!(
            format!("sweep_{width}x{height}"),
            text(&sweep(), &PLAIN, width, height)
        );
    }
}

#[test]
fn media_and_structured_answers_have_lines_of_their_own() {
    let mut view = sweep();
    let level = view.level.as_mut().unwrap();
    level.media = Some(MediaRates {
        images_per_s: Some(12.4),
        megapixels_per_s: Some(11.4),
        audio_s_per_s: None,
        frames_per_s: None,
    });
    level.media_bytes = Some(42_000_000);
    level.judged = (196, 4);
    let wide = text(&view, &PLAIN, 120, 40);
    assert!(wide.contains("12.4 images/s  11.4 megapixels/s  42.0 MB sent"), "{wide}");
    assert!(wide.contains("98% valid: 196 of 200 structured answers"), "{wide}");
    assert!(wide.contains("15 failed: 12 http error"), "nothing gives way: {wide}");
    let narrow = text(&view, &PLAIN, 60, 30);
    assert!(narrow.contains("12.4 images/s") && narrow.contains("98% valid"), "{narrow}");
    let line = line::in_log(&view);
    assert!(line.contains(", 12.4 images/s, 98% valid, ITL p99"), "{line}");
    view.level = Some(LevelView { made_audio_s_per_s: Some(30.0), ..LevelView::default() });
    assert!(text(&view, &PLAIN, 120, 40).contains("30.0 audio s/s made"));
}

#[test]
fn nothing_is_known_yet() {
    insta::assert_snapshot!("nothing_yet", text(&View::default(), &PLAIN, 80, 24));
    let mut begun = sweep();
    begun.past.clear();
    begun.rows = Arc::default();
    begun.tokens_per_event = None;
    begun.left = None;
    begun.level = Some(LevelView {
        number: 1,
        load: "1 user".to_owned(),
        warmup: (0, 1),
        ..LevelView::default()
    });
    let picture = text(&begun, &PLAIN, 80, 24);
    assert!(picture.contains("warming up 0/1") && picture.contains('–'), "{picture}");
    assert!(!picture.contains('%'), "no share without a known end: {picture}");
}

#[test]
fn all_have_failed() {
    let mut failed = sweep();
    let level = failed.level.as_mut().unwrap();
    level.failures = vec![("http_error", 1190)];
    (level.ttft, level.gap, level.speed, level.gap_label) = (None, None, None, None);
    failed.tokens_per_event = None;
    failed.past.iter_mut().for_each(|point| point.events_per_s = 0.0);
    let nothing = Row {
        output_tok_per_s: None,
        ttft_ns: (None, None),
        gap_ns: (None, None),
        ok_share: Some(0.0),
        verdict: VerdictState::Fail,
        ..row(1)
    };
    failed.rows = Arc::new(vec![nothing]);
    let picture = text(&failed, &PLAIN, 80, 24);
    assert!(picture.contains("1 190 failed: 1 190 http error"), "{picture}");
    assert!(picture.contains("outside"), "{picture}");
}

#[test]
fn the_last_of_a_hundred_levels_are_shown() {
    let mut many = sweep();
    many.rows = Arc::new((1..=100).map(row).collect());
    let picture = text(&many, &PLAIN, 80, 24);
    assert!(picture.contains("of 100") && picture.contains("100 users"), "{picture}");
    assert!(!picture.contains(" 50 users"), "{picture}");
}

/// Names that are long, wide, or hold what a terminal would obey.
fn odd_names() -> View {
    let mut odd = sweep();
    odd.facts = Arc::new(RunFacts {
        name: "模型评测🚀".repeat(20),
        server: format!("http://{}.example/v1", "a".repeat(200)),
        model: "e\u{301}\u{1b}[31m\tmodel\n👩‍👩‍👧‍👦".to_owned(),
        workload: "字".repeat(50),
    });
    odd.message = Some("finishing 8 requests ≤ 5 s … 完".repeat(9));
    odd
}

#[test]
fn every_size_is_drawn_without_a_panic() {
    let views = [sweep(), View::default(), odd_names()];
    for view in &views {
        for width in [1, 2, 3, 10, 39, 40, 41, 75, 76, 79, 80, 81, 120, 300] {
            for height in [1, 2, 3, 7, 8, 9, 12, 15, 16, 20, 23, 24, 25, 60] {
                for help in [false, true] {
                    let look = Look { color: true, help, ..PLAIN };
                    let drawn = picture(view, &look, width, height);
                    let area = drawn.backend().buffer().area;
                    assert_eq!((area.width, area.height), (width, height));
                }
            }
        }
    }
    assert!(text(&views[0], &PLAIN, 39, 24).contains("too small"));
}

#[test]
fn ascii_means_ascii() {
    let look = Look { ascii: true, help: true, ..PLAIN };
    for view in [sweep(), odd_names()] {
        for (width, height) in [(80, 24), (120, 40), (40, 10)] {
            let drawn = picture(&view, &look, width, height);
            let all = drawn.backend().buffer().content.iter();
            let odd: Vec<&str> =
                all.map(|cell| cell.symbol()).filter(|symbol| !symbol.is_ascii()).collect();
            assert!(odd.is_empty(), "{odd:?}");
        }
    }
    insta::assert_snapshot!("sweep_ascii", text(&sweep(), &Look { ascii: true, ..PLAIN }, 80, 24));
}

#[test]
fn colours_are_left_out_where_they_are_not_wanted() {
    let has_color = |look: &Look| {
        let drawn = picture(&sweep(), look, 80, 24);
        let buffer = drawn.backend().buffer();
        buffer.content.iter().any(|cell| cell.fg != Color::Reset || cell.bg != Color::Reset)
    };
    assert!(!has_color(&PLAIN));
    assert!(has_color(&Look { color: true, ..PLAIN }));
}

#[test]
fn an_axis_ends_at_a_round_number() {
    let tops = [0.0, f64::NAN, 0.3, 1.0, 1.1, 499.0, 501.0].map(round_up);
    assert_eq!(tops, [1.0, 1.0, 0.5, 1.0, 2.0, 500.0, 1000.0]);
}
