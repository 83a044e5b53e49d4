//! Repeats carry labels of their own.

use super::super::{Finding, Level, Looked, Rule, Subject};
use std::collections::BTreeMap;

pub(super) const RULE: Rule =
    Rule { id: "duplicate_label", title: "every run has its own label", look };

fn look(subject: &Subject) -> Looked {
    let repeats = subject.repeats();
    let labelled: Vec<_> =
        repeats.iter().filter(|cells| cells.iter().all(|cell| cell.row.label.is_some())).collect();
    if labelled.is_empty() {
        return Looked::Needs("repeats with labels");
    }
    let mut spots = Vec::new();
    let mut groups = 0;
    let mut example = None;
    for cells in &labelled {
        let mut by_label: BTreeMap<&str, Vec<_>> = BTreeMap::new();
        for cell in cells.iter() {
            by_label.entry(cell.row.label.as_deref().unwrap_or_default()).or_default().push(cell);
        }
        let mut is_doubled = false;
        for (label, cells) in by_label.into_iter().filter(|(_, cells)| cells.len() > 1) {
            is_doubled = true;
            example.get_or_insert_with(|| label.to_owned());
            spots.extend(cells.iter().skip(1).map(|cell| cell.spot()));
        }
        groups += usize::from(is_doubled);
    }
    let Some(example) = example else { return Looked::Found(Vec::new()) };
    let text = format!(
        "{groups} of {} groups of repeats use a label twice, such as {example}: either a run is \
         shown twice, or it is not the run that its label names",
        labelled.len()
    );
    let finding = Finding::new(RULE.id, Level::Proof, text)
        .at_all(spots)
        .with("groups", groups as f64, "")
        .with("of groups", labelled.len() as f64, "")
        .remedy("number the repeats from the files that they came from");
    Looked::Found(vec![finding])
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::{check, row, sheet};
    use super::*;
    use ifm_core::Metric;
    use ifm_core::sheet::{PartKind, Statistic, Unit};

    #[test]
    fn reports_a_label_that_is_used_twice() {
        let run = |line: u32, label: &str| {
            let mut row = row(line, &[(Metric::E2e, Statistic::Value, "0.51", Unit::S)]);
            row.label = Some(label.to_owned());
            row
        };
        let sound = sheet(PartKind::StaticBatch, vec![run(1, "a1"), run(2, "a2"), run(3, "a3")]);
        let corrupt =
            |sheet: &mut ifm_core::Sheet| sheet.parts[0].rows[1].label = Some("a3".to_owned());
        check("duplicate_label", &sound, corrupt, Level::Proof, "1 of 1 groups");
    }
}
