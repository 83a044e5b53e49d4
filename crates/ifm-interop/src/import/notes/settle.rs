//! What only the whole text shows: names that are models, columns without measurements, units,
//! kinds.
//!
//! Every step that adds information from another place leaves a remark.

use super::super::generic::RANKED;
use super::super::measure::{Meaning, lex, meaning, mentions};
use super::section::Sections;
use ifm_core::Metric;
use ifm_core::Sheet;
use ifm_core::sheet::{Part, PartKind, Place, Remark, RemarkKind, RowRole, Unit, key};
use std::collections::{BTreeMap, BTreeSet};

pub(super) fn settle(sheet: &mut Sheet, sections: &Sections) {
    models(sheet);
    rankings(sheet);
    summaries(sheet);
    units(sheet);
    zeros(sheet);
    quantization(sheet, sections);
    processor(sheet, sections);
    sheet.parts.iter_mut().for_each(decide_kind);
}

/// A heading that is the name of a model in a table of the same text names the model below it.
fn models(sheet: &mut Sheet) {
    let named: BTreeSet<String> = sheet
        .parts
        .iter()
        .flat_map(|part| &part.rows)
        .filter_map(|row| row.factors.get(key::MODEL).map(str::to_owned))
        .collect();
    for part in &mut sheet.parts {
        let heading = part.headings.iter().rev().find(|heading| named.contains(*heading));
        if let Some(heading) = heading
            && part.rows.iter().all(|row| row.factors.get(key::MODEL).is_none())
        {
            part.factors.set(key::MODEL, heading);
        }
    }
}

/// The headings above a ranking tell what it is ordered by.
fn rankings(sheet: &mut Sheet) {
    let ranked = Metric::other(RANKED);
    for part in &mut sheet.parts {
        let Some(found) = part.headings.iter().rev().find_map(|heading| quantity_of(heading))
        else {
            continue;
        };
        let figures = part.rows.iter_mut().flat_map(|row| &mut row.figures);
        for figure in figures.filter(|figure| figure.quantity == ranked) {
            figure.quantity = found;
        }
    }
}

fn quantity_of(heading: &str) -> Option<Metric> {
    if let Some(Meaning::Figure(named)) = meaning(heading) {
        return Some(named.quantity);
    }
    match mentions(&lex(heading)).as_slice() {
        [mention] => Some(mention.quantity),
        _ => None,
    }
}

/// A table under a heading that calls it a summary is one.
fn summaries(sheet: &mut Sheet) {
    for part in &mut sheet.parts {
        let title = part.headings.last().map(|title| title.to_lowercase()).unwrap_or_default();
        let summary = ["summary", "average", "aggregate"].iter().any(|word| title.contains(word));
        let measured = part.rows.iter_mut().filter(|row| row.role == RowRole::Measured);
        // A list of runs below such a heading has labels, and its rows are still runs.
        for row in measured.filter(|row| summary && row.label.is_none()) {
            row.role = RowRole::Summary;
        }
    }
}

/// A figure without a unit has that of the same quantity elsewhere in its part, or in the part
/// before.
fn units(sheet: &mut Sheet) {
    let bare = Unit::Other(String::new());
    let mut known: BTreeMap<Metric, Unit> = BTreeMap::new();
    let mut given: Vec<u32> = Vec::new();
    for part in &mut sheet.parts {
        for figure in part.rows.iter().flat_map(|row| &row.figures) {
            if figure.unit != bare && figure.value.is_some() {
                known.insert(figure.quantity, figure.unit.clone());
            }
        }
        let rows = part.rows.iter_mut().flat_map(|row| &mut row.figures);
        for figure in rows.filter(|figure| figure.unit == bare) {
            if let Some(unit) = known.get(&figure.quantity) {
                figure.unit = unit.clone();
                given.extend(
                    figure
                        .place
                        .as_ref()
                        .and_then(|place| place.line)
                        .filter(|_| figure.value.is_some()),
                );
            }
        }
    }
    given.dedup();
    if let Some(first) = given.first() {
        sheet.remarks.push(Remark {
            kind: RemarkKind::Assumed,
            place: Place::line(*first),
            text: format!(
                "numbers without a unit have that of the same quantity above them, in {} lines from this one on",
                given.len()
            ),
        });
    }
}

