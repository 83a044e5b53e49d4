//! Twins, unlike models, thin documents and inferometer's runs.

use super::super::testing::Shown;
use super::*;
use crate::page::{Pictures, Tile, html, markdown};
use crate::testing::model;
use ifm_core::Sheet;
use ifm_core::sheet::{Factors, Figure, Part, PartKind, Place, Row, Source, Statistic, Unit};
use ifm_metrics::testing::{NoisyLoop, noisy_run};
use ifm_results::{Point, Results, Stat};
use ifm_rules::insight::Tone;

/// Requests in flight, ITL and TTFT in ms, output in tok/s.
type RowOf = (f64, f64, f64, f64);

/// A document of models.
fn sheet(models: &[(&str, &[RowOf])]) -> Sheet {
    let part = |(model, rows): &(&str, &[RowOf])| {
        let row = |(in_flight, itl, ttft, output): &RowOf| {
            let mut row = Row::new(RowRole::Measured, Place::line(1));
            row.factors = Factors::default().with(key::STRATEGY, "constant");
            let median = Statistic::Median;
            row.figures = vec![
                Figure::new(Metric::InFlight, Statistic::Mean, *in_flight, Unit::Count),
                Figure::new(Metric::Itl, median, *itl, Unit::Ms),
                Figure::new(Metric::Ttft, median, *ttft, Unit::Ms),
                Figure::new(Metric::OutputRate, Statistic::Mean, *output, Unit::PerS),
                Figure::new(Metric::RequestRate, median, output / 500.0, Unit::PerS)
                    .as_printed("0.1"),
            ];
            row
        };
        let factors = Factors::default().with(key::MODEL, model).with(key::GPU, "L40S");
        let rows = rows.iter().map(row).collect();
        Part { factors, rows, ..Part::new(PartKind::Serving, Place::default()) }
    };
    let source = Source { name: "twins.txt".to_owned(), ..Source::default() };
    Sheet { source, parts: models.iter().map(part).collect(), remarks: Vec::new() }
}

fn draw(sheet: &Sheet, kind: Option<&'static str>) -> (&'static str, Page) {
    let sheets = std::slice::from_ref(sheet);
    Shown { sheets, kind, ..Shown::default() }.draw(|_| {})
}

const BASE: &[RowOf] =
    &[(1.0, 22.2, 115.9, 44.8), (11.5, 28.6, 138.7, 408.1), (28.5, 39.6, 147.0, 734.0)];
const INT8: &[RowOf] =
    &[(1.0, 14.7, 87.9, 67.6), (22.0, 24.7, 108.3, 901.6), (37.5, 34.5, 119.7, 1123.5)];

#[test]
fn the_page_of_twins() {
    let sheet = sheet(&[("m-8B-Instruct-large", BASE), ("m-8B-Instruct-large-int8-dynamic", INT8)]);
    let (word, page) = draw(&sheet, None);
    // No load was requested for both, so there is no advantage to draw.
    assert_eq!((word, page.charts().len()), ("variant", 5));
    insta::assert_snapshot!(markdown(&page, Pictures::None));
    crate::page::agreement_tests::check(&page);
}

#[test]
fn unlike_models_are_no_variants_and_one_level_says_what_it_knows() {
    let two = sheet(&[("a", BASE), ("b", INT8)]);
    assert_eq!(draw(&two, None).0, "sweep");
    assert_eq!(draw(&two, Some("variant")).1.tiles.len(), 1, "the measured loads at one ITL");
    let thin = sheet(&[("m", &BASE[..1]), ("m-int8", &INT8[1..2])]);
    let text = markdown(&draw(&thin, Some("variant")).1, Pictures::None);
    assert!(text.contains("Nothing can be concluded"), "{text}");
    let name = "نموذج-".repeat(40);
    let long = format!("{name}-int8");
    let rtl = sheet(&[(&name, BASE), (&long, INT8)]);
    assert!(html(&draw(&rtl, None).1).contains("int8"));
    let page = draw(&sheet(&[("only", BASE)]), Some("variant")).1;
    assert!(page.banners[0].contains("Nothing to compare"));
}

