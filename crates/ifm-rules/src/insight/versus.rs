//! Comparisons with a baseline: the factor that differs, and where both sides were measured.
//!
//! The factor is named by the user or found: the model, the precision, the condition, else the run.
//! Measurements are matched by the requested load; users and rates are two comparisons. Curves of
//! all parties have one axis. Not here: what the differences mean (`rule`).

use super::delta::{are_predicted, row_of};
use super::{Delta, Question};
use ifm_compare::comparison::Row;
use ifm_core::Metric;
use ifm_core::order::Order as _;
use ifm_core::sheet::{Factors, PartKind, Statistic, key};
use ifm_metrics::level::Load;
use ifm_results::{Curve, CurvePoint, Point, Pool, Pooled, Results, loop_words};
use std::collections::BTreeSet;

/// Factors that things are compared by where the user names none, the most telling first.
const TELLING: [&str; 5] = [key::MODEL, key::QUANTIZATION, key::CONDITION, key::ENGINE, key::RUN];
/// Factors of a single point rather than of what is compared.
const OF_POINT: [&str; 2] = [key::STRATEGY, key::REQUESTS];
/// Strategy of a row in which every request is sent at once: it sustains no load.
const BURST: &str = "throughput";
/// Strategy of a row in which one request is sent after the other.
const ALONE: &str = "synchronous";
/// The statistics of a latency's middle, the best first.
pub const CENTER: &[Statistic] = &[Statistic::Median, Statistic::Mean, Statistic::Value];
/// The statistics of a rate over a whole level, the best first.
pub const OUTPUT: &[Statistic] = &[Statistic::Value, Statistic::Mean, Statistic::Median];

/// The x axis of the curves.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum LoadAxis {
    /// Users of a closed loop, as they were set.
    Users,
    /// Requests in flight, as they were measured.
    InFlight(Statistic),
    /// Requests per second, as they were set.
    Rate,
}

impl LoadAxis {
    /// What is counted there.
    pub fn words(self) -> &'static str {
        match self {
            LoadAxis::Users => "users",
            LoadAxis::InFlight(Statistic::Mean) => "requests in flight on average",
            LoadAxis::InFlight(Statistic::Median) => "requests in flight (median)",
            LoadAxis::InFlight(_) => "requests in flight",
            LoadAxis::Rate => "req/s",
        }
    }

    /// The position of a measurement on the axis.
    pub fn place(self, cell: &Pooled) -> Option<f64> {
        match (self, cell.load()) {
            (LoadAxis::Users, Some(Load::Users(users))) => Some(f64::from(users)),
            (LoadAxis::Rate, Some(Load::ReqPerS(rate))) => Some(rate),
            (LoadAxis::InFlight(statistic), _) => {
                Some(cell.stat(Metric::InFlight, statistic)?.value)
            }
            _ => None,
        }
    }
}

/// One of the things compared.
#[derive(Debug, Clone)]
pub struct Party<'a> {
    /// Its full name.
    pub name: String,
    /// What sentences call it: what its name adds to the baseline's, else the full name.
    pub short: String,
    /// Its measurements.
    pub cells: Vec<Pooled<'a>>,
}

impl Party<'_> {
    /// What sentences call it where it is the baseline: `base`, unless its name is short.
    pub fn short_as_base(&self) -> &str {
        const SHORT: usize = 16;
        if self.name.chars().count() <= SHORT { &self.name } else { "base" }
    }
}

/// A load that was requested of the baseline and of another, with what a comparison says there.
#[derive(Debug, Clone)]
pub struct Matched {
    /// The load, as it is placed on the axis.
    pub at: f64,
    rows: Vec<Row>,
    is_predicted: bool,
}

impl Matched {
    /// The difference of a quantity by one of these statistics: the first for which the data give
    /// an interval, else the first with a number on both sides.
    pub fn delta(&self, quantity: Metric, statistics: &[Statistic]) -> Option<Delta> {
        Delta::of(row_of(&self.rows, quantity, statistics)?, self.is_predicted)
    }
}

/// Things compared with a baseline under the same conditions.
#[derive(Debug, Clone)]
pub struct Versus<'a> {
    /// The factor that distinguishes them, or `run`.
    pub by: String,
    /// What all have in common where there are several such groups: `chat · 8 GPUs`.
    pub scene: Option<String>,
    /// The baseline.
    pub base: Party<'a>,
    /// The others, in the order of their appearance; never empty.
    pub others: Vec<Party<'a>>,
    /// For each of the others the loads that were requested of it and of the baseline, rising.
    pub matched: Vec<Vec<Matched>>,
    /// The x axis of the curves.
    pub axis: LoadAxis,
}

