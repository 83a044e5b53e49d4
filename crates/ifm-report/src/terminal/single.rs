//! One level in detail.

use super::{Color, TerminalStyle, wrap};
use crate::format::{ABSENT, count, number, percent, span};
use crate::metric_table;
use crate::model::level_load_words;
use crate::parts;
use crate::words::{accounting, first_wave, level_facts, note};
use ifm_core::Metric;
use ifm_metrics::LevelSummary;
use ifm_metrics::goodput::Goodput;
use ifm_metrics::level::{GapLabel, MetricValues, TokenFacts, WindowSummary};

/// Width of the name of a metric and its mean.
const NAME_AND_MEAN: usize = 19;
/// Percentiles of the block.
const PERCENTILES: [f64; 4] = [50.0, 90.0, 95.0, 99.0];

/// The share that met the target, of the requests that the verdict is of; where those are not all of
/// the level, that of all of them after it.
fn goodput_of(level: &LevelSummary) -> Option<String> {
    let all = level.goodput.as_ref()?;
    let judged = level.first_wave.as_deref().and_then(|wave| wave.goodput_without.as_ref());
    let Some(judged) = judged else { return goodput(all) };
    let mut words = goodput(judged)?;
    let with = all.attainment().filter(|share| Some(*share) != judged.attainment());
    if let Some(share) = with.map(percent) {
        words.push_str(&format!(
            "; {share} with each user's first request included, as in good req/s"
        ));
    }
    Some(words)
}

/// The share that met the target, and the number without a value; absent where none was judged.
fn goodput(goodput: &Goodput) -> Option<String> {
    let share = percent(goodput.attainment()?);
    if goodput.unknown == 0 {
        return Some(format!("{share} of the requests met the whole target"));
    }
    Some(format!(
        "{share} of {} requests met the whole target; {} complete ones have no value for it",
        count(goodput.judged()),
        count(goodput.unknown)
    ))
}

/// The block of one level; ends with a line break.
pub(super) fn level(level: &LevelSummary, style: &TerminalStyle) -> String {
    let mut lines = vec![fact("load", &level_load_words(level))];
    lines.push(fact("requests", &accounting(level)));
    lines.extend(level.ended_by.and_then(crate::words::end).map(|words| fact("ended", words)));
    for window in [&level.steady, &level.whole].into_iter().flatten() {
        lines.push(fact(
            window.window.kind.word(),
            &rates(window, level.generates && level.counts.ok > 0),
        ));
    }
    if let Some(reason) = &level.steady_absent_because {
        lines.push(fact("", &format!("no steady window: {reason}")));
    }
    lines.extend(goodput_of(level).map(|words| fact("goodput", &words)));
    lines.push(fact("tokens", &tokens(&level.tokens, level.media.is_some())));
    lines.extend(super::facts::of(level).map(|(name, line)| fact(name, &line)));
    lines.extend(crate::sessions::facts(level).iter().map(|(name, line)| fact(name, line)));
    lines.extend(level_facts(level).iter().map(|(name, line)| fact(name, line)));
    lines.extend(first_wave(std::slice::from_ref(level)).map(|words| fact("left out", &words)));
    let verdict = note(level, false);
    if !verdict.is_empty() {
        lines.push(fact("target", &verdict));
    }
    let mut out = String::new();
    for line in lines {
        for part in wrap(&style.text(&line), style.width, "            ") {
            out.push_str(&part);
            out.push('\n');
        }
    }
    out.push_str(&latencies(level, style));
    let gap = level.latencies.gap_label.short();
    out.push_str(&part_table(&parts::heads("class", gap), &parts::classes(level), style));
    out.push_str(&part_table(&parts::heads("form", gap), &parts::forms(level), style));
    out.push_str(&part_table(&parts::heads("turn", gap), &parts::turns(level), style));
    out.push_str(&crate::steps::terminal(level, style));
    out
}

/// Parts of a level, as a table; empty without any.
fn part_table(
    heads: &[String; parts::COLUMNS],
    rows: &[[String; parts::COLUMNS]],
    style: &TerminalStyle,
) -> String {
    if rows.is_empty() {
        return String::new();
    }
    // The first column holds names, which may be long.
    let width = |cells: &[String; parts::COLUMNS]| cells.first().map_or(0, |it| it.chars().count());
    let first = rows.iter().map(width).max().unwrap_or(0).clamp(9, 24);
    let line = |cells: &[String; parts::COLUMNS]| {
        let cells: Vec<String> = cells
            .iter()
            .enumerate()
            .map(|(place, cell)| {
                let wide = if place == 0 { first } else { 9 };
                format!("{:>wide$}", style.text(cell))
            })
            .collect();
        format!(" {}", cells.join(" "))
    };
    let mut out = format!("\n{}\n", style.paint(Color::Bold, &line(heads)));
    for row in rows {
        out.push_str(&line(row));
        out.push('\n');
    }
    out
}

fn fact(name: &str, text: &str) -> String {
    format!(" {name:<10} {text}").trim_end().to_owned()
}

