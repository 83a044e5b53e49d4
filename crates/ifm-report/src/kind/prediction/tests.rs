//! Pages of predictions, alone and next to a measurement.

use super::super::testing::Shown;
use crate::ReportModel;
use crate::page::{Page, Pictures, markdown};
use crate::testing::{model, sweep};
use ifm_chart::Plot;
use ifm_core::RunData;
use ifm_metrics::testing::{closed_loop, predicted, run};

const USERS: [u32; 5] = [1, 2, 4, 8, 16];

/// A level for each number of users, of these TTFT and ITL in milliseconds.
fn levels(name: &str, of: impl Fn(f64) -> (f64, f64)) -> RunData {
    let mut requests = Vec::new();
    let mut start_ms = 0.0;
    for (level, users) in (0..).zip(USERS) {
        let (ttft, itl) = of(f64::from(users));
        let seq = requests.len() as u32;
        requests.extend(closed_loop((seq, level), (users, 40), start_ms, (ttft, itl, 16)));
        start_ms += 100_000.0;
    }
    let mut found = run(&USERS, requests);
    found.manifest.run_id = format!("id-of-{name}");
    found.manifest.name = Some(name.to_owned());
    found
}

fn measured() -> ReportModel {
    model(&levels("measured", |users| (100.0, 10.0 + users)))
}

/// Its time for each user is half of what it should be.
fn too_fast() -> ReportModel {
    model(&predicted(levels("predicted", |users| (88.0, 10.0 + users / 2.0))))
}

fn page(runs: &[ReportModel]) -> Page {
    Shown { runs, ..Shown::default() }.draw(|_| {}).1
}

fn text(runs: &[ReportModel]) -> String {
    markdown(&page(runs), Pictures::None)
}

/// A chapter of a text.
fn chapter<'a>(text: &'a str, name: &str) -> &'a str {
    let found = text.split(&format!("## {name}")).nth(1).expect(name);
    found.split("\n## ").next().unwrap_or_default()
}

#[test]
fn predicted_stands_against_measured() {
    let text = text(&[too_fast(), measured()]);
    insta::assert_snapshot!(chapter(&text, "Predicted against measured"));
    assert!(text.contains("10 points, 10 configurations, 5 predicted and not measured"), "{text}");
    assert!(text.contains("⚠ predicted: predicted, not measured: H100 SXM, "), "{text}");
}

/// Neither side is best, fastest or ahead: the answer is by how much the prediction is off.
#[test]
fn a_prediction_wins_nothing_against_what_it_predicts() {
    let page = page(&[too_fast(), measured()]);
    let first = &page.tiles[0];
    assert_eq!(first.question, "How far off is the prediction?");
    assert!(first.value.ends_with("below measured"), "{first:?}");
    for tile in &page.tiles[1..] {
        let text = format!("{:?} {} {}", tile.who, tile.value, tile.detail);
        assert!(!text.contains("predicted"), "{}: {text}", tile.question);
    }
    let mut page = page;
    page.for_each_remark(&mut |remark| {
        assert!(
            !remark.rule.contains("speed_spread") || remark.text.starts_with("Measured"),
            "{}",
            remark.text
        )
    });
}

#[test]
fn curves_say_which_is_predicted() {
    let page = page(&[too_fast(), measured()]);
    let Plot::Cartesian(plot) = &page.charts()[0].plot else { panic!("a chart over two axes") };
    let names: Vec<&str> = plot.series.iter().map(|series| series.name.as_str()).collect();
    assert_eq!(names, ["predicted", "measured"]);
}

#[test]
fn sentences_about_disturbances_and_limits_are_of_what_was_measured() {
    let rules = |runs: &[ReportModel]| -> Vec<String> {
        let mut page = page(runs);
        let mut told = Vec::new();
        page.for_each_remark(&mut |remark| told.push(format!("{} {}", remark.rule, remark.text)));
        told
    };
    let of = |told: &[String], rule: &str| -> Vec<String> {
        told.iter().filter(|text| text.starts_with(rule)).cloned().collect()
    };
    // A level of one user that waits three times as long as that of two.
    let cold = || levels("x", |users| (if users == 1.0 { 300.0 } else { 100.0 }, 10.0 + users));
    let (alone, both) = (rules(&[model(&cold())]), rules(&[model(&cold()), too_fast()]));
    assert!(!of(&alone, "cold_level At 1 user").is_empty(), "{alone:?}");
    assert!(!of(&both, "cold_level Measured: At 1 user").is_empty(), "{both:?}");
    let predicted = rules(&[model(&predicted(cold()))]);
    assert!(of(&predicted, "cold_level").is_empty(), "{predicted:?}");
}

#[test]
fn a_condition_of_a_measurement_is_not_filled_with_a_prediction() {
    let tagged = |name: &str, cc: &str| {
        let mut run = levels(name, |users| (100.0, 10.0 + users));
        run.manifest.tags.insert("cc".to_owned(), cc.to_owned());
        run
    };
    let (off, on) = (tagged("off", "off"), tagged("on", "on"));
    let kind = |runs: &[ReportModel]| Shown { runs, ..Shown::default() }.draw(|_| {}).0;
    assert_eq!(kind(&[model(&off), model(&on)]), "grid");
    assert_eq!(kind(&[model(&off), model(&on), model(&predicted(tagged("p", "on")))]), "sweep");
}

#[test]
fn without_both_there_is_no_such_chapter() {
    for runs in [[measured(), measured()], [too_fast(), too_fast()]] {
        assert!(!text(&runs).contains("Predicted against measured"));
    }
}

#[test]
fn a_prediction_alone_says_so_and_from_what() {
    let text = text(&[model(&predicted(sweep()))]);
    let head = text.split("\n## ").next().unwrap_or_default();
    assert!(head.contains("predicted, not measured: H100 SXM, made-up-model in bf16"), "{head}");
    assert!(!text.contains("kernel receive stamps"), "{text}");
    insta::assert_snapshot!(chapter(&text, "Method").split("Prediction").nth(1).unwrap_or(""));
}

#[test]
fn nothing_says_that_a_measurement_was_predicted() {
    let text = text(&[model(&sweep())]);
    assert!(!text.contains("predicted, not measured"), "{text}");
    assert!(text.contains("kernel receive stamps"), "{text}");
}
