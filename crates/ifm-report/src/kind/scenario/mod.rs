//! A narrative of one server over several use cases: what a user sees, what the server gives, how
//! many fit, and what it costs. From measurements, or from a document that only states figures.

mod data;
mod dispute;
mod glossary;
mod range;
mod speed;
mod stated;
mod system;

use super::answers::Answers;
use super::common::page as frame;
use super::{Kind, Subject};
use crate::format::{meant, meant_of, number, percent, plain};
use crate::model::load_words;
use crate::page::{Block, Columns, Page, Section, Tile};
use data::{CENTER, Data};
use dispute::Dispute;
use ifm_core::Metric;
use ifm_core::sheet::{PartKind, Statistic, key};
use ifm_metrics::level::Load;
use ifm_results::{Pool, Results};
use ifm_rules::insight::{Insight, Meant, Question, Tone, insights, told_by, user_speed_curves};

const SECONDS_PER_HOUR: f64 = 3600.0;
/// Scenarios that a condition line names, at most.
const NAMED_MAX: usize = 8;

pub(super) const KIND: Kind = Kind {
    word: "scenario",
    about: "use cases of one server side by side: speed, waits, capacity and cost",
    fits,
    page,
};

/// Curves of one server that differ in what was sent, or only stated figures of serving.
fn fits(subject: &Subject) -> bool {
    let results = subject.question.results;
    if results.points.iter().all(|point| point.role != ifm_core::sheet::RowRole::Measured) {
        return !results.stated().points.is_empty();
    }
    let by = told_by(&subject.question);
    let sent = [key::WORKLOAD, key::INPUT_TOKENS, key::OUTPUT_TOKENS, "scenario"];
    let names: Vec<&str> = by.iter().map(String::as_str).collect();
    let curves = results.pool(PartKind::Serving).curves(&names, Metric::Ttft, Statistic::Median);
    !by.is_empty()
        && by.iter().all(|name| sent.contains(&name.as_str()))
        && curves.iter().filter(|curve| curve.points.len() > 1).count() > 1
}

/// The page of what was measured, else of what is stated.
fn page(subject: &Subject) -> Page {
    if subject.question.results.has(PartKind::Serving) {
        return told(subject, &subject.question, subject.insights, false);
    }
    let results: Results = subject.question.results.stated();
    let question = Question { results: &results, ..subject.question.clone() };
    told(subject, &question, &insights(&question), true)
}

fn told(subject: &Subject, question: &Question, insights: &[Insight], is_stated: bool) -> Page {
    let data = Data::new(question, insights, is_stated);
    let pool = question.results.pool(PartKind::Serving);
    let answers = Answers::new(question, &pool, &data.by);
    let dispute = Dispute::of(subject.audit);
    let mut sections = vec![overview(&data, dispute)];
    sections.extend(speed::decode_speed(&data));
    sections.extend(speed::gaps(&data));
    sections.extend(speed::efficiency(&data));
    sections.extend(speed::speed_range(&data));
    sections.extend(speed::ttft_range(&data));
    sections.extend(system::throughput(&data).map(|mut section| {
        section.blocks.extend(stated::implied_output(&data, dispute));
        section
    }));
    sections.extend(system::pareto(&data));
    // What sentences state of a few loads is not a measured series, whatever target its means meet.
    let capacity = if is_stated { None } else { answers.capacity(insights) };
    sections.extend(capacity.or_else(|| stated::no_capacity(is_stated)));
    sections.extend(system::under_load(&data));
    sections.extend(answers.cost(insights));
    if is_stated {
        sections.push(stated::figures(subject.question.results, dispute));
    } else {
        sections.push(points(&pool, &data));
    }
    sections.push(glossary::section(is_stated.then_some(subject.question.results)));
    sections.retain(|section| !section.blocks.is_empty());
    if let Some(dispute) = dispute {
        dispute.mark(&mut sections);
    }
    let of_documents = frame(
        subject,
        (KIND.word, question.results),
        insights,
        (key::MODEL, "Performance by use case"),
    );
    Page {
        facts: facts(question.results).chain(of_documents.facts).collect(),
        conditions: conditions(&data, &pool),
        banners: match is_stated {
            true => stated::banners(subject.question.results, &data.names),
            false => Vec::new(),
        },
        tiles: tiles(&data, &answers, dispute),
        trust: super::sweep::trust_of(subject.runs).or(of_documents.trust),
        sections,
        footer: vec![format!("bands {}", ifm_rules::insight::Bands::get().version)],
        ..of_documents
    }
}

