//! Words and numbers that the formats of histories share.

use crate::comparison::words;
use crate::format::{number, percent, plain};
use ifm_compare::comparison::{Difference, Verdict};
use ifm_compare::history::{Change, ChangeKind, History, RunHead, Series, SeriesState};
use ifm_core::words::counted;
use ifm_rules::insight::Tone;

/// Reasons that are named in one line.
const REASONS_NAMED: usize = 6;

/// A run: its name, or its id. If several runs share a name, as nightly runs may, the date is added
/// where it distinguishes them.
pub(super) fn run(history: &History, head: &RunHead) -> String {
    let Some(name) = &head.name else { return plain(&head.id) };
    let namesakes = || history.runs.iter().filter(|run| run.name.as_ref() == Some(name));
    let is_of_day = |run: &&RunHead| day(run) == day(head);
    match day(head) {
        _ if namesakes().count() < 2 => plain(name),
        Some(day) if namesakes().filter(is_of_day).count() < 2 => day.to_owned(),
        _ => plain(&head.id),
    }
}

fn day(head: &RunHead) -> Option<&str> {
    head.at_utc.as_deref()?.get(..10)
}

/// The day and minute of a run.
pub(super) fn date(head: &RunHead) -> Option<String> {
    let at = head.at_utc.as_deref()?;
    Some(at.get(..16)?.replace('T', " "))
}

/// The run at a place of a series: of several the first one.
pub(super) fn run_at<'h>(
    history: &'h History,
    series: &Series,
    place: usize,
) -> Option<&'h RunHead> {
    history.runs.get(*series.points.get(place)?.runs.first()?)
}

/// A run at a place of a series with its day: `night-8 (2026-03-09)`.
pub(super) fn told(history: &History, series: &Series, place: usize) -> String {
    let Some(head) = run_at(history, series, place) else { return String::new() };
    let told = run(history, head);
    match (day(head), &head.name) {
        (Some(day), Some(name)) if told == day => format!("{} ({day})", plain(name)),
        // An inferometer id begins with its date.
        (Some(day), _) if !told.starts_with(&day.replace('-', "")) => format!("{told} ({day})"),
        _ => told,
    }
}

/// What is measured and where: `ITL p50 at 4 users`.
pub(super) fn what(series: &Series) -> String {
    let measure = words::measure(series.measure, series.is_inter_event);
    format!("{measure} at {}", words::condition(&series.at))
}

/// A size of a change of this series: `+8.0 % [+6.9, +9.1]`.
pub(super) fn size(series: &Series, change: &Change) -> String {
    words::change(series.measure.is_share(), change.size)
}

/// How runs of the same differ, as a share or in points.
pub(super) fn spread(series: &Series, value: Option<f64>) -> Option<String> {
    let value = value?;
    Some(match series.measure.is_share() {
        true => format!("±{} points", number(value * 100.0)),
        false => format!("±{}", percent(value)),
    })
}

/// The smallest change that would be seen.
pub(super) fn least(series: &Series) -> Option<String> {
    let value = series.detectable?;
    Some(match series.measure.is_share() {
        true => format!("{} points", number(value * 100.0)),
        false => percent(value),
    })
}

/// The state with its reason.
pub(super) fn state(series: &Series) -> String {
    let kind = series.latest().map(|change| change.kind);
    let words = match (series.state, kind) {
        (SeriesState::Steady, _) => "steady",
        (SeriesState::Worse, Some(ChangeKind::Drift)) => "drifts, worse",
        (SeriesState::Better, Some(ChangeKind::Drift)) => "drifts, better",
        (SeriesState::Worse, _) => "worse",
        (SeriesState::Better, _) => "better",
        (SeriesState::Small, _) => "a small change",
        (SeriesState::Outside, _) => "last run outside the band",
        (SeriesState::Undecided, _) => "undecided",
    };
    match &series.doubt {
        Some(doubt) => format!("{words}: {doubt}"),
        None => words.to_owned(),
    }
}

