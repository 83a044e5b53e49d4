//! Results as Markdown, for a pull request or a note.
//!
//! What is not here: all detail; the JSON document has that.

use crate::ReportModel;
use crate::format::{ABSENT, command_line, number, percent, plain};
use crate::model::{load, load_words};
use crate::words::{self, DEFINITIONS, accounting, marked_span, note};
use ifm_analysis::LevelSummary;
use ifm_analysis::stat::Distribution;

/// The run as Markdown; ends with a line break.
pub fn markdown(model: &ReportModel) -> String {
    let title = model.title();
    let (name, rest) = title.split_first().map_or(("", title.as_slice()), |(n, r)| (n.as_str(), r));
    let mut out = format!("# {}\n\n", escape(name));
    let mut facts = rest.to_vec();
    facts.extend(model.conditions());
    facts.push(plain(&model.manifest.created_utc));
    facts.push(format!("run {}", plain(&model.manifest.run_id)));
    out.push_str(&format!("{}\n\n", escape(&facts.join(" · "))));
    if let Some(random) = model.random_weights() {
        out.push_str(&format!("**{}**\n\n", escape(&random)));
    }
    if let Some(reason) = &model.manifest.stop_reason {
        out.push_str(&format!("**Partial run:** {}\n\n", escape(&plain(reason))));
    }
    if let Some(answers) = &model.summary.answers {
        for answer in words::answers(answers, &model.summary.checks) {
            let value = format!("{} {}", answer.value, answer.unit);
            let line = format!(
                "- **{}** {} {}",
                escape(answer.question),
                escape(value.trim_end()),
                escape(&answer.detail)
            );
            out.push_str(&format!("{}\n", line.trim_end()));
        }
        out.push('\n');
    }
    out.push_str(&table(model));
    out.push_str(&turns(model));
    if !model.summary.warnings.is_empty() {
        out.push('\n');
    }
    for (severity, told) in words::told(&model.summary.warnings) {
        let sign = words::sign(severity);
        out.push_str(&format!("- {sign} {}\n", escape(&told)));
    }
    out.push_str(&method(model));
    out
}

fn table(model: &ReportModel) -> String {
    let label = model.gap_label().short();
    let heads = [
        model.load_unit().to_owned(),
        "req/s".to_owned(),
        "out tok/s".to_owned(),
        "tok/s/user".to_owned(),
        "TTFT p50".to_owned(),
        "TTFT p99".to_owned(),
        format!("{label} p50"),
        format!("{label} p99"),
        "ok".to_owned(),
        "note".to_owned(),
    ];
    let mut out = format!("| {} |\n", heads.join(" | "));
    out.push_str(&format!("|{}---|\n", "--:|".repeat(heads.len() - 1)));
    for level in &model.summary.levels {
        let is_fitting = model.fitting_level() == Some(level.level);
        let cells: Vec<String> = row(level, is_fitting).iter().map(|cell| escape(cell)).collect();
        out.push_str(&format!("| {} |\n", cells.join(" | ")));
    }
    out
}

/// The conversations of each level by turn.
fn turns(model: &ReportModel) -> String {
    let mut out = String::new();
    for level in model.summary.levels.iter().filter(|level| !level.turns.is_empty()) {
        let heads = crate::turns::heads(level.latencies.gap_label.short());
        out.push_str(&format!("\n**Turns at {}**\n\n", load_words(level.load())));
        out.push_str(&format!("| {} |\n", heads.join(" | ")));
        out.push_str(&format!("|{}\n", "--:|".repeat(heads.len())));
        for row in crate::turns::rows(level) {
            let cells: Vec<String> = row.iter().map(|cell| escape(cell)).collect();
            out.push_str(&format!("| {} |\n", cells.join(" | ")));
        }
    }
    out
}

fn row(level: &LevelSummary, is_fitting: bool) -> [String; 10] {
    let absent = || ABSENT.to_owned();
    let window = level.window();
    let time = |distribution: &Option<Distribution>, p: f64| {
        let found = distribution.as_ref().and_then(|distribution| distribution.percentile(p));
        found.map_or_else(absent, marked_span)
    };
    let speed = level.user_tok_per_s().map(|(speed, is_estimated)| {
        format!("{}{}", if is_estimated { "~" } else { "" }, number(speed))
    });
    [
        load(level.load()),
        window.map_or_else(absent, |window| number(window.req_per_s)),
        level.output_tok_per_s().map_or_else(absent, number),
        speed.unwrap_or_else(absent),
        time(&level.latencies.ttft_ns, 50.0),
        time(&level.latencies.ttft_ns, 99.0),
        time(&level.latencies.gap_ns, 50.0),
        time(&level.latencies.gap_ns, 99.0),
        level.counts.ok_share().map_or_else(absent, percent),
        note(level, is_fitting),
    ]
}

fn method(model: &ReportModel) -> String {
    let mut out = String::from("\n<details><summary>Method</summary>\n\n");
    let command = command_line(&model.manifest.command);
    // A fence longer than any run of backticks inside cannot be closed by the command.
    out.push_str(&format!("````\n{}\n````\n\n", command.replace("````", "'''' ")));
    for level in &model.summary.levels {
        let who = load_words(level.load());
        out.push_str(&format!("- {who}: {}\n", escape(&accounting(level))));
        for (name, line) in words::beside(level) {
            out.push_str(&format!("- {who}, {name}: {}\n", escape(&line)));
        }
    }
    let tokens = words::provenance(&model.summary.levels);
    out.push_str(&format!("- output tokens: {tokens}\n- `~`: from too few values, or from tokens that nobody counted\n"));
    for (name, text) in DEFINITIONS {
        out.push_str(&format!("- {}: {}\n", escape(name), escape(text)));
    }
    out.push_str("\n</details>\n");
    out
}

/// Text that Markdown and HTML leave as it is.
pub(crate) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '&' => escaped.push_str("&amp;"),
            '|' | '\\' | '`' | '*' | '_' | '[' | ']' | '#' | '~' | '!' => {
                escaped.push('\\');
                escaped.push(c);
            }
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{model, sweep};

    #[test]
    fn a_sweep() {
        insta::assert_snapshot!(markdown(&model(&sweep())));
    }

    #[test]
    fn names_cannot_add_markup() {
        let mut run = sweep();
        run.manifest.spec.target.model = "a|b<script>alert(1)</script>[x](y)".to_owned();
        run.manifest.command = vec!["inferometer".to_owned(), "````".to_owned()];
        let text = markdown(&model(&run));
        assert!(!text.contains("<script>") && !text.contains("[x](y)"));
        assert_eq!(text.matches("````").count(), 2);
    }
}
