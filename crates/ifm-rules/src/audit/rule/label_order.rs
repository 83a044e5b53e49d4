//! Repeats are listed in the order of their numbers.

use super::super::{Cell, Finding, Level, Looked, Rule, Subject};

pub(super) const RULE: Rule =
    Rule { id: "label_order", title: "repeats are in the order of their numbers", look };

fn look(subject: &Subject) -> Looked {
    let repeats = subject.repeats();
    let numbered: Vec<(&Vec<&Cell>, Vec<u64>)> = repeats
        .iter()
        .filter_map(|cells| {
            let numbers: Option<Vec<u64>> = cells.iter().map(|cell| number(cell)).collect();
            Some((cells, numbers?))
        })
        .collect();
    if numbered.is_empty() {
        return Looked::Needs("repeats with numbers in their labels");
    }
    let falls = |numbers: &[u64]| {
        numbers.windows(2).position(|pair| matches!(pair, [before, after] if before > after))
    };
    let out: Vec<&Cell> = numbered
        .iter()
        .filter_map(|(cells, numbers)| cells.get(falls(numbers)? + 1).copied())
        .collect();
    let Some(first) = out.first() else { return Looked::Found(Vec::new()) };
    let text = format!(
        "{} of {} groups of repeats are not in the order of their numbers, such as {}: they may have \
         been merged manually, or have wrong labels",
        out.len(),
        numbered.len(),
        first.name()
    );
    let finding = Finding::new(RULE.id, Level::Hint, text)
        .at_all(out.iter().map(|cell| cell.spot()))
        .with("groups", out.len() as f64, "")
        .with("of groups", numbered.len() as f64, "")
        .remedy("list the repeats as they ran, with the time of each");
    Looked::Found(vec![finding])
}

/// The number at the end of a label: `chat_run2`.
fn number(cell: &Cell) -> Option<u64> {
    let label = cell.row.label.as_deref()?;
    let name = label.trim_end_matches(|c: char| c.is_ascii_digit());
    label.get(name.len()..)?.parse().ok().filter(|_| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::{check, row, sheet};
    use super::*;
    use ifm_core::Metric;
    use ifm_core::sheet::{PartKind, Statistic, Unit};

    #[test]
    fn reports_a_number_out_of_order() {
        let run = |line: u32, label: &str| {
            let mut row = row(line, &[(Metric::E2e, Statistic::Value, "0.51", Unit::S)]);
            row.label = Some(label.to_owned());
            row
        };
        let sound = sheet(PartKind::StaticBatch, vec![run(1, "a1"), run(2, "a2"), run(3, "a10")]);
        let corrupt = |sheet: &mut ifm_core::Sheet| sheet.parts[0].rows.swap(0, 1);
        check("label_order", &sound, corrupt, Level::Hint, "such as a1");
    }
}
