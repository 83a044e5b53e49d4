//! Grids that are full, thin and only announced.

use super::super::testing::Shown;
use super::*;
use crate::ReportModel;
use crate::page::{Pictures, html, markdown};
use crate::testing::model;
use ifm_core::Metric;
use ifm_core::Sheet;
use ifm_core::sheet::{Factors, Figure, Part, PartKind, Place, Row, Source, Unit, key};
use ifm_metrics::testing::{NoisyLoop, noisy_run};
use ifm_rules::insight::GridWorkload;

/// Model, users, condition, and mean and P99 in seconds where measured.
type CellOf<'a> = (&'a str, u32, &'a str, Option<(f64, f64)>);

/// A document of cells.
fn sheet(cells: &[CellOf]) -> Sheet {
    let row = |(model, users, condition, times): &CellOf| {
        let role = if times.is_some() { RowRole::Measured } else { RowRole::Planned };
        let mut row = Row::new(role, Place::line(1));
        row.factors = Factors::default()
            .with(key::MODEL, model)
            .with(key::CONCURRENCY, users)
            .with(key::CONDITION, condition);
        if let Some((mean, p99)) = times {
            row.figures.push(Figure::new(Metric::E2e, MEAN, *mean, Unit::S));
            row.figures.push(Figure::new(Metric::E2e, P99, *p99, Unit::S));
        }
        row
    };
    let factors = Factors::default()
        .with(key::WORKLOAD, "Random")
        .with(key::INPUT_TOKENS, 1500)
        .with(key::OUTPUT_TOKENS, 250);
    let rows = cells.iter().map(row).collect();
    let part = Part { factors, rows, ..Part::new(PartKind::Serving, Place::default()) };
    let source = Source { name: "grid.txt".to_owned(), ..Source::default() };
    Sheet { source, parts: vec![part], remarks: Vec::new() }
}

fn draw(
    runs: &[ReportModel],
    sheets: &[Sheet],
    compare: Option<(&str, &str)>,
) -> (&'static str, Page) {
    Shown { runs, sheets, ..Shown::default() }.draw(|question| {
        question.compare_by = compare.map(|(by, _)| by.to_owned());
        question.baseline = compare.map(|(_, baseline)| baseline.to_owned());
    })
}

#[test]
fn the_page_of_a_grid() {
    let some = |mean, p99| Some((mean, p99));
    let sheet = sheet(&[
        ("Llama 3.1 8B", 1, "CC", some(2.02, 2.2)),
        ("Llama 3.1 8B", 1, "No CC", some(2.0, 2.1)),
        ("Llama 3.1 8B", 100, "CC", some(8.6, 12.0)),
        ("Llama 3.1 8B", 100, "No CC", some(8.0, 10.0)),
        ("GPT OSS 120B", 100, "CC", None),
        ("GPT OSS 120B", 100, "No CC", some(9.0, 11.0)),
    ]);
    let (word, page) = draw(&[], &[sheet], None);
    assert_eq!(word, "grid");
    insta::assert_snapshot!(markdown(&page, Pictures::None));
    crate::page::agreement_tests::check(&page);
}

#[test]
fn a_condition_that_shows_no_cost_has_no_number_for_it() {
    let some = |mean, p99| Some((mean, p99));
    let cells = |on: f64| {
        let cells = [
            ("m", 1, "CC", some(2.0 * on, 2.2)),
            ("m", 1, "No CC", some(2.0, 2.1)),
            ("m", 100, "CC", some(8.0 * on, 12.0)),
            ("m", 100, "No CC", some(8.0, 12.0)),
        ];
        // Three repeats, a thousandth apart.
        let times = |times: f64| {
            cells.map(|(model, users, condition, of)| {
                (model, users, condition, of.map(|(mean, p99)| (mean * times, p99 * times)))
            })
        };
        let repeats: Vec<CellOf> = [0.999, 1.0, 1.001].into_iter().flat_map(times).collect();
        draw(&[], &[sheet(&repeats)], None).1
    };
    let same = cells(1.003);
    assert_eq!(same.tiles[0].value, "no difference shown");
    assert!(same.tiles[0].detail.contains("+0.3 %"), "{:?}", same.tiles[0]);
    assert!(same.tiles.iter().all(|tile| !tile.question.contains("cost most")));
    let text = markdown(&same, Pictures::None);
    assert!(
        text.contains("no cost of CC in end-to-end latency") && !text.contains("CC costs"),
        "{text}"
    );
    let dearer = cells(1.2);
    assert_eq!(dearer.tiles[0].value, "+20 %");
    assert!(markdown(&dearer, Pictures::None).contains("CC costs +20 %"));
}

