//! Lists of keys and values: `- Latency: 0.51s` under the name of a run, or lines of their own.

use super::super::heading;
use super::super::measure::{Meaning, meaning, plain};
use super::super::text::{Line, Text};
use super::{Tried, bare_part, figures, is_measured, setting_value};
use ifm_core::order::Order as _;
use ifm_core::sheet::{Factors, Figure, Place, Row, RowRole, key};
use serde_json::{Map, Value};

/// Words in the name of a group that is computed from others.
const SUMMARIES: &[&str] =
    &["statistic", "summary", "average", "aggregate", "overall", "mean of", "total"];
/// Rows of one list; what follows is a list of its own.
const ROWS_MAX: usize = 100_000;
/// Longest item that is looked at, bytes.
const ITEM_BYTES_MAX: usize = 400;

/// A name with the lines below it.
struct Group {
    line: u32,
    indent: usize,
    name: String,
    summary: bool,
    factors: Factors,
    figures: Vec<Figure>,
    unknown: Map<String, Value>,
}

impl Group {
    fn new(line: u32, indent: usize, name: String, summary: bool) -> Group {
        Group {
            line,
            indent,
            name,
            summary,
            factors: Factors::default(),
            figures: Vec::new(),
            unknown: Map::new(),
        }
    }

    fn row(self) -> Option<Row> {
        // A size or a length alone describes a machine.
        if !self.figures.iter().any(|figure| is_measured(figure.quantity)) {
            return None;
        }
        let role = if self.summary { RowRole::Summary } else { RowRole::Measured };
        let mut row = Row::new(role, Place::line(self.line));
        let mut factors = heading::factors(&self.name);
        if let Some(repeat) = repeat(&self.name) {
            factors.set(key::REPEAT, repeat);
        }
        row.factors = self.factors.within(&factors);
        row.label = (!self.name.is_empty() && !self.summary).then_some(self.name);
        row.figures = self.figures;
        row.unknown = self.unknown;
        Some(row)
    }
}

pub(super) fn read(first: Line<'_>, text: &Text) -> Option<Tried> {
    item(first)?;
    let mut rows: Vec<Row> = Vec::new();
    let mut open: Vec<Group> = vec![Group::new(first.number, 0, String::new(), false)];
    let mut last_line = first.number;
    for line in text.from(first.number) {
        if line.text.trim().is_empty() {
            let next = text.from(line.number + 1).take(3).find(|next| !next.text.trim().is_empty());
            if next.and_then(item).is_none_or(|item| !item.bullet) {
                break;
            }
            continue;
        }
        let Some(item) = item(line).filter(|_| rows.len() < ROWS_MAX) else { break };
        last_line = line.number;
        while open.len() > 1 && open.last().is_some_and(|group| group.indent > item.indent) {
            rows.extend(open.pop().and_then(Group::row));
        }
        let summary = open.iter().any(|group| group.summary);
        let Some(group) = open.last_mut() else { break };
        if item.value.is_empty() {
            let name = item.key.to_lowercase();
            let summary = summary || SUMMARIES.iter().any(|word| name.contains(word));
            open.push(Group::new(line.number, item.indent + 1, item.key, summary));
            continue;
        }
        if group.name.is_empty() && begins_again(group, &item) {
            let next = Group::new(line.number, 0, String::new(), false);
            rows.extend(std::mem::replace(group, next).row());
        }
        take(group, &item, line.number);
    }
    rows.extend(open.into_iter().filter_map(Group::row));
    rows.order_by_key(|row| row.place.line);
    let part = (!rows.is_empty()).then(|| bare_part(first.number, rows));
    Some(Tried { part, last_line, remarks: Vec::new() })
}

/// Whether a list without names comes to a key for the second time: another record begins.
fn begins_again(group: &Group, item: &Item) -> bool {
    match meaning(&item.key) {
        Some(Meaning::Figure(named)) => group.figures.iter().any(|figure| {
            figure.quantity == named.quantity
                && named.statistic.is_none_or(|statistic| figure.statistic == statistic)
        }),
        Some(Meaning::Setting(factor)) => group.factors.get(factor).is_some(),
        None => false,
    }
}

