//! Capacity from results that exist: between which loads the answer lies, as text, Markdown
//! and JSON.
//!
//! What is not here: the judging, which is [`ifm_results::Fitting`], and a search that
//! sends load.

use crate::TerminalStyle;
use crate::format::{meant, number, percent, plain};
use crate::json::{Object, SCHEMA_VERSION};
use crate::markdown::escape;
use crate::model::load_words;
use crate::shares::{shares_fields, shares_line};
use crate::terminal::{Color, wrap};
use crate::words::target;
use crate::words::value_and_limit;
use ifm_core::Metric;
use ifm_core::spec::{Asked, SloSpec, SloTerm};
use ifm_metrics::answer::UsersState;
use ifm_metrics::capacity::{People, Worth, replicas};
use ifm_metrics::level::Load;
use ifm_metrics::slo;
use ifm_metrics::slo::VerdictState;
use ifm_results::{Fitting, Miss, Pooled, name_of};
use ifm_rules::insight::Meant;
use serde_json::{Map, Value, json};

const MS_PER_S: f64 = 1e3;

/// What is known of one curve.
struct Told {
    is_known: bool,
    text: String,
    /// What follows from it, a line each.
    more: Vec<String>,
}

fn told(fitting: &Fitting, worth: &Worth) -> Told {
    let name = name_of(&fitting.of);
    let head = if name.is_empty() { String::new() } else { format!("{}: ", plain(&name)) };
    let next = fitting.next.as_ref();
    let fails = |at: &str, misses: &[Miss]| format!("{at} does not: {}", reasons(misses));
    let next_words = next.map(|(cell, misses)| fails(&load_words(cell.load()), misses));
    let inside = load_words(fitting.load());
    let mut text = match (fitting.state, next_words) {
        (UsersState::Found, Some(_)) if fitting.next_state == VerdictState::Unknown => {
            let at = load_words(next_load(fitting));
            let why = next.map_or(String::new(), |(_, misses)| undecided(misses));
            format!("at least {inside}: it meets the target, {at} {why}")
        }
        (UsersState::Found, Some(next)) => {
            let outside = load_words(next_load(fitting));
            format!("between {inside} and {outside}: {inside} meets the target, {next}")
        }
        (UsersState::AtLeast, _) | (UsersState::Found, None) => {
            format!("at least {inside}: every measured load meets the target")
        }
        (UsersState::None, Some(next)) => format!("below every measured load: {next}"),
        (UsersState::None, None) => "below every measured load".to_owned(),
        (UsersState::Unknown, _) => match next {
            Some((cell, misses)) => {
                format!("unknown: {} {}", load_words(cell.load()), undecided(misses))
            }
            None => "unknown: no level with a load".to_owned(),
        },
    };
    let rates = media(fitting);
    if !rates.is_empty() {
        text.push_str(&format!("; {inside}: {}", rates.join(", ")));
    }
    if !fitting.inside_above.is_empty() {
        let loads: Vec<String> =
            fitting.inside_above.iter().map(|load| load_words(Some(*load))).collect();
        text.push_str(&format!("; {} would meet it: measure again", loads.join(", ")));
    }
    if fitting.state != UsersState::Unknown && !fitting.is_sure {
        text.push_str(" (not certain: too few requests, or numbers without an interval)");
    }
    Told {
        is_known: fitting.state != UsersState::Unknown,
        text: format!("{head}{text}"),
        more: follows(fitting, worth),
    }
}

