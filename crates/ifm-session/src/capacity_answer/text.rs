//! A search's answer as text for a terminal.
//!
//! Not here: the same as JSON (`capacity_answer`), and the rows of the levels (`ifm-report`).

use super::{
    Answer, INDENT, Rates, disagreements, fact, failing, finding_word, load_words, looks, media,
    number, requests, scout_word, tiers,
};
use crate::level_planner::{CapacityCourse, Judged};
use crate::pacing::OUT_OF_TIME;
use ifm_core::spec::RunSpec;
use ifm_metrics::capacity::Bracket;
use ifm_metrics::level::Load;
use ifm_metrics::slo;
use ifm_metrics::slo::{TermVerdict, VerdictState};
use ifm_metrics::telemetry::tokens_per_kwh;
use ifm_report::{ReportModel, TerminalStyle, shares_line, value_and_limit};

/// The whole answer, with lines that fit the width of the terminal.
pub(super) fn text(
    course: &CapacityCourse,
    answer: &Answer<'_>,
    (spec, model): (&RunSpec, &ReportModel),
    style: &TerminalStyle,
) -> String {
    let (levels, table) = (&model.summary.levels, ifm_report::level_table(model));
    let note = ifm_report::level_footnote(levels, &table, style);
    let mut out = note.map_or_else(String::new, |note| format!("{note}\n"));
    out.push('\n');
    for line in loads(course, spec).into_iter().chain(facts(course, answer, model)) {
        for part in style.paragraph(&line, INDENT) {
            out.push_str(&part);
            out.push('\n');
        }
    }
    out.push_str(&ifm_report::terminal_trust(model, style));
    // A table of several targets has its own width.
    for line in tiers::lines(course, model) {
        out.push_str(style.text(&line).trim_end());
        out.push('\n');
    }
    out
}

/// The target, then the result at each load, and an empty line.
fn loads(course: &CapacityCourse, spec: &RunSpec) -> Vec<String> {
    let mut lines = vec![format!("target  {}", slo::words(&spec.slo))];
    for judged in course.judged() {
        lines.push(format!(
            "  {:>12}  {:<12} {} in {}{}",
            load_words(judged.load),
            finding_word(judged.finding),
            ifm_core::words::counted(requests(judged), "request"),
            ifm_core::words::counted(looks(judged).into(), "measurement"),
            failing(judged)
                .or_else(|| held(judged))
                .map(|why| format!("  ({why})"))
                .unwrap_or_default()
        ));
    }
    lines.extend(scouts_line(course));
    lines.push(String::new());
    lines
}

/// The scouts, in one line: they chose the loads, and no verdict is based on them.
fn scouts_line(course: &CapacityCourse) -> Option<String> {
    let requests: u64 = course.scouts().map(|scout| scout.requests).sum();
    let loads: Vec<String> = course
        .scouts()
        .map(|scout| format!("{} {}", number(scout.load), scout_word(scout.finding)))
        .collect();
    (!loads.is_empty()).then(|| {
        format!(
            "scouts  {} ({}; they chose the loads above)",
            loads.join(", "),
            ifm_core::words::counted(requests, "request")
        )
    })
}

/// The capacity in words. `stop_reason` is why the search was stopped.
fn capacity(course: &CapacityCourse, answer: &Answer<'_>, stop_reason: Option<&str>) -> String {
    match (answer.bracket, answer.inside, answer.outside) {
        (None, inside, outside) => {
            let load = |judged: &Judged| load_words(judged.load);
            let is_over = stop_reason.is_some_and(|reason| reason.starts_with(OUT_OF_TIME));
            let why = if is_over { OUT_OF_TIME } else { "the search was stopped" };
            let known = stopped(inside.map(load), outside.map(load), why);
            // Scouts may know more, and are no proof.
            let (from, to) = course.edge();
            let scouted = |load: Option<Load>, measured: Option<&Judged>, what: &str| {
                let load = load.filter(|load| {
                    measured.is_none_or(|judged| judged.load.value() != load.value())
                })?;
                Some(format!("a short look at {} {what} the target", load_words(load)))
            };
            let looks: Vec<String> =
                [scouted(from, answer.inside, "met"), scouted(to, answer.outside, "missed")]
                    .into_iter()
                    .flatten()
                    .collect();
            match looks.is_empty() {
                true => known,
                false => format!("{known}; {}, which proves nothing", looks.join(", ")),
            }
        }
        (Some(Bracket { unsettled: Some(_), .. }), None, outside) => {
            let outside =
                outside.map(|outside| format!(", less than {}", load_words(outside.load)));
            format!("unknown{}: no load is shown to be inside", outside.unwrap_or_default())
        }
        (_, None, Some(outside)) => {
            format!("none: {} is outside already", load_words(outside.load))
        }
        (_, None, None) => "unknown: no load could be settled".to_owned(),
        (_, Some(inside), None) => {
            format!("at least {}: no larger load was allowed", load_words(inside.load))
        }
        (_, Some(inside), Some(outside)) => format!(
            "{} ({} outside: {})",
            load_words(inside.load),
            number(outside.load),
            failing(outside).unwrap_or_default()
        ),
    }
}

