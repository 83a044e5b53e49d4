//! Checks of a run: what deserves caution before a number is believed.
//!
//! One file per check, one line in `CHECKS`. A check says only what is certain from the run; it
//! can be silent, can warn about levels, or can be not applicable. Not here: the client's
//! own limits, which are judged in [`crate::health`] and only repeated here.

mod cache;
mod cache_lost;
mod client;
mod clocks;
mod co_arrival;
mod cold;
mod completeness;
mod concurrency;
mod connections;
mod counting;
mod cut_off;
mod drift;
mod failures;
mod few_media;
mod finish_reasons;
mod form_endings;
mod form_validity;
mod hidden_tokens;
mod length_calibration;
mod lost_readings;
mod made_up_drafts;
mod media_tokens;
mod noise;
mod output_length;
mod overload;
mod overtaken;
mod planned_levels;
mod predicted;
mod prompt_length;
mod rejected_fields;
mod repeats;
mod samples;
mod server_cache;
mod sessions;
mod shared_server;
mod slowing;
mod stalls;
mod streams;
mod ttft_parts;
mod unread_media;
mod upload;
mod warm_up;

pub use client::load_missed;
pub use cold::cold_levels;
pub use rejected_fields::rejection_sentence;

use crate::level::{LevelSummary, Load, MeasuredByLevel};
use crate::rule::{Looked, Rule, RuleResult};
use ifm_core::{RequestRecord, RunData};

ifm_core::vocabulary! {
    /// How much a warning weighs, lightest first.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
    pub enum Severity {
        /// Worth knowing; the numbers are valid.
        Note = "note",
        /// Some numbers may mislead.
        Caution = "caution",
        /// The level does not show what it was meant to show.
        Invalid = "invalid",
    }
}

/// One thing that deserves caution.
#[derive(Debug, Clone, PartialEq)]
pub struct Warning {
    /// Id of the check.
    pub check: &'static str,
    /// How much it weighs.
    pub severity: Severity,
    /// Index of the level; absent if it is about the whole run.
    pub level: Option<u16>,
    /// The requested load of that level.
    pub load: Option<Load>,
    /// What was found, as text with numbers. Names no level: see `load`.
    pub text: String,
}

ifm_core::vocabulary! {
    /// Result of a check in one word.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum CheckState {
        /// Made, and nothing found above a note.
        Passed = "passed",
        /// Made, and some numbers may mislead.
        Caution = "caution",
        /// Made, and a level does not show what it was meant to show.
        Invalid = "invalid",
        /// The run does not hold what the check needs.
        NotApplicable = "not_applicable",
    }
}

/// A check and what it found.
pub type CheckResult = RuleResult<Warning>;

impl CheckResult {
    /// The result in one word.
    pub fn state(&self) -> CheckState {
        match self.found().iter().map(|warning| warning.severity).max() {
            _ if !self.is_applicable() => CheckState::NotApplicable,
            Some(Severity::Invalid) => CheckState::Invalid,
            Some(Severity::Caution) => CheckState::Caution,
            Some(Severity::Note) | None => CheckState::Passed,
        }
    }
}

/// What the checks look at.
struct Context<'a> {
    run: &'a RunData,
    measured: &'a MeasuredByLevel<'a>,
    levels: &'a [LevelSummary],
}

impl<'a> Context<'a> {
    /// The measured requests of a level.
    fn measured(&self, level: &LevelSummary) -> &'a [&'a RequestRecord] {
        self.measured.get(&level.level).map_or(&[], Vec::as_slice)
    }
}

/// What one check finds in one level, or in the run.
type Finding = (Severity, String);

/// What one check finds at one level.
enum AtLevel {
    /// The level does not hold what the check needs.
    NotApplicable,
    /// Nothing to say.
    Silent,
    /// A warning.
    Fires(Severity, String),
}

/// A check: it is given a run with its records.
type Check = Rule<Made>;

/// How a check is made.
enum Made {
    /// Once for each level.
    ByLevel(fn(&Context, &LevelSummary) -> AtLevel),
    /// Once for the run; absent if it is not applicable.
    ForRun(fn(&Context) -> Option<Vec<Finding>>),
}

/// Every check, in the order in which reports list them.
const CHECKS: [&Check; 42] = [
    &predicted::CHECK,
    &failures::CHECK,
    &rejected_fields::CHECK,
    &finish_reasons::CHECK,
    &streams::CHECK,
    &sessions::CHECK,
    &completeness::CHECK,
    &planned_levels::CHECK,
    &concurrency::CHECK,
    &overload::CHECK,
    &cut_off::CHECK,
    &client::CHECK,
    &connections::CHECK,
    &counting::CHECK,
    &hidden_tokens::CHECK,
    &form_validity::CHECK,
    &form_endings::CHECK,
    &output_length::CHECK,
    &length_calibration::CHECK,
    &prompt_length::CHECK,
    &unread_media::CHECK,
    &media_tokens::CHECK,
    &few_media::CHECK,
    &upload::CHECK,
    &cache::CHECK,
    &server_cache::CHECK,
    &made_up_drafts::CHECK,
    &cache_lost::CHECK,
    &repeats::CHECK,
    &shared_server::CHECK,
    &ttft_parts::CHECK,
    &clocks::CHECK,
    &lost_readings::CHECK,
    &drift::CHECK,
    &slowing::CHECK,
    &warm_up::CHECK,
    &cold::CHECK,
    &noise::CHECK,
    &co_arrival::CHECK,
    &stalls::CHECK,
    &overtaken::CHECK,
    &samples::CHECK,
];

