//! Prompts that a run sends again are computed again: a TTFT far below that of an earlier run of the
//! same prompts is that of a prefix cache.
//!
//! Only runs at the same, known load are compared. Not here: rates that count cached tokens
//! (`cached_total`), images (`repeated_images`).

use super::super::{Cell, Finding, Level, Looked, Rule, Subject};
use ifm_core::Metric;
use ifm_core::sheet::meaning::PREFIX_HIT_RATE;
use ifm_core::sheet::{Factors, PartKind, RowRole, Statistic, key};

pub(super) const RULE: Rule = Rule {
    id: "repeated_prompts",
    title: "a run does not find the prompts of an earlier run in a cache",
    look,
};

/// How many times shorter a TTFT is that nothing was computed for.
const SHORTER: f64 = 4.0;
/// Smallest difference that is reported, ms.
const DIFFERENCE_MS_MIN: f64 = 50.0;
/// Share of prompt tokens from a cache that explains it.
const HIT: f64 = 0.3;

fn look(subject: &Subject) -> Looked {
    let groups = same_prompts(subject);
    if groups.is_empty() {
        return Looked::Needs("two runs of the same prompts at the same load, with their TTFT");
    }
    Looked::Found(groups.iter().filter_map(|cells| check(cells)).collect())
}

/// Runs of one document that sent as many requests with as many prompt tokens at one load, in the
/// order of the document. They may differ in the length of their answers.
fn same_prompts<'s>(subject: &'s Subject<'s>) -> Vec<Vec<&'s Cell<'s>>> {
    let mut groups: Vec<(Factors, [f64; 2], Vec<&Cell>)> = Vec::new();
    for cell in subject.cells(RowRole::Measured) {
        let prompts = cell.tokens(Metric::InputTokens).zip(cell.requests());
        let Some((tokens, requests)) = prompts.filter(|_| is_usable(cell)) else { continue };
        let factors = cell.factors.without(&[key::OUTPUT_TOKENS, key::REPEAT]);
        let is_same = |(other, sent, cells): &&mut (Factors, [f64; 2], Vec<&Cell>)| {
            let is_here = |first: &&&Cell| std::ptr::eq(first.sheet, cell.sheet);
            *other == factors
                && *sent == [tokens, requests]
                && cells.first().as_ref().is_some_and(is_here)
        };
        match groups.iter_mut().find(is_same) {
            Some((_, _, cells)) => cells.push(cell),
            None => groups.push((factors, [tokens, requests], vec![cell])),
        }
    }
    groups.into_iter().map(|(_, _, cells)| cells).filter(|cells| cells.len() > 1).collect()
}

fn is_usable(cell: &Cell) -> bool {
    // A command that gives the number of requests gives the load too, or leaves it at its default.
    let is_load_known = [key::CONCURRENCY, key::RATE, key::REQUESTS]
        .iter()
        .any(|name| cell.factors.get(name).is_some());
    cell.part.kind == PartKind::Serving && is_load_known && first_token(cell).is_some()
}

fn first_token(cell: &Cell) -> Option<f64> {
    [Statistic::Median, Statistic::Mean]
        .into_iter()
        .find_map(|statistic| cell.row.value(Metric::Ttft, statistic))
        .filter(|ttft| *ttft > 0.0)
}

fn check(cells: &[&Cell]) -> Option<Finding> {
    let mut slowest: Option<(f64, &Cell)> = None;
    let mut found: Option<(f64, &Cell, f64, &Cell)> = None;
    for cell in cells {
        let Some(ttft) = first_token(cell) else { continue };
        if let Some((before, earlier)) = slowest
            && before > SHORTER * ttft
            && before - ttft > DIFFERENCE_MS_MIN
            && found.is_none_or(|(long, _, short, _)| before / ttft > long / short)
        {
            found = Some((before, earlier, ttft, cell));
        }
        if slowest.is_none_or(|(before, _)| ttft > before) {
            slowest = Some((ttft, cell));
        }
    }
    let (before, earlier, ttft, later) = found?;
    let hit = hit_rate(earlier, later);
    let (level, reason) = match hit {
        Some(hit) if hit >= HIT => (
            Level::Strong,
            format!(
                "the server had them in its prefix cache, whose reported hit rate is {:.1} %",
                100.0 * hit
            ),
        ),
        _ => (
            Level::Hint,
            "the server had them in its prefix cache, or the earlier run was a cold start"
                .to_owned(),
        ),
    };
    let text = format!(
        "{}: the TTFT is {ttft:.1} ms, {:.1} times shorter than the {before:.1} ms of an earlier run of the \
         same {:.0} prompt tokens: {reason}",
        later.name(),
        before / ttft,
        later.tokens(Metric::InputTokens)?
    );
    let mut finding = Finding::new(RULE.id, level, text)
        .at_all([later.spot(), earlier.spot()])
        .with("TTFT", ttft, "ms")
        .with("TTFT before", before, "ms")
        .remedy(
            "use other prompts in each run (another seed), or clear or disable the prefix cache",
        );
    if let Some(hit) = hit {
        finding = finding.with(PREFIX_HIT_RATE, hit, "");
    }
    Some(finding)
}

