//! Results for people at a terminal: a table of levels, or one level in detail, and the answers.
//!
//! A sweep prints the header and one row per level as each one ends, then the answers; `terminal`
//! gives all of it at once. What is not here: whether the terminal is wide, coloured or ASCII
//! only; the caller says so.

mod facts;
mod repeats;
mod sessions;
mod single;
mod table;

pub use table::{LevelTable, level_footnote, level_header, level_line};

use crate::ReportModel;
use crate::format::plain;
use crate::model::{title_parts, workload_parts};
pub(crate) use crate::style::{Color, TerminalStyle, wrap};
use crate::words::{self, Answer};
use ifm_core::order::Order as _;
use ifm_core::{Manifest, RunState};
use ifm_metrics::{CheckResult, Severity};

/// Lines of one check that are only worth knowing, at most.
const NOTES_MAX: usize = 3;

/// The whole result: head line, table or single level, answers. Ends with a line break.
pub fn terminal(model: &ReportModel, style: &TerminalStyle) -> String {
    let mut out = heading(model, style);
    out.push('\n');
    match model.summary.levels.as_slice() {
        [] => out.push_str("no request was measured\n"),
        [only] => out.push_str(&single::level(only, style)),
        levels => {
            let table = level_table(model);
            out.push_str(&level_header(&table, style));
            out.push('\n');
            for level in model.summary.levels_by_load() {
                out.push_str(&level_line(level, &table, style, model.is_fitting(level)));
                out.push('\n');
            }
            if let Some(footnote) = level_footnote(levels, &table, style) {
                out.push_str(&footnote);
                out.push('\n');
            }
        }
    }
    out.push_str(&terminal_tables(model, style));
    out.push('\n');
    out.push_str(&terminal_answers(model, style));
    out
}

/// The text below the table of several levels: a line for each fact of each level, then the tables
/// of repeats and sessions. Each line ends with a newline; empty where there are none.
pub fn terminal_tables(model: &ReportModel, style: &TerminalStyle) -> String {
    let mut out = String::new();
    if model.summary.levels.len() > 1 {
        out.push_str(&facts::several(&model.summary.levels_by_load(), style));
    }
    out.push_str(&repeats::table(model, style));
    if model.summary.levels.len() > 1 {
        out.push_str(&sessions::table(model, style));
    }
    out
}

/// The table of a run's levels.
pub fn level_table(model: &ReportModel) -> LevelTable {
    LevelTable {
        gap: model.gap_label(),
        unit: model.load_unit(),
        has_probe: model.manifest.spec.workload.probe.is_some(),
    }
}

/// What is measured, known before the first request: model, server and address; workload; run. Each
/// line is ended.
pub fn opening(manifest: &Manifest, style: &TerminalStyle) -> String {
    let workload = workload_parts(manifest).join(" · ");
    paragraph(&title_parts(manifest).join(" · "), Some(Color::Bold), style)
        + &paragraph(&workload, None, style)
        + &paragraph(&run_words(manifest), None, style)
}

/// The run: its id, its name and when it began.
fn run_words(manifest: &Manifest) -> String {
    let mut parts = vec![format!("run {}", plain(&manifest.run_id))];
    parts.extend(manifest.name.as_deref().map(plain));
    parts.push(plain(&manifest.created_utc));
    parts.join(" · ")
}

/// Lines that fit, each ended.
fn paragraph(text: &str, color: Option<Color>, style: &TerminalStyle) -> String {
    let mut out = String::new();
    for line in wrap(&style.text(text), style.width, "  ") {
        out.push_str(&color.map_or_else(|| line.clone(), |color| style.paint(color, &line)));
        out.push('\n');
    }
    out
}

fn heading(model: &ReportModel, style: &TerminalStyle) -> String {
    let mut out = paragraph(&model.title().join(" · "), Some(Color::Bold), style);
    out.push_str(&paragraph(&model.conditions().join(" · "), None, style));
    out.push_str(&paragraph(&run_words(&model.manifest), None, style));
    if let Some(random) = model.random_weights() {
        out.push_str(&paragraph(&random, None, style));
    }
    if let Some(reason) = &model.manifest.stop_reason {
        let reason = format!("⚠ partial: {}", plain(reason));
        out.push_str(&paragraph(&reason, Some(Color::Yellow), style));
    }
    if model.manifest.state == RunState::Open {
        let id = plain(&model.manifest.run_id);
        let text = match model.is_live {
            Some(true) => "⚠ still running: these are its results so far".to_owned(),
            Some(false) => format!(
                "⚠ not sealed: its process ended early; inferometer runs seal {id} completes it"
            ),
            None => format!(
                "⚠ not sealed: still running, or its process ended early; inferometer runs seal {id} \
                 completes it in that case"
            ),
        };
        out.push_str(&paragraph(&text, Some(Color::Yellow), style));
    }
    out
}

