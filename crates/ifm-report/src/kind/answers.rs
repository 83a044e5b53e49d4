//! Answers that every kind with levels gives: how many users fit, how many people that is, how
//! many servers they need, and what the tokens cost.
//!
//! Not here: the arithmetic (`survey` of `ifm-analysis`).

use super::common::about;
use crate::format::{ABSENT, change, meant, number, percent, plain, span};
use crate::model::{load, load_words};
use crate::page::{Block, Cell, Figure, Head, Remark, Section, Table, Tile};
use crate::words;
use ifm_analysis::answer::UsersState;
use ifm_analysis::insight::{Insight, Meant, Question, Tone, Topic};
use ifm_analysis::level::Load;
use ifm_analysis::slo::{PRESETS, parse};
use ifm_analysis::survey::{Fitting, Miss, Pool, Pooled, replicas};
use ifm_chart::{Axis, Cartesian, Chart, Form, Plot, Point, Scale, Series};
use ifm_core::spec::SloSpec;

const NS_PER_MS: f64 = 1e6;
/// Seconds that somebody thinks between an answer and the next request.
const THINK_S: [f64; 3] = [0.0, 10.0, 60.0];
/// Capacity of a server that is left free when servers are counted.
const SPARE: f64 = 0.2;
/// Curves that are held against every preset; more are held against the first target alone.
const CURVES_MAX: usize = 6;
/// Curves with a row in a table, at most.
const ROWS_MAX: usize = 60;
/// Targets in the chart, at most.
const TARGETS_MAX: usize = 4;
/// Shares of the time that a server is busy, for its price.
const USES: [f64; 3] = [1.0, 0.5, 0.25];

/// The curves of a survey with the targets they are held against.
pub(super) struct Answers<'q> {
    question: &'q Question<'q>,
    pool: &'q Pool<'q>,
    names: Vec<&'q str>,
    targets: Vec<SloSpec>,
}

impl<'q> Answers<'q> {
    /// About the measurements of `pool`, curves told apart by `by`.
    pub fn new(question: &'q Question<'q>, pool: &'q Pool<'q>, by: &'q [String]) -> Answers<'q> {
        let own = (!question.slo.terms.is_empty()).then(|| question.slo.clone());
        let presets = PRESETS.iter().filter_map(|(name, _)| parse(name).ok());
        let mut targets: Vec<SloSpec> = own.into_iter().collect();
        for preset in presets {
            if targets.iter().all(|target| target.terms != preset.terms) {
                targets.push(preset);
            }
        }
        Answers { question, pool, names: by.iter().map(String::as_str).collect(), targets }
    }

    /// The target of the tile: the user's, else the first preset.
    fn first(&self) -> Option<&SloSpec> {
        self.targets.first()
    }

    /// The curves held against a target, the shortest prompts first.
    fn fittings(&self, slo: &SloSpec) -> Vec<Fitting<'q>> {
        let length = |fitting: &Fitting| {
            let cell = fitting.lowest.as_ref()?;
            cell.setting()?.number(ifm_core::sheet::key::INPUT_TOKENS)
        };
        let mut fittings = self.pool.fittings(&self.names, slo);
        fittings.sort_by(|a, b| {
            let [a, b] = [a, b].map(|fitting| length(fitting).unwrap_or(f64::INFINITY));
            a.total_cmp(&b)
        });
        fittings
    }

