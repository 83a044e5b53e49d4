//! Results as one HTML file: no network, no script, light and dark, screen, phone and paper.
//!
//! The page may load nothing: its content security policy allows only its own style sheet, by
//! hash. Everything that came from a server or a user is escaped by the template engine. Charts
//! are in `chart`, the sections after the tables in `method`. What is not here: numbers; each
//! stands in the model.

mod chart;
mod method;

use crate::ReportModel;
use crate::format::{ABSENT, number, percent, plain};
use crate::model::load;
use crate::words::{self, marked_span, note};
use ifm_analysis::slo::VerdictState;
use ifm_analysis::stat::{Distribution, Percentile};
use ifm_analysis::warning::CheckState;
use ifm_analysis::{LevelSummary, Severity};
use maud::{DOCTYPE, Markup, PreEscaped, html};
use sha2::{Digest, Sha256};

const STYLE: &str = include_str!("style.css");
/// Width of a bar inside a cell, pixels.
const BAR_WIDTH: f64 = 56.0;

/// The whole page.
pub fn html(model: &ReportModel) -> String {
    let policy = format!(
        "default-src 'none'; style-src 'sha256-{}'; base-uri 'none'; form-action 'none'",
        base64(&Sha256::digest(STYLE.as_bytes()))
    );
    let title = model.title();
    let name = title.first().map_or("run", String::as_str);
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(policy);
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta name="referrer" content="no-referrer";
                title { (name) " – inferometer" }
                style { (PreEscaped(STYLE)) }
            }
            body {
                (head(model))
                main {
                    (tiles(model))
                    (trust(model))
                    (charts(model))
                    (levels(model))
                    (turns(model))
                    (method::latency_table(model))
                    (method::accounting(model))
                    (method::beside(model))
                    (method::method(model))
                }
                footer {
                    "schema " (crate::json::SCHEMA_VERSION) " · run " (plain(&model.manifest.run_id))
                    " · made by inferometer " (plain(&model.manifest.tool.version))
                }
            }
        }
    };
    page.into_string()
}

