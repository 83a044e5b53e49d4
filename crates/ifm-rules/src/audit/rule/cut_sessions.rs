//! Sessions that were cut are not counted as served.
//!
//! A session whose context overflows ends early: the long turns that it would have had are missing
//! from the latencies. If more than one in a hundred are cut, a result of agents is not valid (the
//! rule of InferenceX). Runs of our own have a check for this, `sessions`, which their audit
//! reports; this rule covers the documents of other tools: the number cut against the number of
//! all, and the turns done against the turns planned.

use super::super::subject::Other;
use super::super::{Cell, Finding, Level, Looked, Rule, Subject};
use ifm_core::Metric;
use ifm_core::order::Order as _;
use ifm_core::sheet::{RowRole, Statistic};

pub(super) const RULE: Rule =
    Rule { id: "cut_sessions", title: "hardly any session was cut by its context", look };

/// Share of cut sessions above which a result does not hold.
const SHARE_MAX: f64 = 0.01;
/// How documents name what was cut.
const CUT: [&str; 5] =
    ["overflow", "truncated", "context exceeded", "context length exceeded", "context too long"];
/// A conversation as a whole, in the words of tools.
const SESSIONS: [&str; 5] = ["session", "conversation", "trajector", "trace", "dialog"];
/// What else is counted.
const THINGS: [&str; 2] = ["request", "context"];
/// AIPerf's count of requests that found the context full. They are in none of its other counts, and
/// each is the last one of its session.
const AIPERF: &str = "context overflow";
/// Words in the name of a number of all.
const OF_ALL: [&str; 8] =
    ["num", "number of", "total", "count", "planned", "expected", "scheduled", "all"];
/// Words in the name of a count of completed ones.
const DONE: [&str; 5] = ["done", "completed", "finished", "successful", "served"];

/// What a row says of sessions that were cut.
struct Said<'a> {
    cell: &'a Cell<'a>,
    cut: Other,
    /// Share of the sessions or requests of the row, if the row states their number.
    share: Option<f64>,
    /// Whether it is the share of requests, where sessions have many.
    is_least: bool,
}

fn look(subject: &Subject) -> Looked {
    let roles = || [RowRole::Measured, RowRole::Summary, RowRole::Stated].into_iter();
    let cells: Vec<&Cell> = roles().flat_map(|role| subject.cells(role)).collect();
    let cut: Vec<Said> = cells.iter().filter_map(|cell| cut(cell)).collect();
    let undone: Vec<Undone> = cells.iter().filter_map(|cell| undone(cell)).collect();
    if cut.is_empty() && undone.is_empty() {
        return Looked::Needs("counts of sessions or requests that were cut");
    }
    Looked::Found(of_cut(cut).into_iter().chain(of_undone(undone)).collect())
}

/// What rows say of sessions that a full context ended.
fn of_cut(mut rows: Vec<Said>) -> Option<Finding> {
    let seen = rows.len();
    rows.retain(|said| match said.share {
        Some(share) if !said.is_least => share > SHARE_MAX,
        _ => said.cut.value > 0.0,
    });
    let least = |said: &Said| said.share.unwrap_or(0.0);
    rows.order_by(|a, b| least(b).total_cmp(&least(a)));
    let worst = rows.first()?;
    let name = &worst.cut.name;
    let count =
        if worst.cut.share().is_some() { String::new() } else { format!(" {}", worst.cut.value) };
    let of = match worst.share {
        Some(share) if worst.is_least => {
            format!(", {:.2} % of the requests and more of the sessions", share * 100.0)
        }
        Some(share) => format!(", {:.1} %", share * 100.0),
        None => String::new(),
    };
    let text = format!(
        "{} of {seen} rows contain sessions or requests that were cut, such as {}: \
         {name}{count}{of}; the long turns that they would have had are missing from latencies \
         and rates",
        rows.len(),
        worst.cell.name(),
    );
    // A count named truncated may be of answers that reached their length.
    let is_sure = worst.share.is_some_and(|share| share > SHARE_MAX) && !name.contains("truncated");
    let level = if is_sure { Level::Strong } else { Level::Hint };
    Some(
        Finding::new(RULE.id, level, text)
            .with("cut", worst.cut.value, "")
            .at_all(rows.iter().map(|said| said.cut.spot.clone()))
            .remedy(
                "allow a longer context or use shorter sessions, and count the cut ones as not \
                 served",
            ),
    )
}

