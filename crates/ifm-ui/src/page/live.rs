//! A run while it goes on: what is known so far, drawn anew once a second.

use crate::catalogue::Item;
use crate::live::{LevelView, View};
use crate::time::clock;
use ifm_core::Manifest;
use ifm_metrics::level::GapLabel;
use ifm_metrics::tally::Percentiles;
use ifm_report::{ABSENT, command_line, count, number, span};
use maud::{Markup, html};

/// Size of the chart, in its own units.
const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 120.0;
/// Room for the scale at the left and the seconds below.
const LEFT: f64 = 44.0;
const BELOW: f64 = 18.0;

/// The page of a run that goes on.
pub(crate) fn live(item: &Item, manifest: &Manifest, view: &View) -> Markup {
    html! {
        div class="title" {
            h2 { "Running now" }
            label class="switch" { input type="checkbox" id="pause"; " Hold still" }
        }
        div id="live" hx-get={ (item.path()) "/live" } hx-trigger="every 1s" hx-swap="innerHTML" aria-live="off" {
            (panel(item, view))
        }
        noscript { p { "Load the page again to see how it goes on." } }
        details { summary { "Its command" } pre { code { (command_line(&manifest.command)) } } }
    }
}

/// The part that is drawn anew.
pub(crate) fn panel(item: &Item, view: &View) -> Markup {
    let now = view.levels.last();
    let finished = now.map_or(0, |level| level.finished);
    let failed: u64 = now.map_or(0, |level| level.failures.iter().map(|(_, n)| n).sum());
    let output = view.recent_tok_per_s.map_or_else(
        || ABSENT.to_owned(),
        |rate| format!("{}{}", if view.is_estimate { "~" } else { "" }, number(rate)),
    );
    html! {
        @if view.is_behind { p class="banner warn" { "⚠ Still reading what was finished before." } }
        dl class="tiles" {
            div { dt { "Level" } dd {
                @match now {
                    Some(level) => { (level.load) small { " " (view.levels.len()) " of " (view.levels_planned.max(view.levels.len())) } }
                    None => { "waiting" small { " for the first answer" } }
                }
            } }
            div { dt { "Elapsed" } dd { (clock(view.elapsed_s)) } }
            div { dt { "Answers" } dd { (count(finished)) small class=[(failed > 0).then_some("bad")] { @if failed > 0 { " ✗ " } @else { " " } (count(failed)) " failed" } } }
            div { dt { "Output, last " (clock(view.recent_s)) } dd { (output) small { " tok/s" } } }
            (percentiles("TTFT", now.and_then(|level| level.ttft)))
            (percentiles(gap_name(view), now.and_then(|level| level.gap)))
        }
        @if let Some(share) = now.and_then(|level| level.done_share) {
            progress max="100" value=(format!("{:.0}", share * 100.0)) aria-label="Done of this level" {}
        }
        (chart(view))
        (levels(view))
        p class="soft" { "From the journal of " (item.id) ", which holds finished requests: what is on its way is not seen yet. Percentiles are up to 1/16 above the true ones; the report computes them anew." }
    }
}

fn percentiles(name: &str, found: Option<Percentiles>) -> Markup {
    html! {
        div {
            dt { (name) " p50" }
            dd {
                @match found {
                    Some(found) => { (span(found.p50 as f64)) small class="line" { "p90 " (span(found.p90 as f64)) " · p99 " (span(found.p99 as f64)) } }
                    None => { (ABSENT) }
                }
            }
        }
    }
}

/// What the report calls the gap between tokens of these levels.
fn gap_name(view: &View) -> &'static str {
    view.levels.last().map_or(GapLabel::InterToken, |level| level.gap_label).short()
}