/// The conversations of each level by turn.
fn turns(model: &ReportModel) -> Markup {
    let levels: Vec<_> =
        model.summary.levels.iter().filter(|level| !level.turns.is_empty()).collect();
    html! {
        @if !levels.is_empty() {
            section aria-labelledby="turns" {
                h2 id="turns" { "Turns of the conversations" }
                @for level in levels {
                    h3 { (crate::model::load_words(level.load())) }
                    div class="scroll" {
                        table {
                            thead {
                                tr {
                                    @for head in crate::turns::heads(level.latencies.gap_label.short()) {
                                        th scope="col" { (head) }
                                    }
                                }
                            }
                            tbody {
                                @for row in crate::turns::rows(level) {
                                    tr { @for cell in row { td { (cell) } } }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Base64 of the digest, with padding (RFC 4648, section 4).
fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for group in bytes.chunks(3) {
        let bits = group.iter().fold(0u32, |bits, byte| bits << 8 | u32::from(*byte));
        let bits = bits << (8 * (3 - group.len()));
        for place in 0..4usize {
            let index = (bits >> (18 - 6 * place)) & 63;
            let sign = ALPHABET.get(index as usize).map_or('=', |sign| char::from(*sign));
            text.push(if place <= group.len() { sign } else { '=' });
        }
    }
    text
}

fn head(model: &ReportModel) -> Markup {
    let title = model.title();
    html! {
        header {
            h1 { (title.first().map_or("", String::as_str)) }
            p class="what" {
                @for part in title.iter().skip(1) { (part) " · " }
                (plain(&model.manifest.created_utc)) " · run " (plain(&model.manifest.run_id))
                @if let Some(name) = &model.manifest.name { " · " (plain(name)) }
            }
            p class="conditions" { (model.conditions().join(" · ")) }
            @if let Some(random) = model.random_weights() {
                p class="banner" { strong { "⚠ " (random) } }
            }
            @if let Some(reason) = &model.manifest.stop_reason {
                p class="banner" { strong { "⚠ Partial run: " } (plain(reason)) }
            }
        }
    }
}

fn tiles(model: &ReportModel) -> Markup {
    let Some(answers) = &model.summary.answers else {
        return html! { p class="banner" { strong { "✗ No request was measured." } } };
    };
    let invalid: Vec<&str> = model
        .summary
        .checks
        .iter()
        .filter(|check| check.state() == CheckState::Invalid)
        .map(|check| check.title)
        .collect();
    let verdict = |index: usize| match (index, answers.users.load, answers.users.state) {
        (0, Some(_), _) if answers.users.is_sure => "pass",
        (0, Some(_), _) => "caution",
        (0, None, ifm_analysis::answer::UsersState::None) => "fail",
        (3, ..) if answers.trust.invalid > 0 => "fail",
        (3, ..) if answers.trust.cautions > 0 => "caution",
        (3, ..) => "pass",
        _ => "plain",
    };
    html! {
        section aria-labelledby="answers" {
            h2 id="answers" { "Answers" }
            @if !invalid.is_empty() {
                p class="banner" {
                    strong { "✗ Some levels are not valid: " }
                    "this does not hold everywhere: " (invalid.join(", ")) ". See the checks."
                }
            }
            div class="tiles" {
                @for (index, answer) in
                    words::answers(answers, &model.summary.checks).iter().enumerate() {
                    div class={ "tile " (verdict(index)) } {
                        h3 { (answer.question) }
                        p class="big" { (answer.value) " " small { (answer.unit) } }
                        p class="detail" { (answer.detail) }
                    }
                }
            }
        }
    }
}

fn trust(model: &ReportModel) -> Markup {
    let sign = |state: CheckState| match state {
        CheckState::Passed => "✓ passed",
        CheckState::Caution => "⚠ caution",
        CheckState::Invalid => "✗ invalid",
        CheckState::NotApplicable => "– not applicable",
    };
    html! {
        section aria-labelledby="trust" {
            h2 id="trust" { "Checks" }
            @let loud = words::told(&model.summary.warnings);
            ul class="warnings" {
                @for (severity, text) in loud.iter().filter(|line| line.0 > Severity::Note) {
                    li class=(severity.word()) {
                        (words::sign(*severity)) " "
                        strong { (severity.word()) ": " } (text)
                    }
                }
            }
            details {
                summary { "All checks" }
                ul class="checks" {
                    @for check in &model.summary.checks {
                        li {
                            (sign(check.state())) ": " (check.title)
                            @if !check.warnings.is_empty() {
                                ul {
                                    @for (_, text) in words::told(&check.warnings) {
                                        li { (text) }
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn charts(model: &ReportModel) -> Markup {
    let charts = chart::charts(model);
    if charts.is_empty() {
        return html! {};
    }
    html! {
        section aria-labelledby="charts" {
            h2 id="charts" { "Against the load" }
            div class="charts" {
                @for chart in &charts { (chart.draw()) }
            }
        }
    }
}

fn levels(model: &ReportModel) -> Markup {
    let label = model.gap_label();
    let largest = |value: fn(&LevelSummary) -> Option<f64>| {
        model.summary.levels.iter().filter_map(value).fold(0.0, f64::max)
    };
    let output = LevelSummary::output_tok_per_s;
    let speed = |level: &LevelSummary| level.user_tok_per_s().map(|(speed, _)| speed);
    let (output_max, speed_max) = (largest(output), largest(speed));
    html! {
        section aria-labelledby="levels" {
            h2 id="levels" { "Levels" }
            div class="scroll" tabindex="0" role="region" aria-labelledby="levels" {
                table {
                    caption {
                        "Rates are over the steady window where there is one. "
                        "~ marks a percentile of too few values, or an estimate."
                    }
                    thead {
                        tr {
                            @for name in [model.load_unit(), "req/s", "out tok/s", "tok/s/user", "TTFT p50", "TTFT p99"] {
                                th scope="col" { (name) }
                            }
                            th scope="col" { abbr title=(label.long()) { (label.short()) } " p50" }
                            th scope="col" { abbr title=(label.long()) { (label.short()) } " p99" }
                            th scope="col" { "ok" }
                            th scope="col" { "window" }
                            th scope="col" class="note" { "note" }
                        }
                    }
                    tbody {
                        @for level in &model.summary.levels {
                            tr {
                                th scope="row" { (load(level.load())) }
                                td { (level.window().map_or_else(absent, |w| number(w.req_per_s))) }
                                (bar_cell(output(level), output_max, false))
                                (bar_cell(speed(level), speed_max, level.user_tok_per_s().is_some_and(|s| s.1)))
                                (time_cell(level.latencies.ttft_ns.as_ref(), 50.0))
                                (time_cell(level.latencies.ttft_ns.as_ref(), 99.0))
                                (time_cell(level.latencies.gap_ns.as_ref(), 50.0))
                                (time_cell(level.latencies.gap_ns.as_ref(), 99.0))
                                td { (level.counts.ok_share().map_or_else(absent, percent)) }
                                td { (level.window().map_or_else(absent, |w| w.window.kind.word().to_owned())) }
                                (note_cell(level, model.fitting_level() == Some(level.level)))
                            }
                        }
                    }
                }
            }
        }
    }
}

fn absent() -> String {
    ABSENT.to_owned()
}

/// A number with a bar of its share of the largest one.
fn bar_cell(value: Option<f64>, largest: f64, is_estimated: bool) -> Markup {
    let Some(value) = value else { return html! { td { (ABSENT) } } };
    let width = if largest > 0.0 { value / largest * BAR_WIDTH } else { 0.0 };
    html! {
        td {
            svg class="bar" width=(BAR_WIDTH) height="8" aria-hidden="true" {
                rect width=(format!("{width:.1}")) height="8" {}
            }
            " " @if is_estimated { "~" } (number(value))
        }
    }
}

/// A percentile; marked, with its n, where it stands on too few values.
pub(crate) fn time_cell(distribution: Option<&Distribution>, p: f64) -> Markup {
    let found = distribution
        .and_then(|distribution| distribution.percentile(p).map(|found| (distribution.n, found)));
    match found {
        None => html! { td { (ABSENT) } },
        Some((_, percentile @ Percentile { enough: true, .. })) => {
            html! { td { (marked_span(percentile)) } }
        }
        Some((n, percentile)) => html! {
            td class="thin" {
                (marked_span(percentile)) " " small { "n=" (n) }
            }
        },
    }
}

fn note_cell(level: &LevelSummary, is_fitting: bool) -> Markup {
    let (class, sign) = match level.verdict.state {
        VerdictState::Pass => ("note pass", "✓ "),
        VerdictState::Fail => ("note fail", "✗ "),
        VerdictState::Unknown => ("note", ""),
    };
    html! { td class=(class) { (sign) (note(level, is_fitting)) } }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{all_failed, model, single, sweep};

    #[test]
    fn base64_of_the_examples_of_its_standard() {
        let check = |text: &str, expect: &str| assert_eq!(base64(text.as_bytes()), expect);
        check("", "");
        check("f", "Zg==");
        check("fo", "Zm8=");
        check("foo", "Zm9v");
        check("foobar", "Zm9vYmFy");
    }

    #[test]
    fn the_page_of_a_sweep() {
        // The style sheet would hide the page in the snapshot.
        let page = html(&model(&sweep())).replace(STYLE, "…").replace("><", ">\n<");
        insta::assert_snapshot!(page);
    }

    #[test]
    fn the_page_loads_and_runs_nothing() {
        for run in [sweep(), single(), all_failed()] {
            let page = html(&model(&run));
            for forbidden in
                ["<script", "<link", "src=", "href=\"http", "url(", "@import", " style="]
            {
                assert!(!page.contains(forbidden), "{forbidden}");
            }
            assert!(page.contains("default-src 'none'"));
            // The hash in the policy is that of exactly what stands between the tags.
            assert!(page.contains(&format!("<style>{STYLE}</style>")));
        }
    }

    #[test]
    fn names_are_escaped() {
        let mut run = sweep();
        let evil = "<script>alert(1)</script>\"'&";
        run.manifest.spec.target.model = evil.to_owned();
        run.manifest.name = Some(evil.to_owned());
        run.manifest.command = vec![evil.to_owned()];
        run.manifest.stop_reason = Some(evil.to_owned());
        run.manifest.server.notes.insert("weights".to_owned(), format!("random {evil}"));
        run.manifest.server.notes.insert(evil.to_owned(), evil.to_owned());
        run.manifest.server.kind = Some(evil.to_owned());
        let page = html(&model(&run));
        assert!(!page.contains("<script"));
        assert!(page.contains("&lt;script&gt;alert(1)"));
    }

    #[test]
    fn every_table_has_a_caption_and_scoped_heads() {
        let page = html(&model(&sweep()));
        assert_eq!(page.matches("<table").count(), page.matches("<caption").count());
        assert_eq!(
            page.matches("<th").count() - page.matches("<thead").count(),
            page.matches("scope=").count()
        );
        assert_eq!(page.matches("<svg class=\"chart\"").count(), page.matches("<desc").count());
    }
}
