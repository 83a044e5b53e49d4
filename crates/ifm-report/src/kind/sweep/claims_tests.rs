//! What a page and a terminal claim of a run: nothing about a target that the user did not name, and
//! nothing about a level that was cut off.

use super::{run as page, spread};
use crate::terminal::{TerminalStyle, terminal};
use crate::testing::{model, sweep};
use ifm_core::{LevelEnd, RunData, RunState};
use ifm_metrics::slo::VerdictState;

const PLAIN: TerminalStyle =
    TerminalStyle { width: 80, color: false, ascii: false, verbose: false };

/// The sweep of 1, 4 and 8 users, whose last level misses the default target, without a target that
/// the user named.
fn untargeted() -> RunData {
    let mut run = sweep();
    run.manifest.spec.slo.is_default = true;
    run
}

#[test]
fn without_a_named_target_the_first_answer_is_how_fast_it_is() {
    let model = model(&untargeted());
    let text = terminal(&model, &PLAIN);
    let answers: Vec<&str> = text.lines().filter(|line| line.starts_with(" ● ")).collect();
    let heads = [" ● How fast?          159 tok/s", " ● With most output   128 tok/s"];
    for (line, head) in answers.iter().zip(heads) {
        assert!(line.starts_with(head), "{text}");
    }
    assert_eq!(answers.len(), 4, "{text}");
    for claim in ["How many", " fail\n", "SLO", "good req/s", "target", "TTFT p99 ≤"] {
        assert!(!text.contains(claim), "{claim}: {text}");
    }
    let page = page(&model);
    assert_eq!(page.tiles[0].question, "How fast?");
    let html = crate::html(&model);
    for claim in ["How many users", "luminal", "mlperf", "max in SLO", "ITL fail"] {
        assert!(!html.contains(claim), "{claim}");
    }
    assert!(!html.contains("class=\"tile bad"), "nothing is wrong");
    assert!(crate::html(&crate::testing::model(&sweep())).contains("How many users"));
}

/// The same sweep, stopped within its last level, whose few answers are slow.
fn stopped() -> RunData {
    let mut run = sweep();
    let last = run.manifest.levels.last_mut().expect("three levels");
    (last.complete, last.ended_by) = (false, Some(LevelEnd::Stopped));
    run.manifest.state = RunState::Partial;
    run.manifest.stop_reason = Some("stopped by the user".to_owned());
    run
}

#[test]
fn a_level_that_was_cut_off_is_not_judged_charted_or_used() {
    let model = model(&stopped());
    let levels = &model.summary.levels;
    assert_eq!(levels.len(), 3, "it stays in the table");
    assert_eq!((levels[2].verdict.state, levels[2].held_load()), (VerdictState::Unknown, None));
    let text = terminal(&model, &PLAIN);
    let row = text.lines().find(|line| line.starts_with("     8 ")).expect("a row");
    assert!(row.ends_with("  partial"), "{text}");
    let users = &model.summary.answers.as_ref().expect("levels").users;
    assert!(users.next_worse.is_none(), "no higher level was measured to its end: {users:?}");
    let page = page(&model);
    for chart in page.charts() {
        let description = &chart.description;
        assert!(!description.contains("8 users") && !description.contains("at 8"), "{chart:?}");
    }
    assert!(!page.remarks.is_empty());
    for remark in &page.remarks {
        assert!(!remark.text.contains("8 users") && !remark.text.contains(" 8 "), "{remark:?}");
    }
}

#[test]
fn a_run_of_one_level_that_was_cut_off_says_so_first() {
    let mut run = crate::testing::single();
    run.manifest.levels[0].complete = false;
    let text = terminal(&model(&run), &PLAIN);
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let users =
        "How many users? not known no level ran to its end, and one that was cut off is not judged";
    assert!(flat.contains(users), "{text}");
    assert!(text.contains("with 4 users"), "{text}");
    assert!(!text.contains("fail"), "{text}");
}

#[test]
fn lines_of_a_chart_are_spread_and_hold_what_was_asked() {
    let of = |count, wanted: &[usize]| spread(count, 6, wanted.iter().copied());
    assert_eq!(of(9, &[]), [0, 1, 2, 4, 6, 8]);
    assert_eq!(of(9, &[5, 6]), [0, 2, 3, 5, 6, 8]);
    assert_eq!((of(3, &[]), of(1, &[]), of(0, &[])), (vec![0, 1, 2], vec![0], vec![]));
}