    /// How many users fit: of the only curve, or of each.
    pub fn tile(&self) -> Option<Tile> {
        let slo = self.first()?;
        let fittings = self.fittings(slo);
        let words = |fitting: &Fitting| match (name(fitting), state(fitting)) {
            (name, state) if name.is_empty() => state,
            (name, state) => format!("{name} {state}"),
        };
        let lead = fittings
            .iter()
            .find(|fitting| fitting.fits.is_some())
            .or_else(|| fittings.iter().find(|fitting| fitting.state == UsersState::None))
            .or(fittings.first())?;
        let mut detail = format!("inside {}", words::target(slo));
        if !name(lead).is_empty() {
            detail = format!("{} {detail}", name(lead));
        }
        if let Some((cell, misses)) =
            lead.next.as_ref().filter(|_| lead.state != UsersState::Unknown)
        {
            detail.push_str(&format!("; {} fails: {}", load(cell.load()), reasons(misses)));
        }
        let others: Vec<String> = fittings
            .iter()
            .filter(|other| other.of != lead.of && other.state != UsersState::Unknown)
            .take(CURVES_MAX)
            .map(words)
            .collect();
        if !others.is_empty() {
            detail.push_str(&format!(" · {}", others.join(" · ")));
        }
        if lead.state == UsersState::Unknown {
            detail = format!("nothing here can be held against {}", words::target(slo));
        }
        let is_rate = lead.lowest.as_ref().is_some_and(|cell| is_rate(cell.load()));
        Some(Tile {
            question: if is_rate { "How many requests?" } else { "How many users fit?" }.to_owned(),
            value: state(lead),
            unit: String::new(),
            detail,
            tone: match (lead.state, lead.is_sure) {
                (UsersState::Found | UsersState::AtLeast, true) => Some(Tone::Good),
                (UsersState::Found | UsersState::AtLeast, false) => Some(Tone::Warn),
                (UsersState::None, _) => Some(Tone::Bad),
                (UsersState::Unknown, _) => None,
            },
        })
    }

    /// Capacity by use case and target; absent where nothing can be judged.
    pub fn capacity(&self, insights: &[Insight]) -> Option<Section> {
        let curves = self.fittings(self.first()?).len();
        let shown = if curves > CURVES_MAX { 1 } else { self.targets.len() };
        let judged: Vec<(&SloSpec, Vec<Fitting>)> = self
            .targets
            .iter()
            .take(shown)
            .map(|slo| (slo, self.fittings(slo)))
            .filter(|(_, found)| found.iter().any(|one| one.state != UsersState::Unknown))
            .collect();
        if judged.is_empty() {
            return None;
        }
        let mut blocks = vec![Block::Prose(
            "The largest measured load with every limit met, at most 1 % of the requests failed \
             and every lower load inside too. Nothing is interpolated."
                .to_owned(),
        )];
        let mut figure = chart(&judged).map(|chart| Figure::new(chart, []));
        let said: Vec<Remark> =
            about(insights, &[Topic::Capacity]).take(CURVES_MAX).map(Remark::of).collect();
        match &mut figure {
            Some(figure) => figure.remarks = said,
            None if said.is_empty() => {}
            None => blocks.push(Block::Remarks(said)),
        }
        blocks.extend(figure.map(|figure| Block::Figures(vec![figure])));
        blocks.push(Block::Table(self.capacities(&judged)));
        Some(Section::new("How many users fit", blocks))
    }

    fn capacities(&self, judged: &[(&SloSpec, Vec<Fitting>)]) -> Table {
        let has_names = judged.iter().flat_map(|(_, found)| found).any(|one| !name(one).is_empty());
        let mut heads = vec![Head::text("target")];
        if has_names {
            heads.insert(0, Head::text("curve"));
        }
        heads.extend([Head::number("fits"), Head::text("limited by"), Head::text("fails at")]);
        heads.extend(THINK_S.map(|think_s| {
            Head::number(format!("people, think {think_s} s"))
                .explained("people who each wait so long between an answer and the next request")
        }));
        if self.question.people.is_some() {
            heads
                .extend(THINK_S.map(|think_s| Head::number(format!("servers, think {think_s} s"))));
        }
        let mut rows = Vec::new();
        let curves = judged.iter().map(|(_, found)| found.len()).max().unwrap_or(0);
        for curve in 0..curves {
            for (slo, found) in judged {
                let Some(fitting) = found.get(curve) else { continue };
                if rows.len() < ROWS_MAX {
                    rows.push(self.row(slo, fitting, has_names));
                }
            }
        }
        let people = self.question.people.map_or(String::new(), |people| {
            format!(
                " Servers for {} people: people / (capacity × {}), rounded up.",
                meant(people, Meant::Count),
                percent(1.0 - SPARE)
            )
        });
        Table {
            caption: format!(
                "+ marks the highest load measured: more may fit. ~ marks a verdict on too few \
                 requests. People = load × (E2E + think time) / E2E.{people}"
            ),
            heads,
            rows,
        }
    }

