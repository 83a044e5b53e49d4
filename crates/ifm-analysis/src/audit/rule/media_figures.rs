//! Figures of images and of sound that cannot be read as they stand: too few tokens for the images,
//! and a real-time factor of nobody knows what.
//!
//! Clients that count image tokens themselves get it wrong without failing: SGLang's reported 2 a
//! request where the server read 326 (its pull request 38035). A real-time factor of a request and
//! that of a level differ by the number of requests in flight.

use super::super::{Cell, Finding, Level, Looked, Rule, Subject};
use ifm_core::sheet::{Quantity, RowRole};

pub(super) const RULE: Rule = Rule {
    id: "media_figures",
    title: "tokens of images can hold them, and real-time factors say of what they are",
    look,
};

/// Models that are known make so many tokens of the smallest image that they take, 56 x 56 pixels.
const EACH_MIN: f64 = 4.0;
/// Names of tokens of images.
const VISION: [&str; 3] = ["vision tokens", "image tokens", "multimodal tokens"];
/// Names of real-time factors.
const REAL_TIME: [&str; 3] = ["rtfx", "real time factor", "realtime factor"];
/// Words by which such a name says of what it is.
const OF_WHAT: [&str; 5] = ["request", "level", "total", "wall", "overall"];

fn look(subject: &Subject) -> Looked {
    let roles = [RowRole::Measured, RowRole::Summary, RowRole::Stated];
    let cells: Vec<&Cell> = roles.into_iter().flat_map(|role| subject.cells(role)).collect();
    let (mut seen, mut found) = (0, Vec::new());
    for cell in cells {
        for other in cell.others().iter().filter(|other| other.value > 0.0) {
            let has = |names: &[&str]| names.iter().any(|name| other.name.contains(name));
            let finding = if has(&VISION) && !other.is_share {
                too_few(cell, &other.name, other.value)
            } else if has(&REAL_TIME) {
                of_nothing(cell, &other.name, other.value)
            } else {
                continue;
            };
            seen += 1;
            found.extend(finding.map(|finding| finding.at(other.spot.clone())));
        }
    }
    match seen {
        0 => Looked::Needs("tokens of images, or a real-time factor"),
        _ => Looked::Found(found),
    }
}

/// A sum of tokens that is too small for one image in each request.
fn too_few(cell: &Cell, name: &str, tokens: f64) -> Option<Finding> {
    let is_sum = name.contains("total") && !name.contains("mean");
    let requests = if is_sum { cell.tokens(&Quantity::RequestsOk)? } else { 1.0 };
    let each = tokens / requests.max(1.0);
    if each >= EACH_MIN {
        return None;
    }
    let text = format!(
        "{}: {name} are {each:.1} a request, fewer than the {EACH_MIN:.0} that the smallest image takes: \
         the client counted them, and not as the model reads them",
        cell.name()
    );
    let finding = Finding::new(RULE.id, Level::Strong, text)
        .with("tokens of images of a request", each, "tokens")
        .remedy("take what the server tells, or the difference of a prompt with and without it");
    Some(finding)
}

/// A real-time factor without a word of what it is.
fn of_nothing(cell: &Cell, name: &str, factor: f64) -> Option<Finding> {
    // What a known tool's factor is stands in its source.
    let is_known = cell.part.tool.is_some() || cell.sheet.source.tool.is_some();
    if is_known || OF_WHAT.iter().any(|word| name.contains(word)) {
        return None;
    }
    let text = format!(
        "{}: a {name} of {factor} does not say of what it is: the sound of one request over its \
         time, or of all over the time of the run; they differ by the number of requests in flight",
        cell.name()
    );
    let finding = Finding::new(RULE.id, Level::Hint, text)
        .with("real-time factor", factor, "")
        .remedy("say whether it is of a request or of the run, and how many were in flight");
    Some(finding)
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::{check, row, sheet};
    use super::*;
    use ifm_core::Sheet;
    use ifm_core::sheet::{PartKind, Statistic, Unit};

    fn told(name: &str, value: &str) -> Sheet {
        let figures = [
            (Quantity::RequestsOk, Statistic::Value, "100", Unit::Count),
            (Quantity::Other(name.to_owned()), Statistic::Value, value, Unit::Count),
        ];
        sheet(PartKind::Serving, vec![row(3, &figures)])
    }

    #[test]
    fn tokens_that_cannot_hold_an_image_are_told() {
        let name = "total_input_vision_tokens";
        let spoil = |sheet: &mut Sheet| *sheet = told(name, "200");
        check("media_figures", &told(name, "32600"), spoil, Level::Strong, "2.0 a request");
    }

    #[test]
    fn a_factor_has_to_say_of_what_it_is() {
        let spoil = |sheet: &mut Sheet| *sheet = told("RTFx", "41.5");
        let sound = told("RTFx of a request", "41.5");
        check("media_figures", &sound, spoil, Level::Hint, "a rtfx of 41.5");
        let mut own = told("RTFx", "41.5");
        own.source.tool = Some("vllm bench serve".to_owned());
        let spoil = |sheet: &mut Sheet| sheet.source.tool = None;
        check("media_figures", &own, spoil, Level::Hint, "does not say of what it is");
    }
}
