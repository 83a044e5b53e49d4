//! The result of a capacity search, as text and JSON.
//!
//! Not here: the search (`level_planner`), the numbers (`ifm-metrics`).

mod media;
mod text;
mod tiers;

use crate::level_planner::{CapacityCourse, Judged, Scout};
use ifm_core::spec::RunSpec;
use ifm_core::{CapacityFound, Manifest, Metric};
use ifm_metrics::capacity::{
    Bracket, Carriers, Economics, Finding, Pace, People, Price, busy_s, gpus_told, people, replicas,
};
use ifm_metrics::level::{Load, WindowSummary};
use ifm_metrics::stat::{Scale, center};
use ifm_metrics::telemetry::tokens_per_kwh;
use ifm_metrics::{LevelSummary, slo};
use ifm_report::{ReportModel, TerminalStyle, missed_sign, shares_fields, value_and_limit};
use serde_json::{Value, json};

/// The search result that is stored with its run.
pub fn found(course: &CapacityCourse, manifest: &Manifest) -> CapacityFound {
    let bracket = course.bracket();
    let known = known(course);
    let load = |place: u32| course.axis.load(place).value();
    CapacityFound {
        inside: known.inside.map(load),
        outside: known.outside.map(load),
        outside_looks: course
            .judged()
            .find(|judged| Some(judged.place) == known.outside)
            .map_or_else(Vec::new, |judged| judged.levels.clone()),
        unsettled: known.unsettled.map(|(lowest, highest)| (load(lowest), load(highest))),
        contradicted: course
            .judged()
            .filter(|judged| judged.is_contradicted())
            .map(|judged| judged.load.value())
            .collect(),
        is_over: bracket.is_some(),
        usd_per_hour: course.worth.price(gpus_told(manifest)).map(|price| price.per_hour),
        gpus: course.worth.gpus,
    }
}

/// The bracket; for a search that was stopped, what it has measured.
fn known(course: &CapacityCourse) -> Bracket {
    let outside = || course.judged().filter(|judged| judged.finding == Finding::Outside);
    course.bracket().unwrap_or_else(|| Bracket {
        inside: known_inside(course),
        outside: outside().map(|judged| judged.place).min(),
        unsettled: None,
    })
}

/// What follows from the bracket.
struct Answer<'a> {
    bracket: Option<Bracket>,
    inside: Option<&'a Judged>,
    outside: Option<&'a Judged>,
    /// Output at the highest load that meets the target.
    rates: Option<Rates>,
    people: Option<People>,
    servers: Option<u64>,
    economics: Option<Economics>,
    price: Option<Price>,
    /// What serves the highest load that meets the target.
    carriers: Carriers,
    /// Price of all servers per hour.
    per_hour: Option<f64>,
    /// Joules per output token, over all measurements of the highest load that meets the target.
    joules_per_token: Option<f64>,
}

