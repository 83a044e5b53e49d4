//! The answer to each of several targets: how many fit, for each GPU, kilowatt and dollar; and what
//! fits as sessions.
//!
//! Not here: how the loads were found (`course/tiers`).

use super::{failing, levels_at, load_value, number};
use crate::course::{CapacityCourse, Judged, Tier, TierState};
use ifm_analysis::level::Load;
use ifm_analysis::slo;
use ifm_report::ReportModel;
use serde_json::{Value, json};

/// What follows for one tier.
struct Answer<'c> {
    tier: &'c Tier,
    state: &'c TierState,
    inside: Option<&'c Judged>,
    /// For one GPU; absent where nobody said how many there are.
    per_gpu: Option<f64>,
    /// For a kilowatt of the mean power at that load.
    per_kw: Option<f64>,
    /// For each dollar that an hour of the server costs.
    per_usd_per_hour: Option<f64>,
    /// Dollars for one of them for an hour.
    usd_per_hour_each: Option<f64>,
}

impl<'c> Answer<'c> {
    fn of(
        course: &CapacityCourse,
        (tier, state): &'c (Tier, TierState),
        model: &ReportModel,
    ) -> Answer<'c> {
        let inside = state.bracket.and_then(|bracket| state.at(bracket.inside));
        let load = inside.map(|judged| judged.load.value());
        let per = |of: Option<f64>| load.zip(of).map(|(load, of)| load / of);
        let price = course.worth.price.map(|price| price.per_hour).filter(|price| *price > 0.0);
        Answer {
            tier,
            state,
            inside,
            per_gpu: per(gpus(course, model)),
            per_kw: per(inside.and_then(|judged| kilowatts(judged.load, model))),
            per_usd_per_hour: per(price),
            usd_per_hour_each: load.zip(price).map(|(load, price)| price / load),
        }
    }

    /// The largest load inside, in a word.
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

    /// What ends it.
    fn limited_by(&self) -> Option<String> {
        let outside = self.state.bracket?.outside;
        self.state.at(outside).and_then(failing)
    }
}

/// GPUs of the server: what the user said, or what its machine's facts tell.
fn gpus(course: &CapacityCourse, model: &ReportModel) -> Option<f64> {
    let told = model.manifest.facts.as_ref().map_or(0, |facts| facts.gpus.len());
    course.worth.gpus.or((told > 0).then_some(told as f64))
}

/// Mean power at a load, kilowatts; absent unless each of its measurements has it.
fn kilowatts(load: Load, model: &ReportModel) -> Option<f64> {
    const W_PER_KW: f64 = 1e3;
    let watts: Option<Vec<f64>> =
        levels_at(load, model).map(|level| Some(level.energy.as_ref()?.watts_mean)).collect();
    let watts = watts.filter(|watts| !watts.is_empty())?;
    let mean = watts.iter().sum::<f64>() / watts.len() as f64 / W_PER_KW;
    (mean > 0.0).then_some(mean)
}

/// The table of a search with several targets, a line each; empty for one target.
pub(super) fn lines(course: &CapacityCourse, model: &ReportModel) -> Vec<String> {
    let answers: Vec<Answer> =
        course.tiers.iter().map(|tier| Answer::of(course, tier, model)).collect();
    if answers.is_empty() {
        return Vec::new();
    }
    type Read<'a> = fn(&Answer<'a>) -> Option<f64>;
    let columns: [(&str, Read); 4] = [
        ("per GPU", |answer| answer.per_gpu),
        ("per kW", |answer| answer.per_kw),
        ("per $/h", |answer| answer.per_usd_per_hour),
        ("$/h each", |answer| answer.usd_per_hour_each),
    ];
    let shown: Vec<&(&str, Read)> =
        columns.iter().filter(|(_, read)| answers.iter().any(|of| read(of).is_some())).collect();
    let unit = if course.by_sessions() { "sessions" } else { course.axis.unit() };
    let name = "tier";
    let widest = |text: &dyn Fn(&Answer) -> String, least: &str| {
        answers.iter().map(|answer| text(answer).chars().count()).fold(least.len(), usize::max)
    };
    let wide = widest(&|answer: &Answer| answer.tier.name.clone(), name);
    let fits = widest(&|answer: &Answer| answer.fits(), unit);
    let mut head = format!(" {name:<wide$} {unit:>fits$}");
    shown.iter().for_each(|(name, _)| head.push_str(&format!(" {name:>9}")));
    let mut lines = vec![String::new(), head];
    for answer in &answers {
        let mut line = format!(" {:<wide$} {:>fits$}", answer.tier.name, answer.fits());
        for (_, read) in &shown {
            let cell = read(answer).map_or_else(|| "-".to_owned(), |value| format!("{value:.3}"));
            line.push_str(&format!(" {cell:>9}"));
        }
        // A tier without a name is called by its terms.
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

/// The same for programs; absent for one target.
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
            ("per_gpu", answer.per_gpu.map(Value::from)),
            ("per_kw", answer.per_kw.map(Value::from)),
            ("per_usd_per_hour", answer.per_usd_per_hour.map(Value::from)),
            ("usd_per_hour_each", answer.usd_per_hour_each.map(Value::from)),
        ];
        for (name, value) in numbers {
            if let Some(value) = value {
                object[name] = value;
            }
        }
        object
    };
    (!course.tiers.is_empty()).then(|| course.tiers.iter().map(one).collect())
}

/// Sessions at a time at the load that is inside, and how many of them come to their end in an hour,
/// over all its measurements; absent where no sessions were counted.
fn sessions(
    course: &CapacityCourse,
    inside: Option<&Judged>,
    model: &ReportModel,
) -> Option<(u32, Option<f64>)> {
    let load = inside.filter(|_| course.by_sessions())?.load;
    let Load::Users(at_once) = load else { return None };
    let rates: Option<Vec<f64>> =
        levels_at(load, model).map(|level| level.sessions.as_ref()?.per_hour).collect();
    let rates = rates.filter(|rates| !rates.is_empty());
    Some((at_once, rates.map(|rates| rates.iter().sum::<f64>() / rates.len() as f64)))
}

/// The same as a line of the answer.
pub(super) fn sessions_line(
    course: &CapacityCourse,
    inside: Option<&Judged>,
    model: &ReportModel,
) -> Option<String> {
    let (at_once, per_hour) = sessions(course, inside, model)?;
    let rate = per_hour.map(|rate| format!(", {rate:.1} complete per hour"));
    Some(format!(" ● Sessions      {at_once} at a time{}", rate.unwrap_or_default()))
}

/// The same for programs.
pub(super) fn sessions_document(
    course: &CapacityCourse,
    inside: Option<&Judged>,
    model: &ReportModel,
) -> Option<Value> {
    let (at_once, per_hour) = sessions(course, inside, model)?;
    let mut object = json!({"at_once": at_once});
    if let Some(per_hour) = per_hour {
        object["per_hour"] = per_hour.into();
    }
    Some(object)
}