#[test]
fn an_announced_grid_says_that_nothing_is_there() {
    let mut cells = Vec::new();
    for users in [100, 50, 1] {
        for condition in ["CC", "No CC"] {
            cells.push(("m", users, condition, None));
        }
    }
    let (word, page) = draw(&[], &[sheet(&cells)], None);
    assert_eq!(word, "grid");
    assert!(page.banners[0].contains("Not one of 12"), "{:?}", page.banners);
    assert!(page.banners[0].contains("6 cells, mean and P99 of each"), "{:?}", page.banners);
    let titles: Vec<&str> = page.sections.iter().map(|section| section.heading.as_str()).collect();
    assert_eq!(titles, ["What is missing"], "no headings without figures");
    assert!(page.tiles.is_empty() && page.remarks.is_empty(), "the banner says it");
    let [Block::Table(table), Block::Prose(how), Block::Pre(commands)] =
        page.sections[0].blocks.as_slice()
    else {
        panic!("{:?}", page.sections[0])
    };
    assert!(table.caption.ends_with("prompt tokens ⇒ answer tokens. CC: confidential computing."));
    assert!(how.contains("the second time with --tag condition=CC;"), "{how}");
    let sweep =
        "inferometer sweep URL -W 1500/250 -c 1,50,100 --repeat 3 --tag 'condition=No CC'\n";
    assert!(commands.starts_with(sweep), "{commands}");
    let names: Vec<&str> = table.rows.iter().map(|row| row[0].text.as_str()).collect();
    let expect = ["100 Concurrent Requests", "50 Concurrent Requests", "1 Concurrent Request"]
        .map(|load| format!("Random (1500 ⇒ 250) ({load})"));
    assert_eq!(names, expect);
    assert!(table.rows.iter().all(|row| row[1].text == "✗ No CC, CC"), "{table:?}");
    assert!(html(&page).contains("✗ No CC, CC"));
}

#[test]
fn tagged_runs_are_a_grid_with_intervals() {
    let level = |users, slower: f64, seed| NoisyLoop {
        users,
        rounds: 40,
        ttft_ms: 80.0 * slower,
        itl_ms: 10.0 * slower,
        tokens: 16,
        spread: 0.1,
        memory: 0.0,
        seed,
    };
    let run = |index: u64, cc: &str, slower: f64| {
        let mut run = noisy_run(&[level(1, 1.0, index), level(8, slower, index + 100)]);
        run.manifest.run_id = format!("{index}");
        run.manifest.tags.insert("cc".to_owned(), cc.to_owned());
        run.manifest.spec.workload.text = Some("edit-10k-chars".to_owned());
        model(&run)
    };
    let sides = [("off", 1.0), ("on", 1.2)];
    let runs: Vec<ReportModel> = (0..6)
        .map(|index| {
            let (cc, slower) = sides[usize::from(index >= 3)];
            run(index, cc, slower)
        })
        .collect();
    let (word, page) = draw(&runs, &[], Some(("cc", "off")));
    assert_eq!((word, page.charts().len()), ("grid", 7));
    let mut labels = 0;
    for chart in page.charts() {
        let ifm_chart::Plot::Cartesian(plot) = &chart.plot else { continue };
        let is_latency = plot.y.name.contains("latency");
        for point in plot.series.iter().flat_map(|series| &series.points).filter(|_| is_latency) {
            let label = point.text.as_deref().unwrap_or_default();
            assert!(label.ends_with(&format!(" {}", plot.y.unit)), "{label} on {:?}", plot.y);
            labels += 1;
        }
    }
    assert!(labels > 8, "{labels} labels");
    let text = markdown(&page, Pictures::None);
    for expect in [
        "## Edit 10K Characters (8 Concurrent Requests)",
        "cc on against cc off",
        "✗ slower: +",
        "no difference shown",
        "3 / 3",
    ] {
        assert!(text.contains(expect), "{expect}: {text}");
    }
}

#[test]
fn workloads_have_the_titles_that_are_known() {
    for (name, lengths, title) in [
        ("random:1500/250", None, "Random (1500 ⇒ 250)"),
        ("random:4000/1000", None, "Random (4000 ⇒ 1000)"),
        ("Random", Some((1000.0, 1000.0)), "Random (1000 ⇒ 1000)"),
        ("sharegpt", None, "ShareGPT"),
        ("ShareGPT", Some((10.0, 20.0)), "ShareGPT"),
        ("edit-10k-chars", None, "Edit 10K Characters"),
        ("Edit 10K Characters", None, "Edit 10K Characters"),
        ("numina-math:limo.jsonl", None, "Numina Math"),
        ("عربي", None, "عربي"),
    ] {
        let workload = GridWorkload {
            name: name.to_owned(),
            input_tokens: lengths.map(|(input, _)| input),
            output_tokens: lengths.map(|(_, output)| output),
        };
        let row = GridRow { workload, load: Some(Load::Users(100)) };
        assert_eq!(row_title(&row), format!("{title} (100 Concurrent Requests)"));
    }
}

/// Two machines under one condition are not repeats of one cell.
#[test]
fn what_differs_within_a_cell_is_a_column() {
    let some = |mean: f64| Some((mean, mean + 0.1));
    let mut sheet = sheet(&[
        ("m", 1, "No CC", some(2.0)),
        ("m", 1, "No CC", some(4.0)),
        ("m", 1, "CC", some(2.5)),
        ("m", 1, "CC", some(5.0)),
    ]);
    for (row, gpu) in sheet.parts[0].rows.iter_mut().zip(["A", "B", "A", "B"]) {
        row.factors.set(key::GPU, gpu);
    }
    let results = ifm_results::Results::of_sheets(&[sheet]);
    let grid = Grid::of(&Question::new(&results)).expect("a grid");
    assert_eq!(grid.models, ["m · A", "m · B"]);
    let means = |cell: &GridCell| [true, false].map(|base| Some(cell.reading(base, MEAN)?.value));
    let found: Vec<[Option<f64>; 2]> = grid.cells.iter().map(means).collect();
    assert_eq!(found, [[Some(2e3), Some(2.5e3)], [Some(4e3), Some(5e3)]]);
}