impl<'a> Answer<'a> {
    fn of(course: &'a CapacityCourse, model: &ReportModel) -> Answer<'a> {
        let bracket = course.bracket();
        let at = |place: Option<u32>| {
            let place = place?;
            course.judged().find(|judged| judged.place == place)
        };
        let known = known(course);
        let (inside, outside) = (at(known.inside), at(known.outside));
        let worth = course.worth;
        let rates = inside.and_then(|judged| Rates::of(judged.load, model));
        let people = inside.zip(worth.think_s).and_then(|(judged, think)| {
            let e2e_s = || Some(judged.summary.latencies.get(Metric::E2e)?.mean / 1e9);
            match judged.load {
                Load::Users(users) => {
                    let users = f64::from(users);
                    let by_rate = rates.and_then(|rates| busy_s(users, rates.req_per_s));
                    people(users, by_rate.or_else(e2e_s)?, think)
                }
                // A rate keeps as many requests in flight as arrive while one is answered (Little's
                // law).
                Load::ReqPerS(rate) => {
                    let busy = e2e_s()?;
                    people(rate * busy, busy, think)
                }
            }
        });
        let servers = people.zip(worth.target_people).and_then(|(people, target)| {
            replicas(f64::from(target), people.people, worth.headroom)
        });
        let price = worth.price(gpus_told(&model.manifest));
        let economics =
            price.zip(rates).and_then(|(price, rates)| price.of(rates.output_tok_per_s));
        let joules_per_token = inside.and_then(|judged| energy(judged.load, model));
        let carriers =
            inside.map_or_else(Carriers::default, |judged| carriers(course, judged.load, model));
        let per_hour = price.zip(servers).map(|(price, n)| price.per_hour * n as f64);
        Answer {
            bracket,
            inside,
            outside,
            rates,
            people,
            servers,
            economics,
            price,
            carriers,
            per_hour,
            joules_per_token,
        }
    }
}

/// The largest load inside the target, for a search that was stopped. If a smaller one was outside,
/// that takes precedence, as in the search itself.
fn known_inside(course: &CapacityCourse) -> Option<u32> {
    let of = |finding| course.judged().filter(move |j| j.finding == finding).map(|j| j.place);
    let outside = of(Finding::Outside).min();
    of(Finding::Inside).filter(|place| outside.is_none_or(|outside| *place < outside)).max()
}

/// Output at a load.
#[derive(Debug, Clone, Copy)]
struct Rates {
    output_tok_per_s: f64,
    req_per_s: f64,
    looks: u32,
    /// The smallest and the largest output if the measurements differ too much for a mean.
    output_between: Option<(f64, f64)>,
}

impl Rates {
    /// The central value of all measurements of a load, as in every report of the run. Treating the
    /// measurements as one level would give one window, including the pauses between them.
    fn of(load: Load, model: &ReportModel) -> Option<Rates> {
        let windows: Option<Vec<_>> = levels_at(load, model).map(LevelSummary::window).collect();
        let windows = windows.filter(|windows| !windows.is_empty())?;
        let mean = |rate: fn(&WindowSummary) -> f64| {
            let rates: Vec<f64> = windows.iter().map(|window| rate(window)).collect();
            center(&rates, Scale::Ratio)
        };
        Some(Rates {
            output_tok_per_s: mean(|window| window.output_tok_per_s)?,
            req_per_s: mean(|window| window.req_per_s)?,
            looks: windows.len() as u32,
            output_between: model
                .summary
                .repeats
                .iter()
                .find(|repeated| is_same(repeated.load, load))
                .and_then(|repeated| repeated.output_tok_per_s)
                .filter(|between| between.is_noise())
                .map(|between| (between.min, between.max)),
        })
    }
}

/// The levels of a run that were measurements of a load. Scouts are no measurements.
fn levels_at(load: Load, model: &ReportModel) -> impl Iterator<Item = &LevelSummary> {
    model
        .summary
        .levels
        .iter()
        .filter(move |level| !level.is_scout())
        .filter(move |level| level.load().is_some_and(|asked| is_same(asked, load)))
}

/// Whether the load of a level is one of the search, which counts in steps.
fn is_same(asked: Load, load: Load) -> bool {
    (asked.value() - load.value()).abs() <= 1e-9 * load.value()
}

/// What serves a load. Power and rates of sessions are means over all measurements, and absent
/// unless each of them has a value.
fn carriers(course: &CapacityCourse, load: Load, model: &ReportModel) -> Carriers {
    let mean = |of: fn(&LevelSummary) -> Option<f64>| {
        let each: Option<Vec<f64>> = levels_at(load, model).map(of).collect();
        center(&each?, Scale::Ratio)
    };
    let told = gpus_told(&model.manifest);
    Carriers {
        gpus: course.worth.gpus(told),
        watts: mean(|level| Some(level.energy.as_ref()?.watts_mean)),
        usd_per_hour: course.worth.price(told).map(|price| price.per_hour),
        sessions_per_hour: mean(|level| level.sessions.as_ref()?.per_hour),
    }
}

/// Joules per output token at a load: the energy of all its levels divided by their tokens. Absent
/// unless the energy is known for each of them.
fn energy(load: Load, model: &ReportModel) -> Option<f64> {
    let (mut joules, mut tokens) = (0.0, 0.0);
    for level in levels_at(load, model) {
        joules += level.energy.filter(|energy| energy.joules_per_output_token.is_some())?.joules;
        tokens += level.window()?.output_tokens;
    }
    (tokens > 0.0).then(|| joules / tokens)
}

/// The answer as text for a terminal.
pub fn text(
    course: &CapacityCourse,
    (spec, model): (&RunSpec, &ReportModel),
    style: &TerminalStyle,
) -> String {
    text::text(course, &Answer::of(course, model), (spec, model), style)
}

/// The answer as a JSON document.
pub fn document(course: &CapacityCourse, (spec, model): (&RunSpec, &ReportModel)) -> Value {
    document_of(course, &Answer::of(course, model), spec, model)
}

/// Indentation of continued lines of an answer; see [`fact`].
const INDENT: &str = "                      ";

/// A line of the answer, in the layout of other commands' answers.
fn fact(name: &str, text: &str) -> String {
    format!(" ● {name:<17}  {text}")
}

/// Whether a measurement after the search disagrees with those before it.
fn disagreements(course: &CapacityCourse) -> Vec<String> {
    let mut found = Vec::new();
    for judged in course.judged() {
        let load = load_words(judged.load);
        if let Some(again) = judged.again.as_ref().filter(|_| judged.is_contradicted()) {
            found.push(format!(
                "{load}: {} in the search, {} when measured again; this contradicts the answer",
                finding_word(judged.finding),
                finding_word(again.finding)
            ));
        }
        if let Some(change) = judged.shown_change() {
            found.push(format!(
                "the server's speed changed between two measurements of {load}: median {} {} to {} \
                 ({:+.1} %)",
                pace_word(change.pace).to_uppercase(),
                ifm_report::span(change.first_ns),
                ifm_report::span(change.second_ns),
                change.share * 100.0
            ));
        }
    }
    found
}

fn pace_word(pace: Pace) -> &'static str {
    match pace {
        Pace::Tpot => "tpot",
        Pace::E2e => "e2e",
    }
}

