//! The progress line: one line of what matters, cut to the width of the terminal by leaving out
//! whole parts, the least important first.

use super::view::{LevelView, Speed, Stage, View};
use super::words;
use crate::view::LevelCount;

/// Cells of the bar.
const BAR_CELLS: usize = 12;

/// A part of the line, and how soon it gives way: the largest number first.
struct Part(u8, String);

/// The line for a terminal of this width, which is replaced by the next one.
pub fn on_terminal(view: &View, width: usize, ascii: bool) -> String {
    let Some(level) = &view.level else { return String::new() };
    let mut parts = vec![Part(0, label(level, ascii))];
    match level.done_share {
        Some(share) => parts.push(Part(7, words::bar(share, BAR_CELLS, ascii))),
        None => parts.push(Part(7, words::seconds(level.elapsed_s))),
    }
    parts.extend(progress(view, level));
    // The last column stays free: some terminals wrap when it is written.
    let room = width.saturating_sub(1);
    let length = |parts: &[Part]| {
        parts.iter().map(|part| part.1.chars().count() + 2).sum::<usize>().saturating_sub(2)
    };
    while length(&parts) > room && parts.len() > 1 {
        let least = parts.iter().map(|part| part.0).max().unwrap_or(0);
        parts.retain(|part| part.0 != least);
    }
    let line = parts.into_iter().map(|part| part.1).collect::<Vec<_>>().join("  ");
    line.chars().take(room).collect()
}

/// The line for a log, where each one stays.
pub fn in_log(view: &View) -> String {
    let Some(level) = &view.level else { return String::new() };
    let parts: Vec<String> = progress(view, level).into_iter().map(|part| part.1).collect();
    let elapsed = words::seconds(level.elapsed_s);
    format!("{}: {}", label(level, true), [vec![elapsed], parts].concat().join(", "))
}

fn label(level: &LevelView, ascii: bool) -> String {
    match level.of {
        LevelCount::Exactly(1) => level.load.clone(),
        _ if ascii => format!("{}, {}", level.place(ascii), level.load),
        _ => format!("{} · {}", level.place(ascii), level.load),
    }
}

fn progress(view: &View, level: &LevelView) -> Vec<Part> {
    let mut parts = Vec::new();
    match (level.stage, level.done_share) {
        (Stage::WarmingUp, _) => match level.warmup {
            (_, 0) => parts.push(Part(1, "starting".to_owned())),
            (done, all) => parts.push(Part(1, format!("warming up {done}/{all}"))),
        },
        (Stage::Finishing, _) => parts.push(Part(1, "finishing".to_owned())),
        (_, Some(share)) => parts.push(Part(1, words::percent(share))),
        (_, None) => {}
    }
    parts.extend(level.left_words().map(|left| Part(2, left)));
    if level.stage != Stage::WarmingUp {
        parts.push(Part(4, format!("{} done", words::count(level.finished))));
    }
    if level.failed() > 0 {
        parts.push(Part(3, format!("{} failed", words::count(level.failed()))));
    }
    parts.push(Part(9, format!("{} in flight", words::count(level.in_flight))));
    parts.extend(level.speed.map(|speed| Part(5, speed_words(speed))));
    parts.extend(level.media_words().into_iter().next().map(|text| Part(5, text)));
    parts.extend(level.valid_words().map(|text| Part(6, text)));
    parts.extend(percentile(level).map(|text| Part(6, text)));
    if let (Some(left), false) = (view.left, level.of == LevelCount::Exactly(1)) {
        parts.push(Part(8, format!("run: {}", left.words())));
    }
    parts
}

/// `4 236 tok/s`.
pub fn speed_words(speed: Speed) -> String {
    match speed {
        Speed::Tokens(rate) => format!("{} tok/s", words::number(rate)),
        Speed::Events(rate) => format!("{} token events/s", words::number(rate)),
    }
}

/// The percentile that says most: of the gaps, or of the first token where there are none.
fn percentile(level: &LevelView) -> Option<String> {
    let of = |name: &str, p99: u64| format!("{name} p99 {}", words::span(p99 as f64));
    match (level.gap, level.ttft) {
        (Some(gap), _) => Some(of(level.gap_name(), gap.p99)),
        (None, Some(ttft)) => Some(of("TTFT", ttft.p99)),
        (None, None) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::{Percentiles, RunLeft};

    fn view() -> View {
        let level = LevelView {
            number: 5,
            of: LevelCount::AtMost(9),
            load: "128 users".to_owned(),
            stage: Stage::Measuring,
            elapsed_s: 101.0,
            done_share: Some(0.71),
            left_s: Some(39.0),
            finished: 1190,
            in_flight: 128,
            speed: Some(Speed::Tokens(4236.0)),
            gap: Some(Percentiles { n: 9, p50: 1, p90: 2, p99: 41_200_000 }),
            ..LevelView::default()
        };
        let left = Some(RunLeft { seconds: 240.0, at_most: true });
        View { level: Some(level), left, ..View::default() }
    }

    #[test]
    fn parts_give_way_and_are_never_cut() {
        let wide = on_terminal(&view(), 200, true);
        assert_eq!(
            wide,
            "level 5/<=9, 128 users  #########...  71%  39 s left  1 190 done  128 in flight  \
             4 236 tok/s  ITL p99 41.2 ms  run: at most 4 min 00 s left"
        );
        let parts: Vec<&str> = wide.split("  ").collect();
        for width in 23..200 {
            let line = on_terminal(&view(), width, true);
            assert!(line.len() < width, "{width}: {line}");
            assert!(line.split("  ").all(|part| parts.contains(&part)), "{width}: {line}");
        }
        assert_eq!(
            on_terminal(&view(), 80, true),
            "level 5/<=9, 128 users  71%  39 s left  1 190 done  4 236 tok/s"
        );
        assert_eq!(on_terminal(&view(), 5, false).chars().count(), 4);
        assert_eq!(on_terminal(&view(), 0, false), "");
    }

    #[test]
    fn no_percent_without_a_known_end() {
        let mut open = view();
        let level = open.level.as_mut().unwrap();
        (level.done_share, level.left_s, level.of) = (None, None, LevelCount::Open);
        level.failures = vec![("http_error", 3), ("timeout_idle", 1)];
        open.left = None;
        let line = in_log(&open);
        assert_eq!(
            line,
            "level 5, 128 users: 1 min 41 s, 1 190 done, 4 failed, 128 in flight, \
             4 236 tok/s, ITL p99 41.2 ms"
        );
    }

    #[test]
    fn a_level_that_begins_has_no_numbers() {
        let level = LevelView {
            load: "8 users".to_owned(),
            of: LevelCount::Exactly(1),
            warmup: (3, 8),
            in_flight: 5,
            ..LevelView::default()
        };
        let view = View { level: Some(level), ..View::default() };
        assert_eq!(on_terminal(&view, 80, false), "8 users  0 s  warming up 3/8  5 in flight");
        assert_eq!(on_terminal(&View::default(), 80, false), "");
    }
}