/// The answers, and below them what the checks found. Ends with a line break; empty if nothing was
/// measured.
pub fn terminal_answers(model: &ReportModel, style: &TerminalStyle) -> String {
    let Some(answers) = &model.summary.answers else { return String::new() };
    let mut out = String::new();
    for answer in crate::ttft_parts::with_cause(model, answers) {
        out.push_str(&answer_line(&answer, style));
        out.push('\n');
    }
    out + &findings(&model.summary.checks, usize::MAX, style)
}

/// The last of the answers, whether to believe the others, and what the checks found: the first line
/// of each check, for what holds for one load of a search holds for most. Ends with a line break;
/// empty if nothing was measured.
pub fn terminal_trust(model: &ReportModel, style: &TerminalStyle) -> String {
    let Some(answers) = &model.summary.answers else { return String::new() };
    let checks = &model.summary.checks;
    let trust = answer_line(&words::trust(answers, checks), style);
    format!("{trust}\n{}", findings(checks, 1, style))
}

/// What the checks found, a line each, of each check a limited number that are more than notes.
fn findings(checks: &[CheckResult], loud_max: usize, style: &TerminalStyle) -> String {
    let mut out = String::new();
    for (severity, told) in shortened(checks, loud_max) {
        let text = format!("     {} {told}", words::sign(severity));
        let color = match severity {
            Severity::Note => Color::Dim,
            Severity::Caution => Color::Yellow,
            Severity::Invalid => Color::Red,
        };
        for line in wrap(&style.text(&text), style.width, "       ") {
            out.push_str(&style.paint(color, &line));
            out.push('\n');
        }
    }
    out
}

/// What the checks found, and of what is only worth knowing the first lines of each check: a search
/// measures many loads, and what holds for one holds for most.
fn shortened(checks: &[CheckResult], loud_max: usize) -> Vec<words::Told> {
    let first = |mut lines: Vec<words::Told>, most: usize| {
        let more = lines.len().saturating_sub(most);
        lines.truncate(most);
        if let (1.., Some((_, last))) = (more, lines.last_mut()) {
            last.push_str(&format!(" (and {more} more like it)"));
        }
        lines
    };
    let of_check = |check: &CheckResult| {
        let (notes, loud): (Vec<_>, Vec<_>) =
            words::told(&check.warnings).into_iter().partition(|line| line.0 == Severity::Note);
        [first(loud, loud_max), first(notes, NOTES_MAX.min(loud_max))].concat()
    };
    let mut lines: Vec<words::Told> = checks.iter().flat_map(of_check).collect();
    lines.order_by_key(|(severity, _)| std::cmp::Reverse(*severity));
    lines
}