/// Measured requests in all measurements of a load.
fn requests(judged: &Judged) -> u64 {
    judged.requests + judged.again.as_ref().map_or(0, |again| again.requests)
}

fn looks(judged: &Judged) -> u32 {
    judged.looks() + u32::from(judged.again.is_some())
}

fn load_words(load: Load) -> String {
    match load {
        Load::Users(1) => "1 user".to_owned(),
        Load::Users(_) => format!("{} users", number(load)),
        Load::ReqPerS(_) => format!("{} req/s", number(load)),
    }
}

/// Steps of rates have few digits; their floating-point sums have more.
fn number(load: Load) -> String {
    match load {
        Load::Users(users) => ifm_report::count(u64::from(users)),
        Load::ReqPerS(rate) => rounded(rate).to_string(),
    }
}

/// A rate with nine decimals, finer than any step.
fn rounded(rate: f64) -> f64 {
    (rate * 1e9).round() / 1e9
}

fn load_value(load: Load) -> Value {
    match load {
        Load::Users(users) => users.into(),
        Load::ReqPerS(rate) => rounded(rate).into(),
    }
}

fn finding_word(finding: Finding) -> &'static str {
    match finding {
        Finding::Inside => "inside",
        Finding::Outside => "outside",
        Finding::Unsettled => "not settled",
    }
}

/// What a scout says, in a word.
fn scout_word(finding: Finding) -> &'static str {
    match finding {
        Finding::Inside => "inside",
        Finding::Outside => "outside",
        Finding::Unsettled => "unclear",
    }
}

/// The terms that fail: `ttft p99 712.3 ms > 500 ms`.
fn failing(judged: &Judged) -> Option<String> {
    let verdict = &judged.summary.verdict;
    let mut reasons: Vec<String> = verdict
        .failing()
        .filter_map(|term| {
            let (metric, over) = term.term.asked();
            let (value, limit) = value_and_limit(&term.term, term.value_ms?);
            let sign = missed_sign(&term.term);
            Some(format!("{metric} {over} {value} {sign} {limit}"))
        })
        .collect();
    if verdict.too_many_errors {
        let share = judged.summary.counts.error_rate().unwrap_or(0.0) * 100.0;
        reasons.push(format!("{share:.1} % of the requests failed"));
    }
    (!reasons.is_empty()).then(|| reasons.join(", "))
}