/// Two runs of one model by name, the second with gaps half as long.
#[test]
fn two_runs_are_compared_run_by_run() {
    let level = |users, itl_ms, seed| NoisyLoop {
        users,
        rounds: 40,
        ttft_ms: 80.0,
        itl_ms,
        tokens: 16,
        spread: 0.1,
        memory: 0.0,
        seed,
    };
    let run = |id: &str, itl: f64, seed| {
        let mut run = noisy_run(&[level(1, itl, seed), level(8, itl * 1.5, seed + 1)]);
        run.manifest.name = Some(id.to_owned());
        model(&run)
    };
    let runs = [run("aaaa", 20.0, 1), run("bbbb", 10.0, 5)];
    let results = Shown { runs: &runs, kind: Some("variant"), ..Shown::default() };
    let page = results.draw(|question| question.baseline = Some("bbbb".to_owned())).1;
    let text = markdown(&page, Pictures::None);
    assert!(page.title.starts_with("aaaa against bbbb"), "{}", page.title);
    for expect in ["concurrent@8", "slower at 1 and", "(median ITL", "(95% CI ", "inconclusive"] {
        assert!(text.contains(expect), "{expect}: {text}");
    }
    // Every request is known: a staircase from none to all of them.
    for id in ["ttft-shares", "itl-shares"] {
        let plot = plot(&page, id);
        assert_eq!(plot.series.len(), 2, "{id}");
        for series in &plot.series {
            assert_eq!(series.form, ifm_chart::Form::Step, "{id}");
            let share = |point: Option<&ifm_chart::Point>| point.and_then(|point| point.y);
            assert_eq!(share(series.points.first()), Some(0.0));
            assert_eq!(share(series.points.last()), Some(100.0));
            assert!(series.points.is_sorted_by(|a, b| a.x <= b.x && a.y <= b.y), "{series:?}");
        }
    }
}

fn plot<'p>(page: &'p Page, id: &str) -> &'p ifm_chart::Cartesian {
    let chart = page.charts().into_iter().find(|chart| chart.id == id);
    match chart.map(|chart| &chart.plot) {
        Some(ifm_chart::Plot::Cartesian(plot)) => plot,
        other => panic!("{id}: {other:?}"),
    }
}

/// At half the load all is served, at the next a third is not.
#[test]
fn output_stands_against_what_was_offered() {
    let points = |model: &str, rows: &[(f64, f64)]| -> Vec<Point> {
        let point = |(rate, output): &(f64, f64)| {
            let setting = Factors::default().with(key::MODEL, model).with(key::OUTPUT_TOKENS, 100);
            let stats = vec![
                Stat::new(Metric::OutputRate, Statistic::Mean, *output),
                Stat::new(Metric::Itl, Statistic::Median, 10.0 + rate),
            ];
            let load = Some(ifm_metrics::level::Load::ReqPerS(*rate));
            Point { load, ..ifm_results::testing::point(PartKind::Serving, setting, stats) }
        };
        rows.iter().map(point).collect()
    };
    let mut all = points("m", &[(2.0, 200.0), (4.0, 300.0)]);
    all.extend(points("m-int8", &[(2.0, 200.0), (4.0, 390.0)]));
    let points = Results { sources: Vec::new(), points: all };
    let page = Shown { points, kind: Some("variant"), ..Shown::default() }.draw(|_| {}).1;
    let served = plot(&page, "served");
    let names: Vec<&str> = served.series.iter().map(|series| series.name.as_str()).collect();
    assert_eq!(names, ["m", "m-int8", "served = offered"]);
    let line = |index: usize| -> Vec<(f64, Option<f64>)> {
        served.series[index].points.iter().map(|point| (point.x, point.y)).collect()
    };
    assert_eq!(line(0), [(2.0, Some(200.0)), (4.0, Some(300.0))]);
    assert_eq!(line(2), [(2.0, Some(200.0)), (4.0, Some(400.0))]);
    assert!(page.charts().iter().all(|chart| chart.id != "output"));
}