pub(super) fn tone(state: SeriesState) -> Tone {
    match state {
        SeriesState::Worse => Tone::Bad,
        SeriesState::Better | SeriesState::Steady => Tone::Good,
        SeriesState::Outside | SeriesState::Undecided => Tone::Warn,
        SeriesState::Small => Tone::Note,
    }
}

/// What a change is: `worse`, `better`, or another remark.
pub(super) fn verdict(change: &Change) -> String {
    let words = words::verdict(change.verdict);
    match &change.doubt {
        Some(doubt) if change.verdict == Verdict::Inconclusive => format!("{words}: {doubt}"),
        _ => words.to_owned(),
    }
}

/// Where a change is: the first run after, and the runs among which it is.
pub(super) fn place(history: &History, series: &Series, change: &Change) -> String {
    let first = told(history, series, change.first_after);
    match change.kind {
        ChangeKind::Drift => format!("since {first}"),
        ChangeKind::Step if change.earliest == change.latest => format!("from {first} on"),
        ChangeKind::Step => format!(
            "from {first} on (95 %: between {} and {})",
            told(history, series, change.earliest),
            told(history, series, change.latest)
        ),
    }
}

/// What a change came with, in one line; absent where nothing else changed that is known.
pub(super) fn came_with(change: &Change) -> Option<String> {
    let one = |found: &Difference| {
        let (a, b) = apart(found);
        format!("{} {a} → {b}", found.what)
    };
    let known: Vec<&Difference> =
        change.came_with.iter().filter(|found| found.a != found.b).collect();
    let named: Vec<String> = known.iter().copied().take(REASONS_NAMED).map(one).collect();
    let rest = known.len().saturating_sub(REASONS_NAMED);
    let rest = (rest > 0).then(|| format!("and {rest} more"));
    let all: Vec<String> = named.into_iter().chain(rest).collect();
    (!all.is_empty()).then(|| all.join(" · "))
}

/// Both sides of a difference; of lists with commas only the parts that differ.
fn apart(found: &Difference) -> (String, String) {
    let parts = |text: &Option<String>| -> Vec<String> {
        text.iter().flat_map(|text| text.split(", ")).map(plain).collect()
    };
    let (a, b) = (parts(&found.a), parts(&found.b));
    let only = |of: &[String], other: &[String]| {
        let rest: Vec<String> = of.iter().filter(|part| !other.contains(part)).cloned().collect();
        match (of.is_empty(), rest.is_empty()) {
            (true, _) => "not known".to_owned(),
            (_, true) => "none".to_owned(),
            _ => rest.join(", "),
        }
    };
    (only(&a, &b), only(&b, &a))
}

/// A change as a sentence.
pub(super) fn sentence(history: &History, series: &Series, change: &Change) -> String {
    let cell = match history.cells.as_slice() {
        [_] => String::new(),
        cells => {
            cells.get(series.cell).map(|cell| format!(" ({})", plain(cell))).unwrap_or_default()
        }
    };
    let per = change
        .per_value
        .map(|per| format!(", {} a run", words::change(false, per.map(|p| 1.0 + p))));
    let kind = match change.kind {
        ChangeKind::Step => "",
        ChangeKind::Drift => "drift of ",
    };
    let unclear = if change.is_clear { "" } else { "; it may be the beginning of a drift" };
    let last = told(history, series, change.last_before);
    let after = series.points.len().saturating_sub(change.first_after);
    let came = came_with(change).map_or_else(
        || "no other known change at the same time".to_owned(),
        |came| format!("it came with {came}"),
    );
    format!(
        "{}{cell}: {kind}{}{}, {} {}{unclear}. The last run before is {last}; {} since; {came}.",
        what(series),
        size(series, change),
        per.unwrap_or_default(),
        verdict(change),
        place(history, series, change),
        counted(after as u64, "run"),
    )
}
