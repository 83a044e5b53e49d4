//! A condition on and off over workloads, loads and models.
//!
//! One overview, then a pair of charts for every workload and load, mean next to P99, in the order
//! and under the titles of the published grid that this kind is modeled on. Cells that were not
//! measured are outlined and listed. Not here: what a condition costs (`ifm-rules/src/insight/grid`).

mod charts;
mod missing;

use super::common::{bounds, nothing, page as frame};
use super::{Kind, Subject};
use crate::format::{ABSENT, meant, plain, sentence};
use crate::page::{Block, Cell, Columns, Figure, Head, Page, Remark, Section, Table, Tile};
use ifm_compare::comparison::Verdict;
use ifm_core::sheet::{RowRole, Statistic, key};
use ifm_core::words::counted;
use ifm_metrics::level::Load;
use ifm_rules::insight::{
    Bands, Delta, GRID_STATISTICS, Grid, GridCell, GridRow, Insight, Meant, Question, Tone, Topic,
    median_change,
};

const MEAN: Statistic = Statistic::Mean;
const P99: Statistic = Statistic::Percentile(99.0);
const MS_PER_S: f64 = 1e3;

pub(super) const KIND: Kind = Kind {
    word: "grid",
    about: "a condition on and off over workloads, loads and models, mean and P99",
    fits,
    page,
};

/// Whether a condition has both sides in some cell, or a grid is announced and empty.
fn fits(subject: &Subject) -> bool {
    let Some(grid) = Grid::of(&subject.question) else { return false };
    let is_planned = subject.question.results.of_role(RowRole::Planned).next().is_some();
    !grid.deltas(MEAN).is_empty() || (is_planned && grid.missing() == grid.wanted())
}

/// `Random (1500 ⇒ 250)`, `ShareGPT`, `Edit 10K Characters`, `Numina Math`, or its own name.
fn workload_title(row: &GridRow) -> String {
    let workload = &row.workload;
    let name = workload.name.trim();
    let (word, rest) = name.split_once(':').unwrap_or((name, ""));
    let lengths = rest.split_once('/').and_then(|(input, output)| {
        Some((input.trim().parse::<u64>().ok()?, output.trim().parse::<u64>().ok()?))
    });
    let whole = |tokens: f64| (tokens.fract() == 0.0 && tokens >= 0.0).then_some(tokens as u64);
    let asked =
        || workload.input_tokens.and_then(whole).zip(workload.output_tokens.and_then(whole));
    let known = match word.to_lowercase().as_str() {
        "random" => "Random",
        "sharegpt" => "ShareGPT",
        "edit-10k-chars" => "Edit 10K Characters",
        "numina-math" => "Numina Math",
        "" => "Any workload",
        _ => return plain(name),
    };
    match (known, lengths.or_else(asked)) {
        ("Random", Some((input, output))) => format!("Random ({input} ⇒ {output})"),
        _ => known.to_owned(),
    }
}

/// `100 Concurrent Requests`.
fn load_title(row: &GridRow) -> String {
    match row.load {
        Some(Load::Users(1)) => "1 Concurrent Request".to_owned(),
        Some(Load::Users(users)) => format!("{users} Concurrent Requests"),
        Some(Load::ReqPerS(1.0)) => "1 Request per Second".to_owned(),
        Some(Load::ReqPerS(rate)) => format!("{rate} Requests per Second"),
        None => "Unknown Load".to_owned(),
    }
}

/// `Random (1500 ⇒ 250) (100 Concurrent Requests)`.
fn row_title(row: &GridRow) -> String {
    format!("{} ({})", workload_title(row), load_title(row))
}