/// What ran: engine, machine, precision.
fn facts(results: &Results) -> impl Iterator<Item = String> {
    let values = [key::ENGINE, key::GPU, key::QUANTIZATION].map(|name| results.values(name));
    let known = values.into_iter().filter(|values| !values.is_empty());
    known.map(|values| plain(&values.join(", ")))
}

fn conditions(data: &Data, pool: &Pool) -> Vec<String> {
    let mut names: Vec<String> = data.names.iter().take(NAMED_MAX).cloned().collect();
    names.retain(|name| !name.is_empty());
    let more = data.names.len().saturating_sub(NAMED_MAX);
    if more > 0 {
        names.push(format!("and {more} more"));
    }
    let mut conditions = Vec::new();
    if !names.is_empty() {
        conditions.push(format!("use cases: {}", names.join(", ")));
    }
    let mut loads: Vec<f64> =
        data.users.cells.iter().filter_map(|cell| Some(cell.load()?.value())).collect();
    loads.sort_unstable_by(f64::total_cmp);
    loads.dedup();
    if let (Some(first), Some(last)) = (loads.first(), loads.last()) {
        conditions.push(match first == last {
            true => format!("{} at a time", meant_of(*first, Meant::Load, "user")),
            false => format!(
                "{} to {} users at a time",
                meant(*first, Meant::Load),
                meant(*last, Meant::Load)
            ),
        });
    }
    let (requests, _) = requests(pool);
    if requests > 0.0 {
        conditions.push(meant_of(requests, Meant::Count, "request"));
    }
    conditions
}

/// Requests that were sent, and those that failed.
fn requests(pool: &Pool) -> (f64, f64) {
    let sum = |quantity: Metric| -> f64 {
        let points = pool.cells.iter().flat_map(|cell| &cell.points);
        points.filter_map(|point| point.value(quantity, Statistic::Value)).sum()
    };
    let failed = sum(Metric::RequestsFailed);
    let sent = sum(Metric::Requests);
    let ok = sum(Metric::RequestsOk);
    (if sent > 0.0 { sent } else { ok + failed }, failed)
}

/// Best and worst of a set of points with their places in words.
fn extremes(curves: &[ifm_results::Curve], wanted: Option<Load>) -> [Option<(f64, String)>; 2] {
    let all = || {
        curves.iter().flat_map(|curve| {
            curve.points.iter().filter(|point| wanted.is_none() || point.cell.load() == wanted).map(
                |point| {
                    let place = format!("{}, {}", curve.name(), load_words(point.cell.load()));
                    (point.stat.value, plain(place.trim_start_matches(", ")))
                },
            )
        })
    };
    [all().min_by(|a, b| a.0.total_cmp(&b.0)), all().max_by(|a, b| a.0.total_cmp(&b.0))]
}

fn output_curves<'q>(data: &Data<'q>) -> Vec<ifm_results::Curve<'q>> {
    data.curves(Metric::OutputRate, &[Statistic::Value, Statistic::Mean, Statistic::Median])
}

/// Times to first token, those without a load among them.
fn waits<'q>(data: &Data<'q>) -> Vec<ifm_results::Curve<'q>> {
    let pool = data.question.results.pool(PartKind::Serving);
    pool.curves_against(&data.keys(), |cell| {
        Some((cell.load().map_or(0.0, Load::value), cell.first_of(Metric::Ttft, CENTER)?))
    })
}

fn tiles(data: &Data, answers: &Answers, dispute: Option<Dispute>) -> Vec<Tile> {
    let mut tiles: Vec<Tile> = answers.tile().into_iter().collect();
    let [slow, fast] = extremes(&user_speed_curves(&data.users, &data.by), None);
    if let (Some(fast), Some(slow)) = (fast, slow) {
        let detail = match fast.0 > slow.0 {
            true => format!("{}; down to {} ({})", fast.1, meant(slow.0, Meant::TokPerS), slow.1),
            false => fast.1,
        };
        let mut tile = Tile::new("Fastest for one user", number(fast.0), "tok/s", detail);
        if let Some(dispute) = dispute.filter(|dispute| dispute.is_speed(slow.0)) {
            tile.detail.push_str(&format!(" ⚠ {}", dispute.words()));
            tile.tone = Some(Tone::Warn);
        }
        tiles.push(tile);
    }
    let [best, worst] = extremes(&waits(data), None);
    if let (Some(best), Some(worst)) = (best, worst) {
        let detail = match worst.0 > best.0 {
            true => format!("{}; up to {} ({})", best.1, meant(worst.0, Meant::Ms), worst.1),
            false => best.1,
        };
        tiles.push(Tile::new("First token after", meant(best.0, Meant::Ms), "", detail));
    }
    let [_, most] = extremes(&output_curves(data), None);
    if let Some((rate, place)) = most {
        let hour = meant(rate * SECONDS_PER_HOUR, Meant::TokPerH);
        tiles.push(Tile::new("Most output", number(rate), "tok/s", format!("= {hour}, {place}")));
    }
    tiles
}

