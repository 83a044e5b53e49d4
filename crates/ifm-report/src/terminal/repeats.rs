//! The repeats of each load, taken together, below the table of levels.

use super::{Color, TerminalStyle, wrap};
use crate::ReportModel;
use crate::format::{ABSENT, number, span};
use crate::model::load;
use crate::words::{REPEATS_CAPTION, between, inside};
use ifm_metrics::Repeated;
use ifm_metrics::repeats::Between;

/// Widths of the loads, of the numbers of repeats, of a figure, and of the last column.
const WIDTHS: [usize; 4] = [6, 9, 16, 16];

/// A figure: its head, and what it shows. The first ones go last when the terminal is narrow.
type Figure = (String, fn(&Repeated) -> Option<String>);

fn of(figure: Option<Between>, write: fn(f64) -> String) -> Option<String> {
    figure.map(|figure| between(&figure, write))
}

/// The table with its caption, each line ended; empty where no load was measured twice.
pub fn table(model: &ReportModel, style: &TerminalStyle) -> String {
    let repeats = &model.summary.repeats;
    if repeats.is_empty() {
        return String::new();
    }
    let gap = model.gap_label().short();
    let figures: [Figure; 6] = [
        ("out tok/s".to_owned(), |all| of(all.output_tok_per_s, number)),
        (format!("{gap} p99"), |all| of(all.gap_ns_p99, span)),
        ("TTFT p99".to_owned(), |all| of(all.ttft_ns_p99, span)),
        ("tok/s/user".to_owned(), |all| {
            let mark = if all.user_speed_is_estimated { "~" } else { "" };
            Some(format!("{mark}{}", of(all.user_tok_per_s, number)?))
        }),
        ("TTFT p50".to_owned(), |all| of(all.ttft_ns_p50, span)),
        (format!("{gap} p50"), |all| of(all.gap_ns_p50, span)),
    ];
    let [loads, counts, each, last] = WIDTHS;
    let room = style.width.saturating_sub(loads + counts + last) / each;
    let figures = figures.get(..room.clamp(1, figures.len())).unwrap_or_default();
    let line = |first: &str, second: &str, cells: Vec<String>, end: &str| {
        let mut line = format!("{first:>loads$}{second:>counts$}");
        cells.iter().for_each(|cell| line.push_str(&format!("{:>each$}", style.text(cell))));
        format!("{line}  {}\n", style.text(end)).replace(" \n", "\n")
    };
    let heads = figures.iter().map(|(head, _)| head.clone()).collect();
    let has_target = !model.manifest.spec.slo.is_default;
    let head = line(model.load_unit(), "repeats", heads, if has_target { "inside" } else { "" });
    let mut out = format!("\n{}\n", style.paint(Color::Bold, head.trim_end()));
    for repeated in repeats {
        let cells = figures
            .iter()
            .map(|(_, show)| show(repeated).unwrap_or_else(|| ABSENT.to_owned()))
            .collect();
        let count = repeated.levels.len().to_string();
        let inside = if has_target { inside(repeated) } else { String::new() };
        out.push_str(&line(&load(Some(repeated.load)), &count, cells, &inside));
    }
    for text in wrap(&style.text(&format!("     {REPEATS_CAPTION}")), style.width, "     ") {
        out.push_str(&style.paint(Color::Dim, &text));
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::model;
    use ifm_metrics::testing::{closed_loop, run};

    fn three_and_two() -> ReportModel {
        let users = [2, 4, 2, 4, 2];
        let ttft_ms = [100.0, 600.0, 110.0, 400.0, 120.0];
        let requests = (0..5u16).flat_map(|level| {
            let at = usize::from(level);
            let start = (u32::from(level) * 200, level);
            closed_loop(start, (users[at], 40), 0.0, (ttft_ms[at], 10.0, 16))
        });
        model(&run(&users, requests.collect()))
    }

    /// A capacity search measures from both sides towards the edge.
    #[test]
    fn levels_are_listed_by_load_whatever_their_order() {
        let users = [8, 32, 16, 8, 32];
        let requests = (0..5u16).flat_map(|level| {
            let at = usize::from(level);
            closed_loop((u32::from(level) * 200, level), (users[at], 40), 0.0, (100.0, 10.0, 16))
        });
        let model = model(&run(&users, requests.collect()));
        assert!(
            model.conditions().contains(&"closed loop, 8, 16, 32 users, some repeated".to_owned())
        );
        let style = TerminalStyle { width: 100, color: false, ascii: false, verbose: false };
        let text = crate::terminal(&model, &style);
        let first = |line: &str| line.split_whitespace().next().and_then(|word| word.parse().ok());
        let (levels, repeats) = text.split_once("repeats").expect("two tables");
        let loads = |text: &str| text.lines().filter_map(first).collect::<Vec<u32>>();
        assert_eq!(loads(levels), [8, 8, 16, 32, 32], "{text}");
        assert_eq!(loads(repeats), [8, 32], "{text}");
        // The document keeps the order in which they ran.
        let document: serde_json::Value = serde_json::from_str(&crate::json(&model)).expect("JSON");
        let asked = document["levels"].as_array().expect("levels").iter();
        let asked: Vec<_> = asked.map(|level| level["concurrency_asked"].as_u64()).collect();
        assert_eq!(asked, users.map(|users| Some(u64::from(users))), "{}", document["levels"][0]);
    }

    #[test]
    fn repeats_stand_together_below_the_levels() {
        let model = three_and_two();
        let style = TerminalStyle { width: 120, color: false, ascii: false, verbose: false };
        insta::assert_snapshot!(super::super::terminal(&model, &style));
        for width in [60, 80, 100, 200] {
            let style = TerminalStyle { width, color: false, ascii: true, verbose: false };
            let text = table(&model, &style);
            assert!(text.is_ascii() && text.contains("2 "), "{text}");
            assert!(text.lines().all(|line| line.chars().count() <= width), "{width}: {text}");
        }
    }

    #[test]
    fn repeats_that_contradict_each_other_have_no_mean() {
        let gaps_ms = [10.0, 20.0, 10.0];
        let requests = (0..3u16).flat_map(|level| {
            let at = usize::from(level);
            closed_loop((u32::from(level) * 200, level), (2, 60), 0.0, (100.0, gaps_ms[at], 16))
        });
        let model = model(&run(&[2, 2, 2], requests.collect()));
        let summary = &model.summary;
        let found = summary.answers.as_ref().expect("levels");
        let all = crate::words::answers(found, &summary.checks);
        let [users, each, output, _] = all.as_slice() else { panic!("{all:?}") };
        assert!(users.detail.ends_with("; ✗ noise failed at this load"), "{users:?}");
        // 1 / 10 ms and 1 / 20 ms.
        assert_eq!(each.value, "50.0 to 100");
        assert!(each.detail.starts_with("3 repeats that differ too much for a mean"), "{each:?}");
        assert!(!output.detail.contains("tokens/hour"), "{output:?}");
    }

    #[test]
    fn tokens_that_shared_reads_have_no_speed() {
        // Two of three gaps are zero.
        let mut requests = closed_loop((0, 0), (1, 40), 0.0, (100.0, 10.0, 16));
        for record in &mut requests {
            let at_ns = &mut record.events.at_ns;
            let first_ns = at_ns[0];
            for (place, at_ns) in at_ns.iter_mut().enumerate() {
                *at_ns = first_ns + (place as u64 / 3) * 10_000_000;
            }
        }
        let model = model(&run(&[1], requests));
        let found = model.summary.answers.as_ref().expect("a level");
        let each = crate::words::answers(found, &model.summary.checks).remove(1);
        assert_eq!((each.value.as_str(), each.unit), ("not known", ""));
        assert!(each.detail.contains("most tokens shared reads"), "{each:?}");
    }

    #[test]
    fn pages_and_json_have_them_too() {
        let model = three_and_two();
        let page = crate::markdown(&model);
        assert!(page.contains("Repeats together") && page.contains("110 ms ±23%"), "{page}");
        let json: serde_json::Value = serde_json::from_str(&crate::json(&model)).expect("JSON");
        let two = &json["repeats"][0];
        assert_eq!((&two["users"], &two["ttft_s_p50"]["n"]), (&2.into(), &3.into()));
        assert_eq!(two["levels"], serde_json::json!([0, 2, 4]));
        assert!((two["ttft_s_p50"]["high"].as_f64().expect("three") - 0.137_586).abs() < 1e-6);
        assert_eq!(json["repeats"][1]["ttft_s_p50"].get("high"), None);
        assert_eq!(json["answers"]["at"]["repeats"], 3);
    }
}
