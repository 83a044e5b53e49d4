//! A ranking as text, JSON and Markdown.
//!
//! What is not here: the order, which comes from the analysis.

use super::json::{cell as cell_json, differences as differences_json, head, load, unit};
use super::words;
use crate::TerminalStyle;
use crate::format::{ABSENT, number, percent};
use crate::json::{Object, SCHEMA_VERSION};
use crate::markdown::escape;
use crate::terminal::Color;
use ifm_compare::comparison::contrast::SHARE_POINTS_MIN;
use ifm_compare::comparison::{DifferenceKind, Doubt, Ranked, Ranking, Undecided};
use serde_json::{Value, json};

/// Undecided pairs that are explained one by one, at most.
const PAIRS_MAX: usize = 6;

/// What the ranks mean, in one sentence.
pub(crate) fn rule(ranking: &Ranking) -> String {
    format!(
        "a rank is one more than the number of sides that are shown to be better by {} or more \
         ({} confidence over all pairs); sides share a rank where no difference is shown; a range \
         such as 1-2 contains every rank that the data allow",
        match ranking.measure.is_share() {
            true => format!("{} points", number(SHARE_POINTS_MIN * 100.0)),
            false => percent(ranking.threshold),
        },
        percent(ranking.confidence)
    )
}

/// The pairs that the data cannot tell apart, and why.
pub(crate) fn doubts(ranking: &Ranking) -> Vec<String> {
    let mut pairs = Vec::new();
    for (place, ranked) in ranking.order.iter().enumerate() {
        for undecided in ranked.undecided.iter().filter(|undecided| undecided.other > place) {
            let Some(other) = ranking.order.get(undecided.other) else { continue };
            let reason = words::reason_of_pair(
                undecided.doubt.as_ref(),
                undecided.detectable.map(|least| (ranking.measure, least)),
            );
            pairs.push(format!(
                "{} and {} cannot be distinguished: {reason}",
                crate::format::plain(&ranked.side.label),
                crate::format::plain(&other.side.label)
            ));
        }
    }
    let more = pairs.len().saturating_sub(PAIRS_MAX);
    pairs.truncate(PAIRS_MAX);
    pairs.extend((more > 0).then(|| format!("{more} more pairs cannot be distinguished")));
    pairs
}

/// Sides without a rank, because they are predictions among measurements.
fn unranked(ranking: &Ranking) -> Option<String> {
    let is_unranked = |ranked: &&Ranked| {
        ranked.rank.is_none() && ranked.cell.is_some() && ranked.side.is_predicted
    };
    let sides = ranking.order.iter().filter(is_unranked);
    let names: Vec<String> = sides.map(|of| crate::format::plain(&of.side.label)).collect();
    let verb = if names.len() == 1 { "is predicted and has" } else { "are predicted and have" };
    (!names.is_empty()).then(|| format!("{} {verb} no rank among measurements", names.join(", ")))
}

/// What a value of a side with several runs is; absent where each has one.
pub(crate) fn of_runs(ranking: &Ranking) -> Option<&'static str> {
    let has_runs = |ranked: &Ranked| ranked.cell.is_some_and(|cell| cell.runs > 1);
    ranking.order.iter().any(has_runs).then_some(words::OF_RUNS)
}

pub(crate) fn title(ranking: &Ranking) -> String {
    let is_inter_event = ranking.order.iter().any(|ranked| ranked.side.is_inter_event);
    let measure = words::measure(ranking.measure, is_inter_event);
    format!("{measure} at {}", words::condition(&ranking.at))
}

/// What follows the name of a side that the data cannot tell apart.
const UNDECIDED: &str = " (cannot be distinguished)";

/// Rank, value, side, and the sides that it is not shown to differ from.
pub(crate) fn cells(ranking: &Ranking, ranked: &Ranked) -> [String; 4] {
    let unit = ranking.measure.unit();
    let mut ties: Vec<(usize, &str)> = ranked.equal.iter().map(|other| (*other, "")).collect();
    ties.extend(ranked.undecided.iter().map(|undecided| (undecided.other, UNDECIDED)));
    ties.sort_unstable_by_key(|(place, _)| *place);
    let name = |(place, note): (usize, &str)| {
        let label = &ranking.order.get(place)?.side.label;
        Some(format!("{}{note}", crate::format::plain(label)))
    };
    let ties: Vec<String> = ties.into_iter().filter_map(name).collect();
    let rank = ranked.rank.map(|first| match ranked.last_rank {
        Some(last) if last > first => format!("{first}-{last}"),
        _ => first.to_string(),
    });
    [
        rank.unwrap_or_else(|| ABSENT.to_owned()),
        ranked.cell.map_or_else(|| ABSENT.to_owned(), |cell| words::bounds(unit, &cell)),
        words::side(&ranked.side.label, &ranked.side.runs),
        ties.join(", "),
    ]
}

/// What sides differ in that may explain the order.
pub(crate) fn warnings(ranking: &Ranking) -> Vec<(DifferenceKind, String)> {
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
    let notes = std::iter::once(rule(ranking)).chain(unranked(ranking)).chain(doubts(ranking));
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
    let notes = unranked(ranking).into_iter().chain(doubts(ranking));
    out.extend(notes.map(|line| format!("- {}\n", escape(&line))));
    out.extend(of_runs(ranking).map(|line| format!("- {line}\n")));
    out
}

fn doubts_json(ranked: &Ranked) -> Vec<Value> {
    let mut doubts: Vec<&Doubt> = Vec::new();
    for doubt in ranked.undecided.iter().filter_map(|undecided| undecided.doubt.as_ref()) {
        if !doubts.contains(&doubt) {
            doubts.push(doubt);
        }
    }
    doubts.iter().map(|doubt| doubt_json(doubt)).collect()
}

fn doubt_json(doubt: &Doubt) -> Value {
    json!({"id": doubt.word(), "text": doubt.to_string()})
}

fn undecided_json(undecided: &Undecided) -> Value {
    Object::default()
        .set("side", undecided.other)
        .set_known("doubt", undecided.doubt.as_ref().map(doubt_json))
        .set_known("detectable", undecided.detectable)
        .take()
}

/// The ranking as one JSON document; ends with a line break.
pub fn ranking_json(ranking: &Ranking) -> String {
    let (name, per) = unit(ranking.measure.unit());
    let ranked = |ranked: &Ranked| -> Value {
        let mut object = Object::default();
        let doubts = doubts_json(ranked);
        let undecided = ranked.undecided.iter();
        let mut ties: Vec<usize> = undecided.clone().map(|of| of.other).collect();
        ties.extend(&ranked.equal);
        ties.sort_unstable();
        object
            .set("side", head(&ranked.side))
            .set_known("rank", ranked.rank)
            .set_known("last_rank", ranked.last_rank)
            .set_known("cell", ranked.cell.map(|found| cell_json(&found, per)))
            .set("ties", ties)
            .set("equal", ranked.equal.clone())
            .set("undecided", undecided.map(undecided_json).collect::<Vec<_>>())
            .set_known("doubts", (!doubts.is_empty()).then_some(doubts))
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
        assert_eq!(document["order"][0]["equal"], json!([1]));
        assert_eq!(document["order"][2]["last_rank"], 3);
        assert_eq!(document["unit"], "tok/s");
    }
}
