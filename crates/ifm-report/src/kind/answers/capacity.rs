//! Capacity by use case and target, and the people and servers that follow from it.

use super::super::common::{about, largest};
use super::{
    Answers, CURVES_MAX, ROWS_MAX, again, failing, is_rate, metric, name, reasons, resumed, state,
};
use crate::format::{ABSENT, meant, percent};
use crate::model::load_words;
use crate::page::{Block, Cell, Columns, Figure, Head, Remark, Section, Table};
use crate::shares::share_cell;
use crate::words;
use ifm_chart::{Axis, Cartesian, Chart, Form, Point, Series};
use ifm_core::Metric;
use ifm_core::spec::{SloSpec, SloTerm};
use ifm_metrics::answer::UsersState;
use ifm_metrics::capacity::{Carriers, SHARES, Share, Worth, replicas};
use ifm_metrics::level::Load;
use ifm_results::{Fitting, Miss};
use ifm_rules::insight::{Insight, Meant, Tone, Topic};

/// Think time between an answer and the next request, in seconds.
const THINK_S: [f64; 3] = [0.0, 10.0, 60.0];
/// Capacity of a server that is left free when servers are counted.
const SPARE: f64 = 0.2;

impl Answers<'_> {
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
        let mut figure = judged.first().and_then(chart).map(|chart| Figure::new(chart, []));
        let said: Vec<Remark> =
            about(insights, &[Topic::Capacity]).take(CURVES_MAX).map(Remark::of).collect();
        match &mut figure {
            Some(figure) => figure.remarks = said,
            None if said.is_empty() => {}
            None => blocks.push(Block::Remarks(said)),
        }
        blocks.extend(figure.map(|figure| Block::Figures(vec![figure])));
        blocks.push(Block::Table(capacities(&judged)));
        blocks.extend(self.people());
        blocks.extend(self.shares());
        let targets = judged.iter().map(|(slo, _)| format!("{}: {}", slo.name, words::target(slo)));
        blocks.push(Block::Details("The targets".to_owned(), vec![Block::List(targets.collect())]));
        Some(Section::new("How many users fit", blocks))
    }

    /// People and servers inside the first target; absent where no load fits or the duration of a
    /// request is not known.
    fn people(&self) -> Option<Block> {
        let slo = self.first()?;
        let mut fittings = self.fittings(slo);
        fittings.retain(|fitting| fitting.people(0.0).is_some());
        fittings.truncate(ROWS_MAX);
        let has_names = fittings.iter().any(|fitting| !name(fitting).is_empty());
        let whole = |number: f64| meant(number.floor(), Meant::Count);
        let mut columns = Columns::<Fitting>::default()
            .name("curve", |fitting| name(fitting))
            .when(has_names)
            .cell(Head::number("capacity"), |fitting| capacity_cell(fitting));
        for think_s in THINK_S {
            // A person cannot be served in part: the value is a whole number, as printed.
            let head = Head::number(format!("people, {think_s} s"));
            columns = columns.cell(head, move |fitting| {
                let mark = if fitting.is_sure { "" } else { "~" };
                let people = fitting.people(think_s).map(f64::floor);
                Cell::number(people, |people| format!("{mark}{}", whole(people)))
            });
        }
        let wanted = self.question.people;
        for think_s in THINK_S.into_iter().filter(|_| wanted.is_some()) {
            let servers = move |fitting: &Fitting| {
                Some(replicas(wanted?, fitting.people(think_s)?, SPARE)? as f64)
            };
            columns = columns.number(format!("servers, {think_s} s"), servers, whole);
        }
        if let (true, Some(wanted)) = (fittings.is_empty(), self.question.people) {
            return Some(Block::Prose(format!(
                "No number of servers is named for {} people: no load was shown to be inside {}, or \
                 the duration of a request was not measured.",
                meant(wanted, Meant::Count),
                words::target(slo)
            )));
        }
        let servers = self.question.people.map_or(String::new(), |people| {
            format!(
                " Servers for {} people: people / (people of one · {}), rounded up.",
                meant(people, Meant::Count),
                percent(1.0 - SPARE)
            )
        });
        let caption = format!(
            "How many people that is if each pauses this many seconds between an answer and the next \
             request, inside {}: requests in flight + requests per second × pause.{servers}",
            words::target(slo)
        );
        (!fittings.is_empty()).then(|| Block::Table(columns.table(caption, &fittings)))
    }
}

impl Answers<'_> {
    /// The load inside the first target for each resource that carries it; absent if none was
    /// specified.
    fn shares(&self) -> Option<Block> {
        let slo = self.first()?;
        let worth = Worth { usd_per_hour: self.question.usd_per_hour, ..Worth::default() };
        type Row<'a> = (f64, Carriers, Fitting<'a>);
        let rows: Vec<Row> = self
            .fittings(slo)
            .into_iter()
            .filter_map(|fitting| {
                let carriers = fitting.fits.as_ref()?.carriers(&worth);
                Some((fitting.load()?.value(), carriers, fitting))
            })
            .take(ROWS_MAX)
            .collect();
        let has = |share: &Share| rows.iter().any(|(load, by, _)| (share.of)(*load, by).is_some());
        let shown: Vec<&'static Share> = SHARES.iter().filter(|share| has(share)).collect();
        if shown.is_empty() {
            return None;
        }
        let has_names = rows.iter().any(|(.., fitting)| !name(fitting).is_empty());
        let mut columns = Columns::<Row>::default()
            .name("curve", |(.., fitting): &Row| name(fitting))
            .when(has_names)
            .cell(Head::number("capacity"), |(.., fitting)| capacity_cell(fitting));
        for share in shown {
            columns = columns.number(
                share.head,
                move |(load, by, _): &Row| (share.of)(*load, by),
                move |value| share_cell(share, value),
            );
        }
        let caption = format!(
            "The load inside {}, over the GPUs of the machine, the mean power at that load, and the \
             price of the server; a session is a complete one.",
            words::target(slo)
        );
        Some(Block::Table(columns.table(caption, &rows)))
    }
}

