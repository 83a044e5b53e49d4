//! A ranking as text, JSON and Markdown.
//!
//! What is not here: the order, which comes from the analysis.

use super::json::{cell as cell_json, differences as differences_json, head, load, unit};
use super::words;
use crate::TerminalStyle;
use crate::format::{ABSENT, percent};
use crate::json::{Object, SCHEMA_VERSION};
use crate::markdown::escape;
use crate::terminal::Color;
use ifm_analysis::comparison::{DifferenceKind, Doubt, Ranked, Ranking};
use serde_json::{Value, json};

/// What the ranks mean, in one sentence.
fn rule(ranking: &Ranking) -> String {
    format!(
        "a rank is one more than the number of sides that are shown to be better by {} or more \
         ({} confidence over all pairs); sides of one rank are not shown to differ from the best \
         of them",
        percent(ranking.threshold),
        percent(ranking.confidence)
    )
}

/// Why sides are not shown to differ where the data do not decide, each reason once.
fn doubts(ranking: &Ranking) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for doubt in ranking.order.iter().flat_map(|ranked| &ranked.doubts) {
        let line = format!("not shown to differ, by what is known: {doubt}");
        if !lines.contains(&line) {
            lines.push(line);
        }
    }
    lines
}

/// What a value of a side with several runs is; absent where each has one.
fn of_runs(ranking: &Ranking) -> Option<&'static str> {
    let has_runs = |ranked: &Ranked| ranked.cell.is_some_and(|cell| cell.runs > 1);
    ranking.order.iter().any(has_runs).then_some(words::OF_RUNS)
}

fn title(ranking: &Ranking) -> String {
    let is_inter_event = ranking.order.iter().any(|ranked| ranked.side.is_inter_event);
    let measure = words::measure(ranking.measure, is_inter_event);
    format!("{measure} at {}", words::condition(&ranking.at))
}

/// Rank, value, side, and the sides that it is not shown to differ from.
fn cells(ranking: &Ranking, ranked: &Ranked) -> [String; 4] {
    let unit = ranking.measure.unit();
    let others = ranked.ties.iter().filter_map(|place| ranking.order.get(*place));
    let ties: Vec<String> = others.map(|other| crate::format::plain(&other.side.label)).collect();
    [
        ranked.rank.map_or_else(|| ABSENT.to_owned(), |rank| rank.to_string()),
        ranked.cell.map_or_else(|| ABSENT.to_owned(), |cell| words::bounds(unit, &cell)),
        words::side(&ranked.side.label, &ranked.side.runs),
        ties.join(", "),
    ]
}

/// What sides differ in that may explain the order.
fn warnings(ranking: &Ranking) -> Vec<(DifferenceKind, String)> {
    let mut lines = Vec::new();
    for (side, differences) in &ranking.differences {
        let loud = words::differences(differences).into_iter();
        let loud = loud.filter(|(kind, _)| *kind >= DifferenceKind::Warning);
        lines.extend(
            loud.map(|(kind, line)| (kind, format!("{}: {line}", crate::format::plain(side)))),
        );
    }
    lines
}