/// Whether all requests of a row were sent at once, so that no load was sustained.
pub fn is_burst(cell: &Pooled) -> bool {
    cell.factor(key::STRATEGY).is_some_and(|strategy| strategy.eq_ignore_ascii_case(BURST))
}

impl<'a> Versus<'a> {
    /// What is compared in serving measurements, one for each group of equal conditions; nothing
    /// where there are no two things, or where nothing says which of many is the baseline.
    pub fn all(question: &Question<'a>) -> Vec<Versus<'a>> {
        let Some((by, names)) = compared(question) else { return Vec::new() };
        let Some(base) = baseline(question, &by, &names) else { return Vec::new() };
        let results = question.results;
        let apart = scene_factors(results, &by);
        let scenes = scenes(results, &apart);
        let is_only = scenes.len() == 1;
        let party = |name: &String, scene: &Scene| {
            let keep = |point: &Point| {
                value(results, point, &by).as_ref() == Some(name)
                    && scene_of(point, &apart) == *scene
            };
            let pool: Pool<'a> = results.pool_of(PartKind::Serving, keep);
            let short = short(name, &base);
            Party { name: name.clone(), short, cells: pool.cells }
        };
        let versus = |scene: &Scene| {
            let others = names.iter().filter(|name| **name != base);
            let others: Vec<Party> = others
                .map(|name| party(name, scene))
                .filter(|party| !party.cells.is_empty())
                .collect();
            let base = party(&base, scene);
            if base.cells.is_empty() || others.is_empty() {
                return None;
            }
            let axis = axis(std::iter::once(&base).chain(&others))?;
            let words: Vec<String> = scene
                .iter()
                .zip(&apart)
                .filter(|(value, factor)| value.is_some() || *factor != LOOP)
                .map(|(value, factor)| value.clone().unwrap_or_else(|| format!("no {factor}")))
                .collect();
            let scene = (!is_only).then(|| words.join(" · "));
            Some(Versus { by: by.clone(), scene, base, others, matched: Vec::new(), axis })
        };
        let mut all: Vec<Versus> = scenes.iter().filter_map(versus).collect();
        fill(&mut all, question);
        all
    }

    /// The others, each with the loads at which it is compared.
    pub fn compared(&self) -> impl Iterator<Item = (&Party<'a>, &[Matched])> {
        self.others.iter().zip(self.matched.iter().map(Vec::as_slice))
    }

    /// The baseline, then the others.
    pub fn parties(&self) -> impl Iterator<Item = &Party<'a>> {
        std::iter::once(&self.base).chain(&self.others)
    }

    /// A party's curve on the common axis, of the first of these statistics that a row has. Rows
    /// in which all requests were sent at once are left out.
    pub fn curve(
        &self,
        party: &Party<'a>,
        quantity: Metric,
        statistics: &[Statistic],
    ) -> Curve<'a> {
        let held = party.cells.iter().filter(|cell| !is_burst(cell));
        let point = |cell: &Pooled<'a>| {
            let find = |statistic: &Statistic| cell.stat(quantity, *statistic);
            let stat = statistics.iter().find_map(find)?;
            Some(CurvePoint { at: self.axis.place(cell)?, stat, cell: cell.clone() })
        };
        let mut points: Vec<CurvePoint> = held.filter_map(point).collect();
        points.order_by(|a, b| a.at.total_cmp(&b.at));
        Curve { of: Factors::default().with(&self.by, &party.name), points }
    }

    /// A place on the axis as text: `28.5 requests in flight on average`, `1 user`.
    pub fn counted(&self, at: f64) -> &'static str {
        match (self.axis, at == 1.0) {
            (LoadAxis::Users, true) => " user",
            (LoadAxis::Users, false) => " users",
            (LoadAxis::InFlight(Statistic::Mean), true) => " request in flight on average",
            (LoadAxis::InFlight(Statistic::Mean), false) => " requests in flight on average",
            (LoadAxis::InFlight(Statistic::Median), true) => " request in flight (median)",
            (LoadAxis::InFlight(Statistic::Median), false) => " requests in flight (median)",
            (LoadAxis::InFlight(_), true) => " request in flight",
            (LoadAxis::InFlight(_), false) => " requests in flight",
            (LoadAxis::Rate, _) => " req/s",
        }
    }
}