/// The capacity and what follows from it, one line each.
fn facts(course: &CapacityCourse, answer: &Answer<'_>, model: &ReportModel) -> Vec<String> {
    let stop_reason = model.manifest.stop_reason.as_deref();
    let mut lines = vec![fact("Capacity", &capacity(course, answer, stop_reason))];
    if let Some(unsettled) = answer.bracket.and_then(|bracket| bracket.unsettled) {
        lines.push(format!("{INDENT}{}", unsettled_words(course, unsettled)));
    }
    let answers = model.summary.answers.as_ref();
    let first_wave =
        answers.and_then(|found| ifm_report::with_first_requests(&found.users, found.at.gap_label));
    lines.extend(first_wave.map(|words| format!("{INDENT}⚠ {words}")));
    lines.extend(answer.outside.and_then(still_holding));
    lines.extend(second_looks(course));
    if let Some(knee) = model.summary.answers.as_ref().and_then(|answers| answers.knee) {
        lines.push(fact("Knee", &format!("{}: most output for its latency", load_words(knee))));
    }
    lines.extend(answer.rates.map(|rates| output_line(rates, media::has_tokens(answer.inside))));
    lines.extend(media::lines(answer.inside, model));
    lines.extend(tiers::sessions_line(course, answer));
    // With several targets, each has its own in the table.
    let inside = answer.inside.filter(|_| course.tiers.is_empty());
    lines.extend(
        inside
            .and_then(|judged| shares_line(judged.load.value(), &answer.carriers))
            .map(|line| fact("Each", &line)),
    );
    lines.extend(answer.people.map(|people| {
        let [busy, cycle] = [people.busy_s, people.busy_s + people.think_s].map(ifm_report::number);
        let people = ifm_report::count(people.people as u64);
        fact("People", &format!("{people}: each busy {busy} s of every {cycle} s"))
    }));
    lines.extend(answer.servers.zip(course.worth.target_people).map(|(servers, target)| {
        let free = course.worth.headroom * 100.0;
        fact("Servers", &format!("{servers} for {target} people, {free:.0} % of each kept free"))
    }));
    lines.extend(cost_line(answer));
    lines.extend(
        answer.per_hour.map(|per_hour| {
            format!("{INDENT}{} per hour for all servers", ifm_report::usd(per_hour))
        }),
    );
    lines.extend(answer.joules_per_token.map(|joules| {
        let per_kwh = ifm_report::number(tokens_per_kwh(joules));
        let joules = ifm_report::number(joules);
        fact("Energy", &format!("{joules} J/token, {per_kwh} tokens/kWh"))
    }));
    lines
}

/// Output at the highest load that meets the target.
fn output_line(rates: Rates, has_tokens: bool) -> String {
    let looks = rates.looks;
    let of_several =
        if looks > 1 { format!(" (mean of {looks} measurements)") } else { String::new() };
    let req_per_s = ifm_report::number(rates.req_per_s);
    let text = match rates.output_between {
        _ if !has_tokens => format!("{req_per_s} req/s{of_several}"),
        Some((least, most)) => {
            let [least, most] = [least, most].map(ifm_report::number);
            format!("{least} to {most} tok/s: {looks} measurements that differ too much for a mean")
        }
        None => {
            let rate = rates.output_tok_per_s;
            let [tok_per_s, per_hour] = [rate, rate * 3600.0].map(ifm_report::number);
            format!("{tok_per_s} tok/s, {req_per_s} req/s = {per_hour} tokens/hour{of_several}")
        }
    };
    fact("Output", &text)
}

