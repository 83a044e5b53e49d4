//! At which load inside the target a token costs least.

use super::{headed, told_by};
use crate::insight::{Insight, InsightRule, Question, Tone, Topic};
use ifm_core::sheet::PartKind;
use ifm_results::say;
use ifm_results::{Pooled, name_of};

pub(super) const RULE: InsightRule = InsightRule {
    id: "cheapest",
    title: "the lowest price of a million output tokens inside the target, or at all",
    look,
};

fn look(question: &Question) -> Vec<Insight> {
    let Some(price) = question.usd_per_hour else { return Vec::new() };
    let pool = question.results.pool(PartKind::Serving);
    let by = told_by(question);
    let names: Vec<&str> = by.iter().map(String::as_str).collect();
    let has_target = !question.slo.terms.is_empty();
    let mut found = Vec::new();
    for fitting in pool.fittings(&names, &question.slo) {
        let above = || fitting.resumed.as_ref()?.fits.load();
        let most = fitting.load().or_else(above).map(ifm_metrics::level::Load::value);
        let is_inside = |cell: &&Pooled| {
            let here = cell.load().map(ifm_metrics::level::Load::value);
            names.iter().all(|name| cell.factor(name).as_deref() == fitting.of.get(name))
                && (!has_target || here.zip(most).is_some_and(|(here, most)| here <= most))
        };
        let cost = |cell: &'_ Pooled| cell.output_yield(Some(price))?.usd_per_million;
        let costs =
            pool.cells.iter().filter(is_inside).filter_map(|cell| Some((cost(cell)?, cell)));
        let Some((usd, cell)) = costs.min_by(|a, b| a.0.total_cmp(&b.0)) else { continue };
        let Some(load) = cell.load() else { continue };
        let place = if has_target { "inside the target " } else { "" };
        let sentence = say!(
            "{} {}at {}: {} for a million output tokens.";
            headed(&name_of(&fitting.of), "cheapest"), place, load.value() => Load, usd => Usd
        );
        found.push(Insight::new(RULE.id, Topic::Cost, Tone::Note, sentence));
    }
    found
}
