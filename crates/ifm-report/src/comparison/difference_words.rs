//! In what two sides differ, in words: a line for each kind of difference.
//!
//! Not here: the differences themselves, which `ifm-compare` finds.

use crate::format::plain;
use ifm_compare::comparison::difference::{CLIENT_TIMING, NONE, NOT_GIVEN, NOTHING};
use ifm_compare::comparison::{Difference, DifferenceKind};

/// Things that are the same are named up to this number.
const SAME_NAMED: usize = 8;

/// What was looked at, as lines: the same in one line, each other kind in its own.
pub(crate) fn differences(differences: &[Difference]) -> Vec<(DifferenceKind, String)> {
    let mut lines = Vec::new();
    for difference in differences.iter().filter(|found| found.kind >= DifferenceKind::Warning) {
        if difference.what == CLIENT_TIMING {
            lines.extend(reasons(difference).into_iter().map(|line| (difference.kind, line)));
            continue;
        }
        lines.push((difference.kind, format!("{}: {}", difference.what, sides(difference))));
    }
    let of_kind = |kind: DifferenceKind| differences.iter().filter(move |found| found.kind == kind);
    let expected: Vec<String> = of_kind(DifferenceKind::Expected)
        .map(|found| format!("{} {}", found.what, sides(found)))
        .collect();
    if !expected.is_empty() {
        lines.push((DifferenceKind::Expected, expected.join(" · ")));
    }
    let same = || of_kind(DifferenceKind::Same).filter(|found| found.a.is_some());
    let named: Vec<&str> = same().take(SAME_NAMED).map(|found| found.what.as_str()).collect();
    if !named.is_empty() {
        let rest = same().count() - named.len();
        let rest = if rest > 0 { format!(" · and {rest} more") } else { String::new() };
        lines.push((DifferenceKind::Same, format!("{}{rest}", named.join(" · "))));
    }
    lines
}

/// A line for each reason of each side.
fn reasons(difference: &Difference) -> Vec<String> {
    let Difference { what, a, b, .. } = difference;
    let sides = match a == b {
        true => vec![("both sides", a)],
        false => vec![("first side", a), ("second side", b)],
    };
    let mut lines: Vec<String> = Vec::new();
    for (side, text) in sides {
        let text = text.as_deref().map_or_else(|| "not known".to_owned(), plain);
        if text == NONE {
            continue;
        }
        for reason in text.split("; ").flat_map(|reasons| reasons.split(" | ")) {
            let line = format!("{what}, {side}: {reason}");
            if !lines.contains(&line) {
                lines.push(line);
            }
        }
    }
    lines
}

pub(crate) fn sides(difference: &Difference) -> String {
    let side =
        |text: &Option<String>| text.as_deref().map_or_else(|| "not known".to_owned(), plain);
    let (a, b) = (side(&difference.a), side(&difference.b));
    let is_none = |side: &str| side == NONE || side == NOTHING;
    match (is_none(&a), is_none(&b)) {
        _ if difference.what == NOT_GIVEN => {
            let lacks = [("first side", &a), ("second side", &b)].into_iter();
            let lacks = lacks.filter(|(_, what)| !is_none(what));
            lacks.map(|(side, what)| format!("{what} ({side})")).collect::<Vec<_>>().join("; ")
        }
        _ if a == b => a,
        (true, false) => format!("{b} (only the second side)"),
        (false, true) => format!("{a} (only the first side)"),
        _ => format!("{a} → {b}"),
    }
}

/// The word at the start of the line for a kind of difference.
pub(crate) fn kind(kind: DifferenceKind) -> &'static str {
    match kind {
        DifferenceKind::Same => "same",
        DifferenceKind::Expected => "differs",
        DifferenceKind::Warning => "⚠",
        DifferenceKind::Unlike => "✗ unlike",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_name_only_the_side_that_states_something() {
        let found = |what: &str, a: &str, b: &str| Difference {
            what: what.to_owned(),
            kind: DifferenceKind::Warning,
            a: Some(a.to_owned()),
            b: Some(b.to_owned()),
            is_of_machine: false,
        };
        let all = [
            found(CLIENT_TIMING, NONE, "the client read late"),
            found("settings", NONE, "some overridden"),
            found(NOT_GIVEN, NOTHING, "kind of measurement"),
            found("version", "1", "2"),
        ];
        let lines: Vec<String> = differences(&all).into_iter().map(|(_, line)| line).collect();
        assert_eq!(
            lines,
            [
                "suspect client timing, second side: the client read late",
                "settings: some overridden (only the second side)",
                "not given, so it may differ: kind of measurement (second side)",
                "version: 1 → 2",
            ]
        );
    }
}