/// Sessions or turns that were planned and not done, for no stated reason.
struct Undone<'a> {
    cell: &'a Cell<'a>,
    done: Other,
    planned: f64,
}

fn of_undone(mut rows: Vec<Undone>) -> Option<Finding> {
    let seen = rows.len();
    let missing = |row: &Undone| 1.0 - row.done.value / row.planned;
    rows.retain(|row| missing(row) > SHARE_MAX);
    rows.order_by(|a, b| missing(b).total_cmp(&missing(a)));
    let worst = rows.first()?;
    let text = format!(
        "{} of {seen} rows have fewer sessions or turns done than planned, such as {}: {} {} of {} \
         ({:.1} %); if a full context or the end of the run cut them, the long ones are missing",
        rows.len(),
        worst.cell.name(),
        worst.done.name,
        worst.done.value,
        worst.planned,
        (1.0 - missing(worst)) * 100.0,
    );
    Some(
        Finding::new(RULE.id, Level::Hint, text)
            .with("done", worst.done.value, "")
            .with("planned", worst.planned, "")
            .at_all(rows.iter().map(|row| row.done.spot.clone()))
            .remedy("state what ended them, and end the load after whole sessions"),
    )
}

fn has(name: &str, words: &[&str]) -> bool {
    words.iter().any(|word| name.contains(word))
}

/// What a row says of sessions or requests that were cut.
fn cut<'a>(cell: &'a Cell<'a>) -> Option<Said<'a>> {
    let others = cell.others();
    let is_cut = |other: &&Other| {
        let is_thing = has(&other.name, &SESSIONS) || has(&other.name, &THINGS);
        is_thing && has(&other.name, &CUT) && other.value >= 0.0
    };
    // Sessions tell more than requests.
    let of_sessions = others.iter().filter(is_cut).find(|other| has(&other.name, &SESSIONS));
    let found = of_sessions.or(others.iter().find(is_cut))?;
    let share = found.share().or_else(|| share(cell, &others, found));
    let is_least = found.name.contains(AIPERF)
        && of_sessions.is_none()
        && share.is_some_and(|share| share <= SHARE_MAX);
    Some(Said { cell, share, is_least, cut: found.clone() })
}

/// The share that was cut, of the sessions or of the requests of the row.
fn share(cell: &Cell, others: &[Other], cut: &Other) -> Option<f64> {
    let all = match SESSIONS.iter().find(|word| cut.name.contains(*word)) {
        Some(word) => others.iter().find(|other| is_all(other, word))?.value,
        None if cut.name.contains(AIPERF) => requests(cell)? + cut.value,
        None if cut.name.contains("request") => requests(cell)?,
        None => return None,
    };
    (all >= cut.value && all > 0.0).then(|| cut.value / all)
}

fn requests(cell: &Cell) -> Option<f64> {
    cell.row.value(Metric::Requests, Statistic::Value).or_else(|| cell.requests())
}

/// Whether it counts all of something, as `sessions` or `total turns` do.
fn is_all(other: &Other, thing: &str) -> bool {
    let name = other.name.trim();
    let plain = name.strip_suffix('s').unwrap_or(name);
    let is_count = !other.is_share && other.value > 0.0 && other.value.fract() == 0.0;
    let is_other = has(name, &CUT) || has(name, &DONE) || has(name, &["rate", " per ", "failed"]);
    is_count && name.contains(thing) && !is_other && (plain == thing || has(name, &OF_ALL))
}