/// What the load that fits is worth, a line each.
fn follows(fitting: &Fitting, worth: &Worth) -> Vec<String> {
    let (Some(cell), Some(load)) = (&fitting.fits, fitting.load()) else { return Vec::new() };
    let carriers = cell.carriers(worth);
    let sessions = carriers.sessions_per_hour.map(|rate| {
        format!("{}: {} sessions complete per hour", load_words(Some(load)), number(rate))
    });
    let each = shares_line(load.value(), &carriers).map(|line| format!("each: {line}"));
    let people = worth.think_s.and_then(|think_s| fitting.people_behind(think_s));
    let servers = people.as_ref().zip(worth.target_people).and_then(|(people, target)| {
        let servers = replicas(f64::from(target), people.people, worth.headroom)?;
        let free = percent(worth.headroom);
        Some(format!("servers: {servers} for {target} people, {free} of each kept free"))
    });
    let people = people.map(|people| {
        let People { people, busy_s, think_s } = people;
        let [busy, cycle] = [busy_s, busy_s + think_s].map(number);
        format!("people: {:.0}, each busy {busy} s of every {cycle} s", people.floor())
    });
    [sessions, each, people, servers].into_iter().flatten().collect()
}

/// Media per second at the load that fits: `12.5 images/s`.
fn media(fitting: &Fitting) -> Vec<String> {
    let rates = fitting.fits.as_ref().map(Pooled::media_rates).unwrap_or_default();
    rates.into_iter().map(|(metric, value)| media_rate(metric, value)).collect()
}

/// A rate of media in words: `12.5 images/s`, `RTFx 40.2`.
pub fn media_rate(metric: Metric, value: f64) -> String {
    match metric {
        Metric::LevelRtfx => format!("RTFx {}", number(value)),
        _ => format!("{} {}", number(value), metric.name()),
    }
}

fn next_load(fitting: &Fitting) -> Option<Load> {
    fitting.next.as_ref().and_then(|(cell, _)| cell.load())
}

/// `ITL p99 67.2 ms above 50.0 ms, 3 % of the requests failed`.
fn reasons(misses: &[Miss]) -> String {
    let one = |miss: &Miss| match miss {
        Miss::Term(term, value) => {
            let (metric, over) = term.asked();
            let name = format!("{metric} {over}");
            match value {
                Some(ms) => {
                    let (value, limit) = value_and_limit(term, *ms);
                    let side = if term.is_least() { "below" } else { "above" };
                    format!("{name} {value} {side} {limit}")
                }
                None => format!("{name} is not given"),
            }
        }
        Miss::Errors(share) => format!("{} of the requests failed", meant(*share, Meant::Share)),
    };
    let words: Vec<String> = misses.iter().map(one).collect();
    if words.is_empty() { "no number decides it".to_owned() } else { words.join(", ") }
}

/// Why a load is neither inside nor outside.
fn undecided(misses: &[Miss]) -> String {
    match misses {
        [] => "is not settled".to_owned(),
        misses => format!("cannot be judged: {}", reasons(misses)),
    }
}

fn head(slo: &SloSpec) -> String {
    format!("Capacity inside {}, from existing results", target(slo))
}

/// The answer for people at a terminal; ends with a line break.
pub fn fitting_terminal(
    slo: &SloSpec,
    fittings: &[Fitting],
    worth: &Worth,
    style: &TerminalStyle,
) -> String {
    let mut out = style.paint(Color::Bold, &style.text(&head(slo)));
    out.push('\n');
    for told in fittings.iter().map(|fitting| told(fitting, worth)) {
        for line in wrap(&style.text(&format!(" ● {}", told.text)), style.width, "   ") {
            let line = if told.is_known { line } else { style.paint(Color::Yellow, &line) };
            out.push_str(&line);
            out.push('\n');
        }
        for line in &told.more {
            for line in wrap(&style.text(&format!("   {line}")), style.width, "     ") {
                out.push_str(&line);
                out.push('\n');
            }
        }
    }
    out
}

/// The answer in sentences.
pub struct FittingText {
    /// The target.
    pub head: String,
    /// Between which loads each curve's capacity lies, in a few words.
    pub short: Vec<String>,
    /// The same with its reasons, and what follows from it.
    pub lines: Vec<String>,
}

