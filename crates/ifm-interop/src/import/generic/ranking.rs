//! A ranking: places or medals, names, and the figure that they are ordered by.

use super::super::heading;
use super::super::measure::{Cell, Dimension, plain};
use super::super::text::{Line, Text};
use super::{Tried, bare_part};
use ifm_core::Metric;
use ifm_core::sheet::{Figure, Place, Remark, RemarkKind, Row, RowRole, Statistic, Unit, key};

/// What a place is marked with.
enum Mark {
    Number(f64),
    /// Something that is not a letter and no digit: a medal, or what is left of one.
    Sign,
}

struct Entry<'a> {
    mark: Mark,
    printed: &'a str,
    name: String,
    value: f64,
    digits: String,
    unit: Option<(Unit, Dimension)>,
}

/// The name under which the figure is kept until the headings tell what it is.
pub(crate) const RANKED: &str = "ranked by";

pub(super) fn read(first: Line<'_>, text: &Text) -> Option<Tried> {
    entry(first.text).filter(|entry| is_first(&entry.mark))?;
    let mut rows = Vec::new();
    let mut remarks = Vec::new();
    let mut last_line = first.number;
    for line in text.from(first.number) {
        let Some(entry) = entry(line.text) else { break };
        let place = (rows.len() + 1) as f64;
        let rank = match entry.mark {
            Mark::Number(number) => number,
            Mark::Sign => medal(entry.printed).unwrap_or_else(|| {
                remarks.push(Remark {
                    kind: RemarkKind::Assumed,
                    place: Place::line(line.number),
                    text: format!("place {place} of a ranking, by its order: {}", entry.printed),
                });
                place
            }),
        };
        // A smaller number begins another list.
        if rank < place {
            break;
        }
        last_line = line.number;
        rows.push(row(&entry, rank, line.number));
    }
    let part = (rows.len() >= 2).then(|| bare_part(first.number, rows));
    Some(Tried { part, last_line, remarks })
}

fn is_first(mark: &Mark) -> bool {
    match mark {
        Mark::Number(number) => *number == 1.0,
        Mark::Sign => true,
    }
}

fn row(entry: &Entry<'_>, rank: f64, line: u32) -> Row {
    let mut row = Row::new(RowRole::Summary, Place::line(line));
    row.label = Some(entry.name.clone());
    row.factors = heading::factors(&entry.name);
    // What is nothing but a format of weights is not a name of a model.
    if row.factors.get(key::QUANTIZATION) != Some(&entry.name) {
        row.factors.set(key::MODEL, &entry.name);
    }
    row.figures.push(
        Figure::new(Metric::Rank, Statistic::Value, rank, Unit::Count).as_printed(entry.printed),
    );
    let unit = entry.unit.as_ref().map_or(Unit::Other(String::new()), |(unit, _)| unit.clone());
    let quantity = Metric::other(RANKED);
    row.figures.push(
        Figure::new(quantity, Statistic::Value, entry.value, unit).as_printed(entry.digits.clone()),
    );
    row
}

fn entry(line: &str) -> Option<Entry<'_>> {
    let line = line.trim();
    let line = line.strip_prefix("- ").unwrap_or(line);
    let (printed, rest) = line.split_once(' ')?;
    let number = printed.trim_start_matches('#').trim_end_matches(['.', ')', ':']);
    let mark = match number.parse::<f64>() {
        Ok(number) if printed.len() <= 6 && number.fract() == 0.0 => Mark::Number(number),
        Ok(_) => return None,
        Err(_) => {
            let sign = printed.chars().count() <= 4
                && !printed.is_ascii()
                && !printed
                    .chars()
                    .any(|c| c.is_ascii_alphanumeric() || ('\u{2010}'..='\u{27ff}').contains(&c));
            if !sign {
                return None;
            }
            Mark::Sign
        }
    };
    let (name, value) =
        [": ", " – ", " — ", " - "].iter().find_map(|mark| rest.rsplit_once(mark))?;
    // A comment behind the number makes a sentence of the line.
    let Cell::Number { value, printed: digits, unit, mark: None, .. } = Cell::read(value) else {
        return None;
    };
    let name = plain(name).trim_end_matches(':').to_owned();
    (!name.is_empty()).then_some(Entry { mark, printed, name, value, digits, unit })
}

fn medal(text: &str) -> Option<f64> {
    Some(match text.chars().next()? {
        '🥇' => 1.0,
        '🥈' => 2.0,
        '🥉' => 3.0,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medals_and_numbers() {
        let text = Text::new(
            "🥇 **a_x**: 19.5 tok/s\n🥈 **b**: 18 tok/s\n3. **c**: 17 tok/s\n\nend".as_bytes(),
        );
        let tried = read(text.line(1).unwrap(), &text).unwrap();
        let part = tried.part.unwrap();
        assert_eq!((part.rows.len(), tried.last_line), (3, 3));
        assert_eq!(part.rows[1].value(Metric::Rank, Statistic::Value), Some(2.0));
        assert_eq!(part.rows[2].label.as_deref(), Some("c"));
    }

    #[test]
    fn a_broken_medal_has_the_place_of_its_order() {
        let text = Text::new("ðŸ¥ a: 5 ms\nðŸ¥ b: 6 ms\n".as_bytes());
        let tried = read(text.line(1).unwrap(), &text).unwrap();
        assert_eq!(tried.remarks.len(), 2);
        assert_eq!(tried.part.unwrap().rows[1].value(Metric::Rank, Statistic::Value), Some(2.0));
    }

    #[test]
    fn steps_of_a_recipe_are_none() {
        let text = Text::new(b"1. Start the server\n2. Wait: long\n");
        assert!(read(text.line(1).unwrap(), &text).is_none());
    }
}
