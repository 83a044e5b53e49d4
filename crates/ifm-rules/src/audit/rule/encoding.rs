//! Characters are those that were written.

use super::super::{Finding, Level, Looked, Rule, Spot, Subject};
use ifm_core::sheet::RemarkKind;
use ifm_core::words::counted;

pub(super) const RULE: Rule =
    Rule { id: "encoding", title: "text is decoded as it was written", look };

fn look(subject: &Subject) -> Looked {
    let mut spots = Vec::new();
    for sheet in subject.sheets() {
        let repaired = sheet.remarks.iter().filter(|remark| remark.kind == RemarkKind::Repaired);
        spots.extend(repaired.map(|remark| Spot {
            document: sheet.source.name.clone(),
            place: remark.place.clone(),
        }));
    }
    if subject.sheets().is_empty() {
        return Looked::Needs("a document");
    }
    if spots.is_empty() {
        return Looked::Found(Vec::new());
    }
    let kinds = counted(spots.len() as u64, "kind");
    let text =
        format!("{kinds} of damage: characters read in the wrong encoding and written again");
    let finding = Finding::new(RULE.id, Level::Strong, text)
        .with("kinds", spots.len() as f64, "")
        .at_all(spots)
        .remedy("write and read the document as UTF-8");
    Looked::Found(vec![finding])
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::{check, row, sheet};
    use super::*;
    use ifm_core::sheet::{PartKind, Place, Remark};

    #[test]
    fn reports_repaired_text() {
        let sound = sheet(PartKind::Other, vec![row(1, &[])]);
        let corrupt = |sheet: &mut ifm_core::Sheet| {
            sheet.remarks.push(Remark {
                kind: RemarkKind::Repaired,
                place: Place::line(12),
                text: "plus-minus".to_owned(),
            });
        };
        check("encoding", &sound, corrupt, Level::Strong, "1 kind of damage");
    }
}