/// The ranking for people at a terminal; ends with a line break.
pub fn ranking_terminal(ranking: &Ranking, style: &TerminalStyle) -> String {
    let mut out = style.paint(Color::Bold, &style.text(&title(ranking)));
    out.push('\n');
    let rows: Vec<[String; 4]> =
        ranking.order.iter().map(|ranked| cells(ranking, ranked)).collect();
    let heads = ["rank", "value", "run", "not shown to differ from"].map(str::to_owned);
    let width = |column: usize| {
        let cells = rows.iter().chain([&heads]).filter_map(|row| row.get(column));
        cells.map(|cell| style.text(cell).chars().count()).max().unwrap_or(0)
    };
    let widths = [width(0), width(1), width(2)];
    for row in [&heads].into_iter().chain(&rows) {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(widths.iter().copied().chain([0])) {
            line.push_str(&format!("  {:<width$}", style.text(cell)));
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    for (kind, line) in warnings(ranking) {
        let color = if kind == DifferenceKind::Unlike { Color::Red } else { Color::Yellow };
        for line in crate::terminal::wrap(
            &style.text(&format!(" {} {line}", words::kind(kind))),
            style.width,
            "   ",
        ) {
            out.push_str(&style.paint(color, &line));
            out.push('\n');
        }
    }
    let notes = std::iter::once(rule(ranking)).chain(doubts(ranking));
    for line in notes.chain(of_runs(ranking).map(str::to_owned)) {
        for line in crate::terminal::wrap(&style.text(&format!(" · {line}")), style.width, "   ") {
            out.push_str(&style.paint(Color::Dim, &line));
            out.push('\n');
        }
    }
    out
}

/// The ranking as Markdown; ends with a line break.
pub fn ranking_markdown(ranking: &Ranking) -> String {
    let mut out = format!("## {}\n\n", escape(&title(ranking)));
    out.push_str("| rank | value | run | not shown to differ from |\n|--:|--:|---|---|\n");
    for ranked in &ranking.order {
        let cells = cells(ranking, ranked).map(|cell| escape(&cell));
        out.push_str(&format!("| {} |\n", cells.join(" | ")));
    }
    out.push('\n');
    for (kind, line) in warnings(ranking) {
        out.push_str(&format!("- {} {}\n", words::kind(kind), escape(&line)));
    }
    out.push_str(&format!("- {}\n", escape(&rule(ranking))));
    out.extend(doubts(ranking).iter().map(|line| format!("- {}\n", escape(line))));
    out.extend(of_runs(ranking).map(|line| format!("- {line}\n")));
    out
}

fn doubts_json(ranked: &Ranked) -> Value {
    let one = |doubt: &Doubt| json!({"id": doubt.word(), "text": doubt.to_string()});
    ranked.doubts.iter().map(one).collect()
}

/// The ranking as one JSON document; ends with a line break.
pub fn ranking_json(ranking: &Ranking) -> String {
    let (name, per) = unit(ranking.measure.unit());
    let ranked = |ranked: &Ranked| -> Value {
        let mut object = Object::default();
        object
            .set("side", head(&ranked.side))
            .set_known("rank", ranked.rank)
            .set_known("cell", ranked.cell.map(|found| cell_json(&found, per)))
            .set("ties", ranked.ties.clone())
            .set_known("doubts", (!ranked.doubts.is_empty()).then(|| doubts_json(ranked)))
            .take()
    };
    let differences: Vec<Value> = ranking
        .differences
        .iter()
        .map(|(side, found)| json!({"label": side, "differences": differences_json(found)}))
        .collect();
    let document = json!({
        "schema_version": SCHEMA_VERSION,
        "kind": "ranking",
        "metric": ranking.measure.to_string(),
        "unit": name,
        "load": load(&ranking.at),
        "confidence": ranking.confidence,
        "threshold": ranking.threshold,
        "order": ranking.order.iter().map(ranked).collect::<Vec<_>>(),
        "differences": differences,
    });
    format!("{document:#}\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::ranked;

    #[test]
    fn three_runs_in_order() {
        let style = TerminalStyle { width: 100, color: false, ascii: false, verbose: false };
        insta::assert_snapshot!(ranking_terminal(&ranked(), &style));
        let text = ranking_markdown(&ranked());
        assert!(text.contains("| 1 |") && text.contains("| 3 |") && !text.contains("| 2 |"));
        let document: Value = serde_json::from_str(&ranking_json(&ranked())).expect("JSON");
        let ranks: Vec<_> = document["order"]
            .as_array()
            .expect("a list")
            .iter()
            .map(|one| one["rank"].clone())
            .collect();
        assert_eq!(ranks, [1, 1, 3]);
        assert_eq!(document["order"][0]["ties"], json!([1]));
        assert_eq!(document["unit"], "tok/s");
    }
}