/// Checks of the measurement itself: of the client, the server's counters and the GPUs, or whether
/// a server was warm. They do not apply to a prediction.
const OF_MEASURING: [&Check; 23] = [
    &rejected_fields::CHECK,
    &length_calibration::CHECK,
    &client::CHECK,
    &connections::CHECK,
    &finish_reasons::CHECK,
    &streams::CHECK,
    &counting::CHECK,
    &hidden_tokens::CHECK,
    &unread_media::CHECK,
    &media_tokens::CHECK,
    &few_media::CHECK,
    &upload::CHECK,
    &server_cache::CHECK,
    &made_up_drafts::CHECK,
    &repeats::CHECK,
    &shared_server::CHECK,
    &ttft_parts::CHECK,
    &clocks::CHECK,
    &lost_readings::CHECK,
    &slowing::CHECK,
    &warm_up::CHECK,
    &cold::CHECK,
    &co_arrival::CHECK,
];

/// Makes every check.
pub(crate) fn check(
    run: &RunData,
    measured: &MeasuredByLevel,
    levels: &[LevelSummary],
) -> Vec<CheckResult> {
    let context = Context { run, measured, levels };
    CHECKS.into_iter().map(|check| check.result(made(check, &context))).collect()
}

/// Ids and titles of all checks, in their order.
pub fn checks() -> impl Iterator<Item = (&'static str, &'static str)> {
    CHECKS.into_iter().map(|check| (check.id, check.title))
}

/// What a check lacks where it does not apply.
const NEEDED: &str = "a run with the data that the check needs";

fn made(check: &Check, context: &Context) -> Looked<Warning> {
    let is_of_measuring = OF_MEASURING.iter().any(|of| of.id == check.id);
    if is_of_measuring && context.run.manifest.predicted.is_some() {
        return Looked::Needs(NEEDED);
    }
    match check.look {
        Made::ForRun(make) => match make(context) {
            None => Looked::Needs(NEEDED),
            Some(findings) => {
                let warn = |finding| warning(check, None, finding);
                Looked::Found(findings.into_iter().map(warn).collect())
            }
        },
        Made::ByLevel(make) => made_by_level(check, context, make),
    }
}

fn made_by_level(
    check: &Check,
    context: &Context,
    make: fn(&Context, &LevelSummary) -> AtLevel,
) -> Looked<Warning> {
    let mut is_applicable = false;
    let mut warnings = Vec::new();
    // A scout is short on purpose: only its failed requests deserve a warning.
    let is_checked = |level: &&LevelSummary| !level.is_scout() || check.id == failures::CHECK.id;
    for level in context.levels.iter().filter(is_checked) {
        match make(context, level) {
            AtLevel::NotApplicable => continue,
            AtLevel::Silent => {}
            AtLevel::Fires(severity, text) => {
                warnings.push(warning(check, Some(level), (severity, text)));
            }
        }
        is_applicable = true;
    }
    if is_applicable { Looked::Found(warnings) } else { Looked::Needs(NEEDED) }
}

fn warning(check: &Check, level: Option<&LevelSummary>, (severity, text): Finding) -> Warning {
    Warning {
        check: check.id,
        severity,
        level: level.map(|level| level.level),
        load: level.and_then(LevelSummary::load),
        text,
    }
}

/// A share in percent with one digit.
fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// Nanoseconds as milliseconds with at least three digits: `120.4`, `4.70`, `0.312`.
fn ms(ns: f64) -> String {
    let ms = ns / 1e6;
    let decimals = if ms >= 10.0 {
        1
    } else if ms >= 1.0 {
        2
    } else {
        3
    };
    format!("{ms:.decimals$}")
}

#[cfg(test)]
mod testing {
    //! One entry point for the tests of all checks.

    use super::{CheckState, Severity};
    use crate::rule::testing::{fires, of};
    use crate::testing::{closed_loop, run};
    use ifm_core::RunData;

    /// A run of one level with 2 users, 120 requests of 16 tokens, with nothing to object.
    pub fn sound_run() -> RunData {
        run(&[2], closed_loop((0, 0), (2, 60), 0.0, (100.0, 10.0, 16)))
    }

    /// Checks that `id` is silent on a sound run and says `word` with `severity` on a corrupted one.
    pub fn check(id: &str, corrupt: impl FnOnce(&mut RunData), severity: Severity, word: &str) {
        let sound = sound_run();
        let mut corrupted = sound.clone();
        corrupt(&mut corrupted);
        let [sound, corrupted] = [sound, corrupted].map(|run| crate::summarize(&run).checks);
        assert!(of(id, &sound).is_applicable(), "{id} has what it needs on a sound run");
        fires(
            [of(id, &sound), of(id, &corrupted)],
            |found| found.severity > Severity::Note,
            |found| found.severity == severity && found.text.contains(word),
        );
    }

    /// The state of a check on a run.
    pub fn state(run: &RunData, id: &str) -> CheckState {
        let summary = crate::summarize(run);
        of(id, &summary.checks).state()
    }

    /// What a check says first on a run; empty where it says nothing.
    pub fn text(run: &RunData, id: &str) -> String {
        let summary = crate::summarize(run);
        let said = of(id, &summary.checks).found().first();
        said.map(|warning| warning.text.clone()).unwrap_or_default()
    }

    #[test]
    fn a_sound_run_has_nothing_above_a_note() {
        let summary = crate::summarize(&sound_run());
        let loud: Vec<_> =
            summary.warnings.iter().filter(|warning| warning.severity > Severity::Note).collect();
        assert!(loud.is_empty(), "{loud:?}");
        let trust = summary.answers.expect("a level").trust;
        assert_eq!((trust.checks, trust.passed, trust.cautions, trust.invalid), (21, 21, 0, 0));
    }

    #[test]
    fn ids_are_unique() {
        let summary = crate::summarize(&sound_run());
        let mut ids: Vec<&str> = summary.checks.iter().map(|check| check.id).collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), summary.checks.len());
    }
}
