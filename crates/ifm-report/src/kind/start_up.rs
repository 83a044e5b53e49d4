//! How long the servers of runs took to start: a table for every kind of report, where it is known.

use super::Subject;
use crate::format::{ABSENT, plain, time};
use crate::page::{Block, Cell, Columns, Head, Section};
use ifm_compare::starts::{Starts, Until, starts};

const MS_PER_S: f64 = 1e3;

/// The section; absent where no run knows a start.
pub(super) fn section(subject: &Subject) -> Option<Section> {
    let rows = starts(subject.runs.iter().map(|run| &run.manifest));
    let time = |read: fn(&Starts) -> Option<Until>| move |row: &Starts| cell(read(row));
    let columns = Columns::<Starts>::default()
        .name("server", |row| plain(&row.name))
        .number("starts", |row| Some(row.n as f64), |n| n.to_string())
        .cell(Head::number("listening"), time(|row| row.listening))
        .cell(Head::number("ready"), time(|row| row.ready))
        .cell(Head::number("first token"), time(|row| row.first_token));
    let caption = "Seconds since the server's process was started: until its port took a connection, \
                   until it called itself ready, until the first token of its first answer. ± is half \
                   of a 95 % interval (Student) from three starts on; else the shortest and the \
                   longest.";
    let table = columns.table(caption, rows.iter());
    (!rows.is_empty()).then(|| Section::new("Start-up", vec![Block::Table(table)]))
}

fn cell(until: Option<Until>) -> Cell {
    let Some(Until { mean_s, interval, range_s: (low, high) }) = until else {
        return Cell::text(ABSENT);
    };
    let ms = |seconds: f64| seconds * MS_PER_S;
    let text = match interval {
        Some(interval) => time(ms(mean_s), Some(ms(interval.high - interval.low) / 2.0)),
        None if low < high => {
            let [mean, low, high] = [mean_s, low, high].map(|seconds| time(ms(seconds), None));
            format!("{mean} ({low} … {high})")
        }
        None => time(ms(mean_s), None),
    };
    Cell { value: Some(mean_s), ..Cell::text(text) }.in_unit("s")
}
