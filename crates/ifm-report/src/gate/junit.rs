//! A gate as JUnit XML, which build servers show as tests.
//!
//! One test case for each threshold: a failed one is a failure, an undecided one what the caller
//! says. What is not here: times, which a gate has none of; the attribute is optional.

use super::{found, limit, loud, name, repeat, tally, verdict};
use crate::comparison::words;
use ifm_compare::gate::{GateResult, GateRow, GateState};

/// How to treat inconclusive thresholds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Undecided {
    /// An error of the test case: neither passed nor failed.
    Report,
    /// Passed.
    Pass,
    /// Failed.
    Fail,
}

/// The gate as JUnit XML; ends with a line break.
pub fn gate_junit(result: &GateResult, undecided: Undecided) -> String {
    let as_told = |row: &GateRow| match (row.state, undecided) {
        (GateState::Inconclusive, Undecided::Pass) => GateState::Pass,
        (GateState::Inconclusive, Undecided::Fail) => GateState::Fail,
        (state, _) => state,
    };
    let count = |state: GateState| result.rows.iter().filter(|row| as_told(row) == state).count();
    let counts = format!(
        "tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"0\"",
        result.rows.len(),
        count(GateState::Fail),
        count(GateState::Inconclusive)
    );
    let suite = escape(&words::side(&result.run.label, &result.run.runs));
    let mut out = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <testsuites name=\"inferometer gate\" {counts}>\n  <testsuite name=\"{suite}\" {counts}>\n"
    );
    for row in &result.rows {
        let what = format!("{} {}", name(row, result.run.is_inter_event), limit(&row.threshold));
        out.push_str(&format!(
            "    <testcase classname=\"inferometer.gate\" name=\"{}\">\n",
            escape(&what)
        ));
        let text = escape(&format!("{}: {}", found(row), verdict(row)));
        let inner = match as_told(row) {
            GateState::Pass => format!("      <system-out>{text}</system-out>\n"),
            GateState::Fail => {
                let again = repeat(result).unwrap_or_default();
                format!("      <failure message=\"{text}\">{}</failure>\n", escape(&again))
            }
            GateState::Inconclusive => format!("      <error message=\"{text}\"/>\n"),
        };
        out.push_str(&inner);
        out.push_str("    </testcase>\n");
    }
    let differences = words::differences(&loud(result)).into_iter().map(|(_, text)| text);
    let cautions = words::cautions(&result.cautions).into_iter().map(|(_, text)| text);
    let lines: Vec<String> =
        std::iter::once(tally(result, undecided)).chain(differences).chain(cautions).collect();
    out.push_str(&format!(
        "    <system-out>{}</system-out>\n  </testsuite>\n</testsuites>\n",
        escape(&lines.join("\n"))
    ));
    out
}

/// Text that XML leaves as it is; characters that XML 1.0 cannot hold become `?`.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '&' => escaped.push_str("&amp;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&apos;"),
            '\u{FFFE}' | '\u{FFFF}' => escaped.push('?'),
            c if c.is_control() && !matches!(c, '\t' | '\n') => escaped.push('?'),
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TerminalStyle;
    use crate::gate::{gate_markdown, gate_terminal};
    use crate::testing::gated;

    #[test]
    fn each_threshold_is_a_test_case() {
        let mut result = gated();
        result.run.label = "a<b & \"c\"\u{1}".to_owned();
        let text = gate_junit(&result, Undecided::Report);
        assert_eq!(text.matches("<testcase ").count(), 5);
        assert_eq!((text.matches("<failure ").count(), text.matches("<error ").count()), (2, 1));
        assert!(text.contains("tests=\"5\" failures=\"2\" errors=\"1\""), "{text}");
        assert!(text.contains("a&lt;b &amp; &quot;c&quot;?") && !text.contains("a<b"), "{text}");
        assert!(text.contains("repeat") || text.contains("inferometer sweep"), "{text}");
    }

    #[test]
    fn the_caller_says_what_is_undecided() {
        let count = |undecided| {
            let text = gate_junit(&gated(), undecided);
            (text.matches("<failure ").count(), text.matches("<error ").count())
        };
        assert_eq!(count(Undecided::Pass), (2, 0));
        assert_eq!(count(Undecided::Fail), (3, 0));
        for (undecided, words) in [
            (Undecided::Report, "2 failed, 1 inconclusive, 2 passed"),
            (Undecided::Pass, "1 inconclusive (counts as passed)"),
            (Undecided::Fail, "1 inconclusive (counts as failed)"),
        ] {
            let plain = TerminalStyle { width: 100, color: false, ascii: false, verbose: false };
            assert!(gate_junit(&gated(), undecided).contains(words), "{words}");
            assert!(gate_terminal(&gated(), undecided, &plain).contains(words), "{words}");
            assert!(gate_markdown(&gated(), undecided).contains(words), "{words}");
        }
    }
}
