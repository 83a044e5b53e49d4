//! The result of a search for the capacity, in words and as JSON.
//!
//! Not here: the search (`course`), the numbers (`ifm-analysis`).

use crate::cli::load_args::Format;
use crate::course::{CapacityCourse, Judged};
use crate::resolve::Job;
use crate::terminal;
use ifm_analysis::capacity::{Bracket, Economics, Finding, People, people, replicas};
use ifm_analysis::{Severity, slo};
use ifm_report::{ReportModel, TerminalStyle};
use serde_json::{Value, json};

/// What follows from the bracket.
struct Answer<'a> {
    bracket: Option<Bracket>,
    inside: Option<&'a Judged>,
    outside: Option<&'a Judged>,
    people: Option<People>,
    servers: Option<u64>,
    economics: Option<Economics>,
}

impl<'a> Answer<'a> {
    fn of(course: &'a CapacityCourse) -> Answer<'a> {
        let bracket = course.bracket();
        let at = |users: Option<u32>| {
            let users = users?;
            course.judged().find(|judged| judged.users == users)
        };
        // A search that was stopped still knows what it has measured.
        let known = bracket.unwrap_or_else(|| Bracket {
            inside: course.judged().filter(|j| j.finding == Finding::Inside).map(|j| j.users).max(),
            outside: course
                .judged()
                .filter(|j| j.finding == Finding::Outside)
                .map(|j| j.users)
                .min(),
            unsettled: None,
        });
        let (inside, outside) = (at(known.inside), at(known.outside));
        let worth = course.worth;
        let busy_s =
            inside.and_then(|judged| Some(judged.summary.latencies.e2e_ns.as_ref()?.mean / 1e9));
        let behind = inside.zip(busy_s).zip(worth.think_s);
        let people =
            behind.and_then(|((judged, busy), think)| people(f64::from(judged.users), busy, think));
        let servers = people.zip(worth.target_people).and_then(|(people, target)| {
            replicas(f64::from(target), people.people, worth.headroom)
        });
        let rate = inside.and_then(|judged| Some(judged.summary.window()?.output_tok_per_s));
        let economics = worth.price.zip(rate).and_then(|(price, rate)| price.of(rate));
        Answer { bracket, inside, outside, people, servers, economics }
    }
}

/// Shows the result on standard output.
pub fn show(course: &CapacityCourse, job: &Job, model: &ReportModel, style: &TerminalStyle) {
    let answer = Answer::of(course);
    let printed = match job.format {
        Format::Json => format!("{:#}\n", document(course, &answer, job, model)),
        Format::Text => {
            cautions(model).iter().for_each(|caution| terminal::warn(caution));
            format!("\n{}", style.text(&words(course, &answer, job)))
        }
        other => crate::output::text(model, other, style),
    };
    terminal::print(&printed);
}

fn words(course: &CapacityCourse, answer: &Answer<'_>, job: &Job) -> String {
    let mut lines = vec![format!("target  {}", slo::words(&job.spec.slo))];
    for judged in course.judged() {
        lines.push(format!(
            "  {:>5} users  {:<12} {} requests in {} look{}{}",
            judged.users,
            finding_word(judged.finding),
            judged.summary.counts.sent,
            judged.looks,
            if judged.looks == 1 { "" } else { "s" },
            failing(judged).map(|why| format!("  ({why})")).unwrap_or_default()
        ));
    }
    lines.push(String::new());
    lines.push(match (answer.bracket, answer.inside, answer.outside) {
        (None, ..) => " ● Capacity      not known: the search was stopped".to_owned(),
        (_, None, Some(outside)) => {
            format!(" ● Capacity      none: {} is outside already", users(outside.users))
        }
        (_, None, None) => " ● Capacity      not known: no load could be settled".to_owned(),
        (_, Some(inside), None) => {
            format!(" ● Capacity      at least {}: no larger load was allowed", users(inside.users))
        }
        (_, Some(inside), Some(outside)) => format!(
            " ● Capacity      {} ({} outside: {})",
            users(inside.users),
            outside.users,
            failing(outside).unwrap_or_default()
        ),
    });
    if let Some(unsettled) = answer.bracket.and_then(|bracket| bracket.unsettled) {
        lines.push(format!(
            "                 {unsettled} lies at the limit: {} looks could not settle it",
            course.judged().find(|judged| judged.users == unsettled).map_or(0, |j| j.looks)
        ));
    }
    if let Some(window) = answer.inside.and_then(|judged| judged.summary.window()) {
        lines.push(format!(
            " ● Output        {:.1} tok/s, {:.2} req/s, {:.2} M tokens per hour",
            window.output_tok_per_s,
            window.req_per_s,
            window.output_tok_per_s * 3600.0 / 1e6
        ));
    }
    lines.extend(answer.people.map(|people| {
        format!(
            " ● People        {:.0}: busy {:.2} s of every {:.2} s",
            people.people.floor(),
            people.busy_s,
            people.busy_s + people.think_s
        )
    }));
    lines.extend(answer.servers.zip(course.worth.target_people).map(|(servers, target)| {
        format!(
            " ● Servers       {servers} for {target} people, {:.0} % of each kept free",
            course.worth.headroom * 100.0
        )
    }));
    lines.extend(answer.economics.map(|economics| {
        format!(" ● Cost          {:.4} for a million output tokens", economics.per_million_output)
    }));
    lines.push(String::new());
    lines.join("\n")
}

/// What the checks found that may mislead: the first of each check, and how many more there are.
/// A search measures many levels, and what holds for one holds for most.
fn cautions(model: &ReportModel) -> Vec<String> {
    let checks = model.summary.checks.iter();
    let loud = checks.filter_map(|check| {
        let mut warnings =
            check.warnings.iter().filter(|warning| warning.severity > Severity::Note);
        let first = warnings.next()?;
        let more = warnings.count();
        let at = first.load.map_or_else(String::new, |load| format!("{} users: ", load.value()));
        let others = if more > 0 { format!(" (and {more} more like it)") } else { String::new() };
        Some(format!("{at}{}{others}", first.text))
    });
    loud.collect()
}

fn users(number: u32) -> String {
    format!("{number} {}", if number == 1 { "user" } else { "users" })
}

fn finding_word(finding: Finding) -> &'static str {
    match finding {
        Finding::Inside => "inside",
        Finding::Outside => "outside",
        Finding::Unsettled => "not settled",
    }
}