/// Sessions or turns of a row that were planned, and how many were done.
fn undone<'a>(cell: &'a Cell<'a>) -> Option<Undone<'a>> {
    let others = cell.others();
    SESSIONS.iter().chain(&["turn"]).find_map(|thing| {
        let is_done = |other: &&Other| {
            let is_share = other.share().is_some();
            !is_share && other.name.contains(thing) && has(&other.name, &DONE)
        };
        let done = others.iter().find(is_done)?;
        let planned = others.iter().find(|other| is_all(other, thing))?.value;
        (planned >= done.value).then(|| Undone { cell, done: done.clone(), planned })
    })
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::{check, found, row, sheet};
    use super::*;
    use ifm_core::Sheet;
    use ifm_core::sheet::{PartKind, Unit};

    fn document(counts: &[(&str, &str)]) -> Sheet {
        let mut figures = vec![(Metric::RequestsOk, Statistic::Value, "1000", Unit::Count)];
        figures.extend(
            counts
                .iter()
                .map(|(name, count)| (Metric::other(*name), Statistic::Value, *count, Unit::Count)),
        );
        sheet(PartKind::Serving, vec![row(3, &figures)])
    }

    fn levels(counts: &[(&str, &str)]) -> Vec<Level> {
        found("cut_sessions", &[document(counts)]).iter().map(|it| it.level).collect()
    }

    #[test]
    fn allows_one_cut_session_in_a_hundred() {
        let name = "requests_overflowed";
        let corrupt = |sheet: &mut Sheet| *sheet = document(&[(name, "42")]);
        check("cut_sessions", &document(&[(name, "9")]), corrupt, Level::Strong, "42, 4.2 %");
        // The number of sessions is not stated; and answers may be truncated as asked.
        for name in ["sessions_overflowed", "truncated_requests"] {
            assert_eq!(levels(&[(name, "42")]), [Level::Hint], "{name}");
        }
        assert_eq!(levels(&[("overflowed_session_ratio", "0.05")]), [Level::Strong]);
        assert_eq!(levels(&[("truncated logs", "42")]), []);
    }

    /// 8 of 200 sessions are 4 %, though of 1 000 requests they are 0.8.
    #[test]
    fn sessions_are_counted_of_sessions() {
        let corrupt = |sheet: &mut Sheet| {
            *sheet = document(&[("sessions", "200"), ("sessions_overflowed", "8")]);
        };
        let fine = document(&[("sessions", "200"), ("sessions_overflowed", "2")]);
        check("cut_sessions", &fine, corrupt, Level::Strong, "sessions overflowed 8, 4.0 %");
        for all in ["num_sessions", "Total sessions", "session_count"] {
            assert_eq!(levels(&[("truncated sessions", "0"), (all, "200")]), [], "{all}");
            let cut = ("overflowed_sessions", "8");
            assert_eq!(levels(&[cut, ("requests_overflowed", "8"), (all, "200")]), [Level::Strong]);
        }
        // No number of all: sessions an hour, those that are done, and more cut than there were.
        for (name, value) in
            [("sessions per hour", "200"), ("sessions_completed", "200"), ("sessions", "5")]
        {
            let levels = levels(&[("sessions_overflowed", "8"), (name, value)]);
            assert_eq!(levels, [Level::Hint], "{name}");
        }
    }

    /// AIPerf counts no request twice: 42 of 1 042. A session has many, so that 5 of 1 005 may be
    /// more than one session in a hundred.
    #[test]
    fn a_full_context_that_aiperf_left_out_is_counted() {
        let name = "context_overflow_count";
        let corrupt = |sheet: &mut Sheet| *sheet = document(&[(name, "42")]);
        check("cut_sessions", &document(&[(name, "0")]), corrupt, Level::Strong, "42, 4.0 %");
        let few = found("cut_sessions", &[document(&[(name, "5")])]);
        let [few] = few.as_slice() else { panic!("{few:?}") };
        assert_eq!(few.level, Level::Hint);
        assert!(few.text.contains("0.50 % of the requests and more of the sessions"), "{few:?}");
    }

    #[test]
    fn turns_that_were_planned_and_not_done_are_a_hint() {
        let of = |done| document(&[("turns_planned", "2000"), ("turns_completed", done)]);
        let corrupt = |sheet: &mut Sheet| *sheet = of("1700");
        check("cut_sessions", &of("1990"), corrupt, Level::Hint, "1700 of 2000 (85.0 %)");
        assert_eq!(levels(&[("turns_completed", "1700")]), [], "their number is not stated");
        assert_eq!(levels(&[("turns_planned", "9"), ("sessions_completed", "3")]), []);
    }
}