fn capacity_cell(fitting: &Fitting) -> Cell {
    let tone = match fitting.state {
        UsersState::Found | UsersState::AtLeast => Some(Tone::Good),
        UsersState::None if fitting.resumed.is_some() => Some(Tone::Warn),
        UsersState::None => Some(Tone::Bad),
        UsersState::Unknown => None,
    };
    Cell { value: fitting.load().map(Load::value), tone, ..Cell::text(state(fitting)) }
}

fn capacities(judged: &[(&SloSpec, Vec<Fitting>)]) -> Table {
    let has_names = judged.iter().flat_map(|(_, found)| found).any(|one| !name(one).is_empty());
    let curves = judged.iter().map(|(_, found)| found.len()).max().unwrap_or(0);
    let of_curve = |curve: usize| {
        judged.iter().filter_map(move |(slo, found)| Some((*slo, found.get(curve)?)))
    };
    let columns = Columns::<(&SloSpec, &Fitting)>::default()
        .name("curve", |(_, of): &(&SloSpec, &Fitting)| name(of))
        .when(has_names)
        .text("target", |(slo, _)| slo.name.clone())
        .cell(Head::number("fits"), |(_, fitting)| capacity_cell(fitting))
        .text("limited by", |(_, fitting)| limited(fitting))
        .text("what fails", |(_, fitting)| {
            let failing = failing(fitting).filter(|_| fitting.state != UsersState::Unknown);
            failing.map_or(ABSENT.to_owned(), |failing| format!("{failing}{}", again(fitting)))
        });
    let caption = "+: the highest measured load, more may fit. ~: a verdict or percentile based \
                   on too few requests. ?: a lower load misses the target. In brackets: how far \
                   beyond the limit.";
    columns.table(caption, (0..curves).flat_map(of_curve).take(ROWS_MAX))
}

/// What stops the load above.
fn limited(fitting: &Fitting) -> String {
    let resumed = fitting.resumed.as_ref();
    match resumed
        .map_or(fitting.next.as_ref(), |resumed| resumed.next.as_ref())
        .map(|(cell, misses)| (cell, misses.as_slice()))
    {
        Some((_, [])) => "not settled".to_owned(),
        Some((_, misses)) if fitting.state != UsersState::Unknown => limiter(misses),
        Some((cell, misses)) => reasons(cell, misses),
        None => ABSENT.to_owned(),
    }
}

/// What stops the next load, with its letter.
fn limiter(misses: &[Miss]) -> String {
    let letter = |term: &SloTerm| match term.metric {
        Metric::Ttft => 'T',
        Metric::Ttfat => 'A',
        Metric::Itl => 'I',
        Metric::Tpot => 'P',
        _ => 'L',
    };
    let word = |miss: &Miss| match miss {
        Miss::Term(term, _) => format!("{} ({})", letter(term), metric(term)),
        Miss::Errors(_) => "E (errors)".to_owned(),
    };
    misses.iter().map(word).collect::<Vec<_>>().join(", ")
}

/// Capacity inside the target of the reader as horizontal bars, one for each curve; absent for fewer than
/// two. Named targets that the reader did not ask for are in the table alone.
fn chart((slo, first): &(&SloSpec, Vec<Fitting>)) -> Option<Chart> {
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
            _ => fitting.load().or(resumed(fitting)).map_or(0.0, Load::value),
        };
        let next = fitting.next.as_ref().filter(|(_, misses)| !misses.is_empty());
        let letter = next.map(|(_, misses)| limiter(misses));
        let text = match letter {
            Some(letter) => format!("{} · {letter}", state(fitting)),
            None => state(fitting),
        };
        let is_sure = fitting.is_sure && fitting.resumed.is_none();
        Some(Point::at(index as f64, value).trusted(is_sure).told(text))
    };
    let bars = first.iter().enumerate().filter_map(bar);
    let series = vec![Series::new(words::target(slo), bars).form(Form::Bar).of(0)];
    let largest = largest(&series);
    if series.iter().map(|series| series.points.len()).sum::<usize>() < 2 || largest <= 0.0 {
        return None;
    }
    let words: Vec<String> = first
        .iter()
        .take(CURVES_MAX)
        .map(|one| format!("{} {}", name(one), state(one)).trim().to_owned())
        .collect();
    let longest = if rates { Load::ReqPerS(largest) } else { Load::Users(largest as u32) };
    let description = format!(
        "{}: {}. The longest bar is {}.",
        words::target(slo),
        words.join(", "),
        load_words(Some(longest))
    );
    let y = if rates { Axis::new("requests", "req/s") } else { Axis::new("users", "") };
    let plot = Cartesian::new(Axis::of_names(names), y, series).horizontal();
    Some(Chart::new("capacity", "How many users fit?", description, plot))
}