/// Cost of tokens there; absent without a price.
fn cost_line(answer: &Answer<'_>) -> Option<String> {
    let price = answer.price?;
    let cost = |rate: f64| Some(ifm_report::usd(price.of(rate)?.per_million_output));
    let words = match answer.rates.and_then(|rates| rates.output_between) {
        Some((least, most)) => format!("{} to {}", cost(most)?, cost(least)?),
        None => ifm_report::usd(answer.economics?.per_million_output),
    };
    Some(fact("Cost", &format!("{words} per million output tokens")))
}

/// How to settle a load, unless it is exactly at the limit.
const MORE: &str = "--measurements and -n give it more requests";

/// The loads that were not settled, and how often each was measured.
fn unsettled_words(course: &CapacityCourse, (lowest, highest): (u32, u32)) -> String {
    let place = |place: u32| number(course.axis.load(place));
    let at = course.judged().filter(|judged| (lowest..=highest).contains(&judged.place));
    let looks: u32 = at.map(Judged::looks).sum();
    if lowest == highest {
        format!(
            "{} was not settled by {}: {MORE}",
            place(lowest),
            ifm_core::words::counted(u64::from(looks), "measurement")
        )
    } else {
        let (lowest, highest) = (place(lowest), place(highest));
        format!(
            "{lowest} to {highest} were not settled by {}: {MORE}",
            ifm_core::words::counted(u64::from(looks), "measurement")
        )
    }
}

/// What the measurements after the search say about its answer; nothing if there were none.
pub(super) fn second_looks(course: &CapacityCourse) -> Vec<String> {
    let found = disagreements(course);
    let loads: Vec<String> = course
        .judged()
        .filter(|judged| judged.again.is_some())
        .map(|judged| load_words(judged.load))
        .collect();
    if loads.is_empty() {
        let is_left_out = course.bracket().is_some() && course.is_unconfirmed();
        let text = "left out: time ran out (--budget gives it more)";
        return is_left_out.then(|| fact("Confirmation", text)).into_iter().collect();
    }
    if found.is_empty() {
        return vec![fact("Confirmation", &format!("as before, at {}", loads.join(" and ")))];
    }
    let lines = found.iter().enumerate();
    let line = |(index, text): (usize, &String)| match index {
        0 => fact("Confirmation", text),
        _ => format!("{INDENT}{text}"),
    };
    lines.map(line).collect()
}

/// The terms and their values, if all hold: `TTFT p99 212.3 ms of 500 ms`.
fn held(judged: &Judged) -> Option<String> {
    let terms: Vec<String> = judged.summary.verdict.terms.iter().filter_map(value).collect();
    (!terms.is_empty()).then(|| terms.join(", "))
}

/// A term and its value.
fn value(term: &TermVerdict) -> Option<String> {
    let (metric, over) = term.term.asked();
    let sign = if term.is_sure { "" } else { "~" };
    let (value, limit) = value_and_limit(&term.term, term.value_ms?);
    Some(format!("{metric} {over} {sign}{value} of {limit}"))
}

/// The terms that still hold where another term ends the capacity.
fn still_holding(outside: &Judged) -> Option<String> {
    let terms = &outside.summary.verdict.terms;
    let holding = terms.iter().filter(|term| term.state == VerdictState::Pass);
    let holding: Vec<String> = holding.filter_map(value).collect();
    let load = load_words(outside.load);
    let is_stopped = !holding.is_empty() && holding.len() < terms.len();
    is_stopped.then(|| format!("{INDENT}still inside at {load}: {}", holding.join(", ")))
}

/// What a stopped search knows about the capacity: both ends, if known. `why` it stopped.
fn stopped(inside: Option<String>, outside: Option<String>, why: &str) -> String {
    match (inside, outside) {
        (Some(inside), Some(outside)) => {
            format!("at least {inside}, less than {outside}: {why} between them")
        }
        (Some(inside), None) => {
            format!("at least {inside}: {why} before a load was outside")
        }
        (None, Some(outside)) => {
            format!("less than {outside}: {why} before a load was inside")
        }
        (None, None) => format!("unknown: {why} before a load was measured in full"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_that_was_stopped_tells_both_ends() {
        let load = |words: &str| Some(words.to_owned());
        for (inside, outside, expect) in [
            (load("8 users"), load("16 users"), "at least 8 users, less than 16 users: "),
            (load("8 users"), None, "at least 8 users: "),
            (None, load("1 user"), "less than 1 user: "),
            (None, None, "unknown: "),
        ] {
            let words = stopped(inside, outside, "the search was stopped");
            assert!(words.starts_with(expect), "{words}");
        }
    }
}