    fn row(&self, slo: &SloSpec, fitting: &Fitting, has_name: bool) -> Vec<Cell> {
        let mut row = Vec::new();
        if has_name {
            row.push(Cell::head(name(fitting)));
        }
        row.push(Cell::text(format!("{}: {}", slo.name, words::target(slo))));
        let tone = match fitting.state {
            UsersState::Found | UsersState::AtLeast => Some(Tone::Good),
            UsersState::None => Some(Tone::Bad),
            UsersState::Unknown => None,
        };
        let value = fitting.load().map(Load::value);
        row.push(Cell { value, tone, ..Cell::text(state(fitting)) });
        let next = fitting.next.as_ref();
        let is_known = fitting.state != UsersState::Unknown;
        row.push(Cell::text(match next {
            Some((_, misses)) if is_known => limiter(misses),
            Some((_, misses)) => reasons(misses),
            None => ABSENT.to_owned(),
        }));
        row.push(Cell::text(match next.filter(|_| is_known) {
            Some((cell, misses)) => {
                let again = match fitting.inside_above.as_slice() {
                    [] => String::new(),
                    above => {
                        let above: Vec<String> =
                            above.iter().map(|above| load(Some(*above))).collect();
                        format!("; yet {} is inside, measure again", above.join(", "))
                    }
                };
                format!("{}: {}{again}", load(cell.load()), reasons(misses))
            }
            None => ABSENT.to_owned(),
        }));
        let people = THINK_S.map(|think_s| fitting.people(think_s));
        let whole = |people: f64| meant(people.floor(), Meant::Count);
        row.extend(people.map(|people| Cell::number(people, whole)));
        if let Some(wanted) = self.question.people {
            row.extend(people.map(|people| {
                let servers = people.and_then(|people| replicas(wanted, people, SPARE));
                Cell::number(servers.map(|servers| servers as f64), whole)
            }));
        }
        row
    }

    /// What comes out and what it costs; absent where nobody counted tokens.
    pub fn cost(&self, insights: &[Insight]) -> Option<Section> {
        let table = self.prices()?;
        let mut blocks = Vec::new();
        let said: Vec<&Insight> = about(insights, &[Topic::Cost]).collect();
        if let Some(usd) = self.question.usd_per_hour {
            blocks.push(Block::Prose(format!(
                "The server costs {} an hour. A million output tokens cost price · 10⁶ / (output \
                 rate · 3600) if it is busy all the time, and twice that if half of it.",
                meant(usd, Meant::Usd)
            )));
            let chart = self.price_chart(usd);
            match chart {
                Some(chart) => blocks.push(Block::Figures(vec![Figure::new(chart, said)])),
                None => blocks.push(Block::Remarks(said.into_iter().map(Remark::of).collect())),
            }
        }
        blocks.push(Block::Table(table));
        Some(Section::new("What comes out and what it costs", blocks))
    }

