//! Pages of made-up runs and of a document that only states figures.

use super::super::testing::Shown;
use crate::ReportModel;
use crate::TerminalStyle;
use crate::page::{Block, Page, Pictures, html, markdown, terminal};
use ifm_chart::Plot;
use ifm_core::Metric;
use ifm_core::sheet::{
    Factors, Figure, Part, PartKind, Place, Row, RowRole, Sheet, Source, Statistic, Unit, key,
};
use ifm_metrics::testing::{closed_loop, run};
use ifm_rules::insight::Question;

/// A run of one use case: users with TTFT and ITL in ms, and the prompt length in tokens.
fn model(name: &str, tokens: u32, levels: &[(u32, f64, f64)]) -> ReportModel {
    let mut requests = Vec::new();
    let mut start_ms = 0.0;
    for (level, (users, ttft_ms, itl_ms)) in levels.iter().enumerate() {
        let from = (requests.len() as u32, level as u16);
        requests.extend(closed_loop(
            from,
            (*users, 240 / users),
            start_ms,
            (*ttft_ms, *itl_ms, 16),
        ));
        start_ms += 1e6;
    }
    for request in &mut requests {
        request.prompt_tokens_asked = Some(tokens);
    }
    let users: Vec<u32> = levels.iter().map(|(users, ..)| *users).collect();
    let mut run = run(&users, requests);
    run.manifest.spec.workload.text = Some(name.to_owned());
    run.manifest.run_id = format!("run-{name}");
    run.manifest.name = Some(format!("run-{name}"));
    crate::testing::model(&run)
}

fn models() -> Vec<ReportModel> {
    vec![
        model("tools", 32_768, &[(1, 900.0, 6.0), (8, 3_000.0, 24.0)]),
        model("chat", 1_024, &[(1, 90.0, 5.8), (8, 180.0, 8.0), (16, 240.0, 60.0)]),
    ]
}

/// The page of a kind that is recognised, with everything asked.
fn page(runs: &[ReportModel], sheets: &[Sheet], ask: impl FnOnce(&mut Question)) -> Page {
    let results = Shown { runs, sheets, ..Shown::default() };
    results
        .draw(|question| {
            if let Some(first) = runs.first() {
                question.slo = first.manifest.spec.slo.clone();
            }
            ask(question);
        })
        .1
}

#[test]
fn the_page_of_two_use_cases() {
    let page = page(&models(), &[], |question| {
        question.usd_per_hour = Some(1.8);
        question.people = Some(1000.0);
    });
    assert_eq!(page.kind, "scenario");
    insta::assert_snapshot!(markdown(&page, Pictures::None));
    crate::page::agreement_tests::check(&page);
    crate::page::agreement_tests::drawn_as_tabulated(
        &page,
        &["itl", "ttft-each", "throughput"],
        1.0,
    );
}

#[test]
fn the_limit_of_the_machine_is_drawn_and_told() {
    let page = page(&models(), &[], |question| {
        question.gpu = Some("H100 SXM".to_owned());
        question.model = Some("Llama-3.1-8B-Instruct".to_owned());
    });
    let charts = page.charts();
    let speed = charts.iter().find(|chart| chart.id == "speed").expect("drawn");
    let drawn = format!("{:?}", speed.plot);
    assert!(drawn.contains("at most (memory bandwidth) chat"), "{drawn}");
    let text = markdown(&page, Pictures::None);
    assert!(text.contains("of the memory bandwidth limit at 1"), "{text}");
}