/// A summary that prints zero for what no run of its section measured has no value.
fn zeros(sheet: &mut Sheet) {
    // By section: the quantities of its runs, and whether any was measured.
    let mut measured: BTreeMap<Vec<String>, BTreeMap<Metric, bool>> = BTreeMap::new();
    for part in &sheet.parts {
        let mut own: BTreeMap<Metric, bool> = BTreeMap::new();
        for row in part.rows.iter().filter(|row| row.role == RowRole::Measured) {
            for figure in &row.figures {
                *own.entry(figure.quantity).or_default() |= figure.value.is_some();
            }
        }
        for depth in 0..=part.headings.len() {
            let above = part.headings.iter().take(depth).cloned().collect();
            let seen = measured.entry(above).or_default();
            for (quantity, any) in &own {
                *seen.entry(*quantity).or_default() |= any;
            }
        }
    }
    let mut missing: BTreeMap<Metric, Vec<u32>> = BTreeMap::new();
    for part in &mut sheet.parts {
        let around: Vec<String> = match part.headings.split_last() {
            Some((_, around)) => around.to_vec(),
            None => Vec::new(),
        };
        let Some(seen) = measured.get(&around) else { continue };
        for row in part.rows.iter_mut().filter(|row| row.role == RowRole::Summary) {
            for figure in &mut row.figures {
                if figure.value == Some(0.0) && seen.get(&figure.quantity) == Some(&false) {
                    figure.value = None;
                    missing.entry(figure.quantity).or_default().extend(row.place.line);
                }
            }
        }
    }
    for (quantity, lines) in missing {
        sheet.remarks.push(Remark {
            kind: RemarkKind::Missing,
            place: lines.first().map(|line| Place::line(*line)).unwrap_or_default(),
            text: format!(
                "{quantity:?}: 0 is printed where no run measured it, kept as missing in lines {}",
                super::ranges(&lines)
            ),
        });
    }
}

/// A section of its own that gives the format of the weights holds for the models it is about.
fn quantization(sheet: &mut Sheet, sections: &Sections) {
    let Some((format, model)) = sections.quantization() else { return };
    for part in &mut sheet.parts {
        let of = part.factors.get(key::MODEL);
        let about = model.is_none_or(|model| of == Some(model));
        if about && part.factors.get(key::QUANTIZATION).is_none() {
            part.factors.set(key::QUANTIZATION, format);
        }
    }
}

/// The only processor that a text names is the one that all of it was measured on.
fn processor(sheet: &mut Sheet, sections: &Sections) {
    let Some(gpu) = sections.only_gpu() else { return };
    let mut first = None;
    for part in &mut sheet.parts {
        let has = |factors: &ifm_core::sheet::Factors| factors.get(key::GPU).is_some();
        if !has(&part.factors) && !part.rows.iter().any(|row| has(&row.factors)) {
            part.factors.set(key::GPU, gpu);
            if let Some(counted) = sections.only_counted() {
                part.factors.set(key::HARDWARE, counted);
            }
            first = first.or(part.place.line);
        }
    }
    if let Some(line) = first {
        sheet.remarks.push(Remark {
            kind: RemarkKind::Assumed,
            place: Place::line(line),
            text: format!(
                "{gpu}: the only processor that the text names, taken for what names none"
            ),
        });
    }
}

/// Decides what a part measures from its settings and quantities, where its reader left that open.
pub(crate) fn decide_kind(part: &mut Part) {
    if part.kind != PartKind::Other {
        return;
    }
    let has = |name: &str| {
        part.factors.get(name).is_some()
            || part.rows.iter().any(|row| row.factors.get(name).is_some())
    };
    let figure = |wanted: &[Metric]| {
        part.rows
            .iter()
            .flat_map(|row| &row.figures)
            .any(|figure| wanted.contains(&figure.quantity))
    };
    let serving = [
        Metric::Ttft,
        Metric::Itl,
        Metric::Tpot,
        Metric::RequestRate,
        Metric::Goodput,
        Metric::UserSpeed,
    ];
    part.kind = if has(key::CONCURRENCY) || has(key::RATE) || figure(&serving) {
        PartKind::Serving
    } else if has(key::BATCH_SIZE) && figure(&[Metric::E2e, Metric::OutputRate, Metric::TotalRate])
    {
        PartKind::StaticBatch
    } else if figure(&[Metric::Kernel, Metric::FlopRate]) {
        PartKind::Kernel
    } else if figure(&[Metric::PrefillRate, Metric::DecodeRate]) {
        PartKind::Engine
    } else if figure(&[Metric::E2e, Metric::OutputRate, Metric::TotalRate]) {
        PartKind::Serving
    } else {
        PartKind::Other
    };
}