/// The answers in a table: one line for each question.
fn overview(data: &Data, dispute: Option<Dispute>) -> Section {
    let mut rows: Vec<(String, String)> = Vec::new();
    let range = |low: (f64, String), mark: &str, high: (f64, String), how: Meant| {
        let lowest = format!("{} ({}{mark})", meant(low.0, how), low.1);
        match low.0 < high.0 {
            true => format!("{lowest} to {} ({})", meant(high.0, how), high.1),
            false => lowest,
        }
    };
    let mut add = |name: &str, curves: &[ifm_results::Curve], wanted, how| {
        if let [Some(low), Some(high)] = extremes(curves, wanted) {
            let is_of = |dispute: &Dispute| how == Meant::TokPerS && dispute.is_speed(low.0);
            let mark = dispute.filter(is_of).map(|dispute| format!("; ⚠ {}", dispute.words()));
            rows.push((name.to_owned(), range(low, &mark.unwrap_or_default(), high, how)));
        }
    };
    let alone = Some(Load::Users(1));
    let speeds = data.ordered(user_speed_curves(&data.users, &data.by));
    let ttft = data.curves(Metric::Ttft, CENTER);
    add("speed for a single user", &speeds, alone, Meant::TokPerS);
    add("speed for one user, all loads", &speeds, None, Meant::TokPerS);
    add("TTFT of a single user", &ttft, alone, Meant::Ms);
    add("TTFT, all loads", &waits(data), None, Meant::Ms);
    let output = output_curves(data);
    if let [_, Some((rate, place))] = extremes(&output, None) {
        rows.push(("most output".to_owned(), format!("{} ({place})", meant(rate, Meant::TokPerS))));
    }
    rows.extend(scaling(&output));
    rows.extend(hours(&output));
    let (sent, failed) = requests(&data.users);
    if sent > 0.0 {
        let share = percent(1.0 - failed / sent);
        let words = format!("{share} of {}", meant_of(sent, Meant::Count, "request"));
        rows.push(("success".to_owned(), words));
    }
    if rows.is_empty() {
        return Section::new("Summary", Vec::new());
    }
    let caption = if data.is_stated { "As stated, not measured." } else { "As measured." };
    let columns = Columns::<(String, String)>::default()
        .name("question", |(question, _)| question.clone())
        .text("answer", |(_, answer)| answer.clone());
    Section::new("Summary", vec![Block::Table(columns.table(caption, rows))])
}

/// Output at the highest load over that of a single user, for the scenario that gains most.
fn scaling(output: &[ifm_results::Curve]) -> Option<(String, String)> {
    let gain = |curve: &ifm_results::Curve| {
        let (alone, last) = (curve.at(1.0)?, curve.points.last()?);
        let ratio = last.stat.value / alone.stat.value;
        (last.at > 1.0 && ratio.is_finite()).then(|| {
            let words = format!(
                "{} output with {} as with one ({})",
                meant(ratio, Meant::Times),
                load_words(last.cell.load()),
                plain(&curve.name())
            );
            (ratio, words)
        })
    };
    let best = output.iter().filter_map(gain).max_by(|a, b| a.0.total_cmp(&b.0))?;
    Some(("scaling".to_owned(), best.1))
}

/// Tokens per hour at the lowest, a middle and the highest load of the first scenario.
fn hours(output: &[ifm_results::Curve]) -> Option<(String, String)> {
    let curve = output.first()?;
    let middle = curve.points.len() / 2;
    let mut places = vec![0, middle, curve.points.len().saturating_sub(1)];
    places.dedup();
    let words: Vec<String> = places
        .into_iter()
        .filter_map(|place| curve.points.get(place))
        .map(|point| {
            format!(
                "{} with {}",
                number(point.stat.value * SECONDS_PER_HOUR),
                load_words(point.cell.load())
            )
        })
        .collect();
    let name = plain(&curve.name());
    let name = if name.is_empty() { name } else { format!(" ({name})") };
    Some((format!("tokens per hour{name}"), words.join(", ")))
}

fn points(pool: &Pool, data: &Data) -> Section {
    Section::new("Points", vec![Block::Table(super::sweep::points(pool, &data.by))])
}

#[cfg(test)]
mod tests;
