//! What sharing costs: the speed of one of many over that of a single one.

use super::{told_by, user_speed_curves};
use crate::insight::{Bands, Insight, InsightRule, Meant, Question, Sentence, Tone, Topic};
use crate::level::Load;
use crate::survey::Curve;
use ifm_core::sheet::PartKind;

pub(super) const RULE: InsightRule = InsightRule {
    id: "efficiency",
    title: "speed for one of many users over that for a single one, at the highest load",
    look,
};

/// Efficiency of each measured point: speed for one of N over speed for one alone. Absent without
/// a point of one user.
pub fn efficiencies(curve: &Curve) -> Option<Vec<(f64, f64)>> {
    let is_users =
        |point: &crate::survey::CurvePoint| matches!(point.cell.load(), Some(Load::Users(_)));
    if !curve.points.iter().all(is_users) {
        return None;
    }
    let alone = curve.at(1.0)?.reading.value;
    let share = |point: &crate::survey::CurvePoint| (point.at, point.reading.value / alone);
    Some(curve.points.iter().map(share).collect())
}

fn look(question: &Question) -> Vec<Insight> {
    let pool = question.survey.pool(PartKind::Serving);
    let curves = user_speed_curves(&pool, &told_by(question));
    let band = &Bands::get().efficiency;
    let mut found = Vec::new();
    for curve in &curves {
        let Some(shares) = efficiencies(curve) else { continue };
        let Some((at, share)) = shares.last().copied().filter(|(at, _)| *at > 1.0) else {
            continue;
        };
        let tone = if band.is_poor(share) { Tone::Warn } else { Tone::Note };
        let name = curve.name();
        let sentence =
            Sentence::new(if name.is_empty() { "At ".to_owned() } else { format!("{name}: at ") })
                .number(at, Meant::Load)
                .text(" users each gets ")
                .number(share, Meant::Share)
                .text(format!(" of the speed of a single one ({}).", band.word(share)));
        found.push(Insight::new(RULE.id, Topic::Scaling, tone, sentence).weighing(1.0 - share));
    }
    found
}
