//! All configurations at a glance: ratios as colours, ratios against the size, and in one table.

use super::super::Subject;
use super::{NOT_MEASURED, charts, configuration, many, range, ranking};
use crate::format::{count, meant, plain};
use crate::page::{Block, Cell, Columns, Figure, Head, Section, Table};
use ifm_compare::matrix::{Matrix, Over, Overall};
use ifm_rules::insight::{Insight, Meant, Tone};

const WHOLE_TIME: &str = "The baseline's end-to-end latency over that of each: the wait for a \
                          whole batch, prompt processing included, regardless of the ranking \
                          metric. \
                          Hatched: no difference is shown, or it is inconclusive; with ~ the repeats \
                          contradict each other.";

pub(super) fn section(subject: &Subject, matrix: &Matrix) -> Section {
    let of_rule = |id: &'static str| {
        let is = move |insight: &&Insight| insight.rule == id;
        subject.insights.iter().filter(is)
    };
    // Each has the whole width: names of models and of configurations need it.
    let mut blocks = Vec::new();
    if let Some(chart) = charts::heatmap(matrix) {
        let figure = Figure::new(chart, of_rule("overall_winner")).captioned(colours(matrix));
        blocks.push(Block::Figures(vec![figure]));
    }
    if let Some(chart) = charts::whole_time(matrix) {
        let figure = Figure::new(chart, of_rule("measures_disagree")).captioned(WHOLE_TIME);
        blocks.push(Block::Figures(vec![figure]));
    }
    let charts = charts::speed_ups(matrix);
    for (index, (chart, is_cut)) in charts.into_iter().enumerate() {
        let crossings = of_rule("crossover").filter(|_| index == 0);
        let figure = Figure::new(chart, crossings).captioned(lines(matrix, is_cut));
        blocks.push(Block::Figures(vec![figure]));
    }
    blocks.push(Block::List(measures(matrix)));
    blocks.extend(overall(matrix).map(Block::Table));
    Section::new("Overview", blocks)
}

/// What the colours and signs of the heatmap mean.
fn colours(matrix: &Matrix) -> String {
    let mut words = "Ratio by what each configuration is ranked by. Hatched: no difference is \
                     shown, or it is inconclusive; with ~ its repeats contradict each other."
        .to_owned();
    let has_contrary = (0..matrix.configurations.len()).any(|of| !matrix.contraries(of).is_empty());
    if has_contrary {
        words.push_str(" †: another measure of the same runs shows the contrary.");
    }
    words
}

/// What ranks where, and why.
fn measures(matrix: &Matrix) -> Vec<String> {
    let mut groups: Vec<(String, Vec<String>)> = Vec::new();
    for of in &matrix.configurations {
        let name = configuration::measure_unit(of.measure).0;
        let by = format!("{name}{}", ranking::reason(of));
        match groups.iter_mut().find(|(known, _)| *known == by) {
            Some((_, names)) => names.push(plain(&of.name())),
            None => groups.push((by, vec![plain(&of.name())])),
        }
    }
    let write = |(by, names): (String, Vec<String>)| format!("By {by}: {}.", names.join("; "));
    groups.into_iter().map(write).collect()
}

/// What the lines mean, and what is left out of them.
fn lines(matrix: &Matrix, is_cut: bool) -> String {
    let mut words =
        "Each line joins batches of the same lengths; the band is the 95 % interval of \
                     the repeats."
            .to_owned();
    let alone =
        matrix.configurations.len() - charts::joined(matrix).iter().map(Vec::len).sum::<usize>();
    if alone > 0 {
        let of = many(alone, "configuration", "configurations");
        words.push_str(&format!(" {of} of other lengths appear only in the colors above."));
    }
    let is_wild = |of: &usize| {
        matrix.against_baseline(&[*of], None).iter().flatten().any(|ratio| !ratio.is_trusted)
    };
    if charts::joined(matrix).iter().flatten().any(is_wild) {
        words.push_str(
            " A hollow point: its repeats contradict each other, and its interval is not drawn.",
        );
    }
    if is_cut {
        words.push_str(" A band that leaves the chart is cut at its edge; the numbers are whole.");
    }
    words
}

/// A ratio over several configurations; a range where no single number represents all of them.
fn times(over: Option<&Over>) -> Cell {
    let Some(over) = over else { return Cell::number(None, |value| meant(value, Meant::Times)) };
    if over.is_mixed() {
        return Cell::text(range(over.range())).toned(Tone::Warn);
    }
    let mark = if over.ratio.is_trusted { "" } else { "~" };
    let cell = Cell::number(Some(over.ratio.value), |value| {
        format!("{mark}{}", meant(value, Meant::Times))
    });
    match () {
        () if !over.ratio.is_trusted => cell.toned(Tone::Warn),
        () if over.is_faster() => cell.toned(Tone::Good),
        () if over.is_slower() => cell.toned(Tone::Bad),
        () => cell,
    }
}

/// Every thing against the baseline, over all and at each size.
fn overall(matrix: &Matrix) -> Option<Table> {
    let base = plain(matrix.thing(matrix.baseline?));
    let all = matrix.overall();
    let first = all.first()?;
    let batches = matrix.batches();
    let sizes: Vec<Vec<Option<Over>>> =
        batches.iter().map(|batch| matrix.at_size(*batch)).collect();
    let mut contrary = vec![0; matrix.things.len()];
    for found in (0..matrix.configurations.len()).flat_map(|of| matrix.contraries(of)) {
        if let Some(number) = contrary.get_mut(found.thing) {
            *number += 1;
        }
    }
    let interval = |of: &Overall| {
        let interval = of.over.ratio.interval.filter(|_| !of.over.is_mixed());
        interval.map_or_else(|| NOT_MEASURED.to_owned(), range)
    };
    let whole = |n: f64| count(n as u64);
    let contrary = |of: &Overall| contrary.get(of.thing).copied().unwrap_or_default();
    let mut columns = Columns::<Overall>::default()
        .name("Model", |of| plain(matrix.thing(of.thing)))
        .cell(Head::number(format!("× {base}")), |of| times(Some(&of.over)))
        .cell(Head::number("95 % interval"), |of| Cell::text(interval(of)))
        .number("faster", |of| Some(of.faster as f64), whole)
        .number("no difference", |of| Some(of.tied as f64), whole)
        .number("slower", |of| Some(of.slower as f64), whole)
        .number("inconclusive", |of| Some(of.undecided as f64), whole)
        .number("contrary measures", |of| Some(contrary(of) as f64), whole);
    let unit = configuration::unit(matrix);
    for (batch, at) in batches.iter().zip(&sizes) {
        let head = Head::number(format!("{unit} {batch}"));
        columns = columns.cell(head, |of| times(at.get(of.thing).and_then(Option::as_ref)));
    }
    let caption = format!(
        "Geometric mean of the ratios to {base} over the {} of {} in which every model was measured \
         without contradiction, each by what it is ranked by; a range where a model is faster in \
         some and slower in others, with ~ where its repeats contradict each other. In how many of \
         all a difference is shown, and in how many another measure of the same runs shows the \
         contrary.",
        first.over.ratio.configurations,
        many(matrix.configurations.len(), "configuration", "configurations")
    );
    Some(columns.table(caption, &all))
}