/// The share of prompt tokens that came from a cache: of the later run itself, or of the lines of the
/// server's log that follow the earlier run.
fn hit_rate(earlier: &Cell, later: &Cell) -> Option<f64> {
    let cached = later.tokens(Metric::CachedTokens).zip(later.tokens(Metric::InputTokens));
    if let Some((cached, all)) = cached.filter(|(_, all)| *all > 0.0) {
        return Some(cached / all);
    }
    let logged = Metric::other(PREFIX_HIT_RATE);
    let rows = later.sheet.parts.iter().flat_map(|part| &part.rows);
    let after = rows.filter(|row| row.place.line > earlier.row.place.line);
    after.filter_map(|row| row.value(logged, Statistic::Value)).reduce(f64::max)
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::{check, found, row, sheet};
    use super::*;
    use ifm_core::Sheet;
    use ifm_core::sheet::{Part, Place, Unit};

    fn document(ttft: &str, tokens: &str, is_load_known: bool) -> Sheet {
        let run = |line, ttft: &str, tokens: &str, length: u32| {
            let value = Statistic::Value;
            let figures = [
                (Metric::RequestsOk, value, "10", Unit::Count),
                (Metric::InputTokens, value, tokens, Unit::Count),
                (Metric::Ttft, Statistic::Median, ttft, Unit::Ms),
            ];
            let mut row = row(line, &figures);
            row.factors.set(key::OUTPUT_TOKENS, length);
            if is_load_known {
                row.factors.set(key::REQUESTS, 10);
            }
            row
        };
        let rows = vec![run(3, "2040.0", "10240", 1024), run(9, ttft, tokens, 7168)];
        sheet(PartKind::Serving, rows)
    }

    fn log(line: u32, hit: &str) -> Part {
        let quantity = Metric::other(PREFIX_HIT_RATE);
        let figures = [(quantity, Statistic::Value, hit, Unit::Percent)];
        let rows = vec![row(line, &figures)];
        Part { rows, ..Part::new(PartKind::Serving, Place::line(line)) }
    }

    #[test]
    fn reports_prompts_found_in_a_cache() {
        let sound = document("1990.0", "10240", true);
        let cached = |sheet: &mut Sheet| *sheet = document("190.0", "10240", true);
        let text = "the TTFT is 190.0 ms, 10.7 times shorter than the 2040.0 ms of an earlier run";
        check("repeated_prompts", &sound, cached, Level::Hint, text);
        let logged = |sheet: &mut Sheet| {
            *sheet = document("190.0", "10240", true);
            sheet.parts.push(log(7, "83.5"));
        };
        check("repeated_prompts", &sound, logged, Level::Strong, "hit rate is 83.5 %");
        let misses = |sheet: &mut Sheet| {
            *sheet = document("190.0", "10240", true);
            sheet.parts.push(log(7, "0.0"));
            sheet.parts.push(log(1, "90.0"));
        };
        check("repeated_prompts", &sound, misses, Level::Hint, "or the earlier run was a cold");
    }

    #[test]
    fn needs_the_same_prompts_and_a_known_load() {
        assert_eq!(found("repeated_prompts", &[document("190.0", "10241", true)]), []);
        assert_eq!(found("repeated_prompts", &[document("190.0", "10240", false)]), []);
    }
}