fn page(subject: &Subject) -> Page {
    let results = subject.question.results;
    let of_sides = || {
        let is_open = subject.question.compare_by.is_none();
        let compare_by = Some(key::RUN.to_owned());
        is_open.then(|| Grid::of(&Question { compare_by, ..subject.question.clone() })).flatten()
    };
    let Some(grid) = Grid::of(&subject.question).or_else(of_sides) else {
        return nothing(subject, KIND.word, NOTHING);
    };
    let of_grid: Vec<Insight> = subject
        .insights
        .iter()
        .filter(|insight| insight.topic == Topic::Condition)
        .cloned()
        .collect();
    let mut conditions = vec![dimensions(&grid)];
    if !grid.left_out.is_empty() {
        let names: Vec<String> = grid.left_out.iter().map(|name| plain(name)).collect();
        conditions.push(format!("left out: {}", names.join(", ")));
    }
    let mut banners = Vec::new();
    let is_empty = grid.missing() == grid.wanted();
    if is_empty {
        banners.push(format!(
            "✗ Not one of {} announced figures is here ({} cells, mean and P99 of each): a plan, or a \
             text whose pictures are lost. Measure the cells and name the runs.",
            grid.wanted(),
            grid.wanted() / GRID_STATISTICS.len()
        ));
    }
    let title = format!("{} against {}", plain(&grid.other), plain(&grid.base));
    let page = frame(subject, (KIND.word, results), &of_grid, ("", &title));
    Page {
        conditions,
        banners,
        tiles: if is_empty { Vec::new() } else { tiles(&grid) },
        // The banner says what tiles and a summary would.
        remarks: if is_empty { Vec::new() } else { page.remarks },
        sections: sections(&grid, &of_grid),
        footer: vec![bounds()],
        ..page
    }
}

/// What a cell is: a workload under a load, a model, a condition.
fn dimensions(grid: &Grid) -> String {
    let rows = match grid.rows.len() {
        1 => "1 workload and load".to_owned(),
        rows => format!("{rows} workloads and loads"),
    };
    format!("{rows} × {} × 2 conditions", counted(grid.models.len() as u64, "model"))
}

const NOTHING: &str = "✗ No condition to compare: runs or rows with and without something are needed. \
                       Tag the runs, as in --tag cc=on and --tag cc=off, or name a factor with \
                       --compare.";

fn cell_words(grid: &Grid, cell: &GridCell) -> String {
    let model = grid.models.get(cell.model).map(|model| plain(model)).unwrap_or_default();
    let row = grid.rows.get(cell.row).map(row_title).unwrap_or_default();
    format!("{model}, {row}")
}