/// What was requested of a row: a load, or one request after the other.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Requested {
    Load(Load),
    Alone,
}

impl Requested {
    /// The request of a row that sustained it; absent if it is not stated.
    fn of(cell: &Pooled) -> Option<Requested> {
        let is_alone = || {
            let strategy = cell.factor(key::STRATEGY);
            strategy.is_some_and(|strategy| strategy.eq_ignore_ascii_case(ALONE))
        };
        match cell.load() {
            _ if is_burst(cell) => None,
            Some(load) => Some(Requested::Load(load)),
            None => is_alone().then_some(Requested::Alone),
        }
    }
}

/// Compares each measurement with that of the baseline at the same request; all comparisons of a
/// question are tested together.
fn fill(all: &mut [Versus], question: &Question) {
    let (measures, is_choice) = question.evidence.usual();
    let mut pairs: Vec<(&Pooled, &Pooled)> = Vec::new();
    let mut places: Vec<Vec<Vec<f64>>> = Vec::new();
    for versus in all.iter() {
        let of_party = |party| {
            let mut found = matched_cells(versus, party);
            found.order_by(|a, b| a.0.total_cmp(&b.0));
            pairs.extend(found.iter().map(|(_, base, other)| (*base, *other)));
            found.iter().map(|(at, ..)| *at).collect()
        };
        places.push(versus.others.iter().map(of_party).collect());
    }
    let predicted: Vec<bool> =
        pairs.iter().map(|(base, other)| are_predicted(base, other)).collect();
    let rows = question.evidence.rows(pairs, (&measures, is_choice));
    let mut rows = rows.into_iter().zip(predicted);
    for (versus, places) in all.iter_mut().zip(places) {
        let of_party = |places: Vec<f64>| -> Vec<Matched> {
            let matched = places.into_iter().zip(rows.by_ref());
            matched.map(|(at, (rows, is_predicted))| Matched { at, rows, is_predicted }).collect()
        };
        versus.matched = places.into_iter().map(of_party).collect();
    }
}

/// Rows of the baseline and of a party with the same request, with their place on the axis.
/// Requests of several rows that differ otherwise are left out.
fn matched_cells<'v, 'a>(
    versus: &'v Versus<'a>,
    party: &'v Party<'a>,
) -> Vec<(f64, &'v Pooled<'a>, &'v Pooled<'a>)> {
    let only = |party: &'v Party<'a>, asked: Requested| {
        let mut found = party.cells.iter().filter(|cell| Requested::of(cell) == Some(asked));
        found.next().filter(|_| found.next().is_none())
    };
    let pair = |cell: &'v Pooled<'a>| {
        let asked = Requested::of(cell)?;
        let (base, other) = (only(&versus.base, asked)?, only(party, asked)?);
        Some((versus.axis.place(base)?, base, other))
    };
    versus.base.cells.iter().filter_map(pair).collect()
}

/// The factor by which things are compared, and its values.
fn compared(question: &Question) -> Option<(String, Vec<String>)> {
    let results = question.results;
    let several = |by: &str| {
        let names = names(results, by);
        (names.len() > 1).then(|| (by.to_owned(), names))
    };
    if let Some(by) = &question.compare_by {
        return several(by);
    }
    let is_origin = |name: &String| names(results, key::RUN).iter().any(|run| is_named(run, name));
    if question.baseline.as_ref().is_some_and(is_origin) {
        return several(key::RUN);
    }
    // Runs that other settings tell apart are compared only where the user asks for it.
    let is_set = |by: &&str| *by != key::RUN || !results.values(key::RUN).is_empty();
    TELLING.into_iter().filter(is_set).find_map(several)
}

/// The values of a factor among measured serving points, in order.
pub(super) fn names(results: &Results, by: &str) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for point in results.measured(PartKind::Serving) {
        if let Some(name) = value(results, point, by).filter(|name| !names.contains(name)) {
            names.push(name);
        }
    }
    names
}

pub(super) fn value(results: &Results, point: &Point, by: &str) -> Option<String> {
    match by {
        key::RUN => results.source(point).map(|origin| origin.side.clone()),
        by => point.factor(by),
    }
}