fn levels(view: &View) -> Markup {
    let [gap_p50, gap_p99] = ["p50", "p99"].map(|of| format!("{} {of}", gap_name(view)));
    let time = |found: Option<Percentiles>, of: fn(Percentiles) -> u64| {
        found.map_or_else(|| ABSENT.to_owned(), |found| span(of(found) as f64))
    };
    let row = |level: &LevelView| {
        let failed: u64 = level.failures.iter().map(|(_, n)| n).sum();
        let kinds: Vec<String> =
            level.failures.iter().map(|(word, n)| format!("{} {word}", count(*n))).collect();
        html! {
            tr {
                th scope="row" { (level.load) }
                td class="number" data-label="Answers" { (count(level.finished)) }
                td class="number" data-label="Failed" {
                    @if failed > 0 { span class="bad" { "✗ " (kinds.join(", ")) } } @else { "0" }
                }
                td class="number" data-label="tok/s" { (level.tok_per_s.map_or_else(|| ABSENT.to_owned(), number)) }
                td class="number" data-label="TTFT p50" { (time(level.ttft, |found| found.p50)) }
                td class="number" data-label="TTFT p99" { (time(level.ttft, |found| found.p99)) }
                td class="number" data-label=(gap_p50) { (time(level.gap, |found| found.p50)) }
                td class="number" data-label=(gap_p99) { (time(level.gap, |found| found.p99)) }
                td class="number" data-label="Warm-up" { (count(level.warmup)) }
            }
        }
    };
    html! {
        @if !view.levels.is_empty() {
            table class="rows" {
                caption { "Levels so far" }
                thead { tr {
                    th scope="col" { "Load" }
                    @for name in ["Answers", "Failed", "tok/s", "TTFT p50", "TTFT p99", gap_p50.as_str(), gap_p99.as_str(), "Warm-up"] {
                        th scope="col" class="number" { (name) }
                    }
                } }
                tbody { @for level in &view.levels { (row(level)) } }
            }
        }
    }
}

/// Output over time, as far as it is known whole.
fn chart(view: &View) -> Markup {
    let Some((last_s, _)) = view.points.last().copied().filter(|_| view.points.len() > 1) else {
        return html! {};
    };
    let most = nice(view.points.iter().map(|(_, rate)| *rate).fold(0.0, f64::max));
    let x = |at_s: f64| LEFT + at_s / last_s * (WIDTH - LEFT);
    let y = |rate: f64| (HEIGHT - BELOW) * (1.0 - rate / most) + 6.0;
    let line: Vec<String> =
        view.points.iter().map(|(at, rate)| format!("{:.1},{:.1}", x(*at), y(*rate))).collect();
    let line = line.join(" ");
    let first = view.points.first().map_or(LEFT, |(at, _)| x(*at));
    let floor = y(0.0);
    html! {
        figure class="chart" {
            figcaption { "Output, tokens per second" }
            svg viewBox={ "0 0 " (WIDTH) " " (HEIGHT + 8.0) } role="img" aria-label={ "Output over time: now " (number(view.points.last().map_or(0.0, |(_, rate)| *rate))) " of at most " (number(most)) " tokens per second" } {
                @for share in [0.0, 0.5, 1.0] {
                    line class="grid" x1=(LEFT) x2=(WIDTH) y1=(format!("{:.1}", y(most * share))) y2=(format!("{:.1}", y(most * share))) {}
                    text x=(LEFT - 6.0) y=(format!("{:.1}", y(most * share) + 4.0)) text-anchor="end" { (number(most * share)) }
                }
                polygon class="area" points={ (format!("{first:.1},{floor:.1}")) " " (line) " " (format!("{:.1},{floor:.1}", x(last_s))) } {}
                polyline class="line" points=(line) {}
                text x=(LEFT) y=(HEIGHT + 4.0) { "0 s" }
                text x=(WIDTH) y=(HEIGHT + 4.0) text-anchor="end" { (clock(last_s)) }
            }
        }
    }
}

/// The next larger of 1, 2, 5 times a power of ten.
fn nice(value: f64) -> f64 {
    if value <= 0.0 || !value.is_finite() {
        return 1.0;
    }
    let power = 10f64.powf(value.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].into_iter().find(|step| value <= step * power * 1.000_001);
    step.unwrap_or(10.0) * power
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scales_end_at_round_numbers() {
        for (value, expect) in
            [(0.0, 1.0), (0.7, 1.0), (1.0, 1.0), (13.0, 20.0), (480.0, 500.0), (501.0, 1000.0)]
        {
            assert_eq!(nice(value), expect, "{value}");
        }
    }
}
