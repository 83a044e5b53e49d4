//! A calibration as a page, for files of any format.
//!
//! Not here: its text for the terminal (`fitted`), and its JSON document (`calibration`).

use crate::calibration::{Calibration, ComparedDocument, EstimateDocument, RowDocument};
use crate::calibration::{digits, misses};
use crate::fitted::{engine_words, source_of};
use ifm_report::page::{Block, Columns, Page, Section};

/// The page of a calibration. `refusal` is the reason why its constants are unusable.
pub fn page(calibration: &Calibration, refusal: Option<&str>) -> Page {
    let machine = match calibration.gpus {
        1 => calibration.gpu.clone(),
        gpus => format!("{gpus} x {}", calibration.gpu),
    };
    let model = calibration.model.clone().unwrap_or_else(|| "model of a config.json".to_owned());
    let missed = misses(&calibration.rows);
    let banners = refusal.into_iter().map(|why| format!("⚠ Not stored: {why}.")).chain(
        calibration.cautions().into_iter().map(|sentence| format!("⚠ {}.", capital(&sentence))),
    );
    let mut rows = vec![Block::Table(loads(&calibration.rows))];
    rows.extend((!missed.is_empty()).then_some(Block::List(missed)));
    if !calibration.left_out.is_empty() {
        rows.push(Block::Prose("Each row that was used, from the others alone:".to_owned()));
        rows.push(Block::Table(loads(&calibration.left_out)));
    }
    Page {
        kind: "calibration",
        title: format!("Calibration {}", calibration.name),
        facts: vec![
            format!("{model} in {} on {machine}", calibration.quant),
            engine_words(calibration),
        ],
        banners: banners.collect(),
        sections: vec![
            Section::new("Constants", vec![Block::Table(constants(&calibration.estimates))]),
            Section::new("Measured and predicted", rows),
        ],
        footer: vec![
            format!("inferometer {}", calibration.tool_version),
            calibration.created_utc.clone(),
        ],
        ..Page::default()
    }
}

fn capital(sentence: &str) -> String {
    let mut letters = sentence.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

fn constants(estimates: &[EstimateDocument]) -> ifm_report::page::Table {
    let columns = Columns::<EstimateDocument>::default()
        .name("constant", |one| one.name.clone())
        .number("value", |one| Some(one.value), digits)
        .number("95 % low", |one| Some(one.low), digits)
        .number("95 % high", |one| Some(one.high), digits)
        .number("default", |one| Some(one.default), digits)
        .text("from", source_of);
    columns.table("Constants of the deployment, with 95 % intervals.", estimates)
}

fn loads(rows: &[RowDocument]) -> ifm_report::page::Table {
    let measured = |pick: fn(&RowDocument) -> Option<ComparedDocument>| {
        move |row: &RowDocument| pick(row).map(|value| value.measured)
    };
    let predicted = |pick: fn(&RowDocument) -> Option<ComparedDocument>| {
        move |row: &RowDocument| pick(row).map(|value| value.predicted)
    };
    let error = |pick: fn(&RowDocument) -> Option<ComparedDocument>| {
        move |row: &RowDocument| pick(row).map(|value| value.error * 100.0)
    };
    let percent = |value: f64| format!("{value:+.1} %");
    let ms = |value: f64| format!("{} ms", digits(value));
    let mut columns = Columns::<RowDocument>::default()
        .name("load", |row| row.load.clone())
        .text("used", |row| if row.held_out { "held out" } else { "fitted" }.to_owned());
    type TimeOf = fn(&RowDocument) -> Option<ComparedDocument>;
    let both: [(&str, TimeOf); 2] = [("TTFT", |row| row.ttft), ("ITL", |row| row.itl)];
    for (name, pick) in both {
        columns = columns
            .number(name, measured(pick), ms)
            .number(format!("{name} predicted"), predicted(pick), ms)
            .number(format!("{name} error"), error(pick), percent);
    }
    columns.table("Means of each load, measured and with these constants.", rows)
}