/// Sentences of a published report: a figure with a name and users, or without.
fn sheet() -> Sheet {
    let row = |name: Option<&str>, users: Option<u32>, figure: Figure| {
        let mut row = Row::new(RowRole::Stated, Place::line(6));
        if let Some(name) = name {
            row.factors.set(key::WORKLOAD, name);
        }
        if let Some(users) = users {
            row.factors.set(key::CONCURRENCY, users);
        }
        row.text = Some("A sentence of the document.".to_owned());
        row.figures.push(figure);
        row
    };
    let figure = |quantity, value: f64, unit| {
        Figure::new(quantity, Statistic::Value, value, unit).as_printed(value.to_string())
    };
    let rows = vec![
        row(Some("Chatbot"), Some(1), figure(Metric::UserSpeed, 172.5, Unit::PerS)),
        row(Some("Tools"), Some(32), figure(Metric::UserSpeed, 13.2, Unit::PerS)),
        row(Some("Chatbot"), Some(32), figure(Metric::Efficiency, 41.0, Unit::Percent)),
        row(None, Some(32), figure(Metric::UserSpeed, 70.6, Unit::PerS)),
        row(Some("Chatbot"), Some(1), figure(Metric::Itl, 5.8, Unit::Ms)),
        row(Some("Tools"), Some(32), figure(Metric::Itl, 75.8, Unit::Ms)),
        row(Some("Chatbot"), None, figure(Metric::Ttft, 211.0, Unit::Ms)),
        row(Some("Tools"), Some(32), figure(Metric::Ttft, 6.18, Unit::S)),
    ];
    let part = Part {
        rows,
        factors: Factors::default(),
        ..Part::new(PartKind::Conclusion, Place::line(4))
    };
    let source = Source { name: "report.txt".to_owned(), ..Source::default() };
    Sheet { source, parts: vec![part], remarks: Vec::new() }
}

#[test]
fn stated_figures_stay_stated() {
    let page = page(&[], &[sheet()], |_| {});
    assert_eq!((page.kind, page.banners.len()), ("scenario", 2));
    assert!(page.banners[1].contains("names no model and no GPU"), "{:?}", page.banners);
    crate::page::agreement_tests::check(&page);
    insta::assert_snapshot!(markdown(&page, Pictures::None));
}

/// What the checks say of a document, and its page.
fn audited(sheet: &Sheet) -> Page {
    let (sheets, kind) = (std::slice::from_ref(sheet), Some("scenario"));
    Shown { sheets, kind, is_audited: true, ..Shown::default() }.draw(|_| {}).1
}

/// The stated figures, with the gap and the efficiency that the others make.
fn with_all_gaps() -> Sheet {
    let mut sheet = sheet();
    let mut row = sheet.parts[0].rows[2].clone();
    row.factors.set(key::WORKLOAD, "Tools");
    row.figures = vec![Figure::new(Metric::Efficiency, Statistic::Value, 8.0, Unit::Percent)];
    sheet.parts[0].rows.push(row);
    sheet
}

#[test]
fn a_speed_that_a_check_disputes_is_marked_wherever_it_stands() {
    let text = markdown(&audited(&with_all_gaps()), Pictures::None);
    let marks = text.matches("⚠ disputed").count();
    assert!(marks >= 3, "tile, summary and table, {marks}: {text}");
    let page = audited(&with_all_gaps());
    let blocks = page.sections.iter().flat_map(|section| &section.blocks);
    let hollow = blocks.filter_map(|block| match block {
        Block::Figures(figures) => Some(figures),
        _ => None,
    });
    let hollow = hollow.flatten().filter(|figure| match &figure.chart.plot {
        Plot::Cartesian(plot) => {
            plot.series.iter().flat_map(|series| &series.points).any(|point| !point.is_trusted)
        }
        _ => false,
    });
    let ids: Vec<&str> = hollow.map(|figure| figure.chart.id.as_str()).collect();
    assert!(ids.starts_with(&["speed", "itl", "efficiency"]), "{ids:?}");
    assert!(text.contains("Hollow: disputed"), "{text}");
    let mut short = with_all_gaps();
    // A gap that reading the context explains.
    for row in &mut short.parts[0].rows {
        let is_tools = row.factors.get(key::WORKLOAD) == Some("Tools");
        for figure in row.figures.iter_mut().filter(|_| is_tools) {
            let value = match figure.quantity {
                Metric::Itl => 14.9,
                Metric::UserSpeed => 67.1,
                Metric::Efficiency => 40.0,
                _ => continue,
            };
            figure.value = Some(value);
            figure.printed = Some(value.to_string());
        }
    }
    let text = markdown(&audited(&short), Pictures::None);
    assert!(!text.contains("disputed"), "{text}");
}