fn rates(window: &WindowSummary, generates: bool) -> String {
    let mut parts = Vec::new();
    if generates {
        parts.push(format!("{} output tok/s", number(window.output_tok_per_s)));
    }
    parts.extend(window.total_tok_per_s.map(|rate| format!("{} total tok/s", number(rate))));
    parts.push(format!("{} req/s", number(window.req_per_s)));
    parts.extend(window.good_req_per_s.map(|rate| format!("{} good req/s", number(rate))));
    let concurrency = window.concurrency;
    parts.push(format!(
        "in flight {} (p50 {}, p95 {}, max {})",
        number(concurrency.mean),
        concurrency.p50,
        concurrency.p95,
        concurrency.max
    ));
    parts.push(format!("over {}", span(window.window.seconds() * 1e9)));
    if window.output_tokens_incomplete > 0.0 {
        let tokens = match window.output_tokens_incomplete.round() as u64 {
            0 | 1 => "1 token".to_owned(),
            many => format!("{} tokens", count(many)),
        };
        parts.push(format!("{tokens} came on requests that did not complete"));
    }
    parts.join(" · ")
}

fn tokens(facts: &TokenFacts, has_media: bool) -> String {
    let length = |name: &str, got: Option<f64>, asked: Option<f64>, added: &str| {
        let got = got.map_or_else(|| "not counted".to_owned(), number);
        let asked = asked.map(|asked| format!(" (asked {}{added})", number(asked)));
        format!("{name} {got}{}", asked.unwrap_or_default())
    };
    let of_text = if has_media { " of text" } else { "" };
    let added = facts.prompt_added.map(|tokens| format!(", {tokens} by the chat template"));
    let added = format!("{of_text}{}", added.unwrap_or_default());
    let mut parts = vec![
        length("prompt", facts.prompt_mean, facts.prompt_asked_mean, &added),
        length("output", facts.output_mean, facts.output_asked_mean, ""),
        facts.output_from.provenance().words().to_owned(),
    ];
    let cached = facts.cached_share.filter(|share| *share > 0.0);
    parts.extend(cached.map(|share| format!("{} of prompts cached", percent(share))));
    parts.join(" · ")
}

fn latencies(level: &LevelSummary, style: &TerminalStyle) -> String {
    let latencies = &level.latencies;
    if latencies.get(Metric::E2e).is_none() {
        return String::new();
    }
    let head = format!(
        " {:<10}{:>9}{:>10}{:>10}{:>10}{:>10}{:>10}{:>9}",
        "", "mean", "p50", "p90", "p95", "p99", "max", "n"
    );
    let mut out = format!("\n{}\n", style.paint(Color::Bold, &head));
    for found in metric_table::shown(latencies).filter(|found| !found.metric.is_detail()) {
        out.push_str(&row(found, latencies.gap_label, style));
    }
    let shown = metric_table::shown(latencies).filter(|found| !found.metric.is_detail());
    if let Some(note) = metric_table::tail_note(shown, latencies.gap_label) {
        let note = style.text(&format!(" * {note}"));
        out.push_str(&format!("{}\n", style.paint(Color::Dim, &note)));
    }
    out
}

fn row(found: &MetricValues, gap: GapLabel, style: &TerminalStyle) -> String {
    let value = |value| metric_table::value(found.metric, value);
    let values = &found.values;
    let mark = if metric_table::has_slow_end(found) { "*" } else { "" };
    let name = format!("{}{mark}", metric_table::short_name(found, gap));
    // A long name takes its room from the column next to it.
    let room = NAME_AND_MEAN.saturating_sub(name.chars().count());
    let mut line = format!(" {name}{:>room$}", value(values.mean));
    for p in PERCENTILES {
        let percentile = values.percentile(found.metric.slow_tail(p));
        let text = percentile.map_or_else(
            || ABSENT.to_owned(),
            |percentile| metric_table::marked(found.metric, percentile),
        );
        let text = format!("{:>10}", style.text(&text));
        let is_rough = percentile.is_some_and(|percentile| !percentile.enough);
        line.push_str(&if is_rough { style.paint(Color::Dim, &text) } else { text });
    }
    line.push_str(&format!("{:>10}{:>9}\n", value(metric_table::worst(found)), count(values.n)));
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{burst, model};

    /// Each of 32 users begins with a request that misses the target; all others meet it.
    #[test]
    fn goodput_covers_the_requests_that_the_verdict_covers() {
        let mut run = burst(900);
        run.manifest.spec.slo.is_default = false;
        let model = model(&run);
        let level = &model.summary.levels[0];
        assert_eq!(level.verdict.state, ifm_metrics::slo::VerdictState::Pass);
        let words = goodput_of(level).expect("a target");
        assert!(words.starts_with("100% of the requests met the whole target; "), "{words}");
        let all = percent(level.goodput.and_then(|all| all.attainment()).expect("requests"));
        let rest = format!("{all} with each user's first request included, as in good req/s");
        assert!(words.ends_with(&rest), "{words}");
        assert_ne!(all, "100%");
    }

    #[test]
    fn requests_of_which_nobody_knows_are_no_share_of_the_goodput() {
        let words = |good, unknown| goodput(&Goodput { good, sent: 120, unknown });
        let all = words(30, 0).expect("some were judged");
        assert_eq!(all, "25% of the requests met the whole target");
        let some = words(30, 80).expect("some were judged");
        assert!(some.starts_with("75% of 40 requests met"), "{some}");
        assert!(some.contains("; 80 complete ones have no value"), "{some}");
        assert_eq!(words(0, 120), None);
    }
}