/// The answer as sentences for one target.
pub fn fitting_text(slo: &SloSpec, fittings: &[Fitting], worth: &Worth) -> FittingText {
    let short = |one: &Fitting| {
        let name = plain(&name_of(&one.of));
        let before = if name.is_empty() { String::new() } else { format!("{name}: ") };
        let text = told(one, worth).text;
        let range = text.strip_prefix(&before).unwrap_or(&text);
        let range = range.split([':', ';']).next().unwrap_or_default();
        format!("{before}{range}")
    };
    let lines = fittings.iter().flat_map(|one| {
        let told = told(one, worth);
        std::iter::once(told.text).chain(told.more)
    });
    FittingText {
        head: head(slo),
        short: fittings.iter().map(short).collect(),
        lines: lines.collect(),
    }
}

/// The answer as Markdown; ends with a line break.
pub fn fitting_markdown(slo: &SloSpec, fittings: &[Fitting], worth: &Worth) -> String {
    let lines = fittings.iter().map(|one| {
        let told = told(one, worth);
        let more = told.more.iter().map(|line| format!("  - {}\n", escape(line)));
        format!("- {}\n{}", escape(&told.text), more.collect::<String>())
    });
    format!("## {}\n\n{}", escape(&head(slo)), lines.collect::<String>())
}

/// The answer as one JSON document, with those to other targets by name; ends with a line break.
pub fn fitting_json(
    (slo, fittings): (&SloSpec, &[Fitting]),
    tiers: &[(String, SloSpec, Vec<Fitting>)],
    worth: &Worth,
) -> String {
    let curves = |fittings: &[Fitting]| {
        fittings.iter().map(|fitting| curve(fitting, worth)).collect::<Vec<_>>()
    };
    let mut document = json!({
        "schema_version": SCHEMA_VERSION,
        "kind": "measured_capacity",
        "slo": slo::words(slo),
        "curves": curves(fittings),
    });
    if !tiers.is_empty() {
        let tier = |(name, slo, fittings): &(String, SloSpec, Vec<Fitting>)| json!({"name": name, "slo": slo::words(slo), "curves": curves(fittings)});
        document["tiers"] = tiers.iter().map(tier).collect();
    }
    format!("{document:#}\n")
}

/// Media per second at the load that fits, by the words of their metrics.
fn media_object(fitting: &Fitting) -> Option<Value> {
    let rates = fitting.fits.as_ref()?.media_rates();
    let object: Map<String, Value> =
        rates.into_iter().map(|(metric, value)| (metric.word().to_owned(), value.into())).collect();
    (!object.is_empty()).then_some(Value::Object(object))
}

/// The name of the lowest value of a term, where it has one.
fn least_name(term: &SloTerm) -> &'static str {
    match term.limit_shown() {
        Asked::Share(_) => "share_min",
        Asked::Ratio(_) => "rtfx_min",
        _ => "speed_min_tok_per_s",
    }
}

