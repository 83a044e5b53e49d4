//! What levels report in addition to latencies: facts in the block of one level, lines below the
//! table of several.
//!
//! Not here: the words, which every format shows alike (`media`, `sound`, `forms`, …).

use super::{TerminalStyle, wrap};
use crate::model::level_load_words;
use crate::{forms, media, parts, sound, ttft_parts, words};
use ifm_metrics::LevelSummary;

/// A kind of fact: its name, and its lines of one level.
type Fact = (&'static str, fn(&LevelSummary) -> Vec<String>);

const FACTS: [Fact; 6] = [
    ("media", |level| media::line(level).into_iter().collect()),
    ("sound", |level| sound::line(level).into_iter().collect()),
    ("TTFT", |level| ttft_parts::line(level).into_iter().collect()),
    ("drafts", |level| level.speculation.iter().map(words::drafts).collect()),
    ("form", forms::lines),
    ("probe", |level| parts::probe_line(level).into_iter().collect()),
];

/// The facts of one level, each a name and a line.
pub(super) fn of(level: &LevelSummary) -> impl Iterator<Item = (&'static str, String)> {
    FACTS.iter().flat_map(|(name, lines)| lines(level).into_iter().map(|line| (*name, line)))
}

/// The same of several levels, kind by kind, each line with its load and ended; empty where no level
/// has any.
pub(super) fn several(levels: &[&LevelSummary], style: &TerminalStyle) -> String {
    let mut out = String::new();
    for (name, lines) in FACTS {
        for level in levels {
            for line in lines(level) {
                let text = format!(" {name} at {}: {line}", level_load_words(level));
                for part in wrap(&style.text(&text), style.width, "     ") {
                    out.push_str(&part);
                    out.push('\n');
                }
            }
        }
    }
    if out.is_empty() { out } else { format!("\n{out}") }
}

#[cfg(test)]
mod tests {
    use super::super::{terminal, terminal_tables};
    use super::*;
    use crate::testing::model;
    use ifm_metrics::testing::images;

    /// A run whose second half of requests is a second level.
    fn two_levels() -> crate::ReportModel {
        let mut run = images(|_, _| {});
        let mut second = run.manifest.levels[0].clone();
        second.level = 1;
        run.manifest.levels.push(second);
        let load = run.manifest.spec.levels[0].clone();
        run.manifest.spec.levels.push(load);
        run.requests.iter_mut().skip(60).for_each(|record| record.level = 1);
        model(&run)
    }

    #[test]
    fn each_level_has_a_line_of_each_kind_and_they_stand_below_a_live_table_too() {
        let model = two_levels();
        let style = TerminalStyle { width: 400, color: false, ascii: false, verbose: false };
        let lines = several(&model.summary.levels_by_load(), &style);
        assert_eq!(lines.lines().filter(|line| line.starts_with(" media at ")).count(), 2);
        assert!(lines.contains(": 60 images · "), "{lines}");
        assert!(terminal_tables(&model, &style).contains(&lines));
        assert_eq!(terminal(&model, &style).matches(" media at ").count(), 2);
        assert_eq!(
            several(
                &crate::testing::model(&crate::testing::sweep()).summary.levels_by_load(),
                &style
            ),
            ""
        );
    }
}
