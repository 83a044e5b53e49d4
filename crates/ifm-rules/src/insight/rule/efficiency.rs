//! What sharing costs: the speed of one of many over that of a single one.

use super::{headed, told_by, user_speed_curves};
use crate::insight::{Bands, Insight, InsightRule, Question, Tone, Topic};
use ifm_core::Metric;
use ifm_core::sheet::{PartKind, Statistic};
use ifm_metrics::level::Load;
use ifm_results::say;
use ifm_results::{Curve, Pool, Pooled, Stat};

pub(super) const RULE: InsightRule = InsightRule {
    id: "efficiency",
    title: "speed for one of many users over that for a single one, at the highest load",
    look,
};

/// Efficiency against the number of users: as it is stated, else speed for one of N over speed for
/// one alone. Curves without a measurement of one user have none.
pub fn efficiency_curves<'a>(pool: &Pool<'a>, by: &[String]) -> Vec<Curve<'a>> {
    let speeds = user_speed_curves(pool, by);
    let names: Vec<&str> = by.iter().map(String::as_str).collect();
    pool.curves_against(&names, |cell| {
        let Load::Users(users) = cell.load()? else { return None };
        let stated = || cell.central(Metric::Efficiency);
        Some((f64::from(users), computed(&speeds, cell).or_else(stated)?))
    })
}

fn computed(speeds: &[Curve], cell: &Pooled) -> Option<Stat> {
    let is_same = |other: &Pooled| match (other.first(), cell.first()) {
        (Some(a), Some(b)) => std::ptr::eq(a, b),
        _ => false,
    };
    let (curve, here) = speeds.iter().find_map(|curve| {
        let point = curve.points.iter().find(|point| is_same(&point.cell))?;
        Some((curve, &point.stat))
    })?;
    let is_users =
        |point: &&ifm_results::CurvePoint| matches!(point.cell.load(), Some(Load::Users(1)));
    let alone = curve.points.iter().find(is_users)?.stat.value;
    let share = |value: f64| value / alone;
    (alone > 0.0).then(|| Stat {
        low: here.low.map(share),
        high: here.high.map(share),
        n: here.n,
        is_enough: here.is_enough,
        ..Stat::new(Metric::Efficiency, Statistic::Value, share(here.value))
    })
}

fn look(question: &Question) -> Vec<Insight> {
    let pool = question.results.pool(PartKind::Serving);
    let band = &Bands::get().efficiency;
    let mut found = Vec::new();
    for curve in efficiency_curves(&pool, &told_by(question)) {
        let Some(last) = curve.points.last().filter(|last| last.at > 1.0) else { continue };
        let share = last.stat.value;
        let tone = if band.is_poor(share) { Tone::Warn } else { Tone::Note };
        let sentence = say!(
            "{} {} users each gets {} of the speed of a single one ({}).";
            headed(&curve.name(), "at"),
            last.at => Load, share => Share, band.word(share)
        );
        found.push(Insight::new(RULE.id, Topic::Scaling, tone, sentence).weighing(1.0 - share));
    }
    found
}
