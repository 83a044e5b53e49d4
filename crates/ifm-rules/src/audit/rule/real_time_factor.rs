//! A real-time factor says what it covers.
//!
//! The factors of a request and of a level differ by the number of requests in flight.

use super::super::{Cell, Finding, Level, Looked, Rule, Subject};
use ifm_core::Metric;
use ifm_core::sheet::RowRole;

pub(super) const RULE: Rule =
    Rule { id: "real_time_factor", title: "real-time factors say what they cover", look };

/// Names of real-time factors.
const REAL_TIME: [&str; 3] = ["rtfx", "real time factor", "realtime factor"];
/// Words by which such a name says what it covers.
const OF_WHAT: [&str; 6] = ["request", "level", "total", "wall", "overall", "run"];

fn look(subject: &Subject) -> Looked {
    let roles = [RowRole::Measured, RowRole::Summary, RowRole::Stated];
    let cells: Vec<&Cell> = roles.into_iter().flat_map(|role| subject.cells(role)).collect();
    let (mut seen, mut found) = (0, Vec::new());
    for cell in cells {
        let known = [Metric::Rtfx, Metric::LevelRtfx];
        seen += known.iter().filter(|quantity| cell.central(**quantity).is_some()).count();
        for other in cell.others().iter().filter(|other| other.value > 0.0) {
            if REAL_TIME.iter().any(|name| other.name.contains(name)) {
                seen += 1;
                let finding = of_nothing(cell, &other.name, other.value);
                found.extend(finding.map(|finding| finding.at(other.spot.clone())));
            }
        }
    }
    match seen {
        0 => Looked::Needs("a real-time factor"),
        _ => Looked::Found(found),
    }
}

/// A real-time factor that does not say what it covers.
fn of_nothing(cell: &Cell, name: &str, factor: f64) -> Option<Finding> {
    // The source of a known tool defines its factor.
    if cell.measured_by().is_some() || OF_WHAT.iter().any(|word| name.contains(word)) {
        return None;
    }
    let text = format!(
        "{}: a {name} of {factor} does not say what it covers: the audio of one request over its \
         time, or of all over the time of the run; they differ by the number of requests in \
         flight",
        cell.name()
    );
    let finding = Finding::new(RULE.id, Level::Hint, text)
        .with("real-time factor", factor, "")
        .remedy("state whether it is of a request or of the run, and how many were in flight");
    Some(finding)
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::{check, row, sheet};
    use super::*;
    use ifm_core::Sheet;
    use ifm_core::sheet::{PartKind, Statistic, Unit};

    fn told(name: &str) -> Sheet {
        let figures = [
            (Metric::RequestsOk, Statistic::Value, "100", Unit::Count),
            (Metric::other(name), Statistic::Value, "41.5", Unit::Count),
        ];
        sheet(PartKind::Serving, vec![row(3, &figures)])
    }

    #[test]
    fn a_factor_has_to_say_of_what_it_is() {
        let corrupt = |sheet: &mut Sheet| *sheet = told("RTFx");
        check(
            "real_time_factor",
            &told("RTFx of a request"),
            corrupt,
            Level::Hint,
            "a rtfx of 41.5",
        );
        let mut own = told("RTFx");
        own.source.tool = Some("vllm bench serve".to_owned());
        let corrupt = |sheet: &mut Sheet| sheet.source.tool = None;
        check("real_time_factor", &own, corrupt, Level::Hint, "does not say what it covers");
    }
}