/// Median change, worst cell, ties, missing figures.
fn tiles(grid: &Grid) -> Vec<Tile> {
    let deltas = grid.deltas(MEAN);
    let tile = |question: &str, value: String, detail: String, tone: Option<Tone>| {
        Tile::new(question, value, "", detail).toned(tone)
    };
    let band = &Bands::get().overhead;
    let tone = |change: f64| match () {
        () if band.is_poor(change) => Some(Tone::Warn),
        () if band.is_good(change) => Some(Tone::Good),
        () => None,
    };
    let other = plain(&grid.other);
    let changes: Vec<f64> = deltas.iter().map(|(_, delta)| delta.change).collect();
    let is_shown = grid.shown(MEAN) > 0;
    let mut tiles = Vec::new();
    if let Some((median, bounds)) = median_change(&changes) {
        let question = format!("What does {other} cost?");
        let interval = bounds.map_or_else(String::new, |(low, high)| {
            format!("95 %: {} to {}; ", meant(low, Meant::Change), meant(high, Meant::Change))
        });
        let value = meant(median, Meant::Change);
        // A number in the first tile is read as one, whatever the third says.
        tiles.push(match deltas.as_slice() {
            [(_, only)] if only.is_shown() => {
                let word = band.word(median.abs());
                let detail =
                    format!("{word}, {}, mean end-to-end latency", sentence(&only.with_interval()));
                tile(&question, value, detail, tone(median))
            }
            [(_, only)] => {
                let detail = format!("{}; mean end-to-end latency", sentence(&only.undecided()));
                tile(&question, "not shown".to_owned(), detail, None)
            }
            _ if is_shown => {
                let detail = format!(
                    "{}, {interval}median of {} pairs of cells, shown in {}, mean end-to-end latency",
                    band.word(median.abs()),
                    changes.len(),
                    grid.shown(MEAN)
                );
                tile(&question, value, detail, tone(median))
            }
            _ => {
                let detail = format!(
                    "in any of {} pairs of cells; median {value}, {interval}mean end-to-end latency",
                    changes.len()
                );
                let is_excluded = grid.ties(MEAN) == deltas.len();
                let value = if is_excluded { "no difference shown" } else { "not shown" };
                tile(&question, value.to_owned(), detail, None)
            }
        });
    }
    let shown = deltas.iter().filter(|(_, delta)| delta.is_shown());
    let most = shown.max_by(|a, b| a.1.change.total_cmp(&b.1.change));
    if let Some((cell, delta)) = most {
        let detail = format!("{}; {}", cell_words(grid, cell), sentence(&delta.with_interval()));
        let value = meant(delta.change, Meant::Change);
        tiles.push(tile("Where does it cost most?", value, detail, tone(delta.change)));
    }
    // Of none there is nothing to say.
    if grid.ties(MEAN) > 0 {
        let value = format!("{} of {}", grid.ties(MEAN), deltas.len());
        let open = deltas.len() - grid.ties(MEAN) - grid.shown(MEAN);
        let undecided = match open {
            0 => String::new(),
            open => format!("; undecided in {open}"),
        };
        let detail = format!("pairs of cells, mean end-to-end latency{undecided}");
        tiles.push(tile("Where is no difference shown?", value, detail, None));
    }
    let (missing, wanted) = (grid.missing(), grid.wanted());
    let (sign, tone) = match missing {
        0 => ("✓ ", Some(Tone::Good)),
        missing if missing == wanted => ("✗ ", Some(Tone::Bad)),
        _ => ("⚠ ", Some(Tone::Warn)),
    };
    tiles.push(tile(
        "How many figures are missing?",
        format!("{sign}{missing} of {wanted}"),
        format!("mean and P99 of {} cells: {}", wanted / GRID_STATISTICS.len(), dimensions(grid)),
        tone,
    ));
    tiles
}

fn sections(grid: &Grid, insights: &[Insight]) -> Vec<Section> {
    let mut sections = Vec::new();
    if grid.missing() < grid.wanted() {
        let overview = Figure::new(charts::overview(grid), insights.iter().take(3));
        sections.push(Section::new("Overview", vec![Block::Figures(vec![overview])]));
    }
    let mut empty = Vec::new();
    for (index, row) in grid.rows.iter().enumerate() {
        if !grid.cells.iter().any(|cell| cell.row == index && is_measured(cell)) {
            empty.push((index, row));
            continue;
        }
        let figures: Vec<Figure> =
            charts::bars(grid, index).into_iter().map(Figure::alone).collect();
        let mut blocks = Vec::new();
        let has = |title: &str| figures.iter().any(|figure| figure.chart.title == title);
        let lacking: Vec<&str> = charts::TITLES.into_iter().filter(|title| !has(title)).collect();
        if !figures.is_empty() {
            blocks.push(Block::Figures(figures));
        }
        if !lacking.is_empty() {
            let lines = lacking.into_iter().map(|title| {
                let names = grid.models.iter().map(|model| plain(model)).collect::<Vec<_>>();
                format!("{title}: not measured ({})", names.join(", "))
            });
            blocks.push(Block::List(lines.collect()));
        }
        sections.push(Section::new(row_title(row), blocks));
    }
    sections.extend(missing::section(grid, &empty));
    let across: Vec<Figure> = [charts::dumbbell(grid), charts::split(grid)]
        .into_iter()
        .flatten()
        .map(Figure::alone)
        .collect();
    if !across.is_empty() {
        sections.push(Section::new("Across the grid", vec![Block::Figures(across)]));
    }
    if empty.len() < grid.rows.len() {
        let mut blocks = vec![Block::Table(table(grid))];
        if !insights.is_empty() {
            blocks.insert(0, Block::Remarks(insights.iter().map(Remark::of).collect()));
        }
        sections.push(Section::new("Every cell", blocks));
    }
    sections
}