/// Whether a user's word names something: the whole name, or its beginning.
fn is_named(name: &str, word: &str) -> bool {
    let (name, word) = (name.to_lowercase(), word.to_lowercase());
    !word.is_empty() && name.starts_with(&word)
}

/// The value that the user named, else the one whose name the others only add to, else of two that
/// were measured the first.
pub(super) fn baseline(question: &Question, by: &str, names: &[String]) -> Option<String> {
    if let Some(word) = &question.baseline {
        let whole = names.iter().find(|name| name.eq_ignore_ascii_case(word));
        return whole.or_else(|| names.iter().find(|name| is_named(name, word))).cloned();
    }
    let is_root = |name: &&String| names.iter().all(|other| is_named(other, name));
    names
        .iter()
        .find(is_root)
        .or_else(|| names.iter().find(|name| is_off(name)))
        .or_else(|| names.first().filter(|_| names.len() == 2 || question.compare_by.is_some()))
        .cloned()
        .filter(|_| by != key::RUN || question.compare_by.is_some() || names.len() == 2)
}

/// Whether a value says that something is off.
pub(super) fn is_off(name: &str) -> bool {
    const WORDS: [&str; 8] =
        ["no", "off", "without", "none", "base", "baseline", "original", "false"];
    let name = name.to_lowercase();
    let first = name.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
    WORDS.contains(&first)
}

/// What a name adds to the baseline's: `int8-dynamic`; `base` for the baseline itself where the
/// others only add to it.
fn short(name: &str, base: &str) -> String {
    let rest = name.get(base.len()..).filter(|_| is_named(name, base) && name != base);
    let rest = rest.map(|rest| rest.trim_matches(|c: char| !c.is_alphanumeric()));
    rest.filter(|rest| !rest.is_empty()).unwrap_or(name).to_owned()
}

type Scene = Vec<Option<String>>;

/// The name of the scene factor that distinguishes closed from open loops, if both were measured.
const LOOP: &str = "loop";

fn scene_of(point: &Point, factors: &[String]) -> Scene {
    let value = |name: &String| match name.as_str() {
        LOOP => point.load.map(|load| loop_words(load).to_owned()),
        name => point.setting.get(name).map(str::to_owned),
    };
    factors.iter().map(value).collect()
}

/// Factors that differ between the measurements of one and the same thing.
fn scene_factors(results: &Results, by: &str) -> Vec<String> {
    let names = names(results, by);
    let measured = || results.measured(PartKind::Serving);
    let is_everywhere = |factor: &str| measured().all(|point| point.setting.get(factor).is_some());
    let differs_within = |factor: &str| {
        names.iter().any(|name| {
            let mut own = measured().filter(|p| value(results, p, by).as_ref() == Some(name));
            let first = own.next().map(|point| point.setting.get(factor));
            own.any(|point| Some(point.setting.get(factor)) != first)
        })
    };
    let is_length = |name: &str| [key::INPUT_TOKENS, key::OUTPUT_TOKENS].contains(&name);
    let loops: BTreeSet<&str> =
        measured().filter_map(|point| Some(loop_words(point.load?))).collect();
    results
        .varying(PartKind::Serving)
        .into_iter()
        .filter(|factor| factor != by && !OF_POINT.contains(&factor.as_str()))
        .filter(|factor| !is_length(factor) || is_everywhere(factor))
        .filter(|factor| differs_within(factor))
        .chain((loops.len() > 1).then(|| LOOP.to_owned()))
        .collect()
}

fn scenes(results: &Results, factors: &[String]) -> Vec<Scene> {
    let mut scenes: Vec<Scene> = Vec::new();
    for point in results.measured(PartKind::Serving) {
        let scene = scene_of(point, factors);
        if !scenes.contains(&scene) {
            scenes.push(scene);
        }
    }
    scenes
}

/// The axis that all parties have: users that were set, else what was measured in flight, else the
/// rate that was set.
fn axis<'b, 'a: 'b>(parties: impl Iterator<Item = &'b Party<'a>> + Clone) -> Option<LoadAxis> {
    [
        LoadAxis::Users,
        LoadAxis::InFlight(Statistic::Mean),
        LoadAxis::InFlight(Statistic::Median),
        LoadAxis::Rate,
    ]
    .into_iter()
    .find(|axis| {
        parties.clone().all(|party| party.cells.iter().all(|cell| axis.place(cell).is_some()))
    })
}