fn take(group: &mut Group, item: &Item, line: u32) {
    let meant = meaning(&item.key);
    let unread = match meant {
        Some(Meaning::Figure(named)) => match figures(&named, &item.value, line) {
            Some(all) => {
                group.figures.extend(all);
                false
            }
            None => true,
        },
        Some(Meaning::Setting(factor)) => match setting_value(&item.value) {
            Some(value) => {
                group.factors.set(factor, value);
                false
            }
            None => true,
        },
        None => true,
    };
    if unread {
        group.unknown.insert(item.key.clone(), Value::String(item.value.clone()));
    }
}

struct Item {
    indent: usize,
    bullet: bool,
    key: String,
    value: String,
}

/// A line that is an item: one with a bullet, or a key that is understood and its value.
fn item(line: Line<'_>) -> Option<Item> {
    if line.text.len() > ITEM_BYTES_MAX {
        return None;
    }
    let trimmed = line.text.trim_start();
    let indent = line.text.len() - trimmed.len();
    let bulleted = ["- ", "* ", "+ ", "• "].iter().find_map(|bullet| trimmed.strip_prefix(bullet));
    let text = bulleted.unwrap_or(trimmed);
    let (key, value) = match text.split_once(':') {
        Some((key, value)) => (key, value.trim().trim_start_matches("**").trim()),
        None if bulleted.is_some() => (text, ""),
        None => return None,
    };
    let key = plain(key).trim_end_matches(':').to_owned();
    let value = if bulleted.is_some() && !text.contains(':') { "" } else { value };
    if bulleted.is_none()
        && (value.is_empty() || !matches!(meaning(&key), Some(Meaning::Figure(_))))
    {
        return None;
    }
    Some(Item { indent, bullet: bulleted.is_some(), key, value: plain(value) })
}

/// The number of a repeat at the end of a name: `…_run3`, `… repeat 2`.
fn repeat(name: &str) -> Option<u32> {
    let digits = name.len() - name.trim_end_matches(|c: char| c.is_ascii_digit()).len();
    let (before, number) = name.split_at_checked(name.len() - digits)?;
    let before = before.trim_end_matches(['_', '-', ' ', '#']).to_lowercase();
    let word =
        ["run", "repeat", "rep", "iteration", "iter", "trial"].iter().any(|w| before.ends_with(w));
    number.parse().ok().filter(|number| word && (1..10_000).contains(number))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ifm_core::Metric;
    use ifm_core::sheet::Statistic;

    fn rows(text: &str) -> Vec<Row> {
        let text = Text::new(text.as_bytes());
        let tried = read(text.line(1).unwrap(), &text).unwrap();
        tried.part.map_or(Vec::new(), |part| part.rows)
    }

    #[test]
    fn runs_and_their_statistics() {
        let rows = rows(
            "- **Total runs:** 2\n\n- **Individual runs:**\n\n  - `x_run1`:\n    - Latency: 0.51s\n    \
             - Input Throughput: N/A\n  - `x_run2`:\n    - Latency: 0.53s\n- **Statistics:**\n\n  \
             - Latency: 0.52 ± 0.01\n\n#### next\n",
        );
        let roles: Vec<RowRole> = rows.iter().map(|row| row.role).collect();
        assert_eq!(roles, [RowRole::Measured, RowRole::Measured, RowRole::Summary]);
        assert_eq!(rows[0].label.as_deref(), Some("x_run1"));
        assert_eq!(rows[1].factors.get(key::REPEAT), Some("2"));
        assert_eq!(rows[0].value(Metric::E2e, Statistic::Value), Some(510.0));
        assert_eq!(rows[0].figures[1].value, None);
        assert_eq!(rows[2].value(Metric::E2e, Statistic::Mean), None, "no unit is written");
        assert_eq!(rows[2].figures[0].value, Some(0.52));
    }

    #[test]
    fn lines_without_bullets() {
        let rows = rows("Mean TTFT: 50 ms\nOutput throughput: 400 tok/s\nMean TTFT: 60 ms\nend\n");
        assert_eq!(rows.len(), 2);
        assert_eq!(rows[1].value(Metric::Ttft, Statistic::Mean), Some(60.0));
    }

    #[test]
    fn shopping_is_no_result() {
        assert!(rows("- Milk: 2\n- Bread\n").is_empty());
        assert!(rows("- GPU: H100\n- Memory: 80 GB\n").is_empty());
    }
}