/// Whether either side of a cell has a figure.
fn is_measured(cell: &GridCell) -> bool {
    [true, false].into_iter().any(|base| {
        [MEAN, P99].into_iter().any(|statistic| cell.reading(base, statistic).is_some())
    })
}

/// Rows of the table at most.
const ROWS_MAX: usize = 1_000;

fn table(grid: &Grid) -> Table {
    let (base, other) = (plain(&grid.base), plain(&grid.other));
    let place = |cell: &GridCell| grid.rows.get(cell.row);
    let load = |cell: &GridCell| place(cell).and_then(|place| place.load);
    let repeats =
        |side: &Option<ifm_results::Pooled>| side.as_ref().map_or(0, |of| of.points.len());
    let model = |cell: &GridCell| grid.models.get(cell.model).map(|model| plain(model));
    let mut columns = Columns::<GridCell>::default()
        .name("workload", |cell| place(cell).map(workload_title).unwrap_or_default())
        .cell(Head::number("load"), |cell| Cell {
            value: load(cell).map(Load::value),
            ..Cell::text(crate::model::load(load(cell)))
        })
        .text("model", |cell| model(cell).unwrap_or_default())
        .text("repeats", |cell| format!("{} / {}", repeats(&cell.base), repeats(&cell.other)));
    for (name, statistic) in [("mean", MEAN), ("P99", P99)] {
        for (of_base, side) in [(true, &base), (false, &other)] {
            let head = Head::number(format!("{name}, {side}"));
            columns = columns.cell(head, move |cell| time(cell, of_base, statistic));
        }
        let change = move |cell: &GridCell| cell.delta(statistic).map(|delta| delta.change);
        let write = |change| meant(change, Meant::Change);
        columns = columns.number(format!("Δ {name}"), change, write);
    }
    let head = Head::text("difference of means");
    columns = columns.cell(head, |cell| verdict(cell.delta(MEAN)));
    let caption = "End-to-end latency. ± is half of a 95 % interval over repeats (Student), from \
                   three on; of P99 of a single run the interval of the order statistics.";
    columns.table(caption, grid.cells.iter().take(ROWS_MAX))
}

/// A latency with half its interval; marked where it is based on too few requests.
fn time(cell: &GridCell, of_base: bool, statistic: Statistic) -> Cell {
    let Some(reading) = cell.reading(of_base, statistic) else {
        return Cell::text(ABSENT).noted("missing");
    };
    let half = reading.low.zip(reading.high).map(|(low, high)| (high - low) / 2.0);
    let text = crate::format::time(reading.value, half);
    let written = Cell { value: Some(reading.value / MS_PER_S), ..Cell::text(text) }.in_unit("s");
    match (reading.is_enough, reading.n) {
        (false, Some(n)) => written.noted(format!("n={n}")),
        _ => written,
    }
}

fn verdict(delta: Option<&Delta>) -> Cell {
    let Some(delta) = delta else { return Cell::text("missing") };
    let change = sentence(&delta.with_interval());
    match delta.verdict {
        Verdict::Worse => Cell::text(format!("✗ slower: {change}")).toned(Tone::Warn),
        Verdict::Better => Cell::text(format!("✓ faster: {change}")).toned(Tone::Good),
        Verdict::PredictedAbove | Verdict::PredictedBelow => {
            Cell::text(format!("{}: {change}", crate::comparison::words::verdict(delta.verdict)))
                .toned(Tone::Note)
        }
        Verdict::NoDifferenceShown | Verdict::NoRelevantDifference => {
            Cell::text(format!("no difference shown: {change}"))
        }
        Verdict::Inconclusive => {
            Cell::text(format!("inconclusive: {}", sentence(&delta.undecided())))
        }
    }
}

#[cfg(test)]
mod tests;