/// Three repeats of 8 users.
const BASE_OF_8: &[RowOf] =
    &[(8.0, 28.6, 138.7, 280.0), (8.0, 28.7, 138.8, 280.3), (8.0, 28.5, 138.6, 279.7)];
const INT8_OF_8: &[RowOf] =
    &[(8.0, 20.4, 108.3, 392.0), (8.0, 20.5, 108.4, 392.4), (8.0, 20.3, 108.2, 391.6)];

/// The twins at 8 users.
fn at_8_users() -> Sheet {
    let mut sheet = sheet(&[("m", BASE_OF_8), ("m-int8", INT8_OF_8)]);
    let rows = sheet.parts.iter_mut().flat_map(|part| &mut part.rows);
    rows.for_each(|row| row.factors.set(key::CONCURRENCY, 8));
    sheet
}

/// Input, output and total tokens per second that do not add up, next to a TPOT that makes the
/// output rate or does not.
fn miscounted(tpot_of: impl Fn(&RowOf) -> f64) -> Sheet {
    let mut sheet = at_8_users();
    let rows = [BASE_OF_8, INT8_OF_8];
    for (part, rows) in sheet.parts.iter_mut().zip(rows) {
        for (row, of) in part.rows.iter_mut().zip(rows) {
            let rate = |quantity, value| Figure::new(quantity, Statistic::Mean, value, Unit::PerS);
            row.figures.push(rate(Metric::InputRate, 2.0 * of.3));
            row.figures.push(rate(Metric::TotalRate, 2.5 * of.3));
            row.figures.push(Figure::new(Metric::Tpot, Statistic::Median, tpot_of(of), Unit::Ms));
        }
    }
    sheet
}

/// The page with the checks.
fn checked_page(sheet: &Sheet) -> Page {
    let (sheets, kind) = (std::slice::from_ref(sheet), Some("variant"));
    Shown { sheets, kind, is_audited: true, ..Shown::default() }.draw(|_| {}).1
}

/// The tile about output, with the checks.
fn output_tile(sheet: &Sheet) -> Tile {
    checked_page(sheet).tiles.into_iter().next_back().expect("an answer")
}

/// Whether the sentences about output praise it, anywhere on the page; their words.
fn output_praise(sheet: &Sheet) -> Vec<(Tone, String)> {
    let mut found = Vec::new();
    checked_page(sheet).for_each_remark(&mut |remark| {
        if remark.topic == Topic::Throughput && remark.text.contains("the output at") {
            found.push((remark.tone, remark.text.clone()));
        }
    });
    found
}

#[test]
fn a_sentence_about_rates_that_cannot_be_right_loses_its_praise() {
    let sound = output_praise(&at_8_users());
    assert!(!sound.is_empty() && sound.iter().all(|(tone, _)| *tone == Tone::Good), "{sound:?}");
    let miscounted = output_praise(&miscounted(|row| row.0 / row.3 * 1e3));
    assert_eq!(miscounted.len(), sound.len());
    for (tone, text) in miscounted {
        assert_eq!(tone, Tone::Warn);
        assert!(text.ends_with("cannot be right."), "{text}");
    }
}

#[test]
fn an_output_whose_tokens_do_not_add_up_stands_by_other_figures_or_falls() {
    // In flight over output: the TPOT that makes this output.
    let exact = output_tile(&miscounted(|row| row.0 / row.3 * 1e3 * 1.015));
    assert!(exact.not_valid.is_none(), "{exact:?}");
    assert!(exact.detail.contains("do not add up, but this output is within 2%"), "{exact:?}");
    let other = output_tile(&miscounted(|row| row.0 / row.3 * 1e3 * 1.2));
    let why = other.not_valid.as_deref().expect("struck");
    assert!(why.contains("do not add up"), "{why}");
    let sound = output_tile(&at_8_users());
    assert!(sound.not_valid.is_none() && !sound.detail.contains("add up"), "{sound:?}");
}
