//! The answer for each of several targets: how many users fit, per GPU, kilowatt and dollar, and as
//! sessions.
//!
//! Not here: how the loads were found (`course/tiers`).

use super::{carriers, fact, failing, load_value, number};
use crate::level_planner::{CapacityCourse, Judged, Tier, TierState};
use ifm_metrics::capacity::{Carriers, SHARES, Share};
use ifm_metrics::level::Load;
use ifm_metrics::slo;
use ifm_report::{ReportModel, share_cell, shares_fields};
use serde_json::{Value, json};

/// The results for one tier.
struct Answer<'c> {
    tier: &'c Tier,
    state: &'c TierState,
    inside: Option<&'c Judged>,
    carriers: Carriers,
}

impl<'c> Answer<'c> {
    fn of(
        course: &CapacityCourse,
        (tier, state): &'c (Tier, TierState),
        model: &ReportModel,
    ) -> Answer<'c> {
        let inside = state.bracket.and_then(|bracket| state.at(bracket.inside));
        let carriers = inside.map(|judged| carriers(course, judged.load, model));
        Answer { tier, state, inside, carriers: carriers.unwrap_or_default() }
    }

    fn share(&self, share: &Share) -> Option<f64> {
        (share.of)(self.inside?.load.value(), &self.carriers)
    }

    /// The largest load inside, as a word.
    fn fits(&self) -> String {
        let outside = self.state.bracket.and_then(|bracket| self.state.at(bracket.outside));
        match (self.state.bracket, self.inside, outside) {
            (None, ..) => "not known: the search was stopped".to_owned(),
            (_, Some(inside), Some(_)) => number(inside.load),
            (_, Some(inside), None) => format!("at least {}", number(inside.load)),
            (_, None, Some(outside)) => format!("less than {}", number(outside.load)),
            (_, None, None) => "not settled".to_owned(),
        }
    }

    /// What limits it.
    fn limited_by(&self) -> Option<String> {
        let outside = self.state.bracket?.outside;
        self.state.at(outside).and_then(failing)
    }
}

/// The table of a search with several targets, one line each; empty for one target.
pub(super) fn lines(course: &CapacityCourse, model: &ReportModel) -> Vec<String> {
    let answers: Vec<Answer> =
        course.tiers.iter().map(|tier| Answer::of(course, tier, model)).collect();
    if answers.is_empty() {
        return Vec::new();
    }
    let shown: Vec<&Share> = SHARES
        .iter()
        .filter(|share| answers.iter().any(|answer| answer.share(share).is_some()))
        .collect();
    let unit = if course.by_sessions() { "sessions" } else { course.axis.unit() };
    let name = "tier";
    let widest = |text: &dyn Fn(&Answer) -> String, least: &str| {
        answers.iter().map(|answer| text(answer).chars().count()).fold(least.len(), usize::max)
    };
    let wide = widest(&|answer: &Answer| answer.tier.name.clone(), name);
    let fits = widest(&|answer: &Answer| answer.fits(), unit);
    let mut head = format!(" {name:<wide$} {unit:>fits$}");
    shown.iter().for_each(|share| head.push_str(&format!(" {:>10}", share.head)));
    let mut lines = vec![String::new(), head];
    for answer in &answers {
        let mut line = format!(" {:<wide$} {:>fits$}", answer.tier.name, answer.fits());
        for share in &shown {
            let value = answer.share(share).map(|value| share_cell(share, value));
            line.push_str(&format!(" {:>10}", value.unwrap_or_else(|| "-".to_owned())));
        }
        // A tier without a name is labeled with its terms.
        let terms = slo::words(&answer.tier.slo);
        if terms != answer.tier.name {
            line.push_str(&format!("  {terms}"));
        }
        lines.push(line);
        lines.extend(
            answer.limited_by().map(|why| format!(" {:<wide$} {:>fits$}  outside: {why}", "", "")),
        );
    }
    lines
}

/// The same as JSON; absent for one target.
pub(super) fn document(course: &CapacityCourse, model: &ReportModel) -> Option<Value> {
    let one = |tier: &(Tier, TierState)| {
        let answer = Answer::of(course, tier, model);
        let bracket = answer.state.bracket;
        let outside = bracket.and_then(|bracket| answer.state.at(bracket.outside));
        let names = course.axis.fields();
        let mut object = json!({
            "name": answer.tier.name,
            "slo": slo::words(&answer.tier.slo),
            "is_finished": bracket.is_some(),
        });
        let numbers = [
            (names[0], answer.inside.map(|judged| load_value(judged.load))),
            (names[1], outside.map(|judged| load_value(judged.load))),
            ("limited_by", answer.limited_by().map(Value::from)),
        ];
        for (name, value) in numbers {
            if let Some(value) = value {
                object[name] = value;
            }
        }
        let shares = answer.inside.map(|judged| judged.load.value());
        let shares = shares.map(|load| shares_fields(load, &answer.carriers));
        for (name, value) in shares.into_iter().flatten() {
            object[name] = value;
        }
        object
    };
    (!course.tiers.is_empty()).then(|| course.tiers.iter().map(one).collect())
}

/// Concurrent sessions at the highest load that meets the target; absent if sessions were not
/// counted.
fn at_once(course: &CapacityCourse, answer: &super::Answer<'_>) -> Option<u32> {
    match answer.inside.filter(|_| course.by_sessions())?.load {
        Load::Users(at_once) => Some(at_once),
        Load::ReqPerS(_) => None,
    }
}

/// The same as a line of the answer, and how many sessions complete per hour.
pub(super) fn sessions_line(course: &CapacityCourse, answer: &super::Answer<'_>) -> Option<String> {
    let at_once = at_once(course, answer)?;
    let rate = answer.carriers.sessions_per_hour;
    let rate = rate.map(|rate| format!(", {} complete per hour", ifm_report::number(rate)));
    Some(fact("Sessions", &format!("{at_once} at a time{}", rate.unwrap_or_default())))
}

/// The same as JSON.
pub(super) fn sessions_document(
    course: &CapacityCourse,
    answer: &super::Answer<'_>,
) -> Option<Value> {
    let mut object = json!({"at_once": at_once(course, answer)?});
    if let Some(per_hour) = answer.carriers.sessions_per_hour {
        object["per_hour"] = per_hour.into();
    }
    Some(object)
}
