//! The rules, one file each, in the order in which a report lists them.

mod efficiency;
mod itl_band;
mod knee;
mod speed_range;
mod ttft_range;

pub use efficiency::efficiencies;

use super::{InsightRule, Question};
use crate::survey::{Curve, Pool, Reading};
use ifm_core::sheet::{PartKind, Quantity, Statistic, key};

/// Every rule.
pub(super) const RULES: &[&InsightRule] =
    &[&speed_range::RULE, &itl_band::RULE, &efficiency::RULE, &ttft_range::RULE, &knee::RULE];

/// Factors that only follow from others, or that no reader would tell things apart by.
const MINOR: [&str; 2] = [key::REQUESTS, key::OUTPUT_TOKENS];

/// The factors by which serving curves are told apart: those that differ, lengths only where the
/// workload has no name.
pub fn told_by(question: &Question) -> Vec<String> {
    let varying = question.survey.varying(PartKind::Serving);
    let has_name = varying.iter().any(|name| name == key::WORKLOAD);
    let is_told = |name: &String| {
        let is_length = [key::INPUT_TOKENS, key::OUTPUT_TOKENS].contains(&name.as_str());
        let is_minor = MINOR.contains(&name.as_str());
        !(has_name && is_length || is_minor)
    };
    let told: Vec<String> = varying.iter().filter(|name| is_told(name)).cloned().collect();
    if told.is_empty() { varying } else { told }
}

/// Curves of a statistic of serving measurements against the load.
fn curves<'a>(
    pool: &Pool<'a>,
    by: &[String],
    quantity: &Quantity,
    statistics: &[Statistic],
) -> Vec<Curve<'a>> {
    let by: Vec<&str> = by.iter().map(String::as_str).collect();
    pool.curves_against(&by, |cell| {
        let reading = statistics.iter().find_map(|statistic| cell.reading(quantity, *statistic))?;
        Some((cell.load()?.value(), reading))
    })
}

/// Curves of the speed that one user sees: as it was measured, else the inverse of TPOT, else of
/// ITL.
pub fn user_speed_curves<'a>(pool: &Pool<'a>, by: &[String]) -> Vec<Curve<'a>> {
    let by: Vec<&str> = by.iter().map(String::as_str).collect();
    pool.curves_against(&by, |cell| {
        let own = cell.central(&Quantity::UserRate);
        let inverse = |quantity: &Quantity| {
            let time = cell.central(quantity).filter(|time| time.value > 0.0)?;
            let speed = |ms: f64| 1e3 / ms;
            Some(Reading {
                value: speed(time.value),
                low: time.high.map(speed),
                high: time.low.filter(|low| *low > 0.0).map(speed),
                printed: None,
                quantity: Quantity::UserRate,
                ..time
            })
        };
        let speed = own.or_else(|| inverse(&Quantity::Tpot)).or_else(|| inverse(&Quantity::Itl))?;
        Some((cell.load()?.value(), speed))
    })
}

/// What a point is called in a sentence: `Chatbot, 1 user`.
fn place_words(curve: &Curve, cell: &crate::survey::Pooled) -> String {
    let load = match cell.load() {
        Some(crate::level::Load::Users(1)) => "1 user".to_owned(),
        Some(crate::level::Load::Users(users)) => format!("{users} users"),
        Some(crate::level::Load::ReqPerS(rate)) => format!("{rate} req/s"),
        None => "unknown load".to_owned(),
    };
    match curve.name() {
        name if name.is_empty() => load,
        name => format!("{name}, {load}"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Meant, Question, Topic, insights};
    use crate::level::Load;
    use crate::slo::VerdictState;
    use crate::survey::{Point, Reading, Survey};
    use ifm_core::sheet::{Factors, PartKind, Place, Quantity, RowRole, Statistic, key};

    /// Levels of one scenario: users, ITL in ms, output in tok/s.
    fn levels(scenario: &str, levels: &[(u32, f64, f64)]) -> Vec<Point> {
        let point = |(users, itl, output): &(u32, f64, f64)| Point {
            origin: 0,
            part: 0,
            kind: PartKind::Serving,
            role: RowRole::Measured,
            headings: Vec::new(),
            label: None,
            setting: Factors::default().with(key::WORKLOAD, scenario),
            load: Some(Load::Users(*users)),
            repeat: None,
            readings: vec![
                Reading::new(Quantity::Itl, Statistic::Mean, *itl),
                Reading::new(Quantity::OutputRate, Statistic::Value, *output),
            ],
            verdict: VerdictState::Unknown,
            place: Place::default(),
            text: None,
        };
        levels.iter().map(point).collect()
    }

    fn numbers(survey: &Survey, rule: &str, topic: Topic) -> Vec<Vec<(f64, Meant)>> {
        let all = insights(&Question::new(survey));
        let of = |insight: &&super::super::Insight| insight.rule == rule && insight.topic == topic;
        all.iter().filter(of).map(|insight| insight.sentence.numbers().collect()).collect()
    }

    /// Figures of a published scenario report: 172.5 tok/s alone and 70.6 of 32 users at short
    /// contexts, 13.2 at long ones; 5.8 and 75.8 ms.
    #[test]
    fn the_scenarios_of_a_published_report() {
        let mut points = levels("chat", &[(1, 5.797, 172.5), (32, 14.164, 2259.2)]);
        points.extend(levels("tools", &[(1, 6.0606, 165.0), (32, 75.757, 422.4)]));
        let survey = Survey { origins: Vec::new(), points };
        let [range] = numbers(&survey, "speed_range", Topic::DecodeSpeed).try_into().expect("one");
        assert!((range[0].0 - 172.5).abs() < 0.01 && (range[1].0 - 13.2).abs() < 0.01, "{range:?}");
        let shares = numbers(&survey, "efficiency", Topic::Scaling);
        let shares: Vec<f64> = shares.iter().map(|numbers| numbers[1].0).collect();
        // The larger loss first.
        assert!(
            (shares[0] - 0.08).abs() < 0.001 && (shares[1] - 0.409).abs() < 0.001,
            "{shares:?}"
        );
        let band = numbers(&survey, "itl_band", Topic::Itl);
        assert_eq!((band[0][0].0, band[0][1].0), (5.797, 75.757));
        assert_eq!(band.len(), 2, "tools leaves the best band, chat does not: {band:?}");
    }

    #[test]
    fn a_flat_end_is_a_knee_and_a_line_is_none() {
        let rising = levels("a", &[(1, 10.0, 100.0), (2, 10.0, 200.0), (4, 10.0, 400.0)]);
        let survey = Survey { origins: Vec::new(), points: rising };
        assert!(numbers(&survey, "knee", Topic::Throughput).is_empty());
        let bent = levels("a", &[(128, 53.9, 3004.0), (256, 75.8, 3451.0)]);
        let survey = Survey { origins: Vec::new(), points: bent };
        let [knee] = numbers(&survey, "knee", Topic::Throughput).try_into().expect("one");
        assert_eq!((knee[0].0, knee[1].0), (128.0, 256.0));
        assert!((knee[2].0 - 0.1488).abs() < 1e-4, "{knee:?}");
    }

    #[test]
    fn one_point_says_nothing_of_a_range() {
        let survey = Survey { origins: Vec::new(), points: levels("a", &[(4, 10.0, 100.0)]) };
        assert_eq!(insights(&Question::new(&survey)), []);
        assert_eq!(insights(&Question::new(&Survey::default())), []);
    }
}