fn answer_line(answer: &Answer, style: &TerminalStyle) -> String {
    let question = format!(" ● {:<17}", answer.question);
    let value = format!("{} {}", answer.value, answer.unit);
    let line = format!("{question}  {}   {}", value.trim_end(), answer.detail);
    let lines = wrap(&style.text(line.trim_end()), style.width, "                      ");
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{all_failed, model, single, sweep};
    use ifm_core::series::Signal;
    use ifm_metrics::level::Load;
    use ifm_metrics::testing::telemetry;

    const PLAIN: TerminalStyle =
        TerminalStyle { width: 100, color: false, ascii: false, verbose: false };

    #[test]
    fn a_sweep() {
        insta::assert_snapshot!(terminal(&model(&sweep()), &PLAIN));
    }

    #[test]
    fn a_single_level() {
        insta::assert_snapshot!(terminal(&model(&single()), &PLAIN));
    }

    #[test]
    fn a_level_without_an_answer() {
        insta::assert_snapshot!(terminal(&model(&all_failed()), &PLAIN));
    }

    #[test]
    fn every_width_is_kept_down_to_sixty() {
        let mut run = sweep();
        run.manifest.spec.target.model = "m".to_owned();
        let model = model(&run);
        for width in [60, 79, 80, 100, 200] {
            let style = TerminalStyle { width, ..PLAIN };
            let table = level_table(&model);
            let header = level_header(&table, &style);
            assert!(header.chars().count() <= width, "{width}: {header}");
            for level in &model.summary.levels {
                let line = level_line(level, &table, &style, true);
                assert!(line.chars().count() <= width, "{width}: {line}");
            }
            for line in terminal_answers(&model, &style).lines() {
                assert!(line.chars().count() <= width, "{width}: {line}");
            }
        }
    }

    #[test]
    fn ascii_is_ascii_and_plain_has_no_escapes() {
        let model = model(&sweep());
        let style = TerminalStyle { ascii: true, ..PLAIN };
        assert!(terminal(&model, &style).is_ascii());
        assert!(!terminal(&model, &PLAIN).contains('\u{1b}'));
        let color = terminal(&model, &TerminalStyle { color: true, ..PLAIN });
        assert!(color.contains("\u{1b}[31m"));
    }

    #[test]
    fn names_cannot_steer_the_terminal() {
        let mut run = sweep();
        run.manifest.spec.target.model = "evil\u{1b}[2J\nmodel".to_owned();
        run.manifest.stop_reason = Some("stopped\u{7}".to_owned());
        assert_eq!(PLAIN.paragraph("a\u{1b}b", " "), ["a?b"]);
        let text = terminal(&model(&run), &PLAIN);
        assert!(text.contains("evil?[2J?model") && text.contains("stopped?"));
    }

    #[test]
    fn a_run_without_levels_or_without_an_end_says_so() {
        let mut run = sweep();
        run.manifest.state = RunState::Open;
        run.requests.clear();
        run.manifest.levels.clear();
        let text = terminal(&model(&run), &PLAIN);
        assert!(text.contains("closed loop, 1, 4, 8 users"), "{text}");
        assert!(text.contains("not sealed") && text.contains("runs seal"), "{text}");
    }

    #[test]
    fn what_several_levels_have_in_common_is_one_line() {
        let mut model = model(&sweep());
        let found = |users: u32, text: &str| ifm_metrics::Warning {
            check: "samples",
            severity: Severity::Note,
            level: Some(users as u16),
            load: Some(Load::Users(users)),
            text: text.to_owned(),
        };
        let tell = |model: &mut ReportModel, warnings: Vec<ifm_metrics::Warning>| {
            model.summary.checks.iter_mut().for_each(|check| check.warnings.clear());
            model.summary.checks[0].warnings = warnings;
            terminal_answers(model, &PLAIN)
        };
        let text = tell(&mut model, vec![found(1, "few"), found(2, "none"), found(4, "few")]);
        assert!(text.contains("· 1 and 4 users: few\n") && text.contains("· 2 users: none\n"));
        assert_eq!(text.matches("few").count(), 1, "{text}");
        // Three notes per check are enough; louder findings are always complete and come first.
        let mut all: Vec<_> = (1..=5).map(|users| found(users, &format!("note {users}"))).collect();
        all.extend((6..=9).map(|users| ifm_metrics::Warning {
            severity: Severity::Caution,
            ..found(users, &format!("loud {users}"))
        }));
        let text = tell(&mut model, all);
        assert_eq!((text.matches("note").count(), text.matches("loud").count()), (3, 4), "{text}");
        assert!(text.contains("3 users: note 3 (and 2 more like it)\n"), "{text}");
        assert!(text.find("loud 9") < text.find("note 1"), "{text}");
    }

    #[test]
    fn a_prediction_says_so_in_its_first_line() {
        let predicted = ifm_metrics::testing::predicted(sweep());
        let text = terminal(&model(&predicted), &PLAIN);
        let first = text.lines().next().unwrap_or_default();
        assert!(first.contains("predicted, not measured: H100 SXM"), "{text}");
        assert!(text.contains("⚠ predicted, not measured"), "{text}");
        let json: serde_json::Value =
            serde_json::from_str(&crate::json(&model(&predicted))).expect("JSON");
        assert_eq!(json["predicted"]["machine"], "H100 SXM");
        assert!(json.get("client_health").is_none());
        assert!(crate::vllm(&model(&predicted)).contains("Numbers:"));
        assert!(!crate::vllm(&model(&sweep())).contains("Numbers:"));
    }

    #[test]
    fn random_weights_are_named() {
        let mut run = sweep();
        let notes = &mut run.manifest.server.notes;
        notes.insert("weights".to_owned(), "random, seed 7".to_owned());
        assert!(terminal(&model(&run), &PLAIN).contains("The weights are random, seed 7:"));
        let predicted = ifm_metrics::testing::predicted(run.clone());
        assert!(!terminal(&model(&predicted), &PLAIN).contains("the speed is real"));
        run.manifest.server.notes.insert("weights".to_owned(), "model.gguf".to_owned());
        assert!(!terminal(&model(&run), &PLAIN).contains("noise"));
    }

    #[test]
    fn energy_and_the_servers_account_are_told_where_they_are_known() {
        let mut run = single();
        let series = |quantity, value: &dyn Fn(f64) -> f64| {
            telemetry(quantity, "NVML GPU 0", (0.0, 100.0), value)
        };
        run.series = vec![
            series(Signal::GpuPower, &|_| 200.0),
            series(Signal::ServerWaiting, &|_| 3.0),
            series(Signal::ServerCacheQueries, &|at_s| 100.0 * at_s),
            series(Signal::ServerCacheHits, &|at_s| 20.0 * at_s),
        ];
        let model = model(&run);
        let text = terminal(&model, &TerminalStyle { width: 200, ..PLAIN });
        for part in ["J/token · ", "mean 200 W · peak 200 W", "1 GPU, idle power included"] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(text.contains("cache hits 20% · at most 3 waiting"), "{text}");
        assert!(text.contains("tokens/kWh"), "{text}");
        let json: serde_json::Value = serde_json::from_str(&crate::json(&model)).expect("JSON");
        let level = &json["levels"][0];
        assert_eq!(level["energy"]["power_w_mean"].as_f64().map(f64::round), Some(200.0));
        assert_eq!(level["server"]["cache_hit_share"], 0.2);
        assert!(
            crate::markdown(&model).contains("| energy |")
                && crate::html(&model).contains("J/token")
        );
    }
}