    fn prices(&self) -> Option<Table> {
        let usd = self.question.usd_per_hour;
        let slo = self.first()?;
        let fittings = self.fittings(slo);
        let rows: Vec<(String, &str, Pooled)> =
            fittings.iter().take(ROWS_MAX).flat_map(|fitting| self.places(fitting)).collect();
        let yields: Vec<_> = rows
            .into_iter()
            .filter_map(|(name, place, cell)| Some((name, place, cell.output_yield(usd)?, cell)))
            .collect();
        if yields.is_empty() {
            return None;
        }
        let has_names = yields.iter().any(|(name, ..)| !name.is_empty());
        let has_energy = yields.iter().any(|(_, _, found, _)| found.output_tok_per_kwh.is_some());
        let mut heads = vec![
            Head::text("where"),
            Head::number("load"),
            Head::number("out tok/s"),
            Head::number("tokens/hour"),
        ];
        if has_names {
            heads.insert(0, Head::text("curve"));
        }
        if usd.is_some() {
            heads.extend(USES.map(|share| Head::number(format!("$/M, {} used", percent(share)))));
        }
        if has_energy {
            heads.push(Head::number("tokens/kWh"));
        }
        let row =
            |(name, place, found, cell): (String, &str, ifm_analysis::survey::Yield, Pooled)| {
                let mut row = vec![
                    Cell::text(place),
                    Cell { value: cell.load().map(Load::value), ..Cell::text(load(cell.load())) },
                    Cell::number(Some(found.output_tok_per_s), number),
                    Cell::number(Some(found.output_tok_per_hour), number),
                ];
                if has_names {
                    row.insert(0, Cell::head(name));
                }
                if usd.is_some() {
                    row.extend(USES.map(|share| {
                        let cost = found.usd_per_million.map(|cost| cost / share);
                        Cell::number(cost, |cost| meant(cost, Meant::Usd))
                    }));
                }
                if has_energy {
                    row.push(Cell::number(found.output_tok_per_kwh, number));
                }
                row
            };
        Some(Table {
            caption: format!("At capacity means inside {}.", words::target(slo)),
            heads,
            rows: yields.into_iter().map(row).collect(),
        })
    }

    /// The loads that a price is told for: capacity, most output, lowest.
    fn places(&self, fitting: &Fitting<'q>) -> Vec<(String, &'static str, Pooled<'q>)> {
        let is_of = |cell: &&Pooled| {
            self.names.iter().all(|name| cell.factor(name).as_deref() == fitting.of.get(name))
        };
        let rate =
            |cell: &Pooled| cell.output_yield(None).map_or(0.0, |found| found.output_tok_per_s);
        let peak = self.pool.cells.iter().filter(is_of).max_by(|a, b| rate(a).total_cmp(&rate(b)));
        let places = [
            ("at capacity", fitting.fits.clone()),
            ("at most output", peak.cloned()),
            ("at the lowest load", fitting.lowest.clone()),
        ];
        let name = name(fitting);
        places.into_iter().filter_map(|(place, cell)| Some((name.clone(), place, cell?))).collect()
    }

    fn price_chart(&self, usd: f64) -> Option<Chart> {
        let curves = self.pool.curves_against(&self.names, |cell| {
            let cost = cell.output_yield(Some(usd))?.usd_per_million?;
            let quantity = ifm_core::sheet::Quantity::CostPerMillion;
            let value = ifm_core::sheet::Statistic::Value;
            Some((cell.load()?.value(), ifm_analysis::survey::Reading::new(quantity, value, cost)))
        });
        let curves: Vec<_> =
            curves.into_iter().filter(|curve| curve.points.len() > 1).take(CURVES_MAX).collect();
        if curves.is_empty() {
            return None;
        }
        let series = super::common::lines(&curves, Meant::Usd);
        let y = Axis {
            name: "a million output tokens".to_owned(),
            unit: "$".to_owned(),
            scale: Scale::Log10,
            ..Axis::default()
        };
        Some(Chart {
            id: "cost".to_owned(),
            title: "What does a million tokens cost?".to_owned(),
            description: super::common::ends(&series, "users"),
            plot: Plot::Cartesian(Cartesian {
                x: super::common::load_axis(&curves),
                y,
                series,
                ..Cartesian::default()
            }),
        })
    }
}

fn is_rate(load: Option<Load>) -> bool {
    matches!(load, Some(Load::ReqPerS(_)))
}

fn name(fitting: &Fitting) -> String {
    plain(&ifm_analysis::survey::name_of(&fitting.of))
}

/// The answer in a word: `128`, `32+`, `none`.
fn state(fitting: &Fitting) -> String {
    let mark = if fitting.is_sure { "" } else { "~" };
    match (fitting.state, fitting.load()) {
        (UsersState::Found, at) => format!("{mark}{}", load(at)),
        (UsersState::AtLeast, at) => format!("{mark}{}+", load(at)),
        (UsersState::None, _) => format!("{mark}none"),
        (UsersState::Unknown, _) => "not known".to_owned(),
    }
}

