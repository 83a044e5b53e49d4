//! A total rate is of tokens that were computed.
//!
//! Prompts that come from a cache cost next to nothing. With long shared prefixes nearly all of a
//! "total tokens per second" may be such tokens: it then speaks of the workload, not of the server.

use super::super::{Cell, Finding, Level, Looked, Rule, Subject};
use ifm_core::Metric;
use ifm_core::order::Order as _;
use ifm_core::sheet::RowRole;

pub(super) const RULE: Rule =
    Rule { id: "cached_total", title: "total rates consist mostly of computed tokens", look };

/// A share of cached tokens in a total is reported from this value on.
const HINT: f64 = 0.5;
/// From here on hardly anything of it was computed.
const STRONG: f64 = 0.8;

fn look(subject: &Subject) -> Looked {
    let roles = [RowRole::Measured, RowRole::Summary, RowRole::Stated];
    let rows: Vec<(&Cell, f64)> = roles
        .into_iter()
        .flat_map(|role| subject.cells(role))
        .filter(|cell| rate(cell).is_some())
        .filter_map(|cell| Some((cell, cached(cell)?)))
        .collect();
    if rows.is_empty() {
        return Looked::Needs("total rates and the number of prompt tokens that came from a cache");
    }
    let mut high: Vec<&(&Cell, f64)> = rows.iter().filter(|(_, share)| *share > HINT).collect();
    high.order_by(|a, b| b.1.total_cmp(&a.1));
    let Some((cell, share)) = high.first() else { return Looked::Found(Vec::new()) };
    let total = rate(cell).unwrap_or_default();
    let text = format!(
        "{} of {} total rates {} mostly of prompt tokens from a cache, such as {}: of {total:.0} tokens \
         per second {:.0} % were not computed, which leaves {:.0}",
        high.len(),
        rows.len(),
        if high.len() == 1 { "is" } else { "are" },
        cell.name(),
        share * 100.0,
        total * (1.0 - share),
    );
    let level = if *share > STRONG { Level::Strong } else { Level::Hint };
    let finding = Finding::new(RULE.id, level, text)
        .with("total", total, "tok/s")
        .with("cached share of the total", *share, "")
        .at_all(high.iter().map(|(cell, _)| cell.spot()))
        .remedy("state output and uncached prompt tokens per second separately");
    Looked::Found(vec![finding])
}

fn rate(cell: &Cell) -> Option<f64> {
    cell.central(Metric::TotalRate)?.canonical().filter(|rate| *rate > 0.0)
}

/// Cached tokens as a share of prompt and output tokens; without the output, of which less is known,
/// by how the rates divide.
fn cached(cell: &Cell) -> Option<f64> {
    // All three as totals, or all three as means: never one of each.
    let share = |of: &dyn Fn(Metric) -> Option<f64>| {
        let (cached, prompt) = (of(Metric::CachedTokens)?, of(Metric::InputTokens)?);
        let all = prompt + of(Metric::OutputTokens)?;
        (cached <= prompt && all > 0.0).then(|| cached / all)
    };
    let counted = || {
        let totals = share(&|quantity: Metric| cell.tokens(quantity));
        totals.or_else(|| share(&|quantity: Metric| cell.mean_tokens(quantity)))
    };
    let stated = || {
        let output = cell.central(Metric::OutputRate)?.canonical()?;
        let prompts = (rate(cell)? - output).max(0.0) / rate(cell)?;
        Some(hit_share(cell)? * prompts)
    };
    counted().or_else(stated).filter(|share| (0.0..=1.0).contains(share))
}

/// A stated share of prompts, or lookups, that a cache served.
pub(super) fn hit_share(cell: &Cell) -> Option<f64> {
    cell.others().into_iter().find_map(|other| {
        let name = &other.name;
        let is_hits = name.contains("cache") && (name.contains("hit") || name.contains("cached"));
        other.share().filter(|_| is_hits)
    })
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::{check, row, sheet};
    use super::*;
    use ifm_core::Sheet;
    use ifm_core::sheet::{PartKind, Statistic, Unit};

    const VALUE: Statistic = Statistic::Value;

    #[test]
    fn reports_the_cached_share_of_a_total() {
        let of = |cached: &str| {
            let figures = [
                (Metric::TotalRate, VALUE, "50000", Unit::PerS),
                (Metric::InputTokens, VALUE, "990000", Unit::Count),
                (Metric::OutputTokens, VALUE, "10000", Unit::Count),
                (Metric::CachedTokens, VALUE, cached, Unit::Count),
            ];
            sheet(PartKind::Serving, vec![row(3, &figures)])
        };
        let most = |sheet: &mut Sheet| *sheet = of("960000");
        check("cached_total", &of("400000"), most, Level::Strong, "96 % were not computed");
        let half = |sheet: &mut Sheet| *sheet = of("600000");
        check("cached_total", &of("400000"), half, Level::Hint, "which leaves 20000");
    }

    #[test]
    fn a_stated_hit_rate_counts_with_the_prompts_share_of_the_total() {
        let of = |hits: &str| {
            let name = Metric::other("prefix cache hit rate");
            let figures = [
                (Metric::TotalRate, VALUE, "10000", Unit::PerS),
                (Metric::OutputRate, VALUE, "500", Unit::PerS),
                (name, VALUE, hits, Unit::Percent),
            ];
            sheet(PartKind::Serving, vec![row(3, &figures)])
        };
        let corrupt = |sheet: &mut Sheet| *sheet = of("96.8");
        check("cached_total", &of("20"), corrupt, Level::Strong, "92 % were not computed");
        let corrupt = |sheet: &mut Sheet| {
            let unknown = &mut sheet.parts[0].rows[0].unknown;
            unknown.insert("cache hit rate (%)".to_owned(), "96.8".into());
            sheet.parts[0].rows[0].figures.truncate(2);
        };
        check("cached_total", &of("20"), corrupt, Level::Strong, "92 % were not computed");
    }
}
