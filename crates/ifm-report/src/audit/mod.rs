//! An audit to text, JSON and Markdown.
//!
//! What is not here: the findings, which come from [`ifm_rules::audit`].

mod json;
mod markdown;
mod terminal;
mod text;

pub use json::{AuditDocument, audit_json};
pub use markdown::audit_markdown;
pub use terminal::audit_terminal;
pub(crate) use terminal::blind;
pub use text::{AuditText, FindingText, audit_text};

use ifm_core::words::counted;
use ifm_rules::audit::{Audit, Finding, Level, Looked, Spot};

/// Findings of at least a level.
pub(crate) fn at_least(audit: &Audit, level: Level) -> Vec<&Finding> {
    audit.findings().into_iter().filter(|finding| finding.level >= level).collect()
}

/// `2 proofs, 1 strong, 3 hints; 12 rules applied, 4 had no data`.
pub(crate) fn closing(audit: &Audit) -> String {
    let findings = audit.findings();
    let of = |level: Level| findings.iter().filter(|finding| finding.level == level).count();
    let (proofs, hints) = (of(Level::Proof), of(Level::Hint));
    let looked = audit.rules.iter().filter(|rule| matches!(rule.looked, Looked::Found(_))).count();
    format!(
        "{}, {} strong, {}; {} applied, {} had no data",
        counted(proofs as u64, "proof"),
        of(Level::Strong),
        counted(hints as u64, "hint"),
        counted(looked as u64, "rule"),
        audit.rules.len() - looked
    )
}

/// `doc.md:412`, or the pointer where there is no line.
fn spot(spot: &Spot) -> String {
    let line = spot.place.line.map(|line| format!(":{line}")).unwrap_or_default();
    let pointer = spot.place.pointer.as_deref().map(|p| format!(" {p}")).unwrap_or_default();
    format!("{}{line}{pointer}", crate::format::plain(&spot.document))
}

/// Places of a finding that people are shown; JSON has the others too.
const SPOTS_SHOWN: usize = 5;

/// The places of a finding in one line.
pub(crate) fn spots(finding: &Finding) -> String {
    let mut shown: Vec<String> = finding.spots.iter().take(SPOTS_SHOWN).map(spot).collect();
    let more = finding.spots.len().saturating_sub(SPOTS_SHOWN) + finding.spots_more;
    if more > 0 {
        shown.push(format!("and {more} more"));
    }
    shown.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TerminalStyle;
    use ifm_core::Metric;
    use ifm_core::Sheet;
    use ifm_core::sheet::{Figure, Part, PartKind, Place, Row, RowRole, Source, Statistic, Unit};
    use ifm_rules::audit::{Subject, audit};

    fn found() -> Audit {
        let mut row = Row::new(RowRole::Measured, Place::line(7));
        for (quantity, value) in [
            (Metric::InputTokens, 100.0),
            (Metric::OutputTokens, 50.0),
            (Metric::TotalTokens, 170.0),
        ] {
            row.figures.push(Figure::new(quantity, Statistic::Value, value, Unit::Count));
        }
        let part = Part { rows: vec![row], ..Part::new(PartKind::Serving, Place::line(1)) };
        let source = Source { name: "notes\u{1b}[31m.md".to_owned(), ..Source::default() };
        let sheet = Sheet { source, parts: vec![part], remarks: Vec::new() };
        audit(&Subject::new(&[sheet]))
    }

    #[test]
    fn every_rendering_says_the_same() {
        let audit = found();
        let style = TerminalStyle { width: 80, color: false, ascii: false, verbose: false };
        let text = audit_terminal(&audit, Level::Hint, &style);
        let markdown = audit_markdown(&audit, Level::Hint);
        let json: serde_json::Value = serde_json::from_str(&audit_json(&audit)).unwrap();
        for rendering in [&text, &markdown] {
            assert!(rendering.contains("token_sum"), "{rendering}");
            assert!(rendering.contains("1 proof, 0 strong, 0 hints"), "{rendering}");
            assert!(!rendering.contains('\u{1b}'), "{rendering}");
        }
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        assert_eq!(json["findings"][0]["rule"], "token_sum");
        assert_eq!(json["findings"][0]["level"], "proof");
        assert_eq!(json["findings"][0]["spots"][0]["line"], 7);
        assert_eq!(json["level"], "proof");
    }

    #[test]
    fn long_findings_are_wrapped_and_lose_nothing() {
        let mut audit = found();
        let Looked::Found(findings) =
            &mut audit.rules.iter_mut().find(|r| r.id == "token_sum").unwrap().looked
        else {
            panic!("it looked");
        };
        findings[0].text = format!("{}the end", "a sentence of some words; ".repeat(40));
        let first = findings[0].spots[0].clone();
        findings[0].spots =
            (1..=12).map(|line| Spot { place: Place::line(line), ..first.clone() }).collect();
        let style = TerminalStyle { width: 60, color: false, ascii: false, verbose: false };
        let text = audit_terminal(&audit, Level::Hint, &style);
        assert!(text.lines().all(|line| line.chars().count() <= 60), "{text}");
        for rendering in [text.replace("\n ", ""), audit_markdown(&audit, Level::Hint)] {
            assert!(rendering.contains("the end") && !rendering.contains('…'), "{rendering}");
            assert!(rendering.contains("and 7 more"), "{rendering}");
        }
        assert!(audit_text(&audit).findings[0].text.ends_with("the end"));
        let json: serde_json::Value = serde_json::from_str(&audit_json(&audit)).unwrap();
        assert_eq!(json["findings"][0]["spots"].as_array().unwrap().len(), 12);
    }

    #[test]
    fn weaker_findings_can_be_left_out_and_silence_is_said() {
        let quiet = audit(&Subject::new(&[]));
        let style = TerminalStyle { width: 80, color: false, ascii: true, verbose: false };
        let text = audit_terminal(&quiet, Level::Hint, &style);
        assert!(text.contains("0 proofs, 0 strong, 0 hints"), "{text}");
        assert!(text.contains("; -v lists them"), "{text}");
        let text = audit_terminal(&quiet, Level::Hint, &style.verbose(true));
        assert!(text.contains("not applicable: missing"), "{text}");
    }
}