/// The terms that fail: `ttft p99 712.3 ms > 500 ms`.
fn failing(judged: &Judged) -> Option<String> {
    let verdict = &judged.summary.verdict;
    let mut reasons: Vec<String> = verdict
        .failing()
        .filter_map(|term| {
            let limit = &term.term;
            let (metric, p) = (limit.metric.to_uppercase(), limit.percentile);
            Some(format!("{metric} p{p} {:.1} ms > {} ms", term.value_ms?, limit.limit_ms))
        })
        .collect();
    if verdict.too_many_errors {
        let share = judged.summary.counts.error_rate().unwrap_or(0.0) * 100.0;
        reasons.push(format!("{share:.1} % of the requests failed"));
    }
    (!reasons.is_empty()).then(|| reasons.join(", "))
}

fn document(course: &CapacityCourse, answer: &Answer<'_>, job: &Job, model: &ReportModel) -> Value {
    let mut document = json!({
        "kind": "inferometer_capacity",
        "run": model.manifest.run_id,
        "slo": {"name": job.spec.slo.name, "terms": slo::words(&job.spec.slo)},
        "is_finished": answer.bracket.is_some(),
        "loads": course.judged().map(load).collect::<Vec<_>>(),
        "warnings": ifm_report::findings(model),
    });
    let mut set = |name: &str, value: Option<Value>| {
        if let Some(value) = value {
            document[name] = value;
        }
    };
    set("users_inside", answer.inside.map(|judged| judged.users.into()));
    set("users_outside", answer.outside.map(|judged| judged.users.into()));
    set("users_unsettled", answer.bracket.and_then(|bracket| bracket.unsettled).map(Value::from));
    set("limited_by", answer.outside.and_then(failing).map(Value::from));
    let window = answer.inside.and_then(|judged| judged.summary.window());
    set("output_tok_per_s", window.map(|window| window.output_tok_per_s.into()));
    set("req_per_s", window.map(|window| window.req_per_s.into()));
    set(
        "people",
        answer.people.map(|people| {
            json!({"people": people.people, "busy_s": people.busy_s, "think_s": people.think_s})
        }),
    );
    set("servers", answer.servers.map(Value::from));
    set(
        "cost_per_million_output_tokens",
        answer.economics.map(|economics| economics.per_million_output.into()),
    );
    document
}

fn load(judged: &Judged) -> Value {
    json!({
        "users": judged.users,
        "finding": finding_word(judged.finding),
        "looks": judged.looks,
        "requests": judged.summary.counts.sent,
    })
}