fn metric(term: &ifm_core::spec::SloTerm) -> String {
    format!("{} p{}", term.metric.to_ascii_uppercase(), term.percentile)
}

/// What stops the next load, with its letter.
fn limiter(misses: &[Miss]) -> String {
    let letter = |term: &ifm_core::spec::SloTerm| match term.metric.as_str() {
        "ttft" => 'T',
        "ttfat" => 'A',
        "itl" => 'I',
        "tpot" => 'P',
        _ => 'L',
    };
    let word = |miss: &Miss| match miss {
        Miss::Term(term, _) => format!("{} ({})", letter(term), metric(term)),
        Miss::Errors(_) => "E (errors)".to_owned(),
    };
    misses.iter().map(word).collect::<Vec<_>>().join(", ")
}

fn reasons(misses: &[Miss]) -> String {
    let word = |miss: &Miss| match miss {
        Miss::Term(term, Some(ms)) => format!(
            "{} {} ({})",
            metric(term),
            span(ms * NS_PER_MS),
            change(ms / term.limit_ms - 1.0)
        ),
        Miss::Term(term, None) => format!("{} is not known", metric(term)),
        Miss::Errors(share) => format!("{} of the requests failed", percent(*share)),
    };
    misses.iter().map(word).collect::<Vec<_>>().join(", ")
}

/// Capacity as horizontal bars, a group for each curve; absent for fewer than two bars.
fn chart(judged: &[(&SloSpec, Vec<Fitting>)]) -> Option<Chart> {
    let (_, first) = judged.first()?;
    let rates =
        first.iter().any(|one| one.lowest.as_ref().is_some_and(|cell| is_rate(cell.load())));
    let names: Vec<String> = first
        .iter()
        .map(|fitting| match name(fitting) {
            name if name.is_empty() => "capacity".to_owned(),
            name => name,
        })
        .collect();
    let bar = |(index, fitting): (usize, &Fitting)| {
        let value = match fitting.state {
            UsersState::Unknown => return None,
            _ => fitting.load().map_or(0.0, Load::value),
        };
        let letter = fitting.next.as_ref().map(|(_, misses)| limiter(misses));
        let text = match letter {
            Some(letter) => format!("{} · {letter}", state(fitting)),
            None => state(fitting),
        };
        Some(Point {
            x: index as f64,
            y: Some(value),
            text: Some(text.clone()),
            label: Some(text),
            is_trusted: fitting.is_sure,
            ..Point::default()
        })
    };
    let series: Vec<Series> = judged
        .iter()
        .take(TARGETS_MAX)
        .enumerate()
        .map(|(color, (slo, found))| Series {
            name: slo.name.clone(),
            color: color as u8,
            form: Form::Bar,
            points: found.iter().enumerate().filter_map(bar).collect(),
            ..Series::default()
        })
        .collect();
    let bars = series.iter().flat_map(|series| &series.points);
    let largest = bars.clone().filter_map(|bar| bar.y).fold(0.0, f64::max);
    if bars.count() < 2 || largest <= 0.0 {
        return None;
    }
    let unit = if rates { "req/s" } else { "" };
    let words: Vec<String> = first
        .iter()
        .take(CURVES_MAX)
        .map(|one| format!("{} {}", name(one), state(one)).trim().to_owned())
        .collect();
    Some(Chart {
        id: "capacity".to_owned(),
        title: "How many users fit?".to_owned(),
        description: format!(
            "{}: {}. The longest bar is {}.",
            judged.first().map_or("", |(slo, _)| slo.name.as_str()),
            words.join(", "),
            load_words(Some(if rates {
                Load::ReqPerS(largest)
            } else {
                Load::Users(largest as u32)
            }))
        ),
        plot: Plot::Cartesian(Cartesian {
            x: Axis { scale: Scale::Category(names), ..Axis::default() },
            y: Axis {
                name: if rates { "requests" } else { "users" }.to_owned(),
                unit: unit.to_owned(),
                ..Axis::default()
            },
            series,
            is_horizontal: true,
            ..Cartesian::default()
        }),
    })
}