#[test]
fn use_cases_without_a_figure_are_told() {
    let mut sheet = sheet();
    let mut row = Row::new(RowRole::Stated, Place::line(9));
    row.figures = vec![Figure::new(Metric::other("use cases"), Statistic::Value, 4.0, Unit::Count)];
    sheet.parts[0].rows.push(row);
    let banners = page(&[], std::slice::from_ref(&sheet), |_| {}).banners;
    assert!(banners[2].contains("2 of 4 use cases are missing"), "{banners:?}");
    let last = sheet.parts[0].rows.last_mut().expect("a row");
    last.figures[0].value = Some(2.0);
    assert_eq!(page(&[], &[sheet], |_| {}).banners.len(), 2);
}

/// 32 users at 13.2 tok/s each: 422.4 tok/s of the server, a product and no measurement.
#[test]
fn what_speeds_imply_for_the_server_is_computed_and_said_to_be() {
    let mut sheet = sheet();
    let text = markdown(&page(&[], std::slice::from_ref(&sheet), |_| {}), Pictures::None);
    assert!(text.contains("| Tools | 32 | 13.2 tok/s | 422 tok/s |"), "{text}");
    assert!(text.contains("Computed from stated figures, not stated"), "{text}");
    assert!(!text.contains("| Chatbot | 1 | 173 tok/s | 173 tok/s |"), "of several users alone");
    // Where the document states it, nothing is computed.
    let stated = Figure::new(Metric::OutputRate, Statistic::Value, 400.0, Unit::PerS);
    sheet.parts[0].rows[1].figures.push(stated);
    let text = markdown(&page(&[], &[sheet], |_| {}), Pictures::None);
    assert!(!text.contains("Computed from stated figures"), "{text}");
}

#[test]
fn one_level_is_no_story_and_is_told_all_the_same() {
    let runs = [model("chat", 1_024, &[(4, 90.0, 5.8)]), model("rag", 4_096, &[(4, 200.0, 6.0)])];
    let page = page(&runs, &[], |_| {});
    assert_eq!(page.kind, "sweep");
    let users = page.tiles.first().expect("an answer");
    assert_eq!((users.question.as_str(), users.value.as_str()), ("How many users fit?", "~4+"));
}

#[test]
fn many_use_cases_and_odd_names_stay_readable() {
    let mut runs: Vec<ReportModel> = (0..50)
        .map(|index| {
            let slow = 5.0 + f64::from(index);
            let name = format!("case {index}");
            model(&name, 100 + index, &[(1, 90.0, slow), (4, 99.0, slow * 1.5)])
        })
        .collect();
    let long = "x".repeat(400);
    runs.push(model(&long, 900, &[(1, 90.0, 5.0), (4, 99.0, 9.0)]));
    runs.push(model("محادثة \u{202E}<b>", 901, &[(1, 90.0, 5.0), (4, 99.0, 9.0)]));
    let page = page(&runs, &[], |_| {});
    for chart in page.charts() {
        if let Plot::Cartesian(plot) = &chart.plot {
            let most = if chart.id.starts_with("capacity") { 52 } else { 6 };
            assert!(plot.series.len() <= most, "{}", chart.id);
        }
    }
    let page_html = html(&page);
    assert!(!page_html.contains("<b>") && !page_html.contains('\u{202E}'));
    let style = TerminalStyle { width: 80, color: false, ascii: false, verbose: false };
    assert!(!terminal(&page, &style).is_empty());
    assert!(page.sections.iter().all(|section| section.blocks.iter().all(is_bounded)));
}

/// A table short enough for a reader to look through.
fn is_bounded(block: &Block) -> bool {
    !matches!(block, Block::Table(table) if table.rows.len() > 250)
}