fn document_of(
    course: &CapacityCourse,
    answer: &Answer<'_>,
    spec: &RunSpec,
    model: &ReportModel,
) -> Value {
    let mut warnings = disagreements(course);
    warnings.extend(ifm_report::findings(model));
    let mut document = json!({
        "kind": "inferometer_capacity",
        "run": model.manifest.run_id,
        "slo": {"name": spec.slo.name, "terms": slo::words(&spec.slo)},
        "is_finished": answer.bracket.is_some(),
        "loads": course.judged().map(load).collect::<Vec<_>>(),
        "scouts": course.scouts().map(scout).collect::<Vec<_>>(),
        "warnings": warnings,
    });
    let mut set = |name: &str, value: Option<Value>| {
        if let Some(value) = value {
            document[name] = value;
        }
    };
    let whole_ns = model.manifest.levels.iter().map(|level| level.end_ns).max();
    set("seconds_total", whole_ns.map(|ns| (ns as f64 / 1e9).into()));
    let sent = model.manifest.workload.as_ref().map(|sent| sent.prompts);
    set("requests_total", sent.map(Value::from));
    set("budget_s", spec.budget_s.map(Value::from));
    set("stop_reason", model.manifest.stop_reason.clone().map(Value::from));
    let unsettled = answer.bracket.and_then(|bracket| bracket.unsettled);
    let names = course.axis.fields();
    let place = |place: u32| course.axis.load(place);
    let loads = [
        answer.inside.map(|judged| judged.load),
        answer.outside.map(|judged| judged.load),
        unsettled.map(|(lowest, _)| place(lowest)),
        unsettled.filter(|(lowest, highest)| lowest < highest).map(|(_, highest)| place(highest)),
    ];
    names.into_iter().zip(loads).for_each(|(name, load)| set(name, load.map(load_value)));
    set("limited_by", answer.outside.and_then(failing).map(Value::from));
    let of_tokens = answer.rates.filter(|_| media::has_tokens(answer.inside));
    set("output_tok_per_s", of_tokens.map(|rates| rates.output_tok_per_s.into()));
    set("req_per_s", answer.rates.map(|rates| rates.req_per_s.into()));
    set(
        "people",
        answer.people.map(|people| {
            json!({"people": people.people, "busy_s": people.busy_s, "think_s": people.think_s})
        }),
    );
    set("media_per_s", media::document(answer.inside, model));
    set("bystander", media::bystander_document(answer.inside, model));
    if let Some(inside) = answer.inside {
        for (name, value) in shares_fields(inside.load.value(), &answer.carriers) {
            set(&name, Some(value));
        }
    }
    set("sessions", tiers::sessions_document(course, answer));
    set("tiers", tiers::document(course, model));
    set("servers", answer.servers.map(Value::from));
    set(
        "cost_per_million_output_tokens",
        answer.economics.map(|economics| economics.per_million_output.into()),
    );
    set("cost_per_hour", answer.per_hour.map(Value::from));
    set("energy_j_per_output_token", answer.joules_per_token.map(Value::from));
    set("output_tokens_per_kwh", answer.joules_per_token.map(|j| tokens_per_kwh(j).into()));
    document
}

fn load_name(load: Load) -> &'static str {
    match load {
        Load::Users(_) => "users",
        Load::ReqPerS(_) => "req_per_s_asked",
    }
}

/// A scout: no measurement, and no evidence for an answer.
fn scout(scout: &Scout) -> Value {
    json!({
        load_name(scout.load): load_value(scout.load),
        "finding": scout_word(scout.finding),
        "level": scout.level,
        "requests": scout.requests,
    })
}

fn load(judged: &Judged) -> Value {
    let name = load_name(judged.load);
    let mut load = json!({
        name: load_value(judged.load),
        "finding": finding_word(judged.finding),
        "looks": looks(judged),
        "requests": requests(judged),
    });
    if let Some(again) = &judged.again {
        load["again"] = json!({"finding": finding_word(again.finding)});
        if let Some(change) = again.change {
            load["again"]["change"] = json!({
                "metric": pace_word(change.pace),
                "first_s_p50": change.first_ns / 1e9,
                "second_s_p50": change.second_ns / 1e9,
                "share": change.share,
                "half_width": change.half_width,
                "is_shown": change.is_shown(),
            });
        }
    }
    load
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_look_that_contradicts_is_told() {
        use crate::level_planner::tests::{paced, slows_down, two_users};
        let course = two_users(slows_down, 6);
        let told = disagreements(&course).join("\n");
        for words in [
            "2 users: inside in the search, outside when measured again",
            "the server's speed changed between two measurements of 2 users",
        ] {
            assert!(told.contains(words), "{words}: {told}");
        }
        let lines = text::second_looks(&course).join("\n");
        assert!(
            lines.starts_with(&fact("Confirmation", "2 users: inside in the search")),
            "{lines}"
        );
        let two = load(course.judged().last().expect("two users"));
        assert_eq!((&two["looks"], &two["requests"]), (&2.into(), &40.into()), "{two}");
        assert_eq!(two["again"]["finding"], "outside", "{two}");
        assert_eq!(two["again"]["change"]["is_shown"], true, "{two}");

        let same = two_users(|_| paced(4.0), 6);
        assert_eq!(disagreements(&same), [""; 0]);
        assert_eq!(text::second_looks(&same), [fact("Confirmation", "as before, at 2 users")]);
        assert_eq!(text::second_looks(&two_users(|_| paced(4.0), 1)), [""; 0]);
    }
}