fn curve(fitting: &Fitting, worth: &Worth) -> Value {
    let load = |load: Load| match load {
        Load::Users(users) => json!({"users": users}),
        Load::ReqPerS(rate) => json!({"req_per_s": rate}),
    };
    let miss = |miss: &Miss| {
        let mut object = Object::default();
        match miss {
            Miss::Term(term, value) => object
                .set("metric", format!("{}.{}", term.metric.word(), term.over()))
                .set("limit_s", term.limit_ms / MS_PER_S)
                .set_known(least_name(term), term.speed_min)
                .set_known("value_s", value.map(|ms| ms / MS_PER_S)),
            Miss::Errors(share) => object.set("metric", "error_rate").set("value", *share),
        };
        object.take()
    };
    let of: Map<String, Value> =
        fitting.of.iter().map(|(name, value)| (name.to_owned(), value.into())).collect();
    let state = match fitting.state {
        UsersState::Found => "found",
        UsersState::AtLeast => "at_least",
        UsersState::None => "below",
        UsersState::Unknown => "unknown",
    };
    let misses = fitting.next.iter().flat_map(|(_, misses)| misses).map(miss);
    let mut object = Object::default();
    object
        .set("of", Value::Object(of))
        .set("state", state)
        .set("is_sure", fitting.is_sure)
        .set_known("inside", fitting.load().map(load))
        .set_known("outside", next_load(fitting).map(load))
        .set_known("low", fitting.low.map(load))
        .set_known("high", fitting.high.map(load))
        .set_known("media_per_s", media_object(fitting))
        .set("misses", misses.collect::<Vec<_>>())
        .set("inside_above", fitting.inside_above.iter().map(|at| load(*at)).collect::<Vec<_>>())
        .set("text", told(fitting, worth).text);
    let people = worth.think_s.and_then(|think_s| fitting.people_behind(think_s));
    let servers = people
        .zip(worth.target_people)
        .and_then(|(it, target)| replicas(f64::from(target), it.people, worth.headroom));
    object
        .set_known(
            "people",
            people
                .map(|it| json!({"people": it.people, "busy_s": it.busy_s, "think_s": it.think_s})),
        )
        .set_known("servers", servers);
    if let (Some(cell), Some(load)) = (&fitting.fits, fitting.load()) {
        for (name, value) in shares_fields(load.value(), &cell.carriers(worth)) {
            object.set(&name, value);
        }
    }
    object.take()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::sweep;
    use ifm_core::SentMedia;
    use ifm_core::sheet::PartKind;
    use ifm_metrics::testing::{MS, images};
    use ifm_results::Results;

    /// 4 s of audio in each prompt, against an RTFx that every answer has, and one that none has.
    #[test]
    fn recordings_are_told_as_they_were_asked_for() {
        let heard = SentMedia { audios: 1, audio_ns: Some(4_000 * MS), ..SentMedia::default() };
        let run = images(|_, record| record.media = Some(heard));
        let results = Results::of_run(&run.manifest, &ifm_metrics::summarize(&run));
        let told = |limit: &str| {
            let slo = slo::parse(limit).expect("a target");
            let fittings = results.pool(PartKind::Serving).fittings(&[], &slo);
            let text = fitting_json((&slo, &fittings), &[], &Worth::default());
            let document: Value = serde_json::from_str(&text).expect("JSON");
            (document["curves"][0].clone(), fitting_markdown(&slo, &fittings, &Worth::default()))
        };
        let (inside, words) = told("rtfx:p10>0.5");
        assert_eq!(inside["state"], "at_least", "{inside}");
        let rtfx = inside["media_per_s"]["level_rtfx"].as_f64().expect("audio was sent");
        assert!(words.contains(&format!("RTFx {}", number(rtfx))), "{words}");
        let (outside, words) = told("rtfx:p10>4000");
        assert_eq!((&outside["state"], &outside["media_per_s"]), (&json!("below"), &Value::Null));
        assert_eq!(outside["misses"][0]["rtfx_min"], 4000.0, "{outside}");
        assert!(words.contains("RTFx p10 ") && words.contains(" below "), "{words}");
    }

    /// A sweep against limits that some, all and none of its loads meet.
    #[test]
    fn the_answer_lies_between_two_measured_loads() {
        let run = sweep();
        let results = Results::of_run(&run.manifest, &ifm_metrics::summarize(&run));
        let check = |limit: &str, state: &str, words: &str| {
            let slo = slo::parse(limit).expect("a target");
            let pool = results.pool(PartKind::Serving);
            let fittings = pool.fittings(&[], &slo);
            let document: Value =
                serde_json::from_str(&fitting_json((&slo, &fittings), &[], &Worth::default()))
                    .expect("JSON");
            assert_eq!(document["curves"][0]["state"], state, "{document}");
            let style = TerminalStyle { width: 200, color: false, ascii: false, verbose: false };
            let text = fitting_terminal(&slo, &fittings, &Worth::default(), &style);
            assert!(text.contains(words), "{text}");
            assert!(fitting_markdown(&slo, &fittings, &Worth::default()).contains("- "));
        };
        check("ttft:p50<3600s", "at_least", "every measured load meets the target");
        check("ttft:p50<0.001ms", "below", "below every measured load");
        check("ttfat:p99<1s,tpot:p99<0.001ms", "below", "TPOT p99");
    }
}
